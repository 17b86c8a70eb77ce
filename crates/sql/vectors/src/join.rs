//! Joins by equal keys: the rows of one side in a hash table, in which those of the other side look for their partners.
//!
//! A side that does not fit is written away by parts of the keys' hashes, and so is the other side then (`spilled`).

mod spilled;

use crate::batch::{BATCH_ROWS, Batch};
use crate::column::{ABSENT, Column};
use crate::expression::Expression;
use crate::keys::{KeySet, Keys};
use crate::spill::{DEEPEST, Part, Partitions, Spilling};
use pgtypes::{Result, Type};
use std::sync::Arc;

pub use spilled::{Probing, SpilledJoin};

/// Which rows of the probing side stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// Those with a partner, once for each, with its columns.
    Inner,
    /// Also those without, with NULLs for its columns.
    Outer,
    /// Those with a partner, once, without its columns.
    Semi,
    /// Those without a partner.
    Anti,
}

/// What a join does.
#[derive(Clone)]
pub struct JoinRule {
    /// Which rows stay.
    pub kind: JoinKind,
    /// The keys of the probing side, over its row.
    pub probe: Vec<Expression>,
    /// The keys of the other side, over its row.
    pub build: Vec<Expression>,
    /// The rest of the condition, over the left row and the right row.
    pub condition: Option<Expression>,
    /// Whether the probing side is the right one: the built columns come first then.
    pub is_swapped: bool,
    /// Types of the built columns.
    pub built: Vec<Type>,
    /// Whether the rows come in the order of the probing side.
    pub keeps_order: bool,
}

/// The built side.
pub struct Table {
    rule: Arc<JoinRule>,
    keys: KeySet,
    /// The first and the last row of each key.
    ends: Vec<(u32, u32)>,
    /// For each row the next one with the same key; [`ABSENT`] behind the last.
    next: Vec<u32>,
    columns: Vec<Column>,
    rows: usize,
    spilling: Option<Spilling>,
    level: u32,
    /// All rows, where they do not fit.
    parts: Option<Partitions>,
}

/// All rows of the built side.
pub enum Built {
    /// In a table.
    Table(Box<Table>),
    /// By parts of the keys' hashes.
    Parts(Vec<Part>),
}

impl Table {
    /// No rows.
    pub fn new(rule: Arc<JoinRule>, spilling: Option<Spilling>) -> Table {
        Table::at(rule, spilling, 0)
    }

    /// No rows, of some that were divided so many times.
    fn at(rule: Arc<JoinRule>, spilling: Option<Spilling>, level: u32) -> Table {
        let columns = rule.built.iter().copied().map(Column::new).collect();
        Table {
            rule,
            keys: KeySet::default(),
            ends: Vec::new(),
            next: Vec::new(),
            columns,
            rows: 0,
            spilling,
            level,
            parts: None,
        }
    }

    /// Adds rows. Those with NULL in their keys have no partner.
    ///
    /// # Errors
    /// Errors of the keys, and of temporary files.
    pub fn add(&mut self, batch: &Batch) -> Result<()> {
        let keys = Keys::of(batch, &self.rule.build)?;
        let kept: Vec<u32> = (0..batch.rows as u32).filter(|row| !keys.has_null(*row as usize)).collect();
        if let Some(parts) = &mut self.parts {
            return parts.add(batch, &kept, |row| keys.hash(row));
        }
        self.insert(batch, &keys, &kept);
        match &self.spilling {
            Some(spilling) if self.memory() > spilling.bytes && self.level < DEEPEST => self.write_away(),
            _ => Ok(()),
        }
    }

    /// Writes away the rows so far.
    fn write_away(&mut self) -> Result<()> {
        let Some(spilling) = &self.spilling else { return Ok(()) };
        let parts = self.parts.insert(Partitions::new(spilling, self.level));
        let rows = Batch::new(self.rows, std::mem::take(&mut self.columns));
        (self.keys, self.ends, self.next, self.rows) = (KeySet::default(), Vec::new(), Vec::new(), 0);
        let keys = Keys::of(&rows, &self.rule.build)?;
        parts.add(&rows, &(0..rows.rows as u32).collect::<Vec<_>>(), |row| keys.hash(row))
    }

    /// All rows.
    ///
    /// # Errors
    /// Errors of temporary files.
    pub fn finish(mut self) -> Result<Built> {
        match self.parts.take() {
            Some(parts) => Ok(Built::Parts(parts.finish()?)),
            None => Ok(Built::Table(Box::new(self))),
        }
    }

    fn insert(&mut self, batch: &Batch, keys: &Keys, kept: &[u32]) {
        for row in kept {
            let (key, new) = self.keys.insert(keys.hash(*row as usize), keys.get(*row as usize));
            let number = self.next.len() as u32;
            self.next.push(ABSENT);
            if new {
                self.ends.push((number, number));
            } else {
                let last = &mut self.ends[key as usize].1;
                self.next[*last as usize] = number;
                *last = number;
            }
        }
        for (known, column) in self.columns.iter_mut().zip(&batch.columns) {
            if kept.len() == batch.rows { known.append(column) } else { known.append(&column.gather(kept)) }
        }
        self.rows += kept.len();
    }

    /// Approximate bytes of memory.
    pub fn memory(&self) -> usize {
        self.parts.as_ref().map_or(0, Partitions::memory)
            + self.keys.memory()
            + self.ends.len() * 8
            + self.next.len() * 4
            + self.columns.iter().map(Column::bytes).sum::<usize>()
    }

    /// Shows what a batch of the other side becomes to `emit`.
    ///
    /// # Errors
    /// Errors of the condition, and of `emit`.
    pub fn probe<E: From<pgtypes::Error>>(
        &self,
        batch: &Batch,
        emit: &mut dyn FnMut(Batch) -> Result<(), E>,
    ) -> Result<(), E> {
        let keys = Keys::of(batch, &self.rule.probe)?;
        let mut met = vec![false; batch.rows];
        let (mut probing, mut built) = (Vec::new(), Vec::new());
        // Without a further condition, rows without a partner come between those that have one.
        let is_decided = self.rule.condition.is_none();
        for row in 0..keys.count() {
            let key = if keys.has_null(row) { None } else { self.keys.find(keys.hash(row), keys.get(row)) };
            let Some(key) = key else {
                if is_decided && self.rule.kind == JoinKind::Outer {
                    probing.push(row as u32);
                    built.push(ABSENT);
                }
                continue;
            };
            if is_decided && matches!(self.rule.kind, JoinKind::Semi | JoinKind::Anti) {
                met[row] = true;
                continue;
            }
            let mut partner = self.ends[key as usize].0;
            while partner != ABSENT {
                probing.push(row as u32);
                built.push(partner);
                partner = self.next[partner as usize];
                if probing.len() >= 4 * BATCH_ROWS {
                    self.pairs(batch, (&probing, &built), &mut met, emit)?;
                    (probing, built) = (Vec::new(), Vec::new());
                }
            }
        }
        self.pairs(batch, (&probing, &built), &mut met, emit)?;
        let wanted = match self.rule.kind {
            JoinKind::Outer if is_decided => return Ok(()),
            JoinKind::Inner => return Ok(()),
            JoinKind::Semi => true,
            JoinKind::Outer | JoinKind::Anti => false,
        };
        let rows: Vec<u32> = (0..batch.rows as u32).filter(|row| met[*row as usize] == wanted).collect();
        if rows.is_empty() {
            return Ok(());
        }
        emit(match self.rule.kind {
            JoinKind::Outer => self.joined(batch, &rows, &vec![ABSENT; rows.len()]),
            _ => batch.gather(&rows),
        })
    }

    /// Rows of both sides, side by side.
    fn joined(&self, batch: &Batch, probing: &[u32], built: &[u32]) -> Batch {
        let probed = batch.gather(probing).columns;
        let built: Vec<Arc<Column>> = self.columns.iter().map(|column| Arc::new(column.gather(built))).collect();
        let columns = match self.rule.is_swapped {
            false => probed.into_iter().chain(built).collect(),
            true => built.into_iter().chain(probed).collect(),
        };
        Batch { rows: probing.len(), columns }
    }

    /// Rows with equal keys: those for which the condition holds are partners.
    fn pairs<E: From<pgtypes::Error>>(
        &self,
        batch: &Batch,
        (probing, built): (&[u32], &[u32]),
        met: &mut [bool],
        emit: &mut dyn FnMut(Batch) -> Result<(), E>,
    ) -> Result<(), E> {
        if probing.is_empty() {
            return Ok(());
        }
        let mut joined = self.joined(batch, probing, built);
        let emits = matches!(self.rule.kind, JoinKind::Inner | JoinKind::Outer);
        match &self.rule.condition {
            None => probing.iter().for_each(|row| met[*row as usize] = true),
            Some(condition) => {
                let selected = condition.selected(&joined)?;
                selected.iter().for_each(|at| met[probing[*at as usize] as usize] = true);
                if emits && selected.len() < joined.rows {
                    joined = joined.gather(&selected);
                }
            }
        }
        if emits && joined.rows > 0 { emit(joined) } else { Ok(()) }
    }
}
