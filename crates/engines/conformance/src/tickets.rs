//! `Declared`, many at once: procedures are submitted and awaited later, in the order of their caller, from any thread; they fail, draw
//! random numbers, and run again from a log.

use crate::fixture::{Knobs, Procedures, claim};
use crate::registers::{get, put, registers};
use crate::ways::ways;
use model::{
    AbortClass, Access, AnyProcedure, BatchEntry, Begin, Completed, Declared, Decoder, Draws, Error, Footprint,
    Invalid, Malformed, Procedure, Program, Registry, Result, Storage, TableId, Ticket, Touch, UnknownCall,
    encode_call,
};
use std::collections::BTreeSet;
use std::sync::{Arc, mpsc};
use std::thread;

/// Procedures that are handed in before the first of them is awaited.
const MANY: u64 = 300;

/// Reads a register, and writes to another one what tells in which order such steps were made.
#[derive(Clone, Debug)]
struct Step {
    table: TableId,
    from: u64,
    to: u64,
    by: u64,
    end: End,
}

/// How a step ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It wants to commit.
    Commit,
    /// Its own error, after it has written.
    Refuse,
    /// It writes what it has not declared.
    Stray,
}

/// An error of a procedure.
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

/// What a step has found and drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    before: Option<u64>,
    drawn: Option<u64>,
}

impl Step {
    /// A step on one register.
    fn on(table: TableId, key: u64, by: u64) -> Step {
        Step { table, from: key, to: key, by, end: End::Commit }
    }

    fn ending(self, end: End) -> Step {
        Step { end, ..self }
    }

    /// The value after this step.
    fn after(&self, before: Option<u64>, drawn: Option<u64>) -> u64 {
        before.unwrap_or_default().wrapping_mul(31).wrapping_add(self.by).wrapping_add(drawn.unwrap_or_default())
    }
}

impl Program for Step {
    type Output = Seen;
    type Error = Refused;

    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> std::result::Result<Seen, Refused> {
        let before = get(&mut access, self.table, self.from)?;
        let drawn = access.draws().map(drawn);
        put(&mut access, self.table, self.to, self.after(before, drawn))?;
        match self.end {
            End::Commit => Ok(Seen { before, drawn }),
            End::Refuse => Err(Refused::SoldOut),
            End::Stray => Ok(put(&mut access, self.table, self.to + 1, 0).map(|()| Seen { before, drawn })?),
        }
    }
}

/// Two numbers, so that an attempt which goes on where the one before has stopped differs.
fn drawn(draws: &mut Draws) -> u64 {
    draws.below(1_000) << 10 | draws.below(1_000)
}

impl Procedure for Step {
    const NAME: &'static str = "step";

    fn encode_arguments(&self, out: &mut Vec<u8>) {
        let end = [End::Commit, End::Refuse, End::Stray].iter().position(|end| *end == self.end);
        for argument in [self.table.0.into(), self.from, self.to, self.by, end.expect("one of them") as u64] {
            out.extend_from_slice(&u64::to_le_bytes(argument));
        }
    }

    fn decode_arguments(arguments: &[u8]) -> std::result::Result<Step, Malformed> {
        let mut next = Decoder::new(arguments);
        let table = TableId(u32::try_from(next.u64()?).map_err(|_| Malformed)?);
        let (from, to, by) = (next.u64()?, next.u64()?, next.u64()?);
        let end = *[End::Commit, End::Refuse, End::Stray].get(next.u64()? as usize).ok_or(Malformed)?;
        Ok(Step { table, from, to, by, end })
    }

    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        let footprint = Footprint::default().reads(self.table, self.from);
        Ok(footprint.touches(self.table, self.to, Touch::Overwrite))
    }
}

/// A procedure that was read from a log.
struct Replayed(Box<dyn AnyProcedure>);

impl Program for Replayed {
    type Output = ();
    type Error = Refused;

    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> std::result::Result<(), Refused> {
        if self.0.run(&mut access) { Ok(()) } else { Err(Refused::SoldOut) }
    }
}

impl Procedure for Replayed {
    const NAME: &'static str = "replayed";
    fn encode_arguments(&self, _: &mut Vec<u8>) {}
    fn decode_arguments(_: &[u8]) -> std::result::Result<Replayed, Malformed> {
        Err(Malformed)
    }
    fn footprint<A: Access + ?Sized>(&self, mut access: &mut A) -> Result<Footprint> {
        self.0.footprint(&mut access)
    }
}

/// An engine, its door and a table of registers.
struct Stage<F: Procedures> {
    _engine: Arc<F::Engine>,
    door: Arc<F::Door>,
    table: TableId,
}

impl<F: Procedures> Stage<F> {
    fn open() -> Stage<F> {
        let engine = F::open(&Knobs::patient());
        let table = F::create_table(&engine, registers("registers", Storage::Ordered)).expect("a new table");
        Stage { door: F::procedures(&engine), _engine: engine, table }
    }

    fn step(&self, key: u64, by: u64) -> Step {
        Step::on(self.table, key, by)
    }

    fn submit(&self, step: Step) -> Ticket<Step> {
        self.door.submit(step, Begin::default(), Box::new(keep_trying))
    }

    /// Hands a step in behind those before it. Waits for it where the engine does not keep the order of a caller.
    fn next(&self, step: Step) -> Ticket<Step> {
        let ticket = self.submit(step);
        if F::KEEPS_ORDER { ticket } else { Ticket::<Step>::ready(ticket.wait()) }
    }

    fn value(&self, key: u64) -> Option<u64> {
        let elsewhere = Step { to: u64::MAX, ..self.step(key, 0) };
        seen(self.next(elsewhere).wait()).before
    }
}

fn keep_trying(_: u32, _: &Error) -> bool {
    true
}

fn never(_: u32, error: &Error) -> bool {
    panic!("nothing to retry: {error}")
}

fn seen(completed: Completed<Step>) -> Seen {
    completed.expect("it is retried until it commits").0
}

/// Many procedures are handed in first; then other threads take the tickets, each in its own way.
pub fn other_threads_take_the_tickets<F: Procedures>() {
    let stage = Stage::<F>::open();
    let mut tickets: Vec<Vec<Ticket<Step>>> = Vec::from_iter((0..3).map(|_| Vec::new()));
    (0..MANY).for_each(|n| tickets[n as usize % 3].push(stage.submit(stage.step(n % 7, 1))));
    let points = thread::scope(|scope| {
        let taken = tickets.into_iter().zip(ways::<Completed<Step>>()).map(|(tickets, (way, take))| {
            let commit = move |ticket| take(ticket).unwrap_or_else(|error| panic!("{way}: {error:?}")).1;
            scope.spawn(move || tickets.into_iter().map(commit).collect::<Vec<_>>())
        });
        let threads: Vec<_> = taken.collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no thread panics")).collect::<Vec<_>>()
    });
    assert_eq!(points.len() as u64, MANY);
    let claimed: BTreeSet<_> = points.iter().filter_map(claim::<F>).collect();
    assert!(claimed.len() as u64 == MANY || !F::CLAIMS_SERIAL_POINTS, "each has a place of its own");
    for key in 0..7 {
        let steps = (0..MANY).filter(|n| n % 7 == key).count();
        let expected = (0..steps).fold(None, |before, _| Some(stage.step(key, 1).after(before, None)));
        assert_eq!(stage.value(key), expected, "register {key}");
    }
}

/// Procedures of one caller that touch the same register take effect in the order of submission.
pub fn the_order_of_a_caller_is_kept<F: Procedures>() {
    let stage = Stage::<F>::open();
    let tickets: Vec<_> = (0..MANY).map(|n| stage.next(stage.step(1, n))).collect();
    let mut expected = None;
    for (n, ticket) in (0..).zip(tickets) {
        assert_eq!(seen(ticket.wait()).before, expected, "step {n}");
        expected = Some(stage.step(1, n).after(expected, None));
    }
    assert_eq!(stage.value(1), expected);
}

/// Each procedure reads what the one before it writes, and none of them is awaited: whether that is there yet is the engine's
/// affair, and no ticket ends with [`Error::NotYet`].
pub fn a_chain_of_procedures_is_not_awaited<F: Procedures>() {
    let stage = Stage::<F>::open();
    let link = |n| Step { from: n, to: n + 1, ..stage.step(0, 1) };
    let tickets: Vec<_> = (0..MANY).map(|n| stage.next(link(n))).collect();
    let mut expected = None;
    // The last is taken first.
    let mut found: Vec<_> = tickets.into_iter().rev().map(|ticket| seen(ticket.wait()).before).collect();
    found.reverse();
    for (n, found) in (0..).zip(found) {
        assert_eq!(found, expected, "link {n}");
        expected = Some(link(n).after(expected, None));
    }
}

/// Every ticket calls back, with what waiting for it would give.
pub fn every_ticket_calls_back<F: Procedures>() {
    let stage = Stage::<F>::open();
    let (sender, receiver) = mpsc::channel();
    for n in 0..MANY {
        let sender = sender.clone();
        let end = if n % 3 == 0 { End::Refuse } else { End::Commit };
        let ticket = stage.submit(stage.step(n, 5).ending(end));
        ticket.on_resolved(move |completed| sender.send((n, completed.map(|done| done.0))).expect("the test listens"));
    }
    drop(sender);
    let mut called: Vec<u64> = Vec::new();
    for (n, completed) in receiver {
        match completed {
            Ok(seen) => assert!(n % 3 != 0 && seen == Seen { before: None, drawn: None }, "{n}: {seen:?}"),
            Err(refused) => assert!(n % 3 == 0 && matches!(refused, Refused::SoldOut), "{n}: {refused:?}"),
        }
        called.push(n);
    }
    called.sort_unstable();
    assert!(called.into_iter().eq(0..MANY), "each calls once");
}

/// A ticket that nobody keeps withdraws nothing.
pub fn a_dropped_ticket_withdraws_nothing<F: Procedures>() {
    let stage = Stage::<F>::open();
    (0..MANY).for_each(|n| drop(stage.submit(stage.step(n, 5))));
    for n in 0..MANY {
        while stage.value(n) != Some(5) {
            assert!(!F::KEEPS_ORDER, "step {n} comes before the read of its register");
            thread::yield_now();
        }
    }
}

/// A procedure's own error comes back in each way; it is not retried, and what it wrote is not there.
pub fn a_procedure_that_fails_has_no_effect<F: Procedures>() {
    let stage = Stage::<F>::open();
    for (way, take) in ways() {
        let step = stage.step(1, 5).ending(End::Refuse);
        let refused = take(stage.door.submit(step, Begin::default(), Box::new(never)));
        assert!(matches!(refused, Err(Refused::SoldOut)), "{way}: {refused:?}");
        assert_eq!(stage.value(1), None, "{way}");
    }
}

/// What a footprint does not declare is refused, and a retry that gives up is respected.
pub fn an_undeclared_write_is_refused<F: Procedures>() {
    let stage = Stage::<F>::open();
    let step = stage.step(1, 5).ending(End::Stray);
    let give_up = |failed: u32, _: &Error| failed < 3;
    let refused = stage.door.submit(step, Begin::default(), Box::new(give_up)).wait();
    let Err(Refused::Engine(error)) = refused else { panic!("an error of the engine, not {refused:?}") };
    let is_mistake = matches!(error, Error::Invalid(Invalid::Undeclared { .. }));
    let is_miss = error.abort().is_some_and(|abort| abort.class == AbortClass::Footprint);
    assert!(is_mistake || is_miss, "{error}");
    assert_eq!((stage.value(1), stage.value(2)), (None, None));
}

/// Procedures that are submitted together: each has its own result, its own error, its own draws, and its own place.
pub fn batches_are_procedures_one_by_one<F: Procedures>() {
    let stage = Stage::<F>::open();
    let end = |n: u64| match n % 10 {
        3 => End::Refuse,
        6 => End::Stray,
        _ => End::Commit,
    };
    let draws = |n: u64| n.is_multiple_of(2).then(|| Draws::new(n, 7));
    let mut claimed = BTreeSet::new();
    for batch in 0..4 {
        let entry = |n: u64| BatchEntry {
            procedure: Step { from: n, ..stage.step(100 * batch + n, n + 1) }.ending(end(n)),
            how: Begin { draws: draws(n), ..Begin::default() },
            retry: Box::new(|failed: u32, _: &Error| failed < 50),
        };
        let tickets = stage.door.submit_batch((0..IN_A_BATCH).map(entry).collect());
        assert_eq!(tickets.len() as u64, IN_A_BATCH);
        for (n, ticket) in (0..).zip(tickets) {
            match (end(n), ticket.wait()) {
                (End::Commit, Ok((seen, committed))) => {
                    assert_eq!(seen.drawn, draws(n).as_mut().map(drawn), "procedure {n}");
                    let place = claim::<F>(&committed);
                    assert!(place.is_none_or(|place| claimed.insert(place)), "{n} has the place of another one");
                }
                (End::Refuse, Err(Refused::SoldOut)) | (End::Stray, Err(Refused::Engine(_))) => {}
                (end, completed) => panic!("procedure {n}, {end:?}: {completed:?}"),
            }
        }
    }
    for batch in 1..4 {
        let written = |n| stage.value(100 * batch + n).is_some();
        assert!((0..IN_A_BATCH).all(|n| written(n) == (end(n) == End::Commit)), "batch {batch}");
    }
}

/// Procedures of a batch.
const IN_A_BATCH: u64 = 20;

/// Takes one from a register, if it can, and gives it to another one.
#[derive(Clone, Debug)]
struct Give(TableId, u64, u64);

impl Program for Give {
    type Output = ();
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> Result<()> {
        let Give(table, from, to) = *self;
        let (left, there) = (get(&mut access, table, from)?, get(&mut access, table, to)?);
        if let (Some(left @ 1..), Some(there)) = (left, there) {
            put(&mut access, table, from, left - 1)?;
            put(&mut access, table, to, there + 1)?;
        }
        Ok(())
    }
}

impl Procedure for Give {
    const NAME: &'static str = "give";
    fn encode_arguments(&self, _: &mut Vec<u8>) {}
    fn decode_arguments(_: &[u8]) -> std::result::Result<Give, Malformed> {
        Err(Malformed)
    }
    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        let Give(table, from, to) = *self;
        Ok(Footprint::default().touches(table, from, Touch::Update).touches(table, to, Touch::Update))
    }
}

/// Threads submit batches of transfers between a few accounts, which meet within a batch as well as across. Nothing is lost.
pub fn batches_pass_money_on<F: Procedures>() {
    let stage = Stage::<F>::open();
    (0..ACCOUNTS).for_each(|n| _ = seen(stage.next(stage.step(n, 100)).wait()));
    let sum = || (0..ACCOUNTS).map(|n| stage.value(n).expect("an account")).sum::<u64>();
    let before = sum();
    thread::scope(|scope| {
        for thread in 0..3_u64 {
            let (table, door) = (stage.table, stage.door.clone());
            scope.spawn(move || {
                for round in 0..40 {
                    let entry = |n: u64| {
                        let (from, to) = ((thread + n) % ACCOUNTS, (round + 2 * n + 1) % ACCOUNTS);
                        let to = if to == from { (to + 1) % ACCOUNTS } else { to };
                        let procedure = Give(table, from, to);
                        BatchEntry { procedure, how: Begin::default(), retry: Box::new(keep_trying) }
                    };
                    let tickets = door.submit_batch((0..IN_A_BATCH).map(entry).collect());
                    tickets.into_iter().for_each(|ticket| _ = ticket.wait().expect("it is retried"));
                }
            });
        }
    });
    assert_eq!(sum(), before);
}

/// Accounts that batches of transfers meet at.
const ACCOUNTS: u64 = 5;

/// Draws follow from the seed of the procedure, however often it runs; one that is begun without has none.
pub fn draws_are_the_same_in_every_attempt<F: Procedures>() {
    let stage = Stage::<F>::open();
    let one = |seed: u64| {
        let how = Begin { draws: Some(Draws::new(seed, 7)), ..Begin::default() };
        let ticket = stage.door.submit(stage.step(seed % 2, seed), how, Box::new(keep_trying));
        assert_eq!(seen(ticket.wait()).drawn, Some(drawn(&mut Draws::new(seed, 7))), "seed {seed}");
    };
    thread::scope(|scope| {
        let one = &one;
        (0..4).for_each(|thread| drop(scope.spawn(move || (0..100).for_each(|n| one(4 * n + thread)))));
    });
    assert_eq!(seen(stage.submit(stage.step(1, 1)).wait()).drawn, None);
}

/// The calls of a log, found by their names, bring an empty engine to the same state. A name that is not registered stops it.
pub fn a_log_of_calls_runs_again<F: Procedures>() {
    let stage = Stage::<F>::open();
    let mut log = Vec::new();
    for n in 0..MANY {
        let end = if n % 5 == 0 { End::Refuse } else { End::Commit };
        let step = Step { from: n % 3, to: (n + 1) % 3, ..stage.step(0, n) }.ending(end);
        let draws = (n % 2 == 0).then(|| Draws::new(n, 7));
        let mut call = Vec::new();
        encode_call(&step, draws, &mut call);
        log.push(call);
        let how = Begin { draws, ..Begin::default() };
        // Refusals stand in the log too.
        drop(stage.door.submit(step, how, Box::new(keep_trying)).wait());
    }
    let mut registry = Registry::new();
    let unknown = registry.decode(&log[0]).map(drop).unwrap_err();
    assert_eq!(unknown, UnknownCall::Name { name: "step".into(), version: 1 });
    registry.register::<Step>().expect("a new name");
    let again = Stage::<F>::open();
    for call in &log {
        let call = registry.decode(call).expect("a call");
        let how = Begin { draws: call.draws, ..Begin::default() };
        let completed = again.door.submit(Replayed(call.procedure), how, Box::new(keep_trying)).wait();
        assert!(matches!(completed, Ok(_) | Err(Refused::SoldOut)), "{completed:?}");
    }
    for key in 0..3 {
        let (first, second) = (stage.value(key), again.value(key));
        assert!(first.is_some() && first == second, "register {key}: {first:?}, then {second:?}");
    }
}
