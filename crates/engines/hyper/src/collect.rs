//! Collection: versions that nobody reads any more leave their chains, rows that nobody sees leave their slots. Section 2.4.
//!
//! Whoever ends a transaction collects what it leaves and what ended ones of its shelf have left, once no transaction is open
//! that started before their commits. Chains are cut under the latch of their blocks, so what is cut off is nobody else's
//! and is used again at once: the paper's tombstones and high-water marks are not needed (Y4).

use crate::Hyper;
use crate::node::NodeRef;
use crate::undo::Undo;
use crate::writer::{Commit, Place, Write};
use model::LogPosition;
use parts::epoch::{self, Guard};
use parts::sync::atomic::Ordering::Relaxed;
use smallvec::SmallVec;
use std::sync::Arc;

/// Writes of a commit that is forgotten at once, and not with those of a later draw.
const LARGE: usize = 1024;

/// Writes that are collected under one guard.
const PINNED_WRITES: usize = 64;

/// Bounds on what may be collected. They hold for ever: a late entry among the starts is below its transaction's start (Y5).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collectable {
    /// Every open transaction has started here or later.
    pub bound: u64,
    /// Every open transaction that may still validate has.
    pub validated: u64,
    /// The log is durable up to here.
    pub durable: LogPosition,
}

impl Hyper {
    /// Whose versions may go: of those that committed below every open start, and whose records are durable (Y9, Y10).
    pub(super) fn collectable(&self) -> Collectable {
        let lowest = self.starts.lowest(&self.order);
        Collectable { bound: lowest.any, validated: lowest.writing, durable: self.durable_position() }
    }

    /// Cuts off what writers have replaced who are over by these bounds. What is cut off goes to `keep`, which returns the bytes that it
    /// freed. Returns the bytes that were freed in all.
    #[must_use]
    pub(super) fn collect_versions(
        &self,
        over: &[Arc<Commit>],
        collectable: Collectable,
        mut keep: impl FnMut(Option<Box<Undo>>) -> usize,
    ) -> usize {
        let mut freed = 0;
        for writes in over.iter().flat_map(|commit| commit.writes.chunks(PINNED_WRITES)) {
            let guard = epoch::pin();
            let of_one_block = |a: &Write, b: &Write| a.table == b.table && a.place.block == b.place.block;
            for writes in writes.chunk_by(of_one_block) {
                freed += self.collect_from_block(writes, collectable, &guard, &mut keep);
            }
        }
        if over.iter().any(|commit| commit.writes.len() > LARGE) {
            self.order.forget(collectable.validated);
        }
        freed
    }

    /// The same for writes of rows of one block: under its latch at once, since an insert of many rows fills block after block.
    fn collect_from_block(
        &self,
        writes: &[Write],
        collectable: Collectable,
        guard: &Guard,
        keep: &mut impl FnMut(Option<Box<Undo>>) -> usize,
    ) -> usize {
        let mut freed = writes.iter().map(Write::memory).sum();
        let Some(Write { table, place: Place { block, .. }, .. }) = writes.first() else { return 0 };
        // The transaction that was open here has ended: nothing else keeps the table.
        let Some(table) = self.tables.pinned_even_dropped(table.0, guard) else { return freed };
        // Those that leave the index do so without the latch: whoever inserts takes it under that of a leaf.
        let mut gone: SmallVec<[(NodeRef, &Write); 4]> = SmallVec::new();
        let mut rows = table.block(*block).write();
        for write in writes {
            let slot = write.place.slot as usize;
            if rows.key(slot) != Some(&write.key) {
                continue; // Another writer's collection has taken the row out.
            }
            freed += keep(rows.cut(slot, collectable));
            gone.extend(rows.leave(slot, &table.layout).map(|node| (node, write)));
        }
        drop(rows);
        gone.into_iter().for_each(|(node, write)| table.remove(node, &write.key, write.place));
        freed
    }

    /// Has the log make durable what versions wait for, and does not wait for that: where nobody asks for durability, they would stay
    /// until the log's buffer is full (Y10).
    fn hurry_log(&self) {
        let Some(log) = &self.log else { return };
        if self.shelves.garbage() > 0 && log.durable() < log.appended() {
            // A failure of the disk is told to whoever commits next.
            log.on_durable(log.appended(), Box::new(|_| ()));
        }
    }

    /// Has whoever waits for the log collect what a large transaction leaves, if its record is not durable yet: until then every scan
    /// would look into the chains of its rows.
    pub(super) fn collect_when_logged(&self, commit: &Commit) {
        let position = commit.writer.position();
        if commit.writes.len() > LARGE && position > self.durable_position() {
            self.collected_when_logged.fetch_max(position.to_raw(), Relaxed);
        }
    }

    /// Collects what has waited for the log, once: after a wait for it.
    pub(super) fn collect_logged(&self) {
        let position = self.collected_when_logged.load(Relaxed);
        if position != 0
            && LogPosition::from_raw(position) <= self.durable_position()
            && self.collected_when_logged.compare_exchange(position, 0, Relaxed, Relaxed).is_ok()
        {
            self.collect();
        }
    }

    /// Collects whatever can be collected now. Returns the number of writers whose versions have gone.
    pub fn collect(&self) -> usize {
        self.doom_old();
        let collectable = self.collectable();
        let over = self.shelves.take_all_over(collectable);
        self.memory.meter.credit(self.collect_versions(&over, collectable, free));
        self.order.forget(collectable.validated);
        self.free_dropped();
        epoch::pin().flush();
        self.hurry_log();
        over.len()
    }
}

/// Frees a chain. Returns the bytes that it took.
fn free(chain: Option<Box<Undo>>) -> usize {
    chain.map_or(0, |chain| chain.memory_of_chain())
}

#[cfg(test)]
mod tests {
    use super::free;
    use crate::{Hyper, Options};
    use model::{Access, Begin, Finish, Interactive, Key, Mode, RowBuf, Schema};

    /// A short transaction after others allocates neither undo entries nor room for its writes.
    #[test]
    fn what_is_collected_is_used_again() {
        let engine = Hyper::new(Options::default());
        let table =
            engine.create_table(Schema::bytes("t").u64_key().build().expect("a good schema")).expect("a new table");
        for round in 0..3_u64 {
            let mut open = engine.begin(Begin::default()).expect("room for one more");
            let (entries, room) = open.core.worker().kept();
            assert_eq!(entries >= 4, round > 0, "of the transaction before");
            assert_eq!(room >= 4, round > 1, "of the commit before the last one");
            (0..4).for_each(|key| {
                let row = RowBuf::from_bytes(&round.to_be_bytes());
                open.put(table, &Key::from_u64(key), row.row()).expect("nobody in the way");
            });
            open.commit().expect("nobody in the way");
            assert_eq!(engine.stats().recent, 1, "the ones before are forgotten");
        }
    }

    /// A transaction enters the starts with a counter that it has read long ago, between the choice of what is over and its
    /// collection.
    #[test]
    fn what_is_over_is_collected_below_a_late_entry() {
        let engine = Hyper::new(Options::default());
        let table =
            engine.create_table(Schema::bytes("t").u64_key().build().expect("a good schema")).expect("a new table");
        let begin = |mode| engine.begin(Begin { mode, ..Begin::default() }).expect("room for one more");
        let put = |value: u64| {
            let mut open = begin(Mode::ReadWrite);
            let row = RowBuf::from_bytes(&value.to_be_bytes());
            open.put(table, &Key::from_u64(1), row.row()).expect("nobody in the way");
            open.commit().expect("nobody in the way");
        };
        put(1);
        let mut reader = begin(Mode::ReadOnly);
        reader.start().expect("open");
        put(2);
        assert_eq!(engine.stats().garbage, 1, "a reader needs it");
        let (slot, late) = (engine.starts.add().expect("room"), engine.order.now() - 1);
        reader.core.start = None;
        engine.starts.leave(reader.core.worker().slot);
        let collectable = engine.collectable();
        let over = engine.shelves.take_all_over(collectable);
        assert_eq!(over.len(), 1);
        engine.starts.enter(slot, late, true);
        engine.memory.meter.credit(engine.collect_versions(&over, collectable, free));
        engine.starts.leave(slot);
        assert_eq!(engine.stats().versioned, 0, "nobody would ever come back for it");
    }
}
