//! Least and greatest values: the answer is protected, and nothing else.

use model::{
    Access, Begin, ColumnType, Columns, Comparison, Extreme, Finish, Interactive, Key, Mode, Predicate, RowBuf, Scan,
    Schema, SharedReads, TableId, Value, ValueRef,
};
use seriatim_hyper::{Hyper, Options, Reason, Transaction};
use std::ops::Bound;

const X: u16 = 1;
const Y: u16 = 2;

/// A row of the tests' table: a key, a value of which the end is asked for, and one of which the filter wants more than zero.
type Row = (i64, Option<i64>, i64);

/// The least is 10, in row 3. Row 4 would have less, and does not pass.
const ROWS: [Row; 5] = [(1, Some(30), 1), (2, Some(20), 1), (3, Some(10), 1), (4, Some(5), 0), (5, None, 1)];

/// A way to ask, and to mirror all values so that the greatest takes the place of the least.
#[derive(Clone, Copy, Debug)]
struct Way {
    by_row: bool,
    of_range: bool,
    by_view: bool,
    is_greatest: bool,
}

fn ways() -> impl Iterator<Item = Way> {
    (0..16).map(|bits: u32| Way {
        by_row: bits & 1 != 0,
        of_range: bits & 2 != 0,
        by_view: bits & 4 != 0,
        is_greatest: bits & 8 != 0,
    })
}

fn key(id: i64) -> Key {
    let mut key = Key::new();
    key.push_i64(id);
    key
}

fn begin(engine: &Hyper, mode: Mode) -> Transaction<&Hyper> {
    let mut open = engine.begin(Begin { mode, ..Begin::default() }).expect("room for one more");
    open.start().expect("nobody in the way");
    open
}

impl Way {
    fn put(self, open: &mut impl Access, table: TableId, (id, x, y): Row) {
        let x = x.map_or(ValueRef::Null, |x| ValueRef::Int(if self.is_greatest { -x } else { x }));
        let row = RowBuf::from_values(&[ValueRef::Int(id), x, ValueRef::Int(y)]);
        open.put(table, &key(id), row.row()).expect("nobody in the way");
    }

    fn filled(self, rows: &[Row]) -> (Hyper, TableId) {
        let engine = Hyper::new(Options { by_row: self.by_row, block_rows: 4, ..Options::default() });
        let schema = Schema::table("t").column("id", ColumnType::Int).nullable("x", ColumnType::Int);
        let schema = schema.column("y", ColumnType::Int).key(["id"]).build().expect("a schema");
        let table = engine.create_table(schema).expect("a new table");
        let mut open = begin(&engine, Mode::ReadWrite);
        rows.iter().for_each(|row| self.put(&mut open, table, *row));
        open.commit().expect("alone");
        (engine, table)
    }

    /// The end of the values of rows whose `y` is more than zero.
    fn ask(self, open: &mut Transaction<&Hyper>, table: TableId) -> Option<(Key, Option<i64>)> {
        let filter = Predicate::Compare(Y, Comparison::Greater, Value::Int(0));
        let columns = [X];
        let mut scan = Scan::table(table).filter(&filter).columns(Columns::Some(&columns));
        if self.of_range {
            scan = scan.between(Bound::Included(key(0)), Bound::Included(key(100)));
        }
        let (of, mut row) = (Extreme { column: X, is_greatest: self.is_greatest }, RowBuf::new());
        let found = if self.by_view {
            let view = open.read_view().expect("it is open");
            view.extremes().expect("the engine protects them").extreme(&scan, of, &mut row)
        } else {
            open.extreme(&scan, of, &mut row)
        };
        let key = found.expect("reads do not fail")?;
        Some((key, row.get(0).as_int().map(|x| if self.is_greatest { -x } else { x })))
    }

    /// Whether a transaction that has asked commits after another one has changed rows.
    fn commits_beside(self, rows: &[Row], change: impl FnOnce(&mut Transaction<&Hyper>, TableId)) -> bool {
        let (engine, table) = self.filled(rows);
        let mut open = begin(&engine, Mode::ReadWrite);
        let found = self.ask(&mut open, table);
        let expected = (!rows.is_empty()).then(|| (key(3), Some(10)));
        assert_eq!(found, expected, "{self:?}");
        self.put(&mut open, table, (1000, None, 0));
        let mut other = begin(&engine, Mode::ReadWrite);
        change(&mut other, table);
        other.commit().expect("it has read nothing");
        let committed = open.commit().is_ok();
        assert_eq!(engine.stats().aborted[Reason::PredicateMet as usize], u64::from(!committed));
        committed
    }
}

/// Writes inside: they leave the answer as it is.
#[test]
fn writes_that_leave_the_answer_abort_nobody() {
    let inside: [Row; 7] = [
        (6, Some(11), 1), // a new row that is not less
        (6, Some(10), 1), // one as little
        (6, Some(1), 0),  // one that does not pass
        (6, None, 1),     // one without a value
        (1, Some(12), 1), // a row that becomes less, but not the least
        (4, Some(4), 0),  // one that does not pass, and becomes less
        (2, Some(20), 7), // a column of the filter, of a row that is not the least
    ];
    for way in ways() {
        for row in inside {
            assert!(way.commits_beside(&ROWS, |other, table| way.put(other, table, row)), "{way:?} {row:?}");
        }
        let deletes = |other: &mut Transaction<&Hyper>, table| {
            assert!(other.delete(table, &key(1)).expect("nobody in the way"));
        };
        assert!(way.commits_beside(&ROWS, deletes), "{way:?}");
        assert!(way.commits_beside(&[], |other, table| way.put(other, table, (6, None, 1))), "{way:?}");
    }
}

/// Writes that change the answer, or the row that it is of.
#[test]
fn writes_that_change_the_answer_abort_who_asked() {
    let beyond: [Row; 5] = [
        (6, Some(9), 1),  // a new least one
        (1, Some(9), 1),  // an old one that becomes it
        (4, Some(5), 1),  // one that passes now
        (3, Some(11), 1), // the least, which is more now
        (3, Some(10), 0), // the least, which does not pass any more
    ];
    for way in ways() {
        for row in beyond {
            assert!(!way.commits_beside(&ROWS, |other, table| way.put(other, table, row)), "{way:?} {row:?}");
        }
        let deletes = |other: &mut Transaction<&Hyper>, table| {
            assert!(other.delete(table, &key(3)).expect("nobody in the way"));
        };
        assert!(!way.commits_beside(&ROWS, deletes), "{way:?}");
        assert!(!way.commits_beside(&[], |other, table| way.put(other, table, (6, Some(70), 1))), "{way:?}");
    }
}

/// A transaction finds what it has written itself, and an old snapshot what it had.
#[test]
fn each_finds_what_it_sees() {
    for way in ways() {
        let (engine, table) = way.filled(&ROWS);
        let mut old = begin(&engine, Mode::ReadOnly);
        let mut open = begin(&engine, Mode::ReadWrite);
        way.put(&mut open, table, (6, Some(7), 1));
        assert_eq!(way.ask(&mut open, table), Some((key(6), Some(7))), "{way:?}");
        assert!(open.delete(table, &key(6)).expect("its own") && open.delete(table, &key(3)).expect("its own now"));
        assert_eq!(way.ask(&mut open, table), Some((key(2), Some(20))), "{way:?}");
        open.commit().expect("nobody in the way");
        assert_eq!(way.ask(&mut old, table), Some((key(3), Some(10))), "{way:?}");
    }
}

/// Who reads in order to write waits for the owner of a row, and then finds what that one has left.
#[test]
fn a_search_that_waits_begins_again() {
    for way in ways().filter(|way| !way.by_view) {
        let (engine, table) = way.filled(&ROWS);
        let mut open = begin(&engine, Mode::OwnAtStatement);
        let mut other = begin(&engine, Mode::ReadWrite);
        way.put(&mut other, table, (3, Some(40), 1));
        other.commit().expect("nobody in the way");
        assert_eq!(way.ask(&mut open, table), Some((key(2), Some(20))), "its start has moved: {way:?}");
        assert!(open.delete(table, &key(2)).expect("nobody in the way"));
        open.commit().expect("nobody in the way");
    }
}

/// A column that the table does not have is refused.
#[test]
fn an_unknown_column_is_refused() {
    let way = Way { by_row: false, of_range: false, by_view: false, is_greatest: false };
    let (engine, table) = way.filled(&ROWS);
    let mut open = begin(&engine, Mode::ReadWrite);
    let asked = open.extreme(&Scan::table(table), Extreme::least(9), &mut RowBuf::new());
    assert!(matches!(asked, Err(model::Error::Invalid(_))), "{asked:?}");
}

/// Rows of large blocks, which are searched in parts, with versions and without.
#[test]
fn the_furthest_row_is_found_in_every_part_of_a_block() {
    const ROWS: i64 = 40_000;
    let way = Way { by_row: false, of_range: false, by_view: true, is_greatest: false };
    let engine = Hyper::new(Options::default());
    let schema = Schema::table("t").column("id", ColumnType::Int).nullable("x", ColumnType::Int);
    let schema = schema.column("y", ColumnType::Int).key(["id"]).build().expect("a schema");
    let table = engine.create_table(schema).expect("a new table");
    let mut load = begin(&engine, Mode::ReadWrite);
    (0..ROWS).for_each(|id| way.put(&mut load, table, (id, Some(id + 1), 1)));
    load.commit().expect("alone");
    for id in [0, 1023, 1024, 16_383, 16_384, 17_500, 25_000, 39_999] {
        let reader = begin(&engine, Mode::ReadOnly);
        let mut open = begin(&engine, Mode::ReadWrite);
        way.put(&mut open, table, (id, Some(-id), 1));
        open.commit().expect("alone");
        let asked = || way.ask(&mut begin(&engine, Mode::ReadWrite), table);
        assert_eq!((asked(), engine.stats().versioned), (Some((key(id), Some(-id))), 1));
        reader.abort();
        engine.collect();
        assert_eq!((asked(), engine.stats().versioned), (Some((key(id), Some(-id))), 0));
    }
}
