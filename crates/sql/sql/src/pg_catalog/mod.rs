//! The tables and functions of `pg_catalog` and `information_schema`.
//!
//! A table is a list of columns and a function of its rows (`layout.rs` says how it is written). Rows of the users'
//! objects are computed from their definitions (`relations.rs`, `attributes.rs`, `constraints.rs`, `types.rs`); those of
//! the system's own stand in `seed/`; `absent.rs` lists what this server has none of.

mod absent;
mod attributes;
mod cluster;
mod comments;
mod constraints;
mod depend;
mod derived;
mod engine;
mod extensions;
mod fixed;
mod functions;
mod information_schema;
mod layout;
mod locks;
mod measured;
mod names;
mod print;
mod procedures;
mod relations;
mod seed;
mod sessions;
mod shared;
#[cfg(test)]
mod tests;
mod types;
mod usage;
mod value;
mod views;

use crate::catalog::{Oid, Table, View, VirtualTable};
use crate::context::Names;
use layout::{Described, SystemView};
use std::sync::{Arc, LazyLock};

pub use functions::{FUNCTION_COLUMNS, FUNCTIONS, names_in, print_names, read_names};

/// The table of this name; without a schema, of `pg_catalog`.
pub fn table(schema: Option<&str>, name: &str) -> Option<&'static VirtualTable> {
    let schema = schema.unwrap_or("pg_catalog");
    tables().find(|table| table.name == name && table.schema == schema)
}

/// All tables that are computed.
pub fn tables() -> impl Iterator<Item = &'static VirtualTable> {
    [
        relations::TABLES,
        attributes::TABLES,
        constraints::TABLES,
        types::TABLES,
        sessions::TABLES,
        shared::TABLES,
        fixed::TABLES,
        extensions::TABLES,
        absent::TABLES,
        usage::TABLES,
        engine::TABLES,
        cluster::TABLES,
        information_schema::foreign::TABLES,
    ]
    .into_iter()
    .flatten()
}

/// The system view of this name; without a schema, of `pg_catalog`.
pub fn view(schema: Option<&str>, name: &str) -> Option<Arc<View>> {
    static VIEWS: LazyLock<Vec<Arc<View>>> =
        LazyLock::new(|| views().map(|view| Arc::new(view.definition())).collect());
    let schema = schema.unwrap_or("pg_catalog");
    VIEWS.iter().find(|view| view.name == name && view.schema == schema).cloned()
}

/// An expression over a table's columns in PostgreSQL's printed form, with no more parentheses than it needs.
pub fn print(names: &mut Names<'_>, expression: &str, table: &Table) -> String {
    print::expression(names, expression, Some(table), true)
}

fn views() -> impl Iterator<Item = &'static SystemView> {
    views::VIEWS.iter().chain(information_schema::all())
}

/// The query of a system view.
fn query_of_system_view(oid: Oid) -> Option<&'static str> {
    views().find(|view| view.oid == oid).map(|view| view.query)
}

/// What there is to say of the system's tables and views.
fn described() -> &'static [Described] {
    static DESCRIBED: LazyLock<Vec<Described>> =
        LazyLock::new(|| tables().map(Described::from).chain(views().map(Described::from)).collect());
    &DESCRIBED
}
