//! Tables of bytes, inside procedures and snapshots.

use crate::batch::table::{Keyed, TableAt, sealed};
use crate::batch::transaction::{Snapshot, Transaction};
use crate::range::Span;
use crate::resolve::{ResolvedTable, Walk};
use crate::{AsKey, BytesKey, Entries, KeyRange, Result};
use model::{Columns, Key, RowRef, TableId};
use std::fmt;
use std::marker::PhantomData;

/// A map from byte strings (`BytesTable`, or `BytesTable<[u8]>`) or integers (`BytesTable<u64>`) to byte strings: a handle that is cheap
/// to copy. SQL does not see it. Made by [`Builder::bytes_table`](crate::batch::Builder::bytes_table).
///
/// ```
/// # use seriatim::{Database, Error, batch};
/// # fn main() -> Result<(), Error> {
/// let mut builder = Database::builder().engine(batch::Bohm::default());
/// let words: batch::BytesTable = builder.bytes_table("words")?;
/// let put = builder
///     .procedure("put", 1)
///     .footprint(move |footprint, (word, _): &(String, String)| footprint.updates(words, word))
///     .body(move |txn, (word, meaning): &(String, String)| words.put(txn, word, meaning))?;
/// let db = builder.in_memory()?;
/// db.call(&put, ("zwei".into(), "two".into()))?;
/// assert_eq!(db.read_strict(|at| words.get(at, "zwei"))?.as_deref(), Some(&b"two"[..]));
/// # Ok(())
/// # }
/// ```
pub struct BytesTable<K: ?Sized = [u8]> {
    pub(crate) at: TableAt,
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
        write!(f, "BytesTable({})", self.at.number)
    }
}

impl<K: BytesKey + ?Sized> Keyed for BytesTable<K> {
    type Key = K;
}

impl<K: ?Sized> sealed::At for BytesTable<K> {
    fn at(&self) -> TableAt {
        self.at
    }
}

impl<K: BytesKey + ?Sized> BytesTable<K> {
    pub(crate) fn new(at: TableAt) -> BytesTable<K> {
        BytesTable { at, keys: PhantomData }
    }

    fn rows(&self, at: &Snapshot<'_>) -> Result<TableId> {
        Ok(at.resolve(self.at)?.rows())
    }

    /// Returns the value under `key`.
    ///
    /// # Errors
    /// [`Invalid::Undeclared`](crate::Invalid::Undeclared) in a procedure whose footprint does not have the key; this holds for every
    /// read and write below.
    pub fn get(&self, at: &Snapshot<'_>, key: impl AsKey<K>) -> Result<Option<Vec<u8>>> {
        at.read(self.rows(at)?, &key.to_key(), Columns::All, |row| Ok(row.bytes().to_vec()))
    }

    /// Returns whether there is a value under `key`.
    ///
    /// # Errors
    /// Errors of [`BytesTable::get`].
    pub fn contains(&self, at: &Snapshot<'_>, key: impl AsKey<K>) -> Result<bool> {
        Ok(at.read(self.rows(at)?, &key.to_key(), Columns::None, |_| Ok(()))?.is_some())
    }

    /// Inserts a value under a key that has none.
    ///
    /// # Errors
    /// [`Error::Duplicate`](crate::Error::Duplicate) if the key exists: the procedure can go on. After any other error of a write the
    /// procedure ends with that error.
    pub fn insert(&self, txn: &mut Transaction<'_>, key: impl AsKey<K>, value: impl AsRef<[u8]>) -> Result<()> {
        let rows = self.rows(txn)?;
        txn.change(|access| Ok(access.insert(rows, &key.to_key(), RowRef::new(value.as_ref()))?))
    }

    /// Inserts a value, or replaces the one under the key.
    ///
    /// # Errors
    /// Errors of [`BytesTable::insert`], except that the key may exist.
    pub fn put(&self, txn: &mut Transaction<'_>, key: impl AsKey<K>, value: impl AsRef<[u8]>) -> Result<()> {
        let rows = self.rows(txn)?;
        txn.change(|access| Ok(access.put(rows, &key.to_key(), RowRef::new(value.as_ref()))?))
    }

    /// Deletes the value under `key`; `false` if there is none.
    ///
    /// # Errors
    /// Errors of [`BytesTable::put`].
    pub fn delete(&self, txn: &mut Transaction<'_>, key: impl AsKey<K>) -> Result<bool> {
        let rows = self.rows(txn)?;
        txn.change(|access| Ok(access.delete(rows, &key.to_key())?))
    }

    /// The keys in `range` with their values, in key order; from both ends, by `rev()` and `next_back()`. In a table by hash the first
    /// item is [`Invalid::NotOrdered`](crate::Invalid::NotOrdered).
    pub fn range<'s>(&self, at: &'s Snapshot<'_>, range: impl KeyRange<K>) -> Entries<'s, K> {
        self.walk(at, |of| Span::keys(of, &range))
    }

    /// All keys with their values, in key order.
    pub fn iter<'s>(&self, at: &'s Snapshot<'_>) -> Entries<'s, K> {
        self.range(at, ..)
    }

    fn walk<'s>(&self, at: &'s Snapshot<'_>, span: impl FnOnce(ResolvedTable<'s>) -> Result<Span>) -> Entries<'s, K> {
        let begun = at.resolve(self.at).and_then(|resolved| Ok((span(resolved)?, resolved)));
        Entries::new(Walk::over(at, begun))
    }
}

impl BytesTable<[u8]> {
    /// The keys that start with `prefix`, with their values.
    pub fn prefix<'s>(&self, at: &'s Snapshot<'_>, prefix: impl AsRef<[u8]>) -> Entries<'s, [u8]> {
        self.walk(at, |of| Span::starting_with(of, Key::from_bytes(prefix.as_ref())))
    }
}
