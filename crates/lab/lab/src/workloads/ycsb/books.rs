//! Books of YCSB's clients, and the audit against them.

use super::{Layout, Seen};
use crate::workloads::StampedBytes;
use crate::workloads::audit::{Audit, LastWrites, LastWritesAudit, expect};
use model::{Key, RowRef};

/// What a client's committed transactions did.
#[derive(Clone, Debug, Default)]
pub struct Books {
    increments: u64,
    last_writes: LastWrites,
}

impl Books {
    /// Enters a committed transaction.
    ///
    /// # Errors
    /// It found something else than was there.
    pub(super) fn enter(&mut self, seen: Seen) -> Result<(), String> {
        let Seen { missing, damaged, increments, followed } = seen;
        if missing > 0 || damaged > 0 {
            return Err(format!(
                "{missing} loaded keys were missing and {damaged} rows were damaged in one transaction"
            ));
        }
        self.increments += increments;
        followed.iter().for_each(|&(key, stamp)| self.last_writes.note(key, stamp));
        Ok(())
    }
}

/// The audit of YCSB.
#[derive(Debug)]
pub struct YcsbAudit {
    layout: Layout,
    records: u64,
    increments: u64,
    last_writes: LastWritesAudit,
    seen_records: u64,
    seen_count: u64,
}

impl YcsbAudit {
    pub(super) fn new<'a>(records: u64, layout: Layout, books: impl Iterator<Item = &'a Books> + Clone) -> YcsbAudit {
        YcsbAudit {
            layout,
            records,
            increments: books.clone().map(|books| books.increments).sum(),
            last_writes: LastWritesAudit::new(books.map(|books| &books.last_writes)),
            seen_records: 0,
            seen_count: 0,
        }
    }
}

impl Audit for YcsbAudit {
    fn see(&mut self, _: usize, key: &[u8], row: RowRef<'_>) -> Result<(), String> {
        let key = Key::to_u64(key).filter(|key| *key < self.records).ok_or("a key that was never loaded")?;
        let damaged = || format!("key {key} holds a row that no single write has left");
        let (count, stamped) = self.layout.split(row.bytes()).ok_or_else(damaged)?;
        self.seen_records += 1;
        self.seen_count += count;
        if self.layout.has_stamp() {
            self.last_writes.check(key, StampedBytes::stamp_of(stamped).ok_or_else(damaged)?)?;
        }
        Ok(())
    }

    fn finish(self) -> Result<(), String> {
        expect("records", self.seen_records, self.records)?;
        expect("read-modify-writes counted in the rows", self.seen_count, self.increments)
    }
}
