//! Semi-joins and anti-joins whose left side is built: rows of the right side mark those that they are partners of, and when all have
//! come, the marked rows stay, or the others.

use super::{Chains, JoinKind, KeyPart, Table};
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::ABSENT;
use crate::keys::Keys;
use pgtypes::Result;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Which built rows have met a partner. Relaxed: they are read when the threads that set them have been joined.
pub(super) struct Marks(Vec<AtomicBool>);

impl Marks {
    /// No row of so many.
    pub fn of(rows: usize) -> Marks {
        Marks((0..rows).map(|_| AtomicBool::new(false)).collect())
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    fn is_set(&self, row: u32) -> bool {
        self.0[row as usize].load(Relaxed)
    }

    fn set(&self, row: u32) {
        // Threads that read a row's mark share its line as long as nobody writes.
        if !self.is_set(row) {
            self.0[row as usize].store(true, Relaxed);
        }
    }
}

impl Table {
    /// Returns whether there is no built row.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| part.keys.count() == 0)
    }

    /// Number of columns that are shown of the built rows.
    pub fn width(&self) -> usize {
        self.join.shown.built.len()
    }

    /// Marks the built rows that have a partner in a batch of the other side.
    ///
    /// # Errors
    /// Errors of the keys and of the condition.
    pub fn mark(&self, batch: &Batch) -> Result<()> {
        let keys = Keys::of(batch, &self.join.rule.probe)?;
        let (mut probing, mut built) = (Vec::new(), Vec::new());
        for row in 0..keys.count() {
            let Some((part, key)) = self.find(&keys, row) else { continue };
            if self.join.rule.condition.is_none() {
                self.mark_all(part, key);
                continue;
            }
            for partner in part.rows_of(key).filter(|partner| !self.marks.is_set(*partner)) {
                probing.push(row as u32);
                built.push(partner);
            }
            if probing.len() >= 4 * BATCH_ROWS {
                self.mark_pairs(batch, &probing, &built)?;
                (probing, built) = (Vec::new(), Vec::new());
            }
        }
        self.mark_pairs(batch, &probing, &built)
    }

    /// Marks the rows of a key. Without a condition, all of them are marked once the last is.
    fn mark_all(&self, part: &KeyPart, key: u32) {
        let last = part.chains.as_ref().map_or(key, |chains| chains.ends[key as usize].1);
        if !self.marks.is_set(part.place(last)) {
            part.rows_of(key).for_each(|row| self.marks.set(row));
        }
    }

    /// Marks the built rows of the pairs for which the condition holds.
    fn mark_pairs(&self, batch: &Batch, probing: &[u32], built: &[u32]) -> Result<()> {
        if let (Some(condition), false) = (&self.join.rule.condition, probing.is_empty()) {
            let selected = condition.selected(&self.joined(batch, (probing, built), &self.join.compared))?;
            selected.iter().for_each(|at| self.marks.set(built[*at as usize]));
        }
        Ok(())
    }

    /// The built rows that stay, in their order, when all rows of the other side have come.
    pub fn remaining(&self) -> Vec<Batch> {
        let wanted = self.join.rule.kind == JoinKind::Semi;
        let rows: Vec<u32> = (0..self.marks.len() as u32).filter(|row| self.marks.is_set(*row) == wanted).collect();
        let whole = Batch { rows: self.marks.len(), columns: self.columns.clone() };
        rows.chunks(BATCH_ROWS).map(|rows| whole.gather_from(rows, &self.join.shown.built)).collect()
    }
}

impl KeyPart {
    /// The places of a key's rows among all.
    fn rows_of(&self, key: u32) -> impl Iterator<Item = u32> {
        let first = self.chains.as_ref().map_or(key, |chains| chains.ends[key as usize].0);
        let next = |chains: &Chains, row: u32| Some(chains.next[row as usize]).filter(|next| *next != ABSENT);
        std::iter::successors(Some(first), move |row| next(self.chains.as_ref()?, *row)).map(|row| self.place(row))
    }
}
