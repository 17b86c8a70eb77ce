//! The catalog that the databases of an engine share: which databases and roles there are.
//!
//! A database is a catalog of its own in an engine table of its own; identifiers, versions, sequences and the log are the engine's.
//! A row of the shared catalog is what makes a database exist: it is written by the transaction that writes the new catalog's first
//! rows, so a crash leaves a whole database or none. The engine table of a catalog without a row is dropped when the engine is opened
//! next (T3). Reasons: docs/decisions/0079.

use crate::catalog::{CATALOG, Catalog};
use crate::definition::{Oid, Relation, Storage};
use crate::storage::storages;
use crate::transact::{find, find_or_create, transact, transact_unawaited};
use crate::types::{Modifier, Type};
use model::{Access, Columns, Fault, Key, LogPosition, Mode, Result, RowBuf, RowRef, Scan, Schema, Store, TableId};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// Name of the engine table.
const SHARED: &str = "sql shared";
/// Key of the form of its rows.
const FORM_KEY: &[u8] = b"form";
/// The form that this code reads and writes.
const FORM: &[u8] = b"1";

/// The database that every engine has. Its catalog is the one of directories that knew one database only.
pub const POSTGRES: Oid = 5;
/// The database that new ones are copied from in PostgreSQL. Here it stays empty.
pub const TEMPLATE1: Oid = 1;
/// The database that nobody connects to.
pub const TEMPLATE0: Oid = 4;
/// The role that owns what nobody else does.
pub const SUPERUSER: Oid = 10;

/// A database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseDefinition {
    /// Its identifier. Those of users' databases are never given again.
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// The role that owns it.
    pub owner: Oid,
    /// Whether DROP DATABASE is refused.
    pub is_template: bool,
    /// Whether sessions may begin.
    pub allows_connections: bool,
    /// Sessions at once; -1: no limit of its own.
    pub connection_limit: i32,
    /// The settings that its sessions begin with.
    pub settings: Vec<(String, String)>,
    /// The comment on it.
    pub comment: Option<String>,
}

impl DatabaseDefinition {
    /// A database without options.
    pub fn plain(oid: Oid, name: impl Into<String>, owner: Oid) -> DatabaseDefinition {
        DatabaseDefinition {
            oid,
            name: name.into(),
            owner,
            is_template: false,
            allows_connections: true,
            connection_limit: -1,
            settings: Vec::new(),
            comment: None,
        }
    }

    /// The databases that are there from the beginning.
    fn built_in() -> [DatabaseDefinition; 3] {
        let plain = DatabaseDefinition::plain;
        let about = |what: &str| Some(what.to_owned());
        [
            DatabaseDefinition {
                comment: about("default administrative connection database"),
                ..plain(POSTGRES, "postgres", SUPERUSER)
            },
            DatabaseDefinition {
                is_template: true,
                comment: about("default template for new databases"),
                ..plain(TEMPLATE1, "template1", SUPERUSER)
            },
            DatabaseDefinition {
                is_template: true,
                allows_connections: false,
                comment: about("unmodifiable empty database"),
                ..plain(TEMPLATE0, "template0", SUPERUSER)
            },
        ]
    }
}

/// A role: a name that sessions connect with, and that owns what they make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "PostgreSQL's attributes, each by itself")]
pub struct RoleDefinition {
    /// Its identifier.
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// SUPERUSER
    pub is_superuser: bool,
    /// INHERIT
    pub inherits: bool,
    /// CREATEROLE
    pub creates_roles: bool,
    /// CREATEDB
    pub creates_databases: bool,
    /// LOGIN
    pub can_login: bool,
    /// REPLICATION
    pub replicates: bool,
    /// BYPASSRLS
    pub bypasses_row_security: bool,
    /// Sessions at once; -1: no limit of its own.
    pub connection_limit: i32,
    /// What proves that a client knows the password.
    pub verifier: Option<String>,
    /// End of the password's time. Microseconds since 1970.
    pub valid_until: Option<i64>,
    /// The settings that its sessions begin with.
    pub settings: Vec<RoleSetting>,
    /// The roles that it is a member of.
    pub memberships: Vec<RoleMembership>,
    /// The comment on it.
    pub comment: Option<String>,
}

/// A setting that the sessions of a role begin with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleSetting {
    /// The database in which it counts; 0: in all.
    pub database: Oid,
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A role's membership in another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleMembership {
    /// The other role.
    pub role: Oid,
    /// WITH ADMIN OPTION
    pub admin: bool,
    /// The role that granted it.
    pub grantor: Oid,
}

impl RoleDefinition {
    /// A role without options.
    pub fn plain(oid: Oid, name: impl Into<String>) -> RoleDefinition {
        RoleDefinition {
            oid,
            name: name.into(),
            is_superuser: false,
            inherits: true,
            creates_roles: false,
            creates_databases: false,
            can_login: false,
            replicates: false,
            bypasses_row_security: false,
            connection_limit: -1,
            verifier: None,
            valid_until: None,
            settings: Vec::new(),
            memberships: Vec::new(),
            comment: None,
        }
    }

    /// The role that is there from the beginning.
    fn built_in() -> RoleDefinition {
        RoleDefinition {
            is_superuser: true,
            creates_roles: true,
            creates_databases: true,
            can_login: true,
            replicates: true,
            bypasses_row_security: true,
            ..RoleDefinition::plain(SUPERUSER, "postgres")
        }
    }
}

/// Name of the engine table of a database's catalog.
pub(crate) fn catalog_name(database: Oid) -> String {
    if database == POSTGRES { CATALOG.to_owned() } else { format!("{CATALOG} {database}") }
}

/// The database that an engine table is the catalog of, by the engine table's name.
pub(crate) fn catalog_of(engine_table: &str) -> Option<Oid> {
    match engine_table.strip_prefix(CATALOG)? {
        "" => Some(POSTGRES),
        rest => rest.strip_prefix(' ')?.parse().ok(),
    }
}

/// The shared catalog.
#[derive(Clone, Copy, Debug)]
pub struct SharedCatalog {
    /// `None` in a directory of an earlier version on a full disk, which can be read: it has the databases that are there from the
    /// beginning.
    table: Option<TableId>,
}

/// Prefix of the keys of databases.
fn all_databases() -> Key {
    Key::from_bytes(b"d")
}

fn database_key(name: &str) -> Key {
    let mut key = all_databases();
    key.push_text(name);
    key
}

/// Prefix of the keys of roles.
fn all_roles() -> Key {
    Key::from_bytes(b"r")
}

fn role_key(name: &str) -> Key {
    let mut key = all_roles();
    key.push_text(name);
    key
}

fn damaged(why: impl std::fmt::Display) -> model::Error {
    Fault::Corruption { detail: format!("a definition in the shared catalog is damaged: {why}") }.into()
}

impl SharedCatalog {
    /// Finds the engine table, or makes it, with the databases that are there from the beginning.
    ///
    /// # Errors
    /// [`Fault::Corruption`] for an unknown form.
    pub fn open(engine: &dyn Store) -> Result<SharedCatalog> {
        let shared = match SharedCatalog::find(engine) {
            Some(shared) => shared,
            None => match find_or_create(engine, SHARED) {
                Err(model::Error::Fault(Fault::DiskFull { .. })) => return Ok(SharedCatalog { table: None }),
                made => SharedCatalog { table: Some(made?) },
            },
        };
        if transact(engine, Mode::ReadOnly, |access| shared.form(access))?.is_none() {
            transact(engine, Mode::ReadWrite, |access| shared.begin(access))?;
        }
        Ok(shared)
    }

    /// The shared catalog, if the engine has one.
    pub fn find(engine: &dyn Store) -> Option<SharedCatalog> {
        find(engine, SHARED).map(|table| SharedCatalog { table: Some(table) })
    }

    /// The engine table, of those who write.
    fn table(&self) -> Result<TableId> {
        let detail = || "the shared catalog could not be made: free some space and open the database again".to_owned();
        self.table.ok_or_else(|| Fault::DiskFull { detail: detail() }.into())
    }

    fn form(&self, access: &mut dyn Access) -> Result<Option<()>> {
        let mut form = RowBuf::new();
        if !access.read(self.table()?, FORM_KEY, Columns::All, &mut form)? {
            return Ok(None);
        }
        match form.bytes() == FORM {
            true => Ok(Some(())),
            false => Err(damaged(format_args!("form {:?} is not known", String::from_utf8_lossy(form.bytes())))),
        }
    }

    /// Writes what a fresh shared catalog has, unless another process has just done so.
    fn begin(&self, access: &mut dyn Access) -> Result<()> {
        if self.form(access)?.is_some() {
            return Ok(());
        }
        access.put(self.table()?, FORM_KEY, RowRef::new(FORM))?;
        self.put_role(access, &RoleDefinition::built_in())?;
        DatabaseDefinition::built_in().iter().try_for_each(|database| self.put_database(access, database))
    }

    /// All databases.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn databases<A: Access + ?Sized>(&self, access: &mut A) -> Result<Vec<DatabaseDefinition>> {
        match self.table {
            Some(table) => scan(access, table, all_databases()),
            None => Ok(DatabaseDefinition::built_in().into()),
        }
    }

    /// The database of this name. Protects the answer, also that there is none.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn database<A: Access + ?Sized>(&self, access: &mut A, name: &str) -> Result<Option<DatabaseDefinition>> {
        match self.table {
            Some(table) => read(access, table, &database_key(name)),
            None => Ok(DatabaseDefinition::built_in().into_iter().find(|database| database.name == name)),
        }
    }

    /// Same as [`SharedCatalog::database`], in a transaction of its own. Also returns the log position that an answer about it must
    /// wait for.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn find_database(&self, engine: &dyn Store, name: &str) -> Result<(Option<DatabaseDefinition>, LogPosition)> {
        transact_unawaited(engine, Mode::ReadOnly, |access| self.database(access, name))
    }

    /// Enters a database, or replaces its definition.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn put_database<A: Access + ?Sized>(&self, access: &mut A, database: &DatabaseDefinition) -> Result<()> {
        access.put(self.table()?, &database_key(&database.name), RowRef::new(&encode(database)?))
    }

    /// Gives a database another name.
    ///
    /// # Errors
    /// [`model::Error::Duplicate`] if the name is taken.
    pub fn rename_database<A: Access + ?Sized>(
        &self,
        access: &mut A,
        old: &str,
        database: &DatabaseDefinition,
    ) -> Result<()> {
        access.insert(self.table()?, &database_key(&database.name), RowRef::new(&encode(database)?))?;
        access.delete(self.table()?, &database_key(old))?;
        Ok(())
    }

    /// All roles, but for those that PostgreSQL predefines (`pg_monitor` and others).
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn roles<A: Access + ?Sized>(&self, access: &mut A) -> Result<Vec<RoleDefinition>> {
        match self.table {
            Some(table) => scan(access, table, all_roles()),
            None => Ok(vec![RoleDefinition::built_in()]),
        }
    }

    /// The role of this name. Protects the answer, also that there is none.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn role<A: Access + ?Sized>(&self, access: &mut A, name: &str) -> Result<Option<RoleDefinition>> {
        match self.table {
            Some(table) => read(access, table, &role_key(name)),
            None => Ok(Some(RoleDefinition::built_in()).filter(|role| role.name == name)),
        }
    }

    /// Same as [`SharedCatalog::role`], in a transaction of its own. Also returns the log position that an answer about it must wait
    /// for.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn find_role(&self, engine: &dyn Store, name: &str) -> Result<(Option<RoleDefinition>, LogPosition)> {
        transact_unawaited(engine, Mode::ReadOnly, |access| self.role(access, name))
    }

    /// Enters a role, or replaces its definition.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn put_role<A: Access + ?Sized>(&self, access: &mut A, role: &RoleDefinition) -> Result<()> {
        access.put(self.table()?, &role_key(&role.name), RowRef::new(&encode(role)?))
    }

    /// Removes a role.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn remove_role<A: Access + ?Sized>(&self, access: &mut A, name: &str) -> Result<()> {
        access.delete(self.table()?, &role_key(name))?;
        Ok(())
    }

    /// How many objects of other databases a role owns, by database.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn owned_elsewhere<A: Access + ?Sized>(
        &self,
        engine: &dyn Store,
        access: &mut A,
        role: Oid,
        here: Oid,
    ) -> Result<Vec<(String, usize)>> {
        let mut owned = Vec::new();
        for database in self.databases(access)?.into_iter().filter(|database| database.oid != here) {
            let Some(catalog) = Catalog::<Type, Modifier>::find_in(engine, database.oid) else { continue };
            let count = catalog.owners(access)?.values().filter(|owner| **owner == role).count();
            if count > 0 {
                owned.push((database.name, count));
            }
        }
        Ok(owned)
    }

    /// Makes a database: an empty catalog, and the row that says that it is there, in one transaction. Returns what must be durable
    /// before anybody is told of it.
    ///
    /// # Errors
    /// [`model::Error::Duplicate`] if the name is taken.
    pub fn create_database(&self, engine: &dyn Store, database: &DatabaseDefinition) -> Result<LogPosition> {
        let name = catalog_name(database.oid);
        let catalog = Catalog::<Type, Modifier>::over(engine.create_table(Schema::bytes(&*name).build()?)?);
        let row = encode(database)?;
        let entered = transact_unawaited(engine, Mode::ReadWrite, |access| {
            access.insert(self.table()?, &database_key(&database.name), RowRef::new(&row))?;
            catalog.begin(access)
        });
        if entered.is_err() {
            // What remains goes when the engine is opened next.
            let _ = engine.drop_table(&name);
        }
        Ok(entered?.1)
    }

    /// Removes a database that nobody uses: first the row that says that it is there, then its engine tables. Those that a crash
    /// leaves are dropped when the engine is opened next. `false` if it is gone already. Returns what must be durable before
    /// anybody is told.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn drop_database(&self, engine: &dyn Store, database: &DatabaseDefinition) -> Result<(bool, LogPosition)> {
        let catalog = Catalog::<Type, Modifier>::find_in(engine, database.oid);
        let ((was_there, relations), position) = transact_unawaited(engine, Mode::ReadWrite, |access| {
            let relations = catalog.as_ref().map_or(Ok(Vec::new()), |catalog| catalog.relations(access))?;
            Ok((access.delete(self.table()?, &database_key(&database.name))?, relations))
        })?;
        if was_there {
            drop_tables(engine, &relations, &catalog_name(database.oid));
        }
        Ok((was_there, position))
    }
}

fn read<A: Access + ?Sized, D: DeserializeOwned>(access: &mut A, table: TableId, key: &Key) -> Result<Option<D>> {
    let mut row = RowBuf::new();
    match access.read(table, key, Columns::All, &mut row)? {
        true => decode(row.bytes()).map(Some),
        false => Ok(None),
    }
}

fn scan<A: Access + ?Sized, D: DeserializeOwned>(access: &mut A, table: TableId, prefix: Key) -> Result<Vec<D>> {
    let mut found = Vec::new();
    access.scan(&Scan::table(table).prefix(prefix), &mut |item| {
        found.push(decode(item.row.bytes()));
        ControlFlow::Continue(())
    })?;
    found.into_iter().collect()
}

fn encode<D: Serialize>(definition: &D) -> Result<Vec<u8>> {
    serde_json::to_vec(definition).map_err(damaged)
}

fn decode<D: DeserializeOwned>(row: &[u8]) -> Result<D> {
    serde_json::from_slice(row).map_err(damaged)
}

/// Drops the engine tables of relations that are gone, and their catalog. A failure leaves the rest for the next opening.
fn drop_tables(engine: &dyn Store, relations: &[Relation], catalog: &str) {
    let gone: HashSet<TableId> = relations.iter().flat_map(storages).map(|storage: Storage| storage.id()).collect();
    for (id, schema) in engine.tables() {
        if gone.contains(&id) || schema.name() == catalog {
            let _ = engine.drop_table(schema.name());
        }
    }
}
