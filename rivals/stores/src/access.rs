//! An engine of a store: the operations of a transaction body, made of its gets, puts, deletes and scans.

use crate::store::{Body, Intent, Range, Store, Transaction};
use lab::engines::{Engine, OneMutex};
use model::retry::{self, Failure, Retry};
use model::{
    Access, AsDeclared, Begin, Columns, Committed, Delta, Duplicate, Error, Invalid, Item, Key, LogPosition, Mode,
    Program, Reexecutable, Result, RowBuf, RowRef, Scan, ScanEnd, Schema, TableId,
};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// The engine.
pub struct Rival<S>(AsDeclared<Programs<S>>);

/// Its door for programs.
pub struct Programs<S> {
    store: S,
    schemas: Vec<Arc<Schema>>,
}

impl<S: Store> Rival<S> {
    /// A store with a table for each schema, numbered in their order.
    pub fn new(store: S, schemas: Vec<Schema>) -> (Rival<S>, Vec<TableId>) {
        let tables = (0..schemas.len() as u32).map(TableId).collect();
        let schemas = schemas.into_iter().map(Arc::new).collect();
        (Rival(AsDeclared(Programs { store, schemas })), tables)
    }
}

/// A commit that must be durable is, when it returns.
impl<S: Store> Engine for Rival<S> {
    /// There is none: transactions of several stores are bound to their thread. No type stands behind that door.
    type Interactive = OneMutex;
    type Programs = Programs<S>;
    type Declared = AsDeclared<Programs<S>>;

    fn interactive(&self) -> Option<&OneMutex> {
        None
    }

    fn programs(&self) -> &Programs<S> {
        &self.0.0
    }

    fn declared(&self) -> &AsDeclared<Programs<S>> {
        &self.0
    }
}

impl<S: Store> Reexecutable for Programs<S> {
    fn execute<P: Program>(
        &self,
        program: &mut P,
        how: Begin,
        retry: &mut dyn Retry,
    ) -> std::result::Result<(P::Output, Committed), P::Error> {
        let reads_only = matches!(how.mode, Mode::ReadOnly | Mode::Snapshot);
        let done = retry::run(retry, |_| {
            let mut attempt = Attempt { program, schemas: &self.schemas, reads_only, outcome: None };
            self.store.transact(reads_only, &mut attempt)?;
            let output = attempt.outcome.expect("a transaction that was begun runs its body")?;
            Ok((output, Committed { serial_point: None, log_position: LogPosition::ZERO }))
        });
        done.map_err(Failure::into_error)
    }
}

/// How an attempt ended, if it was made.
type Outcome<P> = Option<std::result::Result<<P as Program>::Output, Failure<Error, <P as Program>::Error>>>;

/// One attempt of a program.
struct Attempt<'a, P: Program> {
    program: &'a mut P,
    schemas: &'a [Arc<Schema>],
    reads_only: bool,
    outcome: Outcome<P>,
}

impl<P: Program> Body for Attempt<'_, P> {
    fn run(&mut self, transaction: &mut impl Transaction) -> bool {
        let mut view = View { schemas: self.schemas, reads_only: self.reads_only, transaction, poison: None };
        let outcome = self.program.run(&mut view);
        let outcome = match view.poison {
            Some(error) => Err(error.into()),
            None => outcome.map_err(Failure::Final),
        };
        let commits = outcome.is_ok();
        self.outcome = Some(outcome);
        commits
    }
}

/// What a program sees of a transaction.
struct View<'a, T> {
    schemas: &'a [Arc<Schema>],
    reads_only: bool,
    transaction: &'a mut T,
    /// What the store has failed with: it has given the transaction up, whatever the program makes of that.
    poison: Option<Error>,
}

impl<T: Transaction> View<'_, T> {
    fn schema(&self, table: TableId) -> Result<&Arc<Schema>> {
        let unknown = || Invalid::UnknownTable { table: format!("number {}", table.0) }.into();
        self.schemas.get(table.0 as usize).ok_or_else(unknown)
    }

    /// Does something with the transaction, which ends with the first error.
    fn with<R>(&mut self, operation: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        if let Some(error) = &self.poison {
            return Err(error.clone());
        }
        operation(self.transaction).inspect_err(|error| self.poison = Some(error.clone()))
    }

    fn get(&mut self, table: TableId, key: &[u8], intent: Intent, row: &mut RowBuf) -> Result<bool> {
        self.schema(table)?.check_key(key)?;
        row.clear();
        self.with(|transaction| transaction.get(table.0 as usize, key, intent, row.bytes_mut()))
    }

    fn get_columns(
        &mut self,
        table: TableId,
        key: &[u8],
        intent: Intent,
        columns: Columns<'_>,
        row: &mut RowBuf,
    ) -> Result<bool> {
        self.schema(table)?.check_columns(columns)?;
        let found = self.get(table, key, intent, row)?;
        if found && columns != Columns::All {
            let whole = std::mem::take(row);
            row.project(whole.row(), columns);
        }
        Ok(found)
    }

    fn check_write(&self, table: TableId, key: &[u8]) -> Result<()> {
        if self.reads_only {
            return Err(Invalid::ReadOnly.into());
        }
        Ok(self.schema(table)?.check_key(key)?)
    }
}

impl<T: Transaction> Access for View<'_, T> {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.get_columns(table, key, Intent::Read, columns, row)
    }

    fn read_for_update(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> Result<bool> {
        self.get_columns(table, key, Intent::Write, columns, row)
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.check_write(table, key)?;
        self.schema(table)?.check_row(key, row)?;
        self.with(|transaction| transaction.put(table.0 as usize, key, row.bytes()))
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> Result<()> {
        self.check_write(table, key)?;
        if self.get(table, key, Intent::Write, &mut RowBuf::new())? {
            return Err(Duplicate { table: self.schema(table)?.clone(), key: key.into() }.into());
        }
        self.put(table, key, row)
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> Result<bool> {
        self.check_write(table, key)?;
        let (mut old, mut new) = (RowBuf::new(), RowBuf::new());
        let found = self.get(table, key, Intent::Write, &mut old)?;
        if found {
            self.schema(table)?.change(old.row(), delta, &mut new)?;
            self.put(table, key, new.row())?;
        }
        Ok(found)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        self.check_write(table, key)?;
        let found = self.get(table, key, Intent::Write, &mut RowBuf::new())?;
        if found {
            self.with(|transaction| transaction.delete(table.0 as usize, key))?;
        }
        Ok(found)
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> Result<ScanEnd> {
        self.schema(scan.table)?.check_scan(scan)?;
        let range = Range { lower: bytes(&scan.lower), upper: bytes(&scan.upper), direction: scan.direction };
        if is_empty(range) {
            return Ok(ScanEnd::Finished);
        }
        let (mut end, mut examined, mut shown) = (ScanEnd::Finished, 0, RowBuf::new());
        let most = scan.examine.unwrap_or(usize::MAX);
        self.with(|transaction| {
            transaction.scan(scan.table.0 as usize, range, &mut |key, row| {
                let row = RowRef::new(row);
                examined += 1;
                let mut stops = examined >= most;
                if scan.filter.is_none_or(|filter| filter.matches(row)) {
                    stops |= match scan.columns {
                        Columns::All => visit(Item { key, row }),
                        columns => {
                            shown.project(row, columns);
                            visit(Item { key, row: shown.row() })
                        }
                    }
                    .is_break();
                }
                if stops {
                    end = ScanEnd::Stopped(Key::from_bytes(key));
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            })
        })?;
        Ok(end)
    }
}

fn bytes(bound: &Bound<Key>) -> Bound<&[u8]> {
    bound.as_ref().map(|key| &key[..])
}

/// Returns whether no key can be in the range. Not every store bears bounds that are the wrong way round.
fn is_empty(range: Range<'_>) -> bool {
    match (range.lower, range.upper) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
        (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper)) => {
            lower >= upper
        }
    }
}
