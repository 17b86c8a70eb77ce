//! Samples of rows, for estimates: no transaction, no stamp, no wait for a transaction.

use crate::engine::Mvto;
use env::Clock;
use model::{RowBuf, RowRef, TableId};
use parts::epoch;
use std::ops::ControlFlow;

/// Rows that are copied while the bound stands still.
const AT_ONCE: usize = 16;

impl<C: Clock> Mvto<C> {
    /// Shows rows from all over a table, each as it is committed now.
    pub(crate) fn sample_committed(
        &self,
        id: TableId,
        most: usize,
        visit: &mut dyn FnMut(RowRef<'_>) -> ControlFlow<()>,
    ) {
        let catalog = self.catalog();
        let Some(table) = catalog.get(id) else { return };
        let mut rows: Vec<RowBuf> = Vec::new();
        let mut keys = table.space().sample(most);
        keys.sort_unstable();
        keys.dedup();
        for keys in keys.chunks(AT_ONCE) {
            rows.clear();
            {
                // Tuples are not stamped: what replaces a newest version meanwhile leaves it as it is (S5).
                let _still = self.bound.hold_still();
                let guard = epoch::pin();
                let newest = keys.iter().filter_map(|key| table.space().get(key, &guard)?.newest()?.row());
                rows.extend(newest.map(|row| RowBuf::from_bytes(row.bytes())));
            }
            if rows.iter().any(|row| visit(row.row()).is_break()) {
                return;
            }
        }
    }
}
