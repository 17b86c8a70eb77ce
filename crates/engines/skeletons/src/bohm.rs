//! BOHM: procedures are ordered before they run. Concurrency control places a version without a value, a placeholder, for every
//! declared write; execution fills them. The order is fixed in advance: the position in the batch log.
//!
//! A read resolves to the placeholder below the procedure's position. If its producer has not run, the reader's attempt stops with
//! [`Error::NotYet`] and the thread runs the producer first; nothing is aborted, and no read is tracked.
//! Source: Faleiro, Abadi, VLDB 2015, sections 3.1 to 3.3.

use model::{
    Access, AnyProcedure, Begin, Columns, Completed, Declared, Delta, Draws, Error, Footprint, Item, Key, Procedure,
    Registry, Result, Retry, RowBuf, RowRef, Scan, ScanEnd, TableId, Ticket,
};
use std::ops::ControlFlow;

/// The engine: a sequencer, threads that place versions (each owns a share of the keys), threads that execute, the input log.
#[derive(Debug)]
pub enum Bohm {}

/// Positions of a batch log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(pub u64);

/// What an input log's replay needs at start: the procedures by name. A batch is one log record, so a commit is durable when its
/// batch is.
#[derive(Debug)]
pub struct Options {
    /// See [`model::encode_call`].
    pub procedures: Registry,
    /// Procedures in a batch at most; [`Declared::submit`] waits while so many are queued.
    pub batch: usize,
}

/// A procedure in the log.
pub struct Submitted {
    /// Its place in the serial order.
    pub position: Position,
    /// How it is run again after a restart, and here.
    pub procedure: Box<dyn AnyProcedure>,
    /// Every kind that writes gets a placeholder; [`model::Touch::Overwrite`] needs no version below. Ranges are read as of the
    /// position. Entries of an index are keys of a table of their own: those of the new row follow from the arguments, those of the
    /// old row from the trial read.
    pub footprint: Footprint,
    /// [`Begin::draws`], logged with the call, so that replay draws the same.
    pub draws: Option<Draws>,
}

/// One version of a key, newest first in its chain.
#[derive(Debug)]
pub struct Version {
    /// Who writes it.
    pub producer: Position,
    /// `None`: a placeholder.
    pub row: Option<RowBuf>,
}

/// The reads and writes of one attempt.
#[derive(Debug)]
pub struct Attempt<'engine> {
    /// The engine.
    pub engine: &'engine Bohm,
    /// Where it stands.
    pub position: Position,
    /// Whose placeholder it met: the attempt is repeated when that one has run.
    pub stopped_at: Option<(TableId, Key, Position)>,
    /// What it has written; `None`: a deletion. It fills the placeholders when the body has ended: an attempt that stops, or a body that
    /// fails, must not be read. Placeholders that it leaves, and all of a body that fails, repeat the row below.
    pub writes: Vec<(TableId, Key, Option<RowBuf>)>,
    /// Restarted for each attempt.
    pub draws: Option<Draws>,
}

impl Access for Attempt<'_> {
    /// The own write, or the version below the position; a placeholder there is [`Error::NotYet`]. Outside the footprint
    /// [`model::AbortClass::Footprint`]: the version is there too, but other engines have not locked it.
    fn read(&mut self, _: TableId, _: &[u8], _: Columns<'_>, _: &mut RowBuf) -> Result<bool> {
        match *self.engine {}
    }

    /// Buffers. Outside the footprint: [`model::AbortClass::Footprint`], possible after reconnaissance only.
    fn put(&mut self, _: TableId, _: &[u8], _: RowRef<'_>) -> Result<()> {
        match *self.engine {}
    }

    /// As `read`, then `put` if there is no row.
    fn insert(&mut self, _: TableId, _: &[u8], _: RowRef<'_>) -> Result<()> {
        match *self.engine {}
    }

    /// As `read`, then `put`.
    fn update(&mut self, _: TableId, _: &[u8], _: &Delta) -> Result<bool> {
        match *self.engine {}
    }

    /// As `read`, then buffers a deletion.
    fn delete(&mut self, _: TableId, _: &[u8]) -> Result<bool> {
        match *self.engine {}
    }

    /// Walks the tree of keys as of the position, with own writes merged, within a declared range: keys are placed before execution, so
    /// no phantom can come later. A placeholder in the range is [`Error::NotYet`], whatever the filter says of it.
    fn scan(&mut self, _: &Scan<'_>, _: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        match *self.engine {}
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.draws.as_mut()
    }
}

/// What became of an attempt.
pub enum Outcome<P: Procedure> {
    /// The ticket is resolved once the batch is durable, so [`model::Committed::log_position`] is zero. The serial point is the position.
    Completed(Completed<P>),
    /// [`Error::NotYet`]: the producer runs first, then this one again.
    Stopped,
}

impl Declared for Bohm {
    /// Mode and wait limit of [`Begin`] have no effect: the footprint says what is written, and producers that are waited for run. Takes
    /// the trial read from the newest complete batch, appends to the open batch, returns a ticket that an execution thread
    /// resolves. A footprint that missed is computed again and queued anew if `retry` wants it. One caller's procedures keep
    /// their order.
    fn submit<P: Procedure>(&self, _: P, _: Begin, _: Box<dyn Retry + Send>) -> Ticket<P> {
        match *self {}
    }
}

/// Bodies pass it on; the engine knows the rest from [`Attempt::stopped_at`].
pub const STOPS: Error = Error::NotYet;
