//! CREATE, ALTER and DROP of databases.

use crate::ast::{AlterDatabase, AlterDatabaseAction, CreateDatabase, DatabaseOption, DropDatabase, SettingChange};
use crate::reader::{Reader, Token};
use crate::session;
use pgtypes::Result;

/// Options of several words, with the names by which they are known.
const PHRASES: [(&str, &str); 1] = [("CONNECTION LIMIT", "connection_limit")];

/// CREATE DATABASE, from the name on.
pub(super) fn create(reader: &mut Reader<'_>) -> Result<CreateDatabase> {
    let name = reader.name()?;
    Ok(CreateDatabase { name, options: options(reader)? })
}

/// `[WITH] name [=] value ...`
fn options(reader: &mut Reader<'_>) -> Result<Vec<DatabaseOption>> {
    reader.take("WITH");
    let mut options = Vec::new();
    while !reader.is_done() {
        let name = match PHRASES.iter().find(|(words, _)| reader.take(words)) {
            Some((_, name)) => (*name).to_owned(),
            None => reader.folded_name()?,
        };
        reader.take_token(&Token::Eq);
        options.push(DatabaseOption { name, value: value(reader)? });
    }
    Ok(options)
}

/// A word, a string or a number; `None` for DEFAULT.
fn value(reader: &mut Reader<'_>) -> Result<Option<String>> {
    if reader.take("DEFAULT") {
        return Ok(None);
    }
    Ok(Some(match reader.peek() {
        Token::Word(_) => reader.folded_name()?,
        Token::Number(..) | Token::Minus | Token::Plus => reader.integer()?.to_string(),
        _ => reader.string()?,
    }))
}

/// DROP DATABASE, from IF EXISTS on.
pub(super) fn drop(reader: &mut Reader<'_>) -> Result<DropDatabase> {
    let if_exists = reader.take("IF EXISTS");
    let name = reader.name()?;
    let has_options = reader.take("WITH") || *reader.peek() == Token::LParen;
    let mut force = false;
    if has_options {
        reader.expect_token(&Token::LParen)?;
        reader.list(|reader| reader.expect("FORCE"))?;
        reader.expect_token(&Token::RParen)?;
        force = true;
    }
    Ok(DropDatabase { name, if_exists, force })
}

/// ALTER DATABASE, from the name on.
pub(super) fn alter(reader: &mut Reader<'_>) -> Result<AlterDatabase> {
    let name = reader.name()?;
    let action = match reader.take_any(&["RENAME TO", "OWNER TO", "SET TABLESPACE", "REFRESH COLLATION VERSION"]) {
        Some("RENAME TO") => AlterDatabaseAction::Rename(reader.name()?),
        Some("OWNER TO") => AlterDatabaseAction::Owner(reader.name()?),
        Some(other) => return Err(reader.unsupported(&format!("ALTER DATABASE ... {other}"))),
        None => match settings(reader)? {
            Some(change) => AlterDatabaseAction::Setting(change),
            None => AlterDatabaseAction::Options(options(reader)?),
        },
    };
    Ok(AlterDatabase { name, action })
}

/// SET and RESET, of a database or a role.
pub(super) fn settings(reader: &mut Reader<'_>) -> Result<Option<SettingChange>> {
    if reader.take("SET") {
        let place = reader.place();
        let name = session::setting_name(reader)?;
        if reader.take("FROM CURRENT") {
            return Ok(Some(SettingChange::FromCurrent(name)));
        }
        reader.back_to(place);
        let (name, value) = session::assignment(reader)?;
        return Ok(Some(SettingChange::Set(name, value)));
    }
    if !reader.take("RESET") {
        return Ok(None);
    }
    Ok(Some(match session::reset_name(reader)? {
        Some(name) => SettingChange::Set(name, None),
        None => SettingChange::ResetAll,
    }))
}
