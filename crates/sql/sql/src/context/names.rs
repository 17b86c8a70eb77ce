//! Reads the catalog.

use crate::database::Database;
use crate::definition::{Cache, DefinedType, Namespace, Oid, Relation};
use crate::env::{CatalogLookup, State};
use crate::error::Result;
use crate::store::Transaction;
use crate::types::{Datum, Styles};
use model::RowBuf;
use std::collections::HashMap;
use std::sync::Arc;
use tables::{DatabaseDefinition, RoleDefinition};

/// Schemas that are not in the catalog's table, with PostgreSQL's identifiers.
const BUILT_IN: [(Oid, &str); 3] = [(11, "pg_catalog"), (99, "pg_toast"), (13_244, "information_schema")];

/// The right to read the catalog: definitions, and what names mean on the session's search path. Binding and the functions that
/// describe definitions have it. It reads no rows and changes nothing.
///
/// Every answer is protected by the transaction that got it, that there is no such relation too: nobody can create, change or
/// drop it unnoticed while the transaction runs.
pub struct Names<'a> {
    pub(super) transaction: &'a mut (dyn Transaction + 'a),
    pub(super) database: &'a Arc<Database>,
    pub(super) session: &'a mut State,
}

/// What binding may ask: what names mean, and in which styles literals are read.
pub trait NameLookup {
    /// Same as [`Names::relation`].
    ///
    /// # Errors
    /// Errors of the engine.
    fn relation(&mut self, schema: Option<&str>, name: &str) -> Result<Option<Relation>>;

    /// The database's name.
    fn database_name(&self) -> &str;

    /// Same as [`Names::defined_type`].
    ///
    /// # Errors
    /// Errors of the engine.
    fn defined_type(&mut self, oid: Oid) -> Result<Option<Arc<DefinedType>>>;

    /// Same as [`Names::type_named`].
    ///
    /// # Errors
    /// Errors of the engine.
    fn type_named(&mut self, schema: Option<&str>, name: &str) -> Result<Option<Arc<DefinedType>>>;

    /// Returns whether there is a schema of this name.
    ///
    /// # Errors
    /// Errors of the engine.
    fn has_schema(&mut self, name: &str) -> Result<bool>;

    /// Styles in which literals are read.
    fn styles(&self) -> Styles;

    /// Notes that a literal was read whose value depends on the time, or on the time zone.
    fn note_moment(&mut self);

    /// Calls a function that reads the catalog.
    ///
    /// # Errors
    /// The function's.
    fn call(&mut self, function: fn(&mut Names<'_>, &[Datum]) -> Result<Datum>, arguments: &[Datum]) -> Result<Datum>;
}

impl NameLookup for Names<'_> {
    fn relation(&mut self, schema: Option<&str>, name: &str) -> Result<Option<Relation>> {
        Names::relation(self, schema, name)
    }

    fn database_name(&self) -> &str {
        &self.session.database
    }

    fn defined_type(&mut self, oid: Oid) -> Result<Option<Arc<DefinedType>>> {
        Names::defined_type(self, oid)
    }

    fn type_named(&mut self, schema: Option<&str>, name: &str) -> Result<Option<Arc<DefinedType>>> {
        Names::type_named(self, schema, name)
    }

    fn has_schema(&mut self, name: &str) -> Result<bool> {
        Ok(self.namespace(name)?.is_some())
    }

    fn styles(&self) -> Styles {
        self.session.styles()
    }

    fn note_moment(&mut self) {
        self.session.has_read_moments = true;
    }

    fn call(&mut self, function: fn(&mut Names<'_>, &[Datum]) -> Result<Datum>, arguments: &[Datum]) -> Result<Datum> {
        function(self, arguments)
    }
}

/// Identifiers of schemas of temporary relations begin here: above those of users' objects, below those derived from them.
const FIRST_TEMPORARY: Oid = 0x1F00_0000;

/// The schema of a session's temporary relations, which is not stored.
pub fn temporary_namespace(name: &str) -> Option<Namespace> {
    let number: u64 = name.strip_prefix(tables::storage::TEMPORARY)?.parse().ok()?;
    let oid = FIRST_TEMPORARY | (number & 0x00FF_FFFF) as Oid;
    Some(Namespace { oid, name: name.to_owned(), comment: None })
}

impl Names<'_> {
    /// The database.
    pub fn database(&self) -> &Arc<Database> {
        self.database
    }

    /// The role that owns what the session makes.
    pub fn current_user(&self) -> &str {
        &self.session.user
    }

    /// The role of the session.
    pub fn session_user(&self) -> &str {
        &self.session.session_user
    }

    /// All roles, but for those that PostgreSQL predefines.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn roles(&mut self) -> Result<Vec<RoleDefinition>> {
        Ok(self.database.shared.roles(self.transaction)?)
    }

    /// The role of this name.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn role_named(&mut self, name: &str) -> Result<Option<RoleDefinition>> {
        Ok(self.database.shared.role(self.transaction, name)?)
    }

    /// The owner of a relation or schema.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn owner(&mut self, object: Oid) -> Result<Oid> {
        Ok(self.database.cache.owner(self.transaction, object)?)
    }

    /// The owners of what does not belong to `postgres`, by relation or schema.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn owners(&mut self) -> Result<HashMap<Oid, Oid>> {
        Ok(self.database.cache.owners(self.transaction)?)
    }

    /// The extensions that were created, by name, with their identifiers.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn extensions(&mut self) -> Result<Vec<(String, Oid)>> {
        Ok(self.database.cache.extensions(self.transaction)?)
    }

    /// A setting of the session.
    pub fn setting(&self, name: &str) -> Option<String> {
        self.session.setting(name)
    }

    /// All databases.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn databases(&mut self) -> Result<Vec<DatabaseDefinition>> {
        Ok(self.database.shared.databases(self.transaction)?)
    }

    /// The database of this name.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn database_named(&mut self, name: &str) -> Result<Option<DatabaseDefinition>> {
        Ok(self.database.shared.database(self.transaction, name)?)
    }

    /// Schemas in which unqualified names are looked up.
    pub fn search_path(&self) -> Arc<[String]> {
        self.session.search_path()
    }

    /// Schema of the session's temporary relations, if it exists.
    pub fn temporary_schema(&self) -> Option<String> {
        self.session.temporary_schema.clone()
    }

    /// The relation of this name; without a schema, the first along the search path.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn relation(&mut self, schema: Option<&str>, name: &str) -> Result<Option<Relation>> {
        let found = self.find(schema, name)?;
        if let Some(noted) = &mut self.session.lookups {
            let meaning = found.as_ref().map(|relation| (relation.oid(), relation.version()));
            noted.push(CatalogLookup {
                schema: schema.map(str::to_owned),
                name: name.to_owned(),
                meaning,
                is_type: false,
            });
        }
        Ok(found)
    }

    /// Returns whether a name means what it meant when it was noted.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn still_means(&mut self, noted: &CatalogLookup, buffer: &mut RowBuf) -> Result<bool> {
        if noted.is_type {
            return self.type_still_means(noted);
        }
        let CatalogLookup { schema, name, meaning, .. } = noted;
        let path = self.session.search_path();
        let first =
            schema.as_deref().or(self.session.temporary_schema.as_deref()).or(path.first().map(|first| &**first));
        // Where the name is looked up first, nothing else can come before it.
        if let (Some(first), Some(meaning)) = (first, *meaning)
            && self.database.cache.is_still(self.transaction, (first, name), meaning, buffer)?
        {
            return Ok(true);
        }
        let found = self.find(schema.as_deref(), name)?;
        Ok(found.map(|relation| (relation.oid(), relation.version())) == *meaning)
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
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn relation_in(&mut self, schema: &str, name: &str) -> Result<Option<Relation>> {
        if BUILT_IN.iter().any(|(_, built_in)| *built_in == schema) {
            return Ok(None);
        }
        let found = self.database.cache.relation(self.transaction, schema, name)?;
        self.read_types_of(found.as_ref())?;
        Ok(found)
    }

    /// The relation with this identifier.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn relation_by_oid(&mut self, oid: Oid) -> Result<Option<Relation>> {
        let found = self.database.cache.relation_by_oid(self.transaction, oid)?;
        self.read_types_of(found.as_ref())?;
        Ok(found)
    }

    /// All relations.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn relations(&mut self) -> Result<Vec<Relation>> {
        Ok(self.database.cache.relations(self.transaction)?)
    }

    /// All relations of another database, by its catalog.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn relations_in_catalog(&mut self, catalog: &Cache) -> Result<Vec<Relation>> {
        Ok(catalog.relations(self.transaction)?)
    }

    /// The relations of a schema.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn relations_in(&mut self, schema: &str) -> Result<Vec<Relation>> {
        Ok(self.database.cache.relations_in(self.transaction, schema)?)
    }

    /// The relations that depend on a relation, oldest first.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn dependents(&mut self, on: Oid) -> Result<Vec<Oid>> {
        Ok(self.database.cache.dependents(self.transaction, on)?)
    }

    /// All schemas, the built-in ones and that of the session's temporary relations among them.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn namespaces(&mut self) -> Result<Vec<Namespace>> {
        let stored = self.database.cache.namespaces(self.transaction)?;
        let built_in =
            BUILT_IN.iter().map(|(oid, name)| Namespace { oid: *oid, name: (*name).to_owned(), comment: None });
        let temporary = self.session.temporary_schema.as_deref().and_then(temporary_namespace);
        Ok(built_in.chain(stored).chain(temporary).collect())
    }

    /// The same, and those of the temporary relations and types of other sessions.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn namespaces_of_all_sessions(&mut self) -> Result<Vec<Namespace>> {
        let mut found = self.namespaces()?;
        let temporary = self.database.cache.temporary_schemas(self.transaction)?;
        let own = self.session.temporary_schema.as_ref();
        found.extend(temporary.iter().filter(|name| Some(*name) != own).filter_map(|name| temporary_namespace(name)));
        Ok(found)
    }

    /// The schema that a name of an existing relation may be qualified with: as [`Names::namespace`], or the session's own for
    /// temporary relations, under its name or as `pg_temp`.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn searched_namespace(&mut self, name: &str) -> Result<Option<Namespace>> {
        match self.session.temporary_schema.as_deref() {
            Some(own) if name == own || name == "pg_temp" => Ok(temporary_namespace(own)),
            _ => self.namespace(name),
        }
    }

    /// The schema of this name.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn namespace(&mut self, name: &str) -> Result<Option<Namespace>> {
        if let Some((oid, name)) = BUILT_IN.iter().find(|(_, built_in)| *built_in == name) {
            return Ok(Some(Namespace { oid: *oid, name: (*name).to_owned(), comment: None }));
        }
        Ok(self.database.cache.namespace(self.transaction, name)?)
    }
}
