//! Where `hyper` keeps its redo log in a trial: nowhere, in memory, or in memory and at a second process.
//!
//! Source: HyPer (SIGMOD '15), sections 4 and 4.4: the log in local memory, and shipped to a second node.

use super::hyper_options;
use super::shipped::{self, Shipping};
use super::{Settings, disk};
use crate::processes::own_program;
use env::{Disk, RealDisk};
use hyper::{Hyper, Options};
use model::{Fault, Result};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Where the redo log of `hyper` is, if its data are in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RedoLog {
    /// There is none.
    #[default]
    None,
    /// In files that are memory.
    Memory,
    /// The same, and each write of the log goes to a second process, which stores it and acknowledges it later.
    Shipped,
}

/// The command of the second process.
pub const RECEIVE: &str = "receive-log";

/// A log while its engine is open.
#[derive(Default)]
pub struct OpenLog {
    shipped: Option<(Shipping, Child)>,
    /// Goes last.
    directories: Vec<MemoryDirectory>,
}

/// Opens `hyper` as the settings say.
///
/// # Errors
/// The log cannot be opened, or no second process be started.
pub fn open(settings: &Settings) -> Result<(Hyper, OpenLog)> {
    let options = hyper_options(settings);
    match (&settings.data, settings.hyper.log) {
        (Some(directory), _) => Ok((Hyper::open(disk(directory), options)?, OpenLog::default())),
        (None, RedoLog::None) => Ok((Hyper::new(options), OpenLog::default())),
        (None, log) => open_in_memory(log, options),
    }
}

fn open_in_memory(log: RedoLog, options: Options) -> Result<(Hyper, OpenLog)> {
    let here = MemoryDirectory::new().map_err(fault)?;
    let mut disk: Arc<dyn Disk> = here.disk();
    let mut open = OpenLog { shipped: None, directories: vec![here] };
    if log == RedoLog::Shipped {
        let there = MemoryDirectory::new().map_err(fault)?;
        let (child, stream) = start_receiver(&there.0).map_err(fault)?;
        let (shipped, shipping) = Shipping::begin(disk, stream).map_err(fault)?;
        disk = Arc::new(shipped);
        open.shipped = Some((shipping, child));
        open.directories.push(there);
    }
    Ok((Hyper::open(disk, options)?, open))
}

fn fault(error: io::Error) -> Fault {
    Fault::Disk { detail: format!("the log of the trial: {error}") }
}

/// Starts this program as the second process.
fn start_receiver(directory: &Path) -> io::Result<(Child, TcpStream)> {
    let mut command = Command::new(own_program()?);
    let mut child = command.arg(RECEIVE).arg(directory).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut port = String::new();
    let said = child.stdout.take().map(|output| BufReader::new(output).read_line(&mut port));
    let connected = said.transpose().and_then(|_| {
        let port: u16 = port.trim().parse().map_err(|_| io::Error::other("the second process has no port"))?;
        TcpStream::connect((Ipv4Addr::LOCALHOST, port))
    });
    match connected {
        Ok(stream) => Ok((child, stream)),
        Err(error) => {
            child.kill()?;
            child.wait()?;
            Err(error)
        }
    }
}

/// The second process: says its port, takes one connection, and stores what comes.
///
/// # Errors
/// It gets no connection; the connection is lost or sends no changes; the disk fails.
pub fn receive(directory: &Path, out: &mut dyn Write) -> std::result::Result<(), String> {
    let stream = accept(out).map_err(|error| format!("cannot take a connection: {error}"))?;
    shipped::receive(&RealDisk::new(directory), stream).map(drop)
}

fn accept(out: &mut dyn Write) -> io::Result<TcpStream> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    writeln!(out, "{}", listener.local_addr()?.port())?;
    out.flush()?;
    Ok(listener.accept()?.0)
}

impl OpenLog {
    /// Waits for what was shipped to be acknowledged, and for the second process to end. The engine is closed.
    ///
    /// # Errors
    /// Something was lost.
    pub fn finish(mut self) -> Result<()> {
        let Some((shipping, mut child)) = self.shipped.take() else { return Ok(()) };
        let shipped = shipping.finish();
        let ended = child.wait().map_err(fault)?;
        shipped.map_err(|detail| Fault::Disk { detail })?;
        if ended.success() {
            Ok(())
        } else {
            Err(fault(io::Error::other(format!("the receiver ended with {ended}"))).into())
        }
    }
}

/// A directory in memory, where the system has some; else for temporary files.
struct MemoryDirectory(PathBuf);

/// The name of such a directory begins so, and goes on with the identifier of its process, a hyphen and a number.
const NAME: &str = "seriatim-lab-log-";

impl MemoryDirectory {
    fn new() -> io::Result<MemoryDirectory> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let memory = Path::new("/dev/shm");
        let root = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        remove_abandoned(&root);
        let path = root.join(format!("{NAME}{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed)));
        std::fs::create_dir_all(&path)?;
        Ok(MemoryDirectory(path))
    }

    fn disk(&self) -> Arc<RealDisk> {
        disk(&self.0)
    }
}

/// Removes what trials have left that were killed: directories in memory are taken from those that come.
fn remove_abandoned(root: &Path) {
    let processes = Path::new("/proc");
    let Ok(entries) = std::fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(NAME)?.split_once('-')?.0.parse::<u32>().ok());
        let has_ended = |process: u32| processes.join("self").exists() && !processes.join(process.to_string()).exists();
        if process.is_some_and(has_ended) {
            // One that stays is another user's.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for MemoryDirectory {
    fn drop(&mut self) {
        // Leftovers are the system's to remove.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
