//! Errors of the program.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Result of the program and its parts.
pub type Outcome<T = ()> = Result<T, Failure>;

/// Why the program did not end well.
#[derive(Debug)]
pub enum Failure {
    /// The audit found a violation, and has reported it. Exit code 1.
    Finding,
    /// It could not run, and why. Exit code 2.
    Trouble(String),
}

impl Failure {
    /// An error of any kind.
    pub fn trouble(what: impl Display) -> Failure {
        Failure::Trouble(what.to_string())
    }

    /// An error of a file.
    pub fn file(path: &Path) -> impl FnOnce(io::Error) -> Failure {
        move |error| Failure::Trouble(format!("{}: {error}", path.display()))
    }

    /// Reports it and returns the exit code.
    pub fn report(self) -> ExitCode {
        match self {
            Failure::Finding => ExitCode::from(1),
            Failure::Trouble(what) => {
                eprintln!("northwind: {what}");
                ExitCode::from(2)
            }
        }
    }
}

impl From<seriatim::Error> for Failure {
    fn from(error: seriatim::Error) -> Failure {
        Failure::trouble(error)
    }
}
