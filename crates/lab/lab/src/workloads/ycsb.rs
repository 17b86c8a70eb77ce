//! YCSB: reads, blind writes and read-modify-writes of keys drawn by popularity, scans, and long reads, as a share of the
//! transactions or beside them.
//!
//! # What is checked
//! Every key that was loaded is found, and bytes that are read begin and end as one write left them. At the end: every row is
//! whole; the rows of keys that are followed hold the last committed write of some client; the counts in the rows add up to the
//! read-modify-writes that committed.

mod books;
mod call;

pub use books::{Books, YcsbAudit};
pub use call::{Seen, Transaction};

use super::{
    Call, Client, ClientSlot, Record, Stamp, StampedBytes, Stamps, Submission, Workload, register, submit, submit_batch,
};
use crate::draw::{Chance, Zipf};
use crate::record::{Form, KeyForm};
use call::Step;
use check::Scalar;
use env::Randomness;
use model::{Declared, Key, Mode, Registry, RowBuf, RowRef, Schema, Storage, Ticket};
use serde::{Deserialize, Serialize};

/// Its name on the command line and in rows.
pub const NAME: &str = "ycsb";
/// The file of its presets.
pub const PRESETS: &str = include_str!("../../workloads/ycsb.toml");

/// The parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Records in the table.
    pub records: u64,
    /// Bytes of a row.
    pub record_bytes: usize,
    /// Access method of the table.
    pub storage: StorageName,
    /// Keys of a transaction (other than a scan or a long read).
    pub keys_per_txn: usize,
    /// How many of them are read and written back; these transactions' keys are distinct.
    pub rmws: usize,
    /// Percentage of the other keys that are read; the rest is overwritten.
    pub reads: f64,
    /// Popularity of keys, see [`Zipf`].
    pub theta: f64,
    /// Percentage of transactions that are a scan.
    pub scans: f64,
    /// Keys that a scan visits.
    pub scan_length: u64,
    /// Percentage of transactions that are a long read.
    pub long_reads: f64,
    /// Keys of a long read, drawn evenly; long readers do nothing else.
    pub long_reader_keys: usize,
    /// Whether writers lock a row at the statement that writes it.
    pub own_at_statement: bool,
}

/// Access method of a table, as parameters name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StorageName {
    /// In order
    Ordered,
    /// By hash
    Hash,
}

impl StorageName {
    /// The same, in the engines' words.
    pub fn storage(self) -> Storage {
        match self {
            StorageName::Ordered => Storage::Ordered,
            StorageName::Hash => Storage::Hash,
        }
    }
}

impl Parameters {
    /// Checks that the parameters make sense together.
    ///
    /// # Errors
    /// Names what does not.
    pub fn check(&self) -> Result<(), String> {
        let others_write = self.rmws < self.keys_per_txn && self.reads < 100.0;
        let problems = [
            (self.rmws > self.keys_per_txn, "more keys are read and written back than a transaction has"),
            (self.rmws > 0 && others_write, "blind writes beside read-modify-writes: request 100 % reads"),
            (self.rmws > 0 && self.records < self.keys_per_txn as u64, "a transaction needs that many distinct keys"),
            (self.scans > 0.0 && self.storage == StorageName::Hash, "scans need ordered storage"),
            (self.scans + self.long_reads > 100.0, "more than 100 % scans and long reads"),
            (self.record_bytes < 8, "a row has at least 8 bytes"),
        ];
        match problems.iter().find(|(is_problem, _)| *is_problem) {
            Some((_, problem)) => Err(format!("workload ycsb: {problem}")),
            None => Ok(()),
        }
    }

    /// Returns whether the writes of a history can be told apart.
    pub fn has_stamps(&self) -> bool {
        self.layout().has_stamp()
    }

    fn layout(&self) -> Layout {
        Layout { bytes: self.record_bytes, has_count: self.rmws > 0 }
    }
}

/// Layout of a row: a count of the read-modify-writes, if there are any, and the bytes of a stamp, if they have room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Layout {
    bytes: usize,
    has_count: bool,
}

const COUNT_BYTES: usize = 8;

impl Layout {
    fn has_stamp(self) -> bool {
        !self.has_count || self.bytes >= COUNT_BYTES + StampedBytes::MIN_BYTES
    }

    /// The count, and the bytes of the stamp; `None` if the row has another length.
    fn split(self, row: &[u8]) -> Option<(u64, &[u8])> {
        if row.len() != self.bytes {
            return None;
        }
        match row.split_first_chunk() {
            Some((count, stamped)) if self.has_count => Some((u64::from_le_bytes(*count), stamped)),
            _ => Some((0, row)),
        }
    }

    /// Fills in a row.
    fn write(self, row: &mut [u8], count: u64, stamp: Stamp) {
        let mut stamped = row;
        if self.has_count {
            let (head, rest) = stamped.split_at_mut(COUNT_BYTES);
            head.copy_from_slice(&count.to_le_bytes());
            stamped = rest;
        }
        if self.has_stamp() {
            StampedBytes::write(stamped, stamp);
        }
    }
}

/// The workload.
#[derive(Debug)]
pub struct Ycsb {
    parameters: Parameters,
    keys: Zipf,
}

impl Ycsb {
    /// Prepares the popularity of keys, in time linear in the number of records.
    ///
    /// # Panics
    /// If the parameters make no sense together: [`Parameters::check`].
    pub fn new(parameters: Parameters) -> Ycsb {
        parameters.check().unwrap_or_else(|problem| panic!("{problem}"));
        Ycsb { keys: Zipf::new(parameters.records, parameters.theta), parameters }
    }

    fn seated(&self, at: ClientSlot<'_>, is_long_reader: bool) -> Transactions {
        let Parameters { reads, scans, long_reads, .. } = self.parameters;
        // Drawn one after another: a long read is drawn among what is not a scan.
        let of_the_rest = if scans < 100.0 { (long_reads * 100.0 / (100.0 - scans)).min(100.0) } else { 0.0 };
        Transactions {
            parameters: self.parameters.clone(),
            is_long_reader,
            keys: self.keys,
            reads: Chance::percent(reads),
            scans: Chance::percent(scans),
            long_reads: Chance::percent(of_the_rest),
            randomness: at.randomness,
            call: Transaction::new(at.tables[0], self.parameters.layout(), at.stamps),
            books: Books::default(),
        }
    }
}

impl Workload for Ycsb {
    type Client = Transactions;
    type Audit = YcsbAudit;

    fn schemas(&self) -> Vec<Schema> {
        let schema = Schema::bytes("ycsb").u64_key().storage(self.parameters.storage.storage());
        vec![schema.build().expect("a schema without columns")]
    }

    fn forms(&self) -> Vec<Form> {
        fn counted(row: RowRef<'_>) -> Scalar {
            stamp_value(row.bytes().get(COUNT_BYTES..).and_then(StampedBytes::stamp_of), row)
        }
        fn plain(row: RowRef<'_>) -> Scalar {
            stamp_value(StampedBytes::stamp_of(row.bytes()), row)
        }
        vec![Form { keys: KeyForm::Integers, value: if self.parameters.rmws > 0 { counted } else { plain } }]
    }

    fn records(&self) -> u64 {
        self.parameters.records
    }

    fn load(&self, mut stamps: Stamps) -> impl Iterator<Item = Record> {
        let layout = self.parameters.layout();
        let mut bytes = vec![0; layout.bytes];
        (0..self.parameters.records).map(move |number| {
            layout.write(&mut bytes, 0, stamps.draw());
            Record { table: 0, key: Key::from_u64(number), row: RowBuf::from_bytes(&bytes) }
        })
    }

    fn client(&self, at: ClientSlot<'_>) -> Transactions {
        self.seated(at, false)
    }

    fn long_reader(&self, at: ClientSlot<'_>) -> Transactions {
        self.seated(at, true)
    }

    fn audit(&self, clients: &[&Transactions]) -> Option<YcsbAudit> {
        let books = clients.iter().map(|client| &client.books);
        Some(YcsbAudit::new(self.parameters.records, self.parameters.layout(), books))
    }
}

/// Value of a row in a history if it was written under one stamp; otherwise a value that no checker takes for a write.
pub(super) fn stamp_value(stamp: Option<Stamp>, row: RowRef<'_>) -> Scalar {
    match stamp {
        Some(Stamp(stamp)) => Scalar::from(stamp),
        None => Scalar::from(format!("damaged row {:02x?}", row.bytes())),
    }
}

/// A client. After the first few transactions it allocates nothing.
#[derive(Debug)]
pub struct Transactions {
    parameters: Parameters,
    is_long_reader: bool,
    keys: Zipf,
    reads: Chance,
    scans: Chance,
    long_reads: Chance,
    randomness: Randomness,
    call: Transaction,
    books: Books,
}

impl Transactions {
    fn draw_steps(&mut self) -> Mode {
        let Parameters { keys_per_txn, rmws, records, own_at_statement, .. } = self.parameters;
        let mut is_writer = false;
        for position in 0..keys_per_txn {
            let mut key = self.keys.draw(&mut self.randomness);
            if rmws > 0 {
                key = self.distinct(key, records);
            }
            let step = if position < rmws {
                Step::ReadModifyWrite(key)
            } else if self.reads.draw(&mut self.randomness) {
                Step::Read(key)
            } else {
                Step::Write(key)
            };
            is_writer |= !matches!(step, Step::Read(_));
            self.call.steps.push(step);
        }
        match (is_writer, own_at_statement) {
            (false, _) => Mode::ReadOnly,
            (true, false) => Mode::ReadWrite,
            (true, true) => Mode::OwnAtStatement,
        }
    }

    /// The key, or another one if this transaction has it: drawn again a few times, then the next that is free.
    fn distinct(&mut self, mut key: u64, records: u64) -> u64 {
        const DRAWS: usize = 20;
        let has = |steps: &[Step], key| steps.iter().any(|step| step.key() == key);
        for _ in 0..DRAWS {
            if !has(&self.call.steps, key) {
                return key;
            }
            key = self.keys.draw(&mut self.randomness);
        }
        while has(&self.call.steps, key) {
            key = (key + 1) % records;
        }
        key
    }

    fn draw_long_read(&mut self) -> Mode {
        let Parameters { records, long_reader_keys, .. } = self.parameters;
        let randomness = &mut self.randomness;
        self.call.steps.extend((0..long_reader_keys).map(|_| Step::Read(randomness.in_range(0..records))));
        Mode::ReadOnly
    }

    fn draw_scan(&mut self) -> Mode {
        let from = self.keys.draw(&mut self.randomness);
        self.call.scan = Some((from, self.parameters.scan_length.min(self.parameters.records - from)));
        Mode::ReadOnly
    }
}

impl Client for Transactions {
    type Call = Transaction;

    fn draw(&mut self) -> Mode {
        self.call.steps.clear();
        self.call.scan = None;
        if self.is_long_reader {
            self.draw_long_read()
        } else if self.scans.draw(&mut self.randomness) {
            self.draw_scan()
        } else if self.long_reads.draw(&mut self.randomness) {
            self.draw_long_read()
        } else {
            self.draw_steps()
        }
    }

    fn call(&mut self) -> &mut Transaction {
        &mut self.call
    }

    fn reads_one_row(&self) -> bool {
        matches!(self.call.steps[..], [Step::Read(_)]) && self.call.scan.is_none()
    }

    fn register(registry: &mut Registry) {
        register::<Transaction>(registry);
    }

    fn submit<D: Declared>(&mut self, door: &D, submission: Submission) -> Option<Ticket<Transaction>> {
        Some(submit(&mut self.call, door, submission))
    }

    fn put_aside(&mut self) -> Option<Transaction> {
        Some(self.call.submission())
    }

    fn submit_batch<D: Declared>(
        &mut self,
        door: &D,
        batch: Vec<(Transaction, Submission)>,
    ) -> Option<Vec<Ticket<Transaction>>> {
        Some(submit_batch(door, batch))
    }

    fn check(&mut self, seen: Seen) -> Result<(), String> {
        self.books.enter(seen)
    }
}
