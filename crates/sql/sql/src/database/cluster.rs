//! The cluster that a database's engine is a node of, as `seriatim_cluster` shows it.
//!
//! SQL knows no order and no replication: whoever opens a database on a replicated engine says what there is to see
//! ([`super::Options::cluster`]).

use std::fmt;

/// What there is to see of a cluster.
pub trait Cluster: Send + Sync + fmt::Debug {
    /// The nodes, by their numbers, as far as this one knows them.
    fn members(&self) -> Vec<Member>;

    /// Transactions of this node's clients that were aborted since the start, by rule.
    fn aborts(&self) -> Vec<(String, u64)>;
}

/// A node of a cluster. `None`: not known here, or there is no such thing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// Its number.
    pub node: u64,
    /// Where the other nodes reach it.
    pub address: Option<String>,
    /// Whether it is the node that is asked.
    pub is_self: bool,
    /// Its part in the order: whether it leads, votes, or learns.
    pub part: Option<String>,
    /// Whether there is a connection to it.
    pub is_connected: Option<bool>,
    /// What it does: serving, catching up, or fetching a state.
    pub state: Option<String>,
    /// The position of the order up to which its rows are.
    pub applied: Option<String>,
    /// The furthest position of the order that it knows of.
    pub known: Option<String>,
    /// Instances of the order between the two.
    pub lag: Option<u64>,
    /// The place of the last transaction of it that was delivered to the node that is asked.
    pub delivered: Option<String>,
    /// The instance of the order below which it has everything on its disk, as it has told the node that is asked.
    pub on_disk: Option<u64>,
    /// Instances from there to the last one that was delivered to the node that is asked.
    pub disk_lag: Option<u64>,
    /// The last trouble with it.
    pub problem: Option<String>,
}
