//! What was acknowledged, or seen, is found again: after a clean stop, after the power goes at every single change of the disk, with
//! checkpoints in between. A procedure that is not the one that was logged is refused; a full or failing disk is named.
#![cfg(not(feature = "shuttle"))]

#[path = "common/moves.rs"]
mod moves;

use conformance::registers::{put, registers};
use env::disk::Fault as DiskFault;
use env::{Operation, SimDisk, Survival};
use model::{
    Access, BatchEntry, Begin, Declared, Decoder, Durability, Error, Fault, Footprint, Invalid, Key, LimitKind,
    Malformed, Procedure, Program, Registry, Storage, TableId, Touch, UnknownCall,
};
use moves::{Kind, Step, contents, create, disk, expected, is_acknowledged, place, reopen, small, submit, table};
use seriatim_bohm::{Bohm, LogOptions, Options, Pace};
use std::sync::Arc;
use wal::{Log, redo};

const STEPS: u64 = 33;
/// Steps that are submitted together.
const TOGETHER: u64 = 3;

fn steps(table: TableId) -> impl Iterator<Item = Step> {
    (0..STEPS).map(move |n| Step::nth(table, n))
}

/// Runs the history until the disk fails, with a checkpoint now and then. Returns the number of acknowledged steps; `None`: not even
/// the table was.
fn run_history(disk: &SimDisk, options: Options) -> Option<u64> {
    let engine = reopen(disk, options).ok()?;
    let table = create(&engine).ok()?;
    for first in (0..STEPS).step_by(TOGETHER as usize) {
        // So that no guess misses, which would put its step behind others.
        engine.settle();
        let tickets = submit(&engine, (first..first + TOGETHER).map(|n| Step::nth(table, n)));
        let acknowledged =
            tickets.into_iter().map(|ticket| is_acknowledged(ticket.wait())).take_while(|is| *is).count();
        if acknowledged < TOGETHER as usize {
            return Some(first + acknowledged as u64);
        }
        if first % 4 == 3 && engine.write_checkpoint(Pace::Full).is_err() {
            return Some(first + TOGETHER);
        }
    }
    let _ = engine.close();
    Some(STEPS)
}

#[test]
fn a_clean_stop_is_found_clean_and_complete() {
    for options in [small(), Options::default()] {
        let disk = disk(1);
        assert_eq!(run_history(&disk, options.clone()), Some(STEPS));
        let engine = reopen(&disk.power_cut_with(Survival::SyncedOnly), options).expect("a healthy disk");
        let report = engine.recovery().expect("it was opened");
        assert!(report.clean && !report.created && report.cut.is_none(), "{report:?}");
        let table = table(&engine, "registers").expect("it was acknowledged");
        assert_eq!(Some(contents(&engine, table)), expected(steps(table)).pop());
    }
}

/// The power goes at every change of the disk, three ways: nothing unsynced survives, some of it, all of it. The rows are those after
/// some number of steps, the acknowledged ones at least, and the database goes on, twice.
#[test]
fn every_acknowledged_call_survives_a_power_cut_at_every_change() {
    let whole = disk(7);
    assert_eq!(run_history(&whole, small()), Some(STEPS));
    assert!(
        whole.changes() > 100,
        "the history changes the disk often enough to be worth cutting: {}",
        whole.changes()
    );
    let states = expected(steps(TableId(0)));
    for change in 0..whole.changes() {
        let disk = disk(7);
        disk.cut_power_at(change);
        let acknowledged = run_history(&disk, small());
        for survival in [Survival::SyncedOnly, Survival::Random, Survival::Everything] {
            let context = format!("power cut at change {change}, {survival:?}, {acknowledged:?} acknowledged");
            let after = disk.power_cut_with(survival);
            let engine = reopen(&after, small()).unwrap_or_else(|error| panic!("{context}: {error}"));
            let Some(table) = table(&engine, "registers") else {
                assert_eq!(acknowledged, None, "{context}: the table is gone");
                continue;
            };
            let found = contents(&engine, table);
            let least = acknowledged.unwrap_or(0) as usize;
            assert!(states[least..].contains(&found), "{context}: no prefix of the history: {found:?}");
            goes_on(&engine, table, &after, &context);
        }
    }
}

/// A call after the crash is acknowledged, and there after another one.
fn goes_on(engine: &Bohm, table: TableId, disk: &SimDisk, context: &str) {
    let step = Step { table, kind: Kind::Combine, from: 900, to: 901, by: 77 };
    let tickets = submit(engine, [step]);
    assert!(tickets.into_iter().all(|ticket| is_acknowledged(ticket.wait())), "{context}: it does not go on");
    let before = contents(engine, table);
    let again = reopen(&disk.power_cut_with(Survival::SyncedOnly), small()).expect("a healthy disk");
    assert_eq!(contents(&again, table), before, "{context}: lost in the second crash");
    assert_eq!(before.last(), Some(&(901, 77)), "{context}");
}

/// The same calls under another name or version.
fn refusal_of(disk: &SimDisk, registry: Registry) -> Invalid {
    match Bohm::open(Arc::new(disk.clone()), registry, small()) {
        Err(Error::Invalid(invalid)) => invalid,
        other => panic!("{other:?}"),
    }
}

/// A procedure that is missing, or has another version, is named, before anything is executed or changed.
#[test]
fn calls_of_an_unknown_procedure_or_version_are_refused() {
    let disk = disk(2);
    let written = {
        let engine = reopen(&disk, Options { log: LogOptions::default(), ..small() }).expect("a healthy disk");
        let table = create(&engine).expect("a new table");
        assert!(submit(&engine, steps(table)).into_iter().all(|ticket| is_acknowledged(ticket.wait())));
        // A guess that misses puts its step behind others: how many do depends on the batches.
        contents(&engine, table)
    };
    let missing = UnknownCall::Name { name: "step".into(), version: 3 };
    let refused = refusal_of(&disk, Registry::new());
    assert_eq!(refused, Invalid::LoggedCall(missing));
    assert!(refused.to_string().contains("procedure step, version 3"), "{refused}");

    let mut newer = Registry::new();
    newer.register::<moves::Newer>().expect("a new name");
    let changed = UnknownCall::Version { name: "step".into(), logged: 3, registered: 4 };
    assert_eq!(refusal_of(&disk, newer), Invalid::LoggedCall(changed));

    let engine = reopen(&disk, small()).expect("nothing was changed");
    let found = table(&engine, "registers").expect("it was acknowledged");
    assert_eq!(contents(&engine, found), written);
    // After a checkpoint nothing of the old version is left to be executed.
    engine.write_checkpoint(Pace::Full).expect("a healthy disk");
    engine.close().expect("a healthy disk");
    drop(engine);
    let mut newer = Registry::new();
    newer.register::<moves::Newer>().expect("a new name");
    Bohm::open(Arc::new(disk), newer, small()).expect("a checkpoint has rows only");
}

/// Whoever is not registered could not be executed again.
#[test]
fn an_unregistered_procedure_is_refused() {
    let engine = Bohm::open(Arc::new(disk(3)), Registry::new(), small()).expect("a healthy disk");
    let table = create(&engine).expect("a new table");
    let refused = submit(&engine, [Step::nth(table, 0)]).pop().expect("one").wait().map(drop).unwrap_err();
    assert!(
        matches!(&refused, Error::Invalid(Invalid::Unregistered { procedure }) if procedure == "step"),
        "{refused:?}"
    );
}

/// A step with arguments of any length.
#[derive(Debug)]
struct Long(TableId, u64, usize);

impl Program for Long {
    type Output = ();
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> model::Result<()> {
        put(&mut access, self.0, self.1, 7)
    }
}

impl Procedure for Long {
    const NAME: &'static str = "long";

    fn encode_arguments(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&u64::from(self.0.0).to_le_bytes());
        out.extend_from_slice(&self.1.to_le_bytes());
        out.resize(out.len() + self.2, 0);
    }

    fn decode_arguments(arguments: &[u8]) -> Result<Long, Malformed> {
        let mut from = Decoder::new(arguments);
        let table = TableId(u32::try_from(from.u64()?).map_err(|_| Malformed)?);
        Ok(Long(table, from.u64()?, from.rest().len()))
    }

    /// Half of them have their footprint found when their batch is sealed.
    fn guesses(&self) -> bool {
        self.1.is_multiple_of(2)
    }

    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> model::Result<Footprint> {
        Ok(Footprint::default().touches(self.0, self.1, Touch::Overwrite))
    }
}

/// A call that no record takes is refused by itself: those that are sealed with it commit.
#[test]
fn a_call_that_is_longer_than_a_record_fails_alone() {
    let disk = disk(14);
    let open = |disk: &SimDisk| {
        let mut registry = moves::registry();
        registry.register::<Long>().expect("a new name");
        Bohm::open(Arc::new(disk.clone()), registry, Options { batch: 64, ..small() }).expect("a healthy disk")
    };
    let engine = open(&disk);
    let table = create(&engine).expect("a new table");
    let most = small().log.max_payload();
    let long = |key: u64, bytes: usize| {
        let entry = BatchEntry {
            procedure: Long(table, key, bytes),
            how: Begin::default(),
            retry: Box::new(|_: u32, _: &Error| false),
        };
        engine.submit_batch(vec![entry]).pop().expect("one")
    };
    for (first, bytes) in [(0, most), (10, 1 << 20)] {
        engine.hold();
        let tickets = (0..6).map(|n| long(first + n, if n == 2 || n == 3 { bytes } else { 600 }));
        let tickets: Vec<_> = tickets.collect();
        engine.release();
        for (n, ticket) in tickets.into_iter().enumerate() {
            let outcome = ticket.wait().map(drop);
            match n {
                2 | 3 => {
                    let Err(Error::Limit(refused)) = outcome else { panic!("{bytes} bytes: {outcome:?}") };
                    assert_eq!((refused.kind, refused.limit), (LimitKind::WriteSetBytes, most as u64), "{refused:?}");
                    assert!(refused.actual > bytes as u64, "{refused:?}");
                }
                _ => outcome.unwrap_or_else(|error| panic!("call {n} beside one of {bytes} bytes: {error}")),
            }
        }
    }
    let expected: Vec<(u64, u64)> = [0, 1, 4, 5, 10, 11, 14, 15].map(|key| (key, 7)).to_vec();
    assert_eq!(contents(&engine, table), expected);
    assert_eq!(contents(&open(&disk.power_cut_with(Survival::SyncedOnly)), table), expected);
    assert_eq!(engine.collect(), 0);
}

/// A full disk refuses what it cannot log, changes nothing, and lets go on (design, rule 4).
#[test]
fn a_full_disk_refuses_cleanly_and_lets_go_on() {
    let disk = disk(5);
    let engine = reopen(&disk, small()).expect("a healthy disk");
    let table = create(&engine).expect("a new table");
    let step = |n: u64| Step { table, kind: Kind::Combine, from: n, to: n, by: 1 };
    let run = |n: u64| submit(&engine, [step(n)]).pop().expect("one").wait().map(drop);
    disk.set_capacity(disk.used());
    let mut acknowledged = 0;
    let full = loop {
        match run(acknowledged) {
            Ok(()) => acknowledged += 1,
            Err(error) => break error,
        }
        assert!(acknowledged < 10_000, "the disk never filled up");
    };
    assert!(matches!(full, Error::Fault(Fault::DiskFull { .. })), "{full:?}");
    assert_eq!(contents(&engine, table).len() as u64, acknowledged, "nothing of the refused one is visible");
    disk.set_capacity(u64::MAX);
    run(acknowledged).expect("there is space again");
    let again = reopen(&disk.power_cut_with(Survival::SyncedOnly), small()).expect("a healthy disk");
    assert_eq!(contents(&again, table).len() as u64, acknowledged + 1);
}

/// After a failing sync nobody knows what is durable: no outcome is claimed, nobody sees what may be lost, a restart finds out.
#[test]
fn a_failing_sync_stops_everything_and_shows_nothing() {
    let disk = disk(6);
    let engine = reopen(&disk, small()).expect("a healthy disk");
    let table = create(&engine).expect("a new table");
    let step = |to: u64| Step { table, kind: Kind::Combine, from: 50, to, by: 1 };
    let run = |to: u64| submit(&engine, [step(to)]).pop().expect("one").wait().map(drop);
    run(1).expect("a healthy disk");
    let before = contents(&engine, table);
    disk.inject(DiskFault { operation: Operation::Sync, after: 0, kind: std::io::ErrorKind::Other });
    let unknown = run(2).unwrap_err();
    assert_eq!(unknown.sqlstate(), "08007", "{unknown}");
    let refused = run(3).unwrap_err();
    assert!(matches!(refused, Error::Fault(Fault::LogFailed { .. })), "{refused:?}");
    assert_eq!(contents(&engine, table), before, "a snapshot shows what may be lost");
    assert!(engine.write_checkpoint(Pace::Full).is_err() && create(&engine).is_err());
    drop(engine);
    let again = reopen(&disk.power_cut_with(Survival::SyncedOnly), small()).expect("a healthy disk");
    assert_eq!(contents(&again, table), before);
}

/// A flipped bit below a position that was once known to be durable is refused, with segment and offset.
#[test]
fn damage_below_what_was_durable_is_refused() {
    let disk = disk(9);
    {
        let engine = reopen(&disk, Options { log: LogOptions::default(), ..small() }).expect("a healthy disk");
        let table = create(&engine).expect("a new table");
        assert!(submit(&engine, steps(table)).into_iter().all(|ticket| is_acknowledged(ticket.wait())));
        engine.close().expect("a healthy disk");
    }
    let segment = disk.paths().into_iter().find(|path| path.ends_with("1.log")).expect("the first segment");
    let length = disk.contents(&segment).expect("a file").iter().rposition(|&byte| byte != 0).expect("records") as u64;
    let mut refused = 0;
    for offset in (0..length).step_by(41) {
        let damaged = disk.copy();
        damaged.flip_bit(&segment, offset, 3);
        match reopen(&damaged, small()) {
            Err(error @ Error::Fault(Fault::Corruption { .. })) => {
                refused += 1;
                assert!(error.to_string().contains(&*segment), "{error}");
            }
            Err(error) => panic!("offset {offset}: {error}"),
            // A bit that says nothing (padding), since a clean stop vouches for every record.
            Ok(engine) => assert_eq!(Some(contents(&engine, TableId(0))), expected(steps(TableId(0))).pop()),
        }
    }
    assert!(refused > 10, "{refused}");
}

/// An answer that waits for nothing comes at once, and a snapshot of such an engine sees it; after a crash it may be gone.
#[test]
fn an_answer_waits_for_what_was_asked() {
    let options = Options { durability: Durability::Async, ..small() };
    let disk = disk(11);
    let engine = reopen(&disk, options).expect("a healthy disk");
    let table = create(&engine).expect("a new table");
    let survives = |to: u64| {
        let again = reopen(&disk.power_cut_with(Survival::SyncedOnly), small()).expect("a healthy disk");
        moves::table(&again, "registers").is_some_and(|table| contents(&again, table).iter().any(|(key, _)| *key == to))
    };
    let step = |to: u64| Step { table, kind: Kind::Combine, from: 50, to, by: 1 };
    assert!(is_acknowledged(submit(&engine, [step(1)]).pop().expect("one").wait()));
    assert_eq!(contents(&engine, table).len(), 1, "visible before it is durable");
    assert!(!survives(1), "nobody has synced it");
    let how = model::Begin { durability: Some(Durability::Fsync), ..model::Begin::default() };
    let ticket = model::Declared::submit(&*engine, step(2), how, Box::new(|_: u32, _: &Error| false));
    assert!(is_acknowledged(ticket.wait()));
    assert!(survives(1) && survives(2), "an answer that waits rests on all before it");
}

/// Positions rise over crashes, also those of readers, which are not logged (B1).
#[test]
fn positions_rise_over_crashes() {
    let mut disk = disk(12);
    let mut last = None;
    for _ in 0..4 {
        let engine = reopen(&disk, small()).expect("a healthy disk");
        let table = table(&engine, "registers").unwrap_or_else(|| create(&engine).expect("a new table"));
        for _ in 0..3 {
            engine.settle();
            let next = place(&engine, table);
            assert!(last < Some(next), "{next:?} after {last:?}");
            last = Some(next);
        }
        disk = disk.power_cut_with(Survival::SyncedOnly);
    }
}

/// Leaves what an engine leaves whose timestamps are readings of a clock: a row, and a checkpoint of it behind its record.
fn left_by_a_clock(disk: &SimDisk, now: u64) {
    let (log, _) = Log::open(Arc::new(disk.clone()), small().log).expect("an empty disk");
    log.raise_ceiling(now + (1 << 37)).expect("a healthy disk");
    let (table, schema) = (TableId(0), registers("registers", Storage::Ordered));
    let (key, row) = (Key::from_u64(5), 55_u64.to_be_bytes());
    let mut records: [Vec<u8>; 5] = Default::default();
    redo::encode_create(&mut records[0], table, &schema);
    log.append(0, &records[0], Durability::Fsync).expect("a healthy disk");
    redo::begin_writes(&mut records[1]);
    redo::add_write(&mut records[1], &redo::Write { table, key: &key, row: Some(&row) }, usize::MAX);
    let end = log.append(now, &records[1], Durability::Fsync).expect("a healthy disk");
    redo::encode_checkpoint_start(&mut records[2], TableId(1));
    redo::encode_create(&mut records[3], table, &schema);
    redo::encode_checkpoint_row(&mut records[4], table, now, &key, &row);
    let mut checkpoint = log.begin_checkpoint().expect("a healthy disk");
    records[2..].iter().for_each(|record| checkpoint.write(record).expect("a healthy disk"));
    checkpoint.finish(now + 1, end).expect("a healthy disk");
    log.close().expect("a healthy disk");
}

/// Such timestamps are beyond any number of a batch. The database has its rows, goes on, and is found again, from its log and from its own
/// checkpoint; and what it leaves is above all that was there.
#[test]
fn a_directory_with_timestamps_of_a_clock_goes_on() {
    for now in [1 << 45, (1 << 46) - 1, 1 << 46, 3 << 50, 1 << 60] {
        let mut disk = disk(15);
        left_by_a_clock(&disk, now);
        let mut expected = vec![(5, 55)];
        let mut last = None;
        for round in 0..4 {
            let engine = reopen(&disk, small()).expect("a checkpoint, which every engine reads");
            let table = table(&engine, "registers").expect("it is in the checkpoint");
            assert_eq!(contents(&engine, table), expected, "{now}, round {round}");
            let step = |to: u64| Step { table, kind: Kind::Combine, from: 900, to, by: 7 };
            let steps = (0..9).map(|n| 10 + round * 9 + n);
            assert!(submit(&engine, steps.clone().map(step)).into_iter().all(|ticket| is_acknowledged(ticket.wait())));
            expected.extend(steps.map(|to| (to, 7)));
            let next = place(&engine, table);
            assert!(last < Some(next), "{next:?} after {last:?}");
            last = Some(next);
            if round % 2 == 1 {
                engine.write_checkpoint(Pace::Full).expect("a healthy disk");
            }
            if round == 2 {
                engine.close().expect("a healthy disk");
            }
            disk = disk.power_cut_with(Survival::SyncedOnly);
        }
        let (log, _) = Log::open(Arc::new(disk.clone()), small().log).expect("a healthy disk");
        assert!(log.ceiling() > now);
    }
}

/// No engine has drawn such timestamps: refused by name, and not opened with positions that overflow.
#[test]
fn timestamps_beyond_those_of_any_engine_are_refused() {
    let disk = disk(16);
    left_by_a_clock(&disk, u64::MAX - (1 << 40));
    let Err(refused @ Error::Fault(Fault::Corruption { .. })) = reopen(&disk, small()) else { panic!("it was opened") };
    assert!(refused.to_string().contains("no room above: dump the database"), "{refused}");
}
