//! Sizes: what rows and entries take in the engine's memory, as it estimates them from a few.

use super::{argument_oid, argument_text};
use crate::catalog::{Cache, Oid, Relation, Table};
use crate::context::Names;
use crate::error::{Result, SqlError, state};
use crate::pg_catalog::measured::{bytes_of, bytes_of_entries};
use crate::pg_catalog::names;
use crate::types::{Datum, Numeric};
use bigdecimal::{BigDecimal, RoundingMode, ToPrimitive};
use model::Tables;

/// What of a relation is asked for.
#[derive(Clone, Copy)]
struct Parts {
    rows: bool,
    indexes: bool,
}

pub(super) fn relation(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let size = sum(names, argument_oid(arguments, 0), Parts { rows: true, indexes: false })?;
    match arguments.get(1).and_then(Datum::as_text) {
        None | Some("main") => Ok(size),
        // Rows have no free space and no map of what is visible.
        Some("fsm" | "vm" | "init") => Ok(if size.is_null() { Datum::Null } else { Datum::Int8(0) }),
        Some(_) => Err(SqlError::new(state::INVALID_PARAMETER_VALUE, "invalid fork name")
            .hint("Valid fork names are \"main\", \"fsm\", \"vm\", and \"init\".")),
    }
}

pub(super) fn table(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    sum(names, argument_oid(arguments, 0), Parts { rows: true, indexes: false })
}

pub(super) fn indexes(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    sum(names, argument_oid(arguments, 0), Parts { rows: false, indexes: true })
}

pub(super) fn total(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    sum(names, argument_oid(arguments, 0), Parts { rows: true, indexes: true })
}

/// NULL for an identifier without a relation. What is computed takes nothing.
fn sum(names: &mut Names<'_>, oid: Oid, parts: Parts) -> Result<Datum> {
    if names::system_relation(oid).is_some() {
        return Ok(Datum::Int8(0));
    }
    let Some(relation) = names.relation_by_oid(oid)? else { return Ok(Datum::Null) };
    let table_of_index = match &relation {
        Relation::Index(entry) => names.relation_by_oid(entry.table)?,
        _ => None,
    };
    let Some(engine) = names.database().store.ddl() else { return Ok(Datum::Null) };
    Ok(Datum::Int8(match (&relation, &table_of_index) {
        (Relation::Table(table), _) => {
            let rows = if parts.rows { bytes_of(engine, table.storage) } else { 0 };
            rows + if parts.indexes { of_indexes(engine, table) } else { 0 }
        }
        (Relation::Index(_), Some(Relation::Table(table))) if parts.rows => {
            let index = table.indexes.iter().find(|index| index.oid == oid);
            index.map_or(0, |index| bytes_of_entries(engine, index))
        }
        _ => 0,
    }))
}

fn of_indexes(engine: &dyn Tables, table: &Table) -> i64 {
    table.indexes.iter().map(|index| bytes_of_entries(engine, index)).sum()
}

pub(super) fn database(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let oid = argument_oid(arguments, 0);
    let known = names.databases()?.iter().any(|database| database.oid == oid);
    if known { of_database(names, oid) } else { Ok(Datum::Null) }
}

pub(super) fn database_named(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let name = argument_text(arguments, 0);
    let found = names.database_named(name)?.ok_or_else(|| crate::database::missing(name))?;
    of_database(names, found.oid)
}

/// Tables, indexes and the catalog. A database that nobody has used yet has none of them.
fn of_database(names: &mut Names<'_>, oid: Oid) -> Result<Datum> {
    let database = names.database().clone();
    let Some(engine) = database.store.ddl() else { return Ok(Datum::Null) };
    let Some(catalog) = Cache::find_in(&*database.store, oid) else { return Ok(Datum::Int8(0)) };
    let relations = if oid == database.oid { names.relations()? } else { names.relations_in_catalog(&catalog)? };
    let tables = relations.iter().filter_map(|relation| match relation {
        Relation::Table(table) => Some(bytes_of(engine, table.storage) + of_indexes(engine, table)),
        _ => None,
    });
    let definitions = engine.estimate_bytes(catalog.table()).unwrap_or_default();
    Ok(Datum::Int8(tables.sum::<i64>() + i64::try_from(definitions).unwrap_or(i64::MAX)))
}

/// The tablespace `pg_default`, which has everything.
const DEFAULT: Oid = 1663;

pub(super) fn tablespace(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let is_default = argument_oid(arguments, 0) == DEFAULT || argument_text(arguments, 0) == "pg_default";
    let Some(engine) = names.database().store.ddl().filter(|_| is_default) else { return Ok(Datum::Int8(0)) };
    let bytes = engine.tables().iter().filter_map(|(table, _)| engine.estimate_bytes(*table)).sum::<u64>();
    Ok(Datum::Int8(i64::try_from(bytes).unwrap_or(i64::MAX)))
}

/// The units of [`pretty`], each 1,024 times the one before.
const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];
/// From here on the next unit is used.
const LIMIT: u128 = 10 * 1024;

pub(super) fn pretty(arguments: &[Datum]) -> Result<Datum> {
    let size = arguments.first().and_then(Datum::as_i64).unwrap_or_default();
    Ok(in_units(i128::from(size)))
}

/// Halves are rounded away from zero in the unit that is printed, as PostgreSQL does.
fn in_units(size: i128) -> Datum {
    let sign = if size < 0 { "-" } else { "" };
    let bytes = size.unsigned_abs();
    if bytes < LIMIT {
        return Datum::Text(format!("{sign}{bytes} bytes").into());
    }
    let mut halves = bytes >> 9;
    let mut units = UNITS.iter().skip(1).peekable();
    while let Some(unit) = units.next() {
        let rounded = halves.div_ceil(2);
        if rounded < LIMIT || units.peek().is_none() {
            return Datum::Text(format!("{sign}{rounded} {unit}").into());
        }
        halves >>= 10;
    }
    Datum::Null
}

/// The bytes that a text such as `1.5 MB` says.
pub(super) fn bytes(arguments: &[Datum]) -> Result<Datum> {
    let text = argument_text(arguments, 0);
    let invalid = || SqlError::new(state::INVALID_PARAMETER_VALUE, format!("invalid size: \"{text}\""));
    let trimmed = text.trim();
    let (number, unit) = trimmed.split_at(number_end(trimmed));
    let number: BigDecimal = number.trim_end_matches('.').parse().map_err(|_| invalid())?;
    let unit = unit.trim();
    let power = match UNITS.iter().position(|known| known.eq_ignore_ascii_case(unit)) {
        Some(power) => power,
        None if unit.is_empty() => 0,
        None => {
            return Err(invalid()
                .detail(format!("Invalid size unit: \"{unit}\"."))
                .hint("Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\"."));
        }
    };
    let bytes = (0..power).fold(number, |bytes, _| bytes * BigDecimal::from(1024));
    let whole = bytes.with_scale_round(0, RoundingMode::HalfUp).to_i64();
    let too_many = || SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range");
    whole.map(Datum::Int8).ok_or_else(too_many)
}

/// Where the number ends that a text begins with: a sign, digits with a point, an exponent.
fn number_end(text: &str) -> usize {
    let skip = |from: usize, what: fn(&u8) -> bool| {
        from + text.as_bytes()[from..].iter().take_while(|byte| what(byte)).count()
    };
    let sign = usize::from(text.starts_with(['+', '-']));
    let mut end = skip(sign, u8::is_ascii_digit);
    if text[end..].starts_with('.') {
        end = skip(end + 1, u8::is_ascii_digit);
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = skip(end + 1 + sign, u8::is_ascii_digit);
        // Of a number with an absurd exponent nothing is computed.
        if exponent > end + 1 + sign && exponent - end < 6 {
            end = exponent;
        }
    }
    end
}

pub(super) fn pretty_numeric(arguments: &[Datum]) -> Result<Datum> {
    let Some(Datum::Numeric(Numeric::Finite(size))) = arguments.first() else { return Ok(Datum::Null) };
    let ten_kilobytes = BigDecimal::from(10 * 1024);
    if size.abs() < ten_kilobytes {
        return Ok(Datum::Text(format!("{} bytes", size.to_plain_string()).into()));
    }
    let whole = size.with_scale_round(0, RoundingMode::Down);
    Ok(whole.to_i128().map_or(Datum::Null, in_units))
}
