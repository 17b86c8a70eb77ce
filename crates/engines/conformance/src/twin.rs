//! Random programs beside the naive twin. One transaction at a time: both answer the same, statement by statement. Several at
//! once: the answers of the committed transactions are the twin's, when it runs them one after another at their serial points.

use crate::fixture::{Knobs, Open, Sessions, begin, claim};
use crate::indexed::Indexed;
use crate::seeds;
use crate::statements::{KEYS, SHAPES, Shape, Statement, answer, read, scan, statement};
use model::twin::Twin;
use model::{AbortClass, Begin, Finish, Interactive, Mode, Savepoint, SerialPoint, Storage};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestCaseError;
use std::sync::Arc;
use std::thread;

/// Whether random programs open savepoints and go back to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// They only go forward: savepoints in them are passed over.
    Forward,
    /// They go back to savepoints too.
    Both,
}

/// Opens a savepoint.
///
/// # Errors
/// The abort that poisoned the transaction.
///
/// # Panics
/// If the engine has no savepoints.
pub fn savepoint(open: &mut impl Finish) -> model::Result<Savepoint> {
    open.savepoints().expect("the engine has savepoints").savepoint()
}

/// Goes back to a savepoint.
///
/// # Errors
/// Same as [`model::Savepoints::rollback_to`].
///
/// # Panics
/// If the engine has no savepoints.
pub fn rollback_to(open: &mut impl Finish, savepoint: &Savepoint) -> model::Result<()> {
    open.savepoints().expect("the engine has savepoints").rollback_to(savepoint)
}

// ---------------------------------------------------------------------------------------------------------------
// One transaction at a time.

/// The engine and its twin under the same program. The twin goes back to a savepoint by running again what came before it.
struct Pair<F: Sessions> {
    engine: Arc<F::Engine>,
    twin: Twin,
    table: Indexed,
    shape: Shape,
    mode: Mode,
    open: Open<F>,
    /// Statements of the open transaction, and how many of them each open savepoint has.
    done: Vec<Statement>,
    savepoints: Vec<(Savepoint, usize)>,
    direction: Direction,
}

impl<F: Sessions> Pair<F> {
    fn new(shape: Shape, (storage, mode, direction): Setting) -> Self {
        let engine = F::open(&Knobs::impatient());
        let mut twin = Twin::new();
        let table = shape.create(storage, |schema| {
            let table = F::create_table(&engine, schema.clone()).expect("a new table");
            assert_eq!(table, twin.create_table(schema), "tables are numbered from zero");
            table
        });
        let open = begin::<F>(&engine, mode);
        Pair { engine, twin, table, shape, mode, open, done: Vec::new(), savepoints: Vec::new(), direction }
    }

    fn step(&mut self, statement: &Statement) -> Result<(), TestCaseError> {
        match statement {
            Statement::Commit => {
                self.end(|open| open.commit().map(drop).expect("nobody in the way"));
                self.twin.commit();
            }
            Statement::Abort => {
                self.end(Finish::abort);
                self.twin.abort();
            }
            Statement::Savepoint if self.direction == Direction::Both => {
                let savepoint = savepoint(&mut self.open).expect("nobody in the way");
                self.savepoints.push((savepoint, self.done.len()));
            }
            Statement::Savepoint => {}
            Statement::Rollback(which) => self.rollback(*which)?,
            Statement::Collect => {
                F::collect(&self.engine);
            }
            statement => {
                let engines = answer(&mut self.open, &self.table, self.shape, statement);
                let twins = answer(&mut self.twin, &self.table, self.shape, statement);
                prop_assert_eq!(engines, twins, "{:?}: the engine's answer is not the twin's", statement);
                self.done.push(statement.clone());
            }
        }
        Ok(())
    }

    /// Ends the open transaction and begins the next one.
    fn end(&mut self, end: impl FnOnce(Open<F>)) {
        self.done.clear();
        self.savepoints.clear();
        let next = self.engine.begin_owned(Begin { mode: self.mode, ..Begin::default() }).expect("room for two");
        end(std::mem::replace(&mut self.open, next));
    }

    fn rollback(&mut self, which: usize) -> Result<(), TestCaseError> {
        let Some((savepoint, done)) = self.savepoints.get(which) else { return Ok(()) };
        prop_assert!(rollback_to(&mut self.open, savepoint).is_ok(), "the savepoint is open");
        self.done.truncate(*done);
        self.savepoints.truncate(which + 1);
        self.twin.abort();
        for statement in &self.done {
            answer(&mut self.twin, &self.table, self.shape, statement);
        }
        Ok(())
    }

    /// The committed rows and entries are the twin's, and nothing is left behind.
    fn finish(mut self) -> Result<(), TestCaseError> {
        self.step(&Statement::Abort)?;
        F::collect(&self.engine);
        for statement in (0..KEYS).map(read).chain([None, Some(0), Some(1), Some(2)].map(scan)) {
            self.step(&statement)?;
        }
        let rows = self.twin.rows(self.table.rows).count() as u64;
        drop(self.open);
        F::collect(&self.engine);
        F::assert_idle(&self.engine, self.table.records(rows));
        Ok(())
    }
}

/// Settings of a whole program.
type Setting = (Storage, Mode, Direction);

pub(crate) fn compare<F: Sessions>(setting: Setting) {
    let programs = proptest::collection::vec(statement(), 1..80);
    seeds::for_all(60, &programs, |program| {
        for shape in SHAPES {
            let mut pair = Pair::<F>::new(shape, setting);
            for statement in program {
                pair.step(statement)?;
            }
            pair.finish()?;
        }
        Ok(())
    });
}

/// On an ordered table the engine answers as the twin does.
pub fn an_ordered_table_is_its_twin<F: Sessions>() {
    compare::<F>((Storage::Ordered, Mode::ReadWrite, Direction::Forward));
}

/// On a table stored by hash the engine answers as the twin does.
pub fn a_hash_table_is_its_twin<F: Sessions>() {
    compare::<F>((Storage::Hash, Mode::ReadWrite, Direction::Forward));
}

/// Taking hold of rows at the statement changes no answer.
pub fn owning_at_the_statement_answers_the_same<F: Sessions>() {
    compare::<F>((Storage::Ordered, Mode::OwnAtStatement, Direction::Forward));
}

// ---------------------------------------------------------------------------------------------------------------
// Several at once.

/// A committed transaction: its serial point, its statements and their answers.
pub type Story = (Option<SerialPoint>, Vec<(Statement, String)>);

/// Programs of up to eight statements.
pub fn programs(seed: u64, count: usize) -> Vec<Vec<Statement>> {
    let mut source = seeds::source(seed);
    let program = proptest::collection::vec(statement(), 1..9);
    (0..count).map(|_| program.new_tree(&mut source).expect("no filter rejects").current()).collect()
}

/// Runs a program as one transaction; returns its story if it committed.
fn attempt<F: Sessions>(
    engine: &Arc<F::Engine>,
    (table, shape, direction): (&Indexed, Shape, Direction),
    number: usize,
    program: &[Statement],
) -> Option<Story> {
    let reads_only = program.iter().all(Statement::only_reads);
    let mode = match (reads_only, number % 3) {
        (true, 0) => Mode::Snapshot,
        (true, _) => Mode::ReadOnly,
        (false, 0) => Mode::OwnAtStatement,
        (false, _) => Mode::ReadWrite,
    };
    let mut open = engine.begin_owned(Begin { mode, ..Begin::default() }).expect("room for one per thread");
    let mut story: Vec<(Statement, String)> = Vec::new();
    let mut last: Option<(Savepoint, usize)> = None;
    for statement in program {
        match statement {
            Statement::Abort => return None,
            Statement::Commit => {}
            Statement::Collect => drop(F::collect(engine)),
            Statement::Savepoint if direction == Direction::Both => {
                last = Some((savepoint(&mut open).ok()?, story.len()))
            }
            Statement::Savepoint => {}
            Statement::Rollback(_) => {
                if let Some((savepoint, done)) = &last {
                    rollback_to(&mut open, savepoint).ok()?;
                    story.truncate(*done);
                }
            }
            statement => story.push((statement.clone(), answer(&mut open, table, shape, statement))),
        }
    }
    match open.commit() {
        Ok(committed) => Some((claim::<F>(&committed), story)),
        Err(error) => {
            assert!(!(reads_only && F::READERS_COMMIT), "a read-only transaction did not commit: {error}");
            let waited = error.abort().is_some_and(|abort| abort.class == AbortClass::WaitLimit);
            assert!(!waited, "a waiter was not woken: {error}");
            None
        }
    }
}

/// Runs random programs on several threads, and replays what committed on the twin. Without claimed serial points on one thread,
/// in the order of its commits.
pub(crate) fn replay<F: Sessions>(
    shape: Shape,
    (storage, direction): (Storage, Direction),
    threads: u64,
    knobs: &Knobs,
) {
    let engine = F::open(knobs);
    let table = shape.create(storage, |schema| F::create_table(&engine, schema).expect("a new table"));
    let seed = seeds::fixed();
    let threads = if F::CLAIMS_SERIAL_POINTS { threads } else { 1 };
    let live = |number: u64| {
        let (engine, table) = (&engine, &table);
        let programs = programs(seed.wrapping_add(number), 300);
        move || -> Vec<Story> {
            let numbered = programs.iter().enumerate();
            numbered.filter_map(|(number, it)| attempt::<F>(engine, (table, shape, direction), number, it)).collect()
        }
    };
    let mut stories: Vec<Story> = thread::scope(|scope| {
        let lives: Vec<_> = (0..threads).map(|number| scope.spawn(live(number))).collect();
        lives.into_iter().flat_map(|life| life.join().expect("no thread panics")).collect()
    });
    stories.sort_by_key(|(point, _)| *point);
    let hint = seeds::replay(seed);
    let is_unique = |pair: &[Story]| pair[0].0 < pair[1].0 || !F::CLAIMS_SERIAL_POINTS;
    assert!(stories.windows(2).all(is_unique), "serial points are unique; {hint}");
    assert!(stories.len() > 100, "only {} of {} committed; {hint}", stories.len(), threads * 300);
    let mut twin = Twin::new();
    shape.create(storage, |schema| twin.create_table(schema));
    for (point, story) in &stories {
        for (statement, answered) in story {
            let twins = answer(&mut twin, &table, shape, statement);
            assert_eq!(*answered, twins, "{shape:?} {statement:?} at {point:?}; {hint}");
        }
        twin.commit();
    }
    assert_ends_as::<F>(&engine, &mut twin, &table, shape);
}

fn assert_ends_as<F: Sessions>(engine: &Arc<F::Engine>, twin: &mut Twin, table: &Indexed, shape: Shape) {
    let mut last = begin::<F>(engine, Mode::ReadOnly);
    for statement in (0..KEYS).map(read).chain([Some(0), Some(1), Some(2)].map(scan)) {
        assert_eq!(answer(&mut last, table, shape, &statement), answer(twin, table, shape, &statement));
    }
    last.commit().expect("nobody in the way");
    F::collect(engine);
    F::assert_idle(engine, table.records(twin.rows(table.rows).count() as u64));
}

/// The answers to concurrent transactions equal the twin's in the order of the serial points.
pub fn the_serial_points_replay_on_the_twin<F: Sessions>() {
    for shape in SHAPES {
        replay::<F>(shape, (Storage::Ordered, Direction::Forward), 4, &Knobs::patient());
    }
}

/// The same on tables stored by hash.
pub fn the_serial_points_replay_on_the_twin_with_hash_tables<F: Sessions>() {
    for shape in SHAPES {
        replay::<F>(shape, (Storage::Hash, Direction::Forward), 3, &Knobs::patient());
    }
}

/// The same with internal sizes so small that rare paths are common.
pub fn the_serial_points_replay_on_the_twin_with_small_parts<F: Sessions>() {
    let knobs = Knobs { has_small_parts: true, ..Knobs::patient() };
    for shape in [Shape::Registers, Shape::Orders, Shape::Accounts] {
        replay::<F>(shape, (Storage::Ordered, Direction::Forward), 4, &knobs);
    }
}
