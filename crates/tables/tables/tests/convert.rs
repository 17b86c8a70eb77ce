//! Directories of earlier versions, in which engines kept the indexes of programs' tables: they are taken in whole, whatever
//! happens meanwhile.

use env::{Disk, SimClock, SimDisk, SimDiskOptions, Survival};
use model::{
    Access, Begin, ColumnType, Decoder, Error, Key, KeyKind, Mode, RowBuf, RowKind, RowRef, Scan, Schema, Store,
    TableId, ValueRef,
};
use mvto::{Mvto, Options};
use seriatim_tables::{BatchSize, Catalog, Modifier, Relation, Sequences, Tables, Type, prepare_in_batches, transact};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// So few that every table takes several batches.
const SMALL: BatchSize = BatchSize { rows: 7, bytes: 1 << 20 };

/// The log's work is done by who waits, so that runs are repeatable.
fn options() -> Options {
    let log = wal::LogOptions { segment_bytes: 1 << 18, driver: wal::Driver::Caller, ..Default::default() };
    Options { log, sites: 2, ..Options::default() }
}

fn open(disk: &SimDisk, options: Options) -> model::Result<Arc<dyn Store>> {
    let engine = Mvto::open_with(Arc::new(disk.clone()) as Arc<dyn Disk>, options, SimClock::new(1_000, 7))?;
    Ok(Arc::new(model::Engine(Arc::new(engine))))
}

/// Takes in what there is.
fn convert_old_tables(engine: &Arc<dyn Store>, size: BatchSize) -> model::Result<Catalog> {
    let catalog = Catalog::<Type, Modifier>::open(&**engine)?;
    prepare_in_batches(&**engine, &catalog, &Sequences::open(engine.clone())?, size)?;
    Ok(catalog)
}

/// The directory that an earlier version has left.
fn fixture(name: &str) -> SimDisk {
    let disk = SimDisk::new(1, SimDiskOptions::default());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../product/seriatim/tests/fixtures/tables-1").join(name);
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        let file = disk.create_new(path.file_name().unwrap().to_str().unwrap()).unwrap();
        file.write_at(0, &std::fs::read(&path).unwrap()).unwrap();
        file.sync().unwrap();
    }
    disk.sync_dir("").unwrap();
    disk
}

type Rows = Vec<(Key, Vec<u8>)>;

fn rows(access: &mut dyn Access, table: TableId) -> Rows {
    let mut rows = Rows::new();
    let all = access.scan(&Scan::table(table), &mut |item| {
        rows.push((item.key.into(), item.row.bytes().to_vec()));
        ControlFlow::Continue(())
    });
    all.unwrap();
    rows
}

/// The rows of each table and the entries of each index, by name.
fn contents(engine: &dyn Store, catalog: &Catalog) -> BTreeMap<String, Rows> {
    let read = transact(engine, Mode::ReadOnly, |access| {
        let mut contents = BTreeMap::new();
        for relation in catalog.relations_in(access, "public")? {
            let Relation::Table(table) = relation else { continue };
            contents.insert(table.name.clone(), rows(access, table.storage.id()));
            for index in &table.indexes {
                let Some(storage) = index.storage else { continue };
                let entries = rows(access, storage.id());
                assert_eq!(entries.len(), contents[&table.name].len(), "{}: an entry for each row", index.name);
                contents.insert(index.name.clone(), entries);
            }
        }
        Ok(contents)
    });
    read.unwrap()
}

fn is_old(schema: &Schema) -> bool {
    schema.rows() == RowKind::Typed && matches!(schema.key(), KeyKind::Columns(_))
}

/// Where the notes of tables that are being taken in say that their rows go.
fn noted(engine: &dyn Store) -> Vec<u64> {
    let Some(catalog) = Catalog::<Type, Modifier>::find(engine) else { return Vec::new() };
    let notes = transact(engine, Mode::ReadOnly, |access| {
        let mut notes = Vec::new();
        access.scan(&Scan::table(catalog.table()).prefix(Key::from_bytes(b"taken in")), &mut |item| {
            if let Ok(table) = serde_json::from_slice::<serde_json::Value>(item.row.bytes()) {
                notes.push(table["storage"]["table"].as_u64().unwrap());
            }
            ControlFlow::Continue(())
        })?;
        Ok(notes)
    });
    notes.unwrap()
}

/// The power goes at every change of the disk while a directory is taken in. The next start takes in the rest: nothing is lost,
/// nothing is there twice, and rows that have moved stay where they are.
#[test]
fn a_directory_is_taken_in_whole_when_the_power_goes_at_any_change() {
    for name in ["closed", "killed"] {
        let disk = fixture(name);
        let (before, engine) = (disk.changes(), open(&disk, options()).unwrap());
        let expected = contents(&*engine, &convert_old_tables(&engine, SMALL).unwrap());
        assert!(expected["products"].len() > 20 && expected["visits"].len() > 15, "{name}: more than a batch");
        let (total, mut resumed) = (disk.changes() - before, 0);
        assert!(total > 30, "{name}: {total} changes");
        for change in 0..total {
            let disk = fixture(name);
            disk.cut_power_at(disk.changes() + change);
            let _ = open(&disk, options()).and_then(|engine| convert_old_tables(&engine, SMALL));
            for survival in [Survival::SyncedOnly, Survival::Random, Survival::Everything] {
                let context = format!("{name}: power cut at change {change} of {total}, {survival:?}");
                let after = disk.power_cut_with(survival);
                let engine = open(&after, options()).unwrap_or_else(|error| panic!("{context}: {error}"));
                let under_way = noted(&*engine);
                let catalog = convert_old_tables(&engine, SMALL).unwrap_or_else(|error| panic!("{context}: {error}"));
                assert_eq!(contents(&*engine, &catalog), expected, "{context}");
                let tables = engine.tables();
                assert!(!tables.iter().any(|(_, schema)| is_old(schema)), "{context}: an old table stays");
                for storage in under_way {
                    resumed += 1;
                    let stays = tables.iter().any(|(id, _)| u64::from(id.0) == storage);
                    assert!(stays, "{context}: rows that had moved were moved again");
                }
            }
        }
        assert!(resumed > 0, "{name}: no cut fell between two batches");
    }
}

/// A table as an earlier version made it: its indexes stand behind its definition.
fn former(schema: Schema, indexes: &[(&str, bool, u16)]) -> Schema {
    let mut bytes = Vec::new();
    schema.encode(&mut bytes);
    bytes.truncate(bytes.len() - 2);
    bytes.extend_from_slice(&(indexes.len() as u16).to_le_bytes());
    for (name, unique, column) in indexes {
        bytes.extend_from_slice(&(name.len() as u32).to_le_bytes());
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(u8::from(*unique));
        bytes.extend_from_slice(&1_u16.to_le_bytes());
        bytes.extend_from_slice(&column.to_le_bytes());
    }
    Schema::decode(&mut Decoder::new(&bytes)).expect("a former schema")
}

fn people(indexes: &[(&str, bool, u16)]) -> Schema {
    let columns = Schema::table("people").column("id", ColumnType::Int).column("name", ColumnType::Text);
    let columns = columns.column("life", ColumnType::Text);
    former(columns.key(["id"]).build().unwrap(), indexes)
}

const INDEXES: [(&str, bool, u16); 2] = [("by_name", true, 1), ("by_name_too", false, 1)];

/// An old table with this many people, and the life of each in so many bytes.
fn fill(engine: &dyn Store, count: i64, bytes: usize) -> TableId {
    let table = engine.create_table(people(&INDEXES)).unwrap();
    for id in 0..count {
        let (name, life) = (format!("{id:05}"), format!("{id:0bytes$}"));
        let row = RowBuf::from_values(&[ValueRef::Int(id), ValueRef::Text(&name), ValueRef::Text(&life)]);
        let mut key = Key::new();
        key.push_i64(id);
        let put = transact(engine, Mode::ReadWrite, |access| access.insert(table, &key, row.row()));
        put.unwrap();
    }
    table
}

fn in_memory(options: Options) -> Arc<dyn Store> {
    Arc::new(model::Engine(Arc::new(Mvto::in_memory_with(options, SimClock::new(1_000, 7)).unwrap())))
}

/// The table fills most of the memory that there may be: rows are moved, not copied.
#[test]
fn a_table_is_taken_in_where_two_of_it_do_not_fit() {
    let engine = in_memory(Options { memory_bytes: Some(12 << 20), ..options() });
    fill(&*engine, 3_000, 2_000);
    let filled = engine.usage().unwrap().memory_bytes;
    assert!(filled > 6 << 20, "{filled} bytes: half of the limit");
    let catalog = convert_old_tables(&engine, BatchSize::default()).unwrap();
    assert_eq!(contents(&*engine, &catalog)["people"].len(), 3_000);
}

/// A batch of rows and entries is more than a transaction may write.
#[test]
fn batches_shrink_to_what_a_transaction_may_write() {
    let engine = in_memory(Options { write_set_rows: 20, ..options() });
    fill(&*engine, 100, 5);
    let catalog = convert_old_tables(&engine, BatchSize::default()).unwrap();
    let found = contents(&*engine, &catalog);
    assert_eq!((found["people"].len(), found["people_by_name"].len()), (100, 100));
}

/// Programs and SQL had a space of names each.
#[test]
fn a_name_that_is_taken_gets_a_number() {
    let engine = in_memory(options());
    let tables = Tables::open(engine.clone()).unwrap();
    let others = seriatim_tables::Schema::table("people").column("city", ColumnType::Text).key(["city"]);
    tables.create(&others.build().unwrap(), &[]).unwrap();
    let form = |access: &mut dyn Access| access.put(tables.catalog().table(), b"form", RowRef::new(b"1"));
    transact(&*engine, Mode::ReadWrite, form).unwrap();
    // Earlier versions knew no engine tables of the table layer's beside theirs.
    fill(&*engine, 9, 5);
    let found = contents(&*engine, &convert_old_tables(&engine, SMALL).unwrap());
    assert_eq!((found["people"].len(), found["people_1"].len()), (0, 9));
}

#[test]
fn rows_that_share_an_entry_of_a_unique_index_are_damage() {
    let engine = in_memory(options());
    let table = fill(&*engine, 5, 5);
    let again = RowBuf::from_values(&[ValueRef::Int(7), ValueRef::Text("00003"), ValueRef::Text("short")]);
    let mut key = Key::new();
    key.push_i64(7);
    transact(&*engine, Mode::ReadWrite, |access| access.insert(table, &key, again.row())).unwrap();
    let Err(Error::Fault(fault)) = convert_old_tables(&engine, SMALL) else { panic!("two of one name") };
    assert!(fault.to_string().contains("share an entry of a unique index"), "{fault}");
    let mut left = engine.begin(Begin::default()).unwrap();
    assert_eq!(rows(&mut left, table).len(), 6, "what was to move in that batch is still there");
}

#[test]
fn definitions_of_indexes_that_make_no_sense_are_refused() {
    let engine = in_memory(options());
    engine.create_table(people(&[("by_nothing", false, 9)])).unwrap();
    let Err(error) = convert_old_tables(&engine, SMALL) else { panic!("there is no column 9") };
    assert!(error.to_string().contains("index by_nothing needs columns of the table"), "{error}");
}

/// Form 3 had no types that statements define, and form 4 no composite ones: their rows stay as they are.
#[test]
fn a_catalog_of_the_form_before_gets_the_present_one() {
    let engine = in_memory(options());
    let tables = Tables::open(engine.clone()).unwrap();
    let cities = seriatim_tables::Schema::table("cities").column("city", ColumnType::Text).key(["city"]);
    tables.create(&cities.build().unwrap(), &[]).unwrap();
    let table = tables.catalog().table();
    let all = |engine: &Arc<dyn Store>| rows(&mut engine.begin(Begin::default()).unwrap(), table);
    for old in [b"3", b"4"] {
        transact(&*engine, Mode::ReadWrite, |access| access.put(table, b"form", RowRef::new(old))).unwrap();
        let before = all(&engine);
        convert_old_tables(&engine, SMALL).unwrap();
        let changed: Vec<_> = all(&engine).into_iter().filter(|row| !before.contains(row)).collect();
        assert_eq!(changed, [(Key::from_bytes(b"form"), b"5".to_vec())]);
        assert_eq!(all(&engine).len(), before.len());
    }
    transact(&*engine, Mode::ReadWrite, |access| access.put(table, b"form", RowRef::new(b"6"))).unwrap();
    let Err(error) = convert_old_tables(&engine, SMALL) else { panic!("a form of a later version") };
    assert!(error.to_string().contains("form \"6\" is not known"), "{error}");
}
