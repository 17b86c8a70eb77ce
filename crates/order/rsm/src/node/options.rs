//! Options of a node.

use std::sync::Arc;

use env::Disk;
use net::auth::SharedKey;
use paxos::config::Options;
use paxos::node::{self, Listen};
use wal::LogOptions;

/// Options of a node.
#[derive(Debug)]
pub struct NodeOptions {
    /// Options of its replica.
    pub replica: Options,
    /// Address on which it accepts connections.
    pub listen: Listen,
    /// Addresses of the voting replicas, for peers and for clients: one `host:port` for each, in the order of their numbers.
    pub addresses: Vec<String>,
    /// The key that replicas share. Without it, only loopback addresses are used.
    pub key: Option<SharedKey>,
    /// The key of clients, if it is not the replicas' own. One who holds the replicas' key can break the order; give
    /// this one to applications.
    pub client_key: Option<SharedKey>,
    /// Disk of the journal, with durability `fsync`. Otherwise disk of the record that the replica has lived; `None` keeps no
    /// such record.
    pub disk: Option<Arc<dyn Disk>>,
    /// Options of the journal's log.
    pub log: LogOptions,
    /// Limits of its resources.
    pub limits: Limits,
}

impl NodeOptions {
    /// Defaults for this replica, of a cluster at these addresses.
    #[must_use]
    pub fn new(replica: Options, listen: Listen, addresses: Vec<String>) -> Self {
        let (disk, log, limits) = (None, LogOptions::default(), Limits::default());
        Self { replica, listen, addresses, key: None, client_key: None, disk, log, limits }
    }

    /// Returns the options of the node of the order.
    pub(super) fn into_node(self) -> node::NodeOptions {
        let Self { replica, listen, addresses, key, disk, log, limits, .. } = self;
        let Limits { peer_bytes, core_bytes, io_bytes, .. } = limits;
        let limits = node::Limits { peer_bytes, core_bytes, io_bytes };
        node::NodeOptions { replica, listen, addresses, key, disk, log, limits }
    }
}

/// Limits of a node. Requests that wait to be ordered are bounded by [`Options::pending_bytes`].
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
    /// See [`node::Limits::peer_bytes`].
    pub peer_bytes: usize,
    /// See [`node::Limits::core_bytes`].
    pub core_bytes: usize,
    /// See [`node::Limits::io_bytes`]; the same again for clients.
    pub io_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let node::Limits { peer_bytes, core_bytes, io_bytes } = node::Limits::default();
        Self {
            clients: 4_096,
            client_bytes: 32 << 20,
            unfinished_bytes: 256 << 20,
            client_sessions: 1 << 14,
            address_sessions: 1 << 14,
            peer_bytes,
            core_bytes,
            io_bytes,
        }
    }
}
