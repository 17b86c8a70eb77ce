//! Errors of values and functions: an SQLSTATE, a message, a detail and a hint.

use std::fmt;

/// Result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error in PostgreSQL's words. One word wide: errors travel through every row's path.
#[derive(Clone, Debug)]
pub struct Error(Box<Fields>);

/// Fields of an error.
#[derive(Clone, Debug)]
pub struct Fields {
    /// SQLSTATE: five characters.
    pub code: &'static str,
    /// The primary message.
    pub message: String,
    /// Further facts.
    pub detail: Option<String>,
    /// Advice.
    pub hint: Option<String>,
    /// Place in the text that is at fault, in characters from 1.
    pub position: Option<u32>,
}

impl Error {
    /// An error with a code and a message.
    pub fn new(code: &'static str, message: impl Into<String>) -> Error {
        Error(Box::new(Fields { code, message: message.into(), detail: None, hint: None, position: None }))
    }

    /// 0A000: a feature of PostgreSQL that is not here.
    pub fn unsupported(what: impl fmt::Display) -> Error {
        Error::new(state::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
    }

    /// SQLSTATE.
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// Message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Fields, by reference.
    pub fn fields(&self) -> &Fields {
        &self.0
    }

    /// Fields, by value.
    pub fn into_fields(self) -> Fields {
        *self.0
    }

    /// Adds the detail.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Error {
        self.0.detail = Some(detail.into());
        self
    }

    /// Adds the position, in characters from 1, unless one is there.
    #[must_use]
    pub fn at(mut self, position: u32) -> Error {
        self.0.position.get_or_insert(position);
        self
    }

    /// Adds the hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Error {
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

impl std::error::Error for Error {}

/// SQLSTATEs, by PostgreSQL's condition names.
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
    pub const UNTRANSLATABLE_CHARACTER: &str = "22P05";
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
    pub const INVALID_GRANT_OPERATION: &str = "0LP01";
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
    pub const DUPLICATE_DATABASE: &str = "42P04";
    pub const DUPLICATE_TABLE: &str = "42P07";
    pub const INVALID_COLUMN_REFERENCE: &str = "42P10";
    pub const RESERVED_NAME: &str = "42939";
    pub const INVALID_TABLE_DEFINITION: &str = "42P16";
    pub const INVALID_OBJECT_DEFINITION: &str = "42P17";
    pub const INDETERMINATE_DATATYPE: &str = "42P18";
    pub const INVALID_RECURSION: &str = "42P19";
    pub const DEADLOCK_DETECTED: &str = "40P01";
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
    pub const CANNOT_CONNECT_NOW: &str = "57P03";
    pub const IO_ERROR: &str = "58030";
    pub const INTERNAL_ERROR: &str = "XX000";
    pub const DATA_CORRUPTED: &str = "XX001";
}
