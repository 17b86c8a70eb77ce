//! Turns operators into nodes with PostgreSQL's names.
//!
//! A projection is not a node there, and a filter belongs to the node below it; names of columns are passed upwards.

use super::deparse::Deparser;
use super::{Node, Options, Property};
use crate::catalog::{EXPRESSION, Table};
use crate::exec::Logged;
use crate::plan::{
    Aggregation, Estimate, Expr, Join, JoinKind, Modifying, Path, Plan, Scan, SetColumn, SetOperation, SortKey,
    Statement, Subquery, Window, WindowKind,
};
use crate::stack::ensure_stack;
use crate::vectorize::conjuncts;
use std::collections::HashSet;
use std::ops::Bound;

/// The node of a statement.
pub fn describe(statement: &Statement, options: Options<'_>) -> Node {
    let (verb, table, source) = match statement {
        Statement::Query(query) => return Describer::new(&query.plan, options).node(&query.plan).0,
        Statement::Insert(insert) => ("Insert", &insert.table, &insert.source),
        Statement::Update(update) => ("Update", &update.table, &update.source),
        Statement::Delete(delete) => ("Delete", &delete.table, &delete.source),
        Statement::Merge(merge) => ("Merge", &merge.table, &merge.source),
        Statement::Modifying(modifying) => return describe_parts(modifying, options),
    };
    let mut node = Node::new(format!("{verb} on {}", table.name));
    node.parts = vec![
        ("Node Type", "ModifyTable".to_owned()),
        ("Operation", verb.to_owned()),
        ("Relation Name", table.name.clone()),
    ];
    let source = Describer::new(source, options).node(source).0;
    // It returns no rows.
    node.estimate = source.estimate.map(|estimate| Estimate { rows: 0.0, width: 0, ..estimate });
    node.inputs.push(source);
    node
}

/// The body, with the parts of WITH below it.
fn describe_parts(modifying: &Modifying, options: Options<'_>) -> Node {
    let mut node = describe(&modifying.body, options);
    for (at, (_, part)) in modifying.parts.iter().enumerate() {
        let mut part = describe(part, options);
        part.role = Some(format!("CTE {}", at + 1));
        node.inputs.insert(at, part);
    }
    node
}

/// A node with the names of its columns.
type Named = (Node, Vec<String>);

struct Describer<'c> {
    options: Options<'c>,
    /// Whether columns are printed with their table's name.
    qualified: bool,
    /// The columns of the enclosing rows, the nearest last.
    outer: Vec<Vec<String>>,
    /// Subqueries so far.
    subqueries: usize,
}

impl<'c> Describer<'c> {
    fn new(plan: &Plan, options: Options<'c>) -> Describer<'c> {
        let mut tables = 0;
        plan.walk(&mut |plan| {
            tables += usize::from(matches!(
                plan,
                Plan::Scan(_) | Plan::Virtual { .. } | Plan::Functions { .. } | Plan::CteScan { .. }
            ));
        });
        Describer { options, qualified: tables > 1, outer: Vec::new(), subqueries: 0 }
    }

    /// A plan's node, and the names of its columns.
    fn node(&mut self, plan: &Plan) -> Named {
        let (mut node, names) = ensure_stack(|| self.of(plan));
        // Of a plan that is no node of its own, the node below has counted already; what the plan returned counts.
        if let Some(counter) = self.options.counters.and_then(|counters| counters.of(plan)) {
            node.counter = Some(counter);
        }
        node.estimate = self.options.estimate.map(|estimate| estimate(plan));
        if self.options.given.verbose {
            node.output = names.iter().filter(|name| !name.is_empty()).cloned().collect();
        }
        (node, names)
    }

    /// Rows that a condition has removed in a loop of its plan.
    fn removed<T>(&self, owner: &T, plan: &Plan) -> Option<u64> {
        let counters = self.options.counters?;
        let loops = counters.of(plan).map_or(1, |counter| counter.loops.max(1));
        Some((counters.removed_by(owner) as f64 / loops as f64).round() as u64)
    }

    fn of(&mut self, plan: &Plan) -> Named {
        match plan {
            Plan::Values { rows } if rows.len() == 1 => {
                let mut node = Node::new("Result");
                let names = self.texts(&rows[0], &[], &mut node);
                (node, names)
            }
            Plan::Values { rows } => {
                let width = rows.first().map_or(0, Vec::len);
                (Node::new("Values Scan on \"*VALUES*\""), (1..=width).map(|at| format!("column{at}")).collect())
            }
            Plan::Scan(scan) => self.scan(scan, plan),
            Plan::Virtual { table, name } => {
                let names = table.columns.iter().map(|(name, _)| self.name(table.name, name)).collect();
                let (Some(by_name), Some(name)) = (table.by_name, name) else {
                    return (on("Seq Scan", table.name), names);
                };
                let mut node = index_scan(table.name, by_name.index, false);
                let condition = format!("({} = {})", by_name.column, self.text(name, &[], &mut node));
                node.properties.push(("Index Cond", condition.into()));
                (node, names)
            }
            Plan::Functions { calls, ordinality } => {
                let first = calls.first().map_or("", |(function, _)| function.function.name);
                let mut names = Vec::new();
                for (function, _) in calls {
                    match &function.columns {
                        Some(columns) => names.extend(columns.iter().map(|(name, _)| self.name(first, name))),
                        None => names.push(function.function.name.to_owned()),
                    }
                }
                names.extend(ordinality.then(|| "ordinality".to_owned()));
                (on("Function Scan", first), names)
            }
            Plan::Filter { input, condition } => {
                let (mut node, names) = self.node(input);
                let text = self.text(condition, &names, &mut node);
                let name = if node.title == "Result" { "One-Time Filter" } else { "Filter" };
                node.add_condition(name, text, self.removed(condition, plan));
                (node, names)
            }
            Plan::Project { input, columns } => {
                let (mut node, names) = self.node(input);
                let names = self.texts(columns, &names, &mut node);
                (node, names)
            }
            Plan::ProjectSet { input, columns } => {
                let (below, names) = self.node(input);
                let mut node = Node::new("ProjectSet");
                let mut made = Vec::new();
                for column in columns {
                    made.push(match column {
                        SetColumn::Value(value) => self.text(value, &names, &mut node),
                        SetColumn::Set(function, arguments) => {
                            let arguments = self.texts(arguments, &names, &mut node).join(", ");
                            format!("{}({arguments})", function.function.name)
                        }
                    });
                }
                node.inputs.insert(0, below);
                (node, made)
            }
            Plan::Join(join) => self.join(join, plan),
            Plan::Aggregate(aggregation) => self.aggregate(aggregation),
            Plan::Window(window) => self.window(window),
            Plan::Sort { input, keys } => {
                let (below, names) = self.node(input);
                let mut node = Node::new("Sort");
                let keys = self.sort_keys(keys, &names, &mut node);
                node.properties.push(("Sort Key", Property::List(keys)));
                node.inputs.insert(0, below);
                (node, names)
            }
            Plan::Limit { input, limit, ties, .. } => {
                let (mut node, names) = self.above("Limit", input);
                if limit.is_some() && ties.is_none() && is_top(input) {
                    mark_top(&mut node);
                }
                (node, names)
            }
            Plan::Distinct { input, on: Some(_) } => self.above("Unique", input),
            Plan::Distinct { input, on: None } => {
                let (mut node, names) = self.above("HashAggregate", input);
                node.properties.push(("Group Key", Property::List(names.clone())));
                (node, names)
            }
            Plan::Set { operation, all, left, right } => self.set(*operation, *all, left, right),
            Plan::With { queries, body } => {
                let (mut node, names) = self.node(body);
                for (number, query) in queries.iter().rev() {
                    let (mut below, _) = self.node(query);
                    below.role = Some(format!("CTE {}", cte_name(*number)));
                    node.inputs.insert(0, below);
                }
                (node, names)
            }
            Plan::CteScan { number } => {
                let name = cte_name(*number);
                let names = (1..=64).map(|column| self.name(&name, &format!("column{column}"))).collect();
                (on("CTE Scan", &name), names)
            }
            Plan::Recursive { start, step, .. } => {
                let (start, names) = self.node(start);
                let mut node = Node::new("Recursive Union");
                node.inputs = vec![start, self.node(step).0];
                (node, names)
            }
            Plan::Vectors { input, .. } => self.above("Vectors", input),
            Plan::Lock { input, .. } => self.above("LockRows", input),
        }
    }

    fn above(&mut self, title: &str, input: &Plan) -> Named {
        let (below, names) = self.node(input);
        let mut node = Node::new(title);
        node.inputs.push(below);
        (node, names)
    }

    fn scan(&mut self, scan: &Scan, plan: &Plan) -> Named {
        let table = &*scan.table;
        let mut names: Vec<String> = table.columns.iter().map(|column| self.name(&table.name, &column.name)).collect();
        names.extend(scan.with_key.then(|| "ctid".to_owned()));
        let mut node = self.path(table, &scan.path, &names);
        if let Some(filter) = &scan.filter {
            let filter = self.text(filter, &names, &mut node);
            node.add_condition("Filter", filter, self.removed(scan, plan));
        }
        if let Some(logged) = self.options.logged.and_then(|all| all.get(&std::ptr::from_ref(scan).addr())) {
            let text = self.logged(scan, logged, &names, &mut node);
            node.properties.push(("Logged", text.into()));
        }
        (node, names)
    }

    /// The predicate and the columns that an engine writes down for a scan.
    fn logged(&mut self, scan: &Scan, logged: &Logged, names: &[String], node: &mut Node) -> String {
        let conjuncts = scan.filter.as_ref().map_or(&[][..], conjuncts);
        let texts: Vec<String> = logged.conjuncts.iter().map(|at| self.text(&conjuncts[*at], names, node)).collect();
        let predicate = match texts.len() {
            0 => "all rows".to_owned(),
            1 => texts.concat(),
            _ => format!("({})", texts.join(" AND ")),
        };
        let beyond = logged.extremes.iter().map(|of| {
            let (side, end) = if of.is_greatest { ("above", "greatest") } else { ("below", "least") };
            format!("{} {side} the {end}", scan.table.columns[usize::from(of.column)].name)
        });
        let beyond = match &beyond.collect::<Vec<String>>()[..] {
            [] => String::new(),
            beyond => format!(" with {}", beyond.join(" or ")),
        };
        let columns = match logged.columns.as_deref() {
            None => "all columns".to_owned(),
            Some([]) => "no columns".to_owned(),
            Some(columns) => {
                let names: Vec<&str> =
                    columns.iter().map(|at| scan.table.columns[usize::from(*at)].name.as_str()).collect();
                format!("columns {}", names.join(", "))
            }
        };
        format!("{predicate}{beyond}, {columns}")
    }

    fn path(&mut self, table: &Table, path: &Path, names: &[String]) -> Node {
        let (number, backward) = match path {
            Path::All => return on("Seq Scan", &table.name),
            Path::Index { index, backward, .. } => (*index, *backward),
            Path::Alternatives { index, .. } | Path::AnyOf { index, .. } => (*index, false),
        };
        let Some(index) = table.indexes.get(number) else { return on("Seq Scan", &table.name) };
        let mut node = index_scan(&table.name, &index.name, backward);
        let column = |at: usize| match index.columns.get(at) {
            Some(&EXPRESSION) => {
                let before = index.columns[..at].iter().filter(|&&column| column == EXPRESSION).count();
                index.expression_as_key(before)
            }
            Some(&column) => names.get(column).cloned().unwrap_or_default(),
            None => String::new(),
        };
        let mut conditions = Vec::new();
        match path {
            Path::All => {}
            Path::Index { equal, lower, upper, .. } => {
                for (at, value) in equal.iter().enumerate() {
                    conditions.push(format!("({} = {})", column(at), self.text(value, &[], &mut node)));
                }
                for (bound, symbols) in [(lower, [">=", ">"]), (upper, ["<=", "<"])] {
                    let (symbol, value) = match bound {
                        Bound::Unbounded => continue,
                        Bound::Included(value) => (symbols[0], value),
                        Bound::Excluded(value) => (symbols[1], value),
                    };
                    let value = self.text(value, &[], &mut node);
                    conditions.push(format!("({} {symbol} {value})", column(equal.len())));
                }
            }
            Path::AnyOf { equal, array, .. } => {
                for (at, value) in equal.iter().enumerate() {
                    conditions.push(format!("({} = {})", column(at), self.text(value, &[], &mut node)));
                }
                let array = self.text(array, &[], &mut node);
                conditions.push(format!("({} = ANY ({array}))", column(equal.len())));
            }
            Path::Alternatives { equal, .. } => {
                for at in 0..equal.first().map_or(0, Vec::len) {
                    let mut values: Vec<String> = Vec::new();
                    let mut known = HashSet::new();
                    for value in equal.iter().filter_map(|values| values.get(at)) {
                        let text = self.text(value, &[], &mut node);
                        if known.insert(text.clone()) {
                            values.push(text);
                        }
                    }
                    let list = values.join(", ");
                    let is_one = values.len() == 1;
                    let values = if is_one { format!("= {list}") } else { format!("= ANY (ARRAY[{list}])") };
                    conditions.push(format!("({} {values})", column(at)));
                }
            }
        }
        if !conditions.is_empty() {
            let all = conditions.join(" AND ");
            let text = if conditions.len() > 1 { format!("({all})") } else { all };
            node.properties.push(("Index Cond", text.into()));
        }
        node
    }

    fn join(&mut self, join: &Join, plan: &Plan) -> Named {
        let (left, mut names) = self.node(&join.left);
        let deeper = join.lateral.then(|| self.outer.push(names.clone())).is_some();
        let (right, right_names) = self.node(&join.right);
        if deeper {
            self.outer.pop();
        }
        let hash = !join.equalities.is_empty();
        let kind = match join.kind {
            JoinKind::Inner => "",
            JoinKind::Left => " Left",
            JoinKind::Right => " Right",
            JoinKind::Full => " Full",
            JoinKind::Semi => " Semi",
            JoinKind::Anti | JoinKind::NotIn => " Anti",
            JoinKind::Mark | JoinKind::MarkIn => " Mark",
        };
        let mut node = Node::new(match (hash, kind) {
            (true, kind) => format!("Hash{kind} Join"),
            (false, "") => "Nested Loop".to_owned(),
            (false, kind) => format!("Nested Loop{kind} Join"),
        });
        let plain = if hash { "Hash Join" } else { "Nested Loop" };
        let joined = if kind.is_empty() { "Inner" } else { kind.trim_start() };
        node.parts = vec![("Node Type", plain.to_owned()), ("Join Type", joined.to_owned())];
        let mut both = names.clone();
        both.resize(join.left_width, String::new());
        both.extend(right_names.iter().cloned());
        if hash {
            let mut conditions = Vec::new();
            for (left, right) in &join.equalities {
                let (left, right) = (self.text(left, &names, &mut node), self.text(right, &right_names, &mut node));
                conditions.push(format!("({left} = {right})"));
            }
            let all = conditions.join(" AND ");
            let text = if conditions.len() > 1 { format!("({all})") } else { all };
            node.properties.push(("Hash Cond", text.into()));
        }
        if join.kind.is_null_aware() {
            node.properties.push(("Null Aware", "true".to_owned().into()));
        }
        if let Some(condition) = &join.condition {
            let condition = self.text(condition, &both, &mut node);
            node.add_condition("Join Filter", condition, self.removed(join, plan));
        }
        let right = match (hash, join.lateral) {
            (true, _) => wrapped("Hash", right),
            (false, false) => wrapped("Materialize", right),
            (false, true) => right,
        };
        node.inputs.splice(0..0, [left, right]);
        if join.kind.shows_right() {
            names = both;
        } else if join.kind.is_mark() {
            names.resize(join.left_width, String::new());
            let before = names.iter().filter(|name| name.starts_with("mark")).count();
            names.push(format!("mark{}", before + 1));
        }
        (node, names)
    }

    fn aggregate(&mut self, aggregation: &Aggregation) -> Named {
        let (below, names) = self.node(&aggregation.input);
        let mut node = Node::new(if aggregation.keys.is_empty() { "Aggregate" } else { "HashAggregate" });
        let mut made = self.texts(&aggregation.keys, &names, &mut node);
        if let [_] = aggregation.sets[..] {
            if !made.is_empty() {
                node.properties.push(("Group Key", Property::List(made.clone())));
            }
        } else {
            for set in &aggregation.sets {
                let keys: Vec<String> = set.iter().filter_map(|&key| made.get(key).cloned()).collect();
                let keys = if keys.is_empty() { vec!["()".to_owned()] } else { keys };
                node.properties.push(("Group Key", Property::List(keys)));
            }
        }
        for call in &aggregation.calls {
            let arguments = self.texts(&call.arguments, &names, &mut node).join(", ");
            let name = call.aggregate.aggregate.name;
            let distinct = if call.distinct { "DISTINCT " } else { "" };
            made.push(match &call.grouping {
                Some(_) => "GROUPING".to_owned(),
                None if call.arguments.is_empty() => format!("{name}(*)"),
                None => format!("{name}({distinct}{arguments})"),
            });
        }
        node.inputs.insert(0, below);
        (node, made)
    }

    fn window(&mut self, window: &Window) -> Named {
        let (below, mut names) = self.node(&window.input);
        let mut node = Node::new("WindowAgg");
        let mut made = Vec::new();
        for call in &window.calls {
            let arguments = self.texts(&call.arguments, &names, &mut node).join(", ");
            let name = match &call.function {
                WindowKind::Window(function) => format!("{function:?}").to_lowercase(),
                WindowKind::Aggregate(aggregate) => aggregate.aggregate.name.to_owned(),
            };
            made.push(format!("{name}({arguments}) OVER (?)"));
        }
        if window.partition.is_empty() && window.order.is_empty() {
            node.inputs.insert(0, below);
        } else {
            let mut sort = Node::new("Sort");
            let mut keys = self.texts(&window.partition, &names, &mut sort);
            if !window.order.is_empty() {
                keys.extend(self.sort_keys(&window.order, &names, &mut sort));
            }
            sort.properties.push(("Sort Key", Property::List(keys)));
            (sort.counter, sort.estimate) = (below.counter, below.estimate);
            sort.inputs.insert(0, below);
            node.inputs.insert(0, sort);
        }
        names.extend(made);
        (node, names)
    }

    fn set(&mut self, operation: SetOperation, all: bool, left: &Plan, right: &Plan) -> Named {
        let (first, names) = self.node(left);
        let second = self.node(right).0;
        let every = if all { " All" } else { "" };
        let mut node = match operation {
            SetOperation::Union => Node::new("Append"),
            SetOperation::Intersect => Node::new(format!("HashSetOp Intersect{every}")),
            SetOperation::Except => Node::new(format!("HashSetOp Except{every}")),
        };
        node.inputs = vec![first, second];
        if operation == SetOperation::Union && !all {
            node = wrapped("HashAggregate", node);
            node.properties.push(("Group Key", Property::List(names.clone())));
        }
        (node, names)
    }

    fn sort_keys(&mut self, keys: &[SortKey], names: &[String], node: &mut Node) -> Vec<String> {
        let mut texts = Vec::new();
        for key in keys {
            let text = self.text(&key.expression, names, node);
            let descending = if key.descending { " DESC" } else { "" };
            let nulls = match (key.descending, key.nulls_first) {
                (true, false) => " NULLS LAST",
                (false, true) => " NULLS FIRST",
                _ => "",
            };
            texts.push(format!("{text}{descending}{nulls}"));
        }
        texts
    }

    fn name(&self, table: &str, column: &str) -> String {
        if self.qualified { format!("{table}.{column}") } else { column.to_owned() }
    }

    fn texts(&mut self, expressions: &[Expr], names: &[String], node: &mut Node) -> Vec<String> {
        expressions.iter().map(|expression| self.text(expression, names, node)).collect()
    }

    /// An expression's text; the plans of its subqueries become inputs of the node.
    fn text(&mut self, expression: &Expr, names: &[String], node: &mut Node) -> String {
        let mut subqueries: Vec<(String, Subquery)> = Vec::new();
        let mut number = self.subqueries;
        let text = Deparser {
            columns: names,
            outer: &self.outer,
            subquery: &mut |subquery| {
                number += 1;
                let name = if subquery.correlated { format!("SubPlan {number}") } else { format!("InitPlan {number}") };
                subqueries.push((name.clone(), subquery.clone()));
                format!("({name})")
            },
        }
        .text(expression);
        self.subqueries = number;
        for (name, subquery) in subqueries {
            self.outer.push(names.to_vec());
            let (mut below, _) = self.node(&subquery.plan);
            self.outer.pop();
            below.role = Some(name);
            node.inputs.push(below);
        }
        text
    }
}

fn on(kind: &str, relation: &str) -> Node {
    let mut node = Node::new(format!("{kind} on {relation}"));
    node.parts = vec![("Node Type", kind.to_owned()), ("Relation Name", relation.to_owned())];
    node
}

fn index_scan(relation: &str, index: &str, backward: bool) -> Node {
    let direction = if backward { " Backward" } else { "" };
    let mut node = Node::new(format!("Index Scan{direction} using {index} on {relation}"));
    node.parts = vec![
        ("Node Type", "Index Scan".to_owned()),
        ("Scan Direction", if backward { "Backward" } else { "Forward" }.to_owned()),
        ("Index Name", index.to_owned()),
        ("Relation Name", relation.to_owned()),
    ];
    node
}

/// A node of PostgreSQL's that is no operator here.
fn wrapped(title: &str, input: Node) -> Node {
    let mut node = Node::new(title);
    (node.counter, node.estimate, node.output) = (input.counter, input.estimate, input.output.clone());
    node.inputs.push(input);
    node
}

fn cte_name(number: usize) -> String {
    format!("with_{number}")
}

/// Returns whether a plan is a sort over batches, which holds only what a limit above it reads.
fn is_top(plan: &Plan) -> bool {
    match plan {
        Plan::Project { input, .. } => is_top(input),
        Plan::Vectors { input, .. } => matches!(**input, Plan::Sort { .. }),
        _ => false,
    }
}

/// Says so at the sort.
fn mark_top(node: &mut Node) {
    match node.inputs.last_mut() {
        Some(below) if below.title == "Sort" => below.properties.push(("Sort Method", "top-N".to_owned().into())),
        Some(below) => mark_top(below),
        None => {}
    }
}
