//! What a write has done to a row, as the window remembers it: enough to tell which reads it would have answered differently.
//!
//! Kept is the way back, as in an undo buffer: nothing of a row that came, the old values of columns that changed, all values of a row
//! that went. The row as it is now leads to the one before, and so on. Source: HyPer, sections 2.1 and 2.3.
//! A row of bytes has no columns, so that no filter looks at it: whether it came, went or changed is all that counts.

use crate::columns::ColumnSet;
use crate::values::{put_value, value};
use codec::{put_bytes, put_number};
use model::{Decoder, Malformed, Predicate, RowBuf, RowChange, RowKind, RowRef, Schema, ValueRef};

/// What a write has done to a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// `None`: the row is as it was.
    pub kind: Option<RowChange>,
    /// The columns that changed; all of a row that came or went.
    pub columns: ColumnSet,
    /// The way back. `None`: it is not kept, and any filter may have passed the row before.
    before: Option<Box<[u8]>>,
    /// Bytes of the row that is there since, which the window keeps beside this.
    after_bytes: u32,
}

/// Kinds by their numbers.
const KINDS: [Option<RowChange>; 4] =
    [None, Some(RowChange::Inserted), Some(RowChange::Deleted), Some(RowChange::Updated)];
/// Beside the kind: the way back is kept.
const KEPT: u8 = 4;

impl Change {
    /// Compares a row with the one before. Values are compared, and not bytes: stores may put rows together in their own ways.
    pub fn of(schema: &Schema, before: Option<RowRef<'_>>, after: Option<RowRef<'_>>) -> Change {
        let is_typed = schema.rows() == RowKind::Typed;
        let mut way_back = Vec::new();
        let (kind, columns) = match (before, after) {
            (None, None) => (None, ColumnSet::NONE),
            (None, Some(_)) => (Some(RowChange::Inserted), ColumnSet::ALL),
            (Some(before), None) => {
                if is_typed {
                    before.values().for_each(|value| put_value(&mut way_back, value));
                }
                (Some(RowChange::Deleted), ColumnSet::ALL)
            }
            (Some(before), Some(after)) if is_typed => {
                let mut columns = ColumnSet::NONE;
                for (column, (old, new)) in (0..).zip(before.raws().zip(after.raws())) {
                    if old != new {
                        columns = columns.with(ColumnSet::of(column));
                        put_number(&mut way_back, column.into());
                        put_value(&mut way_back, before.get(column.into()));
                    }
                }
                ((columns != ColumnSet::NONE).then_some(RowChange::Updated), columns)
            }
            (Some(before), Some(after)) if before.bytes() == after.bytes() => (None, ColumnSet::NONE),
            (Some(_), Some(_)) => (Some(RowChange::Updated), ColumnSet::ALL),
        };
        let after_bytes = after.filter(|_| is_typed).map_or(0, |row| row.bytes().len() as u32);
        Change { kind, columns, before: is_typed.then(|| way_back.into()), after_bytes }
    }

    /// Forgets the way back.
    pub fn strip(&mut self) {
        (self.before, self.after_bytes) = (None, 0);
    }

    /// Whether the row that is there since is kept beside it.
    pub fn keeps_rows(&self) -> bool {
        self.before.is_some()
    }

    /// Bytes that are kept for it.
    pub fn weight(&self) -> u64 {
        self.before.as_ref().map_or(0, |before| before.len() as u64) + u64::from(self.after_bytes)
    }

    /// Whether a read of these columns, and of no filter, sees it.
    pub fn is_seen_by(&self, columns: ColumnSet) -> bool {
        match self.kind {
            None => false,
            Some(RowChange::Inserted | RowChange::Deleted) => true,
            Some(RowChange::Updated) => columns.meets(self.columns),
        }
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        let kind = KINDS.iter().position(|kind| *kind == self.kind).expect("every kind has a number") as u8;
        out.push(kind | if self.before.is_some() { KEPT } else { 0 });
        if self.kind == Some(RowChange::Updated) {
            put_number(out, self.columns.0);
        }
        if let Some(before) = &self.before {
            put_bytes(out, before);
            put_number(out, self.after_bytes.into());
        }
    }

    pub fn decode(from: &mut Decoder<'_>) -> Result<Change, Malformed> {
        let head = from.u8()?;
        let kind = *KINDS.get(usize::from(head & !KEPT)).ok_or(Malformed)?;
        let columns = match kind {
            None => ColumnSet::NONE,
            Some(RowChange::Inserted | RowChange::Deleted) => ColumnSet::ALL,
            Some(RowChange::Updated) => ColumnSet(from.number()?),
        };
        if head & KEPT == 0 {
            return Ok(Change { kind, columns, before: None, after_bytes: 0 });
        }
        let before = Some(from.bytes()?.into());
        let after_bytes = u32::try_from(from.number()?).map_err(|_| Malformed)?;
        Ok(Change { kind, columns, before, after_bytes })
    }
}

/// A row as the window knows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Version<'w> {
    /// It is not kept: any filter may pass it.
    Unknown,
    Absent,
    Values(Vec<ValueRef<'w>>),
}

impl<'w> Version<'w> {
    /// The row that is there now: of a row that is not known, `None`.
    pub fn of(now: Option<&'w Option<RowBuf>>) -> Version<'w> {
        match now {
            None => Version::Unknown,
            Some(None) => Version::Absent,
            Some(Some(row)) => Version::Values(row.row().values().collect()),
        }
    }

    /// The row before a change that led to this one.
    #[must_use]
    pub fn before(self, change: &'w Change) -> Version<'w> {
        let Some(way_back) = &change.before else { return Version::Unknown };
        let mut from = Decoder::new(way_back);
        match (change.kind, self) {
            (None, version) => version,
            (Some(RowChange::Inserted), _) => Version::Absent,
            (Some(RowChange::Deleted), _) => read_all(&mut from).map_or(Version::Unknown, Version::Values),
            (Some(RowChange::Updated), Version::Values(mut values)) => {
                // What does not fit is no way back.
                let read = read_some(&mut from, &mut values);
                read.map_or(Version::Unknown, |()| Version::Values(values))
            }
            (Some(RowChange::Updated), Version::Unknown | Version::Absent) => Version::Unknown,
        }
    }

    /// Whether a filter passes it; `None`: it may.
    pub fn passes(&self, filter: &Predicate) -> Option<bool> {
        match self {
            Version::Unknown => None,
            Version::Absent => Some(false),
            Version::Values(values) => {
                let value = |column: u16| values.get(usize::from(column)).copied().unwrap_or(ValueRef::Null);
                Some(filter.evaluate_with(&value) == Some(true))
            }
        }
    }

    /// The number of its columns, as far as they are known.
    pub fn width(&self) -> u16 {
        if let Version::Values(values) = self { values.len() as u16 } else { 0 }
    }

    pub fn value(&self, column: u16) -> Option<ValueRef<'w>> {
        let Version::Values(values) = self else { return None };
        values.get(usize::from(column)).copied()
    }
}

fn read_all<'w>(from: &mut Decoder<'w>) -> Result<Vec<ValueRef<'w>>, Malformed> {
    let mut values = Vec::new();
    while !from.is_empty() {
        values.push(value(from)?);
    }
    Ok(values)
}

fn read_some<'w>(from: &mut Decoder<'w>, values: &mut [ValueRef<'w>]) -> Result<(), Malformed> {
    while !from.is_empty() {
        let column = usize::try_from(from.number()?).map_err(|_| Malformed)?;
        *values.get_mut(column).ok_or(Malformed)? = value(from)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ColumnType, Comparison, Value};

    fn schema() -> Schema {
        let table = Schema::table("t").column("id", ColumnType::Int).nullable("name", ColumnType::Text);
        table.nullable("size", ColumnType::Int).key(["id"]).build().expect("a good schema")
    }

    fn row(name: Option<&str>, size: i64) -> RowBuf {
        let name = name.map_or(ValueRef::Null, ValueRef::Text);
        RowBuf::from_values(&[ValueRef::Int(7), name, ValueRef::Int(size)])
    }

    /// A row before and after, what became of it, and in which columns.
    type Case = (Option<RowBuf>, Option<RowBuf>, Option<RowChange>, ColumnSet);

    fn changes() -> Vec<Case> {
        let (a, b, c) = (Some(row(Some("a"), 1)), Some(row(None, 1)), Some(row(None, 2)));
        vec![
            (None, a.clone(), Some(RowChange::Inserted), ColumnSet::ALL),
            (a.clone(), b.clone(), Some(RowChange::Updated), ColumnSet::of(1)),
            (b.clone(), c.clone(), Some(RowChange::Updated), ColumnSet::of(2)),
            (c.clone(), c.clone(), None, ColumnSet::NONE),
            (c, a.clone(), Some(RowChange::Updated), ColumnSet::of(1).with(ColumnSet::of(2))),
            (a, None, Some(RowChange::Deleted), ColumnSet::ALL),
            (None, None, None, ColumnSet::NONE),
        ]
    }

    fn row_of(row: &Option<RowBuf>) -> Option<RowRef<'_>> {
        row.as_ref().map(RowBuf::row)
    }

    #[test]
    fn a_change_leads_back_to_the_row_before_and_is_read_as_it_was_written() {
        for (before, after, kind, columns) in changes() {
            let change = Change::of(&schema(), row_of(&before), row_of(&after));
            assert_eq!((change.kind, change.columns), (kind, columns));
            assert_eq!(Version::of(Some(&after)).before(&change), Version::of(Some(&before)));
            let mut bytes = Vec::new();
            change.encode(&mut bytes);
            assert_eq!(Change::decode(&mut Decoder::new(&bytes)), Ok(change.clone()));
            (0..bytes.len()).for_each(|end| assert!(Change::decode(&mut Decoder::new(&bytes[..end])).is_err()));
            let mut stripped = change.clone();
            stripped.strip();
            assert_eq!((stripped.weight(), stripped.kind), (0, change.kind));
            assert_eq!(Version::of(Some(&after)).before(&stripped), Version::Unknown);
        }
    }

    #[test]
    fn rows_of_bytes_are_compared_and_not_kept() {
        let schema = Schema::bytes("b").build().expect("a good schema");
        let (a, b) = (RowBuf::from_bytes(b"a"), RowBuf::from_bytes(b"b"));
        let change = |before: Option<&RowBuf>, after: Option<&RowBuf>| {
            Change::of(&schema, before.map(RowBuf::row), after.map(RowBuf::row))
        };
        assert_eq!(change(Some(&a), Some(&a)).kind, None);
        assert_eq!(change(Some(&a), Some(&b)).kind, Some(RowChange::Updated));
        assert!(change(Some(&a), Some(&b)).is_seen_by(ColumnSet::ALL));
        assert!(!change(Some(&a), Some(&b)).is_seen_by(ColumnSet::NONE), "the row is there as before");
        assert!(change(Some(&a), None).is_seen_by(ColumnSet::NONE));
        assert_eq!(change(Some(&a), None).weight(), 0);
    }

    #[test]
    fn what_is_not_known_may_pass_any_filter() {
        let filter = Predicate::Compare(2, Comparison::Equal, Value::Int(1));
        assert_eq!(Version::Unknown.passes(&filter), None);
        assert_eq!(Version::Absent.passes(&filter), Some(false));
        let (one, two) = (Some(row(None, 1)), Some(row(None, 2)));
        assert_eq!(Version::of(Some(&one)).passes(&filter), Some(true));
        assert_eq!(Version::of(Some(&two)).passes(&filter), Some(false));
        let unknown = Predicate::Compare(1, Comparison::Equal, Value::Text("a".into()));
        assert_eq!(Version::of(Some(&one)).passes(&unknown), Some(false), "unknown is not true");
    }
}
