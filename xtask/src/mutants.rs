//! `cargo xtask mutants`: checks that the tests fail on broken code.
//!
//! A mutant is a patch that breaks one promise of one crate. It lives beside what it breaks, as
//! `crates/NAME/mutants/SOMETHING.patch`, as `git diff` writes it (paths from the repository's root), below a header:
//!
//! ```text
//! Breaks: the timestamp is rounded down to the site's residue, so that it may lie in the past
//! Invariant: I1 (timestamps increase strictly)
//! Kill: cargo test -p seriatim-mvto --test mutants_kill timestamps_increase
//! CI: yes
//! diff --git a/crates/engines/mvto/src/begin.rs b/crates/engines/mvto/src/begin.rs
//! ```
//!
//! `Kill` is a shell command that runs in the root of a copy of the repository; it may set variables first
//! (`RUSTFLAGS="--cfg loom" cargo test ...`). It should name one test, so that the test says by its name what it
//! guards. `CI: yes` marks the few that run in every test run, which looks at the others, too, whether they still apply; all
//! run nightly. A header's value may go on in lines that begin with a space.
//!
//! For each mutant the kill command must pass without the patch (a test that always fails kills nothing), the patch
//! must apply exactly, the patched crate must build, and then the command must fail in a test, within its limit.
//! Everything else is a failure: a mutant that survives, that no longer applies, that does not build, or that hangs.
//! The copy stands in `target/mutants/tree` and is built in `target/mutants/build`, so that neither the working tree
//! nor its build ever holds a broken database.

use std::path::Path;
use std::time::{Duration, Instant};

use patch::Patch;
use scratch::Scratch;
use verdict::Verdict;

mod patch;
mod scratch;
mod verdict;

/// Which mutants to run, and how long each may take.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    choice: Choice,
    list_only: bool,
    /// Limit of one kill command, building included.
    timeout: Duration,
}

#[derive(Debug, PartialEq, Eq)]
enum Choice {
    Ci,
    All,
    Named(Vec<String>),
}

impl Request {
    /// Reads the arguments after `mutants`.
    ///
    /// # Errors
    /// An unknown option, or options that contradict each other.
    pub fn parse(arguments: &[String]) -> Result<Request, String> {
        let mut names = Vec::new();
        let (mut ci, mut all, mut list_only) = (false, false, false);
        let mut timeout = Duration::from_secs(600);
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--ci" => ci = true,
                "--all" => all = true,
                "--list" => list_only = true,
                "--timeout" => {
                    let seconds = arguments.next().and_then(|seconds| seconds.parse().ok());
                    timeout = Duration::from_secs(seconds.ok_or("mutants: --timeout wants whole seconds")?);
                }
                option if option.starts_with('-') => return Err(format!("mutants: unknown option {option}")),
                name => names.push(name.to_owned()),
            }
        }
        let choice = match (ci, all || list_only && names.is_empty(), names.is_empty()) {
            (false, true, true) => Choice::All,
            (false, false, false) => Choice::Named(names),
            (_, false, true) => Choice::Ci,
            _ => return Err("mutants: give either --ci, or --all, or names".to_owned()),
        };
        Ok(Request { choice, list_only, timeout })
    }
}

/// Runs the mutants of `request` in the repository at `root` and prints a table of their ends.
///
/// # Errors
/// A summary, if any mutant is not killed as it should be, or none of the requested exists.
pub fn run(root: &Path, request: &Request) -> Result<(), String> {
    let all = Patch::read_all(root)?;
    let patches = choose(&all, &request.choice)?;
    if request.list_only {
        for patch in &patches {
            println!("{}{}: {}", patch.name, if patch.in_ci { " (CI)" } else { "" }, patch.breaks);
        }
        return Ok(());
    }
    if patches.is_empty() {
        println!("mutants: none to run");
        return Ok(());
    }
    let scratch = Scratch::new(root, request.timeout)?;
    let mut table = Vec::new();
    if request.choice == Choice::Ci {
        table = stale(&scratch, all.iter().filter(|patch| !patch.in_ci))?;
    }
    for (index, &patch) in patches.iter().enumerate() {
        println!("[{}/{}] {}: {}", index + 1, patches.len(), patch.name, patch.breaks);
        let start = Instant::now();
        let verdict = judge(&scratch, patch)?;
        println!("      {verdict} ({:.0} s)", start.elapsed().as_secs_f64());
        table.push((patch, verdict));
    }
    summarize(&table)
}

/// The mutants that no longer fit the code, which their kill commands need not tell.
fn stale<'a>(scratch: &Scratch, patches: impl Iterator<Item = &'a Patch>) -> Result<Vec<(&'a Patch, Verdict)>, String> {
    scratch.restore()?;
    let is_stale = |patch: &'a Patch| Some((patch, Verdict::DoesNotApply(scratch.check(&patch.path).err()?)));
    Ok(patches.filter_map(is_stale).collect())
}

/// One mutant from copy to verdict.
fn judge(scratch: &Scratch, patch: &Patch) -> Result<Verdict, String> {
    scratch.restore()?;
    let unbroken = scratch.execute(&patch.kill, &format!("{}.unbroken", patch.file_stem()))?;
    if let Some(verdict) = verdict::of_unbroken(&unbroken) {
        return Ok(verdict);
    }
    if let Err(reason) = scratch.apply(&patch.path) {
        return Ok(Verdict::DoesNotApply(reason));
    }
    let broken = scratch.execute(&patch.kill, &patch.file_stem())?;
    Ok(verdict::of_broken(&broken))
}

fn choose<'a>(patches: &'a [Patch], choice: &Choice) -> Result<Vec<&'a Patch>, String> {
    let Choice::Named(names) = choice else {
        return Ok(patches.iter().filter(|patch| *choice == Choice::All || patch.in_ci).collect());
    };
    if let Some(unknown) = names.iter().find(|name| !patches.iter().any(|patch| patch.is_called(name))) {
        let known: Vec<&str> = patches.iter().map(|patch| patch.name.as_str()).collect();
        return Err(format!("mutants: no mutant is called {unknown}; there are: {}", known.join(", ")));
    }
    Ok(patches.iter().filter(|patch| names.iter().any(|name| patch.is_called(name))).collect())
}

fn summarize(table: &[(&Patch, Verdict)]) -> Result<(), String> {
    let width = table.iter().map(|(patch, _)| patch.name.len()).max().unwrap_or(0);
    println!("\n{:width$}  end", "mutant");
    for (patch, verdict) in table {
        println!("{:width$}  {verdict}", patch.name);
    }
    let killed = table.iter().filter(|(_, verdict)| verdict.is_kill()).count();
    let summary = format!("mutants: {killed} of {} killed", table.len());
    if killed < table.len() {
        return Err(format!("{summary}; the rest are listed above, their output is in target/mutants/logs"));
    }
    println!("{summary}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Request, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Request::parse(&arguments)
    }

    #[test]
    fn the_choice_is_ci_unless_said_otherwise() {
        assert_eq!(parse("").map(|request| request.choice), Ok(Choice::Ci));
        assert_eq!(parse("--ci").map(|request| request.choice), Ok(Choice::Ci));
        assert_eq!(parse("--all").map(|request| request.choice), Ok(Choice::All));
        assert_eq!(parse("--list").map(|request| (request.choice, request.list_only)), Ok((Choice::All, true)));
        let named = Choice::Named(vec!["mvto/a".to_owned(), "b".to_owned()]);
        assert_eq!(parse("mvto/a --timeout 5 b").map(|request| request.choice), Ok(named));
        assert_eq!(parse("--timeout 5").map(|request| request.timeout), Ok(Duration::from_secs(5)));
    }

    #[test]
    fn contradictions_and_unknown_options_are_errors() {
        for line in ["--ci --all", "--all a", "--ci a", "--every", "--timeout", "--timeout soon"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
