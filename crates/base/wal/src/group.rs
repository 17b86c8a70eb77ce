//! Group commit: takes the gathered records, writes them, and issues one fdatasync for all waiters.

use crate::buffer::Chunk;
use crate::error::LogError;
use crate::gather::GatherEnd;
use crate::segment::Segment;
use crate::shared::{Phase, Shared, State};
use crate::sync::{Arc, Ordering, lock, thread};
use crate::wait::call_all;
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
}

impl Writer {
    /// Goes on in `segment`, all of whose bytes are durable.
    pub fn new(segment: Arc<Segment>) -> Self {
        Self { segment, unsynced: false, failed: false }
    }

    fn sync(&mut self) -> Result<Duration, DiskError> {
        assert!(!self.failed, "L7: a failed fdatasync is not tried again");
        let start = Instant::now();
        self.segment.file.sync().inspect_err(|_| self.failed = true)?;
        self.unsynced = false;
        Ok(start.elapsed())
    }

    fn write(&mut self, chunk: &Chunk) -> Result<(), DiskError> {
        self.check(chunk);
        self.unsynced = true;
        let place = self.segment.place;
        self.segment.file.write_at(place.offset(chunk.start), &chunk.bytes).inspect_err(|_| self.failed = true)
    }

    /// Writes and syncs: in one call if nothing else is unsynced, since that call makes its own bytes durable only.
    fn write_durably(&mut self, chunk: &Chunk) -> Result<Duration, DiskError> {
        if self.unsynced {
            self.write(chunk)?;
            return self.sync();
        }
        self.check(chunk);
        let (offset, start) = (self.segment.place.offset(chunk.start), Instant::now());
        self.segment.file.append_durable_at(offset, &chunk.bytes).inspect_err(|_| self.failed = true)?;
        Ok(start.elapsed())
    }

    fn check(&self, chunk: &Chunk) {
        assert!(!self.failed, "L7: nothing is written after a failure");
        let (place, end) = (self.segment.place, chunk.start + chunk.bytes.len() as u64);
        assert!(place.start <= chunk.start && end <= place.end(), "L3: what is written has space in its segment");
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

/// What the writing thread is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Write what waits, and sync.
    Sync,
    /// Write what waits, to make room.
    Write,
    /// Call those whom a waiter that wrote has served.
    Call,
    /// Nothing before this time is over.
    Later(Duration),
    /// Nothing.
    Rest,
}

impl Shared {
    /// The writing thread.
    pub fn write_groups(&self) {
        let _guard = StopOnPanic(self);
        while let Some(work) = self.next_work() {
            let done = match work {
                Work::Sync => match self.gather() {
                    GatherEnd::Write => self.run_round(true),
                    GatherEnd::Taken => Ok(()),
                },
                Work::Write => self.run_round(false),
                Work::Call => {
                    let served = self.take_served(&mut self.lock());
                    call_all(served.into_iter().map(|callback| (callback, Ok(()))));
                    Ok(())
                }
                Work::Later(_) | Work::Rest => unreachable!("it sleeps instead"),
            };
            if done.is_err() {
                return;
            }
        }
    }

    /// Waits for work; `None` when there will be none. While a waiter writes in its place, the thread has nothing to do.
    fn next_work(&self) -> Option<Work> {
        let mut state = self.lock();
        loop {
            if state.phase != Phase::Open || state.stopped.is_some() {
                return None;
            }
            let work = if state.led { Work::Rest } else { self.work_in(&state) };
            state.sleeping = true;
            state = match work {
                Work::Rest => self.work.wait(state).expect("no holder of this latch panics"),
                Work::Later(due) => self.work.wait_timeout(state, due).expect("no holder of this latch panics").0,
                work => {
                    state.sleeping = false;
                    return Some(work);
                }
            };
            state.sleeping = false;
        }
    }

    /// What there is to do.
    fn work_in(&self, state: &State) -> Work {
        if state.callbacks.first_key_value().is_some_and(|(key, _)| key.0 <= self.durable()) {
            return Work::Call;
        }
        let due = state.oldest_async.map(|oldest| self.options.flush_interval.saturating_sub(oldest.elapsed()));
        if state.wanted > self.durable() || due == Some(Duration::ZERO) {
            return Work::Sync;
        }
        if state.drain_wanted || state.buffer.pending() >= self.options.buffer_bytes / 2 {
            return Work::Write;
        }
        due.map_or(Work::Rest, Work::Later)
    }

    /// Writes everything that waits, and syncs it if asked to. After an error the log has stopped.
    pub fn run_round(&self, sync: bool) -> Result<(), LogError> {
        let served = self.run_round_with(sync, |state| self.take_served(state))?;
        call_all(served.into_iter().map(|callback| (callback, Ok(()))));
        Ok(())
    }

    /// Same as above, with a sync and in the writing thread's place, to which it leaves callbacks and whatever else has come.
    pub fn run_round_as_waiter(&self) -> Result<(), LogError> {
        self.run_round_with(true, |state| {
            state.led = false;
            if self.work_in(state) != Work::Rest {
                self.wake_writer(state);
            }
        })
    }

    /// Writes everything that waits; calls `and_then` under the latch in which it tells that it has.
    fn run_round_with<T>(&self, sync: bool, and_then: impl FnOnce(&mut State) -> T) -> Result<T, LogError> {
        let mut writer = lock(&self.writer);
        let (mut group, before) = (self.take_group(sync)?, self.durable());
        match self.write_group(&mut writer, &mut group, sync) {
            Ok(effort) => {
                let (round, result) = {
                    let mut state = self.lock();
                    state.count(group, &effort, sync);
                    // Without a sync, the end of a segment is durable all the same: who waits for that waits for the next round.
                    (state.round + u64::from(!sync), and_then(&mut state))
                };
                let has_served = sync || self.durable() > before;
                drop(writer);
                self.space.notify_all();
                if has_served {
                    self.done[(round % 2) as usize].raise();
                }
                Ok(result)
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
            waiters = std::mem::take(&mut state.arrived);
        }
        Ok(Group { chunks: state.buffer.take(), end, waiters })
    }

    /// Invariant L2: a segment gets its first byte after everything in the one before is durable.
    fn write_group(&self, writer: &mut Writer, group: &mut Group, sync: bool) -> Result<Effort, DiskError> {
        let mut effort = Effort::default();
        let last = group.chunks.len().saturating_sub(1);
        for (index, chunk) in group.chunks.iter_mut().enumerate() {
            if chunk.segment.place.number != writer.segment.place.number {
                if writer.unsynced {
                    effort.count(writer.sync()?);
                }
                assert!(chunk.start == chunk.segment.place.start, "L2: a segment is filled from its first byte on");
                self.raise_durable(chunk.start, writer);
                writer.segment = Arc::clone(&chunk.segment);
            }
            chunk.vouch(self.durable(), self.identity);
            if sync || index < last {
                effort.count(writer.write_durably(chunk)?);
            } else {
                writer.write(chunk)?;
            }
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
}

impl State {
    /// Notes what a round has done.
    fn count(&mut self, group: Group, effort: &Effort, sync: bool) {
        self.stats.groups += group.chunks.len() as u64;
        self.stats.syncs += effort.syncs;
        self.stats.sync_time += effort.sync_time;
        self.stats.longest_sync = self.stats.longest_sync.max(effort.longest_sync);
        self.stats.waiters += group.waiters as u64;
        self.stats.largest_group = self.stats.largest_group.max(group.waiters as u64);
        self.buffer.recycle(group.chunks);
        if sync {
            self.gathering.last_group = group.waiters;
        }
        if let Some(mean) = effort.sync_time.checked_div(effort.syncs as u32) {
            self.sync_time = (self.sync_time * 7 + mean) / 8;
        }
    }
}

/// A panic of a thread of the log must not leave others waiting for it.
pub struct StopOnPanic<'a>(pub &'a Shared);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            stop_after_panic(self.0);
        }
    }
}

fn stop_after_panic(shared: &Shared) {
    let cause = std::io::Error::other("a thread of the log has panicked");
    shared.stop(DiskError::new(Operation::Write, "the log", cause));
}

/// The same for a waiter that writes in the thread's place. It may be unwinding already, for a reason of its own.
pub struct StopUnlessDone<'a> {
    shared: &'a Shared,
    done: bool,
}

impl<'a> StopUnlessDone<'a> {
    /// Stops the log when dropped.
    pub fn new(shared: &'a Shared) -> Self {
        Self { shared, done: false }
    }

    /// Does nothing when dropped.
    pub fn done(mut self) {
        self.done = true;
    }
}

impl Drop for StopUnlessDone<'_> {
    fn drop(&mut self) {
        if !self.done {
            stop_after_panic(self.shared);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Durability, Log, LogOptions};
    use env::{Operation, SimDisk, SimDiskOptions, WatchedDisk};
    use std::sync::{Arc, Mutex, mpsc};
    use std::thread;

    /// A round that only makes room makes durable what it ends a segment with. Who has come meanwhile to wait for that is woken:
    /// there may be no other round.
    #[test]
    fn who_waits_for_the_end_of_a_segment_is_woken_though_nobody_syncs() {
        let stop = Arc::new(Mutex::new(None::<(mpsc::Sender<()>, mpsc::Receiver<()>)>));
        let disk = WatchedDisk::new(SimDisk::new(1, SimDiskOptions::default()), {
            let stop = Arc::clone(&stop);
            move |operation, path| {
                if operation == Operation::Sync && path.ends_with(".log") {
                    let stop = stop.lock().unwrap().take();
                    if let Some((reached, gate)) = stop {
                        reached.send(()).unwrap();
                        gate.recv().unwrap();
                    }
                }
            }
        });
        let options = LogOptions { segment_bytes: 1 << 16, buffer_bytes: 1 << 18, ..LogOptions::default() };
        let (log, _) = Log::open(Arc::new(disk), options).unwrap();
        let ((reached, is_reached), (open, gate)) = (mpsc::channel(), mpsc::channel());
        *stop.lock().unwrap() = Some((reached, gate));
        let first = log.append(1, &[7; 1000], Durability::None).unwrap();
        // More than half of the buffer: the thread makes room.
        for _ in 0..150 {
            log.append(1, &[7; 1000], Durability::None).unwrap();
        }
        is_reached.recv().unwrap();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| log.wait_durable(first).unwrap());
            while log.shared().lock().wanted < first.to_raw() {
                thread::yield_now();
            }
            open.send(()).unwrap();
            waiter.join().unwrap();
        });
        assert!(log.durable() >= first && log.durable() < log.appended(), "nobody has synced the rest");
    }
}
