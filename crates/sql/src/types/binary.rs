//! PostgreSQL's binary formats.

use super::{Datum, Type};
use crate::error::Result;

/// Appends a value that is not NULL in its type's binary format.
///
/// # Errors
/// 42883 for a type that has none.
#[allow(unused_variables)]
pub fn send(value: &Datum, data_type: Type, out: &mut Vec<u8>) -> Result<()> {
    todo!()
}

/// Reads a value from its type's binary format.
///
/// # Errors
/// 22P03 or 08P01 for bytes that are no such value.
#[allow(unused_variables)]
pub fn receive(bytes: &[u8], data_type: Type) -> Result<Datum> {
    todo!()
}
