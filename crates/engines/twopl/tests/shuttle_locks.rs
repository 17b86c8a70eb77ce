//! The whole engine under random schedules: no wake-up is lost, no cycle of waits stays, and the claimed order replays.
//!
//! `cargo test -p seriatim-twopl --features shuttle --test shuttle_locks`
#![cfg(feature = "shuttle")]

mod common;

use common::{delete, get, put, range, with_registers};
use conformance::indexed::Indexed;
use conformance::statements::{Shape, Statement, answer, statement};
use model::twin::Twin;
use model::{
    Access, Begin, Declared, Error, Finish, Footprint, Malformed, Procedure, Program, Reexecutable, Result,
    SerialPoint, Storage, TableId,
};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use seriatim_twopl::{Options, TwoPhaseLocking};
use shuttle::thread;
use std::sync::Arc;
use std::time::Duration;

fn patient() -> Options {
    Options { wait_limit: Duration::MAX, ..Options::default() }
}

/// Moves one from a register to another, reading first: shared locks, then upgrades.
struct Transfer(TableId, u64, u64);

impl Program for Transfer {
    type Output = ();
    type Error = Error;
    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> Result<()> {
        let Transfer(table, from, to) = *self;
        let (taken, given) = (get(&mut access, table, from)?, get(&mut access, table, to)?);
        put(&mut access, table, from, taken.unwrap_or_default() - 1)?;
        put(&mut access, table, to, given.unwrap_or_default() + 1)
    }
}

impl Procedure for Transfer {
    const NAME: &'static str = "transfer";
    fn encode_arguments(&self, _: &mut Vec<u8>) {}
    fn decode_arguments(_: &[u8]) -> std::result::Result<Transfer, Malformed> {
        Err(Malformed)
    }
    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        Ok(Footprint::default().writes(self.0, self.1).writes(self.0, self.2))
    }
}

/// Four procedures in a ring and against it: none of them ever has to give way.
#[test]
fn procedures_do_not_abort_each_other() {
    shuttle::check_random(
        || {
            let (engine, table) = with_registers(patient(), &[(0, 9), (1, 9), (2, 9)]);
            let engine = Arc::new(engine);
            let threads: Vec<_> = [(0, 1), (1, 2), (2, 0), (1, 0)]
                .map(|(from, to)| {
                    let engine = engine.clone();
                    thread::spawn(move || {
                        let transfer = Transfer(table, from, to);
                        engine.call(transfer, Begin::default(), |_, _: &_| false).expect("no abort");
                    })
                })
                .into_iter()
                .collect();
            for thread in threads {
                thread.join().expect("no panic");
            }
            assert_eq!(engine.stats().aborted, [0; 5]);
        },
        1_000,
    );
}

/// Three transfers in a ring: whoever must give way comes back, all commit, nothing is lost.
#[test]
fn a_ring_of_upgrades_ends() {
    shuttle::check_random(
        || {
            let (engine, table) = with_registers(patient(), &[(0, 9), (1, 9), (2, 9)]);
            let engine = Arc::new(engine);
            let threads: Vec<_> = (0..3)
                .map(|from| {
                    let engine = engine.clone();
                    let mut transfer = Transfer(table, from, (from + 1) % 3);
                    let mut run = move || engine.execute(&mut transfer, Begin::default(), &mut |_, _: &_| true);
                    thread::spawn(move || run().expect("it is retried until it commits"))
                })
                .collect();
            for thread in threads {
                thread.join().expect("no panic");
            }
            let rows = range(&mut common::begin(&engine), table, 0, 9).expect("alone");
            assert_eq!(rows, [(0, 9), (1, 9), (2, 9)]);
        },
        2_000,
    );
}

/// Scans against inserts and deletes in their ranges: the total of a range that is kept at one row is always one.
#[test]
fn scans_see_no_half_of_a_move() {
    shuttle::check_random(
        || {
            let (engine, table) = with_registers(patient(), &[(4, 0)]);
            let engine = Arc::new(engine);
            let mover = |from: u64, to: u64| {
                let engine = engine.clone();
                thread::spawn(move || {
                    let mut it = common::begin(&engine);
                    let moved = delete(&mut it, table, from)
                        .and_then(|found| if found { put(&mut it, table, to, 0) } else { Ok(()) });
                    moved.and_then(|()| it.commit().map(drop)).is_ok()
                })
            };
            let movers = [mover(4, 2), mover(2, 6)];
            let scanner = engine.clone();
            let scanner = thread::spawn(move || {
                let mut it = common::begin(&scanner);
                let seen = range(&mut it, table, 0, 9);
                let again = range(&mut it, table, 0, 9);
                if let (Ok(seen), Ok(again)) = (seen, again) {
                    assert_eq!(seen.len(), 1, "{seen:?}");
                    assert_eq!(seen, again);
                }
            });
            for mover in movers {
                mover.join().expect("no panic");
            }
            scanner.join().expect("no panic");
            assert_eq!(engine.stats().records, 1);
            assert_eq!(engine.stats().open, 0);
        },
        3_000,
    );
}

/// Rows with a unique index and another one.
const SHAPE: Shape = Shape::Accounts;

type Story = (SerialPoint, Vec<(Statement, String)>);

fn live(engine: &TwoPhaseLocking, table: &Indexed, programs: &[Vec<Statement>]) -> Vec<Story> {
    let attempt = |program: &Vec<Statement>| {
        let mut it = common::begin(engine);
        let statements = program.iter().filter(|it| it.is_access());
        let answers = statements.map(|it_does| (it_does.clone(), answer(&mut it, table, SHAPE, it_does))).collect();
        it.commit().ok().map(|committed| (committed.claimed(), answers))
    };
    programs.iter().filter_map(attempt).collect()
}

/// Random programs on rows with indexes: the committed ones replay on the twin in the claimed order.
#[test]
fn random_programs_replay() {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let program = proptest::collection::vec(statement(), 1..6);
    for _ in 0..40 {
        let mut programs =
            || -> Vec<_> { (0..2).map(|_| program.new_tree(&mut runner).expect("no filter").current()).collect() };
        let worlds = Arc::new([programs(), programs(), programs()]);
        shuttle::check_random(move || run_and_replay(&worlds), 50);
    }
}

fn run_and_replay(worlds: &Arc<[Vec<Vec<Statement>>; 3]>) {
    let engine = Arc::new(TwoPhaseLocking::new(patient()));
    let table = SHAPE.create(Storage::Ordered, |schema| engine.create_table(schema).expect("a new table"));
    let spawn = |number: usize| {
        let (engine, table, worlds) = (engine.clone(), table.clone(), worlds.clone());
        thread::spawn(move || live(&engine, &table, &worlds[number]))
    };
    let threads = [0, 1, 2].map(spawn);
    let mut stories: Vec<Story> = threads.into_iter().flat_map(|it| it.join().expect("no panic")).collect();
    stories.sort_by_key(|(point, _)| *point);
    let mut twin = Twin::new();
    SHAPE.create(Storage::Ordered, |schema| twin.create_table(schema));
    for (point, answers) in &stories {
        for (statement, answered) in answers {
            assert_eq!(*answered, answer(&mut twin, &table, SHAPE, statement), "{statement:?} at {point}");
        }
        twin.commit();
    }
    assert_eq!(engine.stats().records, table.records(twin.rows(table.rows).count() as u64));
}
