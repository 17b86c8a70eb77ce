//! Events in a node: starts, stops and pauses; inputs of its replica and their effects; delays of its disk and its service.

use super::{Cluster, ScheduledEvent, brief, clock};
use crate::sim::host::{Sync, Work};
use env::Survival;
use paxos::core::Role;
use paxos::replica::{Counters, Effect, Input};
use sim::SECOND;
use sim::{Trace, Violation, demand};

impl Cluster {
    pub(super) fn start(&mut self, node: usize) -> Result<(), Violation> {
        if self.hosts[node].life.is_some() || self.hosts[node].is_dismissed {
            return Ok(());
        }
        self.world.step(|| format!("R{node} starts"));
        self.world.trace.count("starts");
        self.hosts[node].start(self.world.now, &self.setting, &mut self.world.randomness)?;
        self.feed(node, Input::Tick)
    }

    /// A node stops, in the middle of whatever it does. The disk keeps what the survival says.
    pub(super) fn crash(&mut self, node: usize, survival: Survival) {
        let Some(life) = self.hosts[node].life.take() else { return };
        self.world.step(|| format!("R{node} crashes; of what is not synced, {survival:?} survives"));
        self.world.trace.count("crashes");
        let host = &mut self.hosts[node];
        if life.sync == Sync::Pending && survival == Survival::Random && self.world.randomness.chance(1, 2) {
            // The power goes while the log writes.
            let change = host.disk.changes() + self.world.randomness.in_range(0..3);
            host.disk.cut_power_at(change);
            if let Some(Err(_)) = life.journal.as_ref().map(|journal| journal.sync()) {
                self.world.trace.count("writes cut off by a crash");
            }
        }
        count_replica(&mut self.world.trace, life.replica.counters());
        let records = life.journal.as_ref().map_or(0, |journal| journal.records_before() + journal.appended());
        drop(life);
        host.disk = host.disk.power_cut_with(survival);
        if self.world.randomness.chance(1, 4) {
            host.saved = Some((host.disk.copy(), records));
        }
        self.world.disconnect(node);
    }

    pub(super) fn tick(&mut self, node: usize) -> Result<(), Violation> {
        let repeated = self.ticks.0 == self.world.now && self.ticks.1 == node;
        self.ticks = (self.world.now, node, if repeated { self.ticks.2 + 1 } else { 0 });
        demand!(self.ticks.2 < 1_000, "R{node} wants to be called again and again at one moment");
        self.feed(node, Input::Tick)
    }

    pub(super) fn is_paused(&self, node: usize) -> bool {
        self.world.now < self.hosts[node].paused_until
    }

    /// A node does nothing for a while, and then everything that it has missed.
    pub(super) fn pause(&mut self, node: usize, until: u64) {
        if self.hosts[node].life.is_some() {
            self.world.trace.count("pauses");
            self.hosts[node].paused_until = until;
            self.world.enter(until, ScheduledEvent::Resume(node));
        }
    }

    pub(super) fn resume(&mut self, node: usize) -> Result<(), Violation> {
        while !self.is_paused(node)
            && let Some(life) = self.hosts[node].life.as_mut()
            && let Some(input) = life.late.pop_front()
        {
            self.feed(node, input)?;
        }
        Ok(())
    }

    /// Hands an input to a replica, and whatever it has room for then.
    pub(super) fn feed(&mut self, node: usize, input: Input) -> Result<(), Violation> {
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
    pub(super) fn feed_one(&mut self, node: usize, input: Input) -> Result<(), Violation> {
        let now = self.world.now;
        let shown = self.hosts[node].clock.shows(now);
        let Some(life) = self.hosts[node].life.as_mut() else { return Ok(()) };
        self.world.trace.step(|| describe(now, node, &input));
        let mut effects = std::mem::take(&mut self.effects);
        life.replica.handle(shown, input, &mut effects);
        let mut result = Ok(());
        for effect in effects.drain(..) {
            if result.is_ok() {
                self.world.trace.step(|| format!("{:>18}{}", "", brief(&effect)));
                result = self.take_effect(node, effect);
            }
        }
        self.effects = effects;
        result?;
        self.settle(node)
    }

    /// Runs after each input: starts a sync if one is needed, starts work, sets the deadline, and checks the bounds.
    pub(super) fn settle(&mut self, node: usize) -> Result<(), Violation> {
        let host = &mut self.hosts[node];
        let Some(life) = host.life.as_mut() else { return Ok(()) };
        if let Some(journal) = &life.journal
            && life.sync == Sync::Idle
            && life.durable < journal.appended()
        {
            let (least, most) = self.setting.sync_ns;
            let at = self.world.now + self.world.randomness.in_range(least..most + 1);
            let record = journal.appended();
            // A disk that syncs at once saves nothing of what is journalled until the end, one that syncs at the end nothing until then.
            life.sync = if self.world.randomness.chance(1, 2) { Sync::Done } else { Sync::Pending };
            let synced = if life.sync == Sync::Done { journal.sync() } else { Ok(record) };
            self.world.enter(at, ScheduledEvent::Synced { node, life: host.lives, record });
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
        let untaken = view.executed.saturating_sub(life.executor.executed().next);
        let most = host.options.undone_batches;
        let installs = life.work.iter().any(|work| matches!(work, Work::Install(..)));
        demand!(
            installs || untaken <= most,
            "R{node} has {untaken} batches that the application has not taken; {most} are allowed"
        );
        Ok(())
    }

    pub(super) fn take_effect(&mut self, node: usize, effect: Effect) -> Result<(), Violation> {
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
                self.world.trace.count("compactions");
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
                self.world.trace.digest(instance << 8 | node as u64);
                self.world.trace.count("deliveries");
                self.judge.on_delivery(node as u64, instance, &value)?;
                return self.give_work(node, Work::Deliver(instance, value));
            }
            Effect::Recover(instance, image) | Effect::Install(instance, image) => {
                demand!(instance >= life.next, "R{node} goes back from {} to {instance}", life.next);
                life.next = instance;
                self.world.trace.count("installs");
                return self.give_work(node, Work::Install(instance, image));
            }
            Effect::Admitted => {
                self.world.trace.count("admissions");
                if let Some(Err(error)) = life.journal.as_ref().map(|journal| journal.directory().admit()) {
                    return self.stop(node, &error);
                }
            }
            Effect::TakeSnapshot => return self.give_work(node, Work::Snapshot),
            Effect::MayForget(_) => {}
            Effect::Leader(leader, _) => {
                self.world.trace.count("changes of the leader");
                let clients: Vec<usize> = life.clients.keys().copied().collect();
                for client in clients {
                    self.tell_leader(node, client, leader)?;
                }
            }
        }
        Ok(())
    }

    /// A node whose disk has failed stops, as the product does.
    pub(super) fn stop(&mut self, node: usize, error: &dyn std::error::Error) -> Result<(), Violation> {
        self.world.step(|| format!("R{node} stops: {error}"));
        self.world.trace.count("stopped by the disk");
        self.crash(node, Survival::SyncedOnly);
        let at = self.world.now + self.world.randomness.in_range(0..SECOND);
        self.world.enter(at, ScheduledEvent::Start(node));
        Ok(())
    }

    pub(super) fn synced(&mut self, node: usize, life: u64, record: u64) -> Result<(), Violation> {
        let host = &mut self.hosts[node];
        let Some(state) = host.life.as_mut().filter(|_| host.lives == life) else { return Ok(()) };
        let pending = std::mem::replace(&mut state.sync, Sync::Idle) == Sync::Pending;
        match state.journal.as_ref().filter(|_| pending).map(|journal| journal.sync()) {
            Some(Err(error)) => self.stop(node, &error),
            _ => {
                state.durable = record;
                if let Some(journal) = &mut state.journal {
                    journal.settle(record);
                }
                self.tell_records(node)?;
                self.feed(node, Input::Durable(record))
            }
        }
    }

    pub(super) fn give_work(&mut self, node: usize, work: Work) -> Result<(), Violation> {
        let host = &mut self.hosts[node];
        let Some(life) = host.life.as_mut() else { return Ok(()) };
        life.work.push_back(work);
        if life.work.len() == 1 {
            let (least, most) = self.setting.service_ns;
            let at = self.world.now + self.world.randomness.in_range(least..most + 1);
            self.world.enter(at, ScheduledEvent::Worked { node, life: host.lives });
        }
        Ok(())
    }

    /// The service has done the first of its work.
    pub(super) fn worked(&mut self, node: usize, life: u64) -> Result<(), Violation> {
        let host = &mut self.hosts[node];
        let Some(state) = host.life.as_mut().filter(|_| host.lives == life) else { return Ok(()) };
        let Some(work) = state.work.pop_front() else { return Ok(()) };
        if !state.work.is_empty() {
            let (least, most) = self.setting.service_ns;
            let at = self.world.now + self.world.randomness.in_range(least..most + 1);
            self.world.enter(at, ScheduledEvent::Worked { node, life });
        }
        let bad = |error: &dyn std::error::Error| Violation(format!("R{node}'s executor: {error}"));
        match work {
            Work::Deliver(instance, value) => {
                let mut replies = Vec::new();
                state.executor.deliver(instance, &value, &mut replies).map_err(|error| bad(&error))?;
                let executions = state.executor.service().take_executions();
                self.world.trace.add("executions", executions.len() as u64);
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
                let (instance, image) = match state.executor.snapshot(state.images.writer()) {
                    Ok(snapshot) => snapshot,
                    Err(error) => return self.stop(node, &error),
                };
                let bytes = match image.to_vec() {
                    Ok(bytes) => bytes,
                    Err(error) => return self.stop(node, &error),
                };
                self.judge.on_snapshot(node as u64, instance, &bytes)?;
                if state.images.is_long(image.len()) {
                    self.world.trace.count("snapshots in files");
                }
                self.world.trace.count("snapshots");
                self.feed(node, Input::Taken(instance, image))
            }
        }
    }
}

pub(super) fn count_replica(trace: &mut Trace, counters: &Counters) {
    trace.add("candidacies", counters.candidacies);
    trace.add("elections", counters.elections);
    trace.add("retransmissions", counters.retransmissions);
    trace.add("queries", counters.queries);
}

fn describe(now: u64, node: usize, input: &Input) -> String {
    format!("{} R{node} {}", clock(now), brief(input))
}
