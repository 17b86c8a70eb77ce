//! FOREIGN KEY: what it refers to, how the referenced table comes to know it, whether the rows that are there keep it.

use super::constraint::check_ordered;
use super::name::{fold, no_relation, split};
use super::rows::{each_row, fill_index};
use crate::catalog::{Action, ForeignKey, Index, Relation, Table};
use crate::context::{Change, Exec, Names};
use crate::dml::ForeignKeys;
use crate::error::{Result, SqlError, state};
use crate::types::{Scalar, Type};
use std::sync::Arc;
use syntax::ast;

/// Finds what a foreign key refers to. `table` has its columns and keys, and may itself be what it refers to.
///
/// # Errors
/// 42P01, 42809, 42703, 42704, 42830, 42804.
pub(super) fn resolve(
    change: &mut Change<'_>,
    table: &Table,
    name: String,
    columns: &[String],
    key: &ast::ForeignKeyConstraint,
) -> Result<ForeignKey> {
    let columns = referencing_columns(table, columns)?;
    let found = referenced_table(&mut change.names(), table, &key.foreign_table)?;
    let referenced = found.as_deref().unwrap_or(table);
    if referenced.temporary && !table.temporary {
        let message = "constraints on permanent tables may reference only permanent tables";
        return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
    }
    if table.temporary && !referenced.temporary {
        let message = "constraints on temporary tables may reference only temporary tables";
        return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
    }
    let (index, referenced_columns) = referenced_key(referenced, &key.referred_columns, columns.len())?;
    check_types(table, &columns, referenced, &referenced_columns, &name)?;
    let characteristics = key.characteristics.as_ref();
    let deferred = characteristics.is_some_and(|said| said.initially == Some(ast::DeferrableInitial::Deferred));
    let deferrable = characteristics.and_then(|said| said.deferrable);
    if deferred && deferrable == Some(false) {
        let message = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
        return Err(SqlError::new(state::SYNTAX_ERROR, message));
    }
    if key.match_kind == Some(ast::ConstraintReferenceMatchKind::Partial) {
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, "MATCH PARTIAL not yet implemented"));
    }
    Ok(ForeignKey {
        oid: change.fresh_oid()?,
        name,
        columns,
        referenced: referenced.oid,
        referenced_index: index.oid,
        referenced_columns,
        on_delete: action(key.on_delete.as_ref()),
        on_update: action(key.on_update.as_ref()),
        match_full: key.match_kind == Some(ast::ConstraintReferenceMatchKind::Full),
        deferrable: deferrable == Some(true) || deferred,
        initially_deferred: deferred,
    })
}

fn action(written: Option<&ast::ReferentialAction>) -> Action {
    match written {
        None | Some(ast::ReferentialAction::NoAction) => Action::NoAction,
        Some(ast::ReferentialAction::Restrict) => Action::Restrict,
        Some(ast::ReferentialAction::Cascade) => Action::Cascade,
        Some(ast::ReferentialAction::SetNull) => Action::SetNull,
        Some(ast::ReferentialAction::SetDefault) => Action::SetDefault,
    }
}

fn referencing_columns(table: &Table, columns: &[String]) -> Result<Vec<usize>> {
    let mut positions = Vec::with_capacity(columns.len());
    for name in columns {
        let Some(at) = table.column(name) else {
            let message = format!("column \"{name}\" referenced in foreign key constraint does not exist");
            return Err(SqlError::new(state::UNDEFINED_COLUMN, message));
        };
        check_ordered(table.columns[at].data_type)?;
        positions.push(at);
    }
    Ok(positions)
}

/// The referenced table; `None` if it is the table itself.
fn referenced_table(names: &mut Names<'_>, table: &Table, name: &ast::ObjectName) -> Result<Option<Arc<Table>>> {
    let (schema, name) = split(name)?;
    if name == table.name && schema.as_ref().is_none_or(|schema| *schema == table.schema) {
        return Ok(None);
    }
    match names.relation(schema.as_deref(), &name)? {
        Some(Relation::Table(found)) if found.oid == table.oid => Ok(None),
        Some(Relation::Table(found)) => Ok(Some(found)),
        Some(_) => {
            let message = format!("referenced relation \"{name}\" is not a table");
            Err(SqlError::new(state::WRONG_OBJECT_TYPE, message))
        }
        None => Err(no_relation(schema.as_deref(), &name)),
    }
}

/// The unique index that is referred to, and its columns in the order of the foreign key's.
fn referenced_key<'t>(table: &'t Table, columns: &[ast::Ident], count: usize) -> Result<(&'t Index, Vec<usize>)> {
    let disagree = || {
        let message = "number of referencing and referenced columns for foreign key disagree";
        SqlError::new(state::INVALID_FOREIGN_KEY, message)
    };
    if columns.is_empty() {
        let primary = table.primary_key().ok_or_else(|| {
            let message = format!("there is no primary key for referenced table \"{}\"", table.name);
            SqlError::new(state::UNDEFINED_OBJECT, message)
        })?;
        return if primary.columns.len() == count { Ok((primary, primary.columns.clone())) } else { Err(disagree()) };
    }
    let mut positions = Vec::with_capacity(columns.len());
    for ident in columns {
        let name = fold(ident);
        positions.push(table.column(&name).ok_or_else(|| {
            let message = format!("column \"{name}\" referenced in foreign key constraint does not exist");
            SqlError::new(state::UNDEFINED_COLUMN, message)
        })?);
    }
    if positions.len() != count {
        return Err(disagree());
    }
    let mut wanted = positions.clone();
    wanted.sort_unstable();
    let fits = |index: &&Index| {
        let mut columns = index.columns.clone();
        columns.sort_unstable();
        index.unique && columns == wanted
    };
    let index = table.indexes.iter().find(fits).ok_or_else(|| {
        let message =
            format!("there is no unique constraint matching given keys for referenced table \"{}\"", table.name);
        SqlError::new(state::INVALID_FOREIGN_KEY, message)
    })?;
    Ok((index, positions))
}

fn check_types(
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

/// Whether the equality of two types has a meaning that an index can find.
fn are_comparable(own: Type, other: Type) -> bool {
    let family = |data_type: Type| match data_type.scalar {
        Scalar::Int2 | Scalar::Int4 | Scalar::Int8 | Scalar::Numeric | Scalar::Float4 | Scalar::Float8 => 1,
        Scalar::Text | Scalar::Varchar | Scalar::Bpchar | Scalar::Name => 2,
        Scalar::Date | Scalar::Timestamp | Scalar::Timestamptz => 3,
        _ => 0,
    };
    own == other || own.is_array == other.is_array && !own.is_array && family(own) != 0 && family(own) == family(other)
}

/// Makes the referenced table know that it is referred to: its primary key gets entries of its own.
pub(super) fn attach(change: &mut Change<'_>, table: &mut Table, key: &ForeignKey) -> Result<()> {
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

/// Makes the referenced table forget a foreign key that is no longer in `remaining`, the table's other ones.
pub(super) fn detach(
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

/// A primary key to which nobody refers any more needs no entries of its own.
fn forget_reference(change: &mut Change<'_>, table: &mut Table, from: u32) {
    table.referenced_by.retain(|oid| *oid != from);
    if !table.referenced_by.is_empty() {
        return;
    }
    let oid = table.oid;
    if let Some(primary) = table.indexes.iter_mut().find(|index| index.primary)
        && let Some(storage) = primary.storage.take()
    {
        change.leave_storage(oid, storage);
    }
}

/// Whether every row of the table has its counterpart. The definitions with the new key are in the catalog already.
///
/// # Errors
/// 23503
pub(super) fn verify(exec: &mut Exec<'_>, table: &Table, key: &ForeignKey) -> Result<()> {
    // This key alone, and now: a deferred one is verified at once, too.
    let key = ForeignKey { deferrable: false, initially_deferred: false, ..key.clone() };
    let alone = Arc::new(Table { foreign_keys: vec![key], ..table.clone() });
    let mut questions = ForeignKeys::default();
    each_row(exec, table, |exec, _, row| questions.inserted(exec, &alone, &row))?;
    questions.finish(exec)
}

/// Whether a foreign key still has comparable columns after one of them changed its type.
///
/// # Errors
/// 42804
pub(super) fn check_still_fits(names: &mut Names<'_>, table: &Table, key: &ForeignKey) -> Result<()> {
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

/// Verifies anew the foreign keys from and to a column that has other values now.
///
/// # Errors
/// 23503, 42804
pub(super) fn verify_all_with(exec: &mut Exec<'_>, table: &Table, at: usize) -> Result<()> {
    for key in table.foreign_keys.iter().filter(|key| key.columns.contains(&at)) {
        verify(exec, table, key)?;
    }
    for from in &table.referenced_by {
        let Some(Relation::Table(referencing)) = exec.names().relation_by_oid(*from)? else { continue };
        let to_column = |key: &&ForeignKey| key.referenced == table.oid && key.referenced_columns.contains(&at);
        for key in referencing.foreign_keys.iter().filter(to_column) {
            check_types(&referencing, &key.columns, table, &key.referenced_columns, &key.name)?;
            verify(exec, &referencing, key)?;
        }
    }
    Ok(())
}
