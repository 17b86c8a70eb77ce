//! A directory of the operating system's file system.

mod direct;
mod durable;

use super::{Disk, DiskError, DiskFile, DiskLock, DurableWrites, Operation};
use crate::process::{Holder, is_there};
use direct::Direct;
use durable::{OneCall, fill, has_unwritten_blocks};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The directory `root` and what is below it.
#[derive(Clone, Debug)]
pub struct RealDisk {
    root: PathBuf,
    read_only: bool,
}

impl RealDisk {
    /// The disk at `root`, which need not exist yet: `create_dir_all("")` creates it.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), read_only: false }
    }

    /// The same disk for readers only, without the right to write or on a file system that has none: files are opened to read,
    /// locks are shared among such readers, and operations that would change a name are refused.
    #[must_use]
    pub fn read_only(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), read_only: true }
    }

    /// Returns its root directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn resolve(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.root.clone() } else { self.root.join(path) }
    }

    fn check_writable(&self, operation: Operation, path: &Path) -> Result<(), DiskError> {
        if self.read_only { Err(failed(operation, path)(io::ErrorKind::ReadOnlyFilesystem.into())) } else { Ok(()) }
    }

    /// A lock that other readers can have at the same time. Without a lock file there is nobody to keep out: whoever opens to
    /// write makes one first.
    fn lock_shared(path: &Path) -> Result<DiskLock, DiskError> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(DiskLock::new(())),
            Err(error) => return Err(failed(Operation::Lock, path)(error)),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(DiskLock::new(file)),
            Err(TryLockError::WouldBlock) => Err(held(path)),
            Err(TryLockError::Error(error)) => Err(failed(Operation::Lock, path)(error)),
        }
    }

    fn file(&self, path: &str, operation: Operation, options: &OpenOptions) -> Result<Box<dyn DiskFile>, DiskError> {
        let path = self.resolve(path);
        let file = options.open(&path).map_err(failed(operation, &path))?;
        Ok(Box::new(RealFile { file, path, one_call: OneCall::default(), direct: Direct::default() }))
    }
}

/// Turns the system's error into one that names the operation and the path.
fn failed(operation: Operation, path: &Path) -> impl FnOnce(io::Error) -> DiskError {
    move |error| DiskError::new(operation, &path.to_string_lossy(), error)
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Creates `path` and makes each new name durable in its parent, from the top down.
fn create_directories(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent {
        create_directories(parent)?;
    }
    match fs::create_dir(path) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        result => result?,
    }
    sync_directory(parent.unwrap_or(Path::new(".")))
}

impl Disk for RealDisk {
    fn create_new(&self, path: &str) -> Result<Box<dyn DiskFile>, DiskError> {
        self.check_writable(Operation::Create, &self.resolve(path))?;
        self.file(path, Operation::Create, OpenOptions::new().read(true).write(true).create_new(true))
    }

    fn open(&self, path: &str) -> Result<Box<dyn DiskFile>, DiskError> {
        self.file(path, Operation::Open, OpenOptions::new().read(true).write(!self.read_only))
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError> {
        let path = self.resolve(directory);
        let names = || -> io::Result<Vec<String>> {
            let mut names = Vec::new();
            for entry in fs::read_dir(&path)? {
                // A name that is not UTF-8 is not one of ours.
                names.extend(entry?.file_name().into_string().ok());
            }
            names.sort_unstable();
            Ok(names)
        };
        names().map_err(failed(Operation::List, &path))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        let (from, to) = (self.resolve(from), self.resolve(to));
        if from.parent() != to.parent() {
            return Err(failed(Operation::Rename, &from)(io::ErrorKind::InvalidInput.into()));
        }
        self.check_writable(Operation::Rename, &from)?;
        fs::rename(&from, to).map_err(failed(Operation::Rename, &from))
    }

    fn remove(&self, path: &str) -> Result<(), DiskError> {
        let path = self.resolve(path);
        self.check_writable(Operation::Remove, &path)?;
        fs::remove_file(&path).map_err(failed(Operation::Remove, &path))
    }

    fn create_dir_all(&self, path: &str) -> Result<(), DiskError> {
        let path = self.resolve(path);
        self.check_writable(Operation::CreateDirectory, &path)?;
        create_directories(&path).map_err(failed(Operation::CreateDirectory, &path))
    }

    fn sync_dir(&self, directory: &str) -> Result<(), DiskError> {
        let path = self.resolve(directory);
        sync_directory(&path).map_err(failed(Operation::SyncDirectory, &path))
    }

    fn lock(&self, path: &str) -> Result<DiskLock, DiskError> {
        let path = self.resolve(path);
        if self.read_only {
            return Self::lock_shared(&path);
        }
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = open.map_err(failed(Operation::Lock, &path))?;
        match file.try_lock() {
            Ok(()) => {
                // For whoever comes too late. The lock itself does not need it.
                let process = format!("{}\n", std::process::id());
                let _ = file.set_len(0).and_then(|()| file.write_all_at(process.as_bytes(), 0));
                Ok(DiskLock::new(file))
            }
            Err(TryLockError::WouldBlock) => Err(held(&path)),
            Err(TryLockError::Error(error)) => Err(failed(Operation::Lock, &path)(error)),
        }
    }
}

/// The error of a lock that another process has: names the holder recorded in the lock's file, if that process exists. Readers
/// write nothing there.
fn held(path: &Path) -> DiskError {
    let process = fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
    let holder = Holder { process: process.filter(|&process| is_there(process)) };
    failed(Operation::Lock, path)(io::Error::new(io::ErrorKind::WouldBlock, holder))
}

#[derive(Debug)]
struct RealFile {
    file: File,
    path: PathBuf,
    one_call: OneCall,
    direct: Direct,
}

impl RealFile {
    fn failed(&self, operation: Operation) -> impl FnOnce(io::Error) -> DiskError {
        failed(operation, &self.path)
    }
}

impl DiskFile for RealFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError> {
        loop {
            match self.file.read_at(buffer, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result.map_err(self.failed(Operation::Read)),
            }
        }
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.direct.forget();
        self.file.write_all_at(bytes, offset).map_err(self.failed(Operation::Write))
    }

    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.direct.forget();
        let failed = self.failed(Operation::WriteDurable);
        if self.one_call.is_possible() && self.one_call.write(&self.file, offset, bytes).map_err(failed)? {
            return Ok(());
        }
        self.write_at(offset, bytes)?;
        self.sync()
    }

    fn append_durable_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        let appended = self.direct.append(&self.file, offset, bytes);
        if appended.map_err(self.failed(Operation::WriteDurable))? {
            return Ok(());
        }
        self.write_durable_at(offset, bytes)
    }

    fn durable_writes(&self) -> DurableWrites {
        if self.direct.is_used() {
            return DurableWrites::Direct;
        }
        if self.one_call.is_possible() { DurableWrites::OneCall } else { DurableWrites::Sync }
    }

    fn sync(&self) -> Result<(), DiskError> {
        self.file.sync_data().map_err(self.failed(Operation::Sync))
    }

    fn allocate(&self, length: u64) -> Result<(), DiskError> {
        self.direct.close();
        allocate(&self.file, length).map_err(self.failed(Operation::Allocate))
    }

    fn allocate_written(&self, length: u64) -> Result<(), DiskError> {
        // Blocks first: a full disk is found before anything is written.
        self.allocate(length)?;
        if !has_unwritten_blocks(&self.file) {
            return Ok(());
        }
        fill(&self.file, length).map_err(self.failed(Operation::Allocate))
    }

    fn truncate(&self, length: u64) -> Result<(), DiskError> {
        self.direct.close();
        self.file.set_len(length).map_err(self.failed(Operation::Truncate))
    }

    fn len(&self) -> Result<u64, DiskError> {
        self.file.metadata().map(|metadata| metadata.len()).map_err(self.failed(Operation::Length))
    }
}

/// Asks the file system to reserve the blocks; where it cannot, writes zeros.
#[cfg(target_os = "linux")]
fn allocate(file: &File, length: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    if length == 0 {
        return Ok(());
    }
    loop {
        match fallocate(file, FallocateFlags::empty(), 0, length) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return write_zeros(file, length),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Writes zeros: the portable way to reserve space.
#[cfg(not(target_os = "linux"))]
fn allocate(file: &File, length: u64) -> io::Result<()> {
    write_zeros(file, length)
}

/// Extends the file to `length` with zeros, which reserves blocks on every file system that does not compress or share.
fn write_zeros(file: &File, length: u64) -> io::Result<()> {
    static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];
    let mut end = file.metadata()?.len();
    while end < length {
        let count = (length - end).min(ZEROS.len() as u64);
        file.write_all_at(&ZEROS[..count as usize], end)?;
        end += count;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_extend_and_never_overwrite() {
        let directory = std::env::temp_dir().join(format!("seriatim-env-zeros-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join("file");
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        file.write_all_at(b"kept", 0).unwrap();
        write_zeros(&file, 100_000).unwrap();
        let bytes = fs::read(&path).unwrap();
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(bytes.len(), 100_000);
        assert_eq!(&bytes[..4], b"kept");
        assert!(bytes[4..].iter().all(|byte| *byte == 0));
    }
}
