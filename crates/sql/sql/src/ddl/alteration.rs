//! Runs what [`crate::parse::Alteration`] says.

use super::accepted::{check_role, must_exist};
use super::alter_table::add_identity;
use super::schema::check_name;
use super::sequence::{Options, define, integer, owner_of};
use crate::alter::column::no_column;
use crate::alter::drop::drop_owned;
use crate::alter::name::{creation_schema, fold_name, kind as kind_of, no_relation, no_schema, parts, split};
use crate::alter::rename::{self, move_relation, rename_relation_to};
use crate::alter::sequence::{check_bounds, check_last, disown_sequence, own, range, restart};
use crate::alter::table::{exists, store};
use crate::catalog::{Identity, Relation, Sequence, Table};
use crate::context::{Change, Names};
use crate::error::{Result, SqlError, state};
use crate::parse::{Action, Alteration, Kind, SequenceWords};
use crate::types::Type;
use std::sync::Arc;
use syntax::ast::ObjectName;

/// The tag of such a definition.
pub fn tag(alteration: &Alteration) -> String {
    match alteration {
        Alteration::CreateSequence { .. } => "CREATE SEQUENCE".to_owned(),
        Alteration::Alter { kind, .. } => format!("ALTER {}", kind.word()),
        Alteration::Maintenance { tag, .. } => (*tag).to_owned(),
    }
}

/// Runs such a definition.
///
/// # Errors
/// As [`super::run`].
pub fn alter(change: &mut Change<'_>, alteration: &Alteration, notices: &mut Vec<SqlError>) -> Result<()> {
    match alteration {
        Alteration::CreateSequence { name, temporary, if_not_exists, options } => {
            create_sequence(change, name, *temporary, *if_not_exists, options, notices)
        }
        Alteration::Alter { kind: Kind::Schema, name, action, .. } => alter_schema(change, name, action),
        Alteration::Alter { kind, name, if_exists, action } => {
            alter_relation(change, *kind, name, *if_exists, action, notices)
        }
        Alteration::Maintenance { names, .. } => {
            names.iter().try_for_each(|name| must_exist(&mut change.names(), name))
        }
    }
}

fn create_sequence(
    change: &mut Change<'_>,
    name: &ObjectName,
    temporary: bool,
    if_not_exists: bool,
    said: &SequenceWords,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let (schema, name) = split(name)?;
    let schema = creation_schema(change, schema.as_deref(), &name, temporary)?;
    if exists(&mut change.names(), &schema, &name, if_not_exists, notices)? {
        return Ok(());
    }
    if said.restart.is_some() || said.name.is_some() {
        return Err(SqlError::new(state::SYNTAX_ERROR, "conflicting or redundant options"));
    }
    let data_type = said.data_type.unwrap_or(Type::INT8);
    let mut sequence = define(change, schema, name, data_type, &said.options)?;
    if let Some(owner) = &said.owned_by {
        sequence.owned_by = owner_of(&mut change.names(), &sequence, owner)?;
        own(change, &sequence, sequence.owned_by)?;
    }
    change.insert(Relation::Sequence(Arc::new(sequence)))
}

fn alter_schema(change: &mut Change<'_>, name: &ObjectName, action: &Action) -> Result<()> {
    let name = parts(name)?.join(".");
    let old = change.names().namespace(&name)?.ok_or_else(|| no_schema(&name))?;
    match action {
        Action::Owner(role) => check_owner(role),
        Action::Rename(new) => {
            let new = fold_name(new);
            if change.names().namespace(&new)?.is_some() {
                let message = format!("schema \"{new}\" already exists");
                return Err(SqlError::new(state::DUPLICATE_SCHEMA, message));
            }
            check_name(&new)?;
            rename::schema(change, old, &new)
        }
        _ => Err(SqlError::unsupported("this form of ALTER SCHEMA")),
    }
}

fn check_owner(role: &str) -> Result<()> {
    match role {
        "current_user" | "session_user" | "current_role" => Ok(()),
        role => check_role(role),
    }
}

fn alter_relation(
    change: &mut Change<'_>,
    kind: Kind,
    name: &ObjectName,
    if_exists: bool,
    action: &Action,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let (schema, name) = split(name)?;
    let Some(relation) = change.names().relation(schema.as_deref(), &name)? else {
        let error = no_relation(schema.as_deref(), &name);
        if !if_exists {
            return Err(error);
        }
        notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message())));
        return Ok(());
    };
    // ALTER TABLE renames, moves and gives away relations of every kind.
    let wanted = kind.word().to_lowercase();
    if kind != Kind::Table && kind_of(&relation) != wanted {
        let article = if kind == Kind::Index { "an" } else { "a" };
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{name}\" is not {article} {wanted}")));
    }
    match (action, relation) {
        (Action::Rename(new), relation) => rename_relation_to(change, relation.oid(), &fold_name(new)),
        (Action::SetSchema(schema), relation) => set_schema(change, &relation, schema),
        (Action::Owner(role), _) => check_owner(role),
        (Action::Storage, _) => Ok(()),
        (Action::Sequence(said), Relation::Sequence(sequence)) => {
            alter_sequence(change, Arc::unwrap_or_clone(sequence), said)
        }
        (action, Relation::Table(table)) => alter_column(change, Arc::unwrap_or_clone(table), action, notices),
        (_, _) => Err(SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a table"))),
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
    move_relation(change, relation.oid(), &schema)
}

/// Changes a sequence by what ALTER SEQUENCE says, or SET of an identity column.
fn alter_sequence(change: &mut Change<'_>, mut sequence: Sequence, said: &SequenceWords) -> Result<()> {
    let mut options = Options::default();
    said.options.iter().try_for_each(|option| options.read(option))?;
    if let Some(data_type) = said.data_type {
        change_type(&mut sequence, data_type, &mut options)?;
    }
    options.apply(&mut sequence)?;
    check_bounds(&sequence)?;
    let (last, _) = crate::catalog::sequence::state(&mut change.exec.system(), sequence.oid)?;
    if said.restart.is_none() {
        check_last(&sequence, last)?;
    }
    if let Some(owner) = &said.owned_by {
        let owner = owner_of(&mut change.names(), &sequence, owner)?;
        disown_sequence(change, &sequence)?;
        sequence.owned_by = owner;
        own(change, &sequence, owner)?;
    }
    match &said.restart {
        None => change.replace(Relation::Sequence(Arc::new(sequence))),
        Some(None) => {
            let start = sequence.start;
            restart(change, sequence, start)
        }
        Some(Some(value)) => restart(change, sequence, integer(value)?),
    }
}

/// AS: bounds that were those of the old type become those of the new one.
fn change_type(sequence: &mut Sequence, data_type: Type, options: &mut Options) -> Result<()> {
    if !matches!(data_type, Type::INT2 | Type::INT4 | Type::INT8) {
        let message = "sequence type must be smallint, integer, or bigint";
        return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    }
    let (least, greatest) = range(sequence.data_type);
    if sequence.max == greatest {
        options.max.get_or_insert(None);
    }
    if sequence.min == least {
        options.min.get_or_insert(None);
    }
    sequence.data_type = data_type;
    Ok(())
}

fn alter_column(change: &mut Change<'_>, mut table: Table, action: &Action, notices: &mut Vec<SqlError>) -> Result<()> {
    let (Action::AddIdentity(column, ..)
    | Action::SetIdentity(column, ..)
    | Action::DropIdentity(column, _)
    | Action::ColumnStorage(column)) = action
    else {
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{}\" is not a sequence", table.name)));
    };
    let column = fold_name(column);
    let at = table.column(&column).ok_or_else(|| no_column(&table, &column))?;
    match action {
        Action::AddIdentity(_, always, said) => {
            let identity = if *always { Identity::Always } else { Identity::ByDefault };
            let named = match &said.name {
                None => None,
                Some(name) => {
                    let (schema, name) = split(name)?;
                    Some((creation_schema(change, schema.as_deref(), &name, table.temporary)?, name))
                }
            };
            add_identity(change, table, at, identity, &said.options, named)
        }
        Action::SetIdentity(_, always, said) => {
            check_identity(&table, at)?;
            if let Some(always) = always {
                table.columns[at].identity = Some(if *always { Identity::Always } else { Identity::ByDefault });
                store(change, &table)?;
            }
            match sequence_of(&mut change.names(), &table, at)? {
                Some(sequence) => alter_sequence(change, sequence, said),
                None => Ok(()),
            }
        }
        Action::DropIdentity(_, if_exists) => drop_identity(change, table, at, *if_exists, notices),
        _ => Ok(()),
    }
}

fn sequence_of(names: &mut Names<'_>, table: &Table, at: usize) -> Result<Option<Sequence>> {
    let Some(oid) = table.columns[at].sequence else { return Ok(None) };
    Ok(match names.relation_by_oid(oid)? {
        Some(Relation::Sequence(sequence)) => Some(Arc::unwrap_or_clone(sequence)),
        _ => None,
    })
}

fn check_identity(table: &Table, at: usize) -> Result<()> {
    let column = &table.columns[at];
    if column.identity.is_some() {
        return Ok(());
    }
    let message = format!("column \"{}\" of relation \"{}\" is not an identity column", column.name, table.name);
    Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
}

fn drop_identity(
    change: &mut Change<'_>,
    mut table: Table,
    at: usize,
    if_exists: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    if let Err(error) = check_identity(&table, at) {
        if !if_exists {
            return Err(error);
        }
        notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message())));
        return Ok(());
    }
    table.columns[at].identity = None;
    let sequence = table.columns[at].sequence.take();
    store(change, &table)?;
    match sequence {
        Some(sequence) => drop_owned(change, sequence, false, notices),
        None => Ok(()),
    }
}
