//! Types.

use super::name::{Ident, ObjectName};
use pgtypes::{Error, Modifier, Type};
use std::fmt;

/// A type as a statement names it. The meaning of a built-in one is known at once, and that of a defined one where it is named by
/// its identifier ([`DataType::defined`]). Another name is an error only where the type is used and the catalog has none of it.
#[derive(Clone, Debug)]
pub struct DataType {
    /// Its text.
    pub text: String,
    /// The name, if it is one that SQL's grammar does not reserve: `oid`, `serial`, `pg_catalog.text`. Of an array, its element's.
    pub name: Option<ObjectName>,
    /// Whether it is an array.
    pub is_array: bool,
    /// The type that it denotes.
    pub meaning: Result<(Type, Modifier), Error>,
}

/// The schema by which texts that are kept name types by their identifiers: no user can make it.
pub(crate) const BY_IDENTIFIER: &str = "pg_type";

impl DataType {
    /// A type that a statement has defined, by its identifier, so that its name does not matter.
    pub fn defined(data_type: Type) -> DataType {
        let element = Type::of(data_type.scalar).oid();
        let name = ObjectName::from(vec![Ident::new(BY_IDENTIFIER), Ident::quoted(element.to_string())]);
        let brackets = if data_type.is_array { "[]" } else { "" };
        DataType {
            text: format!("{name}{brackets}"),
            name: Some(name),
            is_array: data_type.is_array,
            meaning: Ok((data_type, Modifier::NONE)),
        }
    }

    /// Returns the name of one word without modifiers that it consists of, if it does.
    pub fn plain_name(&self) -> Option<&Ident> {
        match self.name.as_ref()?.0.as_slice() {
            [name] if name.to_string() == self.text => Some(name),
            _ => None,
        }
    }
}

impl PartialEq for DataType {
    fn eq(&self, other: &DataType) -> bool {
        self.text == other.text
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
