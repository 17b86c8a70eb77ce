//! BOHM: its doors for procedures and for programs are its own, and it has no open transactions.

use super::{Engine, OneMutex, Settings, Stages};
use ::bohm::{Bohm, Options};

/// BOHM, with what only it can say of itself.
pub(super) struct BohmEngine(Bohm);

impl BohmEngine {
    /// The doors of `engine`.
    pub fn new(engine: Bohm) -> BohmEngine {
        BohmEngine(engine)
    }
}

impl Engine for BohmEngine {
    /// Stands for none: [`Engine::interactive`] is `None`.
    type Interactive = OneMutex;
    type Programs = Bohm;
    type Declared = Bohm;

    fn interactive(&self) -> Option<&OneMutex> {
        None
    }

    fn programs(&self) -> &Bohm {
        &self.0
    }

    fn declared(&self) -> &Bohm {
        &self.0
    }

    fn snapshots_read_the_past(&self) -> bool {
        true
    }
}

/// Histories take more threads than there are cores, in small batches, so that batches overlap and calls are handed back.
pub(super) fn options(settings: &Settings) -> Options {
    let Stages { planners, executors } = settings.stages;
    let options = Options { planners: planners as usize, executors: executors as usize, ..Options::default() };
    if !settings.has_small_limits {
        return options;
    }
    Options { planners: 2, executors: 3, batch: 5, queue: 16, depth: 2, has_small_nodes: true, ..options }
}
