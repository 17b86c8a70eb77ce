//! Door 2: the engine may run a body many times.

use crate::{Begin, Committed, Error, Finish, Interactive, Program};
use std::sync::Arc;

/// What to do after an abort that a retry may cure.
pub trait Retry {
    /// Whether to run again after this many failed attempts; it may wait before it says so.
    fn again(&mut self, attempts: u32, error: &Error) -> bool;
}

impl<F: FnMut(u32, &Error) -> bool> Retry for F {
    fn again(&mut self, attempts: u32, error: &Error) -> bool {
        self(attempts, error)
    }
}

/// Door 2: the engine may run the body many times.
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

/// Door 2 on an engine with door 1.
#[derive(Clone, Debug)]
pub struct AsReexecutable<E>(pub Arc<E>);

impl<E: Interactive> Reexecutable for AsReexecutable<E> {
    fn execute<P: Program>(
        &self,
        program: &mut P,
        how: Begin,
        retry: &mut dyn Retry,
    ) -> std::result::Result<(P::Output, Committed), P::Error> {
        let mut attempts = 0;
        loop {
            let mut transaction = self.0.begin(how)?;
            let output = program.run(&mut transaction);
            let error = match (output, transaction.poison().cloned()) {
                // The engine aborted it, whatever the body made of that.
                (_, Some(error)) => error,
                (Err(error), None) => {
                    self.0.abort_durably(transaction)?;
                    return Err(error);
                }
                (Ok(output), None) => match transaction.commit() {
                    Ok(committed) => return Ok((output, committed)),
                    Err(error) => error,
                },
            };
            attempts += 1;
            if !(error.is_retryable() && retry.again(attempts, &error)) {
                return Err(error.into());
            }
        }
    }
}
