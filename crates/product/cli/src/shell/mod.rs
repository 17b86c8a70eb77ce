//! SQL on an embedded directory, without a server: a prompt, commands, files.

mod backslash;
mod print;
mod prompt;
mod splitter;

use crate::failure::{Failure, Outcome};
use crate::memory::Memory;
use crate::opening;
use clap::Args;
use print::{Layout, Printer};
use seriatim::sql::{Session, SqlError};
use seriatim::{Database, Durability};
use splitter::{Piece, Splitter};
use sql::session::Outcome as Ran;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

/// Run SQL on a database directory, without a server.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    seriatim sql --data ./data\n  \
    seriatim sql --data ./data --database shop -f schema.sql\n  \
    seriatim sql --data ./data -c \"SELECT count(*) FROM orders\"\n  \
    seriatim sql --data ./data -f schema.sql -f rows.sql\n  \
    seriatim sql --data ./data -c \"TABLE region\" --format csv > region.csv\n\n\
    At the prompt, end a statement with a semicolon; \\? lists the commands.\n\
    A running server locks its directory: stop it first, or connect with psql.\n\n\
    Exit codes: 0 success; 1 a statement failed; 2 the command could not run.")]
pub struct Sql {
    /// Database directory; created if it does not exist. Without it the database is in memory.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(flatten)]
    database: crate::inspect::Name,
    /// Run these statements and exit. May be repeated.
    #[arg(short = 'c', long = "command", value_name = "SQL")]
    commands: Vec<String>,
    /// Run the statements of this file (`-` for standard input) and exit. May be repeated; files run after all -c.
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    memory: Memory,
    /// Continue with the next statement after an error.
    #[arg(long)]
    keep_going: bool,
    /// Output format of rows.
    #[arg(long, value_enum, default_value_t = Layout::Table)]
    format: Layout,
}

/// A running shell.
struct Shell {
    session: Session,
    printer: Printer,
    keep_going: bool,
    has_failed: bool,
}

impl Sql {
    pub fn run(&self) -> Outcome {
        let builder = self.memory.limit(seriatim::Database::builder().durability(Durability::Fsync));
        let builder = self.database.choose(builder);
        let database = match &self.data {
            Some(place) => {
                let database = crate::inspect::open(builder, place)?;
                opening::warnings(&database, place).iter().for_each(|line| eprintln!("{line}"));
                database
            }
            None => builder.in_memory()?,
        };
        let mut shell = Shell {
            session: database.sql_session()?,
            printer: Printer::new(self.format),
            keep_going: self.keep_going,
            has_failed: false,
        };
        self.work(&mut shell, &database)?;
        let failed = shell.has_failed;
        drop(shell);
        database.close()?;
        if failed { Err(Failure::Finding) } else { Ok(()) }
    }

    fn work(&self, shell: &mut Shell, database: &Database) -> Outcome {
        for text in &self.commands {
            shell.read(&mut text.as_bytes())?;
        }
        for file in &self.files {
            if file.as_os_str() == "-" {
                shell.read(&mut io::stdin().lock())?;
            } else {
                let open = std::fs::File::open(file).map_err(Failure::file(file))?;
                shell.read(&mut io::BufReader::new(open))?;
            }
        }
        if !self.commands.is_empty() || !self.files.is_empty() {
            return Ok(());
        }
        if io::stdin().is_terminal() {
            return prompt::run(shell, database);
        }
        shell.read(&mut io::stdin().lock())
    }
}

impl Shell {
    /// Runs everything that a reader gives, until a statement fails.
    fn read(&mut self, from: &mut dyn BufRead) -> Outcome {
        let mut splitter = Splitter::default();
        let mut line = String::new();
        while !self.must_stop() {
            line.clear();
            if from.read_line(&mut line).map_err(|error| Failure::Trouble(format!("cannot read: {error}")))? == 0 {
                if let Some(rest) = splitter.rest() {
                    self.statement(&rest, Some(from))?;
                }
                break;
            }
            splitter.feed(&line);
            // A command on the last line ends with it.
            if !line.ends_with('\n') {
                splitter.feed("\n");
            }
            while let Some(piece) = splitter.next() {
                match piece {
                    Piece::Statement(text) => self.statement(&text, Some(from))?,
                    Piece::Backslash(command) => {
                        if backslash::run(self, &command)? == backslash::Then::Quit {
                            return Ok(());
                        }
                    }
                }
                if self.must_stop() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn must_stop(&self) -> bool {
        self.has_failed && !self.keep_going
    }

    /// Runs a statement and prints its answer. Lines of a COPY come from the same reader.
    fn statement(&mut self, text: &str, lines: Option<&mut dyn BufRead>) -> Outcome {
        let text = text.trim_start();
        let begun = std::time::Instant::now();
        let inner = self.session.inner();
        let ran = inner.simple(text, &mut self.printer);
        let ran = match (ran, lines) {
            (Ok(Ran::CopyIn { .. }), Some(lines)) => copy_lines(inner, lines, &mut self.printer)?,
            (Ok(Ran::CopyIn { .. }), None) => Err(inner.copy_fail("give the rows in a file with -f")),
            (ran, _) => ran,
        };
        let answer = inner.once_durable(ran);
        self.printer.finish(answer.is_ok())?;
        if let Err(error) = answer {
            self.has_failed = true;
            print_error(&error, text);
        }
        self.printer.time(begun.elapsed())
    }
}

/// Feeds a COPY with lines up to `\.`, or to the end.
fn copy_lines(
    session: &mut sql::session::Session,
    lines: &mut dyn BufRead,
    printer: &mut Printer,
) -> Outcome<sql::Result<Ran>> {
    let mut line = Vec::new();
    let mut failed = None;
    loop {
        line.clear();
        let read = lines.read_until(b'\n', &mut line);
        if read.map_err(|error| Failure::Trouble(format!("cannot read: {error}")))? == 0 {
            break;
        }
        if line.trim_ascii_end() == b"\\." {
            break;
        }
        if failed.is_none()
            && let Err(error) = session.copy_data(&line)
        {
            failed = Some(error);
        }
    }
    Ok(match failed {
        Some(error) => Err(error),
        None => session.copy_done(printer),
    })
}

/// Prints an error as psql does, with a caret under the place that it is about.
fn print_error(error: &SqlError, text: &str) {
    let fields = error.fields();
    let mut out = io::stderr().lock();
    // Standard error is the last resort; there is nobody to tell if it fails.
    let _ = writeln!(out, "ERROR:  {}: {}", fields.code, fields.message);
    if let Some(position) = fields.position {
        let _ = point_at(&mut out, text, position);
    }
    for (name, field) in [("DETAIL", &fields.detail), ("HINT", &fields.hint), ("CONTEXT", &fields.context)] {
        if let Some(said) = field {
            let _ = writeln!(out, "{name}:  {said}");
        }
    }
}

fn point_at(out: &mut dyn Write, text: &str, position: u32) -> io::Result<()> {
    let mut before = position.saturating_sub(1) as usize;
    for (number, line) in text.lines().enumerate() {
        let length = line.chars().count() + 1;
        if before < length {
            let head = format!("LINE {}: ", number + 1);
            writeln!(out, "{head}{line}")?;
            return writeln!(out, "{:width$}^", "", width = head.len() + before);
        }
        before -= length;
    }
    Ok(())
}
