//! A row with what the table's indexes compute of it.

use super::rows::same;
use crate::catalog::{Index, Oid, Table};
use crate::context::Exec;
use crate::error::Result;
use crate::exec::evaluate;
use crate::plan::{IndexKey, IndexRule, IndexRules};
use crate::types::{Datum, Row};

/// A table whose rows are written, and what its indexes compute of them.
pub(crate) type Target<'t> = (&'t Table, &'t IndexRules);

/// A row as its table's indexes see it.
pub(super) struct IndexedRow<'r> {
    row: &'r [Datum],
    /// For each index that computes, the values of its expressions; `None` if it leaves the row out.
    computed: Vec<(Oid, Option<Row>)>,
}

impl<'r> IndexedRow<'r> {
    /// Computes what all indexes need.
    ///
    /// # Errors
    /// Errors of the expressions.
    pub(super) fn new(exec: &mut Exec<'_>, rules: &IndexRules, row: &'r [Datum]) -> Result<IndexedRow<'r>> {
        IndexedRow::for_some(exec, rules, row, |_| true)
    }

    /// Computes what the indexes need that an update of a row concerns: those that compute with a column which changes. In the
    /// others the row's entry stays as it is.
    ///
    /// # Errors
    /// Errors of the expressions.
    pub(super) fn before_and_after(
        exec: &mut Exec<'_>,
        rules: &IndexRules,
        old: &'r [Datum],
        new: &'r [Datum],
    ) -> Result<(IndexedRow<'r>, IndexedRow<'r>)> {
        let concerns = |rule: &IndexRule| !same(&rule.columns, old, new);
        Ok((IndexedRow::for_some(exec, rules, old, concerns)?, IndexedRow::for_some(exec, rules, new, concerns)?))
    }

    fn for_some(
        exec: &mut Exec<'_>,
        rules: &IndexRules,
        row: &'r [Datum],
        concerns: impl Fn(&IndexRule) -> bool,
    ) -> Result<IndexedRow<'r>> {
        let mut computed = vec![];
        for rule in rules.iter().filter(|rule| concerns(rule)) {
            computed.push((rule.index, compute(exec, rule, row)?));
        }
        Ok(IndexedRow { row, computed })
    }

    /// What was computed for an index; `None` if nothing was.
    fn computed(&self, index: &Index) -> Option<&Option<Row>> {
        self.computed.iter().find(|(oid, _)| *oid == index.oid).map(|(_, values)| values)
    }

    /// Returns whether an index computes, and nothing was computed for it: its entry does not change.
    pub(super) fn is_untouched(&self, index: &Index) -> bool {
        index.is_computed() && self.computed(index).is_none()
    }

    /// The values of an index's columns, in order; `None` if it leaves the row out.
    pub(super) fn values<'v>(&'v self, rules: &'v IndexRules, index: &'v Index) -> Option<Vec<&'v Datum>> {
        let computed: &[Datum] = match self.computed(index) {
            Some(None) => return None,
            Some(Some(values)) => values,
            None => &[],
        };
        let value = |key| match key {
            IndexKey::Column(column) => self.row.get(column),
            IndexKey::Computed(number, _) => computed.get(number),
        };
        Some(rules.keys(index).filter_map(value).collect())
    }
}

/// The values of an index's expressions; `None` if its predicate is not true.
fn compute(exec: &mut Exec<'_>, rule: &IndexRule, row: &[Datum]) -> Result<Option<Row>> {
    if let Some(predicate) = &rule.predicate
        && !matches!(evaluate(exec, predicate, row)?, Datum::Bool(true))
    {
        return Ok(None);
    }
    let mut values = Row::with_capacity(rule.expressions.len());
    for expression in &rule.expressions {
        values.push(evaluate(exec, expression, row)?);
    }
    Ok(Some(values))
}
