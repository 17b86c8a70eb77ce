//! The bare loop: the clients of a run without a database. It shows how much of a transaction's time is the lab's own.
//!
//! A client draws its transactions, and runs their bodies on an [`Access`] that does nothing: each read copies one loaded row of
//! its table, a scan shows that row once, writes are dropped. So random choices, keys, rows and books are made as in the run;
//! what scans make of further rows is not.

use super::{Extent, RunError, Stage};
use crate::engines::Engine;
use crate::workloads::{Client, Record, Workload};
use env::time::{Duration, Instant};
use model::{Access, Columns, Delta, Item, Key, Program, Result, RowBuf, RowRef, Scan, ScanEnd, TableId};
use std::hint::black_box;
use std::ops::ControlFlow;

/// One loaded record of each table that has any, by the table's number.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples(Vec<Option<(Key, RowBuf)>>);

impl Samples {
    /// Takes the first record of each table that has none yet.
    pub fn take_from(&mut self, tables: &[TableId], records: &[Record]) {
        for record in records {
            let table = tables[record.table].0 as usize;
            if self.0.len() <= table {
                self.0.resize(table + 1, None);
            }
            self.0[table].get_or_insert_with(|| (record.key.clone(), record.row.clone()));
        }
    }
}

/// Time of a thread's loop, of a run that is long enough: a million of the shortest transactions.
const LONGEST: Duration = Duration::from_millis(60);
/// Of any other: some thousands.
const SHORTEST: Duration = Duration::from_millis(2);
/// Transactions between two looks at the clock.
const BATCH: u64 = 64;

/// Nanoseconds that a client of the run takes for a transaction that no engine runs, all clients running at once.
pub(super) fn ns_per_transaction<E: Engine, W: Workload>(
    stage: &Stage<'_, E, W>,
    samples: &Samples,
) -> std::result::Result<f64, RunError> {
    let duration = match stage.run.extent {
        Extent::Time { measured, .. } => (measured / 20).clamp(SHORTEST, LONGEST),
        Extent::Transactions(_) | Extent::Operations(_) => SHORTEST,
    };
    let refused = |error: std::io::Error| RunError::Thread(error.to_string());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=stage.run.clients)
            .map(|number| {
                let client = stage.run.workload.client(stage.seat(number));
                std::thread::Builder::new()
                    .name("bare".to_owned())
                    .spawn_scoped(scope, move || run(client, samples, duration))
            })
            .collect::<std::result::Result<_, _>>()
            .map_err(refused)?;
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let (transactions, elapsed) = threads
            .into_iter()
            .map(join)
            .fold((0, Duration::ZERO), |sum, one: (u64, Duration)| (sum.0 + one.0, sum.1 + one.1));
        Ok(elapsed.as_nanos() as f64 / transactions as f64)
    })
}

/// Runs a client's transactions for so long. Returns how many, and the time.
fn run(mut client: impl Client, samples: &Samples, duration: Duration) -> (u64, Duration) {
    let (start, mut transactions) = (Instant::now(), 0);
    loop {
        for _ in 0..BATCH {
            black_box(client.draw());
            if let Ok(output) = client.call().run(&mut Bare(samples)) {
                // What it finds is not what was stored: its complaints mean nothing.
                let _ = black_box(client.check(output));
            }
        }
        transactions += BATCH;
        let elapsed = start.elapsed();
        if elapsed >= duration {
            return (transactions, elapsed);
        }
    }
}

/// Does nothing.
struct Bare<'a>(&'a Samples);

impl Bare<'_> {
    #[inline]
    fn sample(&self, table: TableId) -> Option<&(Key, RowBuf)> {
        self.0.0.get(table.0 as usize)?.as_ref()
    }
}

impl Access for Bare<'_> {
    #[inline]
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        black_box(key);
        row.clear();
        let Some((_, sample)) = self.sample(table) else { return Ok(false) };
        row.project(sample.row(), columns);
        Ok(true)
    }

    #[inline]
    fn put(&mut self, _: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        black_box((key, row.bytes()));
        Ok(())
    }

    #[inline]
    fn insert(&mut self, _: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        black_box((key, row.bytes()));
        Ok(())
    }

    #[inline]
    fn update(&mut self, _: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        black_box((key, delta));
        Ok(true)
    }

    #[inline]
    fn delete(&mut self, _: TableId, key: &[u8]) -> Result<bool> {
        black_box(key);
        Ok(true)
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        let Some((key, sample)) = black_box(&*self).sample(scan.table) else { return Ok(ScanEnd::Finished) };
        let mut row = RowBuf::new();
        row.project(sample.row(), scan.columns);
        Ok(match visit(Item { key, row: row.row() }) {
            ControlFlow::Continue(()) => ScanEnd::Finished,
            ControlFlow::Break(()) => ScanEnd::Stopped(key.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::parameters::{DEFAULT, Presets};
    use crate::workloads::{ClientSlot, LOADER, Stamps, bank, smallbank, tatp, tpcc, ycsb};
    use env::Randomness;
    use serde_json::{Value, json};

    /// Draws 500 transactions and runs them on nothing. Returns how many ran to their end, and how many of these pleased their client.
    fn run_bare(workload: &impl Workload) -> (usize, usize) {
        let tables: Vec<TableId> = (0..workload.schemas().len() as u32).map(|table| TableId(table + 3)).collect();
        let mut samples = Samples::default();
        let records: Vec<Record> = workload.load(Stamps::of_client(LOADER)).collect();
        samples.take_from(&tables, &records);
        let (randomness, stamps) = (Randomness::from_seed(1), Stamps::of_client(1));
        let mut client = workload.client(ClientSlot { number: 1, tables: &tables, randomness, stamps });
        let (mut ran, mut pleased) = (0, 0);
        for _ in 0..500 {
            client.draw();
            if let Ok(output) = client.call().run(&mut Bare(&samples)) {
                ran += 1;
                pleased += usize::from(client.check(output).is_ok());
            }
        }
        (ran, pleased)
    }

    fn parameters<P: serde::de::DeserializeOwned>(name: &'static str, presets: &str, changes: Value) -> P {
        Presets::read(name, presets).and_then(|it| it.parameters(DEFAULT, &changes)).expect("sound parameters")
    }

    /// Were rows missing, bodies would end early, and the loop would show less than what clients do.
    #[test]
    fn bodies_run_on_nothing_as_if_rows_were_there() {
        let ycsb = json!({ "records": 100, "keys_per_txn": 4 });
        assert_eq!(run_bare(&ycsb::Ycsb::new(parameters(ycsb::NAME, ycsb::PRESETS, ycsb))), (500, 500));
        let bank = json!({ "accounts": 50, "audits": 0 });
        assert_eq!(run_bare(&bank::Bank::new(parameters(bank::NAME, bank::PRESETS, bank))), (500, 500));
        let tatp = json!({ "subscribers": 50 });
        assert_eq!(run_bare(&tatp::Tatp::new(parameters(tatp::NAME, tatp::PRESETS, tatp))), (500, 500));
        let smallbank = json!({ "customers": 50 });
        let smallbank = smallbank::Smallbank::new(parameters(smallbank::NAME, smallbank::PRESETS, smallbank));
        assert_eq!(run_bare(&smallbank), (500, 500));
        let tpcc = json!({ "warehouses": 1, "items": 100, "customers": 30 });
        let (ran, pleased) = run_bare(&tpcc::Tpcc::new(parameters(tpcc::NAME, tpcc::PRESETS, tpcc)));
        assert!(ran == 500 && pleased > 450, "{ran} ran, {pleased} found what they must");
    }
}
