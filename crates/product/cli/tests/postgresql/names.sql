-- Identifiers that print as names: regclass and its kin, in and out.
CREATE SCHEMA names;
SET search_path = names;
CREATE TABLE "My table" (id int PRIMARY KEY, "Big" text);
CREATE TABLE plain (id int);
SELECT '"My table"'::regclass, 'names.plain'::regclass, 'PLAIN'::regclass, 'pg_class'::regclass, 'pg_catalog.pg_class'::regclass;
SELECT 'nothing'::regclass;
SELECT 'nowhere.plain'::regclass;
SELECT 'a.b.c.d'::regclass;
SELECT '-'::regclass, '0'::regclass, 1259::regclass, '1259'::regclass, 99999::oid::regclass;
SELECT 'int'::regtype, 'INT8'::regtype, '"pg_catalog"."int4"'::regtype, 'pg_catalog.int4'::regtype, '"char"'::regtype, 'char'::regtype;
SELECT 'character varying(10)'::regtype, 'timestamp with time zone'::regtype, 'timestamp(3)'::regtype, 'numeric(10,2)'::regtype, 'int4[]'::regtype, '_text'::regtype, 'int[][]'::regtype;
SELECT 'plain'::regtype, 'names."My table"'::regtype, 'plain[]'::regtype, 'cstring'::regtype, 'anyelement'::regtype;
SELECT 'nothing'::regtype;
SELECT 'nowhere.nothing'::regtype;
SELECT to_regtype('nothing'), to_regtype('int4'), to_regclass('nothing'), to_regclass('plain'), to_regnamespace('nowhere'), to_regrole('nobody');
SELECT '{int,int8,NULL}'::regtype[], ARRAY['int','text']::regtype[], '{plain,pg_class}'::regclass[], ARRAY['plain'::regclass, 'pg_type'], '{"\"My table\""}'::regclass[];
SELECT ARRAY['int','text']::text[]::regtype[], '{plain}'::regclass[]::text[], '{plain}'::regclass[]::text, '{plain}'::regclass[]::oid[] = ARRAY['plain'::regclass::oid];
SELECT 'now'::regproc, 'pg_catalog.now'::regproc, 'md5(text)'::regprocedure::oid > 0;
SELECT 'nothing'::regproc;
SELECT 'abs'::regproc;
SELECT 'now()'::regprocedure, 'abs(integer)'::regprocedure, 'abs(int8)'::regprocedure, 'pg_catalog.substring(text, integer, integer)'::regprocedure;
SELECT 'abs(text)'::regprocedure;
SELECT 'abs'::regprocedure;
SELECT 'abs(integer'::regprocedure;
SELECT 'abs(nothing)'::regprocedure;
SELECT '+(int4,int4)'::regoperator, 'pg_catalog.=(text,text)'::regoperator, '-(NONE,integer)'::regoperator;
SELECT '+'::regoper;
SELECT '!~~*(text)'::regoperator;
SELECT '+(int4,boolean)'::regoperator;
SELECT 'pg_catalog'::regnamespace, 'names'::regnamespace, 'postgres'::regrole, '"C"'::regcollation, 'pg_catalog."default"'::regcollation;
SELECT 'nowhere'::regnamespace;
SELECT 'nobody'::regrole;
SELECT 'nothing'::regcollation;
SELECT to_regprocedure('now()'), to_regprocedure('now(int)'), to_regoperator('+(int4,int4)'), to_regoper('+'), to_regcollation('nothing'), to_regproc('abs');
SELECT oid::regprocedure FROM pg_proc WHERE proname = 'upper' AND pronargs = 1 AND prorettype = 'text'::regtype;
-- As texts.
SELECT 'x' || 'plain'::regclass, 'plain'::regclass || 'x', 'plain'::regclass::text || 1, concat('plain'::regclass, '/', 'int'::regtype), concat_ws(',', 'plain'::regclass, 'int'::regtype);
SELECT format('%s %I %L', 'plain'::regclass, 'names."My table"'::regclass, 'int'::regtype), 'plain'::regclass::varchar, 'plain'::regclass::name, text('plain'::regclass);
SELECT ARRAY['plain'::regclass]::text, array_to_string(ARRAY['plain'::regclass, '"My table"'], ','), quote_literal('plain'::regclass), quote_nullable(NULL::regclass);
SELECT to_json('plain'::regclass), to_jsonb('plain'::regclass), to_json(ARRAY['plain'::regclass]), json_build_object('plain'::regclass, 'int'::regtype), json_build_array('int'::regtype, 1), jsonb_build_object('t', 'int'::regtype);
SELECT json_agg(c), jsonb_agg(c), json_object_agg(c, c) FROM (VALUES ('plain'::regclass), ('pg_class'::regclass)) v(c);
SELECT row_to_json(v), to_json(v) FROM (VALUES ('plain'::regclass, 1)) v(c, n);
SELECT row('plain'::regclass, 1)::text, string_agg(c::text, ',') FROM (VALUES ('plain'::regclass)) v(c) GROUP BY c;
SELECT 'plain'::regclass = 'plain'::regclass, 'plain'::regclass = 'names.plain'::regclass::oid, 'plain'::regclass::text = 'plain', length('plain'::regclass::text), upper('plain'::regclass::text);
SELECT 'plain'::regclass::oid::bigint = 'plain'::regclass::bigint, 'int'::regtype::oid, 'now'::regproc::regprocedure, 'now()'::regprocedure::regproc, 23::regtype, 23::bigint::regtype;
SELECT pg_typeof('plain'::regclass), pg_typeof('{int}'::regtype[]), pg_typeof('now()'::regprocedure), pg_typeof('+(int4,int4)'::regoperator), pg_typeof('"C"'::regcollation);
SELECT CASE WHEN true THEN 'plain'::regclass END, coalesce(NULL, 'plain'::regclass), 'PLAIN'::text::regclass;
\set VERBOSITY sqlstate
CREATE TABLE broken (id int DEFAULT nextval('nothing'));
CREATE TABLE broken (id int DEFAULT nextval('nothing'::regclass));
\set VERBOSITY verbose
-- Vectors.
SELECT proargtypes::regtype[], oidvectortypes(proargtypes), proargtypes::oid[], array_to_string(proargtypes::regtype[], ', ') FROM pg_proc WHERE oid = 'substring(text,integer,integer)'::regprocedure;
SELECT indkey, indkey::int[], indkey::int2[], indoption::int[], indkey::text, indkey[0] FROM pg_index WHERE indrelid = '"My table"'::regclass;
SELECT '1 2'::int2vector, '23 25'::oidvector, '23 25'::oidvector::regtype[], '{1,2}'::int[]::text;
SELECT oidvectortypes(''), oidvectortypes('23 1043'), '1 x'::int2vector;
-- In columns, parameters, cursors and COPY.
CREATE TABLE refs (c regclass, t regtype, a regtype[], p regprocedure);
INSERT INTO refs VALUES ('plain', 'int', '{int,text}', 'now()') RETURNING *;
INSERT INTO refs SELECT 'pg_class', 'text', ARRAY['oid'::regtype], 'abs(integer)';
INSERT INTO refs VALUES ('nothing');
SELECT c, t, a, p FROM refs ORDER BY t;
SELECT refs.c || ':' || t FROM refs ORDER BY c;
PREPARE look (regclass, regtype[]) AS SELECT $1, $2, $1::text, 'x' || $1;
EXECUTE look ('plain', '{int,text}');
EXECUTE look (NULL, NULL);
PREPARE guess AS SELECT c FROM refs WHERE c = $1;
EXECUTE guess ('plain'::regclass);
COPY refs TO STDOUT;
COPY (SELECT 'plain'::regclass, '{int}'::regtype[]) TO STDOUT CSV;
COPY refs FROM STDIN;
plain	integer	{boolean,date}	upper(text)
\.
SELECT * FROM refs WHERE t = 'int'::regtype AND p::text LIKE 'upper%';
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT c FROM refs WHERE t = 'text'::regtype;
COMMIT;
FETCH ALL FROM held;
CLOSE held;
ALTER TABLE plain RENAME TO renamed;
SELECT c FROM refs WHERE t = 'int'::regtype;
DROP TABLE renamed, "My table", refs;
DROP SCHEMA names;
