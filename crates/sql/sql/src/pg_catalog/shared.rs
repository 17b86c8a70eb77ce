//! What the databases of a server share: which there are, their settings and comments.

use super::layout::{columns, tables};
use super::value::{NULL, array, bool, oid, text};
use crate::Result;
use crate::catalog::VirtualTable;
use crate::context::Names;
use crate::types::{Datum, Row, Scalar};
use tables::DatabaseDefinition;

/// PostgreSQL's identifier of `pg_database`, by which comments name it.
pub(super) const PG_DATABASE: u32 = 1262;

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
    Ok(of_database.map(|database| vec![oid(database.oid), oid(0), assignments(&database.settings)]).collect())
}

/// `{name=value}`
fn assignments(settings: &[(String, String)]) -> Datum {
    array(Scalar::Text, settings.iter().map(|(name, value)| text(format!("{name}={value}"))).collect())
}

fn descriptions(names: &mut Names<'_>) -> Result<Vec<Row>> {
    let databases = names.databases()?;
    let commented = databases.iter().filter_map(|database| Some((database.oid, database.comment.as_deref()?)));
    Ok(commented.map(|(object, comment)| vec![oid(object), oid(PG_DATABASE), text(comment)]).collect())
}

/// The comment on a shared object of a catalog.
pub(super) fn comment(names: &mut Names<'_>, object: u32, catalog: &str) -> Result<Datum> {
    let found = match catalog {
        "pg_database" => names.databases()?.into_iter().find(|database| database.oid == object),
        _ => None,
    };
    Ok(found.and_then(|database| database.comment).map_or(NULL, text))
}
