//! The vocabulary of the workspace: operations of transactions, observations of them, and nothing else.
//!
//! No atomics, no threads, no clock, no I/O: everything here is data or a trait. Protocols share these two ends and
//! never the middle (`docs/vocabulary.md` has the words).
//!
//! - stored data: [`Key`], [`Value`], [`RowBuf`], [`Schema`], [`Predicate`];
//! - operations of a transaction body: [`Access`], and a [`Program`] generic over it;
//! - entry into an engine: the three doors [`Interactive`], [`Reexecutable`] and [`Declared`], with the adapters
//!   [`AsReexecutable`] and [`AsDeclared`]; `Interactive` as an object: [`Store`];
//! - results that come later: [`Pending`], a commit's decision, a position's durability, a procedure's end;
//! - optional capabilities beyond a door: [`Savepoints`], [`Supervised`], [`SkipsLocked`], [`SharedReads`] of a
//!   transaction, scans by column ([`columns`]) of shared reads, [`Tables`] and [`Snapshots`] of an engine;
//! - results: [`Committed`], with a [`SerialPoint`] where the engine claims one, or an [`Error`] whose [`Abort`] names rule,
//!   table, key and the other transaction;
//! - retries after a conflict: a [`RetryPolicy`], and the one loop, [`retry::run`];
//! - writes that a trial run keeps to itself: [`OwnWrites`];
//! - supervision, which may end waits from outside: a [`Supervisor`];
//! - records of an observer: [`history`];
//! - reference for every engine: the naive [`twin`].
#![forbid(unsafe_code)]

mod access;
pub mod decimal;
mod doors;
mod draws;
mod error;
mod extreme;
pub mod history;
mod key;
mod malformed;
mod met;
mod own_writes;
mod predicate;
pub mod retry;
mod row;
mod scan;
mod schema;
mod sieve;
mod supervisor;
mod time;
pub mod twin;
mod unknown_call;
mod value;

pub use access::{Access, Program, SIDE_BY_SIDE};
/// Reads the arguments of procedures and the fields of log records.
pub use codec::Reader as Decoder;
pub use doors::columns;
pub use doors::{
    AnyProcedure, AsDeclared, AsReexecutable, BatchEntry, Begin, Committed, Completed, Declared, Engine, Extremes,
    Finish, Footprint, FootprintChecked, FootprintEntry, FootprintRange, Got, Guarded, Interactive, Later, LogUsage,
    LoggedCall, Mode, NameTaken, OpenTransaction, Pending, Procedure, ReadView, Reexecutable, Registry, Savepoint,
    Savepoints, SharedReads, SkipsLocked, Snapshots, Store, Supervised, Tables, Ticket, Touch, Transaction, Usage,
    decode_bound, encode_bound, encode_call, read_alone, run_interactively,
};
pub use draws::Draws;
pub use error::{Abort, AbortClass, Duplicate, Error, Fault, Holder, Invalid, Limit, LimitKind, Result, Target};
pub use extreme::Extreme;
pub use key::{Key, KeyReader, write_raw_key};
pub use malformed::Malformed;
pub use met::{ColumnChange, Met, RowChange, Words};
pub use own_writes::{OwnWrites, Rows};
pub use predicate::{Comparison, Predicate};
pub use retry::{Retry, RetryPolicy};
pub use row::{Change, Columns, Delta, RawValue, RowBuf, RowBuilder, RowRef};
pub use scan::{Direction, Item, Scan, ScanEnd};
pub use schema::{Column, KeyKind, RowKind, Schema, SchemaBuilder, Storage, TableId};
pub use supervisor::Supervisor;
pub use time::{Durability, LogPosition, SerialPoint, Timestamp};
pub use unknown_call::UnknownCall;
pub use value::{ColumnType, Value, ValueRef};
