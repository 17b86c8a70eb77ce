//! The order on etcd passes the suite of all orders. A node that is stopped takes the member beside it along.

mod common;

use common::Etcd;
use total::{order_partitions, order_suite};

order_suite!(Etcd);
order_partitions!(Etcd);
