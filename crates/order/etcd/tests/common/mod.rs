//! Three nodes on three members of etcd: real processes on loopback, with a proxy between each node and each member.
#![allow(dead_code, reason = "each test program needs a part of it")]

use seriatim_etcd::{EtcdError, EtcdOptions, EtcdOrder};
use std::sync::{Mutex, MutexGuard, PoisonError};
use testing::{Members, Proxy};
use total::suite::{Cluster, Faults, NODES, Partitions};
use total::{OrderLimits, Position};

/// One cluster at a time: each has three processes that write to the disk.
static TURN: Mutex<()> = Mutex::new(());

/// A node and the member beside it are one machine: they stop and start together.
pub struct Etcd {
    pub limits: OrderLimits,
    nodes: Vec<Option<EtcdOrder>>,
    /// Of each node, to each member.
    proxies: Vec<Vec<Proxy>>,
    pub members: Members,
    _turn: MutexGuard<'static, ()>,
}

impl Etcd {
    /// Members with these options, and nodes with these limits.
    pub fn with(limits: OrderLimits, arguments: &[&str]) -> Etcd {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let quick = ["--heartbeat-interval", "50", "--election-timeout", "500"];
        let members = Members::start(NODES, "http", &[&quick[..], arguments].concat());
        let proxies = (0..NODES).map(|_| (0..NODES).map(|at| Proxy::start(members.port(at))).collect()).collect();
        let nodes = (0..NODES).map(|_| None).collect();
        let mut all = Etcd { limits, nodes, proxies, members, _turn: turn };
        (0..NODES).for_each(|node| all.start_node(node, None));
        all
    }

    /// Addresses of the members for a node: the one beside it first.
    pub fn endpoints(&self, node: u64) -> Vec<String> {
        let address = |at: u64| format!("http://127.0.0.1:{}", self.proxies[node as usize][at as usize].port);
        (node..node + NODES).map(|at| address(at % NODES)).collect()
    }

    /// Starts a life of a node.
    pub fn try_node(&self, node: u64, resume_after: Option<Position>) -> Result<EtcdOrder, EtcdError> {
        let mut options = EtcdOptions::new(node, self.endpoints(node));
        options.in_flight = 4;
        EtcdOrder::start(options, self.limits, resume_after)
    }

    pub fn start_node(&mut self, node: u64, resume_after: Option<Position>) {
        self.nodes[node as usize] = Some(self.try_node(node, resume_after).expect("the cluster can be used"));
    }

    /// Stops a node, and leaves its member alone.
    pub fn stop_node(&mut self, node: u64) {
        self.nodes[node as usize] = None;
    }
}

impl Cluster for Etcd {
    type Order = EtcdOrder;

    fn can_start() -> bool {
        testing::has("etcd", "an order on etcd (Debian: etcd-server)")
    }

    fn start(limits: OrderLimits) -> Etcd {
        Etcd::with(limits, &[])
    }

    fn node(&self, node: u64) -> &EtcdOrder {
        self.nodes[node as usize].as_ref().expect("it runs")
    }

    fn stop(&mut self, node: u64) {
        self.stop_node(node);
        self.members.kill(node);
    }

    fn restart(&mut self, node: u64, resume_after: Option<Position>) {
        self.members.start_again(node);
        self.start_node(node, resume_after);
    }

    fn leader(&self) -> u64 {
        self.members.leader()
    }
}

impl Partitions for Etcd {
    fn cut_off(&self, node: u64) {
        self.proxies[node as usize].iter().for_each(Proxy::cut);
    }

    fn connect(&self, node: u64) {
        self.proxies[node as usize].iter().for_each(Proxy::connect);
    }
}

impl Faults for Etcd {
    fn lose_answers(&self, node: u64) {
        self.proxies[node as usize].iter().for_each(Proxy::lose_answers);
    }

    fn pause(&self, server: u64) {
        self.members.signal(server, "STOP");
    }

    fn go_on(&self, server: u64) {
        self.members.signal(server, "CONT");
    }

    fn kill(&mut self, server: u64) {
        self.members.kill(server);
    }

    fn start_again(&mut self, server: u64) {
        self.members.start_again(server);
    }
}
