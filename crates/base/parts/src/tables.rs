//! Tables by name and by number, found without a latch by transactions that keep what they have found.
//!
//! A transaction finds a table by its number, and keeps its address until it ends. So a dropped table must outlive every transaction
//! that began before: the engine tells when it was dropped, by a clock of its own, and up to when such tables are free.

use crate::sync::atomic::{
    AtomicBool, AtomicPtr,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
};
use crate::sync::{Mutex, MutexGuard, fence};
use model::{Invalid, Limit, LimitKind, Result, Schema, TableId};
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::{Arc, PoisonError};

/// A table.
#[derive(Debug)]
pub struct Table<I> {
    /// Its number.
    pub id: TableId,
    /// Its columns.
    pub schema: Arc<Schema>,
    /// Its rows by their keys.
    pub index: I,
    /// Set once. `Relaxed`: a statement that runs at the same time may see either.
    is_dropped: AtomicBool,
}

impl<I> Table<I> {
    /// Returns whether it was dropped.
    pub fn is_dropped(&self) -> bool {
        self.is_dropped.load(Relaxed)
    }
}

/// A table by its address: what [`Tables::get`] returns.
#[derive(Debug)]
pub struct TableRef<I>(NonNull<Table<I>>);

impl<I> Clone for TableRef<I> {
    fn clone(&self) -> TableRef<I> {
        *self
    }
}

impl<I> Copy for TableRef<I> {}

// SAFETY: it shares a table, as `&Table` does.
unsafe impl<I: Send + Sync> Send for TableRef<I> {}
// SAFETY: as for Send.
unsafe impl<I: Send + Sync> Sync for TableRef<I> {}

impl<I> Deref for TableRef<I> {
    type Target = Table<I>;

    #[inline]
    fn deref(&self) -> &Table<I> {
        // SAFETY: alive, by the promise of who called `Tables::get`.
        unsafe { self.0.as_ref() }
    }
}

impl<I> TableRef<I> {
    /// The table, counted: it lives as long as this.
    pub fn counted(self) -> Arc<Table<I>> {
        // SAFETY: made by `Arc::into_raw` in `Tables::create`, and alive, by the promise of who called `Tables::get`.
        unsafe {
            Arc::increment_strong_count(self.0.as_ptr());
            Arc::from_raw(self.0.as_ptr())
        }
    }
}

/// The tables of an engine. A number is not given again.
#[derive(Debug)]
pub struct Tables<I> {
    /// By number, to be read without a latch.
    places: Box<[AtomicPtr<Table<I>>]>,
    /// By number, too. Held while a table is created or dropped.
    names: Mutex<Vec<Option<Arc<Table<I>>>>>,
    /// Tables that were dropped, with the engine's time of that.
    dropped: Mutex<Vec<(u64, Arc<Table<I>>)>>,
}

impl<I> Tables<I> {
    /// Room for so many tables.
    pub fn new(limit: u64) -> Tables<I> {
        let places = (0..limit.min(u64::from(u32::MAX))).map(|_| AtomicPtr::default()).collect();
        Tables { places, names: Mutex::default(), dropped: Mutex::default() }
    }

    /// The table of a number.
    ///
    /// # Safety
    /// What is returned is not used any more when the table, should it be dropped, is freed ([`Tables::free`]).
    #[inline]
    pub unsafe fn get(&self, id: TableId) -> Option<TableRef<I>> {
        NonNull::new(self.places.get(id.0 as usize)?.load(Acquire)).map(TableRef)
    }

    /// Creates a table.
    ///
    /// # Errors
    /// [`Invalid::TableExists`], [`LimitKind::Tables`].
    pub fn create(&self, schema: Schema, index: impl FnOnce(&Schema) -> I) -> Result<TableId> {
        let mut names = self.names();
        if named(&names, schema.name()).is_some() {
            return Err(Invalid::TableExists { table: schema.name().into() }.into());
        }
        let number = names.len();
        let Some(place) = self.places.get(number) else {
            let (limit, actual) = (self.places.len() as u64, number as u64 + 1);
            return Err(Limit { kind: LimitKind::Tables, limit, actual }.into());
        };
        let (id, index) = (TableId(number as u32), index(&schema));
        let table = Arc::new(Table { id, schema: Arc::new(schema), index, is_dropped: AtomicBool::new(false) });
        place.store(Arc::into_raw(table.clone()).cast_mut(), Release);
        names.push(Some(table));
        Ok(id)
    }

    /// Drops a table. `now` tells the engine's time once nobody who begins later finds it.
    ///
    /// # Errors
    /// [`Invalid::UnknownTable`].
    pub fn drop_table(&self, name: &str, now: impl FnOnce() -> u64) -> Result<()> {
        let mut names = self.names();
        let id = named(&names, name).map(|table| table.id);
        let id = id.ok_or_else(|| Invalid::UnknownTable { table: name.into() })?;
        let table = self.take(id).expect("a named table is in its place");
        names[id.0 as usize] = None;
        table.is_dropped.store(true, Relaxed);
        fence(SeqCst);
        self.dropped().push((now(), table));
        Ok(())
    }

    /// Frees the tables that were dropped at times for which `is_free` is true.
    pub fn free(&self, is_free: impl Fn(u64) -> bool) {
        let mut dropped = self.dropped();
        let free: Vec<_> = dropped.extract_if(.., |(at, _)| is_free(*at)).collect();
        drop(dropped);
        drop(free); // Outside of the latch.
    }

    /// The table of a name.
    pub fn named(&self, name: &str) -> Option<(TableId, Arc<Schema>)> {
        named(&self.names(), name).map(|table| (table.id, table.schema.clone()))
    }

    /// All tables, oldest first.
    pub fn all(&self) -> Vec<(TableId, Arc<Schema>)> {
        self.names().iter().flatten().map(|table| (table.id, table.schema.clone())).collect()
    }

    /// The sum of a figure of all tables.
    pub fn sum(&self, of: impl Fn(&I) -> u64) -> u64 {
        self.names().iter().flatten().map(|table| of(&table.index)).sum()
    }

    fn take(&self, id: TableId) -> Option<Arc<Table<I>>> {
        let table = self.places[id.0 as usize].swap(ptr::null_mut(), AcqRel);
        // SAFETY: made by `Arc::into_raw` in `create`, and taken out once.
        (!table.is_null()).then(|| unsafe { Arc::from_raw(table) })
    }

    fn names(&self) -> MutexGuard<'_, Vec<Option<Arc<Table<I>>>>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dropped(&self) -> MutexGuard<'_, Vec<(u64, Arc<Table<I>>)>> {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<I> Drop for Tables<I> {
    fn drop(&mut self) {
        (0..self.places.len()).for_each(|id| drop(self.take(TableId(id as u32))));
    }
}

fn named<'t, I>(tables: &'t [Option<Arc<Table<I>>>], name: &str) -> Option<&'t Arc<Table<I>>> {
    tables.iter().flatten().find(|table| table.schema.name() == name)
}
