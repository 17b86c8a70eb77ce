//! Commands: the kinds of statements that the session distinguishes.

use super::{Parsed, ast, definition, lower, merge, reader, session, syntax, unexpected};
use pgtypes::Result;
use sqlparser::ast as parser;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Word};
use std::sync::Arc;

/// A statement by what the session does with it.
#[derive(Clone, Debug)]
pub enum Command {
    /// SELECT, INSERT, UPDATE, DELETE, MERGE, VALUES, TABLE.
    Rows(Arc<ast::Statement>),
    /// COPY
    Copy(Arc<ast::Copy>),
    /// CREATE, ALTER, DROP and the like; the warnings about those of its clauses that have no effect.
    Definition(Arc<ast::Definition>, Arc<[String]>),
    /// BEGIN, START TRANSACTION
    Begin(Modes),
    /// SET TRANSACTION
    SetTransaction(Modes),
    /// SET TRANSACTION SNAPSHOT
    SetSnapshot(String),
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
    Prepare(String, Vec<ast::DataType>, Box<Parsed>),
    /// EXECUTE name (arguments)
    Execute(String, Vec<ast::Expr>),
    /// DEALLOCATE name; `None`: ALL.
    Deallocate(Option<String>),
    /// DECLARE name CURSOR FOR query.
    Declare(Declare),
    /// FETCH, or MOVE if not `rows_wanted`.
    Fetch(Fetch),
    /// CLOSE name; `None`: ALL.
    Close(Option<String>),
    /// EXPLAIN
    Explain {
        /// What is shown, and how.
        options: ExplainOptions,
        /// The statement to explain.
        statement: Box<Parsed>,
    },
    /// CHECKPOINT
    Checkpoint,
    /// LISTEN
    Listen(String),
    /// UNLISTEN name; `None`: all.
    Unlisten(Option<String>),
    /// NOTIFY channel, payload
    Notify(String, String),
    /// LOAD: taken, without effect. The tag.
    Accepted(&'static str),
}

/// Modes of BEGIN and SET TRANSACTION. Isolation levels are accepted; all run serializable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// The isolation level that was given.
    pub isolation: Option<&'static str>,
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

/// DECLARE name CURSOR FOR query.
#[derive(Clone, Debug, PartialEq)]
pub struct Declare {
    /// The cursor.
    pub name: String,
    /// Its query.
    pub query: Arc<ast::Statement>,
    /// WITH HOLD.
    pub hold: bool,
    /// SCROLL.
    pub scroll: bool,
}

/// FETCH and MOVE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The cursor.
    pub cursor: String,
    /// Which rows.
    pub rows: Rows,
    /// FETCH, not MOVE.
    pub rows_wanted: bool,
}

/// Rows of a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// The next so many; `None`: all that follow; 0: the one that the cursor is on.
    Forward(Option<u64>),
    /// So many before it, the last first; `None`: all.
    Backward(Option<u64>),
    /// The one of this number, from 1; a negative number counts from the end.
    Absolute(i64),
    /// The one so many rows behind it, or before it.
    Relative(i64),
}

/// Options of EXPLAIN. BUFFERS, WAL and SETTINGS are accepted: there is nothing of the kind to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExplainOptions {
    /// Whether the statement is executed.
    pub analyze: bool,
    /// VERBOSE: the columns of each node.
    pub verbose: bool,
    /// COSTS. Default on.
    pub costs: bool,
    /// TIMING of each node. Default on.
    pub timing: bool,
    /// SUMMARY, if it is given.
    pub summary: Option<bool>,
    /// The form of the answer.
    pub format: ExplainFormat,
}

impl Default for ExplainOptions {
    fn default() -> ExplainOptions {
        let (analyze, verbose, format) = (false, false, ExplainFormat::Text);
        ExplainOptions { analyze, verbose, costs: true, timing: true, summary: None, format }
    }
}

impl ExplainOptions {
    /// Returns whether the times of the whole statement are shown.
    pub fn has_summary(&self) -> bool {
        self.summary.unwrap_or(self.analyze)
    }
}

/// The form of EXPLAIN's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainFormat {
    /// Lines.
    Text,
    /// JSON
    Json,
    /// XML
    Xml,
    /// YAML
    Yaml,
}

/// First words of the statements over the catalog.
const CATALOG: [&str; 14] = [
    "CREATE", "ALTER", "DROP", "TRUNCATE", "COMMENT", "GRANT", "REVOKE", "LOCK", "VACUUM", "ANALYZE", "ANALYSE",
    "REINDEX", "CLUSTER", "REASSIGN",
];

/// Determines a statement's kind by its first word, and parses it.
///
/// # Errors
/// 42601, 0A000
pub(crate) fn parse(text: &Arc<str>, tokens: &[TokenWithSpan]) -> Result<Command> {
    let Some(Token::Word(Word { value: first, quote_style: None, .. })) = first_word(tokens).map(|first| &first.token)
    else {
        return rows(text, tokens);
    };
    let is_one = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(first));
    if is_one(&CATALOG) {
        return reader::whole(text, tokens, |reader| {
            let definition = definition::definition(reader)?;
            Ok(Command::Definition(Arc::new(definition), reader.take_warnings().into()))
        });
    }
    if first.eq_ignore_ascii_case("COPY") {
        return reader::whole(text, tokens, definition::copy).map(|copy| Command::Copy(Arc::new(copy)));
    }
    if is_one(&session::WORDS) {
        return reader::whole(text, tokens, |reader| session::command(reader, text));
    }
    if is_merge(tokens) {
        let merge = reader::whole(text, tokens, merge::merge)?;
        return Ok(Command::Rows(Arc::new(merge)));
    }
    rows(text, tokens)
}

/// Returns whether a statement is MERGE, perhaps behind WITH.
fn is_merge(tokens: &[TokenWithSpan]) -> bool {
    let (mut depth, mut is_first, mut has_with) = (0_usize, true, false);
    for token in tokens {
        match &token.token {
            Token::Whitespace(_) => continue,
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::Word(word) if depth == 0 && word.quote_style.is_none() => {
                let is = |wanted: &str| word.value.eq_ignore_ascii_case(wanted);
                if is("MERGE") {
                    return is_first || has_with;
                }
                if is_first && !is("WITH") || ["SELECT", "INSERT", "UPDATE", "DELETE"].into_iter().any(is) {
                    return false;
                }
                has_with = true;
            }
            _ => {}
        }
        is_first = false;
    }
    false
}

/// A statement over rows. SELECT INTO is a definition.
fn rows(text: &str, tokens: &[TokenWithSpan]) -> Result<Command> {
    let mut statement = syntax(text, tokens)?;
    let into = match &mut statement {
        parser::Statement::Query(query) => take_into(query),
        parser::Statement::Insert(_) | parser::Statement::Update(_) | parser::Statement::Delete(_) => None,
        _ => {
            return Err(unexpected(
                text,
                tokens,
                first_word(tokens).map_or(Location::empty(), |first| first.span.start),
            ));
        }
    };
    let statement = lower::statement(statement).map_err(|refusal| refusal.in_text(text))?;
    match (into, statement) {
        (Some(into), ast::Statement::Query(query)) => {
            let create = create_table_as(into, *query);
            Ok(Command::Definition(Arc::new(ast::Definition::CreateTableAs(create)), Arc::default()))
        }
        (_, statement) => Ok(Command::Rows(Arc::new(statement))),
    }
}

fn first_word(tokens: &[TokenWithSpan]) -> Option<&TokenWithSpan> {
    tokens.iter().find(|token| !matches!(token.token, Token::Whitespace(_)))
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
        on_commit: None,
        columns: vec![],
        query,
        with_data: true,
        is_select_into: true,
    }
}
