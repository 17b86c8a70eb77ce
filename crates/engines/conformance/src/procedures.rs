//! `Declared`: procedures whose footprint is known before they run.

use crate::fixture::{Knobs, Procedures, claim};
use crate::judges::{assert_serial, records};
use crate::registers::{delete, get, put, registers};
use crate::seeds;
use check::KeyForm;
use env::{Clock, MonotonicClock, Randomness};
use model::history::{Operation, Outcome, Recorder, Transaction};
use model::{
    Access, BatchEntry, Begin, Declared, Decoder, Error, Footprint, Malformed, Procedure, Program, Result, Storage,
    TableId,
};
use std::sync::Arc;
use std::thread;

fn keep_trying(_: u32, _: &Error) -> bool {
    true
}

/// Reads some registers and writes others; returns what it read and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Touch {
    table: TableId,
    reads: Vec<u64>,
    /// Registers that it declares to write, and only reads.
    spares: Vec<u64>,
    /// Registers and their new values; [`NONE`] deletes.
    writes: Vec<(u64, u64)>,
}

/// The value of no register.
const NONE: u64 = u64::MAX;

impl Program for Touch {
    type Output = (Vec<Option<u64>>, Vec<Operation>);
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<Self::Output> {
        let mut recorder = Recorder::new(access);
        let mut read = Vec::new();
        for &key in self.reads.iter().chain(&self.spares) {
            read.push(get(&mut recorder, self.table, key)?);
        }
        for &(key, value) in &self.writes {
            match value {
                NONE => _ = delete(&mut recorder, self.table, key)?,
                value => put(&mut recorder, self.table, key, value)?,
            }
        }
        Ok((read, recorder.into_parts().1))
    }
}

impl Procedure for Touch {
    const NAME: &'static str = "touch";

    fn encode_arguments(&self, out: &mut Vec<u8>) {
        let counts = [self.table.0.into(), self.reads.len() as u64, self.spares.len() as u64];
        let reads = self.reads.iter().chain(&self.spares).copied();
        let writes = self.writes.iter().flat_map(|&(key, value)| [key, value]);
        for argument in counts.into_iter().chain(reads).chain(writes) {
            out.extend_from_slice(&u64::to_le_bytes(argument));
        }
    }

    fn decode_arguments(arguments: &[u8]) -> std::result::Result<Touch, Malformed> {
        let mut from = Decoder::new(arguments);
        let table = TableId(u32::try_from(from.u64()?).map_err(|_| Malformed)?);
        let (reads, spares) = (from.u64()?, from.u64()?);
        let mut keys = |count| (0..count).map(|_| from.u64()).collect::<std::result::Result<Vec<_>, _>>();
        let (reads, spares) = (keys(reads)?, keys(spares)?);
        let left = arguments.len() / 8 - 3 - reads.len() - spares.len();
        let pair = |_| -> std::result::Result<(u64, u64), Malformed> { Ok((from.u64()?, from.u64()?)) };
        let writes = (0..left / 2).map(pair).collect::<std::result::Result<_, _>>()?;
        Ok(Touch { table, reads, spares, writes })
    }

    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        let footprint = self.reads.iter().fold(Footprint::default(), |it, &key| it.reads(self.table, key));
        let written = self.writes.iter().map(|(key, _)| key).chain(&self.spares);
        Ok(written.fold(footprint, |it, &key| it.writes(self.table, key)))
    }
}

/// Adds one to the first register and takes one from the second.
struct Transfer(TableId, u64, u64);

impl Program for Transfer {
    type Output = ();
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> Result<()> {
        let Transfer(table, to, from) = *self;
        let (given, taken) = (get(&mut access, table, to)?, get(&mut access, table, from)?);
        put(&mut access, table, to, given.unwrap_or_default().wrapping_add(1))?;
        put(&mut access, table, from, taken.unwrap_or_default().wrapping_sub(1))
    }
}

impl Procedure for Transfer {
    const NAME: &'static str = "transfer";
    fn encode_arguments(&self, _: &mut Vec<u8>) {}
    fn decode_arguments(_: &[u8]) -> std::result::Result<Transfer, Malformed> {
        Err(Malformed)
    }
    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        let Transfer(table, to, from) = *self;
        Ok(Footprint::default().writes(table, to).writes(table, from))
    }
}

/// Adds one to the register at which register 0 points: what it writes is found by a trial read.
struct Follow(TableId);

impl Program for Follow {
    type Output = u64;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, mut access: &mut A) -> Result<u64> {
        let at = get(&mut access, self.0, 0)?.unwrap_or_default();
        let value = get(&mut access, self.0, at)?.unwrap_or_default();
        put(&mut access, self.0, at, value + 1)?;
        Ok(at)
    }
}

impl Procedure for Follow {
    const NAME: &'static str = "follow";
    fn encode_arguments(&self, _: &mut Vec<u8>) {}
    fn decode_arguments(_: &[u8]) -> std::result::Result<Follow, Malformed> {
        Err(Malformed)
    }
    fn footprint<A: Access + ?Sized>(&self, mut access: &mut A) -> Result<Footprint> {
        let at = get(&mut access, self.0, 0)?.unwrap_or_default();
        Ok(Footprint::default().reads(self.0, 0u64).writes(self.0, at))
    }
}

fn open<F: Procedures>() -> (Arc<F::Engine>, Arc<F::Door>, TableId) {
    let engine = F::open(&Knobs::patient());
    let table = F::create_table(&engine, registers("registers", Storage::Ordered)).expect("a new table");
    let door = F::procedures(&engine);
    (engine, door, table)
}

fn call<F: Procedures, P: Procedure<Error = Error>>(door: &F::Door, procedure: P) -> P::Output {
    door.call(procedure, Begin::default(), keep_trying).expect("it is retried").0
}

fn read<F: Procedures>(door: &F::Door, table: TableId, reads: &[u64]) -> Vec<Option<u64>> {
    call::<F, _>(door, Touch { table, reads: reads.to_vec(), ..Touch::default() }).0
}

fn write<F: Procedures>(door: &F::Door, table: TableId, writes: &[(u64, u64)]) {
    call::<F, _>(door, Touch { table, writes: writes.to_vec(), ..Touch::default() });
}

/// A procedure's writes are visible and its output is returned. Arguments survive encoding.
pub fn a_procedure_commits_what_it_wrote<F: Procedures>() {
    let (_engine, door, table) = open::<F>();
    write::<F>(&door, table, &[(1, 10), (2, 20)]);
    let touch = Touch { table, reads: vec![1, 2], spares: vec![3, 1], writes: vec![(3, 30)] };
    let mut arguments = Vec::new();
    touch.encode_arguments(&mut arguments);
    assert_eq!(Touch::decode_arguments(&arguments).as_ref(), Ok(&touch));
    assert_eq!(call::<F, _>(&door, touch).0, [Some(10), Some(20), None, Some(10)]);
    assert_eq!(read::<F>(&door, table, &[1, 2, 3]), [Some(10), Some(20), Some(30)]);
}

/// Transfers in opposite directions all commit, and nothing comes or goes.
pub fn opposite_transfers_conserve_the_sum<F: Procedures>() {
    let (_engine, door, table) = open::<F>();
    write::<F>(&door, table, &[(1, 500), (2, 500), (3, 500)]);
    thread::scope(|scope| {
        for (to, from) in [(1, 2), (2, 3), (3, 1), (1, 2)] {
            let door = &door;
            scope.spawn(move || (0..200).for_each(|_| call::<F, _>(door, Transfer(table, to, from))));
        }
    });
    assert_eq!(read::<F>(&door, table, &[1, 2, 3]), [Some(700), Some(300), Some(500)]);
}

/// A footprint found by a trial read is right when the procedure runs, or it is found again: each call adds once.
pub fn reconnaissance_is_verified<F: Procedures>() {
    let (_engine, door, table) = open::<F>();
    write::<F>(&door, table, &[(0, 1)]);
    let followed = thread::scope(|scope| {
        let (mover, follower) = (&door, &door);
        scope.spawn(move || (0..100).for_each(|turn| write::<F>(mover, table, &[(0, 1 + turn % 3)])));
        let follower = scope.spawn(move || (0..200).map(|_| call::<F, _>(follower, Follow(table))).collect::<Vec<_>>());
        follower.join().expect("no panic")
    });
    let count = |at: u64| Some(followed.iter().filter(|&&it| it == at).count() as u64).filter(|&count| count > 0);
    assert_eq!(read::<F>(&door, table, &[1, 2, 3]), [count(1), count(2), count(3)]);
}

/// The history of concurrent procedures is strictly serializable.
pub fn concurrent_procedures_are_serializable<F: Procedures>() {
    let (_engine, door, table) = open::<F>();
    let (clock, seed) = (MonotonicClock::new(), seeds::fixed());
    let client = |number: u32| {
        let mut random = Randomness::from_seed(seed ^ u64::from(number) << 32);
        let (mut history, mut batch) = (Vec::new(), Vec::new());
        for turn in 0..1_000u64 {
            let mut keys =
                |most: u64| -> Vec<u64> { (0..random.in_range(0..most)).map(|_| random.in_range(0..8)).collect() };
            let (reads, spares, written) = (keys(3), keys(3), keys(3));
            let value = |(at, key): (usize, u64)| match turn % 4 {
                0 => (key, NONE),
                _ => (key, turn << 16 | (at as u64) << 8 | u64::from(number)),
            };
            let writes = written.into_iter().enumerate().map(value).collect();
            let touch = Touch { table, reads, spares, writes };
            batch.push(BatchEntry { procedure: touch, how: Begin::default(), retry: Box::new(keep_trying) });
            // Most come alone.
            let size = if turn % 40 < 30 { 1 } else { 10 };
            if batch.len() < size {
                continue;
            }
            let start_ns = clock.now();
            let done: Vec<_> =
                door.submit_batch(std::mem::take(&mut batch)).into_iter().map(|ticket| ticket.wait()).collect();
            let end_ns = clock.now();
            history.extend(done.into_iter().map(|done| {
                let ((_, operations), committed) = done.expect("it is retried");
                let outcome = Outcome::Committed(claim::<F>(&committed));
                Transaction { client: number, start_ns, end_ns, outcome, operations }
            }));
        }
        assert!(batch.is_empty(), "the last batch is full");
        history
    };
    let history: Vec<Transaction> = thread::scope(|scope| {
        let client = &client;
        let clients: Vec<_> = (0..4).map(|number| scope.spawn(move || client(number))).collect();
        clients.into_iter().flat_map(|client| client.join().expect("no client panics")).collect()
    });
    let report = assert_serial(records(history, |_| KeyForm::Integers), &seeds::replay(seed));
    assert_eq!(report.counts.committed, 4_000);
}
