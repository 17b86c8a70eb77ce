//! Both sides of a conflict between what one transaction has asked for and what another one has written.

use crate::{Comparison, Predicate, RawValue, RowKind, Schema, Target, Value};
use std::fmt;

/// A write of another transaction, and the read of this one that it changes, both of one table.
#[derive(Clone, Debug, PartialEq)]
pub struct Met {
    /// The keys that this transaction has asked for.
    pub keys: Target,
    /// Which of their rows. It may say less than was asked for, never more.
    pub restriction: Predicate,
    /// What the other transaction has done to a row.
    pub change: RowChange,
    /// Columns of that row: those of the restriction, and those that were changed, up to [`Met::COLUMNS`].
    pub columns: Vec<ColumnChange>,
}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowChange {
    /// It came.
    Inserted,
    /// It went.
    Deleted,
    /// It was changed.
    Updated,
}

/// A column of a row before and after a write; `None` where there was no row.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnChange {
    /// The column.
    pub column: u16,
    /// Its value before.
    pub before: Option<Value>,
    /// Its value after.
    pub after: Option<Value>,
}

/// Names of columns, and values as their users know them.
pub trait Words {
    /// Writes the name of a column.
    ///
    /// # Errors
    /// The formatter's.
    fn column(&self, f: &mut fmt::Formatter<'_>, column: u16) -> fmt::Result;

    /// Writes a value of a column.
    ///
    /// # Errors
    /// The formatter's.
    fn value(&self, f: &mut fmt::Formatter<'_>, column: u16, value: &Value) -> fmt::Result;
}

impl Met {
    /// Columns that are shown at most.
    pub const COLUMNS: usize = 8;
    /// Bytes of a text that are shown at most.
    pub const BYTES: usize = 64;

    /// A value as it is shown: the beginning of a long one.
    pub fn shown(value: RawValue<'_>, schema: &Schema, column: u16) -> Option<Value> {
        let kind = schema.columns().get(usize::from(column))?.kind;
        Some(match value.with_type(kind, |value| value.to_owned()) {
            Value::Text(text) if text.len() > Met::BYTES => {
                let end = (0..=Met::BYTES).rev().find(|&at| text.is_char_boundary(at)).unwrap_or_default();
                Value::Text(format!("{}...", &text[..end]))
            }
            Value::Bytes(bytes) if bytes.len() > Met::BYTES => Value::Bytes(bytes[..Met::BYTES].into()),
            value => value,
        })
    }

    /// The restriction, in somebody's words: empty if there is none.
    pub fn restriction<'m>(&'m self, words: &'m dyn Words) -> impl fmt::Display + 'm {
        Restriction { predicate: &self.restriction, words }
    }

    /// The change, in somebody's words: `updated, x from 1 to 4`.
    pub fn change<'m>(&'m self, words: &'m dyn Words) -> impl fmt::Display + 'm {
        Changes { met: self, words }
    }
}

/// A schema's own names.
impl Words for Schema {
    fn column(&self, f: &mut fmt::Formatter<'_>, column: u16) -> fmt::Result {
        match self.columns().get(usize::from(column)) {
            Some(found) if self.rows() == RowKind::Typed && found.name.parse::<u16>().is_err() => {
                f.write_str(&found.name)
            }
            _ => write!(f, "column {column}"),
        }
    }

    fn value(&self, f: &mut fmt::Formatter<'_>, _: u16, value: &Value) -> fmt::Result {
        fmt::Display::fmt(value, f)
    }
}

struct Restriction<'m> {
    predicate: &'m Predicate,
    words: &'m dyn Words,
}

impl fmt::Display for Restriction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Restriction { predicate, words } = self;
        let of = |predicate| Restriction { predicate, words: *words };
        match predicate {
            Predicate::True => Ok(()),
            Predicate::Compare(column, comparison, value) => {
                words.column(f, *column)?;
                write!(f, " {comparison} ")?;
                words.value(f, *column, value)
            }
            Predicate::CompareDecimal(column, comparison, decimal) => {
                words.column(f, *column)?;
                write!(f, " {comparison} ")?;
                words.value(f, *column, &Value::Bytes(decimal.stored().to_vec()))
            }
            Predicate::In(column, values) => {
                words.column(f, *column)?;
                for (at, value) in values.iter().enumerate() {
                    f.write_str(if at == 0 { " IN (" } else { ", " })?;
                    words.value(f, *column, value)?;
                }
                f.write_str(")")
            }
            Predicate::IsNull(column) => {
                words.column(f, *column)?;
                f.write_str(" IS NULL")
            }
            Predicate::StartsWith(column, prefix) => {
                words.column(f, *column)?;
                write!(f, " LIKE '{prefix}%'")
            }
            Predicate::And(all) => joined(f, all.iter().map(of), " AND "),
            Predicate::Or(any) => {
                f.write_str("(")?;
                joined(f, any.iter().map(of), " OR ")?;
                f.write_str(")")
            }
            Predicate::Not(inner) => match &**inner {
                Predicate::IsNull(column) => {
                    words.column(f, *column)?;
                    f.write_str(" IS NOT NULL")
                }
                inner => write!(f, "NOT ({})", of(inner)),
            },
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, parts: impl Iterator<Item = impl fmt::Display>, by: &str) -> fmt::Result {
    for (at, part) in parts.enumerate() {
        f.write_str(if at == 0 { "" } else { by })?;
        part.fmt(f)?;
    }
    Ok(())
}

struct Changes<'m> {
    met: &'m Met,
    words: &'m dyn Words,
}

impl fmt::Display for Changes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Changes { met, words } = self;
        f.write_str(match met.change {
            RowChange::Inserted => "inserted",
            RowChange::Deleted => "deleted",
            RowChange::Updated => "updated",
        })?;
        for ColumnChange { column, before, after } in &met.columns {
            f.write_str(", ")?;
            words.column(f, *column)?;
            match (before, after) {
                (Some(before), Some(after)) if before != after => {
                    f.write_str(" from ")?;
                    words.value(f, *column, before)?;
                    f.write_str(" to ")?;
                    words.value(f, *column, after)?;
                }
                (_, Some(value)) | (Some(value), None) => {
                    write!(f, " {} ", Comparison::Equal)?;
                    words.value(f, *column, value)?;
                }
                (None, None) => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColumnType, Key};
    use std::ops::Bound;

    #[test]
    fn both_sides_are_printed() {
        let schema = Schema::table("t").column("id", ColumnType::Int).nullable("name", ColumnType::Text);
        let schema = schema.key(["id"]).build().expect("a good schema");
        let text = |text: &str| Value::Text(text.into());
        let restriction = Predicate::And(vec![
            Predicate::Compare(1, Comparison::GreaterOrEqual, text("m")),
            Predicate::Or(vec![Predicate::IsNull(1), Predicate::any_of(0, vec![Value::Int(2), Value::Int(1)])]),
            Predicate::Not(Box::new(Predicate::IsNull(1))),
        ]);
        let columns = vec![
            ColumnChange { column: 0, before: Some(Value::Int(7)), after: Some(Value::Int(7)) },
            ColumnChange { column: 1, before: Some(text("a")), after: Some(text("n")) },
        ];
        let keys = Target::Range(Bound::Included(Key::from_u64(1)), Bound::Unbounded);
        let met = Met { keys, restriction, change: RowChange::Updated, columns };
        assert_eq!(
            met.restriction(&schema).to_string(),
            "name >= 'm' AND (name IS NULL OR id IN (1, 2)) AND name IS NOT NULL"
        );
        assert_eq!(met.change(&schema).to_string(), "updated, id = 7, name from 'a' to 'n'");
    }

    #[test]
    fn long_values_are_shown_by_their_beginning() {
        let schema = Schema::table("t").column("name", ColumnType::Text).key(["name"]).build().expect("a good schema");
        let long = "ä".repeat(100);
        let shown = Met::shown(RawValue::Bytes(long.as_bytes()), &schema, 0);
        assert_eq!(shown, Some(Value::Text(format!("{}...", "ä".repeat(Met::BYTES / 2)))));
    }
}
