use std::io::{self, BufRead, Write};
use std::net::TcpListener;

use super::*;
use crate::client::BlockingClient;
use crate::node::{Limits, Listen, Node, NodeOptions};
use crate::service::{BadSnapshot, Service};
use paxos::config::Options;

/// Answers what it was told, and counts.
struct Echo;

impl Service for Echo {
    fn execute(&mut self, _: Instance, request: &[u8], reply: &mut Vec<u8>) {
        reply.extend_from_slice(request);
    }

    fn snapshot(&self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn restore(&mut self, _: &mut dyn BufRead) -> Result<(), BadSnapshot> {
        Ok(())
    }
}

fn cluster(replicas: u64, change: impl Fn(&mut NodeOptions)) -> (Vec<Node>, Vec<String>) {
    let listeners: Vec<_> = (0..replicas).map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port")).collect();
    let addresses: Vec<_> = listeners.iter().map(|l| l.local_addr().expect("bound").to_string()).collect();
    let start = |(id, listener)| {
        let mut options = NodeOptions::new(Options::new(replicas, id), Listen::On(listener), addresses.clone());
        change(&mut options);
        Node::start(options, Echo).expect("a node")
    };
    ((0..).zip(listeners).map(start).collect(), addresses)
}

/// Nothing here takes nearly as long, unless it is broken.
fn options(addresses: &[String]) -> ClientOptions {
    ClientOptions { time_limit: Duration::from_secs(60), ..ClientOptions::new(addresses.to_vec()) }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

#[test]
fn requests_of_many_tasks_are_answered_each_with_its_own_answer() {
    let (_nodes, addresses) = cluster(3, |_| ());
    runtime().block_on(async {
        let client = Client::start(options(&addresses)).expect("addresses");
        let tasks: Vec<_> = (0..200_u64)
            .map(|number| {
                let client = client.clone();
                tokio::spawn(async move {
                    let body = Bytes::copy_from_slice(&number.to_le_bytes());
                    (client.execute(body.clone()).await.expect("an answer").bytes, body)
                })
            })
            .collect();
        for task in tasks {
            let (answer, body) = task.await.expect("no panic");
            assert_eq!(answer, body);
        }
    });
}

#[test]
fn a_client_needs_the_key_of_clients() {
    let key = |byte| SharedKey::from_bytes(&[byte; 32]).expect("long enough");
    let (_nodes, addresses) = cluster(1, |options| {
        options.order.key = Some(key(1));
        options.client_key = Some(key(2));
    });
    let with = |key| ClientOptions { key, ..options(&addresses) };
    let client = BlockingClient::new(with(Some(key(2)))).expect("a client");
    assert_eq!(client.execute(Bytes::from_static(b"x")).expect("an answer").bytes, "x");
    assert!(client.status(&addresses[0]).expect("a status").starts_with("{\"id\":0,"));
    let refusal =
        |key: Option<SharedKey>| runtime().block_on(status(&addresses[0], key.as_ref(), Duration::from_secs(60)));
    let says = |key, text: &str| match refusal(key) {
        Err(ClientError::TimedOut { connection: Some(error) }) => assert!(error.contains(text), "{error}"),
        other => panic!("{other:?}"),
    };
    says(None, "a shared key is required");
    says(Some(key(1)), "the shared keys differ");
}

#[test]
fn the_leader_may_stop() {
    let (nodes, addresses) = cluster(3, |options| options.order.replica.suspicion = Duration::from_millis(100));
    let client = BlockingClient::new(options(&addresses)).expect("a client");
    client.execute(Bytes::from_static(b"before")).expect("an answer");
    // A machine that is busy may suspect a leader for a while that was only slow.
    let named = || nodes.iter().find_map(|node| node.status()?.leader);
    let leader = std::iter::repeat_with(named).flatten().next().expect("endless");
    nodes[leader as usize].stop().expect("nothing failed");
    assert_eq!(client.execute(Bytes::from_static(b"after")).expect("an answer").bytes, "after");
}

#[test]
fn what_cannot_be_sent_is_known_not_to_be_executed() {
    // A port that nobody listens on.
    let address = "127.0.0.1:1".to_owned();
    let short = ClientOptions { time_limit: Duration::from_millis(20), ..ClientOptions::new(vec![address]) };
    let client = BlockingClient::new(short).expect("a client");
    let error = client.execute(Bytes::new()).expect_err("nobody is there");
    assert!(matches!(error, ClientError::NotSent { .. }) && error.is_not_executed(), "{error}");
    let long = client.execute(Bytes::from(vec![0; MAX_BODY_BYTES + 1]));
    assert_eq!(long, Err(ClientError::TooLarge { limit: MAX_BODY_BYTES as u64 }));
    assert!(BlockingClient::new(ClientOptions::new(Vec::new())).is_err());
}

/// One of two replicas: nothing can be ordered.
#[test]
fn what_was_sent_and_not_answered_may_have_been_executed() {
    let listeners: Vec<_> = (0..2).map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port")).collect();
    let addresses: Vec<_> = listeners.iter().map(|l| l.local_addr().expect("bound").to_string()).collect();
    let options = NodeOptions::new(
        Options::new(2, 0),
        Listen::On(listeners[0].try_clone().expect("a descriptor")),
        addresses.clone(),
    );
    let _node = Node::start(options, Echo).expect("a node");
    let short =
        ClientOptions { time_limit: Duration::from_millis(50), ..ClientOptions::new(vec![addresses[0].clone()]) };
    let client = BlockingClient::new(short).expect("a client");
    // Taken by the session at some time, from when on it counts as sent.
    loop {
        let error = client.execute(Bytes::new()).expect_err("there is no majority");
        if let ClientError::TimedOut { .. } = error {
            assert!(!error.is_not_executed());
            break;
        }
    }
}

/// One replica of two knows no leader; a cluster of its own has one.
#[test]
fn a_replica_that_knows_no_leader_is_left_for_another() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let lonely = listener.local_addr().expect("bound").to_string();
    // Nobody listens at the other's address.
    let addresses = vec![lonely.clone(), "127.0.0.1:1".to_owned()];
    let _lonely =
        Node::start(NodeOptions::new(Options::new(2, 0), Listen::On(listener), addresses), Echo).expect("a node");
    let (_nodes, mut addresses) = cluster(1, |_| ());
    addresses.push(lonely);
    // From whichever it starts.
    for _ in 0..4 {
        let impatient = ClientOptions { retry: Duration::from_millis(20), ..options(&addresses) };
        let client = BlockingClient::new(impatient).expect("a client");
        assert_eq!(client.execute(Bytes::from_static(b"x")).expect("an answer").bytes, "x");
    }
}

#[test]
fn there_are_no_more_clients_than_the_limit() {
    let (_nodes, addresses) = cluster(1, |options| options.limits = Limits { clients: 1, ..Limits::default() });
    let first = BlockingClient::new(options(&addresses)).expect("a client");
    first.execute(Bytes::new()).expect("an answer");
    let second = runtime().block_on(status(&addresses[0], None, Duration::from_secs(60)));
    let Err(ClientError::TimedOut { connection: Some(error) }) = second else { panic!("{second:?}") };
    assert!(error.contains("too many connections"), "{error}");
}
