//! Types that statements define, in the catalog's table.
//!
//! Under an identifier stand a version, the identifier and the definition as JSON; under (schema, name) the identifier. What is
//! stored names a type by its identifier, so that a rename changes these two rows only.

use crate::catalog::{Catalog, damaged, decode, encode, header};
use crate::definition::{DefinedType, Oid};
use model::{Access, Columns, Key, Result, RowBuf, RowRef, Scan};
use serde::{Serialize, de::DeserializeOwned};
use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError};

/// Prefix of the keys of definitions.
const DEFINITIONS: &[u8] = b"y";
/// Prefix of the keys of names.
pub(crate) fn all_type_names() -> Key {
    Key::from_bytes(b"t")
}

fn definition_key(oid: Oid) -> Key {
    let mut key = Key::from_bytes(DEFINITIONS);
    key.push_raw(&oid.to_be_bytes());
    key
}

fn names_of(schema: &str) -> Key {
    let mut key = all_type_names();
    key.push_text(schema);
    key
}

fn name_key(schema: &str, name: &str) -> Key {
    let mut key = names_of(schema);
    key.push_text(name);
    key
}

impl<T, M> Catalog<T, M>
where
    T: Clone + Serialize + DeserializeOwned,
    M: Clone + Serialize + DeserializeOwned,
{
    /// Returns the type with this identifier. Protects the answer, also that there is none, as [`Catalog::relation`] does.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn defined_type<A: Access + ?Sized>(&self, access: &mut A, oid: Oid) -> Result<Option<Arc<DefinedType<T, M>>>> {
        let mut row = RowBuf::new();
        if !access.read(self.table(), &definition_key(oid), Columns::All, &mut row)? {
            return Ok(None);
        }
        self.decode_type(row.bytes()).map(Some)
    }

    /// Returns the type of this name in a schema. Protects the answer, as [`Catalog::defined_type`] does.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn type_named<A: Access + ?Sized>(
        &self,
        access: &mut A,
        schema: &str,
        name: &str,
    ) -> Result<Option<Arc<DefinedType<T, M>>>> {
        let mut row = RowBuf::new();
        if !access.read(self.table(), &name_key(schema, name), Columns::All, &mut row)? {
            return Ok(None);
        }
        let oid = row.bytes().try_into().map(Oid::from_le_bytes);
        let oid = oid.map_err(|_| damaged("the name of a type has no identifier"))?;
        self.defined_type(access, oid)
    }

    /// Returns all types, oldest first.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn defined_types<A: Access + ?Sized>(&self, access: &mut A) -> Result<Vec<Arc<DefinedType<T, M>>>> {
        let mut found = Vec::new();
        access.scan(&Scan::table(self.table()).prefix(Key::from_bytes(DEFINITIONS)), &mut |item| {
            found.push(self.decode_type(item.row.bytes()));
            ControlFlow::Continue(())
        })?;
        found.into_iter().collect()
    }

    fn decode_type(&self, row: &[u8]) -> Result<Arc<DefinedType<T, M>>> {
        let (version, oid, definition) = header(row).ok_or_else(|| damaged("the row of a type is too short"))?;
        if let Some(known) = self.known_types.read().unwrap_or_else(PoisonError::into_inner).get(&oid)
            && known.version == version
        {
            return Ok(known.clone());
        }
        let found: Arc<DefinedType<T, M>> = Arc::new(decode(definition)?);
        self.known_types.write().unwrap_or_else(PoisonError::into_inner).insert(oid, found.clone());
        Ok(found)
    }

    /// Enters a new type, under a fresh version.
    ///
    /// # Errors
    /// [`model::Error::Duplicate`] if the name is taken.
    pub fn insert_type<A: Access + ?Sized>(&self, access: &mut A, new: DefinedType<T, M>, version: u64) -> Result<()> {
        let key = name_key(&new.schema, &new.name);
        access.insert(self.table(), &key, RowRef::new(&new.oid.to_le_bytes()))?;
        self.put_type(access, new, version)
    }

    fn put_type<A: Access + ?Sized>(&self, access: &mut A, mut new: DefinedType<T, M>, version: u64) -> Result<()> {
        new.version = version;
        let mut row = Vec::with_capacity(256);
        row.extend_from_slice(&version.to_le_bytes());
        row.extend_from_slice(&new.oid.to_le_bytes());
        access.put(self.table(), &definition_key(new.oid), RowRef::new(&encode(&new, row)?))
    }

    /// Replaces the definition of a type, perhaps by one with another name, under a fresh version.
    ///
    /// # Errors
    /// [`model::Error::Duplicate`] if the new name is taken.
    pub fn replace_type<A: Access + ?Sized>(
        &self,
        access: &mut A,
        old: &DefinedType<T, M>,
        new: DefinedType<T, M>,
        version: u64,
    ) -> Result<()> {
        if (&old.schema, &old.name) == (&new.schema, &new.name) {
            return self.put_type(access, new, version);
        }
        access.delete(self.table(), &name_key(&old.schema, &old.name))?;
        self.insert_type(access, new, version)
    }

    /// Removes a type.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn remove_type<A: Access + ?Sized>(&self, access: &mut A, old: &DefinedType<T, M>) -> Result<()> {
        access.delete(self.table(), &name_key(&old.schema, &old.name))?;
        access.delete(self.table(), &definition_key(old.oid))?;
        Ok(())
    }
}
