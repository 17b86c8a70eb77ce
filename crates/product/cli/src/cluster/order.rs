//! The total order of a node: a replica in this process, or an etcd or Kafka cluster.

use super::directory::Directory;
use super::file::{ClusterFile, Etcd, MAX_NODES};
use crate::failure::{Failure, Outcome};
use crate::order::credentials::Credentials;
use env::RealDisk;
use etcd::{EtcdOptions, EtcdOrder};
use net::auth::SharedKey;
use paxos::config::{Durability, Options};
use paxos::node::{Listen, NodeError, NodeOptions};
use paxos::order::{NodeOrder, WaitsFor};
use paxos::status::{Part, PeerStatus, Status};
use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use total::{OrderLimits, Position, TotalOrder};

/// Payloads that are kept for nodes that were away: beyond this they fetch a state.
const KEPT_BYTES: usize = 64 << 20;

/// The total order of a node.
#[derive(Clone)]
pub enum Order {
    /// A replica of this process.
    Paxos(Arc<NodeOrder>),
    /// A node at an etcd cluster.
    Etcd(Arc<EtcdOrder>),
    /// A node at a Kafka cluster.
    #[cfg(feature = "kafka")]
    Kafka(Arc<kafka::KafkaOrder>),
}

/// Another node, as the order sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// Whether there is a connection.
    pub is_connected: bool,
    /// Why not, or why the last one ended.
    pub problem: Option<String>,
}

impl Order {
    /// Begins a life of a node, which has the effects of everything up to `resume_after`.
    pub fn start(
        cluster: &ClusterFile,
        key: Option<SharedKey>,
        node: u64,
        directory: &Directory,
        resume_after: Option<Position>,
    ) -> Outcome<Order> {
        let limits = OrderLimits { kept_bytes: KEPT_BYTES, ..OrderLimits::default() };
        #[cfg(feature = "kafka")]
        if let Some(kafka) = &cluster.kafka {
            let options = kafka_options(&cluster.name, kafka, node)?;
            let order = kafka::KafkaOrder::start(options, limits, resume_after).map_err(Failure::trouble)?;
            return Ok(Order::Kafka(Arc::new(order)));
        }
        match &cluster.etcd {
            Some(etcd) => {
                let options = etcd_options(&cluster.name, etcd, node)?;
                let order = EtcdOrder::start(options, limits, resume_after).map_err(Failure::trouble)?;
                Ok(Order::Etcd(Arc::new(order)))
            }
            None => {
                let options = replica_options(cluster, key, node, directory)?;
                // Every node has its rows on a disk.
                let limits = OrderLimits { forgets_by_majority: true, ..limits };
                let order = NodeOrder::start(options, limits, resume_after).map_err(Failure::trouble)?;
                Ok(Order::Paxos(Arc::new(order)))
            }
        }
    }

    /// The order as its consumers have it.
    pub fn total(&self) -> Arc<dyn TotalOrder> {
        match self {
            Order::Paxos(order) => order.clone(),
            Order::Etcd(order) => order.clone(),
            #[cfg(feature = "kafka")]
            Order::Kafka(order) => order.clone(),
        }
    }

    /// Why it has stopped by itself, if it has.
    pub fn failure(&self) -> Option<NodeError> {
        match self {
            Order::Paxos(order) => order.node().failure(),
            _ => None,
        }
    }

    /// Stops it, so that the others need not find out.
    pub fn stop(&self) {
        if let Order::Paxos(order) = self {
            // Whoever wants to know has asked before.
            let _ = order.stop();
        }
    }

    /// What this node is in the order: `leader`, `follower`, `candidate`, `learner`, `etcd` or `kafka`.
    pub fn part(&self) -> Option<&'static str> {
        match self {
            Order::Paxos(order) => order.node().status().map(|status| name_of(status.role)),
            Order::Etcd(_) => Some("etcd"),
            #[cfg(feature = "kafka")]
            Order::Kafka(_) => Some("kafka"),
        }
    }

    /// The node that leads, if it is known and there is such a thing.
    pub fn leader(&self) -> Option<u64> {
        match self {
            Order::Paxos(order) => order.node().status()?.leader,
            _ => None,
        }
    }

    /// Whether this replica has met all other voters, so that it may vote; always so where it has no vote.
    pub fn is_admitted(&self) -> bool {
        match self {
            Order::Paxos(order) => order.node().status().is_some_and(|status| status.admitted),
            _ => true,
        }
    }

    /// Another node, as far as it is known.
    pub fn peer(&self, node: u64) -> Option<Peer> {
        let Order::Paxos(order) = self else { return None };
        let status = order.node().status()?;
        // A node that has lost its vote is another replica.
        let both = [status.peers.get(&node), status.peers.get(&(node + MAX_NODES as u64))];
        let peer = both.into_iter().flatten().max_by_key(|peer| peer.connected)?;
        let problem = peer.last_error.clone().filter(|_| !peer.connected);
        Some(Peer { is_connected: peer.connected, problem })
    }

    /// What the order waits for, in words; nothing if it has what it needs, as far as this node sees.
    pub fn lacks(&self) -> Option<String> {
        match self {
            Order::Etcd(order) => order.problem().map(|problem| format!("etcd: {problem}")),
            #[cfg(feature = "kafka")]
            Order::Kafka(order) => order.problem().map(|problem| format!("kafka: {problem}")),
            Order::Paxos(order) => {
                let status = order.node().status()?;
                lacks(&status).or_else(|| order.waits_for().map(|what| waits(what, status.id, &voters(&status))))
            }
        }
    }

    /// Whether the order stands still until more is on disks, as [`Order::lacks`] says then.
    pub fn waits_for_disks(&self) -> bool {
        matches!(self, Order::Paxos(order) if order.waits_for().is_some())
    }

    /// The instance of the order below which a node has everything on its disk, as it has told this one, and the number of instances from
    /// there to the last one that was delivered here. Nodes without a vote tell nothing, nor do those of a foreign order.
    pub fn on_disk(&self, node: u64) -> Option<(u64, u64)> {
        let Order::Paxos(order) = self else { return None };
        said_on_disk(&order.node().status()?, node)
    }
}

/// The number of the replica of a node: one that has lost its vote is none of the voters.
pub fn replica_of(node: u64, has_lost_its_vote: bool) -> u64 {
    if has_lost_its_vote { node + MAX_NODES as u64 } else { node }
}

/// The node of a replica.
pub fn node_of(replica: u64) -> u64 {
    replica % MAX_NODES as u64
}

/// An address of this machine.
pub fn resolved(address: &str) -> Outcome<SocketAddr> {
    let found = address.to_socket_addrs().map_err(|error| Failure::Trouble(format!("{address}: {error}")))?;
    let mut found = found;
    found.next().ok_or_else(|| Failure::Trouble(format!("{address}: the address does not resolve")))
}

fn replica_options(
    cluster: &ClusterFile,
    key: Option<SharedKey>,
    node: u64,
    directory: &Directory,
) -> Outcome<NodeOptions> {
    let addresses: Vec<String> = cluster.nodes.iter().filter_map(|node| node.order.clone()).collect();
    let own = usize::try_from(node).ok().and_then(|node| addresses.get(node));
    let own = resolved(own.ok_or_else(|| Failure::trouble("the node has no address for the order"))?)?;
    let voters = cluster.voters();
    let mut replica = Options::new(voters as u64, replica_of(node, directory.has_lost_its_vote()));
    replica.durability = Durability::Fsync;
    let mut options = NodeOptions::new(replica, Listen::At(own), addresses[..voters].to_vec());
    options.key = key;
    options.disk = Some(Arc::new(RealDisk::new(directory.order())));
    Ok(options)
}

fn etcd_options(name: &str, etcd: &Etcd, node: u64) -> Outcome<EtcdOptions> {
    let files = Credentials {
        cacert: etcd.cacert.as_deref(),
        cert: etcd.cert.as_deref().zip(etcd.cert_key.as_deref()),
        user: etcd.user.as_deref().zip(etcd.password_file.as_deref()),
    };
    let mut options = EtcdOptions::new(node, etcd.endpoints.clone());
    // A member of its own for each node, if there are enough.
    options.endpoints.rotate_left(node as usize % etcd.endpoints.len());
    options.prefix = etcd.prefix.clone().unwrap_or_else(|| format!("/seriatim/{name}"));
    (options.tls, options.user) = files.for_etcd()?;
    Ok(options)
}

#[cfg(feature = "kafka")]
fn kafka_options(name: &str, described: &super::file::Kafka, node: u64) -> Outcome<kafka::KafkaOptions> {
    use super::file::Sasl;
    let files = Credentials {
        cacert: described.cacert.as_deref(),
        cert: described.cert.as_deref().zip(described.cert_key.as_deref()),
        user: described.user.as_deref().zip(described.password_file.as_deref()),
    };
    let mut options = kafka::KafkaOptions::new(node, described.brokers.clone());
    // A broker of its own for each node, if there are enough.
    options.brokers.rotate_left(node as usize % described.brokers.len());
    options.topic = described.topic.clone().unwrap_or_else(|| format!("seriatim.{name}"));
    options.replication = described.replication;
    options.tls = files.tls()?.map(|(authorities, identity)| kafka::KafkaTls { authorities, identity });
    let mechanism = match described.sasl {
        Sasl::Plain => kafka::Mechanism::Plain,
        Sasl::ScramSha256 => kafka::Mechanism::ScramSha256,
        Sasl::ScramSha512 => kafka::Mechanism::ScramSha512,
    };
    options.user = files.user()?.map(|(name, password)| kafka::KafkaUser { name, password, mechanism });
    Ok(options)
}

fn name_of(part: Part) -> &'static str {
    match part {
        Part::Leader => "leader",
        Part::Candidate => "candidate",
        Part::Follower => "follower",
        Part::Learner => "learner",
    }
}

fn lacks(status: &Status) -> Option<String> {
    let votes = status.id < status.replicas;
    let missing = missing(status.id, status.replicas, &status.peers);
    too_few(votes, status.replicas, &missing).or_else(|| {
        if votes && !status.admitted {
            let missing = missing.join(", ");
            return Some(format!("a new node votes when it has met every other voter once; missing: {missing}"));
        }
        status.leader.is_none().then(|| "no voter leads yet".to_owned())
    })
}

/// The voters that a replica has no connection with, and why. The voter that its own node has been, before it lost its vote, is none.
fn missing(id: u64, replicas: u64, peers: &BTreeMap<u64, PeerStatus>) -> Vec<String> {
    let peer = |voter: &u64| peers.get(voter);
    (0..replicas)
        .filter(|voter| *voter != node_of(id) && !peer(voter).is_some_and(|peer| peer.connected))
        .map(|voter| match peer(&voter).and_then(|peer| peer.last_error.as_deref()) {
            Some(why) => format!("node {voter} ({why})"),
            None => format!("node {voter}"),
        })
        .collect()
}

/// Says that there is no majority; `None` if there is one.
fn too_few(votes: bool, replicas: u64, missing: &[String]) -> Option<String> {
    let others = replicas - 1 - missing.len() as u64;
    let (needed, reached) = (replicas / 2 + 1, others + u64::from(votes));
    (reached < needed).then(|| {
        let missing = missing.join(", ");
        format!("{needed} of {replicas} voters are needed, and {reached} are here; missing: {missing}")
    })
}

/// A voter, as this node sees it.
#[derive(Clone, Copy, Debug)]
struct Voter {
    node: u64,
    /// The instances that its disk lacks of what was delivered here, if it has said what it has.
    lacks: Option<u64>,
    is_gone: bool,
    has_lost_its_vote: bool,
}

/// Whether a node is known to be another replica than the voter that it was: for good.
fn has_lost_its_vote(status: &Status, node: u64) -> bool {
    let replica = replica_of(node, true);
    status.id == replica || status.peers.contains_key(&replica)
}

/// The instance below which a node has everything on its disk, as it has said, and what it lacks of what was delivered here. The last word
/// of a voter counts for the order, also if its node has no vote any more; of the node's disk it says nothing then.
fn said_on_disk(status: &Status, node: u64) -> Option<(u64, u64)> {
    let below = status.durable.get(&node).copied().filter(|_| !has_lost_its_vote(status, node))?;
    Some((below, status.log.executed.saturating_sub(below)))
}

fn voters(status: &Status) -> Vec<Voter> {
    let voter = |node| Voter {
        node,
        lacks: said_on_disk(status, node).map(|(_, lacks)| lacks),
        is_gone: node != status.id && !status.peers.get(&node).is_some_and(|peer| peer.connected),
        has_lost_its_vote: has_lost_its_vote(status, node),
    };
    (0..status.replicas).map(voter).collect()
}

/// Whose disks the order waits for, in words.
fn waits(what: WaitsFor, own: u64, voters: &[Voter]) -> String {
    let lacks = |voter: &Voter| {
        if voter.has_lost_its_vote {
            return Some(format!("node {} has lost its vote", voter.node));
        }
        let gone = if voter.is_gone { " and is not connected" } else { "" };
        match voter.lacks {
            Some(0) => None,
            Some(lacks) => Some(format!("node {} lacks {lacks} instances{gone}", voter.node)),
            None => Some(format!("node {} has not said what it has{gone}", voter.node)),
        }
    };
    let counts = |voter: &&Voter| what == WaitsFor::MajoritysDisks || voter.node == own;
    let lags: Vec<String> = voters.iter().filter(counts).filter_map(lacks).collect();
    let whose = match what {
        WaitsFor::MajoritysDisks => {
            format!("{} of {} voters have it on their disks", voters.len() / 2 + 1, voters.len())
        }
        WaitsFor::OwnDisk => "this node has it on its disk".to_owned(),
    };
    // A node without a vote tells nobody what it has, and what was lacking may just have come.
    let lags = if lags.is_empty() { String::new() } else { format!(": {}", lags.join(", ")) };
    format!("nothing more is delivered until {whose}{lags}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_disks_are_waited_for_is_said() {
        let voter = |node, lacks, is_gone| Voter { node, lacks, is_gone, has_lost_its_vote: false };
        let voters = [voter(0, Some(0), false), voter(1, Some(2_048), false), voter(2, Some(13_911), true)];
        assert_eq!(
            waits(WaitsFor::MajoritysDisks, 0, &voters),
            "nothing more is delivered until 2 of 3 voters have it on their disks: node 1 lacks 2048 instances, node 2 lacks 13911 \
             instances and is not connected"
        );
        assert_eq!(
            waits(WaitsFor::OwnDisk, 1, &voters),
            "nothing more is delivered until this node has it on its disk: node 1 lacks 2048 instances"
        );
        let silent = [voter(0, Some(9), false), voter(1, None, false)];
        assert!(waits(WaitsFor::MajoritysDisks, 0, &silent).ends_with(
            "until 2 of 2 voters have it on their disks: node 0 lacks 9 instances, node 1 has not said what it has"
        ));
        let lost = [voter(0, Some(9), false), Voter { has_lost_its_vote: true, ..voter(1, None, true) }];
        assert!(
            waits(WaitsFor::MajoritysDisks, 0, &lost).ends_with(": node 0 lacks 9 instances, node 1 has lost its vote")
        );
    }

    /// A node that has lost its vote meets the voters, but not the one that it was.
    #[test]
    fn a_majority_is_one_of_the_other_voters_for_who_has_no_vote() {
        let peer = |connected| PeerStatus {
            connected,
            queued_bytes: 0,
            dropped: 0,
            connections: 1,
            unasked_snapshots: 0,
            last_error: (!connected).then(|| "it was refused".to_owned()),
        };
        let said = |id, peers: &[(u64, bool)]| {
            let peers = peers.iter().map(|&(replica, connected)| (replica, peer(connected))).collect();
            too_few(id < 3, 3, &missing(id, 3, &peers))
        };
        let without_vote = replica_of(2, true);
        assert_eq!(said(without_vote, &[(0, true), (1, true), (2, false)]), None);
        assert_eq!(
            said(without_vote, &[(0, true), (1, false), (2, false)]).as_deref(),
            Some("2 of 3 voters are needed, and 1 are here; missing: node 1 (it was refused)")
        );
        assert_eq!(said(2, &[(0, true), (1, false)]), None, "it votes itself");
        assert_eq!(said(2, &[]).as_deref(), Some("2 of 3 voters are needed, and 1 are here; missing: node 0, node 1"));
    }

    /// What a node without a vote has is in no report, and a voter that has caught up lacks nothing.
    #[test]
    fn nothing_is_named_where_nothing_is_known_to_lack() {
        let voter = |node| Voter { node, lacks: Some(0), is_gone: false, has_lost_its_vote: false };
        let voters = [voter(0), voter(1)];
        assert_eq!(
            waits(WaitsFor::OwnDisk, replica_of(2, true), &voters),
            "nothing more is delivered until this node has it on its disk"
        );
        assert_eq!(
            waits(WaitsFor::MajoritysDisks, 0, &voters),
            "nothing more is delivered until 2 of 2 voters have it on their disks"
        );
    }
}
