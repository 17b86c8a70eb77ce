//! The session's side of a statement: settings, user, times.

use super::settings::{self, Settings};
use crate::error::Result;
use crate::types::Styles;
use std::collections::HashMap;

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
    pub touched_storage: Vec<crate::catalog::TouchedStorage>,
    /// The schema of the session's temporary relations, once there is one.
    pub temporary_schema: Option<String>,
    /// Checks that wait for the end of the transaction.
    pub deferred: crate::dml::Deferred,
    /// What was looked up in the catalog, while somebody wants to know: the names as asked, and what they meant.
    pub noted: Option<Vec<Noted>>,
    pub(super) settings: Settings,
    pub(super) zone: jiff::tz::TimeZone,
    pub(super) search_path: Vec<String>,
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
            deferred: crate::dml::Deferred::default(),
            noted: None,
            settings,
            zone: jiff::tz::TimeZone::UTC,
            search_path: Vec::new(),
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
        Styles { zone: self.zone.clone(), now_micros: self.transaction_time }
    }

    /// The schemas in which names without one are looked up, in order, as set (`pg_catalog` comes before them unless named).
    pub fn search_path(&self) -> Vec<String> {
        self.search_path.clone()
    }

    /// Renews what was computed from settings.
    pub(super) fn follow_settings(&mut self) {
        let zone = self.settings.get("timezone").and_then(|value| settings::zone(&value));
        self.zone = zone.map_or(jiff::tz::TimeZone::UTC, |(_, zone)| zone);
        let path = self.settings.get("search_path").unwrap_or_default();
        self.search_path = split_path(&path);
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

/// Microseconds since 1970 by the computer's clock.
pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
