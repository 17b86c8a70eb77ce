//! The total order of an etcd cluster that an operator runs already.
//!
//! # The idea
//! The log is etcd's own history. Each node has one key, and puts it once for each batch of payloads; the puts of all nodes, in the
//! order of etcd's revisions, are the total order. A watch from a revision on delivers it, also what lies in the past. A
//! compaction of etcd forgets its begin.
//!
//! ```text
//!   revision     11          12          13          14          15
//!   log/0     [a b]v1                 [c]v2
//!   log/1                 [x]v1                              [y z]v2
//!   mark/0                                        11
//!   deliver     a b          x           c                    y z
//! ```
//!
//! A batch is put by a transaction with two conditions: the node's key of lives is the one that this life has put, and its log has
//! the version before the one that this batch makes. So a batch that is sent twice is applied once, several can be under way, and an
//! earlier life adds nothing after a later one has begun. There are no leases: nothing is lost with one.
//!
//! # Invariants
//! - **E1** Once a life has begun, no earlier life of its node adds anything: `member` `append`, `session/begin`.
//! - **E2** The n-th put of a node's log is its n-th batch, and each batch is put once, whatever was sent how often: `outgoing`.
//! - **E3** An entry is delivered if it is the next of its node by etcd's count and by the order's own; otherwise the node stops
//!   with the reason: `incoming`.
//! - **E4** What follows a node's mark is not compacted by any node, unless more than `kept_bytes` follow it:
//!   [`Kept`](total::adapter::Kept), `session/keeping`. A node's mark is there before its first life begins, and is never beyond what its
//!   consumer has.
//! - **E5** A barrier's position is read from a majority after the barrier was asked for: [`Barriers`](total::adapter::Barriers),
//!   `session/reading`.
//! - **E6** Memory is bounded: proposals and deliveries by [`OrderLimits`](total::OrderLimits), batches under way by
//!   [`EtcdOptions::in_flight`], answers by what a window of HTTP/2 holds. While twice `kept_bytes` are not compacted, this node adds
//!   nothing.
//!
//! # From revision to position
//! The instance is the revision, the index counts the payloads of the batch. A revision has at most one entry of an order.
//!
//! # Faults
//! Everything goes over one connection to one member. If a call takes longer than `retry`, if the member has no leader, or if the watch
//! does not report what a read has found, the connection is given up for one to the next member. All batches without an answer are
//! then sent again.
//!
//! # What is deliberately absent
//! Leases; more than one entry in a transaction (a batch is one value); the deletion of keys. Decision 0139 has the reasons.
//!
//! Source: Pandey, *Replication-based transactional systems*, 2016, section 2.1, for what is built; etcd's documentation of its API,
//! version 3, for what it is built from (transactions, watches, compaction).

#![forbid(unsafe_code)]

mod batch;
mod error;
mod incoming;
mod keys;
mod member;
mod messages;
mod options;
mod order;
mod outgoing;
mod session;
mod shared;

pub use error::EtcdError;
pub use options::{EtcdOptions, EtcdTls, EtcdUser};
pub use order::EtcdOrder;
pub use outgoing::MAX_PAYLOAD_BYTES;
