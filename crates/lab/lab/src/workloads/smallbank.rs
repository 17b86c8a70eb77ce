//! SmallBank: five short transactions on the savings and checking accounts of customers, who are known by name.
//!
//! Source: Cahill, Röhm and Fekete, "Serializable isolation for snapshot databases", SIGMOD 2008, section 5.1; BOHM (VLDB '15),
//! section 4.3: each transaction is a fifth of the load, and computes for a while besides.
//!
//! Deviation: rows of accounts have 16 bytes instead of 8. A stamp beside the balance names the write.
//!
//! # What is checked
//! Customers and accounts are found. At the end: the balances add up to what was there plus what committed transactions paid in and
//! out; accounts that are followed hold the last committed write of some client.

use super::audit::{Audit, LastWrites, LastWritesAudit, expect, is_followed};
use super::bank::{account, read_account, show_account};
use super::ycsb::{StorageName, stamp_value};
use super::{
    Call, Client, ClientSlot, Record, Stamp, Stamps, Submission, Workload, decode, encode, give_up, numbers, register,
    submit, submit_batch,
};
use crate::draw::Zipf;
use crate::record::{Form, KeyForm};
use env::Randomness;
use env::time::{Duration, Instant};
use model::{
    Access, Columns, Declared, Error, Footprint, Key, Malformed, Mode, Procedure, Program, Registry, Result, RowBuf,
    RowRef, Schema, TableId, Ticket, Touch,
};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Its name on the command line and in rows.
pub const NAME: &str = "smallbank";
/// The file of its presets.
pub const PRESETS: &str = include_str!("../../workloads/smallbank.toml");

/// The parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Customers, each with two accounts. At least two.
    pub customers: u64,
    /// Popularity of customers, see [`Zipf`].
    pub theta: f64,
    /// Microseconds that each transaction computes besides.
    pub spin_us: u64,
    /// Access method of the tables.
    pub storage: StorageName,
    /// Whether a transaction locks a row at the statement that writes it.
    pub own_at_statement: bool,
}

const CUSTOMERS: usize = 0;
const SAVINGS: usize = 1;
const CHECKING: usize = 2;

/// Initial balance of every account.
const OPENING_BALANCE: i64 = 10_000;
/// The largest amount of a transaction.
const MAX_AMOUNT: u64 = 100;
/// What a check costs that is not covered.
const PENALTY: i64 = 1;

/// The workload.
#[derive(Debug)]
pub struct Smallbank {
    parameters: Parameters,
    customers: Zipf,
}

impl Smallbank {
    /// A bank with at least two customers.
    pub fn new(parameters: Parameters) -> Smallbank {
        assert!(parameters.customers >= 2, "a transfer needs two customers");
        Smallbank { customers: Zipf::new(parameters.customers, parameters.theta), parameters }
    }
}

impl Workload for Smallbank {
    type Client = Transactions;
    type Audit = SmallbankAudit;

    fn schemas(&self) -> Vec<Schema> {
        let storage = self.parameters.storage.storage();
        let accounts = |name| Schema::bytes(name).u64_key().storage(storage).build().expect("a sound schema");
        let customers = Schema::bytes("customers").storage(storage).build().expect("a sound schema");
        vec![customers, accounts("savings"), accounts("checking")]
    }

    fn forms(&self) -> Vec<Form> {
        let customer = |row: RowRef<'_>| stamp_value(read_customer(row).map(|(stamp, _)| stamp), row);
        vec![
            Form { keys: KeyForm::Text("customers".into()), value: customer },
            Form { keys: KeyForm::Text("savings".into()), value: show_account },
            Form { keys: KeyForm::Text("checking".into()), value: show_account },
        ]
    }

    fn records(&self) -> u64 {
        3 * self.parameters.customers
    }

    fn load(&self, mut stamps: Stamps) -> impl Iterator<Item = Record> {
        (0..self.parameters.customers).flat_map(move |id| {
            let key = Key::from_u64(id);
            let mut account_in = |table| {
                let row = RowBuf::from_bytes(&account(stamps.draw(), OPENING_BALANCE));
                Record { table, key: key.clone(), row }
            };
            let accounts = [SAVINGS, CHECKING].map(&mut account_in);
            let row = RowBuf::from_bytes(&customer(stamps.draw(), id));
            let [savings, checking] = accounts;
            [Record { table: CUSTOMERS, key: name_of(id), row }, savings, checking]
        })
    }

    fn client(&self, at: ClientSlot<'_>) -> Transactions {
        Transactions {
            parameters: self.parameters.clone(),
            customers: self.customers,
            reads_only: false,
            randomness: at.randomness,
            call: Transaction {
                tables: numbers(at.tables),
                kind: Kind::Balance { customer: 0 },
                spin_us: self.parameters.spin_us,
                stamps: at.stamps,
                row: RowBuf::new(),
            },
            books: Books::default(),
        }
    }

    /// Reads balances.
    fn long_reader(&self, at: ClientSlot<'_>) -> Transactions {
        Transactions { reads_only: true, ..self.client(at) }
    }

    fn audit(&self, clients: &[&Transactions]) -> Option<SmallbankAudit> {
        let last_writes = |table: fn(&Books) -> &LastWrites| {
            LastWritesAudit::new(clients.iter().map(move |client| table(&client.books)))
        };
        let opening = OPENING_BALANCE * 2 * self.parameters.customers as i64;
        Some(SmallbankAudit {
            customers: self.parameters.customers,
            seen: [0; 3],
            sum: 0,
            expected_sum: opening + clients.iter().map(|client| client.books.paid_in).sum::<i64>(),
            savings: last_writes(|books| &books.savings),
            checking: last_writes(|books| &books.checking),
        })
    }
}

/// A customer's name, by which it is found.
fn name_of(id: u64) -> Key {
    Key::from(format!("customer {id:010}").as_str())
}

const CUSTOMER_BYTES: usize = 16;

/// The row of a customer: its number, which never changes, behind a stamp.
fn customer(stamp: Stamp, id: u64) -> [u8; CUSTOMER_BYTES] {
    account(stamp, id as i64)
}

fn read_customer(row: RowRef<'_>) -> Option<(Stamp, u64)> {
    read_account(row).map(|(stamp, id)| (stamp, id as u64))
}

/// A transaction of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    /// Reads both accounts.
    Balance { customer: u64 },
    /// Pays in to the checking account.
    Deposit { customer: u64, amount: i64 },
    /// Pays in to the savings account, or out.
    TransactSaving { customer: u64, amount: i64 },
    /// Moves everything of one customer to another's checking account.
    Amalgamate { from: u64, to: u64 },
    /// Pays out of the checking account, with a penalty if both accounts have too little.
    WriteCheck { customer: u64, amount: i64 },
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Balance { .. } => "Balance",
            Kind::Deposit { .. } => "DepositChecking",
            Kind::TransactSaving { .. } => "TransactSaving",
            Kind::Amalgamate { .. } => "Amalgamate",
            Kind::WriteCheck { .. } => "WriteCheck",
        }
    }
}

/// A transaction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Transaction {
    tables: [u32; 3],
    kind: Kind,
    spin_us: u64,
    stamps: Stamps,
    #[serde(skip)]
    row: RowBuf,
}

/// What a transaction found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Whether a customer or an account was missing, or no such row.
    pub is_damaged: bool,
    /// Money that came from outside, or went there.
    pub paid_in: i64,
    /// Writes of accounts that are followed: table, customer.
    pub followed: SmallVec<[(u8, u64, Stamp); 3]>,
}

impl Transaction {
    fn table(&self, table: usize) -> TableId {
        TableId(self.tables[table])
    }

    /// Finds a customer by name.
    fn customer<A: Access + ?Sized>(&mut self, access: &mut A, id: u64) -> Result<Option<u64>> {
        let found = access.read(self.table(CUSTOMERS), &name_of(id), Columns::All, &mut self.row)?;
        Ok(if found { read_customer(self.row.row()).map(|(_, id)| id) } else { None })
    }

    /// Reads an account, which is going to be written if `for_update`.
    fn balance<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        table: usize,
        id: u64,
        for_update: bool,
    ) -> Result<Option<i64>> {
        let (table, key) = (self.table(table), id.to_be_bytes());
        let found = match for_update {
            true => access.read_for_update(table, &key, Columns::All, &mut self.row)?,
            false => access.read(table, &key, Columns::All, &mut self.row)?,
        };
        Ok(if found { read_account(self.row.row()).map(|(_, balance)| balance) } else { None })
    }

    fn set<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        table: usize,
        id: u64,
        balance: i64,
        seen: &mut Seen,
    ) -> Result<()> {
        let stamp = self.stamps.draw();
        access.put(self.table(table), &id.to_be_bytes(), RowRef::new(&account(stamp, balance)))?;
        if is_followed(id) {
            seen.followed.push((table as u8, id, stamp));
        }
        Ok(())
    }

    /// The body; `None` if a row was missing or damaged.
    fn perform<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<Option<Seen>> {
        let mut seen = Seen::default();
        match self.kind {
            Kind::Balance { customer } => {
                let Some(id) = self.customer(access, customer)? else { return Ok(None) };
                let savings = self.balance(access, SAVINGS, id, false)?;
                let checking = self.balance(access, CHECKING, id, false)?;
                return Ok(savings.and(checking).map(|_| seen));
            }
            Kind::Deposit { customer, amount } => {
                let Some(id) = self.customer(access, customer)? else { return Ok(None) };
                let Some(checking) = self.balance(access, CHECKING, id, true)? else { return Ok(None) };
                self.set(access, CHECKING, id, checking + amount, &mut seen)?;
                seen.paid_in = amount;
            }
            Kind::TransactSaving { customer, amount } => {
                let Some(id) = self.customer(access, customer)? else { return Ok(None) };
                let Some(savings) = self.balance(access, SAVINGS, id, true)? else { return Ok(None) };
                if savings + amount < 0 {
                    return Err(give_up("insufficient-funds", "the savings account has less than is to be paid out"));
                }
                self.set(access, SAVINGS, id, savings + amount, &mut seen)?;
                seen.paid_in = amount;
            }
            Kind::Amalgamate { from, to } => {
                let (Some(from), Some(to)) = (self.customer(access, from)?, self.customer(access, to)?) else {
                    return Ok(None);
                };
                let savings = self.balance(access, SAVINGS, from, true)?;
                let checking = self.balance(access, CHECKING, from, true)?;
                let others = self.balance(access, CHECKING, to, true)?;
                let (Some(savings), Some(checking), Some(others)) = (savings, checking, others) else {
                    return Ok(None);
                };
                self.set(access, SAVINGS, from, 0, &mut seen)?;
                self.set(access, CHECKING, from, 0, &mut seen)?;
                self.set(access, CHECKING, to, others + savings + checking, &mut seen)?;
            }
            Kind::WriteCheck { customer, amount } => {
                let Some(id) = self.customer(access, customer)? else { return Ok(None) };
                let savings = self.balance(access, SAVINGS, id, false)?;
                let checking = self.balance(access, CHECKING, id, true)?;
                let (Some(savings), Some(checking)) = (savings, checking) else { return Ok(None) };
                let amount = if savings + checking < amount { amount + PENALTY } else { amount };
                self.set(access, CHECKING, id, checking - amount, &mut seen)?;
                seen.paid_in = -amount;
            }
        }
        Ok(Some(seen))
    }

    /// The rest of a transaction's work.
    fn spin(&self) {
        if self.spin_us > 0 {
            let start = Instant::now();
            let duration = Duration::from_micros(self.spin_us);
            while start.elapsed() < duration {
                std::hint::spin_loop();
            }
        }
    }
}

impl Program for Transaction {
    type Output = Seen;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<Seen> {
        let seen = self.perform(access)?;
        self.spin();
        Ok(seen.unwrap_or(Seen { is_damaged: true, ..Seen::default() }))
    }
}

impl Procedure for Transaction {
    const NAME: &'static str = NAME;

    fn encode_arguments(&self, out: &mut Vec<u8>) {
        encode(self, out);
    }

    fn decode_arguments(arguments: &[u8]) -> std::result::Result<Transaction, Malformed> {
        decode(arguments)
    }

    /// The accounts are those of the customers that a trial read finds.
    fn footprint<A: Access + ?Sized>(&self, access: &mut A) -> Result<Footprint> {
        use Touch::{Read, Update};
        let mut trial = self.clone();
        let (first, second) = match self.kind {
            Kind::Balance { customer } => ((customer, [Some(Read), Some(Read)]), None),
            Kind::Deposit { customer, .. } => ((customer, [None, Some(Update)]), None),
            Kind::TransactSaving { customer, .. } => ((customer, [Some(Update), None]), None),
            Kind::Amalgamate { from, to } => ((from, [Some(Update), Some(Update)]), Some((to, [None, Some(Update)]))),
            Kind::WriteCheck { customer, .. } => ((customer, [Some(Read), Some(Update)]), None),
        };
        let mut footprint = Footprint::default();
        for (customer, touches) in [Some(first), second].into_iter().flatten() {
            footprint = footprint.reads(self.table(CUSTOMERS), name_of(customer));
            let Some(id) = trial.customer(access, customer)? else { continue };
            for (table, touch) in [SAVINGS, CHECKING].into_iter().zip(touches) {
                footprint = match touch {
                    Some(touch) => footprint.touches(self.table(table), id, touch),
                    None => footprint,
                };
            }
        }
        Ok(footprint)
    }
}

impl Call for Transaction {
    fn stamps(&mut self) -> &mut Stamps {
        &mut self.stamps
    }
}

/// What a client's committed transactions did.
#[derive(Clone, Debug, Default)]
struct Books {
    paid_in: i64,
    savings: LastWrites,
    checking: LastWrites,
}

/// A client.
#[derive(Debug)]
pub struct Transactions {
    parameters: Parameters,
    customers: Zipf,
    reads_only: bool,
    randomness: Randomness,
    call: Transaction,
    books: Books,
}

impl Transactions {
    fn draw_kind(&mut self) -> Kind {
        let customer = self.customers.draw(&mut self.randomness);
        if self.reads_only {
            return Kind::Balance { customer };
        }
        let amount = self.randomness.in_range(1..MAX_AMOUNT + 1) as i64;
        match self.randomness.in_range(0..5) {
            0 => Kind::Balance { customer },
            1 => Kind::Deposit { customer, amount },
            2 => Kind::TransactSaving { customer, amount: if self.randomness.chance(1, 2) { amount } else { -amount } },
            3 => Kind::Amalgamate { from: customer, to: self.another(customer) },
            _ => Kind::WriteCheck { customer, amount },
        }
    }

    fn another(&mut self, customer: u64) -> u64 {
        let other = self.customers.draw(&mut self.randomness);
        if other == customer { (other + 1) % self.parameters.customers } else { other }
    }
}

impl Client for Transactions {
    type Call = Transaction;

    fn draw(&mut self) -> Mode {
        self.call.kind = self.draw_kind();
        match (self.call.kind, self.parameters.own_at_statement) {
            (Kind::Balance { .. }, _) => Mode::ReadOnly,
            (_, true) => Mode::OwnAtStatement,
            (_, false) => Mode::ReadWrite,
        }
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
        if seen.is_damaged {
            return Err("a customer or an account was missing or damaged".to_owned());
        }
        self.books.paid_in += seen.paid_in;
        for (table, id, stamp) in seen.followed {
            let writes = if usize::from(table) == SAVINGS { &mut self.books.savings } else { &mut self.books.checking };
            writes.note(id, stamp);
        }
        Ok(())
    }
}

/// The closing audit.
#[derive(Debug)]
pub struct SmallbankAudit {
    customers: u64,
    /// Rows by table.
    seen: [u64; 3],
    sum: i64,
    expected_sum: i64,
    savings: LastWritesAudit,
    checking: LastWritesAudit,
}

impl Audit for SmallbankAudit {
    fn see(&mut self, table: usize, key: &[u8], row: RowRef<'_>) -> std::result::Result<(), String> {
        self.seen[table] += 1;
        let damaged = || format!("a row of table {table} is damaged");
        if table == CUSTOMERS {
            let (_, id) = read_customer(row).ok_or_else(damaged)?;
            return if name_of(id)[..] == *key { Ok(()) } else { Err(format!("customer {id} has another's name")) };
        }
        let (stamp, balance) = read_account(row).ok_or_else(damaged)?;
        self.sum += balance;
        let audit = if table == SAVINGS { &self.savings } else { &self.checking };
        audit.check(Key::to_u64(key).ok_or_else(damaged)?, stamp)
    }

    fn finish(self) -> std::result::Result<(), String> {
        for (table, seen) in ["customers", "savings", "checking"].into_iter().zip(self.seen) {
            expect(table, seen, self.customers)?;
        }
        expect("the sum of all balances", self.sum, self.expected_sum)
    }
}
