//! SELECT.

use super::Binder;
use super::aggregate::sort_key;
use super::clause::Clause;
use super::found::{Wanted, rows_named};
use super::grouping::Grouping;
use super::name::{self, fold};
use super::position::start;
use super::postponed::postponed;
use super::query::{Bound, TrailingClauses, unnested};
use super::scope::Frame;
use super::system_column::mentions_ctid;
use super::target::{Target, UnknownLiterals};
use crate::error::{Result, SqlError, state};
use crate::plan::{Expr, ExprKind, Field, Plan, RowLock, SortKey, WhenHeld, equal};
use crate::types::Type;
use syntax::ast::{Distinct, Expr as Syntax, GroupingElement, LockClause, NonBlock, OrderByExpr, Select};

/// The parts of a SELECT, bound over the rows of FROM.
pub(super) struct Parts {
    pub condition: Option<Expr>,
    pub targets: Vec<Target>,
    pub having: Option<Expr>,
    pub grouping: Option<Grouping>,
    pub order: Vec<OrderKey>,
    pub distinct: Distinction,
    /// The tables that FOR UPDATE locks; their keys are targets.
    pub locks: Vec<RowLock>,
}

/// A key of ORDER BY: a target.
pub(super) struct OrderKey {
    pub target: usize,
    pub descending: bool,
    pub nulls_first: bool,
}

/// DISTINCT
pub(super) enum Distinction {
    All,
    Distinct,
    /// DISTINCT ON: these targets.
    On(Vec<usize>),
}

/// PostgreSQL's limit. The protocol counts the columns of a row in 16 bits.
const MOST_TARGETS: usize = 1664;

/// # Errors
/// 54011 for more columns than a result may have.
pub(super) fn check_width(columns: usize) -> Result<()> {
    if columns <= MOST_TARGETS {
        return Ok(());
    }
    let message = format!("target lists can have at most {MOST_TARGETS} entries");
    Err(SqlError::new(state::TOO_MANY_COLUMNS, message))
}

impl Parts {
    /// Whether rows are sorted that may lack columns of the select list: DISTINCT compares all of them.
    fn is_sorted_first(&self) -> bool {
        !self.order.is_empty() && !matches!(self.distinct, Distinction::Distinct)
    }

    /// Whether rows are sorted by a target.
    fn is_key(&self, target: usize) -> bool {
        let is_on = matches!(&self.distinct, Distinction::On(on) if on.contains(&target));
        is_on || self.order.iter().any(|key| key.target == target)
    }
}

impl Binder<'_, '_> {
    /// Binds a SELECT with the ORDER BY and LIMIT that belong to it.
    pub(super) fn select(
        &mut self,
        select: &Select,
        tail: TrailingClauses<'_>,
        unknowns: UnknownLiterals,
    ) -> Result<Bound> {
        let keys = !tail.locks.is_empty() || mentions_ctid(select, tail.order);
        let order = tail.order.iter().map(|key| &key.expr);
        let wanted = Wanted { keys, rows: rows_named(&select.from, select, order) };
        let from = self.with_wanted(wanted, |binder| binder.from(&select.from))?;
        let (parts, frame) = self.within(from.names, Clause::Select, |binder| binder.parts(select, tail, unknowns))?;
        self.assemble(from.plan, parts, frame, tail)
    }

    fn parts(&mut self, select: &Select, tail: TrailingClauses<'_>, unknowns: UnknownLiterals) -> Result<Parts> {
        self.scope.frame().calls.named_windows.clone_from(&select.windows);
        let mut targets = self.targets(&select.projection, unknowns)?;
        check_width(targets.len())?;
        let condition = match &select.selection {
            Some(condition) => Some(self.in_clause(Clause::Where, |binder| binder.condition(condition, "WHERE"))?),
            None => None,
        };
        let having = match &select.having {
            Some(having) => Some(self.in_clause(Clause::Having, |binder| binder.condition(having, "HAVING"))?),
            None => None,
        };
        let order = self.order(tail.order, &mut targets)?;
        let grouping = self.group_by(&select.group_by, &mut targets)?;
        let distinct = self.distinct(select.distinct.as_ref(), &mut targets, &order, tail.order)?;
        let locks = self.locks(tail.locks, select, &mut targets)?;
        Ok(Parts { condition, targets, having, grouping, order, distinct, locks })
    }

    /// ORDER BY: numbers and names of columns of the select list, otherwise expressions over the rows of FROM.
    fn order(&mut self, order: &[OrderByExpr], targets: &mut Vec<Target>) -> Result<Vec<OrderKey>> {
        let mut keys: Vec<OrderKey> = Vec::with_capacity(order.len());
        for key in order {
            let at = start(&key.expr);
            let target = match self.named_target(&key.expr, targets, "ORDER BY")? {
                Some(target) => target,
                None => {
                    let bound = self.in_clause(Clause::OrderBy, |binder| binder.expression(&key.expr))?;
                    let bound = self.known(bound)?;
                    target_of(bound, targets)
                }
            };
            self.decide_target(&mut targets[target])?;
            self.check_sortable(&targets[target].expression, at)?;
            let SortKey { descending, nulls_first, .. } = sort_key(targets[target].expression.clone(), key);
            keys.push(OrderKey { target, descending, nulls_first });
        }
        Ok(keys)
    }

    /// Decides the type of a select-list column that ORDER BY uses.
    fn decide_target(&mut self, target: &mut Target) -> Result<()> {
        if target.expression.data_type == Type::UNKNOWN {
            target.expression = self.known(target.expression.clone())?;
            target.field.data_type = target.expression.data_type;
        }
        Ok(())
    }

    /// Returns the column of the select list that a number or a name denotes.
    pub(super) fn named_target(&mut self, syntax: &Syntax, targets: &[Target], clause: &str) -> Result<Option<usize>> {
        let at = start(syntax);
        let visible = || targets.iter().enumerate().filter(|(_, target)| !target.hidden);
        match unnested(syntax) {
            Syntax::Literal(literal) => self.ordinal(&literal.value, visible().count(), clause, at),
            Syntax::Identifier(ident) => {
                let folded = fold(ident);
                // GROUP BY prefers a column of FROM, ORDER BY a column of the select list.
                if clause == "GROUP BY" && self.scope.is_column(&folded) {
                    return Ok(None);
                }
                let mut found = visible().filter(|(_, target)| target.field.name == folded);
                let Some((first, target)) = found.next() else { return Ok(None) };
                if found.any(|(_, other)| !equal(&other.expression, &target.expression)) {
                    let message = format!("{clause} \"{folded}\" is ambiguous");
                    return Err(self.text.error_at(SqlError::new(state::AMBIGUOUS_COLUMN, message), at));
                }
                Ok(Some(first))
            }
            _ => Ok(None),
        }
    }

    fn group_by(&mut self, elements: &[GroupingElement], targets: &mut [Target]) -> Result<Option<Grouping>> {
        if elements.is_empty() { Ok(None) } else { self.grouping(elements, targets).map(Some) }
    }

    fn distinct(
        &mut self,
        distinct: Option<&Distinct>,
        targets: &mut Vec<Target>,
        order: &[OrderKey],
        order_syntax: &[OrderByExpr],
    ) -> Result<Distinction> {
        let hidden_key = |targets: &[Target]| order.iter().position(|key| targets[key.target].hidden);
        match distinct {
            None => Ok(Distinction::All),
            Some(Distinct::Rows) => match hidden_key(targets) {
                None => {
                    targets.iter().try_for_each(|target| self.check_comparable(&target.expression, target.at))?;
                    Ok(Distinction::Distinct)
                }
                Some(key) => {
                    let message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
                    let error = SqlError::new(state::INVALID_COLUMN_REFERENCE, message);
                    Err(self.text.error_at(error, start(&order_syntax[key].expr)))
                }
            },
            Some(Distinct::On(keys)) => {
                let mut on: Vec<usize> = Vec::with_capacity(keys.len());
                for key in keys {
                    let target = match self.named_target(key, targets, "DISTINCT ON")? {
                        Some(target) => target,
                        None => {
                            let bound = self.in_clause(Clause::DistinctOn, |binder| binder.expression(key))?;
                            let bound = self.known(bound)?;
                            target_of(bound, targets)
                        }
                    };
                    if !on.contains(&target) {
                        on.push(target);
                    }
                }
                let leading = order.iter().take_while(|key| on.contains(&key.target)).count();
                let all_lead = on.iter().all(|target| order[..leading].iter().any(|key| key.target == *target));
                if leading < order.len() && !all_lead {
                    let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
                    return Err(self
                        .text
                        .error_at(SqlError::new(state::INVALID_COLUMN_REFERENCE, message), start(&keys[0])));
                }
                Ok(Distinction::On(on))
            }
        }
    }

    /// FOR UPDATE: adds the keys of the locked tables to the select list.
    fn locks(&mut self, locks: &[LockClause], select: &Select, targets: &mut Vec<Target>) -> Result<Vec<RowLock>> {
        let mut locked = vec![];
        for lock in locks {
            let title = format!("FOR {}", lock.lock_type);
            self.check_lockable(select, &title)?;
            let of = lock.of.as_ref().map(name::split).transpose()?.map(|(_, name)| name);
            let tables = self.scope.frame().names.tables.clone();
            if let Some(of) = of.as_ref().filter(|of| !tables.iter().any(|table| table.name == **of)) {
                let message = format!("relation \"{of}\" in {title} clause not found in FROM clause");
                let error = SqlError::new(state::UNDEFINED_TABLE, message);
                return Err(self
                    .text
                    .error_at(error, lock.of.as_ref().map_or(super::position::NOWHERE, name::location)));
            }
            for names in tables.iter().filter(|table| of.as_ref().is_none_or(|of| table.name == *of)) {
                let (Some((table, _)), Some(key)) = (&names.table, names.key) else { continue };
                if names.nullable {
                    let message = format!("{title} cannot be applied to the nullable side of an outer join");
                    return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
                }
                let column = Expr::new(ExprKind::Column(key), Type::BYTEA);
                let when_held = match lock.nonblock {
                    None => WhenHeld::Wait,
                    Some(NonBlock::Nowait) => WhenHeld::Fail,
                    Some(NonBlock::SkipLocked) => WhenHeld::Skip,
                };
                locked.push(RowLock { table: table.clone(), key: target_of(column, targets), when_held });
            }
            self.locks = true;
        }
        Ok(locked)
    }

    fn check_lockable(&mut self, select: &Select, title: &str) -> Result<()> {
        let calls = &self.scope.frame().calls;
        let problem = match () {
            () if select.distinct.is_some() => "DISTINCT clause",
            () if !select.group_by.is_empty() => "GROUP BY clause",
            () if select.having.is_some() => "HAVING clause",
            () if !calls.aggregates.is_empty() => "aggregate functions",
            () if !calls.windows.is_empty() => "window functions",
            () if !calls.sets.is_empty() => "set-returning functions in the target list",
            () => return Ok(()),
        };
        Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, format!("{title} is not allowed with {problem}")))
    }

    /// Stacks the operators: WHERE, groups, HAVING, windows, sets, the select list, DISTINCT, ORDER BY, locks, LIMIT.
    fn assemble(&mut self, from: Plan, mut parts: Parts, frame: Frame, tail: TrailingClauses<'_>) -> Result<Bound> {
        let Frame { names, mut calls, .. } = frame;
        let mut plan = filtered(from, parts.condition.take());
        let mut width = names.width;
        let is_grouped = parts.grouping.is_some() || parts.having.is_some() || !calls.aggregates.is_empty();
        if is_grouped {
            (plan, width) = self.grouped(plan, &mut parts, &mut calls, &names)?;
            plan = filtered(plan, parts.having.take());
        }
        let mut targets: Vec<Expr> = parts.targets.iter().map(|target| target.expression.clone()).collect();
        plan = self.add_windows_and_sets(plan, width, calls, &mut targets);
        let above = if parts.is_sorted_first() { postponed(&mut targets, |at| parts.is_key(at)) } else { None };
        plan = projected(plan, targets);
        plan = self.ordered(plan, &parts, above, tail)?;
        let visible = parts.targets.iter().filter(|target| !target.hidden).count();
        let fields: Vec<Field> =
            parts.targets.iter().filter(|target| !target.hidden).map(|target| target.field.clone()).collect();
        if visible < parts.targets.len() {
            let columns = fields.iter().enumerate();
            let columns = columns.map(|(at, field)| Expr::column(at, field.data_type, field.modifier)).collect();
            plan = Plan::Project { input: Box::new(plan), columns };
        }
        let places = parts.targets.iter().map(|target| target.at).collect();
        Ok(Bound { plan, fields, places, recursive: false })
    }

    /// DISTINCT, ORDER BY, the select list `above` them if parts of it are postponed, locks, LIMIT.
    fn ordered(
        &mut self,
        mut plan: Plan,
        parts: &Parts,
        above: Option<Vec<Expr>>,
        tail: TrailingClauses<'_>,
    ) -> Result<Plan> {
        let column = |target: usize| {
            let field = &parts.targets[target].field;
            Expr::column(target, field.data_type, field.modifier)
        };
        let key = |key: &OrderKey| SortKey {
            expression: column(key.target),
            descending: key.descending,
            nulls_first: key.nulls_first,
        };
        let keys: Vec<SortKey> = parts.order.iter().map(key).collect();
        let sorted = |input: Plan, keys: Vec<SortKey>| match keys.is_empty() {
            true => input,
            false => Plan::Sort { input: Box::new(input), keys },
        };
        plan = match &parts.distinct {
            Distinction::All => sorted(plan, keys.clone()),
            Distinction::Distinct => sorted(Plan::Distinct { input: Box::new(plan), on: None }, keys.clone()),
            Distinction::On(on) => {
                let is_ordered = |target: &usize| parts.order.iter().any(|key| key.target == *target);
                let rest = on.iter().filter(|target| !is_ordered(target));
                let rest =
                    rest.map(|target| SortKey { expression: column(*target), descending: false, nulls_first: false });
                let all = keys.iter().cloned().chain(rest).collect();
                let on = on.iter().map(|target| column(*target)).collect();
                Plan::Distinct { input: Box::new(sorted(plan, all)), on: Some(on) }
            }
        };
        if let Some(columns) = above {
            plan = Plan::Project { input: Box::new(plan), columns };
        }
        if !parts.locks.is_empty() {
            check_skipped(&plan, &parts.locks)?;
            plan = Plan::Lock { input: Box::new(plan), tables: parts.locks.clone() };
        }
        self.limited(plan, tail, &keys)
    }
}

/// Checks that a query reads the tables of which it skips rows only to find these rows: what it finds out otherwise counts.
///
/// # Errors
/// 0A000
fn check_skipped(plan: &Plan, locks: &[RowLock]) -> Result<()> {
    let skipped = || locks.iter().filter(|lock| lock.when_held == WhenHeld::Skip);
    for lock in skipped() {
        let wanted = skipped().filter(|other| other.table.oid == lock.table.oid).count();
        if reads_of(plan, lock.table.oid) > wanted {
            let what = format!(
                "SKIP LOCKED of \"{}\" in a query that reads it elsewhere, or reads from WITH",
                lock.table.name
            );
            return Err(SqlError::unsupported(what).hint("Read the other part in a statement of its own."));
        }
    }
    Ok(())
}

/// How often a plan reads a table; a query of WITH may do so, too.
fn reads_of(plan: &Plan, table: u32) -> usize {
    let mut reads = 0;
    plan.walk(&mut |plan| {
        reads += usize::from(match plan {
            Plan::Scan(scan) => scan.table.oid == table,
            plan => matches!(plan, Plan::CteScan { .. }),
        });
    });
    reads
}

/// Returns the target equal to an expression; adds a hidden one if there is none.
pub(super) fn target_of(expression: Expr, targets: &mut Vec<Target>) -> usize {
    if let Some(found) = targets.iter().position(|target| equal(&target.expression, &expression)) {
        return found;
    }
    let field =
        Field { name: "?column?".into(), data_type: expression.data_type, modifier: expression.modifier, origin: None };
    targets.push(Target { expression, field, hidden: true, at: super::position::NOWHERE });
    targets.len() - 1
}

/// The rows for which a condition is true.
pub(super) fn filtered(input: Plan, condition: Option<Expr>) -> Plan {
    match condition {
        None => input,
        Some(condition) => Plan::Filter { input: Box::new(input), condition },
    }
}

/// New rows of expressions.
pub(super) fn projected(input: Plan, columns: Vec<Expr>) -> Plan {
    match &input {
        Plan::Values { rows } if matches!(rows.as_slice(), [row] if row.is_empty()) => {
            Plan::Values { rows: vec![columns] }
        }
        _ => Plan::Project { input: Box::new(input), columns },
    }
}
