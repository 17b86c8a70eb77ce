//! The transaction of TPC-C: which one it is, its arguments, and what all of them use.

use super::schema::STAMP;
use crate::workloads::bank::{account, read_account};
use crate::workloads::reconnaissance;
use crate::workloads::{Call, Stamps, decode, encode, numbers};
use model::{
    Access, Columns, Delta, Error, Footprint, Key, Malformed, Procedure, Program, Result, RowBuf, RowRef, Scan, TableId,
};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Which transaction. A district is its warehouse's number and its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    NewOrder { district: (u64, u64), customer: u64 },
    Payment { district: (u64, u64), of: (u64, u64), customer: CustomerBy, amount: i64 },
    OrderStatus { district: (u64, u64), customer: CustomerBy },
    Delivery { warehouse: u64, carrier: i64 },
    StockLevel { district: (u64, u64), threshold: i64 },
    StockScan,
    TopCustomer { district: (u64, u64) },
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::NewOrder { .. } => "NewOrder",
            Kind::Payment { .. } => "Payment",
            Kind::OrderStatus { .. } => "OrderStatus",
            Kind::Delivery { .. } => "Delivery",
            Kind::StockLevel { .. } => "StockLevel",
            Kind::StockScan => "StockScan",
            Kind::TopCustomer { .. } => "TopCustomer",
        }
    }

    pub fn writes(self) -> bool {
        match self {
            Kind::NewOrder { .. } | Kind::Payment { .. } | Kind::Delivery { .. } | Kind::TopCustomer { .. } => true,
            Kind::OrderStatus { .. } | Kind::StockLevel { .. } | Kind::StockScan => false,
        }
    }
}

/// How a customer of a district is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum CustomerBy {
    Number(u64),
    LastName(u64),
}

/// A line of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Line {
    pub item: u64,
    pub supplier: u64,
    pub quantity: i64,
}

/// A transaction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Transaction {
    tables: [u32; super::schema::TABLES],
    kind: Kind,
    /// Of a new order.
    pub(super) lines: Vec<Line>,
    /// Its time.
    pub(super) now: i64,
    /// Number of a payment: the same in every attempt.
    pub(super) number: u64,
    /// Rows of the whole stock.
    pub(super) stock_rows: u64,
    stamps: Stamps,
    #[serde(skip)]
    pub(super) row: RowBuf,
}

/// What a committed transaction did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It ordered so many pieces.
    NewOrder {
        /// The sum over all lines.
        pieces: i64,
    },
    /// It paid.
    Payment,
    /// It delivered so many orders.
    Delivery {
        /// At most one of each district.
        orders: u64,
    },
    /// It read, or wrote what is not counted.
    Other,
    /// A row was not there that must be, or was none of its table.
    Missing(&'static str),
}

impl Transaction {
    pub(super) fn new(tables: &[TableId], stock_rows: u64, stamps: Stamps) -> Transaction {
        Transaction {
            tables: numbers(tables),
            kind: Kind::StockScan,
            lines: Vec::new(),
            now: 0,
            number: 0,
            stock_rows,
            stamps,
            row: RowBuf::new(),
        }
    }

    /// Begins another one.
    pub(super) fn clear(&mut self, now: i64) {
        self.lines.clear();
        self.now = now;
        self.number = self.stamps.draw().0;
    }

    pub(super) fn add(&mut self, line: Line) {
        self.lines.push(line);
    }

    pub(super) fn set(&mut self, kind: Kind) {
        self.kind = kind;
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn table(&self, table: usize) -> TableId {
        TableId(self.tables[table])
    }

    /// A fresh stamp.
    pub(super) fn stamp(&mut self) -> i64 {
        self.stamps.draw().to_int()
    }

    /// Reads columns of a row into the buffer: they stand there in this order.
    pub(super) fn read<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        table: usize,
        key: u64,
        columns: &[u16],
    ) -> Result<bool> {
        access.read(self.table(table), &key.to_be_bytes(), Columns::Some(columns), &mut self.row)
    }

    /// Same as [`Transaction::read`], of a row that is going to be changed.
    pub(super) fn hold<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        table: usize,
        key: u64,
        columns: &[u16],
    ) -> Result<bool> {
        access.read_for_update(self.table(table), &key.to_be_bytes(), Columns::Some(columns), &mut self.row)
    }

    /// Changes a row; false if there is none.
    pub(super) fn change<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        table: usize,
        key: u64,
        delta: Delta,
    ) -> Result<bool> {
        let delta = delta.set(STAMP, self.stamp());
        access.update(self.table(table), &key.to_be_bytes(), &delta)
    }

    /// An integer of the row in the buffer.
    pub(super) fn int(&self, column: u16) -> i64 {
        int(self.row.row(), column)
    }

    pub(super) fn insert<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        table: usize,
        key: u64,
        row: &RowBuf,
    ) -> Result<()> {
        access.insert(self.table(table), &key.to_be_bytes(), row.row())
    }

    /// Inserts an entry that names a number.
    pub(super) fn insert_entry<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        table: usize,
        key: &Key,
        number: u64,
    ) -> Result<()> {
        let entry = account(self.stamps.draw(), number as i64);
        access.insert(self.table(table), key, RowRef::new(&entry))
    }

    /// Number of a customer: by name it is the one in the middle of all who have it, by first name (clause 2.5.2.2).
    pub(super) fn find_customer<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        district_key: u64,
        customer: CustomerBy,
    ) -> Result<Option<u64>> {
        let name = match customer {
            CustomerBy::Number(number) => return Ok(Some(number)),
            CustomerBy::LastName(number) => super::draw::name(number),
        };
        let mut found = Vec::new();
        let prefix = super::schema::name_prefix(district_key, &name);
        access.scan(&Scan::table(self.table(super::schema::BY_NAME)).prefix(prefix), &mut |item| {
            found.extend(read_account(item.row).map(|(_, customer)| customer as u64));
            ControlFlow::Continue(())
        })?;
        Ok(found.get(found.len().saturating_sub(1) / 2).copied())
    }
}

/// An integer of a row; 0 where it has another value: the audit sees that.
pub(super) fn int(row: RowRef<'_>, column: u16) -> i64 {
    row.get(usize::from(column)).as_int().unwrap_or(0)
}

impl Program for Transaction {
    type Output = Seen;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<Seen> {
        match self.kind {
            Kind::NewOrder { district, customer } => self.new_order(access, district, customer),
            Kind::Payment { district, of, customer, amount } => self.payment(access, district, of, customer, amount),
            Kind::OrderStatus { district, customer } => self.order_status(access, district, customer),
            Kind::Delivery { warehouse, carrier } => self.deliver(access, warehouse, carrier),
            Kind::StockLevel { district, threshold } => self.stock_level(access, district, threshold),
            Kind::StockScan => self.stock_scan(access),
            Kind::TopCustomer { district } => self.top_customer(access, district),
        }
    }
}

impl Procedure for Transaction {
    const NAME: &'static str = super::NAME;

    fn encode_arguments(&self, out: &mut Vec<u8>) {
        encode(self, out);
    }

    fn decode_arguments(arguments: &[u8]) -> std::result::Result<Transaction, Malformed> {
        decode(arguments)
    }

    fn guesses(&self) -> bool {
        true
    }

    /// A trial run finds numbers of orders, customers by name, and what is to be delivered.
    fn footprint<A: Access + ?Sized>(&self, access: &mut A) -> Result<Footprint> {
        reconnaissance::footprint(self.clone(), access)
    }
}

impl Call for Transaction {
    fn stamps(&mut self) -> &mut Stamps {
        &mut self.stamps
    }
}
