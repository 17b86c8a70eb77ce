//! Replicas of the proved protocol in this process, on loopback and in memory.

use paxos::config::Options;
use paxos::node::{Listen, NodeOptions};
use paxos::order::NodeOrder;
use std::fmt::Display;
use std::net::TcpListener;
use std::thread;
use total::OrderLimits;

/// So many replicas, once all have met.
///
/// # Errors
/// The system refuses sockets or threads: a sentence.
pub fn replicas(count: u64) -> Result<Vec<NodeOrder>, String> {
    let in_words = |error: &dyn Display| format!("cannot start replicas on loopback: {error}");
    let sockets: Result<Vec<TcpListener>, _> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0")).collect();
    let sockets = sockets.map_err(|error| in_words(&error))?;
    let addresses: Result<Vec<String>, _> =
        sockets.iter().map(|socket| socket.local_addr().map(|address| address.to_string())).collect();
    let addresses = addresses.map_err(|error| in_words(&error))?;
    let start = |(id, socket)| {
        let options = NodeOptions::new(Options::new(count, id), Listen::On(socket), addresses.clone());
        NodeOrder::start(options, OrderLimits::default(), None).map_err(|error| in_words(&error))
    };
    let nodes: Vec<NodeOrder> = (0..count).zip(sockets).map(start).collect::<Result<_, _>>()?;
    let is_admitted = |node: &NodeOrder| node.node().status().is_some_and(|status| status.admitted);
    while !nodes.iter().all(is_admitted) {
        if let Some(error) = nodes.iter().find_map(|node| node.node().failure()) {
            return Err(in_words(&error));
        }
        thread::yield_now();
    }
    Ok(nodes)
}
