//! CASCADE, SET NULL, SET DEFAULT.

use super::super::rows;
use super::super::rules::Default;
use super::{Constraint, ForeignKeys, lookup};
use crate::catalog::{Action, Table};
use crate::context::Context;
use crate::error::Result;
use crate::types::{Datum, Row, cast};

impl ForeignKeys {
    /// Changes the rows that refer to `old`, as the constraint says.
    pub(super) fn act(
        &mut self,
        context: &mut Context<'_>,
        constraint: &Constraint,
        action: Action,
        old: &[Datum],
        new: Option<&[Datum]>,
    ) -> Result<()> {
        self.stale = true;
        let parent = self.table(context, constraint.key().referenced)?;
        for (key, row) in lookup::referring(context, constraint, &parent, old)? {
            match (action, new) {
                (Action::Cascade, None) => {
                    if rows::remove(context, &constraint.child, &key, &row)? {
                        self.deleted(context, &constraint.child, &row)?;
                    }
                }
                (Action::Cascade, Some(new)) => {
                    let values = assign(context, constraint, &parent, new)?;
                    self.set(context, constraint, &key, &row, values)?;
                }
                (Action::SetDefault, _) => {
                    let values = defaults(context, constraint)?;
                    self.set(context, constraint, &key, &row, values)?;
                }
                _ => {
                    let nulls = vec![Datum::Null; constraint.key().columns.len()];
                    self.set(context, constraint, &key, &row, nulls)?;
                }
            }
        }
        if action == Action::SetDefault {
            // A row whose columns were the defaults already has not changed, and still refers to what went.
            self.check_departure(context, constraint, old)?;
        }
        Ok(())
    }

    /// Gives a referencing row other values in the constraint's columns.
    fn set(
        &mut self,
        context: &mut Context<'_>,
        constraint: &Constraint,
        key: &[u8],
        old: &Row,
        values: Row,
    ) -> Result<()> {
        let child = &constraint.child;
        let mut new = old.clone();
        for (&column, value) in constraint.key().columns.iter().zip(values) {
            new[column] = value;
        }
        self.rules(context, child)?.apply(context, child, &mut new)?;
        rows::replace(context, child, key, old, &new)?;
        self.updated(context, child, old, &new)
    }
}

/// The referenced columns' new values as the referencing columns'.
fn assign(context: &Context<'_>, constraint: &Constraint, parent: &Table, new: &[Datum]) -> Result<Row> {
    let key = constraint.key();
    let styles = context.session.styles();
    let pairs = key.columns.iter().zip(&key.referenced_columns).zip(new);
    pairs
        .map(|((&to, &from), value)| {
            let (from, to) = (parent.columns[from].data_type, &constraint.child.columns[to]);
            Ok(cast::cast(value, from, to.data_type, to.modifier, false, &styles)?)
        })
        .collect()
}

fn defaults(context: &mut Context<'_>, constraint: &Constraint) -> Result<Row> {
    let mut values = Row::new();
    for &column in &constraint.key().columns {
        values.push(Default::bind(context, &constraint.child, column)?.value(context)?);
    }
    Ok(values)
}
