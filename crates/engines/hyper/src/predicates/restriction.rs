//! Restrictions of the values of rows, as comparisons of 64-bit summaries: section 2.3.2.

use crate::undo::ColumnSet;
use model::decimal::Decimal;
use model::{ColumnType, Columns, Comparison, Met, Predicate, RawValue, Schema, Value};

/// A condition on one row, which holds of every row of which the predicate is true that it stands for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    /// A summary of a column against one of a constant.
    Compare(u16, Comparison, Summary),
    /// A column of numbers in byte strings against one.
    CompareDecimal(u16, Comparison, Decimal),
    /// A column is one of these.
    In(u16, Box<[Summary]>),
    /// A column is NULL, or is not.
    IsNull(u16, bool),
    /// A text begins with this.
    StartsWith(u16, Box<[u8]>),
    /// One of these conjunctions holds.
    Any(Box<[Vec<Condition>]>),
}

/// 64 bits that stand for a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Summary {
    /// An integer, date, timestamp or boolean, as it is.
    Integer(i64),
    /// A float, as it is.
    Float(f64),
    /// A text or byte string whose equality matters: its hash.
    Hash(u64),
    /// A text or byte string whose order matters: its first eight bytes.
    Prefix(u64),
}

impl Condition {
    /// Conditions all of which hold of every row of which `predicate` is true. None: it says nothing that summaries can express.
    pub fn of_all(predicate: &Predicate) -> Vec<Condition> {
        match predicate {
            Predicate::And(operands) => operands.iter().flat_map(Condition::of_all).collect(),
            Predicate::Or(operands) => {
                let any: Box<[Vec<Condition>]> = operands.iter().map(Condition::of_all).collect();
                if any.iter().any(Vec::is_empty) { Vec::new() } else { vec![Condition::Any(any)] }
            }
            predicate => Condition::of_one(predicate).into_iter().collect(),
        }
    }

    fn of_one(predicate: &Predicate) -> Option<Condition> {
        Some(match predicate {
            Predicate::Compare(column, comparison, constant) => {
                Condition::Compare(*column, *comparison, Summary::of_constant(constant, *comparison)?)
            }
            Predicate::CompareDecimal(column, comparison, decimal) => {
                Condition::CompareDecimal(*column, *comparison, *decimal)
            }
            Predicate::In(column, values) => {
                let known = values.iter().filter(|value| **value != Value::Null);
                Condition::In(
                    *column,
                    known.map(|it| Summary::of_constant(it, Comparison::Equal)).collect::<Option<_>>()?,
                )
            }
            Predicate::IsNull(column) => Condition::IsNull(*column, true),
            Predicate::StartsWith(column, prefix) => Condition::StartsWith(*column, prefix.as_bytes().into()),
            Predicate::Not(inner) => match &**inner {
                Predicate::IsNull(column) => Condition::IsNull(*column, false),
                _ => return None,
            },
            Predicate::True | Predicate::And(_) | Predicate::Or(_) => return None,
        })
    }

    /// Returns whether it may hold of a row of these values; true if it does.
    pub fn may_hold<'v>(&self, value: &impl Fn(u16) -> RawValue<'v>) -> bool {
        match self {
            Condition::Compare(column, comparison, constant) => constant.may_compare(value(*column), *comparison),
            Condition::CompareDecimal(column, comparison, decimal) => {
                let order = value(*column).with_bytes(|bytes| decimal.compare_stored(bytes)).flatten();
                order.is_some_and(|order| comparison.accepts(order))
            }
            Condition::In(column, constants) => {
                let value = value(*column);
                constants.iter().any(|constant| constant.may_compare(value, Comparison::Equal))
            }
            Condition::IsNull(column, is_null) => (value(*column) == RawValue::Null) == *is_null,
            Condition::StartsWith(column, prefix) => {
                value(*column).with_bytes(|bytes| bytes.starts_with(prefix)) == Some(true)
            }
            Condition::Any(any) => any.iter().any(|all| all.iter().all(|condition| condition.may_hold(value))),
        }
    }

    /// The condition as others are shown it, of a row that satisfies it: whose values stand for constants of which only a hash was
    /// kept.
    pub fn as_predicate<'v>(&self, schema: &Schema, value: &dyn Fn(u16) -> RawValue<'v>) -> Predicate {
        let shown = |column: u16, constant: &Summary| constant.as_value(schema, column, value(column));
        match self {
            Condition::Compare(column, comparison, constant) => {
                shown(*column, constant).map_or(Predicate::True, |it| Predicate::Compare(*column, *comparison, it))
            }
            Condition::CompareDecimal(column, comparison, decimal) => {
                Predicate::CompareDecimal(*column, *comparison, *decimal)
            }
            Condition::In(column, constants) => {
                Predicate::any_of(*column, constants.iter().filter_map(|it| shown(*column, it)).collect())
            }
            Condition::IsNull(column, true) => Predicate::IsNull(*column),
            Condition::IsNull(column, false) => Predicate::Not(Box::new(Predicate::IsNull(*column))),
            Condition::StartsWith(column, prefix) => {
                Predicate::StartsWith(*column, String::from_utf8_lossy(prefix).into_owned())
            }
            Condition::Any(any) => {
                Predicate::Or(any.iter().map(|all| Condition::all_as_predicate(all, schema, value)).collect())
            }
        }
    }

    /// Some conditions as others are shown them.
    pub fn all_as_predicate<'v>(all: &[Condition], schema: &Schema, value: &dyn Fn(u16) -> RawValue<'v>) -> Predicate {
        match all {
            [] => Predicate::True,
            [one] => one.as_predicate(schema, value),
            all => Predicate::And(all.iter().map(|it| it.as_predicate(schema, value)).collect()),
        }
    }

    /// The columns that it looks at.
    pub fn columns(&self) -> ColumnSet {
        match self {
            Condition::Compare(column, ..)
            | Condition::CompareDecimal(column, ..)
            | Condition::In(column, _)
            | Condition::IsNull(column, _)
            | Condition::StartsWith(column, _) => ColumnSet::of(*column),
            Condition::Any(any) => {
                any.iter().flatten().fold(ColumnSet::NONE, |set, condition| set.with(condition.columns()))
            }
        }
    }

    /// Returns the bytes that it stands for: a column, an operator and a summary.
    pub fn bytes(&self) -> usize {
        const COLUMN_AND_OPERATOR: usize = 3;
        match self {
            Condition::Compare(..) => COLUMN_AND_OPERATOR + 8,
            Condition::CompareDecimal(..) => COLUMN_AND_OPERATOR + 10,
            Condition::In(_, constants) => COLUMN_AND_OPERATOR + 8 * constants.len(),
            Condition::IsNull(..) => COLUMN_AND_OPERATOR,
            Condition::StartsWith(_, prefix) => COLUMN_AND_OPERATOR + prefix.len(),
            Condition::Any(any) => any.iter().flatten().map(Condition::bytes).sum(),
        }
    }
}

impl Summary {
    /// The summary of a constant for a comparison; `None` if there is none that never misses.
    fn of_constant(constant: &Value, comparison: Comparison) -> Option<Summary> {
        let of_bytes = |bytes: &[u8]| match comparison {
            Comparison::Equal => Some(Summary::Hash(hash(bytes))),
            // Two texts of one hash need not be one text.
            Comparison::NotEqual => None,
            _ => Some(Summary::Prefix(prefix(bytes))),
        };
        match constant {
            Value::Null => None,
            Value::Bool(value) => Some(Summary::Integer((*value).into())),
            Value::Int(value) | Value::Timestamp(value) => Some(Summary::Integer(*value)),
            Value::Date(value) => Some(Summary::Integer((*value).into())),
            Value::Float(value) => (!value.is_nan()).then_some(Summary::Float(*value)),
            Value::Text(value) => of_bytes(value.as_bytes()),
            Value::Bytes(value) => of_bytes(value),
        }
    }

    /// The constant of a column, as far as it is known, given a value that may be it.
    fn as_value(self, schema: &Schema, column: u16, value: RawValue<'_>) -> Option<Value> {
        let kind = schema.columns().get(usize::from(column))?.kind;
        match self {
            // A constant of another type than the column's is not shown: such a comparison is never true, and kept all the same.
            Summary::Integer(_) if matches!(kind, ColumnType::Text | ColumnType::Bytes | ColumnType::Float) => None,
            Summary::Integer(integer) => Some(RawValue::Word(integer as u64).with_type(kind, |value| value.to_owned())),
            Summary::Float(float) => Some(Value::Float(float)),
            Summary::Hash(constant) => {
                let is_it = value.with_bytes(|bytes| hash(bytes) == constant) == Some(true);
                if is_it { Met::shown(value, schema, column) } else { None }
            }
            Summary::Prefix(first) => {
                let bytes = first.to_be_bytes();
                let length = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                Some(match kind {
                    ColumnType::Text => Value::Text(String::from_utf8_lossy(&bytes[..length]).into_owned()),
                    _ => Value::Bytes(bytes[..length].to_vec()),
                })
            }
        }
    }

    /// Returns whether a value may stand so to the constant.
    fn may_compare(self, value: RawValue<'_>, comparison: Comparison) -> bool {
        match (self, value) {
            (_, RawValue::Null) => false,
            (Summary::Integer(constant), RawValue::Word(word)) => comparison.accepts((word as i64).cmp(&constant)),
            (Summary::Float(constant), RawValue::Word(word)) => {
                f64::from_bits(word).partial_cmp(&constant).is_none_or(|ordering| comparison.accepts(ordering))
            }
            (Summary::Hash(constant), value) => value.with_bytes(|bytes| hash(bytes) == constant).unwrap_or(true),
            (Summary::Prefix(constant), value) => {
                let may_compare = |bytes: &[u8]| match prefix(bytes).cmp(&constant) {
                    std::cmp::Ordering::Equal => true,
                    ordering => comparison.accepts(ordering),
                };
                value.with_bytes(may_compare).unwrap_or(true)
            }
            // A constant of another type than the column's: nothing is lost by a coarse answer.
            _ => true,
        }
    }
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The first eight bytes, as a number that orders as they do.
fn prefix(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = bytes.len().min(8);
    first[..length].copy_from_slice(&bytes[..length]);
    u64::from_be_bytes(first)
}

/// The columns that a read has looked at.
pub(crate) fn looked_at(columns: Columns<'_>, filter: Option<&Predicate>) -> ColumnSet {
    let wanted = match columns {
        Columns::All => ColumnSet::ALL,
        Columns::Some(columns) => columns.iter().fold(ColumnSet::NONE, |set, &column| set.with(ColumnSet::of(column))),
        Columns::None => ColumnSet::NONE,
    };
    filter.map_or(wanted, |filter| wanted.with(columns_of(filter)))
}

fn columns_of(predicate: &Predicate) -> ColumnSet {
    match predicate {
        Predicate::True => ColumnSet::NONE,
        Predicate::Compare(column, ..)
        | Predicate::CompareDecimal(column, ..)
        | Predicate::In(column, _)
        | Predicate::IsNull(column)
        | Predicate::StartsWith(column, _) => ColumnSet::of(*column),
        Predicate::And(operands) | Predicate::Or(operands) => {
            operands.iter().fold(ColumnSet::NONE, |set, operand| set.with(columns_of(operand)))
        }
        Predicate::Not(inner) => columns_of(inner),
    }
}
