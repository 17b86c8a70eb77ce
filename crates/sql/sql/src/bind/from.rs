//! FROM: tables, subqueries, functions and their joins.

use super::Binder;
use super::clause::Clause;
use super::coerce::LocatedExpr;
use super::found::Presence;
use super::name::{self, fold};
use super::position::NOWHERE;
use super::query::Bound;
use super::scope::{Names, ScopeColumn, TableNames};
use super::table::rename;
use super::target::UnknownLiterals;
use super::walk::{move_out, refers_to_nearest};
use crate::error::{Result, SqlError, state};
use crate::functions::{Resolved, common_type, resolve_function};
use crate::plan::{self, Comparison, Expr, ExprKind, Join, JoinKind, Plan};
use crate::types::{Datum, Modifier, Record, RowShape, Type, defined};
use std::sync::Arc;
use syntax::ast::{
    self, FunctionsForm, JoinConstraint, Location, TableAlias, TableFactor, TableFunction, TableWithJoins,
};

/// Functions that make the rows which a column definition list describes.
const TO_RECORDS: &[&str] = &["json_to_record", "json_to_recordset", "jsonb_to_record", "jsonb_to_recordset"];

/// Columns as a row of the modifiers of their types.
fn columns_as_row(columns: &[(String, Type, Modifier)]) -> Expr {
    let described = columns.iter().map(|(name, data_type, _)| (name.as_str().into(), *data_type)).collect();
    let fields = columns.iter().map(|(.., modifier)| Datum::Int4(modifier.0)).collect();
    let row = Record { fields, shape: Some(Arc::new(RowShape::record(described))) };
    Expr::constant(Datum::Record(Arc::new(row)), Type::RECORD)
}

/// A FROM item: its rows and their names.
pub(super) struct FromItem {
    pub plan: Plan,
    pub names: Names,
}

impl Binder<'_, '_> {
    /// Binds FROM. Without FROM there is one row without columns.
    pub(super) fn from(&mut self, items: &[TableWithJoins]) -> Result<FromItem> {
        let siblings = self.scope.siblings();
        let mut whole: Option<FromItem> = None;
        for item in items {
            whole = Some(match whole {
                None => self.join_tree(item)?,
                Some(left) => self.comma(left, item)?,
            });
        }
        self.scope.forget_siblings(siblings);
        let no_rows = || FromItem { plan: Plan::Values { rows: vec![vec![]] }, names: Names::default() };
        Ok(whole.unwrap_or_else(no_rows))
    }

    /// `left, item`
    pub(super) fn comma(&mut self, left: FromItem, item: &TableWithJoins) -> Result<FromItem> {
        let (right, lateral) = self.beside(&left, JoinKind::Inner, |binder| binder.join_tree(item))?;
        self.check_names(&left.names, &right.names)?;
        Ok(join_node(left, right, JoinKind::Inner, lateral, None))
    }

    fn join_tree(&mut self, tree: &TableWithJoins) -> Result<FromItem> {
        let mut left = self.factor(&tree.relation)?;
        for join in &tree.joins {
            left = self.join(left, join)?;
        }
        Ok(left)
    }

    /// Binds the right side of a join, which sees the left side where it is LATERAL. Returns whether it refers to the left
    /// side.
    fn beside(
        &mut self,
        left: &FromItem,
        kind: JoinKind,
        bind: impl FnOnce(&mut Self) -> Result<FromItem>,
    ) -> Result<(FromItem, bool)> {
        let mut right = self.right_of(&left.names, bind)?;
        let lateral = refers_to_nearest(&right.plan);
        if !lateral {
            move_out(&mut right.plan);
        } else if matches!(kind, JoinKind::Right | JoinKind::Full) {
            let table = left.names.tables.first().map_or("", |table| table.name.as_str());
            let message = format!("invalid reference to FROM-clause entry for table \"{table}\"");
            return Err(SqlError::new(state::INVALID_COLUMN_REFERENCE, message)
                .detail("The combining JOIN type must be INNER or LEFT for a LATERAL reference."));
        }
        Ok((right, lateral))
    }

    pub(super) fn factor(&mut self, factor: &TableFactor) -> Result<FromItem> {
        match factor {
            TableFactor::Table { name, alias } => self.table_factor(name, alias.as_ref()),
            TableFactor::Functions { form, calls, ordinality, alias, .. } => {
                self.functions(*form, calls, alias.as_ref(), *ordinality)
            }
            TableFactor::Derived { lateral, subquery, alias } => {
                let query = |binder: &mut Self| binder.query(subquery, UnknownLiterals::Text);
                let bind = |binder: &mut Self| binder.in_derived(query);
                let bound = if *lateral { self.laterally(bind)? } else { bind(self)? };
                let Some(alias) = alias else {
                    let error = SqlError::new(state::SYNTAX_ERROR, "subquery in FROM must have an alias")
                        .hint("For example, FROM (SELECT ...) [AS] foo.");
                    return Err(error);
                };
                self.derived(bound, fold(&alias.name), Some(alias))
            }
            TableFactor::NestedJoin { table, alias } => {
                let item = self.join_tree(table)?;
                match alias {
                    None => Ok(item),
                    Some(alias) => aliased_join(item, alias),
                }
            }
        }
    }

    /// Functions in FROM, side by side. They may refer to the left sides of the enclosing joins.
    fn functions(
        &mut self,
        form: FunctionsForm,
        calls: &[TableFunction],
        alias: Option<&TableAlias>,
        ordinality: bool,
    ) -> Result<FromItem> {
        let written = calls;
        let mut names = Vec::with_capacity(calls.len());
        for call in calls {
            names.push(self.function_in_from(form, call)?);
        }
        let title = names.first().cloned().unwrap_or_default();
        let bind = |binder: &mut Self| {
            let inside = |binder: &mut Self| {
                let mut bound: Vec<(Resolved, Vec<Expr>)> = vec![];
                for (name, call) in names.iter().zip(calls) {
                    bound.push(binder.row_call(name, call, alias)?);
                }
                Ok(bound)
            };
            binder.within(Names::default(), Clause::FromFunction, inside)
        };
        let (mut calls, _) = self.laterally(bind)?;
        let is_value = matches!(calls.as_slice(), [(function, _)] if !function.result.is_row()) && !ordinality;
        let mut columns = self.function_columns(&mut calls, &title, alias).map_err(|error| match written.first() {
            Some(first) => self.text.error_at(error, name::location(&first.name)),
            None => error,
        })?;
        if ordinality {
            columns.push(("ordinality".into(), Type::INT8));
        }
        let name = alias.map_or(title.clone(), |alias| fold(&alias.name));
        let column = |(at, (column, data_type)): (usize, (String, Type))| ScopeColumn {
            name: column,
            table: name.clone(),
            value: Expr::column(at, data_type, Modifier::NONE),
            origin: None,
        };
        let columns: Vec<ScopeColumn> = columns.into_iter().enumerate().map(column).collect();
        let width = columns.len();
        let names = TableNames {
            schema: None,
            name: name.clone(),
            behind: alias.map(|_| title),
            columns: rename(columns, alias)?,
            table: None,
            oid: None,
            key: None,
            nullable: false,
            found: Presence::Key,
            is_value,
            view: None,
        };
        Ok(FromItem { plan: Plan::Functions { calls, ordinality }, names: Names::of_table(names, width) })
    }

    /// Returns the name of a function. Only `pg_catalog` has functions.
    fn function_in_from(&self, form: FunctionsForm, call: &TableFunction) -> Result<String> {
        let (schema, function) = name::split(&call.name)?;
        match schema.as_deref() {
            Some(schema)
                if form == FunctionsForm::Call && !matches!(schema, "pg_catalog" | "information_schema" | "public") =>
            {
                let error = SqlError::new(state::INVALID_SCHEMA_NAME, format!("schema \"{schema}\" does not exist"));
                Err(self.text.error_at(error, name::location(&call.name)))
            }
            _ => Ok(function),
        }
    }

    fn row_call(
        &mut self,
        name: &str,
        call: &TableFunction,
        alias: Option<&TableAlias>,
    ) -> Result<(Resolved, Vec<Expr>)> {
        let at = name::location(&call.name);
        let mut arguments = self.all_placed(&call.arguments)?;
        arguments.retain(|argument| !super::function::takes_result(argument));
        let mut name = name.to_owned();
        if TO_RECORDS.contains(&&*name) && arguments.len() == 1 {
            let defined = self.defined_columns(alias)?;
            if !defined.is_empty() {
                name.push_str(" as");
                arguments.push((columns_as_row(&defined), at));
            }
        }
        let name = &*name;
        let types: Vec<Type> = arguments.iter().map(|(argument, _)| argument.data_type).collect();
        if crate::functions::is_aggregate(name) {
            let error =
                SqlError::new(state::GROUPING_ERROR, "aggregate functions are not allowed in functions in FROM");
            return Err(self.text.error_at(error, at));
        }
        let function = resolve_function(name, &types).map_err(|error| self.text.error_at(error, at))?;
        if plan::is_volatile(&function) && matches!(function.function.name, "nextval" | "setval") {
            self.locks = true;
        }
        let arguments = self.set_arguments(&function, arguments)?;
        Ok((function, arguments))
    }

    /// `left JOIN factor ...`
    fn join(&mut self, left: FromItem, join: &ast::Join) -> Result<FromItem> {
        let kind = join_kind(join.kind);
        let nullable = matches!(kind, JoinKind::Left | JoinKind::Full);
        let barrier = nullable.then_some("an outer join");
        let right = |binder: &mut Self| binder.beside(&left, kind, |binder| binder.factor(&join.relation));
        let (mut right, lateral) = self.behind(barrier, right)?;
        let mut left = left;
        if matches!(kind, JoinKind::Right | JoinKind::Full) && left.names.recursive {
            let message = "recursive reference to a query must not appear within an outer join";
            return Err(SqlError::new(state::INVALID_RECURSION, message));
        }
        self.check_names(&left.names, &right.names)?;
        if nullable {
            right = self.nullable_side(right);
        }
        if matches!(kind, JoinKind::Right | JoinKind::Full) {
            left = self.nullable_side(left);
        }
        match &join.constraint {
            JoinConstraint::None => Ok(join_node(left, right, kind, lateral, None)),
            JoinConstraint::On(condition) => {
                let names = left.names.clone().followed_by(right.names.clone());
                let (condition, _) =
                    self.within(names, Clause::JoinOn, |binder| binder.condition(condition, "JOIN/ON"))?;
                Ok(join_node(left, right, kind, lateral, Some(condition)))
            }
            JoinConstraint::Using(columns) => {
                let columns: Vec<(String, Location)> = columns
                    .iter()
                    .map(|column| Ok((name::split(column)?.1, name::location(column))))
                    .collect::<Result<_>>()?;
                self.join_using(left, right, kind, lateral, columns)
            }
            JoinConstraint::Natural => {
                let both = left
                    .names
                    .columns
                    .iter()
                    .filter(|column| right.names.columns.iter().any(|other| other.name == column.name));
                let columns: Vec<(String, Location)> = both.map(|column| (column.name.clone(), NOWHERE)).collect();
                self.note_natural(&join.relation, columns.iter().map(|(name, _)| name.clone()).collect());
                self.join_using(left, right, kind, lateral, columns)
            }
        }
    }

    /// JOIN ... USING: the columns of both sides are merged and come first.
    fn join_using(
        &mut self,
        left: FromItem,
        right: FromItem,
        kind: JoinKind,
        lateral: bool,
        columns: Vec<(String, Location)>,
    ) -> Result<FromItem> {
        let mut names = left.names.clone().followed_by(right.names.clone());
        let (left_columns, right_columns) = names.columns.split_at(left.names.columns.len());
        let mut conditions = Vec::with_capacity(columns.len());
        let mut merged = Vec::with_capacity(columns.len());
        for (name, at) in &columns {
            let from_left = self.using_column(left_columns, name, "left", *at)?;
            let from_right = self.using_column(right_columns, name, "right", *at)?;
            let pair: (LocatedExpr, LocatedExpr) = ((from_left.value.clone(), *at), (from_right.value.clone(), *at));
            conditions.push(
                self.compare(pair.0, Comparison::Equal, "=", pair.1).map_err(|error| self.text.error_at(error, *at))?,
            );
            merged.push(self.merged_column(kind, from_left, from_right)?);
        }
        let is_merged = |column: &&ScopeColumn| columns.iter().any(|(name, _)| *name == column.name);
        let rest = names.columns.iter().filter(|column| !is_merged(column)).cloned();
        names.columns = merged.into_iter().chain(rest).collect();
        let condition = match conditions.len() {
            0 => None,
            1 => conditions.pop(),
            _ => Some(Expr::new(ExprKind::And(conditions), Type::BOOL)),
        };
        let joined = join_node(left, right, kind, lateral, condition);
        Ok(FromItem { names, ..joined })
    }

    fn using_column<'n>(
        &self,
        columns: &'n [ScopeColumn],
        name: &str,
        side: &str,
        at: Location,
    ) -> Result<&'n ScopeColumn> {
        let mut found = columns.iter().filter(|column| column.name == name);
        let error = match (found.next(), found.next()) {
            (Some(column), None) => return Ok(column),
            (Some(_), Some(_)) => SqlError::new(
                state::AMBIGUOUS_COLUMN,
                format!("common column name \"{name}\" appears more than once in {side} table"),
            ),
            (None, _) => SqlError::new(
                state::UNDEFINED_COLUMN,
                format!("column \"{name}\" specified in USING clause does not exist in {side} table"),
            ),
        };
        Err(self.text.error_at(error, at))
    }

    /// Returns the value of a merged column, from the side that always has a row.
    fn merged_column(&mut self, kind: JoinKind, left: &ScopeColumn, right: &ScopeColumn) -> Result<ScopeColumn> {
        let common = common_type(&[left.value.data_type, right.value.data_type]).unwrap_or(left.value.data_type);
        let left_value = self.implicit(left.value.clone(), common, NOWHERE)?;
        let right_value = self.implicit(right.value.clone(), common, NOWHERE)?;
        let value = match kind {
            JoinKind::Right => right_value,
            JoinKind::Full => Expr::new(ExprKind::Coalesce(vec![left_value, right_value]), common),
            _ => left_value,
        };
        let origin = match (&value.kind, kind) {
            (ExprKind::Column(_), JoinKind::Right) => right.origin,
            (ExprKind::Column(_), _) => left.origin,
            _ => None,
        };
        let table = if kind == JoinKind::Right { &right.table } else { &left.table };
        Ok(ScopeColumn { name: left.name.clone(), table: table.clone(), value, origin })
    }

    fn check_names(&self, left: &Names, right: &Names) -> Result<()> {
        let clashes = |one: &TableNames, other: &TableNames| {
            one.name == other.name && (one.schema.is_none() || other.schema.is_none() || one.schema == other.schema)
        };
        let twice = right.tables.iter().find(|table| left.tables.iter().any(|other| clashes(table, other)));
        match twice {
            None => Ok(()),
            Some(table) => {
                let message = format!("table name \"{}\" specified more than once", table.name);
                Err(SqlError::new(state::DUPLICATE_ALIAS, message))
            }
        }
    }
}

fn join_kind(kind: ast::JoinKind) -> JoinKind {
    match kind {
        ast::JoinKind::Inner | ast::JoinKind::Cross => JoinKind::Inner,
        ast::JoinKind::Left => JoinKind::Left,
        ast::JoinKind::Right => JoinKind::Right,
        ast::JoinKind::Full => JoinKind::Full,
    }
}

/// Builds a join's node and the names of its rows.
pub(super) fn join_node(
    left: FromItem,
    right: FromItem,
    kind: JoinKind,
    lateral: bool,
    condition: Option<Expr>,
) -> FromItem {
    let (left_width, right_width) = (left.names.width, right.names.width);
    let plan = Plan::Join(Box::new(Join {
        kind,
        left: left.plan,
        right: right.plan,
        condition,
        lateral,
        left_width,
        right_width,
        equalities: vec![],
        keeps_order: false,
        builds_left: false,
    }));
    FromItem { plan, names: left.names.followed_by(right.names) }
}

/// `(a JOIN b) AS alias`: one table of all columns.
fn aliased_join(item: FromItem, alias: &TableAlias) -> Result<FromItem> {
    let name = fold(&alias.name);
    let table = |column: &ScopeColumn| ScopeColumn { table: name.clone(), ..column.clone() };
    let columns: Vec<ScopeColumn> = item.names.columns.iter().map(table).collect();
    let names = TableNames {
        schema: None,
        name: name.clone(),
        behind: None,
        columns: rename(columns, Some(alias))?,
        table: None,
        oid: None,
        key: None,
        nullable: false,
        found: Presence::Join,
        is_value: false,
        view: None,
    };
    let recursive = item.names.recursive;
    let names = Names { recursive, ..Names::of_table(names, item.names.width) };
    Ok(FromItem { plan: item.plan, names })
}

impl Binder<'_, '_> {
    /// Columns of functions in FROM: the declared ones, or one column named by the alias.
    fn function_columns(
        &mut self,
        calls: &mut [(Resolved, Vec<Expr>)],
        title: &str,
        alias: Option<&TableAlias>,
    ) -> Result<Vec<(String, Type)>> {
        let defined = self.defined_columns(alias)?;
        let count = calls.len();
        let mut columns = vec![];
        for (function, _) in calls {
            let first = columns.len();
            let is_set = function.function.returns_set;
            match &function.columns {
                Some(declared) if is_set || function.result == Type::RECORD => {
                    columns.extend(declared.iter().map(|(name, data_type)| ((*name).to_owned(), *data_type)));
                }
                _ if function.result == Type::RECORD && !defined.is_empty() => {
                    columns.extend(defined.iter().map(|(name, data_type, _)| (name.clone(), *data_type)));
                    function.columns = Some(columns[first..].iter().map(|(_, data_type)| ("", *data_type)).collect());
                }
                _ if function.result.composite().is_some() => {
                    let found = function.result.composite().and_then(defined::find);
                    let attributes = found.iter().flat_map(|found| &found.attributes);
                    columns.extend(attributes.map(|attribute| (attribute.name.to_string(), attribute.data_type)));
                    function.columns = Some(columns[first..].iter().map(|(_, data_type)| ("", *data_type)).collect());
                }
                _ if function.result == Type::RECORD => {
                    let message = "a column definition list is required for functions returning \"record\"";
                    return Err(SqlError::new(state::SYNTAX_ERROR, message));
                }
                _ => {
                    let name = match alias {
                        Some(alias) if count == 1 => fold(&alias.name),
                        _ => title.to_owned(),
                    };
                    columns.push((name, function.result));
                }
            }
        }
        Ok(columns)
    }

    /// The columns that an alias defines with their types.
    fn defined_columns(&mut self, alias: Option<&TableAlias>) -> Result<Vec<(String, Type, Modifier)>> {
        let mut defined = Vec::new();
        for column in alias.iter().flat_map(|alias| &alias.columns) {
            if let Some(data_type) = &column.data_type {
                let (data_type, modifier) = self.data_type(data_type)?;
                defined.push((fold(&column.name), data_type, modifier));
            }
        }
        Ok(defined)
    }

    /// Converts the columns of a bound query to these types.
    pub(super) fn convert_columns(&mut self, mut bound: Bound, wanted: &[Type]) -> Result<Bound> {
        let changed = |bound: &Bound| bound.fields.iter().zip(wanted).any(|(field, wanted)| field.data_type != *wanted);
        if !changed(&bound) {
            return Ok(bound);
        }
        self.convert_literals(&mut bound, wanted)?;
        if !changed(&bound) {
            return Ok(bound);
        }
        let mut columns = Vec::with_capacity(wanted.len());
        for (at, (field, wanted)) in bound.fields.iter_mut().zip(wanted).enumerate() {
            let column = Expr::column(at, field.data_type, field.modifier);
            let converted = self.implicit(column, *wanted, NOWHERE)?;
            field.data_type = converted.data_type;
            field.modifier = converted.modifier;
            field.origin = field.origin.filter(|_| matches!(converted.kind, ExprKind::Column(_)));
            columns.push(converted);
        }
        Ok(Bound { plan: Plan::Project { input: Box::new(bound.plan), columns }, ..bound })
    }

    /// Gives the literals and parameters of a select list or VALUES their types.
    fn convert_literals(&mut self, bound: &mut Bound, wanted: &[Type]) -> Result<()> {
        let rows: Vec<&mut Vec<Expr>> = match &mut bound.plan {
            Plan::Project { columns, .. } => vec![columns],
            Plan::Values { rows } => rows.iter_mut().collect(),
            _ => return Ok(()),
        };
        for row in rows {
            for (at, (value, wanted)) in row.iter_mut().zip(wanted).enumerate() {
                if value.data_type == Type::UNKNOWN {
                    let place = bound.places.get(at).copied().unwrap_or(NOWHERE);
                    let open = std::mem::replace(value, Expr::constant(crate::types::Datum::Null, Type::UNKNOWN));
                    *value = self.implicit(open, *wanted, place)?;
                }
            }
        }
        for (field, wanted) in bound.fields.iter_mut().zip(wanted) {
            if field.data_type == Type::UNKNOWN {
                field.data_type = *wanted;
            }
        }
        Ok(())
    }
}
