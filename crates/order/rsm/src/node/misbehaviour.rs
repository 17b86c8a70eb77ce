//! Peers and clients that violate the protocol, over real sockets.

use std::io::{self, BufRead, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use bytes::Bytes;
use env::Randomness;
use net::auth::SharedKey;
use net::frame::{Decoder, Frame, MAX_FRAME_BYTES, Wire, encode};
use net::handshake::Hello;
use paxos::config::Options;
use paxos::core::{Instance, Message};
use paxos::membership::{Greeting, Identity, Membership, Refusal};
use paxos::message::PeerMessage;
use paxos::transport::MAX_PENDING_HANDSHAKES;

use crate::client::{BlockingClient, ClientOptions};
use crate::message::{ClientMessage, Outcome, ReplicaMessage};
use crate::node::{Limits, Listen, Node, NodeOptions};
use crate::service::{BadSnapshot, Service};
use crate::status::Status;

mod snapshots;

/// Nothing here takes nearly as long, unless it is broken.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Answers each request with this number of bytes.
struct LongAnswers(usize);

impl Service for LongAnswers {
    fn execute(&mut self, _: Instance, _: &[u8], reply: &mut Vec<u8>) {
        reply.resize(self.0, 7);
    }

    fn snapshot(&self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn restore(&mut self, _: &mut dyn BufRead) -> Result<(), BadSnapshot> {
        Ok(())
    }
}

fn node(limits: Limits, answer_bytes: usize) -> Node {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound").to_string();
    let mut options = NodeOptions::new(Options::new(1, 0), Listen::On(listener), vec![address]);
    options.limits = limits;
    Node::start(options, LongAnswers(answer_bytes)).expect("a node")
}

fn wait_for(node: &Node, what: &str, is_so: impl Fn(&Status) -> bool) {
    let start = Instant::now();
    while !node.status().is_some_and(|status| is_so(&status)) {
        assert!(node.failure().is_none() && start.elapsed() < TIME_LIMIT, "{what}: {:?}", node.status());
        std::thread::yield_now();
    }
}

/// A connection by hand.
struct Raw {
    stream: TcpStream,
    decoder: Decoder,
    /// The last frame, and how many of its messages were heard: what a node says at once is in one.
    frame: Option<(Frame, usize)>,
}

impl Raw {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the node listens");
        stream.set_read_timeout(Some(TIME_LIMIT)).expect("a duration");
        Self { stream, decoder: Decoder::new(MAX_FRAME_BYTES), frame: None }
    }

    fn greeted(address: SocketAddr, identity: Identity) -> Self {
        let mut raw = Self::connect(address);
        raw.say(&Greeting::Hello(Hello { nonce: [1; 32], keyed: false, identity }));
        assert!(matches!(raw.hear(), Some(Greeting::Hello(_))));
        assert_eq!(raw.hear(), Some(Greeting::Verdict(Ok(()))));
        raw.say(&Greeting::Verdict(Ok(())));
        raw
    }

    fn client(address: SocketAddr) -> Self {
        let mut raw = Self::greeted(address, Identity::Client);
        assert!(matches!(raw.hear(), Some(ReplicaMessage::Leader { .. })));
        raw
    }

    fn say<M: Wire>(&mut self, message: &M) {
        let mut bytes = Vec::new();
        encode(message, &mut bytes).expect("short");
        self.write(&bytes);
    }

    /// The other end may have closed: that is seen when reading.
    fn write(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// The next message; `None`: the other end has closed.
    fn hear<M: Wire>(&mut self) -> Option<M> {
        loop {
            if let Some((frame, heard)) = &mut self.frame
                && let Some(message) = frame.messages::<M>().nth(*heard)
            {
                *heard += 1;
                return Some(message.expect("messages of the kind"));
            }
            self.frame = self.decoder.next_frame().expect("nodes send frames").map(|frame| (frame, 0));
            if self.frame.is_some() {
                continue;
            }
            let mut bytes = [0; 4_096];
            match self.stream.read(&mut bytes) {
                Ok(0) => return None,
                Ok(count) => self.decoder.buffer().extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn sees_the_end(mut self) -> bool {
        loop {
            match self.hear::<ReplicaMessage>() {
                None => return true,
                Some(ReplicaMessage::Leader { .. }) => {}
                Some(_) => return false,
            }
        }
    }

    /// Opens a session under nonce 3, once there is a leader.
    fn open(&mut self) -> u64 {
        self.say(&ClientMessage::Open(3));
        loop {
            match self.hear() {
                Some(ReplicaMessage::Opened { nonce: 3, session }) => return session,
                Some(ReplicaMessage::Leader { .. }) => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

fn serves(node: &Node) -> bool {
    let mut raw = Raw::client(node.address());
    let session = raw.open();
    raw.say(&ClientMessage::Request { session, sequence: 1, nonce: 3, body: Bytes::new() });
    matches!(raw.hear(), Some(ReplicaMessage::Reply { outcome: Outcome::Executed(..), .. }))
}

#[test]
fn strangers_are_disconnected_and_the_node_goes_on() {
    let node = node(Limits::default(), 1);
    let mut randomness = Randomness::from_seed(9);
    for round in 0..50 {
        let mut raw = Raw::connect(node.address());
        let mut noise = vec![0; 1 + round * 10];
        randomness.fill(&mut noise);
        // A first byte that is not the protocol's, so that the node need not wait for a whole header.
        noise[0] = b'X';
        noise.resize(noise.len().max(64), 0);
        raw.write(&noise);
        assert!(raw.sees_the_end(), "round {round}");
    }
    let mut impatient = Raw::connect(node.address());
    impatient.say(&ClientMessage::Status);
    assert!(impatient.sees_the_end(), "no greeting");
    assert!(serves(&node));
}

#[test]
fn clients_that_send_nonsense_are_dismissed_and_counted() {
    let node = node(Limits::default(), 1);
    let damaged = |change: fn(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        encode(&ClientMessage::Status, &mut bytes).expect("short");
        change(&mut bytes);
        bytes
    };
    let mut peers_message = Vec::new();
    encode(&PeerMessage::Core(Message::Reject(5)), &mut peers_message).expect("short");
    let nonsense = [damaged(|b| b[0] ^= 1), damaged(|b| b[9] ^= 1), damaged(|b| b[16] ^= 1), peers_message];
    let count = nonsense.len() as u64;
    for bytes in nonsense {
        let mut raw = Raw::client(node.address());
        raw.write(&bytes);
        assert!(raw.sees_the_end());
    }
    wait_for(&node, "they are counted", |status| status.clients.dismissed == count && status.clients.connected == 0);
    assert!(serves(&node));
}

#[test]
fn requests_outside_of_sessions_are_answered_so() {
    let node = node(Limits::default(), 1);
    let mut raw = Raw::client(node.address());
    let own = raw.open();
    for session in [0, own + 1_000] {
        raw.say(&ClientMessage::Request { session, sequence: 1, nonce: 3, body: Bytes::new() });
        let expected = ReplicaMessage::Reply { session, sequence: 1, outcome: Outcome::UnknownSession };
        assert_eq!(raw.hear(), Some(expected));
    }
    raw.say(&ClientMessage::Request { session: own, sequence: 2, nonce: 3, body: Bytes::new() });
    let expected = ReplicaMessage::Reply { session: own, sequence: 2, outcome: Outcome::Early };
    assert_eq!(raw.hear(), Some(expected));
}

#[test]
fn a_client_that_does_not_read_is_dismissed() {
    let node = node(Limits { client_bytes: 1 << 18, ..Limits::default() }, 1 << 20);
    let mut raw = Raw::client(node.address());
    let session = raw.open();
    // Many times what the operating system buffers.
    for sequence in 1..=64 {
        raw.say(&ClientMessage::Request { session, sequence, nonce: 3, body: Bytes::new() });
    }
    wait_for(&node, "it is dismissed", |status| status.clients.dismissed == 1);
    assert!(serves(&node));
}

#[test]
fn clients_that_begin_long_frames_and_do_not_finish_them_are_dismissed() {
    let node = node(Limits { unfinished_bytes: 1 << 20, ..Limits::default() }, 1);
    let mut bytes = Vec::new();
    let body = Bytes::from(vec![0; 2 << 20]);
    encode(&ClientMessage::Request { session: 1, sequence: 1, nonce: 3, body }, &mut bytes).expect("short enough");
    let mut raw = Raw::client(node.address());
    raw.write(&bytes[..(2 << 20) - 10]);
    assert!(raw.sees_the_end());
    wait_for(&node, "it is counted", |status| status.clients.dismissed == 1);
    assert!(serves(&node));
}

#[test]
fn a_client_with_too_many_sessions_is_dismissed() {
    let node = node(Limits { client_sessions: 3, ..Limits::default() }, 1);
    let mut raw = Raw::client(node.address());
    for session in 1..=4 {
        raw.say(&ClientMessage::Request { session, sequence: 1, nonce: 3, body: Bytes::new() });
    }
    wait_for(&node, "it is dismissed", |status| status.clients.dismissed == 1);
}

#[test]
fn a_connection_and_an_address_open_no_more_sessions_than_their_quota() {
    let limits = Limits { client_sessions: 3, address_sessions: 5, ..Limits::default() };
    let node = node(limits, 1);
    let mut greedy = Raw::client(node.address());
    let mut last = 0;
    for _ in 0..3 {
        last = greedy.open();
    }
    greedy.say(&ClientMessage::Open(9));
    assert_eq!(greedy.hear(), Some(ReplicaMessage::TooManySessions { nonce: 9, limit: 3 }));
    let mut again = Raw::client(node.address());
    again.open();
    again.open();
    again.say(&ClientMessage::Open(10));
    assert_eq!(again.hear(), Some(ReplicaMessage::TooManySessions { nonce: 10, limit: 5 }));
    // Those who have sessions go on.
    greedy.say(&ClientMessage::Request { session: last, sequence: 1, nonce: 3, body: Bytes::new() });
    assert!(matches!(greedy.hear(), Some(ReplicaMessage::Reply { outcome: Outcome::Executed(..), .. })));
}

#[test]
fn a_client_who_guesses_a_session_hears_that_it_is_another_s_and_its_owner_hears_nothing() {
    let node = node(Limits::default(), 1);
    let (mut owner, mut thief) = (Raw::client(node.address()), Raw::client(node.address()));
    let session = owner.open();
    let request = |nonce| ClientMessage::Request { session, sequence: 1, nonce, body: Bytes::new() };
    thief.say(&request(4));
    let outcome = Outcome::ForeignSession;
    let reply = loop {
        match thief.hear() {
            Some(ReplicaMessage::Leader { .. }) => {}
            other => break other,
        }
    };
    assert_eq!(reply, Some(ReplicaMessage::Reply { session, sequence: 1, outcome }));
    owner.say(&request(3));
    let reply = owner.hear();
    assert!(matches!(reply, Some(ReplicaMessage::Reply { outcome: Outcome::Executed(..), .. })), "{reply:?}");
}

/// Sockets that say nothing fill every seat. A peer gets in all the same, and at the cost of one of them.
#[test]
fn sockets_that_say_nothing_do_not_keep_peers_out() {
    let node = node(Limits::default(), 1);
    let silent: Vec<_> = (0..MAX_PENDING_HANDSHAKES + 8).map(|_| Raw::connect(node.address())).collect();
    let learner = Identity::Replica(Membership::new(&Options::new(1, 7), 1));
    let _peer = Raw::greeted(node.address(), learner);
    // The youngest ones are still waited for: no time has passed by which they could have been given up.
    let mut youngest = silent.into_iter().next_back().expect("many").stream;
    youngest.set_nonblocking(true).expect("a socket");
    let error = youngest.read(&mut [0]).expect_err("nothing was said");
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
}

/// Between a client and a node: on the first connection it sends the client's first request twice.
fn replayer(node: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for (number, client) in listener.incoming().enumerate() {
            let (client, node) = (client.expect("a connection"), TcpStream::connect(node).expect("the node listens"));
            let (back_from, back_to) =
                (node.try_clone().expect("a descriptor"), client.try_clone().expect("a descriptor"));
            std::thread::spawn(move || pass(back_from, back_to, false));
            std::thread::spawn(move || pass(client, node, number == 0));
        }
    });
    address
}

/// Passes bytes on until an end closes; with `twice`, the first frame from a client goes twice.
fn pass(mut from: TcpStream, mut to: TcpStream, mut twice: bool) {
    let mut chunk = [0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        // A frame comes in one piece: it is small. The fourth byte is its kind.
        let times = if chunk[3] == 3 && std::mem::take(&mut twice) { 2 } else { 1 };
        if (0..times).any(|_| to.write_all(&chunk[..count]).is_err()) {
            break;
        }
    }
    // Whoever is left sees the end.
    let _ = (from.shutdown(std::net::Shutdown::Both), to.shutdown(std::net::Shutdown::Both));
}

#[test]
fn a_replayed_frame_ends_a_connection_with_a_key_and_the_client_goes_on() {
    let key = SharedKey::from_bytes(&[7; 32]).expect("long enough");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let between = replayer(listener.local_addr().expect("bound")).to_string();
    // The node tells clients the address that they know.
    let mut options = NodeOptions::new(Options::new(1, 0), Listen::On(listener), vec![between.clone()]);
    options.order.key = Some(key.clone());
    let node = Node::start(options, LongAnswers(1)).expect("a node");
    let retry = Duration::from_millis(50);
    let client = ClientOptions { key: Some(key), retry, time_limit: TIME_LIMIT, ..ClientOptions::new(vec![between]) };
    let client = BlockingClient::new(client).expect("a client");
    assert_eq!(client.execute(Bytes::from_static(b"x")).expect("an answer").bytes, [7].as_slice());
    wait_for(&node, "the replay was noticed", |status| status.clients.dismissed == 1);
}

/// A peer in the wrong place: the node refuses its number, or does not accept its messages.
#[test]
fn peers_that_make_no_sense_are_disconnected() {
    let node = node(Limits::default(), 1);
    let learner = Identity::Replica(Membership::new(&Options::new(1, 7), 1));
    let mut raw = Raw::greeted(node.address(), learner);
    wait_for(&node, "it is a peer", |status| status.peers.get(&7).is_some_and(|peer| peer.connected));
    raw.say(&ClientMessage::Status);
    let error = "unexpected frame of kind Client";
    wait_for(&node, "it is told apart", |status| {
        status.peers.get(&7).and_then(|peer| peer.last_error.as_deref()).is_some_and(|e| e.contains(error))
    });
    let mut own = Raw::connect(node.address());
    let identity = Identity::Replica(Membership::new(&Options::new(1, 0), 1));
    own.say(&Greeting::Hello(Hello { nonce: [1; 32], keyed: false, identity }));
    assert!(matches!(own.hear(), Some(Greeting::Hello(_))));
    assert_eq!(own.hear(), Some(Greeting::Verdict(Err(Refusal::SameNumber))));
    assert!(serves(&node));
}
