//! The tables of a database: their definitions, and the engine tables that hold their rows and entries.
//!
//! Definitions are fixed while the database is open: a procedure reads none. An engine table is named for all that its bytes
//! depend on, so that another definition of a table is found out when the database is opened.

use crate::batch::table::TableAt;
use crate::{Error, Invalid, Result, Schema};
use bohm::Bohm;
use model::{KeyKind, TableId, Value};
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

/// A definition with the schemas of the engine tables of its rows and, in order, of its indexes.
#[derive(Debug)]
struct Planned {
    table: Table,
    schema: Arc<Schema>,
    rows: model::Schema,
    entries: Vec<model::Schema>,
    /// Once all its engine tables are known.
    layout: OnceLock<Layout>,
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
        self.tables.iter().try_for_each(|table| table.lay_out(&known))
    }

    /// Makes the engine tables that are not there yet.
    pub fn open(&self, engine: &Bohm) -> Result<()> {
        for (id, schema) in engine.tables() {
            self.note(id, schema)?;
        }
        check_shapes(engine, &self.tables)?;
        for table in self.tables.iter().filter(|table| table.layout.get().is_none()) {
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

    /// The layout of a table.
    pub fn layout(&self, table: TableAt) -> Result<&Layout> {
        if table.database != self.database {
            return Err(Error::OtherDatabase);
        }
        let planned = &self.tables[table.number];
        let unknown = || Invalid::UnknownTable { table: planned.schema.name().into() };
        Ok(planned.layout.get().ok_or_else(unknown)?)
    }

    /// The definitions, in the order in which the program asked for them.
    #[cfg(feature = "sql")]
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().filter_map(|planned| Some(&**planned.layout.get()?.table()))
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
    let table = describe(&schema, &wanted.defaults, fresh_oid)?;
    let mut rows = model::Schema::table(name_of_rows(&schema)).storage(schema.storage());
    for column in schema.columns() {
        rows = match column.nullable {
            true => rows.nullable(&column.name, column.kind),
            false => rows.column(&column.name, column.kind),
        };
    }
    if table.storage.key == KeyForm::Eight {
        rows = rows.u64_key();
    }
    let entries = schema.indexes().iter().map(|index| {
        Ok(model::Schema::bytes(name_of_entries(&schema, index)).for_index().build().map_err(model::Error::from)?)
    });
    let (rows, entries) = (rows.build().map_err(model::Error::from)?, entries.collect::<Result<_>>()?);
    Ok(Planned { table, schema, rows, entries, layout: OnceLock::new() })
}

/// `"accounts" key (id)`: the table and its key. The quotes tell it from every other table's.
fn name_of_rows(schema: &Schema) -> String {
    let key = if let KeyKind::Columns(key) = schema.key() { &**key } else { &[] };
    format!("{:?} key ({})", schema.name(), names_of(schema, key))
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

/// Refuses definitions other than those of the engine tables that are there, before anything is made.
fn check_shapes(engine: &Bohm, planned: &[Planned]) -> Result<()> {
    let there = engine.tables();
    for planned in planned {
        let schema = &planned.schema;
        let prefix = format!("{:?} ", schema.name());
        let stored: Vec<&model::Schema> =
            there.iter().map(|(_, schema)| &**schema).filter(|schema| schema.name().starts_with(&prefix)).collect();
        let wanted: Vec<&model::Schema> = planned.engine_tables().collect();
        let is_same = stored.iter().all(|schema| wanted.contains(schema)) && stored.len() == wanted.len();
        // Without its rows it is what an interrupted opening has left.
        let has_rows = stored.iter().any(|schema| schema.name().starts_with(&format!("{prefix}key ")));
        if !has_rows || is_same {
            continue;
        }
        let names = |schemas: &[&model::Schema]| {
            let shown = |schema: &&model::Schema| format!("{}, columns {}", schema.name(), columns_of(schema));
            schemas.iter().map(shown).collect::<Vec<_>>().join("; ")
        };
        let what = format!(
            "it has {}, and the program declares {}; a table keeps the shape that it was created with",
            names(&stored),
            names(&wanted)
        );
        return Err(Invalid::Shape { table: schema.name().into(), what }.into());
    }
    Ok(())
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

    /// Makes the layout, if all engine tables are known and it is not made yet.
    fn lay_out(&self, known: &BTreeMap<TableId, Arc<model::Schema>>) -> Result<()> {
        let number = |schema: &model::Schema| Some(known.iter().find(|(_, other)| other.name() == schema.name())?.0.0);
        let numbers: Option<Vec<u32>> = self.engine_tables().map(number).collect();
        let Some(numbers) = numbers.filter(|_| self.layout.get().is_none()) else { return Ok(()) };
        let mut table = self.table.clone();
        table.storage.table = *numbers.last().expect("a table has rows");
        let indexes = table.indexes.iter_mut().filter(|index| !index.primary);
        for (index, &entries) in indexes.zip(&numbers) {
            index.storage = Some(Storage { table: entries, key: KeyForm::Columns });
        }
        let layout = Layout::new(Arc::new(table), self.schema.clone())?;
        // Whoever was faster has made the same.
        let _ = self.layout.set(layout);
        Ok(())
    }
}
