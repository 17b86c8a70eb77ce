//! A source file as tokens, with the parts that only tests compile left out on request.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

/// One Rust file of the repository.
pub struct SourceFile {
    /// Relative to the repository's root, with `/`.
    pub path: String,
    pub text: String,
    pub tokens: TokenStream,
    /// Compiled for tests only: under `tests/` or `benches/`, or the file of a `#[cfg(test)] mod`.
    pub is_test: bool,
}

impl SourceFile {
    /// Reads `text` as the file at `path`.
    ///
    /// # Errors
    /// The place at which the text is no Rust tokens.
    pub fn new(path: &str, text: String, is_test: bool) -> Result<SourceFile, String> {
        let tokens = text.parse().map_err(|error: proc_macro2::LexError| {
            format!("{path}:{}: not readable as Rust: {error}", error.span().start().line)
        })?;
        Ok(SourceFile { path: path.to_owned(), text, tokens, is_test })
    }

    /// The file's tokens without the items under `#[cfg(test)]`; nothing of a file for tests.
    pub fn shipped(&self) -> TokenStream {
        if self.is_test { TokenStream::new() } else { split_tests(self.tokens.clone()).shipped }
    }

    /// Names of the modules that stand as `#[cfg(test)] mod name;`.
    pub fn test_modules(&self) -> Vec<String> {
        split_tests(self.tokens.clone()).modules
    }
}

/// Every identifier below `tokens`, groups included, in order.
pub fn identifiers(tokens: TokenStream) -> Vec<Ident> {
    let mut found = Vec::new();
    let mut open = vec![tokens.into_iter()];
    while let Some(mut level) = open.pop() {
        let Some(token) = level.next() else { continue };
        open.push(level);
        match token {
            TokenTree::Ident(ident) => found.push(ident),
            TokenTree::Group(group) => open.push(group.stream().into_iter()),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    found
}

/// Returns whether `token` is the punctuation `character`.
pub fn is_punct(token: Option<&TokenTree>, character: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == character)
}

/// Returns whether `token` is the word `word`.
pub fn is_word(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == word)
}

#[derive(Default)]
struct Split {
    shipped: TokenStream,
    modules: Vec<String>,
}

/// Separates the items under `#[cfg(test)]`, at any depth, from the rest.
fn split_tests(tokens: TokenStream) -> Split {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut split = Split::default();
    let mut at = 0;
    while at < tokens.len() {
        if is_test_attribute(&tokens[at..]) {
            let end = at + item_length(&tokens[at..]);
            split.modules.extend(outlined_module(&tokens[at..end]));
            at = end;
            continue;
        }
        let token = match &tokens[at] {
            TokenTree::Group(group) => {
                let inner = split_tests(group.stream());
                split.modules.extend(inner.modules);
                let mut kept = proc_macro2::Group::new(group.delimiter(), inner.shipped);
                kept.set_span(group.span());
                TokenTree::Group(kept)
            }
            other => other.clone(),
        };
        split.shipped.extend([token]);
        at += 1;
    }
    split
}

/// Returns whether a test-only `#[cfg(...)]`, or `#[test]`, begins here.
fn is_test_attribute(tokens: &[TokenTree]) -> bool {
    let Some(TokenTree::Group(group)) = tokens.get(1) else { return false };
    if !is_punct(tokens.first(), '#') || group.delimiter() != Delimiter::Bracket {
        return false;
    }
    let words: Vec<String> = identifiers(group.stream()).iter().map(Ident::to_string).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.split_first() {
        Some((&"test", [])) => true,
        // `any` holds elsewhere too, and `not` holds exactly elsewhere.
        Some((&"cfg", rest)) => rest.contains(&"test") && !rest.contains(&"not") && !rest.contains(&"any"),
        _ => false,
    }
}

/// Returns the number of tokens of the item that begins here with its attributes: up to its `;` or its braces.
fn item_length(tokens: &[TokenTree]) -> usize {
    let end = tokens.iter().position(|token| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        other => is_punct(Some(other), ';'),
    });
    end.map_or(tokens.len(), |end| end + 1)
}

fn outlined_module(item: &[TokenTree]) -> Option<String> {
    let [.., TokenTree::Ident(keyword), TokenTree::Ident(name), end] = item else { return None };
    (keyword == "mod" && is_punct(Some(end), ';')).then(|| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> SourceFile {
        SourceFile::new("crates/x/src/lib.rs", text.to_owned(), false).expect("Rust")
    }

    fn words(tokens: TokenStream) -> Vec<String> {
        identifiers(tokens).iter().map(Ident::to_string).collect()
    }

    #[test]
    fn comments_and_strings_are_no_words_and_macro_arguments_are() {
        let tokens = "// unsafe\n/* unsafe /* unsafe */ */ f!(a, [b]) \"unsafe\" r#\"unsafe\"# '\\'' 'c'".parse();
        assert_eq!(words(tokens.expect("tokens")), ["f", "a", "b"]);
    }

    #[test]
    fn items_for_tests_are_left_out() {
        let file = file("use a;\n#[cfg(test)]\nmod tests {\n use b;\n}\n#[cfg(all(test, loom))] use c;\nuse d;\n");
        assert_eq!(words(file.shipped()), ["use", "a", "use", "d"]);
    }

    #[test]
    fn items_that_also_ship_are_kept() {
        let file = file("#[cfg(not(test))] use a;\n#[cfg(any(test, feature = \"x\"))] use b;\n#[cfg(unix)] use c;\n");
        let words = words(file.shipped());
        assert!(["a", "b", "c"].iter().all(|name| words.contains(&(*name).to_owned())), "{words:?}");
    }

    #[test]
    fn a_test_inside_a_module_is_left_out() {
        let file = file("mod m {\n fn a() {}\n #[test]\n fn b() {}\n}\n");
        assert_eq!(words(file.shipped()), ["mod", "m", "fn", "a"]);
    }

    #[test]
    fn modules_for_tests_in_files_of_their_own_are_named() {
        assert_eq!(file("#[cfg(test)]\npub(crate) mod twin;\nmod shipped;\n").test_modules(), ["twin"]);
    }
}
