//! Delivery: clause 2.7.4, all districts in one transaction.

use super::call::{Seen, Transaction, int};
use super::schema::{
    C_BALANCE, C_DELIVERY_CNT, CUSTOMER, DISTRICTS, NEW_ORDER, O_C_ID, O_CARRIER, OL_AMOUNT, OL_DELIVERY, ORDER_LINE,
    ORDERS, district_key, in_district, line_key,
};
use model::{Access, Columns, Delta, Key, Result, Scan, Value};
use smallvec::SmallVec;
use std::ops::{Bound, ControlFlow};

impl Transaction {
    pub(super) fn deliver<A: Access + ?Sized>(&mut self, access: &mut A, w: u64, carrier: i64) -> Result<Seen> {
        let mut orders = 0;
        for d in 1..=DISTRICTS {
            let district = district_key(w, d);
            let Some(order) = self.oldest_new_order(access, district)? else { continue };
            if let Some(missing) = self.deliver_order(access, district, order, carrier)? {
                return Ok(Seen::Missing(missing));
            }
            orders += 1;
        }
        Ok(Seen::Delivery { orders })
    }

    fn oldest_new_order<A: Access + ?Sized>(&self, access: &mut A, district: u64) -> Result<Option<u64>> {
        let bound = |order| Bound::Included(Key::from_u64(in_district(district, order)));
        let scan = Scan::table(self.table(NEW_ORDER)).between(bound(0), bound(u64::from(u32::MAX)));
        let mut oldest = None;
        access.scan(&scan.columns(Columns::None), &mut |item| {
            oldest = Key::to_u64(item.key);
            ControlFlow::Break(())
        })?;
        Ok(oldest)
    }

    /// Delivers an order; names what was missing, if something was.
    fn deliver_order<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        district: u64,
        order_key: u64,
        carrier: i64,
    ) -> Result<Option<&'static str>> {
        if !access.delete(self.table(NEW_ORDER), &order_key.to_be_bytes())? {
            return Ok(Some("new order"));
        }
        if !self.hold(access, ORDERS, order_key, &[O_C_ID])? {
            return Ok(Some("order"));
        }
        let customer = self.int(0) as u64;
        self.change(access, ORDERS, order_key, Delta::new().set(O_CARRIER, carrier))?;
        let amount = self.deliver_lines(access, district, super::schema::split(order_key).1)?;
        let customer = in_district(district, customer);
        let change = Delta::new().add(C_BALANCE, amount).add(C_DELIVERY_CNT, 1);
        Ok((!self.change(access, CUSTOMER, customer, change)?).then_some("customer"))
    }

    /// Dates the lines of an order; returns their sum.
    fn deliver_lines<A: Access + ?Sized>(&mut self, access: &mut A, district: u64, order: u64) -> Result<i64> {
        let bound = |line| Bound::Included(Key::from_u64(line_key(district, order, line)));
        let (mut lines, mut sum): (SmallVec<[u64; 16]>, i64) = (SmallVec::new(), 0);
        let scan = Scan::table(self.table(ORDER_LINE)).between(bound(0), bound(u64::from(u8::MAX)));
        access.scan(&scan.columns(Columns::Some(&[OL_AMOUNT])), &mut |item| {
            lines.extend(Key::to_u64(item.key));
            sum += int(item.row, 0);
            ControlFlow::Continue(())
        })?;
        for key in lines {
            self.change(access, ORDER_LINE, key, Delta::new().set(OL_DELIVERY, Value::Timestamp(self.now)))?;
        }
        Ok(sum)
    }
}
