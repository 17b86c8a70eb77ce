//! Procedures that own their rows before they draw a timestamp: what they no longer abort for, what others see of it, and when they
//! begin as usual.
#![cfg(not(feature = "shuttle"))]

mod support;

use model::{
    Access, Begin, Declared, Error, Finish, Footprint, Key, Malformed, Mode, Procedure, Program, Result, Storage,
    TableId, Touch,
};
use seriatim_mvto::{Options, OwnFirst};
use std::panic::{AssertUnwindSafe, catch_unwind};
use support::{
    Engine, begin, begin_as, begin_beside_the_lane, delete, engine_and_clock, get, impatient, insert, now, put,
    registers, rule, set, single_read, with_registers,
};

/// Adds one to each of some registers, with something else in between.
struct Count {
    table: TableId,
    keys: Vec<u64>,
    touch: Touch,
    between: Box<dyn FnMut() + Send>,
    end: End,
}

/// Nobody waits for another, and every procedure owns first that can.
fn always() -> Options {
    Options { own_first: OwnFirst::Always, ..impatient() }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Commit,
    Refuse,
    Panic,
    /// Writes none of what it might.
    Nothing,
    /// Writes the first only.
    First,
    Delete,
}

#[derive(Debug)]
enum Refused {
    ByItself,
    ByTheEngine(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::ByTheEngine(error)
    }
}

fn count(table: TableId, keys: &[u64]) -> Count {
    Count { table, keys: keys.to_vec(), touch: Touch::Any, between: Box::new(|| ()), end: End::Commit }
}

impl Count {
    /// Runs `between` in the body, before it reads.
    fn with(self, between: impl FnMut() + Send + 'static) -> Count {
        Count { between: Box::new(between), ..self }
    }

    fn ending(self, end: End) -> Count {
        Count { end, ..self }
    }
}

impl Program for Count {
    type Output = Vec<Option<u64>>;
    type Error = Refused;

    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> std::result::Result<Vec<Option<u64>>, Refused> {
        (self.between)();
        let mut found = Vec::new();
        for &key in &self.keys {
            let before = get(&mut access, self.table, key)?;
            match self.end {
                End::Nothing => {}
                End::First if key != self.keys[0] => {}
                End::Delete => _ = access.delete(self.table, &Key::from_u64(key))?,
                _ => put(&mut access, self.table, key, before.unwrap_or_default() + 1)?,
            }
            found.push(before);
        }
        match self.end {
            End::Refuse => Err(Refused::ByItself),
            End::Panic => panic!("a mistake in a body"),
            End::Commit | End::Nothing | End::First | End::Delete => Ok(found),
        }
    }
}

impl Procedure for Count {
    const NAME: &'static str = "count";
    fn encode_arguments(&self, _: &mut Vec<u8>) {}
    fn decode_arguments(_: &[u8]) -> std::result::Result<Count, Malformed> {
        Err(Malformed)
    }
    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        let touch = |it: Footprint, &key: &u64| it.touches(self.table, Key::from_u64(key), self.touch);
        Ok(self.keys.iter().fold(Footprint::default(), touch))
    }
}

/// What it has found, at its first attempt.
fn call(engine: &Engine, count: Count) -> std::result::Result<Vec<Option<u64>>, Refused> {
    engine.call(count, Begin::default(), |_: u32, _: &Error| false).map(|(found, _)| found)
}

/// Aborts by rule, but for those that a test asked for.
fn aborts(engine: &Engine) -> Vec<(&'static str, u64)> {
    let mut aborts = engine.stats().aborts;
    aborts.retain(|(rule, _)| *rule != "requested");
    aborts
}

/// Whether somebody above would wait for the row.
fn is_owned(engine: &Engine, table: TableId, key: u64) -> bool {
    let mut reader = begin(engine);
    match get(&mut reader, table, key) {
        Ok(_) => false,
        Err(error) => {
            assert_eq!(rule(Err::<(), _>(error)), "wait-limit");
            true
        }
    }
}

/// Where nobody was in the way it begins as usual; once a procedure has met a conflict, those behind it own first, for a while.
#[test]
fn conflicts_make_it_wary() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 10), (2, 20)]);
    let owns = || {
        let engine_of_body = engine.clone();
        let (seen, look) = std::sync::mpsc::channel();
        let body = count(table, &[1, 2]).with(move || _ = seen.send(is_owned(&engine_of_body, table, 1)));
        (call(&engine, body).is_ok(), look.recv().expect("the body has run"))
    };
    assert_eq!(owns(), (true, false));
    let mut owner = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 2, 21).expect("nobody in the way");
    assert_eq!(owns(), (false, false));
    owner.commit().expect("nobody in the way");
    for _ in 0..100 {
        assert_eq!(owns(), (true, true));
    }
    assert_eq!(owns(), (true, false));
}

/// M3: from its begin on, whoever is above waits for what it will write, and for nothing else. Without that, a reader in the middle
/// of the body would make it abort.
#[test]
fn readers_above_wait_for_all_that_it_may_write() {
    let (engine, _, table) = with_registers(always(), &[(1, 10), (2, 20), (3, 30)]);
    let look = {
        let engine = engine.clone();
        move || {
            let owned = [1, 2, 3].map(|key| is_owned(&engine, table, key));
            assert_eq!(owned, [true, true, false]);
        }
    };
    assert_eq!(call(&engine, count(table, &[1, 2]).with(look)).expect("it commits"), [Some(10), Some(20)]);
    assert_eq!(aborts(&engine), [("wait-limit", 2)], "the readers'");
    assert_eq!([1, 2, 3].map(|key| single_read(&engine, table, key)), [Some(11), Some(21), Some(30)]);
}

/// A reader below, which has begun before, reads what was there.
#[test]
fn readers_below_do_not_wait() {
    let (engine, _, table) = with_registers(always(), &[(1, 10), (2, 20)]);
    let mut older = begin_beside_the_lane(&engine);
    let (send, receive) = std::sync::mpsc::channel();
    let look = move || send.send(get(&mut older, table, 1).expect("no wait")).expect("the test listens");
    call(&engine, count(table, &[1, 2]).with(look)).expect("it commits");
    assert_eq!(receive.recv().expect("it was read"), Some(10));
    assert_eq!(aborts(&engine), []);
}

/// Its timestamp lies above the stamp that a single read has left ahead of the clock.
#[test]
fn a_stamp_ahead_of_the_clock_is_waited_out() {
    let (engine, _, table) = with_registers(always(), &[(1, 10), (2, 20)]);
    for round in 0..5 {
        assert_eq!(single_read(&engine, table, 1), Some(10 + round));
        call(&engine, count(table, &[1, 2])).expect("it commits");
    }
    assert_eq!(aborts(&engine), []);
    // As usual: the stamp is above the timestamp.
    single_read(&engine, table, 1);
    let mut usual = begin(&engine);
    put(&mut usual, table, 1, 0).expect("buffered");
    assert_eq!(rule(usual.commit()), "later-reader");
}

/// Somebody has one of the rows: the others are given up, and it begins as usual, where it waits or aborts as every transaction.
#[test]
fn on_a_refusal_it_owns_nothing_and_begins_as_usual() {
    let (engine, _, table) = with_registers(always(), &[(1, 10), (2, 20), (3, 30)]);
    let mut owner = begin_as(&engine, Mode::OwnAtStatement);
    put(&mut owner, table, 2, 21).expect("nobody in the way");
    let look = {
        let engine = engine.clone();
        move || assert_eq!([1, 3].map(|key| is_owned(&engine, table, key)), [false, false])
    };
    let Err(Refused::ByTheEngine(error)) = call(&engine, count(table, &[1, 2, 3]).with(look)) else {
        panic!("too early")
    };
    assert!(error.is_retryable(), "{error}");
    owner.commit().expect("nobody in the way");
    call(&engine, count(table, &[1, 2, 3])).expect("nobody in the way");
    assert_eq!([1, 2, 3].map(|key| now(&engine, table, key)), [Some(11), Some(22), Some(31)]);
}

/// What has no tuple cannot be owned; what was deleted can, as long as its tuple is there.
#[test]
fn absent_rows_are_written_as_usual() {
    for storage in [Storage::Ordered, Storage::Hash] {
        let (engine, _) = engine_and_clock(always());
        let table = engine.create_table(registers("registers", storage)).expect("a new table");
        assert_eq!(call(&engine, count(table, &[1])).expect("alone"), [None]);
        assert_eq!(call(&engine, count(table, &[1, 2])).expect("alone"), [Some(1), None]);
        assert_eq!(call(&engine, count(table, &[1, 2]).ending(End::Delete)).expect("alone"), [Some(2), Some(1)]);
        assert_eq!(call(&engine, count(table, &[2, 1])).expect("alone"), [None, None]);
        assert_eq!([1, 2].map(|key| now(&engine, table, key)), [Some(1), Some(1)]);
        call(&engine, count(table, &[1, 2]).ending(End::Delete)).expect("alone");
        engine.collect();
        assert_eq!(engine.stats().waiting_versions, 0);
        assert_eq!(call(&engine, count(table, &[1])).expect("alone"), [None]);
        assert_eq!(aborts(&engine), []);
    }
}

/// Whatever the end, no row is left behind: not the unwritten, nor those of a body that fails or panics.
#[test]
fn every_end_gives_the_rows_up() {
    let (engine, _, table) = with_registers(always(), &[(1, 10), (2, 20)]);
    for end in [End::Nothing, End::Refuse, End::Panic] {
        let called = catch_unwind(AssertUnwindSafe(|| call(&engine, count(table, &[1, 2]).ending(end))));
        match (end, called) {
            (End::Nothing, Ok(Ok(found))) => assert_eq!(found, [Some(10), Some(20)]),
            (End::Refuse, Ok(Err(Refused::ByItself))) | (End::Panic, Err(_)) => {}
            (_, other) => panic!("another end: {other:?}"),
        }
        assert_eq!([1, 2].map(|key| is_owned(&engine, table, key)), [false, false]);
    }
    set(&engine, table, 1, 11);
    let stats = engine.stats();
    assert_eq!((stats.active, stats.asleep, now(&engine, table, 1)), (0, 0, Some(11)));
}

/// M3: what it might have written, and has only read, nobody older writes any more. Else each of the two would have read what the other
/// one has replaced.
#[test]
fn what_it_has_not_written_counts_as_read() {
    let (engine, _, table) = with_registers(always(), &[(1, 10), (2, 20), (3, 30)]);
    let mut deleter = begin(&engine);
    assert!(delete(&mut deleter, table, 3).expect("buffered"));
    deleter.commit().expect("nobody in the way");
    for (unwritten, row, first) in [(2, Some(20), 10), (3, None, 11)] {
        let mut older = begin_beside_the_lane(&engine);
        assert_eq!(get(&mut older, table, 1).expect("nobody in the way"), Some(first));
        let found = call(&engine, count(table, &[1, unwritten]).ending(End::First)).expect("it commits");
        assert_eq!(found, [Some(first), row]);
        put(&mut older, table, unwritten, 0).expect("buffered");
        assert_eq!(rule(older.commit()), "later-reader");
    }
    // What it refuses by discloses what it has read, too.
    let mut older = begin_beside_the_lane(&engine);
    let refused = call(&engine, count(table, &[1, 2]).ending(End::Refuse)).expect_err("it says no");
    assert!(matches!(refused, Refused::ByItself));
    put(&mut older, table, 2, 0).expect("buffered");
    assert_eq!(rule(older.commit()), "later-reader");
}

/// It reads its own writes, and what it owns before it has written it; the version that it replaces is collected.
#[test]
fn it_reads_what_it_owns_and_what_it_has_written() {
    let (engine, _, table) = with_registers(always(), &[(1, 10), (2, 20)]);
    assert_eq!(call(&engine, count(table, &[1, 2, 1])).expect("alone"), [Some(10), Some(20), Some(11)]);
    engine.collect();
    let stats = engine.stats();
    assert_eq!((stats.replaced_versions, stats.collected_versions), (2, 2));
}

/// A table that is dropped while it runs is there until it has ended.
#[test]
fn a_dropped_table_is_there_until_it_has_ended() {
    let (engine, _, table) = with_registers(always(), &[(1, 10), (2, 20)]);
    let drop_it = {
        let engine = engine.clone();
        move || engine.drop_table("registers").expect("it is there")
    };
    assert_eq!(call(&engine, count(table, &[1, 2]).with(drop_it)).expect("it commits"), [Some(10), Some(20)]);
    let Err(Refused::ByTheEngine(Error::Invalid(_))) = call(&engine, count(table, &[1, 2])) else {
        panic!("no such table")
    };
    engine.collect();
    assert_eq!(engine.stats().active, 0);
}

/// Those that do not: too many rows, a single key, keys that are inserted, a lane that is taken. They commit all the same.
#[test]
fn others_begin_as_usual() {
    let rows: Vec<(u64, u64)> = (0..40).map(|key| (key, key)).collect();
    let (engine, _, table) = with_registers(Options { write_set_rows: 40, ..always() }, &rows);
    let free = |keys: &[u64]| {
        let (engine, keys) = (engine.clone(), keys.to_vec());
        move || assert!(keys.iter().all(|&key| !is_owned(&engine, table, key)))
    };
    let many: Vec<u64> = (0..17).collect();
    // Its own reads stamp: the looks in between are older.
    call(&engine, count(table, &many).with(free(&many)).ending(End::Nothing)).expect("it commits");
    call(&engine, count(table, &[1]).with(free(&[1])).ending(End::Nothing)).expect("it commits");
    let inserts = Count { touch: Touch::Insert, ..count(table, &[1, 2]) };
    call(&engine, inserts.with(free(&[1, 2])).ending(End::Nothing)).expect("it commits");
    let in_lane = begin(&engine);
    call(&engine, count(table, &[1, 2]).with(free(&[1, 2])).ending(End::Nothing)).expect("it commits");
    in_lane.abort();
    let mut other = begin(&engine);
    assert!(delete(&mut other, table, 39).expect("buffered"));
    insert(&mut other, table, 50, 1).expect("buffered");
    other.commit().expect("nobody in the way");
}
