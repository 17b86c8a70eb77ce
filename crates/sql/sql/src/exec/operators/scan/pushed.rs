//! Pushdown of scans: the part of the filter that is a [`Predicate`], and the columns to return. The engine thereby protects
//! exactly what a plan reads.
//!
//! A conjunct is translated only if it selects exactly the rows for which SQL finds it true, NULLs included. Other conjuncts
//! are evaluated here, over the rows that the engine returns.

use super::super::super::scope::Run;
use super::Batch;
use crate::definition::Table;
use crate::error::Result;
use crate::plan::{Comparison, Expr, ExprKind, Scan};
use crate::storage::{column_type, decimal_of, engine_value_of, is_ordered_as_stored};
use crate::types::{Datum, Type};
pub(super) use crate::vectorize::conjuncts;
use model::decimal::Decimal;
use model::{ColumnType, Columns, Extreme, Predicate, RowBuf, Value, ValueRef};
use std::collections::BTreeSet;

/// Division of a scan's work between engine and operator.
#[derive(Default)]
pub struct Pushed {
    /// The engine's part of the filter.
    pub filter: Option<Predicate>,
    /// Conjuncts that are evaluated here, by their positions in the filter.
    pub rest: Vec<usize>,
    /// Columns of these conjuncts, sorted; `None`: the filter was not looked at.
    pub rest_columns: Option<Vec<usize>>,
}

/// What a scan of a whole table asks its engine for.
#[derive(Debug)]
pub struct Logged {
    /// Conjuncts of the filter that the engine evaluates, by their positions.
    pub conjuncts: Vec<usize>,
    /// Columns that it returns; `None`: all.
    pub columns: Option<Vec<u16>>,
    /// What it looks for, if no other rows count.
    pub extremes: Vec<Extreme>,
}

impl Logged {
    pub(in crate::exec) fn of(scan: &Scan, run: &mut Run<'_, '_>) -> Option<Logged> {
        let pushed = run.push_down(scan).ok()?;
        let protected = !pushed.extremes(scan).is_empty() && run.protects_extremes();
        let extremes = if protected { pushed.extremes(scan).to_vec() } else { Vec::new() };
        let Pushed { rest, rest_columns, .. } = pushed;
        let all = scan.filter.as_ref().map_or(0, |filter| conjuncts(filter).len());
        let pushed = (0..all).filter(|at| !rest.contains(at)).collect();
        Some(Logged { conjuncts: pushed, columns: asked(scan, rest_columns.as_deref()), extremes })
    }
}

impl Pushed {
    /// What the engine may look for instead of all rows: it evaluates the whole filter.
    fn extremes<'s>(&self, scan: &'s Scan) -> &'s [Extreme] {
        if self.rest.is_empty() { &scan.extremes } else { &[] }
    }

    /// Rows with the least or greatest values of columns, if no others are looked at, and the engine protects them better than a scan.
    /// Each has its one value, so that nothing else of the row is protected. `None`: the scan has to run.
    pub(super) fn only_extremes(
        &self,
        scan: &Scan,
        asked: Option<&[u16]>,
        run: &mut Run<'_, '_>,
    ) -> Result<Option<Batch>> {
        let (all, width) = (self.extremes(scan), scan.table.columns.len());
        if all.is_empty() {
            return Ok(None);
        }
        let Some(shared) = run.exec.transaction.shared_reads() else { return Ok(None) };
        let view = shared.read_view()?;
        let Some(extremes) = view.extremes().filter(|extremes| extremes.is_logged()) else { return Ok(None) };
        let (mut found, mut row, mut batch) = (RowBuf::new(), RowBuf::new(), Batch::default());
        for &of in all {
            let request = model::Scan {
                filter: self.filter.as_ref(),
                columns: Columns::Some(&[of.column]),
                ..model::Scan::table(scan.table.storage.id())
            };
            if let Some(key) = extremes.extreme(&request, of, &mut found)? {
                let value = found.row().get(0);
                let at = |column: usize| if column == usize::from(of.column) { value } else { ValueRef::Null };
                match asked {
                    Some(asked) => row.set_values(asked.iter().map(|&column| at(column.into()))),
                    None => row.set_values((0..width).map(at)),
                }
                batch.push(&key, row.bytes());
            }
        }
        Ok(Some(batch))
    }
}

/// Columns to request in a scan of the table's rows, sorted; `None` means all.
pub(super) fn asked(scan: &Scan, rest_columns: Option<&[usize]>) -> Option<Vec<u16>> {
    let mut columns: BTreeSet<usize> = rest_columns?.iter().copied().collect();
    if !scan.for_update {
        // A row that will be written is read again as a whole when it is owned.
        columns.extend(scan.wanted.as_ref()?);
    }
    let columns: Option<Vec<u16>> = columns.into_iter().map(|column| u16::try_from(column).ok()).collect();
    columns.filter(|columns| columns.len() < scan.table.columns.len())
}

/// Converts the columns to the engine's form.
pub(super) fn as_columns(asked: Option<&[u16]>) -> Columns<'_> {
    match asked {
        None => Columns::All,
        Some([]) => Columns::None,
        Some(columns) => Columns::Some(columns),
    }
}

impl Run<'_, '_> {
    fn protects_extremes(&mut self) -> bool {
        let view = self.exec.transaction.shared_reads().and_then(|shared| shared.read_view().ok());
        view.is_some_and(|view| view.extremes().is_some())
    }

    /// Divides the filter of a scan that starts now: parameters and columns of enclosing rows have values.
    pub(in crate::exec::operators) fn push_down(&mut self, scan: &Scan) -> Result<Pushed> {
        let Some(filter) = &scan.filter else {
            return Ok(Pushed { rest_columns: Some(Vec::new()), ..Pushed::default() });
        };
        let conjuncts = conjuncts(filter);
        let (mut pushed, mut rest) = (Vec::new(), Vec::new());
        for (at, conjunct) in conjuncts.iter().enumerate() {
            // The engine does not count what it passes over: for EXPLAIN ANALYZE all is evaluated here.
            let is_counted = self.scope.counters.is_some();
            match if is_counted { None } else { self.predicate(&scan.table, conjunct)? } {
                Some(predicate) => pushed.push(predicate),
                None => rest.push(at),
            }
        }
        let filter = match pushed.len() {
            0 => None,
            1 => pushed.pop(),
            _ => Some(Predicate::And(pushed)),
        };
        // The key of the row is behind its columns.
        let width = scan.table.columns.len();
        let rest_columns = Some(columns_of(rest.iter().map(|&at| &conjuncts[at]), width));
        Ok(Pushed { filter, rest, rest_columns })
    }

    /// Translates a condition to a predicate over the stored row; `None` unless the two agree on every row.
    fn predicate(&mut self, table: &Table, condition: &Expr) -> Result<Option<Predicate>> {
        Ok(match &condition.kind {
            ExprKind::And(all) => self.predicates(table, all)?.map(Predicate::And),
            ExprKind::Or(any) => self.predicates(table, any)?.map(Predicate::Or),
            ExprKind::Not(inner) => self.predicate(table, inner)?.map(|inner| Predicate::Not(Box::new(inner))),
            ExprKind::IsNull(inner) => nullable(table, inner).map(Predicate::IsNull),
            ExprKind::Column(_) if condition.data_type == Type::BOOL => {
                let column = ordered(table, condition);
                column.map(|column| Predicate::Compare(column, Comparison::Equal, Value::Bool(true)))
            }
            ExprKind::Compare(comparison, left, right) => {
                let with = |column: ColumnOf| compared(table, column, (*comparison, left, right));
                match (with(ordered), with(numeric), with(date)) {
                    (Some(of), _, _) => self.ordered_predicate(table, of)?,
                    (None, Some(of), _) => self.numeric_predicate(of)?,
                    (None, None, Some(of)) => self.date_predicate(of)?,
                    (None, None, None) => None,
                }
            }
            ExprKind::Call(function, arguments) if function.function.name == "~~" => {
                self.prefix_predicate(table, arguments)?
            }
            ExprKind::IsSame(left, right) => match ordered(table, left) {
                Some(column) => self.constant(table, column, right)?.map(|value| is_same(column, value)),
                None => None,
            },
            ExprKind::InList(left, list) => match (ordered(table, left), numeric(table, left)) {
                (Some(column), _) => {
                    self.constants(table, column, list)?.map(|values| Predicate::any_of(column, values))
                }
                (None, Some(column)) => self.one_of_numerics(column, list)?,
                (None, None) => None,
            },
            ExprKind::Quantified { operator, left, array, all: false } if operator.function.name == "=" => {
                match ordered(table, left).filter(|_| left.data_type == Type::of(array.data_type.scalar)) {
                    Some(column) => self.elements(table, column, array)?.map(|list| Predicate::any_of(column, list)),
                    None => None,
                }
            }
            _ => None,
        })
    }

    /// Elements of an array that is constant during the scan, as the engine stores them. `None` for an array that is NULL or empty,
    /// which a NULL is not unknown to equal.
    fn elements(&mut self, table: &Table, column: u16, array: &Expr) -> Result<Option<Vec<Value>>> {
        if let ExprKind::Array(list) = &array.kind {
            return if list.is_empty() { Ok(None) } else { self.constants(table, column, list) };
        }
        if !matches!(array.kind, ExprKind::Constant(_) | ExprKind::Parameter(_) | ExprKind::Outer { .. }) {
            return Ok(None);
        }
        let stored = column_type(table.columns[usize::from(column)].data_type);
        let array = self.evaluate(array, &[])?;
        let Datum::Array(array) = &array else { return Ok(None) };
        let is_stored = |value: &Value| value.as_ref().column_type().is_none_or(|kind| kind == stored);
        let elements: Option<Vec<Value>> =
            array.leaves().map(|element| engine_value_of(element).filter(is_stored)).collect();
        Ok(elements.filter(|elements| !elements.is_empty()))
    }

    fn predicates(&mut self, table: &Table, conditions: &[Expr]) -> Result<Option<Vec<Predicate>>> {
        conditions.iter().map(|condition| self.predicate(table, condition)).collect()
    }

    /// Value of an expression that is constant during the scan, as the engine stores it in a column of this type.
    fn constant(&mut self, table: &Table, column: u16, expression: &Expr) -> Result<Option<Value>> {
        if !is_fixed(expression) || !is_ordered_as_stored(expression.data_type) {
            return Ok(None);
        }
        let stored = column_type(table.columns[usize::from(column)].data_type);
        let value = engine_value_of(&self.evaluate(expression, &[])?);
        Ok(value.filter(|value| value.as_ref().column_type().is_none_or(|kind| kind == stored)))
    }

    /// LIKE of a column of texts with a pattern that says how they begin.
    fn prefix_predicate(&mut self, table: &Table, arguments: &[Expr]) -> Result<Option<Predicate>> {
        let [text, pattern] = arguments else { return Ok(None) };
        let is_text = |column: &u16| column_type(table.columns[usize::from(*column)].data_type) == ColumnType::Text;
        let Some(column) = ordered(table, text).filter(is_text) else { return Ok(None) };
        if !is_fixed(pattern) {
            return Ok(None);
        }
        let pattern = self.evaluate(pattern, &[])?;
        let prefix = pattern.as_text().and_then(only_prefix);
        Ok(prefix.map(|prefix| Predicate::StartsWith(column, prefix)))
    }

    /// A comparison of a column whose values sort as they are stored.
    fn ordered_predicate(
        &mut self,
        table: &Table,
        (column, comparison, other): Compared<'_>,
    ) -> Result<Option<Predicate>> {
        let value = self.constant(table, column, other)?;
        Ok(value.map(|value| Predicate::Compare(column, comparison, value)))
    }

    /// A comparison of a column of numerics.
    fn numeric_predicate(&mut self, (column, comparison, other): Compared<'_>) -> Result<Option<Predicate>> {
        let decimal = self.decimal(other)?;
        Ok(decimal.map(|decimal| Predicate::CompareDecimal(column, comparison, decimal)))
    }

    /// A comparison of a column of dates with a timestamp: of its day, or of the days around it.
    fn date_predicate(&mut self, (column, comparison, other): Compared<'_>) -> Result<Option<Predicate>> {
        if !is_fixed(other) {
            return Ok(None);
        }
        let Datum::Timestamp(micros) = self.evaluate(other, &[])? else { return Ok(None) };
        let (day, is_midnight) = (micros.div_euclid(DAY_MICROS), micros.rem_euclid(DAY_MICROS) == 0);
        let comparison = match comparison {
            comparison if is_midnight => comparison,
            // A day that began before the timestamp is before it.
            Comparison::Less | Comparison::LessOrEqual => Comparison::LessOrEqual,
            Comparison::Greater | Comparison::GreaterOrEqual => Comparison::Greater,
            Comparison::Equal | Comparison::NotEqual => return Ok(None),
        };
        // Infinities are no days.
        let day = i32::try_from(day).ok().filter(|_| micros != i64::MIN && micros != i64::MAX);
        Ok(day.map(|day| Predicate::Compare(column, comparison, Value::Date(day))))
    }

    /// IN a list of numerics, none of which is NULL.
    fn one_of_numerics(&mut self, column: u16, list: &[Expr]) -> Result<Option<Predicate>> {
        let decimals: Option<Vec<Decimal>> =
            list.iter().map(|expression| self.decimal(expression)).collect::<Result<_>>()?;
        let equal = |decimal| Predicate::CompareDecimal(column, Comparison::Equal, decimal);
        Ok(decimals.map(|decimals| Predicate::Or(decimals.into_iter().map(equal).collect())))
    }

    /// A numeric of few digits that is constant during the scan; `None` for NULL, and for what is no number.
    fn decimal(&mut self, expression: &Expr) -> Result<Option<Decimal>> {
        if !is_fixed(expression) || expression.data_type != Type::NUMERIC {
            return Ok(None);
        }
        Ok(decimal_of(&self.evaluate(expression, &[])?))
    }

    fn constants(&mut self, table: &Table, column: u16, list: &[Expr]) -> Result<Option<Vec<Value>>> {
        list.iter().map(|expression| self.constant(table, column, expression)).collect()
    }
}

/// The column of the table that an expression is, of some form.
type ColumnOf = fn(&Table, &Expr) -> Option<u16>;
/// A column, how it is compared, and with what.
type Compared<'e> = (u16, Comparison, &'e Expr);

/// A comparison with a column on one side, seen from the column.
fn compared<'e>(
    table: &Table,
    column: ColumnOf,
    (comparison, left, right): (Comparison, &'e Expr, &'e Expr),
) -> Option<Compared<'e>> {
    match (column(table, left), column(table, right)) {
        (Some(column), None) => Some((column, comparison, right)),
        (None, Some(column)) => Some((column, comparison.mirrored(), left)),
        _ => None,
    }
}

/// Returns whether an expression is a value during a scan.
fn is_fixed(expression: &Expr) -> bool {
    matches!(expression.kind, ExprKind::Constant(_) | ExprKind::Parameter(_) | ExprKind::Outer { .. })
}

/// How all texts that are LIKE a pattern begin, and no others do.
fn only_prefix(pattern: &str) -> Option<String> {
    let mut rest = pattern.strip_suffix('%')?.chars();
    let mut prefix = String::new();
    while let Some(next) = rest.next() {
        match next {
            '%' | '_' => return None,
            '\\' => prefix.push(rest.next()?),
            literal => prefix.push(literal),
        }
    }
    Some(prefix)
}

const DAY_MICROS: i64 = 86_400_000_000;

/// Column of dates that is compared as timestamps.
fn date(table: &Table, expression: &Expr) -> Option<u16> {
    let ExprKind::Cast { input, .. } = &expression.kind else { return None };
    let ExprKind::Column(column) = input.kind else { return None };
    let is_date = table.columns.get(column)?.data_type == Type::DATE && expression.data_type == Type::TIMESTAMP;
    is_date.then_some(column)?.try_into().ok()
}

/// Column of numerics.
fn numeric(table: &Table, expression: &Expr) -> Option<u16> {
    let ExprKind::Column(column) = expression.kind else { return None };
    (table.columns.get(column)?.data_type == Type::NUMERIC).then_some(column)?.try_into().ok()
}

/// IS NOT DISTINCT FROM: never unknown.
fn is_same(column: u16, value: Value) -> Predicate {
    if value == Value::Null {
        return Predicate::IsNull(column);
    }
    let is_there = Predicate::Not(Box::new(Predicate::IsNull(column)));
    Predicate::And(vec![is_there, Predicate::Compare(column, Comparison::Equal, value)])
}

/// Column whose stored values sort in SQL's order, also below a cast that preserves every value and the order.
fn ordered(table: &Table, expression: &Expr) -> Option<u16> {
    let (column, to) = match &expression.kind {
        ExprKind::Column(column) => (*column, None),
        ExprKind::Cast { input, .. } => match input.kind {
            ExprKind::Column(column) => (column, Some(expression.data_type)),
            _ => return None,
        },
        _ => return None,
    };
    let own = table.columns.get(column)?.data_type;
    let keeps = match to {
        None => true,
        Some(Type::INT4) => own == Type::INT2,
        Some(Type::INT8) => own == Type::INT2 || own == Type::INT4,
        Some(Type::FLOAT8) => own == Type::FLOAT4,
        Some(Type::TEXT) => own == Type::VARCHAR,
        Some(_) => false,
    };
    (keeps && is_ordered_as_stored(own)).then_some(column)?.try_into().ok()
}

/// Column whose stored NULLs agree with IS NULL. For a record IS NULL depends on its fields.
fn nullable(table: &Table, expression: &Expr) -> Option<u16> {
    let ExprKind::Column(column) = expression.kind else { return None };
    let data_type = table.columns.get(column)?.data_type;
    (!data_type.is_row()).then_some(column)?.try_into().ok()
}

/// Columns below `width` that conditions use, sorted.
fn columns_of<'e>(conditions: impl Iterator<Item = &'e Expr>, width: usize) -> Vec<usize> {
    let mut columns = BTreeSet::new();
    for condition in conditions {
        condition.walk(&mut |part| match &part.kind {
            ExprKind::Column(column) => {
                columns.insert(*column);
            }
            ExprKind::Subquery(subquery) => subquery.plan.each_outer(0, &mut |depth, reference| {
                if let (1, ExprKind::Outer { column, .. }) = (depth, &reference.kind) {
                    columns.insert(*column);
                }
            }),
            _ => {}
        });
    }
    columns.into_iter().filter(|column| *column < width).collect()
}
