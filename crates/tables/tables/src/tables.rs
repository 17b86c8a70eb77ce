//! The tables of programs: created, opened, widened and dropped, apart from statements on rows.

use crate::batches::{BatchSize, is_of_write_set};
use crate::catalog::{Catalog, PUBLIC};
use crate::convert;
use crate::definition::{Column, Index, IndexEntry, KeyForm, Oid, Relation, Storage, Table};
use crate::layout::{Layout, schema_of};
use crate::schema::Schema;
use crate::sequences::{Exhausted, Sequences};
use crate::shared::{POSTGRES, SharedCatalog, catalog_of};
use crate::storage::{Touched, Users, clean, create_index_storage, create_row_storage, settle, touched_by_drop};
use crate::transact::transact;
use crate::types::{Modifier, Scalar, Type};
use crate::widen::WiderCopy;
use model::{Access, Invalid, KeyKind, Limit, LimitKind, Mode, Result, Store, TableId, Value, ValueRef};
use serde::{Serialize, de::DeserializeOwned};
use std::fmt;
use std::sync::Arc;

/// Default values of columns, by name.
pub type Defaults<'d> = &'d [(&'d str, Value)];

/// Attempts to copy what others have changed in one transaction, after passes that copy it in many.
const MOST_PASSES: u32 = 10;
/// Bytes of a relation's name.
const NAME_BYTES: usize = 63;

/// Makes the catalog of a database ready for use: takes in tables that an earlier version made for programs, and removes what
/// earlier runs left. To be called once, before anybody uses the tables of an engine.
///
/// # Errors
/// Errors of the engine; [`Invalid::Shape`] if a table of an earlier version cannot be taken in.
pub fn prepare<T, M>(engine: &dyn Store, catalog: &Catalog<T, M>, sequences: &Sequences) -> Result<()>
where
    T: Clone + Serialize + DeserializeOwned,
    M: Clone + Serialize + DeserializeOwned,
{
    prepare_in_batches(engine, catalog, sequences, BatchSize::default())
}

/// Same as [`prepare`]; rows are moved in batches of this size.
///
/// # Errors
/// Errors of [`prepare`].
pub fn prepare_in_batches<T, M>(
    engine: &dyn Store,
    catalog: &Catalog<T, M>,
    sequences: &Sequences,
    size: BatchSize,
) -> Result<()>
where
    T: Clone + Serialize + DeserializeOwned,
    M: Clone + Serialize + DeserializeOwned,
{
    // The definitions of programs' tables have this layer's types, which are stored alike.
    if let Some(own) = Catalog::<Type, Modifier>::find(engine) {
        convert::convert_old_tables(engine, &own, sequences, size)?;
    }
    clean(engine, catalog)
}

/// Gives the engine tables that the definitions of a copied database name the numbers that they have in the copy.
///
/// # Errors
/// [`model::Fault::Corruption`] if a definition names an engine table that was not copied.
pub fn renumber(store: &dyn Store, number: impl Fn(TableId) -> Option<TableId>) -> Result<()> {
    for (id, schema) in store.tables() {
        if catalog_of(schema.name()).is_some() {
            let catalog = Catalog::<Type, Modifier>::over(id);
            transact(store, Mode::ReadWrite, |access| catalog.renumber(access, &number))?;
        }
    }
    Ok(())
}

/// The tables of a database, as programs see them.
pub struct Tables {
    engine: Arc<dyn Store>,
    catalog: Catalog,
    sequences: Sequences,
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tables").field("catalog", &self.catalog.table()).finish_non_exhaustive()
    }
}

/// An exhausted counter as an error of the engine's kinds.
pub(crate) fn as_limit(why: Exhausted) -> model::Error {
    match why {
        Exhausted::Engine(error) => error,
        _ => Limit { kind: LimitKind::Tables, limit: u64::from(u32::MAX), actual: u64::from(u32::MAX) }.into(),
    }
}

impl Tables {
    /// Opens the catalog, which is made where it is missing, and makes it ready ([`prepare`]).
    ///
    /// # Errors
    /// Errors of [`prepare`].
    pub fn open(engine: Arc<dyn Store>) -> Result<Tables> {
        Tables::open_in(engine, None)
    }

    /// Same as [`Tables::open`], for the tables of the database of this name instead of the first one's.
    ///
    /// # Errors
    /// Errors of [`Tables::open`]; [`Invalid::UnknownDatabase`].
    pub fn open_in(engine: Arc<dyn Store>, database: Option<&str>) -> Result<Tables> {
        let mut catalog = Catalog::open(&*engine)?;
        let sequences = Sequences::open(engine.clone())?;
        prepare(&*engine, &catalog, &sequences)?;
        if let Some(name) = database {
            let shared = SharedCatalog::open(&*engine)?;
            catalog = Catalog::open_in(&*engine, oid_of(&*engine, Some(shared), name)?)?;
        }
        Ok(Tables { engine, catalog, sequences })
    }

    /// Opens the catalog of a database that is only read; `None` if it has none.
    ///
    /// # Errors
    /// [`Invalid::Shape`] if it has tables of an earlier version: they are taken in when it is opened for writing.
    pub fn open_to_read(engine: Arc<dyn Store>) -> Result<Option<Tables>> {
        Tables::open_to_read_in(engine, None)
    }

    /// Same as [`Tables::open_to_read`], for the database of this name.
    ///
    /// # Errors
    /// Errors of [`Tables::open_to_read`]; [`Invalid::UnknownDatabase`].
    pub fn open_to_read_in(engine: Arc<dyn Store>, database: Option<&str>) -> Result<Option<Tables>> {
        convert::refuse_old(&*engine, Catalog::find(&*engine).as_ref())?;
        let oid = database.map_or(Ok(POSTGRES), |name| oid_of(&*engine, SharedCatalog::find(&*engine), name))?;
        let Some(catalog) = Catalog::find_in(&*engine, oid) else { return Ok(None) };
        let sequences = Sequences::open(engine.clone())?;
        Ok(Some(Tables { engine, catalog, sequences }))
    }

    /// Returns whether a database has a catalog, or tables that belong into one.
    pub fn are_in(engine: &dyn Store) -> bool {
        Catalog::<Type, Modifier>::find(engine).is_some() || convert::old_tables(engine).next().is_some()
    }

    /// The catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The table of this name in the schema `public`.
    ///
    /// # Errors
    /// [`Invalid::Shape`] if the name is another relation's.
    pub fn find(&self, name: &str) -> Result<Option<Arc<Table>>> {
        match transact(&*self.engine, Mode::ReadOnly, |access| self.catalog.relation(access, PUBLIC, name))? {
            None => Ok(None),
            Some(Relation::Table(table)) => Ok(Some(table)),
            Some(_) => Err(Invalid::Shape { table: name.into(), what: "it is not a table".into() }.into()),
        }
    }

    /// All tables of the schema `public`.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn all(&self) -> Result<Vec<Arc<Table>>> {
        let found = transact(&*self.engine, Mode::ReadOnly, |access| self.catalog.relations_in(access, PUBLIC))?;
        Ok(found
            .into_iter()
            .filter_map(|it| if let Relation::Table(table) = it { Some(table) } else { None })
            .collect())
    }

    /// All tables of all schemas and databases of an engine.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn of_all_databases(engine: &dyn Store) -> Result<Vec<Arc<Table>>> {
        let catalogs = engine.tables().into_iter().filter(|(_, schema)| catalog_of(schema.name()).is_some());
        let mut tables = Vec::new();
        for (id, _) in catalogs {
            let catalog = Catalog::<Type, Modifier>::over(id);
            let relations = transact(engine, Mode::ReadOnly, |access| catalog.relations(access))?;
            tables.extend(relations.into_iter().filter_map(|relation| match relation {
                Relation::Table(table) => Some(table),
                _ => None,
            }));
        }
        Ok(tables)
    }

    /// Makes a table of this schema.
    ///
    /// # Errors
    /// [`Invalid::TableExists`] if the name is taken.
    pub fn create(&self, schema: &Schema, defaults: Defaults<'_>) -> Result<Arc<Table>> {
        let mut table = define(&*self.engine, &self.sequences, schema, defaults)?;
        let version = self.sequences.fresh_version().map_err(as_limit)?;
        let entered =
            transact(&*self.engine, Mode::ReadWrite, |access| enter(access, &self.catalog, &mut table, version));
        if entered.is_err() {
            self.settle(&table);
        }
        match entered {
            Err(model::Error::Duplicate(_)) => Err(Invalid::TableExists { table: schema.name().into() }.into()),
            entered => entered.map(|()| Arc::new(table)),
        }
    }

    /// Enters a table whose engine tables are there already ([`describe`]).
    ///
    /// # Errors
    /// [`model::Error::Duplicate`] if the name is taken.
    pub fn adopt(&self, mut table: Table) -> Result<Arc<Table>> {
        let version = self.sequences.fresh_version().map_err(as_limit)?;
        transact(&*self.engine, Mode::ReadWrite, |access| enter(access, &self.catalog, &mut table, version))?;
        Ok(Arc::new(table))
    }

    /// Gives a table further columns: rows that are there get the default, or NULL. They are copied into wider storage batch by
    /// batch while others use the table; the transaction that changes the definition then copies what others have changed since,
    /// so it writes little however large the table is.
    ///
    /// # Errors
    /// [`Invalid::Shape`] if the table's definition has changed meanwhile; [`model::Error::Limit`] if others change more rows
    /// between two passes over it than one transaction may write, again and again.
    pub fn widen(&self, table: &Table, schema: &Schema, defaults: Defaults<'_>) -> Result<()> {
        let mut wider = table.clone();
        let added = &schema.columns()[table.live_columns().count()..];
        wider.columns.extend(added.iter().map(|column| define_column(column, defaults)));
        wider.storage = row_storage(&*self.engine, &self.sequences, &wider, schema.storage())?;
        let values = added.iter().map(|column| default_of(&column.name, defaults)).collect();
        let copy = WiderCopy { from: table.storage.id(), to: wider.storage.id(), width: wider.columns.len(), values };
        let widened = self.copy_and_replace(table, &wider, &copy);
        self.settle(table);
        self.settle(&wider);
        widened
    }

    fn copy_and_replace(&self, table: &Table, wider: &Table, copy: &WiderCopy<'_>) -> Result<()> {
        let version = self.sequences.fresh_version().map_err(as_limit)?;
        for pass in 1.. {
            if let Err(error) = copy.in_batches(&*self.engine) {
                // Whoever was faster has dropped the rows.
                let is_same = transact(&*self.engine, Mode::ReadOnly, |access| self.is_same(access, table))?;
                return Err(if is_same { error } else { changed(table) });
            }
            let replaced = transact(&*self.engine, Mode::ReadWrite, |access| {
                if !self.is_same(access, table)? {
                    return Err(changed(table));
                }
                copy.whole(access)?;
                self.catalog.replace(access, Relation::Table(Arc::new(wider.clone())), version)
            });
            match replaced {
                Err(model::Error::Limit(limit)) if is_of_write_set(limit.kind) && pass < MOST_PASSES => {}
                replaced => return replaced,
            }
        }
        unreachable!("the last pass returns")
    }

    /// Returns whether the definition is still this one.
    fn is_same(&self, access: &mut dyn Access, table: &Table) -> Result<bool> {
        let found = self.catalog.relation_by_oid(access, table.oid)?;
        Ok(matches!(&found, Some(Relation::Table(now)) if now.version == table.version))
    }

    /// Drops a table.
    ///
    /// # Errors
    /// [`Invalid::UnknownTable`]; [`Invalid::Shape`] if other definitions stand on it, which SQL can drop with it.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        let dropped = transact(&*self.engine, Mode::ReadWrite, |access| {
            let found = self.catalog.relation(access, PUBLIC, name)?;
            let Some(Relation::Table(table)) = found else {
                return Err(Invalid::UnknownTable { table: name.into() }.into());
            };
            let has_others = !table.foreign_keys.is_empty()
                || !table.referenced_by.is_empty()
                || table.columns.iter().any(|column| column.sequence.is_some())
                || !self.catalog.dependents(access, table.oid)?.is_empty();
            if has_others {
                let what = "foreign keys, views or sequences depend on it: drop it by SQL".into();
                return Err(Invalid::Shape { table: name.into(), what }.into());
            }
            self.catalog.forget_dependencies(access, table.oid)?;
            for entry in index_entries(&table) {
                self.catalog.remove(access, &entry)?;
            }
            self.catalog.remove(access, &Relation::Table(table.clone()))?;
            Ok(table)
        })?;
        self.settle(&dropped);
        Ok(())
    }

    /// Drops what belongs to a table and its definition does not name.
    fn settle(&self, table: &Table) {
        let relations = std::iter::once(Relation::Table(Arc::new(table.clone()))).chain(index_entries(table));
        let touched: Vec<Touched> =
            relations.flat_map(|relation| touched_by_drop(&relation, Users::All).collect::<Vec<_>>()).collect();
        settle(&*self.engine, &self.sequences, &self.catalog, (&touched, true));
    }
}

/// The database of a name; `postgres` is there even where nothing was written yet.
fn oid_of(engine: &dyn Store, shared: Option<SharedCatalog>, name: &str) -> Result<Oid> {
    let found = match shared {
        Some(shared) => shared.find_database(engine, name)?.0.map(|database| database.oid),
        None => (name == "postgres").then_some(POSTGRES),
    };
    found.ok_or_else(|| Invalid::UnknownDatabase { database: name.into() }.into())
}

fn changed(table: &Table) -> model::Error {
    Invalid::Shape { table: table.name.clone(), what: "another transaction has changed it meanwhile".into() }.into()
}

/// The definition of a new table, with engine tables for its rows and entries.
pub(crate) fn define(
    engine: &dyn Store,
    sequences: &Sequences,
    schema: &Schema,
    defaults: Defaults<'_>,
) -> Result<Table> {
    let mut table = describe(schema, defaults, &mut || sequences.fresh_oid().map_err(as_limit))?;
    table.storage = row_storage(engine, sequences, &table, schema.storage())?;
    for index in table.indexes.iter_mut().filter(|index| !index.primary) {
        index.storage = Some(create_index_storage(engine, sequences, table.oid, None).map_err(as_limit)?);
    }
    Ok(table)
}

/// The definition of a new table whose engine tables the caller makes: those of its storages have yet to be set. `fresh_oid`
/// gives identifiers of objects.
///
/// # Errors
/// [`Invalid::Schema`] if the table's key is not made of its columns; errors of `fresh_oid`.
pub fn describe(schema: &Schema, defaults: Defaults<'_>, fresh_oid: &mut dyn FnMut() -> Result<Oid>) -> Result<Table> {
    let KeyKind::Columns(key) = schema.key() else {
        let what = "its key is not made of its columns".into();
        return Err(Invalid::Schema { table: schema.name().into(), what }.into());
    };
    let columns: Vec<Column> = schema.columns().iter().map(|column| define_column(column, defaults)).collect();
    let mut table = Table {
        oid: fresh_oid()?,
        schema: PUBLIC.to_owned(),
        name: schema.name().to_owned(),
        version: 0,
        storage: Storage { table: u32::MAX, key: key_form(&columns, key) },
        columns,
        indexes: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        referenced_by: Vec::new(),
        comment: None,
        temporary: false,
        triggers_disabled: false,
        on_commit: None,
    };
    let name = relation_name(schema.name(), "pkey");
    table.indexes.push(define_index(fresh_oid, name, key, true, None)?);
    for index in schema.indexes() {
        let name = relation_name(schema.name(), &index.name);
        table.indexes.push(define_index(fresh_oid, name, &index.columns, index.unique, Some(&index.name))?);
    }
    Ok(table)
}

fn define_column(column: &model::Column, defaults: Defaults<'_>) -> Column {
    let default = defaults.iter().find(|(name, _)| *name == column.name);
    Column {
        not_null: !column.nullable,
        default: default.map(|(_, value)| literal(value.as_ref(), Type::for_values(column.kind))),
        ..Column::plain(column.name.clone(), Type::for_values(column.kind), Modifier::NONE)
    }
}

fn default_of<'d>(column: &str, defaults: Defaults<'d>) -> ValueRef<'d> {
    defaults.iter().find(|(name, _)| *name == column).map_or(ValueRef::Null, |(_, value)| value.as_ref())
}

/// A value as an expression of SQL.
fn literal(value: ValueRef<'_>, of: Type) -> String {
    let quoted = |text: &str| format!("'{}'::{of}", text.replace('\'', "''"));
    match value {
        ValueRef::Null => format!("NULL::{of}"),
        ValueRef::Bool(value) => value.to_string(),
        ValueRef::Int(value) if value >= 0 => value.to_string(),
        ValueRef::Int(value) => format!("'{value}'::{of}"),
        ValueRef::Float(value) => quoted(&value.to_string()),
        ValueRef::Text(text) => quoted(text),
        ValueRef::Bytes(bytes) => {
            quoted(&bytes.iter().fold("\\x".to_owned(), |digits, byte| digits + &format!("{byte:02x}")))
        }
        // A date and a moment print between quotes.
        value => quoted(value.to_string().trim_matches('\'')),
    }
}

fn define_index(
    fresh_oid: &mut dyn FnMut() -> Result<Oid>,
    name: String,
    columns: &[u16],
    unique: bool,
    declared: Option<&str>,
) -> Result<Index> {
    let primary = declared.is_none();
    let oid = fresh_oid()?;
    let columns = columns.iter().map(|&at| usize::from(at)).collect();
    let declared = declared.map(str::to_owned);
    Ok(Index { unique, primary, constraint: primary, declared, ..Index::plain(oid, name, columns) })
}

fn row_storage(engine: &dyn Store, sequences: &Sequences, table: &Table, by: model::Storage) -> Result<Storage> {
    // Whoever asks has made the columns of plain types, or found the table to have none but them.
    let kinds: Vec<model::ColumnType> =
        table.columns.iter().map(|column| column.data_type.plain().unwrap_or(model::ColumnType::Bytes)).collect();
    create_row_storage(engine, sequences, table.oid, kinds.into_iter(), table.storage.key, by, None).map_err(as_limit)
}

fn key_form(columns: &[Column], key: &[u16]) -> KeyForm {
    let scalar = |at: u16| columns[usize::from(at)].data_type.scalar;
    match key {
        [only] if matches!(scalar(*only), Scalar::Int2 | Scalar::Int4 | Scalar::Int8 | Scalar::Date) => KeyForm::Eight,
        _ => KeyForm::Columns,
    }
}

/// `table_suffix`, cut in front to the longest name that a relation may have.
pub(crate) fn relation_name(table: &str, suffix: &str) -> String {
    let room = NAME_BYTES.saturating_sub(suffix.len() + 1);
    let mut end = room.min(table.len());
    while !table.is_char_boundary(end) {
        end -= 1;
    }
    let mut name = format!("{}_{suffix}", &table[..end]);
    while name.len() > NAME_BYTES {
        name.pop();
    }
    name
}

fn index_entries(table: &Table) -> impl Iterator<Item = Relation> {
    table.indexes.iter().map(|index| {
        let (schema, name) = (table.schema.clone(), index.name.clone());
        Relation::Index(IndexEntry { oid: index.oid, schema, name, table: table.oid })
    })
}

/// Enters a new table and its indexes. An index whose name is taken gets a number behind it.
pub(crate) fn enter<A: Access + ?Sized>(
    access: &mut A,
    catalog: &Catalog,
    table: &mut Table,
    version: u64,
) -> Result<()> {
    for index in &mut table.indexes {
        let wanted = index.name.clone();
        for number in 1.. {
            if catalog.relation(access, PUBLIC, &index.name)?.is_none() && index.name != table.name {
                break;
            }
            index.name = relation_name(&wanted, &number.to_string());
        }
        let entry =
            IndexEntry { oid: index.oid, schema: table.schema.clone(), name: index.name.clone(), table: table.oid };
        catalog.insert(access, Relation::Index(entry), version)?;
    }
    table.version = version;
    catalog.insert(access, Relation::Table(Arc::new(table.clone())), version)
}

/// A new table under the schema that it was made of.
pub(crate) fn layout_of(table: &Table) -> Result<Layout> {
    let wrong = |what| model::Error::from(Invalid::Shape { table: table.name.clone(), what });
    let schema = schema_of(table, None, model::Storage::Ordered).map_err(wrong)?;
    Layout::new(Arc::new(table.clone()), Arc::new(schema))
}
