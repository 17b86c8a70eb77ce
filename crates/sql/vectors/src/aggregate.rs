//! Groups and aggregates, by hashing.

mod state;

use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::expression::Expression;
use crate::keys::{KeySet, Keys};
use pgtypes::functions::Aggregate;
use pgtypes::{Result, Type};
use state::State;
use std::sync::Arc;

/// A call of an aggregate.
#[derive(Clone)]
pub struct Call {
    /// Which.
    pub aggregate: &'static Aggregate,
    /// Its arguments.
    pub arguments: Vec<Expression>,
    /// FILTER
    pub filter: Option<Expression>,
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
}

impl Call {
    /// Returns whether groups that were made of parts of the rows can be put together, with the same result whatever the parts.
    pub fn is_mergeable(&self) -> bool {
        State::new(self).is_mergeable()
    }
}

impl Grouping {
    /// Returns whether all of its calls are [`Call::is_mergeable`], and equal keys look the same.
    pub fn is_mergeable(&self) -> bool {
        let looks_the_same = |key: &Expression| {
            let known = [Type::INT2, Type::INT4, Type::INT8, Type::BOOL, Type::TEXT, Type::VARCHAR, Type::DATE];
            known.contains(&key.data_type())
                || [Type::TIMESTAMP, Type::TIMESTAMPTZ, Type::OID].contains(&key.data_type())
        };
        self.calls.iter().all(Call::is_mergeable) && self.keys.iter().all(looks_the_same)
    }
}

/// The groups of some rows.
pub struct Groups {
    grouping: Arc<Grouping>,
    set: KeySet,
    /// The values of the keys, by number of the group.
    keys: Vec<Column>,
    states: Vec<State>,
    bytes: usize,
}

impl Groups {
    /// No groups.
    pub fn new(grouping: Arc<Grouping>) -> Groups {
        let mut groups = Groups {
            set: KeySet::default(),
            keys: grouping.keys.iter().map(|key| Column::new(key.data_type())).collect(),
            states: grouping.calls.iter().map(State::new).collect(),
            bytes: 0,
            grouping,
        };
        groups.add_lone_group();
        groups
    }

    /// Without keys there is one group.
    fn add_lone_group(&mut self) {
        if self.grouping.keys.is_empty() {
            self.states.iter_mut().for_each(|state| state.resize(1));
        }
    }

    /// Number of groups.
    pub fn count(&self) -> usize {
        if self.grouping.keys.is_empty() { 1 } else { self.set.count() }
    }

    /// Approximate bytes of memory.
    pub fn memory(&self) -> usize {
        self.bytes
    }

    /// Adds the rows of a batch to their groups. If `grows` is false, rows of new groups are left out and returned.
    ///
    /// # Errors
    /// Errors of the expressions and the aggregates.
    pub fn add(&mut self, batch: &Batch, grows: bool) -> Result<Vec<u32>> {
        if batch.rows == 0 {
            return Ok(Vec::new());
        }
        let (mut groups, mut left_out) = (vec![0; batch.rows], Vec::new());
        if !self.grouping.keys.is_empty() {
            let columns = self.key_columns(batch)?;
            let types = self.grouping.keys.iter().map(Expression::data_type);
            let pairs: Vec<(&Column, Type)> = columns.iter().map(|column| &**column).zip(types).collect();
            let keys = Keys::of_columns(&pairs, batch.rows);
            let mut first = Vec::new();
            let mut kept = Vec::with_capacity(batch.rows);
            groups.clear();
            for row in 0..batch.rows {
                let (hash, key) = (keys.hash(row), keys.get(row));
                let number = if grows {
                    let (number, new) = self.set.insert(hash, key);
                    if new {
                        first.push(row as u32);
                    }
                    Some(number)
                } else {
                    self.set.find(hash, key)
                };
                match number {
                    Some(number) => {
                        groups.push(number);
                        kept.push(row as u32);
                    }
                    None => left_out.push(row as u32),
                }
            }
            for (known, column) in self.keys.iter_mut().zip(&columns) {
                if !first.is_empty() {
                    known.append(&column.gather(&first));
                }
            }
            if !left_out.is_empty() {
                self.accumulate(&batch.gather(&kept), &groups)?;
                return Ok(left_out);
            }
        }
        self.accumulate(batch, &groups)?;
        Ok(left_out)
    }

    fn key_columns(&self, batch: &Batch) -> Result<Vec<Arc<Column>>> {
        self.grouping.keys.iter().map(|key| Ok(key.evaluate(batch)?.spread(batch.rows))).collect()
    }

    fn accumulate(&mut self, batch: &Batch, groups: &[u32]) -> Result<()> {
        let count = self.count();
        for (call, state) in self.grouping.calls.iter().zip(&mut self.states) {
            state.resize(count);
            match &call.filter {
                None => state.add(call, batch, groups)?,
                Some(filter) => {
                    let rows = filter.selected(batch)?;
                    let groups: Vec<u32> = rows.iter().map(|row| groups[*row as usize]).collect();
                    state.add(call, &batch.gather(&rows), &groups)?;
                }
            }
        }
        self.bytes = self.set.memory()
            + self.keys.iter().map(Column::bytes).sum::<usize>()
            + self.states.iter().map(State::memory).sum::<usize>();
        Ok(())
    }

    /// Adds the groups of other rows. All calls are mergeable.
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
        Ok(())
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
