//! Deferred update: nodes of one order in this process. Clients take turns on them.

use super::{Engine, OneMutex, Settings};
use ::dur::{Dur, Options};
use env::time::Duration;
use model::{
    BatchEntry, Begin, Committed, Declared, Procedure, Program, Reexecutable, Result, Retry, Schema, TableId, Ticket,
};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use total::OrderLimits;
use total::sequencer::{Sequencer, SequencerOrder};

/// Longer than any node takes to apply what is on its way.
const PATIENCE: Duration = Duration::from_secs(60);

/// Nodes, and whose turn it is. `Relaxed`: it only deals clients out.
pub(super) struct DurEngine {
    nodes: Vec<Dur<SequencerOrder>>,
    next: AtomicUsize,
}

impl DurEngine {
    /// As many nodes as the settings say. Histories take small numbers, so that transactions wait and payloads fill.
    pub fn open(settings: &Settings) -> DurEngine {
        let order = Sequencer::new(OrderLimits::default());
        // Tables are loaded, and read whole, in one transaction.
        let options = Options { payload_bytes: 8 << 20, ..Options::default() };
        let options = match settings.has_small_limits {
            true => Options { executors: 3, speculative: 3, pending: 7, batch: 2, payloads: 2, queue: 16, ..options },
            false => options,
        };
        let node = |number: u32| Dur::new(order.join(number.into(), None), options.clone());
        DurEngine { nodes: (0..settings.nodes.max(1)).map(node).collect(), next: AtomicUsize::new(0) }
    }

    /// Creates a table on all nodes.
    pub fn create_table(&self, schema: Schema) -> Result<TableId> {
        let id = self.nodes[0].create_table(schema)?;
        self.nodes.iter().try_for_each(|node| node.catch_up(PATIENCE))?;
        Ok(id)
    }

    fn node(&self) -> &Dur<SequencerOrder> {
        &self.nodes[self.next.fetch_add(1, Relaxed) % self.nodes.len()]
    }
}

impl Reexecutable for DurEngine {
    fn execute<P: Program>(
        &self,
        program: &mut P,
        how: Begin,
        retry: &mut dyn Retry,
    ) -> std::result::Result<(P::Output, Committed), P::Error> {
        self.node().execute(program, how, retry)
    }
}

impl Declared for DurEngine {
    fn submit<P: Procedure>(&self, procedure: P, how: Begin, retry: Box<dyn Retry + Send>) -> Ticket<P> {
        self.node().submit(procedure, how, retry)
    }

    fn submit_batch<P: Procedure>(&self, batch: Vec<BatchEntry<P>>) -> Vec<Ticket<P>> {
        self.node().submit_batch(batch)
    }
}

impl Engine for DurEngine {
    /// Stands for none: [`Engine::interactive`] is `None`.
    type Interactive = OneMutex;
    type Programs = DurEngine;
    type Declared = DurEngine;

    fn interactive(&self) -> Option<&OneMutex> {
        None
    }

    fn programs(&self) -> &DurEngine {
        self
    }

    fn declared(&self) -> &DurEngine {
        self
    }

    fn snapshots_read_the_past(&self) -> bool {
        true
    }
}
