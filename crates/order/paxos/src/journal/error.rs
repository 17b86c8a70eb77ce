//! Errors of a journal: on opening, and later.

use crate::io_error::IoError;
use env::DiskError;
use std::fmt;
use std::io;
use wal::LogError;

/// Why the journal did not do what it was asked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum JournalError {
    /// The log below.
    Log(LogError),
    /// The disk, outside of the log.
    Disk(DiskError),
    /// Another replica, or one of another cluster, lives in the directory.
    ForeignDirectory {
        /// The option in which they differ.
        option: &'static str,
        /// Value in the directory.
        found: String,
        /// Value that was requested.
        wanted: String,
    },
    /// The file that says who lives in the directory is damaged.
    BadOwnerFile,
    /// It was written by a newer version of this software.
    NewerOwnerFile {
        /// Its format version.
        found: u8,
    },
    /// The directory says that a replica lives in it, but its log is gone: its promises and votes are lost, and going on without them
    /// could make two replicas disagree.
    Lost,
    /// There is a log in the directory, but no replica lives there.
    NotAJournal,
    /// A record has its right checksum and cannot be read all the same.
    BadRecord {
        /// Its stamp in the log.
        stamp: u64,
    },
    /// The snapshot that the newest record of one names is not there, or is not as long as the record says.
    SnapshotLost {
        /// Name of its file.
        file: String,
    },
    /// A snapshot cannot be read.
    Snapshot(IoError),
    /// Another process, or another replica of this one, uses the directory.
    InUse {
        /// The lock's path.
        path: String,
    },
}

impl JournalError {
    pub(super) fn snapshot(error: io::Error) -> Self {
        Self::Snapshot(error.into())
    }

    /// Returns whether the replica must stop, because messages that it sends from now on might not be recorded.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        matches!(self, Self::Log(LogError::Stopped(_) | LogError::Closed))
    }
}

impl From<LogError> for JournalError {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Locked { path, .. } => Self::InUse { path },
            error => Self::Log(error),
        }
    }
}

impl From<DiskError> for JournalError {
    fn from(error: DiskError) -> Self {
        Self::Disk(error)
    }
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(error) => write!(f, "the journal: {error}"),
            Self::Disk(error) => write!(f, "{error}"),
            Self::ForeignDirectory { option, found, wanted } => {
                write!(f, "this directory belongs to a replica with {option} {found}, not {wanted}")
            }
            Self::BadOwnerFile => {
                write!(f, "the file REPLICA, which names the replica that owns this directory, is damaged")
            }
            Self::NewerOwnerFile { found } => {
                write!(f, "the file REPLICA has format version {found}: use a newer version of this software")
            }
            Self::Lost => write!(
                f,
                "this directory belongs to a replica, but its journal is missing, and with it the promises that it made"
            ),
            Self::NotAJournal => {
                write!(f, "this directory holds a log that is not a replica's journal: use another directory")
            }
            Self::BadRecord { stamp } => write!(f, "record {stamp} of the journal cannot be read"),
            Self::SnapshotLost { file } => write!(
                f,
                "the snapshot {file} is missing or cut off, and the journal has only what came after it: \
                 restore the file, or start the replica as a learner, with a number from the number of voters on and an empty directory"
            ),
            Self::Snapshot(error) => write!(f, "a snapshot cannot be read: {error}"),
            Self::InUse { path } => write!(f, "{path} is locked: another replica uses this directory"),
        }
    }
}

impl std::error::Error for JournalError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Log(error) => Some(error),
            Self::Disk(error) => Some(error),
            _ => None,
        }
    }
}
