//! Functions and operators: of PostgreSQL's, those that this server has.

use super::seed;
use crate::catalog::Oid;
use crate::functions::{comparison_type_by, resolve_aggregate, resolve_function, resolve_operator, window_function};
use crate::types::{Datum, Row, Scalar, Type};
use std::collections::HashSet;
use std::sync::LazyLock;

/// The functions that types, casts and operators refer to, whether or not somebody can call them by name.
static REFERRED: LazyLock<HashSet<Oid>> = LazyLock::new(|| {
    let of_types = seed::rows("pg_type").iter().flat_map(|row| row.get(15..22).unwrap_or_default());
    let of_casts = seed::rows("pg_cast").iter().filter_map(|row| row.get(3));
    let of_operators = seed::rows("pg_operator").iter().filter_map(|row| row.get(12));
    // Of domains, which have no fixed rows.
    const OF_DOMAINS: [Oid; 2] = [2597, 2598];
    of_types.chain(of_casts).chain(of_operators).filter_map(Datum::as_oid).chain(OF_DOMAINS).collect()
});

static PROCEDURES: LazyLock<Vec<Row>> =
    LazyLock::new(|| seed::rows("pg_proc").iter().filter(|row| is_there(row)).cloned().collect());

/// The rows of `pg_proc`.
pub(super) fn procedures() -> Vec<Row> {
    PROCEDURES.clone()
}

/// The rows of `pg_aggregate`.
pub(super) fn aggregates() -> Vec<Row> {
    let there: HashSet<Oid> = PROCEDURES.iter().filter_map(|row| row.first()?.as_oid()).collect();
    let is_there = |row: &&Row| row.first().and_then(Datum::as_oid).is_some_and(|oid| there.contains(&oid));
    seed::rows("pg_aggregate").iter().filter(is_there).cloned().collect()
}

static OPERATORS: LazyLock<Vec<Row>> =
    LazyLock::new(|| seed::rows("pg_operator").iter().filter(|row| is_operator_there(row)).cloned().collect());

/// The rows of `pg_operator`.
pub(super) fn operators() -> Vec<Row> {
    OPERATORS.clone()
}

/// The positions of the columns that are read here.
mod position {
    pub(super) const OID: usize = 0;
    pub(super) const NAME: usize = 1;
    pub(super) const KIND: usize = 9;
    pub(super) const ARGUMENTS: usize = 19;
    pub(super) const LEFT: usize = 7;
    pub(super) const RIGHT: usize = 8;
}

/// A function of these arguments: one that a call with them means, exactly.
fn is_there(row: &Row) -> bool {
    let oid = row.get(position::OID).and_then(Datum::as_oid);
    if oid.is_some_and(|oid| REFERRED.contains(&oid)) {
        return true;
    }
    let text = |at: usize| row.get(at).and_then(Datum::as_text).unwrap_or_default();
    let arguments = row.get(position::ARGUMENTS).and_then(Datum::as_array);
    let types = arguments.map_or(&[][..], |types| &types.elements).iter().map(sample);
    let Some(types) = types.collect::<Option<Vec<Type>>>() else { return false };
    let name = text(position::NAME);
    match text(position::KIND) {
        "a" => matches!(resolve_aggregate(name, &types), Ok(Some(found)) if found.arguments == types),
        "w" => matches!(window_function(name, &types), Ok(Some((_, arguments, _))) if arguments == types),
        _ => matches!(resolve_function(name, &types), Ok(found) if found.arguments == types),
    }
}

/// The type of an argument; one of a polymorphic argument.
fn sample(oid: &Datum) -> Option<Type> {
    Some(match oid.as_oid()? {
        // anyelement, anynonarray, "any", anycompatible
        2283 | 2776 | 2276 | 5077 => Type::INT4,
        // anyarray, anycompatiblearray
        2277 | 5078 => Type::array_of(Scalar::Int4),
        // anyenum
        3500 => Type::of(Scalar::Enum(u32::MAX)),
        oid => Type::from_oid(oid)?,
    })
}

fn is_operator_there(row: &Row) -> bool {
    let Some(symbol) = row.get(position::NAME).and_then(Datum::as_text) else { return false };
    let is_prefix = row.get(position::LEFT).and_then(Datum::as_oid) == Some(0);
    let left = row.get(position::LEFT).and_then(sample);
    let Some(right) = row.get(position::RIGHT).and_then(sample) else { return false };
    if !is_prefix && left.is_none() {
        return false;
    }
    if let (Some(left), "=" | "<>" | "<" | "<=" | ">" | ">=") = (left, symbol) {
        return comparison_type_by(symbol, left, right).is_ok();
    }
    let types: Vec<Type> = left.into_iter().chain([right]).collect();
    matches!(resolve_operator(symbol, left, right), Ok(found) if found.arguments == types)
}
