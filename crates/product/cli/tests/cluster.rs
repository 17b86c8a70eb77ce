//! `seriatim serve --cluster`, from the outside: three processes, and clients on all of them.

mod nodes;

use nodes::{Door, Nodes, Process, is_to_repeat, show, texts, until_done, words};
use postgres::error::SqlState;
use std::net::TcpListener;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use testing::{Directory, Members, Ran, free_ports};

/// Nothing here takes nearly as long, unless it is broken.
const TIME_LIMIT: Duration = Duration::from_secs(60);

#[test]
fn definitions_rows_sequences_and_keys_are_those_of_all_nodes() {
    for engine in ["mvto", "hyper"] {
        let nodes = Nodes::start("all-nodes", 3, &["--engine", engine]);
        let [mut a, mut b, mut c] = [0, 1, 2].map(|node| nodes.client(node));
        a.batch_execute("CREATE TABLE t (a int PRIMARY KEY, b text)").unwrap();
        b.batch_execute("INSERT INTO t VALUES (1, 'one'), (2, 'two')").unwrap();
        assert_eq!(texts(&mut c, "SELECT a, b FROM t ORDER BY a"), ["1|one", "2|two"]);
        c.batch_execute("UPDATE t SET b = 'zwei' WHERE a = 2; DELETE FROM t WHERE a = 1").unwrap();
        assert_eq!(show(&mut a, "SELECT b FROM t"), "zwei");
        // What is unique is so on all nodes, and what refers to a row of another node finds it.
        let error = b.batch_execute("INSERT INTO t VALUES (2, 'again')").unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::UNIQUE_VIOLATION), "{}", words(&error));
        assert!(words(&error).contains("Key (a)=(2) already exists."), "{}", words(&error));
        b.batch_execute("CREATE TABLE u (t int REFERENCES t ON DELETE CASCADE)").unwrap();
        c.batch_execute("INSERT INTO u VALUES (2)").unwrap();
        let error = a.batch_execute("INSERT INTO u VALUES (3)").unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::FOREIGN_KEY_VIOLATION), "{}", words(&error));
        a.batch_execute("DELETE FROM t").unwrap();
        assert_eq!(show(&mut b, "SELECT count(*) FROM u"), "0");
        // No number twice, whoever draws it.
        a.batch_execute("CREATE TABLE s (n bigserial PRIMARY KEY, node int)").unwrap();
        for round in 0..30 {
            let client = [&mut a, &mut b, &mut c].into_iter().nth(round % 3).unwrap();
            client.batch_execute(&format!("INSERT INTO s (node) VALUES ({})", round % 3)).unwrap();
        }
        assert_eq!(show(&mut c, "SELECT count(*), count(DISTINCT n) FROM s"), "30|30");
        // A plan that was cached before notices what another node has changed.
        let prepared = b.prepare("SELECT * FROM s WHERE node = 1").unwrap();
        assert_eq!(b.query(&prepared, &[]).unwrap().len(), 10);
        a.batch_execute("CREATE INDEX ON s (node); DROP TABLE u; ALTER TABLE t RENAME COLUMN b TO name").unwrap();
        assert_eq!(b.query(&prepared, &[]).unwrap().len(), 10);
        assert_eq!(show(&mut c, "SELECT count(name) FROM t"), "0");
        let error = b.batch_execute("SELECT * FROM u").unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::UNDEFINED_TABLE));
        // Databases and roles too.
        a.batch_execute("CREATE DATABASE shop").unwrap();
        assert_eq!(show(&mut c, "SELECT count(*) FROM pg_database WHERE datname = 'shop'"), "1");
        // What is of one session stays there, and what is of one node says so.
        a.batch_execute("CREATE TEMP TABLE mine (a int); INSERT INTO mine VALUES (1)").unwrap();
        b.batch_execute("CREATE TEMP TABLE mine (a text); INSERT INTO mine VALUES ('x'), ('y')").unwrap();
        assert_eq!(
            (show(&mut a, "SELECT a FROM mine"), show(&mut b, "SELECT count(*) FROM mine")),
            ("1".into(), "2".into())
        );
        let members = texts(&mut b, "SELECT node, is_self, state, connected FROM seriatim_cluster ORDER BY node");
        assert_eq!(members, ["0|f||t", "1|t|serving|", "2|f||t"]);
        // What each has on its disk is told to all, soon.
        while show(&mut b, "SELECT count(*) FROM seriatim_cluster WHERE on_disk > 0 AND disk_lag < 2048") != "3" {}
    }
}

#[test]
fn a_conflict_between_nodes_names_the_rule_and_the_key() {
    let nodes = Nodes::start("conflict", 3, &[]);
    let [mut a, mut b, mut c] = [0, 1, 2].map(|node| nodes.client(node));
    a.batch_execute("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 0), (2, 0)").unwrap();
    a.batch_execute("BEGIN; SELECT * FROM t WHERE a = 1").unwrap();
    b.batch_execute("UPDATE t SET b = 7 WHERE a = 1").unwrap();
    let ended = a.batch_execute("UPDATE t SET b = 8 WHERE a = 2").and_then(|()| a.batch_execute("COMMIT"));
    let error = ended.unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE), "{}", words(&error));
    let said = words(&error);
    assert!(said.contains("Rule key-changed") && said.contains("table \"t\"") && said.contains("(a)=(1)"), "{said}");
    a.batch_execute("ROLLBACK").unwrap();
    assert_eq!(texts(&mut c, "SELECT a, b FROM t ORDER BY a"), ["1|7", "2|0"]);
    assert_eq!(show(&mut a, "SELECT aborts > 0 FROM seriatim_cluster_aborts WHERE rule = 'key-changed'"), "t");
    // Two nodes that count the same rows both succeed: each statement is repeated by its server.
    let door = nodes.door();
    std::thread::scope(|scope| {
        for node in 0..3 {
            let door = &door;
            scope.spawn(move || {
                let mut client = door.try_client(node).unwrap();
                (0..10).for_each(|_| until_done(&mut client, "UPDATE t SET b = b + 1 WHERE a = 2"));
            });
        }
    });
    assert_eq!(show(&mut c, "SELECT b FROM t WHERE a = 2"), "30");
}

/// Clients that count acknowledged rows while nodes come and go.
struct Load {
    stop: Arc<AtomicBool>,
    acknowledged: Arc<Mutex<Vec<i64>>>,
    /// Rows acknowledged by each node.
    by_node: Arc<Vec<AtomicU64>>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Load {
    /// One client on each node. A row is inserted once: if its outcome is unknown, the next one has another number.
    fn start(door: &Door) -> Load {
        let (stop, acknowledged) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<i64>>>::default());
        let by_node = Arc::new((0..door.nodes).map(|_| AtomicU64::new(0)).collect::<Vec<_>>());
        let next = Arc::new(AtomicU64::new(0));
        let run = |node: usize| {
            let (door, stop, next) = (door.clone(), stop.clone(), next.clone());
            let (acknowledged, by_node) = (acknowledged.clone(), by_node.clone());
            move || {
                let mut client = None;
                while !stop.load(Ordering::SeqCst) {
                    let Some(session) = client.as_mut() else {
                        client = door.try_client(node).ok();
                        std::thread::yield_now();
                        continue;
                    };
                    let number = next.fetch_add(1, Ordering::SeqCst) as i64;
                    match postgres::Client::execute(
                        session,
                        "INSERT INTO counted VALUES ($1, $2)",
                        &[&number, &(node as i32)],
                    ) {
                        Ok(_) => {
                            acknowledged.lock().unwrap().push(number);
                            by_node[node].fetch_add(1, Ordering::SeqCst);
                        }
                        Err(error) if is_to_repeat(&error) => {}
                        Err(error) if error.as_db_error().is_some_and(|said| !said.severity().contains("FATAL")) => {
                            assert_eq!(error.code().map(SqlState::code), Some("08007"), "{}", words(&error));
                        }
                        Err(_) => client = None,
                    }
                }
            }
        };
        let threads = (0..door.nodes).map(|node| std::thread::spawn(run(node))).collect();
        Load { stop, acknowledged, by_node, threads }
    }

    /// Waits until each of these nodes has acknowledged so many rows more.
    fn await_rows(&self, nodes: &[usize], more: u64) {
        let before: Vec<u64> = nodes.iter().map(|node| self.by_node[*node].load(Ordering::SeqCst)).collect();
        for (node, before) in nodes.iter().zip(before) {
            while self.by_node[*node].load(Ordering::SeqCst) < before + more {
                assert!(self.threads.iter().all(|thread| !thread.is_finished()), "a client has failed");
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
    }

    fn end(self) -> Vec<i64> {
        self.stop.store(true, Ordering::SeqCst);
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
        self.acknowledged.lock().unwrap().clone()
    }
}

/// Everything acknowledged is on every node, once.
fn check_rows(nodes: &Nodes, acknowledged: &[i64]) {
    for node in 0..nodes.count() {
        let mut client = nodes.client(node);
        let rows = client.query("SELECT n FROM counted", &[]).unwrap();
        let rows: std::collections::HashSet<i64> = rows.iter().map(|row| row.get(0)).collect();
        let lost: Vec<_> = acknowledged.iter().filter(|number| !rows.contains(number)).collect();
        assert!(lost.is_empty(), "node {node} has lost {lost:?}");
    }
}

const OTHERS: [[usize; 2]; 3] = [[1, 2], [0, 2], [0, 1]];

#[test]
fn no_kill_of_a_node_takes_an_acknowledged_row_away() {
    let mut nodes = Nodes::start("kill", 3, &[]);
    nodes.client(0).batch_execute("CREATE TABLE counted (n bigint PRIMARY KEY, node int)").unwrap();
    let load = Load::start(&nodes.door());
    load.await_rows(&[0, 1, 2], 5);
    for (killed, others) in OTHERS.iter().enumerate() {
        nodes.kill(killed);
        load.await_rows(others, 5);
        nodes.revive(killed);
        load.await_rows(&[0, 1, 2], 5);
    }
    // SIGTERM ends in order, and the others go on.
    assert_eq!(nodes.stop(1), Some(0));
    load.await_rows(&[0, 2], 5);
    nodes.revive(1);
    load.await_rows(&[1], 5);
    // All at once: what was acknowledged is on the disks of a majority.
    (0..3).for_each(|node| nodes.kill(node));
    nodes.start_all();
    load.await_rows(&[0, 1, 2], 5);
    check_rows(&nodes, &load.end());
}

#[test]
fn a_node_that_has_lost_its_directory_gets_a_state_and_no_vote() {
    let mut nodes = Nodes::start("emptied", 3, &[]);
    let mut client = nodes.client(0);
    client.batch_execute("CREATE TABLE counted (n bigint PRIMARY KEY, node int)").unwrap();
    client
        .batch_execute("CREATE TABLE big AS SELECT g AS a, repeat('x', 500) AS b FROM generate_series(1, 4000) g")
        .unwrap();
    let load = Load::start(&nodes.door());
    load.await_rows(&[0, 1, 2], 5);
    nodes.kill(2);
    std::fs::remove_dir_all(nodes.data(2)).unwrap();
    load.await_rows(&[0, 1], 5);
    nodes.revive(2);
    nodes.process(2).says("comes back without its vote");
    load.await_rows(&[0, 1, 2], 5);
    let mut third = nodes.client(2);
    assert_eq!(show(&mut third, "SELECT count(*), sum(length(b)) FROM big"), "4000|2000000");
    assert_eq!(show(&mut third, "SELECT part FROM seriatim_cluster WHERE is_self"), "learner");
    // What it had said of its disk as a voter is not shown as that of the disk it has now.
    let shown = "SELECT connected, on_disk IS NULL, disk_lag IS NULL FROM seriatim_cluster WHERE node = 2";
    let (mut first, begun) = (nodes.client(0), Instant::now());
    // It is served as soon as one of the others knows it.
    while show(&mut first, shown) != "t|t|t" {
        assert!(begun.elapsed() < TIME_LIMIT, "{}", show(&mut first, shown));
    }
    // It stays so, and goes on from its own rows.
    drop(third);
    assert_eq!(nodes.stop(2), Some(0));
    nodes.revive(2);
    load.await_rows(&[0, 1, 2], 5);
    assert_eq!(show(&mut nodes.client(2), "SELECT part FROM seriatim_cluster WHERE is_self"), "learner");
    check_rows(&nodes, &load.end());
}

#[test]
fn a_node_that_stands_still_holds_nobody_up_and_answers_nothing_stale() {
    let mut nodes = Nodes::start("stopped", 3, &[]);
    nodes.client(0).batch_execute("CREATE TABLE counted (n bigint PRIMARY KEY, node int)").unwrap();
    let load = Load::start(&nodes.door());
    load.await_rows(&[0, 1, 2], 5);
    for (still, others) in OTHERS.iter().enumerate() {
        nodes.process(still).signal("STOP");
        load.await_rows(others, 20);
        nodes.process(still).signal("CONT");
        // Everything that others have acknowledged meanwhile is there.
        let acknowledged = load.acknowledged.lock().unwrap().clone();
        let mut client = loop {
            match nodes.try_client(still) {
                Ok(client) => break client,
                Err(error) => assert!(is_to_repeat(&error), "{}", words(&error)),
            }
        };
        let rows = loop {
            match client.query("SELECT n FROM counted", &[]) {
                Ok(rows) => break rows,
                Err(error) => assert!(is_to_repeat(&error), "{}", words(&error)),
            }
        };
        let rows: std::collections::HashSet<i64> = rows.iter().map(|row| row.get(0)).collect();
        assert!(acknowledged.iter().all(|number| rows.contains(number)), "a stale read at node {still}");
        load.await_rows(&[still], 5);
    }
    check_rows(&nodes, &load.end());
}

#[test]
fn a_node_that_is_added_under_load_gets_a_state_and_serves() {
    let mut nodes = Nodes::start("added", 3, &[]);
    let mut client = nodes.client(0);
    client.batch_execute("CREATE TABLE counted (n bigint PRIMARY KEY, node int)").unwrap();
    drop(client);
    let load = Load::start(&nodes.door());
    load.await_rows(&[0, 1, 2], 5);
    let added = nodes.add();
    // One restart after the other: two of three are always there.
    for (node, others) in OTHERS.iter().enumerate() {
        assert_eq!(nodes.stop(node), Some(0));
        load.await_rows(others, 5);
        nodes.revive(node);
        load.await_rows(&[node], 5);
    }
    nodes.revive(added);
    let mut fourth = nodes.client(added);
    assert_eq!(show(&mut fourth, "SELECT part FROM seriatim_cluster WHERE is_self"), "learner");
    until_done(&mut fourth, "INSERT INTO counted VALUES (-1, 3)");
    assert_eq!(show(&mut nodes.client(1), "SELECT count(*) FROM counted WHERE n = -1"), "1");
    assert_eq!(show(&mut nodes.client(2), "SELECT count(*) FROM seriatim_cluster"), "4");
    // It has no vote: the others are a majority without it, and it is none with one of them.
    nodes.kill(added);
    load.await_rows(&[0, 1, 2], 5);
    nodes.revive(added);
    check_rows(&nodes, &load.end());
}

#[test]
fn a_transaction_is_limited_by_its_bytes() {
    let nodes = Nodes::start("bytes", 3, &["--transaction-size", "256kB"]);
    let [mut a, mut b] = [0, 1].map(|node| nodes.client(node));
    a.batch_execute("CREATE TABLE t (a int, b text)").unwrap();
    let insert = |rows: u32| format!("INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, {rows}) g");
    let error = a.batch_execute(&insert(4000)).unwrap_err();
    assert_eq!(error.code().map(SqlState::code), Some("54000"), "{}", words(&error));
    a.batch_execute(&insert(1000)).unwrap();
    a.batch_execute("ALTER TABLE t ADD PRIMARY KEY (a)").unwrap();
    assert_eq!(show(&mut b, "SELECT count(*), count(DISTINCT a) FROM t"), "1000|1000");
    // A rewrite of the rows is written, as they are.
    for round in 1..3 {
        a.batch_execute(&format!("INSERT INTO t SELECT a + {round}000, b FROM t WHERE a <= 1000")).unwrap();
    }
    let error = a.batch_execute("ALTER TABLE t DROP CONSTRAINT t_pkey").unwrap_err();
    assert_eq!(error.code().map(SqlState::code), Some("54000"), "{}", words(&error));
    assert_eq!(show(&mut b, "SELECT count(*) FROM t WHERE a = 2500"), "1");
}

/// Adds rows of two kilobytes, a thousand at a time, until they are refused; the number of the first that was.
fn fill(client: &mut postgres::Client, mut first: u32) -> u32 {
    loop {
        let rows = format!("generate_series({first}, {}) i", first + 999);
        match client.batch_execute(&format!("INSERT INTO t SELECT i, repeat('x', 2000) FROM {rows}")) {
            Ok(()) => first += 1000,
            Err(error) => {
                assert_eq!(error.code().map(SqlState::code), Some("53200"), "{}", words(&error));
                return first;
            }
        }
    }
}

#[test]
fn clients_of_full_nodes_are_refused_and_no_node_stops() {
    let nodes = Nodes::start("full", 3, &["--memory", "48MB"]);
    let [mut a, mut b, mut c] = [0, 1, 2].map(|node| nodes.client(node));
    a.batch_execute("CREATE TABLE t (id int PRIMARY KEY, v text)").unwrap();
    let refused = fill(&mut a, 0);
    assert!(refused > 0, "there was room");
    // The nodes' memory is not the same to the byte, nor what is collected by then: another one may have room for some rows more.
    let full = fill(&mut c, refused);
    assert!(full - refused < refused / 2, "{full} rows fit where {refused} do");
    for reader in [&mut a, &mut b] {
        assert_eq!(show(reader, "SELECT count(*) FROM t"), full.to_string());
    }
    b.batch_execute("UPDATE t SET v = repeat('y', 2000) WHERE id = 0; DELETE FROM t WHERE id % 2 = 1").unwrap();
    // A node collects what was deleted somewhat later.
    while fill(&mut c, full) == full {}
    assert!(show(&mut a, "SELECT count(*) FROM t").parse::<u32>().unwrap() > full / 2);
}

/// The others are a majority, and go on: what the node that is cut off shows is what it had, and only to who has asked for it.
#[test]
fn a_node_that_is_cut_off_shows_old_rows_to_who_has_asked_for_them() {
    let mut nodes = Nodes::linked("stale", 3, &[]);
    nodes.start_all();
    nodes.client(0).batch_execute("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1)").unwrap();
    let mut lonely = nodes.client(2);
    assert_eq!(show(&mut lonely, "SHOW seriatim.read_staleness"), "0");
    assert_eq!(show(&mut lonely, "SELECT count(*) FROM t"), "1");
    nodes.links().cut(2, 0);
    nodes.links().cut(2, 1);
    until_done(&mut nodes.client(0), "INSERT INTO t VALUES (2)");
    let is_named = |error: postgres::Error| {
        assert_eq!(error.code(), Some(&SqlState::CANNOT_CONNECT_NOW), "{}", words(&error));
    };
    is_named(lonely.simple_query("SELECT count(*) FROM t").unwrap_err());
    lonely.batch_execute("SET seriatim.read_staleness = '1d'").unwrap();
    lonely.batch_execute("BEGIN READ ONLY").unwrap();
    assert_eq!(show(&mut lonely, "SELECT a FROM t"), "1");
    lonely.batch_execute("COMMIT").unwrap();
    lonely.batch_execute("BEGIN READ ONLY DEFERRABLE").unwrap();
    assert_eq!(show(&mut lonely, "SELECT a FROM t"), "1");
    lonely.batch_execute("COMMIT").unwrap();
    // Who may write reads what COMMIT confirms: not here.
    is_named(lonely.batch_execute("BEGIN READ WRITE; SELECT a FROM t; COMMIT").unwrap_err());
    lonely.batch_execute("ROLLBACK; RESET seriatim.read_staleness").unwrap();
    is_named(lonely.simple_query("SELECT count(*) FROM t").unwrap_err());
    nodes.links().heal();
    loop {
        match lonely.simple_query("SELECT count(*) FROM t") {
            Ok(_) => break,
            Err(error) => assert!(is_to_repeat(&error), "{}", words(&error)),
        }
    }
    assert_eq!(show(&mut lonely, "SELECT count(*) FROM t"), "2");
}

#[test]
fn settings_of_databases_and_roles_are_in_force_for_sessions_of_all_nodes() {
    let nodes = Nodes::start("settings", 3, &[]);
    let [mut a, mut b] = [0, 1].map(|node| nodes.client(node));
    let setting = |node: usize, name: &str| show(&mut nodes.client(node), &format!("SHOW {name}"));
    let before = setting(2, "work_mem");
    a.batch_execute("ALTER DATABASE postgres SET work_mem = '5MB'; ALTER ROLE postgres SET statement_timeout = '50s'")
        .unwrap();
    for node in 0..3 {
        assert_eq!((setting(node, "work_mem"), setting(node, "statement_timeout")), ("5MB".into(), "50s".into()));
    }
    // A role's comes after a database's, and one of both after a role's, whoever has set which.
    b.batch_execute("ALTER ROLE postgres SET work_mem = '6MB'").unwrap();
    assert_eq!(setting(2, "work_mem"), "6MB");
    assert_eq!(show(&mut a, "SHOW work_mem"), before, "a session keeps what it began with");
    b.batch_execute("ALTER ROLE postgres RESET ALL; ALTER DATABASE postgres RESET work_mem").unwrap();
    assert_eq!((setting(0, "work_mem"), setting(0, "statement_timeout")), (before, "0".into()));
}

/// A load on three nodes over an order beside them, and a table of so many rows that was made in one transaction. Any one node goes on
/// without the others, and they come back on their directories.
fn load_that_one_node_carries(nodes: &mut Nodes, rows: u32, order: &str) -> Load {
    let mut client = nodes.client(0);
    client.batch_execute("CREATE TABLE counted (n bigint PRIMARY KEY, node int)").unwrap();
    let big = format!("CREATE TABLE big AS SELECT g AS a, repeat('x', 500) AS b FROM generate_series(1, {rows}) g");
    client.batch_execute(&big).unwrap();
    check_big(nodes, 1, rows);
    assert_eq!(show(&mut nodes.client(2), "SELECT part FROM seriatim_cluster WHERE is_self"), order);
    drop(client);
    let load = Load::start(&nodes.door());
    load.await_rows(&[0, 1, 2], 5);
    nodes.kill(0);
    nodes.kill(1);
    load.await_rows(&[2], 5);
    nodes.revive(0);
    nodes.revive(1);
    load.await_rows(&[0, 1, 2], 5);
    load
}

/// A node has every row of that table.
fn check_big(nodes: &Nodes, node: usize, rows: u32) {
    let found = show(&mut nodes.client(node), "SELECT count(*), sum(length(b)) FROM big");
    assert_eq!(found, format!("{rows}|{}", rows * 500));
}

#[test]
fn a_cluster_on_etcd_needs_one_node_and_a_majority_of_members() {
    if !testing::has("etcd", "a cluster on etcd (Debian: etcd-server)") {
        return;
    }
    let mut members = Members::start(3, "http", &["--heartbeat-interval", "50", "--election-timeout", "500"]);
    let endpoints: Vec<String> = (0..3).map(|at| members.address(at)).collect();
    let mut nodes = Nodes::on_etcd("on-etcd", 3, &endpoints);
    nodes.start_all();
    let load = load_that_one_node_carries(&mut nodes, 2_000, "etcd");
    // A member is not missed, not even the leader.
    let leader = members.leader();
    members.kill(leader);
    load.await_rows(&[0, 1, 2], 5);
    members.start_again(leader);
    // A node without its directory, to which etcd does not give the begin any more, gets a state, and is as it was.
    nodes.kill(2);
    std::fs::remove_dir_all(nodes.data(2)).unwrap();
    load.await_rows(&[0, 1], 5);
    let status = members.ask((leader + 1) % 3, "kv/range", r#"{"key":"AA=="}"#).unwrap();
    let revision = Members::number(&status, "revision").unwrap();
    let compaction = format!(r#"{{"revision":"{revision}","physical":true}}"#);
    members.ask((leader + 1) % 3, "kv/compaction", &compaction).unwrap();
    nodes.revive(2);
    nodes.process(2).says("fetching the state of node");
    load.await_rows(&[0, 1, 2], 5);
    check_big(&nodes, 2, 2_000);
    check_rows(&nodes, &load.end());
    (0..3).for_each(|node| assert_eq!(nodes.stop(node), Some(0)));
}

/// What a cluster on Kafka must do. It is run by `make test-kafka`, which has brokers.
#[cfg(feature = "kafka")]
#[test]
fn a_cluster_on_kafka_needs_one_node_and_a_majority_of_brokers() {
    use testing::brokers::{self, Brokers, Listener, Setting};
    if !brokers::can_start() {
        return;
    }
    let listeners = vec![Listener { name: "NODES", protocol: "PLAINTEXT" }];
    let mut brokers = Brokers::new(3, Setting { listeners, ..Setting::default() });
    brokers.start();
    let addresses: Vec<String> = (0..3).map(|at| format!("127.0.0.1:{}", brokers.port(at, 0))).collect();
    let mut nodes = Nodes::on_kafka("on-kafka", 3, &addresses);
    nodes.start_all();
    // Longer than a record of Kafka: it is proposed in parts.
    let load = load_that_one_node_carries(&mut nodes, 4_000, "kafka");
    // A broker is not missed, whichever it is.
    for broker in 0..3 {
        brokers.kill(broker);
        load.await_rows(&[0, 1, 2], 5);
        brokers.start_again(broker);
        load.await_rows(&[0, 1, 2], 5);
    }
    // A node without its directory, for which Kafka does not keep the begin any more, gets a state, and is as it was.
    nodes.kill(2);
    std::fs::remove_dir_all(nodes.data(2)).unwrap();
    let mut client = nodes.client(0);
    for _ in 0..8 {
        until_done(&mut client, "INSERT INTO big SELECT -g, repeat('y', 500000) FROM generate_series(1, 20) g");
    }
    until_done(&mut client, "DELETE FROM big WHERE a < 0");
    nodes.revive(2);
    nodes.process(2).says("fetching the state of node");
    load.await_rows(&[0, 1, 2], 5);
    check_big(&nodes, 2, 4_000);
    check_rows(&nodes, &load.end());
    (0..3).for_each(|node| assert_eq!(nodes.stop(node), Some(0)));
}

/// Runs a node that does not start; the exit code and its words.
fn refused(command: &mut Command, why: &str) {
    Ran::of(command).refused(2, why);
}

#[test]
fn what_cannot_be_is_explained() {
    let mut nodes = Nodes::described("refusals", 3, &[]);
    let file = nodes.file();
    refused(&mut nodes.command(3, &nodes.data(3)), "has 3 nodes, from 0 on");
    refused(nodes.command(0, &nodes.data(0)).args(["--durability", "async"]), "no other durability");
    refused(nodes.command(0, &nodes.data(0)).args(["--engine", "twopl"]), "needs mvto or hyper");
    // Without a majority clients are told what is missing.
    nodes.spawn(0);
    nodes.process(0).says("missing: node 1");
    let error = match nodes.try_client(0) {
        Err(error) => error,
        Ok(_) => panic!("one node of three serves"),
    };
    let said = words(&error);
    assert!(said.contains("57P03 the database system is starting up") && said.contains("missing: node 1"), "{said}");
    assert_eq!(nodes.stop(0), Some(0), "it can be stopped while it waits");
    nodes.start_all();
    nodes.client(1).batch_execute("CREATE TABLE t (a int)").unwrap();
    // A directory that is in use, and an address.
    refused(&mut nodes.command(1, &nodes.data(1)), "cannot listen on");
    assert_eq!(nodes.stop(1), Some(0));
    // Another node's directory, another cluster's, another engine's, and one with other things in it.
    refused(&mut nodes.command(1, &nodes.data(2)), "belongs to node 2, not 1");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("name = \"refusals\"", "name = \"other\"")).unwrap();
    refused(&mut nodes.command(1, &nodes.data(1)), "cluster \"refusals\", not \"other\"");
    std::fs::write(&file, text.replace(":7401\"", ":7401\"\nvotes = true").replace("127.", "192.0.2.")).unwrap();
    refused(&mut nodes.command(1, &nodes.data(1)), "192.0.2.");
    // What a test may do with clocks, nobody may with a key.
    std::fs::write(&file, format!("key = \"key\"\n{text}")).unwrap();
    refused(nodes.command(1, &nodes.data(1)).args(["--test-clock", "-5:100"]), "none of a test");
    std::fs::write(&file, &text).unwrap();
    refused(nodes.command(1, &nodes.data(1)).args(["--test-clock", "5"]), "it must be SECONDS:PERCENT");
    refused(nodes.command(1, &nodes.data(1)).args(["--engine", "mvto"]), "engine is hyper, not mvto");
    let other = Directory::made("refusals-other");
    other.file("letter", "dear");
    refused(&mut nodes.command(1, other.path()), "not empty (letter)");
    // Beside the cluster nobody changes a node's rows.
    let mut shell = Command::new(env!("CARGO_BIN_EXE_seriatim"));
    shell.args(["sql", "-c", "SELECT 1", "--data"]).arg(nodes.data(1).join("database"));
    refused(&mut shell, "belongs to a node of a cluster");
    let mut server = Command::new(env!("CARGO_BIN_EXE_seriatim"));
    server.args(["serve", "--pg", "127.0.0.1:0", "--data"]).arg(nodes.data(1));
    refused(&mut server, "holds other files and no database");
    nodes.revive(1);
    assert_eq!(show(&mut nodes.client(1), "SELECT count(*) FROM t"), "0");
}

/// The first of so many free ports in a row, which the system gives to no client.
fn free_row(count: u16) -> u16 {
    let is_free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
    loop {
        let first = free_ports(1)[0];
        if (first..first + count).all(is_free) {
            return first;
        }
    }
}

#[test]
fn one_command_starts_and_stops_a_cluster() {
    let directory = Directory::made("cluster-command");
    let data = directory.join("cluster");
    // A port for the clients of each node, and two for the other nodes.
    let first = free_row(9);
    let [clients, others] = [first, first + 3].map(|port| port.to_string());
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seriatim"));
        command.args(["cluster", "3", "--port", &clients, "--cluster-port", &others, "--data"]).arg(&data);
        let mut cluster = Process::start(&mut command, "cluster".into());
        let lines = cluster.ready().expect("it is ready");
        (cluster, lines)
    };
    let port = |line: &str| line.split(' ').skip_while(|word| *word != "-p").nth(1).unwrap().parse::<u16>().unwrap();
    let connect = |line: &str| {
        let mut config = postgres::Config::new();
        config.host("127.0.0.1").port(port(line)).user("postgres").connect(postgres::NoTls).unwrap()
    };
    let (cluster, lines) = start();
    assert_eq!(lines.len(), 6, "{lines:?}");
    connect(&lines[0]).batch_execute("CREATE TABLE t (a int); INSERT INTO t VALUES (5)").unwrap();
    assert_eq!(show(&mut connect(&lines[4]), "SELECT a FROM t"), "5");
    // A node that was killed is started again by the command that was printed.
    let process = lines[2].split_whitespace().nth(3).unwrap();
    assert!(Command::new("kill").args(["-KILL", process]).status().unwrap().success());
    cluster.says("node 1 has ended");
    connect(&lines[0]).batch_execute("INSERT INTO t VALUES (6)").unwrap();
    let again = lines[3].trim_start().strip_prefix("again: ").unwrap();
    let mut again = Process::start(Command::new("sh").args(["-c", &format!("exec {again}")]), "again".into());
    assert!(again.ready().is_some());
    assert_eq!(show(&mut connect(&lines[2]), "SELECT sum(a) FROM t"), "11");
    again.signal("TERM");
    assert_eq!(again.end(), Some(0));
    cluster.signal("INT");
    assert_eq!(cluster.end(), Some(0));
    // It goes on where it was, and another number of nodes is refused.
    let mut other = Command::new(env!("CARGO_BIN_EXE_seriatim"));
    refused(other.args(["cluster", "5", "--data"]).arg(&data), "the cluster has 3 nodes");
    let (cluster, lines) = start();
    assert_eq!(show(&mut connect(&lines[0]), "SELECT sum(a) FROM t"), "11");
    cluster.signal("INT");
    assert_eq!(cluster.end(), Some(0));
    let _ = TcpListener::bind(("127.0.0.1", port(&lines[0]))).expect("its ports are free again");
}
