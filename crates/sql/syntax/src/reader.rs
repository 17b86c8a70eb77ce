//! A reader of statements, word by word. What stands inside of them is left to `sqlparser`: expressions, types, queries.

use crate::dialect::Dialect;
use crate::{NESTING, ast, broken_syntax, keywords, lower, missing, rewrite, translate, unexpected};
use pgtypes::{Error, Result, state};
use sqlparser::ast as parser;
use sqlparser::parser::{Parser, ParserError};
pub(crate) use sqlparser::tokenizer::Token;
use sqlparser::tokenizer::{TokenWithSpan, Word};

/// The tokens of a statement, and how far they have been read.
pub(crate) struct Reader<'a> {
    text: &'a str,
    tokens: &'a [TokenWithSpan],
    parser: Parser<'a>,
    without_effect: Vec<String>,
}

/// Reads a whole statement.
///
/// # Errors
/// Errors of `read`, 42601 if it leaves something.
pub(crate) fn whole<T>(
    text: &str,
    tokens: &[TokenWithSpan],
    read: impl FnOnce(&mut Reader<'_>) -> Result<T>,
) -> Result<T> {
    let dialect = Dialect::new(tokens);
    let mut reader = Reader::new(text, &dialect, tokens);
    let found = read(&mut reader)?;
    reader.end()?;
    Ok(found)
}

impl<'a> Reader<'a> {
    /// A reader of these tokens, by rules that bound its work.
    pub(crate) fn new(text: &'a str, dialect: &'a Dialect, tokens: &'a [TokenWithSpan]) -> Reader<'a> {
        let translated = translate::translate(tokens);
        let parser =
            Parser::new(dialect).with_recursion_limit(NESTING).with_tokens_with_locations(rewrite::rewrite(translated));
        Reader { text, tokens, parser, without_effect: Vec::new() }
    }

    /// Notes that a clause has been read that changes nothing, and why. The session warns of it.
    pub(crate) fn no_effect(&mut self, clause: &str, because: &str) {
        self.without_effect.push(format!("{clause} has no effect: {because}"));
    }

    /// The warnings about the clauses that change nothing.
    pub(crate) fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.without_effect)
    }

    /// The next token.
    pub(crate) fn peek(&self) -> &Token {
        &self.parser.peek_token_ref().token
    }

    /// The token `ahead` tokens after the next one.
    pub(crate) fn peek_at(&self, ahead: usize) -> &Token {
        &self.parser.peek_nth_token_ref(ahead).token
    }

    /// Returns whether all has been read.
    pub(crate) fn is_done(&self) -> bool {
        *self.peek() == Token::EOF
    }

    /// Where the reader is, for [`Reader::back_to`].
    pub(crate) fn place(&self) -> usize {
        self.parser.index()
    }

    /// Goes back to a place where it has been.
    pub(crate) fn back_to(&mut self, place: usize) {
        while self.parser.index() > place {
            self.parser.prev_token();
        }
    }

    /// Passes over the next token.
    pub(crate) fn skip(&mut self) {
        self.parser.advance_token();
    }

    /// The word, `ahead` words from here, unless it is quoted.
    fn word(&self, ahead: usize) -> Option<&Word> {
        match self.peek_at(ahead) {
            Token::Word(word) if word.quote_style.is_none() => Some(word),
            _ => None,
        }
    }

    /// Returns whether these words come next, unquoted, whatever their case.
    pub(crate) fn says(&self, words: &str) -> bool {
        let is_next = |(ahead, wanted): (usize, &str)| {
            self.word(ahead).is_some_and(|word| word.value.eq_ignore_ascii_case(wanted))
        };
        words.split(' ').enumerate().all(is_next)
    }

    /// Takes these words if they come next.
    pub(crate) fn take(&mut self, words: &str) -> bool {
        let found = self.says(words);
        if found {
            words.split(' ').for_each(|_| self.skip());
        }
        found
    }

    /// Takes the first of these that comes next.
    pub(crate) fn take_any<'w>(&mut self, all: &[&'w str]) -> Option<&'w str> {
        all.iter().find(|words| self.take(words)).copied()
    }

    /// Takes this token if it comes next.
    pub(crate) fn take_token(&mut self, wanted: &Token) -> bool {
        self.parser.consume_token(wanted)
    }

    /// These words must come next.
    ///
    /// # Errors
    /// 42601
    pub(crate) fn expect(&mut self, words: &str) -> Result<()> {
        // The first word that differs is the one that the error names.
        for word in words.split(' ') {
            if !self.take(word) {
                return Err(self.unexpected());
            }
        }
        Ok(())
    }

    /// This token must come next.
    ///
    /// # Errors
    /// 42601
    pub(crate) fn expect_token(&mut self, wanted: &Token) -> Result<()> {
        if self.take_token(wanted) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// A name.
    ///
    /// # Errors
    /// 42601
    pub(crate) fn name(&mut self) -> Result<ast::Ident> {
        let found = self.parser.peek_token_ref();
        let Token::Word(word) = &found.token else { return Err(self.unexpected()) };
        let ident = word.clone().into_ident(found.span);
        self.skip();
        Ok(lower::ident(ident))
    }

    /// The next word must not be one that has to be quoted to be a name.
    ///
    /// # Errors
    /// 42601
    pub(crate) fn refuse_reserved(&self) -> Result<()> {
        match self.word(0) {
            Some(word) if keywords::is_label_only(&word.value) => Err(self.unexpected()),
            _ => Ok(()),
        }
    }

    /// A name, perhaps with others before it and dots between them.
    ///
    /// # Errors
    /// 42601
    pub(crate) fn object_name(&mut self) -> Result<ast::ObjectName> {
        self.refuse_reserved()?;
        let mut parts = vec![];
        loop {
            let found = self.parser.peek_token_ref();
            let Token::Word(word) = &found.token else { return Err(self.unexpected()) };
            parts.push(word.clone().into_ident(found.span));
            self.skip();
            if !self.take_token(&Token::Period) {
                return Ok(lower::object_name(parser::ObjectName::from(parts)));
            }
        }
    }

    /// A name, or a word for an option: in lower case unless it is quoted.
    ///
    /// # Errors
    /// 42601
    pub(crate) fn folded_name(&mut self) -> Result<String> {
        let Token::Word(word) = self.peek() else { return Err(self.unexpected()) };
        let value = if word.quote_style.is_some() { word.value.clone() } else { word.value.to_ascii_lowercase() };
        self.skip();
        Ok(value)
    }

    /// A string.
    ///
    /// # Errors
    /// 42601
    pub(crate) fn string(&mut self) -> Result<String> {
        let text = match self.peek() {
            Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) | Token::UnicodeStringLiteral(text) => {
                text.clone()
            }
            Token::DollarQuotedString(text) => text.value.clone(),
            _ => return Err(self.unexpected()),
        };
        self.skip();
        Ok(text)
    }

    /// An integer with its sign.
    ///
    /// # Errors
    /// 42601, 22003
    pub(crate) fn integer(&mut self) -> Result<i64> {
        let sign = if self.take_token(&Token::Minus) { "-" } else { "" };
        if sign.is_empty() {
            self.take_token(&Token::Plus);
        }
        let Token::Number(digits, _) = self.peek() else { return Err(self.unexpected()) };
        let text = format!("{sign}{digits}");
        self.skip();
        text.parse().map_err(|_| {
            let message = format!("value \"{text}\" is out of range for type bigint");
            Error::new(state::NUMERIC_VALUE_OUT_OF_RANGE, message)
        })
    }

    /// An expression.
    ///
    /// # Errors
    /// Errors of [`crate::expression`].
    pub(crate) fn expression(&mut self) -> Result<ast::Expr> {
        let read = self.parser.parse_expr();
        lower::expr(self.right(read)?).map_err(|refusal| refusal.in_text(self.text))
    }

    /// WITH, if it is there.
    ///
    /// # Errors
    /// 42601, 0A000
    pub(crate) fn with(&mut self) -> Result<Option<ast::With>> {
        let span = lower::span(self.parser.peek_token_ref().span);
        if !self.take("WITH") {
            return Ok(None);
        }
        let recursive = self.take("RECURSIVE");
        let queries = self.list(|reader| {
            let read = reader.parser.parse_cte();
            lower::cte(reader.right(read)?).map_err(|refusal| refusal.in_text(reader.text))
        })?;
        Ok(Some(ast::With { span, recursive, queries }))
    }

    /// A table, a query or a function in FROM.
    ///
    /// # Errors
    /// 42601, 0A000
    pub(crate) fn table_factor(&mut self) -> Result<ast::TableFactor> {
        let read = self.parser.parse_table_factor();
        lower::table_factor(self.right(read)?).map_err(|refusal| refusal.in_text(self.text))
    }

    /// `column = value` and more of them.
    ///
    /// # Errors
    /// 42601, 0A000
    pub(crate) fn assignments(&mut self) -> Result<Vec<ast::Assignment>> {
        self.list(|reader| {
            let read = reader.parser.parse_assignment();
            lower::assignment(reader.right(read)?).map_err(|refusal| refusal.in_text(reader.text))
        })
    }

    /// A call of a function, or what is written like one.
    ///
    /// # Errors
    /// Errors of [`Reader::expression`].
    pub(crate) fn call(&mut self) -> Result<ast::Expr> {
        let read = self.parser.parse_prefix();
        lower::expr(self.right(read)?).map_err(|refusal| refusal.in_text(self.text))
    }

    /// An expression in parentheses.
    ///
    /// # Errors
    /// Errors of [`Reader::expression`].
    pub(crate) fn expression_in_parentheses(&mut self) -> Result<ast::Expr> {
        self.expect_token(&Token::LParen)?;
        let read = self.expression()?;
        self.expect_token(&Token::RParen)?;
        Ok(read)
    }

    /// DEFAULT of a column, which ends before NOT NULL and COLLATE. The word itself comes next.
    ///
    /// # Errors
    /// Errors of [`Reader::expression`].
    pub(crate) fn column_default(&mut self) -> Result<ast::Expr> {
        let read = self.parser.parse_optional_column_option();
        match self.right(read)? {
            Some(parser::ColumnOption::Default(value)) => {
                lower::expr(value).map_err(|refusal| refusal.in_text(self.text))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// The name of a type.
    ///
    /// # Errors
    /// 42601
    pub(crate) fn data_type(&mut self) -> Result<ast::DataType> {
        let read = self.parser.parse_data_type();
        let mut read = self.right(read)?;
        if self.take("ARRAY") {
            if self.take_token(&Token::LBracket) {
                self.integer()?;
                self.expect_token(&Token::RBracket)?;
            }
            read = parser::DataType::Array(parser::ArrayElemTypeDef::SquareBracket(Box::new(read), None));
        }
        Ok(lower::data_type(read))
    }

    /// A query.
    ///
    /// # Errors
    /// 42601, 0A000
    pub(crate) fn query(&mut self) -> Result<ast::Query> {
        let read = self.parser.parse_query();
        lower::query(*self.right(read)?).map_err(|refusal| refusal.in_text(self.text))
    }

    /// One thing or more, with commas between them.
    ///
    /// # Errors
    /// Errors of `read`.
    pub(crate) fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut all = vec![read(self)?];
        while self.take_token(&Token::Comma) {
            all.push(read(self)?);
        }
        Ok(all)
    }

    /// Names in parentheses.
    ///
    /// # Errors
    /// 42601
    pub(crate) fn names_in_parentheses(&mut self) -> Result<Vec<ast::Ident>> {
        self.expect_token(&Token::LParen)?;
        let names = self.list(Reader::name)?;
        self.expect_token(&Token::RParen)?;
        Ok(names)
    }

    /// Names in parentheses; none if there are no parentheses.
    ///
    /// # Errors
    /// 42601
    pub(crate) fn optional_names(&mut self) -> Result<Vec<ast::Ident>> {
        if *self.peek() == Token::LParen { self.names_in_parentheses() } else { Ok(vec![]) }
    }

    /// Passes over parentheses and all that is in them.
    ///
    /// # Errors
    /// 42601
    pub(crate) fn skip_parentheses(&mut self) -> Result<()> {
        self.expect_token(&Token::LParen)?;
        let mut depth = 1_usize;
        while depth > 0 {
            match self.peek() {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                Token::EOF => return Err(self.unexpected()),
                _ => {}
            }
            self.skip();
        }
        Ok(())
    }

    /// Returns whether CASCADE comes next; takes RESTRICT, too.
    pub(crate) fn take_cascade(&mut self) -> bool {
        self.take_any(&["CASCADE", "RESTRICT"]) == Some("CASCADE")
    }

    /// Passes over all that is left.
    pub(crate) fn skip_all(&mut self) {
        while !self.is_done() {
            self.skip();
        }
    }

    /// Passes over all that is left. Returns its tokens as they were written.
    pub(crate) fn take_rest(&mut self) -> &'a [TokenWithSpan] {
        let next = self.parser.peek_token_ref().span.start;
        let is_left =
            |token: &TokenWithSpan| (token.span.start.line, token.span.start.column) >= (next.line, next.column);
        let at = self.tokens.iter().position(is_left).unwrap_or(self.tokens.len());
        self.skip_all();
        &self.tokens[at..]
    }

    /// The statement must end here.
    ///
    /// # Errors
    /// 42601
    fn end(&self) -> Result<()> {
        if self.is_done() { Ok(()) } else { Err(self.unexpected()) }
    }

    /// 42601 about the next token.
    pub(crate) fn unexpected(&self) -> Error {
        unexpected(self.text, self.tokens, self.parser.peek_token_ref().span.start)
    }

    /// The position of the next token, in characters from 1.
    pub(crate) fn position(&self) -> u32 {
        crate::position_of(self.text, self.parser.peek_token_ref().span.start)
    }

    /// The refusal of what PostgreSQL has and this server lacks. It points at the statement.
    pub(crate) fn unsupported(&self, what: &str) -> Error {
        missing::at_first_word(self.text, self.tokens, missing::clause(what))
    }

    fn right<T>(&self, read: std::result::Result<T, ParserError>) -> Result<T> {
        read.map_err(|error| broken_syntax(self.text, self.tokens, &error))
    }
}
