//! The session's side of a statement: settings, user, times.

use super::settings::{self, Settings};
use super::{Advisory, Deferred, RunningCounts};
use crate::error::{Result, SqlError, state};
use crate::notify::Pending;
use crate::types::{DateOrder, DateStyle, Encoding, Env, IntervalStyle, Styles};
use model::LogPosition;
use pgtypes::defined::{self, Definition, Definitions};
use std::collections::HashMap;
use std::sync::Arc;
use tables::storage::Touched;

/// Session state that statements use: settings, user, times, and pending work of the transaction.
pub struct State {
    /// The role that the session began with, unless SET SESSION AUTHORIZATION has chosen another.
    pub session_user: Arc<str>,
    /// The role that owns what the session makes: that of SET ROLE, or the session's.
    pub user: Arc<str>,
    /// The database's name.
    pub database: String,
    /// Number of the session in other sessions' views (`pg_backend_pid`).
    pub process: i32,
    /// Last value that each sequence returned in this session.
    pub last_values: HashMap<u32, i64>,
    /// Sequence that returned a value last (`lastval`).
    pub last_sequence: Option<u32>,
    /// Log position that answers must wait for because they tell of sequences. What happens to sequences belongs to no
    /// transaction.
    rests_on: LogPosition,
    /// Start of the transaction: `now()`. Microseconds since 1970.
    pub transaction_time: i64,
    /// Start of the statement. Microseconds since 1970.
    pub statement_time: i64,
    /// Name under which the statement wants its transaction's snapshot exported.
    pub exports: Option<String>,
    /// Notices of a statement for its client, sent when it ends.
    pub notices: Vec<SqlError>,
    /// Relations that the transaction's definitions made, changed or removed, with engine tables that they made or left: `catalog` drops
    /// what no definition names at the end.
    pub touched: Vec<Touched>,
    /// Schema of the session's temporary relations, if it exists.
    pub temporary_schema: Option<String>,
    /// Temporary tables that may have ON COMMIT: all that have it, and some that are gone.
    pub(crate) on_commit: Vec<u32>,
    /// Checks deferred to the end of the transaction.
    pub deferred: Deferred,
    /// What LISTEN and NOTIFY will do at COMMIT.
    pub pending: Pending,
    /// Notes on the session's advisory locks.
    pub advisory: Advisory,
    /// Catalog lookups, while they are recorded: the names and what they resolved to.
    pub lookups: Option<Vec<CatalogLookup>>,
    /// What the client was warned of by [`State::warn_of_node`].
    warned_of: Vec<&'static str>,
    /// What the session has done since its last transaction.
    pub(crate) counts: RunningCounts,
    /// The session's prepared statements.
    pub(crate) prepared: Option<Arc<dyn ListsStatements>>,
    /// The session's cursors.
    pub(crate) cursors: Vec<Arc<CursorInfo>>,
    /// Types that statements have defined, as the transaction has read them.
    pub(crate) types: KnownTypes,
    /// Whether the binder has read a literal whose value depends on the time or the time zone.
    pub has_read_moments: bool,
    pub(crate) settings: Settings,
    pub(crate) derived: DerivedSettings,
}

/// Values derived from the settings, computed when they change and not for each statement.
#[derive(Clone, Debug, Default)]
pub(crate) struct DerivedSettings {
    /// Revision of the settings from which this was computed.
    revision: Option<u64>,
    /// `None` means UTC.
    zone: Option<jiff::tz::TimeZone>,
    dates: (DateStyle, DateOrder),
    intervals: IntervalStyle,
    bytea_escaped: bool,
    /// `client_encoding`
    pub encoding: Encoding,
    search_path: Arc<[String]>,
    pub application: Arc<str>,
    /// Milliseconds; 0 means none.
    pub statement_timeout: u64,
    /// Milliseconds; 0 means none.
    pub lock_timeout: u64,
    /// Milliseconds; zero: reads are not stale.
    pub read_staleness: u64,
    /// Milliseconds; 0 means none.
    pub idle_in_transaction: u64,
    pub work_bytes: Option<usize>,
    /// `temp_file_limit`; `None`: none.
    pub temporary_bytes: Option<u64>,
    /// `synchronous_commit = off`
    pub is_commit_asynchronous: bool,
    pub is_read_only_by_default: bool,
    pub is_deferrable_by_default: bool,
    /// Milliseconds from which a statement is logged; `None`: none is.
    pub log_min_duration: Option<u64>,
    /// `session_replication_role = replica`
    pub is_replica: bool,
    /// `enable_vectors`
    pub vectors: Vectors,
}

/// Setting `enable_vectors`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vectors {
    /// No plan works on many rows at a time.
    Off,
    /// Plans that read many rows do.
    #[default]
    On,
    /// All plans do that can.
    Force,
}

/// A catalog lookup: a name and what it resolved to. A plan is valid as long as its names resolve to the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogLookup {
    /// The schema, if specified.
    pub schema: Option<String>,
    /// The name.
    pub name: String,
    /// The identifier and its definition's version; `None` if there was none.
    pub meaning: Option<(u32, u64)>,
    /// Whether it is a type's; without a name, a type was looked up by its identifier.
    pub is_type: bool,
}

/// Types that statements have defined, by identifier, with the versions of their definitions.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownTypes {
    pub read: HashMap<u32, (u64, Arc<Definition>)>,
    /// Those that the transaction has changed.
    pub changed: Vec<u32>,
}

/// A prepared statement, as its session shows it.
#[derive(Clone, Debug)]
pub struct StatementInfo {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Creation time. Microseconds since 1970.
    pub at: i64,
    /// The types of its parameters.
    pub parameters: Vec<crate::types::Type>,
    /// Whether SQL (PREPARE) made it, not the protocol.
    pub from_sql: bool,
}

/// What knows a session's prepared statements.
pub trait ListsStatements: Send + Sync {
    /// Those with names.
    fn list(&self) -> Vec<StatementInfo>;
}

/// An open cursor, as its session shows it.
#[derive(Clone, Debug)]
pub struct CursorInfo {
    /// Its name.
    pub name: String,
    /// The text of the statement that made it.
    pub text: String,
    /// Creation time. Microseconds since 1970.
    pub at: i64,
    /// WITH HOLD.
    pub is_holdable: bool,
    /// SCROLL.
    pub is_scrollable: bool,
}

impl State {
    /// The session's prepared statements.
    pub fn prepared_statements(&self) -> Vec<StatementInfo> {
        self.prepared.as_ref().map(|prepared| prepared.list()).unwrap_or_default()
    }

    /// The session's cursors.
    pub fn cursors(&self) -> &[Arc<CursorInfo>] {
        &self.cursors
    }

    /// Maximum wait of a statement for one other transaction; `None` means the engine's limit.
    pub(crate) fn lock_timeout(&self) -> Option<std::time::Duration> {
        let timeout = self.derived.lock_timeout;
        (timeout > 0).then(|| std::time::Duration::from_millis(timeout))
    }

    /// How old the state may be that a transaction reads which can only read; `None`: it is current.
    pub(crate) fn read_staleness(&self) -> Option<std::time::Duration> {
        let staleness = self.derived.read_staleness;
        (staleness > 0).then(|| std::time::Duration::from_millis(staleness))
    }

    pub(crate) fn new(user: String, database: String, process: i32) -> State {
        let mut settings = Settings::default();
        settings.set_reported("session_authorization", user.clone());
        let user: Arc<str> = user.into();
        let mut state = State {
            session_user: user.clone(),
            user,
            database,
            process,
            last_values: HashMap::new(),
            last_sequence: None,
            rests_on: LogPosition::ZERO,
            transaction_time: 0,
            statement_time: 0,
            exports: None,
            notices: Vec::new(),
            touched: Vec::new(),
            temporary_schema: None,
            on_commit: Vec::new(),
            deferred: Deferred::default(),
            lookups: None,
            types: KnownTypes::default(),
            pending: Pending::default(),
            advisory: Advisory::default(),
            warned_of: Vec::new(),
            counts: RunningCounts::default(),
            prepared: None,
            cursors: Vec::new(),
            has_read_moments: false,
            settings,
            derived: DerivedSettings::default(),
        };
        state.follow_settings();
        state
    }

    /// Warns, once in a session, of what only the sessions of this node of a cluster share.
    pub(crate) fn warn_of_node(&mut self, what: &'static str) {
        if !self.warned_of.contains(&what) {
            self.warned_of.push(what);
            let message = format!("{what} of the same node only: this server is a node of a cluster");
            self.notices.push(SqlError::new(state::WARNING, message));
        }
    }

    /// Makes the types that the transaction has read known to the functions that read values on this thread.
    pub(crate) fn begin_types(&self) {
        let types = self.types.read.iter().map(|(oid, (_, definition))| (*oid, definition.clone())).collect();
        defined::begin_statement(Definitions { types, search_path: self.search_path() });
    }

    /// Notes what must be durable before the next answer leaves.
    pub(crate) fn rest_on(&mut self, position: LogPosition) {
        self.rests_on = self.rests_on.max(position);
    }

    /// Log position that answers must wait for because they tell of sequences.
    pub(crate) fn rests_on(&self) -> LogPosition {
        self.rests_on
    }

    /// Session state for tests that run plans without a session.
    #[cfg(test)]
    pub(crate) fn for_tests() -> State {
        State::new("postgres".to_owned(), "postgres".to_owned(), 1)
    }

    /// Returns the value of a setting; `None` if it does not exist.
    pub fn setting(&self, name: &str) -> Option<String> {
        self.settings.get(name)
    }

    /// Sets a setting, as SET or SET LOCAL.
    ///
    /// # Errors
    /// 42704, 22023, 55P02.
    pub fn set(&mut self, name: &str, value: &str, local: bool) -> Result<()> {
        self.settings.set(name, Some(value), local)?;
        self.follow_settings();
        Ok(())
    }

    /// All settings: name, value, description.
    pub fn settings(&self) -> Vec<(String, String, &'static str)> {
        self.settings.all()
    }

    /// Returns how values are read and printed.
    pub fn styles(&self) -> Styles {
        Styles {
            zone: self.derived.zone.clone().unwrap_or(jiff::tz::TimeZone::UTC),
            now_micros: self.transaction_time,
            dates: self.derived.dates.0,
            order: self.derived.dates.1,
            intervals: self.derived.intervals,
            bytea_escaped: self.derived.bytea_escaped,
        }
    }

    /// Schemas in which unqualified names are looked up, in order, as set (`pg_catalog` precedes them unless named).
    pub fn search_path(&self) -> Arc<[String]> {
        self.derived.search_path.clone()
    }

    /// Recomputes the derived values, if the settings have changed.
    pub(crate) fn follow_settings(&mut self) {
        if self.derived.revision == Some(self.settings.revision()) {
            return;
        }
        let settings = &self.settings;
        self.session_user = settings.get("session_authorization").unwrap_or_default().into();
        self.user = match settings.get("role") {
            Some(role) if role != "none" => role.into(),
            _ => self.session_user.clone(),
        };
        let zone = settings.get("timezone").and_then(|value| settings::zone(&value));
        self.derived = DerivedSettings {
            revision: Some(settings.revision()),
            zone: zone.map(|(_, zone)| zone),
            dates: settings
                .get("DateStyle")
                .and_then(|set| DateStyle::read(&set, Default::default()).ok())
                .unwrap_or_default(),
            intervals: match settings.get("IntervalStyle").as_deref() {
                Some("iso_8601") => IntervalStyle::Iso8601,
                Some("postgres_verbose") => IntervalStyle::Verbose,
                Some("sql_standard") => IntervalStyle::Sql,
                _ => IntervalStyle::Postgres,
            },
            bytea_escaped: settings.get("bytea_output").as_deref() == Some("escape"),
            encoding: settings.get("client_encoding").and_then(|name| Encoding::named(&name)).unwrap_or_default(),
            search_path: split_path(&settings.get("search_path").unwrap_or_default(), &self.user).into(),
            application: settings.get("application_name").unwrap_or_default().into(),
            statement_timeout: settings.milliseconds("statement_timeout"),
            lock_timeout: settings.milliseconds("lock_timeout"),
            read_staleness: settings.milliseconds("seriatim.read_staleness"),
            idle_in_transaction: settings.milliseconds(settings::IDLE_IN_TRANSACTION),
            work_bytes: settings.bytes("work_mem").and_then(|bytes| usize::try_from(bytes).ok()),
            temporary_bytes: settings.bytes("temp_file_limit"),
            is_commit_asynchronous: settings.get("synchronous_commit").as_deref() == Some("off"),
            is_read_only_by_default: settings.is_on("default_transaction_read_only"),
            is_deferrable_by_default: settings.is_on("default_transaction_deferrable"),
            log_min_duration: (settings.get("log_min_duration_statement").as_deref() != Some("-1"))
                .then(|| settings.milliseconds("log_min_duration_statement")),
            is_replica: settings.get("session_replication_role").as_deref() == Some("replica"),
            vectors: match settings.get("enable_vectors").as_deref() {
                Some("off") => Vectors::Off,
                Some("force") => Vectors::Force,
                _ => Vectors::On,
            },
        };
    }
}

/// Splits a search path into names. `"$user"` is the user's own schema; it is skipped for `postgres`, which seldom has one: each
/// look-up of a name would ask for it.
fn split_path(path: &str, user: &str) -> Vec<String> {
    path.split(',')
        .map(|name| name.trim())
        .map(|name| match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
            Some(quoted) => quoted.replace("\"\"", "\""),
            None => name.to_owned(),
        })
        .map(|name| if name == "$user" && user != "postgres" { user.to_owned() } else { name })
        .filter(|name| !name.is_empty() && name != "$user")
        .collect()
}

/// Session state that functions use.
impl Env for State {
    fn styles(&self) -> Styles {
        State::styles(self)
    }

    fn transaction_time(&self) -> i64 {
        self.transaction_time
    }

    fn statement_time(&self) -> i64 {
        self.statement_time
    }

    fn clock_time(&self) -> i64 {
        crate::clock::now()
    }
}
