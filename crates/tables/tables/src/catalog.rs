//! The catalog: definitions as rows of one engine table, and the process's cache of them.
//!
//! Under (schema, name) stand a version, an identifier and the definition as JSON; under an identifier the key of the definition
//! and the version: its *version row*. Both are written together. Whoever uses a relation reads one of them in the transaction that
//! uses it, so that definitions are as serializable, durable and atomic as rows (docs/decisions/0012-catalog-is-a-table.md): a name
//! is looked up by the first, and who has decoded a definition before compares the second
//! (docs/decisions/0058-the-version-of-a-definition-is-a-row.md).

use crate::definition::{DefinedType, Namespace, Oid, Relation, Storage};
use crate::shared::{POSTGRES, catalog_name};
use crate::storage::TEMPORARY;
use crate::transact::{find, find_or_create, is_shared, transact};
use crate::type_catalog::all_type_names;
use crate::types::{Modifier, Type};
use model::{Access, Columns, Fault, Key, Mode, Result, RowBuf, RowRef, Scan, Store, TableId};
use serde::{Serialize, de::DeserializeOwned};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError, RwLock};

/// Name of the catalog's engine table, in the first database.
pub const CATALOG: &str = "sql catalog";
/// Bytes before the definition: version and identifier.
const HEADER: usize = 12;

/// Key of the form of the catalog's rows.
const FORM_KEY: &[u8] = b"form";
/// The form that this code writes. Form 4 had no composite types, nor columns of them. Form 3 knew one database, of which it
/// would take the engine tables of others for left-overs, and no types that statements define (`type_catalog.rs`). In form 2
/// version rows had no version. Form 1 did not know the tables of programs either: [`crate::convert`] takes them in.
const FORM: &[u8] = b"5";
/// Forms that this code reads.
const FORMS: [&[u8]; 5] = [WITHOUT_PROGRAMS, WITHOUT_VERSIONS, ONE_DATABASE, WITHOUT_ROWS, FORM];
const WITHOUT_ROWS: &[u8] = b"4";
const ONE_DATABASE: &[u8] = b"3";
const WITHOUT_VERSIONS: &[u8] = b"2";
const WITHOUT_PROGRAMS: &[u8] = b"1";

/// The schema that a fresh database has. It can be dropped.
const PUBLIC_SCHEMA: (Oid, &str) = (2200, PUBLIC);
/// Name of the schema in which tables are made where nothing else is said.
pub const PUBLIC: &str = "public";

/// The catalog of a database.
///
/// A version is drawn once for every change and never again, even if the change was rolled back: whoever finds the version
/// that the stored row names has the right definition, and need not parse it again.
#[derive(Debug)]
pub struct Catalog<T = Type, M = Modifier> {
    table: TableId,
    known: RwLock<HashMap<Oid, Known<T, M>>>,
    /// Types that were read before.
    pub(crate) known_types: RwLock<HashMap<Oid, Arc<DefinedType<T, M>>>>,
}

/// A definition that was read before.
#[derive(Debug)]
struct Known<T, M> {
    version: u64,
    relation: Relation<T, M>,
}

/// Key of a relation's definition: relations of one schema share one space of names.
pub(crate) fn key_of(schema: &str, name: &str) -> Key {
    let mut key = relations_of(schema);
    key.push_text(name);
    key
}

/// Schema and name of a relation's key.
pub fn name_of(key: &[u8]) -> Option<(String, String)> {
    let mut reader = model::KeyReader::new(key.strip_prefix(&*all_relations())?);
    Some((text_in(&mut reader)?, text_in(&mut reader)?))
}

/// Schema of the key of a relation or of a type's name: behind a prefix of one byte.
fn schema_in(key: &[u8]) -> Option<String> {
    text_in(&mut model::KeyReader::new(key.get(1..)?))
}

fn text_in(reader: &mut model::KeyReader<'_>) -> Option<String> {
    match reader.value(model::ColumnType::Text, false) {
        Ok(model::Value::Text(text)) => Some(text),
        _ => None,
    }
}

/// Prefix of the keys of a schema's relations.
fn relations_of(schema: &str) -> Key {
    let mut key = all_relations();
    key.push_text(schema);
    key
}

/// Prefix of those keys under a prefix whose schema is one of temporary relations.
fn temporary_in(mut prefix: Key) -> Key {
    prefix.push_raw(TEMPORARY.as_bytes());
    prefix
}

/// Prefix of the keys of relations.
fn all_relations() -> Key {
    Key::from_bytes(b"r")
}

fn oid_key(oid: Oid) -> Key {
    let mut key = Key::from_bytes(b"o");
    key.push_raw(&oid.to_be_bytes());
    key
}

/// The version row of the definition under a key.
pub(crate) fn version_row(key: &[u8], version: u64) -> Vec<u8> {
    [key, &version.to_le_bytes()].concat()
}

/// The key in a version row. Those of form 2 have nothing behind it.
fn key_in(row: &[u8]) -> Result<&[u8]> {
    let parts = || {
        let mut reader = model::KeyReader::new(row.strip_prefix(&*all_relations())?);
        reader.skip(model::ColumnType::Text, false).ok()?;
        reader.skip(model::ColumnType::Text, false).ok()?;
        row.len().checked_sub(reader.rest().len())
    };
    let end = parts().ok_or_else(|| damaged("its version row has no key"))?;
    Ok(&row[..end])
}

/// Key of a schema.
fn namespace_key(name: &str) -> Key {
    let mut key = all_namespaces();
    key.push_text(name);
    key
}

/// Prefix of the keys of schemas.
fn all_namespaces() -> Key {
    Key::from_bytes(b"n")
}

pub(crate) fn encode<D: Serialize>(definition: &D, mut row: Vec<u8>) -> Result<Vec<u8>> {
    serde_json::to_writer(&mut row, definition).map_err(damaged)?;
    Ok(row)
}

pub(crate) fn decode<D: DeserializeOwned>(row: &[u8]) -> Result<D> {
    serde_json::from_slice(row).map_err(damaged)
}

pub(crate) fn damaged(why: impl fmt::Display) -> model::Error {
    Fault::Corruption { detail: format!("a definition in the catalog is damaged: {why}") }.into()
}

/// Version and identifier at the start of a relation's row, and the definition behind them.
pub(crate) fn header(row: &[u8]) -> Option<(u64, Oid, &[u8])> {
    let (head, definition) = row.split_at_checked(HEADER)?;
    let (version, oid) = head.split_at(8);
    Some((u64::from_le_bytes(version.try_into().ok()?), u32::from_le_bytes(oid.try_into().ok()?), definition))
}

impl<T, M> Catalog<T, M> {
    /// The engine table.
    pub fn table(&self) -> TableId {
        self.table
    }

    /// Reads the version row of a relation's definition into `row`; `false` if there is no such relation. Protects the answer as
    /// [`Catalog::relation`] does: each change of a definition writes another.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn version_row<A: Access + ?Sized>(&self, access: &mut A, oid: Oid, row: &mut RowBuf) -> Result<bool> {
        access.read(self.table, &oid_key(oid), Columns::All, row)
    }

    /// Where [`Catalog::version_row`] reads.
    pub(crate) fn version_place(&self, oid: Oid) -> (TableId, Key) {
        (self.table, oid_key(oid))
    }

    /// Returns whether the relation of this name in a schema still has the definition of this identifier and version, by its
    /// version row, which is read into `row`. Protects the answer if it is `true`.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn is_still<A: Access + ?Sized>(
        &self,
        access: &mut A,
        (schema, name): (&str, &str),
        (oid, version): (Oid, u64),
        row: &mut RowBuf,
    ) -> Result<bool> {
        let is_there = self.version_row(access, oid, row)?;
        Ok(is_there && row.bytes().strip_suffix(&version.to_le_bytes()) == Some(&*key_of(schema, name)))
    }

    fn put_version_row<A: Access + ?Sized>(&self, access: &mut A, oid: Oid, key: &[u8], version: u64) -> Result<()> {
        access.put(self.table, &oid_key(oid), RowRef::new(&version_row(key, version)))
    }
}

impl<T, M> Catalog<T, M>
where
    T: Clone + Serialize + DeserializeOwned,
    M: Clone + Serialize + DeserializeOwned,
{
    /// Finds the engine table of the first database's catalog, or makes it.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn open(engine: &dyn Store) -> Result<Catalog<T, M>> {
        Ok(Catalog::over(find_or_create(engine, CATALOG)?))
    }

    /// The catalog of a database, made and begun if the database has none yet: those that every engine has get theirs when they
    /// are used first.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn open_in(engine: &dyn Store, database: Oid) -> Result<Catalog<T, M>> {
        if let Some(catalog) = Catalog::find_in(engine, database).filter(|_| !is_shared(engine)) {
            return Ok(catalog);
        }
        // Another process may have made the table, and not begun the catalog.
        let catalog = Catalog::over(find_or_create(engine, &catalog_name(database))?);
        transact(engine, Mode::ReadWrite, |access| catalog.begin(access))?;
        Ok(catalog)
    }

    /// The catalog of the first database, if it has one.
    pub fn find(engine: &dyn Store) -> Option<Catalog<T, M>> {
        Catalog::find_in(engine, POSTGRES)
    }

    /// The catalog of a database, if it has one.
    pub fn find_in(engine: &dyn Store, database: Oid) -> Option<Catalog<T, M>> {
        find(engine, &catalog_name(database)).map(Catalog::over)
    }

    pub(crate) fn over(table: TableId) -> Catalog<T, M> {
        Catalog { table, known: RwLock::default(), known_types: RwLock::default() }
    }

    /// Writes what a fresh catalog has; checks that this one has a known form, and makes it the present one.
    ///
    /// # Errors
    /// [`Fault::Corruption`] for an unknown form.
    pub(crate) fn begin<A: Access + ?Sized>(&self, access: &mut A) -> Result<()> {
        let mut form = RowBuf::new();
        if access.read(self.table, FORM_KEY, Columns::All, &mut form)? {
            let form = form.bytes();
            if !FORMS.contains(&form) {
                return Err(damaged(format_args!("form {:?} is not known", String::from_utf8_lossy(form))));
            }
            if form == FORM {
                return Ok(());
            }
            if form == WITHOUT_PROGRAMS || form == WITHOUT_VERSIONS {
                self.put_version_rows(access)?;
            }
            return access.put(self.table, FORM_KEY, RowRef::new(FORM));
        }
        access.put(self.table, FORM_KEY, RowRef::new(FORM))?;
        let (oid, name) = PUBLIC_SCHEMA;
        let public = Namespace { oid, name: name.to_owned(), comment: Some("standard public schema".to_owned()) };
        self.insert_namespace(access, &public)
    }

    /// Gives each definition its version row.
    fn put_version_rows<A: Access + ?Sized>(&self, access: &mut A) -> Result<()> {
        let mut found = Vec::new();
        access.scan(&Scan::table(self.table).prefix(all_relations()), &mut |item| {
            found.push((Key::from_bytes(item.key), header(item.row.bytes()).map(|(version, oid, _)| (version, oid))));
            ControlFlow::Continue(())
        })?;
        found.into_iter().try_for_each(|(key, head)| {
            let (version, oid) = head.ok_or_else(|| damaged("its row is too short"))?;
            self.put_version_row(access, oid, &key, version)
        })
    }

    /// Returns whether the tables that programs made stand in the catalog.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn has_tables_of_programs<A: Access + ?Sized>(&self, access: &mut A) -> Result<bool> {
        let mut form = RowBuf::new();
        Ok(access.read(self.table, FORM_KEY, Columns::All, &mut form)? && form.bytes() != WITHOUT_PROGRAMS)
    }

    /// The relation in a stored row, parsed if its version is new.
    ///
    /// # Errors
    /// [`Fault::Corruption`].
    pub fn decode(&self, row: &[u8]) -> Result<Relation<T, M>> {
        let (version, oid, definition) = header(row).ok_or_else(|| damaged("its row is too short"))?;
        if let Some(known) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&oid)
            && known.version == version
        {
            return Ok(known.relation.clone());
        }
        let relation: Relation<T, M> = decode(definition)?;
        let known = Known { version, relation: relation.clone() };
        self.known.write().unwrap_or_else(PoisonError::into_inner).insert(oid, known);
        Ok(relation)
    }

    /// The definition that was read last under this identifier: a guess, good for a first try and for messages.
    pub fn last_known(&self, oid: Oid) -> Option<Relation<T, M>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(&oid).map(|known| known.relation.clone())
    }

    /// Removes a dropped relation from the cache.
    pub fn forget(&self, oid: Oid) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).remove(&oid);
    }

    /// The relation of this name in a schema. Protects the answer, also that there is none: nobody can create, change or drop
    /// it unnoticed while the transaction runs.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn relation<A: Access + ?Sized>(
        &self,
        access: &mut A,
        schema: &str,
        name: &str,
    ) -> Result<Option<Relation<T, M>>> {
        self.relation_at(access, &key_of(schema, name))
    }

    fn relation_at<A: Access + ?Sized>(&self, access: &mut A, key: &[u8]) -> Result<Option<Relation<T, M>>> {
        let mut row = RowBuf::new();
        if !access.read(self.table, key, Columns::All, &mut row)? {
            return Ok(None);
        }
        self.decode(row.bytes()).map(Some)
    }

    /// The relation with this identifier: where it was seen last, or where the catalog says. Protects the answer.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn relation_by_oid<A: Access + ?Sized>(&self, access: &mut A, oid: Oid) -> Result<Option<Relation<T, M>>> {
        if let Some(guess) = self.last_known(oid)
            && let Some(found) = self.relation(access, guess.schema(), guess.name())?
            && found.oid() == oid
        {
            return Ok(Some(found));
        }
        let mut row = RowBuf::new();
        if !self.version_row(access, oid, &mut row)? {
            return Ok(None);
        }
        self.relation_at(access, key_in(row.bytes())?)
    }

    /// All relations.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn relations<A: Access + ?Sized>(&self, access: &mut A) -> Result<Vec<Relation<T, M>>> {
        self.scan(access, all_relations(), |row| self.decode(row))
    }

    /// The relations of a schema.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn relations_in<A: Access + ?Sized>(&self, access: &mut A, schema: &str) -> Result<Vec<Relation<T, M>>> {
        self.scan(access, relations_of(schema), |row| self.decode(row))
    }

    /// The schemas of the sessions that have temporary relations or types, which are not stored.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn temporary_schemas<A: Access + ?Sized>(&self, access: &mut A) -> Result<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        for prefix in [temporary_in(all_relations()), temporary_in(all_type_names())] {
            access.scan(&Scan::table(self.table).prefix(prefix), &mut |item| {
                found.extend(schema_in(item.key));
                ControlFlow::Continue(())
            })?;
        }
        Ok(found)
    }

    /// All schemas that are stored.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn namespaces<A: Access + ?Sized>(&self, access: &mut A) -> Result<Vec<Namespace>> {
        self.scan(access, all_namespaces(), decode)
    }

    /// The stored schema of this name.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn namespace<A: Access + ?Sized>(&self, access: &mut A, name: &str) -> Result<Option<Namespace>> {
        let mut row = RowBuf::new();
        if !access.read(self.table, &namespace_key(name), Columns::All, &mut row)? {
            return Ok(None);
        }
        decode(row.bytes()).map(Some)
    }

    fn scan<A: Access + ?Sized, D>(
        &self,
        access: &mut A,
        prefix: Key,
        decode: impl Fn(&[u8]) -> Result<D>,
    ) -> Result<Vec<D>> {
        let mut found = Vec::new();
        access.scan(&Scan::table(self.table).prefix(prefix), &mut |item| {
            found.push(decode(item.row.bytes()));
            ControlFlow::Continue(())
        })?;
        found.into_iter().collect()
    }

    /// Enters a new relation, under a fresh version.
    ///
    /// # Errors
    /// [`model::Error::Duplicate`] if the name is taken.
    pub fn insert<A: Access + ?Sized>(&self, access: &mut A, mut relation: Relation<T, M>, version: u64) -> Result<()> {
        let key = key_of(relation.schema(), relation.name());
        let row = stored(&mut relation, version)?;
        access.insert(self.table, &key, RowRef::new(&row))?;
        self.put_version_row(access, relation.oid(), &key, version)
    }

    /// Replaces the definition of a relation that keeps its name, under a fresh version.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn replace<A: Access + ?Sized>(
        &self,
        access: &mut A,
        mut relation: Relation<T, M>,
        version: u64,
    ) -> Result<()> {
        let key = key_of(relation.schema(), relation.name());
        let row = stored(&mut relation, version)?;
        access.put(self.table, &key, RowRef::new(&row))?;
        self.put_version_row(access, relation.oid(), &key, version)
    }

    /// Replaces a definition by one with another name, or in another schema.
    ///
    /// # Errors
    /// Errors of [`Catalog::insert`].
    pub fn rename<A: Access + ?Sized>(
        &self,
        access: &mut A,
        old: &Relation<T, M>,
        new: Relation<T, M>,
        version: u64,
    ) -> Result<()> {
        access.delete(self.table, &key_of(old.schema(), old.name()))?;
        self.insert(access, new, version)
    }

    /// Removes a relation. Its storage is another matter.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn remove<A: Access + ?Sized>(&self, access: &mut A, relation: &Relation<T, M>) -> Result<()> {
        access.delete(self.table, &key_of(relation.schema(), relation.name()))?;
        access.delete(self.table, &oid_key(relation.oid()))?;
        self.forget_owner(access, relation.oid())
    }

    /// Gives the engine tables that definitions name other numbers, after the tables were copied to another database.
    ///
    /// # Errors
    /// [`Fault::Corruption`] if a definition names an engine table that was not copied.
    pub fn renumber<A: Access + ?Sized>(
        &self,
        access: &mut A,
        number: &impl Fn(TableId) -> Option<TableId>,
    ) -> Result<()> {
        let renumber = |storage: &mut Storage| {
            let to = number(storage.id()).ok_or_else(|| damaged("it names an engine table that does not exist"))?;
            storage.table = to.0;
            Result::Ok(())
        };
        for relation in self.relations(access)? {
            let Relation::Table(mut table) = relation else { continue };
            let version = table.version;
            let to = Arc::make_mut(&mut table);
            renumber(&mut to.storage)?;
            to.indexes.iter_mut().filter_map(|index| index.storage.as_mut()).try_for_each(renumber)?;
            self.replace(access, Relation::Table(table), version)?;
        }
        Ok(())
    }

    /// Enters a schema, or replaces it.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn insert_namespace<A: Access + ?Sized>(&self, access: &mut A, namespace: &Namespace) -> Result<()> {
        let row = encode(namespace, Vec::new())?;
        access.put(self.table, &namespace_key(&namespace.name), RowRef::new(&row))
    }

    /// Removes a schema.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn remove_namespace<A: Access + ?Sized>(&self, access: &mut A, name: &str) -> Result<()> {
        access.delete(self.table, &namespace_key(name))?;
        Ok(())
    }
}

/// The stored row of a relation, which gets this version.
fn stored<T: Clone + Serialize, M: Clone + Serialize>(relation: &mut Relation<T, M>, version: u64) -> Result<Vec<u8>> {
    match relation {
        Relation::Table(table) => Arc::make_mut(table).version = version,
        Relation::View(view) => Arc::make_mut(view).version = version,
        Relation::Index(_) | Relation::Sequence(_) => {}
    }
    let mut row = Vec::with_capacity(512);
    row.extend_from_slice(&version.to_le_bytes());
    row.extend_from_slice(&relation.oid().to_le_bytes());
    encode(relation, row)
}
