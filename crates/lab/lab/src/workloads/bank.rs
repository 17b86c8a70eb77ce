//! Bank: transfers between two accounts, and an auditor who must always find the same sum.

use super::{Client, ClientSlot, Stamp, Stamps, Workload};
use crate::draw::Chance;
use crate::record::{Form, KeyForm};
use check::Scalar;
use env::Randomness;
use model::{Access, Error, Key, Mode, Program, Result, RowBuf, RowRef, Scan, Schema, TableId};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// The parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// Accounts.
    pub accounts: u64,
    /// Percentage of transactions that are an audit: a scan of all accounts.
    pub audits: f64,
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
    /// A bank with at least two accounts.
    pub fn new(parameters: Parameters) -> Bank {
        assert!(parameters.accounts >= 2, "a transfer needs two accounts");
        Bank { parameters }
    }

    fn seated(&self, at: ClientSlot<'_>, audits: f64) -> Transactions {
        Transactions {
            table: at.tables[0],
            accounts: self.parameters.accounts,
            audits: Chance::percent(audits),
            transfer_mode: if self.parameters.own_at_statement { Mode::OwnAtStatement } else { Mode::ReadWrite },
            randomness: at.randomness,
            stamps: at.stamps,
            current: Current::Audit,
            from: RowBuf::new(),
            to: RowBuf::new(),
        }
    }
}

impl Workload for Bank {
    type Client = Transactions;

    fn schemas(&self) -> Vec<Schema> {
        vec![Schema::bytes("accounts").u64_key().build().expect("a schema without columns")]
    }

    fn forms(&self) -> Vec<Form> {
        vec![Form { keys: KeyForm::Integers, value: show_account }]
    }

    fn records(&self) -> u64 {
        self.parameters.accounts
    }

    fn record(&self, number: u64, stamp: Stamp, key: &mut Key, row: &mut RowBuf) -> usize {
        key.clear();
        key.push_u64(number);
        row.set_bytes(&account(stamp, OPENING_BALANCE));
        0
    }

    fn client(&self, at: ClientSlot<'_>) -> Transactions {
        self.seated(at, self.parameters.audits)
    }

    fn long_reader(&self, at: ClientSlot<'_>) -> Transactions {
        self.seated(at, 100.0)
    }

    fn closing(&self, at: ClientSlot<'_>) -> Option<Transactions> {
        Some(self.seated(at, 100.0))
    }
}

const ACCOUNT_BYTES: usize = 16;

/// The row of an account: the stamp of its last write, then the balance, little-endian.
fn account(Stamp(stamp): Stamp, balance: i64) -> [u8; ACCOUNT_BYTES] {
    let mut bytes = [0; ACCOUNT_BYTES];
    bytes[..8].copy_from_slice(&stamp.to_le_bytes());
    bytes[8..].copy_from_slice(&balance.to_le_bytes());
    bytes
}

/// The stamp and balance of an account.
///
/// # Panics
/// If it is not the row of an account: then an engine has returned bytes that were never written.
fn read_account(row: RowRef<'_>) -> (Stamp, i64) {
    let bytes: &[u8; ACCOUNT_BYTES] = row.bytes().try_into().expect("all rows are accounts");
    let (stamp, balance) = bytes.split_at(8);
    let word = |half: &[u8]| u64::from_le_bytes(half.try_into().expect("half of sixteen bytes"));
    (Stamp(word(stamp)), word(balance) as i64)
}

fn show_account(row: RowRef<'_>) -> Scalar {
    let (Stamp(stamp), balance) = read_account(row);
    Scalar::from(format!("{stamp} holds {balance}"))
}

#[derive(Clone, Copy, Debug)]
enum Current {
    Transfer { from: u64, to: u64, amount: i64 },
    Audit,
}

/// Observations of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A transfer found both accounts, or not.
    Transfer {
        /// Whether both accounts were found.
        found_both: bool,
    },
    /// An audit found this.
    Audit {
        /// Number of accounts.
        accounts: u64,
        /// Sum of their balances.
        sum: i64,
    },
}

/// A client and its current transaction. It allocates nothing.
#[derive(Debug)]
pub struct Transactions {
    table: TableId,
    accounts: u64,
    audits: Chance,
    transfer_mode: Mode,
    randomness: Randomness,
    stamps: Stamps,
    current: Current,
    from: RowBuf,
    to: RowBuf,
}

impl Transactions {
    /// Moves the amount if the account has it; otherwise the transaction only reads.
    fn transfer<A: Access + ?Sized>(&mut self, access: &mut A, from: u64, to: u64, amount: i64) -> Result<Seen> {
        let (from_key, to_key) = (from.to_be_bytes(), to.to_be_bytes());
        let found_both = access.read_for_update(self.table, &from_key, &mut self.from)?
            && access.read_for_update(self.table, &to_key, &mut self.to)?;
        if !found_both {
            return Ok(Seen::Transfer { found_both });
        }
        let ((_, has), (_, gets)) = (read_account(self.from.row()), read_account(self.to.row()));
        if has >= amount {
            access.put(self.table, &from_key, RowRef::new(&account(self.stamps.draw(), has - amount)))?;
            access.put(self.table, &to_key, RowRef::new(&account(self.stamps.draw(), gets + amount)))?;
        }
        Ok(Seen::Transfer { found_both })
    }

    fn audit<A: Access + ?Sized>(&self, access: &mut A) -> Result<Seen> {
        let (mut accounts, mut sum) = (0, 0);
        access.scan(&Scan::table(self.table), &mut |item| {
            accounts += 1;
            sum += read_account(item.row).1;
            ControlFlow::Continue(())
        })?;
        Ok(Seen::Audit { accounts, sum })
    }
}

impl Program for Transactions {
    type Output = Seen;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<Seen> {
        match self.current {
            Current::Transfer { from, to, amount } => self.transfer(access, from, to, amount),
            Current::Audit => self.audit(access),
        }
    }
}

impl Client for Transactions {
    fn draw(&mut self) -> Mode {
        if self.audits.draw(&mut self.randomness) {
            self.current = Current::Audit;
            return Mode::ReadOnly;
        }
        let from = self.randomness.in_range(0..self.accounts);
        let others = self.randomness.in_range(0..self.accounts - 1);
        let to = if others < from { others } else { others + 1 };
        let amount = self.randomness.in_range(1..MAX_AMOUNT + 1) as i64;
        self.current = Current::Transfer { from, to, amount };
        self.transfer_mode
    }

    fn check(&mut self, seen: Seen) -> std::result::Result<(), String> {
        let expected = Seen::Audit { accounts: self.accounts, sum: OPENING_BALANCE.wrapping_mul(self.accounts as i64) };
        match seen {
            Seen::Transfer { found_both: true } => Ok(()),
            Seen::Transfer { found_both: false } => Err("a transfer found an account missing".to_owned()),
            audit if audit == expected => Ok(()),
            audit => Err(format!("the audit found {audit:?} instead of {expected:?}")),
        }
    }
}
