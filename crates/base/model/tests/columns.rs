//! Scans by column: what an engine with columns is asked for, and rows in batches where an engine has none.

use seriatim_model::columns::{BATCH_ROWS, Batch, Batches, ColumnReads, Sum, Summing, Sums, Values, batches};
use seriatim_model::twin::Twin;
use seriatim_model::{
    Access, ColumnType, Columns, Comparison, Invalid, Item, Key, Predicate, ReadView, Result, RowBuf, Scan, ScanEnd,
    Schema, TableId, Value,
};
use std::ops::{Bound, ControlFlow};
use std::sync::Mutex;
use std::thread;

const ROWS: i64 = 3 * BATCH_ROWS as i64 + 7;

/// A view of the twin: rows only.
struct Rows(Mutex<Twin>);

impl ReadView for Rows {
    fn read(&self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.0.lock().unwrap().read(table, key, columns, row)
    }
    fn scan(&self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.0.lock().unwrap().scan(scan, visit)
    }
}

fn schema() -> Schema {
    let schema = Schema::table("samples").column("id", ColumnType::Int).nullable("name", ColumnType::Text);
    let schema = schema.nullable("bytes", ColumnType::Bytes).column("even", ColumnType::Bool);
    let schema = schema.nullable("share", ColumnType::Float).column("day", ColumnType::Date);
    schema.column("at", ColumnType::Timestamp).key(["id"]).build().expect("a good schema")
}

fn values(id: i64) -> [Value; 7] {
    let or_null = |value: Value| if id % 3 == 0 { Value::Null } else { value };
    [
        Value::Int(id),
        or_null(Value::Text(format!("n{id}"))),
        or_null(Value::Bytes(vec![0xff; id as usize % 5])),
        Value::Bool(id % 2 == 0),
        or_null(Value::Float(id as f64 / 4.0)),
        Value::Date(id as i32),
        Value::Timestamp(-id),
    ]
}

fn row(id: i64) -> RowBuf {
    RowBuf::from_values(&values(id).each_ref().map(Value::as_ref))
}

fn key(id: i64) -> Key {
    schema().key_of(row(id).row())
}

fn rows() -> (Rows, TableId) {
    let mut twin = Twin::new();
    let table = twin.create_table(schema());
    for id in 0..ROWS {
        twin.insert(table, &key(id), row(id).row()).expect("a new key");
    }
    (Rows(Mutex::new(twin)), table)
}

/// All rows of the batches that one thread takes; each batch is within its limits.
fn drain(scan: &dyn Batches, width: usize) -> Vec<Vec<Value>> {
    let (mut batch, mut rows) = (Batch::default(), Vec::new());
    while scan.next(&mut batch).expect("nobody in the way") {
        assert!((1..=BATCH_ROWS).contains(&batch.len()), "{}", batch.len());
        for row in 0..batch.len() {
            rows.push((0..width).map(|column| batch.column(column).get(row).to_owned()).collect());
        }
    }
    assert!(batch.is_empty() && !scan.next(&mut batch).expect("it stays at its end"));
    rows
}

#[test]
fn rows_come_in_batches() {
    let (view, table) = rows();
    let scan = batches(&view, &schema(), Scan::table(table)).expect("a typed table");
    assert_eq!(drain(&*scan, 7), (0..ROWS).map(|id| values(id).to_vec()).collect::<Vec<_>>());
}

#[test]
fn filter_range_and_columns_are_those_of_the_scan() {
    let (view, table) = rows();
    let filter = Predicate::Compare(3, Comparison::Equal, Value::Bool(true));
    let range = Scan::table(table).between(Bound::Included(key(10)), Bound::Excluded(key(2_500)));
    let scan = range.filter(&filter).columns(Columns::Some(&[6, 1]));
    let picked = |row: [Value; 7]| [6, 1].map(|at: usize| row[at].clone()).to_vec();
    let expected: Vec<_> = (10..2_500).filter(|id| id % 2 == 0).map(values).map(picked).collect();
    assert_eq!(drain(&*batches(&view, &schema(), scan).expect("a typed table"), 2), expected);
}

/// A count looks at no column, and meets no row.
#[test]
fn a_scan_of_no_columns_counts() {
    let (view, table) = rows();
    let scan = batches(&view, &schema(), Scan::table(table).columns(Columns::None)).expect("a typed table");
    assert_eq!(drain(&*scan, 0).len() as i64, ROWS);
    let nothing = Predicate::Not(Box::new(Predicate::True));
    let scan = batches(&view, &schema(), Scan::table(table).filter(&nothing).examine(10)).expect("a typed table");
    assert_eq!(drain(&*scan, 7), Vec::<Vec<Value>>::new(), "a scan that examines a few rows at a time goes on");
}

#[test]
fn threads_share_a_scan() {
    let (view, table) = rows();
    let scan = batches(&view, &schema(), Scan::table(table).columns(Columns::Some(&[0]))).expect("a typed table");
    let mut ids: Vec<i64> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| drain(&*scan, 1))).collect();
        let rows = threads.into_iter().flat_map(|thread| thread.join().expect("no panic"));
        rows.map(|row| row[0].as_ref().as_int().expect("an integer")).collect()
    });
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..ROWS), "each row once");
}

#[test]
fn what_is_not_there_is_refused() {
    let (view, table) = rows();
    let refused = |schema: &Schema, columns: &[u16]| {
        let scan = Scan::table(table).columns(Columns::Some(columns));
        batches(&view, schema, scan).err().map(|error| error.to_string())
    };
    assert!(refused(&schema(), &[7]).expect("an error").contains("there is no column 7"));
    let bytes = Schema::bytes("pages").u64_key().build().expect("a good schema");
    let error = batches(&view, &bytes, Scan::table(table)).err().expect("an error");
    assert!(matches!(error, seriatim_model::Error::Invalid(Invalid::Row { .. })), "{error}");
}

/// A batch is used again by scans of other columns, and its values are of one type each.
#[test]
fn a_batch_is_used_again() {
    let (view, table) = rows();
    let mut batch = Batch::default();
    for (column, kind) in [(0, ColumnType::Int), (1, ColumnType::Text), (1, ColumnType::Text), (5, ColumnType::Date)] {
        let columns = [column];
        let scan = Scan::table(table).columns(Columns::Some(&columns));
        assert!(batches(&view, &schema(), scan).expect("typed").next(&mut batch).expect("rows"));
        let vector = batch.column(0);
        assert_eq!((batch.len(), vector.values().kind()), (BATCH_ROWS, kind));
        let nulls = vector.is_null().iter().filter(|is_null| **is_null).count();
        assert_eq!(nulls, if column == 1 { BATCH_ROWS.div_ceil(3) } else { 0 });
    }
    let Values::Date(days) = batch.column(0).values() else { panic!("dates") };
    assert!(days.iter().copied().eq(0..BATCH_ROWS as i32));
}

/// Who appends says how wide integers are; what nobody says something about may be of any width.
#[test]
fn a_vector_has_the_bits_of_the_widest_value() {
    let mut batch = Batch::default();
    let mut bits = |bits: &[Option<u32>]| {
        batch.restart(&[ColumnType::Int]);
        for bits in bits {
            batch.extend(1, |columns| {
                let column = &mut columns[0];
                let parts = match bits {
                    Some(bits) => column.narrow_parts_mut(*bits),
                    None => column.parts_mut(),
                };
                let (Values::Int(values), is_null) = parts else { panic!("one column of integers") };
                values.push(1);
                is_null.push(false);
            });
        }
        batch.column(0).bits()
    };
    assert_eq!([bits(&[Some(16), Some(32), Some(8)]), bits(&[Some(8), None]), bits(&[Some(8)])], [32, 64, 8]);
    batch.restart(&[ColumnType::Int]);
    batch.push(RowBuf::from_values(&[Value::Int(1).as_ref()]).row());
    assert_eq!(batch.column(0).bits(), 64);
    let (values, is_null) = batch.into_columns().remove(0).into_parts();
    assert_eq!((values, is_null), (Values::Int(vec![1]), vec![false]));
}

/// An engine that stores one column.
struct Columnar(Rows, Vec<i64>);

impl ReadView for Columnar {
    fn read(&self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.0.read(table, key, columns, row)
    }
    fn scan(&self, _: &Scan<'_>, _: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        panic!("it was asked for columns")
    }
    fn columns(&self) -> Option<&dyn ColumnReads> {
        Some(self)
    }
}

impl ColumnReads for Columnar {
    fn scan_columns<'v>(&'v self, scan: Scan<'v>) -> Result<Box<dyn Batches + 'v>> {
        assert_eq!(scan.columns, Columns::Some(&[0]));
        Ok(Box::new(Stored(Mutex::new(self.1.iter()))))
    }

    fn sum_columns<'v>(&'v self, _: Scan<'v>) -> Result<Box<dyn Summing + 'v>> {
        panic!("it was asked for batches")
    }
}

struct Stored<'v>(Mutex<std::slice::Iter<'v, i64>>);

impl Batches for Stored<'_> {
    fn next(&self, batch: &mut Batch) -> Result<bool> {
        batch.restart(&[ColumnType::Int]);
        let next: Vec<i64> = self.0.lock().unwrap().by_ref().take(2).copied().collect();
        batch.extend(next.len(), |columns| {
            let (Values::Int(values), is_null) = columns[0].parts_mut() else { panic!("one column of integers") };
            values.extend_from_slice(&next);
            is_null.resize(values.len(), false);
        });
        Ok(!batch.is_empty())
    }
}

/// Also through the boxed view that transactions give.
#[test]
fn columns_are_asked_for_first() {
    let (rows, table) = rows();
    let view: Box<dyn ReadView> = Box::new(Columnar(rows, vec![3, 1, 4]));
    let scan = Scan::table(table).columns(Columns::Some(&[0]));
    let found = drain(&*batches(&view, &schema(), scan).expect("columns"), 1);
    assert_eq!(found, [3, 1, 4].map(|value| vec![Value::Int(value)]));
}

#[test]
#[should_panic(expected = "each column has a value for each of 3 rows")]
fn a_column_that_is_too_short_is_noticed() {
    let mut batch = Batch::default();
    batch.restart(&[ColumnType::Text, ColumnType::Text]);
    batch.extend(3, |columns| {
        for (column, length) in columns.iter_mut().zip([3, 2]) {
            let (Values::Text(texts), is_null) = column.parts_mut() else { panic!("texts") };
            (0..length).for_each(|_| texts.push(b"text"));
            is_null.resize(length, false);
        }
    });
}

#[test]
fn a_sum_has_values_of_one_scale() {
    let mut sum = Sum::default();
    assert!(sum.add(0, 0, 7), "no values have no scale");
    assert!(sum.add(2, 150, 2) && sum.add(0, 0, 5) && sum.merge(Sum { values: 1, digits: -50, scale: 2 }));
    assert!(!sum.add(1, 1, 3), "another scale");
    assert_eq!(sum, Sum { values: 3, digits: 100, scale: 2 });
    let mut all = Sums::new(2);
    all.columns[1] = sum;
    assert_eq!((all.rows, all.columns), (0, vec![Sum::default(), sum]));
}
