//! Which crate may know which.

use super::workspace::Workspace;
use super::{Finding, Weight};

/// What one crate of the workspace may name. Crates from the registry are no concern of this table.
pub struct Arrow {
    /// The package's name.
    pub from: &'static str,
    /// What its `[dependencies]` and `[build-dependencies]` may name.
    pub code: &'static [&'static str],
    /// What its `[dev-dependencies]` may name, beyond `code` and [`ANY_TESTS`].
    pub tests: &'static [&'static str],
}

/// What the tests of every crate may name: the vocabulary, the simulator and the judges.
pub const ANY_TESTS: &[&str] = &["seriatim-model", "seriatim-env", "seriatim-check", "seriatim-testing"];

/// The table. Arrows point down only, and no engine knows another.
pub const ARROWS: &[Arrow] = &[
    Arrow { from: "seriatim-codec", code: &[], tests: &[] },
    Arrow { from: "seriatim-model", code: &["seriatim-codec"], tests: &[] },
    Arrow { from: "seriatim-testing", code: &[], tests: &[] },
    Arrow { from: "seriatim-env", code: &["seriatim-model"], tests: &[] },
    Arrow { from: "seriatim-parts", code: &["seriatim-model", "seriatim-env"], tests: &[] },
    Arrow {
        from: "seriatim-wal",
        code: &["seriatim-codec", "seriatim-model", "seriatim-env", "seriatim-parts"],
        tests: &[],
    },
    Arrow { from: "seriatim-check", code: &["seriatim-model"], tests: &[] },
    Arrow {
        from: "seriatim-mvto",
        code: &["seriatim-codec", "seriatim-model", "seriatim-env", "seriatim-parts", "seriatim-wal"],
        tests: &[],
    },
    Arrow {
        from: "seriatim-twopl",
        code: &["seriatim-model", "seriatim-env", "seriatim-parts", "seriatim-wal"],
        tests: &[],
    },
    // Over door 1: no engine, except in its tests, which also set the knobs of the log under it.
    Arrow { from: "seriatim-pgtypes", code: &[], tests: &[] },
    Arrow {
        from: "seriatim-sql",
        code: &["seriatim-model", "seriatim-pgtypes"],
        tests: &["seriatim-mvto", "seriatim-twopl", "seriatim-wal"],
    },
    Arrow {
        from: "seriatim-wire",
        code: &["seriatim-model", "seriatim-sql"],
        tests: &["seriatim-mvto", "seriatim-twopl"],
    },
    // Knows no transactions; what it orders are bytes.
    // The judges only with the feature `sim`.
    Arrow {
        from: "seriatim-paxos",
        code: &["seriatim-codec", "seriatim-env", "seriatim-wal", "seriatim-check"],
        tests: &[],
    },
    // Reads what Coq extracts and writes Rust.
    Arrow { from: "seriatim-printer", code: &[], tests: &[] },
    Arrow {
        from: "seriatim",
        code: &["seriatim-model", "seriatim-env", "seriatim-wal", "seriatim-mvto", "seriatim-sql"],
        tests: &["seriatim"],
    },
    // The log is named by `seriatim verify`, the judges by `seriatim check`.
    Arrow {
        from: "seriatim-cli",
        code: &[
            "seriatim-model",
            "seriatim-env",
            "seriatim-wal",
            "seriatim-check",
            "seriatim-twopl",
            "seriatim-paxos",
            "seriatim-sql",
            "seriatim-wire",
            "seriatim",
        ],
        tests: &[],
    },
    Arrow { from: "seriatim-northwind", code: &["seriatim-env", "seriatim"], tests: &[] },
    Arrow {
        from: "seriatim-lab",
        code: &[
            "seriatim-model",
            "seriatim-env",
            "seriatim-check",
            "seriatim-mvto",
            "seriatim-twopl",
            "seriatim-paxos",
        ],
        tests: &[],
    },
    // Prints the proved core; runs beside the oracle, never in a node.
    Arrow { from: "seriatim-printer", code: &[], tests: &[] },
    Arrow { from: "seriatim-oracle", code: &["seriatim-env", "seriatim-paxos"], tests: &[] },
    Arrow { from: "xtask", code: &[], tests: &[] },
];

/// Compares the manifests with the table.
pub fn check(workspace: &Workspace, table: &[Arrow]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in &workspace.crates {
        let finding = |line, rule, message| Finding {
            weight: Weight::Fails,
            path: member.manifest.path.clone(),
            line,
            rule,
            message,
        };
        let Some(row) = table.iter().find(|row| row.from == member.name) else {
            let message = format!(
                "crate {} has no row in the table of arrows, so nobody has said what it may know: \
                 add it to ARROWS in xtask/src/tidy/arrows.rs and to ARCHITECTURE.md",
                member.name
            );
            findings.push(finding(1, "unlisted", message));
            continue;
        };
        for dependency in &member.manifest.dependencies {
            if !workspace.has(&dependency.name) || allows(row, dependency.is_dev, &dependency.name) {
                continue;
            }
            let section = if dependency.is_dev { "its tests" } else { "it" };
            let message = format!(
                "{} names {}, which is not in the table of arrows ({section} may name: {}): move what you need down \
                 to a crate that both may use, or argue the arrow in docs/decisions and add it to \
                 xtask/src/tidy/arrows.rs",
                member.name,
                dependency.name,
                allowed(row, dependency.is_dev)
            );
            findings.push(finding(dependency.line, "arrow", message));
        }
    }
    findings
}

fn allows(row: &Arrow, is_dev: bool, name: &str) -> bool {
    row.code.contains(&name) || is_dev && (row.tests.contains(&name) || ANY_TESTS.contains(&name))
}

fn allowed(row: &Arrow, is_dev: bool) -> String {
    let tests = if is_dev { [row.tests, ANY_TESTS].concat() } else { Vec::new() };
    let mut names: Vec<&str> = [row.code, &tests].concat();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() { "nothing of the workspace".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::super::workspace::{Dependency, Manifest, Member};
    use super::*;

    const TABLE: &[Arrow] = &[
        Arrow { from: "low", code: &[], tests: &["high"] },
        Arrow { from: "high", code: &["low"], tests: &[] },
        Arrow { from: "other", code: &["low"], tests: &[] },
        Arrow { from: "seriatim-check", code: &[], tests: &[] },
    ];

    fn workspace(members: &[(&str, &[(&str, bool)])]) -> Workspace {
        let crates = members.iter().map(|(name, dependencies)| {
            let dependencies = dependencies.iter().enumerate().map(|(index, (name, is_dev))| Dependency {
                name: (*name).to_owned(),
                is_dev: *is_dev,
                line: index + 10,
            });
            let path = format!("crates/{name}/Cargo.toml");
            let manifest = Manifest { path, dependencies: dependencies.collect() };
            Member { name: (*name).to_owned(), manifest, roots: Vec::new(), files: Vec::new() }
        });
        Workspace { crates: crates.collect() }
    }

    #[test]
    fn arrows_of_the_table_and_registry_crates_pass() {
        let workspace = workspace(&[
            ("low", &[("serde", false), ("high", true)]),
            ("high", &[("low", false), ("seriatim-check", true)]),
            ("seriatim-check", &[]),
        ]);
        assert_eq!(check(&workspace, TABLE), vec![]);
    }

    #[test]
    fn an_arrow_that_points_up_fails_at_its_line() {
        let workspace = workspace(&[("low", &[("serde", false), ("high", false)]), ("high", &[])]);
        let findings = check(&workspace, TABLE);
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].rule, findings[0].line, findings[0].weight), ("arrow", 11, Weight::Fails));
        assert!(findings[0].message.contains("low names high"));
    }

    #[test]
    fn an_arrow_between_siblings_fails_for_code_and_tests() {
        let workspace = workspace(&[("high", &[("other", false), ("other", true)]), ("other", &[])]);
        let rules: Vec<_> = check(&workspace, TABLE).iter().map(|finding| finding.rule).collect();
        assert_eq!(rules, ["arrow", "arrow"]);
    }

    #[test]
    fn the_judges_are_for_tests_only_unless_the_row_says_so() {
        let workspace = workspace(&[("high", &[("seriatim-check", false)]), ("seriatim-check", &[])]);
        assert_eq!(check(&workspace, TABLE)[0].rule, "arrow");
    }

    #[test]
    fn a_crate_without_a_row_fails() {
        let workspace = workspace(&[("newcomer", &[])]);
        let findings = check(&workspace, TABLE);
        assert_eq!((findings[0].rule, findings[0].weight), ("unlisted", Weight::Fails));
    }

    #[test]
    fn no_engine_and_no_foundation_points_up() {
        let position = |name: &str| ARROWS.iter().position(|row| row.from == name).expect("a crate of the table");
        for row in ARROWS {
            for to in row.code {
                assert!(position(to) < position(row.from), "{} -> {to} points up", row.from);
            }
        }
    }
}
