//! Partial indexes: which of them have all rows that a scan asks for.

use super::columns::split;
use crate::plan::{Expr, Scan, all_imply, equal};

/// Returns whether an index has all rows for which these conjuncts are true.
pub fn has_all_rows(scan: &Scan, index: usize, conjuncts: &[Expr]) -> bool {
    let Some(index) = scan.table.indexes.get(index) else { return false };
    match scan.rules.of(index) {
        Some(rule) => rule.predicate.as_ref().is_none_or(|predicate| all_imply(conjuncts, predicate)),
        None => !index.is_computed(),
    }
}

/// The conjuncts that are true for every row that an index has.
pub fn known(scan: &Scan, index: usize, conjuncts: &[Expr]) -> Vec<usize> {
    let rule = scan.table.indexes.get(index).and_then(|index| scan.rules.of(index));
    let Some(predicate) = rule.and_then(|rule| rule.predicate.clone()) else { return vec![] };
    let mut parts = vec![];
    split(predicate, &mut parts);
    let is_part = |conjunct: &Expr| parts.iter().any(|part| equal(part, conjunct));
    (0..conjuncts.len()).filter(|&at| is_part(&conjuncts[at])).collect()
}
