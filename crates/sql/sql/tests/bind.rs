//! Parse analysis against PostgreSQL 15: each script is a session whose statements (`> ...`) are followed by what PostgreSQL
//! answered, recorded from it: the columns' names, the rows, or the error with its position, detail and hint.

mod common;

use common::{Answer, Client, database};
use seriatim_sql::SqlError;
use std::fmt::Write;

/// Runs a script and compares every answer with the recorded one.
fn replay(script: &str) {
    let mut client = Client::new(&database());
    let mut differences = String::new();
    for block in script.split("\n> ").map(|block| block.trim_start_matches("> ")) {
        let (sql, recorded) = block.split_once('\n').unwrap_or((block, ""));
        let answer = match client.try_run(sql) {
            Ok(answer) => rows(&answer),
            Err(error) => describe(&error),
        };
        if answer.trim_end() != recorded.trim_end() {
            let _ = writeln!(differences, "> {sql}\nPostgreSQL:\n{recorded}\nhere:\n{answer}");
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

fn rows(answer: &Answer) -> String {
    let mut text = String::new();
    if !answer.columns.is_empty() {
        let _ = writeln!(text, "[{}]", answer.columns.join("|"));
    }
    for row in &answer.rows {
        let _ = writeln!(text, "{}", row.join("|").replace("<null>", ""));
    }
    text
}

fn describe(error: &SqlError) -> String {
    let fields = error.fields();
    let mut text = format!("ERROR {}: {} @{}\n", fields.code, fields.message, fields.position.unwrap_or(0));
    for (title, field) in [("DETAIL", &fields.detail), ("HINT", &fields.hint)] {
        if let Some(field) = field {
            let _ = writeln!(text, "{title}: {field}");
        }
    }
    text
}

#[test]
fn queries() {
    replay(include_str!("bind/queries.txt"));
}

#[test]
fn statements() {
    replay(include_str!("bind/statements.txt"));
}

#[test]
fn names_and_types() {
    replay(include_str!("bind/names_and_types.txt"));
}
