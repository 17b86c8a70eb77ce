//! OrderStatus (clause 2.6.2), StockLevel (clause 2.8.2), and what papers add: scans of the stock, and a search for a customer.

use super::call::{CustomerBy, Seen, Transaction, int};
use super::schema::{
    BY_CUSTOMER, C_BALANCE, C_CREDIT, C_CREDIT_LIM, CUSTOMER, D_NEXT_O_ID, DISTRICT, O_CARRIER, OL_I_ID, ORDER_LINE,
    ORDERS, S_QUANTITY, STOCK, district_key, in_district, line_key, stock_key,
};
use crate::workloads::bank::read_account;
use model::{Access, Columns, Comparison, Delta, Key, Predicate, Result, Scan, Value};
use std::hint::black_box;
use std::ops::{Bound, ControlFlow};

/// Orders of a district whose items StockLevel looks at.
const RECENT_ORDERS: u64 = 20;

impl Transaction {
    /// A customer's last order and its lines.
    pub(super) fn order_status<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        (w, d): (u64, u64),
        customer: CustomerBy,
    ) -> Result<Seen> {
        let district = district_key(w, d);
        let Some(customer) = self.find_customer(access, district, customer)? else { return Ok(Seen::Missing("name")) };
        let customer = in_district(district, customer);
        if !self.read(access, CUSTOMER, customer, &[C_BALANCE])? {
            return Ok(Seen::Missing("customer"));
        }
        black_box(self.int(0));
        let mut last = None;
        let entries = Scan::table(self.table(BY_CUSTOMER)).prefix(Key::from_u64(customer)).backward();
        access.scan(&entries, &mut |item| {
            last = read_account(item.row).map(|(_, order)| order as u64);
            ControlFlow::Break(())
        })?;
        let Some(order) = last else { return Ok(Seen::Missing("last order")) };
        if !self.read(access, ORDERS, in_district(district, order), &[O_CARRIER])? {
            return Ok(Seen::Missing("order"));
        }
        let bound = |line| Bound::Included(Key::from_u64(line_key(district, order, line)));
        let lines = Scan::table(self.table(ORDER_LINE)).between(bound(0), bound(u64::from(u8::MAX)));
        access.scan(&lines, &mut |item| {
            black_box(item.row.bytes());
            ControlFlow::Continue(())
        })?;
        Ok(Seen::Other)
    }

    /// How many items of the last orders are nearly sold out.
    pub(super) fn stock_level<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        (w, d): (u64, u64),
        threshold: i64,
    ) -> Result<Seen> {
        let district = district_key(w, d);
        if !self.read(access, DISTRICT, district, &[D_NEXT_O_ID])? {
            return Ok(Seen::Missing("district"));
        }
        let next = self.int(0) as u64;
        let line = |order| Key::from_u64(line_key(district, order, 0));
        let (lower, upper) = (line(next.saturating_sub(RECENT_ORDERS)), line(next));
        let mut items: Vec<u64> = Vec::new();
        let lines = Scan::table(self.table(ORDER_LINE)).between(Bound::Included(lower), Bound::Excluded(upper));
        access.scan(&lines.columns(Columns::Some(&[OL_I_ID])), &mut |item| {
            items.push(int(item.row, 0) as u64);
            ControlFlow::Continue(())
        })?;
        items.sort_unstable();
        items.dedup();
        let stocks: Vec<Key> = items.into_iter().map(|item| Key::from_u64(stock_key(w, item))).collect();
        let (mut low, mut missing) = (0, false);
        access.read_many(self.table(STOCK), &stocks, Columns::Some(&[S_QUANTITY]), &mut |_, stock| match stock {
            Some(stock) => low += u64::from(int(stock, 0) < threshold),
            None => missing = true,
        })?;
        black_box(low);
        Ok(if missing { Seen::Missing("stock") } else { Seen::Other })
    }

    /// The stock of all items in all warehouses.
    pub(super) fn stock_scan<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<Seen> {
        let (mut rows, mut sum) = (0, 0);
        let stock = Scan::table(self.table(STOCK)).columns(Columns::Some(&[S_QUANTITY]));
        access.scan(&stock, &mut |item| {
            (rows, sum) = (rows + 1, sum + int(item.row, 0));
            ControlFlow::Continue(())
        })?;
        black_box(sum);
        Ok(if rows == self.stock_rows { Seen::Other } else { Seen::Missing("stock") })
    }

    /// The customer of a district with the highest balance and good credit, whose limit is raised.
    pub(super) fn top_customer<A: Access + ?Sized>(&mut self, access: &mut A, (w, d): (u64, u64)) -> Result<Seen> {
        let district = district_key(w, d);
        let bound = |customer| Bound::Included(Key::from_u64(in_district(district, customer)));
        let good = Predicate::Compare(C_CREDIT, Comparison::Equal, Value::Text("GC".to_owned()));
        let customers = Scan::table(self.table(CUSTOMER)).between(bound(0), bound(u64::from(u32::MAX)));
        let mut top: Option<(i64, u64)> = None;
        access.scan(&customers.filter(&good).columns(Columns::Some(&[C_BALANCE])), &mut |item| {
            top = top.max(Key::to_u64(item.key).map(|key| (int(item.row, 0), key)));
            ControlFlow::Continue(())
        })?;
        let Some((_, key)) = top else { return Ok(Seen::Missing("customer with good credit")) };
        if !self.hold(access, CUSTOMER, key, &[])? {
            return Ok(Seen::Missing("customer"));
        }
        self.change(access, CUSTOMER, key, Delta::new().add(C_CREDIT_LIM, 1))?;
        Ok(Seen::Other)
    }
}
