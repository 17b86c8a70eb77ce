//! Tiny random histories, judged by trying every order.
//!
//! The twin runs every subset of the transactions of unknown outcome, in every order, on a plain map. Where it finds a legal order, no
//! judge may complain (soundness). Where it finds none and the history states all versions, the cycles must show it (completeness); and
//! replay must agree with the twin about the one order that it is told.

use seriatim_check::generate::Random;
use seriatim_check::{History, Model, Operation, Record, Scalar, Status, Verdict, judge};
use std::collections::BTreeMap;

/// Entry of the twin's map: a register's value, if present, and its version; or a list's elements.
#[derive(Clone, Default)]
struct State {
    registers: BTreeMap<Scalar, (Option<Scalar>, Option<u64>)>,
    lists: BTreeMap<Scalar, Vec<Scalar>>,
}

impl State {
    /// Runs one transaction; false when a read differs or a version goes back.
    fn run(&mut self, record: &Record) -> bool {
        record.operations.iter().all(|operation| self.step(operation))
    }

    fn step(&mut self, operation: &Operation) -> bool {
        match operation {
            Operation::Append { key, value } => {
                self.lists.entry(key.clone()).or_default().push(value.clone());
                true
            }
            Operation::ReadList { key, values } => self.lists.get(key).map_or(&[][..], Vec::as_slice) == values,
            Operation::Write { key, value, version } => self.put(key, Some(value), *version),
            Operation::Delete { key, version } => self.put(key, None, *version),
            Operation::Read { key, value, version } => {
                let initial = (None, Some(0));
                let (present, at) = self.registers.get(key).unwrap_or(&initial);
                present == value && (version.is_none() || at.is_none() || version == at)
            }
            Operation::Scan { low, high, entries } => {
                let within = |key: &Scalar| {
                    low.as_ref().is_none_or(|low| low <= key) && high.as_ref().is_none_or(|high| key <= high)
                };
                let present = self.registers.iter().filter(|(key, _)| within(key));
                let present = present.filter_map(|(key, (value, _))| Some((key.clone(), value.clone()?)));
                present.eq(entries.iter().cloned())
            }
        }
    }

    fn put(&mut self, key: &Scalar, value: Option<&Scalar>, version: Option<u64>) -> bool {
        let old = self.registers.insert(key.clone(), (value.cloned(), version));
        let old = old.and_then(|(_, version)| version);
        version.is_none() || old.is_none() || old <= version
    }
}

fn precedes_in_time(a: &Record, b: &Record) -> bool {
    a.status == Status::Committed && a.end_ns < b.start_ns
}

/// Returns whether some order of these transactions is legal.
fn has_order(state: &State, left: &mut Vec<&Record>, model: Model) -> bool {
    if left.is_empty() {
        return true;
    }
    for place in 0..left.len() {
        let next = left.remove(place);
        let too_early = model == Model::Strict && left.iter().any(|other| precedes_in_time(other, next));
        let mut after = state.clone();
        let legal = !too_early && after.run(next) && has_order(&after, left, model);
        left.insert(place, next);
        if legal {
            return true;
        }
    }
    false
}

/// Returns whether the history is legal with some of its transactions of unknown outcome.
fn is_legal(records: &[Record], model: Model) -> bool {
    let unknown: Vec<&Record> = records.iter().filter(|r| r.status == Status::Unknown).collect();
    (0..1u32 << unknown.len()).any(|chosen| {
        let mut left: Vec<&Record> = records.iter().filter(|r| r.status == Status::Committed).collect();
        left.extend((0..unknown.len()).filter(|bit| chosen >> bit & 1 == 1).map(|bit| unknown[bit]));
        has_order(&State::default(), &mut left, model)
    })
}

/// Returns whether the claimed order is legal, versions aside, with some of the transactions of unknown outcome.
fn claim_is_legal(records: &[Record], model: Model) -> bool {
    let mut order: Vec<Record> = records.iter().filter(|record| record.status != Status::Aborted).cloned().collect();
    order.sort_by_key(|record| record.serial_point);
    order.iter_mut().flat_map(|record| &mut record.operations).for_each(forget_version);
    (0..1u32 << order.len()).any(|chosen| {
        let places = (0..order.len()).filter(|place| chosen >> place & 1 == 1);
        let run: Vec<&Record> = places.map(|place| &order[place]).collect();
        let is_committed = |record: &Record| record.status == Status::Committed;
        let all = order.iter().filter(|record| is_committed(record)).count();
        let mut state = State::default();
        run.iter().filter(|record| is_committed(record)).count() == all
            && run.iter().all(|record| state.run(record))
            && !(model == Model::Strict && goes_back_in_time(&run))
    })
}

fn goes_back_in_time(order: &[&Record]) -> bool {
    (0..order.len()).any(|late| {
        let earlier = &order[..late];
        earlier.iter().any(|early| precedes_in_time(order[late], early))
    })
}

fn forget_version(operation: &mut Operation) {
    if let Operation::Write { version, .. } | Operation::Read { version, .. } | Operation::Delete { version, .. } =
        operation
    {
        *version = None;
    }
}

#[derive(Clone, Copy)]
struct Style {
    versions: bool,
    scans: bool,
    deletes: bool,
    lists: bool,
    unknown: bool,
    aborts: bool,
}

/// A random history: transactions that ran one after another, with some reads then replaced by others that the history might show.
struct Maker {
    random: Random,
    style: Style,
    registers: BTreeMap<u64, (Option<Scalar>, u64)>,
    lists: BTreeMap<u64, Vec<Scalar>>,
    next_value: u64,
}

const KEYS: u64 = 3;

impl Maker {
    fn history(seed: u64, style: Style) -> Vec<Record> {
        let mut maker = Maker {
            random: Random::new(seed),
            style,
            registers: BTreeMap::new(),
            lists: BTreeMap::new(),
            next_value: 0,
        };
        let count = 2 + maker.random.below(4);
        let mut records: Vec<Record> = (1..=count).map(|number| maker.record(number)).collect();
        for _ in 0..maker.random.below(3) {
            maker.disturb(&mut records);
        }
        maker.random_claims(&mut records);
        records
    }

    fn record(&mut self, number: u64) -> Record {
        let status = match self.random.below(6) {
            0 if self.style.unknown => Status::Unknown,
            1 if self.style.aborts => Status::Aborted,
            _ => Status::Committed,
        };
        let discard = status != Status::Committed && self.random.percent(50);
        let saved = (self.registers.clone(), self.lists.clone());
        let count = 1 + self.random.below(3);
        let operations = (0..count).map(|_| self.operation(number)).collect();
        if discard {
            (self.registers, self.lists) = saved;
        }
        let start_ns = (10 * number).saturating_sub(self.random.below(25));
        Record {
            id: number,
            process: number,
            start_ns,
            end_ns: 10 * number + self.random.below(25),
            status,
            serial_point: None,
            operations,
        }
    }

    fn operation(&mut self, number: u64) -> Operation {
        let key = self.random.below(KEYS);
        if self.style.lists && self.random.percent(30) {
            let name = Scalar::Text(format!("l{key}"));
            let list = self.lists.entry(key).or_default();
            if self.random.percent(50) {
                self.next_value += 1;
                list.push(self.next_value.into());
                return Operation::Append { key: name, value: self.next_value.into() };
            }
            return Operation::ReadList { key: name, values: list.clone() };
        }
        let version = self.style.versions.then_some(number);
        match self.random.below(10) {
            0..4 => {
                self.next_value += 1;
                let value = Scalar::from(self.next_value);
                self.registers.insert(key, (Some(value.clone()), number));
                Operation::Write { key: key.into(), value, version }
            }
            4 if self.style.deletes => {
                self.registers.insert(key, (None, number));
                Operation::Delete { key: key.into(), version }
            }
            5..7 if self.style.scans => Operation::Scan {
                low: Some(key.into()),
                high: Some(2u64.into()),
                entries: (self.registers.range(key..))
                    .filter_map(|(&key, (value, _))| Some((key.into(), value.clone()?)))
                    .collect(),
            },
            _ => {
                let (value, at) = self.registers.get(&key).cloned().unwrap_or_default();
                let version = self.style.versions.then_some(at);
                Operation::Read { key: key.into(), value, version }
            }
        }
    }

    /// Replaces what one read or scan found; or swaps the versions of two transactions' writes.
    fn disturb(&mut self, records: &mut [Record]) {
        let mut found: Vec<(Scalar, Option<Scalar>, Option<u64>)> =
            (0..KEYS).map(|key| (key.into(), None, self.style.versions.then_some(0))).collect();
        for operation in records.iter().flat_map(|record| &record.operations) {
            match operation {
                Operation::Write { key, value, version } => {
                    found.push((key.clone(), Some(value.clone()), *version));
                }
                Operation::Delete { key, version } => found.push((key.clone(), None, *version)),
                _ => {}
            }
        }
        let record = self.random.below(records.len() as u64) as usize;
        let operations = &mut records[record].operations;
        let place = self.random.below(operations.len() as u64) as usize;
        match &mut operations[place] {
            Operation::Read { key, value, version } => {
                found.retain(|(k, _, _)| k == key);
                let choice = self.random.below(found.len() as u64) as usize;
                (*value, *version) = (found[choice].1.clone(), found[choice].2);
            }
            Operation::Scan { entries, .. } if !entries.is_empty() => {
                entries.remove(self.random.below(entries.len() as u64) as usize);
            }
            Operation::ReadList { values, .. } => {
                values.pop();
            }
            _ => {}
        }
    }

    fn random_claims(&mut self, records: &mut [Record]) {
        let mut claims: Vec<u64> = (1..=records.len() as u64).collect();
        for _ in 0..self.random.below(3) {
            let (a, b) = (self.random.below(claims.len() as u64), self.random.below(claims.len() as u64));
            claims.swap(a as usize, b as usize);
        }
        for (record, claim) in records.iter_mut().zip(claims) {
            record.serial_point = Some(claim);
        }
    }
}

fn text(records: &[Record]) -> String {
    let mut writer = seriatim_check::Writer::new(Vec::new());
    for record in records {
        writer.write(record).expect("memory is writable");
    }
    String::from_utf8(writer.finish().expect("memory is writable")).expect("UTF-8")
}

/// How many histories were legal, illegal and seen by the cycles, and illegal but missed; with the first of those.
#[derive(Debug, Default)]
struct Tally {
    legal: u64,
    seen: u64,
    missed: u64,
    first_missed: String,
}

/// Judges `count` histories of a style.
fn compare(style: Style, count: u64, model: Model) -> Tally {
    let mut tally = Tally::default();
    for seed in 0..count {
        let records = Maker::history(seed, style);
        let history = History::from_records(records.clone()).expect("a history");
        let report = judge(&history, model);
        let legal = is_legal(&records, model);
        let describe = || format!("seed {seed}, {model}\n{}{report}", text(&records));
        match (legal, report.cycles.verdict) {
            (true, Verdict::Pass) => tally.legal += 1,
            (true, _) => panic!("cycles fail a legal history: {}", describe()),
            (false, Verdict::Pass) => {
                tally.missed += 1;
                if tally.missed == 1 {
                    tally.first_missed = describe();
                }
            }
            (false, _) => tally.seen += 1,
        }
        let claim_is_legal = claim_is_legal(&records, model);
        let replay = report.replay.verdict;
        assert!(!claim_is_legal || replay != Verdict::Fail, "replay fails a legal claim: {}", describe());
        if records.iter().all(|record| record.status != Status::Unknown) {
            assert_eq!(replay == Verdict::Pass, claim_is_legal, "replay: {}", describe());
        }
    }
    tally
}

const MODELS: [Model; 2] = [Model::Serializable, Model::Strict];
const COUNT: u64 = 6000;

#[test]
fn with_all_versions_the_cycles_are_complete() {
    let style = Style { versions: true, scans: false, deletes: true, lists: false, unknown: false, aborts: false };
    for model in MODELS {
        let tally = compare(style, COUNT, model);
        assert_eq!(tally.missed, 0, "the cycles passed {}", tally.first_missed);
        let enough = COUNT / 20;
        assert!(tally.legal > enough && tally.seen > enough, "a fair mix: {tally:?}");
    }
}

#[test]
fn with_versions_and_without_deletes_scans_are_complete() {
    let style = Style { versions: true, scans: true, deletes: false, lists: false, unknown: false, aborts: true };
    for model in MODELS {
        let tally = compare(style, COUNT, model);
        assert_eq!(tally.missed, 0, "the cycles passed {}", tally.first_missed);
        let enough = COUNT / 20;
        assert!(tally.legal > enough && tally.seen > enough, "a fair mix: {tally:?}");
    }
}

#[test]
fn whatever_the_history_tells_the_cycles_are_sound() {
    for bits in 0..8 {
        let style = Style {
            versions: bits & 1 != 0,
            scans: true,
            deletes: true,
            lists: bits & 2 != 0,
            unknown: bits & 4 != 0,
            aborts: true,
        };
        for model in MODELS {
            let tally = compare(style, COUNT / 4, model);
            let enough = COUNT / 100;
            assert!(tally.legal > enough && tally.seen > enough, "a fair mix: {tally:?}");
            assert!(tally.missed <= tally.seen / 2, "much is missed: {tally:?}");
        }
    }
}
