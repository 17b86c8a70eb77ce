//! Distinct arguments of an aggregate. Arguments of one integral type take eight bytes each; others are rows of a key table.

use super::key_table::KeyTable;
use super::order::sort;
use crate::context::row_bytes;
use crate::error::Result;
use crate::types::{Datum, Row, Type};
use pgtypes::memory::{reserve_entry, with_room};
use std::cmp::Ordering;
use std::collections::HashMap;

/// Approximate bytes of an integer in a hash set, averaged between two doublings.
const INTEGER_BYTES: usize = 24;
/// Approximate bytes of a key in a key table, besides its row.
const ENTRY_BYTES: usize = 48;

/// Distinct arguments of an aggregate.
pub(super) enum DistinctSet {
    /// Arguments of one integral type.
    Integers { seen: HashMap<i64, (), foldhash::fast::FixedState>, has_null: bool, datum: fn(i64) -> Datum },
    /// Arguments of any types.
    Rows(KeyTable),
}

impl DistinctSet {
    /// An empty set for arguments of these types.
    pub fn new(types: Vec<Type>) -> DistinctSet {
        match integral(&types) {
            Some(datum) => DistinctSet::Integers { seen: HashMap::default(), has_null: false, datum },
            None => DistinctSet::Rows(KeyTable::new(types)),
        }
    }

    /// Adds arguments. Returns the number of bytes by which the set grew.
    pub fn insert(&mut self, arguments: Row) -> Result<usize> {
        match self {
            DistinctSet::Integers { seen, has_null, .. } => match arguments.first().and_then(integer) {
                Some(value) => {
                    reserve_entry(seen)?;
                    Ok(usize::from(seen.insert(value, ()).is_none()) * INTEGER_BYTES)
                }
                None => {
                    *has_null = true;
                    Ok(0)
                }
            },
            DistinctSet::Rows(keys) => {
                let bytes = row_bytes(&arguments) + ENTRY_BYTES;
                let (_, is_new) = keys.insert(arguments)?;
                Ok(usize::from(is_new) * bytes)
            }
        }
    }

    /// Visits the arguments in order, NULL last.
    pub fn each_sorted(
        self,
        compare: impl Fn(&[Datum], &[Datum]) -> Ordering,
        mut visit: impl FnMut(&[Datum]) -> Result<()>,
    ) -> Result<()> {
        match self {
            DistinctSet::Integers { seen, has_null, datum } => {
                let mut values: Vec<i64> = with_room(seen.len())?;
                values.extend(seen.into_keys());
                sort(&mut values, i64::cmp)?;
                values.into_iter().try_for_each(|value| visit(&[datum(value)]))?;
                if has_null { visit(&[Datum::Null]) } else { Ok(()) }
            }
            DistinctSet::Rows(keys) => {
                let mut rows: Vec<Row> = with_room(keys.len())?;
                rows.extend(keys.into_keys());
                sort(&mut rows, |left, right| compare(left, right))?;
                rows.iter().try_for_each(|row| visit(row))
            }
        }
    }
}

/// Returns the constructor of the type's values from integers, if an integer represents each value in the type's order.
fn integral(types: &[Type]) -> Option<fn(i64) -> Datum> {
    let [only] = types else { return None };
    Some(match *only {
        Type::INT2 => |value| Datum::Int2(value as i16),
        Type::INT4 => |value| Datum::Int4(value as i32),
        Type::INT8 => Datum::Int8,
        Type::OID => |value| Datum::Oid(value as u32),
        Type::DATE => |value| Datum::Date(value as i32),
        Type::TIME => Datum::Time,
        Type::TIMESTAMP => Datum::Timestamp,
        Type::TIMESTAMPTZ => Datum::Timestamptz,
        _ => return None,
    })
}

/// Returns the integer of a value of such a type.
fn integer(value: &Datum) -> Option<i64> {
    match *value {
        Datum::Int2(value) => Some(value.into()),
        Datum::Int4(value) | Datum::Date(value) => Some(value.into()),
        Datum::Oid(value) => Some(value.into()),
        Datum::Int8(value) | Datum::Time(value) | Datum::Timestamp(value) | Datum::Timestamptz(value) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::order::compare_plainly;
    use super::*;

    fn distinct(data_type: Type, values: &[Datum]) -> (Vec<Datum>, usize) {
        let mut set = DistinctSet::new(vec![data_type]);
        let bytes = values.iter().map(|value| set.insert(vec![value.clone()]).expect("room")).sum();
        let mut shown = Vec::new();
        let compare = |left: &[Datum], right: &[Datum]| compare_plainly(data_type, &left[0], &right[0]);
        set.each_sorted(compare, |row| {
            shown.push(row[0].clone());
            Ok(())
        })
        .expect("nobody stops it");
        (shown, bytes)
    }

    /// Both forms keep each value once, in the type's order, NULL last.
    #[test]
    fn integers_and_rows_come_sorted() {
        let numbers = [3, -1, 3, 7, -1].map(Datum::Int4);
        let values: Vec<Datum> = numbers.into_iter().chain([Datum::Null, Datum::Null]).collect();
        let (shown, bytes) = distinct(Type::INT4, &values);
        assert_eq!(format!("{shown:?}"), "[Int4(-1), Int4(3), Int4(7), Null]");
        assert_eq!(bytes, 3 * INTEGER_BYTES);
        let texts: Vec<Datum> = ["b", "a", "b"].map(Datum::from).into_iter().chain([Datum::Null]).collect();
        let (shown, bytes) = distinct(Type::TEXT, &texts);
        assert_eq!(shown.iter().map(|value| value.as_text().unwrap_or("-")).collect::<Vec<_>>(), ["a", "b", "-"]);
        assert!(bytes >= 3 * ENTRY_BYTES);
    }

    /// Every integral type returns the values that were inserted.
    #[test]
    fn integral_types_keep_their_values() {
        let cases = [
            (Type::INT2, Datum::Int2(-5)),
            (Type::INT8, Datum::Int8(i64::MIN)),
            (Type::OID, Datum::Oid(u32::MAX)),
            (Type::DATE, Datum::Date(i32::MAX)),
            (Type::TIME, Datum::Time(1)),
            (Type::TIMESTAMP, Datum::Timestamp(i64::MAX)),
            (Type::TIMESTAMPTZ, Datum::Timestamptz(-1)),
        ];
        for (data_type, value) in cases {
            assert_eq!(format!("{:?}", distinct(data_type, std::slice::from_ref(&value)).0), format!("[{value:?}]"));
        }
    }
}
