//! The declared door: procedures whose footprint is known before they run. A caller submits many and waits for them later.

use crate::{Access, Begin, Committed, Footprint, Guarded, Pending, Program, Reexecutable, Result, Retry};

/// A program with a name and arguments that can be written down: input logs, replication and re-execution need both.
pub trait Procedure: Program<Output: Send + 'static, Error: Send + 'static> + Sized + Send + 'static {
    /// Stable: it is written to logs.
    const NAME: &'static str;

    /// Appends the arguments.
    fn encode_arguments(&self, out: &mut Vec<u8>);

    /// Reads what [`Procedure::encode_arguments`] wrote.
    ///
    /// # Errors
    /// [`crate::Malformed`] if it did not.
    fn decode_arguments(arguments: &[u8]) -> std::result::Result<Self, crate::Malformed>;

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
        Pending::ready(self.0.execute(&mut FootprintChecked(procedure), how, &mut *retry))
    }
}

/// A procedure that touches what it declares, or fails.
struct FootprintChecked<P>(P);

impl<P: Procedure> Program for FootprintChecked<P> {
    type Output = P::Output;
    type Error = P::Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> std::result::Result<P::Output, P::Error> {
        let footprint = self.0.footprint(access)?;
        self.0.run(&mut Guarded::new(access, &footprint))
    }
}
