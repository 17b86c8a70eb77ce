//! Numbers that only count up: identifiers, versions, row numbers.

use crate::error::{Result, SqlError, state};
use crate::store::{Store, independently};
use model::{Columns, Key, Mode, RowBuf, RowRef, TableId};

/// The largest block: what a crash may lose, and how rarely a busy counter writes.
const LARGEST_BLOCK: u64 = 1 << 16;

/// A counter with a durable ceiling, below which no number is given after a restart.
pub(super) struct Numbers {
    key: Key,
    next: u64,
    ceiling: u64,
    block: u64,
}

impl Numbers {
    /// The counter that is kept under `key`, or a new one from `first`. Blocks start with `block` numbers and double.
    pub(super) fn load(store: &dyn Store, table: TableId, key: Key, first: u64, block: u64) -> Result<Numbers> {
        let next = independently(store, Mode::ReadOnly, |transaction| {
            let mut row = RowBuf::new();
            if !transaction.read(table, &key, Columns::All, &mut row)? {
                return Ok(first);
            }
            let bytes = row.bytes().try_into().map_err(|_| damaged())?;
            Ok(u64::from_le_bytes(bytes))
        })?;
        Ok(Numbers { key, next, ceiling: next, block })
    }

    /// The next number.
    pub(super) fn next(&mut self, store: &dyn Store, table: TableId) -> Result<u64> {
        if self.next == self.ceiling {
            let exhausted = || SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, "all row numbers are used up");
            let ceiling = self.ceiling.checked_add(self.block).ok_or_else(exhausted)?;
            independently(store, Mode::ReadWrite, |transaction| {
                Ok(transaction.put(table, &self.key, RowRef::new(&ceiling.to_le_bytes()))?)
            })?;
            self.ceiling = ceiling;
            self.block = (self.block * 2).min(LARGEST_BLOCK);
        }
        self.next += 1;
        Ok(self.next - 1)
    }

    /// What to write so that the rest of the block is not lost; `None` if nothing would be.
    pub(super) fn exact(&self) -> Option<(Key, Vec<u8>)> {
        (self.next < self.ceiling).then(|| (self.key.clone(), self.next.to_le_bytes().to_vec()))
    }
}

fn damaged() -> SqlError {
    SqlError::new(state::DATA_CORRUPTED, "the state of a counter is damaged")
}
