//! Door 3: procedures lock what they declare, in order; what they did not declare ends them.

mod common;

use common::{get, put, range, with_registers};
use model::{
    Access, Begin, Declared, Decoder, Delta, Error, Finish, Footprint, Interactive, Key, Malformed, Procedure, Program,
    Result, RowBuf, Scan, TableId,
};
use seriatim_twopl::{Options, Reason};
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

/// Moves one from one register to another. Declares both, or only what is told.
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

/// A wait that nobody ends is a failure in the end, and not a test that hangs.
fn patient() -> Options {
    Options { wait_limit: Duration::from_secs(5), ..Options::default() }
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
                    let mut transfer = Transfer { table: t, from, to, declares_to: true };
                    engine.call(&mut transfer, Begin::default(), &mut never).expect("no procedure aborts another");
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
                    let mut transfer = Transfer { table: t, from, to, declares_to: true };
                    engine.call(&mut transfer, Begin::default(), &mut never).expect("procedures go first");
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
    let mut transfer = Transfer { table: t, from: 1, to: 2, declares_to: false };
    let mut attempts = 0;
    let error = engine
        .call(&mut transfer, Begin::default(), &mut |_, _: &_| {
            attempts += 1;
            attempts < 3
        })
        .unwrap_err();
    let abort = error.abort().expect("an abort");
    assert_eq!((abort.rule, attempts, error.is_retryable()), ("footprint-miss", 3, true));
    assert!(error.to_string().contains("table registers, key 2"), "{error}");
    assert_eq!(engine.stats().aborted[Reason::FootprintMiss as usize], 3);
    assert_eq!(range(&mut common::begin(&engine), t, 0, 9).unwrap(), [(1, 5), (2, 5)]);
}

/// What a procedure declares to read it may not write.
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
        |access, t| access.read_for_update(t, &Key::from_u64(1), &mut RowBuf::new()).map(drop),
        |access, t| access.delete(t, &Key::from_u64(1)).map(drop),
        |access, t| access.insert(t, &Key::from_u64(2), RowBuf::new().row()),
        |access, t| access.update(t, &Key::from_u64(3), &Delta::new()).map(drop),
    ];
    for way in ways {
        let error = engine.call(&mut Overreach(t, way), Begin::default(), &mut never).unwrap_err();
        assert_eq!(common::rule(Err::<(), _>(error)), "footprint-miss");
    }
    let reads = |mut access: &mut dyn Access, t| get(&mut access, t, 1).map(drop);
    engine.call(&mut Overreach(t, reads), Begin::default(), &mut never).expect("that was declared");
    let scans = |access: &mut dyn Access, t| access.scan(&Scan::table(t), &mut |_| ControlFlow::Continue(())).map(drop);
    let error = engine.call(&mut Overreach(t, scans), Begin::default(), &mut never).unwrap_err();
    assert_eq!(error.to_string(), "access to table registers outside the declared footprint of the procedure");
    assert!(!error.is_retryable());
    assert_eq!(engine.stats().open, 0);
}

/// Adds to the register that another one points at: what it writes is found by reconnaissance.
struct Follow<'h> {
    table: TableId,
    /// Called by the trial read, after it has looked.
    between: &'h dyn Fn(),
}

impl Program for Follow<'_> {
    type Output = u64;
    type Error = Error;
    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> Result<u64> {
        let at = get(&mut access, self.table, 1)?.unwrap_or_default();
        let value = get(&mut access, self.table, at)?.unwrap_or_default();
        put(&mut access, self.table, at, value + 1)?;
        Ok(at)
    }
}

impl Procedure for Follow<'_> {
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
    let moved = std::cell::Cell::new(false);
    let move_once = || {
        if !moved.replace(true) {
            let mut mover = common::begin(&engine);
            put(&mut mover, t, 1, 20).expect("the trial read holds no lock");
            put(&mut mover, t, 15, 0).expect("nor a range");
            mover.commit().unwrap();
        }
    };
    let mut retries = 0;
    let (at, _) = engine
        .call(&mut Follow { table: t, between: &move_once }, Begin::default(), &mut |_, error: &Error| {
            retries += 1;
            assert_eq!(error.abort().expect("an abort").rule, "footprint-miss");
            true
        })
        .unwrap();
    assert_eq!((at, retries), (20, 1));
    assert_eq!(get(&mut common::begin(&engine), t, 20).unwrap(), Some(1));
}

#[test]
fn a_footprint_that_makes_no_sense_is_the_callers_mistake() {
    let (engine, t) = with_registers(Options::default(), &[]);
    engine.drop_table("registers").unwrap();
    let mut transfer = Transfer { table: t, from: 1, to: 2, declares_to: true };
    let error = engine.call(&mut transfer, Begin::default(), &mut never).unwrap_err();
    assert_eq!(error.to_string(), "table number 0 does not exist");
    assert_eq!(engine.stats().open, 0);
    let _ = engine.begin(Begin::default()).expect("it works on");
}
