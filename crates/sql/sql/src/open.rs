//! Opening of a database, which connects the parts that register themselves.

use crate::catalog::{self, BuiltIn, Cache};
use crate::database::{Database, Options};
use crate::error::Result;
use crate::memory::Budget;
use crate::notify::Channels;
use crate::session::{Connect, Session};
use crate::store::Store;
use crate::{functions, pg_catalog};
use advisory::Locks;
use std::sync::Arc;
use tables::Sequences;

impl Database {
    /// Opens the SQL database in an engine: creates the catalog if there is none, and drops engine tables that an interrupted
    /// statement left behind.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn open(store: Arc<dyn Store>, options: Options) -> Result<Arc<Database>> {
        functions::register(pg_catalog::FUNCTIONS, pg_catalog::FUNCTION_COLUMNS);
        catalog::register(BuiltIn { table: pg_catalog::table, view: pg_catalog::view, print: pg_catalog::print });
        let cache = Cache::open(&*store)?;
        let sequences = Sequences::open(store.clone())?;
        if !options.is_prepared {
            tables::prepare(&*store, &cache, &sequences)?;
        }
        let budget = Budget::new(options.budget_bytes);
        let advisory = Locks::new(options.advisory_locks);
        let channels = Channels::new(options.notification_bytes);
        let (sessions, exported) = Default::default();
        Ok(Arc::new(Database { store, options, cache, sequences, budget, sessions, exported, advisory, channels }))
    }

    /// Starts a session.
    ///
    /// # Errors
    /// 53300 for too many sessions, 3D000 and 28000 for a missing database or role.
    pub fn connect(self: &Arc<Self>, how: Connect) -> Result<Session> {
        Session::open(self.clone(), how)
    }
}
