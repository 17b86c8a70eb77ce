//! One replica without I/O: inputs and the time go in, effects come out.
//!
//! The replica steps the proved core and does what the core leaves open: it gathers requests into batches, suspects leaders,
//! retransmits, fetches what was missed, decides when to take a snapshot, and holds messages back until the journal is durable.
//! Agreement rests on three rules alone: the core sees one event at a time, it sees only messages that were really sent, and what it
//! puts out is performed as the proved release says, which is told nothing false about the journal. Everything else affects only
//! progress. The runtime feeds the replica from sockets, the simulator from a seed: the same code runs in both.
//!
//! # A tour
//!
//! [`Replica::handle`] takes an input, and then lets each module do what is due.
//!
//! ```text
//!            Input, Moment
//!                 |
//!              receive ----- notes what a message says of its sender, then
//!                 |
//!               drive ------ steps the core; own messages come back at once; delivers what is decided
//!                 |  \
//!                 |   release    promises, votes and prepares wait for the journal
//!                 |
//!    election (detector)    suspicions, candidacies, heartbeats, who leads
//!    proposing (batcher, forwards)    batches to propose or to forward
//!    retransmission (round_trip)      proposals that were not answered
//!    catch_up                         queries for what was missed
//!    consumers                        what may be forgotten, since a majority of the consumers has it
//!    admission                        silence, until all voters know a new one
//!    truncation                       snapshots, what to forget, a shorter journal
//!                 |
//!              Effects
//! ```
//!
//! Each module keeps its own state and returns its next deadline; [`Replica::deadline`] is the first of them. No module names another:
//! the methods of [`Replica`], each in the module that it belongs to, pass on what one module needs from another.
//!
//! # Invariants
//!
//! 1. The core takes one event at a time, and its outputs are dealt with before the next one.
//! 2. Every output of the core goes through the release, in order; a message that waits (`waits` in the model) leaves after
//!    `Input::Durable` of the newest record emitted before it (a theorem; `tests/recovery.rs`).
//! 3. Only the core's own messages are sent, some of them again, some of them not (as on a network that loses them).
//! 4. Requests of one origin keep their order, from `Input::Submit` to the batch (`tests/batching.rs`).
//! 5. Whatever grows has a limit: requests that wait ([`Replica::room`], `MAX_FOREIGN_BYTES`), batches
//!    that the application has not taken (`undone_batches`, `undone_bytes`), forwards, held messages, open
//!    proposals (the window, and their bytes), what is kept (the span, and its bytes), queries (one), the journal.
//! 6. Equal inputs, moments and seeds give equal effects: no clock, no entropy, no order of a hash (`tests/hostility.rs`).
//! 7. No input makes it panic, or want to be called again and again at one moment (`tests/hostility.rs`).
//! 8. Once faults end, there is a leader and everybody delivers, within a few suspicion timeouts (`tests/storms.rs`).
//!
//! # Deliberately absent
//!
//! Sessions and replies (the executor's), the bytes of frames and pieces of snapshots (the transport's), reads that bypass the order.

mod admission;
mod ballots;
mod batcher;
mod catch_up;
mod consumers;
mod detector;
mod drive;
mod election;
mod forwards;
mod peers;
mod proposing;
mod receive;
mod release;
mod retransmission;
mod round_trip;
#[cfg(test)]
mod tests;
mod truncation;
mod untaken;

use crate::config::{BadOption, Options};
use crate::core::{Ballot, Config, Core, Image, Instance, Message, Output, Proved, Record, ReplicaId, Value, View};
use crate::message::PeerMessage;
use crate::request::Chunk;
use admission::Admission;
use ballots::Ballots;
use batcher::Batcher;
use catch_up::CatchUp;
use consumers::Consumers;
use detector::Detector;
use election::Heartbeats;
use env::Moment;
use env::Randomness;
use forwards::Forwards;
use peers::{PeerSet, Peers};
use release::Release;
use retransmission::Retransmission;
use std::collections::VecDeque;
use truncation::{Compaction, Truncation};
use untaken::Untaken;

/// A replica. See the module's tour.
#[derive(Debug)]
pub struct Replica<C: Core = Proved> {
    options: Options,
    config: Config,
    core: C,
    /// The core's, after its last event.
    view: View,
    now: Moment,
    randomness: Randomness,
    counters: Counters,
    /// The initial state from the journal, until it is delivered.
    recovered: Option<(Instance, Image)>,
    /// Messages to itself.
    own: VecDeque<Message>,
    /// Empty between steps: kept for its memory.
    outputs: Vec<Output>,
    /// Whether an instance was decided since the core last had nothing to deliver.
    ready: bool,
    /// Deliveries that the application has not executed yet.
    untaken: Untaken,
    /// Leader and ballot as last reported to clients.
    reported: (Option<ReplicaId>, Ballot),
    /// Whether this replica was elected, and has not announced it.
    announce: bool,
    /// During a heartbeat: its receivers.
    listeners: Option<PeerSet>,
    peers: Peers,
    admission: Admission,
    ballots: Ballots,
    release: Release,
    batcher: Batcher,
    forwards: Forwards,
    detector: Detector,
    heartbeats: Heartbeats,
    retransmission: Retransmission,
    catch_up: CatchUp,
    consumers: Consumers,
    truncation: Truncation,
    compaction: Compaction,
}

impl<C: Core> Replica<C> {
    /// A replica without a past. Replicas of one cluster should have different seeds.
    ///
    /// # Errors
    /// An option is out of its limits.
    pub fn new(options: Options, now: Moment, seed: u64) -> Result<Self, BadOption> {
        options.check()?;
        let core = C::new(options.core(), options.id);
        let compaction = Compaction::new(options.journal_bytes, &[]);
        Ok(Self::with(options, core, now, seed, compaction))
    }

    /// A replica that has journalled these records, in this order. Its first effect is the service's state, if they have one.
    ///
    /// # Errors
    /// An option is out of its limits.
    pub fn recover(options: Options, now: Moment, seed: u64, records: Vec<Record>) -> Result<Self, BadOption> {
        options.check()?;
        let compaction = Compaction::new(options.journal_bytes, &records);
        let core = C::recover(options.core(), options.id, records);
        Ok(Self::with(options, core, now, seed, compaction))
    }

    fn with(options: Options, core: C, now: Moment, seed: u64, compaction: Compaction) -> Self {
        let (config, view) = (options.core(), core.view());
        Self {
            config,
            now,
            randomness: Randomness::from_seed(seed),
            counters: Counters::default(),
            recovered: recovered_state(&core, &view),
            own: VecDeque::new(),
            outputs: Vec::new(),
            ready: true,
            untaken: Untaken::new(options.undone_batches, options.undone_bytes, view.executed),
            reported: (None, 0),
            announce: false,
            listeners: None,
            peers: Peers::new(options.replicas, options.id),
            admission: Admission::default(),
            ballots: Ballots::new(now),
            release: Release::new(options.durability),
            batcher: Batcher::new(&options),
            forwards: Forwards::new(proposing::forward_limit(&options), options.suspicion),
            detector: Detector::new(&options, &view, now),
            heartbeats: Heartbeats::new(options.suspicion, now),
            retransmission: Retransmission::new(options.id, options.suspicion),
            catch_up: CatchUp::new(&options, now),
            consumers: Consumers::new(options.replicas, options.id),
            truncation: Truncation::new(&options, config.span),
            compaction,
            core,
            view,
            options,
        }
    }

    /// Handles an input at a moment, and everything due then; appends the effects to `effects`. Moments do not go back: an earlier
    /// one counts as the latest so far.
    pub fn handle(&mut self, now: Moment, input: Input, effects: &mut Vec<Effect>) {
        self.now = self.now.max(now);
        self.begin(effects);
        self.receive(input, effects);
        self.fail_over(effects);
        self.beat(effects);
        self.tell_leader(effects);
        self.send_again(effects);
        self.send_batches(effects);
        self.fetch_missed(effects);
        self.truncate_and_compact(effects);
    }

    /// When to call [`handle`](Self::handle) if nothing happens until then.
    #[must_use]
    pub fn deadline(&self) -> Moment {
        let elections = self.detector.deadline().min(self.candidacy_at()).min(self.heartbeats.deadline());
        let batches = self.batch_departure().min(self.forwards.deadline());
        let repairs = self.catch_up.deadline();
        let repairs = if self.detector.leads() { repairs.min(self.retransmission.deadline()) } else { repairs };
        elections.min(batches).min(repairs)
    }

    /// Bytes of requests that it takes now; it bears a little more, but clients should not be read from while this is 0.
    #[must_use]
    pub fn room(&self) -> usize {
        self.options.pending_bytes.saturating_sub(self.batcher.own_bytes())
    }

    /// Returns whether it votes, if it is a voter: see [`unadmitted`](Self::unadmitted).
    #[must_use]
    pub fn is_admitted(&self) -> bool {
        self.admission.is_over()
    }

    /// Returns the readable state of the core.
    #[must_use]
    pub fn view(&self) -> View {
        self.view
    }

    /// Returns the leader as known to this replica: itself only while it has contact to a majority, another only while messages
    /// arrive from it.
    #[must_use]
    pub fn leader(&self) -> Option<ReplicaId> {
        self.detector.leader()
    }

    /// Figures since the start.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns its options.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Delivers the state from the journal first, then the instances decided after it.
    fn begin(&mut self, effects: &mut Vec<Effect>) {
        if let Some((at, image)) = self.recovered.take() {
            effects.push(Effect::Recover(at, image));
        }
        if self.ready {
            self.settle(effects);
        }
    }
}

/// The service's state that a core has recovered, if any.
fn recovered_state<C: Core>(core: &C, view: &View) -> Option<(Instance, Image)> {
    let records = if view.snapshot_at > 0 { core.checkpoint() } else { Vec::new() };
    records.into_iter().rev().find_map(|record| match record {
        Record::Snapshot(at, image) | Record::Install(at, image) => Some((at, image)),
        _ => None,
    })
}

/// Input of a replica.
#[derive(Clone, Debug)]
pub enum Input {
    /// A message of a peer whose identity the transport has verified.
    Peer {
        /// The peer.
        from: ReplicaId,
        /// Message of the peer. A snapshot arrives as [`Message::Snapshot`], reassembled by the transport.
        /// Its pieces may be handed in as well, without their bytes: they show that it is on its way.
        message: PeerMessage,
    },
    /// Handles a new connection to a peer: messages sent before may be lost.
    Connected(ReplicaId),
    /// Handles the loss of the connection to a peer.
    Disconnected(ReplicaId),
    /// Requests of own clients, in order. See [`Replica::room`].
    Submit(Chunk),
    /// The journal is durable up to and including the record with this number (see [`Effect::Journal`]).
    Durable(u64),
    /// The service has executed every instance below this one.
    Executed(Instance),
    /// The service's state after all instances below this one: the answer to [`Effect::TakeSnapshot`].
    Taken(Instance, Image),
    /// What stands on the service has everything below this instance on its disk. Who says so once, goes on saying so.
    ConsumerHas(Instance),
    /// The time has come that [`Replica::deadline`] named (or earlier or later: ticks do no harm).
    Tick,
}

/// Effects to perform, in this order.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Send this to a peer; it may be lost. Never to the replica itself. Snapshots are cut into pieces by the transport.
    Send(ReplicaId, PeerMessage),
    /// Append this to the journal. Records are numbered from 1 in the order of these effects; only with `Durability::Fsync`.
    Journal(Record),
    /// The journal is long: replace all records so far (this many) by these.
    Compact(u64, Vec<Record>),
    /// Hand these requests to the service. Instances come in order, without holes.
    Deliver(Instance, Value),
    /// The service's state is this, of this replica's own journal; the next delivery is the instance named. It comes first, if at all.
    Recover(Instance, Image),
    /// The service's state is this now, which another replica has sent; the next delivery is the instance named.
    Install(Instance, Image),
    /// Ask the service for its state, after all that was delivered so far.
    TakeSnapshot,
    /// A majority of the voters' consumers has everything below this instance on its disk, as each has said ([`Input::ConsumerHas`]): more
    /// than the last time. A service that is asked for its state need not go back further for their sake.
    MayForget(Instance),
    /// Every other voter knows this one: it votes from now on. To be noted durably, if there is a directory, before what follows is sent.
    Admitted,
    /// The leader has changed (`None`: unknown). Clients' requests without a reply may be lost and should be sent again.
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
    /// Queries for missed instances.
    pub queries: u64,
    /// Snapshots taken, and installed.
    pub snapshots_taken: u64,
    /// Snapshots of others that were installed.
    pub snapshots_installed: u64,
    /// Messages that were passed over because their ballot is too far above all that this replica knew.
    pub jumps_refused: u64,
    /// Events that the core has taken.
    pub events: u64,
}
