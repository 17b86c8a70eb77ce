//! Reads of one row without a transaction: no timestamp is drawn, no clock read, and nothing registered beyond the site's lane.
//!
//! ```text
//! hold the lane      then load `limit`, above every timestamp drawn so far
//! find the tuple     raise its stamp to the limit, if it is lower; where the key is absent, its gap's
//! look at the owner  one that commits: give up, and read in a transaction
//! copy               the newest version
//! ```
//!
//! **Strict.** Let `L` be the limit, `v` the version that is read, and `p` the greatest among `v`'s timestamp, those of the transactions
//! that ended before the call, and the places of the single reads that ended before it. The read's place is right behind `p`.
//! - *It reads what is there at `p`.* Whatever ended before the call had raised the limit, and so had the writers of what earlier
//!   reads have seen: all of `p` but `v` itself is at most `L`. Nobody older than `L` writes the key after the stamp (M3); who writes it
//!   after `v` does so above `v` (M4). So no version will come between `v` and `p`, and none is there: `v` was the newest, and nobody was
//!   about to install.
//! - *It does not come after what begins after it.* `p` was drawn by somebody whose begin had returned before the call did, so the
//!   clock had passed it (M1).
//!
//! The stamp comes before the look, as in every read. The form without it is wrong: T10 reads `a`; T20 writes `a` and ends; then `x` is
//! read; then T10 writes `x` at 10. T10 precedes T20 by `a`, T20 the read by real time, and the read T10 by `x`.
//!
//! **What it looks at stays (M5).** Whatever replaces `v` has a timestamp above `L`, and as long as the lane is held nothing is collected
//! that was replaced above it ([`crate::sites::Sites::hold`]).
//!
//! The price: `L` lies up to a microsecond ahead of the clock. Who begins to write the key before the clock is there aborts, or moves
//! if it owns at the statement. Where keys are only read, nothing shared is stored at all.

use crate::begin::thread_number;
use crate::engine::{Mvto, bump};
use crate::ownership::Holder;
use crate::store::Tuple;
use env::Clock;
use model::{Columns, Durability, Got, LogPosition, RowBuf, TableId, Timestamp};
use parts::epoch;

impl<C: Clock> Mvto<C> {
    /// Reads a row as it is now. `None` where a transaction must do it: the lane is taken, a transaction commits the row, or the request
    /// or the log is not in order.
    #[inline]
    pub(crate) fn get_now(&self, id: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Option<Got> {
        if !self.has_lanes {
            return None;
        }
        let site = self.sites.assign(thread_number());
        let mut held = self.sites.hold(site, &self.time)?;
        let limit = Timestamp(held.limit);
        let work = held.kept.get_or_insert_with(|| self.new_workspace());
        self.refresh_catalog(work);
        let table = work.catalog.get(id)?;
        table.schema.check_key(key).ok()?;
        table.schema.check_columns(columns).ok()?;
        row.clear();
        let guard = epoch::pin();
        let version = match table.space().get_or_stamp(key, limit.0, &guard) {
            None => None,
            Some(tuple) if may_read(tuple, limit) => tuple.newest(),
            Some(_) => return None,
        };
        let rests_on = version.map_or(LogPosition::ZERO, |version| version.log_position());
        if self.log.is_some() && rests_on > self.durable() && self.check_log().is_err() {
            return None; // It may never become durable.
        }
        let found = version.and_then(|version| version.row()).map(|found| row.project(found, columns)).is_some();
        bump(&self.sites.shared(site).single_reads, 1);
        let waits = self.options.durability == Durability::Fsync;
        Some(Got { found, log_position: if waits { rests_on } else { LogPosition::ZERO } })
    }
}

/// Forbids writes of a tuple up to `limit`, and then looks at its owner (M3). One that commits may have been seen elsewhere
/// already, so it is waited for whatever its timestamp; one that executes is pushed.
#[inline]
fn may_read(tuple: &Tuple, limit: Timestamp) -> bool {
    tuple.ownership.raise_last_read(limit);
    matches!(tuple.ownership.holder(), Holder::Free | Holder::Executing(_))
}
