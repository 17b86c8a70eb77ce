//! `seriatim order`: a replicated total order, and a key-value example on it.

mod bench;
mod cluster;
mod connection;
pub mod credentials;
mod key_value;
mod knobs;
mod load;
mod monitor;
pub mod node;
mod status;

use crate::failure::Outcome;
use clap::{Args, Subcommand};

/// Order requests on several machines (Multi-Paxos), with a key-value example. Available while a majority runs.
/// (The replicated database is `seriatim serve --cluster`.)
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    seriatim order cluster 3 --data ./data/order\n  \
    seriatim order put colour blue\n  \
    seriatim order get colour\n  \
    seriatim order status\n  \
    seriatim order load --seconds 10\n\n\
    On several machines, run one of these on each:\n  \
    seriatim order node --id 0 --peers a:7400,b:7400,c:7400 --key order.key --data ./data --durability fsync")]
pub struct Order {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Node(node::StartNode),
    Cluster(cluster::Cluster),
    Status(status::Status),
    Get(key_value::Get),
    Put(key_value::Put),
    Del(key_value::Del),
    Cas(key_value::Cas),
    Add(key_value::Add),
    List(key_value::List),
    Load(load::Load),
    Bench(bench::Bench),
}

impl Order {
    pub fn run(&self) -> Outcome {
        match &self.command {
            Command::Node(node) => node.run(),
            Command::Cluster(cluster) => cluster.run(),
            Command::Status(status) => status.run(),
            Command::Get(get) => get.run(),
            Command::Put(put) => put.run(),
            Command::Del(del) => del.run(),
            Command::Cas(cas) => cas.run(),
            Command::Add(add) => add.run(),
            Command::List(list) => list.run(),
            Command::Load(load) => load.run(),
            Command::Bench(bench) => bench.run(),
        }
    }
}
