//! What rows and entries take, as the engine estimates it. No answer is a read of the transaction.

use super::relations::Measure;
use crate::catalog::{Index, Storage};
use model::{TableId, Tables};
use std::ops::Bound;

/// Bytes of a page, in which `relpages` counts.
const PAGE: i64 = 8192;

/// About how many bytes rows or entries take; 0 where the engine cannot tell.
pub(super) fn bytes_of(engine: &dyn Tables, storage: Storage) -> i64 {
    let bytes = engine.estimate_bytes(storage.id()).unwrap_or_default();
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// The same of an index. A primary key is the order of the table's own rows: mostly it has no entries.
pub(super) fn bytes_of_entries(engine: &dyn Tables, index: &Index) -> i64 {
    index.storage.map_or(0, |storage| bytes_of(engine, storage))
}

/// Pages and rows, or the entries, that `own` has; an index without entries of its own has those of `rows`.
pub(super) fn measure(engine: &dyn Tables, own: Option<Storage>, rows: Storage) -> Measure {
    let bytes = own.map_or(0, |own| bytes_of(engine, own));
    let pages = i32::try_from(bytes.saturating_add(PAGE - 1) / PAGE).unwrap_or(i32::MAX);
    let table: TableId = own.unwrap_or(rows).id();
    let keys = engine.estimate_keys(table, Bound::Unbounded, Bound::Unbounded);
    Measure { pages, rows: keys.map_or(-1.0, |keys| keys as f32) }
}
