//! Settings of a session: their names and values, and how transactions roll them back.

use crate::error::{Result, SqlError, state};
use crate::types::{DateStyle, Encoding};
use std::collections::{HashMap, HashSet};

/// Type of a setting's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// on, off
    Bool,
    /// A whole number between two bounds.
    Int(i64, i64),
    /// Milliseconds, or a number with a unit.
    Milliseconds,
    /// Kilobytes, or a number with a unit.
    Kilobytes,
    /// A number.
    Real,
    /// One of these.
    Enum(&'static [&'static str]),
    /// Any text.
    Text,
}

/// Permission to change a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nobody: it is read-only.
    Never,
    /// The session. The description says whether it has an effect here.
    Session,
}

/// A setting.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its name, as SHOW prints it.
    pub name: &'static str,
    /// Its default.
    pub default: &'static str,
    /// Its values.
    pub kind: Kind,
    /// Permission to change it.
    pub change: Change,
    /// Whether changes are reported to clients (ParameterStatus).
    pub reported: bool,
    /// Its description.
    pub description: &'static str,
}

const fn known(
    name: &'static str,
    default: &'static str,
    kind: Kind,
    change: Change,
    description: &'static str,
) -> Known {
    Known { name, default, kind, change, reported: false, description }
}

const fn reported(
    name: &'static str,
    default: &'static str,
    kind: Kind,
    change: Change,
    description: &'static str,
) -> Known {
    Known { name, default, kind, change, reported: true, description }
}

use Change::{Never, Session};
use Kind::{Bool, Enum, Int, Kilobytes, Milliseconds, Real, Text};

const LEVELS: Kind = Enum(&["serializable", "repeatable read", "read committed", "read uncommitted"]);
const MESSAGES: Kind = Enum(&[
    "debug5", "debug4", "debug3", "debug2", "debug1", "log", "info", "notice", "warning", "error", "fatal", "panic",
]);
/// Settings of PostgreSQL's planner and storage that dumps and drivers set: accepted, without effect.
const NO_EFFECT: &str = "Accepted for compatibility; has no effect here.";

/// Version of PostgreSQL whose behaviour is followed.
pub const SERVER_VERSION: &str = concat!("15.0 (Seriatim ", env!("CARGO_PKG_VERSION"), ")");

/// All settings, by name.
#[rustfmt::skip]
pub static KNOWN: &[Known] = &[
    reported("application_name", "", Text, Session, "Sets the application name to be reported in statistics and logs."),
    known("array_nulls", "on", Enum(&["on"]), Session, NO_EFFECT),
    known("backend_flush_after", "0", Int(0, 256), Session, NO_EFFECT),
    known("backslash_quote", "safe_encoding", Text, Session, NO_EFFECT),
    known("block_size", "8192", Int(8192, 8192), Never, "Shows the size of a disk block."),
    known("bytea_output", "hex", Enum(&["hex", "escape"]), Session, "Sets the output format for bytea."),
    known("check_function_bodies", "on", Bool, Session, NO_EFFECT),
    known("client_connection_check_interval", "0", Milliseconds, Session, NO_EFFECT),
    reported("client_encoding", "UTF8", Text, Session, "Sets the client's character set encoding."),
    known("client_min_messages", "notice", MESSAGES, Session, "Sets the message levels that are sent to the client."),
    known("commit_delay", "0", Int(0, 100000), Session, NO_EFFECT),
    known("commit_siblings", "5", Int(0, 1000), Session, NO_EFFECT),
    known("compute_query_id", "auto", Enum(&["auto", "regress", "on", "off"]), Session, NO_EFFECT),
    known("constraint_exclusion", "partition", Text, Session, NO_EFFECT),
    known("cpu_index_tuple_cost", "0.005", Real, Session, NO_EFFECT),
    known("cpu_operator_cost", "0.0025", Real, Session, NO_EFFECT),
    known("cpu_tuple_cost", "0.01", Real, Session, NO_EFFECT),
    known("cursor_tuple_fraction", "0.1", Real, Session, NO_EFFECT),
    reported("DateStyle", "ISO, MDY", Text, Session, "Sets the display format for date and time values."),
    known("deadlock_timeout", "1s", Milliseconds, Session, NO_EFFECT),
    known("default_statistics_target", "100", Int(1, 10000), Session, NO_EFFECT),
    known("default_table_access_method", "heap", Text, Session, NO_EFFECT),
    known("default_tablespace", "", Text, Session, NO_EFFECT),
    known("default_toast_compression", "pglz", Text, Session, NO_EFFECT),
    known("default_transaction_deferrable", "off", Bool, Session, "Sets the default deferrable status of new transactions."),
    known("default_transaction_isolation", "serializable", LEVELS, Session, "Every transaction is serializable, whatever is asked for."),
    reported("default_transaction_read_only", "off", Bool, Session, "Sets the default read-only status of new transactions."),
    known("default_with_oids", "off", Bool, Session, NO_EFFECT),
    known("effective_cache_size", "4GB", Kilobytes, Session, NO_EFFECT),
    known("effective_io_concurrency", "1", Int(0, 1000), Session, NO_EFFECT),
    known("enable_async_append", "on", Bool, Session, NO_EFFECT),
    known("enable_bitmapscan", "on", Bool, Session, NO_EFFECT),
    known("enable_gathermerge", "on", Bool, Session, NO_EFFECT),
    known("enable_hashagg", "on", Bool, Session, NO_EFFECT),
    known("enable_hashjoin", "on", Bool, Session, NO_EFFECT),
    known("enable_incremental_sort", "on", Bool, Session, NO_EFFECT),
    known("enable_indexonlyscan", "on", Bool, Session, NO_EFFECT),
    known("enable_indexscan", "on", Bool, Session, NO_EFFECT),
    known("enable_material", "on", Bool, Session, NO_EFFECT),
    known("enable_memoize", "on", Bool, Session, NO_EFFECT),
    known("enable_mergejoin", "on", Bool, Session, NO_EFFECT),
    known("enable_nestloop", "on", Bool, Session, NO_EFFECT),
    known("enable_parallel_append", "on", Bool, Session, NO_EFFECT),
    known("enable_parallel_hash", "on", Bool, Session, NO_EFFECT),
    known("enable_partition_pruning", "on", Bool, Session, NO_EFFECT),
    known("enable_partitionwise_aggregate", "off", Bool, Session, NO_EFFECT),
    known("enable_partitionwise_join", "off", Bool, Session, NO_EFFECT),
    known("enable_seqscan", "on", Bool, Session, NO_EFFECT),
    known("enable_sort", "on", Bool, Session, NO_EFFECT),
    known("enable_tidscan", "on", Bool, Session, NO_EFFECT),
    known("enable_vectors", "on", Enum(&["on", "off", "force"]), Session, "Enables operators over many rows at a time; force uses them on small tables too."),
    known("escape_string_warning", "on", Bool, Session, NO_EFFECT),
    known("exit_on_error", "off", Enum(&["off"]), Session, NO_EFFECT),
    known("extra_float_digits", "1", Int(-15, 3), Session, "Floating-point values always show all their digits."),
    known("force_parallel_mode", "off", Enum(&["off", "on", "regress"]), Session, NO_EFFECT),
    known("from_collapse_limit", "8", Int(1, 2147483647), Session, NO_EFFECT),
    known("geqo", "on", Bool, Session, NO_EFFECT),
    known("geqo_effort", "5", Int(1, 10), Session, NO_EFFECT),
    known("geqo_generations", "0", Int(0, 2147483647), Session, NO_EFFECT),
    known("geqo_pool_size", "0", Int(0, 2147483647), Session, NO_EFFECT),
    known("geqo_seed", "0", Real, Session, NO_EFFECT),
    known("geqo_selection_bias", "2", Real, Session, NO_EFFECT),
    known("geqo_threshold", "12", Int(2, 2147483647), Session, NO_EFFECT),
    known("gin_fuzzy_search_limit", "0", Int(0, 2147483647), Session, NO_EFFECT),
    known("gin_pending_list_limit", "4MB", Kilobytes, Session, NO_EFFECT),
    known("hash_mem_multiplier", "2", Real, Session, NO_EFFECT),
    known("idle_in_transaction_session_timeout", "0", Milliseconds, Session, "Sets the maximum allowed idle time between queries, when in a transaction."),
    known("idle_session_timeout", "0", Milliseconds, Session, NO_EFFECT),
    reported("in_hot_standby", "off", Bool, Never, "Shows whether hot standby is currently active."),
    reported("integer_datetimes", "on", Bool, Never, "Shows whether datetimes are integer based."),
    reported("IntervalStyle", "postgres", Enum(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"]), Session, "Sets the display format for interval values."),
    reported("is_superuser", "on", Bool, Never, "Shows whether the current user is a superuser."),
    known("jit", "off", Bool, Session, NO_EFFECT),
    known("jit_above_cost", "100000", Real, Session, NO_EFFECT),
    known("jit_expressions", "on", Bool, Session, NO_EFFECT),
    known("jit_inline_above_cost", "500000", Real, Session, NO_EFFECT),
    known("jit_optimize_above_cost", "500000", Real, Session, NO_EFFECT),
    known("jit_tuple_deforming", "on", Bool, Session, NO_EFFECT),
    known("join_collapse_limit", "8", Int(1, 2147483647), Session, NO_EFFECT),
    known("lc_collate", "C.UTF-8", Text, Never, "Shows the collation order locale."),
    known("lc_ctype", "C.UTF-8", Text, Never, "Shows the character classification and case conversion locale."),
    known("lc_messages", "C.UTF-8", Text, Session, NO_EFFECT),
    known("lc_monetary", "C.UTF-8", Text, Session, NO_EFFECT),
    known("lc_numeric", "C.UTF-8", Text, Session, NO_EFFECT),
    known("lc_time", "C.UTF-8", Text, Session, NO_EFFECT),
    known("lo_compat_privileges", "off", Bool, Session, NO_EFFECT),
    known("lock_timeout", "0", Milliseconds, Session, "Sets the maximum allowed duration of any wait for a lock."),
    known("log_connections", "off", Bool, Session, "Logs each successful connection."),
    known("log_disconnections", "off", Bool, Session, "Logs the end of each session, with its duration."),
    known("log_duration", "off", Bool, Session, NO_EFFECT),
    known("log_error_verbosity", "default", Enum(&["terse", "default", "verbose"]), Session, NO_EFFECT),
    known("log_executor_stats", "off", Bool, Session, NO_EFFECT),
    known("log_lock_waits", "off", Bool, Session, NO_EFFECT),
    known("log_min_duration_statement", "-1", Text, Session, "Sets the minimum execution time above which statements are logged; -1 logs none, 0 all."),
    known("log_min_error_statement", "error", MESSAGES, Session, NO_EFFECT),
    known("log_min_messages", "warning", MESSAGES, Session, "Sets the message levels that are logged: of errors, log, fatal and panic leave out those of statements."),
    known("log_parser_stats", "off", Bool, Session, NO_EFFECT),
    known("log_planner_stats", "off", Bool, Session, NO_EFFECT),
    known("log_statement", "none", Text, Session, NO_EFFECT),
    known("log_statement_stats", "off", Bool, Session, NO_EFFECT),
    known("log_temp_files", "-1", Int(-1, 2147483647), Session, NO_EFFECT),
    known("logical_decoding_work_mem", "64MB", Kilobytes, Session, NO_EFFECT),
    known("maintenance_io_concurrency", "10", Int(0, 1000), Session, NO_EFFECT),
    known("maintenance_work_mem", "64MB", Kilobytes, Session, NO_EFFECT),
    known("max_connections", "400", Int(1, 262143), Never, "Shows the maximum number of concurrent connections."),
    known("max_identifier_length", "63", Int(63, 63), Never, "Shows the maximum identifier length."),
    known("max_index_keys", "32", Int(32, 32), Never, "Shows the maximum number of index keys."),
    known("max_parallel_maintenance_workers", "2", Int(0, 1024), Session, NO_EFFECT),
    known("max_parallel_workers", "8", Int(0, 1024), Session, NO_EFFECT),
    known("max_parallel_workers_per_gather", "0", Int(0, 1024), Session, NO_EFFECT),
    known("max_prepared_transactions", "0", Int(0, 0), Never, "Sets the maximum number of simultaneously prepared transactions."),
    known("max_stack_depth", "2MB", Kilobytes, Session, NO_EFFECT),
    known("min_parallel_index_scan_size", "512kB", Kilobytes, Session, NO_EFFECT),
    known("min_parallel_table_scan_size", "8MB", Kilobytes, Session, NO_EFFECT),
    known("parallel_leader_participation", "on", Bool, Session, NO_EFFECT),
    known("parallel_setup_cost", "1000", Real, Session, NO_EFFECT),
    known("parallel_tuple_cost", "0.1", Real, Session, NO_EFFECT),
    known("password_encryption", "scram-sha-256", Enum(&["md5", "scram-sha-256"]), Session, NO_EFFECT),
    known("plan_cache_mode", "auto", Text, Session, NO_EFFECT),
    known("quote_all_identifiers", "off", Bool, Session, NO_EFFECT),
    known("random_page_cost", "4", Real, Session, NO_EFFECT),
    known("recursive_worktable_factor", "10", Real, Session, NO_EFFECT),
    known("role", "none", Text, Session, "Sets the current role."),
    known("row_security", "on", Bool, Session, NO_EFFECT),
    known("search_path", "\"$user\", public", Text, Session, "Sets the schema search order for names that are not schema-qualified."),
    known("seq_page_cost", "1", Real, Session, NO_EFFECT),
    known("seriatim.read_staleness", "0", Milliseconds, Session, "Sets how old the state may be that transactions read which only read, on a node of a cluster; 0 is current."),
    reported("server_encoding", "UTF8", Text, Never, "Shows the server (database) character set encoding."),
    reported("server_version", SERVER_VERSION, Text, Never, "Shows the server version."),
    known("server_version_num", "150000", Int(150000, 150000), Never, "Shows the server version as an integer."),
    reported("session_authorization", "postgres", Text, Session, "Sets the session user name."),
    known("session_replication_role", "origin", Enum(&["origin", "replica", "local"]), Session, "With replica, foreign keys are not asked."),
    known("ssl", "off", Bool, Never, "Enables SSL connections."),
    reported("standard_conforming_strings", "on", Enum(&["on"]), Session, "Causes '...' strings to treat backslashes literally."),
    known("statement_timeout", "0", Milliseconds, Session, "Sets the maximum allowed duration of any statement."),
    known("stats_fetch_consistency", "cache", Enum(&["none", "cache", "snapshot"]), Session, NO_EFFECT),
    known("synchronize_seqscans", "on", Bool, Session, NO_EFFECT),
    known("synchronous_commit", "on", Enum(&["on", "off", "local", "remote_write", "remote_apply"]), Session, "Sets whether COMMIT waits for the disk."),
    known("tcp_keepalives_count", "0", Int(0, 2147483647), Session, NO_EFFECT),
    known("tcp_keepalives_idle", "0", Int(0, 2147483647), Session, NO_EFFECT),
    known("tcp_keepalives_interval", "0", Int(0, 2147483647), Session, NO_EFFECT),
    known("tcp_user_timeout", "0", Milliseconds, Session, NO_EFFECT),
    known("temp_buffers", "8MB", Kilobytes, Session, NO_EFFECT),
    known("temp_file_limit", "-1", Text, Session, "Limits the total size of the temporary files of a statement; -1 sets no limit."),
    known("temp_tablespaces", "", Text, Session, NO_EFFECT),
    reported("TimeZone", "UTC", Text, Session, "Sets the time zone for displaying and interpreting time stamps."),
    known("timezone_abbreviations", "Default", Text, Session, NO_EFFECT),
    known("track_activities", "on", Bool, Session, NO_EFFECT),
    known("track_counts", "on", Bool, Session, NO_EFFECT),
    known("track_functions", "none", Enum(&["none", "pl", "all"]), Session, NO_EFFECT),
    known("track_io_timing", "off", Bool, Session, NO_EFFECT),
    known("transaction_deferrable", "off", Bool, Session, "Whether to defer a read-only serializable transaction until it can be executed with no possible failures."),
    known("transaction_isolation", "serializable", LEVELS, Session, "Shows the current transaction's isolation level: always serializable."),
    known("transaction_read_only", "off", Bool, Session, "Sets the current transaction's read-only status."),
    known("transform_null_equals", "off", Bool, Session, NO_EFFECT),
    known("vacuum_cost_delay", "0", Real, Session, NO_EFFECT),
    known("vacuum_cost_limit", "200", Int(1, 10000), Session, NO_EFFECT),
    known("vacuum_cost_page_dirty", "20", Int(0, 10000), Session, NO_EFFECT),
    known("vacuum_cost_page_hit", "1", Int(0, 10000), Session, NO_EFFECT),
    known("vacuum_cost_page_miss", "2", Int(0, 10000), Session, NO_EFFECT),
    known("vacuum_freeze_min_age", "50000000", Int(0, 1000000000), Session, NO_EFFECT),
    known("vacuum_freeze_table_age", "150000000", Int(0, 2000000000), Session, NO_EFFECT),
    known("wal_compression", "off", Enum(&["off", "on", "pglz", "lz4", "zstd"]), Session, NO_EFFECT),
    known("wal_level", "replica", Text, Never, "Sets the level of information written to the WAL."),
    known("work_mem", "256MB", Kilobytes, Session, "Sets the memory that one statement uses before it writes to temporary disk files."),
    known("xmlbinary", "base64", Text, Session, NO_EFFECT),
    known("xmloption", "content", Text, Session, NO_EFFECT),
];

/// Returns the setting of this name, ignoring case.
pub fn find(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name.eq_ignore_ascii_case(name))
}

/// The setting that limits idle time inside a transaction. A session begins with the server's limit.
pub const IDLE_IN_TRANSACTION: &str = "idle_in_transaction_session_timeout";

/// The session's roles, and what follows from them. RESET ALL leaves them.
const ROLES: [&str; 3] = ["is_superuser", "role", "session_authorization"];

/// The values that a session has set.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// By lower-case name; names with a dot are the user's own.
    values: HashMap<String, String>,
    /// Initial values of the session (start-up parameters), to which RESET returns.
    initial: HashMap<String, String>,
    /// Undo list: the name, its previous value, and whether COMMIT undoes it too (SET LOCAL).
    undo: Vec<(String, Option<String>, bool)>,
    /// Changes whenever a value may have changed, so that derived values are computed once for each change.
    revision: u64,
}

impl Settings {
    /// The value of a setting.
    pub fn get(&self, name: &str) -> Option<String> {
        let key = name.to_ascii_lowercase();
        self.values.get(&key).cloned().or_else(|| find(name).map(|known| known.default.to_owned()))
    }

    /// Revision of the values: changes whenever a value may have changed.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Sets a start-up parameter.
    ///
    /// # Errors
    /// Errors of [`Settings::set`].
    pub fn initialize(&mut self, name: &str, value: &str) -> Result<()> {
        refuse_read_only(name)?;
        let value = self.checked(name, value)?;
        self.revision += 1;
        self.values.insert(name.to_ascii_lowercase(), value.clone());
        self.initial.insert(name.to_ascii_lowercase(), value);
        Ok(())
    }

    /// Sets the value of a read-only setting.
    pub fn set_reported(&mut self, name: &str, value: String) {
        self.revision += 1;
        self.values.insert(name.to_ascii_lowercase(), value.clone());
        self.initial.insert(name.to_ascii_lowercase(), value);
    }

    /// Sets a value, or restores the initial one (`None`). A rollback of the transaction undoes it; with `local`, so does a
    /// commit.
    ///
    /// # Errors
    /// 42704 for an unknown name, 22023 for a bad value, 55P02 for a read-only setting.
    pub fn set(&mut self, name: &str, value: Option<&str>, local: bool) -> Result<()> {
        let key = name.to_ascii_lowercase();
        refuse_read_only(name)?;
        let value = match value {
            Some(value) => Some(self.checked(name, value)?),
            None if find(name).is_none() && !name.contains('.') => return Err(unknown(name)),
            None => self.initial.get(&key).cloned(),
        };
        self.revision += 1;
        let before = match value {
            Some(value) => self.values.insert(key.clone(), value),
            None => self.values.remove(&key),
        };
        self.undo.push((key, before, local));
        Ok(())
    }

    /// Gives a read-only setting the value that follows from another's, which [`Settings::set`] has just set.
    pub fn follow(&mut self, name: &str, value: &str, local: bool) {
        self.revision += 1;
        let before = self.values.insert(name.to_owned(), value.to_owned());
        self.undo.push((name.to_owned(), before, local));
    }

    /// The normalized value. Of DateStyle a part may be given, and the other stays.
    fn checked(&self, name: &str, value: &str) -> Result<String> {
        if !name.eq_ignore_ascii_case("DateStyle") {
            return checked(name, value);
        }
        let before = self.get(name).and_then(|set| DateStyle::read(&set, Default::default()).ok()).unwrap_or_default();
        match DateStyle::read(value, before) {
            Ok((style, order)) => Ok(style.show(order)),
            Err(detail) => {
                let message = format!("invalid value for parameter \"DateStyle\": \"{value}\"");
                Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message).detail(detail))
            }
        }
    }

    /// RESET ALL. Roles stay, as in PostgreSQL (`GUC_NO_RESET_ALL`), and what the open transaction was told of itself.
    pub fn reset_all(&mut self) {
        const OF_TRANSACTION: [&str; 3] = ["transaction_deferrable", "transaction_isolation", "transaction_read_only"];
        let stays = |key: &str| ROLES.contains(&key) || OF_TRANSACTION.contains(&key);
        let names: Vec<String> = self.values.keys().filter(|key| !stays(key)).cloned().collect();
        names.into_iter().for_each(|key| self.reset(key));
    }

    /// SET SESSION AUTHORIZATION DEFAULT, with the role that SET ROLE has chosen.
    pub fn reset_roles(&mut self) {
        ROLES.into_iter().for_each(|key| self.reset(key.to_owned()));
    }

    fn reset(&mut self, key: String) {
        self.revision += 1;
        let before = match self.initial.get(&key) {
            Some(value) => self.values.insert(key.clone(), value.clone()),
            None => self.values.remove(&key),
        };
        self.undo.push((key, before, false));
    }

    /// Returns a mark for [`Settings::back_to`].
    pub fn mark(&self) -> usize {
        self.undo.len()
    }

    /// Undoes the changes since the mark.
    pub fn back_to(&mut self, mark: usize) {
        while self.undo.len() > mark {
            if let Some((key, before, _)) = self.undo.pop() {
                self.restore(key, before);
            }
        }
    }

    /// Ends a transaction that committed: undoes only LOCAL changes, and of those only what no later SET has replaced for good.
    pub fn commit(&mut self) {
        let mut kept = HashSet::new();
        for (key, before, local) in std::mem::take(&mut self.undo).into_iter().rev() {
            if !local {
                kept.insert(key);
            } else if !kept.contains(&key) {
                self.restore(key, before);
            }
        }
    }

    fn restore(&mut self, key: String, before: Option<String>) {
        self.revision += 1;
        match before {
            Some(value) => self.values.insert(key, value),
            None => self.values.remove(&key),
        };
    }

    /// All settings with their values, and the user's own ones.
    pub fn all(&self) -> Vec<(String, String, &'static str)> {
        let own = self.values.iter().filter(|(name, _)| find(name).is_none());
        KNOWN
            .iter()
            .map(|known| (known.name.to_owned(), self.get(known.name).unwrap_or_default(), known.description))
            .chain(own.map(|(name, value)| (name.clone(), value.clone(), "")))
            .collect()
    }

    /// Returns whether a boolean setting is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value == "on")
    }

    /// Value of a setting in milliseconds; zero means none.
    pub fn milliseconds(&self, name: &str) -> u64 {
        self.get(name).and_then(|value| with_unit(&value, TIMES)).unwrap_or(0)
    }

    /// Value of a setting of kilobytes, in bytes.
    pub fn bytes(&self, name: &str) -> Option<u64> {
        with_unit(&self.get(name)?, SIZES)?.checked_mul(1024)
    }
}

/// # Errors
/// 55P02
fn refuse_read_only(name: &str) -> Result<()> {
    if find(name).is_some_and(|known| known.change == Never) {
        let message = format!("parameter \"{name}\" cannot be changed");
        return Err(SqlError::new(state::CANT_CHANGE_RUNTIME_PARAM, message));
    }
    Ok(())
}

fn unknown(name: &str) -> SqlError {
    SqlError::new(state::UNDEFINED_OBJECT, format!("unrecognized configuration parameter \"{name}\""))
}

const TIMES: &[(&str, u64)] = &[("ms", 1), ("s", 1000), ("min", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
const SIZES: &[(&str, u64)] = &[("kB", 1), ("MB", 1024), ("GB", 1 << 20), ("TB", 1 << 30)];

/// A time as SHOW prints it.
pub fn shown(time: std::time::Duration) -> String {
    in_units(u64::try_from(time.as_millis()).unwrap_or(u64::MAX), TIMES)
}

/// A size as SHOW prints it.
pub fn shown_bytes(bytes: usize) -> String {
    in_units((bytes >> 10) as u64, SIZES)
}

/// A number of the first unit as SHOW prints it: in the largest unit that divides it.
fn in_units(number: u64, units: &[(&str, u64)]) -> String {
    match units.iter().rev().find(|(_, factor)| number.is_multiple_of(*factor)) {
        Some((unit, factor)) if number > 0 => format!("{}{unit}", number / factor),
        _ => "0".to_owned(),
    }
}

/// Parses a whole number with an optional unit, in the first unit.
fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let unit = text[digits..].trim();
    let factor = if unit.is_empty() { 1 } else { units.iter().find(|(name, _)| *name == unit)?.1 };
    number.checked_mul(factor)
}

/// Returns the normalized value, if it is valid.
fn checked(name: &str, value: &str) -> Result<String> {
    let Some(known) = find(name) else {
        return if name.contains('.') { Ok(value.to_owned()) } else { Err(unknown(name)) };
    };
    let invalid = || {
        let message = format!("invalid value for parameter \"{}\": \"{value}\"", known.name);
        SqlError::new(state::INVALID_PARAMETER_VALUE, message)
    };
    match known.kind {
        Bool => match boolean(value) {
            Some(on) => Ok(if on { "on" } else { "off" }.into()),
            None => {
                let message = format!("parameter \"{}\" requires a Boolean value", known.name);
                Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message))
            }
        },
        Int(min, max) => {
            let number: i64 = value.trim().parse().map_err(|_| invalid())?;
            if !(min..=max).contains(&number) {
                let message =
                    format!("{number} is outside the valid range for parameter \"{}\" ({min} .. {max})", known.name);
                return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
            }
            Ok(number.to_string())
        }
        Milliseconds => with_unit(value, TIMES).map(|time| in_units(time, TIMES)).ok_or_else(|| {
            invalid().hint("Valid units for this parameter are \"ms\", \"s\", \"min\", \"h\", and \"d\".")
        }),
        Kilobytes => with_unit(value, SIZES)
            .map(|size| in_units(size, SIZES))
            .ok_or_else(|| invalid().hint("Valid units for this parameter are \"kB\", \"MB\", \"GB\", and \"TB\".")),
        Real => value.trim().parse::<f64>().map(|_| value.trim().to_owned()).map_err(|_| invalid()),
        Enum(values) => {
            let on_off = boolean(value).map(|on| if on { "on" } else { "off" });
            let found = values.iter().find(|known| known.eq_ignore_ascii_case(value) || on_off == Some(known));
            found
                .map(|&found| found.to_owned())
                .ok_or_else(|| invalid().hint(format!("Available values: {}.", values.join(", "))))
        }
        Text if known.name == "client_encoding" => match Encoding::of_client(value)? {
            Some(encoding) => Ok(encoding.name().to_owned()),
            None => Err(invalid()),
        },
        Text => text(known, value).ok_or_else(invalid),
    }
}

/// The texts that must be something.
fn text(known: &Known, value: &str) -> Option<String> {
    match known.name {
        "log_min_duration_statement" => {
            let is_off = value.trim() == "-1";
            if is_off { Some("-1".to_owned()) } else { with_unit(value, TIMES).map(|time| in_units(time, TIMES)) }
        }
        "temp_file_limit" => {
            let is_off = value.trim() == "-1";
            if is_off { Some("-1".to_owned()) } else { with_unit(value, SIZES).map(|size| in_units(size, SIZES)) }
        }
        "TimeZone" => zone(value).map(|(name, _)| name),
        _ => Some(value.to_owned()),
    }
}

/// Finds a time zone, as SET TIME ZONE: by its name, its offset in hours (positive is east) or PostgreSQL's form of POSIX
/// (`EST5EDT,M3.2.0,M11.1.0`; positive is west). Returns its name, too.
pub fn zone(value: &str) -> Option<(String, jiff::tz::TimeZone)> {
    use jiff::tz::{Offset, TimeZone};
    let value = value.trim();
    if let Ok(hours) = value.parse::<f64>() {
        let seconds = (hours * 3600.0) as i32;
        return Some((posix_name(seconds), TimeZone::fixed(Offset::from_seconds(seconds).ok()?)));
    }
    if ["utc", "gmt", "zulu", "universal"].iter().any(|name| value.eq_ignore_ascii_case(name)) {
        return Some((value.to_ascii_uppercase(), TimeZone::UTC));
    }
    if let Ok(zone) = TimeZone::get(value) {
        return Some((zone.iana_name().unwrap_or(value).to_owned(), zone));
    }
    let name = value.to_ascii_uppercase();
    // Daylight saving time without rules has those of the United States.
    let rules = plain_posix(&name);
    let zone = TimeZone::posix(&rules).or_else(|_| TimeZone::posix(&format!("{rules},M3.2.0,M11.1.0"))).ok()?;
    Some((name, zone))
}

/// Abbreviations in angle brackets without the colons that PostgreSQL puts there and POSIX does not know.
fn plain_posix(name: &str) -> String {
    let mut is_inside = false;
    let keeps = |character: &char| {
        match character {
            '<' => is_inside = true,
            '>' => is_inside = false,
            _ => {}
        }
        !(is_inside && *character == ':')
    };
    name.chars().filter(keeps).collect()
}

/// The POSIX name that PostgreSQL gives to an offset, in seconds east.
fn posix_name(seconds: i32) -> String {
    let (hours, minutes, rest) = (seconds.abs() / 3600, seconds.abs() / 60 % 60, seconds.abs() % 60);
    let mut offset = format!("{hours:02}");
    for part in [(minutes, minutes > 0 || rest > 0), (rest, rest > 0)] {
        if part.1 {
            offset.push_str(&format!(":{:02}", part.0));
        }
    }
    let (east, west) = if seconds < 0 { ("-", "+") } else { ("+", "-") };
    format!("<{east}{offset}>{west}{offset}")
}

/// PostgreSQL's words for true and false, and their prefixes.
fn boolean(value: &str) -> Option<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "on" | "true" | "tru" | "tr" | "t" | "yes" | "ye" | "y" | "1" => Some(true),
        "off" | "of" | "false" | "fals" | "fal" | "fa" | "f" | "no" | "n" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_checked_and_kept_in_one_form() {
        let mut settings = Settings::default();
        settings.set("STATEMENT_TIMEOUT", Some("2min"), false).unwrap();
        assert_eq!(settings.milliseconds("statement_timeout"), 120_000);
        settings.set("work_mem", Some("64MB"), false).unwrap();
        assert_eq!(settings.bytes("work_mem"), Some(64 << 20));
        settings.set("standard_conforming_strings", Some("true"), false).unwrap();
        assert_eq!(settings.get("standard_conforming_strings").unwrap(), "on");
        settings.set("my.own", Some("x"), false).unwrap();
        assert_eq!(settings.get("my.own").unwrap(), "x");
        settings.set("client_encoding", Some("iso 8859-1"), false).unwrap();
        assert_eq!(settings.get("client_encoding").unwrap(), "LATIN1");
        for (name, value, code) in [
            ("nonsense", "1", "42704"),
            ("statement_timeout", "soon", "22023"),
            ("row_security", "maybe", "22023"),
            ("client_encoding", "latin 11", "22023"),
            ("client_encoding", "mule_internal", "0A000"),
            ("TimeZone", "Nowhere/Land", "22023"),
            ("server_version", "16", "55P02"),
        ] {
            assert_eq!(settings.set(name, Some(value), false).unwrap_err().code(), code, "{name}");
        }
    }

    #[test]
    fn transactions_take_settings_back() {
        let mut settings = Settings::default();
        settings.initialize("application_name", "psql").unwrap();
        settings.set("application_name", Some("a"), true).unwrap();
        settings.set("search_path", Some("b"), false).unwrap();
        settings.commit();
        assert_eq!(settings.get("application_name").unwrap(), "psql", "local");
        assert_eq!(settings.get("search_path").unwrap(), "b");
        let mark = settings.mark();
        settings.set("search_path", Some("c"), false).unwrap();
        settings.back_to(mark);
        assert_eq!(settings.get("search_path").unwrap(), "b");
        settings.set("application_name", None, false).unwrap();
        assert_eq!(settings.get("application_name").unwrap(), "psql", "what it was at start-up");
    }

    #[test]
    fn a_commit_keeps_what_was_set_after_a_local_change() {
        let name = "application_name";
        let mut settings = Settings::default();
        settings.initialize(name, "psql").unwrap();
        let mut after_commit = |changes: &[(Option<&str>, bool)]| {
            changes.iter().for_each(|(value, local)| settings.set(name, *value, *local).unwrap());
            settings.commit();
            settings.get(name).unwrap()
        };
        assert_eq!(after_commit(&[(Some("a"), true), (Some("b"), false)]), "b");
        assert_eq!(after_commit(&[(Some("c"), false), (Some("d"), true), (Some("e"), false)]), "e");
        assert_eq!(after_commit(&[(Some("f"), false), (Some("g"), true), (Some("h"), true)]), "f");
        assert_eq!(after_commit(&[(Some("i"), true), (None, false)]), "psql");
        assert_eq!(after_commit(&[(Some("j"), true), (Some("k"), false), (Some("l"), true)]), "k");
    }

    #[test]
    fn names_are_sorted_without_regard_to_case_and_unique() {
        let names: Vec<String> = KNOWN.iter().map(|known| known.name.to_ascii_lowercase()).collect();
        assert!(names.is_sorted() && names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
