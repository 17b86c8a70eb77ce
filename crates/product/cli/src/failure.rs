//! Failures of a command: their messages and exit codes.

use crate::memory;
use seriatim::{Error, LimitKind};
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// The result of a command.
pub type Outcome<T = ()> = Result<T, Failure>;

/// A failure of a command.
#[derive(Debug)]
pub enum Failure {
    /// It ran, found a problem, and has reported it. Exit code 1.
    Finding,
    /// It could not run, with the reason. Exit code 2.
    Trouble(String),
    /// Another crate's command has reported its failure.
    Code(u8),
    /// The reader of the output has closed it (`| head`). Exit code 0.
    ReaderGone,
}

impl Failure {
    /// It could not run.
    pub fn trouble(what: impl Display) -> Failure {
        Failure::Trouble(what.to_string())
    }

    /// It could not run because of a file.
    pub fn file(path: &Path) -> impl FnOnce(io::Error) -> Failure {
        move |error| Failure::Trouble(format!("{}: {error}", path.display()))
    }

    /// It could not open a database. Errors that name the directory need no other mention of it.
    pub fn of_database(path: &Path, error: &seriatim::Error) -> Failure {
        let error = match error {
            Error::Limit(limit) if limit.kind == LimitKind::MemoryToOpen => memory::too_small(limit),
            error => error.to_string(),
        };
        let path = path.display().to_string();
        Failure::Trouble(if error.contains(&path) { error } else { format!("{path}: {error}") })
    }

    /// Prints the message, and returns the exit code.
    pub fn report(self) -> ExitCode {
        match self {
            Failure::Finding => ExitCode::from(1),
            Failure::Trouble(what) => {
                eprintln!("seriatim: {what}");
                ExitCode::from(2)
            }
            Failure::Code(code) => ExitCode::from(code),
            Failure::ReaderGone => ExitCode::SUCCESS,
        }
    }
}

impl From<seriatim::Error> for Failure {
    fn from(error: seriatim::Error) -> Failure {
        Failure::trouble(error)
    }
}

/// Errors of standard output; those of files carry their path ([`Failure::file`]).
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ReaderGone,
            _ => Failure::Trouble(format!("cannot write the output: {error}")),
        }
    }
}
