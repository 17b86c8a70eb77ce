//! A session: the statements of one client, in order. `wire` and the command line call it, one call at a time.
//!
//! `simple.rs` and `extended.rs` are the two ways in; `transaction.rs` blocks and what is around everything else;
//! `prepared.rs` statements and their plans; `portal.rs` their execution; `utility.rs` settings, cursors and other statements that
//! are not over rows;
//! `copy.rs` COPY.

mod copy;
mod cursor;
mod database;
mod extended;
mod notify;
mod portal;
mod prepared;
mod simple;
mod snapshot;
mod startup;
mod transaction;
mod utility;

use crate::cancel::Cancel;
use crate::database::{Database, Entrance, Instance};
use crate::env::{Entry, State, settings};
use crate::error::{Result, SqlError, state as code};
use crate::memory::Memory;
use crate::plan::Field;
use crate::types::{Datum, Encoding, Styles, Type};
use model::LogPosition;
use pgtypes::interrupt;
use portal::Portal;
use prepared::PreparedStatements;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use transaction::Open;

/// A client's names for its statements and portals. Each message looks one up.
pub type ByName<V> = HashMap<String, V, foldhash::fast::RandomState>;

/// Start-up parameters of a connection.
#[derive(Clone, Debug, Default)]
pub struct Connect {
    /// The role.
    pub user: String,
    /// The database; that of the role's name if it is empty.
    pub database: String,
    /// Further start-up parameters (`application_name`, `client_encoding`, `options`, settings).
    pub parameters: Vec<(String, String)>,
    /// The client's address, for `pg_stat_activity`.
    pub client: Option<std::net::SocketAddr>,
}

/// Where results go. The wire encodes them at once; the command line prints them. Methods with a default body ignore their arguments.
pub trait Sink {
    /// Called when a statement of the simple protocol begins to return rows with these columns.
    ///
    /// # Errors
    /// A name cannot be sent to the client.
    fn fields(&mut self, _fields: &[Field]) -> Result<()> {
        Ok(())
    }
    /// Rows of these columns follow. Once before the first row of every call, after [`Sink::fields`] where that is
    /// called, and in the extended protocol too: values are encoded by their types, and texts in these styles.
    fn rows(&mut self, _fields: &[Field], _styles: &Styles) {}
    /// A row.
    ///
    /// # Errors
    /// The row cannot be sent to the client.
    fn row(&mut self, row: &[Datum]) -> Result<()>;
    /// Returns whether enough results are buffered to send them before the statement is complete.
    fn is_full(&self) -> bool {
        false
    }
    /// Sends the buffered results. Called when the sink is full, once the results rest on durable transactions only.
    ///
    /// # Errors
    /// The client is gone.
    fn leave(&mut self) -> Result<()> {
        Ok(())
    }
    /// Returns whether an object identifier (`regclass` and the like) in this column is sent as its name, as in the text format, and
    /// not as its number, as in the binary format.
    fn resolves_names(&self, _column: usize) -> bool {
        true
    }
    /// The statement is complete: `SELECT 3`, `INSERT 0 1`, `BEGIN`.
    fn complete(&mut self, _tag: &str) {}
    /// The statement's text was empty.
    fn empty(&mut self) {}
    /// A notice, a warning.
    fn notice(&mut self, _severity: &'static str, _notice: &SqlError) {}
    /// A setting that is reported to clients has changed.
    fn parameter(&mut self, _name: &str, _value: &str) {}
    /// Discards the rows of a failed attempt of a statement, which will be repeated. Returns `false` if they have been sent; then the
    /// statement is not repeated.
    fn restart(&mut self) -> bool;
    /// Marks the beginning of a statement, to which [`Sink::restart`] returns.
    fn begin_statement(&mut self) {}
    /// COPY TO STDOUT begins; the lines have this many columns.
    fn copy_out_start(&mut self, _columns: usize, _binary: bool) {}
    /// A line of COPY TO STDOUT, its newline included (binary: a tuple, and the header with the first).
    ///
    /// # Errors
    /// The client cannot be given it.
    fn copy_data(&mut self, _data: &[u8]) -> Result<()> {
        Ok(())
    }
    /// COPY TO STDOUT has returned all its lines; [`Sink::complete`] follows.
    fn copy_done(&mut self) {}
}

/// Outcome of a call of [`Session::simple`] or [`Session::execute`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything was run.
    Done,
    /// The portal has more rows.
    Suspended,
    /// COPY FROM STDIN waits for data: call `copy_data`, then `copy_done` or `copy_fail`. For a simple query they continue
    /// with its remaining statements.
    CopyIn {
        /// Number of columns of a line.
        columns: usize,
        /// Whether the data is binary.
        binary: bool,
    },
}

/// The transaction status in ReadyForQuery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No transaction is open.
    Idle,
    /// A transaction block is open.
    InTransaction,
    /// A transaction block has failed and waits for ROLLBACK.
    Failed,
}

/// The answer of Describe for a prepared statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The types of its parameters.
    pub parameters: Vec<Type>,
    /// Its columns; `None` if it returns no rows.
    pub fields: Option<Vec<Field>>,
}

/// Format of a parameter or a result on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Text.
    #[default]
    Text,
    /// Binary.
    Binary,
}

/// One client's session. Dropping it rolls back an open transaction.
pub struct Session {
    /// Called when there are notifications to receive.
    wake: crate::notify::Wake,
    database: Arc<Database>,
    state: State,
    entry: Arc<Entry>,
    open: Option<Open>,
    /// By name; the unnamed one is the last that Parse prepared without a name.
    prepared: Arc<PreparedStatements>,
    /// Recent statements of the simple protocol, by their text.
    recent: prepared::Recent,
    portals: ByName<Portal>,
    /// Number of portals created so far.
    portals_entered: u64,
    copy: Option<copy::Running>,
    /// What is left of a simple query while its COPY waits for data.
    rest: VecDeque<syntax::Parsed>,
    /// Memory of a simple query's syntax, until the query ends.
    parsing: Option<Memory>,
    /// Whether a simple query is being run.
    in_text: bool,
    completion: Completion,
    /// Log position, of ended transactions, that must be durable before the answers so far may be sent.
    awaited: LogPosition,
    /// Whether the client was told that a weaker isolation level is exceeded.
    isolation_reported: bool,
    /// Settings as last reported to the client.
    reported: Vec<(&'static str, String)>,
    /// The settings' revision then.
    reported_revision: u64,
}

/// When a statement is reported complete.
enum Completion {
    /// When it has been run.
    AtOnce,
    /// When it has been committed, too: it is the last of its transaction. The tag, once it has been run.
    AtCommit(Option<String>),
}

impl Session {
    pub(crate) fn open(instance: &Arc<Instance>, how: Connect) -> Result<Session> {
        let name = if how.database.is_empty() { &how.user } else { &how.database };
        let Entrance { database, definition, role, entry, rests_on } = instance.enter(&how.user, name, how.client)?;
        // Weak: threads keep the flag of the last session that ran on them, and must not keep the engine open.
        let store = Arc::downgrade(&database.store);
        entry.cancel.on_end(move || store.upgrade().iter().for_each(|store| store.recheck_waits()));
        let (others, process) = (Arc::downgrade(&database), entry.process);
        entry.cancel.on_row_wait(move || others.upgrade().iter().for_each(|others| others.search_deadlock(process)));
        let mut state = State::new(how.user.clone(), definition.name.clone(), entry.process);
        state.settings.set_reported("max_connections", database.options.connections.to_string());
        state.settings.set_reported("work_mem", settings::shown_bytes(database.options.work_bytes));
        state
            .settings
            .set_reported(settings::IDLE_IN_TRANSACTION, settings::shown(database.options.idle_in_transaction));
        let mut session = Session {
            wake: Arc::new(|| ()),
            state,
            entry,
            database,
            open: None,
            prepared: Arc::default(),
            recent: prepared::Recent::default(),
            portals: ByName::default(),
            portals_entered: 0,
            copy: None,
            rest: VecDeque::new(),
            parsing: None,
            in_text: false,
            completion: Completion::AtOnce,
            awaited: rests_on,
            isolation_reported: false,
            reported: Vec::new(),
            reported_revision: 0,
        };
        for (name, value) in &session.database.options.settings {
            session.state.settings.initialize(name, value)?;
        }
        let of_role = |database| {
            let settings = role.settings.iter().filter(move |setting| setting.database == database);
            settings.map(|setting| (&setting.name, &setting.value))
        };
        let of_database = definition.settings.iter().map(|(name, value)| (name, value));
        for (name, value) in of_database.chain(of_role(0)).chain(of_role(definition.oid)) {
            // They were checked when they were set; a name that another version does not know has no effect.
            let _ = session.state.settings.initialize(name, value);
        }
        session.state.settings.set_reported("is_superuser", if role.is_superuser { "on" } else { "off" }.to_owned());
        let (options, parameters): (Vec<_>, Vec<_>) = how.parameters.iter().partition(|(name, _)| name == "options");
        for (_, text) in options {
            for (name, value) in startup::options(text)? {
                session.state.settings.initialize(&name, &value)?;
            }
        }
        for (name, value) in parameters {
            session.state.settings.initialize(name, value)?;
        }
        session.state.prepared = Some(session.prepared.clone());
        session.state.follow_settings();
        session.reported = session.parameters();
        Ok(session)
    }

    /// The numbers that a cancel request must give: process and secret.
    pub fn key(&self) -> (i32, i32) {
        (self.entry.process, self.entry.secret())
    }

    /// The role, the database and the application, for the server's log.
    pub fn names(&self) -> (&str, &str, &str) {
        (&self.entry.user, &self.state.database, &self.state.derived.application)
    }

    /// Time from which the server logs a statement; `None`: it logs none.
    pub fn log_min_duration(&self) -> Option<std::time::Duration> {
        self.state.derived.log_min_duration.map(std::time::Duration::from_millis)
    }

    /// The encoding of the client's texts. Front ends convert; the session's own texts are UTF-8.
    pub fn client_encoding(&self) -> Encoding {
        self.state.derived.encoding
    }

    /// The value of a setting.
    pub fn setting(&self, name: &str) -> Option<String> {
        self.state.setting(name)
    }

    /// The beginning of the statement that runs, or of the last one, as other sessions see it.
    pub fn statement(&self) -> String {
        self.entry.activity().query
    }

    /// Stops the running statement from another thread.
    pub fn cancel(&self) -> Arc<Cancel> {
        self.entry.cancel.clone()
    }

    /// Sets the callback for when the session is ended from outside (`pg_terminate_backend`). It should close the connection.
    pub fn on_end(&self, close: impl Fn() + Send + 'static) {
        self.entry.on_end(Box::new(close));
    }

    /// Reserves memory for the client's input, out of the limit for all statements, until the value is dropped.
    ///
    /// # Errors
    /// 53200.
    pub fn reserve(&self, bytes: usize) -> Result<Memory> {
        Memory::kept(&self.database.budget, bytes)
    }

    /// Prepares the thread for work on a message before its statement begins: only requests to this session stop it, and none that
    /// came for an earlier statement.
    pub fn begin_message(&self) {
        self.entry.cancel.start(self.state.derived.statement_timeout);
        interrupt::begin_statement(self.entry.cancel.clone());
        // Values of a message count in the budget of all statements only.
        self.database.memory(usize::MAX).begin();
    }

    /// Returns the limit on idle time inside a transaction; zero means no limit.
    pub fn idle_in_transaction(&self) -> std::time::Duration {
        std::time::Duration::from_millis(self.state.derived.idle_in_transaction)
    }

    /// The settings that are reported to a client at start-up (`server_version`, `client_encoding`, ...).
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let reported = settings::KNOWN.iter().filter(|known| known.reported);
        reported.map(|known| (known.name, self.state.settings.get(known.name).unwrap_or_default())).collect()
    }

    /// Prepares for a statement: times, the entry in the registry, the cancel flag and its deadline.
    fn begin_statement(&mut self, query: &str) {
        self.state.statement_time = crate::clock::now();
        self.list_cursors();
        let timeout = self.state.derived.statement_timeout;
        self.entry.cancel.start(timeout);
        self.entry.begin_query(query, self.state.statement_time);
    }

    /// Notes the time before the values of parameters are read: outside a transaction 'now' among them is not that of the last one.
    fn note_time(&mut self) {
        self.state.statement_time = crate::clock::now();
        if self.open.is_none() {
            self.state.transaction_time = self.state.statement_time;
        }
    }

    /// Sends the notices of a statement, and that it is complete.
    fn complete(&mut self, tag: &str, sink: &mut dyn Sink) {
        self.send_notices(sink);
        self.export_snapshot();
        match &mut self.completion {
            Completion::AtOnce => sink.complete(tag),
            Completion::AtCommit(waiting) => *waiting = Some(tag.to_owned()),
        }
    }

    /// Runs what ends with a commit: its last statement is reported complete only after that.
    fn complete_at_commit<T>(
        &mut self,
        sink: &mut dyn Sink,
        run: impl FnOnce(&mut Session, &mut dyn Sink) -> Result<T>,
    ) -> Result<T> {
        self.completion = Completion::AtCommit(None);
        let done = run(self, sink);
        if let Completion::AtCommit(Some(tag)) = std::mem::replace(&mut self.completion, Completion::AtOnce)
            && done.is_ok()
        {
            sink.complete(&tag);
        }
        done
    }

    fn send_notices(&mut self, sink: &mut dyn Sink) {
        if self.state.notices.is_empty() {
            return;
        }
        let least = self.state.settings.get("client_min_messages").unwrap_or_default();
        for notice in std::mem::take(&mut self.state.notices) {
            // Classes 01 (accepted with a quirk) and 25 (state of the transaction): WARNING. Others ("skipping"): NOTICE.
            let warns = ["01", "25"].iter().any(|class| notice.code().starts_with(class));
            let severity = if warns { "WARNING" } else { "NOTICE" };
            let wanted = match least.as_str() {
                "warning" => severity == "WARNING",
                "error" | "fatal" | "panic" => false,
                _ => true,
            };
            if wanted {
                sink.notice(severity, &notice);
            }
        }
    }

    /// Counts an error that the client is sent.
    fn count_error(&mut self, error: &SqlError) {
        self.state.counts.transactions.deadlocks += u64::from(error.code() == code::DEADLOCK_DETECTED);
    }

    /// Completes a statement: notices, reported settings, the end of its deadline.
    fn end_statement(&mut self, sink: &mut dyn Sink) {
        self.send_notices(sink);
        self.report_settings(sink);
        if self.copy.is_none() {
            self.entry.cancel.set_timeout(0);
        }
    }

    /// Reports the settings that have changed since the last report.
    pub fn report_settings(&mut self, sink: &mut dyn Sink) {
        let revision = self.state.settings.revision();
        if self.reported_revision != revision {
            let now = self.parameters();
            for (name, value) in now.iter().filter(|pair| !self.reported.contains(pair)) {
                sink.parameter(name, value);
            }
            (self.reported, self.reported_revision) = (now, revision);
        }
    }

    /// Returns whether the session ends while the log makes no progress: then its end must not wait for the log.
    fn has_given_up_the_log(&self) -> bool {
        let is_durable = || self.database.store.wait_durable_unless(self.awaited, &|| true);
        self.entry.cancel.is_ended() && !matches!(is_durable(), Ok(true))
    }

    /// Registers the session as idle, in a transaction or not, unless a COPY waits for data.
    fn show_idle(&mut self) {
        if self.copy.is_some() {
            return;
        }
        if self.open.is_none() {
            self.entry.count(&mut self.state.counts);
        }
        let since = self.open.as_ref().map(|_| self.state.transaction_time);
        let application = &self.state.derived.application;
        self.entry.end_query(self.open.as_ref().map(|open| open.failed), since, application);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.roll_back();
        // Engine tables that cannot be dropped now are dropped when the database is opened next.
        if !self.has_given_up_the_log() {
            let _ = crate::catalog::drop_temporary(&self.database, &mut self.state);
        }
        self.database.advisory.unlock_all(self.entry.process, self.awaited.to_raw());
        self.database.channels.leave(self.entry.process);
        self.entry.count(&mut self.state.counts);
        self.database.sessions.leave(self.entry.process);
    }
}
