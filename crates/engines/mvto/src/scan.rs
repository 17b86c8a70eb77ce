//! Scans ranges: gathers the next rows under a guard, then runs the visitor's code without one.
//!
//! ```text
//! guard    |--gather 1--|          |--gather 8--|                |--gather 64--|
//! visitor                 visit                   visit (8 times)                visit ...
//! ```
//!
//! A visitor may run for any time (its client may read slowly), so no guard is held meanwhile (M11): it would hold back all
//! reclamation. Gathered rows need no guard: the transaction is registered, so their versions stay linked ([`Tuple::keep`]). The
//! scan looks up the next rows again. Few rows are gathered at first, since every gathered row is stamped, and a scan that stops
//! early should not abort or push the writers of rows that it never shows.

use crate::begin::{Core, table};
use crate::catalog::Table;
use crate::engine::Mvto;
use crate::read::{FoundTuple, Scope, rest_on};
use crate::read_set::Range;
use crate::store::{Pinned, Tuple};
use crate::view::View;
use crate::write_set::{Workspace, WriteSet};
use env::Clock;
use model::{Columns, Direction, Item, Key, Result, RowBuf, RowRef, Scan, ScanEnd};
use parts::epoch::{self, Guard};
use parts::index::ordered::Cursor;
use parts::index::{Entry, Ordered};
use std::iter::Peekable;
use std::ops::{Bound, ControlFlow};

/// Rows that are looked at before the first visit.
const FIRST_LOOKS: usize = 1;
/// Factor by which the number of looks grows each time.
const LOOKS_GROWTH: usize = 8;
/// Rows that are looked at under one guard, at most: about a leaf of the index.
const MOST_LOOKS: usize = 64;
/// Rows whose versions are asked for before they are looked at; their tuples are asked for as long before that.
const LOOKS_AHEAD: usize = 4;

impl<C: Clock> Mvto<C> {
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
        let reads = self.notes(view, reads, scan.table);
        self.scan_at(view, Scope { catalog, writes, reads, kept: None }, scan, visit)
    }

    /// Visits a range as of a view.
    pub(crate) fn scan_at(
        &self,
        view: &mut View,
        scope: Scope<'_>,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<ScanEnd> {
        let Scope { catalog, writes, reads, .. } = scope;
        let table = table(self, view, catalog, scan.table)?;
        let index = table.ordered()?;
        table.schema.check_scan(scan)?;
        let own = own_in_range(writes, table, scan).peekable();
        let cursor = Cursor::new(bytes(&scan.lower), bytes(&scan.upper), scan.direction);
        let (last_own, examined) = (None, 0);
        let (found, spare) = (Vec::with_capacity(MOST_LOOKS), Vec::with_capacity(MOST_LOOKS));
        let mut walk = Walk { engine: self, scan, table, index, writes, own, last_own, cursor, found, examined, spare };
        let end = walk.run(view, visit);
        if let Some(reads) = reads {
            reads.note_range(seen_range(scan, table, &end), self.options.read_set);
        }
        end
    }
}

/// Returns the part of its range that a scan has seen; all of it if the scan failed on the way.
fn seen_range(scan: &Scan<'_>, table: &Table, end: &Result<ScanEnd>) -> Range {
    let (lower, upper) = scan.seen(end.as_ref().unwrap_or(&ScanEnd::Finished));
    Range { table: table.id, lower, upper }
}

/// The write-set entries inside the scanned range, in its direction.
fn own_in_range<'a>(writes: &'a WriteSet, table: &Table, scan: &Scan<'_>) -> impl Iterator<Item = usize> + use<'a> {
    let mut own = writes.in_range(table.id, scan.lower.as_ref(), scan.upper.as_ref());
    let direction = scan.direction;
    std::iter::from_fn(move || match direction {
        Direction::Forward => own.next(),
        Direction::Backward => own.next_back(),
    })
}

/// A row that was found and has not been visited yet. `'a` is the statement's: the transaction is registered meanwhile.
struct Found<'a> {
    key: &'a [u8],
    row: RowRef<'a>,
}

/// Reason why a gathering has ended.
enum Pause<'a> {
    /// There may be more.
    More,
    /// There is nothing more.
    End,
    /// The requested number of rows was examined; this is the last one's key.
    Enough(&'a [u8]),
    /// The reader waits for the owner of this tuple, and continues at its position.
    Held(Pinned),
}

/// A scan under way: the index's entries and the transaction's own, merged.
struct Walk<'a, C, I: Iterator<Item = usize>> {
    engine: &'a Mvto<C>,
    scan: &'a Scan<'a>,
    table: &'a Table,
    index: &'a Ordered<Tuple>,
    writes: &'a WriteSet,
    /// The own writes that have not been gathered.
    own: Peekable<I>,
    /// The own write that was gathered (or is a deletion) last.
    last_own: Option<usize>,
    /// The rest of the range: no leaf has been asked for it yet.
    cursor: Cursor,
    found: Vec<Found<'a>>,
    /// Rows that were looked at, whether they passed the filter or not.
    examined: usize,
    /// Memory for the entries of a leaf.
    spare: Vec<&'a Tuple>,
}

impl<'a, C: Clock, I: Iterator<Item = usize>> Walk<'a, C, I> {
    fn run(&mut self, view: &mut View, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        let (mut shown, mut looks) = (RowBuf::new(), FIRST_LOOKS);
        loop {
            let pause = match self.gather(view, looks) {
                // Visited first; the owner of the next row may have finished by then.
                Pause::Held(tuple) if !self.found.is_empty() => {
                    tuple.unpin();
                    Pause::More
                }
                pause => pause,
            };
            debug_assert!(cfg!(feature = "shuttle") || !epoch::is_pinned(), "M11: no guard while others' code runs");
            for found in self.found.drain(..) {
                if visit(item(self.scan.columns, &found, &mut shown)).is_break() {
                    return Ok(ScanEnd::Stopped(found.key.into()));
                }
            }
            match pause {
                Pause::More => {}
                Pause::End => return Ok(ScanEnd::Finished),
                Pause::Enough(position) => return Ok(ScanEnd::Stopped(position.into())),
                Pause::Held(tuple) => self.engine.wait_to_read(view, self.table, tuple)?,
            }
            looks = (looks * LOOKS_GROWTH).min(MOST_LOOKS);
        }
    }

    /// Looks at the next rows, so many at most and of one leaf, and at the own writes among them.
    fn gather(&mut self, view: &mut View, looks: usize) -> Pause<'a> {
        let guard = epoch::pin();
        let mut batch = emptied(std::mem::take(&mut self.spare));
        let stamp = view.stamps.then_some(view.at.0);
        let more = self.index.scan_leaf(&mut self.cursor, stamp, looks, &guard, &mut batch);
        let mut pause = self.gather_leaf(view, &batch, looks, &guard);
        if matches!(pause, Pause::End) && more {
            pause = Pause::More;
        } else if matches!(pause, Pause::End) {
            pause = self.gather_own(None, looks);
        }
        self.spare = emptied(batch);
        pause
    }

    /// [`Walk::gather`] in one leaf; at its end, `Pause::End`.
    fn gather_leaf(&mut self, view: &mut View, batch: &[&Tuple], looks: usize, guard: &Guard) -> Pause<'a> {
        batch.iter().take(2 * LOOKS_AHEAD).for_each(|tuple| tuple.prefetch());
        batch.iter().take(LOOKS_AHEAD).for_each(|tuple| tuple.prefetch_newest());
        for (looked, tuple) in batch.iter().enumerate() {
            batch.get(looked + 2 * LOOKS_AHEAD).inspect(|tuple| tuple.prefetch());
            batch.get(looked + LOOKS_AHEAD).inspect(|tuple| tuple.prefetch_newest());
            let pause = self.gather_tuple(view, tuple, looks, guard);
            if !matches!(pause, Pause::End) {
                self.go_on_from(tuple.key());
                return pause;
            }
        }
        Pause::End
    }

    /// Gathers what a tuple shows, and the own writes before it.
    fn gather_tuple(&mut self, view: &mut View, tuple: &Tuple, looks: usize, guard: &Guard) -> Pause<'a> {
        if self.own.peek().is_some() {
            match self.gather_own(Some(tuple.key()), looks) {
                Pause::End => {}
                pause => return pause,
            }
        }
        if self.last_own.is_some_and(|at| self.writes.entries[at].key[..] == *tuple.key()) {
            return Pause::End; // Gathered, or deleted, by the transaction itself.
        }
        match self.engine.look_or_seek(view, self.table, tuple, guard) {
            Ok(sought) => match keep(view, self.table, sought) {
                Some((key, row)) => self.gather_row(key, row),
                None => Pause::End,
            },
            Err(held) => Pause::Held(held),
        }
    }

    /// Gathers own writes up to a key. As many as looks, at most: they may be many.
    fn gather_own(&mut self, key: Option<&[u8]>, looks: usize) -> Pause<'a> {
        while let Some(&at) = self.own.peek() {
            let write = &self.writes.entries[at];
            let is_due = key.is_none_or(|key| match self.scan.direction {
                Direction::Forward => write.key[..] <= *key,
                Direction::Backward => write.key[..] >= *key,
            });
            if !is_due {
                break;
            }
            if self.found.len() >= looks {
                return Pause::More;
            }
            if let Some(Some(row)) = self.writes.value(write.buffered) {
                match self.gather_row(&write.key, RowRef::new(row)) {
                    Pause::End => {}
                    pause => return pause,
                }
            }
            self.last_own = self.own.next();
        }
        Pause::End
    }

    /// Gathers a row, if it passes the filter.
    fn gather_row(&mut self, key: &'a [u8], row: RowRef<'a>) -> Pause<'a> {
        if self.scan.filter.is_none_or(|filter| filter.matches(row)) {
            self.found.push(Found { key, row });
        }
        self.examined += 1;
        if self.scan.examine.is_some_and(|most| self.examined >= most) { Pause::Enough(key) } else { Pause::End }
    }

    /// Lets the next gathering begin at a key.
    fn go_on_from(&mut self, key: &[u8]) {
        let (lower, upper) = match self.scan.direction {
            Direction::Forward => (Bound::Included(key), bytes(&self.scan.upper)),
            Direction::Backward => (bytes(&self.scan.lower), Bound::Included(key)),
        };
        self.cursor.restart(lower, upper, self.scan.direction);
    }
}

/// The key and the row that were found, for as long as the transaction is registered.
fn keep<'a>(view: &mut View, table: &'a Table, sought: FoundTuple<'_>) -> Option<(&'a [u8], RowRef<'a>)> {
    let (tuple, version) = sought?;
    let version = version?;
    rest_on(view, version);
    tuple.keep(version, table.space())
}

/// Returns a row as its visitor sees it.
fn item<'i>(columns: Columns<'_>, found: &Found<'i>, shown: &'i mut RowBuf) -> Item<'i> {
    let row = match columns {
        Columns::All => found.row,
        columns => {
            shown.project(found.row, columns);
            shown.row()
        }
    };
    Item { key: found.key, row }
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
