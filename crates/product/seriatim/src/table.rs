//! Tables of Rust structs.

use crate::range::{Cursor, Span};
use crate::{AsKey, AsPrefix, Error, Index, Invalid, KeyRange, Record, Result, Snapshot, Transaction};
use model::{Access, Columns, IndexId, Key, RowBuf, RowRef, Scan, TableId};
use std::fmt;
use std::marker::PhantomData;

/// Names a table of one database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableRef {
    pub database: u64,
    pub table: TableId,
}

impl TableRef {
    /// The table's number, if `snapshot` is of its database.
    pub fn at(self, snapshot: &Snapshot) -> Result<TableId> {
        snapshot.check_database(self.database)?;
        Ok(self.table)
    }

    pub fn walk<'s>(self, snapshot: &'s Snapshot, span: Span) -> Walk<'s> {
        match self.at(snapshot) {
            Ok(_) => Walk::Rows(Cursor::new(snapshot, span)),
            Err(error) => Walk::Wrong(Some(error)),
        }
    }
}

/// A cursor, or why there is none.
#[derive(Debug)]
pub(crate) enum Walk<'s> {
    Rows(Cursor<'s>),
    Wrong(Option<Error>),
}

impl Walk<'_> {
    pub fn next<T>(&mut self, make: impl FnOnce(&[u8], RowRef<'_>) -> Result<T>) -> Option<Result<T>> {
        match self {
            Walk::Rows(cursor) => cursor.next(make),
            Walk::Wrong(error) => error.take().map(Err),
        }
    }

    pub fn next_back<T>(&mut self, make: impl FnOnce(&[u8], RowRef<'_>) -> Result<T>) -> Option<Result<T>> {
        match self {
            Walk::Rows(cursor) => cursor.next_back(make),
            Walk::Wrong(error) => error.take().map(Err),
        }
    }
}

/// A table whose rows are `R`: a small handle, to be copied freely and used in any transaction of its database.
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

    /// The record under `key`.
    ///
    /// # Errors
    /// [`Error::Aborted`] in a transaction that may write, as every read and write below; never in a read-only one.
    pub fn get(&self, at: &Snapshot, key: impl AsKey<R::Key>) -> Result<Option<R>> {
        at.read(self.at.at(at)?, &key.to_key(), Columns::All, |row| decode(row.row()))
    }

    /// Whether there is a record under `key`.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn contains(&self, at: &Snapshot, key: impl AsKey<R::Key>) -> Result<bool> {
        Ok(at.read(self.at.at(at)?, &key.to_key(), Columns::None, |_| Ok(()))?.is_some())
    }

    /// As [`Table::get`], and announces that the record will be written: with
    /// [`own_at_statement`](crate::TransactionOptions::own_at_statement) the row is held from here on.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn get_for_update(&self, txn: &mut Transaction, key: impl AsKey<R::Key>) -> Result<Option<R>> {
        self.read_for_update(txn, &key.to_key())
    }

    fn read_for_update(&self, txn: &mut Transaction, key: &[u8]) -> Result<Option<R>> {
        let table = self.at.at(txn)?;
        let mut row = RowBuf::new();
        let found = txn.engine().read_for_update(table, key, &mut row)?;
        if found { decode(row.row()).map(Some) } else { Ok(None) }
    }

    /// Writes a record where none is.
    ///
    /// # Errors
    /// [`Error::Duplicate`] if its key, or an entry of a unique index, is taken; [`Error::Limit`] if it is too large.
    pub fn insert(&self, txn: &mut Transaction, record: &R) -> Result<()> {
        let table = self.at.at(txn)?;
        let row = encode(record);
        Ok(txn.engine().insert(table, &record.key(), row.row())?)
    }

    /// Writes a record, whether or not one is there.
    ///
    /// # Errors
    /// [`Error::Duplicate`] if an entry of a unique index is taken by another record; [`Error::Limit`] if it is too large.
    pub fn put(&self, txn: &mut Transaction, record: &R) -> Result<()> {
        let table = self.at.at(txn)?;
        let row = encode(record);
        Ok(txn.engine().put(table, &record.key(), row.row())?)
    }

    /// Changes the record under `key`, and returns what it has become; `None` if there is none.
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
    /// [`Invalid::Key`] if `change` changed the key (delete and insert instead), else as [`Table::put`].
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
    /// As [`Table::get`].
    pub fn delete(&self, txn: &mut Transaction, key: impl AsKey<R::Key>) -> Result<bool> {
        let table = self.at.at(txn)?;
        Ok(txn.engine().delete(table, &key.to_key())?)
    }

    /// The records whose keys are in `range`, in key order; from both ends, by `rev()` and `next_back()`.
    ///
    /// Records are fetched in batches that grow from 16 rows to 1,024, and what was fetched is what the transaction has
    /// read.
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
        self.walk(at, Span::keys(self.at.table, &range))
    }

    /// The records whose composite keys begin with these components.
    pub fn prefix<'s>(&self, at: &'s Snapshot, prefix: impl AsPrefix<R::Key>) -> Records<'s, R> {
        self.walk(at, Span::prefix(self.at.table, &prefix))
    }

    /// All records, in key order.
    pub fn iter<'s>(&self, at: &'s Snapshot) -> Records<'s, R> {
        self.range(at, ..)
    }

    fn walk<'s>(&self, at: &'s Snapshot, span: Span) -> Records<'s, R> {
        Records { walk: self.at.walk(at, span), records: PhantomData }
    }

    /// The record with the least key.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn first(&self, at: &Snapshot) -> Result<Option<R>> {
        let table = self.at.at(at)?;
        Cursor::one(at, Span::keys::<R::Key>(table, &..)).next(|_, row| decode(row)).transpose()
    }

    /// The record with the greatest key.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn last(&self, at: &Snapshot) -> Result<Option<R>> {
        let table = self.at.at(at)?;
        Cursor::one(at, Span::keys::<R::Key>(table, &..)).next_back(|_, row| decode(row)).transpose()
    }

    /// How many records there are. Visits them all.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn len(&self, at: &Snapshot) -> Result<u64> {
        at.count(Scan::table(self.at.at(at)?))
    }

    /// Whether there are none.
    ///
    /// # Errors
    /// As [`Table::get`].
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
        self.table.walk(at, Span::entries(self.table.at.table, self.id(), &range))
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
    /// As [`Table::get`].
    pub fn get(&self, at: &Snapshot, key: impl AsKey<K>) -> Result<Option<R>> {
        let table = self.table.at.at(at)?;
        let span = Span { index: Some(self.id()), ..Span::starting_with(table, key.to_key()) };
        Cursor::one(at, span).next(|_, row| decode(row)).transpose()
    }

    /// All records, in the order of the index.
    pub fn iter<'s>(&self, at: &'s Snapshot) -> Records<'s, R> {
        self.range(at, ..)
    }

    fn starting_with<'s>(&self, at: &'s Snapshot, key: Key) -> Records<'s, R> {
        let span = Span { index: Some(self.id()), ..Span::starting_with(self.table.at.table, key) };
        self.table.walk(at, span)
    }

    fn id(&self) -> IndexId {
        IndexId(self.index.number())
    }
}

/// The records of a range. After an error it ends.
#[derive(Debug)]
#[must_use = "a range is read only when it is walked"]
pub struct Records<'s, R> {
    walk: Walk<'s>,
    records: PhantomData<fn() -> R>,
}

impl<R: Record> Iterator for Records<'_, R> {
    type Item = Result<R>;

    fn next(&mut self) -> Option<Result<R>> {
        self.walk.next(|_, row| decode(row))
    }
}

impl<R: Record> DoubleEndedIterator for Records<'_, R> {
    fn next_back(&mut self) -> Option<Result<R>> {
        self.walk.next_back(|_, row| decode(row))
    }
}

impl<R: Record> std::iter::FusedIterator for Records<'_, R> {}

fn encode<R: Record>(record: &R) -> RowBuf {
    let mut row = RowBuf::new();
    record.encode(&mut row);
    row
}

fn decode<R: Record>(row: RowRef<'_>) -> Result<R> {
    R::decode(row).ok_or_else(|| {
        let what = match R::misfit(row) {
            Some((field, kind)) => format!("column {field} has a value that no {kind} holds"),
            None => "a stored value does not fit the struct's field".into(),
        };
        Invalid::Row { table: R::TABLE.into(), what }.into()
    })
}
