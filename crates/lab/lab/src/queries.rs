//! Queries of TPC-H by SQL: what a log of predicates costs each.
//!
//! Source: HyPer (SIGMOD '15), section 4.4. One session runs a query again and again, in turns in a transaction that may write, whose
//! reads are logged, and in a read-only one, whose reads are not. Nothing else differs: one database, one process, one plan. All
//! answers are compared.
//!
//! Nothing is recorded: the judges know no SQL.

use crate::driver::Extent;
use crate::engines::PredicateLogs;
use crate::machine::{self, OtherPrograms};
use env::time::{Duration, Instant};
use hdrhistogram::Histogram;
use hyper::{Hyper, Options};
use serde::{Deserialize, Serialize};
use sql::database::Database;
use sql::store::Engine;
use sql::{SqlError, database};
use std::sync::Arc;
use tpch::{Client, Data};

/// Its name in rows.
pub const NAME: &str = "tpch";

/// The parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Scale of the tables: 1 has six million items. At least 0.01: below, the rows' keys are not unique.
    pub scale: f64,
    /// Number of the query, from 1.
    pub query: u32,
}

/// Result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Nanoseconds of each logged transaction.
    pub logged_ns: Histogram<u64>,
    /// Time of all of them.
    pub elapsed: Duration,
    /// Time of as many that were not logged.
    pub unlogged: Duration,
    /// The logs.
    pub predicate_logs: PredicateLogs,
    /// Memory of the process at the end. Bytes.
    pub resident_bytes: Option<u64>,
    /// Processors that other programs used meanwhile.
    pub other_cores: Option<f64>,
}

/// A session, and the statements of a transaction that is logged and of one that is not.
struct Pair {
    client: Client,
    logged: String,
    unlogged: String,
    answer: Vec<String>,
}

/// Loads the tables into `hyper` and runs the query for as long as the extent says.
///
/// # Errors
/// Errors of the database; an answer that differs from the first; a query that has logged nothing.
pub fn run(options: Options, parameters: &Parameters, extent: Extent) -> Result<Outcome, String> {
    let engine = Arc::new(Hyper::new(options));
    let database = Database::open(Arc::new(Engine(Arc::clone(&engine))), database::Options::default()).map_err(said)?;
    let mut client = Client::new(&database).map_err(said)?;
    client.load(&Data::with_few_texts(parameters.scale)).map_err(said)?;
    let queries = tpch::queries(parameters.scale);
    let number = parameters.query as usize;
    let text = number.checked_sub(1).and_then(|at| queries.get(at)).ok_or("TPC-H has 22 queries, from 1")?;
    let in_block = |mode: &str| format!("BEGIN {mode}; {}; COMMIT", text.trim_end().trim_end_matches(';'));
    let answer = sorted(client.run(text).map_err(said)?);
    let mut pair = Pair { client, logged: in_block("READ WRITE"), unlogged: in_block("READ ONLY"), answer };
    let before = PredicateLogs::of(&engine);
    let mut outcome = pair.repeat(extent)?;
    outcome.predicate_logs = PredicateLogs::of(&engine).since(before);
    if outcome.predicate_logs.transactions == 0 {
        return Err(format!("query {number} has logged nothing in a transaction that may write"));
    }
    Ok(outcome)
}

/// Rows that are equal in what a query orders by come in any order.
fn sorted(mut answer: Vec<String>) -> Vec<String> {
    answer.sort_unstable();
    answer
}

fn said(error: SqlError) -> String {
    error.message().to_owned()
}

impl Pair {
    /// Runs both transactions in turns, each time another one first.
    fn repeat(&mut self, extent: Extent) -> Result<Outcome, String> {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let mut logged_ns = Histogram::new_with_bounds(1, HOUR_NS, 3).expect("valid bounds");
        let (mut elapsed, mut unlogged) = (Duration::ZERO, Duration::ZERO);
        let mut other_programs = OtherPrograms::observe();
        let (mut start, mut is_warm) = (Instant::now(), !matches!(extent, Extent::Time { .. }));
        let mut is_logged_first = true;
        loop {
            if let Extent::Time { warm_up, .. } = extent
                && !is_warm
                && start.elapsed() >= warm_up
            {
                logged_ns.reset();
                (start, is_warm, elapsed, unlogged) = (Instant::now(), true, Duration::ZERO, Duration::ZERO);
                other_programs = OtherPrograms::observe();
            }
            for is_logged in [is_logged_first, !is_logged_first] {
                let took = self.time(is_logged)?;
                if is_logged {
                    logged_ns.saturating_record(took.as_nanos() as u64);
                    elapsed += took;
                } else {
                    unlogged += took;
                }
            }
            is_logged_first = !is_logged_first;
            let is_over = match extent {
                Extent::Time { measured, .. } => is_warm && start.elapsed() >= measured,
                Extent::Transactions(count) | Extent::Operations(count) => logged_ns.len() >= count,
            };
            if is_over {
                break;
            }
        }
        let other_cores = other_programs.and_then(OtherPrograms::cores);
        let resident_bytes = machine::resident_bytes();
        let predicate_logs = PredicateLogs::default();
        Ok(Outcome { logged_ns, elapsed, unlogged, predicate_logs, resident_bytes, other_cores })
    }

    fn time(&mut self, is_logged: bool) -> Result<Duration, String> {
        let began = Instant::now();
        let answer = self.client.run(if is_logged { &self.logged } else { &self.unlogged }).map_err(said)?;
        let took = began.elapsed();
        if sorted(answer) == self.answer {
            Ok(took)
        } else {
            Err("two runs of a query have different answers".to_owned())
        }
    }
}
