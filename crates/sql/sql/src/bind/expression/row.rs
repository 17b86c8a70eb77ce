//! Rows and their comparison.

use super::operator::negate;
use crate::bind::Binder;
use crate::bind::coerce::LocatedExpr;
use crate::bind::position::{NOWHERE, start};
use crate::error::{Result, SqlError, state};
use crate::plan::{Comparison, Expr, ExprKind};
use crate::types::Type;
use syntax::ast::Expr as Syntax;

impl Binder<'_, '_> {
    /// `ROW(a, b)`, `(a, b)`
    pub(in crate::bind) fn row(&mut self, fields: &[Syntax]) -> Result<Expr> {
        let fields: Result<_> = fields
            .iter()
            .map(|field| {
                let bound = self.expression(field)?;
                self.known(bound)
            })
            .collect();
        Ok(Expr::row(fields?, &[]))
    }

    /// Fields of an expression that is written as a row, their types still undecided; `None` for any other expression.
    pub(super) fn row_fields(&mut self, syntax: &Syntax) -> Result<Option<Vec<Expr>>> {
        let fields = self.placed_row_fields(syntax)?;
        Ok(fields.map(|fields| fields.into_iter().map(|(field, _)| field).collect()))
    }

    /// The same with their places.
    pub(super) fn placed_row_fields(&mut self, syntax: &Syntax) -> Result<Option<Vec<LocatedExpr>>> {
        match syntax {
            Syntax::Nested(inner) => self.placed_row_fields(inner),
            Syntax::Row { fields, .. } => self.all_placed(fields).map(Some),
            _ => Ok(None),
        }
    }

    /// `(a, b) = (c, d)`, `(a, b) < (c, d)`, `(a, b) = (SELECT ...)`
    pub(super) fn compare_rows(&mut self, left: &Syntax, comparison: Comparison, right: &Syntax) -> Result<Expr> {
        if let Syntax::Subquery(query) = right {
            return self.compare_row_with_query(left, comparison, query);
        }
        let left_at = start(left);
        let left = match self.row_fields(left)? {
            Some(fields) => Expr::row(fields, &[]),
            None => self.expression(left)?,
        };
        let right = match self.row_fields(right)? {
            Some(fields) => Expr::row(fields, &[]),
            None => self.expression(right)?,
        };
        match (&left.kind, &right.kind) {
            (ExprKind::Row(..), ExprKind::Row(..)) => {
                self.compare_bound_rows(left, comparison, right).map_err(|error| self.text.error_at(error, left_at))
            }
            _ => {
                let (left, right) = self.comparable((left, left_at), comparison.symbol(), (right, NOWHERE))?;
                Ok(Expr::new(ExprKind::Compare(comparison, Box::new(left), Box::new(right)), Type::BOOL))
            }
        }
    }

    /// The fields of two rows side by side.
    pub(super) fn pairs(&mut self, left: Expr, right: Expr) -> Result<Vec<(Expr, Expr)>> {
        let (ExprKind::Row(left, _), ExprKind::Row(right, _)) = (left.kind, right.kind) else { return Ok(vec![]) };
        if left.len() != right.len() {
            let message = "unequal number of entries in row expressions";
            return Err(SqlError::new(state::SYNTAX_ERROR, message));
        }
        if left.is_empty() {
            let message = "cannot compare rows of zero length";
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
        }
        Ok(left.into_iter().zip(right).collect())
    }

    /// Compares rows field by field; the first difference decides.
    pub(super) fn compare_bound_rows(&mut self, left: Expr, comparison: Comparison, right: Expr) -> Result<Expr> {
        let pairs = self.pairs(left, right)?;
        if let Comparison::Equal | Comparison::NotEqual = comparison {
            let equal: Result<_> =
                pairs.into_iter().map(|(left, right)| self.compare_fields(left, Comparison::Equal, right)).collect();
            let all = Expr::new(ExprKind::And(equal?), Type::BOOL);
            return Ok(if comparison == Comparison::Equal { all } else { negate(all) });
        }
        let strict = match comparison {
            Comparison::LessOrEqual => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::Greater,
            other => other,
        };
        let mut result: Option<Expr> = None;
        for (left, right) in pairs.into_iter().rev() {
            result = Some(match result {
                None => self.compare_fields(left, comparison, right)?,
                Some(rest) => {
                    let decides = self.compare_fields(left.clone(), strict, right.clone())?;
                    let equal = self.compare_fields(left, Comparison::Equal, right)?;
                    let rest = Expr::new(ExprKind::And(vec![equal, rest]), Type::BOOL);
                    Expr::new(ExprKind::Or(vec![decides, rest]), Type::BOOL)
                }
            });
        }
        result.ok_or_else(|| SqlError::new(state::FEATURE_NOT_SUPPORTED, "cannot compare rows of zero length"))
    }

    fn compare_fields(&mut self, left: Expr, comparison: Comparison, right: Expr) -> Result<Expr> {
        self.compare((left, NOWHERE), comparison, comparison.symbol(), (right, NOWHERE))
    }
}
