//! PostgreSQL's words that `sqlparser` does not read, replaced by words that it does; [`super::rewrite`] replaces whole clauses
//! of that kind. Tokens keep their positions, so that errors point into the original text.

use crate::carried::{OVERRIDING, Overriding};
use sqlparser::ast::{self, Ident, Setting};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Returns the tokens of a statement without spaces, translated, and its OVERRIDING clause.
pub fn translate(tokens: &[TokenWithSpan]) -> (Vec<TokenWithSpan>, Option<Overriding>) {
    let is_word = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
    let mut tokens: Vec<TokenWithSpan> = tokens.iter().filter(is_word).cloned().collect();
    let mut overriding = None;
    let mut at = 0;
    while at < tokens.len() {
        if says(&tokens, at, "OVERRIDING SYSTEM VALUE") {
            tokens.drain(at..at + 3);
            overriding = Some(Overriding::System);
        } else if says(&tokens, at, "OVERRIDING USER VALUE") {
            tokens.drain(at..at + 3);
            overriding = Some(Overriding::User);
        } else if says(&tokens, at, "LEADING FROM")
            || says(&tokens, at, "TRAILING FROM")
            || says(&tokens, at, "BOTH FROM")
        {
            tokens.remove(at + 1);
        } else if ["FROM ONLY", "JOIN ONLY", "UPDATE ONLY"].iter().any(|words| says(&tokens, at, words)) {
            // There is no inheritance, and so no more than the table itself.
            tokens.remove(at + 1);
        } else if at > 0 && (says(&tokens, at, "ISNULL") || says(&tokens, at, "NOTNULL")) {
            null_test(&mut tokens, at);
        } else if tokens[at].token == Token::Assignment {
            // The older way to name an argument.
            tokens[at].token = Token::RArrow;
        } else {
            join_strings(&mut tokens, at);
        }
        at += 1;
    }
    (tokens, overriding)
}

/// Returns whether these words stand at this token, unquoted.
fn says(tokens: &[TokenWithSpan], at: usize, words: &str) -> bool {
    words.split(' ').enumerate().all(|(next, wanted)| {
        matches!(tokens.get(at + next).map(|token| &token.token), Some(Token::Word(word))
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
    })
}

fn keyword(word: &str, place: &TokenWithSpan) -> TokenWithSpan {
    TokenWithSpan { token: Token::make_keyword(word), span: place.span }
}

/// Strings on lines that follow each other are one.
fn join_strings(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    while let [first, second, ..] = &tokens[at..]
        && second.span.start.line > first.span.end.line
        && let Token::SingleQuotedString(rest) = &second.token
    {
        let joined = match &first.token {
            Token::SingleQuotedString(text) => Token::SingleQuotedString(format!("{text}{rest}")),
            Token::EscapedStringLiteral(text) => Token::EscapedStringLiteral(format!("{text}{rest}")),
            _ => return,
        };
        let span = first.span.union(&second.span);
        tokens[at] = TokenWithSpan { token: joined, span };
        tokens.remove(at + 1);
    }
}

/// `x ISNULL` is `x IS NULL`.
fn null_test(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    let words: &[&str] = if says(tokens, at, "ISNULL") { &["IS", "NULL"] } else { &["IS", "NOT", "NULL"] };
    let test: Vec<TokenWithSpan> = words.iter().map(|word| keyword(word, &tokens[at])).collect();
    tokens.splice(at..=at, test);
}

/// Notes on a parsed INSERT what was taken out of its text.
pub fn mark(statement: &mut ast::Statement, overriding: Overriding) {
    let insert = match statement {
        ast::Statement::Insert(insert) => insert,
        ast::Statement::Query(query) => match &mut *query.body {
            ast::SetExpr::Insert(inner) => return mark(inner, overriding),
            _ => return,
        },
        _ => return,
    };
    let what = if overriding == Overriding::System { "system" } else { "user" };
    insert.settings =
        Some(vec![Setting { key: Ident::new(OVERRIDING), value: ast::Expr::Identifier(Ident::new(what)) }]);
}
