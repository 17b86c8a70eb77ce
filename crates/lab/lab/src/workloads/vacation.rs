//! Vacation: a travel agency. Customers book cars, flights and rooms; offers come and go.
//!
//! Source: Cao Minh et al., "STAMP: Stanford transactional applications for multi-processing", IISWC 2008, section 3; made distributed
//! as in Pandey (2016), chapter 4: everything is divided among partitions, and a client keeps to its own, but for the share of its
//! transactions that are remote.
//!
//! Deviations: rows hold STAMP's lists of bookings. An offer of which nothing is left stays. A remote transaction books all its offers
//! in one other partition, for a customer of its own.
//!
//! # What is checked
//! Offers are found. At the end: what is used of each offer is what customers have booked of it, no more than there is; offers,
//! customers and bookings are as many as committed transactions say.

mod audit;
mod call;
mod rows;

pub use audit::VacationAudit;
pub use call::{Seen, Transaction};

use super::{
    Call, Client, ClientSlot, Partitioned, Record, Stamps, Submission, Workload, register, submit, submit_batch,
};
use crate::draw::Chance;
use crate::record::{Form, KeyForm};
use audit::Books;
use call::{Change, Kind, LOT, Query};
use env::Randomness;
use model::{Declared, Key, Mode, Registry, Schema, Ticket};
use rows::{Booking, Offer};
use serde::{Deserialize, Serialize};

/// Its name on the command line and in rows.
pub const NAME: &str = "vacation";
/// The file of its presets.
pub const PRESETS: &str = include_str!("../../workloads/vacation.toml");

/// The parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Cars, flights, rooms and customers, each as many.
    pub relations: u64,
    /// Offers that a transaction looks at.
    pub queries: u32,
    /// Percentage of the relations that are looked at.
    pub queried: f64,
    /// Percentage of transactions that book.
    pub users: f64,
    /// Relations are divided among so many, by number.
    pub partitions: u64,
    /// Percentage of transactions with offers of another partition.
    pub remote: f64,
    /// Whether a transaction locks a row at the statement that writes it.
    pub own_at_statement: bool,
}

impl Parameters {
    /// Checks that the parameters make sense together.
    ///
    /// # Errors
    /// Names what does not.
    pub fn check(&self) -> Result<(), String> {
        let is_percentage = |percent: f64| (0.0..=100.0).contains(&percent);
        let problems = [
            (self.partitions == 0 || self.relations < self.partitions, "each partition needs a relation"),
            (self.queries == 0, "a transaction looks at one offer at least"),
            (
                ![self.queried, self.users, self.remote].into_iter().all(is_percentage),
                "a share is not between 0 and 100",
            ),
        ];
        match problems.iter().find(|(is_problem, _)| *is_problem) {
            Some((_, problem)) => Err(format!("workload vacation: {problem}")),
            None => Ok(()),
        }
    }
}

/// Tables of offers: cars, flights, rooms.
const OFFERS: usize = 3;
/// The table of customers.
const CUSTOMERS: usize = OFFERS;
/// The tables, by position.
const NAMES: [&str; OFFERS + 1] = ["cars", "flights", "rooms", "customers"];

/// The workload.
#[derive(Debug)]
pub struct Vacation {
    parameters: Parameters,
}

impl Vacation {
    /// An agency.
    ///
    /// # Panics
    /// If the parameters make no sense together: [`Parameters::check`].
    pub fn new(parameters: Parameters) -> Vacation {
        parameters.check().unwrap_or_else(|problem| panic!("{problem}"));
        Vacation { parameters }
    }

    /// The offer that is loaded: one to five lots, at one of five prices.
    fn offer(table: usize, number: u64) -> Offer {
        let mixed = (number * OFFERS as u64 + table as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        Offer { total: LOT * (1 + mixed % 5) as i64, used: 0, price: 50 + 10 * (mixed / 5 % 5) as i64 }
    }
}

impl Partitioned for Vacation {
    fn home(&self, nodes: u64, _: usize, key: &[u8]) -> Option<u64> {
        Key::to_u64(key).map(|number| number % self.parameters.partitions % nodes)
    }

    fn node_of(&self, nodes: u64, client: u32) -> u64 {
        u64::from(client.saturating_sub(1)) % self.parameters.partitions % nodes
    }
}

impl Workload for Vacation {
    type Client = Transactions;
    type Audit = VacationAudit;

    fn schemas(&self) -> Vec<Schema> {
        NAMES.map(|name| Schema::bytes(name).u64_key().build().expect("a schema without columns")).into()
    }

    fn forms(&self) -> Vec<Form> {
        NAMES.map(|name| Form { keys: KeyForm::Text(name.into()), value: rows::show }).into()
    }

    fn records(&self) -> u64 {
        self.parameters.relations * NAMES.len() as u64
    }

    fn load(&self, mut stamps: Stamps) -> impl Iterator<Item = Record> {
        let relations = self.parameters.relations;
        (0..NAMES.len()).flat_map(move |table| (0..relations).map(move |number| (table, number))).map(
            move |(table, number)| {
                let stamp = stamps.draw();
                let row = match table {
                    CUSTOMERS => Booking::row(&[], stamp),
                    _ => Vacation::offer(table, number).row(stamp),
                };
                Record { table, key: Key::from_u64(number), row }
            },
        )
    }

    fn client(&self, at: ClientSlot<'_>) -> Transactions {
        let parameters = self.parameters.clone();
        Transactions {
            home: u64::from(at.number.saturating_sub(1)) % parameters.partitions,
            users: Chance::percent(parameters.users),
            remote: Chance::percent(parameters.remote),
            randomness: at.randomness,
            call: Transaction::new(at.tables, at.stamps),
            books: Books::default(),
            only_looks: false,
            parameters,
        }
    }

    /// Looks at offers, and finds a customer who is to be deleted nowhere.
    fn long_reader(&self, at: ClientSlot<'_>) -> Transactions {
        Transactions { only_looks: true, ..self.client(at) }
    }

    fn audit(&self, clients: &[&Transactions]) -> Option<VacationAudit> {
        let relations = self.parameters.relations;
        let offers = (0..OFFERS).flat_map(|table| (0..relations).map(move |number| Vacation::offer(table, number)));
        let loaded = (offers.map(|offer| offer.total).sum(), relations as i64);
        Some(VacationAudit::new(relations, loaded, clients))
    }
}

/// A client.
#[derive(Debug)]
pub struct Transactions {
    parameters: Parameters,
    home: u64,
    users: Chance,
    remote: Chance,
    randomness: Randomness,
    call: Transaction,
    books: Books,
    /// It asks for a customer that there is not, and changes nothing.
    only_looks: bool,
}

impl Transactions {
    /// A number of a partition, among those that are looked at.
    fn draw_number(&mut self, partition: u64, share: f64) -> u64 {
        let Parameters { relations, partitions, .. } = self.parameters;
        let of_partition = (relations - partition).div_ceil(partitions);
        let looked_at = ((of_partition as f64 * share / 100.0) as u64).clamp(1, of_partition);
        self.randomness.in_range(0..looked_at) * partitions + partition
    }

    fn draw_partition(&mut self) -> u64 {
        let partitions = self.parameters.partitions;
        if partitions == 1 || !self.remote.draw(&mut self.randomness) {
            return self.home;
        }
        let other = self.randomness.in_range(0..partitions - 1);
        if other < self.home { other } else { other + 1 }
    }

    fn draw_queries(&mut self) -> Vec<Query> {
        let partition = self.draw_partition();
        let Parameters { queries, queried, .. } = self.parameters;
        let draw = |_| {
            let table = self.randomness.in_range(0..OFFERS as u64) as usize;
            Query { table, number: self.draw_number(partition, queried) }
        };
        (0..queries).map(draw).collect()
    }

    fn draw_kind(&mut self) -> Kind {
        if self.only_looks {
            return Kind::DeleteCustomer { customer: self.parameters.relations };
        }
        if self.users.draw(&mut self.randomness) {
            let customer = self.draw_number(self.home, 100.0);
            return Kind::Book { customer, queries: self.draw_queries() };
        }
        if self.randomness.chance(1, 2) {
            return Kind::DeleteCustomer { customer: self.draw_number(self.home, 100.0) };
        }
        let changes = self.draw_queries().into_iter().map(|offer| {
            let price = 50 + 10 * self.randomness.in_range(0..5) as i64;
            Change { offer, price: self.randomness.chance(1, 2).then_some(price) }
        });
        Kind::Update { changes: changes.collect() }
    }
}

impl Client for Transactions {
    type Call = Transaction;

    fn draw(&mut self) -> Mode {
        self.call.kind = self.draw_kind();
        if self.parameters.own_at_statement { Mode::OwnAtStatement } else { Mode::ReadWrite }
    }

    fn call(&mut self) -> &mut Transaction {
        &mut self.call
    }

    fn kind(&self) -> Option<&'static str> {
        Some(self.call.kind.name())
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
