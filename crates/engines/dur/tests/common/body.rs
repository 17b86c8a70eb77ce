//! Procedures whose bodies are closures, and gates that hold their first runs.
#![allow(dead_code, reason = "each test takes what it needs")]

use conformance::registers::{get, put};
use model::{
    Access, Begin, Completed, Declared, Error, Footprint, Malformed, Procedure, Program, Result, TableId, Ticket,
};
use std::ops::Bound;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

type Body = Arc<dyn Fn(&mut dyn Access) -> Result<u64> + Send + Sync>;

/// A procedure made of a closure, which may access keys up to 99 of its table.
#[derive(Clone)]
pub struct Do(TableId, Body);

impl Do {
    pub fn new(table: TableId, body: impl Fn(&mut dyn Access) -> Result<u64> + Send + Sync + 'static) -> Do {
        Do(table, Arc::new(body))
    }
}

impl Program for Do {
    type Output = u64;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> Result<u64> {
        (self.1)(&mut access)
    }
}

impl Procedure for Do {
    const NAME: &'static str = "do";
    fn encode_arguments(&self, _: &mut Vec<u8>) {}
    fn decode_arguments(_: &[u8]) -> std::result::Result<Do, Malformed> {
        Err(Malformed)
    }
    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        let footprint = Footprint::default().reads_range(self.0, Bound::Unbounded, Bound::Unbounded);
        Ok((0..100u64).fold(footprint, |footprint, key| footprint.writes(self.0, key)))
    }
}

/// Holds the first run of a body.
pub struct Gate {
    begun: Receiver<()>,
    go: SyncSender<()>,
}

/// The body's side of a gate.
#[derive(Clone)]
pub struct Held(Arc<Mutex<Option<Ends>>>);

/// Says that the body is there, and waits until it may go on.
type Ends = (SyncSender<()>, Receiver<()>);

impl Gate {
    pub fn new() -> (Gate, Held) {
        let ((begin, begun), (go, gone)) = (sync_channel(1), sync_channel(1));
        (Gate { begun, go }, Held(Arc::new(Mutex::new(Some((begin, gone))))))
    }

    /// Waits until the body is there.
    pub fn wait(&self) {
        self.begun.recv().expect("the body runs");
    }

    /// Lets it go on.
    pub fn open(self) {
        self.go.send(()).expect("the body waits");
    }
}

impl Held {
    /// Stops the first run here.
    pub fn pass(&self) {
        let first = self.0.lock().expect("no panic").take();
        if let Some((begin, gone)) = first {
            begin.send(()).expect("the test listens");
            gone.recv().expect("the test opens the gate");
        }
    }
}

/// Submits a procedure that runs again after a conflict; more often than any test needs, it never commits.
pub fn submit(node: &impl Declared, procedure: Do) -> Ticket<Do> {
    node.submit(procedure, Begin::default(), Box::new(|failed: u32, _: &Error| failed < 1_000))
}

/// Submits a procedure that does not run again.
pub fn submit_once(node: &impl Declared, procedure: Do) -> Ticket<Do> {
    node.submit(procedure, Begin::default(), Box::new(|_: u32, _: &Error| false))
}

/// The output of a procedure that commits.
pub fn output(completed: Completed<Do>) -> u64 {
    completed.expect("it commits").0
}

/// Reads a register; zero if it is not there.
pub fn read(table: TableId, key: u64) -> Do {
    Do::new(table, move |mut access| Ok(get(&mut access, table, key)?.unwrap_or_default()))
}

/// Writes a register without reading it.
pub fn overwrite(table: TableId, key: u64, value: u64) -> Do {
    Do::new(table, move |mut access| put(&mut access, table, key, value).map(|()| value))
}

/// Reads a register, and writes one more to another one.
pub fn follow(table: TableId, from: u64, to: u64) -> Do {
    Do::new(table, move |mut access| {
        let value = get(&mut access, table, from)?.unwrap_or_default() + 1;
        put(&mut access, table, to, value).map(|()| value)
    })
}

/// The same, once its first run has passed a gate before it does anything.
pub fn held(procedure: Do, gate: Held) -> Do {
    let Do(table, body) = procedure;
    Do::new(table, move |access| {
        gate.pass();
        body(access)
    })
}
