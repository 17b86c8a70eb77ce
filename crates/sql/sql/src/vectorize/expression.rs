//! Translation of expressions. What depends on the row only by pure functions has one.

use super::{Context, is_constant};
use crate::functions::{Body, Resolved};
use crate::plan::{Comparison, Expr, ExprKind};
use crate::types::cast::cast;
use crate::types::functions as values;
use crate::types::{Datum, Type, compare_typed};
use std::cmp::Ordering;
use std::sync::Arc;
use vectors::expression::{self, Arithmetic, Expression, Lane, is_same_form};

/// Nesting of a translated expression, at most: batches are evaluated by recursion, on threads with small stacks.
const DEEPEST: usize = 60;

/// The translation of an expression over rows of the input; `None` if it has none.
pub fn translate(of: &Expr, context: &mut dyn Context) -> Option<Expression> {
    nested(of, context, 0)
}

fn nested(of: &Expr, context: &mut dyn Context, depth: usize) -> Option<Expression> {
    if depth > DEEPEST {
        return None;
    }
    if of.data_type.scalar.defined().is_some() && !matches!(of.kind, ExprKind::Column(_)) {
        return None; // A cast to it needs its definition.
    }
    if let ExprKind::Column(at) = of.kind {
        return Some(Expression::column(at, of.data_type));
    }
    if is_constant(of) {
        return Some(Expression::constant(&context.constant(of)?, of.data_type));
    }
    let mut inner = |of: &Expr| nested(of, context, depth + 1);
    Some(match &of.kind {
        ExprKind::Call(function, arguments) => {
            let arguments = arguments.iter().map(inner).collect::<Option<Vec<_>>>()?;
            call(function, arguments, of.data_type)?
        }
        ExprKind::Cast { input, explicit } => {
            let operand = inner(input)?;
            let (from, to, modifier, explicit) = (input.data_type, of.data_type, of.modifier, *explicit);
            if modifier == crate::types::Modifier::NONE && (from == to || is_same_form(from, to)) {
                return Some(Expression::retyped(operand, to));
            }
            if from.scalar.defined().is_some() {
                return None;
            }
            let styles = context.styles();
            let lane = move |a: &[Datum]| cast(&a[0], from, to, modifier, explicit, &styles);
            Expression::call(Arc::new(lane), true, vec![operand], to)
        }
        ExprKind::And(all) => Expression::and(all.iter().map(inner).collect::<Option<_>>()?),
        ExprKind::Or(any) => Expression::or(any.iter().map(inner).collect::<Option<_>>()?),
        ExprKind::Not(operand) => Expression::negated(inner(operand)?),
        ExprKind::IsNull(operand) if !operand.data_type.is_row() => Expression::is_null(inner(operand)?),
        ExprKind::IsTruth(operand, wanted) => Expression::is_truth(inner(operand)?, *wanted),
        ExprKind::IsSame(left, right) => Expression::is_same(inner(left)?, inner(right)?),
        ExprKind::Compare(comparison, left, right) => {
            Expression::compare(comparison_of(*comparison), inner(left)?, inner(right)?)
        }
        ExprKind::Case { branches, otherwise } => {
            let branches = branches.iter().map(|(condition, result)| Some((inner(condition)?, inner(result)?)));
            let branches = branches.collect::<Option<Vec<_>>>()?;
            let otherwise = match otherwise {
                Some(otherwise) => inner(otherwise)?,
                None => Expression::constant(&Datum::Null, of.data_type),
            };
            Expression::case(branches, otherwise)
        }
        ExprKind::Coalesce(all) => Expression::coalesce(all.iter().map(inner).collect::<Option<_>>()?, of.data_type),
        ExprKind::NullIf(left, right) => {
            let (data_type, operands) = (left.data_type, vec![inner(left)?, inner(right)?]);
            let lane = move |a: &[Datum]| {
                Ok(if order(data_type, &a[0], &a[1]) == Some(Ordering::Equal) { Datum::Null } else { a[0].clone() })
            };
            Expression::call(Arc::new(lane), false, operands, of.data_type)
        }
        ExprKind::Extreme { greatest, of: all } => {
            let (data_type, wanted) = (of.data_type, if *greatest { Ordering::Greater } else { Ordering::Less });
            let operands = all.iter().map(inner).collect::<Option<Vec<_>>>()?;
            let lane = move |a: &[Datum]| {
                let better = |best: &Datum, value: &Datum| {
                    order(data_type, value, best).map_or(best.is_null(), |order| order == wanted)
                };
                Ok(a.iter().fold(Datum::Null, |best, value| if better(&best, value) { value.clone() } else { best }))
            };
            Expression::call(Arc::new(lane), false, operands, of.data_type)
        }
        ExprKind::InList(operand, list) => {
            let operand = inner(operand)?;
            let list = list.iter().map(|element| constant(element, context)).collect::<Option<Vec<_>>>()?;
            Expression::in_list(operand, list)
        }
        ExprKind::Quantified { operator, left, array, all: false }
            if operator.function.name == "=" && left.data_type == Type::of(array.data_type.scalar) =>
        {
            let operand = inner(left)?;
            match constant(array, context)? {
                Datum::Array(array) => Expression::in_list(operand, array.leaves().cloned().collect()),
                _ => return None,
            }
        }
        _ => return None,
    })
}

/// The value of an expression that has no columns.
fn constant(of: &Expr, context: &mut dyn Context) -> Option<Datum> {
    if is_constant(of) { context.constant(of) } else { None }
}

/// A call of a pure function.
fn call(function: &Resolved, arguments: Vec<Expression>, data_type: Type) -> Option<Expression> {
    let Body::Values(values::Body::Pure(body)) = function.function.body else { return None };
    if function.function.returns_set || arguments.iter().any(|argument| argument.data_type().scalar.defined().is_some())
    {
        return None;
    }
    let lane: Lane = Arc::new(body);
    let operation = match function.function.name {
        "+" => Some(Arithmetic::Add),
        "-" => Some(Arithmetic::Subtract),
        "*" => Some(Arithmetic::Multiply),
        _ => None,
    };
    if let (Some(operation), [left, right]) = (operation, &arguments[..])
        && function.function.strict
        && left.data_type() == data_type
        && right.data_type() == data_type
        && [Type::INT2, Type::INT4, Type::INT8, Type::NUMERIC, Type::FLOAT8].contains(&data_type)
    {
        return Some(Expression::arithmetic(operation, left.clone(), right.clone(), data_type, lane));
    }
    Some(Expression::call(lane, function.function.strict, arguments, data_type))
}

fn comparison_of(comparison: Comparison) -> expression::Comparison {
    match comparison {
        Comparison::Equal => expression::Comparison::Equal,
        Comparison::NotEqual => expression::Comparison::NotEqual,
        Comparison::Less => expression::Comparison::Less,
        Comparison::LessOrEqual => expression::Comparison::LessOrEqual,
        Comparison::Greater => expression::Comparison::Greater,
        Comparison::GreaterOrEqual => expression::Comparison::GreaterOrEqual,
    }
}

/// The order of two values of a type; `None` if one is NULL.
fn order(data_type: Type, left: &Datum, right: &Datum) -> Option<Ordering> {
    (!left.is_null() && !right.is_null()).then(|| compare_typed(data_type, left, right))
}
