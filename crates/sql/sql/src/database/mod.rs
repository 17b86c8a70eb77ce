//! An instance: an engine, and what the databases in it share. A database: its catalog.
//!
//! `explain.rs` puts an engine's errors into the user's words; `sessions.rs` has who may begin a session, and how a database is made and
//! dropped.

mod advisory;
mod cluster;
mod explain;
mod sessions;

pub use cluster::{Cluster, Member};
pub use sessions::{Entrance, OpenDatabases};
pub(crate) use sessions::{exists, missing};

use crate::definition::{Cache, Oid};
use crate::env::{Conflicts, Registry, State};
use crate::memory::{Budget, Memory};
use crate::notify::Channels;
use crate::storage::Samples;
use crate::store::{Exported, Store};
use crate::temporary::Temporary;
use ::advisory::Locks;
use pgtypes::defined::Definition;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, RwLock};
use std::time::Duration;
use tables::{Sequences, SharedCatalog};

/// An engine, and what the databases in it share (docs/decisions/0079).
pub struct Instance {
    /// The engine.
    pub store: Arc<dyn Store>,
    /// Limits and defaults.
    pub options: Options,
    /// Which databases there are.
    pub shared: SharedCatalog,
    /// The state of the sequences, and of the row numbers of tables without a primary key.
    pub sequences: Sequences,
    /// The memory of all sessions' statements.
    pub budget: Arc<Budget>,
    /// The open sessions, for `pg_stat_activity` and cancel requests.
    pub sessions: Registry,
    /// The last conflicts of their transactions.
    pub conflicts: Conflicts,
    /// The snapshots that sessions have exported.
    pub exported: Exported,
    /// The sessions' advisory locks.
    pub advisory: Locks,
    /// LISTEN and NOTIFY.
    pub channels: Channels,
    /// Samples of the tables, for the optimizer.
    pub(crate) samples: Samples,
    /// Temporary files.
    pub(crate) temporary: Temporary,
    pub(crate) open: OpenDatabases,
    /// The database that the program itself uses.
    pub(crate) home: Oid,
}

/// A database that sessions connect to.
pub struct Database {
    /// The instance that it is in.
    pub instance: Arc<Instance>,
    /// Its identifier.
    pub oid: Oid,
    /// Cached definitions, by name and version.
    pub cache: Cache,
    /// Types that statements have defined, as values are read by them.
    pub(crate) types: TypeCache,
}

/// What a database shares with others is used as if it were its own.
impl Deref for Database {
    type Target = Instance;

    fn deref(&self) -> &Instance {
        &self.instance
    }
}

/// Limits and defaults of an instance. Each limit has its error.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of one statement's text (54000). Default 16 MiB.
    pub statement_bytes: usize,
    /// Bytes that one statement may hold for sorting, hashing and materializing; beyond them it uses temporary files, or fails (53200).
    /// Default 256 MiB.
    pub work_bytes: usize,
    /// Bytes that the statements of all sessions may hold together (53200), whatever the limit of each. Default 1 GiB.
    pub budget_bytes: usize,
    /// Sessions at once (53300). Default 400.
    pub connections: usize,
    /// Maximum idle time inside a transaction (25P03); zero means no limit. Default 5 minutes.
    pub idle_in_transaction: Duration,
    /// Prepared statements and portals of one session (53400). Default 10,000.
    pub prepared: usize,
    /// Advisory locks that all sessions hold and wait for together (53200). Default 100,000.
    pub advisory_locks: usize,
    /// Bytes of the notifications that wait for their listeners (54000). Default 64 MiB.
    pub notification_bytes: usize,
    /// Limits on retries of a single-statement transaction after conflicts.
    pub retry: model::RetryPolicy,
    /// Durability that acknowledgements wait for, unless a session sets `synchronous_commit`.
    pub durability: model::Durability,
    /// Settings that sessions begin with, before those of databases and roles.
    pub settings: Vec<(String, String)>,
    /// How long DROP DATABASE waits for sessions that are ending (55006). Default 5 s, as PostgreSQL.
    pub departure_wait: Duration,
    /// The database that the program itself uses, which is neither dropped nor renamed. Default `postgres`.
    pub database: String,
    /// A directory for temporary files alone, which is cleared. Default: the system's directory for them.
    pub temporary: Option<Arc<dyn ::env::Disk>>,
    /// Whether the tables were made ready before ([`tables::prepare`]), and may be in use.
    pub is_prepared: bool,
    /// The cluster that the engine is a node of, for `seriatim_cluster`. Default: none.
    pub cluster: Option<Arc<dyn Cluster>>,
}

/// The definitions that were read last, by identifier, with their versions.
pub(crate) type TypeCache = RwLock<HashMap<u32, (u64, Arc<Definition>)>>;

impl Default for Options {
    fn default() -> Options {
        Options {
            statement_bytes: 16 << 20,
            work_bytes: 256 << 20,
            budget_bytes: 1 << 30,
            connections: 400,
            idle_in_transaction: Duration::from_secs(300),
            prepared: 10_000,
            advisory_locks: 100_000,
            notification_bytes: 64 << 20,
            retry: model::RetryPolicy::default(),
            durability: model::Durability::default(),
            settings: Vec::new(),
            departure_wait: Duration::from_secs(5),
            database: "postgres".to_owned(),
            temporary: None,
            is_prepared: false,
            cluster: None,
        }
    }
}

impl Instance {
    /// Memory of a statement of a session.
    pub(crate) fn statement_memory(&self, session: &State) -> Memory {
        self.memory(session.derived.work_bytes.unwrap_or(self.options.work_bytes))
    }

    /// Memory of a statement with a limit of `work_bytes`, capped by the limit of all together.
    pub(crate) fn memory(&self, work_bytes: usize) -> Memory {
        Memory::new(self.budget.clone(), work_bytes.min(self.budget.limit()))
    }
}
