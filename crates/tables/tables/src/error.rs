//! Errors of a program's statement on rows with indexes.

use crate::schema::Schema;
use model::Key;
use std::fmt;
use std::sync::Arc;

/// The result of a statement.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of a statement.
#[derive(Clone, Debug)]
pub enum Error {
    /// The engine's, or a mistake.
    Engine(model::Error),
    /// A key, or an entry of a unique index, is taken. The statement did not happen; the transaction stays open.
    Duplicate(Box<Duplicate>),
}

/// A key, or an entry of a unique index, that is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The table.
    pub table: Arc<Schema>,
    /// The unique index, `None` for the primary key.
    pub index: Option<u16>,
    /// The taken key or index entry, in the program's form.
    pub key: Key,
}

impl From<model::Error> for Error {
    fn from(error: model::Error) -> Error {
        match error {
            model::Error::Duplicate(duplicate) => Duplicate::from(*duplicate).into(),
            error => Error::Engine(error),
        }
    }
}

impl From<model::Invalid> for Error {
    fn from(invalid: model::Invalid) -> Error {
        Error::Engine(invalid.into())
    }
}

impl From<Duplicate> for Error {
    fn from(duplicate: Duplicate) -> Error {
        Error::Duplicate(Box::new(duplicate))
    }
}

/// A key of a table that this layer does not define.
impl From<model::Duplicate> for Duplicate {
    fn from(duplicate: model::Duplicate) -> Duplicate {
        let model::Duplicate { table, key } = duplicate;
        Duplicate { table: Arc::new(model::Schema::clone(&table).into()), index: None, key }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Engine(error) => error.fmt(f),
            Error::Duplicate(duplicate) => duplicate.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Duplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index.and_then(|number| Some((number, self.table.indexes().get(usize::from(number))?))) {
            Some((number, index)) => {
                f.write_str("duplicate entry ")?;
                self.table.write_entry(f, number, &self.key)?;
                write!(f, " in unique index {} of table {}", index.name, self.table.name())
            }
            None => {
                f.write_str("duplicate key ")?;
                self.table.write_key(f, &self.key)?;
                write!(f, " in table {}", self.table.name())
            }
        }
    }
}
