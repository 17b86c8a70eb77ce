//! The total order of a Kafka cluster that an operator runs already.
//!
//! # The idea
//! The log is the one partition of a topic. Each node appends batches of payloads to it, and reads it; the order of offsets is the total
//! order. Records are appended with `acks=all`, so that what is read anywhere is on more than half of the copies.
//!
//! ```text
//!   offset       0         1         2         3          4         5          6
//!             begin 0   begin 1    [a b]0     [x]1      [a b]0     [c]0     base up to 2
//!   deliver                         a b        x         void       c
//! ```
//!
//! An answer can be lost, and then the record is sent again; a process that was thought dead can come back and send what it had left.
//! So not each record counts. Which do is decided by readers, by a rule over the log itself (`ledger`): a batch counts if it is of the
//! last life of its node that has begun, and if its first payload is the one that follows. All readers apply the rule to the same log,
//! so they agree. There are no transactions, and no clock decides anything.
//!
//! # Invariants
//! - **K1** Once the begin of a life is in the log, nothing behind it that an earlier life of its node sends counts: `ledger` `begin`.
//! - **K2** The n-th payload of a life is delivered once, before the next one, whatever was sent how often: `ledger` `batch`, `outgoing`.
//! - **K3** A record is delivered if it follows the one before it, by Kafka's offsets and by the order's own count; otherwise the node
//!   stops with the reason: `incoming`, `ledger` (`Damage`).
//! - **K4** What follows a node's mark is not deleted by any node, unless more than `kept_bytes` follow it; and records are deleted only up
//!   to the offset of a base that is in the log, so that a reader which begins later counts as all others do: `shared` `next_keeping`,
//!   `incoming` `Search`.
//! - **K5** A barrier is the place of a record that was sent after the barrier was asked for: `shared` `appended`.
//! - **K6** Memory is bounded: proposals and deliveries by [`OrderLimits`](total::OrderLimits), one batch is under way, the client's queue
//!   holds 16 MiB. While twice `kept_bytes` are not deleted, this node adds nothing.
//!
//! # From offset to position
//! The instance is the offset, the index counts the payloads of the batch.
//!
//! # Faults
//! The client library finds the partition's leader, and tries again. A record without an answer is sent again until it has one.
//!
//! # What is deliberately absent
//! Kafka's transactions and transactional names; several partitions; consumer groups; Kerberos and OAuth. Decision 0155 has the reasons.
//!
//! Source: Pandey, *Replication-based transactional systems*, 2016, section 2.1, for what is built; Kafka's documentation, version 4.1,
//! for what it is built from (acknowledgements, offsets, deletion of records).

#![forbid(unsafe_code)]
#![cfg_attr(not(feature = "client"), allow(dead_code, reason = "what needs no broker is built for its tests"))]

#[cfg(feature = "client")]
mod client;
mod error;
mod incoming;
mod ledger;
mod options;
#[cfg(feature = "client")]
mod order;
mod outgoing;
mod record;
mod shared;

pub use error::KafkaError;
pub use options::{KafkaOptions, KafkaTls, KafkaUser, Mechanism};
#[cfg(feature = "client")]
pub use order::KafkaOrder;
pub use outgoing::MAX_PAYLOAD_BYTES;
