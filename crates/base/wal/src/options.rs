//! Options, each with its meaning, unit, default and limit.

use crate::error::LogError;
use crate::format::{SEGMENT_HEADER, SEGMENT_RESERVE, overhead};
use crate::progress::OnProgress;
use std::time::Duration;

/// Driver of writes and syncs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// The log's own threads: one writes groups and syncs them, one prepares segments ahead.
    #[default]
    Threads,
    /// Whoever waits: no thread is started, nothing happens unless somebody calls. For simulations, which must not depend on
    /// the operating system's scheduling. Asynchronous records become durable with the next wait, flush or close.
    Caller,
}

/// Options of a log.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Bytes of one segment file, reserved when it is created. Also bounds the largest part of a record (about 200 bytes less).
    /// Default 64 MiB; 1 KiB to 1 GiB. Larger ones cost space and recovery time, smaller ones more files.
    pub segment_bytes: u64,
    /// Bytes of one part of a large record, as an engine should cut it. Default 256 KiB; at least 64 bytes and at most what a
    /// segment takes. The log's latch is held while a part is copied: larger parts hold up others, smaller ones cost bytes.
    pub part_bytes: usize,
    /// Bytes of records that may wait in memory to be written; appends beyond that wait (back-pressure). Default 8 MiB; at
    /// least 1 KiB. One record larger than that passes alone. Parts of large records use half of it,
    /// so that others always find room.
    pub buffer_bytes: usize,
    /// Longest time that [`Async`](crate::Durability::Async) records stay unsynced. Default 50 ms; 1 ms to 1 hour.
    pub flush_interval: Duration,
    /// Longest time that the log waits for those who waited for the previous group to come with their next records before
    /// it syncs the next group; it never waits if the previous group had one waiter, nor longer than an fdatasync takes here.
    /// Without that wait, groups hold about half of the clients. Default 10 ms; zero (never) to 10 ms.
    pub group_gather: Duration,
    /// Longest wait of an append for the disk (buffer full, or next segment not ready) before it fails with
    /// [`LogError::Stalled`]. Default 10 s; at least 1 ms.
    pub append_timeout: Duration,
    /// Driver of the work. Default: the log's own threads.
    pub driver: Driver,
    /// Threads that apply what is found on opening; one is the caller itself. Default 0: one for each core, and one with
    /// [`Driver::Caller`]. At most 256.
    pub recovery_threads: usize,
    /// Who hears how far opening has come. Default: nobody.
    pub on_progress: Option<OnProgress>,
    /// Reads what is there and writes nothing: appends and checkpoints fail with [`LogError::ReadOnly`], and the directory is
    /// left as it is, with what a crash has left in it. Default false.
    pub read_only: bool,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            segment_bytes: 64 << 20,
            part_bytes: 256 << 10,
            buffer_bytes: 8 << 20,
            flush_interval: Duration::from_millis(50),
            group_gather: Duration::from_millis(10),
            append_timeout: Duration::from_secs(10),
            driver: Driver::Threads,
            recovery_threads: 0,
            on_progress: None,
            read_only: false,
        }
    }
}

impl LogOptions {
    /// The longest payload that one record or part takes, in bytes.
    #[must_use]
    pub fn max_payload(&self) -> usize {
        let taken = SEGMENT_HEADER + SEGMENT_RESERVE + overhead::GROUP + overhead::PART;
        self.segment_bytes.saturating_sub(taken) as usize
    }

    /// Bytes at which a large record is cut into parts.
    #[must_use]
    pub fn part_bytes(&self) -> usize {
        self.part_bytes.min(self.max_payload())
    }

    /// Bytes of a segment after its header.
    pub(crate) fn segment_capacity(&self) -> u64 {
        self.segment_bytes - SEGMENT_HEADER
    }

    /// Threads of a replay.
    pub(crate) fn threads(&self) -> usize {
        match self.recovery_threads {
            // Shuttle's models know no other threads than their own.
            _ if cfg!(feature = "shuttle") => 1,
            0 if self.driver == Driver::Caller => 1,
            0 => env::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    pub(crate) fn check(&self) -> Result<(), LogError> {
        let bad = |option, limit| Err(LogError::BadOption { option, limit });
        let (millisecond, hour) = (Duration::from_millis(1), Duration::from_secs(3600));
        if !(1 << 10..=1 << 30).contains(&self.segment_bytes) {
            return bad("segment_bytes", "1 KiB to 1 GiB");
        }
        if self.part_bytes < 64 {
            return bad("part_bytes", "at least 64 bytes");
        }
        if self.buffer_bytes < 1 << 10 {
            return bad("buffer_bytes", "at least 1 KiB");
        }
        if !(millisecond..=hour).contains(&self.flush_interval) {
            return bad("flush_interval", "1 ms to 1 hour");
        }
        if self.recovery_threads > 256 {
            return bad("recovery_threads", "at most 256");
        }
        if self.group_gather > Duration::from_millis(10) {
            return bad("group_gather", "at most 10 ms");
        }
        if !(millisecond..=hour).contains(&self.append_timeout) {
            return bad("append_timeout", "1 ms to 1 hour");
        }
        Ok(())
    }
}
