//! Tables whose columns are known only at run time.

use crate::range::Span;
use crate::resolve::{ResolvedTable, TableRef, Walk};
use crate::{Change, Database, Invalid, Result, Schema, Snapshot, Transaction, Value};
use model::{Access, Columns, Delta, Key, KeyKind, RowBuf, RowKind, RowRef, Scan, ValueRef};
use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// A table of typed rows, by its [`Schema`], for programs that learn the columns at run time. If they are known at compile time,
/// [`Table`](crate::Table) is shorter and checked by the compiler.
///
/// ```
/// # use seriatim::{ColumnType, Database, Error, Schema, Value};
/// # fn main() -> Result<(), Error> {
/// let db = Database::in_memory()?;
/// let details = db.create_table(
///     Schema::table("details")
///         .column("order_id", ColumnType::Int)
///         .column("product_id", ColumnType::Int)
///         .nullable("note", ColumnType::Text)
///         .key(["order_id", "product_id"])
///         .index("by_product", ["product_id"]),
/// )?;
/// db.run(|txn| {
///     details.insert(txn, (10248, 11, "ripe"))?;
///     details.insert(txn, (10248, 42, Value::Null))
/// })?;
/// db.read(|snapshot| {
///     let row = details.get(snapshot, (10248, 11))?.unwrap();
///     assert_eq!(row.get("note"), Some("ripe".into()));
///     assert_eq!(details.range(snapshot, 10248..=10248).count(), 2); // a prefix of the key will do
///     assert_eq!(details.range_by(snapshot, "by_product", 42..43)?.count(), 1);
///     Ok(())
/// })?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RowTable {
    at: TableRef,
    schema: Arc<Schema>,
}

impl RowTable {
    pub(crate) fn new(at: TableRef, schema: Arc<Schema>) -> RowTable {
        RowTable { at, schema }
    }

    /// Returns the table's schema.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the table's name.
    pub fn name(&self) -> &str {
        self.schema.name()
    }

    /// Returns the row under a key: the values of the key columns, in the key's order.
    ///
    /// # Errors
    /// [`Invalid::Key`] if the values do not fit the key columns; [`Error::Aborted`](crate::Error::Aborted) in a
    /// transaction that may write; this holds for every read and write below.
    pub fn get(&self, at: &Snapshot, key: impl IntoValues) -> Result<Option<Row>> {
        self.get_by(at, &self.key(&key.into_values())?)
    }

    /// Returns the row under a key as it is now: a transaction of its own. See [`Table::get_now`](crate::Table::get_now).
    ///
    /// # Errors
    /// [`Invalid::Key`] if the values do not fit the key columns; errors of [`Database::read`].
    pub fn get_now(&self, db: &Database, key: impl IntoValues) -> Result<Option<Row>> {
        let key = self.key(&key.into_values())?;
        match self.at.read_now(db, &key, |resolved, row| Ok(self.row(resolved, &key, row)))? {
            Some(read) => Ok(read),
            None => db.read(|at| self.get_by(at, &key)),
        }
    }

    fn get_by(&self, at: &Snapshot, key: &Key) -> Result<Option<Row>> {
        let resolved = self.at.resolve(at)?;
        let stored = resolved.stored_key(key.clone())?;
        at.read(resolved.rows(), &stored, Columns::All, |row| Ok(self.row(resolved, key, row.row())))
    }

    /// Inserts a row under a key that has none: a value for each column, in the schema's order.
    ///
    /// # Errors
    /// [`Invalid::Row`] if the values do not fit the columns; [`Error::Duplicate`](crate::Error::Duplicate) if the key or
    /// its entry in a unique index exists; [`Error::Limit`](crate::Error::Limit) if the row is too large.
    pub fn insert(&self, txn: &mut Transaction, row: impl IntoValues) -> Result<()> {
        let resolved = self.at.resolve(txn)?;
        let (key, row) = self.encode(&row.into_values())?;
        txn.statement(resolved.has_entries(), |engine| match resolved {
            ResolvedTable::Plain(table) => Ok(engine.insert(table, &key, row.row())?),
            ResolvedTable::Defined(layout) => layout.insert(engine, &key, row.row()),
        })
    }

    /// Inserts a row, or replaces the one under its key.
    ///
    /// # Errors
    /// Errors of [`RowTable::insert`].
    pub fn put(&self, txn: &mut Transaction, row: impl IntoValues) -> Result<()> {
        let resolved = self.at.resolve(txn)?;
        let (key, row) = self.encode(&row.into_values())?;
        txn.statement(resolved.has_entries(), |engine| match resolved {
            ResolvedTable::Plain(table) => Ok(engine.put(table, &key, row.row())?),
            ResolvedTable::Defined(layout) => layout.put(engine, &key, row.row()),
        })
    }

    /// Changes columns of the row under a key; `false` if there is none.
    ///
    /// ```
    /// # use seriatim::{Change, ColumnType, Database, Error, Schema};
    /// # fn main() -> Result<(), Error> {
    /// # let db = Database::in_memory()?;
    /// # let products = db.create_table(
    /// #     Schema::table("products").column("id", ColumnType::Int).column("stock", ColumnType::Int).key(["id"]))?;
    /// # db.run(|txn| products.insert(txn, (1, 39)))?;
    /// db.run(|txn| products.update(txn, 1, [("stock", Change::Add(-2))]))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Invalid::Row`] if there is no such column, the value does not fit it, or a sum is out of range.
    pub fn update<'c>(
        &self,
        txn: &mut Transaction,
        key: impl IntoValues,
        changes: impl IntoIterator<Item = (&'c str, Change)>,
    ) -> Result<bool> {
        let resolved = self.at.resolve(txn)?;
        let key = self.key(&key.into_values())?;
        let mut delta = Delta::new();
        for (name, change) in changes {
            let column = self.column(name)?;
            delta = match change {
                Change::Set(value) => delta.set(column, value),
                Change::Add(amount) => delta.add(column, amount),
            };
        }
        txn.statement(resolved.has_entries(), |engine| match resolved {
            ResolvedTable::Plain(table) => Ok(engine.update(table, &key, &delta)?),
            ResolvedTable::Defined(layout) => layout.update(engine, &key, &delta),
        })
    }

    /// Deletes the row under a key; `false` if there is none.
    ///
    /// # Errors
    /// Errors of [`RowTable::get`].
    pub fn delete(&self, txn: &mut Transaction, key: impl IntoValues) -> Result<bool> {
        let resolved = self.at.resolve(txn)?;
        let key = self.key(&key.into_values())?;
        txn.statement(resolved.has_entries(), |engine| match resolved {
            ResolvedTable::Plain(table) => Ok(engine.delete(table, &key)?),
            ResolvedTable::Defined(layout) => layout.delete(engine, &key),
        })
    }

    /// All rows, in key order.
    pub fn iter<'s>(&self, at: &'s Snapshot) -> Rows<'s> {
        self.walk(at, |of| Ok(Span::all(of)))
    }

    /// The rows whose keys are in a range. A bound may name only the first key columns: it then stands for all keys that
    /// begin with them. See [`Table::range`](crate::Table::range) for how rows are fetched.
    pub fn range<'s, V: IntoValues + Clone>(&self, at: &'s Snapshot, range: impl RangeBounds<V>) -> Rows<'s> {
        let columns = match self.schema.key() {
            KeyKind::Columns(columns) => columns.clone(),
            KeyKind::U64 | KeyKind::Bytes => vec![],
        };
        self.walk(at, |of| Span::keys_between(of, self.bounds(&columns, range)?))
    }

    /// The rows whose columns of an index are in a range, in their order.
    ///
    /// # Errors
    /// [`Invalid::UnknownIndex`].
    pub fn range_by<'s, V: IntoValues + Clone>(
        &self,
        at: &'s Snapshot,
        index: &str,
        range: impl RangeBounds<V>,
    ) -> Result<Rows<'s>> {
        let unknown = || Invalid::UnknownIndex { table: self.name().into(), index: index.into() };
        let id = self.schema.index(index).ok_or_else(unknown)?;
        let columns = self.schema.indexes()[usize::from(id.0)].columns.clone();
        let bounds = self.bounds(&columns, range)?;
        Ok(self.walk(at, |of| Span::entries_between(of, id, bounds)))
    }

    /// Counts the rows, by visiting all of them.
    ///
    /// # Errors
    /// Errors of [`RowTable::get`].
    pub fn len(&self, at: &Snapshot) -> Result<u64> {
        at.count(Scan::table(self.at.resolve(at)?.rows()))
    }

    /// Returns whether the table is empty.
    ///
    /// # Errors
    /// Errors of [`RowTable::get`].
    pub fn is_empty(&self, at: &Snapshot) -> Result<bool> {
        Ok(self.at.walk_one(at, |of| Ok(Span::all(of)))?.next(|_, _, _| Ok(())).transpose()?.is_none())
    }

    fn walk<'s>(&self, at: &'s Snapshot, span: impl FnOnce(ResolvedTable<'s>) -> Result<Span>) -> Rows<'s> {
        Rows { walk: self.at.walk(at, span), schema: self.schema.clone() }
    }

    /// The stored row under a program's key.
    fn row(&self, resolved: ResolvedTable<'_>, key: &Key, row: RowRef<'_>) -> Row {
        let mut buffer = RowBuf::new();
        let row = match resolved {
            ResolvedTable::Plain(_) => row,
            ResolvedTable::Defined(layout) => layout.program_row(row, &mut buffer),
        };
        Row { schema: self.schema.clone(), key: key.clone(), row: RowBuf::from_bytes(row.bytes()) }
    }

    fn column(&self, name: &str) -> Result<u16> {
        let what = || format!("there is no column {name}");
        Ok(self.schema.column(name).ok_or_else(|| Invalid::Row { table: self.name().into(), what: what() })?)
    }

    fn encode(&self, values: &[Value]) -> Result<(Key, RowBuf)> {
        let wrong = |what: String| Invalid::Row { table: self.name().into(), what };
        let KeyKind::Columns(columns) = self.schema.key() else {
            return Err(wrong("its key is not made of columns: use a table of bytes".into()).into());
        };
        let row = RowBuf::from_values(&values.iter().map(Value::as_ref).collect::<Vec<_>>());
        if values.len() != self.schema.columns().len() {
            return Err(wrong(format!("{} columns instead of {}", values.len(), self.schema.columns().len())).into());
        }
        let key_values: Vec<Value> = columns.iter().map(|&column| values[usize::from(column)].clone()).collect();
        let key = self.key_prefix(columns, &key_values).ok_or_else(|| match self.schema.check_row(&[], row.row()) {
            Err(Invalid::Row { table, what }) => Invalid::Row { table, what },
            _ => Invalid::Key { table: self.name().into() },
        })?;
        Ok((key, row))
    }

    fn key(&self, values: &[Value]) -> Result<Key> {
        let key = match (self.schema.key(), values) {
            (KeyKind::Columns(columns), values) if columns.len() == values.len() => self.key_prefix(columns, values),
            (KeyKind::U64, [Value::Int(integer)]) => u64::try_from(*integer).ok().map(Key::from_u64),
            (KeyKind::Bytes, [Value::Bytes(bytes)]) => Some(Key::from_bytes(bytes)),
            (KeyKind::Bytes, [Value::Text(text)]) => Some(Key::from_bytes(text.as_bytes())),
            _ => None,
        };
        Ok(key.ok_or_else(|| Invalid::Key { table: self.name().into() })?)
    }

    /// Returns the encoded first key (or index) columns; `None` if the values do not fit them.
    fn key_prefix(&self, columns: &[u16], values: &[Value]) -> Option<Key> {
        let mut key = Key::new();
        for (position, value) in values.iter().enumerate() {
            let column = &self.schema.columns()[usize::from(*columns.get(position)?)];
            match value.as_ref().column_type() {
                None if column.nullable => {}
                Some(kind) if kind == column.kind => {}
                _ => return None,
            }
            key.push_value(value.as_ref(), column.nullable);
        }
        Some(key)
    }

    fn bounds<V: IntoValues + Clone>(
        &self,
        columns: &[u16],
        range: impl RangeBounds<V>,
    ) -> Result<(Bound<Key>, Bound<Key>)> {
        let encode = |value: &V| {
            let key = self.key_prefix(columns, &value.clone().into_values());
            key.ok_or_else(|| Invalid::Key { table: self.name().into() })
        };
        // A bound may give only the first columns of the key, and then stands for all keys with that prefix. An excluded lower
        // bound and an included upper bound therefore become the first key after the prefix.
        let lower = match range.start_bound() {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Included(value) => Bound::Included(encode(value)?),
            Bound::Excluded(value) => {
                let key = encode(value)?;
                key.successor_of_prefix().map_or(Bound::Excluded(key), Bound::Included)
            }
        };
        let upper = match range.end_bound() {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Included(value) => encode(value)?.successor_of_prefix().map_or(Bound::Unbounded, Bound::Excluded),
            Bound::Excluded(value) => Bound::Excluded(encode(value)?),
        };
        Ok((lower, upper))
    }
}

/// A row that was read.
#[derive(Clone, PartialEq)]
pub struct Row {
    schema: Arc<Schema>,
    key: Key,
    row: RowBuf,
}

impl Row {
    /// The value of a column; `None` if there is no such column.
    pub fn get(&self, column: &str) -> Option<ValueRef<'_>> {
        Some(self.row.get(usize::from(self.schema.column(column)?)))
    }

    /// The values, in the order of the schema's columns; the key and the value of a table of bytes.
    pub fn values(&self) -> Vec<ValueRef<'_>> {
        match (self.schema.rows(), self.schema.key()) {
            (RowKind::Typed, _) => self.row.row().values().collect(),
            (RowKind::Bytes, KeyKind::U64) => {
                let key = Key::to_u64(&self.key).and_then(|key| i64::try_from(key).ok());
                vec![key.map_or(ValueRef::Bytes(&self.key), ValueRef::Int), ValueRef::Bytes(self.row.bytes())]
            }
            (RowKind::Bytes, _) => vec![ValueRef::Bytes(&self.key), ValueRef::Bytes(self.row.bytes())],
        }
    }

    /// The encoded primary key.
    pub fn key_bytes(&self) -> &[u8] {
        &self.key
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.schema.columns().iter().map(|column| column.name.as_str());
        let names = names.chain(["key", "value"].into_iter().filter(|_| self.schema.rows() == RowKind::Bytes));
        let mut map = f.debug_map();
        for (name, value) in names.zip(self.values()) {
            map.entry(&name, &format_args!("{value}"));
        }
        map.finish()
    }
}

/// Iterator over the rows of a range. It ends after an error.
#[derive(Debug)]
#[must_use = "a range is read only when it is walked"]
pub struct Rows<'s> {
    walk: Walk<'s>,
    schema: Arc<Schema>,
}

impl Iterator for Rows<'_> {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        self.walk.next(|resolved, key, row| Ok(read_row(&self.schema, resolved, key, row)))
    }
}

impl DoubleEndedIterator for Rows<'_> {
    fn next_back(&mut self) -> Option<Result<Row>> {
        self.walk.next_back(|resolved, key, row| Ok(read_row(&self.schema, resolved, key, row)))
    }
}

impl std::iter::FusedIterator for Rows<'_> {}

fn read_row(schema: &Arc<Schema>, resolved: ResolvedTable<'_>, key: &[u8], row: RowRef<'_>) -> Row {
    Row { schema: schema.clone(), key: resolved.program_key(key), row: RowBuf::from_bytes(row.bytes()) }
}

/// Converts to the values of a row or of a key: one value, a tuple, an array, a slice or a vector of them.
pub trait IntoValues {
    /// The values.
    fn into_values(self) -> Vec<Value>;
}

macro_rules! one_value {
    ($($type:ty),+) => {$(
        impl IntoValues for $type {
            fn into_values(self) -> Vec<Value> {
                vec![self.into()]
            }
        }
    )+};
}
one_value!(bool, i64, i32, u32, f64, String, &str, Vec<u8>, &[u8], Value);

macro_rules! tuple_of_values {
    ($($name:ident)+) => {
        impl<$($name: Into<Value>),+> IntoValues for ($($name,)+) {
            #[allow(non_snake_case)]
            fn into_values(self) -> Vec<Value> {
                let ($($name,)+) = self;
                vec![$($name.into()),+]
            }
        }
    };
}
tuple_of_values!(A);
tuple_of_values!(A B);
tuple_of_values!(A B C);
tuple_of_values!(A B C D);
tuple_of_values!(A B C D E);
tuple_of_values!(A B C D E F);
tuple_of_values!(A B C D E F G);
tuple_of_values!(A B C D E F G H);
tuple_of_values!(A B C D E F G H I);
tuple_of_values!(A B C D E F G H I J);
tuple_of_values!(A B C D E F G H I J K);
tuple_of_values!(A B C D E F G H I J K L);

impl IntoValues for Vec<Value> {
    fn into_values(self) -> Vec<Value> {
        self
    }
}

impl IntoValues for &[Value] {
    fn into_values(self) -> Vec<Value> {
        self.to_vec()
    }
}

impl<V: Into<Value>, const N: usize> IntoValues for [V; N] {
    fn into_values(self) -> Vec<Value> {
        self.into_iter().map(Into::into).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_from_tuples_arrays_and_single_ones() {
        assert_eq!((1, "a", Value::Null).into_values(), [Value::Int(1), Value::Text("a".into()), Value::Null]);
        assert_eq!([1i64, 2].into_values(), [Value::Int(1), Value::Int(2)]);
        assert_eq!("a".into_values(), [Value::Text("a".into())]);
    }
}
