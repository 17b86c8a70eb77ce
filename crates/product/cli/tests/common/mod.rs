//! The `seriatim` command.
#![allow(dead_code, reason = "each test file uses its part")]

pub use testing::{Directory, Ran};

use std::ffi::OsStr;
use std::process::Command;
use std::time::{Duration, Instant};

/// Nothing here takes nearly as long, unless it is broken.
pub const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Returns the `seriatim` command of this build.
pub fn seriatim() -> Command {
    Command::new(env!("CARGO_BIN_EXE_seriatim"))
}

/// Runs the `seriatim` command.
pub fn run<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Ran {
    Ran::of(seriatim().args(arguments))
}

/// Runs a command until it has ended otherwise: on a busy machine little happens in a short time.
pub fn run_while(is_early: impl Fn(&Ran) -> bool, run: impl Fn() -> Ran) -> Ran {
    let begun = Instant::now();
    loop {
        let ran = run();
        if !is_early(&ran) || begun.elapsed() > TIME_LIMIT {
            return ran;
        }
    }
}
