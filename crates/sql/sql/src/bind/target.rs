//! The select list: its columns and their names.

use super::Binder;
use super::name::{self, fold};
use super::position::{NOWHERE, start};
use super::record::field_of;
use super::scope::ScopeColumn;
use crate::error::{Result, SqlError, state};
use crate::parse::expanded_record;
use crate::plan::{Expr, Field};
use crate::types::Type;
use syntax::ast::Location;
use syntax::ast::{
    Expr as Syntax, Function, Query, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TrimWhereField,
    WildcardAdditionalOptions,
};

/// Treatment of a select list's literals of undecided type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknowns {
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
    pub(super) fn targets(&mut self, items: &[SelectItem], unknowns: Unknowns) -> Result<Vec<Target>> {
        let mut targets = Vec::with_capacity(items.len());
        for item in items {
            match item {
                SelectItem::UnnamedExpr(syntax) if let Some(record) = expanded_record(syntax) => {
                    self.record_targets(&record, &mut targets)?;
                }
                SelectItem::UnnamedExpr(syntax) => targets.push(self.target(syntax, column_name(syntax), unknowns)?),
                SelectItem::ExprWithAlias { expr, alias } => targets.push(self.target(expr, fold(alias), unknowns)?),
                SelectItem::Wildcard(options) => {
                    refuse_options(options)?;
                    let columns = self.frame().names.columns.clone();
                    if self.frame().names.tables.is_empty() && columns.is_empty() {
                        let message = "SELECT * with no tables specified is not valid";
                        return Err(self.error_at(
                            SqlError::new(state::SYNTAX_ERROR, message),
                            options.wildcard_token.0.span.start,
                        ));
                    }
                    self.add_columns(columns, &mut targets, options.wildcard_token.0.span.start);
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                    refuse_options(options)?;
                    let columns = self.table_columns(name)?;
                    self.add_columns(columns, &mut targets, name::location(name));
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::Expr(syntax), options) => {
                    refuse_options(options)?;
                    self.record_targets(syntax, &mut targets)?;
                }
                SelectItem::ExprWithAliases { .. } => return Err(SqlError::unsupported("a list of aliases")),
            }
        }
        Ok(targets)
    }

    /// Adds the columns of `*`.
    fn add_columns(&mut self, columns: Vec<ScopeColumn>, targets: &mut Vec<Target>, at: Location) {
        for column in columns {
            self.mention(&column.value, at);
            let (data_type, modifier) = (column.value.data_type, column.value.modifier);
            let field = Field { name: column.name, data_type, modifier, origin: column.origin };
            targets.push(Target { expression: column.value, field, hidden: false, at });
        }
    }

    fn target(&mut self, syntax: &Syntax, name: String, unknowns: Unknowns) -> Result<Target> {
        let expression = self.expression(syntax)?;
        let expression = self.with_shape(expression);
        let expression = match unknowns {
            Unknowns::Text => self.known(expression)?,
            Unknowns::Keep => expression,
        };
        let origin = self.origin(&expression);
        let field = Field { name, data_type: expression.data_type, modifier: expression.modifier, origin };
        Ok(Target { expression, field, hidden: false, at: start(syntax) })
    }

    /// `(f(x)).*`
    fn record_targets(&mut self, syntax: &Syntax, targets: &mut Vec<Target>) -> Result<()> {
        let record = self.expression(syntax)?;
        let shape = self.shape(&record).unwrap_or_default();
        if shape.is_empty() {
            let error = match record.data_type {
                Type::RECORD => SqlError::unsupported(format_args!("the expansion {syntax}.*")),
                other => {
                    let message = format!("type {} is not composite", other.name());
                    SqlError::new(state::WRONG_OBJECT_TYPE, message)
                }
            };
            return Err(self.error_at(error, start(syntax)));
        }
        for (at, described) in shape.iter().enumerate() {
            let expression = field_of(&record, at, described);
            self.mention(&expression, start(syntax));
            let (data_type, modifier) = (expression.data_type, expression.modifier);
            let field = Field { name: described.0.clone(), data_type, modifier, origin: self.origin(&expression) };
            targets.push(Target { expression, field, hidden: false, at: start(syntax) });
        }
        Ok(())
    }
}

fn refuse_options(options: &WildcardAdditionalOptions) -> Result<()> {
    let WildcardAdditionalOptions {
        wildcard_token: _,
        opt_ilike,
        opt_exclude,
        opt_except,
        opt_replace,
        opt_rename,
        opt_alias,
    } = options;
    let is_plain = opt_ilike.is_none()
        && opt_exclude.is_none()
        && opt_except.is_none()
        && opt_replace.is_none()
        && opt_rename.is_none()
        && opt_alias.is_none();
    if is_plain {
        Ok(())
    } else {
        Err(SqlError::new(state::SYNTAX_ERROR, format!("syntax error at or near \"{options}\"")))
    }
}

/// The name of a column without an alias.
pub(super) fn column_name(syntax: &Syntax) -> String {
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
        Syntax::CompoundFieldAccess { root, access_chain } => {
            let field = access_chain.iter().rev().find_map(|access| match access {
                syntax::ast::AccessExpr::Dot(Syntax::Identifier(name)) => Some(fold(name)),
                _ => None,
            });
            field.map_or_else(|| figure(root), strong)
        }
        Syntax::Nested(inner) | Syntax::Collate { expr: inner, .. } => figure(inner),
        Syntax::Function(function) => figure_function(function),
        Syntax::Cast { expr, data_type, .. } => figure_cast(figure(expr), data_type),
        Syntax::TypedString(typed) => figure_cast(None, &typed.data_type),
        Syntax::Interval(_) => Some(("interval".into(), Strength::Weak)),
        Syntax::Case { else_result, .. } => match else_result.as_deref().and_then(figure) {
            Some(found) if found.1 == Strength::Strong => Some(found),
            _ => Some(("case".into(), Strength::Weak)),
        },
        Syntax::Subquery(query) => figure_query(query),
        Syntax::Exists { negated: false, .. } => strong("exists"),
        Syntax::Array(_) => strong("array"),
        Syntax::Tuple(_) => strong("row"),
        Syntax::Extract { .. } => strong("extract"),
        Syntax::Ceil { .. } => strong("ceil"),
        Syntax::Floor { .. } => strong("floor"),
        Syntax::Position { .. } => strong("position"),
        Syntax::Substring { shorthand, .. } => strong(if *shorthand { "substr" } else { "substring" }),
        Syntax::Trim { trim_where, .. } => strong(match trim_where {
            None | Some(TrimWhereField::Both) => "btrim",
            Some(TrimWhereField::Leading) => "ltrim",
            Some(TrimWhereField::Trailing) => "rtrim",
        }),
        Syntax::Overlay { .. } => strong("overlay"),
        Syntax::AtTimeZone { .. } => strong("timezone"),
        _ => None,
    }
}

fn figure_function(function: &Function) -> Option<(String, Strength)> {
    let parts = name::parts(&function.name).ok()?;
    strong(match parts.last()?.as_str() {
        "current_catalog" => "current_catalog",
        name => name,
    })
}

fn figure_cast(argument: Option<(String, Strength)>, data_type: &syntax::ast::DataType) -> Option<(String, Strength)> {
    if let Some(found) = argument
        && found.1 == Strength::Strong
    {
        return Some(found);
    }
    let (found, _) = crate::parse::data_type(data_type).ok()?;
    let element = if found.is_array { Type::of(found.scalar) } else { found };
    Some((element.internal_name().to_owned(), Strength::Weak))
}

/// A subquery has the name of its only column.
fn figure_query(query: &Query) -> Option<(String, Strength)> {
    let mut body = &*query.body;
    loop {
        match body {
            SetExpr::Query(inner) => body = &inner.body,
            SetExpr::SetOperation { left, .. } => body = left,
            SetExpr::Values(_) => return strong("column1"),
            SetExpr::Select(select) => {
                return match select.projection.first()? {
                    SelectItem::UnnamedExpr(syntax) => strong(column_name(syntax)),
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
        Some(SelectItem::UnnamedExpr(syntax) | SelectItem::ExprWithAlias { expr: syntax, .. }) => start(syntax),
        _ => NOWHERE,
    }
}
