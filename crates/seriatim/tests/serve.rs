//! `seriatim serve`, from the outside.
#![cfg(feature = "server")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

fn serve(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seriatim"));
    command.arg("serve").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A directory that goes with the test.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("seriatim-serve-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Directory(path)
    }

    fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server that is ready.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(arguments: &[&str]) -> Server {
        let mut process = serve(arguments).args(["--pg", "127.0.0.1:0"]).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n");
        let mut banner = String::new();
        BufReader::new(process.stderr.as_mut().unwrap()).read_line(&mut banner).unwrap();
        let address = banner.trim_end().rsplit(' ').next().unwrap().to_owned();
        Server { process, address }
    }

    /// What a query is answered with, until the server is ready for the next.
    fn query(&self, sql: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0").unwrap();
        until_ready(&mut stream);
        let length = u32::try_from(sql.len() + 5).unwrap().to_be_bytes();
        stream.write_all(&[b"Q", &length[..], sql.as_bytes(), b"\0"].concat()).unwrap();
        until_ready(&mut stream)
    }

    /// Asks it to stop; its exit code.
    fn stop(&mut self) -> Option<i32> {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        self.process.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended, unless the test has failed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
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

fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let output = serve(arguments).output().unwrap();
    assert!(output.stdout.is_empty());
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn it_says_ready_serves_stops_and_finds_everything_again() {
    let directory = Directory::new("again");
    let mut server = Server::start(&["--data", directory.name()]);
    assert!(server.query("create table t (a int primary key)").contains("CREATE TABLE"));
    assert!(server.query("insert into t values (1), (2)").contains("INSERT 0 2"));
    let (code, error) = refused(&["--data", directory.name(), "--pg", "127.0.0.1:0"]);
    assert_eq!(code, Some(2));
    assert!(error.contains(directory.name()) && error.contains("another process"), "{error}");
    assert_eq!(server.stop(), Some(0));
    let mut server = Server::start(&["--data", directory.name(), "--durability", "async"]);
    assert!(server.query("select count(*) as found from t").contains("\x012SELECT 1"));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn the_other_engine_serves_from_memory() {
    let directory = Directory::new("memory");
    let mut server = Server::start(&["--data", directory.name(), "--engine", "twopl", "--durability", "none"]);
    assert!(server.query("create table t (a int)").contains("CREATE TABLE"));
    assert_eq!(server.stop(), Some(0));
    assert!(!Path::new(directory.name()).exists());
}

#[test]
fn what_it_cannot_do_it_says() {
    let directory = Directory::new("cannot");
    for (arguments, why) in [
        (&["--engine", "twopl"][..], "--durability none"),
        (&["--pg", "0.0.0.0:0"][..], "without passwords"),
        (&["--work-mem", "much"][..], "not a size"),
        (&["--idle-in-transaction-timeout", "soon"][..], "not a time"),
    ] {
        let (code, error) = refused(&[&["--data", directory.name()], arguments].concat());
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains(why), "{error}");
    }
}
