//! Undo entries: what stood in a row before a change, for the way back and for readers of older snapshots.
//!
//! The entries of one row form a chain from the newest to the oldest. It hangs on the row's block and is read and
//! changed under the block's latch, so an entry that is unlinked is nobody else's (Y4).

use crate::collect::Collectable;
use crate::store::Store;
use crate::writer::{Status, Writer};
use model::RawValue;
use model::decimal::Decimal;
use std::sync::Arc;

/// A set of columns of one table. Columns from the 64th on are in it together or not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ColumnSet(u64);

/// The columns that share a bit.
const LAST: u32 = 63;

impl ColumnSet {
    /// No column.
    pub const NONE: ColumnSet = ColumnSet(0);
    /// Every column.
    pub const ALL: ColumnSet = ColumnSet(u64::MAX);

    pub fn to_bits(self) -> u64 {
        self.0
    }

    pub fn from_bits(bits: u64) -> ColumnSet {
        ColumnSet(bits)
    }

    /// The set of one column, or of those that share its bit.
    #[inline]
    pub fn of(column: u16) -> ColumnSet {
        ColumnSet(1 << u32::from(column).min(LAST))
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub fn with(self, other: ColumnSet) -> ColumnSet {
        ColumnSet(self.0 | other.0)
    }

    pub fn without(self, other: ColumnSet) -> ColumnSet {
        ColumnSet(self.0 & !other.0)
    }

    #[inline]
    pub fn meets(self, other: ColumnSet) -> bool {
        self.0 & other.0 != 0
    }

    #[inline]
    pub fn has(self, column: u16) -> bool {
        self.meets(ColumnSet::of(column))
    }

    /// Visits its columns, of a table of so many, in their order.
    #[inline]
    pub fn each(self, width: usize, mut visit: impl FnMut(u16)) {
        let of_table = if width < LAST as usize { (1 << width) - 1 } else { !(1 << LAST) };
        let mut rest = self.0 & of_table;
        while rest != 0 {
            visit(rest.trailing_zeros() as u16);
            rest &= rest - 1;
        }
        if self.0 >> LAST != 0 {
            (LAST as u16..width as u16).for_each(visit);
        }
    }

    /// The position of a column among its columns.
    fn position(self, column: u16) -> Option<usize> {
        let bit = u32::from(column).min(LAST);
        let below = (self.0 & ((1 << bit) - 1)).count_ones();
        self.has(column).then(|| below as usize + usize::from(column) - bit as usize)
    }
}

/// Values of some columns, copied out of a row. A row that is stored as bytes has one value: the bytes.
#[derive(Debug, Default)]
pub(crate) struct Image {
    columns: ColumnSet,
    values: Vec<Old>,
    bytes: Vec<u8>,
}

/// One value of an image.
#[derive(Clone, Copy, Debug)]
enum Old {
    Null,
    Word(u64),
    /// A part of the image's bytes.
    Bytes(u32, u32),
    /// Digits and scale of a byte string that is a decimal.
    Decimal(i64, u16),
}

impl Image {
    /// Forgets all values, and keeps the memory.
    pub fn clear(&mut self) {
        self.columns = ColumnSet::NONE;
        self.values.clear();
        self.bytes.clear();
    }

    /// Copies the values of columns out of a slot.
    pub fn fill(&mut self, store: &Store, slot: usize, columns: ColumnSet) {
        self.clear();
        self.columns = columns;
        columns.each(store.width(), |column| self.push(store.get(column, slot)));
    }

    /// Copies the values of more columns out of a slot. Those that it has stay.
    pub fn extend(&mut self, store: &Store, slot: usize, columns: ColumnSet) {
        if self.columns.is_empty() {
            return self.fill(store, slot, columns); // In the memory that it has.
        }
        if columns.without(self.columns).is_empty() {
            return;
        }
        let before = std::mem::take(self);
        self.columns = before.columns.with(columns);
        self.columns.each(store.width(), |column| {
            self.push(before.get(column).unwrap_or_else(|| store.get(column, slot)));
        });
    }

    fn push(&mut self, value: RawValue<'_>) {
        self.values.push(match value {
            RawValue::Null => Old::Null,
            RawValue::Word(word) => Old::Word(word),
            RawValue::Bytes(bytes) => {
                let start = self.bytes.len() as u32;
                self.bytes.extend_from_slice(bytes);
                Old::Bytes(start, bytes.len() as u32)
            }
            RawValue::Decimal(Decimal { digits, scale }) => Old::Decimal(digits, scale),
        });
    }

    /// The value of a column, if the image has it.
    pub fn get(&self, column: u16) -> Option<RawValue<'_>> {
        self.columns.position(column).map(|at| match self.values[at] {
            Old::Null => RawValue::Null,
            Old::Word(word) => RawValue::Word(word),
            Old::Bytes(start, length) => RawValue::Bytes(&self.bytes[start as usize..][..length as usize]),
            Old::Decimal(digits, scale) => RawValue::Decimal(Decimal::new(digits, scale)),
        })
    }

    /// Puts the values back. Returns whether the memory that the store takes may have changed.
    #[must_use]
    pub fn restore(&self, store: &mut Store, slot: usize) -> bool {
        let mut moved = false;
        self.columns.each(store.width(), |column| {
            moved |= store.set(column, slot, self.get(column).expect("one of its columns"));
        });
        moved
    }

    /// Returns the bytes of memory that it takes beside itself.
    pub fn memory(&self) -> usize {
        self.values.capacity() * size_of::<Old>() + self.bytes.capacity()
    }
}

/// One before-image of a row.
#[derive(Debug)]
pub(crate) struct Undo {
    /// Who has changed the row; `None` in an entry that is kept for later.
    pub writer: Option<Arc<Writer>>,
    /// Whether the row was there before.
    pub was_there: bool,
    /// The values before, of the columns that the writer has changed; of none where the row was not there.
    pub image: Image,
    /// What has changed: the image's columns, or all of them if the row came or went; none if it was only locked.
    pub changed: ColumnSet,
    /// Which of its writer's writes it is.
    pub number: u32,
    pub older: Option<Box<Undo>>,
}

impl Undo {
    /// Returns whether the version after this entry is what a transaction of this start reads.
    ///
    /// # Errors
    /// The writer has drawn a timestamp that the snapshot contains, and is still validating: whoever reads waits.
    #[inline]
    pub fn is_visible(&self, start: u64, own: Option<&Arc<Writer>>) -> Result<bool, Undecided> {
        match self.writer().status.load() {
            Status::Committed(at) => Ok(at <= start),
            Status::Deciding(at) if at <= start => Err(Undecided(self.writer().clone())),
            Status::Deciding(_) | Status::Aborted => Ok(false),
            Status::Open => Ok(self.is_of(own)),
        }
    }
}

impl Undo {
    /// An entry of a writer, still empty.
    pub fn of(writer: &Arc<Writer>) -> Undo {
        Undo {
            writer: Some(writer.clone()),
            was_there: false,
            image: Image::default(),
            changed: ColumnSet::NONE,
            number: 0,
            older: None,
        }
    }

    /// Who has changed the row, of an entry in a chain.
    #[inline]
    pub fn writer(&self) -> &Arc<Writer> {
        self.writer.as_ref().expect("an entry in a chain has a writer")
    }

    /// Returns whether every transaction reads the version after this entry, or a newer one.
    /// And the writer's record is durable: whoever reads the version without the entry has nothing to wait for.
    pub fn is_over(&self, Collectable { bound, durable, .. }: Collectable) -> bool {
        let writer = self.writer();
        matches!(writer.status.load(), Status::Committed(at) if at <= bound) && writer.position() <= durable
    }

    pub fn is_of(&self, writer: Option<&Arc<Writer>>) -> bool {
        writer.is_some_and(|writer| Arc::ptr_eq(writer, self.writer()))
    }

    /// Returns the bytes of memory that the entry takes.
    pub fn memory(&self) -> usize {
        size_of::<Undo>() + self.image.memory()
    }

    /// Returns the bytes of memory that the entry and the older ones take.
    pub fn memory_of_chain(&self) -> usize {
        self.chain().map(Undo::memory).sum()
    }

    /// The entry, and the older ones.
    pub fn chain(&self) -> impl Iterator<Item = &Undo> {
        std::iter::successors(Some(self), |undo| undo.older.as_deref())
    }
}

/// A writer whose decision a reader waits for, without any latch.
#[derive(Debug)]
pub(crate) struct Undecided(pub Arc<Writer>);

impl Drop for Undo {
    /// One after the other: a chain may be longer than a stack is deep.
    fn drop(&mut self) {
        let mut next = self.older.take();
        while let Some(mut undo) = next {
            next = undo.older.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns_of(set: ColumnSet, width: usize) -> Vec<u16> {
        let mut columns = Vec::new();
        set.each(width, |column| columns.push(column));
        columns
    }

    #[test]
    fn columns_come_in_order_and_have_positions() {
        let set = ColumnSet::of(2).with(ColumnSet::of(7)).with(ColumnSet::of(70));
        let columns = columns_of(set, 80);
        assert_eq!(columns, [2, 7].into_iter().chain(63..80).collect::<Vec<_>>());
        for (at, &column) in columns.iter().enumerate() {
            assert_eq!(set.position(column), Some(at));
        }
        assert_eq!(set.position(3), None);
        assert_eq!(columns_of(ColumnSet::ALL, 3), [0, 1, 2]);
        assert_eq!(columns_of(ColumnSet::ALL, 64), (0..64).collect::<Vec<_>>());
        assert_eq!(columns_of(ColumnSet::of(63), 64), [63]);
        assert!(columns_of(ColumnSet::of(62), 62).is_empty(), "the table has no such column");
    }
}
