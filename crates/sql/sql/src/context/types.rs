//! Types that statements have defined: found by name or identifier, and from then on known to the functions that read values.

use super::{Change, Exec, Names};
use crate::definition::{Column, DefinedType, Oid, Relation, TypeKind, attributes};
use crate::env::CatalogLookup;
use crate::error::{Result, SqlError, state};
use crate::types::{Label, Type, defined};
use pgtypes::defined::{Attribute, Definition};
use std::sync::{Arc, PoisonError};

impl Names<'_> {
    /// The type with this identifier, also that of the rows of a table or view. Its values can be read for the rest of the transaction.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn defined_type(&mut self, oid: Oid) -> Result<Option<Arc<DefinedType>>> {
        let found = match defined::relation_of(oid) {
            Some(relation) => {
                self.database.cache.relation_by_oid(self.transaction, relation)?.and_then(|it| row_type(&it))
            }
            None => self.database.cache.defined_type(self.transaction, oid)?,
        };
        if let Some(found) = &found {
            self.know(found)?;
            self.note_type(None, "", Some((oid, found.version)));
        }
        Ok(found)
    }

    /// The type of this name, also that of the rows of a table or view; without a schema, the first along the search path.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn type_named(&mut self, schema: Option<&str>, name: &str) -> Result<Option<Arc<DefinedType>>> {
        let found = self.find_type(schema, name)?;
        if let Some(found) = &found {
            self.know(found)?;
        }
        self.note_type(schema, name, found.as_ref().map(|found| (found.oid, found.version)));
        Ok(found)
    }

    fn find_type(&mut self, schema: Option<&str>, name: &str) -> Result<Option<Arc<DefinedType>>> {
        let temporary = self.session.temporary_schema.clone();
        let schemas: Vec<String> = match schema {
            Some("pg_temp") => temporary.into_iter().collect(),
            Some(schema) => vec![schema.to_owned()],
            None => temporary.into_iter().chain(self.session.search_path().iter().cloned()).collect(),
        };
        for schema in schemas {
            if let Some(found) = self.database.cache.type_named(self.transaction, &schema, name)? {
                return Ok(Some(found));
            }
            if let Some(relation) = self.database.cache.relation(self.transaction, &schema, name)?
                && let Some(found) = row_type(&relation)
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The type of this name in one schema.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn type_in(&mut self, schema: &str, name: &str) -> Result<Option<Arc<DefinedType>>> {
        Ok(self.database.cache.type_named(self.transaction, schema, name)?)
    }

    /// All types that statements have defined.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn defined_types(&mut self) -> Result<Vec<Arc<DefinedType>>> {
        Ok(self.database.cache.defined_types(self.transaction)?)
    }

    /// Reads the types of a relation's columns.
    pub(super) fn read_types_of(&mut self, relation: Option<&Relation>) -> Result<()> {
        let columns = match relation {
            Some(Relation::Table(table)) => &table.columns,
            Some(Relation::View(view)) => &view.columns,
            _ => return Ok(()),
        };
        columns.iter().filter(|column| !column.dropped).try_for_each(|column| {
            // A domain's rules are read by who applies them; that they are others, a plan must notice.
            column.domain.into_iter().try_for_each(|domain| self.defined_type(domain).map(drop))?;
            self.read_type(column.data_type)
        })
    }

    /// Reads a type, if a statement has defined it.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn read_type(&mut self, data_type: Type) -> Result<()> {
        let Some(oid) = data_type.scalar.defined() else { return Ok(()) };
        match self.session.types.read.get(&oid) {
            Some((version, definition)) => {
                let (version, definition) = (*version, definition.clone());
                self.note_type(None, "", Some((oid, version)));
                definition.attributes.iter().try_for_each(|attribute| self.read_type(attribute.data_type))
            }
            None => self.defined_type(oid).map(drop),
        }
    }

    /// Returns whether a type means what it meant when it was noted.
    pub(super) fn type_still_means(&mut self, noted: &CatalogLookup) -> Result<bool> {
        let version = |found: Arc<DefinedType>| (found.oid, found.version);
        let found = match (&*noted.name, noted.meaning) {
            ("", Some((oid, _))) => self.defined_type(oid)?,
            (name, _) => self.type_named(noted.schema.as_deref(), name)?,
        };
        Ok(found.map(version) == noted.meaning)
    }

    fn note_type(&mut self, schema: Option<&str>, name: &str, meaning: Option<(Oid, u64)>) {
        if let Some(noted) = &mut self.session.lookups {
            let schema = schema.map(str::to_owned);
            let lookup = CatalogLookup { schema, name: name.to_owned(), meaning, is_type: true };
            if !noted.contains(&lookup) {
                noted.push(lookup);
            }
        }
    }

    /// Makes a definition known to the functions that read values, with those of its attributes.
    fn know(&mut self, found: &DefinedType) -> Result<()> {
        for (_, attribute) in attributes(found) {
            self.read_type(attribute.data_type)?;
        }
        if self.session.types.read.get(&found.oid).is_some_and(|(version, _)| *version == found.version) {
            return Ok(());
        }
        let mut cached = self.database.types.write().unwrap_or_else(PoisonError::into_inner);
        let definition = match cached.get(&found.oid) {
            Some((version, definition)) if *version == found.version => definition.clone(),
            _ => {
                let definition = Arc::new(definition(found));
                cached.insert(found.oid, (found.version, definition.clone()));
                definition
            }
        };
        drop(cached);
        self.session.types.read.insert(found.oid, (found.version, definition.clone()));
        defined::add(definition);
        Ok(())
    }
}

/// The type of a relation's rows.
fn row_type(relation: &Relation) -> Option<Arc<DefinedType>> {
    let columns = match relation {
        Relation::Table(table) => &table.columns,
        Relation::View(view) => &view.columns,
        Relation::Sequence(_) | Relation::Index(_) => return None,
    };
    Some(Arc::new(DefinedType {
        oid: defined::row_of(relation.oid()),
        schema: relation.schema().to_owned(),
        name: relation.name().to_owned(),
        version: relation.version(),
        kind: TypeKind::Composite(columns.clone()),
        comment: None,
    }))
}

fn definition(found: &DefinedType) -> Definition {
    let (schema, name) = ((&*found.schema).into(), (&*found.name).into());
    let labels = match &found.kind {
        TypeKind::Enum(labels) => &labels[..],
        TypeKind::Domain(_) => &[],
        TypeKind::Composite(_) => {
            let attribute = |(at, column): (usize, &Column)| Attribute {
                name: (&*column.name).into(),
                data_type: column.data_type,
                modifier: column.modifier,
                place: u16::try_from(at).unwrap_or(u16::MAX),
                domain: column.domain,
            };
            return Definition::composite(found.oid, schema, name, attributes(found).map(attribute).collect());
        }
    };
    let label = |label: &crate::definition::EnumLabel| {
        Arc::new(Label { enumeration: found.oid, name: (&*label.name).into(), rank: label.rank.clone().into() })
    };
    Definition {
        labels: labels.iter().map(label).collect(),
        ..Definition::composite(found.oid, schema, name, Vec::new())
    }
}

impl Exec<'_> {
    /// Reads anew the types that the transaction has changed, after a part of it was undone.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn read_changed_types(&mut self) -> Result<()> {
        for oid in std::mem::take(&mut self.session.types.changed) {
            self.session.types.read.remove(&oid);
            self.names().defined_type(oid)?;
        }
        Ok(())
    }
}

impl Change<'_> {
    /// Enters a new type, under a fresh version.
    ///
    /// # Errors
    /// 42710 if the name is taken, errors of the engine.
    pub fn insert_type(&mut self, new: DefinedType) -> Result<()> {
        let (version, oid, name) = (self.fresh_version()?, new.oid, new.name.clone());
        let Exec { transaction, database, session, .. } = &mut self.exec;
        session.types.changed.push(oid);
        type_entered(&name, database.cache.insert_type(*transaction, new, version))
    }

    /// Replaces the definition of a type, under a fresh version.
    ///
    /// # Errors
    /// 42710 if its new name is taken, errors of the engine.
    pub fn replace_type(&mut self, old: &DefinedType, new: DefinedType) -> Result<()> {
        let (version, name) = (self.fresh_version()?, new.name.clone());
        let Exec { transaction, database, session, .. } = &mut self.exec;
        session.types.changed.push(old.oid);
        type_entered(&name, database.cache.replace_type(*transaction, old, new, version))?;
        self.names().defined_type(old.oid).map(drop)
    }

    /// Removes a type.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn remove_type(&mut self, old: &DefinedType) -> Result<()> {
        let Exec { transaction, database, session, .. } = &mut self.exec;
        session.types.changed.push(old.oid);
        Ok(database.cache.remove_type(*transaction, old)?)
    }
}

fn type_entered(name: &str, entered: model::Result<()>) -> Result<()> {
    entered.map_err(|error| match error {
        model::Error::Duplicate(_) => type_taken(name),
        error => error.into(),
    })
}

/// 42710
pub(crate) fn type_taken(name: &str) -> SqlError {
    SqlError::new(state::DUPLICATE_OBJECT, format!("type \"{name}\" already exists"))
}
