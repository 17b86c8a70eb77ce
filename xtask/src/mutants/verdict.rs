//! Verdict on a mutant from the kill command's output.

use std::fmt;

use super::scratch::Execution;

/// Verdict on a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A test failed because of the patch: the only good end. Holds the tests' names.
    Killed(Vec<String>),
    /// The command passed with the patch.
    Survived,
    /// The patch no longer fits the code; what `git apply` said.
    DoesNotApply(String),
    /// The patched crate does not build, so no test has looked at it.
    DoesNotBuild,
    /// No test failed in time: a test must notice a hang by itself.
    TimedOut,
    /// The command runs no test at all.
    RunsNoTest,
    /// The command fails without the patch too.
    FailsUnbroken,
    /// The command failed, but not in a test.
    FailedElsewhere,
}

impl Verdict {
    /// Returns whether the mutant was killed.
    pub fn is_kill(&self) -> bool {
        matches!(self, Verdict::Killed(_))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Killed(tests) if tests.is_empty() => write!(out, "killed (the test process died)"),
            Verdict::Killed(tests) => write!(out, "killed by {}", tests.join(", ")),
            Verdict::Survived => write!(out, "SURVIVED: no test noticed; sharpen the test that its header names"),
            Verdict::DoesNotApply(reason) => write!(out, "DOES NOT APPLY: write the patch anew ({reason})"),
            Verdict::DoesNotBuild => write!(out, "DOES NOT BUILD: a mutant is a wrong program, not a broken one"),
            Verdict::TimedOut => write!(out, "TIMED OUT: bound the test's waits, so that it fails by itself"),
            Verdict::RunsNoTest => write!(out, "RUNS NO TEST: the kill command selects none"),
            Verdict::FailsUnbroken => write!(out, "FAILS UNBROKEN: the kill command fails without the patch too"),
            Verdict::FailedElsewhere => write!(out, "FAILED ELSEWHERE: the kill command failed, but in no test"),
        }
    }
}

/// Returns the failure of the kill command on the unpatched code, if any.
pub fn of_unbroken(execution: &Execution) -> Option<Verdict> {
    match execution.exit {
        None => Some(Verdict::TimedOut),
        Some(true) if !began_tests(&execution.output) => Some(Verdict::RunsNoTest),
        Some(true) => None,
        Some(false) => Some(Verdict::FailsUnbroken),
    }
}

/// The verdict on the patched code.
pub fn of_broken(execution: &Execution) -> Verdict {
    let output = &execution.output;
    match execution.exit {
        None => Verdict::TimedOut,
        Some(true) => Verdict::Survived,
        Some(false) if output.contains("error: could not compile") => Verdict::DoesNotBuild,
        Some(false) if began_tests(output) => Verdict::Killed(failed_tests(output)),
        Some(false) => Verdict::FailedElsewhere,
    }
}

/// Returns whether libtest has begun at least one test: `running 2 tests`.
fn began_tests(output: &str) -> bool {
    let counts = output.lines().filter_map(|line| line.strip_prefix("running ")?.split_once(" test"));
    counts.filter_map(|(count, _)| count.parse::<u64>().ok()).any(|count| count > 0)
}

/// Names on libtest's lines `test NAME ... FAILED`.
fn failed_tests(output: &str) -> Vec<String> {
    let lines = output.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
    lines.map(|name| name.trim_end_matches(" - should panic").to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execution(exit: Option<bool>, output: &str) -> Execution {
        Execution { exit, output: output.to_owned() }
    }

    const FAILED: &str = "   Compiling x\n\nrunning 1 test\ntest waits ... FAILED\n\ntest result: FAILED. 0 passed";
    const PASSED: &str = "\nrunning 1 test\ntest waits ... ok\n\ntest result: ok. 1 passed";
    const NONE: &str = "\nrunning 0 tests\n\ntest result: ok. 0 passed";

    #[test]
    fn only_a_failed_test_is_a_kill() {
        assert_eq!(of_broken(&execution(Some(false), FAILED)), Verdict::Killed(vec!["waits".to_owned()]));
        assert_eq!(of_broken(&execution(Some(true), PASSED)), Verdict::Survived);
        assert_eq!(of_broken(&execution(None, FAILED)), Verdict::TimedOut);
        let broken = "error[E0308]: mismatched types\nerror: could not compile `x` (lib) due to 1 previous error";
        assert_eq!(of_broken(&execution(Some(false), broken)), Verdict::DoesNotBuild);
        assert_eq!(of_broken(&execution(Some(false), "sh: cargo: not found")), Verdict::FailedElsewhere);
    }

    #[test]
    fn a_test_process_that_dies_is_a_kill() {
        let died = "running 1 test\nerror: test failed, to rerun pass `--test a`\n  (signal: 6, SIGABRT)";
        assert_eq!(of_broken(&execution(Some(false), died)), Verdict::Killed(vec![]));
    }

    #[test]
    fn the_kill_command_must_pass_and_test_something_without_the_patch() {
        assert_eq!(of_unbroken(&execution(Some(true), PASSED)), None);
        assert_eq!(of_unbroken(&execution(Some(true), NONE)), Some(Verdict::RunsNoTest));
        assert_eq!(of_unbroken(&execution(Some(false), FAILED)), Some(Verdict::FailsUnbroken));
        assert_eq!(of_unbroken(&execution(None, "")), Some(Verdict::TimedOut));
    }
}
