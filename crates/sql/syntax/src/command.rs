//! Commands: the kinds of statements that the session distinguishes.

use super::dialect::Dialect;
use super::reader::{self, Reader};
use super::words::Words;
use super::{Parsed, ast, definition, lower, syntax};
use pgtypes::Type;
use pgtypes::{Error, Result};
use sqlparser::ast as parser;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};
use std::sync::Arc;

/// A statement by what the session does with it.
#[derive(Clone, Debug)]
pub enum Command {
    /// SELECT, INSERT, UPDATE, DELETE, VALUES, TABLE.
    Rows(Arc<ast::Statement>),
    /// COPY
    Copy(Arc<ast::Copy>),
    /// CREATE, ALTER, DROP and the like.
    Definition(Arc<ast::Definition>),
    /// BEGIN, START TRANSACTION
    Begin(Modes),
    /// SET TRANSACTION
    SetTransaction(Modes),
    /// SET SESSION CHARACTERISTICS AS TRANSACTION
    SetCharacteristics(Modes),
    /// COMMIT, END; whether AND CHAIN.
    Commit(bool),
    /// ROLLBACK, ABORT; whether AND CHAIN.
    Rollback(bool),
    /// SAVEPOINT
    Savepoint(String),
    /// `RELEASE [SAVEPOINT]`
    Release(String),
    /// `ROLLBACK TO [SAVEPOINT]`
    RollbackTo(String),
    /// SET name = value
    Set(Setting),
    /// RESET name; `None`: ALL.
    Reset(Option<String>),
    /// SHOW name; `None`: ALL.
    Show(Option<String>),
    /// DISCARD
    Discard(Discard),
    /// SET CONSTRAINTS names (none: ALL); whether DEFERRED.
    SetConstraints(Vec<String>, bool),
    /// PREPARE name (types) AS statement
    Prepare(String, Vec<Option<Type>>, Box<Parsed>),
    /// EXECUTE name (arguments)
    Execute(String, Vec<ast::Expr>),
    /// DEALLOCATE name; `None`: ALL.
    Deallocate(Option<String>),
    /// DECLARE name CURSOR FOR query; whether WITH HOLD.
    Declare(String, Arc<ast::Statement>, bool),
    /// FETCH, or MOVE if not `rows_wanted`.
    Fetch(Fetch),
    /// CLOSE name; `None`: ALL.
    Close(Option<String>),
    /// EXPLAIN
    Explain {
        /// Whether the statement is executed.
        analyze: bool,
        /// VERBOSE
        verbose: bool,
        /// The form of the answer.
        format: ExplainFormat,
        /// The statement to explain.
        statement: Box<Parsed>,
    },
    /// CHECKPOINT
    Checkpoint,
    /// LISTEN, NOTIFY and the like: taken, without effect. The tag.
    Accepted(&'static str),
}

/// Modes of BEGIN and SET TRANSACTION. Isolation levels are accepted; all run serializable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// Whether an isolation level was given.
    pub isolation: bool,
    /// READ ONLY, READ WRITE
    pub read_only: Option<bool>,
    /// DEFERRABLE, NOT DEFERRABLE
    pub deferrable: Option<bool>,
}

/// SET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value; `None`: DEFAULT.
    pub value: Option<String>,
    /// SET LOCAL
    pub local: bool,
}

/// Target of DISCARD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// Everything of the session.
    All,
    /// Cached plans.
    Plans,
    /// Cached values of sequences.
    Sequences,
    /// Temporary tables.
    Temporary,
}

/// FETCH and MOVE, forward only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The cursor.
    pub cursor: String,
    /// Number of rows; `None`: all.
    pub count: Option<u64>,
    /// FETCH, not MOVE.
    pub rows_wanted: bool,
}

/// The form of EXPLAIN's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainFormat {
    /// Lines.
    Text,
    /// JSON
    Json,
}

/// Determines a statement's kind by its first word, and parses it.
///
/// # Errors
/// 42601
pub fn parse(text: &Arc<str>, tokens: &[TokenWithSpan]) -> Result<Command> {
    let mut words = Words::new(text, tokens);
    let first = match words.peek() {
        Some(Token::Word(word)) if word.quote_style.is_none() => word.value.to_ascii_uppercase(),
        _ => return rows(text, tokens),
    };
    words.next();
    let command = match first.as_str() {
        "BEGIN" => {
            let _ = words.take("TRANSACTION") || words.take("WORK");
            Command::Begin(modes(&mut words)?)
        }
        "START" if words.take("TRANSACTION") => Command::Begin(modes(&mut words)?),
        "COMMIT" | "END" => Command::Commit(end_of_block(&mut words)?),
        "ROLLBACK" | "ABORT" => rollback(&mut words)?,
        "SAVEPOINT" => Command::Savepoint(words.name()?),
        "RELEASE" => {
            words.take("SAVEPOINT");
            Command::Release(words.name()?)
        }
        "SET" => set(&mut words)?,
        "RESET" => reset(&mut words)?,
        "SHOW" => show(&mut words)?,
        "DISCARD" => discard(&mut words)?,
        "COPY" => return reader::whole(text, tokens, definition::copy).map(|copy| Command::Copy(Arc::new(copy))),
        "PREPARE" => return prepare(text, words),
        "EXECUTE" => return reader::whole(text, tokens, execute),
        "DEALLOCATE" => {
            words.take("PREPARE");
            Command::Deallocate(name_or_all(&mut words)?)
        }
        "DECLARE" => return declare(text, words),
        "FETCH" => Command::Fetch(fetch(&mut words, true)?),
        "MOVE" => Command::Fetch(fetch(&mut words, false)?),
        "CLOSE" => Command::Close(name_or_all(&mut words)?),
        "EXPLAIN" => return explain(text, words),
        "LISTEN" => accept(&mut words, "LISTEN")?,
        "UNLISTEN" => accept(&mut words, "UNLISTEN")?,
        "NOTIFY" => accept(&mut words, "NOTIFY")?,
        "CHECKPOINT" => Command::Checkpoint,
        "LOAD" => accept(&mut words, "LOAD")?,
        "CREATE" | "ALTER" | "DROP" | "TRUNCATE" | "COMMENT" | "GRANT" | "REVOKE" | "LOCK" | "VACUUM" | "ANALYZE"
        | "ANALYSE" | "REINDEX" | "CLUSTER" => {
            let definition = reader::whole(text, tokens, definition::definition)?;
            return Ok(Command::Definition(Arc::new(definition)));
        }
        _ => return rows(text, tokens),
    };
    words.end()?;
    Ok(command)
}

/// A statement over rows. SELECT INTO is a definition.
fn rows(text: &str, tokens: &[TokenWithSpan]) -> Result<Command> {
    let mut statement = syntax(text, tokens)?;
    let into = match &mut statement {
        parser::Statement::Query(query) => take_into(query),
        parser::Statement::Insert(_) | parser::Statement::Update(_) | parser::Statement::Delete(_) => None,
        _ => return Err(Words::new(text, tokens).unexpected()),
    };
    let statement = lower::statement(statement).map_err(|refusal| refusal.in_text(text))?;
    match (into, statement) {
        (Some(into), ast::Statement::Query(query)) => {
            let create = create_table_as(into, *query);
            Ok(Command::Definition(Arc::new(ast::Definition::CreateTableAs(create))))
        }
        (_, statement) => Ok(Command::Rows(Arc::new(statement))),
    }
}

/// Takes the INTO of a SELECT out of it.
fn take_into(query: &mut parser::Query) -> Option<parser::SelectInto> {
    match &mut *query.body {
        parser::SetExpr::Select(select) => select.into.take(),
        _ => None,
    }
}

fn create_table_as(into: parser::SelectInto, query: ast::Query) -> ast::CreateTableAs {
    ast::CreateTableAs {
        name: lower::object_name(into.name),
        temporary: into.temporary,
        if_not_exists: false,
        columns: vec![],
        query,
        is_select_into: true,
    }
}

fn modes(words: &mut Words<'_>) -> Result<Modes> {
    let mut modes = Modes::default();
    while !words.is_done() {
        if words.take("ISOLATION LEVEL") {
            let known = ["SERIALIZABLE", "REPEATABLE READ", "READ COMMITTED", "READ UNCOMMITTED"];
            if !known.iter().any(|level| words.take(level)) {
                return Err(words.unexpected());
            }
            modes.isolation = true;
        } else if words.take("READ ONLY") {
            modes.read_only = Some(true);
        } else if words.take("READ WRITE") {
            modes.read_only = Some(false);
        } else if words.take("DEFERRABLE") {
            modes.deferrable = Some(true);
        } else if words.take("NOT DEFERRABLE") {
            modes.deferrable = Some(false);
        } else {
            return Err(words.unexpected());
        }
        words.take_token(&Token::Comma);
    }
    Ok(modes)
}

/// Returns whether AND CHAIN follows.
fn end_of_block(words: &mut Words<'_>) -> Result<bool> {
    let _ = words.take("TRANSACTION") || words.take("WORK");
    let chain = words.take("AND CHAIN");
    let _ = chain || words.take("AND NO CHAIN");
    if words.take("PREPARED") {
        return Err(Error::unsupported("two-phase commit"));
    }
    Ok(chain)
}

fn rollback(words: &mut Words<'_>) -> Result<Command> {
    let _ = words.take("TRANSACTION") || words.take("WORK");
    if words.take("TO") {
        words.take("SAVEPOINT");
        return Ok(Command::RollbackTo(words.name()?));
    }
    Ok(Command::Rollback(end_of_block(words)?))
}

fn set(words: &mut Words<'_>) -> Result<Command> {
    if words.take("SESSION CHARACTERISTICS AS TRANSACTION") {
        return Ok(Command::SetCharacteristics(modes(words)?));
    }
    if words.take("TRANSACTION") {
        return Ok(Command::SetTransaction(modes(words)?));
    }
    if words.take("CONSTRAINTS") {
        return set_constraints(words);
    }
    let local = words.take("LOCAL");
    let _ = local || words.take("SESSION");
    let (name, value) = if words.take("TIME ZONE") {
        ("timezone".into(), value(words)?.filter(|zone| !zone.eq_ignore_ascii_case("local")))
    } else if words.take("SESSION AUTHORIZATION") || words.take("AUTHORIZATION") {
        ("session_authorization".into(), value(words)?)
    } else if words.take("ROLE") {
        ("role".into(), value(words)?)
    } else if words.take("NAMES") {
        ("client_encoding".into(), value(words)?)
    } else if words.take("XML OPTION") {
        ("xmloption".into(), value(words)?)
    } else {
        let name = setting_name(words)?;
        if !(words.take_token(&Token::Eq) || words.take("TO")) {
            return Err(words.unexpected());
        }
        (name, value(words)?)
    };
    Ok(Command::Set(Setting { name, value, local }))
}

fn set_constraints(words: &mut Words<'_>) -> Result<Command> {
    let mut names = Vec::new();
    if !words.take("ALL") {
        loop {
            names.push(setting_name(words)?);
            if !words.take_token(&Token::Comma) {
                break;
            }
        }
    }
    let deferred = words.take("DEFERRED");
    if !deferred && !words.take("IMMEDIATE") {
        return Err(words.unexpected());
    }
    Ok(Command::SetConstraints(names, deferred))
}

/// `name` or `prefix.name`.
fn setting_name(words: &mut Words<'_>) -> Result<String> {
    let mut name = words.name()?;
    while words.take_token(&Token::Period) {
        name = format!("{name}.{}", words.name()?);
    }
    Ok(name)
}

/// The value of a setting: one or more words, numbers and strings, joined by commas; `None` for DEFAULT.
fn value(words: &mut Words<'_>) -> Result<Option<String>> {
    if words.take("DEFAULT") {
        return Ok(None);
    }
    let mut parts = Vec::new();
    loop {
        let sign = if words.take_token(&Token::Minus) { "-" } else { "" };
        words.take_token(&Token::Plus);
        words.take("INTERVAL");
        let part = match words.next() {
            Some(Token::Word(word)) if word.quote_style.is_none() => word.value.to_lowercase(),
            Some(Token::Word(word)) => word.value.clone(),
            Some(Token::Number(number, _)) => format!("{sign}{number}"),
            Some(
                Token::SingleQuotedString(string)
                | Token::EscapedStringLiteral(string)
                | Token::NationalStringLiteral(string),
            ) => string.clone(),
            _ => return Err(words.unexpected()),
        };
        parts.push(part);
        if !words.take_token(&Token::Comma) {
            return Ok(Some(parts.join(", ")));
        }
    }
}

fn reset(words: &mut Words<'_>) -> Result<Command> {
    if words.take("ALL") {
        return Ok(Command::Reset(None));
    }
    let name = if words.take("TIME ZONE") {
        "timezone".into()
    } else if words.take("SESSION AUTHORIZATION") {
        "session_authorization".into()
    } else {
        setting_name(words)?
    };
    Ok(Command::Reset(Some(name)))
}

fn show(words: &mut Words<'_>) -> Result<Command> {
    if words.take("ALL") {
        return Ok(Command::Show(None));
    }
    let name = if words.take("TIME ZONE") {
        "timezone".into()
    } else if words.take("TRANSACTION ISOLATION LEVEL") {
        "transaction_isolation".into()
    } else if words.take("SESSION AUTHORIZATION") {
        "session_authorization".into()
    } else {
        setting_name(words)?
    };
    Ok(Command::Show(Some(name)))
}

fn discard(words: &mut Words<'_>) -> Result<Command> {
    let what = if words.take("ALL") {
        Discard::All
    } else if words.take("PLANS") {
        Discard::Plans
    } else if words.take("SEQUENCES") {
        Discard::Sequences
    } else if words.take("TEMP") || words.take("TEMPORARY") {
        Discard::Temporary
    } else {
        return Err(words.unexpected());
    };
    Ok(Command::Discard(what))
}

fn name_or_all(words: &mut Words<'_>) -> Result<Option<String>> {
    if words.take("ALL") { Ok(None) } else { Ok(Some(words.name()?)) }
}

/// The statement that follows the words read so far: none of those that have a statement inside themselves, or there would
/// be no end to how deep they nest.
fn embedded(text: &Arc<str>, words: &Words<'_>) -> Result<Parsed> {
    let nests = |word: &Word| matches!(word.keyword, Keyword::EXPLAIN | Keyword::PREPARE | Keyword::DECLARE);
    if words.is_done() || matches!(words.peek(), Some(Token::Word(word)) if nests(word)) {
        return Err(words.unexpected());
    }
    super::one(text, &words.rest(), &mut super::Walk::new(text))
}

/// The types in parentheses are parsed by `sqlparser`, from the whole statement, if there are any.
fn prepare(text: &Arc<str>, mut words: Words<'_>) -> Result<Command> {
    let whole = words.rest();
    let name = words.name()?;
    let mut types = Vec::new();
    if words.peek() == Some(&Token::LParen) {
        types = parameter_types(text, &whole)?;
        while !words.take_token(&Token::RParen) {
            if words.next().is_none() {
                return Err(words.unexpected());
            }
            // A type may have parentheses of its own: numeric(10, 2).
            if words.take_token(&Token::LParen) {
                while !words.take_token(&Token::RParen) {
                    if words.next().is_none() {
                        return Err(words.unexpected());
                    }
                }
            }
        }
    }
    if !words.take("AS") {
        return Err(words.unexpected());
    }
    Ok(Command::Prepare(name, types, Box::new(embedded(text, &words)?)))
}

/// The types of `name (type, type) AS ...`.
fn parameter_types(text: &str, tokens: &[TokenWithSpan]) -> Result<Vec<Option<Type>>> {
    let dialect = Dialect::new(tokens);
    let mut reader = Reader::new(text, &dialect, tokens);
    reader.name()?;
    reader.expect_token(&Token::LParen)?;
    let types = reader.list(Reader::data_type)?;
    types
        .into_iter()
        .map(|data_type| match data_type {
            unknown if unknown.text.eq_ignore_ascii_case("unknown") => Ok(None),
            known => known.meaning.map(|(data_type, _)| Some(data_type)),
        })
        .collect()
}

fn execute(reader: &mut Reader<'_>) -> Result<Command> {
    reader.expect("EXECUTE")?;
    let name = reader.value_word()?;
    let mut arguments = vec![];
    if reader.take_token(&Token::LParen) && !reader.take_token(&Token::RParen) {
        arguments = reader.list(Reader::expression)?;
        reader.expect_token(&Token::RParen)?;
    }
    Ok(Command::Execute(name, arguments))
}

fn declare(text: &Arc<str>, mut words: Words<'_>) -> Result<Command> {
    let name = words.name()?;
    loop {
        if words.take("CURSOR") {
            break;
        }
        if words.take("SCROLL") {
            return Err(Error::unsupported("a cursor that moves backward (SCROLL)"));
        }
        let known = ["BINARY", "ASENSITIVE", "INSENSITIVE", "NO SCROLL"];
        if !known.iter().any(|word| words.take(word)) {
            return Err(words.unexpected());
        }
    }
    let hold = words.take("WITH HOLD");
    let _ = hold || words.take("WITHOUT HOLD");
    if !words.take("FOR") {
        return Err(words.unexpected());
    }
    match embedded(text, &words)?.command {
        Command::Rows(statement) if matches!(*statement, ast::Statement::Query(_)) => {
            Ok(Command::Declare(name, statement, hold))
        }
        _ => Err(words.unexpected()),
    }
}

fn fetch(words: &mut Words<'_>, rows_wanted: bool) -> Result<Fetch> {
    let mut count = Some(1);
    if words.take("NEXT") {
    } else if words.take("ALL") || words.take("FORWARD ALL") {
        count = None;
    } else if ["PRIOR", "BACKWARD", "FIRST", "LAST", "ABSOLUTE", "RELATIVE"].iter().any(|word| words.take(word)) {
        let error = Error::new(pgtypes::state::OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward");
        return Err(error.hint("Declare it with SCROLL option to enable backward scan."));
    } else {
        words.take("FORWARD");
        if let Some(Token::Number(number, _)) = words.peek() {
            count = Some(number.parse().map_err(|_| words.unexpected())?);
            words.next();
        }
    }
    let _ = words.take("FROM") || words.take("IN");
    Ok(Fetch { cursor: words.name()?, count, rows_wanted })
}

fn explain(text: &Arc<str>, mut words: Words<'_>) -> Result<Command> {
    let (mut analyze, mut verbose, mut format) = (false, false, ExplainFormat::Text);
    if words.take_token(&Token::LParen) {
        while !words.take_token(&Token::RParen) {
            let option = words.name()?;
            let argument = match words.peek() {
                Some(Token::Word(word)) => word.value.to_lowercase(),
                Some(Token::Number(word, _) | Token::SingleQuotedString(word)) => word.to_lowercase(),
                _ => String::new(),
            };
            if !argument.is_empty() {
                words.next();
            }
            let on = !matches!(argument.as_str(), "false" | "off" | "0");
            match option.as_str() {
                "analyze" => analyze = on,
                "verbose" => verbose = on,
                "format" => format = explain_format(&argument)?,
                "costs" | "buffers" | "timing" | "summary" | "settings" | "wal" => {}
                _ => {
                    let message = format!("unrecognized EXPLAIN option \"{option}\"");
                    return Err(Error::new(pgtypes::state::SYNTAX_ERROR, message));
                }
            }
            words.take_token(&Token::Comma);
        }
    } else {
        analyze = words.take("ANALYZE");
        verbose = words.take("VERBOSE");
    }
    let statement = Box::new(embedded(text, &words)?);
    Ok(Command::Explain { analyze, verbose, format, statement })
}

fn explain_format(word: &str) -> Result<ExplainFormat> {
    match word {
        "text" => Ok(ExplainFormat::Text),
        "json" => Ok(ExplainFormat::Json),
        _ => Err(Error::unsupported(format!("EXPLAIN format \"{word}\""))),
    }
}

fn accept(words: &mut Words<'_>, tag: &'static str) -> Result<Command> {
    while words.next().is_some() {}
    Ok(Command::Accepted(tag))
}
