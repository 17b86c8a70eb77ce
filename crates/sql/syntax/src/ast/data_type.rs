//! Types.

use super::name::{Ident, ObjectName};
use pgtypes::{Error, Modifier, Type};
use std::fmt;

/// A type as a statement names it. There are no types but the built-in ones, so that its meaning is known at once; a name
/// without a meaning is an error only where the type is used.
#[derive(Clone, Debug)]
pub struct DataType {
    /// Its text.
    pub text: String,
    /// The name, if it is one that SQL's grammar does not reserve: `oid`, `serial`, `pg_catalog.text`.
    pub name: Option<ObjectName>,
    /// The type that it denotes.
    pub meaning: Result<(Type, Modifier), Error>,
}

impl DataType {
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
