//! The shop: database, tables, and shared state of the threads.

use crate::audit::Audit;
use crate::failure::{Failure, Outcome};
use crate::ids::run_of;
use crate::load::load;
use crate::options::{Options, Promise};
use crate::place::Catalogue;
use crate::progress::Counters;
use crate::tables::{Run, Tables};
use crate::{grouped, journal};
use seriatim::{Database, Date, Durability};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64};
use std::time::SystemTime;

/// The database and what threads share.
pub struct Shop {
    pub(crate) db: Database,
    pub(crate) tables: Tables,
    pub(crate) catalogue: Catalogue,
    pub(crate) data: PathBuf,
    pub(crate) run: i64,
    pub(crate) stop: Arc<AtomicBool>,
    /// Orders that may still be placed; counts down.
    pub(crate) budget: AtomicI64,
    pub(crate) counters: Counters,
}

impl Shop {
    /// Opens the database; loads the tables in the first run.
    pub fn open(options: &Options, stop: Arc<AtomicBool>) -> Outcome<Shop> {
        let source = options.source()?;
        let db = options.builder().open(&options.data)?;
        let tables = Tables::open(&db)?;
        if db.read(|at| tables.runs.is_empty(at))? {
            let rows = load(&db, &tables, &source)?;
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

    /// Audits once; a violation ends everything.
    pub fn audit(&self) -> Outcome<Audit> {
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
    pub fn report_recovery(&self, audit: &Audit) -> Outcome {
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

    /// Checks after the work that every order acknowledged in this run is there.
    pub fn check_this_run(&self) -> Outcome {
        let missing = self.missing(&journal::acknowledged(&self.data)?)?;
        match missing.iter().find(|order| run_of(**order) == self.run) {
            Some(order) => failed(&[format!("order {order} was acknowledged in this run and is missing")]),
            None => Ok(()),
        }
    }

    /// Returns the last line of output.
    pub fn summary(&self, audit: &Audit, seconds: f64) -> String {
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

    /// Closes the database.
    pub fn close(self) -> Outcome {
        Ok(self.db.close()?)
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
