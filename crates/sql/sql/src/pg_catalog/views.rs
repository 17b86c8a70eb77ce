//! System views, as SQL over the other tables. What PostgreSQL counts and this server does not is NULL in them.

use super::layout::{SystemView, columns, views};

pub(super) static VIEWS: &[SystemView] = views! { "pg_catalog":
    12000 pg_roles = r#"SELECT rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolconnlimit,
                '********'::text AS rolpassword, rolvaliduntil, rolbypassrls, setconfig AS rolconfig, oid
            FROM pg_catalog.pg_authid LEFT JOIN pg_catalog.pg_db_role_setting ON setrole = oid AND setdatabase = 0"#; {
        rolname: Name, rolsuper: Bool, rolinherit: Bool, rolcreaterole: Bool, rolcreatedb: Bool,
        rolcanlogin: Bool, rolreplication: Bool, rolconnlimit: Int4, rolpassword: Text,
        rolvaliduntil: Timestamptz, rolbypassrls: Bool, rolconfig: [Text], oid: Oid
    }
    12005 pg_shadow = r#"SELECT rolname AS usename, oid AS usesysid, rolcreatedb AS usecreatedb, rolsuper AS usesuper,
                rolreplication AS userepl, rolbypassrls AS usebypassrls, rolpassword AS passwd, rolvaliduntil AS valuntil,
                setconfig AS useconfig
            FROM pg_catalog.pg_authid LEFT JOIN pg_catalog.pg_db_role_setting ON setrole = oid AND setdatabase = 0
            WHERE rolcanlogin"#; {
        usename: Name, usesysid: Oid, usecreatedb: Bool, usesuper: Bool, userepl: Bool, usebypassrls: Bool,
        passwd: Text, valuntil: Timestamptz, useconfig: [Text]
    }
    12014 pg_user = r#"SELECT rolname AS usename, oid AS usesysid, rolcreatedb AS usecreatedb, rolsuper AS usesuper,
                rolreplication AS userepl, rolbypassrls AS usebypassrls, '********'::text AS passwd,
                rolvaliduntil AS valuntil, setconfig AS useconfig
            FROM pg_catalog.pg_authid LEFT JOIN pg_catalog.pg_db_role_setting ON setrole = oid AND setdatabase = 0
            WHERE rolcanlogin"#; {
        usename: Name, usesysid: Oid, usecreatedb: Bool, usesuper: Bool, userepl: Bool, usebypassrls: Bool,
        passwd: Text, valuntil: Timestamptz, useconfig: [Text]
    }
    12010 pg_group = r#"SELECT a.rolname AS groname, a.oid AS grosysid,
                ARRAY(SELECT m.member FROM pg_catalog.pg_auth_members m WHERE m.roleid = a.oid) AS grolist
            FROM pg_catalog.pg_authid a WHERE NOT a.rolcanlogin"#; {
        groname: Name, grosysid: Oid, grolist: [Oid]
    }
    12023 pg_rules = r#"SELECT n.nspname AS schemaname, c.relname AS tablename, r.rulename,
                pg_catalog.pg_get_ruledef(r.oid) AS definition
            FROM pg_catalog.pg_rewrite r
                JOIN pg_catalog.pg_class c ON c.oid = r.ev_class
                LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE r.rulename <> '_RETURN'"#; {
        schemaname: Name, tablename: Name, rulename: Name, definition: Text
    }
    12028 pg_views = r#"SELECT n.nspname AS schemaname, c.relname AS viewname, pg_catalog.pg_get_userbyid(c.relowner) AS viewowner,
                pg_catalog.pg_get_viewdef(c.oid) AS definition
            FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relkind = 'v'"#; {
        schemaname: Name, viewname: Name, viewowner: Name, definition: Text
    }
    12038 pg_matviews = r#"SELECT n.nspname AS schemaname, c.relname AS matviewname, pg_catalog.pg_get_userbyid(c.relowner) AS matviewowner,
                t.spcname AS tablespace, c.relhasindex AS hasindexes, c.relispopulated AS ispopulated,
                pg_catalog.pg_get_viewdef(c.oid) AS definition
            FROM pg_catalog.pg_class c
                LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                LEFT JOIN pg_catalog.pg_tablespace t ON t.oid = c.reltablespace
            WHERE c.relkind = 'm'"#; {
        schemaname: Name, matviewname: Name, matviewowner: Name, tablespace: Name, hasindexes: Bool,
        ispopulated: Bool, definition: Text
    }
    12033 pg_tables = r#"SELECT n.nspname AS schemaname, c.relname AS tablename, pg_catalog.pg_get_userbyid(c.relowner) AS tableowner,
                t.spcname AS tablespace, c.relhasindex AS hasindexes, c.relhasrules AS hasrules,
                c.relhastriggers AS hastriggers, c.relrowsecurity AS rowsecurity
            FROM pg_catalog.pg_class c
                LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                LEFT JOIN pg_catalog.pg_tablespace t ON t.oid = c.reltablespace
            WHERE c.relkind IN ('r', 'p')"#; {
        schemaname: Name, tablename: Name, tableowner: Name, tablespace: Name, hasindexes: Bool, hasrules: Bool,
        hastriggers: Bool, rowsecurity: Bool
    }
    12043 pg_indexes = r#"SELECT n.nspname AS schemaname, c.relname AS tablename, i.relname AS indexname, t.spcname AS tablespace,
                pg_catalog.pg_get_indexdef(i.oid) AS indexdef
            FROM pg_catalog.pg_index x
                JOIN pg_catalog.pg_class c ON c.oid = x.indrelid
                JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
                LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                LEFT JOIN pg_catalog.pg_tablespace t ON t.oid = i.reltablespace
            WHERE c.relkind IN ('r', 'm', 'p') AND i.relkind IN ('i', 'I')"#; {
        schemaname: Name, tablename: Name, indexname: Name, tablespace: Name, indexdef: Text
    }
    12048 pg_sequences = r#"SELECT n.nspname AS schemaname, c.relname AS sequencename,
                pg_catalog.pg_get_userbyid(c.relowner) AS sequenceowner, s.seqtypid::regtype AS data_type,
                s.seqstart AS start_value, s.seqmin AS min_value, s.seqmax AS max_value, s.seqincrement AS increment_by,
                s.seqcycle AS cycle, s.seqcache AS cache_size,
                pg_catalog.pg_sequence_last_value(c.oid::regclass) AS last_value
            FROM pg_catalog.pg_sequence s
                JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid
                LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE NOT pg_catalog.pg_is_other_temp_schema(n.oid) AND c.relkind = 'S'"#; {
        schemaname: Name, sequencename: Name, sequenceowner: Name, data_type: Regtype, start_value: Int8,
        min_value: Int8, max_value: Int8, increment_by: Int8, cycle: Bool, cache_size: Int8, last_value: Int8
    }
    12142 pg_stat_all_tables = r#"SELECT c.oid AS relid, n.nspname AS schemaname, c.relname, pg_catalog.pg_stat_get_numscans(c.oid) AS seq_scan, NULL::bigint AS seq_tup_read,
                sum(pg_catalog.pg_stat_get_numscans(i.indexrelid))::bigint AS idx_scan,
                NULL::bigint AS idx_tup_fetch, pg_catalog.pg_stat_get_tuples_inserted(c.oid) AS n_tup_ins,
                pg_catalog.pg_stat_get_tuples_updated(c.oid) AS n_tup_upd,
                pg_catalog.pg_stat_get_tuples_deleted(c.oid) AS n_tup_del, NULL::bigint AS n_tup_hot_upd,
                pg_catalog.pg_stat_get_live_tuples(c.oid) AS n_live_tup, NULL::bigint AS n_dead_tup, NULL::bigint AS n_mod_since_analyze,
                NULL::bigint AS n_ins_since_vacuum, NULL::timestamptz AS last_vacuum, NULL::timestamptz AS last_autovacuum,
                NULL::timestamptz AS last_analyze, NULL::timestamptz AS last_autoanalyze, NULL::bigint AS vacuum_count,
                NULL::bigint AS autovacuum_count, NULL::bigint AS analyze_count, NULL::bigint AS autoanalyze_count
            FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_index i ON c.oid = i.indrelid
                LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relkind = 'r' GROUP BY c.oid, n.nspname, c.relname"#; {
        relid: Oid, schemaname: Name, relname: Name, seq_scan: Int8, seq_tup_read: Int8, idx_scan: Int8,
        idx_tup_fetch: Int8, n_tup_ins: Int8, n_tup_upd: Int8, n_tup_del: Int8, n_tup_hot_upd: Int8,
        n_live_tup: Int8, n_dead_tup: Int8, n_mod_since_analyze: Int8, n_ins_since_vacuum: Int8,
        last_vacuum: Timestamptz, last_autovacuum: Timestamptz, last_analyze: Timestamptz,
        last_autoanalyze: Timestamptz, vacuum_count: Int8, autovacuum_count: Int8, analyze_count: Int8,
        autoanalyze_count: Int8
    }
    12161 pg_stat_user_tables = r#"SELECT * FROM pg_catalog.pg_stat_all_tables
            WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND schemaname !~ '^pg_toast'"#; {
        relid: Oid, schemaname: Name, relname: Name, seq_scan: Int8, seq_tup_read: Int8, idx_scan: Int8,
        idx_tup_fetch: Int8, n_tup_ins: Int8, n_tup_upd: Int8, n_tup_del: Int8, n_tup_hot_upd: Int8,
        n_live_tup: Int8, n_dead_tup: Int8, n_mod_since_analyze: Int8, n_ins_since_vacuum: Int8,
        last_vacuum: Timestamptz, last_autovacuum: Timestamptz, last_analyze: Timestamptz,
        last_autoanalyze: Timestamptz, vacuum_count: Int8, autovacuum_count: Int8, analyze_count: Int8,
        autoanalyze_count: Int8
    }
    12152 pg_stat_sys_tables = r#"SELECT * FROM pg_catalog.pg_stat_all_tables
            WHERE schemaname IN ('pg_catalog', 'information_schema') OR schemaname ~ '^pg_toast'"#; {
        relid: Oid, schemaname: Name, relname: Name, seq_scan: Int8, seq_tup_read: Int8, idx_scan: Int8,
        idx_tup_fetch: Int8, n_tup_ins: Int8, n_tup_upd: Int8, n_tup_del: Int8, n_tup_hot_upd: Int8,
        n_live_tup: Int8, n_dead_tup: Int8, n_mod_since_analyze: Int8, n_ins_since_vacuum: Int8,
        last_vacuum: Timestamptz, last_autovacuum: Timestamptz, last_analyze: Timestamptz,
        last_autoanalyze: Timestamptz, vacuum_count: Int8, autovacuum_count: Int8, analyze_count: Int8,
        autoanalyze_count: Int8
    }
    12183 pg_stat_all_indexes = r#"SELECT c.oid AS relid, i.oid AS indexrelid, n.nspname AS schemaname, c.relname, i.relname AS indexrelname,
                pg_catalog.pg_stat_get_numscans(i.oid) AS idx_scan, NULL::bigint AS idx_tup_read,
                NULL::bigint AS idx_tup_fetch
            FROM pg_catalog.pg_class c
                JOIN pg_catalog.pg_index x ON c.oid = x.indrelid
                JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
                LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"#; {
        relid: Oid, indexrelid: Oid, schemaname: Name, relname: Name, indexrelname: Name, idx_scan: Int8,
        idx_tup_read: Int8, idx_tup_fetch: Int8
    }
    12192 pg_stat_user_indexes = r#"SELECT * FROM pg_catalog.pg_stat_all_indexes
            WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND schemaname !~ '^pg_toast'"#; {
        relid: Oid, indexrelid: Oid, schemaname: Name, relname: Name, indexrelname: Name, idx_scan: Int8,
        idx_tup_read: Int8, idx_tup_fetch: Int8
    }
    12170 pg_statio_all_tables = r#"SELECT c.oid AS relid, n.nspname AS schemaname, c.relname, NULL::bigint AS heap_blks_read,
                NULL::bigint AS heap_blks_hit, NULL::bigint AS idx_blks_read, NULL::bigint AS idx_blks_hit, NULL::bigint AS toast_blks_read,
                NULL::bigint AS toast_blks_hit, NULL::bigint AS tidx_blks_read, NULL::bigint AS tidx_blks_hit
            FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relkind = 'r'"#; {
        relid: Oid, schemaname: Name, relname: Name, heap_blks_read: Int8, heap_blks_hit: Int8,
        idx_blks_read: Int8, idx_blks_hit: Int8, toast_blks_read: Int8, toast_blks_hit: Int8,
        tidx_blks_read: Int8, tidx_blks_hit: Int8
    }
    12179 pg_statio_user_tables = r#"SELECT * FROM pg_catalog.pg_statio_all_tables
            WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND schemaname !~ '^pg_toast'"#; {
        relid: Oid, schemaname: Name, relname: Name, heap_blks_read: Int8, heap_blks_hit: Int8,
        idx_blks_read: Int8, idx_blks_hit: Int8, toast_blks_read: Int8, toast_blks_hit: Int8,
        tidx_blks_read: Int8, tidx_blks_hit: Int8
    }
    12188 pg_stat_sys_indexes = r#"SELECT * FROM pg_catalog.pg_stat_all_indexes
            WHERE schemaname IN ('pg_catalog', 'information_schema') OR schemaname ~ '^pg_toast'"#; {
        relid: Oid, indexrelid: Oid, schemaname: Name, relname: Name, indexrelname: Name, idx_scan: Int8,
        idx_tup_read: Int8, idx_tup_fetch: Int8
    }
    12196 pg_statio_all_indexes = r#"SELECT c.oid AS relid, i.oid AS indexrelid, n.nspname AS schemaname, c.relname, i.relname AS indexrelname,
                NULL::bigint AS idx_blks_read, NULL::bigint AS idx_blks_hit
            FROM pg_catalog.pg_class c
                JOIN pg_catalog.pg_index x ON c.oid = x.indrelid
                JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
                LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"#; {
        relid: Oid, indexrelid: Oid, schemaname: Name, relname: Name, indexrelname: Name, idx_blks_read: Int8,
        idx_blks_hit: Int8
    }
    12205 pg_statio_user_indexes = r#"SELECT * FROM pg_catalog.pg_statio_all_indexes
            WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND schemaname !~ '^pg_toast'"#; {
        relid: Oid, indexrelid: Oid, schemaname: Name, relname: Name, indexrelname: Name, idx_blks_read: Int8,
        idx_blks_hit: Int8
    }
    12209 pg_statio_all_sequences = r#"SELECT c.oid AS relid, n.nspname AS schemaname, c.relname, NULL::bigint AS blks_read,
                NULL::bigint AS blks_hit
            FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relkind = 'S'"#; {
        relid: Oid, schemaname: Name, relname: Name, blks_read: Int8, blks_hit: Int8
    }
    12218 pg_statio_user_sequences = r#"SELECT * FROM pg_catalog.pg_statio_all_sequences
            WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND schemaname !~ '^pg_toast'"#; {
        relid: Oid, schemaname: Name, relname: Name, blks_read: Int8, blks_hit: Int8
    }
    12271 pg_stat_database_conflicts = r#"SELECT d.oid AS datid, d.datname, 0::bigint AS confl_tablespace, 0::bigint AS confl_lock,
                0::bigint AS confl_snapshot, 0::bigint AS confl_bufferpin, 0::bigint AS confl_deadlock
            FROM pg_catalog.pg_database d"#; {
        datid: Oid, datname: Name, confl_tablespace: Int8, confl_lock: Int8, confl_snapshot: Int8,
        confl_bufferpin: Int8, confl_deadlock: Int8
    }
};
