//! Clauses about where and how rows are stored. One that asks for what is so anyway is passed over; any other has no effect and
//! is noted, so that the session warns of it.

use crate::reader::{Reader, Token};
use pgtypes::{Error, Result, state};

const STORAGE: &str = "storage parameters are not used";
const TABLESPACES: &str = "pg_default is the only tablespace";
const LOGGED: &str = "every change is logged";

/// Parameters with the values that they have without being set. Programs write them: pgbench sets `fillfactor=100`.
const DEFAULTS: [(&str, &str); 2] = [("fillfactor", "100"), ("autovacuum_enabled", "true")];

/// UNLOGGED, if it comes next.
pub(super) fn unlogged(reader: &mut Reader<'_>) -> bool {
    let found = reader.take("UNLOGGED");
    if found {
        reader.no_effect("UNLOGGED", LOGGED);
    }
    found
}

/// `WITH (name = value, ...)`, if it comes next.
///
/// # Errors
/// 42601
pub(super) fn with_parameters(reader: &mut Reader<'_>) -> Result<()> {
    if reader.take("WITH") { parameters(reader, "WITH") } else { Ok(()) }
}

/// Parameters in parentheses, behind the words that set them.
///
/// # Errors
/// 42601
pub(super) fn parameters(reader: &mut Reader<'_>, clause: &str) -> Result<()> {
    for (name, value) in named(reader)? {
        if !DEFAULTS.iter().any(|(known, default)| name == *known && value.as_deref() == Some(default)) {
            reader.no_effect(&format!("{clause} ({name})"), STORAGE);
        }
    }
    Ok(())
}

/// `(name = value, prefix.name = value, name)`: the names, and the values that are one word or number.
///
/// # Errors
/// 42601
pub(super) fn named(reader: &mut Reader<'_>) -> Result<Vec<(String, Option<String>)>> {
    reader.expect_token(&Token::LParen)?;
    let named = reader.list(|reader| {
        let mut name = reader.folded_name()?;
        while reader.take_token(&Token::Period) {
            name = format!("{name}.{}", reader.folded_name()?);
        }
        let value = if reader.take_token(&Token::Eq) { Some(value(reader)?) } else { None };
        Ok((name, value))
    })?;
    reader.expect_token(&Token::RParen)?;
    Ok(named)
}

fn value(reader: &mut Reader<'_>) -> Result<String> {
    let sign = if reader.take_token(&Token::Minus) { "-" } else { "" };
    if let Token::Number(digits, _) = reader.peek() {
        let number = format!("{sign}{digits}");
        reader.skip();
        return Ok(number);
    }
    match reader.peek() {
        Token::Word(_) => reader.folded_name(),
        _ => reader.string(),
    }
}

/// `TABLESPACE name`, behind the words before the name.
///
/// # Errors
/// 42601
pub(super) fn tablespace(reader: &mut Reader<'_>, clause: &str) -> Result<()> {
    if reader.folded_name()? != "pg_default" {
        reader.no_effect(clause, TABLESPACES);
    }
    Ok(())
}

/// The name of a table's access method.
///
/// # Errors
/// 42601, 42704
pub(super) fn access_method(reader: &mut Reader<'_>) -> Result<()> {
    match reader.folded_name()? {
        heap if heap == "heap" => Ok(()),
        other => Err(Error::new(state::UNDEFINED_OBJECT, format!("access method \"{other}\" does not exist"))),
    }
}

/// What ALTER of a relation says about its storage, if that comes next.
///
/// # Errors
/// 42601, 42704
pub(super) fn of_relation(reader: &mut Reader<'_>) -> Result<bool> {
    // What is so anyway.
    const SO: [&str; 6] = [
        "SET WITHOUT CLUSTER",
        "SET WITHOUT OIDS",
        "SET LOGGED",
        "DISABLE ROW LEVEL SECURITY",
        "NO FORCE ROW LEVEL SECURITY",
        "REPLICA IDENTITY DEFAULT",
    ];
    const OTHERS: [&str; 8] = [
        "SET UNLOGGED",
        "SET TABLESPACE",
        "SET ACCESS METHOD",
        "REPLICA IDENTITY NOTHING",
        "REPLICA IDENTITY FULL",
        "REPLICA IDENTITY USING INDEX",
        "SET",
        "RESET",
    ];
    if reader.take_any(&SO).is_some() {
        return Ok(true);
    }
    let Some(words) = reader.take_any(&OTHERS) else { return Ok(false) };
    match words {
        "SET" => parameters(reader, "SET")?,
        // None is set.
        "RESET" => drop(named(reader)?),
        "SET UNLOGGED" => reader.no_effect(words, LOGGED),
        "SET TABLESPACE" => tablespace(reader, words)?,
        "SET ACCESS METHOD" => access_method(reader)?,
        identity => {
            if identity == "REPLICA IDENTITY USING INDEX" {
                reader.name()?;
            }
            reader.no_effect("REPLICA IDENTITY", "changes of rows are not published");
        }
    }
    Ok(true)
}

/// What ALTER COLUMN says about storage and statistics, if that comes next.
///
/// # Errors
/// 42601
pub(super) fn of_column(reader: &mut Reader<'_>) -> Result<bool> {
    const STATISTICS: &str = "there are no statistics of single columns";
    if matches!(reader.peek_at(1), Token::LParen) && (reader.says("SET") || reader.says("RESET")) {
        let sets = reader.take_any(&["SET", "RESET"]) == Some("SET");
        let named = named(reader)?;
        for (name, _) in named.iter().filter(|_| sets) {
            reader.no_effect(&format!("SET ({name})"), STATISTICS);
        }
        return Ok(true);
    }
    match reader.take_any(&["SET STATISTICS", "SET STORAGE", "SET COMPRESSION"]) {
        Some("SET STATISTICS") => {
            if reader.integer()? != -1 {
                reader.no_effect("SET STATISTICS", STATISTICS);
            }
        }
        Some("SET COMPRESSION") if reader.take("DEFAULT") => {}
        Some(words) => {
            reader.name()?;
            reader.no_effect(words, "all values are stored in the same way");
        }
        None => return Ok(false),
    }
    Ok(true)
}
