//! `SELECT *` in a view means the columns that there are when the view is made.

use crate::alter::name::{fold, quoted, split};
use crate::catalog::Relation;
use crate::context::Names;
use crate::error::Result;
use syntax::ast::{Expr, JoinConstraint, Query, Select, SelectItem, SetExpr, TableFactor, TableWithJoins};

/// A relation in FROM: what it is called, and its columns.
type Source = (String, Vec<String>);

/// Writes out the `*` of a query over tables and views. Where FROM has anything else (subqueries, functions, USING), the
/// query stays as it is.
///
/// # Errors
/// The engine's.
pub(super) fn expand(names: &mut Names<'_>, query: &mut Query) -> Result<()> {
    expand_body(names, &mut query.body)
}

fn expand_body(names: &mut Names<'_>, body: &mut SetExpr) -> Result<()> {
    match body {
        SetExpr::Select(select) => expand_select(names, select),
        SetExpr::Query(query) => expand(names, query),
        SetExpr::SetOperation { left, right, .. } => crate::stack::ensure_stack(|| {
            expand_body(names, left)?;
            expand_body(names, right)
        }),
        _ => Ok(()),
    }
}

fn expand_select(names: &mut Names<'_>, select: &mut Select) -> Result<()> {
    let Some(sources) = sources(names, &select.from)? else { return Ok(()) };
    let mut items = Vec::with_capacity(select.projection.len());
    for item in std::mem::take(&mut select.projection) {
        match &item {
            SelectItem::Wildcard(_) if !sources.is_empty() => items.extend(sources.iter().flat_map(columns_of)),
            SelectItem::TableWildcard(name) => {
                let (_, called) = split(name)?;
                match sources.iter().find(|(name, _)| *name == called) {
                    Some(source) => items.extend(columns_of(source)),
                    None => items.push(item),
                }
            }
            _ => items.push(item),
        }
    }
    select.projection = items;
    Ok(())
}

fn columns_of((name, columns): &Source) -> impl Iterator<Item = SelectItem> {
    columns.iter().map(move |column| SelectItem::Expr(Expr::CompoundIdentifier(vec![quoted(name), quoted(column)])))
}

/// The relations of FROM in their order; `None` if it has something else.
fn sources(names: &mut Names<'_>, from: &[TableWithJoins]) -> Result<Option<Vec<Source>>> {
    let mut found = Vec::new();
    for tables in from {
        let joined = tables.joins.iter().map(|join| (&join.relation, is_plain(&join.constraint)));
        for (factor, plain) in std::iter::once((&tables.relation, true)).chain(joined) {
            match source(names, factor)? {
                Some(source) if plain => found.push(source),
                _ => return Ok(None),
            }
        }
    }
    Ok(Some(found))
}

/// Whether a join keeps all columns of both sides.
fn is_plain(constraint: &JoinConstraint) -> bool {
    !matches!(constraint, JoinConstraint::Using(_) | JoinConstraint::Natural)
}

fn source(names: &mut Names<'_>, factor: &TableFactor) -> Result<Option<Source>> {
    let TableFactor::Table { name, alias } = factor else { return Ok(None) };
    if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
        return Ok(None);
    }
    let (schema, name) = split(name)?;
    let columns: Vec<String> = match names.relation(schema.as_deref(), &name)? {
        Some(Relation::Table(table)) => table.live_columns().map(|(_, column)| column.name.clone()).collect(),
        Some(Relation::View(view)) => view.columns.iter().map(|column| column.name.clone()).collect(),
        _ => return Ok(None),
    };
    let called = alias.as_ref().map_or(name, |alias| fold(&alias.name));
    Ok(Some((called, columns)))
}
