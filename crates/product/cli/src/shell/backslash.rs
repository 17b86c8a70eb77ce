//! The shell's own commands: a few of psql's, by their names there.

use super::print::Layout;
use super::{Outcome, Shell};
use std::io::{self, Write};

/// Next step after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The next one.
    GoOn,
    /// The end.
    Quit,
}

const HELP: &str = "\
  \\d [NAME]     list relations, or describe a table
  \\dt           list tables
  \\di           list indexes
  \\dn           list schemas
  \\i FILE       run the statements of a file
  \\x            switch expanded output
  \\f FORMAT     table, expanded, unaligned, csv, json, markdown
  \\timing       switch the time of each statement
  \\q            quit (also Ctrl-D)
  Everything else is SQL and ends with a semicolon. Ctrl-C drops what has been typed.";

const RELATIONS: &str = "\
SELECT n.nspname AS \"Schema\", c.relname AS \"Name\",
       CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' END AS \"Type\"
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND c.relkind IN ";

/// Runs a command (without its backslash).
pub fn run(shell: &mut Shell, command: &str) -> Outcome<Then> {
    let (name, argument) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let argument = argument.trim().trim_end_matches(';');
    match (name, argument) {
        ("q" | "quit", _) => return Ok(Then::Quit),
        ("?" | "h" | "help", _) => writeln!(io::stdout(), "{HELP}")?,
        ("d", "") => relations(shell, "('r', 'v', 'S')")?,
        ("d", name) => describe(shell, name)?,
        ("dt", _) => relations(shell, "('r')")?,
        ("di", _) => relations(shell, "('i')")?,
        ("dn", _) => shell.statement("SELECT nspname AS \"Name\" FROM pg_namespace ORDER BY 1", None)?,
        ("x", _) => {
            let expanded = shell.printer.layout == Layout::Expanded;
            shell.printer.layout = if expanded { Layout::Table } else { Layout::Expanded };
        }
        ("f", name) => match <Layout as clap::ValueEnum>::from_str(name, true) {
            Ok(layout) => shell.printer.layout = layout,
            Err(why) => eprintln!("\\f: {why}; see \\?"),
        },
        ("timing", _) => shell.printer.timing = !shell.printer.timing,
        ("i", file) => match std::fs::File::open(file) {
            Ok(open) => shell.read(&mut io::BufReader::new(open))?,
            Err(error) => {
                shell.has_failed = true;
                eprintln!("{file}: {error}");
            }
        },
        (name, _) => eprintln!("unknown command \\{name}; \\? lists them"),
    }
    Ok(Then::GoOn)
}

fn relations(shell: &mut Shell, kinds: &str) -> Outcome {
    shell.statement(&format!("{RELATIONS}{kinds} ORDER BY 1, 2"), None)
}

fn describe(shell: &mut Shell, name: &str) -> Outcome {
    let name = format!("'{}'::regclass", name.replace('\'', "''"));
    let columns = format!(
        "SELECT attname AS \"Column\", format_type(atttypid, atttypmod) AS \"Type\",
                CASE WHEN attnotnull THEN 'not null' ELSE '' END AS \"Nullable\",
                (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = attrelid AND adnum = attnum) AS \"Default\"
         FROM pg_attribute WHERE attrelid = {name} AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
    );
    let indexes = format!(
        "SELECT c.relname AS \"Index\", pg_get_indexdef(i.indexrelid) AS \"Definition\"
         FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = {name} ORDER BY 1"
    );
    let constraints = format!(
        "SELECT conname AS \"Constraint\", pg_get_constraintdef(oid) AS \"Definition\"
         FROM pg_constraint WHERE conrelid = {name} ORDER BY 1"
    );
    for query in [columns, indexes, constraints] {
        let failed = shell.has_failed;
        shell.statement(&query, None)?;
        if shell.has_failed && !failed {
            break;
        }
    }
    Ok(())
}
