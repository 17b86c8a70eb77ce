//! Recovery: the rows of the checkpoint, and then the logged calls once more, in their order, through the same pipeline.
//!
//! A body decides by its arguments, its draws and what it reads, and what it reads is decided by its place. So the calls leave what they
//! had left, in whatever batches they come. Whoever had missed its footprint misses it again, and has no effect: what it was submitted
//! again as stands behind it in the log.

use crate::attempt::Attempt;
use crate::call::Call;
use crate::job::Job;
use crate::log::{Entry, InputLog};
use crate::position::Position;
use crate::programs::Repeat;
use crate::{Bohm, Options, Shared};
use env::Disk;
use model::{
    Access, AnyProcedure, Decoder, Draws, Durability, Error, Fault, Footprint, Invalid, Key, LogPosition, Malformed,
    Pending, Registry, Result, RowRef, Schema, TableId, Touch, UnknownCall,
};
use parts::promise::{Promise, promise};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use wal::redo::{Record, Write};
use wal::{Log, RecordReader, RecoveredRecord};

/// Bytes of keys and rows of a checkpoint that are loaded by one call, about.
const LOAD_BYTES: usize = 64 << 10;
/// Rows that are loaded by one call, at most.
const LOAD_ROWS: usize = 256;
/// Such calls under way.
const LOADS_UNDER_WAY: usize = 64;

/// Report of a recovery.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RecoveryReport {
    /// The database is new.
    pub created: bool,
    /// The last run ended with a clean close.
    pub clean: bool,
    /// Bytes at the end of the log that had never been known to be durable and could not be used, in words.
    pub cut: Option<String>,
    /// Rows of the checkpoint.
    pub checkpoint_rows: u64,
    /// Batches of the log behind it.
    pub batches: u64,
    /// Calls in them, which were executed again.
    pub calls: u64,
    /// Tables now.
    pub tables: usize,
    /// Batches begin above this.
    pub start: u64,
}

impl fmt::Display for RecoveryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.created {
            return f.write_str("created a new database");
        }
        let how = if self.clean { "clean stop" } else { "recovered from a crash" };
        let RecoveryReport { checkpoint_rows, batches, calls, tables, .. } = self;
        write!(
            f,
            "{how}: {tables} tables ({checkpoint_rows} rows of a checkpoint, {calls} calls in {batches} batches executed again)"
        )?;
        self.cut.iter().try_for_each(|cut| write!(f, "; {cut}, none of them acknowledged as durable"))
    }
}

impl Bohm {
    /// Opens the database in a directory, or creates it, and executes again what its log holds behind the last checkpoint.
    ///
    /// `registry` has the procedures that are submitted, and all that the log may hold. What a body does may depend on nothing but its
    /// arguments, its draws and what it reads: not on a clock, on random numbers of its own, or on the order in which a map of the
    /// standard library is walked. Limits must not be smaller than they were when the calls were logged.
    ///
    /// # Errors
    /// [`Invalid::LoggedCall`] names a procedure that is not registered, or with another version: nothing was executed.
    /// [`Fault::Locked`] if another process has the directory, [`Fault::Corruption`] if what had been durable cannot be read,
    /// [`Fault::NewerFormat`], [`Fault::Disk`]; limits that are smaller than those of the run that was logged.
    pub fn open(disk: Arc<dyn Disk>, registry: Registry, options: Options) -> Result<Bohm> {
        Bohm::open_telling(disk, registry, options, &mut |_, _| {})
    }

    /// Same as [`Bohm::open`], for procedures that find their tables by name: `tell` is called with each table before any call behind
    /// its creation is executed.
    ///
    /// # Errors
    /// Same as [`Bohm::open`].
    pub fn open_telling(
        disk: Arc<dyn Disk>,
        mut registry: Registry,
        options: Options,
        tell: &mut dyn FnMut(TableId, &Schema),
    ) -> Result<Bohm> {
        let taken = |name: model::NameTaken| Invalid::Option { what: name.to_string() };
        registry.register::<Repeat>().map_err(taken)?;
        let (log, recovered) = Log::open(disk, options.log.clone())?;
        let covered =
            recovered.checkpoint.as_ref().map(|checkpoint| (checkpoint.info().start, checkpoint.info().bound));
        check_calls(recovered.records.another(), covered, &registry)?;
        let found = recovered.report.clone();
        let start = found.ceiling.max(found.max_stamp) + 1;
        let durability = options.durability;
        let mut engine = Bohm::begin(options, start);
        let mut replay = Replay::new(&engine.shared, &registry, tell);
        recovered.read(|record| replay.apply(record))?;
        replay.end()?;
        let Counts { checkpoint_rows, batches, calls } = replay.counts;
        engine.recovery = Some(RecoveryReport {
            created: found.created,
            clean: found.clean,
            cut: found.cut.map(|cut| cut.to_string()),
            checkpoint_rows,
            batches,
            calls,
            tables: engine.tables().len(),
            start: engine.shared.pipeline.last_sealed(),
        });
        let input = InputLog::new(log, registry, durability);
        if input.log.refused().is_none() {
            input.cover(engine.shared.pipeline.last_sealed())?;
        }
        if durability == Durability::Fsync {
            engine.shared.pipeline.show_durable_only();
        }
        assert!(engine.shared.log.set(input).is_ok(), "B11: calls are logged once they are no repetition");
        Ok(engine)
    }

    /// What was recovered; `None` of a database in memory.
    pub fn recovery(&self) -> Option<&RecoveryReport> {
        self.recovery.as_ref()
    }

    /// Figures of the log; `None` in memory.
    pub fn log_stats(&self) -> Option<wal::LogStats> {
        self.shared.log().map(|input| input.log.stats())
    }

    /// Stops cleanly: everything submitted before is complete and durable. What is submitted later fails.
    ///
    /// # Errors
    /// The log could not be written.
    pub fn close(&self) -> Result<()> {
        self.settle();
        self.shared.log().map_or(Ok(()), |input| Ok(input.log.close()?))
    }
}

/// Looks whether all logged calls can be executed again that the checkpoint does not cover, before any is. `covered`: where the
/// checkpoint began, and the stamp from which on records before that are not in it.
fn check_calls(mut records: RecordReader, covered: Option<(LogPosition, u64)>, registry: &Registry) -> Result<()> {
    while let Some(record) = records.next_record()? {
        if covered.is_some_and(|(start, bound)| record.position <= start && record.stamp < bound) {
            continue;
        }
        let damaged = |_: Malformed| undecodable(record.position);
        let Record::Calls(mut entries) = Record::decode(record.payload).map_err(damaged)? else { continue };
        while !entries.is_empty() {
            if let Entry::Call(_, call) = Entry::decode(&mut entries).map_err(damaged)? {
                registry.check(call).map_err(|unknown| refusal(unknown, record.position))?;
            }
        }
    }
    Ok(())
}

fn refusal(unknown: UnknownCall, position: LogPosition) -> Error {
    match unknown {
        UnknownCall::Name { .. } | UnknownCall::Version { .. } => Invalid::LoggedCall(unknown).into(),
        UnknownCall::Record(_) | UnknownCall::Arguments(..) => {
            Fault::Corruption { detail: format!("the record that ends at {position}: {unknown}") }.into()
        }
        _ => undecodable(position),
    }
}

fn undecodable(position: LogPosition) -> Error {
    let what = if position == LogPosition::ZERO {
        "a row of the checkpoint".to_owned()
    } else {
        format!("the record that ends at {position}")
    };
    let detail =
        format!("{what} passed its checksum but cannot be decoded: another program or a newer version has written it");
    Fault::Corruption { detail }.into()
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    checkpoint_rows: u64,
    batches: u64,
    calls: u64,
}

/// An engine that gets back what it had.
struct Replay<'e> {
    shared: &'e Shared,
    registry: &'e Registry,
    /// Who wants to know the tables.
    tell: &'e mut dyn FnMut(TableId, &Schema),
    /// Rows of the checkpoint that are not submitted yet.
    rows: Rows,
    /// Loads under way, oldest first.
    loads: VecDeque<Pending<Result<()>>>,
    /// The first number of a table that had not been given when the checkpoint began.
    next_table: u32,
    /// Whether drops of tables may be under way.
    has_dropped: bool,
    counts: Counts,
}

/// Rows of a checkpoint.
#[derive(Default)]
struct Rows {
    rows: Vec<(TableId, Key, Box<[u8]>)>,
    bytes: usize,
}

impl<'e> Replay<'e> {
    fn new(shared: &'e Shared, registry: &'e Registry, tell: &'e mut dyn FnMut(TableId, &Schema)) -> Replay<'e> {
        let (rows, loads) = (Rows::default(), VecDeque::new());
        Replay { shared, registry, tell, rows, loads, next_table: 0, has_dropped: false, counts: Counts::default() }
    }

    fn apply(&mut self, record: RecoveredRecord<'_>) -> Result<()> {
        let RecoveredRecord { position, payload, is_end, .. } = record;
        let damaged = |_: Malformed| undecodable(position);
        match Record::decode(payload).map_err(damaged)? {
            Record::CheckpointStart(next) => self.next_table = next.0,
            Record::CheckpointRow(_, Write { table, key, row: Some(row) }) => self.load(table, key, row)?,
            Record::Create(id, schema) => {
                // Else it was dropped before the checkpoint began.
                if position == LogPosition::ZERO || id.0 >= self.next_table {
                    if std::mem::take(&mut self.has_dropped) {
                        self.shared.settle(); // A name may be free again.
                    }
                    (self.tell)(id, &schema);
                    self.shared.restore_table(id, schema).map_err(|_| undecodable(position))?;
                }
            }
            Record::Calls(entries) => {
                self.load_rest()?;
                self.counts.batches += u64::from(is_end);
                self.calls(entries, position)?;
            }
            Record::CheckpointRow(..) | Record::Writes(_) | Record::Drop(_) => {
                let detail = "the log has rows that another engine wrote: open it with that engine, and write a checkpoint, \
                              which every engine reads";
                return Err(Fault::Corruption { detail: detail.to_owned() }.into());
            }
        }
        Ok(())
    }

    fn calls(&mut self, mut entries: Decoder<'_>, position: LogPosition) -> Result<()> {
        while !entries.is_empty() {
            match Entry::decode(&mut entries).map_err(|_| undecodable(position))? {
                Entry::Call(guess, call) => self.call(guess, call, position)?,
                Entry::Drop(table) => {
                    self.shared.intake.submit([Call::dropping(table, None)]);
                    self.has_dropped = true;
                }
            }
        }
        Ok(())
    }

    /// Submits a logged call.
    fn call(&mut self, guess: Option<Footprint>, call: &[u8], position: LogPosition) -> Result<()> {
        let logged = self.registry.decode(call).map_err(|unknown| refusal(unknown, position))?;
        let job = Box::new(Replayed { procedure: logged.procedure, draws: logged.draws });
        let is_guess = guess.is_some();
        let footprint = match guess {
            Some(guess) => guess,
            None => self.shared.footprint_of(&*job).0?,
        };
        let call = self.shared.call(job, footprint, is_guess).map_err(|(_, error)| error)?;
        self.shared.intake.submit([call]);
        self.counts.calls += 1;
        Ok(())
    }

    /// Takes a row of the checkpoint.
    fn load(&mut self, table: TableId, key: &[u8], row: &[u8]) -> Result<()> {
        self.counts.checkpoint_rows += 1;
        self.rows.bytes += key.len() + row.len();
        self.rows.rows.push((table, Key::from_bytes(key), row.into()));
        if self.rows.bytes >= LOAD_BYTES || self.rows.rows.len() >= LOAD_ROWS { self.submit_rows() } else { Ok(()) }
    }

    fn submit_rows(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.rows).rows;
        let (promise, loaded) = promise();
        let entry = |(table, key, _): &(TableId, Key, Box<[u8]>)| model::FootprintEntry {
            table: *table,
            key: key.clone(),
            touch: Touch::Overwrite,
        };
        let footprint: Footprint = rows.iter().map(entry).collect();
        let load = Box::new(Load { rows, outcome: Ok(()), promise });
        let call = self.shared.call(load, footprint, false).map_err(|(_, error)| error)?;
        self.shared.intake.submit([call]);
        self.loads.push_back(loaded);
        self.await_loads(LOADS_UNDER_WAY)
    }

    fn await_loads(&mut self, most: usize) -> Result<()> {
        while self.loads.len() > most {
            self.loads.pop_front().map_or(Ok(()), Pending::wait)?;
        }
        Ok(())
    }

    fn load_rest(&mut self) -> Result<()> {
        if !self.rows.rows.is_empty() {
            self.submit_rows()?;
        }
        self.await_loads(0)
    }

    fn end(&mut self) -> Result<()> {
        self.load_rest()?;
        self.shared.settle();
        self.shared.tables.reserve(TableId(self.next_table));
        Ok(())
    }
}

/// A logged call that is executed again. Nobody waits for it.
struct Replayed {
    procedure: Box<dyn AnyProcedure>,
    draws: Option<Draws>,
}

impl Job for Replayed {
    fn run(&mut self, attempt: &mut Attempt<'_, '_>) -> bool {
        self.procedure.run(attempt)
    }

    fn complete(self: Box<Self>, _: Position) {}

    /// It had failed so when it was logged.
    fn give_up(self: Box<Self>, _: Error) {}

    fn footprint(&self, access: &mut dyn Access) -> Result<Footprint> {
        self.procedure.footprint(access)
    }

    /// What it was submitted again as stands in the log.
    fn again(&mut self, _: &Error) -> bool {
        false
    }

    fn draws(&self) -> Option<Draws> {
        self.draws
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn durability(&self) -> Option<Durability> {
        Some(Durability::None)
    }

    fn encode(&self, _: &mut Vec<u8>) {}
}

/// Rows of a checkpoint, on their way into their tables.
struct Load {
    rows: Vec<(TableId, Key, Box<[u8]>)>,
    outcome: Result<()>,
    promise: Promise<Result<()>>,
}

impl Job for Load {
    fn run(&mut self, attempt: &mut Attempt<'_, '_>) -> bool {
        self.outcome = self.rows.iter().try_for_each(|(table, key, row)| attempt.put(*table, key, RowRef::new(row)));
        self.outcome.is_ok()
    }

    fn complete(self: Box<Self>, _: Position) {
        self.promise.resolve(self.outcome);
    }

    fn give_up(self: Box<Self>, error: Error) {
        self.promise.resolve(Err(error));
    }

    fn footprint(&self, _: &mut dyn Access) -> Result<Footprint> {
        Ok(Footprint::default())
    }

    fn again(&mut self, _: &Error) -> bool {
        false
    }

    fn draws(&self) -> Option<Draws> {
        None
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn durability(&self) -> Option<Durability> {
        Some(Durability::None)
    }

    fn encode(&self, _: &mut Vec<u8>) {}
}
