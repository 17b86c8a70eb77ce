//! CREATE VIEW.

use super::table_as::columns_of;
use super::view_query::write_meanings;
use crate::alter::name::{creation_schema, fold, split};
use crate::alter::qualify::qualify;
use crate::alter::view;
use crate::catalog::{Column, Oid, Relation, View, name_taken};
use crate::context::{Change, Names};
use crate::error::{Result, SqlError, state};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use syntax::ast::{CreateView, Query, visit_relations};

/// Runs CREATE VIEW.
pub(super) fn create(change: &mut Change<'_>, create: &CreateView) -> Result<()> {
    let (schema, name) = split(&create.name)?;
    let reads = relations(&mut change.names(), &create.query)?;
    // A view over something temporary is temporary.
    let temporary = create.temporary || reads_temporary(&mut change.names(), &reads)?;
    let schema = creation_schema(change, schema.as_deref(), &name, temporary)?;
    let mut written = create.query.clone();
    let query = write_meanings(&mut change.names(), &mut written)?;
    qualify(&mut change.exec.names(), &mut written)?;
    let names: Vec<String> = create.columns.iter().map(fold).collect();
    let columns = columns_of(&query, &names)?;
    let existing = change.names().relation_in(&schema, &name)?;
    let old = match existing {
        None => None,
        Some(Relation::View(old)) if create.or_replace => Some(old),
        Some(_) if !create.or_replace => return Err(name_taken(&name)),
        Some(_) => return Err(SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a view"))),
    };
    let oid = match &old {
        Some(old) => {
            check_replacement(old, &columns)?;
            old.oid
        }
        None => change.fresh_oid()?,
    };
    if reads.contains(&oid) {
        let message = format!("infinite recursion detected in rules for relation \"{name}\"");
        return Err(SqlError::new(state::INVALID_OBJECT_DEFINITION, message));
    }
    let comment = old.as_ref().and_then(|old| old.comment.clone());
    let view = View { oid, schema, name, version: 0, columns, query: written.to_string(), comment };
    view::store(change, view, reads, old.is_some())
}

/// A view that replaces another has its columns, and perhaps more.
fn check_replacement(old: &View, columns: &[Column]) -> Result<()> {
    let wrong = |message: String| Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
    if columns.len() < old.columns.len() {
        return wrong("cannot drop columns from view".to_owned());
    }
    for (old, new) in old.columns.iter().zip(columns) {
        if old.name != new.name {
            let message = format!("cannot change name of view column \"{}\" to \"{}\"", old.name, new.name);
            let hint = "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.";
            return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message).hint(hint));
        }
        if (old.data_type, old.modifier) != (new.data_type, new.modifier) {
            let (from, to) = (old.data_type.format(old.modifier), new.data_type.format(new.modifier));
            return wrong(format!("cannot change data type of view column \"{}\" from {from} to {to}", old.name));
        }
    }
    Ok(())
}

/// The relations that a query reads: by the names in it that are not those of its own WITH queries.
fn relations(names: &mut Names<'_>, query: &Query) -> Result<BTreeSet<Oid>> {
    let mut named = Vec::new();
    let _: ControlFlow<()> = visit_relations(query, |name| {
        named.push(name.clone());
        ControlFlow::Continue(())
    });
    let mut found = BTreeSet::new();
    for name in named {
        let (schema, name) = split(&name)?;
        if let Some(relation) = names.relation(schema.as_deref(), &name)? {
            found.insert(relation.oid());
        }
    }
    Ok(found)
}

fn reads_temporary(names: &mut Names<'_>, reads: &BTreeSet<Oid>) -> Result<bool> {
    let Some(schema) = names.temporary_schema() else { return Ok(false) };
    for oid in reads {
        if names.relation_by_oid(*oid)?.is_some_and(|relation| relation.schema() == schema) {
            return Ok(true);
        }
    }
    Ok(false)
}
