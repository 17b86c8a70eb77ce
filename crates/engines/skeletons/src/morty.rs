//! Morty: replicas across regions; a transaction that missed a write is not aborted but re-executed from that read on. The order
//! is fixed at begin, by loosely synchronized clocks, and repaired later.
//!
//! A body runs against a log of its reads. A read that is not in the log is sent to a replica and stops the attempt
//! ([`Error::NotYet`]); the reply makes the log longer and the body runs again. A reply that changes an earlier read cuts the log
//! there. It needs no threads and no async: a body is a function of its log and its draws.
//! Source: Burke, Suri-Payer, Ports, Alvisi, EuroSys 2023, sections 3 and 4.

use model::{
    Access, Begin, Columns, Committed, Delta, Draws, Error, Item, Key, Program, Reexecutable, Result, Retry, RowBuf,
    RowRef, Scan, ScanEnd, TableId, Timestamp,
};
use std::ops::ControlFlow;

/// A client's coordinator: connections to all replicas, a clock, the transactions under way.
#[derive(Debug)]
pub enum Coordinator {}

/// One read of a body, in the order in which it asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedRead {
    /// The key. Scans stand in a log of their own: range, filter, columns, and the rows with their versions.
    pub of: (TableId, Key),
    /// The version that answered: the timestamp of its writer.
    pub version: Timestamp,
    /// The row; `None`: absent.
    pub row: Option<Vec<u8>>,
    /// How far [`Draws`] and the write buffer had come, so that the body may go on from here.
    pub at: Checkpoint,
}

/// Where a body stood when it read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Length of the write buffer.
    pub writes: usize,
    /// Draws taken.
    pub draws: Option<Draws>,
}

/// The reads and writes of one execution of a body. Executions of one transaction are numbered; replicas vote on the latest.
#[derive(Debug)]
pub struct Execution<'coordinator> {
    /// The coordinator.
    pub coordinator: &'coordinator Coordinator,
    /// The transaction's place, for all its executions.
    pub at: Timestamp,
    /// Which execution.
    pub number: u32,
    /// What has been answered.
    pub log: Vec<LoggedRead>,
    /// The next read's place in the log.
    pub next: usize,
    /// What will be proposed, and has been sent ahead to replicas as `Put`.
    pub writes: Vec<(TableId, Key, Option<RowBuf>)>,
    /// From the beginning in each execution.
    pub draws: Option<Draws>,
}

impl Access for Execution<'_> {
    /// From the log; beyond its end: `Get` to the nearest replica, and [`Error::NotYet`].
    fn read(&mut self, _: TableId, _: &[u8], _: Columns<'_>, _: &mut RowBuf) -> Result<bool> {
        match *self.coordinator {}
    }

    /// All that the log lacks is asked for at once, so that independent keys cost one round trip.
    fn read_many(
        &mut self,
        _: TableId,
        _: &[Key],
        _: Columns<'_>,
        _: &mut dyn FnMut(usize, Option<RowRef<'_>>),
    ) -> Result<()> {
        match *self.coordinator {}
    }

    /// Buffers, and sends `Put` to all replicas: readers above learn early that they missed it.
    fn put(&mut self, _: TableId, _: &[u8], _: RowRef<'_>) -> Result<()> {
        match *self.coordinator {}
    }

    /// Reads, then as `put`.
    fn insert(&mut self, _: TableId, _: &[u8], _: RowRef<'_>) -> Result<()> {
        match *self.coordinator {}
    }

    /// Reads, then as `put`.
    fn update(&mut self, _: TableId, _: &[u8], _: &Delta) -> Result<bool> {
        match *self.coordinator {}
    }

    /// Reads, then as `put` of a deletion.
    fn delete(&mut self, _: TableId, _: &[u8]) -> Result<bool> {
        match *self.coordinator {}
    }

    /// As a read of the range with its filter: replicas keep the predicate, and report a later write that enters it.
    fn scan(&mut self, _: &Scan<'_>, _: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        match *self.coordinator {}
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.draws.as_mut()
    }
}

/// What replicas say of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vote {
    /// It can commit.
    Commit,
    /// It has missed a write that will commit: it can not, and a later execution may.
    AbandonTentatively,
    /// It has missed a committed write.
    AbandonFinally,
}

impl Reexecutable for Coordinator {
    /// Executes until the log suffices, `Prepare`s, and on a missed write cuts the log and executes on. `retry` is asked only when
    /// the whole transaction is abandoned, which the protocol all but avoids. `Decide` is sent behind the answer. The serial point is the
    /// timestamp, in whose low bits the coordinator stands; a vote is durable at its replicas, so the log position is zero. Footprints
    /// are not asked for: [`model::AsDeclared`] gives `Declared`, and holds bodies to what they declare.
    fn execute<P: Program>(
        &self,
        _: &mut P,
        _: Begin,
        _: &mut dyn Retry,
    ) -> std::result::Result<(P::Output, Committed), P::Error> {
        match *self {}
    }
}

/// Bodies pass it on; the coordinator knows from the log that a read was beyond its end.
pub const STOPS: Error = Error::NotYet;
