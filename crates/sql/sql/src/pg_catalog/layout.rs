//! Layout of the tables: a list of columns, from which their descriptions are made.

use crate::catalog::{Column, Oid, View, VirtualTable};
use crate::types::{Modifier, Row, Type};

/// A view that is part of the system: its query is SQL over the other tables.
pub(super) struct SystemView {
    /// PostgreSQL's identifier.
    pub(super) oid: Oid,
    /// `pg_catalog` or `information_schema`.
    pub(super) schema: &'static str,
    /// Its name.
    pub(super) name: &'static str,
    /// Its columns.
    pub(super) columns: &'static [(&'static str, Type)],
    /// What it means.
    pub(super) query: &'static str,
}

impl SystemView {
    /// The view as the catalog would keep it.
    pub(super) fn definition(&self) -> View {
        let column = |&(name, data_type): &(&str, Type)| Column::plain(name, data_type, Modifier::NONE);
        View {
            oid: self.oid,
            schema: self.schema.to_owned(),
            name: self.name.to_owned(),
            version: 0,
            columns: self.columns.iter().map(column).collect(),
            query: self.query.to_owned(),
            comment: None,
        }
    }
}

/// The columns of a table, `name: Scalar` or `name: [Scalar]` for an array.
macro_rules! columns {
    (@type [$scalar:ident]) => { $crate::types::Type::array_of($crate::types::Scalar::$scalar) };
    (@type $scalar:ident) => { $crate::types::Type::of($crate::types::Scalar::$scalar) };
    ($($column:ident: $type:tt),* $(,)?) => {
        &[$((stringify!($column), columns!(@type $type))),*]
    };
}

/// Tables: `schema, what the rows are made of: identifier name = function of its rows; { columns }`. Before the columns may stand
/// `column by index = function of the rows of one name;`.
macro_rules! tables {
    (@by_name) => { None };
    (@by_name $column:ident $index:ident $rows:expr) => {
        Some($crate::catalog::ByName { index: stringify!($index), column: stringify!($column), rows: $rows })
    };
    ($schema:literal, $from:ident: $($oid:literal $name:ident = $rows:expr;
        $($by:ident by $index:ident = $named:expr;)? { $($column:ident: $type:tt),* $(,)? })*) => {
        &[$($crate::catalog::VirtualTable {
            oid: $oid,
            schema: $schema,
            name: stringify!($name),
            columns: columns!($($column: $type),*),
            rows: $crate::catalog::Rows::$from($rows),
            by_name: tables!(@by_name $($by $index $named)?),
        }),*]
    };
}

/// Views: `identifier name = query { columns }`.
macro_rules! views {
    ($schema:literal: $($oid:literal $name:ident = $query:expr; { $($column:ident: $type:tt),* $(,)? })*) => {
        &[$($crate::pg_catalog::layout::SystemView {
            oid: $oid,
            schema: $schema,
            name: stringify!($name),
            columns: columns!($($column: $type),*),
            query: $query,
        }),*]
    };
}

pub(super) use {columns, tables, views};

/// The rows of a table of things that this database has none of.
pub(super) fn nothing() -> Vec<Row> {
    Vec::new()
}

/// What the catalog says of a table or view of its own.
pub(super) struct Described {
    pub(super) oid: Oid,
    pub(super) schema: &'static str,
    pub(super) name: &'static str,
    pub(super) columns: &'static [(&'static str, Type)],
    pub(super) is_view: bool,
}

/// PostgreSQL numbers the views that initdb makes from here on.
const FIRST_VIEW: Oid = 12_000;

impl From<&'static VirtualTable> for Described {
    fn from(table: &'static VirtualTable) -> Described {
        let VirtualTable { oid, schema, name, columns, .. } = *table;
        Described { oid, schema, name, columns, is_view: oid >= FIRST_VIEW }
    }
}

impl From<&'static SystemView> for Described {
    fn from(view: &'static SystemView) -> Described {
        let SystemView { oid, schema, name, columns, .. } = *view;
        Described { oid, schema, name, columns, is_view: true }
    }
}
