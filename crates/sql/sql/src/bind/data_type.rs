//! Types that statements name.

use super::Binder;
use super::name::{location, split};
use crate::catalog::NameLookup;
use crate::error::{Result, SqlError, state};
use crate::types::{Modifier, Scalar, Type};
use syntax::ast::DataType;

impl Binder<'_, '_> {
    /// The type that the statement names, with its modifier.
    pub(super) fn data_type(&mut self, written: &DataType) -> Result<(Type, Modifier)> {
        data_type(self.names, written).map_err(|error| match &written.name {
            Some(name) => self.text.error_at(error, location(name)),
            None => error,
        })
    }
}

/// The type that a statement names, with its modifier.
///
/// # Errors
/// 42704, 22023 for a modifier that the type does not accept, errors of the engine.
pub(crate) fn data_type(names: &mut dyn NameLookup, written: &DataType) -> Result<(Type, Modifier)> {
    let unknown = match &written.meaning {
        Ok((data_type, modifier)) => {
            if let Scalar::Enum(oid) = data_type.scalar
                && names.defined_type(oid)?.is_none()
            {
                return Err(crate::types::type_not_found(&written.text).into());
            }
            return Ok((*data_type, *modifier));
        }
        Err(error) => error,
    };
    let Some(name) = written.name.as_ref().filter(|_| unknown.code() == state::UNDEFINED_OBJECT) else {
        return Err(unknown.clone().into());
    };
    let (schema, name) = split(name)?;
    let found = names.type_named(schema.as_deref(), &name)?;
    let Some(found) = found else {
        if let Some(schema) = &schema
            && !names.has_schema(schema)?
        {
            let message = format!("schema \"{schema}\" does not exist");
            return Err(SqlError::new(state::INVALID_SCHEMA_NAME, message));
        }
        return Err(unknown.clone().into());
    };
    if written.text.contains('(') {
        let message = format!("type modifier is not allowed for type \"{name}\"");
        return Err(SqlError::new(state::SYNTAX_ERROR, message));
    }
    Ok((Type { scalar: Scalar::Enum(found.oid), is_array: written.is_array }, Modifier::NONE))
}
