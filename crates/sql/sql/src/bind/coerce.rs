//! Conversions from the type of an expression to the type that its context requires.

use super::Binder;
use super::found::row_of_found;
use super::position::NOWHERE;
use super::record::is_row_for;
use crate::catalog::Column;
use crate::error::{Result, SqlError, state};
use crate::functions::{Body, Resolved, Volatility, common_type, resolve_function};
use crate::plan::{self, Expr, ExprKind};
use crate::types::{self, CastContext, Datum, Modifier, Scalar, Styles, Type, cast, text};
use syntax::ast::Location;

/// An expression and its location in the statement.
pub(super) type LocatedExpr = (Expr, Location);

impl Binder<'_, '_> {
    /// Converts an expression to a type and a modifier, if the context allows the cast.
    pub(super) fn coerce(
        &mut self,
        expression: Expr,
        data_type: Type,
        modifier: Modifier,
        context: CastContext,
        at: Location,
    ) -> Result<Expr> {
        let explicit = context == CastContext::Explicit;
        if is_row_for(&expression, data_type)
            && let ExprKind::Row(fields, _) = row_of_found(expression.kind.clone())
        {
            let fields = fields.into_iter().map(|field| (field, at)).collect();
            return self.row_as(fields, data_type, context, at);
        }
        let expression = if is_text(data_type) { self.printed(expression)? } else { expression };
        let expression = if expression.data_type == Type::UNKNOWN {
            self.decide(expression, data_type, at)?
        } else if expression.data_type == data_type {
            expression
        } else {
            self.convert(expression, data_type, modifier, context, at)?
        };
        if modifier == Modifier::NONE || expression.modifier == modifier {
            return Ok(expression);
        }
        self.cast_node(expression, data_type, modifier, explicit)
    }

    /// Converts an operand to a type by an implicit cast.
    pub(super) fn implicit(&mut self, expression: Expr, data_type: Type, at: Location) -> Result<Expr> {
        self.coerce(expression, data_type, Modifier::NONE, CastContext::Implicit, at)
    }

    /// Gives a literal, a NULL or a parameter its type.
    fn decide(&mut self, expression: Expr, data_type: Type, at: Location) -> Result<Expr> {
        match expression.kind {
            ExprKind::Constant(Datum::Null) => Ok(Expr::constant(Datum::Null, data_type)),
            ExprKind::Constant(Datum::Text(ref literal)) => {
                if let Some(converted) = self.by_catalog(&expression, data_type)? {
                    self.look_up(&converted).map_err(|error| self.text.error_at(error, at))?;
                    return Ok(converted);
                }
                self.note_literal(at, data_type);
                let styles = self.styles();
                if is_moment(data_type) {
                    self.names.note_moment();
                }
                let value = text::parse(literal, data_type, Modifier::NONE, &styles)
                    .map_err(|error| self.text.error_at(error, at))?;
                self.note_moment(at, &value, data_type);
                Ok(Expr::constant(value, data_type))
            }
            ExprKind::Parameter(number) => self.parameters.decide(number, data_type, at),
            _ => self.cast_node(expression, data_type, Modifier::NONE, false),
        }
    }

    fn convert(
        &mut self,
        expression: Expr,
        data_type: Type,
        modifier: Modifier,
        context: CastContext,
        at: Location,
    ) -> Result<Expr> {
        let allowed = cast::context(expression.data_type, data_type);
        if allowed.is_none_or(|needed| needed > context) {
            return Err(self.text.error_at(cannot_cast(expression.data_type, data_type), at));
        }
        if let Some(converted) = self.by_catalog(&expression, data_type)? {
            return Ok(converted);
        }
        self.cast_node(expression, data_type, modifier, context == CastContext::Explicit)
    }

    /// Conversions that look names up: between texts and reg* types, and between their arrays.
    fn by_catalog(&mut self, expression: &Expr, data_type: Type) -> Result<Option<Expr>> {
        let from = expression.data_type;
        if !cast::needs_catalog(from, data_type) {
            return Ok(None);
        }
        if data_type.scalar.is_reg() {
            let input = self.text_form(expression.clone(), Type { scalar: Scalar::Text, ..data_type })?;
            return reg_call("in", data_type, input, data_type).map(Some);
        }
        let texts = Type { scalar: Scalar::Text, ..from };
        let printed = reg_call("out", from, expression.clone(), texts)?;
        self.text_form(printed, data_type).map(Some)
    }

    /// Looks up the name that a literal is, for its error: execution looks it up again.
    fn look_up(&mut self, converted: &Expr) -> Result<()> {
        if self.folds
            && let ExprKind::Call(function, arguments) = &converted.kind
            && let (Body::Names(body), [argument]) = (function.function.body, &arguments[..])
            && let ExprKind::Constant(name) = &argument.kind
        {
            self.names.call(body, std::slice::from_ref(name))?;
        }
        Ok(())
    }

    fn text_form(&mut self, expression: Expr, data_type: Type) -> Result<Expr> {
        match expression.data_type {
            Type::UNKNOWN => self.decide(expression, data_type, NOWHERE),
            from if from == data_type => Ok(expression),
            _ => self.cast_node(expression, data_type, Modifier::NONE, false),
        }
    }

    /// Builds a cast. A cast of a constant that depends on nothing else is evaluated at once.
    fn cast_node(&mut self, input: Expr, data_type: Type, modifier: Modifier, explicit: bool) -> Result<Expr> {
        if let ExprKind::Constant(value) = &input.kind
            && (input.data_type == data_type || is_immutable(input.data_type, data_type))
        {
            let styles = self.styles();
            let value = if input.data_type == data_type {
                text::apply_modifier(value.clone(), data_type, modifier, explicit)?
            } else {
                cast::cast(value, input.data_type, data_type, modifier, explicit, &styles)?
            };
            return Ok(Expr { kind: ExprKind::Constant(value), data_type, modifier });
        }
        Ok(Expr { kind: ExprKind::Cast { input: Box::new(input), explicit }, data_type, modifier })
    }

    /// Returns the settings on which the text forms of values depend.
    pub(super) fn styles(&self) -> Styles {
        self.names.styles()
    }

    /// Gives a literal of undecided type the type text.
    pub(super) fn known(&mut self, expression: Expr) -> Result<Expr> {
        match expression.data_type {
            Type::UNKNOWN => self.implicit(expression, Type::TEXT, NOWHERE),
            _ => Ok(expression),
        }
    }

    /// Requires a boolean expression.
    pub(super) fn boolean(&mut self, (expression, at): LocatedExpr, construct: &str) -> Result<Expr> {
        if expression.data_type == Type::UNKNOWN || expression.data_type == Type::BOOL {
            return self.implicit(expression, Type::BOOL, at);
        }
        let found = expression.data_type.name();
        let message = format!("argument of {construct} must be type boolean, not type {found}");
        Err(self.text.error_at(SqlError::new(state::DATATYPE_MISMATCH, message), at))
    }

    /// Converts expressions to their common type, as CASE, UNION, ARRAY and the like do.
    pub(super) fn common_typed(&mut self, expressions: Vec<LocatedExpr>, construct: &str) -> Result<(Vec<Expr>, Type)> {
        let types: Vec<Type> = expressions.iter().map(|(expression, _)| expression.data_type).collect();
        let Some(common) = common_type(&types) else {
            let (left, right) = mismatched(&types);
            let message =
                format!("{construct} types {} and {} cannot be matched", types[left].name(), types[right].name());
            let error = SqlError::new(state::DATATYPE_MISMATCH, message);
            return Err(self.text.error_at(error, expressions[right].1));
        };
        let coerced: Result<_> = expressions
            .into_iter()
            .map(|(expression, at)| self.converted_to(expression, common, construct, at))
            .collect();
        Ok((coerced?, common))
    }

    fn converted_to(&mut self, expression: Expr, common: Type, construct: &str, at: Location) -> Result<Expr> {
        let from = expression.data_type;
        if from != Type::UNKNOWN && cast::context(from, common).is_none_or(|needed| needed > CastContext::Implicit) {
            let message = format!("{construct} could not convert type {} to {}", from.name(), common.name());
            return Err(self.text.error_at(SqlError::new(state::CANNOT_COERCE, message), at));
        }
        self.implicit(expression, common, at)
    }

    /// Converts a value to a column's type, as INSERT and UPDATE do.
    pub(super) fn assign(&mut self, (expression, at): LocatedExpr, column: &Column) -> Result<Expr> {
        let from = expression.data_type;
        if !self.is_convertible(&expression, column.data_type, CastContext::Assignment) {
            let message = format!(
                "column \"{}\" is of type {} but expression is of type {}",
                column.name,
                column.data_type.name(),
                from.name()
            );
            let error = SqlError::new(state::DATATYPE_MISMATCH, message)
                .hint("You will need to rewrite or cast the expression.");
            return Err(self.text.error_at(error, at));
        }
        self.assign_checked(expression, column, at)
    }

    fn assign_checked(&mut self, expression: Expr, column: &Column, at: Location) -> Result<Expr> {
        let converted = self.coerce(expression, column.data_type, Modifier::NONE, CastContext::Assignment, at)?;
        if column.modifier == Modifier::NONE || converted.modifier == column.modifier {
            return Ok(converted);
        }
        // A value that is too long is an error of the row, not of the statement: execution applies the cast.
        let kind = ExprKind::Cast { input: Box::new(converted), explicit: false };
        Ok(Expr { kind, data_type: column.data_type, modifier: column.modifier })
    }

    /// Calls a function with resolved arguments: converts them and folds constants. An error of folding is left to the
    /// execution, which may never evaluate the call.
    pub(super) fn call(&mut self, function: Resolved, arguments: Vec<LocatedExpr>) -> Result<Expr> {
        let wanted: Vec<Type> = function.arguments.clone();
        let mut converted = Vec::with_capacity(arguments.len());
        for (place, (argument, at)) in arguments.into_iter().enumerate() {
            let data_type = wanted.get(place).copied().unwrap_or(argument.data_type);
            converted.push(if is_any(data_type) {
                self.known(argument)?
            } else {
                self.implicit(argument, data_type, at)?
            });
        }
        if let Some(value) = self.fold(&function, &converted) {
            return Ok(Expr::constant(value, function.result));
        }
        if plan::is_volatile(&function) && writes(function.function.name) {
            self.locks = true;
        }
        let result = function.result;
        Ok(Expr::new(ExprKind::Call(function, converted), result))
    }

    /// Returns the value of an immutable function of constants.
    fn fold(&mut self, function: &Resolved, arguments: &[Expr]) -> Option<Datum> {
        if function.function.volatility != Volatility::Immutable || !self.folds {
            return None;
        }
        let value = |argument: &Expr| match &argument.kind {
            ExprKind::Constant(value) => Some(value.clone()),
            _ => None,
        };
        let values: Vec<Datum> = arguments.iter().map(value).collect::<Option<_>>()?;
        if function.function.strict && values.iter().any(|value| matches!(value, Datum::Null)) {
            return Some(Datum::Null);
        }
        function.function.body.call_pure(&values)?.ok()
    }
}

/// Returns whether a function's argument may be of any type.
fn is_any(data_type: Type) -> bool {
    data_type == Type::VOID || data_type == Type::UNKNOWN
}

/// Returns whether a type is a text by category.
fn is_text(data_type: Type) -> bool {
    data_type.category() == 'S'
}

/// Returns whether a volatile function makes a change that a read-only transaction forbids.
fn writes(function: &str) -> bool {
    matches!(function, "nextval" | "setval")
}

/// Returns the first two types without a common type.
fn mismatched(types: &[Type]) -> (usize, usize) {
    let first = types.iter().position(|data_type| *data_type != Type::UNKNOWN).unwrap_or(0);
    let other = (first + 1..types.len()).find(|&end| common_type(&types[..=end]).is_none());
    (first, other.unwrap_or(first))
}

/// Returns whether the text forms of a type's values depend on the time, the time zone or the session's styles: `now`, `12:00`,
/// `1/2/2020`.
fn is_moment(data_type: Type) -> bool {
    match data_type.scalar {
        Scalar::Date | Scalar::Time | Scalar::Timestamp | Scalar::Timestamptz | Scalar::Interval => true,
        Scalar::Composite(oid) => types::defined::find(oid)
            .is_some_and(|found| found.attributes.iter().any(|attribute| is_moment(attribute.data_type))),
        _ => false,
    }
}

/// Returns whether a cast is immutable. Casts between texts and times depend on the session.
fn is_immutable(from: Type, to: Type) -> bool {
    let is_plain = |data_type: Type| matches!(data_type.category(), 'N' | 'S' | 'B') && !data_type.scalar.is_reg();
    is_plain(from) && is_plain(to)
}

/// Returns whether a cast gives the same value in any session, at any time. Source: PostgreSQL 15, `pg_cast` with `pg_proc.provolatile`
/// (forms of dates, times with a zone, identifiers, arrays and records depend on settings or the catalog).
pub(super) fn is_immutable_cast(from: Type, to: Type) -> bool {
    if from.is_array && to.is_array {
        return is_immutable_cast(Type::of(from.scalar), Type::of(to.scalar));
    }
    let depends = |data_type: Type| match data_type.scalar {
        _ if data_type.is_array => true,
        Scalar::Date | Scalar::Timestamp | Scalar::Timestamptz | Scalar::Record | Scalar::Composite(_) => true,
        scalar => scalar.is_reg(),
    };
    let is_text = |data_type: Type| data_type.category() == 'S' || data_type == Type::UNKNOWN;
    match (is_text(from), is_text(to)) {
        (true, true) => true,
        (true, false) => !depends(to) && !matches!(to.scalar, Scalar::Time | Scalar::Interval),
        (false, true) => !depends(from),
        (false, false) => (from == Type::TIMESTAMPTZ) == (to == Type::TIMESTAMPTZ),
    }
}

pub(super) fn cannot_cast(from: Type, to: Type) -> SqlError {
    SqlError::new(state::CANNOT_COERCE, format!("cannot cast type {} to {}", from.name(), to.name()))
}

/// A call of a reg* type's input or output function.
pub(super) fn reg_call(direction: &str, reg: Type, input: Expr, result: Type) -> Result<Expr> {
    let name = format!("{}{direction}", Type::of(reg.scalar).internal_name());
    let function = resolve_function(&name, &[input.data_type])?;
    Ok(Expr::new(ExprKind::Call(function, vec![input]), result))
}

/// The type of an array's elements.
pub(super) fn element_of(data_type: Type) -> Option<Type> {
    types::Type::element(data_type)
}
