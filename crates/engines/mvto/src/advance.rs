//! Moving forward: a transaction that owns at the statement, and whose written keys others have read meanwhile, commits at a
//! later timestamp than it began, if everything that it has read is still the same there.
//!
//! ```text
//! time    ----10------------14------------20-------22---------->
//! x       [ 2: u ]                                 [ 22: v ]       T10 writes v to x at a statement, and owns x
//! y       [ 5: w ]                                                 T10 reads w
//! T14                       read x = u, without a wait: last-read of x is 14
//! T10     begin ........... x, y ......... commit: x is committing; 10 < 14: draw 22, refresh y at 22, install at 22
//! ```
//!
//! To *refresh* a read is to do it again at the later timestamp `c`, stamp first and look second as every read (M3), and to
//! find the same: the newest version of the key begins below the old timestamp `o`. Then nobody has changed it between the
//! two and nobody will, since the stamp forbids it. So the transaction's reads at `o` are its reads at `c`, and it may take its
//! place at `c` (M10). It is not enough that the newest version *below `c`* begins below `o`: versions that no registered
//! transaction can read may have been taken out from between newer and older ones.
//!
//! Nobody else can change a row that the transaction owns, so reads of it after that are not noted. While it refreshes it
//! stays registered where its reads are: a row that it has read cannot vanish with all its versions (M5).
//!
//! No deadlock among moving transactions (M7):
//! 1. A committing transaction first turns all its owner words, then draws, then writes the new timestamp into its words. Only then
//!    does it wait. So the words of a waiting transaction show the timestamp at which it commits.
//! 2. It waits only for words that show a timestamp below its own.
//! 3. In a cycle of waits each transaction would thus commit below the one before it, and the first below itself.
//!
//! A word may still show the old timestamp of a transaction that is about to move. That transaction is not waiting; when it moves,
//! those who sleep on the word are woken and look again (`move_words`).

use crate::begin::{Core, Place, is_installed};
use crate::catalog::Table;
use crate::commit::table_of;
use crate::engine::Mvto;
use crate::read_set::Range;
use crate::reason::Reason;
use crate::scan::bytes;
use crate::store::{Pinned, Tuple};
use crate::view::View;
use crate::write::conflict;
use crate::write_set::Workspace;
use env::Clock;
use model::{Direction, Result, Timestamp};
use parts::epoch;
use parts::index::Entry;
use parts::index::ordered::Cursor;
use std::ops::Bound;

/// Draws of a committing transaction, at most. The first lies above all stamps, unless clocks of different cores disagree.
const DRAWS: usize = 4;

/// Comparison of a refresh: everything must be as it was at `from`, seen by `view`, which is the transaction's at the later
/// timestamp.
struct Refresh {
    from: Timestamp,
    view: View,
}

impl<C: Clock> Mvto<C> {
    /// Moves a transaction between two steps of a statement: what it reads from now on, it reads at a timestamp drawn now, and
    /// what it has read is the same there.
    ///
    /// It is registered at both timestamps until that is certain: what it has read, and what it will read, must not be collected
    /// (M5). While it owns nothing, no transaction waits for it, so its name may change too: then it queues behind those that were
    /// younger.
    ///
    /// # Errors
    /// What it has read has changed, or it has read too much.
    pub(crate) fn advance(&self, core: &mut Core) -> Result<()> {
        let (to, slot) = self.register_again(core)?;
        let refreshed = self.check_ceiling(&core.view, to).and_then(|()| self.refresh(core, to));
        let left = if refreshed.is_ok() { core.place.replace(Place::Site(slot)) } else { Some(Place::Site(slot)) };
        left.into_iter().for_each(|left| self.unregister(left));
        refreshed?;
        core.view.at = to;
        if !core.work.writes.owns_anything() {
            core.view.name = to;
            core.view.supervisor.as_ref().inspect(|supervisor| supervisor.transaction_begins(to));
        }
        Ok(())
    }

    /// Settles the place of a transaction that owns at the statement: where it is, or above all readers that have pushed it.
    /// Afterwards it cannot be pushed any more, and no stamp on what it writes is above it.
    pub(crate) fn settle(&self, core: &mut Core) -> Result<()> {
        if !core.view.moves {
            return Ok(());
        }
        for write in core.work.writes.entries.iter().filter(|write| is_installed(write)) {
            write.tuple.as_ref().expect("owned").ownership.start_commit();
        }
        for _ in 0..DRAWS {
            let Some((_, stamp)) = self.stamp_above(core) else { return Ok(()) };
            let mut to = self.draw_later(core)?;
            if to < stamp {
                self.time.wait_out(stamp); // A single read's.
                to = self.draw_later(core)?;
            }
            assert!(to > core.view.at, "M10: it moves later");
            self.move_words(core, to);
            self.refresh(core, to)?;
            core.view.at = to;
        }
        self.stamp_above(core).map_or(Ok(()), |(conflict, _)| Err(conflict))
    }

    /// The conflict with a later transaction that has read what this one is about to write, if there is any, and its stamp.
    fn stamp_above(&self, core: &Core) -> Option<(model::Error, Timestamp)> {
        let Core { view, work, .. } = core;
        work.writes.entries.iter().filter(|write| is_installed(write)).find_map(|write| {
            let last_read = write.tuple.as_ref().expect("owned").ownership.last_read();
            let table = table_of(&work.catalog, write);
            let conflict = || conflict(Reason::LaterReader, view, table, &write.key, last_read);
            (last_read > view.at).then(|| (conflict(), last_read))
        })
    }

    fn draw_later(&self, core: &Core) -> Result<Timestamp> {
        let slot = core.slot().expect("one that may move has begun under the mutex");
        let at = self.in_time(|| Ok(self.sites.draw_again(slot, &self.time)))?;
        self.check_ceiling(&core.view, at)?;
        Ok(at)
    }

    /// Shows everybody where the committing transaction goes. Who sleeps behind it looks again: it may be older now.
    fn move_words(&self, core: &Core, to: Timestamp) {
        for write in core.work.writes.entries.iter().filter(|write| is_installed(write)) {
            let tuple = write.tuple.as_ref().expect("owned");
            if tuple.ownership.move_to(to) {
                self.waits.wake(tuple.address().as_ptr().addr());
            }
        }
    }

    /// Reads everything again at `to` that the transaction has read, and forbids others to change it below (M10).
    fn refresh(&self, core: &Core, to: Timestamp) -> Result<()> {
        let Workspace { catalog, writes, reads, .. } = &*core.work;
        if reads.has_overflowed() {
            return Err(Reason::TooManyReads.abort(core.view.name, None, None).into());
        }
        let refresh = Refresh { from: core.view.at, view: View { at: to, waits: false, ..core.view.clone() } };
        let table = |id| catalog.get(id).expect("the read found its table in this catalog");
        reads.keys().iter().try_for_each(|(id, key)| self.refresh_key(&refresh, table(*id), key))?;
        reads.ranges().iter().try_for_each(|range| self.refresh_range(&refresh, table(range.table), range))?;
        // Owned keys count as read: they may be given up unchanged.
        let owned = writes.entries.iter().filter(|write| write.owned);
        owned.filter_map(|write| write.tuple.as_ref()).for_each(|tuple| tuple.ownership.raise_last_read(to));
        Ok(())
    }

    fn refresh_key(&self, refresh: &Refresh, table: &Table, key: &[u8]) -> Result<()> {
        loop {
            let guard = epoch::pin();
            match self.seek(&refresh.view, table, key, &guard) {
                Ok(sought) => return sought.map_or(Ok(()), |(tuple, _)| self.compare(refresh, table, tuple)),
                Err(held) => {
                    drop(guard);
                    self.wait_to_read(&refresh.view, table, held)?;
                }
            }
        }
    }

    fn refresh_range(&self, refresh: &Refresh, table: &Table, range: &Range) -> Result<()> {
        let mut cursor = Cursor::new(bytes(&range.lower), bytes(&range.upper), Direction::Forward);
        while !cursor.is_finished() {
            if let Some(held) = self.refresh_leaf(refresh, table, range, &mut cursor)? {
                self.wait_to_read(&refresh.view, table, held)?;
            }
        }
        Ok(())
    }

    /// Refreshes what the next leaf has of a range. Where the reader must wait, the tuple is returned, and the cursor is back at
    /// it.
    fn refresh_leaf(
        &self,
        refresh: &Refresh,
        table: &Table,
        range: &Range,
        cursor: &mut Cursor,
    ) -> Result<Option<Pinned>> {
        let (guard, mut batch) = (epoch::pin(), Vec::new());
        table.ordered()?.scan_leaf(cursor, Some(refresh.view.at.0), usize::MAX, &guard, &mut batch);
        for tuple in batch {
            match self.look_or_seek(&refresh.view, table, tuple, &guard) {
                Ok(sought) => sought.map_or(Ok(()), |(tuple, _)| self.compare(refresh, table, tuple))?,
                Err(held) => {
                    cursor.restart(Bound::Included(tuple.key()), bytes(&range.upper), Direction::Forward);
                    return Ok(Some(held));
                }
            }
        }
        Ok(None)
    }

    /// Checks that a key is as it was. It has been looked at: no version below the later timestamp can come any more.
    fn compare(&self, refresh: &Refresh, table: &Table, tuple: &Tuple) -> Result<()> {
        let newest = tuple.newest_begin();
        if newest > refresh.from {
            return Err(conflict(Reason::RefreshFailed, &refresh.view, table, tuple.key(), newest));
        }
        Ok(())
    }
}
