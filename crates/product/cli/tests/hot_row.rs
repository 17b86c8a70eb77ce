//! One row updated without pause beside everything that keeps old versions elsewhere: an idle transaction, checkpoints one after
//! the other, dumps.

mod server;

use server::Server;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use testing::Directory;

const UPDATES: u64 = 30_000;

/// A session that speaks the simple protocol.
struct Session(TcpStream);

impl Session {
    fn new(port: u16) -> Session {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.write_all(b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0").unwrap();
        let mut session = Session(stream);
        session.until_ready();
        session
    }

    fn query(&mut self, sql: &str) -> String {
        let length = u32::try_from(sql.len() + 5).unwrap().to_be_bytes();
        self.0.write_all(&[b"Q", &length[..], sql.as_bytes(), b"\0"].concat()).unwrap();
        self.until_ready()
    }

    fn until_ready(&mut self) -> String {
        let mut answer = Vec::new();
        loop {
            let mut header = [0; 5];
            self.0.read_exact(&mut header).unwrap();
            let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize - 4;
            let mut body = vec![0; length];
            self.0.read_exact(&mut body).unwrap();
            if header[0] == b'Z' {
                return String::from_utf8_lossy(&answer).into_owned();
            }
            answer.extend(body);
        }
    }
}

/// Returns whether the dump succeeded; true if there is no pg_dump.
fn dump(port: u16) -> bool {
    let mut command = Command::new("pg_dump");
    command.args(["-h", "127.0.0.1", "-U", "postgres", "-p", &port.to_string(), "postgres"]).stdout(Stdio::null());
    command.status().map_or(true, |status| status.success())
}

#[test]
fn a_hot_row_beside_an_idle_block_checkpoints_and_dumps() {
    let directory = Directory::new("hot-row");
    let server = Server::start(directory.path(), &["--durability", "async"]);
    let mut writer = Session::new(server.port);
    writer.query("create table t (id int primary key, v int, note text)");
    writer.query("insert into t select g, 0, repeat('x', 200) from generate_series(1, 20000) g");
    let mut idle = Session::new(server.port);
    let before = idle.query("begin; select 'v=' || v from t where id = 1");
    assert!(before.contains("v=0"), "{before}");

    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let checkpoints = scope.spawn(|| {
            let mut session = Session::new(server.port);
            while !done.load(Ordering::Relaxed) {
                let answer = session.query("checkpoint");
                assert!(answer.ends_with("CHECKPOINT\0"), "{answer}");
            }
        });
        let dumps = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert!(dump(server.port), "pg_dump failed");
            }
        });
        for number in 0..UPDATES {
            let answer = writer.query("update t set v = v + 1 where id = 1");
            if !answer.ends_with("UPDATE 1\0") {
                done.store(true, Ordering::Relaxed);
                panic!("update {number}: {answer}");
            }
        }
        done.store(true, Ordering::Relaxed);
        checkpoints.join().unwrap();
        dumps.join().unwrap();
    });

    assert!(idle.query("select 'v=' || v from t where id = 1; commit").contains("v=0"), "it reads what it read");
    assert!(idle.query("select 'v=' || v from t where id = 1").contains(&format!("v={UPDATES}")));
    assert!(directory.files("wal-").len() <= 3, "an idle block keeps no log: {:?}", directory.files("wal-"));
    assert_eq!(server.stop(), Some(0));
}
