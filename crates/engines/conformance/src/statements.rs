//! Random statements over tables of several shapes, and the answers of an [`Access`] as text: results, rows and errors.

use crate::indexed::{Index, Indexed};
use model::{
    Access, ColumnType, Columns, Comparison, Delta, Direction, Key, Predicate, RowBuf, Scan, ScanEnd, Schema, Storage,
    TableId, Value, ValueRef,
};
use proptest::prelude::*;
use std::fmt::Write;
use std::ops::{Bound, ControlFlow};

/// The shape of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Eight-byte keys, byte rows, no index.
    Registers,
    /// Byte-string keys of different lengths, byte rows.
    Strings,
    /// A key of two columns, nullable columns, a unique and two other indexes.
    Orders,
    /// Integer keys beside a typed row, and a unique index that allows NULL.
    Accounts,
}

/// All shapes.
pub const SHAPES: [Shape; 4] = [Shape::Registers, Shape::Strings, Shape::Orders, Shape::Accounts];

/// The content of a row. Each shape stores the part for which it has columns.
#[derive(Clone, Debug)]
pub struct Content {
    /// A short text or NULL.
    pub name: Option<String>,
    /// A small number, or the greatest one.
    pub amount: i64,
    /// A small number or NULL.
    pub price: Option<i64>,
}

/// One statement of a random program. Keys are small numbers.
#[derive(Clone, Debug)]
pub enum Statement {
    /// Reads columns of a row.
    Read {
        /// The row.
        key: u8,
        /// Which columns; some numbers ask for columns that do not exist.
        columns: u8,
    },
    /// Reads columns of several rows.
    ReadMany {
        /// The rows, perhaps some of them twice.
        keys: Vec<u8>,
        /// Which columns, as in `Read`.
        columns: u8,
    },
    /// Reads a row that will be written.
    ReadForUpdate(u8),
    /// Writes a row.
    Put(u8, Content),
    /// Writes a row that must not be there.
    Insert(u8, Content),
    /// Changes columns; some numbers ask for a change that no row allows.
    Update(u8, u8, Content),
    /// Deletes a row.
    Delete(u8),
    /// Scans a range.
    Scan {
        /// The index, or the table itself, which also answers for an index that the table lacks.
        index: Option<u16>,
        /// From where to where.
        bounds: (Edge, Edge),
        /// From the end.
        backward: bool,
        /// Which filter, if any.
        filter: u8,
        /// Which columns.
        columns: u8,
        /// After how many rows the scan stops, to be resumed.
        stop: usize,
    },
    /// Opens a savepoint.
    Savepoint,
    /// Goes back to one of the open savepoints.
    Rollback(usize),
    /// Commits, and begins the next transaction.
    Commit,
    /// Aborts, and begins the next transaction.
    Abort,
    /// Collects garbage; no answer.
    Collect,
}

/// A bound of a scan, by a small number.
#[derive(Clone, Debug)]
pub enum Edge {
    /// No bound.
    Open,
    /// From or to this key.
    Included(u8),
    /// Above or below this key.
    Excluded(u8),
}

/// Prefixes of each other, zeros and ones at the end, and the empty one.
const STRINGS: [&[u8]; KEYS as usize] = [
    b"",
    b"\0",
    b"\0\xff",
    b"a",
    b"a\0",
    b"aa",
    b"ab",
    b"b",
    b"longer than a prefix",
    b"longer than a prefiy",
    b"\xff",
    b"\xff\xff",
];

/// Keys are below this.
pub const KEYS: u8 = 12;

/// Any statement.
pub fn statement() -> impl Strategy<Value = Statement> {
    let key = || 0..KEYS;
    let name = proptest::option::weighted(0.7, "[ab]{0,2}");
    let amount = prop_oneof![8 => -2i64..6, 1 => Just(i64::MAX)];
    let content = || {
        let price = proptest::option::weighted(0.7, 0i64..3);
        (name.clone(), amount.clone(), price).prop_map(|(name, amount, price)| Content { name, amount, price })
    };
    let edge = || prop_oneof![Just(Edge::Open), key().prop_map(Edge::Included), key().prop_map(Edge::Excluded)];
    let scan = (
        proptest::option::weighted(0.6, 0u16..4),
        (edge(), edge()),
        any::<bool>(),
        0u8..5,
        0u8..7,
        prop_oneof![Just(usize::MAX), 1usize..4],
    );
    prop_oneof![
        4 => (key(), 0u8..7).prop_map(|(key, columns)| Statement::Read { key, columns }),
        2 => (proptest::collection::vec(key(), 0..40), 0u8..7)
            .prop_map(|(keys, columns)| Statement::ReadMany { keys, columns }),
        1 => key().prop_map(Statement::ReadForUpdate),
        5 => (key(), content()).prop_map(|(key, content)| Statement::Put(key, content)),
        5 => (key(), content()).prop_map(|(key, content)| Statement::Insert(key, content)),
        4 => (key(), 0u8..6, content()).prop_map(|(key, what, content)| Statement::Update(key, what, content)),
        4 => key().prop_map(Statement::Delete),
        6 => scan.prop_map(|(index, bounds, backward, filter, columns, stop)| {
            Statement::Scan { index, bounds, backward, filter, columns, stop }
        }),
        1 => Just(Statement::Savepoint),
        1 => (0usize..3).prop_map(Statement::Rollback),
        2 => Just(Statement::Commit),
        1 => Just(Statement::Abort),
        1 => Just(Statement::Collect),
    ]
}

/// A read of a whole row.
pub fn read(key: u8) -> Statement {
    Statement::Read { key, columns: 3 }
}

/// A scan of a whole table, or of one of its indexes.
pub fn scan(index: Option<u16>) -> Statement {
    let bounds = (Edge::Open, Edge::Open);
    Statement::Scan { index, bounds, backward: false, filter: 0, columns: 3, stop: usize::MAX }
}

impl Statement {
    /// Returns whether it is a statement of [`Access`], and not of the transaction as a whole.
    pub fn is_access(&self) -> bool {
        use Statement::{Delete, Insert, Put, Update};
        self.only_reads() || matches!(self, Put(..) | Insert(..) | Update(..) | Delete(_))
    }

    /// Returns whether a read-only transaction may run it.
    pub fn only_reads(&self) -> bool {
        matches!(
            self,
            Statement::Read { .. } | Statement::ReadMany { .. } | Statement::ReadForUpdate(_) | Statement::Scan { .. }
        )
    }
}

impl Shape {
    /// The schema of the rows of this shape.
    pub fn schema(self, storage: Storage) -> Schema {
        let builder = match self {
            Shape::Registers => Schema::bytes("registers").u64_key(),
            Shape::Strings => Schema::bytes("strings"),
            Shape::Orders => Schema::table("orders")
                .column("region", ColumnType::Text)
                .column("number", ColumnType::Int)
                .nullable("name", ColumnType::Text)
                .column("amount", ColumnType::Int)
                .nullable("price", ColumnType::Float)
                .key(["region", "number"]),
            Shape::Accounts => {
                Schema::table("accounts").nullable("name", ColumnType::Text).column("amount", ColumnType::Int).u64_key()
            }
        };
        builder.storage(storage).build().expect("a good schema")
    }

    /// The indexes of a table of this shape.
    pub fn indexes(self) -> &'static [Index] {
        const fn index(name: &'static str, columns: &'static [u16], unique: bool) -> Index {
            Index { name, columns, unique }
        }
        match self {
            Shape::Registers | Shape::Strings => &[],
            Shape::Orders => {
                const {
                    &[
                        index("by_amount", &[3], false),
                        index("by_name", &[2, 3], true),
                        index("by_price_and_name", &[4, 2], false),
                    ]
                }
            }
            Shape::Accounts => const { &[index("by_name", &[0], true), index("by_amount", &[1], false)] },
        }
    }

    /// Makes a table of this shape, with its indexes.
    pub fn create(self, storage: Storage, create: impl FnMut(Schema) -> TableId) -> Indexed {
        Indexed::create(self.schema(storage), self.indexes(), create)
    }

    /// The key with this number.
    pub fn key(self, number: u8) -> Key {
        match self {
            Shape::Registers | Shape::Accounts => Key::from_u64(u64::from(number)),
            Shape::Strings => Key::from_bytes(STRINGS[usize::from(number)]),
            Shape::Orders => {
                let mut key = Key::new();
                key.push_text(["", "n", "no"][usize::from(number % 3)]).push_i64(i64::from(number / 3) - 1);
                key
            }
        }
    }

    fn row(self, number: u8, content: &Content) -> RowBuf {
        let name = content.name.as_deref().map_or(ValueRef::Null, ValueRef::Text);
        let amount = ValueRef::Int(content.amount);
        match self {
            Shape::Registers | Shape::Strings => RowBuf::from_bytes(format!("{content:?}").as_bytes()),
            Shape::Accounts => RowBuf::from_values(&[name, amount]),
            Shape::Orders => {
                let region = ValueRef::Text(["", "n", "no"][usize::from(number % 3)]);
                let number = ValueRef::Int(i64::from(number / 3) - 1);
                let price = content.price.map_or(ValueRef::Null, |price| ValueRef::Float(price as f64 - 1.0));
                RowBuf::from_values(&[region, number, name, amount, price])
            }
        }
    }

    /// The columns of the name and of the amount.
    fn columns(self) -> (u16, u16) {
        if self == Shape::Orders { (2, 3) } else { (0, 1) }
    }

    fn delta(self, what: u8, content: &Content) -> Delta {
        let (name, amount) = self.columns();
        let text = content.name.clone().map_or(Value::Null, Value::Text);
        match what {
            0 => Delta::new().add(amount, 1),
            1 => Delta::new().set(name, text),
            2 => Delta::new().set(name, text).add(amount, content.amount),
            3 => Delta::new().set(amount, Value::Null),
            4 => Delta::new().set(1, 7i64).add(amount, 1), // In one shape this is a column of the key.
            _ => Delta::new().set(0, "no").add(name, 1),
        }
    }

    /// Typed rows have columns to ask for; byte rows have none.
    fn asked(self, columns: u8) -> Columns<'static> {
        match (self, columns) {
            (_, 0) => Columns::None,
            (Shape::Accounts | Shape::Orders, 1) => Columns::Some(&[1, 0]),
            (Shape::Accounts | Shape::Orders, 2) => Columns::Some(&[]),
            (Shape::Accounts | Shape::Orders, 4) => Columns::Some(&[1, 1, 0]),
            (_, 5) => Columns::Some(&[9]),
            _ => Columns::All,
        }
    }

    fn filter(self, filter: u8) -> Option<Predicate> {
        let (name, amount) = self.columns();
        if matches!(self, Shape::Registers | Shape::Strings) {
            return (filter == 1).then_some(Predicate::True);
        }
        match filter {
            1 => Some(Predicate::Compare(amount, Comparison::GreaterOrEqual, Value::Int(2))),
            2 => Some(Predicate::Not(Box::new(Predicate::IsNull(name)))),
            3 => Some(Predicate::Or(vec![Predicate::StartsWith(name, "a".into()), Predicate::IsNull(name)])),
            _ => None,
        }
    }

    /// A bound of a scan: a key, or the start of an entry of the index.
    fn bound(self, index: Option<u16>, edge: &Edge) -> Bound<Key> {
        let key = |number: u8| {
            let Some(column) = index.and_then(|index| self.schema_column(index)) else { return self.key(number) };
            let mut key = Key::new();
            match column {
                ColumnType::Text => key.push_value(ValueRef::Text(["", "a", "aa", "b"][usize::from(number % 4)]), true),
                ColumnType::Float => key.push_value(ValueRef::Float(f64::from(number % 3) - 1.0), true),
                _ => key.push_value(ValueRef::Int(i64::from(number) - 2), false),
            };
            key
        };
        match edge {
            Edge::Open => Bound::Unbounded,
            Edge::Included(number) => Bound::Included(key(*number)),
            Edge::Excluded(number) => Bound::Excluded(key(*number)),
        }
    }

    fn schema_column(self, index: u16) -> Option<ColumnType> {
        let first = self.indexes().get(usize::from(index))?.columns[0];
        Some(self.schema(Storage::Ordered).columns()[usize::from(first)].kind)
    }
}

/// Runs the statement and returns its answer as text: results, rows and errors.
///
/// # Panics
/// On statements that are not of [`Access`]: savepoints, commits and the like.
pub fn answer(access: &mut impl Access, table: &Indexed, shape: Shape, statement: &Statement) -> String {
    let mut row = RowBuf::new();
    match statement {
        Statement::Read { key, columns } => {
            let found = access.read(table.rows, &shape.key(*key), shape.asked(*columns), &mut row);
            format!("{found:?} {row:?}")
        }
        Statement::ReadMany { keys, columns } => {
            let keys: Vec<Key> = keys.iter().map(|key| shape.key(*key)).collect();
            let mut rows: Vec<(usize, Option<RowBuf>)> = Vec::new();
            access.prefetch(table.rows, &keys);
            let read = access.read_many(table.rows, &keys, shape.asked(*columns), &mut |at, row| {
                rows.push((at, row.map(|row| RowBuf::from_bytes(row.bytes()))));
            });
            rows.sort_by_key(|(at, _)| *at); // They come in any order.
            format!("{read:?} {rows:?}")
        }
        Statement::ReadForUpdate(key) => {
            let found = access.read_for_update(table.rows, &shape.key(*key), Columns::All, &mut row);
            format!("{found:?} {row:?}")
        }
        Statement::Put(key, content) => {
            format!("{:?}", table.put(access, &shape.key(*key), shape.row(*key, content).row()))
        }
        Statement::Insert(key, content) => {
            format!("{:?}", table.insert(access, &shape.key(*key), shape.row(*key, content).row()))
        }
        Statement::Update(key, what, content) => {
            format!("{:?}", table.update(access, &shape.key(*key), &shape.delta(*what, content)))
        }
        Statement::Delete(key) => format!("{:?}", table.delete(access, &shape.key(*key))),
        Statement::Scan { index: Some(index), .. } if usize::from(*index) < table.entries().count() => {
            scan_index_in_pieces(access, table, shape, statement)
        }
        Statement::Scan { .. } => scan_in_pieces(access, table.rows, shape, statement),
        other => unreachable!("{other:?} is no statement of Access"),
    }
}

/// Scans in pieces: stops after a few rows, and resumes there.
fn scan_in_pieces(access: &mut impl Access, table: TableId, shape: Shape, statement: &Statement) -> String {
    let Statement::Scan { bounds, backward, filter, columns, stop, .. } = statement else { unreachable!() };
    let predicate = shape.filter(*filter);
    let mut scan = Scan::table(table).between(shape.bound(None, &bounds.0), shape.bound(None, &bounds.1));
    scan.direction = direction(*backward);
    scan.filter = predicate.as_ref();
    scan.columns = shape.asked(*columns);
    let mut text = String::new();
    loop {
        let mut left = *stop;
        let end = access.scan(&scan, &mut |item| {
            write!(text, "{:?} {:?}; ", item.key, item.row).expect("a string takes all");
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        writeln!(text, "{end:?}").expect("a string takes all");
        match end {
            Ok(ScanEnd::Stopped(position)) => scan = scan.resume(position),
            _ => return text,
        }
    }
}

/// The same in the order of an index. Each piece is so many entries; the filter is applied to the rows that they lead to.
fn scan_index_in_pieces(access: &mut impl Access, table: &Indexed, shape: Shape, statement: &Statement) -> String {
    let Statement::Scan { index: Some(index), bounds, backward, filter, stop, .. } = statement else { unreachable!() };
    let (predicate, direction) = (shape.filter(*filter), direction(*backward));
    let bound = |edge| shape.bound(Some(*index), edge);
    let mut range = Scan { direction, ..Scan::table(table.rows).between(bound(&bounds.0), bound(&bounds.1)) };
    let mut text = String::new();
    loop {
        let bounds = (range.lower.clone(), range.upper.clone());
        let (found, end) = match table.scan_index(access, usize::from(*index), bounds, (direction, *stop)) {
            Ok(scanned) => scanned,
            Err(error) => return format!("{text}{:?}", Err::<(), _>(error)),
        };
        for found in found.iter().filter(|found| predicate.as_ref().is_none_or(|it| it.matches(found.row.row()))) {
            write!(text, "{:?} {:?} {:?}; ", found.entry, found.key, found.row).expect("a string takes all");
        }
        writeln!(text, "{end:?}").expect("a string takes all");
        match end {
            ScanEnd::Stopped(position) => range = range.resume(position),
            ScanEnd::Finished => return text,
        }
    }
}

fn direction(is_backward: bool) -> Direction {
    if is_backward { Direction::Backward } else { Direction::Forward }
}
