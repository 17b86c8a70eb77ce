//! Registers: stated versions, or steps of transactions that read one version and wrote the next.

use super::loose::{Loose, Member};
use super::{Basis, KeyJudge, kinds};
use crate::cycles::edges::{Kind, Node};
use crate::cycles::facts::Install;
use crate::cycles::reads::{Found, Read};
use crate::history::{KeyId, ValueId};
use crate::report::{Anomaly, Finding};

/// Relations of a version that one of its readers is connected with; more than one step from the same version is an anomaly, and two of
/// them show it.
const STEPS_PER_READER: usize = 8;

/// Which version a read saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// None that edges could start from; if that is wrong, it has been reported.
    Unknown,
    /// The initial absence.
    Initial,
    /// This install of the key.
    Version(usize),
    /// An intermediate write of this install's transaction; reported.
    Intermediate(usize),
    /// One of several absences.
    SomeAbsence,
}

/// A version's place in the order of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In the chain: 0 is the initial absence, n the n-th after it.
    Chain(usize),
    Loose,
}

/// The order of one register's versions.
struct Order<'a> {
    key: KeyId,
    installs: &'a [Install],
    basis: Basis,
    /// Installs, in order.
    chain: Vec<usize>,
    /// By install.
    places: Vec<Place>,
    loose: Loose,
    /// Pairs of installs, the second after the first, of which at least one is loose; ordered.
    relations: Vec<(usize, usize)>,
    absences: Absences,
}

/// Where a register may be absent.
struct Absences {
    /// A transaction of unknown outcome may have deleted it at any time.
    doubtful: bool,
    /// A loose version is a delete.
    loose: bool,
    /// Places in the chain; the first is 0.
    chain: Vec<usize>,
    /// By place in the chain: the earliest end of a writer from there on.
    earliest_end: Vec<u64>,
    /// By place in the chain: the latest start of a writer up to there.
    latest_start: Vec<u64>,
    /// Deletes in order: start of the writer, and the latest end of the writers up to this one.
    deletes: Vec<(u64, u64)>,
}

impl KeyJudge<'_> {
    /// Returns by what the order is known, and whom a transaction that found the key absent precedes at any rate.
    pub(super) fn connect_register(&mut self, key: KeyId, reads: &[Read]) -> (Basis, Option<Node>) {
        let installs = self.facts.installs.of(key);
        if installs.is_empty() && reads.is_empty() {
            return (Basis::Steps, None);
        }
        let mut targets = Vec::with_capacity(reads.len());
        for read in reads {
            targets.push(self.target(key, installs, read));
        }
        let order = self.infer(key, installs, reads, &targets);
        self.connect_versions(&order);
        for (read, target) in reads.iter().zip(targets) {
            self.connect_register_read(&order, read, target);
        }
        let after_absence = order.after_last_absence();
        (order.basis, after_absence)
    }

    fn target(&mut self, key: KeyId, installs: &[Install], read: &Read) -> Target {
        match read.found {
            Found::Value(value) => self.target_of_value(key, installs, read, value),
            Found::Absent => self.target_of_absence(key, installs, read),
            Found::List(_) => Target::Unknown,
        }
    }

    fn target_of_value(&mut self, key: KeyId, installs: &[Install], read: &Read, value: ValueId) -> Target {
        let Some(writer) = self.writer_of(key, value, read.transaction) else {
            return Target::Unknown;
        };
        let Some(install) = install_of(installs, writer) else {
            return Target::Unknown;
        };
        let write = self.facts.write_of(key, value);
        if write.is_some_and(|write| !write.is_last) {
            self.report_intermediate(key, value, read.transaction, writer);
            return Target::Intermediate(install);
        }
        if let (Some(read_version), Some(version)) = (read.version, write.and_then(|write| write.version))
            && read_version != version
        {
            self.report(
                Anomaly::VersionMismatch,
                read.transaction,
                Some(writer),
                |reader, writer, pair| {
                    format!(
                        "{reader} read {pair} as version {read_version}, but {writer} wrote it as version {version}"
                    )
                },
                key,
                value,
            );
        }
        Target::Version(install)
    }

    fn target_of_absence(&mut self, key: KeyId, installs: &[Install], read: &Read) -> Target {
        let doubtful = self.facts.doubtful[key.index()];
        let mut deletes = installs.iter().filter(|install| install.value.is_none());
        let undecided =
            if doubtful || deletes.clone().next().is_some() { Target::SomeAbsence } else { Target::Initial };
        let Some(version) = read.version else {
            return undecided;
        };
        let is_read = |install: &Install| install.value.is_none() && install.version == Some(version);
        if version == 0 {
            return Target::Initial;
        }
        if let Some(install) = installs.iter().position(is_read) {
            if installs[install].transaction != read.transaction {
                return Target::Version(install);
            }
            self.report_absence(Anomaly::Internal, key, read, version, "which it left itself only later");
            return Target::Unknown;
        }
        if doubtful || deletes.any(|install| install.version.is_none()) {
            return undecided;
        }
        let problem = "but no transaction that took effect deleted it as that";
        self.report_absence(Anomaly::VersionMismatch, key, read, version, problem);
        Target::Unknown
    }

    fn report_absence(&mut self, anomaly: Anomaly, key: KeyId, read: &Read, version: u64, problem: &str) {
        let id = self.facts.transaction(read.transaction).id;
        let name = self.facts.history.key(key);
        self.findings.add(|| Finding {
            anomaly,
            transactions: vec![id],
            explanation: format!("T{id} found {name} absent as version {version}, {problem}"),
            steps: Vec::new(),
        });
    }

    fn infer<'b>(&mut self, key: KeyId, installs: &'b [Install], reads: &[Read], targets: &[Target]) -> Order<'b> {
        let mut by_version: Vec<usize> = (0..installs.len()).filter(|&i| installs[i].version.is_some()).collect();
        by_version.sort_unstable_by_key(|&i| installs[i].version);
        let all_stated = by_version.len() == installs.len();
        let (basis, chain, mut relations) = if all_stated && !installs.is_empty() {
            (Basis::Versions, by_version, Vec::new())
        } else {
            let (chain, mut steps) = follow_steps(installs, reads, targets);
            steps.extend(by_version.array_windows().map(|&[a, b]| (a, b)));
            (Basis::Steps, chain, steps)
        };
        let mut places = vec![Place::Loose; installs.len()];
        for (position, &install) in chain.iter().enumerate() {
            places[install] = Place::Chain(position + 1);
        }
        let is_loose = |install: usize| places[install] == Place::Loose;
        relations.retain(|&(a, b)| is_loose(a) || is_loose(b));
        relations.sort_unstable();
        relations.dedup();
        let loose: Vec<usize> = (0..installs.len()).filter(|&i| is_loose(i)).collect();
        let members = loose.iter().map(|&i| Member {
            start_ns: self.facts.transaction(installs[i].transaction).start_ns,
            transaction: installs[i].transaction,
        });
        Order {
            key,
            installs,
            basis,
            absences: self.absences(key, installs, &chain, &loose),
            loose: Loose::new(key, members.collect(), self.edges),
            chain,
            places,
            relations,
        }
    }

    fn absences(&self, key: KeyId, installs: &[Install], chain: &[usize], loose: &[usize]) -> Absences {
        let times = |install: usize| self.facts.transaction(installs[install].transaction);
        let is_delete = |install: usize| installs[install].value.is_none();
        let mut absences = Absences {
            doubtful: self.facts.doubtful[key.index()],
            loose: loose.iter().any(|&install| is_delete(install)),
            chain: vec![0],
            earliest_end: Vec::new(),
            latest_start: Vec::new(),
            deletes: Vec::new(),
        };
        for (position, &install) in chain.iter().enumerate() {
            if is_delete(install) {
                absences.chain.push(position + 1);
            }
        }
        if absences.chain.len() == 1 && !absences.loose {
            return absences;
        }
        absences.earliest_end = vec![u64::MAX; chain.len() + 1];
        absences.latest_start = vec![0; chain.len() + 1];
        for position in (1..=chain.len()).rev() {
            let end = times(chain[position - 1]).end_ns;
            let later = absences.earliest_end.get(position + 1).copied();
            absences.earliest_end[position] = later.map_or(end, |later| later.min(end));
        }
        for position in 1..=chain.len() {
            let start = times(chain[position - 1]).start_ns;
            absences.latest_start[position] = absences.latest_start[position - 1].max(start);
        }
        let deletes = (0..installs.len()).filter(|&install| is_delete(install));
        absences.deletes = deletes.map(|i| (times(i).start_ns, times(i).end_ns)).collect();
        absences.deletes.sort_unstable();
        let mut latest = 0;
        for (_, end) in &mut absences.deletes {
            latest = latest.max(*end);
            *end = latest;
        }
        absences
    }

    fn connect_versions(&mut self, order: &Order) {
        let key = Some(order.key);
        for &[earlier, later] in order.chain.array_windows() {
            self.edges.add(order.writer(earlier), order.writer(later), key, Kind::WW);
        }
        for &(earlier, later) in &order.relations {
            self.edges.add(order.writer(earlier), order.writer(later), key, Kind::WW);
        }
        if let (Some(&last), Some(loose)) = (order.chain.last(), order.loose.all()) {
            self.edges.add(order.writer(last), loose, key, Kind::WW);
        }
    }

    fn connect_register_read(&mut self, order: &Order, read: &Read, target: Target) {
        let (wr, rw) = kinds(read);
        let reader = read.transaction;
        match target {
            Target::Unknown => {}
            Target::Initial => self.lead_past(order, reader, 0, rw),
            Target::Intermediate(install) => {
                self.edges.add(order.writer(install), reader, Some(order.key), wr);
            }
            Target::Version(install) => {
                self.edges.add(order.writer(install), reader, Some(order.key), wr);
                match order.places[install] {
                    Place::Chain(place) => self.lead_past(order, reader, place, rw),
                    Place::Loose => self.lead_past_loose(order, reader, install, rw),
                }
            }
            Target::SomeAbsence => self.connect_absence(order, read),
        }
    }

    /// Connects a reader of the version at `place` in the chain with whoever overwrote that.
    fn lead_past(&mut self, order: &Order, reader: u32, place: usize, kind: Kind) {
        match order.chain.get(place) {
            Some(&next) => self.edges.add(reader, order.writer(next), Some(order.key), kind),
            None => self.lead_to_loose_from(order, reader, 0, kind),
        }
    }

    /// Connects a reader of a loose version with those known to have overwritten it.
    fn lead_past_loose(&mut self, order: &Order, reader: u32, install: usize, kind: Kind) {
        let first = order.relations.partition_point(|&(earlier, _)| earlier < install);
        let steps = order.relations[first..].iter().take(STEPS_PER_READER);
        for &(_, next) in steps.take_while(|&&(earlier, _)| earlier == install) {
            self.edges.add(reader, order.writer(next), Some(order.key), kind);
        }
        let end_ns = self.facts.transaction(order.writer(install)).end_ns;
        if self.real_time && end_ns != u64::MAX {
            let first = order.loose.started_after(end_ns);
            self.lead_to_loose_from(order, reader, first, kind | Kind::TIME);
        }
    }

    fn lead_to_loose_from(&mut self, order: &Order, reader: u32, first: usize, kind: Kind) {
        let start_ns = self.facts.transaction(reader).start_ns;
        order.loose.lead_to(self.edges, reader, start_ns, first, kind);
    }

    /// Connects a reader of one of several absences: after the first that it may have been, and before what overwrote the last.
    fn connect_absence(&mut self, order: &Order, read: &Read) {
        let (wr, rw) = kinds(read);
        let reader = read.transaction;
        let absences = &order.absences;
        if absences.doubtful {
            return;
        }
        if let Some(own) = order.place_of(reader) {
            // It put its own version directly after the one that it read.
            let before = absences.chain.partition_point(|&place| place < own) - 1;
            return self.connect_one_absence(order, reader, absences.chain[before], (wr, rw));
        }
        if absences.loose {
            return self.connect_absence_by_time(order, reader, rw);
        }
        let (low, high) = self.window(absences, reader);
        let first = absences.chain.partition_point(|&place| place < low);
        let end = absences.chain.partition_point(|&place| place < high);
        // Without any candidate the order is impossible; whichever is taken then shows it.
        let last = end.max(1) - 1;
        let first = first.min(last);
        if absences.chain[first] > 0 {
            let writer = order.writer(order.chain[absences.chain[first] - 1]);
            self.edges.add(writer, reader, Some(order.key), wr | Kind::TIME);
        }
        let is_last = last + 1 == absences.chain.len();
        let rw = if is_last { rw } else { rw | Kind::TIME };
        self.lead_past(order, reader, absences.chain[last], rw);
    }

    fn connect_one_absence(&mut self, order: &Order, reader: u32, place: usize, (wr, rw): (Kind, Kind)) {
        if place > 0 {
            let writer = order.writer(order.chain[place - 1]);
            self.edges.add(writer, reader, Some(order.key), wr);
        }
        self.lead_past(order, reader, place, rw);
    }

    /// The places `low..high` of the chain that the reader may have seen: none that a writer that ended before it overwrote, and none by
    /// or after a writer that started after it.
    fn window(&self, absences: &Absences, reader: u32) -> (usize, usize) {
        let end = absences.earliest_end.len();
        if !self.real_time || end == 0 {
            return (0, usize::MAX);
        }
        let reader = self.facts.transaction(reader);
        let ended_before = absences.earliest_end[1..].partition_point(|&e| e < reader.start_ns);
        let not_later = absences.latest_start.partition_point(|&s| s <= reader.end_ns);
        (ended_before, not_later)
    }

    /// As loose deletes have no place, only what started after all deletes that the reader may have seen is known to follow.
    fn connect_absence_by_time(&mut self, order: &Order, reader: u32, kind: Kind) {
        if !self.real_time {
            return;
        }
        let deletes = &order.absences.deletes;
        let end_ns = self.facts.transaction(reader).end_ns;
        let candidates = deletes.partition_point(|&(start, _)| start <= end_ns);
        let first = match candidates.checked_sub(1).map(|last| deletes[last].1) {
            None => 0,
            Some(u64::MAX) => return,
            Some(latest_end) => order.loose.started_after(latest_end),
        };
        self.lead_to_loose_from(order, reader, first, kind | Kind::TIME);
    }
}

impl Order<'_> {
    fn writer(&self, install: usize) -> Node {
        self.installs[install].transaction
    }

    /// Where in the chain this transaction's own version stands.
    fn place_of(&self, transaction: u32) -> Option<usize> {
        match self.places[install_of(self.installs, transaction)?] {
            Place::Chain(place) => Some(place),
            Place::Loose => None,
        }
    }

    fn after_last_absence(&self) -> Option<Node> {
        if self.absences.doubtful || self.absences.loose {
            return None;
        }
        match self.chain.get(*self.absences.chain.last()?) {
            Some(&next) => Some(self.writer(next)),
            None => self.loose.all(),
        }
    }
}

/// A transaction leaves at most one version on a key; installs are ordered by transaction.
fn install_of(installs: &[Install], transaction: u32) -> Option<usize> {
    installs.binary_search_by_key(&transaction, |install| install.transaction).ok()
}

/// The steps from one version directly to the next, and the chain of them that begins at the initial absence.
fn follow_steps(installs: &[Install], reads: &[Read], targets: &[Target]) -> (Vec<usize>, Vec<(usize, usize)>) {
    // By install, shifted by one for the initial absence: the first install that was put directly after it.
    let mut next: Vec<Option<usize>> = vec![None; installs.len() + 1];
    // By install: whether a step leads to it. A transaction that contradicts itself may have read several versions; the first counts.
    let mut has_former = vec![false; installs.len()];
    let mut steps = Vec::new();
    for (read, target) in reads.iter().zip(targets) {
        let Some(own) = install_of(installs, read.transaction) else {
            continue;
        };
        let from = match *target {
            Target::Initial => 0,
            Target::Version(install) => {
                steps.push((install, own));
                install + 1
            }
            Target::Unknown | Target::Intermediate(_) | Target::SomeAbsence => continue,
        };
        if !std::mem::replace(&mut has_former[own], true) {
            next[from].get_or_insert(own);
        }
    }
    // No install has two formers and the initial absence has none, so this cannot run in a circle.
    let mut chain = Vec::new();
    let mut at = 0;
    while let Some(install) = next[at] {
        chain.push(install);
        at = install + 1;
    }
    (chain, steps)
}
