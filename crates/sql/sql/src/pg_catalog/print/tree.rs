//! Prints the bound tree.

use super::constant::{constant, literal as quoted};
use super::operator::{Place, is_plain_and, is_plain_binary, is_plain_or, is_plain_test};
use crate::context::Names;
use crate::functions::Resolved;
use crate::pg_catalog::names;
use crate::plan::{Expr, ExprKind};
use crate::types::{Datum, Modifier, Type, defined};

/// Writes expressions. `None`: an expression of a kind that definitions do not have.
pub(super) struct Printer<'p, 's> {
    pub(super) names: &'p mut Names<'s>,
    /// The names of the row's columns, quoted.
    pub(super) columns: Vec<String>,
    pub(super) pretty: bool,
}

impl Printer<'_, '_> {
    /// The whole expression: an implicit cast around it is not shown.
    pub(super) fn top(&mut self, expression: &Expr) -> Option<String> {
        match &expression.kind {
            ExprKind::Cast { input, explicit: false } => self.top(input),
            _ => self.print(expression, Place::Enclosed),
        }
    }

    fn print(&mut self, expression: &Expr, place: Place<'_>) -> Option<String> {
        Some(match &expression.kind {
            ExprKind::Constant(value) => constant(value, expression.data_type, self.pretty),
            ExprKind::Column(at) => self.columns.get(*at)?.clone(),
            ExprKind::Call(function, arguments) => self.call(function, arguments, place)?,
            ExprKind::Cast { input, .. } => self.cast(input, expression.data_type, expression.modifier)?,
            ExprKind::Domain(input, rules) => {
                let input = self.print(input, Place::Tight)?;
                if self.pretty { format!("{input}::{}", rules.shown) } else { format!("({input})::{}", rules.shown) }
            }
            ExprKind::And(parts) => {
                let printed = self.each(parts, Place::And)?.join(" AND ");
                self.enclosed(printed, is_plain_and(place))
            }
            ExprKind::Or(parts) => {
                let printed = self.each(parts, Place::Or)?.join(" OR ");
                self.enclosed(printed, is_plain_or(place))
            }
            ExprKind::Not(input) => self.negated(input, place)?,
            ExprKind::IsNull(input) => self.test(input, "IS NULL", place)?,
            ExprKind::IsTruth(input, truth) => self.test(input, truth_test(*truth, false), place)?,
            ExprKind::IsSame(left, right) => {
                let same = self.infix(left, "IS DISTINCT FROM", right, Place::Not)?;
                let printed = format!("NOT {same}");
                self.enclosed(printed, is_plain_and(place))
            }
            ExprKind::Compare(comparison, left, right) => self.infix(left, comparison.symbol(), right, place)?,
            ExprKind::Case { branches, otherwise } => self.case(branches, otherwise.as_deref())?,
            ExprKind::Coalesce(parts) => format!("COALESCE({})", self.list(parts)?),
            ExprKind::NullIf(left, right) => {
                format!("NULLIF({}, {})", self.print(left, Place::Enclosed)?, self.print(right, Place::Enclosed)?)
            }
            ExprKind::Extreme { greatest, of } => {
                format!("{}({})", if *greatest { "GREATEST" } else { "LEAST" }, self.list(of)?)
            }
            ExprKind::InList(value, list) => self.in_list(value, list, false, place)?,
            ExprKind::Quantified { operator, left, array, all } => {
                let left = self.operand(left, operator.function.name, true)?;
                let array = self.print(array, Place::Enclosed)?;
                let word = if *all { "ALL" } else { "ANY" };
                let printed = format!("{left} {} {word} ({array})", operator.function.name);
                self.enclosed(printed, matches!(place, Place::Enclosed))
            }
            ExprKind::Array(elements) => format!("ARRAY[{}]", self.list(elements)?),
            ExprKind::Subscript(array, at) => {
                format!("{}[{}]", self.print(array, Place::Tight)?, self.print(at, Place::Enclosed)?)
            }
            ExprKind::Slice(array, from, to) => {
                let mut bound = |at: &Option<Box<Expr>>| match at {
                    Some(at) => self.print(at, Place::Enclosed),
                    None => Some(String::new()),
                };
                let (from, to) = (bound(from)?, bound(to)?);
                format!("{}[{from}:{to}]", self.print(array, Place::Tight)?)
            }
            ExprKind::Row(fields, _) => format!("ROW({})", self.list(fields)?),
            ExprKind::Field(record, at) => {
                let found = record.data_type.composite().and_then(defined::find)?;
                let field = names::quote(&found.attributes.get(*at)?.name);
                format!("({}).{field}", self.print(record, Place::Enclosed)?)
            }
            ExprKind::Outer { .. } | ExprKind::Parameter(_) | ExprKind::Subquery(_) => return None,
        })
    }

    /// In parentheses, unless it reads the same without and the text shall be pretty.
    fn enclosed(&self, printed: String, plain: bool) -> String {
        if self.pretty && plain { printed } else { format!("({printed})") }
    }

    fn each(&mut self, parts: &[Expr], place: Place<'_>) -> Option<Vec<String>> {
        parts.iter().map(|part| self.print(part, place)).collect()
    }

    fn list(&mut self, parts: &[Expr]) -> Option<String> {
        Some(self.each(parts, Place::Enclosed)?.join(", "))
    }

    /// A side of an operator: varchar has no operators of its own and shows as text.
    fn operand(&mut self, operand: &Expr, symbol: &str, left: bool) -> Option<String> {
        if operand.data_type == Type::VARCHAR {
            return match &operand.kind {
                ExprKind::Constant(value) => Some(constant(value, Type::TEXT, self.pretty)),
                _ => self.cast(operand, Type::TEXT, Modifier::NONE),
            };
        }
        match &operand.kind {
            ExprKind::Cast { input, explicit: false } if compares_as_is(input.data_type, operand.data_type) => {
                self.operand(input, symbol, left)
            }
            ExprKind::Constant(value) if matches!(operand.data_type, Type::INT2 | Type::INT8) => {
                Some(small_integer(value).unwrap_or_else(|| constant(value, operand.data_type, self.pretty)))
            }
            _ => self.print(operand, Place::Operand { symbol, left }),
        }
    }

    fn infix(&mut self, left: &Expr, symbol: &str, right: &Expr, place: Place<'_>) -> Option<String> {
        let (left, right) = (self.operand(left, symbol, true)?, self.operand(right, symbol, false)?);
        Some(self.enclosed(format!("{left} {symbol} {right}"), is_plain_binary(symbol, place)))
    }

    fn test(&mut self, input: &Expr, test: &str, place: Place<'_>) -> Option<String> {
        let input = self.print(input, Place::Tight)?;
        Some(self.enclosed(format!("{input} {test}"), is_plain_test(place)))
    }

    /// NOT, and the tests that have a negation of their own.
    fn negated(&mut self, input: &Expr, place: Place<'_>) -> Option<String> {
        match &input.kind {
            ExprKind::IsNull(input) => self.test(input, "IS NOT NULL", place),
            ExprKind::IsTruth(input, truth) => self.test(input, truth_test(*truth, true), place),
            ExprKind::IsSame(left, right) => self.infix(left, "IS DISTINCT FROM", right, place),
            ExprKind::InList(value, list) => self.in_list(value, list, true, place),
            ExprKind::Call(function, arguments) if negation(function.function.name).is_some() => {
                let [left, right] = &arguments[..] else { return None };
                self.infix(left, negation(function.function.name)?, right, place)
            }
            _ => {
                let printed = format!("NOT {}", self.print(input, Place::Not)?);
                Some(self.enclosed(printed, is_plain_and(place)))
            }
        }
    }

    /// PostgreSQL makes a comparison with an array of a list, and of a list of one a comparison.
    fn in_list(&mut self, value: &Expr, list: &[Expr], negated: bool, place: Place<'_>) -> Option<String> {
        let symbol = if negated { "<>" } else { "=" };
        if let [only] = list {
            return self.infix(value, symbol, only, place);
        }
        let is_varchar = |expression: &Expr| match &expression.kind {
            ExprKind::Cast { input, explicit: false } => input.data_type == Type::VARCHAR,
            _ => expression.data_type == Type::VARCHAR,
        };
        let mut elements = Vec::new();
        for element in list {
            elements.push(match &element.kind {
                ExprKind::Constant(constant) if is_varchar(value) => {
                    self::constant(constant, Type::VARCHAR, self.pretty)
                }
                _ => self.print(element, Place::Enclosed)?,
            });
        }
        let mut array = format!("ARRAY[{}]", elements.join(", "));
        if is_varchar(value) {
            array = if self.pretty { format!("{array}::text[]") } else { format!("({array})::text[]") };
        }
        let left = self.operand(value, symbol, true)?;
        let word = if negated { "ALL" } else { "ANY" };
        Some(self.enclosed(format!("{left} {symbol} {word} ({array})"), matches!(place, Place::Enclosed)))
    }

    fn cast(&mut self, input: &Expr, data_type: Type, modifier: Modifier) -> Option<String> {
        let name = data_type.format(modifier);
        if let ExprKind::Constant(value) = &input.kind
            && input.data_type == Type::UNKNOWN
            && let Some(literal) = value.as_text()
        {
            return Some(format!("{}::{name}", quoted(literal)));
        }
        if self.pretty {
            return Some(format!("{}::{name}", self.print(input, Place::Tight)?));
        }
        Some(format!("({})::{name}", self.print(input, Place::Enclosed)?))
    }

    fn case(&mut self, branches: &[(Expr, Expr)], otherwise: Option<&Expr>) -> Option<String> {
        let mut printed = String::from("\nCASE");
        for (condition, result) in branches {
            let condition = self.print(condition, Place::Enclosed)?;
            printed += &format!("\n    WHEN {condition} THEN {}", self.print(result, Place::Enclosed)?);
        }
        match otherwise {
            Some(otherwise) => printed += &format!("\n    ELSE {}", self.print(otherwise, Place::Enclosed)?),
            None => {
                let (_, result) = branches.first()?;
                printed += &format!("\n    ELSE {}", constant(&Datum::Null, result.data_type, self.pretty));
            }
        }
        Some(printed + "\nEND")
    }

    /// An operator, a function, or one of the functions that SQL has words for.
    fn call(&mut self, function: &Resolved, arguments: &[Expr], place: Place<'_>) -> Option<String> {
        let name = function.function.name;
        if !name.starts_with(|first: char| first.is_alphabetic() || first == '_') {
            return match arguments {
                [operand] => {
                    let operand = self.print(operand, Place::Operand { symbol: name, left: false })?;
                    Some(self.enclosed(format!("{name} {operand}"), is_plain_test(place)))
                }
                [left, right] => self.infix(left, name, right, place),
                _ => None,
            };
        }
        match (name, arguments) {
            ("current_date" | "current_timestamp" | "localtimestamp" | "current_user" | "session_user", []) => {
                Some(name.to_uppercase())
            }
            ("timezone", [zone, time]) => {
                let (time, zone) = (self.print(time, Place::Tight)?, self.print(zone, Place::Tight)?);
                Some(format!("({time} AT TIME ZONE {zone})"))
            }
            ("extract", [field, source]) => {
                let ExprKind::Constant(Datum::Text(field)) = &field.kind else { return None };
                Some(format!("EXTRACT({field} FROM {})", self.argument(source, function, 1)?))
            }
            ("position", [text, part]) => {
                let (text, part) = (self.argument(text, function, 0)?, self.argument(part, function, 1)?);
                Some(format!("POSITION(({part}) IN ({text}))"))
            }
            ("regclassin", [name]) => self.relation(name),
            _ => {
                let arguments: Option<Vec<String>> =
                    (0..).zip(arguments).map(|(at, argument)| self.argument(argument, function, at)).collect();
                Some(format!("{}({})", names::quote(name), arguments?.join(", ")))
            }
        }
    }

    /// An argument of a function: varchar shows the cast to text that it passes through.
    fn argument(&mut self, argument: &Expr, function: &Resolved, at: usize) -> Option<String> {
        let wanted = function.arguments.get(at).copied();
        if argument.data_type == Type::VARCHAR && wanted == Some(Type::TEXT) {
            return self.operand(argument, "", true);
        }
        self.print(argument, Place::Enclosed)
    }

    /// `'name'::regclass`: with the name as it must be now.
    fn relation(&mut self, name: &Expr) -> Option<String> {
        let ExprKind::Constant(Datum::Text(name)) = &name.kind else { return None };
        let (schema, bare) = names::relation_name(name).ok()?;
        let found = names::find_relation(self.names, schema.as_deref(), &bare).ok()?;
        let printed = match found {
            Some(oid) => names::print_relation(self.names, oid).ok()??,
            None => name.to_string(),
        };
        Some(format!("{}::regclass", quoted(&printed)))
    }
}

/// Returns whether PostgreSQL has operators for the two types together, so that it casts neither.
fn compares_as_is(from: Type, to: Type) -> bool {
    const FAMILIES: [&[Type]; 3] = [
        &[Type::INT2, Type::INT4, Type::INT8],
        &[Type::FLOAT4, Type::FLOAT8],
        &[Type::DATE, Type::TIMESTAMP, Type::TIMESTAMPTZ],
    ];
    FAMILIES.iter().any(|family| family.contains(&from) && family.contains(&to))
}

/// A literal that was an integer before it became an operand.
fn small_integer(value: &Datum) -> Option<String> {
    let number = i32::try_from(value.as_i64()?).ok()?;
    Some(if number < 0 { format!("'{number}'::integer") } else { number.to_string() })
}

/// The operators with an opposite of their own.
fn negation(symbol: &str) -> Option<&'static str> {
    match symbol {
        "~~" => Some("!~~"),
        "~~*" => Some("!~~*"),
        "~" => Some("!~"),
        "~*" => Some("!~*"),
        _ => None,
    }
}

fn truth_test(truth: Option<bool>, negated: bool) -> &'static str {
    match (truth, negated) {
        (Some(true), false) => "IS TRUE",
        (Some(false), false) => "IS FALSE",
        (None, false) => "IS UNKNOWN",
        (Some(true), true) => "IS NOT TRUE",
        (Some(false), true) => "IS NOT FALSE",
        (None, true) => "IS NOT UNKNOWN",
    }
}
