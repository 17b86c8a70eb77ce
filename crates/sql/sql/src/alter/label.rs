//! The names of a view's columns in its query. The catalog keeps them beside the query; who prints a view has no other place for
//! them.

use super::name::{fold, quoted};
use crate::bind::column_name;
use crate::catalog::Column;
use std::collections::BTreeSet;
use syntax::ast::{
    Distinct, Expr, GroupingElement, Ident, Query, Select, SelectItem, SetExpr, Span, TableAlias, TableAliasColumn,
    TableFactor, TableWithJoins,
};

/// Makes a query give its columns these names: by aliases or, where an alias could change what the query means, as a subquery of
/// another.
pub(crate) fn label(query: &mut Query, view: &str, columns: &[Column]) {
    let Some(given) = names_of(&query.body) else { return enclose(query, view, columns) };
    if given.iter().map(String::as_str).eq(columns.iter().map(|column| &*column.name)) {
        return;
    }
    if given.len() != columns.len() || depends_on_names(query, &given, columns) {
        return enclose(query, view, columns);
    }
    let Some(select) = first_select(&mut query.body) else { return enclose(query, view, columns) };
    let items = std::mem::take(&mut select.projection).into_iter().zip(columns);
    select.projection = items.map(|(item, column)| alias(item, &column.name)).collect();
}

/// The names that a query gives to its columns by itself; `None` where a `*` stands for some.
fn names_of(body: &SetExpr) -> Option<Vec<String>> {
    match body {
        SetExpr::Select(select) => select
            .projection
            .iter()
            .map(|item| match item {
                SelectItem::Expr(expression) => Some(column_name(expression)),
                SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
                SelectItem::Wildcard(_) | SelectItem::TableWildcard(_) | SelectItem::RecordWildcard(_) => None,
            })
            .collect(),
        SetExpr::SetOperation { left, .. } => names_of(left),
        SetExpr::Query(query) => names_of(&query.body),
        SetExpr::Values { rows, .. } => {
            Some((1..=rows.first().map_or(0, Vec::len)).map(|number| format!("column{number}")).collect())
        }
        SetExpr::Write(_) => None,
    }
}

/// The SELECT whose list names the columns, if no clause of its own query can name them too.
fn first_select(body: &mut SetExpr) -> Option<&mut Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::SetOperation { left, .. } => first_select(left),
        SetExpr::Query(_) | SetExpr::Values { .. } | SetExpr::Write(_) => None,
    }
}

/// Whether a clause names a column of the result by a name that it loses or gets. GROUP BY takes a name for a column of FROM if
/// there is one; so it does not mean an item that is such a column.
fn depends_on_names(query: &Query, given: &[String], columns: &[Column]) -> bool {
    let mut body = &*query.body;
    while let SetExpr::SetOperation { left, .. } = body {
        body = left;
    }
    let SetExpr::Select(select) = body else { return true };
    let (mut changed, mut computed) = (BTreeSet::new(), BTreeSet::new());
    for ((item, old), column) in select.projection.iter().zip(given).zip(columns) {
        if *old != column.name {
            changed.extend([&**old, &*column.name]);
            computed.extend((!is_column(item)).then_some(&**old));
        }
    }
    let says = |names: &BTreeSet<&str>, expression: &Expr| matches!(expression, Expr::Identifier(name) if names.contains(&*fold(name)));
    let distinct = match &select.distinct {
        Some(Distinct::On(keys)) => keys.iter().any(|key| says(&changed, key)),
        Some(Distinct::Rows) | None => false,
    };
    let groups = select.group_by.iter().any(|element| match element {
        GroupingElement::Key(key) => says(&computed, key),
        _ => !computed.is_empty(),
    });
    distinct || groups || query.order_by.iter().any(|key| says(&changed, &key.expr))
}

/// Whether an item is a column of FROM under its own name.
fn is_column(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Expr(Expr::Identifier(_) | Expr::CompoundIdentifier(_)))
}

fn alias(item: SelectItem, name: &str) -> SelectItem {
    match item {
        SelectItem::Expr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            SelectItem::ExprWithAlias { expr, alias: quoted(name) }
        }
        wildcard => wildcard,
    }
}

/// `SELECT * FROM (query) AS view(names)`
fn enclose(query: &mut Query, view: &str, columns: &[Column]) {
    let column = |name: Ident| TableAliasColumn { name, data_type: None };
    let columns = columns.iter().map(|given| column(quoted(&given.name))).collect();
    let outer = Query {
        with: None,
        body: Box::new(SetExpr::Select(Box::default())),
        order_by: vec![],
        limit: None,
        offset: None,
        locks: vec![],
    };
    let inner = std::mem::replace(query, outer);
    let relation = TableFactor::Derived {
        lateral: false,
        subquery: Box::new(inner),
        alias: Some(TableAlias { explicit: true, name: quoted(view), columns }),
    };
    if let SetExpr::Select(select) = &mut *query.body {
        select.projection = vec![SelectItem::Wildcard(Span::NOWHERE)];
        select.from = vec![TableWithJoins { relation, joins: vec![] }];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Modifier, Type};
    use syntax::ast::Statement;

    fn labelled(query: &str, names: &[&str]) -> String {
        let parsed = syntax::statement(query).unwrap().unwrap();
        let syntax::Command::Rows(statement) = parsed.command else { panic!("{query}") };
        let Statement::Query(mut query) = Statement::clone(&statement) else { panic!("{statement}") };
        let column = |name: &&str| Column::plain(*name, Type::INT4, Modifier::NONE);
        label(&mut query, "v", &names.iter().map(column).collect::<Vec<_>>());
        query.to_string()
    }

    #[test]
    fn a_query_gets_the_names_of_its_view() {
        for (query, names, expected) in [
            ("SELECT a, b AS c FROM t", ["a", "c"], "SELECT a, b AS c FROM t"),
            ("SELECT a, b AS c FROM t", ["x", "C d"], "SELECT a AS x, b AS \"C d\" FROM t"),
            (
                "SELECT t.a, count(*) FROM t GROUP BY t.a",
                ["x", "count"],
                "SELECT t.a AS x, count(*) AS count FROM t GROUP BY t.a",
            ),
            ("SELECT a, 1 FROM t UNION SELECT 2, 3", ["a", "b"], "SELECT a AS a, 1 AS b FROM t UNION SELECT 2, 3"),
            // The names mean something in these.
            (
                "SELECT a, b AS c FROM t ORDER BY c",
                ["a", "x"],
                "SELECT * FROM (SELECT a, b AS c FROM t ORDER BY c) AS v (a, x)",
            ),
            ("SELECT a, b FROM t ORDER BY c", ["c", "b"], "SELECT * FROM (SELECT a, b FROM t ORDER BY c) AS v (c, b)"),
            (
                "SELECT a, b + 1 AS c FROM t GROUP BY a, c",
                ["a", "x"],
                "SELECT * FROM (SELECT a, b + 1 AS c FROM t GROUP BY a, c) AS v (a, x)",
            ),
            // These have none to alias.
            ("VALUES (1, 2)", ["a", "b"], "SELECT * FROM (VALUES (1, 2)) AS v (a, b)"),
            ("VALUES (1, 2)", ["column1", "column2"], "VALUES (1, 2)"),
            ("SELECT * FROM t", ["a", "b"], "SELECT * FROM (SELECT * FROM t) AS v (a, b)"),
        ] {
            let labelled = labelled(query, &names);
            assert_eq!(labelled, expected, "{query}");
            assert!(syntax::statement(&labelled).is_ok(), "{labelled}");
        }
    }
}
