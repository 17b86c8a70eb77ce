//! Several databases in one instance: what each has of its own, who may drop one, and what a crash leaves.

mod common;

use common::{Client, engines, open};
use seriatim_sql::database::{Database, Options};
use seriatim_sql::session::Connect;
use std::sync::Arc;
use std::time::Duration;

/// An instance on each engine. They do not wait for sessions that are ending.
fn databases() -> Vec<Arc<Database>> {
    let options = Options { departure_wait: Duration::ZERO, ..Options::default() };
    engines().into_iter().map(|subject| Database::open(subject.store, options.clone()).unwrap()).collect()
}

/// A session in a database.
fn client(instance: &Arc<Database>, database: &str) -> Client {
    try_client(instance, database).unwrap_or_else(|error| panic!("{database}: {error}"))
}

fn try_client(instance: &Arc<Database>, database: &str) -> Result<Client, String> {
    let how = Connect { user: "postgres".into(), database: database.into(), ..Connect::default() };
    let session = instance.connect(how).map_err(|error| format!("{} {}", error.code(), error.message()))?;
    Ok(Client { session })
}

const NAMES: &str = "SELECT datname FROM pg_database ORDER BY 1";

#[test]
fn each_database_has_its_own_tables_sequences_locks_and_channels() {
    for instance in databases() {
        let mut first = client(&instance, "postgres");
        assert_eq!(first.run("CREATE DATABASE app").tags, ["CREATE DATABASE"]);
        assert_eq!(first.show(NAMES), "app\npostgres\ntemplate0\ntemplate1");
        let mut app = client(&instance, "app");
        assert_eq!(app.show("SELECT current_database(), current_catalog"), "app|app");
        first.run("CREATE TABLE t (a serial PRIMARY KEY); INSERT INTO t DEFAULT VALUES; CREATE SCHEMA s");
        assert_eq!(app.fails("TABLE t").code(), "42P01");
        assert_eq!(app.show("SELECT count(*) FROM pg_class WHERE relname = 't'"), "0");
        assert_eq!(app.show("SELECT nspname FROM pg_namespace WHERE nspname IN ('public', 's')"), "public");
        app.run("CREATE TABLE t (a serial PRIMARY KEY, b text); INSERT INTO t (b) VALUES ('x'), ('y')");
        assert_eq!(app.show("SELECT * FROM t"), "1|x\n2|y");
        assert_eq!(first.show("SELECT * FROM t"), "1");
        assert_eq!(first.show("SELECT nextval('t_a_seq')"), "2");

        assert_eq!(first.show("SELECT pg_try_advisory_lock(1)"), "t");
        assert_eq!(app.show("SELECT pg_try_advisory_lock(1)"), "t");
        let locks = "SELECT d.datname FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE locktype = \
                     'advisory' ORDER BY 1";
        assert_eq!(first.show(locks), "app\npostgres");

        first.run("LISTEN c");
        app.run("LISTEN c; NOTIFY c, 'app'");
        assert_eq!(first.session.notifications().len(), 0);
        assert_eq!(app.session.notifications().len(), 1);

        first.run("BEGIN READ ONLY");
        let snapshot = first.show("SELECT pg_export_snapshot()");
        app.run("BEGIN READ ONLY");
        let error = app.fails(&format!("SET TRANSACTION SNAPSHOT '{snapshot}'"));
        assert_eq!((error.code(), error.message()), ("0A000", "cannot import a snapshot from a different database"));
    }
}

#[test]
fn names_of_other_databases_are_refused() {
    let instance = common::database();
    let mut first = client(&instance, "postgres");
    first.run("CREATE DATABASE app; ");
    first.run("CREATE TABLE t (a int); INSERT INTO postgres.public.t VALUES (1)");
    assert_eq!(first.show("SELECT * FROM postgres.public.t"), "1");
    for statement in [
        "SELECT * FROM app.public.t",
        "INSERT INTO app.public.t VALUES (1)",
        "DROP TABLE app.public.t",
        "ALTER TABLE app.public.t ADD b int",
        "CREATE TABLE app.public.u (a int)",
        "TRUNCATE app.public.t",
        "CREATE VIEW app.public.v AS SELECT 1",
    ] {
        let error = first.fails(statement);
        assert_eq!(error.code(), "0A000", "{statement}: {error}");
        assert!(error.message().starts_with("cross-database references are not implemented: \"app.public."), "{error}");
    }
}

#[test]
fn a_database_is_dropped_when_nobody_is_in_it() {
    for instance in databases() {
        let mut first = client(&instance, "postgres");
        first.run("CREATE DATABASE app");
        let app = client(&instance, "app");
        let error = first.fails("DROP DATABASE app");
        assert_eq!(error.code(), "55006");
        assert_eq!(error.message(), "database \"app\" is being accessed by other users");
        assert_eq!(error.fields().detail.as_deref(), Some("There is 1 other session using the database."));
        assert_eq!(first.fails("ALTER DATABASE app RENAME TO other").code(), "55006");
        drop(app);
        first.run("ALTER DATABASE app RENAME TO other");
        client(&instance, "other")
            .run("CREATE TABLE t (a int PRIMARY KEY, b text UNIQUE); INSERT INTO t VALUES (1, 'x')");
        let before = instance.store.tables().len();
        assert_eq!(first.run("DROP DATABASE other").tags, ["DROP DATABASE"]);
        assert_eq!(instance.store.tables().len(), before - 3, "rows, index and catalog");
        assert_eq!(try_client(&instance, "other").err().unwrap(), "3D000 database \"other\" does not exist");
        // The name is free, and what was in it is gone.
        first.run("CREATE DATABASE other");
        assert_eq!(client(&instance, "other").fails("TABLE t").code(), "42P01");
    }
}

#[test]
fn force_ends_the_sessions_of_a_database() {
    let instance = common::database();
    let mut first = client(&instance, "postgres");
    first.run("CREATE DATABASE app");
    let mut app = client(&instance, "app");
    app.session.on_end(|| ());
    std::thread::scope(|scope| {
        let ended = scope.spawn(move || {
            let error = app.fails("SELECT pg_sleep(1000)");
            drop(app);
            error.code()
        });
        while first.show("SELECT count(*) FROM pg_stat_activity WHERE datname = 'app' AND wait_event = 'PgSleep'")
            == "0"
        {}
        first.run("DROP DATABASE app WITH (FORCE)");
        assert_eq!(ended.join().unwrap(), "57P01");
    });
    assert_eq!(first.show(NAMES), "postgres\ntemplate0\ntemplate1");
}

#[test]
fn what_cannot_be_done_with_databases_is_named() {
    let instance = common::database();
    let mut first = client(&instance, "postgres");
    first.run("CREATE DATABASE app");
    let cases = [
        ("BEGIN; CREATE DATABASE x", "25001", "CREATE DATABASE cannot run inside a transaction block"),
        ("ROLLBACK; SELECT 1; DROP DATABASE app", "25001", "DROP DATABASE cannot run inside a transaction block"),
        ("CREATE DATABASE app", "42P04", "database \"app\" already exists"),
        ("DROP DATABASE nope", "3D000", "database \"nope\" does not exist"),
        ("DROP DATABASE postgres", "55006", "cannot drop the currently open database"),
        ("DROP DATABASE template1", "42809", "cannot drop a template database"),
        ("ALTER DATABASE postgres RENAME TO x", "0A000", "current database cannot be renamed"),
        ("ALTER DATABASE nope OWNER TO postgres", "3D000", "database \"nope\" does not exist"),
        ("ALTER DATABASE app SET nope = 1", "42704", "unrecognized configuration parameter \"nope\""),
        ("CREATE DATABASE x TEMPLATE app", "0A000", "a copy of database \"app\" (TEMPLATE) is not supported"),
        ("CREATE DATABASE x ENCODING 'LATIN1'", "0A000", "encoding \"LATIN1\" of a database is not supported"),
        ("CREATE DATABASE x OWNER nope", "42704", "role \"nope\" does not exist"),
        ("CREATE DATABASE x TABLESPACE nope", "42704", "tablespace \"nope\" does not exist"),
        ("CREATE DATABASE x nope = 1", "42601", "option \"nope\" not recognized"),
        ("CREATE DATABASE x IS_TEMPLATE true IS_TEMPLATE false", "42601", "conflicting or redundant options"),
        ("CREATE DATABASE x CONNECTION LIMIT -2", "22023", "invalid connection limit: -2"),
        ("CREATE DATABASE", "42601", "syntax error at end of input"),
    ];
    for (statement, code, message) in cases {
        let error = first.fails(statement);
        assert_eq!((error.code(), error.message()), (code, message), "{statement}");
    }
    assert_eq!(
        first.run("DROP DATABASE IF EXISTS nope").notices,
        ["NOTICE: database \"nope\" does not exist, skipping"]
    );
    assert_eq!(
        try_client(&instance, "template0").err().unwrap(),
        "55000 database \"template0\" is not currently accepting connections"
    );
    let mut template = client(&instance, "template1");
    assert_eq!(template.fails("CREATE TABLE t (a int)").code(), "0A000");
    assert_eq!(template.show("SELECT current_database()"), "template1");
    template.run("ALTER DATABASE app OWNER TO postgres");
    first.run("ALTER DATABASE app CONNECTION LIMIT 1");
    let _one = client(&instance, "app");
    assert_eq!(try_client(&instance, "app").err().unwrap(), "53300 too many connections for database \"app\"");
}

#[test]
fn options_settings_and_comments_are_kept() {
    for subject in engines() {
        let store = subject.store;
        let instance = open(store.clone());
        let mut first = client(&instance, "postgres");
        let warned = first
            .run("CREATE DATABASE app WITH OWNER = postgres ENCODING 'UTF8' LOCALE 'de_AT.UTF-8' TEMPLATE template0");
        assert_eq!(warned.notices, ["WARNING: locale \"de_AT.UTF-8\" has no effect: texts are ordered by their bytes"]);
        first.run("ALTER DATABASE app SET search_path = a, b; ALTER DATABASE app SET statement_timeout TO '7s'");
        first.run("ALTER DATABASE app SET work_mem = '5MB'; ALTER DATABASE app RESET work_mem");
        first.run("COMMENT ON DATABASE app IS 'shop'; ALTER DATABASE app WITH CONNECTION LIMIT 7 IS_TEMPLATE true");
        first.run("BEGIN; ALTER DATABASE app SET lock_timeout = 1; ROLLBACK");
        drop(first);
        drop(instance);
        // The next opening of the same engine.
        let instance = open(store);
        let mut first = client(&instance, "postgres");
        assert_eq!(
            first.show(
                "SELECT datname, datconnlimit, datistemplate, datallowconn, shobj_description(d.oid, 'pg_database'), setconfig \
                 FROM pg_database d JOIN pg_db_role_setting s ON setdatabase = d.oid"
            ),
            "app|7|t|t|shop|{\"search_path=a, b\",statement_timeout=7s}"
        );
        let mut app = client(&instance, "app");
        assert_eq!(app.show("SELECT current_setting('search_path'), current_setting('statement_timeout')"), "a, b|7s");
        app.run("SET statement_timeout = 0; RESET statement_timeout");
        assert_eq!(app.show("SHOW statement_timeout"), "7s");
    }
}
