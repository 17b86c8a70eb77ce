//! SQL in the process.

use seriatim::sql::{Datum, Session};
use seriatim::{Database, Error};

fn texts(session: &mut Session, query: &str) -> Vec<Vec<Option<String>>> {
    let answer = session.query(query, &[]).unwrap();
    let row = |row: &seriatim::sql::Row| (0..answer.columns.len()).map(|at| row.text(at)).collect();
    answer.rows.iter().map(row).collect()
}

#[test]
fn sessions_take_parameters_and_give_typed_values() {
    let db = Database::in_memory().unwrap();
    db.sql("CREATE TABLE t (id bigint PRIMARY KEY, name text, weight double precision, raw bytea, yes boolean)")
        .unwrap();
    let mut session = db.sql_session().unwrap();
    let insert = "INSERT INTO t VALUES ($1, $2, $3, $4, $5)";
    let none: Option<&str> = None;
    session.query(insert, &[&1, &"it's", &2.5, &vec![0_u8, 255], &true]).unwrap();
    let answer = session.query(insert, &[&2, &none, &Option::<f64>::None, &Option::<Vec<u8>>::None, &false]).unwrap();
    assert_eq!(answer.tag, "INSERT 0 1");
    let rows = session.query("SELECT * FROM t ORDER BY id", &[]).unwrap().rows;
    assert_eq!(rows[0].get::<i64>(0).unwrap(), 1);
    assert_eq!(rows[0].get::<String>(1).unwrap(), "it's");
    assert_eq!(rows[0].get::<f64>(2).unwrap(), 2.5);
    assert_eq!(rows[0].get::<Vec<u8>>(3).unwrap(), [0, 255]);
    assert!(rows[0].get::<bool>(4).unwrap());
    assert_eq!(rows[1].get::<Option<String>>(1).unwrap(), None);
    assert!(matches!(rows[1].values()[1], Datum::Null));
    assert_eq!(rows[0].get::<i64>(1).unwrap_err().sqlstate(), "42804");
    assert_eq!(rows[0].get::<i64>(9).unwrap_err().sqlstate(), "42703");
    let error = session.query("SELECT $1::int", &[&"x"]).unwrap_err();
    assert_eq!((error.sqlstate(), error.is_retryable()), ("22P02", false));
    assert_eq!(texts(&mut session, "SELECT count(*) FROM t"), [[Some("2".into())]], "the session lives on");
}

#[test]
fn values_are_found_by_name_and_become_what_rust_has_for_them() {
    use seriatim::{Date, DateTime};
    let db = Database::in_memory().unwrap();
    let mut session = db.sql_session().unwrap();
    let day = Date::from_ymd(1996, 7, 4).unwrap();
    let moment = DateTime { micros: 1_500_000 };
    let id = [7_u8; 16];
    let query = "SELECT $1::date AS day, $2::timestamptz AS moment, $3::uuid AS id, 12.340 AS price, '{1,2}'::int[] AS list, \
                 'infinity'::date AS never";
    let answer = session.query(query, &[&day, &moment, &id]).unwrap();
    let row = &answer.rows[0];
    assert_eq!(row.get::<Date>("day").unwrap(), day);
    assert_eq!(row.get::<DateTime>("moment").unwrap(), moment);
    assert_eq!(row.get::<[u8; 16]>("id").unwrap(), id);
    assert_eq!(row.get::<String>("id").unwrap(), "07070707-0707-0707-0707-070707070707");
    assert_eq!(row.get::<String>("price").unwrap(), "12.340");
    assert_eq!(row.get::<String>("day").unwrap(), "1996-07-04");
    assert!(row.get::<Date>("never").is_err() && row.get::<String>("never").unwrap() == "infinity");
    let error = row.get::<String>("list").unwrap_err();
    assert!(error.to_string().contains("Row::text") && error.sqlstate() == "42804", "{error}");
    assert_eq!(row.text(4).as_deref(), Some("{1,2}"));
    let error = row.get::<String>("nosuch").unwrap_err();
    assert!(error.to_string().contains("no column nosuch; it has day, moment, id"), "{error}");
    assert_eq!(error.sqlstate(), "42703");
}

#[test]
fn a_session_has_blocks_and_loses_them_when_it_is_dropped() {
    let db = Database::in_memory().unwrap();
    db.sql("CREATE TABLE t (a int)").unwrap();
    let mut session = db.sql_session().unwrap();
    session
        .run("BEGIN; INSERT INTO t VALUES (1); SAVEPOINT s; INSERT INTO t VALUES (2); ROLLBACK TO s; COMMIT")
        .unwrap();
    session.run("BEGIN").unwrap();
    session.query("INSERT INTO t VALUES (3)", &[]).unwrap();
    drop(session);
    assert_eq!(db.sql("SELECT sum(a) FROM t").unwrap().rows[0].get::<i64>(0).unwrap(), 1);
    let error = db.sql("INSERT INTO t VALUES (1); SELECT 1/0").unwrap_err();
    assert!(matches!(&error, Error::Sql(error) if error.code() == "22012"));
    assert_eq!(
        db.sql("SELECT count(*) FROM t").unwrap().rows[0].get::<i64>(0).unwrap(),
        1,
        "one text, one transaction"
    );
}

#[test]
fn rows_are_copied_in_and_out() {
    let db = Database::in_memory().unwrap();
    let mut session = db.sql_session().unwrap();
    session.run("CREATE TABLE t (a int, b text)").unwrap();
    assert_eq!(session.copy_in("COPY t FROM STDIN WITH (FORMAT csv)", b"1,one\n2,\"t,wo\"\n").unwrap().tag, "COPY 2");
    assert_eq!(session.copy_in("COPY t FROM STDIN", b"x\ty\n").unwrap_err().sqlstate(), "22P02");
    assert_eq!(session.run("COPY t FROM STDIN").unwrap_err().sqlstate(), "57014");
    let out = session.run("COPY t TO STDOUT").unwrap();
    assert_eq!(out[0].rows.len(), 2);
    assert_eq!(out[0].rows[1].text(0).unwrap(), "2\tt,wo");
}
