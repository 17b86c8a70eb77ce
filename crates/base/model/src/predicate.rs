//! Predicates as data: they are evaluated, kept, shipped and printed.

use crate::decimal::Decimal;
use crate::{ColumnType, RawValue, RowRef, Value, ValueRef};
use std::cmp::Ordering;
use std::fmt;

/// A condition on a typed row, three-valued as in SQL: a comparison with NULL is unknown, and only true rows pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Predicate {
    /// Every row.
    #[default]
    True,
    /// A column against a constant.
    Compare(u16, Comparison, Value),
    /// A column of byte strings that hold numbers ([`crate::decimal`]) against one, by value. Unknown of a byte string that holds none.
    CompareDecimal(u16, Comparison, Decimal),
    /// The column equals one of these, which are sorted and of one type, NULL last: made by [`Predicate::any_of`].
    In(u16, Vec<Value>),
    /// The column is NULL.
    IsNull(u16),
    /// The column, a text, starts with this.
    StartsWith(u16, String),
    /// All of these.
    And(Vec<Predicate>),
    /// Any of these.
    Or(Vec<Predicate>),
    /// Not this.
    Not(Box<Predicate>),
}

/// Comparison of a column with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// The comparison that holds with its operands exchanged.
    pub fn mirrored(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            Comparison::Equal | Comparison::NotEqual => self,
        }
    }

    /// Its operator in SQL.
    pub fn symbol(self) -> &'static str {
        match self {
            Comparison::Equal => "=",
            Comparison::NotEqual => "<>",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }

    /// Returns whether values in this order satisfy it.
    pub fn accepts(self, ordering: Ordering) -> bool {
        match self {
            Comparison::Equal => ordering.is_eq(),
            Comparison::NotEqual => ordering.is_ne(),
            Comparison::Less => ordering.is_lt(),
            Comparison::LessOrEqual => ordering.is_le(),
            Comparison::Greater => ordering.is_gt(),
            Comparison::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

impl Predicate {
    /// `column IN (values)`: unknown instead of false if one of them is NULL. All that are not NULL must be of one type.
    pub fn any_of(column: u16, mut values: Vec<Value>) -> Predicate {
        // NULLs compare with nothing: they go last.
        let is_null = |value: &Value| *value == Value::Null;
        values.sort_by(|a, b| a.as_ref().compare(b.as_ref()).unwrap_or_else(|| is_null(a).cmp(&is_null(b))));
        values.dedup();
        Predicate::In(column, values)
    }

    /// Returns whether the row satisfies the predicate.
    pub fn matches(&self, row: RowRef<'_>) -> bool {
        self.evaluate(row) == Some(true)
    }

    /// True, false, or unknown (`None`).
    pub fn evaluate(&self, row: RowRef<'_>) -> Option<bool> {
        self.evaluate_with(&|column| row.get(usize::from(column)))
    }

    /// Same as [`Predicate::evaluate`], of a row whose values `value` knows.
    pub fn evaluate_with<'v>(&self, value: &impl Fn(u16) -> ValueRef<'v>) -> Option<bool> {
        self.combine(&|test, column| test.holds_of(value(column)))
    }

    /// Same as [`Predicate::evaluate`], of a row whose values `value` knows without their types.
    ///
    /// # Panics
    /// Same as [`RawValue::with_type`].
    pub fn evaluate_raw<'v>(&self, value: &impl Fn(u16) -> (ColumnType, RawValue<'v>)) -> Option<bool> {
        self.combine(&|test, column| {
            let (kind, value) = value(column);
            value.with_type(kind, |value| test.holds_of(value))
        })
    }

    /// Combines what `holds` says of tests of one column each.
    fn combine(&self, holds: &impl Fn(&Predicate, u16) -> Option<bool>) -> Option<bool> {
        match self {
            Predicate::True => Some(true),
            Predicate::Compare(column, ..)
            | Predicate::CompareDecimal(column, ..)
            | Predicate::In(column, _)
            | Predicate::IsNull(column)
            | Predicate::StartsWith(column, _) => holds(self, *column),
            Predicate::And(all) => decide(all, holds, false),
            Predicate::Or(any) => decide(any, holds, true),
            Predicate::Not(inner) => inner.combine(holds).map(|truth| !truth),
        }
    }

    /// What a test of one column says of its value; unknown of what is no test of one column.
    fn holds_of(&self, value: ValueRef<'_>) -> Option<bool> {
        match self {
            Predicate::Compare(_, comparison, constant) => Some(comparison.accepts(value.compare(constant.as_ref())?)),
            Predicate::CompareDecimal(_, comparison, constant) => {
                Some(comparison.accepts(constant.compare_stored(value.as_bytes()?)?))
            }
            Predicate::In(_, values) => is_one_of(value, values),
            Predicate::IsNull(_) => Some(value.column_type().is_none()),
            Predicate::StartsWith(_, prefix) => Some(value.as_text()?.starts_with(prefix.as_str())),
            Predicate::True | Predicate::And(_) | Predicate::Or(_) | Predicate::Not(_) => None,
        }
    }

    /// The only column that it looks at; `None` if it looks at none, or at several.
    pub fn only_column(&self) -> Option<u16> {
        match self {
            Predicate::True => None,
            Predicate::Compare(column, ..)
            | Predicate::CompareDecimal(column, ..)
            | Predicate::In(column, _)
            | Predicate::IsNull(column)
            | Predicate::StartsWith(column, _) => Some(*column),
            Predicate::And(operands) | Predicate::Or(operands) => {
                let (first, rest) = operands.split_first()?;
                let only = first.only_column()?;
                rest.iter().all(|operand| operand.only_column() == Some(only)).then_some(only)
            }
            Predicate::Not(inner) => inner.only_column(),
        }
    }
}

fn is_one_of(value: ValueRef<'_>, values: &[Value]) -> Option<bool> {
    value.column_type()?;
    let known = match values {
        [known @ .., Value::Null] => known,
        known => known,
    };
    // Values of another type than the column's are never found.
    let order = |listed: &Value| listed.as_ref().compare(value).unwrap_or(Ordering::Less);
    let found = known.binary_search_by(order).is_ok();
    if !found && known.len() < values.len() { None } else { Some(found) }
}

/// One operand equal to `decisive` decides; else an unknown one makes it unknown; else it is the opposite.
fn decide(operands: &[Predicate], holds: &impl Fn(&Predicate, u16) -> Option<bool>, decisive: bool) -> Option<bool> {
    let mut known = true;
    for operand in operands {
        match operand.combine(holds) {
            Some(truth) if truth == decisive => return Some(decisive),
            Some(_) => {}
            None => known = false,
        }
    }
    known.then_some(!decisive)
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.symbol())
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = |f: &mut fmt::Formatter<'_>, operands: &[Predicate], word: &str| {
            f.write_str("(")?;
            for (at, operand) in operands.iter().enumerate() {
                if at > 0 {
                    write!(f, " {word} ")?;
                }
                operand.fmt(f)?;
            }
            f.write_str(")")
        };
        match self {
            Predicate::True => f.write_str("true"),
            Predicate::Compare(column, comparison, value) => write!(f, "#{column} {comparison} {value}"),
            Predicate::CompareDecimal(column, comparison, decimal) => write!(f, "#{column} {comparison} {decimal}"),
            Predicate::In(column, values) => {
                write!(f, "#{column} IN (")?;
                for (at, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if at > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
            Predicate::IsNull(column) => write!(f, "#{column} IS NULL"),
            Predicate::StartsWith(column, prefix) => write!(f, "#{column} LIKE '{prefix}%'"),
            Predicate::And(all) => join(f, all, "AND"),
            Predicate::Or(any) => join(f, any, "OR"),
            Predicate::Not(inner) => write!(f, "NOT {inner}"),
        }
    }
}
