//! Baseline for the proved core: Multi-Paxos as one writes it without a proof in mind.
//!
//! It takes the same events and gives the same outputs as [`paxos::core::Proved`] (`tests/plain_core.rs` compares them), so that
//! the same runtime drives both, and whatever differs in a measurement is what the proof costs. Where the proved core makes a new
//! state from the old one, this one is a mutable struct that is changed in place: one ring of slots from the first instance
//! that is kept, a vote and what was chosen side by side in a slot, values moved and never copied.
//!
//! It is not part of the product: nothing but the lab runs it. Its one difference is in journals that no replica has written (a vote
//! far outside of what is kept, a truncation that goes back): this one skips such a record, the proved one does as it says.

use paxos::core::generated::{Decision, Vote};
use paxos::core::{
    Ballot, Config, Core, Event, Image, Instance, Message, Output, Record, ReplicaId, Role, Value, View, prim,
};
use std::collections::{BTreeMap, VecDeque};

/// An own vote, and the replicas known to have voted the same: one bit each.
#[derive(Debug)]
struct Ballotted {
    ballot: Ballot,
    value: Value,
    voters: u64,
}

/// State of one instance.
#[derive(Debug, Default)]
struct Slot {
    vote: Option<Ballotted>,
    chosen: Option<Value>,
}

/// A replica of plain Multi-Paxos.
#[derive(Debug)]
pub struct Plain {
    config: Config,
    id: ReplicaId,
    /// No vote and no promise below it any more.
    promised: Ballot,
    role: Role,
    /// Below it everything is forgotten.
    low: Instance,
    /// The next instance to deliver.
    executed: Instance,
    /// The first that the leader has not used.
    next: Instance,
    /// Phase 1 covers the instances from it on.
    first: Instance,
    /// Replicas that have promised `promised` to this one, one bit each.
    promises: u64,
    /// The newest votes that phase 1 has received.
    candidates: BTreeMap<Instance, (Ballot, Value)>,
    /// The instances from `low` on, `config.span` at most.
    slots: VecDeque<Slot>,
    snapshot_at: Instance,
    snapshot: Image,
}

impl Core for Plain {
    fn new(config: Config, id: ReplicaId) -> Self {
        Self {
            config,
            id,
            promised: 0,
            role: Role::Follower,
            low: 0,
            executed: 0,
            next: 0,
            first: 0,
            promises: 0,
            candidates: BTreeMap::new(),
            slots: VecDeque::new(),
            snapshot_at: 0,
            snapshot: prim::blank(),
        }
    }

    fn recover(config: Config, id: ReplicaId, records: Vec<Record>) -> Self {
        let mut replica = Self::new(config, id);
        records.into_iter().for_each(|record| replica.replay(record));
        replica
    }

    fn step(&mut self, event: Event, outputs: &mut Vec<Output>) {
        match event {
            Event::Receive(src, message) => self.receive(src, message, outputs),
            Event::Request(value) => self.request(value, outputs),
            Event::Suspect => self.suspect(outputs),
            Event::Heartbeat => outputs.push(Output::Broadcast(Message::Alive(self.promised, self.executed))),
            Event::Execute => self.execute(outputs),
            Event::CatchUp(dst, hi) => self.catch_up(dst, hi, outputs),
            Event::Snapshot(at, image) => self.keep_snapshot(at, image, outputs),
            Event::Truncate(at) => self.truncate(at, outputs),
        }
    }

    fn checkpoint(&self) -> Vec<Record> {
        let mut records = vec![
            Record::Truncate(self.low),
            Record::Snapshot(self.snapshot_at, self.snapshot.clone()),
            Record::Ballot(self.promised),
            Record::Learned(self.chosen_between(self.low, Instance::MAX)),
        ];
        records.extend(self.votes_from(self.low).map(|vote| Record::Vote(vote.ballot, vote.instance, vote.value)));
        records
    }

    fn view(&self) -> View {
        View {
            promised: self.promised,
            role: self.role,
            low: self.low,
            executed: self.executed,
            next: self.next,
            snapshot_at: self.snapshot_at,
        }
    }
}

/// All handlers.
impl Plain {
    fn receive(&mut self, src: ReplicaId, message: Message, outputs: &mut Vec<Output>) {
        match message {
            Message::Prepare(ballot, first) => self.prepare(src, ballot, first, outputs),
            Message::Promise(ballot, first, votes) => self.promise(src, ballot, first, votes, outputs),
            Message::Propose(ballot, at, value) => self.proposed(src, ballot, at, value, outputs),
            Message::Accept(ballot, at) => self.accepted(src, ballot, at, outputs),
            Message::Commit(ballot, at) => self.committed(ballot, at, outputs),
            Message::Reject(ballot) | Message::Alive(ballot, _) => self.heard_of(ballot, outputs),
            Message::Query(lo, hi) => self.query(src, lo, hi, outputs),
            Message::Learned(decisions) => self.learned(decisions, outputs),
            Message::Snapshot(at, image) => self.install_newer(at, image, outputs),
            Message::Forward(value) if self.role == Role::Leading => self.propose(value, outputs),
            Message::Forward(_) | Message::Truncated(_) => {}
        }
    }

    // --- Phase 1.

    fn suspect(&mut self, outputs: &mut Vec<Output>) {
        if !self.is_voter(self.id) {
            return;
        }
        let replicas = self.config.replicas;
        self.promised = (self.promised / replicas + 1) * replicas + self.id;
        self.role = Role::Preparing;
        self.first = self.executed.max(self.low);
        self.next = self.first;
        self.promises = 0;
        self.candidates.clear();
        let (ballot, first) = (self.promised, self.first);
        let votes = self.votes_from(first).collect();
        outputs.push(Output::Journal(Record::Ballot(ballot)));
        outputs.push(Output::Broadcast(Message::Prepare(ballot, first)));
        outputs.push(Output::Send(self.id, Message::Promise(ballot, first, votes)));
    }

    fn prepare(&mut self, src: ReplicaId, ballot: Ballot, first: Instance, outputs: &mut Vec<Output>) {
        if !self.is_voter(self.id) || ballot == self.promised {
            return;
        }
        if ballot < self.promised {
            outputs.push(Output::Send(src, Message::Reject(self.promised)));
        } else if first < self.low {
            outputs.push(Output::Send(src, Message::Truncated(self.low)));
        } else {
            self.follow(ballot);
            let votes = self.votes_from(first).collect();
            outputs.push(Output::Journal(Record::Ballot(ballot)));
            outputs.push(Output::Send(src, Message::Promise(ballot, first, votes)));
        }
    }

    fn promise(
        &mut self,
        src: ReplicaId,
        ballot: Ballot,
        first: Instance,
        votes: Vec<Vote>,
        outputs: &mut Vec<Output>,
    ) {
        let is_awaited = self.role == Role::Preparing && ballot == self.promised && first == self.first;
        if !is_awaited || !self.is_voter(src) || self.promises & bit(src) != 0 {
            return;
        }
        let covered = first..first.saturating_add(self.config.span);
        if votes.iter().any(|vote| !covered.contains(&vote.instance)) {
            return;
        }
        self.promises |= bit(src);
        for vote in votes {
            self.next = self.next.max(vote.instance + 1);
            let newest = self.candidates.entry(vote.instance).or_insert_with(|| (vote.ballot, vote.value.clone()));
            if newest.0 < vote.ballot {
                *newest = (vote.ballot, vote.value);
            }
        }
        if self.is_majority(self.promises) {
            self.lead(outputs);
        }
    }

    /// Phase 1 is over: propose again what may have been chosen, and nothing where no replica has voted.
    fn lead(&mut self, outputs: &mut Vec<Output>) {
        self.role = Role::Leading;
        let mut candidates = std::mem::take(&mut self.candidates);
        for at in self.first.max(self.low)..self.next {
            let value = candidates.remove(&at).map_or_else(prim::noop, |(_, value)| value);
            outputs.push(Output::Broadcast(Message::Propose(self.promised, at, value)));
        }
    }

    // --- Phase 2.

    fn request(&mut self, value: Value, outputs: &mut Vec<Output>) {
        let leader = self.promised % self.config.replicas;
        match self.role {
            Role::Leading => self.propose(value, outputs),
            Role::Follower if leader != self.id => outputs.push(Output::Send(leader, Message::Forward(value))),
            Role::Follower | Role::Preparing => outputs.push(Output::Return(value)),
        }
    }

    fn propose(&mut self, value: Value, outputs: &mut Vec<Output>) {
        let window_end = self.executed.saturating_add(self.config.window);
        let span_end = self.low.saturating_add(self.config.span);
        if self.next < window_end.min(span_end) {
            outputs.push(Output::Broadcast(Message::Propose(self.promised, self.next, value)));
            self.next += 1;
        } else {
            outputs.push(Output::Return(value));
        }
    }

    fn proposed(&mut self, src: ReplicaId, ballot: Ballot, at: Instance, value: Value, outputs: &mut Vec<Output>) {
        if !self.is_voter(self.id) {
            return;
        }
        if at < self.low {
            outputs.push(Output::Send(src, Message::Truncated(self.low)));
        } else if !self.is_kept(at) {
            // A far instance allocates nothing.
        } else if ballot < self.promised {
            outputs.push(Output::Send(src, Message::Reject(self.promised)));
        } else {
            if ballot > self.promised {
                self.follow(ballot);
            }
            self.vote(src, ballot, at, value, outputs);
        }
    }

    fn vote(&mut self, src: ReplicaId, ballot: Ballot, at: Instance, value: Value, outputs: &mut Vec<Output>) {
        let slot = self.slot_mut(at);
        if slot.vote.as_ref().is_none_or(|vote| vote.ballot != ballot) {
            slot.vote = Some(Ballotted { ballot, value: value.clone(), voters: 0 });
            outputs.push(Output::Journal(Record::Vote(ballot, at, value)));
        }
        outputs.push(Output::Send(src, Message::Accept(ballot, at)));
    }

    fn accepted(&mut self, src: ReplicaId, ballot: Ballot, at: Instance, outputs: &mut Vec<Output>) {
        let replicas = self.config.replicas;
        if !self.is_voter(src) {
            return;
        }
        let Some(Slot { vote: Some(vote), chosen: chosen @ None }) = self.existing_slot_mut(at) else { return };
        if vote.ballot != ballot {
            return;
        }
        vote.voters |= bit(src);
        if replicas < 2 * u64::from(vote.voters.count_ones()) {
            *chosen = Some(vote.value.clone());
            outputs.push(Output::Journal(Record::Decided(ballot, at)));
            outputs.push(Output::Broadcast(Message::Commit(ballot, at)));
        }
    }

    // --- Learning and catch-up.

    fn committed(&mut self, ballot: Ballot, at: Instance, outputs: &mut Vec<Output>) {
        if let Some(Slot { vote: Some(vote), chosen: chosen @ None }) = self.existing_slot_mut(at)
            && vote.ballot == ballot
        {
            *chosen = Some(vote.value.clone());
            outputs.push(Output::Journal(Record::Decided(ballot, at)));
        }
    }

    fn execute(&mut self, outputs: &mut Vec<Output>) {
        if let Some(value) = self.slot(self.executed).and_then(|slot| slot.chosen.clone()) {
            outputs.push(Output::Deliver(self.executed, value));
            self.executed += 1;
        }
    }

    fn heard_of(&mut self, ballot: Ballot, outputs: &mut Vec<Output>) {
        if ballot > self.promised {
            self.follow(ballot);
            outputs.push(Output::Journal(Record::Ballot(ballot)));
        }
    }

    fn catch_up(&self, dst: ReplicaId, hi: Instance, outputs: &mut Vec<Output>) {
        if self.executed < hi {
            outputs.push(Output::Send(dst, Message::Query(self.executed, hi)));
        }
    }

    fn query(&self, src: ReplicaId, lo: Instance, hi: Instance, outputs: &mut Vec<Output>) {
        let answer = if lo < self.low {
            Message::Snapshot(self.snapshot_at, self.snapshot.clone())
        } else {
            Message::Learned(self.chosen_between(lo, hi.min(lo.saturating_add(self.config.chunk))))
        };
        outputs.push(Output::Send(src, answer));
    }

    fn learned(&mut self, decisions: Vec<Decision>, outputs: &mut Vec<Output>) {
        decisions.iter().for_each(|decision| self.learn(decision));
        outputs.push(Output::Journal(Record::Learned(decisions)));
    }

    fn learn(&mut self, decision: &Decision) {
        if self.is_kept(decision.instance) {
            self.slot_mut(decision.instance).chosen.get_or_insert_with(|| decision.value.clone());
        }
    }

    // --- Snapshots and truncation.

    fn install_newer(&mut self, at: Instance, image: Image, outputs: &mut Vec<Output>) {
        if self.executed < at {
            self.next = self.next.max(at);
            self.install(at, image.clone());
            outputs.push(Output::Journal(Record::Install(at, image.clone())));
            outputs.push(Output::Install(at, image));
        }
    }

    fn install(&mut self, at: Instance, image: Image) {
        self.forget_below(at);
        self.executed = at;
        self.snapshot_at = at;
        self.snapshot = image;
    }

    fn keep_snapshot(&mut self, at: Instance, image: Image, outputs: &mut Vec<Output>) {
        if self.snapshot_at < at && at <= self.executed {
            self.snapshot_at = at;
            self.snapshot = image.clone();
            outputs.push(Output::Journal(Record::Snapshot(at, image)));
        }
    }

    fn truncate(&mut self, at: Instance, outputs: &mut Vec<Output>) {
        if self.low < at && at <= self.snapshot_at {
            self.forget_below(at);
            outputs.push(Output::Journal(Record::Truncate(at)));
        }
    }

    // --- Restart.

    fn replay(&mut self, record: Record) {
        match record {
            Record::Ballot(ballot) => self.remember(ballot),
            Record::Vote(ballot, at, value) => {
                self.remember(ballot);
                if self.is_kept(at) {
                    self.slot_mut(at).vote = Some(Ballotted { ballot, value, voters: 0 });
                }
            }
            Record::Decided(ballot, at) => {
                if let Some(Slot { vote: Some(vote), chosen }) = self.existing_slot_mut(at)
                    && vote.ballot == ballot
                {
                    *chosen = Some(vote.value.clone());
                }
            }
            Record::Learned(decisions) => decisions.iter().for_each(|decision| self.learn(decision)),
            Record::Snapshot(at, image) => {
                self.executed = at;
                self.snapshot_at = at;
                self.snapshot = image;
            }
            Record::Install(at, image) => self.install(at, image),
            Record::Truncate(at) => self.forget_below(at),
        }
    }

    fn remember(&mut self, ballot: Ballot) {
        if ballot > self.promised {
            self.follow(ballot);
        }
    }
}

/// Small steps of the handlers.
impl Plain {
    fn is_voter(&self, replica: ReplicaId) -> bool {
        replica < self.config.replicas
    }

    fn is_majority(&self, voters: u64) -> bool {
        self.config.replicas < 2 * u64::from(voters.count_ones())
    }

    fn follow(&mut self, ballot: Ballot) {
        self.promised = ballot;
        self.role = Role::Follower;
    }

    fn is_kept(&self, at: Instance) -> bool {
        at >= self.low && at - self.low < self.config.span
    }

    fn slot(&self, at: Instance) -> Option<&Slot> {
        self.slots.get(usize::try_from(at.checked_sub(self.low)?).ok()?)
    }

    fn existing_slot_mut(&mut self, at: Instance) -> Option<&mut Slot> {
        self.slots.get_mut(usize::try_from(at.checked_sub(self.low)?).ok()?)
    }

    /// The slot of an instance that [is kept](Self::is_kept).
    fn slot_mut(&mut self, at: Instance) -> &mut Slot {
        let offset = usize::try_from(at - self.low).expect("a span of instances fits in memory");
        if offset >= self.slots.len() {
            self.slots.resize_with(offset + 1, Slot::default);
        }
        &mut self.slots[offset]
    }

    fn forget_below(&mut self, at: Instance) {
        let Some(forgotten) = at.checked_sub(self.low) else { return };
        let forgotten = usize::try_from(forgotten).unwrap_or(usize::MAX).min(self.slots.len());
        self.slots.drain(..forgotten);
        self.low = at;
    }

    /// The slots from `from` on, with their instances.
    fn slots_from(&self, from: Instance) -> impl Iterator<Item = (Instance, &Slot)> {
        let from = from.max(self.low);
        let skipped = usize::try_from(from - self.low).unwrap_or(usize::MAX).min(self.slots.len());
        self.slots.range(skipped..).zip(from..).map(|(slot, instance)| (instance, slot))
    }

    fn votes_from(&self, from: Instance) -> impl Iterator<Item = Vote> {
        self.slots_from(from).filter_map(|(instance, slot)| {
            let vote = slot.vote.as_ref()?;
            Some(Vote { instance, ballot: vote.ballot, value: vote.value.clone() })
        })
    }

    fn chosen_between(&self, lo: Instance, hi: Instance) -> Vec<Decision> {
        let slots = self.slots_from(lo).take_while(|(instance, _)| *instance < hi);
        slots.filter_map(|(instance, slot)| Some(Decision { instance, value: slot.chosen.clone()? })).collect()
    }
}

fn bit(replica: ReplicaId) -> u64 {
    1 << replica
}
