-- Partial indexes, indexes on expressions, INCLUDE, NULLS NOT DISTINCT, operator classes: what they enforce, how they print.
CREATE SCHEMA partial;
SET search_path = partial;
CREATE TABLE t (id int PRIMARY KEY, email varchar(40), name text, a int, b int, done boolean DEFAULT false, deleted_at timestamp, data jsonb, d date);
CREATE UNIQUE INDEX ON t (email) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX t_name_key ON t (lower(name));
CREATE INDEX ON t ((a + b));
CREATE INDEX ON t ((a + b), (b - a), lower(name)) WHERE a > 0 AND NOT done;
CREATE INDEX ON t ((data ->> 'k'));
CREATE INDEX ON t (a) INCLUDE (b, name);
CREATE INDEX ON t (((b)));
CREATE INDEX ON t (coalesce(a, 0), upper(email) DESC, extract(year FROM d) NULLS FIRST);
CREATE UNIQUE INDEX ON t (d) NULLS NOT DISTINCT WHERE done;
CREATE INDEX t_pattern ON t (name text_pattern_ops, email varchar_pattern_ops, a int4_ops);
CREATE INDEX IF NOT EXISTS t_pattern ON t (a);
CREATE INDEX t_pattern ON t (a);
CREATE INDEX ON t ((d::timestamp)) WHERE d > '2020-01-01';
CREATE INDEX ON t ((CASE WHEN a > 0 THEN a ELSE b END));
CREATE INDEX ON t (a, b) WHERE email LIKE 'x%' OR name IN ('p', 'q') OR a BETWEEN 1 AND 5;
CREATE INDEX ON t (btrim(name), (a IS NULL));
SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'partial' ORDER BY indexname COLLATE "C";
SELECT c.relname, i.indnatts, i.indnkeyatts, i.indisunique, i.indnullsnotdistinct, i.indkey, i.indoption, pg_get_expr(i.indpred, i.indrelid) AS pred, pg_get_expr(i.indpred, i.indrelid, true) AS pretty, i.indexprs IS NULL AS plain FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = 't'::regclass ORDER BY c.relname COLLATE "C";
SELECT c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), pg_get_indexdef(a.attrelid, a.attnum, true) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_index i ON i.indexrelid = c.oid WHERE i.indrelid = 't'::regclass ORDER BY c.relname COLLATE "C", a.attnum;
SELECT c.relname, p.opcname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid, unnest(i.indclass) WITH ORDINALITY k(oid, n) JOIN pg_opclass p ON p.oid = k.oid WHERE c.relname = 't_pattern' ORDER BY n;
\d t
CREATE INDEX ON t (lower(email)) WHERE a = ANY (ARRAY[1, 2]) AND name <> ALL ('{x,y}'::text[]) AND array_append(ARRAY[a], 2) @> ARRAY[1];
SELECT indexdef FROM pg_indexes WHERE indexname = 't_lower_idx';
-- What unique ones enforce.
INSERT INTO t (id, email, name) VALUES (1, 'x', 'Ann'), (2, 'y', 'Bob');
INSERT INTO t (id, email) VALUES (3, 'x');
INSERT INTO t (id, email, deleted_at) VALUES (3, 'x', '2024-01-01'), (4, 'x', '2024-01-02');
UPDATE t SET deleted_at = NULL WHERE id = 3;
UPDATE t SET deleted_at = '2024-02-01' WHERE id = 1;
UPDATE t SET deleted_at = NULL WHERE id = 3;
UPDATE t SET deleted_at = NULL WHERE id = 1;
INSERT INTO t (id, name) VALUES (5, 'ANN');
INSERT INTO t (id, name) VALUES (5, NULL), (6, NULL);
UPDATE t SET name = 'bOB' WHERE id = 1;
UPDATE t SET name = 'BOB' WHERE id = 2;
CREATE UNIQUE INDEX t_em ON t (upper(email), (a - 1)) WHERE a IS NOT NULL;
UPDATE t SET a = 1, email = 'z' WHERE id = 1;
INSERT INTO t (id, email, a, deleted_at) VALUES (30, 'Z', 1, 'infinity');
INSERT INTO t (id, done) VALUES (7, true);
INSERT INTO t (id, done) VALUES (8, true);
INSERT INTO t (id, done, d) VALUES (8, true, '2024-01-01'), (9, false, '2024-01-01');
UPDATE t SET done = true WHERE id = 9;
DELETE FROM t WHERE id = 8;
UPDATE t SET done = true WHERE id = 9;
CREATE TABLE q ("A" int UNIQUE, "b c" int);
INSERT INTO q VALUES (1, 1), (1, 2);
CREATE UNIQUE INDEX ON q (("A" + "b c"), "b c");
INSERT INTO q VALUES (1, 1);
INSERT INTO q VALUES (2, 1);
DROP TABLE q;
CREATE TABLE e (id int, v text);
INSERT INTO e VALUES (1, 'x'), (2, 'X'), (3, 'y');
CREATE UNIQUE INDEX e_lower ON e (lower(v));
CREATE UNIQUE INDEX e_lower ON e (lower(v)) WHERE id > 1;
INSERT INTO e VALUES (4, 'x');
INSERT INTO e VALUES (0, 'x');
CREATE UNIQUE INDEX ON e ((10 / (id - 7)));
INSERT INTO e VALUES (7, 'z');
DROP TABLE e;
-- ON CONFLICT.
INSERT INTO t (id, email) VALUES (20, 'c') ON CONFLICT (email) WHERE deleted_at IS NULL DO NOTHING;
INSERT INTO t (id, email) VALUES (21, 'c') ON CONFLICT (email) WHERE deleted_at IS NULL DO UPDATE SET a = 5 RETURNING id, email, a;
INSERT INTO t (id, email, deleted_at) VALUES (21, 'c', '2024-01-01') ON CONFLICT (email) WHERE deleted_at IS NULL DO UPDATE SET a = 5 RETURNING id, email, a;
INSERT INTO t (id, email) VALUES (22, 'c') ON CONFLICT (email) WHERE deleted_at IS NULL AND a > 3 DO UPDATE SET b = 6 RETURNING id, email, a, b;
INSERT INTO t (id, email) VALUES (22, 'c') ON CONFLICT (email) DO NOTHING;
INSERT INTO t (id, email) VALUES (22, 'c') ON CONFLICT (email) WHERE a > 3 DO NOTHING;
INSERT INTO t (id, name) VALUES (22, 'CARL') ON CONFLICT (lower(name)) DO UPDATE SET name = excluded.name || '!' RETURNING id, name;
INSERT INTO t (id, name) VALUES (23, 'Carl') ON CONFLICT (lower(name)) DO UPDATE SET name = excluded.name || '!' RETURNING id, name;
INSERT INTO t (id, name) VALUES (23, 'Carl!') ON CONFLICT ((lower(name))) DO NOTHING RETURNING id;
INSERT INTO t (id, name) VALUES (23, 'Carl!') ON CONFLICT (upper(name)) DO NOTHING;
INSERT INTO t (id, name) VALUES (23, 'Carl!') ON CONFLICT (lower(nix)) DO NOTHING;
INSERT INTO t (id, name) VALUES (23, 'Carl!') ON CONFLICT (lower(name)) WHERE nix DO NOTHING;
INSERT INTO t (id, name) VALUES (23, 'Dora'), (24, 'dora') ON CONFLICT (lower(name)) DO UPDATE SET a = 1;
INSERT INTO t (id, name) VALUES (23, 'Dora'), (24, 'dora') ON CONFLICT DO NOTHING RETURNING id;
SELECT id, email, name, a, b, deleted_at FROM t WHERE id > 19 ORDER BY id;
-- Refusals.
CREATE INDEX ON t ((now()));
CREATE INDEX ON t ((random()));
CREATE INDEX ON t (a) WHERE deleted_at < now();
CREATE INDEX ON t ((d::text));
CREATE INDEX ON t ((deleted_at::timestamptz));
CREATE INDEX ON t (concat(name, 'x'));
CREATE INDEX ON t (to_char(d, 'YYYY'));
CREATE INDEX ON t (to_char(a, '99'));
CREATE INDEX ON t (to_date(name, 'YYYY'));
CREATE INDEX ON t (format('%s', a));
CREATE INDEX ON t (nix);
CREATE INDEX ON t (a) INCLUDE (nix);
CREATE INDEX ON t (a) INCLUDE (lower(name));
CREATE INDEX ON t (a nix_ops);
CREATE INDEX ON t (a text_pattern_ops);
CREATE INDEX ON t ((data::json));
CREATE INDEX ON t USING nix (a);
CREATE UNIQUE INDEX ON t USING hash (a);
CREATE INDEX ON t USING hash (a, b);
CREATE INDEX ON t USING hash (a) INCLUDE (b);
-- Constraints.
CREATE TABLE k (a int, b int, c int, UNIQUE NULLS NOT DISTINCT (a, b), CONSTRAINT k_pk PRIMARY KEY (c) INCLUDE (b));
INSERT INTO k VALUES (1, NULL, 1), (1, NULL, 2);
INSERT INTO k VALUES (1, NULL, 1), (2, NULL, 2), (NULL, NULL, 3);
INSERT INTO k VALUES (NULL, NULL, 4);
INSERT INTO k VALUES (NULL, NULL, 4) ON CONFLICT (a, b) DO UPDATE SET c = 9 RETURNING *;
INSERT INTO k VALUES (5, 5, 1);
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'k'::regclass ORDER BY 1;
ALTER TABLE k ADD CONSTRAINT k_u UNIQUE (b, c) INCLUDE (a);
CREATE TABLE kc (a int UNIQUE NULLS NOT DISTINCT);
\d k
\d kc
CREATE UNIQUE INDEX kp ON k (b) WHERE b IS NOT NULL;
CREATE TABLE r (b int REFERENCES k (b));
-- What depends on columns.
CREATE TABLE dep (a int, b text, c int, e int);
CREATE INDEX dep_expr ON dep (lower(b));
CREATE INDEX dep_pred ON dep (a) WHERE c > 0;
CREATE INDEX dep_inc ON dep (a) INCLUDE (e);
CREATE INDEX dep_a ON dep (a);
SELECT d.objid::regclass, d.refobjid::regclass, d.refobjsubid, d.deptype FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'dep'::regclass) ORDER BY d.objid, 3, 4;
ALTER TABLE dep RENAME COLUMN c TO "See";
ALTER TABLE dep RENAME COLUMN b TO bee;
SELECT indexdef FROM pg_indexes WHERE tablename = 'dep' AND schemaname = 'partial' ORDER BY indexname;
INSERT INTO dep VALUES (1, 'X', 1, 1), (2, 'Y', -1, 2);
ALTER TABLE dep ALTER COLUMN "See" TYPE bigint;
ALTER TABLE dep ALTER COLUMN bee TYPE varchar(10);
ALTER TABLE dep ADD COLUMN f int DEFAULT 3;
SELECT indexdef FROM pg_indexes WHERE tablename = 'dep' AND schemaname = 'partial' ORDER BY indexname;
SELECT a FROM dep WHERE lower(bee) = 'y';
SELECT a FROM dep WHERE a > 0 AND "See" > 0;
ALTER TABLE dep ALTER COLUMN bee TYPE int USING 1;
ALTER TABLE dep DROP COLUMN bee;
ALTER TABLE dep DROP COLUMN "See";
ALTER TABLE dep DROP COLUMN e;
SELECT indexdef FROM pg_indexes WHERE tablename = 'dep' AND schemaname = 'partial' ORDER BY indexname;
DROP INDEX CONCURRENTLY dep_a;
-- Answers are the same with them as without.
CREATE TABLE s (id int PRIMARY KEY, status text, n int, x varchar(10), flag boolean);
INSERT INTO s SELECT g, CASE g % 4 WHEN 0 THEN 'open' WHEN 1 THEN 'done' WHEN 2 THEN 'Open' END, nullif(g % 10, 3), 'V' || g % 5, CASE WHEN g % 3 > 0 THEN g % 2 = 0 END FROM generate_series(1, 100) g;
CREATE INDEX ON s (n) WHERE status = 'open';
CREATE INDEX ON s (id) WHERE flag;
CREATE INDEX ON s (id) WHERE NOT flag;
CREATE INDEX ON s (n) WHERE n IS NOT NULL;
CREATE INDEX ON s (n, id) WHERE n > 4;
CREATE INDEX ON s (lower(status), n);
CREATE INDEX ON s (lower(x));
CREATE INDEX ON s ((n * 2));
SELECT id FROM s WHERE status = 'open' AND n = 2 ORDER BY id;
SELECT id FROM s WHERE status = 'done' AND n = 1 ORDER BY id LIMIT 3;
SELECT id FROM s WHERE status = 'open' AND n < 5 ORDER BY n, id LIMIT 4;
SELECT id FROM s WHERE flag AND id < 20 ORDER BY id;
SELECT id FROM s WHERE flag = true AND id < 20 ORDER BY id;
SELECT id FROM s WHERE flag IS TRUE AND id < 20 ORDER BY id;
SELECT id FROM s WHERE NOT flag AND id < 20 ORDER BY id;
SELECT id FROM s WHERE flag = false AND id < 20 ORDER BY id;
SELECT id FROM s WHERE flag IS FALSE AND id < 20 ORDER BY id;
SELECT id FROM s WHERE flag IS NOT TRUE AND id < 10 ORDER BY id;
SELECT id FROM s WHERE flag IS NOT FALSE AND id < 10 ORDER BY id;
SELECT id FROM s WHERE flag IS NULL AND id < 10 ORDER BY id;
SELECT id FROM s WHERE flag IS DISTINCT FROM false AND id < 10 ORDER BY id;
SELECT count(*), min(n), max(n) FROM s WHERE n = 5;
SELECT count(*), min(n), max(n) FROM s WHERE n > 5;
SELECT count(*), min(n), max(n) FROM s WHERE n >= 4;
SELECT count(*), min(n), max(n) FROM s WHERE n IN (5, 6);
SELECT count(*), min(n), max(n) FROM s WHERE n IN (3, 4, 6);
SELECT count(*), min(n), max(n) FROM s WHERE n = 7 OR n = 8;
SELECT count(*), min(n), max(n) FROM s WHERE n = 7 OR n = 2;
SELECT count(*), min(n), max(n) FROM s WHERE n <> 4;
SELECT count(*) FROM s WHERE n IS NULL;
SELECT min(n), max(n) FROM s;
SELECT id, n FROM s WHERE n > 4 ORDER BY n, id LIMIT 3;
SELECT id, n FROM s ORDER BY n DESC NULLS LAST, id LIMIT 3;
SELECT id FROM s WHERE lower(status) = 'open' AND n = 2 ORDER BY id;
SELECT lower(status), n FROM s WHERE lower(status) > 'done' ORDER BY lower(status), n LIMIT 3;
SELECT lower(status) FROM s ORDER BY lower(status), n LIMIT 2;
SELECT id FROM s WHERE lower(x) = 'v3' AND id < 20 ORDER BY id;
SELECT id FROM s WHERE lower(x) IN ('v3', 'v4') AND id < 10 ORDER BY id;
SELECT id FROM s WHERE lower(x) LIKE 'v1%' AND id < 20 ORDER BY id;
SELECT id FROM s WHERE n * 2 = 8 ORDER BY id LIMIT 2;
SELECT id FROM s WHERE n * 2 BETWEEN 15 AND 17 ORDER BY id LIMIT 2;
UPDATE s SET n = n + 1 WHERE n * 2 > 14;
UPDATE s SET status = 'done' WHERE status = 'open' AND n < 4;
UPDATE s SET flag = NOT flag WHERE flag AND id < 30;
DELETE FROM s WHERE lower(x) = 'v2';
SELECT count(*), sum(id), sum(n), count(flag) FROM s;
SELECT count(*) FROM s WHERE n * 2 > 14;
SELECT count(*) FROM s WHERE status = 'open' AND n < 4;
PREPARE p (text, int) AS SELECT count(*) FROM s WHERE status = $1 AND n = $2;
EXECUTE p ('open', 4);
EXECUTE p ('done', 1);
PREPARE l (text) AS SELECT count(*) FROM s WHERE lower(status) = $1;
EXECUTE l ('open');
BEGIN;
COPY s FROM STDIN;
500	open	2	V1	t
501	open	2	V1	f
\.
SELECT id FROM s WHERE status = 'open' AND n = 2 ORDER BY id;
SAVEPOINT a;
UPDATE s SET status = 'shut' WHERE id = 500;
SELECT id FROM s WHERE status = 'open' AND n = 2 ORDER BY id;
ROLLBACK TO a;
SELECT id FROM s WHERE status = 'open' AND n = 2 ORDER BY id;
ROLLBACK;
COPY s FROM STDIN WHERE id % 2 = 1 AND status IS NOT NULL;
601	open	2	V1	t
602	open	2	V1	f
603	\N	2	V1	f
605	open	\N	V1	\N
\.
COPY s (id, n) FROM STDIN (FORMAT csv) WHERE n > 5;
701,6
702,5
703,
\.
SELECT id FROM s WHERE id > 600 ORDER BY id;
COPY s TO STDOUT WHERE id > 600;
TRUNCATE s;
INSERT INTO s VALUES (1, 'open', 2, 'V1', true);
SELECT id FROM s WHERE status = 'open' AND n = 2;
CREATE TABLE renamed (v varchar(5), n int);
CREATE UNIQUE INDEX ON renamed (lower(v), (n / 2)) WHERE n > 0 AND v <> 'x';
ALTER TABLE renamed RENAME COLUMN v TO "W x";
ALTER TABLE renamed RENAME n TO m;
INSERT INTO renamed VALUES ('A', 2);
INSERT INTO renamed VALUES ('a', 3);
\d renamed
SET client_min_messages = warning;
DROP SCHEMA partial CASCADE;
