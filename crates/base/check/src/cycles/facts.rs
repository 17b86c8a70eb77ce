//! Transactions that took effect, and the versions that each of them left.

use crate::history::{Event, History, KeyId, Status, Transaction, ValueId};

/// One write of a value, of whatever transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    pub(super) key: KeyId,
    pub(super) value: ValueId,
    pub(super) transaction: u32,
    /// False when its transaction wrote the key again later.
    pub(super) is_last: bool,
    pub(super) version: Option<u64>,
}

/// Version of a key that a transaction left behind. For a list, its last append.
#[derive(Clone, Copy, Debug)]
pub(super) struct Install {
    pub(super) key: KeyId,
    pub(super) transaction: u32,
    /// `None` for a delete.
    pub(super) value: Option<ValueId>,
    pub(super) version: Option<u64>,
}

/// Items grouped by key, in their former order within each.
#[derive(Debug)]
pub(super) struct ByKey<T> {
    items: Vec<T>,
    starts: Vec<usize>,
}

impl<T: Copy> ByKey<T> {
    pub(super) fn new(keys: usize, items: &[T], key: impl Fn(&T) -> KeyId) -> Self {
        let mut starts = vec![0; keys + 1];
        for item in items {
            starts[key(item).index() + 1] += 1;
        }
        for key in 0..keys {
            starts[key + 1] += starts[key];
        }
        let mut free = starts.clone();
        let mut grouped = items.to_vec();
        for item in items {
            let place = &mut free[key(item).index()];
            grouped[*place] = *item;
            *place += 1;
        }
        ByKey { items: grouped, starts }
    }

    pub(super) fn of(&self, key: KeyId) -> &[T] {
        &self.items[self.starts[key.index()]..self.starts[key.index() + 1]]
    }
}

/// Writes of the history.
pub(super) struct Facts<'a> {
    pub(super) history: &'a History,
    /// By transaction: committed, or of unknown outcome but read by one that took effect.
    pub(super) took_effect: Vec<bool>,
    /// All writes of values, also of transactions without effect; those of a key ordered by value.
    writes: ByKey<Write>,
    /// The versions that transactions with effect left behind; those of a key ordered by transaction.
    pub(super) installs: ByKey<Install>,
    /// By key: whether a transaction of unknown outcome may have deleted it unseen.
    pub(super) doubtful: Vec<bool>,
    /// By key: whether it is a list.
    pub(super) lists: Vec<bool>,
}

impl<'a> Facts<'a> {
    pub(super) fn gather(history: &'a History) -> Self {
        let keys = history.key_count();
        let Written { mut writes, installs, lists } = collect_writes(history);
        writes.sort_unstable_by_key(|write| (write.key, write.value));
        let mut facts = Facts {
            history,
            took_effect: committed(history),
            writes: ByKey::new(keys, &writes, |write| write.key),
            installs: ByKey::new(keys, &[], |install: &Install| install.key),
            doubtful: vec![false; keys],
            lists,
        };
        facts.spread_effect();
        let (effective, unseen): (Vec<Install>, Vec<Install>) =
            installs.into_iter().partition(|install| facts.took_effect[install.transaction as usize]);
        for install in unseen.iter().filter(|install| install.value.is_none()) {
            let status = facts.transaction(install.transaction).status;
            facts.doubtful[install.key.index()] |= status == Status::Unknown;
        }
        facts.installs = ByKey::new(keys, &effective, |install| install.key);
        facts
    }

    pub(super) fn transaction(&self, index: u32) -> &'a Transaction {
        &self.history.transactions()[index as usize]
    }

    /// The only write of this value to this key.
    pub(super) fn write_of(&self, key: KeyId, value: ValueId) -> Option<&Write> {
        let writes = self.writes.of(key);
        let place = writes.binary_search_by_key(&value, |write| write.value);
        place.ok().map(|place| &writes[place])
    }

    /// The indexes of the transactions that took effect.
    pub(super) fn effective(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.took_effect.len() as u32).filter(|&index| self.took_effect[index as usize])
    }

    /// Transactions of unknown outcome took effect when one that did read a value of theirs, and so on.
    fn spread_effect(&mut self) {
        let transactions = self.history.transactions();
        if transactions.iter().all(|t| t.status != Status::Unknown) {
            return;
        }
        let mut pending: Vec<u32> = self.effective().collect();
        while let Some(reader) = pending.pop() {
            for event in self.history.events(self.transaction(reader)) {
                let before = pending.len();
                self.add_sources(event, &mut pending);
                for &source in &pending[before..] {
                    self.took_effect[source as usize] = true;
                }
            }
        }
    }

    /// Adds the transactions of unknown outcome, not known to have taken effect, that an event read values of.
    fn add_sources(&self, event: &Event, sources: &mut Vec<u32>) {
        let mut see = |key, value| {
            let Some(write) = self.write_of(key, value) else {
                return;
            };
            let unknown = self.transaction(write.transaction).status == Status::Unknown;
            let known = self.took_effect[write.transaction as usize];
            if unknown && !known && sources.last() != Some(&write.transaction) {
                sources.push(write.transaction);
            }
        };
        match *event {
            Event::Read { key, value: Some(value), .. } => see(key, value),
            Event::ReadList { key, elements } => {
                let elements = self.history.elements(elements).iter();
                elements.for_each(|&value| see(key, value));
            }
            Event::Scan { entries, .. } => {
                let entries = self.history.entries(entries).iter();
                entries.for_each(|&(key, value)| see(key, value));
            }
            _ => {}
        }
    }
}

fn committed(history: &History) -> Vec<bool> {
    let transactions = history.transactions().iter();
    transactions.map(|transaction| transaction.status == Status::Committed).collect()
}

struct Written {
    writes: Vec<Write>,
    /// The last write or delete of each transaction on each key.
    installs: Vec<Install>,
    lists: Vec<bool>,
}

fn collect_writes(history: &History) -> Written {
    let mut written = Written { writes: Vec::new(), installs: Vec::new(), lists: vec![false; history.key_count()] };
    // By key: the last transaction, from 1, that was found to write it.
    let mut seen = vec![0; history.key_count()];
    for (index, transaction) in history.transactions().iter().enumerate() {
        let index = index as u32;
        for event in history.events(transaction).iter().rev() {
            let (key, value, version) = match *event {
                Event::Append { key, value } => (key, Some(value), None),
                Event::Write { key, value, version } => (key, Some(value), version),
                Event::Delete { key, version } => (key, None, version),
                Event::ReadList { key, .. } => {
                    written.lists[key.index()] = true;
                    continue;
                }
                Event::Read { .. } | Event::Scan { .. } => continue,
            };
            written.lists[key.index()] |= matches!(event, Event::Append { .. });
            let is_last = seen[key.index()] != index + 1;
            seen[key.index()] = index + 1;
            if is_last {
                written.installs.push(Install { key, transaction: index, value, version });
            }
            if let Some(value) = value {
                written.writes.push(Write { key, value, transaction: index, is_last, version });
            }
        }
    }
    written
}
