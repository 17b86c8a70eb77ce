//! EXPLAIN: a plan as text, JSON, XML or YAML, in PostgreSQL's shape.
//!
//! `describe.rs` turns operators into nodes as PostgreSQL names them; `deparse.rs` writes expressions; here nodes become lines, or
//! a tree of properties that `structured.rs` prints.

mod deparse;
mod describe;
mod structured;

#[cfg(test)]
mod tests;

use crate::context::Exec;
use crate::dml;
use crate::error::Result;
use crate::exec::{self, Counter, Counters, Cursor, Logged};
use crate::plan::{Estimate, Path, Plan, Statement};
use describe::describe;
use model::Tables;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use structured::Tree;
use syntax::{ExplainFormat, ExplainOptions};

/// What is known of a statement beside its plan, and what of it is shown.
#[derive(Clone, Copy, Default)]
pub struct Options<'c> {
    /// The options that the statement gives.
    pub given: ExplainOptions,
    /// What each operator is expected to do.
    pub estimate: Option<&'c dyn Fn(&Plan) -> Estimate>,
    /// How long planning took.
    pub planning: Option<Duration>,
    /// What scans write down of what they ask for, where the engine does ([`logged`]).
    pub logged: Option<&'c HashMap<usize, Logged>>,
    /// ANALYZE: what the operators did.
    pub counters: Option<&'c Counters>,
    /// ANALYZE: how long the statement took.
    pub elapsed: Option<Duration>,
}

/// A node of an explained plan.
#[derive(Debug, Default)]
struct Node {
    /// Its kind and what it works on: `Index Scan using a on b`.
    title: String,
    /// `InitPlan 1`, `CTE x`: what it is to its parent, if that needs words.
    role: Option<String>,
    /// For structured formats: `Node Type` and the parts of the title.
    parts: Vec<(&'static str, String)>,
    /// `Filter`, `Sort Key` and the like.
    properties: Vec<(&'static str, Property)>,
    inputs: Vec<Node>,
    /// What the operator is expected to do.
    estimate: Option<Estimate>,
    /// Counts of the operator's run; `None`: never started.
    counter: Option<Counter>,
    /// Its columns, for VERBOSE.
    output: Vec<String>,
}

/// The value of a property.
#[derive(Debug)]
enum Property {
    Text(String),
    List(Vec<String>),
    Count(u64),
}

impl From<String> for Property {
    fn from(text: String) -> Property {
        Property::Text(text)
    }
}

/// The lines of EXPLAIN's answer; in a structured format, one text.
pub fn explain(statement: &Statement, options: Options<'_>) -> Vec<String> {
    let node = describe(statement, options);
    let times = [("Planning Time", options.planning), ("Execution Time", options.elapsed)];
    let times = times.into_iter().filter(|_| options.given.has_summary());
    let times = times.filter_map(|(name, time)| Some((name, milliseconds(time?))));
    if options.given.format != ExplainFormat::Text {
        let plan = ("Plan", node.tree(None, options));
        let times = times.map(|(name, time)| (name, Tree::Number(format!("{time:.3}"))));
        return vec![structured::print(Tree::Object([plan].into_iter().chain(times).collect()), options.given.format)];
    }
    let mut lines = Vec::new();
    node.lines(0, options, &mut lines);
    lines.extend(times.map(|(name, time)| format!("{name}: {time:.3} ms")));
    lines
}

/// What the scans of whole tables in a statement write down when it starts, by the scan's address; nothing where the engine protects reads
/// otherwise.
pub fn logged(exec: &mut Exec<'_>, statement: &Statement) -> HashMap<usize, Logged> {
    let mut all = HashMap::new();
    if exec.store().ddl().is_some_and(Tables::logs_predicates)
        && let Statement::Query(query) = statement
    {
        query.plan.walk(&mut |plan| {
            if let Plan::Scan(scan) = plan
                && matches!(scan.path, Path::All)
                && let Some(logged) = exec::logged(exec, scan)
            {
                all.insert(std::ptr::from_ref(scan).addr(), logged);
            }
        });
    }
    all
}

/// Runs a statement and explains its operators with their counts. A statement that writes is timed as a whole.
///
/// # Errors
/// Errors of the statement.
pub fn analyze(exec: &mut Exec<'_>, statement: &Statement, options: Options<'_>) -> Result<Vec<String>> {
    let since = Instant::now();
    let mut cursor = None;
    match statement {
        Statement::Query(query) => {
            let cursor = cursor.insert(Cursor::counting(query.plan.clone()));
            while cursor.next(exec)?.is_some() {}
        }
        Statement::Insert(insert) => drop(dml::insert(exec, insert)?),
        Statement::Update(update) => drop(dml::update(exec, update)?),
        Statement::Delete(delete) => drop(dml::delete(exec, delete)?),
        Statement::Merge(merge) => drop(dml::merge(exec, merge)?),
        Statement::Modifying(modifying) => drop(dml::modifying(exec, modifying)?),
    }
    let counters = cursor.as_ref().and_then(Cursor::counters);
    Ok(explain(statement, Options { counters, elapsed: Some(since.elapsed()), ..options }))
}

impl Node {
    fn new(title: impl Into<String>) -> Node {
        let title = title.into();
        Node { parts: vec![("Node Type", title.clone())], title, ..Node::default() }
    }

    /// Adds a condition, and how many rows did not satisfy it.
    fn add_condition(&mut self, name: &'static str, text: String, removed: Option<u64>) {
        self.properties.push((name, text.into()));
        let label = if name == "Join Filter" { "Rows Removed by Join Filter" } else { "Rows Removed by Filter" };
        self.properties.extend(removed.map(|rows| (label, Property::Count(rows))));
    }

    /// Appends the node's lines; lines of an input are indented under an arrow.
    fn lines(&self, indent: usize, options: Options<'_>, lines: &mut Vec<String>) {
        let arrow = if indent == 0 { "" } else { "->  " };
        let mut margin = indent;
        if let Some(role) = &self.role {
            lines.push(format!("{}{role}", " ".repeat(indent)));
            margin += 2;
        }
        let actual = if options.counters.is_some() { self.actual(options) } else { String::new() };
        let costs = self.costs(options);
        lines.push(format!("{}{arrow}{}{costs}{actual}", " ".repeat(margin), self.title));
        let below = margin + if indent == 0 { 2 } else { 6 };
        let space = " ".repeat(below);
        if options.given.verbose && !self.output.is_empty() {
            lines.push(format!("{space}Output: {}", self.output.join(", ")));
        }
        for (name, value) in &self.properties {
            match value {
                Property::Text(text) => lines.push(format!("{space}{name}: {text}")),
                Property::List(list) => lines.push(format!("{space}{name}: {}", list.join(", "))),
                Property::Count(0) => {}
                Property::Count(count) => lines.push(format!("{space}{name}: {count}")),
            }
        }
        for input in &self.inputs {
            input.lines(below, options, lines);
        }
    }

    /// `  (cost=0.00..1.00 rows=100 width=8)`
    fn costs(&self, options: Options<'_>) -> String {
        let Some(Estimate { startup, total, rows, width }) = self.estimate.filter(|_| options.given.costs) else {
            return String::new();
        };
        format!("  (cost={startup:.2}..{total:.2} rows={rows:.0} width={width})")
    }

    /// ` (actual time=0.010..0.020 rows=3 loops=1)`; rows and times are of one loop.
    fn actual(&self, options: Options<'_>) -> String {
        let Some(counter) = self.counter else { return " (never executed)".to_owned() };
        let (first, last, rows) = of_one_loop(counter);
        let time = if options.given.timing { format!("time={first:.3}..{last:.3} ") } else { String::new() };
        format!(" (actual {time}rows={rows:.0} loops={})", counter.loops.max(1))
    }

    /// The node's properties; `relationship` is what it is to its parent.
    fn tree(&self, relationship: Option<&'static str>, options: Options<'_>) -> Tree {
        let text = |text: &String| Tree::Text(text.clone());
        let mut all: Vec<(&'static str, Tree)> = Vec::new();
        let mut parts = self.parts.iter().map(|(name, value)| (*name, text(value)));
        all.extend(parts.next());
        all.extend(relationship.map(|relationship| ("Parent Relationship", Tree::Text(relationship.to_owned()))));
        all.extend(self.role.iter().map(|role| ("Subplan Name", text(role))));
        all.extend(["Parallel Aware", "Async Capable"].map(|name| (name, Tree::Bool(false))));
        all.extend(parts);
        if let Some(Estimate { startup, total, rows, width }) = self.estimate.filter(|_| options.given.costs) {
            all.push(("Startup Cost", Tree::Number(format!("{startup:.2}"))));
            all.push(("Total Cost", Tree::Number(format!("{total:.2}"))));
            all.push(("Plan Rows", Tree::Number(format!("{rows:.0}"))));
            all.push(("Plan Width", Tree::Number(width.to_string())));
        }
        if options.counters.is_some() {
            let counter = self.counter.unwrap_or_default();
            let (first, last, rows) = of_one_loop(counter);
            if options.given.timing {
                all.push(("Actual Startup Time", Tree::Number(format!("{first:.3}"))));
                all.push(("Actual Total Time", Tree::Number(format!("{last:.3}"))));
            }
            all.push(("Actual Rows", Tree::Number(format!("{rows:.0}"))));
            all.push(("Actual Loops", Tree::Number(counter.loops.to_string())));
        }
        if options.given.verbose {
            all.push(("Output", Tree::List("Item", self.output.iter().map(text).collect())));
        }
        for (name, value) in &self.properties {
            let value = match value {
                Property::Text(value) => text(value),
                Property::List(list) => Tree::List("Item", list.iter().map(text).collect()),
                Property::Count(count) => Tree::Number(count.to_string()),
            };
            all.push((name, value));
        }
        if !self.inputs.is_empty() {
            all.push(("Plans", Tree::List("Plan", self.below(options))));
        }
        Tree::Object(all)
    }

    fn below(&self, options: Options<'_>) -> Vec<Tree> {
        let mut plain = 0;
        let node = |input: &Node| {
            let relationship = match &input.role {
                Some(role) if role.starts_with("SubPlan") => "SubPlan",
                Some(_) => "InitPlan",
                None => {
                    plain += 1;
                    if plain == 1 { "Outer" } else { "Inner" }
                }
            };
            crate::stack::ensure_stack(|| input.tree(Some(relationship), options))
        };
        self.inputs.iter().map(node).collect()
    }
}

/// Time to the first row and to the last, and rows, of one loop on average.
fn of_one_loop(counter: Counter) -> (f64, f64, f64) {
    let loops = counter.loops.max(1) as f64;
    let total = milliseconds(counter.total) / loops;
    (milliseconds(counter.startup).min(total), total, (counter.rows as f64 / loops).round())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
