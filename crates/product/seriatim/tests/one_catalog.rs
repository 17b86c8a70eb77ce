//! Tables of programs and tables of SQL are the same tables.

use seriatim::{Database, Engine, Error, Invalid, Result, record};

record! {
    #[derive(Clone, Debug, PartialEq)]
    struct Customer {
        id: i64,
        city: String,
        code: Option<String>,
    }
    table "customers";
    key (id);
    index by_city (city);
    unique by_code (code);
}

record! {
    #[derive(Clone, Debug, PartialEq)]
    struct Line {
        order: i32,
        position: i64,
        what: String,
        price: Option<f64>,
    }
    table "lines";
    key (order, position);
    index by_what (what, price);
}

fn customer(id: i64, city: &str, code: Option<&str>) -> Customer {
    Customer { id, city: city.into(), code: code.map(Into::into) }
}

/// The answer of a statement as texts, NULL as a dash.
fn ask(db: &Database, statement: &str) -> Vec<String> {
    let answer = db.sql(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    let texts = |row: &seriatim::sql::Row| {
        let values = (0..row.values().len()).map(|at| row.text(at).unwrap_or("-".into()));
        values.collect::<Vec<_>>().join("|")
    };
    answer.rows.iter().map(texts).collect()
}

fn refused(db: &Database, statement: &str) -> String {
    db.sql(statement).unwrap_err().sqlstate().to_owned()
}

/// What a program refuses, as its message.
fn complaint<T: std::fmt::Debug>(done: Result<T>) -> String {
    match done.unwrap_err() {
        Error::Invalid(invalid @ (Invalid::Shape { .. } | Invalid::Row { .. })) => invalid.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn sql_joins_a_table_of_a_program_with_one_of_its_own() -> Result<()> {
    joins(&Database::in_memory()?)
}

#[test]
fn so_it_does_on_two_phase_locking() -> Result<()> {
    joins(&Database::builder().engine(Engine::Twopl).in_memory()?)
}

fn joins(db: &Database) -> Result<()> {
    let customers = db.table::<Customer>()?;
    db.run(|txn| {
        customers.insert(txn, &customer(1, "Graz", Some("a")))?;
        customers.insert(txn, &customer(-2, "Reims", None))
    })?;
    db.sql(
        "CREATE TABLE orders (id serial PRIMARY KEY, customer bigint REFERENCES customers, total numeric);
         INSERT INTO orders (customer, total) VALUES (1, 10.5), (1, 2), (-2, 7)",
    )?;
    let joined =
        "SELECT city, sum(total) FROM customers JOIN orders ON customer = customers.id GROUP BY city ORDER BY 1";
    assert_eq!(ask(db, joined), ["Graz|12.5", "Reims|7"]);
    assert_eq!(refused(db, "INSERT INTO orders (customer) VALUES (99)"), "23503");
    // Other tables refer to it now, so that only SQL knows whether a row may go.
    assert!(complaint(db.run(|txn| customers.delete(txn, 1))).contains("foreign keys"));
    assert_eq!(refused(db, "DELETE FROM customers WHERE id = 1"), "23503");
    db.run(|txn| customers.insert(txn, &customer(3, "Graz", None)))?;
    assert_eq!(ask(db, "SELECT count(*) FROM customers WHERE city = 'Graz'"), ["2"]);
    db.verify()?;
    Ok(())
}

#[test]
fn both_keep_the_indexes_and_what_is_unique_in_them() -> Result<()> {
    let db = Database::in_memory()?;
    let customers = db.table::<Customer>()?;
    db.sql("INSERT INTO customers VALUES (1, 'Graz', 'a'), (2, 'Reims', NULL), (3, 'Graz', NULL)")?;
    let cities = |city: &str| -> Result<Vec<i64>> {
        db.read(|at| customers.by(Customer::by_city()).equal(at, city).map(|found| Ok(found?.id)).collect())
    };
    assert_eq!(cities("Graz")?, [1, 3]);
    assert_eq!(refused(&db, "INSERT INTO customers VALUES (4, 'Wien', 'a')"), "23505");
    assert_eq!(refused(&db, "INSERT INTO customers VALUES (1, 'Wien', 'b')"), "23505");
    let taken = db.run(|txn| customers.insert(txn, &customer(4, "Wien", Some("a")))).unwrap_err();
    assert_eq!((taken.sqlstate(), taken.to_string().contains("by_code")), ("23505", true), "{taken}");
    assert_eq!(cities("Wien")?, [0; 0]);
    db.sql("UPDATE customers SET city = 'Wien', code = 'b' WHERE id = 1; DELETE FROM customers WHERE id = 2")?;
    assert_eq!((cities("Graz")?, cities("Wien")?), (vec![3], vec![1]));
    db.run(|txn| customers.put(txn, &customer(3, "Linz", Some("a"))))?;
    let plan = ask(&db, "EXPLAIN (COSTS OFF) SELECT id FROM customers WHERE city = 'Linz'").join(" ");
    assert!(plan.contains("customers_by_city"), "{plan}");
    assert_eq!(ask(&db, "SELECT id FROM customers WHERE city = 'Linz'"), ["3"]);
    assert_eq!(ask(&db, "SELECT id FROM customers WHERE code = 'a'"), ["3"]);
    assert_eq!(db.verify()?.index_entries, 4);
    Ok(())
}

/// Only SQL can tell the entries of a partial index, and of one on an expression: a program reads their table, and writes it again
/// when they are gone.
#[test]
fn a_program_leaves_computed_indexes_to_sql() -> Result<()> {
    let db = Database::in_memory()?;
    let customers = db.table::<Customer>()?;
    for index in ["(id) WHERE city > 'G'", "(lower(city))"] {
        db.run(|txn| customers.put(txn, &customer(1, "Graz", Some("a"))))?;
        db.sql(&format!(
            "CREATE UNIQUE INDEX computed ON customers {index}; INSERT INTO customers VALUES (2, 'Aa', 'b')"
        ))?;
        let message = complaint(db.run(|txn| customers.insert(txn, &customer(3, "Wien", None))));
        assert!(message.contains("index computed"), "{message}");
        assert!(complaint(db.run(|txn| customers.delete(txn, 1))).contains("index computed"));
        assert_eq!(db.read(|at| customers.get(at, 2))?.map(|found| found.city), Some("Aa".to_owned()));
        db.verify()?;
        db.sql("DROP INDEX computed; DELETE FROM customers WHERE id = 2")?;
    }
    db.run(|txn| customers.insert(txn, &customer(3, "Wien", None)))?;
    Ok(())
}

#[test]
fn a_record_opens_a_table_of_sql() -> Result<()> {
    let db = Database::in_memory()?;
    db.sql(
        "CREATE TABLE lines (\"order\" integer, gone text, position bigint, what varchar(5) NOT NULL, price float8,
             PRIMARY KEY (\"order\", position));
         CREATE INDEX ON lines (what, price);
         INSERT INTO lines VALUES (-1, 'x', 1, 'pear', 2.5), (7, 'x', 1, 'plum', NULL), (7, 'x', 2, 'pear', NULL);
         ALTER TABLE lines DROP COLUMN gone",
    )?;
    let lines = db.table::<Line>()?;
    db.run(|txn| lines.insert(txn, &Line { order: 7, position: 3, what: "fig".into(), price: Some(1.0) }))?;
    let keys = |found: seriatim::Records<'_, Line>| -> Result<Vec<(i32, i64)>> {
        found.map(|line| line.map(|line| (line.order, line.position))).collect()
    };
    db.read(|at| {
        assert_eq!(keys(lines.iter(at))?, [(-1, 1), (7, 1), (7, 2), (7, 3)]);
        assert_eq!(keys(lines.range(at, (7, 2)..))?, [(7, 2), (7, 3)]);
        assert_eq!(keys(lines.prefix(at, (7,)))?, [(7, 1), (7, 2), (7, 3)]);
        assert_eq!(keys(lines.by(Line::by_what()).prefix(at, ("pear",)))?, [(-1, 1), (7, 2)]);
        assert_eq!(lines.get(at, (7, 3))?.unwrap().what, "fig");
        Ok(())
    })?;
    let long = db.run(|txn| lines.insert(txn, &Line { order: 8, position: 1, what: "quince".into(), price: None }));
    assert!(complaint(long).contains("more than 5 characters in column what"));
    assert_eq!(ask(&db, "SELECT what, price FROM lines WHERE \"order\" = 7 AND position = 3"), ["fig|1"]);
    db.verify()?;
    Ok(())
}

#[test]
fn a_type_that_does_not_fit_is_told_by_its_column() -> Result<()> {
    let db = Database::in_memory()?;
    let mismatch = |columns: &str| -> Result<String> {
        db.sql(&format!("DROP TABLE IF EXISTS customers; CREATE TABLE customers ({columns})"))?;
        Ok(complaint(db.table::<Customer>()))
    };
    assert!(mismatch("id bigint PRIMARY KEY, city text NOT NULL, code numeric")?.contains("column code is numeric"));
    assert!(
        mismatch("id bigint PRIMARY KEY, city bytea NOT NULL, code text")?
            .contains("column city is bytea there, not text")
    );
    assert!(mismatch("id bigint PRIMARY KEY, city text, code text")?.contains("column city is text or NULL there"));
    assert!(mismatch("id bigint, city text NOT NULL, code text")?.contains("no primary key"));
    assert!(mismatch("id bigint PRIMARY KEY, city text NOT NULL, code text")?.contains("no index by_city (city)"));
    Ok(())
}

#[test]
fn each_sees_at_once_what_the_other_changes_of_a_table() -> Result<()> {
    let db = Database::in_memory()?;
    let customers = db.table::<Customer>()?;
    db.run(|txn| customers.insert(txn, &customer(1, "Graz", None)))?;
    db.sql("CREATE UNIQUE INDEX one_city ON customers (city)")?;
    let twice = db.run(|txn| customers.insert(txn, &customer(2, "Graz", None))).unwrap_err();
    assert_eq!(twice.to_string(), "duplicate entry (city='Graz') in unique index one_city of table customers");
    db.sql("DROP INDEX one_city; TRUNCATE customers")?;
    db.run(|txn| customers.insert(txn, &customer(2, "Graz", None)))?;
    db.sql("ALTER TABLE customers ADD CHECK (id < 10)")?;
    assert!(complaint(db.run(|txn| customers.insert(txn, &customer(3, "Graz", None)))).contains("constraint"));
    db.sql("ALTER TABLE customers DROP COLUMN code")?;
    assert!(complaint(db.read(|at| customers.get(at, 2))).contains("no column code"));
    db.drop_table("customers")?;
    assert_eq!(refused(&db, "SELECT * FROM customers"), "42P01");
    assert!(matches!(db.read(|at| customers.get(at, 2)), Err(Error::Invalid(Invalid::UnknownTable { .. }))));
    Ok(())
}

/// Whoever uses a table has read its definition, also where the handle knows it already. Else the rule would be checked against rows
/// without the one that was written meanwhile, and would still hold for the table.
#[test]
fn a_change_of_a_definition_conflicts_with_later_users_of_the_table() -> Result<()> {
    let db = Database::in_memory()?;
    let customers = db.table::<Customer>()?;
    later_use_conflicts(&db, |id| db.run(|txn| customers.insert(txn, &customer(id, "Graz", None))).unwrap())
}

/// So it is for a statement with a plan.
#[test]
fn a_change_of_a_definition_conflicts_with_later_statements_over_the_table() -> Result<()> {
    let db = Database::in_memory()?;
    db.table::<Customer>()?;
    let mut session = db.sql_session()?;
    let insert = "INSERT INTO customers VALUES ($1, 'Graz', NULL)";
    later_use_conflicts(&db, move |id| drop(session.query(insert, &[&id]).unwrap()))
}

fn later_use_conflicts(db: &Database, mut insert: impl FnMut(i64)) -> Result<()> {
    insert(1);
    insert(2);
    db.sql("CREATE TABLE early (id int)")?;
    let mut session = db.sql_session()?;
    session.run("BEGIN; SELECT * FROM early")?;
    insert(100);
    let changed = session.run("ALTER TABLE customers ADD CHECK (id < 10); COMMIT");
    assert!(matches!(changed.unwrap_err().sqlstate(), "40001" | "23514"));
    drop(session);
    insert(101);
    Ok(())
}

#[test]
fn fields_that_may_be_missing_are_added_to_a_table() -> Result<()> {
    mod later {
        seriatim::record! {
            #[derive(Clone, Debug, PartialEq)]
            pub(super) struct Customer {
                pub(super) id: i64,
                pub(super) city: String,
                pub(super) code: Option<String>,
                pub(super) note: Option<String>,
                pub(super) points: i64 = 7,
                pub(super) rank: String = "it's new".into(),
            }
            table "customers";
            key (id);
            index by_city (city);
            unique by_code (code);
        }
    }
    let db = Database::in_memory()?;
    let customers = db.table::<Customer>()?;
    db.run(|txn| customers.insert(txn, &customer(1, "Graz", Some("a"))))?;
    let wider = db.table::<later::Customer>()?;
    let found = db.read(|at| wider.by(later::Customer::by_code()).get(at, Some("a")))?.unwrap();
    assert_eq!((found.note, found.points, found.rank.as_str()), (None, 7, "it's new"));
    db.sql("INSERT INTO customers (id, city) VALUES (2, 'Wien')")?;
    let by_sql = db.read(|at| wider.get(at, 2))?.unwrap();
    assert_eq!((by_sql.points, by_sql.rank.as_str()), (7, "it's new"));
    // A program that does not know the fields cannot write them.
    assert!(complaint(db.run(|txn| customers.insert(txn, &customer(3, "Linz", None)))).contains("column note"));
    db.verify()?;
    Ok(())
}
