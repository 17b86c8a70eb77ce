//! Arguments that a function prints by itself. The functions of values know no catalog: where they would print an identifier
//! (`regclass` and its kin), they get the name that it stands for.

use super::Binder;
use super::coerce::{LocatedExpr, reg_call};
use super::found::in_found_row;
use crate::error::Result;
use crate::plan::{Expr, ExprKind};
use crate::types::{Scalar, Type};

/// Functions and aggregates that print arguments of any type.
const PRINTING: &[&str] = &[
    "array_to_json",
    "array_to_string",
    "bpchar",
    "concat",
    "concat_ws",
    "format",
    "json_agg",
    "json_build_array",
    "json_build_object",
    "json_object_agg",
    "jsonb_agg",
    "jsonb_build_array",
    "jsonb_build_object",
    "jsonb_object_agg",
    "name",
    "quote_literal",
    "quote_nullable",
    "row_to_json",
    "text",
    "to_json",
    "to_jsonb",
    "varchar",
];

impl Binder<'_, '_> {
    /// The arguments of a function, as it prints them.
    pub(super) fn printed_arguments(&mut self, name: &str, arguments: Vec<LocatedExpr>) -> Result<Vec<LocatedExpr>> {
        if !PRINTING.contains(&name) {
            return Ok(arguments);
        }
        arguments.into_iter().map(|(argument, at)| Ok((self.printed(argument)?, at))).collect()
    }

    /// A value that is to be printed: identifiers, arrays of them, and those in a row that is written out, become names.
    pub(super) fn printed(&mut self, expression: Expr) -> Result<Expr> {
        let data_type = expression.data_type;
        if data_type.scalar.is_reg() {
            return reg_call("out", data_type, expression, Type { scalar: Scalar::Text, ..data_type });
        }
        if let Some(row) = in_found_row(&expression, |row| self.printed(row)) {
            return row;
        }
        match expression.kind {
            ExprKind::Row(fields, shape) if fields.iter().any(|field| may_name(field.data_type)) => {
                let fields = fields.into_iter().map(|field| self.printed(field)).collect::<Result<_>>()?;
                let names: Vec<String> = shape.fields.iter().map(|(name, _)| name.to_string()).collect();
                Ok(Expr { modifier: expression.modifier, ..Expr::row(fields, &names) })
            }
            kind => Ok(Expr { kind, ..expression }),
        }
    }
}

/// Returns whether values of a type may be, or hold, identifiers that are printed as names.
fn may_name(data_type: Type) -> bool {
    data_type.scalar.is_reg() || data_type.scalar.is_row()
}
