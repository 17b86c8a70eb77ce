//! The tables and functions of `pg_catalog` and `information_schema`.

use crate::catalog::VirtualTable;
use crate::functions::Function;
use crate::types::Type;

/// The functions of the catalog.
pub const FUNCTIONS: &[Function] = &[];

/// The columns of those that return rows, by name.
pub const FUNCTION_COLUMNS: &[(&str, &[(&str, Type)])] = &[];

/// The table of this name; without a schema, of `pg_catalog`.
#[allow(unused_variables)]
pub fn table(schema: Option<&str>, name: &str) -> Option<&'static VirtualTable> {
    None
}
