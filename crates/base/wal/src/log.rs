//! Public handle of the log.

use crate::checkpoint::CheckpointWriter;
use crate::error::LogError;
use crate::group::Writer;
use crate::large::{LargeRecord, LargeRoom};
use crate::options::{Driver, LogOptions};
use crate::recover::{Continuation, Recovered, Resumed, resume};
use crate::segment::Segment;
use crate::shared::{CallersWaitLimit, Phase, Shared, State};
use crate::stats::LogStats;
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Arc, AtomicBool, AtomicU64, Condvar, Mutex, Ordering, lock};
use crate::wait::call_at_end;
use env::{Disk, DiskError, Operation};
use model::Durability;
use model::LogPosition;
use std::task::{Wake, Waker};

/// Name of the thread that writes and syncs, and calls callbacks.
pub const LOG_THREAD: &str = "seriatim-log";

/// A redo log in a directory that this process has locked.
///
/// Dropped without [`close`](Self::close), it ends like a crash: what was not durable is lost.
pub struct Log {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Log {
    /// Opens the log in the root of `disk`, which is created if there is none.
    ///
    /// Everything is read and checked first; a directory that is refused is left as it was found. If the disk has no room for
    /// a segment, the log opens all the same: what it holds can be read, and each append tries again to go on
    /// ([`Log::refused`]).
    ///
    /// # Errors
    /// [`LogError::Locked`], [`LogError::Corrupt`], [`LogError::NewerFormat`], [`LogError::Full`] (a new log needs room for
    /// its first segment), [`LogError::NotALog`] (opened read-only, and missing), [`LogError::BadOption`],
    /// [`LogError::Disk`].
    pub fn open(disk: Arc<dyn Disk>, options: LogOptions) -> Result<(Self, Recovered), LogError> {
        options.check()?;
        Self::open_unchecked(disk, options)
    }

    /// Same as [`open`](Self::open), with options as they are.
    pub(crate) fn open_unchecked(disk: Arc<dyn Disk>, options: LogOptions) -> Result<(Self, Recovered), LogError> {
        let Resumed { lock, control, going, recovered } = resume(&disk, &options)?;
        let Continuation { buffer, next, refused } = going;
        let (refused, start) = refused.unzip();
        let read_only = options.read_only;
        let stats = LogStats {
            checkpoint: recovered.checkpoint.as_ref().map_or(LogPosition::ZERO, |reader| reader.info().start),
            checkpoint_bytes: recovered.checkpoint.as_ref().map_or(0, |reader| reader.info().bytes),
            ..LogStats::default()
        };
        let shared = Arc::new(Shared {
            disk,
            options,
            identity: control.identity(),
            durable: AtomicU64::new(buffer.tail()),
            has_stopped: AtomicBool::new(false),
            writer: Mutex::new(Writer::new(Arc::clone(buffer.segment()))),
            state: Mutex::new(State::new(buffer, next, refused, stats)),
            work: Condvar::new(),
            ahead: Condvar::new(),
            space: Condvar::new(),
            done: Default::default(),
            preparing: Mutex::new(start),
            // A read-only log issues no timestamps, so it needs no ceiling.
            ceiling: AtomicU64::new(if read_only { u64::MAX } else { control.ceiling() }),
            ceiling_wanted: AtomicU64::new(0),
            control: Mutex::new(control),
            checkpointing: AtomicBool::new(false),
            directory: Mutex::new(Some(Arc::new(lock))),
        });
        let log = Self { shared, threads: Mutex::default() };
        if log.shared.options.driver == Driver::Threads {
            log.start(LOG_THREAD, Shared::write_groups)?;
            log.start("seriatim-ahead", Shared::work_ahead)?;
        }
        Ok((log, recovered))
    }

    fn start(&self, name: &str, body: fn(&Shared)) -> Result<(), LogError> {
        let shared = Arc::clone(&self.shared);
        let thread = thread::spawn_named(name, move || body(&shared))
            .map_err(|error| LogError::Disk(DiskError::new(Operation::Open, name, error)))?;
        lock(&self.threads).push(thread);
        Ok(())
    }

    /// Appends a record and returns its position. Records get positions in the order of the calls: who calls while it owns
    /// what it is about to publish is logged before everybody who reads it.
    ///
    /// Copies `payload` under a short latch; waits only if the disk does not keep up, and then at most
    /// [`LogOptions::append_timeout`]. When it returns, space for the record is reserved on disk. `stamp` is the transaction's
    /// timestamp, by which checkpoints know which segments are still needed.
    ///
    /// # Errors
    /// After every error nothing was appended: [`LogError::Full`], [`LogError::TooLarge`], [`LogError::Stalled`],
    /// [`LogError::Disk`], [`LogError::Stopped`], [`LogError::Closed`].
    pub fn append(&self, stamp: u64, payload: &[u8], durability: Durability) -> Result<LogPosition, LogError> {
        self.append_within(stamp, payload, durability, &|| None)
    }

    /// Same as [`append`](Self::append), but waits no longer than its caller does.
    ///
    /// # Errors
    /// Same as [`append`](Self::append), and [`LogError::Interrupted`].
    pub fn append_within(
        &self,
        stamp: u64,
        payload: &[u8],
        durability: Durability,
        caller: CallersWaitLimit<'_>,
    ) -> Result<LogPosition, LogError> {
        self.shared.append(stamp, payload, durability, caller)
    }

    /// Waits until the log has room for a record of so many bytes. Others may take it before the caller does.
    ///
    /// # Errors
    /// Same as [`append_within`](Self::append_within).
    pub fn await_room(&self, bytes: usize, caller: CallersWaitLimit<'_>) -> Result<(), LogError> {
        self.shared.await_room(bytes, caller)
    }

    /// Begins a record that is appended in parts, `bytes` bytes in all, none of them larger than `largest`, and reserves the
    /// space for it: a disk that cannot hold all of it fails here, and has its space back. `stamp` as for
    /// [`append`](Self::append).
    ///
    /// # Errors
    /// Same as [`append`](Self::append).
    pub fn begin_large(&self, stamp: u64, bytes: u64, largest: usize) -> Result<LargeRecord<'_>, LogError> {
        self.begin_large_within(stamp, bytes, largest, &|| None)
    }

    /// Same as [`begin_large`](Self::begin_large), but waits no longer than its caller does, with each part too.
    ///
    /// # Errors
    /// Same as [`append_within`](Self::append_within).
    pub fn begin_large_within<'a>(
        &'a self,
        stamp: u64,
        bytes: u64,
        largest: usize,
        caller: CallersWaitLimit<'a>,
    ) -> Result<LargeRecord<'a>, LogError> {
        Ok(self.reserve_large(bytes, largest, caller)?.begin(stamp, caller))
    }

    /// Reserves the space for a record in parts that is begun later, as [`begin_large`](Self::begin_large) does. For those whom others
    /// await as soon as they have their stamp: they wait for files before that, though what others append meanwhile may take the room in
    /// the segment that is being filled.
    ///
    /// # Errors
    /// Same as [`append_within`](Self::append_within).
    pub fn reserve_large(
        &self,
        bytes: u64,
        largest: usize,
        caller: CallersWaitLimit<'_>,
    ) -> Result<LargeRoom, LogError> {
        LargeRoom::take(Arc::clone(&self.shared), bytes, largest, caller)
    }

    /// Returns the position at which the last record ends.
    #[must_use]
    pub fn appended(&self) -> LogPosition {
        LogPosition::from_raw(self.shared.lock().buffer.tail())
    }

    /// Everything up to this position is durable. One atomic load.
    #[must_use]
    pub fn durable(&self) -> LogPosition {
        LogPosition::from_raw(self.shared.durable())
    }

    /// Waits until everything up to `position` is durable, however it was appended. Many waiters share one fdatasync. Where
    /// nobody writes, the caller's thread does: its wait lasts as long as the disk takes.
    ///
    /// # Errors
    /// [`LogError::Stopped`]: unknown outcome; [`LogError::Closed`]; [`LogError::NotAppended`].
    pub fn wait_durable(&self, position: LogPosition) -> Result<(), LogError> {
        self.shared.wait_durable(position.to_raw())
    }

    /// Same as [`wait_durable`](Self::wait_durable), but leaves the disk to the log's thread, and returns `false` once
    /// `is_over` returns true. It is called, under the log's latch, before each sleep, and again after each
    /// [`recheck_waits`](Self::recheck_waits). With [`Driver::Caller`] it is not called.
    ///
    /// # Errors
    /// Same as [`wait_durable`](Self::wait_durable).
    pub fn wait_durable_unless(&self, position: LogPosition, is_over: &dyn Fn() -> bool) -> Result<bool, LogError> {
        self.shared.wait_durable_unless(position.to_raw(), is_over)
    }

    /// Makes every [`wait_durable_unless`](Self::wait_durable_unless) call its `is_over` again, and every wait of a caller with
    /// a time limit of its own ask for that again.
    pub fn recheck_waits(&self) {
        self.shared.recheck_waits();
    }

    /// A waker that calls [`recheck_waits`](Self::recheck_waits).
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker::from(std::sync::Arc::new(WakeWaiters(Arc::clone(&self.shared))))
    }

    /// Calls `callback` once, with the result that [`wait_durable`](Self::wait_durable) would have: on the log's thread, or
    /// on this one if it is known already (with [`Driver::Caller`], always). It must be short and must not panic, since all
    /// commits wait for it.
    pub fn on_durable(&self, position: LogPosition, callback: Box<dyn FnOnce(Result<(), LogError>) + Send>) {
        self.shared.on_durable(position.to_raw(), callback);
    }

    /// Makes everything durable that was appended before the call.
    ///
    /// # Errors
    /// Same as [`wait_durable`](Self::wait_durable).
    pub fn flush(&self) -> Result<(), LogError> {
        self.wait_durable(self.appended())
    }

    /// The failure after which the log has stopped, if it has. One load while it has not.
    #[must_use]
    pub fn failed(&self) -> Option<LogError> {
        if !self.shared.has_stopped.load(Ordering::Acquire) {
            return None;
        }
        self.shared.lock().stopped.clone().map(LogError::Stopped)
    }

    /// Why appends have been refused since the log was opened: [`LogError::Full`] until an append finds space again,
    /// [`LogError::ReadOnly`] for good. Reading is not concerned.
    #[must_use]
    pub fn refused(&self) -> Option<LogError> {
        self.shared.lock().refused.clone()
    }

    /// The durable timestamp ceiling: no timestamp at or above it was ever used, so a restart begins here. One atomic load.
    #[must_use]
    pub fn ceiling(&self) -> u64 {
        self.shared.ceiling.load(Ordering::Acquire)
    }

    /// Makes a greater ceiling durable before it returns; a smaller one changes nothing. Costs two fdatasyncs of a small
    /// file: raise it in large steps, ahead of need. A log that is read only leaves no timestamps behind, and raises nothing.
    ///
    /// # Errors
    /// [`LogError::Stopped`]: the log stops when its control file fails; [`LogError::Closed`].
    pub fn raise_ceiling(&self, ceiling: u64) -> Result<(), LogError> {
        self.shared.cover(ceiling.saturating_sub(1), ceiling)
    }

    /// Ensures that the ceiling lies above `stamp`; if it does not, has the log's own thread raise it to `ceiling`, and waits no
    /// longer than its caller does.
    ///
    /// # Errors
    /// Same as [`raise_ceiling`](Self::raise_ceiling); [`LogError::Stalled`], [`LogError::Interrupted`].
    pub fn cover(&self, stamp: u64, ceiling: u64, caller: CallersWaitLimit<'_>) -> Result<(), LogError> {
        self.shared.await_ceiling(stamp, ceiling, caller)
    }

    /// Requests that the log's own thread raise the ceiling, and does not wait. While it is being raised, further calls do
    /// nothing. With [`Driver::Caller`] the caller raises it.
    pub fn raise_ceiling_ahead(&self, ceiling: u64) {
        self.shared.raise_ahead(ceiling.saturating_sub(1), ceiling);
    }

    /// Begins a checkpoint: its start is where the log ends now.
    ///
    /// # Errors
    /// [`LogError::CheckpointRunning`], [`LogError::Full`], [`LogError::Disk`], [`LogError::Stopped`], [`LogError::Closed`].
    pub fn begin_checkpoint(&self) -> Result<CheckpointWriter, LogError> {
        CheckpointWriter::begin(Arc::clone(&self.shared))
    }

    /// Bytes at which a large record should be cut into parts.
    #[must_use]
    pub fn part_bytes(&self) -> usize {
        self.shared.options.part_bytes()
    }

    /// The longest payload that [`append`](Self::append) takes, in bytes.
    #[must_use]
    pub fn max_payload(&self) -> usize {
        self.shared.options.max_payload()
    }

    /// Counts since the log was opened.
    #[must_use]
    pub fn stats(&self) -> LogStats {
        let mut state = self.shared.lock();
        let segments = state.buffer.sealed().len() as u64 + 1;
        let (segment, stats) = (Arc::clone(state.buffer.segment()), state.stats);
        let (appended, pending_bytes) = (LogPosition::from_raw(state.buffer.tail()), state.buffer.pending() as u64);
        let durable = self.durable();
        drop(state); // No file is asked anything under the latch.
        let durable_writes = segment.file.durable_writes();
        LogStats { appended, durable, pending_bytes, segments, durable_writes, ..stats }
    }

    /// Makes everything durable, marks the end of a clean run, and gives space and the directory's lock back. Calls that come
    /// later fail with [`LogError::Closed`]; a second close does nothing.
    ///
    /// # Errors
    /// [`LogError::Stopped`]: the log had stopped, or stops now; the next start recovers it.
    pub fn close(&self) -> Result<(), LogError> {
        if !self.begin_end(Phase::Closing) {
            return Ok(());
        }
        self.join_threads();
        let result = self.shared.write_end();
        self.finish_end();
        result
    }

    /// Ends like a crash, as a drop does: what is not durable is lost. When it returns, no callback runs any more, and the directory is
    /// free. For owners of a handle that callbacks have too.
    pub fn abandon(&self) {
        if self.begin_end(Phase::Closed) {
            self.join_threads();
            self.finish_end();
        }
    }

    /// The inside, for tests of its parts.
    #[cfg(test)]
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Begins the end of the log. Returns whether the caller is the one to end it.
    fn begin_end(&self, phase: Phase) -> bool {
        let mut state = self.shared.lock();
        if state.phase != Phase::Open {
            return false;
        }
        state.phase = phase;
        self.shared.wake_all();
        true
    }

    fn join_threads(&self) {
        let threads = std::mem::take(&mut *lock(&self.threads));
        for thread in threads {
            // A callback may drop the last handle: the log's thread cannot wait for itself.
            if thread.thread().id() != thread::current().id() {
                // Its panic has stopped the log already.
                let _ = thread.join();
            }
        }
    }

    fn finish_end(&self) {
        let mut state = self.shared.lock();
        state.phase = Phase::Closed;
        let callbacks = std::mem::take(&mut state.callbacks);
        self.shared.wake_all();
        drop(state);
        drop(lock(&self.shared.directory).take());
        call_at_end(callbacks, self.shared.durable(), &LogError::Closed);
    }
}

/// Wakes all who wait for the log.
struct WakeWaiters(Arc<Shared>);

impl Wake for WakeWaiters {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.recheck_waits();
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("disk", &self.shared.disk).field("stats", &self.stats()).finish()
    }
}

impl Shared {
    /// Writes what is left and the stop that vouches for it.
    fn write_end(&self) -> Result<(), LogError> {
        self.run_round(true)?;
        let mut state = self.lock();
        if state.refused.is_some() {
            // The log never went on: it stays as it was found, since behind its end there may be what a crash has left.
            return Ok(());
        }
        if !state.buffer.is_stopped() {
            state.buffer.push_stop();
            drop(state);
            self.run_round(true)?;
            state = self.lock();
        }
        let (segment, tail) = (Arc::clone(state.buffer.segment()), state.buffer.tail());
        let next = std::mem::take(&mut state.next);
        drop(state);
        // Gives reserved space back. The log is closed cleanly whether or not that works.
        let _ = segment.file.truncate(segment.place.offset(tail));
        for segment in next.iter().rev() {
            let _ = self.disk.remove(&Segment::name(segment.place.number));
        }
        Ok(())
    }
}
