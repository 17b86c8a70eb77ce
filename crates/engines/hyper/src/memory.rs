//! The limit on memory: counted bytes, the start of collection, and refused writes.
//!
//! Counted are tables, blocks with their rows, index entries and nodes, undo entries, and the lists of what transactions have written.
//! A block counts when its memory changes, which most writes do not do. What a transaction makes and frees, its worker adds up;
//! the sum is counted at the end, if there is a difference ([`parts::memory`]).

use crate::Hyper;
use crate::begin::Core;
use crate::node::Node;
use crate::read::View;
use crate::table::Table;
use crate::undo::Undo;
use crate::wait::Refusal;
use crate::write::Wanted;
use crate::writer::Write;
use model::{Columns, Holder, Limit, LimitKind, OpenTransaction, Result, RowBuf};
use wal::LogError;

impl Wanted<'_> {
    /// About the bytes that it takes: none for what makes room, or changes nothing.
    fn needed(self, key: &[u8]) -> usize {
        const VERSION: usize = size_of::<Undo>() + size_of::<Write>();
        match self {
            Wanted::Put(row) | Wanted::Insert(row) => VERSION + size_of::<Node>() + 2 * key.len() + row.bytes().len(),
            Wanted::Update(_) => VERSION,
            Wanted::Delete | Wanted::Lock(_) => 0,
        }
    }
}

impl Hyper {
    /// Checks that there is memory for a statement, and makes room for the note of its write. Called without a latch.
    ///
    /// # Errors
    /// [`LimitKind::Memory`], [`LimitKind::MemoryHeld`].
    #[inline]
    pub(super) fn check_memory(&self, core: &mut Core, table: &Table, key: &[u8], wanted: Wanted<'_>) -> Result<()> {
        let needed = wanted.needed(key);
        if !self.memory.has_room(needed) {
            self.find_memory(core, table, key, wanted, needed)?;
        }
        core.worker().reserve().map_err(|_| {
            let used = self.memory.meter.used() as u64;
            // The system has no more, whatever the limit.
            Limit { kind: LimitKind::Memory, limit: used, actual: used + needed as u64 }.into()
        })
    }

    /// Near the limit: collects, and then knows exactly.
    #[cold]
    fn find_memory(&self, core: &mut Core, table: &Table, key: &[u8], wanted: Wanted<'_>, needed: usize) -> Result<()> {
        core.worker().count_made(&self.memory.meter);
        self.shelves.free_spare(&self.memory.meter);
        let mut actual = self.collected_with(needed);
        if !self.fits(core, table, key, wanted, actual)? && self.await_log_of_versions(core)? {
            actual = self.collected_with(needed);
        }
        if self.fits(core, table, key, wanted, actual)? {
            return Ok(());
        }
        let kind = self.holder(core).map_or(LimitKind::Memory, LimitKind::MemoryHeld);
        Err(Limit { kind, limit: self.memory.limit as u64, actual: actual as u64 }.into())
    }

    /// Collects, and returns the bytes that are left and needed.
    fn collected_with(&self, needed: usize) -> usize {
        self.collect();
        self.memory.collected().saturating_add(needed)
    }

    fn fits(&self, core: &Core, table: &Table, key: &[u8], wanted: Wanted<'_>, actual: usize) -> Result<bool> {
        match wanted {
            _ if actual <= self.memory.limit => Ok(true),
            Wanted::Delete | Wanted::Lock(_) => Ok(actual <= self.memory.limit_of_deletes()),
            Wanted::Put(_) | Wanted::Insert(_) | Wanted::Update(_) => {
                Ok(actual <= self.memory.limit_of_updates() && !self.grows(core, table, key, wanted)?)
            }
        }
    }

    /// Waits for the records of versions that are kept until these are durable (Y10): who has just deleted rows finds their memory.
    /// False: none is kept.
    fn await_log_of_versions(&self, core: &Core) -> Result<bool> {
        let Some(log) = self.log.as_ref().filter(|_| self.shelves.garbage() > 0) else { return Ok(false) };
        let position = log.appended();
        core.log_wait(log, |caller| {
            let is_over = || caller().is_some_and(|limit| limit.is_zero());
            log.wait_durable_unless(position, &is_over)?.then_some(true).ok_or(LogError::Interrupted)
        })
    }

    /// Returns whether a row will be longer than it is now.
    fn grows(&self, core: &Core, table: &Table, key: &[u8], wanted: Wanted<'_>) -> Result<bool> {
        let view = View { own: core.writer.as_ref(), stop: core.stop(self), ..View::newest(self) };
        let (mut before, mut after) = (RowBuf::new(), RowBuf::new());
        let is_there = view.read(table, key, Columns::All, &mut before).map_err(Refusal::statement)?.found;
        let after = match wanted {
            Wanted::Put(row) | Wanted::Insert(row) => {
                return Ok(!is_there || row.bytes().len() > before.row().bytes().len());
            }
            Wanted::Update(delta) if is_there => {
                table.schema().change(before.row(), delta, &mut after).map(|()| after.row().bytes().len())
            }
            Wanted::Update(_) | Wanted::Delete | Wanted::Lock(_) => return Ok(false),
        };
        Ok(after.is_ok_and(|after| after > before.row().bytes().len()))
    }

    /// The open transactions, each with the changes that are kept for it.
    pub(super) fn open_transactions(&self) -> Vec<OpenTransaction> {
        let mut kept = self.shelves.kept();
        kept.sort_unstable();
        let sums: Vec<u64> = kept
            .iter()
            .rev()
            .scan(0, |sum, (_, writes)| {
                *sum += writes;
                Some(*sum)
            })
            .collect();
        let since = |from: u64| {
            let later = kept.len() - kept.partition_point(|&(at, _)| at <= from);
            later.checked_sub(1).map_or(0, |last| sums[last])
        };
        let opened = self.starts.opened();
        let shown = opened.map(|open| OpenTransaction {
            name: open.name,
            age: self.clock.since(open.began),
            reads_only: open.reads_only,
            versions: Some(since(open.from)),
        });
        shown.collect()
    }

    /// The oldest other transaction, if versions are kept for it.
    fn holder(&self, core: &mut Core) -> Option<Holder> {
        let own = core.worker().slot;
        let oldest = self.starts.opened().min_by_key(|open| open.from).filter(|oldest| oldest.slot != own)?;
        let kept = self.shelves.kept().into_iter().filter(|&(at, _)| at > oldest.from);
        let versions = kept.map(|(_, writes)| writes).sum();
        let age = self.clock.since(oldest.began);
        (versions > 0).then_some(Holder { transaction: oldest.name, age, versions })
    }
}
