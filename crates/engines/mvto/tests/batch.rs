//! Batches: their timestamps, what they keep, their conflicts, limits and errors, and where their procedures run one by one.
#![cfg(not(feature = "shuttle"))]

mod support;

use env::{SimClock, SimDisk, SimDiskOptions};
use model::{
    Access, BatchEntry, Begin, Declared, Durability, Error, Finish, Footprint, Interactive, Key, Limit, LimitKind,
    Malformed, Mode, Procedure, Program, Result, Storage, TableId,
};
use seriatim_mvto::{Mvto, Options};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use support::{
    Engine, begin, begin_as, engine_and_clock, get, impatient, put, reading, registers, set, single_read,
    with_registers,
};

/// Does something else, then reads a register, and then writes to it if there is something to write.
struct Step {
    before: Option<Box<dyn FnMut(u32) + Send>>,
    table: TableId,
    key: u64,
    value: Option<u64>,
    end: End,
    /// Attempts so far.
    attempts: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Commit,
    Refuse,
    Panic,
}

#[derive(Debug)]
enum Refused {
    ByItself,
    ByTheEngine(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::ByTheEngine(error)
    }
}

fn read(table: TableId, key: u64) -> Step {
    Step { before: None, table, key, value: None, end: End::Commit, attempts: 0 }
}

fn write(table: TableId, key: u64, value: u64) -> Step {
    Step { value: Some(value), ..read(table, key) }
}

impl Step {
    /// Runs `before` in the body, which gives it the number of the attempt.
    fn after(self, before: impl FnMut(u32) + Send + 'static) -> Step {
        Step { before: Some(Box::new(before)), ..self }
    }

    fn ending(self, end: End) -> Step {
        Step { end, ..self }
    }
}

impl Program for Step {
    type Output = Option<u64>;
    type Error = Refused;

    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> std::result::Result<Option<u64>, Refused> {
        self.attempts += 1;
        if let Some(before) = &mut self.before {
            before(self.attempts);
        }
        let found = get(&mut access, self.table, self.key)?;
        if let Some(value) = self.value {
            put(&mut access, self.table, self.key, value)?;
        }
        match self.end {
            End::Commit => Ok(found),
            End::Refuse => Err(Refused::ByItself),
            End::Panic => panic!("a mistake in a body"),
        }
    }
}

impl Procedure for Step {
    const NAME: &'static str = "step";
    fn encode_arguments(&self, _: &mut Vec<u8>) {}
    fn decode_arguments(_: &[u8]) -> std::result::Result<Step, Malformed> {
        Err(Malformed)
    }
    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        let footprint = Footprint::default().reads(self.table, Key::from_u64(self.key));
        Ok(if self.value.is_some() { footprint.writes(self.table, Key::from_u64(self.key)) } else { footprint })
    }
}

fn entry(procedure: Step) -> BatchEntry<Step> {
    BatchEntry { procedure, how: Begin::default(), retry: Box::new(|failed: u32, _: &Error| failed < 10) }
}

/// What each has read and its place, or why it has none.
fn submit(engine: &Engine, steps: Vec<Step>) -> Vec<std::result::Result<(Option<u64>, u64), Refused>> {
    let tickets = engine.submit_batch(steps.into_iter().map(entry).collect());
    let done = tickets.into_iter().map(|ticket| ticket.wait());
    done.map(|done| done.map(|(found, committed)| (found, committed.claimed().0))).collect()
}

fn all_commit(done: Vec<std::result::Result<(Option<u64>, u64), Refused>>) -> Vec<(Option<u64>, u64)> {
    done.into_iter().map(|done| done.expect("it commits")).collect()
}

/// M1, M2: between the submission and the return, one after the other in the order of the batch.
#[test]
fn each_has_a_timestamp_of_its_own_inside_the_call() {
    let (engine, clock) = engine_and_clock(Options { sites: 8, ..impatient() });
    let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    for _ in 0..32 {
        clock.advance(1_000); // Whatever was drawn before lies behind.
        let called = reading(&clock);
        let places: Vec<u64> = all_commit(submit(&engine, (0..5).map(|n| write(table, n, n)).collect()))
            .into_iter()
            .map(|(_, place)| place)
            .collect();
        assert!(called < places[0], "{places:?}: the first was over at the call, at {called}");
        assert!(places.windows(2).all(|two| two[0] + 8 == two[1]), "{places:?}");
        assert!(places[4] < reading(&clock), "{places:?}: the last was still to come at the return");
    }
    assert_eq!(engine.stats().commits, 1 + 32 * 5, "the table, and the procedures");
}

/// The clock is read until it has passed the last timestamp, and not for each.
#[test]
fn the_clock_is_read_once_for_all() {
    let clock = SimClock::new(0, 1_000_000);
    let engine = Arc::new(Mvto::in_memory_with(impatient(), clock.clone()).expect("nothing can fail in memory"));
    let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    for size in [2, 20, 30] {
        let before = clock.reads();
        all_commit(submit(&engine, (0..size).map(|n| write(table, n, n)).collect()));
        assert_eq!(clock.reads() - before, 2, "one draws, one sees that it has passed");
    }
}

/// One reads what those before it have written.
#[test]
fn they_run_in_their_order() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 0)]);
    let done = all_commit(submit(&engine, (1..=20).map(|value| write(table, 1, value)).collect()));
    assert!(done.iter().map(|(found, _)| *found).eq((0..20).map(Some)));
    assert_eq!(single_read(&engine, table, 1), Some(20));
}

/// M5: what one of them has written is kept for those after it, whoever replaces it and collects meanwhile.
#[test]
fn what_a_later_one_reads_is_kept_until_the_last_has_ended() {
    let (engine, clock, table) = with_registers(impatient(), &[(1, 10), (2, 0)]);
    let replaced = {
        let engine = engine.clone();
        move |_| {
            clock.advance(1_000_000);
            (30..50).for_each(|value| _ = set(&engine, table, 1, value));
            engine.collect();
        }
    };
    let steps = vec![write(table, 1, 20), read(table, 1).after(replaced.clone()), read(table, 1).after(replaced)];
    let done = all_commit(submit(&engine, steps));
    assert_eq!(done.into_iter().map(|(found, _)| found).collect::<Vec<_>>(), [Some(10), Some(20), Some(20)]);
    engine.collect();
    assert_eq!((engine.stats().waiting_versions, single_read(&engine, table, 1)), (0, Some(49)));
}

/// A conflict of one is its own: it runs again by itself, and the others stand.
#[test]
fn one_that_meets_a_conflict_runs_again_by_itself() {
    let (engine, clock, table) = with_registers(impatient(), &[(1, 0), (2, 0), (3, 0)]);
    let later_reader = {
        let engine = engine.clone();
        move |attempt| {
            clock.advance(1_000_000);
            if attempt == 1 {
                let mut reader = begin(&engine);
                assert_eq!(get(&mut reader, table, 2).expect("nobody in the way"), Some(0));
                reader.commit().expect("a reader");
            }
        }
    };
    let steps = vec![write(table, 1, 1), write(table, 2, 2).after(later_reader), write(table, 3, 3)];
    let places: Vec<u64> = all_commit(submit(&engine, steps)).into_iter().map(|(_, place)| place).collect();
    assert!(places[0] < places[2] && places[2] < places[1], "{places:?}");
    assert_eq!(engine.stats().aborts, [("later-reader", 1)]);
    for key in 1..=3 {
        assert_eq!(single_read(&engine, table, key), Some(key));
    }
}

/// More than the limit are none at all.
#[test]
fn a_batch_has_a_limit() {
    let (engine, clock) = engine_and_clock(Options { batch: 3, ..impatient() });
    let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    for refused in submit(&engine, (0..4).map(|n| write(table, n, n)).collect()) {
        let Err(Refused::ByTheEngine(Error::Limit(limit))) = refused else { panic!("not {refused:?}") };
        assert_eq!(limit, Limit { kind: LimitKind::Batch, limit: 3, actual: 4 });
    }
    assert_eq!(single_read(&engine, table, 0), None);
    clock.advance(2_000); // Past the stamp of the single read.
    all_commit(submit(&engine, (0..3).map(|n| write(table, n, n)).collect()));
    assert!(submit(&engine, Vec::new()).is_empty());
}

/// Where the lane is taken they run one by one, each at a timestamp that it draws; so do those of other modes.
#[test]
fn what_cannot_begin_together_begins_by_itself() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 0), (2, 0)]);
    let in_lane = begin(&engine);
    all_commit(submit(&engine, vec![write(table, 1, 1), write(table, 1, 2), write(table, 1, 3)]));
    in_lane.abort();
    let modes = [Mode::ReadWrite, Mode::OwnAtStatement, Mode::ReadWrite, Mode::ReadOnly, Mode::Snapshot];
    let entries = modes.map(|mode| {
        let writes = matches!(mode, Mode::ReadWrite | Mode::OwnAtStatement);
        let step = if writes { write(table, 2, 5) } else { read(table, 1) };
        BatchEntry { how: Begin { mode, ..Begin::default() }, ..entry(step) }
    });
    for ticket in engine.submit_batch(Vec::from(entries)) {
        ticket.wait().expect("it commits");
    }
    assert_eq!((engine.stats().active, single_read(&engine, table, 1)), (0, Some(3)));
}

/// A snapshot that begins meanwhile waits for all of the batch: any of it may still write below.
#[test]
fn a_snapshot_waits_for_the_whole_batch() {
    let (engine, clock, table) = with_registers(impatient(), &[(1, 0)]);
    let snapshot = {
        let engine = engine.clone();
        move |_| {
            clock.advance(1_000_000);
            let mut snapshot = engine.begin(Begin { mode: Mode::Snapshot, ..Begin::default() }).expect("not yet");
            let refused = get(&mut snapshot, table, 1).expect_err("a batch that may write is older");
            assert_eq!(refused.abort().map(|abort| abort.rule), Some("own-writer"));
        }
    };
    all_commit(submit(&engine, vec![read(table, 1).after(snapshot), write(table, 1, 1)]));
    assert_eq!(get(&mut begin_as(&engine, Mode::Snapshot), table, 1).expect("nobody is older"), Some(1));
}

/// A body that panics takes the batch with it, and leaves the lane.
#[test]
fn a_panic_leaves_nothing_behind() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 0), (2, 0)]);
    let steps = vec![write(table, 1, 1), write(table, 2, 2).ending(End::Panic), write(table, 2, 3)];
    catch_unwind(AssertUnwindSafe(|| submit(&engine, steps))).expect_err("the body panics");
    assert_eq!(engine.stats().active, 0);
    assert_eq!((single_read(&engine, table, 1), single_read(&engine, table, 2)), (Some(1), Some(0)));
}

/// M9: what refuses discloses what it has read. Its ticket waits for the log, and all of a batch wait once.
#[test]
fn errors_of_a_batch_wait_for_the_log_once() {
    let disk = SimDisk::new(1, SimDiskOptions::default());
    let log = wal::LogOptions { driver: wal::Driver::Caller, ..wal::LogOptions::default() };
    let options = Options { durability: Durability::Fsync, log, ..impatient() };
    let clock = SimClock::new(0, 1);
    let engine = Arc::new(Mvto::open_with(Arc::new(disk.clone()), options, clock).expect("an empty disk"));
    let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    for round in 0..3 {
        let how = Begin { durability: Some(Durability::Async), ..Begin::default() };
        let mut other = engine.begin(how).expect("it only notes down");
        (0..4).for_each(|key| put(&mut other, table, key, round).expect("nobody in the way"));
        other.commit().expect("nobody in the way");
        let syncs = || engine.stats().log.expect("it has one").syncs;
        let before = syncs();
        let done = submit(&engine, (0..4).map(|key| read(table, key).ending(End::Refuse)).collect());
        assert!(done.iter().all(|done| matches!(done, Err(Refused::ByItself))));
        assert_eq!(syncs() - before, 1, "round {round}");
    }
}
