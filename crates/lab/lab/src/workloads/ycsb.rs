//! YCSB: reads and blind writes of keys drawn by popularity, optionally scans, optionally beside long readers.

use super::{Client, ClientSlot, Stamp, StampedBytes, Stamps, Workload};
use crate::draw::{Chance, Zipf};
use crate::record::{Form, KeyForm};
use check::Scalar;
use env::Randomness;
use model::{Access, Columns, Error, Key, Mode, Program, Result, RowBuf, RowRef, Scan, Schema, TableId};
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::ops::{Bound, ControlFlow};

/// The parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// Records in the table.
    pub records: u64,
    /// Bytes of a row.
    pub record_bytes: usize,
    /// Keys that a transaction (other than a scan) reads or writes.
    pub keys_per_txn: usize,
    /// Percentage of keys that are read; the others are written.
    pub reads: f64,
    /// Popularity of keys, see [`Zipf`].
    pub theta: f64,
    /// Percentage of transactions that are a scan.
    pub scans: f64,
    /// Keys that a scan visits.
    pub scan_length: u64,
    /// Keys that a transaction of a long reader reads, uniformly.
    pub long_reader_keys: usize,
    /// Whether writers lock a row at the statement that writes it.
    pub own_at_statement: bool,
}

/// The workload.
#[derive(Debug)]
pub struct Ycsb {
    parameters: Parameters,
    keys: Zipf,
}

impl Ycsb {
    /// Prepares the popularity of keys, in time linear in the number of records.
    pub fn new(parameters: Parameters) -> Ycsb {
        Ycsb { keys: Zipf::new(parameters.records, parameters.theta), parameters }
    }

    fn seated(&self, at: ClientSlot<'_>, role: Role) -> Transactions {
        Transactions {
            table: at.tables[0],
            role,
            keys: self.keys,
            records: self.parameters.records,
            reads: Chance::percent(self.parameters.reads),
            scans: Chance::percent(self.parameters.scans),
            scan_length: self.parameters.scan_length,
            writing_mode: if self.parameters.own_at_statement { Mode::OwnAtStatement } else { Mode::ReadWrite },
            randomness: at.randomness,
            stamps: at.stamps,
            steps: Vec::new(),
            scan_from: None,
            read: RowBuf::new(),
            written: StampedBytes::new(self.parameters.record_bytes),
        }
    }
}

impl Workload for Ycsb {
    type Client = Transactions;

    fn schemas(&self) -> Vec<Schema> {
        vec![Schema::bytes("ycsb").u64_key().build().expect("a schema without columns")]
    }

    fn forms(&self) -> Vec<Form> {
        vec![Form { keys: KeyForm::Integers, value: |row| stamp_value(StampedBytes::stamp_of(row.bytes()), row) }]
    }

    fn records(&self) -> u64 {
        self.parameters.records
    }

    fn record(&self, number: u64, stamp: Stamp, key: &mut Key, row: &mut RowBuf) -> usize {
        key.clear();
        key.push_u64(number);
        row.set_bytes(StampedBytes::new(self.parameters.record_bytes).fill(stamp).bytes());
        0
    }

    fn client(&self, at: ClientSlot<'_>) -> Transactions {
        self.seated(at, Role::Client { keys_per_txn: self.parameters.keys_per_txn })
    }

    fn long_reader(&self, at: ClientSlot<'_>) -> Transactions {
        self.seated(at, Role::LongReader { keys: self.parameters.long_reader_keys })
    }

    fn closing(&self, _: ClientSlot<'_>) -> Option<Transactions> {
        None
    }
}

/// Value of a row in a history if it was written under one stamp; otherwise a value that no checker takes for a write.
pub(super) fn stamp_value(stamp: Option<Stamp>, row: RowRef<'_>) -> Scalar {
    match stamp {
        Some(Stamp(stamp)) => Scalar::from(stamp),
        None => Scalar::from(format!("damaged row {:02x?}", row.bytes())),
    }
}

#[derive(Clone, Copy, Debug)]
enum Role {
    Client { keys_per_txn: usize },
    LongReader { keys: usize },
}

#[derive(Clone, Copy, Debug)]
struct Step {
    key: u64,
    writes: bool,
}

/// A client and its current transaction. After the first few transactions it allocates nothing.
#[derive(Debug)]
pub struct Transactions {
    table: TableId,
    role: Role,
    keys: Zipf,
    records: u64,
    reads: Chance,
    scans: Chance,
    scan_length: u64,
    writing_mode: Mode,
    randomness: Randomness,
    stamps: Stamps,
    steps: Vec<Step>,
    scan_from: Option<u64>,
    read: RowBuf,
    written: StampedBytes,
}

impl Transactions {
    fn draw_steps(&mut self, count: usize) -> Mode {
        let mut mode = Mode::ReadOnly;
        for _ in 0..count {
            let (key, writes) = (self.keys.draw(&mut self.randomness), !self.reads.draw(&mut self.randomness));
            if writes {
                mode = self.writing_mode;
            }
            self.steps.push(Step { key, writes });
        }
        mode
    }

    fn draw_long_read(&mut self, count: usize) -> Mode {
        let (records, randomness) = (self.records, &mut self.randomness);
        self.steps.extend((0..count).map(|_| Step { key: randomness.in_range(0..records), writes: false }));
        Mode::ReadOnly
    }

    /// Visits the scan's keys; returns how many of those that must be there were not.
    fn scan<A: Access + ?Sized>(&mut self, access: &mut A, from: u64) -> Result<u64> {
        let expected = self.scan_length.min(self.records - from);
        let mut visited = 0;
        let range = Scan::table(self.table).between(Bound::Included(Key::from_u64(from)), Bound::Unbounded);
        access.scan(&range, &mut |item| {
            black_box(item.row.bytes());
            visited += 1;
            if visited < expected { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(expected - visited)
    }
}

impl Program for Transactions {
    /// Number of its keys that were missing. All were loaded and none is ever deleted.
    type Output = u64;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<u64> {
        if let Some(from) = self.scan_from {
            return self.scan(access, from);
        }
        let mut missing = 0;
        for step in &self.steps {
            let key = step.key.to_be_bytes();
            if step.writes {
                access.put(self.table, &key, self.written.fill(self.stamps.draw()))?;
            } else if access.read(self.table, &key, Columns::All, &mut self.read)? {
                black_box(self.read.bytes());
            } else {
                missing += 1;
            }
        }
        Ok(missing)
    }
}

impl Client for Transactions {
    fn draw(&mut self) -> Mode {
        self.steps.clear();
        self.scan_from = None;
        match self.role {
            Role::LongReader { keys } => self.draw_long_read(keys),
            Role::Client { .. } if self.scans.draw(&mut self.randomness) => {
                self.scan_from = Some(self.keys.draw(&mut self.randomness));
                Mode::ReadOnly
            }
            Role::Client { keys_per_txn } => self.draw_steps(keys_per_txn),
        }
    }

    fn check(&mut self, missing: u64) -> std::result::Result<(), String> {
        if missing == 0 { Ok(()) } else { Err(format!("{missing} loaded keys were missing in one transaction")) }
    }
}
