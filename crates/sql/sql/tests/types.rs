//! Types that statements define, across sessions, plans, protocols and restarts. What single statements answer is compared with
//! PostgreSQL in the scripts of the command.

mod common;

use common::{Answer, Client, database, databases, open, store};
use seriatim_sql::session::Format;
use seriatim_sql::types::Encoding;

const MOODS: &str = "
    CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
    CREATE TABLE person (id int PRIMARY KEY, m mood DEFAULT 'ok');
    INSERT INTO person VALUES (1, 'happy'), (2, 'sad'), (3, DEFAULT);
";

/// Sessions keep plans; a plan knows the labels of its constants.
#[test]
fn plans_follow_a_type() {
    for database in databases() {
        let (mut one, mut other) = (Client::new(&database), Client::new(&database));
        one.run(MOODS);
        let query = "SELECT id, m FROM person WHERE m >= 'ok' ORDER BY m";
        one.run("PREPARE above(mood) AS SELECT id, m FROM person WHERE m > $1 ORDER BY m, id");
        for _ in 0..2 {
            assert_eq!(one.show(query), "3|ok\n1|happy");
            assert_eq!(one.show("EXECUTE above('sad')"), "3|ok\n1|happy");
        }
        other.run("ALTER TYPE mood ADD VALUE 'fine' BEFORE 'happy'; UPDATE person SET m = 'fine' WHERE id = 2");
        assert_eq!(one.show(query), "3|ok\n2|fine\n1|happy");
        assert_eq!(one.show("EXECUTE above('sad')"), "3|ok\n2|fine\n1|happy");
        other.run("ALTER TYPE mood RENAME VALUE 'ok' TO 'okay'");
        assert_eq!(one.fails(query).code(), "22P02");
        assert_eq!(one.show("EXECUTE above('sad')"), "3|okay\n2|fine\n1|happy");
        assert_eq!(one.show("INSERT INTO person VALUES (4) RETURNING m"), "okay");
        other.run("ALTER TYPE mood RENAME TO feeling");
        assert_eq!(one.show("SELECT pg_typeof(m), m FROM person WHERE id = 4"), "feeling|okay");
        assert_eq!(one.fails("SELECT 'okay'::mood").code(), "42704");
    }
}

/// A label keeps what is stored of it, however many come between; the order of an index is the declared one.
#[test]
fn labels_between_labels_change_no_row() {
    let database = database();
    let mut client = Client::new(&database);
    client.run(
        "CREATE TYPE level AS ENUM ('l0', 'l1000'); CREATE TABLE t (l level PRIMARY KEY, n int);
         INSERT INTO t VALUES ('l0', 0), ('l1000', 1000)",
    );
    for number in 1..60 {
        // Always into the narrowest place: in front of the label that came last, and behind the first.
        let before = if number == 1 { 1000 } else { 1001 - number };
        client.run(&format!("ALTER TYPE level ADD VALUE 'l{}' BEFORE 'l{before}'", 1000 - number));
        client.run(&format!("INSERT INTO t VALUES ('l{0}', {0})", 1000 - number));
    }
    assert_eq!(client.show("SELECT count(*) FROM t"), "61");
    assert_eq!(
        client.show("SELECT bool_and(n > before) FROM (SELECT n, lag(n) OVER (ORDER BY l) AS before FROM t) s"),
        "t"
    );
    assert_eq!(client.show("SELECT n FROM t WHERE l < 'l943' ORDER BY l"), "0\n941\n942");
    assert_eq!(client.show("SELECT max(l), min(l) FROM t"), "l1000|l0");
}

#[test]
fn definitions_are_rolled_back() {
    for database in databases() {
        let (mut one, mut other) = (Client::new(&database), Client::new(&database));
        one.run(MOODS);
        one.run("BEGIN; ALTER TYPE mood ADD VALUE 'new'; INSERT INTO person VALUES (9, 'new'); ROLLBACK");
        assert_eq!(one.show("SELECT enum_range(NULL::mood)"), "{sad,ok,happy}");
        one.run("BEGIN; SELECT * FROM person; SAVEPOINT s; ALTER TYPE mood RENAME VALUE 'ok' TO 'okay'");
        assert_eq!(one.show("SELECT m FROM person WHERE id = 3"), "okay");
        one.run("ROLLBACK TO s");
        assert_eq!(one.show("SELECT m FROM person WHERE id = 3"), "ok");
        one.run("COMMIT");
        one.run("BEGIN; CREATE TYPE other AS ENUM ('x'); CREATE TABLE o (x other); ROLLBACK");
        assert_eq!(other.fails("SELECT NULL::other").code(), "42704");
        assert_eq!(other.show("SELECT count(*) FROM pg_type WHERE typname IN ('other', '_other')"), "0");
    }
}

/// Rows of a cursor that is held beyond its transaction are read without the type.
#[test]
fn held_cursors_keep_their_labels() {
    let database = database();
    let mut client = Client::new(&database);
    client.run(MOODS);
    client
        .run("BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT m, ARRAY[m] FROM person ORDER BY m; FETCH 1 FROM c; COMMIT");
    client.run("DROP TYPE mood CASCADE");
    assert_eq!(client.show("FETCH ALL FROM c"), "ok|{ok}\nhappy|{happy}");
}

#[test]
fn a_database_is_opened_with_its_types() {
    let store = store();
    Client::new(&open(store.clone())).run(MOODS);
    let mut again = Client::new(&open(store));
    assert_eq!(again.show("SELECT id, m FROM person ORDER BY m DESC"), "1|happy\n3|ok\n2|sad");
    assert_eq!(again.show("INSERT INTO person VALUES (4, 'sad') RETURNING *"), "4|sad");
}

/// The array of a type has a name of its own, by which drivers look for it, unless another type takes the name.
#[test]
fn an_underscore_names_the_array_of_a_type() {
    let database = database();
    let mut client = Client::new(&database);
    client.run(MOODS);
    assert_eq!(client.show("SELECT '_mood'::regtype, '_mood'::regtype = 'mood[]'::regtype"), "mood[]|t");
    client.run("CREATE TABLE felt (moods _mood)");
    assert_eq!(client.show("INSERT INTO felt VALUES ('{sad}') RETURNING moods, pg_typeof(moods)"), "{sad}|mood[]");
    client.run("CREATE TYPE _mood AS ENUM ('none')");
    assert_eq!(client.show("SELECT 'none'::_mood, pg_typeof('none'::_mood)"), "none|_mood");
}

/// Drivers name the types of parameters by identifiers, of arrays too, and send values in binary form: labels.
#[test]
fn parameters_are_labels_in_both_forms() {
    let database = database();
    let mut client = Client::new(&database);
    client.run(MOODS);
    let oids = client.show("SELECT 'mood'::regtype::oid, 'mood[]'::regtype::oid");
    let (mood, array) = oids.split_once('|').expect("two identifiers");
    let (mood, array): (u32, u32) = (mood.parse().unwrap(), array.parse().unwrap());
    let sql = "SELECT id, $1::mood, m FROM person WHERE m = $1 OR m = ANY ($2) ORDER BY id";
    client.session.parse("s", sql, &[mood, array]).expect("it is prepared");
    client.session.sync(false).unwrap();
    let described = client.session.describe_statement("s").expect("it is described");
    let types: Vec<u32> = described.parameters.iter().map(|data_type| data_type.oid()).collect();
    assert_eq!(types, [mood, array]);
    let fields: Vec<u32> = described.fields.unwrap().iter().map(|field| field.data_type.oid()).collect();
    assert_eq!(fields, [23, mood, mood]);
    let in_binary = [
        &1_i32.to_be_bytes()[..],
        &0_i32.to_be_bytes(),
        &mood.to_be_bytes(),
        &1_i32.to_be_bytes(),
        &1_i32.to_be_bytes(),
        &5_i32.to_be_bytes(),
        b"happy",
    ]
    .concat();
    for (form, moods) in [(Format::Text, &b"{happy}"[..]), (Format::Binary, &in_binary)] {
        client
            .session
            .bind("", "s", &[(form, Some(b"sad")), (form, Some(moods))], Encoding::Utf8)
            .expect("it is bound");
        let mut answer = Answer::default();
        client.session.execute("", 0, true, &mut answer).expect("it runs");
        client.session.sync(false).unwrap();
        assert_eq!(answer.rows, [["1", "sad", "happy"], ["2", "sad", "sad"]]);
    }
    let unknown = client
        .session
        .bind("", "s", &[(Format::Binary, Some(b"angry")), (Format::Text, None)], Encoding::Utf8)
        .unwrap_err();
    assert_eq!((unknown.code(), unknown.message()), ("22P02", "invalid input value for enum mood: \"angry\""));
    let absent = client.session.parse("", "SELECT $1", &[99_999]).unwrap_err();
    assert_eq!((absent.code(), absent.message()), ("42704", "type with OID 99999 does not exist"));
}

/// Whoever uses a type has read its definition: DROP cannot go past a writer of its values unnoticed.
#[test]
fn a_use_conflicts_with_the_end_of_the_type() {
    let database = database();
    let (mut one, mut other) = (Client::new(&database), Client::new(&database));
    // Some engines have it wait for the other one, which this thread would never end.
    other.run("SET lock_timeout = '1ms'");
    one.run(MOODS);
    one.run("BEGIN; CREATE TABLE late (m mood)");
    let dropped = other.try_run("DROP TYPE mood CASCADE");
    let committed = one.try_run("COMMIT");
    assert!(dropped.is_err() || committed.is_err(), "a table has a column of a type that is gone");
}

#[test]
fn a_type_is_refused_by_what_it_is() {
    let database = database();
    let mut client = Client::new(&database);
    for (sql, what) in [
        ("CREATE TYPE r AS RANGE (subtype = int4)", "CREATE TYPE AS RANGE is not supported"),
        ("CREATE TYPE b (INPUT = f, OUTPUT = g)", "CREATE TYPE of a base type is not supported"),
        ("CREATE TYPE b", "CREATE TYPE of a base type is not supported"),
    ] {
        let error = client.fails(sql);
        assert_eq!((error.code(), error.message()), ("0A000", what), "{sql}");
    }
    assert_eq!(client.fails("CREATE TYPE m AS ENUM ('a',)").code(), "42601");
    let long = "x".repeat(64);
    assert_eq!(client.fails(&format!("CREATE TYPE m AS ENUM ('{long}')")).code(), "42602");
    let many: Vec<String> = (0..10_001).map(|number| format!("'{number}'")).collect();
    assert_eq!(client.fails(&format!("CREATE TYPE m AS ENUM ({})", many.join(", "))).code(), "54000");
    // Texts that are kept name types by identifiers, and a user may do so; there must be such a type.
    assert_eq!(client.fails("SELECT 'a'::pg_type.\"16399\"").code(), "42704");
}

/// What an index computes names a type by its identifier, too.
#[test]
fn indexes_over_labels_follow_their_type() {
    let database = database();
    let mut client = Client::new(&database);
    client.run(MOODS);
    client.run("CREATE UNIQUE INDEX sad ON person ((m = 'sad')) WHERE m <> 'happy'; CREATE INDEX text ON person (id) WHERE id::text <> 'sad'::mood::text");
    client.run("ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'; ALTER TYPE mood RENAME TO feeling");
    assert_eq!(
        client.show("SELECT pg_get_indexdef('sad'::regclass)"),
        "CREATE UNIQUE INDEX sad ON public.person USING btree (((m = 'blue'::feeling))) WHERE (m <> 'happy'::feeling)"
    );
    assert_eq!(client.fails("INSERT INTO person VALUES (5, 'blue')").code(), "23505");
    client.run("DROP TYPE feeling CASCADE");
    assert_eq!(client.show("SELECT relname FROM pg_class WHERE relname IN ('sad', 'text')"), "");
}

/// A plan knows the rules of the domains that it applies, whoever changes them.
#[test]
fn plans_follow_a_domain() {
    for database in databases() {
        let (mut one, mut other) = (Client::new(&database), Client::new(&database));
        one.run("CREATE DOMAIN posint AS int CHECK (VALUE > 0); CREATE TABLE t (id posint PRIMARY KEY)");
        one.run("PREPARE p(int) AS INSERT INTO t VALUES ($1); PREPARE c(int) AS SELECT $1::posint");
        one.run("EXECUTE p(1); EXECUTE c(1)");
        assert_eq!(one.fails("EXECUTE p(0)").code(), "23514");
        other.run("ALTER DOMAIN posint ADD CONSTRAINT below CHECK (VALUE < 10)");
        for sql in ["EXECUTE p(10)", "EXECUTE c(10)", "INSERT INTO t VALUES (10)", "UPDATE t SET id = 10"] {
            let error = one.fails(sql);
            let fields = error.fields();
            assert_eq!((error.code(), fields.constraint.as_deref()), ("23514", Some("below")), "{sql}");
            assert_eq!(
                (fields.schema.as_deref(), fields.data_type.as_deref()),
                (Some("public"), Some("posint")),
                "{sql}"
            );
        }
        other.run("ALTER DOMAIN posint DROP CONSTRAINT below");
        assert_eq!(one.show("EXECUTE p(10); EXECUTE c(10)"), "10");
    }
}

/// What a domain cannot be yet is refused: nothing loses its rules in silence.
#[test]
fn a_domain_is_refused_where_its_rules_would_be_lost() {
    let database = database();
    let mut client = Client::new(&database);
    client.run("CREATE DOMAIN posint AS int CHECK (VALUE > 0)");
    let oid: u32 = client.show("SELECT 'posint'::regtype::oid").parse().unwrap();
    for sql in [
        "CREATE TABLE t (a posint[])",
        "SELECT '{1}'::posint[]",
        "PREPARE p(posint) AS SELECT $1",
        "SELECT * FROM json_to_record('{\"a\": -1}') AS x(a posint)",
    ] {
        assert_eq!(client.fails(sql).code(), "0A000", "{sql}");
    }
    let error = client.session.parse("", "SELECT $1", &[oid]).unwrap_err();
    assert_eq!(error.code(), "0A000");
}

/// A domain over another has the rules and the default of both.
#[test]
fn domains_of_a_domain_keep_both_rules() {
    let database = database();
    let mut client = Client::new(&database);
    client.run(
        "CREATE DOMAIN a AS int CHECK (VALUE > 0) DEFAULT 3; CREATE DOMAIN b AS a CONSTRAINT small CHECK (VALUE < 10);
         CREATE TABLE t (x b, y b DEFAULT 4)",
    );
    assert_eq!(client.show("INSERT INTO t DEFAULT VALUES RETURNING x, y"), "3|4");
    assert_eq!(
        client.fails("INSERT INTO t VALUES (0)").message(),
        "value for domain b violates check constraint \"a_check\""
    );
    assert_eq!(
        client.fails("INSERT INTO t VALUES (10)").message(),
        "value for domain b violates check constraint \"small\""
    );
    let error = client.fails("ALTER DOMAIN a ADD CHECK (VALUE <> 3)");
    assert_eq!(error.message(), "column \"x\" of table \"t\" contains values that violate the new constraint");
    assert_eq!(client.fails("DROP DOMAIN a").code(), "2BP01");
    client.run("DROP DOMAIN a CASCADE");
    assert_eq!(
        client.show(
            "SELECT count(*) FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 AND NOT attisdropped"
        ),
        "0"
    );
}

/// Values of jsonb are equal and in order by what they say, whatever index there is: its keys are texts, and tell 1 and 1.0 apart.
#[test]
fn jsonb_is_compared_by_value_beside_an_index() {
    const VALUES: &str = "(1, '1'), (2, '1.0'), (3, '[]'), (4, 'null'), (5, '\"a\"'), (6, '{\"a\": 2}'), (7, '{\"a\": 2.00}'), (8, '10'),
        (9, '9'), (10, '[1]'), (11, '[0, 0]')";
    const ANSWERS: [(&str, &str); 11] = [
        ("SELECT id FROM t WHERE j = '1.00' ORDER BY id", "1\n2"),
        ("SELECT id FROM t WHERE j IN ('1.00', '9.0') ORDER BY id", "1\n2\n9"),
        ("SELECT id FROM t WHERE j = ANY (ARRAY['1.00', '{\"a\": 2.0}']::jsonb[]) ORDER BY id", "1\n2\n6\n7"),
        ("SELECT id FROM t WHERE j > '9' AND j < '11'", "8"),
        ("SELECT id FROM t WHERE a = 0 AND j = '1.00' ORDER BY id", "1\n2"),
        ("SELECT id FROM t ORDER BY j, id", "3\n4\n5\n1\n2\n9\n8\n10\n11\n6\n7"),
        ("SELECT id FROM t ORDER BY j DESC LIMIT 3 OFFSET 2", "11\n10\n8"),
        ("SELECT id FROM t WHERE a = 0 ORDER BY a, j, id LIMIT 5", "3\n4\n5\n1\n2"),
        ("SELECT id FROM t ORDER BY a, id LIMIT 3", "1\n2\n3"),
        ("SELECT count(*) FROM t x JOIN t y ON x.j = y.j", "15"),
        ("SELECT count(DISTINCT j), (SELECT count(*) FROM (SELECT j FROM t GROUP BY j) g) FROM t", "9|9"),
    ];
    for definition in ["", ", UNIQUE (j)", ", UNIQUE (a, j)", ", UNIQUE (a, j), UNIQUE (j)"] {
        for database in databases() {
            let mut client = Client::new(&database);
            client.run(&format!(
                "CREATE TABLE t (id int PRIMARY KEY, j jsonb NOT NULL, a int NOT NULL DEFAULT 0{definition})"
            ));
            client.run(&format!("INSERT INTO t VALUES {VALUES}"));
            for vectors in ["on", "force"] {
                client.run(&format!("SET enable_vectors = {vectors}"));
                for (question, answer) in ANSWERS {
                    assert_eq!(client.show(question), answer, "{definition}, {vectors}: {question}");
                }
            }
        }
    }
}
