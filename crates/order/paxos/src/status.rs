//! Status of a node.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use serde::Serialize;

use crate::board::{Board, JournalFigures, PeerFigures};
use crate::config::{Durability, Options};
use crate::core::{Ballot, Instance, ReplicaId, Role};
use crate::replica::Counters;

/// Current role of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// It leads.
    Leader,
    /// It tries to lead.
    Candidate,
    /// It votes.
    Follower,
    /// It has no vote.
    Learner,
}

/// Status of a node. Counts are since its start.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// Its number.
    pub id: ReplicaId,
    /// Number of replicas that vote.
    pub replicas: u64,
    /// Its role.
    pub role: Part,
    /// `memory` or `fsync`.
    pub durability: &'static str,
    /// Whether it has met all other voters once: before that a new voter does not vote.
    pub admitted: bool,
    /// Leader, if it is known.
    pub leader: Option<ReplicaId>,
    /// The highest ballot that it knows.
    pub ballot: Ballot,
    /// Position in the log.
    pub log: LogStatus,
    /// Counters of its replica.
    pub counters: Counters,
    /// Bytes in its queues.
    pub queues: QueueStatus,
    /// The journal, if there is one.
    pub journal: Option<JournalStatus>,
    /// By voter: the instance below which its consumer has everything on its disk, as it has said; none where consumers say nothing.
    pub durable: BTreeMap<ReplicaId, Instance>,
    /// The other replicas.
    pub peers: BTreeMap<ReplicaId, PeerStatus>,
}

/// Position of a replica in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LogStatus {
    /// The first instance that is kept.
    pub low: Instance,
    /// The next instance to deliver.
    pub executed: Instance,
    /// The first instance that this leader has not used.
    pub next: Instance,
    /// Instances below are in the newest snapshot.
    pub snapshot_at: Instance,
}

/// Bytes that wait in queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct QueueStatus {
    /// For the core.
    pub core_bytes: usize,
    /// For the service.
    pub service_bytes: usize,
    /// For the I/O thread.
    pub io_bytes: usize,
    /// Requests that the replica would take now.
    pub room_bytes: usize,
    /// Frames for peers that were dropped because the I/O thread lagged behind.
    pub dropped_frames: u64,
}

/// The journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JournalStatus {
    /// Records written.
    pub records: u64,
    /// Times that the disk was waited for.
    pub syncs: u64,
    /// Compactions done.
    pub compactions: u64,
    /// Compactions that failed, and why the last of them did.
    pub compactions_failed: u64,
    /// Why the last of them did.
    pub compaction_error: Option<String>,
}

/// The connection with one peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PeerStatus {
    /// Whether there is a connection.
    pub connected: bool,
    /// Bytes that wait to be sent.
    pub queued_bytes: usize,
    /// Messages that were dropped: there was no connection, or too many waited.
    pub dropped: u64,
    /// Connections made.
    pub connections: u64,
    /// Snapshots that the peer began to send and was not asked for: they were not taken.
    pub unasked_snapshots: u64,
    /// Why the last connection ended, or could not be made.
    pub last_error: Option<String>,
}

/// Bytes that wait in a node's queues.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting {
    pub(crate) core: usize,
    pub(crate) service: usize,
    pub(crate) io: usize,
}

impl Status {
    /// `None` until the core has begun.
    pub(crate) fn new(options: &Options, board: &Board, waiting: Waiting) -> Option<Self> {
        let core = board.core()?;
        let network = &board.network;
        let view = core.view;
        Some(Self {
            id: options.id,
            replicas: options.replicas,
            role: part(options, view.role),
            durability: if options.durability == Durability::Fsync { "fsync" } else { "memory" },
            admitted: core.admitted,
            leader: core.leader,
            ballot: view.promised,
            log: LogStatus { low: view.low, executed: view.executed, next: view.next, snapshot_at: view.snapshot_at },
            counters: core.counters,
            queues: QueueStatus {
                core_bytes: waiting.core,
                service_bytes: waiting.service,
                io_bytes: waiting.io,
                room_bytes: core.room,
                dropped_frames: network.dropped.load(Ordering::Relaxed),
            },
            journal: core.journal.map(JournalStatus::new),
            durable: core.durable.into_iter().collect(),
            peers: network.peers().iter().map(|(id, figures)| (*id, PeerStatus::new(figures))).collect(),
        })
    }
}

fn part(options: &Options, role: Role) -> Part {
    match role {
        _ if !options.votes() => Part::Learner,
        Role::Leading => Part::Leader,
        Role::Preparing => Part::Candidate,
        Role::Follower => Part::Follower,
    }
}

impl JournalStatus {
    fn new(figures: JournalFigures) -> Self {
        let compactions = figures.compactions;
        Self {
            records: figures.records,
            syncs: figures.syncs,
            compactions: compactions.done,
            compactions_failed: compactions.failed,
            compaction_error: compactions.error.map(|error| error.to_string()),
        }
    }
}

impl PeerStatus {
    fn new(figures: &PeerFigures) -> Self {
        Self {
            connected: figures.connected.load(Ordering::Relaxed),
            queued_bytes: figures.queued.load(Ordering::Relaxed),
            dropped: figures.dropped.load(Ordering::Relaxed),
            connections: figures.connections.load(Ordering::Relaxed),
            unasked_snapshots: figures.unasked_snapshots.load(Ordering::Relaxed),
            last_error: figures.error(),
        }
    }
}
