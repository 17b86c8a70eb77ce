//! Names of files in the documentation that are nowhere in the repository.
//!
//! A name is a word that ends like a file of the repository (`begin.rs`, `mvto/src/begin.rs`) or starts with one of its
//! folders (`docs/decisions/0023`). It has to be the end of some file's path, or the beginning. The changelog and replaced
//! decisions speak of the past, and may name what is gone.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::comments::comment_lines;
use super::source::SourceFile;
use super::{Finding, Weight};

/// Endings of files that belong to a repository. Data, scripts of SQL and outputs are users' names as often as ours.
const ENDINGS: &[&str] = &["rs", "md", "toml", "v", "patch", "sh", "py", "ml", "svg"];

/// Folders that hold no files of the repository.
const SKIPPED: &[&str] = &["target", "data", "node_modules"];

/// The files of the repository.
pub struct Files {
    /// Paths relative to the root, with `/`.
    paths: BTreeSet<String>,
}

impl Files {
    /// Lists the files below `root`, without builds and hidden folders.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub fn read(root: &Path) -> Result<Files, String> {
        let mut paths = BTreeSet::new();
        list(root, "", &mut paths)?;
        Ok(Files { paths })
    }

    /// Returns the paths of the documents.
    fn documents(&self) -> impl Iterator<Item = &String> {
        self.paths.iter().filter(|path| path.ends_with(".md") && *path != "CHANGELOG.md")
    }

    /// Returns whether a file or folder has this name: as its path, the end of it, or the beginning.
    fn has(&self, name: &str) -> bool {
        let name = name.trim_end_matches('/');
        let starts = |path: &&String| path.starts_with(name);
        if self.paths.range(name.to_owned()..).next().is_some_and(|path| starts(&path)) {
            return true;
        }
        let (end, middle) = (format!("/{name}"), format!("/{name}/"));
        self.paths.iter().any(|path| path.ends_with(&end) || path.contains(&middle))
    }

    /// Returns whether a word names a file or folder of a repository like this one.
    fn is_name(&self, word: &str) -> bool {
        // `NAME.rs` and `NNNN-title.md` stand for any name; `a/` and `b/` are the sides of a patch.
        let is_capital = |part: &str| part.len() > 2 && part.chars().all(char::is_uppercase);
        let is_any = word.split(['/', '.', '-', '_']).any(is_capital);
        let is_side = word.starts_with("a/crates/") || word.starts_with("b/crates/");
        let is_elsewhere = word.starts_with('/') || word.contains("..") || word.starts_with("target/") || is_side;
        let stem = word.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
        let is_file = stem.is_some_and(|(stem, ending)| {
            // `x.v` is the field of a struct.
            let is_proof = ending != "v" || stem.starts_with(char::is_uppercase);
            is_proof && !stem.is_empty() && !stem.starts_with('.') && ENDINGS.contains(&ending)
        });
        let first = word.split_once('/').map(|(first, _)| first);
        let is_in_folder = first.is_some_and(|first| ["crates", "docs", "examples", "xtask"].contains(&first));
        !is_any && !is_elsewhere && (is_file || is_in_folder)
    }
}

fn list(folder: &Path, relative: &str, paths: &mut BTreeSet<String>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries {
        let entry = entry.map_err(|error| error.to_string())?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_hidden = name.starts_with('.') && name != ".ci";
        if is_hidden || SKIPPED.contains(&name.as_str()) {
            continue;
        }
        let path = if relative.is_empty() { name } else { format!("{relative}/{name}") };
        if entry.path().is_dir() {
            list(&entry.path(), &path, paths)?;
        } else {
            paths.insert(path);
        }
    }
    Ok(())
}

/// Reports the stale names in the comments of a source file.
pub fn check_file(file: &SourceFile, files: &Files) -> Vec<Finding> {
    let lines = comment_lines(file);
    lines.iter().flat_map(|line| check_line(&file.path, line.number, line.text, files)).collect()
}

/// Reports the stale names in the documents below `root`.
///
/// # Errors
/// A document that cannot be read.
pub fn check_documents(root: &Path, files: &Files) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for path in files.documents() {
        let text = fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))?;
        findings.extend(check_document(path, &text, files));
    }
    Ok(findings)
}

fn check_document(path: &str, text: &str, files: &Files) -> Vec<Finding> {
    let is_replaced = text.lines().any(|line| line.starts_with("Status: replaced"));
    let lines = text.lines().enumerate().filter(|_| !is_replaced);
    lines.flat_map(|(index, line)| check_line(path, index + 1, line, files)).collect()
}

fn check_line(path: &str, number: usize, text: &str, files: &Files) -> Vec<Finding> {
    let stale = words(text).filter(|word| files.is_name(word) && !files.has(word));
    let finding = |word: &str| Finding {
        weight: Weight::Fails,
        path: path.to_owned(),
        line: number,
        rule: "stale",
        message: format!("{word} is nowhere in the repository: name what took its place"),
    };
    stale.map(finding).collect()
}

/// Returns the words of a text that could be names of files; a word with a `*` is a pattern and none.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |character: char| character.is_alphanumeric() || "_-./*{}<>$:~".contains(character);
    let words = text.split(move |character| !is_part(character));
    let words = words.map(|word| word.trim_end_matches(['.', ':', '-']).trim_start_matches("./"));
    words.filter(|word| !word.contains(['*', '{', '<', '$', ':', '~', '>', '}']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Files {
        let paths = ["README.md", "crates/a/src/lib.rs", "crates/a/src/read.rs", "docs/decisions/0001-one.md"];
        Files { paths: paths.map(str::to_owned).into() }
    }

    fn stale(text: &str) -> Vec<String> {
        let findings = check_document("docs/x.md", text, &files());
        findings.iter().map(|finding| finding.message.split(' ').next().unwrap_or("").to_owned()).collect()
    }

    #[test]
    fn a_name_that_is_nowhere_fails_at_its_line() {
        let findings = check_document("docs/x.md", "see `read.rs`\nand [it](crates/a/src/gone.rs).\n", &files());
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].rule, findings[0].line), ("stale", 2));
        assert_eq!(
            stale("`write.rs`, docs/decisions/0002, crates/b/"),
            ["write.rs", "docs/decisions/0002", "crates/b/"]
        );
    }

    #[test]
    fn ends_and_beginnings_of_paths_pass() {
        assert_eq!(stale("a/src/read.rs: lib.rs; crates/a/src, docs/decisions/0001; ./README.md."), [""; 0]);
    }

    #[test]
    fn what_is_no_name_of_ours_passes() {
        let text = "NAME.rs, *.md, src/{a,b}.rs, ../shared/x.md, target/y.md, /etc/z.toml, https://h.org/w.rs, self.v, e.g. a/b";
        assert_eq!(stale(text), [""; 0]);
    }

    #[test]
    fn a_replaced_decision_may_name_what_is_gone() {
        assert_eq!(stale("Status: replaced by 0007.\n`gone.rs`\n"), [""; 0]);
    }

    #[test]
    fn comments_are_read_and_code_is_not() {
        let text = "// see gone.rs\nfn f() { g(\"gone.rs\") }\n".to_owned();
        let file = SourceFile::new("crates/a/src/lib.rs", text, false).expect("Rust");
        assert_eq!(check_file(&file, &files()).iter().map(|finding| finding.line).collect::<Vec<_>>(), [1]);
    }
}
