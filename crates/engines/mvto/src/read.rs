//! Reading: the newest version below the begin timestamp, and nobody older may change that any more.
//!
//! Source: vMVCC, section 2. The order of steps on a tuple is `ownership.rs`'s; on a gap, `parts::index`'s.

use crate::begin::{Core, View, table};
use crate::catalog::{Catalog, Place};
use crate::engine::Mvto;
use crate::ownership::Holder;
use crate::read_set::{Range, ReadSet};
use crate::store::{Tuple, VersionRef};
use crate::write_set::{Workspace, WriteSet};
use env::Clock;
use env::time::{Duration, Instant};
use model::{Columns, Direction, Item, Key, Result, RowBuf, RowRef, Scan, ScanEnd, TableId};
use parts::epoch::{self, Guard};
use parts::index::ordered::Cursor;
use parts::index::{Entry, Ordered};
use parts::spin::Backoff;
use parts::sync::spin_loop;
use std::iter::Peekable;
use std::ops::{Bound, ControlFlow};

/// How often a waiter looks at the owner before it sleeps: commits are short.
#[cfg(not(feature = "shuttle"))]
const LOOKS_BEFORE_SLEEP: u32 = 200;
#[cfg(feature = "shuttle")]
const LOOKS_BEFORE_SLEEP: u32 = 2;

/// What the reads of one transaction stand on: which tables there are, and what it has written itself.
#[derive(Debug)]
pub(crate) struct Footing<'a> {
    pub catalog: &'a Catalog,
    pub writes: &'a WriteSet,
    /// Where to note what is read, if the transaction may have to move.
    pub reads: Option<&'a mut ReadSet>,
}

/// What a look at a tuple finds.
pub(crate) enum Seen<'g> {
    /// The newest version below the reader, if any.
    Version(Option<VersionRef<'g>>),
    /// The tuple has left its index: look the key up again.
    Gone,
}

impl<C: Clock> Mvto<C> {
    /// Reads one row, own writes first.
    pub(crate) fn read(
        &self,
        core: &mut Core,
        id: TableId,
        key: &[u8],
        columns: Columns<'_>,
        row: &mut RowBuf,
    ) -> Result<bool> {
        row.clear();
        self.start(core)?;
        let Core { view, work, .. } = core;
        let Workspace { catalog, writes, reads, .. } = &mut **work;
        let reads = self.notes(view, reads);
        self.read_at(view, Footing { catalog, writes, reads }, id, key, columns, row)
    }

    /// Where to note what is read, if the transaction may have to move.
    fn notes<'a>(&self, view: &View, reads: &'a mut ReadSet) -> Option<&'a mut ReadSet> {
        view.moves.then(|| {
            reads.count(&self.memory.meter);
            reads
        })
    }

    /// Reads one row that [`Mvto::own_now`] has seen to. Where it is owned, nobody changes it, so nothing is noted.
    pub(crate) fn read_owned(
        &self,
        core: &mut Core,
        id: TableId,
        key: &[u8],
        columns: Columns<'_>,
        row: &mut RowBuf,
    ) -> Result<bool> {
        row.clear();
        let Workspace { catalog, writes, .. } = &*core.work;
        self.read_at(&mut core.view, Footing { catalog, writes, reads: None }, id, key, columns, row)
    }

    /// Reads one row as of a view, into an empty buffer.
    pub(crate) fn read_at(
        &self,
        view: &mut View,
        on: Footing<'_>,
        id: TableId,
        key: &[u8],
        columns: Columns<'_>,
        row: &mut RowBuf,
    ) -> Result<bool> {
        let place = table(self, view, on.catalog, id)?.rows();
        place.table.schema.check_key(key)?;
        place.table.schema.check_columns(columns)?;
        if let Some(own) = on.writes.own_value(place.id(), key) {
            own.into_iter().for_each(|own| row.project(RowRef::new(own), columns));
            return Ok(own.is_some());
        }
        let guard = epoch::pin();
        let found = self.visible(view, place, key, &guard)?;
        on.reads.into_iter().for_each(|reads| reads.note_key(place.id(), key, self.options.read_set));
        found.into_iter().for_each(|found| row.project(found, columns));
        Ok(found.is_some())
    }

    /// The row of a key as of the begin timestamp; own writes are the caller's business.
    pub(crate) fn visible<'g>(
        &self,
        view: &mut View,
        place: Place<'_>,
        key: &[u8],
        guard: &'g Guard,
    ) -> Result<Option<RowRef<'g>>> {
        let mut backoff = Backoff::new();
        loop {
            let found = if view.stamps {
                place.space().get_or_stamp(key, view.at.0, guard)
            } else {
                place.space().get(key, guard)
            };
            let Some(tuple) = found else { return Ok(None) };
            match self.look(view, place, tuple, guard)? {
                Seen::Version(version) => return Ok(note(view, version)),
                Seen::Gone => backoff.pause(),
            }
        }
    }

    /// Waits for an older transaction that commits, forbids older writes, and takes the newest version below the reader (M3).
    pub(crate) fn look<'g>(
        &self,
        view: &View,
        place: Place<'_>,
        tuple: &'g Tuple,
        guard: &'g Guard,
    ) -> Result<Seen<'g>> {
        if !view.stamps {
            // No older transaction can write any more, so nothing below the reader changes, not even by a kill.
            return Ok(Seen::Version(tuple.version_below(view.at, guard)));
        }
        loop {
            // Wait first: a stamp raised before the wait would abort or push the older writers that queue here.
            self.wait_while(view, place, tuple, |holder| keeps_from_reading(view, holder))?;
            tuple.ownership.raise_last_read(view.at);
            match tuple.ownership.holder() {
                Holder::Dead => return Ok(Seen::Gone),
                holder if keeps_from_reading(view, holder) => {}
                // One that executes is pushed, if it is older: it will commit above the stamp (M10).
                Holder::Executing(_) | Holder::Committing(_) | Holder::Free => {
                    return Ok(Seen::Version(tuple.version_below(view.at, guard)));
                }
            }
        }
    }

    /// Waits while `blocks` says so of whoever holds the tuple. Who may wait for whom, M7 says.
    pub(crate) fn wait_while(
        &self,
        view: &View,
        place: Place<'_>,
        tuple: &Tuple,
        blocks: impl Fn(Holder) -> bool,
    ) -> Result<()> {
        let mut looks = 0;
        let mut started: Option<Instant> = None;
        loop {
            let holder = tuple.ownership.holder();
            if !blocks(holder) {
                return Ok(());
            }
            looks += 1;
            if looks < LOOKS_BEFORE_SLEEP && view.wait_limit > Duration::ZERO {
                spin_loop();
                continue;
            }
            if !tuple.ownership.announce_waiter(holder) {
                continue;
            }
            let started = *started.get_or_insert_with(Instant::now);
            self.sleep_behind(view, place, tuple, holder, started)?;
        }
    }

    /// Visits a range in order, own writes merged in.
    pub(crate) fn scan(
        &self,
        core: &mut Core,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<ScanEnd> {
        self.start(core)?;
        let Core { view, work, .. } = core;
        let Workspace { catalog, writes, reads, .. } = &mut **work;
        let reads = self.notes(view, reads);
        self.scan_at(view, Footing { catalog, writes, reads }, scan, visit)
    }

    /// Visits a range as of a view.
    pub(crate) fn scan_at(
        &self,
        view: &mut View,
        on: Footing<'_>,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<ScanEnd> {
        let Footing { catalog, writes, mut reads } = on;
        let table = table(self, view, catalog, scan.table)?;
        table.schema.check_columns(scan.columns)?;
        scan.filter.map_or(Ok(()), |filter| table.schema.check_predicate(filter))?;
        let place = match scan.index {
            None => table.rows(),
            Some(index) => table.entries(index)?,
        };
        let index = place.ordered()?;
        let own = own_in_range(writes, place, scan).peekable();
        let mut walk = Walk { engine: self, scan, place, own, last_own: None };
        let mut shown = RowBuf::new();
        let limit = self.options.read_set;
        let mut show = |view: &mut View, position: &[u8], stored: RowRef<'_>, guard: &Guard| {
            if let (Some(_), Some(reads)) = (place.index(), &mut reads) {
                reads.note_key(table.rows().id(), stored.bytes(), limit);
            }
            walk_item(self, view, writes, scan, place, position, stored, guard, &mut shown, visit)
        };
        let end = walk.run(index, view, writes, &mut show);
        reads.into_iter().for_each(|reads| reads.note_range(seen_range(scan, place, &end), limit));
        end
    }
}

/// What part of its range a scan has seen. All of it counts where it failed on the way.
fn seen_range(scan: &Scan<'_>, place: Place<'_>, end: &Result<ScanEnd>) -> Range {
    let (space, mut lower, mut upper) = (place.id(), scan.lower.clone(), scan.upper.clone());
    match (end, scan.direction) {
        (Ok(ScanEnd::Stopped(position)), Direction::Forward) => upper = Bound::Included(position.clone()),
        (Ok(ScanEnd::Stopped(position)), Direction::Backward) => lower = Bound::Included(position.clone()),
        (Ok(ScanEnd::Finished) | Err(_), _) => {}
    }
    Range { space, lower, upper }
}

/// Whether a reader waits for whoever holds the tuple (M3, M7).
fn keeps_from_reading(view: &View, holder: Holder) -> bool {
    match holder {
        Holder::Committing(owner) => owner < view.at,
        Holder::Executing(owner) => view.waits && owner < view.name,
        Holder::Free | Holder::Dead => false,
    }
}

/// Remembers what the acknowledgement must wait for, and unwraps the row (design, rule 3).
fn note<'g>(view: &mut View, version: Option<VersionRef<'g>>) -> Option<RowRef<'g>> {
    let version = version?;
    assert!(version.begin() < view.at, "M4: a reader sees only older versions");
    view.rests_on = view.rests_on.max(version.log_position());
    version.row()
}

/// The write-set entries inside the scanned range, in its direction.
fn own_in_range<'a>(writes: &'a WriteSet, place: Place<'_>, scan: &Scan<'_>) -> impl Iterator<Item = usize> + use<'a> {
    let mut own = writes.in_range(place.id(), scan.lower.as_ref(), scan.upper.as_ref());
    let direction = scan.direction;
    std::iter::from_fn(move || match direction {
        Direction::Forward => own.next(),
        Direction::Backward => own.next_back(),
    })
}

/// A scan under way: the index's entries and the transaction's own, merged.
struct Walk<'a, C, I: Iterator<Item = usize>> {
    engine: &'a Mvto<C>,
    scan: &'a Scan<'a>,
    place: Place<'a>,
    /// The own writes that have not been shown.
    own: Peekable<I>,
    /// The own write that was shown (or hidden) last.
    last_own: Option<usize>,
}

/// Shows one visible row or entry; breaks when the visitor does.
type Show<'s> = dyn FnMut(&mut View, &[u8], RowRef<'_>, &Guard) -> Result<ControlFlow<()>> + 's;

impl<C: Clock, I: Iterator<Item = usize>> Walk<'_, C, I> {
    fn run(
        &mut self,
        index: &Ordered<Tuple>,
        view: &mut View,
        writes: &WriteSet,
        show: &mut Show<'_>,
    ) -> Result<ScanEnd> {
        let mut cursor = Cursor::new(bytes(&self.scan.lower), bytes(&self.scan.upper), self.scan.direction);
        let stamp = view.stamps.then_some(view.at.0);
        let (mut more, mut spare) = (true, Vec::new());
        while more {
            let guard = epoch::pin();
            let mut batch = emptied(spare);
            more = index.scan_leaf(&mut cursor, stamp, &guard, &mut batch);
            for &tuple in &batch {
                if let Some(position) = self.show_own_before(view, writes, Some(tuple.key()), &guard, show)? {
                    return Ok(ScanEnd::Stopped(position));
                }
                if self.is_own(writes, tuple.key()) {
                    continue; // Shown, or deleted, by the transaction itself.
                }
                let Some(row) = self.visible(view, tuple, &guard)? else { continue };
                if show(view, tuple.key(), row, &guard)?.is_break() {
                    return Ok(ScanEnd::Stopped(tuple.key().into()));
                }
            }
            spare = emptied(batch);
        }
        let guard = epoch::pin();
        let stopped = self.show_own_before(view, writes, None, &guard, show)?;
        Ok(stopped.map_or(ScanEnd::Finished, ScanEnd::Stopped))
    }

    /// What a scanned tuple shows. One that is being killed may come back to life (a writer had it pinned), so its key is
    /// looked up again.
    fn visible<'g>(&self, view: &mut View, tuple: &'g Tuple, guard: &'g Guard) -> Result<Option<RowRef<'g>>> {
        match self.engine.look(view, self.place, tuple, guard)? {
            Seen::Version(version) => Ok(note(view, version)),
            Seen::Gone => self.engine.visible(view, self.place, tuple.key(), guard),
        }
    }

    /// Shows own writes that come before `key`, and the one at `key` itself. Returns where the visitor stopped.
    fn show_own_before(
        &mut self,
        view: &mut View,
        writes: &WriteSet,
        key: Option<&[u8]>,
        guard: &Guard,
        show: &mut Show<'_>,
    ) -> Result<Option<Key>> {
        while let Some(&at) = self.own.peek() {
            let write = &writes.entries[at];
            let is_due = key.is_none_or(|key| match self.scan.direction {
                Direction::Forward => write.key[..] <= *key,
                Direction::Backward => write.key[..] >= *key,
            });
            if !is_due {
                break;
            }
            self.last_own = self.own.next();
            let Some(Some(row)) = writes.value(write.buffered) else { continue };
            if show(view, &write.key, RowRef::new(row), guard)?.is_break() {
                return Ok(Some(write.key.clone()));
            }
        }
        Ok(None)
    }

    /// Whether the own write at `key` has just been shown (or hidden).
    fn is_own(&self, writes: &WriteSet, key: &[u8]) -> bool {
        self.last_own.is_some_and(|at| writes.entries[at].key[..] == *key)
    }
}

/// Filters, projects and visits one position of a scan. In an index, `stored` is the primary key, and the row is read too.
#[expect(clippy::too_many_arguments, reason = "the pieces of one borrowed transaction")]
fn walk_item<C: Clock>(
    engine: &Mvto<C>,
    view: &mut View,
    writes: &WriteSet,
    scan: &Scan<'_>,
    place: Place<'_>,
    position: &[u8],
    stored: RowRef<'_>,
    guard: &Guard,
    shown: &mut RowBuf,
    visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let (key, row) = match place.index() {
        None => (position, stored),
        Some(_) => {
            let (rows, key) = (place.table.rows(), stored.bytes());
            let row = match writes.own_value(rows.id(), key) {
                Some(own) => own.map(RowRef::new),
                None => engine.visible(view, rows, key, guard)?,
            };
            (key, row.expect("M8: an index entry is visible only together with its row"))
        }
    };
    if scan.filter.is_some_and(|filter| !filter.matches(row)) {
        return Ok(ControlFlow::Continue(()));
    }
    let row = match scan.columns {
        Columns::All => row,
        columns => {
            shown.project(row, columns);
            shown.row()
        }
    };
    Ok(visit(Item { position, key, row }))
}

/// The memory of a batch for the next one, whose references live as long as another guard.
fn emptied<'next>(mut batch: Vec<&Tuple>) -> Vec<&'next Tuple> {
    batch.clear();
    batch.into_iter().map(|_| unreachable!("it is empty")).collect()
}

pub(crate) fn bytes(bound: &Bound<Key>) -> Bound<&[u8]> {
    match bound {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
    }
}
