//! `seriatim order node`.

use super::knobs::Knobs;
use crate::failure::{Failure, Outcome};
use crate::processes::on_end_of_stdin;
use crate::signals::stop_on_signals;
use clap::{Args, ValueEnum};
use env::thread::sleep;
use env::{Disk, RealDisk};
use net::auth::SharedKey;
use paxos::config::{Durability, Options};
use rsm::kv::KeyValue;
use rsm::node::{Listen, Node, NodeOptions};
use rsm::service::{EmptyService, Service};
use std::io::{Write, stdout};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Interval between checks for a stop.
const LOOK: Duration = Duration::from_millis(20);

/// Run one replica: it orders requests together with its peers and executes them.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    seriatim order node --id 0 --peers 127.0.0.1:7400,127.0.0.1:7401,127.0.0.1:7402\n  \
    seriatim order node --id 1 --peers a:7400,b:7400,c:7400 --listen 0.0.0.0:7400 --key order.key \\\n    \
    --data ./data --durability fsync\n\n\
    Prints `ready` on standard output once it accepts connections, and everything else on standard error. SIGTERM and SIGINT \
    stop it.\n\n\
    With --durability memory a replica that stops loses its vote for good: restarted on the same --data, it is a learner, \
    which serves clients and has no vote. Of 2 f + 1 replicas f may stop. With fsync, all may, at any time.\n\n\
    Exit codes: 0 stopped by the user; 2 the replica could not run, or had to stop.")]
pub struct StartNode {
    /// Number of this replica: its position in --peers, from 0. A higher number makes it a learner without a vote (needs --listen).
    #[arg(long, value_name = "N")]
    id: u64,
    /// Addresses of the voting replicas, as peers and clients reach them.
    #[arg(long, value_name = "ADDR:PORT,...", value_delimiter = ',', required = true)]
    peers: Vec<String>,
    /// Address to listen on, if not this replica's address in --peers.
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,
    /// Data directory; created if it does not exist.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// What survives a stop of this replica.
    #[arg(long, value_enum, default_value_t = Promise::Memory)]
    durability: Promise,
    /// Key file of at least 32 random bytes, the same on all replicas. Without it, only loopback addresses are allowed.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Key file for clients. A client with the replicas' key could break the order.
    #[arg(long, value_name = "FILE", requires = "key")]
    client_key: Option<PathBuf>,
    /// Service that executes the requests.
    #[arg(long, value_enum, default_value_t = What::Kv)]
    service: What,
    /// Stop when standard input is closed, so that a parent process leaves no node behind.
    #[arg(long, hide = true)]
    until_stdin_ends: bool,
    #[command(flatten)]
    knobs: Knobs,
}

/// What must survive.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Promise {
    /// Nothing is written.
    Memory,
    /// Every message waits until what it promises is on disk.
    Fsync,
}

/// What executes requests.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Key-value example.
    Kv,
    /// Discards requests, to measure the order alone.
    Empty,
}

impl StartNode {
    pub fn run(&self) -> Outcome {
        match self.service {
            What::Kv => self.serve(KeyValue::default()),
            What::Empty => self.serve(EmptyService),
        }
    }

    fn serve(&self, service: impl Service) -> Outcome {
        let stop = stop_on_signals()?;
        if self.until_stdin_ends {
            let stop = Arc::clone(&stop);
            on_end_of_stdin(move || stop.store(true, Ordering::Relaxed))?;
        }
        let node = Node::start(self.options()?, service).map_err(Failure::trouble)?;
        self.greet(&node)?;
        while !stop.load(Ordering::Relaxed) && node.failure().is_none() {
            sleep(LOOK);
        }
        node.stop().map_err(Failure::trouble)?;
        // Whoever read it may be gone.
        let _ = writeln!(std::io::stderr(), "seriatim: replica {} stopped", self.id);
        Ok(())
    }

    fn options(&self) -> Outcome<NodeOptions> {
        let mut replica = Options::new(self.peers.len() as u64, self.id);
        self.knobs.apply(&mut replica);
        replica.durability = match self.durability {
            Promise::Memory => Durability::Memory,
            Promise::Fsync => Durability::Fsync,
        };
        let mut options = NodeOptions::new(replica, Listen::At(self.listen()?), self.peers.clone());
        options.order.key = self.key.as_deref().map(key).transpose()?;
        options.client_key = self.client_key.as_deref().map(key).transpose()?;
        options.order.disk = self.data.as_ref().map(|data| Arc::new(RealDisk::new(data)) as Arc<dyn Disk>);
        Ok(options)
    }

    /// Returns the address to listen on: `--listen`, or else the replica's own entry in `--peers`.
    fn listen(&self) -> Outcome<SocketAddr> {
        if let Some(address) = self.listen {
            return Ok(address);
        }
        let own = usize::try_from(self.id).ok().and_then(|id| self.peers.get(id)).ok_or_else(|| {
            let (id, peers) = (self.id, self.peers.len());
            Failure::Trouble(format!("--id {id} is none of the {peers} replicas in --peers: a learner needs --listen"))
        })?;
        let found = own.to_socket_addrs().map_err(|error| Failure::Trouble(format!("{own}: {error}")))?.next();
        found.ok_or_else(|| Failure::Trouble(format!("{own}: the address does not resolve")))
    }

    fn greet(&self, node: &Node) -> Outcome {
        let (id, replicas) = (node.id(), self.peers.len() as u64);
        let role = if id < replicas { "" } else { " (a learner, without a vote)" };
        let (version, address) = (env!("CARGO_PKG_VERSION"), node.address());
        eprintln!("seriatim {version}: replica {id} of {replicas}{role} on {address}");
        let mut out = stdout().lock();
        writeln!(out, "ready")?;
        Ok(out.flush()?)
    }
}

/// The key in a file.
pub fn key(path: &Path) -> Outcome<SharedKey> {
    SharedKey::read(path).map_err(|error| Failure::Trouble(format!("{}: {error}", path.display())))
}
