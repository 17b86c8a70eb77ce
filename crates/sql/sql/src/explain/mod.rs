//! EXPLAIN: a plan as text or JSON, in PostgreSQL's shape without costs.
//!
//! `describe.rs` turns operators into nodes as PostgreSQL names them; `deparse.rs` writes expressions; here nodes are printed.

mod deparse;
mod describe;

#[cfg(test)]
mod tests;

use crate::context::Exec;
use crate::dml;
use crate::error::Result;
use crate::exec::{Counter, Counters, Cursor};
use crate::plan::Statement;
use describe::describe;
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// Options of EXPLAIN.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'c> {
    /// FORMAT JSON
    pub json: bool,
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
    /// For JSON: `Node Type` and the parts of the title.
    parts: Vec<(&'static str, String)>,
    /// `Filter`, `Sort Key` and the like.
    properties: Vec<(&'static str, String)>,
    inputs: Vec<Node>,
    /// Counts of the operator's run; `None`: never started.
    counter: Option<Counter>,
}

/// The lines of EXPLAIN's answer; with FORMAT JSON, one text.
pub fn explain(statement: &Statement, options: Options<'_>) -> Vec<String> {
    let node = describe(statement, options.counters);
    if options.json {
        let mut answer = Map::new();
        answer.insert("Plan".into(), node.json(options));
        if let Some(elapsed) = options.elapsed {
            answer.insert("Execution Time".into(), json!(milliseconds(elapsed)));
        }
        let text = serde_json::to_string_pretty(&json!([answer])).unwrap_or_default();
        return vec![text];
    }
    let mut lines = Vec::new();
    node.lines(0, options, &mut lines);
    if let Some(elapsed) = options.elapsed {
        lines.push(format!("Execution Time: {:.3} ms", milliseconds(elapsed)));
    }
    lines
}

/// Runs a statement and explains its operators with their counts. A statement that writes is timed as a whole.
///
/// # Errors
/// Errors of the statement.
pub fn analyze(exec: &mut Exec<'_>, statement: &Statement, json: bool) -> Result<Vec<String>> {
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
        Statement::Modifying(modifying) => drop(dml::modifying(exec, modifying)?),
    }
    let counters = cursor.as_ref().and_then(Cursor::counters);
    Ok(explain(statement, Options { json, counters, elapsed: Some(since.elapsed()) }))
}

impl Node {
    fn new(title: impl Into<String>) -> Node {
        let title = title.into();
        Node { parts: vec![("Node Type", title.clone())], title, ..Node::default() }
    }

    /// Appends the node's lines; lines of an input are indented under an arrow.
    fn lines(&self, indent: usize, options: Options<'_>, lines: &mut Vec<String>) {
        let arrow = if indent == 0 { "" } else { "->  " };
        let mut margin = indent;
        if let Some(role) = &self.role {
            lines.push(format!("{}{role}", " ".repeat(indent)));
            margin += 2;
        }
        let actual = if options.counters.is_some() { self.actual() } else { String::new() };
        lines.push(format!("{}{arrow}{}{actual}", " ".repeat(margin), self.title));
        let below = margin + if indent == 0 { 2 } else { 6 };
        for (name, value) in &self.properties {
            lines.push(format!("{}{name}: {value}", " ".repeat(below)));
        }
        for input in &self.inputs {
            input.lines(below, options, lines);
        }
    }

    /// ` (actual time=0.010..0.020 rows=3 loops=1)`; rows and times are of one loop.
    fn actual(&self) -> String {
        let Some(counter) = self.counter else { return " (never executed)".to_owned() };
        let loops = counter.loops.max(1);
        let of_one = |time: Duration| milliseconds(time) / loops as f64;
        let rows = (counter.rows as f64 / loops as f64).round();
        let (first, last) = (milliseconds(counter.startup).min(of_one(counter.total)), of_one(counter.total));
        format!(" (actual time={first:.3}..{last:.3} rows={rows:.0} loops={loops})")
    }

    fn json(&self, options: Options<'_>) -> Value {
        let mut object = Map::new();
        for (name, value) in self.parts.iter().chain(&self.properties) {
            object.insert((*name).into(), Value::String(value.clone()));
        }
        if let Some(role) = &self.role {
            object.insert("Subplan Name".into(), Value::String(role.clone()));
        }
        if options.counters.is_some() {
            let counter = self.counter.unwrap_or_default();
            let loops = counter.loops.max(1);
            object.insert("Actual Total Time".into(), json!(milliseconds(counter.total) / loops as f64));
            object.insert("Actual Rows".into(), json!(counter.rows / loops));
            object.insert("Actual Loops".into(), json!(counter.loops));
        }
        if !self.inputs.is_empty() {
            object.insert("Plans".into(), self.inputs.iter().map(|input| input.json(options)).collect());
        }
        Value::Object(object)
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
