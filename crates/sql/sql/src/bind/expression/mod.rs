//! Expressions.

mod array;
mod case;
mod condition;
mod literal;
mod operator;
mod row;
mod single_evaluation;
mod sql_function;
mod subquery;

pub(super) use sql_function::special_name;
pub(super) use subquery::row_subquery;

use super::Binder;
use super::coerce::LocatedExpr;
use super::position::{NOWHERE, start};
use super::walk::outwards;
use crate::error::{Result, SqlError, state};
use crate::plan::Expr;
use crate::stack::ensure_stack;
use crate::types::functions::pseudo::ANYNONARRAY;
use crate::types::{CastContext, Datum, Modifier, Type, defined};
use syntax::ast::{self, Expr as Syntax, Location};

/// Collations that order texts by their bytes, the only order that exists here.
const COLLATIONS: &[&str] = &["C", "POSIX", "default", "C.UTF-8", "C.utf8", "ucs_basic"];

impl Binder<'_, '_> {
    /// Binds an expression over the row at hand.
    pub(super) fn expression(&mut self, syntax: &Syntax) -> Result<Expr> {
        ensure_stack(|| self.expression_kind(syntax))
    }

    /// Binds an expression and keeps its location.
    pub(super) fn placed(&mut self, syntax: &Syntax) -> Result<LocatedExpr> {
        Ok((self.expression(syntax)?, start(syntax)))
    }

    /// Binds expressions.
    pub(super) fn all_placed<'e>(&mut self, list: impl IntoIterator<Item = &'e Syntax>) -> Result<Vec<LocatedExpr>> {
        list.into_iter().map(|syntax| self.placed(syntax)).collect()
    }

    /// Binds a condition; `construct` names it in the error.
    pub(super) fn condition(&mut self, syntax: &Syntax, construct: &str) -> Result<Expr> {
        let bound = self.placed(syntax)?;
        self.boolean(bound, construct)
    }

    fn expression_kind(&mut self, syntax: &Syntax) -> Result<Expr> {
        match syntax {
            Syntax::Identifier(name) => self.identifier(name),
            Syntax::CompoundIdentifier(parts) => self.qualified(parts),
            Syntax::Default(span) => {
                let error = SqlError::new(state::SYNTAX_ERROR, "DEFAULT is not allowed in this context");
                Err(self.text.error_at(error, span.start))
            }
            Syntax::TableRow(name) => self.row_of_table(name),
            Syntax::Access { root, chain } => self.accesses(root, chain),
            Syntax::Nested(inner) => self.expression(inner),
            Syntax::Literal(literal) => self.literal(literal),
            Syntax::TypedLiteral { data_type, text } => self.typed_literal(data_type, text),
            Syntax::Interval(interval) => self.interval(interval),
            Syntax::Cast { expr, data_type, short } => self.cast(expr, data_type, *short),
            Syntax::Collate { expr, collation } => self.collate(expr, collation),
            Syntax::And(operands) => self.logic(operands, true),
            Syntax::Or(operands) => self.logic(operands, false),
            Syntax::Not(operand) => self.condition(operand, "NOT").map(operator::negate),
            Syntax::Prefix { operator, operand } => self.prefix(operator, operand),
            Syntax::Infix { .. } => self.infix(syntax),
            Syntax::Quantified { left, operator, right, all } => self.quantified(left, operator, right, *all),
            Syntax::Function(function) => self.function(function),
            Syntax::Case(case) => self.case(case),
            Syntax::Subquery(query) => self.scalar_subquery(query),
            Syntax::Exists(query) => self.exists(query),
            Syntax::ArraySubquery { subquery, .. } => self.array_subquery(subquery),
            Syntax::InSubquery { expr, subquery, negated } => self.in_subquery(expr, subquery, *negated),
            Syntax::Array { elements, .. } => self.array(elements, None),
            Syntax::Row { fields, .. } => self.row(fields),
            Syntax::Special { call, arguments } => self.special(call, arguments, start(syntax)),
            Syntax::Like { kind, expr, pattern, escape, negated } => {
                self.like(*kind, expr, pattern, escape.as_deref(), *negated)
            }
            Syntax::IsNull { .. }
            | Syntax::IsTruth { .. }
            | Syntax::IsDistinct { .. }
            | Syntax::InList { .. }
            | Syntax::Between { .. } => self.test(syntax),
        }
    }

    fn identifier(&mut self, name: &ast::Ident) -> Result<Expr> {
        if !self.scope.is_column(&super::name::fold(name)) && name.is_word("current_role") {
            return self.call_by_name("current_user", vec![], name.span.start);
        }
        if !self.scope.is_column(&super::name::fold(name)) && name.is_word("current_schema") {
            return self.call_by_name("current_schema", vec![], name.span.start);
        }
        self.unqualified(name)
    }

    pub(super) fn row_of_table(&mut self, name: &ast::ObjectName) -> Result<Expr> {
        let (schema, table) = super::name::split(name)?;
        let (distance, table) = self.table_in_scope(schema.as_deref(), &table, super::name::location(name))?;
        let table = table.clone();
        Ok(outwards(&self.whole_row(&table)?, distance))
    }

    fn cast(&mut self, syntax: &Syntax, data_type: &ast::DataType, short: bool) -> Result<Expr> {
        let named = self.named_type(data_type)?;
        let wanted = named.data_type;
        let input = match syntax {
            Syntax::Array { elements, .. } if wanted.is_array => {
                self.array(elements, super::coerce::element_of(wanted))?
            }
            _ if wanted.composite().is_some() => match self.placed_row_fields(syntax)? {
                Some(mut fields) => {
                    if is_kept(data_type) {
                        self.fill_row(&mut fields, wanted);
                    }
                    let row = self.row_as(fields, wanted, CastContext::Explicit, NOWHERE);
                    row.map_err(|error| self.at_cast(error, syntax, short))?
                }
                None => self.expression(syntax)?,
            },
            _ => self.expression(syntax)?,
        };
        if input.data_type == Type::UNKNOWN {
            return self.cast_to(input, &named, start(syntax));
        }
        self.cast_to(input, &named, NOWHERE).map_err(|error| self.at_cast(error, syntax, short))
    }

    /// Adds NULLs for the attributes that a composite type got after a text was kept.
    fn fill_row(&self, fields: &mut Vec<LocatedExpr>, wanted: Type) {
        let attributes = wanted.composite().and_then(defined::find).map_or(0, |found| found.attributes.len());
        let null = || (Expr::constant(Datum::Null, Type::UNKNOWN), NOWHERE);
        fields.resize_with(fields.len().max(attributes), null);
    }

    /// Adds the place of a cast to the error that its types do not convert.
    fn at_cast(&self, error: SqlError, value: &Syntax, short: bool) -> SqlError {
        match error.code() {
            state::CANNOT_COERCE if short => self.text.error_at_operator(error, value, "::"),
            state::CANNOT_COERCE => self.text.error_at(error, start(value)),
            _ => error,
        }
    }

    /// Binds a cast that the statement contains.
    pub(super) fn explicit_cast(
        &mut self,
        input: Expr,
        data_type: Type,
        modifier: Modifier,
        at: Location,
    ) -> Result<Expr> {
        self.coerce(input, data_type, modifier, CastContext::Explicit, at)
    }

    fn collate(&mut self, syntax: &Syntax, collation: &ast::ObjectName) -> Result<Expr> {
        let input = self.placed(syntax)?;
        let (_, name) = super::name::split(collation)?;
        if !COLLATIONS.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
            let message = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
            let error = SqlError::new(state::UNDEFINED_OBJECT, message);
            return Err(self.text.error_at_operator(error, syntax, "collate"));
        }
        let (input, at) = input;
        match input.data_type {
            Type::UNKNOWN => self.implicit(input, Type::TEXT, at),
            data_type if data_type.category() == 'S' || data_type.is_array => Ok(input),
            data_type => {
                let message = format!("collations are not supported by type {}", data_type.name());
                Err(self.text.error_at_operator(SqlError::new(state::DATATYPE_MISMATCH, message), syntax, "collate"))
            }
        }
    }

    /// Calls a function by its name.
    pub(super) fn call_by_name(&mut self, name: &str, arguments: Vec<LocatedExpr>, at: Location) -> Result<Expr> {
        let types: Vec<Type> = arguments.iter().map(|(argument, _)| argument.data_type).collect();
        let function =
            crate::functions::resolve_function(name, &types).map_err(|error| self.text.error_at(error, at))?;
        self.call(function, arguments)
    }

    /// Calls an operator that is written between two operands.
    pub(super) fn call_operator(&mut self, symbol: &str, left: LocatedExpr, right: LocatedExpr) -> Result<Expr> {
        let operator = crate::functions::resolve_operator(symbol, Some(left.0.data_type), right.0.data_type)?;
        if operator.function.arguments.contains(&ANYNONARRAY) {
            // A text is appended to a value of any type.
            let (left, right) = ((self.printed(left.0)?, left.1), (self.printed(right.0)?, right.1));
            let operator = crate::functions::resolve_operator(symbol, Some(left.0.data_type), right.0.data_type)?;
            return self.call(operator, vec![left, right]);
        }
        self.call(operator, vec![left, right])
    }

    /// A text constant.
    pub(super) fn text_constant(text: &str) -> LocatedExpr {
        (Expr::constant(Datum::Text(text.into()), Type::TEXT), NOWHERE)
    }
}

/// Returns whether a type is named by its identifier, as only texts that are kept do.
fn is_kept(written: &ast::DataType) -> bool {
    matches!(&written.meaning, Ok((data_type, _)) if data_type.scalar.defined().is_some())
}
