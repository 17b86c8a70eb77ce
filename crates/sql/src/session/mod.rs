//! A session: what one client says, in order. `wire` and the command line speak to it, one call at a time.

use crate::context::Cancel;
use crate::database::Database;
use crate::error::{Result, SqlError};
use crate::plan::Field;
use crate::types::text::Styles;
use crate::types::{Datum, Type};
use std::sync::Arc;

/// Who connects.
#[derive(Clone, Debug, Default)]
pub struct Connect {
    /// The role; `postgres` is there.
    pub user: String,
    /// The database; `postgres` is there.
    pub database: String,
    /// Further start-up parameters (`application_name`, `client_encoding`, `options`, settings).
    pub parameters: Vec<(String, String)>,
    /// The client's address, for `pg_stat_activity`.
    pub client: Option<std::net::SocketAddr>,
}

/// Where results go. The wire encodes them at once; the command line prints them.
pub trait Sink {
    /// A statement of the simple protocol begins to return rows with these columns.
    fn fields(&mut self, fields: &[Field]);
    /// Rows of these columns follow. Once before the first row of every call, after [`Sink::fields`] where that is
    /// called, and in the extended protocol too: values are encoded by their types, and texts in these styles.
    fn rows(&mut self, fields: &[Field], styles: &Styles);
    /// A row.
    ///
    /// # Errors
    /// The client is gone.
    fn row(&mut self, row: &[Datum]) -> Result<()>;
    /// The statement is complete: `SELECT 3`, `INSERT 0 1`, `BEGIN`.
    fn complete(&mut self, tag: &str);
    /// The statement's text was empty.
    fn empty(&mut self);
    /// A notice, a warning.
    fn notice(&mut self, severity: &'static str, notice: &SqlError);
    /// A setting that clients follow has changed.
    fn parameter(&mut self, name: &str, value: &str);
    /// A statement's attempt failed and will be repeated: forget its rows. `false` if they have left already; then the
    /// statement is not repeated.
    fn restart(&mut self) -> bool;
    /// A statement begins: what [`Sink::restart`] goes back to.
    fn begin_statement(&mut self);
    /// COPY TO STDOUT begins; the lines have this many columns.
    fn copy_out_start(&mut self, columns: usize, binary: bool);
    /// A line of COPY TO STDOUT, its newline included (binary: a tuple, and the header with the first).
    ///
    /// # Errors
    /// The client is gone.
    fn copy_data(&mut self, data: &[u8]) -> Result<()>;
    /// COPY TO STDOUT has given all its lines; [`Sink::complete`] follows.
    fn copy_done(&mut self);
}

/// How a call of [`Session::simple`] or [`Session::execute`] ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything was run.
    Done,
    /// The portal has more rows.
    Suspended,
    /// COPY FROM STDIN waits for data: call `copy_data`, then `copy_done` or `copy_fail`. For a simple query they go on
    /// with its remaining statements.
    CopyIn {
        /// How many columns a line has.
        columns: usize,
        /// Whether the data is binary.
        binary: bool,
    },
}

/// The byte that ReadyForQuery carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No transaction is open.
    Idle,
    /// A transaction block is open.
    InTransaction,
    /// A transaction block has failed and waits for ROLLBACK.
    Failed,
}

/// What Describe says of a prepared statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The types of its parameters.
    pub parameters: Vec<Type>,
    /// Its columns; `None` if it returns no rows.
    pub fields: Option<Vec<Field>>,
}

/// A parameter's or a result's form on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Text.
    #[default]
    Text,
    /// Binary.
    Binary,
}

/// The session's side of a statement: settings, user, times. (`settings.rs`)
pub struct State {
    /// The role.
    pub user: String,
    /// What sequences gave this session last, by sequence.
    pub last_values: std::collections::HashMap<u32, i64>,
    /// The sequence that gave last (`lastval`).
    pub last_sequence: Option<u32>,
    /// When the transaction began: `now()`. Microseconds since 1970.
    pub transaction_time: i64,
    /// When the statement began. Microseconds since 1970.
    pub statement_time: i64,
    /// Engine tables that the transaction's definitions made or left: `catalog` drops what nothing names in the end.
    pub touched_storage: Vec<crate::catalog::TouchedStorage>,
    /// The schema of the session's temporary relations, once there is one.
    pub temporary_schema: Option<String>,
}

impl State {
    /// The schemas in which names without one are looked up, in order; the first is where new relations go.
    pub fn search_path(&self) -> Vec<String> {
        vec!["public".into()]
    }
}

/// One client's session. Dropping it rolls back what is open.
pub struct Session {
    _database: Arc<Database>,
}

/// The open sessions.
#[derive(Default)]
pub struct Registry {}

#[allow(unused_variables)]
impl Registry {
    /// Stops what the session of this process number runs, if the secret is right; says whether.
    pub fn cancel(&self, process: i32, secret: i32) -> bool {
        todo!()
    }
}

#[allow(unused_variables)]
impl Session {
    pub(crate) fn open(database: Arc<Database>, how: Connect) -> Result<Session> {
        todo!()
    }

    /// The numbers that a cancel request must give: process and secret.
    pub fn key(&self) -> (i32, i32) {
        todo!()
    }

    /// Stops the running statement from another thread.
    pub fn cancel(&self) -> Arc<Cancel> {
        todo!()
    }

    /// The settings that a client is told at start-up (`server_version`, `client_encoding`, ...).
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        todo!()
    }

    /// Whether a transaction is open. Between statements.
    pub fn status(&self) -> Status {
        todo!()
    }

    /// Runs the statements of a simple query; they are one transaction unless they say otherwise. After an error the
    /// rest is not run.
    ///
    /// # Errors
    /// The first statement's that failed; the session lives on.
    pub fn simple(&mut self, sql: &str, sink: &mut dyn Sink) -> Result<Outcome> {
        todo!()
    }

    /// Parse: prepares a statement; parameters of type 0 (or none) are inferred.
    ///
    /// # Errors
    /// Of the statement, or the name is taken.
    pub fn parse(&mut self, name: &str, sql: &str, parameters: &[u32]) -> Result<()> {
        todo!()
    }

    /// Describe of a statement.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn describe_statement(&mut self, name: &str) -> Result<Description> {
        todo!()
    }

    /// Bind: a portal of a prepared statement with its parameters' values.
    ///
    /// # Errors
    /// Unknown statement, wrong number of parameters, malformed values.
    pub fn bind(&mut self, portal: &str, statement: &str, parameters: &[(Format, Option<&[u8]>)]) -> Result<()> {
        todo!()
    }

    /// Describe of a portal.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn describe_portal(&mut self, name: &str) -> Result<Option<Vec<Field>>> {
        todo!()
    }

    /// Execute: at most `max_rows` rows (0: all). `sync_follows`: the next message is Sync, so that a statement outside a
    /// transaction block may be committed, and repeated after a conflict, at once.
    ///
    /// # Errors
    /// The statement's. The session then passes over everything until [`Session::sync`] (the caller does).
    pub fn execute(
        &mut self,
        portal: &str,
        max_rows: usize,
        sync_follows: bool,
        sink: &mut dyn Sink,
    ) -> Result<Outcome> {
        todo!()
    }

    /// Close of a statement. Unknown names are fine.
    pub fn close_statement(&mut self, name: &str) {
        todo!()
    }

    /// Close of a portal. Unknown names are fine.
    pub fn close_portal(&mut self, name: &str) {
        todo!()
    }

    /// Sync: ends the implicit transaction. After an error (`failed`) it rolls back.
    ///
    /// # Errors
    /// The commit's.
    pub fn sync(&mut self, failed: bool) -> Result<()> {
        todo!()
    }

    /// COPY data, in pieces of any size.
    ///
    /// # Errors
    /// Of the data; the COPY is over then.
    pub fn copy_data(&mut self, data: &[u8]) -> Result<()> {
        todo!()
    }

    /// The end of COPY data. Goes on with what followed in a simple query.
    ///
    /// # Errors
    /// As [`Session::simple`].
    pub fn copy_done(&mut self, sink: &mut dyn Sink) -> Result<Outcome> {
        todo!()
    }

    /// The client gave the COPY up.
    pub fn copy_fail(&mut self, why: &str) -> SqlError {
        todo!()
    }

    /// Blocks until everything that was answered since the last call is durable. Before answers leave.
    ///
    /// # Errors
    /// The outcome is unknown (08007).
    pub fn wait_durable(&mut self) -> Result<()> {
        todo!()
    }
}
