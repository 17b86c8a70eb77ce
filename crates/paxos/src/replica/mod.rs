//! One replica without I/O: inputs and the time go in, effects come out.
//!
//! The replica steps the proved core and does what the core leaves open: it gathers requests into batches, suspects leaders, sends
//! again what was lost, fetches what was missed, decides when to take a snapshot, and holds back what must not be said before the
//! journal is durable. Nothing here can break agreement, whatever it does; it decides only whether and how fast there is progress. The runtime
//! feeds it from sockets, the simulator from a seed: the same code runs in both.

use crate::config::{BadOption, Options};
use crate::core::{Ballot, Core, Image, Instance, Proved, Record, ReplicaId, Value, View};
use crate::message::PeerMessage;
use crate::moment::Moment;
use crate::request::Chunk;

/// What happens to a replica.
#[derive(Debug)]
pub enum Input {
    /// A message of a peer whose identity the transport has verified.
    Peer {
        /// The peer.
        from: ReplicaId,
        /// What it says. A snapshot arrives as [`Message::Snapshot`](crate::core::Message::Snapshot), put together by the transport.
        message: PeerMessage,
    },
    /// The connection to a peer was made (again): what was sent before may be lost.
    Connected(ReplicaId),
    /// The connection to a peer is gone.
    Disconnected(ReplicaId),
    /// Requests of own clients, in order. See [`Replica::room`].
    Submit(Chunk),
    /// The journal is durable up to and including the record with this number (see [`Effect::Journal`]).
    Durable(u64),
    /// The service has executed every instance below this one.
    Executed(Instance),
    /// The service's state after all instances below this one: the answer to [`Effect::TakeSnapshot`].
    Taken(Instance, Image),
    /// The time has come that [`Replica::deadline`] named (or earlier or later: ticks do no harm).
    Tick,
}

/// What is to be done, in this order.
#[derive(Debug)]
pub enum Effect {
    /// Send this to a peer; it may be lost. Never to the replica itself. Snapshots are cut into pieces by the transport.
    Send(ReplicaId, PeerMessage),
    /// Append this to the journal. Records are numbered from 1 in the order of these effects; only with `Durability::Fsync`.
    Journal(Record),
    /// The journal is long: replace all records so far (this many) by these.
    Compact(u64, Vec<Record>),
    /// Hand these requests to the service. Instances come in order, without holes.
    Deliver(Instance, Value),
    /// The service's state is this now; the next delivery is the instance named.
    Install(Instance, Image),
    /// Ask the service for its state, after all that was delivered so far.
    TakeSnapshot,
    /// Who leads has changed (`None`: nobody known). Clients' requests without a reply may be lost and should be sent again.
    Leader(Option<ReplicaId>, Ballot),
}

/// Figures of a replica, all counted since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counters {
    /// Batches delivered.
    pub batches: u64,
    /// Requests in batches that this replica has proposed as the leader.
    pub requests_proposed: u64,
    /// Messages that were sent again.
    pub retransmissions: u64,
    /// Times that this replica became a candidate.
    pub candidacies: u64,
    /// Times that it became the leader.
    pub elections: u64,
    /// Queries for what was missed.
    pub queries: u64,
    /// Snapshots taken, and installed.
    pub snapshots_taken: u64,
    /// Snapshots of others that were installed.
    pub snapshots_installed: u64,
    /// Events that the core has taken.
    pub events: u64,
}
