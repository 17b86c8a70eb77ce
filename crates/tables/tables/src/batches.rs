//! Going through an engine table a batch at a time: in one transaction that reads and writes in turn, or in one for each batch,
//! so that neither a write set nor memory has to hold the table.

use crate::transact::transact;
use model::{Access, Error, Key, LimitKind, Mode, Result, Scan, ScanEnd, Store, TableId};
use std::ops::ControlFlow;

/// Keys and rows.
pub type Batch = Vec<(Key, Vec<u8>)>;

/// Size at which a batch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSize {
    /// Rows, at most.
    pub rows: usize,
    /// Bytes of keys and rows after which no other row is taken.
    pub bytes: usize,
}

impl Default for BatchSize {
    fn default() -> BatchSize {
        BatchSize { rows: 512, bytes: 1 << 20 }
    }
}

/// The rows of a table that have not been handed out, in the order of their keys.
#[derive(Clone, Debug)]
pub struct Batches {
    /// `None` when all were.
    rest: Option<Scan<'static>>,
    size: BatchSize,
}

impl Batches {
    /// All rows of a table.
    pub fn of(table: TableId) -> Batches {
        Batches { rest: Some(Scan::table(table)), size: BatchSize::default() }
    }

    /// In batches of this size.
    pub fn sized(self, size: BatchSize) -> Batches {
        Batches { size, ..self }
    }

    /// The next rows, at least one; `None` if there are no more. An error leaves everything as it was.
    ///
    /// What the transaction inserts behind the last row meanwhile is handed out later. A body that may run again, in another
    /// transaction, takes from a clone.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn next<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<Option<Batch>> {
        let Some(scan) = &self.rest else { return Ok(None) };
        let (mut batch, mut bytes) = (Batch::new(), 0);
        let end = access.scan(scan, &mut |item| {
            bytes += item.key.len() + item.row.bytes().len();
            batch.push((Key::from_bytes(item.key), item.row.bytes().to_vec()));
            let is_full = batch.len() >= self.size.rows || bytes >= self.size.bytes;
            if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        self.rest = match end {
            ScanEnd::Finished => None,
            ScanEnd::Stopped(key) => self.rest.take().map(|scan| scan.resume(key)),
        };
        Ok(Some(batch).filter(|batch| !batch.is_empty()))
    }

    /// Hands each batch to `body`, in a transaction of its own that reads it too and is durable before the next one begins.
    /// After conflicts it runs again. Where a batch is more than a transaction may write, it is tried with fewer rows.
    ///
    /// # Errors
    /// Errors of the body, and errors of the engine.
    pub fn transact_each(
        mut self,
        engine: &dyn Store,
        mut body: impl FnMut(&mut dyn Access, &Batch) -> Result<()>,
    ) -> Result<()> {
        loop {
            let mut rows = 0;
            let done = transact(engine, Mode::ReadWrite, |access| {
                let mut rest = self.clone();
                let Some(batch) = rest.next(access)? else { return Ok(None) };
                rows = batch.len();
                body(access, &batch)?;
                Ok(Some(rest))
            });
            match done {
                Ok(Some(rest)) => self = rest,
                Ok(None) => return Ok(()),
                Err(Error::Limit(limit)) if rows > 1 && is_of_write_set(limit.kind) => self.size.rows = rows / 2,
                Err(error) => return Err(error),
            }
        }
    }
}

/// Returns whether fewer writes in one transaction stay below the limit.
pub(crate) fn is_of_write_set(kind: LimitKind) -> bool {
    matches!(kind, LimitKind::WriteSetRows | LimitKind::WriteSetBytes | LimitKind::Locks)
}
