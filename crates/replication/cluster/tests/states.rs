//! States that are fetched: whole or not at all, for readers, after faults of the channel and after stops in the middle.

mod common;

use common::{Kind, Nodes, PATIENCE, Pipes, limited, options, rows};
use conformance::registers::{put, registers};
use model::{Access, Begin, Error, Fault, Finish, Interactive, Mode, Scan, Storage, TableId, Tables};
use seriatim_cluster::{Cluster, Doing, Options, States, position_of_start};
use std::collections::BTreeSet;
use std::io::{self, Cursor, Read};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use total::sequencer::Sequencer;
use total::{OrderLimits, Position, TotalOrder};

const ROWS: u64 = 20_000;

/// Nodes of an order that keeps little, and a table.
fn nodes(count: u64, kind: Kind, options: Options) -> (Nodes, TableId) {
    let nodes = Nodes::open_with(count, kind, options, OrderLimits::default());
    let table = nodes.node(0).create_table_unlisted(registers("registers", Storage::Hash)).expect("a new table");
    (nodes, table)
}

/// Writes a value into all rows, in one transaction.
fn fill(node: &Arc<Cluster>, table: TableId, value: u64) {
    let mut open = node.begin_owned(Begin::default()).expect("room");
    (0..ROWS).for_each(|key| put(&mut open, table, key, value).expect("nobody in the way"));
    open.commit().expect("it has read nothing");
}

/// A whole state of node 0, as bytes.
fn state(nodes: &Nodes) -> Vec<u8> {
    let mut bytes = Vec::new();
    nodes.node(0).write_state(Position::default(), PATIENCE, &mut bytes).expect("it has one");
    bytes
}

/// The rows of a hash table, by the keys that it may have.
fn values(node: &Arc<Cluster>, table: TableId) -> BTreeSet<Vec<u8>> {
    let mut open = node.begin_owned(Begin { mode: Mode::ReadOnly, ..Begin::default() }).expect("room");
    let mut row = model::RowBuf::new();
    let read = |key: u64| {
        let found = open.read(table, &key.to_be_bytes(), model::Columns::All, &mut row).expect("it can be read");
        if found { row.bytes().to_vec() } else { Vec::new() }
    };
    (0..ROWS).map(read).collect()
}

/// Waits until this is so.
#[track_caller]
fn await_that(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        thread::yield_now();
    }
}

/// A channel with a fault in each of its first states.
struct Faulty {
    state: Vec<u8>,
    asked: AtomicUsize,
}

impl States for Faulty {
    fn fetch(&self, _: u64, _: Position) -> io::Result<Box<dyn Read + Send>> {
        let mut bytes = self.state.clone();
        let length = bytes.len();
        match self.asked.fetch_add(1, SeqCst) {
            0 => return Err(io::Error::other("it cannot be reached")),
            1 => bytes.truncate(length / 2),
            2 => bytes[length / 2] ^= 1,
            3 => bytes.truncate(length - 1),
            4 => bytes[0] ^= 1,
            5 => bytes.clear(),
            _ => {}
        }
        Ok(Box::new(Cursor::new(bytes)))
    }
}

#[test]
fn a_state_that_arrives_damaged_is_fetched_again() {
    for kind in [Kind::Hyper, Kind::Mvto] {
        let (nodes, table) = nodes(2, kind, options());
        fill(nodes.node(0), table, 7);
        nodes.wait();
        let faulty = Arc::new(Faulty { state: state(&nodes), asked: AtomicUsize::new(0) });
        let order: Arc<dyn TotalOrder> = Arc::new(nodes.sequencer.join(2, None));
        let node = Cluster::open(kind.in_memory(), order, faulty.clone(), options()).expect("a good store");
        node.wait_until_current(PATIENCE).expect("the seventh state is good");
        assert_eq!((node.status().fetched, faulty.asked.load(SeqCst)), (1, 7));
        assert_eq!(values(&node, table), BTreeSet::from([7u64.to_be_bytes().to_vec()]));
        fill(&node, table, 8);
        nodes.wait();
        assert_eq!(values(nodes.node(0), table), BTreeSet::from([8u64.to_be_bytes().to_vec()]));
    }
}

/// A channel that stops in the middle of a state until it is told to go on, and then fails.
struct Halting {
    state: Vec<u8>,
    reached: Arc<(Mutex<bool>, Condvar)>,
    go: Arc<(Mutex<bool>, Condvar)>,
}

struct HaltingRead {
    left: Cursor<Vec<u8>>,
    reached: Arc<(Mutex<bool>, Condvar)>,
    go: Arc<(Mutex<bool>, Condvar)>,
}

fn raise(flag: &(Mutex<bool>, Condvar)) {
    *flag.0.lock().expect("no panic") = true;
    flag.1.notify_all();
}

fn await_flag(flag: &(Mutex<bool>, Condvar)) {
    drop(flag.1.wait_while(flag.0.lock().expect("no panic"), |is_raised| !*is_raised).expect("no panic"));
}

impl Read for HaltingRead {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.left.read(bytes)?;
        if read == 0 {
            raise(&self.reached);
            await_flag(&self.go);
        }
        Ok(read)
    }
}

impl States for Halting {
    fn fetch(&self, _: u64, _: Position) -> io::Result<Box<dyn Read + Send>> {
        let left = Cursor::new(self.state[..self.state.len() * 3 / 4].to_vec());
        Ok(Box::new(HaltingRead { left, reached: self.reached.clone(), go: self.go.clone() }))
    }
}

#[test]
fn a_node_that_stops_in_the_middle_of_a_state_begins_again() {
    let (mut nodes, table) = nodes(2, Kind::Hyper, options());
    fill(nodes.node(0), table, 7);
    nodes.wait();
    let (reached, go) = (Arc::default(), Arc::default());
    let halting = Halting { state: state(&nodes), reached: Arc::clone(&reached), go: Arc::clone(&go) };
    let local = Kind::Hyper.in_memory();
    let order: Arc<dyn TotalOrder> = Arc::new(nodes.sequencer.join(2, None));
    let node = Cluster::open(local.clone(), order, Arc::new(halting), options()).expect("a good store");
    await_flag(&reached);
    // What is read waits for its turn to be written.
    let half = || local.tables().iter().filter(|(_, schema)| schema.name().starts_with("cluster 1 ")).count();
    await_that("rows of the next state are there", || half() >= 2);
    assert_eq!(node.status().doing, Doing::FetchingState);
    assert!(node.tables().is_empty(), "nobody sees them");
    nodes.sequencer.stop(2);
    thread::scope(|scope| {
        scope.spawn(move || drop(node));
        raise(&go);
    });
    assert_eq!(position_of_start(&*local).expect("a good store"), None, "nothing names it");
    let node = nodes.start(2, local.clone());
    node.wait_until_current(PATIENCE).expect("it comes");
    assert_eq!(values(&node, table), BTreeSet::from([7u64.to_be_bytes().to_vec()]));
    assert!(
        local.tables().iter().all(|(_, schema)| !schema.name().starts_with("cluster 0 ")),
        "the empty state is gone"
    );
}

/// Readers of a node that replaces its state see the old one or the new one.
#[test]
fn no_reader_sees_half_a_state() {
    for kind in [Kind::Hyper, Kind::Mvto] {
        // Readers without barriers, so that they read while the state is fetched.
        let (mut nodes, table) = nodes(3, kind, Options { staleness: PATIENCE, ..options() });
        let ordered = nodes.node(0).create_table_unlisted(registers("ordered", Storage::Ordered)).expect("a new table");
        for table in [table, ordered] {
            fill(nodes.node(0), table, 0);
        }
        nodes.wait();
        let local = nodes.locals[&2].clone();
        nodes.stop(2);
        for value in 1..4 {
            fill(nodes.node(0), ordered, value);
        }
        nodes.node(1).wait_until_current(PATIENCE).expect("it comes");
        let node = nodes.start(2, local);
        let is_over = AtomicBool::new(false);
        let seen = thread::scope(|scope| {
            let reading = scope.spawn(|| {
                let mut seen = BTreeSet::new();
                while !is_over.load(SeqCst) {
                    seen.insert(look(&node, ordered));
                }
                seen
            });
            node.wait_until_current(PATIENCE).expect("it comes");
            is_over.store(true, SeqCst);
            reading.join().expect("no panic")
        });
        let whole = |value: u64| Some((value, ROWS));
        assert!(seen.iter().flatten().all(|state| [whole(0), whole(3)].contains(&Some(*state))), "{seen:?}");
        assert_eq!(look(&node, ordered), whole(3));
        assert_eq!(node.status().fetched, 1);
        assert_eq!(rows(&node, ordered), rows(nodes.node(0), ordered));
    }
}

/// What was read in an old state and still holds stands behind all that the state has which was fetched meanwhile.
#[test]
fn a_reader_that_outlives_a_fetch_has_a_new_place() {
    let limits = OrderLimits { kept_bytes: 4 << 10, ..OrderLimits::default() };
    let nodes = Nodes::open_with(2, Kind::Hyper, options(), limits);
    let table = nodes.node(0).create_table_unlisted(registers("registers", Storage::Ordered)).expect("a new table");
    nodes.wait();
    let mut reader = nodes.node(1).begin_owned(Begin { mode: Mode::ReadWrite, ..Begin::default() }).expect("room");
    assert_eq!(conformance::registers::get(&mut reader, table, 7).expect("it can be read"), None);
    nodes.sequencer.cut_off(1);
    let write = |key| {
        let mut open = nodes.node(0).begin_owned(Begin::default()).expect("room");
        put(&mut open, table, key, key).expect("nobody in the way");
        open.commit().expect("it has read nothing").log_position
    };
    let last = (100..400).map(write).max();
    nodes.sequencer.connect(1);
    nodes.wait();
    assert!(nodes.node(1).status().fetched >= 1, "what it missed is not kept");
    let read = reader.commit().expect("nothing of what it read has changed");
    assert!(Some(read.log_position) >= last, "{read:?} stands behind {last:?}");
}

/// The one value of all rows, and how many there are. `None`: the table was replaced while it was read.
fn look(node: &Arc<Cluster>, table: TableId) -> Option<(u64, u64)> {
    let mut open = node.begin_owned(Begin { mode: Mode::ReadWrite, ..Begin::default() }).expect("room");
    let mut seen = BTreeSet::new();
    let mut count = 0;
    open.scan(&Scan::table(table), &mut |item| {
        seen.insert(conformance::registers::integer(item.row.bytes()));
        count += 1;
        ControlFlow::Continue(())
    })
    .ok()?;
    open.abort();
    assert_eq!(seen.len(), 1, "rows of two states: {seen:?}");
    seen.first().map(|value| (*value, count))
}

#[test]
fn a_node_without_holders_waits_for_one() {
    let (mut nodes, table) = nodes(2, Kind::Hyper, options());
    fill(nodes.node(0), table, 7);
    nodes.wait();
    // Nobody can be reached at first.
    let reachable = std::mem::replace(&mut nodes.pipes, Arc::new(Pipes::default()));
    let node = nodes.start(2, Kind::Hyper.in_memory());
    await_that("it looks for a state", || node.status().doing == Doing::FetchingState);
    let states = nodes.pipes.clone();
    drop(reachable);
    for other in [0, 1] {
        states.enter(other, nodes.node(other));
    }
    node.wait_until_current(PATIENCE).expect("it finds one");
    assert_eq!(values(&node, table).len(), 1);
}

/// The order may wait for one of its nodes, and that node for the state of another one, which must not wait for the order.
#[test]
fn a_node_gives_its_state_before_it_takes_part() {
    let (mut nodes, table) = nodes(2, Kind::Hyper, options());
    fill(nodes.node(0), table, 7);
    nodes.wait();
    let at = nodes.node(0).status().applied;
    let local = nodes.locals[&0].clone();
    drop(nodes.stop(0));
    let order: Arc<dyn TotalOrder> =
        Arc::new(nodes.sequencer.join(0, position_of_start(&*local).expect("a good store")));
    nodes.sequencer.cut_off(0);
    let holder = Cluster::open(local, order, nodes.pipes.clone(), options()).expect("a good store");
    let mut bytes = Vec::new();
    holder.write_state(at, PATIENCE, &mut bytes).expect("it has what was asked for");
    assert_ne!(holder.status().doing, Doing::Serving, "it cannot tell the others that it is there");

    let order: Arc<dyn TotalOrder> = Arc::new(nodes.sequencer.join(2, None));
    let states = Arc::new(Faulty { state: bytes, asked: AtomicUsize::new(6) });
    let node = Cluster::open(Kind::Hyper.in_memory(), order, states, options()).expect("a good store");
    node.wait_until_current(PATIENCE).expect("the state is whole");
    assert_eq!(values(&node, table), BTreeSet::from([7u64.to_be_bytes().to_vec()]));
}

/// The first place of an order is its zero: a node that has nothing has not reached it.
#[test]
fn a_node_that_has_nothing_gives_no_state() {
    let sequencer = Sequencer::new(OrderLimits::default());
    let order: Arc<dyn TotalOrder> = Arc::new(sequencer.join(0, None));
    sequencer.cut_off(0);
    let node = Cluster::open(Kind::Hyper.in_memory(), order, Arc::new(Pipes::default()), options()).expect("a store");
    let given = node.write_state(Position::default(), Duration::from_millis(1), &mut io::sink());
    assert!(given.is_err(), "an empty state");
}

/// A channel whose states, from some time on, do not end before the deadline: the last rows come again and again.
struct Endless {
    state: Mutex<Vec<u8>>,
    is_endless: AtomicBool,
    is_over: Arc<AtomicBool>,
}

struct EndlessRead {
    left: Cursor<Vec<u8>>,
    last: Vec<u8>,
    deadline: Instant,
    is_over: Arc<AtomicBool>,
}

/// Bytes of the line with which a state begins.
const FIRST_LINE: usize = 17;

impl States for Endless {
    fn fetch(&self, _: u64, _: Position) -> io::Result<Box<dyn Read + Send>> {
        let mut begin = self.state.lock().expect("no panic").clone();
        if !self.is_endless.load(SeqCst) {
            return Ok(Box::new(Cursor::new(begin)));
        }
        let mut starts = vec![FIRST_LINE];
        while let Some(start) = starts.last().copied().filter(|start| *start < begin.len()) {
            let length = u32::from_le_bytes(begin[start..start + 4].try_into().expect("four bytes"));
            starts.push(start + 8 + length as usize);
        }
        let [.., last_rows, end, _] = starts[..] else { return Err(io::Error::other("it has pieces")) };
        begin.truncate(end);
        let (last, is_over) = (begin[last_rows..].to_vec(), self.is_over.clone());
        Ok(Box::new(EndlessRead { left: Cursor::new(begin), last, deadline: Instant::now() + PATIENCE / 2, is_over }))
    }
}

impl Read for EndlessRead {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if Instant::now() > self.deadline {
            self.is_over.store(true, SeqCst);
            return Err(io::Error::other("it lasted too long"));
        }
        if self.left.position() == self.left.get_ref().len() as u64 {
            self.left = Cursor::new(self.last.clone());
        }
        self.left.read(bytes)
    }
}

/// Who waits for an answer gets it while a state is fetched, and so does who stops the node, or its order.
#[test]
fn a_fetch_holds_up_no_answer_and_no_stop() {
    for stops_order in [false, true] {
        let limits = OrderLimits { kept_bytes: 4 << 10, ..OrderLimits::default() };
        let nodes = Nodes::open_with(1, Kind::Hyper, options(), limits);
        let table = nodes.node(0).create_table_unlisted(registers("registers", Storage::Ordered)).expect("a new table");
        let (state_now, is_endless) = (Mutex::new(state(&nodes)), AtomicBool::new(false));
        let endless = Arc::new(Endless { state: state_now, is_endless, is_over: Arc::default() });
        let order: Arc<dyn TotalOrder> = Arc::new(nodes.sequencer.join(1, None));
        let brief = Options { answer: Duration::from_secs(1), ..options() };
        let node = Cluster::open(Kind::Hyper.in_memory(), order, endless.clone(), brief).expect("a good store");
        node.wait_until_current(PATIENCE).expect("it comes");
        nodes.sequencer.cut_off(1);
        for key in 100..400 {
            let mut open = nodes.node(0).begin_owned(Begin::default()).expect("room");
            put(&mut open, table, key, key).expect("nobody in the way");
            open.commit().expect("it has read nothing");
        }
        *endless.state.lock().expect("no panic") = state(&nodes);
        endless.is_endless.store(true, SeqCst);
        let mut open = node.begin_owned(Begin::default()).expect("room");
        put(&mut open, table, 1, 1).expect("nobody in the way");
        let pending = open.begin_commit();
        nodes.sequencer.connect(1);
        let outcome = pending.wait();
        assert!(matches!(outcome, Err(Error::Fault(Fault::OutcomeUnknown { .. }))), "{outcome:?}");
        // What has lasted too long is answered at any time, also before the fetch.
        await_that("it fetches the state", || node.status().doing == Doing::FetchingState);
        if stops_order {
            nodes.sequencer.stop(1);
            await_that("it fails with its order", || node.status().failure.is_some());
        }
        drop(node);
        assert!(!endless.is_over.load(SeqCst), "the state went on");
    }
}

/// It would be the same with each state, of whatever node.
#[test]
fn a_node_that_cannot_have_a_state_stops_with_the_reason() {
    let (nodes, table) = nodes(2, Kind::Hyper, options());
    fill(nodes.node(0), table, 7);
    nodes.wait();
    let states = Arc::new(Faulty { state: state(&nodes), asked: AtomicUsize::new(6) });
    let order: Arc<dyn TotalOrder> = Arc::new(nodes.sequencer.join(2, None));
    let node = Cluster::open(limited(1 << 20), order, states.clone(), options()).expect("a good store");
    let failure = loop {
        assert!(states.asked.load(SeqCst) < 20, "it asks again and again");
        if let Some(failure) = node.status().failure {
            break failure;
        }
        thread::yield_now();
    };
    assert!(failure.contains("out of memory"), "{failure}");
    assert_eq!(states.asked.load(SeqCst), 7);
}
