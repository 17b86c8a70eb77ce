//! The simulated cluster: nodes, clients and networks in virtual time, and the loop that goes from one happening to the next.

use super::chronicle::{Chronicle, Outcome, Violation, demand};
use super::client::{Client, Connection};
use super::host::{Host, Sync, Work, decode, encode, encode_one};
use super::judge::{Judge, Knowledge};
use super::setting::{Given, MILLISECOND, SECOND, Setting, Weather};
use crate::config::Durability;
use crate::core::{ReplicaId, Role};
use crate::executor::Reply;
use crate::frame::Decoder;
use crate::message::{ClientMessage, PeerMessage, ReplicaMessage};
use crate::replica::{Counters, Effect, Input};
use crate::request::{Chunk, OPEN, Request};
use env::{Agenda, NetworkOptions, Packet, Randomness, SimNetwork};
use std::fmt::Debug;

/// Clients stop thinking of commands so long after the last fault.
const AFTERMATH_NS: u64 = SECOND;

/// Within this time of virtual time after that, everything that was begun must be done, on every replica. See [`Cluster::limit`].
const PATIENCE_NS: u64 = 20 * SECOND;

/// What is going to happen, but for packets, timers of replicas and timers of clients.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    /// A fault.
    Fault,
    /// The faults are over.
    Calm,
    /// Clients think of no more commands.
    Close,
    /// A node starts.
    Start(usize),
    /// A node's disk has synced what was journalled up to this record, in this life.
    Synced { node: usize, life: u64, record: u64 },
    /// A node's service is done with the first of its work, in this life.
    Worked { node: usize, life: u64 },
    /// A pause of a node is over.
    Resume(usize),
    /// Two nodes try to connect.
    Connect(usize, usize),
    /// A connection over a link that is cut is given up.
    GiveUp(usize, usize),
    /// A client's attempt to connect has come to an end.
    Dialed { client: usize, attempt: u64 },
}

/// One run.
pub struct Cluster {
    pub(super) now: u64,
    pub(super) setting: Setting,
    pub(super) randomness: Randomness,
    pub(super) chronicle: Chronicle,
    judge: Judge,
    pub(super) agenda: Agenda<Happening>,
    /// Between the nodes.
    pub(super) network: SimNetwork,
    /// Between nodes and clients: streams, always.
    pub(super) access: SimNetwork,
    /// By number. Where replicas without a journal crash, their second lives are nodes of their own.
    pub(super) hosts: Vec<Host>,
    /// Whether two nodes are connected.
    connected: Vec<bool>,
    clients: Vec<Client>,
    client_decoder: Decoder,
    /// Voters without a journal that may still crash.
    pub(super) expendable: u64,
    pub(super) is_calm: bool,
    /// Empty between inputs: kept for its memory.
    effects: Vec<Effect>,
    /// Ticks of one node at one moment.
    ticks: (u64, usize, u32),
}

/// Runs the cluster that follows from `seed`; the last `told` steps are told in words.
#[must_use]
pub fn simulate(seed: u64, given: &Given, told: usize) -> Outcome {
    let mut randomness = Randomness::from_seed(seed);
    let setting = Setting::draw(&mut randomness, given);
    let mut chronicle = Chronicle::new(told);
    chronicle.tell(|| format!("{setting:?}"));
    match Cluster::new(setting, randomness, chronicle) {
        Err((chronicle, violation)) => Outcome::of(chronicle, Err(violation)),
        Ok(mut cluster) => {
            let result = cluster.run();
            cluster.chronicle.add("simulated milliseconds", cluster.now / MILLISECOND);
            Outcome::of(cluster.chronicle, result)
        }
    }
}

impl Cluster {
    fn new(setting: Setting, mut randomness: Randomness, chronicle: Chronicle) -> Result<Self, (Chronicle, Violation)> {
        let voters = setting.options.replicas;
        let without_journal = setting.options.durability == Durability::Memory;
        let second_lives = if without_journal { voters } else { 0 };
        let nodes = (voters + second_lives + setting.learners) as usize;
        let clients: Result<Vec<Client>, _> =
            (0..setting.clients).map(|number| Client::new(number, &setting, &mut randomness)).collect();
        let clients = match clients {
            Ok(clients) => clients,
            Err(violation) => return Err((chronicle, violation)),
        };
        let calm = NetworkOptions { in_order: true, ..setting.network };
        Ok(Self {
            now: 0,
            chronicle,
            judge: Judge::default(),
            agenda: Agenda::new(),
            network: SimNetwork::new(randomness.next_u64(), nodes, setting.network),
            access: SimNetwork::new(randomness.next_u64(), nodes + clients.len(), calm),
            hosts: (0..nodes as u64).map(|id| Host::new(id, &setting, &mut randomness)).collect(),
            connected: vec![false; nodes * nodes],
            clients,
            client_decoder: Decoder::new(crate::config::MAX_FRAME_BYTES),
            expendable: (voters - 1) / 2,
            is_calm: false,
            effects: Vec::new(),
            ticks: (0, 0, 0),
            randomness,
            setting,
        })
    }

    fn run(&mut self) -> Result<(), Violation> {
        self.begin();
        loop {
            let Some((at, what)) = self.next() else { return Err(Violation("nothing will ever happen".into())) };
            demand!(at <= self.limit(), "no progress: {}", self.describe());
            self.now = at;
            match what {
                Next::Happening => self.happen()?,
                Next::Packet => self.carry()?,
                Next::Answer => self.carry_to_access()?,
                Next::Tick(node) => self.tick(node)?,
                Next::Client(client) => self.act(client)?,
            }
            self.notice_broken()?;
            if self.is_over() {
                return self.finish();
            }
        }
    }

    fn begin(&mut self) {
        let voters = self.setting.options.replicas as usize;
        let first_learner = self.hosts.len() - self.setting.learners as usize;
        for node in (0..voters).chain(first_learner..self.hosts.len()) {
            let at = self.randomness.in_range(0..100 * MILLISECOND);
            self.agenda.enter(at, Happening::Start(node));
        }
        for one in 0..self.hosts.len() {
            (0..one).for_each(|other| self.agenda.enter(0, Happening::Connect(one, other)));
        }
        if self.setting.weather != Weather::Calm {
            self.agenda.enter(SECOND / 2, Happening::Fault);
        }
        self.agenda.enter(self.setting.faults_ns, Happening::Calm);
        self.agenda.enter(self.setting.faults_ns + AFTERMATH_NS, Happening::Close);
    }

    /// The end of patience: a candidate may have to wait out the suspicion timeout a few times.
    fn limit(&self) -> u64 {
        let suspicion = u64::try_from(self.setting.options.suspicion.as_nanos()).unwrap_or(u64::MAX);
        self.setting.faults_ns + AFTERMATH_NS + PATIENCE_NS + 20 * suspicion
    }

    fn describe(&self) -> String {
        let waiting: Vec<String> =
            self.clients.iter().filter(|client| !client.is_done()).map(|client| format!("{client:?}")).collect();
        let nodes: Vec<String> = self
            .hosts
            .iter()
            .filter_map(|host| Some((host.options.id, host.life.as_ref()?)))
            .map(|(id, life)| {
                let (view, next) = (life.replica.view(), life.executor.executed().next);
                format!(
                    "R{id} leader {:?} {view:?} service at {next}, {} waiting",
                    life.replica.leader(),
                    life.work.len()
                )
            })
            .collect();
        let known = self.judge.instances();
        format!("{known} instances are known\n{}\nwaiting clients:\n{}", nodes.join("\n"), waiting.join("\n"))
    }

    /// What comes next, and when. Of several at one moment, agenda, networks, nodes, clients, in this order.
    fn next(&self) -> Option<(u64, Next)> {
        let alive = self.hosts.iter().enumerate().filter_map(|(node, host)| Some((node, host, host.life.as_ref()?)));
        let ticks =
            alive.map(|(node, host, life)| (life.deadline.max(host.paused_until).max(self.now), Next::Tick(node)));
        let clients = self.clients.iter().enumerate();
        let acts = clients.map(|(client, state)| (state.deadline().max(self.now), Next::Client(client)));
        let firsts = [
            self.agenda.next_at().map(|at| (at, Next::Happening)),
            self.network.next_at().map(|at| (at, Next::Packet)),
            self.access.next_at().map(|at| (at, Next::Answer)),
        ];
        firsts.into_iter().flatten().chain(ticks).chain(acts).min_by_key(|(at, _)| *at).filter(|(at, _)| *at < u64::MAX)
    }

    fn happen(&mut self) -> Result<(), Violation> {
        let Some((_, what)) = self.agenda.take_due(self.now) else { return Ok(()) };
        match what {
            Happening::Fault => self.next_fault(),
            Happening::Calm => self.calm_down(),
            Happening::Close => {
                self.clients.iter_mut().for_each(Client::close);
                Ok(())
            }
            Happening::Start(node) => self.start(node),
            Happening::Synced { node, .. } | Happening::Worked { node, .. } if self.is_paused(node) => {
                self.agenda.enter(self.hosts[node].paused_until, what);
                Ok(())
            }
            Happening::Synced { node, life, record } => self.synced(node, life, record),
            Happening::Worked { node, life } => self.worked(node, life),
            Happening::Resume(node) => self.resume(node),
            Happening::Connect(one, other) => self.connect(one, other),
            Happening::GiveUp(one, other) => {
                if self.network.is_cut(one, other) || self.network.is_cut(other, one) {
                    self.network.break_connection(one, other);
                }
                Ok(())
            }
            Happening::Dialed { client, attempt } => self.dialed(client, attempt),
        }
    }

    // --- Nodes. -----------------------------------------------------------------------------------------------------

    fn start(&mut self, node: usize) -> Result<(), Violation> {
        if self.hosts[node].life.is_some() {
            return Ok(());
        }
        self.tell(|| format!("R{node} starts"));
        self.chronicle.count("starts");
        self.hosts[node].start(self.now, &self.setting, &mut self.randomness)?;
        self.feed(node, Input::Tick)
    }

    /// A node stops, in the middle of whatever it does. The disk keeps what the survival says.
    pub(super) fn crash(&mut self, node: usize, survival: env::Survival) {
        let Some(life) = self.hosts[node].life.take() else { return };
        self.tell(|| format!("R{node} crashes; of what is not synced, {survival:?} survives"));
        self.chronicle.count("crashes");
        let host = &mut self.hosts[node];
        if life.sync == Sync::Pending && survival == env::Survival::Random && self.randomness.chance(1, 2) {
            // The power goes while the log writes.
            let change = host.disk.changes() + self.randomness.in_range(0..3);
            host.disk.cut_power_at(change);
            if let Some(Err(_)) = life.journal.as_ref().map(|journal| journal.sync()) {
                self.chronicle.count("writes cut off by a crash");
            }
        }
        count_replica(&mut self.chronicle, life.replica.counters());
        drop(life);
        host.disk = host.disk.power_cut_with(survival);
        self.network.disconnect(node);
        self.access.disconnect(node);
    }

    fn tick(&mut self, node: usize) -> Result<(), Violation> {
        let repeated = self.ticks.0 == self.now && self.ticks.1 == node;
        self.ticks = (self.now, node, if repeated { self.ticks.2 + 1 } else { 0 });
        demand!(self.ticks.2 < 1_000, "R{node} wants to be called again and again at one moment");
        self.feed(node, Input::Tick)
    }

    pub(super) fn is_paused(&self, node: usize) -> bool {
        self.now < self.hosts[node].paused_until
    }

    /// A node does nothing for a while, and then everything that it has missed.
    pub(super) fn pause(&mut self, node: usize, until: u64) {
        if self.hosts[node].life.is_some() {
            self.chronicle.count("pauses");
            self.hosts[node].paused_until = until;
            self.agenda.enter(until, Happening::Resume(node));
        }
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

    /// Hands an input to a replica, and whatever it has room for then.
    fn feed(&mut self, node: usize, input: Input) -> Result<(), Violation> {
        if self.is_paused(node) {
            if let Some(life) = self.hosts[node].life.as_mut() {
                life.late.push_back(input);
            }
            return Ok(());
        }
        self.feed_one(node, input)?;
        while let Some(life) = self.hosts[node].life.as_mut()
            && life.replica.room() > 0
            && let Some(chunk) = life.inbox.pop_front()
        {
            self.feed_one(node, Input::Submit(chunk))?;
        }
        Ok(())
    }

    /// Hands an input to a replica and does what it wants.
    fn feed_one(&mut self, node: usize, input: Input) -> Result<(), Violation> {
        let now = self.now;
        let shown = self.hosts[node].clock.shows(now);
        let Some(life) = self.hosts[node].life.as_mut() else { return Ok(()) };
        self.chronicle.tell(|| told(now, node, &input));
        let mut effects = std::mem::take(&mut self.effects);
        life.replica.handle(shown, input, &mut effects);
        let mut result = Ok(());
        for effect in effects.drain(..) {
            if result.is_ok() {
                self.chronicle.tell(|| format!("{:>18}{}", "", brief(&effect)));
                result = self.take_effect(node, effect);
            }
        }
        self.effects = effects;
        result?;
        self.settle(node)
    }

    /// What follows after each input: a sync if there is something to sync, work, a deadline; and a look at the bounds.
    fn settle(&mut self, node: usize) -> Result<(), Violation> {
        let host = &mut self.hosts[node];
        let Some(life) = host.life.as_mut() else { return Ok(()) };
        if let Some(journal) = &life.journal
            && life.sync == Sync::Idle
            && life.durable < journal.appended()
        {
            let (least, most) = self.setting.sync_ns;
            let at = self.now + self.randomness.in_range(least..most + 1);
            let record = journal.appended();
            // A disk that syncs at once saves nothing of what is journalled until the end, one that syncs at the end nothing until then.
            life.sync = if self.randomness.chance(1, 2) { Sync::Done } else { Sync::Pending };
            let synced = if life.sync == Sync::Done { journal.sync() } else { Ok(record) };
            self.agenda.enter(at, Happening::Synced { node, life: host.lives, record });
            if let Err(error) = synced {
                return self.stop(node, &error);
            }
        }
        life.deadline = host.clock.when(life.replica.deadline());
        let view = life.replica.view();
        let config = host.options.core();
        demand!(view.low <= view.snapshot_at, "R{node} has forgotten what its snapshot does not hold: {view:?}");
        demand!(
            view.role != Role::Leading || view.next <= view.executed.max(view.low) + config.span,
            "R{node} has opened more than its span: {view:?}"
        );
        demand!(
            view.executed - view.low <= config.span,
            "R{node} keeps {} instances, and its span is {}",
            view.executed - view.low,
            config.span
        );
        let undone = view.executed.saturating_sub(life.executor.executed().next);
        let most = host.options.undone_batches;
        let installs = life.work.iter().any(|work| matches!(work, Work::Install(..)));
        demand!(installs || undone <= most, "R{node} has {undone} batches undone, {most} are allowed");
        Ok(())
    }

    fn take_effect(&mut self, node: usize, effect: Effect) -> Result<(), Violation> {
        let Some(life) = self.hosts[node].life.as_mut() else { return Ok(()) };
        match effect {
            Effect::Send(to, message) => return self.post(node, to, &message),
            Effect::Journal(record) => {
                let Some(journal) = life.journal.as_mut() else {
                    return Err(Violation(format!("R{node} journals without a journal")));
                };
                if let Err(error) = journal.append(&record) {
                    return self.stop(node, &error);
                }
            }
            Effect::Compact(up_to, records) => {
                self.chronicle.count("compactions");
                let compacted = life.journal.as_ref().map(|journal| journal.compact(up_to, records));
                if let Some(Err(error)) = compacted
                    && error.is_fatal()
                {
                    return self.stop(node, &error);
                }
            }
            Effect::Deliver(instance, value) => {
                demand!(instance == life.next, "R{node} delivers {instance}, and {} is the next", life.next);
                life.next += 1;
                self.chronicle.digest(instance << 8 | node as u64);
                self.chronicle.count("deliveries");
                self.judge.on_delivery(node as u64, instance, &value)?;
                return self.give_work(node, Work::Deliver(instance, value));
            }
            Effect::Install(instance, image) => {
                demand!(instance >= life.next, "R{node} goes back from {} to {instance}", life.next);
                life.next = instance;
                self.chronicle.count("installs");
                return self.give_work(node, Work::Install(instance, image));
            }
            Effect::TakeSnapshot => return self.give_work(node, Work::Snapshot),
            Effect::Leader(leader, _) => {
                self.chronicle.count("changes of the leader");
                let clients: Vec<usize> = life.clients.keys().copied().collect();
                for client in clients {
                    self.tell_leader(node, client, leader)?;
                }
            }
        }
        Ok(())
    }

    /// A node whose disk has failed stops, as the product does.
    fn stop(&mut self, node: usize, error: &dyn std::error::Error) -> Result<(), Violation> {
        self.tell(|| format!("R{node} stops: {error}"));
        self.chronicle.count("stopped by the disk");
        self.crash(node, env::Survival::SyncedOnly);
        let at = self.now + self.randomness.in_range(0..SECOND);
        self.agenda.enter(at, Happening::Start(node));
        Ok(())
    }

    fn synced(&mut self, node: usize, life: u64, record: u64) -> Result<(), Violation> {
        let host = &mut self.hosts[node];
        let Some(state) = host.life.as_mut().filter(|_| host.lives == life) else { return Ok(()) };
        let pending = std::mem::replace(&mut state.sync, Sync::Idle) == Sync::Pending;
        match state.journal.as_ref().filter(|_| pending).map(|journal| journal.sync()) {
            Some(Err(error)) => self.stop(node, &error),
            _ => {
                state.durable = record;
                self.feed(node, Input::Durable(record))
            }
        }
    }

    fn give_work(&mut self, node: usize, work: Work) -> Result<(), Violation> {
        let host = &mut self.hosts[node];
        let Some(life) = host.life.as_mut() else { return Ok(()) };
        life.work.push_back(work);
        if life.work.len() == 1 {
            let (least, most) = self.setting.service_ns;
            let at = self.now + self.randomness.in_range(least..most + 1);
            self.agenda.enter(at, Happening::Worked { node, life: host.lives });
        }
        Ok(())
    }

    /// The service has done the first of its work.
    fn worked(&mut self, node: usize, life: u64) -> Result<(), Violation> {
        let host = &mut self.hosts[node];
        let Some(state) = host.life.as_mut().filter(|_| host.lives == life) else { return Ok(()) };
        let Some(work) = state.work.pop_front() else { return Ok(()) };
        if !state.work.is_empty() {
            let (least, most) = self.setting.service_ns;
            let at = self.now + self.randomness.in_range(least..most + 1);
            self.agenda.enter(at, Happening::Worked { node, life });
        }
        let bad = |error: &dyn std::error::Error| Violation(format!("R{node}'s executor: {error}"));
        match work {
            Work::Deliver(instance, value) => {
                let mut replies = Vec::new();
                state.executor.deliver(instance, &value, &mut replies).map_err(|error| bad(&error))?;
                let executions = state.executor.service().take_executions();
                self.chronicle.add("executions", executions.len() as u64);
                self.judge.on_execution(node as u64, instance, executions)?;
                for reply in replies {
                    self.reply(node, reply)?;
                }
                self.feed(node, Input::Executed(instance + 1))
            }
            Work::Install(instance, image) => {
                state.executor.install(instance, &image).map_err(|error| bad(&error))?;
                self.feed(node, Input::Executed(instance))
            }
            Work::Snapshot => {
                let (instance, image) = state.executor.snapshot();
                self.judge.on_snapshot(node as u64, instance, &image)?;
                self.chronicle.count("snapshots");
                self.feed(node, Input::Taken(instance, image))
            }
        }
    }

    // --- Between nodes. ---------------------------------------------------------------------------------------------

    fn link(&mut self, one: usize, other: usize) -> &mut bool {
        let (low, high) = (one.min(other), one.max(other));
        &mut self.connected[low * self.hosts.len() + high]
    }

    /// Two nodes try to connect, and try again later if they cannot.
    fn connect(&mut self, one: usize, other: usize) -> Result<(), Violation> {
        let cut = self.network.is_cut(one, other) || self.network.is_cut(other, one);
        if cut || self.hosts[one].life.is_none() || self.hosts[other].life.is_none() {
            let at = self.now + self.randomness.in_range(20 * MILLISECOND..100 * MILLISECOND);
            self.agenda.enter(at, Happening::Connect(one, other));
            return Ok(());
        }
        *self.link(one, other) = true;
        self.feed(one, Input::Connected(other as ReplicaId))?;
        self.feed(other, Input::Connected(one as ReplicaId))
    }

    /// Those whose connection has broken learn of it, and try to make it again.
    fn notice_broken(&mut self) -> Result<(), Violation> {
        for (one, other) in self.network.take_broken() {
            if !std::mem::take(self.link(one, other)) {
                continue;
            }
            for (node, peer) in [(one, other), (other, one)] {
                if let Some(life) = self.hosts[node].life.as_mut() {
                    life.forget_pieces(peer as ReplicaId);
                }
                self.feed(node, Input::Disconnected(peer as ReplicaId))?;
            }
            let at = self.now + self.randomness.in_range(MILLISECOND..50 * MILLISECOND);
            self.agenda.enter(at, Happening::Connect(one, other));
        }
        let nodes = self.hosts.len();
        for (one, other) in self.access.take_broken() {
            let (node, client) = (one.min(other), one.max(other));
            if client >= nodes && node < nodes {
                self.hang_up(client - nodes, node);
            }
        }
        Ok(())
    }

    fn post(&mut self, node: usize, to: ReplicaId, message: &PeerMessage) -> Result<(), Violation> {
        if let PeerMessage::Core(message) = message {
            self.hosts[node].word.give(message);
        }
        let to = to as usize;
        demand!(to != node, "R{node} sends to itself: {}", brief(message));
        if to < self.hosts.len() && *self.link(node, to) {
            for bytes in encode(message, self.setting.piece_bytes)? {
                self.network.send(self.now, node, to, bytes);
            }
        }
        Ok(())
    }

    fn carry(&mut self) -> Result<(), Violation> {
        let Some(Packet { from, to, bytes, .. }) = self.network.deliver(self.now) else { return Ok(()) };
        self.chronicle.digest(self.now ^ (bytes.len() as u64) << 40 ^ (from << 8 | to) as u64);
        self.chronicle.count("packets");
        let Some(life) = self.hosts[to].life.as_mut() else { return Ok(()) };
        let from = from as ReplicaId;
        for message in life.decode(&bytes)? {
            let whole = self.hosts[to].life.as_mut().and_then(|life| match &message {
                PeerMessage::Piece { at, offset, total, bytes } => life.piece(from, *at, *offset, *total, bytes),
                _ => None,
            });
            self.feed(to, Input::Peer { from, message })?;
            if let Some(message) = whole {
                self.feed(to, Input::Peer { from, message: PeerMessage::Core(message) })?;
            }
        }
        Ok(())
    }

    // --- Clients. ---------------------------------------------------------------------------------------------------

    fn act(&mut self, client: usize) -> Result<(), Violation> {
        let now = self.now;
        match self.clients[client].connection {
            Connection::Pausing(until) if until <= now => self.dial(client),
            _ => {}
        }
        let mut messages = Vec::new();
        let gives_up = self.clients[client].act(now, &mut messages);
        if let Connection::Open(node, _) = self.clients[client].connection {
            for message in &messages {
                self.tell(|| format!("C{client} to R{node}: {}", brief(message)));
                let bytes = encode_one(message)?;
                self.access.send(now, self.hosts.len() + client, node as usize, bytes);
            }
            if gives_up {
                self.chronicle.count("impatient clients");
                self.hang_up(client, node as usize);
            }
        }
        Ok(())
    }

    fn dial(&mut self, client: usize) {
        let state = &mut self.clients[client];
        let Some(node) = state.destination() else { return };
        state.connection = Connection::Dialing(node);
        state.attempt += 1;
        let attempt = state.attempt;
        let at = self.now + self.randomness.in_range(MILLISECOND / 10..5 * MILLISECOND);
        self.agenda.enter(at, Happening::Dialed { client, attempt });
    }

    fn dialed(&mut self, client: usize, attempt: u64) -> Result<(), Violation> {
        let now = self.now;
        let state = &mut self.clients[client];
        let Connection::Dialing(node) = state.connection else { return Ok(()) };
        if state.attempt != attempt {
            return Ok(());
        }
        let Some(life) = self.hosts.get_mut(node as usize).and_then(|host| host.life.as_mut()) else {
            state.on_disconnected(now);
            return Ok(());
        };
        state.connection = Connection::Open(node, now);
        life.clients.insert(client, now);
        let leader = life.replica.leader();
        self.tell(|| format!("C{client} talks to R{node}"));
        self.tell_leader(node as usize, client, leader)
    }

    /// A client's connection ends: it gave up, or the connection broke.
    fn hang_up(&mut self, client: usize, node: usize) {
        if let Some(life) = self.hosts[node].life.as_mut() {
            life.clients.remove(&client);
        }
        if matches!(self.clients[client].connection, Connection::Open(connected, _) if connected as usize == node) {
            self.clients[client].on_disconnected(self.now);
        }
    }

    fn tell_leader(&mut self, node: usize, client: usize, leader: Option<ReplicaId>) -> Result<(), Violation> {
        let address = leader.map(|leader| leader.to_string());
        self.answer(node, client, &ReplicaMessage::Leader { leader, address })
    }

    fn reply(&mut self, node: usize, reply: Reply) -> Result<(), Violation> {
        let Some(life) = self.hosts[node].life.as_mut() else { return Ok(()) };
        let (client, message) = match reply {
            Reply::Opened { nonce, session } => {
                let client = life.nonces.remove(&nonce);
                life.sessions.extend(client.map(|client| (session, client)));
                (client, ReplicaMessage::Opened { nonce, session })
            }
            Reply::Done { session, sequence, outcome } => {
                (life.sessions.get(&session).copied(), ReplicaMessage::Reply { session, sequence, outcome })
            }
        };
        match client {
            Some(client) => self.answer(node, client, &message),
            None => Ok(()),
        }
    }

    fn answer(&mut self, node: usize, client: usize, message: &ReplicaMessage) -> Result<(), Violation> {
        let connected = self.hosts[node].life.as_ref().is_some_and(|life| life.clients.contains_key(&client));
        if connected {
            let bytes = encode_one(message)?;
            self.access.send(self.now, node, self.hosts.len() + client, bytes);
        }
        Ok(())
    }

    fn carry_to_access(&mut self) -> Result<(), Violation> {
        let Some(packet) = self.access.deliver(self.now) else { return Ok(()) };
        self.chronicle.digest(self.now ^ (packet.bytes.len() as u64) << 40);
        match packet.to.checked_sub(self.hosts.len()) {
            Some(client) => self.carry_to_client(client, &packet),
            None => self.carry_to_node(&packet),
        }
    }

    fn carry_to_client(&mut self, client: usize, packet: &Packet) -> Result<(), Violation> {
        let messages: Vec<ReplicaMessage> = decode(&mut self.client_decoder, &packet.bytes)?;
        for message in messages {
            // What was said on an earlier connection is not heard.
            let Connection::Open(node, since) = self.clients[client].connection else { return Ok(()) };
            if node as usize != packet.from || packet.sent_at < since {
                return Ok(());
            }
            self.tell(|| format!("R{node} to C{client}: {}", brief(&message)));
            let mut told = Vec::new();
            let leaves = self.clients[client].on_message(self.now, &message, &mut told);
            for told in told {
                self.chronicle.count(if told.outcome == Knowledge::Unknown { "unknown outcomes" } else { "answers" });
                self.judge.on_told(told)?;
            }
            if leaves {
                self.hang_up(client, packet.from);
            }
        }
        Ok(())
    }

    fn carry_to_node(&mut self, packet: &Packet) -> Result<(), Violation> {
        let (node, client) = (packet.to, packet.from - self.hosts.len());
        let Some(life) = self.hosts[node].life.as_mut() else { return Ok(()) };
        if life.clients.get(&client).is_none_or(|since| packet.sent_at < *since) {
            return Ok(());
        }
        for message in life.decode(&packet.bytes)? {
            let (session, sequence, body) = match message {
                ClientMessage::Open(nonce) => {
                    life.nonces.insert(nonce, client);
                    (OPEN, nonce, bytes::Bytes::new())
                }
                ClientMessage::Request { session, sequence, body } => {
                    life.sessions.insert(session, client);
                    (session, sequence, body)
                }
                ClientMessage::Status => continue,
            };
            let mut chunk = Chunk::new();
            let pushed = chunk.push(Request { origin: node as ReplicaId, session, sequence, body: &body });
            pushed.map_err(|error| Violation(format!("R{node} takes no request: {error}")))?;
            life.inbox.push_back(chunk);
        }
        self.feed(node, Input::Tick)
    }

    // --- The end. ---------------------------------------------------------------------------------------------------

    /// Nothing is to be done any more, anywhere.
    fn is_over(&self) -> bool {
        let known = self.judge.instances();
        self.clients.iter().all(Client::is_done)
            && self.is_calm
            && self.hosts.iter().filter_map(|host| host.life.as_ref()).all(|life| {
                life.replica.view().executed == known && life.work.is_empty() && life.executor.executed().next == known
            })
            && self.must_live().all(|node| self.hosts[node].life.is_some())
    }

    /// Nodes that are up at the end.
    pub(super) fn must_live(&self) -> impl Iterator<Item = usize> + use<'_> {
        let voters = self.setting.options.replicas as usize;
        let with_journal = self.setting.options.durability == Durability::Fsync;
        (0..self.hosts.len()).filter(move |node| {
            let stays_dead = *node < voters && !with_journal && self.hosts[*node].lives > 0;
            let unborn = self.hosts[*node].lives == 0;
            self.hosts[*node].life.is_some() || !(stays_dead || unborn)
        })
    }

    /// All replicas have the same state, byte for byte, and the clients' story has an order.
    fn finish(&mut self) -> Result<(), Violation> {
        let states: Vec<_> = self
            .hosts
            .iter()
            .filter_map(|host| Some((host.options.id, host.life.as_ref()?.executor.snapshot())))
            .collect();
        for pair in states.windows(2) {
            let [(one, (at, state)), (other, (other_at, other_state))] = pair else { continue };
            demand!(at == other_at && state == other_state, "R{one} and R{other} differ after instance {at}");
        }
        for life in self.hosts.iter().filter_map(|host| host.life.as_ref()) {
            count_replica(&mut self.chronicle, life.replica.counters());
        }
        self.chronicle.add("instances", self.judge.instances());
        self.chronicle.digest(self.judge.instances());
        self.judge.check_history()
    }

    pub(super) fn tell(&mut self, words: impl FnOnce() -> String) {
        let now = self.now;
        self.chronicle.tell(|| format!("{} {}", clock(now), words()));
    }
}

fn count_replica(chronicle: &mut Chronicle, counters: &Counters) {
    chronicle.add("candidacies", counters.candidacies);
    chronicle.add("elections", counters.elections);
    chronicle.add("retransmissions", counters.retransmissions);
    chronicle.add("queries", counters.queries);
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum Next {
    Happening,
    Packet,
    Answer,
    Tick(usize),
    Client(usize),
}

fn told(now: u64, node: usize, input: &Input) -> String {
    format!("{} R{node} {}", clock(now), brief(input))
}

fn clock(now: u64) -> String {
    format!("{:>5}.{:06}", now / SECOND, now % SECOND / 1_000)
}

/// The first words of something long.
fn brief(what: &impl Debug) -> String {
    let mut words = format!("{what:?}");
    if let Some((end, _)) = words.char_indices().nth(160) {
        words.truncate(end);
        words.push_str("...");
    }
    words
}
