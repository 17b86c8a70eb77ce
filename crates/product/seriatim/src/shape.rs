//! Compares the shape of an existing table with the requested one.

use crate::database::Shared;
use crate::resolve::TableRef;
use crate::snapshot::Snapshot;
use crate::{Column, Invalid, KeyKind, Record, Result, Schema, TransactionOptions};
use model::{RowBuf, Scan};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Advice for a schema that differs.
const WAY_OUT: &str = "a table keeps the shape that it was created with: ask for that one, or copy the rows into a table of another \
                       name (Database::open_table opens a table whatever its shape)";

/// Describes the first difference of two schemas, and what to do; `None` if they are equal.
pub(crate) fn difference(stored: &Schema, wanted: &Schema) -> Option<String> {
    if stored == wanted {
        return None;
    }
    let what = of_columns(stored, wanted)
        .or_else(|| of_keys(stored, wanted))
        .or_else(|| of_indexes(stored, wanted))
        .unwrap_or_else(|| "its rows or its storage are of another kind".into());
    Some(format!("{what}; {WAY_OUT}"))
}

fn of_columns(stored: &Schema, wanted: &Schema) -> Option<String> {
    let (old, new) = (stored.columns(), wanted.columns());
    for (at, column) in new.iter().enumerate() {
        match stored.column(&column.name).map(|at| &old[usize::from(at)]) {
            Some(before) if before == column => {}
            Some(before) => return Some(format!("column {} is {} there, not {}", column.name, Of(before), Of(column))),
            None => {
                let renamed = old.get(at).filter(|before| wanted.column(&before.name).is_none());
                return Some(match renamed.filter(|_| old.len() == new.len()) {
                    Some(before) => format!("it has column {1} where column {0} is declared", column.name, before.name),
                    None => format!("it has no column {} ({})", column.name, Of(column)),
                });
            }
        }
    }
    let missing = old.iter().find(|column| wanted.column(&column.name).is_none());
    if let Some(missing) = missing {
        return Some(format!("it has a column {} ({}) that the program does not declare", missing.name, Of(missing)));
    }
    (old != new).then(|| format!("its columns are in another order: {}", names(old.iter())))
}

fn of_keys(stored: &Schema, wanted: &Schema) -> Option<String> {
    (stored.key() != wanted.key()).then(|| format!("its key is {}, not {}", key(stored), key(wanted)))
}

fn key(schema: &Schema) -> String {
    match schema.key() {
        KeyKind::U64 => "an unsigned integer".into(),
        KeyKind::Bytes => "a string of bytes".into(),
        KeyKind::Columns(columns) => format!("({})", of_numbers(schema, columns)),
    }
}

fn of_indexes(stored: &Schema, wanted: &Schema) -> Option<String> {
    let describe = |schema: &Schema| -> Vec<String> {
        let one = |index: &crate::IndexSchema| {
            let unique = if index.unique { "unique " } else { "" };
            format!("{unique}index {} ({})", index.name, of_numbers(schema, &index.columns))
        };
        schema.indexes().iter().map(one).collect()
    };
    let (old, new) = (describe(stored), describe(wanted));
    if let Some(index) = new.iter().find(|index| !old.contains(index)) {
        return Some(format!("it has no {index}"));
    }
    if let Some(index) = old.iter().find(|index| !new.contains(index)) {
        return Some(format!("it has an {index} that the program does not declare").replace("an unique", "a unique"));
    }
    (old != new).then(|| format!("its indexes are in another order: {}", old.join(", ")))
}

fn of_numbers(schema: &Schema, columns: &[u16]) -> String {
    names(columns.iter().map(|&at| &schema.columns()[usize::from(at)]))
}

fn names<'a>(columns: impl Iterator<Item = &'a Column>) -> String {
    columns.map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// A column's type, as errors show it.
struct Of<'a>(&'a Column);

impl fmt::Display for Of<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0.kind, if self.0.nullable { " or NULL" } else { "" })
    }
}

/// Finds a row that does not fit an `R` although it has its columns, since a field is narrower than a stored value. The error is
/// reported when the table is opened, not when the row happens to be read.
pub(crate) fn check_rows<R: Record>(shared: &Arc<Shared>, table: TableRef, schema: &Schema) -> Result<()> {
    let snapshot = Snapshot::begin(shared, TransactionOptions::new().read_only())?;
    let layout = table.layout(&snapshot)?;
    let (mut found, mut buffer) = (None, RowBuf::new());
    snapshot.scan(
        &Scan::table(layout.rows()),
        &mut |item| match R::mismatch(layout.program_row(item.row, &mut buffer)) {
            None => ControlFlow::Continue(()),
            Some((field, kind)) => {
                let row = layout.program_row(item.row, &mut buffer);
                let value = schema.column(field).map(|at| row.get(usize::from(at)).to_string());
                let key = layout.program_key(item.key).unwrap_or_default();
                let (key, value) = (crate::error::KeyOf(schema, &key), value.unwrap_or_default());
                found =
                    Some(format!("its row {key} has {value} in column {field}, which {kind} cannot hold; {WAY_OUT}"));
                ControlFlow::Break(())
            }
        },
    )?;
    match found {
        None => Ok(()),
        Some(what) => Err(Invalid::Shape { table: schema.name().into(), what }.into()),
    }
}
