//! Sessions that wait for a log whose disk does not return from a sync: each of them can be ended.

mod common;

use common::{Client, Running, query, start_on};
use env::{Disk, DiskError, DiskFile, DiskLock, SimDisk, SimDiskOptions};
use mvto::Mvto;
use sql::store::Engine;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

const TERMINATED: &str = "E[FATAL 57P01 terminating connection due to administrator command] end";

/// A disk whose syncs do not return while its gate is shut.
#[derive(Debug)]
struct Gated {
    disk: SimDisk,
    gate: Arc<Gate>,
}

#[derive(Debug, Default)]
struct Gate {
    is_shut: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn shut(&self) {
        *self.is_shut.lock().unwrap() = true;
    }

    fn open(&self) {
        *self.is_shut.lock().unwrap() = false;
        self.opened.notify_all();
    }

    fn pass(&self) {
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
struct Stage {
    server: Running,
    gate: OpenAtLast,
    _engine: Arc<Mvto>,
}

struct OpenAtLast(Arc<Gate>);

impl Drop for OpenAtLast {
    fn drop(&mut self) {
        self.0.open();
    }
}

fn stage() -> Stage {
    let gate = Arc::<Gate>::default();
    let disk = Gated { disk: SimDisk::new(1, SimDiskOptions::default()), gate: gate.clone() };
    let engine = Arc::new(Mvto::open(Arc::new(disk), mvto::Options::default()).unwrap());
    let server = start_on(Arc::new(Engine(engine.clone())));
    let mut client = server.client();
    assert_eq!(client.query("create table t (id int primary key)"), "C[CREATE TABLE] Z[I]");
    Stage { server, gate: OpenAtLast(gate), _engine: engine }
}

/// A session whose commit waits for the log, as `watcher` has seen.
fn waiting_for_the_log(stage: &Stage, watcher: &mut Client, sql: &str) -> Client {
    let mut waiter = stage.server.client();
    stage.gate.0.shut();
    waiter.send(&query(sql));
    until(watcher, &format!("select wait_event from pg_stat_activity where pid = {}", waiter.key.0), "D[WALSync]");
    waiter
}

fn until_gone(watcher: &mut Client, process: u32) {
    until(watcher, &format!("select count(*) from pg_stat_activity where pid = {process}"), "D[0]");
}

fn until(watcher: &mut Client, sql: &str, answer: &str) {
    while !watcher.query(sql).contains(answer) {
        thread::yield_now();
    }
}

/// The client is told that the outcome is unknown; the commit stays visible, and is durable when the disk goes on.
#[test]
fn a_commit_that_waits_for_the_log_is_terminated() {
    let stage = stage();
    let mut watcher = stage.server.client();
    let mut waiter = waiting_for_the_log(&stage, &mut watcher, "insert into t values (1)");
    assert!(watcher.query(&format!("select pg_cancel_backend({})", waiter.key.0)).contains("D[t]"));
    until(&mut watcher, &format!("select wait_event from pg_stat_activity where pid = {}", waiter.key.0), "D[WALSync]");
    assert!(watcher.query(&format!("select pg_terminate_backend({})", waiter.key.0)).contains("D[t]"));
    let (kind, body) = waiter.message().unwrap();
    let told = String::from_utf8_lossy(&body);
    assert!(kind == b'E' && told.contains("57P01") && told.contains("may not be durable"), "{told}");
    assert_eq!(waiter.answer(), "end", "nothing else was said of the commit");
    until_gone(&mut watcher, waiter.key.0);
    stage.gate.0.open();
    assert_eq!(watcher.query("select id from t"), "T[id:23:0] D[1] C[SELECT 1] Z[I]");
}

/// An answer that rests on a commit which is not durable yet waits, and can be ended, like the commit's own.
#[test]
fn a_reader_that_waits_for_the_log_is_terminated() {
    let stage = stage();
    let mut watcher = stage.server.client();
    let writer = waiting_for_the_log(&stage, &mut watcher, "insert into t values (1)");
    let mut reader = waiting_for_the_log(&stage, &mut watcher, "select id from t");
    watcher.query(&format!("select pg_terminate_backend({})", reader.key.0));
    assert_eq!(reader.answer(), TERMINATED);
    until_gone(&mut watcher, reader.key.0);
    drop(writer);
}

/// Rows of a long answer leave early; they wait, too.
#[test]
fn rows_that_wait_for_the_log_are_terminated() {
    let stage = stage();
    let mut watcher = stage.server.client();
    let _writer = waiting_for_the_log(&stage, &mut watcher, "insert into t select generate_series(1, 50000)");
    for sql in ["select id, repeat('x', 100) from t", "copy t to stdout"] {
        let mut reader = waiting_for_the_log(&stage, &mut watcher, sql);
        watcher.query(&format!("select pg_terminate_backend({})", reader.key.0));
        assert_eq!(reader.answer(), TERMINATED, "{sql}");
    }
}

#[test]
fn a_client_that_leaves_while_its_commit_waits_for_the_log_is_gone() {
    let stage = stage();
    let mut watcher = stage.server.client();
    let waiter = waiting_for_the_log(&stage, &mut watcher, "insert into t values (1)");
    let process = waiter.key.0;
    drop(waiter);
    until_gone(&mut watcher, process);
}

/// Temporary tables would have to be dropped, which the log would have to take.
#[test]
fn a_session_with_temporary_tables_ends_while_the_log_stands_still() {
    let stage = stage();
    let mut watcher = stage.server.client();
    let mut waiter = stage.server.client();
    assert_eq!(waiter.query("create temporary table own (id int)"), "C[CREATE TABLE] Z[I]");
    stage.gate.0.shut();
    waiter.send(&query("insert into t values (1)"));
    until(&mut watcher, &format!("select wait_event from pg_stat_activity where pid = {}", waiter.key.0), "D[WALSync]");
    watcher.query(&format!("select pg_terminate_backend({})", waiter.key.0));
    until_gone(&mut watcher, waiter.key.0);
}

#[test]
fn a_log_that_stands_still_does_not_keep_the_server_from_stopping() {
    let mut stage = stage();
    let mut watcher = stage.server.client();
    let mut waiter = waiting_for_the_log(&stage, &mut watcher, "insert into t values (1)");
    stage.server.join();
    assert_eq!(waiter.answer(), TERMINATED);
}
