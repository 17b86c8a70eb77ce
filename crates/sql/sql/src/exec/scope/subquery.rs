//! Cache for subqueries in expressions, kept between rows.

use super::super::key_table::KeyTable;
use crate::context::row_bytes;
use crate::plan::{ExprKind, Plan, Subquery};
use crate::types::{Datum, Row};
use std::sync::Arc;

/// State of a subquery while its statement runs.
pub struct SubqueryState {
    /// The query; held so that its address, which identifies this state, is not reused.
    _plan: Arc<Plan>,
    /// Columns of the nearest enclosing row that it uses.
    pub columns: Arc<[usize]>,
    /// Whether it refers to enclosing rows.
    pub correlated: bool,
    /// Queries of WITH around it that it reads.
    pub ctes: Arc<[usize]>,
    /// Answer of a subquery that does not refer to enclosing rows.
    pub answer: Option<Arc<Answer>>,
    /// Runs of those queries of WITH on which the answer is based.
    pub generations: Vec<u64>,
}

/// Answer of a subquery that does not refer to enclosing rows.
pub enum Answer {
    Value(Datum),
    Rows(CachedRows),
}

/// Rows of `IN (query)` and the like.
pub struct CachedRows {
    /// All rows, if they must be compared one by one; otherwise those with a NULL.
    pub rows: Vec<Row>,
    /// The rows without a NULL, by hash.
    pub hashed: Option<KeyTable>,
}

impl SubqueryState {
    pub fn new(subquery: &Subquery) -> SubqueryState {
        let (mut columns, mut correlated) = (Vec::new(), subquery.correlated);
        subquery.plan.each_outer(0, &mut |depth, reference| {
            correlated = true;
            if let (1, ExprKind::Outer { column, .. }) = (depth, &reference.kind) {
                columns.push(*column);
            }
        });
        columns.sort_unstable();
        columns.dedup();
        SubqueryState {
            _plan: subquery.plan.clone(),
            columns: columns.into(),
            correlated,
            ctes: free_ctes(&subquery.plan).into(),
            answer: None,
            generations: Vec::new(),
        }
    }
}

/// Queries of WITH that a plan reads and does not define.
fn free_ctes(plan: &Plan) -> Vec<usize> {
    let (mut read, mut defined) = (Vec::new(), Vec::new());
    plan.walk(&mut |plan| match plan {
        Plan::CteScan { number } => read.push(*number),
        Plan::With { queries, .. } => defined.extend(queries.iter().map(|(number, _)| *number)),
        Plan::Recursive { number, .. } => defined.push(*number),
        _ => {}
    });
    read.retain(|number| !defined.contains(number));
    read
}

impl CachedRows {
    /// Bytes that they hold.
    pub fn bytes(&self) -> usize {
        let hashed = self.hashed.as_ref();
        let keys = hashed.map_or(0, |hashed| (0..hashed.len()).map(|number| row_bytes(hashed.key(number))).sum());
        keys + self.rows.iter().map(|row| row_bytes(row)).sum::<usize>()
    }
}
