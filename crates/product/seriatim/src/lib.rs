//! Seriatim: an embedded, durable, strictly serializable database.
//!
//! *Seriatim*: one after another. However many transactions run at once, they behave as if they had run one after
//! another, in an order that agrees with real time; read-only transactions meet no conflict; and what was acknowledged
//! survives a crash.
//!
//! ```
//! use seriatim::{record, Database, Error};
//!
//! record! {
//!     #[derive(Clone, Debug)]
//!     pub struct Account {
//!         pub id: i64,
//!         pub owner: String,
//!         pub balance: i64,
//!     }
//!     table "accounts";
//!     key (id);
//!     index by_owner (owner);
//! }
//!
//! # fn main() -> Result<(), Error> {
//! let db = Database::in_memory()?; // or Database::open("./data")
//! let accounts = db.table::<Account>()?;
//! db.run(|txn| {
//!     accounts.insert(txn, &Account { id: 1, owner: "Alice".into(), balance: 100 })?;
//!     accounts.insert(txn, &Account { id: 2, owner: "Bob".into(), balance: 0 })
//! })?;
//!
//! // Runs again by itself when another transaction was in the way; returns when it is durable.
//! db.run(|txn| {
//!     let from = accounts.update(txn, 1, |account| account.balance -= 30)?.unwrap();
//!     accounts.update(txn, 2, |account| account.balance += 30)?;
//!     if from.balance < 0 { Err(Error::body("not enough money")) } else { Ok(()) }
//! })?;
//!
//! // One unchanging view; it meets no conflict.
//! let total: i64 = db.read(|snapshot| {
//!     accounts.iter(snapshot).map(|account| Ok(account?.balance)).sum()
//! })?;
//! assert_eq!(total, 100);
//! # Ok(())
//! # }
//! ```
//!
//! # Where to look
//! - a database: [`Database`], its knobs in [`Builder`];
//! - tables: of Rust structs ([`record!`], [`Table`]), of bytes ([`BytesTable`]), of a shape known at run time
//!   ([`Schema`], [`RowTable`]);
//! - transactions: [`Database::run`] and [`Database::read`] for closures, [`Database::begin`] and [`Database::snapshot`]
//!   to hold one open ([`Transaction`], [`Snapshot`]), [`TransactionOptions`] and [`RetryPolicy`];
//! - what can go wrong: [`Error`], and the [`Conflict`] that names rule, table, key and the other transaction;
//! - procedures in batches, put into an order before they run: the module [`batch`];
//! - SQL, behind the feature `sql`: `Database::sql`, and the module `sql`;
//! - looking after it: [`Database::checkpoint`], [`Database::backup_to`], [`Database::verify`], [`Database::stats`].
//!
//! # What is promised
//! Strict serializability, always: weaker levels are not offered. What an acknowledgement says about the disk is a choice,
//! per database and per transaction ([`Durability`]):
//!
//! | durability | acknowledged when | a crash loses |
//! | --- | --- | --- |
//! | [`Fsync`](Durability::Fsync), the default | it, and everything it read, is on disk | nothing that was acknowledged |
//! | [`Async`](Durability::Async) | it is visible | at most the window between two syncs of the log |
//! | [`None`](Durability::None) | it is visible | whatever has not reached the disk by then |
//!
//! At each level what is found after a crash is a prefix of the history: never half a transaction, and never one without
//! what it had read.
//!
//! At `Fsync` every end of a transaction waits until what it read is durable: not only a commit but also a body's own error, a
//! [`Transaction::rollback`] and the drop of a [`Snapshot`], since they reveal what was read, too. Until then, what an open
//! transaction has read is provisional. What was read by a transaction that ended with a [`Conflict`] must not be used.
//!
//! # What is deliberately absent
//! - Several processes that write to one directory: the second is refused. `seriatim serve` shares one.
//! - Replicas.
//! - Changes of a table's columns, other than fields that are added.
//! - `async` functions: waiting for the disk is a separate step ([`Transaction::commit_unsynced`]).
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod backup;
pub mod batch;
mod builder;
mod bytes;
mod closing;
mod database;
mod defined;
mod directory;
mod engine;
mod error;
mod field;
mod handles;
mod maintenance;
mod now;
mod options;
mod range;
mod record;
mod resolve;
mod rows;
mod run;
mod shape;
mod snapshot;
#[cfg(feature = "sql")]
pub mod sql;
mod table;
mod transaction;

pub use backup::{BackupReport, VerifyReport};
pub use builder::{Builder, ChooseEngine};
pub use bytes::{BytesKey, BytesTable, Entries};
pub use database::{Database, IntoSchema, Stats};
pub use engine::{Engine, EngineStats};
pub use error::{Conflict, Duplicate, Error, GaveUp, Receipt, Result};
pub use field::{AsKey, AsPrefix, Date, DateTime, Field};
pub use model::RetryPolicy;
pub use options::TransactionOptions;
pub use range::KeyRange;
#[doc(hidden)]
pub use record::__index_number;
pub use record::{Index, Record};
pub use rows::{IntoValues, Row, RowTable, Rows};
pub use snapshot::Snapshot;
pub use table::{Records, Table, TableBy};
pub use transaction::{DurableCommit, PendingCommit, Savepoint, Transaction};

pub use model::{
    AbortClass, Change, Column, ColumnType, Durability, Fault, Holder, Invalid, Key, KeyKind, Limit, LimitKind, RowBuf,
    RowKind, RowRef, SerialPoint, Storage, Timestamp as TransactionId, Value, ValueRef,
};
pub use mvto::{CheckpointReport, Options as EngineOptions, RecoveryReport, Stats as MvtoStats};
pub use tables::{IndexSchema, Schema, SchemaBuilder};
pub use wal::{LogOptions, LogStats, RecoveryProgress, RecoveryStep};

/// The tour in the README is a test of its own.
#[cfg(doctest)]
#[doc = include_str!("../../../../README.md")]
struct Readme;
