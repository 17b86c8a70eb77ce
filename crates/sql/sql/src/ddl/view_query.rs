//! The query of a view, with what its names mean written out: columns with their tables, `*` as the columns that there are, and a
//! NATURAL join as USING. So a table may get columns without any effect on the views over it.

use crate::alter::defined_type::{by_identifier, cast_literals};
use crate::alter::name::quoted;
use crate::bind::{self, Meanings, place_of};
use crate::context::Names;
use crate::error::{Result, SqlError, state};
use crate::plan;
use std::ops::ControlFlow;
use syntax::ast::{
    Access, Expr, Join, JoinConstraint, ObjectName, Query, Select, SelectItem, TableFactor, Visit, VisitMut, Visitor,
    VisitorMut,
};

/// Binds a view's query, and writes into it what its names mean.
///
/// # Errors
/// Errors of binding, 42P02 for a parameter, 0A000 for a query that writes.
pub(super) fn write_meanings(names: &mut Names<'_>, query: &mut Query) -> Result<plan::Query> {
    let statement = syntax::ast::Statement::Query(Box::new(query.clone()));
    // What is no plain query is refused there.
    let bound = super::table_as::bound(names, &statement)?;
    let (_, meanings) = bind::meanings(names, query)?;
    let mut written = query.clone();
    let _ = written.visit_mut(&mut Writer(&meanings));
    by_identifier(names, &mut written)?;
    cast_literals(&mut written, |at| meanings.literals.at(at).copied());
    // A name that could be written in no other way keeps its old form, with the whole query.
    if is_same(names, &written, &bound) {
        *query = written;
        return Ok(bound);
    }
    by_identifier(names, query)?;
    if has_wildcard(query) {
        let message = "the columns of this query cannot be written out";
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
            .hint("Name the columns of the view's select list instead of *, and give tables different aliases."));
    }
    Ok(bound)
}

/// Whether a query, printed and read again, has the same columns.
fn is_same(names: &mut Names<'_>, query: &Query, bound: &plan::Query) -> bool {
    let Ok(Some(parsed)) = syntax::statement(&query.to_string()) else { return false };
    let syntax::Command::Rows(statement) = &parsed.command else { return false };
    let described = |query: &plan::Query| -> Vec<_> {
        query.fields.iter().map(|field| (field.name.clone(), field.data_type, field.modifier)).collect()
    };
    super::table_as::bound(names, statement).is_ok_and(|again| described(&again) == described(bound))
}

fn has_wildcard(query: &Query) -> bool {
    struct Wildcards;
    impl Visitor for Wildcards {
        type Break = ();

        fn select(&mut self, select: &Select) -> ControlFlow<()> {
            let is_wildcard =
                |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::TableWildcard(_));
            if select.projection.iter().any(is_wildcard) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    query.visit(&mut Wildcards).is_break()
}

struct Writer<'m>(&'m Meanings);

impl Writer<'_> {
    fn items(&self, items: Vec<SelectItem>) -> Vec<SelectItem> {
        let mut written = Vec::with_capacity(items.len());
        for item in items {
            let columns = match &item {
                SelectItem::Wildcard(span) => self.0.wildcards.at(span.start),
                SelectItem::TableWildcard(name) => name.0.first().and_then(|part| self.0.wildcards.at(part.span.start)),
                SelectItem::RecordWildcard(record) => match self.fields(record) {
                    Some(fields) => {
                        written.extend(fields);
                        continue;
                    }
                    None => None,
                },
                _ => None,
            };
            match columns {
                Some(columns) => written.extend(columns.iter().map(|(table, column)| {
                    SelectItem::Expr(match table {
                        Some(table) => Expr::CompoundIdentifier(vec![quoted(table), quoted(column)]),
                        None => Expr::Identifier(quoted(column)),
                    })
                })),
                None => written.push(item),
            }
        }
        written
    }

    /// The fields of `(row).*`.
    fn fields(&self, record: &Expr) -> Option<Vec<SelectItem>> {
        let fields = self.0.wildcards.at(bind::start(record))?;
        let field = |(_, name): &(Option<String>, String)| {
            let chain = vec![Access::Field(quoted(name))];
            SelectItem::Expr(Expr::Access { root: Box::new(record.clone()), chain })
        };
        Some(fields.iter().map(field).collect())
    }

    fn joins(&self, joins: &mut [Join]) {
        for join in joins {
            if let (JoinConstraint::Natural, Some(columns)) =
                (&join.constraint, self.0.natural.at(place_of(&join.relation)))
                && !columns.is_empty()
            {
                let columns = columns.iter().map(|column| ObjectName::from(vec![quoted(column)]));
                join.constraint = JoinConstraint::Using(columns.collect());
            }
        }
    }
}

impl VisitorMut for Writer<'_> {
    type Break = ();

    fn expression(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expression
            && let Some(table) = self.0.tables.at(name.span.start)
        {
            *expression = Expr::CompoundIdentifier(vec![quoted(table), name.clone()]);
        }
        bind::write_moment(expression, self.0);
        ControlFlow::Continue(())
    }

    fn select(&mut self, select: &mut Select) -> ControlFlow<()> {
        select.projection = self.items(std::mem::take(&mut select.projection));
        select.from.iter_mut().for_each(|tables| self.joins(&mut tables.joins));
        ControlFlow::Continue(())
    }

    fn table(&mut self, table: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::NestedJoin { table, .. } = table {
            self.joins(&mut table.joins);
        }
        ControlFlow::Continue(())
    }
}
