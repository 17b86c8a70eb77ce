//! Books of TATP's clients, and the audit against them.

use super::Seen;
use super::call::{facility_stamp, subscriber_stamp};
use super::rows::{FACILITIES, FORWARDINGS, NUMBERS, SUBSCRIBERS, number_key};
use crate::workloads::audit::{Audit, LastWrites, LastWritesAudit, expect, is_followed};
use crate::workloads::bank::read_account;
use model::{Key, RowRef};

/// What a client's committed transactions did.
#[derive(Clone, Debug, Default)]
pub struct Books {
    subscribers: LastWrites,
    facilities: LastWrites,
    forwardings: i64,
}

impl Books {
    /// Enters a committed transaction.
    ///
    /// # Errors
    /// A subscriber was missing.
    pub(super) fn enter(&mut self, seen: Seen) -> Result<(), String> {
        if seen.is_missing {
            return Err("a subscriber was missing".to_owned());
        }
        let followed = |written: Option<(u64, _)>| written.filter(|(key, _)| is_followed(*key));
        followed(seen.subscriber).inspect(|&(key, stamp)| self.subscribers.note(key, stamp));
        followed(seen.facility).inspect(|&(key, stamp)| self.facilities.note(key, stamp));
        self.forwardings += seen.forwardings;
        Ok(())
    }
}

/// The audit of TATP.
#[derive(Debug)]
pub struct TatpAudit {
    subscribers: LastWritesAudit,
    facilities: LastWritesAudit,
    /// Rows of each table.
    seen: [u64; 5],
    expected_subscribers: u64,
    expected_forwardings: i64,
    /// Keys of all facilities, sorted.
    facility_keys: Vec<u64>,
}

impl TatpAudit {
    pub(super) fn new<'a>(
        subscribers: u64,
        loaded_forwardings: u64,
        books: impl Iterator<Item = &'a Books> + Clone,
    ) -> TatpAudit {
        TatpAudit {
            subscribers: LastWritesAudit::new(books.clone().map(|books| &books.subscribers)),
            facilities: LastWritesAudit::new(books.clone().map(|books| &books.facilities)),
            seen: [0; 5],
            expected_subscribers: subscribers,
            expected_forwardings: loaded_forwardings as i64 + books.map(|books| books.forwardings).sum::<i64>(),
            facility_keys: Vec::new(),
        }
    }

    fn see_number(&self, key: &[u8], row: RowRef<'_>) -> Result<(), String> {
        match read_account(row) {
            Some((_, subscriber)) if number_key(subscriber as u64)[..] == *key => Ok(()),
            _ => Err("a telephone number names another subscriber".to_owned()),
        }
    }
}

impl Audit for TatpAudit {
    fn see(&mut self, table: usize, key: &[u8], row: RowRef<'_>) -> Result<(), String> {
        self.seen[table] += 1;
        if table == NUMBERS {
            return self.see_number(key, row);
        }
        let damaged = || format!("a row of table {table} is damaged");
        let key = Key::to_u64(key).ok_or_else(damaged)?;
        row.check().map_err(|_| damaged())?;
        match table {
            SUBSCRIBERS => self.subscribers.check(key, subscriber_stamp(row).ok_or_else(damaged)?),
            FACILITIES => {
                self.facility_keys.push(key);
                self.facilities.check(key, facility_stamp(row).ok_or_else(damaged)?)
            }
            FORWARDINGS if self.facility_keys.binary_search(&(key >> 8)).is_err() => {
                Err(format!("forwarding {key} belongs to no facility"))
            }
            _ => Ok(()),
        }
    }

    fn finish(self) -> Result<(), String> {
        expect("subscribers", self.seen[SUBSCRIBERS], self.expected_subscribers)?;
        expect("telephone numbers", self.seen[NUMBERS], self.expected_subscribers)?;
        expect("forwardings", self.seen[FORWARDINGS] as i64, self.expected_forwardings)
    }
}
