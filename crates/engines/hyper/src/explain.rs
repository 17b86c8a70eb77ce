//! Conflicts between a read and a write, as whoever loses is shown them: what was asked for, and how it was changed. Worked out after the
//! conflict was found, so that those who commit pay nothing for it.

use crate::begin::Conflict;
use crate::block::Version;
use crate::commit::RowImages;
use crate::predicates::{Condition, PredicateLog};
use crate::undo::ColumnSet;
use crate::writer::{Write, Writer};
use crate::{Hyper, Reason};
use model::{ColumnChange, Met, RowChange, RowKind, Schema, Target};
use std::sync::Arc;

impl Hyper {
    /// The conflict between a log and a committed write that meets it.
    #[cold]
    pub(super) fn predicate_met(&self, log: &PredicateLog, writer: &Arc<Writer>, write: &Write) -> Conflict {
        Conflict {
            reason: Reason::PredicateMet,
            table: write.table,
            target: Target::Key(write.key.clone()),
            other: Some(writer.name),
            met: self.both_sides(log, writer, write).map(Box::new),
        }
    }

    fn both_sides(&self, log: &PredicateLog, writer: &Arc<Writer>, write: &Write) -> Option<Met> {
        let asked = log.met_by(write, &RowImages { engine: self, writer, write })?;
        let table = self.found_table(write.table)?;
        let schema = table.schema();
        let rows = table.block(write.place.block).read();
        let slot = Some(write.place.slot as usize).filter(|&slot| slot < rows.slots())?;
        let (after, before) = rows.around(slot, writer)?;
        let change = match (before.is_there(), after.is_there()) {
            (false, _) => RowChange::Inserted,
            (true, false) => RowChange::Deleted,
            (true, true) => RowChange::Updated,
        };
        let holds = |version: &Version<'_>| {
            version.is_there() && asked.conditions.iter().all(|it| it.may_hold(&|column| version.column(column)))
        };
        let satisfying = if holds(&after) { &after } else { &before };
        let restriction = Condition::all_as_predicate(asked.conditions, schema, &|column| satisfying.column(column));
        let looked_at = asked.conditions.iter().fold(ColumnSet::NONE, |set, it| set.with(it.columns()));
        let columns = columns(schema, looked_at, write.columns, (&before, &after));
        Some(Met { keys: asked.keys, restriction, change, columns })
    }
}

/// The columns that are shown: those of the restriction, and then those that were changed.
fn columns(
    schema: &Schema,
    looked_at: ColumnSet,
    changed: ColumnSet,
    (before, after): (&Version<'_>, &Version<'_>),
) -> Vec<ColumnChange> {
    if schema.rows() == RowKind::Bytes {
        return Vec::new();
    }
    let width = schema.columns().len();
    let rest = changed.without(looked_at);
    let shown = |version: &Version<'_>, column: u16| {
        version.is_there().then(|| Met::shown(version.column(column), schema, column)).flatten()
    };
    let mut chosen = Vec::new();
    looked_at.each(width, |column| chosen.push(column));
    rest.each(width, |column| chosen.push(column));
    let chosen = chosen.into_iter().take(Met::COLUMNS);
    chosen.map(|column| ColumnChange { column, before: shown(before, column), after: shown(after, column) }).collect()
}
