//! Start of appends after recovery: at once, or when the disk has space for it.

use crate::buffer::Buffer;
use crate::error::LogError;
use crate::format::{Payload, RecordKind, overhead, push_record};
use crate::options::LogOptions;
use crate::scan::{Ending, Scanned, open_segment};
use crate::segment::{Sealed, Segment};
use crate::sync::Arc;
use env::{Disk, DiskError};
use std::collections::VecDeque;
use std::io::ErrorKind;

/// Bytes that are written again at a time.
const REWRITE: u64 = 256 * 1024;

/// Target of appends: the last segment after a clean stop, else a new one, so that what a crash has left after the last record
/// can never be read again.
///
/// Two steps, since only the first needs space: [`reserve`](Self::reserve), which can be tried again after a full disk, and
/// [`finish`](Self::finish).
#[derive(Debug)]
pub struct Start {
    identity: u64,
    last: Scanned,
    segment: Segment,
    /// The segment before, whose seal may be known to the operating system only.
    before: Option<(Segment, Scanned)>,
    next: Option<Segment>,
    sealed: VecDeque<Sealed>,
}

impl Start {
    /// Looks where `chain`, which ends with the last segment that was written to, goes on; `next` is the blank one that follows
    /// it. Changes nothing.
    pub fn find(disk: &dyn Disk, identity: u64, chain: &[Scanned], next: Option<&Scanned>) -> Result<Self, LogError> {
        let open = |scanned: &Scanned| open_segment(disk, identity, scanned.place.number);
        let (last, earlier) = chain.split_last().expect("a log has a segment");
        let before = match last.is_blank() {
            true => earlier.last().map(|before| open(before).map(|segment| (segment, before.clone()))).transpose()?,
            false => None,
        };
        Ok(Self {
            identity,
            last: last.clone(),
            segment: open(last)?,
            before,
            next: next.map(open).transpose()?,
            sealed: earlier.iter().map(|scanned| seal_of(scanned, 0)).collect(),
        })
    }

    fn is_in_place(&self) -> bool {
        self.last.scan.ending == Ending::Stopped || self.last.is_blank()
    }

    /// Reserves what going on takes. After an error nothing has changed, and it can be tried again.
    pub fn reserve(&mut self, disk: &dyn Disk, options: &LogOptions) -> Result<(), DiskError> {
        let place = self.segment.place;
        if self.is_in_place() {
            // A close has given the space back.
            self.segment.file.allocate(place.file_bytes())
        } else if self.next.is_none() {
            let (number, start) = (place.number + 1, place.end());
            let created = Segment::create_first(disk, self.identity, number, start, options)?;
            self.next = Some(created);
            Ok(())
        } else {
            Ok(())
        }
    }

    /// Makes what was found durable (L6). Needs no space: only what stands there is written again.
    pub fn settle(&self) -> Result<(), DiskError> {
        if let Some((segment, scanned)) = &self.before {
            settle(segment, scanned, &[])?;
        }
        settle(&self.segment, &self.last, &[])
    }

    /// Makes what was found durable and ends what a crash has left open. Returns where appends go, and the segment that follows
    /// if it was prepared before the crash. Call it after [`reserve`](Self::reserve) has succeeded.
    pub fn finish(mut self) -> Result<(Buffer, VecDeque<Arc<Segment>>), DiskError> {
        if self.is_in_place() {
            self.settle()?;
            let next = self.next.take().into_iter().map(Arc::new).collect();
            return Ok((self.halted(), next));
        }
        close_segment(&self.segment, &self.last, self.identity)?;
        let next = self.next.expect("it was reserved");
        self.sealed.push_back(seal_of(&self.last, overhead::SEAL));
        let start = next.place.start;
        Ok((Buffer::new(self.identity, Arc::new(next), start, 0, self.sealed), VecDeque::new()))
    }

    /// The buffer of a log that ends with what was found.
    pub fn halted(&self) -> Buffer {
        let (segment, scan) = (Arc::new(self.segment.clone()), &self.last.scan);
        let mut buffer = Buffer::new(self.identity, segment, scan.end, scan.max_stamp, self.sealed.clone());
        if scan.ending == Ending::Stopped {
            buffer.set_stopped();
        }
        buffer
    }
}

fn seal_of(scanned: &Scanned, seal: u64) -> Sealed {
    Sealed { number: scanned.place.number, end: scanned.scan.end + seal, max_stamp: scanned.scan.max_stamp }
}

/// Seals what a crash has left open. The seal goes over what is cut off, so that a crash in the middle changes nothing.
fn close_segment(segment: &Segment, scanned: &Scanned, identity: u64) -> Result<(), DiskError> {
    let mut seal = Vec::new();
    let cut = scanned.leftover_bytes().to_le_bytes();
    push_record(&mut seal, RecordKind::Seal, 0, Payload::new(&cut), scanned.scan.end, identity);
    settle(segment, scanned, &seal)?;
    segment.file.truncate(segment.place.offset(scanned.scan.end) + seal.len() as u64)
}

/// Writes again what no fdatasync is known to have covered, with `more` behind it, and syncs. Reading has found the bytes, but
/// perhaps only in the operating system's memory; and after a failed sync in the run before, syncing alone would not bring
/// them to the disk.
fn settle(segment: &Segment, scanned: &Scanned, more: &[u8]) -> Result<(), DiskError> {
    let mut position = scanned.scan.settled.max(segment.place.start);
    let end = scanned.scan.end;
    let mut bytes = Vec::new();
    while position < end {
        bytes.resize((end - position).min(REWRITE) as usize, 0);
        let count = segment.file.read_full_at(segment.place.offset(position), &mut bytes)?;
        if count < bytes.len() {
            let cause = std::io::Error::from(ErrorKind::UnexpectedEof);
            return Err(DiskError::new(env::Operation::Read, &Segment::name(segment.place.number), cause));
        }
        segment.file.write_at(segment.place.offset(position), &bytes)?;
        position += bytes.len() as u64;
    }
    if !more.is_empty() {
        segment.file.write_at(segment.place.offset(end), more)?;
    }
    segment.file.sync()
}
