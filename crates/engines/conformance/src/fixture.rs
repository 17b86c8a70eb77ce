//! Interface between the battery and an engine: how to open it, and what must hold once every transaction has ended.

use env::SimDisk;
use model::{
    Begin, Committed, Declared, Finish, Interactive, LimitKind, Mode, Reexecutable, Result, Schema, SerialPoint,
    TableId, Tables,
};
use std::sync::Arc;
use std::time::Duration;

/// An engine under test. Every engine implements this trait; the other traits of this module are its doors and capabilities.
pub trait Fixture: Sized + 'static {
    /// The engine.
    type Engine: Send + Sync + 'static;

    /// Whether the engine claims a serial point for each transaction that commits. Without, group `serial_points` is listed as
    /// lacking, histories are judged by their dependencies alone, and the twin follows one transaction at a time.
    const CLAIMS_SERIAL_POINTS: bool = true;

    /// Opens an empty engine.
    fn open(knobs: &Knobs) -> Arc<Self::Engine>;

    /// Creates a table.
    ///
    /// # Errors
    /// Errors of the engine: a taken name, the limit on tables.
    fn create_table(engine: &Self::Engine, schema: Schema) -> Result<TableId>;

    /// Collects garbage that can be collected now. Returns how much; scripts record the number.
    fn collect(_engine: &Self::Engine) -> u64 {
        0
    }

    /// Asserts that ended transactions left nothing behind: no lock, no version, no open transaction. `entries` is the number
    /// of stored rows and index entries.
    fn assert_idle(_engine: &Self::Engine, _entries: u64) {}
}

/// Options that the battery sets on a fresh engine. `None`: the engine's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Knobs {
    /// Longest wait for another transaction. Zero: a conflict that would be a wait is an abort at once.
    pub wait_limit: Option<Duration>,
    /// Internal sizes (partitions, version chains, batches) so small that rare paths are common.
    pub has_small_parts: bool,
    /// Longest key, in bytes.
    pub key_bytes: Option<u64>,
    /// Longest row, in bytes.
    pub row_bytes: Option<u64>,
    /// Rows written by one transaction.
    pub write_set_rows: Option<u64>,
    /// Bytes of keys and rows written by one transaction.
    pub write_set_bytes: Option<u64>,
    /// Keys and ranges read by one transaction, where the engine limits or remembers them.
    pub read_set: Option<u64>,
    /// Transactions open at once.
    pub transactions: Option<u64>,
    /// Tables.
    pub tables: Option<u64>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
}

impl Knobs {
    /// No waits: one thread can drive many transactions.
    pub fn impatient() -> Knobs {
        Knobs { wait_limit: Some(Duration::ZERO), ..Knobs::default() }
    }

    /// Waits so long that only a lost wake-up reaches the limit.
    pub fn patient() -> Knobs {
        Knobs { wait_limit: Some(Duration::from_secs(60)), ..Knobs::default() }
    }

    /// Sets the knob of a limit.
    ///
    /// # Panics
    /// If the battery has no knob for it.
    pub fn set(&mut self, kind: LimitKind, limit: u64) {
        let knob = match kind {
            LimitKind::KeyBytes => &mut self.key_bytes,
            LimitKind::RowBytes => &mut self.row_bytes,
            LimitKind::WriteSetRows => &mut self.write_set_rows,
            LimitKind::WriteSetBytes => &mut self.write_set_bytes,
            LimitKind::Transactions => &mut self.transactions,
            LimitKind::Tables => &mut self.tables,
            LimitKind::Memory => &mut self.memory_bytes,
            other => panic!("the battery has no knob for {other:?}"),
        };
        *knob = Some(limit);
    }
}

/// An open transaction of an `Interactive` engine.
pub type Open<F> = <<F as Fixture>::Engine as Interactive>::Owned;

/// For `Interactive`: the caller holds transactions open.
pub trait Sessions: Fixture<Engine: Interactive> {
    /// Whether read-only transactions always commit.
    const READERS_COMMIT: bool;

    /// Folder in which the engine keeps the recorded output of the battery's scripts. `None`: the judges alone decide.
    const RECORDINGS: Option<&'static str> = None;

    /// Whether aborts name a committed transaction by its serial point instead of [`Finish::timestamp`].
    const NAMED_BY_SERIAL_POINT: bool = false;

    /// Whether transactions of [`Mode::Snapshot`] may miss what had committed before they began, unless [`Sessions::settle`] was
    /// called in between: they are serializable, and not strictly so. Histories are judged by that.
    const SNAPSHOTS_READ_THE_PAST: bool = false;

    /// Whether a transaction of [`Mode::Snapshot`] waits for older writers that are open, in order to read a point before which every
    /// transaction has ended. Engines that find such a point without a wait do not.
    const SNAPSHOTS_WAIT: bool = true;

    /// Has snapshots that begin from now on see what has committed, in an engine whose snapshots read the past.
    fn settle(_engine: &Self::Engine) {}

    /// Returns whether a concurrent run in these modes reached the engine's rare paths.
    fn was_exercised(_engine: &Self::Engine, _modes: &[Mode]) -> bool {
        true
    }
}

/// Engines in which a transaction may wait for another one.
pub trait Waits: Sessions {
    /// Number of transactions asleep now.
    fn asleep(engine: &Self::Engine) -> usize;
}

/// Engines that keep what was acknowledged over a crash.
pub trait Durable: Sessions {
    /// Opens the database on the disk; an empty disk is a new database. The log is driven by the threads that wait for it, so
    /// that a run is a function of the disk.
    ///
    /// # Errors
    /// Errors of recovery.
    fn reopen(disk: &SimDisk) -> Result<Arc<Self::Engine>>;

    /// The table of this name.
    fn table(engine: &Self::Engine, name: &str) -> Option<TableId>;
}

/// For `Reexecutable`: the engine runs programs, perhaps many times. Engines with `Interactive` alone go through [`model::AsReexecutable`].
pub trait Programs: Fixture {
    /// Type of the door that executes programs.
    type Door: Reexecutable;

    /// The door of an engine.
    fn programs(engine: &Arc<Self::Engine>) -> Arc<Self::Door>;
}

/// For `Declared`: the engine runs procedures whose footprint is known first. Others go through [`model::AsDeclared`].
pub trait Procedures: Fixture {
    /// Type of the door that calls procedures.
    type Door: Declared;

    /// Whether procedures of one caller that touch the same keys take effect in the order of submission: the engine fixes the order
    /// ahead, or runs each in the call.
    const KEEPS_ORDER: bool = true;

    /// The door of an engine.
    fn procedures(engine: &Arc<Self::Engine>) -> Arc<Self::Door>;
}

/// Opens an engine with one ordered table of registers.
pub fn with_registers<F: Sessions>(knobs: &Knobs, rows: &[(u64, u64)]) -> (Arc<F::Engine>, TableId) {
    let engine = F::open(knobs);
    let table = crate::registers::registers("registers", model::Storage::Ordered);
    let table = F::create_table(&engine, table).expect("a new table");
    crate::registers::load::<F>(&engine, table, rows);
    (engine, table)
}

/// Begins a transaction, which takes its place now.
pub fn begin<F: Sessions>(engine: &Arc<F::Engine>, mode: Mode) -> Open<F> {
    if mode == Mode::Snapshot {
        F::settle(engine);
    }
    let mut open = engine.begin_owned(Begin { mode, ..Begin::default() }).expect("room for one more");
    open.start().expect("nobody in the way");
    open
}

/// The engine's tables, as a capability.
pub fn ddl<F: Sessions>(engine: &Arc<F::Engine>) -> &dyn Tables {
    engine.ddl().expect("the engine has tables that come and go")
}

/// Returns the place in the serial order that a committed transaction claims, if the engine claims any.
///
/// # Panics
/// If it claims one and the engine claims none, or the other way round.
pub fn claim<F: Fixture>(committed: &Committed) -> Option<SerialPoint> {
    let claimed = committed.serial_point;
    assert_eq!(
        claimed.is_some(),
        F::CLAIMS_SERIAL_POINTS,
        "the engine claims a place for each transaction or for none"
    );
    claimed
}
