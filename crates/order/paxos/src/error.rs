//! Errors with which a node does not start, or stops.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use net::auth::NoKey;

use crate::application::BadSnapshot;
use crate::config::BadOption;
use crate::core::ReplicaId;
pub use crate::io_error::IoError;
use crate::journal::JournalError;
use crate::membership::Refusal;

/// Why a node does not start, or has stopped by itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NodeError {
    /// An option is out of its limits.
    Option(BadOption),
    /// There must be an address for every replica that votes.
    Addresses {
        /// Number of addresses given.
        given: usize,
        /// Number of replicas that vote.
        replicas: u64,
    },
    /// Durability `fsync` needs a disk.
    NoDisk,
    /// The address to listen on needs a key.
    NoKey(NoKey),
    /// The address cannot be listened on.
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: IoError,
    },
    /// The operating system gives no thread, no timer, or no random numbers.
    System(IoError),
    /// The journal.
    Journal(JournalError),
    /// The application cannot read the state that the cluster has.
    Snapshot(BadSnapshot),
    /// A snapshot cannot be written, or one of this replica's cannot be read to be sent.
    SnapshotFile(IoError),
    /// A peer remembers this replica from before a restart, in which it has forgotten its promises. It must come back as a learner.
    RestartedWithoutMemory {
        /// The peer.
        known_by: ReplicaId,
    },
    /// A voter without a directory may listen on the loopback only.
    NoDirectory {
        /// The address.
        address: SocketAddr,
    },
    /// A peer has met a later state of this replica: its directory, or its machine, is an old copy.
    OldCopy {
        /// The peer.
        known_by: ReplicaId,
        /// Refusal that the peer sent.
        refusal: Refusal,
    },
    /// Two replicas claim this number.
    SameNumber(ReplicaId),
    /// A thread has panicked: a bug.
    Panicked {
        /// The thread.
        thread: &'static str,
        /// Message of the panic.
        message: String,
    },
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(error) => write!(f, "{error}"),
            Self::Addresses { given, replicas } => {
                write!(f, "{given} addresses are given for {replicas} replicas that vote: each needs one")
            }
            Self::NoDisk => write!(f, "durability fsync needs a data directory"),
            Self::NoKey(error) => write!(f, "{error}"),
            Self::Listen { address, error } => write!(f, "cannot listen on {address}: {error}"),
            Self::System(error) => write!(f, "{error}"),
            Self::Journal(error) => write!(f, "{error}"),
            Self::Snapshot(error) => write!(f, "{error}"),
            Self::SnapshotFile(error) => write!(
                f,
                "a snapshot cannot be written or read, and without one the log would grow without end: {error}; \
                 see to the disk, and start the replica again"
            ),
            Self::RestartedWithoutMemory { known_by } => write!(
                f,
                "replica {known_by} knows this replica from before a restart in which it has lost its promises: \
                 start it as a learner, with a number from the number of voters on and an empty directory"
            ),
            Self::NoDirectory { address } => write!(
                f,
                "{address} is not a loopback address: a voter needs a data directory there, to be recognized after a restart"
            ),
            Self::OldCopy { known_by, refusal } => write!(
                f,
                "replica {known_by} refuses this one: {refusal}, and what it has promised since is lost; \
                 start it as a learner, with a number from the number of voters on and an empty directory"
            ),
            Self::SameNumber(id) => write!(
                f,
                "another replica claims number {id} too: a second process runs, or this directory is an old copy"
            ),
            Self::Panicked { thread, message } => write!(f, "thread {thread} has panicked (a bug): {message}"),
        }
    }
}

impl std::error::Error for NodeError {}

impl From<BadOption> for NodeError {
    fn from(error: BadOption) -> Self {
        Self::Option(error)
    }
}

impl From<JournalError> for NodeError {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

impl From<BadSnapshot> for NodeError {
    fn from(error: BadSnapshot) -> Self {
        Self::Snapshot(error)
    }
}

impl From<NoKey> for NodeError {
    fn from(error: NoKey) -> Self {
        Self::NoKey(error)
    }
}

impl From<io::Error> for NodeError {
    fn from(error: io::Error) -> Self {
        Self::System(error.into())
    }
}
