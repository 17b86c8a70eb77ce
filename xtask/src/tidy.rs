//! `cargo xtask tidy`: rules of the repository that the compiler does not check.
//!
//! | rule | fails or warns | table |
//! | --- | --- | --- |
//! | `arrow`: a crate names only crates of the floors that its floor may name | fails | [`floors::FLOORS`] |
//! | `floor`: every crate of the workspace stands on a floor | fails | [`floors::FLOORS`] |
//! | `circle`: imports between the folders of a crate are acyclic | fails | [`circles::CIRCLES`] |
//! | `unsafe`: the word stands only in the listed rooms | fails | [`rooms::UNSAFE_ROOMS`] |
//! | `forbid`: a crate without such a room forbids `unsafe` at its root | fails | [`rooms::UNSAFE_ROOMS`] |
//! | `path`: engines reach threads, disk, clock and network through `parts::sync` and `env` | fails | [`rooms::CLOSED_PATHS`] |
//! | `path`: the parser of SQL is named only where text becomes a tree | fails | [`rooms::CLOSED_PATHS`] |
//! | `stale`: a file that documentation names is there | fails | [`stale`] |
//! | `width`: comments are not wider than code | fails | [`comments`] |
//!
//! Source files are read as tokens, so that a word in a comment or a string breaks no rule and a word inside a
//! macro's arguments does. Manifests are read through `cargo metadata`, not as TOML: Cargo already resolves renames,
//! inherited and target-specific dependencies, and would disagree with a second reader sooner or later.

use std::fmt;
use std::path::Path;

use stale::Files;
use workspace::Workspace;

mod circles;
mod comments;
mod floors;
mod modules;
mod named;
mod paths;
mod rooms;
mod source;
mod stale;
mod unsafety;
pub mod workspace;

/// Effect of a finding on the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// `tidy` exits with 1.
    Fails,
    /// `tidy` reports it and goes on.
    Warns,
}

/// One place that breaks one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    weight: Weight,
    /// Relative to the repository's root, with `/`.
    path: String,
    /// From 1.
    line: usize,
    rule: &'static str,
    /// Problem, its reason, and the remedy.
    message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weight = match self.weight {
            Weight::Fails => "",
            Weight::Warns => "warning: ",
        };
        write!(out, "{}:{}: {weight}{}: {}", self.path, self.line, self.rule, self.message)
    }
}

/// Checks the repository at `root` and prints what it finds.
///
/// # Errors
/// A summary, if a rule that fails is broken or the workspace cannot be read.
pub fn run(root: &Path) -> Result<(), String> {
    let workspace = Workspace::read(root)?;
    let files = Files::read(root)?;
    let mut findings = check(&workspace, &files);
    findings.extend(stale::check_documents(root, &files)?);
    findings.sort_by(|a, b| (&a.path, a.line, a.rule).cmp(&(&b.path, b.line, b.rule)));
    for finding in &findings {
        println!("{finding}");
    }
    let failures = findings.iter().filter(|finding| finding.weight == Weight::Fails).count();
    let warnings = findings.len() - failures;
    let files: usize = workspace.crates.iter().map(|member| member.files.len()).sum();
    let summary =
        format!("tidy: {} crates, {files} files, {failures} failures, {warnings} warnings", workspace.crates.len());
    if failures > 0 {
        return Err(summary);
    }
    println!("{summary}");
    Ok(())
}

/// Returns the findings of every rule about crates and their files.
fn check(workspace: &Workspace, files: &Files) -> Vec<Finding> {
    let mut findings = floors::check(workspace, floors::FLOORS, floors::RESERVED, floors::ALONE);
    for member in &workspace.crates {
        findings.extend(unsafety::check_roots(member, rooms::UNSAFE_ROOMS));
        findings.extend(circles::check(member, circles::CIRCLES));
        for file in &member.files {
            findings.extend(unsafety::check_file(file, rooms::UNSAFE_ROOMS));
            findings.extend(paths::check_file(file, rooms::CLOSED_PATHS));
            findings.extend(stale::check_file(file, files));
            findings.extend(comments::check_width(file));
        }
    }
    findings
}
