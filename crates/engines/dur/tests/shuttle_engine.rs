//! Two nodes under random schedules: transfers, scans, inserts and deletions, over an order whose latches the schedules see.
//!
//! `cargo test --profile models -p seriatim-dur --features shuttle --test shuttle_engine`
#![cfg(feature = "shuttle")]

use bytes::Bytes;
use conformance::registers::{all, delete, get, put, registers};
use env::time::Duration;
use model::{Access, Begin, Error, Mode, Program, Reexecutable, Result, Storage, TableId};
use seriatim_dur::{Dur, Options, Window};
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;
use std::sync::Arc;
use total::{Capabilities, Delivered, Event, OrderError, Origin, Position, Room, TotalOrder};

/// The sum of all registers, whatever moves.
const SUM: u64 = 3;

/// What the nodes share: payloads in their order, and whether it has stopped.
#[derive(Default)]
struct List {
    state: Mutex<(Vec<Delivered>, bool)>,
    changed: Condvar,
}

/// A node's end of the list.
struct Ends {
    list: Arc<List>,
    origin: Origin,
    taken: Mutex<usize>,
}

impl List {
    /// Has the threads that wait for deliveries end.
    fn stop(&self) {
        self.state.lock().expect("no panic").1 = true;
        self.changed.notify_all();
    }
}

impl TotalOrder for Ends {
    fn origin(&self) -> Origin {
        self.origin
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { payload_bytes: 1 << 20, has_cheap_barrier: true }
    }

    fn propose(&self, payload: Bytes) -> std::result::Result<u64, OrderError> {
        let mut state = self.list.state.lock().expect("no panic");
        let submission = state.0.len() as u64;
        let position = Position { instance: submission + 1, index: 0 };
        state.0.push(Delivered { position, origin: self.origin, submission, payload });
        self.list.changed.notify_all();
        Ok(submission)
    }

    fn room(&self, _: Duration) -> std::result::Result<Room, OrderError> {
        Ok(Room { proposals: 1, bytes: 1 })
    }

    fn deliver(&self, into: &mut Vec<Event>, most: usize, _: Duration) -> std::result::Result<(), OrderError> {
        let mut taken = self.taken.lock().expect("no panic");
        let mut state = self.list.state.lock().expect("no panic");
        while state.0.len() == *taken {
            if state.1 {
                return Err(OrderError::Stopped("the test ends".into()));
            }
            state = self.list.changed.wait(state).expect("no panic");
        }
        let next = state.0[*taken..].iter().take(most).cloned().map(Event::Ordered);
        let before = into.len();
        into.extend(next);
        *taken += into.len() - before;
        Ok(())
    }

    fn keep_from(&self, _: Position) {}

    fn resume(&self, _: Position) -> std::result::Result<(), OrderError> {
        Ok(())
    }

    fn barrier(&self, _: Duration) -> std::result::Result<Position, OrderError> {
        let state = self.list.state.lock().expect("no panic");
        Ok(state.0.last().map_or(Position::default(), |last| last.position))
    }
}

/// A body that its caller runs.
struct Body<F>(F);

impl<T, F: FnMut(&mut dyn Access) -> Result<T>> Program for Body<F> {
    type Output = T;
    type Error = Error;
    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> Result<T> {
        (self.0)(&mut access)
    }
}

fn call<T>(node: &Dur<Ends>, mode: Mode, body: impl FnMut(&mut dyn Access) -> Result<T>) -> T {
    let how = Begin { mode, ..Begin::default() };
    node.execute(&mut Body(body), how, &mut |_: u32, _: &Error| true).expect("it is retried").0
}

/// Moves all of a register to another one, and deletes it: keys come and go.
fn move_all(node: &Dur<Ends>, table: TableId, from: u64, to: u64) {
    call(node, Mode::ReadWrite, |mut access| {
        let Some(value) = get(&mut access, table, from)? else { return Ok(()) };
        let there = get(&mut access, table, to)?.unwrap_or(0);
        put(&mut access, table, to, there + value)?;
        delete(&mut access, table, from).map(drop)
    });
}

fn sum(node: &Dur<Ends>, table: TableId, mode: Mode) -> u64 {
    call(node, mode, |mut access| Ok(all(&mut access, table)?.iter().map(|(_, value)| value).sum()))
}

fn run(window: Window) {
    let list = Arc::new(List::default());
    let options = Options {
        executors: 1,
        speculative: 2,
        window,
        pending: 3,
        batch: 2,
        payloads: 1,
        tables: 1,
        ..Options::default()
    };
    let nodes = [0, 1].map(|node| {
        let ends = Ends { list: list.clone(), origin: Origin { node, life: 1 }, taken: Mutex::new(0) };
        Arc::new(Dur::new(ends, options.clone()))
    });
    let table = nodes[0].create_table(registers("registers", Storage::Ordered)).expect("a new table");
    call(&nodes[0], Mode::ReadWrite, |mut access| (0..SUM).try_for_each(|key| put(&mut access, table, key, 1)));
    nodes[1].catch_up(Duration::ZERO).expect("the order lives");
    let spawn = |node: usize, body: fn(&Dur<Ends>, TableId)| {
        let node = nodes[node].clone();
        thread::spawn(move || body(&node, table))
    };
    let threads = [
        spawn(0, |node, table| {
            move_all(node, table, 0, 9);
            move_all(node, table, 9, 1);
        }),
        spawn(0, |node, table| {
            move_all(node, table, 1, 0);
            assert_eq!(sum(node, table, Mode::ReadOnly), SUM);
        }),
        spawn(1, |node, table| {
            move_all(node, table, 2, 1);
            for mode in [Mode::Snapshot, Mode::ReadOnly] {
                assert_eq!(sum(node, table, mode), SUM, "{mode:?}");
            }
        }),
    ];
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    for node in &nodes {
        node.catch_up(Duration::ZERO).expect("the order lives");
        assert_eq!(sum(node, table, Mode::Snapshot), SUM);
        node.assert_idle();
    }
    list.stop();
}

#[test]
fn nothing_is_lost_under_random_schedules() {
    shuttle::check_random(|| run(Window::Sets), 2_000);
    shuttle::check_random(|| run(Window::Sliding), 2_000);
}

#[test]
fn nothing_is_lost_under_schedules_with_few_switches() {
    shuttle::check_pct(|| run(Window::Sliding), 2_000, 3);
    shuttle::check_pct(|| run(Window::Sets), 2_000, 3);
}
