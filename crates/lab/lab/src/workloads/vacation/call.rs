//! The transaction of Vacation: which one it is, its arguments, and its body.

use super::rows::{Booking, Offer};
use super::{CUSTOMERS, OFFERS};
use crate::workloads::{Call, Stamps, decode, encode, numbers, reconnaissance};
use model::{Access, Columns, Error, Footprint, Malformed, Procedure, Program, Result, RowBuf, TableId};
use serde::{Deserialize, Serialize};

/// Which transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// Looks at these offers, and books the dearest of each table that is free.
    Book { customer: u64, queries: Vec<Query> },
    /// Gives everything back, and goes.
    DeleteCustomer { customer: u64 },
    /// Adds to what there is, or takes away what is free.
    Update { changes: Vec<Change> },
}

/// An offer to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Query {
    pub table: usize,
    pub number: u64,
}

/// A change of an offer: a new price and more of it, or less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Change {
    pub offer: Query,
    /// `None`: takes away.
    pub price: Option<i64>,
}

/// How many of an offer come or go at a time.
pub(super) const LOT: i64 = 100;

impl Kind {
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Book { .. } => "MakeReservation",
            Kind::DeleteCustomer { .. } => "DeleteCustomer",
            Kind::Update { .. } => "UpdateTables",
        }
    }
}

/// A transaction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Transaction {
    tables: [u32; OFFERS + 1],
    pub(super) kind: Kind,
    stamps: Stamps,
    #[serde(skip)]
    row: RowBuf,
}

/// What a committed transaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Whether an offer was missing, or a row none of its table.
    pub is_damaged: bool,
    /// Bookings made, less those given back.
    pub booked: i64,
    /// Offers that came, less those that went.
    pub added: i64,
    /// Customers that came, less those that went.
    pub customers: i64,
}

const DAMAGED: Seen = Seen { is_damaged: true, booked: 0, added: 0, customers: 0 };

impl Transaction {
    pub(super) fn new(tables: &[TableId], stamps: Stamps) -> Transaction {
        let kind = Kind::DeleteCustomer { customer: 0 };
        Transaction { tables: numbers(tables), kind, stamps, row: RowBuf::new() }
    }

    fn table(&self, table: usize) -> TableId {
        TableId(self.tables[table])
    }

    /// Reads an offer; `None` if it is missing or damaged.
    fn offer<A: Access + ?Sized>(&mut self, access: &mut A, at: Query, for_update: bool) -> Result<Option<Offer>> {
        let (table, key) = (self.table(at.table), at.number.to_be_bytes());
        let found = match for_update {
            true => access.read_for_update(table, &key, Columns::All, &mut self.row)?,
            false => access.read(table, &key, Columns::All, &mut self.row)?,
        };
        Ok(if found { Offer::read(self.row.row()).map(|(_, offer)| offer) } else { None })
    }

    fn set_offer<A: Access + ?Sized>(&mut self, access: &mut A, at: Query, offer: Offer) -> Result<()> {
        let row = offer.row(self.stamps.draw());
        access.put(self.table(at.table), &at.number.to_be_bytes(), row.row())
    }

    /// What a customer has booked; `None` without such a customer. A damaged row counts as damage.
    fn bookings<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        customer: u64,
    ) -> Result<Option<std::result::Result<Vec<Booking>, ()>>> {
        let table = self.table(CUSTOMERS);
        let found = access.read_for_update(table, &customer.to_be_bytes(), Columns::All, &mut self.row)?;
        Ok(found.then(|| Booking::read(self.row.row()).map(|(_, bookings)| bookings).ok_or(())))
    }

    /// STAMP's `MakeReservation`.
    fn book<A: Access + ?Sized>(&mut self, access: &mut A, customer: u64, queries: &[Query]) -> Result<Seen> {
        let mut dearest: [Option<(Query, i64)>; OFFERS] = [None; OFFERS];
        for &query in queries {
            let Some(offer) = self.offer(access, query, false)? else { return Ok(DAMAGED) };
            let best = &mut dearest[query.table];
            if offer.free() > 0 && best.is_none_or(|(_, price)| offer.price > price) {
                *best = Some((query, offer.price));
            }
        }
        if dearest.iter().all(Option::is_none) {
            return Ok(Seen::default());
        }
        let (mut bookings, is_new) = match self.bookings(access, customer)? {
            None => (Vec::new(), true),
            Some(Ok(bookings)) => (bookings, false),
            Some(Err(())) => return Ok(DAMAGED),
        };
        let mut booked = 0;
        for (query, price) in dearest.into_iter().flatten() {
            // A customer books an offer once, as in STAMP.
            if bookings.iter().any(|it| (it.table, it.number) == (query.table, query.number)) {
                continue;
            }
            let Some(offer) = self.offer(access, query, true)? else { return Ok(DAMAGED) };
            self.set_offer(access, query, Offer { used: offer.used + 1, ..offer })?;
            bookings.push(Booking { table: query.table, number: query.number, price });
            booked += 1;
        }
        if booked == 0 && !is_new {
            return Ok(Seen::default());
        }
        let row = Booking::row(&bookings, self.stamps.draw());
        access.put(self.table(CUSTOMERS), &customer.to_be_bytes(), row.row())?;
        Ok(Seen { booked, customers: i64::from(is_new), ..Seen::default() })
    }

    /// STAMP's `DeleteCustomer`.
    fn delete_customer<A: Access + ?Sized>(&mut self, access: &mut A, customer: u64) -> Result<Seen> {
        let bookings = match self.bookings(access, customer)? {
            None => return Ok(Seen::default()),
            Some(Ok(bookings)) => bookings,
            Some(Err(())) => return Ok(DAMAGED),
        };
        for booking in &bookings {
            let at = Query { table: booking.table, number: booking.number };
            if at.table >= OFFERS {
                return Ok(DAMAGED);
            }
            let Some(offer) = self.offer(access, at, true)? else { return Ok(DAMAGED) };
            self.set_offer(access, at, Offer { used: offer.used - 1, ..offer })?;
        }
        access.delete(self.table(CUSTOMERS), &customer.to_be_bytes())?;
        Ok(Seen { booked: -(bookings.len() as i64), customers: -1, ..Seen::default() })
    }

    /// STAMP's `UpdateTables`.
    fn update<A: Access + ?Sized>(&mut self, access: &mut A, changes: &[Change]) -> Result<Seen> {
        let mut added = 0;
        for change in changes {
            let Some(offer) = self.offer(access, change.offer, true)? else { return Ok(DAMAGED) };
            let (lot, price) = match change.price {
                Some(price) => (LOT, price),
                None if offer.free() >= LOT => (-LOT, offer.price),
                None => continue,
            };
            self.set_offer(access, change.offer, Offer { total: offer.total + lot, price, ..offer })?;
            added += lot;
        }
        Ok(Seen { added, ..Seen::default() })
    }
}

impl Program for Transaction {
    type Output = Seen;
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<Seen> {
        match self.kind.clone() {
            Kind::Book { customer, queries } => self.book(access, customer, &queries),
            Kind::DeleteCustomer { customer } => self.delete_customer(access, customer),
            Kind::Update { changes } => self.update(access, &changes),
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

    /// A trial run finds what is booked and what was.
    fn footprint<A: Access + ?Sized>(&self, access: &mut A) -> Result<Footprint> {
        reconnaissance::footprint(self.clone(), access)
    }
}

impl Call for Transaction {
    fn stamps(&mut self) -> &mut Stamps {
        &mut self.stamps
    }
}
