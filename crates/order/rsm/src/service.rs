//! The replicated service: a deterministic state machine.

use paxos::core::Instance;

pub use paxos::application::BadSnapshot;

/// A deterministic state machine. All replicas run one, feed it the same requests in the same order, and so keep it in the same
/// state. It must not look at clocks, random numbers or anything else that differs between replicas.
pub trait Service: Send + 'static {
    /// Executes one request and appends the answer to `reply` (empty at the call). Bad requests get an answer that says so: a
    /// request that was ordered cannot be refused any more. `at` is its instance; requests of one batch share it.
    fn execute(&mut self, at: Instance, request: &[u8], reply: &mut Vec<u8>);

    /// The state, as bytes that [`restore`](Self::restore) takes. Called between two batches.
    fn snapshot(&self) -> Vec<u8>;

    /// Replaces the state by one that [`snapshot`](Self::snapshot) gave, perhaps on another replica.
    ///
    /// # Errors
    /// The bytes are not a snapshot: the replica stops rather than serve another state.
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), BadSnapshot>;
}

/// A service that does nothing and answers nothing: for measuring the order alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmptyService;

impl Service for EmptyService {
    fn execute(&mut self, _: Instance, _: &[u8], _: &mut Vec<u8>) {}

    fn snapshot(&self) -> Vec<u8> {
        Vec::new()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), BadSnapshot> {
        if snapshot.is_empty() { Ok(()) } else { Err(BadSnapshot("an empty service has no state".into())) }
    }
}
