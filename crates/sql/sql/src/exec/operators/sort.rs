//! Sorting: all rows, or only the first few if a limit is known.

use super::super::order::{Keyed, compare_keyed, keyed, sort};
use super::super::scope::Run;
use super::Node;
use crate::error::Result;
use crate::plan::{Plan, SortKey};
use crate::types::Row;
use pgtypes::memory::push;

/// Number of rows kept beyond the limit before they are sorted and the worst dropped: a quarter, within these bounds.
const LEAST_SPARE: usize = 64;
const MOST_SPARE: usize = 1 << 16;

/// The state of a sort.
pub struct SortState {
    input: Node,
    sorted: Option<std::vec::IntoIter<Keyed>>,
    /// Maximum number of rows that will be read.
    bound: Option<usize>,
}

impl SortState {
    pub fn new(input: Node) -> SortState {
        SortState { input, sorted: None, bound: None }
    }

    /// Announces that only the first `rows` will be read.
    pub fn bound(&mut self, rows: usize) {
        self.bound = Some(rows);
    }

    pub fn next(&mut self, input: &Plan, keys: &[SortKey], run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        let sorted = match &mut self.sorted {
            Some(sorted) => sorted,
            None => {
                let rows = self.collect(input, keys, run)?;
                self.sorted.insert(rows.into_iter())
            }
        };
        let Some(next) = sorted.next() else { return Ok(None) };
        run.exec.memory.give_back(next.bytes());
        Ok(Some(next.row))
    }

    fn collect(&mut self, input: &Plan, keys: &[SortKey], run: &mut Run<'_, '_>) -> Result<Vec<Keyed>> {
        let mut rows: Vec<Keyed> = Vec::new();
        // Position of the last wanted row, once more than enough have been sorted. Later rows must precede it to be kept.
        let mut last_wanted = None;
        while let Some(row) = self.input.next(input, run)? {
            let row = keyed(row, keys, run)?;
            if last_wanted.is_some_and(|last: usize| compare_keyed(keys, &row, &rows[last]).is_ge()) {
                continue;
            }
            run.hold(row.bytes(), "a sort")?;
            push(&mut rows, row)?;
            if let Some(bound) = self.bound
                && rows.len() >= bound.saturating_add((bound / 4).clamp(LEAST_SPARE, MOST_SPARE))
            {
                sort(&mut rows, |left, right| compare_keyed(keys, left, right))?;
                let dropped = rows.drain(bound..).map(|row| row.bytes()).sum();
                run.exec.memory.give_back(dropped);
                last_wanted = bound.checked_sub(1);
            }
        }
        sort(&mut rows, |left, right| compare_keyed(keys, left, right))?;
        Ok(rows)
    }
}
