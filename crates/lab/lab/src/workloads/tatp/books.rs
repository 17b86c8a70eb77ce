//! Books of TATP's clients, and the audit against them.

use super::Seen;
use super::call::{Forwarding, facility_stamp, forwarding_stamp, location_stamp, subscriber_stamp};
use super::rows::{BIT_1, DATA_A, END_TIME, FACILITIES, FORWARDINGS, MSC_LOCATION, NUMBERS, SUBSCRIBERS, VLR_LOCATION};
use crate::workloads::Record;
use crate::workloads::audit::{Audit, LastWrites, LastWritesAudit, expect, is_followed};
use model::{Key, RowRef, ValueRef};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Sum of the hashes of some rows, or of what must not change in them: equal whatever the order in which they came and went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum(u64);

impl Sum {
    fn add(&mut self, of: impl Hash) {
        self.0 = self.0.wrapping_add(hash(of));
    }

    fn take(&mut self, of: impl Hash) {
        self.0 = self.0.wrapping_sub(hash(of));
    }
}

fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// What a client's committed transactions did.
#[derive(Clone, Debug, Default)]
pub struct Books {
    subscribers: LastWrites,
    locations: LastWrites,
    facilities: LastWrites,
    forwardings: LastWrites,
    /// Keys of the forwardings that were inserted, less those that were deleted.
    forwarding_keys: Sum,
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
        let note = |writes: &mut LastWrites, written: Option<_>| {
            written.filter(|(key, _)| is_followed(*key)).inspect(|&(key, stamp)| writes.note(key, stamp));
        };
        note(&mut self.subscribers, seen.subscriber);
        note(&mut self.locations, seen.location);
        note(&mut self.facilities, seen.facility);
        match seen.forwarding {
            Some(Forwarding::Inserted(key, stamp)) => {
                note(&mut self.forwardings, Some((key, stamp)));
                self.forwarding_keys.add(key);
            }
            Some(Forwarding::Deleted(key)) => self.forwarding_keys.take(key),
            None => {}
        }
        Ok(())
    }
}

const TABLES: usize = 5;

/// The audit of TATP.
#[derive(Debug)]
pub struct TatpAudit {
    subscribers: LastWritesAudit,
    locations: LastWritesAudit,
    facilities: LastWritesAudit,
    forwardings: LastWritesAudit,
    seen: Contents,
    expected: Contents,
    /// Keys of all facilities, sorted.
    facility_keys: Vec<u64>,
}

/// What is in the tables: of each table but the forwardings the number of rows and what never changes in them, of the forwardings the
/// keys.
#[derive(Clone, Debug, Default)]
struct Contents {
    rows: [u64; TABLES],
    sums: [Sum; TABLES],
}

impl Contents {
    fn add(&mut self, table: usize, key: &[u8], row: RowRef<'_>) {
        self.rows[table] += 1;
        match table {
            NUMBERS => self.sums[table].add((key, row.bytes())),
            FORWARDINGS => self.sums[table].add(Key::to_u64(key).unwrap_or(u64::MAX)),
            _ => self.sums[table].add((key, Constant(table, row))),
        }
    }
}

/// The columns of a row that no transaction writes.
struct Constant<'a>(usize, RowRef<'a>);

impl Hash for Constant<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Constant(table, row) = self;
        let written: &[u16] = match *table {
            SUBSCRIBERS => &[BIT_1, MSC_LOCATION, VLR_LOCATION],
            FACILITIES => &[DATA_A],
            _ => &[],
        };
        let columns = (0..).zip(row.values()).filter(|(column, _)| !written.contains(column));
        for (column, value) in columns {
            column.hash(state);
            match value {
                ValueRef::Int(number) => number.hash(state),
                value => value.to_string().hash(state),
            }
        }
    }
}

impl TatpAudit {
    /// `loaded` are the records that the tables began with.
    pub(super) fn new<'a>(
        loaded: impl Iterator<Item = Record>,
        books: impl Iterator<Item = &'a Books> + Clone,
    ) -> TatpAudit {
        let mut expected = Contents::default();
        loaded.for_each(|record| expected.add(record.table, &record.key, record.row.row()));
        for Sum(keys) in books.clone().map(|books| books.forwarding_keys) {
            let sum = &mut expected.sums[FORWARDINGS];
            *sum = Sum(sum.0.wrapping_add(keys));
        }
        let last = |writes: fn(&Books) -> &LastWrites| LastWritesAudit::new(books.clone().map(writes));
        TatpAudit {
            subscribers: last(|books| &books.subscribers),
            locations: last(|books| &books.locations),
            facilities: last(|books| &books.facilities),
            forwardings: last(|books| &books.forwardings),
            seen: Contents::default(),
            expected,
            facility_keys: Vec::new(),
        }
    }

    fn see_forwarding(&self, key: u64, row: RowRef<'_>) -> Result<(), String> {
        let damaged = || format!("forwarding {key} is damaged");
        let (start, end) = ((key & 0xff) as i64, row.get(END_TIME).as_int().ok_or_else(damaged)?);
        if !(start + 1..=start + 8).contains(&end) {
            return Err(format!("forwarding {key} ends at {end}, which no transaction writes"));
        }
        if self.facility_keys.binary_search(&(key >> 8)).is_err() {
            return Err(format!("forwarding {key} belongs to no facility"));
        }
        self.forwardings.check(key, forwarding_stamp(row).ok_or_else(damaged)?)
    }
}

impl Audit for TatpAudit {
    fn see(&mut self, table: usize, key: &[u8], row: RowRef<'_>) -> Result<(), String> {
        let damaged = || format!("a row of table {table} is damaged");
        if table != NUMBERS {
            row.check().map_err(|_| damaged())?;
        }
        self.seen.add(table, key, row);
        if table == NUMBERS {
            return Ok(());
        }
        let key = Key::to_u64(key).ok_or_else(damaged)?;
        match table {
            SUBSCRIBERS => {
                self.locations.check(key, location_stamp(row).ok_or_else(damaged)?)?;
                self.subscribers.check(key, subscriber_stamp(row).ok_or_else(damaged)?)
            }
            FACILITIES => {
                self.facility_keys.push(key);
                self.facilities.check(key, facility_stamp(row).ok_or_else(damaged)?)
            }
            FORWARDINGS => self.see_forwarding(key, row),
            _ => Ok(()),
        }
    }

    fn finish(self) -> Result<(), String> {
        const NAMES: [&str; TABLES] =
            ["subscribers", "rows of access data", "facilities", "forwardings", "telephone numbers"];
        for (table, name) in NAMES.into_iter().enumerate() {
            let (seen, expected) = (self.seen.sums[table].0, self.expected.sums[table].0);
            if table == FORWARDINGS {
                expect("hash of the forwardings that were loaded or inserted and not deleted", seen, expected)?;
            } else {
                expect(name, self.seen.rows[table], self.expected.rows[table])?;
                expect(&format!("hash of what never changes in the {name}"), seen, expected)?;
            }
        }
        Ok(())
    }
}
