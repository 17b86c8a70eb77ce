//! ON COMMIT of temporary tables: rows and tables go within the committing transaction.
//!
//! The definition says what a commit does, so that savepoints and rollbacks need no care. The session notes only which tables
//! to look up.

use super::drop;
use super::rows::each_row;
use crate::bind;
use crate::catalog::{Oid, OnCommit, Relation, Table};
use crate::context::Change;
use crate::dml::rows::remove;
use crate::error::{Result, SqlError, state};
use std::sync::Arc;
use syntax::ast;

/// Defines what COMMIT does to a new table.
///
/// # Errors
/// 42P16 if the table is not temporary.
pub(crate) fn define(change: &mut Change<'_>, table: &mut Table, written: Option<ast::OnCommit>) -> Result<()> {
    if written.is_some() && !table.temporary {
        let message = "ON COMMIT can only be used on temporary tables";
        return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
    }
    table.on_commit = match written {
        None | Some(ast::OnCommit::PreserveRows) => None,
        Some(ast::OnCommit::DeleteRows) => Some(OnCommit::DeleteRows),
        Some(ast::OnCommit::Drop) => Some(OnCommit::Drop),
    };
    if table.on_commit.is_some() {
        change.note_on_commit(table.oid);
    }
    Ok(())
}

/// Empties and drops the tables that say so. Returns those that still have ON COMMIT.
///
/// # Errors
/// 0A000 if a table that keeps its rows refers to one that is emptied, errors of the engine.
pub(crate) fn run(change: &mut Change<'_>) -> Result<Vec<Oid>> {
    let (mut emptied, mut dropped) = (vec![], vec![]);
    for oid in change.noted_on_commit() {
        let Some(Relation::Table(table)) = change.names().relation_by_oid(oid)? else { continue };
        match table.on_commit {
            Some(OnCommit::DeleteRows) => emptied.push(table),
            Some(OnCommit::Drop) => dropped.push(Relation::Table(table)),
            None => {}
        }
    }
    check_references(change, &emptied)?;
    change.exec.transaction.set_reads_wait(true);
    for table in &emptied {
        delete_rows(change, table)?;
    }
    if !dropped.is_empty() {
        drop::relations(change, &dropped, true, &mut vec![])?;
    }
    Ok(emptied.iter().map(|table| table.oid).collect())
}

/// Whoever refers to a table that is emptied is emptied too.
fn check_references(change: &mut Change<'_>, emptied: &[Arc<Table>]) -> Result<()> {
    for table in emptied {
        for from in table.referenced_by.iter().filter(|from| emptied.iter().all(|table| table.oid != **from)) {
            let Some(from) = change.names().relation_by_oid(*from)? else { continue };
            let message = "unsupported ON COMMIT and foreign key combination";
            let (from, to) = (from.name(), &table.name);
            let detail =
                format!("Table \"{from}\" references \"{to}\", but they do not have the same ON COMMIT setting.");
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message).detail(detail));
        }
    }
    Ok(())
}

/// Removes row by row, not as TRUNCATE: the rows are this transaction's own, and plans over the table stay valid.
fn delete_rows(change: &mut Change<'_>, table: &Table) -> Result<()> {
    let rules = bind::index_rules(&mut change.names(), table)?;
    each_row(&mut change.exec, table, |exec, key, row| remove(exec, (table, &rules), key, &row).map(|_| ()))
}
