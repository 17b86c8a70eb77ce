//! Statements that read and write rows.

use super::expression::expr;
use super::query::select_item;
use super::{Refusal, Result, each, ident, object_name, query, table};
use crate::ast::{
    Assignment, AssignmentTarget, ConflictTarget, Delete, DoUpdate, Expr, IndexColumn, Insert, OnConflict, SelectItem,
    Statement, Update, WrittenTable,
};
use crate::carried;
use pgtypes::{Error, state};
use sqlparser::ast as parser;

/// A statement that reads or writes rows.
///
/// # Errors
/// 0A000 for another statement, and for a clause that this server lacks.
pub(crate) fn statement(statement: parser::Statement) -> Result<Statement> {
    Ok(match statement {
        parser::Statement::Query(written) => Statement::Query(Box::new(query::query(*written)?)),
        parser::Statement::Insert(written) => Statement::Insert(Box::new(insert(written)?)),
        parser::Statement::Update(written) => Statement::Update(Box::new(update(written)?)),
        parser::Statement::Delete(written) => Statement::Delete(Box::new(delete(written)?)),
        other => return Err(Refusal::unsupported(other)),
    })
}

fn insert(insert: parser::Insert) -> Result<Insert> {
    let parser::TableObject::TableName(name) = insert.table else {
        return Err(Refusal::unsupported("INSERT into something that is no table"));
    };
    let is_foreign = insert.or.is_some()
        || insert.ignore
        || insert.overwrite
        || insert.replace_into
        || insert.has_table_keyword
        || insert.priority.is_some()
        || insert.insert_alias.is_some()
        || insert.output.is_some()
        || insert.partitioned.is_some()
        || insert.settings.is_some()
        || insert.format_clause.is_some()
        || !insert.assignments.is_empty()
        || !insert.after_columns.is_empty()
        || insert.multi_table_insert_type.is_some();
    if is_foreign {
        return Err(Refusal::unsupported("this form of INSERT"));
    }
    let on_conflict = match insert.on {
        None => None,
        Some(parser::OnInsert::OnConflict(conflict)) => Some(on_conflict(conflict)?),
        Some(parser::OnInsert::DuplicateKeyUpdate(_)) => return Err(Refusal::unsupported("ON DUPLICATE KEY UPDATE")),
        Some(other) => return Err(Refusal::unsupported(other)),
    };
    let mut columns = insert.columns;
    let overriding = carried::take_overriding(&mut columns);
    Ok(Insert {
        table: object_name(name),
        alias: insert.table_alias.map(|alias| ident(alias.alias)),
        columns: columns.into_iter().map(object_name).collect(),
        overriding,
        source: insert.source.map(|source| query::query(*source).map(Box::new)).transpose()?,
        on_conflict,
        returning: returning(insert.returning)?,
    })
}

fn on_conflict(conflict: parser::OnConflict) -> Result<OnConflict> {
    let target = match conflict.conflict_target {
        None => None,
        Some(parser::ConflictTarget::Columns(columns)) => Some(conflict_index(columns)?),
        Some(parser::ConflictTarget::OnConstraint(constraint)) => {
            Some(ConflictTarget::OnConstraint(object_name(constraint)))
        }
    };
    let update = match conflict.action {
        parser::OnConflictAction::DoNothing => None,
        parser::OnConflictAction::DoUpdate(update) => Some(DoUpdate {
            assignments: each(update.assignments, assignment)?,
            selection: update.selection.map(expr).transpose()?,
        }),
    };
    Ok(OnConflict { target, update })
}

/// What a unique index is on: columns, or a target that is carried in the place of one.
fn conflict_index(columns: Vec<parser::Ident>) -> Result<ConflictTarget> {
    if let Some(text) = carried::conflict_target(&columns) {
        let (columns, predicate) = crate::conflict_target(text)?;
        return Ok(ConflictTarget::Index(columns, predicate));
    }
    let column =
        |name| IndexColumn { key: Expr::Identifier(ident(name)), class: None, descending: false, nulls_first: None };
    Ok(ConflictTarget::Index(columns.into_iter().map(column).collect(), None))
}

/// `column = value`
pub(crate) fn assignment(assignment: parser::Assignment) -> Result<Assignment> {
    let target = match assignment.target {
        parser::AssignmentTarget::ColumnName(column) => AssignmentTarget::Column(object_name(column)),
        parser::AssignmentTarget::Tuple(columns) => {
            AssignmentTarget::Row(columns.into_iter().map(object_name).collect())
        }
    };
    Ok(Assignment { target, value: expr(assignment.value)? })
}

fn update(update: parser::Update) -> Result<Update> {
    if update.or.is_some() || update.output.is_some() || !update.order_by.is_empty() || update.limit.is_some() {
        return Err(Refusal::unsupported("this form of UPDATE"));
    }
    let from = match update.from {
        None => vec![],
        Some(parser::UpdateTableFromKind::AfterSet(tables)) => tables,
        Some(parser::UpdateTableFromKind::BeforeSet(_)) => return Err(Refusal::unsupported("FROM before SET")),
    };
    Ok(Update {
        table: written_table(update.table, "update")?,
        assignments: each(update.assignments, assignment)?,
        from: each(from, table::table_with_joins)?,
        selection: update.selection.map(expr).transpose()?,
        returning: returning(update.returning)?,
    })
}

fn delete(delete: parser::Delete) -> Result<Delete> {
    let (parser::FromTable::WithFromKeyword(mut from) | parser::FromTable::WithoutKeyword(mut from)) = delete.from;
    let is_foreign =
        !delete.tables.is_empty() || delete.output.is_some() || !delete.order_by.is_empty() || delete.limit.is_some();
    let (Some(written), true, false) = (from.pop(), from.is_empty(), is_foreign) else {
        return Err(Refusal::unsupported("this form of DELETE"));
    };
    Ok(Delete {
        table: written_table(written, "delete from")?,
        using: each(delete.using.unwrap_or_default(), table::table_with_joins)?,
        selection: delete.selection.map(expr).transpose()?,
        returning: returning(delete.returning)?,
    })
}

fn written_table(written: parser::TableWithJoins, verb: &str) -> Result<WrittenTable> {
    let refuse = |what: &str| Err(Error::new(state::SYNTAX_ERROR, format!("cannot {verb} {what}")).into());
    let is_plain = table::is_plain(&written.relation);
    match written.relation {
        parser::TableFactor::Table { name, alias, .. } if is_plain => {
            if !written.joins.is_empty() {
                return refuse("a join");
            }
            Ok(WrittenTable { name: object_name(name), alias: alias.map(table::alias) })
        }
        _ => refuse("something that is no table"),
    }
}

fn returning(items: Option<Vec<parser::SelectItem>>) -> Result<Option<Vec<SelectItem>>> {
    items.map(|items| each(items, select_item)).transpose()
}
