//! Filters on values in place choose the rows that they choose row by row: of every width and type, with NULLs, gaps and versions.

use model::columns::{Batch, Narrowing, Sieve, batches};
use model::{
    Access, Begin, ColumnType, Columns, Comparison, Delta, Finish, Interactive, Key, Predicate, RowBuf, Scan, Schema,
    SharedReads, TableId, Value, ValueRef,
};
use seriatim_hyper::{Hyper, Options, Transaction};
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;

/// Rows: more than two blocks.
const ROWS: i64 = 2500;
const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

fn schema() -> Schema {
    let schema = Schema::table("samples").column("id", ColumnType::Int).nullable("one", ColumnType::Int);
    let schema =
        schema.column("two", ColumnType::Int).column("four", ColumnType::Int).nullable("eight", ColumnType::Int);
    let schema = schema.nullable("share", ColumnType::Float).column("day", ColumnType::Date);
    let schema = schema.nullable("at", ColumnType::Timestamp).column("even", ColumnType::Bool);
    schema.nullable("name", ColumnType::Text).key(["id"]).build().expect("a good schema")
}

fn or_null(id: i64, every: i64, value: ValueRef<'_>) -> ValueRef<'_> {
    if id % every == 0 { ValueRef::Null } else { value }
}

fn row(id: i64) -> RowBuf {
    let shares = [f64::NAN, -0.0, 0.0, 1.5, f64::INFINITY, -2.5];
    let name = format!("n{}", id % 50);
    RowBuf::from_values(&[
        ValueRef::Int(id),
        or_null(id, 5, ValueRef::Int(id % 200 - 100)),
        ValueRef::Int(id * 13 % 60_000 - 30_000),
        ValueRef::Int(id * 1_000_003 % 2_000_000),
        // Some blocks alone have wide values, and NULL.
        or_null(id.max(1_000), 7, ValueRef::Int(if id > 1_500 { id << 40 } else { id })),
        or_null(id, 11, ValueRef::Float(shares[id as usize % shares.len()])),
        ValueRef::Date(id as i32 - 1_000),
        or_null(id, 3, ValueRef::Timestamp(-id * 1_000_000)),
        ValueRef::Bool(id % 2 == 0),
        or_null(id, 9, ValueRef::Text(&name)),
    ])
}

fn key(id: i64) -> Key {
    schema().key_of(row(id).row())
}

/// The table, with gaps.
fn table() -> (Arc<Hyper>, TableId) {
    let engine = Arc::new(Hyper::new(Options::default()));
    let table = engine.create_table(schema()).expect("a new table");
    let mut open = begin(&engine);
    (0..ROWS).for_each(|id| open.insert(table, &key(id), row(id).row()).expect("a new key"));
    open.commit().expect("nobody in the way");
    let mut open = begin(&engine);
    for id in (0..ROWS).filter(|id| id % 13 == 0 || (600..640).contains(id)) {
        assert!(open.delete(table, &key(id)).expect("nobody in the way"));
    }
    open.commit().expect("nobody in the way");
    engine.collect();
    (engine, table)
}

fn begin(engine: &Hyper) -> Transaction<&Hyper> {
    engine.begin(Begin::default()).expect("room for one more")
}

/// The numbers of the rows that pass and their second-last column, by column.
fn by_column(open: &mut Transaction<&Hyper>, scan: Scan<'_>) -> Vec<(Value, Value)> {
    let view = open.read_view().expect("nobody in the way");
    let scan = batches(&*view, &schema(), scan.columns(Columns::Some(&[4, 0]))).expect("a typed table");
    let (mut batch, mut rows) = (Batch::default(), Vec::new());
    while scan.next(&mut batch).expect("nobody in the way") {
        rows.extend((0..batch.len()).map(|row| [1, 0].map(|at| batch.column(at).get(row).to_owned()).into()));
    }
    rows.sort_by_key(|(id, _): &(Value, Value)| id.as_ref().as_int());
    rows
}

/// The same, row by row.
fn by_row(open: &mut Transaction<&Hyper>, scan: Scan<'_>) -> Vec<(Value, Value)> {
    let mut rows = Vec::new();
    let mut visit = |item: model::Item<'_>| {
        rows.push([0, 4].map(|at| item.row.get(at).to_owned()).into());
        ControlFlow::Continue(())
    };
    open.scan(&scan, &mut visit).expect("nobody in the way");
    rows
}

/// The number of rows, without a column.
fn count(open: &mut Transaction<&Hyper>, scan: Scan<'_>) -> usize {
    let view = open.read_view().expect("nobody in the way");
    let scan = batches(&*view, &schema(), scan.columns(Columns::None)).expect("a typed table");
    let (mut batch, mut rows) = (Batch::default(), 0);
    while scan.next(&mut batch).expect("nobody in the way") {
        rows += batch.len();
    }
    rows
}

fn constants() -> Vec<(u16, Value)> {
    let integers = |column: u16, values: &[i64]| values.iter().map(move |&value| (column, Value::Int(value))).collect();
    let mut all: Vec<(u16, Value)> = integers(1, &[-100, 0, 99, 127, 128, -129, i64::MAX, i64::MIN]);
    all.extend::<Vec<_>>(integers(2, &[-30_000, 17, 40_000, -40_000]));
    all.extend::<Vec<_>>(integers(3, &[1_000_003, 0, 1 << 40, -1]));
    all.extend::<Vec<_>>(integers(4, &[1_400, 1_600 << 40, i64::MAX, -1]));
    all.extend([f64::NAN, 0.0, 1.5, f64::NEG_INFINITY, f64::INFINITY].map(|value| (5, Value::Float(value))));
    all.extend([-1_000, 0, 400].map(|value| (6, Value::Date(value))));
    all.extend([0, -700_000_000, i64::MIN].map(|value| (7, Value::Timestamp(value))));
    all.extend([true, false].map(|value| (8, Value::Bool(value))));
    // Of another type: neither smaller nor greater.
    all.extend([(1, Value::Float(0.0)), (5, Value::Int(0)), (6, Value::Int(0)), (9, Value::Text("n7".into()))]);
    all
}

fn assert_same(open: &mut Transaction<&Hyper>, table: TableId, filter: &Predicate) -> usize {
    let scan = Scan::table(table).filter(filter);
    let expected = by_row(open, scan.clone());
    assert_eq!(by_column(open, scan.clone()), expected, "{filter}");
    assert_eq!(count(open, scan), expected.len(), "{filter}");
    expected.len()
}

#[test]
fn filters_choose_in_place_what_they_choose_row_by_row() {
    let (engine, table) = table();
    let mut open = begin(&engine);
    let mut all = Vec::new();
    for (column, constant) in constants() {
        for comparison in COMPARISONS {
            let filter = Predicate::Compare(column, comparison, constant.clone());
            assert_same(&mut open, table, &filter);
            assert_same(&mut open, table, &Predicate::And(vec![filter.clone(), Predicate::IsNull(7)]));
            all.push(filter);
        }
    }
    for pair in all.windows(2).step_by(5) {
        assert_same(&mut open, table, &Predicate::And(pair.to_vec()));
        assert_same(&mut open, table, &Predicate::Not(Box::new(Predicate::Or(pair.to_vec()))));
        // Of one column and of several; each alternative looks at the rows that were there before.
        let unknown = Predicate::Compare(1, Comparison::Less, Value::Null);
        let any = Predicate::Or(vec![pair[0].clone(), unknown, Predicate::And(pair.to_vec()), pair[1].clone()]);
        assert_same(&mut open, table, &any);
        assert_same(&mut open, table, &Predicate::And(vec![any, Predicate::IsNull(7)]));
    }
    for several in all.chunks(31) {
        assert_same(&mut open, table, &Predicate::Or(several.iter().step_by(7).cloned().collect()));
    }
    let range = Predicate::And(vec![
        Predicate::Compare(3, Comparison::GreaterOrEqual, Value::Int(500_000)),
        Predicate::Compare(3, Comparison::Less, Value::Int(1_500_000)),
        Predicate::Compare(8, Comparison::Equal, Value::Bool(false)),
    ]);
    assert!(assert_same(&mut open, table, &range) > 100);
}

/// Rows before and behind versioned ones are chosen in place, those between row by row.
#[test]
fn filters_choose_around_versions() {
    let (engine, table) = table();
    let mut before = begin(&engine);
    before.start().expect("nobody in the way");
    let old = by_row(&mut before, Scan::table(table));
    let mut open = begin(&engine);
    for id in [70, 90, 1_301, 2_400] {
        assert!(open.update(table, &key(id), &Delta::new().add(3, 3_000_000)).expect("nobody in the way"));
    }
    open.commit().expect("nobody in the way");
    let filter = Predicate::Compare(3, Comparison::Less, Value::Int(2_000_000));
    assert_eq!(assert_same(&mut before, table, &filter), old.len(), "the snapshot has none of the changes");
    let mut after = begin(&engine);
    assert_eq!(assert_same(&mut after, table, &filter), old.len() - 4);
}

/// A sieve leaves out rows that are not looked for, and none that are: of every width, with NULLs and versions, beside a filter.
#[test]
fn sieves_leave_out_what_nobody_looks_for() {
    let (engine, table) = table();
    let mut open = begin(&engine);
    for id in [70, 90, 1_301, 2_400] {
        assert!(open.update(table, &key(id), &Delta::new().add(3, 3_000_000)).expect("nobody in the way"));
    }
    open.commit().expect("nobody in the way");
    let mut open = begin(&engine);
    let filter = Predicate::Compare(8, Comparison::Equal, Value::Bool(true));
    for column in [0, 1, 2, 3, 4] {
        let mut values = Vec::new();
        open.scan(&Scan::table(table), &mut |item| {
            values.push(item.row.get(usize::from(column)).as_int());
            ControlFlow::Continue(())
        })
        .expect("nobody in the way");
        for every in [1, 40] {
            let sought: Vec<i64> = values.iter().step_by(every).copied().flatten().collect();
            let sieves = [(column, Sieve::of(&sought))];
            for filter in [None, Some(&filter)] {
                let scan = Scan { filter, ..Scan::table(table) };
                let all = by_row(&mut open, scan.clone());
                let left = by_column(&mut open, Scan { sieves: &sieves, ..scan });
                assert!(left.iter().all(|row| all.contains(row)), "only rows that pass");
                let mut is_sought = |id: &i64| {
                    let mut found = RowBuf::new();
                    let read = open.read(table, &key(*id), Columns::All, &mut found).expect("nobody in the way");
                    assert!(read, "row {id} is there");
                    found.get(usize::from(column)).as_int().is_some_and(|value| sought.contains(&value))
                };
                let ids = |rows: &[(Value, Value)]| -> Vec<i64> {
                    rows.iter().filter_map(|(id, _)| id.as_ref().as_int()).collect()
                };
                let expected: Vec<i64> = ids(&all).into_iter().filter(|id| is_sought(id)).collect();
                let found = ids(&left);
                assert!(expected.iter().all(|id| found.contains(id)), "column {column}, one in {every}");
                assert!(every == 1 || found.len() < all.len() / 2, "column {column}: {} of {}", found.len(), all.len());
            }
        }
    }
}

/// A range, with NULL or without.
#[derive(Debug)]
struct Within(RangeInclusive<i64>, bool);

impl Narrowing for Within {
    fn range(&self) -> RangeInclusive<i64> {
        self.0.clone()
    }

    fn keeps_null(&self) -> bool {
        self.1
    }
}

/// A range leaves out what lies beyond it, of rows without versions: of every width, and NULL as it says.
#[test]
fn ranges_leave_out_what_lies_beyond() {
    let (engine, table) = table();
    let mut open = begin(&engine);
    // Dates and timestamps are integers, too.
    let word = |value: ValueRef<'_>| match value {
        ValueRef::Date(value) => Some(i64::from(value)),
        ValueRef::Timestamp(value) | ValueRef::Int(value) => Some(value),
        _ => None,
    };
    for column in [0_u16, 1, 2, 3, 4, 6, 7] {
        let mut values: Vec<(i64, Option<i64>)> = Vec::new();
        open.scan(&Scan::table(table), &mut |item| {
            values.push((item.row.get(0).as_int().expect("a number"), word(item.row.get(usize::from(column)))));
            ControlFlow::Continue(())
        })
        .expect("nobody in the way");
        let mut sorted: Vec<i64> = values.iter().filter_map(|(_, value)| *value).collect();
        sorted.sort_unstable();
        let (low, high) = (sorted[sorted.len() / 3], sorted[sorted.len() / 2]);
        for range in [i64::MIN..=i64::MAX, i64::MIN..=low, high..=i64::MAX, low..=high, i64::MAX..=i64::MAX] {
            for keeps_null in [true, false] {
                let is_open = range == (i64::MIN..=i64::MAX);
                let is_kept = |value: &Option<i64>| value.map_or(keeps_null || is_open, |value| range.contains(&value));
                let expected: Vec<i64> = values.iter().filter(|(_, of)| is_kept(of)).map(|(id, _)| *id).collect();
                let sieves = [(column, Sieve::Range(Arc::new(Within(range.clone(), keeps_null))))];
                let left = by_column(&mut open, Scan { sieves: &sieves, ..Scan::table(table) });
                let found: Vec<i64> = left.iter().filter_map(|(id, _)| id.as_ref().as_int()).collect();
                assert_eq!(found, expected, "column {column}, {range:?}, {keeps_null}");
            }
        }
    }
}

/// Whole blocks are copied without a look at each row, but not past rows that are gone or have versions: at the borders of words and
/// blocks, few and many, for who sees the changes and who does not.
#[test]
fn whole_blocks_are_copied_between_gaps_and_versions() {
    let patterns: [&[i64]; 5] = [&[0], &[63, 64, 65], &[1_023, 1_024, 2_047, 2_048], &[5, 64, 127, 191, 192], &[2_499]];
    let many: Vec<i64> = (0..ROWS).filter(|id| id % 10 == 3).collect();
    for changed in patterns.iter().copied().chain([&many[..]]) {
        let engine = Hyper::new(Options::default());
        let table = engine.create_table(schema()).expect("a new table");
        let mut open = begin(&engine);
        (0..2_560).for_each(|id| open.insert(table, &key(id), row(id).row()).expect("a new key"));
        open.commit().expect("nobody in the way");
        engine.collect();
        let all = |open: &mut Transaction<&Hyper>| {
            let rows = by_column(open, Scan::table(table));
            assert_eq!(rows, by_row(open, Scan::table(table)));
            rows
        };
        let mut before = begin(&engine);
        let as_loaded = all(&mut before);
        let mut open = begin(&engine);
        for id in changed {
            match id % 2 {
                0 => assert!(open.delete(table, &key(*id)).expect("nobody in the way")),
                _ => assert!(open.update(table, &key(*id), &Delta::new().add(4, 1)).expect("nobody in the way")),
            }
        }
        let deleted = changed.iter().filter(|id| *id % 2 == 0).count();
        assert_eq!(all(&mut open).len(), 2_560 - deleted, "own changes");
        open.commit().expect("nobody in the way");
        assert_eq!(all(&mut before), as_loaded, "the snapshot has none of the changes");
        drop(before);
        engine.collect();
        assert_eq!(engine.stats().versioned, 0);
        assert_eq!(all(&mut begin(&engine)).len(), 2_560 - deleted, "after their versions have gone");
    }
}
