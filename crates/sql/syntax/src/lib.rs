//! From text to syntax: `sqlparser`'s PostgreSQL dialect for expressions and queries, and readers of our own for definitions
//! and the statements of sessions (transactions, settings, prepared statements, cursors).
//!
//! The one crate that names the parser.
//! - `reader.rs` reads a statement word by word. With it `session.rs` reads statements of sessions, and `definition` those that
//!   define objects; expressions, types and queries in them go to the parser.
//! - `merge.rs` reads MERGE, of which the parser knows another form.
//! - `lower` turns the parser's tree into `ast`, our own. `carried.rs` handles the clauses that the parser's tree has no node for.
//! - `dialect.rs`, `translate.rs` and `rewrite.rs` rewrite text that the parser does not read.
//! - `measure.rs` tells how much memory parsing takes.
//! - `missing.rs` names what PostgreSQL has and this server lacks.

#![forbid(unsafe_code)]

pub mod ast;
mod carried;
mod command;
mod definition;
mod depth;
mod dialect;
mod keywords;
mod lower;
mod measure;
mod merge;
mod missing;
mod reader;
mod rewrite;
mod session;
mod translate;

pub use command::{Command, Declare, Discard, ExplainFormat, ExplainOptions, Fetch, Modes, Rows};
pub use keywords::is_reserved;
pub use measure::parsing_bytes;

use pgtypes::{Error, Result, state};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, TokenizerError};
use std::ops::Range;
use std::sync::Arc;

/// A statement.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The parsed command.
    pub command: Command,
    /// The whole text that the positions in it count in.
    pub text: Arc<str>,
    /// Byte range of the statement in the text.
    pub place: Range<usize>,
}

impl Parsed {
    /// The statement's own text.
    pub fn source(&self) -> &str {
        &self.text[self.place.clone()]
    }

    /// The statement over rows in EXPLAIN or DECLARE. Its parameters are those of the whole.
    pub fn inner_rows(&self) -> Option<Parsed> {
        match &self.command {
            Command::Explain { statement, .. } if matches!(statement.command, Command::Rows(_)) => {
                Some((**statement).clone())
            }
            Command::Declare(declared) => {
                Some(Parsed { command: Command::Rows(declared.query.clone()), ..self.clone() })
            }
            _ => None,
        }
    }
}

/// Maximum nesting of parentheses and the like. Of queries `depth` bears less.
const NESTING: usize = 1100;

/// The statements of a text.
///
/// # Errors
/// 42601 with the position, 0A000 for what PostgreSQL has and this has not, 54001 for what nests too deep.
pub fn statements(sql: &str) -> Result<Vec<Parsed>> {
    let text: Arc<str> = sql.into();
    let mut walk = Walk::new(sql);
    tokens_of(sql)?
        .split(|token| token.token == Token::SemiColon)
        .filter(|tokens| tokens.iter().any(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF)))
        .map(|tokens| one(&text, tokens, &mut walk))
        .collect()
}

fn tokens_of(text: &str) -> Result<Vec<TokenWithSpan>> {
    let dialect = PostgreSqlDialect {};
    let mut tokens = Vec::with_capacity(measure::tokens_at_most(text));
    let read = Tokenizer::new(&dialect, text).tokenize_with_location_into_buf(&mut tokens);
    read.map(|()| tokens).map_err(|error| broken_token(text, &error))
}

/// Parses the one statement of a text; `None` if it is empty.
///
/// # Errors
/// Errors of [`statements`]; 42601 for more than one statement.
pub fn statement(sql: &str) -> Result<Option<Parsed>> {
    let mut all = statements(sql)?;
    if all.len() > 1 {
        let message = "cannot insert multiple commands into a prepared statement";
        return Err(Error::new(state::SYNTAX_ERROR, message));
    }
    Ok(all.pop())
}

fn one(text: &Arc<str>, tokens: &[TokenWithSpan], walk: &mut Walk<'_>) -> Result<Parsed> {
    depth::check(tokens)?;
    let place = place_of(walk, tokens);
    let command = command::parse(text, tokens).map_err(|error| missing::by_name(text, tokens, error))?;
    Ok(Parsed { command, text: text.clone(), place })
}

/// Parses by `sqlparser`; everything must belong to the statement.
pub(crate) fn syntax(text: &str, tokens: &[TokenWithSpan]) -> Result<sqlparser::ast::Statement> {
    let dialect = dialect::Dialect::new(tokens);
    let translated = translate::translate(tokens);
    let mut parser =
        Parser::new(&dialect).with_recursion_limit(NESTING).with_tokens_with_locations(rewrite::rewrite(translated));
    let statement = parser.parse_statement().map_err(|error| broken_syntax(text, tokens, &error))?;
    match &parser.peek_token_ref().token {
        Token::EOF => Ok(statement),
        _ => Err(unexpected(text, tokens, parser.peek_token_ref().span.start)),
    }
}

/// Parses an expression (a DEFAULT, a CHECK) that was printed before.
///
/// # Errors
/// 42601.
pub fn expression(text: &str) -> Result<ast::Expr> {
    let tokens = tokens_of(text)?;
    depth::check(&tokens)?;
    let dialect = dialect::Dialect::new(&tokens);
    let mut parser = Parser::new(&dialect)
        .with_recursion_limit(NESTING)
        .with_tokens_with_locations(rewrite::rewrite(tokens.clone()));
    let parsed = parser.parse_expr().map_err(|error| broken_syntax(text, &tokens, &error))?;
    lower::expr(parsed).map_err(|refusal| refusal.in_text(text))
}

/// Parses the target of ON CONFLICT from where it was carried.
fn conflict_target(text: &str) -> Result<(Vec<ast::IndexColumn>, Option<ast::Expr>)> {
    reader::whole(text, &tokens_of(text)?, definition::conflict_target)
}

/// Parses the name of a type, with its modifier and brackets.
///
/// # Errors
/// 42601.
pub fn data_type(text: &str) -> Result<ast::DataType> {
    let tokens = tokens_of(text)?;
    depth::check(&tokens)?;
    let dialect = dialect::Dialect::new(&tokens);
    let mut parser = Parser::new(&dialect)
        .with_recursion_limit(NESTING)
        .with_tokens_with_locations(rewrite::rewrite(tokens.clone()));
    let parsed = parser.parse_data_type().map_err(|error| broken_syntax(text, &tokens, &error))?;
    match &parser.peek_token_ref().token {
        Token::EOF => Ok(lower::data_type(parsed)),
        _ => Err(unexpected(text, &tokens, parser.peek_token_ref().span.start)),
    }
}

/// The byte of a location in the text.
pub fn byte_of(text: &str, location: impl Into<ast::Location>) -> usize {
    Walk::new(text).byte_of(location)
}

/// Finds the bytes of locations in a text, each from the one before, so that finding all of them reads the text once.
struct Walk<'a> {
    text: &'a str,
    byte: usize,
    at: ast::Location,
}

impl<'a> Walk<'a> {
    fn new(text: &'a str) -> Walk<'a> {
        Walk { text, byte: 0, at: ast::Location { line: 1, column: 1 } }
    }

    fn byte_of(&mut self, location: impl Into<ast::Location>) -> usize {
        let wanted = location.into();
        if wanted < self.at {
            *self = Walk::new(self.text);
        }
        for c in self.text[self.byte..].chars() {
            if self.at >= wanted {
                break;
            }
            self.byte += c.len_utf8();
            self.at = match c {
                '\n' => ast::Location { line: self.at.line + 1, column: 1 },
                _ => ast::Location { line: self.at.line, column: self.at.column + 1 },
            };
        }
        self.byte
    }
}

/// The character, from 1, of a location in the text: what ErrorResponse's position counts.
pub fn position_of(text: &str, location: impl Into<ast::Location>) -> u32 {
    let byte = byte_of(text, location);
    u32::try_from(text[..byte].chars().count()).unwrap_or(u32::MAX - 1) + 1
}

fn place_of(walk: &mut Walk<'_>, tokens: &[TokenWithSpan]) -> Range<usize> {
    let is_word = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_) | Token::EOF);
    let (first, last) = (tokens.iter().find(is_word), tokens.iter().rfind(is_word));
    match (first, last) {
        (Some(first), Some(last)) => walk.byte_of(first.span.start)..walk.byte_of(last.span.end),
        _ => 0..0,
    }
}

fn broken_token(text: &str, error: &TokenizerError) -> Error {
    let message = match error.message.as_str() {
        message if message.starts_with("Unterminated string") => "unterminated quoted string".into(),
        message if message.contains("multi-line comment") => "unterminated /* comment".into(),
        message if message.starts_with("Expected close delimiter") => "unterminated quoted identifier".into(),
        message => format!("syntax error: {message}"),
    };
    Error::new(state::SYNTAX_ERROR, message).at(position_of(text, error.location))
}

fn broken_syntax(text: &str, tokens: &[TokenWithSpan], error: &ParserError) -> Error {
    match error {
        ParserError::RecursionLimitExceeded => too_deep(),
        ParserError::TokenizerError(message) => Error::new(state::SYNTAX_ERROR, message.clone()),
        ParserError::ParserError(message) => match location_in(message) {
            Some(location) => unexpected(text, tokens, location),
            None if message.contains("found: EOF") => unexpected_end(text, tokens.last()),
            None => Error::new(state::SYNTAX_ERROR, format!("syntax error: {message}")),
        },
    }
}

/// `sqlparser` ends its messages with ` at Line: 1, Column: 8`.
fn location_in(message: &str) -> Option<Location> {
    let (_, place) = message.rsplit_once(" at Line: ")?;
    let (line, column) = place.split_once(", Column: ")?;
    let location = Location { line: line.trim().parse().ok()?, column: column.trim().parse().ok()? };
    (location.line > 0).then_some(location)
}

fn unexpected(text: &str, tokens: &[TokenWithSpan], location: Location) -> Error {
    let found = tokens.iter().find(|token| token.span.start == location && token.token != Token::EOF);
    let Some(found) = found else { return unexpected_end(text, tokens.last()) };
    let word = &text[byte_of(text, found.span.start)..byte_of(text, found.span.end)];
    Error::new(state::SYNTAX_ERROR, format!("syntax error at or near \"{word}\"")).at(position_of(text, location))
}

/// 42601 where a statement ends too early: at the semicolon that follows its last token, or at the text's end.
pub(crate) fn unexpected_end(text: &str, last: Option<&TokenWithSpan>) -> Error {
    let end = last.filter(|token| token.token != Token::EOF).map_or(text.len(), |token| byte_of(text, token.span.end));
    let rest = text[end..].trim_start();
    let (at, message) = match rest.starts_with(';') {
        true => (text.len() - rest.len(), "syntax error at or near \";\""),
        false => (text.len(), "syntax error at end of input"),
    };
    let position = u32::try_from(text[..at].chars().count()).unwrap_or(u32::MAX - 1) + 1;
    Error::new(state::SYNTAX_ERROR, message).at(position)
}

/// 54001
pub fn too_deep() -> Error {
    Error::new(state::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
        .hint("Nest the statement less deep, or split it.")
}

#[cfg(test)]
mod tests;
