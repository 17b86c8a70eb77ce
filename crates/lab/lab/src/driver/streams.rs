//! Several transactions open at once on one thread, advanced in turns.
//!
//! Each client is a coroutine, which gives way before each access of its transactions: what is concurrent is so logically, on one core.
//! An engine on which a transaction waits for an open one would wait for ever: its owner is on the same thread.
//!
//! Source: HyPer (SIGMOD '15), section 4.4.

use super::RunError;
use super::worker::{Done, Worker};
use crate::engines::Engine;
use crate::retry::Retrying;
use crate::workloads::Workload;
use corosensei::stack::DefaultStack;
use corosensei::{CoroutineResult, ScopedCoroutine, ScopedCoroutineRef, Yielder};
use env::Randomness;
use model::{
    Access, Columns, Delta, Draws, Error, Item, Key, Program, Result, Retry, RowBuf, RowRef, Scan, ScanEnd, TableId,
};
use std::ops::ControlFlow;

/// Where a client gives way to the others of its thread.
pub(super) type Pause = Yielder<(), ()>;

/// Runs the clients of a thread to their ends.
pub(super) fn work_in_turns<E: Engine, W: Workload>(
    workers: Vec<Worker<'_, E, W>>,
) -> Vec<std::result::Result<Done<W::Client>, RunError>> {
    let bodies: Vec<_> = workers.into_iter().map(|worker| |pause: &Pause| worker.work(Some(pause))).collect();
    in_turns(bodies)
}

type Stream<'a, T> = ScopedCoroutineRef<'a, (), (), T, DefaultStack>;

/// Runs bodies in turns, each to where it gives way. Returns their results in order.
fn in_turns<T, F: FnOnce(&Pause) -> T>(bodies: Vec<F>) -> Vec<T> {
    enter(bodies.into_iter(), Vec::new())
}

/// Makes a coroutine of each body: one within the scope of the other.
fn enter<T, F: FnOnce(&Pause) -> T>(mut bodies: std::vec::IntoIter<F>, streams: Vec<Stream<'_, T>>) -> Vec<T> {
    let Some(body) = bodies.next() else { return advance(streams) };
    ScopedCoroutine::new(|pause: &Pause, ()| body(pause)).scope(|stream| {
        let mut all: Vec<Stream<'_, T>> = streams;
        all.push(stream);
        enter(bodies, all)
    })
}

fn advance<T>(mut streams: Vec<Stream<'_, T>>) -> Vec<T> {
    let mut results: Vec<Option<T>> = streams.iter().map(|_| None).collect();
    while results.iter().any(Option::is_none) {
        for (stream, result) in streams.iter_mut().zip(&mut results) {
            if result.is_none()
                && let CoroutineResult::Return(returned) = stream.resume(())
            {
                *result = Some(returned);
            }
        }
    }
    results.into_iter().flatten().collect()
}

/// Has a client give way after a conflict, for some of its thread's turns: the more attempts have failed, the more they may be. Else
/// it would meet the same open transaction again, and its attempts would count the turns of that one.
pub(super) struct Patience<'p> {
    pub retrying: &'p mut Retrying,
    pub pause: &'p Pause,
    pub turns: &'p mut Randomness,
}

impl Retry for Patience<'_> {
    fn again(&mut self, attempts: u32, error: &Error) -> bool {
        /// Accesses of a long transaction of TPC-C.
        const MOST_TURNS: u64 = 128;
        let again = self.retrying.again(attempts, error);
        let most = (8u64 << attempts.min(8)).min(MOST_TURNS);
        let turns = if again { self.turns.in_range(1..most + 1) } else { 0 };
        (0..turns).for_each(|_| self.pause.suspend(()));
        again
    }
}

/// A program that gives way before each access.
pub(crate) struct GivesWay<'p, P, F> {
    pub program: &'p mut P,
    pub pause: F,
}

impl<P: Program, F: Fn()> Program for GivesWay<'_, P, F> {
    type Output = P::Output;
    type Error = P::Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> std::result::Result<P::Output, P::Error> {
        self.program.run(&mut GivingWay { access, pause: &self.pause })
    }
}

struct GivingWay<'p, A: ?Sized, F> {
    access: &'p mut A,
    pause: &'p F,
}

impl<A: Access + ?Sized, F: Fn()> GivingWay<'_, A, F> {
    fn next(&mut self) -> &mut A {
        (self.pause)();
        self.access
    }
}

impl<A: Access + ?Sized, F: Fn()> Access for GivingWay<'_, A, F> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.next().read(table, key, columns, row)
    }

    fn read_many(
        &mut self,
        table: TableId,
        keys: &[Key],
        columns: Columns<'_>,
        each: &mut dyn FnMut(usize, Option<RowRef<'_>>),
    ) -> Result<()> {
        self.next().read_many(table, keys, columns, each)
    }

    fn prefetch(&mut self, table: TableId, keys: &[Key]) {
        self.access.prefetch(table, keys);
    }

    fn read_for_update(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.next().read_for_update(table, key, columns, row)
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.next().put(table, key, row)
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.next().insert(table, key, row)
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.next().update(table, key, delta)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.next().delete(table, key)
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.next().scan(scan, visit)
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.access.draws()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn bodies_take_turns_where_they_give_way() {
        let order = RefCell::new(Vec::new());
        let body = |number: usize| {
            let order = &order;
            move |pause: &Pause| {
                for step in 0..number {
                    order.borrow_mut().push((number, step));
                    pause.suspend(());
                }
                number * 10
            }
        };
        assert_eq!(in_turns(vec![body(1), body(3), body(2)]), [10, 30, 20]);
        assert_eq!(*order.borrow(), [(1, 0), (3, 0), (2, 0), (3, 1), (2, 1), (3, 2)]);
    }
}
