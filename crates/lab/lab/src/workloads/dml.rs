//! Inserts, updates, and deletions with inserts, of rows with ten integers.
//!
//! Source: HyPer (SIGMOD '15), section 4.2.
//!
//! Deviations: the key stands beside the ten integers. The first of these is a stamp, which is what an update changes; the others follow
//! from the key. A deletion is followed by an insert of the same key.
//!
//! # What is checked
//! Rows that are updated or deleted are found. At the end: there are the loaded rows and those that committed transactions inserted, each
//! with the integers of its key; rows that are followed hold the last committed write of some client.

use super::audit::{Audit, LastWrites, LastWritesAudit, expect, is_followed};
use super::{
    Call, Client, ClientSlot, Record, Stamp, Stamps, Submission, Workload, decode, encode, register, submit,
    submit_batch,
};
use crate::draw::Chance;
use crate::record::{Form, KeyForm};
use env::Randomness;
use model::{
    Access, ColumnType, Declared, Delta, Error, Footprint, FootprintEntry, Key, Malformed, Mode, Procedure, Program,
    Registry, RowBuf, RowRef, Schema, TableId, Ticket, Touch, ValueRef,
};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Its name on the command line and in rows.
pub const NAME: &str = "dml";
/// The file of its presets.
pub const PRESETS: &str = include_str!("../../workloads/dml.toml");

/// The parameters. What updates and deletions leave of 100 % are inserts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Rows that are loaded.
    pub records: u64,
    /// Operations of a transaction, all of one kind.
    pub operations: u32,
    /// Share of transactions that update.
    pub updates: f64,
    /// Share of transactions that delete rows and insert them again.
    pub delete_inserts: f64,
    /// Whether a transaction locks a row at the statement that writes it.
    pub own_at_statement: bool,
}

impl Parameters {
    /// Checks that the parameters make sense together.
    ///
    /// # Errors
    /// Names what does not.
    pub fn check(&self) -> Result<(), String> {
        let shares = [self.updates, self.delete_inserts];
        let is_share = |percent: &f64| (0.0..=100.0).contains(percent);
        let problems = [
            (!(1..=FIRST_INSERTED).contains(&self.records), "there are 1 to 2^32 loaded rows"),
            (self.operations == 0, "a transaction has at least one operation"),
            (!shares.iter().all(is_share), "a share is not between 0 and 100"),
            (shares.iter().sum::<f64>() > 100.0, "the shares are more than 100 % together"),
        ];
        match problems.iter().find(|(is_problem, _)| *is_problem) {
            Some((_, problem)) => Err(format!("workload dml: {problem}")),
            None => Ok(()),
        }
    }
}

/// Keys below are loaded; each client inserts from its number times this on.
const FIRST_INSERTED: u64 = 1 << 32;
const STAMP: u16 = 0;
/// Rows that are announced together.
const ANNOUNCED: usize = 16;
const WIDTH: usize = 10;

/// The workload.
#[derive(Debug)]
pub struct Dml {
    parameters: Parameters,
}

impl Dml {
    /// # Panics
    /// If the parameters make no sense together: [`Parameters::check`].
    pub fn new(parameters: Parameters) -> Dml {
        parameters.check().unwrap_or_else(|problem| panic!("{problem}"));
        Dml { parameters }
    }

    fn seated(&self, at: ClientSlot<'_>, updates: f64, delete_inserts: f64) -> Transactions {
        // Drawn one after another: a deletion is drawn among what is no update.
        let of_the_rest = if updates < 100.0 { (delete_inserts * 100.0 / (100.0 - updates)).min(100.0) } else { 0.0 };
        let call = Transaction {
            table: at.tables[0].0,
            kind: Kind::Insert,
            keys: Vec::new(),
            stamps: at.stamps,
            row: RowBuf::new(),
        };
        Transactions {
            updates: Chance::percent(updates),
            delete_inserts: Chance::percent(of_the_rest),
            parameters: self.parameters.clone(),
            next: u64::from(at.number) * FIRST_INSERTED,
            randomness: at.randomness,
            call,
            books: Books::default(),
        }
    }
}

impl Workload for Dml {
    type Client = Transactions;
    type Audit = DmlAudit;

    fn schemas(&self) -> Vec<Schema> {
        let columns = (0..WIDTH).map(|column| format!("a{column}"));
        let schema = columns.fold(Schema::table("rows").u64_key(), |schema, name| schema.column(name, ColumnType::Int));
        vec![schema.build().expect("a sound schema")]
    }

    fn forms(&self) -> Vec<Form> {
        vec![Form { keys: KeyForm::Integers, value: super::tatp::show_typed }]
    }

    fn records(&self) -> u64 {
        self.parameters.records
    }

    fn load(&self, mut stamps: Stamps) -> impl Iterator<Item = Record> {
        (0..self.parameters.records).map(move |key| {
            let mut row = RowBuf::new();
            fill(&mut row, key, stamps.draw());
            Record { table: 0, key: Key::from_u64(key), row }
        })
    }

    fn client(&self, at: ClientSlot<'_>) -> Transactions {
        self.seated(at, self.parameters.updates, self.parameters.delete_inserts)
    }

    /// Only updates.
    fn long_reader(&self, at: ClientSlot<'_>) -> Transactions {
        self.seated(at, 100.0, 0.0)
    }

    fn audit(&self, clients: &[&Transactions]) -> Option<DmlAudit> {
        let books = clients.iter().map(|client| &client.books);
        Some(DmlAudit {
            expected: self.parameters.records + books.clone().map(|books| books.inserted).sum::<u64>(),
            last_writes: LastWritesAudit::new(books.map(|books| &books.last_writes)),
            seen: 0,
        })
    }
}

/// Makes the row of a key.
fn fill(row: &mut RowBuf, key: u64, stamp: Stamp) {
    let value =
        |column: usize| if column == usize::from(STAMP) { stamp.to_int() } else { (key + column as u64) as i64 };
    row.set_values((0..WIDTH).map(|column| ValueRef::Int(value(column))));
}

/// What a transaction does to each of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    Insert,
    Update,
    DeleteInsert,
}

/// A transaction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Transaction {
    table: u32,
    kind: Kind,
    keys: Vec<u64>,
    stamps: Stamps,
    #[serde(skip)]
    row: RowBuf,
}

/// What a transaction found and wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Keys without a row, of those that have one.
    missing: u64,
    /// Rows that were not there before.
    inserted: u64,
    /// Writes of keys that are followed. In order.
    followed: SmallVec<[(u64, Stamp); 2]>,
}

impl Transaction {
    /// Announces the rows that are changed next, of transactions that change several.
    fn announce<A: Access + ?Sized>(&self, access: &mut A, from: usize) {
        if self.kind != Kind::Insert && self.keys.len() > 1 {
            let keys = self.keys[from..].iter().take(ANNOUNCED).map(|&key| Key::from_u64(key));
            access.prefetch(TableId(self.table), &keys.collect::<SmallVec<[Key; ANNOUNCED]>>());
        }
    }

    fn change<A: Access + ?Sized>(&mut self, access: &mut A, key: u64, seen: &mut Seen) -> Result<(), Error> {
        let (table, stamp, bytes) = (TableId(self.table), self.stamps.draw(), key.to_be_bytes());
        match self.kind {
            Kind::Update => {
                let found = access.update(table, &bytes, &Delta::new().set(STAMP, stamp.to_int()))?;
                seen.missing += u64::from(!found);
            }
            Kind::DeleteInsert => {
                seen.missing += u64::from(!access.delete(table, &bytes)?);
                self.insert(access, key, stamp)?;
            }
            Kind::Insert => {
                self.insert(access, key, stamp)?;
                seen.inserted += 1;
            }
        }
        if is_followed(key) {
            seen.followed.push((key, stamp));
        }
        Ok(())
    }

    fn insert<A: Access + ?Sized>(&mut self, access: &mut A, key: u64, stamp: Stamp) -> Result<(), Error> {
        fill(&mut self.row, key, stamp);
        access.insert(TableId(self.table), &key.to_be_bytes(), self.row.row())
    }
}

impl Program for Transaction {
    type Output = Seen;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<Seen, Error> {
        let mut seen = Seen::default();
        for at in 0..self.keys.len() {
            if at % ANNOUNCED == 0 {
                self.announce(access, at);
            }
            self.change(access, self.keys[at], &mut seen)?;
        }
        Ok(seen)
    }
}

impl Procedure for Transaction {
    const NAME: &'static str = "dml";

    fn encode_arguments(&self, out: &mut Vec<u8>) {
        encode(self, out);
    }

    fn decode_arguments(arguments: &[u8]) -> Result<Transaction, Malformed> {
        decode(arguments)
    }

    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint, Error> {
        let table = TableId(self.table);
        let touch = match self.kind {
            Kind::Insert => Touch::Insert,
            Kind::Update => Touch::Update,
            Kind::DeleteInsert => Touch::Any,
        };
        let entry = |&key: &u64| FootprintEntry { table, key: Key::from_u64(key), touch };
        Ok(self.keys.iter().map(entry).collect())
    }
}

impl Call for Transaction {
    fn stamps(&mut self) -> &mut Stamps {
        &mut self.stamps
    }
}

/// A client.
#[derive(Debug)]
pub struct Transactions {
    parameters: Parameters,
    updates: Chance,
    delete_inserts: Chance,
    /// The next key that it inserts.
    next: u64,
    randomness: Randomness,
    call: Transaction,
    books: Books,
}

/// What a client's committed transactions did.
#[derive(Clone, Debug, Default)]
struct Books {
    inserted: u64,
    last_writes: LastWrites,
}

impl Client for Transactions {
    type Call = Transaction;

    fn draw(&mut self) -> Mode {
        self.call.kind = if self.updates.draw(&mut self.randomness) {
            Kind::Update
        } else if self.delete_inserts.draw(&mut self.randomness) {
            Kind::DeleteInsert
        } else {
            Kind::Insert
        };
        self.call.keys.clear();
        for _ in 0..self.parameters.operations {
            let key = if self.call.kind == Kind::Insert {
                self.next += 1;
                self.next
            } else {
                self.randomness.in_range(0..self.parameters.records)
            };
            self.call.keys.push(key);
        }
        if self.parameters.own_at_statement { Mode::OwnAtStatement } else { Mode::ReadWrite }
    }

    fn call(&mut self) -> &mut Transaction {
        &mut self.call
    }

    fn kind(&self) -> Option<&'static str> {
        Some(match self.call.kind {
            Kind::Insert => "insert",
            Kind::Update => "update",
            Kind::DeleteInsert => "delete-insert",
        })
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
        expect("rows that were missing", seen.missing, 0)?;
        self.books.inserted += seen.inserted;
        seen.followed.iter().for_each(|&(key, stamp)| self.books.last_writes.note(key, stamp));
        Ok(())
    }
}

/// The audit.
#[derive(Debug)]
pub struct DmlAudit {
    expected: u64,
    last_writes: LastWritesAudit,
    seen: u64,
}

impl Audit for DmlAudit {
    fn see(&mut self, _: usize, key: &[u8], row: RowRef<'_>) -> Result<(), String> {
        let key = Key::to_u64(key).ok_or("a key that nobody wrote")?;
        let stamp = row.get(usize::from(STAMP)).as_int().ok_or_else(|| format!("row {key} has no stamp"))?;
        let stamp = Stamp(stamp as u64);
        let mut expected = RowBuf::new();
        fill(&mut expected, key, stamp);
        if expected.row() != row {
            return Err(format!("row {key} has integers of another key"));
        }
        self.seen += 1;
        self.last_writes.check(key, stamp)
    }

    fn finish(self) -> Result<(), String> {
        expect("rows", self.seen, self.expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::LOADER;
    use crate::workloads::parameters::{DEFAULT, Presets};

    fn small(changes: serde_json::Value) -> Parameters {
        Presets::read(NAME, PRESETS).and_then(|it| it.parameters(DEFAULT, &changes)).expect("sound parameters")
    }

    /// The rows after the load, but for what `lose` takes, in an audit without clients.
    fn audited(lose: Option<u64>, replace: Option<u64>) -> Result<(), String> {
        let workload = Dml::new(small(serde_json::json!({ "records": 200 })));
        let mut audit = workload.audit(&[]).expect("it is audited");
        for mut record in workload.load(Stamps::of_client(LOADER)) {
            let key = Key::to_u64(record.key.as_ref()).expect("an integer");
            if Some(key) == replace {
                fill(&mut record.row, key, Stamps::of_client(1).draw());
            }
            if Some(key) != lose {
                audit.see(0, record.key.as_ref(), record.row.row())?;
            }
        }
        audit.finish()
    }

    #[test]
    fn rows_that_are_lost_or_invented_are_found() {
        assert_eq!(audited(None, None), Ok(()));
        assert!(audited(Some(7), None).unwrap_err().contains("rows"));
        let followed = (0..200).find(|&key| is_followed(key)).expect("one in 64 is followed");
        assert!(audited(None, Some(followed)).unwrap_err().contains("holds write"));
    }

    #[test]
    fn parameters_are_checked() {
        for (changes, problem) in [
            (serde_json::json!({ "records": 0 }), "loaded rows"),
            (serde_json::json!({ "operations": 0 }), "at least one"),
            (serde_json::json!({ "updates": 60, "delete_inserts": 50 }), "more than 100 %"),
            (serde_json::json!({ "updates": -1 }), "between 0 and 100"),
        ] {
            assert!(small(changes).check().unwrap_err().contains(problem), "{problem}");
        }
    }
}
