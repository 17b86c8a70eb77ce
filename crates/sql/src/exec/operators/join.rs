//! Joins: for each left row, the right rows that may match it.
//!
//! They come from a hash table if there are equalities, from all right rows if not, and from a run of the right side of its
//! own if it is lateral (an index nested loop is a lateral scan whose path refers to the left row).

use super::super::evaluate::is_null;
use super::super::key_table::KeyTable;
use super::super::scope::Run;
use super::Node;
use crate::context::row_bytes;
use crate::error::Result;
use crate::plan::{Join, JoinKind};
use crate::types::{Datum, Row};

/// The state of a join.
pub struct JoinState {
    left: Node,
    right: Right,
    /// The left row at hand; what is appended of a right row is cut off again.
    row: Row,
    /// Whether there is a left row at hand, and whether it has met a partner.
    at_hand: Option<bool>,
    /// The right rows still to be compared with it.
    candidates: Candidates,
    /// Where the search for right rows without a partner is; `None` while there are left rows.
    lonely: Option<usize>,
}

/// The right side.
enum Right {
    /// Not yet read.
    Unread(Node),
    /// Read at once.
    Read(Box<Build>),
    /// Run for each left row; how much memory the run holds.
    Lateral { run: Option<Node>, bytes: usize },
}

/// The right rows.
struct Build {
    rows: Vec<Row>,
    /// For Right and Full: which rows have met a partner.
    met: Vec<bool>,
    /// Rows by the values of the equalities.
    hash: Option<Hash>,
}

struct Hash {
    keys: KeyTable,
    /// The first and the last row of each key.
    ends: Vec<(usize, usize)>,
    /// For each row the next one with the same key.
    next: Vec<Option<usize>>,
}

/// The right rows still to be compared with a left row.
#[derive(Clone, Copy)]
enum Candidates {
    /// This one and those behind it.
    From(usize),
    /// This one and those with the same key.
    Chain(Option<usize>),
}

/// What became of a candidate.
enum Met {
    /// A row of the result.
    Row(Row),
    /// It matched, which the left row needed to know.
    Silently,
    No,
}

impl JoinState {
    pub fn new(join: &Join) -> JoinState {
        let right =
            if join.lateral { Right::Lateral { run: None, bytes: 0 } } else { Right::Unread(Node::new(&join.right)) };
        JoinState {
            left: Node::new(&join.left),
            right,
            row: Row::new(),
            at_hand: None,
            candidates: Candidates::From(0),
            lonely: None,
        }
    }

    pub fn next(&mut self, join: &Join, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        if let Right::Unread(node) = &mut self.right {
            self.right = Right::Read(Box::new(Build::read(node, join, run)?));
        }
        loop {
            run.tick()?;
            if self.lonely.is_some() {
                return Ok(self.next_lonely(join));
            }
            let Some(met) = self.at_hand else {
                if !self.next_left(join, run)? {
                    self.lonely = Some(0);
                }
                continue;
            };
            match self.next_candidate(join, run)? {
                Some(candidate) => match self.compare(join, candidate, run)? {
                    Met::Row(row) => return Ok(Some(row)),
                    Met::Silently | Met::No => {}
                },
                None => {
                    self.at_hand = None;
                    if !met && matches!(join.kind, JoinKind::Left | JoinKind::Full) {
                        let mut row = self.take_left(join);
                        row.resize(join.left_width + join.right_width, Datum::Null);
                        return Ok(Some(row));
                    }
                    if !met && join.kind == JoinKind::Anti {
                        return Ok(Some(self.take_left(join)));
                    }
                }
            }
        }
    }

    fn take_left(&mut self, join: &Join) -> Row {
        self.row.truncate(join.left_width);
        std::mem::take(&mut self.row)
    }

    /// Takes the next left row at hand; `false` if there is none.
    fn next_left(&mut self, join: &Join, run: &mut Run<'_, '_>) -> Result<bool> {
        let Some(row) = self.left.next(&join.left, run)? else { return Ok(false) };
        self.row = row;
        self.at_hand = Some(false);
        match &mut self.right {
            Right::Read(build) => self.candidates = build.candidates(join, &self.row, run)?,
            Right::Lateral { run: node, bytes } => {
                run.context.memory.give_back(std::mem::take(bytes));
                run.started(&join.right);
                *node = Some(Node::new(&join.right));
            }
            Right::Unread(_) => {}
        }
        Ok(true)
    }

    /// The next right row to be compared: by number, or itself if the right side is lateral.
    fn next_candidate(&mut self, join: &Join, run: &mut Run<'_, '_>) -> Result<Option<Candidate>> {
        match &mut self.right {
            Right::Read(build) => Ok(build.advance(&mut self.candidates).map(Candidate::Number)),
            Right::Lateral { run: Some(node), bytes } => {
                self.row.truncate(join.left_width);
                let before = run.context.memory.used();
                let (result, row) = run.inside(std::mem::take(&mut self.row), |run| node.next(&join.right, run));
                *bytes += run.context.memory.used().saturating_sub(before);
                self.row = row;
                Ok(result?.map(Candidate::Row))
            }
            Right::Lateral { run: None, .. } | Right::Unread(_) => Ok(None),
        }
    }

    fn compare(&mut self, join: &Join, candidate: Candidate, run: &mut Run<'_, '_>) -> Result<Met> {
        self.row.truncate(join.left_width);
        match (&candidate, &self.right) {
            (Candidate::Number(number), Right::Read(build)) => self.row.extend_from_slice(&build.rows[*number]),
            (Candidate::Row(right), _) => self.row.extend_from_slice(right),
            (Candidate::Number(_), _) => {}
        }
        if !run.passes(join.condition.as_ref(), &self.row)? {
            return Ok(Met::No);
        }
        self.at_hand = Some(true);
        if let (Candidate::Number(number), Right::Read(build)) = (&candidate, &mut self.right)
            && let Some(met) = build.met.get_mut(*number)
        {
            *met = true;
        }
        match join.kind {
            JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full => Ok(Met::Row(self.row.clone())),
            JoinKind::Semi => {
                self.at_hand = None;
                Ok(Met::Row(self.take_left(join)))
            }
            JoinKind::Anti => {
                self.at_hand = None;
                Ok(Met::Silently)
            }
        }
    }

    /// The next right row without a partner, once the left side has ended.
    fn next_lonely(&mut self, join: &Join) -> Option<Row> {
        let (Some(at), Right::Read(build)) = (&mut self.lonely, &self.right) else { return None };
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

/// A right row to be compared with the left one.
enum Candidate {
    Number(usize),
    Row(Row),
}

impl Build {
    fn read(node: &mut Node, join: &Join, run: &mut Run<'_, '_>) -> Result<Build> {
        let types = join.equalities.iter().map(|(_, right)| right.data_type).collect();
        let hash = Hash { keys: KeyTable::new(types), ends: Vec::new(), next: Vec::new() };
        let mut build =
            Build { rows: Vec::new(), met: Vec::new(), hash: (!join.equalities.is_empty()).then_some(hash) };
        let keeps_lonely = matches!(join.kind, JoinKind::Right | JoinKind::Full);
        while let Some(row) = node.next(&join.right, run)? {
            run.context.memory.take(row_bytes(&row))?;
            if let Some(hash) = &mut build.hash {
                hash.add(join, &row, build.rows.len(), run)?;
            }
            build.rows.push(row);
        }
        if keeps_lonely {
            build.met = vec![false; build.rows.len()];
        }
        Ok(build)
    }

    fn candidates(&self, join: &Join, left: &[Datum], run: &mut Run<'_, '_>) -> Result<Candidates> {
        let Some(hash) = &self.hash else { return Ok(Candidates::From(0)) };
        let key = join.equalities.iter().map(|(side, _)| run.evaluate(side, left)).collect::<Result<Row>>()?;
        if key.iter().any(is_null) {
            return Ok(Candidates::Chain(None));
        }
        Ok(Candidates::Chain(hash.keys.find(&key).map(|number| hash.ends[number].0)))
    }

    fn advance(&self, candidates: &mut Candidates) -> Option<usize> {
        match candidates {
            Candidates::From(at) => {
                let number = *at;
                *at += 1;
                (number < self.rows.len()).then_some(number)
            }
            Candidates::Chain(at) => {
                let number = (*at)?;
                *at = self.hash.as_ref().and_then(|hash| hash.next[number]);
                Some(number)
            }
        }
    }
}

impl Hash {
    /// Adds a right row; one with a NULL among the values equals nothing.
    fn add(&mut self, join: &Join, row: &[Datum], number: usize, run: &mut Run<'_, '_>) -> Result<()> {
        self.next.push(None);
        let key = join.equalities.iter().map(|(_, side)| run.evaluate(side, row)).collect::<Result<Row>>()?;
        if key.iter().any(is_null) {
            return Ok(());
        }
        let bytes = row_bytes(&key);
        let (key, new) = self.keys.insert(key);
        if new {
            run.context.memory.take(bytes)?;
            self.ends.push((number, number));
        } else {
            let last = &mut self.ends[key].1;
            self.next[*last] = Some(number);
            *last = number;
        }
        Ok(())
    }
}
