//! Commands that ran.

use std::process::{Command, Output};

/// Exit code and output of a command.
#[derive(Debug)]
pub struct Ran {
    /// Exit code; -1 if a signal ended it.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Ran {
    /// Runs a command to its end.
    pub fn of(command: &mut Command) -> Ran {
        let Output { status, stdout, stderr } = command.output().unwrap();
        Ran {
            code: status.code().unwrap_or(-1),
            out: String::from_utf8(stdout).unwrap(),
            err: String::from_utf8(stderr).unwrap(),
        }
    }

    /// Returns the output of a command that must have succeeded.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    /// Fails the test unless the command ended with this code and printed `complaint`, without a panic.
    #[track_caller]
    pub fn refused(self, code: i32, complaint: &str) {
        assert_eq!(self.code, code, "{self:?}");
        assert!(self.err.contains(complaint) || self.out.contains(complaint), "{complaint:?} is not in {self:?}");
        assert!(!self.err.contains("panicked"), "{self:?}");
    }
}
