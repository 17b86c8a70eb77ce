//! Reads the catalog. Every answer is protected by the transaction that got it, that there is nothing too.

use super::{Cache, Namespace, Oid, Relation};
use crate::context::Context;
use crate::definition::cache::{all_namespaces, decode_namespace, namespace_key, oid_key, relation_key, relations_of};
use crate::env::Noted;
use crate::error::Result;
use crate::store::Transaction;
use model::{Columns, RowBuf};

/// The schemas that are there without being in the catalog's table, with PostgreSQL's identifiers.
const BUILT_IN: [(Oid, &str); 3] = [(11, "pg_catalog"), (99, "pg_toast"), (13_244, "information_schema")];

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
        self.database.cache.relation_at(self.transaction, &relation_key(schema, name))
    }

    /// The relation with this identifier.
    ///
    /// # Errors
    /// The engine's.
    pub fn relation_by_oid(&mut self, oid: Oid) -> Result<Option<Relation>> {
        self.database.cache.relation_by_oid(self.transaction, oid)
    }

    /// All relations.
    ///
    /// # Errors
    /// The engine's.
    pub fn relations(&mut self) -> Result<Vec<Relation>> {
        self.database.cache.read_all(self.transaction)
    }

    /// The relations of a schema.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn relations_in(&mut self, schema: &str) -> Result<Vec<Relation>> {
        let cache = &self.database.cache;
        cache.scan(self.transaction, relations_of(schema), |row| cache.decode(row))
    }

    /// All schemas, the built-in ones among them.
    ///
    /// # Errors
    /// The engine's.
    pub fn namespaces(&mut self) -> Result<Vec<Namespace>> {
        let stored = self.database.cache.scan(self.transaction, all_namespaces(), decode_namespace)?;
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
        let mut row = RowBuf::new();
        if !self.transaction.read(self.database.cache.table(), &namespace_key(name), Columns::All, &mut row)? {
            return Ok(None);
        }
        decode_namespace(row.bytes()).map(Some)
    }
}

impl Cache {
    fn relation_at(&self, transaction: &mut dyn Transaction, key: &[u8]) -> Result<Option<Relation>> {
        let mut row = RowBuf::new();
        if !transaction.read(self.table(), key, Columns::All, &mut row)? {
            return Ok(None);
        }
        self.decode(row.bytes()).map(Some)
    }

    /// The relation with this identifier: where it was seen last, or where the catalog says.
    pub(super) fn relation_by_oid(&self, transaction: &mut dyn Transaction, oid: Oid) -> Result<Option<Relation>> {
        if let Some(guess) = self.last_known(oid)
            && let Some(found) = self.relation_at(transaction, &relation_key(guess.schema(), guess.name()))?
            && found.oid() == oid
        {
            return Ok(Some(found));
        }
        let mut key = RowBuf::new();
        if !transaction.read(self.table(), &oid_key(oid), Columns::All, &mut key)? {
            return Ok(None);
        }
        self.relation_at(transaction, key.bytes())
    }
}
