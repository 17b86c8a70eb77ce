//! Calls of aggregates.

use super::Binder;
use super::clause::Clause;
use super::coerce::LocatedExpr;
use super::function::{has_star, plain_arguments};
use super::name;
use super::position::start;
use super::walk::refers_inwards_outwards;
use crate::error::{Result, SqlError, state};
use crate::functions::{ResolvedAggregate, is_ordered_set, json_agg_of_rows, resolve_aggregate};
use crate::plan::{AggregateCall, Expr, SortKey, equal};
use crate::types::Type;
use syntax::ast::{Expr as Syntax, Function, Location, OrderByExpr};

impl Binder<'_, '_> {
    /// An aggregate over the groups of the row at hand.
    pub(super) fn aggregate_call(&mut self, function: &Function, name: &str) -> Result<Expr> {
        let at = name::location(&function.name);
        self.allow_aggregate(at)?;
        let mut call = self.in_clause(Clause::Aggregate, |binder| binder.aggregate_parts(function, name, at))?;
        call.filter = self.filter(function)?;
        self.check_level(&mut call, at)?;
        let result = call.aggregate.result;
        let column = self.scope.frame().calls.aggregate(call);
        Ok(Self::call_column(column, result))
    }

    /// FILTER (WHERE ...)
    pub(super) fn filter(&mut self, function: &Function) -> Result<Option<Expr>> {
        let Some(filter) = &function.filter else { return Ok(None) };
        self.in_clause(Clause::Filter, |binder| binder.condition(filter, "FILTER")).map(Some)
    }

    fn aggregate_parts(&mut self, function: &Function, name: &str, at: Location) -> Result<AggregateCall> {
        let arguments = self.arguments(function)?;
        let arguments = self.printed_arguments(name, arguments)?;
        if function.distinct {
            arguments.iter().try_for_each(|(argument, at)| self.check_comparable(argument, *at))?;
        }
        let values: Vec<Expr> = arguments.iter().map(|(argument, _)| argument.clone()).collect();
        let (arguments, has_rows) = self.values_as_json(name, arguments)?;
        let syntax = plain_arguments(function).unwrap_or_default();
        if !function.within_group.is_empty() {
            return self.ordered_set(function, name, arguments, at);
        }
        if is_ordered_set(name) {
            let message = format!("WITHIN GROUP is required for ordered-set aggregate {name}");
            return Err(self.text.error_at(SqlError::new(state::WRONG_OBJECT_TYPE, message), at));
        }
        let aggregate = match name {
            "json_agg" if has_rows => json_agg_of_rows(),
            _ => self.resolve(function, name, &arguments, at)?,
        };
        let arguments = self.aggregate_arguments(&aggregate, arguments)?;
        let mut order = self.argument_order(function, &syntax, &values, &arguments)?;
        if function.distinct {
            let is_value = |key: &SortKey| arguments.iter().chain(&values).any(|value| equal(value, &key.expression));
            let other = order.iter().position(|key| !is_value(key)).and_then(|at| function.order_by.get(at));
            if let Some(key) = other {
                let message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
                let error = SqlError::new(state::INVALID_COLUMN_REFERENCE, message);
                return Err(self.text.error_at(error, start(&key.expr)));
            }
            // What was made JSON has no equality: its value is compared as a key of the order.
            let made = values.iter().zip(&arguments).filter(|(value, argument)| is_made_json(value, argument));
            for (value, _) in made {
                if !order.iter().any(|key| equal(&key.expression, value)) {
                    order.push(SortKey { expression: value.clone(), descending: false, nulls_first: false });
                }
            }
        }
        Ok(AggregateCall { aggregate, arguments, distinct: function.distinct, filter: None, order, grouping: None })
    }

    /// Finds the aggregate for these arguments.
    pub(super) fn resolve(
        &mut self,
        function: &Function,
        name: &str,
        arguments: &[LocatedExpr],
        at: Location,
    ) -> Result<ResolvedAggregate> {
        let types: Vec<Type> = arguments.iter().map(|(argument, _)| argument.data_type).collect();
        let error = match resolve_aggregate(name, &types) {
            Ok(Some(aggregate)) if types.is_empty() && !has_star(function) => {
                let message =
                    format!("{}(*) must be used to call a parameterless aggregate function", aggregate.aggregate.name);
                SqlError::new(state::WRONG_OBJECT_TYPE, message)
            }
            Ok(Some(aggregate)) => return Ok(aggregate),
            Ok(None) => SqlError::new(state::UNDEFINED_FUNCTION, format!("function {name} does not exist")),
            Err(error) => error,
        };
        Err(self.text.error_at(error, at))
    }

    /// Converts the arguments to the aggregate's types.
    pub(super) fn aggregate_arguments(
        &mut self,
        aggregate: &ResolvedAggregate,
        arguments: Vec<LocatedExpr>,
    ) -> Result<Vec<Expr>> {
        let convert = |(place, (argument, at)): (usize, LocatedExpr)| match aggregate.arguments.get(place) {
            Some(wanted) if *wanted != Type::VOID && *wanted != Type::UNKNOWN => self.implicit(argument, *wanted, at),
            _ => self.known(argument),
        };
        arguments.into_iter().enumerate().map(convert).collect()
    }

    /// `percentile_cont(0.5) WITHIN GROUP (ORDER BY x)`: the ordering columns are arguments too.
    fn ordered_set(
        &mut self,
        function: &Function,
        name: &str,
        direct: Vec<LocatedExpr>,
        at: Location,
    ) -> Result<AggregateCall> {
        if !is_ordered_set(name) {
            let message = format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP");
            return Err(self.text.error_at(SqlError::new(state::WRONG_OBJECT_TYPE, message), at));
        }
        let ordered = self.all_placed(function.within_group.iter().map(|key| &key.expr))?;
        let direct_count = direct.len();
        let all: Vec<LocatedExpr> = direct.into_iter().chain(ordered).collect();
        let types: Vec<Type> = all.iter().map(|(argument, _)| argument.data_type).collect();
        let found = resolve_aggregate(name, &types).map_err(|error| self.text.error_at(error, at))?;
        let Some(aggregate) = found else {
            let error = SqlError::new(state::UNDEFINED_FUNCTION, format!("function {name} does not exist"));
            return Err(self.text.error_at(error, at));
        };
        let arguments = self.aggregate_arguments(&aggregate, all)?;
        let ordered = arguments[direct_count..].iter().cloned();
        let order = ordered.zip(&function.within_group).map(|(key, syntax)| sort_key(key, syntax)).collect();
        Ok(AggregateCall { aggregate, arguments, distinct: false, filter: None, order, grouping: None })
    }

    /// ORDER BY inside the call. A key that is an argument is the converted argument, unless that is JSON made of it.
    fn argument_order(
        &mut self,
        function: &Function,
        syntax: &[&Syntax],
        values: &[Expr],
        arguments: &[Expr],
    ) -> Result<Vec<SortKey>> {
        let mut keys = Vec::with_capacity(function.order_by.len());
        for key in &function.order_by {
            let argument = syntax.iter().position(|argument| **argument == key.expr);
            let expression = match argument {
                Some(place) if !is_made_json(&values[place], &arguments[place]) => arguments[place].clone(),
                _ => {
                    let bound = self.expression(&key.expr)?;
                    self.known(bound)?
                }
            };
            keys.push(sort_key(expression, key));
        }
        Ok(keys)
    }

    /// Checks the query level of an aggregate: it belongs to the query whose columns its arguments use. Arguments with columns
    /// of enclosing queries only would place it in an enclosing query.
    fn check_level(&mut self, call: &mut AggregateCall, at: Location) -> Result<()> {
        let (mut inwards, mut outwards) = (false, false);
        let keys = call.order.iter_mut().map(|key| &mut key.expression);
        for part in call.arguments.iter_mut().chain(keys).chain(&mut call.filter) {
            let found = refers_inwards_outwards(part);
            inwards |= found.0;
            outwards |= found.1;
        }
        if outwards && !inwards {
            let error = SqlError::unsupported("an aggregate in a subquery of an outer query's columns only");
            return Err(self.text.error_at(error, at));
        }
        Ok(())
    }

    /// `GROUPING(a, b)`
    pub(super) fn grouping_call(&mut self, function: &Function, at: Location) -> Result<Expr> {
        let allowed = self.scope.frame().clause.allow_aggregate();
        if allowed.is_err() {
            let message = "grouping operations are not allowed here";
            return Err(self.text.error_at(SqlError::new(state::GROUPING_ERROR, message), at));
        }
        let arguments = self.in_clause(Clause::Aggregate, |binder| binder.arguments(function))?;
        let arguments = arguments.into_iter().map(|(argument, _)| argument).collect();
        let Some(aggregate) = resolve_aggregate("count", &[])? else {
            return Err(SqlError::new(state::INTERNAL_ERROR, "the aggregate count does not exist"));
        };
        let call = AggregateCall {
            aggregate: ResolvedAggregate { result: Type::INT4, ..aggregate },
            arguments,
            distinct: false,
            filter: None,
            order: vec![],
            grouping: Some(vec![]),
        };
        let column = self.scope.frame().calls.aggregate(call);
        Ok(Self::call_column(column, Type::INT4))
    }

    /// Sort keys of an ORDER BY without ordinals and aliases (of aggregates and windows).
    pub(super) fn plain_sort_keys(&mut self, order: &[OrderByExpr]) -> Result<Vec<SortKey>> {
        let mut keys = Vec::with_capacity(order.len());
        for key in order {
            let bound = self.expression(&key.expr)?;
            let bound = self.known(bound)?;
            self.check_sortable(&bound, start(&key.expr))?;
            keys.push(sort_key(bound, key));
        }
        Ok(keys)
    }

    /// # Errors
    /// 42883 for a type without equality.
    pub(super) fn check_comparable(&self, expression: &Expr, at: Location) -> Result<()> {
        if expression.data_type == Type::JSON {
            return Err(self.text.error_at(without_equality(), at));
        }
        Ok(())
    }

    /// # Errors
    /// 42883 for a type without an order.
    pub(super) fn check_sortable(&self, expression: &Expr, at: Location) -> Result<()> {
        if expression.data_type == Type::JSON {
            let message = "could not identify an ordering operator for type json";
            let error = SqlError::new(state::UNDEFINED_FUNCTION, message)
                .hint("Use an explicit ordering operator or modify the query.");
            return Err(self.text.error_at(error, at));
        }
        Ok(())
    }
}

/// json has no equality.
pub(super) fn without_equality() -> SqlError {
    SqlError::new(state::UNDEFINED_FUNCTION, "could not identify an equality operator for type json")
}

/// Returns whether an argument of an aggregate is JSON that was made of a value.
fn is_made_json(value: &Expr, argument: &Expr) -> bool {
    let is_json = [Type::JSON, Type::JSONB].contains(&argument.data_type);
    is_json && ![argument.data_type, Type::UNKNOWN].contains(&value.data_type)
}

/// Returns the sort key of an ORDER BY element. NULLs sort as greater than everything unless it specifies otherwise.
pub(super) fn sort_key(expression: Expr, syntax: &OrderByExpr) -> SortKey {
    let descending = syntax.options.asc == Some(false);
    let nulls_first = syntax.options.nulls_first.unwrap_or(descending);
    SortKey { expression, descending, nulls_first }
}
