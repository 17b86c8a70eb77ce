//! The session's side of a statement: settings, user, times.

use super::Deferred;
use super::settings::{self, Settings};
use crate::error::Result;
use crate::types::{Env, IntervalStyle, Styles};
use std::collections::HashMap;
use std::sync::Arc;
use tables::storage::TouchedStorage;

/// The session's side of a statement: settings, user, times, and what the transaction has left to do.
pub struct State {
    /// The role.
    pub user: String,
    /// The database's name.
    pub database: String,
    /// The number by which others know the session (`pg_backend_pid`).
    pub process: i32,
    /// What sequences gave this session last, by sequence.
    pub last_values: HashMap<u32, i64>,
    /// The sequence that gave last (`lastval`).
    pub last_sequence: Option<u32>,
    /// When the transaction began: `now()`. Microseconds since 1970.
    pub transaction_time: i64,
    /// When the statement began. Microseconds since 1970.
    pub statement_time: i64,
    /// Notices that a statement has for its client, sent when it ends.
    pub notices: Vec<crate::error::SqlError>,
    /// Engine tables that the transaction's definitions made or left: `catalog` drops what nothing names in the end.
    pub touched_storage: Vec<TouchedStorage>,
    /// The schema of the session's temporary relations, once there is one.
    pub temporary_schema: Option<String>,
    /// Checks that wait for the end of the transaction.
    pub deferred: Deferred,
    /// What was looked up in the catalog, while somebody wants to know: the names as asked, and what they meant.
    pub noted: Option<Vec<Noted>>,
    /// Whether the binder has read a literal that means another value at another time, or in another time zone.
    pub has_read_moments: bool,
    pub(crate) settings: Settings,
    pub(crate) follows: Follows,
}

/// What follows from the settings, computed when they change and not for each statement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Follows {
    /// The settings' revision that this was computed from.
    revision: Option<u64>,
    /// `None`: UTC.
    zone: Option<jiff::tz::TimeZone>,
    intervals: IntervalStyle,
    search_path: Arc<[String]>,
    pub application: Arc<str>,
    /// Milliseconds; 0: none.
    pub statement_timeout: u64,
    /// Milliseconds; 0: none.
    pub lock_timeout: u64,
    pub work_bytes: Option<usize>,
    /// `synchronous_commit = off`
    pub is_commit_asynchronous: bool,
    pub is_read_only_by_default: bool,
    pub is_deferrable_by_default: bool,
}

/// A name that was looked up, and what it meant. A plan is good as long as its names mean the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// The schema, if it was named.
    pub schema: Option<String>,
    /// The name.
    pub name: String,
    /// The relation's identifier and its definition's version; `None`: there was none.
    pub meaning: Option<(u32, u64)>,
}

impl State {
    /// How long a statement waits for one other transaction; `None`: as long as the engine says.
    pub(crate) fn lock_timeout(&self) -> Option<std::time::Duration> {
        let timeout = self.follows.lock_timeout;
        (timeout > 0).then(|| std::time::Duration::from_millis(timeout))
    }

    pub(crate) fn new(user: String, database: String, process: i32) -> State {
        let mut settings = Settings::default();
        settings.tell("session_authorization", user.clone());
        let mut state = State {
            user,
            database,
            process,
            last_values: HashMap::new(),
            last_sequence: None,
            transaction_time: 0,
            statement_time: 0,
            notices: Vec::new(),
            touched_storage: Vec::new(),
            temporary_schema: None,
            deferred: Deferred::default(),
            noted: None,
            has_read_moments: false,
            settings,
            follows: Follows::default(),
        };
        state.follow_settings();
        state
    }

    /// A session's side for tests that run plans by themselves.
    #[cfg(test)]
    pub(crate) fn for_tests() -> State {
        State::new("postgres".to_owned(), "postgres".to_owned(), 1)
    }

    /// The value of a setting; `None` if there is none of this name.
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

    /// How values are read and printed.
    pub fn styles(&self) -> Styles {
        Styles {
            zone: self.follows.zone.clone().unwrap_or(jiff::tz::TimeZone::UTC),
            now_micros: self.transaction_time,
            intervals: self.follows.intervals,
        }
    }

    /// The schemas in which names without one are looked up, in order, as set (`pg_catalog` comes before them unless named).
    pub fn search_path(&self) -> Arc<[String]> {
        self.follows.search_path.clone()
    }

    /// Renews what follows from the settings, if they have changed.
    pub(crate) fn follow_settings(&mut self) {
        if self.follows.revision == Some(self.settings.revision()) {
            return;
        }
        let settings = &self.settings;
        let zone = settings.get("timezone").and_then(|value| settings::zone(&value));
        self.follows = Follows {
            revision: Some(settings.revision()),
            zone: zone.map(|(_, zone)| zone),
            intervals: match settings.get("IntervalStyle").as_deref() {
                Some("iso_8601") => IntervalStyle::Iso8601,
                _ => IntervalStyle::Postgres,
            },
            search_path: split_path(&settings.get("search_path").unwrap_or_default()).into(),
            application: settings.get("application_name").unwrap_or_default().into(),
            statement_timeout: settings.milliseconds("statement_timeout"),
            lock_timeout: settings.milliseconds("lock_timeout"),
            work_bytes: settings.bytes("work_mem").and_then(|bytes| usize::try_from(bytes).ok()),
            is_commit_asynchronous: settings.get("synchronous_commit").as_deref() == Some("off"),
            is_read_only_by_default: settings.is_on("default_transaction_read_only"),
            is_deferrable_by_default: settings.is_on("default_transaction_deferrable"),
        };
    }
}

/// The names of a search path. `"$user"` is passed over: the one role has no schema of its own.
fn split_path(path: &str) -> Vec<String> {
    path.split(',')
        .map(|name| name.trim())
        .map(|name| match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
            Some(quoted) => quoted.replace("\"\"", "\""),
            None => name.to_owned(),
        })
        .filter(|name| !name.is_empty() && name != "$user")
        .collect()
}

/// What functions see of the session.
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
