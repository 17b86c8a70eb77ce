//! Paths as the code spells them.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::source::{is_punct, is_word};

/// A path, `use` groups written out.
pub struct NamedPath {
    /// Segments with `::` between them.
    pub text: String,
    /// Name behind `as`.
    pub alias: Option<String>,
    /// The path ends in `::*`, which is not in `text`.
    pub is_glob: bool,
    /// From 1.
    pub line: usize,
}

/// Returns every path below `tokens` that starts with one of these words.
pub fn paths_from(tokens: TokenStream, first: &[&str]) -> Vec<NamedPath> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(ident) if first.iter().any(|name| ident == name) => {
                at += walk_path(&tokens[at..], "", &mut found);
            }
            TokenTree::Group(group) => {
                found.extend(paths_from(group.stream(), first));
                at += 1;
            }
            _ => at += 1,
        }
    }
    found
}

/// Follows one path of a `use` tree or an expression from its first segment; returns how many tokens it took.
pub fn walk_path(tokens: &[TokenTree], prefix: &str, found: &mut Vec<NamedPath>) -> usize {
    let mut text = prefix.to_owned();
    let mut at = 0;
    let mut is_glob = false;
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
            Some(TokenTree::Group(group))
                if group.delimiter() == Delimiter::Brace && may_branch(at, prefix, tokens) =>
            {
                walk_group(group.stream(), &text, found);
                return at + 1;
            }
            Some(star) if is_punct(Some(star), '*') => {
                is_glob = true;
                break;
            }
            _ => break,
        }
        if !(is_punct(tokens.get(at), ':') && is_punct(tokens.get(at + 1), ':')) {
            break;
        }
        at += 2;
    }
    let line = tokens[0].span().start().line;
    found.push(NamedPath { text, alias: alias(&tokens[at..]), is_glob, line });
    at.max(1)
}

/// Returns whether the brace at `at` is a `use` group: one behind `::`.
fn may_branch(at: usize, prefix: &str, tokens: &[TokenTree]) -> bool {
    at > 0 && is_punct(tokens.get(at - 1), ':') || at == 0 && !prefix.is_empty()
}

fn alias(rest: &[TokenTree]) -> Option<String> {
    match rest {
        [keyword, TokenTree::Ident(name), ..] if is_word(Some(keyword), "as") => Some(name.to_string()),
        _ => None,
    }
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

    fn texts(code: &str) -> Vec<String> {
        let paths = paths_from(code.parse().expect("tokens"), &["crate", "super"]);
        let show = |path: &NamedPath| {
            let alias = path.alias.as_ref().map_or(String::new(), |alias| format!(" as {alias}"));
            format!("{}{}{alias}", path.text, if path.is_glob { "::*" } else { "" })
        };
        paths.iter().map(show).collect()
    }

    #[test]
    fn groups_are_written_out() {
        assert_eq!(
            texts("use crate::a::{self, b::{C, D as E}, f};"),
            ["crate::a", "crate::a::b::C", "crate::a::b::D as E", "crate::a::f"]
        );
        assert_eq!(
            texts("use super::super::a::*; use crate::{b::*, c};"),
            ["super::super::a::*", "crate::b::*", "crate::c"]
        );
    }

    #[test]
    fn expressions_and_macro_arguments_count_and_braces_behind_a_path_are_a_block() {
        assert_eq!(
            texts("fn f() { m!(crate::a::b(1)); if crate::X { g(super::Y { z }) } }"),
            ["crate::a::b", "crate::X", "super::Y"]
        );
    }
}
