//! Roles: CREATE, ALTER, DROP, memberships, comments. Rights are not checked yet: every role may do everything.

use super::database::change_setting;
use crate::alter::name::fold;
use crate::context::Change;
use crate::error::{Result, SqlError, state};
use crate::types::{Datum, Modifier, Scalar, Styles, Type, text};
use syntax::ast::SettingChange;
use syntax::ast::{AlterRole, AlterRoleAction, CreateRole, DropRole, Ident, Membership, RoleOption};
use tables::{RoleDefinition, RoleMembership, RoleSetting, SUPERUSER};

/// Runs CREATE ROLE.
///
/// # Errors
/// 42710, 42939, 42704, 22023.
pub(super) fn create(change: &mut Change<'_>, create: &CreateRole, notices: &mut Vec<SqlError>) -> Result<()> {
    let name = fold(&create.name);
    check_new(change, &name)?;
    let mut role = RoleDefinition::plain(change.fresh_oid()?, name);
    apply(&mut role, &create.options, notices)?;
    for option in &create.options {
        if let RoleOption::InRole(groups) = option {
            for group in groups {
                let group = named(change, group)?;
                add_membership(&mut role, group.oid, false);
            }
        }
    }
    change.put_role(&role)?;
    for option in &create.options {
        let (members, admin) = match option {
            RoleOption::Members(members) => (members, false),
            RoleOption::Admins(members) => (members, true),
            _ => continue,
        };
        members.iter().try_for_each(|member| grant(change, &role, member, admin, notices))?;
    }
    Ok(())
}

/// A name that no role has, and that none is reserved for.
fn check_new(change: &mut Change<'_>, name: &str) -> Result<()> {
    let is_reserved = ["public", "none"].contains(&name);
    if is_reserved || name.starts_with("pg_") {
        let error = SqlError::new(state::RESERVED_NAME, format!("role name \"{name}\" is reserved"));
        return Err(match is_reserved {
            true => error,
            false => error.detail("Role names starting with \"pg_\" are reserved."),
        });
    }
    match change.names().role_named(name)? {
        Some(_) => Err(SqlError::new(state::DUPLICATE_OBJECT, format!("role \"{name}\" already exists"))),
        None => Ok(()),
    }
}

/// The role that an identifier names, CURRENT_USER and its kin among them.
///
/// # Errors
/// 42704
pub(crate) fn named(change: &mut Change<'_>, name: &Ident) -> Result<RoleDefinition> {
    let name = match (name.quoted, fold(name).as_str()) {
        (false, "current_user" | "current_role" | "user") => change.names().current_user().to_owned(),
        (false, "session_user") => change.names().session_user().to_owned(),
        (_, name) => name.to_owned(),
    };
    change.names().role_named(&name)?.ok_or_else(|| missing(&name))
}

/// 42704
pub(crate) fn missing(name: &str) -> SqlError {
    SqlError::new(state::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"))
}

fn apply(role: &mut RoleDefinition, options: &[RoleOption], notices: &mut Vec<SqlError>) -> Result<()> {
    for option in options {
        match option {
            RoleOption::Attribute(name, on) => *attribute(role, name) = *on,
            RoleOption::ConnectionLimit(limit) => {
                let valid = i32::try_from(*limit).ok().filter(|limit| *limit >= -1);
                role.connection_limit = valid.ok_or_else(|| {
                    SqlError::new(state::INVALID_PARAMETER_VALUE, format!("invalid connection limit: {limit}"))
                })?;
            }
            RoleOption::Password(password) => role.verifier = verifier(password.as_deref(), notices),
            RoleOption::ValidUntil(until) => role.valid_until = moment(until)?,
            RoleOption::InRole(_) | RoleOption::Members(_) | RoleOption::Admins(_) | RoleOption::SystemId => {}
        }
    }
    Ok(())
}

fn attribute<'r>(role: &'r mut RoleDefinition, name: &str) -> &'r mut bool {
    match name {
        "SUPERUSER" => &mut role.is_superuser,
        "CREATEDB" => &mut role.creates_databases,
        "CREATEROLE" => &mut role.creates_roles,
        "INHERIT" => &mut role.inherits,
        "LOGIN" => &mut role.can_login,
        "REPLICATION" => &mut role.replicates,
        _ => &mut role.bypasses_row_security,
    }
}

/// What is kept of a password: with it a client is checked, and the password cannot be had from it.
fn verifier(password: Option<&str>, notices: &mut Vec<SqlError>) -> Option<String> {
    let Some(password) = password.filter(|password| !password.is_empty()) else {
        if password.is_some() {
            let message = "empty string is not a valid password, clearing password";
            notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, message));
        }
        return None;
    };
    notices.push(
        SqlError::new(state::WARNING, "the password is kept and not asked for").detail(
            "Every program on this machine can connect as every role: the server listens on the loopback only.",
        ),
    );
    let is_verifier = password.starts_with("SCRAM-SHA-256$") || password.len() == 35 && password.starts_with("md5");
    Some(if is_verifier {
        password.to_owned()
    } else {
        postgres_protocol::password::scram_sha_256(password.as_bytes())
    })
}

fn moment(written: &str) -> Result<Option<i64>> {
    let parsed = text::parse(written, Type::of(Scalar::Timestamptz), Modifier::NONE, &Styles::default())?;
    Ok(match parsed {
        // Without an end, as `infinity` is.
        Datum::Timestamptz(i64::MAX) => None,
        Datum::Timestamptz(at) => Some(at),
        _ => None,
    })
}

/// Runs ALTER ROLE.
///
/// # Errors
/// 42704, 22023, 42710.
pub(super) fn alter(change: &mut Change<'_>, alter: &AlterRole, notices: &mut Vec<SqlError>) -> Result<()> {
    let Some(name) = &alter.name else {
        return Err(SqlError::unsupported("ALTER ROLE ALL").hint("Use ALTER DATABASE ... SET."));
    };
    let mut role = named(change, name)?;
    match &alter.action {
        AlterRoleAction::Rename(new) => return rename(change, role, fold(new)),
        AlterRoleAction::Options(options) => apply(&mut role, options, notices)?,
        AlterRoleAction::Setting(database, setting) => {
            let database = match database {
                Some(name) => super::database::named(change, name)?.oid,
                None => 0,
            };
            set(change, &mut role, database, setting)?;
        }
        AlterRoleAction::Members { add: true, members } => {
            return members.iter().try_for_each(|member| grant(change, &role, member, false, notices));
        }
        AlterRoleAction::Members { add: false, members } => {
            return members.iter().try_for_each(|member| revoke(change, &role, member, false, notices));
        }
    }
    change.put_role(&role)
}

fn set(change: &mut Change<'_>, role: &mut RoleDefinition, database: u32, setting: &SettingChange) -> Result<()> {
    let (mut here, others): (Vec<_>, Vec<_>) =
        std::mem::take(&mut role.settings).into_iter().partition(|setting| setting.database == database);
    let mut settings: Vec<(String, String)> = here.drain(..).map(|setting| (setting.name, setting.value)).collect();
    let names = change.names();
    let changed = change_setting(&mut settings, setting, |name| names.setting(name));
    let settings = settings.into_iter().map(|(name, value)| RoleSetting { database, name, value });
    role.settings = others.into_iter().chain(settings).collect();
    changed
}

fn rename(change: &mut Change<'_>, mut role: RoleDefinition, new: String) -> Result<()> {
    if role.name == change.names().session_user() {
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, "session user cannot be renamed"));
    }
    if role.name == change.names().current_user() {
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, "current user cannot be renamed"));
    }
    if role.oid == SUPERUSER {
        return Err(SqlError::unsupported("renaming role \"postgres\", which every directory has,"));
    }
    check_new(change, &new)?;
    let old = std::mem::replace(&mut role.name, new);
    change.remove_role(&old)?;
    change.put_role(&role)
}

/// Runs DROP ROLE.
///
/// # Errors
/// 42704, 55006, 2BP01.
pub(super) fn drop(change: &mut Change<'_>, drop: &DropRole, notices: &mut Vec<SqlError>) -> Result<()> {
    for name in &drop.names {
        let role = match named(change, name) {
            Ok(role) => role,
            Err(error) if drop.if_exists && error.code() == state::UNDEFINED_OBJECT => {
                let message = format!("{}, skipping", error.message());
                notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, message));
                continue;
            }
            Err(error) => return Err(error),
        };
        check_unused(change, &role)?;
        // Whoever was a member of it is so no more.
        for mut other in change.names().roles()? {
            if other.memberships.iter().any(|membership| membership.role == role.oid) {
                other.memberships.retain(|membership| membership.role != role.oid);
                change.put_role(&other)?;
            }
        }
        change.remove_role(&role.name)?;
    }
    Ok(())
}

fn check_unused(change: &mut Change<'_>, role: &RoleDefinition) -> Result<()> {
    let in_use = |who| Err(SqlError::new(state::OBJECT_IN_USE, format!("{who} user cannot be dropped")));
    if role.name == change.names().current_user() {
        return in_use("current");
    }
    if role.name == change.names().session_user() {
        return in_use("session");
    }
    let depends = |message: String| SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message);
    if role.oid == SUPERUSER {
        let message = format!("cannot drop role {} because it is required by the database system", role.name);
        return Err(depends(message));
    }
    let mut owned = Vec::new();
    let databases = change.names().databases()?;
    let databases = databases.iter().filter(|database| database.owner == role.oid);
    owned.extend(databases.map(|database| format!("owner of database {}", database.name)));
    owned.extend(super::owned::described(change, role.oid)?.into_iter().map(|object| format!("owner of {object}")));
    for (database, count) in change.owned_elsewhere(role.oid)? {
        let objects = if count == 1 { "object" } else { "objects" };
        owned.push(format!("{count} {objects} in database {database}"));
    }
    if owned.is_empty() {
        return Ok(());
    }
    let message = format!("role \"{}\" cannot be dropped because some objects depend on it", role.name);
    Err(depends(message).detail(owned.join("\n")))
}

/// GRANT and REVOKE of roles.
///
/// # Errors
/// 42704, 0LP01
pub(super) fn membership(change: &mut Change<'_>, statement: &Membership, notices: &mut Vec<SqlError>) -> Result<()> {
    for role in &statement.roles {
        let role = named(change, role)?;
        for member in &statement.members {
            match statement.is_grant {
                true => grant(change, &role, member, statement.admin, notices)?,
                false => revoke(change, &role, member, statement.admin, notices)?,
            }
        }
    }
    Ok(())
}

fn grant(
    change: &mut Change<'_>,
    role: &RoleDefinition,
    member: &Ident,
    admin: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let mut member = named(change, member)?;
    let roles = change.names().roles()?;
    if role.oid == member.oid || reaches(&roles, role, member.oid) {
        let message = format!("role \"{}\" is a member of role \"{}\"", role.name, member.name);
        return Err(SqlError::new(state::INVALID_GRANT_OPERATION, message));
    }
    if let Some(known) = member.memberships.iter().find(|known| known.role == role.oid)
        && (known.admin || !admin)
    {
        let message = format!("role \"{}\" is already a member of role \"{}\"", member.name, role.name);
        notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, message));
        return Ok(());
    }
    add_membership(&mut member, role.oid, admin);
    change.put_role(&member)
}

fn add_membership(member: &mut RoleDefinition, role: u32, admin: bool) {
    member.memberships.retain(|known| known.role != role);
    member.memberships.push(RoleMembership { role, admin, grantor: SUPERUSER });
}

/// Returns whether a role is a member of another one, through others too.
fn reaches(roles: &[RoleDefinition], from: &RoleDefinition, to: u32) -> bool {
    let mut seen = Vec::new();
    let mut waiting = vec![from];
    while let Some(role) = waiting.pop() {
        for membership in &role.memberships {
            if membership.role == to {
                return true;
            }
            if !seen.contains(&membership.role) {
                seen.push(membership.role);
                waiting.extend(roles.iter().find(|known| known.oid == membership.role));
            }
        }
    }
    false
}

fn revoke(
    change: &mut Change<'_>,
    role: &RoleDefinition,
    member: &Ident,
    only_admin: bool,
    notices: &mut Vec<SqlError>,
) -> Result<()> {
    let mut member = named(change, member)?;
    let Some(at) = member.memberships.iter().position(|known| known.role == role.oid) else {
        let message = format!("role \"{}\" is not a member of role \"{}\"", member.name, role.name);
        notices.push(SqlError::new(state::WARNING, message));
        return Ok(());
    };
    if only_admin {
        member.memberships[at].admin = false;
    } else {
        member.memberships.remove(at);
    }
    change.put_role(&member)
}

/// COMMENT ON ROLE.
pub(super) fn comment(change: &mut Change<'_>, name: &Ident, text: Option<String>) -> Result<()> {
    let mut role = named(change, name)?;
    role.comment = text;
    change.put_role(&role)
}
