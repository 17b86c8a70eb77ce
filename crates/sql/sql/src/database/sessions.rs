//! Who may begin a session in which database; how databases are made and dropped.

use super::{Database, Instance};
use crate::cancel::{Cancel, Wait, this_thread};
use crate::definition::{Cache, Oid};
use crate::env::Entry;
use crate::error::{Result, SqlError, state};
use crate::store::Store;
use model::LogPosition;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tables::{DatabaseDefinition, RoleDefinition, SharedCatalog};

/// The databases that are used, by their identifiers.
pub type OpenDatabases = Mutex<BTreeMap<Oid, Slot>>;

/// What is known of a database in this process.
#[derive(Debug)]
pub enum Slot {
    /// Its cache lives as long as somebody uses it.
    Open(Weak<Database>),
    /// It is being dropped: no session may begin.
    Leaving,
}

/// What a new session is given.
pub struct Entrance {
    /// The database.
    pub database: Arc<Database>,
    /// Its definition.
    pub definition: DatabaseDefinition,
    /// The role.
    pub role: RoleDefinition,
    /// The session's entry among the open ones.
    pub entry: Arc<Entry>,
    /// What must be durable before the client is told that the database is there.
    pub rests_on: LogPosition,
}

impl Instance {
    /// Registers a session in the database that it wants, as the role that it wants.
    ///
    /// # Errors
    /// 28000 if there is no such role, 3D000 if there is no such database, 55000 if it takes no sessions, 53300 for too many.
    pub(crate) fn enter(self: &Arc<Self>, user: &str, name: &str, client: Option<SocketAddr>) -> Result<Entrance> {
        let (role, role_rests_on) = self.shared.find_role(&*self.store, user)?;
        let role = role.ok_or_else(|| {
            let message = format!("role \"{user}\" does not exist");
            SqlError::new(state::INVALID_AUTHORIZATION_SPECIFICATION, message).hint(
                "CREATE ROLE ... LOGIN, or createuser, makes one; the first one is postgres: connect with -U postgres.",
            )
        })?;
        if !role.can_login {
            let message = format!("role \"{user}\" is not permitted to log in");
            return Err(SqlError::new(state::INVALID_AUTHORIZATION_SPECIFICATION, message));
        }
        if let Ok(limit) = usize::try_from(role.connection_limit)
            && self.sessions.all().iter().filter(|entry| entry.user == user).count() >= limit
        {
            let message = format!("too many connections for role \"{user}\"");
            return Err(SqlError::new(state::TOO_MANY_CONNECTIONS, message));
        }
        // The latch is held from the look at the definition to the entry, so that DROP DATABASE sees the one or the other.
        let mut open = self.latch();
        let (found, rests_on) = self.shared.find_database(&*self.store, name)?;
        let definition = found.ok_or_else(|| {
            missing(name)
                .hint("CREATE DATABASE, or createdb, makes one; psql -d postgres -l lists those that there are.")
        })?;
        if matches!(open.get(&definition.oid), Some(Slot::Leaving)) {
            return Err(missing(name).detail("It seems to have just been dropped or renamed."));
        }
        if !definition.allows_connections {
            let message = format!("database \"{name}\" is not currently accepting connections");
            return Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        if let Ok(limit) = usize::try_from(definition.connection_limit)
            && self.sessions.of_database(definition.oid).len() >= limit
        {
            let message = format!("too many connections for database \"{name}\"");
            return Err(SqlError::new(state::TOO_MANY_CONNECTIONS, message));
        }
        let database = self.use_database(&mut open, definition.oid)?;
        let limit = self.options.connections;
        let entry = self.sessions.enter(limit, (role.oid, user), (definition.oid, &definition.name), client)?;
        Ok(Entrance { database, definition, role, entry, rests_on: rests_on.max(role_rests_on) })
    }

    /// The database of an identifier, with one cache for all who use it.
    pub(crate) fn database(self: &Arc<Self>, oid: Oid) -> Result<Arc<Database>> {
        self.use_database(&mut self.latch(), oid)
    }

    fn use_database(self: &Arc<Self>, open: &mut BTreeMap<Oid, Slot>, oid: Oid) -> Result<Arc<Database>> {
        if let Some(Slot::Open(known)) = open.get(&oid)
            && let Some(database) = known.upgrade()
        {
            return Ok(database);
        }
        let cache = Cache::open_in(&*self.store, oid)?;
        let database = Arc::new(Database { instance: self.clone(), oid, cache, types: Default::default() });
        open.retain(|_, slot| {
            matches!(slot, Slot::Leaving) || matches!(slot, Slot::Open(used) if used.strong_count() > 0)
        });
        open.insert(oid, Slot::Open(Arc::downgrade(&database)));
        Ok(database)
    }

    /// The database of a name that the program itself uses.
    ///
    /// # Errors
    /// 3D000
    pub(crate) fn home(store: &dyn Store, shared: &SharedCatalog, name: &str) -> Result<Oid> {
        let (found, _) = shared.find_database(store, name)?;
        Ok(found.ok_or_else(|| missing(name))?.oid)
    }

    /// Makes an empty database. Returns what must be durable before anybody is told of it.
    ///
    /// # Errors
    /// 42P04 if the name is taken, errors of the engine.
    pub(crate) fn create_database(&self, definition: &DatabaseDefinition) -> Result<LogPosition> {
        self.shared.create_database(&*self.store, definition).map_err(|error| match error {
            model::Error::Duplicate(_) => exists(&definition.name),
            error => error.into(),
        })
    }

    /// Drops a database that nobody uses. Returns what must be durable before anybody is told.
    ///
    /// # Errors
    /// 55006 if sessions are in it, 3D000, errors of the engine.
    pub(crate) fn drop_database(
        &self,
        cancel: &Cancel,
        definition: &DatabaseDefinition,
        force: bool,
    ) -> Result<LogPosition> {
        let _leaving = self.without_sessions(cancel, definition, force)?;
        let (was_there, position) = self.shared.drop_database(&*self.store, definition)?;
        self.sessions.forget_database(definition.oid);
        if was_there { Ok(position) } else { Err(missing(&definition.name)) }
    }

    /// Keeps sessions out of a database, which has none, as long as the value lives.
    ///
    /// # Errors
    /// 55006 if sessions remain in it, or the program uses it; 57014, 57P01.
    pub(crate) fn without_sessions(
        &self,
        cancel: &Cancel,
        definition: &DatabaseDefinition,
        force: bool,
    ) -> Result<Leaving<'_>> {
        let (name, oid) = (&definition.name, definition.oid);
        if oid == self.home {
            return Err(in_use(name)
                .detail("The program that opened this directory uses it.")
                .hint("Start the program with another database."));
        }
        if force {
            for entry in self.sessions.of_database(oid) {
                self.sessions.terminate_backend(entry.process);
            }
        }
        let try_now = || {
            let mut open = self.latch();
            let is_free = !matches!(open.get(&oid), Some(Slot::Leaving)) && self.sessions.of_database(oid).is_empty();
            is_free.then(|| {
                open.insert(oid, Slot::Leaving);
                Leaving { instance: self, oid }
            })
        };
        let free = cancel.sleep_until(Wait::Sessions, Some(self.options.departure_wait), || {
            self.sessions.on_leave(this_thread());
            try_now()
        })?;
        free.ok_or_else(|| {
            let sessions = self.sessions.of_database(oid).len();
            let are = if sessions == 1 { "is 1 other session" } else { &*format!("are {sessions} other sessions") };
            in_use(name).detail(format!("There {are} using the database."))
        })
    }

    fn latch(&self) -> MutexGuard<'_, BTreeMap<Oid, Slot>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A database that takes no sessions at present.
pub(crate) struct Leaving<'i> {
    instance: &'i Instance,
    oid: Oid,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.instance.latch().remove(&self.oid);
    }
}

/// 3D000
pub(crate) fn missing(name: &str) -> SqlError {
    SqlError::new(state::INVALID_CATALOG_NAME, format!("database \"{name}\" does not exist"))
}

/// 42P04
pub(crate) fn exists(name: &str) -> SqlError {
    SqlError::new(state::DUPLICATE_DATABASE, format!("database \"{name}\" already exists"))
}

/// 55006
fn in_use(name: &str) -> SqlError {
    SqlError::new(state::OBJECT_IN_USE, format!("database \"{name}\" is being accessed by other users"))
}
