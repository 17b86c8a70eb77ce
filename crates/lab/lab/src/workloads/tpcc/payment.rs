//! Payment: clause 2.5.2.

use super::call::{CustomerBy, Seen, Transaction};
use super::load::history_row;
use super::schema::{
    C_BALANCE, C_CREDIT, C_CREDIT_LIM, C_DATA, C_DISCOUNT, C_PAYMENT_CNT, C_YTD_PAYMENT, CUSTOMER, D_YTD, DISTRICT,
    HISTORY, W_YTD, WAREHOUSE, district_key, in_district,
};
use model::{Access, Delta, Result};

/// Bytes of a customer's data, at most.
const MAX_DATA: usize = 500;
/// What is read of a warehouse and of a district.
const NAME_AND_ADDRESS: [u16; 6] = [1, 2, 3, 4, 5, 6];
/// What is read of the customer: credit and data, which decide about the change, then name, address, phone, since, limit, discount,
/// balance.
const CUSTOMER_COLUMNS: [u16; 15] =
    [C_CREDIT, C_DATA, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, C_CREDIT_LIM, C_DISCOUNT, C_BALANCE];

impl Transaction {
    pub(super) fn payment<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        (w, d): (u64, u64),
        of: (u64, u64),
        customer: CustomerBy,
        amount: i64,
    ) -> Result<Seen> {
        if !self.hold(access, WAREHOUSE, w, &NAME_AND_ADDRESS)? {
            return Ok(Seen::Missing("warehouse"));
        }
        self.change(access, WAREHOUSE, w, Delta::new().add(W_YTD, amount))?;
        let district = district_key(w, d);
        if !self.hold(access, DISTRICT, district, &NAME_AND_ADDRESS)? {
            return Ok(Seen::Missing("district"));
        }
        self.change(access, DISTRICT, district, Delta::new().add(D_YTD, amount))?;
        let home = district_key(of.0, of.1);
        let Some(customer) = self.find_customer(access, home, customer)? else { return Ok(Seen::Missing("name")) };
        let key = in_district(home, customer);
        if !self.hold(access, CUSTOMER, key, &CUSTOMER_COLUMNS)? {
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
        let text = |column: usize| self.row.get(column).as_text();
        if text(0) != Some("BC") {
            return None;
        }
        let mut data = format!("{customer} {cd} {cw} {d} {w} {amount} | {}", text(1)?);
        data.truncate(MAX_DATA);
        Some(data)
    }
}
