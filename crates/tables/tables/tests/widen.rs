//! A table gets further columns while others use it, however large it is.

use env::SimClock;
use model::{ColumnType, Error, Key, Mode, RowBuf, RowRef, Scan, Store, Value, ValueRef};
use mvto::{Mvto, Options};
use seriatim_tables::{Error as TableError, Layout, Schema, Table, Tables, schema_of, transact};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;

fn open(options: Options) -> (Arc<dyn Store>, Tables) {
    let engine = Mvto::in_memory_with(options, SimClock::new(1_000, 7)).unwrap();
    let engine: Arc<dyn Store> = Arc::new(model::Engine(Arc::new(engine)));
    let tables = Tables::open(engine.clone()).unwrap();
    (engine, tables)
}

fn narrow() -> Schema {
    let columns = Schema::table("people").column("id", ColumnType::Int).column("name", ColumnType::Text);
    columns.key(["id"]).unique("by_name", ["name"]).build().unwrap()
}

fn wide() -> Schema {
    let columns = Schema::table("people").column("id", ColumnType::Int).column("name", ColumnType::Text);
    let columns = columns.column("points", ColumnType::Int).nullable("note", ColumnType::Text);
    columns.key(["id"]).unique("by_name", ["name"]).build().unwrap()
}

const DEFAULTS: &[(&str, Value)] = &[("points", Value::Int(7))];

fn layout(table: Arc<Table>) -> Layout {
    let schema = schema_of(&table, None, model::Storage::Ordered).unwrap();
    Layout::new(table, Arc::new(schema)).unwrap()
}

fn key(id: i64) -> Key {
    let mut key = Key::new();
    key.push_i64(id);
    key
}

fn person(layout: &Layout, id: i64, name: &str) -> RowBuf {
    let values = [ValueRef::Int(id), ValueRef::Text(name), ValueRef::Int(7), ValueRef::Null];
    RowBuf::from_values(&values[..layout.schema().columns().len()])
}

fn plain(error: TableError) -> Error {
    match error {
        TableError::Engine(error) => error,
        TableError::Duplicate(duplicate) => panic!("{duplicate}"),
    }
}

/// The rows of the present definition, each checked against its entries.
fn rows(engine: &dyn Store, tables: &Tables) -> Vec<Vec<Value>> {
    let layout = layout(tables.find("people").unwrap().unwrap());
    let read = transact(engine, Mode::ReadOnly, |access| {
        let mut stored = Vec::new();
        access.scan(&Scan::table(layout.rows()), &mut |item| {
            stored.push((Key::from_bytes(item.key), item.row.bytes().to_vec()));
            ControlFlow::Continue(())
        })?;
        for (key, row) in &stored {
            layout.check_entries(access, key, RowRef::new(row)).map_err(plain)?;
        }
        Ok(stored)
    });
    let values = |row: Vec<u8>| RowRef::new(&row).values().map(ValueRef::to_owned).collect();
    read.unwrap().into_iter().map(|(_, row)| values(row)).collect()
}

fn expected(id: i64, name: &str) -> Vec<Value> {
    vec![Value::Int(id), Value::Text(name.into()), Value::Int(7), Value::Null]
}

fn fill(engine: &dyn Store, layout: &Layout, count: i64) {
    for id in 0..count {
        let row = person(layout, id, &format!("number {id}"));
        let put = transact(engine, Mode::ReadWrite, |access| layout.insert(access, &key(id), row.row()).map_err(plain));
        put.unwrap();
    }
}

#[test]
fn a_table_larger_than_a_transaction_may_write_gets_columns() {
    let (engine, tables) = open(Options { write_set_rows: 20, ..Options::default() });
    let table = tables.create(&narrow(), &[]).unwrap();
    fill(&*engine, &layout(table.clone()), 300);
    tables.widen(&table, &wide(), DEFAULTS).unwrap();
    let all: Vec<_> = (0..300).map(|id| expected(id, &format!("number {id}"))).collect();
    assert_eq!(rows(&*engine, &tables), all);
    let before = table.storage.id();
    assert!(!engine.tables().iter().any(|(id, _)| *id == before), "the rows before are dropped");
}

#[test]
fn a_definition_that_has_changed_is_not_replaced() {
    let (engine, tables) = open(Options::default());
    let table = tables.create(&narrow(), &[]).unwrap();
    fill(&*engine, &layout(table.clone()), 3);
    tables.widen(&table, &wide(), DEFAULTS).unwrap();
    let count = engine.tables().len();
    assert_eq!(tables.widen(&table, &wide(), DEFAULTS).unwrap_err().sqlstate(), "42P16");
    assert_eq!(engine.tables().len(), count, "the storage that it had made is gone");
}

/// Others insert, change and delete rows all the while, by the definition that they find. Each statement counts once.
#[test]
fn what_others_write_meanwhile_is_there_afterwards() {
    const CLIENTS: i64 = 3;
    const ROWS: i64 = 399;
    const ROUNDS: i64 = 250;
    let (engine, tables) = open(Options { write_set_rows: 200, ..Options::default() });
    let table = tables.create(&narrow(), &[]).unwrap();
    fill(&*engine, &layout(table.clone()), ROWS);
    let round_of = |client: i64, round: i64| {
        let id = (round * CLIENTS + client) % ROWS;
        let write = transact(&*engine, Mode::ReadWrite, |access| {
            let Some(seriatim_tables::Relation::Table(now)) = tables.catalog().relation(access, "public", "people")?
            else {
                panic!("it is there")
            };
            let layout = layout(now);
            if round % 3 == 2 {
                layout.delete(access, &key(id)).map_err(plain)?;
            }
            let row = person(&layout, id, &format!("round {round} of {id}"));
            layout.put(access, &key(id), row.row()).map_err(plain)
        });
        write.unwrap();
    };
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let round_of = &round_of;
            scope.spawn(move || (0..ROUNDS).for_each(|round| round_of(client, round)));
        }
        tables.widen(&table, &wide(), DEFAULTS).unwrap();
    });
    let mut all: Vec<_> = (0..ROWS).map(|id| expected(id, &format!("number {id}"))).collect();
    for (client, round) in (0..CLIENTS).flat_map(|client| (0..ROUNDS).map(move |round| (client, round))) {
        let id = (round * CLIENTS + client) % ROWS;
        all[id as usize] = expected(id, &format!("round {round} of {id}"));
    }
    assert_eq!(rows(&*engine, &tables), all);
}
