//! A database: an engine, what is known of its catalog, its sequences, its sessions.

use crate::definition::Cache;
use crate::env::Registry;
use crate::memory::{Budget, Memory};
use crate::store::Store;
use std::sync::Arc;
use std::time::Duration;
use tables::Sequences;

/// A database that sessions connect to.
pub struct Database {
    /// The engine.
    pub store: Arc<dyn Store>,
    /// Limits and defaults.
    pub options: Options,
    /// Definitions that were read before, by name and version.
    pub cache: Cache,
    /// The state of the sequences, and of the row numbers of tables without a primary key.
    pub sequences: Sequences,
    /// The memory of all sessions' statements.
    pub budget: Arc<Budget>,
    /// The open sessions, for `pg_stat_activity` and cancel requests.
    pub sessions: Registry,
}

/// Limits and defaults of a database. Each limit has its error.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of one statement's text (54000). Default 16 MiB.
    pub statement_bytes: usize,
    /// Bytes that one statement may hold for sorting, hashing and materializing (53200). Default 256 MiB.
    pub work_bytes: usize,
    /// Bytes that the statements of all sessions may hold together (53200), whatever each may hold. Default 1 GiB.
    pub budget_bytes: usize,
    /// Sessions at once (53300). Default 400.
    pub connections: usize,
    /// How long a session may do nothing inside a transaction (25P03); zero: for ever. Default 5 minutes.
    pub idle_in_transaction: Duration,
    /// Prepared statements and portals of one session (53400). Default 10,000.
    pub prepared: usize,
    /// When the server gives up running a single-statement transaction again after conflicts.
    pub retry: model::RetryPolicy,
    /// What acknowledgements wait for, unless a session sets `synchronous_commit`.
    pub durability: model::Durability,
    /// Whether the tables were made ready before ([`tables::prepare`]), and may be in use.
    pub is_prepared: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            statement_bytes: 16 << 20,
            work_bytes: 256 << 20,
            budget_bytes: 1 << 30,
            connections: 400,
            idle_in_transaction: Duration::from_secs(300),
            prepared: 10_000,
            retry: model::RetryPolicy::default(),
            durability: model::Durability::default(),
            is_prepared: false,
        }
    }
}

impl Database {
    /// What a statement that asks for `work_bytes` may hold: no more than all together.
    pub(crate) fn memory(&self, work_bytes: usize) -> Memory {
        Memory::new(self.budget.clone(), work_bytes.min(self.budget.limit()))
    }
}
