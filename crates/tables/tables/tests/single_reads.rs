//! A row that is read without a transaction is read by the definition that its table had then.

use env::SimClock;
use model::{
    Begin, ColumnType, Columns, Got, Key, LogPosition, Mode, Pending, Result, RowBuf, Snapshots, Store, TableId,
    Transaction, ValueRef,
};
use mvto::{Mvto, Options};
use seriatim_tables::{Layout, Relation, Schema, Table, Tables, schema_of, transact};
use std::sync::{Arc, Mutex};

type Hook = Box<dyn FnOnce() + Send>;

/// A store in which something happens behind the first single read.
struct Interrupted {
    inner: Arc<dyn Store>,
    then: Mutex<Option<Hook>>,
}

impl Store for Interrupted {
    fn begin(&self, how: Begin) -> Result<Box<dyn Transaction>> {
        self.inner.begin(how)
    }

    fn get(&self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<Got> {
        let got = self.inner.get(table, key, columns, row);
        if let Some(then) = self.then.lock().unwrap().take() {
            then();
        }
        got
    }

    fn wait_durable(&self, position: LogPosition) -> Result<()> {
        self.inner.wait_durable(position)
    }

    fn wait_durable_unless(&self, position: LogPosition, is_over: &dyn Fn() -> bool) -> Result<bool> {
        self.inner.wait_durable_unless(position, is_over)
    }

    fn recheck_waits(&self) {
        self.inner.recheck_waits();
    }

    fn durable(&self, position: LogPosition) -> Pending<Result<()>> {
        self.inner.durable(position)
    }

    fn ddl(&self) -> Option<&dyn model::Tables> {
        self.inner.ddl()
    }

    fn snapshots(&self) -> Option<&dyn Snapshots> {
        self.inner.snapshots()
    }
}

fn key() -> Key {
    let mut key = Key::new();
    key.push_i64(1);
    key
}

fn person(name: &str) -> RowBuf {
    RowBuf::from_values(&[ValueRef::Int(1), ValueRef::Text(name)])
}

fn layout(table: &Arc<Table>) -> Layout {
    let schema = schema_of(table, None, model::Storage::Ordered).unwrap();
    Layout::new(table.clone(), Arc::new(schema)).unwrap()
}

/// Changes the row and the definition of its table in one transaction.
fn change_both(store: &dyn Store, tables: &Tables, table: &Arc<Table>) {
    let old = layout(table);
    let changed = transact(store, Mode::ReadWrite, |access| {
        let key = old.stored_key(&key())?;
        access.put(old.rows(), &key, person("later").row())?;
        tables.catalog().replace(access, Relation::Table(table.clone()), table.version + 1_000)
    });
    changed.unwrap();
}

#[test]
fn a_definition_that_changes_behind_the_row_is_noticed() {
    let engine: Arc<dyn Store> =
        Arc::new(model::Engine(Arc::new(Mvto::in_memory_with(Options::default(), SimClock::new(1_000, 7)).unwrap())));
    let tables = Arc::new(Tables::open(engine.clone()).unwrap());
    let schema = Schema::table("people").column("id", ColumnType::Int).column("name", ColumnType::Text);
    let table = tables.create(&schema.key(["id"]).build().unwrap(), &[]).unwrap();
    let old = layout(&table);
    transact(&*engine, Mode::ReadWrite, |access| {
        let key = old.stored_key(&key())?;
        access.put(old.rows(), &key, person("before").row())
    })
    .unwrap();

    let store = Interrupted { inner: engine.clone(), then: Mutex::default() };
    let (mut row, mut version) = (RowBuf::new(), RowBuf::new());
    let mut read = |layout: &Layout| {
        let key = layout.stored_key(&key()).unwrap();
        let got = layout.get_now::<dyn Store>(&store, tables.catalog(), &key, (&mut row, &mut version));
        got.map(|got| (got.found, row.bytes().to_vec()))
    };
    assert_eq!(read(&old), Some((true, person("before").bytes().to_vec())));

    let (changer, changed) = (tables.clone(), table.clone());
    *store.then.lock().unwrap() = Some(Box::new(move || change_both(&*engine, &changer, &changed)));
    assert_eq!(read(&old), None, "the row was read before the change, its definition after");
    assert_eq!(read(&old), None, "the change stays");
    let new = layout(&tables.find("people").unwrap().unwrap());
    assert_eq!(read(&new), Some((true, person("later").bytes().to_vec())));
}
