//! The types that print an object's identifier as its name: `regclass` and its kin, in and out.
//!
//! `find.rs` has what a name means and how it prints, `signature.rs` the same of functions and operators with their arguments.
//! The input and output functions take arrays too, so that a cast of an array is one call.

mod find;
mod signature;

use super::argument_text;
use crate::catalog::Oid;
use crate::context::Names;
use crate::error::{Result, SqlError, state};
use crate::functions::{Function, names as stable};
use crate::pg_catalog::names;
use crate::plan::Field;
use crate::types::{Array, Datum, Record, RowShape, Scalar, Type};
use std::sync::Arc;

pub(super) use find::find_class;

type Find = fn(&mut Names<'_>, &str) -> Result<Option<Oid>>;
type Missing = fn(&str) -> SqlError;
type Print = fn(&mut Names<'_>, Oid) -> Result<Option<String>>;

/// Reads a value from its text; a parameter that was sent in binary is an oid already.
fn read(names: &mut Names<'_>, value: &Datum, scalar: Scalar, find: Find, missing: Missing) -> Result<Datum> {
    match value {
        Datum::Text(text) => read_text(names, text, find, missing),
        Datum::Array(array) => {
            let read = |element| read(names, element, scalar, find, missing);
            let elements = array.elements.iter().map(read).collect::<Result<_>>()?;
            Ok(Array { element: scalar, lower_bound: array.lower_bound, elements }.into())
        }
        other => Ok(other.clone()),
    }
}

/// What a text means that may be a number, `-`, or a name that `find` knows.
fn read_text(names: &mut Names<'_>, text: &str, find: Find, missing: Missing) -> Result<Datum> {
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

/// As [`read_text`] for `to_regclass` and its kin: NULL for what is not there.
fn look_up(names: &mut Names<'_>, text: &str, find: Find) -> Result<Datum> {
    const ABSENCES: &[&str] =
        &[state::INVALID_SCHEMA_NAME, state::UNDEFINED_FUNCTION, state::AMBIGUOUS_FUNCTION, state::UNDEFINED_OBJECT];
    match find(names, text) {
        Ok(found) => Ok(found.map_or(Datum::Null, Datum::Oid)),
        Err(error) if ABSENCES.contains(&error.code()) => Ok(Datum::Null),
        Err(error) => Err(error),
    }
}

/// Replaces identifiers by names, in arrays too: `-` for none, and the number for one that means nothing.
fn print(names: &mut Names<'_>, value: &Datum, print_one: Print) -> Result<Datum> {
    Ok(match value {
        Datum::Oid(0) => Datum::Text("-".into()),
        Datum::Oid(oid) => {
            let name = print_one(names, *oid)?;
            Datum::Text(name.unwrap_or_else(|| oid.to_string()).into())
        }
        Datum::Array(array) => {
            let elements = array.elements.iter().map(|element| print(names, element, print_one));
            let elements = elements.collect::<Result<_>>()?;
            Datum::Array(Arc::new(Array { element: Scalar::Text, lower_bound: array.lower_bound, elements }))
        }
        other => other.clone(),
    })
}

macro_rules! kinds {
    ($($scalar:ident $input:literal $output:literal $look_up:literal $find:path, $missing:path, $print:path;)*) => {
        /// The input and output functions, of arrays too, and `to_regclass` and its kin.
        pub(super) const FUNCTIONS: &[Function] = &[$(
            stable($input, &[Type::TEXT], Type::of(Scalar::$scalar), |names, a| {
                read(names, &a[0], Scalar::$scalar, $find, $missing)
            }),
            stable($input, &[Type::array_of(Scalar::Text)], Type::array_of(Scalar::$scalar), |names, a| {
                read(names, &a[0], Scalar::$scalar, $find, $missing)
            }),
            stable($output, &[Type::of(Scalar::$scalar)], Type::TEXT, |names, a| print(names, &a[0], $print)),
            stable($output, &[Type::array_of(Scalar::$scalar)], Type::array_of(Scalar::Text), |names, a| {
                print(names, &a[0], $print)
            }),
            stable($look_up, &[Type::TEXT], Type::of(Scalar::$scalar), |names, a| {
                look_up(names, argument_text(a, 0), $find)
            }),
        )*];

        fn read_as(names: &mut Names<'_>, scalar: Scalar, value: &Datum) -> Result<Datum> {
            match scalar {
                $(Scalar::$scalar => read(names, value, scalar, $find, $missing),)*
                _ => Ok(value.clone()),
            }
        }

        fn print_as(names: &mut Names<'_>, scalar: Scalar, value: &Datum) -> Result<Datum> {
            match scalar {
                Scalar::Record | Scalar::Composite(_) => print_fields(names, value),
                $(Scalar::$scalar => print(names, value, $print),)*
                _ => Ok(value.clone()),
            }
        }
    };
}
kinds! {
    Regclass "regclassin" "regclassout" "to_regclass" find::find_class, find::no_class, names::print_relation;
    Regtype "regtypein" "regtypeout" "to_regtype" find::find_type, find::no_type, find::print_type;
    Regproc "regprocin" "regprocout" "to_regproc" find::find_procedure, find::no_procedure, find::print_procedure;
    Regprocedure "regprocedurein" "regprocedureout" "to_regprocedure"
        signature::find_procedure, signature::no_procedure, signature::print_procedure;
    Regoper "regoperin" "regoperout" "to_regoper" find::find_operator, find::no_operator, find::print_operator;
    Regoperator "regoperatorin" "regoperatorout" "to_regoperator"
        signature::find_operator, find::no_operator, signature::print_operator;
    Regnamespace "regnamespacein" "regnamespaceout" "to_regnamespace"
        find::find_namespace, names::no_schema, find::print_namespace;
    Regrole "regrolein" "regroleout" "to_regrole" find::find_role, find::no_role, find::print_role;
    Regcollation "regcollationin" "regcollationout" "to_regcollation"
        find::find_collation, find::no_collation, find::print_collation;
}

/// The relation that a text names, for functions that take its name.
pub(super) fn class_named(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    read_text(names, argument_text(arguments, 0), find::find_class, find::no_class)
}

/// `oidvectortypes(oidvector)`: the names of the types.
pub(super) fn vector_types(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let types = arguments.first().and_then(Datum::as_array).map_or(&[][..], |vector| &vector.elements);
    let print = |data_type: &Datum| names::print_type(names, data_type.as_oid().unwrap_or_default(), None);
    let printed = types.iter().map(print).collect::<Result<Vec<_>>>()?;
    Ok(printed.join(", ").into())
}

/// Puts names in the place of the identifiers in a record, or in an array of records.
fn print_fields(names: &mut Names<'_>, value: &Datum) -> Result<Datum> {
    let has_names = |scalar: Scalar| scalar.is_reg() || scalar.is_row();
    Ok(match value {
        Datum::Array(array) => {
            let elements = array.elements.iter().map(|element| print_fields(names, element));
            let elements = elements.collect::<Result<_>>()?;
            Array { element: array.element, lower_bound: array.lower_bound, elements }.into()
        }
        Datum::Record(record) => match &record.shape {
            Some(shape) if shape.fields.iter().any(|(_, data_type)| has_names(data_type.scalar)) => {
                let field = |(_, data_type, field): (_, Type, &Datum)| print_as(names, data_type.scalar, field);
                let fields = record.described().map(field).collect::<Result<_>>()?;
                let printed = |data_type: Type| match data_type.scalar.is_reg() {
                    true => Type { scalar: Scalar::Text, ..data_type },
                    false => data_type,
                };
                let shape = shape.fields.iter().map(|(name, data_type)| (name.clone(), printed(*data_type)));
                Datum::Record(Arc::new(Record { fields, shape: Some(Arc::new(RowShape::record(shape.collect()))) }))
            }
            _ => value.clone(),
        },
        other => other.clone(),
    })
}

/// The columns whose values leave as names, of those that `resolves_names`, with their types.
pub fn names_in(fields: &[Field], resolves_names: impl Fn(usize) -> bool) -> Vec<(usize, Scalar)> {
    let scalars = fields.iter().map(|field| field.data_type.scalar).enumerate();
    let may_have = |scalar: Scalar| scalar.is_reg() || scalar.is_row();
    scalars.filter(|&(at, scalar)| may_have(scalar) && resolves_names(at)).collect()
}

/// Puts names in the place of the values in these columns of a row.
///
/// # Errors
/// The engine's.
pub fn print_names(names: &mut Names<'_>, named: &[(usize, Scalar)], row: Option<&mut [Datum]>) -> Result<()> {
    let Some(row) = row else { return Ok(()) };
    for &(at, scalar) in named {
        if let Some(value) = row.get_mut(at) {
            *value = print_as(names, scalar, value)?;
        }
    }
    Ok(())
}

/// The undoing of [`print_names`]: puts identifiers in the place of the names in these columns of a row.
///
/// # Errors
/// 42P01, 42704, 42883 and the like for a name that means nothing; the engine's.
pub fn read_names(names: &mut Names<'_>, named: &[(usize, Scalar)], row: &mut [Datum]) -> Result<()> {
    for &(at, scalar) in named {
        if let Some(value) = row.get_mut(at) {
            *value = read_as(names, scalar, value)?;
        }
    }
    Ok(())
}
