//! Joins over the columns that are read: what a row needs to find its partners, and what is shown of both.

use super::unknown::Seen;
use super::{JoinKind, JoinRule};
use crate::columns::Columns;

/// A join of sides that have only the columns that are read.
pub struct NarrowJoin {
    /// The rule, over these columns.
    pub rule: JoinRule,
    /// The columns that somebody above reads.
    pub(super) shown: Sides,
    /// The columns that the condition is over.
    pub(super) compared: Sides,
    /// Whether somebody above reads the column that a mark join makes.
    pub(super) shows_mark: bool,
    /// What NOT IN and IN have to know of the built rows.
    pub(super) seen: Seen,
}

/// Columns of both sides, by their places there.
pub(super) struct Sides {
    pub probing: Vec<usize>,
    pub built: Vec<usize>,
}

/// The columns that a join reads of both sides.
pub struct Read {
    /// Of the probing side.
    pub probing: Columns,
    /// Of the built side.
    pub built: Columns,
}

impl JoinRule {
    /// The join that shows these columns of its own, of a probing side of so many columns, and what it reads.
    pub fn narrow(&self, wanted: &Columns, probing_width: usize) -> (NarrowJoin, Read) {
        let of_condition = Columns::of_expressions(&self.condition);
        let (mut shown, compared) = (self.sides(wanted, probing_width), self.sides(&of_condition, probing_width));
        // The column behind those of the probing side is no built one.
        let shows_mark = self.kind.is_mark() && !shown.built.is_empty();
        if shows_mark {
            shown.built = Columns::default();
        }
        let read =
            |(shown, compared): (&Columns, &Columns), keys| shown.and(compared).and(&Columns::of_expressions(keys));
        let probing = read((&shown.probing, &compared.probing), &self.probe);
        let built = read((&shown.built, &compared.built), &self.build);
        let rule = JoinRule {
            probe: probing.narrow_all(&self.probe),
            build: built.narrow_all(&self.build),
            condition: self.condition.as_ref().map(|condition| of_condition.narrow(condition)),
            built: built.iter().map(|at| self.built[at]).collect(),
            ..*self
        };
        let places = |of: Read| Sides { probing: probing.places(&of.probing), built: built.places(&of.built) };
        let join =
            NarrowJoin { rule, shown: places(shown), compared: places(compared), shows_mark, seen: Seen::default() };
        (join, Read { probing, built })
    }

    /// Divides columns of a left and a right row side by side.
    fn sides(&self, columns: &Columns, probing_width: usize) -> Read {
        let left_width = if self.is_swapped { self.built.len() } else { probing_width };
        let (left, right) = columns.split(left_width);
        match self.is_swapped {
            false => Read { probing: left, built: right },
            true => Read { probing: right, built: left },
        }
    }
}

impl NarrowJoin {
    /// Returns whether a column of the built side is read when its table has been built.
    pub(super) fn reads_built(&self, at: usize) -> bool {
        self.shown.built.contains(&at) || self.compared.built.contains(&at)
    }

    /// Returns whether only one side's columns are shown.
    pub(super) fn asks_only(&self) -> bool {
        !matches!(self.rule.kind, JoinKind::Inner | JoinKind::Outer)
    }
}
