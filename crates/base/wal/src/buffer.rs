//! Records on their way to the disk: where positions are drawn. Pure: no thread, no disk.

use crate::format::{Payload, RecordKind, overhead, push_record};
use crate::segment::{Sealed, Segment};
use crate::sync::Arc;
use std::collections::VecDeque;
use std::ops::Range;

/// Emptied buffers that are kept for the next groups.
const SPARES: usize = 2;
/// Bytes of the largest that is kept: a rare huge record does not hold its memory for ever.
const LARGEST_SPARE: usize = 16 << 20;

/// Adjacent records of one segment; they begin with the group's record, which is filled in when the chunk is written.
#[derive(Debug)]
pub struct Chunk {
    /// Segment that receives the records.
    pub segment: Arc<Segment>,
    /// Position of the first record.
    pub start: u64,
    /// The records.
    pub bytes: Vec<u8>,
}

impl Chunk {
    /// Fills in the group's record: everything before `durable` is vouched for.
    pub fn vouch(&mut self, durable: u64, identity: u64) {
        assert!(durable <= self.start, "L4: a group names a position that is durable before it is written");
        let mut record = Vec::with_capacity(overhead::GROUP as usize);
        let payload = durable.to_le_bytes();
        push_record(&mut record, RecordKind::Group, 0, Payload::new(&payload), self.start, identity);
        self.bytes[..record.len()].copy_from_slice(&record);
    }
}

/// Records that were given a position but not to the writer yet, and the segment that they fill.
#[derive(Debug)]
pub struct Buffer {
    identity: u64,
    chunks: Vec<Chunk>,
    pending: usize,
    tail: u64,
    segment: Arc<Segment>,
    max_stamp: u64,
    sealed: VecDeque<Sealed>,
    spares: Vec<Vec<u8>>,
    /// The tail at which the log is as clean as a stop leaves it.
    stopped_at: Option<u64>,
}

impl Buffer {
    /// Goes on at `tail` in `segment`, which already has records up to `max_stamp`.
    pub fn new(identity: u64, segment: Arc<Segment>, tail: u64, max_stamp: u64, sealed: VecDeque<Sealed>) -> Self {
        Self {
            identity,
            chunks: Vec::new(),
            pending: 0,
            tail,
            segment,
            max_stamp,
            sealed,
            spares: Vec::new(),
            stopped_at: None,
        }
    }

    /// Says that the last record is a stop.
    pub fn set_stopped(&mut self) {
        self.stopped_at = Some(self.tail);
    }

    /// Returns whether the last record is a stop.
    pub fn is_stopped(&self) -> bool {
        self.stopped_at == Some(self.tail)
    }

    /// Position of the next record.
    pub fn tail(&self) -> u64 {
        self.tail
    }

    /// Bytes that wait for the writer.
    pub fn pending(&self) -> usize {
        self.pending
    }

    /// The segment that is being filled.
    pub fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// Segments that are full, oldest first.
    pub fn sealed(&mut self) -> &mut VecDeque<Sealed> {
        &mut self.sealed
    }

    /// Returns whether more than half of the segment is used.
    pub fn is_half_full(&self) -> bool {
        self.tail - self.segment.place.start > self.segment.place.capacity / 2
    }

    /// Returns whether a record of `bytes` bytes has room in the segment.
    pub fn fits(&self, bytes: u64) -> bool {
        let group = if self.is_chunk_open() { 0 } else { overhead::GROUP };
        self.tail + group + bytes <= self.segment.place.redo_limit()
    }

    /// Appends a redo record or a part of one, for which there is room, and returns where it begins and ends.
    pub fn push_redo(&mut self, kind: RecordKind, stamp: u64, payload: Payload<'_>) -> Range<u64> {
        assert!(self.fits(payload.record_bytes()), "L3: space was reserved before");
        self.max_stamp = self.max_stamp.max(stamp);
        self.push(kind, stamp, payload);
        self.tail - payload.record_bytes()..self.tail
    }

    /// Ends the segment and goes on in `next`.
    pub fn switch(&mut self, next: Arc<Segment>) {
        let (full, following) = (self.segment.place, next.place);
        assert!(following.number == full.number + 1 && following.start == full.end(), "L5: segments form a chain");
        self.push(RecordKind::Seal, 0, Payload::new(&0u64.to_le_bytes()));
        self.sealed.push_back(Sealed { number: self.segment.place.number, end: self.tail, max_stamp: self.max_stamp });
        self.tail = following.start;
        self.segment = next;
        self.max_stamp = 0;
    }

    /// Ends a clean run.
    pub fn push_stop(&mut self) {
        self.push(RecordKind::Stop, 0, Payload::new(&[]));
        self.set_stopped();
    }

    /// Hands all that waits to the writer.
    pub fn take(&mut self) -> Vec<Chunk> {
        self.pending = 0;
        std::mem::take(&mut self.chunks)
    }

    /// Takes back what the writer has written, to use the memory again.
    pub fn recycle(&mut self, chunks: Vec<Chunk>) {
        for chunk in chunks {
            if self.spares.len() < SPARES && chunk.bytes.capacity() <= LARGEST_SPARE {
                let mut bytes = chunk.bytes;
                bytes.clear();
                self.spares.push(bytes);
            }
        }
    }

    fn is_chunk_open(&self) -> bool {
        self.chunks.last().is_some_and(|chunk| chunk.segment.place.number == self.segment.place.number)
    }

    fn push(&mut self, kind: RecordKind, stamp: u64, payload: Payload<'_>) {
        if !self.is_chunk_open() {
            let mut bytes = self.spares.pop().unwrap_or_default();
            bytes.resize(overhead::GROUP as usize, 0);
            self.chunks.push(Chunk { segment: Arc::clone(&self.segment), start: self.tail, bytes });
            self.grow(overhead::GROUP);
        }
        let chunk = self.chunks.last_mut().expect("a chunk was opened");
        let end = chunk.start + chunk.bytes.len() as u64;
        assert!(end == self.tail, "L1: a record begins where the one before it ends");
        push_record(&mut chunk.bytes, kind, stamp, payload, self.tail, self.identity);
        self.grow(payload.record_bytes());
    }

    fn grow(&mut self, bytes: u64) {
        self.tail += bytes;
        self.pending += bytes as usize;
    }
}
