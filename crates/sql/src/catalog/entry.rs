//! The keys of rows and the entries of indexes.

use super::{Index, KeyForm, Table};
use crate::error::{Result, SqlError, state};
use crate::types::storage::{eight_byte_key, push_key};
use crate::types::{Datum, Scalar, Type};
use model::Key;

impl KeyForm {
    /// The form of the keys of a table whose primary key has columns of these types.
    pub fn of_primary_key(types: &[Type]) -> KeyForm {
        match types {
            [only] if !only.is_array => match only.scalar {
                Scalar::Int2 | Scalar::Int4 | Scalar::Int8 | Scalar::Date => KeyForm::Eight,
                _ => KeyForm::Columns,
            },
            _ => KeyForm::Columns,
        }
    }
}

impl Table {
    /// The key that a row has by its primary key; `None` for a table without one, whose rows are numbered.
    ///
    /// # Errors
    /// XX000 for a datum that is not of its column's type.
    pub fn row_key(&self, row: &[Datum]) -> Result<Option<Key>> {
        let Some(primary) = self.primary_key() else { return Ok(None) };
        if self.storage.key == KeyForm::Eight {
            let value = primary.columns.first().and_then(|at| row.get(*at));
            let key = value.and_then(eight_byte_key).ok_or_else(|| misplaced(&self.name))?;
            return Ok(Some(Key::from_bytes(&key)));
        }
        let mut key = Key::new();
        primary.push_columns(self, row, &mut key)?;
        Ok(Some(key))
    }
}

impl Index {
    /// The entry of a row that is stored under `key`, and whether no other row may have the same.
    ///
    /// # Errors
    /// XX000 for a datum that is not of its column's type.
    pub fn entry(&self, table: &Table, row: &[Datum], key: &[u8]) -> Result<(Key, bool)> {
        let mut entry = Key::new();
        let has_null = self.push_columns(table, row, &mut entry)?;
        let exclusive = self.unique && !has_null;
        if !exclusive {
            entry.push_raw(key);
        }
        Ok((entry, exclusive))
    }

    /// Appends the indexed columns; says whether one is NULL.
    fn push_columns(&self, table: &Table, row: &[Datum], key: &mut Key) -> Result<bool> {
        let mut has_null = false;
        for at in &self.columns {
            let (Some(value), Some(column)) = (row.get(*at), table.columns.get(*at)) else {
                return Err(misplaced(&self.name));
            };
            has_null |= value.is_null();
            push_key(key, value, column.data_type)?;
        }
        Ok(has_null)
    }
}

fn misplaced(what: &str) -> SqlError {
    SqlError::new(state::INTERNAL_ERROR, format!("a row does not fit the key of \"{what}\""))
}
