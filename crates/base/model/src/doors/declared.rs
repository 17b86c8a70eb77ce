//! Door 3: procedures whose footprint is known before they run.

use crate::{Access, Begin, Committed, Key, Program, Reexecutable, Result, Retry, TableId};

/// A program with a name and arguments that can be written down: BOHM's log, replication and re-execution need both.
pub trait Procedure: Program + Sized {
    /// Stable: it stands in logs.
    const NAME: &'static str;

    /// Appends the arguments.
    fn encode_arguments(&self, out: &mut Vec<u8>);

    /// Reads what [`Procedure::encode_arguments`] wrote.
    ///
    /// # Errors
    /// [`crate::Malformed`] if it did not.
    fn decode_arguments(arguments: &[u8]) -> std::result::Result<Self, crate::Malformed>;

    /// What it will access: computed from the arguments, or found by a trial read through `access` (reconnaissance),
    /// which the engine verifies at execution.
    ///
    /// # Errors
    /// What [`Access`] returned.
    fn footprint<A: Access + ?Sized>(&self, access: &mut A) -> Result<Footprint>;
}

/// What a procedure will access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint(pub Vec<FootprintEntry>);

/// One key of a footprint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FootprintEntry {
    /// The table.
    pub table: TableId,
    /// The key.
    pub key: Key,
    /// Whether it will be written.
    pub writes: bool,
}

impl Footprint {
    /// Adds a key that will be read.
    pub fn reads(mut self, table: TableId, key: impl Into<Key>) -> Footprint {
        self.0.push(FootprintEntry { table, key: key.into(), writes: false });
        self
    }

    /// Adds a key that will be written, and may be read.
    pub fn writes(mut self, table: TableId, key: impl Into<Key>) -> Footprint {
        self.0.push(FootprintEntry { table, key: key.into(), writes: true });
        self
    }
}

/// Door 3: procedures whose footprint is known before they run.
pub trait Declared: Send + Sync + 'static {
    /// Runs the procedure until it commits, its own error stops it, or `retry` gives up (footprints found by
    /// reconnaissance can miss).
    ///
    /// # Errors
    /// The procedure's error, once everything that it read is durable; or the engine's last one as the procedure's.
    fn call<P: Procedure>(
        &self,
        procedure: &mut P,
        how: Begin,
        retry: &mut dyn Retry,
    ) -> std::result::Result<(P::Output, Committed), P::Error>;
}

/// Door 3 on an engine with door 2, which has no use for the footprint.
#[derive(Clone, Debug)]
pub struct AsDeclared<E>(pub E);

impl<E: Reexecutable> Declared for AsDeclared<E> {
    fn call<P: Procedure>(
        &self,
        procedure: &mut P,
        how: Begin,
        retry: &mut dyn Retry,
    ) -> std::result::Result<(P::Output, Committed), P::Error> {
        self.0.execute(procedure, how, retry)
    }
}
