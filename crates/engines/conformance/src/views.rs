//! Shared reads of one transaction: several threads see what it sees, by key, in ranges, and in batches of columns.

use crate::fixture::{Knobs, Open, Sessions, begin, with_registers};
use crate::registers::{delete, get, put, state};
use model::columns::{BATCH_ROWS, Batch, Batches, batches};
use model::{
    Access, ColumnType, Columns, Comparison, Error, Finish, Item, Key, Mode, Predicate, ReadView, RowBuf, Scan, Schema,
    TableId, Value, ValueRef,
};
use std::ops::ControlFlow;
use std::thread;

/// Rows of a table that fills several batches.
const ROWS: i64 = 2 * BATCH_ROWS as i64 + 100;

fn view<F: Sessions>(open: &mut Open<F>) -> Box<dyn ReadView + '_> {
    let reads = open.shared_reads().expect("the engine shares reads");
    reads.read_view().expect("nobody in the way")
}

fn read(view: &dyn ReadView, table: TableId, key: u64) -> Option<RowBuf> {
    let mut row = RowBuf::new();
    let found = view.read(table, &Key::from_u64(key), Columns::All, &mut row).expect("nobody in the way");
    found.then_some(row)
}

/// Threads see what the transaction has written and what it stands on, and not what others commit meanwhile.
pub fn threads_see_what_their_transaction_sees<F: Sessions>() {
    let rows: Vec<(u64, u64)> = (0..200).map(|key| (key, 1)).collect();
    let (engine, table) = with_registers::<F>(&Knobs::impatient(), &rows);
    let mut open = begin::<F>(&engine, Mode::ReadWrite);
    put(&mut open, table, 500, 5).expect("nobody in the way");
    assert!(delete(&mut open, table, 7).expect("nobody in the way"));
    let mut later = begin::<F>(&engine, Mode::ReadWrite);
    put(&mut later, table, 300, 3).expect("nobody in the way");
    later.commit().expect("nobody in the way");
    let view = view::<F>(&mut open);
    thread::scope(|scope| {
        let look = || {
            let mut count = 0;
            let mut visit = |_: Item<'_>| {
                count += 1;
                ControlFlow::Continue(())
            };
            view.scan(&Scan::table(table), &mut visit).expect("nobody in the way");
            assert_eq!(count, 200);
            assert_eq!([7, 300, 500].map(|key| read(&*view, table, key).is_some()), [false, false, true]);
        };
        (0..4).for_each(|_| drop(scope.spawn(look)));
    });
    drop(view);
    assert_eq!(get(&mut open, table, 500).expect("nobody in the way"), Some(5), "it goes on");
    // It has scanned what the later one has written since: where the order is that of commits, it gives way.
    let committed = open.commit();
    assert!(committed.as_ref().err().is_none_or(Error::is_retryable), "{committed:?}");
    let state = state::<F>(&engine, table);
    assert_eq!((state.contains(&(500, 5)), state.contains(&(7, 1))), (committed.is_ok(), committed.is_err()));
    assert!(state.contains(&(300, 3)) && state.len() == 201, "{} rows", state.len());
}

fn samples() -> Schema {
    let schema = Schema::table("samples").column("id", ColumnType::Int).nullable("name", ColumnType::Text);
    schema.column("even", ColumnType::Bool).key(["id"]).build().expect("a good schema")
}

fn name(id: i64) -> Value {
    if id % 5 == 0 { Value::Null } else { Value::Text(format!("n{id}")) }
}

fn insert(access: &mut impl Access, table: TableId, id: i64) {
    let name = name(id);
    let row = RowBuf::from_values(&[ValueRef::Int(id), name.as_ref(), ValueRef::Bool(id % 2 == 0)]);
    access.insert(table, &samples().key_of(row.row()), row.row()).expect("a new key");
}

/// Numbers and names of the batches that one thread takes.
fn drain(scan: &dyn Batches) -> Vec<(i64, Value)> {
    let (mut batch, mut rows) = (Batch::default(), Vec::new());
    while scan.next(&mut batch).expect("nobody in the way") {
        assert!((1..=BATCH_ROWS).contains(&batch.len()), "{} rows", batch.len());
        let row =
            |at| (batch.column(1).get(at).as_ref().as_int().expect("an integer"), batch.column(0).get(at).to_owned());
        rows.extend((0..batch.len()).map(row));
    }
    rows
}

/// Batches of chosen columns hold each row of a filtered scan once, own writes included, whichever thread takes them: by column where
/// the engine stores columns, else row by row.
pub fn batches_hold_the_rows_of_a_scan<F: Sessions>() {
    let engine = F::open(&Knobs::impatient());
    let table = F::create_table(&engine, samples()).expect("a new table");
    let mut open = begin::<F>(&engine, Mode::ReadWrite);
    (1..ROWS).for_each(|id| insert(&mut open, table, id));
    open.commit().expect("nobody in the way");
    let mut open = begin::<F>(&engine, Mode::ReadWrite);
    insert(&mut open, table, 0);
    let filter = Predicate::Compare(2, Comparison::Equal, Value::Bool(true));
    let view = view::<F>(&mut open);
    let scan = Scan::table(table).filter(&filter).columns(Columns::Some(&[1, 0]));
    let scan = batches(&*view, &samples(), scan).expect("a typed table");
    let mut rows: Vec<(i64, Value)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| drain(&*scan))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no thread panics")).collect()
    });
    rows.sort_by_key(|(id, _)| *id);
    let expected: Vec<_> = (0..ROWS).filter(|id| id % 2 == 0).map(|id| (id, name(id))).collect();
    assert!(rows == expected, "{} rows of {}", rows.len(), expected.len());
}
