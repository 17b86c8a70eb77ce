//! Identity columns: ADD GENERATED, SET GENERATED, DROP IDENTITY.

use crate::alter::column::{add_identity, check_takes_identity};
use crate::alter::drop::drop_owned;
use crate::alter::table::store;
use crate::catalog::{Relation, Sequence, Table};
use crate::context::{Change, Names};
use crate::ddl::alter_sequence;
use crate::ddl::column::identity;
use crate::ddl::sequence::{define, name_for};
use crate::error::{Result, SqlError, state};
use std::sync::Arc;
use syntax::ast::SequenceOptions;

/// ADD GENERATED AS IDENTITY.
pub(super) fn add(
    change: &mut Change<'_>,
    table: Table,
    at: usize,
    always: bool,
    options: &SequenceOptions,
) -> Result<()> {
    check_takes_identity(&table, at)?;
    let column = &table.columns[at];
    let (schema, name) = name_for(change, &table, &column.name, options)?;
    let sequence = define(change, schema, name, column.data_type, options)?;
    add_identity(change, table, at, identity(always), sequence)
}

/// SET GENERATED, and SET of options of the sequence.
pub(super) fn set(
    change: &mut Change<'_>,
    mut table: Table,
    at: usize,
    always: Option<bool>,
    options: &SequenceOptions,
) -> Result<()> {
    check_identity(&table, at)?;
    if let Some(always) = always {
        table.columns[at].identity = Some(identity(always));
        store(change, &table)?;
    }
    match sequence_of(&mut change.names(), &table, at)? {
        Some(sequence) => alter_sequence::run(change, sequence, options),
        None => Ok(()),
    }
}

/// DROP IDENTITY.
pub(super) fn drop(
    change: &mut Change<'_>,
    mut table: Table,
    at: usize,
    if_exists: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    if let Err(error) = check_identity(&table, at) {
        if !if_exists {
            return Err(error);
        }
        notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message())));
        return Ok(());
    }
    table.columns[at].identity = None;
    let sequence = table.columns[at].sequence.take();
    store(change, &table)?;
    match sequence {
        Some(sequence) => drop_owned(change, sequence, false, notices),
        None => Ok(()),
    }
}

fn sequence_of(names: &mut Names<'_>, table: &Table, at: usize) -> Result<Option<Sequence>> {
    let Some(oid) = table.columns[at].sequence else { return Ok(None) };
    Ok(match names.relation_by_oid(oid)? {
        Some(Relation::Sequence(sequence)) => Some(Arc::unwrap_or_clone(sequence)),
        _ => None,
    })
}

fn check_identity(table: &Table, at: usize) -> Result<()> {
    let column = &table.columns[at];
    if column.identity.is_some() {
        return Ok(());
    }
    let message = format!("column \"{}\" of relation \"{}\" is not an identity column", column.name, table.name);
    Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
}
