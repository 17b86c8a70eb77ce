//! Lengths that make a reader scroll. Only warnings: nobody splits a function to please a counter.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::source::{SourceFile, is_word};
use super::{Finding, Weight};

/// Lines of a file, without its tests, above which `tidy` warns.
const MAX_FILE_LINES: usize = 700;

/// Lines of a function, signature included, above which `tidy` warns.
const MAX_FUNCTION_LINES: usize = 70;

/// Warns of a long file and of long functions.
pub fn check_file(file: &SourceFile) -> Vec<Finding> {
    let warning =
        |line, message| Finding { weight: Weight::Warns, path: file.path.clone(), line, rule: "size", message };
    let mut findings = Vec::new();
    let (all, of_tests) = file.lines();
    if all - of_tests > MAX_FILE_LINES {
        let message = format!(
            "{} lines without tests (much is {MAX_FILE_LINES}): is there a second noun in it that wants its own file?",
            all - of_tests
        );
        findings.push(warning(1, message));
    }
    for function in functions(file.tokens.clone()) {
        if function.lines > MAX_FUNCTION_LINES {
            let message = format!(
                "fn {} has {} lines (much is {MAX_FUNCTION_LINES}): keep the branches here and name the steps as \
                 small functions",
                function.name, function.lines
            );
            findings.push(warning(function.line, message));
        }
    }
    findings
}

struct Function {
    name: String,
    line: usize,
    lines: usize,
}

/// Every function with a body below `tokens`, nested ones included.
fn functions(tokens: TokenStream) -> Vec<Function> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            found.extend(functions(group.stream()));
        }
        if is_word(Some(token), "fn") {
            found.extend(function(&tokens[at..]));
        }
    }
    found
}

/// The function whose `fn` stands first, unless it is a type (`fn(u8)`) or has no body.
fn function(tokens: &[TokenTree]) -> Option<Function> {
    let [keyword, TokenTree::Ident(name), rest @ ..] = tokens else { return None };
    let end = rest.iter().find_map(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(Some(group.span_close().end().line)),
        TokenTree::Punct(punct) if punct.as_char() == ';' => Some(None),
        _ => None,
    })??;
    let line = keyword.span().start().line;
    Some(Function { name: name.to_string(), line, lines: end + 1 - line })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Vec<(usize, String)> {
        let file = SourceFile::new("crates/x/src/lib.rs", text.to_owned(), false).expect("Rust");
        let findings = check_file(&file);
        assert!(findings.iter().all(|finding| finding.weight == Weight::Warns));
        findings.into_iter().map(|finding| (finding.line, finding.message)).collect()
    }

    fn body(lines: usize) -> String {
        format!("fn long(a: fn(u8) -> [u8; 2])\n{{\n{}}}\n", "a();\n".repeat(lines - 3))
    }

    #[test]
    fn a_function_of_seventy_lines_passes_and_one_more_warns() {
        assert!(check(&format!("\n{}", body(70))).is_empty());
        let findings = check(&format!("impl X {{\n{}}}", body(71)));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].0, 2);
        assert!(findings[0].1.contains("fn long has 71 lines"));
    }

    #[test]
    fn a_method_without_a_body_has_no_length() {
        assert!(check(&format!("trait T {{ fn f(&self); {} }}", "const A: u8 = 1;\n".repeat(80))).is_empty());
    }

    #[test]
    fn tests_do_not_count_to_a_file_s_length() {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "const A: u8 = 1;\n".repeat(100));
        assert!(check(&format!("{}{tests}", "const A: u8 = 1;\n".repeat(700))).is_empty());
        assert_eq!(check(&format!("{}{tests}", "const A: u8 = 1;\n".repeat(701))).len(), 1);
    }
}
