use std::io::{self, BufRead, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use bytes::Bytes;
use env::{Moment, SimDisk, SimDiskOptions};
use net::auth::SharedKey;
use paxos::config::{Durability, Options};
use paxos::core::Instance;

use super::*;
use crate::client::{ClientSession, Completed, Completion};
use crate::message::ReplicaMessage;
use crate::service::BadSnapshot;
use crate::status::Part;

/// Nothing here takes nearly as long, unless it is broken.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Short, so that what a full queue has refused is soon sent again.
const RETRY: Duration = Duration::from_millis(50);

/// Adds up numbers; the answer is the sum so far. The snapshot is the sum, after some padding.
#[derive(Debug, Default)]
struct Sum {
    sum: u64,
    padding: usize,
}

impl Service for Sum {
    fn execute(&mut self, _: Instance, request: &[u8], reply: &mut Vec<u8>) {
        self.sum += request.iter().map(|byte| u64::from(*byte)).sum::<u64>();
        reply.extend_from_slice(&self.sum.to_le_bytes());
    }

    fn snapshot(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&vec![0; self.padding])?;
        out.write_all(&self.sum.to_le_bytes())
    }

    fn restore(&mut self, snapshot: &mut dyn BufRead) -> Result<(), BadSnapshot> {
        let mut bytes = Vec::new();
        snapshot.read_to_end(&mut bytes)?;
        let sum = bytes.last_chunk().ok_or_else(|| BadSnapshot("too short".into()))?;
        self.sum = u64::from_le_bytes(*sum);
        Ok(())
    }
}

/// Sockets for this number of nodes, and their addresses.
fn sockets(count: u64) -> (Vec<TcpListener>, Vec<String>) {
    let listeners: Vec<_> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port")).collect();
    let addresses = listeners.iter().map(|listener| listener.local_addr().expect("bound").to_string()).collect();
    (listeners, addresses)
}

fn cluster(replicas: u64, change: impl Fn(&mut NodeOptions)) -> Vec<Node> {
    let (listeners, addresses) = sockets(replicas);
    let start = |(id, listener)| {
        let mut options = NodeOptions::new(Options::new(replicas, id), Listen::On(listener), addresses.clone());
        change(&mut options);
        Node::start(options, Sum::default()).expect("a node")
    };
    (0..).zip(listeners).map(start).collect()
}

/// A client of a node, and its session.
struct Caller {
    local: LocalClient,
    session: ClientSession,
    start: Instant,
}

impl Caller {
    fn of(node: &Node, nonce: u64) -> Self {
        Self { local: node.client(), session: ClientSession::new(nonce, RETRY), start: Instant::now() }
    }

    fn now(&self) -> Moment {
        Moment(u64::try_from(self.start.elapsed().as_nanos()).expect("short"))
    }

    /// Executes requests and returns the answers.
    fn call(&mut self, requests: &[&'static [u8]]) -> Vec<u64> {
        let mut waiting: Vec<_> = requests.iter().rev().collect();
        let mut answers = std::collections::BTreeMap::new();
        let first = self.session.submit(Bytes::from_static(waiting.pop().expect("a request"))).expect("room");
        while answers.len() < requests.len() {
            assert!(self.start.elapsed() < TIME_LIMIT, "{} of {} answers", answers.len(), requests.len());
            while self.session.room() > 0
                && let Some(request) = waiting.pop()
            {
                self.session.submit(Bytes::from_static(request)).expect("room");
            }
            let (now, mut out, mut said) = (self.now(), Vec::new(), Vec::new());
            self.session.poll(now, |message| out.push(message));
            if !out.is_empty() {
                // Refused: it is lost, and the session sends it again.
                assert_ne!(self.local.send(out), Err(LocalError::Stopped));
            }
            let deadline = self.start.checked_add(Duration::from_nanos(self.session.deadline().0));
            self.local.receive(&mut said, deadline).expect("the node runs");
            let mut completed = Vec::new();
            said.iter().for_each(|message| self.session.handle(now, message, &mut completed));
            for Completed { ticket, completion } in completed {
                let Completion::Executed(_, answer) = completion else { panic!("{completion:?}") };
                answers.insert(ticket - first, u64::from_le_bytes(answer[..].try_into().expect("a sum")));
            }
        }
        answers.into_values().collect()
    }
}

/// Waits until a node says so.
fn wait_for(node: &Node, what: &str, mut is_so: impl FnMut(&Status) -> bool) -> Status {
    let start = Instant::now();
    loop {
        assert!(node.failure().is_none(), "{what}: {:?}", node.failure());
        assert!(start.elapsed() < TIME_LIMIT, "{what}: {:?}", node.status());
        match node.status() {
            Some(status) if is_so(&status) => return status,
            _ => std::thread::yield_now(),
        }
    }
}

#[test]
fn three_replicas_execute_what_clients_of_any_of_them_say() {
    let nodes = cluster(3, |_| ());
    let mut expected = 0;
    for (nonce, node) in (1..).zip(&nodes) {
        let answers = Caller::of(node, nonce).call(&[b"\x01".as_slice(); 100]);
        assert_eq!(answers, (expected + 1..=expected + 100).collect::<Vec<_>>());
        expected += 100;
    }
    for node in &nodes {
        let status = wait_for(node, "all is executed", |status| status.executor.requests == 300);
        assert_eq!(status.bad_batches, 0);
    }
    // They are asked one after the other, and a busy machine may change the leader in between.
    let leads = |node: &&Node| node.status().is_some_and(|status| status.role == Part::Leader);
    wait_for(&nodes[0], "one leads", |_| nodes.iter().filter(leads).count() == 1);
    nodes.iter().for_each(|node| node.stop().expect("nothing failed"));
}

#[test]
fn a_key_changes_nothing_else() {
    let key = SharedKey::from_bytes(&[7; 32]).expect("long enough");
    let nodes = cluster(3, |options| options.order.key = Some(key.clone()));
    assert_eq!(Caller::of(&nodes[1], 1).call(&[b"\x05", b"\x06"]), [5, 11]);
    nodes.iter().for_each(|node| node.stop().expect("nothing failed"));
}

#[test]
fn one_replica_is_a_cluster() {
    let nodes = cluster(1, |_| ());
    assert_eq!(Caller::of(&nodes[0], 1).call(&[b"\x05", b"\x06"]), [5, 11]);
}

/// The rare path is the common one: every queue is full with one thing in it.
#[test]
fn queues_of_one_slow_a_cluster_down_and_nothing_else() {
    let nodes = cluster(3, |options| {
        options.order.limits.core_bytes = 1;
        let replica = &mut options.order.replica;
        (replica.window, replica.undone_batches, replica.batch_bytes, replica.pending_bytes) = (1, 1, 2, 2);
    });
    let mut expected = 0;
    for (nonce, node) in (1..).zip(&nodes) {
        let answers = Caller::of(node, nonce).call(&[b"\x01".as_slice(); 50]);
        assert_eq!(answers, (expected + 1..=expected + 50).collect::<Vec<_>>());
        expected += 50;
    }
}

/// The snapshot has several pieces.
#[test]
fn a_learner_that_comes_late_gets_the_snapshot() {
    let (listeners, addresses) = sockets(4);
    let voters = addresses[..3].to_vec();
    let start = |id, listener: &TcpListener| {
        let mut replica = Options::new(3, id);
        (replica.snapshot_bytes, replica.span, replica.batch_bytes) = (400, 16, 50);
        let listener = listener.try_clone().expect("a descriptor");
        let options = NodeOptions::new(replica, Listen::On(listener), voters.clone());
        Node::start(options, Sum { sum: 0, padding: 1 << 20 }).expect("a node")
    };
    let nodes: Vec<_> = (0..3).map(|id| start(id, &listeners[id as usize])).collect();
    let answers = Caller::of(&nodes[0], 1).call(&[[1; 10].as_slice(); 2_000]);
    assert_eq!(answers.last(), Some(&20_000));
    let low = wait_for(&nodes[0], "the log is short", |status| status.log.low > 0).log.low;
    let learner = start(3, &listeners[3]);
    let status = wait_for(&learner, "it has caught up", |status| status.log.executed >= low);
    assert_eq!(status.role, Part::Learner);
    assert!(status.counters.snapshots_installed > 0);
    let answer = Caller::of(&learner, 2).call(&[b"\x01"]);
    assert_eq!(answer, [20_001]);
}

#[test]
fn replicas_that_do_not_agree_on_their_options_do_not_talk() {
    let (mut listeners, addresses) = sockets(2);
    let start = |id, span, listener| {
        let mut replica = Options::new(2, id);
        replica.span = span;
        Node::start(NodeOptions::new(replica, Listen::On(listener), addresses.clone()), Sum::default()).expect("a node")
    };
    let second = start(1, 1_024, listeners.pop().expect("two"));
    let _first = start(0, 2_048, listeners.pop().expect("two"));
    let refusal = |status: &Status| {
        status.peers.get(&0).and_then(|peer| peer.last_error.clone()).is_some_and(|error| error.contains("option span"))
    };
    wait_for(&second, "it is refused", refusal);
}

#[test]
fn a_voter_that_restarts_without_its_memory_is_stopped_by_name() {
    let (mut listeners, addresses) = sockets(3);
    let third = listeners.pop().expect("three");
    let start = |id, listener| {
        let options = NodeOptions::new(Options::new(3, id), Listen::On(listener), addresses.clone());
        Node::start(options, Sum::default()).expect("a node")
    };
    let others: Vec<_> = (0..).zip(listeners).map(|(id, listener)| start(id, listener)).collect();
    let first_life = start(2, third.try_clone().expect("a descriptor"));
    for node in &others {
        wait_for(node, "they have met", |status| status.peers.get(&2).is_some_and(|peer| peer.connected));
    }
    first_life.stop().expect("nothing failed");
    let second_life = start(2, third);
    assert!(matches!(second_life.wait(), Err(NodeError::RestartedWithoutMemory { .. })));
}

#[test]
fn a_voter_whose_journal_is_new_again_is_stopped_by_name() {
    let (mut listeners, addresses) = sockets(3);
    let third = listeners.pop().expect("three");
    let start = |id, listener, disk: &SimDisk| {
        let mut options = NodeOptions::new(Options::new(3, id), Listen::On(listener), addresses.clone());
        options.order.replica.durability = Durability::Fsync;
        options.order.disk = Some(Arc::new(disk.clone()));
        Node::start(options, Sum::default()).expect("a node")
    };
    let disks: Vec<_> = (0..4).map(|seed| SimDisk::new(seed, SimDiskOptions::default())).collect();
    let others: Vec<_> =
        (0..).zip(listeners).zip(&disks).map(|((id, listener), disk)| start(id, listener, disk)).collect();
    let meet = |node: &Node| {
        for other in &others {
            wait_for(other, "they have met", |status| status.peers.get(&2).is_some_and(|peer| peer.connected));
        }
        node.stop().expect("nothing failed");
        for other in &others {
            wait_for(other, "it has gone", |status| status.peers.get(&2).is_some_and(|peer| !peer.connected));
        }
    };
    meet(&start(2, third.try_clone().expect("a descriptor"), &disks[2]));
    meet(&start(2, third.try_clone().expect("a descriptor"), &disks[2]));
    let emptied = start(2, third, &disks[3]);
    assert!(matches!(emptied.wait(), Err(NodeError::RestartedWithoutMemory { .. })));
}

#[test]
fn a_node_is_not_started_with_what_it_cannot_keep() {
    let options = |replicas, addresses| {
        let listen = Listen::At("127.0.0.1:0".parse().expect("an address"));
        NodeOptions::new(Options::new(replicas, 0), listen, addresses)
    };
    let start = |options| Node::start(options, Sum::default()).err();
    let addresses = vec!["127.0.0.1:1".to_owned()];
    assert!(matches!(start(options(2, addresses.clone())), Some(NodeError::Addresses { given: 1, replicas: 2 })));
    let mut no_disk = options(1, addresses.clone());
    no_disk.order.replica.durability = Durability::Fsync;
    assert!(matches!(start(no_disk), Some(NodeError::NoDisk)));
    let mut public = options(1, addresses.clone());
    public.order.listen = Listen::At("0.0.0.0:0".parse().expect("an address"));
    assert!(matches!(start(public), Some(NodeError::NoKey(_))));
    let mut bad = options(1, addresses.clone());
    bad.order.replica.window = 0;
    assert!(matches!(start(bad), Some(NodeError::Option(_))));
    let mut no_sessions = options(1, addresses.clone());
    no_sessions.order.replica.sessions = 0;
    assert!(matches!(start(no_sessions), Some(NodeError::Option(option)) if option.option == "sessions"));
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut occupied = options(1, addresses);
    occupied.order.listen = Listen::At(taken.local_addr().expect("bound"));
    assert!(matches!(start(occupied), Some(NodeError::Listen { .. })));
}

fn journalled_cluster(disks: &[SimDisk]) -> Vec<Node> {
    let (listeners, addresses) = sockets(disks.len() as u64);
    let start = |(id, (listener, disk)): (u64, (TcpListener, &SimDisk))| {
        let mut replica = Options::new(disks.len() as u64, id);
        replica.durability = Durability::Fsync;
        let mut options = NodeOptions::new(replica, Listen::On(listener), addresses.clone());
        options.order.disk = Some(Arc::new(disk.clone()));
        options.order.log.segment_bytes = 1 << 20;
        Node::start(options, Sum::default()).expect("a node")
    };
    (0..).zip(listeners.into_iter().zip(disks)).map(start).collect()
}

#[test]
fn what_was_answered_survives_a_power_cut_of_all_replicas() {
    let mut disks: Vec<_> = (0..3).map(|seed| SimDisk::new(seed, SimDiskOptions::default())).collect();
    let mut expected = 0;
    for life in 1..=3 {
        let nodes = journalled_cluster(&disks);
        let answers = Caller::of(&nodes[life % 3], life as u64).call(&[b"\x01".as_slice(); 200]);
        assert_eq!(answers, (expected + 1..=expected + 200).collect::<Vec<_>>(), "life {life}");
        expected += 200;
        disks = disks.iter().map(SimDisk::power_cut).collect();
    }
}

#[test]
fn a_replica_without_a_journal_whose_directory_knows_it_comes_back_as_a_learner() {
    let (listeners, addresses) = sockets(3);
    let disk = SimDisk::new(1, SimDiskOptions::default());
    let start = |id: u64| {
        let listener = listeners[id as usize].try_clone().expect("a descriptor");
        let mut options = NodeOptions::new(Options::new(3, id), Listen::On(listener), addresses.clone());
        options.order.disk = (id == 2).then(|| Arc::new(disk.clone()) as Arc<dyn env::Disk>);
        Node::start(options, Sum::default()).expect("a node")
    };
    let _others = [start(0), start(1)];
    let first_life = start(2);
    assert_eq!((first_life.id(), Caller::of(&first_life, 1).call(&[b"\x01"])), (2, vec![1]));
    drop(first_life);
    let second_life = start(2);
    assert_eq!((second_life.id(), Caller::of(&second_life, 2).call(&[b"\x01"])), (5, vec![2]));
    assert_eq!(wait_for(&second_life, "it says so", |_| true).role, Part::Learner);
}

/// Panics at a certain request.
struct PanickingService;

impl Service for PanickingService {
    fn execute(&mut self, _: Instance, request: &[u8], _: &mut Vec<u8>) {
        assert!(request != b"break", "it broke");
    }

    fn snapshot(&self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn restore(&mut self, _: &mut dyn BufRead) -> Result<(), BadSnapshot> {
        Ok(())
    }
}

#[test]
fn a_panic_stops_the_node_with_its_message() {
    let (listeners, addresses) = sockets(1);
    let listener = listeners.into_iter().next().expect("one");
    let options = NodeOptions::new(Options::new(1, 0), Listen::On(listener), addresses);
    let node = Node::start(options, PanickingService).expect("a node");
    let (client, start) = (node.client(), Instant::now());
    let mut session = ClientSession::new(1, Duration::from_secs(1));
    session.submit(Bytes::from_static(b"break")).expect("room");
    let mut said: Vec<ReplicaMessage> = Vec::new();
    while client.receive(&mut said, None).is_ok() {
        assert!(start.elapsed() < TIME_LIMIT);
        let (now, mut out) = (Moment(0), Vec::new());
        said.drain(..).for_each(|message| session.handle(now, &message, &mut Vec::new()));
        session.poll(now, |message| out.push(message));
        if !out.is_empty() {
            client.send(out).expect("room");
        }
    }
    let error = node.wait().expect_err("it has failed");
    assert!(
        matches!(&error, NodeError::Panicked { thread: "paxos-service", message } if message == "it broke"),
        "{error}"
    );
}
