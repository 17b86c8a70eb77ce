//! A disk with a listener in front: a test blocks an operation there, or lets something happen in the middle of it.

use super::{Disk, DiskError, DiskFile, DiskLock, DurableWrites, Operation};
use std::fmt;
use std::sync::Arc;

/// Called with an operation and its path.
type Listener = Arc<dyn Fn(Operation, &str) + Send + Sync>;

/// A disk that calls a listener before it passes an operation on: with the path that the operation names (of a rename the
/// old one) or that its file was opened by. A durable write is a write and a sync to the listener, however the disk does
/// it. Calls come from whichever threads use the disk.
#[derive(Clone)]
pub struct WatchedDisk {
    disk: Arc<dyn Disk>,
    before: Listener,
}

impl WatchedDisk {
    /// `disk`, with `before` called before each operation.
    pub fn new(disk: impl Disk, before: impl Fn(Operation, &str) + Send + Sync + 'static) -> Self {
        Self { disk: Arc::new(disk), before: Arc::new(before) }
    }

    fn file(&self, path: &str, file: Box<dyn DiskFile>) -> Box<dyn DiskFile> {
        Box::new(WatchedFile { file, path: path.to_owned(), before: Arc::clone(&self.before) })
    }
}

impl fmt::Debug for WatchedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WatchedDisk").field(&self.disk).finish()
    }
}

impl Disk for WatchedDisk {
    fn create_new(&self, path: &str) -> Result<Box<dyn DiskFile>, DiskError> {
        (self.before)(Operation::Create, path);
        Ok(self.file(path, self.disk.create_new(path)?))
    }

    fn open(&self, path: &str) -> Result<Box<dyn DiskFile>, DiskError> {
        (self.before)(Operation::Open, path);
        Ok(self.file(path, self.disk.open(path)?))
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError> {
        (self.before)(Operation::List, directory);
        self.disk.list(directory)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        (self.before)(Operation::Rename, from);
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &str) -> Result<(), DiskError> {
        (self.before)(Operation::Remove, path);
        self.disk.remove(path)
    }

    fn create_dir_all(&self, path: &str) -> Result<(), DiskError> {
        (self.before)(Operation::CreateDirectory, path);
        self.disk.create_dir_all(path)
    }

    fn sync_dir(&self, directory: &str) -> Result<(), DiskError> {
        (self.before)(Operation::SyncDirectory, directory);
        self.disk.sync_dir(directory)
    }

    fn lock(&self, path: &str) -> Result<DiskLock, DiskError> {
        (self.before)(Operation::Lock, path);
        self.disk.lock(path)
    }
}

/// A file of a [`WatchedDisk`].
struct WatchedFile {
    file: Box<dyn DiskFile>,
    path: String,
    before: Listener,
}

impl fmt::Debug for WatchedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WatchedFile").field(&self.file).finish()
    }
}

impl DiskFile for WatchedFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError> {
        (self.before)(Operation::Read, &self.path);
        self.file.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        (self.before)(Operation::Write, &self.path);
        self.file.write_at(offset, bytes)
    }

    fn sync(&self) -> Result<(), DiskError> {
        (self.before)(Operation::Sync, &self.path);
        self.file.sync()
    }

    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        (self.before)(Operation::Write, &self.path);
        (self.before)(Operation::Sync, &self.path);
        self.file.write_durable_at(offset, bytes)
    }

    fn append_durable_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        (self.before)(Operation::Write, &self.path);
        (self.before)(Operation::Sync, &self.path);
        self.file.append_durable_at(offset, bytes)
    }

    fn durable_writes(&self) -> DurableWrites {
        self.file.durable_writes()
    }

    fn allocate(&self, length: u64) -> Result<(), DiskError> {
        (self.before)(Operation::Allocate, &self.path);
        self.file.allocate(length)
    }

    fn allocate_written(&self, length: u64) -> Result<(), DiskError> {
        (self.before)(Operation::Allocate, &self.path);
        self.file.allocate_written(length)
    }

    fn truncate(&self, length: u64) -> Result<(), DiskError> {
        (self.before)(Operation::Truncate, &self.path);
        self.file.truncate(length)
    }

    fn len(&self) -> Result<u64, DiskError> {
        (self.before)(Operation::Length, &self.path);
        self.file.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SimDisk, SimDiskOptions};
    use std::sync::Mutex;

    #[test]
    fn each_operation_is_told_before_it_is_done() {
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let sim = SimDisk::new(1, SimDiskOptions::default());
        let disk = WatchedDisk::new(sim.clone(), {
            let heard = Arc::clone(&heard);
            move |operation, path| {
                let names = sim.list("").expect("a root").join(" ");
                heard.lock().expect("no panic").push(format!("{operation} {path} [{names}]"));
            }
        });
        let file = disk.create_new("a").expect("a new file");
        file.write_at(0, b"bytes").expect("room");
        file.sync().expect("no fault");
        disk.rename("a", "b").expect("it is there");
        assert_eq!(disk.open("b").expect("it is there").len().expect("no fault"), 5);
        disk.remove("b").expect("it is there");
        let expected =
            ["create a []", "write a [a]", "sync a [a]", "rename a [a]", "open b [b]", "measure b [b]", "remove b [b]"];
        assert_eq!(*heard.lock().expect("no panic"), expected);
    }
}
