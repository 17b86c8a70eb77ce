//! A node of a cluster, below SQL: its directory, its order, the transfer of states, and the replicated store over its local one.

use super::directory::Directory;
use super::file::ClusterFile;
use super::order::{Order, resolved};
use super::transfer::Transfer;
use super::view::View;
use crate::failure::{Failure, Outcome};
use crate::units::bytes;
use ::cluster::{Cluster, Options};
use clap::Args;
use env::clock::{Skew, skew_clocks};
use env::thread::sleep;
use model::{Engine, Error, Fault, Store};
use net::auth::SharedKey;
use paxos::node::NodeError;
use seriatim::{Builder, Database, Durability};
use sql::error::{SqlError, state};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use wire::LOG;

/// Interval between checks whether the order has what it needs.
const LOOK: Duration = Duration::from_millis(50);
/// How long the node is waited for before it is said what it waits for.
const PATIENCE: Duration = Duration::from_secs(1);

/// Looks at the order, one behind the other, that find it waiting for disks, before the log says so.
const LOOKS: u32 = 5;

/// The node that a server is.
#[derive(Args)]
#[command(next_help_heading = "Cluster")]
pub struct Join {
    /// File that describes the cluster, the same on all its machines (docs/replication.md). The database is replicated then: --data
    /// is this node's directory, and COMMIT waits until a majority of the nodes has the transaction on disk.
    #[arg(long, value_name = "FILE", requires = "node")]
    pub cluster: Option<PathBuf>,
    /// Number of this node: its place in the cluster's file, from 0.
    #[arg(long, value_name = "N", requires = "cluster")]
    pub node: Option<u64>,
    /// Keys and rows that one transaction may write in a cluster; more fail (54000). Every node needs a few times as much memory
    /// for it, and applies it at once, while its reads wait.
    #[arg(long, value_name = "SIZE", default_value = "256MB", value_parser = bytes)]
    pub transaction_size: usize,
    /// Stop when standard input is closed, so that a parent process leaves no server behind.
    #[arg(long, hide = true)]
    pub until_stdin_ends: bool,
    /// For tests: all clocks of this process are wrong, by so many seconds and at such a rate. Refused in a cluster that has a key, so
    /// in every one on several machines.
    #[arg(long, hide = true, value_name = "SECONDS:PERCENT", requires = "cluster", allow_hyphen_values = true)]
    pub test_clock: Option<Skew>,
}

/// What a node that does not serve yet waits for: written to the log when it changes, and told to clients that come meanwhile.
#[derive(Clone, Debug, Default)]
pub struct Waiting(Arc<Mutex<String>>);

impl Waiting {
    /// Notes what is waited for.
    pub fn note(&self, what: impl Into<String>) {
        let what = what.into();
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if *noted != what {
            tracing::info!(target: LOG, "{what}");
            *noted = what;
        }
    }

    /// The error for clients.
    pub fn refusal(&self) -> SqlError {
        let what = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let error = SqlError::new(state::CANNOT_CONNECT_NOW, "the database system is starting up");
        if what.is_empty() { error } else { error.detail(format!("{what}.")) }
    }
}

/// A node of a cluster that takes part.
pub struct Node {
    /// The local rows.
    pub database: Database,
    /// What SQL shows of the cluster.
    pub view: Arc<View>,
    /// Hands its state to others.
    states: states::Server,
}

/// What a node is made of.
pub struct Parts<'a> {
    pub file: &'a Path,
    pub node: u64,
    pub data: &'a Path,
    /// The engine's name.
    pub engine: String,
    /// Opens the local rows. It has no limits: what was ordered must be applied, and states be handed over.
    pub builder: Builder,
    pub limits: Limits,
    /// How its clocks are wrong, in a test.
    pub skew: Option<Skew>,
}

/// Limits on the transactions of a node's sessions.
pub struct Limits {
    /// Bytes that one transaction may write.
    pub transaction_bytes: u64,
    /// Bytes of memory that rows, indexes and transactions may take.
    pub memory_bytes: u64,
    /// Age at which a transaction is aborted.
    pub transaction_age: Option<Duration>,
}

impl Node {
    /// Opens a node, and waits until it takes part in the order; nothing if all is to stop before.
    pub fn open(parts: Parts<'_>, waiting: &Waiting, stop: &AtomicBool) -> Outcome<Option<Node>> {
        let Parts { file, node, data, engine, builder, limits, skew } = parts;
        let cluster = ClusterFile::read(file)?;
        if let Some(skew) = skew {
            if cluster.key.is_some() {
                return Err(Failure::trouble(
                    "--test-clock is for tests, and this cluster has a key: it is none of a test",
                ));
            }
            tracing::warn!(target: LOG, "a test: the clocks of this node are {} s ahead, and run at {} %", skew.wall_seconds, skew.rate_percent);
            skew_clocks(skew);
        }
        let own = usize::try_from(node).ok().and_then(|node| cluster.nodes.get(node)).ok_or_else(|| {
            let nodes = cluster.nodes.len();
            Failure::Trouble(format!("--node {node}: {} has {nodes} nodes, from 0 on", file.display()))
        })?;
        let address = resolved(&own.state)?;
        let key = cluster.key.as_deref().map(crate::order::node::key).transpose()?;
        let mut directory = Directory::open(data, &cluster, node, &engine)?;
        directory.drop_spool()?;
        waiting.note("the local database is being opened");
        let builder = builder.engine_alone().durability(Durability::Async).memory(usize::MAX);
        let database = crate::inspect::open_any(builder, &directory.database())?;
        let Some(order) = start_order(&cluster, key.clone(), node, &mut directory, &database, (waiting, stop))? else {
            return Ok(None);
        };
        let transfer = Transfer::new(&cluster, node, key, directory.spool());
        let store = Cluster::open(database.store(), order.total(), transfer.clone(), options(&limits));
        let store = store.map_err(Failure::trouble)?;
        let states = transfer.serve(address, &store)?;
        let view = Arc::new(View { file: cluster, node, order, cluster: store });
        let opened = Node { database, view, states };
        Ok(opened.await_others(waiting, stop)?.then_some(opened))
    }

    /// The replicated store, as SQL has it.
    pub fn store(&self) -> Arc<dyn Store> {
        Arc::new(Engine(self.view.cluster.clone()))
    }

    /// Waits until the node takes part, and has what was acknowledged before; false if all is to stop before.
    fn await_others(&self, waiting: &Waiting, stop: &AtomicBool) -> Outcome<bool> {
        while !stop.load(Ordering::Relaxed) {
            self.check()?;
            match self.view.cluster.wait_until_current(PATIENCE) {
                Ok(()) => return Ok(true),
                Err(Error::Fault(Fault::Behind { .. })) => {
                    let doing = || format!("this node is {}", self.view.cluster.status().doing);
                    waiting.note(self.view.order.lacks().unwrap_or_else(doing));
                }
                Err(error) => return Err(self.stopped(error.to_string())),
            }
        }
        Ok(false)
    }

    /// The node takes part still.
    ///
    /// # Errors
    /// It has stopped by itself.
    pub fn check(&self) -> Outcome {
        match self.view.order.failure().map(|error| error.to_string()).or_else(|| self.view.cluster.status().failure) {
            Some(why) => Err(self.stopped(why)),
            None => Ok(()),
        }
    }

    /// Says in the log when the order has waited for disks for some looks, and when it goes on: shorter waits are those of any disk.
    /// Returns the number of looks at which it has waited, this one included.
    pub fn note_disks(&self, before: u32) -> u32 {
        if !self.view.order.waits_for_disks() {
            if before >= LOOKS {
                tracing::info!(target: LOG, "the order goes on: what it waited for is on the disks");
            }
            return 0;
        }
        if before + 1 == LOOKS {
            self.view.order.lacks().into_iter().for_each(|lacks| tracing::warn!(target: LOG, "{lacks}"));
        }
        before.saturating_add(1)
    }

    fn stopped(&self, why: String) -> Failure {
        Failure::Trouble(format!("node {} has stopped: {why}", self.view.node))
    }

    /// Leaves the order, so that the others go on at once, and returns the local rows, which are to be closed: nothing is applied to
    /// them any more.
    pub fn leave(self) -> Database {
        let Node { database, view, states } = self;
        drop(states);
        view.order.stop();
        database
    }
}

/// Bytes of a written row at least, with its key and what is read of it: bytes limit a transaction, and rows of this size their number.
const LEAST_ROW_BYTES: u64 = 64;

/// Options of the replicated store. The local engine has no limits of its own.
fn options(limits: &Limits) -> Options {
    let default = Options::default();
    let rows = (limits.transaction_bytes / LEAST_ROW_BYTES).max(default.write_set_rows);
    Options {
        is_durable: true,
        memory_bytes: Some(limits.memory_bytes),
        transaction_age: limits.transaction_age,
        write_set_rows: rows,
        write_set_bytes: limits.transaction_bytes,
        // Each row that is inserted is read: it was not there.
        read_set: rows.saturating_add(default.read_set),
        ..default
    }
}

/// Starts the order where the local rows end. A node whose directory is new finds out whether it had another one before.
fn start_order(
    cluster: &ClusterFile,
    key: Option<SharedKey>,
    node: u64,
    directory: &mut Directory,
    database: &Database,
    (waiting, stop): (&Waiting, &AtomicBool),
) -> Outcome<Option<Order>> {
    let resume_after = ::cluster::position_of_start(&*database.store()).map_err(Failure::trouble)?;
    loop {
        let order = Order::start(cluster, key.clone(), node, directory, resume_after)?;
        if !directory.is_new || directory.has_lost_its_vote() {
            return Ok(Some(order));
        }
        match await_admission(&order, waiting, stop) {
            Admission::Admitted => return Ok(Some(order)),
            Admission::Stopped => return Ok(None),
            Admission::Refused(NodeError::RestartedWithoutMemory { known_by }) => {
                drop(order);
                directory.lose_vote()?;
                tracing::warn!(
                    target: LOG,
                    "node {known_by} knows this node from before it lost its directory: it comes back without its vote, for good"
                );
            }
            Admission::Refused(error) => return Err(Failure::trouble(error)),
        }
    }
}

enum Admission {
    Admitted,
    Refused(NodeError),
    Stopped,
}

/// Waits until the replica may vote, or is told that it has forgotten its votes.
fn await_admission(order: &Order, waiting: &Waiting, stop: &AtomicBool) -> Admission {
    while !stop.load(Ordering::Relaxed) {
        if let Some(error) = order.failure() {
            return Admission::Refused(error);
        }
        if order.is_admitted() {
            return Admission::Admitted;
        }
        order.lacks().into_iter().for_each(|lacks| waiting.note(lacks));
        sleep(LOOK);
    }
    Admission::Stopped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_limit_a_transaction_before_rows_do() {
        let options =
            |transaction_bytes| options(&Limits { transaction_bytes, memory_bytes: u64::MAX, transaction_age: None });
        let large = options(256 << 20);
        assert_eq!((large.write_set_bytes, large.write_set_rows), (256 << 20, 4 << 20));
        assert!(large.read_set >= large.write_set_rows, "each inserted row is read");
        let small = options(1 << 10);
        assert_eq!((small.write_set_bytes, small.write_set_rows), (1 << 10, Options::default().write_set_rows));
        assert_eq!(options(u64::MAX).write_set_bytes, u64::MAX);
    }
}
