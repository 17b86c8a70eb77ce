//! Everything at once on few keys: the workload whose histories the judges read. It measures nothing.
//!
//! Three tables: `items` (typed rows, an index and a unique one), `cells` (bytes, ordered) and `slots` (bytes, by hash).
//! Transactions of one to eight random statements: points, ranges in both directions that stop early and go on,
//! index ranges, filters, puts, inserts, updates, deletes, in every [`Mode`]; some give up by themselves, some carry on
//! after a statement that hit a limit.
//!
//! An index is a table of its own, by the rules of the table layer: a row's entries are written and removed with it, and a range
//! of an index is a range of entries and a read of each row. An entry has the row's key and, for the judges, a stamp. So a phantom
//! in an index is as visible as one in any table.

use super::ycsb::stamp_value;
use super::{Audit, Client, ClientSlot, Record, Stamp, StampedBytes, Stamps, Workload, give_up};
use crate::draw::Chance;
use crate::record::{Form, KeyForm};
use check::Scalar;
use env::Randomness;
use env::thread::yield_now;
use model::{
    Access, ColumnType, Columns, Comparison, Delta, Duplicate, Error, Key, Mode, Predicate, Program, Result, RowBuf,
    RowRef, Scan, ScanEnd, Schema, Storage, TableId, Value, ValueRef,
};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

const ITEMS: usize = 0;
const CELLS: usize = 1;
const SLOTS: usize = 2;
const BY_GROUP: usize = 3;
const BY_CODE: usize = 4;

const ID: u16 = 0;
const GROUP: u16 = 1;
const CODE: u16 = 2;
const VISITS: u16 = 3;
const STAMP: u16 = 4;

/// Distinct values of the column `group`.
const GROUPS: u64 = 8;
/// Bytes of a row of `cells` and `slots`: not a multiple of a word.
const CELL_BYTES: usize = 21;
/// Bytes of a row's key in its entries; a stamp's bytes follow.
const ITEM_KEY_BYTES: usize = 8;
/// Bytes of the stamp.
const ENTRY_STAMP_BYTES: usize = 16;
/// Most statements of a transaction.
const MAX_STEPS: u64 = 8;

/// The workload.
#[derive(Debug)]
pub struct Mixed {
    keys: u64,
    schemas: Schemas,
}

/// Schemas that errors name.
#[derive(Clone, Debug)]
struct Schemas {
    items: Arc<Schema>,
    by_code: Arc<Schema>,
}

impl Mixed {
    /// On so many keys of each table.
    ///
    /// # Panics
    /// If there are none.
    pub fn new(keys: u64) -> Mixed {
        assert!(keys > 0, "a workload needs a key");
        let schemas = Schemas { items: Arc::new(items_schema()), by_code: Arc::new(entries_schema("items_by_code")) };
        Mixed { keys, schemas }
    }
}

fn items_schema() -> Schema {
    let schema = Schema::table("items")
        .column("id", ColumnType::Int)
        .column("group", ColumnType::Int)
        .nullable("code", ColumnType::Int)
        .column("visits", ColumnType::Int)
        .column("stamp", ColumnType::Int);
    schema.key(["id"]).build().expect("a sound schema")
}

fn entries_schema(name: &str) -> Schema {
    Schema::bytes(name).for_index().build().expect("a schema without columns")
}

impl Workload for Mixed {
    type Client = Transactions;
    type Audit = NoAudit;

    fn schemas(&self) -> Vec<Schema> {
        let cells = Schema::bytes("cells").u64_key().build().expect("a schema without columns");
        let slots = Schema::bytes("slots").storage(Storage::Hash).build().expect("a schema without columns");
        let Schemas { items, by_code } = &self.schemas;
        vec![Schema::clone(items), cells, slots, entries_schema("items_by_group"), Schema::clone(by_code)]
    }

    fn forms(&self) -> Vec<Form> {
        let stamped = |row: RowRef<'_>| stamp_value(StampedBytes::stamp_of(row.bytes()), row);
        vec![
            Form { keys: KeyForm::Text("items".into()), value: show_item },
            Form { keys: KeyForm::Integers, value: stamped },
            Form { keys: KeyForm::Text("slots".into()), value: stamped },
            Form { keys: KeyForm::Text("items.by_group".into()), value: show_entry },
            Form { keys: KeyForm::Text("items.by_code".into()), value: show_entry },
        ]
    }

    /// Half of the cells: the other tables begin empty.
    fn records(&self) -> u64 {
        self.keys / 2
    }

    fn load(&self, mut stamps: Stamps) -> impl Iterator<Item = Record> {
        let mut bytes = StampedBytes::new(CELL_BYTES);
        (0..self.records()).map(move |number| Record {
            table: CELLS,
            key: Key::from_u64(number * 2),
            row: RowBuf::from_bytes(bytes.fill(stamps.draw()).bytes()),
        })
    }

    fn client(&self, at: ClientSlot<'_>) -> Transactions {
        Transactions {
            tables: at.tables.try_into().expect("the tables of the workload"),
            schemas: self.schemas.clone(),
            keys: self.keys,
            randomness: at.randomness,
            stamps: at.stamps,
            steps: Vec::new(),
            gives_up: false,
            stops_at_limits: false,
        }
    }

    fn long_reader(&self, at: ClientSlot<'_>) -> Transactions {
        self.client(at)
    }

    /// None: the judges look at the whole history.
    fn audit(&self, _: &[&Transactions]) -> Option<NoAudit> {
        None
    }
}

/// The audit that [`Mixed`] does not have.
#[derive(Debug)]
pub enum NoAudit {}

impl Audit for NoAudit {
    fn see(&mut self, _: usize, _: &[u8], _: RowRef<'_>) -> std::result::Result<(), String> {
        match *self {}
    }

    fn finish(self) -> std::result::Result<(), String> {
        match self {}
    }
}

/// Derives the group from an item's stamp, so that a row mixed from two writes is detected.
fn group_of(Stamp(stamp): Stamp) -> i64 {
    (stamp.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as i64 % GROUPS as i64
}

/// Half of the items have none; those of the others are few, so that they collide.
fn code_of(Stamp(stamp): Stamp) -> Option<i64> {
    let mixed = stamp.wrapping_mul(0xd134_2543_de82_ef95) >> 33;
    (mixed & 1 == 0).then_some((mixed >> 1) as i64 % 128)
}

fn item(id: i64, visits: i64, stamp: Stamp) -> RowBuf {
    let code = code_of(stamp).map_or(ValueRef::Null, ValueRef::Int);
    let group = ValueRef::Int(group_of(stamp));
    RowBuf::from_values(&[id.into(), group, code, visits.into(), ValueRef::Int(stamp.0 as i64)])
}

/// The visits and the stamp of an item; `None` if it is no item that was ever written.
fn read_item(row: RowRef<'_>) -> Option<(i64, Stamp)> {
    let integer = |column: u16| row.get(usize::from(column)).as_int();
    let (id, visits, stamp) = (integer(ID)?, integer(VISITS)?, Stamp(integer(STAMP)? as u64));
    (item(id, visits, stamp).row() == row).then_some((visits, stamp))
}

fn show_item(row: RowRef<'_>) -> Scalar {
    match read_item(row) {
        Some((visits, Stamp(stamp))) => Scalar::from(format!("{stamp} visited {visits}")),
        None => stamp_value(None, row),
    }
}

fn show_entry(row: RowRef<'_>) -> Scalar {
    let stamp = row.bytes().get(ITEM_KEY_BYTES..).and_then(StampedBytes::stamp_of);
    stamp_value(stamp, row)
}

/// The key of an item's entry in an index: the columns, and the item's key unless the entry is exclusive, as codes are. Returns
/// whether it is.
fn entry_of(index: usize, key: &Key, row: RowRef<'_>) -> (Key, bool) {
    let (column, is_nullable) = if index == BY_CODE { (CODE, true) } else { (GROUP, false) };
    let value = row.get(usize::from(column));
    let is_exclusive = index == BY_CODE && value != ValueRef::Null;
    let mut entry = Key::new();
    entry.push_value(value, is_nullable);
    if !is_exclusive {
        entry.push_raw(key);
    }
    (entry, is_exclusive)
}

/// One statement.
#[derive(Clone, Copy, Debug)]
enum Step {
    Read { table: usize, key: u64, for_update: bool },
    Write { table: usize, key: u64, way: Way },
    Scan { table: usize, range: Range },
    FilteredScan { group: i64, range: Range },
    GroupScan { group: i64, range: Range },
    CodeScan { range: Range },
}

/// Kind of a write. Updates are for items only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Put,
    Insert,
    Update,
    Delete,
}

/// Bounds of a scan and where it stops.
#[derive(Clone, Copy, Debug)]
struct Range {
    from: u64,
    /// Above `from`, and not visited.
    to: u64,
    is_backward: bool,
    /// Visits before it stops.
    limit: usize,
    /// Whether it resumes once after it has stopped.
    resumes: bool,
}

/// A client and its current transaction.
#[derive(Debug)]
pub struct Transactions {
    tables: [TableId; 5],
    schemas: Schemas,
    keys: u64,
    randomness: Randomness,
    stamps: Stamps,
    /// Statements, and whether the client lets others run before one: on few cores transactions hardly meet otherwise.
    steps: Vec<(Step, bool)>,
    gives_up: bool,
    stops_at_limits: bool,
}

impl Client for Transactions {
    /// A client is its own transaction: nothing submits what only the judges look at.
    type Call = Transactions;

    fn call(&mut self) -> &mut Transactions {
        self
    }

    fn draw(&mut self) -> Mode {
        let mode = match self.randomness.in_range(0..100) {
            0..60 => Mode::ReadWrite,
            60..80 => Mode::OwnAtStatement,
            80..92 => Mode::ReadOnly,
            _ => Mode::Snapshot,
        };
        let may_write = matches!(mode, Mode::ReadWrite | Mode::OwnAtStatement);
        self.gives_up = may_write && Chance::percent(2.0).draw(&mut self.randomness);
        self.stops_at_limits = self.randomness.chance(1, 2);
        self.steps.clear();
        for _ in 0..self.randomness.in_range(1..MAX_STEPS + 1) {
            let step = if may_write && self.randomness.chance(1, 2) { self.draw_write() } else { self.draw_read() };
            self.steps.push((step, self.randomness.chance(1, 4)));
        }
        mode
    }

    fn check(&mut self, (): ()) -> std::result::Result<(), String> {
        Ok(())
    }
}

/// Drawing statements.
impl Transactions {
    fn draw_key(&mut self) -> u64 {
        self.randomness.in_range(0..self.keys)
    }

    fn draw_write(&mut self) -> Step {
        use Way::{Delete, Insert, Put, Update};
        let (table, key) = (self.randomness.in_range(0..SLOTS as u64 + 1) as usize, self.draw_key());
        let ways = if table == ITEMS {
            &[Put, Update, Update, Insert, Insert, Delete][..]
        } else {
            &[Put, Put, Insert, Delete]
        };
        Step::Write { table, key, way: ways[self.randomness.in_range(0..ways.len() as u64) as usize] }
    }

    fn draw_read(&mut self) -> Step {
        let range = self.draw_range();
        let group = self.randomness.in_range(0..GROUPS) as i64;
        match self.randomness.in_range(0..12) {
            0..6 => {
                let (table, for_update) =
                    (self.randomness.in_range(0..SLOTS as u64 + 1) as usize, self.randomness.chance(1, 4));
                Step::Read { table, key: self.draw_key(), for_update }
            }
            6 => Step::Scan { table: ITEMS, range },
            7 | 8 => Step::Scan { table: CELLS, range },
            9 => Step::FilteredScan { group, range },
            10 => Step::GroupScan { group, range },
            _ => Step::CodeScan { range },
        }
    }

    fn draw_range(&mut self) -> Range {
        let from = self.draw_key();
        Range {
            from,
            to: from + self.randomness.in_range(1..17),
            is_backward: self.randomness.chance(1, 3),
            limit: self.randomness.in_range(1..9) as usize,
            resumes: self.randomness.chance(1, 4),
        }
    }
}

impl Program for Transactions {
    type Output = ();
    type Error = Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<()> {
        for at in 0..self.steps.len() {
            let (step, pauses) = self.steps[at];
            if pauses {
                yield_now();
            }
            match self.step(access, step) {
                // The statement did not happen, and the transaction goes on.
                Err(Error::Duplicate(_)) => {}
                Err(Error::Limit(_)) if !self.stops_at_limits && !step.writes_entries() => {}
                done => done?,
            }
        }
        if self.gives_up { Err(give_up("given-up", "the program changed its mind")) } else { Ok(()) }
    }
}

/// Running statements.
impl Transactions {
    fn step<A: Access + ?Sized>(&mut self, access: &mut A, step: Step) -> Result<()> {
        match step {
            Step::Read { table, key, for_update } => {
                let (key, mut row) = (key_in(table, key), RowBuf::new());
                match for_update {
                    true => access.read_for_update(self.tables[table], &key, Columns::All, &mut row)?,
                    false => access.read(self.tables[table], &key, Columns::All, &mut row)?,
                };
                Ok(())
            }
            Step::Write { table: ITEMS, key, way } => self.write_item(access, key as i64, way),
            Step::Write { table, key, way } => self.write_bytes(access, table, key, way),
            Step::Scan { table, range } => {
                let bounds = |number| Bound::Included(key_in(table, number));
                let scan =
                    Scan::table(self.tables[table]).between(bounds(range.from), excluded(key_in(table, range.to)));
                self.scan(access, scan, range)
            }
            Step::FilteredScan { group, range } => {
                let filter = Predicate::Compare(GROUP, Comparison::Equal, Value::Int(group));
                let scan = Scan::table(self.tables[ITEMS]).filter(&filter);
                self.scan(access, scan, range)
            }
            Step::GroupScan { group, range } => {
                let mut prefix = Key::new();
                prefix.push_value(ValueRef::Int(group), false);
                self.scan_index(access, Scan::table(self.tables[BY_GROUP]).prefix(prefix), range)
            }
            Step::CodeScan { range } => {
                let code = |number: u64| {
                    let mut entry = Key::new();
                    entry.push_value(ValueRef::Int(number as i64), true);
                    entry
                };
                let bounds = (Bound::Included(code(range.from)), excluded(code(range.to)));
                self.scan_index(access, Scan::table(self.tables[BY_CODE]).between(bounds.0, bounds.1), range)
            }
        }
    }

    fn write_bytes<A: Access + ?Sized>(&mut self, access: &mut A, table: usize, key: u64, way: Way) -> Result<()> {
        let (id, key) = (self.tables[table], key_in(table, key));
        let mut row = StampedBytes::new(CELL_BYTES);
        match way {
            Way::Delete => access.delete(id, &key).map(drop),
            Way::Insert => access.insert(id, &key, row.fill(self.stamps.draw())),
            Way::Put | Way::Update => access.put(id, &key, row.fill(self.stamps.draw())),
        }
    }

    /// Writes an item, and the entries that it leaves and enters.
    fn write_item<A: Access + ?Sized>(&mut self, access: &mut A, id: i64, way: Way) -> Result<()> {
        let (table, key) = (self.tables[ITEMS], key_in(ITEMS, id as u64));
        let mut old = RowBuf::new();
        let is_there = way != Way::Insert && access.read_for_update(table, &key, Columns::All, &mut old)?;
        let old = is_there.then_some(old);
        let visits = old.as_ref().and_then(|old| read_item(old.row())).map_or(0, |(visits, _)| visits);
        let stamp = self.stamps.draw();
        let new = match way {
            Way::Insert => Some(item(id, 0, stamp)),
            Way::Put => Some(item(id, visits, stamp)),
            Way::Update => is_there.then(|| item(id, visits + 1, stamp)),
            Way::Delete => None,
        };
        self.check_code(access, &key, old.as_ref(), new.as_ref())?;
        match (way, &new) {
            (Way::Insert, Some(new)) => access.insert(table, &key, new.row())?,
            (Way::Put, Some(new)) => access.put(table, &key, new.row())?,
            (Way::Update, _) => drop(access.update(table, &key, &visited(stamp))?),
            (_, _) => drop(access.delete(table, &key)?),
        }
        self.write_entries(access, &key, (old.as_ref(), new.as_ref()), stamp)
    }

    /// Checks that no other item has the code that an item gets.
    fn check_code<A: Access + ?Sized>(
        &self,
        access: &mut A,
        key: &Key,
        old: Option<&RowBuf>,
        new: Option<&RowBuf>,
    ) -> Result<()> {
        let Some((entry, true)) = new.map(|row| entry_of(BY_CODE, key, row.row())) else { return Ok(()) };
        let is_kept = old.is_some_and(|row| entry_of(BY_CODE, key, row.row()).0 == entry);
        if !is_kept && access.read(self.tables[BY_CODE], &entry, Columns::All, &mut RowBuf::new())? {
            return Err(Duplicate { table: self.schemas.by_code.clone(), key: entry }.into());
        }
        Ok(())
    }

    fn write_entries<A: Access + ?Sized>(
        &self,
        access: &mut A,
        key: &Key,
        (old, new): (Option<&RowBuf>, Option<&RowBuf>),
        stamp: Stamp,
    ) -> Result<()> {
        for index in [BY_GROUP, BY_CODE] {
            let entry = |row: &RowBuf| entry_of(index, key, row.row()).0;
            let (left, entered) = (old.map(entry), new.map(entry));
            if left == entered {
                continue;
            }
            if let Some(left) = left {
                access.delete(self.tables[index], &left)?;
            }
            if let Some(entered) = entered {
                let row = [&key[..], StampedBytes::new(ENTRY_STAMP_BYTES).fill(stamp).bytes()].concat();
                access.put(self.tables[index], &entered, RowRef::new(&row))?;
            }
        }
        Ok(())
    }

    /// Visits up to the limit, and once more if the range resumes.
    fn scan<A: Access + ?Sized>(&self, access: &mut A, scan: Scan<'_>, range: Range) -> Result<()> {
        self.scan_for(access, scan, range).map(drop)
    }

    /// The same in an index, and reads each item.
    fn scan_index<A: Access + ?Sized>(&self, access: &mut A, scan: Scan<'_>, range: Range) -> Result<()> {
        for entry in self.scan_for(access, scan, range)? {
            let key = &entry[..ITEM_KEY_BYTES.min(entry.len())];
            access.read(self.tables[ITEMS], key, Columns::All, &mut RowBuf::new())?;
        }
        Ok(())
    }

    /// The rows that are visited.
    fn scan_for<A: Access + ?Sized>(&self, access: &mut A, scan: Scan<'_>, range: Range) -> Result<Vec<Vec<u8>>> {
        let scan = if range.is_backward { scan.backward() } else { scan };
        let mut seen = Vec::new();
        let end = visit(access, &scan, range.limit, &mut seen)?;
        if let (true, ScanEnd::Stopped(position)) = (range.resumes, end) {
            visit(access, &scan.resume(position), range.limit, &mut seen)?;
        }
        Ok(seen)
    }
}

fn visit<A: Access + ?Sized>(
    access: &mut A,
    scan: &Scan<'_>,
    limit: usize,
    seen: &mut Vec<Vec<u8>>,
) -> Result<ScanEnd> {
    let before = seen.len();
    access.scan(scan, &mut |item| {
        seen.push(item.row.bytes().to_vec());
        if seen.len() - before < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
}

impl Step {
    /// Returns whether it writes several rows: half of it must not stay.
    fn writes_entries(self) -> bool {
        matches!(self, Step::Write { table: ITEMS, .. })
    }
}

/// The update of an item: everything that follows from the stamp, and one visit more.
fn visited(stamp: Stamp) -> Delta {
    let code = code_of(stamp).map_or(Value::Null, Value::Int);
    Delta::new().set(GROUP, group_of(stamp)).set(CODE, code).add(VISITS, 1).set(STAMP, stamp.0 as i64)
}

fn excluded(key: Key) -> Bound<Key> {
    Bound::Excluded(key)
}

/// The key with this number in a table.
fn key_in(table: usize, number: u64) -> Key {
    match table {
        ITEMS => {
            let mut key = Key::new();
            key.push_i64(number as i64);
            key
        }
        CELLS => Key::from_u64(number),
        _ => Key::from(format!("slot {number}").as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_mixed_from_two_writes_is_not_taken_for_one() {
        let (one, other) = (Stamp(1), (2..).map(Stamp).find(|&s| group_of(s) != group_of(Stamp(1))).unwrap());
        assert_eq!(read_item(item(5, 3, one).row()), Some((3, one)));
        let values: Vec<Value> = item(5, 3, one).row().values().map(ValueRef::to_owned).collect();
        let mixed = RowBuf::from_values(&[
            (&values[0]).into(),
            ValueRef::Int(group_of(other)),
            (&values[2]).into(),
            (&values[3]).into(),
            (&values[4]).into(),
        ]);
        assert_eq!(read_item(mixed.row()), None);
    }

    #[test]
    fn an_update_makes_the_item_that_the_history_expects() {
        let before = item(5, 3, Stamp(1));
        let mut after = RowBuf::new();
        items_schema().change(before.row(), &visited(Stamp(2)), &mut after).unwrap();
        assert_eq!(after, item(5, 4, Stamp(2)));
    }
}
