//! CREATE DATABASE and DROP DATABASE: transactions of their own, outside of blocks.

use super::Session;
use crate::alter::name::fold;
use crate::database::missing;
use crate::ddl::database;
use crate::error::{Result, SqlError, state};
use syntax::ast::{CreateDatabase, Definition, DropDatabase};
use tables::{DatabaseDefinition, RoleDefinition};

impl Session {
    /// Runs a definition that no block can contain; `false` for others.
    ///
    /// # Errors
    /// 25001 inside a block or a text of several statements, 25006, and those of the statement.
    pub(super) fn define_alone(&mut self, definition: &Definition) -> Result<bool> {
        match definition {
            Definition::CreateDatabase(create) => {
                self.must_be_alone("CREATE DATABASE")?;
                self.create_database(create)?;
            }
            Definition::DropDatabase(drop) => {
                self.must_be_alone("DROP DATABASE")?;
                self.drop_database(drop)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn must_be_alone(&self, command: &str) -> Result<()> {
        if self.open.is_some() {
            let message = format!("{command} cannot run inside a transaction block");
            return Err(SqlError::new(state::ACTIVE_SQL_TRANSACTION, message));
        }
        if self.state.derived.is_read_only_by_default {
            return Err(super::portal::read_only(command));
        }
        Ok(())
    }

    fn create_database(&mut self, create: &CreateDatabase) -> Result<()> {
        let name = fold(&create.name);
        let oid = self.database.sequences.fresh_oid()?;
        let wanted =
            create.options.iter().find(|option| option.name == "owner").and_then(|option| option.value.clone());
        let owner = self.role(&wanted.unwrap_or_else(|| self.state.user.to_string()))?;
        let mut definition = DatabaseDefinition::plain(oid, name, owner.oid);
        let notices = database::create_options(&mut definition, &create.options)?;
        self.state.notices.extend(notices);
        let position = self.database.create_database(&definition)?;
        self.state.rest_on(position);
        Ok(())
    }

    /// A role, outside of the session's transaction.
    fn role(&mut self, name: &str) -> Result<RoleDefinition> {
        let name = if name == "current_user" { self.state.user.to_string() } else { name.to_owned() };
        let (found, rests_on) = self.database.shared.find_role(&*self.database.store, &name)?;
        self.state.rest_on(rests_on);
        found.ok_or_else(|| SqlError::new(state::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist")))
    }

    fn drop_database(&mut self, drop: &DropDatabase) -> Result<()> {
        let name = fold(&drop.name);
        let (found, rests_on) = self.database.shared.find_database(&*self.database.store, &name)?;
        self.state.rest_on(rests_on);
        let Some(definition) = found else {
            let error = missing(&name);
            if !drop.if_exists {
                return Err(error);
            }
            let message = format!("{}, skipping", error.message());
            self.state.notices.push(SqlError::new(state::SUCCESSFUL_COMPLETION, message));
            return Ok(());
        };
        if definition.oid == self.database.oid {
            return Err(SqlError::new(state::OBJECT_IN_USE, "cannot drop the currently open database"));
        }
        if definition.is_template {
            return Err(SqlError::new(state::WRONG_OBJECT_TYPE, "cannot drop a template database"));
        }
        if definition.oid == tables::POSTGRES {
            return Err(SqlError::unsupported("DROP DATABASE of the database that every directory has"));
        }
        let position = self.database.drop_database(&self.entry.cancel, &definition, drop.force)?;
        self.state.rest_on(position);
        Ok(())
    }
}
