//! What the databases of a server share: databases and roles, their settings and comments.

use super::layout::{columns, tables};
use super::seed;
use super::value::{NULL, array, bool, oid, text};
use crate::Result;
use crate::catalog::{Oid, VirtualTable};
use crate::context::Names;
use crate::types::{Datum, Row, Scalar};
use tables::{DatabaseDefinition, RoleDefinition};

/// PostgreSQL's identifier of `pg_database`, by which comments name it.
const PG_DATABASE: Oid = 1262;
/// PostgreSQL's identifier of `pg_authid`.
const PG_AUTHID: Oid = 1260;

/// PostgreSQL's number of UTF-8.
const UTF8: i32 = 6;
/// The tablespace `pg_default`.
const DEFAULT_TABLESPACE: u32 = 1663;
/// The collation of all texts.
const LOCALE: &str = "C.UTF-8";

pub(super) static TABLES: &[VirtualTable] = tables! { "pg_catalog", Names:
    1262 pg_database = databases; {
        oid: Oid, datname: Name, datdba: Oid, encoding: Int4, datlocprovider: Char, datistemplate: Bool,
        datallowconn: Bool, datconnlimit: Int4, datfrozenxid: Xid, datminmxid: Xid, dattablespace: Oid,
        datcollate: Text, datctype: Text, daticulocale: Text, datcollversion: Text, datacl: [AclItem]
    }
    1260 pg_authid = roles; {
        oid: Oid, rolname: Name, rolsuper: Bool, rolinherit: Bool, rolcreaterole: Bool, rolcreatedb: Bool,
        rolcanlogin: Bool, rolreplication: Bool, rolbypassrls: Bool, rolconnlimit: Int4, rolpassword: Text,
        rolvaliduntil: Timestamptz
    }
    1261 pg_auth_members = memberships; {
        roleid: Oid, member: Oid, grantor: Oid, admin_option: Bool
    }
    2964 pg_db_role_setting = settings; {
        setdatabase: Oid, setrole: Oid, setconfig: [Text]
    }
    2396 pg_shdescription = descriptions; {
        objoid: Oid, classoid: Oid, description: Text
    }
};

fn databases(names: &mut Names<'_>) -> Result<Vec<Row>> {
    Ok(names.databases()?.iter().map(database).collect())
}

fn database(definition: &DatabaseDefinition) -> Row {
    vec![
        oid(definition.oid),
        text(&definition.name),
        oid(definition.owner),
        Datum::Int4(UTF8),
        text("c"),
        bool(definition.is_template),
        bool(definition.allows_connections),
        Datum::Int4(definition.connection_limit),
        Datum::Oid(716),
        Datum::Oid(1),
        oid(DEFAULT_TABLESPACE),
        text(LOCALE),
        text(LOCALE),
        NULL,
        NULL,
        NULL,
    ]
}

fn settings(names: &mut Names<'_>) -> Result<Vec<Row>> {
    let databases = names.databases()?;
    let of_database = databases.iter().filter(|database| !database.settings.is_empty());
    let row =
        |database: Oid, role: Oid, settings: &[(String, String)]| vec![oid(database), oid(role), assignments(settings)];
    let mut rows: Vec<Row> = of_database.map(|database| row(database.oid, 0, &database.settings)).collect();
    for role in names.roles()? {
        let mut databases: Vec<Oid> = role.settings.iter().map(|setting| setting.database).collect();
        databases.sort_unstable();
        databases.dedup();
        rows.extend(databases.into_iter().map(|database| {
            let here = role.settings.iter().filter(|setting| setting.database == database);
            let here: Vec<_> = here.map(|setting| (setting.name.clone(), setting.value.clone())).collect();
            row(database, role.oid, &here)
        }));
    }
    Ok(rows)
}

/// The roles that are made, and those that PostgreSQL predefines.
fn roles(names: &mut Names<'_>) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = names.roles()?.iter().map(role).collect();
    rows.extend(seed::rows("pg_authid").iter().cloned());
    Ok(rows)
}

fn role(role: &RoleDefinition) -> Row {
    vec![
        oid(role.oid),
        text(&role.name),
        bool(role.is_superuser),
        bool(role.inherits),
        bool(role.creates_roles),
        bool(role.creates_databases),
        bool(role.can_login),
        bool(role.replicates),
        bool(role.bypasses_row_security),
        Datum::Int4(role.connection_limit),
        role.verifier.as_deref().map_or(NULL, text),
        role.valid_until.map_or(NULL, Datum::Timestamptz),
    ]
}

fn memberships(names: &mut Names<'_>) -> Result<Vec<Row>> {
    let mut rows = seed::rows("pg_auth_members").to_vec();
    for member in names.roles()? {
        rows.extend(member.memberships.iter().map(|membership| {
            vec![oid(membership.role), oid(member.oid), oid(membership.grantor), bool(membership.admin)]
        }));
    }
    Ok(rows)
}

/// The name of a role.
pub(super) fn role_name(names: &mut Names<'_>, role: Oid) -> Result<Option<String>> {
    Ok(roles(names)?
        .into_iter()
        .find(|row| row[0].as_oid() == Some(role))
        .and_then(|row| row[1].as_text().map(str::to_owned)))
}

/// The role of a name.
pub(super) fn role_oid(names: &mut Names<'_>, name: &str) -> Result<Option<Oid>> {
    Ok(roles(names)?.iter().find(|row| row[1].as_text() == Some(name)).and_then(|row| row[0].as_oid()))
}

/// `{name=value}`
fn assignments(settings: &[(String, String)]) -> Datum {
    array(Scalar::Text, settings.iter().map(|(name, value)| text(format!("{name}={value}"))).collect())
}

fn descriptions(names: &mut Names<'_>) -> Result<Vec<Row>> {
    let databases = names.databases()?;
    let commented = databases.iter().filter_map(|database| Some((database.oid, database.comment.as_deref()?)));
    let mut rows: Vec<Row> =
        commented.map(|(object, comment)| vec![oid(object), oid(PG_DATABASE), text(comment)]).collect();
    let roles = names.roles()?;
    let commented = roles.iter().filter_map(|role| Some((role.oid, role.comment.as_deref()?)));
    rows.extend(commented.map(|(object, comment)| vec![oid(object), oid(PG_AUTHID), text(comment)]));
    Ok(rows)
}

/// The comment on a shared object of a catalog.
pub(super) fn comment(names: &mut Names<'_>, object: u32, catalog: &str) -> Result<Datum> {
    let found = match catalog {
        "pg_database" => {
            names.databases()?.into_iter().find(|database| database.oid == object).and_then(|it| it.comment)
        }
        "pg_authid" => names.roles()?.into_iter().find(|role| role.oid == object).and_then(|it| it.comment),
        _ => None,
    };
    Ok(found.map_or(NULL, text))
}
