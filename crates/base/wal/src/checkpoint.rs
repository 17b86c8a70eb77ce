//! Checkpoints: all rows as of a bound, in one file that replaces the one before as a whole.
//!
//! | | header block | rows, each: length, CRC32C, bytes | end block |
//! | --- | --- | --- | --- |
//! | | where the log was when it was begun | checksums also cover the row's number and the log's identity | count, bound, first segment still needed |
//!
//! It is written under another name, synced, and then renamed: under its own name it is always complete.

use crate::control::newer;
use crate::error::{Damage, DamageKind, LogError};
use crate::format::{BLOCK, Block, BlockError, BlockKind};
use crate::segment::{Sealed, Segment, create_unfinished, discard, remove_if_there};
use crate::shared::Shared;
use crate::sync::{Arc, Ordering, lock};
use crate::window::Window;
use codec::u32_at;
use env::{Disk, DiskError, DiskFile, DiskLock};
use model::LogPosition;

/// The file's name.
pub const CHECKPOINT: &str = "CHECKPOINT";
/// Its name while it is being written: the name and [`UNFINISHED`](crate::segment::UNFINISHED).
const UNFINISHED_CHECKPOINT: &str = "CHECKPOINT.tmp";

/// Bytes that are written at a time.
const WRITE: usize = 256 * 1024;
/// Bytes after which the file is synced while it is being written, so that the sync at the end does not hold up the log's.
const SYNC_EVERY: u64 = 8 << 20;
/// Bytes of a row, at most.
const MAX_ROW: usize = 1 << 30;
/// Bytes of a row's length and checksum.
const ROW_HEADER: u64 = 8;

fn row_checksum(payload: &[u8], index: u64, identity: u64) -> u32 {
    let mut rest = [0; 20];
    rest[..8].copy_from_slice(&index.to_le_bytes());
    rest[8..12].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    rest[12..].copy_from_slice(&identity.to_le_bytes());
    crc32c::crc32c_append(crc32c::crc32c(payload), &rest)
}

/// A checkpoint being written. Dropped unfinished, it leaves no trace.
pub struct CheckpointWriter {
    shared: Arc<Shared>,
    file: Arc<dyn DiskFile>,
    /// End of the log when the checkpoint began.
    start: u64,
    buffer: Vec<u8>,
    /// File offset of the buffer.
    offset: u64,
    unsynced: u64,
    rows: u64,
    finished: bool,
    /// Dropped last, after the unfinished file is gone.
    _turn: Turn,
}

/// The right to write a checkpoint, which one writer at a time has. It keeps the directory locked beyond a close of the log, so
/// that nobody else finds a half-written file there.
struct Turn {
    shared: Arc<Shared>,
    _directory: Arc<DiskLock>,
}

impl Turn {
    fn take(shared: &Arc<Shared>) -> Result<Self, LogError> {
        let directory = lock(&shared.directory).clone().ok_or(LogError::Closed)?;
        // Acquire and Release order the file operations of one checkpoint after those of the one before.
        if shared.checkpointing.swap(true, Ordering::Acquire) {
            return Err(LogError::CheckpointRunning);
        }
        Ok(Self { shared: Arc::clone(shared), _directory: directory })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.shared.checkpointing.store(false, Ordering::Release);
    }
}

impl CheckpointWriter {
    pub(crate) fn begin(shared: Arc<Shared>) -> Result<Self, LogError> {
        let start = {
            let state = shared.lock();
            state.check_open()?;
            if shared.options.read_only {
                return Err(LogError::ReadOnly);
            }
            state.buffer.tail()
        };
        let turn = Turn::take(&shared)?;
        let file = create_unfinished(&*shared.disk, UNFINISHED_CHECKPOINT).map_err(LogError::clean)?;
        let header = Block { kind: BlockKind::CheckpointStart, identity: shared.identity, numbers: [start, 0, 0, 0] };
        let buffer = header.encode().to_vec();
        Ok(Self { shared, file, start, buffer, offset: 0, unsynced: 0, rows: 0, finished: false, _turn: turn })
    }

    /// Adds a row (any bytes, at most 1 GiB).
    ///
    /// # Errors
    /// [`LogError::TooLarge`]; [`LogError::Full`] or [`LogError::Disk`]: the log goes on without this checkpoint.
    pub fn write(&mut self, row: &[u8]) -> Result<(), LogError> {
        if row.len() > MAX_ROW {
            return Err(LogError::TooLarge { bytes: row.len(), limit: MAX_ROW });
        }
        self.buffer.extend_from_slice(&(row.len() as u32).to_le_bytes());
        self.buffer.extend_from_slice(&row_checksum(row, self.rows, self.shared.identity).to_le_bytes());
        self.buffer.extend_from_slice(row);
        self.rows += 1;
        if self.buffer.len() >= WRITE {
            self.write_out().map_err(LogError::clean)?;
        }
        Ok(())
    }

    /// End of the log when the checkpoint began.
    #[must_use]
    pub fn start(&self) -> LogPosition {
        LogPosition::from_raw(self.start)
    }

    /// Completes the checkpoint and removes the segments that it makes unnecessary.
    ///
    /// The rows hold whatever records up to [`start`](Self::start) with stamps below `bound` have left, and perhaps what records
    /// up to `rests_on` have. Waits until the log is durable up to there.
    ///
    /// # Errors
    /// [`LogError::Full`] or [`LogError::Disk`]: the previous checkpoint stays, the log goes on;
    /// [`LogError::Stopped`], [`LogError::Closed`].
    pub fn finish(mut self, bound: u64, rests_on: LogPosition) -> Result<(), LogError> {
        self.shared.wait_durable(self.start.max(rests_on.to_raw()))?;
        self.shared.lock().check_open()?;
        let first_needed = self.first_needed(bound);
        self.write_end(bound, first_needed).map_err(LogError::clean)?;
        assert!(
            self.start.max(rests_on.to_raw()) <= self.shared.durable(),
            "L8: the log is durable up to what is in it"
        );
        self.replace()?;
        self.remove_segments(first_needed, bound)
    }

    /// The first segment that holds a record behind the start, or one of the bound or later.
    fn first_needed(&self, bound: u64) -> u64 {
        let mut state = self.shared.lock();
        let current = state.buffer.segment().place.number;
        let needed = state.buffer.sealed().iter().find(|sealed| sealed.max_stamp >= bound || sealed.end > self.start);
        needed.map_or(current, |sealed| sealed.number)
    }

    fn write_end(&mut self, bound: u64, first_needed: u64) -> Result<(), DiskError> {
        let bytes = self.offset + self.buffer.len() as u64 - BLOCK as u64;
        let numbers = [self.rows, bound, first_needed, bytes];
        let end = Block { kind: BlockKind::CheckpointEnd, identity: self.shared.identity, numbers };
        self.buffer.extend_from_slice(&end.encode());
        self.write_out()?;
        self.file.sync()
    }

    /// Gives the file its name. From here on it counts.
    fn replace(&mut self) -> Result<(), LogError> {
        let disk = &self.shared.disk;
        disk.rename(UNFINISHED_CHECKPOINT, CHECKPOINT).map_err(LogError::clean)?;
        self.finished = true;
        self.sync_names()?;
        let mut state = self.shared.lock();
        state.stats.checkpoints += 1;
        state.stats.checkpoint_bytes = self.offset;
        state.stats.checkpoint = LogPosition::from_raw(self.start);
        Ok(())
    }

    fn sync_names(&self) -> Result<(), LogError> {
        self.shared.disk.sync_dir("").map_err(|error| {
            // Which names are durable is unknown, and the result of another sync could not be trusted.
            self.shared.stop(error.clone());
            LogError::Stopped(error)
        })
    }

    /// Removes what lies before `first_needed`: recovery does not ask for it any more.
    fn remove_segments(&self, first_needed: u64, bound: u64) -> Result<(), LogError> {
        assert!(self.finished, "L8: segments go when the checkpoint has its name");
        let mut removed = 0;
        loop {
            let oldest = self.shared.lock().buffer.sealed().front().copied();
            let Some(Sealed { number, end, max_stamp }) = oldest.filter(|oldest| oldest.number < first_needed) else {
                break;
            };
            assert!(end <= self.start && max_stamp < bound, "L8: a segment that goes ends before the start");
            remove_if_there(&*self.shared.disk, &Segment::name(number)).map_err(LogError::Disk)?;
            let mut state = self.shared.lock();
            state.buffer.sealed().pop_front();
            state.stats.segments_removed += 1;
            removed += 1;
        }
        if removed > 0 { self.sync_names() } else { Ok(()) }
    }

    fn write_out(&mut self) -> Result<(), DiskError> {
        self.file.write_at(self.offset, &self.buffer)?;
        self.offset += self.buffer.len() as u64;
        self.unsynced += self.buffer.len() as u64;
        self.shared.lock().stats.checkpoint_bytes_written += self.buffer.len() as u64;
        self.buffer.clear();
        if self.unsynced >= SYNC_EVERY {
            self.file.sync()?;
            self.unsynced = 0;
        }
        Ok(())
    }
}

impl Drop for CheckpointWriter {
    fn drop(&mut self) {
        if !self.finished {
            discard(&*self.shared.disk, UNFINISHED_CHECKPOINT);
        }
    }
}

/// Description of a checkpoint, as stored in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointInfo {
    /// End of the log when the checkpoint began.
    pub start: LogPosition,
    /// Its rows are what the records up to the start with stamps below this have left.
    pub bound: u64,
    /// Number of rows.
    pub rows: u64,
    /// Bytes of them, with 8 more for each.
    pub bytes: u64,
    /// The number of the first segment that is still needed beside it.
    pub first_segment: u64,
}

/// Reads a checkpoint's rows.
pub struct CheckpointReader {
    info: CheckpointInfo,
    identity: u64,
    window: Window,
    offset: u64,
    index: u64,
}

impl CheckpointReader {
    /// Opens the checkpoint, if there is one.
    pub(crate) fn open(disk: &dyn Disk, identity: u64) -> Result<Self, LogError> {
        let file: Arc<dyn DiskFile> = disk.open(CHECKPOINT).map_err(LogError::Disk)?.into();
        let mut window = Window::new(file).map_err(LogError::Disk)?;
        let length = window.length();
        let [start, ..] = read_block(&mut window, 0, BlockKind::CheckpointStart, identity)?;
        let end = length.checked_sub(BLOCK as u64).ok_or_else(|| corrupt(0, length, DamageKind::Short))?;
        let [rows, bound, first_segment, bytes] = read_block(&mut window, end, BlockKind::CheckpointEnd, identity)?;
        if end != BLOCK as u64 + bytes {
            return Err(corrupt(0, length, DamageKind::Short));
        }
        let info = CheckpointInfo { start: LogPosition::from_raw(start), bound, rows, bytes, first_segment };
        Ok(Self { info, identity, window, offset: BLOCK as u64, index: 0 })
    }

    /// Reads every row once, calls `read` with its bytes, and returns a reader that stands at the first again.
    pub(crate) fn verified(mut self, mut read: impl FnMut(u64)) -> Result<Self, LogError> {
        while let Some(row) = self.next_row()? {
            read(row.len() as u64);
        }
        (self.offset, self.index) = (BLOCK as u64, 0);
        Ok(self)
    }

    /// Returns the checkpoint's description.
    #[must_use]
    pub fn info(&self) -> CheckpointInfo {
        self.info
    }

    /// The next row; `None` after the last.
    ///
    /// # Errors
    /// [`LogError::Corrupt`] or [`LogError::Disk`]: the file has changed since it was verified on opening.
    pub fn next_row(&mut self) -> Result<Option<&[u8]>, LogError> {
        let end = BLOCK as u64 + self.info.bytes;
        let left = end - self.offset;
        if left == 0 && self.index == self.info.rows {
            return Ok(None);
        }
        let offset = self.offset;
        let header = self.window.at(offset, ROW_HEADER.min(left)).map_err(LogError::Disk)?;
        if header.len() < ROW_HEADER as usize {
            return Err(corrupt(offset, left, DamageKind::Record));
        }
        let (length, checksum) = (u64::from(u32_at(header, 0)), u32_at(header, 4));
        if ROW_HEADER + length > left {
            return Err(corrupt(offset, left, DamageKind::Record));
        }
        let row = self.window.at(offset, ROW_HEADER + length).map_err(LogError::Disk)?;
        let row = row.get(ROW_HEADER as usize..).unwrap_or_default();
        if row.len() as u64 != length || row_checksum(row, self.index, self.identity) != checksum {
            return Err(corrupt(offset, ROW_HEADER + length, DamageKind::Record));
        }
        self.offset += ROW_HEADER + length;
        self.index += 1;
        Ok(Some(row))
    }
}

fn read_block(window: &mut Window, offset: u64, kind: BlockKind, identity: u64) -> Result<[u64; 4], LogError> {
    let bytes = window.at(offset, BLOCK as u64).map_err(LogError::Disk)?;
    match Block::decode(bytes, kind) {
        Ok(block) if block.identity == identity => Ok(block.numbers),
        Ok(_) => Err(corrupt(offset, BLOCK as u64, DamageKind::Foreign)),
        Err(BlockError::Newer(found)) => Err(newer(CHECKPOINT, found)),
        Err(BlockError::Damaged) => Err(corrupt(offset, BLOCK as u64, DamageKind::Header)),
    }
}

fn corrupt(offset: u64, bytes: u64, kind: DamageKind) -> LogError {
    LogError::Corrupt(Damage { file: CHECKPOINT.to_owned(), offset, bytes, kind })
}
