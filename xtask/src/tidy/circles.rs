//! Circles of imports between the folders of a crate.
//!
//! The children of a folder, files and folders, form a graph. A circle in it that holds two folders fails: nobody can read one
//! of them without the other. Files of one folder may name each other, and a folder's own file (`mod.rs`, `lib.rs`) is both
//! the ground and the roof of its children, so it belongs to no circle.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::modules::{Module, Reference, module_of, references};
use super::workspace::Member;
use super::{Finding, Weight};

/// A crate that has circles, and how many arrows they have at most. The number may only fall; no crate may be added.
pub struct Allowance {
    pub package: &'static str,
    pub arrows: usize,
}

/// The crates with circles.
pub const CIRCLES: &[Allowance] = &[];

/// The arrows between the children of one folder, with the references behind each.
type Graph<'r> = BTreeMap<(String, String), Vec<&'r Reference>>;

/// Reports a crate with more arrows in circles than its row allows, and the arrows that close them.
pub fn check(member: &Member, table: &[Allowance]) -> Vec<Finding> {
    let references = references(member);
    let folders = folders(member);
    let circles: Vec<Circle> = graphs(&references)
        .iter()
        .flat_map(|(parent, graph)| circles(parent, graph))
        .filter(|circle| circle.holds_two_of(&folders))
        .collect();
    let arrows: usize = circles.iter().map(|circle| circle.arrows.len()).sum();
    let allowed = table.iter().find(|row| row.package == member.name).map_or(0, |row| row.arrows);
    let (weight, advice) = match arrows.cmp(&allowed) {
        Ordering::Less => (Weight::Warns, "; lower the number"),
        Ordering::Equal => return Vec::new(),
        Ordering::Greater => (Weight::Fails, ""),
    };
    let mut findings = vec![Finding {
        weight,
        path: member.manifest.path.clone(),
        line: 1,
        rule: "circle",
        message: format!(
            "{} has {arrows} arrows in circles of imports; xtask/src/tidy/circles.rs allows {allowed}{advice}",
            member.name
        ),
    }];
    if weight == Weight::Fails {
        findings.extend(circles.iter().flat_map(Circle::report));
    }
    findings
}

/// Returns the modules that have files below them.
fn folders(member: &Member) -> BTreeSet<Module> {
    let modules = member.files.iter().filter_map(|file| module_of(file, &member.roots));
    modules.filter_map(|module| Some(module.split_last()?.1.to_vec())).collect()
}

fn below(parent: &Module, child: &str) -> Module {
    [parent.as_slice(), &[child.to_owned()]].concat()
}

/// Returns the graph of each folder's children. A reference counts for the folder in which its ends part.
fn graphs(references: &[Reference]) -> BTreeMap<Module, Graph<'_>> {
    let mut graphs: BTreeMap<Module, Graph> = BTreeMap::new();
    for reference in references {
        let common = reference.from.iter().zip(&reference.to).take_while(|(from, to)| from == to).count();
        let (Some(from), Some(to)) = (reference.from.get(common), reference.to.get(common)) else { continue };
        let graph = graphs.entry(reference.from[..common].to_vec()).or_default();
        graph.entry((from.clone(), to.clone())).or_default().push(reference);
    }
    graphs
}

/// Children of a folder that all reach each other.
struct Circle<'r> {
    parent: Module,
    children: BTreeSet<String>,
    /// The arrows between them.
    arrows: Vec<Arrow<'r>>,
}

struct Arrow<'r> {
    from: String,
    to: String,
    references: Vec<&'r Reference>,
}

/// Returns the circles of a graph: its strongly connected components of two or more children.
fn circles<'r>(parent: &Module, graph: &Graph<'r>) -> Vec<Circle<'r>> {
    let children: BTreeSet<&String> = graph.keys().flat_map(|(from, to)| [from, to]).collect();
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        children.iter().map(|child| (*child, reachable(child, graph))).collect();
    let mut circles: Vec<Circle> = Vec::new();
    for child in &children {
        if circles.iter().any(|circle| circle.children.contains(*child)) {
            continue;
        }
        let is_in = |other: &&&String| reached[*child].contains(**other) && reached[**other].contains(*child);
        let members: BTreeSet<String> = children.iter().filter(is_in).map(|other| (*other).clone()).collect();
        if members.len() > 1 {
            circles.push(Circle { parent: parent.clone(), arrows: arrows_within(&members, graph), children: members });
        }
    }
    circles
}

/// Returns what can be reached from a child, over at least one arrow.
fn reachable<'g>(from: &str, graph: &'g Graph) -> BTreeSet<&'g String> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(child) = open.pop() {
        for (_, to) in graph.keys().filter(|(from, _)| from == child) {
            if found.insert(to) {
                open.push(to);
            }
        }
    }
    found
}

fn arrows_within<'r>(members: &BTreeSet<String>, graph: &Graph<'r>) -> Vec<Arrow<'r>> {
    let within = graph.iter().filter(|((from, to), _)| members.contains(from) && members.contains(to));
    within
        .map(|((from, to), references)| Arrow { from: from.clone(), to: to.clone(), references: references.clone() })
        .collect()
}

impl Circle<'_> {
    fn holds_two_of(&self, folders: &BTreeSet<Module>) -> bool {
        let is_folder = |child: &&String| folders.contains(&below(&self.parent, child));
        self.children.iter().filter(is_folder).count() > 1
    }

    /// Reports the arrows without which there would be no circle.
    fn report(&self) -> Vec<Finding> {
        let order = self.order();
        let position = |child: &String| order.iter().position(|other| *other == child);
        let closing = self.arrows.iter().filter(|arrow| position(&arrow.from) > position(&arrow.to));
        closing.map(|arrow| self.finding(arrow)).collect()
    }

    fn finding(&self, arrow: &Arrow) -> Finding {
        let first = arrow.references[0];
        let files: BTreeSet<&str> = arrow.references.iter().map(|reference| reference.path.as_str()).collect();
        let children: Vec<&str> = self.children.iter().map(String::as_str).collect();
        Finding {
            weight: Weight::Fails,
            path: first.path.clone(),
            line: first.line,
            rule: "circle",
            message: format!(
                "{} -> {} ({} references in {}) closes a circle of {}: move what both need below them",
                below(&self.parent, &arrow.from).join("::"),
                below(&self.parent, &arrow.to).join("::"),
                arrow.references.len(),
                files.iter().map(|path| path.rsplit('/').next().unwrap_or(path)).collect::<Vec<_>>().join(", "),
                children.join(", ")
            ),
        }
    }

    /// Returns the children, importers first, so that few references point back: each time the child with the greatest
    /// surplus of references out of it over references into it. Source: Eades, Lin and Smyth, "A fast and effective
    /// heuristic for the feedback arc set problem" (1993).
    fn order(&self) -> Vec<&String> {
        let mut rest: BTreeSet<&String> = self.children.iter().collect();
        let (mut front, mut back) = (Vec::new(), Vec::new());
        while !rest.is_empty() {
            let outgoing = |child: &String| self.weight(&rest, |arrow| (&arrow.from, &arrow.to), child);
            let incoming = |child: &String| self.weight(&rest, |arrow| (&arrow.to, &arrow.from), child);
            if let Some(sink) = rest.iter().copied().find(|child| outgoing(child) == 0) {
                back.push(sink);
                rest.remove(sink);
                continue;
            }
            let surplus = |child: &&String| outgoing(child) as i64 - incoming(child) as i64;
            let best = rest.iter().copied().find(|child| incoming(child) == 0);
            let Some(next) = best.or_else(|| rest.iter().copied().max_by_key(surplus)) else { break };
            front.push(next);
            rest.remove(next);
        }
        front.extend(back.into_iter().rev());
        front
    }

    /// Returns the number of references between `child`, the first of an arrow's `ends`, and the `rest`, the second.
    fn weight(
        &self,
        rest: &BTreeSet<&String>,
        ends: impl for<'a> Fn(&'a Arrow) -> (&'a String, &'a String),
        child: &String,
    ) -> usize {
        let counts = self.arrows.iter().filter(|arrow| {
            let (near, far) = ends(arrow);
            near == child && rest.contains(far)
        });
        counts.map(|arrow| arrow.references.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::modules::tests::member;
    use super::*;

    /// The arrows that close circles.
    fn closing(files: &[(&str, &str)]) -> Vec<String> {
        let findings = check(&member(files), &[]).into_iter().skip(1);
        findings.map(|finding| finding.message).collect()
    }

    const TWO_FOLDERS: &[(&str, &str)] = &[
        ("lib.rs", "mod a; mod b;"),
        ("a/mod.rs", "mod deep; use crate::b::deep::Y; use crate::b::deep::Z;"),
        ("a/deep.rs", "pub struct X;"),
        ("b/mod.rs", "pub mod deep;"),
        ("b/deep.rs", "use crate::a::deep::X; pub struct Y; pub struct Z;"),
    ];

    #[test]
    fn two_folders_that_name_each_other_are_a_circle_and_the_lighter_arrow_closes_it() {
        let found = closing(TWO_FOLDERS);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("b -> a (1 references in deep.rs) closes a circle of a, b"), "{found:?}");
    }

    #[test]
    fn files_between_two_folders_count_and_files_beside_one_do_not() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::X; pub struct Y; fn f(_: crate::c::W) {}"),
            ("b.rs", "use crate::a::Y; pub struct X;"),
            ("c/mod.rs", "use crate::a::Y; mod d; mod e; pub struct W;"),
            ("c/d.rs", "use super::e::Z; pub struct V;"),
            ("c/e.rs", "use super::d::V; pub struct Z;"),
        ];
        assert_eq!(check(&member(&files), &[]), []);
        let closed = [files.as_slice(), &[("b/deep.rs", "")]].concat();
        assert_eq!(closing(&closed).len(), 2, "between a and b, and between a and c");
    }

    #[test]
    fn a_longer_circle_and_one_deep_down_are_found() {
        let files = [
            ("lib.rs", "mod top;"),
            ("top/mod.rs", "mod a; mod b; mod c;"),
            ("top/a.rs", "use super::b;"),
            ("top/b/mod.rs", "mod deep; use super::c::deep;"),
            ("top/b/deep.rs", ""),
            ("top/c/mod.rs", "pub mod deep;"),
            ("top/c/deep.rs", "use crate::top::a;"),
        ];
        let found = closing(&files);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("closes a circle of a, b, c"), "{found:?}");
    }

    #[test]
    fn a_folder_s_own_file_is_in_no_circle() {
        let files = [
            ("lib.rs", "mod a; pub struct Root;"),
            ("a/mod.rs", "mod b; use b::f; pub struct Ground; fn g() { f() }"),
            ("a/b.rs", "use super::Ground; use crate::Root; pub fn f() {}"),
        ];
        assert_eq!(check(&member(&files), &[]), []);
    }

    #[test]
    fn more_arrows_than_allowed_fail_and_fewer_warn() {
        let first = |allowed| {
            let table = [Allowance { package: "x", arrows: allowed }];
            check(&member(TWO_FOLDERS), &table).first().map(|finding| (finding.weight, finding.message.clone()))
        };
        let (weight, message) = first(1).expect("two arrows are more than one");
        assert_eq!(weight, Weight::Fails);
        assert!(message.starts_with("x has 2 arrows in circles"), "{message}");
        assert_eq!(first(2), None);
        assert_eq!(first(3).expect("a number that is too high").0, Weight::Warns);
    }
}
