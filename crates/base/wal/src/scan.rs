//! Reads segments record by record up to the end of the log, and judges the bytes that stand there.

use crate::control::newer;
use crate::error::{Damage, DamageKind, LogError};
use crate::format::{
    Block, BlockError, BlockKind, RecordHeader, RecordKind, SEGMENT_HEADER, SEGMENT_RESERVE, Slot, overhead,
};
use crate::segment::{Place, Segment};
use crate::sync::Arc;
use crate::window::Window;
use codec::u64_at;
use env::{Disk, DiskError};

/// An intact record.
#[derive(Clone, Copy, Debug)]
pub struct RawRecord {
    /// Kind.
    pub kind: RecordKind,
    /// The timestamp of a redo record or of a part of one.
    pub stamp: u64,
    /// Start position.
    pub start: u64,
    /// End position.
    pub end: u64,
}

/// Next item of a segment.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// An intact record.
    Record(RawRecord),
    /// Nothing was written here, or the file ends.
    Empty,
    /// The bytes here are no record.
    Damaged,
}

/// Reads a segment's records in order.
#[derive(Debug)]
pub struct Records {
    window: Window,
    place: Place,
    identity: u64,
    position: u64,
}

impl Records {
    /// From the segment's first record.
    pub fn new(segment: &Segment, identity: u64) -> Result<Self, DiskError> {
        let window = Window::new(Arc::clone(&segment.file))?;
        Ok(Self { window, place: segment.place, identity, position: segment.place.start })
    }

    /// Position of the next record.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Reads what follows; after anything but a record, again the same.
    pub fn step(&mut self) -> Result<Step, DiskError> {
        let (start, offset) = (self.position, self.place.offset(self.position));
        let header = match RecordHeader::parse(self.window.at(offset, overhead::RECORD)?) {
            Slot::Empty => return Ok(Step::Empty),
            Slot::Damaged => return Ok(Step::Damaged),
            Slot::Header(header) => header,
        };
        let end = start + header.record_bytes();
        if end > self.place.end() {
            return Ok(Step::Damaged);
        }
        let record = self.window.at(offset, header.record_bytes())?;
        let payload = record.get(overhead::RECORD as usize..).unwrap_or_default();
        if !header.verify(payload, start, self.identity) {
            return Ok(Step::Damaged);
        }
        self.position = end;
        Ok(Step::Record(RawRecord { kind: header.kind, stamp: header.stamp, start, end }))
    }

    /// The payload of the record that was read last.
    pub fn payload(&mut self, record: RawRecord) -> Result<&[u8], DiskError> {
        let bytes = self.window.at(self.place.offset(record.start), record.end - record.start)?;
        Ok(bytes.get(overhead::RECORD as usize..).unwrap_or_default())
    }

    /// The eight bytes with which the payload of a group, a seal or a continuing part begins.
    pub fn number(&mut self, record: RawRecord) -> Result<u64, DiskError> {
        Ok(self.payload(record)?.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)))
    }

    /// The damage of a record that was intact before.
    pub fn damage_here(&self) -> Damage {
        let offset = self.place.offset(self.position);
        Damage { file: Segment::name(self.place.number), offset, bytes: 0, kind: DamageKind::Record }
    }
}

/// End of a segment's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With a seal; the log goes on in the next segment. How many bytes recovery once cut off here.
    Sealed {
        /// Bytes.
        cut: u64,
    },
    /// With a stop, and nothing after it.
    Stopped,
    /// In the open: the last record is neither, and what follows is either nothing or unusable.
    Open {
        /// The bytes that follow are not zero; a power cut's leftover, or damage.
        leftover_bytes: u64,
    },
}

/// Result of a scan of one segment.
#[derive(Clone, Debug)]
pub struct SegmentScan {
    /// End position of the intact records.
    pub end: u64,
    /// Their end.
    pub ending: Ending,
    /// Redo records; a large one counts where its last part is.
    pub records: u64,
    /// Parts of large records.
    pub parts: u64,
    /// Large records that begin here.
    pub begun: Vec<u64>,
    /// Large records that end here: where each begins and ends.
    pub finished: Vec<(u64, u64)>,
    /// Groups.
    pub groups: u64,
    /// The greatest timestamp.
    pub max_stamp: u64,
    /// Everything before was durable when some intact record was written; records beyond `end` are asked too.
    pub vouched: u64,
    /// Everything before was durable when the last group before `end` was written. What follows may be known to the
    /// operating system only, so recovery writes it again before it is shown to anybody.
    pub settled: u64,
    /// The file has lost its end. A segment has its full length from its creation until it is sealed or the log is closed.
    pub short: bool,
}

impl SegmentScan {
    /// Reads all of `segment`.
    pub fn run(segment: &Segment, identity: u64) -> Result<Self, DiskError> {
        let mut records = Records::new(segment, identity)?;
        let mut scan = Self {
            end: segment.place.start,
            ending: Ending::Stopped,
            records: 0,
            parts: 0,
            begun: Vec::new(),
            finished: Vec::new(),
            groups: 0,
            max_stamp: 0,
            vouched: 0,
            settled: 0,
            short: records.window.length() < segment.place.file_bytes(),
        };
        let mut stopped = false;
        while let Step::Record(record) = records.step()? {
            scan.end = record.end;
            stopped = record.kind == RecordKind::Stop;
            scan.parts += u64::from(record.kind.is_part());
            scan.max_stamp = scan.max_stamp.max(record.stamp);
            match record.kind {
                RecordKind::Redo => scan.records += 1,
                RecordKind::FirstPart => scan.begun.push(record.start),
                RecordKind::Part => {}
                RecordKind::LastPart => {
                    scan.records += 1;
                    scan.finished.push((records.number(record)?, record.end));
                }
                RecordKind::Group => {
                    scan.groups += 1;
                    scan.settled = records.number(record)?;
                    scan.vouched = scan.vouched.max(scan.settled);
                }
                RecordKind::Stop => scan.vouched = scan.vouched.max(record.end),
                RecordKind::Seal => {
                    scan.ending = Ending::Sealed { cut: records.number(record)? };
                    return Ok(scan);
                }
            }
        }
        let leftover = Leftover::search(&mut records, scan.end)?;
        scan.vouched = scan.vouched.max(leftover.vouched);
        if !stopped || leftover.bytes > 0 {
            scan.ending = Ending::Open { leftover_bytes: leftover.bytes };
        }
        Ok(scan)
    }

    /// Returns whether nothing was ever written to the segment.
    pub fn is_blank(&self, place: Place) -> bool {
        self.end == place.start && self.ending == (Ending::Open { leftover_bytes: 0 })
    }
}

/// Bytes beyond the last intact record of a segment without a seal.
struct Leftover {
    /// Bytes up to the last one that is not zero.
    bytes: u64,
    /// The greatest position that an intact record among them vouches for.
    vouched: u64,
}

impl Leftover {
    /// Looks at every byte: damage in front of a record hides its beginning.
    fn search(records: &mut Records, end: u64) -> Result<Self, DiskError> {
        let (place, identity) = (records.place, records.identity);
        let length = records.window.length();
        let mut found = Self { bytes: 0, vouched: 0 };
        let first = place.offset(end);
        let mut offset = first;
        while offset < length {
            // Each stretch is read with enough bytes of the next to hold the longest record that can vouch.
            let stretch = (length - offset).min(STRETCH);
            let bytes = records.window.at(offset, stretch + overhead::GROUP)?;
            let bounded = &bytes[..bytes.len().min(stretch as usize)];
            if let Some(last) = bounded.iter().rposition(|byte| *byte != 0) {
                found.bytes = offset + last as u64 + 1 - first;
                for index in 0..=last {
                    let position = place.start + (offset - SEGMENT_HEADER) + index as u64;
                    if let Some(vouched) = voucher(&bytes[index..], position, identity) {
                        found.vouched = found.vouched.max(vouched);
                    }
                }
            }
            offset += stretch;
        }
        Ok(found)
    }
}

/// Bytes of a leftover that are searched at a time.
const STRETCH: u64 = 64 * 1024;

/// Returns the position that the intact record at the start of `bytes` vouches for, if one begins there.
fn voucher(bytes: &[u8], position: u64, identity: u64) -> Option<u64> {
    let Slot::Header(header) = RecordHeader::parse(bytes) else { return None };
    if !matches!(header.kind, RecordKind::Group | RecordKind::Stop) {
        return None;
    }
    let payload = bytes.get(overhead::RECORD as usize..header.record_bytes() as usize)?;
    if !header.verify(payload, position, identity) {
        return None;
    }
    Some(if header.kind == RecordKind::Group {
        u64_at(payload, 0)
    } else {
        // A stop has a group to itself, so all before that group is durable. The group's own record, which stands before the stop, need not
        // be: a power cut in the one write of both may keep the stop alone.
        position.saturating_sub(overhead::GROUP)
    })
}

/// Limits of a segment's header: an exbibyte of log, a gibibyte of segment.
const MAX_POSITION: u64 = 1 << 60;
const MAX_CAPACITY: u64 = 1 << 30;

/// Opens a segment by its number and checks that its header is its own.
pub fn open_segment(disk: &dyn Disk, identity: u64, number: u64) -> Result<Segment, LogError> {
    let name = Segment::name(number);
    let file = disk.open(&name).map_err(LogError::Disk)?;
    let mut bytes = [0; SEGMENT_HEADER as usize];
    let count = file.read_full_at(0, &mut bytes).map_err(LogError::Disk)?;
    let damage = |kind| damage_of_header(number, kind);
    match Block::decode(&bytes[..count], BlockKind::Segment) {
        Ok(block) if block.identity != identity || block.numbers[0] != number => {
            Err(LogError::Corrupt(damage(DamageKind::Foreign)))
        }
        // No log that we write is that long: its positions could not be added up.
        Ok(Block { numbers: [_, start, capacity, _], .. })
            if start > MAX_POSITION || !(SEGMENT_RESERVE..=MAX_CAPACITY).contains(&capacity) =>
        {
            Err(LogError::Corrupt(damage(DamageKind::Header)))
        }
        Ok(Block { numbers: [_, start, capacity, _], .. }) => {
            Ok(Segment { place: Place { number, start, capacity }, file: file.into() })
        }
        Err(BlockError::Newer(found)) => Err(newer(&name, found)),
        Err(BlockError::Damaged) => Err(LogError::Corrupt(damage(DamageKind::Header))),
    }
}

/// A segment and what was found in it.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// Which segment.
    pub place: Place,
    /// Its content.
    pub scan: SegmentScan,
}

impl Scanned {
    /// Opens and reads one segment.
    pub fn read(disk: &dyn Disk, identity: u64, number: u64) -> Result<Self, LogError> {
        let segment = open_segment(disk, identity, number)?;
        let scan = SegmentScan::run(&segment, identity).map_err(LogError::Disk)?;
        Ok(Self { place: segment.place, scan })
    }

    /// Returns whether nothing was ever written to it.
    pub fn is_blank(&self) -> bool {
        self.scan.is_blank(self.place)
    }

    /// Bytes after the intact records that are not zero.
    pub fn leftover_bytes(&self) -> u64 {
        match self.scan.ending {
            Ending::Open { leftover_bytes } => leftover_bytes,
            Ending::Sealed { .. } | Ending::Stopped => 0,
        }
    }
}

/// Judgement of a chain of segments.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Which of them is the last that was written to (or the first blank one), if the log's end can be told.
    pub tail: Option<usize>,
    /// Damage below what was known to be durable, in log order.
    pub damage: Vec<Damage>,
}

/// Judges a chain of segments, given in the order of their numbers, whose first must have the number `first`.
///
/// By L2 a segment is begun when its predecessor is sealed and synced. So a segment without a seal is the log's end,
/// or it has lost durable records; which of the two, its successors and the records beyond the damage say.
pub fn judge(chain: &[Scanned], first: u64) -> Verdict {
    let mut verdict = Verdict::default();
    let mut expected = first;
    for (index, scanned) in chain.iter().enumerate() {
        // Segments after the tail were never begun, and any of them may be missing: their removal is not made durable.
        let gap = if verdict.tail.is_none() { expected..scanned.place.number } else { 0..0 };
        verdict.damage.extend(gap.map(missing).take(1));
        let continues = index > 0 && chain[index - 1].place.number + 1 == scanned.place.number;
        if continues && chain[index - 1].place.end() != scanned.place.start {
            verdict.damage.push(damage_of_header(scanned.place.number, DamageKind::Foreign));
        }
        expected = scanned.place.number + 1;
        if verdict.tail.is_some() || matches!(scanned.scan.ending, Ending::Sealed { .. }) {
            continue;
        }
        let begun_later = chain[index + 1..].iter().any(|later| !later.is_blank());
        let ended_early = scanned.scan.short && scanned.scan.ending != Ending::Stopped;
        if begun_later || ended_early || scanned.scan.vouched > scanned.scan.end {
            verdict.damage.push(damage_at_end(scanned));
        } else {
            verdict.tail = Some(index);
        }
    }
    if verdict.tail.is_none() && verdict.damage.is_empty() {
        verdict.damage.push(missing(expected));
    }
    verdict
}

fn missing(number: u64) -> Damage {
    Damage { file: Segment::name(number), offset: 0, bytes: 0, kind: DamageKind::Missing }
}

fn damage_of_header(number: u64, kind: DamageKind) -> Damage {
    Damage { file: Segment::name(number), offset: 0, bytes: SEGMENT_HEADER, kind }
}

/// The damage that ends a segment's records too early.
fn damage_at_end(scanned: &Scanned) -> Damage {
    let bytes = scanned.leftover_bytes();
    Damage {
        file: Segment::name(scanned.place.number),
        offset: scanned.place.offset(scanned.scan.end),
        bytes,
        kind: match (bytes, scanned.scan.short) {
            (0, true) => DamageKind::Short,
            (0, false) => DamageKind::Gap,
            _ => DamageKind::Record,
        },
    }
}
