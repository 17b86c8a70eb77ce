//! A hash join whose build side is the left side, because that is the smaller one: each right row is compared with the left
//! rows of its key. Rows are returned in the order of the right side, followed by left rows without a partner. NOT IN and mark joins are
//! never run so.

use super::super::scope::Run;
use super::build::{Build, Candidates, Side};
use super::join::ReadAhead;
use crate::error::Result;
use crate::plan::{Join, JoinKind};
use crate::types::{Datum, Row};

/// The state of such a join.
pub(super) struct LeftBuildJoin {
    left: Build,
    right: ReadAhead,
    /// The current right row, and whether it has found a partner.
    current: Option<(Row, bool)>,
    /// Left rows still to be compared with it.
    candidates: Candidates,
    /// Position of the search for left rows to return at the end; `None` while there are right rows.
    unmatched: Option<usize>,
}

impl LeftBuildJoin {
    /// Builds from the whole left side, whose rows are already counted.
    pub fn new(join: &Join, lefts: Vec<Row>, right: ReadAhead, run: &mut Run<'_, '_>) -> Result<LeftBuildJoin> {
        let mut left = Build::new(join, Side::Left);
        for row in lefts {
            left.add_counted(join, row, run)?;
        }
        Ok(LeftBuildJoin { left, right, current: None, candidates: Candidates::Chain(None), unmatched: None })
    }

    pub fn next(&mut self, join: &Join, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        loop {
            run.tick()?;
            if self.unmatched.is_some() {
                return Ok(self.next_unmatched(join));
            }
            if self.current.is_none() && !self.next_right(join, run)? {
                self.unmatched = Some(0);
                continue;
            }
            match self.left.advance(&mut self.candidates) {
                Some(number) => {
                    if let Some(row) = self.compare(join, number, run)? {
                        return Ok(Some(row));
                    }
                }
                None => {
                    let unmatched = self.current.take().filter(|(_, met)| !met);
                    if let (Some((right, _)), JoinKind::Right | JoinKind::Full) = (unmatched, join.kind) {
                        let mut row = vec![Datum::Null; join.left_width];
                        row.extend(right);
                        return Ok(Some(row));
                    }
                }
            }
        }
    }

    /// Advances to the next right row; `false` if there is none.
    fn next_right(&mut self, join: &Join, run: &mut Run<'_, '_>) -> Result<bool> {
        let Some(row) = self.right.next(&join.right, run)? else { return Ok(false) };
        self.candidates = self.left.candidates(join, &row, run)?;
        self.current = Some((row, false));
        Ok(true)
    }

    /// Compares the current right row with a left row. Returns the join's row for the pair.
    fn compare(&mut self, join: &Join, number: usize, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        let once = matches!(join.kind, JoinKind::Semi | JoinKind::Anti);
        let Some((right, met)) = &mut self.current else { return Ok(None) };
        if once && self.left.met[number] {
            return Ok(None);
        }
        let mut row = self.left.rows[number].clone();
        row.extend_from_slice(right);
        if !run.passes(join.condition.as_ref(), &row)? {
            run.count_removed(join);
            return Ok(None);
        }
        *met = true;
        if let Some(met) = self.left.met.get_mut(number) {
            *met = true;
        }
        match join.kind {
            JoinKind::Anti | JoinKind::NotIn | JoinKind::Mark | JoinKind::MarkIn => return Ok(None),
            JoinKind::Semi => row.truncate(join.left_width),
            JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full => {}
        }
        Ok(Some(row))
    }

    /// Returns the next left row without a partner, after the right side has ended.
    fn next_unmatched(&mut self, join: &Join) -> Option<Row> {
        let at = self.unmatched.as_mut()?;
        if join.kind == JoinKind::Semi {
            return None;
        }
        let number = *at + self.left.met.get(*at..)?.iter().position(|met| !met)?;
        *at = number + 1;
        let mut row = self.left.rows[number].clone();
        if !join.kind.asks_only() {
            row.resize(join.left_width + join.right_width, Datum::Null);
        }
        Some(row)
    }
}
