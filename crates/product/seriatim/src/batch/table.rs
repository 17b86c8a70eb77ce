//! Tables of records, inside procedures and snapshots.

use crate::batch::transaction::{Snapshot, Transaction};
use crate::range::Span;
use crate::resolve::{ResolvedTable, Walk};
use crate::table::{Records, decode_stored};
use crate::{AsKey, AsPrefix, Index, Invalid, KeyRange, Record, Result};
use model::{Columns, Key};
use std::fmt;
use std::marker::PhantomData;
use tables::IndexId;

/// A table whose rows are `R`: a handle that is cheap to copy, and goes into the bodies and footprints of procedures. Made by
/// [`Builder::table`](crate::batch::Builder::table).
pub struct Table<R> {
    pub(crate) at: TableAt,
    rows: PhantomData<fn() -> R>,
}

/// Names a table of a database that is being built, or was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableAt {
    pub(crate) database: u64,
    pub(crate) number: usize,
}

/// What a [`Footprint`](crate::batch::Footprint) names by keys: a [`Table`], or a [`BytesTable`](crate::batch::BytesTable). Only this
/// crate implements it.
pub trait Keyed: sealed::At {
    /// Type of the keys.
    type Key: ?Sized;
}

pub(crate) mod sealed {
    pub trait At {
        fn at(&self) -> super::TableAt;
    }
}

impl<R: Record> Keyed for Table<R> {
    type Key = R::Key;
}

impl<R> sealed::At for Table<R> {
    fn at(&self) -> TableAt {
        self.at
    }
}

impl<R> Clone for Table<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Table<R> {}

impl<R: Record> fmt::Debug for Table<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({})", R::TABLE)
    }
}

impl<R: Record> Table<R> {
    pub(crate) fn new(at: TableAt) -> Table<R> {
        Table { at, rows: PhantomData }
    }

    /// Returns the record under `key`.
    ///
    /// # Errors
    /// [`Invalid::Undeclared`] in a procedure whose footprint does not have the key; this holds for every read and write below.
    pub fn get(&self, at: &Snapshot<'_>, key: impl AsKey<R::Key>) -> Result<Option<R>> {
        let layout = at.layout(self.at)?;
        let key = layout.stored_key(&key.to_key())?;
        at.read(layout.rows(), &key, Columns::All, |row| decode_stored(layout, row.row()))
    }

    /// Returns whether there is a record under `key`.
    ///
    /// # Errors
    /// Errors of [`Table::get`].
    pub fn contains(&self, at: &Snapshot<'_>, key: impl AsKey<R::Key>) -> Result<bool> {
        let layout = at.layout(self.at)?;
        let key = layout.stored_key(&key.to_key())?;
        Ok(at.read(layout.rows(), &key, Columns::None, |_| Ok(()))?.is_some())
    }

    /// Inserts a record under a key that has none.
    ///
    /// # Errors
    /// [`Error::Duplicate`](crate::Error::Duplicate) if its key, or its entry in a unique index, exists: nothing was written, and
    /// the procedure can go on. After any other error of a write the procedure ends with that error.
    pub fn insert(&self, txn: &mut Transaction<'_>, record: &R) -> Result<()> {
        let layout = txn.layout(self.at)?;
        txn.write(record, |access, row| layout.insert(access, &record.key(), row))
    }

    /// Inserts a record, or replaces the one under its key.
    ///
    /// # Errors
    /// Errors of [`Table::insert`], except that its key may exist.
    pub fn put(&self, txn: &mut Transaction<'_>, record: &R) -> Result<()> {
        let layout = txn.layout(self.at)?;
        txn.write(record, |access, row| layout.put(access, &record.key(), row))
    }

    /// Changes the record under `key`, and returns the new record; `None` if there is none.
    ///
    /// # Errors
    /// [`Invalid::Key`] if `change` changed the key (delete and insert instead); errors of [`Table::put`].
    pub fn update(
        &self,
        txn: &mut Transaction<'_>,
        key: impl AsKey<R::Key>,
        change: impl FnOnce(&mut R),
    ) -> Result<Option<R>> {
        let key = key.to_key();
        let Some(mut record) = self.read_for_update(txn, &key)? else { return Ok(None) };
        change(&mut record);
        if record.key() != key {
            return Err(Invalid::Key { table: R::TABLE.into() }.into());
        }
        self.put(txn, &record)?;
        Ok(Some(record))
    }

    fn read_for_update(&self, txn: &mut Transaction<'_>, key: &[u8]) -> Result<Option<R>> {
        let layout = txn.layout(self.at)?;
        let key = layout.stored_key(key)?;
        txn.read_for_update(layout.rows(), &key, |row| decode_stored(layout, row.row()))
    }

    /// Deletes the record under `key`; `false` if there is none.
    ///
    /// # Errors
    /// Errors of [`Table::put`].
    pub fn delete(&self, txn: &mut Transaction<'_>, key: impl AsKey<R::Key>) -> Result<bool> {
        let layout = txn.layout(self.at)?;
        txn.change(|access| layout.delete(access, &key.to_key()))
    }

    /// The records whose keys are in `range`, in key order; from both ends, by `rev()` and `next_back()`. In a table by hash
    /// ([`Builder::table_in`](crate::batch::Builder::table_in)) the first item is [`Invalid::NotOrdered`]; this holds for
    /// [`Table::prefix`] and [`Table::iter`].
    pub fn range<'s>(&self, at: &'s Snapshot<'_>, range: impl KeyRange<R::Key>) -> Records<'s, R> {
        self.walk(at, |of| Span::keys(of, &range))
    }

    /// The records whose composite keys begin with these components.
    pub fn prefix<'s>(&self, at: &'s Snapshot<'_>, prefix: impl AsPrefix<R::Key>) -> Records<'s, R> {
        self.walk(at, |of| Span::prefix(of, &prefix))
    }

    /// All records, in key order.
    pub fn iter<'s>(&self, at: &'s Snapshot<'_>) -> Records<'s, R> {
        self.range(at, ..)
    }

    fn walk<'s>(&self, at: &'s Snapshot<'_>, span: impl FnOnce(ResolvedTable<'s>) -> Result<Span>) -> Records<'s, R> {
        let begun = at.layout(self.at).and_then(|layout| {
            let resolved = ResolvedTable::Defined(layout);
            Ok((span(resolved)?, resolved))
        });
        Records::new(Walk::over(at, begun))
    }

    /// The table in the order of one of its indexes.
    pub fn by<K>(&self, index: Index<R, K>) -> TableBy<R, K> {
        TableBy { table: *self, index }
    }
}

/// A table in the order of one of its indexes. See [`Table::by`].
pub struct TableBy<R, K> {
    table: Table<R>,
    index: Index<R, K>,
}

impl<R, K> Clone for TableBy<R, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, K> Copy for TableBy<R, K> {}

impl<R: Record, K> fmt::Debug for TableBy<R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} by {:?}", self.table, self.index)
    }
}

impl<R: Record, K> TableBy<R, K> {
    /// The records whose indexed columns are in `range`, in their order.
    pub fn range<'s>(&self, at: &'s Snapshot<'_>, range: impl KeyRange<K>) -> Records<'s, R> {
        self.table.walk(at, |of| Span::entries_between(of, self.id(), range.bounds()))
    }

    /// The records whose indexed columns are `key`, in the order of their primary keys.
    pub fn equal<'s>(&self, at: &'s Snapshot<'_>, key: impl AsKey<K>) -> Records<'s, R> {
        self.starting_with(at, &key.to_key())
    }

    /// The records whose indexed columns begin with these components.
    pub fn prefix<'s>(&self, at: &'s Snapshot<'_>, prefix: impl AsPrefix<K>) -> Records<'s, R> {
        let mut key = Key::new();
        prefix.append_to(&mut key);
        self.starting_with(at, &key)
    }

    /// A record whose indexed columns are `key`: the only one, if the index is unique.
    ///
    /// # Errors
    /// Errors of [`Table::get`].
    pub fn get(&self, at: &Snapshot<'_>, key: impl AsKey<K>) -> Result<Option<R>> {
        self.equal(at, key).next().transpose()
    }

    /// All records, in the order of the index.
    pub fn iter<'s>(&self, at: &'s Snapshot<'_>) -> Records<'s, R> {
        self.range(at, ..)
    }

    fn starting_with<'s>(&self, at: &'s Snapshot<'_>, key: &Key) -> Records<'s, R> {
        self.table.walk(at, |of| Span::entries_with(of, self.id(), key))
    }

    pub(crate) fn id(&self) -> IndexId {
        IndexId(self.index.number())
    }

    pub(crate) fn table(&self) -> Table<R> {
        self.table
    }
}
