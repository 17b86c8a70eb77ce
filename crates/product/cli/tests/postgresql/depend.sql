-- What depends on what, as pg_dump asks for it; comments on constraints; where indexes put NULLs; foreign keys at rest.
CREATE SCHEMA depend;
CREATE SCHEMA depend_other;
SET search_path = depend;
CREATE TABLE zz (id serial PRIMARY KEY, n int GENERATED ALWAYS AS IDENTITY, g int GENERATED ALWAYS AS (n + 1) STORED, t text DEFAULT 'x' CHECK (t <> ''), d numeric, CONSTRAINT both_ok CHECK (n > 0 AND d < 5), UNIQUE (t, d));
CREATE TABLE yy (id bigint, zz_id int REFERENCES zz ON DELETE CASCADE, up int, k int UNIQUE, FOREIGN KEY (up) REFERENCES yy (k));
CREATE INDEX yi ON yy (zz_id DESC NULLS LAST, k NULLS FIRST, id DESC NULLS FIRST, up ASC NULLS LAST);
CREATE SEQUENCE depend_other.free;
CREATE TABLE depend_other.uses (v int DEFAULT nextval('depend_other.free'), w int DEFAULT nextval('depend_other.free'));
CREATE VIEW bb AS SELECT * FROM zz;
CREATE VIEW aa AS SELECT b.id, count(*) AS c FROM bb b JOIN yy ON yy.zz_id = b.id GROUP BY b.id;
CREATE VIEW cc AS SELECT 1 AS one, (SELECT max(x.v) FROM depend_other.uses x) AS m FROM depend_other.uses;
CREATE VIEW dd (renamed) AS WITH own AS (SELECT q.k FROM yy q) SELECT own.k FROM own;
WITH named AS (
  SELECT 1259::oid AS class, oid, relname::text AS name FROM pg_class WHERE relname !~ '^pg_toast'
  UNION ALL SELECT 2604, d.oid, 'default of ' || c.relname || '.' || adnum FROM pg_attrdef d JOIN pg_class c ON c.oid = adrelid
  UNION ALL SELECT 2606, oid, 'constraint ' || conname FROM pg_constraint
  UNION ALL SELECT 2618, r.oid, 'rule of ' || c.relname FROM pg_rewrite r JOIN pg_class c ON c.oid = ev_class
  UNION ALL SELECT 2615, oid, 'schema ' || nspname FROM pg_namespace
  UNION ALL SELECT 1247, oid, 'type ' || typname FROM pg_type WHERE typname !~ 'pg_toast')
SELECT a.name, d.objsubid, b.name AS "on", d.refobjsubid, d.deptype FROM pg_depend d
 JOIN named a ON a.class = d.classid AND a.oid = d.objid JOIN named b ON b.class = d.refclassid AND b.oid = d.refobjid
 WHERE a.oid >= (SELECT oid FROM pg_namespace WHERE nspname = 'depend') ORDER BY a.name COLLATE "C", 2, b.name COLLATE "C", 4, 5;
SELECT pg_get_indexdef(indexrelid), indoption FROM pg_index WHERE indexrelid = 'yi'::regclass;
SELECT a, pg_index_column_has_property('yi', a, 'desc') AS descends, pg_index_column_has_property('yi', a, 'nulls_first') AS first, pg_index_column_has_property('yi', a, 'nulls_last') AS last FROM generate_series(1, 4) a;
COMMENT ON CONSTRAINT both_ok ON zz IS 'a check';
COMMENT ON CONSTRAINT zz_pkey ON depend.zz IS 'a key';
COMMENT ON CONSTRAINT yy_up_fkey ON yy IS $$a 'reference'$$;
COMMENT ON INDEX zz_pkey IS 'its index';
SELECT conname, obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conrelid IN ('zz'::regclass, 'yy'::regclass) ORDER BY 1;
SELECT obj_description('zz_pkey'::regclass);
ALTER TABLE zz RENAME CONSTRAINT both_ok TO both_fine;
COMMENT ON CONSTRAINT yy_up_fkey ON yy IS NULL;
SELECT conname, d.description FROM pg_constraint c JOIN pg_description d ON d.objoid = c.oid AND d.classoid = 'pg_constraint'::regclass WHERE conrelid IN ('zz'::regclass, 'yy'::regclass) ORDER BY 1;
COMMENT ON CONSTRAINT nope ON zz IS 'x';
COMMENT ON CONSTRAINT nope ON nowhere IS 'x';
CREATE TABLE bad (a int DEFAULT nextval('depend_other.free'::text));
\set VERBOSITY sqlstate
CREATE TABLE worse (a int DEFAULT nextval('nope'));
CREATE TABLE worse (a int DEFAULT nextval('depend.nope'::regclass));
CREATE TABLE worse (a int DEFAULT nextval('nowhere.nope'));
\set VERBOSITY terse
ALTER TABLE bad ALTER a SET DEFAULT nextval('nope');
SELECT relname FROM pg_class c WHERE c.relkind OPERATOR(pg_catalog.=) ANY (array['r', 'v']) AND c.relnamespace = 'depend'::regnamespace AND relname OPERATOR(pg_catalog.~) '^(zz|aa)$' ORDER BY 1;
INSERT INTO zz (d) VALUES (1);
INSERT INTO yy VALUES (1, 7, NULL, 1);
ALTER TABLE yy DISABLE TRIGGER ALL;
INSERT INTO yy VALUES (1, 7, 8, 1);
ALTER TABLE yy ENABLE TRIGGER ALL;
INSERT INTO yy VALUES (2, 7, 8, 2);
UPDATE yy SET id = 3 RETURNING *;
UPDATE yy SET zz_id = 9;
DELETE FROM yy;
INSERT INTO yy VALUES (1, 1, NULL, 1);
ALTER TABLE zz DISABLE TRIGGER ALL;
DELETE FROM zz;
SELECT zz_id FROM yy;
ALTER TABLE zz ENABLE TRIGGER ALL, DISABLE TRIGGER USER;
ALTER TABLE zz DISABLE TRIGGER nope;
BEGIN;
SET LOCAL session_replication_role = replica;
INSERT INTO yy VALUES (5, 55, 555, 5);
COMMIT;
INSERT INTO yy VALUES (6, 55, 555, 6);
SELECT id, zz_id, up, k FROM yy ORDER BY id;
CREATE TABLE printed (a char(5) DEFAULT 'c', b bytea DEFAULT '\x01', c real CHECK (c > -1), d bigint CHECK (d > -2), e numeric CHECK (e > -2 AND e > -0.5), f text DEFAULT 'back\slash');
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'printed'::regclass ORDER BY adnum;
SELECT pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) FROM pg_constraint WHERE conrelid = 'printed'::regclass ORDER BY conname;
INSERT INTO printed DEFAULT VALUES;
SELECT * FROM printed;
SELECT relname::text COLLATE "C" FROM pg_class WHERE relname = 'printed' ORDER BY relname::text COLLATE "C" DESC;
DROP SCHEMA depend_other CASCADE;
DROP SCHEMA depend CASCADE;
