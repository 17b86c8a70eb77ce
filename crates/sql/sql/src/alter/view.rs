//! Views: what they read, and how they are rewritten when that changes.

use super::defined_type::rows_in_view;
use super::dependents::describe;
use super::name::{quoted, split};
use super::reads::reads;
use crate::catalog::{Oid, Relation, View};
use crate::context::{Change, Names};
use crate::error::{Result, SqlError, state};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use syntax::ast;

/// Adds a view that reads these relations to the catalog, or replaces the view with its identifier.
///
/// # Errors
/// 42P07 if the name is taken, errors of the engine.
pub(crate) fn store(change: &mut Change<'_>, view: View, reads: BTreeSet<Oid>, replaces: bool) -> Result<()> {
    change.forget_dependencies(view.oid)?;
    change.depend(view.oid, &reads | &rows_in_view(&view)?)?;
    let relation = Relation::View(Arc::new(view));
    if replaces { change.replace(relation) } else { change.insert(relation) }
}

/// Whether a view reads a column of a relation.
///
/// # Errors
/// The parser's, the engine's.
pub(crate) fn uses(names: &mut Names<'_>, view: &View, relation: Oid, at: usize) -> Result<bool> {
    Ok(reads(names, &view.query)?.get(&relation).is_some_and(|columns| columns.contains(&at)))
}

/// Returns the view with a relation renamed in its query; the old name stays as an alias.
pub(crate) fn follow(names: &mut Names<'_>, view: &View, old: &Relation, schema: &str, name: &str) -> Result<View> {
    let parsed = syntax::statement(&view.query)?;
    let Some(syntax::Command::Rows(statement)) = parsed.map(|parsed| parsed.command) else {
        return Ok(view.clone());
    };
    let mut statement = ast::Statement::clone(&statement);
    let mut renamer = Renamer { names, old: old.oid(), schema, name };
    match ast::VisitMut::visit_mut(&mut statement, &mut renamer) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(View { query: statement.to_string(), ..view.clone() }),
    }
}

/// Replaces the name of a relation in FROM.
struct Renamer<'c, 's, 'n> {
    names: &'c mut Names<'s>,
    old: Oid,
    schema: &'n str,
    name: &'n str,
}

impl Renamer<'_, '_, '_> {
    fn rename(&mut self, factor: &mut ast::TableFactor) -> Result<()> {
        let ast::TableFactor::Table { name, alias } = factor else { return Ok(()) };
        let (schema, called) = split(name)?;
        let found = self.names.relation(schema.as_deref(), &called)?;
        if found.is_none_or(|found| found.oid() != self.old) {
            return Ok(());
        }
        *name = ast::ObjectName::from(vec![quoted(self.schema), quoted(self.name)]);
        if alias.is_none() {
            *alias = Some(ast::TableAlias { explicit: true, name: quoted(&called), columns: vec![] });
        }
        Ok(())
    }
}

impl ast::VisitorMut for Renamer<'_, '_, '_> {
    type Break = SqlError;

    fn table(&mut self, table: &mut ast::TableFactor) -> ControlFlow<SqlError> {
        match self.rename(table) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// The error of a change that a view's query does not allow.
pub(crate) fn view_blocks_change(
    names: &mut Names<'_>,
    what: &str,
    view: &Arc<View>,
    column: &str,
) -> Result<SqlError> {
    let described = describe(names, &Relation::View(view.clone()))?;
    Ok(SqlError::new(state::FEATURE_NOT_SUPPORTED, what)
        .detail(format!("rule _RETURN on {described} depends on column \"{column}\"")))
}

/// The views over a relation.
pub(crate) fn views_over(names: &mut Names<'_>, oid: Oid) -> Result<Vec<Arc<View>>> {
    let mut views = Vec::new();
    for dependent in names.dependents(oid)? {
        if let Some(Relation::View(view)) = names.relation_by_oid(dependent)? {
            views.push(view);
        }
    }
    Ok(views)
}
