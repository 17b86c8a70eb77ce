//! Dependencies between definitions: of views on the relations that they read, of defaults on the sequences that they call.
//! Those of foreign keys and indexes are part of the tables' definitions.
//!
//! Each dependency is two rows of the catalog's table, one for each direction. The key is the direction, the relation asked about,
//! and the other relation.

use crate::catalog::Catalog;
use crate::definition::Oid;
use model::{Access, Key, Result, RowRef, Scan};
use std::ops::ControlFlow;

/// Direction: the relation asked about, then one that depends on it.
const DEPENDENTS: &[u8] = b"d";
/// Direction: the relation asked about, then one that it depends on.
const DEPENDS_ON: &[u8] = b"u";

fn half_key(direction: &[u8], of: Oid) -> Key {
    let mut key = Key::from_bytes(direction);
    key.push_raw(&of.to_be_bytes());
    key
}

fn key(direction: &[u8], of: Oid, other: Oid) -> Key {
    let mut key = half_key(direction, of);
    key.push_raw(&other.to_be_bytes());
    key
}

impl<T, M> Catalog<T, M> {
    /// Records that a relation depends on others.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn depend<A: Access + ?Sized>(
        &self,
        access: &mut A,
        dependent: Oid,
        on: impl IntoIterator<Item = Oid>,
    ) -> Result<()> {
        let table = self.table();
        for on in on {
            access.put(table, &key(DEPENDENTS, on, dependent), RowRef::new(&[]))?;
            access.put(table, &key(DEPENDS_ON, dependent, on), RowRef::new(&[]))?;
        }
        Ok(())
    }

    /// Returns the relations that depend on a relation, oldest first.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn dependents<A: Access + ?Sized>(&self, access: &mut A, on: Oid) -> Result<Vec<Oid>> {
        self.others(access, DEPENDENTS, on)
    }

    /// Forgets on what a relation depends.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn forget_dependencies<A: Access + ?Sized>(&self, access: &mut A, dependent: Oid) -> Result<()> {
        let table = self.table();
        for on in self.others(access, DEPENDS_ON, dependent)? {
            access.delete(table, &key(DEPENDENTS, on, dependent))?;
            access.delete(table, &key(DEPENDS_ON, dependent, on))?;
        }
        Ok(())
    }

    fn others<A: Access + ?Sized>(&self, access: &mut A, direction: &[u8], of: Oid) -> Result<Vec<Oid>> {
        let prefix = half_key(direction, of);
        let mut found = Vec::new();
        access.scan(&Scan::table(self.table()).prefix(prefix.clone()), &mut |item| {
            let other = item.key.strip_prefix(&*prefix).and_then(|rest| rest.try_into().ok());
            found.extend(other.map(Oid::from_be_bytes));
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }
}
