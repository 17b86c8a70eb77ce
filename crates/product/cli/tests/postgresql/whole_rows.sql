-- The row of a table as a value: NULL where an outer join found no row, a row of NULLs where it found one.
CREATE SCHEMA whole_rows;
SET search_path TO whole_rows;
CREATE TABLE t (id integer PRIMARY KEY, u_id integer);
CREATE TABLE keyed (id integer PRIMARY KEY, name text);
CREATE TABLE loose (id integer, name text);
INSERT INTO t VALUES (1, 1), (2, 2), (3, NULL);
INSERT INTO keyed VALUES (1, 'one'), (4, NULL);
INSERT INTO loose VALUES (1, 'one'), (NULL, NULL), (4, NULL);
CREATE VIEW seen AS SELECT id, name FROM loose;

SELECT t.id, u FROM t LEFT JOIN keyed u ON u.id = t.u_id ORDER BY t.id;
SELECT t.id, u FROM t LEFT JOIN loose u ON u.id = t.u_id ORDER BY t.id;
SELECT t.id, seen FROM t LEFT JOIN seen ON seen.id = t.u_id ORDER BY t.id;
SELECT t.id, s FROM t LEFT JOIN (SELECT id, name FROM loose) s ON s.id = t.u_id ORDER BY t.id;
WITH s AS (SELECT id, name FROM loose) SELECT t.id, s FROM t LEFT JOIN s ON s.id = t.u_id ORDER BY t.id;
SELECT t.id, s FROM t LEFT JOIN (VALUES (1, 'one'), (4, NULL)) s(id, name) ON s.id = t.u_id ORDER BY t.id;
SELECT t.id, s FROM t LEFT JOIN LATERAL (SELECT l.* FROM loose l WHERE l.id = t.u_id) s ON true ORDER BY t.id;
SELECT t.id, g FROM t LEFT JOIN generate_series(1, 1) g ON g = t.u_id ORDER BY t.id;

-- A row of NULLs that is found.
SELECT u, u IS NULL AS is_null, u IS NOT NULL AS is_not_null, u::text FROM t LEFT JOIN loose u ON u.id IS NULL ORDER BY t.id LIMIT 1;
SELECT s, s IS NULL AS is_null, s IS NOT NULL AS is_not_null FROM t LEFT JOIN (SELECT id, name FROM loose) s ON s.id = t.u_id OR s.id IS NULL ORDER BY t.id, s.id;

-- RIGHT, FULL, nested and merged joins.
SELECT u, t.id FROM loose u RIGHT JOIN t ON u.id = t.u_id ORDER BY t.id;
SELECT t, u FROM t FULL JOIN loose u ON u.id = t.u_id ORDER BY t.id, u.id;
SELECT t.id, u, k FROM t LEFT JOIN (loose u LEFT JOIN keyed k ON k.id = u.id + 3) ON u.id = t.u_id ORDER BY t.id;
SELECT t.id, u, k FROM t LEFT JOIN (loose u JOIN keyed k ON k.id = u.id) ON u.id = t.u_id ORDER BY t.id;
SELECT t.id, u, v FROM t LEFT JOIN loose u ON u.id = t.u_id LEFT JOIN loose v ON v.id = u.id + 3 ORDER BY t.id;
SELECT t.id, u, v FROM loose v RIGHT JOIN (loose u RIGHT JOIN t ON u.id = t.u_id) ON v.id = t.id + 3 ORDER BY t.id;
SELECT id, t, u FROM t FULL JOIN loose u USING (id) ORDER BY id, u.name;
SELECT id, t, u FROM t NATURAL LEFT JOIN loose u ORDER BY id;
SELECT t.id, j FROM t LEFT JOIN (loose u JOIN keyed k ON k.id = u.id) AS j(a, b, c, d) ON j.a = t.u_id ORDER BY t.id;

-- Uses of the value.
SELECT t.id, row_to_json(u), to_jsonb(u) FROM t LEFT JOIN loose u ON u.id = t.u_id ORDER BY t.id;
SELECT t.id, row_to_json(s) FROM t LEFT JOIN (SELECT id AS a FROM loose) s ON s.a = t.u_id ORDER BY t.id;
SELECT count(u), count(u.*), count(*) FROM t LEFT JOIN loose u ON u.id = t.u_id;
SELECT json_agg(u ORDER BY t.id) FROM t LEFT JOIN keyed u ON u.id = t.u_id;
SELECT array_agg(u ORDER BY t.id) FROM t LEFT JOIN loose u ON u.id = t.u_id;
SELECT t.id, coalesce(u::text, 'none') FROM t LEFT JOIN loose u ON u.id = t.u_id ORDER BY t.id;
SELECT t.id, u IS NULL AS is_null, u IS NOT NULL AS is_not_null FROM t LEFT JOIN loose u ON u.id = t.u_id ORDER BY t.id;
SELECT t.id FROM t LEFT JOIN loose u ON u.id = t.u_id WHERE u IS NULL ORDER BY t.id;
SELECT t.id FROM t LEFT JOIN keyed u ON u.id = t.u_id WHERE u IS NOT NULL ORDER BY t.id;
SELECT t.id, (u).name, u.name FROM t LEFT JOIN loose u ON u.id = t.u_id ORDER BY t.id;
SELECT t.id, (u).* FROM t LEFT JOIN loose u ON u.id = t.u_id ORDER BY t.id;
SELECT t.id, u = v AS same, u IS DISTINCT FROM v AS other FROM t LEFT JOIN loose u ON u.id = t.u_id LEFT JOIN loose v ON v.id = t.u_id ORDER BY t.id;
SELECT t.id, u = ROW(1, 'one'::text) AS same FROM t LEFT JOIN keyed u ON u.id = t.u_id ORDER BY t.id;
SELECT t.id, s::loose FROM t LEFT JOIN (SELECT id, name FROM keyed) s ON s.id = t.u_id ORDER BY t.id;
SELECT u, count(*) FROM t LEFT JOIN loose u ON u.id = t.u_id GROUP BY u ORDER BY 2;
SELECT u.id, u, count(*) FROM t LEFT JOIN keyed u ON u.id = t.u_id GROUP BY u.id ORDER BY 1;
SELECT DISTINCT u FROM t LEFT JOIN loose u ON u.id = t.u_id ORDER BY u;
SELECT t.id, (SELECT u FROM keyed k WHERE k.id = 1) FROM t LEFT JOIN loose u ON u.id = t.u_id ORDER BY t.id;
SELECT s.id, s.u FROM (SELECT t.id, u FROM t LEFT JOIN loose u ON u.id = t.u_id) s ORDER BY 1;
SELECT t.id FROM t LEFT JOIN loose u ON u.id = t.u_id ORDER BY u DESC, t.id;
SELECT t.id, lag(u) OVER (ORDER BY t.id) FROM t LEFT JOIN loose u ON u.id = t.u_id ORDER BY t.id;

-- Views and writes.
CREATE VIEW joined AS SELECT t.id, u AS whole FROM t LEFT JOIN loose u ON u.id = t.u_id;
SELECT * FROM joined ORDER BY id;
CREATE TABLE kept (id integer, whole loose, shown text);
INSERT INTO kept SELECT t.id, u, u::text FROM t LEFT JOIN loose u ON u.id = t.u_id;
SELECT * FROM kept ORDER BY id;
UPDATE kept SET shown = coalesce(u::text, 'none') FROM t LEFT JOIN loose u ON u.id = t.u_id WHERE t.id = kept.id RETURNING kept.id, shown, u;
DELETE FROM kept USING t LEFT JOIN loose u ON u.id = t.u_id WHERE t.id = kept.id AND u IS NULL RETURNING kept.id, u;
MERGE INTO kept USING (t LEFT JOIN loose u ON u.id = t.u_id) ON kept.id = t.id WHEN NOT MATCHED THEN INSERT VALUES (t.id, u, coalesce(u::text, 'none'));
SELECT * FROM kept ORDER BY id;

DROP SCHEMA whole_rows CASCADE;
