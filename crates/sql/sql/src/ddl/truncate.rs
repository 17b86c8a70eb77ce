//! TRUNCATE: new, empty storage for the same definitions.

use crate::alter::dependents::describe;
use crate::alter::name::{no_relation, split};
use crate::alter::table;
use crate::catalog::{Oid, Relation, Table};
use crate::context::{Change, Names};
use crate::error::{Result, SqlError, state};
use std::sync::Arc;
use syntax::ast::Truncate;

/// Runs TRUNCATE.
pub(super) fn run(change: &mut Change<'_>, statement: &Truncate, notices: &mut Vec<SqlError>) -> Result<()> {
    let mut tables: Vec<Arc<Table>> = Vec::new();
    for name in &statement.names {
        let (schema, name) = split(name)?;
        match change.names().relation(schema.as_deref(), &name)? {
            Some(Relation::Table(table)) if tables.iter().any(|other| other.oid == table.oid) => {}
            Some(Relation::Table(table)) => tables.push(table),
            Some(_) => {
                return Err(SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a table")));
            }
            None => return Err(no_relation(schema.as_deref(), &name)),
        }
    }
    let mut at = 0;
    while let Some(table) = tables.get(at).cloned() {
        for from in &table.referenced_by {
            include(&mut change.names(), &mut tables, &table, *from, statement.cascade, notices)?;
        }
        at += 1;
    }
    for table in tables {
        table::truncate(change, Arc::unwrap_or_clone(table), statement.restart_identity)?;
    }
    Ok(())
}

/// A table that refers to one that becomes empty becomes empty too.
///
/// # Errors
/// 0A000 if nobody said so.
fn include(
    names: &mut Names<'_>,
    tables: &mut Vec<Arc<Table>>,
    referenced: &Table,
    from: Oid,
    cascade: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    if tables.iter().any(|table| table.oid == from) {
        return Ok(());
    }
    let Some(relation) = names.relation_by_oid(from)? else { return Ok(()) };
    let described = describe(names, &relation)?;
    let Relation::Table(referencing) = relation else { return Ok(()) };
    if !cascade {
        let message = "cannot truncate a table referenced in a foreign key constraint";
        let (from, to) = (&referencing.name, &referenced.name);
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
            .detail(format!("Table \"{from}\" references \"{to}\"."))
            .hint(format!("Truncate table \"{from}\" at the same time, or use TRUNCATE ... CASCADE.")));
    }
    let name = described.strip_prefix("table ").unwrap_or(&described);
    notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, format!("truncate cascades to table \"{name}\"")));
    tables.push(referencing);
    Ok(())
}
