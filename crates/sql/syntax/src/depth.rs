//! A bound on the depth of a statement's syntax, checked before any recursive walk.
//!
//! The parser bounds nesting itself, but reads chains (`a + b + c`, `q UNION q UNION q`) in a loop, into a tree as deep as
//! the chain is long.

use pgtypes::Result;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The depth of a tree that the code that walks it is sure to bear.
const DEPTH: usize = 3200;
/// A link of a chain of queries or joins is worth so many of operators: each is several nodes.
const QUERY: usize = 3;
/// Maximum weight of the queries and joins in parentheses that stand in each other: what reads and binds one takes much more
/// stack than an expression.
const NESTED_QUERIES: usize = 120;

/// Open constructs at one level of parentheses.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Links of the chain of operators since the last comma or clause.
    operators: usize,
    /// Links of the chain of queries and joins.
    queries: usize,
    /// The depth of the deepest parenthesis that stands in the chain of operators. The chain may stand upon it:
    /// `(1 + 1) + 1` is as deep as both together.
    inner: usize,
    /// The depth of the deepest part that has ended.
    ended: usize,
    /// Whether the next token stands in FROM.
    in_from: bool,
    /// The weight of the queries and joins around it.
    around: usize,
}

impl Level {
    /// A bound on the depth of all that was read at this level.
    fn depth(&self) -> usize {
        self.ended.max(self.operators + self.inner) + QUERY * self.queries
    }

    /// A comma or a new clause: what follows does not stand upon what came before.
    fn end_part(&mut self) {
        self.ended = self.ended.max(self.operators + self.inner);
        (self.operators, self.inner) = (0, 0);
    }

    /// The level of a parenthesis that opens here, with these tokens behind it.
    fn open(&self, rest: &[TokenWithSpan]) -> Level {
        let first = rest.iter().map(|token| &token.token).find(|token| !matches!(token, Token::Whitespace(_)));
        let begins_query = matches!(first, Some(Token::Word(word)) if matches!(
            word.keyword,
            Keyword::SELECT | Keyword::WITH | Keyword::VALUES | Keyword::TABLE
        ));
        let weight = if begins_query { 2 } else { usize::from(self.in_from) };
        Level { in_from: self.in_from && !begins_query, around: self.around + weight, ..Level::default() }
    }

    /// A parenthesis of this depth stands in the chain.
    fn take(&mut self, inner: usize) {
        self.operators += 1;
        self.inner = self.inner.max(inner);
    }
}

/// # Errors
/// 54001 if the statement's tree could be deeper than the code that walks it is sure to bear.
pub fn check(tokens: &[TokenWithSpan]) -> Result<()> {
    let mut levels = vec![Level::default()];
    for (at, token) in tokens.iter().enumerate() {
        let is_nested = levels.len() > 1;
        let Some(level) = levels.last_mut() else { return Ok(()) };
        match &token.token {
            Token::LParen | Token::LBracket => {
                let opened = level.open(&tokens[at + 1..]);
                if opened.around > NESTED_QUERIES {
                    return Err(super::too_deep());
                }
                levels.push(opened);
            }
            Token::RParen | Token::RBracket if is_nested => {
                let closed = level.depth();
                levels.pop();
                if let Some(level) = levels.last_mut() {
                    level.take(closed);
                }
            }
            Token::Comma | Token::SemiColon => level.end_part(),
            Token::Word(word) => match word.keyword {
                Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::JOIN => level.queries += 1,
                Keyword::SELECT | Keyword::FROM | Keyword::WHERE | Keyword::SET => {
                    level.end_part();
                    level.in_from = word.keyword == Keyword::FROM;
                }
                Keyword::NoKeyword => {}
                _ => level.operators += 1,
            },
            Token::Whitespace(_) | Token::Number(..) | Token::SingleQuotedString(_) | Token::EOF => {}
            // Leaves, and the parts of one.
            Token::Period | Token::Placeholder(_) => {}
            _ => level.operators += 1,
        }
        if levels.last().is_some_and(|level| level.depth() > DEPTH) {
            return Err(super::too_deep());
        }
    }
    Ok(())
}
