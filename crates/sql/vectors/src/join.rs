//! Joins by equal keys: the rows of one side in a hash table, in which those of the other side look for their partners.
//!
//! Threads build the table together (`build`), and each probes it for the rows that it takes. A side that does not fit is written away
//! by parts of the keys' hashes, and so is the other side then (`spilled`). Where a semi-join or an anti-join has the smaller side on the
//! left, that is built, and its rows are marked by those of the right (`mark`). NOT IN is an anti-join that minds NULL (`unknown`).

mod build;
mod mark;
mod narrow;
mod spilled;
mod unknown;

use crate::batch::{BATCH_ROWS, Batch};
use crate::column::{ABSENT, Column};
use crate::expression::Expression;
use crate::keys::{KeySet, Keys};
use mark::Marks;
use narrow::Sides;
use pgtypes::Type;
use std::sync::Arc;
use unknown::Found;

pub use build::{Builder, Built};
pub use narrow::{NarrowJoin, Read};
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
    /// Those that are known to equal no built row, by the one key that there is: NOT IN. NULL on either side is unknown, unless nothing was
    /// built. The probing side is the left one.
    NotIn,
    /// All, each with whether it has a partner, behind its columns: whether the condition is true for a built row with its keys, or else
    /// unknown for one. The probing side is the left one.
    Mark,
    /// The same of IN: by the one key that there is, where NULL counts as it does in [`JoinKind::NotIn`].
    MarkIn,
}

impl JoinKind {
    /// Returns whether a key that equals none is not known to, where one of both is NULL.
    pub fn is_null_aware(self) -> bool {
        matches!(self, JoinKind::NotIn | JoinKind::MarkIn)
    }

    /// Returns whether all rows of the probing side stay, with a mark.
    pub fn is_mark(self) -> bool {
        matches!(self, JoinKind::Mark | JoinKind::MarkIn)
    }
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
    /// Whether the probing side is the right one: the built columns come first then. Of a semi-join or an anti-join, the built rows are
    /// those that stay or not.
    pub is_swapped: bool,
    /// Types of the built columns.
    pub built: Vec<Type>,
    /// Whether the rows come in the order of the probing side.
    pub keeps_order: bool,
}

impl JoinRule {
    /// Returns whether the built rows are marked when they have met a partner.
    pub fn marks(&self) -> bool {
        self.is_swapped && matches!(self.kind, JoinKind::Semi | JoinKind::Anti)
    }
}

/// The built side.
pub struct Table {
    join: Arc<NarrowJoin>,
    /// Which rows have met a partner, if that is asked for ([`JoinRule::marks`]).
    marks: Marks,
    /// The keys by parts of their hashes, a power of two of them.
    parts: Vec<KeyPart>,
    /// The built rows; without values, where nobody reads a column any more.
    columns: Vec<Arc<Column>>,
}

/// Keys, and the rows that have them.
#[derive(Default)]
struct KeyPart {
    keys: KeySet,
    /// The places of this part's rows among all, in their order. A key alone in its row has the row's number here.
    rows: Vec<u32>,
    /// The rows of each key, by their numbers here; `None`: each has one.
    chains: Option<Chains>,
}

/// Rows of equal keys.
struct Chains {
    /// The first and the last row of each key.
    ends: Vec<(u32, u32)>,
    /// For each row the next one with the same key; [`ABSENT`] behind the last.
    next: Vec<u32>,
}

/// The part to which a hash belongs, of so many. Tables of keys and parts on disk look at other bits.
fn part_of(hash: u64, parts: usize) -> usize {
    (hash >> 32) as usize & (parts - 1)
}

impl Table {
    fn of(join: Arc<NarrowJoin>, mut parts: Vec<KeyPart>, columns: Vec<Arc<Column>>, rows: usize) -> Table {
        if let [one] = &mut parts[..] {
            // All rows, in their order.
            one.rows = Vec::new();
        }
        let marks = Marks::of(if join.rule.marks() { rows } else { 0 });
        Table { join, marks, parts, columns }
    }

    /// The keys but NULL, if they are integers.
    pub fn integers(&self) -> Option<impl Iterator<Item = i64>> {
        let parts = self.parts.iter().map(|part| part.keys.integers()).collect::<Option<Vec<_>>>()?;
        Some(parts.into_iter().flatten())
    }

    /// Approximate bytes of memory.
    pub fn memory(&self) -> usize {
        let of = |part: &KeyPart| {
            let chains = part.chains.as_ref().map_or(0, |chains| chains.ends.len() * 8 + chains.next.len() * 4);
            part.keys.memory() + part.rows.len() * 4 + chains
        };
        let columns = self.columns.iter().map(|column| column.bytes()).sum::<usize>();
        self.parts.iter().map(of).sum::<usize>() + columns + self.marks.len()
    }

    /// The part that may have a key, and the key's number there.
    #[inline]
    fn find(&self, keys: &Keys, row: usize) -> Option<(&KeyPart, u32)> {
        if keys.has_null(row) {
            return None;
        }
        let hash = keys.hash(row);
        let part = match &self.parts[..] {
            [one] => one,
            parts => &parts[part_of(hash, parts.len())],
        };
        Some((part, part.keys.find(hash, keys.get(row))?))
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
        let rule = &self.join.rule;
        let keys = Keys::of(batch, &rule.probe)?;
        // Without a further condition, rows without a partner come between those that have one.
        let is_decided = rule.condition.is_none();
        let asks_only = self.join.asks_only();
        let mut found = Found::new(rule, batch.rows);
        let (mut probing, mut built) = (Vec::new(), Vec::new());
        if !(is_decided && asks_only) {
            (probing, built) = (Vec::with_capacity(batch.rows), Vec::with_capacity(batch.rows));
        }
        for row in 0..keys.count() {
            let Some((part, key)) = self.find(&keys, row) else {
                if is_decided && rule.kind == JoinKind::Outer {
                    probing.push(row as u32);
                    built.push(ABSENT);
                }
                continue;
            };
            if is_decided && asks_only {
                found.met[row] = true;
                continue;
            }
            let Some(chains) = &part.chains else {
                probing.push(row as u32);
                built.push(part.place(key));
                continue;
            };
            let mut partner = chains.ends[key as usize].0;
            while partner != ABSENT {
                probing.push(row as u32);
                built.push(part.place(partner));
                partner = chains.next[partner as usize];
                if probing.len() >= 4 * BATCH_ROWS {
                    self.pairs(batch, (probing, built), &mut found, emit)?;
                    (probing, built) = (Vec::new(), Vec::new());
                }
            }
        }
        self.pairs(batch, (probing, built), &mut found, emit)?;
        if rule.kind.is_mark() {
            return emit(self.marked(batch, &keys, found));
        }
        let met = &found.met;
        let stays = |row: usize| match rule.kind {
            JoinKind::Inner | JoinKind::Mark | JoinKind::MarkIn => false,
            JoinKind::Outer => !is_decided && !met[row],
            JoinKind::Semi => met[row],
            JoinKind::Anti => !met[row],
            JoinKind::NotIn => !met[row] && !self.join.seen.is_unknown(keys.has_null(row)),
        };
        let rows: Vec<u32> = (0..batch.rows as u32).filter(|row| stays(*row as usize)).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let built = if asks_only { Vec::new() } else { vec![ABSENT; rows.len()] };
        emit(self.joined(batch, (&rows, &built), &self.join.shown))
    }

    /// These columns of rows of both sides, side by side.
    fn joined(&self, batch: &Batch, (probing, built): (&[u32], &[u32]), of: &Sides) -> Batch {
        // Each row with one partner: the columns are those of the batch.
        let is_whole = probing.len() == batch.rows && probing.iter().zip(0..).all(|(row, at)| *row == at);
        let probed = match is_whole {
            true => batch.with_columns(&of.probing),
            false => batch.gather_from(probing, &of.probing),
        };
        let built = of.built.iter().map(|at| Arc::new(self.columns[*at].gather(built)));
        let columns = match self.join.rule.is_swapped {
            false => probed.columns.into_iter().chain(built).collect(),
            true => built.chain(probed.columns).collect(),
        };
        Batch { rows: probing.len(), columns }
    }

    /// Rows with equal keys: those for which the condition holds are partners.
    fn pairs<E: From<pgtypes::Error>>(
        &self,
        batch: &Batch,
        (mut probing, mut built): (Vec<u32>, Vec<u32>),
        found: &mut Found,
        emit: &mut dyn FnMut(Batch) -> Result<(), E>,
    ) -> Result<(), E> {
        if probing.is_empty() {
            return Ok(());
        }
        if let Some(condition) = &self.join.rule.condition {
            let compared = self.joined(batch, (&probing, &built), &self.join.compared);
            if self.join.rule.kind == JoinKind::Mark {
                return Ok(found.note(condition, &compared, &probing)?);
            }
            let selected = condition.selected(&compared)?;
            let chosen = |rows: &[u32]| selected.iter().map(|at| rows[*at as usize]).collect::<Vec<u32>>();
            if selected.len() < probing.len() {
                (probing, built) = (chosen(&probing), chosen(&built));
            }
        }
        if !found.met.is_empty() {
            probing.iter().for_each(|row| found.met[*row as usize] = true);
        }
        if self.join.asks_only() || probing.is_empty() {
            return Ok(());
        }
        emit(self.joined(batch, (&probing, &built), &self.join.shown))
    }
}

impl KeyPart {
    /// The place among all rows of a row of this part.
    #[inline]
    fn place(&self, row: u32) -> u32 {
        if self.rows.is_empty() { row } else { self.rows[row as usize] }
    }
}
