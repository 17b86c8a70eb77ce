//! LIMIT, OFFSET, FETCH WITH TIES.

use super::super::order::{compare_values, sort_values};
use super::super::scope::Run;
use super::Node;
use crate::error::{Result, SqlError, state};
use crate::plan::{Expr, Plan, SortKey};
use crate::types::{Datum, Row};

/// The state of LIMIT.
pub struct LimitState {
    input: Node,
    started: bool,
    /// Number of rows still to return; `None` means all.
    left: Option<u64>,
    /// Sort keys of the last of them.
    last: Option<Row>,
}

impl LimitState {
    pub fn new(input: Node) -> LimitState {
        LimitState { input, started: false, left: None, last: None }
    }

    pub fn next(
        &mut self,
        input: &Plan,
        limit: Option<&Expr>,
        ties: Option<&[SortKey]>,
        offset: Option<&Expr>,
        run: &mut Run<'_, '_>,
    ) -> Result<Option<Row>> {
        if !self.started {
            self.start(input, limit, ties, offset, run)?;
        }
        match self.left {
            Some(0) => self.next_tie(input, ties, run),
            _ => {
                let row = self.input.next(input, run)?;
                if let (Some(left), Some(row)) = (&mut self.left, &row) {
                    *left -= 1;
                    if let (0, Some(keys)) = (*left, ties) {
                        self.last = Some(sort_values(row, keys, run)?);
                    }
                }
                Ok(row)
            }
        }
    }

    fn start(
        &mut self,
        input: &Plan,
        limit: Option<&Expr>,
        ties: Option<&[SortKey]>,
        offset: Option<&Expr>,
        run: &mut Run<'_, '_>,
    ) -> Result<()> {
        self.started = true;
        let negative_offset = (state::INVALID_ROW_COUNT_IN_OFFSET, "OFFSET must not be negative");
        let negative_limit = (state::INVALID_ROW_COUNT_IN_LIMIT, "LIMIT must not be negative");
        let offset = count(offset, negative_offset, run)?.unwrap_or(0);
        self.left = count(limit, negative_limit, run)?;
        let wanted = self.left.and_then(|left| left.checked_add(offset)).and_then(|rows| usize::try_from(rows).ok());
        if let (Some(wanted), None) = (wanted, ties) {
            self.input.bound(wanted);
        }
        if self.left == Some(0) {
            return Ok(());
        }
        for _ in 0..offset {
            if self.input.next(input, run)?.is_none() {
                self.left = Some(0);
                break;
            }
        }
        Ok(())
    }

    /// WITH TIES: returns rows whose sort keys equal those of the last row.
    fn next_tie(&mut self, input: &Plan, ties: Option<&[SortKey]>, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        let (Some(keys), Some(last)) = (ties, &self.last) else { return Ok(None) };
        let Some(row) = self.input.next(input, run)? else { return Ok(None) };
        if compare_values(keys, &sort_values(&row, keys, run)?, last).is_eq() {
            return Ok(Some(row));
        }
        self.last = None;
        Ok(None)
    }
}

/// Row count from LIMIT. NULL means no limit.
fn count(
    expression: Option<&Expr>,
    negative: (&'static str, &'static str),
    run: &mut Run<'_, '_>,
) -> Result<Option<u64>> {
    let Some(expression) = expression else { return Ok(None) };
    match run.evaluate(expression, &[])? {
        Datum::Null => Ok(None),
        Datum::Int8(rows) => match u64::try_from(rows) {
            Ok(rows) => Ok(Some(rows)),
            Err(_) => Err(SqlError::new(negative.0, negative.1)),
        },
        _ => Err(SqlError::new(state::INTERNAL_ERROR, "a number of rows is not of type bigint")),
    }
}
