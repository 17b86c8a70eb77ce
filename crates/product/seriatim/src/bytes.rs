//! Tables of bytes.

use crate::range::Span;
use crate::resolve::{ResolvedTable, TableRef, Walk};
use crate::{AsKey, Database, KeyRange, Result, Schema, SchemaBuilder, Snapshot, Transaction};
use model::{Access, Columns, Key, KeyKind, RowBuf, RowRef, Scan};
use std::fmt;
use std::marker::PhantomData;

/// Key types of a [`BytesTable`]: `[u8]` or `u64`.
pub trait BytesKey: sealed::Sealed + 'static {
    /// A key read back.
    type Owned;

    #[doc(hidden)]
    const KIND: KeyKind;

    #[doc(hidden)]
    fn declare(schema: SchemaBuilder) -> SchemaBuilder;

    #[doc(hidden)]
    fn from_key(key: &[u8]) -> Self::Owned;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for [u8] {}
    impl Sealed for u64 {}
}

impl BytesKey for [u8] {
    type Owned = Vec<u8>;
    const KIND: KeyKind = KeyKind::Bytes;

    fn declare(schema: SchemaBuilder) -> SchemaBuilder {
        schema
    }

    fn from_key(key: &[u8]) -> Vec<u8> {
        key.to_vec()
    }
}

impl BytesKey for u64 {
    type Owned = u64;
    const KIND: KeyKind = KeyKind::U64;

    fn declare(schema: SchemaBuilder) -> SchemaBuilder {
        schema.u64_key()
    }

    fn from_key(key: &[u8]) -> u64 {
        Key::to_u64(key).expect("the engine has checked that keys of this table have eight bytes")
    }
}

/// The schema of a table of bytes.
pub(crate) fn schema<K: BytesKey + ?Sized>(name: &str) -> Result<Schema> {
    Ok(K::declare(Schema::bytes(name)).build()?)
}

/// A transactional ordered map from byte strings (`BytesTable`, or `BytesTable<[u8]>`) or integers (`BytesTable<u64>`) to byte
/// strings. A handle that is cheap to copy.
///
/// ```
/// # use seriatim::{BytesTable, Database, Error};
/// # fn main() -> Result<(), Error> {
/// let db = Database::in_memory()?;
/// let words: BytesTable = db.bytes_table("words")?;
/// let events: BytesTable<u64> = db.bytes_table("events")?;
/// db.run(|txn| {
///     words.put(txn, "ein", "one")?;
///     words.put(txn, "zwei", "two")?;
///     events.put(txn, 7, b"started")
/// })?;
/// db.read(|snapshot| {
///     assert_eq!(words.get(snapshot, "zwei")?.as_deref(), Some(&b"two"[..]));
///     assert_eq!(events.last(snapshot)?.unwrap().0, 7);
///     let keys = words.range(snapshot, "a".."z").rev().map(|item| Ok(item?.0)).collect::<Result<Vec<_>, Error>>()?;
///     assert_eq!(keys, [b"ein"]);
///     Ok(())
/// })?;
/// # Ok(())
/// # }
/// ```
pub struct BytesTable<K: ?Sized = [u8]> {
    at: TableRef,
    keys: PhantomData<fn(&K)>,
}

impl<K: ?Sized> Clone for BytesTable<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: ?Sized> Copy for BytesTable<K> {}

impl<K: ?Sized> fmt::Debug for BytesTable<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BytesTable({:?})", self.at.place)
    }
}

impl<K: BytesKey + ?Sized> BytesTable<K> {
    pub(crate) fn new(at: TableRef) -> BytesTable<K> {
        BytesTable { at, keys: PhantomData }
    }

    /// Returns the value under `key`.
    ///
    /// # Errors
    /// [`Error::Aborted`](crate::Error::Aborted) in a transaction that may write, never in a read-only one; this holds for every
    /// read and write below. [`Error::Limit`](crate::Error::Limit) if the key is too long.
    pub fn get(&self, at: &Snapshot, key: impl AsKey<K>) -> Result<Option<Vec<u8>>> {
        self.get_by(at, &key.to_key())
    }

    /// Returns the value under `key` as it is now: a transaction of its own. See [`Table::get_now`](crate::Table::get_now).
    ///
    /// # Errors
    /// Errors of [`Database::read`].
    pub fn get_now(&self, db: &Database, key: impl AsKey<K>) -> Result<Option<Vec<u8>>> {
        let key = key.to_key();
        match self.at.read_now(db, &key, |_, row| Ok(row.bytes().to_vec()))? {
            Some(read) => Ok(read),
            None => db.read(|at| self.get_by(at, &key)),
        }
    }

    fn get_by(&self, at: &Snapshot, key: &[u8]) -> Result<Option<Vec<u8>>> {
        at.read(self.at.plain(at)?, key, Columns::All, |row| Ok(row.bytes().to_vec()))
    }

    /// Reads the value under `key` into `value`, reusing its memory. Returns `false`, and clears `value`, if there is none.
    ///
    /// # Errors
    /// Errors of [`BytesTable::get`].
    pub fn get_into(&self, at: &Snapshot, key: impl AsKey<K>, value: &mut Vec<u8>) -> Result<bool> {
        value.clear();
        let read = at.read(self.at.plain(at)?, &key.to_key(), Columns::All, |row| {
            value.extend_from_slice(row.bytes());
            Ok(())
        })?;
        Ok(read.is_some())
    }

    /// Returns whether there is a value under `key`.
    ///
    /// # Errors
    /// Errors of [`BytesTable::get`].
    pub fn contains(&self, at: &Snapshot, key: impl AsKey<K>) -> Result<bool> {
        Ok(at.read(self.at.plain(at)?, &key.to_key(), Columns::None, |_| Ok(()))?.is_some())
    }

    /// Same as [`BytesTable::get`], for a value that the transaction is going to write: with
    /// [`own_at_statement`](crate::TransactionOptions::own_at_statement) the row is held from here on.
    ///
    /// # Errors
    /// Errors of [`BytesTable::get`].
    pub fn get_for_update(&self, txn: &mut Transaction, key: impl AsKey<K>) -> Result<Option<Vec<u8>>> {
        let table = self.at.plain(txn)?;
        let mut row = RowBuf::new();
        let found = txn.with(|engine| engine.read_for_update(table, &key.to_key(), Columns::All, &mut row))?;
        Ok(found.then(|| row.bytes().to_vec()))
    }

    /// Inserts a value under a key that has none.
    ///
    /// # Errors
    /// [`Error::Duplicate`](crate::Error::Duplicate) if the key exists; [`Error::Limit`](crate::Error::Limit) if key or
    /// value are too large.
    pub fn insert(&self, txn: &mut Transaction, key: impl AsKey<K>, value: impl AsRef<[u8]>) -> Result<()> {
        let table = self.at.plain(txn)?;
        txn.with(|engine| engine.insert(table, &key.to_key(), RowRef::new(value.as_ref())))
    }

    /// Inserts a value, or replaces the one under the key.
    ///
    /// # Errors
    /// [`Error::Limit`](crate::Error::Limit) if key or value are too large.
    pub fn put(&self, txn: &mut Transaction, key: impl AsKey<K>, value: impl AsRef<[u8]>) -> Result<()> {
        let table = self.at.plain(txn)?;
        txn.with(|engine| engine.put(table, &key.to_key(), RowRef::new(value.as_ref())))
    }

    /// Deletes the value under `key`; `false` if there is none.
    ///
    /// # Errors
    /// Errors of [`BytesTable::get`].
    pub fn delete(&self, txn: &mut Transaction, key: impl AsKey<K>) -> Result<bool> {
        let table = self.at.plain(txn)?;
        txn.with(|engine| engine.delete(table, &key.to_key()))
    }

    /// The keys in `range` with their values, in key order; from both ends, by `rev()` and `next_back()`. See
    /// [`Table::range`](crate::Table::range) for how they are fetched.
    pub fn range<'s>(&self, at: &'s Snapshot, range: impl KeyRange<K>) -> Entries<'s, K> {
        self.walk(at, |of| Span::keys(of, &range))
    }

    /// All keys with their values, in key order.
    pub fn iter<'s>(&self, at: &'s Snapshot) -> Entries<'s, K> {
        self.range(at, ..)
    }

    fn walk<'s>(&self, at: &'s Snapshot, span: impl FnOnce(ResolvedTable<'s>) -> Result<Span>) -> Entries<'s, K> {
        Entries::new(self.at.walk(at, span))
    }

    /// The least key with its value.
    ///
    /// # Errors
    /// Errors of [`BytesTable::get`].
    pub fn first(&self, at: &Snapshot) -> Result<Option<(K::Owned, Vec<u8>)>> {
        self.at.walk_one(at, |of| Ok(Span::all(of)))?.next(entry::<K>).transpose()
    }

    /// The greatest key with its value.
    ///
    /// # Errors
    /// Errors of [`BytesTable::get`].
    pub fn last(&self, at: &Snapshot) -> Result<Option<(K::Owned, Vec<u8>)>> {
        self.at.walk_one(at, |of| Ok(Span::all(of)))?.next_back(entry::<K>).transpose()
    }

    /// Counts the keys, by visiting all of them.
    ///
    /// # Errors
    /// Errors of [`BytesTable::get`].
    pub fn len(&self, at: &Snapshot) -> Result<u64> {
        at.count(Scan::table(self.at.plain(at)?))
    }

    /// Returns whether the table is empty.
    ///
    /// # Errors
    /// Errors of [`BytesTable::get`].
    pub fn is_empty(&self, at: &Snapshot) -> Result<bool> {
        Ok(self.first(at)?.is_none())
    }
}

impl BytesTable<[u8]> {
    /// The keys that start with `prefix`, with their values.
    pub fn prefix<'s>(&self, at: &'s Snapshot, prefix: impl AsRef<[u8]>) -> Entries<'s, [u8]> {
        self.walk(at, |of| Span::starting_with(of, Key::from_bytes(prefix.as_ref())))
    }
}

/// Iterator over the entries of a range. It ends after an error.
#[derive(Debug)]
#[must_use = "a range is read only when it is walked"]
pub struct Entries<'s, K: ?Sized> {
    walk: Walk<'s>,
    keys: PhantomData<fn(&K)>,
}

impl<'s, K: ?Sized> Entries<'s, K> {
    pub(crate) fn new(walk: Walk<'s>) -> Entries<'s, K> {
        Entries { walk, keys: PhantomData }
    }
}

impl<K: BytesKey + ?Sized> Iterator for Entries<'_, K> {
    type Item = Result<(K::Owned, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.walk.next(entry::<K>)
    }
}

impl<K: BytesKey + ?Sized> DoubleEndedIterator for Entries<'_, K> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.walk.next_back(entry::<K>)
    }
}

impl<K: BytesKey + ?Sized> std::iter::FusedIterator for Entries<'_, K> {}

fn entry<K: BytesKey + ?Sized>(_: ResolvedTable<'_>, key: &[u8], row: RowRef<'_>) -> Result<(K::Owned, Vec<u8>)> {
    Ok((K::from_key(key), row.bytes().to_vec()))
}
