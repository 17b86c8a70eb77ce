//! Composite types across sessions, plans, protocols and restarts. What single statements answer is compared with PostgreSQL in the
//! scripts of the command.

mod common;

use common::{Answer, Client, database, databases, open, store};
use seriatim_sql::session::Format;
use seriatim_sql::types::Encoding;

const POINTS: &str = "
    CREATE TYPE point2 AS (x int, y int);
    CREATE TABLE places (id int PRIMARY KEY, at point2, path point2[]);
    INSERT INTO places VALUES (1, ROW(1, 2), ARRAY[ROW(3, 4)::point2]), (2, '(5,)', NULL);
";

/// Sessions keep plans; a plan knows the attributes of the types that it met, of those within others too.
#[test]
fn plans_follow_a_type_and_what_it_contains() {
    for database in databases() {
        let (mut one, mut other) = (Client::new(&database), Client::new(&database));
        one.run(POINTS);
        one.run("CREATE TYPE segment AS (a point2, b point2); CREATE TABLE lines (l segment)");
        one.run("INSERT INTO lines VALUES (ROW(ROW(1, 2), ROW(3, 4)))");
        one.run("PREPARE at AS SELECT at FROM places ORDER BY id; PREPARE l AS SELECT l FROM lines");
        assert_eq!(one.show("EXECUTE at"), "(1,2)\n(5,)");
        assert_eq!(one.show("EXECUTE l"), "(\"(1,2)\",\"(3,4)\")");
        other.run("ALTER TYPE point2 ADD ATTRIBUTE z int");
        assert_eq!(one.show("EXECUTE at"), "(1,2,)\n(5,,)");
        assert_eq!(one.show("EXECUTE l"), "(\"(1,2,)\",\"(3,4,)\")");
        other.run("ALTER TYPE point2 DROP ATTRIBUTE x; UPDATE places SET at = ROW(7, 8) WHERE id = 2");
        assert_eq!(one.show("EXECUTE at"), "(2,)\n(7,8)");
        assert_eq!(one.show("EXECUTE l"), "(\"(2,)\",\"(4,)\")");
    }
}

/// A row of a table is a value of a type that changes with the table, also within the transaction that changes it.
#[test]
fn row_types_follow_their_tables() {
    for database in databases() {
        let mut client = Client::new(&database);
        client.run("CREATE TABLE t (a int, b text); CREATE TABLE log (old t); INSERT INTO t VALUES (1, 'x')");
        client.run("INSERT INTO log SELECT t FROM t");
        client.run("BEGIN; SELECT * FROM log; ALTER TABLE t ADD COLUMN c int; INSERT INTO log VALUES (ROW(2, 'y', 3))");
        assert_eq!(client.show("SELECT old FROM log ORDER BY old"), "(1,x,)\n(2,y,3)");
        client.run("SAVEPOINT s; ALTER TABLE t DROP COLUMN b");
        assert_eq!(client.show("SELECT old FROM log ORDER BY old"), "(1,)\n(2,3)");
        client.run("ROLLBACK TO s");
        assert_eq!(client.show("SELECT old FROM log ORDER BY old"), "(1,x,)\n(2,y,3)");
        client.run("ROLLBACK");
        assert_eq!(client.show("SELECT old, (old).b FROM log"), "(1,x)|x");
        assert_eq!(client.fails("DROP TABLE t").code(), "2BP01");
        client.run("DROP TABLE t CASCADE");
        assert_eq!(client.show("SELECT count(*) FROM log"), "1");
    }
}

/// What is stored of a value says nothing of its type: a later server reads it by the definition, whatever attributes came and went.
#[test]
fn a_database_is_opened_with_its_rows() {
    let store = store();
    let mut client = Client::new(&open(store.clone()));
    client.run(POINTS);
    client.run("CREATE UNIQUE INDEX places_at ON places (at); ALTER TYPE point2 ADD ATTRIBUTE z text");
    client.run("INSERT INTO places VALUES (3, ROW(1, NULL, 'deep'))");
    drop(client);
    let mut again = Client::new(&open(store.clone()));
    assert_eq!(again.show("SELECT id, at FROM places ORDER BY at"), "1|(1,2,)\n3|(1,,deep)\n2|(5,,)");
    assert_eq!(again.show("SELECT id FROM places WHERE at = ROW(5, NULL, NULL)::point2"), "2");
    assert_eq!(again.fails("INSERT INTO places VALUES (4, '(1,2,)')").code(), "23505");
    let refused = again.fails("ALTER TYPE point2 DROP ATTRIBUTE y");
    assert_eq!(refused.code(), "0A000");
    again.run("DROP INDEX places_at; ALTER TYPE point2 DROP ATTRIBUTE y; CREATE INDEX ON places (at)");
    drop(again);
    let mut last = Client::new(&open(store));
    assert_eq!(last.show("SELECT id, at, path FROM places ORDER BY at"), "3|(1,deep)|\n1|(1,)|{\"(3,)\"}\n2|(5,)|");
}

/// Drivers name the types of parameters by identifiers, of tables' rows too, and send rows in binary form.
#[test]
fn parameters_are_rows_in_both_forms() {
    let database = database();
    let mut client = Client::new(&database);
    client.run(POINTS);
    for name in ["point2", "pair"] {
        if name == "pair" {
            client.run("CREATE TABLE pair (x int, y int)");
        }
        let oid: u32 = client.show(&format!("SELECT '{name}'::regtype::oid")).parse().unwrap();
        client.session.parse("s", "SELECT $1, ($1).y", &[oid]).expect("it is prepared");
        client.session.sync(false).unwrap();
        let described = client.session.describe_statement("s").expect("it is described");
        let fields: Vec<u32> = described.fields.unwrap().iter().map(|field| field.data_type.oid()).collect();
        assert_eq!(fields, [oid, 23]);
        let binary = |column: u32, fields: i32| {
            let (four, int4) = (4_i32.to_be_bytes(), 23_i32.to_be_bytes());
            let (count, first) = (fields.to_be_bytes(), column.to_be_bytes());
            [&count[..], &first, &four, &7_i32.to_be_bytes(), &int4, &four, &8_i32.to_be_bytes()].concat()
        };
        for (form, row) in [(Format::Text, &b"(7,8)"[..]), (Format::Binary, &binary(23, 2))] {
            client.session.bind("", "s", &[(form, Some(row))], Encoding::Utf8).expect("it is bound");
            let mut answer = Answer::default();
            client.session.execute("", 0, true, &mut answer).expect("it runs");
            client.session.sync(false).unwrap();
            assert_eq!(answer.rows, [["(7,8)", "8"]]);
        }
        for (row, code) in [(binary(23, 3), "42804"), (binary(25, 2), "42804"), (binary(23, 2)[..9].to_vec(), "08P01")]
        {
            let error = client.session.bind("", "s", &[(Format::Binary, Some(&row))], Encoding::Utf8).unwrap_err();
            assert_eq!(error.code(), code, "{}", error.message());
            client.session.sync(false).unwrap();
        }
        client.run("DEALLOCATE s");
    }
}

/// A kept text names attributes by their names: what would break one is refused, or goes with it.
#[test]
fn kept_texts_hold_attributes() {
    let database = database();
    let mut client = Client::new(&database);
    client.run(POINTS);
    client.run("CREATE VIEW xs AS SELECT (at).x AS x FROM places; CREATE VIEW made AS SELECT ROW(1, 2)::point2 AS p");
    client.run("CREATE TABLE checked (p point2 CHECK ((p).y > 0))");
    assert_eq!(client.fails("ALTER TYPE point2 RENAME ATTRIBUTE x TO z").code(), "0A000");
    assert_eq!(client.fails("ALTER TYPE point2 RENAME ATTRIBUTE y TO z").code(), "0A000");
    assert_eq!(client.fails("ALTER TYPE point2 DROP ATTRIBUTE x").code(), "2BP01");
    assert_eq!(client.fails("INSERT INTO checked VALUES (ROW(1, 0))").code(), "23514");
    client.run("ALTER TYPE point2 ADD ATTRIBUTE z int");
    assert_eq!(client.show("SELECT * FROM made"), "(1,2,)");
    client.run("ALTER TYPE point2 DROP ATTRIBUTE y CASCADE");
    assert_eq!(client.fails("SELECT * FROM made").code(), "42P01");
    client.run("INSERT INTO checked VALUES (ROW(1, 0))");
    assert_eq!(client.show("SELECT * FROM xs ORDER BY x"), "1\n5");
}

/// Attributes of domains: ROW(...) applies the rules, and other ways in are refused rather than passing them over.
#[test]
fn attributes_of_domains_keep_their_rules() {
    let database = database();
    let mut client = Client::new(&database);
    client.run("CREATE DOMAIN positive AS int CHECK (VALUE > 0); CREATE TYPE pair AS (a positive, b text)");
    assert_eq!(client.show("SELECT ROW(1, 'x')::pair, (ROW(1, 'x')::pair).a + 1"), "(1,x)|2");
    assert_eq!(client.fails("SELECT ROW(0, 'x')::pair").code(), "23514");
    assert_eq!(client.fails("SELECT '(0,x)'::pair").code(), "0A000");
    assert_eq!(client.fails("DROP DOMAIN positive").code(), "2BP01");
    client.run("CREATE DOMAIN ordered AS pair CHECK ((VALUE).a > 1)");
    assert_eq!(client.fails("SELECT ROW(1, 'x')::ordered").code(), "23514");
    assert_eq!(client.show("SELECT (ROW(2, 'x')::ordered).b"), "x");
    client.run("DROP TYPE pair CASCADE");
    assert_eq!(client.show("SELECT count(*) FROM pg_type WHERE typname IN ('pair', 'ordered')"), "0");
}

/// Whoever uses a type has read its definition: DROP cannot go past a writer of its values unnoticed.
#[test]
fn a_use_conflicts_with_the_end_of_the_type() {
    let database = database();
    let (mut one, mut other) = (Client::new(&database), Client::new(&database));
    // Some engines have it wait for the other one, which this thread would never end.
    other.run("SET lock_timeout = '1ms'");
    one.run(POINTS);
    one.run("BEGIN; CREATE TABLE late (p point2)");
    let dropped = other.try_run("DROP TYPE point2 CASCADE");
    let committed = one.try_run("COMMIT");
    assert!(dropped.is_err() || committed.is_err(), "a table has a column of a type that is gone");
}

/// The columns of `*` are written out in a view's query, which must then describe the same columns.
#[test]
fn a_view_of_all_columns_has_those_of_composite_types() {
    for database in databases() {
        let mut client = Client::new(&database);
        client.run("CREATE TYPE place AS (number int, name text); CREATE TABLE t (id int, home place)");
        client.run(
            "INSERT INTO t VALUES (1, '(7,x)'); CREATE VIEW v AS SELECT * FROM t; CREATE VIEW w AS SELECT home FROM v",
        );
        assert_eq!(client.show("SELECT * FROM v"), "1|(7,x)");
        assert_eq!(client.show("SELECT (home).name FROM w"), "x");
        assert_eq!(
            client.show("SELECT atttypmod FROM pg_attribute WHERE attrelid = 'w'::regclass AND attnum = 1"),
            "-1"
        );
    }
}

/// A field alone is not assigned: the refusal names it, stands at it, and says what to write.
#[test]
fn an_assignment_to_a_field_is_refused_by_name() {
    let database = database();
    let mut client = Client::new(&database);
    client.run(POINTS);
    for statement in ["UPDATE places SET at.x = 1", "INSERT INTO places (at.x) VALUES (1)"] {
        let refused = client.fails(statement);
        assert_eq!(refused.code(), "0A000", "{statement}");
        let fields = refused.fields();
        assert_eq!(fields.message, "an assignment to the field \"x\" of column \"at\" is not supported");
        assert_eq!(fields.position, statement.find("at.x").and_then(|at| u32::try_from(at + 1).ok()), "{statement}");
        let hint = "Assign the whole value, with the fields that stay: ROW(...)::point2.";
        assert_eq!(fields.hint.as_deref(), Some(hint));
    }
}
