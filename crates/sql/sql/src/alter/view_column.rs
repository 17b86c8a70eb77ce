//! A view follows a column of a table or view to its new name, and calls it what it called it before.

use super::name::{fold, quoted, split};
use super::view::view_blocks_change;
use crate::bind::{self, Meanings};
use crate::catalog::{Oid, View};
use crate::context::Names;
use crate::error::Result;
use std::ops::ControlFlow;
use std::sync::Arc;
use syntax::ast::{
    Expr, Ident, Join, JoinConstraint, Location, Select, SelectItem, Statement, TableFactor, VisitMut, VisitorMut,
};

/// The view with its query naming a column by its new name.
///
/// # Errors
/// 0A000 where the query names the column in USING or renames the columns of its table, the engine's.
pub(crate) fn follow(
    names: &mut Names<'_>,
    view: &Arc<View>,
    (relation, at): (Oid, usize),
    old: &str,
    new: &str,
) -> Result<View> {
    let view_of = |query| View { query, ..View::clone(view) };
    let parsed = syntax::statement(&view.query)?;
    let Some(syntax::Command::Rows(statement)) = parsed.map(|parsed| parsed.command) else {
        return Ok(view_of(view.query.clone()));
    };
    let mut statement = Statement::clone(&statement);
    let Statement::Query(query) = &statement else { return Ok(view_of(view.query.clone())) };
    let (_, meanings) = bind::meanings(names, query)?;
    let number = u16::try_from(at + 1).unwrap_or(u16::MAX);
    let mut renamer = Renamer { meanings: &meanings, column: (relation, number), old, new };
    match statement.visit_mut(&mut renamer) {
        ControlFlow::Continue(()) => Ok(view_of(statement.to_string())),
        ControlFlow::Break(()) => {
            let what = "renaming a column that a view names in USING, NATURAL, * or an alias is not supported";
            Err(view_blocks_change(names, what, view, old)?)
        }
    }
}

/// Replaces the name of a column where it is named; ends where it cannot.
struct Renamer<'a> {
    meanings: &'a Meanings,
    column: (Oid, u16),
    old: &'a str,
    new: &'a str,
}

impl Renamer<'_> {
    fn is_column(&self, at: Location) -> bool {
        self.meanings.columns.at(at) == Some(&self.column)
    }

    fn names_column(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Identifier(name) => self.is_column(name.span.start),
            Expr::CompoundIdentifier(parts) => parts.first().is_some_and(|first| self.is_column(first.span.start)),
            Expr::Nested(inner) => self.names_column(inner),
            _ => false,
        }
    }

    fn joins(&self, joins: &[Join]) -> ControlFlow<()> {
        let is_old = |name| split(name).is_ok_and(|(_, name)| name == self.old);
        let names_it = joins.iter().any(|join| match &join.constraint {
            JoinConstraint::Natural => true,
            JoinConstraint::Using(columns) => columns.iter().any(is_old),
            JoinConstraint::On(_) | JoinConstraint::None => false,
        });
        if names_it { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl VisitorMut for Renamer<'_> {
    type Break = ();

    fn expression(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if self.names_column(expression) {
            match expression {
                Expr::Identifier(name) => *name = quoted(self.new),
                Expr::CompoundIdentifier(parts) => {
                    if let Some(last) = parts.last_mut() {
                        *last = quoted(self.new);
                    }
                }
                _ => {}
            }
        }
        ControlFlow::Continue(())
    }

    fn select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            match item {
                SelectItem::Wildcard(_) | SelectItem::TableWildcard(_) => return ControlFlow::Break(()),
                SelectItem::Expr(expression) if self.names_column(expression) => {
                    let alias = named(expression).map_or_else(|| quoted(self.old), |name| quoted(&fold(name)));
                    *item = SelectItem::ExprWithAlias { expr: expression.clone(), alias };
                }
                _ => {}
            }
        }
        select.from.iter().try_for_each(|tables| self.joins(&tables.joins))
    }

    fn table(&mut self, table: &mut TableFactor) -> ControlFlow<()> {
        match table {
            TableFactor::NestedJoin { table, .. } => self.joins(&table.joins),
            TableFactor::Table { alias: Some(alias), .. } if !alias.columns.is_empty() => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

fn named(expression: &Expr) -> Option<&Ident> {
    match expression {
        Expr::Identifier(name) => Some(name),
        Expr::CompoundIdentifier(parts) => parts.last(),
        Expr::Nested(inner) => named(inner),
        _ => None,
    }
}
