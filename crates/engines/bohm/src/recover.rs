//! Recovery: the rows of the checkpoint, and then the logged calls once more, in their order, through the same pipeline.
//!
//! A body decides by its arguments, its draws and what it reads, and what it reads is decided by its place. So the calls leave what they
//! had left, in whatever batches they come. Whoever had missed its footprint misses it again, and has no effect: what it was submitted
//! again as stands behind it in the log.

use crate::attempt::Attempt;
use crate::call::Call;
use crate::job::Job;
use crate::log::InputLog;
use crate::logged::{Found, Reader, check_calls, register_own};
use crate::position::Position;
use crate::stamps::Stamps;
use crate::{Bohm, Options, Shared};
use env::Disk;
use model::{
    Access, AnyProcedure, Draws, Durability, Error, Footprint, Key, LogPosition, LoggedCall, Pending, Registry, Result,
    RowRef, Schema, TableId, Touch,
};
use parts::promise::{Promise, promise};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use wal::{Log, RecoveredRecord};

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
        let RecoveryReport { checkpoint_rows, batches, calls, tables, .. } = self;
        let state = format_args!(
            "{tables} tables ({checkpoint_rows} rows of a checkpoint, {calls} calls in {batches} batches executed again)"
        );
        wal::write_recovery(f, (self.created, self.clean, self.cut.as_deref()), state)
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
    /// [`model::Invalid::LoggedCall`] names a procedure that is not registered, or with another version: nothing was executed.
    /// [`model::Fault::Locked`] if another process has the directory, [`model::Fault::Corruption`] if what had been durable cannot be read,
    /// [`model::Fault::NewerFormat`], [`model::Fault::Disk`]; limits that are smaller than those of the run that was logged.
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
        register_own(&mut registry)?;
        let (log, recovered) = Log::open(disk, options.log.clone())?;
        check_calls(&recovered, &registry)?;
        let found = recovered.report.clone();
        let (stamps, start) = Stamps::behind(found.ceiling.max(found.max_stamp))?;
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
        let input = InputLog::new(log, registry, durability, stamps);
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

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    checkpoint_rows: u64,
    batches: u64,
    calls: u64,
}

/// An engine that gets back what it had.
struct Replay<'e> {
    shared: &'e Shared,
    reader: Reader<'e>,
    /// Who wants to know the tables.
    tell: &'e mut dyn FnMut(TableId, &Schema),
    /// Rows of the checkpoint that are not submitted yet.
    rows: Rows,
    /// Loads under way, oldest first.
    loads: VecDeque<Pending<Result<()>>>,
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
        let reader = Reader::new(registry);
        Replay { shared, reader, tell, rows, loads, has_dropped: false, counts: Counts::default() }
    }

    fn apply(&mut self, record: RecoveredRecord<'_>) -> Result<()> {
        if record.position > LogPosition::ZERO {
            self.load_rest()?;
        }
        let mut reader = self.reader;
        reader.read(record, &mut |found| self.take(found))?;
        self.reader = reader;
        Ok(())
    }

    fn take(&mut self, found: Found<'_>) -> Result<()> {
        match found {
            Found::Table(id, schema) => {
                if std::mem::take(&mut self.has_dropped) {
                    self.shared.settle(); // A name may be free again.
                }
                (self.tell)(id, &schema);
                self.shared.restore_table(id, schema)?;
            }
            Found::Row(table, key, row) => self.load(table, key, row)?,
            Found::Call(call, guess) => self.call(call, guess)?,
            Found::Drop(table) => {
                self.shared.intake.submit([Call::dropping(table, None)]);
                self.has_dropped = true;
            }
            Found::EndOfBatch => self.counts.batches += 1,
        }
        Ok(())
    }

    /// Submits a logged call.
    fn call(&mut self, logged: LoggedCall, guess: Option<Footprint>) -> Result<()> {
        let job = Box::new(Replayed { procedure: logged.procedure, draws: logged.draws });
        let is_guess = guess.is_some();
        let footprint = match guess {
            Some(guess) => guess,
            None => self.shared.footprint_of(&*job).0?,
        };
        let call = self.shared.call(job, footprint, is_guess).map_err(|(_, error)| error)?;
        self.shared.submit_recovered(call)?;
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
        self.shared.submit_recovered(call)?;
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
        self.shared.tables.reserve(self.reader.next_table);
        Ok(())
    }
}

/// A logged call that is executed again. Nobody waits for it.
struct Replayed {
    procedure: Box<dyn AnyProcedure>,
    draws: Option<Draws>,
}

/// It runs once: what it was submitted again as stands in the log.
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

    fn draws(&self) -> Option<Draws> {
        self.draws
    }

    fn durability(&self) -> Option<Durability> {
        Some(Durability::None)
    }
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

    fn durability(&self) -> Option<Durability> {
        Some(Durability::None)
    }
}
