//! A copy of a table's rows with further columns, and how it catches up with the original.
//!
//! A pass goes through the keys of both and makes the copy's rows what they have to be, so it may be repeated, in any number of
//! transactions. After a pass in many transactions one that takes a single transaction has only to write what changed meanwhile,
//! and what that transaction sees is the same at its end.

use crate::batches::{Batch, Batches};
use model::{Access, Key, Result, RowBuf, RowRef, Scan, Store, TableId, ValueRef};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

/// The copy.
#[derive(Debug)]
pub(crate) struct WiderCopy<'d> {
    /// The table that is copied.
    pub from: TableId,
    /// The copy, which is not visible yet.
    pub to: TableId,
    /// Columns of the copy.
    pub width: usize,
    /// Values of the columns that come, the last ones.
    pub values: Vec<ValueRef<'d>>,
}

impl WiderCopy<'_> {
    /// A pass in which each batch of rows is a transaction.
    pub fn in_batches(&self, engine: &dyn Store) -> Result<()> {
        Batches::of(self.from).transact_each(engine, |access, batch| {
            // A row that is gone from between two rows of the batch goes; those beyond it wait for the next pass.
            let last = batch.last().map_or(Bound::Unbounded, |(key, _)| Bound::Included(key.clone()));
            let first = batch.first().map_or(Bound::Unbounded, |(key, _)| Bound::Included(key.clone()));
            self.bring_up_to_date(access, batch, (first, last))
        })
    }

    /// A pass within one transaction.
    pub fn whole<A: Access + ?Sized>(&self, access: &mut A) -> Result<()> {
        let (mut batches, mut lower) = (Batches::of(self.from), Bound::Unbounded);
        while let Some(batch) = batches.next(access)? {
            let Some(last) = batch.last().map(|(key, _)| key.clone()) else { break };
            self.bring_up_to_date(access, &batch, (lower, Bound::Included(last.clone())))?;
            lower = Bound::Excluded(last);
        }
        self.bring_up_to_date(access, &Batch::new(), (lower, Bound::Unbounded))
    }

    /// Makes the copy's rows in a range of keys what the original's rows there, `batch`, say.
    fn bring_up_to_date<A: Access + ?Sized>(
        &self,
        access: &mut A,
        batch: &Batch,
        (lower, upper): (Bound<Key>, Bound<Key>),
    ) -> Result<()> {
        let mut stale = BTreeMap::new();
        access.scan(&Scan::table(self.to).between(lower, upper), &mut |item| {
            stale.insert(Key::from_bytes(item.key), item.row.bytes().to_vec());
            ControlFlow::Continue(())
        })?;
        let mut row = RowBuf::new();
        for (key, narrow) in batch {
            self.widen(RowRef::new(narrow), &mut row);
            if stale.remove(key).is_none_or(|copied| copied != row.bytes()) {
                access.put(self.to, key, row.row())?;
            }
        }
        stale.keys().try_for_each(|key| access.delete(self.to, key).map(drop))
    }

    fn widen(&self, narrow: RowRef<'_>, row: &mut RowBuf) {
        let value = |at| if at < narrow.width() { narrow.get(at) } else { ValueRef::Null };
        let before = (0..self.width - self.values.len()).map(value);
        row.set_values(before.chain(self.values.iter().copied()));
    }
}
