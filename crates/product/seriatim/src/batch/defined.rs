//! The tables of a database: their definitions, and the engine tables that hold their rows and entries.
//!
//! Definitions are fixed while the database is open: a procedure reads none. An engine table is named for all that its bytes
//! depend on, so that another definition of a table is found out when the database is opened. Further columns are added then, by
//! a copy (`widen.rs`).

use crate::batch::table::TableAt;
use crate::batch::widen::widen;
use crate::resolve::ResolvedTable;
use crate::{Error, Invalid, KeyKind, Result, RowKind, Schema};
use bohm::Bohm;
use model::{TableId, Value};
use std::collections::BTreeMap;
use std::iter;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use tables::{IndexSchema, KeyForm, Layout, Storage, Table, describe};

/// The first identifier of a table, as in the catalog of SQL.
const FIRST_OID: u32 = 16_384;

/// A table as the program asks for it.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub schema: Arc<Schema>,
    pub defaults: Vec<(&'static str, Value)>,
}

/// The tables of a database. While it is recovered they become known one by one, each before the calls that use it.
#[derive(Debug)]
pub(crate) struct Defined {
    /// Which database: that of the handles made with it.
    database: u64,
    tables: Vec<Planned>,
    /// The schemas of the engine's tables.
    engine_tables: RwLock<BTreeMap<TableId, Arc<model::Schema>>>,
}

/// A table with the schemas of the engine tables of its rows and, in order, of its indexes.
#[derive(Debug)]
struct Planned {
    /// `None`: a table of bytes, which SQL does not see.
    definition: Option<Table>,
    schema: Arc<Schema>,
    defaults: Vec<(&'static str, Value)>,
    rows: model::Schema,
    /// The rows of a table that got further columns: their number is in the name.
    wider: model::Schema,
    entries: Vec<model::Schema>,
    /// Once all its engine tables are known.
    place: OnceLock<Place>,
}

/// Where a table's rows are.
#[derive(Debug)]
enum Place {
    Plain(TableId),
    Defined(Layout),
}

impl Defined {
    /// The definitions, without their engine tables.
    pub fn new(database: u64, wanted: &[Wanted]) -> Result<Defined> {
        let mut next = FIRST_OID;
        let mut fresh_oid = || {
            next += 1;
            Ok(next - 1)
        };
        let tables = wanted.iter().map(|wanted| plan(wanted, &mut fresh_oid)).collect::<Result<_>>()?;
        Ok(Defined { database, tables, engine_tables: RwLock::default() })
    }

    /// Notes an engine table.
    pub fn note(&self, id: TableId, schema: Arc<model::Schema>) -> Result<()> {
        let mut known = self.engine_tables.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(id, schema);
        self.tables.iter().try_for_each(|table| table.find_place(&known))
    }

    /// Makes the engine tables that are not there yet, and wider ones for tables that get further columns.
    pub fn open(&self, engine: &Arc<Bohm>) -> Result<()> {
        check_shapes(engine, &self.tables)?;
        for planned in &self.tables {
            for (narrow, schema) in engine.tables().into_iter().filter(|(_, schema)| planned.widens(schema)) {
                planned.widen(engine, (narrow, &schema))?;
            }
        }
        for (id, schema) in engine.tables() {
            self.note(id, schema)?;
        }
        for table in self.tables.iter().filter(|table| table.place.get().is_none()) {
            for schema in table.engine_tables() {
                if engine.tables().iter().any(|(_, there)| there.name() == schema.name()) {
                    continue;
                }
                let id = engine.create_table(schema.clone())?;
                self.note(id, Arc::new(schema.clone()))?;
            }
        }
        Ok(())
    }

    /// Returns whether engine tables that became known are gone.
    pub fn has_lost(&self, engine: &Arc<Bohm>) -> bool {
        let (known, there) = (self.engine_tables.read().unwrap_or_else(PoisonError::into_inner), engine.tables());
        known.keys().any(|id| there.iter().all(|(other, _)| other != id))
    }

    /// The rows of a table, and its definition if it has one.
    pub fn resolve(&self, table: TableAt) -> Result<ResolvedTable<'_>> {
        if table.database != self.database {
            return Err(Error::OtherDatabase);
        }
        let planned = &self.tables[table.number];
        match planned.place.get() {
            Some(Place::Plain(rows)) => Ok(ResolvedTable::Plain(*rows)),
            Some(Place::Defined(layout)) => Ok(ResolvedTable::Defined(layout)),
            None => Err(Invalid::UnknownTable { table: planned.schema.name().into() }.into()),
        }
    }

    /// The layout of a table of records.
    pub fn layout(&self, table: TableAt) -> Result<&Layout> {
        match self.resolve(table)? {
            ResolvedTable::Defined(layout) => Ok(layout),
            ResolvedTable::Plain(rows) => Err(Invalid::UnknownTable { table: format!("number {}", rows.0) }.into()),
        }
    }

    /// The definitions, in the order in which the program asked for them.
    #[cfg(feature = "sql")]
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().filter_map(|planned| match planned.place.get()? {
            Place::Defined(layout) => Some(&**layout.table()),
            Place::Plain(_) => None,
        })
    }

    /// The schema of an engine table.
    pub fn engine_table(&self, table: TableId) -> model::Result<Arc<model::Schema>> {
        let known = self.engine_tables.read().unwrap_or_else(PoisonError::into_inner);
        let unknown = || Invalid::UnknownTable { table: format!("number {}", table.0) };
        Ok(known.get(&table).cloned().ok_or_else(unknown)?)
    }
}

fn plan(wanted: &Wanted, fresh_oid: &mut dyn FnMut() -> model::Result<u32>) -> Result<Planned> {
    let schema = wanted.schema.clone();
    let is_plain = schema.rows() == RowKind::Bytes;
    let definition = if is_plain { None } else { Some(describe(&schema, &wanted.defaults, fresh_oid)?) };
    let has_integers = match &definition {
        Some(table) => table.storage.key == KeyForm::Eight,
        None => *schema.key() == KeyKind::U64,
    };
    let rows_named = |name: String| {
        let empty = if is_plain { model::Schema::bytes(name) } else { model::Schema::table(name) };
        let rows =
            schema.columns().iter().fold(empty.storage(schema.storage()), |rows, column| match column.nullable {
                true => rows.nullable(&column.name, column.kind),
                false => rows.column(&column.name, column.kind),
            });
        let rows = if has_integers { rows.u64_key() } else { rows };
        rows.build().map_err(model::Error::from)
    };
    let name = name_of_rows(&schema);
    let wider = format!("{name}{COLUMNS}{}", schema.columns().len());
    let entries = schema.indexes().iter().map(|index| {
        Ok(model::Schema::bytes(name_of_entries(&schema, index)).for_index().build().map_err(model::Error::from)?)
    });
    Ok(Planned {
        definition,
        defaults: wanted.defaults.clone(),
        entries: entries.collect::<Result<_>>()?,
        rows: rows_named(name)?,
        wider: rows_named(wider)?,
        place: OnceLock::new(),
        schema,
    })
}

/// Stands in the name of a wider engine table, before the number of its columns.
const COLUMNS: &str = " columns ";

/// `"accounts" key (id)`: the table and its key. The quotes tell it from every other table's.
fn name_of_rows(schema: &Schema) -> String {
    let key = match schema.key() {
        KeyKind::Columns(key) => names_of(schema, key),
        KeyKind::Bytes => "bytes".into(),
        KeyKind::U64 => "integer".into(),
    };
    format!("{:?} key ({key})", schema.name())
}

/// `"accounts" index by_owner (owner)`: the table, the index and its columns.
fn name_of_entries(schema: &Schema, index: &IndexSchema) -> String {
    let kind = if index.unique { "unique" } else { "index" };
    format!("{:?} {kind} {} ({})", schema.name(), index.name, names_of(schema, &index.columns))
}

fn names_of(schema: &Schema, columns: &[u16]) -> String {
    let names = columns.iter().map(|&at| schema.columns()[usize::from(at)].name.as_str());
    names.collect::<Vec<_>>().join(", ")
}

/// Returns whether an engine table is one of a table of this name.
pub(crate) fn is_of(table: &str, schema: &model::Schema) -> bool {
    schema.name().starts_with(&format!("{table:?} "))
}

/// Refuses definitions other than those of the engine tables that are there, before anything is made.
fn check_shapes(engine: &Arc<Bohm>, planned: &[Planned]) -> Result<()> {
    let there = engine.tables();
    for planned in planned {
        let name = planned.schema.name();
        let is_own = |schema: &&model::Schema| is_of(name, schema);
        let stored: Vec<&model::Schema> = there.iter().map(|(_, schema)| &**schema).filter(is_own).collect();
        // Without its rows it is what an interrupted opening has left.
        let has_rows = stored.iter().any(|schema| schema.name().starts_with(&format!("{name:?} key ")));
        let fits = |schema: &model::Schema| planned.entries.contains(schema) || planned.holds(schema);
        let is_same = stored.iter().all(|schema| fits(schema) || planned.widens(schema))
            && planned.entries.iter().all(|schema| stored.contains(&schema));
        if !has_rows {
            continue;
        }
        let what = if !is_same {
            let (stored, wanted) = (shown(stored.into_iter()), shown(planned.engine_tables()));
            format!(
                "it has {stored}, and the program declares {wanted}; a table keeps the key and the indexes that it was created \
                 with, and further fields come last and are optional or have a default"
            )
        } else if planned.is_begun(&stored) && engine.recovery().is_some_and(|recovered| recovered.calls > 0) {
            "the program declares further fields, and the log has calls behind the last checkpoint, which were made without \
             them: call Database::checkpoint and Database::close in the program as it was"
                .into()
        } else {
            continue;
        };
        return Err(Invalid::Shape { table: name.into(), what }.into());
    }
    Ok(())
}

fn shown<'s>(schemas: impl Iterator<Item = &'s model::Schema>) -> String {
    let shown = schemas.map(|schema| {
        let by = if schema.storage() == model::Storage::Hash { ", by hash" } else { "" };
        match columns_of(schema) {
            columns if columns.is_empty() => format!("{}{by}", schema.name()),
            columns => format!("{}, columns {columns}{by}", schema.name()),
        }
    });
    shown.collect::<Vec<_>>().join("; ")
}

fn columns_of(schema: &model::Schema) -> String {
    let shown = schema.columns().iter().map(|column| {
        let null = if column.nullable { " or NULL" } else { "" };
        format!("{} {}{null}", column.name, column.kind)
    });
    shown.collect::<Vec<_>>().join(", ")
}

impl Planned {
    /// That of the rows last: a table that has it is complete.
    fn engine_tables(&self) -> impl Iterator<Item = &model::Schema> {
        self.entries.iter().chain(iter::once(&self.rows))
    }

    /// Returns whether an engine table is that of the rows.
    fn holds(&self, stored: &model::Schema) -> bool {
        *stored == self.rows || *stored == self.wider
    }

    /// Returns whether an engine table holds the rows without the last columns, which may be added.
    fn widens(&self, stored: &model::Schema) -> bool {
        let (old, new) = (stored.columns(), self.rows.columns());
        let has_default = |column: &model::Column| self.defaults.iter().any(|(name, _)| *name == column.name);
        let may_be_added = |column: &model::Column| column.nullable || has_default(column);
        let is_named = || {
            let count = stored.name().strip_prefix(self.rows.name());
            count.is_some_and(|count| count.is_empty() || *count == format!("{COLUMNS}{}", old.len()))
        };
        // A copy goes through the rows in their order.
        stored.storage() == model::Storage::Ordered
            && old.len() < new.len()
            && !old.is_empty()
            && new.starts_with(old)
            && new[old.len()..].iter().all(may_be_added)
            && (stored.key(), stored.storage(), stored.rows())
                == (self.rows.key(), self.rows.storage(), self.rows.rows())
            && is_named()
    }

    /// Returns whether the table is to be widened, and the copy was not begun before.
    fn is_begun(&self, stored: &[&model::Schema]) -> bool {
        stored.iter().any(|schema| self.widens(schema)) && !stored.iter().any(|schema| self.holds(schema))
    }

    /// Copies the rows of a narrower engine table into a wider one, and drops it: from there on where that was interrupted.
    fn widen(&self, engine: &Arc<Bohm>, (narrow, schema): (TableId, &model::Schema)) -> Result<()> {
        let there = engine.tables().into_iter().find(|(_, schema)| self.holds(schema));
        let wide = there.map_or_else(|| engine.create_table(self.wider.clone()), |(wide, _)| Ok(wide))?;
        let added = &self.rows.columns()[schema.columns().len()..];
        let value = |column: &model::Column| {
            let default = self.defaults.iter().find(|(name, _)| *name == column.name);
            default.map_or(Value::Null, |(_, value)| value.clone())
        };
        widen(engine, narrow, wide, &added.iter().map(value).collect::<Vec<_>>())?;
        Ok(engine.drop_table(schema.name())?)
    }

    /// Finds out where its rows are, if all engine tables are known and that is not known yet.
    fn find_place(&self, known: &BTreeMap<TableId, Arc<model::Schema>>) -> Result<()> {
        if self.place.get().is_some() {
            return Ok(());
        }
        let number = |fits: &dyn Fn(&model::Schema) -> bool| Some(known.iter().find(|(_, schema)| fits(schema))?.0.0);
        let Some(rows) = number(&|schema| self.holds(schema)) else { return Ok(()) };
        let entries: Option<Vec<u32>> = self.entries.iter().map(|wanted| number(&|schema| schema == wanted)).collect();
        let Some(entries) = entries else { return Ok(()) };
        let place = match &self.definition {
            None => Place::Plain(TableId(rows)),
            Some(definition) => {
                let mut table = definition.clone();
                table.storage.table = rows;
                let indexes = table.indexes.iter_mut().filter(|index| !index.primary);
                for (index, entries) in indexes.zip(entries) {
                    index.storage = Some(Storage { table: entries, key: KeyForm::Columns });
                }
                Place::Defined(Layout::new(Arc::new(table), self.schema.clone())?)
            }
        };
        // Whoever was faster has made the same.
        let _ = self.place.set(place);
        Ok(())
    }
}
