//! Tests: IS, IN, BETWEEN.

use super::operator::{is_row, negate};
use crate::bind::Binder;
use crate::bind::coerce::LocatedExpr;
use crate::bind::found::row_if_found;
use crate::bind::position::start;
use crate::bind::record::field_of;
use crate::error::{Result, SqlError};
use crate::functions::{common_type, comparison_type};
use crate::plan::{Comparison, Expr, ExprKind};
use crate::types::{Datum, Modifier, Type};
use syntax::ast::Expr as Syntax;

impl Binder<'_, '_> {
    /// Binds an expression that tests something.
    pub(super) fn test(&mut self, syntax: &Syntax) -> Result<Expr> {
        match syntax {
            Syntax::IsNull { expr, negated: false } => self.is_null(expr),
            Syntax::IsNull { expr, negated: true } => self.is_not_null(expr),
            Syntax::IsTruth { expr, truth, negated } => self.is_truth(expr, *truth, *negated),
            Syntax::IsDistinct { left, right, negated } => self.is_distinct(left, right, *negated),
            Syntax::InList { expr, list, negated } => {
                let found = self.in_list(expr, list)?;
                Ok(if *negated { negate(found) } else { found })
            }
            Syntax::Between { expr, low, high, symmetric, negated } => {
                let between = self.between(expr, low, high, *symmetric)?;
                Ok(if *negated { negate(between) } else { between })
            }
            other => {
                Err(self.text.error_at(SqlError::unsupported(format_args!("the expression {other}")), start(other)))
            }
        }
    }

    fn is_null(&mut self, operand: &Syntax) -> Result<Expr> {
        let operand = self.expression(operand)?;
        Ok(Expr::new(ExprKind::IsNull(Box::new(operand)), Type::BOOL))
    }

    /// IS NOT NULL. For a row: all fields are not NULL, which is not the opposite of IS NULL.
    fn is_not_null(&mut self, operand: &Syntax) -> Result<Expr> {
        let operand = self.expression(operand)?;
        let not_null = |operand| negate(Expr::new(ExprKind::IsNull(Box::new(operand)), Type::BOOL));
        match operand.kind {
            ExprKind::Row(fields, _) => {
                Ok(Expr::new(ExprKind::And(fields.into_iter().map(not_null).collect()), Type::BOOL))
            }
            _ if operand.data_type.composite().is_some() || row_if_found(&operand.kind).is_some() => {
                let shape = self.records.of(&operand).unwrap_or_default();
                let null = |data_type| Expr::constant(Datum::Null, data_type);
                // A field that is a row is not NULL, whatever its own fields are.
                let test = |(at, field): (usize, &(String, Type, Modifier))| {
                    let same = ExprKind::IsSame(Box::new(field_of(&operand, at, field)), Box::new(null(field.1)));
                    negate(Expr::new(same, Type::BOOL))
                };
                Ok(Expr::new(ExprKind::And(shape.iter().enumerate().map(test).collect()), Type::BOOL))
            }
            _ => Ok(not_null(operand)),
        }
    }

    fn is_truth(&mut self, operand: &Syntax, truth: Option<bool>, negated: bool) -> Result<Expr> {
        let construct = match (truth, negated) {
            (Some(true), false) => "IS TRUE",
            (Some(true), true) => "IS NOT TRUE",
            (Some(false), false) => "IS FALSE",
            (Some(false), true) => "IS NOT FALSE",
            (None, false) => "IS UNKNOWN",
            (None, true) => "IS NOT UNKNOWN",
        };
        let operand = self.condition(operand, construct)?;
        let test = Expr::new(ExprKind::IsTruth(Box::new(operand), truth), Type::BOOL);
        Ok(if negated { negate(test) } else { test })
    }

    /// IS [NOT] DISTINCT FROM
    fn is_distinct(&mut self, left: &Syntax, right: &Syntax, negated: bool) -> Result<Expr> {
        let (left, right) = (self.placed(left)?, self.placed(right)?);
        let same = self.same_values(left, right)?;
        Ok(if negated { same } else { negate(same) })
    }

    fn same_values(&mut self, left: LocatedExpr, right: LocatedExpr) -> Result<Expr> {
        if left.0.data_type == Type::UNKNOWN && right.0.data_type == Type::UNKNOWN {
            let (left, right) = (self.known(left.0)?, self.known(right.0)?);
            return Ok(Expr::new(ExprKind::IsSame(Box::new(left), Box::new(right)), Type::BOOL));
        }
        if let (ExprKind::Row(..), ExprKind::Row(..)) = (&left.0.kind, &right.0.kind) {
            let pairs = self.pairs(left.0, right.0)?;
            let mut tests = Vec::with_capacity(pairs.len());
            for (left, right) in pairs {
                tests.push(self.same_values((left, start_unknown()), (right, start_unknown()))?);
            }
            return Ok(Expr::new(ExprKind::And(tests), Type::BOOL));
        }
        let (left, right) = self.comparable(left, "=", right)?;
        Ok(Expr::new(ExprKind::IsSame(Box::new(left), Box::new(right)), Type::BOOL))
    }

    /// `value IN (a, b, c)`
    fn in_list(&mut self, value: &Syntax, list: &[Syntax]) -> Result<Expr> {
        if is_row(value) {
            let tests: Result<_> =
                list.iter().map(|element| self.compare_rows(value, Comparison::Equal, element)).collect();
            return Ok(Expr::new(ExprKind::Or(tests?), Type::BOOL));
        }
        let value_at = start(value);
        let value = self.expression(value)?;
        let list = self.all_placed(list)?;
        let types: Vec<Type> =
            std::iter::once(&value).chain(list.iter().map(|(element, _)| element)).map(|each| each.data_type).collect();
        let common = common_type(&types).and_then(|common| comparison_type(common, common).ok());
        let fits = |common: &Type| types.iter().all(|each| is_implicit(*each, *common));
        match common.filter(fits) {
            Some(common) => {
                let value = self.implicit(value, common, value_at)?;
                let list: Result<_> =
                    list.into_iter().map(|(element, at)| self.implicit(element, common, at)).collect();
                Ok(Expr::new(ExprKind::InList(Box::new(value), list?), Type::BOOL))
            }
            None => {
                let mut tests = Vec::with_capacity(list.len());
                for element in list {
                    let at = element.1;
                    let test = self.compare((value.clone(), value_at), Comparison::Equal, "=", element);
                    tests.push(test.map_err(|error| self.text.error_at(error, at))?);
                }
                Ok(Expr::new(ExprKind::Or(tests), Type::BOOL))
            }
        }
    }

    /// `value BETWEEN low AND high`; SYMMETRIC also accepts swapped bounds. As in PostgreSQL, each comparison evaluates the
    /// value again.
    fn between(&mut self, value: &Syntax, low: &Syntax, high: &Syntax, symmetric: bool) -> Result<Expr> {
        let (syntax, value) = (value, self.placed(value)?);
        let (low, high) = (self.placed(low)?, self.placed(high)?);
        let mut between = self.within_bounds(syntax, value.clone(), low.clone(), high.clone())?;
        if symmetric {
            let reversed = self.within_bounds(syntax, value, high, low)?;
            between = Expr::new(ExprKind::Or(vec![between, reversed]), Type::BOOL);
        }
        Ok(between)
    }

    fn within_bounds(
        &mut self,
        syntax: &Syntax,
        value: LocatedExpr,
        low: LocatedExpr,
        high: LocatedExpr,
    ) -> Result<Expr> {
        let at_operator = |binder: &Self, error| binder.text.error_at_operator(error, syntax, "between");
        let above = self.compare(value.clone(), Comparison::GreaterOrEqual, ">=", low);
        let above = above.map_err(|error| at_operator(self, error))?;
        let below = self.compare(value, Comparison::LessOrEqual, "<=", high);
        let below = below.map_err(|error| at_operator(self, error))?;
        Ok(Expr::new(ExprKind::And(vec![above, below]), Type::BOOL))
    }
}

fn is_implicit(from: Type, to: Type) -> bool {
    use crate::types::{CastContext, cast};
    from == Type::UNKNOWN || cast::context(from, to) == Some(CastContext::Implicit)
}

fn start_unknown() -> syntax::ast::Location {
    crate::bind::position::NOWHERE
}
