//! Visibility: whether an unqualified name refers to an object.

use super::argument_oid;
use crate::catalog::Oid;
use crate::context::{Names, temporary_namespace};
use crate::error::Result;
use crate::pg_catalog::{derived, names, seed};
use crate::types::{Datum, Type};

fn answer(visible: Option<bool>) -> Result<Datum> {
    Ok(visible.map_or(Datum::Null, Datum::Bool))
}

pub(super) fn table(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    answer(names::is_visible(names, argument_oid(arguments, 0))?)
}

pub(super) fn data_type(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let oid = argument_oid(arguments, 0);
    if Type::from_oid(oid).is_some() {
        return answer(Some(true));
    }
    if let Some((found, _)) = names::defined_type(names, oid)? {
        let meant = names.type_named(None, &found.name)?;
        return answer(Some(meant.is_some_and(|meant| meant.oid == found.oid)));
    }
    match derived::relation_of_row_type(oid).or(derived::relation_of_row_array(oid)) {
        Some(relation) => answer(names::is_visible(names, relation)?),
        None => seeded("pg_type", oid),
    }
}

/// Everything that has fixed rows is of `pg_catalog`, which is always on the path.
fn seeded(table: &str, oid: Oid) -> Result<Datum> {
    let found = seed::rows(table).iter().any(|row| row.first().and_then(Datum::as_oid) == Some(oid));
    answer(found.then_some(true))
}

pub(super) fn function(arguments: &[Datum]) -> Result<Datum> {
    answer(names::PROCEDURES.names.contains_key(&argument_oid(arguments, 0)).then_some(true))
}

pub(super) fn operator(arguments: &[Datum]) -> Result<Datum> {
    seeded("pg_operator", argument_oid(arguments, 0))
}

pub(super) fn operator_class(arguments: &[Datum]) -> Result<Datum> {
    seeded("pg_opclass", argument_oid(arguments, 0))
}

pub(super) fn operator_family(arguments: &[Datum]) -> Result<Datum> {
    seeded("pg_opfamily", argument_oid(arguments, 0))
}

pub(super) fn collation(arguments: &[Datum]) -> Result<Datum> {
    seeded("pg_collation", argument_oid(arguments, 0))
}

/// Of kinds of objects of which there are none.
pub(super) fn absent(_: &[Datum]) -> Result<Datum> {
    Ok(Datum::Null)
}

pub(super) fn my_temp_schema(names: &mut Names<'_>, _: &[Datum]) -> Result<Datum> {
    Ok(Datum::Oid(names.searched_namespace("pg_temp")?.map_or(0, |namespace| namespace.oid)))
}

pub(super) fn is_other_temp_schema(names: &mut Names<'_>, arguments: &[Datum]) -> Result<Datum> {
    let oid = argument_oid(arguments, 0);
    let namespaces = names.namespaces()?;
    // The session's own and every schema that is not temporary are among these.
    let is_other = !namespaces.iter().any(|namespace| namespace.oid == oid)
        && names::name_of_schema(names, oid)?.is_some_and(|name| temporary_namespace(&name).is_some());
    Ok(Datum::Bool(is_other))
}
