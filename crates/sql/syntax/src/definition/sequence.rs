//! The options of sequences, as CREATE and ALTER SEQUENCE and identity columns have them.

use super::storage;
use crate::ast::SequenceOptions;
use crate::reader::{Reader, Token};
use pgtypes::{Error, Result, Type, state};

/// 42601
pub(super) fn redundant() -> Error {
    Error::new(state::SYNTAX_ERROR, "conflicting or redundant options")
}

/// Reads options, in any order, as long as some come.
pub(super) fn options(reader: &mut Reader<'_>) -> Result<SequenceOptions> {
    let mut options = SequenceOptions::default();
    while option(reader, &mut options)? {}
    Ok(options)
}

/// `GENERATED ... AS IDENTITY`, from what comes after GENERATED. Returns whether it is ALWAYS.
pub(super) fn identity(reader: &mut Reader<'_>) -> Result<(bool, SequenceOptions)> {
    let always = always(reader)?;
    reader.expect("AS IDENTITY")?;
    Ok((always, in_parentheses(reader)?))
}

/// ALWAYS or BY DEFAULT: returns whether it is ALWAYS.
pub(super) fn always(reader: &mut Reader<'_>) -> Result<bool> {
    match reader.take_any(&["ALWAYS", "BY DEFAULT"]) {
        Some(said) => Ok(said == "ALWAYS"),
        None => Err(reader.unexpected()),
    }
}

/// The options of an identity column, whose type and owner are the column's.
pub(super) fn in_parentheses(reader: &mut Reader<'_>) -> Result<SequenceOptions> {
    if !reader.take_token(&Token::LParen) {
        return Ok(SequenceOptions::default());
    }
    let options = options(reader)?;
    reader.expect_token(&Token::RParen)?;
    if options.data_type.is_some() || options.owned_by.is_some() || options.restart.is_some() {
        return Err(redundant());
    }
    Ok(options)
}

/// Reads one option; `false` if none comes next.
pub(super) fn option(reader: &mut Reader<'_>, options: &mut SequenceOptions) -> Result<bool> {
    if reader.take("AS") {
        set(&mut options.data_type, data_type(reader)?)?;
    } else if reader.take("INCREMENT") {
        reader.take("BY");
        set(&mut options.increment, reader.integer()?)?;
    } else if reader.take("MINVALUE") {
        set(&mut options.min, Some(reader.integer()?))?;
    } else if reader.take("MAXVALUE") {
        set(&mut options.max, Some(reader.integer()?))?;
    } else if reader.take("NO MINVALUE") {
        set(&mut options.min, None)?;
    } else if reader.take("NO MAXVALUE") {
        set(&mut options.max, None)?;
    } else if reader.take("START") {
        reader.take("WITH");
        set(&mut options.start, reader.integer()?)?;
    } else if reader.take("CACHE") {
        set(&mut options.cache, reader.integer()?)?;
    } else if reader.take("NO CYCLE") {
        set(&mut options.cycle, false)?;
    } else if reader.take("CYCLE") {
        set(&mut options.cycle, true)?;
    } else if reader.take("OWNED BY") {
        set(&mut options.owned_by, reader.object_name()?)?;
    } else if reader.take("SEQUENCE NAME") {
        set(&mut options.name, reader.object_name()?)?;
    } else if reader.take("RESTART") {
        let with = reader.take("WITH");
        let follows = with || matches!(reader.peek(), Token::Number(..) | Token::Minus | Token::Plus);
        let value = if follows { Some(reader.integer()?) } else { None };
        set(&mut options.restart, value)?;
    } else {
        return Ok(reader.take("LOGGED") || storage::unlogged(reader));
    }
    Ok(true)
}

fn set<T>(place: &mut Option<T>, value: T) -> Result<()> {
    if place.replace(value).is_some() { Err(redundant()) } else { Ok(()) }
}

fn data_type(reader: &mut Reader<'_>) -> Result<Type> {
    let name = reader.folded_name()?;
    let unknown = || Error::new(state::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"));
    Type::parse_name(&name).ok_or_else(unknown)
}
