//! The total order of three nodes of this process: the same on all, each origin's payloads in its order, whatever happens to a node.

use bytes::Bytes;
use paxos::config::Options;
use paxos::node::{Listen, NodeOptions};
use paxos::order::{Delivered, NodeOrder, OrderError, OrderLimits, OrderPosition, TotalOrder};
use seriatim_paxos as paxos;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::time::Duration;

/// Longer than anything here takes; nothing waits for it unless something is wrong.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Sockets that know each other before the nodes start.
fn sockets(count: usize) -> (Vec<TcpListener>, Vec<String>) {
    let sockets: Vec<_> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let addresses = sockets.iter().map(|socket| socket.local_addr().unwrap().to_string()).collect();
    (sockets, addresses)
}

fn node(id: u64, socket: TcpListener, addresses: &[String], limits: OrderLimits) -> NodeOrder {
    let mut replica = Options::new(addresses.len() as u64, id);
    replica.suspicion = Duration::from_millis(100);
    NodeOrder::start(NodeOptions::new(replica, Listen::On(socket), addresses.to_vec()), limits, None).unwrap()
}

fn cluster(limits: OrderLimits) -> Vec<NodeOrder> {
    let (sockets, addresses) = sockets(3);
    (0..).zip(sockets).map(|(id, socket)| node(id, socket, &addresses, limits)).collect()
}

fn payload(origin: u64, submission: u64) -> Bytes {
    format!("{origin} {submission}").into()
}

/// Proposes, waiting where there are too many.
fn propose(node: &NodeOrder, origin: u64, submission: u64) {
    loop {
        match node.propose(payload(origin, submission)) {
            Ok(number) => return assert_eq!(number, submission),
            Err(OrderError::Busy) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Takes until every one of `origins` has had `count` payloads delivered, and checks the order of each.
fn take(node: &NodeOrder, origins: &[u64], count: u64) -> Vec<Delivered> {
    let mut next: BTreeMap<u64, u64> = BTreeMap::new();
    let mut all: Vec<Delivered> = Vec::new();
    while origins.iter().any(|origin| next.get(origin).copied().unwrap_or(0) < count) {
        let delivered = node.deliver(TIME_LIMIT).unwrap();
        let expected = next.entry(delivered.origin).or_default();
        assert_eq!(delivered.submission, *expected, "first in, first out");
        assert_eq!(delivered.payload, payload(delivered.origin, delivered.submission));
        *expected += 1;
        assert!(all.last().is_none_or(|last| last.position < delivered.position));
        all.push(delivered);
    }
    all
}

#[test]
fn all_nodes_are_delivered_the_same_and_each_origins_in_its_order() {
    let nodes = cluster(OrderLimits { proposals: 100, ..OrderLimits::default() });
    let taken: Vec<_> = std::thread::scope(|scope| {
        for (origin, node) in (0..).zip(&nodes) {
            scope.spawn(move || (0..2_000).for_each(|submission| propose(node, origin, submission)));
        }
        let takers: Vec<_> = nodes.iter().map(|node| scope.spawn(|| take(node, &[0, 1, 2], 2_000))).collect();
        takers.into_iter().map(|taker| taker.join().unwrap()).collect()
    });
    assert_eq!(taken[0].len(), 6_000);
    assert!(taken.iter().all(|others| *others == taken[0]));
}

#[test]
fn when_the_leader_dies_the_others_go_on_without_a_hole() {
    let mut nodes: Vec<_> = cluster(OrderLimits::default()).into_iter().map(Some).collect();
    let leader = loop {
        let known = nodes.iter().flatten().find_map(|node| node.node().status()?.leader);
        match known {
            Some(leader) => break leader,
            None => std::thread::yield_now(),
        }
    };
    for (origin, node) in (0..).zip(nodes.iter().flatten()) {
        (0..500).for_each(|submission| propose(node, origin, submission));
    }
    // Dropped with what is under way.
    drop(nodes[leader as usize].take());
    let others: Vec<u64> = (0..3).filter(|id| *id != leader).collect();
    for &origin in &others {
        let node = nodes[origin as usize].as_ref().unwrap();
        (500..1_000).for_each(|submission| propose(node, origin, submission));
    }
    let [first, second] = [0, 1].map(|other| take(nodes[others[other] as usize].as_ref().unwrap(), &others, 1_000));
    let common = first.len().min(second.len());
    assert_eq!(first[..common], second[..common]);
}

#[test]
fn a_consumer_that_takes_nothing_holds_up_nobody_else() {
    let nodes = cluster(OrderLimits { deliveries: 10, proposals: 100, ..OrderLimits::default() });
    std::thread::scope(|scope| {
        scope.spawn(|| (0..500).for_each(|submission| propose(&nodes[0], 0, submission)));
        scope.spawn(|| take(&nodes[0], &[0], 500));
        scope.spawn(|| take(&nodes[1], &[0], 500));
    });
    assert_eq!(take(&nodes[2], &[0], 500).len(), 500);
}

#[test]
fn a_stopped_order_says_so() {
    let mut nodes = cluster(OrderLimits::default());
    propose(&nodes[0], 0, 0);
    assert_eq!(take(&nodes[0], &[0], 1)[0].position.index, 0);
    nodes[0].stop().unwrap();
    assert!(matches!(nodes[0].deliver(TIME_LIMIT), Err(OrderError::Stopped(_))));
    assert!(matches!(nodes[0].propose(Bytes::new()), Err(OrderError::Stopped(_))));
    assert!(matches!(nodes[1].deliver(Duration::ZERO), Ok(_) | Err(OrderError::TimedOut)));
}

#[test]
fn a_life_goes_on_after_what_an_earlier_one_has_seen() {
    let (mut sockets, addresses) = sockets(1);
    let disk = std::sync::Arc::new(env::SimDisk::new(1, env::SimDiskOptions::default()));
    let start = |socket: TcpListener, resume_after: Option<OrderPosition>| {
        let mut replica = Options::new(1, 0);
        replica.durability = paxos::config::Durability::Fsync;
        let mut options = NodeOptions::new(replica, Listen::On(socket), addresses.clone());
        options.disk = Some(disk.clone());
        NodeOrder::start(options, OrderLimits::default(), resume_after).unwrap()
    };
    let socket = sockets.remove(0);
    let mut first = start(socket.try_clone().unwrap(), None);
    (0..3).for_each(|submission| propose(&first, 0, submission));
    let seen = take(&first, &[0], 3);
    first.stop().unwrap();
    drop(first);
    let second = start(socket, Some(seen[1].position));
    assert_eq!(second.deliver(TIME_LIMIT).unwrap(), seen[2]);
    propose(&second, 0, 0);
    assert_eq!(second.deliver(TIME_LIMIT).unwrap().submission, 0, "submissions count in each life anew");
}

/// Requests of sessions are no payloads: neither such a directory nor such a replica is taken for one of an order.
#[test]
fn a_directory_with_sessions_is_refused_by_name() {
    let (mut sockets, addresses) = sockets(1);
    let disk = std::sync::Arc::new(env::SimDisk::new(1, env::SimDiskOptions::default()));
    let mut replica = Options::new(1, 0);
    replica.durability = paxos::config::Durability::Fsync;
    let log = wal::LogOptions { segment_bytes: 1 << 20, ..wal::LogOptions::default() };
    let (journal, _) = paxos::journal::Journal::open(disk.clone(), &replica, log, 7).unwrap();
    journal.close().unwrap();
    let mut options = NodeOptions::new(replica, Listen::On(sockets.remove(0)), addresses);
    options.disk = Some(disk);
    let error = NodeOrder::start(options, OrderLimits::default(), None).unwrap_err().to_string();
    assert_eq!(error, "this directory belongs to a replica with sessions 65536, not 0");
}
