//! Tables of Rust structs.

#[cfg(doc)]
use crate::Error;
use crate::range::{KeyRange, Span};
use crate::resolve::{ResolvedTable, TableRef, Walk};
use crate::{AsKey, AsPrefix, Database, Index, Invalid, Record, Result, Snapshot, Transaction};
use model::{Access, Columns, Key, RowBuf, RowRef, Scan};
use std::fmt;
use std::marker::PhantomData;
use tables::{IndexId, Layout};

/// A table whose rows are `R`: a handle that is cheap to copy and can be used in any transaction of its database.
///
/// Reads take a [`Snapshot`] or a [`Transaction`], writes a transaction. See [`record!`](crate::record) for an example.
pub struct Table<R> {
    at: TableRef,
    rows: PhantomData<fn() -> R>,
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
    pub(crate) fn new(at: TableRef) -> Table<R> {
        Table { at, rows: PhantomData }
    }

    /// Returns the record under `key`.
    ///
    /// # Errors
    /// [`Error::Aborted`] in a transaction that may write, never in a read-only one; this holds for every read and write below.
    pub fn get(&self, at: &Snapshot, key: impl AsKey<R::Key>) -> Result<Option<R>> {
        self.get_by(at, &key.to_key())
    }

    /// Returns the record under `key` as it is now: a transaction of its own, which takes less than half of the time of
    /// [`Database::read`] with one [`get`](Table::get).
    ///
    /// ```
    /// # use seriatim::{record, Database, Error};
    /// # record! { pub struct Product { pub id: i64, pub stock: i64, } table "products"; key (id); }
    /// # fn main() -> Result<(), Error> {
    /// # let db = Database::in_memory()?;
    /// # let products = db.table::<Product>()?;
    /// db.run(|txn| products.put(txn, &Product { id: 1, stock: 39 }))?;
    /// assert_eq!(products.get_now(&db, 1)?.unwrap().stock, 39);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Errors of [`Database::read`].
    pub fn get_now(&self, db: &Database, key: impl AsKey<R::Key>) -> Result<Option<R>> {
        let key = key.to_key();
        let decode = |resolved: ResolvedTable<'_>, row: RowRef<'_>| match resolved {
            ResolvedTable::Defined(layout) => decode_stored(layout, row),
            ResolvedTable::Plain(_) => decode(row),
        };
        match self.at.read_now(db, &key, decode)? {
            Some(read) => Ok(read),
            None => db.read(|at| self.get_by(at, &key)),
        }
    }

    fn get_by(&self, at: &Snapshot, key: &[u8]) -> Result<Option<R>> {
        let layout = self.at.layout(at)?;
        at.read(layout.rows(), &layout.stored_key(key)?, Columns::All, |row| decode_stored(layout, row.row()))
    }

    /// Returns whether there is a record under `key`.
    ///
    /// # Errors
    /// Errors of [`Table::get`].
    pub fn contains(&self, at: &Snapshot, key: impl AsKey<R::Key>) -> Result<bool> {
        let layout = self.at.layout(at)?;
        Ok(at.read(layout.rows(), &layout.stored_key(&key.to_key())?, Columns::None, |_| Ok(()))?.is_some())
    }

    /// Same as [`Table::get`], for a record that the transaction is going to write: with
    /// [`own_at_statement`](crate::TransactionOptions::own_at_statement) the row is held from here on.
    ///
    /// # Errors
    /// Errors of [`Table::get`].
    pub fn get_for_update(&self, txn: &mut Transaction, key: impl AsKey<R::Key>) -> Result<Option<R>> {
        self.read_for_update(txn, &key.to_key())
    }

    fn read_for_update(&self, txn: &mut Transaction, key: &[u8]) -> Result<Option<R>> {
        let layout = self.at.layout(txn)?;
        let key = layout.stored_key(key)?;
        txn.read_row(
            |engine, row| engine.read_for_update(layout.rows(), &key, Columns::All, row),
            |row| decode_stored(layout, row.row()),
        )
    }

    /// Inserts a record under a key that has none.
    ///
    /// # Errors
    /// [`Error::Duplicate`] if its key, or its entry in a unique index, exists; [`Error::Limit`] if it is too large.
    pub fn insert(&self, txn: &mut Transaction, record: &R) -> Result<()> {
        let (layout, key) = (self.at.layout(txn)?, record.key());
        txn.statement_with_row(
            layout.has_entries(),
            |row| record.encode(row),
            |engine, row| layout.insert(engine, &key, row),
        )
    }

    /// Inserts a record, or replaces the one under its key.
    ///
    /// # Errors
    /// [`Error::Duplicate`] if another record has its entry in a unique index; [`Error::Limit`] if it is too large.
    pub fn put(&self, txn: &mut Transaction, record: &R) -> Result<()> {
        let (layout, key) = (self.at.layout(txn)?, record.key());
        txn.statement_with_row(
            layout.has_entries(),
            |row| record.encode(row),
            |engine, row| layout.put(engine, &key, row),
        )
    }

    /// Changes the record under `key`, and returns the new record; `None` if there is none.
    ///
    /// ```
    /// # use seriatim::{record, Database, Error};
    /// # record! { pub struct Product { pub id: i64, pub stock: i64, } table "products"; key (id); }
    /// # fn main() -> Result<(), Error> {
    /// # let db = Database::in_memory()?;
    /// # let products = db.table::<Product>()?;
    /// # db.run(|txn| products.put(txn, &Product { id: 1, stock: 39 }))?;
    /// let left = db.run(|txn| products.update(txn, 1, |product| product.stock -= 2))?;
    /// assert_eq!(left.unwrap().stock, 37);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Invalid::Key`] if `change` changed the key (delete and insert instead); errors of [`Table::put`].
    pub fn update(
        &self,
        txn: &mut Transaction,
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

    /// Deletes the record under `key`; `false` if there is none.
    ///
    /// # Errors
    /// Errors of [`Table::get`].
    pub fn delete(&self, txn: &mut Transaction, key: impl AsKey<R::Key>) -> Result<bool> {
        let layout = self.at.layout(txn)?;
        txn.statement(layout.has_entries(), |engine| layout.delete(engine, &key.to_key()))
    }

    /// The records whose keys are in `range`, in key order; from both ends, by `rev()` and `next_back()`.
    ///
    /// Records are fetched in batches that grow from 16 rows to 1,024. Fetched records count as read by the transaction.
    ///
    /// ```
    /// # use seriatim::{record, Database, Error};
    /// # record! { pub struct Detail { pub order: i64, pub line: i64, } table "details"; key (order, line); }
    /// # fn main() -> Result<(), Error> {
    /// # let db = Database::in_memory()?;
    /// # let details = db.table::<Detail>()?;
    /// db.run(|txn| {
    ///     for (order, line) in [(1, 1), (1, 2), (2, 1)] {
    ///         details.insert(txn, &Detail { order, line })?;
    ///     }
    ///     Ok(())
    /// })?;
    /// db.read(|snapshot| {
    ///     assert_eq!(details.range(snapshot, (1, 2)..).count(), 2);
    ///     assert_eq!(details.prefix(snapshot, (1,)).count(), 2);
    ///     assert_eq!(details.iter(snapshot).next_back().unwrap()?.order, 2);
    ///     Ok(())
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn range<'s>(&self, at: &'s Snapshot, range: impl KeyRange<R::Key>) -> Records<'s, R> {
        self.walk(at, |of| Span::keys(of, &range))
    }

    /// The records whose composite keys begin with these components.
    pub fn prefix<'s>(&self, at: &'s Snapshot, prefix: impl AsPrefix<R::Key>) -> Records<'s, R> {
        self.walk(at, |of| Span::prefix(of, &prefix))
    }

    /// All records, in key order.
    pub fn iter<'s>(&self, at: &'s Snapshot) -> Records<'s, R> {
        self.range(at, ..)
    }

    fn walk<'s>(&self, at: &'s Snapshot, span: impl FnOnce(ResolvedTable<'s>) -> Result<Span>) -> Records<'s, R> {
        Records::new(self.at.walk(at, span))
    }

    /// The record with the least key.
    ///
    /// # Errors
    /// Errors of [`Table::get`].
    pub fn first(&self, at: &Snapshot) -> Result<Option<R>> {
        self.at.walk_one(at, |of| Ok(Span::all(of)))?.next(|_, _, row| decode(row)).transpose()
    }

    /// The record with the greatest key.
    ///
    /// # Errors
    /// Errors of [`Table::get`].
    pub fn last(&self, at: &Snapshot) -> Result<Option<R>> {
        self.at.walk_one(at, |of| Ok(Span::all(of)))?.next_back(|_, _, row| decode(row)).transpose()
    }

    /// Counts the records, by visiting all of them.
    ///
    /// # Errors
    /// Errors of [`Table::get`].
    pub fn len(&self, at: &Snapshot) -> Result<u64> {
        at.count(Scan::table(self.at.resolve(at)?.rows()))
    }

    /// Returns whether the table is empty.
    ///
    /// # Errors
    /// Errors of [`Table::get`].
    pub fn is_empty(&self, at: &Snapshot) -> Result<bool> {
        Ok(self.first(at)?.is_none())
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
    pub fn range<'s>(&self, at: &'s Snapshot, range: impl KeyRange<K>) -> Records<'s, R> {
        self.table.walk(at, |of| Span::entries_between(of, self.id(), range.bounds()))
    }

    /// The records whose indexed columns are `key`, in the order of their primary keys.
    pub fn equal<'s>(&self, at: &'s Snapshot, key: impl AsKey<K>) -> Records<'s, R> {
        self.starting_with(at, key.to_key())
    }

    /// The records whose indexed columns begin with these components.
    pub fn prefix<'s>(&self, at: &'s Snapshot, prefix: impl AsPrefix<K>) -> Records<'s, R> {
        let mut key = Key::new();
        prefix.append_to(&mut key);
        self.starting_with(at, key)
    }

    /// A record whose indexed columns are `key`: the only one, if the index is unique.
    ///
    /// # Errors
    /// Errors of [`Table::get`].
    pub fn get(&self, at: &Snapshot, key: impl AsKey<K>) -> Result<Option<R>> {
        let walk = self.table.at.walk_one(at, |of| Span::entries_with(of, self.id(), &key.to_key()));
        walk?.next(|_, _, row| decode(row)).transpose()
    }

    /// All records, in the order of the index.
    pub fn iter<'s>(&self, at: &'s Snapshot) -> Records<'s, R> {
        self.range(at, ..)
    }

    fn starting_with<'s>(&self, at: &'s Snapshot, key: Key) -> Records<'s, R> {
        self.table.walk(at, |of| Span::entries_with(of, self.id(), &key))
    }

    fn id(&self) -> IndexId {
        IndexId(self.index.number())
    }
}

/// Iterator over the records of a range. It ends after an error.
#[derive(Debug)]
#[must_use = "a range is read only when it is walked"]
pub struct Records<'s, R> {
    walk: Walk<'s>,
    records: PhantomData<fn() -> R>,
}

impl<'s, R> Records<'s, R> {
    pub(crate) fn new(walk: Walk<'s>) -> Records<'s, R> {
        Records { walk, records: PhantomData }
    }
}

impl<R: Record> Iterator for Records<'_, R> {
    type Item = Result<R>;

    fn next(&mut self) -> Option<Result<R>> {
        self.walk.next(|_, _, row| decode(row))
    }
}

impl<R: Record> DoubleEndedIterator for Records<'_, R> {
    fn next_back(&mut self) -> Option<Result<R>> {
        self.walk.next_back(|_, _, row| decode(row))
    }
}

impl<R: Record> std::iter::FusedIterator for Records<'_, R> {}

pub(crate) fn decode_stored<R: Record>(layout: &Layout, row: RowRef<'_>) -> Result<R> {
    decode(layout.program_row(row, &mut RowBuf::new()))
}

fn decode<R: Record>(row: RowRef<'_>) -> Result<R> {
    R::decode(row).ok_or_else(|| {
        let what = match R::mismatch(row) {
            Some((field, kind)) => format!("column {field} has a value that {kind} cannot hold"),
            None => "a stored value does not fit the struct's field".into(),
        };
        Invalid::Row { table: R::TABLE.into(), what }.into()
    })
}
