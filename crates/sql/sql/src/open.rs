//! Opening of an instance, which connects the parts that register themselves.

use crate::catalog::{self, BuiltIn, Cache};
use crate::database::{Database, Instance, OpenDatabases, Options};
use crate::env::{Conflicts, Registry};
use crate::error::Result;
use crate::memory::Budget;
use crate::notify::Channels;
use crate::session::{Connect, Session};
use crate::storage::Samples;
use crate::store::{Exported, Store};
use crate::temporary::Temporary;
use crate::{functions, pg_catalog};
use advisory::Locks;
use std::sync::Arc;
use tables::{Sequences, SharedCatalog};

impl Database {
    /// Opens the SQL databases in an engine, and returns the one that the program itself uses ([`Options::database`]). Creates
    /// catalogs where there are none, and drops engine tables that an interrupted statement left behind.
    ///
    /// # Errors
    /// 3D000 if there is no such database, errors of the engine.
    pub fn open(store: Arc<dyn Store>, options: Options) -> Result<Arc<Database>> {
        functions::register(pg_catalog::FUNCTIONS, pg_catalog::FUNCTION_COLUMNS);
        catalog::register(BuiltIn { table: pg_catalog::table, view: pg_catalog::view, print: pg_catalog::print });
        let first = Cache::open(&*store)?;
        let sequences = Sequences::open(store.clone())?;
        if !options.is_prepared {
            tables::prepare(&*store, &first, &sequences)?;
        }
        let shared = SharedCatalog::open(&*store)?;
        let home = Instance::home(&*store, &shared, &options.database)?;
        let instance = Arc::new(Instance {
            budget: Budget::new(options.budget_bytes),
            advisory: Locks::new(options.advisory_locks),
            channels: Channels::new(options.notification_bytes),
            sessions: Registry::default(),
            conflicts: Conflicts::default(),
            exported: Exported::default(),
            samples: Samples::default(),
            temporary: Temporary::new(options.temporary.clone()),
            open: OpenDatabases::default(),
            store,
            options,
            shared,
            sequences,
            home,
        });
        instance.database(home)
    }

    /// Starts a session, in any database of the instance.
    ///
    /// # Errors
    /// 53300 for too many sessions, 3D000 and 28000 for a missing database or role.
    pub fn connect(self: &Arc<Self>, how: Connect) -> Result<Session> {
        Session::open(&self.instance, how)
    }
}
