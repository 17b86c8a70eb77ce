//! Deferred update (PXDUR): a transaction executes at one replica, on its state, and is certified at all of them when a total order
//! delivers its reads and writes. The order is fixed after execution: the position of delivery.
//!
//! `commit` proposes and ends a round trip later, so its decision is [`Pending`]: an embedded caller blocks, a parked session is
//! resumed by the deliver thread, and a client that has sent several transactions waits once.
//! Source: Pandey, thesis 2016, chapters 2 to 4.

use model::{
    Access, Begin, Columns, Committed, Delta, Draws, Durability, Error, Finish, Interactive, Item, Key, Later,
    LogPosition, Pending, Result, RowBuf, RowRef, Savepoint, Savepoints, Scan, ScanEnd, Snapshots, TableId, Timestamp,
};
use std::ops::{Bound, ControlFlow, Deref};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A replica: an engine for its state, the total order, the deliver thread that certifies.
#[derive(Debug)]
pub enum Replica {}

/// Who proposed: a node in one of its lives, and its number there. The deliver thread answers by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Submission {
    /// The node.
    pub node: u64,
    /// Which of its lives.
    pub life: u64,
    /// Counts up.
    pub number: u64,
}

/// An open transaction: a sandbox over the replica's state as of `base`.
#[derive(Debug)]
pub struct Transaction<H> {
    /// The replica.
    pub replica: H,
    /// The position up to which the state was applied when it began. Speculation reads above it.
    pub base: LogPosition,
    /// Keys that were read, present or not.
    pub points: Vec<(TableId, Key)>,
    /// Ranges that were scanned: not the rows seen, which would miss phantoms. With a predicate, once certification tests it.
    pub ranges: Vec<(TableId, Bound<Key>, Bound<Key>)>,
    /// What it will write.
    pub writes: Vec<(TableId, Key, Option<RowBuf>)>,
    /// Drawn here only: what is certified are reads and writes, and no replica runs the body.
    pub draws: Option<Draws>,
}

/// A commit that has been proposed and not delivered yet.
#[derive(Debug)]
pub struct Proposed {
    /// The replica.
    pub replica: Arc<Replica>,
    /// The deliver thread resolves it by this.
    pub submission: Submission,
}

impl Later<Result<Committed>> for Proposed {
    /// Sleeps until the own delivery is certified; a replica that fell behind asks again by its submission.
    fn wait(self: Box<Self>) -> Result<Committed> {
        match *self.replica {}
    }

    /// Called by the deliver thread.
    fn on_resolved(self: Box<Self>, _: Box<dyn FnOnce(Result<Committed>) + Send>) {
        match *self.replica {}
    }

    /// Wakes the session that is parked on it.
    fn poll(&mut self, _: &mut Context<'_>) -> Poll<Result<Committed>> {
        match *self.replica {}
    }
}

impl<H: Deref<Target = Replica>> Access for Transaction<H> {
    /// The local snapshot at `base`, or a speculative version of a transaction of this node that is on its way; notes the key.
    fn read(&mut self, _: TableId, _: &[u8], _: Columns<'_>, _: &mut RowBuf) -> Result<bool> {
        match *self.replica {}
    }

    /// Buffers.
    fn put(&mut self, _: TableId, _: &[u8], _: RowRef<'_>) -> Result<()> {
        match *self.replica {}
    }

    /// Reads, then buffers: the absence is certified as a point.
    fn insert(&mut self, _: TableId, _: &[u8], _: RowRef<'_>) -> Result<()> {
        match *self.replica {}
    }

    /// Reads, then buffers.
    fn update(&mut self, _: TableId, _: &[u8], _: &Delta) -> Result<bool> {
        match *self.replica {}
    }

    /// Reads, then buffers a deletion.
    fn delete(&mut self, _: TableId, _: &[u8]) -> Result<bool> {
        match *self.replica {}
    }

    /// Scans the snapshot with own writes merged, notes the range up to where it stopped.
    fn scan(&mut self, _: &Scan<'_>, _: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        match *self.replica {}
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.draws.as_mut()
    }
}

impl<H: Deref<Target = Replica> + Send> Finish for Transaction<H> {
    /// A delivery since `base` that writes what it has read dooms it: [`model::AbortClass::ReadWrite`], before it is proposed.
    fn poison(&self) -> Option<&Error> {
        match *self.replica {}
    }

    /// `base`: a majority has it, so nothing is waited for unless it read speculatively.
    fn rests_on(&self) -> LogPosition {
        match *self.replica {}
    }

    /// None before delivery.
    fn timestamp(&self) -> Option<Timestamp> {
        match *self.replica {}
    }

    /// Fixes `base`; first a barrier where the session wants real time across replicas.
    fn start(&mut self) -> Result<()> {
        match *self.replica {}
    }

    /// Fsync: acknowledged by a majority's disks; weaker: by delivery.
    fn set_durability(&mut self, _: Durability) {
        match *self.replica {}
    }

    /// Bounds waits for speculative owners of this node.
    fn set_wait_limit(&mut self, _: Option<Duration>) {
        match *self.replica {}
    }

    /// Returns whether reads wait for speculative owners.
    fn set_reads_wait(&mut self, _: bool) {
        match *self.replica {}
    }

    fn savepoints(&mut self) -> Option<&mut dyn Savepoints> {
        Some(self)
    }

    /// Read only: ready, at `base`. Else proposes base, points, ranges and writes; [`Proposed`] is the pending value. A full order
    /// is [`model::LimitKind::Transactions`]. The serial point is the delivery's number times the readers that may follow it; those
    /// are counted in between, each node in a part of its own, so that points are unique.
    fn begin_commit(self) -> Pending<Result<Committed>> {
        match *self.replica {}
    }

    /// Forgets the sandbox.
    fn abort(self) {
        match *self.replica {}
    }
}

impl<H: Deref<Target = Replica>> Savepoints for Transaction<H> {
    /// The length of the write buffer.
    fn savepoint(&mut self) -> Result<Savepoint> {
        match *self.replica {}
    }

    /// Cuts the write buffer; points and ranges stay.
    fn rollback_to(&mut self, _: &Savepoint) -> Result<()> {
        match *self.replica {}
    }

    /// Nothing to do.
    fn release(&mut self, _: Savepoint) {
        match *self.replica {}
    }
}

impl Interactive for Replica {
    type Transaction<'engine> = Transaction<&'engine Replica>;
    type Owned = Transaction<Arc<Replica>>;

    fn begin(&self, _: Begin) -> Result<Self::Transaction<'_>> {
        match *self {}
    }

    fn begin_owned(self: &Arc<Self>, _: Begin) -> Result<Self::Owned> {
        match **self {}
    }

    /// A log position is a position of the total order here: delivered by a majority.
    fn wait_durable(&self, _: LogPosition) -> Result<()> {
        match *self {}
    }

    fn durable(self: &Arc<Self>, _: LogPosition) -> Pending<Result<()>> {
        match **self {}
    }

    fn snapshots(&self) -> Option<&dyn Snapshots> {
        Some(self)
    }
}

impl Snapshots for Replica {
    /// What has been applied: later deliveries stand behind it in the order.
    fn settled(&self) -> Timestamp {
        match *self {}
    }
}
