//! Conversion of a path to the key ranges of engine tables.

use super::super::super::scope::Run;
use super::{is_null, out_of_step};
use crate::catalog::{Index, KeyForm};
use crate::error::Result;
use crate::plan::{Expr, Path, Scan};
use crate::storage::{eight_byte_key, push_key};
use crate::types::{Datum, Row, Type};
use model::{Key, TableId};
use std::collections::VecDeque;
use std::ops::Bound;

/// A place in an engine table that holds rows.
pub enum Range {
    /// One key of the table.
    Key(Key),
    /// The key to which one entry of an index leads.
    Entry(TableId, Key),
    /// A range of keys of the table, or of entries of an index.
    Between(Entries),
}

/// A range of an engine table.
pub struct Entries {
    pub table: TableId,
    /// Whether it is an index, whose entries lead to keys.
    pub index: bool,
    pub lower: Bound<Key>,
    pub upper: Bound<Key>,
    pub backward: bool,
}

/// An index with the search keys.
struct Search<'p> {
    index: &'p Index,
    /// The types of its columns.
    types: Vec<Type>,
    form: KeyForm,
    /// The engine table.
    storage: TableId,
    /// Whether the table's own keys are searched.
    own: bool,
}

impl Run<'_, '_> {
    /// Returns the ranges that hold the rows of a scan.
    pub(super) fn ranges(&mut self, scan: &Scan) -> Result<VecDeque<Range>> {
        let table = &*scan.table;
        match &scan.path {
            Path::All => Ok(VecDeque::from([Range::Between(Entries {
                table: table.storage.id(),
                index: false,
                lower: Bound::Unbounded,
                upper: Bound::Unbounded,
                backward: false,
            })])),
            Path::Index { index, equal, lower, upper, backward } => {
                let search = Search::new(scan, *index)?;
                let Some(equal) = self.values(equal)? else { return Ok(VecDeque::new()) };
                if equal.len() == search.index.columns.len() {
                    return Ok(search.one(&equal)?.into_iter().collect());
                }
                let (Some(lower), Some(upper)) = (self.path_bound(lower)?, self.path_bound(upper)?) else {
                    return Ok(VecDeque::new());
                };
                Ok(search.between(&equal, lower, upper, *backward)?.into_iter().collect())
            }
            Path::Alternatives { index, equal } => {
                let search = Search::new(scan, *index)?;
                let values = equal.iter().map(|alternative| self.values(alternative)).collect::<Result<Vec<_>>>()?;
                search.alternatives(values.into_iter().flatten())
            }
            Path::AnyOf { index, equal, array } => {
                let search = Search::new(scan, *index)?;
                let Some(equal) = self.values(equal)? else { return Ok(VecDeque::new()) };
                let array = self.evaluate(array, &[])?;
                let Datum::Array(array) = &array else { return Ok(VecDeque::new()) };
                let elements: Vec<&Datum> = array.leaves().filter(|element| !is_null(element)).collect();
                self.exec.memory.take(elements.len() * size_of::<Datum>())?;
                search.alternatives(elements.into_iter().map(|element| {
                    let mut values = equal.clone();
                    values.push(element.clone());
                    values
                }))
            }
        }
    }

    /// Evaluates leading columns; `None` if one is NULL, which equals nothing.
    fn values(&mut self, expressions: &[Expr]) -> Result<Option<Row>> {
        let values = self.evaluate_all(expressions, &[])?;
        Ok((!values.iter().any(is_null)).then_some(values))
    }

    /// Evaluates a bound; `None` if it is NULL: no value is on either side of NULL.
    fn path_bound(&mut self, bound: &Bound<Expr>) -> Result<Option<Bound<Datum>>> {
        let (Bound::Included(expression) | Bound::Excluded(expression)) = bound else {
            return Ok(Some(Bound::Unbounded));
        };
        let value = self.evaluate(expression, &[])?;
        Ok((!is_null(&value)).then_some(match bound {
            Bound::Excluded(_) => Bound::Excluded(value),
            _ => Bound::Included(value),
        }))
    }
}

impl<'p> Search<'p> {
    fn new(scan: &'p Scan, index: usize) -> Result<Search<'p>> {
        let table = &*scan.table;
        let index = table.indexes.get(index).ok_or_else(out_of_step)?;
        let types = scan.rules.types(table, index).collect();
        let (storage, own) = match (index.is_row_key(), index.storage) {
            (true, _) => (table.storage, true),
            (false, Some(storage)) => (storage, false),
            (false, None) => return Err(out_of_step()),
        };
        Ok(Search { index, types, form: storage.key, storage: storage.id(), own })
    }

    fn column_type(&self, at: usize) -> Result<Type> {
        self.types.get(at).copied().ok_or_else(out_of_step)
    }

    /// Key of leading values; `None` if no value of the columns' types equals one of them.
    fn prefix(&self, values: &[Datum]) -> Result<Option<Key>> {
        let mut key = Key::new();
        if let (KeyForm::Eight, Some(value)) = (self.form, values.first()) {
            return Ok(eight_byte_key(value).map(|key| Key::from_bytes(&key)));
        }
        for (at, value) in values.iter().enumerate() {
            let data_type = self.column_type(at)?;
            match narrowed(value, data_type) {
                Narrowed::Fits(value) => push_key(&mut key, &value, data_type)?,
                Narrowed::Below | Narrowed::Above => return Ok(None),
            }
        }
        Ok(Some(key))
    }

    /// Ranges of the distinct alternatives, in index order.
    fn alternatives(&self, alternatives: impl Iterator<Item = Row>) -> Result<VecDeque<Range>> {
        let mut keyed = Vec::new();
        for values in alternatives {
            if let Some(key) = self.prefix(&values)? {
                keyed.push((key, values));
            }
        }
        keyed.sort_unstable_by(|left, right| left.0.cmp(&right.0));
        keyed.dedup_by(|left, right| left.0 == right.0);
        let mut ranges = VecDeque::with_capacity(keyed.len());
        for (_, values) in keyed {
            ranges.extend(self.one(&values)?);
        }
        Ok(ranges)
    }

    /// Range of the rows whose leading columns equal these values.
    fn one(&self, values: &[Datum]) -> Result<Option<Range>> {
        let Some(key) = self.prefix(values)? else { return Ok(None) };
        let whole = values.len() == self.index.columns.len();
        Ok(Some(match (whole && self.index.is_exclusive(), self.own) {
            (true, true) => Range::Key(key),
            (true, false) => Range::Entry(self.storage, key),
            (false, _) => self.range_of(Bound::Included(key.clone()), successor(&key), false),
        }))
    }

    /// Range of the rows whose leading columns equal `equal`, and whose next column is within the bounds.
    fn between(
        &self,
        equal: &[Datum],
        lower: Bound<Datum>,
        upper: Bound<Datum>,
        backward: bool,
    ) -> Result<Option<Range>> {
        let Some(prefix) = self.prefix(equal)? else { return Ok(None) };
        let next = self.column_type(equal.len())?;
        let bounded = !matches!((&lower, &upper), (Bound::Unbounded, Bound::Unbounded));
        let lower = match lower {
            Bound::Unbounded => from(&prefix),
            Bound::Included(value) | Bound::Excluded(value) if narrowed(&value, next).is_above() => return Ok(None),
            Bound::Included(value) | Bound::Excluded(value) if narrowed(&value, next).is_below() => from(&prefix),
            Bound::Included(value) => Bound::Included(self.extended(&prefix, &value, next)?),
            Bound::Excluded(value) => match self.extended(&prefix, &value, next)?.successor_of_prefix() {
                Some(key) => Bound::Included(key),
                None => return Ok(None),
            },
        };
        let upper = match upper {
            Bound::Included(value) | Bound::Excluded(value) if narrowed(&value, next).is_below() => return Ok(None),
            Bound::Included(value) if !narrowed(&value, next).is_above() => {
                successor(&self.extended(&prefix, &value, next)?)
            }
            Bound::Excluded(value) if !narrowed(&value, next).is_above() => {
                Bound::Excluded(self.extended(&prefix, &value, next)?)
            }
            // NULLs sort after all values and are outside of any bounds.
            _ if bounded && self.form == KeyForm::Columns => {
                Bound::Excluded(self.extended(&prefix, &Datum::Null, next)?)
            }
            _ => successor(&prefix),
        };
        Ok(Some(self.range_of(lower, upper, backward)))
    }

    /// Extends the prefix by one column.
    fn extended(&self, prefix: &Key, value: &Datum, data_type: Type) -> Result<Key> {
        if self.form == KeyForm::Eight {
            return Ok(Key::from_bytes(&eight_byte_key(value).ok_or_else(out_of_step)?));
        }
        let mut key = prefix.clone();
        match narrowed(value, data_type) {
            Narrowed::Fits(value) => push_key(&mut key, &value, data_type)?,
            Narrowed::Below | Narrowed::Above => return Err(out_of_step()),
        }
        Ok(key)
    }

    fn range_of(&self, lower: Bound<Key>, upper: Bound<Key>, backward: bool) -> Range {
        Range::Between(Entries { table: self.storage, index: !self.own, lower, upper, backward })
    }
}

/// Start of all keys with this prefix.
fn from(key: &Key) -> Bound<Key> {
    if key.is_empty() { Bound::Unbounded } else { Bound::Included(key.clone()) }
}

/// End of all keys with this prefix.
fn successor(key: &Key) -> Bound<Key> {
    key.successor_of_prefix().map_or(Bound::Unbounded, Bound::Excluded)
}

/// An integer converted to a column's type, which may be narrower: `smallint_column = 100000` can use an index.
enum Narrowed {
    Fits(Datum),
    /// Less than every value of the column's type.
    Below,
    /// Greater than every value of the column's type.
    Above,
}

impl Narrowed {
    fn is_below(&self) -> bool {
        matches!(self, Narrowed::Below)
    }

    fn is_above(&self) -> bool {
        matches!(self, Narrowed::Above)
    }
}

fn narrowed(value: &Datum, data_type: Type) -> Narrowed {
    let wide = match value {
        Datum::Int2(value) => i64::from(*value),
        Datum::Int4(value) => i64::from(*value),
        Datum::Int8(value) => *value,
        other => return Narrowed::Fits(other.clone()),
    };
    let narrow = match data_type {
        Type::INT2 => i16::try_from(wide).map(Datum::Int2),
        Type::INT4 => i32::try_from(wide).map(Datum::Int4),
        _ => Ok(Datum::Int8(wide)),
    };
    match narrow {
        Ok(value) => Narrowed::Fits(value),
        Err(_) if wide < 0 => Narrowed::Below,
        Err(_) => Narrowed::Above,
    }
}
