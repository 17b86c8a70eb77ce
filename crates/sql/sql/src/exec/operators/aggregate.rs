//! Groups and aggregates, by hashing.

use super::super::distinct_set::DistinctSet;
use super::super::evaluate::is_null;
use super::super::key_table::KeyTable;
use super::super::order::{compare_plainly, compare_values, sort, sort_values};
use super::super::scope::Run;
use super::Node;
use crate::context::row_bytes;
use crate::error::Result;
use crate::functions::Accumulator;
use crate::plan::{AggregateCall, Aggregation};
use crate::types::{Datum, Row, Type};
use pgtypes::interrupt;
use pgtypes::memory::push;
use std::cmp::Ordering;

/// Approximate bytes of an accumulator, besides those that it reports.
const ACCUMULATOR_BYTES: usize = 64;

/// Work per buffered argument, in addition to the aggregate's own.
const ADDING: usize = 64;

/// The state of an aggregation.
pub struct AggregateState {
    input: Node,
    groups: Option<std::vec::IntoIter<Row>>,
}

/// The groups of one grouping set.
struct Groups {
    /// Values of the set's keys; keys outside the set are NULL.
    keys: KeyTable,
    /// States of the calls, for each group.
    states: Vec<Vec<CallState>>,
}

/// One call over one group.
enum CallState {
    /// Consumes arguments as they arrive.
    Running(Box<dyn Accumulator>, usize),
    /// Keeps arguments until the group is complete, for ORDER BY in the call.
    BufferedArguments(Vec<BufferedArguments>),
    /// Keeps distinct arguments, for DISTINCT.
    Distinct(DistinctSet),
    /// `GROUPING(...)`
    Grouping(i32),
}

/// Arguments of one row, and the values by which they are ordered.
struct BufferedArguments {
    order: Row,
    arguments: Row,
}

impl AggregateState {
    pub fn new(input: Node) -> AggregateState {
        AggregateState { input, groups: None }
    }

    pub fn next(&mut self, aggregation: &Aggregation, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        let groups = match &mut self.groups {
            Some(groups) => groups,
            None => {
                let rows = self.collect(aggregation, run)?;
                self.groups.insert(rows.into_iter())
            }
        };
        Ok(groups.next())
    }

    fn collect(&mut self, aggregation: &Aggregation, run: &mut Run<'_, '_>) -> Result<Vec<Row>> {
        let before = run.exec.memory.used();
        let types: Vec<Type> = aggregation.keys.iter().map(|key| key.data_type).collect();
        let mut sets: Vec<Groups> = aggregation.sets.iter().map(|_| Groups::new(types.clone())).collect();
        while let Some(row) = self.input.next(&aggregation.input, run)? {
            let keys = run.evaluate_all(&aggregation.keys, &row)?;
            for (groups, set) in sets.iter_mut().zip(&aggregation.sets) {
                let group = groups.group(aggregation, set, masked(&keys, set), run)?;
                for (call, state) in aggregation.calls.iter().zip(&mut groups.states[group]) {
                    state.add(call, &row, run)?;
                }
            }
        }
        let mut rows = Vec::new();
        for (mut groups, set) in sets.into_iter().zip(&aggregation.sets) {
            if set.is_empty() && groups.states.is_empty() {
                groups.group(aggregation, set, vec![Datum::Null; aggregation.keys.len()], run)?;
            }
            groups.finish(aggregation, &mut rows)?;
        }
        run.exec.memory.back_to(before);
        run.hold(rows.iter().map(|row| row_bytes(row)).sum(), "groups and aggregates")?;
        Ok(rows)
    }
}

/// Values of the keys in a grouping set; the others become NULL.
fn masked(keys: &[Datum], set: &[usize]) -> Row {
    let mut masked = vec![Datum::Null; keys.len()];
    for &key in set {
        masked[key] = keys[key].clone();
    }
    masked
}

impl Groups {
    fn new(types: Vec<Type>) -> Groups {
        Groups { keys: KeyTable::new(types), states: Vec::new() }
    }

    /// Returns the group with these keys; creates it if there is none.
    fn group(&mut self, aggregation: &Aggregation, set: &[usize], keys: Row, run: &mut Run<'_, '_>) -> Result<usize> {
        let bytes = row_bytes(&keys);
        let (group, new) = self.keys.insert(keys)?;
        if new {
            run.hold(bytes + aggregation.calls.len() * ACCUMULATOR_BYTES, "groups and aggregates")?;
            push(&mut self.states, aggregation.calls.iter().map(|call| CallState::new(call, set)).collect())?;
        }
        Ok(group)
    }

    /// Appends a row for each group.
    fn finish(self, aggregation: &Aggregation, rows: &mut Vec<Row>) -> Result<()> {
        for (mut row, states) in self.keys.into_keys().zip(self.states) {
            for (call, state) in aggregation.calls.iter().zip(states) {
                row.push(state.finish(call)?);
            }
            push(rows, row)?;
        }
        Ok(())
    }
}

impl CallState {
    fn new(call: &AggregateCall, set: &[usize]) -> CallState {
        match &call.grouping {
            Some(keys) => {
                CallState::Grouping(keys.iter().fold(0, |bits, key| bits << 1 | i32::from(!set.contains(key))))
            }
            None if !call.order.is_empty() => CallState::BufferedArguments(Vec::new()),
            None if call.distinct => CallState::Distinct(DistinctSet::new(argument_types(call))),
            None => CallState::Running((call.aggregate.aggregate.start)(), 0),
        }
    }

    fn add(&mut self, call: &AggregateCall, row: &[Datum], run: &mut Run<'_, '_>) -> Result<()> {
        if matches!(self, CallState::Grouping(_)) || !run.passes(call.filter.as_ref(), row)? {
            return Ok(());
        }
        match self {
            CallState::Running(accumulator, counted) => {
                run.accumulate(&mut **accumulator, call, row)?;
                let bytes = accumulator.memory();
                run.hold(bytes.saturating_sub(*counted), "groups and aggregates")?;
                *counted = bytes.max(*counted);
            }
            CallState::BufferedArguments(kept) => {
                let order = sort_values(row, &call.order, run)?;
                let arguments = run.evaluate_all(&call.arguments, row)?;
                if call.aggregate.aggregate.strict && arguments.iter().any(is_null) {
                    return Ok(());
                }
                run.hold(row_bytes(&arguments) + row_bytes(&order), "groups and aggregates")?;
                push(kept, BufferedArguments { order, arguments })?;
            }
            CallState::Distinct(seen) => {
                let arguments = run.evaluate_all(&call.arguments, row)?;
                if call.aggregate.aggregate.strict && arguments.iter().any(is_null) {
                    return Ok(());
                }
                run.hold(seen.insert(arguments)?, "groups and aggregates")?;
            }
            CallState::Grouping(_) => {}
        }
        Ok(())
    }

    fn finish(self, call: &AggregateCall) -> Result<Datum> {
        match self {
            CallState::Running(accumulator, _) => Ok(accumulator.value()?),
            CallState::Grouping(bits) => Ok(Datum::Int4(bits)),
            CallState::Distinct(seen) => {
                let mut accumulator = (call.aggregate.aggregate.start)();
                let compare = |left: &[Datum], right: &[Datum]| compare_arguments(call, left, right);
                seen.each_sorted(compare, |arguments| {
                    interrupt::work(ADDING)?;
                    Ok(accumulator.add(arguments)?)
                })?;
                Ok(accumulator.value()?)
            }
            CallState::BufferedArguments(mut kept) => {
                sort(&mut kept, |left, right| compare_kept(call, left, right))?;
                if call.distinct {
                    kept.dedup_by(|left, right| compare_kept(call, left, right).is_eq());
                }
                let mut accumulator = (call.aggregate.aggregate.start)();
                for row in &kept {
                    interrupt::work(ADDING)?;
                    accumulator.add(&row.arguments)?;
                }
                Ok(accumulator.value()?)
            }
        }
    }
}

/// Compares by ORDER BY; for DISTINCT then by the arguments, so that equal ones are adjacent.
fn compare_kept(call: &AggregateCall, left: &BufferedArguments, right: &BufferedArguments) -> Ordering {
    let by_order = compare_values(&call.order, &left.order, &right.order);
    if by_order.is_ne() || !call.distinct {
        return by_order;
    }
    compare_arguments(call, &left.arguments, &right.arguments)
}

fn argument_types(call: &AggregateCall) -> Vec<Type> {
    call.arguments.iter().map(|argument| argument.data_type).collect()
}

fn compare_arguments(call: &AggregateCall, left: &[Datum], right: &[Datum]) -> Ordering {
    let arguments = call.arguments.iter().zip(left.iter().zip(right));
    // json has no order. It was made of a value by which the call is ordered.
    arguments
        .filter(|(argument, _)| argument.data_type != Type::JSON)
        .map(|(argument, (left, right))| compare_plainly(argument.data_type, left, right))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

impl Run<'_, '_> {
    /// Passes a row's arguments to an aggregate, unless one is NULL and the aggregate skips such rows.
    fn accumulate(&mut self, accumulator: &mut dyn Accumulator, call: &AggregateCall, row: &[Datum]) -> Result<()> {
        let strict = call.aggregate.aggregate.strict;
        match &call.arguments[..] {
            [] => accumulator.add(&[])?,
            [argument] => {
                let value = self.operand(argument, row)?;
                if !(strict && is_null(&value)) {
                    accumulator.add(std::slice::from_ref(&*value))?;
                }
            }
            arguments => {
                let values = self.evaluate_all(arguments, row)?;
                if !(strict && values.iter().any(is_null)) {
                    accumulator.add(&values)?;
                }
            }
        }
        Ok(())
    }
}
