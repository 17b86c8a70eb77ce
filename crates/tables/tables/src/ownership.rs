//! Who owns the relations and schemas of a catalog.
//!
//! An owner stands beside the definition, in a row of the catalog's table of its own: a new owner leaves plans and definitions
//! as they are. What has no such row belongs to the first role ([`crate::SUPERUSER`]).

use crate::catalog::Catalog;
use crate::definition::Oid;
use crate::shared::SUPERUSER;
use model::{Access, Columns, Fault, Key, Result, RowBuf, RowRef, Scan};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Prefix of the keys of owners.
fn all_owners() -> Key {
    Key::from_bytes(b"w")
}

fn key_of(object: Oid) -> Key {
    let mut key = all_owners();
    key.push_raw(&object.to_be_bytes());
    key
}

fn owner_in(row: &[u8]) -> Result<Oid> {
    let damaged = || Fault::Corruption { detail: "the owner of an object is damaged".to_owned() };
    Ok(Oid::from_be_bytes(row.try_into().map_err(|_| damaged())?))
}

impl<T, M> Catalog<T, M> {
    /// The owner of a relation or schema.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn owner<A: Access + ?Sized>(&self, access: &mut A, object: Oid) -> Result<Oid> {
        let mut row = RowBuf::new();
        match access.read(self.table(), &key_of(object), Columns::All, &mut row)? {
            true => owner_in(row.bytes()),
            false => Ok(SUPERUSER),
        }
    }

    /// The owners of all objects that do not belong to the first role.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn owners<A: Access + ?Sized>(&self, access: &mut A) -> Result<HashMap<Oid, Oid>> {
        let mut found = Vec::new();
        access.scan(&Scan::table(self.table()).prefix(all_owners()), &mut |item| {
            let object = item.key.get(1..).and_then(|object| object.try_into().ok()).map(Oid::from_be_bytes);
            found.extend(object.map(|object| owner_in(item.row.bytes()).map(|owner| (object, owner))));
            ControlFlow::Continue(())
        })?;
        found.into_iter().collect()
    }

    /// Gives an object another owner.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn set_owner<A: Access + ?Sized>(&self, access: &mut A, object: Oid, owner: Oid) -> Result<()> {
        if owner == SUPERUSER {
            return self.forget_owner(access, object);
        }
        access.put(self.table(), &key_of(object), RowRef::new(&owner.to_be_bytes()))
    }

    /// Forgets the owner of an object that is gone.
    pub(crate) fn forget_owner<A: Access + ?Sized>(&self, access: &mut A, object: Oid) -> Result<()> {
        access.delete(self.table(), &key_of(object))?;
        Ok(())
    }
}
