//! DROP.

use crate::alter::drop;
use crate::alter::name::{kind, no_schema, parts, split};
use crate::catalog::{self, Relation, TypeKind};
use crate::context::{Change, Names};
use crate::error::{Result, SqlError, state};
use crate::types::Type;
use syntax::ast::{Drop, ObjectKind, ObjectName};

/// Runs DROP.
pub(super) fn run(change: &mut Change<'_>, statement: &Drop, notices: &mut Vec<SqlError>) -> Result<()> {
    match statement.kind {
        ObjectKind::Table | ObjectKind::View | ObjectKind::Index | ObjectKind::Sequence => {
            drop_relations(change, statement, notices)
        }
        ObjectKind::Type | ObjectKind::Domain => drop_types(change, statement, notices),
        ObjectKind::Schema => drop_schemas(change, statement, notices),
        ObjectKind::Function => statement.names.iter().try_for_each(|name| {
            let message = format!("function {}() does not exist, skipping", parts(name).join("."));
            notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, message));
            Ok(())
        }),
        ObjectKind::Extension => super::extension::drop(change, statement, notices),
        other => {
            let kind = other.word().to_lowercase();
            let skip = |name| skip_absent(&kind, &parts(name).join("."), statement.if_exists, notices);
            statement.names.iter().try_for_each(skip)
        }
    }
}

/// There is none of this kind.
pub(super) fn skip_absent(kind: &str, name: &str, if_exists: bool, notices: &mut Vec<SqlError>) -> Result<()> {
    let message = format!("{kind} \"{name}\" does not exist");
    if if_exists {
        notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, format!("{message}, skipping")));
        return Ok(());
    }
    let code = match kind {
        "table" | "view" | "materialized view" | "sequence" => state::UNDEFINED_TABLE,
        "schema" => state::INVALID_SCHEMA_NAME,
        "database" => state::INVALID_CATALOG_NAME,
        _ => state::UNDEFINED_OBJECT,
    };
    Err(SqlError::new(code, message))
}

/// Returns the relation of this name and kind; `None` if there is none and IF EXISTS accepts that.
fn find(
    names: &mut Names<'_>,
    what: ObjectKind,
    name: &ObjectName,
    if_exists: bool,
    notices: &mut Vec<SqlError>,
) -> Result<Option<Relation>> {
    let (schema, name) = split(name)?;
    let wanted = what.word().to_lowercase();
    if is_system(schema.as_deref(), &name) {
        let message = format!("permission denied: \"{name}\" is a system catalog");
        return Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message));
    }
    let found = names.relation(schema.as_deref(), &name)?;
    let Some(relation) = found else {
        if let Some(schema) = &schema
            && names.searched_namespace(schema)?.is_none()
        {
            skip_absent("schema", schema, if_exists, notices)?;
        } else {
            skip_absent(&wanted, &name, if_exists, notices)?;
        }
        return Ok(None);
    };
    let kind = kind(&relation);
    if kind != wanted {
        let article = if wanted == "index" { "an" } else { "a" };
        let hint_article = if kind == "index" { "an" } else { "a" };
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{name}\" is not {article} {wanted}"))
            .hint(format!("Use DROP {} to remove {hint_article} {kind}.", kind.to_uppercase())));
    }
    Ok(Some(relation))
}

fn is_system(schema: Option<&str>, name: &str) -> bool {
    match schema {
        None | Some("pg_catalog") => (catalog::built_in().table)(Some("pg_catalog"), name).is_some(),
        Some("information_schema") => (catalog::built_in().table)(schema, name).is_some(),
        Some(_) => false,
    }
}

fn drop_relations(change: &mut Change<'_>, statement: &Drop, notices: &mut Vec<SqlError>) -> Result<()> {
    let mut named = Vec::new();
    for name in &statement.names {
        named.extend(find(&mut change.names(), statement.kind, name, statement.if_exists, notices)?);
    }
    drop::relations(change, &named, statement.cascade, notices)
}

fn drop_types(change: &mut Change<'_>, statement: &Drop, notices: &mut Vec<SqlError>) -> Result<()> {
    let mut named = Vec::new();
    for name in &statement.names {
        match super::defined_type::find(&mut change.names(), name) {
            Ok(found) if statement.kind == ObjectKind::Domain && !matches!(found.kind, TypeKind::Domain(_)) => {
                let message = format!("\"{}\" is not a domain", found.name);
                return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
            }
            Ok(found) => named.push(found),
            Err(error)
                if statement.if_exists
                    && [state::UNDEFINED_OBJECT, state::INVALID_SCHEMA_NAME].contains(&error.code()) =>
            {
                let message = format!("{}, skipping", error.message());
                notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, message));
            }
            Err(error) if error.code() == state::WRONG_OBJECT_TYPE => {
                return Err(cannot_drop(&mut change.names(), name)?);
            }
            Err(error) => return Err(error),
        }
    }
    crate::alter::defined_type::drop(change, &named, statement.cascade, notices)
}

/// Why a type that no statement has defined stays.
fn cannot_drop(names: &mut Names<'_>, name: &ObjectName) -> Result<SqlError> {
    let (schema, name) = split(name)?;
    let message = match names.relation(schema.as_deref(), &name)? {
        Some(relation) => {
            let described = crate::alter::dependents::describe(names, &relation)?;
            let message = format!("cannot drop type {name} because {described} requires it");
            let hint = format!("You can drop {described} instead.");
            return Ok(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message).hint(hint));
        }
        None => {
            let name = super::defined_type::built_in(schema.as_deref(), &name).map_or(name, Type::name);
            format!("cannot drop type {name} because it is required by the database system")
        }
    };
    Ok(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message))
}

fn drop_schemas(change: &mut Change<'_>, statement: &Drop, notices: &mut Vec<SqlError>) -> Result<()> {
    for name in &statement.names {
        let name = parts(name).join(".");
        if matches!(name.as_str(), "pg_catalog" | "information_schema" | "pg_toast") {
            let message = format!("cannot drop schema {name} because it is required by the database system");
            return Err(SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message));
        }
        if change.names().namespace(&name)?.is_none() {
            if !statement.if_exists {
                return Err(no_schema(&name));
            }
            skip_absent("schema", &name, true, notices)?;
            continue;
        }
        drop::schema(change, &name, statement.cascade, notices)?;
    }
    Ok(())
}
