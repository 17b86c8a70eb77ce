//! Replay: an engine gets back what recovery has found.
//!
//! ```text
//! checkpoint, records ──► the opening thread: checks, decodes, deals out by table and key ──► thread 0: applies
//!                                                                                        └──► thread 1: applies
//! ```
//!
//! All writes of a key go through one thread, in the order of the log. A definition of a table is applied when the threads have done all
//! that was logged before it, and before they get what was logged after it. So an engine sees of each key, and of the
//! definitions, what a single thread would show it.

use crate::error::LogError;
use crate::progress::{ProgressMeter, RecoveryStep};
use crate::recover::{Recovered, RecoveredRecord};
use crate::redo::{Record, Write};
use crate::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use crate::sync::thread::{ScopedJoinHandle, scope, spawn_scoped};
use codec::put_u64;
use model::{Decoder, Fault, LogPosition, Malformed, Schema, TableId};

/// Batches that wait for a thread, at most. More hide longer hiccups, and take memory.
const WAITING_BATCHES: usize = 4;

/// An engine that is being rebuilt. Nobody else has it.
pub trait Rebuild: Sync {
    /// What each thread has of its own.
    type Own;

    /// Returns what a thread begins with.
    fn own(&self) -> Self::Own;

    /// Creates a table; `is_of_checkpoint`: it was there when the checkpoint began.
    ///
    /// # Errors
    /// It cannot be.
    fn create_table(&self, id: TableId, schema: Schema, is_of_checkpoint: bool) -> Result<(), Malformed>;

    /// Drops a table, if it is there.
    fn drop_table(&self, id: TableId);

    /// Gives no table's number below `next` again.
    fn reserve(&self, next: TableId);

    /// Applies writes, each with its transaction's timestamp, or that of its version if it is a row of the checkpoint. Other threads apply
    /// those of other keys at the same time. A table that is not there was dropped.
    ///
    /// # Errors
    /// A write cannot be what an engine has logged.
    fn write<'a>(
        &self,
        own: &mut Self::Own,
        writes: impl Iterator<Item = Result<(u64, Write<'a>), Malformed>>,
    ) -> Result<(), Malformed>;
}

/// Counts of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Rows of the checkpoint.
    pub checkpoint_rows: u64,
    /// Records of the log behind it; a large one counts once.
    pub records: u64,
    /// The greatest timestamp of a write.
    pub newest: u64,
    /// Threads by which it was applied.
    pub threads: usize,
}

impl Recovered {
    /// Rebuilds an engine from the checkpoint and the records behind it.
    ///
    /// # Errors
    /// [`Fault::Corruption`]: what is intact cannot be decoded; the errors of [`RecordReader`](crate::RecordReader).
    pub fn replay<R: Rebuild>(self, engine: &R) -> model::Result<Replayed> {
        let wanted = if self.threads > 1 { self.threads } else { 0 };
        scope(|scope| {
            let mut running = Vec::new();
            let mut ways = Vec::new();
            for thread in 0..wanted {
                let (way, jobs) = sync_channel(WAITING_BATCHES);
                let body = move || work(engine, jobs);
                // Fewer threads than wanted are as good.
                let Ok(handle) = spawn_scoped(scope, &format!("replay-{thread}"), body) else { break };
                running.push(handle);
                ways.push(way);
            }
            let mut dealer = Dealer::new(engine, ways, self.batch_bytes);
            let dealt = dealer.run(self);
            drop(dealer);
            let applied = running.into_iter().filter_map(joined).min();
            match (applied, dealt) {
                (Some(position), _) => Err(Stopped::Undecodable(position).into()),
                (None, dealt) => Ok(dealt?),
            }
        })
    }
}

impl Recovered {
    /// Reads the rows of the checkpoint, each with position zero, and then the records that are not in it.
    ///
    /// # Errors
    /// Those of `each`, and of [`RecordReader`](crate::RecordReader).
    pub fn read<E: From<LogError>>(self, mut each: impl FnMut(RecoveredRecord<'_>) -> Result<(), E>) -> Result<(), E> {
        let total = self.bytes();
        let mut progress = ProgressMeter::new(self.on_progress, RecoveryStep::Replay, total);
        let (mut start, mut bound) = (LogPosition::ZERO, 0);
        if let Some(mut checkpoint) = self.checkpoint {
            (start, bound) = (checkpoint.info().start, checkpoint.info().bound);
            while let Some(payload) = checkpoint.next_row()? {
                each(RecoveredRecord { stamp: 0, position: LogPosition::ZERO, payload, is_end: false })?;
                progress.add(payload.len() as u64);
            }
        }
        let mut records = self.records;
        while let Some(record) = records.next_record()? {
            progress.add(record.payload.len() as u64);
            // What lies before the start is in the checkpoint, deletions included: the segment of a later deletion may be gone
            // already while that of the deleted row is still here. Behind the bound it is not: it was being executed then.
            if record.position > start || record.stamp >= bound {
                each(record)?;
            }
        }
        progress.finish();
        Ok(())
    }
}

/// Where the thread's first undecodable record ends, if it has one.
fn joined(handle: ScopedJoinHandle<'_, Result<(), LogPosition>>) -> Option<LogPosition> {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).err()
}

/// Why replay ends early.
enum Stopped {
    /// The log cannot be read.
    Log(LogError),
    /// The record that ends here, or at zero a row of the checkpoint, cannot be decoded.
    Undecodable(LogPosition),
    /// The record that ends here has calls of procedures.
    Calls(LogPosition),
    /// A thread has stopped, and says why.
    Thread,
}

impl From<LogError> for Stopped {
    fn from(error: LogError) -> Self {
        Self::Log(error)
    }
}

impl From<Stopped> for model::Error {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Log(error) => error.into(),
            Stopped::Undecodable(position) => undecodable(position),
            Stopped::Calls(position) => {
                let detail = format!(
                    "the record that ends at {position} has calls of procedures, which the engine bohm executes again: open it \
                     with that engine, and write a checkpoint, which every engine reads"
                );
                Fault::Corruption { detail }.into()
            }
            Stopped::Thread => unreachable!("a thread that stops says why"),
        }
    }
}

/// The error for a record that has passed its checksum and cannot be decoded, by the position where it ends; zero: a row of the
/// checkpoint.
pub fn undecodable(position: LogPosition) -> model::Error {
    let what = match position {
        LogPosition::ZERO => "a row of the checkpoint".to_owned(),
        position => format!("the record that ends at {position}"),
    };
    let detail =
        format!("{what} passed its checksum but cannot be decoded: another program or a newer version has written it");
    Fault::Corruption { detail }.into()
}

/// What a thread gets.
enum Job {
    /// Writes, each behind its record's position and its timestamp.
    Writes(Vec<u8>),
    /// Let go of this: all before is applied.
    Settle(Sender<()>),
}

/// A thread of a replay. Ends with where the record ends that it could not apply.
fn work<R: Rebuild>(engine: &R, jobs: Receiver<Job>) -> Result<(), LogPosition> {
    let mut own = engine.own();
    for job in jobs {
        match job {
            Job::Writes(batch) => apply(engine, &mut own, &batch)?,
            Job::Settle(settled) => drop(settled),
        }
    }
    Ok(())
}

fn apply<R: Rebuild>(engine: &R, own: &mut R::Own, batch: &[u8]) -> Result<(), LogPosition> {
    let (mut from, mut last) = (Decoder::new(batch), LogPosition::ZERO);
    let writes = std::iter::from_fn(|| (!from.is_empty()).then(|| next_write(&mut from, &mut last)));
    engine.write(own, writes).map_err(|_| last)
}

/// The next write of a batch and its timestamp. Notes where its record ends.
fn next_write<'a>(from: &mut Decoder<'a>, position: &mut LogPosition) -> Result<(u64, Write<'a>), Malformed> {
    *position = LogPosition::from_raw(from.u64()?);
    Ok((from.u64()?, Write::decode(from)?))
}

/// Deals writes out to threads.
struct Dealer<'e, R: Rebuild> {
    engine: &'e R,
    /// A batch for each thread.
    batches: Vec<Vec<u8>>,
    batch_bytes: usize,
    /// The ways to the threads. None: the caller applies them itself.
    ways: Vec<SyncSender<Job>>,
    own: Option<R::Own>,
    /// Whether threads may have something to do.
    is_busy: bool,
    replayed: Replayed,
}

impl<'e, R: Rebuild> Dealer<'e, R> {
    fn new(engine: &'e R, ways: Vec<SyncSender<Job>>, batch_bytes: usize) -> Self {
        let threads = ways.len().max(1);
        let own = ways.is_empty().then(|| engine.own());
        let replayed = Replayed { threads, ..Replayed::default() };
        Self { engine, batches: vec![Vec::new(); threads], batch_bytes, ways, own, is_busy: false, replayed }
    }

    fn run(&mut self, recovered: Recovered) -> Result<Replayed, Stopped> {
        recovered.read(|found| {
            self.replayed.records += u64::from(found.is_end);
            self.deal(found.position, found.stamp, found.payload)
        })?;
        self.settle()?;
        Ok(self.replayed)
    }

    /// Deals out a record that ends at a position; zero: of the checkpoint.
    fn deal(&mut self, position: LogPosition, stamp: u64, record: &[u8]) -> Result<(), Stopped> {
        let undecodable = |_| Stopped::Undecodable(position);
        match Record::decode(record).map_err(undecodable)? {
            Record::Writes(writes) => {
                for write in writes {
                    self.add(position, stamp, write.map_err(undecodable)?)?;
                }
            }
            Record::CheckpointRow(timestamp, row) => {
                self.replayed.checkpoint_rows += 1;
                self.add(position, timestamp, row)?;
            }
            Record::Create(id, schema) => {
                self.settle()?;
                self.engine.create_table(id, schema, position == LogPosition::ZERO).map_err(undecodable)?;
            }
            Record::Drop(id) => {
                self.settle()?;
                self.engine.drop_table(id);
            }
            Record::Calls(_) => return Err(Stopped::Calls(position)),
            Record::CheckpointStart(next) => self.engine.reserve(next),
        }
        Ok(())
    }

    fn add(&mut self, position: LogPosition, at: u64, write: Write<'_>) -> Result<(), Stopped> {
        self.replayed.newest = self.replayed.newest.max(at);
        self.is_busy = true;
        let thread = thread_of(&write, self.batches.len());
        let batch = &mut self.batches[thread];
        put_u64(batch, position.to_raw());
        put_u64(batch, at);
        write.encode(batch);
        if batch.len() >= self.batch_bytes { self.send(thread) } else { Ok(()) }
    }

    /// Gives a thread its batch.
    fn send(&mut self, thread: usize) -> Result<(), Stopped> {
        match &mut self.own {
            Some(own) => {
                apply(self.engine, own, &self.batches[thread]).map_err(Stopped::Undecodable)?;
                self.batches[thread].clear();
                Ok(())
            }
            None => {
                let room = Vec::with_capacity(self.batches[thread].capacity());
                let batch = std::mem::replace(&mut self.batches[thread], room);
                self.ways[thread].send(Job::Writes(batch)).map_err(|_| Stopped::Thread)
            }
        }
    }

    /// Waits until the threads have applied everything.
    fn settle(&mut self) -> Result<(), Stopped> {
        if !std::mem::take(&mut self.is_busy) {
            return Ok(());
        }
        for thread in 0..self.batches.len() {
            self.send(thread)?;
        }
        let (settling, settled) = channel();
        for way in &self.ways {
            way.send(Job::Settle(settling.clone())).map_err(|_| Stopped::Thread)?;
        }
        drop(settling);
        // Ends when all threads have let go, or one has stopped, which the next send notices.
        let _ = settled.recv();
        Ok(())
    }
}

/// The thread of a write. Neighbours in a table often have one: keys that differ in the last byte only, so that threads insert into
/// different leaves of its index.
fn thread_of(write: &Write<'_>, threads: usize) -> usize {
    let prefix = write.key.split_last().map_or(write.key, |(_, prefix)| prefix);
    let sum = u64::from(crc32c::crc32c(prefix)) ^ u64::from(write.table.0) << 32;
    // The high half of a product by the golden ratio: all bits of the sum count in it.
    let spread = sum.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    ((spread * threads as u64) >> 32) as usize
}
