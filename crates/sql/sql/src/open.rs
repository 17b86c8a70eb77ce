//! Opens a database: where the parts that register themselves meet.

use crate::catalog::{self, BuiltIn, Cache};
use crate::database::{Database, Options};
use crate::error::Result;
use crate::memory::Budget;
use crate::session::{Connect, Session};
use crate::store::Store;
use crate::{functions, pg_catalog};
use std::sync::Arc;
use tables::Sequences;

impl Database {
    /// Opens the SQL database in an engine: makes the catalog if there is none, and drops engine tables that an
    /// interrupted statement left behind.
    ///
    /// # Errors
    /// The engine's.
    pub fn open(store: Arc<dyn Store>, options: Options) -> Result<Arc<Database>> {
        functions::register(pg_catalog::FUNCTIONS, pg_catalog::FUNCTION_COLUMNS);
        catalog::register(BuiltIn { table: pg_catalog::table, view: pg_catalog::view });
        let cache = Cache::open(&*store)?;
        let sequences = Sequences::open(store.clone())?;
        if !options.is_prepared {
            tables::prepare(&*store, &cache, &sequences)?;
        }
        let budget = Budget::new(options.budget_bytes);
        Ok(Arc::new(Database { store, options, cache, sequences, budget, sessions: Default::default() }))
    }

    /// A new session.
    ///
    /// # Errors
    /// 53300 with too many, 3D000 and 28000 for a database or a role that is not there.
    pub fn connect(self: &Arc<Self>, how: Connect) -> Result<Session> {
        Session::open(self.clone(), how)
    }
}
