//! Readers of the statements over the catalog, into [`crate::ast::Definition`].
//!
//! PostgreSQL's grammar is followed here: `sqlparser` reads other systems' clauses in these statements and drops them, and lacks
//! some of PostgreSQL's. What PostgreSQL has and this server lacks is refused by name where it is read.

mod alter;
mod constraint;
mod copy;
mod create;
mod database;
mod object;
mod role;
mod sequence;
mod storage;
mod table;

pub(crate) use copy::copy;
pub(crate) use create::conflict_target;

use crate::ast::Definition;
use crate::reader::Reader;
use pgtypes::Result;

/// Reads a statement over the catalog.
///
/// # Errors
/// 42601, 0A000
pub(crate) fn definition(reader: &mut Reader<'_>) -> Result<Definition> {
    Ok(
        match reader.take_any(&[
            "CREATE",
            "ALTER",
            "DROP",
            "TRUNCATE",
            "COMMENT",
            "GRANT",
            "REVOKE",
            "LOCK",
            "REASSIGN OWNED",
        ]) {
            Some("CREATE") => create::create(reader)?,
            Some("ALTER") if role::is_next(reader) => Definition::AlterRole(role::alter(reader)?),
            Some("ALTER") if reader.take("DATABASE") => Definition::AlterDatabase(database::alter(reader)?),
            Some("ALTER") => Definition::Alter(alter::alter(reader)?),
            Some("DROP") if role::is_next(reader) => Definition::DropRole(role::drop(reader)?),
            Some("DROP") if reader.take("OWNED") => Definition::Owned(role::owned(reader, false)?),
            Some("DROP") if reader.take("DATABASE") => Definition::DropDatabase(database::drop(reader)?),
            Some("DROP") => Definition::Drop(object::drop(reader)?),
            Some("TRUNCATE") => Definition::Truncate(object::truncate(reader)?),
            Some("COMMENT") => Definition::Comment(object::comment(reader)?),
            Some("LOCK") => Definition::Lock(object::lock(reader)?),
            Some("REASSIGN OWNED") => Definition::Owned(role::owned(reader, true)?),
            Some(first) => match role::membership(reader, first == "GRANT")? {
                Some(membership) => Definition::Membership(membership),
                None => Definition::Privileges(object::privileges(reader, first == "GRANT")?),
            },
            None => Definition::Maintenance(object::maintenance(reader)?),
        },
    )
}

#[cfg(test)]
mod tests;
