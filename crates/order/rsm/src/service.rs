//! The replicated service: a deterministic state machine.

use paxos::core::Instance;
use std::io::{self, BufRead, Write};

pub use paxos::application::BadSnapshot;

/// A deterministic state machine. All replicas run one, feed it the same requests in the same order, and so keep it in the same
/// state. It must not look at clocks, random numbers or anything else that differs between replicas.
pub trait Service: Send + 'static {
    /// Executes one request and appends the answer to `reply` (empty at the call). Bad requests get an answer that says so: a
    /// request that was ordered cannot be refused any more. `at` is its instance; requests of one batch share it.
    fn execute(&mut self, at: Instance, request: &[u8], reply: &mut Vec<u8>);

    /// Writes the state to `out`, as bytes that [`restore`](Self::restore) takes: equal states as equal bytes. Called between two batches.
    /// What is written goes to the disk piece by piece, so it should not be gathered in memory first.
    ///
    /// # Errors
    /// Those of `out`.
    fn snapshot(&self, out: &mut dyn Write) -> io::Result<()>;

    /// Replaces the state by one that [`snapshot`](Self::snapshot) has written, perhaps on another replica, and reads it to its end.
    ///
    /// # Errors
    /// The bytes are not a snapshot: the replica stops rather than serve another state.
    fn restore(&mut self, snapshot: &mut dyn BufRead) -> Result<(), BadSnapshot>;
}

/// A service that does nothing and answers nothing: for measuring the order alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmptyService;

impl Service for EmptyService {
    fn execute(&mut self, _: Instance, _: &[u8], _: &mut Vec<u8>) {}

    fn snapshot(&self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// There is nothing to read; whoever calls refuses what is left.
    fn restore(&mut self, _: &mut dyn BufRead) -> Result<(), BadSnapshot> {
        Ok(())
    }
}
