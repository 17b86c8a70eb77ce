//! Columns hold decimals as integers and texts by dictionary, block by block, and nobody sees it: random rows and updates against a naive
//! twin, in blocks so small that forms come and go all the time.

use env::{Randomness, SimDisk, SimDiskOptions};
use model::columns::{Batch, Values, batches};
use model::decimal::Decimal;
use model::{
    Access, Begin, ColumnType, Columns, Comparison, Delta, Extreme, Finish, Interactive, Item, Key, Mode, Predicate,
    RowBuf, Scan, Schema, SharedReads, TableId, Value,
};
use seriatim_hyper::{Hyper, Options, Pace, Transaction};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Keys.
const KEYS: i64 = 300;
/// Columns of a row: its key, a price, a flag, a note.
const WIDTH: usize = 4;

type Row = [Value; WIDTH];
/// What is there, by key.
type Twin = BTreeMap<i64, Row>;

fn schema() -> Schema {
    let schema = Schema::table("items").column("id", ColumnType::Int).nullable("price", ColumnType::Bytes);
    let schema = schema.nullable("flag", ColumnType::Text).nullable("note", ColumnType::Text);
    schema.key(["id"]).build().expect("a good schema")
}

fn row_of(row: &Row) -> RowBuf {
    RowBuf::from_values(&row.each_ref().map(Value::as_ref))
}

fn key(id: i64) -> Key {
    let mut key = Key::new();
    key.push_i64(id);
    key
}

/// Random values, of which one of so many has an odd form.
struct Draws {
    random: Randomness,
    odd: u64,
}

impl Draws {
    fn one_in(&mut self, parts: u64) -> bool {
        self.below(parts) == 0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random.in_range(0..end)
    }

    fn id(&mut self) -> i64 {
        self.below(KEYS as u64) as i64
    }

    fn decimal(&mut self) -> Decimal {
        let digits = match self.below(12) {
            0 => 999_999_999_999_999_999,
            1 => -999_999_999_999_999_999,
            2 => [i64::MAX, i64::MIN, 1 << 31, -129][self.below(4) as usize],
            3..6 => self.below(100_000) as i64 - 50_000,
            _ => self.below(40) as i64 - 20,
        };
        let scale = if self.one_in(self.odd) { [0, 1, 3, 30][self.below(4) as usize] } else { 2 };
        Decimal::new(digits, scale)
    }

    /// Now and then between two values that a column of prices can have.
    fn constant(&mut self) -> Decimal {
        let decimal = self.decimal();
        if self.one_in(3) { Decimal::new(decimal.digits, 3) } else { decimal }
    }

    /// Mostly decimals of one scale.
    fn price(&mut self) -> Value {
        if self.one_in(self.odd) {
            return self.odd_price();
        }
        if self.one_in(20) { Value::Null } else { self.decimal().stored().to_vec().into() }
    }

    fn odd_price(&mut self) -> Value {
        match self.below(2) {
            0 => [&b"\0"[..], b"\x01", b"\x02", b"", b"\x03\x02\0\x05\0", b"\x03\x02\0"][self.below(6) as usize].into(),
            _ => [&[3, 2, 0][..], &[0x55; 9]].concat().into(),
        }
    }

    /// Mostly one of a few.
    fn flag(&mut self) -> Value {
        if self.one_in(self.odd) {
            return "x".repeat(300).into();
        }
        match self.below(40) {
            0 => format!("rare {}", self.below(1000)).into(),
            1..4 => Value::Null,
            4..30 => "A".into(),
            _ => ["A", "N", "R", "", "TAKE BACK RETURN"][self.below(5) as usize].into(),
        }
    }

    fn row(&mut self, id: i64) -> Row {
        let note = format!("note {}", self.below(5000));
        [Value::Int(id), self.price(), self.flag(), note.into()]
    }

    fn comparison(&mut self) -> Comparison {
        use Comparison::*;
        [Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual][self.below(6) as usize]
    }

    fn filter(&mut self, depth: u64) -> Predicate {
        match self.below(if depth == 0 { 7 } else { 10 }) {
            0 | 1 => Predicate::CompareDecimal(1, self.comparison(), self.constant()),
            2 => Predicate::Compare(1, self.comparison(), self.price()),
            3 => Predicate::Compare(2, self.comparison(), self.flag()),
            4 => Predicate::any_of(2, vec![self.flag(), self.flag(), "A".into()]),
            5 => Predicate::StartsWith(2, ["", "TAKE", "rare", "N"][self.below(4) as usize].into()),
            6 => Predicate::IsNull(1 + self.below(2) as u16),
            7 => Predicate::Not(Box::new(self.filter(depth - 1))),
            8 => Predicate::And(vec![self.filter(depth - 1), self.filter(depth - 1)]),
            _ => Predicate::Or(vec![self.filter(depth - 1), self.filter(depth - 1)]),
        }
    }
}

fn begin(engine: &Hyper, mode: Mode) -> Transaction<&Hyper> {
    let mut open = engine.begin(Begin { mode, ..Begin::default() }).expect("room for one more");
    open.start().expect("nobody in the way");
    open
}

/// One change, in the engine and in the twin.
fn change(open: &mut Transaction<&Hyper>, table: TableId, twin: &mut Twin, draws: &mut Draws) {
    let id = draws.id();
    match draws.below(8) {
        0..3 => {
            let row = draws.row(id);
            open.put(table, &key(id), row_of(&row).row()).expect("nobody in the way");
            twin.insert(id, row);
        }
        3..6 => {
            let (column, value) = if draws.one_in(2) { (1, draws.price()) } else { (2, draws.flag()) };
            let delta = Delta::new().set(column, value.clone());
            let found = open.update(table, &key(id), &delta).expect("nobody in the way");
            assert_eq!(found, twin.contains_key(&id));
            twin.entry(id).and_modify(|row| row[usize::from(column)] = value);
        }
        _ => {
            let found = open.delete(table, &key(id)).expect("nobody in the way");
            assert_eq!(found, twin.remove(&id).is_some());
        }
    }
}

fn by_row(open: &mut Transaction<&Hyper>, scan: &Scan<'_>) -> Twin {
    let mut rows = Twin::new();
    let mut visit = |item: Item<'_>| {
        let row: Row = [0, 1, 2, 3].map(|at| item.row.get(at).to_owned());
        rows.insert(row[0].as_ref().as_int().expect("a key"), row);
        ControlFlow::Continue(())
    };
    open.scan(scan, &mut visit).expect("nobody in the way");
    rows
}

/// The rows by column, and how many batches had decimals and texts by dictionary.
fn by_column(open: &mut Transaction<&Hyper>, scan: Scan<'_>) -> (Twin, [usize; 2]) {
    let view = open.read_view().expect("nobody in the way");
    let scan = batches(&*view, &schema(), scan).expect("a typed table");
    let (mut batch, mut rows, mut forms) = (Batch::default(), Twin::new(), [0; 2]);
    while scan.next(&mut batch).expect("nobody in the way") {
        for at in 0..batch.len() {
            let row: Row = [0, 1, 2, 3].map(|column| batch.column(column).get(at));
            assert!(rows.insert(row[0].as_ref().as_int().expect("a key"), row).is_none(), "each row once");
        }
        forms[0] += usize::from(matches!(batch.column(1).values(), Values::Decimal(..)));
        let is_coded = |values: &Values| matches!(values, Values::Text(texts) if texts.clone().into_coded().is_ok());
        forms[1] += usize::from(is_coded(batch.column(2).values()));
    }
    (rows, forms)
}

/// Compares what a transaction sees, by row and by column, with the twin of its moment.
fn check(open: &mut Transaction<&Hyper>, table: TableId, twin: &Twin, draws: &mut Draws) -> [usize; 2] {
    let filter = draws.filter(2);
    let matching = |filter: &Predicate| -> Twin {
        let rows = twin.iter().filter(|(_, row)| filter.matches(row_of(row).row()));
        rows.map(|(id, row)| (*id, row.clone())).collect()
    };
    let expected = matching(&filter);
    assert_eq!(by_row(open, &Scan::table(table).filter(&filter)), expected, "{filter}");
    assert_eq!(by_column(open, Scan::table(table).filter(&filter)).0, expected, "{filter}");
    let (all, forms) = by_column(open, Scan::table(table));
    assert_eq!(all, *twin);
    for column in [1, 2] {
        let of = Extreme { column, is_greatest: draws.one_in(2) };
        let view = open.read_view().expect("nobody in the way");
        let extremes = view.extremes().expect("hyper has extremes");
        let mut row = RowBuf::new();
        let scan = Scan::table(table).filter(&filter);
        let found = extremes.extreme(&scan, of, &mut row).expect("nobody in the way");
        let values = expected.values().map(|row| &row[usize::from(column)]).filter(|value| **value != Value::Null);
        let best = values.reduce(|best, value| if of.is_further(value.as_ref(), Some(best)) { value } else { best });
        assert_eq!(found.map(|_| row.get(usize::from(column)).to_owned()).as_ref(), best, "{filter}");
    }
    forms
}

fn run(options: Options, odd: u64, seed: u64) -> [usize; 2] {
    let engine = Hyper::new(options);
    let table = engine.create_table(schema()).expect("a new table");
    let mut draws = Draws { random: Randomness::from_seed(seed), odd };
    let (mut twin, mut forms) = (Twin::new(), [0; 2]);
    let mut old: Option<(Transaction<&Hyper>, Twin)> = None;
    for _ in 0..60 {
        let mut open = begin(&engine, Mode::ReadWrite);
        let mut changed = twin.clone();
        for _ in 0..draws.below(60) {
            change(&mut open, table, &mut changed, &mut draws);
        }
        let mut reader = begin(&engine, Mode::ReadOnly);
        check(&mut reader, table, &twin, &mut draws);
        check(&mut open, table, &changed, &mut draws);
        if draws.one_in(3) {
            let savepoint = open.savepoints().expect("it has savepoints").savepoint().expect("it is open");
            let before = changed.clone();
            (0..10).for_each(|_| change(&mut open, table, &mut changed, &mut draws));
            open.savepoints().expect("it has savepoints").rollback_to(&savepoint).expect("it is its own");
            changed = before;
        }
        drop(reader);
        if draws.one_in(4) {
            open.abort();
        } else {
            open.commit().expect("nobody in the way");
            twin = changed;
        }
        match &mut old {
            Some((reader, of_reader)) => {
                check(reader, table, of_reader, &mut draws);
            }
            None => old = Some((begin(&engine, Mode::ReadOnly), twin.clone())),
        }
        if draws.one_in(8) {
            old = None;
            engine.collect();
        }
        let [decimals, codes] = check(&mut begin(&engine, Mode::ReadOnly), table, &twin, &mut draws);
        forms = [forms[0] + decimals, forms[1] + codes];
    }
    forms
}

#[test]
fn nobody_sees_how_a_column_is_held() {
    let with = |block_rows, by_row| Options { block_rows, by_row, ..Options::default() };
    for seed in 0..2 {
        // Forms come and go, or stay for long.
        for (block_rows, odd) in [(4, 10), (16, 100), (64, 30), (64, 1000), (1024, 5000)] {
            let [decimals, codes] = run(with(block_rows, false), odd, seed);
            let has_both = decimals > 0 && codes > 0 || odd == 30;
            assert!(has_both, "{decimals} and {codes} batches in blocks of {block_rows}, seed {seed}");
        }
        let whole = Options { whole_versions: true, has_synopses: false, ..with(16, false) };
        assert!(run(whole, 200, seed)[0] > 0, "seed {seed}");
        assert_eq!(run(with(64, true), 30, seed), [0, 0], "whole rows have no columns, seed {seed}");
    }
}

/// A column of prices and flags takes as many bytes as their digits and numbers, until a value comes that has another form.
#[test]
fn short_forms_take_little_memory_and_go_when_they_must() {
    let engine = Hyper::new(Options::default());
    let table = engine.create_table(schema()).expect("a new table");
    let mut open = begin(&engine, Mode::ReadWrite);
    for id in 0..2048 {
        let price = Decimal::new(id % 10_000, 2).stored().to_vec().into();
        let row = [Value::Int(id), price, ["N", "O"][id as usize % 2].into(), "note".into()];
        open.insert(table, &key(id), row_of(&row).row()).expect("a new key");
    }
    open.commit().expect("nobody in the way");
    engine.collect();
    let short = engine.stats().bytes;
    assert!(short / 2048 < 48, "{short} bytes: 16 of a slot, 2 + 2 + 1 + 1 of columns, and bits");
    let mut open = begin(&engine, Mode::ReadWrite);
    for id in [0, 1100] {
        let delta = Delta::new().set(1, Value::Bytes(vec![0])).set(2, "x".repeat(1000));
        assert!(open.update(table, &key(id), &delta).expect("nobody in the way"));
    }
    open.commit().expect("nobody in the way");
    engine.collect();
    let plain = engine.stats().bytes;
    assert!(plain > short + 2048 * 16, "{plain} after {short}: both blocks hold byte strings and texts");
    let mut reader = begin(&engine, Mode::ReadOnly);
    let (rows, forms) = by_column(&mut reader, Scan::table(table).columns(Columns::All));
    assert_eq!((rows.len(), forms), (2048, [0, 0]));
    assert_eq!(rows[&1100][1], Value::Bytes(vec![0]));
    assert_eq!(rows[&1101][2], "O".into());
}

/// A directory has values: after a restart from a checkpoint and from the log, columns have their short forms again.
#[test]
fn a_restart_finds_every_value() {
    for has_checkpoint in [false, true] {
        let disk = SimDisk::new(3, SimDiskOptions::default());
        let options = Options { block_rows: 16, ..Options::default() };
        let open = || Hyper::open(Arc::new(disk.clone()), options.clone()).expect("a healthy disk");
        let engine = open();
        let table = engine.create_table(schema()).expect("a new table");
        let mut draws = Draws { random: Randomness::from_seed(9), odd: 100 };
        let mut twin = Twin::new();
        let mut writer = begin(&engine, Mode::ReadWrite);
        (0..600).for_each(|_| change(&mut writer, table, &mut twin, &mut draws));
        let committed = writer.commit().expect("nobody in the way");
        engine.wait_durable(committed.log_position).expect("a healthy disk");
        if has_checkpoint {
            engine.write_checkpoint(Pace::Full).expect("a healthy disk");
        }
        engine.close().expect("a healthy disk");
        drop(engine);
        let engine = open();
        let table = engine.table_named("items").expect("it was there before");
        let [decimals, codes] = check(&mut begin(&engine, Mode::ReadOnly), table, &twin, &mut draws);
        assert!(decimals > 0 && codes > 0, "{decimals} and {codes} batches, checkpoint: {has_checkpoint}");
    }
}

/// Whoever waits for the record of a load leaves rows without versions behind: scans of them look into no chain.
#[test]
fn a_load_is_collected_once_it_is_durable() {
    let disk = SimDisk::new(4, SimDiskOptions::default());
    let engine = Hyper::open(Arc::new(disk), Options::default()).expect("a healthy disk");
    let table = engine.create_table(schema()).expect("a new table");
    let mut open = begin(&engine, Mode::ReadWrite);
    let mut draws = Draws { random: Randomness::from_seed(1), odd: 100 };
    for id in 0..2000 {
        let row = draws.row(id);
        open.insert(table, &key(id), row_of(&row).row()).expect("a new key");
    }
    let reader = begin(&engine, Mode::ReadOnly);
    let committed = open.commit().expect("nobody in the way");
    drop(reader);
    engine.wait_durable(committed.log_position).expect("a healthy disk");
    let stats = engine.stats();
    assert_eq!((stats.versioned, stats.garbage), (0, 0));
}
