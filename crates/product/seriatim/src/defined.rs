//! Tables in the catalog, and plain engine tables outside it.
//!
//! A table whose key is made of columns is in the catalog, which SQL uses too ([`tables::Tables`]). A table whose key is not part
//! of its rows (a table of bytes) is an engine table without a definition: SQL does not see it.

use crate::database::{Database, Shared};
use crate::handles::Handles;
use crate::resolve::{Place, TableRef, check_shape};
use crate::shape::difference;
use crate::{Fault, Invalid, KeyKind, Result, RowKind, Schema};
use model::{Store, TableId, Value};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tables::storage::is_own;
use tables::{Table, Tables, schema_of};

/// The tables that a database knows.
pub(crate) struct KnownTables {
    store: Arc<dyn Store>,
    /// The database whose tables they are; `None`: the first one.
    database: Option<String>,
    /// Created at its first use: a database with only tables of bytes has no catalog.
    tables: OnceLock<Tables>,
    making: Mutex<()>,
    pub handles: Handles,
}

impl KnownTables {
    /// Those of a database of which only the engine is used.
    pub fn none(store: Arc<dyn Store>) -> KnownTables {
        let (tables, handles) = (OnceLock::new(), Handles::default());
        KnownTables { store, database: None, tables, making: Mutex::default(), handles }
    }

    /// Prepares the catalog, if there is one, before the database is used.
    pub fn open(store: Arc<dyn Store>, database: Option<String>, is_read_only: bool) -> Result<KnownTables> {
        let tables = OnceLock::new();
        if let Some(found) = open_tables(&store, database.as_deref(), is_read_only)? {
            let _ = tables.set(found);
        }
        Ok(KnownTables { database, tables, ..KnownTables::none(store) })
    }

    /// The catalog, if there is one.
    pub fn known(&self) -> Option<&Tables> {
        self.tables.get()
    }

    /// Name of the database.
    #[cfg(feature = "sql")]
    pub fn database(&self) -> &str {
        self.database.as_deref().unwrap_or("postgres")
    }

    /// The catalog, which is created if there is none.
    pub fn tables(&self) -> Result<&Tables> {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if self.tables.get().is_none() {
            let _ = self.tables.set(Tables::open_in(self.store.clone(), self.database.as_deref())?);
        }
        Ok(self.tables.get().expect("it was made just now, by the only one who makes it"))
    }
}

fn open_tables(store: &Arc<dyn Store>, database: Option<&str>, is_read_only: bool) -> Result<Option<Tables>> {
    if is_read_only {
        return Ok(Tables::open_to_read_in(store.clone(), database)?);
    }
    if !Tables::are_in(&**store) && database.is_none() {
        return Ok(None);
    }
    match Tables::open_in(store.clone(), database) {
        // A database on a full disk can still be read, unless its tables have to be taken in first.
        Err(model::Error::Fault(Fault::DiskFull { .. })) => Ok(Tables::open_to_read_in(store.clone(), database)?),
        opened => Ok(opened.map(Some)?),
    }
}

/// Returns whether a schema is that of a table which no definition names.
fn is_plain(schema: &Schema) -> bool {
    schema.rows() == RowKind::Bytes || !matches!(schema.key(), KeyKind::Columns(_))
}

impl Database {
    fn plain(&self, table: TableId) -> TableRef {
        TableRef { database: self.shared.id, place: Place::Plain(table) }
    }

    fn defined(&self, table: &Table, shape: Arc<Schema>) -> TableRef {
        let handle = self.shared.kept.handles.number(table.oid, shape);
        TableRef { database: self.shared.id, place: Place::Defined(handle) }
    }

    /// The engine table of this name that no definition names.
    fn find_plain(&self, name: &str) -> Option<(TableId, Arc<Schema>)> {
        let found = self.shared.engine.table(name).filter(|(_, schema)| !is_own(schema.name()));
        found.map(|(table, schema)| (table, Arc::new(model::Schema::clone(&schema).into())))
    }

    fn find_defined(&self, name: &str) -> Result<Option<Arc<Table>>> {
        self.shared.kept.known().map_or(Ok(None), |tables| Ok(tables.find(name)?))
    }

    /// Creates a table under a name that is free.
    pub(crate) fn create_new(&self, schema: &Arc<Schema>) -> Result<TableRef> {
        let taken = || Invalid::TableExists { table: schema.name().into() };
        if is_plain(schema) {
            if self.find_defined(schema.name())?.is_some() {
                return Err(taken().into());
            }
            if !schema.indexes().is_empty() {
                let what = "an index needs a key of columns".into();
                return Err(Invalid::Schema { table: schema.name().into(), what }.into());
            }
            return Ok(self.plain(self.shared.engine.create_table(model::Schema::clone(schema))?));
        }
        if self.find_plain(schema.name()).is_some() {
            return Err(taken().into());
        }
        let table = self.shared.kept.tables()?.create(schema, &[])?;
        Ok(self.defined(&table, schema.clone()))
    }

    /// Opens the table of this schema. Creates it if it does not exist, and adds the columns that it lacks.
    pub(crate) fn open_or_create(&self, wanted: Schema, defaults: &[(&str, Value)]) -> Result<(TableRef, Arc<Schema>)> {
        let wanted = Arc::new(wanted);
        loop {
            let done = match is_plain(&wanted) {
                true => self.open_plain(&wanted)?,
                false => self.open_defined(&wanted, defaults)?,
            };
            if let Some(table) = done {
                return Ok((table, wanted));
            }
            // It was made or widened, by this thread or a faster one.
        }
    }

    fn open_plain(&self, wanted: &Arc<Schema>) -> Result<Option<TableRef>> {
        if let Some(table) = self.find_defined(wanted.name())? {
            check_shape(&table, wanted)?;
        }
        match self.find_plain(wanted.name()) {
            Some((table, stored)) => match difference(&stored, wanted) {
                None => Ok(Some(self.plain(table))),
                Some(what) => Err(Invalid::Shape { table: wanted.name().into(), what }.into()),
            },
            None => made(self.create_new(wanted)),
        }
    }

    fn open_defined(&self, wanted: &Arc<Schema>, defaults: &[(&str, Value)]) -> Result<Option<TableRef>> {
        if let Some((_, stored)) = self.find_plain(wanted.name()) {
            let what = difference(&stored, wanted).unwrap_or_default();
            return Err(Invalid::Shape { table: wanted.name().into(), what }.into());
        }
        let Some(table) = self.find_defined(wanted.name())? else {
            let tables = self.shared.kept.tables()?;
            return made(
                tables.create(wanted, defaults).map(|table| self.defined(&table, wanted.clone())).map_err(Into::into),
            );
        };
        if lacks_columns(&table, wanted, defaults) {
            self.shared.kept.tables()?.widen(&table, wanted, defaults)?;
            return Ok(None);
        }
        check_shape(&table, wanted)?;
        Ok(Some(self.defined(&table, wanted.clone())))
    }

    /// Opens a table by its name, whatever its columns are.
    pub(crate) fn open_any(&self, name: &str) -> Result<(TableRef, Arc<Schema>)> {
        if let Some(table) = self.find_defined(name)? {
            let shape = |what| Invalid::Shape { table: name.into(), what };
            let schema = Arc::new(schema_of(&table, None, self.storage_of(&table)).map_err(shape)?);
            return Ok((self.defined(&table, schema.clone()), schema));
        }
        let unknown = || Invalid::UnknownTable { table: name.into() };
        let (table, schema) = self.find_plain(name).ok_or_else(unknown)?;
        Ok((self.plain(table), schema))
    }

    fn storage_of(&self, table: &Table) -> model::Storage {
        let found = self.shared.store().tables().into_iter().find(|(id, _)| *id == table.storage.id());
        found.map_or(model::Storage::Ordered, |(_, schema)| schema.storage())
    }

    pub(crate) fn drop_any(&self, name: &str) -> Result<()> {
        if self.find_defined(name)?.is_some() {
            return Ok(self.shared.kept.tables()?.drop_table(name)?);
        }
        let unknown = || Invalid::UnknownTable { table: name.into() };
        let (_, schema) = self.find_plain(name).ok_or_else(unknown)?;
        Ok(self.shared.engine.drop_table(schema.name())?)
    }

    /// The tables of the catalog; none if it cannot be read.
    pub(crate) fn defined_tables(&self) -> Vec<Arc<Table>> {
        self.shared.kept.known().and_then(|tables| tables.all().ok()).unwrap_or_default()
    }

    /// The tables that no definition names.
    pub(crate) fn plain_tables(&self) -> impl Iterator<Item = (TableId, Arc<Schema>)> {
        let tables = self.shared.store().tables().into_iter().filter(|(_, schema)| !is_own(schema.name()));
        tables.map(|(table, schema)| (table, Arc::new(model::Schema::clone(&schema).into())))
    }

    /// Names of the tables of the catalog that programs cannot open: those without a primary key, and those with columns of
    /// types that only SQL has.
    pub(crate) fn names_for_sql_alone(&self) -> Vec<String> {
        let defined = self.defined_tables().into_iter();
        defined
            .filter(|table| schema_of(table, None, model::Storage::Ordered).is_err())
            .map(|table| table.name.clone())
            .collect()
    }

    pub(crate) fn shapes_of_all(&self) -> Vec<Arc<Schema>> {
        let defined = self.defined_tables().into_iter();
        let shapes = defined.filter_map(|table| schema_of(&table, None, self.storage_of(&table)).ok()).map(Arc::new);
        shapes.chain(self.plain_tables().map(|(_, schema)| schema)).collect()
    }
}

/// `None` if another thread has created the table meanwhile.
fn made(table: Result<TableRef>) -> Result<Option<TableRef>> {
    match table {
        Err(crate::Error::Invalid(Invalid::TableExists { .. })) => Ok(None),
        made => made.map(Some),
    }
}

/// Returns whether a table has the first columns that are asked for, and lacks others that may be added: each is nullable,
/// or has a default.
fn lacks_columns(table: &Table, wanted: &Schema, defaults: &[(&str, Value)]) -> bool {
    let Ok(stored) = schema_of(table, Some(wanted), wanted.storage()) else { return false };
    let (old, new) = (stored.columns(), wanted.columns());
    let may_be_added =
        |column: &crate::Column| column.nullable || defaults.iter().any(|(name, _)| *name == column.name);
    let is_same = stored.key() == wanted.key() && stored.indexes() == wanted.indexes();
    is_same && old.len() < new.len() && new.starts_with(old) && new[old.len()..].iter().all(may_be_added)
}

impl Shared {
    /// The catalog, if there is one.
    pub fn known_tables(&self) -> Option<&Tables> {
        self.kept.known()
    }
}
