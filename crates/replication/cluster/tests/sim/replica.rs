//! One node of the order: the product's replica, journal, codec and order, and what stands between them and the world.

use crate::setting::Setting;
use env::{Moment, Randomness, SimDisk};
use net::frame::{self, Decoder, Wire};
use paxos::config::Options;
use paxos::core::{Image, Instance, Message, ReplicaId, Value};
use paxos::image::ImageStore;
use paxos::journal::Journal;
use paxos::known_voters::KnownVoters;
use paxos::membership::Membership;
use paxos::message::PeerMessage;
use paxos::order::SteppedOrder;
use paxos::replica::{Input, Replica};
use paxos::transport::{AskedPeers, Cutter, PieceAssembly};
use sim::{DriftingClock, Violation};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;
use total::Position;

/// Next jobs of the order, in their sequence.
#[derive(Debug)]
pub enum Work {
    Deliver(Instance, Value),
    Recover(Instance, Image),
    Install(Instance, Image),
    Snapshot,
}

/// State of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    Idle,
    /// The records before the sync are on the disk already; the replica has not been told.
    Done,
    /// They will be there only at the end.
    Pending,
}

/// A node of the order, alive or not.
#[derive(Debug)]
pub struct Host {
    pub options: Options,
    pub clock: DriftingClock,
    pub disk: SimDisk,
    /// Number of starts. What was entered for an earlier life has no effect.
    pub lives: u64,
    pub paused_until: u64,
    pub life: Option<Life>,
}

/// A running node of the order.
#[derive(Debug)]
pub struct Life {
    pub replica: Replica,
    membership: Membership,
    pub known_voters: KnownVoters,
    pub order: SteppedOrder,
    pub journal: Journal,
    pub work: VecDeque<Work>,
    /// Whether the end of the first job is entered.
    pub is_working: bool,
    /// The instance that the replica has to deliver next.
    pub next: Instance,
    pub sync: Sync,
    /// Records up to this one are durable.
    pub durable: u64,
    /// When replica and order want to be called, in virtual time.
    pub deadline: u64,
    /// Inputs that arrived during a pause.
    pub late: VecDeque<Input>,
    /// Rung when there is something to deliver.
    pub deliveries: u64,
    /// Rung when there may be room, or a barrier has its place.
    pub changed: u64,
    decoder: Decoder,
    pieces: BTreeMap<ReplicaId, PieceAssembly>,
    pub asked: AskedPeers,
    pub images: ImageStore,
}

impl Host {
    pub fn new(id: ReplicaId, setting: &Setting, randomness: &mut Randomness) -> Host {
        Host {
            options: Options { id, ..setting.replica.clone() },
            clock: DriftingClock::draw(setting.drift_ppm, randomness),
            disk: SimDisk::new(randomness.next_u64(), setting.disk),
            lives: 0,
            paused_until: 0,
            life: None,
        }
    }

    /// What this node's clock shows.
    pub fn shown(&self, now: u64) -> Moment {
        self.clock.shows(now)
    }

    /// Starts from what the disk has, with another clock. `bells`: of deliveries and of other changes.
    pub fn start(
        &mut self,
        now: u64,
        resume_after: Option<Position>,
        bells: (u64, u64),
        setting: &Setting,
        randomness: &mut Randomness,
    ) -> Result<(), Violation> {
        self.lives += 1;
        self.paused_until = 0;
        self.clock = DriftingClock::draw(setting.drift_ppm, randomness);
        let id = self.options.id;
        let (shown, seed, birth) = (self.shown(now), randomness.next_u64(), randomness.next_u64().max(1));
        let bad = |error: &dyn std::error::Error| Violation(format!("node {id} cannot start: {error}"));
        let log = wal::LogOptions {
            segment_bytes: setting.segment_bytes,
            buffer_bytes: 1 << 20,
            driver: wal::Driver::Caller,
            ..wal::LogOptions::default()
        };
        let opened = Journal::open(Arc::new(self.disk.clone()), &self.options, log, birth);
        let (journal, records) = opened.map_err(|error| bad(&error))?;
        let replica = Replica::recover(self.options.clone(), shown, seed, records).map_err(|error| bad(&error))?;
        let directory = Arc::clone(journal.directory());
        let owner = directory.owner();
        let membership = Membership::of_owner(&self.options, seed, &owner, journal.records_before());
        let images = journal.images().clone();
        self.life = Some(Life {
            replica: if owner.admitted { replica } else { replica.unadmitted() },
            membership,
            known_voters: KnownVoters::new(membership, Some(directory)),
            order: SteppedOrder::new(&self.options, randomness.next_u64(), &setting.limits, resume_after),
            journal,
            work: VecDeque::new(),
            is_working: false,
            next: 0,
            sync: Sync::Idle,
            durable: 0,
            deadline: now,
            late: VecDeque::new(),
            deliveries: bells.0,
            changed: bells.1,
            decoder: Decoder::new(frame::MAX_FRAME_BYTES),
            pieces: BTreeMap::new(),
            asked: AskedPeers::default(),
            images: images.with_short_bytes(setting.short_bytes),
        });
        Ok(())
    }

    /// Its membership, if it runs.
    pub fn membership(&self) -> Option<Membership> {
        let life = self.life.as_ref()?;
        Some(Membership { records: life.membership.records + life.durable, ..life.membership })
    }
}

impl Life {
    /// The messages in a packet.
    pub fn decode<M: Wire>(&mut self, bytes: &[u8]) -> Result<Vec<M>, Violation> {
        let bad = |error: frame::BadFrame| Violation(format!("the codec does not read what it wrote: {error}"));
        self.decoder.buffer().extend_from_slice(bytes);
        let mut messages = Vec::new();
        while let Some(frame) = self.decoder.next_frame().map_err(bad)? {
            for message in frame.messages() {
                messages.push(message.map_err(bad)?);
            }
        }
        Ok(messages)
    }

    /// What the replica receives of a message: of the pieces of a snapshot the notice that they came, and then the whole.
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

    /// The connection to a peer is gone, and what it was in the middle of.
    pub fn forget_pieces(&mut self, from: ReplicaId) {
        self.pieces.remove(&from);
    }
}

/// A message as packets: a snapshot is sent in pieces.
pub fn encode(message: &PeerMessage, piece_bytes: usize) -> io::Result<Vec<Vec<u8>>> {
    let PeerMessage::Core(Message::Snapshot(at, image)) = message else { return Ok(vec![encode_one(message)]) };
    let mut cutter = Cutter::new(*at, image, piece_bytes);
    let mut pieces = Vec::new();
    while let Some(piece) = cutter.next_piece()? {
        pieces.push(encode_one(&piece));
    }
    Ok(pieces)
}

fn encode_one(message: &PeerMessage) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::encode(message, &mut bytes).expect("a message fits a frame");
    bytes
}
