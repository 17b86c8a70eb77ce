//! FROM.

use super::expression::expr;
use super::{Refusal, Result, call, each, ident, object_name, query};
use crate::ast::{
    FunctionsForm, Ident, Join, JoinConstraint, JoinKind, ObjectName, TableAlias, TableAliasColumn, TableFactor,
    TableFunction, TableWithJoins,
};
use crate::carried;
use pgtypes::Error;
use pgtypes::stack::ensure_stack;
use sqlparser::ast::{self as parser, FunctionArg, FunctionArgExpr};

/// An item of FROM.
pub(super) fn table_with_joins(table: parser::TableWithJoins) -> Result<TableWithJoins> {
    Ok(TableWithJoins { relation: factor(table.relation)?, joins: each(table.joins, join)? })
}

fn join(join: parser::Join) -> Result<Join> {
    use parser::JoinOperator as P;
    let (kind, constraint) = match join.join_operator {
        P::Join(constraint) | P::Inner(constraint) => (JoinKind::Inner, constraint),
        P::CrossJoin(constraint) => (JoinKind::Cross, constraint),
        P::Left(constraint) | P::LeftOuter(constraint) => (JoinKind::Left, constraint),
        P::Right(constraint) | P::RightOuter(constraint) => (JoinKind::Right, constraint),
        P::FullOuter(constraint) => (JoinKind::Full, constraint),
        other => return Err(Refusal::unsupported(format_args!("the join {other:?}"))),
    };
    let relation = factor(join.relation)?;
    let constraint = match constraint {
        parser::JoinConstraint::None => JoinConstraint::None,
        parser::JoinConstraint::On(condition) => JoinConstraint::On(expr(condition)?),
        parser::JoinConstraint::Using(columns) => JoinConstraint::Using(columns.into_iter().map(object_name).collect()),
        parser::JoinConstraint::Natural => JoinConstraint::Natural,
    };
    Ok(Join { kind, relation, constraint })
}

/// What gives the rows.
/// A table, a query or a function in FROM.
pub(crate) fn factor(factor: parser::TableFactor) -> Result<TableFactor> {
    ensure_stack(|| factor_kind(factor))
}

fn factor_kind(factor: parser::TableFactor) -> Result<TableFactor> {
    use parser::TableFactor as P;
    Ok(match factor {
        P::Table { name, alias, args: None, .. } if is_plain(&factor) => {
            TableFactor::Table { name: object_name(name), alias: alias.map(self::alias) }
        }
        P::Table { name, alias, args: Some(arguments), with_ordinality, .. } if arguments.settings.is_none() => {
            functions(name, arguments.args, false, with_ordinality, alias)?
        }
        P::Function { lateral, name, args, with_ordinality, alias } => {
            functions(name, args, lateral, with_ordinality, alias)?
        }
        P::UNNEST { alias, array_exprs, with_ordinality, with_offset: false, .. } => TableFactor::Functions {
            form: FunctionsForm::Unnest,
            lateral: false,
            calls: each(array_exprs, unnest)?,
            ordinality: with_ordinality,
            alias: alias.map(self::alias),
        },
        P::Derived { lateral, subquery, alias, sample: None } => TableFactor::Derived {
            lateral,
            subquery: Box::new(query::query(*subquery)?),
            alias: alias.map(self::alias),
        },
        P::NestedJoin { table_with_joins, alias } => TableFactor::NestedJoin {
            table: Box::new(self::table_with_joins(*table_with_joins)?),
            alias: alias.map(self::alias),
        },
        P::Table { sample: Some(_), .. } | P::Derived { sample: Some(_), .. } => {
            let hint = "Use WHERE random() < 0.1, which reads all rows.";
            return Err(Error::unsupported("TABLESAMPLE").hint(hint).into());
        }
        P::XmlTable { .. } => {
            let hint = "Keep XML as text, and read it in the application.";
            return Err(Error::unsupported("XMLTABLE").hint(hint).into());
        }
        other => return Err(Refusal::unsupported(other)),
    })
}

/// Returns whether a table has no clause that only other dialects have, nor TABLESAMPLE.
pub(super) fn is_plain(factor: &parser::TableFactor) -> bool {
    match factor {
        parser::TableFactor::Table {
            name: _,
            alias: _,
            args,
            with_hints,
            version,
            with_ordinality,
            partitions,
            json_path,
            sample,
            index_hints,
        } => {
            args.is_none()
                && with_hints.is_empty()
                && version.is_none()
                && !with_ordinality
                && partitions.is_empty()
                && json_path.is_none()
                && sample.is_none()
                && index_hints.is_empty()
        }
        _ => false,
    }
}

fn functions(
    name: parser::ObjectName,
    arguments: Vec<FunctionArg>,
    lateral: bool,
    ordinality: bool,
    alias: Option<parser::TableAlias>,
) -> Result<TableFactor> {
    let alias = alias.map(self::alias);
    if carried::is_rows_from(&name) {
        let calls = each(arguments, call_of)?;
        return Ok(TableFactor::Functions { form: FunctionsForm::RowsFrom, lateral, calls, ordinality, alias });
    }
    let calls = vec![TableFunction { name: object_name(name), arguments: call::values(arguments)? }];
    Ok(TableFactor::Functions { form: FunctionsForm::Call, lateral, calls, ordinality, alias })
}

/// A call in ROWS FROM.
fn call_of(argument: FunctionArg) -> Result<TableFunction> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(parser::Expr::Function(parser::Function {
            name,
            args: parser::FunctionArguments::List(list),
            ..
        }))) => Ok(TableFunction { name: object_name(name), arguments: call::values(list.args)? }),
        other => Err(Refusal::unsupported(format_args!("{other} in ROWS FROM"))),
    }
}

/// `unnest(array)`, in the place of the array.
fn unnest(array: parser::Expr) -> Result<TableFunction> {
    let array = expr(array)?;
    let name = Ident { span: array.span(), ..Ident::new("unnest") };
    Ok(TableFunction { name: ObjectName(vec![name]), arguments: vec![array] })
}

/// A name in FROM.
pub(super) fn alias(alias: parser::TableAlias) -> TableAlias {
    let column = |column: parser::TableAliasColumnDef| TableAliasColumn {
        name: ident(column.name),
        data_type: column.data_type.map(super::data_type),
    };
    TableAlias {
        explicit: alias.explicit,
        name: ident(alias.name),
        columns: alias.columns.into_iter().map(column).collect(),
    }
}
