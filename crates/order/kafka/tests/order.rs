//! The order on Kafka passes the suite of all orders. A node that is stopped takes the broker beside it along.

mod common;

use common::Kafka;
use total::{order_partitions, order_suite};

order_suite!(Kafka);
order_partitions!(Kafka);
