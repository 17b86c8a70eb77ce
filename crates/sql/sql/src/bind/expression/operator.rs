//! Operators.

use crate::bind::Binder;
use crate::bind::coerce::LocatedExpr;
use crate::bind::position::start;
use crate::error::{Result, SqlError, state};
use crate::functions::{comparison_type_by, resolve_operator, system_column};
use crate::plan::{Comparison, Expr, ExprKind};
use crate::types::Type;
use syntax::ast::{Expr as Syntax, Operator, Value};

impl Binder<'_, '_> {
    /// `left operator right`. Left-deep chains can be long, so they are bound in a loop.
    pub(super) fn infix(&mut self, syntax: &Syntax) -> Result<Expr> {
        let mut links = vec![];
        let mut leftmost = syntax;
        while let Syntax::Infix { left, operator, right } = leftmost
            && !is_row(left)
        {
            links.push((&**left, operator, &**right));
            leftmost = left;
        }
        let mut bound = match leftmost {
            Syntax::Infix { left, operator, right } => self.rows_operator(left, operator, right)?,
            _ => self.expression(leftmost)?,
        };
        for (left, operator, right) in links.into_iter().rev() {
            let right = self.placed(right)?;
            bound = self.apply((bound, start(left)), operator, right, left)?;
        }
        Ok(bound)
    }

    fn rows_operator(&mut self, left: &Syntax, operator: &Operator, right: &Syntax) -> Result<Expr> {
        match comparison(operator) {
            Some(comparison) => self.compare_rows(left, comparison, right),
            None => {
                let (bound_left, bound_right) = (self.placed(left)?, self.placed(right)?);
                self.apply(bound_left, operator, bound_right, left)
            }
        }
    }

    /// AND and OR, flattened.
    pub(super) fn logic(&mut self, operands: &[Syntax], is_and: bool) -> Result<Expr> {
        let construct = if is_and { "AND" } else { "OR" };
        let mut conditions = Vec::with_capacity(operands.len());
        for operand in operands {
            let condition = self.condition(operand, construct)?;
            match condition.kind {
                ExprKind::And(list) if is_and => conditions.extend(list),
                ExprKind::Or(list) if !is_and => conditions.extend(list),
                _ => conditions.push(condition),
            }
        }
        let kind = if is_and { ExprKind::And(conditions) } else { ExprKind::Or(conditions) };
        Ok(Expr::new(kind, Type::BOOL))
    }

    fn apply(
        &mut self,
        left: LocatedExpr,
        operator: &Operator,
        right: LocatedExpr,
        left_syntax: &Syntax,
    ) -> Result<Expr> {
        let symbol = symbol(operator)?;
        let result = match comparison(operator) {
            Some(comparison) => self.compare(left, comparison, symbol, right),
            None => self.call_operator(symbol, left, right),
        };
        result.map_err(|error| match error.code() {
            state::UNDEFINED_FUNCTION | state::AMBIGUOUS_FUNCTION | state::FEATURE_NOT_SUPPORTED => {
                self.text.error_at_operator(error, left_syntax, symbol)
            }
            _ => error,
        })
    }

    /// Compares two values in their common type.
    pub(in crate::bind) fn compare(
        &mut self,
        left: LocatedExpr,
        comparison: Comparison,
        symbol: &str,
        right: LocatedExpr,
    ) -> Result<Expr> {
        // Rows of the same types are values, in which NULLs are equal: only rows that are written out compare field by field.
        if let (ExprKind::Row(fields, _), ExprKind::Row(others, _)) = (&left.0.kind, &right.0.kind)
            && !fields.iter().map(|field| field.data_type).eq(others.iter().map(|field| field.data_type))
        {
            return self.compare_bound_rows(left.0, comparison, right.0);
        }
        let (left, right) = self.comparable(left, symbol, right)?;
        Ok(Expr::new(ExprKind::Compare(comparison, Box::new(left), Box::new(right)), Type::BOOL))
    }

    /// Converts two values to the type in which they are compared.
    pub(in crate::bind) fn comparable(
        &mut self,
        left: LocatedExpr,
        symbol: &str,
        right: LocatedExpr,
    ) -> Result<(Expr, Expr)> {
        let common = comparison_type_by(symbol, left.0.data_type, right.0.data_type)?;
        let right = if common == Type::XID && right.0.data_type == Type::INT4 {
            self.call(system_column::xid(), vec![right])?
        } else {
            self.implicit(right.0, common, right.1)?
        };
        Ok((self.implicit(left.0, common, left.1)?, right))
    }

    /// `operator operand`
    pub(super) fn prefix(&mut self, symbol: &str, operand: &Syntax) -> Result<Expr> {
        if let ("-", Syntax::Literal(literal)) = (symbol, operand)
            && let Value::Number(digits) = &literal.value
        {
            return self.number(&format!("-{digits}"), literal.span.start);
        }
        let bound = self.placed(operand)?;
        let operator = resolve_operator(symbol, None, bound.0.data_type)
            .map_err(|error| self.text.error_before_operand(error, operand, symbol))?;
        self.call(operator, vec![bound])
    }
}

/// NOT
pub(in crate::bind) fn negate(condition: Expr) -> Expr {
    Expr::new(ExprKind::Not(Box::new(condition)), Type::BOOL)
}

/// Returns whether an operand is written as a row.
pub(super) fn is_row(syntax: &Syntax) -> bool {
    match syntax {
        Syntax::Row { .. } => true,
        Syntax::Nested(inner) => is_row(inner),
        _ => false,
    }
}

/// Returns the comparison that an operator denotes.
pub(super) fn comparison(operator: &Operator) -> Option<Comparison> {
    match operator.symbol() {
        "=" => Some(Comparison::Equal),
        "<>" | "!=" => Some(Comparison::NotEqual),
        "<" => Some(Comparison::Less),
        "<=" => Some(Comparison::LessOrEqual),
        ">" => Some(Comparison::Greater),
        ">=" => Some(Comparison::GreaterOrEqual),
        _ => None,
    }
}

/// The symbol by which an operator is looked up.
pub(super) fn symbol(operator: &Operator) -> Result<&str> {
    match operator {
        Operator::Symbol(symbol) => Ok(symbol),
        Operator::Qualified(words) => match words.as_slice() {
            [symbol] => Ok(symbol),
            [.., schema, symbol] if schema == "pg_catalog" => Ok(symbol),
            _ => {
                let message = format!("operator does not exist: {}", words.join("."));
                Err(SqlError::new(state::UNDEFINED_FUNCTION, message))
            }
        },
    }
}
