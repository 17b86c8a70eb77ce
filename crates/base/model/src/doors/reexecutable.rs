//! The re-executable door: the engine may run a body many times.

use crate::retry::{self, Failure, Retry};
use crate::{Begin, Committed, Interactive, Program};
use std::sync::Arc;

/// The re-executable door: the engine may run the body many times.
pub trait Reexecutable: Send + Sync + 'static {
    /// Runs the program until it commits, its own error stops it, or `retry` gives up.
    ///
    /// # Errors
    /// The program's error, once everything that it read is durable; or the engine's last one as the program's.
    fn execute<P: Program>(
        &self,
        program: &mut P,
        how: Begin,
        retry: &mut dyn Retry,
    ) -> std::result::Result<(P::Output, Committed), P::Error>;
}

/// `Reexecutable` on an `Interactive` engine.
#[derive(Debug)]
pub struct AsReexecutable<E: ?Sized>(pub Arc<E>);

impl<E: ?Sized> Clone for AsReexecutable<E> {
    fn clone(&self) -> AsReexecutable<E> {
        AsReexecutable(self.0.clone())
    }
}

impl<E: Interactive + ?Sized> Reexecutable for AsReexecutable<E> {
    fn execute<P: Program>(
        &self,
        program: &mut P,
        how: Begin,
        retry: &mut dyn Retry,
    ) -> std::result::Result<(P::Output, Committed), P::Error> {
        run_interactively(&*self.0, program, how, retry)
    }
}

/// Runs a program through the interactive door: begins, runs the body, commits, and once more after a conflict, as a caller does that
/// holds its transactions open.
///
/// # Errors
/// Same as [`Reexecutable::execute`].
pub fn run_interactively<E: Interactive + ?Sized, P: Program>(
    engine: &E,
    program: &mut P,
    how: Begin,
    retry: &mut dyn Retry,
) -> std::result::Result<(P::Output, Committed), P::Error> {
    let done = retry::run(retry, |_| {
        let mut transaction = engine.begin(how)?;
        let outcome = program.run(&mut transaction);
        engine.conclude(transaction, outcome)
    });
    done.map_err(Failure::into_error)
}
