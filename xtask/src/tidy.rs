//! `cargo xtask tidy`: what the house has agreed on and the compiler does not check.
//!
//! | rule | fails or warns | table |
//! | --- | --- | --- |
//! | `arrow`: a crate names only the crates that its row allows | fails | [`arrows::ARROWS`] |
//! | `unlisted`: every crate of the workspace has a row | fails | [`arrows::ARROWS`] |
//! | `unsafe`: the word stands only in the listed rooms | fails | [`rooms::UNSAFE_ROOMS`] |
//! | `forbid`: a crate without such a room forbids `unsafe` at its root | fails | [`rooms::UNSAFE_ROOMS`] |
//! | `path`: engines reach threads, disk, clock and network through `parts::sync` and `env` | fails | [`rooms::CLOSED_PATHS`] |
//! | `size`: files and functions that are long | warns | [`sizes`] |
//! | `name`: a word that says nothing | warns | [`names::BANNED`] |
//!
//! Source files are read as tokens, so that a word in a comment or a string breaks no rule and a word inside a
//! macro's arguments does. Manifests are read through `cargo metadata`, not as TOML: Cargo already resolves renames,
//! inherited and target-specific dependencies, and would disagree with a second reader sooner or later.

use std::fmt;
use std::path::Path;

use workspace::Workspace;

mod arrows;
mod names;
mod paths;
mod rooms;
mod sizes;
mod source;
mod unsafety;
mod workspace;

/// What a finding does to the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// `tidy` exits with 1.
    Fails,
    /// `tidy` says so and goes on: nobody splits a function to please a counter.
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
    /// What is wrong, why it matters and what to do.
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
    let findings = check(&workspace);
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

/// Every finding of every rule, in order of path and line.
fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = arrows::check(workspace, arrows::ARROWS);
    for member in &workspace.crates {
        findings.extend(unsafety::check_roots(member, rooms::UNSAFE_ROOMS));
        for file in &member.files {
            findings.extend(unsafety::check_file(file, rooms::UNSAFE_ROOMS));
            findings.extend(paths::check_file(&member.name, file, rooms::CLOSED_PATHS));
            findings.extend(sizes::check_file(file));
            findings.extend(names::check_file(file));
        }
    }
    findings.sort_by(|a, b| (&a.path, a.line, a.rule).cmp(&(&b.path, b.line, b.rule)));
    findings
}
