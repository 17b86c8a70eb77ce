//! Occurrences of `unsafe`, and `forbid` attributes of the other crates.

use super::rooms::Room;
use super::source::{SourceFile, identifiers};
use super::workspace::Member;
use super::{Finding, Weight};

/// Fails on the word `unsafe` outside the rooms.
pub fn check_file(file: &SourceFile, rooms: &[Room]) -> Vec<Finding> {
    if rooms.iter().any(|room| matches(room.path, &file.path)) {
        return Vec::new();
    }
    let uses = identifiers(file.tokens.clone()).into_iter().filter(|ident| ident == "unsafe");
    let finding = |line| Finding {
        weight: Weight::Fails,
        path: file.path.clone(),
        line,
        rule: "unsafe",
        message: format!(
            "`unsafe` outside the listed rooms, where nobody looks for it (rooms of this crate: {}): use a safe \
             interface of parts, or argue the room and add it to UNSAFE_ROOMS in xtask/src/tidy/rooms.rs",
            rooms_beside(&file.path, rooms)
        ),
    };
    uses.map(|ident| finding(ident.span().start().line)).collect()
}

/// The rooms of the crate to which the file at `path` belongs, each with its reason.
fn rooms_beside(path: &str, rooms: &[Room]) -> String {
    let crate_of = |path: &str| path.split('/').take(2).map(str::to_owned).collect::<Vec<_>>();
    let beside = rooms.iter().filter(|room| crate_of(room.path) == crate_of(path));
    let named: Vec<String> = beside.map(|room| format!("{}, since {}", room.path, room.why)).collect();
    if named.is_empty() { "none".to_owned() } else { named.join("; ") }
}

/// Fails on a crate without a room whose roots do not forbid `unsafe`.
pub fn check_roots(member: &Member, rooms: &[Room]) -> Vec<Finding> {
    let shipped = format!("{}src/", member.folder());
    if rooms.iter().any(|room| room.path.starts_with(&shipped)) {
        return Vec::new();
    }
    let roots = member.files.iter().filter(|file| member.roots.contains(&file.path));
    let finding = |file: &SourceFile| Finding {
        weight: Weight::Fails,
        path: file.path.clone(),
        line: 1,
        rule: "forbid",
        message: format!(
            "{} has no room for `unsafe`, but this root does not forbid it: add #![forbid(unsafe_code)] below the \
             crate's documentation",
            member.name
        ),
    };
    roots.filter(|file| !forbids_unsafe(file)).map(finding).collect()
}

fn forbids_unsafe(file: &SourceFile) -> bool {
    let words = identifiers(file.tokens.clone());
    words.windows(2).any(|pair| pair[0] == "forbid" && pair[1] == "unsafe_code")
}

/// Returns whether `path` is the room `pattern`: a file, a folder that ends in `/`, or a name with one `*`.
fn matches(pattern: &str, path: &str) -> bool {
    if pattern.ends_with('/') {
        return path.starts_with(pattern);
    }
    let Some((before, after)) = pattern.split_once('*') else { return path == pattern };
    let middle = path.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    middle.is_some_and(|middle| !middle.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::super::workspace::Manifest;
    use super::*;

    const ROOMS: &[Room] = &[
        Room { path: "crates/a/src/store*.rs", why: "test" },
        Room { path: "crates/a/src/index/", why: "test" },
        Room { path: "crates/a/src/gc.rs", why: "test" },
    ];

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile::new(path, text.to_owned(), false).expect("Rust")
    }

    fn member(name: &str, root: &str) -> Member {
        let path = format!("crates/{name}/src/lib.rs");
        Member {
            name: name.to_owned(),
            manifest: Manifest { path: format!("crates/{name}/Cargo.toml"), dependencies: Vec::new() },
            roots: vec![path.clone()],
            files: vec![file(&path, root)],
        }
    }

    #[test]
    fn a_room_may_be_unsafe() {
        for path in ["crates/a/src/store.rs", "crates/a/src/store_chain.rs", "crates/a/src/index/leaf.rs"] {
            assert_eq!(check_file(&file(path, "fn f() { unsafe { g() } }"), ROOMS), vec![]);
        }
    }

    #[test]
    fn elsewhere_each_use_fails_at_its_line() {
        let text = "// unsafe\nunsafe impl Send for T {}\nfn f() {\n m!(unsafe { \"unsafe\" })\n}\n";
        for path in ["crates/a/src/read.rs", "crates/a/src/store/deep.rs", "crates/b/src/gc.rs"] {
            let lines: Vec<usize> = check_file(&file(path, text), ROOMS).iter().map(|finding| finding.line).collect();
            assert_eq!(lines, [2, 4], "{path}");
        }
    }

    #[test]
    fn the_message_names_the_rooms_of_the_crate() {
        let message = |path| check_file(&file(path, "unsafe {}"), ROOMS)[0].message.clone();
        assert!(message("crates/a/src/read.rs").contains("crates/a/src/gc.rs, since test"));
        assert!(message("crates/b/src/read.rs").contains("(rooms of this crate: none)"));
    }

    #[test]
    fn the_lint_s_name_is_not_the_word() {
        assert_eq!(check_file(&file("crates/b/src/lib.rs", "#![forbid(unsafe_code)]"), ROOMS), vec![]);
    }

    #[test]
    fn a_crate_without_a_room_must_forbid() {
        assert_eq!(check_roots(&member("b", "pub mod x;"), ROOMS)[0].rule, "forbid");
        assert_eq!(check_roots(&member("b", "#![forbid(unsafe_code)]\npub mod x;"), ROOMS), vec![]);
        assert_eq!(check_roots(&member("b", "#![deny(unsafe_code)]"), ROOMS).len(), 1);
    }

    #[test]
    fn a_crate_with_a_room_cannot_forbid() {
        assert_eq!(check_roots(&member("a", "pub mod x;"), ROOMS), vec![]);
    }
}
