//! Filters of scans as nodes send them to each other: predicates as data.

use crate::columns::ColumnSet;
use crate::values::{integer, put_integer, put_value, value};
use codec::{put_bytes, put_number};
use model::decimal::Decimal;
use model::{Comparison, Decoder, Malformed, Predicate, Value};

/// The filter of a scan, and the columns that it looks at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Filter {
    pub predicate: Predicate,
    pub columns: ColumnSet,
}

/// Bytes of constants and nodes of the longest filter that is kept. Of a scan with a longer one the range counts, and every column
/// that the filter looks at: coarser, never finer.
const LONGEST: usize = 4096;
/// How deep a predicate may nest: reading one takes so much of the stack.
const DEEPEST: usize = 32;
/// Bytes that a node or a constant takes beside its texts.
const NODE: usize = 8;

impl Filter {
    /// What a scan asked for: a filter, if it is short enough to be kept, and else the columns that it looks at.
    pub fn of(predicate: &Predicate) -> Result<Filter, ColumnSet> {
        let columns = ColumnSet::looked_at(predicate);
        let mut left = LONGEST;
        if *predicate != Predicate::True && takes(predicate, DEEPEST, &mut left) {
            Ok(Filter { predicate: predicate.clone(), columns })
        } else {
            Err(columns)
        }
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        put_predicate(out, &self.predicate);
    }

    pub fn decode(from: &mut Decoder<'_>) -> Result<Filter, Malformed> {
        let predicate = predicate(from, DEEPEST)?;
        Ok(Filter { columns: ColumnSet::looked_at(&predicate), predicate })
    }
}

/// Takes the bytes of a predicate from those that are left. Returns whether there are enough, and it is not too deep.
fn takes(predicate: &Predicate, depth: usize, left: &mut usize) -> bool {
    let text = |value: &Value| match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    let own = match predicate {
        Predicate::Compare(_, _, constant) => NODE + text(constant),
        Predicate::In(_, values) => values.iter().map(|value| NODE + text(value)).sum(),
        Predicate::StartsWith(_, prefix) => prefix.len(),
        _ => 0,
    };
    let Some(rest) = left.checked_sub(NODE + own).filter(|_| depth > 0) else { return false };
    *left = rest;
    match predicate {
        Predicate::And(operands) | Predicate::Or(operands) => {
            operands.iter().all(|operand| takes(operand, depth - 1, left))
        }
        Predicate::Not(inner) => takes(inner, depth - 1, left),
        _ => true,
    }
}

const TRUE: u8 = 0;
const COMPARE: u8 = 1;
const COMPARE_DECIMAL: u8 = 2;
const IN: u8 = 3;
const IS_NULL: u8 = 4;
const STARTS_WITH: u8 = 5;
const AND: u8 = 6;
const OR: u8 = 7;
const NOT: u8 = 8;

/// By their numbers.
const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

fn put_comparison(out: &mut Vec<u8>, comparison: Comparison) {
    let number = COMPARISONS.iter().position(|it| *it == comparison).expect("every comparison has a number");
    out.push(number as u8);
}

fn comparison(from: &mut Decoder<'_>) -> Result<Comparison, Malformed> {
    COMPARISONS.get(usize::from(from.u8()?)).copied().ok_or(Malformed)
}

fn put_predicate(out: &mut Vec<u8>, predicate: &Predicate) {
    let head = |out: &mut Vec<u8>, tag: u8, column: u16| {
        out.push(tag);
        put_number(out, column.into());
    };
    let all = |out: &mut Vec<u8>, tag: u8, operands: &[Predicate]| {
        out.push(tag);
        put_number(out, operands.len() as u64);
        operands.iter().for_each(|operand| put_predicate(out, operand));
    };
    match predicate {
        Predicate::True => out.push(TRUE),
        Predicate::Compare(column, comparison, constant) => {
            head(out, COMPARE, *column);
            put_comparison(out, *comparison);
            put_value(out, constant.as_ref());
        }
        Predicate::CompareDecimal(column, comparison, Decimal { digits, scale }) => {
            head(out, COMPARE_DECIMAL, *column);
            put_comparison(out, *comparison);
            put_integer(out, *digits);
            put_number(out, (*scale).into());
        }
        Predicate::In(column, values) => {
            head(out, IN, *column);
            put_number(out, values.len() as u64);
            values.iter().for_each(|value| put_value(out, value.as_ref()));
        }
        Predicate::IsNull(column) => head(out, IS_NULL, *column),
        Predicate::StartsWith(column, prefix) => {
            head(out, STARTS_WITH, *column);
            put_bytes(out, prefix.as_bytes());
        }
        Predicate::And(operands) => all(out, AND, operands),
        Predicate::Or(operands) => all(out, OR, operands),
        Predicate::Not(inner) => {
            out.push(NOT);
            put_predicate(out, inner);
        }
    }
}

fn small(from: &mut Decoder<'_>) -> Result<u16, Malformed> {
    u16::try_from(from.number()?).map_err(|_| Malformed)
}

fn predicate(from: &mut Decoder<'_>, depth: usize) -> Result<Predicate, Malformed> {
    let depth = depth.checked_sub(1).ok_or(Malformed)?;
    let all = |from: &mut Decoder<'_>| crate::codes::list(from, |from| predicate(from, depth));
    Ok(match from.u8()? {
        TRUE => Predicate::True,
        COMPARE => Predicate::Compare(small(from)?, comparison(from)?, value(from)?.to_owned()),
        COMPARE_DECIMAL => {
            let (column, comparison) = (small(from)?, comparison(from)?);
            Predicate::CompareDecimal(column, comparison, Decimal::new(integer(from)?, small(from)?))
        }
        IN => Predicate::In(small(from)?, crate::codes::list(from, |from| Ok(value(from)?.to_owned()))?),
        IS_NULL => Predicate::IsNull(small(from)?),
        STARTS_WITH => {
            let (column, prefix) = (small(from)?, from.bytes()?);
            Predicate::StartsWith(column, std::str::from_utf8(prefix).map_err(|_| Malformed)?.to_owned())
        }
        AND => Predicate::And(all(from)?),
        OR => Predicate::Or(all(from)?),
        NOT => Predicate::Not(Box::new(predicate(from, depth)?)),
        _ => return Err(Malformed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Predicate {
        Predicate::And(vec![
            Predicate::Compare(1, Comparison::GreaterOrEqual, Value::Int(-7)),
            Predicate::Or(vec![
                Predicate::CompareDecimal(2, Comparison::NotEqual, Decimal::new(-1_234, 2)),
                Predicate::any_of(3, vec![Value::Null, Value::Text("b".into()), Value::Text("a".into())]),
                Predicate::StartsWith(64, "pre".into()),
            ]),
            Predicate::Not(Box::new(Predicate::IsNull(300))),
            Predicate::True,
        ])
    }

    #[test]
    fn a_filter_is_read_as_it_was_written_and_cut_off_is_malformed() {
        let filter = Filter::of(&sample()).expect("short");
        let mut bytes = Vec::new();
        filter.encode(&mut bytes);
        assert_eq!(Filter::decode(&mut Decoder::new(&bytes)), Ok(filter.clone()));
        assert!([1, 2, 3, 63, 64, 300].iter().all(|column| filter.columns.has(*column)) && !filter.columns.has(0));
        (0..bytes.len()).for_each(|end| assert!(Filter::decode(&mut Decoder::new(&bytes[..end])).is_err(), "{end}"));
    }

    #[test]
    fn what_is_too_long_or_too_deep_is_kept_as_columns() {
        let long = Predicate::any_of(5, (0..LONGEST as i64).map(Value::Int).collect());
        assert_eq!(Filter::of(&long), Err(ColumnSet::of(5)));
        assert_eq!(Filter::of(&Predicate::StartsWith(5, "x".repeat(LONGEST))), Err(ColumnSet::of(5)));
        let nested = |depth| (0..depth).fold(Predicate::IsNull(5), |inner, _| Predicate::Not(Box::new(inner)));
        assert!(Filter::of(&nested(DEEPEST - 1)).is_ok());
        assert_eq!(Filter::of(&nested(DEEPEST)), Err(ColumnSet::of(5)));
        assert_eq!(Filter::of(&Predicate::True), Err(ColumnSet::NONE));
        let mut bytes = vec![NOT; 100_000];
        bytes.push(TRUE);
        assert!(Filter::decode(&mut Decoder::new(&bytes)).is_err(), "no depth that somebody sends takes the stack");
    }
}
