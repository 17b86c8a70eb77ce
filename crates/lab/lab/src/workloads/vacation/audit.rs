//! The closing audit of Vacation.

use super::rows::{Booking, Offer};
use super::{CUSTOMERS, OFFERS, Seen, Transactions};
use crate::workloads::audit::{Audit, expect};
use model::{Key, RowRef};
use std::collections::BTreeMap;

/// What a client's committed transactions did, together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Books {
    booked: i64,
    added: i64,
    customers: i64,
}

impl Books {
    pub fn enter(&mut self, seen: Seen) -> Result<(), String> {
        if seen.is_damaged {
            return Err("an offer was missing, or a row was damaged".to_owned());
        }
        self.booked += seen.booked;
        self.added += seen.added;
        self.customers += seen.customers;
        Ok(())
    }
}

/// The offers agree with the customers' bookings, and both with what committed.
#[derive(Debug)]
pub struct VacationAudit {
    expected_offers: u64,
    expected: Books,
    offers: u64,
    seen: Books,
    /// Of each offer, how many are used, less the bookings of it.
    open: BTreeMap<(usize, u64), i64>,
}

impl VacationAudit {
    pub(super) fn new(relations: u64, loaded: (i64, i64), clients: &[&Transactions]) -> VacationAudit {
        let (added, customers) = loaded;
        let mut expected = Books { booked: 0, added, customers };
        for client in clients {
            expected.booked += client.books.booked;
            expected.added += client.books.added;
            expected.customers += client.books.customers;
        }
        let (seen, open) = (Books::default(), BTreeMap::new());
        VacationAudit { expected_offers: relations * OFFERS as u64, expected, offers: 0, seen, open }
    }
}

impl Audit for VacationAudit {
    fn see(&mut self, table: usize, key: &[u8], row: RowRef<'_>) -> Result<(), String> {
        let damaged = || format!("a row of table {table} is damaged");
        let number = Key::to_u64(key).ok_or_else(damaged)?;
        if table == CUSTOMERS {
            let (_, bookings) = Booking::read(row).ok_or_else(damaged)?;
            self.seen.customers += 1;
            self.seen.booked += bookings.len() as i64;
            bookings.iter().for_each(|it| *self.open.entry((it.table, it.number)).or_default() -= 1);
            return Ok(());
        }
        let (_, offer) = Offer::read(row).ok_or_else(damaged)?;
        if offer.used < 0 || offer.free() < 0 {
            return Err(format!("offer {number} of table {table} has {} used of {}", offer.used, offer.total));
        }
        self.offers += 1;
        self.seen.added += offer.total;
        *self.open.entry((table, number)).or_default() += offer.used;
        Ok(())
    }

    fn finish(self) -> Result<(), String> {
        expect("offers", self.offers, self.expected_offers)?;
        expect("all offers together", self.seen.added, self.expected.added)?;
        expect("customers", self.seen.customers, self.expected.customers)?;
        expect("bookings", self.seen.booked, self.expected.booked)?;
        match self.open.iter().find(|(_, open)| **open != 0) {
            None => Ok(()),
            Some(((table, number), open)) => {
                Err(format!("offer {number} of table {table} has {open} more used than booked"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Parameters, Vacation};
    use super::*;
    use crate::workloads::parameters::{DEFAULT, Presets};
    use crate::workloads::{LOADER, Record, Stamp, Stamps, Workload};

    fn vacation() -> Vacation {
        let presets = Presets::read(super::super::NAME, super::super::PRESETS).expect("sound presets");
        let parameters: Parameters =
            presets.parameters(DEFAULT, &serde_json::json!({ "relations": 5 })).expect("sound parameters");
        Vacation::new(parameters)
    }

    /// What the audit says of the loaded rows, after a change.
    fn audited(change: impl FnOnce(&mut Vec<Record>)) -> Result<(), String> {
        let vacation = vacation();
        let mut records: Vec<Record> = vacation.load(Stamps::of_client(LOADER)).collect();
        change(&mut records);
        let mut audit = vacation.audit(&[]).expect("an audit");
        records.iter().try_for_each(|record| audit.see(record.table, &record.key, record.row.row()))?;
        audit.finish()
    }

    #[test]
    fn offers_and_bookings_must_agree() {
        let booking = Booking { table: 1, number: 2, price: 50 };
        let book = |records: &mut Vec<Record>| {
            let customer = records.iter_mut().find(|record| record.table == CUSTOMERS).expect("a customer");
            customer.row = Booking::row(&[booking], Stamp(1));
        };
        let use_one = |records: &mut Vec<Record>| {
            let at = |record: &&mut Record| record.table == 1 && Key::to_u64(&record.key) == Some(2);
            let offer = records.iter_mut().find(at).expect("an offer");
            let (stamp, found) = Offer::read(offer.row.row()).expect("a sound row");
            offer.row = Offer { used: found.used + 1, ..found }.row(stamp);
        };
        assert_eq!(audited(|_| {}), Ok(()));
        assert!(audited(book).unwrap_err().contains("bookings"), "nobody has booked");
        assert!(audited(use_one).unwrap_err().contains("more used than booked"));
        assert!(audited(|records| _ = records.remove(0)).unwrap_err().contains("offers"));
        assert!(audited(|records| _ = records.pop()).unwrap_err().contains("customers"));
        assert!(audited(|records| records[0].row = model::RowBuf::new()).unwrap_err().contains("damaged"));
    }
}
