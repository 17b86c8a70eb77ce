//! Errors of the log, and what each means for a transaction in progress.

use env::DiskError;
use env::process::Holder;
use model::{Fault, Invalid, Limit, LimitKind, LogPosition};
use std::fmt;
use std::time::Duration;

/// Reason of a failed operation of the log.
///
/// An engine must know of each whether something was appended. Only [`Stopped`](Self::Stopped) leaves outcomes unknown;
/// after every other error of [`Log::append`](crate::Log::append) nothing was appended and the transaction can abort cleanly.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LogError {
    /// No disk space could be reserved; nothing was appended. SQLSTATE 53100.
    Full(DiskError),
    /// The payload is larger than one segment takes; nothing was appended.
    TooLarge {
        /// The payload's length in bytes.
        bytes: usize,
        /// The greatest length that fits.
        limit: usize,
    },
    /// The disk did not take earlier records for so long that the buffer is still full; nothing was appended.
    Stalled {
        /// Duration of the caller's wait.
        waited: Duration,
    },
    /// The caller's time limit ended before the disk took earlier records or made room; nothing was appended.
    Interrupted,
    /// A write or an fsync failed earlier and the log has stopped for good. Whether transactions that were waiting are
    /// durable is unknown until a restart has recovered the log. SQLSTATE 08007.
    Stopped(DiskError),
    /// The log was closed.
    Closed,
    /// Another process, or another handle of this one, has the directory open.
    Locked {
        /// The lock file.
        path: String,
        /// Its holder, where that is known.
        holder: Option<Holder>,
    },
    /// The directory was written by a newer version of this software.
    NewerFormat {
        /// The file that says so.
        file: String,
        /// Its format version.
        found: u32,
        /// The newest version that this software reads.
        supported: u32,
    },
    /// A file is damaged below what was once known to be durable, or is missing: opening it would lose acknowledged
    /// transactions.
    Corrupt(Damage),
    /// The directory holds no log.
    NotALog {
        /// The missing thing.
        file: String,
    },
    /// The log was opened read-only ([`LogOptions::read_only`](crate::LogOptions::read_only)); nothing was appended.
    ReadOnly,
    /// A position was waited for that this log has not given out: a bug of the caller.
    NotAppended(LogPosition),
    /// Another checkpoint is being written.
    CheckpointRunning,
    /// An option is out of its range.
    BadOption {
        /// Its name.
        option: &'static str,
        /// Its range.
        limit: &'static str,
    },
    /// The disk failed; nothing was appended, and what was durable is so still.
    Disk(DiskError),
}

impl LogError {
    /// Returns whether transactions that were being made durable may or may not have been.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        matches!(self, Self::Stopped(_))
    }

    /// Returns whether more disk space would help.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full(_))
    }

    /// The error of an operation whose failure left nothing behind.
    pub(crate) fn clean(error: DiskError) -> Self {
        if error.is_full() { Self::Full(error) } else { Self::Disk(error) }
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(error) => write!(f, "no space is left for the log: {error}"),
            Self::TooLarge { bytes, limit } => {
                write!(f, "a log record of {bytes} bytes is larger than the limit of {limit} bytes (see segment_bytes)")
            }
            Self::Stalled { waited } => {
                write!(f, "the log's buffer stayed full for {waited:?}: the disk does not keep up")
            }
            Self::Interrupted => write!(f, "the wait for the log's disk was cancelled"),
            Self::Stopped(error) => write!(
                f,
                "the log has stopped because the disk failed ({error}); the outcome of waiting transactions is unknown \
                 until the database is opened again"
            ),
            Self::Closed => write!(f, "the log is closed"),
            Self::Locked { path, holder } => match holder {
                Some(holder) if holder.is_this() => {
                    write!(
                        f,
                        "{path} is locked: this process has the database open already; use that handle, or close it"
                    )
                }
                Some(holder) => write!(f, "{path} is locked: {holder} has this database open"),
                None => write!(f, "{path} is locked: another process has this database open"),
            },
            Self::NewerFormat { file, found, supported } => write!(
                f,
                "{file} has format version {found}, but this software reads versions up to {supported}: use a newer one"
            ),
            Self::Corrupt(damage) => write!(f, "the log is corrupt: {damage}"),
            Self::NotALog { file } => write!(f, "there is no database here: {file} is missing"),
            Self::ReadOnly => write!(f, "the log was opened read-only"),
            Self::NotAppended(position) => write!(f, "nothing was appended at log position {position} yet"),
            Self::CheckpointRunning => write!(f, "another checkpoint is being written"),
            Self::BadOption { option, limit } => write!(f, "the log's option {option} must be {limit}"),
            Self::Disk(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for LogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Full(error) | Self::Stopped(error) | Self::Disk(error) => Some(error),
            _ => None,
        }
    }
}

/// A stretch of a file that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file's name in the database's directory.
    pub file: String,
    /// Offset of the damage in the file, in bytes.
    pub offset: u64,
    /// Number of bytes from there on that cannot be used; zero if the file or a part of it is missing.
    pub bytes: u64,
    /// Kind of damage.
    pub kind: DamageKind,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {} ({} bytes): {}", self.file, self.offset, self.bytes, self.kind)
    }
}

/// Kind of damage of a stretch of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DamageKind {
    /// The file's header, or a control block, is not what its checksum says.
    Header,
    /// A record is not what its checksum says, or its length is impossible.
    Record,
    /// Records end here, though later ones were written.
    Gap,
    /// The file is missing.
    Missing,
    /// The file does not belong to its neighbours: it was made for another log or another place in it.
    Foreign,
    /// The file ends before its last record.
    Short,
}

impl fmt::Display for DamageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Header => "the header does not match its checksum",
            Self::Record => "the record does not match its checksum",
            Self::Gap => "records are missing here, though later ones exist",
            Self::Missing => "the file is missing",
            Self::Foreign => "the file belongs to another log, or to another position in this one",
            Self::Short => "the file ends too early",
        })
    }
}

/// The log's error as a transaction's user meets it.
impl From<LogError> for model::Error {
    fn from(error: LogError) -> model::Error {
        let detail = error.to_string();
        match error {
            // A table's definition, perhaps; rows and keys have limits of their own.
            LogError::TooLarge { bytes, limit } => {
                let (limit, actual) = (limit as u64, bytes as u64);
                return Limit { kind: LimitKind::WriteSetBytes, limit, actual }.into();
            }
            LogError::Full(_) => Fault::DiskFull { detail },
            LogError::Locked { holder, .. } => {
                Fault::Locked { detail, by_ending: holder.is_some_and(env::process::Holder::may_be_ending) }
            }
            LogError::Stopped(_) => Fault::log_failed_at_commit(detail),
            LogError::Corrupt(_) | LogError::NotALog { .. } => Fault::Corruption { detail },
            LogError::NewerFormat { .. } => Fault::NewerFormat { detail },
            LogError::ReadOnly => Fault::ReadOnly,
            LogError::Closed => Fault::Closed,
            LogError::CheckpointRunning => Fault::CheckpointRunning,
            LogError::BadOption { .. } => return Invalid::Option { what: detail }.into(),
            _ => Fault::Disk { detail },
        }
        .into()
    }
}
