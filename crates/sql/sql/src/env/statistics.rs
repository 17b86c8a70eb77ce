//! Counts of what sessions have done since the server started, for `pg_stat_*`.
//!
//! A session counts for itself, and adds its counts to its entry in the registry when a transaction ends: no counter is
//! shared by sessions that run. Whoever asks adds up the entries, and what the sessions that have ended left behind.

use std::collections::HashMap;
use std::ops::AddAssign;

/// Relations that are counted, at most: temporary ones come and go.
const MOST_RELATIONS: usize = 100_000;

/// What was done with a relation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelationCounts {
    /// Scans of a table from one end to the other, or searches of an index.
    pub scans: u64,
    /// Rows inserted, whether committed or not.
    pub inserted: u64,
    /// Rows updated.
    pub updated: u64,
    /// Rows deleted.
    pub deleted: u64,
}

impl AddAssign for RelationCounts {
    fn add_assign(&mut self, other: RelationCounts) {
        self.scans += other.scans;
        self.inserted += other.inserted;
        self.updated += other.updated;
        self.deleted += other.deleted;
    }
}

/// What became of transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionCounts {
    /// Committed.
    pub commits: u64,
    /// Rolled back, except those that the server has repeated.
    pub rollbacks: u64,
    /// Statements that were chosen to end a deadlock.
    pub deadlocks: u64,
}

impl AddAssign for TransactionCounts {
    fn add_assign(&mut self, other: TransactionCounts) {
        self.commits += other.commits;
        self.rollbacks += other.rollbacks;
        self.deadlocks += other.deadlocks;
    }
}

/// Counts of one session since its last transaction: few relations, in a list.
#[derive(Debug, Default)]
pub struct RunningCounts {
    /// Transactions.
    pub transactions: TransactionCounts,
    relations: Vec<(u32, RelationCounts)>,
}

impl RunningCounts {
    /// The counts of a relation.
    pub fn of(&mut self, relation: u32) -> &mut RelationCounts {
        let at = self.relations.iter().position(|(known, _)| *known == relation).unwrap_or_else(|| {
            self.relations.push((relation, RelationCounts::default()));
            self.relations.len() - 1
        });
        &mut self.relations[at].1
    }

    /// Forgets an attempt that the server repeats.
    pub fn clear(&mut self) {
        self.transactions = TransactionCounts::default();
        self.relations.clear();
    }
}

/// Sums.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Of transactions.
    pub transactions: TransactionCounts,
    /// Of relations, by their identifiers.
    pub relations: HashMap<u32, RelationCounts>,
    /// Of the sessions' time.
    pub times: Times,
}

impl Totals {
    /// Adds a session's counts, and clears them.
    pub fn take(&mut self, counts: &mut RunningCounts) {
        self.transactions += counts.transactions;
        for (relation, of) in counts.relations.drain(..) {
            self.add(relation, of);
        }
        counts.transactions = TransactionCounts::default();
    }

    /// Adds other sums.
    pub fn add_all(&mut self, other: &Totals) {
        self.transactions += other.transactions;
        self.times += other.times;
        for (relation, of) in &other.relations {
            self.add(*relation, *of);
        }
    }

    fn add(&mut self, relation: u32, of: RelationCounts) {
        if self.relations.len() < MOST_RELATIONS || self.relations.contains_key(&relation) {
            *self.relations.entry(relation).or_default() += of;
        }
    }
}

/// Microseconds that sessions were connected, ran statements, and were idle in a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Connected.
    pub connected: i64,
    /// Running a statement.
    pub active: i64,
    /// Idle in a transaction.
    pub idle_in_transaction: i64,
}

impl AddAssign for Times {
    fn add_assign(&mut self, other: Times) {
        self.connected += other.connected;
        self.active += other.active;
        self.idle_in_transaction += other.idle_in_transaction;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_a_session_are_added_once() {
        let (mut totals, mut counts) = (Totals::default(), RunningCounts::default());
        counts.of(7).inserted += 2;
        counts.of(8).scans += 1;
        counts.of(7).updated += 1;
        counts.transactions.commits += 1;
        totals.take(&mut counts);
        totals.take(&mut counts);
        assert_eq!(totals.relations[&7], RelationCounts { inserted: 2, updated: 1, ..RelationCounts::default() });
        assert_eq!((totals.relations[&8].scans, totals.transactions.commits), (1, 1));
    }

    #[test]
    fn the_number_of_relations_is_bounded() {
        let (mut totals, mut counts) = (Totals::default(), RunningCounts::default());
        for relation in 0..MOST_RELATIONS as u32 + 10 {
            counts.relations.push((relation, RelationCounts { inserted: 1, ..RelationCounts::default() }));
        }
        totals.take(&mut counts);
        counts.of(3).inserted += 1;
        totals.take(&mut counts);
        assert_eq!((totals.relations.len(), totals.relations[&3].inserted), (MOST_RELATIONS, 2));
    }
}
