//! Function calls, including the forms that only look like calls.

use super::Binder;
use super::coerce::LocatedExpr;
use super::name;
use super::position::NOWHERE;
use crate::error::{Result, SqlError, state};
use crate::functions::{Resolved, is_aggregate, resolve_function, window_function};
use crate::plan::{Expr, ExprKind};
use crate::types::{Modifier, Type};
use syntax::ast::{Argument, Expr as Syntax, Function, Literal, Location, Value};

impl Binder<'_, '_> {
    /// Binds a function call, or an expression written like one.
    pub(super) fn function(&mut self, function: &Function) -> Result<Expr> {
        let at = name::location(&function.name);
        if let Some(value) = self.keyword(function, at)? {
            return Ok(value);
        }
        let name = self.function_name(function)?;
        if let Some(over) = &function.over {
            return self.window_call(function, &name, over);
        }
        if name == "grouping" {
            return self.grouping_call(function, at);
        }
        let is_window = || window_function(&name, &[]).map_or(true, |found| found.is_some());
        let within_group = !function.within_group.is_empty();
        if is_aggregate(&name) && (within_group || !is_window()) {
            return self.aggregate_call(function, &name);
        }
        if is_window() {
            let message = format!("window function {name} requires an OVER clause");
            return Err(self.text.error_at(SqlError::new(state::WRONG_OBJECT_TYPE, message), at));
        }
        self.refuse_aggregate_clauses(function, &name, at)?;
        if has_named(function) {
            let arguments = self.named_arguments(function, &name, at)?;
            return self.scalar_call(&name, arguments, at);
        }
        let arguments = self.arguments(function)?;
        let arguments = self.printed_arguments(&name, arguments)?;
        self.scalar_call(&name, arguments, at)
    }

    /// Returns the function's name. Only `pg_catalog` has functions.
    pub(super) fn function_name(&self, function: &Function) -> Result<String> {
        let (schema, name) = name::split(&function.name)?;
        match schema.as_deref() {
            None | Some("pg_catalog" | "public" | "information_schema") => Ok(name),
            Some(other) => {
                let error = SqlError::new(state::INVALID_SCHEMA_NAME, format!("schema \"{other}\" does not exist"));
                Err(self.text.error_at(error, name::location(&function.name)))
            }
        }
    }

    fn scalar_call(&mut self, name: &str, arguments: Vec<LocatedExpr>, at: Location) -> Result<Expr> {
        let types: Vec<Type> = arguments.iter().map(|(argument, _)| argument.data_type).collect();
        let function = match resolve_function(name, &types) {
            Ok(function) => function,
            Err(error) => {
                return match self.cast_call(name, &arguments)? {
                    Some(cast) => Ok(cast),
                    None => Err(self.text.error_at(error, at)),
                };
            }
        };
        if function.function.returns_set {
            return self.set_call(function, arguments, at);
        }
        self.call(function, arguments)
    }

    /// `date(x)`: a call of a type's name with one argument is a cast if there is no such function.
    fn cast_call(&mut self, name: &str, arguments: &[LocatedExpr]) -> Result<Option<Expr>> {
        let ([(argument, at)], Some(data_type)) = (arguments, Type::parse_name(name)) else { return Ok(None) };
        let allowed =
            argument.data_type == Type::UNKNOWN || crate::types::cast::context(argument.data_type, data_type).is_some();
        if !allowed {
            return Ok(None);
        }
        self.explicit_cast(argument.clone(), data_type, Modifier::NONE, *at).map(Some)
    }

    /// A set-returning function in an expression.
    fn set_call(&mut self, function: Resolved, arguments: Vec<LocatedExpr>, at: Location) -> Result<Expr> {
        let allowed = self.scope.frame().clause.allow_set();
        allowed.map_err(|error| self.text.error_at(error, at))?;
        let converted = self.set_arguments(&function, arguments)?;
        let (result, modifier) = (function.result, self.records.modifier_of_function(&function));
        let column = self.scope.frame().calls.set(function, converted);
        Ok(Expr::column(column, result, modifier))
    }

    /// The arguments of a set-returning function, converted.
    pub(super) fn set_arguments(&mut self, function: &Resolved, arguments: Vec<LocatedExpr>) -> Result<Vec<Expr>> {
        let wanted = function.arguments.clone();
        let convert = |(place, (argument, at)): (usize, LocatedExpr)| match wanted.get(place) {
            Some(wanted) if *wanted != Type::VOID && *wanted != Type::UNKNOWN => self.implicit(argument, *wanted, at),
            _ => self.known(argument),
        };
        arguments.into_iter().enumerate().map(convert).collect()
    }

    /// The arguments of a call, bound.
    pub(super) fn arguments(&mut self, function: &Function) -> Result<Vec<LocatedExpr>> {
        let mut bound = Vec::new();
        for argument in argument_list(function) {
            match argument {
                Argument::TableRow(table) => bound.push((self.row_of_table(table)?, name::location(table))),
                Argument::Expr(argument) => bound.push(self.placed(argument)?),
                Argument::Star => {}
                Argument::Named(..) => return Err(SqlError::unsupported("a named argument")),
            }
        }
        bound.retain(|argument| !takes_result(argument));
        Ok(bound)
    }

    /// Binds the arguments of a call with named arguments, in the order of the function's parameters. Omitted arguments in
    /// between take their defaults.
    fn named_arguments(&mut self, function: &Function, name: &str, at: Location) -> Result<Vec<LocatedExpr>> {
        let parameters = crate::functions::parameters(name);
        let names = parameters.map_or(&[][..], |parameters| parameters.names);
        let mut given: Vec<Option<LocatedExpr>> = vec![None; names.len()];
        let mut described = Vec::new();
        let mut fits = true;
        for (place, argument) in argument_list(function).iter().enumerate() {
            let (place, prefix, value) = match argument {
                Argument::Expr(value) => (Some(place), String::new(), value),
                Argument::Named(name, value) => {
                    let name = name::fold(name);
                    (names.iter().position(|known| **known == name), format!("{name} => "), value)
                }
                other => return Err(SqlError::unsupported(format_args!("the argument {other}"))),
            };
            let value = self.placed(value)?;
            described.push(format!("{prefix}{}", value.0.data_type.name()));
            match place.and_then(|place| given.get_mut(place)) {
                Some(slot) if slot.is_none() => *slot = Some(value),
                _ => fits = false,
            }
        }
        let count = given.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        let default = parameters.and_then(|parameters| parameters.default.clone());
        let or_default = |value: Option<LocatedExpr>| {
            value.or_else(|| default.clone().map(|default| (Expr::constant(default, Type::INT4), NOWHERE)))
        };
        let arguments: Option<Vec<LocatedExpr>> = given.into_iter().take(count).map(or_default).collect();
        arguments.filter(|_| fits).ok_or_else(|| {
            let message = format!("function {name}({}) does not exist", described.join(", "));
            let hint =
                "No function matches the given name and argument types. You might need to add explicit type casts.";
            self.text.error_at(SqlError::new(state::UNDEFINED_FUNCTION, message).hint(hint), at)
        })
    }

    fn refuse_aggregate_clauses(&self, function: &Function, name: &str, at: Location) -> Result<()> {
        let clause = match () {
            () if function.filter.is_some() => "FILTER",
            () if !function.within_group.is_empty() => "WITHIN GROUP",
            () if function.distinct => "DISTINCT",
            () if !function.order_by.is_empty() => "ORDER BY",
            () => return Ok(()),
        };
        let message = match clause {
            "WITHIN GROUP" => format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP"),
            _ => format!("{clause} specified, but {name} is not an aggregate function"),
        };
        Err(self.text.error_at(SqlError::new(state::WRONG_OBJECT_TYPE, message), at))
    }

    /// Binds keywords and call-like syntax that is not a function call.
    fn keyword(&mut self, function: &Function, at: Location) -> Result<Option<Expr>> {
        let [ident] = function.name.0.as_slice() else { return Ok(None) };
        if ident.quoted {
            return Ok(None);
        }
        let name = ident.value.to_ascii_lowercase();
        let is_word = function.arguments.is_none();
        let bound = match name.as_str() {
            "row" if argument_list(function).iter().any(|argument| matches!(argument, Argument::TableRow(_))) => {
                self.row_of_arguments(function)?
            }
            "coalesce" => self.coalesce(&plain_arguments(function)?)?,
            "greatest" => self.extreme(&plain_arguments(function)?, true)?,
            "least" => self.extreme(&plain_arguments(function)?, false)?,
            "nullif" => match plain_arguments(function)?.as_slice() {
                [left, right] => self.null_if(left, right, at)?,
                _ => {
                    let error = SqlError::new(state::SYNTAX_ERROR, "syntax error: NULLIF takes two arguments");
                    return Err(self.text.error_at(error, at));
                }
            },
            "current_timestamp" => self.now(function, Type::TIMESTAMPTZ, at)?,
            "localtimestamp" => self.now(function, Type::TIMESTAMP, at)?,
            "localtime" => self.now(function, Type::TIME, at)?,
            "current_date" if is_word => self.now(function, Type::DATE, at)?,
            "current_time" => return Err(self.text.error_at(SqlError::unsupported("time with time zone"), at)),
            "current_user" | "user" | "current_role" if is_word => self.call_by_name("current_user", vec![], at)?,
            "session_user" if is_word => self.call_by_name("session_user", vec![], at)?,
            "current_catalog" if is_word => self.call_by_name("current_database", vec![], at)?,
            "current_schema" if is_word => self.call_by_name("current_schema", vec![], at)?,
            _ => return Ok(None),
        };
        Ok(Some(bound))
    }

    /// `ROW(t.*, x)`: the columns of tables side by side.
    fn row_of_arguments(&mut self, function: &Function) -> Result<Expr> {
        let mut fields = Vec::new();
        for argument in argument_list(function) {
            match argument {
                Argument::TableRow(table) => {
                    fields.extend(self.table_columns(table)?.into_iter().map(|column| column.value));
                }
                Argument::Expr(argument) => {
                    let bound = self.expression(argument)?;
                    fields.push(self.known(bound)?);
                }
                other => return Err(SqlError::unsupported(format_args!("the argument {other}"))),
            }
        }
        Ok(Expr::row(fields, &[]))
    }

    /// `current_date` and the like: the transaction's start.
    fn now(&mut self, function: &Function, data_type: Type, at: Location) -> Result<Expr> {
        let modifier = match plain_arguments(function)?.as_slice() {
            [] => Modifier::NONE,
            [Syntax::Literal(Literal { value: Value::Number(digits), .. })] => {
                Modifier(digits.parse().unwrap_or(6).clamp(0, 6))
            }
            _ => return Err(self.text.error_at(SqlError::new(state::SYNTAX_ERROR, "a precision is one number"), at)),
        };
        let now = self.call_by_name("now", vec![], at)?;
        // A timestamp with time zone casts to time only by way of a timestamp.
        let now = match data_type {
            Type::TIME => self.explicit_cast(now, Type::TIMESTAMP, Modifier::NONE, NOWHERE)?,
            _ => now,
        };
        self.explicit_cast(now, data_type, modifier, NOWHERE)
    }

    /// Rejects an aggregate where the clause does not allow one.
    pub(super) fn allow_aggregate(&mut self, at: Location) -> Result<()> {
        let frame = self.scope.frame();
        let recursive = frame.names.recursive;
        frame.clause.allow_aggregate().map_err(|error| self.text.error_at(error, at))?;
        if recursive {
            let message = "aggregate functions are not allowed in a recursive query's recursive term";
            return Err(self.text.error_at(SqlError::new(state::INVALID_RECURSION, message), at));
        }
        Ok(())
    }

    /// Column of the current row that stands for a call.
    pub(super) fn call_column(column: usize, result: Type) -> Expr {
        Expr::new(ExprKind::Column(column), result)
    }
}

/// Returns whether an argument is a parameter of type `void`, as which pgjdbc declares the one that takes the result of a call.
pub(super) fn takes_result((argument, _): &LocatedExpr) -> bool {
    matches!(argument.kind, ExprKind::Parameter(_)) && argument.data_type == Type::VOID
}

/// The arguments of a call.
pub(super) fn argument_list(function: &Function) -> &[Argument] {
    function.arguments.as_deref().unwrap_or_default()
}

/// Returns the expressions of the arguments; `*` counts as no argument.
///
/// # Errors
/// 0A000 for named arguments.
pub(super) fn plain_arguments(function: &Function) -> Result<Vec<&Syntax>> {
    let arguments = argument_list(function);
    let mut plain = Vec::with_capacity(arguments.len());
    for argument in arguments {
        match argument {
            Argument::Expr(expression) => plain.push(expression),
            Argument::Star => {}
            Argument::TableRow(_) => return Err(SqlError::unsupported(format_args!("the argument {argument}"))),
            Argument::Named(..) => return Err(SqlError::unsupported("a named argument")),
        }
    }
    Ok(plain)
}

/// Returns whether any argument is named.
fn has_named(function: &Function) -> bool {
    argument_list(function).iter().any(|argument| matches!(argument, Argument::Named(..)))
}

/// Returns whether the only argument is `*`.
pub(super) fn has_star(function: &Function) -> bool {
    matches!(argument_list(function), [Argument::Star])
}
