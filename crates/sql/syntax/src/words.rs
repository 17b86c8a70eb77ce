//! A reader of the words of a command, one after another.

use super::unexpected_end;
use pgtypes::{Error, Result, state};
use sqlparser::keywords::{ALL_KEYWORDS, ALL_KEYWORDS_INDEX, RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_TABLE_ALIAS};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The tokens of a statement that are no space, and how far they have been read.
#[derive(Clone)]
pub struct Words<'a> {
    text: &'a str,
    tokens: Vec<&'a TokenWithSpan>,
    at: usize,
}

impl<'a> Words<'a> {
    pub fn new(text: &'a str, tokens: &'a [TokenWithSpan]) -> Words<'a> {
        let is_word = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_) | Token::EOF);
        Words { text, tokens: tokens.iter().filter(is_word).collect(), at: 0 }
    }

    /// The next token.
    pub fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at).map(|token| &token.token)
    }

    /// Takes the next token.
    pub fn next(&mut self) -> Option<&'a Token> {
        let token = self.peek();
        self.at += usize::from(token.is_some());
        token
    }

    /// Returns whether all words have been read.
    pub fn is_done(&self) -> bool {
        self.at >= self.tokens.len()
    }

    /// Takes these words if they come next, unquoted, whatever their case.
    pub fn take(&mut self, words: &str) -> bool {
        let mut at = self.at;
        for wanted in words.split(' ') {
            match self.tokens.get(at).map(|token| &token.token) {
                Some(Token::Word(word)) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted) => {
                    at += 1;
                }
                _ => return false,
            }
        }
        self.at = at;
        true
    }

    /// Takes this token if it comes next.
    pub fn take_token(&mut self, wanted: &Token) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    /// Takes a name: folded to lower case unless quoted.
    ///
    /// # Errors
    /// 42601
    pub fn name(&mut self) -> Result<String> {
        match self.peek() {
            Some(Token::Word(word)) => {
                self.at += 1;
                Ok(if word.quote_style.is_some() { word.value.clone() } else { word.value.to_ascii_lowercase() })
            }
            _ => Err(self.unexpected()),
        }
    }

    /// The statement must end here.
    ///
    /// # Errors
    /// 42601
    pub fn end(&self) -> Result<()> {
        if self.is_done() { Ok(()) } else { Err(self.unexpected()) }
    }

    /// 42601 about the next token.
    pub fn unexpected(&self) -> Error {
        match self.tokens.get(self.at) {
            None => unexpected_end(self.text, self.tokens.last().copied()),
            Some(token) => {
                let (from, to) =
                    (super::byte_of(self.text, token.span.start), super::byte_of(self.text, token.span.end));
                let message = format!("syntax error at or near \"{}\"", &self.text[from..to]);
                Error::new(state::SYNTAX_ERROR, message).at(super::position_of(self.text, token.span.start))
            }
        }
    }

    /// The rest of the tokens, to be parsed by somebody else.
    pub fn rest(&self) -> Vec<TokenWithSpan> {
        self.tokens[self.at..].iter().map(|token| (*token).clone()).collect()
    }
}

/// Returns whether a word must be quoted to be a name.
pub fn is_reserved(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let all = ALL_KEYWORDS;
    let Some(keyword) = all.binary_search(&upper.as_str()).ok().and_then(|at| ALL_KEYWORDS_INDEX.get(at)) else {
        return false;
    };
    RESERVED_FOR_COLUMN_ALIAS.contains(keyword) || RESERVED_FOR_TABLE_ALIAS.contains(keyword)
}
