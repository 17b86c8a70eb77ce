//! The structured formats of EXPLAIN, laid out as PostgreSQL lays them out.

use crate::stack::ensure_stack;
use std::fmt::Write;
use syntax::ExplainFormat;

/// Properties.
pub enum Tree {
    Text(String),
    Number(String),
    Bool(bool),
    /// Values, and what XML calls each.
    List(&'static str, Vec<Tree>),
    Object(Vec<(&'static str, Tree)>),
}

/// The text of an explained query.
pub fn print(query: Tree, format: ExplainFormat) -> String {
    let mut out = String::new();
    match format {
        ExplainFormat::Json | ExplainFormat::Text => json(&Tree::List("Query", vec![query]), 0, &mut out),
        ExplainFormat::Yaml => {
            yaml(&Tree::List("Query", vec![query]), 0, &mut out);
            out = out.trim_start().to_owned();
        }
        ExplainFormat::Xml => {
            out.push_str("<explain xmlns=\"http://www.postgresql.org/2009/explain\">");
            xml("Query", &query, 1, &mut out);
            out.push_str("\n</explain>");
        }
    }
    out
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn start_line(indent: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", indent));
}

fn json(tree: &Tree, indent: usize, out: &mut String) {
    ensure_stack(|| match tree {
        Tree::Text(text) => out.push_str(&quoted(text)),
        Tree::Number(number) => out.push_str(number),
        Tree::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        // Lists of words stand in one line.
        Tree::List(_, items) if !items.iter().any(|item| matches!(item, Tree::Object(_))) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                json(item, indent, out);
            }
            out.push(']');
        }
        Tree::List(_, items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                start_line(indent + 1, out);
                json(item, indent + 1, out);
            }
            start_line(indent, out);
            out.push(']');
        }
        Tree::Object(properties) => {
            out.push('{');
            for (at, (name, value)) in properties.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                start_line(indent + 1, out);
                let _ = write!(out, "{}: ", quoted(name));
                json(value, indent + 1, out);
            }
            start_line(indent, out);
            out.push('}');
        }
    });
}

fn yaml(tree: &Tree, indent: usize, out: &mut String) {
    ensure_stack(|| match tree {
        Tree::Text(text) => out.push_str(&quoted(text)),
        Tree::Number(number) => out.push_str(number),
        Tree::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Tree::List(_, items) => {
            for item in items {
                start_line(indent, out);
                out.push_str("- ");
                yaml(item, indent + 1, out);
            }
        }
        Tree::Object(properties) => {
            for (at, (name, value)) in properties.iter().enumerate() {
                if at > 0 {
                    start_line(indent, out);
                }
                let _ = write!(out, "{name}: ");
                let nested = matches!(value, Tree::Object(_));
                if nested {
                    start_line(indent + 1, out);
                }
                yaml(value, indent + 1, out);
            }
        }
    });
}

fn xml(name: &str, tree: &Tree, indent: usize, out: &mut String) {
    let allowed = |char: char| if char.is_ascii_alphanumeric() || "-_.".contains(char) { char } else { '-' };
    let name: String = name.chars().map(allowed).collect();
    start_line(indent, out);
    let _ = write!(out, "<{name}>");
    ensure_stack(|| match tree {
        Tree::Text(text) => escape(text, out),
        Tree::Number(number) => out.push_str(number),
        Tree::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Tree::List(item_name, items) => {
            items.iter().for_each(|item| xml(item_name, item, indent + 1, out));
            start_line(indent, out);
        }
        Tree::Object(properties) => {
            properties.iter().for_each(|(name, value)| xml(name, value, indent + 1, out));
            start_line(indent, out);
        }
    });
    let _ = write!(out, "</{name}>");
}

fn escape(text: &str, out: &mut String) {
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#x0d;"),
            other => out.push(other),
        }
    }
}
