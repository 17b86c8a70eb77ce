//! Foreign keys and deferrable keys: rules between rows.
//!
//! A statement queues the checks that its changes require ([`KeyChecks`]) and runs them at its end, in order, as PostgreSQL's
//! triggers do: rows of one statement may refer to each other. Changes by actions (CASCADE and the like) queue their checks too,
//! so actions do not recurse, however long their chain.
//!
//! `lookup.rs` finds referenced and referencing rows, `action.rs` changes the latter, `unique.rs` has the deferrable keys,
//! `deferred.rs` keeps checks until COMMIT.

mod action;
mod deferred;
mod lookup;
mod unique;

pub use deferred::{check_deferred, set_constraints};
pub(crate) use unique::check_deferrable;

use super::rows;
use super::rules::Rules;
use super::violation;
use crate::catalog::{Action, ForeignKey, Index, Oid, Relation, Table};
use crate::context::{Exec, row_bytes};
use crate::env::{Side, Timing};
use crate::error::{Result, SqlError, state};
use crate::storage;
use crate::types::{Datum, Row};
use model::Key;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use unique::UniqueKey;

/// A foreign key with its (referencing) table.
#[derive(Clone, Debug)]
struct Constraint {
    child: Arc<Table>,
    at: usize,
}

impl Constraint {
    fn key(&self) -> &ForeignKey {
        &self.child.foreign_keys[self.at]
    }

    /// Its table, and itself.
    fn ids(&self) -> (Oid, Oid) {
        (self.child.oid, self.key().oid)
    }

    fn timing(&self) -> Timing {
        let &ForeignKey { oid, deferrable, initially_deferred, .. } = self.key();
        Timing { constraint: oid, deferrable, initially_deferred }
    }
}

/// A check that a change of a row requires.
#[derive(Debug)]
enum KeyCheck {
    /// A row refers to these values, which must exist.
    Reference { constraint: Constraint, values: Row },
    /// A row with these (referenced) values was removed, or has `new` ones: nothing may refer to the old values.
    Departure { constraint: Constraint, old: Row, new: Option<Row> },
    /// Several rows had these values of a deferrable key: one may remain.
    Unique { key: UniqueKey, values: Row },
}

impl KeyCheck {
    fn bytes(&self) -> usize {
        size_of::<KeyCheck>()
            + match self {
                KeyCheck::Reference { values, .. } | KeyCheck::Unique { values, .. } => row_bytes(values),
                KeyCheck::Departure { old, new, .. } => row_bytes(old) + new.as_deref().map_or(0, row_bytes),
            }
    }
}

/// The foreign keys, and the deferrable keys, that one statement must check.
#[derive(Debug, Default)]
pub(crate) struct KeyChecks {
    checks: VecDeque<KeyCheck>,
    /// The queued references, each once.
    references: HashSet<(Oid, Key)>,
    /// Bytes of both.
    bytes: usize,
    tables: HashMap<Oid, Arc<Table>>,
    /// The constraints that refer to a table, in the order in which they were made.
    referring: HashMap<Oid, Arc<[Constraint]>>,
    rules: HashMap<Oid, Arc<Rules>>,
    /// Whether referencing rows may have changed since their check was noted.
    stale: bool,
}

impl KeyChecks {
    /// Queues the checks of a new row.
    ///
    /// # Errors
    /// 53200 if the queue exceeds its limit.
    pub(crate) fn inserted(&mut self, exec: &mut Exec<'_>, table: &Arc<Table>, row: &[Datum]) -> Result<()> {
        self.note_repeated(exec, table, row, |_| true)?;
        if !exec.asks_foreign_keys(table) {
            return Ok(());
        }
        for at in 0..table.foreign_keys.len() {
            self.refers(exec, Constraint { child: table.clone(), at }, row)?;
        }
        Ok(())
    }

    /// Queues the checks of a removed row.
    ///
    /// # Errors
    /// Errors of [`KeyChecks::inserted`], errors of the engine.
    pub(crate) fn deleted(&mut self, exec: &mut Exec<'_>, table: &Arc<Table>, old: &[Datum]) -> Result<()> {
        if !exec.asks_foreign_keys(table) {
            return Ok(());
        }
        for constraint in self.referring(exec, table)?.iter() {
            self.departs(exec, constraint, old, None)?;
        }
        Ok(())
    }

    /// Queues the checks of a changed row.
    ///
    /// # Errors
    /// Errors of [`KeyChecks::deleted`].
    pub(crate) fn updated(
        &mut self,
        exec: &mut Exec<'_>,
        table: &Arc<Table>,
        old: &[Datum],
        new: &[Datum],
    ) -> Result<()> {
        let changes = |index: &Index| !rows::same(&index.columns, old, new);
        self.note_repeated(exec, table, new, changes)?;
        if !exec.asks_foreign_keys(table) {
            return Ok(());
        }
        for constraint in self.referring(exec, table)?.iter() {
            // CASCADE hands on a value that is equal but looks different too.
            if !rows::same(&constraint.key().referenced_columns, old, new) {
                self.departs(exec, constraint, old, Some(new))?;
            }
        }
        for (at, foreign_key) in table.foreign_keys.iter().enumerate() {
            if !rows::equal_in(table, &foreign_key.columns, old, new) {
                self.refers(exec, Constraint { child: table.clone(), at }, new)?;
            }
        }
        Ok(())
    }

    /// Runs the queued checks.
    ///
    /// # Errors
    /// 23503, 23505, errors of actions, errors of the engine.
    pub(crate) fn finish(mut self, exec: &mut Exec<'_>) -> Result<()> {
        while let Some(check) = self.checks.pop_front() {
            exec.check_cancel()?;
            self.bytes -= check.bytes();
            self.answer(exec, check)?;
        }
        Ok(())
    }

    fn answer(&mut self, exec: &mut Exec<'_>, check: KeyCheck) -> Result<()> {
        match check {
            KeyCheck::Unique { key, values } => match exec.deferred().holds(key.timing()) {
                true => deferred::keep(exec, key.ids(), values, Side::Unique),
                false => unique::check(exec, &key, &values),
            },
            KeyCheck::Reference { constraint, values } => {
                if exec.deferred().holds(constraint.timing()) {
                    return deferred::keep(exec, constraint.ids(), values, Side::Reference);
                }
                self.check_reference(exec, &constraint, &values)
            }
            KeyCheck::Departure { constraint, old, new } => {
                let key = constraint.key();
                let action = if new.is_some() { key.on_update } else { key.on_delete };
                match action {
                    Action::NoAction if exec.deferred().holds(constraint.timing()) => {
                        deferred::keep(exec, constraint.ids(), old, Side::Departure)
                    }
                    Action::NoAction => self.check_departure(exec, &constraint, &old),
                    Action::Restrict => self.check_unreferenced(exec, &constraint, &old),
                    Action::Cascade | Action::SetNull | Action::SetDefault => {
                        self.act(exec, &constraint, action, &old, new.as_deref())
                    }
                }
            }
        }
    }

    /// Checks that the referenced row exists, unless the reference is gone.
    fn check_reference(&mut self, exec: &mut Exec<'_>, constraint: &Constraint, values: &[Datum]) -> Result<()> {
        let key = constraint.key();
        if values.iter().any(|value| matches!(value, Datum::Null)) {
            return Err(violation::mixed_nulls(&constraint.child, key));
        }
        let parent = self.table(exec, key.referenced)?;
        if lookup::is_referenced_there(exec, constraint, &parent, values)?
            || (self.stale && !lookup::any_with(exec, constraint, values)?)
        {
            return Ok(());
        }
        Err(violation::not_present(exec.env(), &constraint.child, key, &parent, values))
    }

    /// Checks that nothing refers to values that do not exist any more.
    fn check_departure(&mut self, exec: &mut Exec<'_>, constraint: &Constraint, old: &[Datum]) -> Result<()> {
        let parent = self.table(exec, constraint.key().referenced)?;
        if lookup::is_there(exec, constraint.key(), &parent, old)? {
            return Ok(());
        }
        self.check_unreferenced(exec, constraint, old)
    }

    /// Checks that nothing refers to these values.
    fn check_unreferenced(&mut self, exec: &mut Exec<'_>, constraint: &Constraint, old: &[Datum]) -> Result<()> {
        let parent = self.table(exec, constraint.key().referenced)?;
        match lookup::any_referring(exec, constraint, &parent, old)? {
            true => Err(violation::still_referenced(exec.env(), &constraint.child, constraint.key(), &parent, old)),
            false => Ok(()),
        }
    }

    fn refers(&mut self, exec: &mut Exec<'_>, constraint: Constraint, row: &[Datum]) -> Result<()> {
        let key = constraint.key();
        let nulls = key.columns.iter().filter(|&&column| matches!(row[column], Datum::Null)).count();
        if nulls == key.columns.len() || (nulls > 0 && !key.match_full) {
            return Ok(());
        }
        let values: Row = key.columns.iter().map(|&column| row[column].clone()).collect();
        let mut encoded = Key::new();
        for (value, &column) in values.iter().zip(&key.columns) {
            storage::push_key(&mut encoded, value, constraint.child.columns[column].data_type)?;
        }
        let reference = (key.oid, encoded);
        if !self.references.contains(&reference) {
            self.bytes += size_of_val(&reference) + reference.1.len();
            self.references.insert(reference);
            self.note(exec, KeyCheck::Reference { constraint, values })?;
        }
        Ok(())
    }

    fn departs(
        &mut self,
        exec: &mut Exec<'_>,
        constraint: &Constraint,
        old: &[Datum],
        new: Option<&[Datum]>,
    ) -> Result<()> {
        let columns = &constraint.key().referenced_columns;
        let pick = |row: &[Datum]| -> Row { columns.iter().map(|&column| row[column].clone()).collect() };
        let old = pick(old);
        if old.iter().any(|value| matches!(value, Datum::Null)) {
            return Ok(());
        }
        self.note(exec, KeyCheck::Departure { constraint: constraint.clone(), old, new: new.map(pick) })
    }

    fn note(&mut self, exec: &Exec<'_>, check: KeyCheck) -> Result<()> {
        self.bytes += check.bytes();
        if self.bytes > exec.work_bytes() {
            return Err(too_much(exec));
        }
        self.checks.push_back(check);
        Ok(())
    }

    /// Returns a table by its identifier, looked up once.
    fn table(&mut self, exec: &mut Exec<'_>, oid: Oid) -> Result<Arc<Table>> {
        if let Some(table) = self.tables.get(&oid) {
            return Ok(table.clone());
        }
        let Some(Relation::Table(table)) = exec.names().relation_by_oid(oid)? else {
            let message = format!("a foreign key names table {oid}, which does not exist");
            return Err(SqlError::new(state::DATA_CORRUPTED, message));
        };
        self.tables.insert(oid, table.clone());
        Ok(table)
    }

    /// The constraints that refer to a table, in the order in which they were made.
    fn referring(&mut self, exec: &mut Exec<'_>, table: &Arc<Table>) -> Result<Arc<[Constraint]>> {
        if let Some(constraints) = self.referring.get(&table.oid) {
            return Ok(constraints.clone());
        }
        let mut constraints = vec![];
        for &oid in &table.referenced_by {
            let child = self.table(exec, oid)?;
            let refers = |at: &usize| child.foreign_keys[*at].referenced == table.oid;
            constraints
                .extend((0..child.foreign_keys.len()).filter(refers).map(|at| Constraint { child: child.clone(), at }));
        }
        constraints.sort_by_key(|constraint| constraint.key().oid);
        let constraints: Arc<[Constraint]> = constraints.into();
        self.referring.insert(table.oid, constraints.clone());
        Ok(constraints)
    }

    fn rules(&mut self, exec: &mut Exec<'_>, table: &Table) -> Result<Arc<Rules>> {
        if let Some(rules) = self.rules.get(&table.oid) {
            return Ok(rules.clone());
        }
        let rules = Arc::new(Rules::bind(&mut exec.names(), table)?);
        self.rules.insert(table.oid, rules.clone());
        Ok(rules)
    }
}

fn too_much(exec: &Exec<'_>) -> SqlError {
    let limit = exec.work_bytes();
    let message = format!("out of memory: keys that wait for their check take more than {limit} bytes");
    SqlError::new(state::OUT_OF_MEMORY, message).hint("Change fewer rows at once.")
}

fn corrupted(key: &ForeignKey, what: &str) -> SqlError {
    SqlError::new(state::DATA_CORRUPTED, format!("foreign key \"{}\" {what}", key.name))
}
