//! Numbers that only count up: identifiers, versions, row numbers.

use crate::sequences::Exhausted;
use crate::transact::transact_unawaited;
use model::{Access, Columns, Fault, Key, Mode, Result, RowBuf, RowRef, Store, TableId};

/// Numbers in the largest block: what a crash may lose, and how rarely a busy counter writes.
const LARGEST_BLOCK: u64 = 1 << 16;

/// A counter with a durable ceiling: every number below it may have been given. Several counters may draw from one ceiling, each
/// its own blocks.
#[derive(Debug)]
pub(crate) struct Numbers {
    key: Key,
    first: u64,
    next: u64,
    ceiling: u64,
    block: u64,
}

impl Numbers {
    /// A counter that is kept under `key` and begins with `first`. Blocks start with `block` numbers and double.
    pub(crate) fn new(key: Key, first: u64, block: u64) -> Numbers {
        Numbers { key, first, next: first, ceiling: first, block }
    }

    /// The next number.
    pub(crate) fn next(&mut self, engine: &dyn Store, table: TableId) -> std::result::Result<u64, Exhausted> {
        if self.next == self.ceiling {
            self.reserve(engine, table)?;
        }
        self.next += 1;
        Ok(self.next - 1)
    }

    /// Takes the block that begins at the stored ceiling.
    fn reserve(&mut self, engine: &dyn Store, table: TableId) -> std::result::Result<(), Exhausted> {
        let block = self.block;
        // Whatever is given a number is logged later, so it is durable only if this is.
        let ((from, to), _) = transact_unawaited(engine, Mode::ReadWrite, |access| {
            let from = self.stored(access, table)?;
            let Some(to) = from.checked_add(block) else { return Ok((from, None)) };
            access.put(table, &self.key, RowRef::new(&to.to_le_bytes()))?;
            Ok((from, Some(to)))
        })?;
        (self.next, self.ceiling) = (from, to.ok_or(Exhausted::Numbers)?);
        self.block = (block * 2).min(LARGEST_BLOCK);
        Ok(())
    }

    fn stored<A: Access + ?Sized>(&self, access: &mut A, table: TableId) -> Result<u64> {
        let mut row = RowBuf::new();
        if !access.read(table, &self.key, Columns::All, &mut row)? {
            return Ok(self.first);
        }
        let damaged = || Fault::Corruption { detail: "the state of a counter is damaged".to_owned() };
        Ok(u64::from_le_bytes(row.bytes().try_into().map_err(|_| damaged())?))
    }

    /// Returns the rest of the block, if no later one was taken.
    pub(crate) fn give_back<A: Access + ?Sized>(&self, access: &mut A, table: TableId) -> Result<()> {
        if self.next < self.ceiling && self.stored(access, table)? == self.ceiling {
            access.put(table, &self.key, RowRef::new(&self.next.to_le_bytes()))?;
        }
        Ok(())
    }
}
