//! Frames: the rows around the current one over which a call is computed.

use super::super::super::evaluate::is_null;
use super::super::super::order::compare_by;
use super::super::super::scope::{Run, out_of_step};
use super::Partition;
use crate::error::{Result, SqlError, state};
use crate::functions::{Resolved, resolve_operator};
use crate::plan::{Expr, Frame, FrameBound, FrameExclude, FrameUnit, SortKey};
use crate::types::cast::cast;
use crate::types::text::parse;
use crate::types::{Datum, Modifier, Styles, Type, compare_typed};
use std::cmp::Ordering;

/// Rows of a partition from `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub start: usize,
    pub end: usize,
}

/// A frame with evaluated offsets.
pub struct Frames<'w> {
    frame: &'w Frame,
    start: Offset,
    end: Offset,
}

/// Offset of a frame's bound.
enum Offset {
    None,
    /// Number of rows or groups.
    Count(usize),
    /// Distance in values of the ordering column.
    Value(Box<Values>),
}

impl<'w> Frames<'w> {
    pub fn new(partition: &Partition<'_>, frame: &'w Frame, run: &mut Run<'_, '_>) -> Result<Frames<'w>> {
        let start = Offset::of(&frame.start, "starting", frame.unit, partition, run)?;
        let end = Offset::of(&frame.end, "ending", frame.unit, partition, run)?;
        Ok(Frames { frame, start, end })
    }

    /// Returns the frame of a row: one part, several with EXCLUDE, or none.
    pub fn parts(&self, partition: &Partition<'_>, row: usize, run: &mut Run<'_, '_>) -> Result<Vec<Part>> {
        let start = self.edge(partition, row, true, run)?;
        let end = self.edge(partition, row, false, run)?;
        let peers = Part { start: partition.peers[row].0, end: partition.peers[row].1 };
        let this = Part { start: row, end: row + 1 };
        let whole = [Part { start, end }];
        let parts = match self.frame.exclude {
            FrameExclude::None => whole.to_vec(),
            FrameExclude::Current => without(&whole, this),
            FrameExclude::Group => without(&whole, peers),
            FrameExclude::Ties => {
                let before = Part { start: peers.start, end: row };
                without(&without(&whole, before), Part { start: row + 1, end: peers.end })
            }
        };
        Ok(parts.into_iter().filter(|part| part.start < part.end).collect())
    }

    /// Returns the first row of a row's frame, or the row after the last.
    fn edge(&self, partition: &Partition<'_>, row: usize, start: bool, run: &mut Run<'_, '_>) -> Result<usize> {
        let (bound, offset) = if start { (&self.frame.start, &self.start) } else { (&self.frame.end, &self.end) };
        let length = partition.rows.len();
        let behind = usize::from(!start);
        Ok(match (bound, offset, self.frame.unit) {
            (FrameBound::Start, ..) => 0,
            (FrameBound::End, ..) => length,
            (FrameBound::Current, _, FrameUnit::Rows) => row + behind,
            (FrameBound::Current, ..) => of_peers(partition, row, start),
            (FrameBound::Preceding(_), Offset::Count(count), FrameUnit::Rows) => (row + behind).saturating_sub(*count),
            (FrameBound::Following(_), Offset::Count(count), FrameUnit::Rows) => {
                (row + behind).saturating_add(*count).min(length)
            }
            (FrameBound::Preceding(_), Offset::Count(count), _) => groups_before(partition, row, *count, start),
            (FrameBound::Following(_), Offset::Count(count), _) => groups_behind(partition, row, *count, start),
            (FrameBound::Preceding(_), Offset::Value(values), _) => values.edge(partition, row, true, start, run)?,
            (FrameBound::Following(_), Offset::Value(values), _) => values.edge(partition, row, false, start, run)?,
            (FrameBound::Preceding(_) | FrameBound::Following(_), Offset::None, _) => return Err(out_of_step()),
        })
    }
}

/// Removes `cut` from the parts.
fn without(parts: &[Part], cut: Part) -> Vec<Part> {
    let mut rest = Vec::with_capacity(parts.len() + 1);
    for part in parts {
        if cut.start >= cut.end {
            rest.push(*part);
            continue;
        }
        rest.push(Part { start: part.start, end: part.end.min(cut.start) });
        rest.push(Part { start: part.start.max(cut.end), end: part.end });
    }
    rest.retain(|part| part.start < part.end);
    rest
}

fn of_peers(partition: &Partition<'_>, row: usize, start: bool) -> usize {
    let (first, end) = partition.peers[row];
    if start { first } else { end }
}

/// Returns the edge `count` groups before the row's group.
fn groups_before(partition: &Partition<'_>, row: usize, count: usize, start: bool) -> usize {
    let mut at = row;
    for _ in 0..count {
        match partition.peers[at].0.checked_sub(1) {
            Some(before) => at = before,
            None => return 0,
        }
    }
    of_peers(partition, at, start)
}

/// Returns the edge `count` groups after the row's group.
fn groups_behind(partition: &Partition<'_>, row: usize, count: usize, start: bool) -> usize {
    let mut at = row;
    for _ in 0..count {
        let behind = partition.peers[at].1;
        if behind >= partition.rows.len() {
            return partition.rows.len();
        }
        at = behind;
    }
    of_peers(partition, at, start)
}

/// RANGE with an offset: the ordering column and the offset in types that can be added.
pub struct Values {
    minus: Resolved,
    plus: Resolved,
    offset: Datum,
    /// Values of the rows, in the operand type of the operators.
    operands: Vec<Datum>,
    /// Values of the rows, in the result type of the operators.
    results: Vec<Datum>,
    /// Sort key of `results`.
    key: SortKey,
}

impl Values {
    fn new(partition: &Partition<'_>, offset: Datum, offset_type: Type, run: &mut Run<'_, '_>) -> Result<Values> {
        let key = partition.window.order.first().ok_or_else(out_of_step)?;
        let column = key.expression.data_type;
        let (minus, plus) = operators(column, offset_type)?;
        let (operand, size) = (argument(&plus, 0)?, argument(&plus, 1)?);
        let styles = run.exec.env().styles();
        let convert = |value: &Datum, from: Type, to: Type| -> Result<Datum> {
            Ok(cast(value, from, to, Modifier::NONE, false, &styles)?)
        };
        let column_as = |to: Type| -> Result<Vec<Datum>> {
            partition.rows.iter().map(|row| convert(row.order.first().unwrap_or(&Datum::Null), column, to)).collect()
        };
        let key = SortKey { expression: Expr::column(0, plus.result, Modifier::NONE), ..key.clone() };
        let (operands, results) = (column_as(operand)?, column_as(plus.result)?);
        Ok(Values { offset: convert(&offset, offset_type, size)?, operands, results, key, minus, plus })
    }

    /// Finds the edge at the row's value minus or plus the offset. The frame of a NULL consists of the NULLs.
    fn edge(
        &self,
        partition: &Partition<'_>,
        row: usize,
        preceding: bool,
        start: bool,
        run: &mut Run<'_, '_>,
    ) -> Result<usize> {
        if is_null(&self.operands[row]) {
            return Ok(of_peers(partition, row, start));
        }
        let operator = if preceding == self.key.descending { &self.plus } else { &self.minus };
        let limit = match run.call(operator, &[self.operands[row].clone(), self.offset.clone()]) {
            Ok(limit) => limit,
            // No value is beyond the range of the type.
            Err(error) if error.code() == state::NUMERIC_VALUE_OUT_OF_RANGE => return Ok(self.outermost(preceding)),
            Err(error) => return Err(error),
        };
        Ok(self.results.partition_point(|other| {
            let order = compare_by(&self.key, other, &limit);
            if start { order == Ordering::Less } else { order != Ordering::Greater }
        }))
    }

    /// First or last edge among values that are not NULL.
    fn outermost(&self, first: bool) -> usize {
        let nulls = self.results.iter().filter(|value| is_null(value)).count();
        match (first, self.key.nulls_first) {
            (true, true) => nulls,
            (true, false) => 0,
            (false, true) => self.results.len(),
            (false, false) => self.results.len() - nulls,
        }
    }
}

/// Operators that subtract and add an offset; integers of all widths use the widest.
fn operators(column: Type, offset: Type) -> Result<(Resolved, Resolved)> {
    let widest = |data_type| match data_type {
        Type::INT2 | Type::INT4 => Type::INT8,
        other => other,
    };
    let resolve = |symbol| resolve_operator(symbol, Some(widest(column)), widest(offset));
    Ok((resolve("-")?, resolve("+")?))
}

fn argument(operator: &Resolved, at: usize) -> Result<Type> {
    operator.arguments.get(at).copied().ok_or_else(out_of_step)
}

impl Offset {
    fn of(
        bound: &FrameBound,
        which: &str,
        unit: FrameUnit,
        partition: &Partition<'_>,
        run: &mut Run<'_, '_>,
    ) -> Result<Offset> {
        let (FrameBound::Preceding(expression) | FrameBound::Following(expression)) = bound else {
            return Ok(Offset::None);
        };
        let value = run.evaluate(expression, &[])?;
        if is_null(&value) {
            let message = format!("frame {which} offset must not be null");
            return Err(SqlError::new(state::NULL_VALUE_NOT_ALLOWED, message));
        }
        if is_negative(&value, expression.data_type)? {
            let message = match unit {
                FrameUnit::Range => "invalid preceding or following size in window function".to_owned(),
                FrameUnit::Rows | FrameUnit::Groups => format!("frame {which} offset must not be negative"),
            };
            return Err(SqlError::new(state::INVALID_PRECEDING_OR_FOLLOWING_SIZE, message));
        }
        match (unit, &value) {
            (FrameUnit::Range, _) => {
                Ok(Offset::Value(Box::new(Values::new(partition, value, expression.data_type, run)?)))
            }
            (_, Datum::Int8(count)) => Ok(Offset::Count(usize::try_from(*count).unwrap_or(usize::MAX))),
            _ => Err(out_of_step()),
        }
    }
}

fn is_negative(value: &Datum, data_type: Type) -> Result<bool> {
    let zero = parse("0", data_type, Modifier::NONE, &Styles::default())?;
    Ok(compare_typed(data_type, value, &zero).is_lt())
}
