//! Reads the catalog. Every answer is protected by the transaction that got it, that there is nothing too.

use super::{Namespace, Oid, Relation};
use crate::context::Context;
use crate::env::Noted;
use crate::error::Result;
use crate::types::Styles;

/// The schemas that are there without being in the catalog's table, with PostgreSQL's identifiers.
const BUILT_IN: [(Oid, &str); 3] = [(11, "pg_catalog"), (99, "pg_toast"), (13_244, "information_schema")];

/// What binding may ask: what names mean, and in which styles literals are read.
pub trait NameLookup {
    /// As [`Context::relation`].
    ///
    /// # Errors
    /// The engine's.
    fn relation(&mut self, schema: Option<&str>, name: &str) -> Result<Option<Relation>>;

    /// Styles in which literals are read.
    fn styles(&self) -> Styles;

    /// Notes that a literal was read that means another value at another time, or in another time zone.
    fn note_moment(&mut self);
}

impl NameLookup for Context<'_> {
    fn relation(&mut self, schema: Option<&str>, name: &str) -> Result<Option<Relation>> {
        Context::relation(self, schema, name)
    }

    fn styles(&self) -> Styles {
        self.session.styles()
    }

    fn note_moment(&mut self) {
        self.session.has_read_moments = true;
    }
}

impl Context<'_> {
    /// The relation of this name; without a schema, the first along the search path. Protects the answer: nobody can
    /// create, change or drop it unnoticed while the transaction runs.
    ///
    /// # Errors
    /// The engine's.
    pub fn relation(&mut self, schema: Option<&str>, name: &str) -> Result<Option<Relation>> {
        let found = self.find(schema, name)?;
        if let Some(noted) = &mut self.session.noted {
            let meaning = found.as_ref().map(|relation| (relation.oid(), relation.version()));
            noted.push(Noted { schema: schema.map(str::to_owned), name: name.to_owned(), meaning });
        }
        Ok(found)
    }

    /// What a name means now: the relation's identifier and its definition's version. Protected like the relation itself.
    ///
    /// # Errors
    /// The engine's.
    pub fn meaning(&mut self, schema: Option<&str>, name: &str) -> Result<Option<(Oid, u64)>> {
        Ok(self.find(schema, name)?.map(|relation| (relation.oid(), relation.version())))
    }

    fn find(&mut self, schema: Option<&str>, name: &str) -> Result<Option<Relation>> {
        let temporary = self.session.temporary_schema.clone();
        match schema {
            Some("pg_temp") => match temporary {
                Some(schema) => self.relation_in(&schema, name),
                None => Ok(None),
            },
            Some(schema) => self.relation_in(schema, name),
            None => {
                let path = self.session.search_path();
                for schema in temporary.iter().chain(path.iter()) {
                    if let Some(relation) = self.relation_in(schema, name)? {
                        return Ok(Some(relation));
                    }
                }
                Ok(None)
            }
        }
    }

    /// The relation of this name in one schema.
    pub(crate) fn relation_in(&mut self, schema: &str, name: &str) -> Result<Option<Relation>> {
        if BUILT_IN.iter().any(|(_, built_in)| *built_in == schema) {
            return Ok(None);
        }
        Ok(self.database.cache.relation(self.transaction, schema, name)?)
    }

    /// The relation with this identifier.
    ///
    /// # Errors
    /// The engine's.
    pub fn relation_by_oid(&mut self, oid: Oid) -> Result<Option<Relation>> {
        Ok(self.database.cache.relation_by_oid(self.transaction, oid)?)
    }

    /// All relations.
    ///
    /// # Errors
    /// The engine's.
    pub fn relations(&mut self) -> Result<Vec<Relation>> {
        Ok(self.database.cache.relations(self.transaction)?)
    }

    /// The relations of a schema.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn relations_in(&mut self, schema: &str) -> Result<Vec<Relation>> {
        Ok(self.database.cache.relations_in(self.transaction, schema)?)
    }

    /// All schemas, the built-in ones among them.
    ///
    /// # Errors
    /// The engine's.
    pub fn namespaces(&mut self) -> Result<Vec<Namespace>> {
        let stored = self.database.cache.namespaces(self.transaction)?;
        let built_in =
            BUILT_IN.iter().map(|(oid, name)| Namespace { oid: *oid, name: (*name).to_owned(), comment: None });
        Ok(built_in.chain(stored).collect())
    }

    /// The schema of this name.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn namespace(&mut self, name: &str) -> Result<Option<Namespace>> {
        if let Some((oid, name)) = BUILT_IN.iter().find(|(_, built_in)| *built_in == name) {
            return Ok(Some(Namespace { oid: *oid, name: (*name).to_owned(), comment: None }));
        }
        Ok(self.database.cache.namespace(self.transaction, name)?)
    }
}
