//! Segment files: their names, their creation ahead of need, and metadata of the sealed ones.

use crate::format::{Block, BlockKind, SEGMENT_HEADER, SEGMENT_RESERVE};
use crate::options::LogOptions;
use crate::sync::Arc;
use env::{Disk, DiskError, DiskFile};
use std::io::ErrorKind;

/// Ends the name of a file that is not finished: it may be removed at any time when nobody has the log open.
pub const UNFINISHED: &str = ".tmp";

/// Bytes of the first segment of a new log, and of the one that recovery begins after a crash, at most: whoever opens the
/// log waits until its zeros are written. Those that follow have the size of the options, and are prepared by the thread
/// that works ahead.
const FIRST_SEGMENT: u64 = 4 << 20;

/// Which part of the log a segment holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Counted from one, without gaps.
    pub number: u64,
    /// The position of the first byte after the header.
    pub start: u64,
    /// Bytes after the header.
    pub capacity: u64,
}

impl Place {
    /// The position before which redo records and what begins their group must end.
    pub fn redo_limit(&self) -> u64 {
        self.start + self.capacity - SEGMENT_RESERVE
    }

    /// The first position of the next segment.
    pub fn end(&self) -> u64 {
        self.start + self.capacity
    }

    /// Bytes of the whole file.
    pub fn file_bytes(&self) -> u64 {
        SEGMENT_HEADER + self.capacity
    }

    /// Returns the file offset of `position`.
    pub fn offset(&self, position: u64) -> u64 {
        SEGMENT_HEADER + position - self.start
    }
}

/// An open segment file.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Its place in the log.
    pub place: Place,
    /// The file.
    pub file: Arc<dyn DiskFile>,
}

impl Segment {
    /// The file's name.
    pub fn name(number: u64) -> String {
        format!("wal-{number:010}.log")
    }

    /// The number in a segment's name; `None` for other files.
    pub fn parse_name(name: &str) -> Option<u64> {
        let number = name.strip_prefix("wal-")?.strip_suffix(".log")?.parse().ok()?;
        (number > 0 && Self::name(number) == name).then_some(number)
    }

    /// Creates the segment with which an opening begins.
    pub fn create_first(
        disk: &dyn Disk,
        identity: u64,
        number: u64,
        start: u64,
        options: &LogOptions,
    ) -> Result<Self, DiskError> {
        let capacity = options.segment_capacity().min(FIRST_SEGMENT - SEGMENT_HEADER);
        Self::create(disk, identity, number, start, capacity)
    }

    /// Creates a segment whose whole space is reserved and written, and which a power cut cannot take away any more.
    ///
    /// It is made under another name first, so that a segment's name always stands for an intact header.
    pub fn create(disk: &dyn Disk, identity: u64, number: u64, start: u64, capacity: u64) -> Result<Self, DiskError> {
        let name = Self::name(number);
        let place = Place { number, start, capacity };
        let header = Block { kind: BlockKind::Segment, identity, numbers: [number, start, capacity, 0] };
        let file = create_finished(disk, &name, &header.encode(), place.file_bytes())?;
        Ok(Self { place, file })
    }
}

/// Creates the durable file `name` with `contents` at its start and `bytes` bytes, the others zero, or leaves none of that
/// name.
pub fn create_finished(
    disk: &dyn Disk,
    name: &str,
    contents: &[u8],
    bytes: u64,
) -> Result<Arc<dyn DiskFile>, DiskError> {
    let unfinished = format!("{name}{UNFINISHED}");
    let file = create_unfinished(disk, &unfinished)?;
    let fill = || {
        file.allocate_written(bytes)?;
        file.write_at(0, contents)?;
        file.sync()?;
        disk.rename(&unfinished, name)
    };
    fill().inspect_err(|_| discard(disk, &unfinished))?;
    disk.sync_dir("")?;
    Ok(file)
}

/// Creates an empty file in the place of one that was left unfinished.
pub fn create_unfinished(disk: &dyn Disk, name: &str) -> Result<Arc<dyn DiskFile>, DiskError> {
    remove_if_there(disk, name)?;
    let created = disk.create_new(name).inspect_err(|_| discard(disk, name));
    created.map(Arc::from)
}

/// Gives an unfinished file's space back. If that fails, the next attempt or the next start removes the file.
pub fn discard(disk: &dyn Disk, name: &str) {
    let _ = disk.remove(name);
}

/// Removes a file; that there is none is as good.
pub fn remove_if_there(disk: &dyn Disk, name: &str) -> Result<(), DiskError> {
    match disk.remove(name) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// A segment to which nothing is added any more.
#[derive(Clone, Copy, Debug)]
pub struct Sealed {
    /// Its number.
    pub number: u64,
    /// The position after its seal.
    pub end: u64,
    /// The greatest timestamp in it.
    pub max_stamp: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_one_to_one() {
        for number in [1, 42, 9_999_999_999, 10_000_000_000] {
            assert_eq!(Segment::parse_name(&Segment::name(number)), Some(number));
        }
        for name in [
            "wal-1.log",
            "wal-0000000000.log",
            "wal-00000000001.log",
            "wal-+000000001.log",
            "wal-0000000001.log.tmp",
            "x",
        ] {
            assert_eq!(Segment::parse_name(name), None, "{name}");
        }
    }
}
