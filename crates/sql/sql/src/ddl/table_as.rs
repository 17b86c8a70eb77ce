//! CREATE TABLE AS and SELECT INTO.

use crate::alter::column::check_type;
use crate::alter::name::{creation_schema, fold, split};
use crate::alter::on_commit;
use crate::alter::table::{empty, exists, insert, make_storage};
use crate::bind;
use crate::catalog::{Column, Table};
use crate::context::{Change, Names};
use crate::dml::rows::write_new;
use crate::error::{Result, SqlError, state};
use crate::exec::Cursor;
use crate::optimize::{Sizes, optimize};
use crate::plan::{IndexRules, Query, Statement};
use crate::types::Type;
use std::sync::Arc;
use syntax::ast::{self, CreateTableAs};

/// Runs CREATE TABLE AS and SELECT INTO. Returns the tag.
pub(super) fn run(change: &mut Change<'_>, create: &CreateTableAs, notices: &mut Vec<SqlError>) -> Result<String> {
    let (schema, name) = split(&create.name)?;
    let schema = creation_schema(change, schema.as_deref(), &name, create.temporary)?;
    if exists(&mut change.names(), &schema, &name, create.if_not_exists, notices)? {
        return Ok("CREATE TABLE AS".to_owned());
    }
    let names: Vec<String> = create.columns.iter().map(fold).collect();
    let query = bound(&mut change.names(), &ast::Statement::Query(Box::new(create.query.clone())))?;
    let mut table = empty(change, schema, name)?;
    on_commit::define(change, &mut table, create.on_commit)?;
    table.columns = columns_of(&query, &names)?;
    make_storage(change, &mut table)?;
    let rows = if create.with_data { Some(fill(change, &table, &query)?) } else { None };
    insert(change, table)?;
    Ok(rows.map_or_else(|| "CREATE TABLE AS".to_owned(), |rows| format!("SELECT {rows}")))
}

/// The meaning of a query without parameters.
pub(super) fn bound(names: &mut Names<'_>, query: &ast::Statement) -> Result<Query> {
    let mut parameters = Vec::new();
    match bind::statement(names, query, &mut parameters)? {
        Statement::Query(_) if !parameters.is_empty() => {
            Err(SqlError::new(state::UNDEFINED_PARAMETER, "there is no parameter $1"))
        }
        Statement::Query(query) => Ok(query),
        _ => Err(SqlError::unsupported("a data-modifying statement here")),
    }
}

/// The columns of a query as columns of a relation.
pub(super) fn columns_of(query: &Query, names: &[String]) -> Result<Vec<Column>> {
    if names.len() > query.fields.len() {
        return Err(SqlError::new(state::SYNTAX_ERROR, "too many column names were specified"));
    }
    let mut columns: Vec<Column> = Vec::with_capacity(query.fields.len());
    for (at, field) in query.fields.iter().enumerate() {
        let name = names.get(at).unwrap_or(&field.name).clone();
        if columns.iter().any(|column| column.name == name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
        }
        let data_type = if field.data_type == Type::UNKNOWN { Type::TEXT } else { field.data_type };
        check_type(&name, data_type)?;
        columns.push(Column::plain(name, data_type, field.modifier));
    }
    Ok(columns)
}

/// Writes the rows of a query. Returns their number.
fn fill(change: &mut Change<'_>, table: &Table, query: &Query) -> Result<u64> {
    let sizes = Sizes::of(change.exec.store(), change.exec.samples()).within(change.exec.memory.limit());
    let plan = optimize(Arc::unwrap_or_clone(query.plan.clone()), &sizes);
    change.exec.transaction.set_reads_wait(false);
    let mut cursor = Cursor::new(Arc::new(plan));
    let mut rows = 0_u64;
    while let Some(row) = cursor.next(&mut change.exec)? {
        write_new(&mut change.exec, (table, &IndexRules::default()), &row)?;
        rows += 1;
    }
    Ok(rows)
}
