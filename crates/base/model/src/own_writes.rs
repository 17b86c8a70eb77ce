//! The writes of a body whose effects must not reach the state that it reads: a trial run.

use crate::{Columns, Direction, Item, Key, Result, RowBuf, Scan, ScanEnd, TableId};
use std::collections::BTreeMap;
use std::ops::{ControlFlow, RangeBounds};

/// Rows by table and key; `None`: there is no row.
pub type Rows = BTreeMap<(TableId, Key), Option<RowBuf>>;

/// The last write of each key, which a body's own reads see in front of the state.
#[derive(Clone, Debug, Default)]
pub struct OwnWrites(Rows);

impl OwnWrites {
    /// Keeps a write; `None` deletes.
    pub fn write(&mut self, table: TableId, key: &[u8], row: Option<RowBuf>) {
        self.0.insert((table, Key::from_bytes(key)), row);
    }

    /// The own write of a key, if there is one: a row, or its absence.
    pub fn get(&self, table: TableId, key: &[u8]) -> Option<Option<&RowBuf>> {
        self.0.get(&(table, Key::from_bytes(key))).map(Option::as_ref)
    }

    /// Reads a key: the wanted columns of the own write, or what `state` reads where there is none. Returns whether there is a row.
    ///
    /// # Errors
    /// Those of `state`.
    pub fn read(
        &self,
        (table, key): (TableId, &[u8]),
        columns: Columns<'_>,
        row: &mut RowBuf,
        state: impl FnOnce(&mut RowBuf) -> Result<bool>,
    ) -> Result<bool> {
        let Some(own) = self.get(table, key) else { return state(row) };
        match own {
            Some(own) => row.project(own.row(), columns),
            None => row.clear(),
        }
        Ok(own.is_some())
    }

    /// Whether a scan meets one of them.
    pub fn are_in(&self, scan: &Scan<'_>) -> bool {
        self.of(scan).next().is_some()
    }

    /// Visits the rows of a scan: those of `state`, which is asked for all rows of the range, with the own writes in their places.
    ///
    /// # Errors
    /// Those of `state`.
    pub fn scan(
        &self,
        scan: &Scan<'_>,
        state: impl FnOnce(&Scan<'_>, &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd>,
        visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<ScanEnd> {
        let mut shown = RowBuf::new();
        for (examined, (key, row)) in (1..).zip(self.merged(scan, state)?) {
            let mut flow = ControlFlow::Continue(());
            if scan.filter.is_none_or(|filter| filter.matches(row.row())) {
                shown.project(row.row(), scan.columns);
                flow = visit(Item { key: &key, row: shown.row() });
            }
            if flow.is_break() || scan.examine.is_some_and(|most| examined >= most) {
                return Ok(ScanEnd::Stopped(key));
            }
        }
        Ok(ScanEnd::Finished)
    }

    /// The rows of a range with the own writes, in the order of the scan.
    fn merged(
        &self,
        scan: &Scan<'_>,
        state: impl FnOnce(&Scan<'_>, &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd>,
    ) -> Result<Vec<(Key, RowBuf)>> {
        let whole = Scan { filter: None, columns: Columns::All, examine: None, ..scan.clone() };
        let mut rows: BTreeMap<Key, RowBuf> = BTreeMap::new();
        state(&whole, &mut |item| {
            rows.insert(Key::from_bytes(item.key), RowBuf::from_bytes(item.row.bytes()));
            ControlFlow::Continue(())
        })?;
        for (key, row) in self.of(scan) {
            match row {
                Some(row) => _ = rows.insert(key.clone(), row.clone()),
                None => _ = rows.remove(key),
            }
        }
        let forward = rows.into_iter();
        Ok(if scan.direction == Direction::Forward { forward.collect() } else { forward.rev().collect() })
    }

    /// Those in the range of a scan.
    fn of(&self, scan: &Scan<'_>) -> impl Iterator<Item = (&Key, Option<&RowBuf>)> {
        let (table, bounds) = (scan.table, (scan.lower.clone(), scan.upper.clone()));
        let own = self.0.iter().filter(move |((of, key), _)| *of == table && bounds.contains(key));
        own.map(|((_, key), row)| (key, row.as_ref()))
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The last write of each key.
    pub fn into_rows(self) -> Rows {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twin::Twin;
    use crate::{Access, RowRef, Schema};

    const ALL: Columns<'_> = Columns::All;

    /// A table with rows under 1, 3 and 5, and writes that change 3, delete 5 and 7, and add 4.
    fn example() -> (Twin, TableId, OwnWrites) {
        let mut state = Twin::new();
        let table = state.create_table(Schema::bytes("t").u64_key().build().unwrap());
        for key in [1u64, 3, 5] {
            state.put(table, &key.to_be_bytes(), RowRef::new(&[key as u8])).unwrap();
        }
        let mut own = OwnWrites::default();
        for (key, row) in [(3u64, Some(33)), (4, Some(44)), (5, None), (7, None)] {
            own.write(table, &key.to_be_bytes(), row.map(|byte: u8| RowBuf::from_bytes(&[byte])));
        }
        (state, table, own)
    }

    fn seen(state: &mut Twin, own: &OwnWrites, scan: &Scan<'_>) -> (Vec<u8>, ScanEnd) {
        let mut rows = Vec::new();
        let end = own.scan(scan, |scan, visit| state.scan(scan, visit), &mut |item| {
            rows.push(item.row.bytes()[0]);
            ControlFlow::Continue(())
        });
        (rows, end.unwrap())
    }

    #[test]
    fn a_read_sees_the_own_write_or_the_state() {
        let (mut state, table, own) = example();
        let mut row = RowBuf::new();
        for (key, expected) in [(1u64, Some(1)), (2, None), (3, Some(33)), (4, Some(44)), (5, None)] {
            let key = key.to_be_bytes();
            let found = own.read((table, &key), ALL, &mut row, |row| state.read(table, &key, ALL, row)).unwrap();
            assert_eq!(found.then(|| row.bytes()[0]), expected);
        }
    }

    #[test]
    fn a_scan_sees_them_in_their_places() {
        let (mut state, table, own) = example();
        let scan = Scan::table(table);
        assert_eq!(seen(&mut state, &own, &scan), (vec![1, 33, 44], ScanEnd::Finished));
        let backward = Scan { direction: Direction::Backward, ..scan.clone() };
        assert_eq!(seen(&mut state, &own, &backward).0, [44, 33, 1]);
        let first = Scan { examine: Some(2), ..scan };
        assert_eq!(
            seen(&mut state, &own, &first),
            (vec![1, 33], ScanEnd::Stopped(Key::from_bytes(&3u64.to_be_bytes())))
        );
    }

    #[test]
    fn a_scan_meets_only_those_in_its_range() {
        let (_, table, own) = example();
        let until = |key: u64| {
            Scan::table(table)
                .between(std::ops::Bound::Unbounded, std::ops::Bound::Excluded(Key::from_bytes(&key.to_be_bytes())))
        };
        assert!(!own.are_in(&until(3)));
        assert!(own.are_in(&until(4)));
        assert!(!own.are_in(&Scan::table(TableId(table.0 + 1))));
    }
}
