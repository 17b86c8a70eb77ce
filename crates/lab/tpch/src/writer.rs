//! Scans alone, and beside a client that updates single rows at a rate.

use crate::client::Client;
use crate::facts::{Facts, SUM, mixed};
use crate::spread::Spread;
use env::thread;
use env::time::{Duration, Instant};
use sql::SqlError;
use sql::database::Database;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

/// How to scan beside a writer.
#[derive(Clone, Copy, Debug)]
pub struct BesideWriter {
    /// Scans alone, and again as many beside the writer.
    pub scans: usize,
    /// Updates that are due in a second.
    pub updates_per_second: u64,
}

/// Scans alone and beside a writer.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// Times of the scans alone.
    pub alone: Spread,
    /// Times of the scans beside the writer.
    pub beside: Spread,
    /// Updates that were committed during the scans beside them.
    pub updates: u64,
    /// Time of these scans, with what is between them.
    pub elapsed: Duration,
    /// Aborts by `scan` or `update` and rule, of attempts that were repeated, too.
    pub aborts: BTreeMap<(&'static str, String), u64>,
}

/// What the writer has done, for those who check what they see.
#[derive(Debug, Default)]
struct Progress {
    begun: AtomicU64,
    committed: AtomicU64,
    is_over: AtomicBool,
}

/// Scans between two looks at the aborts, of which the database keeps the last thousand.
const BETWEEN_LOOKS: usize = 8;

/// How long a writer rests that is ahead.
const REST: Duration = Duration::from_micros(200);

impl Beside {
    /// Updates that were committed in a second.
    pub fn updates_per_second(&self) -> f64 {
        self.updates as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// How much longer the median scan takes beside the writer: 0.3 is 30 %.
    pub fn slowdown(&self) -> f64 {
        self.beside.median().as_secs_f64() / self.alone.median().as_secs_f64().max(1e-9) - 1.0
    }
}

/// Sums all facts by SQL, alone and then beside a writer: a session of this process that increments single rows, drawn at random, each in
/// a transaction of its own, by a prepared statement. No sum may lack an update that was committed before it began, or have one
/// that began after it.
///
/// # Errors
/// A statement fails, or a sum is wrong.
pub fn beside_a_writer(database: &Arc<Database>, facts: Facts, how: BesideWriter) -> Result<Beside, String> {
    let message = |error: SqlError| error.message().to_owned();
    let mut client = Client::new(database).map_err(message)?;
    let mut observer = Client::new(database).map_err(message)?;
    let (progress, first, mut seen) = (Progress::default(), facts.sum(), "-infinity".to_owned());
    let mut all = Beside::default();
    for _ in 0..how.scans {
        checked_scan(&mut client, &mut all.alone, first, &progress)?;
    }
    std::thread::scope(|scope| {
        let write = || write(database, facts, how.updates_per_second, &progress);
        let writer = thread::spawn_scoped(scope, "tpch-writer", write).map_err(|error| error.to_string())?;
        while progress.committed.load(SeqCst) == 0 && !writer.is_finished() {
            thread::yield_now();
        }
        let scanned = (|| {
            let (begun, before) = (Instant::now(), progress.committed.load(SeqCst));
            for scan in 1..=how.scans {
                checked_scan(&mut client, &mut all.beside, first, &progress)?;
                if scan % BETWEEN_LOOKS == 0 || scan == how.scans {
                    count_aborts(&mut observer, &mut seen, &mut all.aborts)?;
                }
            }
            (all.updates, all.elapsed) = (progress.committed.load(SeqCst) - before, begun.elapsed());
            Ok(())
        })();
        progress.is_over.store(true, SeqCst);
        let written = writer.join().map_err(|_| "the writer panicked".to_owned())?;
        scanned.and(written.map_err(message))
    })?;
    Ok(all)
}

fn checked_scan(client: &mut Client, times: &mut Spread, first: i64, progress: &Progress) -> Result<(), String> {
    let at_least = progress.committed.load(SeqCst);
    let rows = times.time(|| client.run(SUM)).map_err(|error| format!("{SUM}: {}", error.message()))?;
    let at_most = progress.begun.load(SeqCst);
    let sum = rows.first().and_then(|sum| sum.parse::<i64>().ok()).ok_or("a sum is no number")?;
    let updates = u64::try_from(sum - first).ok().filter(|updates| (at_least..=at_most).contains(updates));
    match updates {
        Some(_) => Ok(()),
        None => Err(format!("a sum has {} updates, and not {at_least} to {at_most}", sum - first)),
    }
}

fn write(database: &Arc<Database>, facts: Facts, per_second: u64, progress: &Progress) -> Result<(), SqlError> {
    let mut client = Client::new(database)?;
    client.prepare("increment", "UPDATE facts SET v = v + 1 WHERE id = $1")?;
    let (begun, mut done) = (Instant::now(), 0_u64);
    while !progress.is_over.load(SeqCst) {
        let due = (begun.elapsed().as_nanos() * u128::from(per_second) / 1_000_000_000) as u64;
        if done >= due {
            thread::stand_back(REST);
            continue;
        }
        done += 1;
        let id = mixed(done) % u64::from(facts.rows().max(1));
        progress.begun.fetch_add(1, SeqCst);
        match client.execute("increment", id as i32) {
            Ok(_) => {
                progress.committed.fetch_add(1, SeqCst);
            }
            // It is in the database's list of aborts.
            Err(error) if error.code() == sql::error::state::SERIALIZATION_FAILURE => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Adds the aborts since the last look, by rule.
fn count_aborts(
    observer: &mut Client,
    seen: &mut String,
    aborts: &mut BTreeMap<(&'static str, String), u64>,
) -> Result<(), String> {
    let look = format!("SELECT at, rule, query LIKE 'SELECT%' FROM seriatim_aborts WHERE at > '{seen}' ORDER BY at");
    for row in observer.run(&look).map_err(|error| error.message().to_owned())? {
        let mut values = row.split('|');
        let (at, rule, reads) = (values.next(), values.next().unwrap_or_default(), values.next() == Some("t"));
        at.unwrap_or_default().clone_into(seen);
        *aborts.entry((if reads { "scan" } else { "update" }, rule.to_owned())).or_default() += 1;
    }
    Ok(())
}
