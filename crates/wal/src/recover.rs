//! Opening a directory: what is there, whether it can be trusted, and where the log goes on.
//!
//! Everything is read and judged before anything is handed out or changed, so that a damaged directory stays as it is.

use crate::buffer::Buffer;
use crate::checkpoint::{CHECKPOINT, CheckpointReader};
use crate::control::{CONTROL, Control};
use crate::error::{Damage, DamageKind, LogError};
use crate::format::{Payload, RecordKind, overhead, push_record};
use crate::options::LogOptions;
use crate::scan::{Ending, RawRecord, Records, Scanned, Step, judge, open_segment};
use crate::segment::{Sealed, Segment, UNFINISHED};
use crate::sync::Arc;
use env::{Disk, DiskError, DiskLock, Randomness};
use model::LogPosition;
use std::collections::{BTreeMap, VecDeque};
use std::io::ErrorKind;
use std::ops::RangeInclusive;

/// The lock file's name.
pub const LOCK: &str = "LOCK";

/// Bytes that are written again at a time.
const REWRITE: u64 = 256 * 1024;

/// What recovery hands to the engine: first all rows of `checkpoint`, then all `records`, which must be read to the end before
/// the first new checkpoint is finished.
pub struct Recovered {
    /// The rows of the last checkpoint.
    pub checkpoint: Option<CheckpointReader>,
    /// The records that follow, in log order. Those with a stamp below the checkpoint's bound are already in it, deletions
    /// included, and must be skipped.
    pub records: RecordReader,
    /// What was found.
    pub report: RecoveryReport,
}

/// What recovery has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// The log was created just now.
    pub created: bool,
    /// The last run ended with a close.
    pub clean: bool,
    /// Bytes at the end that were not known to be durable and could not be used: a write that the crash has torn, or damage.
    /// They have been cut off.
    pub cut: Option<TailCut>,
    /// The durable timestamp ceiling.
    pub ceiling: u64,
    /// The greatest stamp in the log, of parts of unfinished records too.
    pub max_stamp: u64,
    /// How many records will be read; a large one counts once.
    pub records: u64,
    /// Segment files that they are in.
    pub segments: u64,
    /// Where the log goes on.
    pub end: LogPosition,
}

/// Bytes at the log's end that were cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailCut {
    /// The segment file.
    pub file: String,
    /// Where in the file the cut was made.
    pub offset: u64,
    /// Bytes from there to the last one that had been written.
    pub bytes: u64,
}

impl TailCut {
    /// What would be cut off after the last segment's intact records.
    pub(crate) fn of(last: &Scanned) -> Option<Self> {
        let bytes = last.leftover_bytes();
        let (file, offset) = (Segment::name(last.place.number), last.place.offset(last.scan.end));
        (bytes > 0).then_some(Self { file, offset, bytes })
    }
}

impl std::fmt::Display for TailCut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes at offset {} of {} were cut off", self.bytes, self.offset, self.file)
    }
}

/// A record as it was appended, or a part of a large one.
///
/// Parts are handed out one by one where they stand in the log, perhaps with other records in between, and only if their last
/// one is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveredRecord<'a> {
    /// The transaction's timestamp.
    pub stamp: u64,
    /// What [`Log::append`](crate::Log::append) or [`LargeRecord::finish`](crate::LargeRecord::finish) returned: of a part, too,
    /// the position of its record.
    pub position: LogPosition,
    /// The payload.
    pub payload: &'a [u8],
    /// This is the whole record, or its last part.
    pub is_end: bool,
}

/// Reads the recovered records.
pub struct RecordReader {
    disk: Arc<dyn Disk>,
    identity: u64,
    /// Segments to read, and where their records end.
    segments: VecDeque<(u64, u64)>,
    /// Large records: where each begins and ends.
    finished: BTreeMap<u64, u64>,
    current: Option<(Records, u64)>,
}

impl RecordReader {
    /// The next record; `None` after the last.
    ///
    /// # Errors
    /// [`LogError::Corrupt`] or [`LogError::Disk`]: a file has changed since it was verified on opening.
    pub fn next_record(&mut self) -> Result<Option<RecoveredRecord<'_>>, LogError> {
        let Some((record, end)) = self.seek_redo()? else { return Ok(None) };
        let (records, _) = self.current.as_mut().expect("the search has stopped in a segment");
        let payload = records.payload(record).map_err(LogError::Disk)?;
        let payload = match record.kind {
            RecordKind::Part | RecordKind::LastPart => payload.get(size_of::<u64>()..).unwrap_or_default(),
            _ => payload,
        };
        Ok(Some(RecoveredRecord {
            stamp: record.stamp,
            position: LogPosition(end),
            payload,
            is_end: matches!(record.kind, RecordKind::Redo | RecordKind::LastPart),
        }))
    }

    /// Moves behind the next redo record, or the next part of a large one that was finished. Returns it with the record's end.
    fn seek_redo(&mut self) -> Result<Option<(RawRecord, u64)>, LogError> {
        loop {
            let Some((records, end)) = &mut self.current else {
                let Some((number, end)) = self.segments.pop_front() else { return Ok(None) };
                let segment = open_segment(&*self.disk, self.identity, number)?;
                self.current = Some((Records::new(&segment, self.identity).map_err(LogError::Disk)?, end));
                continue;
            };
            if records.position() >= *end {
                self.current = None;
                continue;
            }
            match records.step().map_err(LogError::Disk)? {
                Step::Record(record) => {
                    if let Some(end) = end_of_record(records, record, &self.finished)? {
                        return Ok(Some((record, end)));
                    }
                }
                Step::Empty | Step::Damaged => return Err(LogError::Corrupt(records.damage_here())),
            }
        }
    }
}

/// Where the record ends to which this one belongs; `None` for what is none, or part of none that was finished.
fn end_of_record(
    records: &mut Records,
    record: RawRecord,
    finished: &BTreeMap<u64, u64>,
) -> Result<Option<u64>, LogError> {
    let origin = match record.kind {
        RecordKind::Redo => return Ok(Some(record.end)),
        RecordKind::FirstPart => record.start,
        RecordKind::Part | RecordKind::LastPart => records.number(record).map_err(LogError::Disk)?,
        RecordKind::Group | RecordKind::Seal | RecordKind::Stop => return Ok(None),
    };
    Ok(finished.get(&origin).copied())
}

/// A log that can go on.
pub struct Resumed {
    /// The directory's lock.
    pub lock: DiskLock,
    /// The control file.
    pub control: Control,
    /// Where appends go.
    pub buffer: Buffer,
    /// The segment that follows, if it was prepared before the crash.
    pub next: VecDeque<Arc<Segment>>,
    /// For the engine.
    pub recovered: Recovered,
}

/// Takes the directory's lock.
pub fn take_lock(disk: &dyn Disk) -> Result<DiskLock, LogError> {
    disk.lock(LOCK).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => LogError::Locked { path: error.path().to_owned() },
        _ => LogError::Disk(error),
    })
}

/// The files of a directory that are the log's.
#[derive(Debug, Default)]
pub struct Inventory {
    /// There is a control file.
    pub control: bool,
    /// There is a checkpoint.
    pub checkpoint: bool,
    /// Segments, by number.
    pub segments: Vec<u64>,
    /// Files that were being made.
    pub unfinished: Vec<String>,
}

impl Inventory {
    /// Looks into the directory.
    pub fn take(disk: &dyn Disk) -> Result<Self, LogError> {
        let mut inventory = Self::default();
        for name in disk.list("").map_err(LogError::Disk)? {
            if let Some(finished) = name.strip_suffix(UNFINISHED) {
                let ours = finished == CONTROL || finished == CHECKPOINT || Segment::parse_name(finished).is_some();
                inventory.unfinished.extend(ours.then_some(name));
            } else if let Some(number) = Segment::parse_name(&name) {
                inventory.segments.push(number);
            } else {
                inventory.control |= name == CONTROL;
                inventory.checkpoint |= name == CHECKPOINT;
            }
        }
        inventory.segments.sort_unstable();
        Ok(inventory)
    }
}

/// Opens the directory, or creates a log in it.
pub fn resume(disk: &Arc<dyn Disk>, options: &LogOptions) -> Result<Resumed, LogError> {
    disk.create_dir_all("").map_err(LogError::clean)?;
    let lock = take_lock(&**disk)?;
    let mut inventory = Inventory::take(&**disk)?;
    let created = !inventory.control;
    let control = if created {
        let control = create(&**disk, options, &inventory)?;
        inventory = Inventory::take(&**disk)?;
        control
    } else {
        Control::open(&**disk)?
    };
    let identity = control.identity();
    let checkpoint = match inventory.checkpoint {
        true => Some(CheckpointReader::open(&**disk, identity)?.verified()?),
        false => None,
    };
    let first = checkpoint.as_ref().map_or(1, |checkpoint| checkpoint.info().first_segment);
    let chain = read_chain(&**disk, identity, &inventory, first)?;
    let tail = end_of(&chain, first)?;
    let next = chain.get(tail + 1).filter(|blank| blank.place.number == chain[tail].place.number + 1);
    let needed = first..=next.unwrap_or(&chain[tail]).place.number;

    remove_leftovers(&**disk, &inventory, needed)?;
    let mut report = report(&chain[..=tail], created, &control);
    let records = RecordReader {
        disk: Arc::clone(disk),
        identity,
        segments: chain[..=tail].iter().map(|scanned| (scanned.place.number, scanned.scan.end)).collect(),
        finished: chain[..=tail].iter().flat_map(|scanned| scanned.scan.finished.iter().copied()).collect(),
        current: None,
    };
    let (buffer, next) = go_on(&**disk, options, identity, &chain[..=tail], next)?;
    report.end = LogPosition(buffer.tail());
    Ok(Resumed { lock, control, buffer, next, recovered: Recovered { checkpoint, records, report } })
}

/// Makes a new log: first its first segment, then the control file, which makes it count.
fn create(disk: &dyn Disk, options: &LogOptions, inventory: &Inventory) -> Result<Control, LogError> {
    refuse_to_replace(disk, inventory)?;
    let identity = Randomness::from_entropy().next_u64();
    for name in &inventory.unfinished {
        disk.remove(name).map_err(LogError::Disk)?;
    }
    for number in &inventory.segments {
        disk.remove(&Segment::name(*number)).map_err(LogError::Disk)?;
    }
    Segment::create(disk, identity, 1, 0, options.segment_capacity()).map_err(LogError::clean)?;
    Control::create(disk, identity).map_err(LogError::clean)
}

/// A directory without a control file is empty or a creation that was interrupted; else the file has been lost.
fn refuse_to_replace(disk: &dyn Disk, inventory: &Inventory) -> Result<(), LogError> {
    let interrupted = match inventory.segments[..] {
        [] => true,
        [1] => is_blank_file(disk, &Segment::name(1)).map_err(LogError::Disk)?,
        _ => false,
    };
    if interrupted && !inventory.checkpoint {
        return Ok(());
    }
    let damage = Damage { file: CONTROL.to_owned(), offset: 0, bytes: 0, kind: DamageKind::Missing };
    Err(LogError::Corrupt(damage))
}

/// Whether a segment has nothing after its header, whatever log it belongs to.
fn is_blank_file(disk: &dyn Disk, name: &str) -> Result<bool, DiskError> {
    let mut window = crate::window::Window::new(disk.open(name)?.into())?;
    let mut offset = crate::format::SEGMENT_HEADER;
    while offset < window.length() {
        let bytes = window.at(offset, REWRITE)?;
        if bytes.is_empty() || bytes.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        offset += bytes.len() as u64;
    }
    Ok(true)
}

fn read_chain(disk: &dyn Disk, identity: u64, inventory: &Inventory, first: u64) -> Result<Vec<Scanned>, LogError> {
    let needed = inventory.segments.iter().filter(|number| **number >= first);
    needed.map(|number| Scanned::read(disk, identity, *number)).collect()
}

/// The index of the log's last segment, or the first damage.
fn end_of(chain: &[Scanned], first: u64) -> Result<usize, LogError> {
    let verdict = judge(chain, first);
    match (verdict.damage.into_iter().next(), verdict.tail) {
        (Some(damage), _) => Err(LogError::Corrupt(damage)),
        (None, Some(tail)) => Ok(tail),
        (None, None) => unreachable!("a chain has an end or damage"),
    }
}

/// Removes files that were being made, segments that the checkpoint has made unnecessary, and blank segments but the first.
fn remove_leftovers(disk: &dyn Disk, inventory: &Inventory, needed: RangeInclusive<u64>) -> Result<(), LogError> {
    let segments =
        inventory.segments.iter().filter(|number| !needed.contains(number)).map(|number| Segment::name(*number));
    let names: Vec<String> = inventory.unfinished.iter().cloned().chain(segments).collect();
    for name in &names {
        // Creation has already removed what it found.
        crate::segment::remove_if_there(disk, name).map_err(LogError::Disk)?;
    }
    if names.is_empty() { Ok(()) } else { disk.sync_dir("").map_err(LogError::Disk) }
}

fn report(chain: &[Scanned], created: bool, control: &Control) -> RecoveryReport {
    let last = chain.last().expect("a log has a segment");
    RecoveryReport {
        created,
        clean: last.scan.ending == Ending::Stopped,
        cut: TailCut::of(last),
        ceiling: control.ceiling(),
        max_stamp: chain.iter().map(|scanned| scanned.scan.max_stamp).max().unwrap_or(0),
        records: chain.iter().map(|scanned| scanned.scan.records).sum(),
        segments: chain.len() as u64,
        end: LogPosition(last.scan.end),
    }
}

/// Makes what was found durable and decides where appends go: into the last segment after a clean stop, else into a new one,
/// so that what a crash has left behind the last record can never be read again.
fn go_on(
    disk: &dyn Disk,
    options: &LogOptions,
    identity: u64,
    chain: &[Scanned],
    next: Option<&Scanned>,
) -> Result<(Buffer, VecDeque<Arc<Segment>>), LogError> {
    let tail = chain.len() - 1;
    let last = &chain[tail];
    let segment = open_segment(disk, identity, last.place.number)?;
    let mut next = match next {
        Some(blank) => Some(open_segment(disk, identity, blank.place.number)?),
        None => None,
    };
    let in_place = last.scan.ending == Ending::Stopped || last.is_blank();
    if in_place {
        // A close has given the space back.
        segment.file.allocate(segment.place.file_bytes()).map_err(LogError::clean)?;
    }
    if !in_place && next.is_none() {
        let (number, start) = (last.place.number + 1, last.place.end());
        let created = Segment::create(disk, identity, number, start, options.segment_capacity());
        next = Some(created.map_err(LogError::clean)?);
    }
    if tail > 0 && last.is_blank() {
        // Its seal may be known to the operating system only.
        let before = &chain[tail - 1];
        settle(&open_segment(disk, identity, before.place.number)?, before, &[]).map_err(LogError::Disk)?;
    }
    let mut sealed: VecDeque<Sealed> = chain[..tail].iter().map(|scanned| seal_of(scanned, 0)).collect();
    if in_place {
        settle(&segment, last, &[]).map_err(LogError::Disk)?;
        let mut buffer = Buffer::new(identity, Arc::new(segment), last.scan.end, last.scan.max_stamp, sealed);
        if last.scan.ending == Ending::Stopped {
            buffer.set_stopped();
        }
        return Ok((buffer, next.into_iter().map(Arc::new).collect()));
    }
    close_segment(&segment, last, identity).map_err(LogError::Disk)?;
    sealed.push_back(seal_of(last, overhead::SEAL));
    let next = next.expect("it was prepared above");
    let start = next.place.start;
    Ok((Buffer::new(identity, Arc::new(next), start, 0, sealed), VecDeque::new()))
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
