//! CREATE TYPE, ALTER TYPE, COMMENT ON TYPE.

use super::{composite, domain, owned};
use crate::alter::defined_type::{rename_label, shown};
use crate::alter::name::{creation_schema, fold, no_schema, split};
use crate::catalog::{DefinedType, EnumLabel, Relation, TypeKind};
use crate::context::{Change, Names, name_taken, type_taken};
use crate::error::{Result, SqlError, state};
use crate::types::{Type, defined};
use std::sync::Arc;
use syntax::ast::{Alter, AlterAction, CreateType, LabelPlace, NewType, ObjectKind, ObjectName};
use tables::rank;

/// The longest label in bytes.
const LONGEST_LABEL: usize = 63;
/// The most labels of an enum: each statement that uses the type reads them all.
const MOST_LABELS: usize = 10_000;

/// Runs CREATE TYPE.
pub(super) fn create(change: &mut Change<'_>, create: &CreateType) -> Result<()> {
    let (schema, name) = split(&create.name)?;
    let schema = creation_schema(change, schema.as_deref(), &name, false)?;
    check_free(&mut change.names(), &schema, &name)?;
    let oid = change.fresh_oid()?;
    if defined::element_of(defined::array_of(oid)) != Some(oid) {
        return Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, "there are no identifiers left for types"));
    }
    let written = match &create.kind {
        NewType::Enum(labels) => labels,
        NewType::Composite(attributes) => {
            if change.names().relation_in(&schema, &name)?.is_some() {
                return Err(name_taken(&name));
            }
            return composite::create(change, oid, schema, name, attributes);
        }
    };
    check_count(written.len())?;
    let mut labels: Vec<EnumLabel> = Vec::with_capacity(written.len());
    let ranks = rank::initial(written.len());
    for (at, (name, rank)) in written.iter().zip(ranks).enumerate() {
        check_label(name)?;
        if labels.iter().any(|label| label.name == *name) {
            let message = "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"";
            return Err(SqlError::new(state::UNIQUE_VIOLATION, message)
                .detail(format!("Key (enumtypid, enumlabel)=({oid}, {name}) already exists.")));
        }
        labels.push(EnumLabel { oid: change.fresh_oid()?, name: name.clone(), rank, sort_order: (at + 1) as f32 });
    }
    change.insert_type(DefinedType { oid, schema, name, version: 0, kind: TypeKind::Enum(labels), comment: None })
}

/// A relation with rows has a type of its name.
pub(super) fn check_free(names: &mut Names<'_>, schema: &str, name: &str) -> Result<()> {
    let has_type = matches!(names.relation_in(schema, name)?, Some(Relation::Table(_) | Relation::View(_)));
    if has_type || names.type_in(schema, name)?.is_some() {
        return Err(type_taken(name));
    }
    Ok(())
}

fn check_label(label: &str) -> Result<()> {
    if label.len() <= LONGEST_LABEL {
        return Ok(());
    }
    Err(SqlError::new(state::INVALID_NAME, format!("invalid enum label \"{label}\""))
        .detail(format!("Labels must be {LONGEST_LABEL} bytes or less.")))
}

fn check_count(count: usize) -> Result<()> {
    if count <= MOST_LABELS {
        return Ok(());
    }
    let message = format!("an enum can have at most {MOST_LABELS} labels");
    Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message)
        .hint("Keep the values in a table, with a foreign key to it."))
}

/// The type that a statement names.
///
/// # Errors
/// 42704, 3F000
pub(super) fn find(names: &mut Names<'_>, name: &ObjectName) -> Result<Arc<DefinedType>> {
    let (schema, bare) = split(name)?;
    if let Some(found) = names.type_named(schema.as_deref(), &bare)?
        && defined::relation_of(found.oid).is_none()
    {
        return Ok(found);
    }
    if let Some(schema) = &schema
        && names.namespace(schema)?.is_none()
    {
        return Err(no_schema(schema));
    }
    let not_an_enum = |name: &str| Err(SqlError::new(state::WRONG_OBJECT_TYPE, format!("{name} is not an enum")));
    if let Some(Relation::Table(_) | Relation::View(_)) = names.relation(schema.as_deref(), &bare)? {
        return not_an_enum(&bare);
    }
    if let Some(found) = built_in(schema.as_deref(), &bare) {
        return not_an_enum(&found.name());
    }
    let name = schema.map_or_else(|| bare.clone(), |schema| format!("{schema}.{bare}"));
    Err(SqlError::new(state::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist")))
}

/// The built-in type of a name.
pub(super) fn built_in(schema: Option<&str>, name: &str) -> Option<Type> {
    let may_be = schema.is_none_or(|schema| schema == "pg_catalog");
    Type::all().find(|known| may_be && known.internal_name() == name)
}

/// Runs ALTER TYPE.
pub(super) fn alter(change: &mut Change<'_>, alter: &Alter, notices: &mut Vec<SqlError>) -> Result<()> {
    for action in &alter.actions {
        check_no_rows(&mut change.names(), alter, action)?;
        let old = find(&mut change.names(), &alter.name).map_err(|error| match alter.kind {
            ObjectKind::Domain if error.code() == state::WRONG_OBJECT_TYPE => {
                let (_, name) = split(&alter.name).unwrap_or_default();
                SqlError::new(state::WRONG_OBJECT_TYPE, format!("{name} is not a domain"))
            }
            _ => error,
        })?;
        if alter.kind == ObjectKind::Domain && !matches!(old.kind, TypeKind::Domain(_)) {
            let message = format!("{} is not a domain", shown(&old));
            return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
        }
        apply(change, &old, action, notices)?;
    }
    Ok(())
}

/// Refuses to change the type of a table's rows otherwise than with the table.
fn check_no_rows(names: &mut Names<'_>, alter: &Alter, action: &AlterAction) -> Result<()> {
    let (schema, name) = split(&alter.name)?;
    let found = names.type_named(schema.as_deref(), &name)?;
    if found.is_none_or(|found| defined::relation_of(found.oid).is_none()) || alter.kind == ObjectKind::Domain {
        return Ok(());
    }
    let message = match action {
        AlterAction::AddAttribute(_)
        | AlterAction::DropAttribute { .. }
        | AlterAction::AlterAttribute(_)
        | AlterAction::RenameAttribute { .. } => format!("\"{name}\" is not a composite type"),
        AlterAction::AddValue { .. } | AlterAction::RenameValue { .. } => return Ok(()),
        _ => {
            let message = format!("{name} is a table's row type");
            return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message).hint("Use ALTER TABLE instead."));
        }
    };
    Err(SqlError::new(state::WRONG_OBJECT_TYPE, message))
}

fn apply(change: &mut Change<'_>, old: &DefinedType, action: &AlterAction, notices: &mut Vec<SqlError>) -> Result<()> {
    let mut new = old.clone();
    match action {
        AlterAction::Owner(role) => {
            if owned::must_exist(change, role)? != tables::SUPERUSER {
                let message = "OWNER TO of a type has no effect: types belong to \"postgres\"";
                notices.push(SqlError::new(state::WARNING, message));
            }
            return Ok(());
        }
        AlterAction::Rename(name) => {
            new.name = fold(name);
            check_free(&mut change.names(), &new.schema, &new.name)?;
        }
        AlterAction::SetSchema(schema) => {
            new.schema = creation_schema(change, Some(&fold(schema)), &old.name, false)?;
            if new.schema == old.schema {
                return Ok(());
            }
            if change.names().type_in(&new.schema, &new.name)?.is_some() {
                let message = format!("type \"{}\" already exists in schema \"{}\"", new.name, new.schema);
                return Err(SqlError::new(state::DUPLICATE_OBJECT, message));
            }
            check_free(&mut change.names(), &new.schema, &new.name)?;
        }
        AlterAction::AddValue { label, if_not_exists, place } => {
            let labels = labels_of(&mut new)?;
            check_label(label)?;
            if labels.iter().any(|known| known.name == *label) {
                let error = label_taken(label);
                if !if_not_exists {
                    return Err(error);
                }
                let message = format!("{}, skipping", error.message());
                notices.push(SqlError::new(state::DUPLICATE_OBJECT, message));
                return Ok(());
            }
            check_count(labels.len() + 1)?;
            add_label(labels, change.fresh_oid()?, label, place.as_ref())?;
        }
        AlterAction::RenameValue { from, to } => {
            let labels = labels_of(&mut new)?;
            check_label(to)?;
            let at = place_of(labels, from)?;
            if labels.iter().any(|label| label.name == *to) {
                return Err(label_taken(to));
            }
            labels[at].name.clone_from(to);
            change.replace_type(old, new)?;
            return rename_label(change, old.oid, from, to);
        }
        AlterAction::AddAttribute(_)
        | AlterAction::DropAttribute { .. }
        | AlterAction::AlterAttribute(_)
        | AlterAction::RenameAttribute { .. } => return composite::alter(change, old, action, notices),
        action => return domain::alter(change, old, action, notices),
    }
    change.replace_type(old, new)
}

/// The labels of an enum.
///
/// # Errors
/// 42809
fn labels_of(found: &mut DefinedType) -> Result<&mut Vec<EnumLabel>> {
    let name = shown(found);
    match &mut found.kind {
        TypeKind::Enum(labels) => Ok(labels),
        TypeKind::Domain(_) | TypeKind::Composite(_) => {
            Err(SqlError::new(state::WRONG_OBJECT_TYPE, format!("{name} is not an enum")))
        }
    }
}

fn label_taken(label: &str) -> SqlError {
    SqlError::new(state::DUPLICATE_OBJECT, format!("enum label \"{label}\" already exists"))
}

fn place_of(labels: &[EnumLabel], name: &str) -> Result<usize> {
    labels.iter().position(|label| label.name == name).ok_or_else(|| {
        let message = format!("\"{name}\" is not an existing enum label");
        SqlError::new(state::INVALID_PARAMETER_VALUE, message)
    })
}

/// Adds a label between two others. Ranks of others stay, since they are stored; their numbers are PostgreSQL's, which are
/// given anew where there is none between two.
fn add_label(labels: &mut Vec<EnumLabel>, oid: u32, name: &str, place: Option<&LabelPlace>) -> Result<()> {
    let at = match place {
        None => labels.len(),
        Some(LabelPlace { before, neighbor }) => place_of(labels, neighbor)? + usize::from(!before),
    };
    let (before, after) = (at.checked_sub(1).map(|before| &labels[before]), labels.get(at));
    let rank = rank::between(before.map(|label| &*label.rank), after.map(|label| &*label.rank));
    let sort_order = match (before.map(|label| label.sort_order), after.map(|label| label.sort_order)) {
        (None, None) => 1.0,
        (Some(before), None) => before + 1.0,
        (None, Some(after)) => after - 1.0,
        (Some(before), Some(after)) => f32::midpoint(before, after),
    };
    let has_place = before.is_none_or(|label| label.sort_order < sort_order)
        && after.is_none_or(|label| sort_order < label.sort_order);
    labels.insert(at, EnumLabel { oid, name: name.to_owned(), rank, sort_order });
    if !has_place {
        labels.iter_mut().zip(1_u16..).for_each(|(label, number)| label.sort_order = f32::from(number));
    }
    Ok(())
}

/// Runs COMMENT ON TYPE.
pub(super) fn comment(change: &mut Change<'_>, name: &ObjectName, comment: Option<String>) -> Result<()> {
    let old = find(&mut change.names(), name)?;
    change.replace_type(&old, DefinedType { comment, ..DefinedType::clone(&old) })
}
