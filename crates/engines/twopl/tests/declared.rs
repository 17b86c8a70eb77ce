//! `Declared`: procedures lock what they declare, in order; an undeclared access aborts them.

mod common;

use common::{get, put, range, with_registers};
use model::{
    Access, Begin, Columns, Declared, Decoder, Delta, Error, Finish, Footprint, Interactive, Key, Malformed, Procedure,
    Program, Result, RowBuf, Scan, TableId, Touch,
};
use seriatim_twopl::{Options, Reason};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// Moves one from one register to another. Declares both, or only those given.
struct Transfer {
    table: TableId,
    from: u64,
    to: u64,
    declares_to: bool,
}

impl Program for Transfer {
    type Output = ();
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> Result<()> {
        let from = get(&mut access, self.table, self.from)?.unwrap_or_default();
        let to = get(&mut access, self.table, self.to)?.unwrap_or_default();
        put(&mut access, self.table, self.from, from.wrapping_sub(1))?;
        put(&mut access, self.table, self.to, to.wrapping_add(1))
    }
}

impl Procedure for Transfer {
    const NAME: &'static str = "transfer";

    fn encode_arguments(&self, out: &mut Vec<u8>) {
        for argument in [self.table.0.into(), self.from, self.to, self.declares_to.into()] {
            out.extend_from_slice(&u64::to_le_bytes(argument));
        }
    }

    fn decode_arguments(arguments: &[u8]) -> std::result::Result<Transfer, Malformed> {
        let mut arguments = Decoder::new(arguments);
        let table = TableId(u32::try_from(arguments.u64()?).map_err(|_| Malformed)?);
        let (from, to, declares_to) = (arguments.u64()?, arguments.u64()?, arguments.u64()? == 1);
        Ok(Transfer { table, from, to, declares_to })
    }

    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        let footprint = Footprint::default().writes(self.table, self.from).reads(self.table, self.from);
        Ok(if self.declares_to { footprint.writes(self.table, self.to) } else { footprint })
    }
}

/// Options under which an endless wait fails the test instead of hanging it.
fn patient() -> Options {
    Options { wait_limit: Duration::from_secs(60), ..Options::default() }
}

fn never(_: u32, _: &Error) -> bool {
    false
}

#[test]
fn opposite_transfers_never_abort() {
    let (engine, t) = with_registers(patient(), &[(1, 500), (2, 500), (3, 500)]);
    thread::scope(|scope| {
        for (from, to) in [(1, 2), (2, 3), (3, 1), (2, 1)] {
            let engine = &engine;
            scope.spawn(move || {
                for _ in 0..250 {
                    let transfer = Transfer { table: t, from, to, declares_to: true };
                    engine.call(transfer, Begin::default(), never).expect("no procedure aborts another");
                }
            });
        }
    });
    assert_eq!(range(&mut common::begin(&engine), t, 0, 9).unwrap(), [(1, 750), (2, 250), (3, 500)]);
    assert_eq!(engine.stats().aborted, [0, 0, 0, 0, 1], "only the reader above, which was dropped");
}

/// Interactive transactions in opposite order: they give way, the procedures do not.
#[test]
fn interactive_transactions_give_way_to_procedures() {
    let (engine, t) = with_registers(patient(), &[(1, 0), (2, 0)]);
    thread::scope(|scope| {
        let engine = &engine;
        for (from, to) in [(1, 2), (2, 1)] {
            scope.spawn(move || {
                for _ in 0..200 {
                    let transfer = Transfer { table: t, from, to, declares_to: true };
                    engine.call(transfer, Begin::default(), never).expect("procedures go first");
                }
            });
            scope.spawn(move || {
                for _ in 0..200 {
                    let mut open = common::begin(engine);
                    let mut transfer = Transfer { table: t, from: to, to: from, declares_to: true };
                    if transfer.run(&mut open).is_ok() {
                        open.commit().expect("nothing ends it any more");
                    }
                }
            });
        }
    });
    let rows = range(&mut common::begin(&engine), t, 0, 9).unwrap();
    assert_eq!(rows[0].1.wrapping_add(rows[1].1), 0, "nothing came or went");
}

#[test]
fn a_miss_aborts_and_says_so() {
    let (engine, t) = with_registers(Options::default(), &[(1, 5), (2, 5)]);
    let transfer = Transfer { table: t, from: 1, to: 2, declares_to: false };
    let made = Arc::new(AtomicU32::new(0));
    let counted = made.clone();
    let twice_more = move |attempts, _: &_| counted.fetch_add(1, Relaxed) + 1 == attempts && attempts < 3;
    let error = engine.call(transfer, Begin::default(), twice_more).unwrap_err();
    let attempts = made.load(Relaxed);
    let abort = error.abort().expect("an abort");
    assert_eq!((abort.rule, attempts, error.is_retryable()), ("footprint-miss", 3, true));
    assert!(error.to_string().contains("table registers, key 2"), "{error}");
    assert_eq!(engine.stats().aborted[Reason::FootprintMiss as usize], 3);
    assert_eq!(range(&mut common::begin(&engine), t, 0, 9).unwrap(), [(1, 5), (2, 5)]);
}

/// Writes to a key that it declared as read only.
struct Overreach(TableId, Body);

type Body = fn(&mut dyn Access, TableId) -> Result<()>;

impl Program for Overreach {
    type Output = ();
    type Error = Error;
    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> Result<()> {
        (self.1)(&mut access, self.0)
    }
}

impl Procedure for Overreach {
    const NAME: &'static str = "overreach";
    fn encode_arguments(&self, _: &mut Vec<u8>) {}
    fn decode_arguments(_: &[u8]) -> std::result::Result<Overreach, Malformed> {
        Err(Malformed)
    }
    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        Ok(Footprint::default().reads(self.0, 1))
    }
}

#[test]
fn every_way_to_overreach_is_a_miss() {
    let (engine, t) = with_registers(Options::default(), &[(1, 5)]);
    let ways: [Body; 5] = [
        |mut access, t| put(&mut access, t, 1, 1),
        |access, t| access.read_for_update(t, &Key::from_u64(1), Columns::All, &mut RowBuf::new()).map(drop),
        |access, t| access.delete(t, &Key::from_u64(1)).map(drop),
        |access, t| access.insert(t, &Key::from_u64(2), RowBuf::new().row()),
        |access, t| access.update(t, &Key::from_u64(3), &Delta::new()).map(drop),
    ];
    for way in ways {
        let error = engine.call(Overreach(t, way), Begin::default(), never).unwrap_err();
        assert_eq!(common::rule(Err::<(), _>(error)), "footprint-miss");
    }
    let reads = |mut access: &mut dyn Access, t| get(&mut access, t, 1).map(drop);
    engine.call(Overreach(t, reads), Begin::default(), never).expect("that was declared");
    let scans = |access: &mut dyn Access, t| access.scan(&Scan::table(t), &mut |_| ControlFlow::Continue(())).map(drop);
    let error = engine.call(Overreach(t, scans), Begin::default(), never).unwrap_err();
    assert_eq!(
        error.to_string(),
        "access to table registers outside the declared footprint of the procedure: declare the key or the range"
    );
    assert!(!error.is_retryable());
    assert_eq!(engine.stats().open, 0);
}

/// Adds to the register that another one points at: what it writes is found by reconnaissance.
struct Follow {
    table: TableId,
    /// Called by the trial read, after it has looked.
    between: Box<dyn Fn() + Send>,
}

impl Program for Follow {
    type Output = u64;
    type Error = Error;
    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> Result<u64> {
        let at = get(&mut access, self.table, 1)?.unwrap_or_default();
        let value = get(&mut access, self.table, at)?.unwrap_or_default();
        put(&mut access, self.table, at, value + 1)?;
        Ok(at)
    }
}

impl Procedure for Follow {
    const NAME: &'static str = "follow";
    fn encode_arguments(&self, _: &mut Vec<u8>) {}
    fn decode_arguments(_: &[u8]) -> std::result::Result<Self, Malformed> {
        Err(Malformed)
    }
    fn footprint<A: Access + ?Sized>(&self, mut access: &mut A) -> Result<Footprint> {
        let at = get(&mut access, self.table, 1)?.unwrap_or_default();
        let seen = range(&mut access, self.table, at, at)?;
        assert_eq!(seen.len(), 1);
        (self.between)();
        Ok(Footprint::default().reads(self.table, 1).writes(self.table, at))
    }
}

/// The trial read holds nothing once it has looked, so the pointer may move behind it: a miss, and a second look.
#[test]
fn a_miss_of_reconnaissance_is_cured_by_a_retry() {
    let (engine, t) = with_registers(common::impatient(), &[(1, 10), (10, 0), (20, 0)]);
    let engine = Arc::new(engine);
    let (mover, moved) = (engine.clone(), AtomicU32::new(0));
    let move_once = move || {
        if moved.fetch_add(1, Relaxed) == 0 {
            let mut mover = common::begin(&mover);
            put(&mut mover, t, 1, 20).expect("the trial read holds no lock");
            put(&mut mover, t, 15, 0).expect("nor a range");
            mover.commit().unwrap();
        }
    };
    let retried = Arc::new(AtomicU32::new(0));
    let retries = retried.clone();
    let retry = move |_, error: &Error| {
        assert_eq!(error.abort().expect("an abort").rule, "footprint-miss");
        retries.fetch_add(1, Relaxed);
        true
    };
    let follow = Follow { table: t, between: Box::new(move_once) };
    let (at, _) = engine.call(follow, Begin::default(), retry).unwrap();
    assert_eq!((at, retried.load(Relaxed)), (20, 1));
    assert_eq!(get(&mut common::begin(&engine), t, 20).unwrap(), Some(1));
}

/// Adds up a range into a register, and optionally scans more than it declares.
struct Total {
    table: TableId,
    declared: (u64, u64),
    scanned: (u64, u64),
    into: u64,
}

impl Program for Total {
    type Output = u64;
    type Error = Error;
    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> Result<u64> {
        let rows = range(&mut access, self.table, self.scanned.0, self.scanned.1)?;
        let total = rows.iter().map(|(_, value)| value).sum();
        put(&mut access, self.table, self.into, total)?;
        Ok(total)
    }
}

impl Procedure for Total {
    const NAME: &'static str = "total";
    fn encode_arguments(&self, _: &mut Vec<u8>) {}
    fn decode_arguments(_: &[u8]) -> std::result::Result<Total, Malformed> {
        Err(Malformed)
    }
    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        let bound = |at| Bound::Included(Key::from_u64(at));
        let ranges = Footprint::default().reads_range(self.table, bound(self.declared.0), bound(self.declared.1));
        Ok(ranges.touches(self.table, self.into, Touch::Overwrite))
    }
}

#[test]
fn declared_ranges_may_be_scanned_and_no_others() {
    let (engine, t) = with_registers(Options::default(), &[(1, 5), (2, 7), (3, 9)]);
    let total = |scanned| Total { table: t, declared: (1, 2), scanned, into: 10 };
    assert_eq!(engine.call(total((1, 2)), Begin::default(), never).expect("declared").0, 12);
    assert_eq!(engine.call(total((2, 2)), Begin::default(), never).expect("a part of it").0, 7);
    let error = engine.call(total((1, 3)), Begin::default(), never).unwrap_err();
    assert_eq!(error.abort().expect("a retry looks again").rule, "footprint-miss");
    assert_eq!(get(&mut common::begin(&engine), t, 10).unwrap(), Some(7), "a miss writes nothing");
}

/// Ranges are locked out of the order of keys: procedures that have some give way, and none waits for ever.
#[test]
fn procedures_with_ranges_and_transfers_go_on() {
    let (engine, t) = with_registers(patient(), &[(1, 500), (2, 500), (3, 500)]);
    let always = |_, _: &Error| true;
    thread::scope(|scope| {
        for (from, to) in [(1, 3), (3, 1)] {
            let engine = &engine;
            scope.spawn(move || {
                for _ in 0..150 {
                    let transfer = Transfer { table: t, from, to, declares_to: true };
                    engine.call(transfer, Begin::default(), always).expect("it goes on");
                }
            });
            scope.spawn(move || {
                for _ in 0..150 {
                    let total = Total { table: t, declared: (1, 3), scanned: (1, 3), into: 10 + from };
                    let (total, _) = engine.call(total, Begin::default(), always).expect("it goes on");
                    assert_eq!(total, 1500, "a range is read as of one place in the order");
                }
            });
        }
    });
}

/// Many are handed in before the first is waited for; what is no use to wait for calls back.
#[test]
fn tickets_are_waited_for_later() {
    let (engine, t) = with_registers(Options::default(), &[(1, 100), (2, 0)]);
    let transfer = || Transfer { table: t, from: 1, to: 2, declares_to: true };
    let tickets: Vec<_> = (0..20).map(|_| engine.submit(transfer(), Begin::default(), Box::new(never))).collect();
    let points: Vec<_> = tickets.into_iter().map(|ticket| ticket.wait().expect("declared").1.claimed()).collect();
    assert!(points.is_sorted(), "in the order of submission");
    let (sender, receiver) = std::sync::mpsc::channel();
    let ticket = engine.submit(transfer(), Begin::default(), Box::new(never));
    ticket.on_resolved(move |completed| sender.send(completed.is_ok()).expect("the test listens"));
    assert!(receiver.recv().expect("it calls back"));
    assert_eq!(get(&mut common::begin(&engine), t, 2).unwrap(), Some(21));
}

#[test]
fn an_invalid_footprint_is_the_callers_mistake() {
    let (engine, t) = with_registers(Options::default(), &[]);
    engine.drop_table("registers").unwrap();
    let transfer = Transfer { table: t, from: 1, to: 2, declares_to: true };
    let error = engine.call(transfer, Begin::default(), never).unwrap_err();
    assert_eq!(error.to_string(), "table number 0 does not exist");
    assert_eq!(engine.stats().open, 0);
    let _ = engine.begin(Begin::default()).expect("it works on");
}
