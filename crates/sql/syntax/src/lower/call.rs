//! Calls and their windows.

use super::query::order_by_expr;
use super::{Refusal, Result, boxed, each, expression::expr, ident, object_name, query};
use crate::ast::{Argument, Expr, Function, Window, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec};
use crate::carried;
use sqlparser::ast::{self as parser, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments};

/// A call, or what is written like one.
pub(super) fn function(function: parser::Function) -> Result<Expr> {
    let parser::Function { name, parameters, args, filter, null_treatment, over, within_group, uses_odbc_syntax: _ } =
        function;
    if !matches!(parameters, FunctionArguments::None) {
        return Err(Refusal::unsupported(format_args!("the call {name}{parameters}")));
    }
    let name = object_name(name);
    if null_treatment.is_some() {
        return Err(Refusal::unsupported("IGNORE NULLS or RESPECT NULLS").at(name.span().start));
    }
    let mut function = Function {
        name,
        arguments: None,
        distinct: false,
        order_by: vec![],
        within_group: each(within_group, order_by_expr)?,
        filter: filter.map(|filter| expr(*filter)).transpose()?,
        over: over.map(window).transpose()?,
    };
    match args {
        FunctionArguments::None => {}
        FunctionArguments::Subquery(subquery) if is_array(&function) => {
            let keyword = function.name.span();
            return Ok(Expr::ArraySubquery { subquery: Box::new(query::query(*subquery)?), keyword });
        }
        FunctionArguments::Subquery(subquery) => {
            return Err(Refusal::unsupported(format_args!("the argument {subquery}")));
        }
        FunctionArguments::List(list) => {
            function.distinct = list.duplicate_treatment == Some(parser::DuplicateTreatment::Distinct);
            function.arguments = Some(each(list.args, argument)?);
            for clause in list.clauses {
                match clause {
                    FunctionArgumentClause::OrderBy(keys) => function.order_by = each(keys, order_by_expr)?,
                    other => return Err(Refusal::unsupported(other)),
                }
            }
        }
    }
    Ok(row_or_call(function))
}

fn is_array(function: &Function) -> bool {
    matches!(function.name.0.as_slice(), [name] if name.is_word("array"))
}

/// `ROW(a, b)` is not a call.
fn row_or_call(function: Function) -> Expr {
    let Function { name, arguments, distinct, order_by, within_group, filter, over } = &function;
    let is_row = matches!(name.0.as_slice(), [name] if name.is_word("row"))
        && arguments.iter().flatten().all(|argument| matches!(argument, Argument::Expr(_)))
        && arguments.is_some()
        && !distinct
        && order_by.is_empty()
        && within_group.is_empty()
        && filter.is_none()
        && over.is_none();
    if !is_row {
        return Expr::Function(Box::new(function));
    }
    let keyword = Some(name.span());
    let value = |argument| match argument {
        Argument::Expr(value) => Some(value),
        _ => None,
    };
    Expr::Row { fields: function.arguments.into_iter().flatten().filter_map(value).collect(), keyword }
}

fn argument(argument: FunctionArg) -> Result<Argument> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Ok(Argument::Expr(expr(value)?)),
        FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => Ok(Argument::Star),
        FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(table)) => Ok(Argument::TableRow(object_name(table))),
        FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. }
        | FunctionArg::ExprNamed { name: parser::Expr::Identifier(name), arg: FunctionArgExpr::Expr(value), .. } => {
            Ok(Argument::Named(ident(name), expr(value)?))
        }
        other => Err(Refusal::unsupported(format_args!("the argument {other}"))),
    }
}

/// Arguments of a function in FROM.
pub(super) fn values(arguments: Vec<FunctionArg>) -> Result<Vec<Expr>> {
    each(arguments, |argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => expr(value),
        other => Err(Refusal::unsupported(format_args!("the argument {other}"))),
    })
}

fn window(over: parser::WindowType) -> Result<Window> {
    Ok(match over {
        parser::WindowType::NamedWindow(name) => Window::Named(ident(name)),
        parser::WindowType::WindowSpec(spec) => Window::Spec(window_spec(spec)?),
    })
}

/// The definition of a window. The frame's EXCLUDE comes before the keys of PARTITION BY.
pub(super) fn window_spec(spec: parser::WindowSpec) -> Result<WindowSpec> {
    let mut keys = spec.partition_by;
    let exclusion = carried::take_exclusion(&mut keys);
    let frame = spec.window_frame.map(|frame| -> Result<WindowFrame> {
        let start = frame_bound(frame.start_bound)?;
        let end = frame.end_bound.map(frame_bound).transpose()?;
        let units = match frame.units {
            parser::WindowFrameUnits::Rows => WindowFrameUnits::Rows,
            parser::WindowFrameUnits::Range => WindowFrameUnits::Range,
            parser::WindowFrameUnits::Groups => WindowFrameUnits::Groups,
        };
        Ok(WindowFrame { units, start, end, exclusion })
    });
    Ok(WindowSpec {
        base: spec.window_name.map(ident),
        partition_by: each(keys, expr)?,
        order_by: each(spec.order_by, order_by_expr)?,
        frame: frame.transpose()?,
    })
}

fn frame_bound(bound: parser::WindowFrameBound) -> Result<WindowFrameBound> {
    let offset = |offset: Option<Box<parser::Expr>>| offset.map(|offset| boxed(*offset)).transpose();
    Ok(match bound {
        parser::WindowFrameBound::CurrentRow => WindowFrameBound::CurrentRow,
        parser::WindowFrameBound::Preceding(rows) => WindowFrameBound::Preceding(offset(rows)?),
        parser::WindowFrameBound::Following(rows) => WindowFrameBound::Following(offset(rows)?),
    })
}
