//! What a store has to have.

use model::{Abort, AbortClass, Direction, Error, Fault, Result, Target, Timestamp};
use std::fmt::Display;
use std::ops::{Bound, ControlFlow};
use std::path::Path;

/// A store with some tables.
pub trait Store: Send + Sync + Sized + 'static {
    /// Opens an empty store in a directory that is there. `is_durable`: commits must be on the disk before they return.
    fn open(directory: &Path, tables: usize, is_durable: bool) -> Result<Self>;

    /// Runs `body` once in a transaction, and commits if it says so.
    ///
    /// # Errors
    /// Those of beginning and committing. Of the operations, `body` keeps them.
    fn transact(&self, reads_only: bool, body: &mut impl Body) -> Result<()>;
}

/// The body of a transaction.
pub trait Body {
    /// Returns whether to commit.
    fn run(&mut self, transaction: &mut impl Transaction) -> bool;
}

/// What a read is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// To read.
    Read,
    /// To write the key afterwards.
    Write,
}

/// A range of keys.
#[derive(Clone, Copy, Debug)]
pub struct Range<'a> {
    /// Where it begins.
    pub lower: Bound<&'a [u8]>,
    /// Where it ends.
    pub upper: Bound<&'a [u8]>,
    /// Which end comes first.
    pub direction: Direction,
}

/// Shows a key with its row; says whether to go on.
pub type Visit<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>;

/// A transaction. Tables are numbered from zero.
pub trait Transaction {
    /// Refills `row`; `false` if there is none.
    fn get(&mut self, table: usize, key: &[u8], intent: Intent, row: &mut Vec<u8>) -> Result<bool>;

    /// Writes a row, whether or not there is one.
    fn put(&mut self, table: usize, key: &[u8], row: &[u8]) -> Result<()>;

    /// Removes a row, if there is one.
    fn delete(&mut self, table: usize, key: &[u8]) -> Result<()>;

    /// Shows the rows of a range, in order.
    fn scan(&mut self, table: usize, range: Range<'_>, visit: Visit<'_>) -> Result<()>;
}

/// The store has failed.
pub fn fault(error: impl Display) -> Error {
    Fault::Disk { detail: error.to_string() }.into()
}

/// The store gave the transaction up for another's sake.
pub fn conflict(rule: &'static str) -> Error {
    let explanation = "the store gave up the transaction for another one's sake";
    let (table, target, transaction, other) = (None, Target::None, Timestamp::ZERO, None);
    Abort { class: AbortClass::ReadWrite, rule, explanation, table, target, transaction, other, met: None }.into()
}
