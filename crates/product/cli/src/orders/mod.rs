//! `seriatim orders`: the embedded example job.
//!
//! Northwind's tables are loaded once. Threads place orders, each in one transaction: check the stock, take it, insert the
//! order and its details; where the stock is short the order is refused and somebody restocks. An auditor looks at all
//! tables in one read transaction, again and again, and checks what must be true ([`audit`]). Whatever was acknowledged is
//! also written down outside of the database ([`journal`]), so that a run after a kill can ask for every such order.

mod audit;
mod ids;
mod journal;
mod northwind;
mod place;
mod progress;
mod sample;

use crate::failure::{Failure, Outcome};
use crate::memory::Memory;
use crate::opening;
use crate::output::grouped;
use crate::signals::stop_on_signals;
use audit::Audit;
use clap::{Args, ValueEnum};
use env::{Randomness, thread::sleep};
use ids::{Ids, MAX_THREADS, run_of};
use journal::Journal;
use northwind::{Restock, Run, Source, Tables};
use place::{Catalogue, Refused, place, restock};
use progress::{Counters, Progress};
use seriatim::{Database, Date, Durability};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Where Northwind is looked for when nobody says.
const DEFAULT_CSV: &str = "../shared/data/northwind/csv";

/// Let threads place orders in Northwind's tables while an auditor checks them: the embedded example job.
///
/// The first run loads the tables. Every run, after a kill too, first looks for all orders that were ever acknowledged.
/// The last line is `audit ok: ...`, or `audit FAILED: ...` with exit code 1.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    seriatim orders --data ./data\n  \
    seriatim orders --data ./data --threads 4 --seconds 30\n  \
    seriatim orders --data ./data --orders 10000 --durability async\n  \
    seriatim orders --data ./data --orders 0        (only audit)")]
pub struct Orders {
    /// The database's directory; created where it is missing.
    #[arg(long, value_name = "DIR", default_value = "./data")]
    data: PathBuf,
    /// Northwind's tables as CSV files, for the first run. Without it: ../shared/data/northwind/csv where that is there,
    /// else a generated sample of the same shape.
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
    /// Threads that place orders.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS as i64))]
    threads: u16,
    /// How long orders are placed.
    #[arg(long, default_value_t = 10, conflicts_with = "orders")]
    seconds: u64,
    /// How many orders are placed, instead of how long.
    #[arg(long)]
    orders: Option<u32>,
    /// What an acknowledgement waits for.
    #[arg(long, value_enum, default_value_t = Promise::Fsync)]
    durability: Promise,
    #[command(flatten)]
    memory: Memory,
    /// Seconds between lines of progress where the output is no terminal.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    every: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Promise {
    /// It is on disk.
    Fsync,
    /// It is visible, and on disk within moments.
    Async,
    /// It is visible.
    None,
}

impl Promise {
    fn durability(self) -> Durability {
        match self {
            Promise::Fsync => Durability::Fsync,
            Promise::Async => Durability::Async,
            Promise::None => Durability::None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Promise::Fsync => "fsync",
            Promise::Async => "async",
            Promise::None => "none",
        }
    }
}

impl Orders {
    pub fn run(&self) -> Outcome {
        let stop = stop_on_signals()?;
        let shop = Shop::open(self, stop)?;
        let audit = shop.audit()?;
        shop.report_recovery(&audit)?;
        let mut progress = Progress::start();
        let outcome = shop.work(self, &mut progress);
        progress.finish();
        outcome?;
        let seconds = progress.elapsed();
        let audit = shop.audit()?;
        let missing = shop.missing(&journal::acknowledged(&self.data)?)?;
        if let Some(order) = missing.iter().find(|order| run_of(**order) == shop.run) {
            return failed(&[format!("order {order} was acknowledged in this run and is missing")]);
        }
        println!("{}", shop.summary(&audit, seconds));
        shop.db.close()?;
        Ok(())
    }
}

/// What is wrong with the files is found before a directory is made for them.
fn check_source(csv: Option<&Path>) -> Outcome {
    match csv {
        Some(csv) if !csv.is_dir() => {
            Err(Failure::Trouble(format!("--csv {}: there is no such directory", csv.display())))
        }
        _ => Ok(()),
    }
}

/// Says what the audit found, and ends with exit code 1.
fn failed<T>(violations: &[String]) -> Outcome<T> {
    for violation in violations.iter().skip(1).rev() {
        println!("  {violation}");
    }
    println!("audit FAILED: {}", violations.first().map_or("", String::as_str));
    Err(Failure::Finding)
}

/// The database and what threads share.
struct Shop {
    db: Database,
    tables: Tables,
    catalogue: Catalogue,
    data: PathBuf,
    run: i64,
    stop: Arc<AtomicBool>,
    /// Orders that may still be placed; counts down.
    budget: AtomicI64,
    counters: Counters,
}

impl Shop {
    fn open(options: &Orders, stop: Arc<AtomicBool>) -> Outcome<Shop> {
        check_source(options.csv.as_deref())?;
        let builder = options.memory.limit(Database::builder().durability(options.durability.durability()));
        let db = crate::look::open(builder, &options.data)?;
        opening::surprises(&db, &options.data).iter().for_each(|line| eprintln!("{line}"));
        let tables = Tables::open(&db)?;
        if db.read(|at| tables.runs.is_empty(at))? {
            let source = source(options.csv.as_deref());
            let rows = northwind::load(&db, &tables, &source)?;
            println!("loaded {} rows of Northwind's 8 tables from {source}", grouped(rows));
        }
        let catalogue = Catalogue::read(&db, &tables, today())?;
        if catalogue.is_empty() {
            return Err(Failure::trouble("nothing can be ordered: no customers, employees or products on sale"));
        }
        let run = begin_run(&db, &tables, options.durability)?;
        let budget = AtomicI64::new(options.orders.map_or(i64::MAX, i64::from));
        let data = options.data.clone();
        Ok(Shop { db, tables, catalogue, data, run, stop, budget, counters: Counters::default() })
    }

    /// One audit; a violation ends everything.
    fn audit(&self) -> Outcome<Audit> {
        let audit = self.db.read(|at| Audit::of(at, &self.tables))?;
        if audit.violations.is_empty() { Ok(audit) } else { failed(&audit.violations) }
    }

    /// Orders that the journals acknowledge and the database does not have.
    fn missing(&self, acknowledged: &[i64]) -> Outcome<Vec<i64>> {
        Ok(self.db.read(|at| {
            let mut missing = Vec::new();
            for &order in acknowledged {
                if !self.tables.placed.contains(at, order)? {
                    missing.push(order);
                }
            }
            Ok(missing)
        })?)
    }

    /// After an audit: every order that is there is whole. Are all there that were acknowledged?
    fn report_recovery(&self, audit: &Audit) -> Outcome {
        let acknowledged = journal::acknowledged(&self.data)?;
        let before = self.run - 1;
        if before == 0 && acknowledged.is_empty() {
            return Ok(());
        }
        let (lost, excused): (Vec<i64>, Vec<i64>) =
            self.missing(&acknowledged)?.into_iter().partition(|order| self.was_durable(run_of(*order)));
        if !lost.is_empty() {
            let lost: Vec<String> =
                lost.iter().map(|order| format!("order {order} was acknowledged and is missing")).collect();
            return failed(&lost);
        }
        let of_previous = |order: &&i64| run_of(**order) == before;
        let lost_of_previous = excused.iter().filter(of_previous).count() as u64;
        let acknowledged_of_previous = acknowledged.iter().filter(of_previous).count() as u64;
        let found = if lost_of_previous == 0 {
            "all found".to_owned()
        } else {
            format!("{} lost, which its durability allowed", grouped(lost_of_previous))
        };
        let there = audit.orders_of_run.get(&before).copied().unwrap_or(0);
        let unacknowledged = there - (acknowledged_of_previous - lost_of_previous);
        println!(
            "recovered: {} acknowledged orders of the previous run, {found}; {} orders unacknowledged but complete; none by \
             half ({} acknowledged in {before} runs)",
            grouped(acknowledged_of_previous),
            grouped(unacknowledged),
            grouped(acknowledged.len() as u64),
        );
        Ok(())
    }

    fn was_durable(&self, run: i64) -> bool {
        let record = self.db.read(|at| self.tables.runs.get(at, run));
        // A run that nobody knows promised what every run promises that says nothing.
        record.ok().flatten().is_none_or(|record| record.durability == Promise::Fsync.name())
    }

    /// Lets the threads and the auditor work until time or orders are up, somebody stops it, or something fails.
    fn work(&self, options: &Orders, progress: &mut Progress) -> Outcome {
        let deadline = options.orders.is_none().then(|| Instant::now() + Duration::from_secs(options.seconds));
        let every = Duration::try_from_secs_f64(options.every).map_err(Failure::trouble)?;
        std::thread::scope(|scope| {
            let clerks: Vec<_> =
                (0..usize::from(options.threads)).map(|thread| scope.spawn(move || self.clerk(thread))).collect();
            let auditor = scope.spawn(|| self.auditor());
            let mut next_line = Instant::now() + every;
            while !self.stop.load(Ordering::Relaxed) && !clerks.iter().all(|clerk| clerk.is_finished()) {
                let now = Instant::now();
                if deadline.is_some_and(|deadline| now >= deadline) {
                    break;
                }
                if now >= next_line {
                    progress.show(&self.counters, &self.db);
                    next_line = now + every;
                }
                sleep(Duration::from_millis(5));
            }
            self.stop.store(true, Ordering::Relaxed);
            let outcomes: Vec<Outcome> = clerks.into_iter().chain([auditor]).map(finished).collect();
            progress.show(&self.counters, &self.db);
            outcomes.into_iter().collect()
        })
    }

    /// Places orders.
    fn clerk(&self, thread: usize) -> Outcome {
        let outcome = self.place_orders(thread);
        if outcome.is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
        outcome
    }

    fn place_orders(&self, thread: usize) -> Outcome {
        let mut journal = Journal::open(&self.data, thread)?;
        let (mut orders, mut restocks) = (Ids::of(self.run, thread), Ids::of(self.run, thread));
        let mut randomness = Randomness::from_entropy();
        while !self.stop.load(Ordering::Relaxed) && self.budget.fetch_sub(1, Ordering::Relaxed) > 0 {
            let id = orders.draw();
            loop {
                let draft = self.catalogue.draft(id, &mut randomness);
                match self.db.try_run(|txn| place(txn, &self.tables, &draft)) {
                    Ok(()) => {
                        journal.acknowledge(id)?;
                        Counters::add(&self.counters.orders, 1);
                        Counters::add(&self.counters.units, draft.units().unsigned_abs());
                        break;
                    }
                    Err(Refused::Short(product_id)) => {
                        Counters::add(&self.counters.refused, 1);
                        let units = 100 + randomness.in_range(0..200) as i64;
                        let arrival = Restock { restock_id: restocks.draw(), product_id, units };
                        self.db.run(|txn| restock(txn, &self.tables, &arrival))?;
                        Counters::add(&self.counters.restocks, 1);
                    }
                    Err(Refused::Database(error)) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    /// Audits until everything stops.
    fn auditor(&self) -> Outcome {
        while !self.stop.load(Ordering::Relaxed) {
            let began = Instant::now();
            if let Err(failure) = self.audit() {
                self.stop.store(true, Ordering::Relaxed);
                return Err(failure);
            }
            Counters::add(&self.counters.audits, 1);
            // Half of the auditor's time is the others': on a small machine it would be a core of its own.
            let pause = began.elapsed().clamp(Duration::from_millis(10), Duration::from_secs(1));
            let until = Instant::now() + pause;
            while !self.stop.load(Ordering::Relaxed) && Instant::now() < until {
                sleep(Duration::from_millis(5));
            }
        }
        Ok(())
    }

    fn summary(&self, audit: &Audit, seconds: f64) -> String {
        let counters = &self.counters;
        let placed = Counters::get(&counters.orders);
        let retries: u64 = self.db.stats().retries.iter().map(|(_, count)| count).sum();
        format!(
            "audit ok: {} orders with {} details and {} units, {} restocked; this run: {} orders in {seconds:.1} s, {} \
             orders/s, {} retries, {} refused, {} audits",
            grouped(audit.orders),
            grouped(audit.details),
            grouped(audit.units),
            grouped(audit.restocked),
            grouped(placed),
            grouped((placed as f64 / seconds.max(1e-9)) as u64),
            grouped(retries),
            grouped(Counters::get(&counters.refused)),
            // The first and the last one too.
            grouped(Counters::get(&counters.audits) + 2),
        )
    }
}

/// A thread's outcome; its panic goes on here.
fn finished(thread: std::thread::ScopedJoinHandle<'_, Outcome>) -> Outcome {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn source(said: Option<&Path>) -> Source {
    match said {
        Some(path) => Source::Directory(path.to_owned()),
        None if Path::new(DEFAULT_CSV).is_dir() => Source::Directory(DEFAULT_CSV.into()),
        None => Source::Sample,
    }
}

/// Notes this start, durably, before any order has its number.
fn begin_run(db: &Database, tables: &Tables, promise: Promise) -> Outcome<i64> {
    let options = seriatim::TransactionOptions::new().durability(Durability::Fsync);
    let (run, _) = db.run_with(&options, |txn| {
        let run = tables.runs.last(txn)?.map_or(0, |last| last.run) + 1;
        tables.runs.insert(txn, &Run { run, durability: promise.name().into(), source: String::new() })?;
        Ok::<_, seriatim::Error>(run)
    })?;
    Ok(run)
}

fn today() -> Date {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Date { days: i32::try_from(since.as_secs() / 86_400).unwrap_or(0) }
}
