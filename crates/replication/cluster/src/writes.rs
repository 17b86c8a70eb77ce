//! The writes of an open transaction: the last one of each key, and what savepoints need to go back.

use crate::codes::{TableKey, key, list, put_key};
use codec::{put_bytes, put_number};
use model::{
    Columns, Decoder, Direction, Item, Key, Limit, LimitKind, Malformed, Result, RowBuf, RowRef, Scan, ScanEnd, TableId,
};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

/// A written row; `None`: it is deleted.
pub(crate) type Row = Option<RowBuf>;

/// What stood under a key before a write: nothing of this transaction, or its earlier write.
type Before = (TableKey, Option<Row>);

/// The writes of an open transaction.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    rows: BTreeMap<TableKey, Row>,
    /// Bytes of keys and rows.
    bytes: u64,
    /// What to restore, the oldest first. Empty without savepoints.
    undo: Vec<Before>,
    /// Open savepoints: their numbers, and how much there was to undo.
    savepoints: Vec<(u64, usize)>,
    next_savepoint: u64,
}

fn weight(key: &Key, row: &Row) -> u64 {
    (key.len() + row.as_ref().map_or(0, |row| row.bytes().len())) as u64
}

impl Writes {
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Bytes of keys and rows.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn iter(&self) -> impl Iterator<Item = (&TableKey, &Row)> {
        self.rows.iter()
    }

    /// The own write of a key, if there is one.
    pub fn get(&self, table: TableId, key: &[u8]) -> Option<&Row> {
        if self.rows.is_empty() {
            return None;
        }
        self.rows.get(&(table, Key::from_bytes(key)))
    }

    /// Keeps a write.
    ///
    /// # Errors
    /// One row or one byte too many; nothing is kept then.
    pub fn write(&mut self, table: TableId, key: &[u8], row: Row, rows: u64, bytes: u64) -> Result<()> {
        let at = (table, Key::from_bytes(key));
        let before = self.rows.get(&at);
        let actual = self.rows.len() as u64 + u64::from(before.is_none());
        check(LimitKind::WriteSetRows, rows, actual)?;
        let actual = self.bytes - before.map_or(0, |row| weight(&at.1, row)) + weight(&at.1, &row);
        check(LimitKind::WriteSetBytes, bytes, actual)?;
        self.bytes = actual;
        let before = self.rows.insert(at.clone(), row);
        if !self.savepoints.is_empty() {
            self.undo.push((at, before));
        }
        Ok(())
    }

    /// Sets a savepoint, and returns its number.
    pub fn savepoint(&mut self) -> u64 {
        let number = self.next_savepoint;
        self.next_savepoint += 1;
        self.savepoints.push((number, self.undo.len()));
        number
    }

    /// Undoes what was written since a savepoint, which stays. Returns whether there is such a savepoint.
    pub fn roll_back_to(&mut self, number: u64) -> bool {
        let Some(at) = self.savepoints.iter().position(|(open, _)| *open == number) else { return false };
        self.savepoints.truncate(at + 1);
        let length = self.savepoints[at].1;
        for (key, before) in self.undo.drain(length..).rev() {
            let row = self.rows.remove(&key).expect("what is undone was written");
            self.bytes -= weight(&key.1, &row);
            if let Some(row) = before {
                self.bytes += weight(&key.1, &row);
                self.rows.insert(key, row);
            }
        }
        true
    }

    /// Forgets a savepoint and later ones.
    pub fn release(&mut self, number: u64) {
        let Some(at) = self.savepoints.iter().position(|(open, _)| *open == number) else { return };
        self.savepoints.truncate(at);
        if at == 0 {
            self.undo.clear();
        }
    }

    /// Those in the range of a scan, in its order.
    fn of<'w>(&'w self, scan: &Scan<'_>) -> Box<dyn Iterator<Item = (&'w Key, &'w Row)> + 'w> {
        let (lower, upper) = (at(scan.table, &scan.lower, false), at(scan.table, &scan.upper, true));
        if is_reversed(&lower, &upper) {
            return Box::new(std::iter::empty());
        }
        let own = self.rows.range((lower, upper)).map(|((_, key), row)| (key, row));
        if scan.direction == Direction::Forward { Box::new(own) } else { Box::new(own.rev()) }
    }

    /// Whether a scan meets one of them.
    pub fn are_in(&self, scan: &Scan<'_>) -> bool {
        !self.rows.is_empty() && self.of(scan).next().is_some()
    }

    /// Visits the rows of a scan with the own writes in their places: `state` scans what is below them, whole rows and all of them. If
    /// `state` stops by itself, in front of a row, everything before that row has been visited.
    ///
    /// # Errors
    /// Those of `state`.
    pub fn scan(
        &self,
        scan: &Scan<'_>,
        state: impl FnOnce(&Scan<'_>, &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd>,
        visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<ScanEnd> {
        let mut own = self.of(scan).peekable();
        let mut shown = Shown { scan, visit, row: RowBuf::new(), examined: 0, stopped: None };
        let whole = Scan { filter: None, columns: Columns::All, examine: None, ..scan.clone() };
        let is_before = |own: &[u8], item: &[u8]| match scan.direction {
            Direction::Forward => own < item,
            Direction::Backward => own > item,
        };
        let end = state(&whole, &mut |item| {
            while let Some((key, row)) = own.next_if(|(key, _)| is_before(key, item.key)) {
                shown.show_own(key, row)?;
            }
            match own.next_if(|(key, _)| &***key == item.key) {
                Some((key, row)) => shown.show_own(key, row),
                None => shown.show(item.key, item.row),
            }
        })?;
        if shown.stopped.is_none()
            && let ScanEnd::Stopped(key) = end
        {
            // The state stopped by itself, in front of this key: the own writes before it are shown, and it is not.
            while let Some((own, row)) = own.next_if(|(own, _)| is_before(own, &key)) {
                if shown.show_own(own, row).is_break() {
                    break;
                }
            }
            return Ok(ScanEnd::Stopped(shown.stopped.unwrap_or(key)));
        }
        while shown.stopped.is_none()
            && let Some((key, row)) = own.next()
        {
            let _ = shown.show_own(key, row);
        }
        Ok(shown.stopped.map_or(ScanEnd::Finished, ScanEnd::Stopped))
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        put_number(out, self.rows.len() as u64);
        for (key, row) in &self.rows {
            put_key(out, key);
            out.push(u8::from(row.is_some()));
            row.iter().for_each(|row| put_bytes(out, row.bytes()));
        }
    }

    /// Reads what [`Writes::encode`] wrote.
    pub fn decode(from: &mut Decoder<'_>) -> std::result::Result<Vec<(TableKey, Row)>, Malformed> {
        list(from, |from| {
            let key = key(from)?;
            match from.u8()? {
                0 => Ok((key, None)),
                1 => Ok((key, Some(RowBuf::from_bytes(from.bytes()?)))),
                _ => Err(Malformed),
            }
        })
    }
}

fn check(kind: LimitKind, limit: u64, actual: u64) -> Result<()> {
    if actual <= limit { Ok(()) } else { Err(Limit { kind, limit, actual }.into()) }
}

/// A bound of a table's keys as one of the keys of all tables.
fn at(table: TableId, bound: &Bound<Key>, is_upper: bool) -> Bound<TableKey> {
    match bound {
        Bound::Included(key) => Bound::Included((table, key.clone())),
        Bound::Excluded(key) => Bound::Excluded((table, key.clone())),
        Bound::Unbounded if !is_upper => Bound::Included((table, Key::new())),
        Bound::Unbounded => match table.0.checked_add(1) {
            Some(next) => Bound::Excluded((TableId(next), Key::new())),
            None => Bound::Unbounded,
        },
    }
}

fn is_reversed(lower: &Bound<TableKey>, upper: &Bound<TableKey>) -> bool {
    match (lower, upper) {
        (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
        (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper)) => {
            lower >= upper
        }
        _ => false,
    }
}

/// Shows rows to the visitor of a scan, and notes where it stopped.
struct Shown<'s, 'q, 'v> {
    scan: &'s Scan<'q>,
    visit: &'v mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    row: RowBuf,
    examined: usize,
    stopped: Option<Key>,
}

impl Shown<'_, '_, '_> {
    fn show_own(&mut self, key: &Key, row: &Row) -> ControlFlow<()> {
        row.as_ref().map_or(ControlFlow::Continue(()), |row| self.show(key, row.row()))
    }

    fn show(&mut self, key: &[u8], row: RowRef<'_>) -> ControlFlow<()> {
        self.examined += 1;
        let mut flow = ControlFlow::Continue(());
        if self.scan.filter.is_none_or(|filter| filter.matches(row)) {
            self.row.project(row, self.scan.columns);
            flow = (self.visit)(Item { key, row: self.row.row() });
        }
        if flow.is_break() || self.scan.examine.is_some_and(|most| self.examined >= most) {
            self.stopped = Some(Key::from_bytes(key));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}
