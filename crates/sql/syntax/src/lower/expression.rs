//! Expressions.

use super::{Refusal, Result, boxed, call, each, ident, object_name, query, span};
use crate::ast::{Access, Case, CaseWhen, Expr, Interval, LikeKind, Literal, Operator, SpecialCall, TrimSide, Value};
use crate::carried;
use pgtypes::stack::ensure_stack;
use pgtypes::{Error, state};
use sqlparser::ast::{self as parser, BinaryOperator, CastKind, Spanned, UnaryOperator};
use std::borrow::Cow;

/// An expression.
///
/// # Errors
/// 0A000 for an expression that this server lacks.
pub(crate) fn expr(expr: parser::Expr) -> Result<Expr> {
    ensure_stack(|| kind(expr))
}

fn kind(expr: parser::Expr) -> Result<Expr> {
    use parser::Expr as P;
    Ok(match expr {
        P::Identifier(name) if carried::is_word(&name, "default") => Expr::Default(span(name.span)),
        P::Identifier(name) => Expr::Identifier(ident(name)),
        P::CompoundIdentifier(mut names)
            if names.last().is_some_and(|last| carried::is_word(last, carried::ALL_FIELDS)) =>
        {
            names.pop();
            Expr::TableRow(object_name(parser::ObjectName::from(names)))
        }
        P::CompoundIdentifier(names) => Expr::CompoundIdentifier(names.into_iter().map(ident).collect()),
        P::QualifiedWildcard(name, _) => Expr::TableRow(object_name(name)),
        P::CompoundFieldAccess { root, access_chain } => {
            Expr::Access { root: boxed(*root)?, chain: each(access_chain, access)? }
        }
        P::Nested(inner) => Expr::Nested(boxed(*inner)?),
        P::Value(value) => Expr::Literal(literal(value)?),
        P::TypedString(typed) => typed_literal(typed)?,
        P::Interval(written) => Expr::Interval(Box::new(interval(written)?)),
        P::Cast {
            kind: kind @ (CastKind::Cast | CastKind::DoubleColon),
            expr,
            data_type,
            array: false,
            format: None,
        } => {
            let data_type = Box::new(super::data_type(data_type));
            Expr::Cast { expr: boxed(*expr)?, data_type, short: kind == CastKind::DoubleColon }
        }
        P::Collate { expr, collation } => Expr::Collate { expr: boxed(*expr)?, collation: object_name(collation) },
        P::UnaryOp { op, expr } => prefix(op, *expr)?,
        P::BinaryOp { left, op, right } => infix(*left, op, *right)?,
        P::AnyOp { left, compare_op, right, .. } => quantified(*left, compare_op, *right, false)?,
        P::AllOp { left, compare_op, right } => quantified(*left, compare_op, *right, true)?,
        P::Function(function) => call::function(function)?,
        P::Case { case_token, end_token, operand, conditions, else_result } => Expr::Case(Box::new(Case {
            operand: operand.map(|operand| self::expr(*operand)).transpose()?,
            branches: each(conditions, branch)?,
            otherwise: else_result.map(|otherwise| self::expr(*otherwise)).transpose()?,
            span: span(case_token.0.span.union(&end_token.0.span)),
        })),
        P::Subquery(subquery) => Expr::Subquery(Box::new(query::query(*subquery)?)),
        P::Exists { subquery, negated } => negated_if(negated, Expr::Exists(Box::new(query::query(*subquery)?))),
        P::InSubquery { expr, subquery, negated } => {
            Expr::InSubquery { expr: boxed(*expr)?, subquery: Box::new(query::query(*subquery)?), negated }
        }
        P::Array(array) => Expr::Array { elements: each(array.elem, self::expr)?, keyword: array.named },
        P::Tuple(fields) => Expr::Row { fields: each(fields, self::expr)?, keyword: None },
        P::InList { expr, list, negated } => {
            Expr::InList { expr: boxed(*expr)?, list: each(list, self::expr)?, negated }
        }
        P::Between { expr, negated, low, high } => {
            let (low, symmetric) = carried::symmetric_bound(*low);
            Expr::Between { expr: boxed(*expr)?, low: boxed(low)?, high: boxed(*high)?, symmetric, negated }
        }
        P::Like { negated, any: false, expr, pattern, escape_char } => {
            like(LikeKind::Like, *expr, *pattern, escape_char, negated)?
        }
        P::ILike { negated, any: false, expr, pattern, escape_char } => {
            like(LikeKind::ILike, *expr, *pattern, escape_char, negated)?
        }
        P::SimilarTo { negated, expr, pattern, escape_char } => {
            like(LikeKind::Similar, *expr, *pattern, escape_char, negated)?
        }
        P::Like { negated, any: true, expr, pattern, escape_char: None } => {
            like_any(if negated { "!~~" } else { "~~" }, *expr, *pattern)?
        }
        P::ILike { negated, any: true, expr, pattern, escape_char: None } => {
            like_any(if negated { "!~~*" } else { "~~*" }, *expr, *pattern)?
        }
        P::Extract { .. }
        | P::Ceil { .. }
        | P::Floor { .. }
        | P::Position { .. }
        | P::Substring { .. }
        | P::Trim { .. }
        | P::Overlay { .. }
        | P::AtTimeZone { .. } => special(expr)?,
        _ => test(expr)?,
    })
}

/// IS ...
fn test(expr: parser::Expr) -> Result<Expr> {
    use parser::Expr as P;
    let is_null = |expr: Box<P>, negated| Ok(Expr::IsNull { expr: boxed(*expr)?, negated });
    let is_truth = |expr: Box<P>, truth, negated| Ok(Expr::IsTruth { expr: boxed(*expr)?, truth, negated });
    let is_distinct = |left: Box<P>, right: Box<P>, negated| {
        Ok(Expr::IsDistinct { left: boxed(*left)?, right: boxed(*right)?, negated })
    };
    match expr {
        P::IsNull(expr) => is_null(expr, false),
        P::IsNotNull(expr) => is_null(expr, true),
        P::IsTrue(expr) => is_truth(expr, Some(true), false),
        P::IsNotTrue(expr) => is_truth(expr, Some(true), true),
        P::IsFalse(expr) => is_truth(expr, Some(false), false),
        P::IsNotFalse(expr) => is_truth(expr, Some(false), true),
        P::IsUnknown(expr) => is_truth(expr, None, false),
        P::IsNotUnknown(expr) => is_truth(expr, None, true),
        P::IsDistinctFrom(left, right) => is_distinct(left, right, false),
        P::IsNotDistinctFrom(left, right) => is_distinct(left, right, true),
        P::IsNormalized { .. } => {
            let refusal = Error::unsupported("IS NORMALIZED").hint("Compare the text with normalize of it.");
            Err(Refusal::from(refusal).at(span(expr.span()).start))
        }
        other => Err(lacking(&other)),
    }
}

fn lacking(expr: &parser::Expr) -> Refusal {
    Refusal::unsupported(format_args!("the expression {expr}")).at(span(expr.span()).start)
}

fn negated_if(negated: bool, expr: Expr) -> Expr {
    if negated { Expr::Not(Box::new(expr)) } else { expr }
}

fn access(access: parser::AccessExpr) -> Result<Access> {
    use parser::{AccessExpr, Subscript};
    let bound = |bound: Option<parser::Expr>| bound.map(expr).transpose();
    Ok(match access {
        AccessExpr::Dot(parser::Expr::Identifier(name)) => Access::Field(ident(name)),
        AccessExpr::Dot(field) => return Err(Refusal::unsupported(format_args!("the field {field}"))),
        AccessExpr::Subscript(Subscript::Index { index }) => Access::Index(expr(index)?),
        AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride: None }) => {
            Access::Slice(bound(lower_bound)?, bound(upper_bound)?)
        }
        AccessExpr::Subscript(Subscript::Slice { stride: Some(_), .. }) => {
            return Err(Refusal::unsupported("a slice with a stride"));
        }
    })
}

/// A constant or a parameter.
pub(crate) fn literal(literal: parser::ValueWithSpan) -> Result<Literal> {
    use parser::Value as P;
    let at = span(literal.span);
    let value = match literal.value {
        P::Number(digits, _) => Value::Number(digits),
        P::SingleQuotedString(text)
        | P::EscapedStringLiteral(text)
        | P::UnicodeStringLiteral(text)
        | P::NationalStringLiteral(text) => Value::String(text),
        P::DollarQuotedString(quoted) => Value::String(quoted.value),
        P::Boolean(value) => Value::Boolean(value),
        P::Null => Value::Null,
        P::Placeholder(parameter) => Value::Parameter(parameter),
        other => return Err(Refusal::unsupported(format_args!("the literal {other}")).at(at.start)),
    };
    Ok(Literal { value, span: at })
}

fn typed_literal(typed: parser::TypedString) -> Result<Expr> {
    let text = string(typed.value)?;
    Ok(Expr::TypedLiteral { data_type: Box::new(super::data_type(typed.data_type)), text: Box::new(text) })
}

/// A string, where the grammar has nothing else.
fn string(value: parser::ValueWithSpan) -> Result<Literal> {
    let (at, written) = (span(value.span).start, value.value.to_string());
    match literal(value) {
        Ok(text @ Literal { value: Value::String(_), .. }) => Ok(text),
        _ => {
            let error = Error::new(state::SYNTAX_ERROR, format!("syntax error at or near \"{written}\""));
            Err(Refusal::from(error).at(at))
        }
    }
}

fn interval(interval: parser::Interval) -> Result<Interval> {
    let text = match *interval.value {
        parser::Expr::Value(value) => string(value)?,
        other => {
            let message = format!("syntax error at or near \"{other}\"");
            return Err(Error::new(state::SYNTAX_ERROR, message).into());
        }
    };
    Ok(Interval {
        text,
        leading: interval.leading_field.map(|field| field.to_string()),
        leading_precision: interval.leading_precision,
        last: interval.last_field.map(|field| field.to_string()),
        fraction_precision: interval.fractional_seconds_precision,
    })
}

fn prefix(op: UnaryOperator, operand: parser::Expr) -> Result<Expr> {
    let operator = match (op, operand) {
        (UnaryOperator::Not, operand) => return Ok(Expr::Not(boxed(operand)?)),
        // PostgreSQL's minus sign binds more tightly than `^`, the parser's does not.
        (UnaryOperator::Minus, parser::Expr::BinaryOp { left, op: BinaryOperator::PGExp, right }) => {
            let left = Box::new(ensure_stack(|| prefix(op, *left))?);
            return Ok(Expr::Infix { left, operator: Operator::of("^"), right: boxed(*right)? });
        }
        (op, operand) => (op, operand),
    };
    let (op, operand) = operator;
    let operator = match op {
        UnaryOperator::Minus => "-",
        UnaryOperator::Plus => "+",
        UnaryOperator::BitwiseNot => "~",
        UnaryOperator::PGAbs => "@",
        UnaryOperator::PGSquareRoot => "|/",
        UnaryOperator::PGCubeRoot => "||/",
        other => return Err(Refusal::unsupported(format_args!("the operator {other}"))),
    };
    Ok(Expr::Prefix { operator, operand: boxed(operand)? })
}

/// A chain of operators, which can be long: from its leftmost operand on, in a loop.
fn infix(left: parser::Expr, op: BinaryOperator, right: parser::Expr) -> Result<Expr> {
    let mut links = vec![(op, right)];
    let mut leftmost = left;
    while let parser::Expr::BinaryOp { left, op, right } = leftmost {
        links.push((op, *right));
        leftmost = *left;
    }
    let mut whole = expr(leftmost)?;
    while let Some((op, right)) = links.pop() {
        let right = expr(right)?;
        whole = match (op, whole) {
            (BinaryOperator::And, Expr::And(operands)) => Expr::And(followed(operands, right)),
            (BinaryOperator::Or, Expr::Or(operands)) => Expr::Or(followed(operands, right)),
            (BinaryOperator::And, left) => Expr::And(vec![left, right]),
            (BinaryOperator::Or, left) => Expr::Or(vec![left, right]),
            (op, left) => Expr::Infix { left: Box::new(left), operator: operator(op)?, right: Box::new(right) },
        };
    }
    Ok(whole)
}

fn followed(mut operands: Vec<Expr>, last: Expr) -> Vec<Expr> {
    operands.push(last);
    operands
}

fn operator(op: BinaryOperator) -> Result<Operator> {
    Ok(match op {
        BinaryOperator::Eq => Operator::of("="),
        BinaryOperator::NotEq => Operator::of("<>"),
        BinaryOperator::Lt => Operator::of("<"),
        BinaryOperator::LtEq => Operator::of("<="),
        BinaryOperator::Gt => Operator::of(">"),
        BinaryOperator::GtEq => Operator::of(">="),
        BinaryOperator::Plus => Operator::of("+"),
        BinaryOperator::Minus => Operator::of("-"),
        BinaryOperator::Multiply => Operator::of("*"),
        BinaryOperator::Divide => Operator::of("/"),
        BinaryOperator::PGCustomBinaryOperator(words) => Operator::Qualified(words),
        BinaryOperator::Custom(symbol) => Operator::Symbol(Cow::Owned(symbol)),
        BinaryOperator::Overlaps => return Err(Refusal::unsupported("OVERLAPS")),
        other => Operator::Symbol(Cow::Owned(other.to_string())),
    })
}

fn quantified(left: parser::Expr, op: BinaryOperator, right: parser::Expr, all: bool) -> Result<Expr> {
    Ok(Expr::Quantified { left: boxed(left)?, operator: operator(op)?, right: boxed(right)?, all })
}

/// `text LIKE ANY (patterns)`: the parser takes the parentheses for the pattern's own.
fn like_any(symbol: &'static str, left: parser::Expr, patterns: parser::Expr) -> Result<Expr> {
    let patterns = match patterns {
        parser::Expr::Nested(patterns) => *patterns,
        patterns => patterns,
    };
    Ok(Expr::Quantified { left: boxed(left)?, operator: Operator::of(symbol), right: boxed(patterns)?, all: false })
}

fn like(
    kind: LikeKind,
    expr: parser::Expr,
    pattern: parser::Expr,
    escape: Option<parser::ValueWithSpan>,
    negated: bool,
) -> Result<Expr> {
    let escape = escape.map(literal).transpose()?.map(Box::new);
    Ok(Expr::Like { kind, expr: boxed(expr)?, pattern: boxed(pattern)?, escape, negated })
}

fn branch(when: parser::CaseWhen) -> Result<CaseWhen> {
    Ok(CaseWhen { condition: expr(when.condition)?, result: expr(when.result)? })
}

/// Functions with words between their arguments.
fn special(written: parser::Expr) -> Result<Expr> {
    use parser::Expr as P;
    let (call, arguments) = match written {
        P::AtTimeZone { timestamp, time_zone } => (SpecialCall::AtTimeZone, vec![*timestamp, *time_zone]),
        P::Extract { field, syntax, expr } => {
            let field = match field {
                parser::DateTimeField::Custom(name) => ident(name),
                known => crate::ast::Ident::new(known.to_string()),
            };
            (SpecialCall::Extract { field, comma: syntax == parser::ExtractSyntax::Comma }, vec![*expr])
        }
        P::Ceil { expr, field } => rounded(SpecialCall::Ceil, "CEIL", *expr, field)?,
        P::Floor { expr, field } => rounded(SpecialCall::Floor, "FLOOR", *expr, field)?,
        P::Position { expr, r#in } => (SpecialCall::Position, vec![*expr, *r#in]),
        P::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
            let arguments = [expr, overlay_what, overlay_from].into_iter().chain(overlay_for);
            (SpecialCall::Overlay, arguments.map(|argument| *argument).collect())
        }
        P::Substring { expr, substring_from, substring_for, special, shorthand } => {
            let call = SpecialCall::Substring { from: substring_from.is_some(), comma: special, short: shorthand };
            let arguments = std::iter::once(expr).chain(substring_from).chain(substring_for);
            (call, arguments.map(|argument| *argument).collect())
        }
        P::Trim { trim_where, trim_what, expr, trim_characters } => {
            let side = trim_where.map(|side| match side {
                parser::TrimWhereField::Both => TrimSide::Both,
                parser::TrimWhereField::Leading => TrimSide::Leading,
                parser::TrimWhereField::Trailing => TrimSide::Trailing,
            });
            let call = SpecialCall::Trim { side, comma: trim_characters.is_some() };
            let what = trim_what.map(|what| *what);
            (call, std::iter::once(*expr).chain(what).chain(trim_characters.into_iter().flatten()).collect())
        }
        other => return Err(lacking(&other)),
    };
    Ok(Expr::Special { call, arguments: each(arguments, expr)? })
}

fn rounded(
    call: SpecialCall,
    name: &str,
    expr: parser::Expr,
    field: parser::CeilFloorKind,
) -> Result<(SpecialCall, Vec<parser::Expr>)> {
    use parser::{CeilFloorKind, DateTimeField};
    match field {
        CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) => Ok((call, vec![expr])),
        CeilFloorKind::Scale(scale) => Ok((call, vec![expr, parser::Expr::Value(scale)])),
        CeilFloorKind::DateTimeField(field) => {
            let refusal = Refusal::unsupported(format_args!("the expression {name}({expr} TO {field})"));
            Err(refusal.at(span(expr.span()).start))
        }
    }
}
