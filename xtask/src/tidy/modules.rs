//! Modules of one crate, and the references between them, read from the tokens, without a compiler.
//!
//! A reference counts for the module in which the named item is declared: `pub use` and `use` of a parent are followed. What
//! only tests compile does not count. Methods are not seen; the types that they belong to are.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenTree};

use super::named::{NamedPath, walk_path};
use super::source::{SourceFile, identifiers, is_punct, is_word};
use super::workspace::Member;

/// Path of a module from the crate's root on: `["exec", "join"]`.
pub type Module = Vec<String>;

/// One reference from a module to another.
pub struct Reference {
    pub from: Module,
    pub to: Module,
    /// File that names it, and where.
    pub path: String,
    pub line: usize,
}

/// The modules of a crate.
#[derive(Default)]
pub struct Modules {
    all: BTreeSet<Module>,
    /// Items that a module declares itself.
    items: BTreeSet<(Module, String)>,
    /// Names that a module takes over from elsewhere by `use`.
    taken_over: BTreeMap<(Module, String), Vec<String>>,
    /// Modules all of whose names a module takes over.
    globs: BTreeMap<Module, Vec<Vec<String>>>,
}

/// A path in the code of a module.
struct Spelled {
    module: Module,
    path: NamedPath,
    is_use: bool,
    file: String,
}

/// `use` chains longer than this end: they would be a circle.
const MAX_STEPS: usize = 16;

/// Returns the references between the modules of a crate.
pub fn references(member: &Member) -> Vec<Reference> {
    let mut modules = Modules::default();
    let mut spelled = Vec::new();
    for file in &member.files {
        let Some(module) = module_of(file, &member.roots) else { continue };
        modules.scan(file.shipped().into_iter().collect(), &module, file, &mut spelled);
    }
    for one in spelled.iter().filter(|one| one.is_use) {
        modules.take_over(one);
    }
    spelled.iter().filter_map(|one| modules.reference(one)).collect()
}

/// Returns the module that a file is; `None` for tests and for files outside of the crate's shipped code.
pub fn module_of(file: &SourceFile, roots: &[String]) -> Option<Module> {
    let folders = roots.iter().filter_map(|root| Some(root.rsplit_once('/')?.0));
    let inside = folders.filter_map(|folder| file.path.strip_prefix(folder)?.strip_prefix('/'));
    // A binary of several files stands in a folder of the library's.
    let rest = inside.min_by_key(|rest| rest.len())?;
    let mut module: Module = rest.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    let is_of_folder = module.last().is_some_and(|last| last == "mod")
        || module.len() == 1 && ["lib", "main"].contains(&module[0].as_str());
    if is_of_folder {
        module.pop();
    }
    (!file.is_test).then_some(module)
}

impl Modules {
    /// Notes what the tokens of a module declare and name, modules inside of it included.
    fn scan(&mut self, tokens: Vec<TokenTree>, module: &Module, file: &SourceFile, spelled: &mut Vec<Spelled>) {
        self.all.insert(module.clone());
        let mut at = 0;
        while at < tokens.len() {
            if let Some((name, body)) = inline_module(&tokens[at..]) {
                let inner = [module.as_slice(), &[name]].concat();
                self.scan(body, &inner, file, spelled);
                at += 3;
                continue;
            }
            let (is_use, length) = (is_word(tokens.get(at), "use"), visibility_length(&tokens[at..]));
            if length > 0 {
                at += length;
            } else if is_use || is_start(&tokens, at) {
                let begin = if is_use { at + 1 + leading_colons(&tokens[at + 1..]) } else { at };
                let mut paths = Vec::new();
                at = begin + if begin < tokens.len() { walk_path(&tokens[begin..], "", &mut paths) } else { 0 };
                let note = |path| Spelled { module: module.clone(), path, is_use, file: file.path.clone() };
                spelled.extend(paths.into_iter().map(note));
            } else {
                self.items.extend(declared(&tokens[at..]).map(|name| (module.clone(), name)));
                if let TokenTree::Group(group) = &tokens[at] {
                    self.scan(group.stream().into_iter().collect(), module, file, spelled);
                }
                at += 1;
            }
        }
    }

    /// Notes which name a `use` brings into its module.
    fn take_over(&mut self, one: &Spelled) {
        let Some(target) = self.absolute(&one.module, &one.path.text) else { return };
        if one.path.is_glob {
            self.globs.entry(one.module.clone()).or_default().push(target);
        } else if let Some(name) = one.path.alias.clone().or_else(|| target.last().cloned()) {
            self.taken_over.insert((one.module.clone(), name), target);
        }
    }

    /// Returns the path from the crate's root on; `None` if it leads out of the crate.
    fn absolute(&self, module: &Module, text: &str) -> Option<Vec<String>> {
        let mut segments = text.split("::").map(str::to_owned).peekable();
        let mut base = match segments.peek()?.as_str() {
            "crate" => Vec::new(),
            "self" | "super" => module.clone(),
            first => {
                let child = [module.as_slice(), &[first.to_owned()]].concat();
                return self.all.contains(&child).then(|| [module.as_slice(), &segments.collect::<Vec<_>>()].concat());
            }
        };
        while let Some(first) = segments.next_if(|segment| ["crate", "self", "super"].contains(&segment.as_str())) {
            if first == "super" {
                base.pop()?;
            }
        }
        base.extend(segments);
        Some(base)
    }

    /// Returns the module that declares what a path from the crate's root names.
    fn declaring(&self, path: &[String], steps: usize) -> Module {
        let mut module = Module::new();
        for (at, name) in path.iter().enumerate() {
            let child = [module.as_slice(), std::slice::from_ref(name)].concat();
            if self.all.contains(&child) {
                module = child;
                continue;
            }
            let elsewhere = self.elsewhere(&module, name, steps);
            return match elsewhere {
                Some(target) if steps < MAX_STEPS => {
                    self.declaring(&[target.as_slice(), &path[at + 1..]].concat(), steps + 1)
                }
                _ => module,
            };
        }
        module
    }

    /// Returns what a name of the module stands for, if the module does not declare it itself.
    fn elsewhere(&self, module: &Module, name: &str, steps: usize) -> Option<Vec<String>> {
        let key = (module.clone(), name.to_owned());
        if self.items.contains(&key) || steps >= MAX_STEPS {
            return None;
        }
        if let Some(target) = self.taken_over.get(&key) {
            return Some(target.clone());
        }
        let globs = self.globs.get(module).into_iter().flatten();
        let mut targets = globs.map(|glob| [glob.as_slice(), &[name.to_owned()]].concat());
        targets.find(|target| {
            let declaring = self.declaring(target, steps + 1);
            self.items.contains(&(declaring, name.to_owned()))
        })
    }

    fn reference(&self, one: &Spelled) -> Option<Reference> {
        let path = self.absolute(&one.module, &one.path.text)?;
        let to = self.declaring(&path, 0);
        let from = one.module.clone();
        (from != to).then(|| Reference { from, to, path: one.file.clone(), line: one.path.line })
    }
}

/// Returns name and body of `mod name { ... }`.
fn inline_module(tokens: &[TokenTree]) -> Option<(String, Vec<TokenTree>)> {
    let [keyword, TokenTree::Ident(name), TokenTree::Group(body), ..] = tokens else { return None };
    let is_module = is_word(Some(keyword), "mod") && body.delimiter() == Delimiter::Brace;
    is_module.then(|| (name.to_string(), body.stream().into_iter().collect()))
}

/// Returns how many tokens `pub(...)` takes: it names a module and needs none.
fn visibility_length(tokens: &[TokenTree]) -> usize {
    match tokens {
        [keyword, TokenTree::Group(group), ..]
            if is_word(Some(keyword), "pub")
                && group.delimiter() == Delimiter::Parenthesis
                && identifiers(group.stream()).first().is_some_and(is_visibility) =>
        {
            2
        }
        _ => 0,
    }
}

fn is_visibility(word: &proc_macro2::Ident) -> bool {
    ["crate", "super", "self", "in"].iter().any(|name| word == name)
}

fn leading_colons(tokens: &[TokenTree]) -> usize {
    tokens.iter().take(2).take_while(|token| is_punct(Some(token), ':')).count()
}

/// Returns whether a path of this crate starts at `at`: `crate::`, `self::` or `super::`.
fn is_start(tokens: &[TokenTree], at: usize) -> bool {
    let is_root = ["crate", "self", "super"].iter().any(|word| is_word(tokens.get(at), word));
    is_root && is_punct(tokens.get(at + 1), ':') && is_punct(tokens.get(at + 2), ':')
}

/// Returns the name of the item that starts here.
fn declared(tokens: &[TokenTree]) -> Option<String> {
    const DECLARES: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "const", "static", "union"];
    match tokens {
        [keyword, TokenTree::Ident(name), ..] if DECLARES.iter().any(|word| is_word(Some(keyword), word)) => {
            Some(name.to_string())
        }
        [keyword, bang, TokenTree::Ident(name), ..]
            if is_word(Some(keyword), "macro_rules") && is_punct(Some(bang), '!') =>
        {
            Some(name.to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::workspace::Manifest;
    use super::*;

    /// A crate `x` on the base floor, with these files in `src/`.
    pub fn member(files: &[(&str, &str)]) -> Member {
        let file = |(path, text): &(&str, &str)| {
            SourceFile::new(&format!("crates/base/x/src/{path}"), (*text).to_owned(), false).expect("Rust")
        };
        Member {
            name: "x".to_owned(),
            manifest: Manifest { path: "crates/base/x/Cargo.toml".to_owned(), dependencies: Vec::new() },
            roots: vec!["crates/base/x/src/lib.rs".to_owned()],
            files: files.iter().map(file).collect(),
        }
    }

    fn arrows(files: &[(&str, &str)]) -> Vec<String> {
        let show = |reference: &Reference| {
            format!("{} -> {}:{}", reference.from.join("::"), reference.to.join("::"), reference.line)
        };
        references(&member(files)).iter().map(show).collect()
    }

    #[test]
    fn imports_and_paths_in_code_count_for_the_module_that_declares() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", "mod deep;\npub fn f() { crate::b::g(super::b::H) }"),
            ("a/deep.rs", "use super::f;\nuse super::super::b::{self, g};"),
            ("b.rs", "pub fn g() {} pub struct H;"),
        ];
        assert_eq!(arrows(&files), ["a -> b:2", "a -> b:2", "a::deep -> a:1", "a::deep -> b:2", "a::deep -> b:2"]);
    }

    #[test]
    fn names_taken_over_are_followed_to_their_module() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; pub use b::G as H; use c::*;"),
            ("a.rs", "use crate::H;\nuse crate::K;\nuse crate::own;"),
            ("b.rs", "pub struct G;"),
            ("c.rs", "pub use self::d::K; mod d { pub struct K; }"),
        ];
        let found = arrows(&files);
        assert!(found.contains(&"a -> b:1".to_owned()), "{found:?}");
        assert!(found.contains(&"a -> c::d:2".to_owned()), "{found:?}");
        assert!(found.contains(&"a -> :3".to_owned()), "what is nowhere else is the root's own: {found:?}");
    }

    #[test]
    fn tests_visibilities_and_foreign_paths_do_not_count() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub(in crate::b) fn f() { self.g(); std::b::g() }\n#[cfg(test)] mod tests { use crate::b; }"),
            ("b.rs", ""),
        ];
        assert_eq!(arrows(&files), Vec::<String>::new());
    }

    #[test]
    fn a_circle_of_uses_ends() {
        let files = [("lib.rs", "mod a; mod b;"), ("a.rs", "pub use crate::b::X;"), ("b.rs", "pub use crate::a::X;")];
        assert_eq!(arrows(&files).len(), 2);
    }
}
