//! The `lab` command.
#![forbid(unsafe_code)]

use clap::Parser;
use seriatim_lab::cli::Arguments;
use seriatim_lab::command::run;
use seriatim_lab::failure::Failure;
use std::io::Write;
use std::process::ExitCode;

/// Engines are to be compared, not allocators: all get the same good one.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut out = std::io::stdout().lock();
    let outcome = run(Arguments::parse(), &mut out);
    if let Err(Failure::Arguments(message) | Failure::Run(message)) = &outcome {
        eprintln!("lab: {message}");
    }
    match (outcome, out.flush()) {
        (Ok(()), Ok(())) => ExitCode::SUCCESS,
        (Ok(()), Err(error)) => {
            eprintln!("lab: cannot write the result: {error}");
            ExitCode::FAILURE
        }
        (Err(failure), _) => failure.exit_code().into(),
    }
}
