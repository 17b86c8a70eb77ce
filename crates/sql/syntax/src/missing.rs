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
    ("ALTER VIEW", "SET DEFAULT", "ALTER VIEW ... ALTER COLUMN"),
    ("ALTER VIEW", "DROP DEFAULT", "ALTER VIEW ... ALTER COLUMN"),
    ("ALTER VIEW", "SET", "ALTER VIEW ... SET"),
    ("ALTER VIEW", "RESET", "ALTER VIEW ... SET"),
];

/// Functions with a syntax of their own.
const XML: &[&str] =
    &["XMLATTRIBUTES", "XMLELEMENT", "XMLEXISTS", "XMLFOREST", "XMLPARSE", "XMLPI", "XMLROOT", "XMLSERIALIZE"];

/// The refusal of a statement that PostgreSQL has, in the place of a complaint about one of its words.
pub(super) fn by_name(text: &str, tokens: &[TokenWithSpan], error: Error) -> Error {
    if is_of_ours(&error) && error.fields().position.is_none() {
        return at_first_word(text, tokens, error);
    }
    if error.code() != state::SYNTAX_ERROR {
        return error;
    }
    let words = Words::of(tokens);
    let named = || CLAUSES.iter().find(|(start, clause, _)| words.starts_with(start) && words.contains(clause));
    let refusal = match STATEMENTS.iter().rfind(|name| words.starts_with(name)) {
        Some(name) => statement(name),
        None => match named() {
            Some((_, _, name)) => clause(name),
            None if orders_by_operator(tokens) => Error::unsupported("ORDER BY ... USING").hint("Use ASC or DESC."),
            None if assigns_part(tokens) => clause("an assignment to a part of a column"),
            None if XML.iter().any(|word| words.contains(word)) => clause("a function of XML"),
            None => return error,
        },
    };
    at_first_word(text, tokens, refusal)
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

/// Whether it refuses what PostgreSQL has. What PostgreSQL refuses itself has the place that PostgreSQL names, or none.
fn is_of_ours(error: &Error) -> bool {
    error.code() == state::FEATURE_NOT_SUPPORTED && error.message().ends_with("is not supported")
}

/// Whether SET assigns to a part of a column, as in `UPDATE t SET a[1] = 5`.
fn assigns_part(tokens: &[TokenWithSpan]) -> bool {
    let words = tokens.iter().map(|token| &token.token).filter(|token| !matches!(token, Token::Whitespace(_)));
    let words: Vec<&Token> = words.collect();
    let is_set = |token: &Token| matches!(token, Token::Word(word) if word.value.eq_ignore_ascii_case("SET"));
    let mut in_set = false;
    words.windows(3).any(|window| {
        in_set |= is_set(window[0]);
        let begins = is_set(window[0]) || *window[0] == Token::Comma;
        in_set && begins && matches!(window[1], Token::Word(_)) && *window[2] == Token::LBracket
    })
}

/// The refusal, with the statement's first word as its place.
pub(super) fn at_first_word(text: &str, tokens: &[TokenWithSpan], refusal: Error) -> Error {
    match tokens.iter().find(|token| matches!(token.token, Token::Word(_))) {
        Some(first) => refusal.at(position_of(text, first.span.start)),
        None => refusal,
    }
}

/// The refusal of a statement by its name, with a way out.
pub(super) fn statement(name: &str) -> Error {
    let error = Error::unsupported(format_args!("the statement {name}"));
    let (verb, kind) = name.split_once(' ').unwrap_or((name, ""));
    match hint(name).or_else(|| hint(kind)) {
        Some(hint) if verb != "DROP" && verb != "COMMENT" => error.hint(hint),
        _ => error.hint("There are no objects of this kind here: leave the statement out."),
    }
}

/// The refusal of a clause by its name, with a way out where there is one.
pub(super) fn clause(name: &str) -> Error {
    let error = Error::unsupported(name);
    match hint(name) {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// What to do instead, by the statement, the kind of object or the clause.
fn hint(name: &str) -> Option<&'static str> {
    Some(match name {
        "MATERIALIZED VIEW" => "Use a view, or CREATE TABLE AS.",
        "SYSTEM" => "Give options to seriatim serve, or use ALTER DATABASE ... SET.",
        "DEFAULT PRIVILEGES"
        | "POLICY"
        | "SECURITY LABEL"
        | "ALTER TABLE ... ENABLE ROW LEVEL SECURITY"
        | "ALTER TABLE ... FORCE ROW LEVEL SECURITY" => {
            "Every role may do everything: check rights in the application."
        }
        "FOREIGN" | "FOREIGN TABLE" | "SERVER" | "FOREIGN DATA WRAPPER" | "FOREIGN SCHEMA" | "USER MAPPING" => {
            "Copy the rows: COPY, or pg_dump."
        }
        "PUBLICATION" | "SUBSCRIPTION" => "There is no logical replication. Copy the rows: COPY, or pg_dump.",
        "TABLESPACE" => "All tables lie in the directory of seriatim serve --data.",
        "STATISTICS" => "Leave it out: plans use no statistics of this kind.",
        "COLLATION" | "COLLATE in an index" => "Texts are ordered by their bytes: collation \"C\".",
        "CONVERSION" | "DEFAULT CONVERSION" => "Texts are UTF-8: convert them in the application.",
        "TEXT SEARCH" => "Use LIKE, ILIKE or a regular expression.",
        "ACCESS METHOD" => "Every table is stored alike, and every index is a B-tree.",
        "LARGE OBJECT" => "Keep bytes in a column of type bytea.",
        "RECURSIVE VIEW" => "Use CREATE VIEW ... AS WITH RECURSIVE ... SELECT.",
        "FUNCTION" | "PROCEDURE" | "ROUTINE" | "TRIGGER" | "RULE" | "DO" | "CALL" | "AGGREGATE" | "OPERATOR"
        | "CAST" | "LANGUAGE" | "EVENT TRIGGER" | "TRANSFORM" => {
            "Nothing runs in the server but SQL statements: do it in the application, in one transaction."
        }
        "PREPARE TRANSACTION" => "There is no two-phase commit.",
        "WHERE CURRENT OF" => "Name the row by its primary key.",
        "SEARCH in WITH" | "CYCLE in WITH" => {
            "Collect the path of each row in an array: it orders the rows, and tells whether one comes again."
        }
        "an assignment to a part of a column" => {
            "Assign the whole column: an array from slices (a[:1] || ARRAY[x] || a[3:]), jsonb by jsonb_set."
        }
        "a function of XML" => "Keep XML as text, and read it in the application.",
        "INHERITS" | "ALTER TABLE ... INHERIT" | "ALTER TABLE ... NO INHERIT" => {
            "Repeat the columns (LIKE), and read both tables by a view with UNION ALL."
        }
        "partitioning" => "Keep the rows in one table, with an index that begins with the key of the partitions.",
        "an exclusion constraint (EXCLUDE)" => {
            "Look for what overlaps in the transaction that writes: transactions are serializable, so that the look holds."
        }
        "WITH CHECK OPTION" => "Views are not updatable: put a CHECK on the table.",
        "ALTER VIEW ... SET" => "Leave them out: views have none.",
        "ALTER VIEW ... ALTER COLUMN" => "Views are not updatable: put the default on the table.",
        "a constraint USING INDEX" => "Add the constraint over its columns, and drop the index.",
        "ALTER TABLE ... ALTER CONSTRAINT" => "Drop the constraint and add it again.",
        "NO INHERIT" => "Leave it out: there is no inheritance.",
        "NOT ENFORCED" => "Leave the constraint out.",
        "a table of a type" => "Repeat the columns.",
        _ => return None,
    })
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
