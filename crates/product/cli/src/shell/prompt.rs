//! The prompt: lines with history, statements over several lines.

use super::splitter::{Piece, Splitter, bare_command};
use super::{Outcome, Shell, backslash};
use crate::failure::Failure;
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use seriatim::Database;
use seriatim::sql::Session;
use sql::session::Status;

/// Reads and runs until the user has enough. Errors are shown, and the prompt comes back.
pub fn run(shell: &mut Shell, database: &Database) -> Outcome {
    let place = database.path().map_or_else(|| "in memory".to_owned(), |path| path.display().to_string());
    println!("seriatim {} ({place}). \\? for help, \\q to quit.", env!("CARGO_PKG_VERSION"));
    let mut editor = DefaultEditor::new().map_err(Failure::trouble)?;
    let history = std::env::var_os("HOME").map(|home| std::path::Path::new(&home).join(".seriatim_history"));
    if let Some(history) = &history {
        // There is none the first time.
        let _ = editor.load_history(history);
    }
    let mut splitter = Splitter::default();
    shell.keep_going = true;
    loop {
        match editor.readline(prompt(&mut shell.session, &splitter)) {
            Ok(line) => {
                if !line.trim().is_empty() {
                    let _ = editor.add_history_entry(line.as_str());
                }
                if let Some(hint) = hint(&splitter, &line) {
                    println!("{hint}");
                }
                splitter.feed(&line);
                splitter.feed("\n");
                if run_pieces(shell, &mut splitter)? == backslash::Then::Quit {
                    break;
                }
            }
            Err(ReadlineError::Interrupted) => splitter = Splitter::default(),
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(Failure::trouble(error)),
        }
    }
    if let Some(history) = &history {
        // A history that cannot be kept is no reason to fail.
        let _ = editor.save_history(history);
    }
    shell.has_failed = false;
    Ok(())
}

/// Way out for someone whose `quit` or `help` has become a line of a statement, as in psql.
fn hint(splitter: &Splitter, line: &str) -> Option<&'static str> {
    if splitter.is_empty() {
        return None;
    }
    Some(match (bare_command(line)?, splitter.is_quoted()) {
        (_, true) => "Quotes or a comment are open. Use control-C to drop what has been typed, or control-D to quit.",
        ("?", false) => "Use \\? for help or press control-C to drop what has been typed.",
        (_, false) => "Use \\q to quit.",
    })
}

fn run_pieces(shell: &mut Shell, splitter: &mut Splitter) -> Outcome<backslash::Then> {
    while let Some(piece) = splitter.next() {
        match piece {
            Piece::Statement(text) => shell.statement(&text, None)?,
            Piece::Backslash(command) => {
                if backslash::run(shell, &command)? == backslash::Then::Quit {
                    return Ok(backslash::Then::Quit);
                }
            }
        }
    }
    Ok(backslash::Then::GoOn)
}

/// Prompt like psql's: `*` inside a transaction, `!` in a failed one, `-` while a statement is incomplete.
fn prompt(session: &mut Session, splitter: &Splitter) -> &'static str {
    match (session.inner().status(), splitter.is_empty()) {
        (Status::Idle, true) => "seriatim=> ",
        (Status::InTransaction, true) => "seriatim=*> ",
        (Status::Failed, true) => "seriatim=!> ",
        (_, false) => "seriatim-> ",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_within_a_statement_get_a_hint() {
        let hint_after = |begun: &str, line: &str| {
            let mut splitter = Splitter::default();
            splitter.feed(begun);
            assert_eq!(splitter.next(), None);
            hint(&splitter, line).unwrap_or_default()
        };
        assert_eq!(hint_after("", "quit"), "", "a command");
        assert_eq!(hint_after("select\n", "1;"), "");
        assert!(hint_after("select\n", "exit").contains("\\q"));
        assert!(hint_after("select\n", "help;").contains("\\?"));
        assert!(hint_after("select '\n", "quit").contains("control-D"));
    }
}
