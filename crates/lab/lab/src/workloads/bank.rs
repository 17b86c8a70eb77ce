//! Bank: transfers between two accounts, and an auditor who must always find the same sum.
//!
//! # What is checked
//! Every audit finds all accounts and the opening sum. At the end: the same, and accounts that are followed hold the last
//! committed write of some client.

use super::audit::{Audit, LastWrites, LastWritesAudit, expect, is_followed};
use super::{
    Call, Client, ClientSlot, Partitioned, Record, Stamp, Stamps, Submission, Workload, decode, encode, register,
    submit, submit_batch,
};
use crate::draw::Chance;
use crate::record::{Form, KeyForm};
use check::Scalar;
use env::Randomness;
use model::{
    Access, Columns, Declared, Error, Footprint, Key, Malformed, Mode, Procedure, Program, Registry, Result, RowBuf,
    RowRef, Scan, Schema, TableId, Ticket, Touch,
};
use serde::{Deserialize, Serialize};
use std::ops::{Bound, ControlFlow};

/// Its name on the command line and in rows.
pub const NAME: &str = "bank";
/// The file of its presets.
pub const PRESETS: &str = include_str!("../../workloads/bank.toml");

/// The parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Accounts.
    pub accounts: u64,
    /// Percentage of transactions that are an audit: a scan of all accounts.
    pub audits: f64,
    /// Accounts are divided among so many, by number; a client keeps to one, with its transfers.
    pub partitions: u64,
    /// Percentage of transfers to an account of another partition.
    pub remote: f64,
    /// Whether a transfer locks an account at the statement that writes it.
    pub own_at_statement: bool,
}

/// Initial balance of every account.
const OPENING_BALANCE: i64 = 1_000;
/// The largest transfer.
const MAX_AMOUNT: u64 = 100;

/// The workload.
#[derive(Debug)]
pub struct Bank {
    parameters: Parameters,
}

impl Bank {
    /// A bank with at least two accounts in each partition.
    pub fn new(parameters: Parameters) -> Bank {
        assert!(parameters.partitions >= 1, "accounts belong to a partition");
        assert!(parameters.accounts >= 2 * parameters.partitions, "a transfer needs two accounts");
        Bank { parameters }
    }

    fn sum(&self) -> i64 {
        OPENING_BALANCE.wrapping_mul(self.parameters.accounts as i64)
    }

    fn seated(&self, at: ClientSlot<'_>, audits: f64) -> Transactions {
        Transactions {
            accounts: self.parameters.accounts,
            partitions: self.parameters.partitions,
            home: u64::from(at.number.saturating_sub(1)) % self.parameters.partitions,
            remote: Chance::percent(self.parameters.remote),
            sum: self.sum(),
            audits: Chance::percent(audits),
            transfer_mode: if self.parameters.own_at_statement { Mode::OwnAtStatement } else { Mode::ReadWrite },
            randomness: at.randomness,
            call: Transaction {
                table: at.tables[0].0,
                kind: Kind::Audit,
                stamps: at.stamps,
                from: RowBuf::new(),
                to: RowBuf::new(),
            },
            last_writes: LastWrites::default(),
        }
    }
}

impl Workload for Bank {
    type Client = Transactions;
    type Audit = BankAudit;

    fn schemas(&self) -> Vec<Schema> {
        vec![Schema::bytes("accounts").u64_key().build().expect("a schema without columns")]
    }

    fn forms(&self) -> Vec<Form> {
        vec![Form { keys: KeyForm::Integers, value: show_account }]
    }

    fn records(&self) -> u64 {
        self.parameters.accounts
    }

    fn load(&self, mut stamps: Stamps) -> impl Iterator<Item = Record> {
        (0..self.parameters.accounts).map(move |number| Record {
            table: 0,
            key: Key::from_u64(number),
            row: RowBuf::from_bytes(&account(stamps.draw(), OPENING_BALANCE)),
        })
    }

    fn client(&self, at: ClientSlot<'_>) -> Transactions {
        self.seated(at, self.parameters.audits)
    }

    fn long_reader(&self, at: ClientSlot<'_>) -> Transactions {
        self.seated(at, 100.0)
    }

    fn audit(&self, clients: &[&Transactions]) -> Option<BankAudit> {
        Some(BankAudit {
            last_writes: LastWritesAudit::new(clients.iter().map(|client| &client.last_writes)),
            seen: (0, 0),
            expected: (self.parameters.accounts, self.sum()),
        })
    }
}

const ACCOUNT_BYTES: usize = 16;

/// A row with a balance: the stamp of its last write, then the balance, little-endian.
pub(super) fn account(Stamp(stamp): Stamp, balance: i64) -> [u8; ACCOUNT_BYTES] {
    let mut bytes = [0; ACCOUNT_BYTES];
    bytes[..8].copy_from_slice(&stamp.to_le_bytes());
    bytes[8..].copy_from_slice(&balance.to_le_bytes());
    bytes
}

/// The stamp and balance of such a row; `None` if it is none: then an engine has returned bytes that were never written.
pub(super) fn read_account(row: RowRef<'_>) -> Option<(Stamp, i64)> {
    let bytes: &[u8; ACCOUNT_BYTES] = row.bytes().try_into().ok()?;
    let (stamp, balance) = bytes.split_at(8);
    let word = |half: &[u8]| u64::from_le_bytes(half.try_into().expect("half of sixteen bytes"));
    Some((Stamp(word(stamp)), word(balance) as i64))
}

/// Value of such a row in a history.
pub(super) fn show_account(row: RowRef<'_>) -> Scalar {
    match read_account(row) {
        Some((Stamp(stamp), balance)) => Scalar::from(format!("{stamp} holds {balance}")),
        None => super::ycsb::stamp_value(None, row),
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Kind {
    Transfer { from: u64, to: u64, amount: i64 },
    Audit,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Transfer { .. } => "Transfer",
            Kind::Audit => "Audit",
        }
    }
}

/// A transfer or an audit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Transaction {
    table: u32,
    kind: Kind,
    stamps: Stamps,
    #[serde(skip)]
    from: RowBuf,
    #[serde(skip)]
    to: RowBuf,
}

/// Observations of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A transfer found an account missing, or a row that is no account.
    Damage,
    /// A transfer found too little on an account, and wrote nothing.
    TooLittle,
    /// A transfer wrote both accounts.
    Transfer {
        /// The accounts, each with its write.
        written: [(u64, Stamp); 2],
    },
    /// An audit found this.
    Audit {
        /// Number of accounts.
        accounts: u64,
        /// Sum of their balances.
        sum: i64,
    },
}

impl Transaction {
    fn table(&self) -> TableId {
        TableId(self.table)
    }

    /// Moves the amount if the account has it; otherwise the transaction only reads.
    fn transfer<A: Access + ?Sized>(&mut self, access: &mut A, from: u64, to: u64, amount: i64) -> Result<Seen> {
        let (from_key, to_key) = (from.to_be_bytes(), to.to_be_bytes());
        let found_both = access.read_for_update(self.table(), &from_key, Columns::All, &mut self.from)?
            && access.read_for_update(self.table(), &to_key, Columns::All, &mut self.to)?;
        let accounts = (read_account(self.from.row()), read_account(self.to.row()));
        let (true, (Some((_, has)), Some((_, gets)))) = (found_both, accounts) else { return Ok(Seen::Damage) };
        if has < amount {
            return Ok(Seen::TooLittle);
        }
        let (taken, given) = (self.stamps.draw(), self.stamps.draw());
        access.put(self.table(), &from_key, RowRef::new(&account(taken, has - amount)))?;
        access.put(self.table(), &to_key, RowRef::new(&account(given, gets + amount)))?;
        Ok(Seen::Transfer { written: [(from, taken), (to, given)] })
    }

    fn audit<A: Access + ?Sized>(&self, access: &mut A) -> Result<Seen> {
        let (mut accounts, mut sum, mut is_damaged) = (0, 0i64, false);
        access.scan(&Scan::table(self.table()), &mut |item| {
            match read_account(item.row) {
                Some((_, balance)) => (accounts, sum) = (accounts + 1, sum.wrapping_add(balance)),
                None => is_damaged = true,
            }
            ControlFlow::Continue(())
        })?;
        Ok(if is_damaged { Seen::Damage } else { Seen::Audit { accounts, sum } })
    }
}

impl Program for Transaction {
    type Output = Seen;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<Seen> {
        match self.kind {
            Kind::Transfer { from, to, amount } => self.transfer(access, from, to, amount),
            Kind::Audit => self.audit(access),
        }
    }
}

impl Procedure for Transaction {
    const NAME: &'static str = "bank";

    fn encode_arguments(&self, out: &mut Vec<u8>) {
        encode(self, out);
    }

    fn decode_arguments(arguments: &[u8]) -> std::result::Result<Transaction, Malformed> {
        decode(arguments)
    }

    fn footprint<A: Access + ?Sized>(&self, _: &mut A) -> Result<Footprint> {
        let it = Footprint::default();
        Ok(match self.kind {
            Kind::Transfer { from, to, .. } => {
                it.touches(self.table(), from, Touch::Update).touches(self.table(), to, Touch::Update)
            }
            Kind::Audit => it.reads_range(self.table(), Bound::Unbounded, Bound::Unbounded),
        })
    }
}

impl Call for Transaction {
    fn stamps(&mut self) -> &mut Stamps {
        &mut self.stamps
    }
}

/// A client. It allocates nothing.
#[derive(Debug)]
pub struct Transactions {
    accounts: u64,
    partitions: u64,
    home: u64,
    remote: Chance,
    sum: i64,
    audits: Chance,
    transfer_mode: Mode,
    randomness: Randomness,
    call: Transaction,
    last_writes: LastWrites,
}

impl Transactions {
    /// Accounts of a partition.
    fn accounts_of(&self, partition: u64) -> u64 {
        (self.accounts - partition).div_ceil(self.partitions)
    }

    /// Two accounts of the own partition, or the second of another.
    fn draw_accounts(&mut self) -> (u64, u64) {
        let own = self.accounts_of(self.home);
        let from = self.randomness.in_range(0..own);
        let number = |partition: u64, at: u64| at * self.partitions + partition;
        if self.partitions > 1 && self.remote.draw(&mut self.randomness) {
            let other = another(self.randomness.in_range(0..self.partitions - 1), self.home);
            let to = self.randomness.in_range(0..self.accounts_of(other));
            return (number(self.home, from), number(other, to));
        }
        let to = another(self.randomness.in_range(0..own - 1), from);
        (number(self.home, from), number(self.home, to))
    }
}

/// Of numbers without one, the one at a place.
fn another(at: u64, without: u64) -> u64 {
    if at < without { at } else { at + 1 }
}

impl Partitioned for Bank {
    fn home(&self, nodes: u64, _: usize, key: &[u8]) -> Option<u64> {
        Key::to_u64(key).map(|number| number % self.parameters.partitions % nodes)
    }

    fn node_of(&self, nodes: u64, client: u32) -> u64 {
        u64::from(client.saturating_sub(1)) % self.parameters.partitions % nodes
    }
}

impl Client for Transactions {
    type Call = Transaction;

    fn draw(&mut self) -> Mode {
        if self.audits.draw(&mut self.randomness) {
            self.call.kind = Kind::Audit;
            return Mode::ReadOnly;
        }
        let (from, to) = self.draw_accounts();
        let amount = self.randomness.in_range(1..MAX_AMOUNT + 1) as i64;
        self.call.kind = Kind::Transfer { from, to, amount };
        self.transfer_mode
    }

    fn call(&mut self) -> &mut Transaction {
        &mut self.call
    }

    fn kind(&self) -> Option<&'static str> {
        Some(self.call.kind.name())
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

    fn check(&mut self, seen: Seen) -> std::result::Result<(), String> {
        match seen {
            Seen::TooLittle => Ok(()),
            Seen::Damage => Err("an account was missing or damaged".to_owned()),
            Seen::Transfer { written } => {
                let followed = written.into_iter().filter(|(account, _)| is_followed(*account));
                followed.for_each(|(account, stamp)| self.last_writes.note(account, stamp));
                Ok(())
            }
            Seen::Audit { accounts, sum } => {
                expect("accounts in an audit", accounts, self.accounts)?;
                expect("the sum of an audit", sum, self.sum)
            }
        }
    }
}

/// The closing audit.
#[derive(Debug)]
pub struct BankAudit {
    last_writes: LastWritesAudit,
    /// Accounts and their sum.
    seen: (u64, i64),
    expected: (u64, i64),
}

impl Audit for BankAudit {
    fn see(&mut self, _: usize, key: &[u8], row: RowRef<'_>) -> std::result::Result<(), String> {
        let key = Key::to_u64(key).ok_or("a key that is no account's")?;
        let (stamp, balance) = read_account(row).ok_or_else(|| format!("account {key} is damaged"))?;
        self.seen = (self.seen.0 + 1, self.seen.1.wrapping_add(balance));
        self.last_writes.check(key, stamp)
    }

    fn finish(self) -> std::result::Result<(), String> {
        expect("accounts in the closing audit", self.seen.0, self.expected.0)?;
        expect("the sum of the closing audit", self.seen.1, self.expected.1)
    }
}
