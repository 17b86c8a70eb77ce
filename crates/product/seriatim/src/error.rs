//! The error type of this crate.

use crate::{AbortClass, Fault, Invalid, Limit, LimitKind, Schema, SerialPoint, TransactionId};
use model::{Abort, Key, Target};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Result of the operations of a database.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of an operation.
///
/// The kinds call for different reactions: run an aborted transaction again (as [`Database::run`](crate::Database::run) does), do
/// less in one transaction at a limit, correct a mistake of the program, decide what a duplicate means, and repair the machine at
/// a fault. [`Error::sqlstate`] returns PostgreSQL's five-character code.
///
/// ```
/// # use seriatim::{Database, Error, Schema, ColumnType};
/// # fn main() -> Result<(), Error> {
/// let db = Database::in_memory()?;
/// let colours = db.create_table(Schema::table("colours").column("id", ColumnType::Int).key(["id"]))?;
/// let error = db.run(|txn| {
///     colours.insert(txn, (1,))?;
///     colours.insert(txn, (1,))
/// }).unwrap_err();
/// assert!(matches!(error, Error::Duplicate(_)));
/// assert_eq!(error.to_string(), "duplicate key (id=1) in table colours");
/// assert_eq!(error.sqlstate(), "23505");
/// assert!(!error.is_retryable());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The transaction was aborted: it has no effect, and every further call of it returns this error.
    Aborted(Conflict),
    /// A transaction was retried until the limit on attempts or on time was reached.
    GaveUp(Box<GaveUp>),
    /// A transaction inside the body of another one of the same thread had to wait, perhaps for that one, which cannot end meanwhile.
    /// Use one transaction for both, or run them one after the other.
    Nested(Conflict),
    /// A limit was exceeded. The statement had no effect; the transaction can continue.
    Limit(Limit),
    /// The request is invalid. The statement had no effect; the transaction can continue.
    Invalid(Invalid),
    /// A key or an entry of a unique index exists already. The statement had no effect; the transaction can continue.
    Duplicate(Duplicate),
    /// The disk, the clock or the data directory failed.
    Fault(Fault),
    /// A table handle of one database was used in a transaction of another.
    OtherDatabase,
    /// An SQL statement failed.
    #[cfg(feature = "sql")]
    Sql(::sql::SqlError),
    /// An error of a transaction's body ([`Error::body`]).
    Body(Arc<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Wraps an error of a transaction's body, so that it can be returned from [`Database::run`](crate::Database::run).
    ///
    /// ```
    /// # use seriatim::{Database, Error};
    /// # fn main() -> Result<(), Error> {
    /// let db = Database::in_memory()?;
    /// let outcome: Result<(), Error> = db.run(|_| Err(Error::body("out of stock")));
    /// assert_eq!(outcome.unwrap_err().to_string(), "out of stock");
    /// # Ok(())
    /// # }
    /// ```
    pub fn body(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::Body(error.into().into())
    }

    /// Returns whether running the same transaction again can succeed.
    pub fn is_retryable(&self) -> bool {
        match self {
            Error::Aborted(conflict) => conflict.class().is_retryable(),
            Error::GaveUp(_) => true,
            #[cfg(feature = "sql")]
            Error::Sql(error) => error.is_retryable(),
            _ => false,
        }
    }

    /// Returns whether a conflict with another transaction caused the error.
    pub fn is_conflict(&self) -> bool {
        self.conflict().is_some_and(|with| with.class().is_conflict())
    }

    /// Returns the conflict of an abort: the rule, the table, the key and the other transaction. After [`Error::GaveUp`] it is that
    /// of the last attempt.
    pub fn conflict(&self) -> Option<&Conflict> {
        match self {
            Error::Aborted(conflict) | Error::Nested(conflict) => Some(conflict),
            Error::GaveUp(gave_up) => Some(&gave_up.last),
            _ => None,
        }
    }

    /// Returns whether it is unknown if the transaction committed: the log failed after its writes became visible. Reopen the
    /// database to find out.
    pub fn is_outcome_unknown(&self) -> bool {
        matches!(self, Error::Fault(Fault::OutcomeUnknown { .. } | Fault::LogFailed { .. }))
    }

    /// Returns PostgreSQL's five-character code for this error.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            Error::Aborted(conflict) => model::Error::Aborted(conflict.abort.clone()).sqlstate(),
            Error::GaveUp(_) => "40001",
            Error::Nested(_) => "25001",
            Error::Limit(limit) => model::Error::Limit(*limit).sqlstate(),
            Error::Invalid(invalid) => model::Error::Invalid(invalid.clone()).sqlstate(),
            Error::Duplicate(_) => "23505",
            Error::Fault(fault) => model::Error::Fault(fault.clone()).sqlstate(),
            Error::OtherDatabase => "42P01",
            #[cfg(feature = "sql")]
            Error::Sql(error) => error.code(),
            Error::Body(_) => "P0001",
        }
    }

    pub(crate) fn gave_up(last: Conflict, attempts: u32, elapsed: Duration) -> Error {
        Error::GaveUp(Box::new(GaveUp { last, attempts, elapsed }))
    }
}

#[cfg(feature = "sql")]
impl From<::sql::SqlError> for Error {
    fn from(error: ::sql::SqlError) -> Error {
        Error::Sql(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Aborted(conflict) => conflict.fmt(f),
            Error::GaveUp(gave_up) => gave_up.fmt(f),
            Error::Nested(conflict) => write!(
                f,
                "a transaction inside the body of another one of the same thread had to wait, perhaps for that one: {}; use \
                 one transaction for both, or run one after the other",
                conflict.abort.explanation
            ),
            Error::Limit(limit) => limit.fmt(f),
            Error::Invalid(invalid) => invalid.fmt(f),
            Error::Duplicate(duplicate) => duplicate.fmt(f),
            Error::Fault(fault) => fault.fmt(f),
            Error::OtherDatabase => f.write_str("the table belongs to another database than the transaction"),
            #[cfg(feature = "sql")]
            Error::Sql(error) => error.fmt(f),
            Error::Body(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // A body's error is shown as this error itself, so its cause is this error's cause.
        if let Error::Body(error) = self { error.source() } else { None }
    }
}

impl From<model::Error> for Error {
    fn from(error: model::Error) -> Error {
        match error {
            model::Error::Aborted(abort) => Error::Aborted(Conflict { abort, place: None }),
            model::Error::Limit(limit) => Error::Limit(limit),
            model::Error::Invalid(invalid) => Error::Invalid(invalid),
            model::Error::Duplicate(duplicate) => Error::Duplicate(Duplicate(Box::new((*duplicate).into()))),
            model::Error::Fault(fault) => Error::Fault(fault),
            // The vocabulary may grow a kind before this crate has a name for it.
            other => Error::body(other),
        }
    }
}

impl From<tables::Error> for Error {
    fn from(error: tables::Error) -> Error {
        match error {
            tables::Error::Engine(error) => error.into(),
            tables::Error::Duplicate(duplicate) => Error::Duplicate(Duplicate(duplicate)),
        }
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Error {
        Error::Invalid(invalid)
    }
}

impl From<Limit> for Error {
    fn from(limit: Limit) -> Error {
        Error::Limit(limit)
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Error {
        Error::Fault(fault)
    }
}

/// A transaction that was not allowed to commit, and what stood in its way.
#[derive(Clone, Debug)]
pub struct Conflict {
    abort: Box<Abort>,
    /// Where it is, for tables of the catalog: the abort names an engine table.
    place: Option<Arc<Place>>,
}

/// The place of a conflict in the words of the table's users.
#[derive(Debug)]
pub(crate) struct Place {
    pub table: Arc<Schema>,
    pub at: At,
}

/// The object of a conflict.
#[derive(Debug)]
pub(crate) enum At {
    /// A row, a gap or a range of rows; its keys are the program's.
    Rows(Target),
    /// An entry of one of the table's indexes, by its number.
    Entry(u16, Key),
}

impl Place {
    fn rows(&self) -> Option<&Target> {
        if let At::Rows(target) = &self.at { Some(target) } else { None }
    }

    fn index(&self, number: u16) -> &str {
        self.table.indexes().get(usize::from(number)).map_or("?", |index| index.name.as_str())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            At::Rows(target) => target.of(&self.table).fmt(f),
            At::Entry(number, entry) => {
                let (table, index) = (self.table.name(), self.index(*number));
                write!(f, "table {table}, index {index}, entry {}", EntryOf(&self.table, *number, entry))
            }
        }
    }
}

impl Conflict {
    pub(crate) fn at(abort: Box<Abort>, place: Option<Place>) -> Conflict {
        Conflict { abort, place: place.map(Arc::new) }
    }

    /// The kind of abort: for counting, and for deciding on a retry.
    pub fn class(&self) -> AbortClass {
        self.abort.class
    }

    /// The protocol's name of the rule that was broken, such as `later-reader`. Stable: made to be counted by.
    pub fn rule(&self) -> &'static str {
        self.abort.rule
    }

    /// What the rule says, in a sentence.
    pub fn explanation(&self) -> &'static str {
        self.abort.explanation
    }

    /// The table of the conflict, when it is in one.
    pub fn table(&self) -> Option<&str> {
        match &self.place {
            Some(place) => Some(place.table.name()),
            None => self.abort.table.as_ref().map(|schema| schema.name()),
        }
    }

    /// The key (or gap, range or index entry) of the conflict as the table's users know it: `(order_id=10248,
    /// product_id=11)`.
    pub fn key(&self) -> Option<String> {
        let (schema, target) = match self.place.as_deref() {
            None => (self.abort.table.as_deref()?, &self.abort.target),
            Some(Place { table, at: At::Rows(target) }) => (&***table, target),
            Some(place @ Place { table, at: At::Entry(index, entry) }) => {
                return Some(format!("entry {} of index {}", EntryOf(table, *index, entry), place.index(*index)));
            }
        };
        Some(match target {
            Target::None => return None,
            Target::Key(key) => KeyOf(schema, key).to_string(),
            Target::Gap(key) => format!("the gap at {}", KeyOf(schema, key)),
            Target::Range(lower, upper) => {
                format!("{} to {}", BoundOf(schema, lower.as_ref()), BoundOf(schema, upper.as_ref()))
            }
        })
    }

    /// The key's encoded bytes, when the conflict is about one key.
    pub fn key_bytes(&self) -> Option<&[u8]> {
        match self.place.as_deref().map_or(Some(&self.abort.target), Place::rows) {
            Some(Target::Key(key)) => Some(key),
            _ => None,
        }
    }

    /// The transaction that was aborted.
    pub fn transaction(&self) -> TransactionId {
        self.abort.transaction
    }

    /// The transaction that it met, when that is known.
    pub fn other(&self) -> Option<TransactionId> {
        self.abort.other
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => self.abort.write(f, Some(&**place)),
            None => self.abort.fmt(f),
        }
    }
}

impl std::error::Error for Conflict {}

struct EntryOf<'a>(&'a Schema, u16, &'a [u8]);

impl fmt::Display for EntryOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write_entry(f, self.1, self.2)
    }
}

pub(crate) struct KeyOf<'a>(pub &'a model::Schema, pub &'a [u8]);

impl fmt::Display for KeyOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write_key(f, self.1)
    }
}

struct BoundOf<'a>(&'a model::Schema, std::ops::Bound<&'a model::Key>);

impl fmt::Display for BoundOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            std::ops::Bound::Unbounded => f.write_str("the end"),
            std::ops::Bound::Included(key) => KeyOf(self.0, key).fmt(f),
            std::ops::Bound::Excluded(key) => write!(f, "{} (excluded)", KeyOf(self.0, key)),
        }
    }
}

/// A transaction that met a conflict in every attempt.
#[derive(Clone, Debug)]
pub struct GaveUp {
    /// How often it was run.
    pub attempts: u32,
    /// For how long, back-off included.
    pub elapsed: Duration,
    /// What stood in the way of the last attempt.
    pub last: Conflict,
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gave up after {} attempts in {:?}; the last: {}", self.attempts, self.elapsed, self.last)
    }
}

/// A key, or an entry of a unique index, that is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate(Box<tables::Duplicate>);

impl Duplicate {
    /// The table.
    pub fn table(&self) -> &str {
        self.0.table.name()
    }

    /// The unique index; `None` for the primary key.
    pub fn index(&self) -> Option<&str> {
        let index = usize::from(self.0.index?);
        self.0.table.indexes().get(index).map(|index| index.name.as_str())
    }

    /// The taken key as the table's users know it: `(id=7)`; of a unique index its entry: `(reference='r7')`.
    pub fn key(&self) -> String {
        match self.0.index {
            None => KeyOf(&self.0.table, &self.0.key).to_string(),
            Some(index) => EntryOf(&self.0.table, index, &self.0.key).to_string(),
        }
    }

    /// Its encoded bytes.
    pub fn key_bytes(&self) -> &[u8] {
        &self.0.key
    }
}

impl fmt::Display for Duplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a committed transaction got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Its place in the one serial order of the database, `None` with an engine that claims none ([`crate::Engine`]). Increases
    /// with real time: a transaction that began after this one was acknowledged has a greater one.
    pub serial_point: Option<SerialPoint>,
    /// How often it was run before it committed: 1 without conflicts, and always for transactions that the caller began.
    pub attempts: u32,
}

/// The limit that a statement met, if that was it.
impl Error {
    /// Which limit was reached, if one was.
    pub fn limit(&self) -> Option<LimitKind> {
        if let Error::Limit(limit) = self { Some(limit.kind) } else { None }
    }
}
