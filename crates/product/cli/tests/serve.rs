//! `seriatim serve`, from the outside.

mod server;

use server::Server;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use testing::Directory;

/// Returns the answer to a query, up to ReadyForQuery. Works without psql, which may be missing.
fn query(server: &Server, sql: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.write_all(b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0").unwrap();
    until_ready(&mut stream);
    let length = u32::try_from(sql.len() + 5).unwrap().to_be_bytes();
    stream.write_all(&[b"Q", &length[..], sql.as_bytes(), b"\0"].concat()).unwrap();
    until_ready(&mut stream)
}

fn until_ready(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    loop {
        let mut header = [0; 5];
        stream.read_exact(&mut header).unwrap();
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize - 4;
        let mut body = vec![0; length];
        stream.read_exact(&mut body).unwrap();
        if header[0] == b'Z' {
            return String::from_utf8_lossy(&answer).into_owned();
        }
        answer.extend(body);
    }
}

/// The exit code and the words of a server that does not start.
fn refused(directory: &Directory, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seriatim"));
    let output = command.args(["serve", "--data"]).arg(directory.path()).args(arguments).output().unwrap();
    assert!(output.stdout.is_empty());
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn it_says_ready_serves_stops_and_finds_everything_again() {
    let directory = Directory::new("again");
    let server = Server::start(directory.path(), &[]);
    assert!(query(&server, "create table t (a int primary key)").contains("CREATE TABLE"));
    assert!(query(&server, "insert into t values (1), (2)").contains("INSERT 0 2"));
    let (code, error) = refused(&directory, &["--pg", "127.0.0.1:0"]);
    assert_eq!(code, Some(2));
    assert!(error.contains(directory.path().to_str().unwrap()) && error.contains("has this database open"), "{error}");
    assert_eq!(server.stop(), Some(0));
    let server = Server::start(directory.path(), &["--durability", "async"]);
    assert!(query(&server, "select count(*) as found from t").contains("\x012SELECT 1"));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn it_listens_on_a_name() {
    let directory = Directory::new("name");
    let mut server = Command::new(env!("CARGO_BIN_EXE_seriatim"));
    server.args(["serve", "--pg", "postgres://localhost:0", "--data"]).arg(directory.path());
    let mut server = server.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines().map_while(Result::ok);
    let greeting = lines.find(|line| line.contains(" serves "));
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(greeting.is_some_and(|greeting| greeting.contains(" on 127.0.0.1:")));
}

#[test]
fn checkpoint_writes_one() {
    let directory = Directory::new("checkpoint");
    let server = Server::start(directory.path(), &[]);
    query(&server, "create table t (a int primary key); insert into t select generate_series(1, 1000)");
    assert!(directory.files("CHECKPOINT").is_empty());
    assert!(query(&server, "checkpoint").contains("CHECKPOINT"));
    assert!(!directory.files("CHECKPOINT").is_empty());
    assert!(query(&server, "begin; checkpoint; commit").contains("COMMIT"), "in a block, as PostgreSQL does");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn the_other_engine_serves_from_memory() {
    let directory = Directory::new("memory");
    let server = Server::start(directory.path(), &["--engine", "twopl", "--durability", "none"]);
    assert!(query(&server, "create table t (a int)").contains("CREATE TABLE"));
    assert_eq!(server.stop(), Some(0));
    assert!(!directory.path().exists());
}

#[test]
fn what_it_cannot_do_it_says() {
    let directory = Directory::new("cannot");
    for (arguments, why) in [
        (&["--engine", "twopl"][..], "--durability none"),
        (&["--pg", "0.0.0.0:0"][..], "without passwords"),
        (&["--pg", "localhost:many"][..], "\"many\" is not a port"),
        (&["--pg", "no.such.host.invalid:0"][..], "cannot look up no.such.host.invalid:0"),
        (&["--work-mem", "much"][..], "not a size"),
        (&["--idle-in-transaction-timeout", "soon"][..], "not a time"),
    ] {
        let (code, error) = refused(&directory, arguments);
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains(why), "{error}");
    }
}

/// A terminal that closes, or an administrator's "reload".
#[test]
fn a_hangup_does_not_end_it() {
    let directory = Directory::new("hangup");
    let server = Server::start(directory.path(), &["--durability", "async"]);
    assert!(query(&server, "create table t (a int)").contains("CREATE TABLE"));
    server.signal("HUP");
    // The signal has arrived when the server says so; whether it lives on is seen after that.
    server.says("SIGHUP is ignored");
    assert!(query(&server, "insert into t values (1)").contains("INSERT 0 1"));
    assert_eq!(server.stop(), Some(0));
}

/// The next one may come before the one that was killed is gone.
#[test]
fn a_start_after_a_kill_waits_for_the_lock() {
    let directory = Directory::new("handover");
    let mut server = Server::start(directory.path(), &[]);
    assert!(query(&server, "create table t (a int)").contains("CREATE TABLE"));
    for _ in 0..3 {
        let killer = server.killer();
        killer();
        let next = Server::start(directory.path(), &[]);
        assert!(query(&next, "select count(*) from t").contains("SELECT 1"));
        std::mem::replace(&mut server, next).wait();
    }
    assert_eq!(server.stop(), Some(0));
}
