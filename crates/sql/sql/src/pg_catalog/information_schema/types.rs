//! Types, and what is of them. Source: PostgreSQL 15, `information_schema.sql`.

use crate::pg_catalog::layout::{SystemView, columns, views};

pub(super) static VIEWS: &[SystemView] = views! { "information_schema":
    13245 attributes = r#"SELECT CAST(current_database() AS name) AS udt_catalog, CAST(nc.nspname AS name) AS udt_schema,
            CAST(c.relname AS name) AS udt_name, CAST(a.attname AS name) AS attribute_name, CAST(a.attnum AS
            integer) AS ordinal_position, CAST(pg_get_expr(ad.adbin, ad.adrelid) AS varchar) AS
            attribute_default, CAST(CASE WHEN a.attnotnull OR (t.typtype = 'd' AND t.typnotnull) THEN 'NO'
            ELSE 'YES' END AS varchar) AS is_nullable, CAST(CASE WHEN t.typelem <> 0 AND t.typlen = -1 THEN
            'ARRAY' WHEN nt.nspname = 'pg_catalog' THEN format_type(a.atttypid, null) ELSE 'USER-DEFINED'
            END AS varchar) AS data_type, CAST(information_schema._pg_char_max_length(CASE WHEN t.typtype =
            'd' THEN t.typbasetype ELSE a.atttypid END, CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE
            a.atttypmod END) AS integer) AS character_maximum_length,
            CAST(information_schema._pg_char_octet_length(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE
            a.atttypid END, CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END) AS integer) AS
            character_octet_length, CAST(null AS name) AS character_set_catalog, CAST(null AS name) AS
            character_set_schema, CAST(null AS name) AS character_set_name, CAST(CASE WHEN nco.nspname IS
            NOT NULL THEN current_database() END AS name) AS collation_catalog, CAST(nco.nspname AS name) AS
            collation_schema, CAST(co.collname AS name) AS collation_name,
            CAST(information_schema._pg_numeric_precision(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE
            a.atttypid END, CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END) AS integer) AS
            numeric_precision, CAST(information_schema._pg_numeric_precision_radix(CASE WHEN t.typtype = 'd'
            THEN t.typbasetype ELSE a.atttypid END, CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE
            a.atttypmod END) AS integer) AS numeric_precision_radix,
            CAST(information_schema._pg_numeric_scale(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE
            a.atttypid END, CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END) AS integer) AS
            numeric_scale, CAST(information_schema._pg_datetime_precision(CASE WHEN t.typtype = 'd' THEN
            t.typbasetype ELSE a.atttypid END, CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod
            END) AS integer) AS datetime_precision, CAST(information_schema._pg_interval_type(CASE WHEN
            t.typtype = 'd' THEN t.typbasetype ELSE a.atttypid END, CASE WHEN t.typtype = 'd' THEN
            t.typtypmod ELSE a.atttypmod END) AS varchar) AS interval_type, CAST(null AS integer) AS
            interval_precision, CAST(current_database() AS name) AS attribute_udt_catalog, CAST(nt.nspname
            AS name) AS attribute_udt_schema, CAST(t.typname AS name) AS attribute_udt_name, CAST(null AS
            name) AS scope_catalog, CAST(null AS name) AS scope_schema, CAST(null AS name) AS scope_name,
            CAST(null AS integer) AS maximum_cardinality, CAST(a.attnum AS name) AS dtd_identifier,
            CAST('NO' AS varchar) AS is_derived_reference_attribute FROM (pg_attribute a LEFT JOIN
            pg_attrdef ad ON attrelid = adrelid AND attnum = adnum) JOIN (pg_class c JOIN pg_namespace nc ON
            (c.relnamespace = nc.oid)) ON a.attrelid = c.oid JOIN (pg_type t JOIN pg_namespace nt ON
            (t.typnamespace = nt.oid)) ON a.atttypid = t.oid LEFT JOIN (pg_collation co JOIN pg_namespace
            nco ON (co.collnamespace = nco.oid)) ON a.attcollation = co.oid AND (nco.nspname, co.collname)
            <> ('pg_catalog', 'default') WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('c')
            AND (pg_has_role(c.relowner, 'USAGE') OR has_type_privilege(c.reltype, 'USAGE'))"#; {
        udt_catalog: Name, udt_schema: Name, udt_name: Name, attribute_name: Name, ordinal_position:
        Int4, attribute_default: Varchar, is_nullable: Varchar, data_type: Varchar,
        character_maximum_length: Int4, character_octet_length: Int4, character_set_catalog: Name,
        character_set_schema: Name, character_set_name: Name, collation_catalog: Name, collation_schema:
        Name, collation_name: Name, numeric_precision: Int4, numeric_precision_radix: Int4,
        numeric_scale: Int4, datetime_precision: Int4, interval_type: Varchar, interval_precision: Int4,
        attribute_udt_catalog: Name, attribute_udt_schema: Name, attribute_udt_name: Name,
        scope_catalog: Name, scope_schema: Name, scope_name: Name, maximum_cardinality: Int4,
        dtd_identifier: Name, is_derived_reference_attribute: Varchar
    }
    13488 data_type_privileges = r#"SELECT CAST(current_database() AS name) AS object_catalog, CAST(x.objschema AS name) AS object_schema,
            CAST(x.objname AS name) AS object_name, CAST(x.objtype AS varchar) AS object_type,
            CAST(x.objdtdid AS name) AS dtd_identifier FROM (SELECT udt_schema, udt_name, 'USER-DEFINED
            TYPE'::text, dtd_identifier FROM information_schema.attributes UNION ALL SELECT table_schema,
            table_name, 'TABLE'::text, dtd_identifier FROM information_schema.columns UNION ALL SELECT
            domain_schema, domain_name, 'DOMAIN'::text, dtd_identifier FROM information_schema.domains UNION
            ALL SELECT specific_schema, specific_name, 'ROUTINE'::text, dtd_identifier FROM
            information_schema.parameters UNION ALL SELECT specific_schema, specific_name, 'ROUTINE'::text,
            dtd_identifier FROM information_schema.routines) AS x (objschema, objname, objtype, objdtdid)"#; {
        object_catalog: Name, object_schema: Name, object_name: Name, object_type: Varchar,
        dtd_identifier: Name
    }
    13320 domains = r#"SELECT CAST(current_database() AS name) AS domain_catalog, CAST(nt.nspname AS name) AS domain_schema,
            CAST(t.typname AS name) AS domain_name, CAST(CASE WHEN t.typelem <> 0 AND t.typlen = -1 THEN
            'ARRAY' WHEN nbt.nspname = 'pg_catalog' THEN format_type(t.typbasetype, null) ELSE
            'USER-DEFINED' END AS varchar) AS data_type,
            CAST(information_schema._pg_char_max_length(t.typbasetype, t.typtypmod) AS integer) AS
            character_maximum_length, CAST(information_schema._pg_char_octet_length(t.typbasetype,
            t.typtypmod) AS integer) AS character_octet_length, CAST(null AS name) AS character_set_catalog,
            CAST(null AS name) AS character_set_schema, CAST(null AS name) AS character_set_name, CAST(CASE
            WHEN nco.nspname IS NOT NULL THEN current_database() END AS name) AS collation_catalog,
            CAST(nco.nspname AS name) AS collation_schema, CAST(co.collname AS name) AS collation_name,
            CAST(information_schema._pg_numeric_precision(t.typbasetype, t.typtypmod) AS integer) AS
            numeric_precision, CAST(information_schema._pg_numeric_precision_radix(t.typbasetype,
            t.typtypmod) AS integer) AS numeric_precision_radix,
            CAST(information_schema._pg_numeric_scale(t.typbasetype, t.typtypmod) AS integer) AS
            numeric_scale, CAST(information_schema._pg_datetime_precision(t.typbasetype, t.typtypmod) AS
            integer) AS datetime_precision, CAST(information_schema._pg_interval_type(t.typbasetype,
            t.typtypmod) AS varchar) AS interval_type, CAST(null AS integer) AS interval_precision,
            CAST(t.typdefault AS varchar) AS domain_default, CAST(current_database() AS name) AS
            udt_catalog, CAST(nbt.nspname AS name) AS udt_schema, CAST(bt.typname AS name) AS udt_name,
            CAST(null AS name) AS scope_catalog, CAST(null AS name) AS scope_schema, CAST(null AS name) AS
            scope_name, CAST(null AS integer) AS maximum_cardinality, CAST(1 AS name) AS dtd_identifier FROM
            (pg_type t JOIN pg_namespace nt ON t.typnamespace = nt.oid) JOIN (pg_type bt JOIN pg_namespace
            nbt ON bt.typnamespace = nbt.oid) ON (t.typbasetype = bt.oid AND t.typtype = 'd') LEFT JOIN
            (pg_collation co JOIN pg_namespace nco ON (co.collnamespace = nco.oid)) ON t.typcollation =
            co.oid AND (nco.nspname, co.collname) <> ('pg_catalog', 'default') WHERE
            (pg_has_role(t.typowner, 'USAGE') OR has_type_privilege(t.oid, 'USAGE'))"#; {
        domain_catalog: Name, domain_schema: Name, domain_name: Name, data_type: Varchar,
        character_maximum_length: Int4, character_octet_length: Int4, character_set_catalog: Name,
        character_set_schema: Name, character_set_name: Name, collation_catalog: Name, collation_schema:
        Name, collation_name: Name, numeric_precision: Int4, numeric_precision_radix: Int4,
        numeric_scale: Int4, datetime_precision: Int4, interval_type: Varchar, interval_precision: Int4,
        domain_default: Varchar, udt_catalog: Name, udt_schema: Name, udt_name: Name, scope_catalog:
        Name, scope_schema: Name, scope_name: Name, maximum_cardinality: Int4, dtd_identifier: Name
    }
    13310 domain_constraints = r#"SELECT CAST(current_database() AS name) AS constraint_catalog, CAST(rs.nspname AS name) AS
            constraint_schema, CAST(con.conname AS name) AS constraint_name, CAST(current_database() AS
            name) AS domain_catalog, CAST(n.nspname AS name) AS domain_schema, CAST(t.typname AS name) AS
            domain_name, CAST(CASE WHEN condeferrable THEN 'YES' ELSE 'NO' END AS varchar) AS is_deferrable,
            CAST(CASE WHEN condeferred THEN 'YES' ELSE 'NO' END AS varchar) AS initially_deferred FROM
            pg_namespace rs, pg_namespace n, pg_constraint con, pg_type t WHERE rs.oid = con.connamespace
            AND n.oid = t.typnamespace AND t.oid = con.contypid AND (pg_has_role(t.typowner, 'USAGE') OR
            has_type_privilege(t.oid, 'USAGE'))"#; {
        constraint_catalog: Name, constraint_schema: Name, constraint_name: Name, domain_catalog: Name,
        domain_schema: Name, domain_name: Name, is_deferrable: Varchar, initially_deferred: Varchar
    }
    13315 domain_udt_usage = r#"SELECT CAST(current_database() AS name) AS udt_catalog, CAST(nbt.nspname AS name) AS udt_schema,
            CAST(bt.typname AS name) AS udt_name, CAST(current_database() AS name) AS domain_catalog,
            CAST(nt.nspname AS name) AS domain_schema, CAST(t.typname AS name) AS domain_name FROM pg_type
            t, pg_namespace nt, pg_type bt, pg_namespace nbt WHERE t.typnamespace = nt.oid AND t.typbasetype
            = bt.oid AND bt.typnamespace = nbt.oid AND t.typtype = 'd' AND pg_has_role(bt.typowner, 'USAGE')"#; {
        udt_catalog: Name, udt_schema: Name, udt_name: Name, domain_catalog: Name, domain_schema: Name,
        domain_name: Name
    }
    13280 column_domain_usage = r#"SELECT CAST(current_database() AS name) AS domain_catalog, CAST(nt.nspname AS name) AS domain_schema,
            CAST(t.typname AS name) AS domain_name, CAST(current_database() AS name) AS table_catalog,
            CAST(nc.nspname AS name) AS table_schema, CAST(c.relname AS name) AS table_name, CAST(a.attname
            AS name) AS column_name FROM pg_type t, pg_namespace nt, pg_class c, pg_namespace nc,
            pg_attribute a WHERE t.typnamespace = nt.oid AND c.relnamespace = nc.oid AND a.attrelid = c.oid
            AND a.atttypid = t.oid AND t.typtype = 'd' AND c.relkind IN ('r', 'v', 'f', 'p') AND a.attnum >
            0 AND NOT a.attisdropped AND pg_has_role(t.typowner, 'USAGE')"#; {
        domain_catalog: Name, domain_schema: Name, domain_name: Name, table_catalog: Name, table_schema:
        Name, table_name: Name, column_name: Name
    }
    13290 column_udt_usage = r#"SELECT CAST(current_database() AS name) AS udt_catalog, CAST(coalesce(nbt.nspname, nt.nspname) AS name) AS
            udt_schema, CAST(coalesce(bt.typname, t.typname) AS name) AS udt_name, CAST(current_database()
            AS name) AS table_catalog, CAST(nc.nspname AS name) AS table_schema, CAST(c.relname AS name) AS
            table_name, CAST(a.attname AS name) AS column_name FROM pg_attribute a, pg_class c, pg_namespace
            nc, (pg_type t JOIN pg_namespace nt ON (t.typnamespace = nt.oid)) LEFT JOIN (pg_type bt JOIN
            pg_namespace nbt ON (bt.typnamespace = nbt.oid)) ON (t.typtype = 'd' AND t.typbasetype = bt.oid)
            WHERE a.attrelid = c.oid AND a.atttypid = t.oid AND nc.oid = c.relnamespace AND a.attnum > 0 AND
            NOT a.attisdropped AND c.relkind in ('r', 'v', 'f', 'p') AND pg_has_role(coalesce(bt.typowner,
            t.typowner), 'USAGE')"#; {
        udt_catalog: Name, udt_schema: Name, udt_name: Name, table_catalog: Name, table_schema: Name,
        table_name: Name, column_name: Name
    }
    13493 element_types = r#"SELECT CAST(current_database() AS name) AS object_catalog, CAST(n.nspname AS name) AS object_schema,
            CAST(x.objname AS name) AS object_name, CAST(x.objtype AS varchar) AS object_type,
            CAST(x.objdtdid AS name) AS collection_type_identifier, CAST(CASE WHEN nbt.nspname =
            'pg_catalog' THEN format_type(bt.oid, null) ELSE 'USER-DEFINED' END AS varchar) AS data_type,
            CAST(null AS integer) AS character_maximum_length, CAST(null AS integer) AS
            character_octet_length, CAST(null AS name) AS character_set_catalog, CAST(null AS name) AS
            character_set_schema, CAST(null AS name) AS character_set_name, CAST(CASE WHEN nco.nspname IS
            NOT NULL THEN current_database() END AS name) AS collation_catalog, CAST(nco.nspname AS name) AS
            collation_schema, CAST(co.collname AS name) AS collation_name, CAST(null AS integer) AS
            numeric_precision, CAST(null AS integer) AS numeric_precision_radix, CAST(null AS integer) AS
            numeric_scale, CAST(null AS integer) AS datetime_precision, CAST(null AS varchar) AS
            interval_type, CAST(null AS integer) AS interval_precision, CAST(null AS varchar) AS
            domain_default, CAST(current_database() AS name) AS udt_catalog, CAST(nbt.nspname AS name) AS
            udt_schema, CAST(bt.typname AS name) AS udt_name, CAST(null AS name) AS scope_catalog, CAST(null
            AS name) AS scope_schema, CAST(null AS name) AS scope_name, CAST(null AS integer) AS
            maximum_cardinality, CAST('a' || CAST(x.objdtdid AS text) AS name) AS dtd_identifier FROM
            pg_namespace n, pg_type at, pg_namespace nbt, pg_type bt, (SELECT c.relnamespace, CAST(c.relname
            AS name), CASE WHEN c.relkind = 'c' THEN 'USER-DEFINED TYPE'::text ELSE 'TABLE'::text END,
            a.attnum, a.atttypid, a.attcollation FROM pg_class c, pg_attribute a WHERE c.oid = a.attrelid
            AND c.relkind IN ('r', 'v', 'f', 'c', 'p') AND attnum > 0 AND NOT attisdropped UNION ALL SELECT
            t.typnamespace, CAST(t.typname AS name), 'DOMAIN'::text, 1, t.typbasetype, t.typcollation FROM
            pg_type t WHERE t.typtype = 'd' UNION ALL SELECT pronamespace, CAST(nameconcatoid(proname, oid)
            AS name), 'ROUTINE'::text, (ss.x).n, (ss.x).x, 0 FROM (SELECT p.pronamespace, p.proname, p.oid,
            _pg_expand_types(coalesce(p.proallargtypes, p.proargtypes::oid[])) AS x FROM pg_proc p) AS ss
            UNION ALL SELECT p.pronamespace, CAST(nameconcatoid(p.proname, p.oid) AS name), 'ROUTINE'::text,
            0, p.prorettype, 0 FROM pg_proc p) AS x (objschema, objname, objtype, objdtdid, objtypeid,
            objcollation) LEFT JOIN (pg_collation co JOIN pg_namespace nco ON (co.collnamespace = nco.oid))
            ON x.objcollation = co.oid AND (nco.nspname, co.collname) <> ('pg_catalog', 'default') WHERE
            n.oid = x.objschema AND at.oid = x.objtypeid AND (at.typelem <> 0 AND at.typlen = -1) AND
            at.typelem = bt.oid AND nbt.oid = bt.typnamespace AND (n.nspname, x.objname, x.objtype,
            CAST(x.objdtdid AS name)) IN (SELECT object_schema, object_name, object_type, dtd_identifier
            FROM information_schema.data_type_privileges)"#; {
        object_catalog: Name, object_schema: Name, object_name: Name, object_type: Varchar,
        collection_type_identifier: Name, data_type: Varchar, character_maximum_length: Int4,
        character_octet_length: Int4, character_set_catalog: Name, character_set_schema: Name,
        character_set_name: Name, collation_catalog: Name, collation_schema: Name, collation_name: Name,
        numeric_precision: Int4, numeric_precision_radix: Int4, numeric_scale: Int4, datetime_precision:
        Int4, interval_type: Varchar, interval_precision: Int4, domain_default: Varchar, udt_catalog:
        Name, udt_schema: Name, udt_name: Name, scope_catalog: Name, scope_schema: Name, scope_name:
        Name, maximum_cardinality: Int4, dtd_identifier: Name
    }
    13463 user_defined_types = r#"SELECT CAST(current_database() AS name) AS user_defined_type_catalog, CAST(n.nspname AS name) AS
            user_defined_type_schema, CAST(c.relname AS name) AS user_defined_type_name, CAST('STRUCTURED'
            AS varchar) AS user_defined_type_category, CAST('YES' AS varchar) AS is_instantiable, CAST(null
            AS varchar) AS is_final, CAST(null AS varchar) AS ordering_form, CAST(null AS varchar) AS
            ordering_category, CAST(null AS name) AS ordering_routine_catalog, CAST(null AS name) AS
            ordering_routine_schema, CAST(null AS name) AS ordering_routine_name, CAST(null AS varchar) AS
            reference_type, CAST(null AS varchar) AS data_type, CAST(null AS integer) AS
            character_maximum_length, CAST(null AS integer) AS character_octet_length, CAST(null AS name) AS
            character_set_catalog, CAST(null AS name) AS character_set_schema, CAST(null AS name) AS
            character_set_name, CAST(null AS name) AS collation_catalog, CAST(null AS name) AS
            collation_schema, CAST(null AS name) AS collation_name, CAST(null AS integer) AS
            numeric_precision, CAST(null AS integer) AS numeric_precision_radix, CAST(null AS integer) AS
            numeric_scale, CAST(null AS integer) AS datetime_precision, CAST(null AS varchar) AS
            interval_type, CAST(null AS integer) AS interval_precision, CAST(null AS name) AS
            source_dtd_identifier, CAST(null AS name) AS ref_dtd_identifier FROM pg_namespace n, pg_class c,
            pg_type t WHERE n.oid = c.relnamespace AND t.typrelid = c.oid AND c.relkind = 'c' AND
            (pg_has_role(t.typowner, 'USAGE') OR has_type_privilege(t.oid, 'USAGE'))"#; {
        user_defined_type_catalog: Name, user_defined_type_schema: Name, user_defined_type_name: Name,
        user_defined_type_category: Varchar, is_instantiable: Varchar, is_final: Varchar, ordering_form:
        Varchar, ordering_category: Varchar, ordering_routine_catalog: Name, ordering_routine_schema:
        Name, ordering_routine_name: Name, reference_type: Varchar, data_type: Varchar,
        character_maximum_length: Int4, character_octet_length: Int4, character_set_catalog: Name,
        character_set_schema: Name, character_set_name: Name, collation_catalog: Name, collation_schema:
        Name, collation_name: Name, numeric_precision: Int4, numeric_precision_radix: Int4,
        numeric_scale: Int4, datetime_precision: Int4, interval_type: Varchar, interval_precision: Int4,
        source_dtd_identifier: Name, ref_dtd_identifier: Name
    }
    13265 collations = r#"SELECT CAST(current_database() AS name) AS collation_catalog, CAST(nc.nspname AS name) AS collation_schema,
            CAST(c.collname AS name) AS collation_name, CAST('NO PAD' AS varchar) AS pad_attribute FROM
            pg_collation c, pg_namespace nc WHERE c.collnamespace = nc.oid AND collencoding IN (-1, (SELECT
            encoding FROM pg_database WHERE datname = current_database()))"#; {
        collation_catalog: Name, collation_schema: Name, collation_name: Name, pad_attribute: Varchar
    }
    13270 collation_character_set_applicability = r#"SELECT CAST(current_database() AS name) AS collation_catalog, CAST(nc.nspname AS name) AS collation_schema,
            CAST(c.collname AS name) AS collation_name, CAST(null AS name) AS character_set_catalog,
            CAST(null AS name) AS character_set_schema, CAST(getdatabaseencoding() AS name) AS
            character_set_name FROM pg_collation c, pg_namespace nc WHERE c.collnamespace = nc.oid AND
            collencoding IN (-1, (SELECT encoding FROM pg_database WHERE datname = current_database()))"#; {
        collation_catalog: Name, collation_schema: Name, collation_name: Name, character_set_catalog:
        Name, character_set_schema: Name, character_set_name: Name
    }
};
