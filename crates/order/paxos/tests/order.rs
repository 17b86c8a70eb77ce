//! The order of replicas that run in this process passes the suite of all orders, whatever happens to a node.

use bytes::Bytes;
use env::time::Duration;
use env::{Randomness, RealDisk, SimDisk, SimDiskOptions};
use paxos::config::{Durability, Options};
use paxos::node::{Listen, NodeOptions};
use paxos::order::{NodeOrder, WaitsFor};
use seriatim_paxos as paxos;
use std::net::TcpListener;
use std::sync::Arc;
use testing::{Directory, Proxy};
use total::suite::faults::under_faults;
use total::suite::{Cluster, Faults, NODES, Partitions, lag};
use total::{Event, OrderError, OrderLimits, Position, TotalOrder, order_partitions, order_suite};

/// Three replicas on loopback, each with a directory that survives it, and a proxy from each to each other one.
struct Replicas {
    sockets: Vec<TcpListener>,
    /// By who connects, and to whom.
    proxies: Vec<Vec<Proxy>>,
    directory: Directory,
    limits: OrderLimits,
    nodes: Vec<Option<NodeOrder>>,
}

/// Sockets that know each other before the nodes start.
fn sockets(count: u64) -> (Vec<TcpListener>, Vec<String>) {
    let sockets: Vec<_> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let addresses = sockets.iter().map(|socket| socket.local_addr().unwrap().to_string()).collect();
    (sockets, addresses)
}

fn is_admitted(node: &NodeOrder) -> bool {
    assert!(node.node().failure().is_none(), "{:?}", node.node().failure());
    node.node().status().is_some_and(|status| status.admitted)
}

fn disk(seed: u64) -> Arc<SimDisk> {
    Arc::new(SimDisk::new(seed, SimDiskOptions::default()))
}

fn port(socket: &TcpListener) -> u16 {
    socket.local_addr().unwrap().port()
}

impl Replicas {
    /// Where a node finds all: itself where it listens, the others behind its proxies.
    fn addresses(&self, node: usize) -> Vec<String> {
        let to = |at: usize| if at == node { port(&self.sockets[at]) } else { self.proxies[node][at].port };
        (0..self.sockets.len()).map(|at| format!("127.0.0.1:{}", to(at))).collect()
    }

    /// The proxies of a node's connections: those that it makes, and those that the others make to it.
    fn proxies_of(&self, node: u64) -> impl Iterator<Item = &Proxy> {
        let at = node as usize;
        self.proxies[at].iter().chain(self.proxies.iter().map(move |of_other| &of_other[at]))
    }

    fn start_node(&mut self, node: u64, resume_after: Option<Position>) {
        let at = node as usize;
        let mut replica = Options::new(NODES, node);
        replica.durability = Durability::Fsync;
        let listen = Listen::On(self.sockets[at].try_clone().unwrap());
        let mut options = NodeOptions::new(replica, listen, self.addresses(at));
        options.disk = Some(Arc::new(RealDisk::new(self.directory.join(&node.to_string()))));
        self.nodes[at] = Some(NodeOrder::start(options, self.limits, resume_after).unwrap());
    }
}

impl Cluster for Replicas {
    type Order = NodeOrder;

    fn start(limits: OrderLimits) -> Replicas {
        let (sockets, _) = sockets(NODES);
        let nodes = (0..NODES).map(|_| None).collect();
        let proxies = || sockets.iter().map(|socket| Proxy::start(port(socket))).collect();
        let proxies = (0..NODES).map(|_| proxies()).collect();
        let mut replicas = Replicas { sockets, proxies, directory: Directory::new("order"), limits, nodes };
        (0..NODES).for_each(|node| replicas.start_node(node, None));
        // A new cluster begins when all have met: a test that stops a node at once would wait for it for ever.
        while !replicas.nodes.iter().flatten().all(is_admitted) {
            std::thread::yield_now();
        }
        replicas
    }

    fn node(&self, node: u64) -> &NodeOrder {
        self.nodes[node as usize].as_ref().expect("it runs")
    }

    fn stop(&mut self, node: u64) {
        drop(self.nodes[node as usize].take());
    }

    fn restart(&mut self, node: u64, resume_after: Option<Position>) {
        self.start_node(node, resume_after);
    }

    fn leader(&self) -> u64 {
        loop {
            match self.nodes.iter().flatten().find_map(|node| node.node().status()?.leader) {
                Some(leader) => return leader,
                None => std::thread::yield_now(),
            }
        }
    }
}

impl Partitions for Replicas {
    fn cut_off(&self, node: u64) {
        self.proxies_of(node).for_each(Proxy::cut);
    }

    fn connect(&self, node: u64) {
        self.proxies_of(node).for_each(Proxy::connect);
    }
}

/// A node has no server beside it: its replica stops and starts with it. So a fault of a server is one of the connections of its replica:
/// a paused one answers nothing, and all that was sent to it comes when it goes on.
impl Faults for Replicas {
    fn lose_answers(&self, node: u64) {
        self.proxies_of(node).for_each(Proxy::lose_answers);
    }

    fn pause(&self, server: u64) {
        self.proxies_of(server).for_each(|proxy| {
            proxy.hold_questions();
            proxy.hold_answers();
        });
    }

    fn go_on(&self, server: u64) {
        self.connect(server);
    }

    fn kill(&mut self, server: u64) {
        self.cut_off(server);
    }

    fn start_again(&mut self, server: u64) {
        self.connect(server);
    }
}

/// Connections are held up, cut and lose answers, nodes start again: in any order, under load.
#[test]
fn whatever_happens_all_lives_are_delivered_one_order() {
    let seed =
        std::env::var("SEED").map_or_else(|_| Randomness::from_entropy().next_u64(), |seed| seed.parse().unwrap());
    testing::say(&format!("the faults of Paxos: SEED={seed}"));
    let count = under_faults::<Replicas>(seed, 12);
    assert!(count > 1_000, "{count} deliveries");
}

order_suite!(Replicas);
order_partitions!(Replicas);

#[test]
fn a_bare_majority_waits_for_who_is_behind() {
    lag::a_bare_majority_waits_for_who_is_behind::<Replicas>();
}

#[test]
fn a_stopped_order_says_so() {
    let mut replicas = Replicas::start(OrderLimits::default());
    let node = replicas.nodes[0].as_mut().unwrap();
    node.propose("x".into()).unwrap();
    node.deliver(&mut Vec::new(), 1, Replicas::PATIENCE).unwrap();
    node.stop().unwrap();
    let patience = Replicas::PATIENCE;
    let is_stopped = |error| matches!(error, OrderError::Stopped(_));
    assert!(node.deliver(&mut Vec::new(), 1, patience).is_err_and(is_stopped));
    assert!(node.propose("y".into()).is_err_and(is_stopped));
    assert!(node.barrier(patience).is_err_and(is_stopped));
}

/// Who waits for room or for a barrier does not wait for ever.
#[test]
fn a_stop_wakes_who_waits() {
    let limits = OrderLimits { proposals: 1, deliveries: 1, ..OrderLimits::default() };
    // One of three: nothing is ordered.
    let (mut sockets, addresses) = sockets(NODES);
    let options = NodeOptions::new(Options::new(NODES, 0), Listen::On(sockets.remove(0)), addresses);
    let order = NodeOrder::start(options, limits, None).unwrap();
    order.propose(Bytes::from("x")).unwrap();
    assert_eq!(order.barrier(Duration::from_secs(60)), Err(OrderError::Busy));
    assert_eq!(order.room(Duration::ZERO), Err(OrderError::TimedOut));
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| order.room(Duration::from_secs(60)));
        order.node().stop().unwrap();
        assert!(matches!(waits.join().unwrap(), Err(OrderError::Stopped(_))));
    });
}

/// A life that was told up to where its state is goes on behind it, though the others have forgotten much more.
#[test]
fn a_single_replica_keeps_what_its_consumer_needs() {
    let (mut sockets, addresses) = sockets(1);
    let disk = disk(1);
    let socket = sockets.remove(0);
    let start = |resume_after: Option<Position>| {
        let mut replica = Options::new(1, 0);
        replica.durability = Durability::Fsync;
        replica.snapshot_bytes = 1_000;
        let mut options = NodeOptions::new(replica, Listen::On(socket.try_clone().unwrap()), addresses.clone());
        options.disk = Some(disk.clone());
        NodeOrder::start(options, OrderLimits::default(), resume_after).unwrap()
    };
    let take = |order: &NodeOrder| {
        let mut events = Vec::new();
        order.deliver(&mut events, 1, Replicas::PATIENCE).unwrap();
        let Some(Event::Ordered(delivered)) = events.pop() else { panic!("nothing else is delivered") };
        delivered
    };
    let first = start(None);
    let mut seen = Vec::new();
    for number in 0..100 {
        first.propose(vec![number; 500].into()).unwrap();
        seen.push(take(&first));
        if number == 10 {
            first.keep_from(seen[10].position);
        }
    }
    assert!(first.node().status().is_some());
    drop(first);
    let second = start(Some(seen[10].position));
    for before in &seen[11..] {
        assert_eq!(take(&second), *before);
    }
}

/// Requests of sessions are no payloads: neither such a directory nor such a replica is taken for one of an order.
#[test]
fn a_directory_with_sessions_is_refused_by_name() {
    let (mut sockets, addresses) = sockets(1);
    let disk = disk(1);
    let mut replica = Options::new(1, 0);
    replica.durability = Durability::Fsync;
    let log = wal::LogOptions { segment_bytes: 1 << 20, ..wal::LogOptions::default() };
    let (journal, _) = paxos::journal::Journal::open(disk.clone(), &replica, log, 7).unwrap();
    journal.close().unwrap();
    let mut options = NodeOptions::new(replica, Listen::On(sockets.remove(0)), addresses);
    options.disk = Some(disk);
    let error = NodeOrder::start(options, OrderLimits::default(), None).unwrap_err().to_string();
    assert_eq!(error, "this directory belongs to a replica with sessions 65536, not 0");
}

/// Takes once, and says that it is on the disk.
fn take_and_keep(order: &NodeOrder) {
    let mut events = Vec::new();
    match order.deliver(&mut events, 100, Duration::from_millis(10)) {
        Ok(()) | Err(OrderError::TimedOut) => {}
        Err(error) => panic!("{error}"),
    }
    let last = events.iter().rev().find_map(|event| match event {
        Event::Ordered(delivered) => Some(delivered.position),
        _ => None,
    });
    last.into_iter().for_each(|at| order.keep_from(at));
}

/// An operator sees why an order stands still: whose disks it waits for, and what each has.
#[test]
fn a_replica_that_waits_for_disks_says_for_whose() {
    let replicas = Replicas::start(OrderLimits { forgets_by_majority: true, ..OrderLimits::default() });
    let [order, other] = [replicas.node(0), replicas.node(1)];
    let large = Bytes::from(vec![7; 256 << 10]);
    while order.waits_for().is_none() {
        // There may be no room, since nothing is delivered any more.
        let _ = order.propose(large.clone());
        take_and_keep(order);
    }
    assert_eq!(order.waits_for(), Some(WaitsFor::MajoritysDisks));
    let durable = |voter| order.node().status().and_then(|status| status.durable.get(&voter).copied());
    while durable(0).is_none() {
        std::thread::yield_now();
    }
    assert_eq!([1, 2].map(durable), [None; 2], "they have said nothing");
    while order.waits_for().is_some() {
        take_and_keep(other);
    }
    while durable(1).is_none() {
        std::thread::yield_now();
    }
    assert!(durable(1) > Some(0));
}
