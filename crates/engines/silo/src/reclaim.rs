//! Reclamation by the makers of garbage: a transaction that replaced a row which snapshots may need, or left a record
//! without a row, leaves the record in a list of its shelf, and those that end there later look after it when no
//! snapshot needs it any more.

use crate::Silo;
use crate::epochs::Epochs;
use crate::record::RecordRef;
use crate::store::{Table, TableRef};
use model::Schema;
use parts::epoch;
use parts::sync::atomic::Ordering::SeqCst;
use parts::sync::fence;
use std::collections::VecDeque;
use std::sync::Arc;

/// Records that one transaction looks after at its end, beside twice as many as it has made: so the lists end.
const AT_ONCE: usize = 4;

/// A record to look after once snapshots read above an epoch.
pub(crate) struct Garbage {
    record: RecordRef,
    table: Arc<Table>,
    epoch: u64,
}

impl std::fmt::Debug for Garbage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let schema: &Schema = &self.table.schema;
        write!(f, "garbage of table {} until epoch {}", schema.name(), self.epoch)
    }
}

/// What the transactions of one shelf have left.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    /// Records whose versions to give up, to take out of their index then if they have no row, when no snapshot reads below
    /// the epoch.
    garbage: VecDeque<Garbage>,
    /// Records without a row and without a version, to take out when the epoch has ended (S10).
    absent: VecDeque<Garbage>,
    /// Records that are out of their index, with the epoch of that, to be freed.
    dead: VecDeque<(u64, RecordRef)>,
}

/// Notes a record, unless a list has it (S9).
pub(crate) fn look_after(made: &mut Vec<Garbage>, record: RecordRef, table: TableRef, epoch: u64) {
    if record.enter_queue() {
        made.push(Garbage { record, table: table.counted(), epoch });
    }
}

impl Lists {
    /// Takes over what a transaction has made, and looks after more than that.
    pub fn tend(&mut self, made: &mut Vec<Garbage>, epochs: &Epochs) {
        if !(made.is_empty() && self.len() == 0) {
            let most = 2 * made.len() + AT_ONCE;
            made.drain(..).for_each(|garbage| self.take(garbage));
            self.reclaim(epochs, most);
        }
    }

    /// Returns the number of records that wait.
    pub fn len(&self) -> usize {
        self.garbage.len() + self.absent.len() + self.dead.len()
    }

    fn take(&mut self, garbage: Garbage) {
        // Nobody has replaced its row since, or the record is looked at once too early, and comes back.
        let list = if garbage.record.has_no_versions() { &mut self.absent } else { &mut self.garbage };
        list.push_back(garbage);
    }

    /// Looks after a few records that are due, and frees a few. Returns how many left the lists.
    pub fn reclaim(&mut self, epochs: &Epochs, most: usize) -> usize {
        let mut done = 0;
        let oldest = epochs.oldest();
        while done < most && self.garbage.front().is_some_and(|garbage| garbage.epoch <= oldest) {
            let garbage = self.garbage.pop_front().expect("just seen");
            done += 1;
            self.look_at(garbage, epochs, oldest);
        }
        let present = epochs.now();
        while done < most && self.absent.front().is_some_and(|garbage| garbage.epoch < present) {
            let garbage = self.absent.pop_front().expect("just seen");
            done += 1;
            self.look_at(garbage, epochs, oldest);
        }
        let quiet = epochs.quiet();
        while done < most && self.dead.front().is_some_and(|(epoch, _)| *epoch <= quiet) {
            let (_, record) = self.dead.pop_front().expect("just seen");
            done += 1;
            // SAFETY: `look_at` took it out of its index, and every transaction that began before that has ended (S8).
            unsafe { record.free_later(&epoch::pin()) };
        }
        done
    }

    fn look_at(&mut self, garbage: Garbage, epochs: &Epochs, oldest: u64) {
        if garbage.table.is_dropped() {
            return; // Its records are freed with it.
        }
        let record = garbage.record;
        let guard = epoch::pin();
        let word = record.word.lock();
        assert!(!word.is_dead(), "S9: the list that has a record takes it out");
        record.prune(oldest, &guard);
        match record.newest_until() {
            None if !word.is_absent() => {
                record.leave_queue();
                record.word.unlock_as(word);
            }
            Some(epoch) => {
                assert!(epoch > oldest, "it would have been pruned");
                record.word.unlock_as(word);
                self.garbage.push_back(Garbage { epoch, ..garbage });
            }
            None if word.tid().epoch() >= epochs.now() => {
                record.word.unlock_as(word);
                self.absent.push_back(Garbage { epoch: word.tid().epoch(), ..garbage });
            }
            None => {
                garbage.table.index.remove(record, &guard);
                record.word.unlock_as(word.dead());
                // Whoever begins in a later epoch than this sees that it is gone (S8).
                fence(SeqCst);
                self.dead.push_back((epochs.now(), record));
            }
        }
    }
}

impl Drop for Silo {
    fn drop(&mut self) {
        // SAFETY: nobody has a transaction any more, so nobody finds what is out of its index (S8).
        self.shelves.each_list(|lists| lists.dead.drain(..).for_each(|(_, record)| unsafe { record.free() }));
    }
}

impl Silo {
    /// Moves snapshots up to what has committed: [`model::Mode::Snapshot`] sees all that committed before this call in
    /// transactions that begin after it.
    pub fn settle(&self) {
        let present = self.epochs.now();
        let mut backoff = parts::spin::Backoff::new();
        while self.epochs.snapshot() < present {
            self.epochs.advance();
            backoff.pause(); // For those that are between two instructions of a commit.
        }
    }

    /// Reclaims what no open transaction can see any more. Returns how many records it looked after.
    pub fn collect(&self) -> usize {
        let mut done = 0;
        self.settle();
        self.shelves.each_list(|lists| done += lists.reclaim(&self.epochs, usize::MAX));
        self.epochs.advance();
        self.shelves.each_list(|lists| done += lists.reclaim(&self.epochs, usize::MAX));
        self.free_tables();
        done
    }
}
