//! What a node shows of itself.

use std::collections::BTreeMap;
use std::fmt;
use total::{Origin, Position};

/// What a node is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It is delivered what it missed; it has not received its own first payload yet.
    CatchingUp,
    /// It fetches the state of a holder, or looks for a holder.
    FetchingState,
    /// It takes part.
    Serving,
    /// It was closed, or has failed.
    Stopped,
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Doing::CatchingUp => "catching up",
            Doing::FetchingState => "fetching a state",
            Doing::Serving => "serving",
            Doing::Stopped => "stopped",
        })
    }
}

/// What a node shows of itself.
#[derive(Clone, Debug)]
pub struct Status {
    /// The node, and which of its lives.
    pub origin: Origin,
    /// What it is doing.
    pub doing: Doing,
    /// Why the last state could not be fetched, while one is fetched.
    pub trouble: Option<String>,
    /// Why it has stopped, if it has.
    pub failure: Option<String>,
    /// The last place of the order that is in the local store.
    pub applied: Position,
    /// The furthest position that the node knows of: of a barrier, or of payloads that wait to be applied. The difference of
    /// instances to [`Status::applied`] is its lag.
    pub known: Position,
    /// Transactions that were certified up to [`Status::applied`], whether they committed or not: the same on every node.
    pub certified: u64,
    /// Committed transactions whose writes are remembered.
    pub window: u64,
    /// Bytes of those writes.
    pub window_bytes: u64,
    /// Place up to which nothing is remembered.
    pub window_floor: Position,
    /// Nodes that have a life, with the last delivery of each.
    pub members: Vec<Member>,
    /// Open transactions.
    pub open: u64,
    /// Transactions that wait for a row that another one of this node has.
    pub waiting: u64,
    /// Own proposals that have not been answered.
    pub proposed: u64,
    /// Transactions of any node that committed, in this life of this node.
    pub commits: u64,
    /// Own transactions that were aborted, by rule, in this life.
    pub aborts: BTreeMap<&'static str, u64>,
    /// States fetched in this life.
    pub fetched: u64,
}

/// A node that takes part in the order, as this one has been delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The node, and its last life.
    pub origin: Origin,
    /// The last payload of it that was delivered.
    pub last: Position,
}

/// A transaction that was certified and committed, as others name it in an abort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Who ran it.
    pub origin: Origin,
    /// Its place in the order.
    pub position: Position,
}
