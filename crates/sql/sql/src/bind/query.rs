//! Queries: the clauses around a SELECT, VALUES or UNION.

use super::Binder;
use super::aggregate::sort_key;
use super::name::fold;
use super::position::{NOWHERE, start};
use super::scope::{Clause, Names, ScopeColumn};
use super::target::Unknowns;
use crate::error::{Result, SqlError, state};
use crate::plan::{Expr, Field, Plan, SortKey};
use crate::stack::deeper;
use crate::types::{Datum, Modifier, Type};
use syntax::ast::Location;
use syntax::ast::{
    Expr as Syntax, Fetch, LimitClause, LockClause, OrderByExpr, OrderByKind, Query, SetExpr, Value, Values,
};

/// A bound query.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    /// Its plan.
    pub plan: Plan,
    /// Its columns.
    pub fields: Vec<Field>,
    /// Locations of the columns of its select list, as far as known.
    pub places: Vec<Location>,
    /// Whether it returns the rows of a recursive query's last step.
    pub recursive: bool,
}

/// Clauses after a query's body.
#[derive(Clone, Copy)]
pub(super) struct Tail<'q> {
    pub order: &'q [OrderByExpr],
    pub limit: Option<&'q Syntax>,
    pub offset: Option<&'q Syntax>,
    pub fetch: Option<&'q Fetch>,
    pub locks: &'q [LockClause],
}

impl<'q> Tail<'q> {
    fn of(query: &'q Query) -> Result<Tail<'q>> {
        let order = match &query.order_by {
            None => &[][..],
            Some(order_by) => match &order_by.kind {
                OrderByKind::Expressions(keys) => keys,
                OrderByKind::All(_) => return Err(SqlError::unsupported("ORDER BY ALL")),
            },
        };
        let (limit, offset) = match &query.limit_clause {
            None => (None, None),
            Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
            }
            Some(LimitClause::OffsetCommaLimit { .. }) => {
                let error = SqlError::new(state::SYNTAX_ERROR, "LIMIT #,# syntax is not supported");
                return Err(error.hint("Use separate LIMIT and OFFSET clauses."));
            }
        };
        let fetch = query.fetch.as_ref();
        if limit.is_some() && fetch.is_some() {
            return Err(SqlError::new(state::SYNTAX_ERROR, "multiple LIMIT clauses not allowed"));
        }
        Ok(Tail { order, limit, offset, fetch, locks: &query.locks })
    }

    fn is_empty(&self) -> bool {
        self.order.is_empty()
            && self.limit.is_none()
            && self.offset.is_none()
            && self.fetch.is_none()
            && self.locks.is_empty()
    }

    fn bounds(&self) -> bool {
        self.limit.is_some() || self.offset.is_some() || self.fetch.is_some()
    }

    /// Combines the clauses inside and outside of parentheses.
    fn around(self, inner: Tail<'q>) -> Result<Tail<'q>> {
        let twice =
            |what: &str| Err(SqlError::new(state::SYNTAX_ERROR, format!("multiple {what} clauses not allowed")));
        if !self.order.is_empty() && !inner.order.is_empty() {
            return twice("ORDER BY");
        }
        if self.bounds() && inner.bounds() {
            return twice("LIMIT");
        }
        let (bounded, order) =
            (if self.bounds() { self } else { inner }, if self.order.is_empty() { inner.order } else { self.order });
        Ok(Tail { order, locks: if self.locks.is_empty() { inner.locks } else { self.locks }, ..bounded })
    }
}

impl Binder<'_, '_> {
    /// Binds a query.
    pub(super) fn query(&mut self, query: &Query, unknowns: Unknowns) -> Result<Bound> {
        deeper(|| self.query_kind(query, unknowns))
    }

    fn query_kind(&mut self, query: &Query, unknowns: Unknowns) -> Result<Bound> {
        let Query { for_clause, settings, format_clause, pipe_operators, .. } = query;
        if for_clause.is_some() || settings.is_some() || format_clause.is_some() || !pipe_operators.is_empty() {
            return Err(SqlError::unsupported("this form of query"));
        }
        let scope = self.open_with(query.with.as_ref())?;
        let bound = Tail::of(query).and_then(|tail| self.body(&query.body, tail, unknowns));
        self.close_with(scope, bound)
    }

    fn body(&mut self, body: &SetExpr, tail: Tail<'_>, unknowns: Unknowns) -> Result<Bound> {
        match body {
            SetExpr::Select(select) => self.select(select, tail, unknowns),
            SetExpr::Query(inner) if inner.with.is_none() => {
                let inner_tail = Tail::of(inner)?;
                self.body(&inner.body, tail.around(inner_tail)?, unknowns)
            }
            SetExpr::Query(inner) => {
                let bound = self.query(inner, unknowns)?;
                self.with_tail(bound, tail)
            }
            SetExpr::SetOperation { .. } => {
                let bound = self.set_operation(body)?;
                self.with_tail(bound, tail)
            }
            SetExpr::Values(values) => {
                let bound = self.values(values, unknowns)?;
                self.with_tail(bound, tail)
            }
            SetExpr::Table(table) => {
                let part = |name: &String| syntax::ast::ObjectNamePart::Identifier(name.as_str().into());
                let name = table.schema_name.iter().chain(&table.table_name).map(part).collect();
                let item = self.table_factor(&syntax::ast::ObjectName(name), None)?;
                let plain = |column: &ScopeColumn| Field {
                    name: column.name.clone(),
                    data_type: column.value.data_type,
                    modifier: column.value.modifier,
                    origin: column.origin,
                };
                let fields = item.names.columns.iter().map(plain).collect();
                let columns = item.names.columns.into_iter().map(|column| column.value).collect();
                let plan = Plan::Project { input: Box::new(item.plan), columns };
                self.with_tail(Bound { plan, fields, places: vec![], recursive: false }, tail)
            }
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                Err(SqlError::unsupported("a data-modifying statement in WITH"))
            }
        }
    }

    /// Binds a side of UNION and the like. The literals of a query without WITH keep undecided types.
    pub(super) fn side(&mut self, side: &SetExpr) -> Result<Bound> {
        let nothing = Tail { order: &[], limit: None, offset: None, fetch: None, locks: &[] };
        deeper(|| self.body(side, nothing, Unknowns::Keep))
    }

    /// VALUES
    fn values(&mut self, values: &Values, unknowns: Unknowns) -> Result<Bound> {
        let width = values.rows.first().map_or(0, |row| row.content.len());
        let bind = |binder: &mut Self| {
            let mut rows = Vec::with_capacity(values.rows.len());
            for row in &values.rows {
                if row.content.len() != width {
                    let error = SqlError::new(state::SYNTAX_ERROR, "VALUES lists must all be the same length");
                    return Err(binder.error_at(error, row.content.first().map_or(NOWHERE, start)));
                }
                rows.push(binder.all_placed(&row.content)?);
            }
            Ok(rows)
        };
        let (mut rows, _) = self.within(Names::default(), Clause::Values, bind)?;
        let mut columns = Vec::with_capacity(width);
        for at in (0..width).rev() {
            let column: Vec<_> = rows.iter_mut().filter_map(|row| (row.len() > at).then(|| row.remove(at))).collect();
            let is_open = column.iter().all(|(value, _)| value.data_type == Type::UNKNOWN);
            columns.push(if is_open && unknowns == Unknowns::Keep {
                (column.into_iter().map(|(value, _)| value).collect(), Type::UNKNOWN)
            } else {
                self.common_typed(column, "VALUES")?
            });
        }
        columns.reverse();
        let field = |(at, (_, data_type)): (usize, &(Vec<Expr>, Type))| Field {
            name: format!("column{}", at + 1),
            data_type: *data_type,
            modifier: Modifier::NONE,
            origin: None,
        };
        let fields = columns.iter().enumerate().map(field).collect();
        let mut columns: Vec<_> = columns.into_iter().map(|(values, _)| values.into_iter()).collect();
        let rows = (0..values.rows.len()).map(|_| columns.iter_mut().filter_map(Iterator::next).collect()).collect();
        Ok(Bound { plan: Plan::Values { rows }, fields, places: vec![], recursive: false })
    }

    /// ORDER BY and LIMIT over a complete query: they can refer to its columns only.
    fn with_tail(&mut self, bound: Bound, tail: Tail<'_>) -> Result<Bound> {
        if tail.is_empty() {
            return Ok(bound);
        }
        if let Some(lock) = tail.locks.first() {
            let what = lock.lock_type.to_string();
            let message = format!("FOR {what} is not allowed with UNION/INTERSECT/EXCEPT");
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        let mut keys = Vec::with_capacity(tail.order.len());
        for key in tail.order {
            keys.push(self.output_key(&bound.fields, key)?);
        }
        let plan = match keys.is_empty() {
            true => bound.plan,
            false => Plan::Sort { input: Box::new(bound.plan), keys: keys.clone() },
        };
        let plan = self.limited(plan, tail, &keys)?;
        Ok(Bound { plan, ..bound })
    }

    /// Sort key of an ORDER BY that can only name a result column.
    fn output_key(&mut self, fields: &[Field], key: &OrderByExpr) -> Result<SortKey> {
        let at = start(&key.expr);
        let place = match unnested(&key.expr) {
            Syntax::Value(value) => self.ordinal(&value.value, fields.len(), "ORDER BY", at)?,
            Syntax::Identifier(name) => {
                let folded = fold(name);
                let mut found = fields.iter().enumerate().filter(|(_, field)| field.name == folded);
                match (found.next(), found.next()) {
                    (Some((place, _)), None) => Some(place),
                    (Some(_), Some(_)) => {
                        let error =
                            SqlError::new(state::AMBIGUOUS_COLUMN, format!("ORDER BY \"{folded}\" is ambiguous"));
                        return Err(self.error_at(error, at));
                    }
                    (None, _) => {
                        let message = format!("column \"{folded}\" does not exist");
                        return Err(self.error_at(SqlError::new(state::UNDEFINED_COLUMN, message), at));
                    }
                }
            }
            _ => None,
        };
        let Some(place) = place else {
            let error = SqlError::new(state::FEATURE_NOT_SUPPORTED, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause")
                .detail("Only result column names can be used, not expressions or functions.")
                .hint("Add the expression/function to every SELECT, or move the UNION into a FROM clause.");
            return Err(self.error_at(error, at));
        };
        let field = &fields[place];
        Ok(sort_key(Expr::column(place, field.data_type, field.modifier), key))
    }

    /// Returns the column that a number in ORDER BY or GROUP BY denotes.
    pub(super) fn ordinal(&mut self, value: &Value, width: usize, clause: &str, at: Location) -> Result<Option<usize>> {
        let error = match value {
            Value::Placeholder(_) => return Ok(None),
            Value::Number(digits, _) => match digits.parse::<i32>() {
                Ok(number) => {
                    let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
                    match place.filter(|place| *place < width) {
                        Some(place) => return Ok(Some(place)),
                        None => {
                            let message = format!("{clause} position {number} is not in select list");
                            SqlError::new(state::INVALID_COLUMN_REFERENCE, message)
                        }
                    }
                }
                Err(_) => SqlError::new(state::SYNTAX_ERROR, format!("non-integer constant in {clause}")),
            },
            _ => SqlError::new(state::SYNTAX_ERROR, format!("non-integer constant in {clause}")),
        };
        Err(self.error_at(error, at))
    }

    /// LIMIT, OFFSET, FETCH.
    pub(super) fn limited(&mut self, input: Plan, tail: Tail<'_>, keys: &[SortKey]) -> Result<Plan> {
        if !tail.bounds() {
            return Ok(input);
        }
        let limit = match (tail.limit, tail.fetch) {
            (Some(limit), _) => Some(self.row_count(limit, Clause::Limit)?),
            (None, Some(Fetch { percent: true, .. })) => return Err(SqlError::unsupported("FETCH ... PERCENT")),
            (None, Some(Fetch { quantity: Some(quantity), .. })) => Some(self.row_count(quantity, Clause::Limit)?),
            (None, Some(Fetch { quantity: None, .. })) => Some(Expr::constant(Datum::Int8(1), Type::INT8)),
            (None, None) => None,
        };
        let offset = tail.offset.map(|offset| self.row_count(offset, Clause::Offset)).transpose()?;
        let ties = tail.fetch.is_some_and(|fetch| fetch.with_ties);
        if ties && keys.is_empty() {
            let message = "WITH TIES cannot be specified without ORDER BY clause";
            return Err(SqlError::new(state::SYNTAX_ERROR, message));
        }
        Ok(Plan::Limit { input: Box::new(input), limit, ties: ties.then(|| keys.to_vec()), offset })
    }

    fn row_count(&mut self, syntax: &Syntax, clause: Clause) -> Result<Expr> {
        let bind = |binder: &mut Self| {
            let (count, at) = binder.placed(syntax)?;
            let fits = count.data_type == Type::UNKNOWN || count.data_type.category() == 'N';
            if !fits {
                let title = if clause == Clause::Limit { "LIMIT" } else { "OFFSET" };
                let message = format!("argument of {title} must be type bigint, not type {}", count.data_type.name());
                return Err(binder.error_at(SqlError::new(state::DATATYPE_MISMATCH, message), at));
            }
            binder.coerce(count, Type::INT8, Modifier::NONE, crate::types::CastContext::Assignment, at)
        };
        self.within(Names::default(), clause, bind).map(|(count, _)| count)
    }
}

/// Strips the parentheses around an expression.
pub(super) fn unnested(syntax: &Syntax) -> &Syntax {
    match syntax {
        Syntax::Nested(inner) => unnested(inner),
        other => other,
    }
}
