//! The nodes of the order and the network between them, in virtual time. Whoever has the turn calls in; what comes later is entered in the
//! schedule.

use crate::replica::{Host, Sync, Work, encode};
use crate::setting::Setting;
use env::{Randomness, Survival};
use paxos::core::{Message, ReplicaId};
use paxos::known_voters::Rejection;
use paxos::message::PeerMessage;
use paxos::replica::{Effect, Input};
use sim::{Packet, Replicas, Schedule, Trace, Violation, World, demand};
use std::sync::Arc;
use total::Position;

/// What was entered for a certain time.
#[derive(Clone, Copy, Debug)]
pub enum Scheduled {
    /// The disk has synced what was journalled up to this record, in this life.
    Synced { node: usize, life: u64, record: u64 },
    /// The order is done with the first of its work, in this life.
    Worked { node: usize, life: u64 },
    /// A pause is over.
    Resume(usize),
}

/// The nodes of the order.
pub struct Orders {
    pub world: World<Scheduled>,
    pub hosts: Vec<Host>,
    pub setting: Arc<Setting>,
    schedule: Schedule,
    /// The promise that was broken, which ends the run.
    pub violation: Option<Violation>,
    /// When the schedule will call.
    pub armed: Option<u64>,
    /// Empty between inputs: kept for its memory.
    effects: Vec<Effect>,
}

impl Orders {
    pub fn new(setting: Arc<Setting>, schedule: Schedule, mut randomness: Randomness, trace: Trace) -> Orders {
        let nodes = setting.nodes();
        let hosts = (0..nodes as u64).map(|id| Host::new(id, &setting, &mut randomness)).collect();
        let mut world = World::new(randomness, trace, nodes, 0, setting.network);
        world.connect_all();
        Orders { world, hosts, setting, schedule, violation: None, armed: None, effects: Vec::new() }
    }

    /// Notes a promise that was broken. The first counts.
    pub fn note(&mut self, result: Result<(), Violation>) {
        if let Err(violation) = result {
            self.violation.get_or_insert(violation);
        }
    }

    pub fn start(&mut self, node: usize, resume_after: Option<Position>) -> Result<u64, Violation> {
        self.world.step(|| format!("node {node} starts behind {resume_after:?}"));
        self.world.trace.count("starts");
        let bells = (self.schedule.bell(), self.schedule.bell());
        let host = &mut self.hosts[node];
        host.start(self.world.now, resume_after, bells, &self.setting, &mut self.world.randomness)?;
        self.feed(node, Input::Tick)?;
        Ok(self.hosts[node].lives)
    }

    /// A node stops, in the middle of whatever it does. Its callers are told.
    pub fn crash(&mut self, node: usize, survival: Survival) {
        let Some(life) = self.hosts[node].life.take() else { return };
        let host = &mut self.hosts[node];
        if life.sync == Sync::Pending && survival == Survival::Random && self.world.randomness.chance(1, 2) {
            // The power goes while the log writes.
            let change = host.disk.changes() + self.world.randomness.in_range(0..3);
            host.disk.cut_power_at(change);
            if life.journal.sync().is_err() {
                self.world.trace.count("writes cut off by a crash");
            }
        }
        self.schedule.ring(life.deliveries, true);
        self.schedule.ring(life.changed, true);
        drop(life);
        host.disk = host.disk.power_cut_with(survival);
        host.paused_until = 0;
        self.world.disconnect(node);
    }

    /// A node does nothing until a time, and then everything that it has missed.
    pub fn pause(&mut self, node: usize, until: u64) {
        self.hosts[node].paused_until = until;
        self.world.enter(until, Scheduled::Resume(node));
    }

    fn is_paused(&self, node: usize) -> bool {
        self.world.now < self.hosts[node].paused_until
    }

    fn resume(&mut self, node: usize) -> Result<(), Violation> {
        while !self.is_paused(node)
            && let Some(life) = self.hosts[node].life.as_mut()
            && let Some(input) = life.late.pop_front()
        {
            self.feed(node, input)?;
        }
        Ok(())
    }

    /// Hands an input to a replica, and then what its node has proposed.
    pub fn feed(&mut self, node: usize, input: Input) -> Result<(), Violation> {
        if self.is_paused(node) {
            if let Some(life) = self.hosts[node].life.as_mut() {
                life.late.push_back(input);
            }
            return Ok(());
        }
        self.feed_one(node, input)?;
        self.submit(node)
    }

    /// Hands the proposals of a node to its replica, as far as there is room, and what it says of its disk.
    pub fn submit(&mut self, node: usize) -> Result<(), Violation> {
        if self.is_paused(node) {
            return Ok(());
        }
        let shown = self.hosts[node].shown(self.world.now);
        let Some(life) = self.hosts[node].life.as_mut() else { return Ok(()) };
        let chunks = life.order.poll(shown, life.replica.room() > 0);
        let report = life.order.take_report();
        for chunk in chunks.into_iter().filter(|chunk| !chunk.is_empty()) {
            self.feed_one(node, Input::Submit(chunk))?;
        }
        if let Some(below) = report {
            self.feed_one(node, Input::ConsumerHas(below))?;
        }
        self.settle(node)
    }

    fn feed_one(&mut self, node: usize, input: Input) -> Result<(), Violation> {
        let shown = self.hosts[node].shown(self.world.now);
        let Some(life) = self.hosts[node].life.as_mut() else { return Ok(()) };
        let mut effects = std::mem::take(&mut self.effects);
        life.replica.handle(shown, input, &mut effects);
        let mut result = Ok(());
        for effect in effects.drain(..) {
            if result.is_ok() {
                result = self.take_effect(node, effect);
            }
        }
        self.effects = effects;
        result?;
        self.settle(node)
    }

    /// Runs after each input: starts a sync and work, and sets the deadline.
    fn settle(&mut self, node: usize) -> Result<(), Violation> {
        let host = &mut self.hosts[node];
        let Some(life) = host.life.as_mut() else { return Ok(()) };
        if life.sync == Sync::Idle && life.durable < life.journal.appended() {
            let (least, most) = self.setting.sync_ns;
            let at = self.world.now + self.world.randomness.in_range(least..most + 1);
            let record = life.journal.appended();
            // A disk that syncs at once saves nothing of what is journalled until the end, one that syncs at the end nothing until then.
            life.sync = if self.world.randomness.chance(1, 2) { Sync::Done } else { Sync::Pending };
            if life.sync == Sync::Done {
                let synced = life.journal.sync();
                demand!(synced.is_ok(), "node {node}: {synced:?}");
            }
            self.world.enter(at, Scheduled::Synced { node, life: host.lives, record });
        }
        if !life.is_working && !life.work.is_empty() && !life.order.is_full() {
            let (least, most) = self.setting.service_ns;
            let at = self.world.now + self.world.randomness.in_range(least..most + 1);
            life.is_working = true;
            self.world.enter(at, Scheduled::Worked { node, life: host.lives });
        }
        life.deadline = host.clock.when(life.replica.deadline().min(life.order.deadline()));
        Ok(())
    }

    fn take_effect(&mut self, node: usize, effect: Effect) -> Result<(), Violation> {
        let shown = self.hosts[node].shown(self.world.now);
        let Some(life) = self.hosts[node].life.as_mut() else { return Ok(()) };
        let journalled = match effect {
            Effect::Send(to, message) => return self.post(node, to, &message),
            Effect::Journal(record) => life.journal.append(&record).map(drop),
            Effect::Compact(up_to, records) => {
                self.world.trace.count("compactions");
                life.journal.compact(up_to, records)
            }
            Effect::Admitted => life.journal.directory().admit(),
            Effect::Deliver(instance, value) => {
                demand!(instance == life.next, "node {node} delivers {instance}, and {} is the next", life.next);
                life.next += 1;
                self.world.trace.digest(instance << 8 | node as u64);
                self.world.trace.count("instances delivered");
                life.work.push_back(Work::Deliver(instance, value));
                Ok(())
            }
            Effect::Recover(instance, image) => {
                life.next = instance;
                life.work.push_back(Work::Recover(instance, image));
                Ok(())
            }
            Effect::Install(instance, image) => {
                demand!(instance >= life.next, "node {node} goes back from {} to {instance}", life.next);
                life.next = instance;
                self.world.trace.count("installs");
                life.work.push_back(Work::Install(instance, image));
                Ok(())
            }
            Effect::TakeSnapshot => {
                life.work.push_back(Work::Snapshot);
                Ok(())
            }
            Effect::MayForget(below) => {
                life.order.may_forget(below);
                Ok(())
            }
            Effect::Leader(leader, _) => {
                self.world.trace.count("changes of the leader");
                if leader.is_some() {
                    life.order.lost(shown);
                }
                Ok(())
            }
        };
        journalled.map_err(|error| Violation(format!("node {node}: {error}")))
    }

    fn synced(&mut self, node: usize, life: u64, record: u64) -> Result<(), Violation> {
        let host = &mut self.hosts[node];
        let Some(state) = host.life.as_mut().filter(|_| host.lives == life) else { return Ok(()) };
        if std::mem::replace(&mut state.sync, Sync::Idle) == Sync::Pending {
            let synced = state.journal.sync();
            demand!(synced.is_ok(), "node {node}: {synced:?}");
        }
        state.durable = record;
        state.journal.settle(record);
        self.tell_records(node)?;
        self.feed(node, Input::Durable(record))
    }

    /// The order has done the first of its work.
    fn worked(&mut self, node: usize, life: u64) -> Result<(), Violation> {
        let shown = self.hosts[node].shown(self.world.now);
        let host = &mut self.hosts[node];
        let Some(state) = host.life.as_mut().filter(|_| host.lives == life) else { return Ok(()) };
        state.is_working = false;
        let Some(work) = state.work.pop_front() else { return Ok(()) };
        let input = match work {
            Work::Deliver(instance, value) => {
                state.order.deliver(shown, instance, &value);
                Input::Executed(instance + 1)
            }
            Work::Recover(instance, image) => {
                let recovered = state.order.recover(shown, instance, &image);
                demand!(recovered.is_ok(), "node {node}: {recovered:?}");
                Input::Executed(instance)
            }
            Work::Install(instance, image) => {
                let installed = state.order.install(shown, instance, &image);
                demand!(installed.is_ok(), "node {node}: {installed:?}");
                Input::Executed(instance)
            }
            Work::Snapshot => {
                self.world.trace.count("snapshots of the order");
                let snapshot = state.order.snapshot(state.images.writer());
                let (at, image) = snapshot.map_err(|error| Violation(format!("node {node}: {error}")))?;
                Input::Taken(at, image)
            }
        };
        self.schedule.ring(state.deliveries, true);
        self.schedule.ring(state.changed, true);
        self.feed(node, input)
    }

    /// Sends the length of a node's journal to the nodes connected to it.
    fn tell_records(&mut self, node: usize) -> Result<(), Violation> {
        let Some(membership) = self.hosts[node].membership() else { return Ok(()) };
        for other in (0..self.hosts.len()).filter(|other| *other != node) {
            let is_heard = self.world.is_connected(node, other) && !self.world.network.is_cut(node, other);
            let Some(life) = self.hosts[other].life.as_mut().filter(|_| is_heard) else { continue };
            let heard = life.known_voters.update_records(node as ReplicaId, membership.records);
            demand!(heard.is_ok(), "node {other} has heard that the journal of node {node} was longer");
        }
        Ok(())
    }

    fn post(&mut self, node: usize, to: ReplicaId, message: &PeerMessage) -> Result<(), Violation> {
        if let (PeerMessage::Core(Message::Query(from, _)), Some(life)) = (message, &mut self.hosts[node].life) {
            life.asked.ask(to, *from);
        }
        let to = to as usize;
        if to < self.hosts.len() && self.world.is_connected(node, to) {
            let packets = encode(message, self.setting.piece_bytes);
            for bytes in packets.map_err(|error| Violation(format!("node {node}: {error}")))? {
                self.world.network.send(self.world.now, node, to, bytes);
            }
        }
        Ok(())
    }

    fn carry(&mut self, packet: &Packet) -> Result<(), Violation> {
        let Packet { from, to, bytes, .. } = packet;
        let (from, to) = (*from, *to);
        self.world.trace.digest(self.world.now ^ (bytes.len() as u64) << 40 ^ (from << 8 | to) as u64);
        self.world.trace.count("packets");
        let Some(life) = self.hosts[to].life.as_mut() else { return Ok(()) };
        let from = from as ReplicaId;
        for message in life.decode(bytes)? {
            let Some(life) = self.hosts[to].life.as_mut() else { return Ok(()) };
            let whole = life.put_together(from, message).map_err(|error| Violation(format!("node {to}: {error}")))?;
            if let Some(message) = whole {
                self.feed(to, Input::Peer { from, message })?;
            }
        }
        Ok(())
    }
}

impl Replicas for Orders {
    type ScheduledEvent = Scheduled;
    type Timer = usize;

    fn world(&mut self) -> &mut World<Scheduled> {
        &mut self.world
    }

    fn is_up(&self, node: usize) -> bool {
        self.hosts[node].life.is_some()
    }

    fn next_timer(&self, now: u64) -> Option<(u64, usize)> {
        let alive = self.hosts.iter().enumerate().filter_map(|(node, host)| Some((node, host, host.life.as_ref()?)));
        let ticks = alive.map(|(node, host, life)| (life.deadline.max(host.paused_until).max(now), node));
        ticks.min_by_key(|(at, _)| *at)
    }

    fn wake(&mut self, node: usize) -> Result<(), Violation> {
        self.feed(node, Input::Tick)
    }

    fn on_scheduled(&mut self, what: Scheduled) -> Result<(), Violation> {
        match what {
            Scheduled::Synced { node, .. } | Scheduled::Worked { node, .. } if self.is_paused(node) => {
                self.world.enter(self.hosts[node].paused_until, what);
                Ok(())
            }
            Scheduled::Synced { node, life, record } => self.synced(node, life, record),
            Scheduled::Worked { node, life } => self.worked(node, life),
            Scheduled::Resume(node) => self.resume(node),
        }
    }

    fn receive(&mut self, packet: &Packet) -> Result<(), Violation> {
        self.carry(packet)
    }

    fn receive_outside(&mut self, _: &Packet) -> Result<(), Violation> {
        Ok(())
    }

    /// Both ends judge each other, as in a greeting: nobody here has forgotten anything.
    fn greet(&mut self, one: usize, other: usize) -> Result<bool, Violation> {
        for (judge, met) in [(one, other), (other, one)] {
            let Some(membership) = self.hosts[met].membership() else { return Ok(false) };
            match self.hosts[judge].life.as_mut().map(|life| life.known_voters.meet(&membership)) {
                None | Some(Ok(())) => {}
                Some(Err(Rejection::NotNoted(error))) => return Err(Violation(format!("node {judge}: {error}"))),
                Some(Err(Rejection::Refused(refusal))) => {
                    demand!(met >= self.setting.voters as usize, "node {judge} refuses node {met}: {refusal}");
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn connected(&mut self, node: usize, peer: usize) -> Result<(), Violation> {
        self.feed(node, Input::Connected(peer as ReplicaId))
    }

    fn disconnected(&mut self, node: usize, peer: usize) -> Result<(), Violation> {
        if let Some(life) = self.hosts[node].life.as_mut() {
            life.forget_pieces(peer as ReplicaId);
            let noted = life.known_voters.note();
            demand!(noted.is_ok(), "node {node}: {noted:?}");
        }
        self.feed(node, Input::Disconnected(peer as ReplicaId))
    }

    fn hung_up(&mut self, _: usize, _: usize) {}

    fn is_over(&self) -> bool {
        false
    }

    fn limit(&self) -> u64 {
        u64::MAX
    }

    fn describe(&self) -> String {
        let alive = self.hosts.iter().filter_map(|host| Some((host.options.id, host.life.as_ref()?)));
        let nodes = alive.map(|(id, life)| {
            let (leader, view) = (life.replica.leader(), life.replica.view());
            format!("node {id}: leader {leader:?}, {view:?}, {:?}, {} jobs", life.order, life.work.len())
        });
        nodes.collect::<Vec<_>>().join("\n")
    }
}
