//! ALTER SEQUENCE, and ALTER TABLE's changes of an identity column's sequence.

use super::sequence::{apply, owner_of};
use crate::alter::sequence::{check_bounds, check_last, disown_sequence, own, range, restart};
use crate::catalog::{Relation, Sequence};
use crate::context::Change;
use crate::error::{Result, SqlError, state};
use crate::types::Type;
use std::sync::Arc;
use syntax::ast::SequenceOptions;

/// Applies the options of ALTER SEQUENCE, or of SET on an identity column, to a sequence.
pub(super) fn run(change: &mut Change<'_>, mut sequence: Sequence, options: &SequenceOptions) -> Result<()> {
    let mut options = options.clone();
    change_type(&mut sequence, &mut options)?;
    apply(&options, &mut sequence)?;
    check_bounds(&sequence)?;
    let (last, _) = crate::catalog::sequence::state(&mut change.exec.system(), sequence.oid)?;
    if options.restart.is_none() {
        check_last(&sequence, last)?;
    }
    if let Some(owner) = &options.owned_by {
        let owner = owner_of(&mut change.names(), &sequence, owner)?;
        disown_sequence(change, &sequence)?;
        sequence.owned_by = owner;
        own(change, &sequence, owner)?;
    }
    match &options.restart {
        None => change.replace(Relation::Sequence(Arc::new(sequence))),
        Some(None) => {
            let start = sequence.start;
            restart(change, sequence, start)
        }
        Some(Some(value)) => restart(change, sequence, *value),
    }
}

/// AS: bounds that were those of the old type become those of the new one.
fn change_type(sequence: &mut Sequence, options: &mut SequenceOptions) -> Result<()> {
    let Some(data_type) = options.data_type else { return Ok(()) };
    if !matches!(data_type, Type::INT2 | Type::INT4 | Type::INT8) {
        let message = "sequence type must be smallint, integer, or bigint";
        return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    }
    let (least, greatest) = range(sequence.data_type);
    if sequence.max == greatest {
        options.max.get_or_insert(None);
    }
    if sequence.min == least {
        options.min.get_or_insert(None);
    }
    sequence.data_type = data_type;
    Ok(())
}
