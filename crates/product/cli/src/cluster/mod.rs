//! Nodes of a cluster: `seriatim serve --cluster`, and `seriatim cluster`, which starts some on this machine.
//!
//! ```text
//!   SQL ── cluster::Cluster ── total order (Paxos in this process, or etcd) ── other nodes
//!               │        └──── states: a node that was away too long gets the state of another
//!          local database
//! ```

mod directory;
mod file;
pub mod local;
mod node;
mod order;
mod transfer;
mod view;

pub use directory::{check_not_of_a_node, engine_of};
pub use node::{Join, Limits, Node, Parts, Waiting};
