//! The types that print an object's identifier as its name: `regclass` and its kin, in and out.

use super::{argument_oid, argument_text};
use crate::catalog::Oid;
use crate::context::Names;
use crate::error::{Result, SqlError, state};
use crate::pg_catalog::names::{self, PROCEDURES};
use crate::pg_catalog::{derived, seed};
use crate::plan::Field;
use crate::types::{Array, Datum, Scalar, Type};
use std::sync::Arc;

/// What a text means that may be a number, `-`, or a name that `find` knows.
fn read(
    names: &mut Names<'_>,
    text: &str,
    find: fn(&mut Names<'_>, &str) -> Result<Option<Oid>>,
    missing: fn(&str) -> SqlError,
) -> Result<Datum> {
    if text == "-" {
        return Ok(Datum::Oid(0));
    }
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let out_of_range = || {
            let message = format!("value \"{text}\" is out of range for type oid");
            SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, message)
        };
        return text.parse().map(Datum::Oid).map_err(|_| out_of_range());
    }
    find(names, text)?.map(Datum::Oid).ok_or_else(|| missing(text))
}

/// As [`read`] for `to_regclass` and its kin: NULL for what is not there; numbers are no names.
fn look_up(names: &mut Names<'_>, text: &str, find: fn(&mut Names<'_>, &str) -> Result<Option<Oid>>) -> Result<Datum> {
    match find(names, text) {
        Ok(found) => Ok(found.map_or(Datum::Null, Datum::Oid)),
        Err(error)
            if [state::INVALID_SCHEMA_NAME, state::UNDEFINED_FUNCTION, state::AMBIGUOUS_FUNCTION]
                .contains(&error.code()) =>
        {
            Ok(Datum::Null)
        }
        Err(error) => Err(error),
    }
}

macro_rules! inputs {
    ($($input:ident $look_up:ident $find:ident $missing:expr;)*) => {
        $(
            pub(super) fn $input(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
                read(names, argument_text(arguments, 0), $find, $missing)
            }

            pub(super) fn $look_up(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
                self::look_up(names, argument_text(arguments, 0), $find)
            }
        )*
    };
}
inputs! {
    regclass_in to_regclass find_class no_class;
    regtype_in to_regtype find_type no_type;
    regproc_in to_regproc find_procedure |name| SqlError::new(
        state::UNDEFINED_FUNCTION, format!("function \"{name}\" does not exist"));
    regnamespace_in to_regnamespace find_namespace names::no_schema;
    regrole_in to_regrole find_role |name| SqlError::new(
        state::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"));
}

fn no_class(name: &str) -> SqlError {
    let name = names::split(name).map_or_else(|_| name.to_owned(), |parts| parts.join("."));
    SqlError::new(state::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))
}

fn no_type(name: &str) -> SqlError {
    SqlError::new(state::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
}

pub(super) fn find_class(names: &mut Names<'_>, name: &str) -> Result<Option<Oid>> {
    let (schema, name) = names::relation_name(name)?;
    names::find_relation(names, schema.as_deref(), &name)
}

/// A type of SQL, a pseudo-type, or the type of a table's rows.
fn find_type(names: &mut Names<'_>, name: &str) -> Result<Option<Oid>> {
    let bare = name.trim().strip_prefix("pg_catalog.").unwrap_or(name.trim());
    if let Some(data_type) = Type::parse_name(bare) {
        return Ok(Some(data_type.oid()));
    }
    let (element, is_array) = bare.strip_suffix("[]").map_or((bare, false), |element| (element, true));
    let Ok((schema, relation)) = names::relation_name(element) else { return Ok(None) };
    let of_row = if is_array { derived::row_array } else { derived::row_type };
    Ok(names::find_relation(names, schema.as_deref(), &relation)?.map(of_row))
}

/// A function of this name, if it is the only one.
fn find_procedure(names: &mut Names<'_>, name: &str) -> Result<Option<Oid>> {
    let (schema, bare) = names::relation_name(name)?;
    if let Some(schema) = schema.filter(|schema| schema != "pg_catalog") {
        return match names.namespace(&schema)? {
            Some(_) => Ok(None),
            None => Err(names::no_schema(&schema)),
        };
    }
    match PROCEDURES.oids.get(bare.as_str()).map(Vec::as_slice) {
        None | Some([]) => Ok(None),
        Some([one]) => Ok(Some(*one)),
        Some(_) => Err(SqlError::new(state::AMBIGUOUS_FUNCTION, format!("more than one function named \"{name}\""))),
    }
}

fn find_namespace(names: &mut Names<'_>, name: &str) -> Result<Option<Oid>> {
    let name = names::split(name)?.join(".");
    Ok(names.namespace(&name)?.map(|namespace| namespace.oid))
}

fn find_role(_: &mut Names<'_>, name: &str) -> Result<Option<Oid>> {
    let name = names::split(name)?.join(".");
    let role = seed::rows("pg_authid").iter().find(|row| row.get(1).and_then(Datum::as_text) == Some(&name));
    Ok(role.and_then(|row| row.first()?.as_oid()))
}

/// What prints for an identifier: `-` for none, and the number for one that means nothing.
fn print(oid: Oid, name: Option<String>) -> Datum {
    match name {
        _ if oid == 0 => Datum::Text("-".into()),
        Some(name) => Datum::Text(name.into()),
        None => Datum::Text(oid.to_string().into()),
    }
}

pub(super) fn regclass_out(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let oid = argument_oid(arguments, 0);
    Ok(print(oid, names::print_relation(names, oid)?))
}

pub(super) fn regtype_out(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let oid = argument_oid(arguments, 0);
    let name = names::print_type(names, oid, None)?;
    Ok(print(oid, Some(name).filter(|name| name != "???")))
}

pub(super) fn regproc_out(_: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let oid = argument_oid(arguments, 0);
    let name = PROCEDURES.names.get(&oid).map(|name| {
        let alone = PROCEDURES.oids.get(name).is_some_and(|oids| oids.len() == 1);
        if alone { names::quote(name) } else { names::qualified("pg_catalog", name) }
    });
    Ok(print(oid, name))
}

pub(super) fn regnamespace_out(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let oid = argument_oid(arguments, 0);
    let name = names.namespaces()?.into_iter().find(|namespace| namespace.oid == oid);
    Ok(print(oid, name.map(|namespace| names::quote(&namespace.name))))
}

pub(super) fn regrole_out(_: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let oid = argument_oid(arguments, 0);
    Ok(print(oid, super::role_name(oid).map(names::quote)))
}

/// The columns whose values leave as names, of those that `resolves_names`, with their types.
pub fn names_in(fields: &[Field], resolves_names: impl Fn(usize) -> bool) -> Vec<(usize, Scalar)> {
    let scalars = fields.iter().map(|field| field.data_type.scalar).enumerate();
    scalars.filter(|&(at, scalar)| output(scalar).is_some() && resolves_names(at)).collect()
}

/// Puts names in the place of the values in these columns of a row.
///
/// # Errors
/// The engine's.
pub fn print_names(names: &mut Names<'_>, named: &[(usize, Scalar)], row: Option<&mut [Datum]>) -> Result<()> {
    let Some(row) = row else { return Ok(()) };
    for &(at, scalar) in named {
        if let (Some(value), Some(output)) = (row.get_mut(at), output(scalar)) {
            print_value(names, value, output)?;
        }
    }
    Ok(())
}

type Output = fn(&mut Names<'_>, &[Datum]) -> Result<Datum>;

fn output(scalar: Scalar) -> Option<Output> {
    Some(match scalar {
        Scalar::Regclass => regclass_out,
        Scalar::Regtype => regtype_out,
        Scalar::Regproc => regproc_out,
        Scalar::Regnamespace => regnamespace_out,
        Scalar::Regrole => regrole_out,
        _ => return None,
    })
}

fn print_value(names: &mut Names<'_>, value: &mut Datum, output: Output) -> Result<()> {
    match value {
        Datum::Oid(_) => *value = output(names, std::slice::from_ref(value))?,
        Datum::Array(array) => {
            let mut elements = array.elements.clone();
            for element in &mut elements {
                print_value(names, element, output)?;
            }
            *array = Arc::new(Array { element: Scalar::Text, lower_bound: array.lower_bound, elements });
        }
        _ => {}
    }
    Ok(())
}
