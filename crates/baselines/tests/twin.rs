//! On random programs the engine answers what the naive twin answers, statement by statement, and ends with its rows.

mod common;

use common::{account, account_key, accounts};
use model::twin::Twin;
use model::{
    Access, Begin, Columns, Comparison, Delta, Direction, Finish, IndexId, Interactive, Key, Predicate, RowBuf, Scan,
    Storage, TableId, Value, ValueRef,
};
use proptest::prelude::*;
use seriatim_baselines::twopl::{Options, TwoPhaseLocking};
use std::fmt::Write;
use std::ops::{Bound, ControlFlow};

#[derive(Clone, Debug)]
enum Statement {
    Read(i64, Vec<u16>),
    ReadForUpdate(i64),
    Put(i64, Option<String>, i64),
    Insert(i64, Option<String>, i64),
    Rename(i64, Option<String>),
    Add(i64, i64),
    Move(i64, i64),
    Delete(i64),
    Scan { index: Option<u16>, bounds: (Edge, Edge), backward: bool, filter: Option<i64>, columns: u8, stop: usize },
    Commit,
    Abort,
}

/// A bound of a scan, by a small integer in the key's or the entry's first column.
#[derive(Clone, Debug)]
enum Edge {
    Open,
    Included(i64),
    Excluded(i64),
}

fn statement() -> impl Strategy<Value = Statement> {
    let id = || 0i64..8;
    let name = || proptest::option::weighted(0.7, "[ab]{0,2}");
    let amount = || prop_oneof![8 => 0i64..6, 1 => Just(i64::MAX)];
    let edge = || prop_oneof![Just(Edge::Open), (0i64..8).prop_map(Edge::Included), (0i64..8).prop_map(Edge::Excluded)];
    let scan = (
        proptest::option::of(0u16..3),
        (edge(), edge()),
        any::<bool>(),
        proptest::option::of(0i64..6),
        0u8..4,
        prop_oneof![Just(usize::MAX), 0usize..4],
    );
    prop_oneof![
        4 => (id(), proptest::collection::vec(0u16..4, 0..4)).prop_map(|(id, columns)| Statement::Read(id, columns)),
        1 => id().prop_map(Statement::ReadForUpdate),
        4 => (id(), name(), amount()).prop_map(|(id, name, amount)| Statement::Put(id, name, amount)),
        4 => (id(), name(), amount()).prop_map(|(id, name, amount)| Statement::Insert(id, name, amount)),
        2 => (id(), name()).prop_map(|(id, name)| Statement::Rename(id, name)),
        2 => (id(), 1i64..4).prop_map(|(id, amount)| Statement::Add(id, amount)),
        1 => (id(), id()).prop_map(|(id, to)| Statement::Move(id, to)),
        3 => id().prop_map(Statement::Delete),
        6 => scan.prop_map(|(index, bounds, backward, filter, columns, stop)| {
            Statement::Scan { index, bounds, backward, filter, columns, stop }
        }),
        2 => Just(Statement::Commit),
        1 => Just(Statement::Abort),
    ]
}

/// What the statement answers, as text: results, rows, errors and all.
fn answer(access: &mut impl Access, table: TableId, statement: &Statement) -> String {
    let mut row = RowBuf::new();
    match statement {
        Statement::Read(id, columns) => {
            let columns = Columns::Some(columns);
            let found = access.read(table, &account_key(*id), columns, &mut row);
            format!("{found:?} {row:?}")
        }
        Statement::ReadForUpdate(id) => {
            let found = access.read_for_update(table, &account_key(*id), &mut row);
            format!("{found:?} {row:?}")
        }
        Statement::Put(id, name, amount) => {
            let row = account(*id, name.as_deref(), *amount);
            format!("{:?}", access.put(table, &account_key(*id), row.row()))
        }
        Statement::Insert(id, name, amount) => {
            let row = account(*id, name.as_deref(), *amount);
            format!("{:?}", access.insert(table, &account_key(*id), row.row()))
        }
        Statement::Rename(id, name) => {
            let name = name.clone().map_or(Value::Null, Value::Text);
            format!("{:?}", access.update(table, &account_key(*id), &Delta::new().set(1, name)))
        }
        Statement::Add(id, amount) => {
            format!("{:?}", access.update(table, &account_key(*id), &Delta::new().add(2, *amount)))
        }
        Statement::Move(id, to) => {
            format!("{:?}", access.update(table, &account_key(*id), &Delta::new().set(0, *to).add(2, 1)))
        }
        Statement::Delete(id) => format!("{:?}", access.delete(table, &account_key(*id))),
        Statement::Scan { .. } => scan_in_pieces(access, table, statement),
        Statement::Commit | Statement::Abort => unreachable!("not a statement of Access"),
    }
}

/// Scans, stopping after each few rows and resuming where it stopped.
fn scan_in_pieces(access: &mut impl Access, table: TableId, statement: &Statement) -> String {
    let Statement::Scan { index, bounds, backward, filter, columns, stop } = statement else { unreachable!() };
    let edge = |edge: &Edge| {
        let key = |at: i64| match index {
            Some(0) => {
                let mut key = Key::new();
                key.push_value(ValueRef::Text(["", "a", "aa", "b"][at as usize % 4]), true);
                key
            }
            _ => account_key(at),
        };
        match edge {
            Edge::Open => Bound::Unbounded,
            Edge::Included(at) => Bound::Included(key(*at)),
            Edge::Excluded(at) => Bound::Excluded(key(*at)),
        }
    };
    let predicate = filter.map(|least| Predicate::Compare(2, Comparison::GreaterOrEqual, Value::Int(least)));
    let mut scan = Scan::table(table).between(edge(&bounds.0), edge(&bounds.1));
    scan.index = index.map(IndexId);
    scan.direction = if *backward { Direction::Backward } else { Direction::Forward };
    scan.filter = predicate.as_ref();
    scan.columns = [Columns::All, Columns::None, Columns::Some(&[2, 0]), Columns::Some(&[3])][usize::from(*columns)];
    let mut text = String::new();
    loop {
        let mut left = *stop;
        let end = access.scan(&scan, &mut |item| {
            write!(text, "{:?} {:?} {:?}; ", item.position, item.key, item.row).expect("a string takes all");
            left = left.saturating_sub(1);
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        writeln!(text, "{end:?}").expect("a string takes all");
        match end {
            Ok(model::ScanEnd::Stopped(position)) => scan = scan.resume(position),
            _ => return text,
        }
    }
}

fn compare(storage: Storage, program: &[Statement]) -> Result<(), TestCaseError> {
    let engine = TwoPhaseLocking::new(Options::default());
    let mut twin = Twin::new();
    let schema = accounts("accounts", storage);
    let table = engine.create_table(schema.clone()).expect("a new table");
    assert_eq!(table, twin.create_table(schema));
    let mut transaction = common::begin(&engine);
    for statement in program {
        match statement {
            Statement::Commit => {
                transaction.commit().expect("nobody else is there");
                twin.commit();
                transaction = common::begin(&engine);
            }
            Statement::Abort => {
                transaction.abort();
                twin.abort();
                transaction = common::begin(&engine);
            }
            statement => {
                let ours = answer(&mut transaction, table, statement);
                prop_assert_eq!(ours, answer(&mut twin, table, statement), "{:?}", statement);
            }
        }
    }
    drop(transaction);
    twin.abort();
    agree_in_the_end(&engine, &mut twin, table)
}

/// The rows are the twin's, by every key; nothing is locked, and no record is left over.
fn agree_in_the_end(engine: &TwoPhaseLocking, twin: &mut Twin, table: TableId) -> Result<(), TestCaseError> {
    let mut last = engine.begin(Begin::default()).expect("room for one");
    for id in 0..8 {
        let read = Statement::Read(id, vec![0, 1, 2]);
        prop_assert_eq!(answer(&mut last, table, &read), answer(twin, table, &read));
    }
    drop(last);
    let rows = twin.rows(table).count() as u64;
    prop_assert_eq!(engine.stats().records, rows * 3, "a row and two entries each");
    prop_assert_eq!(engine.stats().open, 0);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn an_ordered_table_is_its_twin(program in proptest::collection::vec(statement(), 1..60)) {
        compare(Storage::Ordered, &program)?;
    }

    #[test]
    fn a_hash_table_is_its_twin(program in proptest::collection::vec(statement(), 1..60)) {
        compare(Storage::Hash, &program)?;
    }
}
