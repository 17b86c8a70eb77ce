//! CASE, COALESCE, NULLIF, GREATEST, LEAST.

use super::single_evaluation::SingleEvaluation;
use crate::bind::Binder;
use crate::bind::position::start;
use crate::error::Result;
use crate::plan::{Comparison, Expr, ExprKind};
use crate::types::Type;
use syntax::ast::{Case, Expr as Syntax, Location};

impl Binder<'_, '_> {
    /// CASE. The simple form is bound to comparisons.
    pub(super) fn case(&mut self, case: &Case) -> Result<Expr> {
        let (once, operand) = match &case.operand {
            Some(operand) => {
                let at = start(operand);
                let bound = self.expression(operand)?;
                let (once, operand) = SingleEvaluation::new(self.known(bound)?);
                (Some(once), Some((operand, at)))
            }
            None => (None, None),
        };
        let beside = |part: Expr| match &once {
            Some(once) => once.beside(part),
            None => part,
        };
        let mut tests = Vec::with_capacity(case.branches.len());
        let mut results = Vec::with_capacity(case.branches.len() + 1);
        for when in &case.branches {
            tests.push(match &operand {
                None => self.condition(&when.condition, "CASE/WHEN")?,
                Some(operand) => {
                    let (value, at) = self.placed(&when.condition)?;
                    let value = (beside(value), at);
                    let test = self.compare(operand.clone(), Comparison::Equal, "=", value);
                    test.map_err(|error| self.text.error_at(error, at))?
                }
            });
            results.push(self.placed(&when.result)?);
        }
        // The type of ELSE is considered first.
        let has_otherwise = case.otherwise.is_some();
        if let Some(otherwise) = &case.otherwise {
            let otherwise = self.placed(otherwise)?;
            results.insert(0, otherwise);
        }
        let (results, data_type) = self.common_typed(results, "CASE")?;
        let mut results: Vec<Expr> = results.into_iter().map(beside).collect();
        let otherwise = has_otherwise.then(|| Box::new(results.remove(0)));
        let branches = tests.into_iter().zip(results).collect();
        let case = Expr::new(ExprKind::Case { branches, otherwise }, data_type);
        Ok(match once {
            Some(once) => once.around(case),
            None => case,
        })
    }

    /// COALESCE
    pub(in crate::bind) fn coalesce(&mut self, arguments: &[&Syntax]) -> Result<Expr> {
        let placed = self.all_placed(arguments.iter().copied())?;
        let (values, data_type) = self.common_typed(placed, "COALESCE")?;
        Ok(Expr::new(ExprKind::Coalesce(values), data_type))
    }

    /// GREATEST and LEAST
    pub(in crate::bind) fn extreme(&mut self, arguments: &[&Syntax], greatest: bool) -> Result<Expr> {
        let placed = self.all_placed(arguments.iter().copied())?;
        let (of, data_type) = self.common_typed(placed, if greatest { "GREATEST" } else { "LEAST" })?;
        Ok(Expr::new(ExprKind::Extreme { greatest, of }, data_type))
    }

    /// NULLIF. The result has the type of the first value.
    pub(in crate::bind) fn null_if(&mut self, left: &Syntax, right: &Syntax, at: Location) -> Result<Expr> {
        let (left, right) = (self.placed(left)?, self.placed(right)?);
        let own_type = left.0.data_type;
        let (left, right) = self.comparable(left, "=", right).map_err(|error| self.text.error_at(error, at))?;
        let data_type = left.data_type;
        let result = Expr::new(ExprKind::NullIf(Box::new(left), Box::new(right)), data_type);
        if own_type == Type::UNKNOWN || own_type == data_type {
            return Ok(result);
        }
        self.explicit_cast(result, own_type, crate::types::Modifier::NONE, at)
    }
}
