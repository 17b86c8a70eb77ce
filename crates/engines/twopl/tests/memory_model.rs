//! Two threads on one engine, small enough for an interpreter that checks every access to memory (`make miri`): rows are
//! changed in place under locks, and records go and come back. Without the interpreter it is a short stress test. The
//! orderings of locks are loom's business (`loom_locks.rs`).

#![cfg(not(any(loom, feature = "shuttle")))]

mod common;

use common::registers;
use model::{
    Access, Begin, Columns, Error, Finish, Interactive, Key, Program, Reexecutable, Result, RowBuf, RowRef, Scan,
    TableId,
};
use seriatim_twopl::{Options, TwoPhaseLocking};
use std::ops::ControlFlow;
use std::thread;

const KEYS: u64 = 6;
/// Enough for locks to be contended, for rows inside and outside of their records, and for records to go and come back.
const ROUNDS: u64 = if cfg!(miri) { 12 } else { 2_000 };

/// A row whose bytes are all the same, of a length that changes.
fn row(round: u64) -> Vec<u8> {
    vec![round as u8; 8 + (round % 3) as usize * 40]
}

fn assert_whole(row: RowRef<'_>) {
    let bytes = row.bytes();
    assert!(bytes.iter().all(|byte| *byte == bytes[0]), "a torn row: {bytes:?}");
}

/// Replaces, deletes and inserts two rows.
struct Write(TableId, u64);

impl Program for Write {
    type Output = ();
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<()> {
        let Write(table, round) = *self;
        for round in [round, round * 5 + 1] {
            let key = Key::from_u64(round % KEYS);
            match round % 4 {
                0 => drop(access.delete(table, &key)?),
                _ => access.put(table, &key, RowRef::new(&row(round)))?,
            }
        }
        Ok(())
    }
}

/// Reads two keys, and then all.
struct Read(TableId, u64);

impl Program for Read {
    type Output = ();
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<()> {
        let Read(table, round) = *self;
        let mut row = RowBuf::new();
        for key in [round, round + 1] {
            if access.read(table, &Key::from_u64(key % KEYS), Columns::All, &mut row)? {
                assert_whole(row.row());
            }
        }
        let seen = access.scan(&Scan::table(table), &mut |item| {
            assert_whole(item.row);
            ControlFlow::Continue(())
        });
        seen.map(drop)
    }
}

fn repeat<P: Program<Output = (), Error = Error>>(engine: &TwoPhaseLocking, program: impl Fn(u64) -> P) {
    for round in 1..=ROUNDS {
        let done = engine.execute(&mut program(round), Begin::default(), &mut |_, _: &_| true);
        done.expect("it commits in the end");
    }
}

#[test]
fn a_reader_beside_a_writer() {
    let engine = TwoPhaseLocking::new(Options { has_small_nodes: true, ..Options::default() });
    let table = engine.create_table(registers("rows")).expect("a new table");
    thread::scope(|scope| {
        scope.spawn(|| repeat(&engine, |round| Write(table, round)));
        scope.spawn(|| repeat(&engine, |round| Read(table, round)));
    });
    let mut rows = 0;
    let mut open = engine.begin(Begin::default()).expect("room");
    let seen = open.scan(&Scan::table(table), &mut |item| {
        assert_whole(item.row);
        rows += 1;
        ControlFlow::Continue(())
    });
    seen.expect("alone");
    open.commit().expect("alone");
    let stats = engine.stats();
    assert_eq!((stats.open, stats.asleep, stats.records), (0, 0, rows), "what is locked and absent leaves no record");
}
