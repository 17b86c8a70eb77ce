//! Floors: rules on which crate may name which, by the crate's folder.
//!
//! A crate stands on the floor that its folder names, and may name crates of the floors that its floor's row lists. A new crate of
//! a floor edits no row.

use super::workspace::{Member, Workspace};
use super::{Finding, Weight};

/// A floor and what its crates may name. Crates from the registry are no concern of this table.
pub struct Floor {
    /// Folder: `crates/NAME/` (the longest that fits), or `NAME/` at the repository's root.
    pub name: &'static str,
    /// Floors that its `[dependencies]` and `[build-dependencies]` may name.
    pub code: &'static [&'static str],
    /// Floors that its `[dev-dependencies]` may name beyond `code` and `base`.
    pub tests: &'static [&'static str],
}

/// The floors, bottom first.
pub const FLOORS: &[Floor] = &[
    Floor { name: "base", code: &["base"], tests: &[] },
    Floor { name: "tables", code: &["base", "tables"], tests: &["engines"] },
    // The tests that every engine passes, as a library.
    Floor { name: "engines/conformance", code: &["base"], tests: &["engines"] },
    Floor { name: "net", code: &["base", "net"], tests: &[] },
    // Orders bytes; knows no transactions.
    Floor { name: "order", code: &["base", "net", "order"], tests: &[] },
    // No engine knows another. A replicated one stands on the network, and may stand on a total order.
    Floor { name: "engines", code: &["base", "net", "order"], tests: &["engines/conformance"] },
    // A store over any engine's store and any order: it names neither, except in its tests.
    Floor {
        name: "replication",
        code: &["base", "order", "replication"],
        // The network is simulated in its tests (decision 0158).
        tests: &["net", "tables", "engines", "engines/conformance", "sql"],
    },
    // Over `Interactive`: no engine, except in its tests.
    Floor { name: "sql", code: &["base", "tables", "sql"], tests: &["engines"] },
    Floor {
        name: "product",
        code: &["base", "tables", "engines", "net", "order", "replication", "sql", "product"],
        tests: &["product"],
    },
    Floor {
        name: "lab",
        code: &["base", "tables", "engines", "net", "order", "replication", "sql", "lab"],
        tests: &["product"],
    },
    Floor { name: "examples", code: &["base", "product"], tests: &[] },
    // Prints the proved core, and runs it beside the oracle; never in a node.
    Floor { name: "proofs", code: &["base", "order"], tests: &[] },
    Floor { name: "xtask", code: &[], tests: &[] },
];

/// A crate that fewer floors may name than stand above it. Tests may name it everywhere.
pub struct Reserved {
    /// Name of the package.
    pub package: &'static str,
    /// Floors whose `[dependencies]` may name it.
    pub floors: &'static [&'static str],
    /// Why not the others.
    pub why: &'static str,
}

/// The reserved crates.
pub const RESERVED: &[Reserved] = &[
    Reserved {
        package: "seriatim-check",
        floors: &["engines/conformance", "order", "product", "lab"],
        why: "no engine knows its judges",
    },
    Reserved {
        package: "seriatim-parts",
        floors: &["engines", "replication"],
        why: "it holds what several engines share",
    },
    Reserved {
        package: "seriatim-wal",
        floors: &["engines", "order", "product"],
        why: "durability is reached through an engine",
    },
    Reserved { package: "seriatim-testing", floors: &["engines/conformance"], why: "it is for tests" },
];

/// Crates that name no other crate of the workspace in code: anybody can take them out.
pub const ALONE: &[&str] = &["seriatim-codec", "seriatim-pgtypes", "seriatim-testing"];

/// Compares the manifests with the tables.
pub fn check(workspace: &Workspace, floors: &[Floor], reserved: &[Reserved], alone: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in &workspace.crates {
        let Some(floor) = floor_of(member, floors) else {
            findings.push(finding(member, 1, "floor", format!("crate {} stands on no floor of FLOORS", member.name)));
            continue;
        };
        for dependency in &member.manifest.dependencies {
            let named = workspace.crates.iter().find(|other| other.name == dependency.name);
            let is_alone = !dependency.is_dev && alone.contains(&member.name.as_str());
            let problem = named.and_then(|named| match is_alone {
                true => Some("it names no crate of the workspace".to_owned()),
                false => problem(floor, floor_of(named, floors)?, named, dependency.is_dev, reserved),
            });
            if let Some(problem) = problem {
                let message = format!(
                    "{} names {}: {problem}; move what you need down to a floor that both may use, or argue the \
                     arrow in docs/decisions and change xtask/src/tidy/floors.rs",
                    member.name, dependency.name
                );
                findings.push(finding(member, dependency.line, "arrow", message));
            }
        }
    }
    findings
}

/// Returns why a crate of `floor` may not name the crate `named`, which stands on `below`.
fn problem(floor: &Floor, below: &Floor, named: &Member, is_dev: bool, reserved: &[Reserved]) -> Option<String> {
    let in_tests = is_dev && (below.name == "base" || floor.tests.contains(&below.name));
    if !floor.code.contains(&below.name) && !in_tests {
        let section = if is_dev { "in tests" } else { "in code" };
        return Some(format!("floor {} may not name floor {} {section}", floor.name, below.name));
    }
    let reserved = reserved.iter().find(|reserved| reserved.package == named.name && !is_dev)?;
    let is_allowed = reserved.floors.contains(&floor.name);
    (!is_allowed).then(|| format!("it is not for floor {}, since {}", floor.name, reserved.why))
}

/// Returns the floor on which a crate stands.
fn floor_of<'f>(member: &Member, floors: &'f [Floor]) -> Option<&'f Floor> {
    let path = &member.manifest.path;
    let path = path.strip_prefix("crates/").unwrap_or(path);
    let fits = |floor: &&Floor| path.strip_prefix(floor.name).is_some_and(|rest| rest.starts_with('/'));
    floors.iter().filter(fits).max_by_key(|floor| floor.name.len())
}

fn finding(member: &Member, line: usize, rule: &'static str, message: String) -> Finding {
    Finding { weight: Weight::Fails, path: member.manifest.path.clone(), line, rule, message }
}

#[cfg(test)]
mod tests {
    use super::super::workspace::{Dependency, Manifest};
    use super::*;

    const TABLE: &[Floor] = &[
        Floor { name: "low", code: &["low"], tests: &["high"] },
        Floor { name: "base", code: &[], tests: &[] },
        Floor { name: "high", code: &["low", "base"], tests: &[] },
    ];
    const KEPT: &[Reserved] = &[Reserved { package: "kept", floors: &["low"], why: "test" }];

    /// Lines and rules of the findings. Each crate: path of its folder, and what it names (in tests?), from line 10 on.
    fn findings(crates: &[(&str, &[(&str, bool)])]) -> Vec<(usize, &'static str)> {
        let crates = crates.iter().map(|(folder, dependencies)| {
            let dependencies = dependencies.iter().enumerate().map(|(index, (name, is_dev))| Dependency {
                name: (*name).to_owned(),
                is_dev: *is_dev,
                line: index + 10,
            });
            let manifest = Manifest { path: format!("{folder}/Cargo.toml"), dependencies: dependencies.collect() };
            let name = folder.rsplit('/').next().unwrap_or(folder).to_owned();
            Member { name, manifest, roots: Vec::new(), files: Vec::new() }
        });
        let workspace = Workspace { crates: crates.collect() };
        check(&workspace, TABLE, KEPT, &["alone"]).iter().map(|finding| (finding.line, finding.rule)).collect()
    }

    #[test]
    fn arrows_down_and_beside_and_to_the_registry_pass() {
        let crates: &[(&str, &[(&str, bool)])] = &[
            ("crates/low/a", &[("serde", false), ("b", true), ("c", false)]),
            ("crates/low/c", &[]),
            ("crates/high/b", &[("a", false), ("d", false)]),
            ("crates/base/d", &[]),
        ];
        assert_eq!(findings(crates), []);
    }

    #[test]
    fn an_arrow_that_points_up_fails_at_its_line() {
        let crates: &[(&str, &[(&str, bool)])] =
            &[("crates/low/a", &[("serde", false), ("b", false)]), ("crates/high/b", &[])];
        assert_eq!(findings(crates), [(11, "arrow")]);
    }

    #[test]
    fn an_arrow_between_siblings_fails_where_the_row_does_not_name_its_own_floor() {
        let crates: &[(&str, &[(&str, bool)])] =
            &[("crates/high/a", &[("b", false), ("b", true)]), ("crates/high/b", &[])];
        assert_eq!(findings(crates), [(10, "arrow"), (11, "arrow")]);
    }

    #[test]
    fn every_test_may_name_the_base_floor() {
        let crates: &[(&str, &[(&str, bool)])] =
            &[("crates/base/a", &[("b", true), ("b", false)]), ("crates/base/b", &[])];
        assert_eq!(findings(crates), [(11, "arrow")]);
    }

    #[test]
    fn a_reserved_crate_is_for_its_floors_and_for_tests() {
        let crates: &[(&str, &[(&str, bool)])] = &[
            ("crates/low/kept", &[]),
            ("crates/low/a", &[("kept", false)]),
            ("crates/high/b", &[("kept", true), ("kept", false)]),
        ];
        // A dev-dependency still has to be on a floor that may be named: `high` names `low` in code.
        assert_eq!(findings(crates), [(11, "arrow")]);
    }

    #[test]
    fn a_crate_that_stands_alone_names_none_in_code() {
        let crates: &[(&str, &[(&str, bool)])] =
            &[("crates/low/a", &[]), ("crates/low/alone", &[("serde", false), ("a", true), ("a", false)])];
        assert_eq!(findings(crates), [(12, "arrow")]);
    }

    #[test]
    fn a_crate_on_no_floor_fails() {
        assert_eq!(findings(&[("crates/cellar/a", &[]), ("attic", &[])]), [(1, "floor"), (1, "floor")]);
    }

    #[test]
    fn no_engine_names_another_and_floors_have_one_order() {
        let position = |name: &str| FLOORS.iter().position(|floor| floor.name == name).expect("a floor of the table");
        for floor in FLOORS {
            assert!(floor.code.iter().all(|below| position(below) <= position(floor.name)), "{}", floor.name);
        }
        assert!(!FLOORS[position("engines")].code.contains(&"engines"));
    }
}
