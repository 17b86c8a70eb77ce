//! The `seriatim` command.
#![allow(dead_code, reason = "each test file uses its part")]

pub use testing::{Directory, Ran};

use std::ffi::OsStr;
use std::process::Command;

/// Returns the `seriatim` command of this build.
pub fn seriatim() -> Command {
    Command::new(env!("CARGO_BIN_EXE_seriatim"))
}

/// Runs the `seriatim` command.
pub fn run<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Ran {
    Ran::of(seriatim().args(arguments))
}
