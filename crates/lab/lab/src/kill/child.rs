//! The process that is killed: threads submit calls in batches, and say of each answer what it was.

use super::calls::{COUNTERS, Tick, number, registry, schemas};
use ::bohm::{Bohm, Options, Pace};
use env::{Randomness, RealDisk};
use model::{
    Access, BatchEntry, Begin, Declared, Error, Fault, Footprint, Malformed, Mode, Procedure, Program, Result,
};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

const THREADS: u64 = 3;
const TOGETHER: u64 = 8;
/// Batches of a thread between two checkpoints of the first one.
const CHECKPOINT_EVERY: u64 = 12;

/// The call of a line, if it committed.
///
/// # Errors
/// The line is none of the child's.
pub fn acknowledgement(line: &str) -> std::result::Result<Option<(u64, u64)>, String> {
    let mut words = line.split(' ');
    let (kind, mut next) = (words.next(), || words.next().and_then(|word| word.parse::<u64>().ok()));
    match (kind, next(), next()) {
        (Some("ok"), Some(thread), Some(number)) => Ok(Some((thread, number))),
        (Some("failed"), Some(_), Some(_)) => Ok(None),
        _ => Err(format!("the child says {line:?}")),
    }
}

/// Executes calls until it is killed, or nobody listens any more.
///
/// # Errors
/// The database fails.
pub fn run(directory: &Path, seed: u64, out: &mut dyn Write) -> std::result::Result<(), String> {
    let engine = open(directory).map_err(|error| error.to_string())?;
    let (says, answers) = channel();
    thread::scope(|scope| {
        let run = |thread: u64| {
            let (engine, says) = (&engine, says.clone());
            move || submit(engine, thread, Randomness::from_seed(seed ^ thread), &says)
        };
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(run(thread))).collect();
        drop(says);
        for line in &answers {
            if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
                break;
            }
        }
        drop(answers);
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?)
    })
}

fn open(directory: &Path) -> Result<Bohm> {
    let options = Options { planners: 2, executors: 2, ..Options::default() };
    let engine = Bohm::open(Arc::new(RealDisk::new(directory)), registry(), options)?;
    let known = engine.tables().len();
    schemas().into_iter().skip(known).try_for_each(|schema| engine.create_table(schema).map(drop))?;
    Ok(engine)
}

fn submit(
    engine: &Bohm,
    thread: u64,
    mut random: Randomness,
    says: &Sender<String>,
) -> std::result::Result<(), String> {
    let failed = |error: Error| error.to_string();
    let how = Begin { mode: Mode::Snapshot, ..Begin::default() };
    let (mut number, _) = engine.call(NextNumber(thread), how, |_: u32, _: &Error| false).map_err(failed)?;
    for round in 1.. {
        let ticks: Vec<Tick> =
            (0..TOGETHER).map(|n| Tick { thread, number: number + n, by: random.in_range(0..1 << 20) }).collect();
        number += TOGETHER;
        let entry = |&procedure: &Tick| BatchEntry {
            procedure,
            how: Begin::default(),
            retry: Box::new(|_: u32, _: &Error| true),
        };
        let tickets = engine.submit_batch(ticks.iter().map(entry).collect());
        for (tick, ticket) in ticks.into_iter().zip(tickets) {
            let word = match ticket.wait() {
                Ok(_) => "ok",
                Err(Error::Invalid(_)) if tick.fails() => "failed",
                Err(error) => return Err(failed(error)),
            };
            if says.send(format!("{word} {} {}", tick.thread, tick.number)).is_err() {
                return Ok(());
            }
        }
        if thread == 0 && round % CHECKPOINT_EVERY == 0 {
            match engine.write_checkpoint(Pace::Full) {
                Ok(_) | Err(Error::Fault(Fault::CheckpointRunning)) => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }
    Ok(())
}

/// The first number that a thread has not used: numbers of calls that failed are used too, and count nothing.
struct NextNumber(u64);

impl Program for NextNumber {
    type Output = u64;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<u64> {
        // A call that fails leaves no count: so many numbers were passed over, at most.
        Ok(number(access, COUNTERS, self.0)? * 2)
    }
}

impl Procedure for NextNumber {
    const NAME: &'static str = "next number";

    fn encode_arguments(&self, _: &mut Vec<u8>) {}

    fn decode_arguments(_: &[u8]) -> std::result::Result<NextNumber, Malformed> {
        Err(Malformed)
    }

    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        Ok(Footprint::default().reads(COUNTERS, model::Key::from_u64(self.0)))
    }
}
