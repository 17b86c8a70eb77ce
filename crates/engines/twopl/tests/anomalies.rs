//! One script per anomaly. Two or three transactions are driven by one thread and never wait: where two-phase locking
//! would make one wait for the other, the script sees the refusal and goes on without it.

mod common;

use common::{begin, delete, get, impatient, put, range, rule, with_registers};
use model::{Access, Begin, Columns, Finish, Interactive, Item, Key, Mode, Scan, ScanEnd};
use seriatim_twopl::Reason;
use std::ops::ControlFlow;

const X: u64 = 1;
const Y: u64 = 2;

const REFUSED: &str = "wait-limit";

/// G0, dirty write: two writers of x and y must not interleave.
#[test]
fn no_dirty_write() {
    let (engine, t) = with_registers(impatient(), &[(X, 0), (Y, 0)]);
    let (mut t1, mut t2) = (begin(&engine), begin(&engine));
    put(&mut t1, t, X, 1).unwrap();
    assert_eq!(rule(put(&mut t2, t, X, 2)), REFUSED);
    put(&mut t1, t, Y, 1).unwrap();
    t1.commit().unwrap();
    let mut after = begin(&engine);
    assert_eq!((get(&mut after, t, X).unwrap(), get(&mut after, t, Y).unwrap()), (Some(1), Some(1)));
}

/// G1a, dirty read: what is not committed is not read, and an abort takes it back.
#[test]
fn no_dirty_read() {
    let (engine, t) = with_registers(impatient(), &[(X, 0)]);
    let mut t1 = begin(&engine);
    put(&mut t1, t, X, 1).unwrap();
    put(&mut t1, t, X, 2).unwrap();
    put(&mut t1, t, Y, 2).unwrap();
    assert_eq!(rule(get(&mut begin(&engine), t, X)), REFUSED);
    assert_eq!(rule(get(&mut begin(&engine), t, Y)), REFUSED, "an uncommitted insert");
    t1.abort();
    let mut after = begin(&engine);
    assert_eq!((get(&mut after, t, X).unwrap(), get(&mut after, t, Y).unwrap()), (Some(0), None));
}

/// A dropped transaction leaves nothing behind either.
#[test]
fn a_dropped_transaction_is_aborted() {
    let (engine, t) = with_registers(impatient(), &[(X, 0)]);
    let mut t1 = begin(&engine);
    assert!(delete(&mut t1, t, X).unwrap());
    put(&mut t1, t, Y, 1).unwrap();
    drop(t1);
    assert_eq!(range(&mut begin(&engine), t, 0, 9).unwrap(), [(X, 0)]);
    assert_eq!(engine.stats().aborted[Reason::Requested as usize], 2, "the reader was dropped too");
    assert_eq!(engine.stats().records, 1);
}

/// P4, lost update: both read, both write what they computed from it.
#[test]
fn no_lost_update() {
    let (engine, t) = with_registers(impatient(), &[(X, 10)]);
    let (mut t1, mut t2) = (begin(&engine), begin(&engine));
    assert_eq!(get(&mut t1, t, X).unwrap(), Some(10));
    assert_eq!(get(&mut t2, t, X).unwrap(), Some(10));
    assert_eq!(rule(put(&mut t1, t, X, 11)), REFUSED, "the other one has read it");
    put(&mut t2, t, X, 12).unwrap();
    t2.commit().unwrap();
    assert_eq!(get(&mut begin(&engine), t, X).unwrap(), Some(12));
}

/// `read_for_update` sends the second one away before it has read.
#[test]
fn read_for_update_excludes_at_once() {
    let (engine, t) = with_registers(impatient(), &[(X, 10)]);
    let (mut t1, mut t2) = (begin(&engine), begin(&engine));
    let mut row = model::RowBuf::new();
    assert!(t1.read_for_update(t, &Key::from_u64(X), Columns::All, &mut row).unwrap());
    assert_eq!(rule(get(&mut t2, t, X)), REFUSED);
    let mut t3 = begin(&engine);
    assert!(!t1.read_for_update(t, &Key::from_u64(Y), Columns::All, &mut row).unwrap());
    assert_eq!(rule(put(&mut t3, t, Y, 1)), REFUSED, "an absent key is owned too");
}

/// A5A, read skew: x from before the other transaction, y from after it.
#[test]
fn no_read_skew() {
    let (engine, t) = with_registers(impatient(), &[(X, 5), (Y, 5)]);
    let (mut t1, mut t2) = (begin(&engine), begin(&engine));
    assert_eq!(get(&mut t1, t, X).unwrap(), Some(5));
    assert_eq!(rule(put(&mut t2, t, X, 1)), REFUSED);
    assert_eq!(get(&mut t1, t, Y).unwrap(), Some(5));
    t1.commit().unwrap();
}

/// A5B, write skew: each reads both and writes the other one.
#[test]
fn no_write_skew() {
    let (engine, t) = with_registers(impatient(), &[(X, 1), (Y, 1)]);
    let (mut t1, mut t2) = (begin(&engine), begin(&engine));
    for reader in [&mut t1, &mut t2] {
        assert_eq!(get(reader, t, X).unwrap(), Some(1));
        assert_eq!(get(reader, t, Y).unwrap(), Some(1));
    }
    assert_eq!(rule(put(&mut t1, t, X, 0)), REFUSED);
    put(&mut t2, t, Y, 0).unwrap();
    t2.commit().unwrap();
}

/// Write skew over absent keys: each finds the other's key absent and inserts its own.
#[test]
fn no_write_skew_on_absent_keys() {
    let (engine, t) = with_registers(impatient(), &[]);
    let (mut t1, mut t2) = (begin(&engine), begin(&engine));
    assert_eq!(get(&mut t1, t, Y).unwrap(), None);
    assert_eq!(get(&mut t2, t, X).unwrap(), None);
    assert_eq!(rule(put(&mut t1, t, X, 1)), REFUSED);
    put(&mut t2, t, Y, 2).unwrap();
    t2.commit().unwrap();
    assert_eq!(engine.stats().records, 1, "absent keys leave nothing behind");
}

/// P3, phantom: nothing enters or leaves a scanned range, not even into its gaps and beyond its last key.
#[test]
fn no_phantom() {
    let (engine, t) = with_registers(impatient(), &[(3, 0), (6, 0)]);
    let mut t1 = begin(&engine);
    assert_eq!(range(&mut t1, t, 2, 8).unwrap(), [(3, 0), (6, 0)]);
    for key in [2, 4, 8] {
        assert_eq!(rule(put(&mut begin(&engine), t, key, 1)), REFUSED, "insert {key}");
    }
    assert_eq!(rule(delete(&mut begin(&engine), t, 3)), REFUSED);
    assert_eq!(rule(put(&mut begin(&engine), t, 6, 1)), REFUSED);
    let mut outside = begin(&engine);
    put(&mut outside, t, 1, 1).unwrap();
    put(&mut outside, t, 9, 1).unwrap();
    outside.commit().unwrap();
    assert_eq!(range(&mut t1, t, 2, 8).unwrap(), [(3, 0), (6, 0)]);
    t1.commit().unwrap();
}

/// A scan does not run past an insert or a delete that is not committed.
#[test]
fn no_dirty_scan() {
    let (engine, t) = with_registers(impatient(), &[(3, 0)]);
    let mut t1 = begin(&engine);
    put(&mut t1, t, 5, 1).unwrap();
    assert_eq!(rule(range(&mut begin(&engine), t, 0, 9)), REFUSED);
    t1.abort();
    let mut t2 = begin(&engine);
    delete(&mut t2, t, 3).unwrap();
    assert_eq!(rule(range(&mut begin(&engine), t, 0, 9)), REFUSED);
    t2.commit().unwrap();
    assert_eq!(range(&mut begin(&engine), t, 0, 9).unwrap(), []);
}

/// A scan that stops early protects what it visited, and nothing behind it, in both directions.
#[test]
fn an_early_stop_gives_the_rest_back() {
    let (engine, t) = with_registers(impatient(), &[(2, 0), (4, 0), (6, 0)]);
    let first = |backward: bool| {
        let mut reader = begin(&engine);
        let scan = if backward { Scan::table(t).backward() } else { Scan::table(t) };
        let end = reader.scan(&scan, &mut |_: Item<'_>| ControlFlow::Break(())).unwrap();
        (reader, end)
    };
    let (_forward, end) = first(false);
    assert_eq!(end, ScanEnd::Stopped(Key::from_u64(2)));
    assert_eq!(rule(put(&mut begin(&engine), t, 1, 1)), REFUSED);
    assert_eq!(rule(put(&mut begin(&engine), t, 2, 1)), REFUSED);
    put(&mut begin(&engine), t, 3, 1).unwrap();
    drop(_forward);
    let (_backward, end) = first(true);
    assert_eq!(end, ScanEnd::Stopped(Key::from_u64(6)));
    assert_eq!(rule(put(&mut begin(&engine), t, 7, 1)), REFUSED);
    put(&mut begin(&engine), t, 5, 1).unwrap();
}

/// G2 over a predicate: each counts a range and inserts into the other's.
#[test]
fn no_predicate_skew() {
    let (engine, t) = with_registers(impatient(), &[(1, 0), (11, 0)]);
    let (mut t1, mut t2) = (begin(&engine), begin(&engine));
    assert_eq!(range(&mut t1, t, 0, 9).unwrap().len(), 1);
    assert_eq!(range(&mut t2, t, 10, 19).unwrap().len(), 1);
    assert_eq!(rule(put(&mut t1, t, 12, 1)), REFUSED);
    put(&mut t2, t, 2, 1).unwrap();
    t2.commit().unwrap();
}

/// The read-only anomaly (Fekete et al. 2004): a reader sees the second of two transactions and not the first, which
/// then does not see the second either. Here the reader is refused.
#[test]
fn no_read_only_anomaly() {
    let (engine, t) = with_registers(impatient(), &[(X, 0), (Y, 0)]);
    let mut t1 = begin(&engine);
    let mut t2 = begin(&engine);
    assert_eq!(get(&mut t2, t, X).unwrap(), Some(0));
    assert_eq!(get(&mut t2, t, Y).unwrap(), Some(0));
    assert_eq!(rule(put(&mut t1, t, Y, 20)), REFUSED, "t2 has read y, so t1 has to come after it");
    put(&mut t2, t, X, 11).unwrap();
    let mut t3 = engine.begin(Begin { mode: Mode::ReadOnly, ..Begin::default() }).unwrap();
    assert_eq!(get(&mut t3, t, Y).unwrap(), Some(0));
    assert_eq!(rule(get(&mut t3, t, X)), REFUSED);
    t2.commit().unwrap();
}

/// Serial points increase in the order of conflicts, for readers too.
#[test]
fn serial_points_follow_conflicts() {
    let (engine, t) = with_registers(impatient(), &[(X, 0)]);
    let (mut early, mut reader) = (begin(&engine), begin(&engine));
    get(&mut reader, t, X).unwrap();
    let reader = reader.commit().unwrap().claimed();
    put(&mut early, t, X, 1).unwrap();
    let writer = early.commit().unwrap().claimed();
    assert!(reader < writer);
}

/// After an abort the transaction returns only that abort, which describes what happened.
#[test]
fn a_poisoned_transaction_says_why() {
    let (engine, t) = with_registers(impatient(), &[(X, 0)]);
    let (mut t1, mut t2) = (begin(&engine), begin(&engine));
    put(&mut t1, t, X, 1).unwrap();
    put(&mut t2, t, Y, 1).unwrap();
    let text = put(&mut t2, t, X, 2).unwrap_err().to_string();
    assert_eq!(
        text,
        "transaction T3 aborted (wait-limit): another transaction held a lock for longer than the wait limit; \
         table registers, key 1; other transaction T2; the transaction might succeed if retried"
    );
    assert_eq!(get(&mut t2, t, Y).unwrap_err().to_string(), text);
    assert_eq!(t2.poison().map(ToString::to_string), Some(text.clone()));
    assert_eq!(get(&mut begin(&engine), t, Y).unwrap(), None, "its locks and writes are gone already");
    assert_eq!(t2.commit().unwrap_err().to_string(), text);
    assert_eq!(engine.stats().aborted, [0, 1, 0, 0, 1], "and one was dropped");
}
