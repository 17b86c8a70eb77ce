//! Which extensions a database has, in the catalog's table: under the name of each its identifier.

use crate::catalog::{Catalog, damaged};
use crate::definition::Oid;
use model::{Access, Key, Result, RowRef, Scan};
use std::ops::ControlFlow;

/// Prefix of the keys of extensions.
const EXTENSIONS: &[u8] = b"x";

fn key_of(name: &str) -> Key {
    let mut key = Key::from_bytes(EXTENSIONS);
    key.push_raw(name.as_bytes());
    key
}

fn read(key: &[u8], row: &[u8]) -> Result<(String, Oid)> {
    let name = key.strip_prefix(EXTENSIONS).and_then(|name| String::from_utf8(name.to_vec()).ok());
    let oid = row.try_into().ok().map(Oid::from_be_bytes);
    name.zip(oid).ok_or_else(|| damaged("the row of an extension"))
}

impl<T, M> Catalog<T, M> {
    /// The extensions, by name, with their identifiers.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn extensions<A: Access + ?Sized>(&self, access: &mut A) -> Result<Vec<(String, Oid)>> {
        let mut found = Vec::new();
        access.scan(&Scan::table(self.table()).prefix(Key::from_bytes(EXTENSIONS)), &mut |item| {
            found.push(read(item.key, item.row.bytes()));
            ControlFlow::Continue(())
        })?;
        found.into_iter().collect()
    }

    /// Enters an extension.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn put_extension<A: Access + ?Sized>(&self, access: &mut A, name: &str, oid: Oid) -> Result<()> {
        access.put(self.table(), &key_of(name), RowRef::new(&oid.to_be_bytes()))
    }

    /// Removes an extension. Returns whether there was one.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn remove_extension<A: Access + ?Sized>(&self, access: &mut A, name: &str) -> Result<bool> {
        access.delete(self.table(), &key_of(name))
    }
}
