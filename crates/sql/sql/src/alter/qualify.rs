//! Qualifies the names in a view's query, so that it reads the same relations under every search path.

use super::defined_type::by_name;
use super::label::label;
use super::name::{quoted, split};
use crate::catalog::View;
use crate::context::Names;
use crate::error::{Result, SqlError};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use syntax::Command;
use syntax::ast::{ObjectName, Query, Statement, TableFactor, Visit, VisitMut, Visitor, VisitorMut};

/// Adds to relations that a query names without a schema the schema in which they were found.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn qualify(names: &mut Names<'_>, query: &mut Query) -> Result<()> {
    rename(names, query, |names, name| {
        let (None, table) = split(name)? else { return Ok(None) };
        let is_built_in = (crate::catalog::built_in().table)(None, &table).is_some()
            || (crate::catalog::built_in().view)(None, &table).is_some();
        let found = if is_built_in { None } else { names.relation(None, &table)? };
        Ok(found.map(|found| ObjectName::from(vec![quoted(found.schema()), quoted(found.name())])))
    })
}

/// Returns a view's query for display: without the schemas of relations that are found without them, with the view's column names.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn shown(names: &mut Names<'_>, view: &View) -> Result<String> {
    let Some(Command::Rows(statement)) = syntax::statement(&view.query)?.map(|parsed| parsed.command) else {
        return Ok(view.query.clone());
    };
    let mut statement = (*statement).clone();
    rename(names, &mut statement, |names, name| {
        let (Some(schema), table) = split(name)? else { return Ok(None) };
        let oid = |relation: crate::catalog::Relation| relation.oid();
        let there = names.relation(Some(&schema), &table)?.map(oid);
        let is_visible = there.is_some() && names.relation(None, &table)?.map(oid) == there;
        Ok(is_visible.then(|| ObjectName::from(vec![quoted(&table)])))
    })?;
    by_name(names, &mut statement)?;
    if let Statement::Query(query) = &mut statement {
        label(query, &view.name, &view.columns);
    }
    Ok(statement.to_string())
}

fn rename<'s>(
    names: &mut Names<'s>,
    syntax: &mut (impl Visit + VisitMut),
    renamed: impl FnMut(&mut Names<'s>, &ObjectName) -> Result<Option<ObjectName>>,
) -> Result<()> {
    let mut hiding = CteNames(BTreeSet::new());
    let _ = syntax.visit(&mut hiding);
    let mut renamer = Renamer { names, hidden: hiding.0, renamed };
    match syntax.visit_mut(&mut renamer) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The names of the queries of WITH, which hide relations. A name that is hidden anywhere in the query stays as written.
struct CteNames(BTreeSet<String>);

impl Visitor for CteNames {
    type Break = ();

    fn query(&mut self, query: &Query) -> ControlFlow<()> {
        let named = query.with.iter().flat_map(|with| &with.queries);
        self.0.extend(named.map(|named| super::name::fold(&named.alias.name)));
        ControlFlow::Continue(())
    }
}

/// Replaces the names of relations in FROM.
struct Renamer<'c, 's, F> {
    names: &'c mut Names<'s>,
    hidden: BTreeSet<String>,
    renamed: F,
}

impl<'s, F: FnMut(&mut Names<'s>, &ObjectName) -> Result<Option<ObjectName>>> VisitorMut for Renamer<'_, 's, F> {
    type Break = SqlError;

    fn table(&mut self, table: &mut TableFactor) -> ControlFlow<SqlError> {
        let TableFactor::Table { name, .. } = table else { return ControlFlow::Continue(()) };
        let renamed = split(name).and_then(|(_, table)| {
            if self.hidden.contains(&table) { Ok(None) } else { (self.renamed)(self.names, name) }
        });
        match renamed {
            Ok(Some(renamed)) => *name = renamed,
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}
