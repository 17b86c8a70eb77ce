//! The tables and functions of `pg_catalog` and `information_schema`.

use crate::catalog::VirtualTable;

/// The table of this name; without a schema, of `pg_catalog`.
#[allow(unused_variables)]
pub fn table(schema: Option<&str>, name: &str) -> Option<&'static VirtualTable> {
    None
}
