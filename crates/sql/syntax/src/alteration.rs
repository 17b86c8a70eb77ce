//! Definitions that `sqlparser` does not read, or only in another order: sequences, ALTER of relations other than tables'
//! columns, and a few forms of ALTER TABLE that dumps contain.

use super::words::Words;
use pgtypes::Type;
use pgtypes::{Error, Result, state};
use sqlparser::ast::{Expr, Ident, ObjectName, SequenceOptions, Value};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// A definition of one of these kinds.
#[derive(Clone, Debug)]
pub enum Alteration {
    /// CREATE SEQUENCE
    CreateSequence {
        /// Its name.
        name: ObjectName,
        /// TEMPORARY
        temporary: bool,
        /// IF NOT EXISTS
        if_not_exists: bool,
        /// Options of the sequence.
        options: SequenceWords,
    },
    /// ALTER of a relation or schema.
    Alter {
        /// Which kind of object.
        kind: Kind,
        /// Its name.
        name: ObjectName,
        /// IF EXISTS
        if_exists: bool,
        /// The change.
        action: Action,
    },
    /// VACUUM, ANALYZE, REINDEX, CLUSTER: the tables that it names must be there.
    Maintenance {
        /// The tag.
        tag: &'static str,
        /// The relations.
        names: Vec<ObjectName>,
    },
}

/// Kinds of objects that ALTER names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// TABLE
    Table,
    /// INDEX
    Index,
    /// SEQUENCE
    Sequence,
    /// VIEW
    View,
    /// SCHEMA
    Schema,
}

impl Kind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Table => "TABLE",
            Kind::Index => "INDEX",
            Kind::Sequence => "SEQUENCE",
            Kind::View => "VIEW",
            Kind::Schema => "SCHEMA",
        }
    }
}

/// Kind of object that ALTER changes.
#[derive(Clone, Debug)]
pub enum Action {
    /// RENAME TO
    Rename(String),
    /// SET SCHEMA
    SetSchema(String),
    /// OWNER TO
    Owner(String),
    /// The options of a sequence.
    Sequence(SequenceWords),
    /// ALTER COLUMN ... ADD GENERATED AS IDENTITY; whether ALWAYS.
    AddIdentity(String, bool, SequenceWords),
    /// ALTER COLUMN ... SET GENERATED, and options of the sequence; whether ALWAYS.
    SetIdentity(String, Option<bool>, SequenceWords),
    /// ALTER COLUMN ... DROP IDENTITY; whether IF EXISTS.
    DropIdentity(String, bool),
    /// Storage or statistics of a column: the column must exist.
    ColumnStorage(String),
    /// Storage of the relation.
    Storage,
}

/// Options of a sequence, in any order.
#[derive(Clone, Debug, Default)]
pub struct SequenceWords {
    /// AS
    pub data_type: Option<Type>,
    /// INCREMENT and the like.
    pub options: Vec<SequenceOptions>,
    /// OWNED BY
    pub owned_by: Option<ObjectName>,
    /// `RESTART [WITH]`
    pub restart: Option<Option<Expr>>,
    /// SEQUENCE NAME, of an identity column.
    pub name: Option<ObjectName>,
}

/// Reads such a definition; `None` if the statement is another, for other readers.
///
/// # Errors
/// 42601
pub fn read(words: &Words<'_>) -> Result<Option<Alteration>> {
    let mut words = words.clone();
    if words.take("CREATE") {
        return create(words);
    }
    if words.take("ALTER") {
        return alter(words);
    }
    let tag = match () {
        () if words.take("VACUUM") => "VACUUM",
        () if words.take("ANALYZE") || words.take("ANALYSE") => "ANALYZE",
        () if words.take("REINDEX") => "REINDEX",
        () if words.take("CLUSTER") => "CLUSTER",
        () => return Ok(None),
    };
    maintenance(words, tag).map(Some)
}

fn create(mut words: Words<'_>) -> Result<Option<Alteration>> {
    let temporary = words.take("TEMPORARY") || words.take("TEMP");
    if !temporary {
        words.take("UNLOGGED");
    }
    if !words.take("SEQUENCE") {
        return Ok(None);
    }
    let if_not_exists = words.take("IF NOT EXISTS");
    let name = object_name(&mut words)?;
    let options = sequence_words(&mut words)?;
    words.end()?;
    Ok(Some(Alteration::CreateSequence { name, temporary, if_not_exists, options }))
}

/// The tokens of a CREATE as `sqlparser` reads them, and the columns that `CREATE TABLE name (a, b) AS` names without types:
/// UNLOGGED goes, since every table is logged, and what identity columns say about their sequences is put in order.
pub fn readable_create(words: &Words<'_>) -> (Vec<TokenWithSpan>, Vec<Ident>) {
    let mut words = words.clone();
    words.take("CREATE");
    let mut tokens = words.since(0);
    if !words.take("UNLOGGED") {
        let start = words.count();
        let _ = words.take("GLOBAL") || words.take("LOCAL");
        let _ = words.take("TEMPORARY") || words.take("TEMP");
        tokens.extend(words.since(start));
    }
    let start = words.count();
    let names = if words.take("TABLE") { named_columns(&mut words) } else { None };
    match names {
        Some((names, before)) => {
            tokens.extend(before);
            tokens.extend(words.rest());
            (tokens, names)
        }
        None => {
            tokens.extend(words.since(start));
            in_order(&mut words, &mut tokens);
            (tokens, vec![])
        }
    }
}

/// Reads `name (a, b)` if AS follows; gives the columns, and what stood before them.
fn named_columns(words: &mut Words<'_>) -> Option<(Vec<Ident>, Vec<TokenWithSpan>)> {
    let mut ahead = words.clone();
    ahead.take("IF NOT EXISTS");
    object_name(&mut ahead).ok()?;
    let before = ahead.since(words.count() - 1);
    let mut names = Vec::new();
    if !ahead.take_token(&Token::LParen) {
        return None;
    }
    loop {
        names.push(Ident::with_quote('"', ahead.name().ok()?));
        if !ahead.take_token(&Token::Comma) {
            break;
        }
    }
    if !ahead.take_token(&Token::RParen) || !ahead.clone().take("AS") {
        return None;
    }
    *words = ahead;
    Some((names, before))
}

/// Copies the rest of a statement. The options of `IDENTITY (...)` are put in the order in which `sqlparser` reads them.
fn in_order(words: &mut Words<'_>, tokens: &mut Vec<TokenWithSpan>) {
    while !words.is_done() {
        let start = words.count();
        let is_identity = words.take("IDENTITY") && words.take_token(&Token::LParen);
        if words.count() == start {
            words.next();
        }
        tokens.extend(words.since(start));
        if !is_identity {
            continue;
        }
        let mut options = Vec::new();
        loop {
            let (start, mut said) = (words.count(), SequenceWords::default());
            match sequence_word(words, &mut said) {
                Ok(true) => options.push((said.options.first().map_or(0, rank), words.since(start))),
                _ => break,
            }
        }
        options.sort_by_key(|(rank, _)| *rank);
        tokens.extend(options.into_iter().flat_map(|(_, tokens)| tokens));
    }
}

fn rank(option: &SequenceOptions) -> u8 {
    match option {
        SequenceOptions::IncrementBy(..) => 0,
        SequenceOptions::MinValue(_) => 1,
        SequenceOptions::MaxValue(_) => 2,
        SequenceOptions::StartWith(..) => 3,
        SequenceOptions::Cache(_) => 4,
        SequenceOptions::Cycle(_) => 5,
    }
}

fn alter(mut words: Words<'_>) -> Result<Option<Alteration>> {
    let kinds = [Kind::Table, Kind::Index, Kind::Sequence, Kind::View, Kind::Schema];
    let Some(kind) = kinds.into_iter().find(|kind| words.take(kind.word())) else { return Ok(None) };
    let if_exists = words.take("IF EXISTS");
    words.take("ONLY");
    let name = object_name(&mut words)?;
    words.take_token(&Token::Mul);
    let action = match action(&mut words, kind)? {
        Some(action) => action,
        None if kind == Kind::Sequence => Action::Sequence(sequence_words(&mut words)?),
        None => return Ok(None),
    };
    words.end()?;
    Ok(Some(Alteration::Alter { kind, name, if_exists, action }))
}

/// Reads the action of ALTER, if this module handles it.
fn action(words: &mut Words<'_>, kind: Kind) -> Result<Option<Action>> {
    if words.take("RENAME TO") {
        return words.name().map(|name| Some(Action::Rename(name)));
    }
    if words.take("SET SCHEMA") {
        return words.name().map(|name| Some(Action::SetSchema(name)));
    }
    if words.take("OWNER TO") {
        return words.name().map(|name| Some(Action::Owner(name)));
    }
    match kind {
        Kind::Table => table_action(words),
        Kind::Index if words.take("SET") || words.take("RESET") => {
            parenthesized(words)?;
            Ok(Some(Action::Storage))
        }
        _ => Ok(None),
    }
}

fn table_action(words: &mut Words<'_>) -> Result<Option<Action>> {
    if words.take("CLUSTER ON") {
        words.name()?;
        return Ok(Some(Action::Storage));
    }
    if words.take("SET WITHOUT CLUSTER") || words.take("SET LOGGED") || words.take("SET UNLOGGED") {
        return Ok(Some(Action::Storage));
    }
    if words.take("SET TABLESPACE") || words.take("SET ACCESS METHOD") {
        words.name()?;
        return Ok(Some(Action::Storage));
    }
    if words.take("RESET") {
        parenthesized(words)?;
        return Ok(Some(Action::Storage));
    }
    if !words.take("ALTER") {
        return Ok(None);
    }
    words.take("COLUMN");
    let column = words.name()?;
    column_action(words, column)
}

fn column_action(words: &mut Words<'_>, column: String) -> Result<Option<Action>> {
    if words.take("SET STATISTICS") {
        integer(words)?;
        return Ok(Some(Action::ColumnStorage(column)));
    }
    if words.take("SET STORAGE") || words.take("SET COMPRESSION") {
        words.name()?;
        return Ok(Some(Action::ColumnStorage(column)));
    }
    if words.take("DROP IDENTITY") {
        let if_exists = words.take("IF EXISTS");
        return Ok(Some(Action::DropIdentity(column, if_exists)));
    }
    if words.take("ADD GENERATED") {
        let always = always(words)?;
        if !words.take("AS IDENTITY") {
            return Err(words.unexpected());
        }
        let options = if words.take_token(&Token::LParen) {
            let options = sequence_words(words)?;
            expect(words, &Token::RParen)?;
            options
        } else {
            SequenceWords::default()
        };
        return Ok(Some(Action::AddIdentity(column, always, options)));
    }
    set_identity(words, column)
}

/// `SET GENERATED ALWAYS SET INCREMENT BY 2 RESTART`
fn set_identity(words: &mut Words<'_>, column: String) -> Result<Option<Action>> {
    let (mut generated, mut said) = (None, SequenceWords::default());
    loop {
        if words.take("SET GENERATED") {
            generated = Some(always(words)?);
        } else if sequence_word(&mut words.clone(), &mut said.clone()).is_ok_and(|read| read) {
            sequence_word(words, &mut said)?;
        } else {
            let mut ahead = words.clone();
            let is_option = ahead.take("SET") && sequence_word(&mut ahead, &mut said.clone()).is_ok_and(|read| read);
            if !is_option {
                break;
            }
            words.take("SET");
            sequence_word(words, &mut said)?;
        }
    }
    let is_ours = generated.is_some() || said.restart.is_some() || !said.options.is_empty();
    Ok(is_ours.then_some(Action::SetIdentity(column, generated, said)))
}

fn always(words: &mut Words<'_>) -> Result<bool> {
    if words.take("ALWAYS") {
        Ok(true)
    } else if words.take("BY DEFAULT") {
        Ok(false)
    } else {
        Err(words.unexpected())
    }
}

fn sequence_words(words: &mut Words<'_>) -> Result<SequenceWords> {
    let mut said = SequenceWords::default();
    while sequence_word(words, &mut said)? {}
    Ok(said)
}

/// Reads one option of a sequence; `false` if none comes next.
fn sequence_word(words: &mut Words<'_>, said: &mut SequenceWords) -> Result<bool> {
    let redundant = || Err(Error::new(state::SYNTAX_ERROR, "conflicting or redundant options"));
    if words.take("AS") {
        let name = words.name()?;
        let unknown = || Error::new(state::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"));
        if said.data_type.replace(Type::parse_name(&name).ok_or_else(unknown)?).is_some() {
            return redundant();
        }
    } else if words.take("INCREMENT") {
        words.take("BY");
        said.options.push(SequenceOptions::IncrementBy(integer(words)?, true));
    } else if words.take("MINVALUE") {
        said.options.push(SequenceOptions::MinValue(Some(integer(words)?)));
    } else if words.take("MAXVALUE") {
        said.options.push(SequenceOptions::MaxValue(Some(integer(words)?)));
    } else if words.take("NO MINVALUE") {
        said.options.push(SequenceOptions::MinValue(None));
    } else if words.take("NO MAXVALUE") {
        said.options.push(SequenceOptions::MaxValue(None));
    } else if words.take("START") {
        words.take("WITH");
        said.options.push(SequenceOptions::StartWith(integer(words)?, true));
    } else if words.take("CACHE") {
        said.options.push(SequenceOptions::Cache(integer(words)?));
    } else if words.take("NO CYCLE") {
        said.options.push(SequenceOptions::Cycle(true));
    } else if words.take("CYCLE") {
        said.options.push(SequenceOptions::Cycle(false));
    } else if words.take("OWNED BY") {
        if said.owned_by.replace(object_name(words)?).is_some() {
            return redundant();
        }
    } else if words.take("SEQUENCE NAME") {
        said.name = Some(object_name(words)?);
    } else if words.take("RESTART") {
        let with = words.take("WITH");
        let follows = with || matches!(words.peek(), Some(Token::Number(..) | Token::Minus | Token::Plus));
        let value = if follows { Some(integer(words)?) } else { None };
        if said.restart.replace(value).is_some() {
            return redundant();
        }
    } else {
        return Ok(words.take("LOGGED") || words.take("UNLOGGED"));
    }
    Ok(true)
}

fn integer(words: &mut Words<'_>) -> Result<Expr> {
    let negative = words.take_token(&Token::Minus);
    if !negative {
        words.take_token(&Token::Plus);
    }
    let Some(Token::Number(digits, _)) = words.peek() else { return Err(words.unexpected()) };
    words.next();
    let digits = if negative { format!("-{digits}") } else { digits.clone() };
    Ok(Expr::value(Value::Number(digits, false)))
}

fn object_name(words: &mut Words<'_>) -> Result<ObjectName> {
    // Quoted, so that it is not folded once more.
    let mut parts = vec![Ident::with_quote('"', words.name()?)];
    while words.take_token(&Token::Period) {
        parts.push(Ident::with_quote('"', words.name()?));
    }
    Ok(ObjectName::from(parts))
}

fn expect(words: &mut Words<'_>, token: &Token) -> Result<()> {
    if words.take_token(token) { Ok(()) } else { Err(words.unexpected()) }
}

/// Passes over options in parentheses.
fn parenthesized(words: &mut Words<'_>) -> Result<()> {
    expect(words, &Token::LParen)?;
    let mut depth = 1;
    while depth > 0 {
        match words.next() {
            Some(Token::LParen) => depth += 1,
            Some(Token::RParen) => depth -= 1,
            Some(_) => {}
            None => return Err(words.unexpected()),
        }
    }
    Ok(())
}

fn maintenance(mut words: Words<'_>, tag: &'static str) -> Result<Alteration> {
    if words.peek() == Some(&Token::LParen) {
        parenthesized(&mut words)?;
    }
    while ["FULL", "FREEZE", "VERBOSE", "ANALYZE"].iter().any(|word| words.take(word)) {}
    if tag == "REINDEX" {
        if words.take("DATABASE") || words.take("SYSTEM") || words.take("SCHEMA") {
            words.take("CONCURRENTLY");
            words.name()?;
            words.end()?;
            return Ok(Alteration::Maintenance { tag, names: vec![] });
        }
        if !words.take("TABLE") && !words.take("INDEX") {
            return Err(words.unexpected());
        }
        words.take("CONCURRENTLY");
    }
    let mut names = Vec::new();
    while !words.is_done() {
        words.take("ONLY");
        names.push(object_name(&mut words)?);
        if words.peek() == Some(&Token::LParen) {
            parenthesized(&mut words)?;
        }
        if tag == "CLUSTER" && words.take("USING") {
            words.name()?;
        }
        if !words.take_token(&Token::Comma) {
            break;
        }
    }
    words.end()?;
    Ok(Alteration::Maintenance { tag, names })
}
