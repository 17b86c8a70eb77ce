//! A program's view of a table: its schema, mapped to the columns and indexes of the table's definition.

use crate::catalog::{Catalog, key_of, version_row};
use crate::definition::{Index, KeyForm, Table};
use crate::entries::Rows;
use crate::keys::{Component, from_stored, push_stored, to_stored};
use crate::schema::{IndexId, IndexSchema, Schema};
use crate::types::{Scalar, Type};
use model::{
    Access, Columns, Fault, Got, Interactive, Invalid, Key, KeyKind, Result, RowBuf, RowRef, TableId, ValueRef,
};
use std::sync::Arc;

/// A table's definition under a program's schema that fits it.
#[derive(Debug)]
pub struct Layout {
    table: Arc<Table>,
    /// Version row of the definition.
    version_row: Vec<u8>,
    schema: Arc<Schema>,
    /// For each stored column, the program's; `None` if they are the same.
    sources: Option<Box<[Option<u16>]>>,
    /// For each of the program's columns, the stored one.
    columns: Box<[u16]>,
    key: Box<[Component]>,
    /// For each of the program's indexes, its place among the table's and its components.
    indexes: Box<[(usize, Box<[Component]>)]>,
    /// Stored columns of which not every value of the program's type fits.
    narrow: Box<[(usize, Type, i32)]>,
    /// Whether rows have entries of their own in an index, ...
    has_entries: bool,
    /// ... and in a unique one other than the primary key.
    has_unique: bool,
    only_sql_writes: Option<String>,
}

/// The schema that a program would have to ask for to get this table: its columns, its key and the indexes that a program
/// declared, under the names that the program gave. Indexes that were made by SQL count where `wanted` asks for such a one.
///
/// # Errors
/// Part of a table that programs cannot use.
pub fn schema_of(table: &Table, wanted: Option<&Schema>, by: model::Storage) -> std::result::Result<Schema, String> {
    let mut schema = Schema::table(&table.name).storage(by);
    for (_, column) in table.live_columns() {
        let unknown = || format!("column {} is {}, which only SQL can use", column.name, column.data_type);
        let kind = column.data_type.plain().ok_or_else(unknown)?;
        schema = match column.not_null {
            true => schema.column(&column.name, kind),
            false => schema.nullable(&column.name, kind),
        };
    }
    let names = |index: &Index| -> Vec<&str> { index.columns.iter().map(|&at| &*table.columns[at].name).collect() };
    let primary = table.primary_key().ok_or("it has no primary key")?;
    if primary.deferrable {
        return Err("its primary key is deferrable, which only SQL can use".to_owned());
    }
    schema = schema.key(names(primary));
    for index in table.indexes.iter().filter(|index| !index.primary && !index.is_computed()) {
        let Some(name) = name_for_program(index, &names(index), wanted) else { continue };
        schema = match index.is_exclusive() {
            true => schema.unique(name, names(index)),
            false => schema.index(name, names(index)),
        };
    }
    schema.build().map_err(|invalid| invalid.to_string())
}

/// The name that a program has for an index: the one that it gave, or that of the wanted index over the same columns.
fn name_for_program(index: &Index, columns: &[&str], wanted: Option<&Schema>) -> Option<String> {
    if let Some(name) = &index.declared {
        return Some(name.clone());
    }
    let Some(wanted) = wanted else { return Some(index.name.clone()) };
    let same = |other: &&IndexSchema| {
        let names = other.columns.iter().map(|&at| wanted.columns()[usize::from(at)].name.as_str());
        other.unique == index.is_exclusive() && names.eq(columns.iter().copied())
    };
    wanted.indexes().iter().find(same).map(|other| other.name.clone())
}

impl Layout {
    /// The table under a schema that equals [`schema_of`] it.
    ///
    /// # Errors
    /// [`Fault::Corruption`] if the definition contradicts itself.
    pub fn new(table: Arc<Table>, schema: Arc<Schema>) -> Result<Layout> {
        let columns: Box<[u16]> = table.live_columns().map(|(at, _)| at as u16).collect();
        let is_same = columns.len() == table.columns.len();
        let sources = (!is_same).then(|| {
            let source = |at| columns.iter().position(|&column| usize::from(column) == at).map(|at| at as u16);
            (0..table.columns.len()).map(source).collect()
        });
        let KeyKind::Columns(key) = schema.key() else { return Err(damaged(&table, "keys beside its rows")) };
        let component = |&at: &u16| {
            let (column, stored) = (&schema.columns()[usize::from(at)], columns[usize::from(at)]);
            Component {
                kind: column.kind,
                nullable: column.nullable,
                stored: table.columns[usize::from(stored)].data_type,
            }
        };
        let place = |index: &IndexSchema| {
            let wanted: Vec<usize> = index.columns.iter().map(|&at| usize::from(columns[usize::from(at)])).collect();
            let same = |other: &Index| {
                let is_usable = !other.primary && !other.is_computed();
                is_usable && other.is_exclusive() == index.unique && other.columns == wanted
            };
            let at = table.indexes.iter().position(same)?;
            Some((at, index.columns.iter().map(component).collect()))
        };
        let indexes = schema.indexes().iter().map(|index| place(index).ok_or_else(|| damaged(&table, "no such index")));
        Ok(Layout {
            key: key.iter().map(component).collect(),
            indexes: indexes.collect::<Result<_>>()?,
            narrow: narrow(&table).collect(),
            only_sql_writes: only_sql_writes(&table),
            has_entries: table.indexes.iter().any(|index| index.storage.is_some()),
            has_unique: table.indexes.iter().any(Index::is_secondary_unique),
            version_row: version_row(&key_of(&table.schema, &table.name), table.version),
            sources,
            columns,
            schema,
            table,
        })
    }

    /// The table's definition.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Returns whether the catalog still has the definition that this was made of, for the transaction that asks, which
    /// thereby has read it (T2). Nothing is decoded: no two definitions have one version, and one that was rolled back had
    /// its own.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn is_current<A: Access + ?Sized>(&self, access: &mut A, catalog: &Catalog, row: &mut RowBuf) -> Result<bool> {
        Ok(catalog.version_row(access, self.table.oid, row)? && row.bytes() == self.version_row)
    }

    /// Reads a row by its stored key as it is now, without a transaction ([`model::Interactive::get`]). `None` if the catalog has
    /// another definition by now, or the engine an error: a transaction finds out.
    ///
    /// The row is read first, the version of the definition second. No two definitions have one version, and this one was
    /// the table's before the call: so it was when the row was read. The answer waits for [`Got::log_position`].
    pub fn get_now<I: Interactive + ?Sized>(
        &self,
        engine: &I,
        catalog: &Catalog,
        key: &[u8],
        (row, version): (&mut RowBuf, &mut RowBuf),
    ) -> Option<Got> {
        let got = engine.get(self.rows(), key, Columns::All, row).ok()?;
        let (table, key) = catalog.version_place(self.table.oid);
        let defined = engine.get(table, &key, Columns::All, version).ok()?;
        let is_current = defined.found && version.bytes() == self.version_row;
        is_current.then(|| Got { log_position: got.log_position.max(defined.log_position), ..got })
    }

    /// The program's schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Returns whether the table has indexes with entries of their own: a statement then writes several engine rows.
    pub fn has_entries(&self) -> bool {
        self.has_entries
    }

    pub(crate) fn has_unique(&self) -> bool {
        self.has_unique
    }

    /// The engine table of the rows.
    pub fn rows(&self) -> TableId {
        self.table.storage.id()
    }

    /// The engine table of an index's entries; each entry's value is the stored key of its row.
    ///
    /// # Errors
    /// [`Invalid::UnknownIndex`].
    pub fn entries(&self, index: IndexId) -> Result<TableId> {
        let found = self.indexes.get(usize::from(index.0)).and_then(|(at, _)| self.table.indexes[*at].storage);
        let unknown =
            || Invalid::UnknownIndex { table: self.schema.name().into(), index: format!("number {}", index.0) };
        Ok(found.ok_or_else(unknown)?.id())
    }

    /// The stored form of a program's key, or of its first components.
    ///
    /// # Errors
    /// [`Invalid::Key`].
    pub fn stored_key(&self, key: &[u8]) -> Result<Key> {
        if self.table.storage.key == KeyForm::Eight {
            return if key.len() == 8 { Ok(Key::from_bytes(key)) } else { Err(self.no_key()) };
        }
        to_stored(&self.key, key).ok_or_else(|| self.no_key())
    }

    /// The stored form of the first components of an index's entries.
    ///
    /// # Errors
    /// [`Invalid::Key`].
    pub fn stored_entry(&self, index: IndexId, key: &[u8]) -> Result<Key> {
        let components = self.indexes.get(usize::from(index.0)).map(|(_, components)| &**components);
        to_stored(components.unwrap_or_default(), key).ok_or_else(|| self.no_key())
    }

    /// The program's number of an index, if it has one.
    pub(crate) fn number_of(&self, index: &Index) -> Option<u16> {
        let at = self.table.indexes.iter().position(|other| other.oid == index.oid)?;
        self.indexes.iter().position(|(place, _)| *place == at).map(|number| number as u16)
    }

    fn no_key(&self) -> model::Error {
        Invalid::Key { table: self.schema.name().into() }.into()
    }

    /// The program's form of a stored key.
    pub fn program_key(&self, stored: &[u8]) -> Option<Key> {
        if self.table.storage.key == KeyForm::Eight {
            return Some(Key::from_bytes(stored));
        }
        from_stored(&self.key, stored).map(|(key, _)| key)
    }

    /// The index whose entries an engine table has, by the program's number, and the program's form of an entry.
    pub fn program_entry(&self, engine_table: TableId, entry: &[u8]) -> Option<(u16, Key)> {
        let of = |(at, _): &(usize, _)| self.table.indexes[*at].storage.is_some_and(|it| it.id() == engine_table);
        let number = self.indexes.iter().position(of)?;
        let (mut key, rest) = from_stored(&self.indexes[number].1, entry)?;
        // A key of the row follows where several rows may have the same values.
        if !rest.is_empty() {
            key.push_raw(&self.program_key(rest)?);
        }
        Some((number as u16, key))
    }

    /// The stored form of a program's row under a program's key, in `buffer` if it has to be made.
    ///
    /// # Errors
    /// [`Invalid::Row`] if the row does not fit the table.
    pub fn stored_row<'r>(&self, key: &[u8], row: RowRef<'r>, buffer: &'r mut RowBuf) -> Result<RowRef<'r>> {
        // The engine checks the row again when it is written. It is looked into before only here, and for unique entries.
        match self.has_unique || self.sources.is_some() || !self.narrow.is_empty() {
            true => self.schema.check_row(key, row)?,
            false => self.schema.check_row_to_store(key, row)?,
        }
        let stored = match &self.sources {
            None => row,
            Some(sources) => {
                let value = |source: &Option<u16>| source.map_or(ValueRef::Null, |at| row.get(usize::from(at)));
                buffer.set_values(sources.iter().map(value));
                buffer.row()
            }
        };
        self.narrow.iter().try_for_each(|column| self.check_narrow(*column, stored))?;
        Ok(stored)
    }

    fn check_narrow(&self, (at, stored, modifier): (usize, Type, i32), row: RowRef<'_>) -> Result<()> {
        let fits = match row.get(at) {
            ValueRef::Int(value) if stored.scalar == Scalar::Int2 => i16::try_from(value).is_ok(),
            ValueRef::Int(value) => i32::try_from(value).is_ok(),
            ValueRef::Text(text) => text.chars().count() <= usize::try_from(modifier - 4).unwrap_or(usize::MAX),
            _ => true,
        };
        if fits {
            return Ok(());
        }
        let (column, limit) = (&self.table.columns[at].name, modifier - 4);
        let what = match stored.scalar {
            Scalar::Varchar => {
                format!("a text of more than {limit} characters in column {column}, which is {stored}({limit})")
            }
            _ => format!("{} in column {column}, which is {stored}", row.get(at)),
        };
        Err(Invalid::Row { table: self.schema.name().into(), what }.into())
    }

    /// The program's form of a stored row, in `buffer` if it has to be made.
    pub fn program_row<'r>(&self, stored: RowRef<'r>, buffer: &'r mut RowBuf) -> RowRef<'r> {
        let width = stored.width();
        if self.sources.is_none() && width == self.columns.len() {
            return stored;
        }
        // Columns that were added after the row was stored read as NULL.
        let value = |&at: &u16| if usize::from(at) < width { stored.get(usize::from(at)) } else { ValueRef::Null };
        buffer.set_values(self.columns.iter().map(value));
        buffer.row()
    }

    /// Returns whether a program may write here.
    ///
    /// # Errors
    /// [`Invalid::Row`] if the table has rules that only SQL checks.
    pub fn check_writable(&self) -> Result<()> {
        match &self.only_sql_writes {
            None => Ok(()),
            Some(what) => Err(Invalid::Row { table: self.schema.name().into(), what: what.clone() }.into()),
        }
    }

    /// Returns whether a program may remove a row here, or change the columns of one of its unique indexes.
    ///
    /// # Errors
    /// [`Invalid::Row`] if other tables refer to this one.
    pub fn check_removable(&self) -> Result<()> {
        if self.table.referenced_by.is_empty() {
            return Ok(());
        }
        let what = "other tables have foreign keys to it, which only SQL checks: write to it by SQL".to_owned();
        Err(Invalid::Row { table: self.schema.name().into(), what }.into())
    }
}

/// Stored columns that cannot hold every value of the program's type.
fn narrow(table: &Table) -> impl Iterator<Item = (usize, Type, i32)> {
    table.live_columns().filter_map(|(at, column)| match column.data_type.scalar {
        Scalar::Int2 | Scalar::Int4 => Some((at, column.data_type, column.modifier.0)),
        Scalar::Varchar if column.modifier.0 >= 4 => Some((at, column.data_type, column.modifier.0)),
        _ => None,
    })
}

/// Reason why a program may not write to a table: it has rules that only SQL applies.
fn only_sql_writes(table: &Table) -> Option<String> {
    let rule = if let Some(check) = table.checks.first() {
        format!("constraint {}", check.name)
    } else if let Some(key) = table.foreign_keys.first() {
        format!("foreign key {}", key.name)
    } else if let Some((_, column)) = table.live_columns().find(|(_, column)| column.generated.is_some()) {
        format!("generated column {}", column.name)
    } else if let Some(index) = table.indexes.iter().find(|index| index.is_computed()) {
        format!("index {} with expressions or a predicate", index.name)
    } else if let Some(index) = table.indexes.iter().find(|index| index.deferrable) {
        format!("deferrable constraint {}", index.name)
    } else if let Some((_, column)) = table.live_columns().find(|(_, column)| column.domain.is_some()) {
        format!("column {}, of a domain", column.name)
    } else {
        return None;
    };
    Some(format!("it has {rule}, which only SQL applies: write to it by SQL"))
}

fn damaged(table: &Table, what: &str) -> model::Error {
    Fault::Corruption { detail: format!("the definition of table {} has {what}", table.name) }.into()
}

/// Rows are stored ones.
impl Rows for Layout {
    type Row = [u8];
    type Error = crate::Error;

    fn columns(&self, index: &Index, row: &[u8]) -> crate::Result<Option<(Key, bool)>> {
        // Programs do not write where there is such an index: only SQL can tell its entries.
        if index.is_computed() {
            return Ok(None);
        }
        let (mut key, mut has_null, row) = (Key::new(), false, RowRef::new(row));
        for &column in &index.columns {
            let value = value_of(row, column);
            has_null |= value == ValueRef::Null;
            let pushed = push_stored(&mut key, value, self.table.columns[column].data_type);
            pushed.ok_or_else(|| damaged(&self.table, "an index that a program cannot write"))?;
        }
        Ok(Some((key, has_null)))
    }

    fn agree(&self, index: &Index, left: &[u8], right: &[u8]) -> bool {
        if index.is_computed() {
            return true;
        }
        let (left, right) = (RowRef::new(left), RowRef::new(right));
        index.columns.iter().all(|&column| match (value_of(left, column), value_of(right, column)) {
            (ValueRef::Null, ValueRef::Null) => true,
            (left, right) => left.compare(right).is_some_and(std::cmp::Ordering::is_eq),
        })
    }

    fn explain(&self, _: Option<&Index>, _: &[u8], error: model::Error) -> crate::Error {
        error.into()
    }
}

fn value_of(row: RowRef<'_>, column: usize) -> ValueRef<'_> {
    if column < row.width() { row.get(column) } else { ValueRef::Null }
}
