//! What is measured: our engines and the other stores, by name.

use crate::access::Rival;
use crate::fjall::Fjall;
use crate::lmdb::Lmdb;
use crate::redb::Redb;
use crate::rocks::Rocks;
use crate::sqlite::Sqlite;
use crate::store::Store;
use clap::ValueEnum;
use lab::engines::{EngineName, OnEngine, on_engine};
use lab::trial::{Failure, Plan, Subject};
use model::{Durability, Schema};
use rocksdb::{OptimisticTransactionDB, TransactionDB};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;

/// An engine of ours, or a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Name {
    /// Ours: multi-version timestamp ordering
    Mvto,
    /// Ours: optimistic concurrency control, in memory
    Silo,
    /// Ours: strict two-phase locking, in memory
    Twopl,
    /// Ours: one mutex around one sorted map, the yardstick
    Twin,
    /// RocksDB, transactions that lock
    Rocksdb,
    /// RocksDB, transactions that validate
    RocksdbOptimistic,
    /// LMDB
    Lmdb,
    /// redb
    Redb,
    /// fjall, transactions that validate
    Fjall,
    /// SQLite
    Sqlite,
}

impl Name {
    /// The engine, if it is one of ours.
    pub fn engine(self) -> Option<EngineName> {
        match self {
            Name::Mvto => Some(EngineName::Mvto),
            Name::Silo => Some(EngineName::Silo),
            Name::Twopl => Some(EngineName::Twopl),
            Name::Twin => Some(EngineName::Twin),
            _ => None,
        }
    }

    /// Returns whether it can keep its data on a disk.
    pub fn is_durable(self) -> bool {
        self.engine().is_none_or(EngineName::is_durable)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().expect("none is left out").get_name())
    }
}

impl Subject for Name {
    fn isolation(self) -> &'static str {
        match self {
            Name::Rocksdb | Name::RocksdbOptimistic => "serializable by key, ranges not",
            Name::Lmdb | Name::Redb | Name::Sqlite => "strict serializable, one writer",
            Name::Fjall => "serializable",
            _ => self.engine().map_or("", EngineName::isolation),
        }
    }

    fn open<T: OnEngine>(plan: &Plan<Name>, schemas: Vec<Schema>, task: T) -> Result<T::Output, Failure> {
        match plan.engine {
            Name::Rocksdb => open::<Rocks<TransactionDB>, T>(plan, schemas, task),
            Name::RocksdbOptimistic => open::<Rocks<OptimisticTransactionDB>, T>(plan, schemas, task),
            Name::Lmdb => open::<Lmdb, T>(plan, schemas, task),
            Name::Redb => open::<Redb, T>(plan, schemas, task),
            Name::Fjall => open::<Fjall, T>(plan, schemas, task),
            Name::Sqlite => open::<Sqlite, T>(plan, schemas, task),
            Name::Mvto | Name::Silo | Name::Twopl | Name::Twin => {
                let engine = plan.engine.engine().expect("one of ours");
                on_engine(engine, &plan.settings, schemas, task).map_err(|error| error.to_string())
            }
        }
    }
}

fn open<S: Store, T: OnEngine>(plan: &Plan<Name>, schemas: Vec<Schema>, task: T) -> Result<T::Output, Failure> {
    let directory = plan.settings.data.as_deref().ok_or("it needs a directory")?;
    fs::create_dir_all(directory).map_err(|error| format!("cannot create {}: {error}", directory.display()))?;
    let is_durable = plan.durability.durability() != Durability::None;
    let store = S::open(directory, schemas.len(), is_durable).map_err(|error| error.to_string())?;
    let (engine, tables) = Rival::new(store, schemas);
    Ok(task.run(engine, tables))
}
