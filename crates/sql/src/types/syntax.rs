//! How types are written in SQL.

use super::{Modifier, Type};
use crate::error::Result;
use sqlparser::ast;

#[allow(unused_variables)]
impl Type {
    /// The type that SQL's syntax names. `serial` is none.
    ///
    /// # Errors
    /// 42704 `type "x" does not exist`, 22023 for a modifier that it does not take.
    pub fn from_ast(data_type: &ast::DataType) -> Result<(Type, Modifier)> {
        todo!()
    }

    /// The type of this one-word name, internal (`int4`, `_int4`) or of SQL (`integer`).
    pub fn parse_name(name: &str) -> Option<Type> {
        todo!()
    }
}
