//! Extensions: those that were created, and those that could be.

use super::layout::{columns, tables};
use super::relations::{OWNER, PG_CATALOG};
use super::value::{NO, NULL, YES, bool, oid, text};
use crate::Result;
use crate::catalog::{Oid, VirtualTable};
use crate::context::Names;
use crate::types::{Datum, Row};

pub(super) static TABLES: &[VirtualTable] = tables! { "pg_catalog", Names:
    3079 pg_extension = created; {
        oid: Oid, extname: Name, extowner: Oid, extnamespace: Oid, extrelocatable: Bool, extversion: Text,
        extconfig: [Oid], extcondition: [Text]
    }
    12081 pg_available_extensions = available; {
        name: Name, default_version: Text, installed_version: Text, comment: Text
    }
    12085 pg_available_extension_versions = versions; {
        name: Name, version: Text, installed: Bool, superuser: Bool, trusted: Bool, relocatable: Bool,
        schema: Name, requires: [Name], comment: Text
    }
};

/// PostgreSQL's identifier of `pg_extension`, by which comments name it.
pub(super) const PG_EXTENSION: Oid = 3079;

/// Name, version and description of an extension, as PostgreSQL 15 has them.
struct Known {
    name: &'static str,
    version: &'static str,
    description: &'static str,
}

/// What is built in, wholly or in part.
const KNOWN: [Known; 2] = [
    Known { name: "pgcrypto", version: "1.3", description: "cryptographic functions" },
    Known { name: "uuid-ossp", version: "1.1", description: "generate universally unique identifiers (UUIDs)" },
];

fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

/// The functions of each are in `pg_catalog`, whatever SCHEMA its statement named, and belong to the system.
fn created(names: &mut Names<'_>) -> Result<Vec<Row>> {
    let row = |(name, number): (String, Oid)| {
        let version = known(&name).map_or(NULL, |known| text(known.version));
        vec![oid(number), text(&name), oid(OWNER), oid(PG_CATALOG), NO, version, NULL, NULL]
    };
    Ok(names.extensions()?.into_iter().map(row).collect())
}

/// The identifiers of those that were created, with their descriptions.
pub(super) fn descriptions(names: &mut Names<'_>) -> Result<Vec<(Oid, &'static str)>> {
    let created = names.extensions()?;
    Ok(created.iter().filter_map(|(name, oid)| Some((*oid, known(name)?.description))).collect())
}

/// Name, version and description of each that could be created.
pub(super) fn described() -> impl Iterator<Item = [Datum; 3]> {
    KNOWN.iter().map(|known| [text(known.name), text(known.version), text(known.description)])
}

fn available(names: &mut Names<'_>) -> Result<Vec<Row>> {
    let created = names.extensions()?;
    let row = |known: &Known| {
        let version = text(known.version);
        let is_created = created.iter().any(|(name, _)| name == known.name);
        vec![text(known.name), version.clone(), if is_created { version } else { NULL }, text(known.description)]
    };
    Ok(KNOWN.iter().map(row).collect())
}

fn versions(names: &mut Names<'_>) -> Result<Vec<Row>> {
    let created = names.extensions()?;
    let row = |known: &Known| {
        let installed = bool(created.iter().any(|(name, _)| name == known.name));
        let description = text(known.description);
        vec![text(known.name), text(known.version), installed, YES, YES, NO, NULL, NULL, description]
    };
    Ok(KNOWN.iter().map(row).collect())
}
