//! Roles: their options, memberships and settings, what they own, and who may be dropped.

mod common;

use common::{Client, engines, open};
use seriatim_sql::database::Database;
use seriatim_sql::session::Connect;
use std::sync::Arc;

fn try_client(instance: &Arc<Database>, user: &str, database: &str) -> Result<Client, String> {
    let how = Connect { user: user.into(), database: database.into(), ..Connect::default() };
    let session = instance.connect(how).map_err(|error| format!("{} {}", error.code(), error.message()))?;
    Ok(Client { session })
}

fn client(instance: &Arc<Database>, user: &str, database: &str) -> Client {
    try_client(instance, user, database).unwrap_or_else(|error| panic!("{user}: {error}"))
}

const USERS: &str = "SELECT current_user, session_user, user, current_setting('role')";

#[test]
fn sessions_begin_as_roles_that_may_log_in() {
    for instance in engines().into_iter().map(|subject| open(subject.store)) {
        let mut first = client(&instance, "postgres", "postgres");
        first.run("CREATE USER app; CREATE ROLE team CONNECTION LIMIT 3");
        first.run("CREATE DATABASE app OWNER app");
        assert_eq!(try_client(&instance, "nobody", "app").err().unwrap(), "28000 role \"nobody\" does not exist");
        assert_eq!(
            try_client(&instance, "team", "app").err().unwrap(),
            "28000 role \"team\" is not permitted to log in"
        );
        // The database of the role's name.
        let mut app = client(&instance, "app", "");
        assert_eq!(app.show(USERS), "app|app|app|none");
        assert_eq!(app.show("SELECT current_database(), current_setting('is_superuser')"), "app|off");
        assert_eq!(
            app.show("SELECT usename, usesysid::regrole FROM pg_stat_activity WHERE pid = pg_backend_pid()"),
            "app|app"
        );
        app.run("SET ROLE team");
        assert_eq!(app.show(USERS), "team|app|team|team");
        app.run("BEGIN; SET LOCAL ROLE postgres");
        assert_eq!(app.show("SHOW is_superuser"), "on");
        app.run("ROLLBACK");
        assert_eq!(app.show(USERS), "team|app|team|team");
        assert_eq!(app.show("SHOW is_superuser"), "off");
        app.run("RESET ROLE; SET SESSION AUTHORIZATION postgres");
        assert_eq!(app.show(USERS), "postgres|postgres|postgres|none");
        assert_eq!(app.show("SHOW is_superuser"), "on");
        app.run("RESET SESSION AUTHORIZATION");
        assert_eq!(app.show(USERS), "app|app|app|none");
        assert_eq!(app.show("SHOW is_superuser"), "off");
        assert_eq!(app.fails("SET ROLE nobody").code(), "22023");
        first.run("ALTER ROLE app CONNECTION LIMIT 1");
        assert_eq!(try_client(&instance, "app", "app").err().unwrap(), "53300 too many connections for role \"app\"");
    }
}

/// RESET ALL is what pools run before they give a connection away: asyncpg at each release.
#[test]
fn reset_all_keeps_the_role_and_discard_all_does_not() {
    let instance = open(engines().remove(0).store);
    let mut first = client(&instance, "postgres", "postgres");
    first.run("CREATE ROLE app; CREATE ROLE team; SET SESSION AUTHORIZATION app; SET ROLE team; SET work_mem = '7MB'");
    first.run("RESET ALL");
    assert_eq!(first.show(USERS), "team|app|team|team");
    assert_eq!(first.show("SHOW is_superuser; SHOW work_mem"), "256MB");
    assert_eq!(first.show("SHOW is_superuser"), "off");
    first.run("BEGIN READ ONLY; RESET ALL");
    assert_eq!(first.show("SHOW transaction_read_only"), "on");
    first.run("COMMIT");
    assert_eq!(first.show("SHOW transaction_read_only"), "off");
    first.run("DISCARD ALL");
    assert_eq!(first.show(USERS), "postgres|postgres|postgres|none");
    assert_eq!(first.show("SHOW is_superuser"), "on");
}

#[test]
fn options_memberships_settings_and_comments_are_kept() {
    for subject in engines() {
        let store = subject.store;
        let instance = open(store.clone());
        let mut first = client(&instance, "postgres", "postgres");
        first.run("CREATE ROLE team NOINHERIT; CREATE ROLE boss CREATEDB CREATEROLE");
        first.run("CREATE DATABASE shop");
        let made = first
            .run("CREATE ROLE app LOGIN PASSWORD 'secret' VALID UNTIL '2030-01-01 00:00+00' IN ROLE team ADMIN boss");
        assert_eq!(made.notices, ["WARNING: the password is kept and not asked for"]);
        first.run("ALTER ROLE app SET work_mem = '7MB'; ALTER ROLE app IN DATABASE shop SET work_mem = '8MB'");
        let config = "SELECT rolconfig, useconfig FROM pg_roles JOIN pg_user ON usesysid = oid WHERE rolname = 'app'";
        assert_eq!(first.show(config), "{work_mem=7MB}|{work_mem=7MB}");
        first.run("ALTER USER app SET lock_timeout TO '3s'; COMMENT ON ROLE app IS 'the shop'");
        drop(first);
        drop(instance);
        let instance = open(store);
        let mut first = client(&instance, "postgres", "postgres");
        assert_eq!(
            first.show(
                "SELECT rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolvaliduntil AT TIME ZONE 'UTC', \
                 shobj_description(oid, 'pg_authid') FROM pg_roles WHERE rolname !~ '^pg_' ORDER BY 1"
            ),
            "app|f|t|f|f|t|2030-01-01 00:00:00|the shop\nboss|f|t|t|t|f||\npostgres|t|t|t|t|t||\nteam|f|f|f|f|f||"
        );
        assert_eq!(
            first.show(
                "SELECT roleid::regrole, member::regrole, admin_option FROM pg_auth_members WHERE roleid > 16000 ORDER BY admin_option DESC"
            ),
            "app|boss|t\nteam|app|f"
        );
        assert_eq!(
            first.show("SELECT rolpassword ~ '^SCRAM-SHA-256\\$4096:' FROM pg_authid WHERE rolname = 'app'"),
            "t"
        );
        assert_eq!(
            first.show("SELECT setdatabase <> 0, setconfig FROM pg_db_role_setting ORDER BY 1"),
            "f|{work_mem=7MB,lock_timeout=3s}\nt|{work_mem=8MB}"
        );
        assert_eq!(client(&instance, "app", "postgres").show("SHOW work_mem"), "7MB");
        assert_eq!(
            client(&instance, "app", "shop")
                .show("SELECT current_setting('work_mem'), current_setting('lock_timeout')"),
            "8MB|3s"
        );
        first.run("REVOKE ADMIN OPTION FOR app FROM boss; REVOKE team FROM app; ALTER ROLE app RESET ALL; ALTER ROLE app RENAME TO web");
        assert_eq!(
            first.show("SELECT member::regrole, admin_option FROM pg_auth_members WHERE roleid > 16000"),
            "boss|f"
        );
        assert_eq!(client(&instance, "web", "postgres").show("SHOW work_mem"), "256MB");
    }
}

/// As pg_dump needs it, which gives a table its owner before a column its identity.
#[test]
fn sequences_of_new_columns_belong_to_the_owner_of_their_table() {
    for instance in engines().into_iter().map(|subject| open(subject.store)) {
        let mut first = client(&instance, "postgres", "postgres");
        first.run("CREATE USER app; CREATE TABLE t (a int NOT NULL); ALTER TABLE t OWNER TO app");
        first.run("ALTER TABLE t ALTER a ADD GENERATED ALWAYS AS IDENTITY; ALTER TABLE t ADD b serial");
        let owners = "SELECT relname, relowner::regrole FROM pg_class WHERE relkind = 'S' ORDER BY 1";
        assert_eq!(first.show(owners), "t_a_seq|app\nt_b_seq|app");
        first.run("SET ROLE app; CREATE TABLE own (a serial)");
        assert_eq!(first.show(owners), "own_a_seq|app\nt_a_seq|app\nt_b_seq|app");
    }
}

#[test]
fn roles_own_what_they_make() {
    for instance in engines().into_iter().map(|subject| open(subject.store)) {
        let mut first = client(&instance, "postgres", "postgres");
        first.run("CREATE USER app; CREATE USER other");
        first.run("CREATE DATABASE shop OWNER other");
        let mut app = client(&instance, "app", "postgres");
        app.run("CREATE SCHEMA s; CREATE TABLE s.t (a serial PRIMARY KEY); CREATE VIEW v AS SELECT * FROM s.t; CREATE SCHEMA AUTHORIZATION app");
        first.run("CREATE TABLE mine (a int); CREATE SCHEMA theirs AUTHORIZATION other");
        let owners = "SELECT relname, relowner::regrole FROM pg_class WHERE relnamespace::regnamespace::text IN ('s', 'public', 'app') ORDER BY 1";
        assert_eq!(app.show(owners), "mine|postgres\nt|app\nt_a_seq|app\nt_pkey|app\nv|app");
        let schemas =
            "SELECT nspname, nspowner::regrole FROM pg_namespace WHERE nspname IN ('s', 'app', 'theirs') ORDER BY 1";
        assert_eq!(app.show(schemas), "app|app\ns|app\ntheirs|other");
        assert_eq!(app.show("SELECT tableowner FROM pg_tables WHERE tablename = 't'"), "app");
        // The user's own schema comes first on the search path.
        app.run("CREATE TABLE own (a int)");
        assert_eq!(
            app.show("SELECT current_schema(), relnamespace::regnamespace FROM pg_class WHERE relname = 'own'"),
            "app|app"
        );

        first.run(
            "ALTER TABLE s.t OWNER TO other; ALTER SCHEMA app OWNER TO CURRENT_USER; ALTER DATABASE shop OWNER TO app",
        );
        assert_eq!(app.show(owners), "mine|postgres\nown|app\nt|other\nt_a_seq|other\nt_pkey|other\nv|app");
        let error = first.fails("DROP ROLE other");
        assert_eq!(error.message(), "role \"other\" cannot be dropped because some objects depend on it");
        assert_eq!(error.code(), "2BP01");
        assert_eq!(
            error.fields().detail.as_deref(),
            Some("owner of table t\nowner of sequence t_a_seq\nowner of schema theirs")
        );
        let mut shop = client(&instance, "other", "shop");
        shop.run("CREATE TABLE there (a int)");
        first.run("REASSIGN OWNED BY other, app TO postgres");
        assert_eq!(first.fails("DROP ROLE other").fields().detail.as_deref(), Some("1 object in database shop"));
        assert_eq!(shop.fails("DROP ROLE other").code(), "55006");
        shop.run("DROP OWNED BY other");
        assert_eq!(shop.show("SELECT count(*) FROM pg_class WHERE relname = 'there'"), "0");
        drop(shop);
        first.run("DROP ROLE other");
        assert_eq!(first.show("SELECT count(*) FROM pg_roles WHERE rolname = 'other'"), "0");
        app.run("CREATE TABLE gone (a int)");
        first.run("DROP TABLE app.gone");
        drop(app);
        first.run("DROP USER IF EXISTS app, nobody");
        assert_eq!(first.show("SELECT count(*) FROM pg_user"), "1");
    }
}

#[test]
fn what_cannot_be_done_with_roles_is_named() {
    let instance = open(common::store());
    let mut first = client(&instance, "postgres", "postgres");
    first.run("CREATE ROLE a; CREATE ROLE b IN ROLE a; CREATE TABLE t (a int)");
    let cases = [
        ("CREATE ROLE a", "42710", "role \"a\" already exists"),
        ("CREATE ROLE pg_x", "42939", "role name \"pg_x\" is reserved"),
        ("CREATE ROLE public", "42939", "role name \"public\" is reserved"),
        ("CREATE ROLE x LOGIN NOLOGIN", "42601", "conflicting or redundant options"),
        ("CREATE ROLE x IN ROLE nope", "42704", "role \"nope\" does not exist"),
        ("CREATE ROLE x CONNECTION LIMIT -2", "22023", "invalid connection limit: -2"),
        ("DROP ROLE nope", "42704", "role \"nope\" does not exist"),
        ("DROP ROLE postgres", "55006", "current user cannot be dropped"),
        ("ALTER ROLE postgres RENAME TO x", "0A000", "session user cannot be renamed"),
        ("ALTER ROLE a RENAME TO b", "42710", "role \"b\" already exists"),
        ("GRANT b TO a", "0LP01", "role \"b\" is a member of role \"a\""),
        ("GRANT nope TO a", "42704", "role \"nope\" does not exist"),
        ("ALTER TABLE t OWNER TO nope", "42704", "role \"nope\" does not exist"),
        (
            "REASSIGN OWNED BY postgres TO a",
            "2BP01",
            "cannot reassign ownership of objects owned by role postgres because they are required by the database system",
        ),
        ("ALTER ROLE ALL SET work_mem = '1MB'", "0A000", "ALTER ROLE ALL is not supported"),
        ("GRANT SELECT ON t TO nope", "42704", "role \"nope\" does not exist"),
    ];
    for (statement, code, message) in cases {
        let error = first.fails(statement);
        assert_eq!((error.code(), error.message()), (code, message), "{statement}");
    }
    assert_eq!(first.run("GRANT a TO b").notices, ["NOTICE: role \"b\" is already a member of role \"a\""]);
    assert_eq!(first.run("REVOKE b FROM a").notices, ["WARNING: role \"a\" is not a member of role \"b\""]);
    let granted = first.run("GRANT SELECT, INSERT ON t TO a, PUBLIC");
    assert_eq!(granted.notices, ["WARNING: GRANT has no effect: every role may do everything"]);
    assert_eq!(first.run("DROP ROLE IF EXISTS nope").notices, ["NOTICE: role \"nope\" does not exist, skipping"]);
    first.run("BEGIN; CREATE ROLE c; ALTER TABLE t OWNER TO c; ROLLBACK");
    assert_eq!(first.show("SELECT relowner::regrole FROM pg_class WHERE relname = 't'"), "postgres");
    first.run("DROP ROLE a");
    assert_eq!(first.show("SELECT count(*) FROM pg_auth_members WHERE roleid > 16000"), "0");
}
