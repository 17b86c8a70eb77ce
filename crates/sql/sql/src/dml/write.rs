//! The writes of a statement: computed from the state at its start, then applied together.

use super::{Changed, KeyChecks, rows, rules};
use crate::catalog::{Oid, Table};
use crate::context::Exec;
use crate::error::Result;
use crate::exec::Evaluator;
use crate::plan::{Assignment, Expr, IndexRules};
use crate::types::{Datum, Row};
use model::Key;
use std::collections::HashSet;
use std::sync::Arc;

/// The write of one row.
pub(super) enum Write {
    /// A new row.
    Insert(Row),
    /// A row that changes.
    Replace {
        /// Its key so far.
        key: Key,
        /// As it was.
        old: Row,
        /// As it will be.
        new: Row,
    },
    /// A row to remove.
    Remove {
        /// Its key.
        key: Key,
        /// As it was.
        old: Row,
    },
}

/// The writes of a statement, and the rows that it returns.
pub(super) struct Intent<'s> {
    pub table: &'s Arc<Table>,
    pub rules: &'s IndexRules,
    /// The CHECK constraints that new rows must still fulfil; empty if they were looked at before.
    pub checks: Option<&'s [Expr]>,
    pub writes: Vec<Write>,
    pub returned: Vec<Row>,
}

/// State shared by the parts of one statement while they compute their writes.
#[derive(Default)]
pub(super) struct Preparation {
    /// Results of subqueries that refer to no row: they run once.
    pub evaluator: Evaluator,
    /// The rows that parts of the statement have claimed, if it has several: each row is changed by the first part only.
    claims: Option<HashSet<(Oid, Key)>>,
}

impl Preparation {
    /// Of a statement with several writing parts.
    pub fn of_parts() -> Preparation {
        Preparation { claims: Some(HashSet::new()), ..Preparation::default() }
    }

    /// Claims a row; `false` if an earlier part of the statement changes it already.
    pub fn claim(&mut self, exec: &mut Exec<'_>, table: &Table, key: &Key) -> Result<bool> {
        let Some(claims) = &mut self.claims else { return Ok(true) };
        exec.memory.take(size_of::<(Oid, Key)>())?;
        Ok(claims.insert((table.oid, key.clone())))
    }

    /// Puts the values of SET over `row` into the new row.
    pub fn assign(
        &mut self,
        exec: &mut Exec<'_>,
        assignments: &[Assignment],
        row: &[Datum],
        new: &mut [Datum],
    ) -> Result<()> {
        for Assignment { record, values } in assignments {
            let record = record.as_ref().map(|record| self.evaluator.evaluate(exec, record, row)).transpose()?;
            let over = record.as_ref().map_or(row, std::slice::from_ref);
            for (column, value) in values {
                new[*column] = self.evaluator.evaluate(exec, value, over)?;
            }
        }
        Ok(())
    }
}

impl Intent<'_> {
    /// Applies it as a complete statement, and checks foreign keys.
    ///
    /// # Errors
    /// Errors of [`Intent::apply`], and 23503.
    pub fn run(self, exec: &mut Exec<'_>) -> Result<Changed> {
        let mut key_checks = KeyChecks::default();
        let changed = self.apply(exec, &mut key_checks)?;
        key_checks.finish(exec)?;
        Ok(changed)
    }

    /// Writes it.
    ///
    /// # Errors
    /// 23502, 23505, 23514, errors of expressions, errors of the engine.
    pub fn apply(self, exec: &mut Exec<'_>, key_checks: &mut KeyChecks) -> Result<Changed> {
        exec.transaction.set_reads_wait(true);
        let mut changed = Changed { rows: 0, returned: self.returned };
        for write in self.writes {
            changed.count(write.apply(exec, (self.table, self.rules), self.checks, key_checks)?, exec)?;
        }
        Ok(changed)
    }
}

impl Write {
    /// Writes it; `false` if the row was gone already.
    ///
    /// # Errors
    /// Errors of [`Intent::apply`].
    pub fn apply(
        self,
        exec: &mut Exec<'_>,
        (table, indexes): (&Arc<Table>, &IndexRules),
        checks: Option<&[Expr]>,
        key_checks: &mut KeyChecks,
    ) -> Result<bool> {
        match self {
            Write::Insert(row) => {
                if let Some(checks) = checks {
                    rules::check(exec, table, checks, &row)?;
                }
                rows::write_new(exec, (table, indexes), &row)?;
                key_checks.inserted(exec, table, &row)?;
            }
            Write::Replace { key, old, new } => {
                if let Some(checks) = checks {
                    rules::check(exec, table, checks, &new)?;
                }
                rows::replace(exec, (table, indexes), &key, &old, &new)?;
                key_checks.updated(exec, table, &old, &new)?;
            }
            Write::Remove { key, old } => {
                if !rows::remove(exec, (table, indexes), &key, &old)? {
                    return Ok(false);
                }
                key_checks.deleted(exec, table, &old)?;
            }
        }
        Ok(true)
    }
}

impl Changed {
    /// Counts a written row, and checks now and then whether the statement is cancelled.
    pub(super) fn count(&mut self, written: bool, exec: &Exec<'_>) -> Result<()> {
        self.rows += u64::from(written);
        exec.check_at_row(self.rows)
    }
}
