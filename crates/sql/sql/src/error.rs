//! What a statement can fail with: an SQLSTATE, a message, and the fields by which clients find their way.

use model::retry::Failure;
use std::fmt;

pub use pgtypes::state;

/// The result of everything in this crate.
pub type Result<T, E = SqlError> = std::result::Result<T, E>;

/// An error as PostgreSQL's clients know it. One word wide: errors travel through every row's path.
#[derive(Clone, Debug)]
pub struct SqlError(Box<Fields>);

/// The fields of an error.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    /// The five characters that programs look at.
    pub code: &'static str,
    /// What happened.
    pub message: String,
    /// More of it: which rule, which key, which other transaction.
    pub detail: Option<String>,
    /// What to do.
    pub hint: Option<String>,
    /// Where in the statement, in characters from 1.
    pub position: Option<u32>,
    /// The schema that it is about.
    pub schema: Option<String>,
    /// The table that it is about.
    pub table: Option<String>,
    /// The column that it is about.
    pub column: Option<String>,
    /// The type that it is about.
    pub data_type: Option<String>,
    /// The constraint that was violated.
    pub constraint: Option<String>,
    /// What was going on: the line of COPY's data.
    pub context: Option<String>,
    /// Whether the same transaction may succeed when it is run again.
    pub retryable: bool,
    /// The engine's own error, when it was one.
    pub engine: Option<model::Error>,
}

impl SqlError {
    /// An error with a code and a message.
    pub fn new(code: &'static str, message: impl Into<String>) -> SqlError {
        SqlError(Box::new(Fields { code, message: message.into(), ..Fields::default() }))
    }

    /// Something that SQL has and this server does not.
    pub fn unsupported(what: impl fmt::Display) -> SqlError {
        SqlError::new(state::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
    }

    /// The fields.
    pub fn fields(&self) -> &Fields {
        &self.0
    }

    /// The fields, to be put into other words.
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

    /// Whether the same transaction may succeed when it is run again.
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// Splits conflicts that another attempt may cure from the rest. A statement that has used up its wait limit is not run
    /// again.
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

    /// Adds what was going on, unless something nearer is there.
    pub fn context(mut self, context: impl Into<String>) -> SqlError {
        self.0.context.get_or_insert_with(|| context.into());
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

/// An engine's error before anybody has translated its table and key into the user's words
/// (`catalog::explain` does).
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
