-- Rows as values: the names and types of their fields, as JSON and as texts.
CREATE SCHEMA rows;
SET search_path = rows;
SET timezone = 'Asia/Tokyo';
CREATE TABLE t (id int, "Name" text, at timestamptz, doc jsonb, tags text[]);
INSERT INTO t VALUES (1, 'a "b"', '2024-01-02 03:04:05+00', '{"x": [1, 2]}', '{p,q}'), (2, NULL, NULL, NULL, NULL);
SELECT row_to_json(t), row_to_json(t.*), to_json(t), to_json(t.*) FROM t WHERE id = 1;
SELECT to_jsonb(t), to_jsonb(t.*) FROM t ORDER BY id;
SELECT json_agg(t), json_agg(t.*) FROM t;
SELECT jsonb_agg(t ORDER BY id DESC), jsonb_agg(t.*) FROM t;
SELECT to_json(array_agg(t)), to_jsonb(array_agg(t)), array_to_json(array_agg(t)) FROM t;
SELECT to_json(array(SELECT t FROM t ORDER BY id)), json_build_object('all', array_agg(t)), json_build_array(1, array_agg(t)) FROM t;
SELECT row_to_json(s) FROM (SELECT id, t AS whole FROM t) s WHERE id = 1;
SELECT row_to_json(s) FROM (SELECT t.id, (SELECT u FROM t u WHERE u.id = t.id) AS other FROM t) s WHERE id = 2;
SELECT to_json(x.r), json_agg(x.r) FROM (SELECT t AS r FROM t WHERE id = 1) x GROUP BY x.r::text, x.r;
SELECT json_build_object('row', t.*, 'n', 1), jsonb_build_object('row', t), json_object_agg(id, t) FROM t WHERE id = 1 GROUP BY t.*, t.id;
SELECT row_to_json(ROW(1, 'x', now() IS NULL)), to_json(ROW(1, ROW(2, 'y'))), to_json(ARRAY[ROW(1, 2)]);
SELECT row_to_json(v) FROM (VALUES (1, 'x')) v(number, word);
SELECT row_to_json(g) FROM generate_series(1, 1) g(n);
WITH w AS (SELECT 1 AS one, '2'::bytea AS two) SELECT row_to_json(w), json_agg(w.*) FROM w GROUP BY w.*;
SELECT json_agg(at), json_agg(at ORDER BY at), jsonb_agg(at), json_object_agg(id, at) FROM t;
SELECT json_agg(t.tags), json_agg('1 day'::interval), json_agg(doc) FROM t;
SELECT t, t.*::text, (t).id, ROW(t.*)::text FROM t ORDER BY id;
SELECT ROW(true, 'x'::char(3), '{1,NULL}'::int[], NULL)::text, count(t.*), count(t) FROM t;
SELECT id FROM t WHERE t.* IS NULL;
SELECT id, t.* IS NULL, t.* IS NOT NULL, t IS NULL, rows.t.* IS NULL FROM t ORDER BY id;
SELECT count(*) FROM t a JOIN t b ON a.* = b.* WHERE a.id = 1;
SELECT a.id FROM t a LEFT JOIN t b ON b.id = a.id + 1 WHERE b.* IS NULL;
SELECT array_agg(t) FROM (SELECT id, tags FROM t) t;
DROP TABLE t;
DROP SCHEMA rows;

-- Distinct values in JSON print in the session's styles, in the order of the values.
SET timezone = 'Europe/Berlin';
SELECT json_agg(DISTINCT t), jsonb_agg(DISTINCT t), json_agg(DISTINCT t ORDER BY t DESC) FROM (VALUES (timestamptz '2020-01-01 00:00Z'), ('2020-06-01 00:00Z'), ('2020-01-01 00:00Z'), (NULL)) v(t);
SELECT json_agg(DISTINCT i), json_agg(DISTINCT b) FROM (VALUES (interval '1 day', bytea '\x10'), ('2 hours', '\x09'), ('24 hours', '\x10')) v(i, b);
SELECT jsonb_object_agg(DISTINCT k, t) FROM (VALUES ('a', timestamptz '2020-01-01 00:00Z'), ('a', '2020-01-01 00:00Z'), ('b', '2020-06-01 00:00Z')) v(k, t);
SELECT json_agg(DISTINCT v.*) FROM (VALUES (2, 'x'), (10, 'y'), (2, 'x')) v(a, b);
SELECT json_agg(DISTINCT t ORDER BY t::date) FROM (VALUES (timestamptz '2020-01-01 00:00Z')) v(t);
RESET timezone;
SELECT json_agg(DISTINCT j) FROM (VALUES (json '1'), ('2')) v(j);
SELECT DISTINCT j FROM (VALUES (json '1'), ('2')) v(j);
SELECT j FROM (VALUES (json '1'), ('2')) v(j) GROUP BY j;

RESET search_path;
-- Rows that are values have an order in which NULLs are equal; rows that are written out compare field by field.
CREATE TABLE one (x int, y int);
CREATE TABLE two (x int, y int);
INSERT INTO one VALUES (1, NULL);
INSERT INTO two VALUES (1, NULL), (1, 2);
SELECT one.* = two.* AS equal, one = two AS same, one.* < two.* AS less, one.* <> two.* AS other, ROW(one.x, one.y) = ROW(two.x, two.y) AS written, (one.x, one.y) < (two.x, two.y) AS before FROM one, two ORDER BY two.y;
SELECT count(*) FROM one JOIN two ON one.* = two.*;
SELECT count(*) FROM one JOIN two ON one.* IS DISTINCT FROM two.*;
DROP TABLE one, two;
