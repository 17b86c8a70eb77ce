//! Every answer rests on what is durable (M9): errors and aborts too, not only commits. One transaction commits without waiting
//! for the disk; another one reads it and is told something else than a commit; the power goes, and only what was synced is left.

use env::disk::Fault as DiskFault;
use env::{Operation, SimClock, SimDisk, SimDiskOptions, Survival};
use model::{
    Access, AsReexecutable, Begin, Columns, Durability, Error, Fault, Finish, Interactive, Key, LogPosition, Mode,
    Program, Reexecutable, Result, RowBuf, Schema, SharedReads, TableId,
};
use seriatim_mvto::{Mvto, Options, RetryPolicy};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use wal::Driver;

type Db = Mvto<SimClock>;

fn open(disk: &SimDisk) -> Arc<Db> {
    let log = wal::LogOptions { segment_bytes: 8192, buffer_bytes: 4096, driver: Driver::Caller, ..Default::default() };
    let options = Options { log, sites: 1, wait_limit: Duration::ZERO, ..Options::default() };
    Arc::new(Mvto::open_with(Arc::new(disk.clone()), options, SimClock::new(1_000, 7)).expect("a healthy disk"))
}

/// A database in which row 1 is visible and not durable.
fn with_undurable_row() -> (SimDisk, Arc<Db>, TableId) {
    let disk = SimDisk::new(1, SimDiskOptions::default());
    let db = open(&disk);
    let table = db.create_table(Schema::bytes("stock").u64_key().build().unwrap()).expect("a new table");
    let mut first = db.begin(Begin { durability: Some(Durability::Async), ..Begin::default() }).unwrap();
    first.put(table, &Key::from_u64(1), RowBuf::from_bytes(b"one").row()).unwrap();
    assert_eq!(first.commit().unwrap().log_position, LogPosition::ZERO, "nobody waits for it");
    assert!(!survives(&disk, table), "it is not durable yet");
    (disk, db, table)
}

/// Returns whether the row is there after a power cut that leaves only synced bytes.
fn survives(disk: &SimDisk, table: TableId) -> bool {
    read(&mut open(&disk.power_cut_with(Survival::SyncedOnly)).begin(Begin::default()).unwrap(), table).unwrap()
}

fn read(access: &mut impl Access, table: TableId) -> Result<bool> {
    access.read(table, &Key::from_u64(1), Columns::All, &mut RowBuf::new())
}

/// An error of a body's own.
#[derive(Debug)]
enum Refused {
    SoldOut,
    Engine(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Engine(error)
    }
}

#[test]
fn a_body_that_fails_is_told_so_when_what_it_read_is_durable() {
    let (disk, db, table) = with_undurable_row();
    let refused = db.run(Begin::default(), RetryPolicy::default(), |transaction| {
        assert!(read(transaction, table)?, "committed, so visible");
        Err::<(), Refused>(Refused::SoldOut)
    });
    assert!(matches!(refused, Err(Refused::SoldOut)));
    assert!(survives(&disk, table), "the answer rests on it");
}

#[test]
fn a_duplicate_is_told_when_the_row_is_durable() {
    let (disk, db, table) = with_undurable_row();
    let refused: Result<_> = db.run(Begin::default(), RetryPolicy::default(), |transaction| {
        transaction.insert(table, &Key::from_u64(1), RowBuf::from_bytes(b"again").row())
    });
    assert!(matches!(refused, Err(Error::Duplicate(_))), "{refused:?}");
    assert!(survives(&disk, table), "whoever takes a duplicate for work that is done relies on it");
}

/// A program for `Reexecutable` that refuses what it has read.
struct Refuses(TableId);

impl Program for Refuses {
    type Output = ();
    type Error = Refused;
    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> std::result::Result<(), Refused> {
        assert!(access.read(self.0, &Key::from_u64(1), Columns::All, &mut RowBuf::new())?);
        Err(Refused::SoldOut)
    }
}

#[test]
fn a_program_that_fails_is_told_so_when_what_it_read_is_durable() {
    let (disk, db, table) = with_undurable_row();
    let refused = AsReexecutable(db).execute(&mut Refuses(table), Begin::default(), &mut |_, _: &Error| false);
    assert!(matches!(refused, Err(Refused::SoldOut)));
    assert!(survives(&disk, table));
}

/// The log position on which a transaction rests is known while it is open, after its abort, and of reads through its views.
#[test]
fn an_open_or_aborted_transaction_says_what_it_rests_on() {
    let (disk, db, table) = with_undurable_row();
    let mut reader = db.begin(Begin::default()).unwrap();
    assert_eq!(reader.rests_on(), LogPosition::ZERO, "it has read nothing");
    assert!(reader.read_view().unwrap().read(table, &Key::from_u64(1), Columns::All, &mut RowBuf::new()).unwrap());
    let rests_on = reader.rests_on();
    assert!(rests_on > LogPosition::ZERO, "its view has read a version that is not durable");
    let mut owner = db.begin(Begin { mode: Mode::OwnAtStatement, ..Begin::default() }).unwrap();
    assert!(read(&mut owner, table).unwrap());
    // A younger one writes what it has read and wants to write.
    let mut younger = db.begin(Begin { durability: Some(Durability::None), ..Begin::default() }).unwrap();
    younger.put(table, &Key::from_u64(1), RowBuf::from_bytes(b"early").row()).unwrap();
    younger.commit().unwrap();
    let late = owner.put(table, &Key::from_u64(1), RowBuf::from_bytes(b"late").row()).unwrap_err();
    assert!(late.abort().is_some() && owner.poison().is_some(), "{late}");
    assert_eq!(owner.rests_on(), rests_on, "an abort takes back what was written, not what was read");
    owner.set_durability(Durability::Async);
    assert_eq!(owner.rests_on(), LogPosition::ZERO, "it asked not to wait");
    assert!(!survives(&disk, table), "nobody has waited yet");
    db.abort_durably(reader).unwrap();
    assert!(survives(&disk, table));
}

/// The three ways to wait for a position without its transaction: all end once it is durable, and not before.
#[test]
fn a_position_can_be_waited_for_polled_or_listened_to() {
    let rests_on = |db: &Arc<Db>, table| {
        let mut reader = db.begin(Begin::default()).unwrap();
        assert!(read(&mut reader, table).unwrap());
        reader.rests_on()
    };
    let (disk, db, table) = with_undurable_row();
    let position = rests_on(&db, table);
    let pending = Interactive::durable(&db, position);
    assert!(!pending.is_ready() && Interactive::durable(&db, LogPosition::ZERO).is_ready());
    pending.wait().unwrap();
    assert!(survives(&disk, table));

    let (disk, db, table) = with_undurable_row();
    let mut pending = Interactive::durable(&db, rests_on(&db, table));
    let (sender, receiver) = std::sync::mpsc::channel();
    let waker = Waker::from(Arc::new(Bell(std::sync::Mutex::new(sender))));
    let mut context = Context::from_waker(&waker);
    let synced = loop {
        match Pin::new(&mut pending).poll(&mut context) {
            Poll::Ready(synced) => break synced,
            Poll::Pending => receiver.recv().unwrap(),
        }
    };
    synced.unwrap();
    assert!(survives(&disk, table));

    let (disk, db, table) = with_undurable_row();
    disk.inject(DiskFault { operation: Operation::Sync, after: 0, kind: std::io::ErrorKind::Other });
    let (sender, receiver) = std::sync::mpsc::channel();
    Interactive::durable(&db, rests_on(&db, table)).on_resolved(move |synced| sender.send(synced).unwrap());
    assert!(matches!(receiver.recv().unwrap(), Err(Error::Fault(Fault::OutcomeUnknown { .. }))));
}

/// Rings when it is woken.
struct Bell(std::sync::Mutex<std::sync::mpsc::Sender<()>>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.lock().unwrap().send(()).unwrap();
    }
}

/// If the wait fails, the answer is withheld: the data on which it rests may be lost.
#[test]
fn a_body_s_error_is_withheld_when_what_it_read_may_be_lost() {
    let (disk, db, table) = with_undurable_row();
    disk.inject(DiskFault { operation: Operation::Sync, after: 0, kind: std::io::ErrorKind::Other });
    let refused = db.run(Begin::default(), RetryPolicy::default(), |transaction| {
        assert!(read(transaction, table)?);
        Err::<(), Refused>(Refused::SoldOut)
    });
    let unknown = matches!(&refused, Err(Refused::Engine(Error::Fault(Fault::OutcomeUnknown { .. }))));
    assert!(unknown, "{refused:?}");
}
