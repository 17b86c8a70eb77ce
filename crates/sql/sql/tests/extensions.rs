//! CREATE EXTENSION of what is built in, and what it promises.

mod common;

use common::{Client, database, databases};

/// The UUIDs of names are those that PostgreSQL's `uuid-ossp` gives.
#[test]
fn uuids_are_made_as_the_extension_makes_them() {
    let mut client = Client::new(&database());
    let answer =
        client.run("create extension \"uuid-ossp\" with schema public; create extension if not exists \"uuid-ossp\"");
    assert_eq!(answer.tags, ["CREATE EXTENSION"; 2]);
    for (call, expected) in [
        ("uuid_generate_v3(uuid_ns_dns(), 'www.example.com')", "5df41881-3aed-3515-88a7-2f4a814cf09e"),
        ("uuid_generate_v5(uuid_ns_dns(), 'www.example.com')", "2ed6657d-e927-568b-95e1-2665a8aea6a2"),
        ("uuid_nil()", "00000000-0000-0000-0000-000000000000"),
        ("uuid_ns_url()", "6ba7b811-9dad-11d1-80b4-00c04fd430c8"),
        ("uuid_ns_oid()", "6ba7b812-9dad-11d1-80b4-00c04fd430c8"),
        ("uuid_ns_x500()", "6ba7b814-9dad-11d1-80b4-00c04fd430c8"),
    ] {
        assert_eq!(client.show(&format!("select {call}")), expected, "{call}");
    }
    for version in [1, 4] {
        let made = "select count(distinct u), bool_and(u::text ~ '^.{14}";
        let query = format!(
            "{made}{version}.{{4}}[89ab]') from (select uuid_generate_v{version}() u from generate_series(1, 1000)) s"
        );
        assert_eq!(client.show(&query), "1000|t");
    }
    client.run("create table t (id uuid primary key default uuid_generate_v1mc()); insert into t default values");
}

#[test]
fn other_extensions_are_refused_and_what_is_there_in_part_warns() {
    let mut client = Client::new(&database());
    let warned = client.run("create extension if not exists pgcrypto").notices;
    assert_eq!(warned, ["WARNING: of extension \"pgcrypto\" only gen_random_uuid() is built in"]);
    assert_eq!(client.fails("create extension postgis").code(), "0A000");
    assert_eq!(client.fails("create extension plpgsql").code(), "42710");
}

/// The query of psql's `\dx`.
const LISTED: &str = "SELECT e.extname, e.extversion, n.nspname, c.description FROM pg_catalog.pg_extension e
    LEFT JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
    LEFT JOIN pg_catalog.pg_description c ON c.objoid = e.oid AND c.classoid = 'pg_catalog.pg_extension'::pg_catalog.regclass
    ORDER BY 1";

#[test]
fn what_was_created_is_listed_in_its_database_until_it_is_dropped() {
    for database in databases() {
        let mut client = Client::new(&database);
        assert_eq!(client.show(LISTED), "");
        client.run("BEGIN; CREATE EXTENSION pgcrypto; ROLLBACK; CREATE EXTENSION \"uuid-ossp\"");
        let uuid = "uuid-ossp|1.1|pg_catalog|generate universally unique identifiers (UUIDs)";
        assert_eq!(client.show(LISTED), uuid);
        assert_eq!(client.fails("CREATE EXTENSION \"uuid-ossp\"").code(), "42710");
        let skipped = client.run("CREATE EXTENSION IF NOT EXISTS \"uuid-ossp\"").notices;
        assert_eq!(skipped, ["NOTICE: extension \"uuid-ossp\" already exists, skipping"]);
        client.run("CREATE EXTENSION pgcrypto");
        assert_eq!(client.show(LISTED), format!("pgcrypto|1.3|pg_catalog|cryptographic functions\n{uuid}"));
        client.run("DROP EXTENSION pgcrypto CASCADE");
        let available = "SELECT name, default_version, installed_version FROM pg_available_extensions";
        assert_eq!(client.show(available), "pgcrypto|1.3|\nuuid-ossp|1.1|1.1");
        assert_eq!(client.fails("DROP EXTENSION pgcrypto").code(), "42704");
        let skipped = client.run("DROP EXTENSION IF EXISTS pgcrypto, \"uuid-ossp\"").notices;
        assert_eq!(skipped, ["NOTICE: extension \"pgcrypto\" does not exist, skipping"]);
        assert_eq!(client.show(LISTED), "");
        assert_eq!(client.show("SELECT uuid_nil() IS NULL"), "f");
    }
}

/// pgAdmin joins the function, not the view.
#[test]
fn what_can_be_created_is_a_function_too() {
    let mut client = Client::new(&database());
    client.run("create extension \"uuid-ossp\"");
    let query = "select f.name, default_version, f.comment from pg_extension x join pg_catalog.pg_available_extensions() f on x.extname = f.name";
    assert_eq!(client.show(query), "uuid-ossp|1.1|generate universally unique identifiers (UUIDs)");
    let same = "select count(*) from pg_available_extensions join pg_available_extensions() f using (name, default_version, comment)";
    assert_eq!(client.show(same), "2");
}
