//! Temporary relations in the catalogs: each answer is PostgreSQL 15's, up to the number of the schema.

mod common;

use common::{Client, database, engines, open};
use model::{Begin, Mode, Scan};
use seriatim_sql::store::Store;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The number in the name of a temporary schema differs from run to run.
#[track_caller]
fn check(client: &mut Client, cases: &[(&str, &str)]) {
    for (sql, expected) in cases {
        let shown = client.show(sql);
        let own = client.show("SELECT coalesce(nspname, '-') FROM pg_namespace WHERE oid = pg_my_temp_schema()");
        let shown = if own.is_empty() { shown } else { shown.replace(&own, "pg_temp_N") };
        assert_eq!(shown, *expected, "{sql}");
    }
}

const SCHEMA: &str = "
    CREATE TABLE kept (id int PRIMARY KEY);
    CREATE TEMP TABLE t (id int PRIMARY KEY, name varchar(20) NOT NULL);
    CREATE TEMP SEQUENCE s;
    CREATE TEMP VIEW v AS SELECT id FROM t;
";

#[test]
fn a_session_finds_its_temporary_relations() {
    let database = database();
    let mut client = Client::new(&database);
    check(&mut client, &[("SELECT pg_my_temp_schema()", "0"), ("SELECT current_schemas(true)", "{pg_catalog,public}")]);
    client.run(SCHEMA);
    check(
        &mut client,
        &[
            (
                "SELECT n.nspname, c.relname, c.relpersistence, c.relkind FROM pg_class c
                 JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname LIKE 'pg\\_temp\\_%' ORDER BY 2",
                "pg_temp_N|s|t|S\npg_temp_N|t|t|r\npg_temp_N|t_pkey|t|i\npg_temp_N|v|t|v",
            ),
            (
                "SELECT table_schema, table_name, table_type FROM information_schema.tables
                 WHERE table_schema !~ '^(pg_catalog|information_schema)' ORDER BY 2",
                "public|kept|BASE TABLE\npg_temp_N|t|LOCAL TEMPORARY\npg_temp_N|v|LOCAL TEMPORARY",
            ),
            (
                "SELECT column_name, data_type, character_maximum_length, is_nullable FROM information_schema.columns
                 WHERE table_name = 't' ORDER BY ordinal_position",
                "id|integer||NO\nname|character varying|20|NO",
            ),
            (
                "SELECT attname FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 ORDER BY attnum",
                "id\nname",
            ),
            ("SELECT 't'::regclass, 'pg_temp.t'::regclass, to_regclass('kept')", "t|t|kept"),
            ("SELECT pg_table_is_visible('t'::regclass), pg_is_other_temp_schema(pg_my_temp_schema())", "t|f"),
            ("SELECT current_schemas(true), current_schemas(false)", "{pg_temp_N,pg_catalog,public}|{public}"),
            ("SELECT pg_my_temp_schema()::regnamespace, to_regnamespace('pg_temp') IS NULL", "pg_temp_N|t"),
            (
                "SELECT schemaname, tablename FROM pg_tables WHERE tablename IN ('t', 'kept') ORDER BY 2",
                "public|kept\npg_temp_N|t",
            ),
            ("SELECT count(*) FROM information_schema.schemata WHERE schema_name LIKE 'pg_temp%'", "1"),
        ],
    );
    let own = client.show("SELECT pg_my_temp_schema()::regnamespace");
    assert_eq!(client.show(&format!("SELECT '{own}.t'::regclass, to_regclass('{own}.no') IS NULL")), "t|t");
    client.run(&format!("DROP TABLE IF EXISTS {own}.nothing"));
}

#[test]
fn other_sessions_see_that_there_are_some() {
    let database = database();
    let mut owner = Client::new(&database);
    owner.run(SCHEMA);
    let mut other = Client::new(&database);
    other.run("CREATE TEMP TABLE mine (x int)");
    let own = owner.show("SELECT pg_my_temp_schema()::oid");
    check(
        &mut other,
        &[
            (&format!("SELECT pg_is_other_temp_schema({own}), '{own}'::regnamespace::text LIKE 'pg_temp_%'"), "t|t"),
            ("SELECT pg_is_other_temp_schema(2200), pg_is_other_temp_schema(12345)", "f|f"),
            ("SELECT table_name FROM information_schema.tables WHERE table_type = 'LOCAL TEMPORARY'", "mine"),
            ("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'pg_temp%'", "2"),
            (
                "SELECT to_regclass('t') IS NULL, count(*) FROM pg_class WHERE relname = 't' AND NOT pg_table_is_visible(oid)",
                "t|1",
            ),
        ],
    );
}

/// The keys of an engine table.
fn keys(store: &dyn Store, name: &str) -> BTreeSet<Vec<u8>> {
    let (id, _) = store.tables().into_iter().find(|(_, schema)| schema.name() == name).expect("an engine table");
    let mut transaction = store.begin(Begin { mode: Mode::ReadOnly, ..Begin::default() }).expect("an idle engine");
    let mut keys = BTreeSet::new();
    let visit = &mut |item: model::Item<'_>| {
        keys.insert(item.key.to_vec());
        ControlFlow::Continue(())
    };
    transaction.scan(&Scan::table(id), visit).expect("an engine in memory");
    keys
}

/// Sessions go on for weeks: of the temporary relations that they drop, and of relations that were rolled back, neither definitions nor
/// states of sequences stay, however they end.
#[test]
fn nothing_is_left_of_temporary_relations() {
    const MADE: &str =
        "CREATE TEMP TABLE t (id serial PRIMARY KEY, x int); CREATE TEMP TABLE u (x int DEFAULT nextval('t_id_seq'));
        CREATE TEMP SEQUENCE s; CREATE TEMP VIEW v AS SELECT id FROM t;
        INSERT INTO t (x) VALUES (1); INSERT INTO u DEFAULT VALUES; SELECT nextval('s'), currval('t_id_seq')";
    const ENDS: [&str; 6] = [
        "DROP VIEW v; DROP TABLE u, t; DROP SEQUENCE s",
        "TRUNCATE t RESTART IDENTITY; INSERT INTO t (x) VALUES (1); ALTER SEQUENCE s RESTART; SELECT nextval('s'); DROP SEQUENCE s;
         DROP TABLE t CASCADE; DROP TABLE u",
        "DISCARD TEMP",
        "DISCARD ALL",
        "BEGIN; CREATE TEMP TABLE w (id serial) ON COMMIT DROP; INSERT INTO w DEFAULT VALUES; COMMIT; DISCARD TEMP",
        "BEGIN; CREATE TABLE p (id serial); INSERT INTO p DEFAULT VALUES; ROLLBACK;
         BEGIN; DROP SEQUENCE s; ROLLBACK; SELECT nextval('s'); DISCARD ALL",
    ];
    for subject in engines() {
        let database = open(subject.store.clone());
        let left = || ["sql catalog", "sql sequences"].map(|name| keys(&*subject.store, name));
        let mut client = Client::new(&database);
        client.run("CREATE TABLE kept (id serial PRIMARY KEY); INSERT INTO kept DEFAULT VALUES");
        let before = left();
        for ends in ENDS {
            // Each in a transaction of its own.
            MADE.split(';').chain(ends.split(';')).for_each(|statement| _ = client.run(statement));
            assert_eq!(left(), before, "{}: {ends}", subject.name);
        }
        client.run(MADE);
        drop(client);
        assert_eq!(left(), before, "{}: the session has ended", subject.name);
        assert_eq!(Client::new(&database).show("INSERT INTO kept DEFAULT VALUES RETURNING id"), "2");
    }
}

/// As in PostgreSQL: what a dropped sequence has given is not known any more.
#[test]
fn a_session_forgets_the_values_of_a_dropped_sequence() {
    let mut client = Client::new(&database());
    client.run("CREATE SEQUENCE s; SELECT nextval('s')");
    assert_eq!(client.show("SELECT lastval()"), "1");
    client.run("DROP SEQUENCE s");
    assert_eq!(client.fails("SELECT lastval()").code(), "55000");
}
