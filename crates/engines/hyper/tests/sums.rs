//! Columns are added up in place to what their rows add up to: random rows and updates, in blocks so small that forms come and go, read by
//! snapshots of any age and by several threads.

use env::Randomness;
use model::columns::{Batch, Sums};
use model::decimal::Decimal;
use model::{
    Access, Begin, ColumnType, Columns, Comparison, Error, Finish, Interactive, Key, Mode, Predicate, RowBuf, Scan,
    Schema, SharedReads, TableId, Value, ValueRef,
};
use seriatim_hyper::{Hyper, Options, Transaction};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Mutex;
use std::thread;

/// Keys of a small table, and of one with more blocks than its small ones.
const FEW: u64 = 3_000;
const MANY: u64 = 24_000;
/// The columns that are added up, in another order than they are stored in.
const COLUMNS: [u16; 6] = [3, 1, 2, 5, 4, 0];

fn schema(name: &str) -> Schema {
    let schema = Schema::table(name).column("id", ColumnType::Int).nullable("narrow", ColumnType::Int);
    let schema = schema.column("wide", ColumnType::Int).nullable("price", ColumnType::Bytes);
    let schema = schema.nullable("name", ColumnType::Text).column("share", ColumnType::Float);
    schema.key(["id"]).build().expect("a good schema")
}

fn key(id: u64) -> Key {
    let mut key = Key::new();
    key.push_i64(id as i64);
    key
}

/// A random row. Of the wide integers, few are so long that a thousand of them do not fit into a word.
fn row(id: u64, random: &mut Randomness) -> RowBuf {
    let mut below = |end: u64| random.in_range(0..end) as i64;
    let narrow = if below(9) == 0 { Value::Null } else { Value::Int(below(250) - 120) };
    let wide = match below(400) {
        0 => i64::MAX - below(3),
        1 => i64::MIN + below(3),
        _ => (below(1 << 40) - (1 << 39)) << below(13),
    };
    let price = match below(3_000) {
        0 => Value::Bytes(vec![0]),
        1 => Value::Bytes(Decimal::new(below(100), 5).stored().to_vec()),
        2..300 => Value::Null,
        _ => Value::Bytes(Decimal::new(below(1 << 50) - (1 << 49), 2).stored().to_vec()),
    };
    let name = if below(4) == 0 { Value::Null } else { Value::Text(format!("n{}", below(30))) };
    let row = [Value::Int(id as i64), narrow, Value::Int(wide), price, name, Value::Float(below(7) as f64)];
    RowBuf::from_values(&row.each_ref().map(Value::as_ref))
}

/// How many values a column has, and what those add up to that are numbers: by their scale.
#[derive(Debug, Default, PartialEq)]
struct Found {
    rows: u64,
    values: [u64; COLUMNS.len()],
    sums: [BTreeMap<u16, i128>; COLUMNS.len()],
}

impl Found {
    fn add(&mut self, at: usize, value: ValueRef<'_>) {
        self.values[at] += u64::from(value != ValueRef::Null);
        let number = match value {
            ValueRef::Int(value) => Some((0, value)),
            ValueRef::Bytes(bytes) => Decimal::of_stored(bytes).map(|decimal| (decimal.scale, decimal.digits)),
            _ => None,
        };
        self.sum(at, number.map(|(scale, digits)| (scale, digits.into())));
    }

    fn sum(&mut self, at: usize, number: Option<(u16, i128)>) {
        if let Some((scale, digits)) = number {
            *self.sums[at].entry(scale).or_default() += digits;
        }
    }

    fn add_batch(&mut self, batch: &Batch) {
        self.rows += batch.len() as u64;
        for at in 0..COLUMNS.len() {
            (0..batch.len()).for_each(|row| self.add(at, batch.column(at).get(row).as_ref()));
        }
    }

    fn add_sums(&mut self, sums: &Sums) {
        self.rows += sums.rows;
        for (at, sum) in sums.columns.iter().enumerate() {
            self.values[at] += sum.values;
            let is_number = COLUMNS[at] <= 3 && sum.values > 0;
            self.sum(at, is_number.then_some((sum.scale, sum.digits)));
        }
    }
}

/// By rows.
fn by_row(open: &mut Transaction<&Hyper>, scan: &Scan<'_>) -> Found {
    let mut found = Found::default();
    let mut see = |item: model::Item<'_>| {
        found.rows += 1;
        (0..COLUMNS.len()).for_each(|at| found.add(at, item.row.get(at)));
        ControlFlow::Continue(())
    };
    open.scan(&scan.clone().columns(Columns::Some(&COLUMNS)), &mut see).expect("nobody in the way");
    found
}

/// In place, by two threads. Returns also how many rows were copied.
fn in_place(open: &mut Transaction<&Hyper>, scan: &Scan<'_>) -> (Found, u64) {
    let view = open.read_view().expect("nobody in the way");
    let columns = view.columns().expect("it stores columns");
    let summing = columns.sum_columns(scan.clone().columns(Columns::Some(&COLUMNS))).expect("a good scan");
    let (found, copied) = (Mutex::new(Found::default()), Mutex::new(0));
    let take = || {
        let (mut sums, mut batch) = (Sums::new(COLUMNS.len()), Batch::default());
        while summing.next(&mut sums, &mut batch).expect("nobody in the way") {
            found.lock().expect("no panic").add_batch(&batch);
            *copied.lock().expect("no panic") += batch.len() as u64;
        }
        assert!(batch.is_empty(), "nothing comes behind the end");
        found.lock().expect("no panic").add_sums(&sums);
    };
    thread::scope(|scope| {
        scope.spawn(take);
        take();
    });
    (found.into_inner().expect("no panic"), copied.into_inner().expect("no panic"))
}

fn begin(engine: &Hyper, mode: Mode) -> Transaction<&Hyper> {
    engine.begin(Begin { mode, ..Begin::default() }).expect("room for one more")
}

/// Inserts, replaces and deletes so many random rows of so many keys in one transaction, which stays open.
fn change<'e>(
    engine: &'e Hyper,
    table: TableId,
    (count, keys): (u64, u64),
    random: &mut Randomness,
) -> Transaction<&'e Hyper> {
    let mut open = begin(engine, Mode::ReadWrite);
    for _ in 0..count {
        let id = random.in_range(0..keys);
        if random.in_range(0..8) == 0 {
            open.delete(table, &key(id)).expect("nobody in the way");
        } else {
            open.put(table, &key(id), row(id, random).row()).expect("nobody in the way");
        }
    }
    open
}

fn check(open: &mut Transaction<&Hyper>, table: TableId, is_seldom_copied: bool) {
    let filters = [
        Predicate::True,
        Predicate::Compare(1, Comparison::Less, Value::Int(-40)),
        Predicate::Or(vec![
            Predicate::IsNull(1),
            Predicate::Compare(4, Comparison::Equal, Value::Text("n7".to_owned())),
        ]),
    ];
    let [lower, upper] = [700, 2_200].map(key);
    for filter in &filters {
        for scan in [
            Scan::table(table).filter(filter),
            Scan::table(table).filter(filter).between(Bound::Included(lower.clone()), Bound::Excluded(upper.clone())),
        ] {
            let expected = by_row(open, &scan);
            let is_whole = scan.lower == Bound::Unbounded;
            let (found, copied) = in_place(open, &scan);
            assert_eq!(found, expected, "{filter}");
            assert!(!(is_whole && is_seldom_copied) || copied < expected.rows, "{filter}: {copied} rows were copied");
        }
    }
}

#[test]
fn columns_add_up_to_what_their_rows_do() {
    for (seed, keys, options) in [
        (1, FEW, Options::default()),
        (2, FEW, Options { block_rows: 64, ..Options::default() }),
        (3, FEW, Options { has_synopses: false, block_rows: 64, ..Options::default() }),
        (4, FEW, Options { by_row: true, ..Options::default() }),
        (5, MANY, Options { block_rows: 4096, ..Options::default() }),
        (6, MANY, Options { block_rows: 16_384, ..Options::default() }),
    ] {
        let (mut random, is_seldom_copied) = (Randomness::from_seed(seed), options.block_rows == 64);
        let engine = Hyper::new(options);
        let table = engine.create_table(schema("items")).expect("a new table");
        change(&engine, table, (2 * keys, keys), &mut random).commit().expect("alone");
        engine.collect();
        let mut old = begin(&engine, Mode::ReadOnly);
        check(&mut old, table, is_seldom_copied);
        for changed in [3, 40, 600] {
            change(&engine, table, (changed, keys), &mut random).commit().expect("alone");
            let mut own = change(&engine, table, (changed, keys), &mut random);
            check(&mut old, table, is_seldom_copied && changed < 600);
            check(&mut own, table, false);
            check(&mut begin(&engine, Mode::ReadOnly), table, false);
            own.abort();
        }
    }
}

/// What a sum has looked at is protected: a row that is added, or one whose column changes, and no other column.
#[test]
fn sums_are_validated() {
    let engine = Hyper::new(Options::default());
    let table = engine.create_table(schema("items")).expect("a new table");
    let notes = engine.create_table(schema("notes")).expect("a new table");
    let mut random = Randomness::from_seed(7);
    let mut load = begin(&engine, Mode::ReadWrite);
    (0..100).for_each(|id| load.insert(table, &key(id), row(id, &mut random).row()).expect("alone"));
    load.commit().expect("alone");
    let replaced = |id: u64, column: usize, value: Value| {
        let mut other = begin(&engine, Mode::ReadWrite);
        let mut found = RowBuf::new();
        assert!(other.read(table, &key(id), Columns::All, &mut found).expect("nobody in the way"));
        let mut values: Vec<Value> = (0..6).map(|at| found.row().get(at).to_owned()).collect();
        values[column] = value;
        let values: Vec<ValueRef<'_>> = values.iter().map(Value::as_ref).collect();
        other.put(table, &key(id), RowBuf::from_values(&values).row()).expect("nobody in the way");
        other.commit().expect("nobody in the way");
    };
    let cases: [(&dyn Fn(), bool); 3] = [
        (&|| replaced(3, 2, Value::Int(1 << 60)), true),
        (&|| replaced(3, 5, Value::Float(99.0)), false),
        (
            &|| {
                let mut other = begin(&engine, Mode::ReadWrite);
                other.insert(table, &key(5_000), row(5_000, &mut Randomness::from_seed(8)).row()).expect("a new key");
                other.commit().expect("nobody in the way");
            },
            true,
        ),
    ];
    for (number, (meanwhile, is_met)) in cases.into_iter().enumerate() {
        let mut open = begin(&engine, Mode::ReadWrite);
        let mut sums = Sums::new(1);
        {
            let view = open.read_view().expect("nobody in the way");
            let columns = view.columns().expect("it stores columns");
            let summing = columns.sum_columns(Scan::table(table).columns(Columns::Some(&[2]))).expect("a good scan");
            while summing.next(&mut sums, &mut Batch::default()).expect("nobody in the way") {}
        }
        assert_eq!(sums.columns[0].values, sums.rows);
        meanwhile();
        let id = number as u64;
        open.insert(notes, &key(id), row(id, &mut random).row()).expect("a new key");
        let ended = open.commit();
        assert_eq!(matches!(ended, Err(Error::Aborted(_))), is_met, "case {number}: {ended:?}");
    }
}
