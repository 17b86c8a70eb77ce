//! TPC-C: orders of a wholesale supplier. All nine tables with all their columns, five transactions, and two that papers add.
//!
//! Source: TPC Benchmark C, revision 5.11. `stock_scans`: vMVCC (OSDI '23), section 6.3. `top_customers`: HyPer (SIGMOD '15),
//! section 4.4.
//!
//! Deviations: clients do not think or type, and each keeps to one warehouse as its home. Keys are packed into 64 bits; the two
//! searches by name and by customer go over entry tables, which the transactions keep. The time is a number that counts up. Tables
//! that transactions write have a stamp in their first column. The spoilt customers' data is cut at 500 bytes as the specification
//! requests.
//!
//! # What is checked
//! Every row that must be there is found. At the end the consistency conditions of clause 3.3.2, 1 to 12 (but for 11, which holds for
//! the loaded rows only, and stands here with the deliveries that committed); the entries; the stock sold; and as many orders
//! and payments as committed.

mod audit;
mod call;
mod delivery;
mod draw;
mod load;
mod new_order;
mod payment;
mod reads;
mod schema;

pub use audit::TpccAudit;
pub use call::{Seen, Transaction};

use super::{
    Call, Client, ClientSlot, Partitioned, Record, Stamp, Stamps, Submission, Workload, register, submit, submit_batch,
};
use crate::draw::Chance;
use crate::record::{Form, KeyForm};
use audit::Books;
use call::{CustomerBy, Kind, Line};
use env::Randomness;
use model::{Declared, Key, Mode, Registry, Schema, Ticket};
use schema::{BY_CUSTOMER, BY_NAME, DISTRICTS, HISTORY, MAX_WAREHOUSES, NAMES};
use serde::{Deserialize, Serialize};
use std::ops::Bound;

/// Its name on the command line and in rows.
pub const NAME: &str = "tpcc";
/// The file of its presets.
pub const PRESETS: &str = include_str!("../../workloads/tpcc.toml");

/// The parameters. Shares are percentages of the transactions; what they leave are orders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Warehouses.
    pub warehouses: u64,
    /// Items, and stock of each warehouse.
    pub items: u64,
    /// Customers of a district, and orders that it begins with.
    pub customers: u64,
    /// Share of payments.
    pub payments: f64,
    /// Share of questions after a customer's last order.
    pub order_statuses: f64,
    /// Share of deliveries.
    pub deliveries: f64,
    /// Share of questions after stock that runs out.
    pub stock_levels: f64,
    /// Share of scans of the whole stock; long readers do nothing else.
    pub stock_scans: f64,
    /// Share of searches for a district's customer with the highest balance.
    pub top_customers: f64,
    /// Percentage of order lines that another warehouse supplies.
    pub remote_items: f64,
    /// Percentage of payments of another warehouse's customer.
    pub remote_payments: f64,
    /// Percentage of payments and order statuses that look a customer up by name.
    pub by_last_name: f64,
    /// Percentage of orders that end in an unknown item.
    pub rollbacks: f64,
    /// Whether a transaction locks a row at the statement that writes it.
    pub own_at_statement: bool,
}

impl Parameters {
    /// Checks that the parameters make sense together.
    ///
    /// # Errors
    /// Names what does not.
    pub fn check(&self) -> Result<(), String> {
        let shares = [
            self.payments,
            self.order_statuses,
            self.deliveries,
            self.stock_levels,
            self.stock_scans,
            self.top_customers,
        ];
        let percentages = [self.remote_items, self.remote_payments, self.by_last_name, self.rollbacks];
        let is_percentage = |percent: &f64| (0.0..=100.0).contains(percent);
        let problems = [
            (!(1..=MAX_WAREHOUSES).contains(&self.warehouses), "there are 1 to 65,535 warehouses"),
            (!(10..=1_000_000).contains(&self.items), "there are 10 to 1,000,000 items"),
            (!(10..=1_000_000).contains(&self.customers), "there are 10 to 1,000,000 customers in a district"),
            (!shares.iter().chain(&percentages).all(is_percentage), "a share is not between 0 and 100"),
            (shares.iter().sum::<f64>() > 100.0, "the shares are more than 100 % together"),
        ];
        match problems.iter().find(|(is_problem, _)| *is_problem) {
            Some((_, problem)) => Err(format!("workload tpcc: {problem}")),
            None => Ok(()),
        }
    }

    /// The specification's, for two small warehouses.
    #[cfg(test)]
    fn for_tests() -> Parameters {
        let presets = super::parameters::Presets::read(NAME, PRESETS).expect("sound presets");
        let changes = serde_json::json!({ "warehouses": 2, "items": 100, "customers": 30 });
        presets.parameters(super::parameters::DEFAULT, &changes).expect("sound parameters")
    }
}

/// The workload.
#[derive(Debug)]
pub struct Tpcc {
    parameters: Parameters,
}

impl Tpcc {
    /// An empty company.
    ///
    /// # Panics
    /// If the parameters make no sense together: [`Parameters::check`].
    pub fn new(parameters: Parameters) -> Tpcc {
        parameters.check().unwrap_or_else(|problem| panic!("{problem}"));
        Tpcc { parameters }
    }

    fn seated(&self, at: ClientSlot<'_>, is_long_reader: bool) -> Transactions {
        let parameters = self.parameters.clone();
        let percent = Chance::percent;
        Transactions {
            home: u64::from(at.number.saturating_sub(1)) % parameters.warehouses + 1,
            is_long_reader,
            remote_items: percent(parameters.remote_items),
            remote_payments: percent(parameters.remote_payments),
            by_last_name: percent(parameters.by_last_name),
            rollbacks: percent(parameters.rollbacks),
            randomness: at.randomness,
            call: Transaction::new(at.tables, parameters.warehouses * parameters.items, at.stamps),
            parameters,
            now: 0,
            books: Books::default(),
        }
    }
}

impl Partitioned for Tpcc {
    fn home(&self, nodes: u64, table: usize, key: &[u8]) -> Option<u64> {
        // A payment's number names its client.
        if table == HISTORY {
            return Key::to_u64(key).map(|number| self.node_of(nodes, Stamp(number).client()));
        }
        schema::warehouse_of(table, key).map(|warehouse| warehouse.saturating_sub(1) % nodes)
    }

    fn home_of_range(&self, nodes: u64, table: usize, lower: &Bound<Key>, upper: &Bound<Key>) -> Option<u64> {
        let warehouse = |bound: &Bound<Key>| match bound {
            Bound::Included(key) | Bound::Excluded(key) => schema::warehouse_of(table, key),
            Bound::Unbounded => None,
        };
        let (lower, upper) = (warehouse(lower)?, warehouse(upper)?);
        (lower == upper).then_some(lower.saturating_sub(1) % nodes)
    }

    fn node_of(&self, nodes: u64, client: u32) -> u64 {
        u64::from(client.saturating_sub(1)) % self.parameters.warehouses % nodes
    }
}

impl Workload for Tpcc {
    type Client = Transactions;
    type Audit = TpccAudit;

    fn schemas(&self) -> Vec<Schema> {
        schema::schemas()
    }

    fn forms(&self) -> Vec<Form> {
        let form = |(number, name): (usize, &'static str)| Form {
            keys: KeyForm::Text(name.into()),
            value: match number {
                BY_NAME | BY_CUSTOMER => super::bank::show_account,
                _ => super::tatp::show_typed,
            },
        };
        NAMES.into_iter().enumerate().map(form).collect()
    }

    fn records(&self) -> u64 {
        load::records(&self.parameters)
    }

    fn load(&self, stamps: Stamps) -> impl Iterator<Item = Record> {
        load::load(&self.parameters, stamps)
    }

    fn client(&self, at: ClientSlot<'_>) -> Transactions {
        self.seated(at, false)
    }

    fn long_reader(&self, at: ClientSlot<'_>) -> Transactions {
        self.seated(at, true)
    }

    fn audit(&self, clients: &[&Transactions]) -> Option<TpccAudit> {
        Some(TpccAudit::new(&self.parameters, clients.iter().map(|client| &client.books)))
    }
}

/// A client.
#[derive(Debug)]
pub struct Transactions {
    parameters: Parameters,
    home: u64,
    is_long_reader: bool,
    remote_items: Chance,
    remote_payments: Chance,
    by_last_name: Chance,
    rollbacks: Chance,
    randomness: Randomness,
    call: Transaction,
    now: i64,
    books: Books,
}

impl Transactions {
    fn draw_kind(&mut self) -> Kind {
        if self.is_long_reader {
            return Kind::StockScan;
        }
        let mut share = self.randomness.next_f64() * 100.0;
        let mut is_drawn = |percent: f64| {
            share -= percent;
            share < 0.0
        };
        let Parameters { payments, order_statuses, deliveries, stock_levels, stock_scans, top_customers, .. } =
            self.parameters;
        if is_drawn(payments) {
            self.draw_payment()
        } else if is_drawn(order_statuses) {
            Kind::OrderStatus { district: self.draw_district(), customer: self.draw_customer() }
        } else if is_drawn(deliveries) {
            Kind::Delivery { warehouse: self.home, carrier: self.randomness.in_range(1..11) as i64 }
        } else if is_drawn(stock_levels) {
            let threshold = self.randomness.in_range(10..21) as i64;
            Kind::StockLevel { district: self.draw_district(), threshold }
        } else if is_drawn(stock_scans) {
            Kind::StockScan
        } else if is_drawn(top_customers) {
            Kind::TopCustomer { district: self.draw_district() }
        } else {
            self.draw_order()
        }
    }

    fn draw_district(&mut self) -> (u64, u64) {
        (self.home, self.randomness.in_range(1..DISTRICTS + 1))
    }

    fn draw_customer(&mut self) -> CustomerBy {
        let customers = self.parameters.customers;
        if self.by_last_name.draw(&mut self.randomness) {
            CustomerBy::LastName(draw::last_name(&mut self.randomness, customers))
        } else {
            CustomerBy::Number(draw::customer(&mut self.randomness, customers))
        }
    }

    /// A warehouse other than the client's; the client's own if there is no other.
    fn draw_other_warehouse(&mut self) -> u64 {
        if self.parameters.warehouses == 1 {
            return self.home;
        }
        let other = self.randomness.in_range(1..self.parameters.warehouses);
        if other < self.home { other } else { other + 1 }
    }

    /// Clause 2.5.1.
    fn draw_payment(&mut self) -> Kind {
        let district = self.draw_district();
        let is_remote = self.remote_payments.draw(&mut self.randomness);
        let of = if is_remote {
            (self.draw_other_warehouse(), self.randomness.in_range(1..DISTRICTS + 1))
        } else {
            district
        };
        let amount = self.randomness.in_range(100..500_001) as i64;
        Kind::Payment { district, of, customer: self.draw_customer(), amount }
    }

    /// Clause 2.4.1.
    fn draw_order(&mut self) -> Kind {
        let district = self.draw_district();
        let Parameters { customers, items, .. } = self.parameters;
        let customer = draw::customer(&mut self.randomness, customers);
        let count = self.randomness.in_range(5..16);
        let rolls_back = self.rollbacks.draw(&mut self.randomness);
        for line in 1..=count {
            let is_unknown = rolls_back && line == count;
            let item = if is_unknown { items + 1 } else { draw::item(&mut self.randomness, items) };
            let is_remote = self.remote_items.draw(&mut self.randomness);
            let supplier = if is_remote { self.draw_other_warehouse() } else { self.home };
            let quantity = self.randomness.in_range(1..11) as i64;
            self.call.add(Line { item, supplier, quantity });
        }
        Kind::NewOrder { district, customer }
    }
}

impl Client for Transactions {
    type Call = Transaction;

    fn draw(&mut self) -> Mode {
        self.now += 1;
        self.call.clear(self.now);
        let kind = self.draw_kind();
        let writes = kind.writes();
        self.call.set(kind);
        match (writes, self.parameters.own_at_statement) {
            (false, _) => Mode::ReadOnly,
            (true, false) => Mode::ReadWrite,
            (true, true) => Mode::OwnAtStatement,
        }
    }

    fn call(&mut self) -> &mut Transaction {
        &mut self.call
    }

    fn kind(&self) -> Option<&'static str> {
        Some(self.call.kind().name())
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

    fn check(&mut self, seen: Seen) -> Result<(), String> {
        self.books.enter(seen)
    }
}
