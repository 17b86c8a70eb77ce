//! Names as text: quoting, resolution, and whether a name needs its schema.

use super::relations::{PG_CATALOG, system_schema};
use super::{derived, described, relations, seed};
use crate::catalog::{DefinedType, Oid, TypeKind};
use crate::context::Names;
use crate::error::{Result, SqlError, state};
use crate::types::{Datum, Modifier, Scalar, Type, defined};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// A word of SQL.
pub(super) struct Keyword {
    pub(super) word: &'static str,
    /// Unreserved, Column name, Type or function name, Reserved: PostgreSQL's letter.
    pub(super) category: &'static str,
    /// Whether it can be a label without AS.
    pub(super) bare_label: bool,
}

/// The words of SQL, sorted.
pub(super) static KEYWORDS: LazyLock<Vec<Keyword>> = LazyLock::new(|| {
    let keyword = |line: &'static str| {
        let mut fields = line.split('\t');
        let (word, category) = (fields.next()?, fields.next()?);
        Some(Keyword { word, category, bare_label: fields.next()? == "t" })
    };
    include_str!("seed/keywords.tsv").lines().filter_map(keyword).collect()
});

/// A name as it is written in SQL: in quotes if it must be.
pub(super) fn quote(name: &str) -> String {
    crate::functions::quote_identifier(name).into_owned()
}

/// A name with its schema.
pub(super) fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", quote(schema), quote(name))
}

/// The parts of a name as users write it: folded to lower case outside quotes.
///
/// # Errors
/// 42602.
pub(super) fn split(name: &str) -> Result<Vec<String>> {
    let invalid = || SqlError::new(state::INVALID_NAME, "invalid name syntax");
    let mut parts = Vec::new();
    let mut rest = name.trim();
    loop {
        let (part, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_part(quoted).ok_or_else(invalid)?,
            None => {
                let end = rest.find(|c: char| c == '.' || c.is_whitespace()).unwrap_or(rest.len());
                let (part, after) = rest.split_at(end);
                (part.to_lowercase(), after)
            }
        };
        if part.is_empty() {
            return Err(invalid());
        }
        parts.push(part);
        match after.trim_start().strip_prefix('.') {
            Some(after) => rest = after.trim_start(),
            None if after.trim().is_empty() => return Ok(parts),
            None => return Err(invalid()),
        }
    }
}

/// The part up to the closing quote, and what follows.
fn quoted_part(text: &str) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('"')?;
        part.push_str(before);
        match after.strip_prefix('"') {
            Some(after) => {
                part.push('"');
                rest = after;
            }
            None => return Some((part, after)),
        }
    }
}

/// The schema and the name of a relation as users write it.
///
/// # Errors
/// 42602, 0A000, 42601.
pub(super) fn relation_name(name: &str) -> Result<(Option<String>, String)> {
    let mut parts = split(name)?;
    match (parts.pop(), parts.pop(), parts.pop(), parts.pop()) {
        (Some(relation), schema, None, None) => Ok((schema, relation)),
        (Some(relation), Some(schema), Some(database), None) if database == "postgres" => Ok((Some(schema), relation)),
        (Some(relation), Some(schema), Some(database), None) => {
            let message = format!("cross-database references are not implemented: \"{database}.{schema}.{relation}\"");
            Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message))
        }
        _ => {
            let message = format!("improper relation name (too many dotted names): {}", name.trim());
            Err(SqlError::new(state::SYNTAX_ERROR, message))
        }
    }
}

/// The relation of a name, the system's own among them.
///
/// # Errors
/// 3F000 for a schema that is not there, errors of the engine.
pub(super) fn find_relation(names: &mut Names<'_>, schema: Option<&str>, name: &str) -> Result<Option<Oid>> {
    let system = described().iter().find(|known| known.name == name && known.schema == schema.unwrap_or("pg_catalog"));
    if let Some(system) = system {
        return Ok(Some(system.oid));
    }
    if let Some(schema) = schema
        && schema != "pg_temp"
        && names.searched_namespace(schema)?.is_none()
    {
        return Err(no_schema(schema));
    }
    if let Some(relation) = names.relation(schema, name)? {
        return Ok(Some(relation.oid()));
    }
    let found = names.type_named(schema, name)?.filter(|found| matches!(found.kind, TypeKind::Composite(_)));
    Ok(found.map(|found| derived::class_of_type(found.oid)))
}

/// The name of a schema, also of one that holds temporary relations of another session.
///
/// # Errors
/// Errors of the engine.
pub(super) fn name_of_schema(names: &mut Names<'_>, oid: Oid) -> Result<Option<String>> {
    let namespaces = names.namespaces()?;
    if let Some(found) = namespaces.into_iter().find(|namespace| namespace.oid == oid) {
        return Ok(Some(found.name));
    }
    let all = relations::schemas(names)?;
    Ok(all.into_iter().find(|&(_, known)| known == oid).map(|(name, _)| name))
}

/// 3F000
pub(super) fn no_schema(name: &str) -> SqlError {
    SqlError::new(state::INVALID_SCHEMA_NAME, format!("schema \"{name}\" does not exist"))
}

/// The schema and name of a relation, the system's own among them.
///
/// # Errors
/// Errors of the engine.
pub(super) fn name_of_relation(names: &mut Names<'_>, oid: Oid) -> Result<Option<(String, String)>> {
    if let Some(system) = system_relation(oid) {
        return Ok(Some((system.schema.to_owned(), system.name.to_owned())));
    }
    if let Some(data_type) = derived::type_of_class(oid) {
        let found = names.defined_type(data_type)?.filter(|found| matches!(found.kind, TypeKind::Composite(_)));
        return Ok(found.map(|found| (found.schema.clone(), found.name.clone())));
    }
    let relation = names.relation_by_oid(oid)?;
    Ok(relation.map(|relation| (relation.schema().to_owned(), relation.name().to_owned())))
}

/// A table or view of the system.
pub(super) fn system_relation(oid: Oid) -> Option<&'static super::Described> {
    described().iter().find(|known| known.oid == oid)
}

/// Returns whether a relation is what its bare name means; `None` if there is no such relation.
///
/// # Errors
/// Errors of the engine.
pub(super) fn is_visible(names: &mut Names<'_>, oid: Oid) -> Result<Option<bool>> {
    if let Some(system) = system_relation(oid) {
        let on_path = || names.search_path().iter().any(|schema| schema == system.schema);
        return Ok(Some(system_schema(system.schema) == PG_CATALOG || on_path()));
    }
    let Some((_, name)) = name_of_relation(names, oid)? else { return Ok(None) };
    let meant = find_relation(names, None, &name)?;
    Ok(Some(meant == Some(oid)))
}

/// A relation's name as `regclass` prints it: with its schema unless it is visible.
///
/// # Errors
/// Errors of the engine.
pub(super) fn print_relation(names: &mut Names<'_>, oid: Oid) -> Result<Option<String>> {
    let Some((schema, name)) = name_of_relation(names, oid)? else { return Ok(None) };
    let visible = is_visible(names, oid)?.unwrap_or(false);
    Ok(Some(if visible { quote(&name) } else { qualified(&schema, &name) }))
}

/// A type's name as SQL prints it. `modifier`: -1 is none; `None` is a type that was asked for without one.
///
/// # Errors
/// Errors of the engine.
pub(super) fn print_type(names: &mut Names<'_>, oid: Oid, modifier: Option<i32>) -> Result<String> {
    if let Some(data_type) = Type::from_oid(oid) {
        return Ok(match (data_type.scalar, modifier) {
            (Scalar::Bpchar, None) if data_type.is_array => "character[]".into(),
            (Scalar::Bpchar, None) => "character".into(),
            _ => data_type.format(Modifier(modifier.unwrap_or(-1))),
        });
    }
    if let Some((found, is_array)) = defined_type(names, oid)? {
        // A domain's modifier is its own.
        return Ok(Type { scalar: Scalar::Enum(found.oid), is_array }.name());
    }
    if let Some(relation) = derived::relation_of_row_type(oid) {
        return Ok(print_relation(names, relation)?.unwrap_or_else(|| "???".into()));
    }
    if let Some(relation) = derived::relation_of_row_array(oid) {
        return Ok(print_relation(names, relation)?.map_or_else(|| "???".into(), |name| name + "[]"));
    }
    Ok(PSEUDO_TYPES.get(&oid).map_or_else(|| if oid == 0 { "-".into() } else { "???".into() }, |name| quote(name)))
}

/// The type that a statement has defined under an identifier, or of whose arrays that is the identifier.
///
/// # Errors
/// Errors of the engine.
pub(super) fn defined_type(names: &mut Names<'_>, oid: Oid) -> Result<Option<(Arc<DefinedType>, bool)>> {
    if let Some(element) = defined::element_of(oid) {
        return Ok(names.defined_type(element)?.map(|found| (found, true)));
    }
    if Type::from_oid(oid).is_some() || derived::is_derived(oid) {
        return Ok(None);
    }
    Ok(names.defined_type(oid)?.map(|found| (found, false)))
}

/// The names of the types that only signatures have.
static PSEUDO_TYPES: LazyLock<HashMap<Oid, &'static str>> = LazyLock::new(|| {
    let named = seed::rows("pg_type").iter().filter_map(|row| match (row.first(), row.get(1)) {
        (Some(&Datum::Oid(oid)), Some(Datum::Text(name))) => Some((oid, name.as_str())),
        _ => None,
    });
    named.collect()
});

/// The functions by oid, and their oids by name.
pub(super) struct Procedures {
    pub(super) names: HashMap<Oid, &'static str>,
    pub(super) oids: HashMap<&'static str, Vec<Oid>>,
}

/// The functions of [`seed`].
pub(super) static PROCEDURES: LazyLock<Procedures> = LazyLock::new(|| {
    let mut procedures = Procedures { names: HashMap::new(), oids: HashMap::new() };
    for row in seed::rows("pg_proc") {
        if let (Some(&Datum::Oid(oid)), Some(Datum::Text(name))) = (row.first(), row.get(1)) {
            procedures.names.insert(oid, name);
            procedures.oids.entry(name).or_default().push(oid);
        }
    }
    procedures
});
