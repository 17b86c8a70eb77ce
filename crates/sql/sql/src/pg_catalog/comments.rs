//! Comments: `pg_description`.

use super::relations::class::{PG_CLASS, PG_CONSTRAINT, PG_NAMESPACE, PG_TYPE};
use super::value::{oid, text};
use super::{derived, extensions, seed};
use crate::Result;
use crate::catalog::{Column, Oid, Relation, Table, TypeKind};
use crate::context::Names;
use crate::types::{Datum, Row};

/// The rows of `pg_description`.
pub(super) fn descriptions(names: &mut Names<'_>) -> Result<Vec<Row>> {
    let mut rows = seed::rows("pg_description").to_vec();
    for relation in names.relations()? {
        rows.extend(row(relation.oid(), PG_CLASS, 0, comment(&relation)));
        let columns = (1..).zip(columns(&relation)).filter(|(_, column)| !column.dropped);
        rows.extend(
            columns.filter_map(|(number, column)| row(relation.oid(), PG_CLASS, number, column.comment.as_deref())),
        );
        if let Relation::Table(table) = &relation {
            rows.extend(table.indexes.iter().filter_map(|index| row(index.oid, PG_CLASS, 0, index.comment.as_deref())));
            rows.extend(constraints(table).filter_map(|(object, comment)| row(object, PG_CONSTRAINT, 0, comment)));
        }
    }
    let types = names.defined_types()?;
    rows.extend(types.iter().filter_map(|found| row(found.oid, PG_TYPE, 0, found.comment.as_deref())));
    let checks = types.iter().filter_map(|found| match &found.kind {
        TypeKind::Domain(domain) => Some(&domain.checks),
        _ => None,
    });
    rows.extend(checks.flatten().filter_map(|check| row(check.oid, PG_CONSTRAINT, 0, check.comment.as_deref())));
    let described = extensions::descriptions(names)?;
    rows.extend(described.into_iter().filter_map(|(oid, text)| row(oid, extensions::PG_EXTENSION, 0, Some(text))));
    let schemas = names.namespaces()?;
    rows.extend(schemas.iter().filter_map(|schema| row(schema.oid, PG_NAMESPACE, 0, schema.comment.as_deref())));
    Ok(rows)
}

/// A table's constraints, and the comments on them.
fn constraints(table: &Table) -> impl Iterator<Item = (Oid, Option<&str>)> {
    let keys = table.indexes.iter().filter(|index| index.constraint);
    let keys = keys.map(|index| (derived::partner(index.oid), index.constraint_comment.as_deref()));
    let checks = table.checks.iter().map(|check| (check.oid, check.comment.as_deref()));
    let foreign = table.foreign_keys.iter().map(|foreign| (foreign.oid, foreign.comment.as_deref()));
    keys.chain(checks).chain(foreign)
}

fn row(object: Oid, class: Oid, column: i32, comment: Option<&str>) -> Option<Row> {
    Some(vec![oid(object), oid(class), Datum::Int4(column), text(comment?)])
}

/// The comment on a relation that keeps its own; an index's stands in its table.
fn comment(relation: &Relation) -> Option<&str> {
    match relation {
        Relation::Table(table) => table.comment.as_deref(),
        Relation::View(view) => view.comment.as_deref(),
        Relation::Sequence(sequence) => sequence.comment.as_deref(),
        Relation::Index(_) => None,
    }
}

fn columns(relation: &Relation) -> &[Column] {
    match relation {
        Relation::Table(table) => &table.columns,
        Relation::View(view) => &view.columns,
        Relation::Sequence(_) | Relation::Index(_) => &[],
    }
}

/// The comment on an object of a class (of any, if none is given), or on a column of it.
pub(super) fn find(names: &mut Names<'_>, object: Oid, class: Option<Oid>, column: i64) -> Result<Datum> {
    if class.is_none_or(|class| class == PG_CLASS)
        && let Some(relation) = names.relation_by_oid(object)?
    {
        return comment_in(names, &relation, column);
    }
    let row = descriptions(names)?.into_iter().find(|row| {
        let is = |at: usize, wanted: Oid| row.get(at).and_then(Datum::as_oid) == Some(wanted);
        is(0, object) && class.is_none_or(|class| is(1, class)) && row.get(2).and_then(Datum::as_i64) == Some(column)
    });
    Ok(row.and_then(|mut row| row.pop()).unwrap_or_default())
}

fn comment_in(names: &mut Names<'_>, relation: &Relation, column: i64) -> Result<Datum> {
    let optional = |comment: Option<&str>| comment.map_or(Datum::Null, text);
    if column != 0 {
        let at = usize::try_from(column.saturating_sub(1)).ok();
        let column = at.and_then(|at| columns(relation).get(at));
        return Ok(optional(column.and_then(|column| column.comment.as_deref())));
    }
    if let Relation::Index(entry) = relation {
        let Some(Relation::Table(table)) = names.relation_by_oid(entry.table)? else { return Ok(Datum::Null) };
        let index = table.indexes.iter().find(|index| index.oid == entry.oid);
        return Ok(optional(index.and_then(|index| index.comment.as_deref())));
    }
    Ok(optional(comment(relation)))
}
