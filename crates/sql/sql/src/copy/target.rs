//! The table and the columns of COPY.

use crate::catalog::{Relation, Table};
use crate::context::Names;
use crate::error::{Result, SqlError, state};
use std::sync::Arc;
use syntax::ast::{CopyStream, Ident, ObjectName};

/// Returns a name as the catalog spells it.
pub(super) fn name_of(name: &Ident) -> String {
    if name.quoted { name.value.clone() } else { name.value.to_lowercase() }
}

/// Only the client's own streams can be copied from and to.
///
/// # Errors
/// 0A000 for files and programs.
pub(super) fn check_stream(stream: CopyStream, to: bool) -> Result<()> {
    let (what, does) = match stream {
        CopyStream::Client => return Ok(()),
        CopyStream::File => ("a file", if to { "write a file" } else { "read a file" }),
        CopyStream::Program => ("a program", "execute a program"),
    };
    let direction = if to { "TO" } else { "FROM" };
    let hint = format!(
        "COPY {direction} would instruct the server process to {does}. You may want a client-side facility such as \
         psql's \\copy."
    );
    Err(SqlError::unsupported(format_args!("COPY {direction} {what} of the server")).hint(hint))
}

/// The relation of a name.
///
/// # Errors
/// 42P01, errors of the engine.
pub(super) fn relation(names: &mut Names<'_>, name: &ObjectName) -> Result<Relation> {
    let parts: Vec<String> = name.0.iter().map(name_of).collect();
    let found = match &parts[..] {
        [.., schema, name] => names.relation(Some(schema), name)?,
        [name] => names.relation(None, name)?,
        [] => None,
    };
    found.ok_or_else(|| {
        let message = format!("relation \"{}\" does not exist", parts.join("."));
        SqlError::new(state::UNDEFINED_TABLE, message)
    })
}

/// The table of a name.
///
/// # Errors
/// 42P01, 42809, errors of the engine.
pub(super) fn table(names: &mut Names<'_>, name: &ObjectName, to: bool) -> Result<Arc<Table>> {
    let direction = if to { "from" } else { "to" };
    let wrong = |kind: &str, name: &str| {
        SqlError::new(state::WRONG_OBJECT_TYPE, format!("cannot copy {direction} {kind} \"{name}\""))
    };
    match relation(names, name)? {
        Relation::Table(table) => Ok(table),
        Relation::View(view) => Err(wrong("view", &view.name).hint(match to {
            true => "Try the COPY (SELECT ...) TO variant.",
            false => "To enable copying to a view, provide an INSTEAD OF INSERT trigger.",
        })),
        Relation::Sequence(sequence) => Err(wrong("sequence", &sequence.name)),
        Relation::Index(index) => Err(wrong("non-table relation", &index.name)),
    }
}

/// The positions of the columns that are named, or of all that can be copied.
///
/// # Errors
/// 42703, 42701, 42P10 for a generated column.
pub(super) fn columns(table: &Table, named: &[Ident]) -> Result<Vec<usize>> {
    if named.is_empty() {
        return Ok(table.live_columns().filter(|(_, column)| column.generated.is_none()).map(|(at, _)| at).collect());
    }
    let mut columns = vec![];
    for name in named.iter().map(name_of) {
        let at = column(table, &name)?;
        if table.columns[at].generated.is_some() {
            let message = format!("column \"{name}\" is a generated column");
            return Err(SqlError::new(state::INVALID_COLUMN_REFERENCE, message)
                .detail("Generated columns cannot be used in COPY."));
        }
        if columns.contains(&at) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
        }
        columns.push(at);
    }
    Ok(columns)
}

/// For each of the columns, whether a FORCE option names it.
///
/// # Errors
/// 42703, 42P10 for a column that is not copied.
pub(super) fn forced(table: &Table, columns: &[usize], named: &[String], option: &str) -> Result<Vec<bool>> {
    let mut forced = vec![false; columns.len()];
    for name in named {
        let at = column(table, name)?;
        match columns.iter().position(|column| *column == at) {
            Some(place) => forced[place] = true,
            None => return Err(not_copied(name, option)),
        }
    }
    Ok(forced)
}

/// A FORCE option that names a column that is not copied.
pub(super) fn not_copied(name: &str, option: &str) -> SqlError {
    let message = format!("{option} column \"{name}\" not referenced by COPY");
    SqlError::new(state::INVALID_COLUMN_REFERENCE, message)
}

fn column(table: &Table, name: &str) -> Result<usize> {
    table.column(name).ok_or_else(|| {
        let message = format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
        SqlError::new(state::UNDEFINED_COLUMN, message)
    })
}
