//! The tables of a database: their definitions, and the engine tables that hold their rows and entries.
//!
//! Definitions are fixed while the database is open: a procedure reads none. An engine table is named for all that its bytes
//! depend on, so that another definition of a table is found out when the database is opened.

use crate::batch::table::TableAt;
use crate::{Error, Invalid, Result, Schema};
use bohm::Bohm;
use model::{KeyKind, TableId, Value};
use std::sync::Arc;
use tables::{IndexSchema, KeyForm, Layout, Storage, Table, describe};

/// The first identifier of a table, as in the catalog of SQL.
const FIRST_OID: u32 = 16_384;

/// A table as the program asks for it.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub schema: Arc<Schema>,
    pub defaults: Vec<(&'static str, Value)>,
}

/// The tables of an open database.
#[derive(Debug)]
pub(crate) struct Defined {
    /// Which database: that of the handles made with it.
    database: u64,
    layouts: Vec<Layout>,
    /// The engine's tables, by their numbers.
    engine_tables: Vec<Arc<model::Schema>>,
}

/// A definition with the schemas of the engine tables of its rows and, in order, of its indexes.
struct Planned {
    table: Table,
    schema: Arc<Schema>,
    rows: model::Schema,
    entries: Vec<model::Schema>,
}

impl Defined {
    /// Finds the engine tables of these definitions, or makes them.
    pub fn open(engine: &Bohm, database: u64, wanted: &[Wanted]) -> Result<Defined> {
        let mut next = FIRST_OID;
        let mut fresh_oid = || {
            next += 1;
            Ok(next - 1)
        };
        let planned = wanted.iter().map(|wanted| plan(wanted, &mut fresh_oid)).collect::<Result<Vec<_>>>()?;
        check_shapes(engine, &planned)?;
        let layouts = planned.into_iter().map(|planned| planned.lay_out(engine)).collect::<Result<_>>()?;
        let engine_tables = engine.tables().into_iter().map(|(_, schema)| schema).collect();
        Ok(Defined { database, layouts, engine_tables })
    }

    /// The layout of a table.
    pub fn layout(&self, table: TableAt) -> Result<&Layout> {
        if table.database != self.database {
            return Err(Error::OtherDatabase);
        }
        Ok(&self.layouts[table.number])
    }

    /// The definitions, in the order in which the program asked for them.
    #[cfg(feature = "sql")]
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.layouts.iter().map(|layout| &**layout.table())
    }

    /// The schema of an engine table.
    pub fn engine_table(&self, table: TableId) -> model::Result<&Arc<model::Schema>> {
        let unknown = || Invalid::UnknownTable { table: format!("number {}", table.0) };
        Ok(self.engine_tables.get(table.0 as usize).ok_or_else(unknown)?)
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
    Ok(Planned {
        rows: rows.build().map_err(model::Error::from)?,
        entries: entries.collect::<Result<_>>()?,
        table,
        schema,
    })
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
    for Planned { schema, rows, entries, .. } in planned {
        let prefix = format!("{:?} ", schema.name());
        let stored: Vec<&model::Schema> =
            there.iter().map(|(_, schema)| &**schema).filter(|schema| schema.name().starts_with(&prefix)).collect();
        let wanted: Vec<&model::Schema> = std::iter::once(rows).chain(entries).collect();
        let is_same = stored.iter().all(|schema| wanted.contains(schema)) && stored.len() == wanted.len();
        if stored.is_empty() || is_same {
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
    fn lay_out(self, engine: &Bohm) -> Result<Layout> {
        let Planned { mut table, schema, rows, entries } = self;
        table.storage.table = find_or_create(engine, rows)?.0;
        let indexes = table.indexes.iter_mut().filter(|index| !index.primary);
        for (index, entries) in indexes.zip(entries) {
            index.storage = Some(Storage { table: find_or_create(engine, entries)?.0, key: KeyForm::Columns });
        }
        Ok(Layout::new(Arc::new(table), schema)?)
    }
}

fn find_or_create(engine: &Bohm, schema: model::Schema) -> Result<TableId> {
    let there = engine.tables().into_iter().find(|(_, other)| other.name() == schema.name());
    Ok(match there {
        Some((id, _)) => id,
        None => engine.create_table(schema)?,
    })
}
