//! Three nodes on three brokers of Kafka: real processes on loopback, with a proxy between each node and each broker.
//!
//! The tests of a program share the brokers, and have a topic each.
#![allow(dead_code, reason = "each test program needs a part of it")]

use env::Randomness;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use seriatim_kafka::{KafkaError, KafkaOptions, KafkaOrder};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use testing::Proxy;
use testing::brokers::{self, Brokers, Listener, Setting};
use total::suite::{Cluster, Faults, NODES, Partitions};
use total::{OrderLimits, Position};

/// The brokers; none before the first test. One test at a time has them.
static BROKERS: Mutex<Option<Machines>> = Mutex::new(None);

/// Brokers, and proxies of each node to each of them: brokers tell the clients of a node its proxies' ports.
struct Machines {
    brokers: Brokers,
    proxies: Vec<Vec<Proxy>>,
}

/// A listener for each node.
const LISTENERS: [&str; NODES as usize] = ["NODE0", "NODE1", "NODE2"];

impl Machines {
    fn start() -> Machines {
        let listeners = LISTENERS.map(|name| Listener { name, protocol: "PLAINTEXT" });
        let mut brokers = Brokers::new(NODES as usize, Setting { listeners: listeners.into(), ..Setting::default() });
        let proxies: Vec<Vec<Proxy>> = (0..NODES as usize)
            .map(|node| (0..NODES).map(|broker| Proxy::start(brokers.port(broker, node))).collect())
            .collect();
        for (node, proxies) in proxies.iter().enumerate() {
            (0..NODES).zip(proxies).for_each(|(broker, proxy)| brokers.advertise(broker, node, proxy.port));
        }
        brokers.start();
        Machines { brokers, proxies }
    }

    /// Makes good what a test has left.
    fn mend(&mut self) {
        self.proxies.iter().flatten().for_each(Proxy::connect);
        for broker in 0..NODES {
            if self.brokers.is_running(broker) {
                self.brokers.signal(broker, "CONT");
            } else {
                self.brokers.start_again(broker);
            }
        }
    }
}

/// A node and the broker beside it are one machine: they stop and start together.
pub struct Kafka {
    pub limits: OrderLimits,
    pub topic: String,
    nodes: Vec<Option<KafkaOrder>>,
    machines: MutexGuard<'static, Option<Machines>>,
}

impl Kafka {
    /// Brokers, and no nodes.
    pub fn without_nodes(limits: OrderLimits) -> Kafka {
        let mut machines = BROKERS.lock().unwrap_or_else(PoisonError::into_inner);
        machines.get_or_insert_with(Machines::start).mend();
        let topic = format!("order-{:016x}", Randomness::from_entropy().next_u64());
        Kafka { limits, topic, nodes: (0..NODES).map(|_| None).collect(), machines }
    }

    fn machines(&self) -> &Machines {
        self.machines.as_ref().expect("they run")
    }

    pub fn brokers(&mut self) -> &mut Brokers {
        &mut self.machines.as_mut().expect("they run").brokers
    }

    /// Options of a node: it asks the broker beside it first.
    pub fn options(&self, node: u64) -> KafkaOptions {
        let proxies = &self.machines().proxies[node as usize];
        let address = |at: u64| format!("127.0.0.1:{}", proxies[(at % NODES) as usize].port);
        let mut options = KafkaOptions::new(node, (node..node + NODES).map(address).collect());
        options.topic.clone_from(&self.topic);
        options.patience = Kafka::PATIENCE;
        options
    }

    /// Starts a life of a node.
    pub fn try_node(&self, node: u64, resume_after: Option<Position>) -> Result<KafkaOrder, KafkaError> {
        KafkaOrder::start(self.options(node), self.limits, resume_after)
    }

    pub fn start_node(&mut self, node: u64, resume_after: Option<Position>) {
        self.nodes[node as usize] = Some(self.try_node(node, resume_after).expect("the cluster can be used"));
    }

    /// Stops a node, and leaves its broker alone.
    pub fn stop_node(&mut self, node: u64) {
        self.nodes[node as usize] = None;
    }

    /// A client of the brokers, as a program of others.
    pub fn client(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", self.options(0).brokers.join(","));
        config
    }
}

impl Cluster for Kafka {
    type Order = KafkaOrder;

    /// A broker of Java starts slowly where others do too.
    const PATIENCE: Duration = Duration::from_secs(240);

    fn can_start() -> bool {
        brokers::can_start()
    }

    fn start(limits: OrderLimits) -> Kafka {
        let mut cluster = Kafka::without_nodes(limits);
        (0..NODES).for_each(|node| cluster.start_node(node, None));
        cluster
    }

    fn node(&self, node: u64) -> &KafkaOrder {
        self.nodes[node as usize].as_ref().expect("it runs")
    }

    fn stop(&mut self, node: u64) {
        self.stop_node(node);
        self.brokers().kill(node);
    }

    fn restart(&mut self, node: u64, resume_after: Option<Position>) {
        self.brokers().start_again(node);
        self.start_node(node, resume_after);
    }

    fn leader(&self) -> u64 {
        let client: BaseConsumer = self.client().create().unwrap();
        loop {
            let metadata = client.fetch_metadata(Some(&self.topic), Duration::from_secs(5));
            let leader = metadata.ok().and_then(|it| Some(it.topics().first()?.partitions().first()?.leader()));
            if let Some(leader) = leader.and_then(|leader| u64::try_from(leader).ok()) {
                return leader;
            }
        }
    }
}

impl Partitions for Kafka {
    fn cut_off(&self, node: u64) {
        self.machines().proxies[node as usize].iter().for_each(Proxy::cut);
    }

    fn connect(&self, node: u64) {
        self.machines().proxies[node as usize].iter().for_each(Proxy::connect);
    }
}

impl Faults for Kafka {
    fn lose_answers(&self, node: u64) {
        self.machines().proxies[node as usize].iter().for_each(Proxy::lose_answers);
    }

    fn pause(&self, server: u64) {
        self.machines().brokers.signal(server, "STOP");
    }

    fn go_on(&self, server: u64) {
        self.machines().brokers.signal(server, "CONT");
    }

    fn kill(&mut self, server: u64) {
        self.brokers().kill(server);
    }

    fn start_again(&mut self, server: u64) {
        self.brokers().start_again(server);
    }
}
