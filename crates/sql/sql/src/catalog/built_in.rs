//! Relations that are computed: registered when a database is opened, since modules above this one compute their rows.

use super::{Table, View, VirtualTable};
use crate::context::Names;
use std::sync::{Arc, OnceLock};

/// Tables and views of `pg_catalog` and `information_schema`. Without a schema a name is looked up in `pg_catalog`.
#[derive(Clone, Copy)]
pub struct BuiltIn {
    /// The table of a name.
    pub table: fn(schema: Option<&str>, name: &str) -> Option<&'static VirtualTable>,
    /// The view of a name.
    pub view: fn(schema: Option<&str>, name: &str) -> Option<Arc<View>>,
    /// An expression over a table's columns in PostgreSQL's printed form, with no more parentheses than it needs.
    pub print: fn(names: &mut Names<'_>, expression: &str, table: &Table) -> String,
}

static BUILT_IN: OnceLock<BuiltIn> = OnceLock::new();

/// Registers the relations of the system. Counts once in the life of a process, before the first statement is bound.
pub fn register(built_in: BuiltIn) {
    BUILT_IN.get_or_init(|| built_in);
}

/// The relations of the system; none until they are registered.
pub fn built_in() -> BuiltIn {
    BUILT_IN.get().copied().unwrap_or(BuiltIn {
        table: |_, _| None,
        view: |_, _| None,
        print: |_, expression, _| expression.to_owned(),
    })
}
