//! Groups and aggregates, by hashing.
//!
//! When the groups fill what may be held, rows of further groups are written away (`spilled`).

mod spilled;
mod state;
mod sums;

use crate::batch::{BATCH_ROWS, Batch};
use crate::column::{Column, Data};
use crate::columns::Columns;
use crate::expression::Expression;
use crate::keys::{KeySet, Keys};
use crate::spill::{DEEPEST, Partitions, Spilling, partition};
use pgtypes::functions::Aggregate;
use pgtypes::{Result, Type};
use state::State;
use std::borrow::Cow;
use std::sync::Arc;

pub use spilled::SpilledGroups;
pub use sums::{Sum, Sums};

/// A call of an aggregate.
#[derive(Clone)]
pub struct Call {
    /// Which.
    pub aggregate: &'static Aggregate,
    /// Its arguments.
    pub arguments: Vec<Expression>,
    /// FILTER
    pub filter: Option<Expression>,
    /// DISTINCT: of equal arguments one counts. Which one makes no difference to the result.
    pub distinct: bool,
    /// The type of its result.
    pub result: Type,
}

/// What groups are made of.
#[derive(Clone)]
pub struct Grouping {
    /// The keys. Without keys there is one group, even of no rows.
    pub keys: Vec<Expression>,
    /// The aggregates.
    pub calls: Vec<Call>,
    /// Whether the values of each key of type `char(n)` have one length: then equal ones look the same.
    pub is_padded: bool,
}

impl Call {
    /// Returns whether groups that were made of parts of the rows can be put together, with the same result whatever the parts.
    pub fn is_mergeable(&self) -> bool {
        !self.distinct && State::new(self).is_mergeable()
    }
}

impl Grouping {
    /// Returns whether all of its calls are [`Call::is_mergeable`], and equal keys look the same.
    pub fn is_mergeable(&self) -> bool {
        let looks_the_same = |key: &Expression| {
            let known = [Type::INT2, Type::INT4, Type::INT8, Type::BOOL, Type::TEXT, Type::VARCHAR, Type::DATE];
            known.contains(&key.data_type())
                || [Type::TIMESTAMP, Type::TIMESTAMPTZ, Type::OID].contains(&key.data_type())
                || (key.data_type() == Type::BPCHAR && self.is_padded)
        };
        self.calls.iter().all(Call::is_mergeable) && self.keys.iter().all(looks_the_same)
    }
}

impl Grouping {
    /// The columns that it looks at.
    pub fn columns(&self) -> Columns {
        let of_calls = self.calls.iter().flat_map(|call| call.arguments.iter().chain(&call.filter));
        Columns::of_expressions(self.keys.iter().chain(of_calls))
    }

    /// The same over rows that have only these columns.
    pub fn narrow(&self, columns: &Columns) -> Grouping {
        let call = |call: &Call| Call {
            arguments: columns.narrow_all(&call.arguments),
            filter: call.filter.as_ref().map(|filter| columns.narrow(filter)),
            ..*call
        };
        let (keys, calls) = (columns.narrow_all(&self.keys), self.calls.iter().map(call).collect());
        Grouping { keys, calls, is_padded: self.is_padded }
    }
}

/// The groups of a batch's rows.
#[derive(Default)]
struct Numbered {
    /// The group of each row that has one.
    groups: Vec<u32>,
    /// The first row of each new group.
    first: Vec<u32>,
    /// The rows that have no group.
    left_out: Vec<u32>,
}

/// The groups of some rows.
pub struct Groups {
    grouping: Arc<Grouping>,
    set: KeySet,
    /// The values of the keys, by number of the group.
    keys: Vec<Column>,
    states: Vec<State>,
    /// The arguments of each call with DISTINCT that were there, with their groups.
    seen: Vec<KeySet>,
    bytes: usize,
    spilling: Option<Spilling>,
    level: u32,
    /// Rows of groups that are not held.
    others: Option<Partitions>,
}

impl Groups {
    /// No groups.
    pub fn new(grouping: Arc<Grouping>, spilling: Option<Spilling>) -> Groups {
        Groups::at(grouping, spilling, 0)
    }

    /// No groups, of rows that were divided so many times.
    fn at(grouping: Arc<Grouping>, spilling: Option<Spilling>, level: u32) -> Groups {
        let mut groups = Groups {
            set: KeySet::default(),
            keys: grouping.keys.iter().map(|key| Column::new(key.data_type())).collect(),
            states: grouping.calls.iter().map(State::new).collect(),
            seen: grouping.calls.iter().map(|_| KeySet::default()).collect(),
            bytes: 0,
            spilling,
            level,
            others: None,
            grouping,
        };
        // Without keys there is one group.
        if groups.grouping.keys.is_empty() {
            groups.states.iter_mut().for_each(|state| state.resize(1));
        }
        groups
    }

    /// Number of groups.
    pub fn count(&self) -> usize {
        if self.grouping.keys.is_empty() { 1 } else { self.set.count() }
    }

    /// Approximate bytes of memory.
    pub fn memory(&self) -> usize {
        self.bytes + self.others.as_ref().map_or(0, Partitions::memory)
    }

    /// Returns whether further groups may be held.
    fn grows(&self) -> bool {
        let is_full = |spilling: &Spilling| self.bytes >= spilling.bytes;
        self.level >= DEEPEST || !self.spilling.as_ref().is_some_and(is_full)
    }

    /// Adds the rows of a batch to their groups.
    ///
    /// # Errors
    /// Errors of the expressions and the aggregates; errors of temporary files.
    pub fn add(&mut self, batch: &Batch) -> Result<()> {
        if batch.rows == 0 {
            return Ok(());
        }
        if self.grouping.keys.is_empty() {
            return self.accumulate(batch, None);
        }
        let columns = self.key_columns(batch)?;
        let types = self.grouping.keys.iter().map(Expression::data_type);
        let pairs: Vec<(Arc<Column>, Type)> = columns.iter().cloned().zip(types).collect();
        let keys = Keys::of_columns(&pairs, batch.rows);
        let numbered = self.number(&keys);
        for (known, column) in self.keys.iter_mut().zip(&columns) {
            if !numbered.first.is_empty() {
                known.append(&column.gather(&numbered.first));
            }
        }
        if numbered.left_out.is_empty() {
            return self.accumulate(batch, Some(&numbered.groups));
        }
        self.write_away(batch, &numbered.left_out, &keys)?;
        let rows: Vec<u32> =
            (0..batch.rows as u32).filter(|row| numbered.left_out.binary_search(row).is_err()).collect();
        self.accumulate(&batch.gather(&rows), Some(&numbered.groups))
    }

    /// Finds the groups of keys, or makes them.
    fn number(&mut self, keys: &Keys) -> Numbered {
        let mut numbered = Numbered { groups: Vec::with_capacity(keys.count()), ..Numbered::default() };
        let grows = self.grows();
        if let Some(values) = keys.integers().filter(|_| grows) {
            self.set.number(values, &mut numbered.groups, &mut numbered.first);
            return numbered;
        }
        if let Some(distinct) = keys.distinct().filter(|_| grows) {
            let mut number_of = |&row: &u32| {
                let (number, is_new) = self.set.insert(keys.hash(row as usize), keys.get(row as usize));
                numbered.first.extend(is_new.then_some(row));
                number
            };
            let numbers: Vec<u32> = distinct.first.iter().map(&mut number_of).collect();
            numbered.groups.extend(distinct.of_rows.iter().map(|&at| numbers[at as usize]));
            return numbered;
        }
        for row in 0..keys.count() {
            let (hash, key) = (keys.hash(row), keys.get(row));
            if grows {
                let (number, new) = self.set.insert(hash, key);
                if new {
                    numbered.first.push(row as u32);
                }
                numbered.groups.push(number);
            } else {
                match self.set.find(hash, key) {
                    Some(number) => numbered.groups.push(number),
                    None => numbered.left_out.push(row as u32),
                }
            }
        }
        numbered
    }

    /// Writes rows of groups that are not held.
    fn write_away(&mut self, batch: &Batch, rows: &[u32], keys: &Keys) -> Result<()> {
        let Some(spilling) = &self.spilling else { return Ok(()) };
        let level = self.level;
        let others = self.others.get_or_insert_with(|| Partitions::new(&spilling.divided(2), level));
        others.add(batch, rows, |row| keys.hash(row))
    }

    fn key_columns(&self, batch: &Batch) -> Result<Vec<Arc<Column>>> {
        self.grouping.keys.iter().map(|key| Ok(key.evaluate(batch)?.spread(batch.rows))).collect()
    }

    /// Adds rows to these groups, or to the only one.
    fn accumulate(&mut self, batch: &Batch, groups: Option<&[u32]>) -> Result<()> {
        let count = self.count();
        let all = self.grouping.calls.iter().zip(&mut self.states).zip(&mut self.seen);
        for ((call, state), seen) in all {
            state.resize(count);
            let of = |groups: &[u32], rows: &[u32]| rows.iter().map(|row| groups[*row as usize]).collect::<Vec<u32>>();
            let (mut batch, mut groups) = (Cow::Borrowed(batch), groups.map(Cow::Borrowed));
            if let Some(filter) = &call.filter {
                let rows = filter.selected(&batch)?;
                groups = groups.map(|groups| Cow::Owned(of(&groups, &rows)));
                batch = Cow::Owned(batch.gather(&rows));
            }
            if call.distinct {
                let rows = new_rows(call, &batch, groups.as_deref(), seen)?;
                groups = groups.map(|groups| Cow::Owned(of(&groups, &rows)));
                batch = Cow::Owned(batch.gather(&rows));
            }
            state.add(call, &batch, groups.as_deref())?;
        }
        self.count_bytes();
        Ok(())
    }

    /// Adds the groups of other rows, whose rows were all held. All calls are mergeable.
    ///
    /// # Errors
    /// Errors of the aggregates.
    pub fn merge(&mut self, other: Groups) -> Result<()> {
        let mut groups = vec![0];
        if !self.grouping.keys.is_empty() {
            let mut new = Vec::new();
            groups.clear();
            for (number, (hash, key)) in other.set.iter().enumerate() {
                let (group, is_new) = self.set.insert(hash, key);
                groups.push(group);
                if is_new {
                    new.push(number as u32);
                }
            }
            for (known, column) in self.keys.iter_mut().zip(&other.keys) {
                known.append(&column.gather(&new));
            }
        }
        let count = self.count();
        for (state, other) in self.states.iter_mut().zip(other.states) {
            state.resize(count);
            state.merge(other, &groups)?;
        }
        self.count_bytes();
        Ok(())
    }

    /// The groups whose keys belong to a part of the hashes.
    fn part(&self, number: usize) -> Groups {
        let mut part = Groups::at(self.grouping.clone(), None, 0);
        let mut rows = Vec::new();
        for (group, (hash, key)) in self.set.iter().enumerate() {
            if partition(hash, self.level) == number {
                part.set.insert(hash, key);
                rows.push(group as u32);
            }
        }
        part.keys = self.keys.iter().map(|column| column.gather(&rows)).collect();
        part.states = self.states.iter().map(|state| state.gather(&rows)).collect();
        part
    }

    fn count_bytes(&mut self) {
        self.bytes = self.set.memory()
            + self.keys.iter().map(Column::bytes).sum::<usize>()
            + self.states.iter().map(State::memory).sum::<usize>()
            + self.seen.iter().map(KeySet::memory).sum::<usize>();
    }

    /// The keys and results as rows.
    ///
    /// # Errors
    /// Errors of the aggregates.
    pub fn finish(mut self) -> Result<Vec<Batch>> {
        let count = self.count();
        let mut columns = std::mem::take(&mut self.keys);
        for (call, state) in self.grouping.calls.iter().zip(&mut self.states) {
            state.resize(count);
            columns.push(state.finish(call, count)?);
        }
        let whole = Batch::new(count, columns);
        Ok(split(&whole))
    }
}

/// The rows whose arguments are seen in their group for the first time.
fn new_rows(call: &Call, batch: &Batch, groups: Option<&[u32]>, seen: &mut KeySet) -> Result<Vec<u32>> {
    let groups = groups.map(|groups| groups.iter().map(|group| i64::from(*group)).collect());
    let groups = groups.unwrap_or_else(|| vec![0; batch.rows]);
    let mut columns = vec![(Arc::new(Column { data: Data::Int(groups), nulls: None }), Type::INT8)];
    for argument in &call.arguments {
        columns.push((argument.evaluate(batch)?.spread(batch.rows), argument.data_type()));
    }
    let keys = Keys::of_columns(&columns, batch.rows);
    Ok((0..batch.rows).filter(|row| seen.insert(keys.hash(*row), keys.get(*row)).1).map(|row| row as u32).collect())
}

/// A batch in pieces of the usual size.
pub fn split(whole: &Batch) -> Vec<Batch> {
    if whole.rows <= BATCH_ROWS {
        return if whole.rows == 0 { Vec::new() } else { vec![whole.clone()] };
    }
    let starts = (0..whole.rows).step_by(BATCH_ROWS);
    let piece = |start: usize| {
        let end = (start + BATCH_ROWS).min(whole.rows);
        whole.gather(&(start as u32..end as u32).collect::<Vec<_>>())
    };
    starts.map(piece).collect()
}
