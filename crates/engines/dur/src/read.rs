//! Reads of ranges: by a transaction in its turn, which enters the range before it looks at the objects.

use crate::attempt::{Attempt, ScannedRange, show};
use crate::store::KeyRange;
use model::{Columns, Item, Key, Result, RowBuf, RowRef, Scan, ScanEnd};
use std::ops::ControlFlow;

/// Objects of a range that are taken under one latch of the table.
const TAKEN_AT_ONCE: usize = 64;

/// Scans a range, with the own writes. What was seen is noted as the keys of its rows and their number (D8).
pub(crate) fn scan(
    attempt: &mut Attempt<'_>,
    scan: &Scan<'_>,
    visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
) -> Result<ScanEnd> {
    let (table, mut left) = attempt.enter_range(scan)?;
    let mut show_row = Visitor { scan, visit, shown: RowBuf::new(), examined: 0 };
    let mut rows = 0;
    let end = 'scan: loop {
        let objects = table.range(&left, scan.direction, TAKEN_AT_ONCE);
        for object in &objects {
            let below = attempt.read_base(table, &object.key)?;
            rows += u64::from(below.is_some());
            let own = attempt.entries[&(table.id, object.key.clone())].write.clone();
            let Some(row) = own.unwrap_or(below) else { continue };
            if show_row.visit(&object.key, &row).is_break() {
                break 'scan ScanEnd::Stopped(object.key.clone());
            }
        }
        match objects.last() {
            Some(last) if objects.len() == TAKEN_AT_ONCE => left.behind(&last.key, scan.direction),
            _ => break ScanEnd::Finished,
        }
    };
    let (lower, upper) = scan.seen(&end);
    attempt.ranges.push(ScannedRange { table: table.id, range: KeyRange { lower, upper }, rows });
    Ok(end)
}

/// Shows rows of a scan.
pub(crate) struct Visitor<'v, 's> {
    pub scan: &'v Scan<'s>,
    pub visit: &'v mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    pub shown: RowBuf,
    pub examined: usize,
}

impl Visitor<'_, '_> {
    /// Shows a row if it passes the filter; breaks where the scan ends.
    pub fn visit(&mut self, key: &Key, row: &[u8]) -> ControlFlow<()> {
        self.examined += 1;
        if self.scan.filter.is_none_or(|filter| filter.matches(RowRef::new(row))) {
            match self.scan.columns {
                Columns::All => (self.visit)(Item { key, row: RowRef::new(row) })?,
                columns => {
                    show(Some(row), columns, &mut self.shown);
                    (self.visit)(Item { key, row: self.shown.row() })?;
                }
            }
        }
        if self.scan.examine.is_some_and(|most| self.examined >= most) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
