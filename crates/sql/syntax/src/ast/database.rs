//! Statements over databases.

use super::Ident;

/// CREATE DATABASE.
#[derive(Clone, Debug)]
pub struct CreateDatabase {
    /// Its name.
    pub name: Ident,
    /// Its options, in the order of the text.
    pub options: Vec<DatabaseOption>,
}

/// An option of CREATE DATABASE and ALTER DATABASE.
#[derive(Clone, Debug)]
pub struct DatabaseOption {
    /// Its name in lower case: `connection_limit`, `owner`.
    pub name: String,
    /// Its value; `None`: DEFAULT. Unquoted words are in lower case.
    pub value: Option<String>,
}

/// DROP DATABASE.
#[derive(Clone, Debug)]
pub struct DropDatabase {
    /// Its name.
    pub name: Ident,
    /// IF EXISTS
    pub if_exists: bool,
    /// FORCE
    pub force: bool,
}

/// ALTER DATABASE.
#[derive(Clone, Debug)]
pub struct AlterDatabase {
    /// Its name.
    pub name: Ident,
    /// The change.
    pub action: AlterDatabaseAction,
}

/// A change of a database.
#[derive(Clone, Debug)]
pub enum AlterDatabaseAction {
    /// RENAME TO
    Rename(Ident),
    /// OWNER TO
    Owner(Ident),
    /// CONNECTION LIMIT, IS_TEMPLATE, ALLOW_CONNECTIONS
    Options(Vec<DatabaseOption>),
    /// SET, RESET
    Setting(SettingChange),
}

/// SET and RESET of what sessions begin with.
#[derive(Clone, Debug)]
pub enum SettingChange {
    /// A value; `None`: DEFAULT, or RESET.
    Set(String, Option<String>),
    /// FROM CURRENT
    FromCurrent(String),
    /// RESET ALL
    ResetAll,
}
