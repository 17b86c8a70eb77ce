//! Keys whose check waits for COMMIT.

use crate::definition::Oid;
use crate::error::Result;
use crate::memory::Memory;
use crate::types::{Row, row_bytes};
use std::collections::HashMap;
use std::sync::Arc;

/// Deferred checks of a transaction, and the modes set by SET CONSTRAINTS.
///
/// A check consists of the values to verify, and reads the tables again when it runs. Checks of statements that were rolled
/// back are therefore harmless: they find no violation. A savepoint keeps a copy, of pointers.
#[derive(Debug, Default)]
pub struct Deferred {
    pub(crate) checks: Vec<Arc<Check>>,
    /// Memory of the checks, in the sum of all statements; `None` in a savepoint's copy.
    pub(crate) memory: Option<Memory>,
    /// SET CONSTRAINTS ALL.
    pub(crate) all: Option<bool>,
    /// SET CONSTRAINTS of single constraints, after ALL.
    pub(crate) named: HashMap<Oid, bool>,
}

/// A deferred check.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) table: Oid,
    pub(crate) constraint: Oid,
    pub(crate) side: Side,
    pub(crate) values: Row,
}

impl Check {
    /// Approximate bytes that it holds: itself, its counters, and a pointer to it.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Check>() + 3 * size_of::<usize>() + row_bytes(&self.values)
    }
}

/// When a constraint is checked, as its definition says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) constraint: Oid,
    pub(crate) deferrable: bool,
    pub(crate) initially_deferred: bool,
}

/// What requires a check: a side of a foreign key, or a deferrable key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// A row refers to these values.
    Reference,
    /// A row with these values was removed.
    Departure,
    /// Several rows had these values.
    Unique,
}

impl Clone for Deferred {
    fn clone(&self) -> Deferred {
        Deferred { checks: self.checks.clone(), memory: None, all: self.all, named: self.named.clone() }
    }
}

impl Deferred {
    /// Restores a savepoint's copy.
    pub(crate) fn back_to(&mut self, before: &Deferred) {
        let memory = self.memory.take();
        *self = Deferred { memory, ..before.clone() };
        self.give_back();
    }

    /// Keeps a check until COMMIT; `memory` makes the account of all that wait. `false` if they would exceed its limit.
    ///
    /// # Errors
    /// 53200 beyond the budget.
    pub(crate) fn defer_check(&mut self, check: Check, memory: impl FnOnce() -> Memory) -> Result<bool> {
        let memory = self.memory.get_or_insert_with(memory);
        if memory.used() + check.bytes() > memory.limit() {
            return Ok(false);
        }
        memory.take(check.bytes())?;
        self.checks.push(Arc::new(check));
        Ok(true)
    }

    /// Releases the memory of checks that are gone.
    pub(crate) fn give_back(&mut self) {
        let bytes = self.checks.iter().map(|check| check.bytes()).sum();
        self.memory.iter_mut().for_each(|memory| memory.back_to(bytes));
    }

    /// Returns whether this constraint is checked at COMMIT.
    pub(crate) fn holds(&self, timing: Timing) -> bool {
        let said = self.named.get(&timing.constraint).copied().or(self.all);
        timing.deferrable && said.unwrap_or(timing.initially_deferred)
    }
}
