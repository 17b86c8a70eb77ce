use crate::ast::{Expr, Statement, visit_expressions};
use crate::{Command, statement};
use sqlparser::ast::Spanned;
use sqlparser::parser::Parser;
use std::ops::ControlFlow;

/// Expressions of every kind.
const EXPRESSIONS: &[&str] = &[
    "a",
    "\"A b\"",
    "s.t.c",
    "a[1]",
    "a[1:2][:3]",
    "(r).f",
    "(1)",
    "-1",
    "- -1",
    "-a ^ 2",
    "1.5e3",
    "'it''s'",
    "true",
    "NULL",
    "$1",
    "DATE '2020-02-02'",
    "INTERVAL '1' DAY",
    "INTERVAL '1-2' YEAR TO MONTH",
    "CAST(a AS NUMERIC(10,2))",
    "a::INT[]",
    "a COLLATE \"C\"",
    "a AND b AND c",
    "a OR b AND NOT c",
    "a + b * c - d || e",
    "a <> b",
    "a OPERATOR(pg_catalog.+) b",
    "a @> b",
    "a = ANY(b)",
    "a < ALL(SELECT 1)",
    "a IS NULL",
    "a IS NOT NULL",
    "a IS NOT TRUE",
    "a IS UNKNOWN",
    "a IS DISTINCT FROM b",
    "a IS NOT DISTINCT FROM b AND c",
    "a IN (1, 2)",
    "a NOT IN (SELECT b FROM t)",
    "a BETWEEN 1 AND 2",
    "a NOT BETWEEN SYMMETRIC 2 AND 1",
    "a LIKE 'b%'",
    "a NOT ILIKE 'b' ESCAPE '!'",
    "a SIMILAR TO 'b|c'",
    "a AT TIME ZONE 'UTC'",
    "EXTRACT(YEAR FROM a)",
    "CEIL(a)",
    "FLOOR(a, 2)",
    "POSITION('a' IN b)",
    "SUBSTRING(a FROM 1 FOR 2)",
    "SUBSTRING(a FOR 2)",
    "SUBSTR(a, 1, 2)",
    "TRIM(a)",
    "TRIM(BOTH 'x' FROM a)",
    "OVERLAY(a PLACING b FROM 1 FOR 2)",
    "f()",
    "s.f(a, b => 1)",
    "count(*)",
    "count(DISTINCT a)",
    "string_agg(a, ',' ORDER BY b DESC NULLS LAST)",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY a)",
    "sum(a) FILTER (WHERE a > 1)",
    "sum(a) OVER w",
    "sum(a) OVER (w ORDER BY b)",
    "sum(a) OVER (PARTITION BY b ORDER BY c ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES)",
    "sum(a) OVER (ORDER BY c RANGE UNBOUNDED PRECEDING)",
    "f(t.*)",
    "current_date",
    "CASE WHEN a THEN 1 ELSE 2 END",
    "CASE a WHEN 1 THEN 2 END",
    "(SELECT 1)",
    "EXISTS (SELECT 1)",
    "NOT EXISTS (SELECT 1)",
    "ARRAY(SELECT 1)",
    "ARRAY[1, 2]",
    "ARRAY[[1], [2]]",
    "ROW(1, 2)",
    "(1, 2)",
    "ROW()",
];

/// Statements of every kind.
const STATEMENTS: &[&str] = &[
    "SELECT FROM t",
    "SELECT DISTINCT a AS b, t.*, * FROM t",
    "SELECT DISTINCT ON (a) a FROM s.t AS u (x, y) ORDER BY a DESC",
    "SELECT (f(x)).* FROM t",
    "SELECT a FROM t, LATERAL (SELECT t.a) v WHERE a = 1 GROUP BY a HAVING a > 1",
    "SELECT a FROM t GROUP BY GROUPING SETS ((a, b), ROLLUP (c, (d, e)), CUBE (f), ()), (g, h)",
    "SELECT sum(a) OVER w FROM t WINDOW w AS (PARTITION BY b), v AS (w)",
    "SELECT * FROM a JOIN b ON a.x = b.x LEFT JOIN c USING(x, y) NATURAL JOIN d CROSS JOIN e",
    "SELECT * FROM a FULL JOIN (b RIGHT JOIN c ON true) AS j ON true",
    "SELECT * FROM f(1) WITH ORDINALITY AS g (a, b), UNNEST(x, y), ROWS FROM (f(1), g(2)) r",
    "SELECT * FROM LATERAL f(1) AS g (a INT, b TEXT)",
    "SELECT 1 UNION ALL SELECT 2 EXCEPT (SELECT 3 INTERSECT SELECT 4) ORDER BY 1 LIMIT 2 OFFSET 3",
    "SELECT 1 ORDER BY 1 FETCH FIRST 2 ROWS WITH TIES",
    "SELECT a FROM t FOR UPDATE OF t NOWAIT FOR SHARE SKIP LOCKED",
    "VALUES (1, 'a'), (2, DEFAULT)",
    "WITH RECURSIVE q (a) AS (SELECT 1), r AS NOT MATERIALIZED (SELECT 2) SELECT * FROM q, r",
    "WITH q AS (DELETE FROM t RETURNING *) UPDATE t SET a = 1 WHERE b IN (SELECT 1)",
    "INSERT INTO s.t AS u (a, b) OVERRIDING USER VALUE VALUES (1, DEFAULT) ON CONFLICT (a) DO UPDATE SET b = 2 WHERE c RETURNING a, b AS x",
    "INSERT INTO t DEFAULT VALUES ON CONFLICT DO NOTHING",
    "MERGE INTO s.t AS u USING (SELECT 1 AS a) AS v ON u.a = v.a WHEN MATCHED AND b > 1 THEN UPDATE SET c = 2, (d, e) = (SELECT 1, 2) \
     WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND v.a IS NULL THEN DO NOTHING \
     WHEN NOT MATCHED THEN INSERT (a, b) OVERRIDING SYSTEM VALUE VALUES (v.a, DEFAULT)",
    "MERGE INTO t USING u ON true WHEN NOT MATCHED THEN INSERT DEFAULT VALUES",
    "WITH w AS (SELECT 1) MERGE INTO t USING w ON true WHEN MATCHED THEN DO NOTHING",
    "INSERT INTO t VALUES (1) ON CONFLICT (a, (lower(b)), (c + 1) int4_ops) WHERE d = 'it''s' AND \"E\" IS NULL DO NOTHING",
    "INSERT INTO t (SELECT 1) ON CONFLICT ON CONSTRAINT k DO NOTHING",
    "WITH n AS (INSERT INTO t SELECT 5 ON CONFLICT DO NOTHING RETURNING id) SELECT * FROM n",
    "UPDATE t AS u SET a = a + 1, (b, c) = (SELECT 1, 2) FROM v WHERE u.x = v.x RETURNING *",
    "DELETE FROM t USING u WHERE t.a = u.a",
];

fn parsed(sql: &str) -> Statement {
    match statement(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}")).unwrap().command {
        Command::Rows(statement) => (*statement).clone(),
        other => panic!("{sql}: {other:?}"),
    }
}

#[test]
fn what_is_printed_is_what_was_written_and_reads_as_the_same_tree() {
    for written in EXPRESSIONS {
        let tree = crate::expression(written).unwrap_or_else(|error| panic!("{written}: {error:?}"));
        assert_eq!(tree.to_string(), *written);
        assert_eq!(crate::expression(&tree.to_string()).unwrap(), tree, "{written}");
    }
    for written in STATEMENTS {
        let tree = parsed(written);
        assert_eq!(parsed(&tree.to_string()), tree, "{written}: {tree}");
        if !written.starts_with("INSERT INTO t (SELECT") {
            assert_eq!(tree.to_string(), *written);
        }
    }
}

#[test]
fn strings_and_names_are_quoted_whatever_is_in_them() {
    for text in ["", "'", "''", "a''''b", "\\", "\\'", "x\ny", "\"\"", "E'"] {
        for quoted in [format!("'{}'", text.replace('\'', "''")), format!("$q${text}$q$")] {
            let tree = crate::expression(&quoted).unwrap();
            let crate::ast::Expr::Literal(literal) = &tree else { panic!("{tree:?}") };
            assert_eq!(literal.value, crate::ast::Value::String(text.to_owned()), "{quoted}");
            assert_eq!(crate::expression(&tree.to_string()).unwrap(), tree, "{quoted}");
        }
        if !text.is_empty() {
            let name = Expr::Identifier(crate::ast::Ident::quoted(text));
            assert_eq!(crate::expression(&name.to_string()).unwrap(), name);
        }
    }
    assert_eq!(crate::expression("E'a\\'b'").unwrap().to_string(), "'a''b'");
}

#[test]
fn clauses_that_mean_the_same_print_as_one() {
    for (written, printed) in [
        ("SELECT * FROM a INNER JOIN b ON TRUE", "SELECT * FROM a JOIN b ON true"),
        ("SELECT ALL a = SOME(b), a LIKE ANY (c)", "SELECT a = ANY(b), a ~~ ANY(c)"),
        ("SELECT a UNION DISTINCT SELECT b", "SELECT a UNION SELECT b"),
        ("SELECT a OFFSET 1 ROWS", "SELECT a OFFSET 1"),
        ("SELECT row(1), E'x', N'y', $$z$$", "SELECT ROW(1), 'x', 'y', 'z'"),
    ] {
        assert_eq!(parsed(written).to_string(), printed);
    }
}

#[test]
fn operators_bind_as_in_postgresql() {
    let nested = |sql: &str| match crate::expression(sql).unwrap() {
        Expr::Or(operands) => ("or", operands.len()),
        Expr::And(operands) => ("and", operands.len()),
        Expr::Infix { left, operator, .. } if matches!(*left, Expr::Prefix { .. }) && operator.symbol() == "^" => {
            ("^", 2)
        }
        other => panic!("{sql}: {other:?}"),
    };
    assert_eq!(nested("a AND b IS DISTINCT FROM c = d OR e"), ("or", 2));
    assert_eq!(nested("a AND b IS NOT DISTINCT FROM c AND d"), ("and", 3));
    assert_eq!(nested("-2 ^ 2"), ("^", 2));
    assert_eq!(nested("a AND (b AND c)"), ("and", 2));
}

/// Messages point to places; these are the parser's, whichever tree has them.
#[test]
fn expressions_stand_where_the_parser_saw_them() {
    let dialect = sqlparser::dialect::PostgreSqlDialect {};
    // Clauses that are rewritten for the parser, or parsed otherwise than it does.
    let differs = |sql: &&&str| {
        !["SYMMETRIC", "EXCLUDE", "DISTINCT FROM", "ROW(", "FLOOR("].iter().any(|word| sql.contains(word))
    };
    for sql in EXPRESSIONS.iter().filter(differs) {
        let mut parser = Parser::new(&dialect).try_with_sql(sql).unwrap();
        let parser_span = super::span(parser.parse_expr().unwrap().span());
        let tree = crate::expression(sql).unwrap();
        let own = tree.span();
        assert_eq!((own.start, tree.start()), (parser_span.start, parser_span.start), "{sql}");
        // The parser leaves out the window of a call.
        assert!(own.end == parser_span.end || sql.contains("OVER"), "{sql}");
    }
}

#[test]
fn what_the_server_lacks_is_refused_where_it_stands() {
    for (sql, said, position) in [
        ("SELECT 1, X'1F'", "the literal X'1F' is not supported", Some(11)),
        ("SELECT a IS NORMALIZED", "IS NORMALIZED is not supported", Some(8)),
        ("SELECT first_value(a) IGNORE NULLS OVER w", "IGNORE NULLS or RESPECT NULLS is not supported", Some(8)),
        ("SELECT * FROM t TABLESAMPLE SYSTEM (1)", "TABLESAMPLE is not supported", Some(1)),
        ("SELECT 1 FETCH FIRST 1 PERCENT ROWS ONLY", "FETCH ... PERCENT is not supported", Some(1)),
        ("SELECT (a, b) OVERLAPS (c, d)", "OVERLAPS is not supported", Some(1)),
    ] {
        let error = statement(sql).unwrap_err();
        assert_eq!((error.code(), error.message(), error.fields().position), ("0A000", said, position), "{sql}");
    }
}

#[test]
fn a_walk_sees_every_expression_and_relation() {
    let tree = parsed(
        "WITH q AS (INSERT INTO a SELECT x1 FROM b RETURNING x2) SELECT DISTINCT ON (x3) x4, f(x5 ORDER BY x6) \
         FILTER (WHERE x7) OVER (PARTITION BY x8 ORDER BY x9 ROWS x10 PRECEDING), CASE x11 WHEN x12 THEN x13 ELSE x14 \
         END, x15[x16:x17] FROM c JOIN (SELECT x18 FROM d) v ON x19, g(x20) WHERE EXISTS (SELECT x21 FROM e) GROUP BY \
         x22, ROLLUP (x23, (x24, x25)) HAVING x26 BETWEEN x27 AND x28 WINDOW w AS (ORDER BY x29) ORDER BY x30 LIMIT \
         x31 OFFSET x32",
    );
    let mut names = vec![];
    let _: ControlFlow<()> = visit_expressions(&tree, |expr| {
        if let Expr::Identifier(name) = expr {
            names.push(name.value.clone());
        }
        ControlFlow::Continue(())
    });
    names.sort_by_key(|name| name[1..].parse::<u32>().unwrap());
    assert_eq!(names, (1..=32).map(|number| format!("x{number}")).collect::<Vec<_>>());
    let mut relations = vec![];
    let _: ControlFlow<()> = crate::ast::visit_relations(&tree, |name| {
        relations.push(name.to_string());
        ControlFlow::Continue(())
    });
    assert_eq!(relations, ["a", "b", "c", "d", "e"]);
    let mut changed = tree.clone();
    let _: ControlFlow<()> = crate::ast::visit_expressions_mut(&mut changed, |expr| {
        if let Expr::Identifier(name) = expr {
            name.value.insert(0, 'y');
        }
        ControlFlow::Continue(())
    });
    assert_eq!(changed.to_string(), tree.to_string().replace("x", "yx").replace("EyxISTS", "EXISTS"));
}

/// On the stack that a session handles statements on.
#[test]
fn trees_are_as_deep_as_depth_allows() {
    let chain = "1 + ".repeat(1900) + "1";
    let parentheses = format!("{}1{}", "(".repeat(100), ")".repeat(100));
    let conditions = "a = 1 AND ".repeat(600) + "a";
    for written in [chain, parentheses, conditions] {
        pgtypes::stack::ensure_statement_stack(usize::MAX, || {
            let tree = crate::expression(&written).unwrap();
            assert_eq!(tree.span().start.column, 1 + written.find(['1', 'a']).unwrap() as u32);
            assert_eq!(tree.clone(), tree);
            assert_eq!(tree.to_string(), written);
        });
    }
    let unions = format!("SELECT 1{}", " UNION SELECT 1".repeat(400));
    pgtypes::stack::ensure_statement_stack(usize::MAX, || assert_eq!(parsed(&unions).to_string(), unions));
}
