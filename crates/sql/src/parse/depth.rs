//! A bound on how deep a statement's syntax can become, before anything walks it recursively.
//!
//! The parser bounds nesting itself, but reads chains (`a + b + c`, `q UNION q UNION q`) in a loop, into a tree as deep as
//! the chain is long.

use crate::error::Result;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Links of one chain.
const CHAIN: usize = 2000;

/// The chains that are open at one level of parentheses.
#[derive(Clone, Copy, Default)]
struct Level {
    operators: usize,
    queries: usize,
}

/// # Errors
/// 54001 if a chain is longer than the code that walks trees is sure to bear.
pub fn check(tokens: &[TokenWithSpan]) -> Result<()> {
    let mut levels = vec![Level::default()];
    for token in tokens {
        let is_nested = levels.len() > 1;
        let Some(level) = levels.last_mut() else { return Ok(()) };
        match &token.token {
            Token::LParen | Token::LBracket => levels.push(Level::default()),
            Token::RParen | Token::RBracket if is_nested => {
                levels.pop();
                // `f(1)(2)` or `(a)::b` goes on with the chain that the parenthesis stands in.
                if let Some(level) = levels.last_mut() {
                    level.operators += 1;
                }
            }
            Token::Comma | Token::SemiColon => level.operators = 0,
            Token::Word(word) => match word.keyword {
                Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::JOIN => level.queries += 1,
                Keyword::SELECT | Keyword::FROM | Keyword::WHERE | Keyword::SET => level.operators = 0,
                Keyword::NoKeyword => {}
                _ => level.operators += 1,
            },
            Token::Whitespace(_) | Token::Number(..) | Token::SingleQuotedString(_) | Token::EOF => {}
            _ => level.operators += 1,
        }
        if levels.last().is_some_and(|level| level.operators > CHAIN || level.queries > CHAIN / 4) {
            return Err(super::too_deep());
        }
    }
    Ok(())
}
