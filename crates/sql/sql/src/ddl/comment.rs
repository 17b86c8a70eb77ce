//! COMMENT ON.

use super::{database, defined_type, domain, role};
use crate::alter::name::{kind, no_relation, no_schema, parts, split};
use crate::catalog::{Column, Relation, Table};
use crate::context::Change;
use crate::error::{Result, SqlError, state};
use std::sync::Arc;
use syntax::ast::{Comment, ObjectKind, ObjectName};

/// Runs COMMENT ON.
pub(super) fn run(change: &mut Change<'_>, comment: &Comment) -> Result<()> {
    // An empty comment is none.
    let text = comment.text.clone().filter(|text| !text.is_empty());
    match comment.kind {
        ObjectKind::Column => on_column(change, &comment.name, text),
        ObjectKind::Constraint => match &comment.of {
            Some((ObjectKind::Domain, domain)) => domain::comment_on_check(change, &comment.name, domain, text),
            Some((_, table)) => on_constraint(change, &comment.name, table, text),
            None => Ok(()),
        },
        ObjectKind::Schema => {
            let name = parts(&comment.name).join(".");
            let mut namespace = change.names().namespace(&name)?.ok_or_else(|| no_schema(&name))?;
            namespace.comment = text;
            change.insert_namespace(&namespace)
        }
        ObjectKind::Type | ObjectKind::Domain => defined_type::comment(change, &comment.name, text),
        ObjectKind::Table | ObjectKind::View | ObjectKind::Index | ObjectKind::Sequence => {
            on_relation(change, &comment.kind.word().to_lowercase(), &comment.name, text)
        }
        ObjectKind::Database => match &*comment.name.0 {
            [name] => database::comment(change, name, text),
            _ => Err(SqlError::new(state::SYNTAX_ERROR, "database name cannot be qualified")),
        },
        ObjectKind::Role => match &*comment.name.0 {
            [name] => role::comment(change, name, text),
            _ => Err(SqlError::new(state::SYNTAX_ERROR, "role name cannot be qualified")),
        },
        // Kept nowhere: the comments on extensions are PostgreSQL's.
        _ => Ok(()),
    }
}

fn on_relation(change: &mut Change<'_>, wanted: &str, name: &ObjectName, comment: Option<String>) -> Result<()> {
    let (schema, name) = split(name)?;
    let found =
        change.names().relation(schema.as_deref(), &name)?.ok_or_else(|| no_relation(schema.as_deref(), &name))?;
    if kind(&found) != wanted {
        let article = if wanted == "index" { "an" } else { "a" };
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{name}\" is not {article} {wanted}")));
    }
    let changed = match found {
        Relation::Table(mut table) => {
            Arc::make_mut(&mut table).comment = comment;
            Relation::Table(table)
        }
        Relation::View(mut view) => {
            Arc::make_mut(&mut view).comment = comment;
            Relation::View(view)
        }
        Relation::Sequence(mut sequence) => {
            Arc::make_mut(&mut sequence).comment = comment;
            Relation::Sequence(sequence)
        }
        Relation::Index(entry) => {
            let Some(Relation::Table(mut table)) = change.names().relation_by_oid(entry.table)? else { return Ok(()) };
            let indexes = &mut Arc::make_mut(&mut table).indexes;
            if let Some(index) = indexes.iter_mut().find(|index| index.oid == entry.oid) {
                index.comment = comment;
            }
            Relation::Table(table)
        }
    };
    change.replace(changed)
}

fn on_constraint(
    change: &mut Change<'_>,
    name: &ObjectName,
    table: &ObjectName,
    comment: Option<String>,
) -> Result<()> {
    let name = parts(name).join(".");
    let (schema, called) = split(table)?;
    let Relation::Table(mut table) =
        change.names().relation(schema.as_deref(), &called)?.ok_or_else(|| no_relation(schema.as_deref(), &called))?
    else {
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{called}\" is not a table")));
    };
    let place = comment_of_constraint(Arc::make_mut(&mut table), &name);
    *place.ok_or_else(|| no_constraint_for(&called, &name))? = comment;
    change.replace(Relation::Table(table))
}

/// Where a table keeps the comment on its constraint of this name.
fn comment_of_constraint<'t>(table: &'t mut Table, name: &str) -> Option<&'t mut Option<String>> {
    let Table { indexes, checks, foreign_keys, .. } = table;
    let key = indexes.iter_mut().find(|index| index.constraint && index.name == name);
    let check = checks.iter_mut().find(|check| check.name == name);
    let foreign = foreign_keys.iter_mut().find(|foreign| foreign.name == name);
    let key = key.map(|index| &mut index.constraint_comment);
    key.or(check.map(|check| &mut check.comment)).or(foreign.map(|foreign| &mut foreign.comment))
}

/// 42704, in COMMENT's wording.
fn no_constraint_for(table: &str, name: &str) -> SqlError {
    let message = format!("constraint \"{name}\" for table \"{table}\" does not exist");
    SqlError::new(state::UNDEFINED_OBJECT, message)
}

fn on_column(change: &mut Change<'_>, name: &ObjectName, comment: Option<String>) -> Result<()> {
    let mut parts = parts(name);
    let (column, Some(relation)) = (parts.pop().unwrap_or_default(), parts.pop()) else {
        return Err(SqlError::new(state::SYNTAX_ERROR, "column name must be qualified"));
    };
    let schema = parts.pop();
    let set = |columns: &mut [Column]| {
        let found = columns.iter_mut().find(|known| !known.dropped && known.name == column);
        let found = found.ok_or_else(|| {
            let message = format!("column \"{column}\" of relation \"{relation}\" does not exist");
            SqlError::new(state::UNDEFINED_COLUMN, message)
        })?;
        found.comment = comment.clone();
        Ok::<_, SqlError>(())
    };
    let changed = match change.names().relation(schema.as_deref(), &relation)? {
        Some(Relation::Table(mut table)) => {
            set(&mut Arc::make_mut(&mut table).columns)?;
            Relation::Table(table)
        }
        Some(Relation::View(mut view)) => {
            set(&mut Arc::make_mut(&mut view).columns)?;
            Relation::View(view)
        }
        Some(_) => {
            let message =
                format!("\"{relation}\" is not a table, view, materialized view, composite type, or foreign table");
            return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
        }
        None => return Err(no_relation(schema.as_deref(), &relation)),
    };
    change.replace(changed)
}
