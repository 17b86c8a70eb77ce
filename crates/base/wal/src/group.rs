//! Group commit: takes the gathered records, writes them, and issues one fdatasync for all waiters.

use crate::buffer::Chunk;
use crate::error::LogError;
use crate::segment::Segment;
use crate::shared::{Callback, Phase, Shared, call_all};
use crate::sync::{Arc, Ordering, lock};
use env::thread;
use env::time::{Duration, Instant};
use env::{DiskError, Operation};

/// The state of whoever has the right to write.
#[derive(Debug)]
pub struct Writer {
    /// The segment that was written to last.
    segment: Arc<Segment>,
    /// It has bytes that no fdatasync has covered.
    unsynced: bool,
    /// A write or fdatasync has failed.
    failed: bool,
    /// Number of waiters of the last group that was synced.
    last_group: usize,
    /// Duration of an fdatasync: a moving mean.
    sync_time: Duration,
}

impl Writer {
    /// Goes on in `segment`, all of whose bytes are durable.
    pub fn new(segment: Arc<Segment>) -> Self {
        Self { segment, unsynced: false, failed: false, last_group: 0, sync_time: Duration::ZERO }
    }

    fn sync(&mut self) -> Result<Duration, DiskError> {
        assert!(!self.failed, "L7: a failed fdatasync is not tried again");
        let start = Instant::now();
        self.segment.file.sync().inspect_err(|_| self.failed = true)?;
        self.unsynced = false;
        let elapsed = start.elapsed();
        self.sync_time = (self.sync_time * 7 + elapsed) / 8;
        Ok(elapsed)
    }

    fn write(&mut self, chunk: &Chunk) -> Result<(), DiskError> {
        assert!(!self.failed, "L7: nothing is written after a failure");
        let (place, end) = (self.segment.place, chunk.start + chunk.bytes.len() as u64);
        assert!(place.start <= chunk.start && end <= place.end(), "L3: what is written has space in its segment");
        self.unsynced = true;
        self.segment.file.write_at(place.offset(chunk.start), &chunk.bytes).inspect_err(|_| self.failed = true)
    }
}

/// Records that one round takes from the buffer.
struct Group {
    chunks: Vec<Chunk>,
    /// End position of the group.
    end: u64,
    /// Number of waiters.
    waiters: usize,
}

/// Effort of one round.
#[derive(Default)]
struct Effort {
    syncs: u64,
    sync_time: Duration,
    longest_sync: Duration,
}

impl Effort {
    fn count(&mut self, sync: Duration) {
        self.syncs += 1;
        self.sync_time += sync;
        self.longest_sync = self.longest_sync.max(sync);
    }
}

impl Shared {
    /// The writing thread.
    pub fn write_groups(&self) {
        let _guard = StopOnPanic(self);
        while let Some(sync) = self.next_work() {
            if sync {
                self.gather();
            }
            if self.run_round(sync).is_err() {
                return;
            }
        }
    }

    /// Waits for work: `Some(true)` to sync, `Some(false)` to write only, `None` when there will be none.
    fn next_work(&self) -> Option<bool> {
        let mut state = self.lock();
        loop {
            if state.phase != Phase::Open || state.stopped.is_some() {
                return None;
            }
            if state.wanted > self.durable() {
                return Some(true);
            }
            let due = state.oldest_async.map(|oldest| self.options.flush_interval.saturating_sub(oldest.elapsed()));
            if due == Some(Duration::ZERO) {
                return Some(true);
            }
            if state.drain_wanted || state.buffer.pending() >= self.options.buffer_bytes / 2 {
                return Some(false);
            }
            state.sleeping = true;
            state = match due {
                Some(due) => self.work.wait_timeout(state, due).expect("no holder of this latch panics").0,
                None => self.work.wait(state).expect("no holder of this latch panics"),
            };
            state.sleeping = false;
        }
    }

    /// Lets those who waited for the last group come with their next records, for a fraction of what the sync will take:
    /// without this the first to come would be synced alone and the others would wait for the group after.
    fn gather(&self) {
        let (expected, longest) = {
            let writer = lock(&self.writer);
            (writer.last_group, self.options.group_gather.min(writer.sync_time / 4))
        };
        if expected < 2 || longest.is_zero() {
            return;
        }
        let start = Instant::now();
        while self.arrived.load(Ordering::Relaxed) < expected && start.elapsed() < longest {
            thread::yield_now();
        }
    }

    /// Writes everything that waits, and syncs it if asked to. After an error the log has stopped.
    pub fn run_round(&self, sync: bool) -> Result<(), LogError> {
        let mut writer = lock(&self.writer);
        let mut group = self.take_group(sync)?;
        match self.write_group(&mut writer, &mut group, sync) {
            Ok(effort) => {
                if sync {
                    writer.last_group = group.waiters;
                }
                let callbacks = self.publish(group, &effort, sync);
                drop(writer);
                call_all(callbacks, &Ok(()));
                Ok(())
            }
            Err(error) => {
                // Before the next one may write: it would sync the same file again, and take that for success (L7).
                let stopped = self.set_stopped(error.clone());
                drop(writer);
                stopped.notify_all();
                Err(LogError::Stopped(error))
            }
        }
    }

    fn take_group(&self, sync: bool) -> Result<Group, LogError> {
        let mut state = self.lock();
        self.check_waitable(&state)?;
        let end = state.buffer.tail();
        state.drain_wanted = false;
        let mut waiters = 0;
        if sync {
            state.round += 1;
            state.in_flight = end;
            state.oldest_async = None;
            waiters = self.arrived.swap(0, Ordering::Relaxed);
        }
        Ok(Group { chunks: state.buffer.take(), end, waiters })
    }

    /// Invariant L2: a segment gets its first byte after everything in the one before is durable.
    fn write_group(&self, writer: &mut Writer, group: &mut Group, sync: bool) -> Result<Effort, DiskError> {
        let mut effort = Effort::default();
        for chunk in &mut group.chunks {
            if chunk.segment.place.number != writer.segment.place.number {
                if writer.unsynced {
                    effort.count(writer.sync()?);
                }
                assert!(chunk.start == chunk.segment.place.start, "L2: a segment is filled from its first byte on");
                self.raise_durable(chunk.start, writer);
                writer.segment = Arc::clone(&chunk.segment);
            }
            chunk.vouch(self.durable(), self.identity);
            writer.write(chunk)?;
        }
        if sync {
            if writer.unsynced {
                effort.count(writer.sync()?);
            }
            self.raise_durable(group.end, writer);
        }
        Ok(effort)
    }

    /// Lets everybody know that the log is durable up to a position. The caller has the right to write.
    fn raise_durable(&self, to: u64, writer: &Writer) {
        assert!(
            !writer.unsynced && !writer.failed,
            "L2, L7: what counts as durable was synced, and no sync has failed"
        );
        assert!(self.durable() <= to, "L1: what is durable is a prefix, and grows");
        self.durable.store(to, Ordering::Release);
    }

    /// Tells everybody whom the round has served; returns the callbacks, to be called without the latch.
    fn publish(&self, group: Group, effort: &Effort, sync: bool) -> Vec<Callback> {
        let mut state = self.lock();
        state.stats.groups += group.chunks.len() as u64;
        state.stats.syncs += effort.syncs;
        state.stats.sync_time += effort.sync_time;
        state.stats.longest_sync = state.stats.longest_sync.max(effort.longest_sync);
        state.stats.waiters += group.waiters as u64;
        state.stats.largest_group = state.stats.largest_group.max(group.waiters as u64);
        state.buffer.recycle(group.chunks);
        self.space.notify_all();
        if sync {
            self.done[(state.round % 2) as usize].notify_all();
        }
        let later = state.callbacks.split_off(&(self.durable() + 1, 0));
        let served = std::mem::replace(&mut state.callbacks, later);
        drop(state);
        served.into_values().collect()
    }
}

/// A panic of a thread of the log must not leave others waiting for it.
pub struct StopOnPanic<'a>(pub &'a Shared);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let cause = std::io::Error::other("a thread of the log has panicked");
            self.0.stop(DiskError::new(Operation::Write, "the log", cause));
        }
    }
}
