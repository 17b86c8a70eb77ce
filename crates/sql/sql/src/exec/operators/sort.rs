//! Sorting: all rows, or the first few when nobody will ask for more.

use super::super::order::{Keyed, compare_keyed, keyed};
use super::super::scope::Run;
use super::Node;
use crate::error::Result;
use crate::plan::{Plan, SortKey};
use crate::types::Row;

/// The state of a sort.
pub struct SortState {
    input: Node,
    sorted: Option<std::vec::IntoIter<Keyed>>,
    /// How many rows will be asked for.
    bound: Option<usize>,
}

impl SortState {
    pub fn new(input: Node) -> SortState {
        SortState { input, sorted: None, bound: None }
    }

    /// Only the first `rows` will be asked for.
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
        run.context.memory.give_back(next.bytes());
        Ok(Some(next.row))
    }

    fn collect(&mut self, input: &Plan, keys: &[SortKey], run: &mut Run<'_, '_>) -> Result<Vec<Keyed>> {
        let mut rows: Vec<Keyed> = Vec::new();
        while let Some(row) = self.input.next(input, run)? {
            let row = keyed(row, keys, run)?;
            run.hold(row.bytes(), "a sort")?;
            rows.push(row);
            // A quarter more than wanted is kept before the worst go: one sort for each quarter.
            if let Some(bound) = self.bound
                && rows.len() >= bound.saturating_add((bound / 4).max(64))
            {
                rows.sort_by(|left, right| compare_keyed(keys, left, right));
                let dropped = rows.drain(bound..).map(|row| row.bytes()).sum();
                run.context.memory.give_back(dropped);
            }
        }
        sort(&mut rows, keys, run)?;
        Ok(rows)
    }
}

/// Rows that are sorted without a look at the cancel flag: about a hundredth of a second.
const RUN: usize = 8192;

/// Sorts rows, stably: runs first, and then longer and longer ones that each consist of two, which the library's sort merges.
/// In between it looks whether somebody wants the statement to stop; no step is longer than one merge of all rows.
fn sort(rows: &mut [Keyed], keys: &[SortKey], run: &mut Run<'_, '_>) -> Result<()> {
    let mut length = RUN;
    loop {
        for part in rows.chunks_mut(length) {
            run.context.check_cancel()?;
            part.sort_by(|left, right| compare_keyed(keys, left, right));
        }
        if length >= rows.len() {
            return Ok(());
        }
        length *= 2;
    }
}
