//! Collection: versions that nobody reads any more leave their chains, rows that nobody sees leave their slots. Section 2.4.
//!
//! Whoever ends a transaction collects what ended ones of its shelf have left, once no transaction is open that
//! started before their commits. Chains are cut under the latch of their blocks, so what is cut off is nobody else's
//! and is used again at once: the paper's tombstones and high-water marks are not needed (Y4).

use crate::Hyper;
use crate::order::Lowest;
use crate::undo::Undo;
use crate::writer::Commit;
use model::LogPosition;
use parts::epoch;
use std::sync::Arc;

/// Bounds on what may be collected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collectable {
    /// Every open transaction has started here or later.
    pub bound: u64,
    /// The log is durable up to here.
    pub durable: LogPosition,
}

impl Hyper {
    /// The lowest starts of open transactions.
    pub(super) fn lowest(&self) -> Lowest {
        self.starts.lowest(&self.order)
    }

    /// Whose versions may go: of those that committed below every open start, and whose records are durable (Y9, Y10).
    pub(super) fn collectable(&self) -> Collectable {
        Collectable { bound: self.lowest().any, durable: self.durable_position() }
    }

    /// Cuts off what writers have replaced: all of them committed below every open transaction's start. Returns the bytes that were
    /// freed.
    #[must_use]
    pub(super) fn collect_versions(&self, over: &[Arc<Commit>]) -> usize {
        // Read again: it may have grown. Or fallen, by an entry that is late among the starts (Y5): what was over stays over.
        let (lowest, now) = (self.lowest(), self.collectable());
        let bound = over.iter().map(|commit| commit.at).fold(now.bound, u64::max);
        let (collectable, mut freed) = (Collectable { bound, ..now }, 0);
        for write in over.iter().flat_map(|commit| &commit.writes) {
            freed += write.memory();
            let Some(table) = self.tables.get(write.table) else { continue };
            let slot = write.place.slot as usize;
            let mut rows = table.block(write.place.block).write();
            if rows.key(slot) != Some(&write.key) {
                continue; // Another writer's collection has taken the row out.
            }
            let chain = rows.cut(slot, collectable);
            let left = rows.leave(slot, &table.layout);
            drop(rows);
            freed += chain.as_deref().map_or(0, Undo::memory_of_chain);
            drop(chain);
            if let Some(node) = left {
                table.remove(node, &write.key, write.place);
            }
        }
        self.order.forget(lowest.writing);
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

    /// Collects whatever can be collected now. Returns the number of writers whose versions have gone.
    pub fn collect(&self) -> usize {
        self.doom_old();
        let over = self.shelves.take_all_over(self.collectable());
        self.memory.meter.credit(self.collect_versions(&over));
        self.order.forget(self.lowest().writing);
        self.free_dropped();
        epoch::pin().flush();
        self.hurry_log();
        over.len()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Hyper, Options};
    use model::{Access, Begin, Finish, Interactive, Key, Mode, RowBuf, Schema};

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
        let over = engine.shelves.take_all_over(engine.collectable());
        assert_eq!(over.len(), 1);
        engine.starts.enter(slot, late, true);
        engine.memory.meter.credit(engine.collect_versions(&over));
        engine.starts.leave(slot);
        assert_eq!(engine.stats().versioned, 0, "nobody would ever come back for it");
    }
}
