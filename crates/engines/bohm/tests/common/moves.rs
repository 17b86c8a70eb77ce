//! Procedures that can be logged, databases on a simulated disk, and what they hold.
#![allow(dead_code, reason = "each test takes what it needs")]

use conformance::registers::{all, delete, get, put, registers};
use env::{SimDisk, SimDiskOptions};
use model::twin::Twin;
use model::{
    Access, BatchEntry, Begin, Completed, Declared, Decoder, Error, Footprint, Invalid, Malformed, Mode, Procedure,
    Program, Registry, Result, SerialPoint, Storage, TableId, Ticket, Touch,
};
use seriatim_bohm::{Bohm, Driver, LogOptions, Options};
use std::sync::{Arc, Condvar, Mutex};

/// Registers that are followed to: a register's value says to which.
pub const TARGETS: u64 = 8;
/// The first of them.
pub const FIRST_TARGET: u64 = 100;

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `to` becomes a function of `from`.
    Combine,
    /// `to` is deleted.
    Delete,
    /// It writes, and fails.
    Fail,
    /// It writes, and panics.
    Panic,
    /// Same as [`Kind::Combine`], once [`GATE`] is open.
    Hold,
    /// Which register it changes depends on `from`: a trial run finds it, and may miss.
    Follow,
}

const KINDS: [Kind; 6] = [Kind::Combine, Kind::Delete, Kind::Fail, Kind::Panic, Kind::Hold, Kind::Follow];

/// Holds who executes [`Kind::Hold`] while it is closed.
pub static GATE: Gate = Gate { state: Mutex::new((false, false)), changed: Condvar::new() };

/// A gate, and whether somebody has come to it.
pub struct Gate {
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Gate {
    /// Closes or opens the gate.
    pub fn set(&self, is_closed: bool) {
        *self.state.lock().expect("no panic") = (is_closed, false);
        self.changed.notify_all();
    }

    /// Waits until somebody is held.
    pub fn wait(&self) {
        let state = self.state.lock().expect("no panic");
        drop(self.changed.wait_while(state, |(_, has_come)| !*has_come).expect("no panic"));
    }

    fn pass(&self) {
        let mut state = self.state.lock().expect("no panic");
        state.1 = true;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |(is_closed, _)| *is_closed).expect("no panic"));
    }
}

/// A step on registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub table: TableId,
    pub kind: Kind,
    pub from: u64,
    pub to: u64,
    pub by: u64,
}

impl Step {
    /// Step `n` of a history of all kinds.
    pub fn nth(table: TableId, n: u64) -> Step {
        let kind = match n % 11 {
            3 => Kind::Delete,
            5 => Kind::Fail,
            7 => Kind::Panic,
            2 | 8 => Kind::Follow,
            _ => Kind::Combine,
        };
        Step { table, kind, from: n % 5, to: (n * 7 + 1) % 6, by: n }
    }

    fn target(&self, seen: Option<u64>) -> u64 {
        FIRST_TARGET + seen.unwrap_or_default() % TARGETS
    }
}

impl Program for Step {
    type Output = u64;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> Result<u64> {
        let Step { table, kind, from, to, by } = *self;
        if kind == Kind::Delete {
            return delete(&mut access, table, to).map(u64::from);
        }
        if kind == Kind::Hold {
            GATE.pass();
        }
        let seen = get(&mut access, table, from)?;
        let to = if kind == Kind::Follow { self.target(seen) } else { to };
        let before = if kind == Kind::Follow { get(&mut access, table, to)? } else { seen };
        let after = before.unwrap_or_default().wrapping_mul(31).wrapping_add(by);
        put(&mut access, table, to, after)?;
        match kind {
            Kind::Fail => Err(Invalid::ReadOnly.into()),
            // No message of the standard hook.
            Kind::Panic => std::panic::resume_unwind(Box::new("a body panics")),
            _ => Ok(after),
        }
    }
}

impl Procedure for Step {
    const NAME: &'static str = "step";
    const VERSION: u32 = 3;

    fn encode_arguments(&self, out: &mut Vec<u8>) {
        let kind = KINDS.iter().position(|kind| *kind == self.kind).expect("one of them") as u64;
        for number in [u64::from(self.table.0), kind, self.from, self.to, self.by] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn decode_arguments(arguments: &[u8]) -> std::result::Result<Step, Malformed> {
        let mut from = Decoder::new(arguments);
        let table = TableId(u32::try_from(from.u64()?).map_err(|_| Malformed)?);
        let kind = *KINDS.get(from.u64()? as usize).ok_or(Malformed)?;
        let step = Step { table, kind, from: from.u64()?, to: from.u64()?, by: from.u64()? };
        from.end()?;
        Ok(step)
    }

    /// Half of those that guess say so.
    fn guesses(&self) -> bool {
        self.kind == Kind::Follow && self.by.is_multiple_of(2)
    }

    fn footprint<A: Access + ?Sized>(&self, mut access: &mut A) -> Result<Footprint> {
        let Step { table, kind, from, to, .. } = *self;
        match kind {
            Kind::Delete => Ok(Footprint::default().touches(table, to, Touch::Delete)),
            Kind::Follow => {
                let target = self.target(get(&mut access, table, from)?);
                Ok(Footprint::default().reads(table, from).touches(table, target, Touch::Update))
            }
            _ => Ok(Footprint::default().reads(table, from).touches(table, to, Touch::Overwrite)),
        }
    }
}

/// The procedures of these tests.
pub fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.register::<Step>().expect("a new name");
    registry
}

/// Small segments, so that a short history fills many, and small parts, so that most batches are large records; the log's work is
/// done by who waits.
pub fn small() -> Options {
    let log = LogOptions {
        segment_bytes: 1024,
        part_bytes: 64,
        buffer_bytes: 1024,
        driver: Driver::Caller,
        ..LogOptions::default()
    };
    Options { log, planners: 2, executors: 2, batch: 4, has_small_nodes: true, ..Options::default() }
}

/// A disk that nothing is wrong with.
pub fn disk(seed: u64) -> SimDisk {
    SimDisk::new(seed, SimDiskOptions::default())
}

/// Opens the database of a disk.
pub fn reopen(disk: &SimDisk, options: Options) -> Result<Arc<Bohm>> {
    Bohm::open(Arc::new(disk.clone()), registry(), options).map(Arc::new)
}

/// Creates the table of the registers.
pub fn create(engine: &Bohm) -> Result<TableId> {
    engine.create_table(registers("registers", Storage::Ordered))
}

/// The table of a name.
pub fn table(engine: &Bohm, name: &str) -> Option<TableId> {
    engine.tables().into_iter().find(|(_, schema)| schema.name() == name).map(|(id, _)| id)
}

fn always(_: u32, _: &Error) -> bool {
    true
}

/// Submits steps together.
pub fn submit(engine: &Bohm, steps: impl IntoIterator<Item = Step>) -> Vec<Ticket<Step>> {
    let entry = |procedure| BatchEntry { procedure, how: Begin::default(), retry: Box::new(always) };
    engine.submit_batch(steps.into_iter().map(entry).collect())
}

/// Whether a step came to an end of its own, and was acknowledged.
pub fn is_acknowledged(completed: Completed<Step>) -> bool {
    !matches!(completed, Err(Error::Fault(_)))
}

/// The place of a snapshot of all registers.
pub fn place(engine: &Bohm, table: TableId) -> SerialPoint {
    let how = Begin { mode: Mode::Snapshot, ..Begin::default() };
    engine.call(All(table), how, always).expect("a snapshot").1.claimed()
}

/// All registers, with all that was submitted before.
pub fn contents(engine: &Bohm, table: TableId) -> Vec<(u64, u64)> {
    engine.settle();
    let how = Begin { mode: Mode::Snapshot, ..Begin::default() };
    let (rows, _) = engine.call(All(table), how, always).expect("a snapshot");
    rows
}

/// Reads all registers.
struct All(TableId);

impl Program for All {
    type Output = Vec<(u64, u64)>;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> Result<Vec<(u64, u64)>> {
        all(&mut access, self.0)
    }
}

impl Procedure for All {
    const NAME: &'static str = "all";
    fn encode_arguments(&self, _: &mut Vec<u8>) {}
    fn decode_arguments(_: &[u8]) -> std::result::Result<All, Malformed> {
        Err(Malformed)
    }
    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        let all = std::ops::Bound::Unbounded;
        Ok(Footprint::default().reads_range(self.0, all.clone(), all))
    }
}

/// The registers after 0, 1, 2, ... steps one after the other, by the naive twin.
pub fn expected(steps: impl Iterator<Item = Step>) -> Vec<Vec<(u64, u64)>> {
    let mut twin = Twin::new();
    let table = twin.create_table(registers("registers", Storage::Ordered));
    let mut states = vec![Vec::new()];
    for mut step in steps {
        step.table = table;
        match step.kind {
            // Without an effect: the twin has no abort to be tested here.
            Kind::Fail | Kind::Panic => {}
            _ => _ = step.run(&mut twin).expect("a twin takes everything"),
        }
        twin.commit();
        states.push(all(&mut twin, table).expect("an ordered table"));
    }
    states
}

/// The procedure of the same name, changed.
#[derive(Debug)]
pub struct Newer;

impl Program for Newer {
    type Output = ();
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, _: &mut A) -> Result<()> {
        Ok(())
    }
}

impl Procedure for Newer {
    const NAME: &'static str = Step::NAME;
    const VERSION: u32 = Step::VERSION + 1;
    fn encode_arguments(&self, _: &mut Vec<u8>) {}
    fn decode_arguments(_: &[u8]) -> std::result::Result<Newer, Malformed> {
        Ok(Newer)
    }
    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        Ok(Footprint::default())
    }
}
