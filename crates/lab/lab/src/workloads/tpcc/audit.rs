//! Books of TPC-C's clients, and the consistency conditions: clause 3.3.2.

use super::call::int;
use super::schema::{
    BY_CUSTOMER, BY_NAME, C_BALANCE, C_DELIVERY_CNT, C_PAYMENT_CNT, C_YTD_PAYMENT, CUSTOMER, D_NEXT_O_ID, D_YTD,
    DISTRICT, DISTRICTS, H_AMOUNT, H_CUSTOMER, H_DISTRICT, HISTORY, ITEM, NAMES, NEW_ORDER, O_C_ID, O_CARRIER,
    O_OL_CNT, OL_AMOUNT, OL_DELIVERY, OL_QUANTITY, ORDER_LINE, ORDERS, S_ORDER_CNT, S_YTD, STOCK, TABLES, W_YTD,
    WAREHOUSE, in_district, order_entry, order_of_line, split,
};
use super::{Parameters, Seen};
use crate::workloads::audit::{Audit, expect};
use crate::workloads::bank::read_account;
use model::{Key, RowRef};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What a client's committed transactions did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Books {
    new_orders: u64,
    pieces: i64,
    payments: u64,
    deliveries: u64,
}

impl Books {
    /// Enters a committed transaction.
    ///
    /// # Errors
    /// A row was missing.
    pub(super) fn enter(&mut self, seen: Seen) -> Result<(), String> {
        match seen {
            Seen::NewOrder { pieces } => {
                self.new_orders += 1;
                self.pieces += pieces;
            }
            Seen::Payment => self.payments += 1,
            Seen::Delivery { orders } => self.deliveries += orders,
            Seen::Other => {}
            Seen::Missing(what) => return Err(format!("a transaction found a row missing: {what}")),
        }
        Ok(())
    }

    fn add(mut self, other: &Books) -> Books {
        self.new_orders += other.new_orders;
        self.pieces += other.pieces;
        self.payments += other.payments;
        self.deliveries += other.deliveries;
        self
    }
}

/// What the rows of a district and those that belong to it say.
#[derive(Debug, Default)]
struct District {
    ytd: i64,
    next_order: u64,
    paid: i64,
    last_order: u64,
    orders: u64,
    lines_of_orders: u64,
    lines: u64,
    new_orders: u64,
    first_new_order: u64,
    last_new_order: u64,
}

#[derive(Debug, Default)]
struct Customer {
    balance: i64,
    ytd_payment: i64,
    payments: i64,
    deliveries: i64,
    /// What the payments, the delivered lines and the orders say.
    paid: i64,
    seen_payments: i64,
    delivered: i64,
    seen_deliveries: i64,
}

#[derive(Debug)]
struct Order {
    customer: u64,
    is_delivered: bool,
    expected_lines: u64,
    lines: u64,
}

/// The consistency conditions, over all rows.
#[derive(Debug)]
pub struct TpccAudit {
    parameters: Parameters,
    books: Books,
    /// Rows of each table.
    rows: [u64; TABLES],
    warehouses: BTreeMap<u64, i64>,
    districts: BTreeMap<u64, District>,
    customers: HashMap<u64, Customer>,
    orders: HashMap<u64, Order>,
    new_orders: HashSet<u64>,
    /// Pieces in order lines that were not loaded, and pieces and lines that the stock counts.
    pieces: i64,
    sold: i64,
    sold_lines: i64,
}

impl TpccAudit {
    pub(super) fn new<'a>(parameters: &Parameters, books: impl Iterator<Item = &'a Books>) -> TpccAudit {
        TpccAudit {
            parameters: parameters.clone(),
            books: books.fold(Books::default(), Books::add),
            rows: [0; TABLES],
            warehouses: BTreeMap::new(),
            districts: BTreeMap::new(),
            customers: HashMap::new(),
            orders: HashMap::new(),
            new_orders: HashSet::new(),
            pieces: 0,
            sold: 0,
            sold_lines: 0,
        }
    }

    fn see_row(&mut self, table: usize, key: u64, row: RowRef<'_>) -> Result<(), String> {
        let unknown = |what: &str| format!("key {key} of {} names no {what}", NAMES[table]);
        let (owner, number) = split(key);
        match table {
            WAREHOUSE => {
                self.warehouses.insert(key, int(row, W_YTD));
            }
            DISTRICT => {
                let (ytd, next_order) = (int(row, D_YTD), int(row, D_NEXT_O_ID) as u64);
                self.districts.insert(key, District { ytd, next_order, ..District::default() });
            }
            CUSTOMER => {
                let [balance, ytd_payment, payments, deliveries] =
                    [C_BALANCE, C_YTD_PAYMENT, C_PAYMENT_CNT, C_DELIVERY_CNT].map(|column| int(row, column));
                let customer = Customer { balance, ytd_payment, payments, deliveries, ..Customer::default() };
                self.customers.insert(key, customer);
            }
            HISTORY => {
                let (amount, of, at) = (int(row, H_AMOUNT), int(row, H_CUSTOMER), int(row, H_DISTRICT));
                let customer = self.customers.get_mut(&(of as u64)).ok_or_else(|| unknown("customer"))?;
                customer.paid += amount;
                customer.seen_payments += 1;
                self.districts.get_mut(&(at as u64)).ok_or_else(|| unknown("district"))?.paid += amount;
            }
            NEW_ORDER => {
                let district = self.districts.get_mut(&owner).ok_or_else(|| unknown("district"))?;
                district.first_new_order = if district.new_orders == 0 { number } else { district.first_new_order };
                district.last_new_order = number;
                district.new_orders += 1;
                self.new_orders.insert(key);
            }
            ORDERS => self.see_order(key, row)?,
            ORDER_LINE => self.see_line(key, row)?,
            STOCK => {
                self.sold += int(row, S_YTD);
                self.sold_lines += int(row, S_ORDER_CNT);
            }
            _ => {}
        }
        Ok(())
    }

    fn see_order(&mut self, key: u64, row: RowRef<'_>) -> Result<(), String> {
        let (district_key, number) = split(key);
        let is_delivered = row.get(usize::from(O_CARRIER)).column_type().is_some();
        if is_delivered == self.new_orders.contains(&key) {
            return Err(format!("condition 5: order {key} has a carrier ({is_delivered}) and a new order, or neither"));
        }
        let expected_lines = int(row, O_OL_CNT) as u64;
        let customer = in_district(district_key, int(row, O_C_ID) as u64);
        // The others were delivered before the load, which does not count.
        if is_delivered && super::load::is_new(self.parameters.customers, number) {
            let owner = self.customers.get_mut(&customer);
            owner.ok_or_else(|| format!("order {key} is no customer's"))?.seen_deliveries += 1;
        }
        let district = self.districts.get_mut(&district_key).ok_or_else(|| format!("order {key} has no district"))?;
        district.last_order = district.last_order.max(number);
        district.orders += 1;
        district.lines_of_orders += expected_lines;
        self.orders.insert(key, Order { customer, is_delivered, expected_lines, lines: 0 });
        Ok(())
    }

    fn see_line(&mut self, key: u64, row: RowRef<'_>) -> Result<(), String> {
        let order_key = order_of_line(key);
        let (district, number) = split(order_key);
        let order = self.orders.get_mut(&order_key).ok_or_else(|| format!("line {key} has no order"))?;
        order.lines += 1;
        let is_dated = row.get(usize::from(OL_DELIVERY)).column_type().is_some();
        if is_dated != order.is_delivered {
            return Err(format!("condition 7: line {key} is dated ({is_dated}) unlike its order's carrier"));
        }
        if order.is_delivered {
            let customer = self.customers.get_mut(&order.customer).ok_or("an order without a customer")?;
            customer.delivered += int(row, OL_AMOUNT);
        }
        if number > self.parameters.customers {
            self.pieces += int(row, OL_QUANTITY);
        }
        self.districts.get_mut(&district).ok_or_else(|| format!("line {key} has no district"))?.lines += 1;
        Ok(())
    }

    fn see_entry(&self, table: usize, key: &[u8], row: RowRef<'_>) -> Result<(), String> {
        let wrong = || format!("an entry of {} names another row", NAMES[table]);
        let (_, number) = read_account(row).ok_or_else(wrong)?;
        let head: [u8; 8] = key.get(..8).and_then(|head| head.try_into().ok()).ok_or_else(wrong)?;
        let head = u64::from_be_bytes(head);
        let is_right = if table == BY_NAME {
            self.customers.contains_key(&in_district(head, number as u64)) && key.ends_with(&number.to_be_bytes())
        } else {
            let order = self.orders.get(&in_district(split(head).0, number as u64));
            order.is_some_and(|order| order.customer == head) && order_entry(head, number as u64)[..] == *key
        };
        if is_right { Ok(()) } else { Err(wrong()) }
    }

    fn check_district(key: u64, it: &District) -> Result<(), String> {
        let named = |condition: &str| format!("{condition}, district {key}");
        expect(&named("condition 2: the last order and the next"), it.last_order + 1, it.next_order)?;
        if it.new_orders > 0 {
            expect(&named("condition 2: the last new order"), it.last_new_order, it.last_order)?;
            let span = it.last_new_order - it.first_new_order + 1;
            expect(&named("condition 3: new orders without a gap"), it.new_orders, span)?;
        }
        expect(&named("condition 4: lines"), it.lines, it.lines_of_orders)?;
        expect(&named("condition 9: what was paid"), it.paid, it.ytd)
    }

    fn check_customer(key: u64, it: &Customer) -> Result<(), String> {
        let named = |condition: &str| format!("{condition}, customer {key}");
        expect(&named("condition 10: balance"), it.balance, it.delivered - it.paid)?;
        expect(&named("condition 12: balance and payments"), it.balance + it.ytd_payment, it.delivered)?;
        expect(&named("number of payments"), it.payments, it.seen_payments)?;
        expect(&named("number of deliveries"), it.deliveries, it.seen_deliveries)
    }

    fn check_warehouses(&self) -> Result<(), String> {
        for (&warehouse, &ytd) in &self.warehouses {
            let districts = || self.districts.iter().filter(|(key, _)| *key >> 8 == warehouse).map(|(_, it)| it);
            let sum: i64 = districts().map(|district| district.ytd).sum();
            expect(&format!("condition 1: warehouse {warehouse} and its districts"), ytd, sum)?;
            let paid: i64 = districts().map(|district| district.paid).sum();
            expect(&format!("condition 8: payments of warehouse {warehouse}"), paid, ytd)?;
        }
        Ok(())
    }

    fn check_counts(&self) -> Result<(), String> {
        let Parameters { warehouses, items, customers, .. } = self.parameters;
        let of_districts = warehouses * DISTRICTS * customers;
        let orders = of_districts + self.books.new_orders;
        let new_orders: u64 = self.districts.values().map(|district| district.new_orders).sum();
        let delivered_before = warehouses * DISTRICTS * (customers * 7 / 10);
        for (table, expected) in [
            (WAREHOUSE, warehouses),
            (DISTRICT, warehouses * DISTRICTS),
            (CUSTOMER, of_districts),
            (BY_NAME, of_districts),
            (ITEM, items),
            (STOCK, warehouses * items),
            (HISTORY, of_districts + self.books.payments),
            (ORDERS, orders),
            (BY_CUSTOMER, orders),
            (NEW_ORDER, new_orders),
        ] {
            expect(&format!("rows of {}", NAMES[table]), self.rows[table], expected)?;
        }
        let delivered = orders - new_orders;
        expect("condition 11: delivered orders", delivered, delivered_before + self.books.deliveries)?;
        expect("pieces in lines", self.pieces, self.books.pieces)?;
        expect("pieces out of stock", self.sold, self.books.pieces)
    }
}

impl Audit for TpccAudit {
    fn see(&mut self, table: usize, key: &[u8], row: RowRef<'_>) -> Result<(), String> {
        self.rows[table] += 1;
        if table == BY_NAME || table == BY_CUSTOMER {
            return self.see_entry(table, key, row);
        }
        row.check().map_err(|_| format!("a row of {} is damaged", NAMES[table]))?;
        let key = Key::to_u64(key).ok_or_else(|| format!("a key of {} is damaged", NAMES[table]))?;
        self.see_row(table, key, row)
    }

    fn finish(self) -> Result<(), String> {
        self.check_counts()?;
        self.check_warehouses()?;
        self.districts.iter().try_for_each(|(&key, district)| TpccAudit::check_district(key, district))?;
        self.customers.iter().try_for_each(|(&key, customer)| TpccAudit::check_customer(key, customer))?;
        let mut lines = 0;
        for (key, order) in &self.orders {
            expect(&format!("condition 6: lines of order {key}"), order.lines, order.expected_lines)?;
            lines += if split(*key).1 > self.parameters.customers { order.lines as i64 } else { 0 };
        }
        expect("lines that the stock counts", self.sold_lines, lines)
    }
}
