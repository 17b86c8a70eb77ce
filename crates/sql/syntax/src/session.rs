//! Readers of statements about the session itself: transactions, settings, prepared statements, cursors.

use crate::command::{Command, Declare, Discard, ExplainFormat, ExplainOptions, Fetch, Modes, Rows, Setting};
use crate::reader::{Reader, Token};
use crate::{Parsed, Walk, ast, one};
use pgtypes::{Error, Result, state};
use std::sync::Arc;

/// First words of these statements.
pub(crate) const WORDS: [&str; 25] = [
    "ABORT",
    "BEGIN",
    "CHECKPOINT",
    "CLOSE",
    "COMMIT",
    "DEALLOCATE",
    "DECLARE",
    "DISCARD",
    "END",
    "EXECUTE",
    "EXPLAIN",
    "FETCH",
    "LISTEN",
    "LOAD",
    "MOVE",
    "NOTIFY",
    "PREPARE",
    "RELEASE",
    "RESET",
    "ROLLBACK",
    "SAVEPOINT",
    "SET",
    "SHOW",
    "START",
    "UNLISTEN",
];

/// Reads a statement that begins with one of [`WORDS`].
///
/// # Errors
/// 42601, 0A000
pub(crate) fn command(reader: &mut Reader<'_>, text: &Arc<str>) -> Result<Command> {
    let Some(first) = reader.take_any(&WORDS) else { return Err(reader.unexpected()) };
    Ok(match first {
        "BEGIN" => {
            let _ = reader.take_any(&["TRANSACTION", "WORK"]);
            Command::Begin(modes(reader)?)
        }
        "START" => {
            reader.expect("TRANSACTION")?;
            Command::Begin(modes(reader)?)
        }
        "COMMIT" | "END" => Command::Commit(end_of_block(reader)?),
        "ROLLBACK" | "ABORT" => rollback(reader)?,
        "SAVEPOINT" => Command::Savepoint(savepoint(reader)?),
        "RELEASE" => {
            reader.take("SAVEPOINT");
            Command::Release(savepoint(reader)?)
        }
        "SET" => set(reader)?,
        "RESET" => reset(reader)?,
        "SHOW" => show(reader)?,
        "DISCARD" => discard(reader)?,
        "PREPARE" => prepare(reader, text)?,
        "EXECUTE" => execute(reader)?,
        "DEALLOCATE" => {
            reader.take("PREPARE");
            Command::Deallocate(name_or_all(reader)?)
        }
        "DECLARE" => declare(reader, text)?,
        "FETCH" => Command::Fetch(fetch(reader, true)?),
        "MOVE" => Command::Fetch(fetch(reader, false)?),
        "CLOSE" => Command::Close(name_or_all(reader)?),
        "EXPLAIN" => explain(reader, text)?,
        "CHECKPOINT" => Command::Checkpoint,
        "LISTEN" => Command::Listen(reader.folded_name()?),
        "UNLISTEN" if reader.take_token(&Token::Mul) => Command::Unlisten(None),
        "UNLISTEN" => Command::Unlisten(Some(reader.folded_name()?)),
        "NOTIFY" => {
            let channel = reader.folded_name()?;
            let has_payload = reader.take_token(&Token::Comma);
            Command::Notify(channel, if has_payload { reader.string()? } else { String::new() })
        }
        accepted => {
            reader.skip_all();
            Command::Accepted(accepted)
        }
    })
}

fn modes(reader: &mut Reader<'_>) -> Result<Modes> {
    let mut modes = Modes::default();
    while !reader.is_done() {
        if reader.take("ISOLATION LEVEL") {
            let known = ["SERIALIZABLE", "REPEATABLE READ", "READ COMMITTED", "READ UNCOMMITTED"];
            modes.isolation = Some(reader.take_any(&known).ok_or_else(|| reader.unexpected())?);
        } else if reader.take("READ ONLY") {
            modes.read_only = Some(true);
        } else if reader.take("READ WRITE") {
            modes.read_only = Some(false);
        } else if reader.take("DEFERRABLE") {
            modes.deferrable = Some(true);
        } else if reader.take("NOT DEFERRABLE") {
            modes.deferrable = Some(false);
        } else {
            return Err(reader.unexpected());
        }
        reader.take_token(&Token::Comma);
    }
    Ok(modes)
}

/// Returns whether AND CHAIN follows.
fn end_of_block(reader: &mut Reader<'_>) -> Result<bool> {
    let _ = reader.take("TRANSACTION") || reader.take("WORK");
    let chain = reader.take("AND CHAIN");
    let _ = chain || reader.take("AND NO CHAIN");
    if reader.take("PREPARED") {
        return Err(Error::unsupported("two-phase commit"));
    }
    Ok(chain)
}

/// The name of a savepoint.
fn savepoint(reader: &mut Reader<'_>) -> Result<String> {
    reader.refuse_reserved()?;
    reader.folded_name()
}

fn rollback(reader: &mut Reader<'_>) -> Result<Command> {
    let _ = reader.take("TRANSACTION") || reader.take("WORK");
    if reader.take("TO") {
        reader.take("SAVEPOINT");
        return Ok(Command::RollbackTo(savepoint(reader)?));
    }
    Ok(Command::Rollback(end_of_block(reader)?))
}

fn set(reader: &mut Reader<'_>) -> Result<Command> {
    if reader.take("SESSION CHARACTERISTICS AS TRANSACTION") {
        return Ok(Command::SetCharacteristics(modes(reader)?));
    }
    if reader.take("TRANSACTION SNAPSHOT") {
        return reader.string().map(Command::SetSnapshot);
    }
    if reader.take("TRANSACTION") {
        return Ok(Command::SetTransaction(modes(reader)?));
    }
    if reader.take("CONSTRAINTS") {
        return set_constraints(reader);
    }
    let local = reader.take("LOCAL");
    let _ = local || reader.take("SESSION");
    let (name, value) = assignment(reader)?;
    Ok(Command::Set(Setting { name, value, local }))
}

/// A setting's name and value, behind SET; `None` for DEFAULT.
pub(crate) fn assignment(reader: &mut Reader<'_>) -> Result<(String, Option<String>)> {
    Ok(if reader.take("TIME ZONE") {
        ("timezone".into(), time_zone(reader)?)
    } else if reader.take("SESSION AUTHORIZATION") || reader.take("AUTHORIZATION") {
        ("session_authorization".into(), value(reader)?)
    } else if reader.take("ROLE") {
        ("role".into(), value(reader)?)
    } else if reader.take("NAMES") {
        ("client_encoding".into(), if reader.is_done() { None } else { value(reader)? })
    } else if reader.take("XML OPTION") {
        ("xmloption".into(), value(reader)?)
    } else {
        let name = setting_name(reader)?;
        if !(reader.take_token(&Token::Eq) || reader.take("TO")) {
            return Err(reader.unexpected());
        }
        (name, value(reader)?)
    })
}

/// The value of SET TIME ZONE: a name, an offset, or an interval with its fields.
fn time_zone(reader: &mut Reader<'_>) -> Result<Option<String>> {
    let is_interval = reader.says("INTERVAL");
    let zone = value(reader)?;
    if is_interval {
        let _ = reader.take_any(&["HOUR TO MINUTE", "HOUR TO SECOND", "HOUR"]);
        return Ok(zone.map(|zone| zone_of_interval(&zone).unwrap_or(zone)));
    }
    Ok(zone.filter(|zone| !zone.eq_ignore_ascii_case("local")))
}

/// `-03:30` as the POSIX zone `<-03:30>+03:30`, which counts westwards.
fn zone_of_interval(interval: &str) -> Option<String> {
    let (sign, west, clock) = match interval.trim().strip_prefix('-') {
        Some(clock) => ('-', '+', clock),
        None => ('+', '-', interval.trim().trim_start_matches('+')),
    };
    let (hours, minutes) = clock.split_once(':').unwrap_or((clock, "0"));
    let (hours, minutes): (u8, u8) = (hours.parse().ok()?, minutes.parse().ok()?);
    let offset = if minutes == 0 { format!("{hours:02}") } else { format!("{hours:02}:{minutes:02}") };
    Some(format!("<{sign}{offset}>{west}{offset}"))
}

fn set_constraints(reader: &mut Reader<'_>) -> Result<Command> {
    let mut names = Vec::new();
    if !reader.take("ALL") {
        loop {
            names.push(setting_name(reader)?);
            if !reader.take_token(&Token::Comma) {
                break;
            }
        }
    }
    let deferred = reader.take("DEFERRED");
    if !deferred && !reader.take("IMMEDIATE") {
        return Err(reader.unexpected());
    }
    Ok(Command::SetConstraints(names, deferred))
}

/// `name` or `prefix.name`.
pub(crate) fn setting_name(reader: &mut Reader<'_>) -> Result<String> {
    let mut name = reader.folded_name()?;
    while reader.take_token(&Token::Period) {
        name = format!("{name}.{}", reader.folded_name()?);
    }
    Ok(name)
}

/// The value of a setting: one or more words, numbers and strings, joined by commas; `None` for DEFAULT.
fn value(reader: &mut Reader<'_>) -> Result<Option<String>> {
    if reader.take("DEFAULT") {
        return Ok(None);
    }
    let mut parts = Vec::new();
    loop {
        let sign = if reader.take_token(&Token::Minus) { "-" } else { "" };
        reader.take_token(&Token::Plus);
        reader.take("INTERVAL");
        let part = match reader.peek() {
            Token::Word(word) if word.quote_style.is_none() => word.value.to_lowercase(),
            Token::Word(word) => word.value.clone(),
            Token::Number(number, _) => format!("{sign}{number}"),
            Token::SingleQuotedString(string)
            | Token::EscapedStringLiteral(string)
            | Token::NationalStringLiteral(string) => string.clone(),
            _ => return Err(reader.unexpected()),
        };
        reader.skip();
        parts.push(part);
        if !reader.take_token(&Token::Comma) {
            return Ok(Some(parts.join(", ")));
        }
    }
}

fn reset(reader: &mut Reader<'_>) -> Result<Command> {
    reset_name(reader).map(Command::Reset)
}

/// The setting behind RESET; `None` for ALL.
pub(crate) fn reset_name(reader: &mut Reader<'_>) -> Result<Option<String>> {
    if reader.take("ALL") {
        return Ok(None);
    }
    let name = if reader.take("TIME ZONE") {
        "timezone".into()
    } else if reader.take("SESSION AUTHORIZATION") {
        "session_authorization".into()
    } else {
        setting_name(reader)?
    };
    Ok(Some(name))
}

fn show(reader: &mut Reader<'_>) -> Result<Command> {
    if reader.take("ALL") {
        return Ok(Command::Show(None));
    }
    let name = if reader.take("TIME ZONE") {
        "timezone".into()
    } else if reader.take("TRANSACTION ISOLATION LEVEL") {
        "transaction_isolation".into()
    } else if reader.take("SESSION AUTHORIZATION") {
        "session_authorization".into()
    } else {
        setting_name(reader)?
    };
    Ok(Command::Show(Some(name)))
}

fn discard(reader: &mut Reader<'_>) -> Result<Command> {
    let what = if reader.take("ALL") {
        Discard::All
    } else if reader.take("PLANS") {
        Discard::Plans
    } else if reader.take("SEQUENCES") {
        Discard::Sequences
    } else if reader.take("TEMP") || reader.take("TEMPORARY") {
        Discard::Temporary
    } else {
        return Err(reader.unexpected());
    };
    Ok(Command::Discard(what))
}

fn name_or_all(reader: &mut Reader<'_>) -> Result<Option<String>> {
    if reader.take("ALL") { Ok(None) } else { Ok(Some(reader.folded_name()?)) }
}

/// The statement that follows what has been read: none of those that have a statement inside themselves, or there would be
/// no end to how deep they nest.
fn embedded(reader: &mut Reader<'_>, text: &Arc<str>) -> Result<Parsed> {
    let nests = ["EXPLAIN", "PREPARE", "DECLARE"].iter().any(|word| reader.says(word));
    if reader.is_done() || nests {
        return Err(reader.unexpected());
    }
    one(text, reader.take_rest(), &mut Walk::new(text))
}

/// `PREPARE name (type, type) AS statement`
fn prepare(reader: &mut Reader<'_>, text: &Arc<str>) -> Result<Command> {
    let name = reader.folded_name()?;
    let mut types = Vec::new();
    if reader.take_token(&Token::LParen) {
        types = reader.list(Reader::data_type)?;
        reader.expect_token(&Token::RParen)?;
    }
    reader.expect("AS")?;
    Ok(Command::Prepare(name, types, Box::new(embedded(reader, text)?)))
}

fn execute(reader: &mut Reader<'_>) -> Result<Command> {
    let name = reader.folded_name()?;
    let mut arguments = vec![];
    if reader.take_token(&Token::LParen) && !reader.take_token(&Token::RParen) {
        arguments = reader.list(Reader::expression)?;
        reader.expect_token(&Token::RParen)?;
    }
    Ok(Command::Execute(name, arguments))
}

fn declare(reader: &mut Reader<'_>, text: &Arc<str>) -> Result<Command> {
    let name = reader.folded_name()?;
    let mut scroll = false;
    loop {
        if reader.take("CURSOR") {
            break;
        }
        if reader.take("SCROLL") {
            scroll = true;
            continue;
        }
        let known = ["BINARY", "ASENSITIVE", "INSENSITIVE", "NO SCROLL"];
        if !known.iter().any(|word| reader.take(word)) {
            return Err(reader.unexpected());
        }
    }
    let hold = reader.take("WITH HOLD");
    let _ = hold || reader.take("WITHOUT HOLD");
    if !reader.take("FOR") {
        return Err(reader.unexpected());
    }
    let not_a_query = reader.unexpected();
    match embedded(reader, text)?.command {
        Command::Rows(statement) if matches!(*statement, ast::Statement::Query(_)) => {
            Ok(Command::Declare(Declare { name, query: statement, hold, scroll }))
        }
        _ => Err(not_a_query),
    }
}

fn fetch(reader: &mut Reader<'_>, rows_wanted: bool) -> Result<Fetch> {
    let rows = match () {
        () if reader.take("NEXT") => Rows::Forward(Some(1)),
        () if reader.take("PRIOR") => Rows::Backward(Some(1)),
        () if reader.take("FIRST") => Rows::Absolute(1),
        () if reader.take("LAST") => Rows::Absolute(-1),
        () if reader.take("ABSOLUTE") => Rows::Absolute(signed(reader)?.ok_or_else(|| reader.unexpected())?),
        () if reader.take("RELATIVE") => Rows::Relative(signed(reader)?.ok_or_else(|| reader.unexpected())?),
        () => {
            let is_backward = reader.take("BACKWARD");
            let _ = is_backward || reader.take("FORWARD");
            let count = if reader.take("ALL") { None } else { Some(signed(reader)?.unwrap_or(1)) };
            let length = count.map(i64::unsigned_abs);
            match is_backward != count.is_some_and(i64::is_negative) {
                true => Rows::Backward(length),
                false => Rows::Forward(length),
            }
        }
    };
    let _ = reader.take("FROM") || reader.take("IN");
    Ok(Fetch { cursor: reader.folded_name()?, rows, rows_wanted })
}

/// A number with or without a sign, if one comes next.
fn signed(reader: &mut Reader<'_>) -> Result<Option<i64>> {
    let is_negative = reader.take_token(&Token::Minus);
    let has_sign = is_negative || reader.take_token(&Token::Plus);
    let Token::Number(number, _) = reader.peek() else {
        return if has_sign { Err(reader.unexpected()) } else { Ok(None) };
    };
    let number: i64 = number.parse().map_err(|_| reader.unexpected())?;
    reader.skip();
    Ok(Some(if is_negative { -number } else { number }))
}

fn explain(reader: &mut Reader<'_>, text: &Arc<str>) -> Result<Command> {
    let mut options = ExplainOptions::default();
    if reader.take_token(&Token::LParen) {
        while !reader.take_token(&Token::RParen) {
            explain_option(reader, &mut options)?;
            reader.take_token(&Token::Comma);
        }
    } else {
        options.analyze = reader.take("ANALYZE") || reader.take("ANALYSE");
        options.verbose = reader.take("VERBOSE");
    }
    let statement = Box::new(embedded(reader, text)?);
    Ok(Command::Explain { options, statement })
}

fn explain_option(reader: &mut Reader<'_>, options: &mut ExplainOptions) -> Result<()> {
    let option = reader.folded_name()?;
    let argument = match reader.peek() {
        Token::Word(word) => word.value.to_lowercase(),
        Token::Number(word, _) | Token::SingleQuotedString(word) => word.to_lowercase(),
        _ => String::new(),
    };
    if !argument.is_empty() {
        reader.skip();
    }
    if option == "format" {
        options.format = explain_format(&argument)?;
        return Ok(());
    }
    let on = match argument.as_str() {
        "" | "true" | "on" | "1" => true,
        "false" | "off" | "0" => false,
        _ => return Err(Error::new(state::SYNTAX_ERROR, format!("{option} requires a Boolean value"))),
    };
    match option.as_str() {
        "analyze" => options.analyze = on,
        "verbose" => options.verbose = on,
        "costs" => options.costs = on,
        "timing" => options.timing = on,
        "summary" => options.summary = Some(on),
        "buffers" | "settings" | "wal" => {}
        _ => {
            let message = format!("unrecognized EXPLAIN option \"{option}\"");
            return Err(Error::new(state::SYNTAX_ERROR, message));
        }
    }
    Ok(())
}

fn explain_format(word: &str) -> Result<ExplainFormat> {
    match word {
        "text" => Ok(ExplainFormat::Text),
        "json" => Ok(ExplainFormat::Json),
        "xml" => Ok(ExplainFormat::Xml),
        "yaml" => Ok(ExplainFormat::Yaml),
        _ => {
            let message = format!("unrecognized value for EXPLAIN option \"format\": \"{word}\"");
            Err(Error::new(state::INVALID_PARAMETER_VALUE, message))
        }
    }
}
