//! HyPer: rows changed in place, before-images in undo buffers, serializable by precision locking. The order is fixed at commit.
//!
//! A read undoes versions back to its snapshot and logs *what it asked for*: a restriction and the columns that it looked at. At
//! commit the discrete writes of transactions that committed meanwhile are tested against those predicates. So protection is as
//! precise as what reaches [`Access::scan`]: a scan without filter would conflict with every write to the table.
//! Source: Neumann, Mühlbauer, Kemper, SIGMOD 2015, sections 2.1 to 2.5.

use model::columns::{Batch, Batches, ColumnReads};
use model::{
    Access, Begin, Columns, Committed, Delta, Draws, Durability, Error, Finish, Interactive, Item, Key, LogPosition,
    Pending, Predicate, ReadView, Result, RowBuf, RowRef, Savepoint, Savepoints, Scan, ScanEnd, Schema, SharedReads,
    Snapshots, TableId, Tables, Timestamp,
};
use std::ops::{Bound, ControlFlow, Deref};
use std::sync::Arc;
use std::time::Duration;

/// The engine: tables of column vectors with a version chain per row, the recently committed undo buffers, a counter.
#[derive(Debug)]
pub enum Hyper {}

/// An open transaction.
#[derive(Debug)]
pub struct Transaction<H> {
    /// The engine.
    pub engine: H,
    /// Reads see what had committed by then.
    pub start: Timestamp,
    /// Marks its uncommitted versions: above every start timestamp.
    pub name: Timestamp,
    /// Before-images, newest last: versions for others, and the way back for itself.
    pub undo: Vec<Before>,
    /// What it has read, per table.
    pub predicates: Vec<Logged>,
    /// [`Begin::draws`].
    pub draws: Option<Draws>,
}

/// One before-image: the columns that an update replaced, or the whole row.
#[derive(Debug)]
pub struct Before {
    /// Where.
    pub place: (TableId, Key),
    /// What stood there; `None`: no row.
    pub columns: Option<Vec<(u16, model::Value)>>,
}

/// One read as it is kept for validation. Attribute-level: a version that changed none of `columns` and does not enter or leave
/// `restriction` is no conflict.
#[derive(Debug)]
pub struct Logged {
    /// The table.
    pub table: TableId,
    /// The range of keys.
    pub range: (Bound<Key>, Bound<Key>),
    /// [`Scan::filter`], by value.
    pub restriction: Predicate,
    /// [`Scan::columns`] and those of the restriction; `None`: all.
    pub columns: Option<Vec<u16>>,
}

impl<H: Deref<Target = Hyper>> Access for Transaction<H> {
    /// Copies the row in place, undoes it back to `start`, logs a point with the columns.
    fn read(&mut self, _: TableId, _: &[u8], _: Columns<'_>, _: &mut RowBuf) -> Result<bool> {
        match *self.engine {}
    }

    /// As an update of all columns, or an insert.
    fn put(&mut self, _: TableId, _: &[u8], _: RowRef<'_>) -> Result<()> {
        match *self.engine {}
    }

    /// An undo entry "no row"; logs the point that was found absent.
    fn insert(&mut self, _: TableId, _: &[u8], _: RowRef<'_>) -> Result<()> {
        match *self.engine {}
    }

    /// Before-image of the changed columns only, then in place. A foreign version newer than `start` aborts at once:
    /// [`model::AbortClass::WriteWrite`].
    fn update(&mut self, _: TableId, _: &[u8], _: &Delta) -> Result<bool> {
        match *self.engine {}
    }

    /// Marks the row deleted; the whole row is the before-image.
    fn delete(&mut self, _: TableId, _: &[u8]) -> Result<bool> {
        match *self.engine {}
    }

    /// Logs range, filter and columns at the call, then walks the vectors; rows without versions are read in place, in bulk.
    fn scan(&mut self, _: &Scan<'_>, _: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        match *self.engine {}
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.draws.as_mut()
    }
}

impl<H: Deref<Target = Hyper> + Send> Finish for Transaction<H> {
    /// Nothing aborts it between its own calls.
    fn poison(&self) -> Option<&Error> {
        match *self.engine {}
    }

    /// The log position of its start: everything visible was logged before.
    fn rests_on(&self) -> LogPosition {
        match *self.engine {}
    }

    /// The name that its versions carry.
    fn timestamp(&self) -> Option<Timestamp> {
        match *self.engine {}
    }

    /// Draws `start`.
    fn start(&mut self) -> Result<()> {
        match *self.engine {}
    }

    /// Kept for the commit.
    fn set_durability(&mut self, _: Durability) {
        match *self.engine {}
    }

    /// No effect: nobody waits for another transaction here.
    fn set_wait_limit(&mut self, _: Option<Duration>) {
        match *self.engine {}
    }

    /// No effect, as above.
    fn set_reads_wait(&mut self, _: bool) {
        match *self.engine {}
    }

    fn savepoints(&mut self) -> Option<&mut dyn Savepoints> {
        Some(self)
    }

    fn shared_reads(&mut self) -> Option<&mut dyn SharedReads> {
        Some(self)
    }

    /// Draws the commit timestamp, tests the undo buffers of those between `start` and it against the predicate tree, logs,
    /// publishes through the status word. Decided alone, so ready.
    fn begin_commit(self) -> Pending<Result<Committed>> {
        match *self.engine {}
    }

    /// Undoes in place.
    fn abort(self) {
        match *self.engine {}
    }
}

impl<H: Deref<Target = Hyper>> Savepoints for Transaction<H> {
    /// The length of the undo buffer.
    fn savepoint(&mut self) -> Result<Savepoint> {
        match *self.engine {}
    }

    /// Undoes down to it. The predicates stay: what was read stays read.
    fn rollback_to(&mut self, _: &Savepoint) -> Result<()> {
        match *self.engine {}
    }

    /// Forgets the length.
    fn release(&mut self, _: Savepoint) {
        match *self.engine {}
    }
}

/// The reads of one transaction, for several threads: each logs its predicates under a latch, which the transaction takes over.
#[derive(Debug)]
pub struct View<'transaction> {
    /// The engine.
    pub engine: &'transaction Hyper,
    /// The transaction's.
    pub start: Timestamp,
    /// Its own versions are seen.
    pub name: Timestamp,
}

impl<H: Deref<Target = Hyper>> SharedReads for Transaction<H> {
    /// Draws `start` if nothing has yet.
    fn read_view(&mut self) -> Result<Box<dyn ReadView + '_>> {
        match *self.engine {}
    }
}

impl ReadView for View<'_> {
    /// As the transaction's.
    fn read(&self, _: TableId, _: &[u8], _: Columns<'_>, _: &mut RowBuf) -> Result<bool> {
        match *self.engine {}
    }

    /// As the transaction's.
    fn scan(&self, _: &Scan<'_>, _: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        match *self.engine {}
    }

    fn columns(&self) -> Option<&dyn ColumnReads> {
        Some(self)
    }
}

impl ColumnReads for View<'_> {
    /// Logs range, filter and columns, once. The filter selects in the vectors before anything is copied; a range of keys is an upper
    /// bound on blocks, or a walk of the index.
    fn scan_columns<'v>(&'v self, _: Scan<'v>) -> Result<Box<dyn Batches + 'v>> {
        match *self.engine {}
    }
}

/// A scan by column: threads draw blocks from a counter.
#[derive(Debug)]
pub struct Blocks<'v> {
    /// Whose reads.
    pub view: &'v View<'v>,
    /// Range, filter and columns.
    pub scan: Scan<'v>,
}

impl Batches for Blocks<'_> {
    /// Copies the wanted columns of the rows that pass out of the next block, under its latch; rows with versions are undone back to
    /// `start` one by one. Values in place change, so nothing is lent out.
    fn next(&self, _: &mut Batch) -> Result<bool> {
        match *self.view.engine {}
    }
}

impl Interactive for Hyper {
    type Transaction<'engine> = Transaction<&'engine Hyper>;
    type Owned = Transaction<Arc<Hyper>>;

    fn begin(&self, _: Begin) -> Result<Self::Transaction<'_>> {
        match *self {}
    }

    fn begin_owned(self: &Arc<Self>, _: Begin) -> Result<Self::Owned> {
        match **self {}
    }

    fn wait_durable(&self, _: LogPosition) -> Result<()> {
        match *self {}
    }

    /// Asks the log to call back, as `mvto` does.
    fn durable(self: &Arc<Self>, _: LogPosition) -> Pending<Result<()>> {
        match **self {}
    }

    fn ddl(&self) -> Option<&dyn Tables> {
        Some(self)
    }

    fn snapshots(&self) -> Option<&dyn Snapshots> {
        Some(self)
    }
}

impl Snapshots for Hyper {
    /// The newest commit timestamp that is published: every snapshot is settled.
    fn settled(&self) -> Timestamp {
        match *self {}
    }
}

impl Tables for Hyper {
    fn create_table_unlisted(&self, _: Schema) -> Result<TableId> {
        match *self {}
    }

    fn drop_table(&self, _: &str) -> Result<()> {
        match *self {}
    }

    fn tables(&self) -> Vec<(TableId, Arc<Schema>)> {
        match *self {}
    }

    fn checkpoint(&self) -> Result<()> {
        match *self {}
    }
}
