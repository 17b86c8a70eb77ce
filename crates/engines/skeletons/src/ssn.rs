//! A certifier over another DBMS (TSAsR): the foreign system answers at Read Committed, and a serial safety net decides at commit
//! whether an exclusion window is violated. The order is implicit: nothing claims a serial point.
//!
//! Tables, savepoints and durability are the foreign system's. What it cannot be asked for is an absent capability.
//! Source: Pandey, thesis 2016, chapter 5; Wang, Johnson, Fekete, Pandis, DaMoN 2015.

use model::{
    Access, Begin, Columns, Committed, Delta, Draws, Durability, Error, Finish, Interactive, Item, Key, LogPosition,
    Pending, Result, RowBuf, RowRef, Scan, ScanEnd, Supervised, Supervisor, TableId, Timestamp,
};
use std::ops::{ControlFlow, Deref};
use std::sync::Arc;
use std::time::Duration;

/// The certifier: connections to the foreign system, a stamp per key that was touched lately.
#[derive(Debug)]
pub enum Certifier {}

/// A stamp of the certifier's counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp(pub u64);

/// An open transaction: one of the foreign system, and its exclusion window.
#[derive(Debug)]
pub struct Transaction<H> {
    /// The certifier.
    pub certifier: H,
    /// Latest predecessor: whatever must come before it.
    pub predecessor: Stamp,
    /// Earliest successor: whatever must come after it. Not above the predecessor: it aborts.
    pub successor: Stamp,
    /// The version stamp of every key that it read.
    pub reads: Vec<(TableId, Key, Stamp)>,
    /// The keys that it wrote, in the foreign transaction already.
    pub writes: Vec<(TableId, Key)>,
    /// [`Begin::draws`]: bodies draw here, and never by a function of the foreign system.
    pub draws: Option<Draws>,
}

impl<H: Deref<Target = Certifier>> Access for Transaction<H> {
    /// SELECT of the columns and of the row's stamp, which moves the predecessor.
    fn read(&mut self, _: TableId, _: &[u8], _: Columns<'_>, _: &mut RowBuf) -> Result<bool> {
        match *self.certifier {}
    }

    /// SELECT .. FOR UPDATE: later transactions queue in the foreign system.
    fn read_for_update(&mut self, _: TableId, _: &[u8], _: Columns<'_>, _: &mut RowBuf) -> Result<bool> {
        match *self.certifier {}
    }

    /// INSERT .. ON CONFLICT DO UPDATE, with the own stamp.
    fn put(&mut self, _: TableId, _: &[u8], _: RowRef<'_>) -> Result<()> {
        match *self.certifier {}
    }

    /// INSERT; the foreign duplicate is [`Error::Duplicate`].
    fn insert(&mut self, _: TableId, _: &[u8], _: RowRef<'_>) -> Result<()> {
        match *self.certifier {}
    }

    /// UPDATE of the columns.
    fn update(&mut self, _: TableId, _: &[u8], _: &Delta) -> Result<bool> {
        match *self.certifier {}
    }

    /// DELETE; a tombstone keeps the stamp.
    fn delete(&mut self, _: TableId, _: &[u8]) -> Result<bool> {
        match *self.certifier {}
    }

    /// SELECT with range, filter and columns as a WHERE clause: predicates are data, so they can be printed. Gaps are protected by
    /// stamps of key ranges.
    fn scan(&mut self, _: &Scan<'_>, _: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        match *self.certifier {}
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.draws.as_mut()
    }
}

impl<H: Deref<Target = Certifier> + Send> Finish for Transaction<H> {
    /// The window that closed ([`model::AbortClass::ReadWrite`]), or the foreign abort.
    fn poison(&self) -> Option<&Error> {
        match *self.certifier {}
    }

    /// Zero: the foreign system shows only what it has made durable, or has been told not to wait.
    fn rests_on(&self) -> LogPosition {
        match *self.certifier {}
    }

    /// The own stamp, once drawn.
    fn timestamp(&self) -> Option<Timestamp> {
        match *self.certifier {}
    }

    /// BEGIN.
    fn start(&mut self) -> Result<()> {
        match *self.certifier {}
    }

    /// The foreign system's setting for this transaction.
    fn set_durability(&mut self, _: Durability) {
        match *self.certifier {}
    }

    /// The foreign lock timeout.
    fn set_wait_limit(&mut self, _: Option<Duration>) {
        match *self.certifier {}
    }

    /// No effect: the foreign system decides.
    fn set_reads_wait(&mut self, _: bool) {
        match *self.certifier {}
    }

    fn supervised(&mut self) -> Option<&mut dyn Supervised> {
        Some(self)
    }

    /// Certifies, then COMMIT on the same connection: decided later, by the foreign answer. A connection lost in between is
    /// [`model::Fault::OutcomeUnknown`]. [`Committed::serial_point`] is `None`.
    fn begin_commit(self) -> Pending<Result<Committed>> {
        match *self.certifier {}
    }

    /// ROLLBACK.
    fn abort(self) {
        match *self.certifier {}
    }
}

impl<H: Deref<Target = Certifier>> Supervised for Transaction<H> {
    /// Ends a wait by a cancel request on another connection.
    fn set_supervisor(&mut self, _: Arc<dyn Supervisor>) {
        match *self.certifier {}
    }
}

impl Interactive for Certifier {
    type Transaction<'engine> = Transaction<&'engine Certifier>;
    type Owned = Transaction<Arc<Certifier>>;

    /// Takes a connection; [`model::LimitKind::Transactions`] if there is none.
    fn begin(&self, _: Begin) -> Result<Self::Transaction<'_>> {
        match *self {}
    }

    fn begin_owned(self: &Arc<Self>, _: Begin) -> Result<Self::Owned> {
        match **self {}
    }

    /// Returns at once: COMMIT has answered.
    fn wait_durable(&self, _: LogPosition) -> Result<()> {
        match *self {}
    }

    fn durable(self: &Arc<Self>, _: LogPosition) -> Pending<Result<()>> {
        match **self {}
    }
}
