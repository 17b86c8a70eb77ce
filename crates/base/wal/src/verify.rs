//! Reads a whole directory and reports its damage. Changes nothing.

use crate::checkpoint::{CheckpointInfo, CheckpointReader};
use crate::control::{CONTROL, damaged_slot, read};
use crate::error::{Damage, LogError};
use crate::recover::{Inventory, TailCut, take_lock};
use crate::scan::{Ending, Scanned, judge};
use crate::segment::Segment;
use env::Disk;
use model::LogPosition;
use std::collections::BTreeSet;

/// Report on a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Segments that could be read, oldest first.
    pub segments: Vec<SegmentReport>,
    /// The checkpoint, if there is an intact one.
    pub checkpoint: Option<CheckpointInfo>,
    /// The durable timestamp ceiling.
    pub ceiling: u64,
    /// The last run ended with a close.
    pub clean: bool,
    /// Bytes at the end that opening the database would cut off: not known to have been durable.
    pub cut: Option<TailCut>,
    /// Large records without their last part: of transactions that did not commit. Recovery passes over them.
    pub unfinished: u64,
    /// Damage for which the database cannot be opened.
    pub damage: Vec<Damage>,
    /// Damage that the database survives, since a second copy is intact.
    pub survivable: Vec<Damage>,
}

impl VerifyReport {
    /// Returns whether the database can be opened without losing anything that was known to be durable.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty()
    }

    /// Redo records in all segments.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.segments.iter().map(|segment| segment.records).sum()
    }
}

/// Report on a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentReport {
    /// The file's name.
    pub file: String,
    /// The position of its first byte.
    pub start: LogPosition,
    /// End position of its intact records.
    pub end: LogPosition,
    /// Redo records; a large one counts where its last part is.
    pub records: u64,
    /// Parts of large records.
    pub parts: u64,
    /// Groups in which they were written.
    pub groups: u64,
    /// The greatest timestamp.
    pub max_stamp: u64,
    /// The log goes on in the next segment.
    pub sealed: bool,
    /// Bytes that an earlier recovery has cut off at its end.
    pub cut_earlier: u64,
}

impl SegmentReport {
    /// Bytes of its intact records.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.end.to_raw() - self.start.to_raw()
    }
}

impl From<&Scanned> for SegmentReport {
    fn from(scanned: &Scanned) -> Self {
        let (sealed, cut_earlier) = match scanned.scan.ending {
            Ending::Sealed { cut } => (true, cut),
            Ending::Stopped | Ending::Open { .. } => (false, 0),
        };
        Self {
            file: Segment::name(scanned.place.number),
            start: LogPosition::from_raw(scanned.place.start),
            end: LogPosition::from_raw(scanned.scan.end),
            records: scanned.scan.records,
            parts: scanned.scan.parts,
            groups: scanned.scan.groups,
            max_stamp: scanned.scan.max_stamp,
            sealed,
            cut_earlier,
        }
    }
}

/// Reads all of the log in the root of `disk`: control file, checkpoint, segments. Changes nothing but the lock file.
///
/// # Errors
/// [`LogError::NotALog`], [`LogError::Locked`], [`LogError::NewerFormat`], [`LogError::Disk`]; a control file of which both
/// copies are damaged is [`LogError::Corrupt`], since nothing else can be checked without it. Other damage is in the report.
pub fn verify(disk: &dyn Disk) -> Result<VerifyReport, LogError> {
    Inventory::of_a_log(disk)?;
    let _lock = take_lock(disk)?;
    let inventory = Inventory::take(disk)?;
    let control = read(&*disk.open(CONTROL).map_err(LogError::Disk)?)?;
    let mut report = VerifyReport { ceiling: control.ceiling, ..VerifyReport::default() };
    report.survivable.extend(control.damaged_slot.map(damaged_slot));

    if inventory.checkpoint {
        let read = CheckpointReader::open(disk, control.identity).and_then(|reader| reader.verified(|_| ()));
        report.checkpoint = note(&mut report.damage, read)?.map(|reader| reader.info());
    }
    // Without a trustworthy checkpoint, the oldest segment that is there has to do as the first.
    let oldest = inventory.segments.first().copied().unwrap_or(1);
    let unknown = if inventory.checkpoint { oldest } else { 1 };
    let first = report.checkpoint.map_or(unknown, |checkpoint| checkpoint.first_segment);
    let chain = read_chain(disk, control.identity, &inventory, first, &mut report)?;
    conclude(&mut report, &chain, first);
    Ok(report)
}

fn read_chain(
    disk: &dyn Disk,
    identity: u64,
    inventory: &Inventory,
    first: u64,
    report: &mut VerifyReport,
) -> Result<Vec<Scanned>, LogError> {
    let mut chain = Vec::new();
    for number in inventory.segments.iter().filter(|number| **number >= first) {
        chain.extend(note(&mut report.damage, Scanned::read(disk, identity, *number))?);
    }
    report.segments = chain.iter().map(SegmentReport::from).collect();
    Ok(chain)
}

fn conclude(report: &mut VerifyReport, chain: &[Scanned], first: u64) {
    report.unfinished = unfinished(chain);
    let verdict = judge(chain, first);
    // A segment whose header is damaged has been reported as that; it is not missing.
    let new: Vec<Damage> = verdict
        .damage
        .into_iter()
        .filter(|damage| !report.damage.iter().any(|known| known.file == damage.file))
        .collect();
    report.damage.extend(new);
    let Some(last) = verdict.tail.map(|tail| &chain[tail]) else { return };
    report.clean = last.scan.ending == Ending::Stopped;
    report.cut = TailCut::of(last);
}

/// Number of large records that begin in these segments and do not end in them.
fn unfinished(chain: &[Scanned]) -> u64 {
    let finished: BTreeSet<u64> =
        chain.iter().flat_map(|scanned| &scanned.scan.finished).map(|(origin, _)| *origin).collect();
    let begun = chain.iter().flat_map(|scanned| &scanned.scan.begun);
    begun.filter(|origin| !finished.contains(origin)).count() as u64
}

/// Takes damage out of a result into the list.
fn note<T>(damage: &mut Vec<Damage>, result: Result<T, LogError>) -> Result<Option<T>, LogError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(LogError::Corrupt(found)) => {
            damage.push(found);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
