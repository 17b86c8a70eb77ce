//! Random statements, and what an [`Access`] answers to them as text.

use super::{account, account_key};
use model::{
    Access, Columns, Comparison, Delta, Direction, IndexId, Key, Predicate, RowBuf, Scan, TableId, Value, ValueRef,
};
use proptest::prelude::*;
use std::fmt::Write;
use std::ops::{Bound, ControlFlow};

/// One statement of a random program over a table of accounts.
#[derive(Clone, Debug)]
pub enum Statement {
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
pub enum Edge {
    Open,
    Included(i64),
    Excluded(i64),
}

pub fn statement() -> impl Strategy<Value = Statement> {
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
pub fn answer(access: &mut impl Access, table: TableId, statement: &Statement) -> String {
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

impl Statement {
    /// Whether it can stand in a read-only transaction.
    pub fn only_reads(&self) -> bool {
        matches!(self, Statement::Read(..) | Statement::ReadForUpdate(_) | Statement::Scan { .. })
    }
}
