//! Faults: their kinds, times and ends.

use super::{Cluster, ScheduledEvent};
use crate::sim::host::{Host, Word};
use crate::sim::setting::FaultLevel;
use env::disk::Fault as DiskFault;
use env::{Operation, SimDisk, Survival};
use paxos::config::Durability;
use paxos::journal::DirectoryOwner;
use sim::{MILLISECOND, SECOND, Violation, one_of};
use std::io::ErrorKind;

/// Kind of a fault.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// The network gets worse, or better.
    Network,
    /// One connection breaks.
    Break,
    /// A client loses its connection.
    BreakClient,
    /// One direction between two nodes is cut.
    CutOneWay,
    /// Some nodes cannot reach the others.
    Partition,
    /// One node cannot reach anybody.
    Isolate,
    /// Everything is mended.
    Heal,
    /// A node stops, and starts again some time later.
    Crash,
    /// The leader does.
    CrashLeader,
    /// All nodes do, at one moment.
    PowerFailure,
    /// A node stops and starts again with an empty directory, an old copy of it or, where there is none, no memory.
    Forget,
    /// A node's disk fails once.
    Disk,
    /// A node does nothing for a while, though it lives.
    Pause,
}

fn faults(faults: FaultLevel) -> &'static [Fault] {
    use Fault::{
        Break, BreakClient, Crash, CrashLeader, CutOneWay, Disk, Forget, Heal, Isolate, Network, Partition, Pause,
        PowerFailure,
    };
    match faults {
        FaultLevel::Calm => &[Heal],
        FaultLevel::Lossy => &[Network, Network, Break, BreakClient, Pause],
        FaultLevel::Partitions => &[CutOneWay, CutOneWay, Partition, Isolate, Heal, Heal],
        FaultLevel::Crashes => &[Crash, CrashLeader, BreakClient, Disk, Pause, Forget],
        FaultLevel::PowerFailures => &[PowerFailure, Crash],
        FaultLevel::Chaos => &[
            Network,
            Break,
            BreakClient,
            CutOneWay,
            Partition,
            Isolate,
            Heal,
            Heal,
            Crash,
            CrashLeader,
            PowerFailure,
            Forget,
            Disk,
            Pause,
            Pause,
        ],
    }
}

impl Cluster {
    /// The next fault, and when the one after it comes.
    pub(super) fn next_fault(&mut self) -> Result<(), Violation> {
        if self.is_calm {
            return Ok(());
        }
        let fault = *one_of(&mut self.world.randomness, faults(self.setting.faults));
        self.world.step(|| format!("fault: {fault:?}"));
        self.cause(fault);
        let pause = self.world.randomness.in_range(0..2 * self.setting.fault_every_ns);
        self.world.enter(self.world.now + pause, ScheduledEvent::Fault);
        Ok(())
    }

    fn cause(&mut self, fault: Fault) {
        match fault {
            Fault::Network => self.world.change_network(self.setting.network),
            Fault::Break => self.world.break_one(),
            Fault::BreakClient => {
                let (node, client) =
                    (self.world.node(), self.world.randomness.in_range(0..self.setting.clients.into()) as usize);
                self.world.access.break_connection(node, self.hosts.len() + client);
            }
            Fault::CutOneWay => self.world.cut_one_way(),
            Fault::Partition => self.world.partition(),
            Fault::Isolate => {
                let node = if self.world.randomness.chance(1, 2) { self.leader() } else { self.world.node() };
                self.world.isolate(node);
            }
            Fault::Heal => self.world.network.heal(),
            Fault::Crash => {
                let node = self.world.node();
                self.crash_for_a_while(node);
            }
            Fault::CrashLeader => {
                let node = self.leader();
                self.crash_for_a_while(node);
            }
            Fault::PowerFailure => {
                if self.setting.options.durability == Durability::Fsync {
                    (0..self.hosts.len()).for_each(|node| self.crash_for_a_while(node));
                }
            }
            Fault::Forget => self.forget(),
            Fault::Disk => self.inject_disk_fault(),
            Fault::Pause => {
                let node = if self.world.randomness.chance(1, 2) { self.leader() } else { self.world.node() };
                let suspicion = u64::try_from(self.setting.options.suspicion.as_nanos()).unwrap_or(SECOND);
                let until = self.world.now + self.world.randomness.in_range(0..4 * suspicion);
                self.pause(node, until);
            }
        }
    }

    /// A node stops. With a journal it comes back as what it was; without, a voter comes back as a learner with a number of its own,
    /// and fewer than half may go.
    fn crash_for_a_while(&mut self, node: usize) {
        if self.hosts[node].life.is_none() {
            return;
        }
        let voters = self.setting.options.replicas as usize;
        let mut successor = node;
        if self.setting.options.durability == Durability::Memory && node < voters {
            // A cluster that has not begun begins with all.
            if self.expendable == 0 || !self.has_begun() || self.hosts[node].is_forgetful {
                return;
            }
            self.expendable -= 1;
            successor = node + voters;
        }
        let survivals = [Survival::Random, Survival::Random, Survival::SyncedOnly, Survival::Everything];
        let survival = *one_of(&mut self.world.randomness, &survivals);
        self.crash(node, survival);
        let pause = *one_of(&mut self.world.randomness, &[MILLISECOND, 100 * MILLISECOND, SECOND, 5 * SECOND]);
        let at = self.world.now + self.world.randomness.in_range(0..pause);
        self.world.enter(at, ScheduledEvent::Start(successor));
    }

    /// Every voter has met all others once.
    fn has_begun(&self) -> bool {
        let voters = self.hosts.iter().take(self.setting.options.replicas as usize);
        let admitted = |host: &Host| match (&host.life, DirectoryOwner::read(&host.disk)) {
            (Some(life), _) => life.replica.is_admitted(),
            (None, Ok(Some(owner))) => owner.admitted,
            (None, _) => host.options.durability == Durability::Memory,
        };
        voters.filter(|host| !host.is_forgetful).all(admitted)
    }

    /// A voter comes back without some of its memory. It is as good as dead: fewer than half may go.
    fn forget(&mut self) {
        let node = self.world.node();
        let host = &self.hosts[node];
        let is_voter = node < self.setting.options.replicas as usize;
        if !is_voter || host.is_forgetful || host.life.is_none() || self.expendable == 0 || !self.has_begun() {
            return;
        }
        let old = if self.world.randomness.chance(1, 2) { self.outdated_copy(node) } else { None };
        self.expendable -= 1;
        self.world.step(|| format!("R{node} comes back {}", if old.is_some() { "as it was once" } else { "new" }));
        self.world.trace.count(if old.is_some() { "old copies" } else { "lost memories" });
        self.crash(node, Survival::Everything);
        let host = &mut self.hosts[node];
        (host.is_forgetful, host.word) = (true, Word::default());
        host.disk = old.unwrap_or_else(|| SimDisk::new(self.world.randomness.next_u64(), self.setting.disk));
        let at = self.world.now + self.world.randomness.in_range(0..SECOND);
        self.world.enter(at, ScheduledEvent::Start(node));
    }

    /// The node's saved disk, if every other voter has noted since that there is a newer one. One who has not cannot know.
    fn outdated_copy(&self, node: usize) -> Option<SimDisk> {
        let (disk, records) = self.hosts[node].saved.as_ref()?;
        let life = DirectoryOwner::read(disk).ok()??.life;
        let voters = self.hosts.iter().take(self.setting.options.replicas as usize).enumerate();
        let mut others = voters.filter(|(other, host)| *other != node && !host.is_forgetful);
        let is_outdated = others.all(|(_, host)| {
            let met = DirectoryOwner::read(&host.disk).ok().flatten().map(|owner| owner.met);
            let note = met.and_then(|met| met.get(&(node as u64)).copied());
            note.is_some_and(|note| note.life > life || note.records > *records)
        });
        is_outdated.then(|| disk.copy())
    }

    fn inject_disk_fault(&mut self) {
        let operation = *one_of(&mut self.world.randomness, &[Operation::Sync, Operation::Write, Operation::Allocate]);
        let after = self.world.randomness.in_range(0..4);
        let kind = if operation == Operation::Sync { ErrorKind::Other } else { ErrorKind::StorageFull };
        let node = self.world.node();
        if self.hosts[node].life.is_some() {
            self.hosts[node].disk.inject(DiskFault { operation, after, kind });
        }
    }

    /// Everything is mended, and everybody comes back.
    pub(super) fn heal_all(&mut self) -> Result<(), Violation> {
        self.world.step(|| "calm".to_owned());
        self.is_calm = true;
        self.world.network.heal();
        self.world.network.set_options(self.setting.network);
        for host in &mut self.hosts {
            host.disk.forget_faults();
        }
        Ok(())
    }

    /// Returns the leader if any replica knows one, otherwise any replica.
    fn leader(&mut self) -> usize {
        let leaders = self.hosts.iter().filter_map(|host| host.life.as_ref()?.replica.leader());
        leaders.last().map_or_else(|| self.world.node(), |leader| leader as usize)
    }
}
