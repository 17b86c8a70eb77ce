//! What definitions touch.

use super::{Exec, Names};
use crate::database::Instance;
use crate::definition::{Column, KeyForm, Namespace, Oid, Relation, Storage, TypeKind};
use crate::error::{Result, SqlError, state};
use crate::storage::column_type;
use model::Supervisor;
use std::sync::Arc;
use std::time::Duration;
use tables::storage::{TEMPORARY, Touched, Users};
use tables::{DatabaseDefinition, RoleDefinition};

/// The right to change the catalog, and to make and leave the engine tables that its definitions name, in the statement's
/// transaction. Holds the right to execute: definitions read, check and rewrite rows.
///
/// Made of an [`Exec`] by value. Who is lent an [`Exec`] can therefore not change the catalog.
pub struct Change<'s> {
    /// The right to execute.
    pub exec: Exec<'s>,
}

impl<'s> Change<'s> {
    /// The right to change the catalog in the session's transaction.
    pub fn new(exec: Exec<'s>) -> Change<'s> {
        Change { exec }
    }

    /// The right to read the catalog.
    pub fn names(&mut self) -> Names<'_> {
        self.exec.names()
    }

    /// An identifier for a new object.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn fresh_oid(&self) -> Result<Oid> {
        Ok(self.exec.database.sequences.fresh_oid()?)
    }

    /// A version for a definition, greater than every earlier one.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn fresh_version(&self) -> Result<u64> {
        Ok(self.exec.database.sequences.fresh_version()?)
    }

    /// Schema of the session's temporary relations, made if there is none.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn temporary_schema(&mut self) -> Result<String> {
        if let Some(schema) = &self.exec.session.temporary_schema {
            return Ok(schema.clone());
        }
        let schema = format!("{TEMPORARY}{}", self.fresh_version()?);
        Ok(self.exec.session.temporary_schema.insert(schema).clone())
    }

    /// Notes a temporary table with ON COMMIT, for the session's commits.
    pub fn note_on_commit(&mut self, table: Oid) {
        self.exec.session.on_commit.push(table);
    }

    /// The tables that [`Change::note_on_commit`] noted: all that have ON COMMIT, and some that are gone.
    pub fn noted_on_commit(&self) -> Vec<Oid> {
        self.exec.session.on_commit.clone()
    }

    /// Enters a new relation, under a fresh version.
    ///
    /// # Errors
    /// 42P07 if the name is taken, errors of the engine.
    pub fn insert(&mut self, relation: Relation) -> Result<()> {
        self.check_type_free(&relation)?;
        let (version, name) = (self.fresh_version()?, relation.name().to_owned());
        let object = relation.oid();
        self.touch(object, None, users(&relation).max(Users::Maker));
        let is_index = matches!(relation, Relation::Index(_));
        let Exec { transaction, database, .. } = &mut self.exec;
        named(&name, database.cache.insert(*transaction, relation, version))?;
        // An index belongs to the owner of its table.
        if is_index { Ok(()) } else { self.own(object) }
    }

    /// Gives a new object to the current user.
    ///
    /// # Errors
    /// 42704 if the role is gone, errors of the engine.
    pub fn own(&mut self, object: Oid) -> Result<()> {
        let owner = self.current_role()?;
        if owner == tables::SUPERUSER { Ok(()) } else { self.set_owner(object, owner) }
    }

    /// Identifier of the current user.
    ///
    /// # Errors
    /// 42704 if the role is gone.
    pub fn current_role(&mut self) -> Result<Oid> {
        let name = self.exec.session.user.clone();
        if &*name == "postgres" {
            return Ok(tables::SUPERUSER);
        }
        let role = self.names().role_named(&name)?;
        let missing = || SqlError::new(state::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"));
        Ok(role.ok_or_else(missing)?.oid)
    }

    /// Gives a relation or schema an owner.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn set_owner(&mut self, object: Oid, owner: Oid) -> Result<()> {
        let Exec { transaction, database, .. } = &mut self.exec;
        Ok(database.cache.set_owner(*transaction, object, owner)?)
    }

    /// Enters a role, or replaces its definition.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn put_role(&mut self, role: &RoleDefinition) -> Result<()> {
        let Exec { transaction, database, .. } = &mut self.exec;
        Ok(database.shared.put_role(*transaction, role)?)
    }

    /// Removes a role.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn remove_role(&mut self, name: &str) -> Result<()> {
        let Exec { transaction, database, .. } = &mut self.exec;
        Ok(database.shared.remove_role(*transaction, name)?)
    }

    /// How many objects of other databases a role owns, by database.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn owned_elsewhere(&mut self, role: Oid) -> Result<Vec<(String, usize)>> {
        let Exec { transaction, database, .. } = &mut self.exec;
        Ok(database.shared.owned_elsewhere(&*database.store, *transaction, role, database.oid)?)
    }

    /// Lets the type of a relation's rows be read anew, now that the relation changes.
    fn forget_row_type(&mut self, relation: Oid) {
        let types = &mut self.exec.session.types;
        let row = crate::types::defined::row_of(relation);
        if types.read.remove(&row).is_some() {
            types.changed.push(row);
        }
    }

    /// Checks that no type has the name of a relation whose rows have a type.
    fn check_type_free(&mut self, relation: &Relation) -> Result<()> {
        let Some(found) = self.names().type_in(relation.schema(), relation.name())? else { return Ok(()) };
        if matches!(found.kind, TypeKind::Composite(_)) {
            return Err(name_taken(relation.name()));
        }
        if matches!(relation, Relation::Index(_) | Relation::Sequence(_)) {
            return Ok(());
        }
        Err(super::type_taken(relation.name()).hint(
            "A relation has an associated type of the same name, so you must use a name that doesn't conflict with any existing \
             type.",
        ))
    }

    /// Replaces the definition of a relation that keeps its name, under a fresh version.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn replace(&mut self, relation: Relation) -> Result<()> {
        self.forget_row_type(relation.oid());
        if matches!(relation, Relation::Sequence(_)) {
            self.touch(relation.oid(), None, users(&relation)); // A restart leaves its state.
        }
        let version = self.fresh_version()?;
        let Exec { transaction, database, .. } = &mut self.exec;
        Ok(database.cache.replace(*transaction, relation, version)?)
    }

    /// Replaces a definition by one with another name, or in another schema.
    ///
    /// # Errors
    /// 42P07 if the name is taken, errors of the engine.
    pub fn rename(&mut self, old: &Relation, new: Relation) -> Result<()> {
        self.forget_row_type(old.oid());
        self.check_type_free(&new)?;
        let (version, name) = (self.fresh_version()?, new.name().to_owned());
        let Exec { transaction, database, .. } = &mut self.exec;
        named(&name, database.cache.rename(*transaction, old, new, version))
    }

    /// Removes a relation. Its storage stays until [`Change::leave_storage`].
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn remove(&mut self, relation: &Relation) -> Result<()> {
        self.forget_row_type(relation.oid());
        self.touch(relation.oid(), None, users(relation));
        let Exec { transaction, database, .. } = &mut self.exec;
        Ok(database.cache.remove(*transaction, relation)?)
    }

    /// Enters an extension.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn put_extension(&mut self, name: &str, oid: Oid) -> Result<()> {
        let Exec { transaction, database, .. } = &mut self.exec;
        Ok(database.cache.put_extension(*transaction, name, oid)?)
    }

    /// Removes an extension. Returns whether there was one.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn remove_extension(&mut self, name: &str) -> Result<bool> {
        let Exec { transaction, database, .. } = &mut self.exec;
        Ok(database.cache.remove_extension(*transaction, name)?)
    }

    /// Enters a schema, or replaces it.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn insert_namespace(&mut self, namespace: &Namespace) -> Result<()> {
        let Exec { transaction, database, .. } = &mut self.exec;
        Ok(database.cache.insert_namespace(*transaction, namespace)?)
    }

    /// Removes a schema.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn remove_namespace(&mut self, name: &str) -> Result<()> {
        let Exec { transaction, database, .. } = &mut self.exec;
        Ok(database.cache.remove_namespace(*transaction, name)?)
    }

    /// Replaces the definition of a database.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn put_database(&mut self, definition: &DatabaseDefinition) -> Result<()> {
        let Exec { transaction, database, .. } = &mut self.exec;
        Ok(database.shared.put_database(*transaction, definition)?)
    }

    /// Gives a database another name.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn rename_database(&mut self, old: &str, definition: &DatabaseDefinition) -> Result<()> {
        let Exec { transaction, database, .. } = &mut self.exec;
        Ok(database.shared.rename_database(*transaction, old, definition)?)
    }

    /// Notes that a relation depends on others.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn depend(&mut self, dependent: Oid, on: impl IntoIterator<Item = Oid>) -> Result<()> {
        let Exec { transaction, database, .. } = &mut self.exec;
        Ok(database.cache.depend(*transaction, dependent, on)?)
    }

    /// Forgets what a relation depends on.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn forget_dependencies(&mut self, dependent: Oid) -> Result<()> {
        let Exec { transaction, database, .. } = &mut self.exec;
        Ok(database.cache.forget_dependencies(*transaction, dependent)?)
    }

    /// What ends the statement's waits for a disk.
    fn supervisor(&self) -> Option<Arc<dyn Supervisor>> {
        Some(self.exec.cancel.clone())
    }

    /// Makes an engine table for the rows of a relation.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn create_row_storage(&mut self, relation: Oid, columns: &[Column], key: KeyForm) -> Result<Storage> {
        let Instance { store, sequences, .. } = &***self.exec.database;
        let kinds = columns.iter().map(|column| column_type(column.data_type));
        let by = model::Storage::Ordered;
        let made =
            tables::storage::create_row_storage(&**store, sequences, relation, kinds, key, by, self.supervisor())?;
        self.leave_storage(relation, made);
        Ok(made)
    }

    /// Makes an engine table for the entries of an index.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn create_index_storage(&mut self, relation: Oid) -> Result<Storage> {
        let Instance { store, sequences, .. } = &***self.exec.database;
        let made = tables::storage::create_index_storage(&**store, sequences, relation, self.supervisor())?;
        self.leave_storage(relation, made);
        Ok(made)
    }

    /// Notes that a relation's definition names this storage no longer, or does not name it yet.
    pub fn leave_storage(&mut self, relation: Oid, storage: Storage) {
        self.touch(relation, Some(storage.table), Users::All);
    }

    /// Notes what the end of the transaction is to look after.
    fn touch(&mut self, relation: Oid, table: Option<u32>, users: Users) {
        self.exec.session.touched.push(Touched { relation, table, users });
    }

    /// Same as [`Exec::waiting_at_most`], for work that changes the catalog.
    ///
    /// # Errors
    /// Errors of `work`.
    pub fn waiting_at_most<T>(
        &mut self,
        limit: Duration,
        unavailable: impl FnOnce() -> SqlError,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.exec.transaction.set_wait_limit(Some(limit));
        let done = work(self);
        self.exec.end_short_wait(done, unavailable)
    }
}

/// Who uses a relation.
fn users(relation: &Relation) -> Users {
    if relation.schema().starts_with(TEMPORARY) { Users::Session } else { Users::All }
}

/// 42P07
pub(crate) fn name_taken(name: &str) -> SqlError {
    SqlError::new(state::DUPLICATE_TABLE, format!("relation \"{name}\" already exists"))
}

fn named(name: &str, entered: model::Result<()>) -> Result<()> {
    entered.map_err(|error| match error {
        model::Error::Duplicate(_) => name_taken(name),
        error => error.into(),
    })
}
