//! Options of a node.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use env::Disk;
use net::auth::SharedKey;
use wal::LogOptions;

use crate::config::{Durability, Options};
use crate::error::NodeError;

/// Address on which a node accepts connections, of peers and of clients.
#[derive(Debug)]
pub enum Listen {
    /// At this address; port 0 means one that is free.
    At(SocketAddr),
    /// On this socket, which is bound already: so the nodes of one process learn each other's ports before they start.
    On(TcpListener),
}

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
        Self { replica, listen, addresses, key: None, disk, log, limits }
    }

    pub(super) fn check(&self) -> Result<(), NodeError> {
        self.replica.check()?;
        if self.addresses.len() as u64 != self.replica.replicas {
            return Err(NodeError::Addresses { given: self.addresses.len(), replicas: self.replica.replicas });
        }
        if self.replica.durability == Durability::Fsync && self.disk.is_none() {
            return Err(NodeError::NoDisk);
        }
        Ok(())
    }
}

/// Limits of a node. Requests that wait to be ordered are bounded by [`Options::pending_bytes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that wait to be sent to one peer; what comes on top is dropped, and sent again by the protocol. Default 64 MiB.
    pub peer_bytes: usize,
    /// Bytes of peers' messages that wait for the core; peers are not read from beyond that. Default 64 MiB.
    pub core_bytes: usize,
    /// Bytes that wait for the I/O thread. Default 64 MiB.
    pub io_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { peer_bytes: 64 << 20, core_bytes: 64 << 20, io_bytes: 64 << 20 }
    }
}
