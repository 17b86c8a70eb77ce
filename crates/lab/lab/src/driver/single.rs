//! Reads of one row, which enter without a transaction.

use model::{
    Access, Columns, Committed, Delta, Error, Interactive, Invalid, Item, LogPosition, Program, Result, Retry, RowBuf,
    RowRef, Scan, ScanEnd, TableId, retry,
};
use std::ops::ControlFlow;

/// Runs a program that reads one row and does nothing else, by [`Interactive::get`].
///
/// # Errors
/// Those of the read; [`Invalid::Unsupported`] if the program does anything else.
pub(super) fn read_one<E: Interactive, P: Program<Error = Error>>(
    engine: &E,
    program: &mut P,
    retry: &mut dyn Retry,
) -> Result<(P::Output, Committed)> {
    let done = retry::run(retry, |_| {
        let mut access = OneRead { engine, log_position: None };
        let output = program.run(&mut access)?;
        let log_position = access.log_position.unwrap_or_default();
        Ok((output, Committed { serial_point: None, log_position }))
    });
    done.map_err(retry::Failure::into_error)
}

/// The access of such a program.
struct OneRead<'e, E> {
    engine: &'e E,
    /// Log position that the answer waits for, once something was read.
    log_position: Option<LogPosition>,
}

fn refused<T>() -> Result<T> {
    Err(Invalid::Unsupported { what: "anything but one read by the door `get`" }.into())
}

impl<E: Interactive> Access for OneRead<'_, E> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        if self.log_position.is_some() {
            return refused();
        }
        let got = self.engine.get(table, key, columns, row)?;
        self.log_position = Some(got.log_position);
        Ok(got.found)
    }

    fn read_for_update(&mut self, _: TableId, _: &[u8], _: Columns<'_>, _: &mut RowBuf) -> Result<bool> {
        refused()
    }

    fn put(&mut self, _: TableId, _: &[u8], _: RowRef<'_>) -> Result<()> {
        refused()
    }

    fn insert(&mut self, _: TableId, _: &[u8], _: RowRef<'_>) -> Result<()> {
        refused()
    }

    fn update(&mut self, _: TableId, _: &[u8], _: &Delta) -> Result<bool> {
        refused()
    }

    fn delete(&mut self, _: TableId, _: &[u8]) -> Result<bool> {
        refused()
    }

    fn scan(&mut self, _: &Scan<'_>, _: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        refused()
    }
}
