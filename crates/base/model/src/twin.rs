//! The naive twin: one map per table, one transaction at a time, obviously correct. Engines are compared with it on random
//! programs.

use crate::{
    Access, Columns, Delta, Direction, Duplicate, Invalid, Item, Key, Result, RowBuf, RowKind, RowRef, Scan, ScanEnd,
    Schema, TableId,
};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

type Rows = BTreeMap<Key, Vec<u8>>;

/// All tables, and how to get back to where the running transaction began.
#[derive(Clone, Debug, Default)]
pub struct Twin {
    tables: Vec<(Arc<Schema>, Rows)>,
    undo: Vec<(TableId, Key, Option<Vec<u8>>)>,
}

impl Twin {
    /// No tables.
    pub fn new() -> Twin {
        Twin::default()
    }

    /// Adds a table; ids count up from `TableId(0)`.
    pub fn create_table(&mut self, schema: Schema) -> TableId {
        self.tables.push((Arc::new(schema), Rows::new()));
        TableId(self.tables.len() as u32 - 1)
    }

    /// Keeps what was written since the last commit or abort.
    pub fn commit(&mut self) {
        self.undo.clear();
    }

    /// Takes it back.
    pub fn abort(&mut self) {
        while let Some((table, key, before)) = self.undo.pop() {
            let rows = &mut self.tables[table.0 as usize].1;
            match before {
                Some(row) => rows.insert(key, row),
                None => rows.remove(&key),
            };
        }
    }

    /// The rows of a table, in key order.
    pub fn rows(&self, table: TableId) -> impl Iterator<Item = (&Key, &[u8])> {
        self.tables[table.0 as usize].1.iter().map(|(key, row)| (key, &row[..]))
    }

    fn table(&self, table: TableId) -> Result<&(Arc<Schema>, Rows)> {
        let unknown = || Invalid::UnknownTable { table: format!("number {}", table.0) }.into();
        self.tables.get(table.0 as usize).ok_or_else(unknown)
    }

    fn set(&mut self, table: TableId, key: &[u8], row: Option<Vec<u8>>) {
        let rows = &mut self.tables[table.0 as usize].1;
        let before = match row {
            Some(row) => rows.insert(key.into(), row),
            None => rows.remove(key),
        };
        self.undo.push((table, key.into(), before));
    }
}

impl Access for Twin {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        let (schema, rows) = self.table(table)?;
        schema.check_key(key)?;
        schema.check_columns(columns)?;
        row.clear();
        let Some(stored) = rows.get(key) else { return Ok(false) };
        row.project(RowRef::new(stored), columns);
        Ok(true)
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        let schema = &self.table(table)?.0;
        schema.check_key(key)?;
        schema.check_row(key, row)?;
        self.set(table, key, Some(row.bytes().to_vec()));
        Ok(())
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        let (schema, rows) = self.table(table)?;
        if rows.contains_key(key) {
            return Err(Duplicate { table: schema.clone(), key: key.into() }.into());
        }
        self.put(table, key, row)
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        let (schema, rows) = self.table(table)?;
        schema.check_key(key)?;
        let Some(stored) = rows.get(key) else { return Ok(false) };
        let mut new = RowBuf::new();
        schema.change(RowRef::new(stored), delta, &mut new)?;
        self.put(table, key, new.row())?;
        Ok(true)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        let (schema, rows) = self.table(table)?;
        schema.check_key(key)?;
        let found = rows.contains_key(key);
        if found {
            self.set(table, key, None);
        }
        Ok(found)
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        let (schema, rows) = self.table(scan.table)?;
        schema.check_scan(scan)?;
        let found = rows_between(rows, &scan.lower, &scan.upper).map(|(key, row)| (key, &row[..]));
        let found: &mut dyn Iterator<Item = (&Key, &[u8])> = match scan.direction {
            Direction::Forward => &mut { found },
            Direction::Backward => &mut found.rev(),
        };
        let mut shown = RowBuf::new();
        let most = scan.examine.unwrap_or(usize::MAX);
        for (examined, (key, row)) in (1..).zip(found) {
            let passes = scan.filter.is_none_or(|filter| filter.matches(RowRef::new(row)));
            if passes {
                shown.project(RowRef::new(row), scan.columns);
                if visit(Item { key, row: shown.row() }).is_break() {
                    return Ok(ScanEnd::Stopped(key.clone()));
                }
            }
            if examined >= most {
                return Ok(ScanEnd::Stopped(key.clone()));
            }
        }
        Ok(ScanEnd::Finished)
    }
}

/// The rows between two bounds; none if they are the wrong way round.
fn rows_between<'r>(
    rows: &'r Rows,
    lower: &Bound<Key>,
    upper: &Bound<Key>,
) -> impl DoubleEndedIterator<Item = (&'r Key, &'r Vec<u8>)> + use<'r> {
    let is_empty = match (lower, upper) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
        (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper)) => {
            lower >= upper
        }
    };
    let range = (!is_empty).then(|| rows.range::<Key, _>((lower.as_ref(), upper.as_ref())));
    range.into_iter().flatten()
}

impl Schema {
    /// Refills `new` with `row` changed by `delta`.
    ///
    /// # Errors
    /// [`Invalid::Row`] if the table has no columns, or an integer would overflow. Then `new` is of no use.
    pub fn change(&self, row: RowRef<'_>, delta: &Delta, new: &mut RowBuf) -> std::result::Result<(), Invalid> {
        let wrong = |what: String| Invalid::Row { table: self.name().into(), what };
        if self.rows() == RowKind::Bytes {
            return Err(wrong("a table of bytes has no columns to change".into()));
        }
        new.apply(row, delta).map_err(|column| match self.columns().get(usize::from(column)) {
            Some(column) => wrong(format!("cannot add to column {}: not an integer, or out of range", column.name)),
            None => wrong(format!("there is no column {column}")),
        })
    }
}
