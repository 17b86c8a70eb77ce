//! Nodes of one order in this process, as one door: callers take turns on the nodes.

use model::{
    BatchEntry, Begin, Committed, Declared, Procedure, Program, Reexecutable, Result, Retry, Schema, TableId, Ticket,
};
use seriatim_dur::{Dur, Options, Stats};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use total::OrderLimits;
use total::sequencer::{Sequencer, SequencerOrder};

/// Longer than anything here takes.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Nodes, and the order between them.
pub struct Cluster {
    pub sequencer: Sequencer,
    pub nodes: Vec<Dur<SequencerOrder>>,
    next: AtomicUsize,
}

impl Cluster {
    pub fn open(nodes: u64, options: Options) -> Cluster {
        Cluster::open_with(vec![options; nodes as usize])
    }

    /// A node for each of the options.
    pub fn open_with(options: Vec<Options>) -> Cluster {
        let sequencer = Sequencer::new(OrderLimits::default());
        let node = |(number, options)| Dur::new(sequencer.join(number, None), options);
        let nodes = (0..).zip(options).map(node).collect();
        Cluster { sequencer, nodes, next: AtomicUsize::new(0) }
    }

    pub fn create_table(&self, schema: Schema) -> Result<TableId> {
        let id = self.nodes[0].create_table(schema)?;
        self.catch_up();
        Ok(id)
    }

    /// Waits until all nodes have applied what was acknowledged on any.
    pub fn catch_up(&self) {
        self.nodes.iter().for_each(|node| node.catch_up(PATIENCE).expect("the order lives"));
    }

    /// Asserts that no transaction is left anywhere, and how many keys there are.
    pub fn assert_idle(&self, entries: Option<u64>) {
        self.catch_up();
        for node in &self.nodes {
            node.assert_idle();
            let Stats { open, objects, .. } = node.stats();
            assert_eq!((open, entries.unwrap_or(objects)), (0, objects));
        }
    }

    fn node(&self) -> &Dur<SequencerOrder> {
        &self.nodes[self.next.fetch_add(1, Relaxed) % self.nodes.len()]
    }
}

impl Reexecutable for Cluster {
    fn execute<P: Program>(
        &self,
        program: &mut P,
        how: Begin,
        retry: &mut dyn Retry,
    ) -> std::result::Result<(P::Output, Committed), P::Error> {
        self.node().execute(program, how, retry)
    }
}

impl Declared for Cluster {
    fn submit<P: Procedure>(&self, procedure: P, how: Begin, retry: Box<dyn Retry + Send>) -> Ticket<P> {
        self.node().submit(procedure, how, retry)
    }

    fn submit_batch<P: Procedure>(&self, batch: Vec<BatchEntry<P>>) -> Vec<Ticket<P>> {
        self.node().submit_batch(batch)
    }
}
