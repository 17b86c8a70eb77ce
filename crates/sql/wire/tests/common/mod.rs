//! A server for tests, and a client that sends bytes and shows the answers in one line.
#![allow(dead_code)]

pub mod gate;

use seriatim_wire::{Options, Server};
use sql::database::{Database, Options as Limits};
use sql::store::{Engine, Store};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// No answer takes that long: a test that waits for one that never comes ends here.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server of a fresh database in memory. It stops when it is dropped.
pub struct Running {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// A server with the usual limits.
pub fn start() -> Running {
    start_with(Limits::default())
}

/// A server with these limits.
pub fn start_with(limits: Limits) -> Running {
    serve(limits, |_| {})
}

/// For a server that stops: its sessions have time for their last words, also on a busy machine.
pub fn slow_to_stop(options: &mut Options) {
    options.stop_timeout = Duration::from_secs(3);
}

/// A server with other options.
pub fn start_with_options(change: impl FnOnce(&mut Options)) -> Running {
    serve(Limits::default(), change)
}

fn serve(limits: Limits, change: impl FnOnce(&mut Options)) -> Running {
    serve_store(store(), limits, change)
}

/// A fresh engine in memory, the one that tests run on which name none: `ENGINE=mvto`, `twopl` or `hyper`.
pub fn store() -> Arc<dyn Store> {
    match testing::Engine::of_tests() {
        testing::Engine::Mvto => Arc::new(Engine(Arc::new(mvto::Mvto::in_memory(mvto::Options::default()).unwrap()))),
        testing::Engine::Twopl => Arc::new(Engine(Arc::new(twopl::TwoPhaseLocking::new(twopl::Options::default())))),
        testing::Engine::Hyper => Arc::new(Engine(Arc::new(hyper::Hyper::new(hyper::Options::default())))),
    }
}

fn serve_store(store: Arc<dyn Store>, limits: Limits, change: impl FnOnce(&mut Options)) -> Running {
    let database = Database::open(store, limits).unwrap();
    let mut options = Options {
        address: SocketAddr::from(([127, 0, 0, 1], 0)),
        stop_timeout: Duration::from_millis(500),
        keep_threads: Duration::from_secs(1),
        ..Options::default()
    };
    change(&mut options);
    let server = Server::bind(database, options).unwrap();
    let (stop, stopped) = oneshot::channel();
    let address = server.address();
    let thread = std::thread::spawn(move || {
        server.run(async {
            // A sender that was dropped means the same.
            let _ = stopped.await;
        });
    });
    Running { address, stop: Some(stop), thread: Some(thread) }
}

/// A connection to this address that has sent nothing yet.
pub fn stranger(address: SocketAddr) -> Client {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    Client { stream, key: (0, 0) }
}

impl Running {
    /// A session of `postgres`.
    pub fn client(&self) -> Client {
        let mut client = self.stranger();
        client.send(&startup(3 << 16, &[("user", "postgres")]));
        assert!(client.answer().ends_with("Z[I]"));
        client
    }

    /// A connection that has sent nothing yet.
    pub fn stranger(&self) -> Client {
        stranger(self.address)
    }

    /// Sends a cancel request.
    pub fn cancel(&self, (process, secret): (u32, u32)) {
        let body = [80_877_102, process, secret].iter().flat_map(|number| number.to_be_bytes()).collect();
        let mut stranger = self.stranger();
        stranger.send(&with_length(body));
        assert_eq!(stranger.answer(), "end");
    }

    /// Asks the server to stop.
    pub fn ask_to_stop(&mut self) {
        self.stop = None;
    }

    /// Waits until it has.
    pub fn join(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A test that fails already must not abort.
            let _ = thread.join();
        }
    }
}

/// A connection.
pub struct Client {
    pub stream: TcpStream,
    /// Process and secret key of a cancel request.
    pub key: (u32, u32),
}

impl Client {
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Says that nothing more will come.
    pub fn finish(&mut self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    /// One byte.
    pub fn byte(&mut self) -> u8 {
        let mut byte = [0];
        self.stream.read_exact(&mut byte).unwrap();
        byte[0]
    }

    /// The next message.
    pub fn message(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut header = [0; 5];
        self.stream.read_exact(&mut header)?;
        let [kind, length @ ..] = header;
        let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
        self.stream.read_exact(&mut body)?;
        Ok((kind, body))
    }

    /// Everything until the next ReadyForQuery, CopyInResponse, or the end of the connection; in one line, without parameter
    /// status.
    pub fn answer(&mut self) -> String {
        let mut shown = Vec::new();
        loop {
            let Ok((kind, body)) = self.message() else {
                shown.push("end".into());
                break;
            };
            if kind == b'K' {
                let number = |at: usize| u32::from_be_bytes(body[at..at + 4].try_into().unwrap());
                self.key = (number(0), number(4));
            } else if kind != b'S' {
                shown.push(show(kind, &body));
            }
            if kind == b'Z' || kind == b'G' {
                break;
            }
        }
        shown.join(" ")
    }

    /// Sends messages and gives the answer.
    pub fn ask(&mut self, messages: &[Vec<u8>]) -> String {
        self.send(&messages.concat());
        self.answer()
    }

    /// Sends a simple query and gives the answer.
    pub fn query(&mut self, sql: &str) -> String {
        self.ask(&[query(sql)])
    }
}

/// A message in one line.
pub fn show(kind: u8, body: &[u8]) -> String {
    let letter = char::from(kind);
    let mut body = Reader(body);
    let inside = match kind {
        b'C' => body.text(),
        b'Z' => char::from(body.0[0]).to_string(),
        b'E' | b'N' => {
            let mut parts = Vec::new();
            while body.0[0] != 0 {
                let field = body.take(1)[0];
                let text = body.text();
                if b"SCM".contains(&field) {
                    parts.push(text);
                }
            }
            parts.join(" ")
        }
        b'T' => {
            let fields = (0..body.u16()).map(|_| {
                let name = body.text();
                body.take(6);
                let oid = body.u32();
                body.take(6);
                format!("{name}:{oid}:{}", body.u16())
            });
            fields.collect::<Vec<_>>().join(",")
        }
        b'D' => {
            let values = (0..body.u16()).map(|_| match body.u32() {
                u32::MAX => "NULL".into(),
                length => body.take(length as usize).escape_ascii().to_string(),
            });
            values.collect::<Vec<_>>().join(",")
        }
        b't' => (0..body.u16()).map(|_| body.u32().to_string()).collect::<Vec<_>>().join(","),
        b'G' | b'H' => format!("{}:{}", body.take(1)[0], body.u16()),
        b'd' => body.0.escape_ascii().to_string(),
        b'v' => format!("{}:{}", body.u32(), body.u32()),
        _ => return letter.into(),
    };
    format!("{letter}[{inside}]")
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(bytes);
        self.0 = rest;
        taken
    }

    fn text(&mut self) -> String {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap();
        let text = self.take(end);
        // Other encodings are shown as values are.
        let text = std::str::from_utf8(text).map_or_else(|_| text.escape_ascii().to_string(), str::to_owned);
        self.take(1);
        text
    }

    fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.take(2).try_into().unwrap())
    }

    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take(4).try_into().unwrap())
    }
}

/// A start-up packet.
pub fn startup(version: u32, parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = version.to_be_bytes().to_vec();
    for (name, value) in parameters {
        body.extend_from_slice(format!("{name}\0{value}\0").as_bytes());
    }
    body.push(0);
    with_length(body)
}

/// A packet of the time before there are types.
pub fn with_length(body: Vec<u8>) -> Vec<u8> {
    let mut packet = (body.len() as u32 + 4).to_be_bytes().to_vec();
    packet.extend(body);
    packet
}

pub fn message(kind: u8, body: impl Into<Vec<u8>>) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend(with_length(body.into()));
    message
}

pub fn query(sql: &str) -> Vec<u8> {
    message(b'Q', format!("{sql}\0"))
}

pub fn parse(name: &str, sql: &str, types: &[u32]) -> Vec<u8> {
    let mut body = format!("{name}\0{sql}\0").into_bytes();
    body.extend((types.len() as u16).to_be_bytes());
    types.iter().for_each(|oid| body.extend(oid.to_be_bytes()));
    message(b'P', body)
}

/// A Bind with values as text.
pub fn bind(portal: &str, statement: &str, values: &[Option<&str>], results: &[u16]) -> Vec<u8> {
    let values: Vec<_> = values.iter().map(|value| value.map(str::as_bytes)).collect();
    bind_as(portal, statement, &[], &values, results)
}

pub fn bind_as(portal: &str, statement: &str, formats: &[u16], values: &[Option<&[u8]>], results: &[u16]) -> Vec<u8> {
    let mut body = format!("{portal}\0{statement}\0").into_bytes();
    body.extend((formats.len() as u16).to_be_bytes());
    formats.iter().for_each(|format| body.extend(format.to_be_bytes()));
    body.extend((values.len() as u16).to_be_bytes());
    for value in values {
        match value {
            Some(value) => {
                body.extend((value.len() as u32).to_be_bytes());
                body.extend_from_slice(value);
            }
            None => body.extend(u32::MAX.to_be_bytes()),
        }
    }
    body.extend((results.len() as u16).to_be_bytes());
    results.iter().for_each(|format| body.extend(format.to_be_bytes()));
    message(b'B', body)
}

/// Describe of a statement (`S`) or portal (`P`).
pub fn describe(what: u8, name: &str) -> Vec<u8> {
    message(b'D', [&[what], name.as_bytes(), b"\0"].concat())
}

/// Close of a statement (`S`) or portal (`P`).
pub fn close(what: u8, name: &str) -> Vec<u8> {
    message(b'C', [&[what], name.as_bytes(), b"\0"].concat())
}

pub fn execute(portal: &str, max_rows: u32) -> Vec<u8> {
    message(b'E', [portal.as_bytes(), b"\0", &max_rows.to_be_bytes()].concat())
}

pub fn sync() -> Vec<u8> {
    message(b'S', [])
}
