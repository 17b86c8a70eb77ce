//! What the order delivers while a node's state is on its way, and until the node has come so far: a queue, on the node's disk.
//!
//! ```text
//!   segment   records, one behind the other. The first one is read and the last one is written; what was read whole is removed
//!   record    the length of its bytes (4), their checksum (4), its bytes: an event
//! ```
//! Nothing waits until any of it is durable. A stop loses it, with the state that was on its way; the next life removes the files, and
//! fetches anew.

use crate::codes::{origin, position, put_origin, put_position};
use crate::error::damaged;
use codec::put_number;
use env::{Disk, DiskError, DiskFile};
use model::{Decoder, Fault, Malformed, Result};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use total::{Delivered, Event};

/// Bytes after which the next segment begins: on a disk, where each is an open file, and in memory.
const SEGMENT_BYTES: u64 = 1 << 30;
const MEMORY_SEGMENT_BYTES: u64 = 16 << 20;
/// The most that is kept without a disk, unless the options say something else.
const MEMORY_BYTES: u64 = 256 << 20;
/// Bytes that are written, or read, at a time, and one event more.
const BYTES_AT_ONCE: u64 = 4 << 20;
/// Ends the names of segments.
const SUFFIX: &str = ".spool";
const HEADER_BYTES: u64 = 8;

const ORDERED: u8 = 1;
const BARRIER: u8 = 2;

/// Events in their order.
#[derive(Debug)]
pub(crate) struct Spool {
    disk: Option<Arc<dyn Disk>>,
    limit: u64,
    segment_bytes: u64,
    /// The oldest first. None is without a record that is to be read, but after an error.
    segments: VecDeque<Segment>,
    /// The number of the next segment.
    next: u64,
    /// Bytes of all segments.
    bytes: u64,
    /// Bytes of the longest record so far: a length that is greater was damaged, and no memory is given to it.
    longest: u64,
}

#[derive(Debug)]
struct Segment {
    name: String,
    place: Place,
    written: u64,
    read: u64,
}

/// Where the bytes of a segment are.
#[derive(Debug)]
enum Place {
    File(Box<dyn DiskFile>),
    Memory(Vec<u8>),
}

impl Spool {
    /// An empty queue, on a disk of its own or in memory. Removes what an earlier life has left there. `limit` is in bytes; `None`: on a
    /// disk as much as fits.
    ///
    /// # Errors
    /// The disk fails.
    pub fn open(disk: Option<Arc<dyn Disk>>, limit: Option<u64>) -> Result<Spool> {
        let (most, segment_bytes) =
            if disk.is_some() { (u64::MAX, SEGMENT_BYTES) } else { (MEMORY_BYTES, MEMORY_SEGMENT_BYTES) };
        if let Some(disk) = &disk {
            remove_segments(&**disk).map_err(|error| failed(&error))?;
        }
        let limit = limit.unwrap_or(most);
        Ok(Spool { disk, limit, segment_bytes, segments: VecDeque::new(), next: 0, bytes: 0, longest: 0 })
    }

    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Adds events at the end. Those that say that the node is behind are none that can be applied later, and are not for it.
    ///
    /// # Errors
    /// [`Fault::DiskFull`], beyond the limit too; the disk fails.
    pub fn push(&mut self, events: &[Event]) -> Result<()> {
        let mut records = Vec::new();
        for event in events {
            let before = records.len();
            put_record(&mut records, event)?;
            self.longest = self.longest.max((records.len() - before) as u64 - HEADER_BYTES);
            if records.len() as u64 >= BYTES_AT_ONCE {
                self.append(&records)?;
                records.clear();
            }
        }
        if records.is_empty() { Ok(()) } else { self.append(&records) }
    }

    /// Takes events from the front: at most so many, and not many bytes more than are read at a time.
    ///
    /// # Errors
    /// The disk fails, or has other bytes than were written.
    pub fn pop(&mut self, into: &mut Vec<Event>, most: usize) -> Result<()> {
        let (full, mut bytes) = (into.len() + most, 0);
        while into.len() < full
            && bytes < BYTES_AT_ONCE
            && let Some(first) = self.segments.front_mut()
        {
            let before = first.read;
            into.push(first.read_next(self.longest)?);
            bytes += first.read - before;
            if first.read == first.written {
                self.remove_first()?;
            }
        }
        Ok(())
    }

    /// Drops all of it.
    ///
    /// # Errors
    /// The disk fails.
    pub fn clear(&mut self) -> Result<()> {
        while !self.segments.is_empty() {
            self.remove_first()?;
        }
        Ok(())
    }

    fn append(&mut self, records: &[u8]) -> Result<()> {
        let length = records.len() as u64;
        if self.bytes.saturating_add(length) > self.limit {
            return Err(full(format!("{} bytes are kept, and more are not allowed", self.bytes)));
        }
        if self.segments.back().is_none_or(|last| last.written >= self.segment_bytes) {
            let segment = self.new_segment().map_err(|error| failed(&error))?;
            self.segments.push_back(segment);
        }
        let last = self.segments.back_mut().expect("one was added where there was none");
        match &mut last.place {
            Place::File(file) => file.write_at(last.written, records).map_err(|error| failed(&error))?,
            Place::Memory(bytes) => bytes.extend_from_slice(records),
        }
        last.written += length;
        self.bytes += length;
        Ok(())
    }

    fn new_segment(&mut self) -> std::result::Result<Segment, DiskError> {
        let name = format!("{:06}{SUFFIX}", self.next);
        let place = match &self.disk {
            Some(disk) => {
                disk.create_dir_all("")?;
                Place::File(disk.create_new(&name)?)
            }
            None => Place::Memory(Vec::new()),
        };
        self.next += 1;
        Ok(Segment { name, place, written: 0, read: 0 })
    }

    fn remove_first(&mut self) -> Result<()> {
        let Some(first) = self.segments.pop_front() else { return Ok(()) };
        self.bytes -= first.written;
        self.disk.as_ref().map_or(Ok(()), |disk| disk.remove(&first.name)).map_err(|error| failed(&error))
    }
}

impl Drop for Spool {
    /// A node that stops since its disk is full leaves it with room.
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next life.
        let _ = self.clear();
    }
}

impl Segment {
    /// Reads the next record, which has so many bytes at most.
    fn read_next(&mut self, longest: u64) -> Result<Event> {
        let mut header = [0; HEADER_BYTES as usize];
        self.read_at(self.read, &mut header)?;
        let (length, sum) = (u64::from(codec::u32_at(&header, 0)), codec::u32_at(&header, 4));
        let begin = self.read + HEADER_BYTES;
        if length > longest.min(self.written.saturating_sub(begin)) {
            return Err(bad());
        }
        let mut bytes = vec![0; length as usize];
        self.read_at(begin, &mut bytes)?;
        if crc32c::crc32c(&bytes) != sum {
            return Err(bad());
        }
        self.read = begin + length;
        decode(bytes).map_err(|_| bad())
    }

    /// Reads bytes that were written.
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let read = match &self.place {
            Place::File(file) => file.read_full_at(at, into).map_err(|error| failed(&error))?,
            Place::Memory(bytes) => {
                let written = bytes.get(at as usize..).unwrap_or_default();
                let count = written.len().min(into.len());
                into[..count].copy_from_slice(&written[..count]);
                count
            }
        };
        if read == into.len() { Ok(()) } else { Err(bad()) }
    }
}

fn remove_segments(disk: &dyn Disk) -> std::result::Result<(), DiskError> {
    let names = match disk.list("") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        names => names?,
    };
    names.iter().filter(|name| name.ends_with(SUFFIX)).try_for_each(|name| disk.remove(name))
}

fn put_record(out: &mut Vec<u8>, event: &Event) -> Result<()> {
    let begin = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES as usize]);
    match event {
        Event::Ordered(Delivered { position, origin, submission, payload }) => {
            out.push(ORDERED);
            put_position(out, *position);
            put_origin(out, *origin);
            put_number(out, *submission);
            out.extend_from_slice(payload);
        }
        Event::Barrier(at) => {
            out.push(BARRIER);
            put_position(out, *at);
        }
        _ => return Err(Fault::NewerFormat { detail: "an event of the order that cannot be kept".into() }.into()),
    }
    let (header, bytes) = out[begin..].split_at_mut(HEADER_BYTES as usize);
    let length = u32::try_from(bytes.len()).map_err(|_| damaged("a payload is too long to be kept"))?;
    header[..4].copy_from_slice(&length.to_le_bytes());
    header[4..].copy_from_slice(&crc32c::crc32c(bytes).to_le_bytes());
    Ok(())
}

fn decode(bytes: Vec<u8>) -> std::result::Result<Event, Malformed> {
    let mut from = Decoder::new(&bytes);
    match from.u8()? {
        ORDERED => {
            let (position, origin, submission) = (position(&mut from)?, origin(&mut from)?, from.number()?);
            let payload = from.rest().to_vec().into();
            Ok(Event::Ordered(Delivered { position, origin, submission, payload }))
        }
        BARRIER => {
            let at = position(&mut from)?;
            from.end()?;
            Ok(Event::Barrier(at))
        }
        _ => Err(Malformed),
    }
}

fn full(why: String) -> model::Error {
    let detail = format!(
        "what the other nodes commit while this one fetches a state is kept until it has the state, and there is no more room for it: {why}; \
         give the node more room, and start it again"
    );
    Fault::DiskFull { detail }.into()
}

fn failed(error: &DiskError) -> model::Error {
    if error.is_full() { full(error.to_string()) } else { Fault::Disk { detail: error.to_string() }.into() }
}

fn bad() -> model::Error {
    damaged("what was kept while a state was fetched is not as it was written")
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::{Operation, SimDisk, SimDiskOptions};
    use model::Error;
    use total::{Origin, Position};

    fn at(instance: u64) -> Position {
        Position { instance, index: 7 }
    }

    fn ordered(instance: u64, bytes: usize) -> Event {
        let origin = Origin { node: 3, life: 1 << 40 };
        Event::Ordered(Delivered {
            position: at(instance),
            origin,
            submission: instance * 2,
            payload: vec![1; bytes].into(),
        })
    }

    fn disk() -> SimDisk {
        SimDisk::new(1, SimDiskOptions::default())
    }

    fn on(disk: &SimDisk) -> Option<Arc<dyn Disk>> {
        Some(Arc::new(disk.clone()))
    }

    fn with_segments_of(bytes: u64, place: Option<Arc<dyn Disk>>) -> Spool {
        let mut spool = Spool::open(place, Some(4000)).expect("a good disk");
        spool.segment_bytes = bytes;
        spool
    }

    /// Everything, by threes.
    fn all(spool: &mut Spool) -> Vec<Event> {
        let mut events = Vec::new();
        while !spool.is_empty() {
            let before = events.len();
            spool.pop(&mut events, 3).expect("a good disk");
            assert!((1..=3).contains(&(events.len() - before)));
        }
        events
    }

    #[test]
    fn events_come_out_as_they_went_in_while_others_come() {
        let disk = disk();
        for place in [on(&disk), None] {
            let mut spool = with_segments_of(100, place);
            let events: Vec<Event> =
                (0..40).map(|n| if n % 5 == 0 { Event::Barrier(at(n)) } else { ordered(n, n as usize) }).collect();
            let (first, rest) = events.split_at(20);
            spool.push(first).expect("room");
            let mut out = Vec::new();
            spool.pop(&mut out, 7).expect("a good disk");
            rest.chunks(4).for_each(|events| spool.push(events).expect("room"));
            out.append(&mut all(&mut spool));
            assert_eq!(out, events);
            assert_eq!(spool.bytes, 0);
        }
        assert_eq!(disk.list("").expect("a good disk"), [""; 0], "what was read is removed");
    }

    /// However much has passed through it, its files have what is left.
    #[test]
    fn segments_that_were_read_go() {
        let disk = disk();
        let mut spool = with_segments_of(1000, on(&disk));
        let mut out = Vec::new();
        for n in 0..1000 {
            spool.push(&[ordered(n, 100)]).expect("room");
            if n >= 10 {
                spool.pop(&mut out, 1).expect("a good disk");
            }
        }
        assert!(disk.list("").expect("a good disk").len() <= 3);
        assert_eq!((out.len(), all(&mut spool).len()), (990, 10));
    }

    #[test]
    fn what_a_life_has_left_goes_at_the_next_start() {
        let before = disk();
        let mut spool = Spool::open(on(&before), None).expect("a good disk");
        spool.push(&[ordered(1, 10)]).expect("room");
        let after = before.copy();
        drop(spool);
        assert_eq!(before.list("").expect("a good disk"), [""; 0], "who stops in order leaves nothing");
        assert_eq!(after.list("").expect("a good disk").len(), 1, "who was killed does");
        let mut spool = Spool::open(on(&after), None).expect("a good disk");
        assert_eq!(after.list("").expect("a good disk"), [""; 0]);
        spool.push(&[ordered(2, 10)]).expect("room");
        assert_eq!(all(&mut spool), [ordered(2, 10)]);
    }

    #[test]
    fn without_room_the_error_says_so() {
        let mut spool = Spool::open(on(&disk()), Some(100)).expect("a good disk");
        spool.push(&[ordered(1, 50)]).expect("room");
        let beyond = spool.push(&[ordered(2, 50)]);
        assert!(matches!(&beyond, Err(Error::Fault(Fault::DiskFull { .. }))), "{beyond:?}");
        assert_eq!(all(&mut spool), [ordered(1, 50)], "what was there is there");
        let full = failed(&DiskError::new(Operation::Write, "spool/000000.spool", io::ErrorKind::StorageFull.into()));
        assert!(
            matches!(&full, Error::Fault(Fault::DiskFull { detail }) if detail.contains("000000.spool")),
            "{full:?}"
        );
    }

    /// Changes a byte of the first segment.
    fn flip(disk: &SimDisk, offset: u64) {
        let file = disk.open("000000.spool").expect("it is there");
        let mut byte = [0];
        file.read_full_at(offset, &mut byte).expect("a good disk");
        file.write_at(offset, &[byte[0] ^ 1]).expect("a good disk");
    }

    #[test]
    fn bytes_that_were_changed_are_noticed() {
        let disk = disk();
        for offset in [0, 4, 20] {
            let mut spool = Spool::open(on(&disk), None).expect("a good disk");
            spool.push(&[ordered(1, 50)]).expect("room");
            flip(&disk, offset);
            let read = spool.pop(&mut Vec::new(), 1);
            assert!(matches!(read, Err(Error::Fault(Fault::Corruption { .. }))), "{read:?}");
        }
    }
    /// A length is not in the sum. However much follows in a segment, no more of it is read than a record has.
    #[test]
    fn a_length_that_was_damaged_takes_no_memory() {
        let disk = disk();
        for (offset, reads) in [(0, 2), (1, 1)] {
            let mut spool = Spool::open(on(&disk), None).expect("a good disk");
            (0..20).for_each(|n| spool.push(&[ordered(n, 50)]).expect("room"));
            flip(&disk, offset);
            let read = || disk.counts().get(&Operation::Read).copied().unwrap_or(0);
            let before = read();
            assert!(spool.pop(&mut Vec::new(), 1).is_err());
            assert!(read() - before <= reads, "it has read beyond the length");
        }
    }
}
