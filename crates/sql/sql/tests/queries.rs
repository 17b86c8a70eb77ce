//! Queries end to end: text in, rows out, as PostgreSQL 15 answers them.

mod common;

use common::{Client, database};

const SCHEMA: &str = "
    CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL, country varchar(20));
    CREATE TABLE products (id int PRIMARY KEY, name text UNIQUE, kind text, price numeric(8,2));
    CREATE TABLE orders (id int PRIMARY KEY, customer int, placed date);
    CREATE INDEX ON orders (customer, placed);
    CREATE TABLE details (order_id int, product int, amount int, UNIQUE (order_id, product));
    CREATE TABLE people (id bigint PRIMARY KEY, name text, boss int);
    INSERT INTO customers VALUES (1, 'Ana', 'Peru'), (2, 'Bo', 'Japan'), (3, 'Cy', 'Japan'), (4, 'Di', NULL);
    INSERT INTO products VALUES (1, 'apple', 'fruit', 1.50), (2, 'basil', 'herb', 2.25), (3, 'carrot', 'root', 0.80), (4, 'cashew', 'nut', 9.00), (5, 'kale', 'leaf', NULL), (6, 'lime', 'fruit', 0.50);
    INSERT INTO orders VALUES (1, 2, '2024-01-01'), (2, 1, '2024-01-02'), (3, 2, '2024-01-03'), (4, 3, '2024-01-03'), (5, 9, '2024-01-07'), (6, NULL, '2024-01-01');
    INSERT INTO details VALUES (1, 1, 3), (1, 2, 1), (1, 3, 5), (2, 1, 2), (3, 4, 1), (4, 2, 6), (4, 3, 1), (5, NULL, 7);
    INSERT INTO people VALUES (1, 'root', NULL), (2, 'left', 1), (3, 'right', 1), (4, 'leaf', 3);
";

/// A query and its rows, as `psql -At` prints them.
const QUERIES: &[(&str, &str)] = &[
    // IS DISTINCT FROM binds more tightly than AND and OR, and less tightly than comparisons.
    (
        "SELECT false AND 1 IS DISTINCT FROM 2 OR true, true OR 1 IS NOT DISTINCT FROM 2 AND false, true IS DISTINCT FROM 1 = 2",
        "t|t|t",
    ),
    ("SELECT -2 ^ 2, - -2, 2 - -2, -2 ^ 2 ^ 3", "4|2|4|64"),
    // A window ordered by something volatile is a window of its own.
    ("SELECT count(*) OVER (ORDER BY random() < 2), rank() OVER (ORDER BY random() < 2) FROM people LIMIT 1", "4|1"),
    (
        "SELECT c.name, p.name, d.amount FROM customers c JOIN orders o ON o.customer = c.id JOIN details d \
         ON d.order_id = o.id JOIN products p ON p.id = d.product WHERE c.country = 'Japan' ORDER BY 1, 2, 3",
        "Bo|apple|3\n\
         Bo|basil|1\n\
         Bo|carrot|5\n\
         Bo|cashew|1\n\
         Cy|basil|6\n\
         Cy|carrot|1",
    ),
    (
        "SELECT c.name, count(o.id) FROM customers c LEFT JOIN orders o ON o.customer = c.id GROUP BY c.name \
         ORDER BY 2 DESC, 1",
        "Bo|2\n\
         Ana|1\n\
         Cy|1\n\
         Di|0",
    ),
    (
        "SELECT p.name, sum(d.amount * p.price) AS revenue FROM products p, details d, orders o WHERE p.id = \
         d.product AND d.order_id = o.id AND o.placed >= '2024-01-03' GROUP BY p.name HAVING sum(d.amount) > \
         1 ORDER BY revenue DESC, 1",
        "basil|13.50",
    ),
    (
        "SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id) ORDER \
         BY 1",
        "Di",
    ),
    (
        "SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o JOIN details d ON d.order_id = \
         o.id WHERE o.customer = c.id AND d.amount > 4) ORDER BY 1",
        "Bo\n\
         Cy",
    ),
    (
        "SELECT name FROM products WHERE id NOT IN (SELECT product FROM details WHERE product IS NOT NULL) \
         ORDER BY 1",
        "kale\n\
         lime",
    ),
    ("SELECT name FROM products WHERE id NOT IN (SELECT product FROM details) ORDER BY 1", ""),
    (
        "SELECT id FROM orders WHERE customer IN (SELECT id FROM customers WHERE country = 'Peru') ORDER BY \
         id",
        "2",
    ),
    (
        "SELECT p.name, (SELECT max(amount) FROM details d WHERE d.product = p.id) FROM products p ORDER BY \
         p.id",
        "apple|3\n\
         basil|6\n\
         carrot|5\n\
         cashew|1\n\
         kale|\n\
         lime|",
    ),
    (
        "SELECT name FROM products p WHERE price > (SELECT avg(q.price) FROM products q WHERE q.kind = \
         p.kind) ORDER BY 1",
        "apple",
    ),
    (
        "WITH RECURSIVE chain AS (SELECT id, name, boss, 1 AS level FROM people WHERE boss IS NULL UNION ALL \
         SELECT p.id, p.name, p.boss, level + 1 FROM people p JOIN chain ON p.boss = chain.id) SELECT level, \
         string_agg(name, ',' ORDER BY name) FROM chain GROUP BY level ORDER BY level",
        "1|root\n\
         2|left,right\n\
         3|leaf",
    ),
    (
        "WITH RECURSIVE n(n) AS (SELECT 1 UNION SELECT n % 3 + 1 FROM n) SELECT * FROM n ORDER BY 1",
        "1\n\
         2\n\
         3",
    ),
    (
        "WITH totals AS (SELECT customer, count(*) AS n FROM orders GROUP BY customer) SELECT a.customer, \
         b.customer FROM totals a JOIN totals b ON a.n = b.n AND a.customer < b.customer ORDER BY 1, 2",
        "1|3\n\
         1|9\n\
         3|9",
    ),
    (
        "SELECT country, count(*), grouping(country) FROM customers GROUP BY ROLLUP (country) ORDER BY 3, 1",
        "Japan|2|0\n\
         Peru|1|0\n\
         |1|0\n\
         |4|1",
    ),
    (
        "SELECT kind, id, rank() OVER w, row_number() OVER w, lag(id) OVER w, sum(price) OVER (PARTITION BY \
         kind) FROM products WINDOW w AS (PARTITION BY kind ORDER BY price DESC, id) ORDER BY kind, 3, id",
        "fruit|1|1|1||2.00\n\
         fruit|6|2|2|1|2.00\n\
         herb|2|1|1||2.25\n\
         leaf|5|1|1||\n\
         nut|4|1|1||9.00\n\
         root|3|1|1||0.80",
    ),
    (
        "SELECT placed, count(*) OVER (ORDER BY placed RANGE BETWEEN interval '1 day' PRECEDING AND CURRENT \
         ROW) FROM orders ORDER BY placed, 2",
        "2024-01-01|2\n\
         2024-01-01|2\n\
         2024-01-02|3\n\
         2024-01-03|3\n\
         2024-01-03|3\n\
         2024-01-07|1",
    ),
    (
        "SELECT n, sum(n) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING), sum(n) OVER (ORDER BY n \
         GROUPS 1 PRECEDING) FROM generate_series(1, 4) n",
        "1|3|1\n\
         2|6|3\n\
         3|9|5\n\
         4|7|7",
    ),
    (
        "SELECT DISTINCT ON (customer) customer, id FROM orders ORDER BY customer, placed DESC, id",
        "1|2\n\
         2|3\n\
         3|4\n\
         9|5\n\
         |6",
    ),
    (
        "SELECT country FROM customers UNION SELECT kind FROM products ORDER BY 1",
        "Japan\n\
         Peru\n\
         fruit\n\
         herb\n\
         leaf\n\
         nut\n\
         root\n\
         ",
    ),
    (
        "SELECT customer FROM orders EXCEPT ALL SELECT id FROM customers ORDER BY 1",
        "2\n\
         9\n\
         ",
    ),
    (
        "SELECT customer FROM orders INTERSECT SELECT id FROM customers WHERE country <> 'Peru' ORDER BY 1",
        "2\n\
         3",
    ),
    (
        "SELECT c.name, last.id FROM customers c CROSS JOIN LATERAL (SELECT id FROM orders o WHERE o.customer \
         = c.id ORDER BY placed DESC, id DESC LIMIT 1) last ORDER BY 1",
        "Ana|2\n\
         Bo|3\n\
         Cy|4",
    ),
    (
        "SELECT a, b FROM generate_series(1, 3) a FULL JOIN generate_series(2, 4) b ON a = b ORDER BY 1, 2",
        "1|\n\
         2|2\n\
         3|3\n\
         |4",
    ),
    (
        "SELECT id FROM orders ORDER BY id DESC LIMIT 3",
        "6\n\
         5\n\
         4",
    ),
    (
        "SELECT id FROM orders WHERE id BETWEEN 2 AND 4 ORDER BY id",
        "2\n\
         3\n\
         4",
    ),
    (
        "SELECT id FROM orders WHERE id IN (3, 1, 99, 3) ORDER BY id",
        "1\n\
         3",
    ),
    (
        "SELECT id FROM orders WHERE id = ANY ('{5,2}') ORDER BY id",
        "2\n\
         5",
    ),
    (
        "SELECT name FROM products WHERE name LIKE 'ca%' ORDER BY name",
        "carrot\n\
         cashew",
    ),
    (
        "SELECT product, amount FROM details WHERE order_id = 1 AND product > 1 ORDER BY product",
        "2|1\n\
         3|5",
    ),
    (
        "SELECT customer, placed FROM orders ORDER BY placed FETCH FIRST 1 ROW WITH TIES",
        "2|2024-01-01\n\
         |2024-01-01",
    ),
    (
        "SELECT count(DISTINCT customer), count(*) FILTER (WHERE id > 2), array_agg(id ORDER BY id DESC) FROM \
         orders",
        "4|4|{6,5,4,3,2,1}",
    ),
    (
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY price), mode() WITHIN GROUP (ORDER BY kind) FROM \
         products",
        "1.5|fruit",
    ),
    (
        "SELECT CASE kind WHEN 'fruit' THEN 1 WHEN 'herb' THEN 2 ELSE 3 END AS k, coalesce(nullif(name, \
         'kale'), '?') FROM products ORDER BY 1, 2",
        "1|apple\n\
         1|lime\n\
         2|basil\n\
         3|?\n\
         3|carrot\n\
         3|cashew",
    ),
    (
        "SELECT (1, 2) < (1, 3), (1, NULL) = (2, NULL), (1, NULL) = (1, NULL), NULL IS DISTINCT FROM 1, \
         greatest(1, NULL, 3), least(2, 1)",
        "t|f||t|3|1",
    ),
    (
        "SELECT 1 IN (2, NULL), 1 IN (1, NULL), 1 NOT IN (2, NULL), NULL IN (1), 2 = ALL (ARRAY[2, 2]), 2 <> \
         ALL (ARRAY[1, NULL])",
        "|t|||t|",
    ),
    (
        "SELECT (ARRAY[1, 2, 3])[2], (ARRAY[1, 2, 3])[2:], (ARRAY[1, 2, 3])[9], ARRAY(SELECT id FROM \
         customers ORDER BY id DESC)",
        "2|{2,3}||{4,3,2,1}",
    ),
    (
        "SELECT x, generate_series(1, x) FROM generate_series(1, 3) x ORDER BY 1, 2",
        "1|1\n\
         2|1\n\
         2|2\n\
         3|1\n\
         3|2\n\
         3|3",
    ),
    (
        "SELECT count(*) FROM customers a, customers b, customers c WHERE a.country = b.country AND b.country \
         = c.country",
        "9",
    ),
    (
        "SELECT name FROM customers WHERE country = (SELECT country FROM customers WHERE id = 1) ORDER BY \
         name",
        "Ana",
    ),
    (
        "SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON c.id = o.customer AND c.country = 'Japan' \
         WHERE o.id < 4 ORDER BY 1",
        "1|Bo\n\
         2|\n\
         3|Bo",
    ),
    (
        "SELECT o.id FROM orders o LEFT JOIN customers c ON c.id = o.customer WHERE c.country = 'Japan' ORDER \
         BY 1",
        "1\n\
         3\n\
         4",
    ),
    (
        "SELECT a.name, b.name FROM people a RIGHT JOIN people b ON a.id = b.boss ORDER BY 2",
        "right|leaf\n\
         root|left\n\
         root|right\n\
         |root",
    ),
];

#[test]
fn queries_answer_as_postgresql_does() {
    let database = database();
    let mut client = Client::new(&database);
    client.run(SCHEMA);
    for (query, expected) in QUERIES {
        assert_eq!(client.show(query), *expected, "{query}");
    }
}

/// What is computed with a constant is not what is computed with another that only equals it.
#[test]
fn equal_constants_are_not_the_same() {
    let mut client = Client::new(&database());
    client.run("CREATE TABLE d (ts timestamp, n numeric); INSERT INTO d VALUES ('2024-01-30', 1), ('2024-01-31', 2)");
    for (query, expected) in [
        (
            "SELECT max(ts + interval '1 month'), max(ts + interval '30 days') FROM d",
            "2024-02-29 00:00:00|2024-03-01 00:00:00",
        ),
        ("SELECT sum(n * 1.0), sum(n * 1.00) FROM d", "3.0|3.00"),
        ("SELECT max(n::float8 * '-0'::float8), max(n::float8 * '0'::float8) FROM d", "-0|0"),
        ("SELECT max(concat(n, 'a '::bpchar, '|')), max(concat(n, 'a'::bpchar, '|')) FROM d", "2a ||2a|"),
        ("SELECT max(concat(n, '1.0'::jsonb)), max(concat(n, '1.00'::jsonb)) FROM d", "21.0|21.00"),
        ("SELECT max(concat(n, '{1.0}'::numeric[])), max(concat(n, '{1.00}'::numeric[])) FROM d", "2{1.0}|2{1.00}"),
        (
            "SELECT ts + interval '30 days' FROM d GROUP BY ts, ts + interval '1 month' ORDER BY ts",
            "2024-02-29 00:00:00\n2024-03-01 00:00:00",
        ),
        (
            "SELECT n, rank() OVER (ORDER BY ts + interval '1 month'), rank() OVER (ORDER BY ts + interval '30 days') \
             FROM d ORDER BY n",
            "1|1|1\n2|1|2",
        ),
        (
            "SELECT n FROM d WHERE (ts + interval '1 month' < '2024-03-01' AND n = 1) \
             OR (ts + interval '30 days' < '2024-03-01' AND n = 2)",
            "1",
        ),
    ] {
        assert_eq!(client.show(query), expected, "{query}");
    }
    for (query, code) in [
        ("SELECT n * 1.00 FROM d GROUP BY n * 1.0", "42803"),
        ("SELECT DISTINCT ts + interval '1 month' FROM d ORDER BY ts + interval '30 days'", "42P10"),
    ] {
        assert_eq!(client.fails(query).code(), code, "{query}");
    }
}

#[test]
fn explain_shows_the_plan() {
    let database = database();
    let mut client = Client::new(&database);
    client.run(SCHEMA);
    let cases = [
        ("SELECT * FROM orders WHERE id = 3", "Index Scan using orders_pkey on orders\n  Index Cond: (id = 3)"),
        (
            "SELECT * FROM orders ORDER BY id DESC LIMIT 2",
            "Limit\n  ->  Index Scan Backward using orders_pkey on orders",
        ),
        (
            "SELECT o.id FROM customers c JOIN orders o ON o.customer = c.id WHERE c.id = 2",
            "Nested Loop\n  ->  Index Scan using customers_pkey on customers\n        \
             Index Cond: (customers.id = 2)\n  ->  Materialize\n        ->  Index Scan using orders_customer_placed_idx on orders\n              \
             Index Cond: (orders.customer = 2)",
        ),
        (
            "DELETE FROM orders WHERE customer = 2",
            "Delete on orders\n  ->  Index Scan using orders_customer_placed_idx on orders\n        \
             Index Cond: (customer = 2)",
        ),
        (
            "SELECT name FROM products WHERE name LIKE 'ca%'",
            "Index Scan using products_name_key on products\n  \
             Index Cond: ((name >= 'ca'::text) AND (name < 'cb'::text))\n  Filter: (name ~~ 'ca%'::text)",
        ),
    ];
    for (query, expected) in cases {
        assert_eq!(client.show(&format!("EXPLAIN (COSTS OFF) {query}")), expected, "{query}");
    }
    let analyzed = client.show("EXPLAIN ANALYZE SELECT count(*) FROM orders");
    assert!(analyzed.contains("rows=6 loops=1"), "{analyzed}");
}

/// After a schema the words of special calls are plain names (pgAdmin).
#[test]
fn a_qualified_substring_is_a_plain_function() {
    let mut client = Client::new(&database());
    let query = "select pg_catalog.substring('Thomas', '...$'), pg_catalog.substring('Thomas', 2, 3), pg_catalog.SubString('Thomas', 5)";
    assert_eq!(client.show(query), "mas|hom|as");
    client.run("create view v as select pg_catalog.substring('Thomas', 2) s");
    assert_eq!(client.show("select s, pg_get_viewdef('v') ~* 'substring' from v"), "homas|t");
    assert_eq!(client.fails("select pg_catalog.substring('Thomas' from 2)").code(), "42601");
}
