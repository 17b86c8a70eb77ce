//! Parallel reads of one transaction: they see what it sees, protect what they read, and pass their results to it.

mod support;

use env::{SimClock, SimDisk, SimDiskOptions};
use model::{
    Access, Begin, Columns, Durability, Finish, Interactive, Item, Key, Mode, ReadView, RowBuf, Scan, SharedReads,
};
use seriatim_mvto::{Mvto, Options};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use support::{
    all, begin, begin_as, impatient, integer, now, put, read_during_a_commit, registers, rule, set, with_registers,
};

fn look(view: &impl ReadView, table: model::TableId, key: u64) -> model::Result<Option<u64>> {
    let mut row = RowBuf::new();
    let found = view.read(table, &Key::from_u64(key), Columns::All, &mut row)?;
    Ok(found.then(|| integer(row.bytes())))
}

fn sum(view: &impl ReadView, table: model::TableId) -> u64 {
    let mut sum = 0;
    let mut add = |item: Item<'_>| {
        sum += integer(item.row.bytes());
        ControlFlow::Continue(())
    };
    view.scan(&Scan::table(table), &mut add).expect("nobody in the way");
    sum
}

#[test]
fn threads_share_what_one_transaction_sees() {
    let rows: Vec<(u64, u64)> = (0..200).map(|key| (key, 1)).collect();
    let (engine, _, table) = with_registers(impatient(), &rows);
    let mut open = begin(&engine);
    put(&mut open, table, 7, 11).expect("buffered");
    put(&mut open, table, 500, 5).expect("buffered");
    set(&engine, table, 8, 1_000); // Later, so not seen.
    let view = open.read_view().expect("open");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                assert_eq!(sum(&view, table), 199 + 11 + 5);
                assert_eq!(look(&view, table, 500).expect("nobody in the way"), Some(5));
                assert_eq!(look(&view, table, 501).expect("nobody in the way"), None);
            });
        }
    });
    drop(view);
    put(&mut open, table, 501, 1).expect("it writes again");
    open.commit().expect("nobody in the way");
}

/// A view's reads forbid older writes as its transaction's own would.
#[test]
fn what_a_view_reads_is_protected() {
    let (engine, _, table) = with_registers(impatient(), &[(1, 1)]);
    let (mut row, mut gap, mut reader) = (begin(&engine), begin(&engine), begin(&engine));
    let view = reader.read_view().expect("open");
    assert_eq!(sum(&view, table), 1);
    drop(view);
    put(&mut row, table, 1, 2).expect("buffered");
    assert_eq!(rule(row.commit()), "later-reader");
    put(&mut gap, table, 2, 2).expect("buffered");
    assert_eq!(rule(gap.commit()), "later-gap-reader");
    reader.commit().expect("read-only transactions always commit");
}

/// An abort that a view meets is its transaction's.
#[test]
fn an_abort_in_a_view_poisons_the_transaction() {
    let engine = read_during_a_commit(impatient(), |engine, table| {
        let mut reader = engine.begin(Begin::default()).expect("begin only notes down");
        let view = reader.read_view().expect("open");
        assert_eq!(rule(look(&view, table, 1)), "wait-limit");
        assert_eq!(rule(look(&view, table, 2)), "wait-limit", "an aborted transaction answers only that");
        drop(view);
        assert_eq!(rule(all(&mut reader, table)), "wait-limit");
        assert_eq!(rule(reader.commit()), "wait-limit");
        engine.clone()
    });
    assert_eq!(engine.stats().aborts, [("wait-limit", 1)]);
}

/// Reads made only by a view are refreshed, too, when their transaction is pushed (M10).
#[test]
fn what_a_view_reads_must_not_have_changed_where_its_transaction_moves() {
    for changed in [None, Some(1), Some(2), Some(9)] {
        let (engine, _, table) = with_registers(impatient(), &[(1, 1), (2, 2), (3, 3)]);
        let mut owner = begin_as(&engine, Mode::OwnAtStatement);
        let view = owner.read_view().expect("open");
        assert_eq!(look(&view, table, 9).expect("nobody in the way"), None);
        assert_eq!(sum(&view, table), 6);
        drop(view);
        put(&mut owner, table, 3, 4).expect("nobody in the way");
        if let Some(key) = changed {
            set(&engine, table, key, 5);
        }
        assert_eq!(now(&engine, table, 3), Some(3));
        match changed {
            None => drop(owner.commit().expect("it moves")),
            Some(_) => assert_eq!(rule(owner.commit()), "refresh-failed"),
        }
    }
}

/// The acknowledgement waits for what only a view has read (M9).
#[test]
fn what_a_view_reads_must_be_durable_too() {
    let log = wal::LogOptions { driver: wal::Driver::Caller, ..Default::default() };
    let disk = Arc::new(SimDisk::new(1, SimDiskOptions::default()));
    let options = Options { log, ..impatient() };
    let engine = Mvto::open_with(disk, options, SimClock::new(0, 1)).expect("a new directory");
    let table = engine.create_table(registers("registers", model::Storage::Ordered)).expect("a new table");
    let how = Begin { durability: Some(Durability::None), ..Begin::default() };
    let mut writer = engine.begin(how).expect("begin only notes down");
    writer.put(table, &Key::from_u64(1), RowBuf::from_bytes(&1u64.to_be_bytes()).row()).expect("buffered");
    writer.commit().expect("nobody in the way");
    let mut reader = engine.begin(Begin::default()).expect("begin only notes down");
    let view = reader.read_view().expect("open");
    assert_eq!(look(&view, table, 1).expect("nobody in the way"), Some(1));
    drop(view);
    assert!(reader.commit().expect("it always commits").log_position > model::LogPosition::ZERO);
}
