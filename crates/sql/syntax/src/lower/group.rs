//! GROUP BY.

use super::{Refusal, Result, each, expression::expr};
use crate::ast::{Expr, GroupingElement};
use sqlparser::ast::{self as parser, FunctionArg, FunctionArgExpr, FunctionArguments};

/// The elements of GROUP BY.
pub(super) fn group_by(group_by: parser::GroupByExpr) -> Result<Vec<GroupingElement>> {
    match group_by {
        parser::GroupByExpr::Expressions(elements, modifiers) if modifiers.is_empty() => each(elements, element),
        other => Err(Refusal::unsupported(other)),
    }
}

fn element(element: parser::Expr) -> Result<GroupingElement> {
    use parser::Expr as P;
    Ok(match element {
        P::GroupingSets(sets) => GroupingElement::Sets(each(sets, set)?),
        P::Rollup(parts) => GroupingElement::Rollup(each(parts, keys)?),
        P::Cube(parts) => GroupingElement::Cube(each(parts, keys)?),
        P::Tuple(parts) => GroupingElement::Set(keys(parts)?),
        P::Function(function) => match nested(&function) {
            Some(nested) => nested(each(arguments(function), part)?),
            None => GroupingElement::Key(expr(P::Function(function))?),
        },
        key => GroupingElement::Key(expr(key)?),
    })
}

/// A set of GROUPING SETS: one of its elements may stand for several sets itself.
fn set(mut parts: Vec<parser::Expr>) -> Result<GroupingElement> {
    use parser::Expr as P;
    let is_nested = match parts.as_slice() {
        [P::GroupingSets(_) | P::Rollup(_) | P::Cube(_)] => true,
        [P::Function(function)] => nested(function).is_some(),
        _ => false,
    };
    match parts.pop() {
        Some(only) if is_nested => element(only),
        last => {
            parts.extend(last);
            Ok(GroupingElement::Set(keys(parts)?))
        }
    }
}

fn keys(keys: Vec<parser::Expr>) -> Result<Vec<Expr>> {
    each(keys, expr)
}

/// Makes an element of its parts.
type Make = fn(Vec<Vec<Expr>>) -> GroupingElement;

/// ROLLUP and CUBE inside of GROUPING SETS, which the parser takes for calls.
fn nested(function: &parser::Function) -> Option<Make> {
    let [parser::ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else { return None };
    match &function.args {
        FunctionArguments::List(list) if list.args.iter().all(is_value) => {
            match name.value.to_ascii_lowercase().as_str() {
                "rollup" => Some(GroupingElement::Rollup),
                "cube" => Some(GroupingElement::Cube),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_value(argument: &FunctionArg) -> bool {
    matches!(argument, FunctionArg::Unnamed(FunctionArgExpr::Expr(_)))
}

fn arguments(function: parser::Function) -> Vec<parser::Expr> {
    let FunctionArguments::List(list) = function.args else { return vec![] };
    let value = |argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value),
        _ => None,
    };
    list.args.into_iter().filter_map(value).collect()
}

fn part(part: parser::Expr) -> Result<Vec<Expr>> {
    match part {
        parser::Expr::Tuple(several) => keys(several),
        one => Ok(vec![expr(one)?]),
    }
}
