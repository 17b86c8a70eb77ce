//! Inputs of the core's thread.

use crate::journal::JournalError;
use crate::replica::Input;

/// One thing that happens to the core.
#[derive(Debug)]
pub(crate) enum CoreInput {
    /// For the replica.
    Replica(Input),
    /// The journal's thread has failed.
    JournalFailed(JournalError),
}
