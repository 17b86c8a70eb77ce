//! NOT IN, and mark joins: whether a row that has found no partner is known to have none. Unknown is whether NULL equals a value, on either
//! side; of no values at all nothing is unknown.

use super::{JoinKind, JoinRule, Table};
use crate::batch::Batch;
use crate::column::{Column, Data};
use crate::expression::Expression;
use crate::keys::Keys;
use pgtypes::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What is known of all built rows together, of whichever part of the keys. Relaxed: it is read when the threads that set it have been
/// joined.
#[derive(Default)]
pub(super) struct Seen {
    has_rows: AtomicBool,
    has_null: AtomicBool,
}

impl Seen {
    /// Takes notice of built rows.
    pub fn note(&self, keys: &Keys) {
        self.has_rows.fetch_or(keys.count() > 0, Relaxed);
        if !self.has_null.load(Relaxed) && (0..keys.count()).any(|row| keys.has_null(row)) {
            self.has_null.store(true, Relaxed);
        }
    }

    /// Returns whether it is unknown that a row without an equal has none.
    pub fn is_unknown(&self, is_null: bool) -> bool {
        self.has_rows.load(Relaxed) && (is_null || self.has_null.load(Relaxed))
    }
}

/// What the rows of a batch of the probing side have found.
pub(super) struct Found {
    /// Which have a partner; empty if nobody asks.
    pub met: Vec<bool>,
    /// For which it is unknown whether another row is one; empty if that cannot be.
    unknown: Vec<bool>,
}

impl Found {
    /// Nothing so far.
    pub fn new(rule: &JoinRule, rows: usize) -> Found {
        let of = |is_asked: bool| vec![false; if is_asked { rows } else { 0 }];
        let met = of(rule.kind != JoinKind::Inner);
        Found { met, unknown: of(rule.kind == JoinKind::Mark && rule.condition.is_some()) }
    }

    /// Takes notice of a mark join's condition over pairs of which the probing rows are these.
    pub fn note(&mut self, condition: &Expression, pairs: &Batch, probing: &[u32]) -> Result<()> {
        let column = condition.evaluate(pairs)?.spread(pairs.rows);
        for (at, &row) in probing.iter().enumerate() {
            match &column.data {
                _ if column.is_null(at) => self.unknown[row as usize] = true,
                Data::Bool(truths) => self.met[row as usize] |= truths[at],
                _ => {}
            }
        }
        Ok(())
    }
}

impl Table {
    /// All rows of a probing batch, with what they have found behind them.
    pub(super) fn marked(&self, batch: &Batch, keys: &Keys, found: Found) -> Batch {
        let mut columns = batch.with_columns(&self.join.shown.probing).columns;
        if self.join.shows_mark {
            let Found { met, unknown } = found;
            let is_unknown = |row: usize| match self.join.rule.kind {
                JoinKind::MarkIn => self.join.seen.is_unknown(keys.has_null(row)),
                _ => unknown.get(row).is_some_and(|unknown| *unknown),
            };
            let nulls: Vec<bool> = (0..batch.rows).map(|row| !met[row] && is_unknown(row)).collect();
            let nulls = nulls.contains(&true).then_some(nulls);
            columns.push(Arc::new(Column::of_truths(met, nulls)));
        }
        Batch { rows: batch.rows, columns }
    }
}
