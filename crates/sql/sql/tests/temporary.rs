//! Temporary relations in the catalogs: each answer is PostgreSQL 15's, up to the number of the schema.

mod common;

use common::{Client, database};

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
