//! Reconnaissance: a body without a declared footprint runs on the state of the last complete batch, and what it touches there is
//! its footprint.

use crate::batch::defined::Defined;
use model::{
    Access, Columns, Delta, Draws, Duplicate, Footprint, FootprintEntry, Item, Key, OwnWrites, Result, RowBuf, RowRef,
    Rows, Scan, ScanEnd, TableId, Touch,
};
use std::ops::{Bound, ControlFlow};

/// Reads a state, keeps writes to itself, and notes what was touched. What is wrong with a write is found in its place.
pub(crate) struct Reconnaissance<'r> {
    state: &'r mut (dyn Access + 'r),
    tables: &'r Defined,
    touched: Vec<FootprintEntry>,
    ranges: Vec<(TableId, Bound<Key>, Bound<Key>)>,
    writes: OwnWrites,
}

impl<'r> Reconnaissance<'r> {
    pub fn new(state: &'r mut (dyn Access + 'r), tables: &'r Defined) -> Reconnaissance<'r> {
        Reconnaissance { state, tables, touched: Vec::new(), ranges: Vec::new(), writes: OwnWrites::default() }
    }

    /// What was touched. Tells what would be written, if the body wants to commit.
    pub fn footprint(self, commits: bool) -> Footprint {
        let foreseen = if commits { self.writes.into_rows() } else { Rows::new() };
        for ((table, key), row) in &foreseen {
            self.state.foresee(*table, key, row.as_ref().map(RowBuf::row));
        }
        let keys: Footprint = self.touched.into_iter().collect();
        self.ranges
            .into_iter()
            .fold(keys, |footprint, (table, lower, upper)| footprint.reads_range(table, lower, upper))
    }

    fn note(&mut self, table: TableId, key: &[u8], touch: Touch) {
        self.touched.push(FootprintEntry { table, key: Key::from_bytes(key), touch });
    }

    /// Reads a row, or the own write in its place.
    fn see(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        let Reconnaissance { state, writes, .. } = self;
        writes.read((table, key), columns, row, |row| state.read(table, key, columns, row))
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
        self.writes.write(table, key, Some(RowBuf::from_bytes(row.bytes())));
        Ok(())
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.note(table, key, Touch::Insert);
        if self.see(table, key, Columns::None, &mut RowBuf::new())? {
            return Err(Duplicate { table: self.tables.engine_table(table)?, key: key.into() }.into());
        }
        self.writes.write(table, key, Some(RowBuf::from_bytes(row.bytes())));
        Ok(())
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.note(table, key, Touch::Update);
        let (mut before, mut after) = (RowBuf::new(), RowBuf::new());
        let is_there = self.see(table, key, Columns::All, &mut before)?;
        if is_there {
            self.tables.engine_table(table)?.change(before.row(), delta, &mut after)?;
            self.writes.write(table, key, Some(after));
        }
        Ok(is_there)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.note(table, key, Touch::Delete);
        let is_there = self.see(table, key, Columns::None, &mut RowBuf::new())?;
        if is_there {
            self.writes.write(table, key, None);
        }
        Ok(is_there)
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.ranges.push((scan.table, scan.lower.clone(), scan.upper.clone()));
        let Reconnaissance { state, writes, .. } = self;
        if !writes.are_in(scan) {
            return state.scan(scan, visit);
        }
        writes.scan(scan, |scan, visit| state.scan(scan, visit), visit)
    }

    fn draws(&mut self) -> Option<&mut Draws> {
        self.state.draws()
    }
}
