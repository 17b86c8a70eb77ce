//! Own first, draw later: a declared procedure whose footprint is known owns the rows that it will write before it has a timestamp.
//!
//! ```text
//! enter the lane      it shows a lower bound of the timestamp
//! ask for the rows    of the whole footprint, side by side
//! own, undated        each row that may be written; on any refusal give all of them up, and begin as usual
//! draw                above every stamp and version of these rows, and show the timestamp in their words
//! run                 reads and writes at that timestamp; who is above waits for the commit, as always
//! ```
//!
//! Where a transaction draws first, whoever reads or writes its rows before it owns them makes it abort if it has drawn later. A
//! read-modify-write that owns first does not meet that: from the stamps that it looks at until its commit, nobody comes in between.
//! The clock is also read after the waits for memory, not in front of them.
//!
//! **M3.** By `ownership.rs`: a stamp that the owner has not seen belongs to a reader that waits for it. Its own reads of these rows leave
//! no stamp while it owns them. What it has not written by its end counts as read, and is stamped before it is given up: else somebody
//! older, who has begun before, could write below that read.
//!
//! **M5.** The lane shows the lower bound before the first row is owned, so the timestamp is registered before it is drawn.
//!
//! **M7.** It waits for nobody while it is undated: whoever meets it waits awake, and may be what it would have waited for. Then it is a
//! committing owner, and waits for smaller timestamps that commit. In its body it reads only: all that it writes is owned. (A key that
//! is inserted is not: it has no tuple. Such a procedure begins as usual.)
//!
//! **Catalog.** It is looked up before the rows are, and not again when the timestamp is known: the rows are of these tables.
//!
//! **When.** Where nobody is in the way it is work for nothing. So a procedure owns first only while others of its site have been
//! aborted lately, or if the options ask for it.
//!
//! The price: readers above it wait while its body runs, and not only while it commits. So a footprint with many rows to write begins as
//! usual, and so does one of a single key.

use crate::OwnFirst;
use crate::begin::{Core, Outcome, Seat, thread_number};
use crate::doors::Transaction;
use crate::engine::Mvto;
use crate::read::prefetch;
use crate::sites::{Beginner, Draw, Drawn};
use crate::write::find_pinned;
use crate::write_set::{Workspace, Write};
use env::Clock;
use model::{Begin, Footprint, FootprintEntry, Interactive, Mode, Result, Timestamp, Touch};
use parts::index::prefetch::SIDE_BY_SIDE;
use parts::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Keys of a footprint, at least. Between the draw and the look at the only row there is one wait for memory, during which hardly anybody
/// comes; and a begin that owns first takes some instructions more.
const FEWEST_KEYS: usize = 2;

/// Rows that are owned before the timestamp is drawn, at most.
const MOST: usize = 16;

/// Procedures of a site that own first after one of them was aborted by a conflict: where one in a hundred is, most own first, and where
/// one in ten thousand is, hardly any.
const WARY_FOR: u64 = 100;

/// Somebody else was there first, or a row is not there, or the clock is broken. What was owned has been given up.
struct Refused;

/// The keys that may be written.
fn written(footprint: &Footprint) -> impl Iterator<Item = &FootprintEntry> {
    footprint.keys().iter().filter(|entry| entry.touch.writes())
}

impl<C: Clock> Mvto<C> {
    /// Begins an attempt of a procedure: it owns first, if its footprint is known, and nobody is in the way.
    ///
    /// # Errors
    /// Same as [`Interactive::begin`].
    pub(crate) fn begin_procedure(&self, footprint: Option<&Footprint>, how: Begin) -> Result<Transaction<&Mvto<C>>> {
        let footprint = footprint.filter(|footprint| self.may_own_first(footprint, how.mode));
        match footprint.and_then(|footprint| self.own_first(footprint, how)) {
            Some(transaction) => Ok(transaction),
            None => self.begin(how),
        }
    }

    fn may_own_first(&self, footprint: &Footprint, mode: Mode) -> bool {
        let rows = written(footprint).count();
        mode == Mode::ReadWrite
            && self.may_enter_lane(mode)
            && footprint.keys().len() >= FEWEST_KEYS
            && (1..=MOST.min(self.options.write_set_rows)).contains(&rows)
            && written(footprint).all(|entry| entry.touch != Touch::Insert)
            && self.is_wary()
    }

    /// Takes note of a conflict of this thread's site.
    pub(crate) fn expect_conflicts(&self) {
        self.wary().store(WARY_FOR, Relaxed);
    }

    /// Returns whether the next procedure shall own first.
    fn is_wary(&self) -> bool {
        let left = self.wary().load(Relaxed);
        if left > 0 {
            self.wary().store(left - 1, Relaxed);
        }
        left > 0 || self.options.own_first == OwnFirst::Always
    }

    fn wary(&self) -> &AtomicU64 {
        &self.sites.shared(self.sites.assign(thread_number())).wary
    }

    fn own_first(&self, footprint: &Footprint, how: Begin) -> Option<Transaction<&Mvto<C>>> {
        self.check_log().ok()?;
        let thread = thread_number();
        let site = self.sites.assign(thread);
        let beginner = Beginner { thread, writes: true };
        let entered = self.sites.enter_with(site, &self.time, beginner, 1, |kept, draw| {
            self.own_and_draw(kept.get_or_insert_with(|| self.new_workspace()), footprint, &draw)
        });
        let (at, right, kept) = entered.ok()??;
        let seat = Seat { right, work: kept.expect("what was owned is in it") };
        let mut core = Core::seated(how, self.options.durability, self.options.wait_limit, at, seat);
        if self.prepare_in_lane(&core.view, &mut core.work, (at, at), 1).is_err() {
            self.end(&mut core, Outcome::Aborted(None));
            return None;
        }
        core.is_near = true;
        Some(Transaction::begun(self, core))
    }

    fn own_and_draw(
        &self,
        work: &mut Workspace,
        footprint: &Footprint,
        draw: &Draw<'_, C>,
    ) -> std::result::Result<Drawn, Refused> {
        self.refresh_catalog(work);
        let of_tables = footprint.keys().chunk_by(|a, b| a.table == b.table);
        of_tables.for_each(|keys| {
            keys.chunks(SIDE_BY_SIDE).for_each(|together| prefetch(&work.catalog, keys[0].table, together));
        });
        let drawn = own_all_undated(work, footprint).then(|| self.draw_above(work, draw)).flatten();
        let Some(drawn) = drawn else {
            self.give_up_undated(work);
            return Err(Refused);
        };
        for write in &work.writes.entries {
            write.tuple.as_ref().expect("owned").ownership.date(Timestamp(drawn.first));
        }
        Ok(drawn)
    }

    /// Draws a timestamp above every stamp and version of the rows that are owned.
    fn draw_above(&self, work: &Workspace, draw: &Draw<'_, C>) -> Option<Drawn> {
        let tuples = || work.writes.entries.iter().filter_map(|write| write.tuple.as_ref());
        let stamp = tuples().map(|tuple| tuple.ownership.last_read()).max().unwrap_or_default();
        let mut drawn = draw.now().ok()?;
        if drawn.first <= stamp.0 {
            self.time.wait_out(stamp); // A single read's.
            drawn = draw.now().ok()?;
        }
        // Else clocks of different cores disagree.
        let is_above = |at: Timestamp| at.0 < drawn.first;
        (is_above(stamp) && tuples().all(|tuple| is_above(tuple.newest_begin()))).then_some(drawn)
    }

    /// Gives up what is owned. It leaves nothing in these rows.
    fn give_up_undated(&self, work: &mut Workspace) {
        for Write { tuple, owned, .. } in work.writes.entries.drain(..) {
            let Some(tuple) = tuple else { continue };
            if owned {
                self.release(&tuple);
            }
            tuple.unpin();
        }
        work.writes.clear();
    }
}

/// Owns every row that may be written, without a wait. `false` if one is not there, or somebody has it.
fn own_all_undated(work: &mut Workspace, footprint: &Footprint) -> bool {
    let Workspace { catalog, writes, .. } = work;
    debug_assert!(writes.entries.is_empty(), "its transaction has not begun");
    written(footprint).all(|FootprintEntry { table: id, key, .. }| {
        if writes.find(*id, key).is_some() {
            return true; // It stands there in several ways.
        }
        let table = catalog.get(*id).filter(|table| table.schema.check_key(key).is_ok());
        let Some(tuple) = table.and_then(|table| find_pinned(table, key)) else { return false };
        let is_owned = tuple.ownership.try_own_undated().is_ok();
        let at = writes.entry(*id, key, || Some(tuple));
        (writes.entries[at].owned, writes.entries[at].is_undated) = (is_owned, is_owned);
        is_owned
    })
}
