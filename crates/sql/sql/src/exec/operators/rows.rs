//! Operators with little state: VALUES, computed tables, functions in FROM, filters, sets in select lists.

use super::super::evaluate::Values;
use super::super::scope::Run;
use super::Node;
use crate::catalog::VirtualTable;
use crate::context::row_bytes;
use crate::error::Result;
use crate::functions::Resolved;
use crate::plan::{Expr, Plan, SetColumn};
use crate::types::{Datum, Row};

/// Rows that the first call computed all at once.
pub type ComputedRows = Option<std::vec::IntoIter<Row>>;

pub fn next_values(at: &mut usize, rows: &[Vec<Expr>], run: &mut Run<'_, '_>) -> Result<Option<Row>> {
    let Some(row) = rows.get(*at) else { return Ok(None) };
    *at += 1;
    run.evaluate_all(row, &[]).map(Some)
}

pub fn next_virtual(
    made: &mut ComputedRows,
    table: &VirtualTable,
    name: Option<&Expr>,
    run: &mut Run<'_, '_>,
) -> Result<Option<Row>> {
    let rows = match made {
        Some(rows) => rows,
        None => {
            let rows = match (table.by_name, name.map(|name| run.evaluate(name, &[])).transpose()?) {
                (Some(_), Some(Datum::Null)) => Vec::new(),
                (Some(by_name), Some(Datum::Text(name))) => (by_name.rows)(&mut run.exec.system().names(), &name)?,
                _ => table.rows.compute(&mut run.exec.system())?,
            };
            run.hold(rows.iter().map(|row| row_bytes(row)).sum(), "a computed catalog")?;
            made.insert(rows.into_iter())
        }
    };
    Ok(rows.next())
}

/// Functions in FROM, side by side; shorter sets are padded with NULLs.
#[derive(Default)]
pub struct Sides {
    /// The sets with their numbers of columns; `None` before the first row.
    sets: Option<Vec<(Values, usize, bool)>>,
    /// Number of rows so far, for WITH ORDINALITY.
    number: i64,
}

impl Sides {
    pub fn next(
        &mut self,
        calls: &[(Resolved, Vec<Expr>)],
        ordinality: bool,
        run: &mut Run<'_, '_>,
    ) -> Result<Option<Row>> {
        let sets = match &mut self.sets {
            Some(sets) => sets,
            None => self.sets.insert(start(calls, run)?),
        };
        let (mut row, mut any) = (Row::new(), false);
        for (values, width, spread) in sets {
            match values.next()? {
                None => row.resize(row.len() + *width, Datum::Null),
                Some(value) => {
                    any = true;
                    put(&mut row, value, *width, *spread);
                }
            }
        }
        if !any {
            return Ok(None);
        }
        if ordinality {
            self.number += 1;
            row.push(Datum::Int8(self.number));
        }
        Ok(Some(row))
    }
}

/// Appends a value of a set: one column, or a record's columns if the set has several.
fn put(row: &mut Row, value: Datum, width: usize, spread: bool) {
    let end = row.len() + width;
    match value {
        Datum::Record(fields) if spread => row.extend(fields.iter().cloned()),
        value => row.push(value),
    }
    row.resize(end, Datum::Null);
}

/// Calls the functions and counts the memory of values computed at once.
fn start(calls: &[(Resolved, Vec<Expr>)], run: &mut Run<'_, '_>) -> Result<Vec<(Values, usize, bool)>> {
    let mut sets = Vec::with_capacity(calls.len());
    for (function, arguments) in calls {
        let arguments = run.evaluate_all(arguments, &[])?;
        let values = run.call_set(function, &arguments)?;
        run.hold(values.bytes(), "a function in FROM")?;
        sets.push((values, function.columns.as_ref().map_or(1, Vec::len), function.columns.is_some()));
    }
    Ok(sets)
}

pub fn next_passing(node: &mut Node, input: &Plan, condition: &Expr, run: &mut Run<'_, '_>) -> Result<Option<Row>> {
    while let Some(row) = node.next(input, run)? {
        if run.holds(condition, &row)? {
            return Ok(Some(row));
        }
        run.count_removed(condition);
    }
    Ok(None)
}

/// The state of sets in a select list.
pub struct Sets {
    input: Node,
    /// Columns of the current input row; `None` if there is none.
    columns: Option<Vec<Column>>,
}

/// One column over the result rows of one input row.
enum Column {
    Same(Datum),
    Each(Values),
}

impl Sets {
    pub fn new(input: Node) -> Sets {
        Sets { input, columns: None }
    }

    pub fn next(&mut self, input: &Plan, columns: &[SetColumn], run: &mut Run<'_, '_>) -> Result<Option<Row>> {
        loop {
            run.tick()?;
            if let Some(columns) = &mut self.columns
                && let Some(row) = next_of_sets(columns)?
            {
                return Ok(Some(row));
            }
            let Some(row) = self.input.next(input, run)? else { return Ok(None) };
            self.columns = Some(expand(columns, &row, run)?);
        }
    }
}

/// Returns the next values of all columns; `None` if all sets have ended.
fn next_of_sets(columns: &mut [Column]) -> Result<Option<Row>> {
    let (mut row, mut any) = (Row::with_capacity(columns.len()), false);
    for column in columns {
        row.push(match column {
            Column::Same(value) => value.clone(),
            Column::Each(values) => {
                let value = values.next()?;
                any |= value.is_some();
                value.unwrap_or_default()
            }
        });
    }
    Ok(any.then_some(row))
}

fn expand(columns: &[SetColumn], row: &[Datum], run: &mut Run<'_, '_>) -> Result<Vec<Column>> {
    let expanded = columns.iter().map(|column| match column {
        SetColumn::Value(value) => run.evaluate(value, row).map(Column::Same),
        SetColumn::Set(function, arguments) => {
            let arguments = run.evaluate_all(arguments, row)?;
            run.call_set(function, &arguments).map(Column::Each)
        }
    });
    expanded.collect()
}
