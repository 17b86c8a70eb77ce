//! CREATE, ALTER and DROP of roles, who is a member of whom, and what they own.

use super::database::settings;
use crate::ast::{AlterRole, AlterRoleAction, CreateRole, DropRole, Ident, Membership, Owned, OwnedAction, RoleOption};
use crate::reader::Reader;
use pgtypes::{Error, Result, state};

/// The words for a role.
const KINDS: [&str; 3] = ["ROLE", "USER", "GROUP"];

/// Returns whether a word for a role comes next, and not USER MAPPING.
pub(super) fn is_next(reader: &Reader<'_>) -> bool {
    KINDS.iter().any(|kind| reader.says(kind)) && !reader.says("USER MAPPING")
}

/// Attributes, and the words that take them away.
const ATTRIBUTES: [(&str, &str); 7] = [
    ("SUPERUSER", "NOSUPERUSER"),
    ("CREATEDB", "NOCREATEDB"),
    ("CREATEROLE", "NOCREATEROLE"),
    ("INHERIT", "NOINHERIT"),
    ("LOGIN", "NOLOGIN"),
    ("REPLICATION", "NOREPLICATION"),
    ("BYPASSRLS", "NOBYPASSRLS"),
];

/// CREATE ROLE, from ROLE, USER or GROUP on.
pub(super) fn create(reader: &mut Reader<'_>) -> Result<CreateRole> {
    let kind = reader.take_any(&KINDS);
    let name = reader.name()?;
    let mut options = if kind == Some("USER") { vec![RoleOption::Attribute("LOGIN", true)] } else { vec![] };
    let said = self::options(reader)?;
    options.retain(|default| !said.iter().any(|said| is_same(said, default)));
    options.extend(said);
    Ok(CreateRole { name, options })
}

fn is_same(one: &RoleOption, other: &RoleOption) -> bool {
    match (one, other) {
        (RoleOption::Attribute(one, _), RoleOption::Attribute(other, _)) => one == other,
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

fn options(reader: &mut Reader<'_>) -> Result<Vec<RoleOption>> {
    reader.take("WITH");
    let mut options: Vec<RoleOption> = Vec::new();
    while !reader.is_done() {
        let option = option(reader)?;
        if options.iter().any(|known| is_same(known, &option)) {
            return Err(Error::new(state::SYNTAX_ERROR, "conflicting or redundant options"));
        }
        options.push(option);
    }
    Ok(options)
}

fn option(reader: &mut Reader<'_>) -> Result<RoleOption> {
    for (on, off) in ATTRIBUTES {
        if reader.take(on) {
            return Ok(RoleOption::Attribute(on, true));
        }
        if reader.take(off) {
            return Ok(RoleOption::Attribute(on, false));
        }
    }
    const OTHERS: [&str; 10] = [
        "CONNECTION LIMIT",
        "ENCRYPTED PASSWORD",
        "PASSWORD",
        "VALID UNTIL",
        "IN ROLE",
        "IN GROUP",
        "ROLE",
        "USER",
        "ADMIN",
        "SYSID",
    ];
    Ok(match reader.take_any(&OTHERS) {
        Some("CONNECTION LIMIT") => RoleOption::ConnectionLimit(reader.integer()?),
        Some("ENCRYPTED PASSWORD" | "PASSWORD") if reader.take("NULL") => RoleOption::Password(None),
        Some("ENCRYPTED PASSWORD" | "PASSWORD") => RoleOption::Password(Some(reader.string()?)),
        Some("VALID UNTIL") => RoleOption::ValidUntil(reader.string()?),
        Some("IN ROLE" | "IN GROUP") => RoleOption::InRole(reader.list(Reader::name)?),
        Some("ROLE" | "USER") => RoleOption::Members(reader.list(Reader::name)?),
        Some("ADMIN") => RoleOption::Admins(reader.list(Reader::name)?),
        Some(_) => {
            reader.integer()?;
            RoleOption::SystemId
        }
        None => return Err(reader.unexpected()),
    })
}

/// ALTER ROLE, from ROLE, USER or GROUP on.
pub(super) fn alter(reader: &mut Reader<'_>) -> Result<AlterRole> {
    let kind = reader.take_any(&KINDS);
    let name = if kind != Some("GROUP") && reader.take("ALL") { None } else { Some(reader.name()?) };
    if let Some(verb) = reader.take_any(&["ADD USER", "DROP USER"]) {
        let members = reader.list(Reader::name)?;
        return Ok(AlterRole { name, action: AlterRoleAction::Members { add: verb == "ADD USER", members } });
    }
    if reader.take("RENAME TO") {
        return Ok(AlterRole { name, action: AlterRoleAction::Rename(reader.name()?) });
    }
    let database = if reader.take("IN DATABASE") { Some(reader.name()?) } else { None };
    let action = match settings(reader)? {
        Some(change) => AlterRoleAction::Setting(database, change),
        None if database.is_some() || name.is_none() => return Err(reader.unexpected()),
        None => AlterRoleAction::Options(options(reader)?),
    };
    Ok(AlterRole { name, action })
}

/// DROP ROLE, from ROLE, USER or GROUP on.
pub(super) fn drop(reader: &mut Reader<'_>) -> Result<DropRole> {
    let _ = reader.take_any(&KINDS);
    let if_exists = reader.take("IF EXISTS");
    Ok(DropRole { names: reader.list(Reader::name)?, if_exists })
}

/// GRANT and REVOKE of roles, if that is what comes next: it has no ON.
pub(super) fn membership(reader: &mut Reader<'_>, is_grant: bool) -> Result<Option<Membership>> {
    let place = reader.place();
    let mut admin = !is_grant && reader.take("ADMIN OPTION FOR");
    let roles = reader.list(Reader::name);
    let (Ok(roles), true) = (roles, reader.take(if is_grant { "TO" } else { "FROM" })) else {
        reader.back_to(place);
        return Ok(None);
    };
    let members = reader.list(|reader| {
        reader.take("GROUP");
        reader.name()
    })?;
    admin |= is_grant && reader.take("WITH ADMIN OPTION");
    if reader.take("GRANTED BY") {
        reader.name()?;
    }
    reader.take_cascade();
    Ok(Some(Membership { is_grant, roles, members, admin }))
}

/// REASSIGN OWNED and DROP OWNED, from BY on.
pub(super) fn owned(reader: &mut Reader<'_>, reassign: bool) -> Result<Owned> {
    reader.expect("BY")?;
    let roles: Vec<Ident> = reader.list(Reader::name)?;
    let action = if reassign {
        reader.expect("TO")?;
        OwnedAction::Reassign(reader.name()?)
    } else {
        OwnedAction::Drop(reader.take_cascade())
    };
    Ok(Owned { roles, action })
}
