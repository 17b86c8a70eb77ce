//! Tables by their numbers, found without a latch, and freed when nobody uses them any more.
//!
//! ```text
//! place 7   a table
//! place 8   a table, dropped     statements do not find it; whoever found it before undoes its writes there, and validates
//! place 9   nothing              the table was freed, or never made
//! ```
//!
//! A table is dropped by a mark in its place; then a timestamp is drawn. A transaction that has first started at that timestamp or
//! later finds the mark. Of one that has first started before, the end is awaited, however far its start has moved since (Y12). So a
//! transaction uses what it has found, and neither counts nor pins anything. Whoever looks for a table without a start pins the
//! epoch, through which tables are freed, or counts the table.

use crate::Hyper;
use crate::growing::Growing;
use crate::table::Table;
use model::{Invalid, Result, TableId};
use parts::epoch::{self, Guard};
use parts::sync::atomic::{
    AtomicPtr,
    Ordering::{AcqRel, Acquire, Release},
};
use std::ptr::{self, NonNull};
use std::sync::{Arc, PoisonError};

/// Set in the place of a dropped table, whose address is even.
const DROPPED: usize = 1;

/// Tables by numbers, each given once.
#[derive(Debug)]
pub(crate) struct Tables<T> {
    /// Made by [`Arc::into_raw`], perhaps marked; or null. Published by whoever sets the place, with `Release`.
    places: Growing<AtomicPtr<T>>,
}

impl<T> Default for Tables<T> {
    fn default() -> Tables<T> {
        Tables { places: Growing::default() }
    }
}

impl<T> Tables<T> {
    /// Puts a table into a place. Returns the bytes that the places have grown by.
    ///
    /// # Panics
    /// If the number was given.
    pub fn set(&self, number: u32, table: T) -> usize {
        const { assert!(align_of::<T>() > DROPPED, "addresses are even") };
        self.places.set(number, AtomicPtr::new(Arc::into_raw(Arc::new(table)).cast_mut()))
    }

    /// Returns whether a number was given, perhaps to a table that is gone.
    pub fn was_given(&self, number: u32) -> bool {
        self.places.get(number).is_some()
    }

    /// What stands in a place, and whether it is dropped.
    #[inline]
    fn at(&self, number: u32) -> Option<(NonNull<T>, bool)> {
        let marked = self.places.get(number)?.load(Acquire);
        let is_dropped = marked.addr() & DROPPED != 0;
        NonNull::new(marked.map_addr(|address| address & !DROPPED)).map(|table| (table, is_dropped))
    }

    /// A table that is not dropped.
    ///
    /// # Safety
    /// The caller is a transaction that has started, and uses the table until it leaves the starts at most. Or tables are never freed.
    #[inline]
    pub unsafe fn get(&self, number: u32) -> Option<&T> {
        let (table, is_dropped) = self.at(number)?;
        if is_dropped {
            return None;
        }
        // SAFETY: the caller first started before the table was dropped, since it finds no mark: it is freed after the caller's end (Y12).
        Some(unsafe { table.as_ref() })
    }

    /// A table, dropped or not, that [`Tables::get`] has found.
    ///
    /// # Safety
    /// As of that call, by the same transaction.
    #[inline]
    pub unsafe fn found(&self, number: u32) -> Option<&T> {
        // SAFETY: alive while the caller is open, as when it was found.
        self.at(number).map(|(table, _)| unsafe { table.as_ref() })
    }

    /// A table that is not dropped, while the epoch is pinned.
    #[inline]
    pub fn pinned<'g>(&'g self, number: u32, guard: &'g Guard) -> Option<&'g T> {
        self.at(number).filter(|(_, is_dropped)| !is_dropped)?;
        self.pinned_even_dropped(number, guard)
    }

    /// A table, dropped or not, while the epoch is pinned.
    #[inline]
    pub fn pinned_even_dropped<'g>(&'g self, number: u32, _guard: &'g Guard) -> Option<&'g T> {
        // SAFETY: what is taken out of its place is freed through the epoch, as `Tables::take` demands.
        self.at(number).map(|(table, _)| unsafe { table.as_ref() })
    }

    /// A table that is not dropped, counted: it lives as long as this.
    pub fn counted(&self, number: u32) -> Option<Arc<T>> {
        let guard = epoch::pin();
        let table: *const T = self.pinned(number, &guard)?;
        // SAFETY: made by `Arc::into_raw`, and alive, since the epoch is pinned.
        unsafe {
            Arc::increment_strong_count(table);
            Some(Arc::from_raw(table))
        }
    }

    /// Marks a table as dropped. `Release` or stronger, and before a timestamp is drawn: who reads that one finds the mark (Y12).
    pub fn mark_dropped(&self, number: u32) {
        let Some(place) = self.places.get(number) else { return };
        let table = place.load(Acquire);
        if !table.is_null() {
            place.store(table.map_addr(|address| address | DROPPED), Release);
        }
    }

    /// Takes a table out of its place.
    ///
    /// # Safety
    /// Nobody can be using it who found it by [`Tables::get`] (Y12). What is returned is dropped when every guard is gone that is pinned
    /// now.
    pub unsafe fn take(&self, number: u32) -> Option<Arc<T>> {
        let table = self.places.get(number)?.swap(ptr::null_mut(), AcqRel);
        let table = table.map_addr(|address| address & !DROPPED);
        // SAFETY: made by `Arc::into_raw`, and taken out once.
        (!table.is_null()).then(|| unsafe { Arc::from_raw(table) })
    }
}

impl<T> Drop for Tables<T> {
    fn drop(&mut self) {
        // SAFETY: nobody else has the engine.
        self.places.each(|number, _| drop(unsafe { self.take(number) }));
    }
}

impl Hyper {
    /// The table of a number, for a statement of a transaction that has started.
    #[inline]
    pub(super) fn table(&self, id: TableId) -> Result<&Table> {
        // SAFETY: statements start their transactions first, and end before these do. With single versions no table is freed.
        unsafe { self.tables.get(id.0) }.ok_or_else(|| unknown(id))
    }

    /// The table of a number that the caller has found before, by a statement of a transaction that is open still.
    #[inline]
    pub(super) fn found_table(&self, id: TableId) -> Option<&Table> {
        // SAFETY: as the caller says.
        unsafe { self.tables.found(id.0) }
    }

    /// The table of a number for somebody without a start.
    pub(super) fn counted_table(&self, id: TableId) -> Result<Arc<Table>> {
        self.tables.counted(id.0).ok_or_else(|| unknown(id))
    }

    /// Frees the dropped tables that nobody uses any more. With single versions none, since transactions do not enter the starts.
    pub(super) fn free_dropped(&self) {
        if self.options.single_version {
            return;
        }
        // Whoever needs the memory waits for the one who is giving it back.
        let _turn = self.freeing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.names().dropped.is_empty() {
            return;
        }
        let bound = self.starts.lowest_first(&self.order);
        let over: Vec<(u64, TableId)> = self.names().dropped.extract_if(.., |(at, _)| *at <= bound).collect();
        over.into_iter().for_each(|(_, id)| self.free_table(id));
    }

    /// Frees a dropped table: its rows at once, and itself when nobody is looking at it.
    pub(super) fn free_table(&self, id: TableId) {
        // SAFETY: who has found it has ended (Y12), or nobody has the database yet; it is dropped through the epoch.
        let Some(table) = (unsafe { self.tables.take(id.0) }) else { return };
        table.clear();
        let guard = epoch::pin();
        // SAFETY: the closure owns what it uses.
        unsafe { epoch::retire(&guard, size_of::<Table>(), move || drop(table)) };
        guard.flush();
    }
}

/// A table of a model.
#[cfg(loom)]
#[derive(Debug, Default)]
pub(crate) struct Probe(parts::sync::atomic::AtomicU64);

#[cfg(loom)]
impl Tables<Probe> {
    /// Has a started transaction look for a table, and at it. Returns whether it is there.
    ///
    /// # Panics
    /// If it was freed.
    pub fn look(&self, number: u32) -> bool {
        // SAFETY: what is taken stays with whoever has taken it, and says that it is free.
        let found = unsafe { self.get(number) };
        assert!(found.is_none_or(|table| table.0.load(Acquire) == 0), "Y12");
        found.is_some()
    }

    /// Frees a table.
    pub fn free(&self, number: u32) -> Option<Arc<Probe>> {
        // SAFETY: it is not dropped before the end of the model.
        let table = unsafe { self.take(number) }?;
        table.0.store(1, Release);
        Some(table)
    }
}

/// The error of a table that is not there.
pub(crate) fn unknown(id: TableId) -> model::Error {
    Invalid::UnknownTable { table: format!("number {}", id.0) }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use model::{Access, Begin, Finish, Interactive, Key, RowBuf, Schema};

    #[test]
    fn a_dropped_table_is_found_by_whoever_asks_for_it() {
        let tables = Tables::default();
        tables.set(3, 30_u64);
        // SAFETY: nothing is freed while it is used.
        let found = |tables: &Tables<u64>| unsafe { (tables.get(3).copied(), tables.found(3).copied()) };
        let pinned = |tables: &Tables<u64>| tables.pinned(3, &epoch::pin()).copied();
        assert_eq!((found(&tables), pinned(&tables)), ((Some(30), Some(30)), Some(30)));
        tables.mark_dropped(3);
        assert_eq!((found(&tables), pinned(&tables)), ((None, Some(30)), None));
        assert_eq!(tables.pinned_even_dropped(3, &epoch::pin()), Some(&30));
        assert!(tables.counted(3).is_none());
        // SAFETY: nobody else has it.
        assert_eq!(unsafe { tables.take(3) }.as_deref(), Some(&30));
        assert_eq!(found(&tables), (None, None));
        tables.mark_dropped(3);
        assert!(tables.was_given(3) && !tables.was_given(2), "a number is given once");
        // SAFETY: as above.
        assert!(unsafe { tables.take(3) }.is_none());
    }

    /// Y12: a transaction whose start moves behind a drop undoes its writes in the table that was dropped.
    #[test]
    fn a_start_that_moves_keeps_the_tables_that_were_found_before() {
        let engine = Hyper::new(Options::default());
        let [dropped, other] = ["dropped", "other"].map(|name| {
            engine.create_table(Schema::bytes(name).u64_key().build().expect("a good schema")).expect("a new table")
        });
        let begin = || engine.begin(Begin::default()).expect("room for one more");
        let row = RowBuf::from_bytes(&[7; 100]);
        let mut open = begin();
        open.put(dropped, &Key::from_u64(1), row.row()).expect("nobody in the way");
        let mut later = begin();
        later.put(other, &Key::from_u64(1), row.row()).expect("nobody in the way");
        later.commit().expect("nobody in the way");
        engine.drop_table("dropped").expect("it is listed");
        let before = open.core.start();
        open.put(other, &Key::from_u64(1), row.row()).expect("its start moves");
        assert!(open.core.start() > before);
        engine.collect();
        assert_eq!(engine.names().dropped.len(), 1, "it is used still");
        assert!(open.put(dropped, &Key::from_u64(2), row.row()).is_err(), "but not found");
        open.abort();
        engine.collect();
        assert!(engine.names().dropped.is_empty() && engine.tables.at(dropped.0).is_none());
        assert!(begin().put(dropped, &Key::from_u64(2), row.row()).is_err());
    }

    #[test]
    fn what_is_counted_outlives_its_place() {
        let tables = Tables::default();
        tables.set(0, 7_u64);
        let counted = tables.counted(0).expect("it is there");
        tables.mark_dropped(0);
        // SAFETY: nobody else has it.
        drop(unsafe { tables.take(0) });
        assert_eq!((*counted, Arc::strong_count(&counted)), (7, 1));
        tables.set(1, 8);
        drop(tables);
        assert_eq!(*counted, 7);
    }
}
