//! PostgreSQL's words that `sqlparser` does not read, replaced by words that it does; [`super::rewrite`] replaces whole clauses
//! of that kind. Tokens keep their positions, so that errors point into the original text.

use crate::carried::OVERRIDING;
use crate::keywords;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// Returns the tokens of a statement without spaces, translated.
pub fn translate(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let is_word = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
    let words = tokens.iter().filter(is_word);
    let mut tokens = Vec::with_capacity(words.clone().count());
    tokens.extend(words.cloned());
    let mut at = 0;
    while at < tokens.len() {
        if is_label(&tokens, at) {
            quote(&mut tokens[at]);
        } else if let Some(clause) = OVERRIDING.into_iter().find(|clause| at > 0 && says(&tokens, at, clause)) {
            overriding(&mut tokens, at, clause);
        } else if says(&tokens, at, "LEADING FROM")
            || says(&tokens, at, "TRAILING FROM")
            || says(&tokens, at, "BOTH FROM")
        {
            tokens.remove(at + 1);
        } else if ["FROM ONLY", "JOIN ONLY", "UPDATE ONLY"].iter().any(|words| says(&tokens, at, words)) {
            // There is no inheritance, and so no more than the table itself.
            tokens.remove(at + 1);
        } else if is_array_of_type(&tokens, at) {
            let brackets =
                [Token::LBracket, Token::RBracket].map(|token| TokenWithSpan { token, span: tokens[at].span });
            tokens.splice(at..=at, brackets);
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
    tokens
}

/// `(a, b) OVERRIDING SYSTEM VALUE` becomes `(a, b, clause)`: a column of this name.
fn overriding(tokens: &mut Vec<TokenWithSpan>, at: usize, clause: &str) {
    let span = tokens[at].span;
    let name = Token::Word(Word { value: clause.to_owned(), quote_style: None, keyword: Keyword::NoKeyword });
    let follows_columns = tokens[at - 1].token == Token::RParen;
    let first = if follows_columns { Token::Comma } else { Token::LParen };
    let column = [first, name, Token::RParen].map(|token| TokenWithSpan { token, span });
    tokens.splice(at - usize::from(follows_columns)..at + 3, column);
}

/// Returns whether these words stand at this token, unquoted.
fn says(tokens: &[TokenWithSpan], at: usize, words: &str) -> bool {
    words.split(' ').enumerate().all(|(next, wanted)| {
        matches!(tokens.get(at + next).map(|token| &token.token), Some(Token::Word(word))
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
    })
}

/// Returns whether a reserved word is a column's label, as in `SELECT x AS both FROM t`: it stands behind AS, and the list or the
/// query goes on behind it; or the label of a part, as in `t.both`. What begins a definition's query does not.
fn is_label(tokens: &[TokenWithSpan], at: usize) -> bool {
    let Some(Token::Word(word)) = tokens.get(at).map(|token| &token.token) else { return false };
    if at == 0 || word.quote_style.is_some() || !keywords::is_label_only(&word.value) {
        return false;
    }
    if tokens[at - 1].token == Token::Period {
        return true;
    }
    if !says(tokens, at - 1, "AS") {
        return false;
    }
    let ends = match tokens.get(at + 1).map(|token| &token.token) {
        None | Some(Token::EOF | Token::Comma | Token::RParen) => true,
        Some(Token::Word(next)) => next.quote_style.is_none() && keywords::follows_label(&next.value),
        _ => false,
    };
    // `CREATE TABLE t AS SELECT FROM u`
    let begins_query = says(tokens, at, "SELECT") && ["CREATE", "PREPARE"].iter().any(|word| says(tokens, 0, word));
    ends && !begins_query
}

fn quote(token: &mut TokenWithSpan) {
    if let Token::Word(word) = &mut token.token {
        let value = word.value.to_lowercase();
        *word = Word { value, quote_style: Some('"'), keyword: Keyword::NoKeyword };
    }
}

fn keyword(word: &str, place: &TokenWithSpan) -> TokenWithSpan {
    TokenWithSpan { token: Token::make_keyword(word), span: place.span }
}

/// Returns whether the ARRAY at this token ends a type, as in `CAST(x AS text ARRAY)`: the word is reserved, and no expression
/// ends with it.
fn is_array_of_type(tokens: &[TokenWithSpan], at: usize) -> bool {
    at > 0 && says(tokens, at, "ARRAY") && tokens.get(at + 1).is_some_and(|next| next.token == Token::RParen)
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
