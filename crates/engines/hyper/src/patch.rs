//! Deltas as patches of the row in place: of the columns that do not change, nothing is read or written.

use crate::block::Rows;
use crate::store::Store;
use crate::undo::ColumnSet;
use model::{Change, Column, ColumnType, Delta, KeyKind, RawValue, Schema};
use smallvec::SmallVec;

/// New values of columns, each once.
#[derive(Debug, Default)]
pub(crate) struct Patch<'d>(SmallVec<[(u16, RawValue<'d>); 8]>);

impl<'d> Patch<'d> {
    /// Takes what a delta changes of the row in place. False: it touches the key, or one column twice, or does not fit the columns; a
    /// look at the whole row tells what comes of it.
    #[inline]
    pub fn fill(&mut self, delta: &'d Delta, schema: &Schema, rows: &Rows, slot: usize) -> bool {
        let mut seen = ColumnSet::NONE;
        for (column, change) in delta.changes() {
            let Some(stored) = rows.store().column(*column) else { return false };
            if seen.has(*column) || is_of_key(schema, *column) {
                return false;
            }
            seen = seen.with(ColumnSet::of(*column));
            let before = stored.get(slot);
            let Some(after) = changed(&schema.columns()[usize::from(*column)], before, change) else { return false };
            if after != before {
                self.0.push((*column, after));
            }
        }
        true
    }

    /// The columns that change.
    pub fn columns(&self) -> ColumnSet {
        self.0.iter().fold(ColumnSet::NONE, |set, (column, _)| set.with(ColumnSet::of(*column)))
    }

    /// Returns whether a text or a byte string changes.
    pub fn has_bytes(&self) -> bool {
        self.0.iter().any(|(_, new)| matches!(new, RawValue::Bytes(_) | RawValue::Decimal(_)))
    }

    /// Bytes of the new values.
    pub fn bytes(&self) -> usize {
        let bytes = |value: RawValue<'_>| value.with_bytes(<[u8]>::len).unwrap_or(size_of::<u64>());
        self.0.iter().map(|&(_, new)| bytes(new)).sum()
    }

    /// Bytes of the row with its new values.
    pub fn row_bytes(&self, store: &Store, slot: usize) -> usize {
        let (added, removed) = self.0.iter().fold((0, 0), |(added, removed), &(column, new)| {
            (added + new.bytes_len(), removed + store.get(column, slot).bytes_len())
        });
        store.row_bytes(slot) + added - removed
    }

    /// Puts the new values into their columns. Returns whether the memory that the store takes may have changed.
    #[must_use]
    pub fn apply(&self, store: &mut Store, slot: usize) -> bool {
        self.0.iter().fold(false, |moved, &(column, value)| store.set(column, slot, value) | moved)
    }
}

fn is_of_key(schema: &Schema, column: u16) -> bool {
    matches!(schema.key(), KeyKind::Columns(columns) if columns.contains(&column))
}

/// What a change makes of a value; `None` if it does not fit the column.
fn changed<'d>(column: &Column, before: RawValue<'_>, change: &'d Change) -> Option<RawValue<'d>> {
    match (change, before) {
        (Change::Set(value), _) => {
            let value = value.as_ref();
            let fits = value.column_type().map_or(column.nullable, |kind| kind == column.kind);
            fits.then(|| RawValue::of(value))
        }
        (Change::Add(_), RawValue::Null) => Some(RawValue::Null),
        (Change::Add(amount), RawValue::Word(word)) if column.kind == ColumnType::Int => {
            Some(RawValue::Word((word as i64).checked_add(*amount)? as u64))
        }
        (Change::Add(_), _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Block;
    use crate::table::Layout;
    use model::{Columns, RowBuf, Value};
    use std::sync::Arc;

    const SLOT: usize = 3;

    /// A delta of a few changes, right and wrong ones.
    fn delta_of(mut seed: u64) -> Delta {
        let mut draw = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let changes = draw(5);
        (0..changes).fold(Delta::new(), |delta, _| {
            let (column, number) = (draw(7) as u16, draw(3) as i64);
            match draw(6) {
                0 => delta.set(column, Value::Null),
                1 => delta.set(column, "a text".repeat(number as usize)),
                2 => delta.set(column, 1.5 * number as f64),
                3 => delta.add(column, i64::MAX),
                4 => delta.add(column, number),
                _ => delta.set(column, 300 * number),
            }
        })
    }

    fn rows_of(schema: &Schema, row: &RowBuf) -> Block {
        let (schema, meter) = (Arc::new(schema.clone()), Arc::default());
        let block = Block::new(&Layout {
            schema,
            by_row: false,
            block_rows: 64,
            has_synopses: true,
            whole_versions: false,
            meter,
        });
        block.write().put(SLOT, Some(row.row()));
        block
    }

    /// Where a patch tells what comes of a delta, a copy of the whole row tells the same; and it does tell where nothing is wrong.
    #[test]
    fn a_patch_makes_the_row_that_a_copy_makes() {
        let schema = Schema::table("t").column("id", ColumnType::Int).column("a", ColumnType::Int);
        let schema = schema.nullable("b", ColumnType::Int).nullable("c", ColumnType::Text);
        let schema = schema.column("d", ColumnType::Text).column("e", ColumnType::Float).key(["id"]);
        let schema = schema.build().expect("a good schema");
        let values = [Value::Int(7), 5.into(), Value::Null, "old".into(), "some text".into(), Value::Float(0.5)];
        let row = RowBuf::from_values(&values.each_ref().map(Value::as_ref));
        let (mut told, mut expected, mut copied) = (0, RowBuf::new(), RowBuf::new());
        for seed in 0..20_000 {
            let delta = delta_of(seed);
            let block = rows_of(&schema, &row);
            let mut rows = block.write();
            let whole = schema.change(row.row(), &delta, &mut expected);
            let whole = whole.and_then(|()| schema.check_changed(&values_key(), &delta, expected.row()));
            let mut patch = Patch::default();
            if !patch.fill(&delta, &schema, &rows, SLOT) {
                continue;
            }
            assert!(whole.is_ok(), "{delta:?}: {whole:?}");
            let changed: Vec<u16> =
                (0..6).filter(|&column| row.row().raw(column.into()) != expected.row().raw(column.into())).collect();
            let mut columns = Vec::new();
            patch.columns().each(6, |column| columns.push(column));
            assert_eq!(columns, changed, "{delta:?}");
            assert_eq!(patch.row_bytes(rows.store(), SLOT), expected.bytes().len(), "{delta:?}");
            rows.patch(SLOT, &patch);
            rows.newest(SLOT).copy(Columns::All, &mut copied);
            assert_eq!(copied, expected, "{delta:?}");
            told += 1;
        }
        assert!(told > 4_000, "{told} patches");
    }

    fn values_key() -> model::Key {
        let mut key = model::Key::new();
        key.push_i64(7);
        key
    }
}
