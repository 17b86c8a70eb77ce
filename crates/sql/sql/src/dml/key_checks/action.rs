//! CASCADE, SET NULL, SET DEFAULT.

use super::super::rows;
use super::super::rules::Default;
use super::{Constraint, KeyChecks, lookup};
use crate::catalog::{Action, Table};
use crate::context::Exec;
use crate::error::Result;
use crate::types::{Datum, Env, Row, cast};

impl KeyChecks {
    /// Changes the rows that refer to `old`, as the constraint says.
    pub(super) fn act(
        &mut self,
        exec: &mut Exec<'_>,
        constraint: &Constraint,
        action: Action,
        old: &[Datum],
        new: Option<&[Datum]>,
    ) -> Result<()> {
        self.stale = true;
        let parent = self.table(exec, constraint.key().referenced)?;
        for (key, row) in lookup::referring(exec, constraint, &parent, old)? {
            match (action, new) {
                (Action::Cascade, None) => {
                    let rules = self.rules(exec, &constraint.child)?;
                    if rows::remove(exec, (&constraint.child, &rules.indexes), &key, &row)? {
                        self.deleted(exec, &constraint.child, &row)?;
                    }
                }
                (Action::Cascade, Some(new)) => {
                    let values = assign(exec.env(), constraint, &parent, new)?;
                    self.set(exec, constraint, &key, &row, values)?;
                }
                (Action::SetDefault, _) => {
                    let values = defaults(exec, constraint)?;
                    self.set(exec, constraint, &key, &row, values)?;
                }
                _ => {
                    let nulls = vec![Datum::Null; constraint.key().columns.len()];
                    self.set(exec, constraint, &key, &row, nulls)?;
                }
            }
        }
        if action == Action::SetDefault {
            // A row whose columns had the default values already is unchanged, and still refers to the removed row.
            self.check_departure(exec, constraint, old)?;
        }
        Ok(())
    }

    /// Gives a referencing row other values in the constraint's columns.
    fn set(&mut self, exec: &mut Exec<'_>, constraint: &Constraint, key: &[u8], old: &Row, values: Row) -> Result<()> {
        let child = &constraint.child;
        let mut new = old.clone();
        for (&column, value) in constraint.key().columns.iter().zip(values) {
            new[column] = value;
        }
        let rules = self.rules(exec, child)?;
        rules.apply(exec, child, &mut new)?;
        rows::replace(exec, (child, &rules.indexes), key, old, &new)?;
        self.updated(exec, child, old, &new)
    }
}

/// The referenced columns' new values as the referencing columns'.
fn assign(env: &dyn Env, constraint: &Constraint, parent: &Table, new: &[Datum]) -> Result<Row> {
    let key = constraint.key();
    let styles = env.styles();
    let pairs = key.columns.iter().zip(&key.referenced_columns).zip(new);
    pairs
        .map(|((&to, &from), value)| {
            let (from, to) = (parent.columns[from].data_type, &constraint.child.columns[to]);
            Ok(cast::cast(value, from, to.data_type, to.modifier, false, &styles)?)
        })
        .collect()
}

fn defaults(exec: &mut Exec<'_>, constraint: &Constraint) -> Result<Row> {
    let mut values = Row::new();
    for &column in &constraint.key().columns {
        values.push(Default::bind(&mut exec.names(), &constraint.child, column)?.value(exec)?);
    }
    Ok(values)
}
