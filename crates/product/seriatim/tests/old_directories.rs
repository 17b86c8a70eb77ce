//! Directories of earlier versions open, with everything in them.

use seriatim::{BytesTable, Database, Date, DateTime, Result, Snapshot, record};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

record! {
    /// One integer as key, and every kind of index.
    #[derive(Clone, Debug, PartialEq)]
    struct Product {
        id: i64,
        name: String,
        stock: i32,
        price: f64,
        note: Option<String>,
        since: Option<Date>,
        seen: DateTime,
        gone: bool,
        picture: Vec<u8>,
    }
    table "products";
    key (id);
    index by_stock (stock);
    index by_note (note, since);
    unique by_name (name);
    unique by_since (since);
}

record! {
    /// A key of a text and a date.
    #[derive(Clone, Debug, PartialEq)]
    struct Visit {
        city: String,
        day: Date,
        guests: u32,
    }
    table "visits";
    key (city, day);
    index by_day (day);
}

record! {
    /// No index at all.
    #[derive(Clone, Debug, PartialEq)]
    struct Day {
        day: Date,
        name: String,
    }
    table "days";
    key (day);
}

fn product(id: i64) -> Product {
    Product {
        id,
        name: format!("product\0{id}"),
        stock: 100 - (id as i32 * 7) % 23,
        price: id as f64 / 4.0 - 3.0,
        note: (id % 3 != 0).then(|| format!("note {}", id % 5)),
        since: (id % 4 != 0).then(|| Date { days: 20_000 - id as i32 }),
        seen: DateTime { micros: 1_700_000_000_000_000 + id },
        gone: id % 2 == 0,
        picture: vec![id as u8; (id % 4) as usize],
    }
}

fn visit(number: i32) -> Visit {
    let city = ["Graz", "Reims", "Århus"][number as usize % 3];
    Visit { city: city.into(), day: Date { days: number - 10 }, guests: number as u32 * 1_000_000 }
}

/// What a directory holds: products 1 to 30 without every seventh, 20 visits, days, words, and what SQL wrote.
fn fill(db: &Database, between: impl FnOnce(&Database)) -> Result<()> {
    let (products, visits, days) = (db.table::<Product>()?, db.table::<Visit>()?, db.table::<Day>()?);
    let (words, events) = (db.bytes_table::<[u8]>("words")?, db.bytes_table::<u64>("events")?);
    db.run(|txn| {
        for id in 1..=20 {
            products.insert(txn, &product(id))?;
            visits.insert(txn, &visit(id as i32))?;
        }
        days.put(txn, &Day { day: Date { days: -1 }, name: "Wednesday".into() })?;
        words.put(txn, "eins", "one")?;
        events.put(txn, 7u64, "started")
    })?;
    let mut session = db.sql_session()?;
    session.run(
        "CREATE TABLE suppliers (id serial PRIMARY KEY, name varchar(20) NOT NULL UNIQUE, rate numeric(6, 2), product bigint);
         CREATE INDEX ON suppliers (product, rate DESC);
         CREATE TABLE log (at timestamptz, what text);
         CREATE VIEW dear AS SELECT name FROM suppliers WHERE rate > 3;
         INSERT INTO suppliers (name, rate, product) SELECT 's' || n, n / 4.0, n % 7 FROM generate_series(1, 12) AS n;
         INSERT INTO log VALUES ('2024-02-29 12:00:00+00', 'leap'), (NULL, NULL)",
    )?;
    between(db);
    db.run(|txn| {
        for id in 21..=30 {
            products.insert(txn, &product(id))?;
        }
        for id in (7..=30).step_by(7) {
            products.delete(txn, id)?;
        }
        words.put(txn, "zwei", "two")
    })?;
    session.run("DELETE FROM suppliers WHERE id % 5 = 0; UPDATE suppliers SET product = NULL WHERE id = 3")?;
    Ok(())
}

/// Everything, by rows and by every index.
#[derive(Debug, PartialEq)]
struct Contents {
    products: Vec<Product>,
    by_stock: Vec<Product>,
    by_note: Vec<Product>,
    by_name: Vec<Product>,
    by_since: Vec<Product>,
    visits: Vec<Visit>,
    by_day: Vec<Visit>,
    days: Vec<Day>,
    words: Vec<(Vec<u8>, Vec<u8>)>,
    events: Vec<(u64, Vec<u8>)>,
    sql: Vec<Vec<Option<String>>>,
}

fn contents(db: &Database) -> Result<Contents> {
    let (products, visits, days) = (db.table::<Product>()?, db.table::<Visit>()?, db.table::<Day>()?);
    let (words, events): (BytesTable, BytesTable<u64>) = (db.bytes_table("words")?, db.bytes_table("events")?);
    let sql = [
        "SELECT * FROM suppliers ORDER BY id",
        "SELECT id FROM suppliers WHERE product = 4 ORDER BY rate DESC",
        "SELECT name FROM suppliers WHERE name = 's11'",
        "SELECT * FROM dear ORDER BY name",
        "SELECT * FROM log ORDER BY what",
    ];
    let mut session = db.sql_session()?;
    session.run("SET timezone = 'UTC'")?;
    let mut answers = Vec::new();
    for statement in sql {
        for row in &session.query(statement, &[])?.rows {
            answers.push((0..row.values().len()).map(|column| row.text(column)).collect());
        }
    }
    db.read(|at: &Snapshot| {
        Ok(Contents {
            products: products.iter(at).collect::<Result<_>>()?,
            by_stock: products.by(Product::by_stock()).iter(at).collect::<Result<_>>()?,
            by_note: products.by(Product::by_note()).iter(at).collect::<Result<_>>()?,
            by_name: products.by(Product::by_name()).iter(at).collect::<Result<_>>()?,
            by_since: products.by(Product::by_since()).iter(at).collect::<Result<_>>()?,
            visits: visits.iter(at).collect::<Result<_>>()?,
            by_day: visits.by(Visit::by_day()).iter(at).collect::<Result<_>>()?,
            days: days.iter(at).collect::<Result<_>>()?,
            words: words.iter(at).collect::<Result<_>>()?,
            events: events.iter(at).collect::<Result<_>>()?,
            sql: answers,
        })
    })
}

/// A copy of a committed directory, for this process to write to.
fn copy_of(name: &str) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    static COPIES: AtomicU32 = AtomicU32::new(0);
    let number = COPIES.fetch_add(1, Ordering::Relaxed); // Tests that run side by side copy the same directory.
    let to = std::env::temp_dir().join(format!("seriatim-old-{}-{number}", std::process::id()));
    let _ = std::fs::remove_dir_all(&to);
    std::fs::create_dir_all(&to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
    to
}

/// What this version writes for the same history.
fn fresh() -> Database {
    let db = Database::in_memory().unwrap();
    fill(&db, |_| ()).unwrap();
    db
}

#[test]
fn a_fresh_database_has_its_rows_in_the_order_of_each_index() {
    let found = contents(&fresh()).unwrap();
    let mut expected: Vec<Product> = (1..=30).filter(|id| id % 7 != 0).map(product).collect();
    assert_eq!(found.products, expected);
    expected.sort_by_key(|product| (product.stock, product.id));
    assert_eq!(found.by_stock, expected);
    // NULL comes last.
    expected.sort_by_key(|it| (it.note.is_none(), it.note.clone(), it.since.is_none(), it.since, it.id));
    assert_eq!(found.by_note, expected);
    expected.sort_by_key(|it| it.name.clone());
    assert_eq!(found.by_name, expected);
    expected.sort_by_key(|it| (it.since.is_none(), it.since, it.id));
    assert_eq!(found.by_since, expected);
    let mut visits: Vec<Visit> = (1..=20).map(visit).collect();
    visits.sort_by_key(|visit| (visit.city.clone(), visit.day));
    assert_eq!(found.visits, visits);
    visits.sort_by_key(|visit| (visit.day, visit.city.clone()));
    assert_eq!(found.by_day, visits);
    assert_eq!(found.sql.len(), 10 + 2 + 1 + 2);
}

#[test]
fn a_directory_that_was_closed_opens_with_all_that_it_holds() {
    opens("tables-1/closed");
}

#[test]
fn a_directory_whose_program_was_killed_opens_with_all_that_it_holds() {
    opens("tables-1/killed");
}

#[test]
fn a_directory_without_versions_beside_definitions_opens_with_all_that_it_holds() {
    opens("tables-2/closed");
}

/// As it is, it can be read.
#[test]
fn definitions_without_versions_beside_them_are_read_where_nothing_is_written() {
    let path = copy_of("tables-2/closed");
    let db = Database::builder().read_only().open(&path).unwrap();
    let products = db.table::<Product>().unwrap();
    for _ in 0..2 {
        let found = db.read(|at| products.by(Product::by_name()).get(at, "product\u{0}2")).unwrap();
        assert_eq!(found, Some(product(2)));
    }
    db.close().unwrap();
    std::fs::remove_dir_all(&path).unwrap();
}

/// Opens, reads everything, writes, and opens again.
fn opens(name: &str) {
    let path = copy_of(name);
    let expected = contents(&fresh()).unwrap();
    let db = Database::open(&path).unwrap();
    assert_eq!(contents(&db).unwrap(), expected);
    db.verify().unwrap();
    let products = db.table::<Product>().unwrap();
    db.run(|txn| {
        products.delete(txn, 1)?;
        products.insert(txn, &Product { id: 7, since: None, ..product(1) })
    })
    .unwrap();
    db.close().unwrap();
    let db = Database::open(&path).unwrap();
    let again = contents(&db).unwrap();
    assert_eq!(again.products.len(), expected.products.len());
    let first = again.by_name.iter().find(|product| product.name == "product\u{0}1").map(|product| product.id);
    assert_eq!(first, Some(7));
    assert_eq!(again.sql, expected.sql);
    db.verify().unwrap();
    db.close().unwrap();
    std::fs::remove_dir_all(&path).unwrap();
}
