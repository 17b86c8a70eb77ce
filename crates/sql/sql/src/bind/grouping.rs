//! GROUP BY: keys, grouping sets, and the check of expressions over groups.

use super::Binder;
use super::calls::{AGGREGATES, Calls, KEYS, SETS, WINDOWS};
use super::clause::Clause;
use super::position::start;
use super::query::unnested;
use super::scope::{Names, column_title};
use super::select::Parts;
use super::target::Target;
use super::walk::{self, Visitor, bound_offset};
use crate::error::{Result, SqlError, state};
use crate::plan::{Aggregation, Expr, ExprKind, Plan, equal};
use crate::stack::ensure_stack;
use syntax::ast::{Expr as Syntax, GroupingElement};

/// Maximum number of grouping sets of a query (PostgreSQL's limit on the elements of CUBE gives the same).
const SETS_MOST: usize = 4096;

/// Keys of GROUP BY, and the grouping sets over them.
#[derive(Clone, Debug, Default)]
pub(super) struct Grouping {
    pub keys: Vec<Expr>,
    pub sets: Vec<Vec<usize>>,
}

impl Binder<'_, '_> {
    /// Binds GROUP BY. The result is the cross product of its elements' sets.
    pub(super) fn grouping(&mut self, elements: &[GroupingElement], targets: &mut [Target]) -> Result<Grouping> {
        let mut grouping = Grouping { keys: vec![], sets: vec![vec![]] };
        for element in elements {
            let alternatives = self.grouping_element(element, targets, &mut grouping.keys)?;
            if grouping.sets.len().saturating_mul(alternatives.len()) > SETS_MOST {
                let message = format!("too many grouping sets present (maximum {SETS_MOST})");
                return Err(SqlError::new(state::STATEMENT_TOO_COMPLEX, message));
            }
            let product = |set: &Vec<usize>| {
                alternatives.iter().map(|more| set.iter().chain(more).copied().collect()).collect::<Vec<Vec<usize>>>()
            };
            grouping.sets = grouping.sets.iter().flat_map(product).collect();
        }
        for set in &mut grouping.sets {
            set.sort_unstable();
            set.dedup();
        }
        Ok(grouping)
    }

    /// The sets of one element.
    fn grouping_element(
        &mut self,
        element: &GroupingElement,
        targets: &mut [Target],
        keys: &mut Vec<Expr>,
    ) -> Result<Vec<Vec<usize>>> {
        match element {
            GroupingElement::Sets(sets) => {
                let mut all = vec![];
                for set in sets {
                    all.extend(ensure_stack(|| self.grouping_element(set, targets, keys))?);
                }
                Ok(all)
            }
            GroupingElement::Rollup(parts) => Ok(rollup(&self.grouping_parts(parts, targets, keys)?)),
            GroupingElement::Cube(parts) => cube(&self.grouping_parts(parts, targets, keys)?),
            GroupingElement::Set(parts) => Ok(vec![self.grouping_keys(parts, targets, keys)?]),
            GroupingElement::Key(key) => Ok(vec![vec![self.grouping_key(key, targets, keys)?]]),
        }
    }

    fn grouping_parts(
        &mut self,
        parts: &[Vec<Syntax>],
        targets: &mut [Target],
        keys: &mut Vec<Expr>,
    ) -> Result<Vec<Vec<usize>>> {
        parts.iter().map(|part| self.grouping_keys(part, targets, keys)).collect()
    }

    fn grouping_keys(&mut self, parts: &[Syntax], targets: &mut [Target], keys: &mut Vec<Expr>) -> Result<Vec<usize>> {
        parts.iter().map(|part| self.grouping_key(part, targets, keys)).collect()
    }

    /// One key: a number or a name of the select list, or an expression.
    fn grouping_key(&mut self, syntax: &Syntax, targets: &mut [Target], keys: &mut Vec<Expr>) -> Result<usize> {
        let key = match self.named_target(syntax, targets, "GROUP BY")? {
            Some(target) => self.target_key(&targets[target])?,
            None => {
                let bound = self.in_clause(Clause::GroupBy, |binder| binder.expression(unnested(syntax)))?;
                self.known(bound)?
            }
        };
        self.check_comparable(&key, start(syntax))?;
        let found = keys.iter().position(|other| equal(other, &key));
        Ok(found.unwrap_or_else(|| {
            keys.push(key);
            keys.len() - 1
        }))
    }

    fn target_key(&self, target: &Target) -> Result<Expr> {
        let calls = |from: usize, to: usize| {
            target.expression.any(|part| matches!(part.kind, ExprKind::Column(column) if (from..to).contains(&column)))
        };
        let what = match () {
            () if calls(AGGREGATES, WINDOWS) => "aggregate functions",
            () if calls(WINDOWS, SETS) => "window functions",
            () if calls(SETS, usize::MAX) => return Err(SqlError::unsupported("a set-returning function in GROUP BY")),
            () => return Ok(target.expression.clone()),
        };
        let code = if what == "aggregate functions" { state::GROUPING_ERROR } else { state::WINDOWING_ERROR };
        Err(self.text.error_at(SqlError::new(code, format!("{what} are not allowed in GROUP BY")), target.at))
    }

    /// Groups the rows and rewrites everything after it to refer to groups. Returns the number of columns of a group.
    pub(super) fn grouped(
        &mut self,
        input: Plan,
        parts: &mut Parts,
        calls: &mut Calls,
        names: &Names,
    ) -> Result<(Plan, usize)> {
        let grouping = parts.grouping.take().unwrap_or_else(|| Grouping { keys: vec![], sets: vec![vec![]] });
        for call in calls.aggregates.iter_mut().filter(|call| call.grouping.is_some()) {
            let place = |argument: &Expr| grouping.keys.iter().position(|key| equal(key, argument));
            let places: Option<Vec<usize>> = call.arguments.iter().map(place).collect();
            if places.is_none() {
                let message = "arguments to GROUPING must be grouping expressions of the associated query level";
                return Err(SqlError::new(state::GROUPING_ERROR, message));
            }
            call.arguments.clear();
            call.grouping = places;
        }
        let mut regroup = Regroup { grouping, names, failed: None };
        let targets = parts.targets.iter_mut().map(|target| &mut target.expression);
        for expression in targets.chain(&mut parts.having) {
            walk::expression(&mut regroup, expression, 0);
        }
        for slot in &mut calls.windows {
            let keys = slot.order.iter_mut().map(|key| &mut key.expression);
            let own =
                slot.partition.iter_mut().chain(keys).chain(&mut slot.call.arguments).chain(&mut slot.call.filter);
            let (first, last) = (&mut slot.call.frame.start, &mut slot.call.frame.end);
            for expression in own.chain(bound_offset(first)).chain(bound_offset(last)) {
                walk::expression(&mut regroup, expression, 0);
            }
        }
        for expression in calls.sets.iter_mut().flat_map(|set| &mut set.arguments) {
            walk::expression(&mut regroup, expression, 0);
        }
        let Regroup { grouping, failed, .. } = regroup;
        if let Some(Ungrouped { column, in_subquery }) = failed {
            return Err(self.ungrouped(column, in_subquery, names, calls));
        }
        let width = grouping.keys.len() + calls.aggregates.len();
        calls.keys = grouping.keys.len();
        let plan = Plan::Aggregate(Box::new(Aggregation {
            input,
            keys: grouping.keys,
            sets: grouping.sets,
            calls: std::mem::take(&mut calls.aggregates),
        }));
        if let Some(having) = &mut parts.having {
            let keys = calls.keys;
            walk::renumber(having, &|at| group_column(at, keys));
        }
        Ok((plan, width))
    }

    fn ungrouped(&self, column: usize, in_subquery: bool, names: &Names, calls: &Calls) -> SqlError {
        let title = column_title(names, column);
        let message = match in_subquery {
            false => {
                format!("column \"{title}\" must appear in the GROUP BY clause or be used in an aggregate function")
            }
            true => format!("subquery uses ungrouped column \"{title}\" from outer query"),
        };
        let error = SqlError::new(state::GROUPING_ERROR, message);
        match calls.mentions.iter().find(|(mentioned, _)| *mentioned == column) {
            Some((_, at)) => self.text.error_at(error, *at),
            None => error,
        }
    }
}

/// Real column of a key or an aggregate; keys come first.
pub(super) fn group_column(at: usize, keys: usize) -> usize {
    match at {
        KEYS..AGGREGATES => at - KEYS,
        AGGREGATES..WINDOWS => at - AGGREGATES + keys,
        _ => at,
    }
}

/// ROLLUP: all parts, all but the last, ..., no part.
fn rollup(parts: &[Vec<usize>]) -> Vec<Vec<usize>> {
    (0..=parts.len()).rev().map(|count| parts[..count].concat()).collect()
}

/// CUBE: every subset of the parts.
fn cube(parts: &[Vec<usize>]) -> Result<Vec<Vec<usize>>> {
    if parts.len() > 12 {
        return Err(SqlError::new(state::TOO_MANY_COLUMNS, "CUBE is limited to 12 elements"));
    }
    let chosen = |choice: usize| {
        let is_in = |(at, _): &(usize, &Vec<usize>)| choice & (1 << (parts.len() - 1 - at)) != 0;
        parts.iter().enumerate().filter(is_in).flat_map(|(_, part)| part.iter().copied()).collect()
    };
    Ok((0..1_usize << parts.len()).rev().map(chosen).collect())
}

/// A column that is not a grouping key.
struct Ungrouped {
    column: usize,
    in_subquery: bool,
}

/// Rewrites expressions over rows to expressions over groups.
struct Regroup<'n> {
    grouping: Grouping,
    names: &'n Names,
    failed: Option<Ungrouped>,
}

impl Regroup<'_> {
    /// Returns the key that equals a column. A column that depends on the keys becomes a key.
    fn key(&mut self, column: usize) -> Option<usize> {
        let is_it = |key: &Expr| matches!(key.kind, ExprKind::Column(at) if at == column);
        if let Some(place) = self.grouping.keys.iter().position(is_it) {
            return Some(place);
        }
        let [set] = self.grouping.sets.as_slice() else { return None };
        if set.len() < self.grouping.keys.len() {
            return None;
        }
        let value = self.dependent(column)?;
        self.grouping.keys.push(value);
        let place = self.grouping.keys.len() - 1;
        self.grouping.sets[0].push(place);
        Some(place)
    }

    /// Returns the column if its table's whole primary key is among the keys.
    fn dependent(&self, column: usize) -> Option<Expr> {
        let mut tables = self.names.tables.iter();
        tables.find_map(|names| {
            let (table, first) = names.table.as_ref()?;
            let place = column.checked_sub(*first).filter(|place| *place < table.columns.len())?;
            let primary = table.primary_key().filter(|key| !key.deferrable)?;
            let is_key = |part: &usize| {
                self.grouping.keys.iter().any(|key| matches!(key.kind, ExprKind::Column(at) if at == first + part))
            };
            let own = &table.columns[place];
            primary.columns.iter().all(is_key).then(|| Expr::column(column, own.data_type, own.modifier))
        })
    }
}

impl Visitor for Regroup<'_> {
    fn expression(&mut self, expression: &mut Expr, depth: usize) -> bool {
        if self.failed.is_some() {
            return false;
        }
        if depth == 0
            && let Some(place) = self.grouping.keys.iter().position(|key| equal(key, expression))
        {
            expression.kind = ExprKind::Column(KEYS + place);
            return false;
        }
        let column = match expression.kind {
            ExprKind::Column(column) if depth == 0 => column,
            ExprKind::Outer { depth: out, column } if depth > 0 && out == depth => column,
            _ => return true,
        };
        if column >= KEYS {
            return false;
        }
        match (self.key(column), &mut expression.kind) {
            (Some(place), ExprKind::Column(at) | ExprKind::Outer { column: at, .. }) => *at = KEYS + place,
            _ => self.failed = Some(Ungrouped { column, in_subquery: depth > 0 }),
        }
        false
    }
}
