//! CREATE VIEW.

use super::drop::describe;
use super::name::{creation_schema, fold, quoted, split};
use super::table_as::{bound, columns_of};
use crate::catalog::{Column, Oid, Relation, View, name_taken};
use crate::context::{Change, Names};
use crate::error::{Result, SqlError, state};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use syntax::ast::{self, CreateView, Query, Statement, visit_relations};

/// Runs CREATE VIEW.
pub(super) fn create(change: &mut Change<'_>, create: &CreateView) -> Result<()> {
    if create.materialized {
        return Err(SqlError::unsupported("a materialized view"));
    }
    let (schema, name) = split(&create.name)?;
    let reads = relations(&mut change.names(), &create.query)?;
    // A view over something temporary is temporary.
    let temporary = create.temporary || reads_temporary(&mut change.names(), &reads)?;
    let schema = creation_schema(change, schema.as_deref(), &name, temporary)?;
    let mut written = (*create.query).clone();
    // A WITH query may hide a table of the same name.
    if written.with.is_none() {
        super::star::expand(&mut change.names(), &mut written)?;
    }
    super::qualify::qualify(&mut change.exec.names(), &mut written)?;
    let query = bound(&mut change.names(), &Statement::Query(Box::new(written.clone())))?;
    let names: Vec<String> = create.columns.iter().map(|column| fold(&column.name)).collect();
    let columns = columns_of(&query, &names)?;
    let existing = change.names().relation_in(&schema, &name)?;
    let old = match existing {
        None => None,
        Some(Relation::View(old)) if create.or_replace => Some(old),
        Some(_) if !create.or_replace => return Err(name_taken(&name)),
        Some(_) => return Err(SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a view"))),
    };
    let oid = match &old {
        Some(old) => {
            check_replacement(old, &columns)?;
            old.oid
        }
        None => change.fresh_oid()?,
    };
    if reads.contains(&oid) {
        let message = format!("infinite recursion detected in rules for relation \"{name}\"");
        return Err(SqlError::new(state::INVALID_OBJECT_DEFINITION, message));
    }
    let comment = old.as_ref().and_then(|old| old.comment.clone());
    let view = View { oid, schema, name, version: 0, columns, query: written.to_string(), comment };
    change.forget_dependencies(oid)?;
    change.depend(oid, reads)?;
    let relation = Relation::View(Arc::new(view));
    if old.is_some() { change.replace(relation) } else { change.insert(relation) }
}

/// A view that replaces another has its columns, and perhaps more.
fn check_replacement(old: &View, columns: &[Column]) -> Result<()> {
    let wrong = |message: String| Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
    if columns.len() < old.columns.len() {
        return wrong("cannot drop columns from view".to_owned());
    }
    for (old, new) in old.columns.iter().zip(columns) {
        if old.name != new.name {
            let message = format!("cannot change name of view column \"{}\" to \"{}\"", old.name, new.name);
            let hint = "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.";
            return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message).hint(hint));
        }
        if (old.data_type, old.modifier) != (new.data_type, new.modifier) {
            let (from, to) = (old.data_type.format(old.modifier), new.data_type.format(new.modifier));
            return wrong(format!("cannot change data type of view column \"{}\" from {from} to {to}", old.name));
        }
    }
    Ok(())
}

/// The relations that a query reads: by the names in it that are not those of its own WITH queries.
fn relations(names: &mut Names<'_>, query: &Query) -> Result<BTreeSet<Oid>> {
    let mut named = Vec::new();
    let _: ControlFlow<()> = visit_relations(query, |name| {
        named.push(name.clone());
        ControlFlow::Continue(())
    });
    let mut found = BTreeSet::new();
    for name in named {
        let (schema, name) = split(&name)?;
        if let Some(relation) = names.relation(schema.as_deref(), &name)? {
            found.insert(relation.oid());
        }
    }
    Ok(found)
}

fn reads_temporary(names: &mut Names<'_>, reads: &BTreeSet<Oid>) -> Result<bool> {
    let Some(schema) = names.temporary_schema() else { return Ok(false) };
    for oid in reads {
        if names.relation_by_oid(*oid)?.is_some_and(|relation| relation.schema() == schema) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a view may look at a column: it names it, or has a `*`.
pub(super) fn may_use(view: &View, column: &str) -> bool {
    let Ok(Some(parsed)) = crate::parse::statement(&view.query) else { return true };
    let crate::parse::Command::Rows(statement) = &parsed.command else { return true };
    has_wildcard(statement) || super::expression::columns_of(&**statement).contains(column)
}

fn has_wildcard(statement: &ast::Statement) -> bool {
    let mut finder = Wildcards(false);
    let _ = ast::Visit::visit(statement, &mut finder);
    finder.0
}

/// Looks for `*` in select lists.
struct Wildcards(bool);

impl ast::Visitor for Wildcards {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.0 |= in_body(&query.body);
        ControlFlow::Continue(())
    }
}

fn in_body(body: &ast::SetExpr) -> bool {
    match body {
        ast::SetExpr::Select(select) => select
            .projection
            .iter()
            .any(|item| matches!(item, ast::SelectItem::Wildcard(_) | ast::SelectItem::QualifiedWildcard(..))),
        ast::SetExpr::SetOperation { left, right, .. } => in_body(left) || in_body(right),
        _ => false,
    }
}

/// The view with its query naming a relation by its new name; what the query called it stays as an alias.
pub(super) fn follow(names: &mut Names<'_>, view: &View, old: &Relation, schema: &str, name: &str) -> Result<View> {
    let parsed = crate::parse::statement(&view.query)?;
    let Some(crate::parse::Command::Rows(statement)) = parsed.map(|parsed| parsed.command) else {
        return Ok(view.clone());
    };
    let mut statement = ast::Statement::clone(&statement);
    let mut renamer = Renamer { names, old: old.oid(), schema, name };
    match ast::VisitMut::visit(&mut statement, &mut renamer) {
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
        let ast::TableFactor::Table { name, alias, .. } = factor else { return Ok(()) };
        let (schema, called) = split(name)?;
        let found = self.names.relation(schema.as_deref(), &called)?;
        if found.is_none_or(|found| found.oid() != self.old) {
            return Ok(());
        }
        *name = ast::ObjectName::from(vec![quoted(self.schema), quoted(self.name)]);
        if alias.is_none() {
            *alias = Some(ast::TableAlias { explicit: true, name: quoted(&called), columns: vec![], at: None });
        }
        Ok(())
    }
}

impl ast::VisitorMut for Renamer<'_, '_, '_> {
    type Break = SqlError;

    fn pre_visit_table_factor(&mut self, factor: &mut ast::TableFactor) -> ControlFlow<SqlError> {
        match self.rename(factor) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// The error when a view stands in the way of a change that it cannot follow.
pub(super) fn in_the_way(names: &mut Names<'_>, what: &str, view: &Arc<View>, column: &str) -> Result<SqlError> {
    let described = describe(names, &Relation::View(view.clone()))?;
    Ok(SqlError::new(state::FEATURE_NOT_SUPPORTED, what)
        .detail(format!("rule _RETURN on {described} depends on column \"{column}\"")))
}
