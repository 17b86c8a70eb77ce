//! Disks: the few operations that a log and its checkpoints need, real and simulated.
//!
//! Rules of durability, on every disk:
//! - bytes of a file: [`DiskFile::sync`], after the writes;
//! - a name (of a file that was created or renamed, or its absence after a removal): [`Disk::sync_dir`] of its directory.
//!
//! A failed `sync` must never be repeated on the same file: the operating system may have thrown the bytes away and then
//! report success (PostgreSQL's "fsyncgate", 2018). [`SimDisk`] behaves that way.

mod blocks;
mod real;
mod sim;
mod watched;

use crate::process::Holder;
use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;

pub use real::RealDisk;
pub use sim::{Fault, OperationCounts, SimDisk, SimDiskOptions, Survival};
pub use watched::WatchedDisk;

/// A directory tree on which one database lives. Paths are relative to its root, with `/` between parts; `""` is the root.
///
/// Calls are system calls, so they go through `dyn`.
pub trait Disk: Send + Sync + fmt::Debug + 'static {
    /// Creates a file that does not exist yet, for reading and writing.
    ///
    /// # Errors
    /// `AlreadyExists`, or the disk fails.
    fn create_new(&self, path: &str) -> Result<Box<dyn DiskFile>, DiskError>;

    /// Opens an existing file for reading and writing.
    ///
    /// # Errors
    /// `NotFound`, or the disk fails.
    fn open(&self, path: &str) -> Result<Box<dyn DiskFile>, DiskError>;

    /// Names (not paths) of the files and directories in `directory`, sorted.
    ///
    /// # Errors
    /// `NotFound`, or the disk fails.
    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError>;

    /// Gives a file another name in the same directory, atomically replacing a file of that name. Durable after
    /// [`sync_dir`](Self::sync_dir).
    ///
    /// # Errors
    /// `NotFound`, `InvalidInput` for another directory, or the disk fails.
    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError>;

    /// Removes a file. Durable after [`sync_dir`](Self::sync_dir).
    ///
    /// # Errors
    /// `NotFound`, or the disk fails.
    fn remove(&self, path: &str) -> Result<(), DiskError>;

    /// Creates a directory and its parents where they are missing (`""` creates the root) and makes them durable.
    ///
    /// # Errors
    /// The disk fails.
    fn create_dir_all(&self, path: &str) -> Result<(), DiskError>;

    /// Makes all creations, renames and removals in `directory` durable.
    ///
    /// # Errors
    /// The disk fails.
    fn sync_dir(&self, directory: &str) -> Result<(), DiskError>;

    /// Takes the exclusive lock on `path`, creating the file if needed; returns at once. Held until the guard is dropped or
    /// the process dies, however it dies.
    ///
    /// # Errors
    /// `WouldBlock` when another process, or another guard of this one, holds it; or the disk fails.
    fn lock(&self, path: &str) -> Result<DiskLock, DiskError>;
}

/// An open file. All positions are explicit, so that threads can share it.
pub trait DiskFile: Send + Sync + fmt::Debug + 'static {
    /// Reads at most `buffer.len()` bytes at `offset`; fewer are allowed, zero means that the file ends there.
    ///
    /// # Errors
    /// The disk fails.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError>;

    /// Writes all of `bytes` at `offset`, extending the file if needed. After an error any part of them may be there.
    ///
    /// # Errors
    /// The disk is full or fails.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError>;

    /// Makes all writes that have returned durable (`fdatasync`: bytes and length). After an error nothing is known about any
    /// write since the last success, and the success of a repeated call means nothing.
    ///
    /// # Errors
    /// The disk fails.
    fn sync(&self) -> Result<(), DiskError>;

    /// Reserves space for the first `length` bytes, so that a later write there cannot find the disk full; the file becomes
    /// at least that long, new bytes read as zero.
    ///
    /// # Errors
    /// The disk is full ([`DiskError::is_full`]) or fails.
    fn allocate(&self, length: u64) -> Result<(), DiskError>;

    /// Writes all of `bytes` at `offset` and makes them durable, which may be one call of the system. What other calls have
    /// written is made durable by [`sync`](Self::sync) only. After an error nothing is known, as after one of `sync`.
    ///
    /// # Errors
    /// The disk is full or fails.
    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.write_at(offset, bytes)?;
        self.sync()
    }

    /// Same as [`write_durable_at`](Self::write_durable_at), at the end of what was written: up to the file's end there are
    /// zeros only. So it may write whole blocks, the first of them again with what it holds.
    ///
    /// # Errors
    /// The disk is full or fails.
    fn append_durable_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.write_durable_at(offset, bytes)
    }

    /// How [`append_durable_at`](Self::append_durable_at) works here, as far as is known: the system may refuse the better
    /// ways at the first attempt.
    fn durable_writes(&self) -> DurableWrites {
        DurableWrites::Sync
    }

    /// Same as [`allocate`](Self::allocate), of an empty file; and writes the zeros out where the file system would
    /// otherwise have to note, with the first sync behind a write to each block, that the block has been written.
    ///
    /// # Errors
    /// The disk is full ([`DiskError::is_full`]) or fails.
    fn allocate_written(&self, length: u64) -> Result<(), DiskError> {
        self.allocate(length)
    }

    /// Sets the file's length; new bytes read as zero.
    ///
    /// # Errors
    /// The disk fails.
    fn truncate(&self, length: u64) -> Result<(), DiskError>;

    /// The file's length in bytes.
    ///
    /// # Errors
    /// The disk fails.
    fn len(&self) -> Result<u64, DiskError>;

    /// Returns whether the file is empty.
    ///
    /// # Errors
    /// The disk fails.
    fn is_empty(&self) -> Result<bool, DiskError> {
        self.len().map(|length| length == 0)
    }

    /// Reads until `buffer` is full or the file ends; returns how many bytes it read.
    ///
    /// # Errors
    /// The disk fails.
    fn read_full_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read_at(offset + filled as u64, &mut buffer[filled..])? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(filled)
    }
}

/// Ways to write bytes and make them durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DurableWrites {
    /// A write, then `fdatasync`.
    #[default]
    Sync,
    /// One call: `pwritev2` with `RWF_DSYNC`.
    OneCall,
    /// The same past the page cache, of whole blocks.
    Direct,
}

impl DurableWrites {
    /// Name of the call or flag that makes the bytes durable.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sync => "fdatasync",
            Self::OneCall => "dsync",
            Self::Direct => "direct",
        }
    }
}

/// An exclusive lock on a file of a [`Disk`], released when dropped.
pub struct DiskLock {
    _held: Box<dyn Any + Send + Sync>,
}

impl DiskLock {
    /// A lock that lasts as long as `held`: for implementations of [`Disk`].
    pub fn new(held: impl Any + Send + Sync) -> Self {
        Self { _held: Box::new(held) }
    }
}

impl fmt::Debug for DiskLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DiskLock")
    }
}

/// Operation of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Operation {
    /// [`Disk::create_new`].
    Create,
    /// [`Disk::open`].
    Open,
    /// [`Disk::list`].
    List,
    /// [`Disk::rename`].
    Rename,
    /// [`Disk::remove`].
    Remove,
    /// [`Disk::create_dir_all`].
    CreateDirectory,
    /// [`Disk::sync_dir`].
    SyncDirectory,
    /// [`Disk::lock`].
    Lock,
    /// [`DiskFile::read_at`].
    Read,
    /// [`DiskFile::write_at`].
    Write,
    /// [`DiskFile::write_durable_at`] and [`DiskFile::append_durable_at`], where it is one call.
    WriteDurable,
    /// [`DiskFile::sync`].
    Sync,
    /// [`DiskFile::allocate`], [`DiskFile::allocate_written`].
    Allocate,
    /// [`DiskFile::truncate`].
    Truncate,
    /// [`DiskFile::len`].
    Length,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Open => "open",
            Self::List => "list",
            Self::Rename => "rename",
            Self::Remove => "remove",
            Self::CreateDirectory => "create directory",
            Self::SyncDirectory => "sync directory",
            Self::Lock => "lock",
            Self::Read => "read",
            Self::Write => "write",
            Self::WriteDurable => "write and sync",
            Self::Sync => "sync",
            Self::Allocate => "reserve space for",
            Self::Truncate => "truncate",
            Self::Length => "measure",
        })
    }
}

/// A disk operation that failed: the operation, the path, and the system's reason. Cheap to clone, since all who waited for it
/// receive the same failure.
#[derive(Clone, Debug)]
pub struct DiskError {
    operation: Operation,
    path: String,
    source: Arc<io::Error>,
}

impl DiskError {
    /// An error of `operation` on `path`: for implementations of [`Disk`].
    #[must_use]
    pub fn new(operation: Operation, path: &str, source: io::Error) -> Self {
        Self { operation, path: path.to_owned(), source: Arc::new(source) }
    }

    /// Operation that failed.
    #[must_use]
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// Returns the path as the user knows it (with the root on a real disk).
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The system's reason.
    #[must_use]
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }

    /// Process that holds the lock.
    #[must_use]
    pub fn holder(&self) -> Option<Holder> {
        self.source.get_ref()?.downcast_ref().copied()
    }

    /// No space is left, or a quota or a limit on file sizes is reached: more space may help, another attempt alone will not.
    #[must_use]
    pub fn is_full(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        matches!(self.kind(), StorageFull | QuotaExceeded | FileTooLarge)
    }
}

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {:?}: {}", self.operation, self.path, self.source)
    }
}

impl std::error::Error for DiskError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.source)
    }
}
