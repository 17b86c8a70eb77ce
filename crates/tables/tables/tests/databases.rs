//! Databases that a crash leaves between the steps of CREATE DATABASE and DROP DATABASE; directories of an earlier version.

use model::{Columns, Key, Mode, RowBuf, RowRef, Schema, Store};
use seriatim_tables::{CATALOG, DatabaseDefinition, SUPERUSER, SharedCatalog, Tables, transact};
use std::sync::Arc;

fn engine() -> Arc<dyn Store> {
    let engine = mvto::Mvto::in_memory(mvto::Options::default()).expect("an engine in memory");
    Arc::new(model::Engine(Arc::new(engine)))
}

fn table(name: &str) -> seriatim_tables::Schema {
    seriatim_tables::Schema::table(name).column("a", model::ColumnType::Int).key(["a"]).build().unwrap()
}

fn names(engine: &dyn Store) -> Vec<String> {
    let mut names: Vec<String> = engine.tables().iter().map(|(_, schema)| schema.name().to_owned()).collect();
    names.sort();
    names
}

/// An engine with a database `app` that has a table.
fn with_app(engine: &Arc<dyn Store>) -> (SharedCatalog, DatabaseDefinition) {
    Tables::open(engine.clone()).unwrap();
    let shared = SharedCatalog::open(&**engine).unwrap();
    let app = DatabaseDefinition::plain(20_000, "app", SUPERUSER);
    shared.create_database(&**engine, &app).unwrap();
    Tables::open_in(engine.clone(), Some("app")).unwrap().create(&table("t"), &[]).unwrap();
    (shared, app)
}

#[test]
fn the_next_opening_keeps_the_tables_of_all_databases() {
    let engine = engine();
    with_app(&engine);
    let before = names(&*engine);
    Tables::open(engine.clone()).unwrap();
    assert_eq!(names(&*engine), before);
    let app = Tables::open_in(engine.clone(), Some("app")).unwrap();
    assert_eq!(app.all().unwrap().len(), 1);
    assert_eq!(Tables::open(engine.clone()).unwrap().all().unwrap().len(), 0);
    let unknown = Tables::open_in(engine, Some("nope")).unwrap_err();
    assert_eq!(unknown.to_string(), "database \"nope\" does not exist: SQL's CREATE DATABASE makes one");
}

#[test]
fn a_crash_between_the_steps_leaves_no_half_database() {
    let engine = engine();
    Tables::open(engine.clone()).unwrap();
    let empty = names(&*engine);
    // Made, and not entered.
    engine.create_table(Schema::bytes(format!("{CATALOG} 20000")).build().unwrap()).unwrap();
    Tables::open(engine.clone()).unwrap();
    assert_eq!(names(&*engine), empty);
    // Gone from the list, and all its engine tables there.
    let (shared, _) = with_app(&engine);
    let (table, _) = engine.tables().into_iter().find(|(_, schema)| schema.name() == "sql shared").unwrap();
    transact(&*engine, Mode::ReadWrite, |access| {
        let mut key = Key::from_bytes(b"d");
        key.push_text("app");
        assert!(access.delete(table, &key)?);
        Ok(())
    })
    .unwrap();
    Tables::open(engine.clone()).unwrap();
    assert_eq!(names(&*engine), empty);
    assert!(shared.find_database(&*engine, "app").unwrap().0.is_none());
}

#[test]
fn a_dropped_database_takes_its_engine_tables_along() {
    let engine = engine();
    Tables::open(engine.clone()).unwrap();
    let empty = names(&*engine);
    let (shared, app) = with_app(&engine);
    assert!(shared.drop_database(&*engine, &app).unwrap().0);
    assert_eq!(names(&*engine), empty);
    assert!(!shared.drop_database(&*engine, &app).unwrap().0);
}

/// A catalog of form 3 gets form 4, in which an earlier version, which would drop the tables of other databases, refuses it.
#[test]
fn a_directory_with_one_database_becomes_its_first() {
    let engine = engine();
    Tables::open(engine.clone()).unwrap().create(&table("old"), &[]).unwrap();
    engine.drop_table("sql shared").unwrap();
    let (catalog, _) = engine.tables().into_iter().find(|(_, schema)| schema.name() == CATALOG).unwrap();
    transact(&*engine, Mode::ReadWrite, |access| access.put(catalog, b"form", RowRef::new(b"3"))).unwrap();
    let read = Tables::open_to_read_in(engine.clone(), Some("postgres")).unwrap().unwrap();
    assert_eq!(read.all().unwrap().len(), 1);
    let opened = Tables::open_in(engine.clone(), Some("postgres")).unwrap();
    assert_eq!(opened.all().unwrap()[0].name, "old");
    let mut form = RowBuf::new();
    transact(&*engine, Mode::ReadOnly, |access| access.read(catalog, b"form", Columns::All, &mut form)).unwrap();
    assert_eq!(form.bytes(), b"5");
}
