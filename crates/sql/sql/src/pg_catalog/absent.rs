//! Catalogs of what this server does not have, or has none of: policies, publications, text search, partitions and the
//! like. Clients look into them and find nothing.

use super::layout::{columns, nothing, tables};
use crate::catalog::VirtualTable;

pub(super) static TABLES: &[VirtualTable] = tables! { "pg_catalog", Fixed:
    2607 pg_conversion = nothing; {
        oid: Oid, conname: Name, connamespace: Oid, conowner: Oid, conforencoding: Int4, contoencoding: Int4,
        conproc: Regproc, condefault: Bool
    }
    826 pg_default_acl = nothing; {
        oid: Oid, defaclrole: Oid, defaclnamespace: Oid, defaclobjtype: Char, defaclacl: [AclItem]
    }
    3466 pg_event_trigger = nothing; {
        oid: Oid, evtname: Name, evtevent: Name, evtowner: Oid, evtfoid: Oid, evtenabled: Char, evttags: [Text]
    }
    2328 pg_foreign_data_wrapper = nothing; {
        oid: Oid, fdwname: Name, fdwowner: Oid, fdwhandler: Oid, fdwvalidator: Oid, fdwacl: [AclItem],
        fdwoptions: [Text]
    }
    1417 pg_foreign_server = nothing; {
        oid: Oid, srvname: Name, srvowner: Oid, srvfdw: Oid, srvtype: Text, srvversion: Text, srvacl: [AclItem],
        srvoptions: [Text]
    }
    3118 pg_foreign_table = nothing; {
        ftrelid: Oid, ftserver: Oid, ftoptions: [Text]
    }
    2611 pg_inherits = nothing; {
        inhrelid: Oid, inhparent: Oid, inhseqno: Int4, inhdetachpending: Bool
    }
    2613 pg_largeobject = nothing; {
        loid: Oid, pageno: Int4, data: Bytea
    }
    2995 pg_largeobject_metadata = nothing; {
        oid: Oid, lomowner: Oid, lomacl: [AclItem]
    }
    6243 pg_parameter_acl = nothing; {
        oid: Oid, parname: Text, paracl: [AclItem]
    }
    3350 pg_partitioned_table = nothing; {
        partrelid: Oid, partstrat: Char, partnatts: Int2, partdefid: Oid, partattrs: Int2Vector,
        partclass: OidVector, partcollation: OidVector, partexprs: PgNodeTree
    }
    3256 pg_policy = nothing; {
        oid: Oid, polname: Name, polrelid: Oid, polcmd: Char, polpermissive: Bool, polroles: [Oid],
        polqual: PgNodeTree, polwithcheck: PgNodeTree
    }
    6104 pg_publication = nothing; {
        oid: Oid, pubname: Name, pubowner: Oid, puballtables: Bool, pubinsert: Bool, pubupdate: Bool,
        pubdelete: Bool, pubtruncate: Bool, pubviaroot: Bool
    }
    6237 pg_publication_namespace = nothing; {
        oid: Oid, pnpubid: Oid, pnnspid: Oid
    }
    6106 pg_publication_rel = nothing; {
        oid: Oid, prpubid: Oid, prrelid: Oid, prqual: PgNodeTree, prattrs: [Int2]
    }
    6000 pg_replication_origin = nothing; {
        roident: Oid, roname: Text
    }
    3596 pg_seclabel = nothing; {
        objoid: Oid, classoid: Oid, objsubid: Int4, provider: Text, label: Text
    }
    1214 pg_shdepend = nothing; {
        dbid: Oid, classid: Oid, objid: Oid, objsubid: Int4, refclassid: Oid, refobjid: Oid, deptype: Char
    }
    3592 pg_shseclabel = nothing; {
        objoid: Oid, classoid: Oid, provider: Text, label: Text
    }
    2619 pg_statistic = nothing; {
        starelid: Oid, staattnum: Int2, stainherit: Bool, stanullfrac: Float4, stawidth: Int4,
        stadistinct: Float4, stakind1: Int2, stakind2: Int2, stakind3: Int2, stakind4: Int2, stakind5: Int2,
        staop1: Oid, staop2: Oid, staop3: Oid, staop4: Oid, staop5: Oid, stacoll1: Oid, stacoll2: Oid,
        stacoll3: Oid, stacoll4: Oid, stacoll5: Oid, stanumbers1: [Float4], stanumbers2: [Float4],
        stanumbers3: [Float4], stanumbers4: [Float4], stanumbers5: [Float4], stavalues1: [Text],
        stavalues2: [Text], stavalues3: [Text], stavalues4: [Text], stavalues5: [Text]
    }
    3381 pg_statistic_ext = nothing; {
        oid: Oid, stxrelid: Oid, stxname: Name, stxnamespace: Oid, stxowner: Oid, stxstattarget: Int4,
        stxkeys: [Int2], stxkind: [Char], stxexprs: PgNodeTree
    }
    3429 pg_statistic_ext_data = nothing; {
        stxoid: Oid, stxdinherit: Bool, stxdndistinct: Bytea, stxddependencies: Bytea, stxdmcv: Bytea,
        stxdexpr: [Text]
    }
    6100 pg_subscription = nothing; {
        oid: Oid, subdbid: Oid, subskiplsn: Text, subname: Name, subowner: Oid, subenabled: Bool,
        subbinary: Bool, substream: Bool, subtwophasestate: Char, subdisableonerr: Bool, subconninfo: Text,
        subslotname: Name, subsynccommit: Text, subpublications: [Text]
    }
    6102 pg_subscription_rel = nothing; {
        srsubid: Oid, srrelid: Oid, srsubstate: Char, srsublsn: Text
    }
    3576 pg_transform = nothing; {
        oid: Oid, trftype: Oid, trflang: Oid, trffromsql: Regproc, trftosql: Regproc
    }
    2620 pg_trigger = nothing; {
        oid: Oid, tgrelid: Oid, tgparentid: Oid, tgname: Name, tgfoid: Oid, tgtype: Int2, tgenabled: Char,
        tgisinternal: Bool, tgconstrrelid: Oid, tgconstrindid: Oid, tgconstraint: Oid, tgdeferrable: Bool,
        tginitdeferred: Bool, tgnargs: Int2, tgattr: Int2Vector, tgargs: Bytea, tgqual: PgNodeTree,
        tgoldtable: Name, tgnewtable: Name
    }
    3602 pg_ts_config = nothing; {
        oid: Oid, cfgname: Name, cfgnamespace: Oid, cfgowner: Oid, cfgparser: Oid
    }
    3603 pg_ts_config_map = nothing; {
        mapcfg: Oid, maptokentype: Int4, mapseqno: Int4, mapdict: Oid
    }
    3600 pg_ts_dict = nothing; {
        oid: Oid, dictname: Name, dictnamespace: Oid, dictowner: Oid, dicttemplate: Oid, dictinitoption: Text
    }
    3601 pg_ts_parser = nothing; {
        oid: Oid, prsname: Name, prsnamespace: Oid, prsstart: Regproc, prstoken: Regproc, prsend: Regproc,
        prsheadline: Regproc, prslextype: Regproc
    }
    3764 pg_ts_template = nothing; {
        oid: Oid, tmplname: Name, tmplnamespace: Oid, tmplinit: Regproc, tmpllexize: Regproc
    }
    1418 pg_user_mapping = nothing; {
        oid: Oid, umuser: Oid, umserver: Oid, umoptions: [Text]
    }
    12090 pg_prepared_xacts = nothing; {
        transaction: Xid, gid: Text, prepared: Timestamptz, owner: Name, database: Name
    }
    12018 pg_policies = nothing; {
        schemaname: Name, tablename: Name, policyname: Name, permissive: Text, roles: [Name], cmd: Text,
        qual: Text, with_check: Text
    }
    12068 pg_publication_tables = nothing; {
        pubname: Name, schemaname: Name, tablename: Name, attnames: [Name], rowfilter: Text
    }
    12099 pg_seclabels = nothing; {
        objoid: Oid, classoid: Oid, objsubid: Int4, objtype: Text, objnamespace: Oid, objname: Text,
        provider: Text, label: Text
    }
    12053 pg_stats = nothing; {
        schemaname: Name, tablename: Name, attname: Name, inherited: Bool, null_frac: Float4, avg_width: Int4,
        n_distinct: Float4, most_common_vals: [Text], most_common_freqs: [Float4], histogram_bounds: [Text],
        correlation: Float4, most_common_elems: [Text], most_common_elem_freqs: [Float4],
        elem_count_histogram: [Float4]
    }
    12058 pg_stats_ext = nothing; {
        schemaname: Name, tablename: Name, statistics_schemaname: Name, statistics_name: Name,
        statistics_owner: Name, attnames: [Name], exprs: [Text], kinds: [Char], inherited: Bool,
        n_distinct: Bytea, dependencies: Bytea, most_common_vals: [Text], most_common_val_nulls: [Bool],
        most_common_freqs: [Float8], most_common_base_freqs: [Float8]
    }
    12063 pg_stats_ext_exprs = nothing; {
        schemaname: Name, tablename: Name, statistics_schemaname: Name, statistics_name: Name,
        statistics_owner: Name, expr: Text, inherited: Bool, null_frac: Float4, avg_width: Int4,
        n_distinct: Float4, most_common_vals: [Text], most_common_freqs: [Float4], histogram_bounds: [Text],
        correlation: Float4, most_common_elems: [Text], most_common_elem_freqs: [Float4],
        elem_count_histogram: [Float4]
    }
    12327 pg_user_mappings = nothing; {
        umid: Oid, srvid: Oid, srvname: Name, umuser: Oid, usename: Name, umoptions: [Text]
    }
    12227 pg_stat_replication = nothing; {
        pid: Int4, usesysid: Oid, usename: Name, application_name: Text, client_addr: Text,
        client_hostname: Text, client_port: Int4, backend_start: Timestamptz, backend_xmin: Xid, state: Text,
        sent_lsn: Text, write_lsn: Text, flush_lsn: Text, replay_lsn: Text, write_lag: Interval,
        flush_lag: Interval, replay_lag: Interval, sync_priority: Int4, sync_state: Text,
        reply_time: Timestamptz
    }
    12244 pg_stat_subscription = nothing; {
        subid: Oid, subname: Name, pid: Int4, relid: Oid, received_lsn: Text, last_msg_send_time: Timestamptz,
        last_msg_receipt_time: Timestamptz, latest_end_lsn: Text, latest_end_time: Timestamptz
    }
    12257 pg_replication_slots = nothing; {
        slot_name: Name, plugin: Name, slot_type: Text, datoid: Oid, database: Name, temporary: Bool,
        active: Bool, active_pid: Int4, xmin: Xid, catalog_xmin: Xid, restart_lsn: Text,
        confirmed_flush_lsn: Text, wal_status: Text, safe_wal_size: Int8, two_phase: Bool
    }
    12262 pg_stat_replication_slots = nothing; {
        slot_name: Text, spill_txns: Int8, spill_count: Int8, spill_bytes: Int8, stream_txns: Int8,
        stream_count: Int8, stream_bytes: Int8, total_txns: Int8, total_bytes: Int8, stats_reset: Timestamptz
    }
    12336 pg_stat_subscription_stats = nothing; {
        subid: Oid, subname: Name, apply_error_count: Int8, sync_error_count: Int8, stats_reset: Timestamptz
    }
    12240 pg_stat_recovery_prefetch = nothing; {
        stats_reset: Timestamptz, prefetch: Int8, hit: Int8, skip_init: Int8, skip_new: Int8, skip_fpw: Int8,
        skip_rep: Int8, wal_distance: Int4, block_distance: Int4, io_depth: Int4
    }
    12232 pg_stat_slru = nothing; {
        name: Text, blks_zeroed: Int8, blks_hit: Int8, blks_read: Int8, blks_written: Int8, blks_exists: Int8,
        flushes: Int8, truncates: Int8, stats_reset: Timestamptz
    }
    12317 pg_stat_progress_basebackup = nothing; {
        pid: Int4, phase: Text, backup_total: Int8, backup_streamed: Int8, tablespaces_total: Int8,
        tablespaces_streamed: Int8
    }
    12307 pg_stat_progress_cluster = nothing; {
        pid: Int4, datid: Oid, datname: Name, relid: Oid, command: Text, phase: Text, cluster_index_relid: Oid,
        heap_tuples_scanned: Int8, heap_tuples_written: Int8, heap_blks_total: Int8, heap_blks_scanned: Int8,
        index_rebuild_count: Int8
    }
    12302 pg_stat_progress_vacuum = nothing; {
        pid: Int4, datid: Oid, datname: Name, relid: Oid, phase: Text, heap_blks_total: Int8,
        heap_blks_scanned: Int8, heap_blks_vacuumed: Int8, index_vacuum_count: Int8, max_dead_tuples: Int8,
        num_dead_tuples: Int8
    }
    12322 pg_stat_progress_copy = nothing; {
        pid: Int4, datid: Oid, datname: Name, relid: Oid, command: Text, type: Text, bytes_processed: Int8,
        bytes_total: Int8, tuples_processed: Int8, tuples_excluded: Int8
    }
    12312 pg_stat_progress_create_index = nothing; {
        pid: Int4, datid: Oid, datname: Name, relid: Oid, index_relid: Oid, command: Text, phase: Text,
        lockers_total: Int8, lockers_done: Int8, current_locker_pid: Int8, blocks_total: Int8,
        blocks_done: Int8, tuples_total: Int8, tuples_done: Int8, partitions_total: Int8, partitions_done: Int8
    }
    12297 pg_stat_progress_analyze = nothing; {
        pid: Int4, datid: Oid, datname: Name, relid: Oid, phase: Text, sample_blks_total: Int8,
        sample_blks_scanned: Int8, ext_stats_total: Int8, ext_stats_computed: Int8, child_tables_total: Int8,
        child_tables_done: Int8, current_child_table_relid: Oid
    }
    12275 pg_stat_user_functions = nothing; {
        funcid: Oid, schemaname: Name, funcname: Name, calls: Int8, total_time: Float8, self_time: Float8
    }
    12236 pg_stat_wal_receiver = nothing; {
        pid: Int4, status: Text, receive_start_lsn: Text, receive_start_tli: Int4, written_lsn: Text,
        flushed_lsn: Text, received_tli: Int4, last_msg_send_time: Timestamptz,
        last_msg_receipt_time: Timestamptz, latest_end_lsn: Text, latest_end_time: Timestamptz, slot_name: Text,
        sender_host: Text, sender_port: Int4, conninfo: Text
    }
    12110 pg_file_settings = nothing; {
        sourcefile: Text, sourceline: Int4, seqno: Int4, name: Text, setting: Text, applied: Bool, error: Text
    }
    12114 pg_hba_file_rules = nothing; {
        line_number: Int4, type: Text, database: [Text], user_name: [Text], address: Text, netmask: Text,
        auth_method: Text, options: [Text], error: Text
    }
    3541 pg_range = nothing; {
        rngtypid: Oid, rngsubtype: Oid, rngmultitypid: Oid, rngcollation: Oid, rngsubopc: Oid,
        rngcanonical: Regproc, rngsubdiff: Regproc
    }
    12122 pg_timezone_abbrevs = nothing; {
        abbrev: Text, utc_offset: Interval, is_dst: Bool
    }
};
