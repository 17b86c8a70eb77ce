//! Clauses of PostgreSQL that `sqlparser` does not read, rewritten into ones that it does.
//!
//! One pass over a statement's tokens, before `sqlparser` reads them. Each clause is either replaced by another that means the
//! same to PostgreSQL itself (`TABLE t` by `SELECT * FROM t`), or carried in a place that the parser reads, under a name that
//! no statement can use there: a word that PostgreSQL reserves (`SYMMETRIC`), or a name that is not a single word
//! ([`ROWS_FROM`]). [`crate::carried`] reads them back. Printed, they are PostgreSQL's own text again, or text that this pass
//! reads again, so that views keep them. New tokens take the positions of the tokens that they replace: positions in messages
//! stay right.

use crate::carried::{ALL_FIELDS, CONFLICT_TARGET, EXCLUSIONS, ROWS_FROM};
use crate::keywords;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};

/// The tokens of a statement or an expression in `sqlparser`'s words.
pub fn rewrite(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.windows(2).any(concerns) {
        return tokens;
    }
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF));
    let mut pass = Pass { tokens: &tokens, at: 0, out: Vec::with_capacity(tokens.len() + 8), levels: vec![] };
    pass.levels.push(Level::default());
    while pass.at < tokens.len() {
        pass.step();
    }
    pass.out
}

/// Returns whether a token begins one of the clauses, as far as its neighbours are not needed.
fn concerns(pair: &[TokenWithSpan]) -> bool {
    match &pair[0].token {
        Token::Word(word) if word.quote_style.is_none() => {
            const WORDS: [&str; 11] = [
                "TABLE",
                "SYMMETRIC",
                "ASYMMETRIC",
                "EXCLUDE",
                "ROWS",
                "KEY",
                "CONFLICT",
                "OF",
                "BY",
                "OPERATOR",
                "FOR",
            ];
            WORDS.iter().any(|known| word.value.eq_ignore_ascii_case(known))
        }
        Token::Period => pair[1].token == Token::Mul || plain_word(&pair[1].token).as_deref() == Some("SUBSTRING"),
        _ => false,
    }
}

/// State of a level of parentheses.
#[derive(Default)]
struct Level {
    /// Index of its first token in the new tokens.
    start: usize,
    /// Whether the level is inside a list of FROM.
    in_from: bool,
}

struct Pass<'t> {
    tokens: &'t [TokenWithSpan],
    at: usize,
    out: Vec<TokenWithSpan>,
    levels: Vec<Level>,
}

impl Pass<'_> {
    fn step(&mut self) {
        let done = match self.keyword(self.at).as_deref() {
            Some("TABLE") => self.table(),
            Some("ASYMMETRIC") if self.is(self.at.wrapping_sub(1), "BETWEEN") => self.skip(1),
            Some("SYMMETRIC") if self.is(self.at.wrapping_sub(1), "BETWEEN") => self.symmetric(),
            Some("EXCLUDE") => self.exclude(),
            Some("ROWS") => self.rows_from(),
            Some("OPERATOR") => self.quantified_operator(),
            Some("FOR") => self.locks(),
            Some("ON") if self.is(self.at + 1, "CONFLICT") => self.conflict(),
            None if self.token(self.at) == Some(&Token::Period) => self.all_fields() || self.qualified_substring(),
            _ => false,
        };
        if !done {
            self.keep();
        }
    }

    /// Takes the next token unchanged.
    fn keep(&mut self) {
        let Some(token) = self.tokens.get(self.at) else { return };
        match &token.token {
            Token::LParen => self.levels.push(Level { start: self.out.len() + 1, ..Level::default() }),
            Token::RParen if self.levels.len() > 1 => {
                self.levels.pop();
            }
            _ => self.note_clause(),
        }
        self.out.push(token.clone());
        self.at += 1;
    }

    /// Keeps in mind which clause the next token is in.
    fn note_clause(&mut self) {
        let word = self.keyword(self.at);
        let Some(level) = self.levels.last_mut() else { return };
        match word.as_deref() {
            Some("FROM") => level.in_from = true,
            Some(
                "SELECT" | "WHERE" | "GROUP" | "HAVING" | "WINDOW" | "ORDER" | "LIMIT" | "OFFSET" | "FETCH" | "UNION"
                | "EXCEPT" | "INTERSECT" | "RETURNING" | "SET",
            ) => level.in_from = false,
            _ => {}
        }
    }

    /// `TABLE t` becomes `SELECT * FROM t`, as PostgreSQL's own grammar has it. The word is reserved: where a query may
    /// begin, and before a relation's name, it means nothing else.
    fn table(&mut self) -> bool {
        let defines = ["CREATE", "ALTER", "DROP", "TRUNCATE", "COMMENT", "GRANT", "REVOKE", "LOCK", "REINDEX"];
        let is_definition = self.keyword(0).is_some_and(|first| defines.contains(&first.as_str()));
        let begins = match self.at.checked_sub(1) {
            None => true,
            Some(before) if is_definition => self.is(before, "AS") || self.token(before) == Some(&Token::LParen),
            Some(before) => {
                !["INTO", "TEMP", "TEMPORARY", "UNLOGGED"].iter().any(|word| self.is(before, word))
                    && self.token(before) != Some(&Token::Period)
            }
        };
        let names = match self.token(self.at + 1) {
            // `WITH NO DATA` goes on behind a column, too.
            Some(Token::Word(word)) => {
                let is_name = |word: &str| !word.eq_ignore_ascii_case("WITH") && !keywords::follows_label(word);
                word.quote_style.is_some() || is_name(&word.value)
            }
            _ => false,
        };
        if begins && names {
            let span = self.span(self.at);
            self.put(Token::make_keyword("SELECT"), span);
            self.put(Token::Mul, span);
            self.put(Token::make_keyword("FROM"), span);
            self.at += 1;
        }
        begins && names
    }

    /// `pg_catalog.substring(text, pattern)`: after a schema the word is a plain name, and its call has no form of its own.
    fn qualified_substring(&mut self) -> bool {
        let is_call = self.is(self.at + 1, "SUBSTRING") && self.token(self.at + 2) == Some(&Token::LParen);
        if is_call {
            self.keep();
            self.put(Token::make_word("substring", Some('"')), self.span(self.at));
            self.at += 1;
        }
        is_call
    }

    /// Puts parentheses around what follows SYMMETRIC.
    fn symmetric(&mut self) -> bool {
        let Some(end) = self.find(self.at + 1, "AND") else { return false };
        let (first, last) = (self.span(self.at + 1), self.span(end));
        self.keep();
        self.put(Token::LParen, first);
        self.levels.push(Level { start: self.out.len(), ..Level::default() });
        while self.at < end {
            self.step();
        }
        self.levels.pop();
        self.put(Token::RParen, last);
        true
    }

    /// The frame's EXCLUDE, and what a carrier of it looks like when it was printed.
    fn exclude(&mut self) -> bool {
        let matches = |carrier: &&&str| {
            let words = carrier.split(' ').enumerate();
            words.clone().all(|(place, word)| self.is(self.at + place, word))
        };
        let Some(carrier) = EXCLUSIONS.iter().find(matches) else { return false };
        let (length, span) = (carrier.split(' ').count(), self.span(self.at));
        let before = self.at.wrapping_sub(1);
        if self.is(before, "BY") {
            self.put(carrier_word(carrier), span);
            return self.skip(length);
        }
        let ends_frame = ["ROW", "PRECEDING", "FOLLOWING"].iter().any(|word| self.is(before, word))
            && self.token(self.at + length) == Some(&Token::RParen);
        if ends_frame {
            self.carry_exclusion(carrier, span);
            return self.skip(length);
        }
        false
    }

    fn carry_exclusion(&mut self, carrier: &str, span: Span) {
        let mut place = self.levels.last().map_or(0, |level| level.start);
        let word = |place: usize| self.out.get(place).and_then(|token| plain_word(&token.token));
        let is_clause = |word: &str| ["PARTITION", "ORDER", "ROWS", "RANGE", "GROUPS"].contains(&word);
        if !word(place).as_deref().is_some_and(is_clause) {
            place += 1;
        }
        let mut carried = vec![carrier_word(carrier)];
        if word(place).as_deref() == Some("PARTITION") {
            place += 2;
            carried.push(Token::Comma);
        } else {
            carried.insert(0, Token::make_keyword("PARTITION"));
            carried.insert(1, Token::make_keyword("BY"));
        }
        let place = place.min(self.out.len());
        self.out.splice(place..place, carried.into_iter().map(|token| TokenWithSpan { token, span }));
    }

    /// ROWS FROM, where a relation is expected. `SELECT rows FROM (...)` is another clause.
    fn rows_from(&mut self) -> bool {
        let in_from = self.levels.last().is_some_and(|level| level.in_from);
        let before = self.at.wrapping_sub(1);
        let begins = self.token(before) == Some(&Token::Comma)
            || ["FROM", "JOIN", "LATERAL"].iter().any(|word| self.is(before, word));
        let is_ours =
            in_from && begins && self.is(self.at + 1, "FROM") && self.token(self.at + 2) == Some(&Token::LParen);
        if is_ours {
            self.put(carrier_word(ROWS_FROM), self.span(self.at));
            self.at += 2;
        }
        is_ours
    }

    /// `x OPERATOR(pg_catalog.=) ANY (..)` becomes `x = ANY (..)`: there are no other operators of these names.
    fn quantified_operator(&mut self) -> bool {
        let (open, schema) = (self.at + 1, self.at + 2);
        let has_schema = self.is(schema, "pg_catalog") && self.token(schema + 1) == Some(&Token::Period);
        let symbol = if has_schema { schema + 2 } else { schema };
        let is_ours = self.token(open) == Some(&Token::LParen)
            && self.token(symbol + 1) == Some(&Token::RParen)
            && ["ANY", "SOME", "ALL"].iter().any(|word| self.is(symbol + 2, word));
        if is_ours {
            self.out.extend(self.tokens.get(symbol).cloned());
            self.at = symbol + 2;
        }
        is_ours
    }

    /// Locking clauses. `sqlparser` reads LIMIT and its kin before them only.
    fn locks(&mut self) -> bool {
        let start = self.out.len();
        if !self.lock() {
            return false;
        }
        while self.is(self.at, "FOR") && self.lock() {}
        let locks = self.out.split_off(start);
        let (level, clauses) = (self.levels.len(), ["LIMIT", "OFFSET", "FETCH"]);
        if clauses.iter().any(|clause| self.is(self.at, clause)) {
            let ends = |pass: &Self| {
                let word = pass.is(pass.at, "ON") || pass.is(pass.at, "RETURNING");
                pass.levels.len() == level && (word || pass.token(pass.at) == Some(&Token::RParen))
            };
            while self.at < self.tokens.len() && !ends(self) {
                self.step();
            }
        }
        self.out.extend(locks);
        true
    }

    /// FOR NO KEY UPDATE and FOR KEY SHARE become the stronger locks; each table of OF gets a clause of its own.
    fn lock(&mut self) -> bool {
        let forms: [(&[&str], &str); 4] = [
            (&["NO", "KEY", "UPDATE"], "UPDATE"),
            (&["UPDATE"], "UPDATE"),
            (&["KEY", "SHARE"], "SHARE"),
            (&["SHARE"], "SHARE"),
        ];
        let says = |words: &[&str]| words.iter().enumerate().all(|(at, word)| self.is(self.at + 1 + at, word));
        let Some((words, strength)) = forms.iter().find(|(words, _)| says(words)) else { return false };
        let after = self.at + 1 + words.len();
        let span = self.span(self.at);
        if !self.is(after, "OF") {
            self.put(Token::make_keyword("FOR"), span);
            self.put(Token::make_keyword(strength), span);
            self.at = after;
            for _ in 0..self.wait_words(after) {
                self.keep();
            }
            return true;
        }
        let mut end = after + 2;
        while self.token(end) == Some(&Token::Comma) {
            end += 2;
        }
        let waits = self.wait_words(end);
        for name in (after + 1..end).step_by(2) {
            self.put(Token::make_keyword("FOR"), span);
            self.put(Token::make_keyword(strength), span);
            self.put(Token::make_keyword("OF"), span);
            self.out.extend(self.tokens.get(name).cloned());
            self.out.extend(self.tokens[end.min(self.tokens.len())..].iter().take(waits).cloned());
        }
        self.at = end + waits;
        true
    }

    /// Number of words that say what to do about locked rows.
    fn wait_words(&self, at: usize) -> usize {
        match () {
            () if self.is(at, "NOWAIT") => 1,
            () if self.is(at, "SKIP") && self.is(at + 1, "LOCKED") => 2,
            () => 0,
        }
    }

    /// ON CONFLICT: a target that is more than a list of columns is carried as its text.
    fn conflict(&mut self) -> bool {
        self.keep();
        self.keep();
        let Some(end) = self.find(self.at, "DO").filter(|_| self.token(self.at) == Some(&Token::LParen)) else {
            return true;
        };
        let names = self.tokens[self.at..end].iter().enumerate();
        let is_list = names.clone().all(|(at, token)| match &token.token {
            Token::LParen => at == 0,
            Token::RParen => at + 1 == names.len(),
            Token::Word(_) => at % 2 == 1,
            other => *other == Token::Comma,
        });
        if !is_list {
            let (text, span) = (text_in_place(&self.tokens[self.at..end]), self.span(self.at));
            self.put(Token::LParen, span);
            self.put(carrier_word(&format!("{CONFLICT_TARGET}{text}")), span);
            self.put(Token::RParen, span);
            self.at = end;
        }
        true
    }

    /// `(record).*`, and `t.*` as the operand of an operator: the row of a table.
    fn all_fields(&mut self) -> bool {
        let before = self.at.wrapping_sub(1);
        let is_operand = matches!(self.token(before), Some(Token::Word(_))) && self.is_operator(self.at + 2);
        let is_ours =
            (is_operand || self.token(before) == Some(&Token::RParen)) && self.token(self.at + 1) == Some(&Token::Mul);
        if is_ours {
            let span = self.span(self.at + 1);
            self.keep();
            self.put(carrier_word(ALL_FIELDS), span);
            self.at += 1;
        }
        is_ours
    }

    /// Whether an operator stands here that takes a row on its left.
    fn is_operator(&self, at: usize) -> bool {
        let symbols = [Token::Eq, Token::Neq, Token::Lt, Token::Gt, Token::LtEq, Token::GtEq, Token::DoubleColon];
        self.is(at, "IS") || self.token(at).is_some_and(|token| symbols.contains(token))
    }

    /// Index of the next occurrence of this word, outside of parentheses and CASE.
    fn find(&self, from: usize, word: &str) -> Option<usize> {
        let mut depth = 0_usize;
        for at in from..self.tokens.len() {
            match self.token(at)? {
                Token::LParen | Token::LBracket => depth += 1,
                Token::RParen | Token::RBracket => depth = depth.checked_sub(1)?,
                _ if self.is(at, "CASE") => depth += 1,
                _ if self.is(at, "END") => depth = depth.checked_sub(1)?,
                _ if depth == 0 && self.is(at, word) => return Some(at),
                _ => {}
            }
        }
        None
    }

    fn skip(&mut self, tokens: usize) -> bool {
        self.at += tokens;
        true
    }

    fn put(&mut self, token: Token, span: Span) {
        self.out.push(TokenWithSpan { token, span });
    }

    fn token(&self, at: usize) -> Option<&Token> {
        self.tokens.get(at).map(|token| &token.token)
    }

    fn span(&self, at: usize) -> Span {
        self.tokens.get(at).map_or(Span::empty(), |token| token.span)
    }

    fn keyword(&self, at: usize) -> Option<String> {
        self.token(at).and_then(plain_word)
    }

    fn is(&self, at: usize, wanted: &str) -> bool {
        matches!(self.token(at), Some(Token::Word(word)) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
    }
}

fn plain_word(token: &Token) -> Option<String> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_ascii_uppercase()),
        _ => None,
    }
}

/// Tokens as they are read again, each on its line and in its column: positions in messages stay right.
fn text_in_place(tokens: &[TokenWithSpan]) -> String {
    let (mut text, mut line, mut column) = (String::new(), 1, 1);
    for TokenWithSpan { token, span } in tokens {
        while line < span.start.line {
            text.push('\n');
            (line, column) = (line + 1, 1);
        }
        if column > span.start.column {
            text.push(' ');
            column += 1;
        }
        while column < span.start.column {
            text.push(' ');
            column += 1;
        }
        let written = text_of(token);
        line += written.matches('\n').count() as u64;
        let last = written.rsplit('\n').next().unwrap_or_default().chars().count() as u64;
        column = if written.contains('\n') { last + 1 } else { column + last };
        text.push_str(&written);
    }
    text
}

/// A token as it is read again.
fn text_of(token: &Token) -> String {
    match token {
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) | Token::UnicodeStringLiteral(text) => {
            format!("'{}'", text.replace('\'', "''"))
        }
        Token::DollarQuotedString(text) => format!("'{}'", text.value.replace('\'', "''")),
        Token::Word(word) if word.quote_style.is_some() => format!("\"{}\"", word.value.replace('"', "\"\"")),
        other => other.to_string(),
    }
}

fn carrier_word(carrier: &str) -> Token {
    Token::Word(Word { value: carrier.to_owned(), quote_style: None, keyword: Keyword::NoKeyword })
}
