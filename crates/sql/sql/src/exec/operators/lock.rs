//! FOR UPDATE: owns the rows whose keys are in some columns before it returns them.

use super::super::scope::Run;
use super::Node;
use crate::context::Exec;
use crate::error::{Result, SqlError, state};
use crate::plan::{Plan, RowLock, WhenHeld};
use crate::types::{Datum, Row};
use model::{Columns, RowBuf, TableId, Timestamp};
use std::sync::Arc;
use std::time::Duration;

/// Maximum time for which another transaction's commit holds a row that is read. NOWAIT fails only for rows that are held
/// longer.
const COMMIT: Duration = Duration::from_millis(20);

/// State of the operator.
pub struct LockState {
    input: Node,
    /// SKIP LOCKED, once it has begun.
    skipping: Option<Skipping>,
}

/// Where SKIP LOCKED looks for rows, and the engine's tables in which it does.
#[derive(Clone)]
struct Skipping {
    since: Timestamp,
    tables: Arc<[TableId]>,
}

impl LockState {
    pub fn new(input: Node) -> LockState {
        LockState { input, skipping: None }
    }

    /// Takes ownership of the rows of the next row of the input. Outer joins leave keys NULL.
    pub fn next(&mut self, input: &Plan, locks: &[RowLock], run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        if locks.iter().all(|lock| lock.when_held != WhenHeld::Skip) {
            run.exec.transaction.set_reads_wait(true);
            let Some(row) = self.look(input, locks, run)? else { return Ok(None) };
            own_all(run.exec, locks, &row)?;
            return Ok(Some(row));
        }
        run.exec.transaction.set_reads_wait(false);
        let skipping = match &self.skipping {
            Some(skipping) => skipping.clone(),
            None => self.skipping.insert(Skipping::begin(locks, run.exec)?).clone(),
        };
        loop {
            run.tick()?;
            let found = skipping.around(run, |run| match self.look(input, locks, run)? {
                Some(row) => Ok(Some((own_all(run.exec, locks, &row)?, row))),
                None => Ok(None),
            })?;
            match found {
                Some((false, _)) => {}
                Some((true, row)) => return Ok(Some(row)),
                None => return Ok(None),
            }
        }
    }

    fn look(&mut self, input: &Plan, locks: &[RowLock], run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        match locks.iter().find(|lock| lock.when_held == WhenHeld::Fail) {
            Some(lock) => run.exec.waiting_at_most(
                COMMIT,
                || not_available(lock),
                |exec| self.input.next(input, &mut Run { exec, scope: run.scope }),
            ),
            None => self.input.next(input, run),
        }
    }
}

impl Skipping {
    fn begin(locks: &[RowLock], exec: &mut Exec<'_>) -> Result<Skipping> {
        let skips = exec.transaction.skips_locked();
        let since = skips.ok_or_else(|| SqlError::unsupported("SKIP LOCKED by this engine"))?.begin_skipping()?;
        let skipped = locks.iter().filter(|lock| lock.when_held == WhenHeld::Skip).map(|lock| &lock.table);
        let storages = skipped.flat_map(|table| {
            let indexes = table.indexes.iter().filter_map(|index| index.storage.as_ref());
            indexes.chain([&table.storage]).map(|storage| storage.id())
        });
        Ok(Skipping { since, tables: storages.collect() })
    }

    /// Runs what looks for rows, and takes them.
    fn around<T>(&self, run: &mut Run<'_, '_>, work: impl FnOnce(&mut Run<'_, '_>) -> Result<T>) -> Result<T> {
        if let Some(transaction) = run.exec.transaction.skips_locked() {
            transaction.skip(self.since, self.tables.clone());
        }
        let done = work(run);
        if let Some(transaction) = run.exec.transaction.skips_locked() {
            transaction.stop_skipping();
        }
        done
    }
}

/// `false` if a row that is to be passed over is another transaction's.
fn own_all(exec: &mut Exec<'_>, locks: &[RowLock], row: &Row) -> Result<bool> {
    for lock in locks {
        let owned = match row.get(lock.key) {
            Some(Datum::Bytea(key)) => own(exec, lock, key)?,
            Some(Datum::Null) => true,
            _ => return Err(SqlError::new(state::INTERNAL_ERROR, "a row to be locked comes without its key")),
        };
        if !owned {
            return Ok(false);
        }
    }
    Ok(true)
}

fn own(exec: &mut Exec<'_>, lock: &RowLock, key: &[u8]) -> Result<bool> {
    let read = |exec: &mut Exec<'_>| {
        Ok(exec.transaction.read_for_update(lock.table.storage.id(), key, Columns::All, &mut RowBuf::new())?)
    };
    if lock.when_held == WhenHeld::Wait {
        return read(exec).map(|_| true);
    }
    let owned = exec.waiting_at_most(Duration::ZERO, || not_available(lock), read);
    match (lock.when_held, owned) {
        (WhenHeld::Skip, Err(error)) if error.code() == state::LOCK_NOT_AVAILABLE => Ok(false),
        (WhenHeld::Skip, found) => found,
        (_, found) => found.map(|_| true),
    }
}

fn not_available(lock: &RowLock) -> SqlError {
    let message = format!("could not obtain lock on row in relation \"{}\"", lock.table.name);
    SqlError::new(state::LOCK_NOT_AVAILABLE, message).table(&*lock.table.schema, &*lock.table.name)
}
