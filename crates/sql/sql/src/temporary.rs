//! Temporary files of statements that hold more rows than they may ([`vectors::spill`]).
//!
//! A file is removed when its statement ends. Those of a process that was killed are removed when the next one opens the same directory.

use crate::error::state;
use env::{Disk, DiskError, DiskFile, RealDisk};
use pgtypes::{Error, Result, interrupt};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vectors::spill::{TemporaryFile, TemporaryFiles};

/// Where an instance keeps temporary files.
#[derive(Debug)]
pub struct Temporary {
    disk: Arc<dyn Disk>,
    /// Whether others have files there: then a file loses its name at once, and goes with this process however it ends.
    is_shared: bool,
}

/// Numbers files among all instances of this process. Relaxed: only the numbers must differ.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl Temporary {
    /// Files in a directory that holds nothing else: what is there is removed. `None`: files in the system's directory for them.
    pub fn new(disk: Option<Arc<dyn Disk>>) -> Temporary {
        let Some(disk) = disk else {
            return Temporary { disk: Arc::new(RealDisk::new(std::env::temp_dir())), is_shared: true };
        };
        // A directory that cannot be made or read is an error of the statement that needs it.
        let _ = disk.create_dir_all("");
        for name in disk.list("").unwrap_or_default() {
            let _ = disk.remove(&name);
        }
        Temporary { disk, is_shared: false }
    }

    /// The files of one statement, which may have so many bytes together.
    pub fn of_statement(&self, limit: Option<u64>) -> Arc<dyn TemporaryFiles> {
        Arc::new(Files { disk: self.disk.clone(), is_shared: self.is_shared, used: Arc::default(), limit })
    }
}

/// The files of a statement.
struct Files {
    disk: Arc<dyn Disk>,
    is_shared: bool,
    /// Bytes of all. Relaxed: a counter that publishes nothing.
    used: Arc<AtomicU64>,
    limit: Option<u64>,
}

impl TemporaryFiles for Files {
    fn create(&self) -> Result<Box<dyn TemporaryFile>> {
        interrupt::look()?;
        let name = format!("seriatim-{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let file = self.disk.create_new(&name).map_err(|error| failed("create", &name, &error))?;
        let disk = match self.is_shared {
            true => self.disk.remove(&name).map_or_else(|_| Some(self.disk.clone()), |()| None),
            false => Some(self.disk.clone()),
        };
        let (used, limit) = (self.used.clone(), self.limit);
        Ok(Box::new(File { name, file, disk, used, limit, bytes: 0 }))
    }
}

struct File {
    name: String,
    file: Box<dyn DiskFile>,
    /// Where it has a name; `None`: nowhere any more.
    disk: Option<Arc<dyn Disk>>,
    used: Arc<AtomicU64>,
    limit: Option<u64>,
    bytes: u64,
}

fn failed(what: &str, name: &str, error: &DiskError) -> Error {
    if error.is_full() {
        let message = format!("could not {what} temporary file \"{name}\": No space left on device");
        return Error::new(state::DISK_FULL, message).hint("Free space, or raise \"work_mem\" of the session.");
    }
    Error::new(state::IO_ERROR, format!("could not {what} temporary file \"{name}\"")).detail(error.to_string())
}

/// Returns whether an error is one of temporary files, which the statement returns.
pub fn is_of_files(error: &Error) -> bool {
    [state::DISK_FULL, state::IO_ERROR, state::CONFIGURATION_LIMIT_EXCEEDED].contains(&error.code())
}

impl TemporaryFile for File {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        interrupt::look()?;
        self.bytes += bytes.len() as u64;
        let used = self.used.fetch_add(bytes.len() as u64, Ordering::Relaxed) + bytes.len() as u64;
        if let Some(limit) = self.limit
            && used > limit
        {
            let message = format!("temporary file size exceeds temp_file_limit ({}kB)", limit / 1024);
            return Err(Error::new(state::CONFIGURATION_LIMIT_EXCEEDED, message));
        }
        self.file.write_at(offset, bytes).map_err(|error| failed("write", &self.name, &error))
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        interrupt::look()?;
        let wanted = bytes.len();
        let read = self.file.read_full_at(offset, bytes).map_err(|error| failed("read", &self.name, &error))?;
        if read < wanted {
            return Err(Error::new(
                state::IO_ERROR,
                format!("temporary file \"{}\" is shorter than it was", self.name),
            ));
        }
        Ok(())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Ordering::Relaxed);
        // One that cannot be removed goes with the next start.
        let _ = self.disk.as_ref().map(|disk| disk.remove(&self.name));
    }
}
