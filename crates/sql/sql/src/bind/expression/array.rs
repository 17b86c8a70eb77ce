//! Arrays, subscripts, fields of records.

use super::operator::{comparison, symbol};
use crate::bind::Binder;
use crate::bind::coerce::{LocatedExpr, element_of};
use crate::bind::name::fold;
use crate::bind::position::start;
use crate::bind::query::unnested;
use crate::bind::record::field_of;
use crate::error::{Result, SqlError, state};
use crate::functions::{comparison_function, comparison_type_by, resolve_operator};
use crate::plan::{Expr, ExprKind};
use crate::types::{Datum, Modifier, Type, cast};
use syntax::ast::{Access, Expr as Syntax, Ident, Location, Operator};

impl Binder<'_, '_> {
    /// `ARRAY[a, b]`; inside a cast the elements have the cast's type.
    pub(super) fn array(&mut self, elements: &[Syntax], wanted: Option<Type>) -> Result<Expr> {
        let mut placed = Vec::with_capacity(elements.len());
        for element in elements {
            let bound = match element {
                Syntax::Array { elements: inner, .. } => self.array(inner, wanted)?,
                _ => self.expression(element)?,
            };
            placed.push((bound, start(element)));
        }
        if let Some(element_type) = wanted {
            return self.array_of(placed, element_type);
        }
        if placed.is_empty() {
            let error = SqlError::new(state::INDETERMINATE_DATATYPE, "cannot determine type of empty array")
                .hint("Explicitly cast to the desired type, for example ARRAY[]::integer[].");
            return Err(error);
        }
        let (elements, common) = self.common_typed(placed, "ARRAY")?;
        let Some(data_type) = (if common.is_array { Some(common) } else { common.to_array() }) else {
            let message = format!("could not find array type for data type {}", common.name());
            return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
        };
        Ok(Expr::new(ExprKind::Array(elements), data_type))
    }

    fn array_of(&mut self, elements: Vec<LocatedExpr>, element_type: Type) -> Result<Expr> {
        let array_type = element_type.to_array().unwrap_or(element_type);
        let convert = |(element, at): LocatedExpr| {
            let wanted = if element.data_type.is_array { array_type } else { element_type };
            self.explicit_cast(element, wanted, Modifier::NONE, at)
        };
        let elements: Result<_> = elements.into_iter().map(convert).collect();
        Ok(Expr::new(ExprKind::Array(elements?), array_type))
    }

    /// `array[1]`, `array[1:2]`, `(record).field`
    pub(super) fn accesses(&mut self, root: &Syntax, chain: &[Access]) -> Result<Expr> {
        let mut names = leading_names(unnested(root), chain);
        // `(value).field` is a field of a column if there is such a column; otherwise `(table).column` is a column of the
        // table.
        if matches!(root, Syntax::Nested(_)) && names.first().is_some_and(|name| self.scope.is_column(&fold(name))) {
            names.clear();
        }
        let (mut value, rest) = match names.len() {
            0 | 1 => (self.expression(root)?, chain),
            count => (self.qualified(&names)?, &chain[count - 1..]),
        };
        for access in rest {
            value = match access {
                Access::Field(field) => self.field(value, field, root)?,
                subscript => self.subscript(value, subscript, root)?,
            };
        }
        Ok(value)
    }

    fn subscript(&mut self, array: Expr, subscript: &Access, root: &Syntax) -> Result<Expr> {
        let at = start(root);
        if let (Type::NAME, Access::Index(index)) = (array.data_type, subscript) {
            return self.letter(array, index, at);
        }
        let Some(element) = element_of(array.data_type) else {
            let message =
                format!("cannot subscript type {} because it does not support subscripting", array.data_type.name());
            return Err(self.text.error_at(SqlError::new(state::DATATYPE_MISMATCH, message), at));
        };
        match subscript {
            Access::Index(index) => {
                let index = self.index(index)?;
                Ok(Expr::new(ExprKind::Subscript(Box::new(array), Box::new(index)), element))
            }
            Access::Slice(from, to) => {
                let from = from.as_ref().map(|bound| self.index(bound)).transpose()?;
                let to = to.as_ref().map(|bound| self.index(bound)).transpose()?;
                let data_type = if array.data_type.is_array { array.data_type } else { Type::array_of(element.scalar) };
                let kind = ExprKind::Slice(Box::new(array), from.map(Box::new), to.map(Box::new));
                Ok(Expr::new(kind, data_type))
            }
            Access::Field(field) => self.field(array, field, root),
        }
    }

    /// A `name` is subscripted as an array of characters, from 0 on.
    fn letter(&mut self, name: Expr, index: &Syntax, at: Location) -> Result<Expr> {
        let one = || (Expr::constant(Datum::Int4(1), Type::INT4), at);
        let index = self.index(index)?;
        let position = self.call_operator("+", (index, at), one())?;
        let text = self.explicit_cast(name, Type::TEXT, Modifier::NONE, at)?;
        let letter = self.call_by_name("substr", vec![(text, at), (position, at), one()], at)?;
        self.explicit_cast(letter, Type::CHAR, Modifier::NONE, at)
    }

    fn index(&mut self, syntax: &Syntax) -> Result<Expr> {
        let (index, at) = self.placed(syntax)?;
        let fits = index.data_type == Type::UNKNOWN
            || cast::context(index.data_type, Type::INT4)
                .is_some_and(|needed| needed <= crate::types::CastContext::Assignment);
        if !fits {
            let error = SqlError::new(state::DATATYPE_MISMATCH, "array subscript must have type integer");
            return Err(self.text.error_at(error, at));
        }
        self.coerce(index, Type::INT4, Modifier::NONE, crate::types::CastContext::Assignment, at)
    }

    fn field(&mut self, record: Expr, name: &Ident, root: &Syntax) -> Result<Expr> {
        let folded = fold(name);
        let shape = self.records.of(&record).unwrap_or_default();
        if let Some(at) = shape.iter().position(|(field, ..)| *field == folded) {
            return Ok(field_of(&record, at, &shape[at]));
        }
        let (code, message) = match record.data_type {
            data_type if data_type.composite().is_some() => {
                (state::UNDEFINED_COLUMN, format!("column \"{folded}\" not found in data type {}", data_type.name()))
            }
            Type::RECORD => {
                (state::UNDEFINED_COLUMN, format!("could not identify column \"{folded}\" in record data type"))
            }
            other => (
                state::WRONG_OBJECT_TYPE,
                format!("column notation .{folded} applied to type {}, which is not a composite type", other.name()),
            ),
        };
        let error = SqlError::new(code, message);
        Err(match unnested(root) {
            _ if record.data_type.composite().is_none() => self.text.error_at(error, name.span.start),
            Syntax::Cast { expr, short: true, .. } => self.text.error_at_operator(error, expr, "::"),
            root => self.text.error_at(error, start(root)),
        })
    }

    /// `left op ANY (array)` and ALL; also over queries.
    pub(super) fn quantified(&mut self, left: &Syntax, op: &Operator, right: &Syntax, all: bool) -> Result<Expr> {
        if let Syntax::Subquery(query) = right {
            return self.quantified_subquery(left, op, query, all);
        }
        let symbol = symbol(op)?;
        let (left_syntax, left) = (left, self.placed(left)?);
        let (mut array, at) = self.placed(right)?;
        if array.data_type == Type::UNKNOWN {
            let element = if left.0.data_type == Type::UNKNOWN { Type::TEXT } else { left.0.data_type };
            array = self.implicit(array, element.to_array().unwrap_or(Type::array_of(element.scalar)), at)?;
        }
        let Some(element) = element_of(array.data_type) else {
            let error = SqlError::new(state::WRONG_OBJECT_TYPE, "op ANY/ALL (array) requires array on right side");
            return Err(self.text.error_at_operator(error, left_syntax, symbol));
        };
        let operator = match comparison(op) {
            Some(comparison) => comparison_type_by(symbol, left.0.data_type, element)
                .map(|common| comparison_function(comparison, common)),
            None => resolve_operator(symbol, Some(left.0.data_type), element),
        };
        let operator = operator.map_err(|error| self.text.error_at_operator(error, left_syntax, symbol))?;
        if operator.result != Type::BOOL {
            let error =
                SqlError::new(state::WRONG_OBJECT_TYPE, "op ANY/ALL (array) requires operator to yield boolean");
            return Err(self.text.error_at_operator(error, left_syntax, symbol));
        }
        let wanted = operator.arguments[1];
        let left = self.implicit(left.0, operator.arguments[0], left.1)?;
        let array_type = wanted.to_array().unwrap_or(array.data_type);
        let array = if wanted == element { array } else { self.implicit(array, array_type, at)? };
        let kind = ExprKind::Quantified { operator, left: Box::new(left), array: Box::new(array), all };
        Ok(Expr::new(kind, Type::BOOL))
    }
}

/// The names with which a chain begins: `schema.table.column` before a subscript.
fn leading_names(root: &Syntax, chain: &[Access]) -> Vec<Ident> {
    let Syntax::Identifier(first) = root else { return vec![] };
    let dotted = chain.iter().map_while(|access| match access {
        Access::Field(name) => Some(name.clone()),
        _ => None,
    });
    std::iter::once(first.clone()).chain(dotted).collect()
}
