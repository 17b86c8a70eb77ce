//! SQL over an embedded database: the language, the types and the errors of PostgreSQL 15, without a server.
//!
//! ```
//! # fn main() -> Result<(), seriatim::Error> {
//! let db = seriatim::Database::in_memory()?;
//! db.sql("CREATE TABLE city (name text PRIMARY KEY, people bigint CHECK (people > 0))")?;
//! db.sql("INSERT INTO city VALUES ('Graz', 302749), ('Linz', 212538)")?;
//!
//! let answer = db.sql("SELECT name, people FROM city ORDER BY people DESC")?;
//! assert_eq!(answer.column_names().collect::<Vec<_>>(), ["name", "people"]);
//! assert_eq!(answer.rows[0].get::<String>(0)?, "Graz");
//!
//! // A session has transactions, parameters, settings.
//! let mut session = db.sql_session()?;
//! session.run("BEGIN")?;
//! session.query("UPDATE city SET people = people + $1 WHERE name = $2", &[&1_000, &"Linz"])?;
//! session.run("COMMIT")?;
//! assert_eq!(session.query("SELECT sum(people)::bigint FROM city", &[])?.rows[0].get::<i64>(0)?, 516_287);
//!
//! let error = db.sql("INSERT INTO city VALUES ('Graz', 1)").unwrap_err();
//! assert_eq!(error.sqlstate(), "23505");
//! # Ok(())
//! # }
//! ```
//!
//! A statement outside a transaction block is one transaction, and runs again by itself after a conflict. Inside a block an
//! error with SQLSTATE 40001 ends the block: roll it back and run it again.

mod value;

pub use ::sql::Field as Column;
pub use ::sql::SqlError;
pub use ::sql::types::{Datum, Type};
pub use value::{FromSql, ToSql};

use crate::{Database, Error, Result};
use ::sql::session::{Connect, Format, Outcome, Sink};
use ::sql::types::{Encoding, Modifier, Styles, text};
use std::fmt;
use std::sync::Arc;

/// Name of the statement that [`Session::query`] prepares.
const STATEMENT: &str = "";

impl Database {
    /// Runs SQL statements in a session of their own, and returns the answer of the last one. Together they are one transaction,
    /// unless they contain transaction commands; a single statement is retried after conflicts.
    ///
    /// # Errors
    /// [`Error::Sql`] with PostgreSQL's SQLSTATE and message.
    pub fn sql(&self, text: &str) -> Result<Answer> {
        let answers = self.sql_session()?.run(text)?;
        Ok(answers.into_iter().next_back().unwrap_or_default())
    }

    /// Opens a session of SQL, with transactions, parameters, settings and temporary tables.
    ///
    /// # Errors
    /// [`Error::Sql`] with too many sessions.
    pub fn sql_session(&self) -> Result<Session> {
        let database = self.sql_database()?;
        let name = self.shared.kept.database().to_owned();
        let how = Connect { user: "postgres".into(), database: name, ..Connect::default() };
        Ok(Session::over(database.connect(how)?, Arc::new(self.clone())))
    }

    /// Bytes that the statements of all sessions may hold together: a third of what rows may take.
    pub fn statement_memory(&self) -> usize {
        self.shared.memory_limit / 3
    }

    /// The SQL database in this one, created once: its caches and sequences are shared by all sessions.
    ///
    /// # Errors
    /// [`Error::Sql`] if the catalog cannot be read or made.
    pub fn sql_database(&self) -> Result<Arc<::sql::database::Database>> {
        self.shared.sql(|| {
            // The catalog is made ready once, before anybody uses it.
            self.shared.kept.tables()?;
            let options = ::sql::database::Options {
                is_prepared: true,
                database: self.shared.kept.database().to_owned(),
                durability: self.shared.durability,
                budget_bytes: self.statement_memory(),
                ..Default::default()
            };
            Ok(::sql::database::Database::open(self.store(), options)?)
        })
    }
}

/// A session: statements, one after another. Dropping it rolls back an open transaction.
pub struct Session {
    session: ::sql::session::Session,
    /// The database stays open as long as its sessions.
    _database: Arc<dyn Send + Sync>,
}

impl Session {
    /// A session of a database that stays open meanwhile.
    pub(crate) fn over(session: ::sql::session::Session, database: Arc<dyn Send + Sync>) -> Session {
        Session { session, _database: database }
    }

    /// Runs statements, and returns the answer of each.
    ///
    /// # Errors
    /// [`Error::Sql`]; the statements behind the one that failed are not run.
    pub fn run(&mut self, text: &str) -> Result<Vec<Answer>> {
        let mut answers = Answers::default();
        let ran = match self.session.simple(text, &mut answers) {
            Ok(Outcome::CopyIn { .. }) => Err(self.refuse_copy()),
            ran => ran,
        };
        self.session.once_durable(ran)?;
        Ok(answers.done)
    }

    /// Runs one statement with the values of its parameters `$1`, `$2`, ...
    ///
    /// # Errors
    /// [`Error::Sql`].
    pub fn query(&mut self, text: &str, parameters: &[&dyn ToSql]) -> Result<Answer> {
        let mut answers = Answers::default();
        let done = self.query_to(text, parameters, &mut answers);
        let ended = self.session.sync(done.is_err());
        self.session.once_durable(done.and(ended))?;
        Ok(answers.done.pop().unwrap_or_default())
    }

    fn query_to(&mut self, text: &str, parameters: &[&dyn ToSql], sink: &mut Answers) -> ::sql::Result<()> {
        self.session.parse(STATEMENT, text, &[])?;
        let texts: Vec<Option<String>> = parameters.iter().map(|value| value.to_sql()).collect();
        let values: Vec<(Format, Option<&[u8]>)> =
            texts.iter().map(|text| (Format::Text, text.as_ref().map(String::as_bytes))).collect();
        self.session.bind("", STATEMENT, &values, Encoding::Utf8)?;
        sink.current.columns = self.session.describe_portal("")?.unwrap_or_default();
        match self.session.execute("", 0, true, sink)? {
            Outcome::Done | Outcome::Suspended => Ok(()),
            Outcome::CopyIn { .. } => Err(self.refuse_copy()),
        }
    }

    fn refuse_copy(&mut self) -> SqlError {
        self.session.copy_fail("an embedded session has no standard input; use INSERT, or Session::copy_in")
    }

    /// Runs `COPY ... FROM STDIN` over these bytes, and returns the number of rows.
    ///
    /// # Errors
    /// [`Error::Sql`], also if the statement is no such COPY.
    pub fn copy_in(&mut self, text: &str, data: &[u8]) -> Result<Answer> {
        let mut answers = Answers::default();
        let begun = match self.session.simple(text, &mut answers) {
            Ok(Outcome::Done | Outcome::Suspended) => {
                Err(SqlError::new("42601", "the statement is not COPY ... FROM STDIN"))
            }
            begun => begun,
        };
        let ran = begun.and_then(|_| self.session.copy_data(data)).and_then(|()| self.session.copy_done(&mut answers));
        self.session.once_durable(ran)?;
        Ok(answers.done.pop().unwrap_or_default())
    }

    /// The session beneath, for front ends of their own.
    pub fn inner(&mut self) -> &mut ::sql::session::Session {
        &mut self.session
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("status", &self.session.status()).finish_non_exhaustive()
    }
}

/// The answer of a statement.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Its columns, if it returns rows.
    pub columns: Vec<Column>,
    /// Its rows.
    pub rows: Vec<Row>,
    /// Its command tag: `INSERT 0 3`, `CREATE TABLE`.
    pub tag: String,
    /// Notices and warnings.
    pub notices: Vec<SqlError>,
}

impl Answer {
    /// The names of its columns.
    pub fn column_names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }
}

/// A row of an answer.
#[derive(Clone, Debug)]
pub struct Row {
    values: Vec<Datum>,
    columns: Arc<[Column]>,
    styles: Arc<Styles>,
}

impl Row {
    /// The value of a column, by its number (from 0) or its name.
    ///
    /// Values of types without a Rust type here (intervals, arrays, ...) are returned by [`text`](Self::text), as PostgreSQL prints
    /// them.
    ///
    /// # Errors
    /// [`Error::Sql`] with 42703 if there is no such column, with 42804 if it has another type, or is NULL and the wanted
    /// type is no `Option`.
    pub fn get<T: FromSql>(&self, column: impl ColumnAt) -> Result<T> {
        let at = column.place(&self.columns).ok_or_else(|| {
            let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
            SqlError::new("42703", format!("the row has no column {column}; it has {}", names.join(", ")))
        })?;
        T::from_sql(&self.values[at]).ok_or_else(|| {
            let shown = self.text(at).unwrap_or_else(|| "NULL".into());
            let wanted = std::any::type_name::<T>();
            let what = format!(
                "column {column} is {shown}, which does not convert to {wanted}; Row::text gives every value as a text"
            );
            Error::from(SqlError::new("42804", what))
        })
    }

    /// The value of a column as PostgreSQL prints it; `None` for NULL, and beyond the last column.
    pub fn text(&self, column: usize) -> Option<String> {
        let value = self.values.get(column).filter(|value| !value.is_null())?;
        let mut shown = String::new();
        text::format(value, self.columns[column].data_type, &self.styles, &mut shown);
        Some(shown)
    }

    /// All values.
    pub fn values(&self) -> &[Datum] {
        &self.values
    }
}

/// A column of a row: its number from 0, or its name.
pub trait ColumnAt: fmt::Display {
    /// Its place among the columns.
    fn place(&self, columns: &[Column]) -> Option<usize>;
}

impl ColumnAt for usize {
    fn place(&self, columns: &[Column]) -> Option<usize> {
        (*self < columns.len()).then_some(*self)
    }
}

impl ColumnAt for &str {
    fn place(&self, columns: &[Column]) -> Option<usize> {
        columns.iter().position(|column| column.name == *self)
    }
}

/// Collects answers.
#[derive(Default)]
struct Answers {
    done: Vec<Answer>,
    current: Answer,
    columns: Arc<[Column]>,
    styles: Arc<Styles>,
    mark: usize,
}

impl Sink for Answers {
    fn fields(&mut self, fields: &[Column]) -> ::sql::Result<()> {
        self.current.columns = fields.to_vec();
        Ok(())
    }

    fn rows(&mut self, fields: &[Column], styles: &Styles) {
        self.columns = fields.into();
        self.styles = Arc::new(styles.clone());
    }

    fn row(&mut self, row: &[Datum]) -> ::sql::Result<()> {
        let (columns, styles) = (self.columns.clone(), self.styles.clone());
        self.current.rows.push(Row { values: row.to_vec(), columns, styles });
        Ok(())
    }

    fn complete(&mut self, tag: &str) {
        self.current.tag = tag.to_owned();
        self.done.push(std::mem::take(&mut self.current));
    }

    fn empty(&mut self) {}

    fn notice(&mut self, _: &'static str, notice: &SqlError) {
        match self.done.last_mut() {
            Some(answer) => answer.notices.push(notice.clone()),
            None => self.current.notices.push(notice.clone()),
        }
    }

    fn parameter(&mut self, _: &str, _: &str) {}

    fn restart(&mut self) -> bool {
        self.done.truncate(self.mark);
        self.current.rows.clear();
        true
    }

    fn begin_statement(&mut self) {
        self.mark = self.done.len();
    }

    fn copy_out_start(&mut self, _: usize, _: bool) {
        let line = Column { name: "line".into(), data_type: Type::TEXT, modifier: Modifier::NONE, origin: None };
        self.columns = [line].into();
    }

    /// A line is a row of one text.
    fn copy_data(&mut self, data: &[u8]) -> ::sql::Result<()> {
        let line = String::from_utf8_lossy(data);
        self.row(&[Datum::Text(line.trim_end_matches('\n').into())])
    }

    fn copy_done(&mut self) {}
}
