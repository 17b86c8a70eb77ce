//! Paths of other crates that are closed to some folders.

use super::named::paths_from;
use super::rooms::ClosedPath;
use super::source::SourceFile;
use super::{Finding, Weight};

/// Fails on a closed path that a file names outside its tests.
pub fn check_file(file: &SourceFile, table: &[ClosedPath]) -> Vec<Finding> {
    let is_below = |folder: &&str| file.path.starts_with(*folder);
    let is_closed_here = |row: &&ClosedPath| row.to.iter().any(is_below) && !row.not.iter().any(is_below);
    let closed: Vec<&ClosedPath> = table.iter().filter(is_closed_here).collect();
    if closed.is_empty() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for path in paths_from(file.shipped(), &["std", "core", "alloc", "sqlparser"]) {
        let Some(row) = closed.iter().find(|row| is_in(&path.text, row.path)) else { continue };
        if row.except.iter().any(|open| is_in(&path.text, open)) {
            continue;
        }
        findings.push(Finding {
            weight: Weight::Fails,
            path: file.path.clone(),
            line: path.line,
            rule: "path",
            message: format!("{} is closed to {}: {}", path.text, row.to.join(", "), row.instead),
        });
    }
    findings
}

fn is_in(path: &str, ancestor: &str) -> bool {
    path.strip_prefix(ancestor).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[ClosedPath] = &[
        ClosedPath { path: "std::sync", except: &[], not: &[], to: &["crates/engines/"], instead: "parts::sync" },
        ClosedPath {
            path: "std::time",
            except: &["std::time::Duration"],
            not: &[],
            to: &["crates/engines/"],
            instead: "env",
        },
        ClosedPath {
            path: "std::fs",
            except: &[],
            not: &["crates/engines/tests/"],
            to: &["crates/engines/", "crates/base/log/"],
            instead: "env",
        },
        ClosedPath { path: "sqlparser", except: &[], not: &[], to: &["crates/base/log/"], instead: "syntax::ast" },
    ];

    fn lines(package: &str, text: &str) -> Vec<usize> {
        let path = match package {
            "engine" => "crates/engines/x/src/lib.rs",
            "tests" => "crates/engines/tests/src/lib.rs",
            "log" => "crates/base/log/src/lib.rs",
            _ => "crates/product/x/src/main.rs",
        };
        let file = SourceFile::new(path, text.to_owned(), false).expect("Rust");
        check_file(&file, TABLE).iter().map(|finding| finding.line).collect()
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
    fn a_path_is_closed_to_the_folders_of_its_row_only() {
        assert!(lines("log", "use std::sync::Arc;").is_empty());
        assert_eq!(lines("log", "use std::fs;"), [1]);
        assert_eq!(lines("log", "use sqlparser::ast::{Expr, Query};"), [1, 1]);
        assert!(lines("engine", "use sqlparser::ast::Expr;").is_empty());
        assert!(lines("tests", "use std::fs;").is_empty(), "an exception");
        assert!(lines("binary", "use std::fs; use std::sync::Arc;").is_empty());
    }

    #[test]
    fn tests_may_name_it() {
        assert!(lines("engine", "#[cfg(test)]\nmod tests {\n use std::sync::Arc;\n}").is_empty());
        let text = "use std::sync::Arc;".to_owned();
        let file = SourceFile::new("crates/engines/x/tests/a.rs", text, true).expect("Rust");
        assert_eq!(check_file(&file, TABLE), vec![]);
    }
}
