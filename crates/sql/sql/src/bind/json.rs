//! Rows as JSON. A record contains values only, so the names of its columns are resolved here, where the row is known.

use super::Binder;
use super::coerce::LocatedExpr;
use super::function::plain_arguments;
use crate::error::Result;
use crate::functions::json_of_row;
use crate::plan::{Expr, ExprKind};
use crate::types::{Datum, Type};
use syntax::ast::{Expr as Syntax, Function};

/// Functions that return their arguments as JSON.
const MAKERS: &[&str] = &[
    "row_to_json",
    "to_json",
    "to_jsonb",
    "json_agg",
    "jsonb_agg",
    "json_object_agg",
    "jsonb_object_agg",
    "json_build_array",
    "jsonb_build_array",
    "json_build_object",
    "jsonb_build_object",
];

impl Binder<'_, '_> {
    /// Arguments of a function. If it makes JSON, rows among them become JSON objects; also returns whether there are any.
    pub(super) fn rows_as_json(
        &mut self,
        name: &str,
        function: &Function,
        arguments: Vec<LocatedExpr>,
    ) -> Result<(Vec<LocatedExpr>, bool)> {
        let is_row = |argument: &Expr| matches!(argument.kind, ExprKind::Row(_));
        if !MAKERS.contains(&name) || !arguments.iter().any(|(argument, _)| is_row(argument)) {
            return Ok((arguments, false));
        }
        let syntax = plain_arguments(function).unwrap_or_default();
        let convert = |(place, (argument, at)): (usize, LocatedExpr)| match argument.kind {
            ExprKind::Row(values) => {
                let names = syntax.get(place).and_then(|syntax| self.names_of_fields(syntax));
                Ok((self.json_object(names.as_deref().unwrap_or_default(), values)?, at))
            }
            _ => Ok((argument, at)),
        };
        let converted: Result<Vec<LocatedExpr>> = arguments.into_iter().enumerate().map(convert).collect();
        Ok((converted?, true))
    }

    fn names_of_fields(&self, syntax: &Syntax) -> Option<Vec<String>> {
        match syntax {
            Syntax::Identifier(name) => self.columns_of_row(name),
            Syntax::Nested(inner) => self.names_of_fields(inner),
            _ => None,
        }
    }

    /// Fields without a name are called `f1` and so on.
    fn json_object(&mut self, names: &[String], values: Vec<Expr>) -> Result<Expr> {
        let mut arguments: Vec<LocatedExpr> = Vec::with_capacity(2 * values.len());
        for (at, value) in values.into_iter().enumerate() {
            let name = names.get(at).cloned().unwrap_or_else(|| format!("f{}", at + 1));
            let value = match value.kind {
                ExprKind::Row(inner) => self.json_object(&[], inner)?,
                _ => self.known(value)?,
            };
            let nowhere = super::position::NOWHERE;
            arguments.push((Expr::constant(Datum::Text(name.into()), Type::TEXT), nowhere));
            arguments.push((value, nowhere));
        }
        let types = arguments.iter().map(|(argument, _)| argument.data_type).collect();
        self.call(json_of_row(types), arguments)
    }
}
