//! What must hold after a kill: the log's calls on a naive twin leave the rows that the opened database has, and each acknowledged call
//! has left its row, once.

use super::Acknowledged;
use super::calls::{CALLS, COUNTERS, Tick, registry};
use ::bohm::{Bohm, Found, Options, read_log};
use env::RealDisk;
use model::twin::Twin;
use model::{
    Access, Begin, Declared, Error, Footprint, Guarded, Item, Key, LoggedCall, Malformed, Mode, Procedure, Program,
    Result, RowRef, Scan, TableId,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::Arc;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How the database was opened.
    pub report: String,
    /// Calls behind the checkpoint.
    pub calls: u64,
    /// Of all rows.
    pub hash: u64,
    /// The same of the twin.
    pub twin_hash: u64,
    /// Acknowledged calls without a row.
    pub missing: usize,
    /// Calls that were counted and have no row of their own: they were executed more than once.
    pub twice: u64,
    /// Rows of calls that must have failed.
    pub strange: usize,
}

impl Verified {
    /// Returns whether nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.hash == self.twin_hash && (self.missing, self.twice, self.strange) == (0, 0, 0)
    }
}

/// Rows of all tables.
type Rows = BTreeMap<(TableId, Key), Vec<u8>>;

/// Opens a directory whose process was killed, and looks.
///
/// # Errors
/// It cannot be opened.
pub fn verify(directory: &Path, acknowledged: &Acknowledged) -> std::result::Result<Verified, String> {
    let failed = |error: Error| error.to_string();
    let disk = Arc::new(RealDisk::new(directory));
    let (twin, calls) = twin(disk.clone()).map_err(failed)?;
    let engine = Bohm::open(disk, registry(), Options::default()).map_err(failed)?;
    let rows = rows(&engine).map_err(failed)?;
    let report = engine.recovery().map(ToString::to_string).unwrap_or_default();
    let done: BTreeSet<u64> = rows.keys().filter(|(table, _)| *table == CALLS).map(|(_, key)| integer(key)).collect();
    let missing = acknowledged.iter().filter(|&&(thread, number)| !done.contains(&of(thread, number).key())).count();
    let strange = done.iter().filter(|&&key| of(key >> 40, key & ((1 << 40) - 1)).fails()).count();
    let threads: BTreeSet<u64> = done.iter().map(|key| key >> 40).collect();
    let counted = |thread: &u64| rows.get(&(COUNTERS, Key::from_u64(*thread))).map_or(0, |row| integer(row));
    let twice = threads.iter().map(counted).sum::<u64>().abs_diff(done.len() as u64);
    Ok(Verified { report, calls, hash: hash(&rows), twin_hash: hash(&twin), missing, twice, strange })
}

fn of(thread: u64, number: u64) -> Tick {
    Tick { thread, number, by: 0 }
}

fn integer(bytes: &[u8]) -> u64 {
    Key::to_u64(bytes).unwrap_or_default()
}

/// FNV-1a over all rows, in their order.
fn hash(rows: &Rows) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    rows.iter().fold(0xcbf2_9ce4_8422_2325, |hash, ((table, key), row)| {
        let hash = table.0.to_le_bytes().iter().fold(hash, mix);
        row.iter().fold(key.iter().fold(hash, mix), mix)
    })
}

/// The rows that the log's calls leave when they are run one after the other, and the number of the calls.
fn twin(disk: Arc<RealDisk>) -> Result<(Rows, u64)> {
    let (mut twin, mut tables, mut calls) = (Twin::new(), 0, 0);
    read_log(disk, registry(), &mut |found| {
        match found {
            Found::Table(_, schema) => {
                twin.create_table(schema);
                tables += 1;
            }
            Found::Row(table, key, row) => {
                twin.put(table, key, RowRef::new(row))?;
                twin.commit();
            }
            Found::Call(call, guess) => {
                run(&mut twin, call, guess)?;
                calls += 1;
            }
            Found::Drop(_) | Found::EndOfBatch => {}
        }
        Ok(())
    })?;
    let rows = |table: TableId| twin.rows(table).map(move |(key, row)| ((table, key.clone()), row.to_vec()));
    Ok(((0..tables).map(TableId).flat_map(rows).collect(), calls))
}

/// A guess that misses has no effect: what it was submitted again as is another call.
fn run(twin: &mut Twin, mut call: LoggedCall, guess: Option<Footprint>) -> Result<()> {
    let footprint = guess.map_or_else(|| call.procedure.footprint(twin), Ok)?;
    if call.procedure.run(&mut Guarded::new(twin, &footprint)) {
        twin.commit();
    } else {
        twin.abort();
    }
    Ok(())
}

fn rows(engine: &Bohm) -> Result<Rows> {
    let mut rows = Rows::new();
    for (table, _) in engine.tables() {
        let how = Begin { mode: Mode::Snapshot, ..Begin::default() };
        rows.extend(engine.call(Contents(table), how, |_: u32, _: &Error| false)?.0);
    }
    Ok(rows)
}

/// Reads a table.
struct Contents(TableId);

impl Program for Contents {
    type Output = Rows;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<Rows> {
        let mut rows = Rows::new();
        access.scan(&Scan::table(self.0), &mut |item: Item<'_>| {
            rows.insert((self.0, Key::from_bytes(item.key)), item.row.bytes().to_vec());
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    }
}

impl Procedure for Contents {
    const NAME: &'static str = "contents";

    fn encode_arguments(&self, _: &mut Vec<u8>) {}

    fn decode_arguments(_: &[u8]) -> std::result::Result<Contents, Malformed> {
        Err(Malformed)
    }

    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        Ok(Footprint::default().reads_range(self.0, Bound::Unbounded, Bound::Unbounded))
    }
}
