//! Footprints that rows decide: their trial runs come in the order of positions, each behind what those before it would write.
#![cfg(not(feature = "shuttle"))]

#[path = "common/body.rs"]
#[allow(dead_code, reason = "each test takes what it needs")]
mod body;

use body::{Do, call, open, output, read};
use conformance::registers::{delete, get, integer, put};
use model::{
    Access, Begin, Columns, Declared, Direction, Error, Footprint, Item, Key, Result, RowBuf, Scan, TableId, Ticket,
    Touch,
};
use seriatim_bohm::{Bohm, Options};
use std::collections::VecDeque;
use std::ops::{Bound, ControlFlow};
use std::thread;
use std::time::Duration;

/// The register from which numbers are drawn.
const COUNTER: u64 = 0;
/// Orders stand from here on, by number.
const ORDERS: u64 = 1000;

/// Several batches on their way, each of a few calls; threads that have one task each, and threads that move.
fn short_batches() -> [Options; 2] {
    let options = |executors, moves_threads| Options {
        planners: 2,
        executors,
        moves_threads,
        batch: 5,
        latency: Duration::ZERO,
        ..Options::default()
    };
    [options(2, false), options(1, true)]
}

fn submit(engine: &Bohm, procedure: Do) -> Ticket<Do> {
    let patient = |failed: u32, error: &Error| {
        assert!(failed < 20, "it misses again and again: {error}");
        true
    };
    engine.submit(procedure, Begin::default(), Box::new(patient))
}

fn foresee(access: &mut dyn Access, table: TableId, key: u64, value: Option<u64>) {
    let row = value.map(|value| RowBuf::from_bytes(&value.to_be_bytes()));
    access.foresee(table, &Key::from_u64(key), row.as_ref().map(RowBuf::row));
}

/// Draws a number, and stores an order under it.
fn order(table: TableId) -> Do {
    let number = move |mut access: &mut dyn Access| get(&mut access, table, COUNTER).map(Option::unwrap_or_default);
    let footprint = move |access: &mut dyn Access| {
        let number = number(access)?;
        foresee(access, table, COUNTER, Some(number + 1));
        foresee(access, table, ORDERS + number, Some(number));
        let counter = Footprint::default().touches(table, COUNTER, Touch::Update);
        Ok(counter.touches(table, ORDERS + number, Touch::Insert))
    };
    let body = move |mut access: &mut dyn Access| {
        let number = number(access)?;
        put(&mut access, table, COUNTER, number + 1)?;
        conformance::registers::insert(&mut access, table, ORDERS + number, number).map(|()| number)
    };
    Do::guessing(footprint, body).late()
}

/// The first order, or the last.
fn find(access: &mut dyn Access, table: TableId, direction: Direction) -> Result<Option<u64>> {
    let (lower, upper) = (Bound::Included(Key::from_u64(ORDERS)), Bound::Unbounded);
    let mut found = None;
    let scan = Scan { direction, ..Scan::table(table).between(lower, upper).columns(Columns::None) };
    access.scan(&scan, &mut |item: Item<'_>| {
        found = Some(integer(item.key));
        ControlFlow::Break(())
    })?;
    Ok(found)
}

/// Delivers the first order, or cancels the last. Returns its key; zero: there was none.
fn take(table: TableId, direction: Direction) -> Do {
    let footprint = move |access: &mut dyn Access| {
        let range = (Bound::Included(Key::from_u64(ORDERS)), Bound::Unbounded);
        let footprint = Footprint::default().reads_range(table, range.0, range.1);
        let Some(found) = find(access, table, direction)? else { return Ok(footprint) };
        foresee(access, table, found, None);
        Ok(footprint.touches(table, found, Touch::Delete))
    };
    let body = move |mut access: &mut dyn Access| {
        let Some(found) = find(access, table, direction)? else { return Ok(0) };
        delete(&mut access, table, found)?;
        Ok(found)
    };
    Do::guessing(footprint, body).late()
}

/// Skips a number. Its footprint is declared, so nobody foresees what it writes.
fn skip(table: TableId) -> Do {
    let footprint = Footprint::default().touches(table, COUNTER, Touch::Update);
    Do::new(footprint, move |mut access| {
        let number = get(&mut access, table, COUNTER)?.unwrap_or_default();
        put(&mut access, table, COUNTER, number + 1).map(|()| number)
    })
}

#[test]
fn numbers_drawn_from_one_row_do_not_miss() {
    for options in short_batches() {
        let (engine, table) = open(options);
        engine.hold();
        let tickets: Vec<_> = (0..100).map(|_| submit(&engine, order(table))).collect();
        engine.release();
        let numbers: Vec<u64> = tickets.into_iter().map(|ticket| output(ticket.wait())).collect();
        assert_eq!(numbers, (0..100).collect::<Vec<u64>>());
        // Their order is that of the intake, whichever thread submits.
        let draw = || (0..100).map(|_| output(submit(&engine, order(table)).wait())).collect::<Vec<u64>>();
        let drawn = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(draw)).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect::<Vec<u64>>()
        });
        let mut drawn = drawn;
        drawn.sort_unstable();
        assert_eq!(drawn, (100..500).collect::<Vec<u64>>());
        assert_eq!(engine.stats().missed, 0);
    }
}

#[test]
fn scans_of_trial_runs_show_what_comes_and_goes() {
    for options in short_batches() {
        let (engine, table) = open(options);
        engine.hold();
        // Two come, the first goes; now and then the last goes, too.
        let kinds = |n: u64| {
            if n % 3 < 2 {
                'o'
            } else if n.is_multiple_of(4) {
                'l'
            } else {
                'f'
            }
        };
        let procedure = |n: u64| match kinds(n) {
            'o' => order(table),
            'l' => take(table, Direction::Backward),
            _ => take(table, Direction::Forward),
        };
        let tickets: Vec<_> = (0..300).map(|n| submit(&engine, procedure(n))).collect();
        engine.release();
        let (mut open, mut next) = (VecDeque::new(), 0);
        for (n, ticket) in (0..).zip(tickets) {
            let expected = match kinds(n) {
                'o' => {
                    open.push_back(ORDERS + next);
                    next += 1;
                    next - 1
                }
                'l' => open.pop_back().unwrap_or_default(),
                _ => open.pop_front().unwrap_or_default(),
            };
            assert_eq!(output(ticket.wait()), expected, "call {n}");
        }
        assert_eq!(engine.stats().missed, 0);
    }
}

/// What nobody foresees makes guesses miss, and they come to an end all the same, each after a few places.
#[test]
fn after_a_miss_the_state_is_looked_at_again() {
    const PAIRS: u64 = 200;
    for options in short_batches() {
        let (engine, table) = open(options);
        engine.hold();
        let tickets: Vec<_> =
            (0..PAIRS).flat_map(|_| [skip(table), order(table)]).map(|procedure| submit(&engine, procedure)).collect();
        engine.release();
        let mut numbers: Vec<u64> = tickets.into_iter().map(|ticket| output(ticket.wait())).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..2 * PAIRS).collect::<Vec<u64>>(), "each number is drawn once");
        assert_eq!(call(&engine, read(table, COUNTER)), 2 * PAIRS);
        assert!(engine.stats().missed > 0, "nothing was wrong: nothing was tested");
    }
}

#[test]
fn a_trial_run_that_panics_ends_its_procedure_and_no_other() {
    for options in short_batches() {
        let (engine, table) = open(options);
        let broken = Do::guessing(|_| panic!("this is part of the test"), |_| Ok(0)).late();
        engine.hold();
        let tickets = [submit(&engine, order(table)), submit(&engine, broken), submit(&engine, order(table))];
        engine.release();
        let [first, broken, second] = tickets.map(Ticket::<Do>::wait);
        assert_eq!((output(first), output(second)), (0, 1));
        let error = broken.expect_err("it has no footprint");
        assert!(error.abort().is_some_and(|abort| abort.rule == "panicked"), "{error}");
    }
}
