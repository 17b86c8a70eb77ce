//! Sequences: numbers given outside transactions, never twice, also after a crash.
//!
//! Values come from a block whose end was made durable, by a small transaction of its own, before the first of them is given
//! (`numbers.rs` for what only counts up, `counter.rs` for users' sequences). A crash loses what remained of the block; a
//! clean stop gives it back. Processes that share a store draw from the same states, each its own blocks.

use crate::counter::Counter;
use crate::definition::{Oid, Relation, Sequence};
use crate::numbers::Numbers;
use crate::transact::{find, find_or_create, transact, transact_as, transact_unawaited};
use model::{Access, Begin, Durability, Key, LogPosition, Mode, Result, Scan, Store, TableId};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Name of the engine table of the states.
const SEQUENCES: &str = "sql sequences";
/// The first identifier of a user's object.
const FIRST_OID: u64 = 16_384;

/// A sequence, and which of its states: each RESTART begins another.
type CounterName = (Oid, u64);

/// Reason why there is no next number.
#[derive(Clone, Debug)]
pub enum Exhausted {
    /// The engine failed.
    Engine(model::Error),
    /// All numbers of a counter that only counts up are used.
    Numbers,
    /// A sequence would exceed its maximum, which is this.
    Above(i64),
    /// A sequence would fall below its minimum, which is this.
    Below(i64),
}

impl From<model::Error> for Exhausted {
    fn from(error: model::Error) -> Exhausted {
        Exhausted::Engine(error)
    }
}

/// The states of all sequences, the row numbers of tables without a primary key, the identifiers and versions of definitions.
pub struct Sequences {
    engine: Arc<dyn Store>,
    table: TableId,
    oids: Mutex<Numbers>,
    versions: Mutex<Numbers>,
    row_numbers: Mutex<HashMap<Oid, Arc<Mutex<Numbers>>>>,
    counters: Mutex<BTreeMap<CounterName, Arc<Mutex<Counter>>>>,
}

impl fmt::Debug for Sequences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sequences").field("table", &self.table).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Key of the state of a sequence: its identifier and how often it was restarted.
fn counter_key((oid, state): CounterName) -> Key {
    let mut key = Key::from_bytes(b"s");
    key.push_raw(&oid.to_be_bytes()).push_u64(state);
    key
}

/// Key of the row numbers of a table.
fn rows_key(table: Oid) -> Key {
    let mut key = Key::from_bytes(b"r");
    key.push_raw(&table.to_be_bytes());
    key
}

impl Sequences {
    /// Finds the states' engine table, or makes it.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn open(engine: Arc<dyn Store>) -> Result<Sequences> {
        let table = find_or_create(&*engine, SEQUENCES)?;
        Ok(Sequences {
            engine,
            table,
            oids: Mutex::new(Numbers::new(Key::from_bytes(b"oid"), FIRST_OID, 64)),
            versions: Mutex::new(Numbers::new(Key::from_bytes(b"version"), 1, 256)),
            row_numbers: Mutex::default(),
            counters: Mutex::default(),
        })
    }

    /// An identifier for a new object, never given before.
    ///
    /// # Errors
    /// [`Exhausted::Numbers`] when 32 bits are used up.
    pub fn fresh_oid(&self) -> std::result::Result<Oid, Exhausted> {
        let number = lock(&self.oids).next(&*self.engine, self.table)?;
        u32::try_from(number).map_err(|_| Exhausted::Numbers)
    }

    /// A number for a changed definition, never given before.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn fresh_version(&self) -> std::result::Result<u64, Exhausted> {
        lock(&self.versions).next(&*self.engine, self.table)
    }

    /// A row number for a table without a primary key, never given before.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn row_number(&self, table: Oid) -> std::result::Result<u64, Exhausted> {
        let numbers = {
            let mut all = lock(&self.row_numbers);
            all.entry(table).or_insert_with(|| Arc::new(Mutex::new(Numbers::new(rows_key(table), 1, 1024)))).clone()
        };
        lock(&numbers).next(&*self.engine, self.table)
    }

    fn counter<T>(&self, sequence: &Sequence<T>) -> Result<Arc<Mutex<Counter>>> {
        let name = (sequence.oid, sequence.state);
        let mut all = lock(&self.counters);
        if let Some(counter) = all.get(&name) {
            return Ok(counter.clone());
        }
        let counter = Counter::load(&*self.engine, self.table, counter_key(name), sequence.restart)?;
        Ok(all.entry(name).or_insert(Arc::new(Mutex::new(counter))).clone())
    }

    /// The next value of a sequence, by the definition that the caller's transaction sees; and what must be durable before
    /// anybody outside is told of it.
    ///
    /// # Errors
    /// [`Exhausted::Above`] or [`Exhausted::Below`] at its end.
    pub fn next_value<T>(&self, sequence: &Sequence<T>) -> std::result::Result<(i64, LogPosition), Exhausted> {
        let counter = self.counter(sequence)?;
        let mut counter = lock(&counter);
        let value = counter.next(sequence, &*self.engine, self.table)?;
        Ok((value, counter.rests_on()))
    }

    /// Sets the last value of a sequence, and whether it was given. Returns what must be durable before anybody outside is told.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn set_value<T>(&self, sequence: &Sequence<T>, value: i64, is_called: bool) -> Result<LogPosition> {
        let counter = self.counter(sequence)?;
        let mut counter = lock(&counter);
        counter.set(value, is_called, &*self.engine, self.table)?;
        Ok(counter.rests_on())
    }

    /// The last value of a sequence, whether it was returned, and the log position that must be durable before it is disclosed.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn state<T>(&self, sequence: &Sequence<T>) -> Result<((i64, bool), LogPosition)> {
        let counter = self.counter(sequence)?;
        let counter = lock(&counter);
        Ok((counter.state(), counter.rests_on()))
    }

    /// Forgets the states of a relation that its definition does not name: all, or those of a sequence but for `kept`. Returns their keys.
    /// Whoever still draws by an earlier definition goes on behind what is stored.
    pub(crate) fn forget(&self, relation: Oid, kept: Option<u64>) -> Vec<Key> {
        let mut keys = Vec::new();
        if kept.is_none() && lock(&self.row_numbers).remove(&relation).is_some() {
            keys.push(rows_key(relation));
        }
        let mut counters = lock(&self.counters);
        let known = counters.range((relation, 0)..=(relation, u64::MAX)).map(|(name, _)| *name);
        let gone: Vec<CounterName> = known.filter(|(_, state)| Some(*state) != kept).collect();
        for name in gone {
            counters.remove(&name);
            keys.push(counter_key(name));
        }
        keys
    }

    /// Removes stored states from which nobody will draw again. What a failure leaves goes when the database is opened next.
    pub(crate) fn remove(&self, keys: &[Key]) {
        if !keys.is_empty() {
            let _ = transact_unawaited(&*self.engine, Mode::ReadWrite, |access| {
                keys.iter().try_for_each(|key| access.delete(self.table, key).map(drop))
            });
        }
    }

    /// Gives back what remains of the blocks.
    fn give_back(&self, access: &mut dyn Access) -> Result<()> {
        lock(&self.oids).give_back(access, self.table)?;
        lock(&self.versions).give_back(access, self.table)?;
        for numbers in lock(&self.row_numbers).values() {
            lock(numbers).give_back(access, self.table)?;
        }
        let counters = lock(&self.counters);
        counters.values().try_for_each(|counter| lock(counter).give_back(access, self.table))
    }
}

impl Drop for Sequences {
    /// A clean stop gives back what remained of the blocks. If that fails, the numbers in between are lost as after a crash,
    /// which does no harm.
    fn drop(&mut self) {
        // The log is closed next, and makes it durable. A disk that does not return must not keep the server from stopping.
        let how = Begin { durability: Some(Durability::Async), ..Begin::default() };
        let _ = transact_as(&*self.engine, how, |access| self.give_back(access));
    }
}

/// Removes the states of sequences and tables that are not among these relations. Before anybody uses the database.
pub(crate) fn forget_all_but<T, M>(engine: &dyn Store, relations: &[Relation<T, M>]) -> Result<()> {
    let Some(table) = find(engine, SEQUENCES) else { return Ok(()) };
    let kept: HashSet<Key> = relations
        .iter()
        .filter_map(|relation| match relation {
            Relation::Sequence(sequence) => Some(counter_key((sequence.oid, sequence.state))),
            Relation::Table(table) => Some(rows_key(table.oid)),
            Relation::Index(_) | Relation::View(_) => None,
        })
        .collect();
    transact(engine, Mode::ReadWrite, |access| {
        let mut gone = Vec::new();
        for prefix in [b"r", b"s"] {
            access.scan(&Scan::table(table).prefix(Key::from_bytes(prefix)), &mut |item| {
                let key = Key::from_bytes(item.key);
                if !kept.contains(&key) {
                    gone.push(key);
                }
                ControlFlow::Continue(())
            })?;
        }
        gone.iter().try_for_each(|key| access.delete(table, key).map(drop))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mvto::{Mvto, Options};

    fn stored(sequences: &Sequences) -> usize {
        let rows = transact(&*sequences.engine, Mode::ReadOnly, |access| {
            let mut rows = 0;
            access.scan(&Scan::table(sequences.table), &mut |_| {
                rows += 1;
                ControlFlow::Continue(())
            })?;
            Ok(rows)
        });
        rows.expect("an engine in memory")
    }

    fn sequence(oid: Oid, state: u64) -> Sequence<()> {
        let (min, max, start) = (1, i64::MAX, 1);
        Sequence {
            oid,
            schema: String::new(),
            name: String::new(),
            data_type: (),
            start,
            increment: 1,
            min,
            max,
            cycle: false,
            cache: 1,
            owned_by: None,
            state,
            restart: start,
            comment: None,
        }
    }

    /// In the maps nothing is left of what is forgotten, and in the table nothing of what is removed, too.
    #[test]
    fn forgotten_states_are_drawn_from_again_where_they_are_stored() {
        let engine = Mvto::in_memory(Options::default()).expect("an engine in memory");
        let sequences = Sequences::open(Arc::new(model::Engine(Arc::new(engine)))).expect("an engine in memory");
        let draw = |oid, state| sequences.next_value(&sequence(oid, state)).expect("a number").0;
        assert_eq!([draw(7, 0), draw(7, 4), draw(7, 9), draw(8, 0), draw(6, u64::MAX)], [1; 5]);
        sequences.row_number(7).expect("a number");
        let known = || (lock(&sequences.counters).len(), lock(&sequences.row_numbers).len());
        assert_eq!((known(), stored(&sequences)), ((5, 1), 6));

        let restarted = sequences.forget(7, Some(9));
        assert_eq!((restarted.len(), known(), stored(&sequences)), (2, (3, 1), 6));
        assert!(draw(7, 4) > 32, "behind the block that was forgotten");
        sequences.remove(&restarted);
        assert_eq!(stored(&sequences), 4);

        let dropped = sequences.forget(7, None);
        assert_eq!((dropped.len(), known()), (3, (2, 0)));
        sequences.remove(&dropped);
        assert_eq!(stored(&sequences), 2);
        assert_eq!([draw(8, 0), draw(6, u64::MAX)], [2; 2]);
    }
}
