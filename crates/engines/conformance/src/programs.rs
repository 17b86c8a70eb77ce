//! `Reexecutable`: programs that the engine may run many times.

use crate::fixture::{Knobs, Programs, claim};
use crate::histories::{Statements, forms, tables};
use crate::judges::{assert_serial, records};
use crate::registers::{all, get, put, registers};
use crate::seeds;
use env::{Clock, MonotonicClock};
use model::history::{Outcome, Recorder, Transaction};
use model::{Access, Begin, Error, Program, Reexecutable, Result, Storage, TableId};
use std::cell::Cell;
use std::sync::Arc;
use std::thread;

/// Gives up after so many attempts; only a program that never wins comes near.
const ATTEMPTS: u32 = 100_000;

fn keep_trying(attempts: u32, _: &Error) -> bool {
    attempts < ATTEMPTS
}

/// A program made of a closure, for bodies that need no type parameter.
struct Body<O, E>(Box<Run<O, E>>);

type Run<O, E> = dyn FnMut(&mut dyn Access) -> std::result::Result<O, E>;

impl<O, E: From<Error>> Program for Body<O, E> {
    type Output = O;
    type Error = E;
    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> std::result::Result<O, E> {
        (self.0)(&mut access)
    }
}

fn body<O, E>(run: impl FnMut(&mut dyn Access) -> std::result::Result<O, E> + 'static) -> Body<O, E> {
    Body(Box::new(run))
}

fn open<F: Programs>() -> (Arc<F::Engine>, Arc<F::Door>, TableId) {
    let engine = F::open(&Knobs::patient());
    let table = F::create_table(&engine, registers("registers", Storage::Ordered)).expect("a new table");
    let door = F::programs(&engine);
    (engine, door, table)
}

fn contents<F: Programs>(door: &F::Door, table: TableId) -> Vec<(u64, u64)> {
    let mut program = body(move |mut access: &mut dyn Access| all(&mut access, table));
    door.execute(&mut program, Begin::default(), &mut keep_trying).expect("nobody in the way").0
}

/// A program's writes are visible, it has read its own writes, and its output is returned.
pub fn a_program_commits_what_it_wrote<F: Programs>() {
    let (_engine, door, table) = open::<F>();
    let mut program = body(move |mut access: &mut dyn Access| {
        put(&mut access, table, 1, 10)?;
        put(&mut access, table, 2, 20)?;
        get(&mut access, table, 1)
    });
    let (output, _) = door.execute(&mut program, Begin::default(), &mut keep_trying).expect("nobody in the way");
    assert_eq!(output, Some(10));
    assert_eq!(contents::<F>(&door, table), [(1, 10), (2, 20)]);
}

/// An error of a program's own.
#[derive(Debug, PartialEq)]
enum Refused {
    SoldOut,
    Engine(String),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Engine(error.to_string())
    }
}

/// A program that fails has no effect, its own error comes back, and it is not retried.
pub fn a_program_that_fails_has_no_effect<F: Programs>() {
    let (_engine, door, table) = open::<F>();
    let attempts = std::rc::Rc::new(Cell::new(0));
    let counted = attempts.clone();
    let mut program = body(move |mut access: &mut dyn Access| {
        counted.set(counted.get() + 1);
        put(&mut access, table, 1, 10)?;
        Err::<(), Refused>(Refused::SoldOut)
    });
    let refused = door.execute(&mut program, Begin::default(), &mut |_, _: &Error| panic!("nothing to retry"));
    assert_eq!(refused.map(drop), Err(Refused::SoldOut));
    assert!(attempts.get() > 0);
    assert_eq!(contents::<F>(&door, table), []);
}

/// A mistake of the body is its error, and is not retried.
pub fn a_mistake_is_not_retried<F: Programs>() {
    let (_engine, door, _) = open::<F>();
    let mut program = body(|mut access: &mut dyn Access| get(&mut access, TableId(99), 1).map_err(Refused::from));
    let refused = door.execute(&mut program, Begin::default(), &mut |_, _: &Error| panic!("nothing to retry"));
    assert_eq!(refused.map(drop), Err(Refused::Engine("table number 99 does not exist".into())));
}

/// Four clients add to the same two rows, in opposite orders: each addition counts once, however often a body ran.
pub fn every_addition_counts_once<F: Programs>() {
    let (_engine, door, table) = open::<F>();
    thread::scope(|scope| {
        for keys in [[1, 2], [2, 1], [1, 2], [2, 1]] {
            let door = &door;
            scope.spawn(move || {
                for _ in 0..100 {
                    let mut program = body(move |mut access: &mut dyn Access| -> Result<()> {
                        for key in keys {
                            let value = get(&mut access, table, key)?.unwrap_or_default();
                            thread::yield_now(); // Others go on.
                            put(&mut access, table, key, value + 1)?;
                        }
                        Ok(())
                    });
                    door.execute(&mut program, Begin::default(), &mut keep_trying).expect("it is retried");
                }
            });
        }
    });
    assert_eq!(contents::<F>(&door, table), [(1, 400), (2, 400)]);
}

/// A random program that writes down what it sees; the last run counts.
struct Random<'s> {
    statements: &'s mut Statements,
    count: u64,
    operations: Vec<model::history::Operation>,
}

impl Program for Random<'_> {
    type Output = ();
    type Error = Error;
    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<()> {
        let mut recorder = Recorder::new(access);
        for _ in 0..self.count {
            match self.statements.one(&mut recorder) {
                // Duplicates leave the transaction alive.
                Ok(()) | Err(Error::Duplicate(_)) => {}
                Err(error) => return Err(error),
            }
        }
        self.operations = recorder.into_parts().1;
        Ok(())
    }
}

/// The history of concurrent programs is strictly serializable.
pub fn concurrent_programs_are_serializable<F: Programs>() {
    let engine = F::open(&Knobs { has_small_parts: true, ..Knobs::patient() });
    let tables = tables::<F>(&engine);
    let (door, clock, seed) = (F::programs(&engine), MonotonicClock::new(), seeds::fixed());
    let client = |number: u32| {
        let mut statements = Statements::new(number, seed, tables, 12, 6);
        let mut history = Vec::new();
        for _ in 0..1_000 {
            let start_ns = clock.now();
            let count = 1 + statements.below(6);
            let mut program = Random { statements: &mut statements, count, operations: Vec::new() };
            let ended = door.execute(&mut program, Begin::default(), &mut keep_trying);
            let operations = program.operations;
            let (_, committed) = ended.expect("it is retried");
            let outcome = Outcome::Committed(claim::<F>(&committed));
            history.push(Transaction { client: number, start_ns, end_ns: clock.now(), outcome, operations });
        }
        history
    };
    let history: Vec<Transaction> = thread::scope(|scope| {
        let client = &client;
        let clients: Vec<_> = (0..4).map(|number| scope.spawn(move || client(number))).collect();
        clients.into_iter().flat_map(|client| client.join().expect("no client panics")).collect()
    });
    let report = assert_serial(records(history, forms(tables)), &seeds::replay(seed));
    assert_eq!(report.counts.committed, 4_000);
}
