//! Definitions: inside transactions, undone with them, kept with them. Answers are PostgreSQL 15's.

mod common;

use common::{Client, database, database_twopl, database_with_versions, databases, open, store};
use seriatim_sql::database::Database;
use std::sync::Arc;

/// How many engine tables there are.
fn engine_tables(database: &Arc<Database>) -> usize {
    database.store.tables().len()
}

#[test]
fn tables_come_and_go() {
    let mut client = Client::new(&database());
    assert_eq!(client.run("create table t (a int primary key, b text unique)").tags, ["CREATE TABLE"]);
    assert_eq!(client.fails("create table t (a int)").message(), "relation \"t\" already exists");
    let answer = client.run("create table if not exists t (a int)");
    assert_eq!(answer.notices, ["NOTICE: relation \"t\" already exists, skipping"]);
    assert_eq!(client.run("drop table t").tags, ["DROP TABLE"]);
    assert_eq!(client.fails("drop table t").code(), "42P01");
    let answer = client.run("drop table if exists t, nowhere.u");
    let expected =
        ["NOTICE: table \"t\" does not exist, skipping", "NOTICE: schema \"nowhere\" does not exist, skipping"];
    assert_eq!(answer.notices, expected);
}

/// Each definition, and a question whose answer it changes.
const DEFINITIONS: &[(&str, &str)] = &[
    ("create table n (a int)", "select count(*) from pg_class where relname = 'n'"),
    ("create table n as select 1 as a", "select count(*) from pg_class where relname = 'n'"),
    ("drop table t cascade", "select count(*) from pg_class where relname in ('t', 't_pkey', 't_s_seq', 'v')"),
    ("alter table t add column c int default 9", "select string_agg(x::text, ' ' order by x::text) from t x"),
    ("alter table t drop column b cascade", "select string_agg(x::text, ' ' order by x::text) from t x"),
    ("alter table c alter column q2 type text", "select min(pg_typeof(q2)::text) from c"),
    ("alter table t drop constraint t_pkey", "select count(*) from pg_constraint where conname = 't_pkey'"),
    ("alter table t add check (a < 5)", "select count(*) from pg_constraint where conname = 't_a_check'"),
    ("alter table t add unique (b)", "select count(*) from pg_class where relname = 't_b_key'"),
    ("alter table c add foreign key (p) references t", "select count(*) from pg_constraint where contype = 'f'"),
    ("alter table t rename to u", "select count(*) from pg_class where relname = 't'"),
    ("alter table c rename column p to q", "select x::text from pg_attribute x where attname = 'p'"),
    ("alter sequence t_s_seq restart with 100", "insert into t (a) select max(a) + 1 from t returning s > 50"),
    ("create index i on t (b)", "select count(*) from pg_class where relname = 'i'"),
    ("drop index c_i", "select count(*) from pg_class where relname = 'c_i'"),
    ("create view w as select 1 as one", "select count(*) from pg_class where relname = 'w'"),
    ("create or replace view v as select a, b, 1 as one from t", "select x::text from v x order by 1 limit 1"),
    ("drop view v", "select count(*) from pg_class where relname = 'v'"),
    ("create sequence s", "select count(*) from pg_class where relname = 's'"),
    ("create schema s", "select count(*) from pg_namespace where nspname = 's'"),
    ("truncate t restart identity", "select count(*) from t"),
    ("comment on table t is 'x'", "select obj_description('t'::regclass)"),
];

const BEFORE: &str = "create table t (a int primary key, b text, s serial); insert into t values (1, 'x'), (2, 'y');
    create table c (p int, q2 int); insert into c values (1, 1); create index c_i on c (p);
    create view v as select a, b from t";

#[test]
fn every_definition_is_rolled_back_and_committed() {
    for database in [database, database_twopl] {
        for (definition, question) in DEFINITIONS {
            let database = database();
            let mut client = Client::new(&database);
            client.run(BEFORE);
            let ask = |client: &mut Client| {
                let answer = client.try_run(&format!("begin; {question}"));
                client.run("rollback");
                answer.map_or_else(|error| error.to_string(), |answer| format!("{:?}", answer.rows))
            };
            let before = ask(&mut client);
            let tables = engine_tables(&database);

            client.run(&format!("begin; {definition}; rollback"));
            assert_eq!(ask(&mut client), before, "{definition}: rolled back");
            assert_eq!(engine_tables(&database), tables, "{definition}: nothing is left behind");

            client.run(&format!("begin; savepoint s; {definition}; rollback to s; commit"));
            assert_eq!(ask(&mut client), before, "{definition}: rolled back to the savepoint");
            assert_eq!(engine_tables(&database), tables, "{definition}: nothing is left behind the savepoint");

            client.run(&format!("begin; {definition}; commit"));
            assert_ne!(ask(&mut client), before, "{definition}: committed");
        }
    }
}

#[test]
fn dropped_and_rewritten_storage_is_dropped() {
    let database = database();
    let mut client = Client::new(&database);
    let nothing = engine_tables(&database);
    client.run("create table t (a int primary key, b text unique)");
    let table = engine_tables(&database);
    assert_eq!(table, nothing + 2, "rows, and the entries of the unique index");
    for rewrite in ["truncate t", "alter table t add column c int", "alter table t alter column c type text"] {
        client.run(rewrite);
        assert_eq!(engine_tables(&database), table, "{rewrite}");
    }
    client.run("drop table t");
    assert_eq!(engine_tables(&database), nothing);
}

#[test]
fn what_a_crash_left_is_cleaned_when_the_database_is_opened() {
    let store = store();
    let database = open(store.clone());
    let mut client = Client::new(&database);
    client.run("create table t (a serial, b int); insert into t (b) values (1)");
    client.run("create temp table gone (a int)");
    let orphan = model::Schema::bytes("sql 999999.1").build().expect("a schema");
    store.create_table(orphan).expect("what a definition made that never committed");
    // The sessions do not end: the database is opened again as after a crash.
    let again = open(store.clone());
    let names: Vec<String> = store.tables().iter().map(|(_, schema)| schema.name().to_owned()).collect();
    assert_eq!(names.len(), 4, "the catalog, the sequences, the list of databases, the rows of t: {names:?}");
    let mut client = Client::new(&again);
    assert_eq!(client.show("select count(*) from pg_class where relname = 'gone'"), "0");
    let next: i64 = client.show("insert into t (b) values (2) returning a").parse().expect("a number");
    assert!(next > 1, "{next} was not given before");
}

#[test]
fn constraints_get_the_names_that_postgresql_gives() {
    let mut client = Client::new(&database());
    client.run("create table p (a int primary key, b int, c int, unique (b, c))");
    client.run(
        "create table t (a int check (a > 0), b int unique, c int references p, d int, check (a > d), check (true),
         foreign key (b, c) references p (b, c), unique (b, d))",
    );
    client.run("create index on t (a); create index on t (a); create index on t (a, b)");
    let names = client.run("select conname from pg_constraint where conrelid = 't'::regclass order by 1");
    let names: Vec<&str> = names.rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names, ["t_a_check", "t_b_c_fkey", "t_b_d_key", "t_b_key", "t_c_fkey", "t_check", "t_check1"]);
    let names = client.run("select relname from pg_class where relname like 't\\_a%' order by 1");
    let names: Vec<&str> = names.rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names, ["t_a_b_idx", "t_a_idx", "t_a_idx1"]);
}

#[test]
fn errors_are_those_of_postgresql() {
    let mut client = Client::new(&database());
    client.run(
        "create table t (a int, b text, c int); insert into t values (1, 'x', 3), (1, null, 4);
         create table p (id int primary key); create table r (id int references p); create view v as select a from t",
    );
    for (statement, code, message) in [
        ("alter table t add column a int", "42701", "column \"a\" of relation \"t\" already exists"),
        ("alter table t drop column z", "42703", "column \"z\" of relation \"t\" does not exist"),
        ("alter table t add unique (a)", "23505", "could not create unique index \"t_a_key\""),
        ("alter table t add primary key (c, b)", "23502", "column \"b\" of relation \"t\" contains null values"),
        ("alter table t alter b set not null", "23502", "column \"b\" of relation \"t\" contains null values"),
        (
            "alter table t add check (c > 3)",
            "23514",
            "check constraint \"t_c_check\" of relation \"t\" is violated by some row",
        ),
        (
            "alter table t add foreign key (a) references p",
            "23503",
            "insert or update on table \"t\" violates foreign key constraint \"t_a_fkey\"",
        ),
        ("alter table t alter b type int", "42804", "column \"b\" cannot be cast automatically to type integer"),
        ("alter table t alter a type text", "0A000", "cannot alter type of a column used by a view or rule"),
        ("alter table t drop constraint z", "42704", "constraint \"z\" of relation \"t\" does not exist"),
        ("alter table t rename to p", "42P07", "relation \"p\" already exists"),
        ("alter table t owner to nobody", "42704", "role \"nobody\" does not exist"),
        ("drop table t", "2BP01", "cannot drop table t because other objects depend on it"),
        ("drop table p", "2BP01", "cannot drop table p because other objects depend on it"),
        ("drop view t", "42809", "\"t\" is not a view"),
        ("drop index p_pkey", "2BP01", "cannot drop index p_pkey because constraint p_pkey on table p requires it"),
        ("truncate p", "0A000", "cannot truncate a table referenced in a foreign key constraint"),
        ("create index on t (z)", "42703", "column \"z\" does not exist"),
        ("create unique index u on t (a)", "23505", "could not create unique index \"u\""),
        ("create table n (a int, a int)", "42701", "column \"a\" specified more than once"),
        (
            "create table n (a int primary key, primary key (a))",
            "42P16",
            "multiple primary keys for table \"n\" are not allowed",
        ),
        ("create table n (a nothing)", "42704", "type \"nothing\" does not exist"),
        ("create table n (a int default 'x')", "22P02", "invalid input syntax for type integer: \"x\""),
        ("create table n (a int default b)", "0A000", "cannot use column reference in DEFAULT expression"),
        ("create table n (a int references t)", "42704", "there is no primary key for referenced table \"t\""),
        ("create table n (a text references p)", "42804", "foreign key constraint \"n_a_fkey\" cannot be implemented"),
        ("create table nowhere.n (a int)", "3F000", "schema \"nowhere\" does not exist"),
        ("create table pg_catalog.n (a int)", "42501", "permission denied to create \"pg_catalog.n\""),
        ("create schema pg_x", "42939", "unacceptable schema name \"pg_x\""),
        ("create or replace view v as select c from t", "42P16", "cannot change name of view column \"a\" to \"c\""),
        ("create sequence s increment 0", "22023", "INCREMENT must not be zero"),
        ("create sequence s minvalue 5 maxvalue 4", "22023", "MINVALUE (5) must be less than MAXVALUE (4)"),
        ("create extension nothing", "0A000", "extension \"nothing\" is not available"),
    ] {
        let error = client.fails(statement);
        assert_eq!((error.code(), error.message()), (code, message), "{statement}");
    }
    let error = client.fails("drop table t");
    assert_eq!(error.fields().detail.as_deref(), Some("view v depends on table t"));
    let answer = client.run("drop table p cascade");
    assert_eq!(answer.notices, ["NOTICE: drop cascades to constraint r_id_fkey on table r"]);
}

#[test]
fn a_foreign_key_gives_and_takes_the_entries_of_the_primary_key() {
    let database = database();
    let mut client = Client::new(&database);
    client.run("create table p (id int primary key, n int); insert into p values (1, 1), (2, 2)");
    let before = engine_tables(&database);
    client.run("create table c (p int); insert into c values (2)");
    client.run("alter table c add constraint f foreign key (p) references p");
    assert_eq!(engine_tables(&database), before + 2, "c's rows, and p's entries");
    assert_eq!(client.fails("delete from p where id = 2").code(), "23503");
    assert_eq!(client.run("delete from p where id = 1").tags, ["DELETE 1"]);
    client.run("alter table c drop constraint f");
    assert_eq!(engine_tables(&database), before + 1, "p's entries are gone");
    assert_eq!(client.run("delete from p").tags, ["DELETE 1"]);
}

#[test]
fn names_are_followed() {
    let mut client = Client::new(&database());
    client.run(
        "create table t (a serial primary key, b int check (b > 0), c int generated always as (b * 2) stored);
         insert into t (b) values (1); create view v as select t.a, c from t",
    );
    client.run("alter table t rename to u; alter sequence t_a_seq rename to s; insert into u (b) values (2)");
    assert_eq!(client.run("select a, c from v order by a").rows, [["1", "2"], ["2", "4"]]);
    client.run("alter table u rename column b to positive; insert into u (positive) values (3)");
    assert_eq!(client.fails("insert into u (positive) values (0)").code(), "23514");
    assert_eq!(client.show("select c from v where a = 3"), "6");
    client.run("create schema other; alter table u set schema other; insert into other.u (positive) values (5)");
    assert_eq!(client.show("select max(c) from v"), "10");
    client.run("alter schema other rename to another; insert into another.u (positive) values (6)");
    assert_eq!(client.show("select count(*) from v"), "5");
}

/// Definitions are kept as text, and arguments of EXECUTE are read from text.
#[test]
fn forms_that_dumps_and_tools_write_are_taken() {
    let mut client = Client::new(&database());
    assert_eq!(client.run("create table n (x) as select 1, 2 as y with no data").tags, ["CREATE TABLE AS"]);
    assert_eq!(client.show("select count(*), count(x) + count(y) from n"), "0|0");
    client.run("create view v as select x, y from n; alter view v rename column x to z");
    assert_eq!(client.show("select count(z) from v"), "0");
    client.run(
        "create index i on n using btree (x int4_ops desc nulls last) with (fillfactor = 90) tablespace pg_default",
    );
    assert_eq!(client.run("drop index concurrently if exists i").tags, ["DROP INDEX"]);
    client.run(
        "create table t (a int generated always as identity (sequence name own start with 7) not null,
            constraint k primary key (a) with (fillfactor = 90)) with (fillfactor = 90);
        insert into t default values; reindex table t; grant select (a), update on t to public, current_user",
    );
    assert_eq!(client.show("select a, nextval('own') from t"), "7|8");
    for (sql, code, message) in [
        ("grant postgres to nobody", "42704", "role \"nobody\" does not exist"),
        (
            "create table u (a int primary key null)",
            "42601",
            "conflicting NULL/NOT NULL declarations for column \"a\" of table \"u\"",
        ),
        (
            "create table u (a int null primary key)",
            "42601",
            "conflicting NULL/NOT NULL declarations for column \"a\" of table \"u\"",
        ),
        ("alter table v add column a int", "42809", "\"v\" is a view, and this form of ALTER TABLE is for tables"),
        ("alter view t rename to u", "42809", "\"t\" is not a view"),
        ("create index on n using gist (x)", "0A000", "the access method GIST is not supported"),
        ("create index on n using none (x)", "42704", "access method \"none\" does not exist"),
    ] {
        let error = client.fails(sql);
        assert_eq!((error.code(), error.message()), (code, message), "{sql}");
    }
}

#[test]
fn quotes_survive_in_definitions() {
    let database = database();
    let mut client = Client::new(&database);
    client.run(
        r#"create table t ("a""b" int default 5, n text default 'a''''b' || e'\'', check (n <> ''''''));
           insert into t default values"#,
    );
    let literals = r#"'a''''b', e'\'', e'x\ny', $$''$$, N'it''s', - -1, "t"."a""b""#;
    client.run(&format!("create view v (a, b, c, d, e, f, g) as select {literals} from t"));
    let expected = client.show(&format!("select {literals} from t"));
    assert_eq!(expected, "a''b|'|x\ny|''|it's|1|5");
    assert_eq!(client.show("select * from v"), expected);
    assert_eq!(client.show("select n from t"), "a''b'");
    assert_eq!(client.fails("insert into t (n) values ('''''')").code(), "23514");
    client.run("prepare p (text) as select $1");
    assert_eq!(client.show("execute p ('a''''b')"), "a''b");
}

#[test]
fn the_star_of_a_view_is_what_it_was() {
    let mut client = Client::new(&database());
    client.run(
        "create table t (a int, b int); create table u (c int); insert into t values (1, 2); insert into u values (3)",
    );
    client.run("create view v as select * from t; create view w as select x.*, u.* from t as x join u on a < c");
    client.run("alter table t add column d int default 9");
    assert_eq!(client.run("select * from v").rows, [["1", "2"]]);
    assert_eq!(client.run("select * from w").rows, [["1", "2", "3"]]);
    client.run("alter table t drop column d");
    assert_eq!(client.fails("alter table t drop column b").code(), "2BP01");
}

#[test]
fn temporary_tables_hide_others_and_go_with_their_session() {
    let database = database();
    let (mut one, mut other) = (Client::new(&database), Client::new(&database));
    one.run("create table t (a text); insert into t values ('permanent')");
    let before = engine_tables(&database);
    one.run("create temp table t (a text); insert into t values ('temporary')");
    assert_eq!(one.show("select a from t"), "temporary");
    assert_eq!(other.show("select a from t"), "permanent");
    assert_eq!(one.fails("create table c (a text references pg_temp.t)").code(), "42P16");
    drop(one);
    assert_eq!(engine_tables(&database), before);
}

/// Two-phase locking has the definition wait for whoever has used the table.
#[test]
fn a_definition_and_a_writer_have_a_serial_order() {
    let database = database_with_versions();
    let (mut definer, mut writer) = (Client::new(&database), Client::new(&database));
    definer.run("create table t (a int); insert into t values (1)");
    // The writer began first, so it comes before the definition and cannot write behind its back.
    writer.run("begin; select count(*) from t");
    definer.run("alter table t add check (a > 0)");
    writer.run("insert into t values (-1)");
    let error = writer.fails("commit");
    assert_eq!(error.code(), "40001", "{error}");
    assert!(error.is_retryable());
    assert_eq!(writer.fails("insert into t values (-1)").code(), "23514");
    // The definition began first, but somebody after it has used the table.
    definer.run("begin; select 1 from t");
    writer.run("insert into t values (2)");
    let error = definer.fails("alter table t add unique (a); commit");
    assert_eq!(error.code(), "40001", "{error}");
    definer.run("rollback; alter table t add unique (a)");
}

#[test]
fn a_definition_waits_for_whoever_has_locked_the_table() {
    let database = database_twopl();
    let (mut definer, mut user) = (Client::new(&database), Client::new(&database));
    definer.run("create table t (a int); insert into t values (1); set lock_timeout = '1ms'");
    for change in ["alter table t add check (a > 0)", "truncate t", "drop table t", "create unique index on t (a)"] {
        for used in ["select count(*) from t", "insert into t values (-1)"] {
            user.run(&format!("begin; {used}"));
            assert_eq!(definer.fails(change).code(), "55P03", "{change} beside {used}");
            assert_eq!(user.show("select count(*) >= 1 from t"), "t", "{change}");
            user.run("rollback");
        }
    }
    // It has waited for nobody else.
    user.run("begin; select count(*) from pg_class; insert into t values (-1); commit");
    assert_eq!(definer.fails("alter table t add check (a > 0)").code(), "23514");
    definer.run("begin; drop table t");
    user.run("set lock_timeout = '1ms'");
    assert_eq!(user.fails("select * from t").code(), "55P03");
    definer.run("commit");
    assert_eq!(user.fails("select * from t").code(), "42P01");
}

/// Two-phase locking has the definition wait where the reader has come to the table, and else the reader comes after it.
#[test]
fn a_table_that_is_dropped_under_a_reader_is_a_serialization_failure() {
    let database = database_with_versions();
    let (mut definer, mut reader) = (Client::new(&database), Client::new(&database));
    for change in ["truncate t", "drop table t"] {
        definer.run("create table if not exists t (a int); insert into t values (1)");
        reader.run("begin; select count(*) from pg_class");
        definer.run(change);
        match reader.try_run("select count(*) from t") {
            Ok(answer) => assert_eq!(answer.rows, [["1"]], "{change}: as before it"),
            Err(error) => assert_eq!(error.code(), "40001", "{change}: {error}"),
        }
        reader.run("rollback");
    }
}

#[test]
fn two_sessions_cannot_create_the_same_name() {
    let database = database();
    let (mut one, mut other) = (Client::new(&database), Client::new(&database));
    one.run("begin; create table t (a int)");
    other.run("begin; create table u (a int)");
    one.run("commit");
    let error = other.fails("create table t (a int)");
    assert!(matches!(error.code(), "40001" | "42P07"), "{error}");
}

/// What PostgreSQL answers is in the script `not_valid.sql`.
#[test]
fn a_constraint_that_is_not_valid_holds_for_new_rows_alone() {
    for database in databases() {
        let mut client = Client::new(&database);
        client.run("create table p (id int primary key); create table t (a int, b int); insert into t values (-1, 7)");
        client.run(
            "alter table t add constraint c check (a > 0) not valid;
             alter table t add constraint f foreign key (b) references p not valid",
        );
        assert_eq!(client.fails("insert into t values (-2, null)").code(), "23514");
        assert_eq!(client.fails("insert into t values (1, 8)").code(), "23503");
        // The types of both columns change; the rows are not checked by that.
        client.run("alter table t alter a type bigint, alter b type bigint");
        let valid = "select string_agg(convalidated::text, ' ' order by conname) from pg_constraint where conname in ('c', 'f')";
        assert_eq!(client.show(valid), "false false");
        for (name, code, repair) in [("c", "23514", "update t set a = 1, b = null"), ("f", "23503", "delete from t")] {
            let validate = format!("alter table t validate constraint {name}");
            if name == "f" {
                client.run("alter table t drop constraint f; insert into t values (1, 9)");
                client.run("alter table t add constraint f foreign key (b) references p not valid");
            }
            assert_eq!(client.fails(&validate).code(), code);
            client.run(repair);
            client.run(&validate);
            client.run(&validate);
        }
        assert_eq!(client.show(valid), "true true");
    }
}

/// Clauses that change nothing are warned of; those that ask for what is so anyway are not.
#[test]
fn clauses_without_effect_warn() {
    let database = database();
    let mut client = Client::new(&database);
    client.run("create table t (a int primary key, b text); create sequence s; create index i on t (b)");
    let quiet = [
        "create table u (a int primary key with (fillfactor = 100)) using heap with (fillfactor = 100) tablespace pg_default",
        "alter table t set logged, set without cluster, set without oids, disable row level security, reset (fillfactor)",
        "alter table t replica identity default, alter b set statistics -1, alter b set compression default",
        "alter table t alter b reset (n_distinct), set tablespace pg_default, set access method heap",
        "create view x with (security_barrier = false) as select 1 as a",
        "vacuum t; analyze t; reindex table t; cluster t using t_pkey; alter table t cluster on t_pkey",
    ];
    for sql in quiet {
        assert_eq!(client.run(sql).notices, [""; 0], "{sql}");
    }
    for (sql, clauses) in [
        ("create unlogged table n (a int)", &["UNLOGGED"][..]),
        ("create unlogged sequence n2", &["UNLOGGED"]),
        (
            "create table n3 (a int) with (fillfactor = 70, toast.autovacuum_enabled = off) tablespace fast",
            &["WITH (fillfactor)", "WITH (toast.autovacuum_enabled)", "TABLESPACE"],
        ),
        ("create table n4 with (fillfactor = 70) as select 1 as a", &["WITH (fillfactor)"]),
        (
            "create table n5 (a int unique with (fillfactor = 70) using index tablespace fast)",
            &["WITH (fillfactor)", "USING INDEX TABLESPACE"],
        ),
        ("create index on t (b) with (fillfactor = 70) tablespace fast", &["WITH (fillfactor)", "TABLESPACE"]),
        ("create view y with (security_barrier) as select 1 as a", &["WITH (security_barrier)"]),
        (
            "alter table t set unlogged, set (fillfactor = 70), cluster on i, set tablespace fast",
            &["SET UNLOGGED", "SET (fillfactor)", "SET TABLESPACE", "CLUSTER by \"i\""],
        ),
        ("alter table t replica identity full", &["REPLICA IDENTITY"]),
        ("alter table t replica identity using index i", &["REPLICA IDENTITY"]),
        (
            "alter table t alter b set statistics 500, alter b set storage external, alter b set compression pglz",
            &["SET STATISTICS", "SET STORAGE", "SET COMPRESSION"],
        ),
        ("alter table t alter b set (n_distinct = 5)", &["SET (n_distinct)"]),
        ("alter index i set (fillfactor = 70)", &["SET (fillfactor)"]),
        ("alter sequence s set unlogged", &["SET UNLOGGED"]),
        ("cluster t using i", &["CLUSTER by \"i\""]),
    ] {
        let notices = client.run(sql).notices;
        let starts: Vec<String> = clauses.iter().map(|clause| format!("WARNING: {clause} has no effect: ")).collect();
        assert_eq!(notices.len(), starts.len(), "{sql}: {notices:?}");
        for (notice, start) in notices.iter().zip(&starts) {
            assert!(notice.starts_with(start), "{sql}: {notice}");
        }
    }
    for (sql, code) in [
        ("create table z (a int) using columnar", "42704"),
        ("alter table t set access method columnar", "42704"),
        ("create view z with (check_option = local) as select 1 as a", "0A000"),
        ("cluster t using nothing", "42704"),
        ("create view z with (nothing) as select 1 as a", "22023"),
        ("create table z (a int, unique (a) not valid)", "0A000"),
    ] {
        assert_eq!(client.fails(sql).code(), code, "{sql}");
    }
}

#[test]
fn reserved_words_are_no_names() {
    let mut client = Client::new(&database());
    for sql in [
        "create schema deferrable",
        "create table user (a int)",
        "create table t (select int)",
        "begin; savepoint inner",
        "rollback; create schema authorization",
        "drop table if exists order",
    ] {
        assert_eq!(client.fails(sql).code(), "42601", "{sql}");
    }
    client.run("rollback; create schema \"deferrable\"; create table \"user\" (\"select\" int, name text)");
    client.run("begin; savepoint \"inner\"; rollback to \"inner\"; commit");
}
