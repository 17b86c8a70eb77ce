//! The select list: its columns and their names.

use super::Binder;
use super::expression::special_name;
use super::name::{self, fold};
use super::position::{NOWHERE, start};
use super::record::field_of;
use super::scope::ScopeColumn;
use crate::error::{Result, SqlError, state};
use crate::plan::{Expr, Field};
use crate::types::Type;
use syntax::ast::{Access, DataType, Expr as Syntax, Function, Location, Query, SelectItem, SetExpr};

/// Treatment of a select list's literals of undecided type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnknownLiterals {
    /// They become text.
    Text,
    /// They stay undecided: UNION or INSERT decides.
    Keep,
}

/// A column of a select list.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// Its value.
    pub expression: Expr,
    /// Its description.
    pub field: Field,
    /// Whether only ORDER BY, DISTINCT ON or FOR UPDATE needs it.
    pub hidden: bool,
    /// Its location.
    pub at: Location,
}

impl Binder<'_, '_> {
    /// Binds a select list over the current row.
    pub(super) fn targets(&mut self, items: &[SelectItem], unknowns: UnknownLiterals) -> Result<Vec<Target>> {
        let mut targets = Vec::with_capacity(items.len());
        for item in items {
            match item {
                SelectItem::RecordWildcard(record) => self.record_targets(record, &mut targets)?,
                SelectItem::Expr(syntax) => targets.push(self.target(syntax, column_name(syntax), unknowns)?),
                SelectItem::ExprWithAlias { expr, alias } => targets.push(self.target(expr, fold(alias), unknowns)?),
                SelectItem::Wildcard(span) => {
                    let columns = self.scope.frame().names.columns.clone();
                    if self.scope.frame().names.tables.is_empty() && columns.is_empty() {
                        let message = "SELECT * with no tables specified is not valid";
                        return Err(self.text.error_at(SqlError::new(state::SYNTAX_ERROR, message), span.start));
                    }
                    self.note_wildcard(span.start, &columns);
                    self.add_columns(columns, &mut targets, span.start);
                }
                SelectItem::TableWildcard(name) => {
                    let columns = self.table_columns(name)?;
                    let (_, table) = name::split(name)?;
                    self.note_table_wildcard(name::location(name), &table, &columns);
                    self.add_columns(columns, &mut targets, name::location(name));
                }
            }
        }
        Ok(targets)
    }

    /// Adds the columns of `*`.
    fn add_columns(&mut self, columns: Vec<ScopeColumn>, targets: &mut Vec<Target>, at: Location) {
        for column in columns {
            self.scope.mention(&column.value, at);
            let (data_type, modifier) = (column.value.data_type, column.value.modifier);
            let field = Field { name: column.name, data_type, modifier, origin: column.origin };
            targets.push(Target { expression: column.value, field, hidden: false, at });
        }
    }

    fn target(&mut self, syntax: &Syntax, name: String, unknowns: UnknownLiterals) -> Result<Target> {
        let expression = self.expression(syntax)?;
        let expression = self.records.with_shape(expression);
        let expression = match unknowns {
            UnknownLiterals::Text => self.known(expression)?,
            UnknownLiterals::Keep => expression,
        };
        let origin = self.scope.origin(&expression);
        let field = Field { name, data_type: expression.data_type, modifier: expression.modifier, origin };
        Ok(Target { expression, field, hidden: false, at: start(syntax) })
    }

    /// `(f(x)).*`
    fn record_targets(&mut self, syntax: &Syntax, targets: &mut Vec<Target>) -> Result<()> {
        let record = self.expression(syntax)?;
        let shape = self.records.of(&record).unwrap_or_default();
        if shape.is_empty() {
            let error = match record.data_type {
                Type::RECORD => SqlError::unsupported(format_args!("the expansion {syntax}.*")),
                other => {
                    let message = format!("type {} is not composite", other.name());
                    SqlError::new(state::WRONG_OBJECT_TYPE, message)
                }
            };
            return Err(self.text.error_at(error, start(syntax)));
        }
        self.note_record_wildcard(start(syntax), &shape);
        for (at, described) in shape.iter().enumerate() {
            let expression = field_of(&record, at, described);
            self.scope.mention(&expression, start(syntax));
            let (data_type, modifier) = (expression.data_type, expression.modifier);
            let field =
                Field { name: described.0.clone(), data_type, modifier, origin: self.scope.origin(&expression) };
            targets.push(Target { expression, field, hidden: false, at: start(syntax) });
        }
        Ok(())
    }
}

/// The name of a column without an alias.
pub(crate) fn column_name(syntax: &Syntax) -> String {
    figure(syntax).map_or("?column?".into(), |(name, _)| name)
}

/// Precedence of a derived name: a type's name yields to any other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Weak,
    Strong,
}

fn strong(name: impl Into<String>) -> Option<(String, Strength)> {
    Some((name.into(), Strength::Strong))
}

/// Source: PostgreSQL 15, `FigureColnameInternal`.
fn figure(syntax: &Syntax) -> Option<(String, Strength)> {
    match syntax {
        Syntax::Identifier(name) => strong(fold(name)),
        Syntax::CompoundIdentifier(parts) => strong(fold(parts.last()?)),
        Syntax::TableRow(name) => strong(fold(name.0.last()?)),
        Syntax::Access { root, chain } => {
            let field = chain.iter().rev().find_map(|access| match access {
                Access::Field(name) => Some(fold(name)),
                _ => None,
            });
            field.map_or_else(|| figure(root), strong)
        }
        Syntax::Nested(inner) | Syntax::Collate { expr: inner, .. } => figure(inner),
        Syntax::Function(function) => figure_function(function),
        Syntax::Cast { expr, data_type, .. } => figure_cast(figure(expr), data_type),
        Syntax::TypedLiteral { data_type, .. } => figure_cast(None, data_type),
        Syntax::Interval(_) => Some(("interval".into(), Strength::Weak)),
        Syntax::Case(case) => match case.otherwise.as_ref().and_then(figure) {
            Some(found) if found.1 == Strength::Strong => Some(found),
            _ => Some(("case".into(), Strength::Weak)),
        },
        Syntax::Subquery(query) => figure_query(query),
        Syntax::Exists(_) => strong("exists"),
        Syntax::Array { .. } | Syntax::ArraySubquery { .. } => strong("array"),
        Syntax::Row { .. } => strong("row"),
        Syntax::Special { call, .. } => strong(special_name(call)),
        _ => None,
    }
}

fn figure_function(function: &Function) -> Option<(String, Strength)> {
    strong(match name::parts(&function.name).last()?.as_str() {
        "current_catalog" => "current_catalog",
        name => name,
    })
}

fn figure_cast(argument: Option<(String, Strength)>, data_type: &DataType) -> Option<(String, Strength)> {
    if let Some(found) = argument
        && found.1 == Strength::Strong
    {
        return Some(found);
    }
    let name = match (&data_type.meaning, &data_type.name) {
        (Ok((found, _)), _) => Type::of(found.scalar).internal_name().into(),
        (Err(_), Some(name)) => fold(name.0.last()?),
        _ => return None,
    };
    Some((name, Strength::Weak))
}

/// A subquery has the name of its only column.
fn figure_query(query: &Query) -> Option<(String, Strength)> {
    let mut body = &*query.body;
    loop {
        match body {
            SetExpr::Query(inner) => body = &inner.body,
            SetExpr::SetOperation { left, .. } => body = left,
            SetExpr::Values { .. } => return strong("column1"),
            SetExpr::Select(select) => {
                return match select.projection.first()? {
                    SelectItem::Expr(syntax) => strong(column_name(syntax)),
                    SelectItem::ExprWithAlias { alias, .. } => strong(fold(alias)),
                    _ => None,
                };
            }
            _ => return None,
        }
    }
}

/// Location of a select item.
pub(super) fn item_start(item: Option<&SelectItem>) -> Location {
    match item {
        Some(SelectItem::Expr(syntax) | SelectItem::ExprWithAlias { expr: syntax, .. }) => start(syntax),
        _ => NOWHERE,
    }
}
