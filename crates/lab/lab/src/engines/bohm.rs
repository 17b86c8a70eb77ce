//! BOHM: its doors for procedures and for programs are its own, and it has no open transactions.

use super::{Engine, OneMutex, Settings, Stages, disk};
use ::bohm::{Bohm, Options};
use model::{Durability, Mode, Registry, Result};

/// BOHM, with what only it can say of itself.
pub(super) struct BohmEngine {
    engine: Bohm,
    reads_behind: bool,
}

impl BohmEngine {
    /// The doors of `engine`.
    pub fn new(engine: Bohm, reads_behind: bool) -> BohmEngine {
        BohmEngine { engine, reads_behind }
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
        &self.engine
    }

    fn declared(&self) -> &Bohm {
        &self.engine
    }

    fn hold(&self) -> bool {
        self.engine.hold();
        true
    }

    fn release(&self) {
        self.engine.release();
        self.engine.settle();
    }

    fn mode_of(&self, drawn: Mode) -> Mode {
        if drawn == Mode::ReadOnly && self.reads_behind { Mode::Snapshot } else { drawn }
    }

    fn uses_footprints(&self) -> bool {
        true
    }

    fn snapshots_read_the_past(&self) -> bool {
        true
    }
}

/// Opens the engine: with a log in the directory of the settings, if there is one.
pub(super) fn open(settings: &Settings, procedures: Registry, durability: Durability) -> Result<Bohm> {
    let options = Options { durability, ..options(settings) };
    match &settings.data {
        None => Ok(Bohm::new(options)),
        Some(directory) => Bohm::open(disk(directory), procedures, options),
    }
}

/// Histories take more threads than there are cores, in small batches, so that batches overlap and calls are handed back.
fn options(settings: &Settings) -> Options {
    let Stages { planners, executors } = settings.stages;
    let (planners, executors) = (planners as usize, executors as usize);
    // What a run prepares waits in the queue. Clients that wait for their tickets never fill it.
    let moves_threads = settings.moves_threads;
    // Its placeholders count before they are there, so a limit would be reached long before memory is.
    let memory_bytes = Some(usize::MAX);
    let options = Options { planners, executors, moves_threads, memory_bytes, queue: usize::MAX, ..Options::default() };
    if !settings.has_small_limits {
        return options;
    }
    Options { planners: 2, executors: 3, batch: 5, queue: 16, depth: 2, has_small_nodes: true, ..options }
}
