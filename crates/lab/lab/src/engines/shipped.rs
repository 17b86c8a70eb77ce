//! A disk whose changes go to a second process as well, which makes them in a directory of its own and acknowledges them later:
//! HyPer's redo log, shipped. The directory that the second process has is a database's: it can be opened.
//!
//! A frame is the length of a change in four bytes, the change, and the bytes that it writes. Each frame is answered with the
//! number of frames received so far, in eight bytes. Nobody waits for an answer but [`Shipping::finish`]; a second process that
//! falls behind delays the log's writer when the connection's buffers are full.

use env::disk::{DiskLock, DurableWrites};
use env::{Disk, DiskError, DiskFile, Operation};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// A change of the disk. Files are numbered as they are opened: their names change.
#[derive(Debug, Serialize, Deserialize)]
enum Change<'a> {
    Create(u64, &'a str),
    Open(u64, &'a str),
    Close(u64),
    /// File, offset, and how many bytes follow.
    Write(u64, u64, u64),
    Allocate(u64, u64),
    Truncate(u64, u64),
    Rename(&'a str, &'a str),
    Remove(&'a str),
    CreateDirectory(&'a str),
}

/// Bytes of a change beside those that it writes, at most.
const CHANGE_BYTES: usize = 4096;
/// Bytes that one change writes, at most: more than the log writes at once.
const WRITTEN_BYTES: u64 = 1 << 30;

/// The sending end of a connection.
#[derive(Debug)]
struct Sender {
    stream: TcpStream,
    frame: Vec<u8>,
    sent: u64,
}

/// The connection to the second process.
#[derive(Debug)]
pub struct Shipping {
    sender: Arc<Mutex<Sender>>,
    /// Ends with the connection, with the last answer.
    answers: JoinHandle<io::Result<u64>>,
}

/// The disk in front of another one.
#[derive(Debug)]
pub struct ShippedDisk {
    disk: Arc<dyn Disk>,
    sender: Arc<Mutex<Sender>>,
    files: AtomicU64,
}

#[derive(Debug)]
struct ShippedFile {
    file: Box<dyn DiskFile>,
    number: u64,
    path: String,
    sender: Arc<Mutex<Sender>>,
}

impl Shipping {
    /// Ships the changes of `disk` by a connection.
    ///
    /// # Errors
    /// The system has no second handle of the connection.
    pub fn begin(disk: Arc<dyn Disk>, stream: TcpStream) -> io::Result<(ShippedDisk, Shipping)> {
        stream.set_nodelay(true)?;
        let mut input = stream.try_clone()?;
        let sender = Arc::new(Mutex::new(Sender { stream, frame: Vec::new(), sent: 0 }));
        let answers = thread::spawn(move || {
            let (mut answer, mut last) = ([0; 8], 0);
            while read_whole(&mut input, &mut answer)? {
                last = u64::from_le_bytes(answer);
            }
            Ok(last)
        });
        let shipped = ShippedDisk { disk, sender: Arc::clone(&sender), files: AtomicU64::new(0) };
        Ok((shipped, Shipping { sender, answers }))
    }

    /// Waits until everything is acknowledged, and ends the connection. Returns the number of changes.
    ///
    /// # Errors
    /// The second process has not received everything.
    pub fn finish(self) -> Result<u64, String> {
        let sent = {
            let sender = lock(&self.sender);
            let _ = sender.stream.shutdown(Shutdown::Write); // It may have been lost already.
            sender.sent
        };
        let answered = self.answers.join().map_err(|_| "the thread that reads answers has failed")?;
        let received = answered.map_err(|error| format!("the connection of the shipped log was lost: {error}"))?;
        if received == sent { Ok(sent) } else { Err(format!("{received} of {sent} changes of the log were received")) }
    }
}

fn lock(sender: &Mutex<Sender>) -> MutexGuard<'_, Sender> {
    sender.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads all of a buffer; false at the end of the stream.
fn read_whole(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..])? {
            0 if filled == 0 => return Ok(false),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => filled += read,
        }
    }
    Ok(true)
}

impl Sender {
    fn send(&mut self, change: &Change<'_>, bytes: &[u8]) -> io::Result<()> {
        let change = postcard::to_allocvec(change).map_err(io::Error::other)?;
        self.frame.clear();
        self.frame.extend_from_slice(&(change.len() as u32).to_le_bytes());
        self.frame.extend_from_slice(&change);
        self.frame.extend_from_slice(bytes);
        self.stream.write_all(&self.frame)?;
        self.sent += 1;
        Ok(())
    }
}

fn ship(
    sender: &Mutex<Sender>,
    change: &Change<'_>,
    bytes: &[u8],
    (operation, path): (Operation, &str),
) -> Result<(), DiskError> {
    lock(sender).send(change, bytes).map_err(|error| DiskError::new(operation, path, error))
}

impl ShippedDisk {
    fn file(&self, file: Box<dyn DiskFile>, path: &str) -> ShippedFile {
        let number = self.files.fetch_add(1, Relaxed);
        ShippedFile { file, number, path: path.to_owned(), sender: Arc::clone(&self.sender) }
    }

    fn ship(&self, change: &Change<'_>, operation: Operation, path: &str) -> Result<(), DiskError> {
        ship(&self.sender, change, &[], (operation, path))
    }
}

impl Disk for ShippedDisk {
    fn create_new(&self, path: &str) -> Result<Box<dyn DiskFile>, DiskError> {
        let file = self.file(self.disk.create_new(path)?, path);
        self.ship(&Change::Create(file.number, path), Operation::Create, path)?;
        Ok(Box::new(file))
    }

    fn open(&self, path: &str) -> Result<Box<dyn DiskFile>, DiskError> {
        let file = self.file(self.disk.open(path)?, path);
        self.ship(&Change::Open(file.number, path), Operation::Open, path)?;
        Ok(Box::new(file))
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError> {
        self.disk.list(directory)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        self.disk.rename(from, to)?;
        self.ship(&Change::Rename(from, to), Operation::Rename, from)
    }

    fn remove(&self, path: &str) -> Result<(), DiskError> {
        self.disk.remove(path)?;
        self.ship(&Change::Remove(path), Operation::Remove, path)
    }

    fn create_dir_all(&self, path: &str) -> Result<(), DiskError> {
        self.disk.create_dir_all(path)?;
        self.ship(&Change::CreateDirectory(path), Operation::CreateDirectory, path)
    }

    fn sync_dir(&self, directory: &str) -> Result<(), DiskError> {
        self.disk.sync_dir(directory)
    }

    fn lock(&self, path: &str) -> Result<DiskLock, DiskError> {
        self.disk.lock(path)
    }
}

impl ShippedFile {
    fn ship(&self, change: &Change<'_>, bytes: &[u8], operation: Operation) -> Result<(), DiskError> {
        ship(&self.sender, change, bytes, (operation, &self.path))
    }

    fn ship_write(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.ship(&Change::Write(self.number, offset, bytes.len() as u64), bytes, Operation::Write)
    }
}

impl Drop for ShippedFile {
    fn drop(&mut self) {
        // Where the connection is lost, the next change says so.
        let _ = lock(&self.sender).send(&Change::Close(self.number), &[]);
    }
}

impl DiskFile for ShippedFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError> {
        self.file.read_at(offset, buffer)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.file.write_at(offset, bytes)?;
        self.ship_write(offset, bytes)
    }

    fn sync(&self) -> Result<(), DiskError> {
        self.file.sync()
    }

    fn write_durable_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.file.write_durable_at(offset, bytes)?;
        self.ship_write(offset, bytes)
    }

    fn append_durable_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.file.append_durable_at(offset, bytes)?;
        self.ship_write(offset, bytes)
    }

    fn durable_writes(&self) -> DurableWrites {
        self.file.durable_writes()
    }

    fn allocate(&self, length: u64) -> Result<(), DiskError> {
        self.file.allocate(length)?;
        self.ship(&Change::Allocate(self.number, length), &[], Operation::Allocate)
    }

    fn allocate_written(&self, length: u64) -> Result<(), DiskError> {
        self.file.allocate_written(length)?;
        self.ship(&Change::Allocate(self.number, length), &[], Operation::Allocate)
    }

    fn truncate(&self, length: u64) -> Result<(), DiskError> {
        self.file.truncate(length)?;
        self.ship(&Change::Truncate(self.number, length), &[], Operation::Truncate)
    }

    fn len(&self) -> Result<u64, DiskError> {
        self.file.len()
    }
}

/// Makes the changes that come by a connection, until it ends. Returns their number.
///
/// # Errors
/// The connection is lost or sends no changes; the disk fails.
pub fn receive(disk: &dyn Disk, stream: TcpStream) -> Result<u64, String> {
    let lost = |error: io::Error| format!("the connection of the shipped log was lost: {error}");
    stream.set_nodelay(true).map_err(lost)?;
    let mut answers = stream.try_clone().map_err(lost)?;
    let mut input = BufReader::with_capacity(1 << 20, stream);
    let (mut files, mut received) = (HashMap::new(), 0_u64);
    let (mut length, mut frame, mut bytes) = ([0; 4], Vec::new(), Vec::new());
    while read_whole(&mut input, &mut length).map_err(lost)? {
        let length = u32::from_le_bytes(length) as usize;
        if length > CHANGE_BYTES {
            return Err(format!("a change of {length} bytes is none of a log"));
        }
        read_bytes(&mut input, length as u64, &mut frame).map_err(lost)?;
        let change = postcard::from_bytes(&frame).map_err(|error| format!("not a change: {error}"))?;
        if let Change::Write(_, _, length) = change {
            if length > WRITTEN_BYTES {
                return Err(format!("a write of {length} bytes is none of a log"));
            }
            read_bytes(&mut input, length, &mut bytes).map_err(lost)?;
        }
        apply(disk, &mut files, &change, &bytes)?;
        received += 1;
        answers.write_all(&received.to_le_bytes()).map_err(lost)?;
    }
    Ok(received)
}

/// Reads so many bytes, and takes no memory for what does not come.
fn read_bytes(input: &mut impl Read, length: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    bytes.clear();
    let read = input.take(length).read_to_end(bytes)?;
    if read as u64 == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn apply(
    disk: &dyn Disk,
    files: &mut HashMap<u64, Box<dyn DiskFile>>,
    change: &Change<'_>,
    bytes: &[u8],
) -> Result<(), String> {
    let failed = |error: DiskError| format!("cannot store the shipped log: {error}");
    let file = |number: &u64| files.get(number).ok_or_else(|| format!("there is no file {number}"));
    match change {
        Change::Create(number, path) => drop(files.insert(*number, disk.create_new(path).map_err(failed)?)),
        Change::Open(number, path) => drop(files.insert(*number, disk.open(path).map_err(failed)?)),
        Change::Close(number) => drop(files.remove(number)),
        Change::Write(number, offset, _) => file(number)?.write_at(*offset, bytes).map_err(failed)?,
        Change::Allocate(number, length) => file(number)?.allocate(*length).map_err(failed)?,
        Change::Truncate(number, length) => file(number)?.truncate(*length).map_err(failed)?,
        Change::Rename(from, to) => disk.rename(from, to).map_err(failed)?,
        Change::Remove(path) => disk.remove(path).map_err(failed)?,
        Change::CreateDirectory(path) => disk.create_dir_all(path).map_err(failed)?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::{SimDisk, SimDiskOptions};
    use hyper::{Hyper, LogOptions, Options};
    use model::{Access, Begin, Durability, Finish, Interactive, Key, Mode, RowBuf, Schema, TableId};
    use std::net::{Ipv4Addr, TcpListener};

    const ROWS: u64 = 2_000;

    fn row(key: u64) -> RowBuf {
        RowBuf::from_bytes(&[key as u8; 100])
    }

    fn has_all(engine: &Hyper, table: TableId) -> bool {
        let mut open = engine.begin(Begin { mode: Mode::ReadOnly, ..Begin::default() }).expect("room for one");
        let mut found = RowBuf::new();
        (0..ROWS).all(|key| {
            let key_bytes = Key::from_u64(key);
            let is_there = open.read(table, &key_bytes, model::Columns::All, &mut found).expect("nobody in the way");
            is_there && found.bytes() == row(key).bytes()
        })
    }

    /// The second process has a database: with all that was committed, several segments of log long.
    #[test]
    fn what_was_shipped_opens_as_a_database() {
        let (here, there) = (SimDisk::new(1, SimDiskOptions::default()), SimDisk::new(2, SimDiskOptions::default()));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let second = there.clone();
        let receiver = thread::spawn(move || receive(&second, listener.accept().expect("a connection").0));
        let stream = TcpStream::connect(address).expect("it listens");
        let (disk, shipping) = Shipping::begin(Arc::new(here), stream).expect("a connection");
        let log = LogOptions { segment_bytes: 64 << 10, ..LogOptions::default() };
        let options = Options { durability: Durability::Async, log, ..Options::default() };
        let engine = Hyper::open(Arc::new(disk), options.clone()).expect("a healthy disk");
        let table = engine.create_table(Schema::bytes("t").u64_key().build().expect("a good schema"));
        let table = table.expect("a new table");
        for key in 0..ROWS {
            let mut open = engine.begin(Begin::default()).expect("room for one");
            open.put(table, &Key::from_u64(key), row(key).row()).expect("nobody in the way");
            open.commit().expect("nobody in the way");
        }
        engine.close().expect("a healthy disk");
        drop(engine);
        let sent = shipping.finish().expect("everything is received");
        assert_eq!(receiver.join().expect("it does not panic"), Ok(sent));
        let engine = Hyper::open(Arc::new(there), options).expect("a directory of a database");
        assert!(engine.recovery().is_some_and(|found| found.clean && found.records > ROWS), "{:?}", engine.recovery());
        assert!(has_all(&engine, table));
    }

    #[test]
    fn what_is_no_change_is_refused() {
        let changes: [&[u8]; 4] = [&[200, 0, 0, 1], &[1, 0, 0, 0, 99], &[3, 0, 0, 0, 3, 9, 9, 9], &[9, 0]];
        for bytes in changes {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
            let mut stream = TcpStream::connect(listener.local_addr().expect("it is bound")).expect("it listens");
            stream.write_all(bytes).expect("room in a buffer");
            stream.shutdown(Shutdown::Write).expect("a connection");
            let disk = SimDisk::new(1, SimDiskOptions::default());
            let received = receive(&disk, listener.accept().expect("a connection").0);
            assert!(received.is_err(), "{bytes:?}: {received:?}");
        }
    }
}
