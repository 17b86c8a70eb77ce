//! Subqueries in expressions.

use super::operator::{comparison, is_row, negate, symbol};
use crate::bind::Binder;
use crate::bind::coerce::LocatedExpr;
use crate::bind::position::start;
use crate::bind::query::Bound;
use crate::bind::target::UnknownLiterals;
use crate::bind::walk::{is_correlated, outwards};
use crate::error::{Result, SqlError, state};
use crate::functions::{Resolved, comparison_function, comparison_type_by, resolve_operator};
use crate::plan::{Comparison, Expr, Plan, Subquery, SubqueryKind};
use crate::types::Type;
use std::sync::Arc;
use syntax::ast::{Expr as Syntax, Location, Operator, Query};

impl Binder<'_, '_> {
    /// Binds a query below the current row.
    pub(in crate::bind) fn subquery(&mut self, query: &Query) -> Result<Bound> {
        self.refuse_in_definition("subquery")?;
        self.behind(Some("a subquery"), |binder| binder.query(query, UnknownLiterals::Text))
    }

    /// `(SELECT value)`
    pub(super) fn scalar_subquery(&mut self, query: &Query) -> Result<Expr> {
        let bound = self.subquery(query)?;
        let [field] = bound.fields.as_slice() else {
            let error = SqlError::new(state::SYNTAX_ERROR, "subquery must return only one column");
            return Err(self.text.error_at(error, query_start(query)));
        };
        let (data_type, modifier) = (field.data_type, field.modifier);
        Ok(Expr { data_type, modifier, ..subquery_expression(SubqueryKind::Scalar, bound.plan) })
    }

    /// EXISTS
    pub(super) fn exists(&mut self, query: &Query) -> Result<Expr> {
        let bound = self.subquery(query)?;
        Ok(subquery_expression(SubqueryKind::Exists, bound.plan))
    }

    /// ARRAY(SELECT ...)
    pub(super) fn array_subquery(&mut self, query: &Query) -> Result<Expr> {
        let bound = self.subquery(query)?;
        let [field] = bound.fields.as_slice() else {
            let error = SqlError::new(state::SYNTAX_ERROR, "subquery must return only one column");
            return Err(self.text.error_at(error, query_start(query)));
        };
        let element = field.data_type;
        let Some(data_type) = (if element.is_array { Some(element) } else { element.to_array() }) else {
            let message = format!("could not find array type for data type {}", element.name());
            return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
        };
        Ok(Expr { data_type, ..subquery_expression(SubqueryKind::Array, bound.plan) })
    }

    /// `left IN (SELECT ...)`
    pub(super) fn in_subquery(&mut self, left: &Syntax, query: &Query, negated: bool) -> Result<Expr> {
        let found = self.quantified_subquery(left, &Operator::of("="), query, false)?;
        Ok(if negated { negate(found) } else { found })
    }

    /// `left op ANY (SELECT ...)` and ALL
    pub(super) fn quantified_subquery(
        &mut self,
        left: &Syntax,
        op: &Operator,
        query: &Query,
        all: bool,
    ) -> Result<Expr> {
        let values: Vec<LocatedExpr> = match self.row_fields(left)? {
            Some(fields) if is_row(left) => fields.into_iter().map(|field| (field, start(left))).collect(),
            _ => vec![self.placed(left)?],
        };
        let bound = self.subquery(query)?;
        self.check_width(values.len(), bound.fields.len(), left)?;
        let symbol = symbol(op)?;
        if let (Some(Comparison::NotEqual), 2..) = (comparison(op), values.len()) {
            // Rows differ if any field does: the opposite quantifier of equality.
            let equal = self.quantify(values, &Operator::of("="), "=", bound, !all, left)?;
            return Ok(negate(equal));
        }
        self.quantify(values, op, symbol, bound, all, left)
    }

    fn quantify(
        &mut self,
        values: Vec<LocatedExpr>,
        op: &Operator,
        symbol: &str,
        bound: Bound,
        all: bool,
        left_syntax: &Syntax,
    ) -> Result<Expr> {
        let mut left = Vec::with_capacity(values.len());
        let mut operators: Vec<Resolved> = Vec::with_capacity(values.len());
        for ((value, at), field) in values.into_iter().zip(&bound.fields) {
            let operator = match comparison(op) {
                Some(comparison) => comparison_type_by(symbol, value.data_type, field.data_type)
                    .map(|common| comparison_function(comparison, common)),
                None => resolve_operator(symbol, Some(value.data_type), field.data_type),
            };
            let operator = operator.map_err(|error| self.text.error_at_operator(error, left_syntax, symbol))?;
            left.push(self.implicit(value, operator.arguments[0], at)?);
            operators.push(operator);
        }
        let wanted: Vec<Type> = operators.iter().map(|operator| operator.arguments[1]).collect();
        let plan = self.convert_columns(bound, &wanted)?.plan;
        let equality = comparison(op) == Some(Comparison::Equal);
        Ok(subquery_expression(SubqueryKind::Quantified { left, operators, equality, all }, plan))
    }

    /// `(a, b) = (SELECT x, y)`
    pub(super) fn compare_row_with_query(
        &mut self,
        left: &Syntax,
        comparison: Comparison,
        query: &Query,
    ) -> Result<Expr> {
        let Some(fields) = self.row_fields(left)? else {
            return Err(SqlError::unsupported("this comparison with a subquery"));
        };
        let bound = self.subquery(query)?;
        self.check_width(fields.len(), bound.fields.len(), left)?;
        let column = |(at, field): (usize, &crate::plan::Field)| Expr::column(at, field.data_type, field.modifier);
        let columns = bound.fields.iter().enumerate().map(column).collect();
        // The row is compared inside the query, where both rows are available. Field by field, though their types are the same: as
        // records, NULLs would be equal.
        let fields = fields.iter().map(|field| outwards(field, 1)).collect();
        let (left, right) = (Expr::row(fields, &[]), Expr::row(columns, &[]));
        let test = self.compare_bound_rows(left, comparison, right)?;
        let plan = Plan::Project { input: Box::new(bound.plan), columns: vec![test] };
        Ok(subquery_expression(SubqueryKind::Scalar, plan))
    }

    fn check_width(&self, have: usize, found: usize, left: &Syntax) -> Result<()> {
        let message = match found.cmp(&have) {
            std::cmp::Ordering::Equal => return Ok(()),
            std::cmp::Ordering::Less => "subquery has too few columns",
            std::cmp::Ordering::Greater => "subquery has too many columns",
        };
        Err(self.text.error_at_operator(SqlError::new(state::SYNTAX_ERROR, message), left, "in"))
    }
}

/// Makes a scalar subquery that returns its row as one record.
pub(in crate::bind) fn row_subquery(bound: Bound) -> Expr {
    let columns = bound.fields.iter().enumerate();
    let columns = columns.map(|(at, field)| Expr::column(at, field.data_type, field.modifier)).collect();
    let names: Vec<String> = bound.fields.iter().map(|field| field.name.clone()).collect();
    let row = Expr::row(columns, &names);
    let plan = Plan::Project { input: Box::new(bound.plan), columns: vec![row] };
    Expr { data_type: Type::RECORD, ..subquery_expression(SubqueryKind::Scalar, plan) }
}

pub(super) fn subquery_expression(kind: SubqueryKind, plan: Plan) -> Expr {
    let correlated = is_correlated(&plan);
    Expr::from(Subquery { kind, plan: Arc::new(plan), correlated })
}

/// Returns the location at which a query starts.
pub(in crate::bind) fn query_start(query: &Query) -> Location {
    query.start()
}
