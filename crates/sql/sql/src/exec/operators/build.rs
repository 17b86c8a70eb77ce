//! The build side of a join: its rows, and a hash table over them if the join has equalities.

use super::super::evaluate::is_null;
use super::super::key_table::KeyTable;
use super::super::scope::Run;
use crate::context::row_bytes;
use crate::error::Result;
use crate::plan::{Expr, Join, JoinKind};
use crate::types::{Datum, Row};
use pgtypes::memory::push;

/// A side of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

impl Side {
    /// This side's expression of an equality.
    fn of(self, (left, right): &(Expr, Expr)) -> &Expr {
        match self {
            Side::Left => left,
            Side::Right => right,
        }
    }

    fn other(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }

    /// Returns whether the join must record which of this side's rows have found a partner.
    fn keeps_unmatched(self, kind: JoinKind) -> bool {
        match self {
            Side::Right => matches!(kind, JoinKind::Right | JoinKind::Full),
            Side::Left => !matches!(kind, JoinKind::Inner | JoinKind::Right),
        }
    }
}

/// Rows of the build side.
pub(super) struct Build {
    side: Side,
    pub rows: Vec<Row>,
    /// Whether each row has found a partner; empty if the join does not need it.
    pub met: Vec<bool>,
    keeps_unmatched: bool,
    /// Rows by the values of the equalities.
    hash: Option<Hash>,
}

struct Hash {
    keys: KeyTable,
    /// The first and the last row of each key.
    ends: Vec<(usize, usize)>,
    /// For each row the next one with the same key.
    next: Vec<Option<usize>>,
    /// Bytes of the keys.
    bytes: usize,
    /// Whether it is only asked which keys there are: one row of each is enough.
    asks_only: bool,
    /// Whether a row has NULL in its key.
    has_null: bool,
}

/// Rows of the build side still to be compared with a row of the other side.
#[derive(Clone, Copy)]
pub(super) enum Candidates {
    /// This row and all after it.
    From(usize),
    /// This row and those after it with the same key.
    Chain(Option<usize>),
    /// None, but whether one is equal is unknown.
    Unknown,
}

impl Build {
    pub fn new(join: &Join, side: Side) -> Build {
        let types = join.equalities.iter().map(|equality| side.of(equality).data_type).collect();
        let hash = Hash {
            keys: KeyTable::new(types),
            ends: Vec::new(),
            next: Vec::new(),
            bytes: 0,
            asks_only: side == Side::Right && !join.kind.shows_right() && join.condition.is_none(),
            has_null: false,
        };
        Build {
            side,
            rows: Vec::new(),
            met: Vec::new(),
            keeps_unmatched: side.keeps_unmatched(join.kind),
            hash: (!join.equalities.is_empty()).then_some(hash),
        }
    }

    /// Adds a row and counts its memory.
    pub fn add(&mut self, join: &Join, row: Row, run: &mut Run<'_, '_>) -> Result<()> {
        run.hold(row_bytes(&row), "a join")?;
        self.add_counted(join, row, run)
    }

    /// Adds a row whose memory is already counted.
    pub fn add_counted(&mut self, join: &Join, row: Row, run: &mut Run<'_, '_>) -> Result<()> {
        if let Some(hash) = &mut self.hash {
            let side = self.side;
            let key =
                join.equalities.iter().map(|equality| run.evaluate(side.of(equality), &row)).collect::<Result<_>>()?;
            if !hash.add(key, self.rows.len(), run)? {
                run.exec.memory.give_back(row_bytes(&row));
                return Ok(());
            }
        }
        push(&mut self.rows, row)?;
        if self.keeps_unmatched {
            push(&mut self.met, false)?;
        }
        Ok(())
    }

    /// Returns the rows and drops the hash table.
    pub fn into_rows(self, run: &mut Run<'_, '_>) -> Vec<Row> {
        run.exec.memory.give_back(self.hash.map_or(0, |hash| hash.bytes));
        self.rows
    }

    /// Returns the rows that may match a row of the other side.
    pub fn candidates(&self, join: &Join, row: &[Datum], run: &mut Run<'_, '_>) -> Result<Candidates> {
        let Some(hash) = &self.hash else { return Ok(Candidates::From(0)) };
        let other = self.side.other();
        let key =
            join.equalities.iter().map(|equality| run.evaluate(other.of(equality), row)).collect::<Result<Row>>()?;
        let is_null = key.iter().any(is_null);
        let found = if is_null { None } else { hash.keys.find(&key) };
        if found.is_none() && join.kind.is_null_aware() && hash.is_unknown(is_null) {
            return Ok(Candidates::Unknown);
        }
        Ok(Candidates::Chain(found.map(|number| hash.ends[number].0)))
    }

    /// Returns the number of the next candidate.
    pub fn advance(&self, candidates: &mut Candidates) -> Option<usize> {
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
            Candidates::Unknown => None,
        }
    }
}

impl Hash {
    /// Adds a row by its key; `false` if nobody will ask for the row. A key with a NULL equals nothing.
    fn add(&mut self, key: Row, number: usize, run: &mut Run<'_, '_>) -> Result<bool> {
        if key.iter().any(is_null) {
            self.has_null = true;
            return self.keep(self.asks_only);
        }
        let bytes = row_bytes(&key);
        let (key, new) = self.keys.insert(key)?;
        if !self.keep(self.asks_only && !new)? {
            return Ok(false);
        }
        if new {
            run.hold(bytes, "a join")?;
            self.bytes += bytes;
            push(&mut self.ends, (number, number))?;
        } else {
            let last = &mut self.ends[key].1;
            self.next[*last] = Some(number);
            *last = number;
        }
        Ok(true)
    }

    /// Makes room for the next row, unless it is not kept.
    fn keep(&mut self, is_needless: bool) -> Result<bool> {
        if !is_needless {
            push(&mut self.next, None)?;
        }
        Ok(!is_needless)
    }

    /// Returns whether a key that equals none is not known to do so: NULL, or one beside NULL, unless there is nothing at all.
    fn is_unknown(&self, is_null: bool) -> bool {
        self.has_null || is_null && self.keys.len() > 0
    }
}
