//! Rows that a scan will read one by one, announced to the engine some reads before, so that its waits for memory overlap.

use super::range::Range;
use super::{Batch, Scan};
use crate::exec::scope::Run;
use model::{Key, TableId};
use std::collections::VecDeque;

/// Keys that are announced at a time: as many as engines look up side by side.
const TOGETHER: usize = 16;

/// What was announced and not read yet.
#[derive(Default)]
pub(super) struct Ahead {
    announced: usize,
    /// Keys that were announced last, of rows to which the entries of an index lead.
    window: usize,
    keys: Vec<Key>,
}

impl Ahead {
    /// The first of `ranges` is about to be read. Announces it and those behind it, as long as they are keys of one table:
    /// a list of keys is mostly read to its end.
    pub fn of_ranges(&mut self, scan: &Scan, ranges: &VecDeque<Range>, run: &mut Run<'_, '_>) {
        if self.is_announced() {
            return;
        }
        let place = |range: &Range| match range {
            Range::Key(_) => Some(scan.table.storage.id()),
            Range::Entry(index, _) => Some(*index),
            Range::Between(_) => None,
        };
        let Some(table) = ranges.front().and_then(place) else { return };
        let together = ranges.iter().take(TOGETHER).take_while(|range| place(range) == Some(table));
        self.keys.extend(together.filter_map(|range| match range {
            Range::Key(key) | Range::Entry(_, key) => Some(key.clone()),
            Range::Between(_) => None,
        }));
        self.announce(table, run);
    }

    /// The row of the entry that `batch` gives next is about to be read. Announces the rows behind it too, more each time:
    /// a statement may stop after a few.
    pub fn of_entries(&mut self, scan: &Scan, batch: &Batch, run: &mut Run<'_, '_>) {
        if self.is_announced() {
            return;
        }
        self.window = (self.window * 2).clamp(1, TOGETHER);
        self.keys.extend(batch.rest().take(self.window).map(Key::from_bytes));
        self.announce(scan.table.storage.id(), run);
    }

    /// Counts a row that is about to be read.
    fn is_announced(&mut self) -> bool {
        let is_announced = self.announced > 0;
        self.announced = self.announced.saturating_sub(1);
        is_announced
    }

    fn announce(&mut self, table: TableId, run: &mut Run<'_, '_>) {
        if self.keys.len() > 1 {
            run.exec.transaction.prefetch(table, &self.keys);
        }
        self.announced = self.keys.len().saturating_sub(1);
        self.keys.clear();
    }
}
