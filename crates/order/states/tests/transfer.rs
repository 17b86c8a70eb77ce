//! States of several sizes between ends that are well, slow, silent, strange or gone.

use bytes::Bytes;
use net::auth::SharedKey;
use seriatim_states::{FetchError, Holder, Incoming, Limits, Member, PIECE_BYTES, Server, Source, fetch};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use total::Position;

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

const AT: Position = Position { instance: 7, index: 1 };

fn member(node: u64) -> Member {
    Member { cluster: "test".into(), node, format: 1 }
}

fn key(byte: u8) -> Option<SharedKey> {
    Some(SharedKey::from_bytes(&[byte; 32]).unwrap())
}

/// A state that is written by a function.
struct Written<F>(F);

impl<F: Fn(&mut dyn Write) -> io::Result<()> + Send + Sync + 'static> Source for Written<F> {
    fn write_state(&self, at_least: Position, out: &mut dyn Write) -> io::Result<()> {
        assert_eq!(at_least, AT);
        (self.0)(out)
    }
}

fn serve(source: impl Source, key: Option<SharedKey>, limits: Limits) -> Server {
    Server::start(LOOPBACK, member(0), key, limits, Arc::new(source)).unwrap()
}

fn ask(server: &Server, own: Member, key: Option<SharedKey>) -> Result<Incoming, FetchError> {
    fetch(&Holder { node: 0, address: server.address().to_string() }, AT, own, key, Limits::default())
}

fn bytes(count: usize) -> Bytes {
    (0..count).map(|at| (at * 31 % 251) as u8).collect()
}

#[test]
fn states_of_all_sizes_come_as_they_were() {
    for shared in [None, key(1)] {
        for count in [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 5 * PIECE_BYTES + 7] {
            let state = bytes(count);
            let server = serve(
                Written({
                    let state = state.clone();
                    move |out: &mut dyn Write| out.write_all(&state)
                }),
                shared.clone(),
                Limits::default(),
            );
            let mut came = Vec::new();
            ask(&server, member(1), shared.clone()).unwrap().read_to_end(&mut came).unwrap();
            assert!(came == state, "{count} bytes");
        }
    }
}

#[test]
fn a_stream_that_breaks_off_is_an_error() {
    let half = |out: &mut dyn Write| {
        out.write_all(&bytes(3 * PIECE_BYTES))?;
        Err(io::Error::other("the table has gone"))
    };
    let server = serve(Written(half), None, Limits::default());
    let mut came = Vec::new();
    let error = ask(&server, member(1), None).unwrap().read_to_end(&mut came).unwrap_err();
    assert_eq!(error.to_string(), "the table has gone");
    // A holder that is killed says nothing.
    let (begun, has_begun) = mpsc::channel();
    let begun = Mutex::new(begun);
    let endless = move |out: &mut dyn Write| {
        begun.lock().unwrap().send(()).unwrap();
        loop {
            out.write_all(&bytes(PIECE_BYTES))?;
        }
    };
    let server = serve(Written(endless), None, Limits::default());
    let mut incoming = ask(&server, member(1), None).unwrap();
    has_begun.recv().unwrap();
    drop(server);
    assert!(io::copy(&mut incoming, &mut io::sink()).is_err());
}

#[test]
fn a_holder_waits_for_a_slow_reader() {
    let written = Arc::new(AtomicU64::new(0));
    let (done, is_written) = mpsc::channel();
    let counts = Arc::clone(&written);
    let done = Mutex::new(done);
    // More than the sockets of the two ends and both queues hold: it cannot be written until somebody reads.
    const PIECES: u64 = 400;
    let endless = move |out: &mut dyn Write| {
        for _ in 0..PIECES {
            out.write_all(&bytes(PIECE_BYTES))?;
            counts.fetch_add(1, Ordering::SeqCst);
        }
        done.lock().unwrap().send(()).unwrap();
        Ok(())
    };
    let server = serve(Written(endless), None, Limits::default());
    let mut incoming = ask(&server, member(1), None).unwrap();
    let mut first = vec![0; PIECE_BYTES];
    incoming.read_exact(&mut first).unwrap();
    assert!(is_written.try_recv().is_err() && written.load(Ordering::SeqCst) < PIECES, "nobody has read the rest");
    assert_eq!(io::copy(&mut incoming, &mut io::sink()).unwrap(), (PIECES - 1) * PIECE_BYTES as u64);
    is_written.recv().unwrap();
}

#[test]
fn strangers_are_refused_by_name() {
    let server = serve(Written(|out: &mut dyn Write| out.write_all(b"state")), key(1), Limits::default());
    let refused = |own: Member, key: Option<SharedKey>, why: &str| {
        let error = ask(&server, own, key).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    refused(member(1), key(2), "keys differ");
    refused(member(1), None, "key is required");
    refused(Member { cluster: "other".into(), ..member(1) }, key(1), "different clusters");
    refused(Member { format: 2, ..member(1) }, key(1), "different versions");
    let other = Holder { node: 2, address: server.address().to_string() };
    let error = fetch(&other, AT, member(1), key(1), Limits::default()).unwrap_err().to_string();
    assert!(error.contains("another node was expected"), "{error}");
    let remote = Server::start(
        "0.0.0.0:0".parse().unwrap(),
        member(0),
        None,
        Limits::default(),
        Arc::new(Written(|_: &mut dyn Write| Ok(()))),
    );
    assert!(remote.unwrap_err().to_string().contains("without a shared key"));
}

#[test]
fn no_more_states_at_once_than_permitted() {
    let (go, gone) = mpsc::channel::<()>();
    let gone = Mutex::new(gone);
    let waits = move |out: &mut dyn Write| {
        out.write_all(&bytes(PIECE_BYTES))?;
        let _ = gone.lock().unwrap().recv();
        out.write_all(b"end")
    };
    let server = serve(Written(waits), None, Limits { transfers: 1, ..Limits::default() });
    let mut first = ask(&server, member(1), None).unwrap();
    first.read_exact(&mut [0; 1]).unwrap();
    let error = ask(&server, member(2), None).unwrap_err().to_string();
    assert!(error.contains("hands its state to others"), "{error}");
    drop(go);
    assert_eq!(io::copy(&mut first, &mut io::sink()).unwrap(), PIECE_BYTES as u64 + 2);
    // Its place is free when its connection has ended.
    let mut again = loop {
        match ask(&server, member(2), None) {
            Ok(again) => break again,
            Err(error) => assert!(error.why.contains("hands its state to others"), "{error}"),
        }
    };
    assert_eq!(io::copy(&mut again, &mut io::sink()).unwrap(), PIECE_BYTES as u64 + 3);
}

#[test]
fn a_silent_holder_is_given_up() {
    let (_never, waits) = mpsc::channel::<()>();
    let waits = Mutex::new(waits);
    let silent = move |_: &mut dyn Write| {
        let _ = waits.lock().unwrap().recv();
        Ok(())
    };
    let server = serve(Written(silent), None, Limits::default());
    let holder = Holder { node: 0, address: server.address().to_string() };
    let limits = Limits { patience: Duration::from_millis(50), ..Limits::default() };
    let mut incoming = fetch(&holder, AT, member(1), None, limits).unwrap();
    assert_eq!(incoming.read(&mut [0; 1]).unwrap_err().kind(), io::ErrorKind::TimedOut);
    drop(_never);
    // Nobody listens there.
    let free = TcpListener::bind(LOOPBACK).unwrap();
    let nobody = Holder { node: 0, address: free.local_addr().unwrap().to_string() };
    drop(free);
    assert!(fetch(&nobody, AT, member(1), None, Limits::default()).is_err());
}
