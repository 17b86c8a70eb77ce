//! `information_schema`: the SQL standard's view of the catalog, as SQL over `pg_catalog`.

pub(super) mod foreign;
mod rights;
mod types;
mod uses;

use super::layout::{SystemView, columns, views};

/// All of them.
pub(super) fn all() -> impl Iterator<Item = &'static SystemView> {
    [VIEWS, rights::VIEWS, types::VIEWS, uses::VIEWS].into_iter().flatten()
}

static VIEWS: &[SystemView] = views! { "information_schema":
    13227 information_schema_catalog_name = r#"SELECT pg_catalog.current_database() AS catalog_name"#; {
        catalog_name: Name
    }
    13250 character_sets = r#"SELECT NULL::name AS character_set_catalog, NULL::name AS character_set_schema, 'UTF8'::name AS character_set_name,
                'UCS'::name AS character_repertoire, 'UTF8'::name AS form_of_use,
                pg_catalog.current_database() AS default_collate_catalog, NULL::name AS default_collate_schema,
                NULL::name AS default_collate_name"#; {
        character_set_catalog: Name, character_set_schema: Name, character_set_name: Name,
        character_repertoire: Name, form_of_use: Name, default_collate_catalog: Name,
        default_collate_schema: Name, default_collate_name: Name
    }
    13382 schemata = r#"SELECT pg_catalog.current_database() AS catalog_name, n.nspname AS schema_name, u.rolname AS schema_owner,
                NULL::name AS default_character_set_catalog, NULL::name AS default_character_set_schema,
                NULL::name AS default_character_set_name, NULL::varchar AS sql_path
            FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_authid u ON n.nspowner = u.oid"#; {
        catalog_name: Name, schema_name: Name, schema_owner: Name, default_character_set_catalog: Name,
        default_character_set_schema: Name, default_character_set_name: Name, sql_path: Varchar
    }
    13425 tables = r#"SELECT pg_catalog.current_database() AS table_catalog, nc.nspname AS table_schema, c.relname AS table_name,
                (CASE WHEN nc.oid = pg_catalog.pg_my_temp_schema() THEN 'LOCAL TEMPORARY'
                    WHEN c.relkind IN ('r', 'p') THEN 'BASE TABLE'
                    WHEN c.relkind = 'v' THEN 'VIEW' WHEN c.relkind = 'f' THEN 'FOREIGN' END)::varchar AS table_type,
                NULL::name AS self_referencing_column_name, NULL::varchar AS reference_generation,
                NULL::name AS user_defined_type_catalog, NULL::name AS user_defined_type_schema,
                NULL::name AS user_defined_type_name,
                (CASE WHEN c.relkind IN ('r', 'p') THEN 'YES' ELSE 'NO' END)::varchar AS is_insertable_into,
                'NO'::varchar AS is_typed, NULL::varchar AS commit_action
            FROM pg_catalog.pg_namespace nc JOIN pg_catalog.pg_class c ON nc.oid = c.relnamespace
            WHERE c.relkind IN ('r', 'v', 'f', 'p') AND NOT pg_catalog.pg_is_other_temp_schema(nc.oid)"#; {
        table_catalog: Name, table_schema: Name, table_name: Name, table_type: Varchar,
        self_referencing_column_name: Name, reference_generation: Varchar, user_defined_type_catalog: Name,
        user_defined_type_schema: Name, user_defined_type_name: Name, is_insertable_into: Varchar,
        is_typed: Varchar, commit_action: Varchar
    }
    13295 columns = r#"SELECT pg_catalog.current_database() AS table_catalog, nc.nspname AS table_schema, c.relname AS table_name,
                a.attname AS column_name, a.attnum::integer AS ordinal_position,
                (CASE WHEN a.attgenerated = '' THEN pg_catalog.pg_get_expr(ad.adbin, ad.adrelid) END)::varchar AS column_default,
                (CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END)::varchar AS is_nullable,
                (CASE WHEN b.typelem <> 0 AND b.typlen = -1 THEN 'ARRAY'
                    WHEN nb.nspname = 'pg_catalog' THEN pg_catalog.format_type(b.oid, NULL)
                    ELSE 'USER-DEFINED' END)::varchar AS data_type,
                CASE WHEN b.oid IN (1042, 1043) AND m.typmod <> -1 THEN m.typmod - 4 END AS character_maximum_length,
                CASE WHEN b.oid NOT IN (25, 1042, 1043) THEN NULL
                    WHEN b.oid <> 25 AND m.typmod <> -1 THEN (m.typmod - 4) * 4
                    ELSE 1073741824 END AS character_octet_length,
                CASE b.oid WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24 WHEN 701 THEN 53
                    WHEN 1700 THEN CASE WHEN m.typmod <> -1 THEN ((m.typmod - 4) >> 16) & 65535 END
                    END AS numeric_precision,
                CASE WHEN b.oid IN (21, 23, 20, 700, 701) THEN 2 WHEN b.oid = 1700 THEN 10
                    END AS numeric_precision_radix,
                CASE WHEN b.oid IN (21, 23, 20) THEN 0
                    WHEN b.oid = 1700 AND m.typmod <> -1 THEN (m.typmod - 4) & 65535 END AS numeric_scale,
                CASE WHEN b.oid = 1082 THEN 0
                    WHEN b.oid IN (1083, 1114, 1184, 1266) THEN CASE WHEN m.typmod < 0 THEN 6 ELSE m.typmod END
                    WHEN b.oid = 1186 THEN CASE WHEN m.typmod < 0 OR (m.typmod & 65535) = 65535 THEN 6
                        ELSE m.typmod & 65535 END
                    END AS datetime_precision,
                information_schema._pg_interval_type(a.atttypid, a.atttypmod)::varchar AS interval_type,
                NULL::integer AS interval_precision, NULL::name AS character_set_catalog,
                NULL::name AS character_set_schema, NULL::name AS character_set_name,
                CASE WHEN nco.nspname IS NOT NULL THEN pg_catalog.current_database() END AS collation_catalog,
                nco.nspname AS collation_schema, co.collname AS collation_name,
                CASE WHEN t.typtype = 'd' THEN pg_catalog.current_database() END AS domain_catalog,
                CASE WHEN t.typtype = 'd' THEN nt.nspname END AS domain_schema,
                CASE WHEN t.typtype = 'd' THEN t.typname END AS domain_name, pg_catalog.current_database() AS udt_catalog,
                nb.nspname AS udt_schema, b.typname AS udt_name, NULL::name AS scope_catalog, NULL::name AS scope_schema,
                NULL::name AS scope_name, NULL::integer AS maximum_cardinality, a.attnum::text::name AS dtd_identifier,
                'NO'::varchar AS is_self_referencing,
                (CASE WHEN a.attidentity IN ('a', 'd') THEN 'YES' ELSE 'NO' END)::varchar AS is_identity,
                (CASE a.attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' END)::varchar AS identity_generation,
                seq.seqstart::varchar AS identity_start, seq.seqincrement::varchar AS identity_increment,
                seq.seqmax::varchar AS identity_maximum, seq.seqmin::varchar AS identity_minimum,
                (CASE WHEN seq.seqcycle THEN 'YES' ELSE 'NO' END)::varchar AS identity_cycle,
                (CASE WHEN a.attgenerated <> '' THEN 'ALWAYS' ELSE 'NEVER' END)::varchar AS is_generated,
                (CASE WHEN a.attgenerated <> '' THEN pg_catalog.pg_get_expr(ad.adbin, ad.adrelid) END)::varchar
                    AS generation_expression,
                (CASE WHEN c.relkind IN ('r', 'p') THEN 'YES' ELSE 'NO' END)::varchar AS is_updatable
            FROM pg_catalog.pg_attribute a
                LEFT JOIN pg_catalog.pg_attrdef ad ON a.attrelid = ad.adrelid AND a.attnum = ad.adnum
                JOIN pg_catalog.pg_class c ON a.attrelid = c.oid
                JOIN pg_catalog.pg_namespace nc ON c.relnamespace = nc.oid
                JOIN pg_catalog.pg_type t ON a.atttypid = t.oid
                JOIN pg_catalog.pg_namespace nt ON t.typnamespace = nt.oid
                JOIN pg_catalog.pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
                JOIN pg_catalog.pg_namespace nb ON b.typnamespace = nb.oid
                CROSS JOIN LATERAL (SELECT CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END AS typmod) m
                LEFT JOIN pg_catalog.pg_collation co ON a.attcollation = co.oid AND co.collname <> 'default'
                LEFT JOIN pg_catalog.pg_namespace nco ON co.collnamespace = nco.oid
                LEFT JOIN pg_catalog.pg_depend dep ON dep.refclassid = 1259 AND dep.refobjid = c.oid
                    AND dep.refobjsubid = a.attnum AND dep.classid = 1259 AND dep.deptype = 'i'
                LEFT JOIN pg_catalog.pg_sequence seq ON dep.objid = seq.seqrelid
            WHERE NOT pg_catalog.pg_is_other_temp_schema(nc.oid) AND a.attnum > 0 AND NOT a.attisdropped
                AND c.relkind IN ('r', 'v', 'f', 'p')"#; {
        table_catalog: Name, table_schema: Name, table_name: Name, column_name: Name, ordinal_position: Int4,
        column_default: Varchar, is_nullable: Varchar, data_type: Varchar, character_maximum_length: Int4,
        character_octet_length: Int4, numeric_precision: Int4, numeric_precision_radix: Int4,
        numeric_scale: Int4, datetime_precision: Int4, interval_type: Varchar, interval_precision: Int4,
        character_set_catalog: Name, character_set_schema: Name, character_set_name: Name,
        collation_catalog: Name, collation_schema: Name, collation_name: Name, domain_catalog: Name,
        domain_schema: Name, domain_name: Name, udt_catalog: Name, udt_schema: Name, udt_name: Name,
        scope_catalog: Name, scope_schema: Name, scope_name: Name, maximum_cardinality: Int4,
        dtd_identifier: Name, is_self_referencing: Varchar, is_identity: Varchar, identity_generation: Varchar,
        identity_start: Varchar, identity_increment: Varchar, identity_maximum: Varchar,
        identity_minimum: Varchar, identity_cycle: Varchar, is_generated: Varchar,
        generation_expression: Varchar, is_updatable: Varchar
    }
    13411 table_constraints = r#"SELECT pg_catalog.current_database() AS constraint_catalog, nc.nspname AS constraint_schema,
                c.conname AS constraint_name, pg_catalog.current_database() AS table_catalog, nr.nspname AS table_schema,
                r.relname AS table_name,
                (CASE c.contype WHEN 'c' THEN 'CHECK' WHEN 'f' THEN 'FOREIGN KEY' WHEN 'p' THEN 'PRIMARY KEY'
                    WHEN 'u' THEN 'UNIQUE' END)::varchar AS constraint_type,
                (CASE WHEN c.condeferrable THEN 'YES' ELSE 'NO' END)::varchar AS is_deferrable,
                (CASE WHEN c.condeferred THEN 'YES' ELSE 'NO' END)::varchar AS initially_deferred,
                'YES'::varchar AS enforced,
                (CASE WHEN c.contype = 'u' THEN 'YES' END)::varchar AS nulls_distinct
            FROM pg_catalog.pg_constraint c
                JOIN pg_catalog.pg_namespace nc ON nc.oid = c.connamespace
                JOIN pg_catalog.pg_class r ON c.conrelid = r.oid
                JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace
            WHERE NOT pg_catalog.pg_is_other_temp_schema(nr.oid)
            UNION ALL
            SELECT pg_catalog.current_database(), nr.nspname,
                (nr.oid::text || '_' || r.oid::text || '_' || a.attnum::text || '_not_null')::name,
                pg_catalog.current_database(), nr.nspname, r.relname, 'CHECK'::varchar, 'NO'::varchar, 'NO'::varchar,
                'YES'::varchar, NULL::varchar
            FROM pg_catalog.pg_attribute a
                JOIN pg_catalog.pg_class r ON r.oid = a.attrelid
                JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace
            WHERE a.attnotnull AND a.attnum > 0 AND NOT a.attisdropped AND r.relkind IN ('r', 'p')
                AND NOT pg_catalog.pg_is_other_temp_schema(nr.oid)"#; {
        constraint_catalog: Name, constraint_schema: Name, constraint_name: Name, table_catalog: Name,
        table_schema: Name, table_name: Name, constraint_type: Varchar, is_deferrable: Varchar,
        initially_deferred: Varchar, enforced: Varchar, nulls_distinct: Varchar
    }
    13329 key_column_usage = r#"SELECT pg_catalog.current_database() AS constraint_catalog, nc.nspname AS constraint_schema,
                k.conname AS constraint_name, pg_catalog.current_database() AS table_catalog, nr.nspname AS table_schema,
                r.relname AS table_name, a.attname AS column_name, k.n AS ordinal_position,
                CASE WHEN k.contype = 'f' THEN (SELECT g.n FROM pg_catalog.generate_subscripts(k.keys, 1) g(n)
                    WHERE k.keys[g.n] = k.confkey[k.n]) END AS position_in_unique_constraint
            FROM (SELECT c.conname, c.contype, c.connamespace, c.conrelid, c.confkey, c.conkey, i.conkey AS keys,
                    pg_catalog.generate_subscripts(c.conkey, 1) AS n
                FROM pg_catalog.pg_constraint c
                    LEFT JOIN pg_catalog.pg_constraint i ON i.conindid = c.conindid AND i.contype IN ('p', 'u')
                WHERE c.contype IN ('p', 'u', 'f')) k
                JOIN pg_catalog.pg_namespace nc ON nc.oid = k.connamespace
                JOIN pg_catalog.pg_class r ON r.oid = k.conrelid
                JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace
                JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum = k.conkey[k.n]
            WHERE NOT pg_catalog.pg_is_other_temp_schema(nr.oid)"#; {
        constraint_catalog: Name, constraint_schema: Name, constraint_name: Name, table_catalog: Name,
        table_schema: Name, table_name: Name, column_name: Name, ordinal_position: Int4,
        position_in_unique_constraint: Int4
    }
    13339 referential_constraints = r#"SELECT pg_catalog.current_database() AS constraint_catalog, nf.nspname AS constraint_schema,
                f.conname AS constraint_name,
                CASE WHEN nk.nspname IS NOT NULL THEN pg_catalog.current_database() END AS unique_constraint_catalog,
                nk.nspname AS unique_constraint_schema, k.conname AS unique_constraint_name,
                (CASE f.confmatchtype WHEN 'f' THEN 'FULL' WHEN 'p' THEN 'PARTIAL' WHEN 's' THEN 'NONE' END)::varchar
                    AS match_option,
                (CASE f.confupdtype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT'
                    WHEN 'r' THEN 'RESTRICT' WHEN 'a' THEN 'NO ACTION' END)::varchar AS update_rule,
                (CASE f.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT'
                    WHEN 'r' THEN 'RESTRICT' WHEN 'a' THEN 'NO ACTION' END)::varchar AS delete_rule
            FROM pg_catalog.pg_constraint f
                JOIN pg_catalog.pg_namespace nf ON nf.oid = f.connamespace
                LEFT JOIN pg_catalog.pg_constraint k ON k.conindid = f.conindid AND k.contype IN ('p', 'u')
                LEFT JOIN pg_catalog.pg_namespace nk ON nk.oid = k.connamespace
            WHERE f.contype = 'f'"#; {
        constraint_catalog: Name, constraint_schema: Name, constraint_name: Name,
        unique_constraint_catalog: Name, unique_constraint_schema: Name, unique_constraint_name: Name,
        match_option: Varchar, update_rule: Varchar, delete_rule: Varchar
    }
    13300 constraint_column_usage = r#"SELECT pg_catalog.current_database() AS table_catalog, nr.nspname AS table_schema, r.relname AS table_name,
                a.attname AS column_name, pg_catalog.current_database() AS constraint_catalog,
                nc.nspname AS constraint_schema, c.conname AS constraint_name
            FROM pg_catalog.pg_constraint c
                JOIN pg_catalog.pg_namespace nc ON nc.oid = c.connamespace
                JOIN pg_catalog.pg_class r ON r.oid = CASE c.contype WHEN 'f' THEN c.confrelid ELSE c.conrelid END
                JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace
                JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND NOT a.attisdropped
                    AND a.attnum = ANY (CASE c.contype WHEN 'f' THEN c.confkey ELSE c.conkey END)"#; {
        table_catalog: Name, table_schema: Name, table_name: Name, column_name: Name, constraint_catalog: Name,
        constraint_schema: Name, constraint_name: Name
    }
    13305 constraint_table_usage = r#"SELECT pg_catalog.current_database() AS table_catalog, nr.nspname AS table_schema, r.relname AS table_name,
                pg_catalog.current_database() AS constraint_catalog, nc.nspname AS constraint_schema,
                c.conname AS constraint_name
            FROM pg_catalog.pg_constraint c
                JOIN pg_catalog.pg_namespace nc ON nc.oid = c.connamespace
                JOIN pg_catalog.pg_class r ON r.oid = CASE c.contype WHEN 'f' THEN c.confrelid ELSE c.conrelid END
                JOIN pg_catalog.pg_namespace nr ON nr.oid = r.relnamespace
            WHERE c.contype IN ('f', 'p', 'u')"#; {
        table_catalog: Name, table_schema: Name, table_name: Name, constraint_catalog: Name,
        constraint_schema: Name, constraint_name: Name
    }
    13260 check_constraints = r#"SELECT pg_catalog.current_database() AS constraint_catalog, n.nspname AS constraint_schema,
                c.conname AS constraint_name, substring(pg_catalog.pg_get_constraintdef(c.oid), 7)::varchar AS check_clause
            FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace
            WHERE c.contype = 'c'
            UNION ALL
            SELECT pg_catalog.current_database(), n.nspname,
                (n.oid::text || '_' || r.oid::text || '_' || a.attnum::text || '_not_null')::name,
                (a.attname::text || ' IS NOT NULL')::varchar
            FROM pg_catalog.pg_attribute a
                JOIN pg_catalog.pg_class r ON r.oid = a.attrelid
                JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace
            WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attnotnull AND r.relkind IN ('r', 'p')"#; {
        constraint_catalog: Name, constraint_schema: Name, constraint_name: Name, check_clause: Varchar
    }
    13483 views = r#"SELECT pg_catalog.current_database() AS table_catalog, nc.nspname AS table_schema, c.relname AS table_name,
                pg_catalog.pg_get_viewdef(c.oid)::varchar AS view_definition, 'NONE'::varchar AS check_option,
                'NO'::varchar AS is_updatable, 'NO'::varchar AS is_insertable_into, 'NO'::varchar AS is_trigger_updatable,
                'NO'::varchar AS is_trigger_deletable, 'NO'::varchar AS is_trigger_insertable_into
            FROM pg_catalog.pg_namespace nc JOIN pg_catalog.pg_class c ON c.relnamespace = nc.oid
            WHERE c.relkind = 'v' AND NOT pg_catalog.pg_is_other_temp_schema(nc.oid)"#; {
        table_catalog: Name, table_schema: Name, table_name: Name, view_definition: Varchar,
        check_option: Varchar, is_updatable: Varchar, is_insertable_into: Varchar,
        is_trigger_updatable: Varchar, is_trigger_deletable: Varchar, is_trigger_insertable_into: Varchar
    }
    13386 sequences = r#"SELECT pg_catalog.current_database() AS sequence_catalog, nc.nspname AS sequence_schema,
                c.relname AS sequence_name, pg_catalog.format_type(s.seqtypid, NULL)::varchar AS data_type,
                CASE s.seqtypid WHEN 21 THEN 16 WHEN 23 THEN 32 ELSE 64 END AS numeric_precision,
                2 AS numeric_precision_radix, 0 AS numeric_scale, s.seqstart::varchar AS start_value,
                s.seqmin::varchar AS minimum_value, s.seqmax::varchar AS maximum_value, s.seqincrement::varchar AS increment,
                (CASE WHEN s.seqcycle THEN 'YES' ELSE 'NO' END)::varchar AS cycle_option
            FROM pg_catalog.pg_namespace nc
                JOIN pg_catalog.pg_class c ON c.relnamespace = nc.oid
                JOIN pg_catalog.pg_sequence s ON c.oid = s.seqrelid
            WHERE c.relkind = 'S' AND NOT pg_catalog.pg_is_other_temp_schema(nc.oid)
                AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d
                    WHERE d.classid = 1259 AND d.objid = c.oid AND d.deptype = 'i')"#; {
        sequence_catalog: Name, sequence_schema: Name, sequence_name: Name, data_type: Varchar,
        numeric_precision: Int4, numeric_precision_radix: Int4, numeric_scale: Int4, start_value: Varchar,
        minimum_value: Varchar, maximum_value: Varchar, increment: Varchar, cycle_option: Varchar
    }
    13377 routines = r#"SELECT pg_catalog.current_database() AS specific_catalog, n.nspname AS specific_schema,
                (p.proname || '_' || p.oid::text)::name AS specific_name, pg_catalog.current_database() AS routine_catalog,
                n.nspname AS routine_schema, p.proname AS routine_name,
                (CASE p.prokind WHEN 'f' THEN 'FUNCTION' WHEN 'p' THEN 'PROCEDURE' END)::varchar AS routine_type,
                NULL::name AS module_catalog, NULL::name AS module_schema, NULL::name AS module_name, NULL::name AS udt_catalog,
                NULL::name AS udt_schema, NULL::name AS udt_name,
                (CASE WHEN p.prokind = 'p' THEN NULL WHEN t.typelem <> 0 AND t.typlen = -1 THEN 'ARRAY'
                    ELSE pg_catalog.format_type(t.oid, NULL) END)::varchar AS data_type,
                NULL::integer AS character_maximum_length, NULL::integer AS character_octet_length,
                NULL::name AS character_set_catalog, NULL::name AS character_set_schema, NULL::name AS character_set_name,
                NULL::name AS collation_catalog, NULL::name AS collation_schema, NULL::name AS collation_name,
                NULL::integer AS numeric_precision, NULL::integer AS numeric_precision_radix, NULL::integer AS numeric_scale,
                NULL::integer AS datetime_precision, NULL::varchar AS interval_type, NULL::integer AS interval_precision,
                pg_catalog.current_database() AS type_udt_catalog, nt.nspname AS type_udt_schema, t.typname AS type_udt_name,
                NULL::name AS scope_catalog, NULL::name AS scope_schema, NULL::name AS scope_name,
                NULL::integer AS maximum_cardinality, 0::text::name AS dtd_identifier,
                (CASE WHEN p.prolang = 14 THEN 'SQL' ELSE 'EXTERNAL' END)::varchar AS routine_body,
                p.prosrc::varchar AS routine_definition, NULL::varchar AS external_name,
                (CASE p.prolang WHEN 12 THEN 'INTERNAL' WHEN 13 THEN 'C' ELSE 'SQL' END)::varchar AS external_language,
                'GENERAL'::varchar AS parameter_style,
                (CASE WHEN p.provolatile = 'i' THEN 'YES' ELSE 'NO' END)::varchar AS is_deterministic,
                'MODIFIES'::varchar AS sql_data_access,
                (CASE WHEN p.prokind <> 'p' THEN CASE WHEN p.proisstrict THEN 'YES' ELSE 'NO' END END)::varchar AS is_null_call,
                NULL::varchar AS sql_path, 'YES'::varchar AS schema_level_routine, 0 AS max_dynamic_result_sets,
                NULL::varchar AS is_user_defined_cast, NULL::varchar AS is_implicitly_invocable,
                (CASE WHEN p.prosecdef THEN 'DEFINER' ELSE 'INVOKER' END)::varchar AS security_type,
                NULL::name AS to_sql_specific_catalog, NULL::name AS to_sql_specific_schema, NULL::name AS to_sql_specific_name,
                'NO'::varchar AS as_locator, NULL::timestamptz AS created, NULL::timestamptz AS last_altered,
                NULL::varchar AS new_savepoint_level, 'NO'::varchar AS is_udt_dependent,
                NULL::varchar AS result_cast_from_data_type, NULL::varchar AS result_cast_as_locator,
                NULL::integer AS result_cast_char_max_length, NULL::integer AS result_cast_char_octet_length,
                NULL::name AS result_cast_char_set_catalog, NULL::name AS result_cast_char_set_schema,
                NULL::name AS result_cast_char_set_name, NULL::name AS result_cast_collation_catalog,
                NULL::name AS result_cast_collation_schema, NULL::name AS result_cast_collation_name,
                NULL::integer AS result_cast_numeric_precision, NULL::integer AS result_cast_numeric_precision_radix,
                NULL::integer AS result_cast_numeric_scale, NULL::integer AS result_cast_datetime_precision,
                NULL::varchar AS result_cast_interval_type, NULL::integer AS result_cast_interval_precision,
                NULL::name AS result_cast_type_udt_catalog, NULL::name AS result_cast_type_udt_schema,
                NULL::name AS result_cast_type_udt_name, NULL::name AS result_cast_scope_catalog,
                NULL::name AS result_cast_scope_schema, NULL::name AS result_cast_scope_name,
                NULL::integer AS result_cast_maximum_cardinality, NULL::name AS result_cast_dtd_identifier
            FROM pg_catalog.pg_proc p
                JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
                JOIN pg_catalog.pg_type t ON p.prorettype = t.oid
                JOIN pg_catalog.pg_namespace nt ON t.typnamespace = nt.oid"#; {
        specific_catalog: Name, specific_schema: Name, specific_name: Name, routine_catalog: Name,
        routine_schema: Name, routine_name: Name, routine_type: Varchar, module_catalog: Name,
        module_schema: Name, module_name: Name, udt_catalog: Name, udt_schema: Name, udt_name: Name,
        data_type: Varchar, character_maximum_length: Int4, character_octet_length: Int4,
        character_set_catalog: Name, character_set_schema: Name, character_set_name: Name,
        collation_catalog: Name, collation_schema: Name, collation_name: Name, numeric_precision: Int4,
        numeric_precision_radix: Int4, numeric_scale: Int4, datetime_precision: Int4, interval_type: Varchar,
        interval_precision: Int4, type_udt_catalog: Name, type_udt_schema: Name, type_udt_name: Name,
        scope_catalog: Name, scope_schema: Name, scope_name: Name, maximum_cardinality: Int4,
        dtd_identifier: Name, routine_body: Varchar, routine_definition: Varchar, external_name: Varchar,
        external_language: Varchar, parameter_style: Varchar, is_deterministic: Varchar,
        sql_data_access: Varchar, is_null_call: Varchar, sql_path: Varchar, schema_level_routine: Varchar,
        max_dynamic_result_sets: Int4, is_user_defined_cast: Varchar, is_implicitly_invocable: Varchar,
        security_type: Varchar, to_sql_specific_catalog: Name, to_sql_specific_schema: Name,
        to_sql_specific_name: Name, as_locator: Varchar, created: Timestamptz, last_altered: Timestamptz,
        new_savepoint_level: Varchar, is_udt_dependent: Varchar, result_cast_from_data_type: Varchar,
        result_cast_as_locator: Varchar, result_cast_char_max_length: Int4, result_cast_char_octet_length: Int4,
        result_cast_char_set_catalog: Name, result_cast_char_set_schema: Name, result_cast_char_set_name: Name,
        result_cast_collation_catalog: Name, result_cast_collation_schema: Name,
        result_cast_collation_name: Name, result_cast_numeric_precision: Int4,
        result_cast_numeric_precision_radix: Int4, result_cast_numeric_scale: Int4,
        result_cast_datetime_precision: Int4, result_cast_interval_type: Varchar,
        result_cast_interval_precision: Int4, result_cast_type_udt_catalog: Name,
        result_cast_type_udt_schema: Name, result_cast_type_udt_name: Name, result_cast_scope_catalog: Name,
        result_cast_scope_schema: Name, result_cast_scope_name: Name, result_cast_maximum_cardinality: Int4,
        result_cast_dtd_identifier: Name
    }
};
