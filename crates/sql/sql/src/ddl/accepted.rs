//! Statements that are taken because programs and dumps say them, though there is little or nothing to do: one role owns
//! everything, space is reclaimed and statistics are not needed.

use crate::alter::name::{fold, no_relation, split};
use crate::catalog::{self, Relation};
use crate::context::{Change, Exec, Names};
use crate::error::{Result, SqlError, state};
use std::time::Duration;
use syntax::ast::{self, GranteeName, GranteesType, ObjectName, Owner};

/// The role that there is.
const ROLE: &str = "postgres";

/// Whether there is such a role.
///
/// # Errors
/// 42704
pub(super) fn check_role(name: &str) -> Result<()> {
    if name == ROLE {
        return Ok(());
    }
    Err(SqlError::new(state::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist")))
}

/// Whether a new owner is the owner.
///
/// # Errors
/// 42704
pub(super) fn check_owner(owner: &Owner) -> Result<()> {
    match owner {
        Owner::Ident(ident) => check_role(&fold(ident)),
        Owner::CurrentRole | Owner::CurrentUser | Owner::SessionUser => Ok(()),
    }
}

/// GRANT and REVOKE: the relations and roles must be there.
///
/// # Errors
/// 42P01, 42704
pub(super) fn privileges(
    names: &mut Names<'_>,
    objects: Option<&ast::GrantObjects>,
    grantees: &[ast::Grantee],
) -> Result<()> {
    if let Some(ast::GrantObjects::Tables(relations) | ast::GrantObjects::Sequences(relations)) = objects {
        relations.iter().try_for_each(|name| must_exist(names, name))?;
    }
    for grantee in grantees {
        match &grantee.name {
            Some(GranteeName::ObjectName(name)) if grantee.grantee_type != GranteesType::Public => {
                let (_, name) = split(name)?;
                if name != "public" && !matches!(name.as_str(), "current_user" | "session_user" | "current_role") {
                    check_role(&name)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// A relation that a statement names, and does nothing to.
///
/// # Errors
/// 42P01
pub(super) fn must_exist(names: &mut Names<'_>, name: &ObjectName) -> Result<()> {
    let (schema, name) = split(name)?;
    if names.relation(schema.as_deref(), &name)?.is_none()
        && (catalog::built_in().table)(schema.as_deref(), &name).is_none()
    {
        return Err(no_relation(schema.as_deref(), &name));
    }
    Ok(())
}

/// The longest that others' commits hold a definition: NOWAIT is about those that are held for longer.
const COMMIT: Duration = Duration::from_millis(20);

/// LOCK TABLE: writes the definition anew, so that whoever uses the table comes before or after. The modes that statements over
/// rows take by themselves have no more to do than find the table.
///
/// # Errors
/// 42P01, 42809, the engine's.
pub(super) fn lock(change: &mut Change<'_>, lock: &ast::Lock) -> Result<()> {
    use ast::LockTableMode::{AccessShare, RowExclusive, RowShare};
    let is_weak = matches!(lock.lock_mode, Some(AccessShare | RowShare | RowExclusive));
    for target in &lock.tables {
        let (schema, name) = split(&target.name)?;
        let unavailable = || {
            let message = format!("could not obtain lock on relation \"{name}\"");
            SqlError::new(state::LOCK_NOT_AVAILABLE, message)
        };
        let found = match lock.nowait {
            true => {
                let find = |exec: &mut Exec<'_>| exec.names().relation(schema.as_deref(), &name);
                change.exec.waiting_at_most(COMMIT, unavailable, find)
            }
            false => change.names().relation(schema.as_deref(), &name),
        };
        match found? {
            Some(Relation::Table(_) | Relation::View(_)) if is_weak => {}
            Some(relation @ (Relation::Table(_) | Relation::View(_))) if lock.nowait => {
                change.waiting_at_most(Duration::ZERO, unavailable, |change| change.replace(relation))?;
            }
            Some(relation @ (Relation::Table(_) | Relation::View(_))) => change.replace(relation)?,
            Some(_) => {
                let message = format!("cannot lock relation \"{name}\"");
                return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
            }
            None => return Err(no_relation(schema.as_deref(), &name)),
        }
    }
    Ok(())
}

/// CREATE EXTENSION: the one that PostgreSQL has from the start is there.
///
/// # Errors
/// 42710, 0A000
pub(super) fn create_extension(create: &ast::CreateExtension, notices: &mut Vec<SqlError>) -> Result<()> {
    let name = fold(&create.name);
    if name != "plpgsql" {
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, format!("extension \"{name}\" is not available")));
    }
    let message = "extension \"plpgsql\" already exists";
    if !create.if_not_exists {
        return Err(SqlError::new(state::DUPLICATE_OBJECT, message));
    }
    notices.push(SqlError::new(state::DUPLICATE_OBJECT, format!("{message}, skipping")));
    Ok(())
}
