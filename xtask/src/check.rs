//! `cargo xtask check`: what to run before a commit. Format, `tidy`, lints and unit tests of the crates that changed since
//! `origin/main` and of those that depend on them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::tidy;
use crate::tidy::workspace::{Member, Workspace};

/// Files that every crate depends on.
const SHARED: &[&str] = &["Cargo.toml", "rust-toolchain.toml", "rustfmt.toml"];

/// Runs the steps one after the other, and prints how long each took.
///
/// # Errors
/// The step that failed.
pub fn run(root: &Path, all: bool) -> Result<(), String> {
    let workspace = Workspace::read(root)?;
    let packages = if all { None } else { affected(&workspace, &changed_files(root)?) };
    let selection = selection(packages.as_ref());
    let mut times = Vec::new();
    let mut step = |name: &str, run: &dyn Fn() -> Result<(), String>| {
        let begun = Instant::now();
        run().map_err(|error| format!("check: {name} failed after {:.0} s: {error}", begun.elapsed().as_secs_f64()))?;
        times.push(format!("{name} {:.0} s", begun.elapsed().as_secs_f64()));
        Ok::<_, String>(())
    };
    step("format", &|| cargo(root, &["fmt", "--all", "--check"]))?;
    step("tidy", &|| tidy::run(root))?;
    if packages.as_ref().is_none_or(|packages| !packages.is_empty()) {
        step("lint", &|| cargo(root, &join(&["clippy", "--all-targets"], &selection, &["--", "-D", "warnings"])))?;
        let targets: &[&str] =
            if has_library(&workspace, packages.as_ref()) { &["--lib", "--bins"] } else { &["--bins"] };
        step("unit", &|| cargo(root, &join(&["test", "--quiet"], &selection, targets)))?;
    }
    let crates = packages.map_or("all crates".to_owned(), |packages| match packages.len() {
        0 => "no crate changed".to_owned(),
        _ => packages.into_iter().collect::<Vec<_>>().join(", "),
    });
    println!("check: {} ({crates})", times.join(", "));
    Ok(())
}

/// Returns whether a library is among the packages: without one, Cargo refuses `--lib`.
fn has_library(workspace: &Workspace, packages: Option<&BTreeSet<String>>) -> bool {
    let is_chosen = |member: &&Member| packages.is_none_or(|packages| packages.contains(&member.name));
    let mut roots = workspace.crates.iter().filter(is_chosen).flat_map(|member| &member.roots);
    roots.any(|root| root.ends_with("lib.rs"))
}

fn join<'a>(before: &[&'a str], selection: &'a [String], behind: &[&'a str]) -> Vec<&'a str> {
    before.iter().copied().chain(selection.iter().map(String::as_str)).chain(behind.iter().copied()).collect()
}

/// Returns Cargo's options for these packages; `None` stands for all.
fn selection(packages: Option<&BTreeSet<String>>) -> Vec<String> {
    match packages {
        None => vec!["--workspace".to_owned()],
        Some(packages) => packages.iter().flat_map(|package| ["-p".to_owned(), package.clone()]).collect(),
    }
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo).args(arguments).current_dir(root).status();
    let status = status.map_err(|error| format!("cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo {}", arguments.join(" "))) }
}

/// Returns the files that differ from `origin/main`: committed, changed and new ones.
fn changed_files(root: &Path) -> Result<Vec<String>, String> {
    let base = git(root, &["merge-base", "HEAD", "origin/main"])?;
    let changed = git(root, &["diff", "--name-only", base.trim()])?;
    let new = git(root, &["ls-files", "--others", "--exclude-standard"])?;
    Ok(changed.lines().chain(new.lines()).map(str::to_owned).collect())
}

fn git(root: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git").args(arguments).current_dir(root).output();
    let output = output.map_err(|error| format!("git: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let error = String::from_utf8_lossy(&output.stderr);
        Err(format!("git {}: {} (make check ALL=1 needs no origin)", arguments.join(" "), error.trim()))
    }
}

/// Returns the packages to check: those with changed files, their dependents, and those whose tests use one of them. `None`
/// if a file changed that all depend on.
fn affected(workspace: &Workspace, files: &[String]) -> Option<BTreeSet<String>> {
    if files.iter().any(|file| SHARED.contains(&file.as_str())) {
        return None;
    }
    let is_changed = |member: &&Member| files.iter().any(|file| file.starts_with(member.folder()));
    let mut affected: BTreeSet<String> =
        workspace.crates.iter().filter(is_changed).map(|member| member.name.clone()).collect();
    let depends = |member: &Member, affected: &BTreeSet<String>, in_tests: bool| {
        let mut dependencies = member.manifest.dependencies.iter();
        dependencies.any(|dependency| dependency.is_dev == in_tests && affected.contains(&dependency.name))
    };
    loop {
        let before = affected.len();
        let more = workspace.crates.iter().filter(|member| depends(member, &affected, false));
        let more: Vec<String> = more.map(|member| member.name.clone()).collect();
        affected.extend(more);
        if affected.len() == before {
            break;
        }
    }
    let tests = workspace.crates.iter().filter(|member| depends(member, &affected, true));
    let tests: Vec<String> = tests.map(|member| member.name.clone()).collect();
    affected.extend(tests);
    Some(affected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::workspace::{Dependency, Manifest};

    fn workspace() -> Workspace {
        let member = |name: &str, dependencies: &[(&str, bool)]| Member {
            name: name.to_owned(),
            manifest: Manifest {
                path: format!("crates/{name}/Cargo.toml"),
                dependencies: dependencies
                    .iter()
                    .map(|(name, is_dev)| Dependency { name: (*name).to_owned(), is_dev: *is_dev, line: 1 })
                    .collect(),
            },
            roots: Vec::new(),
            files: Vec::new(),
        };
        let crates = vec![
            member("low", &[]),
            member("middle", &[("low", false)]),
            member("high", &[("middle", false), ("serde", false)]),
            member("tested", &[("middle", true)]),
            member("above", &[("tested", false)]),
        ];
        Workspace { crates }
    }

    fn of(files: &[&str]) -> Option<Vec<String>> {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        affected(&workspace(), &files).map(|packages| packages.into_iter().collect())
    }

    #[test]
    fn dependents_are_affected_and_tests_of_a_crate_do_not_pass_it_on() {
        let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["crates/low/src/lib.rs"]), names(&["high", "low", "middle", "tested"]));
        assert_eq!(of(&["crates/above/src/lib.rs"]), names(&["above"]));
        assert_eq!(of(&["docs/style.md", "crates/lower/x"]), names(&[]));
    }

    #[test]
    fn a_file_that_all_share_affects_all() {
        assert_eq!(of(&["crates/low/src/lib.rs", "Cargo.toml"]), None);
        assert_eq!(selection(None), ["--workspace"]);
        assert_eq!(selection(Some(&["a".to_owned()].into())), ["-p", "a"]);
    }
}
