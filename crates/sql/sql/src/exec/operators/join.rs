//! Joins: for each left row, the right rows that may match it.
//!
//! They come from a hash table if there are equalities, otherwise from all right rows. A lateral right side is run again for
//! each left row (an index nested loop is a lateral scan whose path refers to the left row).
//!
//! If the hash table grows large, both sides are read in turn, row by row, and the side that ends first becomes the build side.
//! If that is the left side, `left_build_join.rs` runs the join.

use super::super::scope::Run;
use super::Node;
use super::build::{Build, Candidates, Side};
use super::left_build_join::LeftBuildJoin;
use crate::context::row_bytes;
use crate::error::Result;
use crate::plan::{Join, JoinKind, Plan};
use crate::types::{Datum, Row};
use pgtypes::memory::push;

/// The state of a join.
pub struct JoinState {
    left: ReadAhead,
    right: Right,
    /// The current left row. Columns of a right row are appended and truncated again.
    row: Row,
    /// `None` if there is no current left row; otherwise whether it has found a partner.
    current: Option<bool>,
    /// Of a mark join: whether for some right row it is unknown that it is a partner.
    is_unknown: bool,
    /// Right rows still to be compared with it.
    candidates: Candidates,
    /// Position of the search for right rows without a partner; `None` while there are left rows.
    unmatched: Option<usize>,
}

/// The right side.
enum Right {
    /// Not yet read.
    Unread(Node),
    /// Read completely.
    Read(Box<Build>),
    /// The left side is the build side instead.
    LeftBuildJoin(Box<LeftBuildJoin>),
    /// Run for each left row; `bytes` is the memory that the run holds.
    Lateral { run: Option<Node>, bytes: usize },
}

/// Outcome of comparing a candidate.
enum CandidateOutcome {
    /// A row of the result.
    Row(Row),
    /// It matched; the result has no row for the match, only for whether there is one.
    Silently,
    No,
}

/// A side with some rows read ahead.
pub(super) struct ReadAhead {
    rows: std::vec::IntoIter<Row>,
    node: Node,
}

impl ReadAhead {
    pub fn new(rows: Vec<Row>, node: Node) -> ReadAhead {
        ReadAhead { rows: rows.into_iter(), node }
    }

    /// Reads a row ahead. Returns whether there is one.
    fn has_rows(&mut self, plan: &Plan, run: &mut Run<'_, '_>) -> Result<bool> {
        if self.rows.len() == 0 {
            let Some(row) = self.node.next(plan, run)? else { return Ok(false) };
            run.hold(row_bytes(&row), "a join")?;
            self.rows = vec![row].into_iter();
        }
        Ok(true)
    }

    pub fn next(&mut self, plan: &Plan, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        let Some(row) = self.rows.next() else { return self.node.next(plan, run) };
        run.exec.memory.give_back(row_bytes(&row));
        Ok(Some(row))
    }
}

/// Share of a statement's memory (as a divisor) that a hash table may use before the left side is considered.
const BUILD_RIGHT_SHARE: usize = 16;

/// Reads the right side, or the left side if it is the smaller of two large ones.
fn read(left: &mut ReadAhead, node: &mut Node, join: &Join, run: &mut Run<'_, '_>) -> Result<Right> {
    let unquestioned = run.exec.memory.used() + run.exec.memory.limit() / BUILD_RIGHT_SHARE;
    // NOT IN, and a mark, tell something of all right rows together.
    let tells = join.kind.is_null_aware() || join.kind.is_mark();
    let has_choice = !join.equalities.is_empty() && !join.keeps_order && !tells;
    let mut build = Build::new(join, Side::Right);
    while !has_choice || run.exec.memory.used() <= unquestioned {
        let Some(row) = node.next(&join.right, run)? else { return Ok(Right::Read(Box::new(build))) };
        build.add(join, row, run)?;
    }
    let mut lefts: Vec<Row> = std::mem::take(&mut left.rows).collect();
    loop {
        let Some(row) = left.node.next(&join.left, run)? else {
            let rights = ReadAhead::new(build.into_rows(run), std::mem::replace(node, Node::Values(0)));
            return Ok(Right::LeftBuildJoin(Box::new(LeftBuildJoin::new(join, lefts, rights, run)?)));
        };
        run.hold(row_bytes(&row), "a join")?;
        push(&mut lefts, row)?;
        let Some(row) = node.next(&join.right, run)? else {
            left.rows = lefts.into_iter();
            return Ok(Right::Read(Box::new(build)));
        };
        build.add(join, row, run)?;
    }
}

impl JoinState {
    pub fn new(join: &Join) -> JoinState {
        let right =
            if join.lateral { Right::Lateral { run: None, bytes: 0 } } else { Right::Unread(Node::new(&join.right)) };
        JoinState {
            left: ReadAhead { rows: Vec::new().into_iter(), node: Node::new(&join.left) },
            right,
            row: Row::new(),
            current: None,
            is_unknown: false,
            candidates: Candidates::From(0),
            unmatched: None,
        }
    }

    pub fn next(&mut self, join: &Join, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        if let Right::Unread(node) = &mut self.right {
            // Without left rows nothing of the right side is read, so that nothing depends on it.
            let needs_left = matches!(join.kind, JoinKind::Inner | JoinKind::Left) || !join.kind.shows_right();
            if needs_left && !self.left.has_rows(&join.left, run)? {
                self.right = Right::Read(Box::new(Build::new(join, Side::Right)));
                self.unmatched = Some(0);
                return Ok(None);
            }
            self.right = read(&mut self.left, node, join, run)?;
        }
        if let Right::LeftBuildJoin(swapped) = &mut self.right {
            return swapped.next(join, run);
        }
        loop {
            run.tick()?;
            if self.unmatched.is_some() {
                return Ok(self.next_unmatched(join));
            }
            let Some(met) = self.current else {
                if !self.next_left(join, run)? {
                    self.unmatched = Some(0);
                }
                continue;
            };
            match self.next_candidate(join, run)? {
                Some(candidate) => match self.compare(join, candidate, run)? {
                    CandidateOutcome::Row(row) => return Ok(Some(row)),
                    CandidateOutcome::Silently | CandidateOutcome::No => {}
                },
                None => {
                    self.current = None;
                    if !met && matches!(join.kind, JoinKind::Left | JoinKind::Full) {
                        let mut row = self.take_left(join);
                        row.resize(join.left_width + join.right_width, Datum::Null);
                        return Ok(Some(row));
                    }
                    let is_known = !self.is_unknown && !matches!(self.candidates, Candidates::Unknown);
                    if !met && is_known && matches!(join.kind, JoinKind::Anti | JoinKind::NotIn) {
                        return Ok(Some(self.take_left(join)));
                    }
                    if join.kind.is_mark() {
                        return Ok(Some(self.marked(join, is_known.then_some(false))));
                    }
                }
            }
        }
    }

    fn take_left(&mut self, join: &Join) -> Row {
        self.row.truncate(join.left_width);
        std::mem::take(&mut self.row)
    }

    /// Advances to the next left row; `false` if there is none.
    fn next_left(&mut self, join: &Join, run: &mut Run<'_, '_>) -> Result<bool> {
        let Some(row) = self.left.next(&join.left, run)? else { return Ok(false) };
        self.row = row;
        self.current = Some(false);
        self.is_unknown = false;
        match &mut self.right {
            Right::Read(build) => self.candidates = build.candidates(join, &self.row, run)?,
            Right::Lateral { run: node, bytes } => {
                run.exec.memory.give_back(std::mem::take(bytes));
                run.started(&join.right);
                *node = Some(Node::new(&join.right));
            }
            Right::Unread(_) | Right::LeftBuildJoin(_) => {}
        }
        Ok(true)
    }

    /// Returns the next right row to compare: by number, or the row itself if the right side is lateral.
    fn next_candidate(&mut self, join: &Join, run: &mut Run<'_, '_>) -> Result<Option<Candidate>> {
        match &mut self.right {
            Right::Read(build) => Ok(build.advance(&mut self.candidates).map(Candidate::Number)),
            Right::Lateral { run: Some(node), bytes } => {
                self.row.truncate(join.left_width);
                let before = run.exec.memory.used();
                let (result, row) = run.inside(std::mem::take(&mut self.row), |run| node.next(&join.right, run));
                *bytes += run.exec.memory.used().saturating_sub(before);
                self.row = row;
                Ok(result?.map(Candidate::Row))
            }
            Right::Lateral { run: None, .. } | Right::Unread(_) | Right::LeftBuildJoin(_) => Ok(None),
        }
    }

    fn compare(&mut self, join: &Join, candidate: Candidate, run: &mut Run<'_, '_>) -> Result<CandidateOutcome> {
        self.row.truncate(join.left_width);
        match (&candidate, &self.right) {
            (Candidate::Number(number), Right::Read(build)) => self.row.extend_from_slice(&build.rows[*number]),
            (Candidate::Row(right), _) => self.row.extend_from_slice(right),
            (Candidate::Number(_), _) => {}
        }
        let is_partner = self.is_partner(join, run)?;
        if is_partner.is_none() && join.kind.is_mark() {
            self.is_unknown = true;
        }
        // What may be a partner counts for NOT IN.
        if !is_partner.unwrap_or(join.kind == JoinKind::NotIn) {
            run.count_removed(join);
            return Ok(CandidateOutcome::No);
        }
        self.current = Some(true);
        if let (Candidate::Number(number), Right::Read(build)) = (&candidate, &mut self.right)
            && let Some(met) = build.met.get_mut(*number)
        {
            *met = true;
        }
        match join.kind {
            JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full => {
                Ok(CandidateOutcome::Row(self.row.clone()))
            }
            JoinKind::Semi => {
                self.current = None;
                Ok(CandidateOutcome::Row(self.take_left(join)))
            }
            JoinKind::Anti | JoinKind::NotIn => {
                self.current = None;
                Ok(CandidateOutcome::Silently)
            }
            JoinKind::Mark | JoinKind::MarkIn => {
                self.current = None;
                Ok(CandidateOutcome::Row(self.marked(join, Some(true))))
            }
        }
    }

    /// Returns whether the join's condition holds for the current row.
    fn is_partner(&self, join: &Join, run: &mut Run<'_, '_>) -> Result<Option<bool>> {
        join.condition.as_ref().map_or(Ok(Some(true)), |condition| run.truth(condition, &self.row))
    }

    /// The current left row with a mark behind it.
    fn marked(&mut self, join: &Join, mark: Option<bool>) -> Row {
        let mut row = self.take_left(join);
        row.push(mark.map_or(Datum::Null, Datum::Bool));
        row
    }

    /// Returns the next right row without a partner, after the left side has ended.
    fn next_unmatched(&mut self, join: &Join) -> Option<Row> {
        let (Some(at), Right::Read(build)) = (&mut self.unmatched, &self.right) else { return None };
        while let Some(met) = build.met.get(*at) {
            let number = *at;
            *at += 1;
            if !met {
                let mut row = vec![Datum::Null; join.left_width];
                row.extend_from_slice(&build.rows[number]);
                return Some(row);
            }
        }
        None
    }
}

/// A right row to compare with the left one.
enum Candidate {
    Number(usize),
    Row(Row),
}
