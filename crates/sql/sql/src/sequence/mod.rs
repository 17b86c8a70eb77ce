//! Sequences: numbers handed out outside transactions, never twice, a crash notwithstanding.
//!
//! Values come from a block whose end was made durable, by a small transaction of its own, before the first of them left
//! (`numbers.rs` for what only counts up, `counter.rs` for users' sequences). A crash loses what remained of the block; a
//! clean stop gives it back.

mod counter;
mod numbers;

use crate::definition::{Relation, Sequence};
use crate::error::{Result, SqlError, state as sqlstate};
use crate::store::{Store, independently, independently_as};
use counter::Counter;
use model::{Begin, Durability, Key, Mode, RowRef, Schema, TableId};
use numbers::Numbers;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The engine table of the states.
const SEQUENCES: &str = "sql sequences";
/// The first identifier of a user's object.
const FIRST_OID: u64 = 16_384;

/// A sequence, and which of its states: each RESTART begins another.
type CounterName = (u32, u64);

/// The state of all sequences, and of the row numbers of tables without a primary key.
pub struct Sequences {
    store: Arc<dyn Store>,
    table: TableId,
    oids: Mutex<Numbers>,
    versions: Mutex<Numbers>,
    row_numbers: Mutex<HashMap<u32, Arc<Mutex<Numbers>>>>,
    counters: Mutex<HashMap<CounterName, Arc<Mutex<Counter>>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state of a sequence: by its identifier and how often it was restarted.
fn counter_key(oid: u32, state: u64) -> Key {
    let mut key = Key::from_bytes(b"s");
    key.push_raw(&oid.to_be_bytes()).push_u64(state);
    key
}

/// The row numbers of a table.
fn rows_key(table: u32) -> Key {
    let mut key = Key::from_bytes(b"r");
    key.push_raw(&table.to_be_bytes());
    key
}

impl Sequences {
    /// Finds the state's engine table, or makes it.
    ///
    /// # Errors
    /// The engine's.
    pub fn open(store: &Arc<dyn Store>) -> Result<Sequences> {
        let table = match find(store) {
            Some(id) => id,
            None => store.create_table(Schema::bytes(SEQUENCES).build().map_err(model::Error::from)?)?,
        };
        Ok(Sequences {
            store: store.clone(),
            table,
            oids: Mutex::new(Numbers::load(&**store, table, Key::from_bytes(b"oid"), FIRST_OID, 64)?),
            versions: Mutex::new(Numbers::load(&**store, table, Key::from_bytes(b"version"), 1, 256)?),
            row_numbers: Mutex::default(),
            counters: Mutex::default(),
        })
    }

    /// An identifier for a new object, never given before.
    ///
    /// # Errors
    /// 54000 when 32 bits are used up, the engine's.
    pub(crate) fn fresh_oid(&self) -> Result<u32> {
        let number = lock(&self.oids).next(&*self.store, self.table)?;
        let exhausted = || SqlError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, "all object identifiers are used up");
        u32::try_from(number).map_err(|_| exhausted())
    }

    /// A number for a changed definition, never given before.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn fresh_version(&self) -> Result<u64> {
        lock(&self.versions).next(&*self.store, self.table)
    }

    /// The next value of a sequence.
    ///
    /// # Errors
    /// 2200H at its end, the engine's.
    pub(crate) fn next(&self, sequence: &Sequence) -> Result<i64> {
        lock(&*self.counter(sequence)?).next(sequence, &*self.store, self.table)
    }

    /// Sets the value of a sequence, and whether it counts as given.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn set(&self, sequence: &Sequence, value: i64, is_called: bool) -> Result<()> {
        lock(&*self.counter(sequence)?).set(value, is_called, &*self.store, self.table)
    }

    /// The last value of a sequence, and whether it was given.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn state(&self, sequence: &Sequence) -> Result<(i64, bool)> {
        Ok(lock(&*self.counter(sequence)?).state())
    }

    /// A row number for a table without a primary key, never given before.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn row_number(&self, table: u32) -> Result<u64> {
        let numbers = {
            let mut all = lock(&self.row_numbers);
            match all.get(&table) {
                Some(numbers) => numbers.clone(),
                None => {
                    let numbers = Numbers::load(&*self.store, self.table, rows_key(table), 1, 1024)?;
                    all.entry(table).or_insert(Arc::new(Mutex::new(numbers))).clone()
                }
            }
        };
        let mut numbers = lock(&numbers);
        numbers.next(&*self.store, self.table)
    }

    fn counter(&self, sequence: &Sequence) -> Result<Arc<Mutex<Counter>>> {
        let name = (sequence.oid, sequence.state);
        let mut all = lock(&self.counters);
        if let Some(counter) = all.get(&name) {
            return Ok(counter.clone());
        }
        let counter = Counter::load(&*self.store, self.table, counter_key(name.0, name.1), sequence.restart)?;
        Ok(all.entry(name).or_insert(Arc::new(Mutex::new(counter))).clone())
    }
}

impl Drop for Sequences {
    /// A clean stop gives back what remained of the blocks.
    fn drop(&mut self) {
        let mut rows = vec![lock(&self.oids).exact(), lock(&self.versions).exact()];
        rows.extend(lock(&self.row_numbers).values().map(|numbers| lock(numbers).exact()));
        rows.extend(lock(&self.counters).values().map(|counter| lock(counter).exact()));
        // The log is closed next, and makes it durable. A disk that does not return must not keep the server from stopping.
        let how = Begin { durability: Some(Durability::Async), ..Begin::default() };
        let written = independently_as(&*self.store, how, |transaction| {
            for (key, row) in rows.iter().flatten() {
                transaction.put(self.table, key, RowRef::new(row))?;
            }
            Ok(())
        });
        // If it failed, the numbers in between are lost as after a crash, which is no harm.
        drop(written);
    }
}

fn find(store: &Arc<dyn Store>) -> Option<TableId> {
    store.tables().into_iter().find(|(_, schema)| schema.name() == SEQUENCES).map(|(id, _)| id)
}

/// Removes the states of sequences and tables that are not among these relations. Before anybody uses the database.
pub(crate) fn forget_all_but(store: &Arc<dyn Store>, relations: &[Relation]) -> Result<()> {
    let Some(table) = find(store) else { return Ok(()) };
    let kept: HashSet<Key> = relations
        .iter()
        .filter_map(|relation| match relation {
            Relation::Sequence(sequence) => Some(counter_key(sequence.oid, sequence.state)),
            Relation::Table(table) => Some(rows_key(table.oid)),
            Relation::Index(_) | Relation::View(_) => None,
        })
        .collect();
    independently(&**store, Mode::ReadWrite, |transaction| {
        let mut gone = Vec::new();
        for prefix in [b"r", b"s"] {
            let scan = model::Scan::table(table).prefix(Key::from_bytes(prefix));
            transaction.scan(&scan, &mut |item| {
                let key = Key::from_bytes(item.key);
                if !kept.contains(&key) {
                    gone.push(key);
                }
                std::ops::ControlFlow::Continue(())
            })?;
        }
        for key in &gone {
            transaction.delete(table, key)?;
        }
        Ok(())
    })
}
