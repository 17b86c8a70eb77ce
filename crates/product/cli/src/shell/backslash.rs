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

const HELP: &str = "  \\d [NAME]                 list relations, or describe one
  \\dt \\dv \\ds \\di [PATTERN] list tables, views, sequences, indexes; in a pattern, * is any text and ? any character
  \\dn                       list schemas
  \\du                       list roles
  \\l                        list databases
  \\i FILE                   run the statements of a file
  \\x [on|off]               set or switch expanded output
  \\f FORMAT                 table, expanded, unaligned, csv, json, markdown
  \\timing [on|off]          set or switch the time of each statement
  \\h                        where statements are described
  \\q                        quit (also quit, exit, Ctrl-D)
  Everything else is SQL and ends with a semicolon. Ctrl-C drops what has been typed.";

const SQL_HELP: &str = "  Statements are PostgreSQL 15's: https://www.postgresql.org/docs/15/sql-commands.html
  docs/sql.md in the repository of Seriatim lists what is supported.";

const RELATIONS: &str = "\
SELECT n.nspname AS \"Schema\", c.relname AS \"Name\",
       CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' END AS \"Type\",
       pg_get_userbyid(c.relowner) AS \"Owner\"
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND c.relkind IN ";

const DATABASES: &str = "\
SELECT datname AS \"Name\", pg_get_userbyid(datdba) AS \"Owner\", pg_encoding_to_char(encoding) AS \"Encoding\", datcollate AS \"Collate\"
FROM pg_database ORDER BY 1";

const ROLES: &str = "\
SELECT rolname AS \"Role name\",
       concat_ws(', ', CASE WHEN rolsuper THEN 'Superuser' END, CASE WHEN NOT rolinherit THEN 'No inheritance' END,
                 CASE WHEN rolcreaterole THEN 'Create role' END, CASE WHEN rolcreatedb THEN 'Create DB' END,
                 CASE WHEN NOT rolcanlogin THEN 'Cannot login' END) AS \"Attributes\"
FROM pg_roles WHERE rolname !~ '^pg_' ORDER BY 1";

/// Runs a command (without its backslash).
pub fn run(shell: &mut Shell, command: &str) -> Outcome<Then> {
    let (name, argument) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let argument = argument.trim().trim_end_matches(';').trim_end();
    // `\d+` and `\dt+` of psql show more; here they show the same.
    match (name.trim_end_matches(['+', ';']), argument) {
        ("q" | "quit", _) => return Ok(Then::Quit),
        ("?" | "help", _) => writeln!(io::stdout(), "{HELP}")?,
        ("h", _) => writeln!(io::stdout(), "{SQL_HELP}")?,
        ("d", "") => relations(shell, "('r', 'v', 'S')", "")?,
        ("d", name) => describe(shell, name)?,
        ("dt", pattern) => relations(shell, "('r')", pattern)?,
        ("dv", pattern) => relations(shell, "('v')", pattern)?,
        ("ds", pattern) => relations(shell, "('S')", pattern)?,
        ("di", pattern) => relations(shell, "('i')", pattern)?,
        ("dn", _) => shell.statement("SELECT nspname AS \"Name\" FROM pg_namespace ORDER BY 1", None)?,
        ("du" | "dg", _) => shell.statement(ROLES, None)?,
        ("l", _) => shell.statement(DATABASES, None)?,
        ("x", wanted) => expand(shell, wanted)?,
        ("f", name) => match <Layout as clap::ValueEnum>::from_str(name, true) {
            Ok(layout) => shell.printer.layout = layout,
            Err(why) => refuse(shell, &format!("\\f: {why}; see \\?")),
        },
        ("timing", wanted) => {
            if let Some(on) = switched(shell, "timing", wanted, shell.printer.timing) {
                shell.printer.timing = on;
                shell.printer.say(&format!("Timing is {}.", if on { "on" } else { "off" }))?;
            }
        }
        ("i", "") => refuse(shell, "\\i: missing the name of a file"),
        ("i", file) => match std::fs::File::open(file) {
            Ok(open) => shell.read(&mut io::BufReader::new(open))?,
            Err(error) => refuse(shell, &format!("{file}: {error}")),
        },
        (name, _) => refuse(
            shell,
            &format!(
                "unknown command \\{name}; \\? lists the commands. psql has more of them, on a database that `seriatim serve` serves"
            ),
        ),
    }
    Ok(Then::GoOn)
}

/// Says why a command did not run. It counts as a failed statement.
fn refuse(shell: &mut Shell, why: &str) {
    shell.has_failed = true;
    eprintln!("{why}");
}

/// What a switch becomes: the other state, unless one is named.
fn switched(shell: &mut Shell, name: &str, wanted: &str, now: bool) -> Option<bool> {
    match wanted.to_ascii_lowercase().as_str() {
        "" => Some(!now),
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => {
            refuse(shell, &format!("\\{name}: {wanted:?} is neither on nor off"));
            None
        }
    }
}

fn expand(shell: &mut Shell, wanted: &str) -> Outcome {
    let now = shell.printer.layout == Layout::Expanded;
    if let Some(on) = switched(shell, "x", wanted, now) {
        if on != now {
            shell.printer.layout = if on { Layout::Expanded } else { Layout::Table };
        }
        shell.printer.say(&format!("Expanded display is {}.", if on { "on" } else { "off" }))?;
    }
    Ok(())
}

fn relations(shell: &mut Shell, kinds: &str, pattern: &str) -> Outcome {
    let matches = if pattern.is_empty() { String::new() } else { format!(" AND {}", named_like(pattern)) };
    shell.statement(&format!("{RELATIONS}{kinds}{matches} ORDER BY 1, 2"), None)
}

/// Condition of a pattern of psql: `NAME` or `SCHEMA.NAME` in any case, with `*` and `?`.
fn named_like(pattern: &str) -> String {
    let like = |column: &str, pattern: &str| {
        let escaped = pattern.to_lowercase().replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        format!("{column} LIKE '{}'", escaped.replace('*', "%").replace('?', "_").replace('\'', "''"))
    };
    match pattern.split_once('.') {
        Some((schema, name)) => format!("{} AND {}", like("n.nspname", schema), like("c.relname", name)),
        None => like("c.relname", pattern),
    }
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
