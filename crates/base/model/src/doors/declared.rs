//! The declared door: procedures whose footprint is known before they run. A caller submits many and waits for them later.

use crate::{
    Access, Begin, Columns, Committed, Delta, Draws, Error, Footprint, Guarded, Item, Pending, Program, Reexecutable,
    Result, Retry, RowBuf, RowRef, Scan, ScanEnd, TableId,
};
use std::fmt;
use std::ops::ControlFlow;

/// A procedure of a batch, with what a submission of its own would be given.
pub struct BatchEntry<P> {
    /// The procedure.
    pub procedure: P,
    /// How it begins.
    pub how: Begin,
    /// What follows a conflict.
    pub retry: Box<dyn Retry + Send>,
}

impl<P: fmt::Debug> fmt::Debug for BatchEntry<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BatchEntry { procedure, how, .. } = self;
        f.debug_struct("BatchEntry").field("procedure", procedure).field("how", how).finish_non_exhaustive()
    }
}

/// A program with a name and arguments that can be written down: input logs, replication and re-execution need both.
pub trait Procedure: Program<Output: Send + 'static, Error: Send + 'static> + Sized + Send + 'static {
    /// Stable: it is written to logs.
    const NAME: &'static str;

    /// Changes whenever the body does something else with the same arguments and the same rows: it is written to logs, and calls of
    /// another version are not run again.
    const VERSION: u32 = 1;

    /// Its name in logs: [`Procedure::NAME`], unless one type stands for procedures that are named when the program runs.
    fn name(&self) -> &str {
        Self::NAME
    }

    /// Its version in logs, as its name.
    fn version(&self) -> u32 {
        Self::VERSION
    }

    /// Appends the arguments.
    fn encode_arguments(&self, out: &mut Vec<u8>);

    /// Reads what [`Procedure::encode_arguments`] wrote.
    ///
    /// # Errors
    /// [`crate::Malformed`] if it did not.
    fn decode_arguments(arguments: &[u8]) -> std::result::Result<Self, crate::Malformed>;

    /// Returns whether its footprint may be found by trial reads. An engine that orders procedures before they run then asks for it
    /// as late as it can, and shows it what earlier ones are expected to write ([`Access::foresee`]).
    fn guesses(&self) -> bool {
        false
    }

    /// Returns its footprint: computed from the arguments, or found by a trial read through `access` (reconnaissance), which
    /// the engine verifies at execution. Engines that order procedures before they run take trial reads from a recent state.
    ///
    /// # Errors
    /// Errors of [`Access`].
    fn footprint<A: Access + ?Sized>(&self, access: &mut A) -> Result<Footprint>;
}

/// Result of a procedure: its output and its commit, or its error; or the engine's last error as the procedure's.
pub type Completed<P> = std::result::Result<(<P as Program>::Output, Committed), <P as Program>::Error>;

/// A submitted procedure: to be waited for, called back by, or polled. Dropping it does not withdraw the procedure.
pub type Ticket<P> = Pending<Completed<P>>;

/// The declared door: procedures whose footprint is known before they run.
pub trait Declared: Send + Sync + 'static {
    /// Submits a procedure. It runs until it commits, its own error stops it, or `retry` gives up (footprints found by
    /// reconnaissance can miss). Its error comes once everything that it read is durable.
    ///
    /// An engine with threads of its own returns at once, so that one caller can fill a batch; it waits while its queue is
    /// full. An engine without threads runs the procedure in the call. In an engine that fixes the order in advance, procedures of
    /// one caller that touch the same keys take effect in the order of submission; with other engines a caller that needs an order waits
    /// for each ticket.
    fn submit<P: Procedure>(&self, procedure: P, how: Begin, retry: Box<dyn Retry + Send>) -> Ticket<P>;

    /// Submits procedures together. Each has a ticket, an order of its own, and a retry of its own; they are no transaction. An
    /// engine may begin them together, so that what each begin costs is paid once, and their waits for memory overlap. Provided by one
    /// submission after the other.
    ///
    /// The caller waits for the log once: for the greatest log position that the tickets return.
    ///
    /// An engine that begins them together has a limit on their number: beyond it every ticket is
    /// [`crate::LimitKind::Batch`], and none of them runs.
    fn submit_batch<P: Procedure>(&self, batch: Vec<BatchEntry<P>>) -> Vec<Ticket<P>> {
        batch.into_iter().map(|BatchEntry { procedure, how, retry }| self.submit(procedure, how, retry)).collect()
    }

    /// Submits a procedure and waits for it.
    ///
    /// # Errors
    /// Errors of the ticket.
    fn call<P: Procedure>(&self, procedure: P, how: Begin, retry: impl Retry + Send + 'static) -> Completed<P> {
        self.submit(procedure, how, Box::new(retry)).wait()
    }
}

/// `Declared` on a `Reexecutable` engine. The procedure runs in the call of [`Declared::submit`]. Its footprint is computed in its own
/// transaction, so that it cannot be outdated: what it does not cover is a mistake ([`crate::Invalid::Undeclared`]).
#[derive(Clone, Debug)]
pub struct AsDeclared<E>(pub E);

impl<E: Reexecutable> Declared for AsDeclared<E> {
    fn submit<P: Procedure>(&self, procedure: P, how: Begin, mut retry: Box<dyn Retry + Send>) -> Ticket<P> {
        Pending::ready(self.0.execute(&mut FootprintChecked::new(procedure), how, &mut *retry))
    }
}

/// A procedure that touches what it declares, or fails: the program of an engine that has no use for footprints, or not always.
#[derive(Debug)]
pub struct FootprintChecked<P> {
    procedure: P,
    footprint: Option<Footprint>,
}

impl<P: Procedure> FootprintChecked<P> {
    /// Its footprint is computed in its own transaction.
    pub fn new(procedure: P) -> FootprintChecked<P> {
        FootprintChecked { procedure, footprint: None }
    }

    /// Its footprint is computed now, if it follows from the arguments alone. `draws` are those that the body will have.
    pub fn ahead(procedure: P, draws: Option<Draws>) -> FootprintChecked<P> {
        let mut access = ArgumentsOnly { draws, was_touched: false };
        let footprint = procedure.footprint(&mut access).ok().filter(|_| !access.was_touched);
        FootprintChecked { procedure, footprint }
    }

    /// The footprint, if it is known before the procedure runs.
    pub fn footprint(&self) -> Option<&Footprint> {
        self.footprint.as_ref()
    }
}

impl<P: Procedure> Program for FootprintChecked<P> {
    type Output = P::Output;
    type Error = P::Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> std::result::Result<P::Output, P::Error> {
        let FootprintChecked { procedure, footprint } = self;
        if let Some(footprint) = footprint {
            return procedure.run(&mut Guarded::new(access, footprint));
        }
        let footprint = procedure.footprint(access)?;
        procedure.run(&mut Guarded::new(access, &footprint))
    }
}

/// An [`Access`] before there is a transaction: everything is [`Error::NotYet`].
struct ArgumentsOnly {
    draws: Option<Draws>,
    was_touched: bool,
}

impl ArgumentsOnly {
    fn refuse<T>(&mut self) -> Result<T> {
        self.was_touched = true;
        Err(Error::NotYet)
    }
}

impl Access for ArgumentsOnly {
    fn read(&mut self, _: TableId, _: &[u8], _: Columns<'_>, _: &mut RowBuf) -> Result<bool> {
        self.refuse()
    }

    fn put(&mut self, _: TableId, _: &[u8], _: RowRef<'_>) -> Result<()> {
        self.refuse()
    }

    fn insert(&mut self, _: TableId, _: &[u8], _: RowRef<'_>) -> Result<()> {
        self.refuse()
    }

    fn update(&mut self, _: TableId, _: &[u8], _: &Delta) -> Result<bool> {
        self.refuse()
    }

    fn delete(&mut self, _: TableId, _: &[u8]) -> Result<bool> {
        self.refuse()
    }

    fn scan(&mut self, _: &Scan<'_>, _: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.refuse()
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.draws.as_mut()
    }
}
