//! A cluster and its clients in one process: how many requests a second are ordered, how long they take, and what CPU that costs.
//!
//! ```sh
//! cargo run --release -p seriatim-load --example order -- --replicas 3 --clients 1200 --seconds 10
//! ```
//!
//! `--rate 65000` sends at a rate, `--key` authenticates every frame, `--data DIR` keeps journals there (durability
//! `fsync`), `--spread` connects clients to all replicas instead of the leader, `--status` shows at the end how each
//! node does.

use std::error::Error;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bytes::Bytes;
use env::RealDisk;
use net::auth::SharedKey;
use paxos::config::{Durability, Options};
use rsm::node::{Listen, Node, NodeOptions};
use rsm::service::EmptyService;
use seriatim_load::{Load, LoadPlan, Pace};

/// Connections to the leader: few make few system calls.
const CONNECTIONS: usize = 4;

const WARM_UP: Duration = Duration::from_secs(2);

struct Arguments(Vec<String>);

impl Arguments {
    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|argument| argument == name)
    }

    fn value(&self, name: &str) -> Result<Option<&str>, Box<dyn Error>> {
        let Some(position) = self.0.iter().position(|argument| argument == name) else { return Ok(None) };
        let value = self.0.get(position + 1).ok_or_else(|| format!("{name} needs a value"))?;
        Ok(Some(value))
    }

    fn number(&self, name: &str) -> Result<Option<f64>, Box<dyn Error>> {
        Ok(self.value(name)?.map(str::parse).transpose()?)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments(std::env::args().skip(1).collect());
    let key = arguments.has("--key").then(|| SharedKey::from_bytes(&[7; 32])).transpose()?;
    let replicas = arguments.number("--replicas")?.unwrap_or(3.0) as u64;
    let (nodes, addresses) = cluster(replicas, key.as_ref(), arguments.value("--data")?)?;
    let leader = leader_of(&nodes)?;
    let mut load = Load::start(LoadPlan {
        addresses: if arguments.has("--spread") { addresses } else { vec![addresses[leader].clone(); CONNECTIONS] },
        key,
        clients: arguments.number("--clients")?.unwrap_or(1_200.0) as usize,
        body: Bytes::from_static(&[0; 40]),
        pace: arguments.number("--rate")?.map_or(Pace::Closed, Pace::Rate),
        retry: Duration::from_secs(2),
        nonce: 1,
    })?;
    sleep(WARM_UP);
    let (start, requests, batches) = (Instant::now(), load.acknowledged(), batches_of(&nodes[leader]));
    load.open_window();
    sleep(Duration::from_secs_f64(arguments.number("--seconds")?.unwrap_or(10.0)));
    let (seconds, latencies) = (start.elapsed().as_secs_f64(), load.window());
    let (requests, batches) = (load.acknowledged() - requests, batches_of(&nodes[leader]) - batches);
    if let Some(problem) = load.last_problem() {
        println!("a connection was lost or not made: {problem}");
    }
    load.stop();
    println!("{:.0} requests/s, {:.0} batches/s", requests as f64 / seconds, batches as f64 / seconds);
    println!("p50 {:.0} us, p99 {:.0} us, p99.9 {:.0} us", latencies.p50_us, latencies.p99_us, latencies.p999_us);
    for node in &nodes {
        let status = node.status().filter(|_| arguments.has("--status"));
        status.iter().for_each(|status| println!("{}", status.to_json()));
        node.stop()?;
    }
    Ok(())
}

fn cluster(
    replicas: u64,
    key: Option<&SharedKey>,
    data: Option<&str>,
) -> Result<(Vec<Node>, Vec<String>), Box<dyn Error>> {
    let listeners = (0..replicas).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<Vec<_>, _>>()?;
    let addresses: Vec<String> =
        listeners.iter().map(|listener| Ok(listener.local_addr()?.to_string())).collect::<std::io::Result<_>>()?;
    let mut nodes = Vec::new();
    for (id, listener) in (0..).zip(listeners) {
        let mut options = NodeOptions::new(Options::new(replicas, id), Listen::On(listener), addresses.clone());
        options.order.key = key.cloned();
        if let Some(directory) = data {
            options.order.replica.durability = Durability::Fsync;
            options.order.disk = Some(Arc::new(RealDisk::new(format!("{directory}/{id}"))));
        }
        nodes.push(Node::start(options, EmptyService)?);
    }
    Ok((nodes, addresses))
}

fn leader_of(nodes: &[Node]) -> Result<usize, Box<dyn Error>> {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        if let Some(leader) = nodes.iter().find_map(|node| node.status()?.leader) {
            return Ok(usize::try_from(leader)?);
        }
        sleep(Duration::from_millis(10));
    }
    Err("nobody leads".into())
}

fn batches_of(node: &Node) -> u64 {
    node.status().map_or(0, |status| status.counters.batches)
}
