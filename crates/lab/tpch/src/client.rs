//! A session of a database in this process.

use crate::source::Source;
use sql::Field;
use sql::SqlError;
use sql::database::{Database, Options};
use sql::session::{Connect, Format, Outcome, Session, Sink};
use sql::store::{Engine, Store};
use sql::types::{Datum, Encoding, Styles, text};
use std::sync::Arc;

/// An engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Subject {
    /// Multi-version timestamp ordering.
    Mvto,
    /// Rows in place, by column.
    Hyper,
}

/// An empty database in memory.
///
/// # Errors
/// The engine or the database does not start.
pub fn open(subject: Subject) -> Result<Arc<Database>, SqlError> {
    let store: Arc<dyn Store> = match subject {
        Subject::Mvto => Arc::new(Engine(Arc::new(mvto::Mvto::in_memory(mvto::Options::default())?))),
        Subject::Hyper => Arc::new(Engine(Arc::new(hyper::Hyper::new(hyper::Options::default())))),
    };
    Database::open(store, Options::default())
}

/// A session.
pub struct Client {
    session: Session,
}

impl Client {
    /// Begins a session.
    ///
    /// # Errors
    /// The database refuses it.
    pub fn new(database: &Arc<Database>) -> Result<Client, SqlError> {
        let how = Connect { user: "postgres".into(), database: "postgres".into(), ..Connect::default() };
        Ok(Client { session: database.connect(how)? })
    }

    /// Creates the tables and fills them.
    ///
    /// # Errors
    /// Errors of the statements.
    pub fn load(&mut self, source: &impl Source) -> Result<(), SqlError> {
        self.run(source.schema())?;
        for table in source.tables() {
            // A transaction for each piece, so that none grows with the scale.
            source.lines(table, &mut |lines| self.copy(table, lines))?;
        }
        Ok(())
    }

    fn copy(&mut self, table: &str, lines: &str) -> Result<(), SqlError> {
        let mut answer = Answer::default();
        let begun = self.session.simple(&format!("COPY {table} FROM STDIN WITH (DELIMITER '|')"), &mut answer)?;
        if !matches!(begun, Outcome::CopyIn { .. }) {
            return Err(SqlError::new(sql::error::state::INTERNAL_ERROR, "COPY asks for no rows"));
        }
        self.session.copy_data(lines.as_bytes())?;
        let done = self.session.copy_done(&mut answer);
        self.session.once_durable(done).map(drop)
    }

    /// The rows of statements as psql shows them without alignment: values with `|` between them, NULL as nothing.
    ///
    /// # Errors
    /// Errors of the statements.
    pub fn run(&mut self, statements: &str) -> Result<Vec<String>, SqlError> {
        let mut answer = Answer::default();
        let outcome = self.session.simple(statements, &mut answer);
        self.session.once_durable(outcome)?;
        Ok(answer.rows)
    }

    /// Prepares a statement under a name.
    ///
    /// # Errors
    /// Errors of the statement.
    pub fn prepare(&mut self, name: &str, statement: &str) -> Result<(), SqlError> {
        let parsed = self.session.parse(name, statement, &[]);
        let ended = self.session.sync(parsed.is_err());
        parsed.and(ended)
    }

    /// The rows of a prepared statement, as [`Client::run`] shows them. It has one parameter, an integer.
    ///
    /// # Errors
    /// Errors of the statement.
    pub fn execute(&mut self, name: &str, parameter: i32) -> Result<Vec<String>, SqlError> {
        let mut answer = Answer::default();
        let (bytes, encoding) = (parameter.to_be_bytes(), Encoding::Utf8);
        let bound = self.session.bind("", name, &[(Format::Binary, Some(&bytes))], encoding);
        let done = bound.and_then(|()| self.session.execute("", 0, true, &mut answer));
        let ended = self.session.sync(done.is_err());
        self.session.once_durable(done.and(ended))?;
        Ok(answer.rows)
    }
}

#[derive(Default)]
struct Answer {
    rows: Vec<String>,
    types: Vec<sql::types::Type>,
    styles: Styles,
    mark: usize,
}

impl Sink for Answer {
    fn rows(&mut self, fields: &[Field], styles: &Styles) {
        self.types = fields.iter().map(|field| field.data_type).collect();
        self.styles = styles.clone();
    }

    fn row(&mut self, row: &[Datum]) -> Result<(), SqlError> {
        let mut line = String::new();
        for (at, (value, data_type)) in row.iter().zip(&self.types).enumerate() {
            if at > 0 {
                line.push('|');
            }
            if !value.is_null() {
                text::format(value, *data_type, &self.styles, &mut line);
            }
        }
        self.rows.push(line);
        Ok(())
    }

    fn restart(&mut self) -> bool {
        self.rows.truncate(self.mark);
        true
    }

    fn begin_statement(&mut self) {
        self.mark = self.rows.len();
    }
}
