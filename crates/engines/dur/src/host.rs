//! What a node tells a simulation, or a measurement: which step its threads take. Beside that they wait at bells ([`parts::bell`]), so that
//! the protocol is the same on threads of the operating system and in virtual time.

use std::fmt::Debug;
use std::sync::Arc;

/// What steps cost: a simulation charges, a measurement looks at its clock. The caller holds no latch.
pub trait Meter: Debug + Send + Sync {
    /// A step begins, on so many objects.
    fn begin(&self, step: Step, count: u64) -> u64;

    /// The step has ended that began with this.
    fn end(&self, step: Step, count: u64, begun: u64);
}

/// A step of a node that takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Writes a record of the objects that a transaction has accessed.
    Encode,
    /// Commits speculatively, or holds, what was written.
    Commit,
    /// Takes a payload apart, by its bytes.
    Decode,
    /// Ends a transaction of this node that was certified, and tells its client.
    Deliver,
    /// Certifies reads.
    Certify,
    /// Applies writes.
    Apply,
}

/// The steps of a node, metered if anybody wants to know.
#[derive(Clone, Debug, Default)]
pub(crate) struct Metered(pub Option<Arc<dyn Meter>>);

impl Metered {
    /// Takes a step on some objects.
    pub fn step<T>(&self, step: Step, count: usize, body: impl FnOnce() -> T) -> T {
        let Some(meter) = &self.0 else { return body() };
        let begun = meter.begin(step, count as u64);
        let done = body();
        meter.end(step, count as u64, begun);
        done
    }
}
