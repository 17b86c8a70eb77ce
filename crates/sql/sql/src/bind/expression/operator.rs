//! Operators.

use crate::bind::Binder;
use crate::bind::coerce::Placed;
use crate::bind::position::start;
use crate::error::{Result, SqlError, state};
use crate::functions::{comparison_type_by, resolve_operator};
use crate::plan::{Comparison, Expr, ExprKind};
use crate::types::Type;
use syntax::ast::{BinaryOperator, Expr as Syntax, UnaryOperator, Value};

impl Binder<'_, '_> {
    /// `left op right`. Left-deep chains can be long, so they are bound in a loop.
    pub(super) fn binary(&mut self, syntax: &Syntax) -> Result<Expr> {
        if let Syntax::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } = syntax {
            return self.logic(syntax, op);
        }
        let mut links = vec![];
        let mut leftmost = syntax;
        while let Syntax::BinaryOp { left, op, right } = leftmost
            && !matches!(op, BinaryOperator::And | BinaryOperator::Or)
            && !is_row(left)
        {
            links.push((&**left, op, &**right));
            leftmost = left;
        }
        let mut bound = match leftmost {
            Syntax::BinaryOp { left, op, right } if is_row(left) => self.rows_operator(left, op, right)?,
            _ => self.expression(leftmost)?,
        };
        for (left, op, right) in links.into_iter().rev() {
            let right = self.placed(right)?;
            bound = self.apply((bound, start(left)), op, right, left)?;
        }
        Ok(bound)
    }

    fn rows_operator(&mut self, left: &Syntax, op: &BinaryOperator, right: &Syntax) -> Result<Expr> {
        match comparison(op) {
            Some(comparison) => self.compare_rows(left, comparison, right),
            None => {
                let (bound_left, bound_right) = (self.placed(left)?, self.placed(right)?);
                self.apply(bound_left, op, bound_right, left)
            }
        }
    }

    /// AND and OR, flattened.
    fn logic(&mut self, syntax: &Syntax, op: &BinaryOperator) -> Result<Expr> {
        let mut operands = vec![];
        let mut leftmost = syntax;
        while let Syntax::BinaryOp { left, op: found, right } = leftmost
            && found == op
        {
            operands.push(&**right);
            leftmost = left;
        }
        operands.push(leftmost);
        let (construct, is_and) = if *op == BinaryOperator::And { ("AND", true) } else { ("OR", false) };
        let mut conditions = Vec::with_capacity(operands.len());
        for operand in operands.into_iter().rev() {
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

    fn apply(&mut self, left: Placed, op: &BinaryOperator, right: Placed, left_syntax: &Syntax) -> Result<Expr> {
        let symbol = symbol(op)?;
        let result = match comparison(op) {
            Some(comparison) => self.compare(left, comparison, &symbol, right),
            None => self.call_operator(&symbol, left, right),
        };
        result.map_err(|error| match error.code() {
            state::UNDEFINED_FUNCTION | state::AMBIGUOUS_FUNCTION => {
                self.error_at_operator(error, left_syntax, &symbol)
            }
            _ => error,
        })
    }

    /// Compares two values in their common type.
    pub(in crate::bind) fn compare(
        &mut self,
        left: Placed,
        comparison: Comparison,
        symbol: &str,
        right: Placed,
    ) -> Result<Expr> {
        if let (ExprKind::Row(_), ExprKind::Row(_)) = (&left.0.kind, &right.0.kind) {
            return self.compare_bound_rows(left.0, comparison, right.0);
        }
        let (left, right) = self.comparable(left, symbol, right)?;
        Ok(Expr::new(ExprKind::Compare(comparison, Box::new(left), Box::new(right)), Type::BOOL))
    }

    /// Converts two values to the type in which they are compared.
    pub(in crate::bind) fn comparable(&mut self, left: Placed, symbol: &str, right: Placed) -> Result<(Expr, Expr)> {
        let common = comparison_type_by(symbol, left.0.data_type, right.0.data_type)?;
        Ok((self.implicit(left.0, common, left.1)?, self.implicit(right.0, common, right.1)?))
    }

    /// `op operand`
    pub(super) fn unary(&mut self, op: &UnaryOperator, operand: &Syntax) -> Result<Expr> {
        let symbol = match op {
            UnaryOperator::Not => {
                let condition = self.condition(operand, "NOT")?;
                return Ok(negate(condition));
            }
            UnaryOperator::Minus => "-",
            UnaryOperator::Plus => "+",
            UnaryOperator::BitwiseNot => "~",
            UnaryOperator::PGAbs => "@",
            UnaryOperator::PGSquareRoot => "|/",
            UnaryOperator::PGCubeRoot => "||/",
            other => return Err(SqlError::unsupported(format_args!("the operator {other}"))),
        };
        if let (UnaryOperator::Minus, Syntax::Value(value)) = (op, operand)
            && let Value::Number(digits, _) = &value.value
        {
            return self.number(&format!("-{digits}"), value.span.start);
        }
        // PostgreSQL's minus sign binds more tightly than `^`, the parser's does not.
        if let (UnaryOperator::Minus, Syntax::BinaryOp { left, op: power @ BinaryOperator::PGExp, right }) =
            (op, operand)
        {
            let base = (self.unary(op, left)?, start(left));
            let exponent = self.placed(right)?;
            return self.apply(base, power, exponent, left);
        }
        let bound = self.placed(operand)?;
        let operator = resolve_operator(symbol, None, bound.0.data_type)
            .map_err(|error| self.error_before_operand(error, operand, symbol))?;
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
        Syntax::Tuple(_) => true,
        Syntax::Function(function) => crate::bind::function::is_row_constructor(function),
        Syntax::Nested(inner) => is_row(inner),
        _ => false,
    }
}

/// Returns the comparison that an operator denotes.
pub(super) fn comparison(op: &BinaryOperator) -> Option<Comparison> {
    match op {
        BinaryOperator::Eq => Some(Comparison::Equal),
        BinaryOperator::NotEq => Some(Comparison::NotEqual),
        BinaryOperator::Lt => Some(Comparison::Less),
        BinaryOperator::LtEq => Some(Comparison::LessOrEqual),
        BinaryOperator::Gt => Some(Comparison::Greater),
        BinaryOperator::GtEq => Some(Comparison::GreaterOrEqual),
        BinaryOperator::PGCustomBinaryOperator(parts) => match parts.last()?.as_str() {
            "=" => Some(Comparison::Equal),
            "<>" | "!=" => Some(Comparison::NotEqual),
            "<" => Some(Comparison::Less),
            "<=" => Some(Comparison::LessOrEqual),
            ">" => Some(Comparison::Greater),
            ">=" => Some(Comparison::GreaterOrEqual),
            _ => None,
        },
        _ => None,
    }
}

/// The symbol by which an operator is looked up.
pub(super) fn symbol(op: &BinaryOperator) -> Result<String> {
    match op {
        BinaryOperator::PGCustomBinaryOperator(parts) => {
            let schema = parts.len().checked_sub(2).map(|at| parts[at].as_str());
            match (schema, parts.last()) {
                (None | Some("pg_catalog"), Some(symbol)) => Ok(symbol.clone()),
                _ => {
                    let message = format!("operator does not exist: {}", parts.join("."));
                    Err(SqlError::new(state::UNDEFINED_FUNCTION, message))
                }
            }
        }
        BinaryOperator::Custom(symbol) => Ok(symbol.clone()),
        BinaryOperator::Overlaps => Err(SqlError::unsupported("OVERLAPS")),
        other => Ok(other.to_string()),
    }
}
