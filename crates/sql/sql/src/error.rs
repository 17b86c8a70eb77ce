//! Errors of statements: an SQLSTATE, a message, and the fields of PostgreSQL's error responses.

use model::retry::Failure;
use std::fmt;

pub use pgtypes::state;

/// Result of every fallible function in this crate.
pub type Result<T, E = SqlError> = std::result::Result<T, E>;

/// An error with PostgreSQL's fields. One word wide: every row's path returns errors.
#[derive(Clone, Debug)]
pub struct SqlError(Box<Fields>);

/// The fields of an error.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    /// SQLSTATE, of five characters.
    pub code: &'static str,
    /// Message: what happened.
    pub message: String,
    /// Detail: which rule, which key, which other transaction.
    pub detail: Option<String>,
    /// Hint: what to do.
    pub hint: Option<String>,
    /// Position in the statement, in characters from 1.
    pub position: Option<u32>,
    /// Schema of the affected object.
    pub schema: Option<String>,
    /// Affected table.
    pub table: Option<String>,
    /// Affected column.
    pub column: Option<String>,
    /// Affected type.
    pub data_type: Option<String>,
    /// Violated constraint.
    pub constraint: Option<String>,
    /// Context: the line of COPY's data.
    pub context: Option<String>,
    /// Name of PostgreSQL's routine that reports the error, where clients look at it.
    pub routine: Option<&'static str>,
    /// Whether a retry of the same transaction may succeed.
    pub retryable: bool,
    /// The engine's error, if it is the cause.
    pub engine: Option<model::Error>,
}

impl SqlError {
    /// An error with a code and a message.
    pub fn new(code: &'static str, message: impl Into<String>) -> SqlError {
        SqlError(Box::new(Fields { code, message: message.into(), ..Fields::default() }))
    }

    /// Error for a feature of SQL that this server does not support.
    pub fn unsupported(what: impl fmt::Display) -> SqlError {
        SqlError::new(state::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
    }

    /// The fields.
    pub fn fields(&self) -> &Fields {
        &self.0
    }

    /// The fields, for rewording.
    pub(crate) fn fields_mut(&mut self) -> &mut Fields {
        &mut self.0
    }

    /// The SQLSTATE.
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns whether a retry of the same transaction may succeed.
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// Separates retryable conflicts from other errors. A statement that used up its wait limit is not retried.
    pub(crate) fn into_failure(self) -> Failure<SqlError, SqlError> {
        if self.is_retryable() && self.code() != state::LOCK_NOT_AVAILABLE {
            Failure::Conflict(self)
        } else {
            Failure::Final(self)
        }
    }

    /// Adds the detail.
    pub fn detail(mut self, detail: impl Into<String>) -> SqlError {
        self.0.detail = Some(detail.into());
        self
    }

    /// Adds the hint.
    pub fn hint(mut self, hint: impl Into<String>) -> SqlError {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds the position, in characters from 1, unless one is there.
    pub fn at(mut self, position: u32) -> SqlError {
        self.0.position.get_or_insert(position);
        self
    }

    /// Adds the schema of what the error is about.
    pub fn schema(mut self, schema: impl Into<String>) -> SqlError {
        self.0.schema = Some(schema.into());
        self
    }

    /// Adds the table and its schema.
    pub fn table(mut self, schema: impl Into<String>, table: impl Into<String>) -> SqlError {
        self.0.schema = Some(schema.into());
        self.0.table = Some(table.into());
        self
    }

    /// Adds the column.
    pub fn column(mut self, column: impl Into<String>) -> SqlError {
        self.0.column = Some(column.into());
        self
    }

    /// Adds the constraint.
    pub fn constraint(mut self, constraint: impl Into<String>) -> SqlError {
        self.0.constraint = Some(constraint.into());
        self
    }

    /// Adds the context, unless a more specific one is there.
    pub fn context(mut self, context: impl Into<String>) -> SqlError {
        self.0.context.get_or_insert_with(|| context.into());
        self
    }

    /// Adds the name of PostgreSQL's routine.
    pub fn routine(mut self, routine: &'static str) -> SqlError {
        self.0.routine = Some(routine);
        self
    }

    /// Adds the data type.
    pub fn data_type(mut self, data_type: impl Into<String>) -> SqlError {
        self.0.data_type = Some(data_type.into());
        self
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.0.message, self.0.code)?;
        for (name, field) in [("detail", &self.0.detail), ("hint", &self.0.hint)] {
            if let Some(text) = field {
                write!(f, "; {name}: {text}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for SqlError {}

/// An error of a value, a function or the syntax.
impl From<pgtypes::Error> for SqlError {
    fn from(error: pgtypes::Error) -> SqlError {
        let pgtypes::error::Fields { code, message, detail, hint, position } = error.into_fields();
        SqlError(Box::new(Fields { code, message, detail, hint, position, ..Fields::default() }))
    }
}

/// An engine's error before its table and key are translated to the user's names (`Database::explain` does that).
impl From<model::Error> for SqlError {
    fn from(error: model::Error) -> SqlError {
        let mut fields = Fields { code: error.sqlstate(), retryable: error.is_retryable(), ..Fields::default() };
        if error.is_retryable() {
            fields.message = "could not serialize access: the transaction was aborted".into();
            fields.detail = Some(error.to_string());
            fields.hint = Some("The transaction might succeed if retried.".into());
        } else {
            fields.message = error.to_string();
        }
        fields.engine = Some(error);
        SqlError(Box::new(fields))
    }
}
