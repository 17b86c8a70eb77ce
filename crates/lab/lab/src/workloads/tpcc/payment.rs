//! Payment: clause 2.5.2.

use super::call::{CustomerBy, Seen, Transaction};
use super::load::history_row;
use super::schema::{
    C_BALANCE, C_CREDIT, C_DATA, C_PAYMENT_CNT, C_YTD_PAYMENT, CUSTOMER, D_YTD, DISTRICT, HISTORY, W_YTD, WAREHOUSE,
    district_key, in_district,
};
use model::{Access, Delta, Result};

/// Bytes of a customer's data, at most.
const MAX_DATA: usize = 500;

impl Transaction {
    pub(super) fn payment<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        (w, d): (u64, u64),
        of: (u64, u64),
        customer: CustomerBy,
        amount: i64,
    ) -> Result<Seen> {
        if !self.hold(access, WAREHOUSE, w)? {
            return Ok(Seen::Missing("warehouse"));
        }
        self.change(access, WAREHOUSE, w, Delta::new().add(W_YTD, amount))?;
        let district = district_key(w, d);
        if !self.hold(access, DISTRICT, district)? {
            return Ok(Seen::Missing("district"));
        }
        self.change(access, DISTRICT, district, Delta::new().add(D_YTD, amount))?;
        let home = district_key(of.0, of.1);
        let Some(customer) = self.find_customer(access, home, customer)? else { return Ok(Seen::Missing("name")) };
        let key = in_district(home, customer);
        if !self.hold(access, CUSTOMER, key)? {
            return Ok(Seen::Missing("customer"));
        }
        let change = Delta::new().add(C_BALANCE, -amount).add(C_YTD_PAYMENT, amount).add(C_PAYMENT_CNT, 1);
        let change = match self.data_of_a_bad_credit((customer, of, (w, d)), amount) {
            Some(data) => change.set(C_DATA, data),
            None => change,
        };
        self.change(access, CUSTOMER, key, change)?;
        let row = history_row(self.stamp(), key, district, self.now, amount, "warehouse    district");
        self.insert(access, HISTORY, self.number, &row)?;
        Ok(Seen::Payment)
    }

    /// The new data of the customer in the buffer, if its credit is bad: the payment, then the old data.
    fn data_of_a_bad_credit(
        &self,
        (customer, (cw, cd), (w, d)): (u64, (u64, u64), (u64, u64)),
        amount: i64,
    ) -> Option<String> {
        let text = |column: u16| self.row.get(usize::from(column)).as_text();
        if text(C_CREDIT) != Some("BC") {
            return None;
        }
        let mut data = format!("{customer} {cd} {cw} {d} {w} {amount} | {}", text(C_DATA)?);
        data.truncate(MAX_DATA);
        Some(data)
    }
}
