//! Errors, in kinds that are never mixed: an abort (normal; has a retry hint and the conflict), a limit (named), a mistake of
//! the caller, a duplicate, a fault of the environment. Bugs are assertions, not errors.

use crate::{Key, Met, Predicate, Schema, Timestamp};
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

/// Result of the operations of a transaction.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of an operation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The transaction was aborted and has no effect. It is poisoned: every later call returns this error.
    Aborted(Box<Abort>),
    /// A wait ended without success: its limit was reached, or the transaction's [`crate::Supervisor`] ended it. The statement
    /// had no effect; the transaction stays open. Only supervised transactions get this error, with the facts of the abort that
    /// others would get.
    Unavailable(Box<Abort>),
    /// The data that the body reads is not available yet, so this attempt stops. Nothing is aborted: the engine runs the body
    /// again when it is. Bodies pass this on; no door returns it.
    NotYet,
    /// A limit was exceeded. The statement had no effect; the transaction stays open.
    Limit(Limit),
    /// The caller's request is invalid. The statement did not happen; the transaction stays open.
    Invalid(Invalid),
    /// A key exists already. The statement had no effect; the transaction stays open.
    Duplicate(Box<Duplicate>),
    /// The disk, the clock or the data directory failed.
    Fault(Fault),
}

/// The abort of a transaction, and its reason.
#[derive(Clone, Debug)]
pub struct Abort {
    /// Class, for counting and for deciding on a retry.
    pub class: AbortClass,
    /// The protocol's own name of the rule that was broken, such as `later-reader`.
    pub rule: &'static str,
    /// The rule in a sentence.
    pub explanation: &'static str,
    /// The table of the conflict, if there is one.
    pub table: Option<Arc<Schema>>,
    /// The key or range.
    pub target: Target,
    /// This transaction.
    pub transaction: Timestamp,
    /// The other transaction, if known.
    pub other: Option<Timestamp>,
    /// Both sides of the conflict, where the protocol has them: what this one has read, and how the other one has changed it.
    pub met: Option<Box<Met>>,
}

/// Classes of aborts, shared by all protocols: enough for a user to decide what to do, without the protocol's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AbortClass {
    /// A read of one transaction and a write of another cannot both stand in one serial order: another has read what this
    /// one writes, or has changed what this one read.
    ReadWrite,
    /// Another transaction has written, or is about to write, what this one writes.
    WriteWrite,
    /// The definition of a table is not the one that the transaction began with.
    Definition,
    /// A declared footprint does not cover what the procedure touches now; the next attempt looks again.
    Footprint,
    /// The transaction would have to wait for another one, and the wait could be part of a deadlock.
    Priority,
    /// A wait for another transaction reached the wait limit.
    WaitLimit,
    /// The transaction's supervisor ended its wait.
    Interrupted,
    /// The transaction was older than the age limit.
    Age,
    /// The body requested it, or dropped the transaction.
    Requested,
}

/// Object of a conflict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// No particular object.
    #[default]
    None,
    /// One key of the table.
    Key(Key),
    /// The gap around a key that was found absent or scanned over.
    Gap(Key),
    /// A range of keys.
    Range(Bound<Key>, Bound<Key>),
}

/// A limit that was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The kind of limit.
    pub kind: LimitKind,
    /// Its value, in the kind's unit.
    pub limit: u64,
    /// Requested amount.
    pub actual: u64,
}

/// The kinds of limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LimitKind {
    /// Bytes of a key.
    KeyBytes,
    /// Bytes of a row.
    RowBytes,
    /// Rows written by one transaction.
    WriteSetRows,
    /// Bytes written by one transaction.
    WriteSetBytes,
    /// Open transactions.
    Transactions,
    /// Tables of one database.
    Tables,
    /// Attempts of a transaction that is run again after conflicts.
    Attempts,
    /// Procedures submitted in one batch.
    Batch,
    /// Procedures that were accepted and have not ended.
    Queue,
    /// Transactions that wait for one other.
    Waiters,
    /// Keys locked by one transaction.
    Locks,
    /// Rows, gaps and ranges read by one transaction.
    ReadSet,
    /// Bytes that rows, versions, indexes and open transactions hold.
    Memory,
    /// The same, while older versions are kept for an open transaction: its end makes room.
    MemoryHeld(Holder),
    /// Bytes that a database on disk needs when it is opened.
    MemoryToOpen,
}

/// The oldest open transaction, and what is kept for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Holder {
    /// By which others name it.
    pub transaction: Timestamp,
    /// Time since it began.
    pub age: Duration,
    /// Replaced versions that it may still read.
    pub versions: u64,
}

/// A mistake of the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Invalid {
    /// The table does not exist.
    UnknownTable {
        /// Its name, or number.
        table: String,
    },
    /// A table of this name exists.
    TableExists {
        /// Its name.
        table: String,
    },
    /// The database does not exist.
    UnknownDatabase {
        /// Its name.
        database: String,
    },
    /// The index does not exist.
    UnknownIndex {
        /// The table.
        table: String,
        /// The index's name or number.
        index: String,
    },
    /// The key cannot be one of this table.
    Key {
        /// The table.
        table: String,
    },
    /// The row does not fit the table.
    Row {
        /// The table.
        table: String,
        /// Description of the mistake.
        what: String,
    },
    /// The schema is invalid.
    Schema {
        /// The table.
        table: String,
        /// Description of the mistake.
        what: String,
    },
    /// A table of this name exists with another definition.
    Shape {
        /// The table.
        table: String,
        /// The difference, and what to do.
        what: String,
    },
    /// A range of a table that is not ordered.
    NotOrdered {
        /// The table.
        table: String,
    },
    /// A write in a read-only transaction.
    ReadOnly,
    /// An access outside the declared footprint.
    Undeclared {
        /// The table.
        table: String,
    },
    /// A procedure that no one registered when the database was opened: its calls could not be run again.
    Unregistered {
        /// Its name.
        procedure: String,
    },
    /// The input log has calls that the registered procedures cannot run again. Nothing in the directory was changed.
    LoggedCall(crate::UnknownCall),
    /// A savepoint that does not exist, or was released or rolled back.
    UnknownSavepoint,
    /// An option is out of its range.
    Option {
        /// Which one, and its range.
        what: String,
    },
    /// A directory cannot be used for the request. Nothing in it was changed.
    Directory {
        /// The directory.
        path: String,
        /// The obstacle, and what to do.
        what: String,
    },
    /// The database was not opened for this operation (a checkpoint of a database in memory, for example).
    Unsupported {
        /// Requested operation.
        what: &'static str,
    },
}

/// A key that exists already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The table.
    pub table: Arc<Schema>,
    /// The key.
    pub key: Key,
}

/// A failure of the environment: disk, clock, data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The disk is full: the transaction was aborted cleanly, before anything was installed.
    DiskFull {
        /// Error text of the disk.
        detail: String,
    },
    /// Whether the transaction committed is unknown: the log failed after it was installed ([`Fault::log_failed_at_commit`]), or nobody
    /// answered for its place in an order of several nodes.
    OutcomeUnknown {
        /// What happened, and how to find out.
        detail: String,
    },
    /// The log refuses writes since an earlier failure.
    LogFailed {
        /// The failure.
        detail: String,
    },
    /// The data directory is damaged, or another program's.
    Corruption {
        /// Place and kind of the damage.
        detail: String,
    },
    /// The data directory was written by a newer version.
    NewerFormat {
        /// Which file, and which versions can be read.
        detail: String,
    },
    /// The database was opened read-only.
    ReadOnly,
    /// The database was closed.
    Closed,
    /// A replica has not caught up with the others within the time that it may take. Nothing was changed.
    Behind {
        /// What it waited for, and how long.
        detail: String,
    },
    /// This node of a cluster takes part no more. Nothing was changed.
    Left {
        /// Why.
        detail: String,
    },
    /// Another checkpoint is being written.
    CheckpointRunning,
    /// The data directory is open already, in this process or another one.
    Locked {
        /// The directory and its holder.
        detail: String,
        /// Whether that process is terminating, for example because it was killed: then waiting helps.
        by_ending: bool,
    },
    /// The clock stalled or stepped back.
    Clock {
        /// Description of the clock's behaviour.
        detail: String,
    },
    /// Another operation of the disk failed.
    Disk {
        /// Error text of the disk.
        detail: String,
    },
}

impl Fault {
    /// The log failed after a transaction was installed: whether it committed is known when the database is opened again, and nothing
    /// can be written before.
    pub fn log_failed_at_commit(why: impl fmt::Display) -> Fault {
        Fault::OutcomeUnknown { detail: format!("the log failed: {why}; reopen the database to find out") }
    }
}

impl Error {
    /// Returns whether running the same transaction again can succeed.
    pub fn is_retryable(&self) -> bool {
        self.conflict().is_some_and(|abort| abort.class.is_retryable())
    }

    /// Returns whether another transaction caused the error.
    pub fn is_conflict(&self) -> bool {
        self.conflict().is_some_and(|abort| abort.class.is_conflict())
    }

    /// Returns the abort, if the error is one.
    pub fn abort(&self) -> Option<&Abort> {
        if let Error::Aborted(abort) = self { Some(abort) } else { None }
    }

    /// Returns the conflict, if the reason was another transaction or an end from outside, of the whole transaction or of the
    /// statement alone.
    pub fn conflict(&self) -> Option<&Abort> {
        if let Error::Aborted(abort) | Error::Unavailable(abort) = self { Some(abort) } else { None }
    }

    /// Turns the end of a statement into an abort of the whole transaction.
    pub fn into_abort(self) -> Error {
        if let Error::Unavailable(abort) = self { Error::Aborted(abort) } else { self }
    }

    /// Returns PostgreSQL's five-character code for this error.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            Error::Aborted(abort) | Error::Unavailable(abort) => match abort.class {
                AbortClass::ReadWrite
                | AbortClass::WriteWrite
                | AbortClass::Definition
                | AbortClass::Footprint
                | AbortClass::Priority => "40001",
                AbortClass::WaitLimit => "55P03",
                AbortClass::Interrupted => "57014",
                AbortClass::Age => "25P04",
                AbortClass::Requested => "40000",
            },
            Error::NotYet => "40000",
            Error::Limit(limit) => match limit.kind {
                LimitKind::Transactions | LimitKind::Locks | LimitKind::Queue | LimitKind::Waiters => "53400",
                LimitKind::Memory | LimitKind::MemoryHeld(_) | LimitKind::MemoryToOpen => "53200",
                LimitKind::Attempts => "40001",
                _ => "54000",
            },
            Error::Invalid(invalid) => match invalid {
                Invalid::UnknownTable { .. } => "42P01",
                Invalid::TableExists { .. } => "42P07",
                Invalid::UnknownDatabase { .. } => "3D000",
                Invalid::UnknownIndex { .. } => "42704",
                Invalid::Key { .. } | Invalid::Row { .. } => "22000",
                Invalid::Schema { .. } | Invalid::Shape { .. } => "42P16",
                Invalid::Option { .. } => "22023",
                Invalid::Directory { .. } => "55000",
                Invalid::ReadOnly => "25006",
                Invalid::UnknownSavepoint => "3B001",
                Invalid::Unregistered { .. } | Invalid::LoggedCall(_) => "42883",
                Invalid::NotOrdered { .. } | Invalid::Undeclared { .. } | Invalid::Unsupported { .. } => "0A000",
            },
            Error::Duplicate(_) => "23505",
            Error::Fault(fault) => match fault {
                Fault::DiskFull { .. } => "53100",
                Fault::OutcomeUnknown { .. } | Fault::LogFailed { .. } => "08007",
                Fault::Corruption { .. } => "XX001",
                Fault::NewerFormat { .. } => "0A000",
                Fault::ReadOnly => "25006",
                Fault::Closed | Fault::Behind { .. } | Fault::Left { .. } => "57P03",
                Fault::CheckpointRunning | Fault::Locked { .. } => "55006",
                Fault::Clock { .. } => "58000",
                Fault::Disk { .. } => "58030",
            },
        }
    }
}

impl AbortClass {
    /// Returns whether running the same transaction again can succeed.
    pub fn is_retryable(self) -> bool {
        self.is_conflict()
    }

    /// Returns whether another transaction caused it.
    pub fn is_conflict(self) -> bool {
        match self {
            AbortClass::ReadWrite
            | AbortClass::WriteWrite
            | AbortClass::Definition
            | AbortClass::Footprint
            | AbortClass::Priority
            | AbortClass::WaitLimit => true,
            AbortClass::Interrupted | AbortClass::Age | AbortClass::Requested => false,
        }
    }
}

impl From<Abort> for Error {
    fn from(abort: Abort) -> Error {
        Error::Aborted(Box::new(abort))
    }
}

impl From<Limit> for Error {
    fn from(limit: Limit) -> Error {
        Error::Limit(limit)
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Error {
        Error::Invalid(invalid)
    }
}

impl From<Duplicate> for Error {
    fn from(duplicate: Duplicate) -> Error {
        Error::Duplicate(Box::new(duplicate))
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Error {
        Error::Fault(fault)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Aborted(abort) => abort.fmt(f),
            Error::Unavailable(abort) => write!(f, "the statement was given up: {}", abort.explanation),
            Error::NotYet => {
                f.write_str("the value read is not available yet: this attempt ends, and the body is run again")
            }
            Error::Limit(limit) => limit.fmt(f),
            Error::Invalid(invalid) => invalid.fmt(f),
            Error::Duplicate(duplicate) => duplicate.fmt(f),
            Error::Fault(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Abort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.table.as_deref().map(|schema| self.target.of(schema));
        self.write(f, place.as_ref().map(|place| place as &dyn fmt::Display))
    }
}

impl Abort {
    /// Prints the abort, with the object of the conflict in the words of a layer above.
    pub fn write(&self, f: &mut fmt::Formatter<'_>, place: Option<&dyn fmt::Display>) -> fmt::Result {
        write!(f, "transaction {} aborted ({}): {}", self.transaction, self.rule, self.explanation)?;
        if let Some(place) = place {
            write!(f, "; {place}")?;
        }
        if let (Some(met), Some(schema)) = (self.met.as_deref(), self.table.as_deref()) {
            write!(f, ": {}; read as {}", met.change(schema), Bare { target: &met.keys, schema })?;
            if met.restriction != Predicate::True {
                write!(f, " where {}", met.restriction(schema))?;
            }
        }
        if let Some(other) = self.other {
            write!(f, "; other transaction {other}")?;
        }
        if self.class.is_retryable() {
            f.write_str("; the transaction might succeed if retried")?;
        }
        Ok(())
    }
}

impl Target {
    /// The object as the table's users know it: `table t, key (id=7)`.
    pub fn of<'t>(&'t self, schema: &'t Schema) -> impl fmt::Display + 't {
        TargetOf { target: self, schema }
    }
}

struct TargetOf<'t> {
    target: &'t Target,
    schema: &'t Schema,
}

impl fmt::Display for TargetOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TargetOf { target, schema } = *self;
        write!(f, "table {}", schema.name())?;
        if *target == Target::None { Ok(()) } else { write!(f, ", {}", Bare { target, schema }) }
    }
}

/// An object without its table.
struct Bare<'t> {
    target: &'t Target,
    schema: &'t Schema,
}

impl fmt::Display for Bare<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.schema;
        match self.target {
            Target::None => Ok(()),
            Target::Key(key) => {
                f.write_str("key ")?;
                schema.write_key(f, key)
            }
            Target::Gap(key) => {
                f.write_str("the gap at key ")?;
                schema.write_key(f, key)
            }
            Target::Range(Bound::Unbounded, Bound::Unbounded) => f.write_str("all keys"),
            Target::Range(lower, upper) => {
                f.write_str("range ")?;
                write_bound(f, schema, lower, "the beginning")?;
                f.write_str(" to ")?;
                write_bound(f, schema, upper, "the end")
            }
        }
    }
}

fn write_bound(f: &mut fmt::Formatter<'_>, schema: &Schema, bound: &Bound<Key>, open: &str) -> fmt::Result {
    match bound {
        Bound::Unbounded => f.write_str(open),
        Bound::Included(key) => schema.write_key(f, key),
        Bound::Excluded(key) => {
            schema.write_key(f, key)?;
            f.write_str(" (excluded)")
        }
    }
}

impl fmt::Display for AbortClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AbortClass::ReadWrite => "read-write",
            AbortClass::WriteWrite => "write-write",
            AbortClass::Definition => "definition",
            AbortClass::Footprint => "footprint",
            AbortClass::Priority => "priority",
            AbortClass::WaitLimit => "wait-limit",
            AbortClass::Interrupted => "interrupted",
            AbortClass::Age => "age",
            AbortClass::Requested => "requested",
        })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            LimitKind::KeyBytes => "bytes of a key",
            LimitKind::RowBytes => "bytes of a row",
            LimitKind::WriteSetRows => "rows written by one transaction",
            LimitKind::WriteSetBytes => "bytes written by one transaction",
            LimitKind::Transactions => "open transactions",
            LimitKind::Tables => "tables",
            LimitKind::Attempts => "attempts of one transaction",
            LimitKind::Batch => "procedures of one batch",
            LimitKind::Queue => "procedures under way",
            LimitKind::Waiters => "transactions that wait for one other",
            LimitKind::Locks => "keys locked by one transaction",
            LimitKind::ReadSet => "rows and gaps read by one transaction",
            LimitKind::Memory | LimitKind::MemoryHeld(_) => return self.write_memory(f),
            LimitKind::MemoryToOpen => return self.write_memory_to_open(f),
        };
        write!(f, "limit on {what} exceeded: {} requested, {} allowed", self.actual, self.limit)
    }
}

impl Limit {
    fn write_memory(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "out of memory: rows, indexes and open transactions would take {} bytes of the {} allowed; deleting, dropping and \
             truncating go on, as do updates that do not make a row longer, in small transactions; or raise the limit (`--memory`, \
             `Builder::memory`), of which statements keep a part for themselves",
            self.actual, self.limit
        )?;
        let LimitKind::MemoryHeld(Holder { transaction, age, versions }) = self.kind else { return Ok(()) };
        write!(
            f,
            "; {versions} versions are held by transaction {transaction}, open for {age:.1?}: end it to make room"
        )
    }

    fn write_memory_to_open(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the database needs about {} bytes of memory, and the limit is {}: open it with a higher limit",
            self.actual, self.limit
        )
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Invalid::UnknownTable { table } => write!(f, "table {table} does not exist"),
            Invalid::TableExists { table } => write!(f, "table {table} already exists"),
            Invalid::UnknownDatabase { database } => {
                write!(f, "database {database:?} does not exist: SQL's CREATE DATABASE makes one")
            }
            Invalid::UnknownIndex { table, index } => write!(f, "table {table} has no index {index}"),
            Invalid::Key { table } => write!(f, "the key does not fit table {table}"),
            Invalid::Row { table, what } => write!(f, "the row does not fit table {table}: {what}"),
            Invalid::Schema { table, what } => write!(f, "the schema of table {table} is invalid: {what}"),
            Invalid::Shape { table, what } => write!(f, "table {table} exists with another definition: {what}"),
            Invalid::NotOrdered { table } => {
                write!(f, "table {table} is stored by hash and has no ranges; create it with ordered storage")
            }
            Invalid::ReadOnly => f.write_str("cannot write in a read-only transaction"),
            Invalid::Undeclared { table } => {
                write!(
                    f,
                    "access to table {table} outside the declared footprint of the procedure: declare the key or the range"
                )
            }
            Invalid::Unregistered { procedure } => write!(
                f,
                "procedure {procedure} is not registered, so that its calls could not be run again: register it when the \
                 database is opened"
            ),
            Invalid::LoggedCall(unknown) => unknown.fmt(f),
            Invalid::Option { what } => f.write_str(what),
            Invalid::Directory { path, what } => write!(f, "{path}: {what}"),
            Invalid::UnknownSavepoint => f.write_str("the savepoint does not exist, or was released or rolled back"),
            Invalid::Unsupported { what } => write!(f, "not supported here: {what}"),
        }
    }
}

impl fmt::Display for Duplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("duplicate key ")?;
        self.table.write_key(f, &self.key)?;
        write!(f, " in table {}", self.table.name())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::DiskFull { detail } => write!(f, "disk full, nothing was changed: {detail}"),
            Fault::OutcomeUnknown { detail } => {
                write!(f, "whether the transaction committed is unknown: {detail}")
            }
            Fault::LogFailed { detail } => {
                write!(f, "the log has failed and accepts no more writes: {detail}; reopen the database")
            }
            Fault::Corruption { detail } => write!(f, "data directory damaged: {detail}"),
            Fault::NewerFormat { detail } => write!(f, "data directory of a newer version: {detail}"),
            Fault::ReadOnly => f.write_str("the database was opened read-only"),
            Fault::Closed => f.write_str("the database was closed"),
            Fault::Behind { detail } => {
                write!(
                    f,
                    "this node has not caught up with the others, nothing was changed: {detail}; try again, or on another node"
                )
            }
            Fault::Left { detail } => {
                write!(f, "this node takes part in its cluster no more: {detail}; connect to another node")
            }
            Fault::CheckpointRunning => f.write_str("another checkpoint is being written"),
            Fault::Locked { detail, .. } => write!(f, "data directory in use: {detail}"),
            Fault::Clock { detail } => write!(f, "clock fault: {detail}"),
            Fault::Disk { detail } => write!(f, "disk error: {detail}"),
        }
    }
}
