//! The copy of the repository in which mutants live.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The copy, its build folder and its logs, all below `target/mutants`.
pub struct Scratch {
    root: PathBuf,
    tree: PathBuf,
    build: PathBuf,
    logs: PathBuf,
    timeout: Duration,
}

/// Outcome of a command.
pub struct Execution {
    /// Whether it succeeded; `None` if it ran past its limit.
    pub exit: Option<bool>,
    /// Standard output and error together.
    pub output: String,
}

impl Scratch {
    /// Makes the folders; `restore` fills the copy.
    ///
    /// # Errors
    /// If they cannot be made.
    pub fn new(root: &Path, timeout: Duration) -> Result<Scratch, String> {
        let home = root.join("target/mutants");
        let scratch = Scratch {
            root: root.to_owned(),
            tree: home.join("tree"),
            build: home.join("build"),
            logs: home.join("logs"),
            timeout,
        };
        for folder in [&scratch.tree, &scratch.build, &scratch.logs] {
            fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        Ok(scratch)
    }

    /// Makes the copy equal to the working tree: what git tracks, and what is new and not ignored.
    ///
    /// A file is written only if it differs, and then as new: Cargo rebuilds by modification time, so that keeping
    /// the original's time would leave the last mutant in the build.
    ///
    /// # Errors
    /// If git cannot list the files or one cannot be copied.
    pub fn restore(&self) -> Result<(), String> {
        let wanted = self.working_files()?;
        for file in &wanted {
            let (from, to) = (self.root.join(file), self.tree.join(file));
            let original = fs::read(&from).map_err(|error| format!("{}: {error}", from.display()))?;
            if fs::read(&to).is_ok_and(|copy| copy == original) {
                continue;
            }
            let folder = to.parent().unwrap_or(&self.tree);
            let written = fs::create_dir_all(folder).and_then(|()| fs::write(&to, original));
            written.map_err(|error| format!("{}: {error}", to.display()))?;
        }
        self.remove_others(&self.tree, &wanted)
    }

    fn working_files(&self) -> Result<BTreeSet<PathBuf>, String> {
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&self.root)
            .output()
            .map_err(|error| format!("git ls-files: {error}"))?;
        if !output.status.success() {
            return Err(format!("git ls-files: {}", String::from_utf8_lossy(&output.stderr)));
        }
        let names = String::from_utf8(output.stdout).map_err(|error| format!("git ls-files: {error}"))?;
        let files = names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
        // Git still lists files that are deleted but not yet committed.
        Ok(files.filter(|file| self.root.join(file).is_file()).collect())
    }

    /// Removes what the copy has and the working tree has not.
    fn remove_others(&self, folder: &Path, wanted: &BTreeSet<PathBuf>) -> Result<(), String> {
        let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for entry in entries {
            let path = entry.map_err(|error| error.to_string())?.path();
            let inside = path.strip_prefix(&self.tree).map_err(|error| error.to_string())?;
            if path.is_dir() {
                self.remove_others(&path, wanted)?;
            } else if !wanted.contains(inside) {
                fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            }
        }
        Ok(())
    }

    /// Applies `patch` to the copy, exactly: moved lines are fine, changed context is not.
    ///
    /// # Errors
    /// Git's message if the patch does not apply.
    pub fn apply(&self, patch: &Path) -> Result<(), String> {
        self.git_apply(&[], patch)
    }

    /// Looks whether `patch` applies to the copy, and changes nothing.
    ///
    /// # Errors
    /// As for [`Scratch::apply`].
    pub fn check(&self, patch: &Path) -> Result<(), String> {
        self.git_apply(&["--check"], patch)
    }

    fn git_apply(&self, options: &[&str], patch: &Path) -> Result<(), String> {
        // The copy lies inside a repository, relative to which git would read the patch's paths.
        let ceiling = self.tree.parent().unwrap_or(&self.tree);
        let output = Command::new("git")
            .arg("apply")
            .args(options)
            .arg(patch)
            .current_dir(&self.tree)
            .env("GIT_CEILING_DIRECTORIES", ceiling)
            .env_remove("GIT_DIR")
            .output()
            .map_err(|error| format!("git apply: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(said.lines().next().unwrap_or("git apply failed").to_owned())
    }

    /// Runs `command` in the copy; its output is kept as `NAME.log`.
    ///
    /// # Errors
    /// If it cannot be started or its output cannot be read; its failure is an `Execution`.
    pub fn execute(&self, command: &str, name: &str) -> Result<Execution, String> {
        let log = self.logs.join(format!("{name}.log"));
        let run = || -> std::io::Result<Execution> {
            let out = File::create(&log)?;
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(command).current_dir(&self.tree);
            shell.env("CARGO_TARGET_DIR", &self.build).env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
            shell.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out).process_group(0);
            let exit = wait(shell.spawn()?, self.timeout)?;
            Ok(Execution { exit, output: String::from_utf8_lossy(&fs::read(&log)?).into_owned() })
        };
        run().map_err(|error| format!("{command}: {error}"))
    }
}

/// Returns whether `child` succeeded, or `None` after killing it and its descendants at the limit.
fn wait(mut child: Child, limit: Duration) -> std::io::Result<Option<bool>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        if start.elapsed() > limit {
            // The child leads its own process group.
            Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).status()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository of one file, removed when dropped.
    struct Fixture {
        root: PathBuf,
    }

    impl Fixture {
        fn new(name: &str) -> Fixture {
            let root = std::env::temp_dir().join(format!("xtask-{}-{name}", std::process::id()));
            fs::create_dir_all(root.join("crates/x/src")).expect("a folder");
            fs::write(root.join(".gitignore"), "/target\n").expect("a file");
            fs::write(root.join("crates/x/src/a.rs"), "one\ntwo\nthree\n").expect("a file");
            let git = Command::new("git").args(["init", "-q"]).current_dir(&root).status().expect("git");
            assert!(git.success());
            Fixture { root }
        }

        fn scratch(&self, timeout: Duration) -> Scratch {
            Scratch::new(&self.root, timeout).expect("a scratch")
        }

        fn patch(&self, old: &str, new: &str) -> PathBuf {
            let path = self.root.join("mutant.patch");
            let text = format!(
                "Breaks: x\ndiff --git a/crates/x/src/a.rs b/crates/x/src/a.rs\n--- a/crates/x/src/a.rs\n\
                 +++ b/crates/x/src/a.rs\n@@ -1,3 +1,3 @@\n one\n-{old}\n+{new}\n three\n"
            );
            fs::write(&path, text).expect("a file");
            path
        }
    }

    impl Drop for Fixture {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.root).expect("removed");
        }
    }

    #[test]
    fn a_patch_changes_the_copy_only_and_restore_undoes_it() {
        let fixture = Fixture::new("apply");
        let scratch = fixture.scratch(Duration::from_secs(60));
        let copy = scratch.tree.join("crates/x/src/a.rs");
        scratch.restore().expect("a copy");
        scratch.apply(&fixture.patch("two", "deux")).expect("applies");
        assert_eq!(fs::read_to_string(&copy).expect("the copy"), "one\ndeux\nthree\n");
        let original = fs::read_to_string(fixture.root.join("crates/x/src/a.rs")).expect("the original");
        assert_eq!(original, "one\ntwo\nthree\n");
        fs::write(scratch.tree.join("stray.rs"), "").expect("a file");
        scratch.restore().expect("a copy");
        assert_eq!(fs::read_to_string(&copy).expect("the copy"), original);
        assert!(!scratch.tree.join("stray.rs").exists());
    }

    #[test]
    fn a_patch_whose_context_has_changed_does_not_apply() {
        let fixture = Fixture::new("stale");
        let scratch = fixture.scratch(Duration::from_secs(60));
        scratch.restore().expect("a copy");
        let patch = fixture.patch("zwei", "deux");
        for stale in [scratch.check(&patch), scratch.apply(&patch)] {
            let reason = stale.expect_err("stale");
            assert!(reason.contains("patch failed"), "{reason}");
        }
        scratch.check(&fixture.patch("two", "deux")).expect("applies");
        let copy = fs::read_to_string(scratch.tree.join("crates/x/src/a.rs")).expect("the copy");
        assert_eq!(copy, "one\ntwo\nthree\n", "it was only looked at");
    }

    #[test]
    fn commands_report_success_failure_and_output() {
        let fixture = Fixture::new("execute");
        let scratch = fixture.scratch(Duration::from_secs(60));
        let good = scratch.execute("echo out; echo err >&2", "good").expect("runs");
        assert_eq!((good.exit, good.output.as_str()), (Some(true), "out\nerr\n"));
        assert_eq!(scratch.execute("exit 3", "bad").expect("runs").exit, Some(false));
    }

    #[test]
    fn a_command_past_its_limit_is_killed_with_its_children() {
        let fixture = Fixture::new("limit");
        let scratch = fixture.scratch(Duration::ZERO);
        // Without the kill, both would wait for ever on a pipe that nobody writes.
        let stuck = scratch.execute("mkfifo stuck; cat stuck & cat stuck", "stuck").expect("runs");
        assert_eq!(stuck.exit, None);
    }
}
