//! Workloads: what is stored, and which transactions run on it. Written once, for every engine and every door.
//!
//! A transaction is a value: a procedure with its arguments, which its client draws. So an engine may run it at once, run it
//! again, or take it into a batch. What the database must look like afterwards follows from what the committed transactions
//! returned ([`audit`]).

pub mod audit;
pub mod bank;
pub mod dml;
pub mod mixed;
pub mod parameters;
pub mod reconnaissance;
pub mod smallbank;
mod stamps;
pub mod tatp;
pub mod tpcc;
pub mod vacation;
pub mod ycsb;

pub use audit::Audit;
pub use stamps::{LOADER, Stamp, StampedBytes, Stamps};

use crate::record::{Attempts, Form, Recorded};
use crate::retry::SharedRetrying;
use env::Randomness;
use model::{
    Abort, AbortClass, BatchEntry, Begin, Declared, Error, Key, Malformed, Mode, Procedure, Program, Registry, RowBuf,
    Schema, TableId, Target, Ticket, Timestamp,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ops::Bound;

/// A database to fill and clients to run on it.
pub trait Workload: Sync + 'static {
    /// Draws the workload's transactions, one after another.
    type Client: Client;
    /// Checks the whole database.
    type Audit: Audit;

    /// The tables. Their positions here are how the rest of a workload names them.
    fn schemas(&self) -> Vec<Schema>;

    /// Representation of each table in a history, in the order of [`Workload::schemas`].
    fn forms(&self) -> Vec<Form>;

    /// Returns the initial number of records in the tables.
    fn records(&self) -> u64;

    /// The initial records: the same each time.
    fn load(&self, stamps: Stamps) -> impl Iterator<Item = Record>;

    /// A client. Equal seeds make equal choices.
    fn client(&self, at: ClientSlot<'_>) -> Self::Client;

    /// A client that reads in the background for as long as the others run.
    fn long_reader(&self, at: ClientSlot<'_>) -> Self::Client;

    /// The check of the database that these clients leave behind, long readers among them; `None` if there is none.
    fn audit(&self, clients: &[&Self::Client]) -> Option<Self::Audit>;
}

/// A workload that can be divided among nodes.
pub trait Partitioned: Workload {
    /// The node, of so many, where a key is at home. `None`: everywhere, and no transaction writes it.
    fn home(&self, nodes: u64, table: usize, key: &[u8]) -> Option<u64>;

    /// The same of all keys of a range; `None`: they have several, or it is not known.
    fn home_of_range(&self, nodes: u64, table: usize, lower: &Bound<Key>, upper: &Bound<Key>) -> Option<u64> {
        let _ = (nodes, table, lower, upper);
        None
    }

    /// The node where a client is, whose transactions but the remote ones access what is at home there.
    fn node_of(&self, nodes: u64, client: u32) -> u64;
}

/// A record of a table.
#[derive(Clone, Debug)]
pub struct Record {
    /// The table, by position.
    pub table: usize,
    /// Its key.
    pub key: Key,
    /// Its row.
    pub row: RowBuf,
}

/// Registers the procedure of a workload.
fn register<P: Procedure>(registry: &mut Registry) {
    registry.register::<P>().expect("a workload has one procedure of a name");
}

/// Place of a client in a run.
#[derive(Debug)]
pub struct ClientSlot<'a> {
    /// Its number, from 1.
    pub number: u32,
    /// The tables of [`Workload::schemas`], by position.
    pub tables: &'a [TableId],
    /// The source of its choices.
    pub randomness: Randomness,
    /// The source of its stamps.
    pub stamps: Stamps,
}

/// One client: its current transaction, and how to draw the next.
pub trait Client: Send {
    /// A transaction. It may run several times and must ask for the same accesses where it reads the same; only stamps are
    /// fresh, so that every write of every attempt is told from every other.
    type Call: Program<Error = Error, Output: Send + 'static> + Send;

    /// Draws the next transaction.
    fn draw(&mut self) -> Mode;

    /// The transaction that was drawn last.
    fn call(&mut self) -> &mut Self::Call;

    /// Kind of the transaction that was drawn last, where the workload has several.
    fn kind(&self) -> Option<&'static str> {
        None
    }

    /// Returns whether the transaction that was drawn last reads one row and does nothing else.
    fn reads_one_row(&self) -> bool {
        false
    }

    /// Registers the procedures that it submits, for engines that log them.
    fn register(_: &mut Registry) {}

    /// Submits the transaction that was drawn last. `None`: it has no footprint.
    fn submit<D: Declared>(&mut self, door: &D, submission: Submission) -> Option<Ticket<Self::Call>> {
        let _ = (door, submission);
        None
    }

    /// A copy of the transaction that was drawn last, to be submitted together with others. `None`: it has no footprint.
    fn put_aside(&mut self) -> Option<Self::Call> {
        None
    }

    /// Submits what was put aside. `None`: it has no footprint.
    fn submit_batch<D: Declared>(
        &mut self,
        door: &D,
        batch: Vec<(Self::Call, Submission)>,
    ) -> Option<Vec<Ticket<Self::Call>>> {
        let _ = (door, batch);
        None
    }

    /// Looks at what a committed transaction returned, and keeps what the audit needs of it. Never called for one that did not
    /// commit: what those saw need not make sense under every protocol.
    ///
    /// # Errors
    /// Describes the violation: the run has failed.
    fn check(&mut self, output: <Self::Call as Program>::Output) -> Result<(), String>;
}

/// A transaction for the declared door.
pub trait Call: Procedure<Error = Error> + Clone {
    /// The stamps of its writes.
    fn stamps(&mut self) -> &mut Stamps;

    /// A copy to submit, with stamps of its own.
    fn submission(&mut self) -> Self {
        let copy = self.clone();
        self.stamps().pass_over_a_submission();
        copy
    }
}

/// How a call is submitted.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Its mode and durability.
    pub how: Begin,
    /// What follows a conflict.
    pub retrying: SharedRetrying,
    /// Where its attempts are written down, if they are.
    pub attempts: Option<Attempts>,
}

/// Submits a copy of a call.
fn submit<P: Call, D: Declared>(call: &mut P, door: &D, submission: Submission) -> Ticket<P> {
    let (call, Submission { how, retrying, attempts }) = (call.submission(), submission);
    match attempts {
        None => door.submit(call, how, Box::new(retrying)),
        Some(attempts) => door.submit(Recorded::new(call, attempts), how, Box::new(retrying)),
    }
}

/// Submits calls together: all of them are recorded, or none.
fn submit_batch<P: Call, D: Declared>(door: &D, batch: Vec<(P, Submission)>) -> Vec<Ticket<P>> {
    let (mut plain, mut recorded) = (Vec::new(), Vec::new());
    for (procedure, Submission { how, retrying, attempts }) in batch {
        let retry = Box::new(retrying);
        match attempts {
            None => plain.push(BatchEntry { procedure, how, retry }),
            Some(attempts) => {
                recorded.push(BatchEntry { procedure: Recorded::new(procedure, attempts), how, retry });
            }
        }
    }
    let mut tickets = door.submit_batch(plain);
    tickets.extend(door.submit_batch(recorded));
    tickets
}

/// Appends a call's arguments.
fn encode(call: &impl Serialize, out: &mut Vec<u8>) {
    let bytes = std::mem::take(out);
    *out = postcard::to_extend(call, bytes).expect("arguments are plain data, and a vector takes any number of bytes");
}

/// Reads what [`encode`] wrote.
fn decode<C: DeserializeOwned>(arguments: &[u8]) -> Result<C, Malformed> {
    match postcard::take_from_bytes(arguments) {
        Ok((call, [])) => Ok(call),
        Ok(_) | Err(_) => Err(Malformed),
    }
}

/// The error of a body that wants no effect. It is counted under `rule`, and not tried again.
fn give_up(rule: &'static str, explanation: &'static str) -> Error {
    let (table, target, transaction, other) = (None, Target::None, Timestamp::ZERO, None);
    Abort { class: AbortClass::Requested, rule, explanation, table, target, transaction, other, met: None }.into()
}

/// Positions of tables as calls keep them: [`TableId`] has no written form of its own.
fn numbers<const N: usize>(tables: &[TableId]) -> [u32; N] {
    let tables: &[TableId; N] = tables.try_into().expect("the tables of the workload");
    tables.map(|table| table.0)
}
