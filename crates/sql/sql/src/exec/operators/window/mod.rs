//! Window functions: the input is sorted, then each partition is processed as a whole.
//!
//! `frame.rs` finds the rows around the current one, `functions.rs` computes functions that exist only over windows.

mod frame;
mod functions;

use super::super::evaluate::is_null;
use super::super::order::{compare_plainly, compare_values, sort, sort_values};
use super::super::scope::Run;
use super::Node;
use crate::context::row_bytes;
use crate::error::Result;
use crate::functions::{Accumulator, ResolvedAggregate};
use crate::plan::{Window, WindowCall, WindowKind};
use crate::types::{Datum, Row};
use frame::{Frames, Part};
use pgtypes::memory::{check_large, push, with_room};
use std::cmp::Ordering;

/// The state of a window operator.
pub struct WindowState {
    input: Node,
    rows: Option<std::vec::IntoIter<Row>>,
}

/// A row with its sort values.
struct Sorted {
    partition: Row,
    order: Row,
    row: Row,
}

/// The rows of one partition in order.
pub(super) struct Partition<'w> {
    window: &'w Window,
    rows: &'w [Sorted],
    /// First peer of each row (peers are equal by ORDER BY), and the row after the last peer.
    peers: Vec<(usize, usize)>,
}

impl WindowState {
    pub fn new(input: Node) -> WindowState {
        WindowState { input, rows: None }
    }

    pub fn next(&mut self, window: &Window, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        let rows = match &mut self.rows {
            Some(rows) => rows,
            None => {
                let rows = self.collect(window, run)?;
                self.rows.insert(rows.into_iter())
            }
        };
        let Some(row) = rows.next() else { return Ok(None) };
        run.exec.memory.give_back(row_bytes(&row));
        Ok(Some(row))
    }

    fn collect(&mut self, window: &Window, run: &mut Run<'_, '_>) -> Result<Vec<Row>> {
        let before = run.exec.memory.used();
        let mut sorted = Vec::new();
        while let Some(row) = self.input.next(&window.input, run)? {
            let partition = run.evaluate_all(&window.partition, &row)?;
            let order = sort_values(&row, &window.order, run)?;
            run.hold(row_bytes(&row) + row_bytes(&partition) + row_bytes(&order), "a window")?;
            push(&mut sorted, Sorted { partition, order, row })?;
        }
        sort(&mut sorted, |left, right| {
            compare_partitions(window, left, right)
                .then_with(|| compare_values(&window.order, &left.order, &right.order))
        })?;
        let mut values = with_room(sorted.len())?;
        for rows in sorted.chunk_by(|left, right| compare_partitions(window, left, right).is_eq()) {
            // A column of values for each call, one of arguments, and the rows made of them.
            check_large(rows.len() * (2 * window.calls.len() + 1) * size_of::<Datum>())?;
            let partition = Partition::new(window, rows)?;
            let columns = window.calls.iter().map(|call| partition.call(call, run)).collect::<Result<Vec<_>>>()?;
            append_transposed(columns, rows.len(), &mut values, run)?;
        }
        let mut rows: Vec<Row> = with_room(sorted.len())?;
        for pair in sorted.into_iter().zip(values) {
            run.tick()?;
            rows.push(joined(pair));
        }
        run.exec.memory.back_to(before);
        run.hold(rows.iter().map(|row| row_bytes(row)).sum(), "a window")?;
        Ok(rows)
    }
}

fn joined((sorted, values): (Sorted, Row)) -> Row {
    let mut row = sorted.row;
    row.extend(values);
    row
}

fn compare_partitions(window: &Window, left: &Sorted, right: &Sorted) -> Ordering {
    let values = window.partition.iter().zip(left.partition.iter().zip(&right.partition));
    values
        .map(|(key, (left, right))| compare_plainly(key.data_type, left, right))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// Appends columns of equal length as rows.
fn append_transposed(
    columns: Vec<Vec<Datum>>,
    length: usize,
    rows: &mut Vec<Row>,
    run: &mut Run<'_, '_>,
) -> Result<()> {
    let start = rows.len();
    for _ in 0..length {
        run.tick()?;
        rows.push(Row::with_capacity(columns.len()));
    }
    for column in columns {
        for (row, value) in rows[start..].iter_mut().zip(column) {
            row.push(value);
        }
    }
    Ok(())
}

impl<'w> Partition<'w> {
    fn new(window: &'w Window, rows: &'w [Sorted]) -> Result<Partition<'w>> {
        let mut peers = with_room(rows.len())?;
        for group in rows.chunk_by(|left, right| compare_values(&window.order, &left.order, &right.order).is_eq()) {
            let start = peers.len();
            peers.resize(start + group.len(), (start, start + group.len()));
        }
        Ok(Partition { window, rows, peers })
    }

    /// Computes a call for each row.
    fn call(&self, call: &WindowCall, run: &mut Run<'_, '_>) -> Result<Vec<Datum>> {
        match &call.function {
            WindowKind::Window(function) => self.function(*function, call, run),
            WindowKind::Aggregate(aggregate) => self.aggregate(aggregate, call, run),
        }
    }

    /// Computes an aggregate over each row's frame. While frames only grow at their end, the state is kept from row to row.
    fn aggregate(&self, aggregate: &ResolvedAggregate, call: &WindowCall, run: &mut Run<'_, '_>) -> Result<Vec<Datum>> {
        let frames = Frames::new(self, &call.frame, run)?;
        let inputs = self.aggregate_inputs(aggregate, call, run)?;
        let mut values = with_room(self.rows.len())?;
        let mut state: Option<(Box<dyn Accumulator>, Part)> = None;
        for row in 0..self.rows.len() {
            run.tick()?;
            let parts = frames.parts(self, row, run)?;
            let (mut accumulator, mut done) = match (state.take(), &parts[..]) {
                (Some((accumulator, done)), [part]) if part.start == done.start && part.end >= done.end => {
                    if part.end == done.end
                        && let Some(last) = values.last()
                    {
                        let last: &Datum = last;
                        values.push(last.clone());
                        state = Some((accumulator, done));
                        continue;
                    }
                    (accumulator, done)
                }
                (_, [part, ..]) => ((aggregate.aggregate.start)(), Part { start: part.start, end: part.start }),
                (_, []) => ((aggregate.aggregate.start)(), Part { start: 0, end: 0 }),
            };
            for (number, part) in parts.iter().enumerate() {
                let from = if number == 0 { done.end } else { part.start };
                for arguments in inputs[from..part.end].iter().flatten() {
                    run.tick()?;
                    accumulator.add(arguments)?;
                }
            }
            values.push(accumulator.value()?);
            if let [part] = parts[..] {
                done.end = part.end;
                state = Some((accumulator, done));
            }
        }
        Ok(values)
    }

    /// Arguments of each row; nothing for rows that the call skips.
    fn aggregate_inputs(
        &self,
        aggregate: &ResolvedAggregate,
        call: &WindowCall,
        run: &mut Run<'_, '_>,
    ) -> Result<Vec<Option<Row>>> {
        let mut inputs = with_room(self.rows.len())?;
        for sorted in self.rows {
            run.tick()?;
            let arguments = if run.passes(call.filter.as_ref(), &sorted.row)? {
                let arguments = run.evaluate_all(&call.arguments, &sorted.row)?;
                (!(aggregate.aggregate.strict && arguments.iter().any(is_null))).then_some(arguments)
            } else {
                None
            };
            inputs.push(arguments);
        }
        Ok(inputs)
    }
}
