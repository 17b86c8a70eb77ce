//! The engine against the naive twin: on random programs both answer the same, statement by statement; and what concurrent
//! transactions were answered is what the twin answers when they run one after another at their serial points.

mod support;

use model::twin::Twin;
use model::{Access, Begin, Finish, Interactive, Mode, SerialPoint, Storage, TableId};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use seriatim_mvto::{Mvto, Options, Savepoint, Transaction};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use support::statements::{KEYS, SHAPES, Shape, Statement, answer, statement};
use support::{Engine, Open, engine_and_clock, impatient};

// ---------------------------------------------------------------------------------------------------------------
// One transaction at a time: everything is the twin's, savepoints included.

/// The engine and its twin under the same program. The twin has no savepoints: it goes back by running what is left again.
struct Pair {
    engine: Engine,
    twin: Twin,
    table: TableId,
    shape: Shape,
    mode: Mode,
    open: Open,
    /// What the open transaction has done, and up to where each open savepoint reaches.
    done: Vec<Statement>,
    savepoints: Vec<(Savepoint, usize)>,
}

impl Pair {
    fn new(shape: Shape, storage: Storage, mode: Mode) -> Pair {
        let (engine, _) = engine_and_clock(impatient());
        let mut twin = Twin::new();
        let table = engine.create_table(shape.schema(storage)).expect("a new table");
        assert_eq!(table, twin.create_table(shape.schema(storage)));
        let open = support::begin_as(&engine, mode);
        Pair { engine, twin, table, shape, mode, open, done: Vec::new(), savepoints: Vec::new() }
    }

    fn step(&mut self, statement: &Statement) -> Result<(), TestCaseError> {
        match statement {
            Statement::Commit => {
                self.reopen().commit().expect("nobody else is there");
                self.twin.commit();
            }
            Statement::Abort => {
                self.reopen().abort();
                self.twin.abort();
            }
            Statement::Savepoint => {
                let savepoint = self.open.savepoint().expect("nobody else is there");
                self.savepoints.push((savepoint, self.done.len()));
            }
            Statement::Rollback(which) => self.rollback(*which)?,
            Statement::Collect => {
                self.engine.collect();
            }
            statement => {
                let ours = answer(&mut self.open, self.table, self.shape, statement);
                prop_assert_eq!(ours, answer(&mut self.twin, self.table, self.shape, statement), "{:?}", statement);
                self.done.push(statement.clone());
            }
        }
        Ok(())
    }

    /// The open transaction, in whose place a new one stands.
    fn reopen(&mut self) -> Open {
        self.done.clear();
        self.savepoints.clear();
        let next = self.engine.begin_owned(Begin { mode: self.mode, ..Begin::default() }).expect("a healthy clock");
        std::mem::replace(&mut self.open, next)
    }

    fn rollback(&mut self, which: usize) -> Result<(), TestCaseError> {
        let Some((savepoint, done)) = self.savepoints.get(which).copied() else { return Ok(()) };
        prop_assert!(self.open.rollback_to(&savepoint).is_ok());
        self.savepoints.truncate(which + 1);
        self.done.truncate(done);
        self.twin.abort();
        for statement in &self.done {
            answer(&mut self.twin, self.table, self.shape, statement);
        }
        Ok(())
    }

    /// After all that, the committed rows and entries are the twin's, and nothing waits to be collected.
    fn finish(mut self) -> Result<(), TestCaseError> {
        self.step(&Statement::Abort)?;
        self.reopen().commit().expect("nobody else is there");
        self.engine.collect();
        let reads = (0..KEYS).map(|key| Statement::Read { key, columns: 3 });
        let whole = |index: Option<u16>| Statement::Scan {
            index,
            bounds: (support::statements::Edge::Open, support::statements::Edge::Open),
            backward: false,
            filter: 0,
            columns: 3,
            stop: usize::MAX,
        };
        for statement in reads.chain([None, Some(0), Some(1), Some(2)].map(whole)) {
            self.step(&statement)?;
        }
        drop(self.open);
        self.engine.collect();
        let stats = self.engine.stats();
        prop_assert_eq!((stats.active, stats.waiting_versions), (0, 0));
        Ok(())
    }
}

fn compare(shape: Shape, storage: Storage, mode: Mode, program: &[Statement]) -> Result<(), TestCaseError> {
    let mut pair = Pair::new(shape, storage, mode);
    for statement in program {
        pair.step(statement)?;
    }
    pair.finish()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn an_ordered_table_is_its_twin(program in proptest::collection::vec(statement(), 1..80)) {
        for shape in SHAPES {
            compare(shape, Storage::Ordered, Mode::ReadWrite, &program)?;
        }
    }

    #[test]
    fn a_hash_table_is_its_twin(program in proptest::collection::vec(statement(), 1..80)) {
        for shape in SHAPES {
            compare(shape, Storage::Hash, Mode::ReadWrite, &program)?;
        }
    }

    #[test]
    fn owning_at_the_statement_answers_the_same(program in proptest::collection::vec(statement(), 1..80)) {
        for shape in SHAPES {
            compare(shape, Storage::Ordered, Mode::OwnAtStatement, &program)?;
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Several at once: the serial points tell the order, and in that order the twin answers the same.

/// A committed transaction, and what it was answered.
type Story = (SerialPoint, Vec<(Statement, String)>);

/// Programs of up to eight statements, the same in every run.
fn programs(seed: u8, count: usize) -> Vec<Vec<Statement>> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let program = proptest::collection::vec(statement(), 1..9);
    (0..count).map(|_| program.new_tree(&mut runner).expect("no filter rejects").current()).collect()
}

/// Runs each program as one transaction; tells the committed ones.
fn live(engine: &Arc<Mvto>, table: TableId, shape: Shape, programs: &[Vec<Statement>]) -> Vec<Story> {
    let numbered = programs.iter().enumerate();
    numbered.filter_map(|(number, program)| attempt(engine, table, shape, number, program)).collect()
}

fn attempt(engine: &Arc<Mvto>, table: TableId, shape: Shape, number: usize, program: &[Statement]) -> Option<Story> {
    let reads_only = program.iter().all(Statement::only_reads);
    let mode = match (reads_only, number % 3) {
        (true, 0) => Mode::Snapshot,
        (true, _) => Mode::ReadOnly,
        (false, 0) => Mode::OwnAtStatement,
        (false, _) => Mode::ReadWrite,
    };
    let mut transaction = engine.begin(Begin { mode, ..Begin::default() }).expect("begin only notes down");
    let mut told: Vec<(Statement, String)> = Vec::new();
    let mut savepoint: Option<(Savepoint, usize)> = None;
    for statement in program {
        match statement {
            Statement::Abort => return None,
            Statement::Commit => {}
            Statement::Collect => drop(engine.collect()),
            Statement::Savepoint => savepoint = Some((transaction.savepoint().ok()?, told.len())),
            Statement::Rollback(_) => rollback(&mut transaction, savepoint, &mut told)?,
            statement => told.push((statement.clone(), answer(&mut transaction, table, shape, statement))),
        }
    }
    match transaction.commit() {
        Ok(committed) => Some((committed.serial_point, told)),
        Err(error) => {
            assert!(!reads_only, "read-only transactions always commit: {error}");
            None
        }
    }
}

/// Goes back to a savepoint. What only read stays, since it stays read; what wrote is forgotten.
fn rollback(
    transaction: &mut Transaction<&Mvto>,
    savepoint: Option<(Savepoint, usize)>,
    told: &mut Vec<(Statement, String)>,
) -> Option<()> {
    let Some((savepoint, done)) = savepoint else { return Some(()) };
    transaction.rollback_to(&savepoint).ok()?;
    told.truncate(done);
    Some(())
}

fn replay(shape: Shape, storage: Storage, threads: u8, options: Options) {
    let options = Options { wait_limit: PATIENCE, ..options };
    let engine = Arc::new(Mvto::in_memory(options).expect("nothing can fail in memory"));
    let table = engine.create_table(shape.schema(storage)).expect("a new table");
    let mut stories: Vec<Story> = thread::scope(|scope| {
        let worlds: Vec<_> = (0..threads).map(|seed| programs(seed, 300)).collect();
        let engine = &engine;
        let lives: Vec<_> =
            worlds.into_iter().map(|programs| scope.spawn(move || live(engine, table, shape, &programs))).collect();
        lives.into_iter().flat_map(|life| life.join().expect("no thread panics")).collect()
    });
    let waits = engine.stats().aborts.iter().any(|(rule, _)| *rule == "wait-limit");
    assert!(!waits, "somebody was not woken: {:?}", engine.stats());
    stories.sort_by_key(|(point, _)| *point);
    assert!(stories.windows(2).all(|pair| pair[0].0 < pair[1].0), "serial points are unique");
    assert!(stories.len() > 100, "only {} of {} committed", stories.len(), u32::from(threads) * 300);
    let mut twin = Twin::new();
    twin.create_table(shape.schema(storage));
    for (point, told) in &stories {
        for (statement, answered) in told {
            assert_eq!(*answered, answer(&mut twin, table, shape, statement), "{shape:?} {statement:?} at {point}");
        }
        twin.commit();
    }
    assert_ends_as(&engine, &mut twin, table, shape);
}

fn assert_ends_as(engine: &Arc<Mvto>, twin: &mut impl Access, table: TableId, shape: Shape) {
    let mut last = engine.begin(Begin { mode: Mode::Snapshot, ..Begin::default() }).expect("begin only notes down");
    for key in 0..KEYS {
        let read = Statement::Read { key, columns: 3 };
        assert_eq!(answer(&mut last, table, shape, &read), answer(twin, table, shape, &read));
    }
    last.commit().expect("read-only transactions always commit");
    engine.collect();
    let stats = engine.stats();
    assert_eq!((stats.active, stats.waiting_versions), (0, 0), "nothing is left open or uncollected");
}

/// So long that only a wake-up that was lost reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Few sites and few versions, so that rare paths are common ones.
fn shrunken(sites: usize) -> Options {
    Options { sites, versions: 4, ..Options::default() }
}

#[test]
fn the_serial_points_replay_on_the_twin() {
    for shape in SHAPES {
        replay(shape, Storage::Ordered, 4, Options::default());
    }
}

#[test]
fn the_serial_points_replay_on_the_twin_with_hash_tables() {
    for shape in SHAPES {
        replay(shape, Storage::Hash, 3, Options::default());
    }
}

#[test]
fn the_serial_points_replay_on_the_twin_with_few_sites_and_versions() {
    replay(Shape::Registers, Storage::Ordered, 4, shrunken(1));
    replay(Shape::Orders, Storage::Ordered, 2, shrunken(2));
    replay(Shape::Accounts, Storage::Ordered, 4, shrunken(1));
}
