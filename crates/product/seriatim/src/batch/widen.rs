//! Further columns of a table: its rows are copied into a wider engine table when the database is opened.
//!
//! An interrupted copy is made again from its beginning; it only puts rows. The narrow table is dropped when all of them are there.

use bohm::Bohm;
use model::{Access, Begin, Item, Key, Program, ReadView, Reexecutable, Result, RowBuf, Scan, TableId, Value};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// Rows of one transaction of the copy.
const TOGETHER: usize = 1024;
/// Bytes of keys and rows of one, about.
const BYTES: usize = 256 << 10;

/// Copies all rows, each with `values` behind its own. Nobody else writes.
pub(crate) fn widen(engine: &Arc<Bohm>, from: TableId, to: TableId, values: &[Value]) -> Result<()> {
    let mut lower = Bound::Unbounded;
    loop {
        engine.settle();
        let mut copy = Copied { to, rows: wider_rows(engine, from, &lower, values)? };
        let Some((last, _)) = copy.rows.last() else { return Ok(()) };
        lower = Bound::Excluded(last.clone());
        engine.execute(&mut copy, Begin::default(), &mut |_: u32, _: &model::Error| false)?;
    }
}

/// The next rows of the copy.
fn wider_rows(engine: &Arc<Bohm>, from: TableId, lower: &Bound<Key>, values: &[Value]) -> Result<Vec<(Key, RowBuf)>> {
    let (mut rows, mut bytes) = (Vec::new(), 0);
    let scan = Scan::table(from).between(lower.clone(), Bound::Unbounded);
    engine.snapshot()?.scan(&scan, &mut |item: Item<'_>| {
        let mut row = RowBuf::new();
        let own = (0..item.row.width()).map(|at| item.row.get(at));
        row.set_values(own.chain(values.iter().map(Value::as_ref)));
        bytes += item.key.len() + row.bytes().len();
        rows.push((Key::from_bytes(item.key), row));
        if rows.len() >= TOGETHER || bytes >= BYTES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(rows)
}

/// Puts rows.
struct Copied {
    to: TableId,
    rows: Vec<(Key, RowBuf)>,
}

impl Program for Copied {
    type Output = ();
    type Error = model::Error;

    fn run<A: Access + ?Sized>(&mut self, access: &mut A) -> Result<()> {
        self.rows.iter().try_for_each(|(key, row)| access.put(self.to, key, row.row()))
    }
}
