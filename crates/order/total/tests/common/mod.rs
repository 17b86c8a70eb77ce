//! Three nodes of a sequencer.

use seriatim_total::sequencer::{Sequencer, SequencerOrder};
use seriatim_total::suite::{Cluster, Faults, NODES, Partitions};
use seriatim_total::{OrderLimits, Position};

pub struct Nodes {
    sequencer: Sequencer,
    ends: Vec<Option<SequencerOrder>>,
}

impl Nodes {
    /// Hands a node's end over to a caller that breaks it.
    #[allow(dead_code, reason = "only the broken orders need it")]
    pub fn take(&mut self, node: u64) -> SequencerOrder {
        self.ends[node as usize].take().expect("it runs")
    }
}

impl Cluster for Nodes {
    type Order = SequencerOrder;

    fn start(limits: OrderLimits) -> Nodes {
        let sequencer = Sequencer::new(limits);
        let ends = (0..NODES).map(|node| Some(sequencer.join(node, None))).collect();
        Nodes { sequencer, ends }
    }

    fn node(&self, node: u64) -> &SequencerOrder {
        self.ends[node as usize].as_ref().expect("it runs")
    }

    fn stop(&mut self, node: u64) {
        self.ends[node as usize] = None;
    }

    fn restart(&mut self, node: u64, resume_after: Option<Position>) {
        self.ends[node as usize] = Some(self.sequencer.join(node, resume_after));
    }

    fn leader(&self) -> u64 {
        1
    }
}

impl Partitions for Nodes {
    fn cut_off(&self, node: u64) {
        self.sequencer.cut_off(node);
    }

    fn connect(&self, node: u64) {
        self.sequencer.connect(node);
    }
}

/// The list has no server beside a node: what happens to one is that its node is cut off.
impl Faults for Nodes {
    fn lose_answers(&self, node: u64) {
        self.cut_off(node);
    }

    fn pause(&self, server: u64) {
        self.cut_off(server);
    }

    fn go_on(&self, server: u64) {
        self.connect(server);
    }

    fn kill(&mut self, server: u64) {
        self.cut_off(server);
    }

    fn start_again(&mut self, server: u64) {
        self.connect(server);
    }
}
