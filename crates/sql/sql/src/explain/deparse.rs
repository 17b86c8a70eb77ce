//! Expressions as text, in PostgreSQL's printed form.

use crate::functions::Resolved;
use crate::plan::{Expr, ExprKind, Subquery, SubqueryKind};
use crate::stack::ensure_stack;
use crate::types::{Datum, Styles, Type, text};

/// Names needed to print an expression.
pub(super) struct Deparser<'n> {
    /// The columns of the row at hand.
    pub columns: &'n [String],
    /// Columns of the enclosing rows, the nearest last.
    pub outer: &'n [Vec<String>],
    /// Names a subquery's plan.
    pub subquery: &'n mut dyn FnMut(&Subquery) -> String,
}

impl Deparser<'_> {
    /// An expression's text.
    pub fn text(&mut self, expression: &Expr) -> String {
        ensure_stack(|| self.of(expression))
    }

    /// Several, separated by commas.
    pub fn list(&mut self, expressions: &[Expr]) -> String {
        self.joined(expressions, ", ")
    }

    fn of(&mut self, expression: &Expr) -> String {
        match &expression.kind {
            ExprKind::Constant(value) => constant(value, expression.data_type),
            ExprKind::Column(column) => self.columns.get(*column).cloned().unwrap_or_else(|| format!("?{column}")),
            ExprKind::Outer { depth, column } => {
                let row = self.outer.len().checked_sub(*depth).and_then(|at| self.outer.get(at));
                row.and_then(|row| row.get(*column)).cloned().unwrap_or_else(|| format!("?{depth}.{column}"))
            }
            ExprKind::Parameter(number) => format!("${}", number.saturating_add(1)),
            ExprKind::Call(function, arguments) => self.call(function, arguments),
            ExprKind::Cast { input, .. } => {
                format!("({})::{}", self.text(input), expression.data_type.format(expression.modifier))
            }
            ExprKind::Domain(input, rules) => format!("({})::{}", self.text(input), rules.shown),
            ExprKind::And(all) => format!("({})", self.joined(all, " AND ")),
            ExprKind::Or(any) => format!("({})", self.joined(any, " OR ")),
            ExprKind::Not(input) => format!("(NOT {})", self.text(input)),
            ExprKind::IsNull(input) => format!("({} IS NULL)", self.text(input)),
            ExprKind::IsSame(left, right) => {
                format!("({} IS NOT DISTINCT FROM {})", self.text(left), self.text(right))
            }
            ExprKind::IsTruth(input, truth) => {
                let truth = truth.map_or("UNKNOWN", |truth| if truth { "TRUE" } else { "FALSE" });
                format!("({} IS {truth})", self.text(input))
            }
            ExprKind::Compare(comparison, left, right) => {
                format!("({} {} {})", self.text(left), comparison.symbol(), self.text(right))
            }
            ExprKind::Case { branches, otherwise } => self.case(branches, otherwise.as_deref()),
            ExprKind::Coalesce(all) => format!("COALESCE({})", self.list(all)),
            ExprKind::NullIf(left, right) => format!("NULLIF({}, {})", self.text(left), self.text(right)),
            ExprKind::Extreme { greatest, of } => {
                format!("{}({})", if *greatest { "GREATEST" } else { "LEAST" }, self.list(of))
            }
            ExprKind::InList(value, list) => format!("({} = ANY (ARRAY[{}]))", self.text(value), self.list(list)),
            ExprKind::Quantified { operator, left, array, all } => {
                let quantifier = if *all { "ALL" } else { "ANY" };
                format!("({} {} {quantifier} ({}))", self.text(left), operator.function.name, self.text(array))
            }
            ExprKind::Array(elements) => format!("ARRAY[{}]", self.list(elements)),
            ExprKind::Subscript(array, subscript) => format!("{}[{}]", self.text(array), self.text(subscript)),
            ExprKind::Slice(array, from, to) => {
                let array = self.text(array);
                let mut bound = |bound: &Option<Box<Expr>>| bound.as_ref().map_or(String::new(), |b| self.text(b));
                let (from, to) = (bound(from), bound(to));
                format!("{array}[{from}:{to}]")
            }
            ExprKind::Row(fields, _) => format!("ROW({})", self.list(fields)),
            ExprKind::Field(record, field) => format!("({}).f{}", self.text(record), field.saturating_add(1)),
            ExprKind::Subquery(subquery) => self.of_subquery(subquery),
        }
    }

    fn joined(&mut self, expressions: &[Expr], separator: &str) -> String {
        expressions.iter().map(|expression| self.text(expression)).collect::<Vec<_>>().join(separator)
    }

    fn call(&mut self, function: &Resolved, arguments: &[Expr]) -> String {
        let name = function.function.name;
        let is_operator = !name.starts_with(|first: char| first.is_alphabetic() || first == '_');
        match arguments {
            [left, right] if is_operator => format!("({} {name} {})", self.text(left), self.text(right)),
            [right] if is_operator => format!("({name} {})", self.text(right)),
            _ => format!("{name}({})", self.list(arguments)),
        }
    }

    fn case(&mut self, branches: &[(Expr, Expr)], otherwise: Option<&Expr>) -> String {
        let mut out = "CASE".to_owned();
        for (condition, result) in branches {
            out += &format!(" WHEN {} THEN {}", self.text(condition), self.text(result));
        }
        if let Some(otherwise) = otherwise {
            out += &format!(" ELSE {}", self.text(otherwise));
        }
        out + " END"
    }

    fn of_subquery(&mut self, subquery: &Subquery) -> String {
        let name = (self.subquery)(subquery);
        match &subquery.kind {
            SubqueryKind::Exists => format!("EXISTS{name}"),
            SubqueryKind::Array => format!("ARRAY{name}"),
            SubqueryKind::Scalar => name,
            SubqueryKind::Quantified { left, operators, all, .. } => {
                let operator = operators.first().map_or("=", |operator| operator.function.name);
                let quantifier = if *all { "ALL" } else { "ANY" };
                format!("({} {operator} {quantifier} {name})", self.list(left))
            }
        }
    }
}

/// A constant: numbers and truths plain, everything else quoted with its type.
fn constant(value: &Datum, data_type: Type) -> String {
    let plain = || text::to_string(value, data_type, &Styles::default());
    match value {
        Datum::Null => format!("NULL::{}", data_type.name()),
        Datum::Bool(_) => {
            if plain() == "t" {
                "true".to_owned()
            } else {
                "false".to_owned()
            }
        }
        Datum::Int4(number) if *number >= 0 => plain(),
        _ => {
            let quoted = plain().replace('\'', "''");
            format!("'{quoted}'::{}", data_type.name())
        }
    }
}
