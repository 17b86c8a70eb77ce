//! One version of each row and one transaction at a time, beside the naive twin.

use conformance::seeds;
use env::Randomness;
use model::twin::Twin;
use model::{
    Access, Begin, ColumnType, Delta, Error, Finish, Interactive, Item, Key, LimitKind, Mode, RowBuf, Scan, Schema,
    TableId, ValueRef,
};
use seriatim_hyper::{Hyper, Options, Transaction};
use std::ops::ControlFlow;

const KEYS: u64 = 12;

fn schema() -> Schema {
    let schema = Schema::table("t").column("id", ColumnType::Int).column("x", ColumnType::Int);
    schema.nullable("name", ColumnType::Text).key(["id"]).build().expect("a schema")
}

fn key(id: u64) -> Key {
    let mut key = Key::new();
    key.push_i64(id as i64);
    key
}

fn row(random: &mut Randomness, id: u64) -> RowBuf {
    let name = "n".repeat(random.in_range(0..40) as usize);
    let name = if random.chance(1, 4) { ValueRef::Null } else { ValueRef::Text(&name) };
    RowBuf::from_values(&[ValueRef::Int(id as i64), ValueRef::Int(1 << random.in_range(0..60)), name])
}

fn reading() -> Begin {
    Begin { mode: Mode::ReadOnly, ..Begin::default() }
}

fn rows(access: &mut impl Access, table: TableId) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    let mut show = |item: Item<'_>| {
        all.push((item.key.to_vec(), item.row.bytes().to_vec()));
        ControlFlow::Continue(())
    };
    access.scan(&Scan::table(table), &mut show).expect("reads do not fail");
    all
}

/// A random write, by both. Whether they found the same is compared.
fn write(random: &mut Randomness, (open, twin): (&mut Transaction<&Hyper>, &mut Twin), table: TableId) {
    let id = random.in_range(0..KEYS);
    match random.in_range(0..4) {
        0 => {
            let row = row(random, id);
            let (here, there) = (open.insert(table, &key(id), row.row()), twin.insert(table, &key(id), row.row()));
            assert_eq!(here.is_ok(), there.is_ok());
        }
        1 => {
            let row = row(random, id);
            open.put(table, &key(id), row.row()).expect("alone");
            twin.put(table, &key(id), row.row()).expect("it never fails");
        }
        2 => {
            let delta = Delta::new().set(1, random.in_range(0..9) as i64);
            let found = open.update(table, &key(id), &delta).expect("alone");
            assert_eq!(found, twin.update(table, &key(id), &delta).expect("it never fails"));
        }
        _ => {
            let found = open.delete(table, &key(id)).expect("alone");
            assert_eq!(found, twin.delete(table, &key(id)).expect("it never fails"));
        }
    }
}

/// Each transaction writes few rows several times, and half of them go back.
#[test]
fn transactions_do_what_the_twin_does() {
    let seed = seeds::fresh();
    let replay = seeds::replay(seed);
    let mut random = Randomness::from_seed(seed);
    for (by_row, claims) in [(false, true), (true, false)] {
        let options = Options { single_version: true, by_row, claims, block_rows: 4, ..Options::default() };
        let engine = Hyper::new(options);
        let (mut twin, table) = (Twin::new(), engine.create_table(schema()).expect("a new table"));
        assert_eq!(twin.create_table(schema()), table);
        let mut last = None;
        for _ in 0..400 {
            let mut open = engine.begin(Begin::default()).expect("nobody else is open");
            for _ in 0..random.in_range(0..10) {
                write(&mut random, (&mut open, &mut twin), table);
                assert_eq!(rows(&mut open, table), rows(&mut twin, table), "{replay}");
            }
            if random.chance(1, 2) {
                open.abort();
                twin.abort();
            } else {
                let at = open.commit().expect("alone").serial_point;
                assert!(!claims || at > last, "serial points rise: {at:?} after {last:?}");
                (last, _) = (at, twin.commit());
            }
            let mut reader = engine.begin(reading()).expect("nobody else is open");
            let left = rows(&mut reader, table);
            assert_eq!(left, rows(&mut twin, table), "{replay}");
            drop(reader);
            let stats = engine.stats();
            assert_eq!((stats.rows as usize, stats.versioned, stats.garbage), (left.len(), 0, 0), "{replay}");
        }
    }
}

/// It is one transaction at a time, whatever it does.
#[test]
fn a_second_transaction_is_refused() {
    let engine = Hyper::new(Options { single_version: true, ..Options::default() });
    let table = engine.create_table(schema()).expect("a new table");
    let mut open = engine.begin(Begin::default()).expect("nobody else is open");
    open.put(table, &key(1), row(&mut Randomness::from_seed(1), 1).row()).expect("alone");
    assert!(open.savepoints().is_none(), "nothing goes back by halves");
    let mut read = RowBuf::new();
    let second = engine.begin(reading()).map(drop);
    let got = engine.get(table, &key(1), model::Columns::All, &mut read).map(drop);
    for refused in [second, got] {
        assert!(matches!(refused, Err(Error::Limit(limit)) if limit.kind == LimitKind::Transactions), "{refused:?}");
    }
    open.commit().expect("alone");
    assert!(engine.get(table, &key(1), model::Columns::All, &mut read).expect("nobody else is open").found);
}
