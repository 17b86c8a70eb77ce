//! Checks of the repository itself: `cargo xtask check`, `tidy`, `mutants` and `proofs`.
//!
//! They check what the compiler does not: which crate may name which, where `unsafe` may stand, and whether the
//! tests of a protocol fail when the protocol is broken.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

mod check;
mod mutants;
mod proofs;
mod tidy;

const USAGE: &str = "\
Usage: cargo xtask COMMAND

Commands:
  check [--all]         format, tidy, lints and unit tests of the crates changed since origin/main and their dependents
  tidy                  check the arrows between crates, circles of imports, the rooms of `unsafe`, and stale names
  proofs                check what the proofs assume (`make proofs` builds them first)
  mutants               run the mutants marked `CI: yes` (the same as --ci)
  mutants --ci          run the mutants marked `CI: yes`
  mutants --all         run every mutant
  mutants NAME...       run the named mutants (crate/name or name)
  mutants --list        name them all, run none

Options of mutants:
  --timeout SECONDS     limit of one kill command, building included (default 600)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((command, rest)) if command == "check" && (rest.is_empty() || rest == ["--all"]) => {
            check::run(&root(), !rest.is_empty())
        }
        Some((command, rest)) if command == "tidy" && rest.is_empty() => tidy::run(&root()),
        Some((command, rest)) if command == "proofs" && rest.is_empty() => proofs::run(&root()),
        Some((command, rest)) if command == "mutants" => {
            mutants::Request::parse(rest).and_then(|request| mutants::run(&root(), &request))
        }
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The repository's root: the folder that holds `xtask/`.
fn root() -> PathBuf {
    let xtask = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().map(PathBuf::from).unwrap_or(xtask)
}
