//! How definitions are stored, and what a process remembers of them.

use super::{Namespace, Oid, Relation};
use crate::error::{Result, SqlError, state};
use crate::store::{Store, Transaction};
use model::{Columns, Key, RowBuf, RowRef, Schema, TableId};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The engine table of the catalog.
pub(crate) const CATALOG: &str = "sql catalog";
/// The bytes before the definition: version and identifier.
const HEADER: usize = 12;

/// Where the catalog says which form its rows have.
const FORM_KEY: &[u8] = b"form";
/// The form that this code reads and writes.
const FORM: &[u8] = b"1";

/// The schema that a fresh database has. It can be dropped.
const PUBLIC: (Oid, &str) = (2200, "public");

/// Definitions that were read before, by identifier and version, shared by the sessions of a database.
///
/// A version is drawn once for every change and never again, even if the change was rolled back: whoever finds the
/// version that the engine's row names has the right definition, and needs not parse it again.
pub struct Cache {
    table: TableId,
    known: RwLock<HashMap<Oid, Known>>,
}

/// A definition that was read before.
#[derive(Clone)]
struct Known {
    version: u64,
    relation: Relation,
}

/// The key of a relation: relations of one schema share one space of names.
pub(crate) fn relation_key(schema: &str, name: &str) -> Key {
    let mut key = relations_of(schema);
    key.push_text(name);
    key
}

/// Schema and name of a relation's key.
pub(crate) fn name_of(key: &[u8]) -> Option<(String, String)> {
    let mut reader = model::KeyReader::new(key.strip_prefix(&*all_relations())?);
    let mut text = || match reader.value(model::ColumnType::Text, false) {
        Ok(model::Value::Text(text)) => Some(text),
        _ => None,
    };
    Some((text()?, text()?))
}

/// What the keys of a schema's relations start with.
pub(crate) fn relations_of(schema: &str) -> Key {
    let mut key = all_relations();
    key.push_text(schema);
    key
}

/// What the keys of relations start with.
pub(crate) fn all_relations() -> Key {
    Key::from_bytes(b"r")
}

/// The key under which the relation with an identifier has its own key.
pub(crate) fn oid_key(oid: Oid) -> Key {
    let mut key = Key::from_bytes(b"o");
    key.push_raw(&oid.to_be_bytes());
    key
}

/// The key of a schema.
pub(crate) fn namespace_key(name: &str) -> Key {
    let mut key = all_namespaces();
    key.push_text(name);
    key
}

/// What the keys of schemas start with.
pub(crate) fn all_namespaces() -> Key {
    Key::from_bytes(b"n")
}

/// The engine's row of a relation.
pub(crate) fn encode(relation: &Relation, version: u64) -> Result<Vec<u8>> {
    let mut row = Vec::with_capacity(512);
    row.extend_from_slice(&version.to_le_bytes());
    row.extend_from_slice(&relation.oid().to_le_bytes());
    serde_json::to_writer(&mut row, relation).map_err(damaged)?;
    Ok(row)
}

/// The engine's row of a schema.
pub(crate) fn encode_namespace(namespace: &Namespace) -> Result<Vec<u8>> {
    serde_json::to_vec(namespace).map_err(damaged)
}

/// Reads what [`encode_namespace`] wrote.
pub(crate) fn decode_namespace(row: &[u8]) -> Result<Namespace> {
    serde_json::from_slice(row).map_err(damaged)
}

fn damaged(why: impl std::fmt::Display) -> SqlError {
    SqlError::new(state::DATA_CORRUPTED, format!("a definition in the catalog is damaged: {why}"))
}

/// Version and identifier at the start of a relation's row.
fn header(row: &[u8]) -> Option<(u64, Oid, &[u8])> {
    let (head, definition) = row.split_at_checked(HEADER)?;
    let (version, oid) = head.split_at(8);
    Some((u64::from_le_bytes(version.try_into().ok()?), u32::from_le_bytes(oid.try_into().ok()?), definition))
}

impl Cache {
    /// Finds the catalog's engine table, or makes it.
    ///
    /// # Errors
    /// The engine's.
    pub fn open(store: &Arc<dyn Store>) -> Result<Cache> {
        let found = store.tables().into_iter().find(|(_, schema)| schema.name() == CATALOG);
        let table = match &found {
            Some((id, _)) => *id,
            None => store.create_table(Schema::bytes(CATALOG).build().map_err(model::Error::from)?)?,
        };
        Ok(Cache { table, known: RwLock::default() })
    }

    /// Writes what a fresh catalog has; checks that this one has a form that we know.
    ///
    /// # Errors
    /// XX001 for another form, the engine's.
    pub(crate) fn begin(&self, transaction: &mut dyn Transaction) -> Result<()> {
        let mut form = RowBuf::new();
        if transaction.read(self.table, FORM_KEY, Columns::All, &mut form)? {
            let form = form.bytes();
            return if form == FORM { Ok(()) } else { Err(damaged(format_args!("form {form:?} is not known"))) };
        }
        transaction.put(self.table, FORM_KEY, RowRef::new(FORM))?;
        let (oid, name) = PUBLIC;
        let public = Namespace { oid, name: name.to_owned(), comment: Some("standard public schema".to_owned()) };
        transaction.put(self.table, &namespace_key(name), RowRef::new(&encode_namespace(&public)?))?;
        Ok(())
    }

    /// The engine table.
    pub(crate) fn table(&self) -> TableId {
        self.table
    }

    /// The relation of an engine's row, parsed if its version is new.
    pub(crate) fn decode(&self, row: &[u8]) -> Result<Relation> {
        let (version, oid, definition) = header(row).ok_or_else(|| damaged("its row is too short"))?;
        if let Some(known) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&oid)
            && known.version == version
        {
            return Ok(known.relation.clone());
        }
        let relation: Relation = serde_json::from_slice(definition).map_err(damaged)?;
        let known = Known { version, relation: relation.clone() };
        self.known.write().unwrap_or_else(PoisonError::into_inner).insert(oid, known);
        Ok(relation)
    }

    /// The definition that was read last under this identifier: a guess, good for a first try and for messages.
    pub(crate) fn last_known(&self, oid: Oid) -> Option<Relation> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(&oid).map(|known| known.relation.clone())
    }

    /// Forgets a relation that is gone.
    pub(crate) fn forget(&self, oid: Oid) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).remove(&oid);
    }

    /// All relations, outside of any statement.
    pub(crate) fn read_all(&self, transaction: &mut dyn Transaction) -> Result<Vec<Relation>> {
        self.scan(transaction, all_relations(), |row| self.decode(row))
    }

    /// What stands under the keys that start with `prefix`.
    pub(crate) fn scan<T>(
        &self,
        transaction: &mut dyn Transaction,
        prefix: Key,
        decode: impl Fn(&[u8]) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut found = Vec::new();
        transaction.scan(&model::Scan::table(self.table).prefix(prefix), &mut |item| {
            found.push(decode(item.row.bytes()));
            std::ops::ControlFlow::Continue(())
        })?;
        found.into_iter().collect()
    }
}
