//! The state of one of the users' sequences.

use crate::definition::Sequence;
use crate::sequences::Exhausted;
use crate::transact::transact_unawaited;
use model::{Access, Columns, Fault, Key, LogPosition, Mode, Result, RowBuf, RowRef, Store, TableId};

/// Values in the first block: what PostgreSQL writes ahead.
const FIRST_BLOCK: i64 = 32;
/// Values in the largest block.
const LARGEST_BLOCK: i64 = 1024;
/// The bytes of a stored state: the value, and whether it was given.
const ROW: usize = 9;

/// Where a sequence stands.
#[derive(Debug)]
pub(crate) struct Counter {
    key: Key,
    last: i64,
    is_called: bool,
    /// Number of steps of `increment` from `last` that are logged as drawn.
    reserved: i64,
    increment: i64,
    block: i64,
    /// Log position that must be durable before a value is disclosed.
    rests_on: LogPosition,
}

impl Counter {
    /// The state that is kept under `key`, or that of a sequence which begins with `restart`.
    pub(crate) fn load(engine: &dyn Store, table: TableId, key: Key, restart: i64) -> Result<Counter> {
        let ((last, is_called), rests_on) = transact_unawaited(engine, Mode::ReadOnly, |access| {
            let mut row = RowBuf::new();
            if !access.read(table, &key, Columns::All, &mut row)? {
                return Ok((restart, false));
            }
            let damaged = || Fault::Corruption { detail: "the state of a sequence is damaged".to_owned() };
            let bytes: [u8; ROW] = row.bytes().try_into().map_err(|_| damaged())?;
            let (value, is_called) = bytes.split_at(8);
            Ok((i64::from_le_bytes(value.try_into().map_err(|_| damaged())?), is_called != [0]))
        })?;
        Ok(Counter { key, last, is_called, reserved: 0, increment: 0, block: FIRST_BLOCK, rests_on })
    }

    /// Log position that must be durable before the last value is disclosed.
    pub(crate) fn rests_on(&self) -> LogPosition {
        self.rests_on
    }

    /// The next value, by the definition that the caller's transaction sees.
    pub(crate) fn next<T>(
        &mut self,
        definition: &Sequence<T>,
        engine: &dyn Store,
        table: TableId,
    ) -> std::result::Result<i64, Exhausted> {
        let value = self.following(definition)?;
        let continues = self.is_called && self.reserved > 0 && self.increment == definition.increment;
        if continues && self.last.checked_add(self.increment) == Some(value) {
            self.reserved -= 1;
        } else {
            self.reserved = self.reserve(value, definition, engine, table)?;
            self.increment = definition.increment;
        }
        (self.last, self.is_called) = (value, true);
        Ok(value)
    }

    /// The value after the last one.
    fn following<T>(&self, definition: &Sequence<T>) -> std::result::Result<i64, Exhausted> {
        let Sequence { min, max, increment, cycle, .. } = *definition;
        if !self.is_called {
            return Ok(self.last);
        }
        let ascends = increment > 0;
        let next = self.last.checked_add(increment).filter(|next| if ascends { *next <= max } else { *next >= min });
        match next {
            Some(next) => Ok(next),
            None if cycle => Ok(if ascends { min } else { max }),
            None => Err(if ascends { Exhausted::Above(max) } else { Exhausted::Below(min) }),
        }
    }

    /// Logs that `value` and some steps after it are given; says how many steps.
    fn reserve<T>(&mut self, value: i64, definition: &Sequence<T>, engine: &dyn Store, table: TableId) -> Result<i64> {
        let Sequence { min, max, increment, .. } = *definition;
        // In 128 bits: the room may be nearly all of 64, twice.
        let room =
            if increment > 0 { i128::from(max) - i128::from(value) } else { i128::from(value) - i128::from(min) };
        let fits = room.max(0) / i128::from(increment).abs().max(1);
        let steps = i64::try_from(fits.min(i128::from(self.block - 1))).unwrap_or(0);
        let end = increment.checked_mul(steps).and_then(|way| value.checked_add(way)).unwrap_or(value);
        self.write(end, true, engine, table)?;
        self.block = (self.block * 2).min(LARGEST_BLOCK);
        Ok(steps)
    }

    /// `setval`
    pub(crate) fn set(&mut self, value: i64, is_called: bool, engine: &dyn Store, table: TableId) -> Result<()> {
        self.write(value, is_called, engine, table)?;
        (self.last, self.is_called, self.reserved) = (value, is_called, 0);
        Ok(())
    }

    fn write(&mut self, value: i64, is_called: bool, engine: &dyn Store, table: TableId) -> Result<()> {
        let row = encode(value, is_called);
        let put = |access: &mut dyn Access| access.put(table, &self.key, RowRef::new(&row));
        let ((), position) = transact_unawaited(engine, Mode::ReadWrite, put)?;
        self.rests_on = self.rests_on.max(position);
        Ok(())
    }

    /// The last value, and whether it was given.
    pub(crate) fn state(&self) -> (i64, bool) {
        (self.last, self.is_called)
    }

    /// The record to write so that the rest of the block is not lost; `None` if nothing would be.
    pub(crate) fn exact(&self) -> Option<(Key, Vec<u8>)> {
        (self.reserved > 0).then(|| (self.key.clone(), encode(self.last, self.is_called)))
    }
}

fn encode(value: i64, is_called: bool) -> Vec<u8> {
    let mut row = value.to_le_bytes().to_vec();
    row.push(u8::from(is_called));
    row
}
