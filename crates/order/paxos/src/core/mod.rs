//! The core: one pure automaton per replica, as a trait, so that the lab can run another.

pub mod generated;
pub mod prim;

pub use generated::{
    Ballot, Config, Event, Instance, Message, Output, Record, Replica as ReplicaId, Role, Sequence, Session, State,
};
pub use prim::{Image, Value};

/// An automaton that orders values. [`Proved`] is the one that runs; the lab has a plain one to measure it against.
pub trait Core: Send + 'static {
    /// A replica without a past.
    fn new(config: Config, id: ReplicaId) -> Self;

    /// A replica that has journalled these records, in this order.
    fn recover(config: Config, id: ReplicaId, records: Vec<Record>) -> Self;

    /// Takes one event; appends what is to be done to `outputs`, in this order.
    fn step(&mut self, event: Event, outputs: &mut Vec<Output>);

    /// Records whose [`recover`](Self::recover) has all that this replica must not forget: they replace the journal written so far.
    fn checkpoint(&self) -> Vec<Record>;

    /// Returns the part of the state that the runtime may read.
    fn view(&self) -> View;
}

/// The part of a core's state that the runtime reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The highest ballot known; its owner leads, or tries to.
    pub promised: Ballot,
    /// Role of this replica in that ballot.
    pub role: Role,
    /// The first instance that is kept.
    pub low: Instance,
    /// The next instance to deliver.
    pub executed: Instance,
    /// The first instance that this leader has not used.
    pub next: Instance,
    /// Instances below are in the newest snapshot.
    pub snapshot_at: Instance,
}

/// The proved core: the functions that are printed from `proofs/paxos/Model.v`, and nothing else.
#[derive(Debug)]
pub struct Proved {
    config: Config,
    id: ReplicaId,
    /// Always there: taken out only while a step replaces it.
    state: Option<State>,
}

impl Proved {
    fn with(config: Config, id: ReplicaId, state: State) -> Self {
        Self { config, id, state: Some(state) }
    }

    fn state(&self) -> &State {
        self.state.as_ref().expect("a step panicked: the replica must not go on")
    }
}

impl Core for Proved {
    fn new(config: Config, id: ReplicaId) -> Self {
        Self::with(config, id, generated::init())
    }

    fn recover(config: Config, id: ReplicaId, records: Vec<Record>) -> Self {
        Self::with(config, id, generated::recover(config, records))
    }

    fn step(&mut self, event: Event, outputs: &mut Vec<Output>) {
        let state = self.state.take().expect("a step panicked: the replica must not go on");
        let (state, out) = generated::step(self.config, self.id, event, state);
        self.state = Some(state);
        outputs.extend(out);
    }

    fn checkpoint(&self) -> Vec<Record> {
        generated::checkpoint(self.config, self.state())
    }

    fn view(&self) -> View {
        let state = self.state();
        View {
            promised: state.promised,
            role: state.role_now,
            low: state.low,
            executed: state.executed,
            next: state.next,
            snapshot_at: state.snapshot_at,
        }
    }
}
