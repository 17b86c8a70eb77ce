//! Order of joins: inner joins, and the outer joins among them, by estimated costs.
//!
//! A tree of inner joins is a group of members. Each order of the members is legal; the one with the least estimated cost is
//! found by dynamic programming over sets of members, or member by member if there are many. Equalities of columns form classes: what
//! equals a constant makes all of its class equal it, and any two members of a class can be joined by it. The right side of a
//! LEFT JOIN is a member that is joined after all members of its left side.

use super::Facts;
use super::access::{plan_key_rows, plan_search_rows};
use super::columns::{columns_of, filtered, is_volatile, join, renumber, split};
use super::estimate::{self, SEARCH};
use super::filters::{self, equality};
use super::vectors::keys;
use crate::plan::{Comparison, Expr, ExprKind, Join, JoinKind, Plan, equal as same_expression};
use crate::stack::ensure_stack;
use crate::types::{Modifier, Type};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// More tables than this keep the order in which they are written.
const MOST_TABLES: usize = 64;
/// Up to so many tables all orders are compared.
const MOST_COMPARED: usize = 8;
/// A side of at most so many rows may be joined without a condition although another member has one.
const FEW: f64 = 1.5;
/// Part of the pairs of rows for which a condition holds that is not an equality of columns.
const CONDITION: f64 = 0.3;
/// Cost of comparing a pair of rows.
const COMPARE: f64 = 0.0025;

/// The plan with its joins in order.
pub fn arrange(mut plan: Plan, facts: &Facts<'_>) -> Plan {
    if is_inner(&plan) {
        let mut group = Group::default();
        group.add(plan, facts);
        return group.plan(facts);
    }
    plan.each_input_mut(&mut |input, _| {
        let inner = std::mem::replace(input, Plan::Values { rows: Vec::new() });
        *input = ensure_stack(|| arrange(inner, facts));
    });
    plan
}

fn is_inner(plan: &Plan) -> bool {
    matches!(plan, Plan::Join(join) if join.kind == JoinKind::Inner && !join.lateral)
}

/// Plans that are joined.
#[derive(Default)]
struct Group {
    members: Vec<Member>,
    /// Conditions over the members' columns side by side.
    conditions: Vec<Expr>,
    /// Columns that are equal, one of a member.
    classes: Vec<Class>,
    width: usize,
}

struct Member {
    plan: Plan,
    /// Number of its first column.
    start: usize,
    width: usize,
    /// Set for the right side of a LEFT JOIN.
    outer: Option<Outer>,
}

/// What joins the right side of a LEFT JOIN.
struct Outer {
    /// Over the members' columns side by side.
    conditions: Vec<Expr>,
    /// The members of the left side.
    after: Range<usize>,
}

/// Columns of different members that are equal, by their numbers side by side.
struct Class {
    columns: Vec<usize>,
    data_type: Type,
    /// The equalities that were written.
    written: BTreeSet<(usize, usize)>,
}

impl Group {
    /// Adds the members of a tree of joins.
    fn add(&mut self, plan: Plan, facts: &Facts<'_>) {
        let start = self.width;
        match plan {
            Plan::Join(operator) if matches!(operator.kind, JoinKind::Inner | JoinKind::Left) && !operator.lateral => {
                let conditions = conditions_of(&operator, start);
                let Join { kind, left, right, right_width, .. } = *operator;
                let first = self.members.len();
                ensure_stack(|| self.add(left, facts));
                if kind == JoinKind::Inner {
                    ensure_stack(|| self.add(right, facts));
                    self.conditions.extend(conditions);
                    return;
                }
                let outer = Some(Outer { conditions, after: first..self.members.len() });
                self.members.push(Member { plan: right, start: self.width, width: right_width, outer });
                self.width += right_width;
            }
            plan => {
                let width = plan.width(facts);
                self.members.push(Member { plan, start, width, outer: None });
                self.width += width;
            }
        }
    }

    /// One plan of all members, its columns in the members' order.
    fn plan(mut self, facts: &Facts<'_>) -> Plan {
        let types: Vec<Type> = self.members.iter().flat_map(|member| facts.types(&member.plan)).collect();
        self.classify(&types);
        self.spread_constants(&types, facts);
        for member in &mut self.members {
            let plan = std::mem::replace(&mut member.plan, Plan::Values { rows: Vec::new() });
            member.plan = ensure_stack(|| arrange(plan, facts));
        }
        let order = if self.members.len() > MOST_TABLES {
            (0..self.members.len()).collect()
        } else {
            Search::new(&self, facts).order()
        };
        self.joined(&order, &types)
    }

    /// The member that a column belongs to.
    fn member_of(&self, column: usize) -> Option<usize> {
        self.members.iter().rposition(|member| member.start <= column)
    }

    /// Takes equalities of columns out of the conditions into classes. What is equal within a member becomes its condition.
    fn classify(&mut self, types: &[Type]) {
        let mut classes: Vec<Class> = Vec::new();
        let conditions = std::mem::take(&mut self.conditions);
        for condition in conditions {
            let Some((left, right)) = self.equal_columns(&condition, types) else {
                self.conditions.push(condition);
                continue;
            };
            let of = |classes: &[Class], column| classes.iter().position(|class| class.columns.contains(&column));
            let class = match (of(&classes, left), of(&classes, right)) {
                (Some(first), Some(second)) if first != second => {
                    let (keep, gone) = (first.min(second), first.max(second));
                    let gone = classes.remove(gone);
                    classes[keep].columns.extend(gone.columns);
                    classes[keep].written.extend(gone.written);
                    keep
                }
                (Some(class), _) | (None, Some(class)) => class,
                (None, None) => {
                    let (columns, written) = (Vec::new(), BTreeSet::new());
                    classes.push(Class { columns, data_type: types[left], written });
                    classes.len() - 1
                }
            };
            let class = &mut classes[class];
            class.written.extend([(left, right), (right, left)]);
            for column in [left, right] {
                if !class.columns.contains(&column) {
                    class.columns.push(column);
                }
            }
        }
        self.classes = classes;
    }

    /// The columns of two members that a condition equates. A column of an outer join's right side equals others only once that is
    /// joined, and is left alone.
    fn equal_columns(&self, condition: &Expr, types: &[Type]) -> Option<(usize, usize)> {
        let ExprKind::Compare(Comparison::Equal, left, right) = &condition.kind else { return None };
        let (ExprKind::Column(left), ExprKind::Column(right)) = (&left.kind, &right.kind) else { return None };
        let comparable = types[*left] == types[*right] && types[*left] != Type::RECORD;
        let members = (self.member_of(*left)?, self.member_of(*right)?);
        let inner = |member: usize| self.members[member].outer.is_none();
        (comparable && members.0 != members.1 && inner(members.0) && inner(members.1)).then_some((*left, *right))
    }

    /// Gives the members of each class the constants that others of the class equal, and leaves one column of a member in a class.
    fn spread_constants(&mut self, types: &[Type], facts: &Facts<'_>) {
        let mut added: BTreeMap<usize, Vec<Expr>> = BTreeMap::new();
        let mut classes = std::mem::take(&mut self.classes);
        classes.retain_mut(|class| {
            let place =
                |column: usize| self.member_of(column).map(|member| (member, column - self.members[member].start));
            let of_type = |column: usize, at: usize| Expr::column(at, types[column], Modifier::NONE);
            let constant = class.columns.iter().find_map(|&column| {
                let (member, at) = place(column)?;
                constant_of(&self.members[member].plan, at)
            });
            let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
            class.columns.retain(|&column| {
                let Some((member, at)) = place(column) else { return false };
                if let Some(constant) = &constant {
                    // A member that equals another constant has rows that are equal to the others only if the constants are.
                    let own = constant_of(&self.members[member].plan, at);
                    if own.is_none_or(|own| !same_expression(&own, constant)) {
                        added.entry(member).or_default().push(equal(of_type(column, at), constant.clone()));
                    }
                    return true;
                }
                match seen.get(&member) {
                    Some(&first) => {
                        added.entry(member).or_default().push(equal(of_type(column, first), of_type(column, at)));
                        false
                    }
                    None => {
                        seen.insert(member, at);
                        true
                    }
                }
            });
            // Members that all equal one constant need no condition between them.
            constant.is_none()
        });
        self.classes = classes;
        for (member, conditions) in added {
            let place = &mut self.members[member].plan;
            let plan = std::mem::replace(place, Plan::Values { rows: Vec::new() });
            *place = filters::push(plan, conditions, facts);
        }
    }

    /// The equalities by which a member is joined to others, over the members' columns side by side.
    fn links(&self, before: &dyn Fn(usize) -> bool, member: usize) -> Vec<Expr> {
        let of = |column: &&usize| self.member_of(**column);
        let mut links = Vec::new();
        for class in &self.classes {
            let Some(&own) = class.columns.iter().find(|column| of(column) == Some(member)) else { continue };
            let others = || class.columns.iter().filter(|column| of(column).is_some_and(before));
            let written = others().find(|&&other| class.written.contains(&(other, own)));
            if let Some(&other) = written.or_else(|| others().next()) {
                let column = |at| Expr::column(at, class.data_type, Modifier::NONE);
                links.push(equal(column(other), column(own)));
            }
        }
        links
    }

    /// The joins in an order.
    fn joined(mut self, order: &[usize], types: &[Type]) -> Plan {
        let in_place = order.iter().copied().eq(0..order.len());
        // Position in the joined row of each column of the members, in their order.
        let mut places = vec![0; self.width];
        let mut at = 0;
        for &member in order {
            let Member { start, width, .. } = self.members[member];
            for column in 0..width {
                places[start + column] = at + column;
            }
            at += width;
        }
        let moved = |mut condition: Expr| {
            renumber(&mut condition, &|column| places[column]);
            condition
        };
        let mut waiting: Vec<Expr> = std::mem::take(&mut self.conditions).into_iter().map(moved).collect();
        let mut joined: Option<(Plan, usize)> = None;
        for (at, &member) in order.iter().enumerate() {
            let links = self.links(&|other| order[..at].contains(&other), member).into_iter().map(moved);
            let mut on: Vec<Expr> = links.collect();
            let Member { plan, width, outer, .. } = &mut self.members[member];
            let right = (std::mem::replace(plan, Plan::Values { rows: Vec::new() }), *width);
            let Some(left) = joined.take() else {
                joined = Some(right);
                continue;
            };
            let together = left.1 + right.1;
            let (ready, later): (Vec<_>, Vec<_>) = waiting
                .into_iter()
                .partition(|condition| columns_of(condition).iter().all(|&column| column < together));
            waiting = later;
            let plan = match outer.take() {
                Some(outer) => {
                    let on = outer.conditions.into_iter().map(moved).collect();
                    filtered(join_of(JoinKind::Left, left, right, on), ready)
                }
                None => {
                    on.extend(ready);
                    join_of(JoinKind::Inner, left, right, on)
                }
            };
            joined = Some((plan, together));
        }
        let plan = joined.map_or_else(|| Plan::Values { rows: vec![Vec::new()] }, |(plan, _)| plan);
        let plan = filtered(plan, waiting);
        if in_place {
            return plan;
        }
        let columns =
            places.iter().zip(types).map(|(&place, &data_type)| Expr::column(place, data_type, Modifier::NONE));
        Plan::Project { input: Box::new(plan), columns: columns.collect() }
    }
}

/// A join's conditions, with columns numbered from `start`.
fn conditions_of(operator: &Join, start: usize) -> Vec<Expr> {
    let equal = operator.equalities.iter().map(|(left, right)| {
        let mut right = right.clone();
        renumber(&mut right, &|column| column + operator.left_width);
        self::equal(left.clone(), right)
    });
    let mut conditions: Vec<Expr> = equal.collect();
    operator.condition.iter().for_each(|condition| split(condition.clone(), &mut conditions));
    conditions.iter_mut().for_each(|condition| renumber(condition, &|column| column + start));
    conditions
}

fn equal(left: Expr, right: Expr) -> Expr {
    Expr::new(ExprKind::Compare(Comparison::Equal, Box::new(left), Box::new(right)), Type::BOOL)
}

/// The constant that a plan's column equals, by a filter of the scan that it comes from.
fn constant_of(plan: &Plan, column: usize) -> Option<Expr> {
    match plan {
        Plan::Filter { input, .. } => constant_of(input, column),
        Plan::Project { input, columns } => match columns.get(column)?.kind {
            ExprKind::Column(column) => constant_of(input, column),
            _ => None,
        },
        Plan::Scan(scan) => {
            let mut conjuncts = Vec::new();
            split(scan.filter.clone()?, &mut conjuncts);
            conjuncts.iter().find_map(|conjunct| {
                let ExprKind::Compare(Comparison::Equal, left, right) = &conjunct.kind else { return None };
                let is_column = |side: &Expr| matches!(side.kind, ExprKind::Column(at) if at == column);
                let value = match (is_column(left), is_column(right)) {
                    (true, false) => right,
                    (false, true) => left,
                    _ => return None,
                };
                let known = columns_of(value).is_empty() && !is_volatile(value);
                (known && !value.any(|part| part.subquery().is_some())).then(|| (**value).clone())
            })
        }
        _ => None,
    }
}

/// The join of two plans by these conditions.
fn join_of(kind: JoinKind, left: (Plan, usize), right: (Plan, usize), conditions: Vec<Expr>) -> Plan {
    let (mut equalities, mut rest) = (Vec::new(), Vec::new());
    for condition in conditions {
        match equality(&condition, left.1).filter(|_| !is_volatile(&condition)) {
            Some(pair) => equalities.push(pair),
            None => rest.push(condition),
        }
    }
    Plan::Join(Box::new(Join {
        kind,
        left: left.0,
        right: right.0,
        condition: join(rest),
        lateral: false,
        left_width: left.1,
        right_width: right.1,
        equalities,
        keeps_order: false,
        builds_left: false,
    }))
}

/// The search for the cheapest order.
struct Search<'g> {
    group: &'g Group,
    facts: &'g Facts<'g>,
    sizes: Vec<Size>,
    /// The members that each condition which is no class needs.
    conditions: Vec<u64>,
}

/// What is known of a member.
struct Size {
    rows: f64,
    cost: f64,
    /// For each class: the column in the member and its distinct values.
    classes: Vec<Option<(usize, f64)>>,
}

/// Some members, joined in the best order that is known.
#[derive(Clone)]
struct Part {
    members: u64,
    order: Vec<usize>,
    rows: f64,
    cost: f64,
}

impl<'g> Search<'g> {
    fn new(group: &'g Group, facts: &'g Facts<'g>) -> Search<'g> {
        let sizes = group.members.iter().enumerate().map(|(number, member)| {
            let rows = estimate::rows(&member.plan, facts);
            let of_class = |class: &Class| {
                let column = class.columns.iter().find(|&&column| group.member_of(column) == Some(number))?;
                let at = column - member.start;
                let expression = Expr::column(at, class.data_type, Modifier::NONE);
                Some((at, estimate::distinct((&member.plan, rows), &expression, facts)))
            };
            let classes = group.classes.iter().map(of_class).collect();
            Size {
                rows,
                cost: estimate::cost(&super::access::choose(member.plan.clone(), None, facts), facts).1,
                classes,
            }
        });
        let needs = |condition: &Expr| {
            let members = columns_of(condition).into_iter().filter_map(|column| group.member_of(column));
            members.fold(0, |needed, member| needed | 1 << member)
        };
        Search { sizes: sizes.collect(), conditions: group.conditions.iter().map(needs).collect(), group, facts }
    }

    fn order(&self) -> Vec<usize> {
        let count = self.sizes.len();
        let starts = (0..count).filter(|&member| self.group.members[member].outer.is_none()).map(|member| Part {
            members: 1 << member,
            order: vec![member],
            rows: self.sizes[member].rows,
            cost: self.sizes[member].cost,
        });
        if count <= MOST_COMPARED {
            return self.compared(starts);
        }
        let Some(mut part) = starts.min_by(|left, right| left.rows.total_cmp(&right.rows)) else {
            return (0..count).collect();
        };
        while let Some(next) = self.next(&part).into_iter().min_by(|left, right| {
            // What keeps the result small is joined first.
            (left.rows, left.cost).partial_cmp(&(right.rows, right.cost)).unwrap_or(std::cmp::Ordering::Equal)
        }) {
            part = next;
        }
        part.order
    }

    /// The cheapest of all orders in which each member joins those before it.
    fn compared(&self, starts: impl Iterator<Item = Part>) -> Vec<usize> {
        let count = self.sizes.len();
        let mut best: Vec<Option<Part>> = vec![None; 1 << count];
        for start in starts {
            let at = start.members as usize;
            best[at] = Some(start);
        }
        for members in 1..best.len() {
            let Some(part) = best[members].take() else { continue };
            if part.order.len() == count {
                return part.order;
            }
            for next in self.next(&part) {
                let place = &mut best[next.members as usize];
                // Of equally good ones the first stays: they are in the order of the text.
                if place.as_ref().is_none_or(|known| next.cost < known.cost * (1.0 - 1e-9)) {
                    *place = Some(next);
                }
            }
        }
        (0..count).collect()
    }

    /// The part with one more member: each to which a condition leads, or any if there is none, or few rows.
    fn next(&self, part: &Part) -> Vec<Part> {
        let free =
            (0..self.sizes.len()).filter(|&member| part.members & 1 << member == 0 && self.may_follow(part, member));
        let (linked, others): (Vec<usize>, Vec<usize>) = free.partition(|&member| self.is_linked(part, member));
        let few = |member: &usize| part.rows.min(self.sizes[*member].rows) <= FEW;
        let all = linked.is_empty();
        let others = others.into_iter().filter(|member| all || few(member));
        let mut members: Vec<usize> = linked.iter().copied().chain(others).collect();
        members.sort_unstable();
        members.into_iter().map(|member| self.extended(part, member)).collect()
    }

    fn may_follow(&self, part: &Part, member: usize) -> bool {
        let outer = self.group.members[member].outer.as_ref();
        outer.is_none_or(|outer| outer.after.clone().all(|before| part.members & 1 << before != 0))
    }

    fn is_linked(&self, part: &Part, member: usize) -> bool {
        self.group.members[member].outer.is_some()
            || self.shared(part, member).next().is_some()
            || self.decided(part, member).next().is_some()
    }

    /// The classes by which a member joins: its column, its distinct values, and the least of those before it.
    fn shared<'a>(&'a self, part: &'a Part, member: usize) -> impl Iterator<Item = (usize, f64, f64)> + 'a {
        self.sizes[member].classes.iter().enumerate().filter_map(move |(class, own)| {
            let (column, values) = (*own)?;
            let before = part.order.iter().filter_map(|&other| self.sizes[other].classes[class]);
            let before = before.map(|(_, values)| values).reduce(f64::min)?;
            Some((column, values, before))
        })
    }

    /// The other conditions that can be decided once the member has joined, and not before.
    fn decided<'a>(&'a self, part: &'a Part, member: usize) -> impl Iterator<Item = usize> + 'a {
        let with = part.members | 1 << member;
        let ready = move |needed: u64| needed & !with == 0 && needed & 1 << member != 0 && needed & part.members != 0;
        self.conditions.iter().enumerate().filter(move |(_, needed)| ready(**needed)).map(|(at, _)| at)
    }

    /// The part with a member more.
    fn extended(&self, part: &Part, member: usize) -> Part {
        let (size, of) = (&self.sizes[member], &self.group.members[member]);
        let (mut selected, mut columns, mut computes_keys) = (1.0, Vec::new(), false);
        for (column, values, before) in self.shared(part, member) {
            selected /= values.max(before.min(part.rows)).max(1.0);
            columns.push(column);
        }
        let mut equalities = columns.len();
        let on = of.outer.iter().flat_map(|outer| &outer.conditions);
        for condition in on.chain(self.decided(part, member).map(|at| &self.group.conditions[at])) {
            match self.own_key(condition, member) {
                Some((key, values)) => {
                    selected /= values;
                    columns.extend(as_column(&key));
                    computes_keys |= keys::runs_for_each_row(&key);
                    equalities += 1;
                }
                None => selected *= CONDITION,
            }
        }
        if equalities > 1 {
            // Columns of one key agree together.
            let agree = self.keyed(part, member, &columns).unwrap_or(size.rows.max(part.rows));
            selected = selected.max(1.0 / agree.max(1.0));
        }
        let mut rows = (part.rows * size.rows * selected).max(1.0);
        if of.outer.is_some() {
            rows = rows.max(part.rows);
        }
        // A key that a subquery computes for each row keeps a join from batches, unless it is one of the left side.
        let by_rows = computes_keys.then(|| self.facts.by_rows());
        let hashed = size.cost + estimate::hashed(part.rows, size.rows, by_rows.as_ref().unwrap_or(self.facts));
        let compared = size.cost + part.rows * size.rows * COMPARE;
        let whole = if equalities > 0 { hashed } else { compared };
        let searched = plan_search_rows(&of.plan, &columns, self.facts);
        let by_search = searched.map_or(f64::INFINITY, |found| part.rows * SEARCH * (1.0 + found));
        let mut order = part.order.clone();
        order.push(member);
        Part {
            members: part.members | 1 << member,
            order,
            rows,
            cost: part.cost + whole.min(by_search) + estimate::passed(rows, self.facts),
        }
    }

    /// Rows of the smallest table of which the columns that join a member hold a whole unique key: the member's, or one's before it.
    fn keyed(&self, part: &Part, member: usize, columns: &[usize]) -> Option<f64> {
        let rows =
            |member: usize, columns: &[usize]| plan_key_rows(&self.group.members[member].plan, columns, self.facts);
        let of_class = |other: usize| {
            let both = self.sizes[other].classes.iter().zip(&self.sizes[member].classes);
            both.filter_map(|(other, own)| own.and(*other)).map(|(column, _)| column).collect::<Vec<usize>>()
        };
        let before = part.order.iter().filter_map(|&other| rows(other, &of_class(other)));
        before.chain(rows(member, columns)).reduce(f64::min)
    }

    /// For an equality of the member with others: its side, over its columns, and about how many distinct values that has.
    fn own_key(&self, condition: &Expr, member: usize) -> Option<(Expr, f64)> {
        let ExprKind::Compare(Comparison::Equal, left, right) = &condition.kind else { return None };
        let is_own = |side: &Expr| {
            let columns = columns_of(side);
            !columns.is_empty() && columns.iter().all(|&column| self.group.member_of(column) == Some(member))
        };
        let is_other = |side: &Expr| {
            let columns = columns_of(side);
            !columns.is_empty() && columns.iter().all(|&column| self.group.member_of(column) != Some(member))
        };
        let own = match (is_own(left) && is_other(right), is_other(left) && is_own(right)) {
            (true, _) => left,
            (_, true) => right,
            _ => return None,
        };
        let of = &self.group.members[member];
        let mut own = (**own).clone();
        renumber(&mut own, &|column| column - of.start);
        let values = estimate::distinct((&of.plan, self.sizes[member].rows), &own, self.facts).max(1.0);
        Some((own, values))
    }
}

fn as_column(key: &Expr) -> Option<usize> {
    match key.kind {
        ExprKind::Column(column) => Some(column),
        _ => None,
    }
}
