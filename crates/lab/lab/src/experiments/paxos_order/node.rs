//! A replica in a process of its own: `lab order-node PLAN`, which only the lab calls.
//!
//! It writes [`READY`] when it listens, answers [`STATUS`] with a line of JSON, and ends when its input does, so that no
//! replica outlives the lab.

use super::arguments::{Durability, Engine};
use crate::plain_core::Plain;
use crate::processes::Failure;
use env::{Disk, RealDisk};
use paxos::config::{self, Options};
use paxos::core::{Core, Proved};
use rsm::node::{Listen, Node, NodeOptions};
use rsm::service::EmptyService;
use rsm::status::Part;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Line that a replica writes once it listens.
pub const READY: &str = "ready";

/// Line that requests a replica's status.
pub const STATUS: &str = "status";

/// Start-up arguments of a replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodePlan {
    /// Which core.
    pub engine: Engine,
    /// The replica's number.
    pub id: u64,
    /// Addresses of all replicas, this one included.
    pub addresses: Vec<String>,
    /// Durability of votes.
    pub durability: Durability,
    /// Path of the journal, if there is one.
    pub data: Option<PathBuf>,
    /// Bytes of requests in a batch, at most.
    pub batch_bytes: u64,
    /// Milliseconds of silence after which the leader is suspected.
    pub suspicion_ms: u64,
}

/// Status report of a replica.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Whether it is the leader.
    pub leads: bool,
    /// The next instance to execute.
    pub executed: u64,
    /// Batches that it has delivered.
    pub batches: u64,
    /// Requests that it has executed.
    pub requests: u64,
    /// Snapshots of others that it has installed.
    pub installed: u64,
    /// Times that it became the leader.
    pub elections: u64,
}

/// Runs a replica until `input` ends.
///
/// # Errors
/// It cannot be started, or has stopped by itself.
pub fn run(plan: &str, input: impl BufRead, output: &mut dyn Write) -> Result<(), Failure> {
    let plan: NodePlan = serde_json::from_str(plan).map_err(|error| format!("not a plan: {error}"))?;
    match plan.engine {
        Engine::Proved => serve::<Proved>(&plan, input, output),
        Engine::Plain => serve::<Plain>(&plan, input, output),
        Engine::Etcd | Engine::EtcdSingle => Err("etcd runs in a process of its own".to_owned()),
    }
}

fn serve<C: Core>(plan: &NodePlan, input: impl BufRead, output: &mut dyn Write) -> Result<(), Failure> {
    let node = Node::start_with::<EmptyService, C>(options(plan)?, EmptyService).map_err(|error| error.to_string())?;
    say(output, READY)?;
    for line in input.lines() {
        let line = line.map_err(|error| format!("cannot read what to do: {error}"))?;
        if line != STATUS {
            return Err(format!("asked for {line:?}"));
        }
        if let Some(failure) = node.failure() {
            return Err(failure.to_string());
        }
        say(output, &serde_json::to_string(&status(&node)).map_err(|error| error.to_string())?)?;
    }
    node.stop().map_err(|error| error.to_string())
}

fn status(node: &Node) -> Status {
    // None in the first moments, when nothing has happened.
    node.status().map_or_else(Status::default, |status| Status {
        leads: status.role == Part::Leader,
        executed: status.executor.next,
        batches: status.counters.batches,
        requests: status.executor.requests,
        installed: status.counters.snapshots_installed,
        elections: status.counters.elections,
    })
}

fn say(output: &mut dyn Write, line: &str) -> Result<(), Failure> {
    writeln!(output, "{line}").and_then(|()| output.flush()).map_err(|error| format!("cannot answer: {error}"))
}

fn options(plan: &NodePlan) -> Result<NodeOptions, Failure> {
    let mut replica = Options::new(plan.addresses.len() as u64, plan.id);
    replica.batch_bytes = usize::try_from(plan.batch_bytes).map_err(|_| "too long batches")?;
    replica.suspicion = Duration::from_millis(plan.suspicion_ms);
    replica.durability = match plan.durability {
        Durability::Memory => config::Durability::Memory,
        Durability::Fsync => config::Durability::Fsync,
    };
    let own =
        usize::try_from(plan.id).ok().and_then(|id| plan.addresses.get(id)).ok_or("a replica without an address")?;
    let own = own.parse().map_err(|error| format!("{own} is no address: {error}"))?;
    let mut options = NodeOptions::new(replica, Listen::At(own), plan.addresses.clone());
    options.order.disk = plan.data.as_ref().map(|data| Arc::new(RealDisk::new(data)) as Arc<dyn Disk>);
    Ok(options)
}
