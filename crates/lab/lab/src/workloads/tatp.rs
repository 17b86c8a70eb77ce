//! TATP: lookups and updates of telephone subscribers, by number of the subscriber or of the telephone.
//!
//! Source: "Telecommunication Application Transaction Processing (TATP) Benchmark Description", version 1.0 (2009): its tables,
//! transactions, shares and distribution of subscribers.
//!
//! Deviations: keys are packed into 64 bits. What would fail (a row that is not there, one that is) commits and has written nothing.
//! Written columns without a meaning of their own (`vlr_location`, `data_a`, `numberx`) hold the stamp of the write, and each
//! write of a subscriber puts it into `msc_location`, which the benchmark leaves alone.
//!
//! # What is checked
//! Subscribers are found. At the end: what no transaction writes is what was loaded, by a hash over all rows of each table; the
//! forwardings are those that were loaded or inserted and not deleted, by a hash over their keys, and each belongs to a facility;
//! subscribers, their locations, facilities and forwardings that are followed hold the last committed write of some client. Only `bit_1`
//! is not looked at: its writes carry no stamp.

mod books;
mod call;
mod rows;

pub use books::TatpAudit;
pub use call::{Seen, Transaction};

use super::{Call, Client, ClientSlot, LOADER, Record, Stamps, Submission, Workload, register, submit, submit_batch};
use crate::record::{Form, KeyForm};
use books::Books;
use call::Kind;
use check::Scalar;
use env::Randomness;
use model::{Declared, Mode, Registry, RowRef, Schema, Ticket};
use rows::{ACCESS, Shape};
use serde::{Deserialize, Serialize};

/// Its name on the command line and in rows.
pub const NAME: &str = "tatp";
/// The file of its presets.
pub const PRESETS: &str = include_str!("../../workloads/tatp.toml");

/// The parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Subscribers, counted from 1.
    pub subscribers: u64,
    /// Whether a transaction locks a row at the statement that writes it.
    pub own_at_statement: bool,
}

/// The workload.
#[derive(Debug)]
pub struct Tatp {
    parameters: Parameters,
}

impl Tatp {
    /// With at least one subscriber.
    pub fn new(parameters: Parameters) -> Tatp {
        assert!(parameters.subscribers >= 1, "there is nobody to look up");
        Tatp { parameters }
    }

    fn shapes(&self) -> impl Iterator<Item = Shape> + use<> {
        (1..=self.parameters.subscribers).map(Shape::of)
    }

    fn seated(&self, at: ClientSlot<'_>, reads_only: bool) -> Transactions {
        Transactions {
            subscribers: self.parameters.subscribers,
            reads_only,
            writing_mode: if self.parameters.own_at_statement { Mode::OwnAtStatement } else { Mode::ReadWrite },
            randomness: at.randomness,
            call: Transaction::new(at.tables, at.stamps),
            books: Books::default(),
        }
    }
}

impl Workload for Tatp {
    type Client = Transactions;
    type Audit = TatpAudit;

    fn schemas(&self) -> Vec<Schema> {
        rows::schemas()
    }

    fn forms(&self) -> Vec<Form> {
        let form = |name: &'static str| Form { keys: KeyForm::Text(name.into()), value: show_typed };
        let mut forms = vec![Form { keys: KeyForm::Integers, value: show_typed }];
        forms.extend(["access_info", "special_facility", "call_forwarding"].map(form));
        forms.push(Form { keys: KeyForm::Text("numbers".into()), value: super::bank::show_account });
        forms
    }

    fn records(&self) -> u64 {
        self.shapes().map(|shape| shape.records()).sum()
    }

    fn load(&self, mut stamps: Stamps) -> impl Iterator<Item = Record> {
        self.shapes().flat_map(move |shape| rows::records(&shape, &mut stamps))
    }

    fn client(&self, at: ClientSlot<'_>) -> Transactions {
        self.seated(at, false)
    }

    /// Only looks up.
    fn long_reader(&self, at: ClientSlot<'_>) -> Transactions {
        self.seated(at, true)
    }

    fn audit(&self, clients: &[&Transactions]) -> Option<TatpAudit> {
        let loaded = self.load(Stamps::of_client(LOADER));
        Some(TatpAudit::new(loaded, clients.iter().map(|client| &client.books)))
    }
}

/// Value of a typed row in a history: its values.
pub(super) fn show_typed(row: RowRef<'_>) -> Scalar {
    if row.check().is_err() {
        return super::ycsb::stamp_value(None, row);
    }
    let values: Vec<String> = row.values().map(|value| value.to_string()).collect();
    Scalar::from(values.join(" "))
}

/// A client.
#[derive(Debug)]
pub struct Transactions {
    subscribers: u64,
    reads_only: bool,
    writing_mode: Mode,
    randomness: Randomness,
    call: Transaction,
    books: Books,
}

impl Transactions {
    /// Uneven, as the benchmark requests.
    fn draw_subscriber(&mut self) -> u64 {
        let a = match self.subscribers {
            0..=1_000_000 => 65_535,
            1_000_001..=10_000_000 => 1_048_575,
            _ => 2_097_151,
        };
        let (one, other) = (self.randomness.in_range(0..a + 1), self.randomness.in_range(1..self.subscribers + 1));
        (one | other) % self.subscribers + 1
    }

    fn draw_kind(&mut self) -> Kind {
        const READS: u64 = 80;
        let subscriber = self.draw_subscriber();
        let share = self.randomness.in_range(0..if self.reads_only { READS } else { 100 });
        let facility = self.randomness.in_range(1..5) as u8;
        let start = 8 * self.randomness.in_range(0..3) as u8;
        let end = start + self.randomness.in_range(1..9) as u8;
        match share {
            0..35 => Kind::GetSubscriberData { subscriber },
            35..45 => Kind::GetNewDestination { subscriber, facility, start, end },
            45..READS => Kind::GetAccessData { subscriber, access: facility },
            80..82 => Kind::UpdateSubscriberData { subscriber, facility, bit: self.randomness.in_range(0..2) as u8 },
            82..96 => Kind::UpdateLocation { subscriber },
            96..98 => Kind::InsertCallForwarding { subscriber, facility, start, end },
            _ => Kind::DeleteCallForwarding { subscriber, facility, start },
        }
    }
}

impl Client for Transactions {
    type Call = Transaction;

    fn draw(&mut self) -> Mode {
        let kind = self.draw_kind();
        let writes = kind.writes();
        self.call.set(kind);
        if writes { self.writing_mode } else { Mode::ReadOnly }
    }

    fn call(&mut self) -> &mut Transaction {
        &mut self.call
    }

    fn kind(&self) -> Option<&'static str> {
        Some(self.call.kind().name())
    }

    fn reads_one_row(&self) -> bool {
        matches!(self.call.kind(), Kind::GetSubscriberData { .. } | Kind::GetAccessData { .. })
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

const _: () = assert!(ACCESS == 1, "the forms above are in the order of the tables");
