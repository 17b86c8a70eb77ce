//! DISTINCT, DISTINCT ON.

use super::super::key_table::{KeyTable, same};
use super::super::scope::Run;
use super::Node;
use crate::context::row_bytes;
use crate::error::Result;
use crate::plan::{Expr, Plan};
use crate::types::{Row, Type};

/// The state of DISTINCT.
pub struct DistinctState {
    input: Node,
    seen: Option<KeyTable>,
    /// The columns of DISTINCT ON in the last row.
    last: Option<Row>,
}

impl DistinctState {
    pub fn new(input: Node) -> DistinctState {
        DistinctState { input, seen: None, last: None }
    }

    pub fn next(&mut self, input: &Plan, on: Option<&[Expr]>, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        match on {
            Some(on) => self.next_on(input, on, run),
            None => self.next_new(input, run),
        }
    }

    fn next_new(&mut self, input: &Plan, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        while let Some(row) = self.input.next(input, run)? {
            let seen = self.seen.get_or_insert_with(|| KeyTable::new(run.output_types(input)));
            if seen.find(&row).is_none() {
                run.hold(row_bytes(&row), "DISTINCT")?;
                seen.insert(row.clone())?;
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    fn next_on(&mut self, input: &Plan, on: &[Expr], run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        let types: Vec<Type> = on.iter().map(|column| column.data_type).collect();
        while let Some(row) = self.input.next(input, run)? {
            let values = run.evaluate_all(on, &row)?;
            if self.last.as_ref().is_none_or(|last| !same(&types, last, &values)) {
                self.last = Some(values);
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}
