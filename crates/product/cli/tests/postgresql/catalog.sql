-- What psql's backslash commands show.
CREATE SCHEMA catalog;
SET search_path = catalog;
CREATE TABLE parent (id int PRIMARY KEY, "Weird Name" text DEFAULT 'x''y', amount numeric(10,2) NOT NULL DEFAULT 1.5, created timestamptz DEFAULT now(), flag boolean DEFAULT false, tags text[] DEFAULT '{}', CHECK (amount > 0 AND amount < 1000), CONSTRAINT named CHECK ("Weird Name" <> ''));
CREATE TABLE child (id bigserial, parent_id int NOT NULL REFERENCES parent ON DELETE CASCADE, kind varchar(5) DEFAULT 'a', code char(2), total double precision, PRIMARY KEY (id), UNIQUE (parent_id, kind), FOREIGN KEY (parent_id) REFERENCES parent (id) ON UPDATE SET NULL);
CREATE INDEX child_total ON child (total DESC, code);
CREATE VIEW both_of_them AS SELECT p.id, c.kind FROM parent p JOIN child c ON c.parent_id = p.id WHERE c.total > 1;
CREATE SEQUENCE counter;
COMMENT ON TABLE parent IS 'the parents';
COMMENT ON COLUMN parent.amount IS 'in euro';
COMMENT ON INDEX child_total IS 'an index';
COMMENT ON VIEW both_of_them IS 'a view';
COMMENT ON SEQUENCE counter IS 'a counter';
COMMENT ON SCHEMA catalog IS 'a schema';
COMMENT ON TABLE nosuch IS 'x';
COMMENT ON COLUMN parent.nosuch IS 'x';
\d
\dt
\di
\ds
\dv
\dn catalog
\dn+ catalog
\d parent
\d child
\d both_of_them
\d counter
\d child_total
\d child_pkey
\d nosuch
\dt nosuch
\dt catalog.*
\dt par*
\dT integer
\dT+ text
\df nosuch
\dp parent
\du postgres
\dD
\db
\l nosuch
\drds
\dRp
\des
\dew
\det
\dO nosuch
\dm
\dE
\dP
\dX
\dy
\dF nosuch
\do nosuch
SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'catalog' ORDER BY 1;
SELECT table_name, column_name, ordinal_position, column_default, is_nullable, data_type, character_maximum_length, numeric_precision, numeric_scale, udt_name FROM information_schema.columns WHERE table_schema = 'catalog' ORDER BY 1, 3;
SELECT constraint_name, table_name, constraint_type FROM information_schema.table_constraints WHERE table_schema = 'catalog' AND constraint_name NOT LIKE '%not_null' ORDER BY 1;
SELECT constraint_name, column_name, ordinal_position FROM information_schema.key_column_usage WHERE table_schema = 'catalog' ORDER BY 1, 3;
SELECT constraint_name, unique_constraint_name, update_rule, delete_rule FROM information_schema.referential_constraints WHERE constraint_schema = 'catalog' ORDER BY 1;
SELECT sequence_name, data_type, start_value, increment FROM information_schema.sequences WHERE sequence_schema = 'catalog' ORDER BY 1;
SELECT table_name FROM information_schema.views WHERE table_schema = 'catalog';
SELECT schema_name FROM information_schema.schemata WHERE schema_name IN ('catalog', 'public', 'pg_catalog', 'information_schema') ORDER BY 1;
SELECT schemaname, tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'catalog' ORDER BY 3;
SELECT schemaname, tablename, tableowner, hasindexes FROM pg_tables WHERE schemaname = 'catalog' ORDER BY 2;
SELECT viewname, viewowner FROM pg_views WHERE schemaname = 'catalog';
SELECT sequencename, start_value, increment_by, last_value FROM pg_sequences WHERE schemaname = 'catalog' ORDER BY 1;
SELECT relname, relkind, relnatts, relhasindex, relchecks FROM pg_class WHERE relnamespace = 'catalog'::regnamespace ORDER BY relname;
SELECT attname, format_type(atttypid, atttypmod), attnotnull, atthasdef, attnum FROM pg_attribute WHERE attrelid = 'parent'::regclass AND attnum > 0 ORDER BY attnum;
SELECT conname, contype, pg_get_constraintdef(oid), condeferrable FROM pg_constraint WHERE conrelid IN ('parent'::regclass, 'child'::regclass) ORDER BY conname;
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'parent'::regclass ORDER BY adnum;
SELECT pg_get_indexdef('child_total'::regclass), pg_get_indexdef('child_total'::regclass, 1, true), pg_get_serial_sequence('child', 'id');
SELECT typname, typlen, typcategory, typelem::regtype, typtype FROM pg_type WHERE typname IN ('int4', 'text', '_int4', 'numeric', 'bool', 'parent') ORDER BY typname;
SELECT rolname, rolsuper, rolcanlogin FROM pg_roles WHERE rolname = 'postgres';
SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_t' ORDER BY 1;
SELECT obj_description('parent'::regclass), col_description('parent'::regclass, 3), obj_description('parent'::regclass, 'pg_class');
SELECT 'parent'::regclass::oid = (SELECT oid FROM pg_class WHERE relname = 'parent' AND relnamespace = 'catalog'::regnamespace), 'child'::regclass::text, 'catalog.child'::regclass;
SELECT to_regclass('catalog.child'), pg_table_is_visible('child'::regclass), has_schema_privilege('catalog', 'USAGE'), has_table_privilege('child', 'SELECT');
SELECT name, setting FROM pg_settings WHERE name IN ('server_encoding', 'standard_conforming_strings', 'search_path') ORDER BY 1;
-- Of privileges this server warns that they have no effect.
SET client_min_messages = error;
GRANT SELECT ON parent TO PUBLIC;
REVOKE ALL ON parent FROM PUBLIC;
RESET client_min_messages;
ALTER TABLE parent OWNER TO postgres;
ALTER TABLE parent SET SCHEMA public;
ALTER TABLE public.parent SET SCHEMA catalog;
ANALYZE parent;
VACUUM parent;
VACUUM ANALYZE;
VACUUM (VERBOSE false, ANALYZE) child;
REINDEX TABLE parent;
CLUSTER child USING child_pkey;
CHECKPOINT;
CREATE EXTENSION IF NOT EXISTS plpgsql;
\set VERBOSITY terse
DROP SCHEMA catalog CASCADE;
