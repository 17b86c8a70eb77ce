//! Records in parts: records too large to be held encoded in memory.
//!
//! Other records come between the parts of one, so that other transactions commit meanwhile. Nothing can depend on a large
//! record before its last part is appended, since its engine publishes nothing before; and a record appended after the last
//! part is recovered only if that part is, and so are all parts before it (L1).

use crate::error::LogError;
use crate::format::{Payload, RecordKind, SEGMENT_RESERVE, overhead};
use crate::options::LogOptions;
use crate::shared::{CallersWaitLimit, Shared};
use crate::sync::Arc;
use model::{Durability, LogPosition};

/// Space on disk for a record in parts, taken before its place among the others is known. Dropped, it is given back.
pub struct LargeRoom {
    shared: Arc<Shared>,
    /// Segments that were prepared for it and not begun yet.
    promised: usize,
}

/// A record that is being appended in parts. Dropped unfinished, it counts for nothing: what was appended is passed over by
/// recovery, and goes with its segments.
pub struct LargeRecord<'a> {
    room: LargeRoom,
    caller: CallersWaitLimit<'a>,
    stamp: u64,
    /// Position of the first part. It identifies the record in its other parts.
    origin: Option<u64>,
}

impl LargeRoom {
    pub(crate) fn take(
        shared: Arc<Shared>,
        bytes: u64,
        largest: usize,
        caller: CallersWaitLimit<'_>,
    ) -> Result<Self, LogError> {
        shared.check_size(largest)?;
        let promised = shared.promise(Need::of(&shared.options, bytes, largest as u64), caller)?;
        Ok(Self { shared, promised })
    }

    /// Begins the record. `stamp` as for [`Log::append`](crate::Log::append); each part waits no longer than its caller does.
    pub fn begin(self, stamp: u64, caller: CallersWaitLimit<'_>) -> LargeRecord<'_> {
        LargeRecord { room: self, caller, stamp, origin: None }
    }
}

impl LargeRecord<'_> {
    /// Appends a part that is not the last.
    ///
    /// # Errors
    /// Same as [`Log::append`](crate::Log::append). The record must then be dropped.
    pub fn append(&mut self, payload: &[u8]) -> Result<(), LogError> {
        self.push(payload, RecordKind::Part, Durability::None)?;
        Ok(())
    }

    /// Appends the last part, which commits the record, and returns the record's position.
    ///
    /// # Errors
    /// Same as [`Log::append`](crate::Log::append): nothing counts then.
    pub fn finish(mut self, payload: &[u8], durability: Durability) -> Result<LogPosition, LogError> {
        self.push(payload, RecordKind::LastPart, durability).map(LogPosition::from_raw)
    }

    fn push(&mut self, bytes: &[u8], kind: RecordKind, durability: Durability) -> Result<u64, LogError> {
        let LargeRoom { shared, promised } = &mut self.room;
        shared.check_size(bytes.len())?;
        let (kind, payload) = match (self.origin, kind) {
            (Some(origin), kind) => (kind, Payload::continuing(origin, bytes)),
            (None, RecordKind::LastPart) => (RecordKind::Redo, Payload::new(bytes)),
            (None, _) => (RecordKind::FirstPart, Payload::new(bytes)),
        };
        // Half of the buffer: others find room while the disk writes this.
        let limit = shared.options.buffer_bytes / 2;
        let mut state = shared.make_room(payload.record_bytes(), limit, promised, self.caller)?;
        let place = state.buffer.push_redo(kind, self.stamp, payload);
        self.origin.get_or_insert(place.start);
        state.stats.records += u64::from(matches!(kind, RecordKind::Redo | RecordKind::LastPart));
        state.stats.payload_bytes += bytes.len() as u64;
        shared.wake_for(&mut state, durability);
        Ok(place.end)
    }
}

impl Drop for LargeRoom {
    fn drop(&mut self) {
        if self.promised > 0 {
            self.shared.give_back(self.promised);
        }
    }
}

impl std::fmt::Debug for LargeRoom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LargeRoom").field("promised", &self.promised).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for LargeRecord<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LargeRecord").field("stamp", &self.stamp).field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// Upper limit of what a large record needs.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// Bytes of its parts.
    pub bytes: u64,
    /// Segments, where it gets nothing of the one that is being filled.
    pub segments: usize,
}

impl Need {
    /// Two parts that follow each other are together larger than [`LogOptions::part_bytes`], by which their number is bounded;
    /// each may have a group to itself; and each segment may be left with less room than the largest part needs.
    fn of(options: &LogOptions, bytes: u64, largest: u64) -> Self {
        let part_bytes = options.part_bytes() as u64;
        let overhead = overhead::PART + overhead::GROUP;
        let bytes = bytes + (2 * bytes / part_bytes + 2) * overhead;
        let usable = options.segment_capacity() - SEGMENT_RESERVE;
        let filled = usable.saturating_sub(largest + overhead).max(part_bytes / 2);
        Self { bytes, segments: bytes.div_ceil(filled) as usize }
    }
}
