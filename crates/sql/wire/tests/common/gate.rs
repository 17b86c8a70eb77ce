//! A server whose disk does not return from a sync while a gate is shut.

use super::{Client, Limits, Options, Running, query, serve_store};
use env::{Disk, DiskError, DiskFile, DiskLock, SimDisk, SimDiskOptions};
use hyper::Hyper;
use mvto::Mvto;
use sql::store::{Engine, Store};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;
use wal::LogOptions;

/// Waits for space have no limit of their own that a test could see, and a disk that is shut for long, as a busy machine sees it, does
/// not stop the engine's time.
const A_LONG_TIME: Duration = Duration::from_secs(3600);

/// A disk whose syncs do not return while its gate is shut.
#[derive(Debug)]
struct Gated {
    disk: SimDisk,
    gate: Arc<Gate>,
}

#[derive(Debug, Default)]
pub struct Gate {
    is_shut: Mutex<bool>,
    opened: Condvar,
    /// Whether the log's writer stands at the gate: from then on nothing leaves the log's buffer.
    holds_writer: Mutex<bool>,
    writer_came: Condvar,
}

impl Gate {
    pub fn shut(&self) {
        *self.is_shut.lock().unwrap() = true;
    }

    pub fn open(&self) {
        *self.is_shut.lock().unwrap() = false;
        self.opened.notify_all();
    }

    /// Waits until the log's writer stands at the gate.
    pub fn await_writer(&self) {
        drop(self.writer_came.wait_while(self.holds_writer.lock().unwrap(), |holds| !*holds).unwrap());
    }

    fn pass(&self) {
        if *self.is_shut.lock().unwrap() && thread::current().name() == Some("seriatim-log") {
            *self.holds_writer.lock().unwrap() = true;
            self.writer_came.notify_all();
        }
        drop(self.opened.wait_while(self.is_shut.lock().unwrap(), |is_shut| *is_shut).unwrap());
    }
}

#[derive(Debug)]
struct GatedFile {
    file: Box<dyn DiskFile>,
    gate: Arc<Gate>,
}

impl Gated {
    fn file(&self, file: Box<dyn DiskFile>) -> Box<dyn DiskFile> {
        Box::new(GatedFile { file, gate: self.gate.clone() })
    }
}

impl Disk for Gated {
    fn create_new(&self, path: &str) -> Result<Box<dyn DiskFile>, DiskError> {
        self.disk.create_new(path).map(|file| self.file(file))
    }
    fn open(&self, path: &str) -> Result<Box<dyn DiskFile>, DiskError> {
        self.disk.open(path).map(|file| self.file(file))
    }
    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError> {
        self.disk.list(directory)
    }
    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        self.disk.rename(from, to)
    }
    fn remove(&self, path: &str) -> Result<(), DiskError> {
        self.disk.remove(path)
    }
    fn create_dir_all(&self, path: &str) -> Result<(), DiskError> {
        self.disk.create_dir_all(path)
    }
    fn sync_dir(&self, directory: &str) -> Result<(), DiskError> {
        self.disk.sync_dir(directory)
    }
    fn lock(&self, path: &str) -> Result<DiskLock, DiskError> {
        self.disk.lock(path)
    }
}

impl DiskFile for GatedFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError> {
        self.file.read_at(offset, buffer)
    }
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.file.write_at(offset, bytes)
    }
    fn sync(&self) -> Result<(), DiskError> {
        self.gate.pass();
        self.file.sync()
    }
    fn allocate(&self, length: u64) -> Result<(), DiskError> {
        self.file.allocate(length)
    }
    fn truncate(&self, length: u64) -> Result<(), DiskError> {
        self.file.truncate(length)
    }
    fn len(&self) -> Result<u64, DiskError> {
        self.file.len()
    }
}

/// A server whose disk can be stopped. The gate is opened before the engine is dropped, which waits for the disk.
pub struct Stage {
    pub server: Running,
    pub gate: OpenAtLast,
    _store: Arc<dyn Store>,
}

pub struct OpenAtLast(pub Arc<Gate>);

impl Drop for OpenAtLast {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// A server with a table `t`.
pub fn stage() -> Stage {
    stage_with(|_| {}, |_| {})
}

/// A stage whose log and whose server have other options.
pub fn stage_with(change_log: impl FnOnce(&mut LogOptions), change: impl FnOnce(&mut Options)) -> Stage {
    let mut log = LogOptions { append_timeout: A_LONG_TIME, ..LogOptions::default() };
    change_log(&mut log);
    let open = |disk| -> Arc<dyn Store> {
        match testing::Engine::of_tests_with_versions() {
            testing::Engine::Hyper => {
                let options = hyper::Options { log, ..hyper::Options::default() };
                Arc::new(Engine(Arc::new(Hyper::open(disk, options).unwrap())))
            }
            _ => {
                let options = mvto::Options { log, ceiling_lease: A_LONG_TIME, ..mvto::Options::default() };
                Arc::new(Engine(Arc::new(Mvto::open(disk, options).unwrap())))
            }
        }
    };
    stage_on(open, change)
}

/// A stage of an engine that `open` opens on its disk, whose server has other options.
pub fn stage_on(open: impl FnOnce(Arc<dyn Disk>) -> Arc<dyn Store>, change: impl FnOnce(&mut Options)) -> Stage {
    let gate = Arc::<Gate>::default();
    let disk = Gated { disk: SimDisk::new(1, SimDiskOptions::default()), gate: gate.clone() };
    let store = open(Arc::new(disk));
    let server = serve_store(store.clone(), Limits::default(), change);
    let mut client = server.client();
    assert_eq!(client.query("create table t (id int primary key)"), "C[CREATE TABLE] Z[I]");
    Stage { server, gate: OpenAtLast(gate), _store: store }
}

/// A session whose commit waits for the log, as `watcher` has seen.
pub fn waiting_for_the_log(stage: &Stage, watcher: &mut Client, sql: &str) -> Client {
    let mut waiter = stage.server.client();
    stage.gate.0.shut();
    waiter.send(&query(sql));
    until(watcher, &format!("select wait_event from pg_stat_activity where pid = {}", waiter.key.0), "D[WALSync]");
    waiter
}

pub fn until_gone(watcher: &mut Client, process: u32) {
    until(watcher, &format!("select count(*) from pg_stat_activity where pid = {process}"), "D[0]");
}

pub fn until(watcher: &mut Client, sql: &str, answer: &str) {
    while !watcher.query(sql).contains(answer) {
        thread::yield_now();
    }
}
