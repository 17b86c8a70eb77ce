use super::*;

fn command(sql: &str) -> Command {
    statement(sql).unwrap().unwrap().command
}

#[test]
fn texts_are_split_into_statements_that_know_their_place() {
    let all = statements("select 1; ;\n  insert into t values (';') ;-- end\n").unwrap();
    assert_eq!(all.iter().map(Parsed::source).collect::<Vec<_>>(), ["select 1", "insert into t values (';')"]);
    assert!(statements(" ; -- nothing\n").unwrap().is_empty());
}

#[test]
fn transactions_are_told_apart_by_their_words() {
    let modes = |sql| match command(sql) {
        Command::Begin(modes) | Command::SetTransaction(modes) | Command::SetCharacteristics(modes) => modes,
        other => panic!("{sql}: {other:?}"),
    };
    assert_eq!(modes("begin"), Modes::default());
    let all = Modes { isolation: Some("SERIALIZABLE"), read_only: Some(true), deferrable: Some(true) };
    let weaker = Modes { isolation: Some("READ COMMITTED"), ..all };
    assert_eq!(modes("START TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY, DEFERRABLE"), weaker);
    assert_eq!(modes("begin work isolation level serializable read only deferrable"), all);
    assert_eq!(modes("set transaction read write").read_only, Some(false));
    assert_eq!(modes("set session characteristics as transaction not deferrable").deferrable, Some(false));
    assert!(matches!(command("commit and chain"), Command::Commit(true)));
    assert!(matches!(command("end transaction"), Command::Commit(false)));
    assert!(matches!(command("rollback to savepoint \"A\""), Command::RollbackTo(name) if name == "A"));
    assert!(matches!(command("abort"), Command::Rollback(false)));
}

#[test]
fn settings_are_words_numbers_strings_and_lists_of_them() {
    let set = |sql| match command(sql) {
        Command::Set(setting) => (setting.name, setting.value, setting.local),
        other => panic!("{sql}: {other:?}"),
    };
    let of = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()), false);
    assert_eq!(set("SET statement_timeout = 0"), of("statement_timeout", "0"));
    assert_eq!(set("set search_path to A, \"B\", 'c'"), of("search_path", "a, B, c"));
    assert_eq!(set("SET TIME ZONE 'Europe/Vienna'"), of("timezone", "Europe/Vienna"));
    assert_eq!(set("set local extra_float_digits = -15"), ("extra_float_digits".into(), Some("-15".into()), true));
    assert_eq!(set("set my.own to default"), ("my.own".into(), None, false));
    assert!(
        matches!(command("show transaction isolation level"), Command::Show(Some(name)) if name == "transaction_isolation")
    );
}

#[test]
fn explain_takes_its_options_in_any_order() {
    let explain = |sql| match command(sql) {
        Command::Explain { options, .. } => (options.analyze, options.verbose, options.format),
        other => panic!("{sql}: {other:?}"),
    };
    assert_eq!(explain("explain select 1"), (false, false, ExplainFormat::Text));
    assert_eq!(explain("explain analyze verbose select 1"), (true, true, ExplainFormat::Text));
    assert_eq!(explain("explain (format json, analyze) select 1"), (true, false, ExplainFormat::Json));
    assert_eq!(explain("explain (costs off, analyze off) select 1"), (false, false, ExplainFormat::Text));
    assert_eq!(explain("explain (analyze, costs off) select 1"), (true, false, ExplainFormat::Text));
}

#[test]
fn errors_name_the_word_and_the_character() {
    for (sql, message, position) in [
        ("selec 1", "syntax error at or near \"selec\"", Some(1)),
        ("select * fro t", "syntax error at or near \"t\"", Some(14)),
        ("select 'ä' from ) t", "syntax error at or near \")\"", Some(17)),
        ("select (1", "syntax error at end of input", Some(10)),
        ("begin foo", "syntax error at or near \"foo\"", Some(7)),
        ("select 'x", "unterminated quoted string", Some(8)),
    ] {
        let error = statements(sql).unwrap_err();
        assert_eq!((error.code(), error.message(), error.fields().position), ("42601", message, position), "{sql}");
    }
}

#[test]
fn what_postgresql_has_and_this_has_not_is_refused_by_its_name() {
    for (sql, name) in [
        ("create aggregate a (int) (sfunc = x, stype = int)", "the statement CREATE AGGREGATE"),
        ("create or replace procedure p() language sql as 'select 1'", "the statement CREATE PROCEDURE"),
        ("CREATE RULE r AS ON INSERT TO t DO NOTHING", "the statement CREATE RULE"),
        ("create operator === (leftarg = int, rightarg = int, function = f)", "the statement CREATE OPERATOR"),
        ("create event trigger e on ddl_command_start execute function f()", "the statement CREATE EVENT TRIGGER"),
        ("create user mapping for u server s", "the statement CREATE USER MAPPING"),
        ("alter table t attach partition p default", "ATTACH PARTITION"),
        ("create table x (a int, exclude using gist (a with =))", "an exclusion constraint (EXCLUDE)"),
        ("alter system set work_mem = '1MB'", "the statement ALTER SYSTEM"),
        ("security label on table t is 'x'", "the statement SECURITY LABEL"),
        ("do $$ begin end $$", "the statement DO"),
        ("prepare transaction 'x'", "the statement PREPARE TRANSACTION"),
        ("refresh materialized view v", "the statement REFRESH MATERIALIZED VIEW"),
        ("delete from t where current of c", "WHERE CURRENT OF"),
    ] {
        let error = statements(sql).unwrap_err();
        let said = format!("{name} is not supported");
        assert_eq!((error.code(), error.message(), error.fields().position), ("0A000", &*said, Some(1)), "{sql}");
        assert!(error.fields().detail.is_none(), "nothing of the parser's: {sql}");
    }
    for mistyped in ["create indx i on t (a)", "create table \"rule\" a", "create foo", "update t set a = = 1"] {
        assert_eq!(statements(mistyped).unwrap_err().code(), "42601", "{mistyped}");
    }
}

#[test]
fn depth_is_bounded_before_anybody_recurses() {
    let chain = format!("select {}1", "1+".repeat(100_000));
    let unions = format!("select 1{}", " union select 1".repeat(10_000));
    let nested = format!("select {}1{}", "(".repeat(50_000), ")".repeat(50_000));
    let nots = format!("select {} true", "not ".repeat(50_000));
    let link = " + 1".repeat(1500);
    let stacked = format!("select (((1{link}){link}){link})");
    for sql in [chain, unions, nested, nots, stacked] {
        assert_eq!(statements(&sql).unwrap_err().code(), "54001");
    }
    let rows = format!("insert into t values {}(1, -1 + 2)", "(1, 'a'), ".repeat(20_000));
    assert_eq!(statements(&rows).unwrap().len(), 1, "long lists are not deep");
    let calls = format!("select {}f(1 + 2)", "f((1 + 2) * 3), ".repeat(20_000));
    assert_eq!(statements(&calls).unwrap().len(), 1, "nor are many shallow calls");
}

#[test]
fn switches_of_copy_are_on_and_off() {
    use ast::CopyOption::{Format, Freeze, Header};
    for (sql, options) in [
        ("copy t from stdin with (freeze on)", vec![Freeze(true)]),
        ("copy t from stdin (header off, format csv)", vec![Header(false), Format("csv".into())]),
        ("copy t (header) from stdin (header 1, freeze 0)", vec![Header(true), Freeze(false)]),
        ("copy t to stdout (format 'csv', header 'off')", vec![Format("csv".into()), Header(false)]),
        ("copy t from stdin csv header", vec![Format("csv".into()), Header(true)]),
    ] {
        let Command::Copy(copy) = command(sql) else { panic!("{sql}") };
        assert_eq!(copy.options, options, "{sql}");
    }
}

#[test]
fn words_that_the_parser_lacks_are_said_in_others() {
    let printed = |sql: &str| match command(sql) {
        Command::Rows(statement) => statement.to_string(),
        other => panic!("{sql}: {other:?}"),
    };
    for (written, read) in [
        ("TABLE t", "SELECT * FROM t"),
        ("SELECT 1 FROM t FOR NO KEY UPDATE", "SELECT 1 FROM t FOR UPDATE"),
        ("SELECT 1 FROM t FOR KEY SHARE SKIP LOCKED", "SELECT 1 FROM t FOR SHARE SKIP LOCKED"),
        ("SELECT trim(LEADING FROM ' a')", "SELECT TRIM(LEADING ' a')"),
        ("SELECT 'a'\n 'b' -- more\n 'c'", "SELECT 'abc'"),
        ("DELETE FROM ONLY t", "DELETE FROM t"),
        ("SELECT f(a := 1)", "SELECT f(a => 1)"),
        ("SELECT a NOTNULL, b ISNULL", "SELECT a IS NOT NULL, b IS NULL"),
        (
            "INSERT INTO t (a) OVERRIDING SYSTEM VALUE VALUES (1)",
            "INSERT INTO t (a) OVERRIDING SYSTEM VALUE VALUES (1)",
        ),
        (
            "WITH q AS (INSERT INTO t OVERRIDING USER VALUE SELECT 1) INSERT INTO t AS u TABLE v",
            "WITH q AS (INSERT INTO t OVERRIDING USER VALUE SELECT 1) INSERT INTO t AS u SELECT * FROM v",
        ),
    ] {
        assert_eq!(printed(written), read);
    }
    let misplaced = statement("SELECT 1 OVERRIDING SYSTEM VALUE").unwrap_err();
    assert_eq!(misplaced.code(), "42601");
    let error = statement("SELECT 1 FROM; SELECT 2").unwrap_err();
    assert_eq!((error.message(), error.fields().position), ("syntax error at or near \";\"", Some(14)));
}

/// Some of these are read twice where what is inside is wrong: so many levels would never end.
#[test]
fn an_error_deep_inside_is_found() {
    let openings = "array[;cast(;extract(year from ;substring(;overlay(;ceil(;position(;trim(;trim(both from ;convert(;exists(select ;\
                    case when ;not ;interval ;coalesce(;(;(select ;x[;x in (;f(a => ;sum(x) over (order by ;{fn f(;date ;(values (;map {";
    for opening in openings.split(';') {
        for inside in ["1 )", "from from"] {
            let sql = format!("select {}{inside}", opening.repeat(60));
            let code = statements(&sql).map_or_else(|error| error.code(), |_| "00000");
            assert!(["42601", "54001"].contains(&code), "{sql}: {code}");
        }
    }
    for nested in ["explain ", "explain analyze ", "prepare p as ", "declare c cursor for "] {
        let error = statements(&format!("{}select 1", nested.repeat(1900))).unwrap_err();
        assert!(["42601", "54001"].contains(&error.code()), "{nested}: {error:?}");
    }
}
