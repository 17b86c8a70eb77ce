//! Options of CREATE DATABASE; ALTER DATABASE; COMMENT ON DATABASE.

use super::role;
use crate::alter::name::fold;
use crate::context::Change;
use crate::database::{exists, missing};
use crate::env::settings::Settings;
use crate::error::{Result, SqlError, state};
use syntax::ast::{AlterDatabase, AlterDatabaseAction, DatabaseOption, Ident, SettingChange};
use tables::DatabaseDefinition;

/// Applies the options of CREATE DATABASE, but for its owner. Returns warnings about those without effect.
///
/// # Errors
/// 42601 for an unknown option or one that comes twice, 22023, 42704, 0A000.
pub(crate) fn create_options(definition: &mut DatabaseDefinition, options: &[DatabaseOption]) -> Result<Vec<SqlError>> {
    let mut warnings = Vec::new();
    check_repetition(options)?;
    for option in options {
        let value = option.value.as_deref();
        match option.name.as_str() {
            "owner" => {}
            "template" => check_template(value)?,
            "encoding" => check_encoding(value)?,
            "locale" | "lc_collate" | "lc_ctype" => warnings.extend(locale_warning(value)),
            "locale_provider" => check_known("locale provider", value, &["libc"])?,
            "strategy" => check_known("CREATE DATABASE strategy", value, &["wal_log", "file_copy"])?,
            "tablespace" => check_tablespace(value)?,
            "collation_version" => {}
            "oid" => {
                return Err(
                    SqlError::unsupported("OID of CREATE DATABASE").hint("Leave it out: the server chooses one.")
                );
            }
            "icu_locale" => return Err(SqlError::unsupported("ICU_LOCALE").hint("Texts are ordered by their bytes.")),
            _ => apply(definition, option, "CREATE DATABASE")?,
        }
    }
    warnings.dedup_by(|one, other| one.message() == other.message());
    Ok(warnings)
}

fn check_repetition(options: &[DatabaseOption]) -> Result<()> {
    let is_repeated =
        |(at, option): (usize, &DatabaseOption)| options[..at].iter().any(|other| other.name == option.name);
    match options.iter().enumerate().any(is_repeated) {
        true => Err(SqlError::new(state::SYNTAX_ERROR, "conflicting or redundant options")),
        false => Ok(()),
    }
}

/// New databases are empty, as template0 and template1 are here.
fn check_template(name: Option<&str>) -> Result<()> {
    match name {
        None | Some("template0" | "template1") => Ok(()),
        Some(name) => Err(SqlError::unsupported(format_args!("a copy of database \"{name}\" (TEMPLATE)"))
            .hint("Create an empty database, and fill it: pg_dump SOURCE | psql -d TARGET.")),
    }
}

fn check_encoding(encoding: Option<&str>) -> Result<()> {
    let letters: Option<String> = encoding.map(|name| name.chars().filter(char::is_ascii_alphanumeric).collect());
    match letters.as_deref() {
        None | Some("6" | "1") => Ok(()),
        Some(name) if ["utf8", "unicode"].iter().any(|known| name.eq_ignore_ascii_case(known)) => Ok(()),
        Some(_) => {
            Err(SqlError::unsupported(format_args!("encoding \"{}\" of a database", encoding.unwrap_or_default()))
                .hint("All databases have UTF8."))
        }
    }
}

/// Collation is that of locale C. Others are accepted, so that dumps restore.
fn locale_warning(locale: Option<&str>) -> Option<SqlError> {
    let locale = locale.filter(|name| !name.is_empty())?;
    let is_own = ["C", "POSIX", "C.UTF-8", "C.utf8"].iter().any(|own| own.eq_ignore_ascii_case(locale));
    (!is_own).then(|| {
        let message = format!("locale \"{locale}\" has no effect: texts are ordered by their bytes");
        SqlError::new(state::WARNING, message)
    })
}

fn check_known(what: &str, value: Option<&str>, known: &[&str]) -> Result<()> {
    match value {
        Some(value) if !known.contains(&value) => Err(SqlError::unsupported(format_args!("{what} \"{value}\""))),
        _ => Ok(()),
    }
}

fn check_tablespace(name: Option<&str>) -> Result<()> {
    match name {
        None | Some("pg_default") => Ok(()),
        Some("pg_global") => {
            Err(SqlError::new(state::INVALID_PARAMETER_VALUE, "pg_global cannot be used as default tablespace"))
        }
        Some(name) => {
            let message = format!("tablespace \"{name}\" does not exist");
            Err(SqlError::new(state::UNDEFINED_OBJECT, message))
        }
    }
}

/// Applies an option that CREATE and ALTER have both.
fn apply(definition: &mut DatabaseDefinition, option: &DatabaseOption, command: &str) -> Result<()> {
    let value = option.value.as_deref();
    match option.name.as_str() {
        "allow_connections" => definition.allows_connections = switch(option, true)?,
        "is_template" => definition.is_template = switch(option, false)?,
        "connection_limit" => {
            let limit = value.map_or(Ok(-1), str::parse::<i32>).ok().filter(|limit| *limit >= -1);
            definition.connection_limit = limit.ok_or_else(|| {
                let message = format!("invalid connection limit: {}", value.unwrap_or_default());
                SqlError::new(state::INVALID_PARAMETER_VALUE, message)
            })?;
        }
        other => {
            let message = match command {
                "CREATE DATABASE" => format!("option \"{other}\" not recognized"),
                _ => format!("option \"{other}\" of {command} not recognized"),
            };
            return Err(SqlError::new(state::SYNTAX_ERROR, message));
        }
    }
    Ok(())
}

fn switch(option: &DatabaseOption, default: bool) -> Result<bool> {
    match option.value.as_deref() {
        None => Ok(default),
        Some("true" | "on" | "1") => Ok(true),
        Some("false" | "off" | "0") => Ok(false),
        Some(_) => {
            let message = format!("{} requires a Boolean value", option.name);
            Err(SqlError::new(state::SYNTAX_ERROR, message))
        }
    }
}

/// Runs ALTER DATABASE.
///
/// # Errors
/// 3D000, 42P04, 55006, 0A000, 22023, 42704.
pub(super) fn alter(change: &mut Change<'_>, alter: &AlterDatabase) -> Result<()> {
    let mut definition = named(change, &alter.name)?;
    match &alter.action {
        AlterDatabaseAction::Rename(new) => return rename(change, definition, fold(new)),
        AlterDatabaseAction::Owner(owner) => definition.owner = role::named(change, owner)?.oid,
        AlterDatabaseAction::Options(options) => {
            check_repetition(options)?;
            options.iter().try_for_each(|option| apply(&mut definition, option, "ALTER DATABASE"))?;
        }
        AlterDatabaseAction::Setting(setting) => {
            let names = change.names();
            change_setting(&mut definition.settings, setting, |name| names.setting(name))?;
        }
    }
    change.put_database(&definition)
}

/// COMMENT ON DATABASE.
pub(super) fn comment(change: &mut Change<'_>, name: &Ident, text: Option<String>) -> Result<()> {
    let mut definition = named(change, name)?;
    definition.comment = text;
    change.put_database(&definition)
}

/// The database that an identifier names.
///
/// # Errors
/// 3D000
pub(super) fn named(change: &mut Change<'_>, name: &Ident) -> Result<DatabaseDefinition> {
    let name = fold(name);
    change.names().database_named(&name)?.ok_or_else(|| missing(&name))
}

fn rename(change: &mut Change<'_>, mut definition: DatabaseDefinition, new: String) -> Result<()> {
    if definition.oid == change.names().database().oid {
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, "current database cannot be renamed"));
    }
    if [tables::POSTGRES, tables::TEMPLATE0, tables::TEMPLATE1].contains(&definition.oid) {
        let what = format!("renaming database \"{}\", which every directory has,", definition.name);
        return Err(SqlError::unsupported(what));
    }
    if change.names().database_named(&new)?.is_some() {
        return Err(exists(&new));
    }
    let database = change.names().database().clone();
    let _leaving = database.without_sessions(change.exec.cancel, &definition, false)?;
    let old = std::mem::replace(&mut definition.name, new);
    change.rename_database(&old, &definition)
}

/// Changes the settings that sessions begin with. `current` has the session's own, of FROM CURRENT.
///
/// # Errors
/// 42704, 22023.
pub(super) fn change_setting(
    settings: &mut Vec<(String, String)>,
    change: &SettingChange,
    current: impl Fn(&str) -> Option<String>,
) -> Result<()> {
    let (name, value) = match change {
        SettingChange::ResetAll => {
            settings.clear();
            return Ok(());
        }
        SettingChange::Set(name, value) => (name, value.clone()),
        SettingChange::FromCurrent(name) => {
            let value = current(name).ok_or_else(|| {
                let message = format!("unrecognized configuration parameter \"{name}\"");
                SqlError::new(state::UNDEFINED_OBJECT, message)
            })?;
            (name, Some(value))
        }
    };
    if let Some(value) = &value {
        Settings::default().initialize(name, value)?;
    }
    settings.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    settings.extend(value.map(|value| (name.clone(), value)));
    Ok(())
}
