//! Expressions.

use super::super::expression::{
    Access, Argument, Case, Exclusion, Expr, Function, Interval, LikeKind, Literal, Operator, SpecialCall, TrimSide,
    Value, Window, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec,
};
use super::super::query::OrderByExpr;
use super::{Clause, List, ListClause, separated};
use pgtypes::stack::ensure_stack;
use std::fmt::{self, Display, Formatter};

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        ensure_stack(|| expression(self, f))
    }
}

fn expression(expr: &Expr, f: &mut Formatter<'_>) -> fmt::Result {
    match expr {
        Expr::Identifier(name) => write!(f, "{name}"),
        Expr::CompoundIdentifier(names) => separated(f, names, "."),
        Expr::Default(_) => f.write_str("DEFAULT"),
        Expr::TableRow(name) => write!(f, "{name}.*"),
        Expr::Access { root, chain } => {
            write!(f, "{root}")?;
            separated(f, chain, "")
        }
        Expr::Nested(inner) => write!(f, "({inner})"),
        Expr::Literal(literal) => write!(f, "{literal}"),
        Expr::TypedLiteral { data_type, text } => write!(f, "{data_type} {text}"),
        Expr::Interval(interval) => write!(f, "{interval}"),
        Expr::Cast { expr, data_type, short: true } => write!(f, "{expr}::{data_type}"),
        Expr::Cast { expr, data_type, short: false } => write!(f, "CAST({expr} AS {data_type})"),
        Expr::Collate { expr, collation } => write!(f, "{expr} COLLATE {collation}"),
        Expr::And(operands) => separated(f, operands, " AND "),
        Expr::Or(operands) => separated(f, operands, " OR "),
        Expr::Not(operand) => write!(f, "NOT {operand}"),
        Expr::Prefix { operator, operand } => prefix(f, operator, operand),
        Expr::Infix { left, operator, right } => write!(f, "{left} {operator} {right}"),
        Expr::Quantified { left, operator, right, all } => {
            let quantifier = if *all { "ALL" } else { "ANY" };
            match **right {
                Expr::Subquery(_) => write!(f, "{left} {operator} {quantifier}{right}"),
                _ => write!(f, "{left} {operator} {quantifier}({right})"),
            }
        }
        Expr::Special { call, arguments } => special(f, call, arguments),
        Expr::Function(function) => write!(f, "{function}"),
        Expr::Case(case) => write!(f, "{case}"),
        Expr::Subquery(query) => write!(f, "({query})"),
        Expr::Exists(query) => write!(f, "EXISTS ({query})"),
        Expr::ArraySubquery { subquery, .. } => write!(f, "ARRAY({subquery})"),
        Expr::Array { elements, keyword } => write!(f, "{}[{}]", if *keyword { "ARRAY" } else { "" }, List(elements)),
        Expr::Row { fields, keyword } => {
            write!(f, "{}({})", if keyword.is_some() { "ROW" } else { "" }, List(fields))
        }
        _ => test(expr, f),
    }
}

/// Expressions that test a value.
fn test(expr: &Expr, f: &mut Formatter<'_>) -> fmt::Result {
    let not = |negated: &bool| if *negated { "NOT " } else { "" };
    match expr {
        Expr::IsNull { expr, negated } => write!(f, "{expr} IS {}NULL", not(negated)),
        Expr::IsTruth { expr, truth, negated } => {
            let truth = match truth {
                Some(true) => "TRUE",
                Some(false) => "FALSE",
                None => "UNKNOWN",
            };
            write!(f, "{expr} IS {}{truth}", not(negated))
        }
        Expr::IsDistinct { left, right, negated } => write!(f, "{left} IS {}DISTINCT FROM {right}", not(negated)),
        Expr::InList { expr, list, negated } => write!(f, "{expr} {}IN ({})", not(negated), List(list)),
        Expr::InSubquery { expr, subquery, negated } => write!(f, "{expr} {}IN ({subquery})", not(negated)),
        Expr::Between { expr, low, high, symmetric, negated } => {
            let symmetric = if *symmetric { "SYMMETRIC " } else { "" };
            write!(f, "{expr} {}BETWEEN {symmetric}{low} AND {high}", not(negated))
        }
        Expr::Like { kind, expr, pattern, escape, negated } => {
            let kind = match kind {
                LikeKind::Like => "LIKE",
                LikeKind::ILike => "ILIKE",
                LikeKind::Similar => "SIMILAR TO",
            };
            write!(f, "{expr} {}{kind} {pattern}{}", not(negated), Clause(" ESCAPE ", escape.as_deref()))
        }
        _ => Ok(()),
    }
}

/// A symbol before its operand, apart from one that begins with a symbol too.
fn prefix(f: &mut Formatter<'_>, operator: &str, operand: &Expr) -> fmt::Result {
    let operand = operand.to_string();
    let apart = operand.starts_with(|first: char| first.is_ascii_punctuation() && !"('\"$_[".contains(first));
    write!(f, "{operator}{}{operand}", if apart { " " } else { "" })
}

fn special(f: &mut Formatter<'_>, call: &SpecialCall, arguments: &[Expr]) -> fmt::Result {
    match (call, arguments) {
        (SpecialCall::AtTimeZone, [time, zone]) => write!(f, "{time} AT TIME ZONE {zone}"),
        (SpecialCall::Extract { field, comma }, [time]) => {
            write!(f, "EXTRACT({field}{}{time})", if *comma { ", " } else { " FROM " })
        }
        (SpecialCall::Overlay, [text, new, from, count @ ..]) => {
            write!(f, "OVERLAY({text} PLACING {new} FROM {from}{})", ListClause(" FOR ", count))
        }
        (SpecialCall::Position, [part, text]) => write!(f, "POSITION({part} IN {text})"),
        (SpecialCall::Substring { from: true, comma: false, .. }, [text, from, count @ ..]) => {
            write!(f, "{}({text} FROM {from}{})", name(call), ListClause(" FOR ", count))
        }
        (SpecialCall::Substring { from: false, comma: false, .. }, [text, count @ ..]) => {
            write!(f, "{}({text}{})", name(call), ListClause(" FOR ", count))
        }
        (SpecialCall::Trim { side, comma: false }, [text, characters @ ..]) => {
            let side = match side {
                Some(TrimSide::Both) => "BOTH ",
                Some(TrimSide::Leading) => "LEADING ",
                Some(TrimSide::Trailing) => "TRAILING ",
                None => "",
            };
            match characters {
                [] => write!(f, "TRIM({side}{text})"),
                characters => write!(f, "TRIM({side}{} FROM {text})", List(characters)),
            }
        }
        _ => write!(f, "{}({})", name(call), List(arguments)),
    }
}

fn name(call: &SpecialCall) -> &'static str {
    match call {
        SpecialCall::AtTimeZone => "TIMEZONE",
        SpecialCall::Ceil => "CEIL",
        SpecialCall::Floor => "FLOOR",
        SpecialCall::Extract { .. } => "EXTRACT",
        SpecialCall::Overlay => "OVERLAY",
        SpecialCall::Position => "POSITION",
        SpecialCall::Substring { short: true, .. } => "SUBSTR",
        SpecialCall::Substring { short: false, .. } => "SUBSTRING",
        SpecialCall::Trim { .. } => "TRIM",
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Number(digits) => f.write_str(digits),
            Value::String(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Value::Boolean(value) => write!(f, "{value}"),
            Value::Null => f.write_str("NULL"),
            Value::Parameter(parameter) => f.write_str(parameter),
        }
    }
}

impl Display for Interval {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "INTERVAL {}{}", self.text, Clause(" ", self.leading.as_ref()))?;
        match (self.leading_precision, self.fraction_precision, &self.last) {
            (Some(digits), Some(fraction), None) => write!(f, " ({digits}, {fraction})"),
            (digits, fraction, last) => {
                if let Some(digits) = digits {
                    write!(f, " ({digits})")?;
                }
                write!(f, "{}", Clause(" TO ", last.as_ref()))?;
                if let Some(fraction) = fraction {
                    write!(f, " ({fraction})")?;
                }
                Ok(())
            }
        }
    }
}

impl Display for Access {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Access::Field(name) => write!(f, ".{name}"),
            Access::Index(index) => write!(f, "[{index}]"),
            Access::Slice(from, to) => write!(f, "[{}:{}]", Clause("", from.as_ref()), Clause("", to.as_ref())),
        }
    }
}

impl Display for Operator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Operator::Symbol(symbol) => f.write_str(symbol),
            Operator::Qualified(words) => write!(f, "OPERATOR({})", words.join(".")),
        }
    }
}

impl Display for Case {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "CASE{}", Clause(" ", self.operand.as_ref()))?;
        for branch in &self.branches {
            write!(f, " WHEN {} THEN {}", branch.condition, branch.result)?;
        }
        write!(f, "{} END", Clause(" ELSE ", self.otherwise.as_ref()))
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        if let Some(arguments) = &self.arguments {
            let distinct = if self.distinct { "DISTINCT " } else { "" };
            let order = if arguments.is_empty() { "ORDER BY " } else { " ORDER BY " };
            write!(f, "({distinct}{}{})", List(arguments), ListClause(order, &self.order_by))?;
        }
        if !self.within_group.is_empty() {
            write!(f, " WITHIN GROUP (ORDER BY {})", List(&self.within_group))?;
        }
        if let Some(filter) = &self.filter {
            write!(f, " FILTER (WHERE {filter})")?;
        }
        write!(f, "{}", Clause(" OVER ", self.over.as_ref()))
    }
}

impl Display for Argument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Expr(value) => write!(f, "{value}"),
            Argument::Named(name, value) => write!(f, "{name} => {value}"),
            Argument::Star => f.write_str("*"),
            Argument::TableRow(table) => write!(f, "{table}.*"),
        }
    }
}

impl Display for Window {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Window::Named(name) => write!(f, "{name}"),
            Window::Spec(spec) => write!(f, "({spec})"),
        }
    }
}

impl Display for WindowSpec {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let keys = |word: &'static str, keys: &[&dyn Display]| {
            let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
            (!keys.is_empty()).then(|| format!("{word} BY {}", keys.join(", ")))
        };
        let partition: Vec<&dyn Display> = self.partition_by.iter().map(|key| key as &dyn Display).collect();
        let order: Vec<&dyn Display> = self.order_by.iter().map(|key: &OrderByExpr| key as &dyn Display).collect();
        let parts = [
            self.base.as_ref().map(ToString::to_string),
            keys("PARTITION", &partition),
            keys("ORDER", &order),
            self.frame.as_ref().map(ToString::to_string),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }
}

impl Display for WindowFrame {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let units = match self.units {
            WindowFrameUnits::Rows => "ROWS",
            WindowFrameUnits::Range => "RANGE",
            WindowFrameUnits::Groups => "GROUPS",
        };
        match &self.end {
            Some(end) => write!(f, "{units} BETWEEN {} AND {end}", self.start)?,
            None => write!(f, "{units} {}", self.start)?,
        }
        f.write_str(match self.exclusion {
            None => "",
            Some(Exclusion::NoOthers) => " EXCLUDE NO OTHERS",
            Some(Exclusion::CurrentRow) => " EXCLUDE CURRENT ROW",
            Some(Exclusion::Group) => " EXCLUDE GROUP",
            Some(Exclusion::Ties) => " EXCLUDE TIES",
        })
    }
}

impl Display for WindowFrameBound {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            WindowFrameBound::CurrentRow => f.write_str("CURRENT ROW"),
            WindowFrameBound::Preceding(None) => f.write_str("UNBOUNDED PRECEDING"),
            WindowFrameBound::Following(None) => f.write_str("UNBOUNDED FOLLOWING"),
            WindowFrameBound::Preceding(Some(rows)) => write!(f, "{rows} PRECEDING"),
            WindowFrameBound::Following(Some(rows)) => write!(f, "{rows} FOLLOWING"),
        }
    }
}
