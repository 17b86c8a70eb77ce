//! Definitions: CREATE, ALTER, DROP, TRUNCATE. Each is part of the transaction that says it: it writes the catalog's rows
//! and those of the tables as every statement does, so whatever rolls those back rolls it back.
//!
//! A file reads what its statement says, and has it done by the floor below, [`alter`](crate::alter).

mod accepted;
mod alter_table;
mod alteration;
mod column;
mod comment;
mod constraint;
mod create_table;
mod drop;
mod foreign_key;
mod index;
mod schema;
mod sequence;
mod star;
mod table_as;
mod truncate;
mod view;

pub use alteration::{alter, tag};

use crate::alter::name::fold;
use crate::context::Change;
use crate::error::{Result, SqlError, state};
use syntax::ast::{self, Statement};

/// Runs a definition, if the statement is one, and says its tag (`CREATE TABLE`). Notices (`table "x" does not exist,
/// skipping`) are pushed.
///
/// # Errors
/// 42P07, 42P01, 42701, 2BP01 and the like, the engine's.
pub fn run(change: &mut Change<'_>, statement: &ast::Statement, notices: &mut Vec<SqlError>) -> Result<Option<String>> {
    let tag = match statement {
        Statement::CreateTable(create) => return create_table::run(change, create, notices).map(Some),
        Statement::Query(query) => return table_as::select_into(change, query),
        Statement::Drop { object_type, if_exists, names, cascade, .. } => {
            return drop::run(change, *object_type, *if_exists, names, *cascade, notices).map(Some);
        }
        Statement::AlterTable(alter) => {
            alter_table::run(change, alter, notices)?;
            "ALTER TABLE"
        }
        Statement::CreateIndex(create) => {
            index::create(change, create, notices)?;
            "CREATE INDEX"
        }
        Statement::CreateView(create) => {
            view::create(change, create)?;
            "CREATE VIEW"
        }
        Statement::CreateSchema { schema_name, if_not_exists, .. } => {
            schema::create(change, schema_name, *if_not_exists, notices)?;
            "CREATE SCHEMA"
        }
        Statement::Truncate(truncate) => {
            truncate::run(change, truncate, notices)?;
            "TRUNCATE TABLE"
        }
        Statement::Comment { object_type, object_name, comment, .. } => {
            comment::run(change, *object_type, object_name, comment.as_deref())?;
            "COMMENT"
        }
        other => return other_statement(change, other, notices),
    };
    Ok(Some(tag.to_owned()))
}

/// Statements with little to do.
fn other_statement(
    change: &mut Change<'_>,
    statement: &Statement,
    notices: &mut Vec<SqlError>,
) -> Result<Option<String>> {
    let tag = match statement {
        Statement::Grant(grant) => {
            accepted::privileges(&mut change.names(), grant.objects.as_ref(), &grant.grantees)?;
            "GRANT"
        }
        Statement::Revoke(revoke) => {
            accepted::privileges(&mut change.names(), revoke.objects.as_ref(), &revoke.grantees)?;
            "REVOKE"
        }
        Statement::DropExtension(drop) => {
            for name in &drop.names {
                drop::skip_absent("extension", &fold(name), drop.if_exists, notices)?;
            }
            "DROP EXTENSION"
        }
        Statement::DropFunction(function) if function.if_exists => {
            for function in &function.func_desc {
                let message = format!("function {}() does not exist, skipping", function.name);
                notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, message));
            }
            "DROP FUNCTION"
        }
        Statement::Lock(lock) => {
            accepted::lock(change, lock)?;
            "LOCK TABLE"
        }
        Statement::CreateExtension(create) => {
            accepted::create_extension(create, notices)?;
            "CREATE EXTENSION"
        }
        _ => return Ok(None),
    };
    Ok(Some(tag.to_owned()))
}
