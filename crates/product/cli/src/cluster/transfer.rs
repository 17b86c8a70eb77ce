//! States that nodes give each other, over the network: the replicated store writes and reads them, [`states`] carries them.

use super::file::ClusterFile;
use super::order::node_of;
use crate::failure::{Failure, Outcome};
use ::cluster::{Cluster, States};
use env::{Disk, RealDisk};
use net::auth::SharedKey;
use states::{Holder, Limits, Member, Server, Source};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;
use total::Position;
use wire::LOG;

/// Version of the states: nodes of another one are refused.
const FORMAT: u64 = 1;

/// How long a node waits until its own state has what another one asks for: less than that one waits for it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where this node gets states.
pub struct Transfer {
    own: Member,
    key: Option<SharedKey>,
    /// Where each node hands over its state.
    addresses: Vec<String>,
    /// The directory for what is delivered while a state comes.
    spool: PathBuf,
}

impl Transfer {
    pub fn new(cluster: &ClusterFile, node: u64, key: Option<SharedKey>, spool: PathBuf) -> Arc<Transfer> {
        let own = Member { cluster: cluster.name.clone(), node, format: FORMAT };
        let addresses = cluster.nodes.iter().map(|node| node.state.clone()).collect();
        Arc::new(Transfer { own, key, addresses, spool })
    }

    /// Hands this node's state to others.
    pub fn serve(&self, address: SocketAddr, store: &Arc<Cluster>) -> Outcome<Server> {
        let source = Arc::new(Own(Arc::downgrade(store)));
        let server = Server::start(address, self.own.clone(), self.key.clone(), Limits::default(), source);
        server.map_err(|error| Failure::Trouble(format!("states: {error}")))
    }
}

impl States for Transfer {
    fn spool(&self) -> Option<Arc<dyn Disk>> {
        Some(Arc::new(RealDisk::new(self.spool.clone())))
    }

    fn fetch(&self, holder: u64, at_least: Position) -> io::Result<Box<dyn Read + Send>> {
        let node = node_of(holder);
        let address = usize::try_from(node).ok().and_then(|node| self.addresses.get(node));
        let address = address.filter(|_| node != self.own.node).ok_or(io::ErrorKind::NotFound)?;
        let holder = Holder { node, address: address.clone() };
        match states::fetch(&holder, at_least, self.own.clone(), self.key.clone(), Limits::default()) {
            Ok(incoming) => {
                tracing::info!(target: LOG, "fetching the state of node {node}");
                Ok(Box::new(incoming))
            }
            Err(error) => {
                tracing::warn!(target: LOG, "{error}");
                Err(io::Error::other(error.to_string()))
            }
        }
    }
}

/// This node's state, as long as it runs.
struct Own(Weak<Cluster>);

impl Source for Own {
    fn write_state(&self, at_least: Position, out: &mut dyn Write) -> io::Result<()> {
        let store = self.0.upgrade().ok_or_else(|| io::Error::other("the node is stopping"))?;
        store.write_state(at_least, PATIENCE, out).map_err(|error| io::Error::other(error.to_string()))
    }
}
