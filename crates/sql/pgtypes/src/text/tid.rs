//! `tid` as text: `(block,number)`.

use super::{invalid_syntax, number, push_display};
use crate::error::Result;
use crate::numeric::is_space;

/// Reads a place: 32 bits of block, 16 bits within it.
pub(super) fn parse(text: &str) -> Result<i64> {
    let invalid = || invalid_syntax("tid", text);
    let inner = text.trim_start().strip_prefix('(').ok_or_else(invalid)?;
    let (inner, _) = inner.split_once(')').ok_or_else(invalid)?;
    let (block, place) = inner.split_once(',').ok_or_else(invalid)?;
    if [block, place].iter().any(|part| part.ends_with(is_space)) {
        return Err(invalid());
    }
    // A negative block wraps around, as C's strtoul does.
    let block: i64 = number::parse_int(block, "tid").map_err(|_| invalid())?;
    let block =
        u32::try_from(block).or_else(|_| i32::try_from(block).map(|block| block as u32)).map_err(|_| invalid())?;
    let place: u16 = number::parse_int(place, "tid").map_err(|_| invalid())?;
    Ok(i64::from(block) << 16 | i64::from(place))
}

/// Appends a place.
pub(super) fn write(value: i64, out: &mut String) {
    push_display(&format_args!("({},{})", value >> 16, value & 0xffff), out);
}
