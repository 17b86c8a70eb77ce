//! Conditions on a column of a scan, in a form that an index can use.

use super::columns::{columns_of, is_volatile};
use crate::catalog::VirtualTable;
use crate::functions::system_column;
use crate::plan::{Comparison, Expr, ExprKind, Scan};
use crate::types::{Datum, Scalar, Type};
use std::ops::Bound;

/// A condition on a column of the table, or on an expression that an index has, by its number ([`IndexRules::number_of`]).
pub enum ColumnCondition {
    /// It equals this.
    Equal(usize, Expr),
    /// It equals one of these.
    OneOf(usize, Vec<Expr>),
    /// It equals an element of this array.
    AnyOf(usize, Expr),
    /// It lies above this.
    Lower(usize, Bound<Expr>),
    /// It lies below this.
    Upper(usize, Bound<Expr>),
    /// The column lies between these bounds; the condition is stricter than that.
    Between(usize, Bound<Expr>, Bound<Expr>),
}

/// Returns the fact of a condition over a table's row, if it compares a column with a value that does not depend on the row.
pub fn column_condition(scan: &Scan, condition: &Expr) -> Option<ColumnCondition> {
    match &condition.kind {
        ExprKind::Compare(comparison, left, right) => compared(scan, *comparison, left, right)
            .or_else(|| compared(scan, comparison.mirrored(), right, left))
            .or_else(|| at_place(*comparison, left, right))
            .or_else(|| at_place(*comparison, right, left)),
        ExprKind::InList(value, list) => {
            let column = column_of(scan, value)?;
            list.iter().all(is_constant).then(|| ColumnCondition::OneOf(column, list.clone()))
        }
        ExprKind::Quantified { operator, left, array, all: false } if operator.function.name == "=" => {
            let column = column_of(scan, left)?;
            let element = Type::of(array.data_type.scalar);
            if element != left.data_type {
                return None;
            }
            match elements(array, element) {
                Some(list) => Some(ColumnCondition::OneOf(column, list)),
                None => is_constant(array).then(|| ColumnCondition::AnyOf(column, (**array).clone())),
            }
        }
        ExprKind::Or(any) => {
            let mut of = None;
            let mut list = Vec::new();
            for part in any {
                let Some(ColumnCondition::Equal(column, value)) = column_condition(scan, part) else { return None };
                if *of.get_or_insert(column) != column {
                    return None;
                }
                list.push(value);
            }
            Some(ColumnCondition::OneOf(of?, list))
        }
        ExprKind::Call(function, arguments) if function.function.name == "~~" => {
            let [value, pattern] = &arguments[..] else { return None };
            let column = column_of(scan, value)?;
            if !scan
                .rules
                .type_of(&scan.table, column)
                .is_some_and(|of| matches!(of.scalar, Scalar::Text | Scalar::Varchar))
            {
                return None;
            }
            let ExprKind::Constant(Datum::Text(pattern)) = &pattern.kind else { return None };
            let prefix = literal_prefix(pattern)?;
            let text = |text: &str| Expr::constant(Datum::Text(text.into()), Type::TEXT);
            let upper = next_text(&prefix).map_or(Bound::Unbounded, |next| Bound::Excluded(text(&next)));
            Some(ColumnCondition::Between(column, Bound::Included(text(&prefix)), upper))
        }
        _ => None,
    }
}

/// `ctid = place` of a table whose primary key is one integer: the key that is at the place.
fn at_place(comparison: Comparison, ctid: &Expr, place: &Expr) -> Option<ColumnCondition> {
    let ExprKind::Call(function, key) = &ctid.kind else { return None };
    let [Expr { kind: ExprKind::Column(column), data_type, .. }] = key[..] else { return None };
    if comparison != Comparison::Equal || !system_column::is_ctid(function) || !is_constant(place) {
        return None;
    }
    let value = match (system_column::key_of_ctid(data_type), &place.kind) {
        (Some(inverse), _) => {
            let result = inverse.result;
            Expr::new(ExprKind::Call(inverse, vec![place.clone()]), result)
        }
        (None, ExprKind::Constant(place)) if data_type == Type::INT8 => {
            Expr::constant(system_column::bigint_at(place)?, Type::INT8)
        }
        _ => return None,
    };
    Some(ColumnCondition::Equal(column, value))
}

fn compared(scan: &Scan, comparison: Comparison, left: &Expr, right: &Expr) -> Option<ColumnCondition> {
    let column = column_of(scan, left)?;
    if !is_constant(right) {
        return None;
    }
    let value = right.clone();
    Some(match comparison {
        Comparison::Equal => ColumnCondition::Equal(column, value),
        Comparison::Less => ColumnCondition::Upper(column, Bound::Excluded(value)),
        Comparison::LessOrEqual => ColumnCondition::Upper(column, Bound::Included(value)),
        Comparison::Greater => ColumnCondition::Lower(column, Bound::Excluded(value)),
        Comparison::GreaterOrEqual => ColumnCondition::Lower(column, Bound::Included(value)),
        Comparison::NotEqual => return None,
    })
}

/// The column, or the expression of an index, that an expression is, or widens without changing the order: an integer to a wider one,
/// varchar to text.
pub fn column_of(scan: &Scan, expression: &Expr) -> Option<usize> {
    if let Some(number) = scan.rules.number_of(&scan.table, expression) {
        return Some(number);
    }
    let (inner, widened) = match &expression.kind {
        ExprKind::Cast { input, .. } => (&**input, Some(expression.data_type)),
        _ => (expression, None),
    };
    let column = match inner.kind {
        ExprKind::Column(column) => column,
        _ => scan.rules.number_of(&scan.table, inner)?,
    };
    let own = scan.rules.type_of(&scan.table, column)?;
    let keeps_order = match widened {
        None => true,
        Some(Type::INT4) => own == Type::INT2,
        Some(Type::INT8) => own == Type::INT2 || own == Type::INT4,
        Some(Type::TEXT) => own == Type::VARCHAR,
        Some(_) => false,
    };
    keeps_order.then_some(column)
}

/// Returns the only name that a condition leaves of a computed table, if the table finds rows by their names. The condition stays: it
/// may be stricter.
pub fn wanted_name(table: &VirtualTable, condition: &Expr) -> Option<Expr> {
    let at = table.name_column()?;
    let ExprKind::Compare(Comparison::Equal, left, right) = &condition.kind else { return None };
    let is_column = |expression: &Expr| match &expression.kind {
        ExprKind::Column(column) => *column == at,
        ExprKind::Cast { input, .. } => {
            expression.data_type == Type::TEXT && matches!(input.kind, ExprKind::Column(column) if column == at)
        }
        _ => false,
    };
    let is_name = |expression: &Expr| {
        matches!(expression.data_type, Type::NAME | Type::TEXT | Type::VARCHAR)
            && is_constant(expression)
            && !expression.any(|part| part.subquery().is_some())
    };
    [(left, right), (right, left)]
        .into_iter()
        .find_map(|(column, name)| (is_column(column) && is_name(name)).then(|| (**name).clone()))
}

/// Returns whether an expression has one value for a whole scan.
fn is_constant(expression: &Expr) -> bool {
    columns_of(expression).is_empty() && !is_volatile(expression)
}

/// The elements of an array that are known one by one.
fn elements(array: &Expr, element: Type) -> Option<Vec<Expr>> {
    match &array.kind {
        ExprKind::Array(list) if list.iter().all(is_constant) => Some(list.clone()),
        ExprKind::Constant(Datum::Array(array)) => {
            let flat = array.elements.iter().all(|value| !matches!(value, Datum::Array(_)));
            flat.then(|| array.elements.iter().map(|value| Expr::constant(value.clone(), element)).collect())
        }
        _ => None,
    }
}

/// Returns the prefix of every text that is LIKE the pattern, if it has one.
fn literal_prefix(pattern: &str) -> Option<String> {
    let mut prefix = String::new();
    let mut rest = pattern.chars();
    while let Some(next) = rest.next() {
        match next {
            '%' | '_' => break,
            '\\' => prefix.push(rest.next()?),
            literal => prefix.push(literal),
        }
    }
    (!prefix.is_empty()).then_some(prefix)
}

/// The least text above all that start with this one.
fn next_text(prefix: &str) -> Option<String> {
    let mut kept: Vec<char> = prefix.chars().collect();
    while let Some(last) = kept.pop() {
        let next = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32);
        if let Some(next) = next {
            kept.push(next);
            return Some(kept.into_iter().collect());
        }
    }
    None
}
