//! FOREIGN KEY clauses: the referenced table and columns.

use crate::alter::constraint::check_ordered;
use crate::alter::foreign_key::check_types;
use crate::alter::name::{fold, no_relation, split};
use crate::catalog::{Action, ForeignKey, Index, Relation, Table};
use crate::context::{Change, Names};
use crate::error::{Result, SqlError, state};
use std::sync::Arc;
use syntax::ast;

/// Resolves the reference of a foreign key. `table` has its columns and keys, and may be the referenced table itself.
///
/// # Errors
/// 42P01, 42809, 42703, 42704, 42830, 42804.
pub(super) fn resolve(
    change: &mut Change<'_>,
    table: &Table,
    name: String,
    columns: &[String],
    key: &ast::ForeignKey,
) -> Result<ForeignKey> {
    let columns = referencing_columns(table, columns)?;
    let found = referenced_table(&mut change.names(), table, &key.table)?;
    let referenced = found.as_deref().unwrap_or(table);
    if referenced.temporary && !table.temporary {
        let message = "constraints on permanent tables may reference only permanent tables";
        return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
    }
    if table.temporary && !referenced.temporary {
        let message = "constraints on temporary tables may reference only temporary tables";
        return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
    }
    let (index, referenced_columns) = referenced_key(referenced, &key.referenced, columns.len())?;
    check_types(table, &columns, referenced, &referenced_columns, &name)?;
    Ok(ForeignKey {
        oid: change.fresh_oid()?,
        name,
        columns,
        referenced: referenced.oid,
        referenced_index: index.oid,
        referenced_columns,
        on_delete: action(key.on_delete),
        on_update: action(key.on_update),
        match_full: key.match_full,
        deferrable: key.deferrable,
        initially_deferred: key.initially_deferred,
        not_valid: false,
        comment: None,
    })
}

fn action(written: ast::ReferentialAction) -> Action {
    match written {
        ast::ReferentialAction::NoAction => Action::NoAction,
        ast::ReferentialAction::Restrict => Action::Restrict,
        ast::ReferentialAction::Cascade => Action::Cascade,
        ast::ReferentialAction::SetNull => Action::SetNull,
        ast::ReferentialAction::SetDefault => Action::SetDefault,
    }
}

fn referencing_columns(table: &Table, columns: &[String]) -> Result<Vec<usize>> {
    let mut positions = Vec::with_capacity(columns.len());
    for name in columns {
        let Some(at) = table.column(name) else {
            let message = format!("column \"{name}\" referenced in foreign key constraint does not exist");
            return Err(SqlError::new(state::UNDEFINED_COLUMN, message));
        };
        check_ordered(table.columns[at].data_type)?;
        positions.push(at);
    }
    Ok(positions)
}

/// The referenced table; `None` if it is the table itself.
fn referenced_table(names: &mut Names<'_>, table: &Table, name: &ast::ObjectName) -> Result<Option<Arc<Table>>> {
    let (schema, name) = split(name)?;
    if name == table.name && schema.as_ref().is_none_or(|schema| *schema == table.schema) {
        return Ok(None);
    }
    match names.relation(schema.as_deref(), &name)? {
        Some(Relation::Table(found)) if found.oid == table.oid => Ok(None),
        Some(Relation::Table(found)) => Ok(Some(found)),
        Some(_) => {
            let message = format!("referenced relation \"{name}\" is not a table");
            Err(SqlError::new(state::WRONG_OBJECT_TYPE, message))
        }
        None => Err(no_relation(schema.as_deref(), &name)),
    }
}

/// The unique index that is referred to, and its columns in the order of the foreign key's.
fn referenced_key<'t>(table: &'t Table, columns: &[ast::Ident], count: usize) -> Result<(&'t Index, Vec<usize>)> {
    let disagree = || {
        let message = "number of referencing and referenced columns for foreign key disagree";
        SqlError::new(state::INVALID_FOREIGN_KEY, message)
    };
    if columns.is_empty() {
        let primary = table.primary_key().ok_or_else(|| {
            let message = format!("there is no primary key for referenced table \"{}\"", table.name);
            SqlError::new(state::UNDEFINED_OBJECT, message)
        })?;
        check_immediate(table, primary, "primary key")?;
        return if primary.columns.len() == count { Ok((primary, primary.columns.clone())) } else { Err(disagree()) };
    }
    let mut positions = Vec::with_capacity(columns.len());
    for ident in columns {
        let name = fold(ident);
        positions.push(table.column(&name).ok_or_else(|| {
            let message = format!("column \"{name}\" referenced in foreign key constraint does not exist");
            SqlError::new(state::UNDEFINED_COLUMN, message)
        })?);
    }
    if positions.len() != count {
        return Err(disagree());
    }
    let mut wanted = positions.clone();
    wanted.sort_unstable();
    let fits = |index: &&Index| {
        let mut columns = index.columns.clone();
        columns.sort_unstable();
        index.is_key() && columns == wanted
    };
    let mut fitting = table.indexes.iter().filter(fits).collect::<Vec<_>>();
    fitting.sort_by_key(|index| index.deferrable);
    let index = *fitting.first().ok_or_else(|| {
        let message =
            format!("there is no unique constraint matching given keys for referenced table \"{}\"", table.name);
        SqlError::new(state::INVALID_FOREIGN_KEY, message)
    })?;
    check_immediate(table, index, "unique constraint")?;
    Ok((index, positions))
}

/// Checks that a key is never violated, not even for a while.
fn check_immediate(table: &Table, index: &Index, what: &str) -> Result<()> {
    if !index.deferrable {
        return Ok(());
    }
    let message = format!("cannot use a deferrable {what} for referenced table \"{}\"", table.name);
    Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
}
