//! Names: folding of identifiers, the schema of new relations, generated names of constraints.

use crate::catalog::{Relation, Table};
use crate::context::{Change, Names};
use crate::error::{Result, SqlError, state};
use std::collections::HashSet;
use syntax::ast::{Ident, ObjectName};

/// The longest name in bytes.
const LONGEST: usize = 63;

/// Returns an identifier as a name: folded to lower case unless quoted, truncated to 63 bytes.
pub(crate) fn fold(ident: &Ident) -> String {
    let name = if ident.quoted { ident.value.clone() } else { ident.value.to_ascii_lowercase() };
    fold_name(&name)
}

/// Returns a name of final case, truncated to 63 bytes.
pub(crate) fn fold_name(name: &str) -> String {
    cut(name, LONGEST).to_owned()
}

fn cut(name: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(name.len())).rev().find(|end| name.is_char_boundary(*end));
    &name[..end.unwrap_or(0)]
}

/// Schema and name.
pub(crate) fn split(name: &ObjectName) -> Result<(Option<String>, String)> {
    let mut parts = parts(name);
    let too_many = || {
        let message = format!("improper qualified name (too many dotted names): {name}");
        SqlError::new(state::SYNTAX_ERROR, message)
    };
    let last = parts.pop().ok_or_else(too_many)?;
    match parts.len() {
        0 => Ok((None, last)),
        // The database's name may stand before the schema's.
        1 | 2 => Ok((parts.pop(), last)),
        _ => Err(too_many()),
    }
}

/// The parts of a name.
pub(crate) fn parts(name: &ObjectName) -> Vec<String> {
    name.0.iter().map(fold).collect()
}

/// The schema that a new relation goes to.
///
/// # Errors
/// 3F000 if there is none, 42501 for those of the system.
pub(crate) fn creation_schema(
    change: &mut Change<'_>,
    schema: Option<&str>,
    name: &str,
    temporary: bool,
) -> Result<String> {
    let own = change.names().temporary_schema();
    match schema {
        Some("pg_temp") => change.temporary_schema(),
        Some(schema) if temporary && Some(schema) != own.as_deref() => {
            let message = "cannot create temporary relation in non-temporary schema";
            Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message))
        }
        None if temporary => change.temporary_schema(),
        Some(schema @ ("pg_catalog" | "information_schema" | "pg_toast")) => {
            let message = format!("permission denied to create \"{schema}.{name}\"");
            Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message)
                .detail("System catalog modifications are currently disallowed."))
        }
        Some(schema) if Some(schema) == own.as_deref() => Ok(schema.to_owned()),
        Some(schema) => match change.names().namespace(schema)? {
            Some(namespace) => Ok(namespace.name),
            None => Err(no_schema(schema)),
        },
        None => {
            for schema in change.names().search_path().iter() {
                if schema != "pg_catalog" && change.names().namespace(schema)?.is_some() {
                    return Ok(schema.clone());
                }
            }
            Err(SqlError::new(state::INVALID_SCHEMA_NAME, "no schema has been selected to create in"))
        }
    }
}

/// 3F000
pub(crate) fn no_schema(schema: &str) -> SqlError {
    SqlError::new(state::INVALID_SCHEMA_NAME, format!("schema \"{schema}\" does not exist"))
}

/// Names that one statement gives to new objects, so that it gives none twice.
#[derive(Default)]
pub(crate) struct NewNames(HashSet<String>);

impl NewNames {
    /// A free name for a relation, PostgreSQL's way: `table_columns_label`, numbered if it is taken.
    pub(crate) fn relation(
        &mut self,
        names: &mut Names<'_>,
        schema: &str,
        first: &str,
        second: &str,
        label: &str,
    ) -> Result<String> {
        for number in 0_u64.. {
            let name = compose(first, second, &numbered(label, number));
            if !self.0.contains(&name) && names.relation_in(schema, &name)?.is_none() {
                self.0.insert(name.clone());
                return Ok(name);
            }
        }
        Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, "no free name was found"))
    }

    /// Notes a name that the user gave.
    ///
    /// # Errors
    /// 42P07 if the statement has given it already.
    pub(crate) fn take(&mut self, name: &str) -> Result<()> {
        if self.0.insert(name.to_owned()) { Ok(()) } else { Err(crate::catalog::name_taken(name)) }
    }
}

/// A free name for a constraint of a table.
pub(crate) fn constraint(table: &Table, second: &str, label: &str) -> String {
    (0_u64..)
        .map(|number| compose(&table.name, second, &numbered(label, number)))
        .find(|name| !has_constraint(table, name))
        .unwrap_or_default()
}

/// A free name for a CHECK constraint of a domain.
pub(crate) fn free_constraint(domain: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let names = (0_u64..).map(|number| compose(domain, "", &numbered("check", number)));
    names.into_iter().find(|name| !is_taken(name)).unwrap_or_default()
}

/// Returns whether a table has a constraint of this name.
pub(crate) fn has_constraint(table: &Table, name: &str) -> bool {
    table.checks.iter().any(|check| check.name == name)
        || table.foreign_keys.iter().any(|key| key.name == name)
        || table.indexes.iter().any(|index| index.constraint && index.name == name)
}

fn numbered(label: &str, number: u64) -> String {
    if number == 0 { label.to_owned() } else { format!("{label}{number}") }
}

/// `first_second_label`, the longer of the first two cut until it fits.
fn compose(first: &str, second: &str, label: &str) -> String {
    let second_overhead = usize::from(!second.is_empty());
    let available = LONGEST.saturating_sub(label.len() + 1 + second_overhead);
    let (mut first_bytes, mut second_bytes) = (first.len(), second.len());
    while first_bytes + second_bytes > available {
        if first_bytes > second_bytes { first_bytes -= 1 } else { second_bytes -= 1 }
    }
    let (first, second) = (cut(first, first_bytes), cut(second, second_bytes));
    if second.is_empty() { format!("{first}_{label}") } else { format!("{first}_{second}_{label}") }
}

/// Columns in the name of a constraint: joined, cut.
pub(crate) fn joined<'n>(columns: impl Iterator<Item = &'n str>) -> String {
    let joined = columns.collect::<Vec<_>>().join("_");
    cut(&joined, LONGEST).to_owned()
}

/// Returns the name as written in SQL: quoted if necessary.
pub(crate) fn quote(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '$')
        && !syntax::is_reserved(name);
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// The name as an identifier.
pub(crate) fn quoted(name: &str) -> Ident {
    if quote(name) == name { Ident::new(name) } else { Ident::quoted(name) }
}

/// The kind of a relation, in messages.
pub(crate) fn kind(relation: &Relation) -> &'static str {
    match relation {
        Relation::Table(_) => "table",
        Relation::Index(_) => "index",
        Relation::Sequence(_) => "sequence",
        Relation::View(_) => "view",
    }
}

/// 42P01
pub(crate) fn no_relation(schema: Option<&str>, name: &str) -> SqlError {
    let full = schema.map_or_else(|| name.to_owned(), |schema| format!("{schema}.{name}"));
    SqlError::new(state::UNDEFINED_TABLE, format!("relation \"{full}\" does not exist"))
}
