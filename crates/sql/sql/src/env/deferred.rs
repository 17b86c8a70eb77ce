//! Foreign keys whose check waits for COMMIT.

use crate::definition::{ForeignKey, Oid};
use crate::types::Row;
use std::collections::HashMap;
use std::sync::Arc;

/// The checks that a transaction has put off, and what SET CONSTRAINTS said.
///
/// A check is kept as the values that it is about, and asks the tables anew when its time comes. So those of statements
/// that were rolled back do no harm: they find everything in order. A savepoint keeps a copy, of pointers.
#[derive(Clone, Debug, Default)]
pub struct Deferred {
    pub(crate) checks: Vec<Arc<Check>>,
    pub(crate) bytes: usize,
    /// SET CONSTRAINTS ALL.
    pub(crate) all: Option<bool>,
    /// SET CONSTRAINTS of one, after ALL.
    pub(crate) named: HashMap<Oid, bool>,
}

/// A check that waits.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) child: Oid,
    pub(crate) constraint: Oid,
    pub(crate) side: Side,
    pub(crate) values: Row,
}

/// From which side a foreign key was put in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// A row refers to these values.
    Reference,
    /// A row with these values went.
    Departure,
}

impl Deferred {
    /// Whether this constraint is checked at COMMIT.
    pub(crate) fn holds(&self, key: &ForeignKey) -> bool {
        let said = self.named.get(&key.oid).copied().or(self.all);
        key.deferrable && said.unwrap_or(key.initially_deferred)
    }
}
