//! The limit on memory: counted bytes, the start of collection, and refused transactions.
//!
//! Counted are tuples, versions (including those that pools keep for reuse), index nodes, and write buffers above a minimum size.
//! Blocks that a steady load recycles are counted once, when they are allocated, so such a load writes to no counter.

use crate::begin::Core;
use crate::catalog::Table;
use crate::engine::Mvto;
use crate::store::version_size;
use crate::view::View;
use crate::write_set::Workspace;
use env::Clock;
use model::{Limit, LimitKind, Result, RowRef, TableId};
use parts::epoch;

impl<C: Clock> Mvto<C> {
    /// Checks that there is memory for a row (`None`: its deletion).
    ///
    /// # Errors
    /// [`LimitKind::Memory`].
    #[inline]
    pub(crate) fn check_memory(&self, core: &Core, id: TableId, key: &[u8], row: Option<RowRef<'_>>) -> Result<()> {
        let needed = row.map_or(0, |row| version_size(row.bytes().len()));
        if self.memory.has_room(needed) {
            return Ok(());
        }
        self.find_memory(core, id, key, row, needed)
    }

    /// Makes room for entries of the write set, which are one piece.
    ///
    /// # Errors
    /// [`LimitKind::Memory`]: the system has no such piece, whatever the limit.
    #[inline]
    pub(crate) fn reserve(&self, core: &mut Core, entries: usize) -> Result<()> {
        core.work.writes.reserve(entries).map_err(|_| {
            let used = self.memory.meter.used() as u64;
            Limit { kind: LimitKind::Memory, limit: used, actual: used + core.work.writes.bytes as u64 }.into()
        })
    }

    /// Near the limit: collects, and then knows exactly.
    #[cold]
    fn find_memory(&self, core: &Core, id: TableId, key: &[u8], row: Option<RowRef<'_>>, needed: usize) -> Result<()> {
        self.drop_spare_workspaces();
        self.collect_versions();
        let limit = self.memory.limit;
        if self.memory.meter.used().saturating_add(needed) > limit {
            self.free_dropped_tables(); // Rather than refuse.
        }
        let actual = self.memory.collected().saturating_add(needed);
        let fits = match row {
            _ if actual <= limit => true,
            None => actual <= self.memory.limit_of_deletes(),
            Some(row) => actual <= self.memory.limit_of_updates() && !self.grows(core, id, key, row)?,
        };
        if fits {
            return Ok(());
        }
        Err(Limit { kind: LimitKind::Memory, limit: limit as u64, actual: actual as u64 }.into())
    }

    /// Returns whether a key will take more memory than it does now.
    fn grows(&self, core: &Core, id: TableId, key: &[u8], row: RowRef<'_>) -> Result<bool> {
        let Core { view, work, .. } = core;
        let Workspace { catalog, writes, .. } = &**work;
        let table = crate::begin::table(self, view, catalog, id)?;
        let before = match writes.own_value(table.id, key) {
            Some(own) => own.map(<[u8]>::len),
            None => self.visible_length(view, table, key),
        };
        Ok(before.is_none_or(|before| version_size(before) < version_size(row.bytes().len())))
    }

    /// The length of the row that a registered transaction sees, about: no stamp, no wait.
    fn visible_length(&self, view: &View, table: &Table, key: &[u8]) -> Option<usize> {
        let _still = self.bound.hold_still(); // The tuple is not stamped: it may be written below the transaction.
        let guard = epoch::pin();
        let version = table.space().get(key, &guard)?.version_below(view.at, &guard)?;
        version.row().map(|row| row.bytes().len())
    }

    /// Gives back the memory that sites keep for their next transactions.
    pub(crate) fn drop_spare_workspaces(&self) {
        let mut spare = Vec::new();
        self.sites.for_each(|state| spare.append(&mut state.extra.spare));
        self.sites.for_each_kept(|kept| spare.extend(kept.take()));
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;
    use crate::options::Options;
    use env::SimClock;
    use env::random::Randomness;
    use model::{Access, Begin, Finish, Interactive, RowBuf, Schema, Storage};
    use std::sync::Arc;

    type Engine = Mvto<SimClock>;

    /// Bytes of the tuples and versions that are linked, and of the blocks that pools keep.
    fn recount(engine: &Engine) -> usize {
        let mut bytes = 0;
        for table in engine.catalog().tables() {
            let counted: std::result::Result<(), ()> = table.space().for_each(|tuple, _| {
                bytes += tuple.size_with_versions();
                Ok(())
            });
            counted.expect("counting cannot fail");
        }
        engine.sites.for_each(|state| {
            bytes += state.extra.spare.iter().map(|work| work.pool.size()).sum::<usize>();
        });
        engine.sites.for_each_kept(|kept| bytes += kept.iter().map(|work| work.pool.size()).sum::<usize>());
        bytes
    }

    fn change(engine: &Arc<Engine>, table: TableId, random: &mut Randomness) {
        let mut transaction = engine.begin(Begin::default()).expect("room for one more");
        for _ in 0..random.in_range(0..40) {
            let key = random.in_range(0..3000).to_be_bytes();
            if random.chance(1, 3) {
                transaction.delete(table, &key).expect("nobody in the way");
            } else {
                let row = RowBuf::from_bytes(&vec![7; random.in_range(0..300) as usize]);
                transaction.put(table, &key, row.row()).expect("nobody in the way");
            }
        }
        if random.chance(1, 5) { transaction.abort() } else { transaction.commit().map(drop).expect("alone") }
    }

    #[test]
    fn the_count_is_what_a_walk_finds() {
        for storage in [Storage::Ordered, Storage::Hash] {
            let engine =
                Arc::new(Engine::in_memory_with(Options::default(), SimClock::new(1_000, 7)).expect("an engine"));
            let schema = Schema::bytes("bytes").storage(storage).build().expect("a good schema");
            let table = engine.create_table(schema).expect("a new table");
            let mut random = Randomness::from_seed(20);
            for round in 0..200 {
                change(&engine, table, &mut random);
                if round % 20 == 19 {
                    engine.collect();
                    let nodes = engine.memory.meter.used() - recount(&engine);
                    assert!(nodes < 3000 * 64 + (16 << 10), "{nodes} bytes of nodes in round {round}");
                }
            }
            assert!(recount(&engine) > 100_000);
            engine.drop_table("bytes").expect("it is there");
            let holding = engine.begin(Begin::default()).expect("room");
            holding.abort();
            engine.collect();
            engine.drop_spare_workspaces();
            assert_eq!(engine.memory.meter.used(), 0, "{storage:?}");
        }
    }
}
