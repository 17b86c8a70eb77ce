//! Deferred update: nodes of one order in this process. Clients take turns on them, each with a node of its own.

use super::dealt::Dealt;
use super::replicas::replicas;
use super::{Engine, OneMutex, Settings, create_tables};
use ::dur::{Dur, Options, Policy};
use env::time::Duration;
use model::{
    BatchEntry, Begin, Committed, Declared, Error, Fault, Procedure, Program, Reexecutable, Result, Retry, Schema,
    TableId, Ticket,
};
use serde::{Deserialize, Serialize};
use total::sequencer::Sequencer;
use total::{OrderLimits, TotalOrder};

/// Longer than any node takes to apply what is on its way.
const PATIENCE: Duration = Duration::from_secs(60);

/// What `dur` runs on, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DurSettings {
    /// Nodes; none is one.
    pub nodes: u32,
    /// The order between them.
    pub order: OrderName,
    /// What transactions may read.
    pub policy: PolicyName,
    /// Transactions that execute at a time; none is the engine's default.
    pub speculative: u32,
}

/// The order between nodes of `dur` and `cluster`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrderName {
    /// A list in this process
    #[default]
    Sequencer,
    /// Replicas of the proved protocol, on loopback and in memory
    Paxos,
}

/// A policy of `dur`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyName {
    /// What earlier transactions of the node have written, ahead of the order (PXDUR; XDUR with --speculative 1)
    #[default]
    Speculative,
    /// Committed rows; what is written is held until it is ordered
    ConflictAware,
}

impl DurSettings {
    /// Histories take small numbers, so that transactions wait and payloads fill.
    fn options(&self, has_small_limits: bool) -> Options {
        // Tables are loaded, and read whole, in one transaction.
        let options = Options { payload_bytes: 8 << 20, ..Options::default() };
        let mut options = match has_small_limits {
            true => Options { executors: 3, speculative: 3, pending: 7, batch: 2, payloads: 2, queue: 16, ..options },
            false => options,
        };
        options.policy = match self.policy {
            PolicyName::Speculative => Policy::Speculative,
            PolicyName::ConflictAware => Policy::ConflictAware,
        };
        if self.speculative > 0 {
            (options.speculative, options.executors) = (self.speculative as usize, self.speculative as usize);
        }
        options
    }
}

/// Opens the nodes, creates the tables, and hands both to `task`.
///
/// # Errors
/// Errors of the order, and of creating tables.
pub(super) fn run<T: super::OnEngine>(settings: &Settings, schemas: Vec<Schema>, task: T) -> Result<T::Output> {
    let nodes = u64::from(settings.dur.nodes.max(1));
    let options = settings.dur.options(settings.has_small_limits);
    match settings.dur.order {
        OrderName::Sequencer => {
            let order = Sequencer::new(OrderLimits::default());
            let ends = (0..nodes).map(|node| order.join(node, None)).collect();
            run_on(ends, &options, schemas, task)
        }
        OrderName::Paxos => {
            let ends = replicas(nodes).map_err(|detail| Error::Fault(Fault::LogFailed { detail }))?;
            run_on(ends, &options, schemas, task)
        }
    }
}

fn run_on<O: TotalOrder + 'static, T: super::OnEngine>(
    ends: Vec<O>,
    options: &Options,
    schemas: Vec<Schema>,
    task: T,
) -> Result<T::Output> {
    let nodes = ends.into_iter().map(|end| Dur::new(end, options.clone())).collect();
    let engine = DurEngine(Dealt::new(nodes));
    let tables = create_tables(schemas, |schema| engine.create_table(schema))?;
    Ok(task.run(engine, tables))
}

/// Nodes, of which each client has one.
struct DurEngine<O: TotalOrder + 'static>(Dealt<Dur<O>>);

impl<O: TotalOrder + 'static> DurEngine<O> {
    /// Creates a table on all nodes.
    fn create_table(&self, schema: Schema) -> Result<TableId> {
        let id = self.0.nodes[0].create_table(schema)?;
        self.0.nodes.iter().try_for_each(|node| node.catch_up(PATIENCE))?;
        Ok(id)
    }

    fn node(&self) -> &Dur<O> {
        self.0.node()
    }
}

impl<O: TotalOrder + 'static> Reexecutable for DurEngine<O> {
    fn execute<P: Program>(
        &self,
        program: &mut P,
        how: Begin,
        retry: &mut dyn Retry,
    ) -> std::result::Result<(P::Output, Committed), P::Error> {
        self.node().execute(program, how, retry)
    }
}

impl<O: TotalOrder + 'static> Declared for DurEngine<O> {
    fn submit<P: Procedure>(&self, procedure: P, how: Begin, retry: Box<dyn Retry + Send>) -> Ticket<P> {
        self.node().submit(procedure, how, retry)
    }

    fn submit_batch<P: Procedure>(&self, batch: Vec<BatchEntry<P>>) -> Vec<Ticket<P>> {
        self.node().submit_batch(batch)
    }
}

impl<O: TotalOrder + 'static> Engine for DurEngine<O> {
    /// Stands for none: [`Engine::interactive`] is `None`.
    type Interactive = OneMutex;
    type Programs = DurEngine<O>;
    type Declared = DurEngine<O>;

    fn interactive(&self) -> Option<&OneMutex> {
        None
    }

    fn programs(&self) -> &DurEngine<O> {
        self
    }

    fn declared(&self) -> &DurEngine<O> {
        self
    }

    fn snapshots_read_the_past(&self) -> bool {
        true
    }
}
