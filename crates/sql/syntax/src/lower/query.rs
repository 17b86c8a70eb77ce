//! Queries.

use super::expression::expr;
use super::{Refusal, Result, call, each, group, ident, object_name, span, table};
use crate::ast::{
    Cte, Distinct, Limit, LockClause, LockType, NamedWindow, NonBlock, OrderByExpr, OrderByOptions, Query, Select,
    SelectItem, SetExpr, SetOperator, TableFactor, TableWithJoins, With,
};
use crate::carried;
use pgtypes::stack::ensure_stack;
use pgtypes::{Error, state};
use sqlparser::ast as parser;

/// A query.
///
/// # Errors
/// 0A000 for a clause that this server lacks.
pub(crate) fn query(query: parser::Query) -> Result<Query> {
    ensure_stack(|| {
        let parser::Query {
            with,
            body,
            order_by,
            limit_clause,
            fetch,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators,
        } = query;
        if for_clause.is_some() || settings.is_some() || format_clause.is_some() || !pipe_operators.is_empty() {
            return Err(Refusal::unsupported("this form of query"));
        }
        let with = with.map(self::with).transpose()?;
        let body = Box::new(self::body(*body)?);
        let order_by = order_by.map(self::order_by).transpose()?.unwrap_or_default();
        let (limit, offset) = limit_clause.map_or(Ok((None, None)), limits)?;
        let limit = match (limit, fetch) {
            (Some(_), Some(_)) => {
                return Err(Error::new(state::SYNTAX_ERROR, "multiple LIMIT clauses not allowed").into());
            }
            (limit, None) => limit.map(Limit::Count),
            (None, Some(fetch)) => Some(self::fetch(fetch)?),
        };
        Ok(Query { with, body, order_by, limit, offset, locks: each(locks, lock)? })
    })
}

fn with(with: parser::With) -> Result<With> {
    Ok(With { span: span(with.with_token.0.span), recursive: with.recursive, queries: each(with.cte_tables, cte)? })
}

/// A query of WITH.
pub(crate) fn cte(cte: parser::Cte) -> Result<Cte> {
    let materialized = cte.materialized.map(|said| said == parser::CteAsMaterialized::Materialized);
    Ok(Cte { alias: table::alias(cte.alias), query: Box::new(query(*cte.query)?), materialized })
}

/// The body of a query. A chain of operations can be long: from its leftmost query on, in a loop.
fn body(body: parser::SetExpr) -> Result<SetExpr> {
    let mut links = vec![];
    let mut leftmost = body;
    while let parser::SetExpr::SetOperation { left, op, set_quantifier, right } = leftmost {
        links.push((op, set_quantifier, *right));
        leftmost = *left;
    }
    let mut whole = simple_body(leftmost)?;
    while let Some((op, quantifier, right)) = links.pop() {
        let (operator, name) = match op {
            parser::SetOperator::Union => (SetOperator::Union, "UNION"),
            parser::SetOperator::Intersect => (SetOperator::Intersect, "INTERSECT"),
            parser::SetOperator::Except | parser::SetOperator::Minus => (SetOperator::Except, "EXCEPT"),
        };
        let all = match quantifier {
            parser::SetQuantifier::All => true,
            parser::SetQuantifier::Distinct | parser::SetQuantifier::None => false,
            other => return Err(Refusal::unsupported(format_args!("{name} {other}"))),
        };
        let right = Box::new(ensure_stack(|| self::body(right))?);
        whole = SetExpr::SetOperation { left: Box::new(whole), operator, all, right };
    }
    Ok(whole)
}

fn simple_body(body: parser::SetExpr) -> Result<SetExpr> {
    use parser::SetExpr as P;
    Ok(match body {
        P::Select(select) => SetExpr::Select(Box::new(self::select(*select)?)),
        P::Query(inner) => SetExpr::Query(Box::new(query(*inner)?)),
        P::Values(values) => {
            let ends = values.rows.first().zip(values.rows.last());
            let around = |(first, last): (&parser::Parens<_>, &parser::Parens<_>)| {
                span(first.opening_token.0.span).union(span(last.closing_token.0.span))
            };
            let span = ends.map_or(crate::ast::Span::NOWHERE, around);
            SetExpr::Values { rows: each(values.rows, |row| each(row.content, expr))?, span }
        }
        P::Insert(statement) | P::Update(statement) | P::Delete(statement) => {
            SetExpr::Write(Box::new(super::statement(statement)?))
        }
        P::Table(table) => SetExpr::Select(Box::new(whole_table(*table))),
        P::Merge(_) => {
            let message = "MERGE not supported in WITH query";
            return Err(Error::new(state::FEATURE_NOT_SUPPORTED, message).into());
        }
        operation @ P::SetOperation { .. } => self::body(operation)?,
    })
}

/// `TABLE name`
fn whole_table(table: parser::Table) -> Select {
    let words = table.schema_name.into_iter().chain(table.table_name).map(crate::ast::Ident::new);
    let relation = TableFactor::Table { name: words.collect::<Vec<_>>().into(), alias: None };
    Select {
        projection: vec![SelectItem::Wildcard(crate::ast::Span::NOWHERE)],
        from: vec![TableWithJoins { relation, joins: vec![] }],
        ..Select::default()
    }
}

fn select(select: parser::Select) -> Result<Select> {
    let is_foreign = select.top.is_some()
        || !select.lateral_views.is_empty()
        || select.prewhere.is_some()
        || !select.connect_by.is_empty()
        || !select.cluster_by.is_empty()
        || !select.distribute_by.is_empty()
        || !select.sort_by.is_empty()
        || select.qualify.is_some()
        || select.exclude.is_some()
        || select.value_table_mode.is_some()
        || select.select_modifiers.is_some()
        || select.flavor != parser::SelectFlavor::Standard;
    if is_foreign {
        return Err(Refusal::unsupported("this form of SELECT"));
    }
    if select.into.is_some() {
        return Err(Refusal::unsupported("SELECT INTO"));
    }
    let distinct = match select.distinct {
        None | Some(parser::Distinct::All) => None,
        Some(parser::Distinct::Distinct) => Some(Distinct::Rows),
        Some(parser::Distinct::On(keys)) => Some(Distinct::On(each(keys, expr)?)),
    };
    Ok(Select {
        span: span(select.select_token.0.span),
        distinct,
        projection: each(select.projection, select_item)?,
        from: each(select.from, table::table_with_joins)?,
        selection: select.selection.map(expr).transpose()?,
        group_by: group::group_by(select.group_by)?,
        having: select.having.map(expr).transpose()?,
        windows: each(select.named_window, named_window)?,
    })
}

fn named_window(definition: parser::NamedWindowDefinition) -> Result<NamedWindow> {
    match definition.1 {
        parser::NamedWindowExpr::WindowSpec(spec) => {
            Ok(NamedWindow { name: ident(definition.0), spec: call::window_spec(spec)? })
        }
        // No dialect but BigQuery's has it.
        parser::NamedWindowExpr::NamedWindow(other) => Err(Refusal::unsupported(format_args!("the window {other}"))),
    }
}

/// An item of a select list, or of RETURNING.
pub(super) fn select_item(item: parser::SelectItem) -> Result<SelectItem> {
    use parser::{SelectItem as P, SelectItemQualifiedWildcardKind as Kind};
    match item {
        P::UnnamedExpr(written) => match carried::expanded_record(written) {
            (record, true) => Ok(SelectItem::RecordWildcard(expr(record)?)),
            (written, false) => Ok(SelectItem::Expr(expr(written)?)),
        },
        P::ExprWithAlias { expr: written, alias } => {
            Ok(SelectItem::ExprWithAlias { expr: expr(written)?, alias: ident(alias) })
        }
        P::ExprWithAliases { .. } => Err(Refusal::unsupported("a list of aliases")),
        P::Wildcard(options) => Ok(SelectItem::Wildcard(wildcard(&options)?)),
        P::QualifiedWildcard(kind, options) => {
            wildcard(&options)?;
            match kind {
                Kind::ObjectName(table) => Ok(SelectItem::TableWildcard(object_name(table))),
                Kind::Expr(record) => Ok(SelectItem::RecordWildcard(expr(record)?)),
            }
        }
    }
}

/// The place of a `*`, which has no options.
fn wildcard(options: &parser::WildcardAdditionalOptions) -> Result<crate::ast::Span> {
    let written = options.to_string();
    if written.is_empty() {
        return Ok(span(options.wildcard_token.0.span));
    }
    Err(Error::new(state::SYNTAX_ERROR, format!("syntax error at or near \"{written}\"")).into())
}

fn order_by(order_by: parser::OrderBy) -> Result<Vec<OrderByExpr>> {
    match order_by.kind {
        parser::OrderByKind::Expressions(keys) if order_by.interpolate.is_none() => each(keys, order_by_expr),
        parser::OrderByKind::Expressions(_) => Err(Refusal::unsupported("INTERPOLATE")),
        parser::OrderByKind::All(_) => Err(Refusal::unsupported("ORDER BY ALL")),
    }
}

/// A key of ORDER BY.
pub(crate) fn order_by_expr(key: parser::OrderByExpr) -> Result<OrderByExpr> {
    if let Some(fill) = key.with_fill {
        return Err(Refusal::unsupported(fill));
    }
    let options = OrderByOptions { asc: key.options.asc, nulls_first: key.options.nulls_first };
    Ok(OrderByExpr { expr: expr(key.expr)?, options })
}

type Limits = (Option<crate::ast::Expr>, Option<crate::ast::Expr>);

fn limits(clause: parser::LimitClause) -> Result<Limits> {
    match clause {
        parser::LimitClause::LimitOffset { limit, offset, limit_by } if limit_by.is_empty() => {
            Ok((limit.map(expr).transpose()?, offset.map(|offset| expr(offset.value)).transpose()?))
        }
        parser::LimitClause::LimitOffset { .. } => Err(Refusal::unsupported("LIMIT BY")),
        parser::LimitClause::OffsetCommaLimit { .. } => {
            let error = Error::new(state::SYNTAX_ERROR, "LIMIT #,# syntax is not supported");
            Err(error.hint("Use separate LIMIT and OFFSET clauses.").into())
        }
    }
}

fn fetch(fetch: parser::Fetch) -> Result<Limit> {
    if fetch.percent {
        return Err(Refusal::unsupported("FETCH ... PERCENT"));
    }
    Ok(Limit::Fetch { count: fetch.quantity.map(expr).transpose()?, with_ties: fetch.with_ties })
}

fn lock(lock: parser::LockClause) -> Result<LockClause> {
    let lock_type = match lock.lock_type {
        parser::LockType::Update => LockType::Update,
        parser::LockType::Share => LockType::Share,
    };
    let nonblock = lock.nonblock.map(|said| match said {
        parser::NonBlock::Nowait => NonBlock::Nowait,
        parser::NonBlock::SkipLocked => NonBlock::SkipLocked,
    });
    Ok(LockClause { lock_type, of: lock.of.map(object_name), nonblock })
}
