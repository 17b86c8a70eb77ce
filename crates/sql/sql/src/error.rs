//! What a statement can fail with: an SQLSTATE, a message, and the fields by which clients find their way.

use std::fmt;

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

/// An engine's error before anybody has translated its table and key into the user's words
/// ([`crate::catalog::explain`] does).
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

/// The SQLSTATEs that this crate raises, by PostgreSQL's condition names.
pub mod state {
    #![allow(missing_docs)]
    pub const SUCCESSFUL_COMPLETION: &str = "00000";
    pub const WARNING: &str = "01000";
    pub const CONNECTION_FAILURE: &str = "08006";
    pub const PROTOCOL_VIOLATION: &str = "08P01";
    pub const FEATURE_NOT_SUPPORTED: &str = "0A000";
    pub const CARDINALITY_VIOLATION: &str = "21000";
    pub const STRING_DATA_RIGHT_TRUNCATION: &str = "22001";
    pub const NUMERIC_VALUE_OUT_OF_RANGE: &str = "22003";
    pub const NULL_VALUE_NOT_ALLOWED: &str = "22004";
    pub const INVALID_DATETIME_FORMAT: &str = "22007";
    pub const DATETIME_FIELD_OVERFLOW: &str = "22008";
    pub const SUBSTRING_ERROR: &str = "22011";
    pub const DIVISION_BY_ZERO: &str = "22012";
    pub const INTERVAL_FIELD_OVERFLOW: &str = "22015";
    pub const INVALID_REGULAR_EXPRESSION: &str = "2201B";
    pub const INVALID_ROW_COUNT_IN_LIMIT: &str = "2201W";
    pub const INVALID_ROW_COUNT_IN_OFFSET: &str = "2201X";
    pub const CHARACTER_NOT_IN_REPERTOIRE: &str = "22021";
    pub const INVALID_PARAMETER_VALUE: &str = "22023";
    pub const INVALID_ESCAPE_SEQUENCE: &str = "22025";
    pub const INVALID_PRECEDING_OR_FOLLOWING_SIZE: &str = "22013";
    pub const INVALID_ARGUMENT_FOR_NTILE: &str = "22014";
    pub const INVALID_ARGUMENT_FOR_NTH_VALUE: &str = "22016";
    pub const INVALID_TEXT_REPRESENTATION: &str = "22P02";
    pub const INVALID_BINARY_REPRESENTATION: &str = "22P03";
    pub const BAD_COPY_FILE_FORMAT: &str = "22P04";
    pub const SEQUENCE_LIMIT_EXCEEDED: &str = "2200H";
    pub const ARRAY_SUBSCRIPT_ERROR: &str = "2202E";
    pub const RESTRICT_VIOLATION: &str = "23001";
    pub const NOT_NULL_VIOLATION: &str = "23502";
    pub const FOREIGN_KEY_VIOLATION: &str = "23503";
    pub const UNIQUE_VIOLATION: &str = "23505";
    pub const CHECK_VIOLATION: &str = "23514";
    pub const INVALID_CURSOR_STATE: &str = "24000";
    pub const INVALID_TRANSACTION_STATE: &str = "25000";
    pub const ACTIVE_SQL_TRANSACTION: &str = "25001";
    pub const READ_ONLY_SQL_TRANSACTION: &str = "25006";
    pub const NO_ACTIVE_SQL_TRANSACTION: &str = "25P01";
    pub const IN_FAILED_SQL_TRANSACTION: &str = "25P02";
    pub const IDLE_IN_TRANSACTION_SESSION_TIMEOUT: &str = "25P03";
    pub const INVALID_SQL_STATEMENT_NAME: &str = "26000";
    pub const INVALID_AUTHORIZATION_SPECIFICATION: &str = "28000";
    pub const DEPENDENT_OBJECTS_STILL_EXIST: &str = "2BP01";
    pub const INVALID_CURSOR_NAME: &str = "34000";
    pub const INVALID_SAVEPOINT: &str = "3B001";
    pub const INVALID_CATALOG_NAME: &str = "3D000";
    pub const INVALID_SCHEMA_NAME: &str = "3F000";
    pub const SERIALIZATION_FAILURE: &str = "40001";
    pub const SYNTAX_ERROR: &str = "42601";
    pub const INSUFFICIENT_PRIVILEGE: &str = "42501";
    pub const INVALID_NAME: &str = "42602";
    pub const NAME_TOO_LONG: &str = "42622";
    pub const DUPLICATE_COLUMN: &str = "42701";
    pub const AMBIGUOUS_COLUMN: &str = "42702";
    pub const UNDEFINED_COLUMN: &str = "42703";
    pub const UNDEFINED_OBJECT: &str = "42704";
    pub const DUPLICATE_OBJECT: &str = "42710";
    pub const DUPLICATE_ALIAS: &str = "42712";
    pub const DUPLICATE_FUNCTION: &str = "42723";
    pub const AMBIGUOUS_FUNCTION: &str = "42725";
    pub const GROUPING_ERROR: &str = "42803";
    pub const DATATYPE_MISMATCH: &str = "42804";
    pub const WRONG_OBJECT_TYPE: &str = "42809";
    pub const INVALID_FOREIGN_KEY: &str = "42830";
    pub const CANNOT_COERCE: &str = "42846";
    pub const UNDEFINED_FUNCTION: &str = "42883";
    pub const GENERATED_ALWAYS: &str = "428C9";
    pub const WINDOWING_ERROR: &str = "42P20";
    pub const UNDEFINED_TABLE: &str = "42P01";
    pub const UNDEFINED_PARAMETER: &str = "42P02";
    pub const DUPLICATE_CURSOR: &str = "42P03";
    pub const DUPLICATE_PREPARED_STATEMENT: &str = "42P05";
    pub const DUPLICATE_SCHEMA: &str = "42P06";
    pub const DUPLICATE_TABLE: &str = "42P07";
    pub const INVALID_COLUMN_REFERENCE: &str = "42P10";
    pub const RESERVED_NAME: &str = "42939";
    pub const INVALID_TABLE_DEFINITION: &str = "42P16";
    pub const INVALID_OBJECT_DEFINITION: &str = "42P17";
    pub const INDETERMINATE_DATATYPE: &str = "42P18";
    pub const INVALID_RECURSION: &str = "42P19";
    pub const WITH_CHECK_OPTION_VIOLATION: &str = "44000";
    pub const DISK_FULL: &str = "53100";
    pub const OUT_OF_MEMORY: &str = "53200";
    pub const TOO_MANY_CONNECTIONS: &str = "53300";
    pub const CONFIGURATION_LIMIT_EXCEEDED: &str = "53400";
    pub const PROGRAM_LIMIT_EXCEEDED: &str = "54000";
    pub const STATEMENT_TOO_COMPLEX: &str = "54001";
    pub const TOO_MANY_COLUMNS: &str = "54011";
    pub const OBJECT_NOT_IN_PREREQUISITE_STATE: &str = "55000";
    pub const OBJECT_IN_USE: &str = "55006";
    pub const CANT_CHANGE_RUNTIME_PARAM: &str = "55P02";
    pub const LOCK_NOT_AVAILABLE: &str = "55P03";
    pub const QUERY_CANCELED: &str = "57014";
    pub const ADMIN_SHUTDOWN: &str = "57P01";
    pub const INTERNAL_ERROR: &str = "XX000";
    pub const DATA_CORRUPTED: &str = "XX001";
}
