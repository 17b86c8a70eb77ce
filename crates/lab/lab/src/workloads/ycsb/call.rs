//! The transaction of YCSB.

use super::Layout;
use crate::workloads::audit::is_followed;
use crate::workloads::{Call, Stamp, StampedBytes, Stamps, decode, encode};
use model::{
    Access, Columns, Error, Footprint, FootprintEntry, Key, Malformed, Procedure, Program, Result, RowBuf, RowRef,
    SIDE_BY_SIDE, Scan, TableId, Touch,
};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::hint::black_box;
use std::ops::{Bound, ControlFlow};

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Step {
    Read(u64),
    Write(u64),
    ReadModifyWrite(u64),
}

impl Step {
    pub fn key(self) -> u64 {
        match self {
            Step::Read(key) | Step::Write(key) | Step::ReadModifyWrite(key) => key,
        }
    }

    fn touch(self) -> Touch {
        match self {
            Step::Read(_) => Touch::Read,
            Step::Write(_) => Touch::Overwrite,
            Step::ReadModifyWrite(_) => Touch::Update,
        }
    }
}

/// A transaction: some keys, or a range of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Transaction {
    table: u32,
    layout: Layout,
    pub(super) steps: Vec<Step>,
    /// The first key of a scan, and how many there are.
    pub(super) scan: Option<(u64, u64)>,
    stamps: Stamps,
    #[serde(skip)]
    read: RowBuf,
    #[serde(skip)]
    written: Vec<u8>,
}

/// What a transaction found and wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Keys that were missing. All were loaded and none is ever deleted.
    pub missing: u64,
    /// Rows that no single write has left.
    pub damaged: u64,
    /// Read-modify-writes.
    pub increments: u64,
    /// Writes of keys that are followed. In order.
    pub followed: SmallVec<[(u64, Stamp); 2]>,
}

impl Transaction {
    pub(super) fn new(table: TableId, layout: Layout, stamps: Stamps) -> Transaction {
        Transaction {
            table: table.0,
            layout,
            steps: Vec::new(),
            scan: None,
            stamps,
            read: RowBuf::new(),
            written: Vec::new(),
        }
    }

    fn table(&self) -> TableId {
        TableId(self.table)
    }

    /// Both bounds of a scan of so many keys.
    fn range((from, count): (u64, u64)) -> (Bound<Key>, Bound<Key>) {
        let end = from.checked_add(count).map_or(Bound::Unbounded, |end| Bound::Excluded(Key::from_u64(end)));
        (Bound::Included(Key::from_u64(from)), end)
    }

    fn scan<A: Access + ?Sized>(&self, access: &mut A, range: (u64, u64)) -> Result<Seen> {
        let (mut visited, mut damaged) = (0, 0);
        let (lower, upper) = Transaction::range(range);
        access.scan(&Scan::table(self.table()).between(lower, upper), &mut |item| {
            visited += 1;
            damaged += u64::from(!is_whole(self.layout, item.row));
            ControlFlow::Continue(())
        })?;
        Ok(Seen { missing: range.1.abs_diff(visited), damaged, ..Seen::default() })
    }

    /// Reads keys that do not depend on each other.
    fn read_all<A: Access + ?Sized>(&self, access: &mut A) -> Result<Seen> {
        let mut seen = Seen::default();
        for steps in self.steps.chunks(SIDE_BY_SIDE) {
            let keys: SmallVec<[Key; SIDE_BY_SIDE]> = steps.iter().map(|step| Key::from_u64(step.key())).collect();
            access.read_many(self.table(), &keys, Columns::All, &mut |_, row| match row {
                Some(row) => seen.damaged += u64::from(!is_whole(self.layout, row)),
                None => seen.missing += 1,
            })?;
        }
        Ok(seen)
    }

    /// Reads a key, and returns the count in its row.
    #[inline]
    fn read<A: Access + ?Sized>(&mut self, access: &mut A, step: Step, seen: &mut Seen) -> Result<u64> {
        let key = step.key().to_be_bytes();
        let found = match step {
            Step::ReadModifyWrite(_) => access.read_for_update(self.table(), &key, Columns::All, &mut self.read)?,
            Step::Read(_) | Step::Write(_) => access.read(self.table(), &key, Columns::All, &mut self.read)?,
        };
        if !found {
            seen.missing += 1;
            return Ok(0);
        }
        let row = self.read.row();
        seen.damaged += u64::from(!is_whole(self.layout, row));
        Ok(self.layout.split(row.bytes()).map_or(0, |(count, _)| count))
    }

    #[inline]
    fn write<A: Access + ?Sized>(&mut self, access: &mut A, key: u64, count: u64, seen: &mut Seen) -> Result<()> {
        let stamp = self.stamps.draw();
        self.written.resize(self.layout.bytes, 0);
        self.layout.write(&mut self.written, count, stamp);
        access.put(self.table(), &key.to_be_bytes(), RowRef::new(&self.written))?;
        if is_followed(key) && self.layout.has_stamp() {
            seen.followed.push((key, stamp));
        }
        Ok(())
    }
}

/// Returns whether the row looks as one write has left it.
#[inline]
fn is_whole(layout: Layout, row: RowRef<'_>) -> bool {
    let Some((_, stamped)) = layout.split(black_box(row.bytes())) else { return false };
    !layout.has_stamp() || StampedBytes::has_matching_ends(stamped)
}

impl Program for Transaction {
    type Output = Seen;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<Seen> {
        if let Some(range) = self.scan {
            return self.scan(access, range);
        }
        if self.steps.len() > 1 && self.steps.iter().all(|step| matches!(step, Step::Read(_))) {
            return self.read_all(access);
        }
        let mut seen = Seen::default();
        for position in 0..self.steps.len() {
            if position % SIDE_BY_SIDE == 0 && self.steps.len() > 1 {
                let next = self.steps[position..].iter().take(SIDE_BY_SIDE);
                let keys: SmallVec<[Key; SIDE_BY_SIDE]> = next.map(|step| Key::from_u64(step.key())).collect();
                access.prefetch(self.table(), &keys);
            }
            let step = self.steps[position];
            match step {
                Step::Read(_) => {
                    self.read(access, step, &mut seen)?;
                }
                Step::Write(key) => self.write(access, key, 0, &mut seen)?,
                Step::ReadModifyWrite(key) => {
                    let count = self.read(access, step, &mut seen)?;
                    self.write(access, key, count + 1, &mut seen)?;
                    seen.increments += 1;
                }
            }
        }
        Ok(seen)
    }
}

impl Procedure for Transaction {
    const NAME: &'static str = "ycsb";

    fn encode_arguments(&self, out: &mut Vec<u8>) {
        encode(self, out);
    }

    fn decode_arguments(arguments: &[u8]) -> std::result::Result<Transaction, Malformed> {
        decode(arguments)
    }

    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        if let Some(range) = self.scan {
            let (lower, upper) = Transaction::range(range);
            return Ok(Footprint::default().reads_range(self.table(), lower, upper));
        }
        let entry =
            |step: &Step| FootprintEntry { table: self.table(), key: Key::from_u64(step.key()), touch: step.touch() };
        Ok(self.steps.iter().map(entry).collect())
    }
}

impl Call for Transaction {
    fn stamps(&mut self) -> &mut Stamps {
        &mut self.stamps
    }
}
