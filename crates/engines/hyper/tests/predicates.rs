//! Filters beside the naive twin: what scans of rows and of columns return, and that no change of it is missed.

mod common;

use conformance::seeds;
use env::Randomness;
use model::columns::{Batch, batches};
use model::decimal::Decimal;
use model::twin::Twin;
use model::{
    Access, Begin, ColumnType, Columns, Comparison, Direction, Extreme, Finish, Interactive, Key, Mode, Predicate,
    RowBuf, Scan, Schema, SharedReads, TableId, Value, ValueRef,
};
use seriatim_hyper::{Hyper, Options, Transaction, Validation};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

/// The columns behind the key, one of each type.
const TYPES: [ColumnType; 7] = [
    ColumnType::Int,
    ColumnType::Float,
    ColumnType::Text,
    ColumnType::Bytes,
    ColumnType::Date,
    ColumnType::Timestamp,
    ColumnType::Bool,
];
/// Keys lie below: several blocks of four rows, few enough to be met.
const KEYS: u64 = 40;

fn schema() -> Schema {
    let names = ["int", "float", "text", "bytes", "date", "timestamp", "bool"];
    let columns = names.into_iter().zip(TYPES);
    let schema = Schema::table("everything").column("id", ColumnType::Int);
    columns.fold(schema, |schema, (name, kind)| schema.nullable(name, kind)).key(["id"]).build().expect("a good schema")
}

/// Random rows and predicates, of few values that lie at edges: they are met, and nearly met, often.
struct Source(Randomness);

impl Source {
    fn below(&mut self, end: u64) -> u64 {
        self.0.in_range(0..end)
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    fn value(&mut self, kind: ColumnType) -> Value {
        if self.one_in(5) { Value::Null } else { self.known(kind) }
    }

    fn known(&mut self, kind: ColumnType) -> Value {
        const TEXTS: [&str; 9] =
            ["", "a", "a\0", "ab", "abcdefgh", "abcdefgh\0", "abcdefghi", "abcdefghj", "\u{10ffff}z"];
        match kind {
            ColumnType::Int => Value::Int(self.pick(&[0, -1, 1, 127, 128, -129, 40_000, 1 << 40, i64::MIN, i64::MAX])),
            ColumnType::Float => Value::Float(self.pick(&[
                0.0,
                -0.0,
                1.5,
                -1.5,
                f64::NAN,
                -f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::MIN_POSITIVE,
            ])),
            ColumnType::Text => Value::Text(self.pick(&TEXTS).into()),
            ColumnType::Bytes if self.one_in(2) => Value::Bytes(self.decimal().stored().to_vec()),
            ColumnType::Bytes => Value::Bytes(self.pick(&TEXTS).as_bytes().into()),
            ColumnType::Date => Value::Date(self.pick(&[0, -1, 1, 20_000, i32::MIN, i32::MAX])),
            ColumnType::Timestamp => Value::Timestamp(self.pick(&[0, -1, 1 << 33, i64::MIN, i64::MAX])),
            ColumnType::Bool => Value::Bool(self.one_in(2)),
        }
    }

    fn decimal(&mut self) -> Decimal {
        Decimal::new(self.pick(&[0, 1, -1, 25, 250, i64::MAX, i64::MIN]), self.pick(&[0, 1, 2, 20]))
    }

    fn row(&mut self, id: u64) -> RowBuf {
        let values: Vec<Value> = TYPES.into_iter().map(|kind| self.value(kind)).collect();
        let id = std::iter::once(ValueRef::Int(id as i64));
        RowBuf::from_values(&id.chain(values.iter().map(Value::as_ref)).collect::<Vec<_>>())
    }

    /// A row that differs from another one in few columns, or in none.
    fn changed(&mut self, id: u64, row: &RowBuf) -> RowBuf {
        let fresh = self.row(id);
        let takes: Vec<bool> = TYPES.iter().map(|_| self.one_in(4)).collect();
        let values: Vec<_> =
            (0..=TYPES.len()).map(|at| if at > 0 && takes[at - 1] { fresh.get(at) } else { row.get(at) }).collect();
        RowBuf::from_values(&values)
    }

    fn predicate(&mut self, depth: u32) -> Predicate {
        let operands = |source: &mut Source| {
            let count = source.below(4);
            (0..count).map(|_| source.predicate(depth - 1)).collect()
        };
        if self.one_in(8) {
            let column = TYPES.iter().position(|kind| *kind == ColumnType::Bytes).expect("one has bytes") as u16 + 1;
            return Predicate::CompareDecimal(column, self.comparison(), self.decimal());
        }
        match self.below(if depth == 0 { 6 } else { 9 }) {
            0 => Predicate::IsNull(self.column().0),
            1 => Predicate::StartsWith(self.column().0, self.pick(&["", "a", "abcdefgh", "abcdefghi", "b"]).into()),
            2 => {
                let (column, kind) = self.column();
                let count = self.below(4);
                Predicate::any_of(column, (0..count).map(|_| self.value(kind)).collect())
            }
            3..6 => {
                let (column, kind) = self.column();
                // Now and then a constant of another type, which compares with nothing.
                let kind = if self.one_in(12) { self.column().1 } else { kind };
                Predicate::Compare(column, self.comparison(), self.value(kind))
            }
            6 => Predicate::And(operands(self)),
            7 => Predicate::Or(operands(self)),
            _ => Predicate::Not(Box::new(self.predicate(depth - 1))),
        }
    }

    fn column(&mut self) -> (u16, ColumnType) {
        let at = self.below(TYPES.len() as u64) as usize;
        (at as u16 + 1, TYPES[at])
    }

    fn comparison(&mut self) -> Comparison {
        use Comparison::*;
        self.pick(&[Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual])
    }

    fn columns(&mut self) -> Vec<u16> {
        let count = self.below(4);
        (0..count).map(|_| self.column().0).collect()
    }

    fn bound(&mut self) -> Bound<Key> {
        match self.below(4) {
            0 => Bound::Included(key(self.below(KEYS))),
            1 => Bound::Excluded(key(self.below(KEYS))),
            _ => Bound::Unbounded,
        }
    }
}

fn key(id: u64) -> Key {
    let mut key = Key::new();
    key.push_i64(id as i64);
    key
}

fn begin(engine: &Hyper, mode: Mode) -> Transaction<&Hyper> {
    let mut open = engine.begin(Begin { mode, ..Begin::default() }).expect("room for one more");
    open.start().expect("nobody in the way");
    open
}

/// Small parts, so that all edges of blocks and nodes are met.
fn small(by_row: bool, has_synopses: bool) -> Options {
    Options { block_rows: 4, has_small_nodes: true, by_row, has_synopses, ..Options::default() }
}

/// Values that can be compared, NaN and the signs of zeros included.
fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Float(value) => format!("{:x}", value.to_bits()),
        value => format!("{value:?}"),
    }
}

/// The rows of a scan, as texts, sorted.
fn rows_of(access: &mut impl Access, scan: &Scan<'_>, width: usize) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let end = access.scan(scan, &mut |item| {
        rows.push((0..width).map(|at| shown(item.row.get(at))).collect());
        ControlFlow::Continue(())
    });
    end.expect("reads do not fail");
    rows.sort();
    rows
}

fn batches_of(open: &mut impl SharedReads, scan: Scan<'_>, width: usize) -> Vec<Vec<String>> {
    let view = open.read_view().expect("nobody in the way");
    let scan = batches(&*view, &schema(), scan).expect("a typed table");
    let (mut batch, mut rows) = (Batch::default(), Vec::new());
    while scan.next(&mut batch).expect("reads do not fail") {
        rows.extend(
            (0..batch.len()).map(|row| (0..width).map(|at| shown(batch.column(at).get(row).as_ref())).collect()),
        );
    }
    rows.sort();
    rows
}

/// All keys.
const EVERYTHING: (Bound<Key>, Bound<Key>) = (Bound::Unbounded, Bound::Unbounded);

/// The least or greatest value, as a text by which equal ones are equal.
fn extreme_of<T: Access + SharedReads>(open: &mut T, scan: &Scan<'_>, of: Extreme, by_view: bool) -> Option<String> {
    let mut row = RowBuf::new();
    let found = if by_view {
        let view = open.read_view().expect("nobody in the way");
        view.extremes().expect("it protects them").extreme(scan, of, &mut row)
    } else {
        open.extreme(scan, of, &mut row)
    };
    found.expect("reads do not fail").map(|_| equal(row.get(0)))
}

fn equal(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Float(value) if value.is_nan() => "NaN".to_owned(),
        ValueRef::Float(0.0) => "0".to_owned(), // Of either sign.
        value => shown(value),
    }
}

/// Changes rows of the engine and of the twin alike.
fn churn(source: &mut Source, (open, twin): (&mut Transaction<&Hyper>, &mut Twin), table: TableId, count: u64) {
    for _ in 0..count {
        let id = source.below(KEYS);
        if source.one_in(3) {
            let found = open.delete(table, &key(id)).expect("nobody in the way");
            assert_eq!(found, twin.delete(table, &key(id)).expect("it never fails"));
        } else {
            let row = source.row(id);
            open.put(table, &key(id), row.row()).expect("nobody in the way");
            twin.put(table, &key(id), row.row()).expect("it never fails");
        }
    }
}

/// Readers of old and of new snapshots, and the writer itself, each beside a copy of the twin at its moment.
#[test]
fn scans_of_rows_and_columns_return_what_the_twin_does() {
    let seed = seeds::fresh();
    let replay = seeds::replay(seed);
    let mut source = Source(Randomness::from_seed(seed));
    for (by_row, has_synopses) in [(false, true), (false, false), (true, true)] {
        let engine = Hyper::new(small(by_row, has_synopses));
        let table = engine.create_table(schema()).expect("a new table");
        let mut twin = Twin::new();
        assert_eq!(twin.create_table(schema()), table);
        let mut readers: Vec<(Transaction<&Hyper>, Twin)> = Vec::new();
        for _ in 0..25 {
            let mut open = begin(&engine, Mode::ReadWrite);
            churn(&mut source, (&mut open, &mut twin), table, 12);
            for (open, twin) in readers.iter_mut().map(|(open, twin)| (open, twin)).chain([(&mut open, &mut twin)]) {
                for _ in 0..4 {
                    let filter = (!source.one_in(4)).then(|| source.predicate(3));
                    let (lower, upper, columns) = (source.bound(), source.bound(), source.columns());
                    let scan = || Scan {
                        filter: filter.as_ref(),
                        direction: if columns.len() == 1 { Direction::Backward } else { Direction::Forward },
                        ..Scan::table(table).between(lower.clone(), upper.clone()).columns(Columns::Some(&columns))
                    };
                    let expected = rows_of(twin, &scan(), columns.len());
                    assert_eq!(rows_of(open, &scan(), columns.len()), expected, "{:?}, {replay}", scan());
                    assert_eq!(batches_of(open, scan(), columns.len()), expected, "{:?}, {replay}", scan());
                    let of = Extreme { column: source.column().0, is_greatest: source.one_in(2) };
                    let columns = [of.column];
                    let scan = || scan().columns(Columns::Some(&columns));
                    let (mut row, by_view) = (RowBuf::new(), source.one_in(2));
                    let expected = twin.extreme(&scan(), of, &mut row).expect("it never fails");
                    let expected = expected.map(|_| equal(row.get(0)));
                    assert_eq!(extreme_of(open, &scan(), of, by_view), expected, "{of:?} of {:?}, {replay}", scan());
                }
            }
            if source.one_in(3) {
                open.abort();
                twin.abort();
            } else {
                open.commit().expect("nobody in the way");
                twin.commit();
            }
            readers.push((begin(&engine, Mode::ReadOnly), twin.clone()));
            if readers.len() > 4 {
                readers.remove(source.below(4) as usize).0.commit().expect("a reader commits");
            }
        }
    }
}

/// A transaction that has read by random filters commits only if what it has read would be the same now.
#[test]
fn no_change_of_what_was_read_is_missed() {
    let seed = seeds::fresh();
    let replay = seeds::replay(seed);
    let mut source = Source(Randomness::from_seed(seed));
    let (mut committed, mut in_vain, mut met) = (0, 0, 0);
    for validation in [Validation::Columns, Validation::Rows] {
        for predicates in [1024, 2] {
            for by_row in [false, true] {
                let engine = Hyper::new(Options { validation, predicates, ..small(by_row, true) });
                for _ in 0..500 {
                    let (changed, aborted) = read_beside_changes(&engine, &mut source, &replay);
                    committed += u32::from(!aborted);
                    in_vain += u32::from(aborted && !changed);
                    met += u32::from(changed);
                }
            }
        }
    }
    println!("{committed} committed, {in_vain} aborted in vain, {met} were met");
    assert!(committed > 400 && met > 400, "{committed} of 4,000 committed and {met} were met: tests of nothing");
    assert!(in_vain < 3_000, "{in_vain} of 4,000 aborted without need");
}

/// One transaction that reads, beside one that changes a few rows and commits first. Whether what was read has changed, and
/// whether the reader aborted.
fn read_beside_changes(engine: &Hyper, source: &mut Source, replay: &str) -> (bool, bool) {
    let table = engine.create_table(schema()).expect("a new table");
    let mut rows: BTreeMap<u64, RowBuf> = BTreeMap::new();
    let mut load = begin(engine, Mode::ReadWrite);
    for id in (0..KEYS).filter(|id| id % 3 != 0) {
        let row = source.row(id);
        load.insert(table, &key(id), row.row()).expect("a new key");
        rows.insert(id, row);
    }
    load.commit().expect("nobody in the way");
    let mut open = begin(engine, Mode::ReadWrite);
    let questions: Vec<Question> = (0..1 + source.below(4)).map(|_| Question::new(source)).collect();
    let before: Vec<_> = questions.iter().map(|it| it.ask(&mut open, table)).collect();
    let mut other = begin(engine, Mode::ReadWrite);
    for _ in 0..1 + source.below(2) {
        let id = source.below(KEYS);
        match rows.get(&id) {
            Some(_) if source.one_in(6) => {
                rows.remove(&id);
                assert!(other.delete(table, &key(id)).expect("nobody in the way"));
            }
            Some(row) => {
                let row = source.changed(id, row);
                other.put(table, &key(id), row.row()).expect("nobody in the way");
            }
            None => {
                let row = source.row(id);
                other.put(table, &key(id), row.row()).expect("nobody in the way");
            }
        }
    }
    other.commit().expect("it has read nothing");
    // Something to commit, which nobody else looks at: no range goes so far, and NULL is neither least nor greatest.
    let mut nothing = [ValueRef::Null; TYPES.len() + 1];
    nothing[0] = ValueRef::Int(1000);
    open.put(table, &key(1000), RowBuf::from_values(&nothing).row()).expect("nobody in the way");
    let aborted = open.commit().is_err();
    let mut late = begin(engine, Mode::ReadOnly);
    let after: Vec<_> = questions.iter().map(|it| it.ask(&mut late, table)).collect();
    let changed = before != after;
    assert!(aborted || !changed, "{questions:#?}\nthen {before:#?}\nnow {after:#?}\n{replay}");
    late.commit().expect("a reader commits");
    engine.drop_table("everything").expect("it is listed");
    (changed, aborted)
}

/// A read, and how far it goes.
#[derive(Debug)]
enum Question {
    Point(u64, Vec<u16>),
    /// By rows up to so many hits, or by columns.
    Range((Bound<Key>, Bound<Key>), Option<Predicate>, Vec<u16>, Option<usize>, Direction),
    /// The least or greatest value, by either door.
    Extreme((Bound<Key>, Bound<Key>), Option<Predicate>, Extreme, bool),
}

impl Question {
    fn new(source: &mut Source) -> Question {
        if source.one_in(4) {
            return Question::Point(source.below(KEYS), source.columns());
        }
        let upper = if source.one_in(2) { Bound::Excluded(key(999)) } else { Bound::Included(key(source.below(KEYS))) };
        let filter = (!source.one_in(5)).then(|| source.predicate(2));
        if source.one_in(4) {
            let of = Extreme { column: source.column().0, is_greatest: source.one_in(2) };
            let (lower, upper) = if source.one_in(2) { (source.bound(), upper) } else { EVERYTHING };
            return Question::Extreme((lower, upper), filter, of, source.one_in(2));
        }
        let hits = source.one_in(2).then(|| 1 + source.below(3) as usize);
        let direction = source.pick(&[Direction::Forward, Direction::Backward]);
        Question::Range((source.bound(), upper), filter, source.columns(), hits, direction)
    }

    fn ask(&self, open: &mut Transaction<&Hyper>, table: TableId) -> Vec<Vec<String>> {
        match self {
            Question::Point(id, columns) => {
                let mut row = RowBuf::new();
                let found = open.read(table, &key(*id), Columns::Some(columns), &mut row).expect("reads do not fail");
                found.then(|| (0..columns.len()).map(|at| shown(row.get(at))).collect()).into_iter().collect()
            }
            Question::Extreme((lower, upper), filter, of, by_view) => {
                let columns = [of.column];
                let scan = Scan { filter: filter.as_ref(), ..Scan::table(table) };
                let scan = scan.between(lower.clone(), upper.clone()).columns(Columns::Some(&columns));
                let found = extreme_of(open, &scan, *of, *by_view);
                found.into_iter().map(|value| vec![value]).collect()
            }
            Question::Range((lower, upper), filter, columns, hits, direction) => {
                let scan = Scan { filter: filter.as_ref(), direction: *direction, ..Scan::table(table) };
                let scan = scan.between(lower.clone(), upper.clone()).columns(Columns::Some(columns));
                let Some(hits) = hits else { return batches_of(open, scan, columns.len()) };
                let mut rows = Vec::new();
                let end = open.scan(&scan, &mut |item| {
                    rows.push((0..columns.len()).map(|at| shown(item.row.get(at))).collect());
                    if rows.len() < *hits { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                });
                end.expect("reads do not fail");
                rows
            }
        }
    }
}
