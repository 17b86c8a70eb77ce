//! What views, constraints, triggers and routines use. Source: PostgreSQL 15, `information_schema.sql`.

use crate::pg_catalog::layout::{SystemView, columns, views};

pub(super) static VIEWS: &[SystemView] = views! { "information_schema":
    13255 check_constraint_routine_usage = r#"SELECT DISTINCT CAST(current_database() AS name) AS constraint_catalog, CAST(nc.nspname AS name) AS
            constraint_schema, CAST(c.conname AS name) AS constraint_name, CAST(current_database() AS name)
            AS specific_catalog, CAST(np.nspname AS name) AS specific_schema, CAST(nameconcatoid(p.proname,
            p.oid) AS name) AS specific_name FROM pg_namespace nc, pg_constraint c, pg_depend d, pg_proc p,
            pg_namespace np WHERE nc.oid = c.connamespace AND c.contype = 'c' AND c.oid = d.objid AND
            d.classid = 'pg_catalog.pg_constraint'::regclass AND d.refobjid = p.oid AND d.refclassid =
            'pg_catalog.pg_proc'::regclass AND p.pronamespace = np.oid AND pg_has_role(p.proowner, 'USAGE')"#; {
        constraint_catalog: Name, constraint_schema: Name, constraint_name: Name, specific_catalog:
        Name, specific_schema: Name, specific_name: Name
    }
    13275 column_column_usage = r#"SELECT DISTINCT CAST(current_database() AS name) AS table_catalog, CAST(n.nspname AS name) AS table_schema,
            CAST(c.relname AS name) AS table_name, CAST(ac.attname AS name) AS column_name, CAST(ad.attname
            AS name) AS dependent_column FROM pg_namespace n, pg_class c, pg_depend d, pg_attribute ac,
            pg_attribute ad, pg_attrdef atd WHERE n.oid = c.relnamespace AND c.oid = ac.attrelid AND c.oid =
            ad.attrelid AND ac.attnum <> ad.attnum AND ad.attrelid = atd.adrelid AND ad.attnum = atd.adnum
            AND d.classid = 'pg_catalog.pg_attrdef'::regclass AND d.refclassid =
            'pg_catalog.pg_class'::regclass AND d.objid = atd.oid AND d.refobjid = ac.attrelid AND
            d.refobjsubid = ac.attnum AND ad.attgenerated <> '' AND pg_has_role(c.relowner, 'USAGE')"#; {
        table_catalog: Name, table_schema: Name, table_name: Name, column_name: Name, dependent_column:
        Name
    }
    13334 parameters = r#"SELECT CAST(current_database() AS name) AS specific_catalog, CAST(n_nspname AS name) AS specific_schema,
            CAST(nameconcatoid(proname, p_oid) AS name) AS specific_name, CAST((ss.x).n AS integer) AS
            ordinal_position, CAST(CASE WHEN proargmodes IS NULL THEN 'IN' WHEN proargmodes[(ss.x).n] = 'i'
            THEN 'IN' WHEN proargmodes[(ss.x).n] = 'o' THEN 'OUT' WHEN proargmodes[(ss.x).n] = 'b' THEN
            'INOUT' WHEN proargmodes[(ss.x).n] = 'v' THEN 'IN' WHEN proargmodes[(ss.x).n] = 't' THEN 'OUT'
            END AS varchar) AS parameter_mode, CAST('NO' AS varchar) AS is_result, CAST('NO' AS varchar) AS
            as_locator, CAST(NULLIF(proargnames[(ss.x).n], '') AS name) AS parameter_name, CAST(CASE WHEN
            t.typelem <> 0 AND t.typlen = -1 THEN 'ARRAY' WHEN nt.nspname = 'pg_catalog' THEN
            format_type(t.oid, null) ELSE 'USER-DEFINED' END AS varchar) AS data_type, CAST(null AS integer)
            AS character_maximum_length, CAST(null AS integer) AS character_octet_length, CAST(null AS name)
            AS character_set_catalog, CAST(null AS name) AS character_set_schema, CAST(null AS name) AS
            character_set_name, CAST(null AS name) AS collation_catalog, CAST(null AS name) AS
            collation_schema, CAST(null AS name) AS collation_name, CAST(null AS integer) AS
            numeric_precision, CAST(null AS integer) AS numeric_precision_radix, CAST(null AS integer) AS
            numeric_scale, CAST(null AS integer) AS datetime_precision, CAST(null AS varchar) AS
            interval_type, CAST(null AS integer) AS interval_precision, CAST(current_database() AS name) AS
            udt_catalog, CAST(nt.nspname AS name) AS udt_schema, CAST(t.typname AS name) AS udt_name,
            CAST(null AS name) AS scope_catalog, CAST(null AS name) AS scope_schema, CAST(null AS name) AS
            scope_name, CAST(null AS integer) AS maximum_cardinality, CAST((ss.x).n AS name) AS
            dtd_identifier, CAST(CASE WHEN pg_has_role(proowner, 'USAGE') THEN
            pg_get_function_arg_default(p_oid, (ss.x).n) ELSE NULL END AS varchar) AS parameter_default FROM
            pg_type t, pg_namespace nt, (SELECT n.nspname AS n_nspname, p.proname, p.oid AS p_oid,
            p.proowner, p.proargnames, p.proargmodes, _pg_expand_types(coalesce(p.proallargtypes,
            p.proargtypes::oid[])) AS x FROM pg_namespace n, pg_proc p WHERE n.oid = p.pronamespace AND
            (pg_has_role(p.proowner, 'USAGE') OR has_function_privilege(p.oid, 'EXECUTE'))) AS ss WHERE
            t.oid = (ss.x).x AND t.typnamespace = nt.oid"#; {
        specific_catalog: Name, specific_schema: Name, specific_name: Name, ordinal_position: Int4,
        parameter_mode: Varchar, is_result: Varchar, as_locator: Varchar, parameter_name: Name,
        data_type: Varchar, character_maximum_length: Int4, character_octet_length: Int4,
        character_set_catalog: Name, character_set_schema: Name, character_set_name: Name,
        collation_catalog: Name, collation_schema: Name, collation_name: Name, numeric_precision: Int4,
        numeric_precision_radix: Int4, numeric_scale: Int4, datetime_precision: Int4, interval_type:
        Varchar, interval_precision: Int4, udt_catalog: Name, udt_schema: Name, udt_name: Name,
        scope_catalog: Name, scope_schema: Name, scope_name: Name, maximum_cardinality: Int4,
        dtd_identifier: Name, parameter_default: Varchar
    }
    13348 routine_column_usage = r#"SELECT DISTINCT CAST(current_database() AS name) AS specific_catalog, CAST(np.nspname AS name) AS
            specific_schema, CAST(nameconcatoid(p.proname, p.oid) AS name) AS specific_name,
            CAST(current_database() AS name) AS routine_catalog, CAST(np.nspname AS name) AS routine_schema,
            CAST(p.proname AS name) AS routine_name, CAST(current_database() AS name) AS table_catalog,
            CAST(nt.nspname AS name) AS table_schema, CAST(t.relname AS name) AS table_name, CAST(a.attname
            AS name) AS column_name FROM pg_namespace np, pg_proc p, pg_depend d, pg_class t, pg_namespace
            nt, pg_attribute a WHERE np.oid = p.pronamespace AND p.oid = d.objid AND d.classid =
            'pg_catalog.pg_proc'::regclass AND d.refobjid = t.oid AND d.refclassid =
            'pg_catalog.pg_class'::regclass AND t.relnamespace = nt.oid AND t.relkind IN ('r', 'v', 'f',
            'p') AND t.oid = a.attrelid AND d.refobjsubid = a.attnum AND pg_has_role(t.relowner, 'USAGE')"#; {
        specific_catalog: Name, specific_schema: Name, specific_name: Name, routine_catalog: Name,
        routine_schema: Name, routine_name: Name, table_catalog: Name, table_schema: Name, table_name:
        Name, column_name: Name
    }
    13362 routine_routine_usage = r#"SELECT DISTINCT CAST(current_database() AS name) AS specific_catalog, CAST(np.nspname AS name) AS
            specific_schema, CAST(nameconcatoid(p.proname, p.oid) AS name) AS specific_name,
            CAST(current_database() AS name) AS routine_catalog, CAST(np1.nspname AS name) AS
            routine_schema, CAST(nameconcatoid(p1.proname, p1.oid) AS name) AS routine_name FROM
            pg_namespace np, pg_proc p, pg_depend d, pg_proc p1, pg_namespace np1 WHERE np.oid =
            p.pronamespace AND p.oid = d.objid AND d.classid = 'pg_catalog.pg_proc'::regclass AND d.refobjid
            = p1.oid AND d.refclassid = 'pg_catalog.pg_proc'::regclass AND p1.pronamespace = np1.oid AND
            p.prokind IN ('f', 'p') AND p1.prokind IN ('f', 'p') AND pg_has_role(p1.proowner, 'USAGE')"#; {
        specific_catalog: Name, specific_schema: Name, specific_name: Name, routine_catalog: Name,
        routine_schema: Name, routine_name: Name
    }
    13367 routine_sequence_usage = r#"SELECT DISTINCT CAST(current_database() AS name) AS specific_catalog, CAST(np.nspname AS name) AS
            specific_schema, CAST(nameconcatoid(p.proname, p.oid) AS name) AS specific_name,
            CAST(current_database() AS name) AS routine_catalog, CAST(np.nspname AS name) AS routine_schema,
            CAST(p.proname AS name) AS routine_name, CAST(current_database() AS name) AS sequence_catalog,
            CAST(ns.nspname AS name) AS sequence_schema, CAST(s.relname AS name) AS sequence_name FROM
            pg_namespace np, pg_proc p, pg_depend d, pg_class s, pg_namespace ns WHERE np.oid =
            p.pronamespace AND p.oid = d.objid AND d.classid = 'pg_catalog.pg_proc'::regclass AND d.refobjid
            = s.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass AND s.relnamespace = ns.oid AND
            s.relkind = 'S' AND pg_has_role(s.relowner, 'USAGE')"#; {
        specific_catalog: Name, specific_schema: Name, specific_name: Name, routine_catalog: Name,
        routine_schema: Name, routine_name: Name, sequence_catalog: Name, sequence_schema: Name,
        sequence_name: Name
    }
    13372 routine_table_usage = r#"SELECT DISTINCT CAST(current_database() AS name) AS specific_catalog, CAST(np.nspname AS name) AS
            specific_schema, CAST(nameconcatoid(p.proname, p.oid) AS name) AS specific_name,
            CAST(current_database() AS name) AS routine_catalog, CAST(np.nspname AS name) AS routine_schema,
            CAST(p.proname AS name) AS routine_name, CAST(current_database() AS name) AS table_catalog,
            CAST(nt.nspname AS name) AS table_schema, CAST(t.relname AS name) AS table_name FROM
            pg_namespace np, pg_proc p, pg_depend d, pg_class t, pg_namespace nt WHERE np.oid =
            p.pronamespace AND p.oid = d.objid AND d.classid = 'pg_catalog.pg_proc'::regclass AND d.refobjid
            = t.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass AND t.relnamespace = nt.oid AND
            t.relkind IN ('r', 'v', 'f', 'p') AND pg_has_role(t.relowner, 'USAGE')"#; {
        specific_catalog: Name, specific_schema: Name, specific_name: Name, routine_catalog: Name,
        routine_schema: Name, routine_name: Name, table_catalog: Name, table_schema: Name, table_name:
        Name
    }
    13430 transforms = r#"SELECT CAST(current_database() AS name) AS udt_catalog, CAST(nt.nspname AS name) AS udt_schema,
            CAST(t.typname AS name) AS udt_name, CAST(current_database() AS name) AS specific_catalog,
            CAST(np.nspname AS name) AS specific_schema, CAST(nameconcatoid(p.proname, p.oid) AS name) AS
            specific_name, CAST(l.lanname AS name) AS group_name, CAST('FROM SQL' AS varchar) AS
            transform_type FROM pg_type t JOIN pg_transform x ON t.oid = x.trftype JOIN pg_language l ON
            x.trflang = l.oid JOIN pg_proc p ON x.trffromsql = p.oid JOIN pg_namespace nt ON t.typnamespace
            = nt.oid JOIN pg_namespace np ON p.pronamespace = np.oid UNION SELECT CAST(current_database() AS
            name) AS udt_catalog, CAST(nt.nspname AS name) AS udt_schema, CAST(t.typname AS name) AS
            udt_name, CAST(current_database() AS name) AS specific_catalog, CAST(np.nspname AS name) AS
            specific_schema, CAST(nameconcatoid(p.proname, p.oid) AS name) AS specific_name, CAST(l.lanname
            AS name) AS group_name, CAST('TO SQL' AS varchar) AS transform_type FROM pg_type t JOIN
            pg_transform x ON t.oid = x.trftype JOIN pg_language l ON x.trflang = l.oid JOIN pg_proc p ON
            x.trftosql = p.oid JOIN pg_namespace nt ON t.typnamespace = nt.oid JOIN pg_namespace np ON
            p.pronamespace = np.oid ORDER BY udt_catalog, udt_schema, udt_name, group_name, transform_type"#; {
        udt_catalog: Name, udt_schema: Name, udt_name: Name, specific_catalog: Name, specific_schema:
        Name, specific_name: Name, group_name: Name, transform_type: Varchar
    }
    13435 triggered_update_columns = r#"SELECT CAST(current_database() AS name) AS trigger_catalog, CAST(n.nspname AS name) AS trigger_schema,
            CAST(t.tgname AS name) AS trigger_name, CAST(current_database() AS name) AS
            event_object_catalog, CAST(n.nspname AS name) AS event_object_schema, CAST(c.relname AS name) AS
            event_object_table, CAST(a.attname AS name) AS event_object_column FROM pg_namespace n, pg_class
            c, pg_trigger t, (SELECT tgoid, (ta0.tgat).x AS tgattnum, (ta0.tgat).n AS tgattpos FROM (SELECT
            oid AS tgoid, information_schema._pg_expandarray(tgattr) AS tgat FROM pg_trigger) AS ta0) AS ta,
            pg_attribute a WHERE n.oid = c.relnamespace AND c.oid = t.tgrelid AND t.oid = ta.tgoid AND
            (a.attrelid, a.attnum) = (t.tgrelid, ta.tgattnum) AND NOT t.tgisinternal AND (NOT
            pg_is_other_temp_schema(n.oid)) AND (pg_has_role(c.relowner, 'USAGE') OR
            has_column_privilege(c.oid, a.attnum, 'INSERT, UPDATE, REFERENCES'))"#; {
        trigger_catalog: Name, trigger_schema: Name, trigger_name: Name, event_object_catalog: Name,
        event_object_schema: Name, event_object_table: Name, event_object_column: Name
    }
    13440 triggers = r#"SELECT CAST(current_database() AS name) AS trigger_catalog, CAST(n.nspname AS name) AS trigger_schema,
            CAST(t.tgname AS name) AS trigger_name, CAST(em.text AS varchar) AS event_manipulation,
            CAST(current_database() AS name) AS event_object_catalog, CAST(n.nspname AS name) AS
            event_object_schema, CAST(c.relname AS name) AS event_object_table, CAST(rank() OVER (PARTITION
            BY CAST(n.nspname AS name), CAST(c.relname AS name), em.num, t.tgtype & 1, t.tgtype & 66 ORDER
            BY t.tgname) AS integer) AS action_order, CAST(CASE WHEN pg_has_role(c.relowner, 'USAGE') THEN
            (regexp_match(pg_get_triggerdef(t.oid), E'.{35,} WHEN \\((.+)\\) EXECUTE FUNCTION'))[1] ELSE
            null END AS varchar) AS action_condition, CAST(substring(pg_get_triggerdef(t.oid) from
            position('EXECUTE FUNCTION' in substring(pg_get_triggerdef(t.oid) from 48)) + 47) AS varchar) AS
            action_statement, CAST(CASE t.tgtype & 1 WHEN 1 THEN 'ROW' ELSE 'STATEMENT' END AS varchar) AS
            action_orientation, CAST(CASE t.tgtype & 66 WHEN 2 THEN 'BEFORE' WHEN 64 THEN 'INSTEAD OF' ELSE
            'AFTER' END AS varchar) AS action_timing, CAST(tgoldtable AS name) AS
            action_reference_old_table, CAST(tgnewtable AS name) AS action_reference_new_table, CAST(null AS
            name) AS action_reference_old_row, CAST(null AS name) AS action_reference_new_row, CAST(null AS
            timestamptz) AS created FROM pg_namespace n, pg_class c, pg_trigger t, (VALUES (4, 'INSERT'),
            (8, 'DELETE'), (16, 'UPDATE')) AS em (num, text) WHERE n.oid = c.relnamespace AND c.oid =
            t.tgrelid AND t.tgtype & em.num <> 0 AND NOT t.tgisinternal AND (NOT
            pg_is_other_temp_schema(n.oid)) AND (pg_has_role(c.relowner, 'USAGE') OR
            has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') OR
            has_any_column_privilege(c.oid, 'INSERT, UPDATE, REFERENCES'))"#; {
        trigger_catalog: Name, trigger_schema: Name, trigger_name: Name, event_manipulation: Varchar,
        event_object_catalog: Name, event_object_schema: Name, event_object_table: Name, action_order:
        Int4, action_condition: Varchar, action_statement: Varchar, action_orientation: Varchar,
        action_timing: Varchar, action_reference_old_table: Name, action_reference_new_table: Name,
        action_reference_old_row: Name, action_reference_new_row: Name, created: Timestamptz
    }
    13468 view_column_usage = r#"SELECT DISTINCT CAST(current_database() AS name) AS view_catalog, CAST(nv.nspname AS name) AS view_schema,
            CAST(v.relname AS name) AS view_name, CAST(current_database() AS name) AS table_catalog,
            CAST(nt.nspname AS name) AS table_schema, CAST(t.relname AS name) AS table_name, CAST(a.attname
            AS name) AS column_name FROM pg_namespace nv, pg_class v, pg_depend dv, pg_depend dt, pg_class
            t, pg_namespace nt, pg_attribute a WHERE nv.oid = v.relnamespace AND v.relkind = 'v' AND v.oid =
            dv.refobjid AND dv.refclassid = 'pg_catalog.pg_class'::regclass AND dv.classid =
            'pg_catalog.pg_rewrite'::regclass AND dv.deptype = 'i' AND dv.objid = dt.objid AND dv.refobjid
            <> dt.refobjid AND dt.classid = 'pg_catalog.pg_rewrite'::regclass AND dt.refclassid =
            'pg_catalog.pg_class'::regclass AND dt.refobjid = t.oid AND t.relnamespace = nt.oid AND
            t.relkind IN ('r', 'v', 'f', 'p') AND t.oid = a.attrelid AND dt.refobjsubid = a.attnum AND
            pg_has_role(t.relowner, 'USAGE')"#; {
        view_catalog: Name, view_schema: Name, view_name: Name, table_catalog: Name, table_schema: Name,
        table_name: Name, column_name: Name
    }
    13473 view_routine_usage = r#"SELECT DISTINCT CAST(current_database() AS name) AS table_catalog, CAST(nv.nspname AS name) AS table_schema,
            CAST(v.relname AS name) AS table_name, CAST(current_database() AS name) AS specific_catalog,
            CAST(np.nspname AS name) AS specific_schema, CAST(nameconcatoid(p.proname, p.oid) AS name) AS
            specific_name FROM pg_namespace nv, pg_class v, pg_depend dv, pg_depend dp, pg_proc p,
            pg_namespace np WHERE nv.oid = v.relnamespace AND v.relkind = 'v' AND v.oid = dv.refobjid AND
            dv.refclassid = 'pg_catalog.pg_class'::regclass AND dv.classid =
            'pg_catalog.pg_rewrite'::regclass AND dv.deptype = 'i' AND dv.objid = dp.objid AND dp.classid =
            'pg_catalog.pg_rewrite'::regclass AND dp.refclassid = 'pg_catalog.pg_proc'::regclass AND
            dp.refobjid = p.oid AND p.pronamespace = np.oid AND pg_has_role(p.proowner, 'USAGE')"#; {
        table_catalog: Name, table_schema: Name, table_name: Name, specific_catalog: Name,
        specific_schema: Name, specific_name: Name
    }
    13478 view_table_usage = r#"SELECT DISTINCT CAST(current_database() AS name) AS view_catalog, CAST(nv.nspname AS name) AS view_schema,
            CAST(v.relname AS name) AS view_name, CAST(current_database() AS name) AS table_catalog,
            CAST(nt.nspname AS name) AS table_schema, CAST(t.relname AS name) AS table_name FROM
            pg_namespace nv, pg_class v, pg_depend dv, pg_depend dt, pg_class t, pg_namespace nt WHERE
            nv.oid = v.relnamespace AND v.relkind = 'v' AND v.oid = dv.refobjid AND dv.refclassid =
            'pg_catalog.pg_class'::regclass AND dv.classid = 'pg_catalog.pg_rewrite'::regclass AND
            dv.deptype = 'i' AND dv.objid = dt.objid AND dv.refobjid <> dt.refobjid AND dt.classid =
            'pg_catalog.pg_rewrite'::regclass AND dt.refclassid = 'pg_catalog.pg_class'::regclass AND
            dt.refobjid = t.oid AND t.relnamespace = nt.oid AND t.relkind IN ('r', 'v', 'f', 'p') AND
            pg_has_role(t.relowner, 'USAGE')"#; {
        view_catalog: Name, view_schema: Name, view_name: Name, table_catalog: Name, table_schema: Name,
        table_name: Name
    }
};
