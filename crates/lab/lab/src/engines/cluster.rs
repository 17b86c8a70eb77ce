//! The replicated store: nodes of one order in this process, each over a store of its own. Clients take turns on them, each with a node
//! of its own.

use super::dealt::Dealt;
use super::dur::OrderName;
use super::replicas::replicas;
use super::{Adapted, OnEngine, Settings, create_tables, hyper_options, mvto_options};
use ::cluster::{Cluster, Limits, NoStates, Options, Transaction};
use env::time::Duration;
use hyper::Hyper;
use model::{Begin, Engine, Error, Fault, Interactive, LogPosition, Pending, Result, Schema, Store, Tables};
use mvto::Mvto;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use total::sequencer::Sequencer;
use total::{OrderLimits, TotalOrder};

/// Longer than any node takes to apply what is on its way.
const PATIENCE: Duration = Duration::from_secs(60);

/// What each node of the replicated store keeps its rows in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LocalStore {
    /// Multi-version timestamp ordering
    #[default]
    Mvto,
    /// In place with undo buffers
    Hyper,
}

impl LocalStore {
    fn open(self, settings: &Settings) -> Result<Arc<dyn Store>> {
        // Limits are those of the nodes: what is applied must fit.
        let settings = Settings { has_small_limits: false, ..settings.clone() };
        Ok(match self {
            LocalStore::Mvto => Arc::new(Engine(Arc::new(Mvto::in_memory(mvto_options(&settings))?))),
            LocalStore::Hyper => Arc::new(Engine(Arc::new(Hyper::new(hyper_options(&settings))))),
        })
    }
}

/// Opens the nodes, creates the tables, and hands both to `task`.
///
/// # Errors
/// Errors of the order and of the local stores, and of creating tables.
pub(super) fn run<T: OnEngine>(settings: &Settings, schemas: Vec<Schema>, task: T) -> Result<T::Output> {
    let count = u64::from(settings.dur.nodes.max(1));
    let ends: Vec<Arc<dyn TotalOrder>> = match settings.dur.order {
        OrderName::Sequencer => {
            let order = Sequencer::new(OrderLimits::default());
            (0..count).map(|node| Arc::new(order.join(node, None)) as Arc<dyn TotalOrder>).collect()
        }
        OrderName::Paxos => {
            let ends = replicas(count).map_err(|detail| Error::Fault(Fault::LogFailed { detail }))?;
            ends.into_iter().map(|end| Arc::new(end) as Arc<dyn TotalOrder>).collect()
        }
    };
    let open = |end| Cluster::open(settings.local_store.open(settings)?, end, Arc::new(NoStates), options(settings));
    let nodes = ends.into_iter().map(open).collect::<Result<Vec<_>>>()?;
    nodes.iter().try_for_each(|node| node.wait_until_current(PATIENCE))?;
    let tables = create_tables(schemas, |schema| nodes[0].create_table_unlisted(schema))?;
    nodes.iter().try_for_each(|node| node.wait_until_current(PATIENCE))?;
    Ok(task.run(Adapted::new(Nodes(Dealt::new(nodes))), tables))
}

/// Histories take small numbers, so that transactions wait, fill payloads, and are older than what is remembered.
fn options(settings: &Settings) -> Options {
    let options = Options::default();
    if !settings.has_small_limits {
        return options;
    }
    let limits = Limits { window_transactions: 64, ..options.limits };
    Options { limits, part_bytes: 128, wait_limit: super::SMALL_WAIT_LIMIT, ..options }
}

/// Nodes, of which each client has one.
pub(super) struct Nodes(Dealt<Arc<Cluster>>);

impl Interactive for Nodes {
    type Transaction<'engine> = Transaction;
    type Owned = Transaction;

    fn begin(&self, how: Begin) -> Result<Transaction> {
        Interactive::begin(&**self.0.node(), how)
    }

    fn begin_owned(self: &Arc<Self>, how: Begin) -> Result<Transaction> {
        Interactive::begin_owned(self.0.node(), how)
    }

    fn wait_durable(&self, position: LogPosition) -> Result<()> {
        self.0.node().wait_durable(position)
    }

    fn durable(self: &Arc<Self>, position: LogPosition) -> Pending<Result<()>> {
        self.0.node().durable(position)
    }
}
