//! Casts: which there are, where they happen by themselves, and what they do.

use super::{Datum, Modifier, Styles, Type};
use crate::error::Result;

/// Where a cast happens without being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CastContext {
    /// Anywhere.
    Implicit,
    /// In an assignment to a column.
    Assignment,
    /// Only where it is written.
    Explicit,
}

/// Where values of one type become values of another; `None` if never. A type casts to itself implicitly.
#[allow(unused_variables)]
pub fn context(from: Type, to: Type) -> Option<CastContext> {
    todo!()
}

/// Whether a cast must look up names in the catalog (reg* types from and to text): [`cast`] itself treats their values as
/// numbers.
#[allow(unused_variables)]
pub fn needs_catalog(from: Type, to: Type) -> bool {
    todo!()
}

/// Casts a value and applies the modifier. NULL stays NULL.
///
/// # Errors
/// 42846 for no such cast, 22P02, 22003 and the like for a value that has no counterpart.
#[allow(unused_variables)]
pub fn cast(value: &Datum, from: Type, to: Type, modifier: Modifier, explicit: bool, styles: &Styles) -> Result<Datum> {
    todo!()
}
