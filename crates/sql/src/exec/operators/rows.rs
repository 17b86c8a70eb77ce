//! Operators that keep next to nothing: VALUES, computed tables, functions in FROM, filters, sets in select lists, locks.

use super::super::scope::Run;
use super::Node;
use crate::catalog::VirtualTable;
use crate::context::{Context, row_bytes};
use crate::error::{Result, SqlError, state};
use crate::functions::Resolved;
use crate::plan::{Expr, Plan, RowLock, SetColumn};
use crate::types::{Datum, Row};
use model::RowBuf;
use std::time::Duration;

/// Rows that were made at once, after the first call.
pub type Made = Option<std::vec::IntoIter<Row>>;

pub fn next_values(at: &mut usize, rows: &[Vec<Expr>], run: &mut Run<'_, '_>) -> Result<Option<Row>> {
    let Some(row) = rows.get(*at) else { return Ok(None) };
    *at += 1;
    run.evaluate_all(row, &[]).map(Some)
}

pub fn next_virtual(made: &mut Made, table: &VirtualTable, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
    let rows = match made {
        Some(rows) => rows,
        None => {
            let rows = (table.rows)(run.context)?;
            count_rows(&rows, run)?;
            made.insert(rows.into_iter())
        }
    };
    Ok(rows.next())
}

pub fn next_of_functions(
    made: &mut Made,
    calls: &[(Resolved, Vec<Expr>)],
    ordinality: bool,
    run: &mut Run<'_, '_>,
) -> Result<Option<Row>> {
    let rows = match made {
        Some(rows) => rows,
        None => {
            let rows = rows_of_functions(calls, ordinality, run)?;
            count_rows(&rows, run)?;
            made.insert(rows.into_iter())
        }
    };
    Ok(rows.next())
}

fn count_rows(rows: &[Row], run: &mut Run<'_, '_>) -> Result<()> {
    run.context.memory.take(rows.iter().map(|row| row_bytes(row)).sum())
}

/// The sets side by side, the shorter ones filled up with NULLs.
fn rows_of_functions(calls: &[(Resolved, Vec<Expr>)], ordinality: bool, run: &mut Run<'_, '_>) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    let mut width = 0;
    for (function, arguments) in calls {
        let arguments = run.evaluate_all(arguments, &[])?;
        let values = run.call_set(function, &arguments)?;
        rows.resize_with(rows.len().max(values.len()), || vec![Datum::Null; width]);
        for (row, value) in rows.iter_mut().zip(values) {
            match value {
                Datum::Record(fields) if function.columns.is_some() => row.extend(fields.iter().cloned()),
                value => row.push(value),
            }
        }
        width += function.columns.as_ref().map_or(1, Vec::len);
        rows.iter_mut().for_each(|row| row.resize(width, Datum::Null));
    }
    if ordinality {
        for (number, row) in (1..).zip(&mut rows) {
            row.push(Datum::Int8(number));
        }
    }
    Ok(rows)
}

pub fn next_passing(node: &mut Node, input: &Plan, condition: &Expr, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
    while let Some(row) = node.next(input, run)? {
        if run.holds(condition, &row)? {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// Owns the rows whose keys stand in these columns, before they are passed on. Outer joins leave keys NULL.
pub fn next_locked(node: &mut Node, input: &Plan, tables: &[RowLock], run: &mut Run<'_, '_>) -> Result<Option<Row>> {
    let hasty = tables.iter().find(|lock| lock.nowait);
    let next = match hasty {
        Some(lock) => run.context.waiting_at_most(
            COMMIT,
            || not_available(lock),
            |context| node.next(input, &mut Run { context, scope: run.scope }),
        ),
        None => node.next(input, run),
    };
    let Some(row) = next? else { return Ok(None) };
    for lock in tables {
        match row.get(lock.key) {
            Some(Datum::Bytea(key)) if lock.nowait => {
                run.context.waiting_at_most(
                    Duration::ZERO,
                    || not_available(lock),
                    |context| own(context, lock, key),
                )?;
            }
            Some(Datum::Bytea(key)) => own(run.context, lock, key)?,
            Some(Datum::Null) => {}
            _ => return Err(SqlError::new(state::INTERNAL_ERROR, "a row to be locked comes without its key")),
        }
    }
    Ok(Some(row))
}

/// The longest that others' commits hold a row that is read: NOWAIT is about rows that are held for longer.
const COMMIT: Duration = Duration::from_millis(20);

fn own(context: &mut Context<'_>, lock: &RowLock, key: &[u8]) -> Result<()> {
    context.transaction.read_for_update(lock.table.storage.id(), key, &mut RowBuf::new())?;
    Ok(())
}

fn not_available(lock: &RowLock) -> SqlError {
    let message = format!("could not obtain lock on row in relation \"{}\"", lock.table.name);
    SqlError::new(state::LOCK_NOT_AVAILABLE, message).table(&*lock.table.schema, &*lock.table.name)
}

/// The state of sets in a select list.
pub struct Sets {
    input: Node,
    /// The columns of the input row at hand.
    columns: Vec<Column>,
    /// The next of its rows.
    at: usize,
    /// How many rows it becomes.
    length: usize,
}

/// One column over the rows of one input row.
enum Column {
    Same(Datum),
    Each(Vec<Datum>),
}

impl Sets {
    pub fn new(input: Node) -> Sets {
        Sets { input, columns: Vec::new(), at: 0, length: 0 }
    }

    pub fn next(&mut self, input: &Plan, columns: &[SetColumn], run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        while self.at == self.length {
            run.tick()?;
            let Some(row) = self.input.next(input, run)? else { return Ok(None) };
            self.expand(columns, &row, run)?;
        }
        let at = self.at;
        self.at += 1;
        let value = |column: &mut Column| match column {
            Column::Same(value) => value.clone(),
            Column::Each(values) => values.get_mut(at).map(std::mem::take).unwrap_or_default(),
        };
        Ok(Some(self.columns.iter_mut().map(value).collect()))
    }

    fn expand(&mut self, columns: &[SetColumn], row: &[Datum], run: &mut Run<'_, '_>) -> Result<()> {
        self.columns.clear();
        (self.at, self.length) = (0, 0);
        for column in columns {
            let made = match column {
                SetColumn::Value(value) => Column::Same(run.evaluate(value, row)?),
                SetColumn::Set(function, arguments) => {
                    let arguments = run.evaluate_all(arguments, row)?;
                    let values = run.call_set(function, &arguments)?;
                    self.length = self.length.max(values.len());
                    Column::Each(values)
                }
            };
            self.columns.push(made);
        }
        Ok(())
    }
}
