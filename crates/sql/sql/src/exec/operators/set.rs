//! UNION, INTERSECT, EXCEPT.

use super::super::key_table::KeyTable;
use super::super::scope::Run;
use super::Node;
use crate::context::row_bytes;
use crate::error::Result;
use crate::plan::{Plan, SetOperation};
use crate::types::Row;
use pgtypes::memory::push;

/// The state of a set operation.
pub struct SetState {
    left: Node,
    right: Node,
    /// Whether UNION has reached its right side.
    on_right: bool,
    /// Rows of UNION so far; for the others, the right side.
    rows: Option<KeyTable>,
    /// For INTERSECT and EXCEPT: remaining count of each row of `rows`.
    counts: Vec<u64>,
}

impl SetState {
    pub fn new(left: Node, right: Node) -> SetState {
        SetState { left, right, on_right: false, rows: None, counts: Vec::new() }
    }

    pub fn next(
        &mut self,
        operation: SetOperation,
        all: bool,
        left: &Plan,
        right: &Plan,
        run: &mut Run<'_, '_>,
    ) -> Result<Option<Row>> {
        match (operation, all) {
            (SetOperation::Union, true) => self.next_of_either(left, right, run),
            (SetOperation::Union, false) => self.next_of_union(left, right, run),
            (SetOperation::Intersect, _) => self.next_by_count(true, all, left, right, run),
            (SetOperation::Except, _) => self.next_by_count(false, all, left, right, run),
        }
    }

    fn next_of_either(&mut self, left: &Plan, right: &Plan, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        if !self.on_right {
            if let Some(row) = self.left.next(left, run)? {
                return Ok(Some(row));
            }
            self.on_right = true;
        }
        self.right.next(right, run)
    }

    fn next_of_union(&mut self, left: &Plan, right: &Plan, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        while let Some(row) = self.next_of_either(left, right, run)? {
            let seen = self.rows.get_or_insert_with(|| KeyTable::new(run.output_types(left)));
            if seen.find(&row).is_none() {
                run.hold(row_bytes(&row), "UNION, INTERSECT or EXCEPT")?;
                seen.insert(row.clone())?;
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// INTERSECT returns a left row while the right side has copies of it left, EXCEPT when it has none left.
    fn next_by_count(
        &mut self,
        intersect: bool,
        all: bool,
        left: &Plan,
        right: &Plan,
        run: &mut Run<'_, '_>,
    ) -> Result<Option<Row>> {
        if self.rows.is_none() {
            self.rows = Some(self.count_right(left, right, run)?);
        }
        while let (Some(row), Some(rows)) = (self.left.next(left, run)?, &mut self.rows) {
            let found = rows.find(&row);
            let count = match found {
                Some(number) => &mut self.counts[number],
                None if intersect => continue,
                None => {
                    if !all {
                        // The same row is not returned again.
                        run.hold(row_bytes(&row), "UNION, INTERSECT or EXCEPT")?;
                        rows.insert(row.clone())?;
                        push(&mut self.counts, 1)?;
                    }
                    return Ok(Some(row));
                }
            };
            let given = *count > 0;
            // Without ALL, INTERSECT returns a row once, and EXCEPT never returns a row of the right side.
            match (all, intersect) {
                (true, _) => *count = count.saturating_sub(1),
                (false, true) => *count = 0,
                (false, false) => {}
            }
            if given == intersect {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    fn count_right(&mut self, left: &Plan, right: &Plan, run: &mut Run<'_, '_>) -> Result<KeyTable> {
        let mut rows = KeyTable::new(run.output_types(left));
        while let Some(row) = self.right.next(right, run)? {
            let bytes = row_bytes(&row);
            let (number, new) = rows.insert(row)?;
            if new {
                run.hold(bytes, "UNION, INTERSECT or EXCEPT")?;
                push(&mut self.counts, 0)?;
            }
            self.counts[number] += 1;
        }
        Ok(rows)
    }
}
