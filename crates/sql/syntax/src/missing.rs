//! Unsupported PostgreSQL statements and clauses: refused by their names, instead of the parser's complaint about a word.

use super::position_of;
use pgtypes::{Error, state};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Statements by their first words.
const STATEMENTS: &[&str] = &[
    "ALTER AGGREGATE",
    "ALTER COLLATION",
    "ALTER CONVERSION",
    "ALTER DEFAULT PRIVILEGES",
    "ALTER EVENT TRIGGER",
    "ALTER EXTENSION",
    "ALTER FOREIGN",
    "ALTER FUNCTION",
    "ALTER LANGUAGE",
    "ALTER LARGE OBJECT",
    "ALTER MATERIALIZED VIEW",
    "ALTER OPERATOR",
    "ALTER POLICY",
    "ALTER PROCEDURE",
    "ALTER PUBLICATION",
    "ALTER ROUTINE",
    "ALTER RULE",
    "ALTER SERVER",
    "ALTER STATISTICS",
    "ALTER SUBSCRIPTION",
    "ALTER SYSTEM",
    "ALTER TABLESPACE",
    "ALTER TEXT SEARCH",
    "ALTER TRIGGER",
    "CALL",
    "COMMENT ON AGGREGATE",
    "COMMENT ON CAST",
    "COMMENT ON COLLATION",
    "COMMENT ON CONSTRAINT",
    "COMMENT ON EXTENSION",
    "COMMENT ON FUNCTION",
    "COMMENT ON LANGUAGE",
    "COMMENT ON MATERIALIZED VIEW",
    "COMMENT ON OPERATOR",
    "COMMENT ON PROCEDURE",
    "COMMENT ON RULE",
    "COMMENT ON TRIGGER",
    "CREATE ACCESS METHOD",
    "CREATE AGGREGATE",
    "CREATE CAST",
    "CREATE COLLATION",
    "CREATE CONVERSION",
    "CREATE DEFAULT CONVERSION",
    "CREATE EVENT TRIGGER",
    "CREATE FOREIGN DATA WRAPPER",
    "CREATE FOREIGN TABLE",
    "CREATE FUNCTION",
    "CREATE LANGUAGE",
    "CREATE MATERIALIZED VIEW",
    "CREATE OPERATOR",
    "CREATE POLICY",
    "CREATE PROCEDURE",
    "CREATE PUBLICATION",
    "CREATE RECURSIVE VIEW",
    "CREATE RULE",
    "CREATE SERVER",
    "CREATE STATISTICS",
    "CREATE SUBSCRIPTION",
    "CREATE TABLESPACE",
    "CREATE TEXT SEARCH",
    "CREATE TRANSFORM",
    "CREATE TRIGGER",
    "CREATE USER MAPPING",
    "DO",
    "DROP ACCESS METHOD",
    "DROP AGGREGATE",
    "DROP CAST",
    "DROP COLLATION",
    "DROP CONVERSION",
    "DROP EVENT TRIGGER",
    "DROP FOREIGN",
    "DROP FUNCTION",
    "DROP LANGUAGE",
    "DROP MATERIALIZED VIEW",
    "DROP OPERATOR",
    "DROP POLICY",
    "DROP PROCEDURE",
    "DROP PUBLICATION",
    "DROP ROUTINE",
    "DROP RULE",
    "DROP SERVER",
    "DROP STATISTICS",
    "DROP SUBSCRIPTION",
    "DROP TABLESPACE",
    "DROP TEXT SEARCH",
    "DROP TRANSFORM",
    "DROP TRIGGER",
    "IMPORT FOREIGN SCHEMA",
    "PREPARE TRANSACTION",
    "REFRESH MATERIALIZED VIEW",
    "SECURITY LABEL",
];

/// Clauses of other statements: how the statement begins, the words that follow each other anywhere in it, and their name.
const CLAUSES: &[(&str, &str, &str)] = &[
    ("UPDATE", "CURRENT OF", "WHERE CURRENT OF"),
    ("DELETE", "CURRENT OF", "WHERE CURRENT OF"),
    ("WITH RECURSIVE", "SEARCH DEPTH FIRST", "SEARCH in WITH"),
    ("WITH RECURSIVE", "SEARCH BREADTH FIRST", "SEARCH in WITH"),
    ("WITH RECURSIVE", "CYCLE", "CYCLE in WITH"),
];

/// The refusal of a statement that PostgreSQL has, in the place of a complaint about one of its words.
pub(super) fn by_name(text: &str, tokens: &[TokenWithSpan], error: Error) -> Error {
    if error.code() != state::SYNTAX_ERROR {
        return error;
    }
    let words = Words::of(tokens);
    let clause = || CLAUSES.iter().find(|(start, clause, _)| words.starts_with(start) && words.contains(clause));
    let refusal = match STATEMENTS.iter().rfind(|name| words.starts_with(name)) {
        Some(name) => statement(name),
        None => match clause() {
            Some((_, _, name)) => clause_refusal(name),
            None if orders_by_operator(tokens) => Error::unsupported("ORDER BY ... USING").hint("Use ASC or DESC."),
            None => return error,
        },
    };
    at_first_word(text, tokens, refusal)
}

fn clause_refusal(name: &str) -> Error {
    let hint = match name {
        "WHERE CURRENT OF" => "Name the row by its primary key.",
        _ => "Collect the path of each row in an array: it orders the rows, and tells whether one comes again.",
    };
    Error::unsupported(name).hint(hint)
}

/// Whether `USING` stands before an operator, as in `ORDER BY x USING <`.
fn orders_by_operator(tokens: &[TokenWithSpan]) -> bool {
    let mut words = tokens.iter().map(|token| &token.token).filter(|token| !matches!(token, Token::Whitespace(_)));
    let mut follows_using = false;
    words.any(|token| {
        let is_operator = matches!(token, Token::Lt | Token::Gt | Token::LtEq | Token::GtEq | Token::Tilde);
        let found = follows_using && is_operator;
        follows_using = matches!(token, Token::Word(word) if word.value.eq_ignore_ascii_case("USING"));
        found
    })
}

/// The refusal, with the statement's first word as its place.
pub(super) fn at_first_word(text: &str, tokens: &[TokenWithSpan], refusal: Error) -> Error {
    match tokens.iter().find(|token| matches!(token.token, Token::Word(_))) {
        Some(first) => refusal.at(position_of(text, first.span.start)),
        None => refusal,
    }
}

/// The refusal of a statement by its name, with a way out where there is one.
pub(super) fn statement(name: &str) -> Error {
    let error = Error::unsupported(format_args!("the statement {name}"));
    let hint = match name {
        "CREATE MATERIALIZED VIEW" | "REFRESH MATERIALIZED VIEW" => "Use a view, or CREATE TABLE AS.",
        "ALTER SYSTEM" => "Give options to seriatim serve, or use ALTER DATABASE ... SET.",
        "ALTER DEFAULT PRIVILEGES" | "CREATE POLICY" | "SECURITY LABEL" => {
            "Every role may do everything: check rights in the application."
        }
        "CREATE FOREIGN TABLE" | "CREATE SERVER" | "CREATE FOREIGN DATA WRAPPER" | "IMPORT FOREIGN SCHEMA" => {
            "Copy the rows: COPY, or pg_dump."
        }
        "CREATE PUBLICATION" | "CREATE SUBSCRIPTION" => {
            "There is no logical replication. Copy the rows: COPY, or pg_dump."
        }
        "CREATE TABLESPACE" => "All tables lie in the directory of seriatim serve --data.",
        "CREATE STATISTICS" => "Leave it out: plans use no statistics of this kind.",
        "CREATE COLLATION" => "Texts are ordered by their bytes: collation \"C\".",
        "CREATE TEXT SEARCH" => "Use LIKE, ILIKE or a regular expression.",
        "CREATE FUNCTION"
        | "CREATE PROCEDURE"
        | "CREATE TRIGGER"
        | "CREATE RULE"
        | "DO"
        | "CALL"
        | "CREATE AGGREGATE"
        | "CREATE OPERATOR"
        | "CREATE CAST"
        | "CREATE LANGUAGE"
        | "CREATE EVENT TRIGGER" => {
            "Nothing runs in the server but SQL statements: do it in the application, in one transaction."
        }
        "PREPARE TRANSACTION" => "There is no two-phase commit.",
        _ => return error,
    };
    error.hint(hint)
}

/// A statement's words in upper case, in their order: words in parentheses included, quoted names excluded.
struct Words(Vec<String>);

impl Words {
    fn of(tokens: &[TokenWithSpan]) -> Words {
        let words = tokens.iter().filter_map(|token| match &token.token {
            Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_uppercase()),
            _ => None,
        });
        let mut words: Vec<String> = words.collect();
        // What may stand between CREATE and what is created.
        let modifies =
            |word: &String| ["OR", "REPLACE", "TRUSTED", "PROCEDURAL", "CONSTRAINT"].contains(&word.as_str());
        if words.first().is_some_and(|word| word == "CREATE") {
            let kept = words.iter().skip(1).position(|word| !modifies(word)).unwrap_or(0);
            words.drain(1..=kept);
        }
        Words(words)
    }

    fn starts_with(&self, phrase: &str) -> bool {
        let mut words = self.0.iter();
        phrase.split(' ').all(|wanted| words.next().is_some_and(|word| word == wanted))
    }

    fn contains(&self, phrase: &str) -> bool {
        let wanted: Vec<&str> = phrase.split(' ').collect();
        self.0.windows(wanted.len()).any(|window| window == wanted)
    }
}
