//! Clients that misbehave, arrive in large numbers or die: all other clients are served, and no data is lost.

mod server;

use server::{Server, psql};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;
use testing::{Directory, text};

/// No answer takes that long: a test that waits for one that never comes ends here.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// A connection that speaks bytes.
struct Client {
    stream: TcpStream,
}

impl Client {
    fn connect(server: &Server) -> Client {
        let mut client = Client::stranger(server.port);
        client.send(&packet(b"\0\x03\0\0user\0postgres\0\0"));
        let greeting = client.answer();
        assert!(greeting.ends_with('I'), "{greeting}");
        client
    }

    fn stranger(port: u16) -> Client {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(TIME_LIMIT)).unwrap();
        stream.set_write_timeout(Some(TIME_LIMIT)).unwrap();
        Client { stream }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Reads until the server waits for input: error codes, command tags, values, `G` for COPY, the status, or `end`.
    fn answer(&mut self) -> String {
        let mut shown = Vec::new();
        loop {
            let mut header = [0; 5];
            if self.stream.read_exact(&mut header).is_err() {
                shown.push("end".to_owned());
                break;
            }
            let [kind, length @ ..] = header;
            let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
            self.stream.read_exact(&mut body).unwrap();
            match kind {
                b'E' => {
                    shown.extend(body.split(|&byte| byte == 0).find_map(|field| Some(text(field.strip_prefix(b"C")?))))
                }
                b'C' => shown.push(text(&body[..body.len() - 1])),
                b'D' => shown.push(text(&body[6..])),
                b'G' => shown.push("G".into()),
                b'Z' => shown.push(text(&body)),
                _ => {}
            }
            if kind == b'Z' || kind == b'G' {
                break;
            }
        }
        shown.join(" ")
    }

    fn query(&mut self, sql: &str) -> String {
        self.send(&query(sql));
        self.answer()
    }
}

fn packet(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &packet(body)].concat()
}

fn query(sql: &str) -> Vec<u8> {
    message(b'Q', &[sql.as_bytes(), b"\0"].concat())
}

/// Parse, Bind and Execute of so many rows, without Sync.
fn extended(sql: &str, rows: u32) -> Vec<u8> {
    let parse = message(b'P', &[b"\0", sql.as_bytes(), b"\0\0\0"].concat());
    let bind = message(b'B', b"\0\0\0\0\0\0\0\0");
    [parse, bind, message(b'E', &[&b"\0"[..], &rows.to_be_bytes()].concat())].concat()
}

/// The sessions besides the one that counts them; `None` while there are too many for it.
fn active(server: &Server) -> Option<usize> {
    let output = server.psql(&["-c", "select count(*) from pg_stat_activity"]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() || err.contains("too many clients"), "{err}");
    output.status.success().then(|| out.trim_end().parse::<usize>().unwrap() - 1)
}

/// Waits until all sessions but those that the test holds are gone.
fn until_alone(server: &Server, held: usize) {
    while active(server).is_none_or(|active| active > held) {
        std::thread::yield_now();
    }
}

#[test]
fn two_hundred_clients_at_once_and_one_too_many() {
    let directory = Directory::made("crowd");
    let server = Server::start(&directory.join("data"), &["--durability", "async", "--max-connections", "200"]);
    let mut clients: Vec<Client> = (0..200).map(|_| Client::connect(&server)).collect();
    assert_eq!(clients[0].query("create table t (a int primary key, b int)"), "CREATE TABLE I");
    let mut late = Client::stranger(server.port);
    late.send(&packet(b"\0\x03\0\0user\0postgres\0\0"));
    assert_eq!(late.answer(), "53300 end");
    // All are in a transaction at the same time.
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(&query(&format!("begin; insert into t values ({number}, 0)")));
    }
    for client in &mut clients {
        assert_eq!(client.answer(), "BEGIN INSERT 0 1 T");
    }
    for client in &mut clients {
        client.send(&query("commit"));
    }
    for client in &mut clients {
        assert_eq!(client.answer(), "COMMIT I");
    }
    drop(clients);
    until_alone(&server, 0);
    // Many come and go; each in its own way.
    for number in 0..1_000 {
        match number % 3 {
            0 => drop(Client::stranger(server.port)),
            1 => Client::connect(&server).send(&query("select repeat('x', 100000)")),
            _ => Client::connect(&server).send(b"X\0\0\0\x04"),
        }
    }
    until_alone(&server, 0);
    assert_eq!(server.show("select count(*), sum(a) from t"), "200|19900");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn statements_at_the_limit_and_far_beyond_it() {
    let directory = Directory::made("long");
    let server = Server::start(&directory.join("data"), &["--durability", "async", "--statement-size", "4MB"]);
    let mut client = Client::connect(&server);
    let sized = |bytes: usize| format!("select length('{}')", "x".repeat(bytes - 17));
    assert_eq!(client.query(&sized(4 << 20)), format!("{} SELECT 1 I", (4 << 20) - 17));
    assert_eq!(client.query(&sized((4 << 20) + 1)), "54000 I");
    assert_eq!(client.query("begin"), "BEGIN T");
    // 100 MB, in a message that is never kept.
    client.send(&[b"Q", &(100_000_004_u32).to_be_bytes()[..]].concat());
    let piece = vec![b' '; 1_000_000];
    (0..100).for_each(|_| client.send(&piece));
    assert_eq!(client.answer(), "54000 E");
    assert_eq!(client.query("rollback"), "ROLLBACK I");
    assert_eq!(client.query("select 1"), "1 SELECT 1 I");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_client_that_dies_in_any_state_frees_what_it_held() {
    let directory = Directory::made("deaths");
    let server = Server::start(&directory.join("data"), &["--durability", "async"]);
    let mut other = Client::connect(&server);
    assert_eq!(
        other.query("create table t (a int primary key, b int); insert into t values (1, 0)"),
        "CREATE TABLE INSERT 0 1 I"
    );
    let hold = "begin; update t set b = b + 1 where a = 1";
    let states: Vec<(&str, Vec<u8>)> = vec![
        ("in a transaction", vec![]),
        ("amidst a message", b"Q\0\0\x01\0select".to_vec()),
        ("while rows stream", query("select repeat('x', 1000) from generate_series(1, 100000)")),
        ("with answers unread", query("select repeat('x', 1000) from generate_series(1, 20)")),
        ("in COPY", [query("copy t from stdin"), message(b'd', b"7\t7\n8\t")].concat()),
        ("amidst COPY data", [query("copy t from stdin"), b"d\0\0\x10\x009\t9\n".to_vec()].concat()),
        ("before Sync", extended("update t set b = b + 1", 0)),
        ("with a suspended portal", [extended("select * from generate_series(1, 10)", 2), message(b'H', b"")].concat()),
        ("after an error", extended("selec", 0)),
    ];
    for (state, bytes) in &states {
        let mut dying = Client::connect(&server);
        assert_eq!(dying.query(hold), "BEGIN UPDATE 1 T", "{state}");
        dying.send(bytes);
        // Somebody waits for the row before the client dies, and gets it.
        other.send(&query("update t set b = 100 where a = 1"));
        drop(dying);
        assert_eq!(other.answer(), "UPDATE 1 I", "{state}");
        assert_eq!(
            other.query("update t set b = 0 where a = 1; select count(*) from t"),
            "UPDATE 1 1 SELECT 1 I",
            "{state}"
        );
    }
    // A client that dies while it waits for a row does not get the row.
    let mut holder = Client::connect(&server);
    assert_eq!(holder.query(hold), "BEGIN UPDATE 1 T");
    let mut waiting = Client::connect(&server);
    waiting.send(&query("begin; update t set b = 1000 where a = 1"));
    drop(waiting);
    assert_eq!(holder.query("commit"), "COMMIT I");
    until_alone(&server, 2);
    assert_eq!(other.query("select b from t"), "1 SELECT 1 I");
    // Half a greeting.
    let mut half = Client::stranger(server.port);
    half.send(b"\0\0\x01\0\0\x03");
    half.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(half.answer(), "end");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn who_idles_in_a_transaction_loses_it() {
    let directory = Directory::made("idle");
    let server = Server::start(&directory.join("data"), &["--durability", "async"]);
    let (mut idle, mut other) = (Client::connect(&server), Client::connect(&server));
    assert_eq!(
        other.query("create table t (a int primary key); insert into t values (1)"),
        "CREATE TABLE INSERT 0 1 I"
    );
    assert_eq!(idle.query("set idle_in_transaction_session_timeout = '100ms'"), "SET I");
    assert_eq!(idle.query("begin; update t set a = 2"), "BEGIN UPDATE 1 T");
    assert_eq!(other.query("update t set a = 3"), "UPDATE 1 I");
    assert_eq!(idle.answer(), "25P03 end");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_server_that_is_asked_to_stop_stops_whatever_clients_do() {
    let directory = Directory::made("stopping");
    let server = Server::start(&directory.join("data"), &[]);
    let [mut holder, mut waiting, mut copying, mut running, mut idle] = [(); 5].map(|()| Client::connect(&server));
    assert_eq!(
        idle.query("create table t (a int primary key, b int); insert into t values (1, 0)"),
        "CREATE TABLE INSERT 0 1 I"
    );
    assert_eq!(holder.query("begin; update t set b = 1"), "BEGIN UPDATE 1 T");
    waiting.send(&query("update t set b = 2"));
    assert_eq!(copying.query("copy t from stdin"), "G");
    copying.send(&message(b'd', b"5\t5\n"));
    running.send(&query("select count(*) from generate_series(1, 100000) a, generate_series(1, 100000) b"));
    let port = server.port;
    assert_eq!(server.stop(), Some(0));
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    let server = Server::start(&directory.join("data"), &[]);
    // The waiting statement got the row when its holder was gone, or was cancelled: perhaps after its COMMIT, before it was durable.
    let left = server.show("select a, b from t");
    let answer = waiting.answer();
    assert!(left == "1|2" || left == "1|0" && !answer.starts_with("UPDATE 1"), "{left} after {answer}");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn errors_have_their_codes_and_the_session_lives() {
    let directory = Directory::made("errors");
    let server = Server::start(&directory.join("data"), &["--durability", "async", "--work-mem", "8MB"]);
    let mut client = Client::connect(&server);
    let list = |count: usize, what: &str| vec![what; count].join(", ");
    let columns = |count: usize| (0..count).map(|at| format!("c{at} int")).collect::<Vec<_>>().join(", ");
    let cases: &[(String, &str)] = &[
        ("select 'x'::int".into(), "22P02 I"),
        ("select nope".into(), "42703 I"),
        ("select nope()".into(), "42883 I"),
        ("select * from nope".into(), "42P01 I"),
        ("select 1 / 0".into(), "22012 I"),
        ("select 9223372036854775807 + 1".into(), "22003 I"),
        ("select chr(0)".into(), "54000 I"),
        (format!("create table wide ({})", columns(1601)), "54011 I"),
        (format!("create table wide ({})", columns(1600)), "CREATE TABLE I"),
        (format!("select 5 in ({}, 5)", list(10_000, "1")), "t SELECT 1 I"),
        (format!("select {}1", "- ".repeat(100_000)), "54001 I"),
        (format!("{}select 1", "explain ".repeat(1_000)), "42601 I"),
        (format!("select {}1{}", "array[".repeat(1_000), "]".repeat(1_000)), "54000 I"),
        (format!("select {}1{}", "array[".repeat(100_000), "]".repeat(100_000)), "54001 I"),
        ("select rank() over (order by random())".into(), "1 SELECT 1 I"),
        ("with recursive r (n) as (select 1 union all select n + 1 from r) select max(n) from r".into(), "53200 I"),
        ("select 1".into(), "1 SELECT 1 I"),
    ];
    for (sql, answer) in cases {
        assert_eq!(&client.query(sql), answer, "{}", &sql[..sql.len().min(100)]);
    }
    client.send(&message(b'Q', b"select '\xff'\0"));
    assert_eq!(client.answer(), "22021 I");
    let nested: String = (0..1_000).map(|at| format!("savepoint s{at};")).collect();
    assert!(client.query(&format!("begin; {nested} select 'deep'; rollback to s5; rollback")).ends_with("ROLLBACK I"));
    let many = client.query(&"select 1;".repeat(2_000));
    assert_eq!(many.matches("SELECT 1").count(), 2_000);
    let mut psql = psql(server.port);
    assert!(psql.args(["-c", "select 1"]).output().unwrap().status.success());
    assert_eq!(server.stop(), Some(0));
}

/// A file system of its own, which can be full.
struct SmallDisk(Directory);

impl SmallDisk {
    /// `None`, where nobody may mount one: only root may.
    fn new(name: &str, megabytes: u32) -> Option<SmallDisk> {
        let disk = SmallDisk(Directory::made(name));
        disk.mount(&format!("size={megabytes}m")).then_some(disk)
    }

    fn mount(&self, options: &str) -> bool {
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(self.0.path());
        mount.output().is_ok_and(|output| output.status.success())
    }

    /// Somebody makes room.
    fn grow(&self, megabytes: u32) {
        assert!(self.mount(&format!("remount,size={megabytes}m")));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.0.path()).output();
    }
}

#[test]
fn a_full_disk_is_a_clean_refusal_and_takes_nothing() {
    let Some(disk) = SmallDisk::new("full", 600) else {
        eprintln!("skipped: a full disk, since only root may mount one");
        return;
    };
    let data = disk.0.join("data");
    let server = Server::start(&data, &[]);
    server.show("CREATE TABLE t (a int PRIMARY KEY, b text)");
    let mut kept = 0;
    let refusal = loop {
        let insert =
            format!("INSERT INTO t SELECT x, repeat('x', 1000000) FROM generate_series({}, {}) x", kept + 1, kept + 20);
        let output = server.psql(&["-v", "VERBOSITY=verbose", "-c", &insert]);
        if !output.status.success() {
            break text(&output.stderr);
        }
        kept += 20;
        assert!(kept < 1000, "the disk has 600 MB");
    };
    assert!(refusal.contains("53100") && refusal.contains("nothing was changed"), "{refusal}");
    let count = "SELECT count(*), min(length(b)) FROM t";
    assert_eq!(server.show(count), format!("{kept}|1000000"), "reads go on, and the refused insert left nothing");
    server.kill();
    // Somebody else takes what is left, which a segment might fit into.
    let mut filler = std::fs::File::create(disk.0.join("filler")).unwrap();
    while filler.write_all(&[0; 1 << 16]).is_ok() {}
    // A start on the full disk, after a kill and after a stop: what was acknowledged can be read.
    let insert = ["-v", "VERBOSITY=verbose", "-c", "INSERT INTO t VALUES (0, 'more')"];
    for _ in 0..2 {
        let server = Server::start(&data, &[]);
        let line = server.says("READ ONLY until there is space");
        assert!(line.contains("53100"), "{line}");
        assert_eq!(server.show(count), format!("{kept}|1000000"), "what was acknowledged is there");
        let refusal = text(&server.psql(&insert).stderr);
        assert!(refusal.contains("53100") && refusal.contains("nothing was changed"), "{refusal}");
        assert_eq!(server.stop(), Some(0));
    }
    // Somebody makes room, and the server goes on without a restart.
    let server = Server::start(&data, &[]);
    assert_eq!(text(&server.psql(&insert).stdout), "");
    disk.grow(1200);
    server.show("INSERT INTO t VALUES (0, 'more')");
    server.kill();
    let server = Server::start(&data, &[]);
    server.says("recovered in");
    assert_eq!(server.show("SELECT count(*) FROM t"), format!("{}", kept + 1));
    assert_eq!(server.stop(), Some(0));
}
