//! Words that say nothing, as part of a name.

use super::source::{SourceFile, identifiers};
use super::{Finding, Weight};

/// The words, and what to ask instead.
pub const BANNED: &[(&str, &str)] = &[
    ("manager", "say what it does to what it holds"),
    ("helper", "say what it does"),
    ("helpers", "say what they do"),
    ("util", "put each function beside the noun that it serves"),
    ("utils", "put each function beside the noun that it serves"),
];

/// Warns of a banned word in the file's name or in a name that the file declares.
pub fn check_file(file: &SourceFile) -> Vec<Finding> {
    let warning = |line, name: &str, word: &str, advice: &str| Finding {
        weight: Weight::Warns,
        path: file.path.clone(),
        line,
        rule: "name",
        message: format!("`{word}` in `{name}` tells the reader nothing: {advice}"),
    };
    let mut findings = Vec::new();
    let file_name = file.path.rsplit('/').next().unwrap_or(&file.path).trim_end_matches(".rs");
    if let Some((word, advice)) = banned_word(file_name) {
        findings.push(warning(1, file_name, word, advice));
    }
    for pair in identifiers(file.tokens.clone()).windows(2) {
        let name = pair[1].to_string();
        let Some((word, advice)) = banned_word(&name) else { continue };
        if DECLARES.iter().any(|keyword| pair[0] == keyword) {
            findings.push(warning(pair[1].span().start().line, &name, word, advice));
        }
    }
    findings
}

/// Keywords after which a name is declared. Uses of other crates' names are no fault of ours.
const DECLARES: &[&str] = &["fn", "struct", "enum", "trait", "type", "mod", "const", "static", "let", "mut", "union"];

/// The first banned word among the parts of `name`, split at `_` and at capitals.
fn banned_word(name: &str) -> Option<(&'static str, &'static str)> {
    let mut parts = vec![String::new()];
    for character in name.chars() {
        if character == '_' || character.is_uppercase() {
            parts.push(String::new());
        }
        if let (Some(part), true) = (parts.last_mut(), character != '_') {
            part.extend(character.to_lowercase());
        }
    }
    BANNED.iter().find(|(word, _)| parts.iter().any(|part| part == word) || name.eq_ignore_ascii_case(word)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let file = SourceFile::new(path, text.to_owned(), false).expect("Rust");
        check_file(&file).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_banned_word_warns_where_the_name_is_declared() {
        let text = "struct LockManager;\nfn test_helper() { let util = 1; f(util); }\nmod utils;\n";
        assert_eq!(lines("crates/x/src/a.rs", text), [1, 2, 2, 3]);
        assert_eq!(lines("crates/x/src/utils.rs", ""), [1]);
    }

    #[test]
    fn other_words_and_foreign_names_pass() {
        let text = "// a helper\nstruct Managerial; fn utility() { crossbeam_utils::f(); }\nuse crossbeam_utils::X;\n";
        assert!(lines("crates/x/src/lib.rs", text).is_empty());
    }
}
