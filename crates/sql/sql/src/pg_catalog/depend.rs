//! `pg_depend`: on what each object depends.
//!
//! The kinds of PostgreSQL: `n` (normal: the other cannot be dropped while it exists), `a` (automatic: it is dropped with the other),
//! `i` (internal: it is part of the other).
//! The system's own objects cannot be dropped, and have no rows. `pg_dump` orders objects by these rows.

use super::relations::class::{PG_ATTRDEF, PG_CLASS, PG_CONSTRAINT, PG_NAMESPACE, PG_REWRITE, PG_TYPE};
use super::relations::{schemas, tables_of};
use super::value::{oid, text};
use super::{derived, print};
use crate::Result;
use crate::alter::defined_type::view_uses;
use crate::alter::expression;
use crate::alter::reads::reads;
use crate::catalog::{Column, EXPRESSION, Index, Oid, Relation, Table, TypeKind, View, attributes};
use crate::context::Names;
use crate::types::{Datum, Row, Scalar, Type, defined};
use std::collections::BTreeSet;

/// An object, or a column of it (from 1; 0 for the whole): class, identifier, column.
type Object = (Oid, Oid, usize);

/// The rows so far.
#[derive(Default)]
struct Dependencies(Vec<Row>);

impl Dependencies {
    fn add(&mut self, (class, object, column): Object, (on_class, on, on_column): Object, kind: &str) {
        let number = |column: usize| Datum::Int4(i32::try_from(column).unwrap_or(i32::MAX));
        let (object, on) = ([oid(class), oid(object), number(column)], [oid(on_class), oid(on), number(on_column)]);
        self.0.push(object.into_iter().chain(on).chain([text(kind)]).collect());
    }

    /// On columns by their positions.
    fn on_columns(&mut self, object: Object, relation: Oid, columns: &[usize], kind: &str) {
        for column in columns.iter().collect::<BTreeSet<_>>() {
            self.add(object, (PG_CLASS, relation, column + 1), kind);
        }
    }
}

/// The rows of `pg_depend`.
pub(super) fn dependencies(names: &mut Names<'_>) -> Result<Vec<Row>> {
    let schemas = schemas(names)?;
    let relations = names.relations()?;
    let mut found = Dependencies::default();
    for relation in &relations {
        if let Relation::Index(_) = relation {
            continue; // It depends on its table or constraint, and through them on their schema.
        }
        let whole = (PG_CLASS, relation.oid(), 0);
        if let Some(&schema) = schemas.get(relation.schema()) {
            found.add(whole, (PG_NAMESPACE, schema, 0), "n");
        }
        match relation {
            Relation::Table(table) => of_table(names, table, &mut found)?,
            Relation::View(view) => of_view(names, view, &mut found)?,
            Relation::Sequence(sequence) => {
                if let Some((table, column)) = sequence.owned_by {
                    let kind = if is_identity(&relations, table, column) { "i" } else { "a" };
                    found.add(whole, (PG_CLASS, table, usize::from(column)), kind);
                }
            }
            Relation::Index(_) => {}
        }
    }
    for defined in names.defined_types()? {
        let whole = (PG_TYPE, defined.oid, 0);
        if let Some(&schema) = schemas.get(&defined.schema) {
            found.add(whole, (PG_NAMESPACE, schema, 0), "n");
        }
        match &defined.kind {
            TypeKind::Enum(_) => {
                found.add((PG_TYPE, Type::array_of(Scalar::Enum(defined.oid)).oid(), 0), whole, "i");
            }
            TypeKind::Composite(_) => {
                let class = derived::class_of_type(defined.oid);
                found.add((PG_TYPE, defined::array_of(defined.oid), 0), whole, "i");
                found.add((PG_CLASS, class, 0), whole, "i");
                for (at, column) in attributes(&defined) {
                    if let Some(data_type) = defined_type_of(column.domain, column.data_type) {
                        found.add((PG_CLASS, class, at + 1), (PG_TYPE, data_type, 0), "n");
                    }
                }
            }
            TypeKind::Domain(domain) => {
                for check in &domain.checks {
                    found.add((PG_CONSTRAINT, check.oid, 0), whole, "a");
                }
                if let Some(over) = defined_type_of(domain.over, domain.data_type) {
                    found.add(whole, (PG_TYPE, over, 0), "n");
                }
            }
        }
        for relation in &relations {
            if let Relation::View(view) = relation
                && view_uses(view, defined.oid)?
            {
                found.add((PG_REWRITE, derived::partner(view.oid), 0), whole, "n");
            }
        }
    }
    Ok(found.0)
}

/// The identifier of a type that a statement has defined.
fn defined_type_of(domain: Option<Oid>, data_type: Type) -> Option<Oid> {
    domain.or(data_type.scalar.defined().map(|_| data_type.oid()))
}

/// Returns whether a column, by its number, is an identity column.
fn is_identity(relations: &[Relation], table: Oid, column: u16) -> bool {
    let table = tables_of(relations).find(|owner| owner.oid == table);
    let column = usize::from(column).checked_sub(1).and_then(|at| table?.columns.get(at));
    column.is_some_and(|column| column.identity.is_some())
}

/// The types of a relation's rows and of arrays of them.
fn row_types(relation: Oid, found: &mut Dependencies) {
    let row_type = (PG_TYPE, derived::row_type(relation), 0);
    found.add(row_type, (PG_CLASS, relation, 0), "i");
    found.add((PG_TYPE, derived::row_array(relation), 0), row_type, "i");
}

fn of_table(names: &mut Names<'_>, table: &Table, found: &mut Dependencies) -> Result<()> {
    row_types(table.oid, found);
    for index in &table.indexes {
        of_index(table, index, found);
    }
    for check in &table.checks {
        let constraint = (PG_CONSTRAINT, check.oid, 0);
        let columns = print::columns_in(&check.expression, table);
        found.on_columns(constraint, table.oid, &columns, "a");
        found.on_columns(constraint, table.oid, &columns, "n");
    }
    for foreign in &table.foreign_keys {
        let constraint = (PG_CONSTRAINT, foreign.oid, 0);
        found.on_columns(constraint, table.oid, &foreign.columns, "a");
        found.on_columns(constraint, foreign.referenced, &foreign.referenced_columns, "n");
        found.add(constraint, (PG_CLASS, foreign.referenced_index, 0), "n");
    }
    for (at, column) in table.live_columns() {
        if let Some(data_type) = defined_type_of(column.domain, column.data_type) {
            found.add((PG_CLASS, table.oid, at + 1), (PG_TYPE, data_type, 0), "n");
        }
        of_default(names, table, at, column, found)?;
    }
    Ok(())
}

fn of_index(table: &Table, index: &Index, found: &mut Dependencies) {
    let whole = (PG_CLASS, index.oid, 0);
    let plain = index.columns.iter().chain(&index.included).copied().filter(|column| *column != EXPRESSION);
    let plain: Vec<usize> = plain.collect();
    if !index.constraint {
        let in_all = |texts: &[&String]| -> Vec<usize> {
            texts.iter().flat_map(|text| print::columns_in(text, table)).collect()
        };
        let expressions = in_all(&index.expressions.iter().collect::<Vec<_>>());
        let predicate = in_all(&index.predicate.iter().collect::<Vec<_>>());
        if plain.is_empty() {
            found.add(whole, (PG_CLASS, table.oid, 0), "a");
        }
        return [plain, expressions, predicate]
            .iter()
            .for_each(|columns| found.on_columns(whole, table.oid, columns, "a"));
    }
    let constraint = (PG_CONSTRAINT, derived::partner(index.oid), 0);
    found.add(whole, constraint, "i");
    found.on_columns(constraint, table.oid, &plain, "a");
}

fn of_default(
    names: &mut Names<'_>,
    table: &Table,
    at: usize,
    column: &Column,
    found: &mut Dependencies,
) -> Result<()> {
    let default = (PG_ATTRDEF, derived::default(table.oid, at + 1), 0);
    let itself = (PG_CLASS, table.oid, at + 1);
    if let Some(expression) = &column.generated {
        found.add(default, itself, "i");
        found.on_columns(default, table.oid, &print::columns_in(expression, table), "n");
    } else if let Some(expression) = &column.default {
        found.add(default, itself, "a");
        for sequence in expression::sequences(names, expression)? {
            found.add(default, (PG_CLASS, sequence, 0), "n");
        }
    }
    Ok(())
}

fn of_view(names: &mut Names<'_>, view: &View, found: &mut Dependencies) -> Result<()> {
    row_types(view.oid, found);
    let (rule, whole) = ((PG_REWRITE, derived::partner(view.oid), 0), (PG_CLASS, view.oid, 0));
    found.add(rule, whole, "i");
    found.add(rule, whole, "n");
    for (relation, columns) in reads(names, &view.query)? {
        let columns: Vec<usize> = columns.into_iter().collect();
        match &columns[..] {
            [] => found.add(rule, (PG_CLASS, relation, 0), "n"),
            columns => found.on_columns(rule, relation, columns, "n"),
        }
    }
    Ok(())
}
