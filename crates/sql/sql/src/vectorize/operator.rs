//! Translation of operators.

use super::expression::translate as expression;
use super::{Context, conjuncts};
use crate::plan::{Aggregation, Expr, ExprKind, Join, JoinKind, Path, Plan, Scan, SortKey, origin};
use crate::stack::ensure_stack;
use crate::types::{Modifier, Type};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use vectors::aggregate::{Call, Grouping};
use vectors::expression::Expression;
use vectors::flow::{Kind, Operator};
use vectors::join::{self, JoinRule};
use vectors::keys::is_key_type;
use vectors::sort;

/// Where a translated operator takes rows from: by the place of an operator in the plan, counted from its top, inputs in order.
#[derive(Clone, Debug)]
pub enum Source {
    /// The stored rows of a table, of which the engine evaluates a part of the filter.
    Table(usize),
    /// The rows of an operator that the row executor runs, and their types.
    Rows(usize, Vec<Type>),
}

/// A translated plan.
pub struct Translation {
    /// The operator.
    pub operator: Operator,
    /// Its sources, by number.
    pub sources: Vec<Source>,
    /// The rows that each operator returns, with the operator's place.
    pub counters: Vec<(usize, Arc<AtomicU64>)>,
}

/// The operators of a plan in the order by which [`Source`] counts them.
pub fn nodes(plan: &Plan) -> Vec<&Plan> {
    let mut all = Vec::new();
    collect(plan, &mut all);
    all
}

fn collect<'p>(plan: &'p Plan, all: &mut Vec<&'p Plan>) {
    all.push(plan);
    plan.each_input(&mut |input, _| ensure_stack(|| collect(input, all)));
}

/// The translation of a plan; `None` if its top has none. `bound`: number of rows that will be read.
pub fn translate(plan: &Plan, bound: Option<usize>, context: &mut dyn Context) -> Option<Translation> {
    let mut translator =
        Translator { nodes: nodes(plan), sources: Vec::new(), counters: Vec::new(), context, depth: 0 };
    let operator = translator.operator(plan, bound)?;
    Some(Translation { operator, sources: translator.sources, counters: translator.counters })
}

/// Returns whether an operator gains by vectors itself, and does not only hand rows on.
pub fn is_root(plan: &Plan) -> bool {
    match plan {
        Plan::Aggregate(_) | Plan::Sort { .. } | Plan::Distinct { on: None, .. } => true,
        Plan::Join(join) => !join.lateral && !join.equalities.is_empty(),
        _ => false,
    }
}

/// Returns whether an aggregate with DISTINCT does not depend on the order of rows, nor on which of equal values counts.
fn is_the_same_by_any(aggregate: &str, arguments: &[Expression]) -> bool {
    let is_integer = |of: &Expression| [Type::INT2, Type::INT4, Type::INT8].contains(&of.data_type());
    match (aggregate, arguments) {
        ("count", [of]) => is_key_type(of.data_type()),
        ("sum" | "avg" | "min" | "max", [of]) => is_integer(of),
        _ => false,
    }
}

/// Returns whether the values of a key of type `char(n)` all have the length of a column that they come from.
fn is_padded(aggregation: &Aggregation, key: &Expr) -> bool {
    let column = origin(&aggregation.input, key).and_then(|(scan, column)| scan.table.columns.get(column));
    matches!(key.kind, ExprKind::Column(_))
        && column.is_some_and(|column| column.data_type == Type::BPCHAR && column.modifier != Modifier::NONE)
}

/// Returns whether a join compares rows by one equality alone.
fn is_one_comparison(join: &Join) -> bool {
    join.equalities.len() == 1 && join.condition.is_none()
}

/// Operators above each other, at most.
const DEEPEST: usize = 200;

struct Translator<'p, 'c> {
    nodes: Vec<&'p Plan>,
    sources: Vec<Source>,
    counters: Vec<(usize, Arc<AtomicU64>)>,
    context: &'c mut dyn Context,
    depth: usize,
}

impl Translator<'_, '_> {
    fn place(&self, plan: &Plan) -> Option<usize> {
        self.nodes.iter().position(|node| std::ptr::eq(*node, plan))
    }

    /// The operator for an input: its own, or the rows that the row executor makes.
    fn input(&mut self, plan: &Plan) -> Option<Operator> {
        let (sources, counters) = (self.sources.len(), self.counters.len());
        if self.depth < DEEPEST {
            self.depth += 1;
            let found = self.operator(plan, None);
            self.depth -= 1;
            if found.is_some() {
                return found;
            }
        }
        self.sources.truncate(sources);
        self.counters.truncate(counters);
        let types = self.context.types(plan);
        let source = Source::Rows(self.place(plan)?, types.clone());
        Some(self.source(source, types))
    }

    fn source(&mut self, source: Source, types: Vec<Type>) -> Operator {
        self.sources.push(source);
        Operator::new(Kind::Source(self.sources.len() - 1), types)
    }

    fn operator(&mut self, plan: &Plan, bound: Option<usize>) -> Option<Operator> {
        let types = self.context.types(plan);
        let kind = match plan {
            Plan::Scan(scan) => return self.scan(plan, scan, types),
            Plan::CteScan { .. } => {
                let source = self.source(Source::Rows(self.place(plan)?, types.clone()), types);
                return Some(self.counted(plan, source));
            }
            Plan::Filter { input, condition } => {
                Kind::Filter(Box::new(self.input(input)?), expression(condition, self.context)?)
            }
            Plan::Project { input, columns } => {
                let input = Box::new(self.input(input)?);
                let columns = columns.iter().map(|column| expression(column, self.context));
                Kind::Project(input, columns.collect::<Option<_>>()?)
            }
            Plan::Join(join) => self.join(join)?,
            Plan::Aggregate(aggregation) => self.aggregate(aggregation)?,
            Plan::Distinct { input, on: None } => {
                let keys = types.iter().enumerate().map(|(at, data_type)| Expression::column(at, *data_type)).collect();
                Kind::Aggregate(Box::new(self.input(input)?), Arc::new(self.grouping(keys, Vec::new(), false)?))
            }
            Plan::Sort { input, keys } => {
                let keys = keys.iter().map(|key| self.sort_key(key)).collect::<Option<Vec<_>>>()?;
                Kind::Sort(Box::new(self.input(input)?), Arc::new(keys), bound)
            }
            _ => return None,
        };
        Some(self.counted(plan, Operator::new(kind, types)))
    }

    fn counted(&mut self, plan: &Plan, operator: Operator) -> Operator {
        if let Some(place) = self.place(plan) {
            self.counters.push((place, operator.counter.clone()));
        }
        operator
    }

    fn scan(&mut self, plan: &Plan, scan: &Scan, types: Vec<Type>) -> Option<Operator> {
        let is_read = |at: &usize| scan.wanted.as_ref().is_none_or(|wanted| wanted.contains(at));
        let needs_definition =
            |(_, column): (usize, &crate::catalog::Column)| column.data_type.scalar.defined().is_some();
        let mut columns = scan.table.columns.iter().enumerate();
        if !matches!(scan.path, Path::All) || scan.for_update || scan.with_key {
            return None;
        }
        if columns.any(|(at, column)| is_read(&at) && needs_definition((at, column))) {
            return None;
        }
        let rest = self.context.rest(scan);
        let filter = scan.filter.as_ref().map_or(&[][..], conjuncts);
        let rest = rest.iter().map(|at| expression(&filter[*at], self.context)).collect::<Option<Vec<_>>>()?;
        let needs_definition =
            |of: &usize| scan.table.columns.get(*of).is_some_and(|column| column.data_type.scalar.defined().is_some());
        if rest.iter().any(|conjunct| conjunct.columns().iter().any(needs_definition)) {
            return None;
        }
        let source = Source::Table(self.place(plan)?);
        let source = self.source(source, types.clone());
        if rest.is_empty() {
            return Some(self.counted(plan, source));
        }
        let kind = Kind::Filter(Box::new(source), Expression::and(rest));
        Some(self.counted(plan, Operator::new(kind, types)))
    }

    fn sort_key(&mut self, key: &SortKey) -> Option<sort::SortKey> {
        let SortKey { expression: of, descending, nulls_first } = key;
        let expression = expression(of, self.context)?;
        Some(sort::SortKey { expression, descending: *descending, nulls_first: *nulls_first })
    }

    fn grouping(&mut self, keys: Vec<Expression>, calls: Vec<Call>, is_padded: bool) -> Option<Grouping> {
        let is_whole = keys.iter().all(|key| is_key_type(key.data_type()));
        is_whole.then_some(Grouping { keys, calls, is_padded })
    }

    fn aggregate(&mut self, aggregation: &Aggregation) -> Option<Kind> {
        if aggregation.sets.len() != 1 || !aggregation.sets[0].iter().copied().eq(0..aggregation.keys.len()) {
            return None;
        }
        let keys = aggregation.keys.iter().map(|key| expression(key, self.context)).collect::<Option<Vec<_>>>()?;
        let mut calls = Vec::new();
        for call in &aggregation.calls {
            if !call.order.is_empty() || call.grouping.is_some() {
                return None;
            }
            let arguments = call.arguments.iter().map(|argument| expression(argument, self.context));
            let arguments = arguments.collect::<Option<Vec<_>>>()?;
            if call.distinct && !is_the_same_by_any(call.aggregate.aggregate.name, &arguments) {
                return None;
            }
            calls.push(Call {
                aggregate: call.aggregate.aggregate,
                arguments,
                distinct: call.distinct,
                filter: match &call.filter {
                    Some(filter) => Some(expression(filter, self.context)?),
                    None => None,
                },
                result: call.aggregate.result,
            });
        }
        let is_padded = aggregation.keys.iter().all(|key| key.data_type != Type::BPCHAR || is_padded(aggregation, key));
        let grouping = Arc::new(self.grouping(keys, calls, is_padded)?);
        Some(Kind::Aggregate(Box::new(self.input(&aggregation.input)?), grouping))
    }

    fn join(&mut self, join: &Join) -> Option<Kind> {
        if join.lateral || join.equalities.is_empty() || join.kind.is_null_aware() && !is_one_comparison(join) {
            return None;
        }
        let kind = match join.kind {
            JoinKind::Inner => join::JoinKind::Inner,
            JoinKind::Left | JoinKind::Right => join::JoinKind::Outer,
            JoinKind::Semi => join::JoinKind::Semi,
            JoinKind::Anti => join::JoinKind::Anti,
            JoinKind::NotIn => join::JoinKind::NotIn,
            JoinKind::Mark => join::JoinKind::Mark,
            JoinKind::MarkIn => join::JoinKind::MarkIn,
            JoinKind::Full => return None,
        };
        let is_swapped = match join.kind {
            JoinKind::Right if join.keeps_order => return None,
            // Rows without a partner are known when the condition has been evaluated, and come late.
            JoinKind::Left if join.keeps_order && join.condition.is_some() => return None,
            JoinKind::Right => true,
            JoinKind::Inner => join.builds_left && !join.keeps_order,
            JoinKind::Semi | JoinKind::Anti => join.builds_left,
            _ => false,
        };
        let mut left = Vec::new();
        let mut right = Vec::new();
        for (of_left, of_right) in &join.equalities {
            if of_left.data_type != of_right.data_type || !is_key_type(of_left.data_type) {
                return None;
            }
            left.push(expression(of_left, self.context)?);
            right.push(expression(of_right, self.context)?);
        }
        let condition = match &join.condition {
            Some(condition) => Some(expression(condition, self.context)?),
            None => None,
        };
        let (of_left, of_right) = (self.input(&join.left)?, self.input(&join.right)?);
        let ((probing, probe), (building, build)) = match is_swapped {
            false => ((of_left, left), (of_right, right)),
            true => ((of_right, right), (of_left, left)),
        };
        let built = building.types.clone();
        let keeps_order = join.keeps_order;
        let rule = JoinRule { kind, probe, build, condition, is_swapped, built, keeps_order };
        Some(Kind::Join(Box::new(probing), Box::new(building), Arc::new(rule)))
    }
}
