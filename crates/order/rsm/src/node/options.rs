//! Options of a node.

use net::auth::SharedKey;
use paxos::config::Options;
use paxos::node::{self, Listen};

/// Options of a node: those of the order, and those of its clients.
#[derive(Debug)]
pub struct NodeOptions {
    /// Options of the order. Its addresses are those for clients too.
    pub order: node::NodeOptions,
    /// The key of clients, if it is not the replicas' own. One who holds the replicas' key can break the order; give
    /// this one to applications.
    pub client_key: Option<SharedKey>,
    /// Limits of its clients.
    pub limits: Limits,
}

impl NodeOptions {
    /// Defaults for this replica, of a cluster at these addresses.
    #[must_use]
    pub fn new(replica: Options, listen: Listen, addresses: Vec<String>) -> Self {
        let order = node::NodeOptions::new(replica, listen, addresses);
        Self { order, client_key: None, limits: Limits::default() }
    }
}

/// Limits of a node's clients, beside those of the order ([`node::Limits`]): what waits for the I/O thread is bounded by
/// [`node::Limits::io_bytes`] once more for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Client connections. Default 4,096.
    pub clients: usize,
    /// Bytes of replies that wait for one client to read them; a client that lets more gather is disconnected. Default 32 MiB.
    pub client_bytes: usize,
    /// Bytes of frames of all clients that are not whole yet; the client whose frame exceeds them is disconnected. Default 256 MiB.
    pub unfinished_bytes: usize,
    /// Sessions that one client connection opens, and that it uses; who asks for more is told so by name, and who uses more is
    /// disconnected. Default 16,384, and never more than a quarter of [`Options::sessions`], so that nobody drives out all others.
    pub client_sessions: usize,
    /// Sessions that the clients of one address open in a minute; whoever asks for more is told so by name. Clients in this process do not
    /// count. Default 16,384, and never more than a quarter of [`Options::sessions`].
    pub address_sessions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            clients: 4_096,
            client_bytes: 32 << 20,
            unfinished_bytes: 256 << 20,
            client_sessions: 1 << 14,
            address_sessions: 1 << 14,
        }
    }
}
