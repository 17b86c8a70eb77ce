//! The functions of `pg_catalog` about the catalog itself: names, definitions, visibility, sizes.

mod definition;
mod measures;
mod procedure;
mod reg;
mod server;
mod sets;
mod size;
mod visible;

pub use reg::{names_in, print_names, read_names};

use super::sessions;
use crate::catalog::Oid;
use crate::context::Names;
use crate::error::Result;
use crate::functions::{Function, RowColumns, names as stable, pure, set, system};
use crate::types::{Datum, Scalar, Type};

const NODE_TREE: Type = Type::of(Scalar::PgNodeTree);
const TEXTS: Type = Type::array_of(Scalar::Text);
const INTEGERS: Type = Type::array_of(Scalar::Int4);
const ACL: Type = Type::array_of(Scalar::AclItem);
const BOOL: Type = Type::BOOL;
const CHAR: Type = Type::CHAR;
const INT2: Type = Type::INT2;
const INT4: Type = Type::INT4;
const INT8: Type = Type::INT8;
const NAME: Type = Type::NAME;
const NUMERIC: Type = Type::NUMERIC;
const OID: Type = Type::OID;
const RECORD: Type = Type::RECORD;
const REGCLASS: Type = Type::REGCLASS;
const TEXT: Type = Type::TEXT;
const TIMESTAMPTZ: Type = Type::TIMESTAMPTZ;

/// Same as [`stable`], and called with NULL arguments too.
const fn lenient(name: &'static str, arguments: &'static [Type], result: Type, body: Described) -> Function {
    stable(name, arguments, result, body).called_on_null()
}

/// Same as [`stable`], and each call may give something else.
const fn volatile(name: &'static str, arguments: &'static [Type], result: Type, body: Described) -> Function {
    stable(name, arguments, result, body).volatile()
}

type Described = fn(&mut Names<'_>, &[Datum]) -> Result<Datum>;

/// The functions of the catalog.
pub const FUNCTIONS: &[&[Function]] = &[reg::FUNCTIONS, OTHERS];

const OTHERS: &[Function] = &[
    stable("oidvectortypes", &[Type::of(Scalar::OidVector)], TEXT, reg::vector_types),
    lenient("format_type", &[OID, INT4], TEXT, definition::format_type),
    stable("pg_table_is_visible", &[OID], BOOL, visible::table),
    stable("pg_type_is_visible", &[OID], BOOL, visible::data_type),
    pure("pg_function_is_visible", &[OID], BOOL, visible::function).stable(),
    pure("pg_operator_is_visible", &[OID], BOOL, visible::operator).stable(),
    pure("pg_opclass_is_visible", &[OID], BOOL, visible::operator_class).stable(),
    pure("pg_opfamily_is_visible", &[OID], BOOL, visible::operator_family).stable(),
    pure("pg_collation_is_visible", &[OID], BOOL, visible::collation).stable(),
    pure("pg_conversion_is_visible", &[OID], BOOL, visible::absent).stable(),
    pure("pg_statistics_obj_is_visible", &[OID], BOOL, visible::absent).stable(),
    pure("pg_ts_config_is_visible", &[OID], BOOL, visible::absent).stable(),
    pure("pg_ts_dict_is_visible", &[OID], BOOL, visible::absent).stable(),
    pure("pg_ts_parser_is_visible", &[OID], BOOL, visible::absent).stable(),
    pure("pg_ts_template_is_visible", &[OID], BOOL, visible::absent).stable(),
    stable("pg_my_temp_schema", &[], OID, visible::my_temp_schema),
    stable("pg_is_other_temp_schema", &[OID], BOOL, visible::is_other_temp_schema),
    stable("pg_get_userbyid", &[OID], NAME, server::user_by_id),
    stable("pg_get_expr", &[NODE_TREE, OID], TEXT, definition::expression),
    stable("pg_get_expr", &[NODE_TREE, OID, BOOL], TEXT, definition::expression),
    stable("pg_get_indexdef", &[OID], TEXT, definition::index),
    stable("pg_get_indexdef", &[OID, INT4, BOOL], TEXT, definition::index),
    stable("pg_get_constraintdef", &[OID], TEXT, definition::constraint),
    stable("pg_get_constraintdef", &[OID, BOOL], TEXT, definition::constraint),
    stable("pg_get_viewdef", &[OID], TEXT, definition::view),
    stable("pg_get_viewdef", &[OID, BOOL], TEXT, definition::view),
    stable("pg_get_viewdef", &[OID, INT4], TEXT, definition::view),
    stable("pg_get_viewdef", &[TEXT], TEXT, definition::view_named),
    stable("pg_get_viewdef", &[TEXT, BOOL], TEXT, definition::view_named),
    stable("pg_get_ruledef", &[OID], TEXT, definition::rule),
    stable("pg_get_ruledef", &[OID, BOOL], TEXT, definition::rule),
    stable("pg_get_serial_sequence", &[TEXT, TEXT], TEXT, definition::serial_sequence),
    stable("pg_get_functiondef", &[OID], TEXT, procedure::definition),
    stable("pg_get_function_result", &[OID], TEXT, procedure::result),
    stable("pg_get_function_arguments", &[OID], TEXT, procedure::arguments),
    stable("pg_get_function_identity_arguments", &[OID], TEXT, procedure::identity_arguments),
    pure("pg_get_function_arg_default", &[OID, INT4], TEXT, server::null).stable(),
    pure("pg_get_function_sqlbody", &[OID], TEXT, server::null).stable(),
    pure("pg_get_statisticsobjdef", &[OID], TEXT, server::null).stable(),
    pure("pg_get_statisticsobjdef_columns", &[OID], TEXT, server::null).stable(),
    pure("pg_get_statisticsobjdef_expressions", &[OID], TEXTS, server::null).stable(),
    pure("pg_get_triggerdef", &[OID], TEXT, server::null).stable(),
    pure("pg_get_triggerdef", &[OID, BOOL], TEXT, server::null).stable(),
    pure("pg_get_partkeydef", &[OID], TEXT, server::null).stable(),
    pure("pg_get_partition_constraintdef", &[OID], TEXT, server::null).stable(),
    stable("pg_get_replica_identity_index", &[REGCLASS], REGCLASS, definition::replica_identity),
    stable("pg_relation_is_publishable", &[REGCLASS], BOOL, definition::is_publishable),
    stable("pg_relation_is_updatable", &[REGCLASS, BOOL], INT4, definition::is_updatable),
    stable("pg_column_is_updatable", &[REGCLASS, INT2, BOOL], BOOL, definition::is_column_updatable),
    stable("pg_relation_filenode", &[REGCLASS], OID, definition::filenode),
    pure("pg_encoding_to_char", &[INT4], NAME, server::encoding_name).stable(),
    pure("pg_encoding_max_length", &[INT4], INT4, server::encoding_longest_character).stable(),
    pure("pg_char_to_encoding", &[NAME], INT4, server::encoding_number).stable(),
    volatile("pg_relation_size", &[REGCLASS], INT8, size::relation),
    volatile("pg_relation_size", &[REGCLASS, TEXT], INT8, size::relation),
    volatile("pg_table_size", &[REGCLASS], INT8, size::table),
    volatile("pg_total_relation_size", &[REGCLASS], INT8, size::total),
    volatile("pg_indexes_size", &[REGCLASS], INT8, size::indexes),
    volatile("pg_database_size", &[NAME], INT8, size::database_named),
    volatile("pg_database_size", &[OID], INT8, size::database),
    volatile("pg_tablespace_size", &[OID], INT8, size::tablespace),
    volatile("pg_tablespace_size", &[NAME], INT8, size::tablespace),
    pure("pg_size_pretty", &[INT8], TEXT, size::pretty),
    pure("pg_size_pretty", &[NUMERIC], TEXT, size::pretty_numeric),
    pure("pg_size_bytes", &[TEXT], INT8, size::bytes),
    system("pg_postmaster_start_time", &[], TIMESTAMPTZ, server::start_time),
    set("pg_sequence_parameters", &[OID], RECORD, sets::sequence_parameters),
    pure("pg_tablespace_location", &[OID], TEXT, server::tablespace_location).stable(),
    pure("pg_indexam_has_property", &[OID, TEXT], BOOL, definition::access_method_property).stable(),
    stable("pg_index_has_property", &[REGCLASS, TEXT], BOOL, definition::index_property),
    stable("pg_index_column_has_property", &[REGCLASS, INT4, TEXT], BOOL, definition::index_column_property),
    stable("obj_description", &[OID], TEXT, server::object_description),
    stable("obj_description", &[OID, NAME], TEXT, server::object_description),
    stable("col_description", &[OID, INT4], TEXT, server::column_description),
    stable("shobj_description", &[OID, NAME], TEXT, server::shared_description),
    stable("acldefault", &[CHAR, OID], ACL, server::default_privileges),
    system("pg_terminate_backend", &[INT4], BOOL, server::terminate_backend).volatile(),
    system("pg_terminate_backend", &[INT4, INT8], BOOL, server::terminate_backend).volatile(),
    system("pg_cancel_backend", &[INT4], BOOL, server::cancel_backend).volatile(),
    system("pg_sequence_last_value", &[REGCLASS], INT8, definition::sequence_last_value),
    system("pg_blocking_pids", &[INT4], INTEGERS, server::blocking_processes).volatile(),
    system("pg_stat_get_live_tuples", &[OID], INT8, sessions::live_rows),
    pure("pg_stat_get_dead_tuples", &[OID], INT8, server::null).stable(),
    pure("pg_stat_get_last_vacuum_time", &[OID], TIMESTAMPTZ, server::null).stable(),
    pure("pg_stat_get_last_analyze_time", &[OID], TIMESTAMPTZ, server::null).stable(),
    pure("row_security_active", &[OID], BOOL, server::no).stable(),
    pure("row_security_active", &[TEXT], BOOL, server::no).stable(),
    set("aclexplode", &[ACL], RECORD, sets::explode_privileges),
    set("pg_options_to_table", &[TEXTS], RECORD, sets::options),
    set("pg_get_keywords", &[], RECORD, sets::keywords),
    pure("pg_partition_root", &[REGCLASS], REGCLASS, server::null).stable(),
    pure("_pg_char_max_length", &[OID, INT4], INT4, measures::char_max_length),
    pure("_pg_char_octet_length", &[OID, INT4], INT4, measures::char_octet_length),
    pure("_pg_numeric_precision", &[OID, INT4], INT4, measures::numeric_precision),
    pure("_pg_numeric_precision_radix", &[OID, INT4], INT4, measures::numeric_precision_radix),
    pure("_pg_numeric_scale", &[OID, INT4], INT4, measures::numeric_scale),
    pure("_pg_datetime_precision", &[OID, INT4], INT4, measures::datetime_precision),
    pure("_pg_interval_type", &[OID, INT4], TEXT, measures::interval_type),
    pure("nameconcatoid", &[NAME, OID], NAME, measures::name_with_oid),
    // Of the types of a function's arguments: the columns of a function that returns rows are known by its name.
    set("_pg_expand_types", &[Type::array_of(Scalar::Oid)], RECORD, sets::expand_vector),
    set("_pg_expandarray", &[Type::of(Scalar::Int2Vector)], RECORD, sets::expand_vector),
    set("pg_partition_ancestors", &[REGCLASS], REGCLASS, sets::no_partitions),
    set("pg_partition_tree", &[REGCLASS], RECORD, sets::no_partitions),
    set("pg_show_all_settings", &[], RECORD, sets::all_settings),
    set("pg_available_extensions", &[], RECORD, sets::available_extensions),
    system("pg_conf_load_time", &[], TIMESTAMPTZ, server::start_time),
    pure("pg_is_wal_replay_paused", &[], BOOL, server::no_recovery).volatile(),
    pure("pg_get_wal_replay_pause_state", &[], TEXT, server::no_recovery).volatile(),
    system("pg_stat_get_numscans", &[OID], INT8, sessions::scans),
    system("pg_stat_get_tuples_inserted", &[OID], INT8, sessions::rows_inserted),
    system("pg_stat_get_tuples_updated", &[OID], INT8, sessions::rows_updated),
    system("pg_stat_get_tuples_deleted", &[OID], INT8, sessions::rows_deleted),
    pure("pg_jit_available", &[], BOOL, server::no).volatile(),
    pure("pg_current_logfile", &[], TEXT, server::null).volatile(),
    pure("pg_trigger_depth", &[], INT4, |_| Ok(Datum::Int4(0))).stable(),
];

/// The columns of those that return rows, by name.
pub const FUNCTION_COLUMNS: &RowColumns = &[
    ("_pg_expand_types", &[("x", OID), ("n", INT4)]),
    ("_pg_expandarray", &[("x", INT2), ("n", INT4)]),
    ("aclexplode", &[("grantor", OID), ("grantee", OID), ("privilege_type", TEXT), ("is_grantable", BOOL)]),
    (
        "pg_sequence_parameters",
        &[
            ("start_value", INT8),
            ("minimum_value", INT8),
            ("maximum_value", INT8),
            ("increment", INT8),
            ("cycle_option", BOOL),
            ("cache_size", INT8),
            ("data_type", OID),
        ],
    ),
    (
        "pg_show_all_settings",
        &[
            ("name", TEXT),
            ("setting", TEXT),
            ("unit", TEXT),
            ("category", TEXT),
            ("short_desc", TEXT),
            ("extra_desc", TEXT),
            ("context", TEXT),
            ("vartype", TEXT),
            ("source", TEXT),
            ("min_val", TEXT),
            ("max_val", TEXT),
            ("enumvals", TEXTS),
            ("boot_val", TEXT),
            ("reset_val", TEXT),
            ("sourcefile", TEXT),
            ("sourceline", INT4),
            ("pending_restart", BOOL),
        ],
    ),
    ("pg_available_extensions", &[("name", NAME), ("default_version", TEXT), ("comment", TEXT)]),
    ("pg_partition_tree", &[("relid", REGCLASS), ("parentrelid", REGCLASS), ("isleaf", BOOL), ("level", INT4)]),
    ("pg_options_to_table", &[("option_name", TEXT), ("option_value", TEXT)]),
    (
        "pg_get_keywords",
        &[("word", TEXT), ("catcode", CHAR), ("barelabel", BOOL), ("catdesc", TEXT), ("baredesc", TEXT)],
    ),
];

/// An argument that is an oid; the type of a strict function's arguments was made sure of.
fn argument_oid(arguments: &[Datum], at: usize) -> Oid {
    arguments.get(at).and_then(Datum::as_oid).unwrap_or_default()
}

/// An argument that is a text.
fn argument_text(arguments: &[Datum], at: usize) -> &str {
    arguments.get(at).and_then(Datum::as_text).unwrap_or_default()
}

/// An argument that is an integer.
fn argument_int(arguments: &[Datum], at: usize) -> Option<i64> {
    arguments.get(at).and_then(Datum::as_i64)
}

/// An argument that is true.
fn argument_is_true(arguments: &[Datum], at: usize) -> bool {
    arguments.get(at).and_then(Datum::as_bool) == Some(true)
}

/// A text, or NULL.
fn optional(text: Option<String>) -> Result<Datum> {
    Ok(text.map_or(Datum::Null, |text| Datum::Text(text.into())))
}
