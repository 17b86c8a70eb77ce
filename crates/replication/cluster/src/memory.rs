//! The limit on the memory of the local store.
//!
//! It is checked where a transaction is about to be proposed. What was ordered is applied whatever it takes, as is a state that is fetched:
//! a node that refused it would stop, and so would all others, and again after each start. So the local store has no limit of its own.

use crate::core::{Core, Snapshot};
use crate::writes::Writes;
use model::{Access, Columns, Finish, Limit, LimitKind, Result, RowBuf};

/// What a row takes beside its key and its bytes, about: its place in an index, and a version.
const ROW_BYTES: u64 = 128;

impl Core {
    /// Checks that there is memory for a transaction: for one that makes the rows longer up to the limit, for another one somewhat beyond
    /// it, since what it replaces is collected later, and for one that only deletes still further.
    ///
    /// # Errors
    /// [`LimitKind::Memory`]; those of the local store.
    pub fn check_memory(&self, writes: &Writes) -> Result<()> {
        let used = || self.local.ddl().and_then(|local| local.usage()).map_or(0, |usage| usage.memory_bytes);
        let Some((limit, used)) = self.options.memory_bytes.map(|limit| (limit, used())) else { return Ok(()) };
        let most = writes.bytes().saturating_add(writes.count().saturating_mul(ROW_BYTES));
        if used.saturating_add(most) <= limit {
            return Ok(());
        }
        let (before, after) = self.sizes(writes)?;
        let beyond = match after {
            0 => limit / 4,
            _ if after <= before => limit / 8,
            _ => 0,
        };
        let actual = used.saturating_add(after.saturating_sub(before));
        if actual <= limit.saturating_add(beyond) {
            return Ok(());
        }
        Err(Limit { kind: LimitKind::Memory, limit, actual }.into())
    }

    /// About the bytes of the rows that a transaction replaces, and of those that it writes.
    fn sizes(&self, writes: &Writes) -> Result<(u64, u64)> {
        let Snapshot { mut local, tables, .. } = self.snapshot()?;
        let size = |key: &[u8], row: &RowBuf| (key.len() + row.bytes().len()) as u64 + ROW_BYTES;
        let (mut replaced, mut before, mut after) = (RowBuf::new(), 0, 0);
        for ((table, key), row) in writes.iter() {
            after += row.as_ref().map_or(0, |row| size(key, row));
            if let Some(table) = tables.get(table)
                && local.read(table.local, key, Columns::All, &mut replaced)?
            {
                before += size(key, &replaced);
            }
        }
        local.abort();
        Ok((before, after))
    }
}
