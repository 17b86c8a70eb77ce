//! Relations in FROM: tables, views, catalog tables, queries of WITH.

use super::Binder;
use super::found::Presence;
use super::from::FromItem;
use super::name::{self, fold};
use super::position::SourceText;
use super::query::Bound;
use super::scope::{Names, ScopeColumn, TableNames};
use super::target::UnknownLiterals;
use crate::catalog::{self, Oid, Relation, Sequence, Table, TypeKind, View, VirtualTable};
use crate::error::{Result, SqlError, state};
use crate::functions::sequence_state;
use crate::plan::{Expr, Field, Path, Plan, Scan};
use crate::types::{Modifier, Type};
use std::sync::Arc;
use syntax::Command;
use syntax::ast::{Location, ObjectName, Statement, TableAlias};

/// Maximum nesting of views.
const VIEWS: usize = 64;

/// Meaning of a name in FROM.
pub(super) enum Source {
    Virtual(&'static VirtualTable),
    Relation(Relation),
}

impl Binder<'_, '_> {
    /// `name AS alias (columns)` in FROM.
    pub(super) fn table_factor(&mut self, name: &ObjectName, alias: Option<&TableAlias>) -> Result<FromItem> {
        name::check_database(name, self.names.database_name())?;
        let (schema, table) = name::split(name)?;
        if schema.is_none()
            && let Some(item) = self.with_scan(&table, name::location(name))?
        {
            return self.derived(item, table.clone(), alias);
        }
        match self.lookup(schema.as_deref(), &table, name::location(name))? {
            Source::Virtual(found) => self.virtual_scan(found, alias),
            Source::Relation(Relation::Table(found)) => self.scan(&found, alias, self.scope.wanted.keys),
            Source::Relation(Relation::View(view)) => {
                let bound = self.view(&view)?;
                let mut item = self.derived(bound, view.name.clone(), alias)?;
                if let Some(names) = item.names.tables.first_mut() {
                    names.view = Some(view.oid);
                    names.schema = alias.is_none().then(|| view.schema.clone());
                }
                Ok(item)
            }
            Source::Relation(Relation::Sequence(sequence)) => self.sequence_row(&sequence, alias),
            Source::Relation(Relation::Index(_)) => {
                let error = SqlError::new(state::WRONG_OBJECT_TYPE, format!("cannot open relation \"{table}\""))
                    .detail("This operation is not supported for indexes.");
                Err(self.text.error_at(error, name::location(name)))
            }
        }
    }

    /// Finds a relation. Tables of the catalogs take precedence.
    pub(super) fn lookup(&mut self, schema: Option<&str>, table: &str, at: Location) -> Result<Source> {
        if let Some(found) = (catalog::built_in().table)(schema, table) {
            return Ok(Source::Virtual(found));
        }
        if let Some(view) = (catalog::built_in().view)(schema, table) {
            return Ok(Source::Relation(Relation::View(view)));
        }
        match self.names.relation(schema, table)? {
            Some(relation) => Ok(Source::Relation(relation)),
            None if self
                .names
                .type_named(schema, table)?
                .is_some_and(|it| matches!(it.kind, TypeKind::Composite(_))) =>
            {
                let error = SqlError::new(state::WRONG_OBJECT_TYPE, format!("\"{table}\" is a composite type"));
                Err(self.text.error_at(error, at))
            }
            None => {
                let full = schema.map_or(table.to_owned(), |schema| format!("{schema}.{table}"));
                let error = SqlError::new(state::UNDEFINED_TABLE, format!("relation \"{full}\" does not exist"));
                Err(self.text.error_at(error, at))
            }
        }
    }

    /// The rows of a table.
    pub(super) fn scan(&mut self, table: &Arc<Table>, alias: Option<&TableAlias>, with_key: bool) -> Result<FromItem> {
        let columns = table_columns(table, alias.map_or(table.name.clone(), |alias| fold(&alias.name)));
        let width = table.columns.len();
        let names = TableNames {
            schema: alias.is_none().then(|| table.schema.clone()),
            name: alias.map_or(table.name.clone(), |alias| fold(&alias.name)),
            behind: alias.map(|_| table.name.clone()),
            columns: rename(columns, alias)?,
            table: Some((table.clone(), 0)),
            oid: Some(table.oid),
            key: with_key.then_some(width),
            nullable: false,
            found: Presence::Key,
            is_value: false,
            view: None,
        };
        let plan = Plan::Scan(Scan {
            table: table.clone(),
            path: Path::All,
            filter: None,
            wanted: None,
            extremes: Vec::new(),
            with_key,
            for_update: false,
            rules: super::index_rules(self.names, table)?,
        });
        Ok(FromItem { plan, names: Names::of_table(names, width + usize::from(with_key)) })
    }

    fn virtual_scan(&mut self, table: &'static VirtualTable, alias: Option<&TableAlias>) -> Result<FromItem> {
        let name = alias.map_or(table.name.to_owned(), |alias| fold(&alias.name));
        let column = |(at, (column, data_type)): (usize, &(&'static str, Type))| ScopeColumn {
            name: (*column).to_owned(),
            table: name.clone(),
            value: Expr::column(at, *data_type, Modifier::NONE),
            origin: origin(table.oid, at),
        };
        let columns = table.columns.iter().enumerate().map(column).collect();
        let names = TableNames {
            schema: alias.is_none().then(|| table.schema.to_owned()),
            name: name.clone(),
            behind: alias.map(|_| table.name.to_owned()),
            columns: rename(columns, alias)?,
            table: None,
            oid: Some(table.oid),
            key: None,
            nullable: false,
            found: Presence::Key,
            is_value: false,
            view: None,
        };
        Ok(FromItem { plan: Plan::Virtual { table, name: None }, names: Names::of_table(names, table.columns.len()) })
    }

    /// The one row of a sequence.
    fn sequence_row(&mut self, sequence: &Sequence, alias: Option<&TableAlias>) -> Result<FromItem> {
        let name = alias.map_or(sequence.name.clone(), |alias| fold(&alias.name));
        let call = sequence_state();
        let column = |(at, (column, data_type)): (usize, &(&'static str, Type))| ScopeColumn {
            name: (*column).to_owned(),
            table: name.clone(),
            value: Expr::column(at, *data_type, Modifier::NONE),
            origin: None,
        };
        let columns: Vec<ScopeColumn> = call.columns.iter().flatten().enumerate().map(column).collect();
        let width = columns.len();
        let names = TableNames {
            schema: alias.is_none().then(|| sequence.schema.clone()),
            name: name.clone(),
            behind: alias.map(|_| sequence.name.clone()),
            columns: rename(columns, alias)?,
            table: None,
            oid: Some(sequence.oid),
            key: None,
            nullable: false,
            found: Presence::Key,
            is_value: false,
            view: None,
        };
        let argument = Expr::constant(crate::types::Datum::Oid(sequence.oid), Type::REGCLASS);
        let plan = Plan::Functions { calls: vec![(call, vec![argument])], ordinality: false };
        Ok(FromItem { plan, names: Names::of_table(names, width) })
    }

    /// A query in FROM under a name.
    pub(super) fn derived(&mut self, bound: Bound, name: String, alias: Option<&TableAlias>) -> Result<FromItem> {
        let title = alias.map_or(name.clone(), |alias| fold(&alias.name));
        let column = |(at, field): (usize, &Field)| ScopeColumn {
            name: field.name.clone(),
            table: title.clone(),
            value: Expr::column(at, field.data_type, field.modifier),
            origin: field.origin,
        };
        let columns = bound.fields.iter().enumerate().map(column).collect();
        let columns = rename(columns, alias)?;
        let behind = alias.map(|_| name);
        let width = bound.fields.len();
        let names = TableNames {
            schema: None,
            name: title,
            behind,
            columns,
            table: None,
            oid: None,
            key: None,
            nullable: false,
            found: Presence::Key,
            is_value: false,
            view: None,
        };
        let mut names = Names::of_table(names, width);
        names.recursive = bound.recursive;
        Ok(FromItem { plan: bound.plan, names })
    }

    /// Binds a view's query independently of the enclosing statement.
    fn view(&mut self, view: &View) -> Result<Bound> {
        if self.views >= VIEWS {
            return Err(syntax::too_deep().into());
        }
        let Some(parsed) = syntax::statement(&view.query)? else {
            return Err(broken_view(view));
        };
        let Command::Rows(statement) = &parsed.command else { return Err(broken_view(view)) };
        let Statement::Query(query) = &**statement else { return Err(broken_view(view)) };
        let text = std::mem::replace(&mut self.text, SourceText(None));
        let scope = std::mem::take(&mut self.scope);
        let ctes = self.ctes.hide();
        let meanings = self.meanings.take();
        self.views += 1;
        let bound = self.query(query, UnknownLiterals::Text);
        self.views -= 1;
        self.meanings = meanings;
        self.ctes.show(ctes);
        self.scope = scope;
        self.text = text;
        let mut bound = bound?;
        for (at, (field, column)) in bound.fields.iter_mut().zip(&view.columns).enumerate() {
            field.name.clone_from(&column.name);
            field.origin = origin(view.oid, at);
        }
        Ok(bound)
    }

    /// Returns the table that a statement writes.
    pub(super) fn written_table(&mut self, name: &ObjectName, verb: &str) -> Result<Arc<Table>> {
        name::check_database(name, self.names.database_name())?;
        let (schema, table) = name::split(name)?;
        match self.lookup(schema.as_deref(), &table, name::location(name))? {
            Source::Relation(Relation::Table(found)) => Ok(found),
            Source::Relation(Relation::View(_)) => {
                let what = match verb {
                    "insert into" => "an INSTEAD OF INSERT trigger or an unconditional ON INSERT DO INSTEAD rule",
                    "update" => "an INSTEAD OF UPDATE trigger or an unconditional ON UPDATE DO INSTEAD rule",
                    _ => "an INSTEAD OF DELETE trigger or an unconditional ON DELETE DO INSTEAD rule",
                };
                let message = format!("cannot {verb} view \"{table}\"");
                let detail = format!("Views are not updatable here; PostgreSQL would want {what} for most of them.");
                Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message).detail(detail))
            }
            Source::Virtual(found) => {
                let message = format!("permission denied: \"{}\" is a system catalog", found.name);
                Err(SqlError::new(state::INSUFFICIENT_PRIVILEGE, message))
            }
            Source::Relation(Relation::Sequence(_)) => {
                Err(SqlError::new(state::WRONG_OBJECT_TYPE, format!("cannot change sequence \"{table}\"")))
            }
            Source::Relation(Relation::Index(_)) => {
                let error = SqlError::new(state::WRONG_OBJECT_TYPE, format!("cannot open relation \"{table}\""))
                    .detail("This operation is not supported for indexes.");
                Err(self.text.error_at(error, name::location(name)))
            }
        }
    }
}

fn broken_view(view: &View) -> SqlError {
    SqlError::new(state::DATA_CORRUPTED, format!("the definition of view \"{}\" is not a query", view.name))
}

fn origin(relation: Oid, at: usize) -> Option<(Oid, u16)> {
    Some((relation, u16::try_from(at + 1).ok()?))
}

/// Existing columns of a table's row, under a table name; dropped ones are left out.
pub(super) fn table_columns(table: &Table, title: String) -> Vec<ScopeColumn> {
    let column = |(at, column): (usize, &crate::catalog::Column)| ScopeColumn {
        name: column.name.clone(),
        table: title.clone(),
        value: Expr::column(at, column.data_type, column.modifier),
        origin: origin(table.oid, at),
    };
    table.live_columns().map(column).collect()
}

/// Renames columns by an alias's list.
pub(super) fn rename(mut columns: Vec<ScopeColumn>, alias: Option<&TableAlias>) -> Result<Vec<ScopeColumn>> {
    let Some(alias) = alias else { return Ok(columns) };
    if alias.columns.len() > columns.len() {
        let message = format!(
            "table \"{}\" has {} columns available but {} columns specified",
            fold(&alias.name),
            columns.len(),
            alias.columns.len()
        );
        return Err(SqlError::new(state::INVALID_COLUMN_REFERENCE, message));
    }
    for (column, renamed) in columns.iter_mut().zip(&alias.columns) {
        column.name = fold(&renamed.name);
    }
    Ok(columns)
}

impl Binder<'_, '_> {
    /// Names of a table's row, for RETURNING, CHECK and the like.
    pub(super) fn names_of(table: &Arc<Table>, alias: Option<String>) -> Names {
        let title = alias.clone().unwrap_or_else(|| table.name.clone());
        let names = TableNames {
            schema: alias.is_none().then(|| table.schema.clone()),
            name: title.clone(),
            behind: alias.map(|_| table.name.clone()),
            columns: table_columns(table, title),
            table: Some((table.clone(), 0)),
            oid: Some(table.oid),
            key: None,
            nullable: false,
            found: Presence::Key,
            is_value: false,
            view: None,
        };
        Names::of_table(names, table.columns.len())
    }
}
