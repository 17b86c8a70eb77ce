//! A small engine, correct or broken in one way. It is optimistic: a transaction works on a copy of the naive twin, and commits
//! if nothing that it has read was written meanwhile.
#![allow(dead_code, reason = "each test takes what it needs")]

mod queue;
mod transaction;

use conformance::{Durable, Fixture, Knobs, Procedures, Programs, Sessions};
use env::{Disk, SimDisk};
use model::twin::Twin;
use model::{
    Access, AsDeclared, AsReexecutable, Begin, Committed, Decoder, Fault, Interactive, Invalid, Key, Limit, LimitKind,
    LogPosition, Pending, Program, Reexecutable, Result, Retry, RowRef, Schema, TableId,
};
use queue::{Calls, Queue};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};
pub use transaction::Transaction;

/// Defect of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing.
    None,
    /// Commits whatever happened to the rows that it has read.
    LosesUpdates,
    /// Commits whatever happened in the ranges that it has scanned.
    ShowsPhantoms,
    /// Writes are visible at once.
    ReadsUncommitted,
    /// Each statement sees the newest committed rows.
    ReadsCommitted,
    /// Reads the rows as they stood at the begin.
    ForgetsOwnWrites,
    /// An abort commits.
    KeepsAborted,
    /// A rollback to a savepoint takes nothing back.
    KeepsRolledBack,
    /// Serial points fall.
    ClaimsWrongOrder,
    /// A transaction sees the rows before the last commit.
    ReadsThePast,
    /// Limits are not looked at.
    IgnoresLimits,
    /// An insert overwrites.
    OverwritesOnInsert,
    /// A scan stops before the last row.
    SkipsTheLast,
    /// A commit keeps one of its writes.
    CommitsHalf,
    /// Read-only transactions write.
    WritesAsReader,
    /// Programs run twice, and both runs commit.
    RunsTwice,
    /// Most commits are acknowledged before they are on the disk.
    AcknowledgesTooSoon,
    /// None either: no transaction claims a serial point, and procedures run on a thread of their own.
    ClaimsNothing,
    /// Every third transaction claims no serial point.
    ClaimsAtTimes,
    /// Every attempt draws other random numbers.
    DrawsAnew,
}

/// Flaws by number.
const FLAWS: [Flaw; 20] = [
    Flaw::None,
    Flaw::LosesUpdates,
    Flaw::ShowsPhantoms,
    Flaw::ReadsUncommitted,
    Flaw::ReadsCommitted,
    Flaw::ForgetsOwnWrites,
    Flaw::KeepsAborted,
    Flaw::KeepsRolledBack,
    Flaw::ClaimsWrongOrder,
    Flaw::ReadsThePast,
    Flaw::IgnoresLimits,
    Flaw::OverwritesOnInsert,
    Flaw::SkipsTheLast,
    Flaw::CommitsHalf,
    Flaw::WritesAsReader,
    Flaw::RunsTwice,
    Flaw::AcknowledgesTooSoon,
    Flaw::ClaimsNothing,
    Flaw::ClaimsAtTimes,
    Flaw::DrawsAnew,
];

/// The engine.
#[derive(Debug)]
pub struct Small {
    flaw: Flaw,
    knobs: Knobs,
    store: Mutex<Store>,
    open: AtomicU64,
    begun: AtomicU64,
}

/// Committed state.
#[derive(Debug, Default)]
struct Store {
    twin: Twin,
    /// The twin before the last commit.
    before: Twin,
    schemas: Vec<Arc<Schema>>,
    /// Keys written by each commit.
    commits: Vec<Vec<(TableId, Key)>>,
    readers: u64,
    /// Number of times the database was opened.
    epoch: u64,
    /// Commits that are on the disk.
    durable: usize,
    disk: Option<SimDisk>,
}

impl Small {
    fn new(flaw: Flaw, knobs: &Knobs, store: Store) -> Arc<Small> {
        let (open, begun) = Default::default();
        Arc::new(Small { flaw, knobs: knobs.clone(), store: Mutex::new(store), open, begun })
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().expect("nobody panics with the store")
    }

    fn check(&self, kind: LimitKind, limit: Option<u64>, actual: u64) -> Result<()> {
        match limit {
            Some(limit) if actual > limit && self.flaw != Flaw::IgnoresLimits => {
                Err(Limit { kind, limit, actual }.into())
            }
            _ => Ok(()),
        }
    }

    fn create_table(&self, schema: Schema) -> Result<TableId> {
        let mut store = self.store();
        if store.schemas.iter().any(|known| known.name() == schema.name()) {
            return Err(Invalid::TableExists { table: schema.name().into() }.into());
        }
        self.check(LimitKind::Tables, self.knobs.tables, store.schemas.len() as u64 + 1)?;
        store.schemas.push(Arc::new(schema.clone()));
        store.before.create_table(schema.clone());
        let table = store.twin.create_table(schema);
        store.save()?;
        Ok(table)
    }
}

impl Store {
    /// Writes everything to the disk, if there is one.
    fn save(&mut self) -> Result<()> {
        self.durable = self.commits.len();
        let Some(disk) = &self.disk else { return Ok(()) };
        let mut bytes = Vec::new();
        let push = |bytes: &mut Vec<u8>, part: &[u8]| {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        };
        bytes.extend_from_slice(&self.epoch.to_le_bytes());
        bytes.extend_from_slice(&(self.schemas.len() as u64).to_le_bytes());
        for (number, schema) in self.schemas.iter().enumerate() {
            push(&mut bytes, schema.name().as_bytes());
            let rows: Vec<_> = self.twin.rows(TableId(number as u32)).collect();
            bytes.extend_from_slice(&(rows.len() as u64).to_le_bytes());
            for (key, row) in rows {
                push(&mut bytes, key);
                push(&mut bytes, row);
            }
        }
        write_file(disk, &bytes).map_err(|error| Fault::Disk { detail: error.to_string() }.into())
    }

    /// Reads what [`Store::save`] wrote. All tables on a disk are registers.
    fn load(disk: &SimDisk) -> Store {
        let mut store = Store { disk: Some(disk.clone()), ..Store::default() };
        let Some(bytes) = disk.contents("state") else { return store };
        let mut from = Decoder::new(&bytes);
        let number = |from: &mut Decoder<'_>| from.u64().expect("a whole file");
        store.epoch = number(&mut from) + 1;
        for table in 0..number(&mut from) {
            let name = part(&mut from);
            let name = String::from_utf8(name).expect("a name");
            let schema = conformance::registers::registers(&name, model::Storage::Ordered);
            store.schemas.push(Arc::new(schema.clone()));
            store.twin.create_table(schema);
            for _ in 0..number(&mut from) {
                let (key, row) = (part(&mut from), part(&mut from));
                store.twin.put(TableId(table as u32), &key, RowRef::new(&row)).expect("it fitted before");
            }
        }
        store.twin.commit();
        store.before = store.twin.clone();
        store
    }
}

fn part(from: &mut Decoder<'_>) -> Vec<u8> {
    let length = from.u64().expect("a whole file");
    (0..length).map(|_| from.u8().expect("a whole file")).collect()
}

fn write_file(disk: &SimDisk, bytes: &[u8]) -> std::result::Result<(), env::DiskError> {
    let _ = disk.remove("next"); // Left by a crash, or not there.
    let file = disk.create_new("next")?;
    file.write_at(0, bytes)?;
    file.sync()?;
    disk.rename("next", "state")?;
    disk.sync_dir("")
}

impl Interactive for Small {
    type Transaction<'engine> = Transaction<&'engine Small>;
    type Owned = Transaction<Arc<Small>>;

    fn begin(&self, how: Begin) -> Result<Self::Transaction<'_>> {
        Transaction::begin(self, how)
    }

    fn begin_owned(self: &Arc<Self>, how: Begin) -> Result<Self::Owned> {
        Transaction::begin(self.clone(), how)
    }

    fn wait_durable(&self, position: LogPosition) -> Result<()> {
        let mut store = self.store();
        let is_early = self.flaw == Flaw::AcknowledgesTooSoon && !store.commits.len().is_multiple_of(3);
        let is_durable = store.durable as u64 >= position.to_raw() || is_early;
        if is_durable { Ok(()) } else { store.save() }
    }

    fn durable(self: &Arc<Self>, position: LogPosition) -> Pending<Result<()>> {
        Pending::ready(self.wait_durable(position))
    }
}

/// `Reexecutable`. Its flaw is its own: whatever it executes may run twice.
#[derive(Debug)]
pub struct Door(AsReexecutable<Small>);

impl Reexecutable for Door {
    fn execute<P: Program>(
        &self,
        program: &mut P,
        how: Begin,
        retry: &mut dyn Retry,
    ) -> std::result::Result<(P::Output, Committed), P::Error> {
        if self.0.0.flaw == Flaw::RunsTwice {
            self.0.execute(program, how, retry)?;
        }
        self.0.execute(program, how, retry)
    }
}

/// The small engine with a flaw, by its number.
#[derive(Debug)]
pub struct Subject<const FLAW: usize>;

impl<const FLAW: usize> Fixture for Subject<FLAW> {
    type Engine = Small;

    const CLAIMS_SERIAL_POINTS: bool = !matches!(FLAWS[FLAW], Flaw::ClaimsNothing);

    fn open(knobs: &Knobs) -> Arc<Small> {
        Small::new(FLAWS[FLAW], knobs, Store::default())
    }

    fn create_table(engine: &Small, schema: Schema) -> Result<TableId> {
        engine.create_table(schema)
    }

    fn assert_idle(engine: &Small, entries: u64) {
        assert_eq!(engine.open.load(SeqCst), 0, "open transactions");
        let store = engine.store();
        let count = |number| store.twin.rows(TableId(number as u32)).count();
        let stored: usize = (0..store.schemas.len()).map(count).sum();
        assert_eq!(stored as u64, entries, "rows and index entries");
    }
}

impl<const FLAW: usize> Sessions for Subject<FLAW> {
    const READERS_COMMIT: bool = true;
}

impl<const FLAW: usize> Durable for Subject<FLAW> {
    fn reopen(disk: &SimDisk) -> Result<Arc<Small>> {
        let mut store = Store::load(disk);
        store.save()?;
        Ok(Small::new(FLAWS[FLAW], &Knobs::impatient(), store))
    }

    fn table(engine: &Small, name: &str) -> Option<TableId> {
        let at = engine.store().schemas.iter().position(|schema| schema.name() == name)?;
        Some(TableId(at as u32))
    }
}

impl<const FLAW: usize> Programs for Subject<FLAW> {
    type Door = Door;

    fn programs(engine: &Arc<Small>) -> Arc<Door> {
        Arc::new(Door(AsReexecutable(engine.clone())))
    }
}

impl<const FLAW: usize> Procedures for Subject<FLAW> {
    type Door = Calls;

    fn procedures(engine: &Arc<Small>) -> Arc<Calls> {
        let door = Door(AsReexecutable(engine.clone()));
        Arc::new(match engine.flaw {
            Flaw::ClaimsNothing => Calls::Queued(Queue::new(door)),
            _ => Calls::InTheCall(AsDeclared(door)),
        })
    }
}
