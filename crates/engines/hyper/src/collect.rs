//! Collection: versions that nobody reads any more leave their chains, rows that nobody sees leave their slots. Section 2.4.
//!
//! Whoever ends a transaction collects what ended ones of its shelf have left, once no transaction is open that
//! started before their commits. Chains are cut under the latch of their blocks, so what is cut off is nobody else's
//! and is used again at once: the paper's tombstones and high-water marks are not needed (Y4).

use crate::Hyper;
use crate::order::Lowest;
use crate::writer::Commit;
use parts::epoch;
use std::sync::Arc;

impl Hyper {
    /// The lowest starts of open transactions.
    pub(super) fn lowest(&self) -> Lowest {
        let now = self.order.now();
        self.starts.lowest(now)
    }

    /// Cuts off what writers have replaced: all of them committed below every open transaction's start.
    pub(super) fn collect_versions(&self, over: &[Arc<Commit>]) {
        // Read again: it may have grown, and whatever lies below it may go.
        let lowest = self.lowest();
        for write in over.iter().flat_map(|commit| &commit.writes) {
            let Some(table) = self.tables.get(write.table) else { continue };
            let slot = write.place.slot as usize;
            let mut rows = table.block(write.place.block).write();
            if rows.key(slot) != Some(&write.key) {
                continue; // Another writer's collection has taken the row out.
            }
            let chain = rows.cut(slot, lowest.any);
            let left = rows.leave(slot);
            drop(rows);
            drop(chain);
            if let Some(node) = left {
                table.remove(node, &write.key, write.place);
            }
        }
        self.order.forget(lowest.writing);
    }

    /// Collects whatever can be collected now. Returns the number of writers whose versions have gone.
    pub fn collect(&self) -> usize {
        let over = self.shelves.take_all_over(self.lowest().any);
        self.collect_versions(&over);
        self.order.forget(self.lowest().writing);
        self.free_dropped();
        epoch::pin().flush();
        over.len()
    }
}
