//! Selectivities by samples: a condition is evaluated for the sampled rows of its table, as the operators over batches do it.

use super::Facts;
use crate::plan::{Expr, ExprKind, Plan, Scan, equal};
use crate::types::{Datum, Styles, Type};
use crate::vectorize::{self, Context};
use model::TableId;
use std::sync::Arc;

/// So many rows of a sample for which several conditions hold together, or should, say more than the product of the conditions' parts.
const ENOUGH: f64 = 8.0;
/// What is estimated without a sample counts as so many rows of it. A condition that holds for none of them holds for some rows.
const GUESSED: f64 = 2.0;
/// Functions that do no more than their arguments' length asks for. A plan waits for no others.
const QUICK: &[&str] = &[
    "+",
    "-",
    "*",
    "/",
    "%",
    "~~",
    "!~~",
    "~~*",
    "!~~*",
    "mod",
    "abs",
    "substring",
    "substr",
    "left",
    "right",
    "lower",
    "upper",
    "length",
    "date_part",
    "extract",
    "date_trunc",
    "||",
    "btrim",
    "rtrim",
    "ltrim",
];

/// The rows of a table's sample for which a condition holds; `None` if they cannot be counted.
pub struct Hits {
    table: TableId,
    condition: Expr,
    rows: Option<usize>,
}

/// Part of a table's rows for which a condition holds, by its sample, and by an estimate without it where that says little. `None` without
/// a sample, and for a condition that has no value yet.
pub fn part(scan: &Scan, condition: &Expr, estimate: &dyn Fn() -> f64, facts: &Facts<'_>) -> Option<f64> {
    let rows = facts.sample(&scan.table)?.batch.rows as f64;
    let hits = hits(scan, condition, facts)? as f64;
    if hits >= ENOUGH {
        return Some(hits / rows);
    }
    let estimate = estimate();
    let has_parts = matches!(condition.kind, ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Not(_));
    // Where few rows are expected, that there are few says nothing: the parts have more.
    let says_more = !has_parts || estimate * rows >= ENOUGH;
    Some(if says_more { (hits + GUESSED * estimate) / (rows + GUESSED) } else { estimate })
}

/// The hits of a condition. They are counted once for a statement.
fn hits(scan: &Scan, condition: &Expr, facts: &Facts<'_>) -> Option<usize> {
    let table = scan.table.storage.id();
    let is_known = |known: &&Hits| known.table == table && equal(&known.condition, condition);
    if let Some(known) = facts.sizes.hits.borrow().iter().find(is_known) {
        return known.rows;
    }
    let rows = count(scan, condition, facts);
    facts.sizes.hits.borrow_mut().push(Hits { table, condition: condition.clone(), rows });
    rows
}

fn count(scan: &Scan, condition: &Expr, facts: &Facts<'_>) -> Option<usize> {
    if condition.any(is_slow) {
        return None;
    }
    let batch = &facts.sample(&scan.table)?.batch;
    let condition = vectorize::expression(condition, &mut Known)?;
    if condition.columns().iter().any(|column| *column >= batch.columns.len()) {
        return None;
    }
    // What fails for a row is the executor's to say.
    Some(condition.selected(batch).ok()?.len())
}

fn is_slow(part: &Expr) -> bool {
    match &part.kind {
        ExprKind::Call(function, _) => !QUICK.contains(&function.function.name),
        ExprKind::Quantified { operator, .. } => operator.function.name != "=",
        ExprKind::Subquery(_) => true,
        _ => false,
    }
}

/// What is known of a statement before it runs: its constants.
struct Known;

impl Context for Known {
    fn constant(&mut self, expression: &Expr) -> Option<Datum> {
        match &expression.kind {
            ExprKind::Constant(value) => Some(value.clone()),
            _ => None,
        }
    }

    fn rest(&mut self, _: &Scan) -> Vec<usize> {
        Vec::new()
    }

    fn types(&self, _: &Plan) -> Vec<Type> {
        Vec::new()
    }

    fn styles(&self) -> Arc<Styles> {
        Arc::default()
    }
}
