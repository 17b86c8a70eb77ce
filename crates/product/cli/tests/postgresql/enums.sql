-- Enums.
CREATE SCHEMA enums;
SET search_path = enums;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE mood AS ENUM ('a');
CREATE TYPE e0 AS ENUM ();
CREATE TABLE t (id int primary key, m mood NOT NULL DEFAULT 'ok', ms mood[]);
INSERT INTO t VALUES (1,'happy','{sad,happy}'),(2,'sad',NULL),(3,DEFAULT,'{}');
INSERT INTO t VALUES (4,'angry');
INSERT INTO t VALUES (4,'sad'::text);
INSERT INTO t VALUES (4,'sad'::text::mood);
SELECT * FROM t ORDER BY m, id;
SELECT * FROM t ORDER BY m DESC, id;
SELECT m, count(*) FROM t GROUP BY m ORDER BY m;
SELECT min(m), max(m), pg_typeof(max(m)) FROM t;
SELECT id FROM t WHERE m > 'sad' ORDER BY id;
SELECT id FROM t WHERE m = 'nope';
SELECT id FROM t WHERE m = 'ok'::text;
SELECT id FROM t WHERE m IN ('ok','happy') ORDER BY id;
SELECT enum_first(null::mood), enum_last('sad'::mood), enum_range(null::mood), enum_range('ok'::mood, null), enum_range(null,'ok'::mood);
SELECT 'sad'::mood::text || 'x', ('sad'::mood)::varchar, 'happy'::mood < 'ok'::mood;
ALTER TYPE mood ADD VALUE 'angry' BEFORE 'sad';
ALTER TYPE mood ADD VALUE 'fine' AFTER 'ok';
ALTER TYPE mood ADD VALUE IF NOT EXISTS 'fine';
ALTER TYPE mood ADD VALUE 'fine';
ALTER TYPE mood ADD VALUE 'z' AFTER 'nope';
ALTER TYPE mood ADD VALUE 'ecstatic';
SELECT enumlabel, enumsortorder FROM pg_enum WHERE enumtypid = 'mood'::regtype ORDER BY enumsortorder;
INSERT INTO t VALUES (5,'angry'),(6,'fine'),(7,'ecstatic');
SELECT id, m FROM t ORDER BY m, id;
CREATE INDEX ti ON t(m);
SELECT id, m FROM t WHERE m >= 'ok' ORDER BY m, id;
ALTER TYPE mood RENAME VALUE 'fine' TO 'good';
ALTER TYPE mood RENAME VALUE 'fine' TO 'good';
ALTER TYPE mood RENAME VALUE 'ok' TO 'good';
ALTER TYPE mood RENAME VALUE 'ok' TO 'okay';
SELECT id, m FROM t WHERE m >= 'okay' ORDER BY m, id;
INSERT INTO t(id) VALUES (10) RETURNING *;
\d t
CREATE VIEW v AS SELECT id, m, m = 'sad' AS is_sad FROM t WHERE m <> 'angry';
ALTER TYPE mood RENAME VALUE 'sad' TO 'blue';
SELECT * FROM v ORDER BY id;
ALTER TABLE t ADD CONSTRAINT ck CHECK (m <> 'ecstatic' OR id > 5);
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname='ck';
ALTER TYPE mood RENAME TO feeling;
SELECT format_type('feeling'::regtype, -1), 'feeling[]'::regtype, 'mood'::regtype;
\d t
CREATE SCHEMA s;
ALTER TYPE feeling SET SCHEMA s;
\d t
SELECT 'blue'::feeling;
SELECT 'blue'::s.feeling;
INSERT INTO t(id,m) VALUES (11,'nope');
DROP TYPE s.feeling;
DROP TYPE nope;
DROP TYPE IF EXISTS nope;
DROP TABLE s.feeling;
SELECT * FROM s.feeling;
CREATE TABLE s.feeling(x int);
CREATE TYPE t AS ENUM ('x');
DROP TYPE s.feeling CASCADE;
\d t
CREATE TYPE color AS ENUM ('red','green');
CREATE TABLE a(c color primary key, n int);
CREATE TABLE b(c color references a, ca color[]);
INSERT INTO a VALUES ('red',1),('green',2);
INSERT INTO b VALUES ('red','{green,red}');
INSERT INTO b VALUES ('green',array['green','red']::color[]) RETURNING ca[1];
INSERT INTO a VALUES ('red',5) ON CONFLICT (c) DO UPDATE SET n = excluded.n RETURNING *;
INSERT INTO a VALUES ('red',5);
DELETE FROM a WHERE c='red';
SELECT a.c, b.ca FROM a JOIN b ON a.c=b.c ORDER BY a.c;
SELECT a.c, x FROM a, unnest(enum_range(null::color)) x WHERE x = a.c ORDER BY 1;
SELECT to_json(c), json_agg(c) FROM a GROUP BY c ORDER BY c;
SELECT row_to_json(a) FROM a ORDER BY c;
SELECT array_agg(c ORDER BY c DESC) FROM a;
SELECT array_position(array['red','green']::color[], 'green');
SELECT 'red'::color = ANY('{red}'), 'red' = ANY(array['red']::color[]);
SELECT 'red'::color = 'sad'::e0;
SELECT CASE WHEN true THEN 'red'::color ELSE 'green' END, coalesce(null::color,'green'), greatest('red'::color,'green');
SELECT DISTINCT c FROM (SELECT c FROM a UNION ALL SELECT c FROM a) x ORDER BY c;
SELECT c FROM a UNION SELECT 'green' ORDER BY 1;
CREATE TABLE conv(x text, y color);
INSERT INTO conv VALUES ('red','green');
ALTER TABLE conv ALTER x TYPE color;
ALTER TABLE conv ALTER x TYPE color USING x::color;
ALTER TABLE conv ALTER y TYPE text;
SELECT *, pg_typeof(x), pg_typeof(y) FROM conv;
SELECT column_name, data_type, udt_schema, udt_name FROM information_schema.columns WHERE table_name IN ('conv','b') ORDER BY 1,2,4;
\dT
\dT+ color
SELECT typname, typtype, typcategory, typlen, typbyval, typalign, typstorage, typinput, typoutput, typelem <> 0, typarray <> 0 FROM pg_type WHERE typname IN ('color','_color') ORDER BY 1;
PREPARE p(color) AS SELECT $1, $1 = 'red';
EXECUTE p('green');
COMMENT ON TYPE color IS 'a color';
SELECT obj_description('color'::regtype, 'pg_type');
BEGIN; SAVEPOINT s; ALTER TYPE color ADD VALUE 'blue'; ROLLBACK TO s; SELECT enum_range(null::color); COMMIT;
BEGIN; CREATE TYPE tmp1 AS ENUM ('q'); ROLLBACK; SELECT 'q'::tmp1;

ALTER TYPE color OWNER TO postgres;
SELECT lag(c) OVER (ORDER BY c), rank() OVER (ORDER BY c) FROM a;
SELECT string_agg(c::text, ',' ORDER BY c) FROM a;
COPY a FROM STDIN;
blue	9
\.
UPDATE a SET c = 'nope';
UPDATE a SET n = 3 WHERE c = 'green' RETURNING c;
SELECT format('%s %I %L', 'red'::color, 'red'::color, 'red'::color);
SELECT concat('a', 'red'::color), quote_literal('red'::color);
SELECT count(DISTINCT c), max(c) FILTER (WHERE n > 0) FROM a;
CREATE TYPE s.inner AS ENUM ('x');
DROP SCHEMA s;
DROP SCHEMA s CASCADE;
-- What object-relational mappers and drivers ask.
SELECT t.typname AS enum_name, e.enumlabel AS enum_value FROM pg_type t JOIN pg_enum e ON t.oid = e.enumtypid JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE n.nspname = 'enums' ORDER BY 1, e.enumsortorder;
SELECT n.nspname AS schema, t.typname AS name, pg_type_is_visible(t.oid) AS visible, array_agg(e.enumlabel ORDER BY e.enumsortorder) AS labels FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_enum e ON e.enumtypid = t.oid WHERE t.typtype = 'e' AND n.nspname = 'enums' GROUP BY 1, 2, 3 ORDER BY 1, 2;
SELECT typname, typtype, typcategory, typinput, typoutput, typreceive, typsend, typarray::regtype, typelem FROM pg_type WHERE oid = 'color'::regtype;
SELECT pg_get_indexdef('a_pkey'::regclass), (SELECT opcname FROM pg_opclass WHERE oid = (SELECT indclass[0] FROM pg_index WHERE indexrelid = 'a_pkey'::regclass));
-- A column's default may be any expression of the type.
CREATE TABLE defaults (a color DEFAULT 'red', b color DEFAULT enum_last(NULL::color), c color[] DEFAULT '{red,green}', d color DEFAULT ('gr' || 'een')::color, e text DEFAULT 'red'::color, f boolean GENERATED ALWAYS AS (a = 'red') STORED);
INSERT INTO defaults DEFAULT VALUES RETURNING *;
ALTER TYPE color RENAME VALUE 'red' TO 'crimson';
INSERT INTO defaults DEFAULT VALUES RETURNING *;
\d defaults
CREATE TABLE parts (k color PRIMARY KEY, UNIQUE (k));
ALTER TABLE defaults ADD CONSTRAINT only_parts FOREIGN KEY (a) REFERENCES parts;
INSERT INTO parts SELECT unnest(enum_range(NULL::color));
ALTER TABLE defaults ADD CONSTRAINT only_parts FOREIGN KEY (a) REFERENCES parts;
CREATE VIEW colors AS SELECT k, k = 'green' AS is_green, CASE WHEN k > 'crimson' THEN 'green' ELSE k END AS up FROM parts WHERE k IN ('crimson', 'green') OR k = ANY ('{green}');
ALTER TYPE color RENAME VALUE 'green' TO 'lime';
ALTER TYPE color RENAME TO hue;
SELECT * FROM colors ORDER BY k;
ALTER TYPE colors ADD VALUE 'x';
ALTER TYPE integer ADD VALUE 'x';
ALTER TYPE hue RENAME TO colors;
SELECT 'x'::nothing.hue;
SELECT 'lime'::hue(3);
CREATE TABLE hue (a int);
DROP TYPE int4;
DROP TYPE colors;
ALTER TYPE int4 ADD VALUE 'x';
SELECT 'lime'::enums.hue, NULL::hue[], '{lime,crimson}'::hue[] @> '{crimson}', array_append('{lime}'::hue[], 'crimson'), 'lime' = ANY ('{lime}'::hue[]);
SELECT json_object_agg(k, k ORDER BY k), jsonb_agg(k ORDER BY k DESC), array_agg(k ORDER BY k), json_build_object('k', max(k)) FROM parts;
SELECT k, lead(k) OVER (ORDER BY k), first_value(k) OVER (ORDER BY k DESC) FROM parts ORDER BY k;
SELECT p.k FROM parts p JOIN parts q USING (k) WHERE p.k BETWEEN 'crimson' AND 'lime' GROUP BY p.k HAVING count(*) = 1 ORDER BY 1 DESC LIMIT 1;
CREATE TABLE copied AS SELECT k, ARRAY[k] AS ks FROM parts;
\d copied
COPY (SELECT * FROM copied ORDER BY k) TO STDOUT WITH (FORMAT csv, HEADER);
