//! Values in engine rows and engine keys.

use super::{Datum, Row, Type};
use crate::catalog::Column;
use crate::error::Result;
use model::{ColumnType, Key, RowBuf, RowRef};

/// The engine's type for values of a type.
#[allow(unused_variables)]
pub fn column_type(data_type: Type) -> ColumnType {
    todo!()
}

/// Refills an engine row with a row's values; `row` has one datum for each of `columns`.
///
/// # Errors
/// XX000 if a datum is not of its column's type.
#[allow(unused_variables)]
pub fn encode_row(row: &[Datum], columns: &[Column], out: &mut RowBuf) -> Result<()> {
    todo!()
}

/// Refills `out` with one datum for each of `columns`; those that are not `wanted` (all are, if `None`) stay NULL, as do
/// those that were added after the row was stored.
///
/// # Errors
/// XX001 for a stored value that is none of its column's type.
#[allow(unused_variables)]
pub fn decode_row(row: RowRef<'_>, columns: &[Column], wanted: Option<&[usize]>, out: &mut Row) -> Result<()> {
    todo!()
}

/// Appends a value to a key: keys compare as the values do, NULL last; equal values give the same bytes.
///
/// # Errors
/// 42883 for a type without an order (json), XX000 for a datum of another type.
#[allow(unused_variables)]
pub fn push_key(key: &mut Key, value: &Datum, data_type: Type) -> Result<()> {
    todo!()
}

/// The key of a table whose primary key is one integer or date column: eight bytes in order. `None` for other values.
#[allow(unused_variables)]
pub fn eight_byte_key(value: &Datum) -> Option<[u8; 8]> {
    todo!()
}

/// Reads back the value of [`eight_byte_key`].
#[allow(unused_variables)]
pub fn read_eight_byte_key(key: &[u8], data_type: Type) -> Option<Datum> {
    todo!()
}

/// Reads back a component of [`push_key`]. The value is equal to the one that was pushed, though its form may differ
/// (a numeric's display scale, an interval's parts, blanks at the end of `character(n)`): good for messages.
///
/// # Errors
/// XX001 for bytes that are no such component.
#[allow(unused_variables)]
pub fn read_key(key: &mut &[u8], data_type: Type) -> Result<Datum> {
    todo!()
}
