//! The suite can fail: orders that break one thing each are noticed, by the test that is named.

mod common;

use bytes::Bytes;
use common::Nodes;
use seriatim_total::sequencer::SequencerOrder;
use seriatim_total::suite::faults::under_faults;
use seriatim_total::suite::{Cluster, Faults, NODES, Partitions, agreement, barriers, lag, lives, room};
use seriatim_total::{Capabilities, Delivered, Event, OrderError, OrderLimits, Origin, Position, Room, TotalOrder};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Duration;

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Fault {
    /// Nothing.
    None,
    /// A payload is delivered twice.
    Repeats,
    /// A payload is left out.
    LeavesOut,
    /// A node is delivered two payloads in the other order.
    Swaps,
    /// A node is delivered other bytes.
    Alters,
    /// All lives of a node have one number.
    OneLife,
    /// A payload without bytes is taken.
    TakesNothing,
    /// A barrier is before what was delivered.
    EarlyBarrier,
    /// Nobody is told that he is behind.
    HidesTheGap,
    /// A node goes on behind a gap as if nothing was missed.
    ForgetsTheGap,
    /// What is to be kept is not.
    KeepsNothing,
    /// A life begins at the end of the order.
    BeginsAtTheEnd,
    /// Nothing: numbers between those of payloads are used for other things.
    LeavesNumbersOut,
    /// The first payload of a life is never ordered, and those after it are.
    Loses,
    /// A payload is delivered under a number that it does not have.
    NumbersAnew,
    /// No payload that was taken is ordered.
    Forgets,
}

const FAULTS: [Fault; 16] = [
    Fault::None,
    Fault::Repeats,
    Fault::LeavesOut,
    Fault::Swaps,
    Fault::Alters,
    Fault::OneLife,
    Fault::TakesNothing,
    Fault::EarlyBarrier,
    Fault::HidesTheGap,
    Fault::ForgetsTheGap,
    Fault::KeepsNothing,
    Fault::BeginsAtTheEnd,
    Fault::LeavesNumbersOut,
    Fault::Loses,
    Fault::NumbersAnew,
    Fault::Forgets,
];

/// Whether nothing is wrong with an order.
const fn is_right(fault: Fault) -> bool {
    matches!(fault, Fault::None | Fault::LeavesNumbersOut)
}

/// Nodes of which one is broken in the way of this number.
struct Broken<const FAULT: usize> {
    nodes: Nodes,
    ends: Vec<Option<BrokenOrder>>,
}

/// A node's end, broken.
struct BrokenOrder {
    /// Belongs to the cluster's `nodes`.
    end: SequencerOrder,
    fault: Fault,
    delivered: Mutex<u64>,
    /// Payloads that it was handed.
    handed_in: Mutex<u64>,
}

impl<const FAULT: usize> Broken<FAULT> {
    fn broken(&mut self, node: u64) {
        let fault = if node == 1 || node == 2 || FAULT >= 5 { FAULTS[FAULT] } else { Fault::None };
        let end = self.nodes.take(node);
        self.ends[node as usize] =
            Some(BrokenOrder { end, fault, delivered: Mutex::default(), handed_in: Mutex::default() });
    }
}

impl<const FAULT: usize> Cluster for Broken<FAULT> {
    type Order = BrokenOrder;

    /// Some faults are noticed by what does not come.
    const PATIENCE: Duration = if is_right(FAULTS[FAULT]) { Nodes::PATIENCE } else { Duration::from_millis(300) };

    fn start(limits: OrderLimits) -> Self {
        let mut all = Broken { nodes: Nodes::start(limits), ends: (0..NODES).map(|_| None).collect() };
        (0..NODES).for_each(|node| all.broken(node));
        all
    }

    fn node(&self, node: u64) -> &BrokenOrder {
        self.ends[node as usize].as_ref().expect("it runs")
    }

    fn stop(&mut self, node: u64) {
        self.ends[node as usize] = None;
    }

    fn restart(&mut self, node: u64, resume_after: Option<Position>) {
        let after = match FAULTS[FAULT] {
            Fault::BeginsAtTheEnd => Some(Position { instance: u64::MAX / 2, index: 0 }),
            _ => resume_after,
        };
        self.nodes.restart(node, after);
        self.broken(node);
    }

    fn leader(&self) -> u64 {
        self.nodes.leader()
    }
}

impl<const FAULT: usize> Partitions for Broken<FAULT> {
    fn cut_off(&self, node: u64) {
        self.nodes.cut_off(node);
    }

    fn connect(&self, node: u64) {
        self.nodes.connect(node);
    }
}

impl<const FAULT: usize> Faults for Broken<FAULT> {
    fn lose_answers(&self, node: u64) {
        self.nodes.lose_answers(node);
    }

    fn pause(&self, server: u64) {
        self.nodes.pause(server);
    }

    fn go_on(&self, server: u64) {
        self.nodes.go_on(server);
    }

    fn kill(&mut self, server: u64) {
        self.nodes.kill(server);
    }

    fn start_again(&mut self, server: u64) {
        self.nodes.start_again(server);
    }
}

impl BrokenOrder {
    /// Breaks what was delivered.
    fn spoil(&self, events: &mut Vec<Event>, from: usize) {
        let mut count = self.delivered.lock().unwrap();
        let mut at = from;
        while at < events.len() {
            *count += 1;
            match (self.fault, &mut events[at]) {
                (Fault::Repeats, Event::Ordered(_)) if *count == 5 => {
                    let again = events[at].clone();
                    events.insert(at, again);
                    at += 1;
                }
                (Fault::LeavesOut, Event::Ordered(_)) if *count == 5 => {
                    events.remove(at);
                    continue;
                }
                (Fault::Swaps, Event::Ordered(_)) if *count >= 5 && at > from => swap_payloads(events, at),
                (Fault::Alters, Event::Ordered(delivered)) if *count == 5 => delivered.payload = Bytes::from("other"),
                (Fault::OneLife, Event::Ordered(delivered)) => delivered.origin.life = 1,
                (Fault::LeavesNumbersOut, Event::Ordered(delivered)) => delivered.submission *= 2,
                (Fault::Loses | Fault::NumbersAnew, Event::Ordered(delivered)) => delivered.submission += 1,
                (Fault::ForgetsTheGap, Event::Behind { earliest, .. }) => {
                    self.end.resume(*earliest).expect("what follows is kept");
                }
                _ => (),
            }
            at += 1;
        }
    }
}

/// Swaps what two neighbours say, and leaves their positions.
fn swap_payloads(events: &mut [Event], at: usize) {
    let [.., Event::Ordered(one), Event::Ordered(other)] = &mut events[..=at] else { return };
    let (first, second): (Delivered, Delivered) = (one.clone(), other.clone());
    *one = Delivered { position: first.position, ..second.clone() };
    *other = Delivered { position: second.position, ..first };
}

impl TotalOrder for BrokenOrder {
    fn origin(&self) -> Origin {
        let origin = self.end.origin();
        if self.fault == Fault::OneLife { Origin { life: 1, ..origin } } else { origin }
    }

    fn capabilities(&self) -> Capabilities {
        self.end.capabilities()
    }

    fn propose(&self, payload: Bytes) -> Result<u64, OrderError> {
        if self.fault == Fault::TakesNothing && payload.is_empty() {
            return Ok(0);
        }
        let mut handed_in = self.handed_in.lock().unwrap();
        let is_lost = match self.fault {
            Fault::Loses => *handed_in == 0,
            Fault::Forgets => true,
            _ => false,
        };
        // A payload that is lost has a number all the same.
        let before = u64::from(self.fault == Fault::Loses && *handed_in > 0);
        let number = if is_lost { Ok(*handed_in) } else { self.end.propose(payload).map(|number| number + before) };
        *handed_in += u64::from(number.is_ok());
        if self.fault == Fault::LeavesNumbersOut { number.map(|number| 2 * number) } else { number }
    }

    fn room(&self, patience: Duration) -> Result<Room, OrderError> {
        self.end.room(patience)
    }

    fn deliver(&self, into: &mut Vec<Event>, most: usize, patience: Duration) -> Result<(), OrderError> {
        let from = into.len();
        loop {
            self.end.deliver(into, most, patience)?;
            self.spoil(into, from);
            if let (Fault::HidesTheGap, Some(Event::Behind { earliest, .. })) = (self.fault, into.last()) {
                self.end.resume(*earliest)?;
                into.pop();
                continue;
            }
            return Ok(());
        }
    }

    fn keep_from(&self, at: Position) {
        let at = if self.fault == Fault::KeepsNothing { Position { instance: u64::MAX / 2, index: 0 } } else { at };
        self.end.keep_from(at);
    }

    fn resume(&self, after: Position) -> Result<(), OrderError> {
        self.end.resume(after)
    }

    fn follow(&self, after: Position) -> Result<(), OrderError> {
        self.end.follow(after)
    }

    fn barrier(&self, patience: Duration) -> Result<Position, OrderError> {
        let at = self.end.barrier(patience)?;
        Ok(if self.fault == Fault::EarlyBarrier { Position::default() } else { at })
    }
}

fn fails(test: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(test)).is_err()
}

#[test]
fn an_order_without_a_fault_passes() {
    agreement::all_nodes_are_delivered_the_same::<Broken<0>>();
    lives::a_life_resumes_where_its_state_ends::<Broken<0>>();
    barriers::a_barrier_is_behind_what_was_delivered_anywhere::<Broken<0>>();
    lag::who_is_behind_is_told_and_resumes::<Broken<0>>();
    lag::what_is_kept_is_delivered_again::<Broken<0>>();
}

fn fails_under_faults<const FAULT: usize>(seed: u64) -> bool {
    fails(|| assert!(under_faults::<Broken<FAULT>>(seed, 8) > 0))
}

/// Seeds of the faults that the suite chooses.
const SEEDS: std::ops::Range<u64> = 0..3;

#[test]
fn faults_are_borne_by_orders_that_may_leave_numbers_out() {
    for seed in SEEDS {
        assert!(under_faults::<Broken<0>>(seed, 8) > 0);
        assert!(under_faults::<Broken<12>>(seed, 8) > 0);
    }
    agreement::all_nodes_are_delivered_the_same::<Broken<12>>();
    lives::an_earlier_life_keeps_its_name::<Broken<12>>();
}

#[test]
fn under_faults_too_what_is_broken_is_noticed() {
    for seed in SEEDS {
        assert!(fails_under_faults::<1>(seed), "it repeats: {seed}");
        assert!(fails_under_faults::<2>(seed), "it leaves out: {seed}");
        assert!(fails_under_faults::<3>(seed), "it swaps: {seed}");
        assert!(fails_under_faults::<4>(seed), "it alters: {seed}");
    }
}

#[test]
fn a_payload_that_all_nodes_lack_is_noticed() {
    for seed in SEEDS {
        assert!(fails_under_faults::<13>(seed), "one is lost: {seed}");
        assert!(fails_under_faults::<14>(seed), "another number: {seed}");
        assert!(fails_under_faults::<15>(seed), "the last are lost: {seed}");
    }
}

#[test]
fn a_payload_that_comes_twice_or_not_is_noticed() {
    assert!(fails(agreement::all_nodes_are_delivered_the_same::<Broken<1>>));
    assert!(fails(agreement::all_nodes_are_delivered_the_same::<Broken<2>>));
    assert!(fails(lives::a_life_resumes_where_its_state_ends::<Broken<2>>));
}

#[test]
fn another_order_or_another_payload_is_noticed() {
    assert!(fails(agreement::all_nodes_are_delivered_the_same::<Broken<3>>));
    assert!(fails(agreement::all_nodes_are_delivered_the_same::<Broken<4>>));
}

#[test]
fn lives_without_names_of_their_own_are_noticed() {
    assert!(fails(lives::an_earlier_life_keeps_its_name::<Broken<5>>));
}

#[test]
fn a_payload_without_bytes_is_noticed() {
    assert!(fails(room::payloads_have_a_length::<Broken<6>>));
}

#[test]
fn a_stale_barrier_is_noticed() {
    assert!(fails(barriers::a_barrier_is_behind_what_was_delivered_anywhere::<Broken<7>>));
}

#[test]
fn a_hidden_gap_is_noticed() {
    assert!(fails(lag::who_is_behind_is_told_and_resumes::<Broken<8>>));
    assert!(fails(lag::who_is_behind_is_told_and_resumes::<Broken<9>>));
}

#[test]
fn what_is_not_kept_is_noticed() {
    assert!(fails(lag::what_is_kept_is_delivered_again::<Broken<10>>));
}

/// The list of the sequencer waits for nobody's disk.
#[test]
fn an_order_that_does_not_wait_for_a_majority_is_noticed() {
    assert!(fails(lag::a_bare_majority_waits_for_who_is_behind::<Broken<0>>));
}

#[test]
fn a_life_that_begins_elsewhere_is_noticed() {
    assert!(fails(lives::a_life_resumes_where_its_state_ends::<Broken<11>>));
    assert!(fails(lives::a_life_without_a_state_begins_with_the_first_payload::<Broken<11>>));
}
