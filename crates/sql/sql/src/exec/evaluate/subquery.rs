//! Subqueries in expressions.
//!
//! An uncorrelated subquery runs once and its answer is kept; IN over it looks rows up by hash. A correlated one runs for each
//! row, and sees only the columns of the nearest row that it uses.

use super::super::key_table::KeyTable;
use super::super::scope::{Answer, CachedRows, PlanRows, Run, SubqueryState};
use super::array::array_of;
use super::compare::truth_of;
use super::{is_null, truth_value};
use crate::context::row_bytes;
use crate::error::{Result, SqlError, state};
use crate::functions::Resolved;
use crate::plan::{Expr, Plan, Subquery, SubqueryKind};
use crate::types::{Datum, Row, Type, compare_typed};
use pgtypes::memory::push;
use std::cmp::Ordering;
use std::sync::Arc;

impl Run<'_, '_> {
    pub(super) fn subquery(&mut self, expression: &Expr, subquery: &Subquery, row: &[Datum]) -> Result<Datum> {
        let address = Arc::as_ptr(&subquery.plan).addr();
        let state = self.scope.subqueries.entry(address).or_insert_with(|| SubqueryState::new(subquery));
        if state.correlated {
            let columns = state.columns.clone();
            let answer = self.run_subquery(expression, subquery, seen(row, &columns), Some(row))?;
            return self.conclude(subquery, &answer, row);
        }
        let (ctes, generations) = (state.ctes.clone(), state.generations.clone());
        let answer = state.answer.clone();
        let current: Vec<u64> =
            ctes.iter().filter_map(|number| self.scope.ctes.get(number)).map(|cte| cte.generation).collect();
        let answer = match answer {
            Some(answer) if generations == current => answer,
            _ => {
                let answer = Arc::new(self.run_subquery(expression, subquery, Row::new(), None)?);
                if let Some(state) = self.scope.subqueries.get_mut(&address) {
                    state.answer = Some(answer.clone());
                    state.generations = current;
                }
                answer
            }
        };
        self.conclude(subquery, &answer, row)
    }

    /// Runs a subquery; `outer` becomes its nearest enclosing row. With `row`, IN and the like are decided while the rows
    /// arrive.
    fn run_subquery(
        &mut self,
        expression: &Expr,
        subquery: &Subquery,
        outer: Row,
        row: Option<&[Datum]>,
    ) -> Result<Answer> {
        let before = self.exec.memory.used();
        let left = match (&subquery.kind, row) {
            (SubqueryKind::Quantified { left, .. }, Some(row)) => self.evaluate_all(left, row)?,
            _ => Row::new(),
        };
        self.started(&subquery.plan);
        let node = self.start(&subquery.plan);
        let (answer, _) = self.inside(outer, |run| match &subquery.kind {
            SubqueryKind::Scalar => run.scalar(node, &subquery.plan).map(Answer::Value),
            SubqueryKind::Exists => run.exists(node, &subquery.plan).map(Answer::Value),
            SubqueryKind::Array => run.array_of_rows(expression, node, &subquery.plan).map(Answer::Value),
            SubqueryKind::Quantified { operators, all, .. } if row.is_some() => {
                run.quantified_rows(node, &subquery.plan, operators, *all, &left).map(Answer::Value)
            }
            SubqueryKind::Quantified { left, equality, .. } => {
                run.collect(node, &subquery.plan, equality.then_some(left)).map(Answer::Rows)
            }
        });
        // The memory of the operators is free again; kept rows were counted and stay counted.
        let kept = match &answer {
            Ok(Answer::Rows(rows)) => rows.bytes(),
            _ => 0,
        };
        self.exec.memory.back_to(before + kept);
        answer
    }

    /// Computes the expression's value from the subquery's answer.
    fn conclude(&mut self, subquery: &Subquery, answer: &Answer, row: &[Datum]) -> Result<Datum> {
        match (answer, &subquery.kind) {
            (Answer::Rows(rows), SubqueryKind::Quantified { left, operators, all, .. }) => {
                let left = self.evaluate_all(left, row)?;
                Ok(truth_value(self.look_up(rows, operators, *all, &left)?))
            }
            (Answer::Value(value), _) => Ok(value.clone()),
            (Answer::Rows(_), _) => Ok(Datum::Null),
        }
    }

    fn scalar(&mut self, mut node: Box<dyn PlanRows>, plan: &Plan) -> Result<Datum> {
        let Some(row) = node.next(plan, self)? else { return Ok(Datum::Null) };
        if node.next(plan, self)?.is_some() {
            return Err(SqlError::new(
                state::CARDINALITY_VIOLATION,
                "more than one row returned by a subquery used as an expression",
            ));
        }
        Ok(row.into_iter().next().unwrap_or_default())
    }

    fn exists(&mut self, mut node: Box<dyn PlanRows>, plan: &Plan) -> Result<Datum> {
        Ok(Datum::Bool(node.next(plan, self)?.is_some()))
    }

    fn array_of_rows(&mut self, expression: &Expr, mut node: Box<dyn PlanRows>, plan: &Plan) -> Result<Datum> {
        let mut elements = Vec::new();
        while let Some(row) = node.next(plan, self)? {
            self.hold(row_bytes(&row), "a subquery")?;
            elements.extend(row.into_iter().next());
        }
        Ok(array_of(expression, elements))
    }

    fn quantified_rows(
        &mut self,
        mut node: Box<dyn PlanRows>,
        plan: &Plan,
        operators: &[Resolved],
        all: bool,
        left: &[Datum],
    ) -> Result<Datum> {
        let mut known = true;
        while let Some(row) = node.next(plan, self)? {
            match self.compare_rows(operators, left, &row)? {
                Some(truth) if truth != all => return Ok(Datum::Bool(truth)),
                Some(_) => {}
                None => known = false,
            }
        }
        Ok(truth_value(known.then_some(all)))
    }

    fn collect(&mut self, mut node: Box<dyn PlanRows>, plan: &Plan, left: Option<&Vec<Expr>>) -> Result<CachedRows> {
        let hashed = left.map(|left| KeyTable::new(left.iter().map(|expression| expression.data_type).collect()));
        let mut rows = CachedRows { rows: Vec::new(), hashed };
        while let Some(row) = node.next(plan, self)? {
            self.hold(row_bytes(&row), "a subquery")?;
            match &mut rows.hashed {
                Some(hashed) if !row.iter().any(is_null) => {
                    hashed.insert(row)?;
                }
                _ => push(&mut rows.rows, row)?,
            }
        }
        Ok(rows)
    }

    fn look_up(
        &mut self,
        rows: &CachedRows,
        operators: &[Resolved],
        all: bool,
        left: &[Datum],
    ) -> Result<Option<bool>> {
        let mut known = true;
        let mut others: Box<dyn Iterator<Item = &[Datum]>> = Box::new(rows.rows.iter().map(Vec::as_slice));
        if let Some(hashed) = &rows.hashed {
            if left.iter().any(is_null) || all {
                others = Box::new(others.chain((0..hashed.len()).map(|number| hashed.key(number))));
            } else if hashed.find(left).is_some() {
                return Ok(Some(true));
            }
        }
        for row in others {
            match self.compare_rows(operators, left, row)? {
                Some(truth) if truth != all => return Ok(Some(truth)),
                Some(_) => {}
                None => known = false,
            }
        }
        Ok(known.then_some(all))
    }

    /// Compares rows column by column. All columns must be equal, or for `<>` any must differ; for `<`, `<=`, `>` and `>=` the
    /// first columns that differ decide.
    fn compare_rows(&mut self, operators: &[Resolved], left: &[Datum], right: &[Datum]) -> Result<Option<bool>> {
        if let [first, _, ..] = operators
            && let Some(order) = Order::of(first.function.name)
        {
            return Ok(order.holds(operators, left, right));
        }
        let decisive = operators.iter().all(|operator| operator.function.name == "<>");
        let mut known = true;
        for (operator, (left, right)) in operators.iter().zip(left.iter().zip(right)) {
            match truth_of(self.call(operator, &[left.clone(), right.clone()])?)? {
                Some(truth) if truth == decisive => return Ok(Some(decisive)),
                Some(_) => {}
                None => known = false,
            }
        }
        Ok(known.then_some(!decisive))
    }
}

/// Row comparison by `<`, `<=`, `>` or `>=`.
struct Order {
    wanted: Ordering,
    /// Whether equal rows satisfy the comparison.
    or_equal: bool,
}

impl Order {
    fn of(operator: &str) -> Option<Order> {
        let (wanted, or_equal) = match operator {
            "<" => (Ordering::Less, false),
            "<=" => (Ordering::Less, true),
            ">" => (Ordering::Greater, false),
            ">=" => (Ordering::Greater, true),
            _ => return None,
        };
        Some(Order { wanted, or_equal })
    }

    /// Unknown if a NULL is at or before the first difference.
    fn holds(&self, operators: &[Resolved], left: &[Datum], right: &[Datum]) -> Option<bool> {
        for (operator, (left, right)) in operators.iter().zip(left.iter().zip(right)) {
            if is_null(left) || is_null(right) {
                return None;
            }
            let data_type = operator.arguments.first().copied().unwrap_or(Type::TEXT);
            match compare_typed(data_type, left, right) {
                Ordering::Equal => {}
                found => return Some(found == self.wanted),
            }
        }
        Some(self.or_equal)
    }
}

/// The columns of a row that a subquery uses.
fn seen(row: &[Datum], columns: &[usize]) -> Row {
    let mut out = vec![Datum::Null; columns.last().map_or(0, |last| last + 1)];
    for &column in columns {
        if let (Some(out), Some(value)) = (out.get_mut(column), row.get(column)) {
            *out = value.clone();
        }
    }
    out
}
