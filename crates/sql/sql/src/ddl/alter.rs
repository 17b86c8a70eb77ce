//! ALTER: changes in sequence, each applied to the result of the one before.

use super::{alter_sequence, alter_table, defined_type, owned, schema};
use crate::alter::name::{creation_schema, fold, kind as kind_of, no_relation, split};
use crate::alter::rename;
use crate::catalog::{Relation, TypeKind};
use crate::context::Change;
use crate::error::{Result, SqlError, state};
use std::sync::Arc;
use syntax::ast::{Alter, AlterAction, ObjectKind};

/// Runs ALTER.
pub(super) fn run(change: &mut Change<'_>, alter: &Alter, notices: &mut Vec<SqlError>) -> Result<()> {
    if alter.kind == ObjectKind::Schema {
        return alter.actions.iter().try_for_each(|action| schema::alter(change, &alter.name, action));
    }
    if matches!(alter.kind, ObjectKind::Type | ObjectKind::Domain) {
        return defined_type::alter(change, alter, notices);
    }
    let (schema, name) = split(&alter.name)?;
    let Some(relation) = change.names().relation(schema.as_deref(), &name)? else {
        let found = change.names().type_named(schema.as_deref(), &name)?;
        if found.is_some_and(|found| matches!(found.kind, TypeKind::Composite(_))) {
            let message = format!("\"{name}\" is a composite type");
            return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message).hint("Use ALTER TYPE instead."));
        }
        if !alter.if_exists {
            return Err(no_relation(schema.as_deref(), &name));
        }
        let message = format!("relation \"{name}\" does not exist, skipping");
        notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, message));
        return Ok(());
    };
    // Old dumps say ALTER TABLE of sequences and views too.
    let wanted = alter.kind.word().to_lowercase();
    if alter.kind != ObjectKind::Table && kind_of(&relation) != wanted {
        let article = if alter.kind == ObjectKind::Index { "an" } else { "a" };
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{name}\" is not {article} {wanted}")));
    }
    alter.actions.iter().try_for_each(|action| apply(change, &relation, action, notices))
}

fn apply(
    change: &mut Change<'_>,
    relation: &Relation,
    action: &AlterAction,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    match (action, relation) {
        (AlterAction::Rename(new), _) => rename::rename_relation_to(change, relation.oid(), &fold(new)),
        (AlterAction::SetSchema(schema), _) => set_schema(change, relation, &fold(schema)),
        // An index belongs to the owner of its table.
        (AlterAction::Owner(role), Relation::Index(_)) => owned::must_exist(change, role).map(drop),
        (AlterAction::Owner(role), _) => owned::set_owner(change, relation.oid(), role),
        (AlterAction::Storage, _) => Ok(()),
        (AlterAction::Sequence(options), Relation::Sequence(sequence)) => {
            alter_sequence::run(change, Arc::unwrap_or_clone(sequence.clone()), options)
        }
        (AlterAction::RenameColumn { from, to }, Relation::View(view)) => {
            rename::view_column(change, view.oid, &fold(from), fold(to))
        }
        (action, Relation::Table(table)) => alter_table::apply(change, table.oid, action, notices),
        (_, other) => {
            let (name, kind) = (other.name(), kind_of(other));
            let message = format!("\"{name}\" is a {kind}, and this form of ALTER TABLE is for tables");
            Err(SqlError::new(state::WRONG_OBJECT_TYPE, message))
        }
    }
}

fn set_schema(change: &mut Change<'_>, relation: &Relation, schema: &str) -> Result<()> {
    let schema = creation_schema(change, Some(schema), relation.name(), false)?;
    let owner = match relation {
        Relation::Sequence(sequence) => sequence.owned_by,
        _ => None,
    };
    if owner.is_some() {
        let message = "cannot move an owned sequence into another schema";
        let detail = format!("Sequence \"{}\" is linked to a table.", relation.name());
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message).detail(detail));
    }
    rename::move_relation(change, relation.oid(), &schema)
}
