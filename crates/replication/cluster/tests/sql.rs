//! SQL on three nodes: what one defines and writes, the others use; numbers of sequences are given once; rules hold across nodes.

mod common;

use common::{Kind, Nodes, PATIENCE, options};
use sql::database::{Database, Options};
use sql::session::{Connect, Outcome, Session, Sink};
use sql::types::{Datum, Styles, text};
use sql::{Field, SqlError};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;

/// A session of a node, in texts.
struct Client(Session);

#[derive(Default)]
struct Answer {
    rows: Vec<String>,
    fields: Vec<Field>,
    styles: Styles,
}

impl Sink for Answer {
    fn rows(&mut self, fields: &[Field], styles: &Styles) {
        (self.fields, self.styles) = (fields.to_vec(), styles.clone());
    }

    fn row(&mut self, row: &[Datum]) -> sql::Result<()> {
        let show = |(datum, field): (&Datum, &Field)| {
            let mut out = String::new();
            if !datum.is_null() {
                text::format(datum, field.data_type, &self.styles, &mut out);
            }
            out
        };
        self.rows.push(row.iter().zip(&self.fields).map(show).collect::<Vec<_>>().join("|"));
        Ok(())
    }

    fn restart(&mut self) -> bool {
        self.rows.clear();
        true
    }
}

impl Client {
    fn new(database: &Arc<Database>) -> Client {
        let how = Connect { user: "postgres".into(), database: "postgres".into(), ..Connect::default() };
        Client(database.connect(how).expect("a session"))
    }

    fn try_run(&mut self, sql: &str) -> sql::Result<Vec<String>> {
        let mut answer = Answer::default();
        let outcome = self.0.simple(sql, &mut answer);
        assert_eq!(self.0.once_durable(outcome)?, Outcome::Done, "{sql}");
        Ok(answer.rows)
    }

    #[track_caller]
    fn run(&mut self, sql: &str) -> Vec<String> {
        self.try_run(sql).unwrap_or_else(|error| panic!("{sql}\n  {error:?}"))
    }

    #[track_caller]
    fn fails(&mut self, sql: &str) -> SqlError {
        self.try_run(sql).expect_err(sql)
    }
}

/// Three nodes with SQL, opened at the same time.
fn three(kind: Kind) -> (Nodes, Vec<Arc<Database>>) {
    let nodes = Nodes::open(3, kind, options());
    let databases = thread::scope(|scope| {
        let open = |node| {
            let store = nodes.store(node);
            scope.spawn(move || Database::open(store, Options::default()).expect("a database"))
        };
        let opening: Vec<_> = (0..3).map(open).collect();
        opening.into_iter().map(|opening| opening.join().expect("no panic")).collect()
    });
    (nodes, databases)
}

fn clients(databases: &[Arc<Database>]) -> Vec<Client> {
    databases.iter().map(Client::new).collect()
}

#[test]
fn what_one_node_defines_and_writes_the_others_use() {
    for kind in [Kind::Hyper, Kind::Mvto] {
        let (_nodes, databases) = three(kind);
        let mut clients = clients(&databases);
        clients[0].run("CREATE TABLE account (id int PRIMARY KEY, owner text, balance int CHECK (balance >= 0))");
        clients[1].run("INSERT INTO account VALUES (1, 'Ada', 10), (2, 'Bea', 20)");
        assert_eq!(clients[2].run("SELECT * FROM account ORDER BY id"), ["1|Ada|10", "2|Bea|20"]);
        clients[2].run("CREATE INDEX ON account (owner)");
        clients[0].run("UPDATE account SET balance = balance + 5 WHERE owner = 'Ada'");
        assert_eq!(clients[1].run("SELECT balance FROM account WHERE owner = 'Ada'"), ["15"]);
        clients[1].run("ALTER TABLE account ADD COLUMN note text DEFAULT 'new'");
        assert_eq!(clients[0].run("SELECT id, note FROM account ORDER BY id"), ["1|new", "2|new"]);
        clients[0].run("DELETE FROM account WHERE id = 2");
        assert_eq!(clients[2].run("SELECT count(*) FROM account"), ["1"]);
        clients[2].run("DROP TABLE account");
        assert_eq!(clients[1].fails("SELECT * FROM account").code(), "42P01");
    }
}

#[test]
fn rules_hold_across_nodes() {
    let (_nodes, databases) = three(Kind::Hyper);
    let mut clients = clients(&databases);
    clients[0].run("CREATE TABLE parent (id int PRIMARY KEY, name text UNIQUE)");
    clients[1].run("CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent)");
    clients[0].run("INSERT INTO parent VALUES (1, 'one')");
    assert_eq!(clients[1].fails("INSERT INTO parent VALUES (1, 'two')").code(), "23505");
    assert_eq!(clients[2].fails("INSERT INTO parent VALUES (2, 'one')").code(), "23505");
    assert_eq!(clients[1].fails("INSERT INTO child VALUES (1, 9)").code(), "23503");
    clients[2].run("INSERT INTO child VALUES (1, 1)");
    assert_eq!(clients[0].fails("DELETE FROM parent").code(), "23503");
    clients[0].run("DELETE FROM child");
    clients[1].run("DELETE FROM parent");
    // What is gone is no duplicate, wherever it was removed.
    clients[2].run("INSERT INTO parent VALUES (1, 'one')");
}

#[test]
fn two_nodes_never_give_the_same_number() {
    let (_nodes, databases) = three(Kind::Hyper);
    Client::new(&databases[0]).run("CREATE SEQUENCE numbers; CREATE TABLE made (id serial PRIMARY KEY, node int)");
    let drawn: Vec<Vec<String>> = thread::scope(|scope| {
        let draw = |database: &Arc<Database>| {
            let mut client = Client::new(database);
            scope.spawn(move || {
                let mut drawn = Vec::new();
                for _ in 0..200 {
                    drawn.extend(client.run("SELECT nextval('numbers')"));
                    client.run("INSERT INTO made (node) VALUES (1)");
                }
                drawn
            })
        };
        let drawing: Vec<_> = databases.iter().map(draw).collect();
        drawing.into_iter().map(|drawing| drawing.join().expect("no panic")).collect()
    });
    let all: BTreeSet<&String> = drawn.iter().flatten().collect();
    assert_eq!(all.len(), 600, "each number was given once");
    assert_eq!(Client::new(&databases[1]).run("SELECT count(*) FROM made"), ["600"]);
}

#[test]
fn single_statements_of_all_nodes_on_one_row_all_count() {
    let (nodes, databases) = three(Kind::Hyper);
    Client::new(&databases[0])
        .run("CREATE TABLE counter (id int PRIMARY KEY, n int); INSERT INTO counter VALUES (1, 0)");
    thread::scope(|scope| {
        for database in databases.iter().chain(&databases) {
            let mut client = Client::new(database);
            scope.spawn(move || {
                let mut counted = 0;
                while counted < 50 {
                    match client.try_run("UPDATE counter SET n = n + 1 WHERE id = 1") {
                        Ok(_) => counted += 1,
                        Err(error) => assert_eq!(error.code(), "40001", "{error:?}"),
                    }
                }
            });
        }
    });
    assert_eq!(Client::new(&databases[2]).run("SELECT n FROM counter"), ["300"]);
    assert!(nodes.nodes.values().all(|node| node.rows_held() == 0));
}

/// Sessions of one node that change one row queue for it: who meets another one meets it before it proposes.
#[test]
fn sessions_of_one_node_use_no_place_in_vain_over_a_row() {
    let (nodes, databases) = three(Kind::Hyper);
    Client::new(&databases[0])
        .run("CREATE TABLE counter (id int PRIMARY KEY, n int); INSERT INTO counter VALUES (1, 0)");
    let before = nodes.node(0).status();
    thread::scope(|scope| {
        for _ in 0..4 {
            let mut client = Client::new(&databases[0]);
            scope.spawn(move || {
                let mut counted = 0;
                while counted < 50 {
                    client.run("BEGIN");
                    // Between the read and the lock another one may have gone ahead.
                    let read = client.try_run("SELECT n FROM counter WHERE id = 1 FOR UPDATE");
                    if read.is_ok() {
                        client.run("UPDATE counter SET n = n + 1 WHERE id = 1");
                        counted += 1;
                    }
                    client.run("COMMIT");
                }
            });
        }
    });
    assert_eq!(Client::new(&databases[1]).run("SELECT n FROM counter"), ["200"]);
    let after = nodes.node(0).status();
    assert_eq!(after.certified - before.certified, after.commits - before.commits, "no place was used in vain");
}

/// A node that opens its database leaves alone what others are about to name.
#[test]
fn a_node_that_starts_leaves_the_tables_of_others_alone() {
    let (mut nodes, databases) = three(Kind::Hyper);
    let mut creator = Client::new(&databases[0]);
    creator.run("BEGIN");
    creator.run("CREATE TABLE unnamed (id int PRIMARY KEY)");
    creator.run("INSERT INTO unnamed VALUES (1)");
    let mut temporary = Client::new(&databases[1]);
    temporary.run("CREATE TEMPORARY TABLE own (id int)");
    nodes.start(3, Kind::Hyper.in_memory()).wait_until_current(PATIENCE).expect("it comes");
    let fourth = Database::open(nodes.store(3), Options::default()).expect("a database");
    creator.run("COMMIT");
    temporary.run("INSERT INTO own VALUES (1)");
    assert_eq!(Client::new(&fourth).run("SELECT * FROM unnamed"), ["1"]);
    assert_eq!(temporary.run("SELECT * FROM own"), ["1"]);
}

#[test]
fn a_conflict_across_nodes_names_its_rule_and_table() {
    let (_nodes, databases) = three(Kind::Hyper);
    let mut clients = clients(&databases);
    clients[0].run("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)");
    clients[0].run("BEGIN");
    clients[0].run("SELECT n FROM t WHERE id = 1");
    clients[1].run("UPDATE t SET n = 7 WHERE id = 1");
    let error = match clients[0].try_run("UPDATE t SET n = n + 1 WHERE id = 1") {
        Ok(_) => clients[0].fails("COMMIT"),
        Err(error) => error,
    };
    assert_eq!(error.code(), "40001");
    let told = format!("{error:?}");
    assert!(told.contains("key-changed") && told.contains("table t") || told.contains("\"t\""), "{told}");
}

/// What a WHERE passes over is not read; what it selects is, before and after a write. Of a row that is found by its key, all is read.
#[test]
fn a_statement_has_read_what_its_condition_selects() {
    for kind in [Kind::Hyper, Kind::Mvto] {
        let (_nodes, databases) = three(kind);
        let mut clients = clients(&databases);
        clients[0].run("CREATE TABLE t (id int PRIMARY KEY, class int, n numeric); CREATE TABLE seen (n int)");
        clients[0].run("INSERT INTO t VALUES (1, 1, 1.5), (2, 2, 2.5)");
        let mut ends = |read: &str, write: &str| {
            clients[0].run("BEGIN");
            clients[0].run(read);
            clients[1].run(write);
            clients[0].run("INSERT INTO seen VALUES (1)");
            let ended = clients[0].try_run("COMMIT").err();
            ended.map(|error| {
                assert_eq!(error.code(), "40001");
                error.fields().detail.clone().unwrap_or_default()
            })
        };
        let sum = "SELECT sum(n) FROM t WHERE class = 1";
        assert_eq!(ends(sum, "UPDATE t SET n = n + 1 WHERE id = 2"), None);
        assert_eq!(ends(sum, "INSERT INTO t VALUES (3, 2, 0)"), None);
        assert_eq!(ends(sum, "DELETE FROM t WHERE id = 3"), None);
        assert_eq!(ends("SELECT count(*) FROM t WHERE class = 1", "UPDATE t SET n = 7 WHERE id = 1"), None);
        assert_eq!(ends("UPDATE t SET n = n + 1 WHERE class = 1", "UPDATE t SET n = n + 1 WHERE class = 2"), None);
        assert!(ends("SELECT class FROM t WHERE id = 1", "UPDATE t SET n = 1.5 WHERE id = 1").is_some());
        let told = ends(sum, "UPDATE t SET class = 1 WHERE id = 2").expect("a phantom");
        assert!(told.contains("Rule predicate-met"), "{told}");
        assert!(told.contains("table \"t\", key (id)=(2): updated, class from 2 to 1"), "{told}");
        assert!(told.contains("read as all rows where class = 1"), "{told}");
        assert!(ends(sum, "UPDATE t SET class = 2 WHERE id = 2").is_some(), "it goes");
        assert!(ends(sum, "UPDATE t SET n = 3 WHERE id = 1").is_some(), "a column that is read");
        assert_eq!(ends("SELECT count(*) FROM t WHERE n > 2.5", "UPDATE t SET n = 2.6 WHERE id = 2"), None);
        assert!(ends("SELECT count(*) FROM t WHERE n > 2.5", "UPDATE t SET n = 2.4 WHERE id = 2").is_some());
        assert!(ends(sum, "DELETE FROM t WHERE id = 1").is_some());
    }
}

/// A text longer than a payload is proposed in parts.
#[test]
fn a_long_transaction_goes_through() {
    let (_nodes, databases) = three(Kind::Hyper);
    let mut clients = clients(&databases);
    clients[0].run("CREATE TABLE t (id int PRIMARY KEY, filler text)");
    clients[0].run("INSERT INTO t SELECT i, repeat('x', 100) FROM generate_series(1, 40000) AS i");
    assert_eq!(clients[1].run("SELECT count(*), sum(length(filler)) FROM t"), ["40000|4000000"]);
}
