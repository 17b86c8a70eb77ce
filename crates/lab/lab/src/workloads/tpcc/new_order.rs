//! NewOrder: clause 2.4.2.

use super::call::{Line, Seen, Transaction};
use super::schema::{
    BY_CUSTOMER, C_DISCOUNT, CUSTOMER, D_NEXT_O_ID, D_TAX, DISTRICT, I_DATA, I_PRICE, ITEM, NEW_ORDER, ORDER_LINE,
    ORDERS, S_DATA, S_DIST_01, S_ORDER_CNT, S_QUANTITY, S_REMOTE_CNT, S_YTD, STOCK, W_TAX, WAREHOUSE, district_key,
    in_district, line_key, order_entry, stock_key,
};
use crate::workloads::give_up;
use model::{Access, Delta, Key, Result, RowBuf, ValueRef};
use smallvec::SmallVec;
use std::hint::black_box;

impl Transaction {
    pub(super) fn new_order<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        (w, d): (u64, u64),
        customer: u64,
    ) -> Result<Seen> {
        if !self.read(access, WAREHOUSE, w, &[W_TAX])? {
            return Ok(Seen::Missing("warehouse"));
        }
        let warehouse_tax = self.int(0);
        self.prefetch_lines(access);
        let district = district_key(w, d);
        if !self.hold(access, DISTRICT, district, &[D_NEXT_O_ID, D_TAX])? {
            return Ok(Seen::Missing("district"));
        }
        let (order, tax) = (self.int(0) as u64, warehouse_tax + self.int(1));
        self.change(access, DISTRICT, district, Delta::new().add(D_NEXT_O_ID, 1))?;
        if !self.read(access, CUSTOMER, in_district(district, customer), &[C_DISCOUNT])? {
            return Ok(Seen::Missing("customer"));
        }
        let discount = self.int(0);
        self.insert_order(access, (w, district), order, customer)?;
        let (mut total, mut pieces) = (0, 0);
        for at in 0..self.lines.len() {
            let line = self.lines[at];
            match self.order_line(access, (w, d), order, at as u64 + 1, line)? {
                Some(amount) => (total, pieces) = (total + amount, pieces + line.quantity),
                None => return Ok(Seen::Missing("stock")),
            }
        }
        black_box(total * (10_000 - discount) / 10_000 * (10_000 + tax) / 10_000);
        Ok(Seen::NewOrder { pieces })
    }

    /// Announces the rows that the lines of the order need.
    fn prefetch_lines<A: Access + ?Sized>(&self, access: &mut A) {
        let items: SmallVec<[Key; 16]> = self.lines.iter().map(|line| Key::from_u64(line.item)).collect();
        access.prefetch(self.table(ITEM), &items);
        let stocks = self.lines.iter().map(|line| Key::from_u64(stock_key(line.supplier, line.item)));
        access.prefetch(self.table(STOCK), &stocks.collect::<SmallVec<[Key; 16]>>());
    }

    /// The order, its new order, and its entry.
    fn insert_order<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        (w, district): (u64, u64),
        order: u64,
        customer: u64,
    ) -> Result<()> {
        let is_local = self.lines.iter().all(|line| line.supplier == w);
        let row = RowBuf::from_values(&[
            ValueRef::Int(self.stamp()),
            ValueRef::Int(customer as i64),
            ValueRef::Timestamp(self.now),
            ValueRef::Null,
            ValueRef::Int(self.lines.len() as i64),
            ValueRef::Int(i64::from(is_local)),
        ]);
        self.insert(access, ORDERS, in_district(district, order), &row)?;
        let row = RowBuf::from_values(&[ValueRef::Int(self.stamp())]);
        self.insert(access, NEW_ORDER, in_district(district, order), &row)?;
        let entry = order_entry(in_district(district, customer), order);
        self.insert_entry(access, BY_CUSTOMER, &entry, order)
    }

    /// A line, out of its supplier's stock; returns its amount, or nothing if the stock has no such item.
    fn order_line<A: Access + ?Sized>(
        &mut self,
        access: &mut A,
        (w, d): (u64, u64),
        order: u64,
        number: u64,
        line: Line,
    ) -> Result<Option<i64>> {
        let Line { item, supplier, quantity } = line;
        if !self.read(access, ITEM, item, &[I_PRICE, I_DATA])? {
            return Err(give_up("rolled-back", "an item of the order is unknown"));
        }
        let is_original =
            |row: &RowBuf, column: usize| row.get(column).as_text().is_some_and(|data| data.contains("ORIGINAL"));
        let (amount, original_item) = (quantity * self.int(0), is_original(&self.row, 1));
        let key = stock_key(supplier, item);
        if !self.hold(access, STOCK, key, &[S_QUANTITY, S_DIST_01 + d as u16 - 1, S_DATA])? {
            return Ok(None);
        }
        black_box(original_item && is_original(&self.row, 2));
        let in_stock = self.int(0);
        let left = if in_stock >= quantity + 10 { in_stock - quantity } else { in_stock - quantity + 91 };
        let stamp = self.stamp();
        let about = self.row.get(1).as_text().unwrap_or_default();
        let row = RowBuf::from_values(&[
            ValueRef::Int(stamp),
            ValueRef::Int(item as i64),
            ValueRef::Int(supplier as i64),
            ValueRef::Null,
            ValueRef::Int(quantity),
            ValueRef::Int(amount),
            about.into(),
        ]);
        let change = Delta::new().set(S_QUANTITY, left).add(S_YTD, quantity).add(S_ORDER_CNT, 1);
        let change = if supplier == w { change } else { change.add(S_REMOTE_CNT, 1) };
        self.change(access, STOCK, key, change)?;
        self.insert(access, ORDER_LINE, line_key(district_key(w, d), order, number), &row)?;
        Ok(Some(amount))
    }
}
