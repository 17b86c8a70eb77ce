//! Draws from the sequences that the catalog defines.

use super::{Relation, Sequence};
use crate::context::{Names, System};
use crate::error::{Result, SqlError, state as sqlstate};
use std::sync::Arc;
use tables::Exhausted;

impl From<Exhausted> for SqlError {
    fn from(why: Exhausted) -> SqlError {
        match why {
            Exhausted::Engine(error) => error.into(),
            Exhausted::Numbers => {
                SqlError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, "a counter has reached its last number")
            }
            Exhausted::Above(max) => end_of_sequence("maximum", "", max),
            Exhausted::Below(min) => end_of_sequence("minimum", "", min),
        }
    }
}

/// 2200H
fn end_of_sequence(end: &str, of: &str, bound: i64) -> SqlError {
    let message = format!("nextval: reached {end} value of sequence {of}({bound})");
    SqlError::new(sqlstate::SEQUENCE_LIMIT_EXCEEDED, message)
}

/// The definition of a sequence.
pub(crate) fn definition(names: &mut Names<'_>, sequence: u32) -> Result<Arc<Sequence>> {
    match names.relation_by_oid(sequence)? {
        Some(Relation::Sequence(sequence)) => Ok(sequence),
        Some(other) => {
            let message = format!("\"{}\" is not a sequence", other.name());
            Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message))
        }
        None => {
            let message = format!("could not open relation with OID {sequence}");
            Err(SqlError::new(sqlstate::UNDEFINED_TABLE, message))
        }
    }
}

/// `nextval`
///
/// # Errors
/// 2200H at the end of the sequence, errors of the engine.
pub fn next_value(system: &mut System<'_>, sequence: u32) -> Result<i64> {
    let definition = definition(&mut system.names(), sequence)?;
    let of = || format!("\"{}\" ", definition.name);
    let (value, rests_on) = system.sequences().next_value(&definition).map_err(|why| match why {
        Exhausted::Above(max) => end_of_sequence("maximum", &of(), max),
        Exhausted::Below(min) => end_of_sequence("minimum", &of(), min),
        other => other.into(),
    })?;
    system.rest_on(rests_on);
    system.note_drawn(sequence, value);
    Ok(value)
}

/// `setval`
///
/// # Errors
/// 22003 out of bounds, errors of the engine.
pub fn set_value(system: &mut System<'_>, sequence: u32, value: i64, is_called: bool) -> Result<()> {
    let definition = definition(&mut system.names(), sequence)?;
    let (min, max) = (definition.min, definition.max);
    if !(min..=max).contains(&value) {
        let message =
            format!("setval: value {value} is out of bounds for sequence \"{}\" ({min}..{max})", definition.name);
        return Err(SqlError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message));
    }
    let rests_on = system.sequences().set_value(&definition, value, is_called)?;
    system.rest_on(rests_on);
    if is_called {
        system.note_set(sequence, value);
    }
    Ok(())
}

/// What `SELECT last_value, is_called` from the sequence says.
///
/// # Errors
/// 42P01, 42809, errors of the engine.
pub fn state(system: &mut System<'_>, sequence: u32) -> Result<(i64, bool)> {
    let definition = definition(&mut system.names(), sequence)?;
    let (state, rests_on) = system.sequences().state(&definition)?;
    system.rest_on(rests_on);
    Ok(state)
}
