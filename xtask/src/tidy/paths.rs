//! Paths of the standard library that are closed to some crates.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::rooms::ClosedPath;
use super::source::{SourceFile, is_punct};
use super::{Finding, Weight};

/// Fails on a closed path that the code of `package` names outside its tests.
pub fn check_file(package: &str, file: &SourceFile, table: &[ClosedPath]) -> Vec<Finding> {
    let closed: Vec<&ClosedPath> = table.iter().filter(|row| row.to.contains(&package)).collect();
    if closed.is_empty() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for path in named_paths(file.shipped()) {
        let Some(row) = closed.iter().find(|row| is_below(&path.text, row.path)) else { continue };
        if row.except.iter().any(|open| is_below(&path.text, open)) {
            continue;
        }
        findings.push(Finding {
            weight: Weight::Fails,
            path: file.path.clone(),
            line: path.line,
            rule: "path",
            message: format!("{} is closed to {package}: {}", path.text, row.instead),
        });
    }
    findings
}

fn is_below(path: &str, ancestor: &str) -> bool {
    path.strip_prefix(ancestor).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// A path as the code spells it, `use` groups written out.
struct NamedPath {
    text: String,
    line: usize,
}

/// Every path of the standard library below `tokens`.
fn named_paths(tokens: TokenStream) -> Vec<NamedPath> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(ident) if ["std", "core", "alloc"].iter().any(|name| ident == name) => {
                at += walk_path(&tokens[at..], "", &mut found);
            }
            TokenTree::Group(group) => {
                found.extend(named_paths(group.stream()));
                at += 1;
            }
            _ => at += 1,
        }
    }
    found
}

/// Follows one path of a `use` tree or an expression from its first segment; returns how many tokens it took.
fn walk_path(tokens: &[TokenTree], prefix: &str, found: &mut Vec<NamedPath>) -> usize {
    let mut text = prefix.to_owned();
    let mut at = 0;
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(ident)) if ident == "self" && !prefix.is_empty() => at += 1,
            Some(TokenTree::Ident(ident)) => {
                if !text.is_empty() {
                    text.push_str("::");
                }
                text.push_str(&ident.to_string());
                at += 1;
            }
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace && at > 0 => {
                walk_group(group.stream(), &text, found);
                return at + 1;
            }
            _ => break,
        }
        if !(is_punct(tokens.get(at), ':') && is_punct(tokens.get(at + 1), ':')) {
            break;
        }
        at += 2;
    }
    let line = tokens[0].span().start().line;
    found.push(NamedPath { text, line });
    at.max(1)
}

fn walk_group(tokens: TokenStream, prefix: &str, found: &mut Vec<NamedPath>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for branch in tokens.split(|token| is_punct(Some(token), ',')) {
        if !branch.is_empty() {
            walk_path(branch, prefix, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[ClosedPath] = &[
        ClosedPath { path: "std::sync", except: &[], to: &["engine"], instead: "parts::sync" },
        ClosedPath { path: "std::time", except: &["std::time::Duration"], to: &["engine"], instead: "env" },
        ClosedPath { path: "std::fs", except: &[], to: &["engine", "log"], instead: "env" },
    ];

    fn lines(package: &str, text: &str) -> Vec<usize> {
        let file = SourceFile::new("crates/x/src/lib.rs", text.to_owned(), false).expect("Rust");
        check_file(package, &file, TABLE).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_closed_path_fails_wherever_it_is_named() {
        assert_eq!(lines("engine", "use std::sync::Arc;"), [1]);
        assert_eq!(lines("engine", "fn f() {\n let a = ::std::sync::atomic::AtomicU64::new(0);\n}"), [2]);
        assert_eq!(lines("engine", "use std::{\n fmt,\n sync::{Arc, Mutex},\n time,\n};"), [3, 3, 4]);
        assert_eq!(lines("engine", "use std::fs::{self, File};"), [1, 1]);
        assert_eq!(lines("engine", "m!(x => std::sync::Arc::new(1))"), [1]);
        assert_eq!(lines("engine", "use std::sync::*;"), [1]);
    }

    #[test]
    fn open_paths_pass() {
        assert!(lines("engine", "use std::{fmt, io, time::Duration};\nuse std::time::Duration;").is_empty());
        assert!(lines("engine", "use std::synchronous::X; use crate::std_sync; use parts::sync::Arc;").is_empty());
        assert!(lines("engine", "// use std::sync::Arc;\nconst S: &str = \"std::sync\";").is_empty());
    }

    #[test]
    fn a_path_is_closed_to_the_crates_of_its_row_only() {
        assert!(lines("log", "use std::sync::Arc;").is_empty());
        assert_eq!(lines("log", "use std::fs;"), [1]);
        assert!(lines("binary", "use std::fs; use std::sync::Arc;").is_empty());
    }

    #[test]
    fn tests_may_name_it() {
        assert!(lines("engine", "#[cfg(test)]\nmod tests {\n use std::sync::Arc;\n}").is_empty());
        let text = "use std::sync::Arc;".to_owned();
        let file = SourceFile::new("crates/x/tests/a.rs", text, true).expect("Rust");
        assert_eq!(check_file("engine", &file, TABLE), vec![]);
    }
}
