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
///
/// Several processes may draw from one sequence: each its own blocks, of which the stored row has the end of the last.
#[derive(Debug)]
pub(crate) struct Counter {
    key: Key,
    /// The number that a sequence without a stored row begins with.
    restart: i64,
    last: i64,
    is_called: bool,
    /// Number of steps of `increment` from `last` that are logged as drawn.
    reserved: i64,
    increment: i64,
    block: i64,
    /// The row that this counter has read or written last. If another one is stored, another process has drawn since.
    stored: Option<Vec<u8>>,
    /// Log position that must be durable before a value is disclosed.
    rests_on: LogPosition,
}

/// A block that was drawn: its first value, the steps after it, the row that says so.
struct Block {
    value: i64,
    steps: i64,
    row: Vec<u8>,
}

impl Counter {
    /// The state that is kept under `key`, or that of a sequence which begins with `restart`.
    pub(crate) fn load(engine: &dyn Store, table: TableId, key: Key, restart: i64) -> Result<Counter> {
        let ((stored, (last, is_called)), rests_on) = transact_unawaited(engine, Mode::ReadOnly, |access| {
            let stored = read(access, table, &key)?;
            let state = decode(stored.as_deref(), restart)?;
            Ok((stored, state))
        })?;
        let (reserved, increment) = (0, 0);
        Ok(Counter { key, restart, last, is_called, reserved, increment, block: FIRST_BLOCK, stored, rests_on })
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
        if self.is_called && self.reserved > 0 && self.increment == definition.increment {
            let value = following((self.last, true), definition)?;
            if self.last.checked_add(self.increment) == Some(value) {
                self.reserved -= 1;
                self.last = value;
                return Ok(value);
            }
        }
        let value = self.reserve(definition, engine, table)?;
        (self.last, self.is_called, self.increment) = (value, true, definition.increment);
        Ok(value)
    }

    /// Logs that the next value and some steps after it are given; returns that value. If another process has drawn since, it is the one
    /// behind that process's block.
    fn reserve<T>(
        &mut self,
        definition: &Sequence<T>,
        engine: &dyn Store,
        table: TableId,
    ) -> std::result::Result<i64, Exhausted> {
        let (drawn, position) = transact_unawaited(engine, Mode::ReadWrite, |access| {
            let stored = read(access, table, &self.key)?;
            let is_own = stored == self.stored;
            let state = if is_own { (self.last, self.is_called) } else { decode(stored.as_deref(), self.restart)? };
            let value = match following(state, definition) {
                Ok(value) => value,
                Err(exhausted) => return Ok(Err(exhausted)),
            };
            let (steps, end) = self.steps(value, definition);
            let row = encode(end, true);
            access.put(table, &self.key, RowRef::new(&row))?;
            Ok(Ok(Block { value, steps, row }))
        })?;
        let Block { value, steps, row } = drawn?;
        self.rests_on = self.rests_on.max(position);
        (self.reserved, self.stored) = (steps, Some(row));
        self.block = (self.block * 2).min(LARGEST_BLOCK);
        Ok(value)
    }

    /// How many steps after a value are in its block, and where they end.
    fn steps<T>(&self, value: i64, definition: &Sequence<T>) -> (i64, i64) {
        let Sequence { min, max, increment, .. } = *definition;
        // In 128 bits: the room may be nearly all of 64, twice.
        let room =
            if increment > 0 { i128::from(max) - i128::from(value) } else { i128::from(value) - i128::from(min) };
        let fits = room.max(0) / i128::from(increment).abs().max(1);
        let steps = i64::try_from(fits.min(i128::from(self.block - 1))).unwrap_or(0);
        let end = increment.checked_mul(steps).and_then(|way| value.checked_add(way)).unwrap_or(value);
        (steps, end)
    }

    /// `setval`
    pub(crate) fn set(&mut self, value: i64, is_called: bool, engine: &dyn Store, table: TableId) -> Result<()> {
        let row = encode(value, is_called);
        let put = |access: &mut dyn Access| access.put(table, &self.key, RowRef::new(&row));
        let ((), position) = transact_unawaited(engine, Mode::ReadWrite, put)?;
        self.rests_on = self.rests_on.max(position);
        self.stored = Some(row);
        (self.last, self.is_called, self.reserved) = (value, is_called, 0);
        Ok(())
    }

    /// The last value, and whether it was given.
    pub(crate) fn state(&self) -> (i64, bool) {
        (self.last, self.is_called)
    }

    /// Returns the rest of the block, if no later one was taken.
    pub(crate) fn give_back<A: Access + ?Sized>(&self, access: &mut A, table: TableId) -> Result<()> {
        if self.reserved > 0 && read(access, table, &self.key)? == self.stored {
            access.put(table, &self.key, RowRef::new(&encode(self.last, self.is_called)))?;
        }
        Ok(())
    }
}

/// The value after the last one.
fn following<T>((last, is_called): (i64, bool), definition: &Sequence<T>) -> std::result::Result<i64, Exhausted> {
    let Sequence { min, max, increment, cycle, .. } = *definition;
    if !is_called {
        return Ok(last);
    }
    let ascends = increment > 0;
    let next = last.checked_add(increment).filter(|next| if ascends { *next <= max } else { *next >= min });
    match next {
        Some(next) => Ok(next),
        None if cycle => Ok(if ascends { min } else { max }),
        None => Err(if ascends { Exhausted::Above(max) } else { Exhausted::Below(min) }),
    }
}

fn read<A: Access + ?Sized>(access: &mut A, table: TableId, key: &Key) -> Result<Option<Vec<u8>>> {
    let mut row = RowBuf::new();
    let found = access.read(table, key, Columns::All, &mut row)?;
    Ok(found.then(|| row.bytes().to_vec()))
}

/// The last value, and whether it was given.
fn decode(stored: Option<&[u8]>, restart: i64) -> Result<(i64, bool)> {
    let Some(row) = stored else { return Ok((restart, false)) };
    let damaged = || Fault::Corruption { detail: "the state of a sequence is damaged".to_owned() };
    let bytes: [u8; ROW] = row.try_into().map_err(|_| damaged())?;
    let (value, is_called) = bytes.split_at(8);
    Ok((i64::from_le_bytes(value.try_into().map_err(|_| damaged())?), is_called != [0]))
}

fn encode(value: i64, is_called: bool) -> Vec<u8> {
    let mut row = value.to_le_bytes().to_vec();
    row.push(u8::from(is_called));
    row
}
