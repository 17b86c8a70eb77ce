//! Queries: the clauses around a SELECT, VALUES or UNION.

use super::Binder;
use super::aggregate::sort_key;
use super::clause::Clause;
use super::name::fold;
use super::position::{NOWHERE, start};
use super::scope::Names;
use super::target::UnknownLiterals;
use crate::error::{Result, SqlError, state};
use crate::plan::{Expr, Field, Plan, SortKey};
use crate::stack::ensure_stack;
use crate::types::{Datum, Modifier, Type};
use syntax::ast::{Expr as Syntax, Limit, Location, LockClause, OrderByExpr, Query, SetExpr, Value, ValuesRow};

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
pub(super) struct TrailingClauses<'q> {
    pub order: &'q [OrderByExpr],
    pub limit: Option<&'q Limit>,
    pub offset: Option<&'q Syntax>,
    pub locks: &'q [LockClause],
}

impl<'q> TrailingClauses<'q> {
    fn of(query: &'q Query) -> TrailingClauses<'q> {
        let Query { order_by, limit, offset, locks, .. } = query;
        TrailingClauses { order: order_by, limit: limit.as_ref(), offset: offset.as_ref(), locks }
    }

    fn is_empty(&self) -> bool {
        self.order.is_empty() && self.limit.is_none() && self.offset.is_none() && self.locks.is_empty()
    }

    fn bounds(&self) -> bool {
        self.limit.is_some() || self.offset.is_some()
    }

    /// Combines the clauses inside and outside of parentheses.
    fn around(self, inner: TrailingClauses<'q>) -> Result<TrailingClauses<'q>> {
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
        Ok(TrailingClauses { order, locks: if self.locks.is_empty() { inner.locks } else { self.locks }, ..bounded })
    }
}

impl Binder<'_, '_> {
    /// Binds a query.
    pub(super) fn query(&mut self, query: &Query, unknowns: UnknownLiterals) -> Result<Bound> {
        ensure_stack(|| self.query_kind(query, unknowns))
    }

    fn query_kind(&mut self, query: &Query, unknowns: UnknownLiterals) -> Result<Bound> {
        let scope = self.open_with(query.with.as_ref())?;
        let bound = self.body(&query.body, TrailingClauses::of(query), unknowns);
        self.close_with(scope, bound)
    }

    fn body(&mut self, body: &SetExpr, tail: TrailingClauses<'_>, unknowns: UnknownLiterals) -> Result<Bound> {
        match body {
            SetExpr::Select(select) => self.select(select, tail, unknowns),
            SetExpr::Query(inner) if inner.with.is_none() => {
                self.body(&inner.body, tail.around(TrailingClauses::of(inner))?, unknowns)
            }
            SetExpr::Query(inner) => {
                let bound = self.query(inner, unknowns)?;
                self.with_tail(bound, tail)
            }
            SetExpr::SetOperation { .. } => {
                let bound = self.set_operation(body)?;
                self.with_tail(bound, tail)
            }
            SetExpr::Values { rows, .. } => {
                let bound = self.values(rows, unknowns)?;
                self.with_tail(bound, tail)
            }
            SetExpr::Write(_) => Err(SqlError::unsupported("a data-modifying statement in WITH")),
        }
    }

    /// Binds a side of UNION and the like. The literals of a query without WITH keep undecided types.
    pub(super) fn side(&mut self, side: &SetExpr) -> Result<Bound> {
        let nothing = TrailingClauses { order: &[], limit: None, offset: None, locks: &[] };
        ensure_stack(|| self.body(side, nothing, UnknownLiterals::Keep))
    }

    /// VALUES
    fn values(&mut self, values: &[ValuesRow], unknowns: UnknownLiterals) -> Result<Bound> {
        let width = values.first().map_or(0, Vec::len);
        let bind = |binder: &mut Self| {
            let mut rows = Vec::with_capacity(values.len());
            for row in values {
                if row.len() != width {
                    let error = SqlError::new(state::SYNTAX_ERROR, "VALUES lists must all be the same length");
                    return Err(binder.text.error_at(error, row.first().map_or(NOWHERE, start)));
                }
                rows.push(binder.all_placed(row)?);
            }
            Ok(rows)
        };
        let (mut rows, _) = self.within(Names::default(), Clause::Values, bind)?;
        let mut columns = Vec::with_capacity(width);
        for at in (0..width).rev() {
            let column: Vec<_> = rows.iter_mut().filter_map(|row| (row.len() > at).then(|| row.remove(at))).collect();
            let is_open = column.iter().all(|(value, _)| value.data_type == Type::UNKNOWN);
            columns.push(if is_open && unknowns == UnknownLiterals::Keep {
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
        let rows = (0..values.len()).map(|_| columns.iter_mut().filter_map(Iterator::next).collect()).collect();
        Ok(Bound { plan: Plan::Values { rows }, fields, places: vec![], recursive: false })
    }

    /// ORDER BY and LIMIT over a complete query: they can refer to its columns only.
    fn with_tail(&mut self, bound: Bound, tail: TrailingClauses<'_>) -> Result<Bound> {
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
            Syntax::Literal(literal) => self.ordinal(&literal.value, fields.len(), "ORDER BY", at)?,
            Syntax::Identifier(name) => {
                let folded = fold(name);
                let mut found = fields.iter().enumerate().filter(|(_, field)| field.name == folded);
                match (found.next(), found.next()) {
                    (Some((place, _)), None) => Some(place),
                    (Some(_), Some(_)) => {
                        let error =
                            SqlError::new(state::AMBIGUOUS_COLUMN, format!("ORDER BY \"{folded}\" is ambiguous"));
                        return Err(self.text.error_at(error, at));
                    }
                    (None, _) => {
                        let message = format!("column \"{folded}\" does not exist");
                        return Err(self.text.error_at(SqlError::new(state::UNDEFINED_COLUMN, message), at));
                    }
                }
            }
            _ => None,
        };
        let Some(place) = place else {
            let error = SqlError::new(state::FEATURE_NOT_SUPPORTED, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause")
                .detail("Only result column names can be used, not expressions or functions.")
                .hint("Add the expression/function to every SELECT, or move the UNION into a FROM clause.");
            return Err(self.text.error_at(error, at));
        };
        let field = &fields[place];
        Ok(sort_key(Expr::column(place, field.data_type, field.modifier), key))
    }

    /// Returns the column that a number in ORDER BY or GROUP BY denotes.
    pub(super) fn ordinal(&mut self, value: &Value, width: usize, clause: &str, at: Location) -> Result<Option<usize>> {
        let error = match value {
            Value::Parameter(_) => return Ok(None),
            Value::Number(digits) => match digits.parse::<i32>() {
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
        Err(self.text.error_at(error, at))
    }

    /// LIMIT, OFFSET, FETCH.
    pub(super) fn limited(&mut self, input: Plan, tail: TrailingClauses<'_>, keys: &[SortKey]) -> Result<Plan> {
        if !tail.bounds() {
            return Ok(input);
        }
        let limit = match tail.limit {
            Some(Limit::Count(count) | Limit::Fetch { count: Some(count), .. }) => {
                Some(self.row_count(count, Clause::Limit)?)
            }
            Some(Limit::Fetch { count: None, .. }) => Some(Expr::constant(Datum::Int8(1), Type::INT8)),
            None => None,
        };
        let offset = tail.offset.map(|offset| self.row_count(offset, Clause::Offset)).transpose()?;
        let ties = matches!(tail.limit, Some(Limit::Fetch { with_ties: true, .. }));
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
                return Err(binder.text.error_at(SqlError::new(state::DATATYPE_MISMATCH, message), at));
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
