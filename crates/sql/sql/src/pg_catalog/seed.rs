//! The rows that a new PostgreSQL database contains, as far as this server supports what they describe: types, operators, casts,
//! functions, roles. Kept as text beside this file, in the form of COPY.
//!
//! The first line names the table's columns; one with `=value` has this value in all rows and is left out of them.

use super::value::{int2, oid, text};
use crate::catalog::VirtualTable;
use crate::types::{Array, Datum, Row, Scalar, Type};
use std::sync::{Arc, LazyLock};

type Rows = LazyLock<Vec<Row>>;

macro_rules! seeds {
    ($($name:ident),* $(,)?) => {
        /// The rows of one of the tables that have fixed ones.
        pub(super) fn rows(table: &str) -> &'static [Row] {
            $(if table == stringify!($name) {
                static ROWS: Rows = LazyLock::new(|| {
                    read(stringify!($name), include_str!(concat!("seed/", stringify!($name), ".tsv")))
                });
                return &ROWS;
            })*
            &[]
        }

        #[cfg(test)]
        pub(super) const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}
seeds!(
    pg_aggregate,
    pg_am,
    pg_amop,
    pg_amproc,
    pg_auth_members,
    pg_authid,
    pg_cast,
    pg_collation,
    pg_description,
    pg_language,
    pg_opclass,
    pg_operator,
    pg_opfamily,
    pg_proc,
    pg_tablespace,
    pg_type,
);

/// The rows of a text; a line that is not understood is passed over (a test sees that there is none).
fn read(name: &str, source: &str) -> Vec<Row> {
    let Some(table) = super::table(None, name) else { return Vec::new() };
    let Some((head, body)) = source.split_once('\n') else { return Vec::new() };
    let head: Vec<Option<&str>> =
        head.split('\t').map(|column| column.split_once('=').map(|(_, constant)| constant)).collect();
    body.lines().filter_map(|line| row(table, &head, line)).collect()
}

fn row(table: &VirtualTable, head: &[Option<&str>], line: &str) -> Option<Row> {
    let mut fields = line.split('\t');
    let columns = table.columns.iter().zip(head);
    columns
        .map(|(&(_, data_type), constant)| {
            let field = match constant {
                Some(constant) => constant,
                None => fields.next()?,
            };
            if field == "\\N" { Some(Datum::Null) } else { value(&unescape(field), data_type) }
        })
        .collect()
}

/// Undoes the escapes of COPY.
fn unescape(field: &str) -> String {
    let mut out = String::with_capacity(field.len());
    let mut characters = field.chars();
    while let Some(character) = characters.next() {
        let escaped = if character == '\\' { characters.next() } else { Some(character) };
        match (character, escaped) {
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('t')) => out.push('\t'),
            ('\\', Some('r')) => out.push('\r'),
            (_, Some(other)) => out.push(other),
            (_, None) => {}
        }
    }
    out
}

/// A value of the few types that fixed rows have.
fn value(field: &str, data_type: Type) -> Option<Datum> {
    if data_type.is_array {
        return array(field, data_type.scalar);
    }
    Some(match data_type.scalar {
        Scalar::Bool => Datum::Bool(field == "t"),
        Scalar::Int2 => Datum::Int2(field.parse().ok()?),
        Scalar::Int4 => Datum::Int4(field.parse().ok()?),
        Scalar::Float4 => Datum::Float4(field.parse().ok()?),
        Scalar::Oid | Scalar::Xid | Scalar::Regproc => Datum::Oid(field.parse().ok()?),
        Scalar::OidVector => vector(field, Scalar::Oid, |number| Some(oid(number.parse().ok()?)))?,
        Scalar::Int2Vector => vector(field, Scalar::Int2, |number| Some(int2(number.parse().ok()?)))?,
        _ => text(field),
    })
}

fn vector(field: &str, element: Scalar, parse: fn(&str) -> Option<Datum>) -> Option<Datum> {
    let elements = field.split_ascii_whitespace().map(parse).collect::<Option<_>>()?;
    Some(Datum::Array(Arc::new(Array { element, lower_bound: 0, elements })))
}

/// `{a,"b c"}`, of one dimension.
fn array(field: &str, element: Scalar) -> Option<Datum> {
    let inner = field.strip_prefix('{')?.strip_suffix('}')?;
    let fields = if inner.is_empty() { vec![] } else { inner.split(',').collect() };
    let elements =
        fields.into_iter().map(|field| value(field.trim_matches('"'), Type::of(element))).collect::<Option<_>>()?;
    Some(Datum::Array(Arc::new(Array { element, lower_bound: 1, elements })))
}
