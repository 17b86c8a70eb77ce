//! Composite types in what depends on them: columns that hold their values, indexes over these, and kept texts that name their fields.
//!
//! The rows of a table are values of such a type too, so that a change of a column asks here as a change of an attribute does.

use super::defined_type::{described, drop_with, mentions, shown};
use super::dependents::{DropSet, Object, describe};
use super::reads::reads;
use crate::bind;
use crate::catalog::{DefinedType, Oid, Relation, Table, TypeKind, attributes};
use crate::context::{Change, Names};
use crate::error::{Result, SqlError, state};
use crate::plan::IndexKey;
use crate::stack::ensure_stack;
use crate::types::{Type, defined};
use std::ops::ControlFlow;
use std::sync::Arc;
use syntax::Command;
use syntax::ast::{Access, Expr, Visit, Visitor};

/// Returns whether values of a type are, or contain, values of another that a statement has defined.
pub(crate) fn holds(names: &mut Names<'_>, data_type: Type, oid: Oid) -> Result<bool> {
    let Some(own) = data_type.scalar.defined() else { return Ok(false) };
    if own == oid {
        return Ok(true);
    }
    let Some(found) = names.defined_type(own)? else { return Ok(false) };
    ensure_stack(|| {
        attributes(&found).try_fold(false, |holds, (_, column)| Ok(holds || self::holds(names, column.data_type, oid)?))
    })
}

/// Refuses an attribute, or a column, by which values of a type would contain values of it.
///
/// # Errors
/// 42P16
pub(crate) fn check_member(names: &mut Names<'_>, member: Type, oid: Oid) -> Result<()> {
    if !holds(names, member, oid)? {
        return Ok(());
    }
    let message = format!("composite type {} cannot be made a member of itself", defined_name(names, oid)?);
    Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message))
}

fn defined_name(names: &mut Names<'_>, oid: Oid) -> Result<String> {
    Ok(names.defined_type(oid)?.map_or_else(|| oid.to_string(), |found| shown(&found)))
}

/// Refuses to change how values of a type look where there may be some.
///
/// # Errors
/// 0A000 `cannot alter type "t" because column "x.c" uses it`.
pub(crate) fn check_not_stored(names: &mut Names<'_>, found: &DefinedType) -> Result<()> {
    let relations = names.relations()?;
    for (is_array, relation) in
        [true, false].iter().flat_map(|is_array| relations.iter().map(move |it| (*is_array, it)))
    {
        let Relation::Table(table) = relation else { continue };
        for (_, column) in table.live_columns().filter(|(_, column)| column.data_type.is_array == is_array) {
            if holds(names, column.data_type, found.oid)? {
                let (kind, what) = match defined::relation_of(found.oid) {
                    Some(_) => ("table", "its row type"),
                    None => ("type", "it"),
                };
                let message = format!(
                    "cannot alter {kind} \"{}\" because column \"{}.{}\" uses {what}",
                    found.name, table.name, column.name
                );
                return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
            }
        }
    }
    Ok(())
}

/// Refuses to drop a field of values that an index is ordered by.
///
/// # Errors
/// 0A000
pub(crate) fn check_not_indexed(names: &mut Names<'_>, found: &DefinedType, field: &str) -> Result<()> {
    for relation in names.relations()? {
        let Relation::Table(table) = &relation else { continue };
        if table.indexes.is_empty() {
            continue;
        }
        let rules = bind::index_rules(names, table)?;
        for index in &table.indexes {
            for key in rules.keys(index) {
                let data_type = match key {
                    IndexKey::Column(column) => table.columns[column].data_type,
                    IndexKey::Computed(_, expression) => expression.data_type,
                };
                if holds(names, data_type, found.oid)? {
                    let what = format_args!("dropping \"{field}\" of {} while index {}", described(found), index.name);
                    let message = format!("{what} of table {} contains its values is not supported", table.name);
                    return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
                        .hint("Drop the index first, and create it again afterwards."));
                }
            }
        }
    }
    Ok(())
}

/// Refuses to rename a field that a kept text names. PostgreSQL keeps no texts, and renames it there.
///
/// # Errors
/// 0A000
pub(crate) fn check_rename(names: &mut Names<'_>, found: &DefinedType, field: &str) -> Result<()> {
    let users = users(names, found, Use::Name(field))?;
    let Some((what, _)) = users.first() else { return Ok(()) };
    let message = format!("renaming \"{field}\" of {} while {what} names it is not supported", described(found));
    Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
        .hint("Drop what names the field first, and create it again afterwards."))
}

/// Drops what names a field, before the field is dropped.
///
/// # Errors
/// 2BP01 without CASCADE.
pub(crate) fn drop_users(
    change: &mut Change<'_>,
    found: &DefinedType,
    field: &str,
    cascade: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let mut going = DropSet::default();
    let what = match defined::relation_of(found.oid) {
        Some(_) => format!("column {field} of table {}", found.name),
        None => format!("column {field} of composite type {}", shown(found)),
    };
    for (user, object) in users(&mut change.names(), found, Use::Any(field))? {
        let relation = match object {
            Object::Relation(oid) => change.names().relation_by_oid(oid)?,
            _ => None,
        };
        if going.add(object, Some((user, what.clone())))
            && let Some(relation @ Relation::View(_)) = relation
        {
            going.follow(&mut change.names(), &relation)?;
        }
    }
    drop_with(change, &going, cascade, &what, notices)
}

/// How a kept text uses a field.
#[derive(Clone, Copy)]
enum Use<'f> {
    /// It names the field.
    Name(&'f str),
    /// It names the field, or writes a whole value as ROW(...).
    Any(&'f str),
}

/// What uses a field of a type's values in a kept text, with its description.
fn users(names: &mut Names<'_>, found: &DefinedType, field: Use<'_>) -> Result<Vec<(String, Object)>> {
    let mut users = Vec::new();
    let mut relations = names.relations()?;
    relations.sort_by_key(Relation::oid);
    for relation in &relations {
        match relation {
            Relation::View(view) if query_takes(&view.query, found.oid, field)? => {
                let named = mentions(&view.query, found.oid);
                if named || reads_values(names, &view.query, found.oid)? {
                    users.push((describe(names, relation)?, Object::Relation(view.oid)));
                }
            }
            Relation::Table(table) => table_users(names, table, found.oid, field, &mut users)?,
            _ => {}
        }
    }
    for domain in names.defined_types()? {
        let TypeKind::Domain(rules) = &domain.kind else { continue };
        let mut takes = rules.checks.iter().map(|check| expression_takes(&check.expression, found.oid, field));
        if holds(names, rules.data_type, found.oid)? && takes.try_fold(false, |any, takes| takes.map(|it| any || it))? {
            users.push((described(&domain), Object::Type(domain.oid)));
        }
    }
    Ok(users)
}

/// Returns whether a query reads a relation whose rows are, or contain, values of a type.
fn reads_values(names: &mut Names<'_>, query: &str, oid: Oid) -> Result<bool> {
    for (relation, _) in reads(names, query)? {
        if holds(names, Type::of(crate::types::Scalar::Composite(defined::row_of(relation))), oid)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn table_users(
    names: &mut Names<'_>,
    table: &Arc<Table>,
    oid: Oid,
    field: Use<'_>,
    users: &mut Vec<(String, Object)>,
) -> Result<()> {
    let columns = table.live_columns();
    let columns: Vec<(usize, &crate::catalog::Column)> = columns.collect();
    let mut has_values = false;
    for (_, column) in &columns {
        has_values |= holds(names, column.data_type, oid)?;
    }
    let names_it =
        |text: &str| Ok::<_, SqlError>((has_values || mentions(text, oid)) && expression_takes(text, oid, field)?);
    let mut found = Vec::new();
    for (at, column) in columns {
        if let Some(generated) = &column.generated
            && names_it(generated)?
        {
            found.push((format!("column {}", column.name), Object::Generated(table.oid, at)));
        }
        if let Some(default) = &column.default
            && names_it(default)?
        {
            found.push((format!("default value for column {}", column.name), Object::Default(table.oid, at)));
        }
    }
    for check in &table.checks {
        if names_it(&check.expression)? {
            found.push((format!("constraint {}", check.name), Object::Check(table.oid, check.oid)));
        }
    }
    if !found.is_empty() {
        let whole = describe(names, &Relation::Table(table.clone()))?;
        users.extend(found.into_iter().map(|(what, object)| match object {
            Object::Check(..) => (format!("{what} on {whole}"), object),
            _ => (format!("{what} of {whole}"), object),
        }));
    }
    for index in &table.indexes {
        let mut texts = index.expressions.iter().chain(&index.predicate);
        if texts.try_fold(false, |any, text| names_it(text).map(|it| any || it))? {
            users.push((format!("index {}", index.name), Object::Relation(index.oid)));
        }
    }
    Ok(())
}

fn query_takes(query: &str, oid: Oid, field: Use<'_>) -> Result<bool> {
    match syntax::statement(query)?.map(|parsed| parsed.command) {
        Some(Command::Rows(statement)) => Ok(takes(&*statement, oid, field)),
        _ => Ok(false),
    }
}

fn expression_takes(text: &str, oid: Oid, field: Use<'_>) -> Result<bool> {
    Ok(takes(&syntax::expression(text)?, oid, field))
}

/// Returns whether a piece of syntax uses a field of this name.
fn takes(syntax: &impl Visit, oid: Oid, field: Use<'_>) -> bool {
    struct Finder<'f>(Oid, Use<'f>);

    impl Visitor for Finder<'_> {
        type Break = ();

        fn expression(&mut self, expression: &Expr) -> ControlFlow<()> {
            let Finder(oid, Use::Name(field) | Use::Any(field)) = self;
            let uses = match expression {
                Expr::Access { chain, .. } => {
                    chain.iter().any(|step| matches!(step, Access::Field(name) if super::name::fold(name) == *field))
                }
                Expr::Cast { expr, data_type, .. } if matches!(self.1, Use::Any(_)) => {
                    matches!(**expr, Expr::Row { .. })
                        && matches!(&data_type.meaning, Ok((named, _)) if named.scalar.defined() == Some(*oid))
                }
                _ => false,
            };
            if uses { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }

    syntax.visit(&mut Finder(oid, field)).is_break()
}

/// Drops an attribute of a composite type: it is only marked, and its values are NULL from now on.
///
/// # Errors
/// 2BP01, 0A000
pub(crate) fn drop_attribute(
    change: &mut Change<'_>,
    old: &DefinedType,
    at: usize,
    cascade: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let mut new = old.clone();
    let TypeKind::Composite(columns) = &mut new.kind else { return Ok(()) };
    let Some(column) = columns.get_mut(at).filter(|column| !column.dropped) else { return Ok(()) };
    let name = std::mem::replace(&mut column.name, format!("........pg.dropped.{}........", at + 1));
    (column.dropped, column.comment) = (true, None);
    check_not_indexed(&mut change.names(), old, &name)?;
    drop_users(change, old, &name, cascade, notices)?;
    replace(change, old, new)
}

/// Replaces the definition of a composite type, and notes on which relations' rows it depends.
pub(crate) fn replace(change: &mut Change<'_>, old: &DefinedType, new: DefinedType) -> Result<()> {
    note(change, &new)?;
    change.replace_type(old, new)
}

/// Notes on which relations' rows a composite type, or a domain, depends.
pub(crate) fn note(change: &mut Change<'_>, found: &DefinedType) -> Result<()> {
    change.forget_dependencies(found.oid)?;
    let types: Vec<Type> = match &found.kind {
        TypeKind::Domain(domain) => vec![domain.data_type],
        _ => attributes(found).map(|(_, column)| column.data_type).collect(),
    };
    change.depend(found.oid, types.into_iter().filter_map(relation_of_rows))
}

/// The relation of whose rows a type is, or of whose arrays.
pub(crate) fn relation_of_rows(data_type: Type) -> Option<Oid> {
    data_type.scalar.defined().and_then(defined::relation_of)
}
