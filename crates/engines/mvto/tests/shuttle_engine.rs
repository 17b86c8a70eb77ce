//! The whole engine under random schedules: what committed replays on the twin in the order of the serial points, nobody waits
//! for ever, and nothing is left uncollected.
//!
//! `cargo test -p seriatim-mvto --features shuttle --test shuttle_engine --profile models`
//!
//! A failure prints the seed of its schedule, and a message that names the programs. To see it again, run that test alone with
//! `SHUTTLE_RANDOM_SEED` set to it.
#![cfg(feature = "shuttle")]

mod support;

use conformance::indexed::Indexed;
use env::{Randomness, SimClock};
use model::twin::Twin;
use model::{
    Access, Begin, Columns, Declared, Error, Finish, Footprint, Interactive, Key, Malformed, Mode, Procedure, Program,
    Result, RowBuf, SerialPoint, Storage, TableId, Touch,
};
use parts::epoch;
use seriatim_mvto::{Mvto, Options, OwnFirst};
use shuttle::thread;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use support::statements::{Content, Edge, Shape, Statement, answer};
use support::{Engine, all, begin, begin_as, delete, get, insert, integer, put, registers, rule, single_read};

/// So few that every transaction meets another.
const KEYS: u64 = 3;
const SITES: usize = 2;

/// Nobody gives up waiting (time does not pass under the checker, so a lost wake-up is a deadlock), and a few versions of a
/// row are too many.
fn options() -> Options {
    Options { wait_limit: Duration::MAX, sites: SITES, versions: 4, own_first: OwnFirst::Always, ..Options::default() }
}

/// An engine whose next transaction is at site 0, in every run: sites are taken in turn, and the turn outlives the engine.
fn fresh_engine() -> Engine {
    let engine = Arc::new(Mvto::in_memory_with(options(), SimClock::new(0, 1)).expect("nothing can fail in memory"));
    while begin(&engine).timestamp().expect("drawn").0 % SITES as u64 != SITES as u64 - 1 {}
    engine
}

/// Frees what has been retired, so that it is not freed in the middle of a later run, which then could not be repeated.
fn free_retired() {
    (0..16).for_each(|_| epoch::pin().flush());
}

/// Held while a model runs: sites are given and memory is freed in turns that all engines of the process share.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    shuttle::check_random_with_seed(free_retired, 0, 1); // What a test that failed has left.
    alone
}

/// Runs `model` under `runs` random schedules, and as many that change threads at few, random moments.
fn check(seed: u64, runs: usize, model: impl Fn() + Send + Sync + Clone + 'static) {
    let _alone = alone();
    let model = move || {
        model();
        free_retired();
    };
    shuttle::check_random_with_seed(model.clone(), seed, runs);
    let scheduler = shuttle::scheduler::PctScheduler::new_from_seed(seed, 3, runs);
    shuttle::Runner::new(scheduler, shuttle::Config::default()).run(model);
}

// ---------------------------------------------------------------------------------------------------------------
// Random programs.

fn content(random: &mut Randomness) -> Content {
    let name = ["a", "b", ""][random.in_range(0..3) as usize];
    let name = Some(name.to_owned()).filter(|name| !name.is_empty());
    Content { name, amount: random.in_range(0..2) as i64, price: None }
}

fn edge(random: &mut Randomness) -> Edge {
    let key = random.in_range(0..KEYS) as u8;
    [Edge::Open, Edge::Open, Edge::Included(key), Edge::Excluded(key)][random.in_range(0..4) as usize].clone()
}

fn statement(random: &mut Randomness) -> Statement {
    let key = random.in_range(0..KEYS) as u8;
    match random.in_range(0..12) {
        0..=1 => Statement::Read { key, columns: 3 },
        2 => Statement::ReadForUpdate(key),
        3..=4 => Statement::Put(key, content(random)),
        5 => Statement::Insert(key, content(random)),
        6 => Statement::Update(key, 2, content(random)),
        7..=9 => Statement::Delete(key),
        _ => Statement::Scan {
            index: [None, Some(0), Some(1)][random.in_range(0..3) as usize],
            bounds: (edge(random), edge(random)),
            backward: random.chance(1, 2),
            filter: 0,
            columns: 3,
            stop: [usize::MAX, 1][random.in_range(0..2) as usize],
        },
    }
}

/// A transaction to be.
#[derive(Clone, Debug)]
struct Plan {
    mode: Mode,
    statements: Vec<Statement>,
}

fn plan(random: &mut Randomness) -> Plan {
    let length = random.in_range(1..5);
    let statements: Vec<_> = (0..length).map(|_| statement(random)).collect();
    let modes = match statements.iter().all(Statement::only_reads) {
        true => [Mode::ReadOnly, Mode::Snapshot, Mode::ReadWrite],
        false => [Mode::ReadWrite, Mode::OwnAtStatement, Mode::OwnAtStatement],
    };
    Plan { mode: modes[random.in_range(0..3) as usize], statements }
}

/// Plans of each thread.
fn plans(seed: u64) -> Vec<Vec<Plan>> {
    let mut random = Randomness::from_seed(seed);
    (0..3).map(|_| (0..2).map(|_| plan(&mut random)).collect()).collect()
}

/// A committed transaction, and what it was answered.
type Story = (SerialPoint, Vec<(Statement, String)>);

fn live(engine: &Engine, table: &Indexed, shape: Shape, plans: &[Plan]) -> Vec<Story> {
    let mut stories = Vec::new();
    for plan in plans {
        let mut transaction = engine.begin(Begin { mode: plan.mode, ..Begin::default() }).expect("it only notes down");
        transaction.set_reads_wait(plan.statements.len() % 2 == 0);
        let tell = |it: &Statement| (it.clone(), answer(&mut transaction, table, shape, it));
        let answers = plan.statements.iter().map(tell).collect();
        match transaction.commit() {
            Ok(committed) => stories.push((committed.claimed(), answers)),
            Err(error) => assert!(
                !matches!(plan.mode, Mode::ReadOnly | Mode::Snapshot),
                "read-only transactions always commit: {error}"
            ),
        }
        engine.collect();
    }
    stories
}

fn run_and_replay(plans: &[Vec<Plan>], shape: Shape) {
    let engine = fresh_engine();
    let table = shape.create(Storage::Ordered, |schema| engine.create_table(schema).expect("a new table"));
    let mut twin = Twin::new();
    shape.create(Storage::Ordered, |schema| twin.create_table(schema));
    let spawn = |plans: &Vec<Plan>| {
        let (engine, table, plans) = (engine.clone(), table.clone(), plans.clone());
        thread::spawn(move || live(&engine, &table, shape, &plans))
    };
    let threads: Vec<_> = plans.iter().map(spawn).collect();
    let mut stories: Vec<Story> = threads.into_iter().flat_map(|it| it.join().expect("no panic")).collect();
    stories.sort_by_key(|(point, _)| *point);
    for (point, answers) in &stories {
        for (statement, answered) in answers {
            assert_eq!(*answered, answer(&mut twin, &table, shape, statement), "{statement:?} at {point} of {plans:?}");
        }
        twin.commit();
    }
    assert_ends_as(&engine, &mut twin, &table, shape);
}

/// The committed rows and entries are the twin's, and nothing waits to be collected.
fn assert_ends_as(engine: &Engine, twin: &mut Twin, table: &Indexed, shape: Shape) {
    let mut last = begin_as(engine, Mode::Snapshot);
    for index in [None, Some(0), Some(1)].into_iter().take(if shape == Shape::Accounts { 3 } else { 1 }) {
        let bounds = (Edge::Open, Edge::Open);
        let scan = Statement::Scan { index, bounds, backward: false, filter: 0, columns: 3, stop: usize::MAX };
        assert_eq!(answer(&mut last, table, shape, &scan), answer(twin, table, shape, &scan));
    }
    drop(last);
    engine.collect();
    let stats = engine.stats();
    assert_eq!((stats.active, stats.waiting_versions), (0, 0), "nothing is left open or uncollected");
}

fn replay_worlds(shape: Shape, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let plans = Arc::new(plans(seed));
        check(seed, 20, move || run_and_replay(&plans, shape));
    }
}

#[test]
fn random_programs_on_registers_replay() {
    replay_worlds(Shape::Registers, 0..40);
}

#[test]
fn random_programs_on_rows_with_indexes_replay() {
    replay_worlds(Shape::Accounts, 100..160);
}

// ---------------------------------------------------------------------------------------------------------------
// Moments that random programs seldom meet.

/// An engine with a register that was deleted and not collected yet.
fn with_a_dead_register() -> (Engine, TableId) {
    let engine = fresh_engine();
    let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
    for step in [insert_committed, delete_committed] {
        step(&engine, table);
    }
    (engine, table)
}

fn insert_committed(engine: &Engine, table: TableId) {
    let mut transaction = begin(engine);
    insert(&mut transaction, table, 1, 10).expect("alone");
    transaction.commit().expect("alone");
}

fn delete_committed(engine: &Engine, table: TableId) {
    let mut transaction = begin(engine);
    delete(&mut transaction, table, 1).expect("alone");
    transaction.commit().expect("alone");
}

/// M3 for a single read, between the begin of an older transaction and its end: T10 precedes what has ended by the row that it has
/// read, and that precedes the read by real time. So T10's write is forbidden where it was not seen.
#[test]
fn a_single_read_sees_an_older_write_or_forbids_it() {
    check(6, 3_000, || {
        let engine = fresh_engine();
        let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
        let mut load = begin(&engine);
        (1..=2).for_each(|key| put(&mut load, table, key, 10).expect("alone"));
        load.commit().expect("alone");
        let mut older = begin(&engine);
        assert_eq!(get(&mut older, table, 2).expect("alone"), Some(10));
        let mut younger = begin(&engine);
        put(&mut younger, table, 2, 20).expect("alone");
        younger.commit().expect("nobody later has read it");
        begin(&engine).abort(); // Sites are taken in turn: the read's is not the one whose lane T10 is in.
        let reader = {
            let engine = engine.clone();
            thread::spawn(move || single_read(&engine, table, 1))
        };
        put(&mut older, table, 1, 11).expect("buffered");
        let committed = older.commit().is_ok();
        let read = reader.join().expect("no panic");
        assert!(!committed || read == Some(11), "T10 has committed below a read that has not seen it");
    });
}

/// M3, on the engine: of an older writer and a reader at least one sees the other.
#[test]
fn a_reader_sees_an_older_write_or_forbids_it() {
    check(4, 1_000, || {
        let engine = fresh_engine();
        let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
        insert_committed(&engine, table);
        let (mut writer, mut reader) = (begin(&engine), begin(&engine));
        put(&mut writer, table, 1, 20).expect("buffered");
        let writer = thread::spawn(move || writer.commit().is_ok());
        let read = get(&mut reader, table, 1).expect("nobody gives up waiting");
        let written = writer.join().expect("no panic");
        assert_eq!(read, Some(if written { 20 } else { 10 }));
    });
}

/// M3 and M10, on the engine: a reader above an owner that executes pushes it above itself, or sees what it has written.
#[test]
fn a_reader_pushes_an_executing_owner_or_sees_its_write() {
    check(5, 1_000, || {
        let engine = fresh_engine();
        let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
        insert_committed(&engine, table);
        let mut writer = begin_as(&engine, Mode::OwnAtStatement);
        put(&mut writer, table, 1, 20).expect("nobody in the way");
        let mut reader = begin(&engine);
        let at = support::at(&reader);
        let writer = thread::spawn(move || writer.commit().expect("it has read nothing").claimed().0);
        let read = get(&mut reader, table, 1).expect("nobody gives up waiting");
        let written = writer.join().expect("no panic");
        assert_eq!(read, Some(if written < at { 20 } else { 10 }), "at {at}, written at {written}");
    });
}

/// Adds one to two registers.
struct AddToBoth(TableId);

impl Program for AddToBoth {
    type Output = [Option<u64>; 2];
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> Result<[Option<u64>; 2]> {
        let before = [get(&mut access, self.0, 1)?, get(&mut access, self.0, 2)?];
        for (key, before) in (1..).zip(before) {
            put(&mut access, self.0, key, before.expect("a row") + 1)?;
        }
        Ok(before)
    }
}

impl Procedure for AddToBoth {
    const NAME: &'static str = "add to both";
    fn encode_arguments(&self, _: &mut Vec<u8>) {}
    fn decode_arguments(_: &[u8]) -> std::result::Result<AddToBoth, Malformed> {
        Err(Malformed)
    }
    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        let keys = [1, 2].map(Key::from_u64);
        Ok(keys.into_iter().fold(Footprint::default(), |it, key| it.touches(self.0, key, Touch::Update)))
    }
}

/// M3, M4 and M7, on the engine: procedures that own their rows before they have a timestamp meet each other, a transaction that writes the
/// rows the other way round, and a reader. All come to an end, and what each has found is the work of those before its place.
#[test]
fn what_owns_before_it_draws_is_seen_in_its_place() {
    check(7, 1_500, || {
        let engine = fresh_engine();
        let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
        let mut load = begin(&engine);
        (1..=2).for_each(|key| put(&mut load, table, key, 0).expect("alone"));
        load.commit().expect("alone");
        let procedures = [(); 2].map(|()| {
            let engine = engine.clone();
            thread::spawn(move || {
                let done = engine.call(AddToBoth(table), Begin::default(), |_: u32, _: &Error| true);
                done.map(|(found, committed)| (committed.claimed().0, found)).expect("it is tried again")
            })
        });
        let writer = {
            let engine = engine.clone();
            thread::spawn(move || {
                let mut transaction = begin(&engine);
                let mut found = [None; 2];
                for key in [2, 1] {
                    found[key as usize - 1] = get(&mut transaction, table, key).expect("nobody gives up waiting");
                    put(&mut transaction, table, key, found[key as usize - 1].expect("a row") + 1).expect("buffered");
                }
                transaction.commit().ok().map(|committed| (committed.claimed().0, found))
            })
        };
        let mut reader = begin_as(&engine, Mode::ReadOnly);
        let at = support::at(&reader);
        let read = [2, 1].map(|key| get(&mut reader, table, key).expect("nobody gives up waiting"));
        drop(reader);
        let mut written: Vec<_> = procedures.into_iter().map(|it| it.join().expect("no panic")).collect();
        written.extend(writer.join().expect("no panic"));
        written.sort_unstable();
        for (number, (place, found)) in (0..).zip(&written) {
            assert_eq!(found, &[Some(number); 2], "at {place}: {written:?}");
        }
        let before = written.iter().filter(|(place, _)| *place < at).count() as u64;
        assert_eq!(read, [Some(before); 2], "at {at}: {written:?}");
    });
}

/// A collector takes hold of a dead row's tuple for a moment even if somebody has just filled it again.
#[test]
fn a_scan_misses_no_row_that_a_collector_looks_at() {
    check(1, 4_000, || {
        let (engine, table) = with_a_dead_register();
        let collector = thread::spawn({
            let engine = engine.clone();
            move || engine.collect()
        });
        let writer = thread::spawn({
            let engine = engine.clone();
            move || {
                let mut transaction = begin(&engine);
                let done = put(&mut transaction, table, 1, 20).and_then(|()| transaction.commit());
                done.ok().map(|committed| committed.claimed().0)
            }
        });
        let mut scanner = begin_as(&engine, Mode::ReadOnly);
        let (at, seen) = (support::at(&scanner), all(&mut scanner, table).expect("it never aborts"));
        drop(scanner);
        let written = writer.join().expect("no panic");
        collector.join().expect("no panic");
        let expected: &[(u64, u64)] = if written.is_some_and(|written| written < at) { &[(1, 20)] } else { &[] };
        assert_eq!(seen, expected, "at {at}, written at {written:?}");
    });
}

/// Whoever gives up a dead row last sees to its removal: after that, its gap is that of the leaf.
#[test]
fn two_collectors_leave_no_dead_row_behind() {
    check(2, 20_000, || {
        let (engine, table) = with_a_dead_register();
        insert_committed(&engine, table);
        delete_committed(&engine, table);
        let collectors = [(); 2].map(|()| {
            let engine = engine.clone();
            thread::spawn(move || engine.collect())
        });
        for collector in collectors {
            collector.join().expect("no panic");
        }
        engine.collect();
        let (mut writer, mut reader) = (begin(&engine), begin(&engine));
        assert_eq!(get(&mut reader, table, 1).expect("nobody in the way"), None);
        put(&mut writer, table, 2, 0).expect("buffered");
        assert_eq!(rule(writer.commit()), "later-gap-reader", "the absent key still has a tuple");
    });
}

/// S4 and M5: versions are spliced out under the feet of readers that walk over them, and each reads its own.
#[test]
fn old_readers_walk_over_what_is_spliced_out() {
    check(5, 1_000, || {
        let engine = fresh_engine();
        let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
        insert_committed(&engine, table);
        let write = move |engine: &Engine, value| {
            let mut transaction = begin(engine);
            put(&mut transaction, table, 1, value).expect("buffered");
            transaction.commit().expect("nobody is younger");
        };
        let mut oldest = begin_as(&engine, Mode::ReadOnly);
        write(&engine, 11);
        let mut younger = begin_as(&engine, Mode::ReadOnly);
        let writer = thread::spawn({
            let engine = engine.clone();
            move || (12..20).for_each(|value| write(&engine, value))
        });
        let collector = thread::spawn({
            let engine = engine.clone();
            move || engine.collect()
        });
        for _ in 0..2 {
            assert_eq!(get(&mut oldest, table, 1).expect("nobody in the way"), Some(10));
            assert_eq!(get(&mut younger, table, 1).expect("nobody in the way"), Some(11));
        }
        writer.join().expect("no panic");
        collector.join().expect("no panic");
        engine.collect();
        let stats = engine.stats();
        assert_eq!(stats.replaced_versions - stats.collected_versions, 2, "one for each reader");
    });
}

/// Transactions that own at the statement queue on hot rows in both orders, and none waits for ever.
#[test]
fn a_queue_on_hot_rows_moves_on() {
    check(3, 1_000, || {
        let engine = fresh_engine();
        let table = engine.create_table(registers("registers", Storage::Ordered)).expect("a new table");
        let spawn = |keys: [u64; 2]| {
            let engine = engine.clone();
            thread::spawn(move || {
                let mut transaction = begin_as(&engine, Mode::OwnAtStatement);
                let done = keys.iter().try_for_each(|&key| {
                    let mut row = RowBuf::new();
                    let found = transaction.read_for_update(table, &Key::from_u64(key), Columns::All, &mut row)?;
                    let count = if found { integer(row.row().bytes()) } else { 0 };
                    put(&mut transaction, table, key, count + 1)
                });
                done.and_then(|()| transaction.commit()).is_ok()
            })
        };
        let threads = [[0, 1], [1, 0], [0, 1]].map(spawn);
        let committed = threads.into_iter().filter_map(|it| it.join().expect("no panic").then_some(())).count() as u64;
        let mut reader = begin(&engine);
        let count = get(&mut reader, table, 0).expect("alone");
        assert_eq!((count, get(&mut reader, table, 1).expect("alone")), (Some(committed), Some(committed)));
    });
}
