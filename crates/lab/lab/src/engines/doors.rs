//! Each engine's doors: its own where it has them, else an adapter over a stronger one.

use super::{Engine, PredicateLogs};
use env::Clock;
use hekaton::Hekaton;
use hyper::Hyper;
use model::{AsDeclared, AsReexecutable, Interactive};
use mvto::Mvto;
use serde::{Deserialize, Serialize};
use silo::Silo;
use std::fmt;
use std::sync::Arc;
use twopl::TwoPhaseLocking;

/// Door by which a workload's transactions enter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DoorName {
    /// The client holds its transaction open, and begins another one after a conflict
    Interactive,
    /// The engine runs the body, and runs it again after a conflict
    #[default]
    Program,
    /// The client submits a procedure with its footprint, and waits for the ticket
    Declared,
    /// The client submits several procedures together, and waits for all of them
    Batch,
    /// The transactions are drawn before the clock runs: as batch with an engine that has threads of its own or uses footprints, as
    /// program with the others
    Prepared,
    /// Reads of one row enter without a transaction; the others are programs
    Get,
}

impl DoorName {
    /// The door of what is more than one read.
    pub fn of_transactions(self) -> DoorName {
        if self == DoorName::Get { DoorName::Program } else { self }
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            DoorName::Interactive => "interactive",
            DoorName::Program => "program",
            DoorName::Declared => "declared",
            DoorName::Batch => "batch",
            DoorName::Prepared => "prepared",
            DoorName::Get => "get",
        }
    }
}

impl fmt::Display for DoorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An engine that is interactive and nothing else, with what is derived from that.
pub struct Adapted<I>(AsDeclared<AsReexecutable<I>>);

impl<I: Interactive> Adapted<I> {
    /// The doors of `engine`.
    pub fn new(engine: I) -> Adapted<I> {
        Adapted(AsDeclared(AsReexecutable(Arc::new(engine))))
    }
}

impl<I: Interactive> Engine for Adapted<I> {
    type Interactive = I;
    type Programs = AsReexecutable<I>;
    type Declared = AsDeclared<AsReexecutable<I>>;

    fn interactive(&self) -> Option<&I> {
        Some(&self.0.0.0)
    }

    fn programs(&self) -> &AsReexecutable<I> {
        &self.0.0
    }

    fn declared(&self) -> &AsDeclared<AsReexecutable<I>> {
        &self.0
    }
}

/// MVTO, with what only it can say of itself.
pub(super) struct MvtoEngine<C: Clock>(Adapted<Mvto<C>>);

impl<C: Clock> MvtoEngine<C> {
    pub fn new(engine: Mvto<C>) -> MvtoEngine<C> {
        MvtoEngine(Adapted::new(engine))
    }
}

impl<C: Clock> Engine for MvtoEngine<C> {
    type Interactive = Mvto<C>;
    type Programs = <Adapted<Mvto<C>> as Engine>::Programs;
    type Declared = Mvto<C>;

    fn interactive(&self) -> Option<&Self::Interactive> {
        self.0.interactive()
    }

    fn programs(&self) -> &Self::Programs {
        self.0.programs()
    }

    /// Its own: what was submitted together begins together.
    fn declared(&self) -> &Mvto<C> {
        &self.0.0.0.0
    }

    fn uses_footprints(&self) -> bool {
        true
    }

    fn kept_versions(&self) -> Option<u64> {
        let stats = self.interactive()?.stats();
        Some(stats.replaced_versions.saturating_sub(stats.collected_versions))
    }
}

/// HyPer's protocol, with what only it can say of itself.
pub(super) struct HyperEngine(Adapted<Hyper>);

impl HyperEngine {
    pub fn new(engine: Hyper) -> HyperEngine {
        HyperEngine(Adapted::new(engine))
    }
}

impl Engine for HyperEngine {
    type Interactive = Hyper;
    type Programs = <Adapted<Hyper> as Engine>::Programs;
    type Declared = <Adapted<Hyper> as Engine>::Declared;

    fn interactive(&self) -> Option<&Hyper> {
        self.0.interactive()
    }

    fn programs(&self) -> &Self::Programs {
        self.0.programs()
    }

    fn declared(&self) -> &Self::Declared {
        self.0.declared()
    }

    fn kept_versions(&self) -> Option<u64> {
        Some(self.interactive()?.stats().versioned)
    }

    fn predicate_logs(&self) -> Option<PredicateLogs> {
        self.interactive().map(PredicateLogs::of)
    }
}

/// Silo: its door for programs is its own, and validates before it passes on a body's error.
pub(super) struct SiloEngine(AsDeclared<Silo>);

impl SiloEngine {
    pub fn new(engine: Silo) -> SiloEngine {
        SiloEngine(AsDeclared(engine))
    }
}

impl Engine for SiloEngine {
    type Interactive = Silo;
    type Programs = Silo;
    type Declared = AsDeclared<Silo>;

    fn interactive(&self) -> Option<&Silo> {
        Some(&self.0.0)
    }

    fn programs(&self) -> &Silo {
        &self.0.0
    }

    fn declared(&self) -> &AsDeclared<Silo> {
        &self.0
    }

    fn snapshots_read_the_past(&self) -> bool {
        true
    }
}

/// Hekaton and snapshot isolation: as Silo, and they count their versions.
pub(super) struct HekatonEngine(AsDeclared<Hekaton>);

impl HekatonEngine {
    pub fn new(engine: Hekaton) -> HekatonEngine {
        HekatonEngine(AsDeclared(engine))
    }
}

impl Engine for HekatonEngine {
    type Interactive = Hekaton;
    type Programs = Hekaton;
    type Declared = AsDeclared<Hekaton>;

    fn interactive(&self) -> Option<&Hekaton> {
        Some(&self.0.0)
    }

    fn programs(&self) -> &Hekaton {
        &self.0.0
    }

    fn declared(&self) -> &AsDeclared<Hekaton> {
        &self.0
    }

    fn kept_versions(&self) -> Option<u64> {
        Some(self.0.0.stats().versions)
    }
}

/// All doors of two-phase locking are its own: a program keeps its age over its retries, and a procedure's keys are locked in order
/// before it runs.
impl Engine for TwoPhaseLocking {
    type Interactive = TwoPhaseLocking;
    type Programs = TwoPhaseLocking;
    type Declared = TwoPhaseLocking;

    fn interactive(&self) -> Option<&TwoPhaseLocking> {
        Some(self)
    }

    fn programs(&self) -> &TwoPhaseLocking {
        self
    }

    fn declared(&self) -> &TwoPhaseLocking {
        self
    }

    fn uses_footprints(&self) -> bool {
        true
    }

    fn kept_versions(&self) -> Option<u64> {
        Some(0)
    }
}
