//! A mutant's file: its header and the diff below it.

use std::fs;
use std::path::{Path, PathBuf};

/// One mutant.
#[derive(Debug)]
pub struct Patch {
    /// `crate/file`, without `.patch`.
    pub name: String,
    /// Absolute.
    pub path: PathBuf,
    /// The broken promise, in one sentence.
    pub breaks: String,
    /// Shell command that must fail in a test.
    pub kill: String,
    /// Runs in every test run, not only nightly.
    pub in_ci: bool,
}

impl Patch {
    /// Every `crates/*/*/mutants/*.patch` below `root`, in order of name.
    ///
    /// # Errors
    /// A patch whose header lacks a field, or that reaches outside its crate.
    pub fn read_all(root: &Path) -> Result<Vec<Patch>, String> {
        let mut patches = Vec::new();
        for floor in entries(&root.join("crates"))? {
            for folder in entries(&floor)? {
                let mutants = folder.join("mutants");
                if !mutants.is_dir() {
                    continue;
                }
                let below = format!("crates/{}/{}", name_of(&floor), name_of(&folder));
                for path in entries(&mutants)? {
                    if path.extension().is_some_and(|extension| extension == "patch") {
                        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                        patches.push(Patch::parse(&below, &path, &text)?);
                    }
                }
            }
        }
        Ok(patches)
    }

    /// Reads the patch of the crate at `folder`, from the root.
    fn parse(folder: &str, path: &Path, text: &str) -> Result<Patch, String> {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = format!("{}/{stem}", name_of(Path::new(folder)));
        let field = |key: &str| header_field(text, key).ok_or_else(|| format!("{name}: its header lacks `{key}:`"));
        field("Invariant")?;
        let (breaks, kill) = (field("Breaks")?, field("Kill")?);
        let in_ci = match header_field(text, "CI").as_deref() {
            None | Some("no") => false,
            Some("yes") => true,
            Some(other) => return Err(format!("{name}: `CI: {other}` is neither yes nor no")),
        };
        let allowed = format!("{folder}/");
        let changed = changed_files(text);
        if changed.is_empty() {
            return Err(format!("{name}: it changes no file"));
        }
        if let Some(outside) = changed.iter().find(|file| !file.starts_with(&allowed)) {
            return Err(format!("{name}: it changes {outside}, outside {allowed}"));
        }
        Ok(Patch { name, path: path.to_owned(), breaks, kill, in_ci })
    }

    /// Returns whether `name` names this mutant: in full, or without the crate.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.name.split_once('/').is_some_and(|(_, stem)| stem == name)
    }

    /// The name as part of a file's name.
    pub fn file_stem(&self) -> String {
        self.name.replace('/', "-")
    }
}

/// The value of `key:` above the first line of the diff; lines that begin with a space go on.
fn header_field(text: &str, key: &str) -> Option<String> {
    let header = text.lines().take_while(|line| !line.starts_with("diff ") && !line.starts_with("--- "));
    let mut value: Option<String> = None;
    for line in header {
        let begun = line.strip_prefix(key).and_then(|rest| rest.strip_prefix(':'));
        match (&mut value, begun) {
            (None, Some(begun)) => value = Some(begun.trim().to_owned()),
            (Some(value), None) if line.starts_with(' ') => {
                value.push(' ');
                value.push_str(line.trim());
            }
            (Some(_), _) => break,
            (None, None) => {}
        }
    }
    value.filter(|value| !value.is_empty())
}

/// Files on either side of the diff, from the repository's root.
fn changed_files(text: &str) -> Vec<&str> {
    let sides = text.lines().filter_map(|line| line.strip_prefix("--- a/").or_else(|| line.strip_prefix("+++ b/")));
    sides.map(|path| path.split('\t').next().unwrap_or(path)).collect()
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let read = || -> std::io::Result<Vec<PathBuf>> { fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect() };
    let mut paths = read().map_err(|error| format!("{}: {error}", folder.display()))?;
    paths.sort();
    Ok(paths)
}

fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Breaks: the wait for an owner\n  in commit is skipped\nInvariant: I4\n\
        Kill: RUSTFLAGS=\"--cfg loom\" cargo test -p x wait\nCI: yes\n\
        diff --git a/crates/x/src/read.rs b/crates/x/src/read.rs\n\
        --- a/crates/x/src/read.rs\n+++ b/crates/x/src/read.rs\n@@ -1 +1 @@\n-a\n+CI: no\n";

    fn parse(text: &str) -> Result<Patch, String> {
        Patch::parse("crates/x", Path::new("/r/crates/x/mutants/skip_wait.patch"), text)
    }

    #[test]
    fn a_whole_header_is_read() {
        let patch = parse(TEXT).expect("a patch");
        assert_eq!(patch.breaks, "the wait for an owner in commit is skipped");
        assert_eq!(patch.kill, "RUSTFLAGS=\"--cfg loom\" cargo test -p x wait");
        assert!(patch.in_ci && patch.is_called("skip_wait") && patch.is_called("x/skip_wait"));
        assert!(!patch.is_called("wait"));
    }

    #[test]
    fn a_header_that_lacks_a_field_is_an_error() {
        for key in ["Breaks:", "Invariant:", "Kill:"] {
            assert!(parse(&TEXT.replace(key, "Other:")).is_err_and(|error| error.contains(key)), "{key}");
        }
        assert!(parse(&TEXT.replace("CI: yes", "CI: maybe")).is_err());
    }

    #[test]
    fn without_a_mark_it_stays_out_of_ci_whatever_the_diff_says() {
        assert!(!parse(&TEXT.replace("CI: yes\n", "").replace("CI: no", "CI: yes")).expect("a patch").in_ci);
    }

    #[test]
    fn a_patch_may_not_leave_its_crate() {
        let error = parse(&TEXT.replace("+++ b/crates/x/", "+++ b/crates/y/")).expect_err("outside");
        assert!(error.contains("crates/y/src/read.rs"));
        assert!(parse("Breaks: a\nInvariant: b\nKill: c\n").is_err_and(|error| error.contains("no file")));
    }
}
