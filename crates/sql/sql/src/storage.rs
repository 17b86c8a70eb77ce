//! Values in engine rows and engine keys.

mod keys;
mod rows;
mod samples;
#[cfg(test)]
mod tests;

pub use keys::{eight_byte_key, has_ordered_keys, push_key, read_eight_byte_key, read_key};
pub use rows::{
    column_type, decimal_of, decode_columns, decode_row, decode_stored, encode_row, engine_value_of,
    is_ordered_as_stored, push_values, stored_decimal,
};
pub use samples::{Sample, Samples};

use crate::error::{SqlError, state};
use crate::types::{Datum, Type};

fn mismatch(value: &Datum, data_type: Type) -> SqlError {
    SqlError::new(state::INTERNAL_ERROR, format!("a value of type {data_type} was expected, not {value:?}"))
}

fn corrupted(data_type: Type) -> SqlError {
    SqlError::new(state::DATA_CORRUPTED, format!("a stored value is no {data_type}"))
}
