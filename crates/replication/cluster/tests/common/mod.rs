//! Nodes of one order in this process, which give each other their states.
#![allow(dead_code, reason = "each test takes what it needs")]

pub mod items;
pub mod mixed;

use env::{RealDisk, SimDisk};
use model::{Engine, Interactive, Store};
use paxos::node::{Listen, NodeOptions};
use paxos::order::NodeOrder;
use seriatim_cluster::{Cluster, Options, States, position_of_start};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::TcpListener;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use testing::Directory;
use total::sequencer::Sequencer;
use total::{OrderLimits, Position, TotalOrder};

/// Longer than anything here takes.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Options with waits that end no test that is only slow.
pub fn options() -> Options {
    Options { catch_up: PATIENCE, answer: PATIENCE, wait_limit: PATIENCE, ..Options::default() }
}

/// The nodes of this process, which send their states through a pipe.
#[derive(Default)]
pub struct Pipes(Mutex<BTreeMap<u64, Weak<Cluster>>>);

impl Pipes {
    pub fn enter(&self, node: u64, cluster: &Arc<Cluster>) {
        self.0.lock().expect("no panic").insert(node, Arc::downgrade(cluster));
    }
}

impl States for Pipes {
    fn fetch(&self, holder: u64, at_least: Position) -> io::Result<Box<dyn Read + Send>> {
        let node = self.0.lock().expect("no panic").get(&holder).and_then(Weak::upgrade);
        let node = node.ok_or_else(|| io::Error::other("it does not run"))?;
        let (from, mut to) = io::pipe()?;
        // A holder without a state closes the pipe: the reader finds its end.
        std::thread::spawn(move || node.write_state(at_least, Duration::from_secs(5), &mut to));
        Ok(Box::new(from))
    }
}

/// A local store of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Hyper,
    Mvto,
}

impl Kind {
    pub fn in_memory(self) -> Arc<dyn Store> {
        match self {
            Kind::Hyper => Arc::new(Engine(Arc::new(hyper::Hyper::new(hyper::Options::default())))),
            Kind::Mvto => Arc::new(Engine(Arc::new(mvto::Mvto::in_memory(mvto::Options::default()).expect("memory")))),
        }
    }

    pub fn on(self, disk: &SimDisk) -> Arc<dyn Store> {
        let disk = Arc::new(disk.clone());
        match self {
            Kind::Hyper => {
                Arc::new(Engine(Arc::new(hyper::Hyper::open(disk, hyper::Options::default()).expect("a good disk"))))
            }
            Kind::Mvto => {
                Arc::new(Engine(Arc::new(mvto::Mvto::open(disk, mvto::Options::default()).expect("a good disk"))))
            }
        }
    }
}

/// A local store that may take so many bytes of memory.
pub fn limited(memory_bytes: usize) -> Arc<dyn Store> {
    let options = hyper::Options { memory_bytes: Some(memory_bytes), ..hyper::Options::default() };
    Arc::new(Engine(Arc::new(hyper::Hyper::new(options))))
}

/// Replicas of the proved order on loopback, each with a directory that survives it.
pub struct Replicas {
    sockets: Vec<TcpListener>,
    addresses: Vec<String>,
    directory: Directory,
    running: BTreeMap<u64, Arc<NodeOrder>>,
}

impl Replicas {
    pub fn new(count: u64) -> Replicas {
        let sockets: Vec<_> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
        let address = |socket: &TcpListener| socket.local_addr().expect("it is bound").to_string();
        let addresses = sockets.iter().map(address).collect();
        Replicas { sockets, addresses, directory: Directory::new("cluster"), running: BTreeMap::new() }
    }

    fn start(&mut self, node: u64, resume_after: Option<Position>, limits: OrderLimits) -> Arc<NodeOrder> {
        let socket = self.sockets[node as usize].try_clone().expect("a socket");
        let replica = paxos::config::Options {
            durability: paxos::config::Durability::Fsync,
            ..paxos::config::Options::new(self.sockets.len() as u64, node)
        };
        let mut options = NodeOptions::new(replica, Listen::On(socket), self.addresses.clone());
        options.disk = Some(Arc::new(RealDisk::new(self.directory.join(&node.to_string()))));
        let order = Arc::new(NodeOrder::start(options, limits, resume_after).expect("a good directory"));
        self.running.insert(node, order.clone());
        order
    }

    fn stop(&mut self, node: u64) {
        let order = self.running.remove(&node).expect("it runs");
        order.node().stop().expect("it stops");
    }
}

/// Nodes, and the order between them.
pub struct Nodes {
    /// The proved order, where it is not the sequencer.
    pub replicas: Option<Replicas>,
    pub limits: OrderLimits,
    pub sequencer: Sequencer,
    pub nodes: BTreeMap<u64, Arc<Cluster>>,
    /// The local stores, which outlive their nodes.
    pub locals: BTreeMap<u64, Arc<dyn Store>>,
    pub pipes: Arc<Pipes>,
    pub options: Options,
    pub kind: Kind,
}

impl Nodes {
    pub fn open(count: u64, kind: Kind, options: Options) -> Nodes {
        Nodes::open_with(count, kind, options, OrderLimits::default())
    }

    pub fn open_with(count: u64, kind: Kind, options: Options, limits: OrderLimits) -> Nodes {
        Nodes::open_over(None, count, kind, options, limits)
    }

    /// Nodes of which none runs.
    pub fn none(replicas: Option<Replicas>, kind: Kind, options: Options, limits: OrderLimits) -> Nodes {
        Nodes {
            replicas,
            limits,
            sequencer: Sequencer::new(limits),
            nodes: BTreeMap::new(),
            locals: BTreeMap::new(),
            pipes: Arc::default(),
            options,
            kind,
        }
    }

    pub fn open_over(
        replicas: Option<Replicas>,
        count: u64,
        kind: Kind,
        options: Options,
        limits: OrderLimits,
    ) -> Nodes {
        let mut nodes = Nodes::none(replicas, kind, options, limits);
        for node in 0..count {
            nodes.start(node, kind.in_memory());
        }
        nodes.wait();
        nodes
    }

    /// Starts a node on a local store.
    pub fn start(&mut self, node: u64, local: Arc<dyn Store>) -> Arc<Cluster> {
        let start = position_of_start(&*local).expect("a good store");
        self.locals.insert(node, local.clone());
        let order: Arc<dyn TotalOrder> = match &mut self.replicas {
            Some(replicas) => replicas.start(node, start, self.limits),
            None => Arc::new(self.sequencer.join(node, start)),
        };
        let cluster = Cluster::open(local, order, self.pipes.clone(), self.options.clone()).expect("a good store");
        self.pipes.enter(node, &cluster);
        self.nodes.insert(node, cluster.clone());
        cluster
    }

    /// Stops a node. Its threads end when the last that uses it has dropped it.
    pub fn stop(&mut self, node: u64) -> Arc<Cluster> {
        match &mut self.replicas {
            Some(replicas) => replicas.stop(node),
            None => self.sequencer.stop(node),
        }
        self.nodes.remove(&node).expect("it runs")
    }

    /// Waits until all take part and have what was acknowledged.
    pub fn wait(&self) {
        self.nodes.values().for_each(|node| node.wait_until_current(PATIENCE).expect("it comes"));
    }

    pub fn node(&self, node: u64) -> &Arc<Cluster> {
        &self.nodes[&node]
    }

    /// A node as a store.
    pub fn store(&self, node: u64) -> Arc<dyn Store> {
        Arc::new(Engine(self.nodes[&node].clone()))
    }
}

/// The whole of a table, as a transaction of a node sees it.
pub fn rows(node: &Arc<Cluster>, table: model::TableId) -> Vec<(Vec<u8>, Vec<u8>)> {
    use model::{Access, Begin, Finish, Mode, Scan};
    let mut open = node.begin_owned(Begin { mode: Mode::ReadOnly, ..Begin::default() }).expect("room");
    let mut rows = Vec::new();
    open.scan(&Scan::table(table), &mut |item| {
        rows.push((item.key.to_vec(), item.row.bytes().to_vec()));
        std::ops::ControlFlow::Continue(())
    })
    .expect("it can be read");
    open.commit().expect("a reader commits");
    rows
}
