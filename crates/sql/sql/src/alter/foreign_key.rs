//! Foreign keys: recorded at the referenced table, and checked on the existing rows.

use super::name::no_relation;
use super::rows::{each_row, fill_index};
use crate::catalog::{ForeignKey, Index, Relation, Table};
use crate::context::{Change, Exec, Names};
use crate::dml::KeyChecks;
use crate::error::{Result, SqlError, state};
use crate::types::{Scalar, Type};
use std::sync::Arc;

/// Adds a foreign key to the definitions of the referencing and of the referenced table.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn add(change: &mut Change<'_>, table: &mut Table, key: ForeignKey) -> Result<()> {
    attach(change, table, &key)?;
    table.foreign_keys.push(key);
    Ok(())
}

/// Checks that referencing and referenced columns can be compared.
///
/// # Errors
/// 42804
pub(crate) fn check_types(
    table: &Table,
    columns: &[usize],
    referenced: &Table,
    referenced_columns: &[usize],
    name: &str,
) -> Result<()> {
    for (at, other) in columns.iter().zip(referenced_columns) {
        let (own, other) = (&table.columns[*at], &referenced.columns[*other]);
        if !are_comparable(own.data_type, other.data_type) {
            let message = format!("foreign key constraint \"{name}\" cannot be implemented");
            let detail = format!(
                "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
                own.name,
                other.name,
                own.data_type.format(own.modifier),
                other.data_type.format(other.modifier)
            );
            return Err(SqlError::new(state::DATATYPE_MISMATCH, message).detail(detail));
        }
    }
    Ok(())
}

/// Returns whether an index can find values of one type that equal those of the other.
fn are_comparable(own: Type, other: Type) -> bool {
    let family = |data_type: Type| match data_type.scalar {
        Scalar::Int2 | Scalar::Int4 | Scalar::Int8 | Scalar::Numeric | Scalar::Float4 | Scalar::Float8 => 1,
        Scalar::Text | Scalar::Varchar | Scalar::Bpchar | Scalar::Name => 2,
        Scalar::Date | Scalar::Timestamp | Scalar::Timestamptz => 3,
        _ => 0,
    };
    own == other || own.is_array == other.is_array && !own.is_array && family(own) != 0 && family(own) == family(other)
}

/// Records the reference in the referenced table's definition: its primary key gets existence entries.
fn attach(change: &mut Change<'_>, table: &mut Table, key: &ForeignKey) -> Result<()> {
    if key.referenced == table.oid {
        return note_reference(change, table, key);
    }
    let Some(Relation::Table(referenced)) = change.names().relation_by_oid(key.referenced)? else {
        return Err(no_relation(None, &key.referenced.to_string()));
    };
    let mut referenced = Arc::unwrap_or_clone(referenced);
    let referencing = table.oid;
    note_reference_from(change, &mut referenced, key, referencing)?;
    change.replace(Relation::Table(Arc::new(referenced)))
}

fn note_reference(change: &mut Change<'_>, table: &mut Table, key: &ForeignKey) -> Result<()> {
    let oid = table.oid;
    note_reference_from(change, table, key, oid)
}

fn note_reference_from(change: &mut Change<'_>, table: &mut Table, key: &ForeignKey, from: u32) -> Result<()> {
    if !table.referenced_by.contains(&from) {
        table.referenced_by.push(from);
    }
    let missing = |index: &Index| index.oid == key.referenced_index && index.storage.is_none();
    let Some(at) = table.indexes.iter().position(missing) else { return Ok(()) };
    table.indexes[at].storage = Some(change.create_index_storage(table.oid)?);
    let index = table.indexes[at].clone();
    fill_index(&mut change.exec, table, &index)
}

/// Removes a foreign key that is no longer in `remaining`, the table's other ones, from the referenced table's definition.
pub(crate) fn detach(
    change: &mut Change<'_>,
    table: &mut Table,
    key: &ForeignKey,
    remaining: &[ForeignKey],
) -> Result<()> {
    if remaining.iter().any(|other| other.referenced == key.referenced) {
        return Ok(());
    }
    if key.referenced == table.oid {
        forget_reference(change, table, table.oid);
        return Ok(());
    }
    let Some(Relation::Table(referenced)) = change.names().relation_by_oid(key.referenced)? else { return Ok(()) };
    let mut referenced = Arc::unwrap_or_clone(referenced);
    forget_reference(change, &mut referenced, table.oid);
    change.replace(Relation::Table(Arc::new(referenced)))
}

/// Removes the existence entries of a primary key to which no foreign key refers any more.
fn forget_reference(change: &mut Change<'_>, table: &mut Table, from: u32) {
    table.referenced_by.retain(|oid| *oid != from);
    if !table.referenced_by.is_empty() {
        return;
    }
    let oid = table.oid;
    if let Some(primary) = table.indexes.iter_mut().find(|index| index.is_row_key())
        && let Some(storage) = primary.storage.take()
    {
        change.leave_storage(oid, storage);
    }
}

/// Checks that every row of the table has its referenced row. The definitions with the new key are in the catalog already.
///
/// # Errors
/// 23503
pub(crate) fn verify(exec: &mut Exec<'_>, table: &Table, key: &ForeignKey) -> Result<()> {
    // This key alone, and now: a deferred one is verified at once, too.
    let key = ForeignKey { deferrable: false, initially_deferred: false, ..key.clone() };
    let alone = Arc::new(Table { foreign_keys: vec![key], ..table.clone() });
    let mut questions = KeyChecks::default();
    each_row(exec, table, |exec, _, row| questions.inserted(exec, &alone, &row))?;
    questions.finish(exec)
}

/// Checks that a foreign key still has comparable columns after one of them changed its type.
///
/// # Errors
/// 42804
pub(crate) fn check_still_fits(names: &mut Names<'_>, table: &Table, key: &ForeignKey) -> Result<()> {
    if key.referenced == table.oid {
        return check_types(table, &key.columns, table, &key.referenced_columns, &key.name);
    }
    match names.relation_by_oid(key.referenced)? {
        Some(Relation::Table(referenced)) => {
            check_types(table, &key.columns, &referenced, &key.referenced_columns, &key.name)
        }
        _ => Ok(()),
    }
}

/// Verifies again the foreign keys from and to a column whose values have changed, except for those that are NOT VALID.
///
/// # Errors
/// 23503, 42804
pub(crate) fn verify_all_with(exec: &mut Exec<'_>, table: &Table, at: usize) -> Result<()> {
    for key in table.foreign_keys.iter().filter(|key| key.columns.contains(&at) && !key.not_valid) {
        verify(exec, table, key)?;
    }
    for from in &table.referenced_by {
        let Some(Relation::Table(referencing)) = exec.names().relation_by_oid(*from)? else { continue };
        let to_column = |key: &&ForeignKey| key.referenced == table.oid && key.referenced_columns.contains(&at);
        for key in referencing.foreign_keys.iter().filter(to_column) {
            check_types(&referencing, &key.columns, table, &key.referenced_columns, &key.name)?;
            if !key.not_valid {
                verify(exec, &referencing, key)?;
            }
        }
    }
    Ok(())
}
