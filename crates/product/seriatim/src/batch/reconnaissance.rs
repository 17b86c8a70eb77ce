//! Reconnaissance: a body without a declared footprint runs on the state of the last complete batch, and what it touches there is
//! its footprint.

use crate::batch::defined::Defined;
use model::{
    Access, Columns, Delta, Direction, Draws, Duplicate, Footprint, FootprintEntry, Item, Key, Result, RowBuf, RowRef,
    Scan, ScanEnd, TableId, Touch,
};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow, RangeBounds};

/// Reads a state, keeps writes to itself, and notes what was touched. What is wrong with a write is found in its place.
pub(crate) struct Reconnaissance<'r> {
    state: &'r mut (dyn Access + 'r),
    tables: &'r Defined,
    touched: Vec<FootprintEntry>,
    ranges: Vec<(TableId, Bound<Key>, Bound<Key>)>,
    writes: BTreeMap<(TableId, Key), Option<RowBuf>>,
}

impl<'r> Reconnaissance<'r> {
    pub fn new(state: &'r mut (dyn Access + 'r), tables: &'r Defined) -> Reconnaissance<'r> {
        Reconnaissance { state, tables, touched: Vec::new(), ranges: Vec::new(), writes: BTreeMap::new() }
    }

    /// What was touched.
    pub fn footprint(self) -> Footprint {
        let keys: Footprint = self.touched.into_iter().collect();
        self.ranges
            .into_iter()
            .fold(keys, |footprint, (table, lower, upper)| footprint.reads_range(table, lower, upper))
    }

    fn note(&mut self, table: TableId, key: &[u8], touch: Touch) {
        self.touched.push(FootprintEntry { table, key: Key::from_bytes(key), touch });
    }

    fn write(&mut self, table: TableId, key: &[u8], row: Option<&[u8]>) {
        self.writes.insert((table, Key::from_bytes(key)), row.map(RowBuf::from_bytes));
    }

    /// Reads a row, or the own write in its place.
    fn see(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        let Some(own) = self.writes.get(&(table, Key::from_bytes(key))) else {
            return self.state.read(table, key, columns, row);
        };
        row.clear();
        if let Some(own) = own {
            show(own.row(), columns, row);
        }
        Ok(own.is_some())
    }

    fn has_written_in(&self, scan: &Scan<'_>) -> bool {
        let bounds = (scan.lower.as_ref(), scan.upper.as_ref());
        self.writes.keys().any(|(table, key)| *table == scan.table && bounds.contains(key))
    }

    /// The rows of a range in the order of a scan, with the own writes.
    fn merged(&mut self, scan: &Scan<'_>) -> Result<Vec<(Key, RowBuf)>> {
        let whole = Scan { filter: None, columns: Columns::All, examine: None, ..scan.clone() };
        let mut rows: BTreeMap<Key, RowBuf> = BTreeMap::new();
        self.state.scan(&whole, &mut |item| {
            rows.insert(Key::from_bytes(item.key), RowBuf::from_bytes(item.row.bytes()));
            ControlFlow::Continue(())
        })?;
        for ((_, key), row) in self.writes.iter().filter(|((of, _), _)| *of == scan.table) {
            match row {
                _ if !(scan.lower.as_ref(), scan.upper.as_ref()).contains(key) => {}
                Some(row) => _ = rows.insert(key.clone(), row.clone()),
                None => _ = rows.remove(key),
            }
        }
        let forward = rows.into_iter();
        Ok(if scan.direction == Direction::Forward { forward.collect() } else { forward.rev().collect() })
    }
}

fn show(from: RowRef<'_>, columns: Columns<'_>, row: &mut RowBuf) {
    match columns {
        Columns::All => row.set_bytes(from.bytes()),
        columns => {
            row.clear();
            row.project(from, columns);
        }
    }
}

impl Access for Reconnaissance<'_> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.note(table, key, Touch::Read);
        self.see(table, key, columns, row)
    }

    fn read_for_update(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.note(table, key, Touch::Update);
        self.see(table, key, columns, row)
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.note(table, key, Touch::Overwrite);
        self.write(table, key, Some(row.bytes()));
        Ok(())
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.note(table, key, Touch::Insert);
        if self.see(table, key, Columns::None, &mut RowBuf::new())? {
            return Err(Duplicate { table: self.tables.engine_table(table)?, key: key.into() }.into());
        }
        self.write(table, key, Some(row.bytes()));
        Ok(())
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.note(table, key, Touch::Update);
        let (mut before, mut after) = (RowBuf::new(), RowBuf::new());
        let is_there = self.see(table, key, Columns::All, &mut before)?;
        if is_there {
            self.tables.engine_table(table)?.change(before.row(), delta, &mut after)?;
            self.write(table, key, Some(after.bytes()));
        }
        Ok(is_there)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.note(table, key, Touch::Delete);
        let is_there = self.see(table, key, Columns::None, &mut RowBuf::new())?;
        if is_there {
            self.write(table, key, None);
        }
        Ok(is_there)
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.ranges.push((scan.table, scan.lower.clone(), scan.upper.clone()));
        if !self.has_written_in(scan) {
            return self.state.scan(scan, visit);
        }
        let mut shown = RowBuf::new();
        for (examined, (key, row)) in (1..).zip(self.merged(scan)?) {
            let mut flow = ControlFlow::Continue(());
            if scan.filter.is_none_or(|filter| filter.matches(row.row())) {
                show(row.row(), scan.columns, &mut shown);
                flow = visit(Item { key: &key, row: shown.row() });
            }
            if flow.is_break() || scan.examine.is_some_and(|most| examined >= most) {
                return Ok(ScanEnd::Stopped(key));
            }
        }
        Ok(ScanEnd::Finished)
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.state.draws()
    }
}
