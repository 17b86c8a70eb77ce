//! Larger generated histories: correct ones pass, and a single wrong read in them is found by both judges.

use seriatim_check::generate::{Random, Shape, generate};
use seriatim_check::report::Verdict;
use seriatim_check::{History, Model, Operation, Record, Scalar, Status, Writer, judge};
use std::collections::HashMap;

fn shape(seed: u64) -> Shape {
    let mut random = Random::new(seed);
    Shape {
        seed,
        transactions: 300,
        registers: 1 + random.below(60),
        lists: random.below(4),
        clients: 1 + random.below(10),
        scan_percent: random.below(40),
        scan_width: 1 + random.below(30),
        versions: random.percent(50),
        ..Shape::default()
    }
}

#[test]
fn correct_histories_pass() {
    for seed in 0..300 {
        let history = History::from_records(generate(shape(seed))).expect("a history");
        for model in [Model::Serializable, Model::Strict] {
            let report = judge(&history, model);
            assert!(report.valid, "seed {seed}: {report}");
            assert_eq!(report.cycles.verdict, Verdict::Pass, "seed {seed}: {report}");
        }
    }
}

#[test]
fn text_and_memory_are_the_same_history() {
    for seed in 0..20 {
        let records: Vec<Record> = generate(shape(seed)).collect();
        let mut writer = Writer::new(Vec::new());
        records.iter().for_each(|record| writer.write(record).expect("memory is writable"));
        let text = writer.finish().expect("memory is writable");
        let read = History::read(&text[..]).expect("a history");
        let built = History::from_records(records).expect("a history");
        assert_eq!(format!("{read:?}"), format!("{built:?}"), "seed {seed}");
    }
}

/// Replaces one value that a committed transaction read by one that nobody wrote.
fn read_garbage(records: &mut [Record], random: &mut Random) -> bool {
    let garbage = || Scalar::from("garbage");
    let record = &mut records[random.below(300) as usize];
    if record.status != Status::Committed {
        return false;
    }
    let place = random.below(record.operations.len() as u64) as usize;
    match &mut record.operations[place] {
        Operation::Read { value, .. } => *value = Some(garbage()),
        Operation::ReadList { values, .. } => values.push(garbage()),
        Operation::Scan { entries, .. } if !entries.is_empty() => entries[0].1 = garbage(),
        _ => return false,
    }
    true
}

#[test]
fn both_judges_find_a_garbage_read() {
    let mut tried = 0;
    for seed in 0..200 {
        let mut records: Vec<Record> = generate(shape(seed)).collect();
        if read_garbage(&mut records, &mut Random::new(seed)) {
            assert_both_fail(seed, records);
            tried += 1;
        }
    }
    assert!(tried > 50, "only {tried} histories were disturbed");
}

/// By key: each write in serial order, with its transaction's times.
fn writes(records: &[Record]) -> HashMap<Scalar, Vec<(usize, Option<Scalar>, u64)>> {
    let mut writes: HashMap<Scalar, Vec<_>> = HashMap::new();
    for (index, record) in records.iter().enumerate() {
        if record.status != Status::Committed {
            continue;
        }
        for operation in &record.operations {
            let (key, value) = match operation {
                Operation::Write { key, value, .. } => (key, Some(value.clone())),
                Operation::Delete { key, .. } => (key, None),
                _ => continue,
            };
            let version = record.serial_point.unwrap_or_default();
            writes.entry(key.clone()).or_default().push((index, value, version));
        }
    }
    writes
}

/// Replaces what a committed transaction read of a register by an older value, overwritten by a transaction that had ended before.
fn read_stale(records: &mut [Record], random: &mut Random) -> bool {
    let writes = writes(records);
    for _ in 0..200 {
        let reader = random.below(300) as usize;
        let (status, start_ns) = (records[reader].status, records[reader].start_ns);
        let ended = |writer: usize| records[writer].end_ns < start_ns;
        let place = random.below(records[reader].operations.len() as u64) as usize;
        let Operation::Read { key, .. } = &records[reader].operations[place] else {
            continue;
        };
        let Some(writes) = writes.get(key).filter(|_| status == Status::Committed) else {
            continue;
        };
        let stale = writes.array_windows().rev().find(|[old, new]| old.0 != new.0 && old.1.is_some() && ended(new.0));
        let Some([(_, old, old_version), _]) = stale.cloned() else {
            continue;
        };
        if let Operation::Read { value, version, .. } = &mut records[reader].operations[place] {
            *value = old;
            *version = version.map(|_| old_version);
        }
        return true;
    }
    false
}

#[test]
fn both_judges_find_a_stale_read() {
    let mut tried = 0;
    for seed in 0..200 {
        let shape = Shape { versions: true, unknown_percent: 0, ..shape(seed) };
        let mut records: Vec<Record> = generate(shape).collect();
        if read_stale(&mut records, &mut Random::new(seed)) {
            assert_both_fail(seed, records);
            tried += 1;
        }
    }
    assert!(tried > 100, "only {tried} histories were disturbed");
}

/// Removes an entry from a scan whose value was written by a transaction that had ended before, and deleted, if at all, by one that began
/// after.
fn miss_row(records: &mut [Record], random: &mut Random) -> bool {
    let writes = writes(records);
    for _ in 0..200 {
        let reader = random.below(300) as usize;
        let (start_ns, end_ns) = (records[reader].start_ns, records[reader].end_ns);
        let place = random.below(records[reader].operations.len() as u64) as usize;
        let Operation::Scan { entries, .. } = &records[reader].operations[place] else {
            continue;
        };
        let was_there = |(key, value): &(Scalar, Scalar)| {
            let Some(writes) = writes.get(key) else { return false };
            let at = writes.iter().position(|(_, written, _)| written.as_ref() == Some(value));
            at.is_some_and(|at| {
                let next_delete = writes[at..].iter().find(|(_, value, _)| value.is_none());
                let earlier = writes[..at].iter().all(|&(writer, _, _)| records[writer].end_ns < start_ns);
                earlier
                    && records[writes[at].0].end_ns < start_ns
                    && next_delete.is_none_or(|&(deleter, _, _)| records[deleter].start_ns > end_ns)
            })
        };
        let Some(entry) = entries.iter().position(was_there) else { continue };
        if records[reader].status != Status::Committed {
            continue;
        }
        if let Operation::Scan { entries, .. } = &mut records[reader].operations[place] {
            entries.remove(entry);
        }
        return true;
    }
    false
}

#[test]
fn both_judges_find_a_row_that_a_scan_missed() {
    let mut tried = 0;
    for seed in 0..200 {
        let shape = Shape { versions: true, unknown_percent: 0, scan_percent: 30, ..shape(seed) };
        let mut records: Vec<Record> = generate(shape).collect();
        if miss_row(&mut records, &mut Random::new(seed)) {
            assert_both_fail(seed, records);
            tried += 1;
        }
    }
    assert!(tried > 100, "only {tried} histories were disturbed");
}

fn assert_both_fail(seed: u64, records: Vec<Record>) {
    let history = History::from_records(records).expect("a history");
    let report = judge(&history, Model::Strict);
    assert_eq!(report.replay.verdict, Verdict::Fail, "seed {seed}: {report}");
    assert_eq!(report.cycles.verdict, Verdict::Fail, "seed {seed}: {report}");
    assert!(!report.valid && !report.judges_disagree);
}
