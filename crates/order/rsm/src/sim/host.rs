//! One node of the simulated cluster: the product's replica, executor, journal and codec, and what stands between them and the world.

use super::registers::Registers;
use super::setting::Setting;
use crate::executor::Executor;
use env::{Randomness, SimDisk};
use net::frame::{self, Decoder, Wire};
use paxos::config::{Durability, Options};
use paxos::core::{Ballot, Core, Image, Instance, Message, Proved, Record, ReplicaId, Session, Value};
use paxos::image::ImageStore;
use paxos::journal::{Journal, JournalError};
use paxos::known_voters::KnownVoters;
use paxos::membership::Membership;
use paxos::message::PeerMessage;
use paxos::replica::{Input, Replica};
use paxos::request::Chunk;
use paxos::transport::{AskedPeers, Cutter, PieceAssembly};
use sim::{DriftingClock, Violation, demand};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;

/// Next jobs of the service, in order.
#[derive(Debug)]
pub enum Work {
    /// Execute a batch.
    Deliver(Instance, Value),
    /// Take over a state.
    Install(Instance, Image),
    /// Hand out the state.
    Snapshot,
}

/// State of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// Nothing.
    Idle,
    /// The records journalled before the sync are on the disk already; the replica has not been notified.
    Done,
    /// It will be on the disk only at the end.
    Pending,
}

/// Obligations of a node: the promises, votes and prepares that it has sent.
#[derive(Debug, Default)]
pub struct Word {
    /// It answers to no ballot below.
    ballot: Ballot,
    /// The ballot of its last vote for each instance, as far as the journal may still hold it.
    votes: BTreeMap<Instance, Ballot>,
}

impl Word {
    /// A message is sent.
    pub fn give(&mut self, message: &Message) {
        if let Message::Prepare(ballot, _) | Message::Promise(ballot, ..) | Message::Accept(ballot, _) = message {
            self.ballot = self.ballot.max(*ballot);
        }
        if let Message::Accept(ballot, instance) = message {
            let vote = self.votes.entry(*instance).or_default();
            *vote = (*vote).max(*ballot);
        }
    }

    /// Checks that the records left by a crash keep the obligations.
    fn check(&mut self, options: &Options, records: &[Record]) -> Result<(), Violation> {
        let id = options.id;
        let core = Proved::recover(options.core(), id, records.to_vec());
        let (promised, low) = (core.view().promised, core.view().low);
        demand!(promised >= self.ballot, "R{id} has forgotten ballot {}: it knows {promised}", self.ballot);
        let votes = core.checkpoint().into_iter().filter_map(|record| match record {
            Record::Vote(ballot, instance, _) => Some((instance, ballot)),
            _ => None,
        });
        let votes: BTreeMap<Instance, Ballot> = votes.collect();
        self.votes = self.votes.split_off(&low);
        for (instance, ballot) in &self.votes {
            let kept = votes.get(instance);
            demand!(kept >= Some(ballot), "R{id} has forgotten its vote for {instance} at {ballot}: it knows {kept:?}");
        }
        Ok(())
    }
}

/// A node, alive or not.
#[derive(Debug)]
pub struct Host {
    /// Its replica's options.
    pub options: Options,
    /// Its clock, which outlives crashes.
    pub clock: DriftingClock,
    /// Its disk.
    pub disk: SimDisk,
    /// Number of starts. Events for an earlier life are ignored.
    pub lives: u64,
    /// Obligations to other nodes.
    pub word: Word,
    /// Until then the process does not run, though it lives: the machine has something better to do.
    pub paused_until: u64,
    /// A copy of its disk, and how many records it may hold at most.
    pub saved: Option<(SimDisk, u64)>,
    /// It has forgotten what it has said, and must say nothing more that has to be remembered.
    pub is_forgetful: bool,
    /// Others have told it that it has forgotten something: it stays away.
    pub is_dismissed: bool,
    /// It is running.
    pub life: Option<Life>,
}

/// A running node.
#[derive(Debug)]
pub struct Life {
    /// The product's replica.
    pub replica: Replica,
    /// Membership at the start.
    membership: Membership,
    /// The product's record of known voters.
    pub known_voters: KnownVoters,
    /// The product's executor.
    pub executor: Executor<Registers>,
    /// The product's journal; `None` without durability.
    pub journal: Option<Journal>,
    /// Jobs that the service has not done yet.
    pub work: VecDeque<Work>,
    /// The instance that the replica has to deliver next.
    pub next: Instance,
    /// A sync is under way.
    pub sync: Sync,
    /// Records up to this one are durable.
    pub durable: u64,
    /// When the replica wants to be called, in virtual time.
    pub deadline: u64,
    /// Requests of clients for which the replica has no room yet.
    pub inbox: VecDeque<Chunk>,
    /// Inputs that arrived during a pause.
    pub late: VecDeque<Input>,
    /// Clients that wait for replies of a session, and of a nonce.
    pub sessions: BTreeMap<Session, usize>,
    /// See [`sessions`](Self::sessions).
    pub nonces: BTreeMap<u64, usize>,
    /// Clients that are connected, and since when.
    pub clients: BTreeMap<usize, u64>,
    decoder: Decoder,
    pieces: BTreeMap<ReplicaId, PieceAssembly>,
    /// Whom the replica has asked for what it misses.
    pub asked: AskedPeers,
    /// The product's store of snapshots, with a limit of its own.
    pub images: ImageStore,
}

impl Host {
    /// A node that has never run.
    #[must_use]
    pub fn new(id: ReplicaId, setting: &Setting, randomness: &mut Randomness) -> Self {
        Self {
            options: Options { id, ..setting.options.clone() },
            clock: DriftingClock::draw(setting.drift_ppm, randomness),
            disk: SimDisk::new(randomness.next_u64(), setting.disk),
            lives: 0,
            word: Word::default(),
            paused_until: 0,
            saved: None,
            is_forgetful: false,
            is_dismissed: false,
            life: None,
        }
    }

    /// Starts from what the disk has.
    ///
    /// # Errors
    /// The journal cannot be read: its disk was never damaged below what it had reported durable.
    pub fn start(&mut self, now: u64, setting: &Setting, randomness: &mut Randomness) -> Result<(), Violation> {
        self.lives += 1;
        self.paused_until = 0;
        let id = self.options.id;
        let (shown, seed, birth) = (self.clock.shows(now), randomness.next_u64(), randomness.next_u64().max(1));
        let bad = |error: &dyn std::error::Error| Violation(format!("R{id} cannot start: {error}"));
        let (journal, replica) = if self.options.durability == Durability::Fsync {
            let (journal, records) = self.open_journal(setting, birth).map_err(|error| bad(&error))?;
            self.word.check(&self.options, &records)?;
            let replica = Replica::recover(self.options.clone(), shown, seed, records);
            (Some(journal), replica.map_err(|error| bad(&error))?)
        } else {
            (None, Replica::new(self.options.clone(), shown, seed).map_err(|error| bad(&error))?)
        };
        let directory = journal.as_ref().map(|journal: &Journal| Arc::clone(journal.directory()));
        let owner = directory.as_ref().map(|directory| directory.owner());
        let before = journal.as_ref().map_or(0, Journal::records_before);
        let membership = match &owner {
            Some(owner) => Membership::of_owner(&self.options, seed, owner, before),
            None => Membership::new(&self.options, seed),
        };
        let images = journal.as_ref().map_or_else(ImageStore::in_memory, |journal| journal.images().clone());
        let is_admitted = owner.is_some_and(|owner| owner.admitted);
        self.life = Some(Life {
            replica: if is_admitted { replica } else { replica.unadmitted() },
            membership,
            known_voters: KnownVoters::new(membership, directory),
            executor: Executor::with_limits(id, setting.limits, Registers::new(setting.ballast)),
            journal,
            work: VecDeque::new(),
            next: 0,
            sync: Sync::Idle,
            durable: 0,
            deadline: now,
            inbox: VecDeque::new(),
            late: VecDeque::new(),
            sessions: BTreeMap::new(),
            nonces: BTreeMap::new(),
            clients: BTreeMap::new(),
            decoder: Decoder::new(net::frame::MAX_FRAME_BYTES),
            pieces: BTreeMap::new(),
            asked: AskedPeers::default(),
            images: images.with_short_bytes(setting.short_bytes),
        });
        Ok(())
    }

    /// Returns its membership, if it runs.
    #[must_use]
    pub fn membership(&self) -> Option<Membership> {
        let life = self.life.as_ref()?;
        Some(Membership { records: life.membership.records + life.durable, ..life.membership })
    }

    fn open_journal(&self, setting: &Setting, birth: u64) -> Result<(Journal, Vec<Record>), JournalError> {
        let log = wal::LogOptions {
            segment_bytes: setting.segment_bytes,
            buffer_bytes: 1 << 20,
            driver: wal::Driver::Caller,
            ..wal::LogOptions::default()
        };
        Journal::open(Arc::new(self.disk.clone()), &self.options, log, birth)
    }
}

impl Life {
    /// The messages in a packet.
    ///
    /// # Errors
    /// The codec does not read what it wrote.
    pub fn decode<M: Wire>(&mut self, bytes: &[u8]) -> Result<Vec<M>, Violation> {
        decode(&mut self.decoder, bytes)
    }

    /// What the replica receives of a message: of the pieces of a snapshot the notice that they came, and then the whole; of a snapshot
    /// that it has not asked for nothing.
    ///
    /// # Errors
    /// The snapshot is longer than any, or the disk fails.
    pub fn put_together(&mut self, from: ReplicaId, message: PeerMessage) -> io::Result<Option<PeerMessage>> {
        if matches!(message, PeerMessage::Core(Message::Learned(_))) {
            self.asked.forget(from);
        }
        let PeerMessage::Piece { at, offset, total, bytes } = &message else { return Ok(Some(message)) };
        if *offset == 0 && !self.asked.may_begin(from, *at) {
            self.pieces.remove(&from);
            return Ok(None);
        }
        let assembly = self.pieces.entry(from).or_insert_with(|| PieceAssembly::new(self.images.clone()));
        let whole = assembly.add(*at, *offset, *total, bytes)?;
        Ok(Some(whole.map_or(message, |(at, image)| PeerMessage::Core(Message::Snapshot(at, image)))))
    }

    /// The state of the executor, byte for byte, and the instance before which it is.
    #[must_use]
    pub fn state(&self) -> (Instance, Option<Vec<u8>>) {
        let writer = ImageStore::in_memory().writer();
        let state = self.executor.snapshot(writer).and_then(|(at, image)| Ok((at, image.to_vec()?)));
        state.map_or((self.next, None), |(at, bytes)| (at, Some(bytes)))
    }

    /// The connection to a peer is gone, and what it was in the middle of.
    pub fn forget_pieces(&mut self, from: ReplicaId) {
        self.pieces.remove(&from);
    }
}

/// The messages in some bytes.
///
/// # Errors
/// The codec does not read what it wrote.
pub fn decode<M: Wire>(decoder: &mut Decoder, bytes: &[u8]) -> Result<Vec<M>, Violation> {
    let bad = |error: frame::BadFrame| Violation(format!("the codec does not read what it wrote: {error}"));
    decoder.buffer().extend_from_slice(bytes);
    let mut messages = Vec::new();
    while let Some(frame) = decoder.next_frame().map_err(bad)? {
        for message in frame.messages() {
            messages.push(message.map_err(bad)?);
        }
    }
    Ok(messages)
}

/// Encodes a message for the network: a snapshot is sent in pieces.
///
/// # Errors
/// The snapshot cannot be read. Within: a message is longer than a frame.
pub fn encode(message: &PeerMessage, piece_bytes: usize) -> io::Result<Result<Vec<Vec<u8>>, Violation>> {
    let PeerMessage::Core(Message::Snapshot(at, image)) = message else {
        return Ok(encode_one(message).map(|bytes| vec![bytes]));
    };
    let mut cutter = Cutter::new(*at, image, piece_bytes);
    let mut pieces = Vec::new();
    while let Some(piece) = cutter.next_piece()? {
        pieces.push(piece);
    }
    Ok(pieces.iter().map(encode_one).collect())
}

/// One message as a frame.
///
/// # Errors
/// It is longer than a frame.
pub fn encode_one<M: Wire>(message: &M) -> Result<Vec<u8>, Violation> {
    let mut bytes = Vec::new();
    frame::encode(message, &mut bytes).map_err(|error| Violation(error.to_string()))?;
    Ok(bytes)
}
