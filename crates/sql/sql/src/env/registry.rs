//! Registry of the open sessions, for `pg_stat_activity` and cancel requests.

use super::statistics::{RelationCounts, RunningCounts, Times, Totals};
use crate::cancel::{Cancel, Wait, Waiting};
use crate::error::{Result, SqlError, state};
use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// The open sessions.
#[derive(Default)]
pub struct Registry {
    sessions: Mutex<BTreeMap<i32, Arc<Entry>>>,
    /// By database.
    past: Mutex<BTreeMap<u32, Past>>,
    secrets: RandomState,
    since: Since,
    /// Who waits for the end of sessions.
    waiting: Mutex<Vec<Waker>>,
}

/// What the sessions of a database that have ended left behind.
#[derive(Clone, Default)]
struct Past {
    totals: Totals,
    /// Number of sessions that have begun, the open ones among them.
    begun: u64,
}

/// Time of creation. Microseconds since 1970.
struct Since(i64);

impl Default for Since {
    fn default() -> Since {
        Since(crate::clock::now())
    }
}

/// One session as other sessions see it.
#[derive(Debug)]
pub struct Entry {
    /// Its number.
    pub process: i32,
    /// Secret that a cancel request must contain.
    secret: i32,
    /// Its role.
    pub user: String,
    /// Its role's identifier.
    pub user_oid: u32,
    /// Its database.
    pub database: String,
    /// Its database's identifier.
    pub database_oid: u32,
    /// Its client.
    pub client: Option<SocketAddr>,
    /// Time of connection. Microseconds since 1970.
    pub since: i64,
    /// Cancel flag of its statement.
    pub cancel: Arc<Cancel>,
    activity: Mutex<Activity>,
    /// Relations that the open block has used, each with its strongest mode.
    relations: Mutex<Vec<(u32, LockMode)>>,
    end: Mutex<Option<End>>,
    totals: Mutex<Totals>,
}

/// Closes a session's connection from outside.
struct End(Box<dyn Fn() + Send>);

impl std::fmt::Debug for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("End")
    }
}

/// Activity of a session.
#[derive(Clone, Debug, Default)]
pub struct Activity {
    /// `application_name`
    pub application: String,
    /// The running statement, or the last one.
    pub query: String,
    /// Whether a statement is running.
    pub is_active: bool,
    /// `None` if no transaction is open; otherwise whether it has failed.
    pub transaction: Option<bool>,
    /// Start of the statement. Microseconds since 1970.
    pub query_since: i64,
    /// Time at which the statement started or ended. Microseconds since 1970.
    pub state_since: i64,
    /// Start of the transaction, if one is open. Microseconds since 1970.
    pub transaction_since: Option<i64>,
    /// Time in earlier states.
    times: Times,
}

impl Activity {
    /// The time in the present state.
    fn since(&self, now: i64) -> Times {
        let passed = if self.state_since == 0 { 0 } else { (now - self.state_since).max(0) };
        match (self.is_active, self.transaction) {
            (true, _) => Times { active: passed, ..Times::default() },
            (false, Some(_)) => Times { idle_in_transaction: passed, ..Times::default() },
            (false, None) => Times::default(),
        }
    }
}

/// PostgreSQL's lock mode for a statement's use of a relation; stronger modes are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockMode {
    /// It reads.
    AccessShare,
    /// It reads, and owns rows.
    RowShare,
    /// It writes.
    RowExclusive,
}

impl LockMode {
    /// PostgreSQL's name.
    pub fn name(self) -> &'static str {
        match self {
            LockMode::AccessShare => "AccessShareLock",
            LockMode::RowShare => "RowShareLock",
            LockMode::RowExclusive => "RowExclusiveLock",
        }
    }
}

/// Maximum length of the statement text that other sessions see.
const QUERY_BYTES: usize = 1024;

impl Registry {
    pub(crate) fn enter(
        &self,
        limit: usize,
        (user_oid, user): (u32, &str),
        (database_oid, database): (u32, &str),
        client: Option<SocketAddr>,
    ) -> Result<Arc<Entry>> {
        let mut sessions = self.latch();
        if sessions.len() >= limit {
            return Err(SqlError::new(state::TOO_MANY_CONNECTIONS, "sorry, too many clients already")
                .detail(format!("{limit} sessions are open, and no more are allowed."))
                .hint("Close idle ones, use a pool of connections, or raise --max-connections."));
        }
        let mut process = sessions.last_key_value().map_or(1, |(last, _)| last.wrapping_add(1));
        while process <= 0 || sessions.contains_key(&process) {
            process = process.wrapping_add(1).max(1);
        }
        let since = crate::clock::now();
        let entry = Arc::new(Entry {
            process,
            secret: self.secrets.hash_one((process, since)) as i32,
            user: user.to_owned(),
            user_oid,
            database: database.to_owned(),
            database_oid,
            client,
            since,
            cancel: Arc::default(),
            activity: Mutex::default(),
            relations: Mutex::default(),
            end: Mutex::default(),
            totals: Mutex::default(),
        });
        sessions.insert(process, entry.clone());
        self.latch_past().entry(database_oid).or_default().begun += 1;
        Ok(entry)
    }

    pub(crate) fn leave(&self, process: i32) {
        // The one latch within the other, so that nobody misses what the session has counted, or sees it twice.
        let mut sessions = self.latch();
        if let Some(entry) = sessions.remove(&process) {
            self.latch_past().entry(entry.database_oid).or_default().totals.add_all(&entry.totals());
        }
        drop(sessions);
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Wakes somebody when the next session ends.
    pub(crate) fn on_leave(&self, waker: Waker) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(waker);
    }

    /// The sessions in a database.
    pub fn of_database(&self, oid: u32) -> Vec<Arc<Entry>> {
        self.latch().values().filter(|entry| entry.database_oid == oid).cloned().collect()
    }

    /// Forgets what the sessions of a database have left behind, which is gone.
    pub(crate) fn forget_database(&self, oid: u32) {
        self.latch_past().remove(&oid);
    }

    /// Sums over all sessions of a database since the server started, and the number of sessions.
    pub fn totals(&self, database: u32) -> (Totals, u64) {
        let sessions = self.latch();
        let past = self.latch_past();
        let Past { mut totals, begun } = past.get(&database).cloned().unwrap_or_default();
        let of_database = sessions.values().filter(|entry| entry.database_oid == database);
        of_database.for_each(|entry| totals.add_all(&entry.totals()));
        (totals, begun)
    }

    /// What all sessions have done with a relation.
    pub fn relation_counts(&self, relation: u32) -> RelationCounts {
        let sessions = self.latch();
        let of = |totals: &Totals| totals.relations.get(&relation).copied().unwrap_or_default();
        let mut counts = RelationCounts::default();
        self.latch_past().values().for_each(|past| counts += of(&past.totals));
        sessions.values().for_each(|entry| counts += of(&entry.latch_totals()));
        counts
    }

    fn latch_past(&self) -> MutexGuard<'_, BTreeMap<u32, Past>> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels a session's statement, if the secret is right.
    pub fn cancel(&self, process: i32, secret: i32) -> bool {
        let found = self.latch().get(&process).filter(|entry| entry.secret == secret).cloned();
        found.is_some_and(|entry| {
            entry.cancel.raise();
            true
        })
    }

    /// Cancels a session's statement (`pg_cancel_backend`).
    pub fn cancel_backend(&self, process: i32) -> bool {
        let found = self.latch().get(&process).cloned();
        found.is_some_and(|entry| {
            entry.cancel.raise();
            true
        })
    }

    /// Ends a session (`pg_terminate_backend`): its statement stops, and its connection is closed.
    pub fn terminate_backend(&self, process: i32) -> bool {
        let found = self.latch().get(&process).cloned();
        found.is_some_and(|entry| {
            entry.cancel.end();
            if let Some(End(close)) = &*entry.end.lock().unwrap_or_else(PoisonError::into_inner) {
                close();
            }
            true
        })
    }

    /// Creation time of the registry. Microseconds since 1970.
    pub fn since(&self) -> i64 {
        self.since.0
    }

    /// Returns whether some session has a transaction that may write and has been open since before `at`. Microseconds since
    /// 1970.
    pub(crate) fn has_writer_since_before(&self, at: i64) -> bool {
        self.latch().values().any(|entry| entry.cancel.has_written_since_before(at))
    }

    /// The wait of a session.
    pub fn waiting(&self, process: i32) -> Option<Waiting> {
        let entry = self.latch().get(&process).cloned();
        entry.and_then(|entry| entry.cancel.waiting())
    }

    /// The sessions for whose transactions a session waits; zero stands for a transaction that is no session's.
    pub fn row_blockers(&self, process: i32) -> Vec<i32> {
        let Some(Waiting { reason: Wait::Transaction { other, .. }, .. }) = self.waiting(process) else {
            return Vec::new();
        };
        let sessions = self.all();
        let Some(other) = other else {
            // All older ones that may write.
            let writes =
                |entry: &&Arc<Entry>| entry.process != process && entry.cancel.has_written_since_before(i64::MAX);
            return sessions.iter().filter(writes).map(|entry| entry.process).collect();
        };
        let owner = sessions.iter().find(|entry| entry.cancel.transaction() == Some(other));
        vec![owner.map_or(0, |entry| entry.process)]
    }

    /// All sessions, by number.
    pub fn all(&self) -> Vec<Arc<Entry>> {
        self.latch().values().cloned().collect()
    }

    fn latch(&self) -> MutexGuard<'_, BTreeMap<i32, Arc<Entry>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    /// Returns the session's activity.
    pub fn activity(&self) -> Activity {
        self.latch().clone()
    }

    pub(crate) fn on_end(&self, close: Box<dyn Fn() + Send>) {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(End(close));
    }

    pub(crate) fn secret(&self) -> i32 {
        self.secret
    }

    /// Adds what the session has counted.
    pub(crate) fn count(&self, counts: &mut RunningCounts) {
        self.latch_totals().take(counts);
    }

    /// The session's sums so far.
    fn totals(&self) -> Totals {
        let mut totals = self.latch_totals().clone();
        let now = crate::clock::now();
        let activity = self.latch();
        totals.times += activity.times;
        totals.times += activity.since(now);
        totals.times.connected = now - self.since;
        totals
    }

    fn latch_totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn begin_query(&self, query: &str, at: i64) {
        let mut activity = self.latch();
        let passed = activity.since(at);
        activity.times += passed;
        activity.query.clear();
        activity.query.push_str(&query[..query.floor_char_boundary(QUERY_BYTES)]);
        (activity.is_active, activity.query_since, activity.state_since) = (true, at, at);
    }

    pub(crate) fn end_query(&self, transaction: Option<bool>, transaction_since: Option<i64>, application: &str) {
        let mut activity = self.latch();
        let now = crate::clock::now();
        let passed = activity.since(now);
        activity.times += passed;
        activity.state_since = now;
        (activity.is_active, activity.transaction, activity.transaction_since) =
            (false, transaction, transaction_since);
        if activity.application != application {
            activity.application = application.to_owned();
        }
    }

    /// Relations that the open block has used, with their lock modes.
    pub fn relations(&self) -> Vec<(u32, LockMode)> {
        self.latch_relations().clone()
    }

    /// Records that the open block uses relations.
    pub(crate) fn uses(&self, relations: impl Iterator<Item = (u32, LockMode)>) {
        let mut known = self.latch_relations();
        for (oid, mode) in relations {
            match known.iter_mut().find(|(known, _)| *known == oid) {
                Some((_, held)) => *held = mode.max(*held),
                None => known.push((oid, mode)),
            }
        }
    }

    /// Forgets the relations at the end of the block.
    pub(crate) fn forget_relations(&self) {
        self.latch_relations().clear();
    }

    fn latch_relations(&self) -> MutexGuard<'_, Vec<(u32, LockMode)>> {
        self.relations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn latch(&self) -> MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
