//! Recovery: reads a directory, judges whether it is intact, and finds the position at which the log continues.
//!
//! Everything is read and judged before anything is handed out or changed, so that a damaged directory stays as it is.

use crate::buffer::Buffer;
use crate::checkpoint::{CHECKPOINT, CheckpointReader};
use crate::control::{CONTROL, Control};
use crate::error::{Damage, DamageKind, LogError};
use crate::format::RecordKind;
use crate::options::LogOptions;
use crate::progress::{OnProgress, ProgressMeter, RecoveryStep};
use crate::scan::{Ending, RawRecord, Records, Scanned, Step, judge, open_segment};
use crate::segment::{Segment, UNFINISHED};
use crate::start::Start;
use crate::sync::Arc;
use env::{Disk, DiskError, DiskLock, Randomness};
use model::LogPosition;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io::ErrorKind;
use std::ops::RangeInclusive;

/// The lock file's name.
pub const LOCK: &str = "LOCK";

/// Bytes that are read at a time.
const READ: u64 = 256 * 1024;

/// Data that recovery hands to the engine: first all rows of `checkpoint`, then all `records`, which must be read to the end before
/// the first new checkpoint is finished.
pub struct Recovered {
    /// The rows of the last checkpoint.
    pub checkpoint: Option<CheckpointReader>,
    /// The records that follow, in log order. Those that end up to the checkpoint's start and have a stamp below its bound are
    /// already in it, deletions included, and must be skipped.
    pub records: RecordReader,
    /// Report.
    pub report: RecoveryReport,
    /// Threads of [`Recovered::replay`].
    pub(crate) threads: usize,
    /// Bytes of its batches.
    pub(crate) batch_bytes: usize,
    pub(crate) on_progress: Option<OnProgress>,
}

impl Recovered {
    /// Bytes that a replay reads, about.
    pub(crate) fn bytes(&self) -> u64 {
        self.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.info().bytes) + self.records.bytes
    }
}

/// Report of a recovery.
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
    /// Number of records to be read; a large one counts once.
    pub records: u64,
    /// Segment files that they are in.
    pub segments: u64,
    /// Position at which the log continues.
    pub end: LogPosition,
}

/// Writes how an engine has come up, for people: whether the log is new or was closed, the engine's `state`, and the bytes that were
/// cut off the log's end, in words.
///
/// # Errors
/// Those of `f`.
pub fn write_recovery(
    f: &mut fmt::Formatter<'_>,
    (created, clean, cut): (bool, bool, Option<&str>),
    state: fmt::Arguments<'_>,
) -> fmt::Result {
    if created {
        return f.write_str("created a new database");
    }
    let how = if clean { "clean stop" } else { "recovered from a crash" };
    write!(f, "{how}: {state}")?;
    cut.map_or(Ok(()), |cut| write!(f, "; {cut}, none of them acknowledged as durable"))
}

/// Bytes at the log's end that were cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailCut {
    /// The segment file.
    pub file: String,
    /// Offset of the cut in the file.
    pub offset: u64,
    /// Bytes from there to the last one that had been written.
    pub bytes: u64,
}

impl TailCut {
    /// Bytes that would be cut off after the last segment's intact records.
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
    /// Position that [`Log::append`](crate::Log::append) or [`LargeRecord::finish`](crate::LargeRecord::finish) returned. For a
    /// part it is the position of its record.
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
    /// Bytes of all records in them.
    bytes: u64,
    current: Option<(Records, u64)>,
}

impl RecordReader {
    /// A reader of the same records, which stands at the first, if this one does.
    #[must_use]
    pub fn another(&self) -> Self {
        Self {
            disk: Arc::clone(&self.disk),
            identity: self.identity,
            segments: self.segments.clone(),
            finished: self.finished.clone(),
            bytes: self.bytes,
            current: None,
        }
    }

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
            position: LogPosition::from_raw(end),
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

/// Returns the end of the record to which this one belongs; `None` if it is no redo record, or part of an unfinished one.
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
    /// The way on.
    pub going: Continuation,
    /// For the engine.
    pub recovered: Recovered,
}

/// Takes the directory's lock.
pub fn take_lock(disk: &dyn Disk) -> Result<DiskLock, LogError> {
    disk.lock(LOCK).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => LogError::Locked { path: error.path().to_owned(), holder: error.holder() },
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

    /// Looks into a directory that must hold a log.
    pub fn of_a_log(disk: &dyn Disk) -> Result<Self, LogError> {
        let inventory = Self::take(disk)?;
        if inventory.control { Ok(inventory) } else { Err(LogError::NotALog { file: CONTROL.to_owned() }) }
    }
}

/// Opens the directory, or creates a log in it unless it is opened read-only.
pub fn resume(disk: &Arc<dyn Disk>, options: &LogOptions) -> Result<Resumed, LogError> {
    if options.read_only {
        // Before the lock: nobody who is not there can be in the way.
        Inventory::of_a_log(&**disk)?;
    } else {
        disk.create_dir_all("").map_err(LogError::clean)?;
    }
    let lock = take_lock(&**disk)?;
    let mut inventory = Inventory::take(&**disk)?;
    let created = !inventory.control;
    let control = if options.read_only {
        Control::open_to_read(&**disk)?
    } else if created {
        let control = create(&**disk, options, &inventory)?;
        inventory = Inventory::take(&**disk)?;
        control
    } else {
        Control::open(&**disk)?
    };
    let identity = control.identity();
    let checkpoint = match inventory.checkpoint {
        true => Some(CheckpointReader::open(&**disk, identity)?),
        false => None,
    };
    let first = checkpoint.as_ref().map_or(1, |checkpoint| checkpoint.info().first_segment);
    let mut progress = progress_of(&**disk, options, &inventory, checkpoint.as_ref())?;
    let checkpoint = checkpoint.map(|checkpoint| checkpoint.verified(|bytes| progress.add(bytes))).transpose()?;
    let chain = read_chain(&**disk, identity, &inventory, first, |bytes| progress.add(bytes))?;
    progress.finish();
    let tail = end_of(&chain, first)?;
    let next = chain.get(tail + 1).filter(|blank| blank.place.number == chain[tail].place.number + 1);
    let needed = first..=next.unwrap_or(&chain[tail]).place.number;

    if !options.read_only {
        remove_leftovers(&**disk, &inventory, needed)?;
    }
    let mut report = report(&chain[..=tail], created, &control);
    let records = RecordReader {
        disk: Arc::clone(disk),
        identity,
        segments: chain[..=tail].iter().map(|scanned| (scanned.place.number, scanned.scan.end)).collect(),
        finished: chain[..=tail].iter().flat_map(|scanned| scanned.scan.finished.iter().copied()).collect(),
        bytes: chain[..=tail].iter().map(|scanned| scanned.scan.end - scanned.place.start).sum(),
        current: None,
    };
    let going = go_on(&**disk, options, Start::find(&**disk, identity, &chain[..=tail], next)?)?;
    report.end = LogPosition::from_raw(going.buffer.tail());
    let (threads, batch_bytes, on_progress) = (options.threads(), options.part_bytes(), options.on_progress.clone());
    Ok(Resumed {
        lock,
        control,
        going,
        recovered: Recovered { checkpoint, records, report, threads, batch_bytes, on_progress },
    })
}

/// Way in which a log goes on.
pub struct Continuation {
    /// Buffer of the appends.
    pub buffer: Buffer,
    /// The segment that follows, if it was prepared before the crash.
    pub next: VecDeque<Arc<Segment>>,
    /// Why appends are refused, and what is left to be done before they are not.
    pub refused: Option<(LogError, Start)>,
}

/// Goes on, or halts where the log ends: a disk that is full, or that nothing may be written to, can still be read.
fn go_on(disk: &dyn Disk, options: &LogOptions, mut start: Start) -> Result<Continuation, LogError> {
    if options.read_only {
        return Ok(Continuation {
            buffer: start.halted(),
            next: VecDeque::new(),
            refused: Some((LogError::ReadOnly, start)),
        });
    }
    match start.reserve(disk, options).map_err(LogError::clean) {
        Ok(()) => {
            let (buffer, next) = start.finish().map_err(LogError::Disk)?;
            Ok(Continuation { buffer, next, refused: None })
        }
        Err(full @ LogError::Full(_)) => {
            start.settle().map_err(LogError::Disk)?;
            Ok(Continuation { buffer: start.halted(), next: VecDeque::new(), refused: Some((full, start)) })
        }
        Err(error) => Err(error),
    }
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
    Segment::create_first(disk, identity, 1, 0, options).map_err(LogError::clean)?;
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

/// Returns whether a segment has nothing after its header, whatever log it belongs to.
fn is_blank_file(disk: &dyn Disk, name: &str) -> Result<bool, DiskError> {
    let mut window = crate::window::Window::new(disk.open(name)?.into())?;
    let mut offset = crate::format::SEGMENT_HEADER;
    while offset < window.length() {
        let bytes = window.at(offset, READ)?;
        if bytes.is_empty() || bytes.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        offset += bytes.len() as u64;
    }
    Ok(true)
}

fn read_chain(
    disk: &dyn Disk,
    identity: u64,
    inventory: &Inventory,
    first: u64,
    mut read: impl FnMut(u64),
) -> Result<Vec<Scanned>, LogError> {
    let needed = inventory.segments.iter().filter(|number| **number >= first);
    let scanned = needed.map(|number| Scanned::read(disk, identity, *number));
    scanned.inspect(|scanned| read(scanned.as_ref().map_or(0, |scanned| scanned.place.file_bytes()))).collect()
}

/// The meter of the verifying step. The lengths of segments are looked up only if somebody wants to know.
fn progress_of(
    disk: &dyn Disk,
    options: &LogOptions,
    inventory: &Inventory,
    checkpoint: Option<&CheckpointReader>,
) -> Result<ProgressMeter, LogError> {
    let mut total = checkpoint.map_or(0, |checkpoint| checkpoint.info().bytes);
    if options.on_progress.is_some() {
        let first = checkpoint.map_or(1, |checkpoint| checkpoint.info().first_segment);
        for number in inventory.segments.iter().filter(|number| **number >= first) {
            let length = disk.open(&Segment::name(*number)).and_then(|file| file.len());
            total += length.map_err(LogError::Disk)?;
        }
    }
    Ok(ProgressMeter::new(options.on_progress.clone(), RecoveryStep::Verify, total))
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
        end: LogPosition::from_raw(last.scan.end),
    }
}
