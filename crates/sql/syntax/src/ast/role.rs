//! Statements over roles.

use super::{Ident, SettingChange};

/// CREATE ROLE, CREATE USER, CREATE GROUP.
#[derive(Clone, Debug)]
pub struct CreateRole {
    /// Its name.
    pub name: Ident,
    /// Its options. CREATE USER begins with LOGIN.
    pub options: Vec<RoleOption>,
}

/// ALTER ROLE, ALTER USER, ALTER GROUP.
#[derive(Clone, Debug)]
pub struct AlterRole {
    /// Its name; `None`: ALL.
    pub name: Option<Ident>,
    /// The change.
    pub action: AlterRoleAction,
}

/// A change of a role.
#[derive(Clone, Debug)]
pub enum AlterRoleAction {
    /// RENAME TO
    Rename(Ident),
    /// Options.
    Options(Vec<RoleOption>),
    /// SET, RESET, in one database if it is named.
    Setting(Option<Ident>, SettingChange),
    /// ADD USER, DROP USER, of ALTER GROUP.
    Members {
        /// ADD, not DROP.
        add: bool,
        /// The roles.
        members: Vec<Ident>,
    },
}

/// An option of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleOption {
    /// SUPERUSER, CREATEDB and the like, and whether it is given: by its word without NO.
    Attribute(&'static str, bool),
    /// CONNECTION LIMIT
    ConnectionLimit(i64),
    /// PASSWORD; `None`: NULL.
    Password(Option<String>),
    /// VALID UNTIL
    ValidUntil(String),
    /// IN ROLE, IN GROUP
    InRole(Vec<Ident>),
    /// ROLE, USER: its members.
    Members(Vec<Ident>),
    /// ADMIN: its members with the right to grant it.
    Admins(Vec<Ident>),
    /// SYSID, which PostgreSQL takes without effect.
    SystemId,
}

/// DROP ROLE, DROP USER, DROP GROUP.
#[derive(Clone, Debug)]
pub struct DropRole {
    /// The roles.
    pub names: Vec<Ident>,
    /// IF EXISTS
    pub if_exists: bool,
}

/// GRANT of roles to roles, and REVOKE.
#[derive(Clone, Debug)]
pub struct Membership {
    /// GRANT, not REVOKE.
    pub is_grant: bool,
    /// The roles that are granted.
    pub roles: Vec<Ident>,
    /// The roles that they are granted to.
    pub members: Vec<Ident>,
    /// WITH ADMIN OPTION; of REVOKE, ADMIN OPTION FOR.
    pub admin: bool,
}

/// REASSIGN OWNED and DROP OWNED.
#[derive(Clone, Debug)]
pub struct Owned {
    /// The roles whose objects are meant.
    pub roles: Vec<Ident>,
    /// What becomes of them.
    pub action: OwnedAction,
}

/// What becomes of the objects of a role.
#[derive(Clone, Debug)]
pub enum OwnedAction {
    /// REASSIGN: they get another owner.
    Reassign(Ident),
    /// DROP; whether CASCADE.
    Drop(bool),
}
