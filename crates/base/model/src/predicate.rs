//! Predicates as data: they are evaluated, kept, shipped and printed.

use crate::{RowRef, Value};
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

/// How a column stands to a constant.
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

    /// Whether values that stand in this order satisfy it.
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
    /// Whether the row passes.
    pub fn matches(&self, row: RowRef<'_>) -> bool {
        self.evaluate(row) == Some(true)
    }

    /// True, false, or unknown (`None`).
    pub fn evaluate(&self, row: RowRef<'_>) -> Option<bool> {
        match self {
            Predicate::True => Some(true),
            Predicate::Compare(column, comparison, constant) => {
                Some(comparison.accepts(row.get(usize::from(*column)).compare(constant.as_ref())?))
            }
            Predicate::IsNull(column) => Some(row.get(usize::from(*column)).column_type().is_none()),
            Predicate::StartsWith(column, prefix) => {
                Some(row.get(usize::from(*column)).as_text()?.starts_with(prefix.as_str()))
            }
            Predicate::And(all) => decide(all, row, false),
            Predicate::Or(any) => decide(any, row, true),
            Predicate::Not(inner) => inner.evaluate(row).map(|truth| !truth),
        }
    }
}

/// One operand equal to `decisive` decides; else an unknown one makes it unknown; else it is the opposite.
fn decide(operands: &[Predicate], row: RowRef<'_>, decisive: bool) -> Option<bool> {
    let mut known = true;
    for operand in operands {
        match operand.evaluate(row) {
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
            Predicate::IsNull(column) => write!(f, "#{column} IS NULL"),
            Predicate::StartsWith(column, prefix) => write!(f, "#{column} LIKE '{prefix}%'"),
            Predicate::And(all) => join(f, all, "AND"),
            Predicate::Or(any) => join(f, any, "OR"),
            Predicate::Not(inner) => write!(f, "NOT {inner}"),
        }
    }
}
