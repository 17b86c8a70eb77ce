//! Sequences: their owners, start values and bounds.

use crate::catalog::{Oid, Relation, Sequence};
use crate::context::Change;
use crate::error::{Result, SqlError, state};
use crate::types::Type;
use std::sync::Arc;

/// Records in the owner's table that its column owns the sequence.
pub(crate) fn own(change: &mut Change<'_>, sequence: &Sequence, owner: Option<(u32, u16)>) -> Result<()> {
    let Some((table, number)) = owner else { return Ok(()) };
    let Some(Relation::Table(table)) = change.names().relation_by_oid(table)? else { return Ok(()) };
    let mut table = Arc::unwrap_or_clone(table);
    if let Some(column) = usize::from(number).checked_sub(1).and_then(|at| table.columns.get_mut(at))
        && column.sequence.is_none()
    {
        column.sequence = Some(sequence.oid);
        return change.replace(Relation::Table(Arc::new(table)));
    }
    Ok(())
}

/// Restarts a sequence with `value`, if the transaction commits.
///
/// # Errors
/// 22023
pub(crate) fn restart(change: &mut Change<'_>, mut sequence: Sequence, value: i64) -> Result<()> {
    if value < sequence.min {
        return Err(invalid(&format!("RESTART value ({value}) cannot be less than MINVALUE ({})", sequence.min)));
    }
    if value > sequence.max {
        return Err(invalid(&format!("RESTART value ({value}) cannot be greater than MAXVALUE ({})", sequence.max)));
    }
    sequence.state = change.fresh_version()?;
    sequence.restart = value;
    change.replace(Relation::Sequence(Arc::new(sequence)))
}

/// The values of a type.
pub(crate) fn range(data_type: Type) -> (i64, i64) {
    match data_type {
        Type::INT2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        Type::INT4 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    }
}

pub(crate) fn invalid(message: &str) -> SqlError {
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

/// Checks that bounds, start and type are consistent.
///
/// # Errors
/// 22023
pub(crate) fn check_bounds(sequence: &Sequence) -> Result<()> {
    let Sequence { min, max, start, data_type, .. } = sequence;
    let (least, greatest) = range(*data_type);
    let out_of_range = |what: &str, value: i64| {
        Err(invalid(&format!("{what} ({value}) is out of range for sequence data type {}", data_type.name())))
    };
    if !(least..=greatest).contains(max) {
        return out_of_range("MAXVALUE", *max);
    }
    if !(least..=greatest).contains(min) {
        return out_of_range("MINVALUE", *min);
    }
    if min >= max {
        return Err(invalid(&format!("MINVALUE ({min}) must be less than MAXVALUE ({max})")));
    }
    if start < min {
        return Err(invalid(&format!("START value ({start}) cannot be less than MINVALUE ({min})")));
    }
    if start > max {
        return Err(invalid(&format!("START value ({start}) cannot be greater than MAXVALUE ({max})")));
    }
    Ok(())
}

/// Removes a sequence from its owner's definition, if the owner is not dropped.
pub(super) fn disown(change: &mut Change<'_>, table: Oid, sequence: Oid) -> Result<()> {
    let Some(Relation::Table(table)) = change.names().relation_by_oid(table)? else { return Ok(()) };
    let mut table = Arc::unwrap_or_clone(table);
    for column in table.columns.iter_mut().filter(|column| column.sequence == Some(sequence)) {
        column.sequence = None;
    }
    change.replace(Relation::Table(Arc::new(table)))
}

/// Removes a sequence from its owner's definition.
pub(crate) fn disown_sequence(change: &mut Change<'_>, sequence: &Sequence) -> Result<()> {
    match sequence.owned_by {
        Some((table, _)) => disown(change, table, sequence.oid),
        None => Ok(()),
    }
}

pub(crate) fn check_last(sequence: &Sequence, last: i64) -> Result<()> {
    let wrong = |message: String| Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    if last < sequence.min {
        return wrong(format!("RESTART value ({last}) cannot be less than MINVALUE ({})", sequence.min));
    }
    if last > sequence.max {
        return wrong(format!("RESTART value ({last}) cannot be greater than MAXVALUE ({})", sequence.max));
    }
    Ok(())
}
