//! Relations and columns that the query of a view reads.

use super::name::{fold, split};
use crate::catalog::{Column, Oid, Relation};
use crate::context::Names;
use crate::error::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use syntax::ast::{
    self, Expr, Join, JoinConstraint, ObjectName, Select, SelectItem, TableAlias, TableFactor, Visit, Visitor,
};

/// The positions of the columns that a view's query names, by relation; none for a relation of which only the rows count.
///
/// A name without a table counts for every relation of the query that has such a column.
///
/// # Errors
/// Errors of parsing, errors of the engine.
pub(crate) fn reads(names: &mut Names<'_>, query: &str) -> Result<BTreeMap<Oid, BTreeSet<usize>>> {
    let mut found = BTreeMap::new();
    let Some(syntax::Command::Rows(statement)) = syntax::statement(query)?.map(|parsed| parsed.command) else {
        return Ok(found);
    };
    let mut named = Named::default();
    let _ = statement.visit(&mut named);
    for source in &named.sources {
        let Some(relation) = names.relation(source.schema.as_deref(), &source.name)? else { continue };
        let read = columns(&relation).iter().enumerate().filter(|(_, column)| {
            !column.dropped && (source.renamed || named.everything || named.names(&source.called, &column.name))
        });
        found.entry(relation.oid()).or_insert_with(BTreeSet::new).extend(read.map(|(at, _)| at));
    }
    Ok(found)
}

fn columns(relation: &Relation) -> &[Column] {
    match relation {
        Relation::Table(table) => &table.columns,
        Relation::View(view) => &view.columns,
        Relation::Sequence(_) | Relation::Index(_) => &[],
    }
}

/// A relation in FROM.
struct Source {
    schema: Option<String>,
    name: String,
    /// What the query calls it.
    called: String,
    /// Whether its columns have other names in the query.
    renamed: bool,
}

/// The names in a query.
#[derive(Default)]
struct Named {
    sources: Vec<Source>,
    /// Columns without a table.
    bare: BTreeSet<String>,
    /// Columns with the name of their table.
    qualified: BTreeSet<(String, String)>,
    /// Tables with a `*`.
    whole: BTreeSet<String>,
    /// Whether a `*` or a NATURAL join names columns of all.
    everything: bool,
}

impl Named {
    fn names(&self, table: &str, column: &str) -> bool {
        self.whole.contains(table)
            || self.bare.contains(column)
            || self.qualified.contains(&(table.to_owned(), column.to_owned()))
    }

    fn source(&mut self, name: &ObjectName, alias: Option<&TableAlias>) {
        let Ok((schema, name)) = split(name) else { return };
        let called = alias.map_or_else(|| name.clone(), |alias| fold(&alias.name));
        let renamed = alias.is_some_and(|alias| !alias.columns.is_empty());
        self.sources.push(Source { schema, name, called, renamed });
    }

    fn joins(&mut self, joins: &[Join]) {
        for join in joins {
            match &join.constraint {
                JoinConstraint::Natural => self.everything = true,
                JoinConstraint::Using(columns) => {
                    self.bare.extend(columns.iter().filter_map(|column| Some(split(column).ok()?.1)));
                }
                JoinConstraint::On(_) | JoinConstraint::None => {}
            }
        }
    }
}

impl Visitor for Named {
    type Break = ();

    fn expression(&mut self, expression: &Expr) -> ControlFlow<()> {
        match expression {
            Expr::Identifier(name) => {
                self.bare.insert(fold(name));
            }
            Expr::CompoundIdentifier(parts) => {
                if let [.., table, column] = &parts[..] {
                    self.qualified.insert((fold(table), fold(column)));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            match item {
                SelectItem::Wildcard(_) => self.everything = true,
                SelectItem::TableWildcard(name) => self.whole.extend(split(name).ok().map(|(_, name)| name)),
                _ => {}
            }
        }
        select.from.iter().for_each(|tables: &ast::TableWithJoins| self.joins(&tables.joins));
        ControlFlow::Continue(())
    }

    fn table(&mut self, table: &TableFactor) -> ControlFlow<()> {
        match table {
            TableFactor::Table { name, alias } => self.source(name, alias.as_ref()),
            TableFactor::NestedJoin { table, .. } => self.joins(&table.joins),
            TableFactor::Functions { .. } | TableFactor::Derived { .. } => {}
        }
        ControlFlow::Continue(())
    }
}
