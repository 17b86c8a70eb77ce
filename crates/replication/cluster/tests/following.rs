//! States whose fetch lasts longer than the order keeps anything, while others go on writing.

mod common;

use common::{Kind, Nodes, PATIENCE, mixed, options};
use conformance::registers::{put, registers};
use env::{Disk, SimDisk, SimDiskOptions};
use model::{Begin, Finish, Interactive, Storage, Store, TableId, Tables};
use seriatim_cluster::{Cluster, Doing, Options, States, position_of_start};
use std::collections::BTreeMap;
use std::io::{self, Cursor, Read};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use total::{OrderLimits, Position, TotalOrder};

const ROWS: u64 = 20_000;
/// Rows that are written at once.
const TOGETHER: u64 = 200;
/// What the order keeps: more than what commits before two pieces of a state, and less than what commits before all of it is there.
const KEPT_BYTES: usize = 32 << 10;
/// Transactions that commit before each piece of a state comes.
const LOAD: u64 = 200;
/// The number of the node that is behind.
const LATE: u64 = 2;

/// What happens when a node asks for a state, for the first time, the second time, and so on. Afterwards, [`Plan::Whole`].
#[derive(Clone, Copy, Debug)]
enum Plan {
    /// It comes, whole.
    Whole,
    /// It ends in its middle.
    BreaksOff,
    /// The first one that was captured comes, which is older than all others.
    Oldest,
    /// Before its middle, the node is cut off while the others commit more than the order keeps.
    Outrun,
    /// It ends at a barrier of its holder, breaks off behind its head, and nobody writes while this node fetches.
    Idle,
}

/// Nodes 0 and 1 with some rows, and a way to their states on which many transactions commit.
struct Busy {
    nodes: Nodes,
    giver: Arc<Cluster>,
    table: TableId,
    written: AtomicU64,
    asked: AtomicUsize,
    plans: Vec<Plan>,
    oldest: Mutex<Option<Vec<u8>>>,
    spool: Mutex<Option<SimDisk>>,
    /// The disk of the late node's rows, where a test wants to know what a kill leaves of both disks.
    rows: Option<SimDisk>,
    /// What a kill in the middle of the first state would have left.
    left: Mutex<Option<(SimDisk, SimDisk)>>,
}

impl Busy {
    fn new(kind: Kind, plans: &[Plan], spool: Option<SimDisk>, rows: Option<SimDisk>) -> Arc<Busy> {
        let limits = OrderLimits { kept_bytes: KEPT_BYTES, ..OrderLimits::default() };
        let nodes = Nodes::open_with(2, kind, options(), limits);
        let giver = nodes.node(0).clone();
        let tables: Vec<TableId> = ["one", "two"]
            .map(|name| giver.create_table_unlisted(registers(name, Storage::Ordered)).expect("a new table"))
            .into();
        for table in &tables {
            for first in (0..ROWS).step_by(TOGETHER as usize) {
                let mut open = giver.begin_owned(Begin::default()).expect("room");
                (first..first + TOGETHER).for_each(|key| put(&mut open, *table, key, 7).expect("nobody in the way"));
                open.commit().expect("it has read nothing");
            }
        }
        nodes.wait();
        let table = tables[0];
        let (written, asked, plans) = (AtomicU64::new(0), AtomicUsize::new(0), plans.to_vec());
        let (oldest, left, spool) = (Mutex::default(), Mutex::default(), Mutex::new(spool));
        Arc::new(Busy { nodes, giver, table, written, asked, plans, oldest, spool, rows, left })
    }

    /// Commits so many transactions of one row each, in turns a new one and one that is there.
    fn write(&self, count: u64) {
        for _ in 0..count {
            let number = self.written.fetch_add(1, SeqCst);
            let key = if number.is_multiple_of(2) { ROWS + number } else { number };
            let mut open = self.giver.begin_owned(Begin::default()).expect("room");
            put(&mut open, self.table, key, number).expect("nobody in the way");
            open.commit().expect("it has read nothing");
        }
    }

    /// Commits so many transactions while a state comes, where somebody writes.
    fn load(&self, count: u64) {
        if !self.plans.iter().any(|plan| matches!(plan, Plan::Idle)) {
            self.write(count);
        }
    }

    fn state(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.giver.write_state(Position::default(), PATIENCE, &mut bytes).expect("it has one");
        bytes
    }

    /// Opens the late node on these rows, as another life.
    fn open(self: &Arc<Self>, local: Arc<dyn Store>, options: Options) -> Arc<Cluster> {
        let start = position_of_start(&*local).expect("a good store");
        let order: Arc<dyn TotalOrder> = Arc::new(self.nodes.sequencer.join(LATE, start));
        Cluster::open(local, order, Arc::new(Way(self.clone())), options).expect("a good store")
    }

    /// The late node serves and has what the others have, to the byte, and has fetched one state. Nothing is left of what it kept.
    fn assert_same(&self, node: &Arc<Cluster>, asked: usize) {
        node.wait_until_current(PATIENCE).expect("it comes");
        self.giver.wait_until_current(PATIENCE).expect("it is there");
        assert!(contents(node) == contents(&self.giver), "rows, window or lives differ");
        assert_eq!((self.asked.load(SeqCst), node.status().fetched), (asked, 1));
        assert_eq!(node.status().doing, Doing::Serving);
        assert_eq!(self.kept(), [""; 0]);
    }

    fn spool(&self) -> Option<SimDisk> {
        self.spool.lock().expect("no panic").clone()
    }

    /// The files of what was kept.
    fn kept(&self) -> Vec<String> {
        self.spool().map_or_else(Vec::new, |spool| spool.list("").expect("a good disk"))
    }
}

/// A state by its tables. Where its pieces end depends on the batches in which a node has applied it.
fn contents(node: &Arc<Cluster>) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let (state, mut tables) = (mixed::state(node), BTreeMap::<Vec<u8>, Vec<u8>>::new());
    let mut left = &state[..];
    while let Some((header, rest)) = left.split_at_checked(PIECE_HEADER) {
        let length = u32::from_le_bytes(header[..4].try_into().expect("four bytes")) as usize;
        let (piece, rest) = rest.split_at(length);
        // What it is, and the number of the table, which is small.
        let (table, rows) = piece.split_at(2);
        tables.entry(table.to_vec()).or_default().extend(rows);
        left = rest;
    }
    tables
}

/// The beginning of a state, to the end of its head, whose holder has been delivered a barrier of its own behind the last payload.
fn head_at_a_barrier(state: &[u8]) -> Vec<u8> {
    let line = state.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
    let length = u32::from_le_bytes(state[line..line + 4].try_into().expect("four bytes")) as usize;
    let head = &state[line + PIECE_HEADER..][..length];
    let mut reader = codec::Reader::new(&head[1..]);
    let mut number = || reader.number().expect("a place");
    let (instance, index) = (number(), number());
    let mut piece = vec![head[0]];
    codec::put_number(&mut piece, instance);
    codec::put_number(&mut piece, index + 1);
    piece.extend_from_slice(&head[1 + reader.offset()..]);
    let (length, sum) = (piece.len() as u32, crc32c::crc32c(&piece));
    [&state[..line], &length.to_le_bytes(), &sum.to_le_bytes(), &piece].concat()
}

/// The way on which the late node gets a state.
struct Way(Arc<Busy>);

impl States for Way {
    fn fetch(&self, _: u64, _: Position) -> io::Result<Box<dyn Read + Send>> {
        let busy = &self.0;
        let asked = busy.asked.fetch_add(1, SeqCst);
        assert!(asked < busy.plans.len() + 3, "it asks again and again");
        let plan = busy.plans.get(asked).copied().unwrap_or(Plan::Whole);
        let now = busy.state();
        let oldest = busy.oldest.lock().expect("no panic").get_or_insert_with(|| now.clone()).clone();
        busy.load(1);
        let mut bytes = match plan {
            Plan::Oldest => oldest,
            Plan::Idle => {
                // The first payload of the late node's life comes before, too.
                busy.giver.wait_until_current(PATIENCE).expect("it is there");
                head_at_a_barrier(&busy.state())
            }
            _ => busy.state(),
        };
        if let Plan::BreaksOff = plan {
            bytes.truncate(bytes.len() / 2);
        }
        Ok(Box::new(Pieces { busy: busy.clone(), left: Cursor::new(bytes), plan, pieces: 0, is_first: asked == 0 }))
    }

    fn spool(&self) -> Option<Arc<dyn Disk>> {
        self.0.spool().map(|disk| Arc::new(disk) as Arc<dyn Disk>)
    }
}

/// Bytes before each piece of a state: nothing else of it is read by so many.
const PIECE_HEADER: usize = 8;

struct Pieces {
    busy: Arc<Busy>,
    left: Cursor<Vec<u8>>,
    plan: Plan,
    pieces: u64,
    is_first: bool,
}

impl Read for Pieces {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.len() == PIECE_HEADER {
            self.pieces += 1;
            if let (Plan::Outrun, 4) = (self.plan, self.pieces) {
                self.busy.nodes.sequencer.cut_off(LATE);
                self.busy.write(10 * LOAD);
                self.busy.nodes.sequencer.connect(LATE);
            }
            self.busy.load(LOAD);
            if let (true, 5, Some(rows), Some(spool)) = (self.is_first, self.pieces, &self.busy.rows, self.busy.spool())
            {
                *self.busy.left.lock().expect("no panic") = Some((rows.copy(), spool.copy()));
            }
        }
        self.left.read(bytes)
    }
}

fn disk() -> SimDisk {
    SimDisk::new(1, SimDiskOptions::default())
}

/// The order has forgotten what follows the state long before the state is there.
#[test]
fn a_fetch_may_last_longer_than_anything_is_kept() {
    for (kind, spool) in [(Kind::Hyper, Some(disk())), (Kind::Mvto, None)] {
        let busy = Busy::new(kind, &[], spool, None);
        let node = busy.open(kind.in_memory(), options());
        busy.assert_same(&node, 1);
        assert!(busy.written.load(SeqCst) > 8 * LOAD, "the state had some pieces");
        // It goes on as all do.
        busy.write(LOAD);
        busy.assert_same(&node, 1);
    }
}

/// What was kept for a state that has broken off serves the next one, if that ends where the first one did, or behind. One that ends before
/// would leave a hole.
#[test]
fn a_state_that_breaks_off_is_replaced_by_one_that_is_no_older() {
    let busy = Busy::new(Kind::Hyper, &[Plan::BreaksOff, Plan::Oldest], Some(disk()), None);
    let node = busy.open(Kind::Hyper.in_memory(), options());
    busy.assert_same(&node, 3);
}

/// Only its holder is delivered a barrier. When a state that ends there breaks off, one that has all payloads is enough.
#[test]
fn no_other_state_need_come_to_a_barrier_of_the_first_holder() {
    let busy = Busy::new(Kind::Hyper, &[Plan::Idle], Some(disk()), None);
    let node = busy.open(Kind::Hyper.in_memory(), options());
    busy.assert_same(&node, 2);
    assert_eq!(busy.written.load(SeqCst), 0, "nobody wrote");
}

/// A node that cannot keep what comes, since it does not hear of it in time, fetches a younger state.
#[test]
fn who_is_outrun_while_it_fetches_begins_with_a_younger_state() {
    let busy = Busy::new(Kind::Hyper, &[Plan::Outrun], Some(disk()), None);
    let node = busy.open(Kind::Hyper.in_memory(), options());
    busy.assert_same(&node, 2);
}

/// Neither rows nor deliveries that a killed life has left count in the next one.
#[test]
fn a_node_that_is_killed_while_it_fetches_begins_again() {
    for kind in [Kind::Hyper, Kind::Mvto] {
        let (rows, spool) = (disk(), disk());
        let busy = Busy::new(kind, &[], Some(spool), Some(rows.clone()));
        let durable = Options { is_durable: true, ..options() };
        let node = busy.open(kind.on(&rows), durable.clone());
        busy.assert_same(&node, 1);
        drop(node);
        let (rows, spool) = busy.left.lock().expect("no panic").take().expect("the state had a middle");
        *busy.spool.lock().expect("no panic") = Some(spool);
        assert!(!busy.kept().is_empty(), "something was kept");
        let node = busy.open(kind.on(&rows), durable);
        busy.assert_same(&node, 2);
    }
}

#[test]
fn a_node_without_room_for_what_it_has_to_keep_stops_and_says_so() {
    let busy = Busy::new(Kind::Hyper, &[], Some(disk()), None);
    let node = busy.open(Kind::Hyper.in_memory(), Options { spool_bytes: Some(10_000), ..options() });
    let failure = loop {
        if let Some(failure) = node.status().failure {
            break failure;
        }
        thread::yield_now();
    };
    assert!(failure.contains("there is no more room for it"), "{failure}");
    drop(node);
    assert_eq!(busy.kept(), [""; 0], "the disk has room again");
}
