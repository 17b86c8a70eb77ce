//! Tables, and immutable snapshots of the catalog.

use crate::store::{Space, Tuple};
use model::{IndexId, Invalid, Schema, Storage, TableId, Timestamp};
use parts::index::{KeyWidth, Ordered};
use parts::memory::Meter;
use std::collections::HashMap;
use std::sync::Arc;

/// Which tables there are. Never changed once shared: a change makes a new one with a higher version.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog {
    pub version: u64,
    /// By table number; `None` where a table was dropped.
    tables: Vec<Option<Arc<Table>>>,
    names: HashMap<String, TableId>,
}

/// A table: one space for its rows, and one for each secondary index.
#[derive(Debug)]
pub(crate) struct Table {
    pub id: TableId,
    pub schema: Arc<Schema>,
    /// Older transactions must not see it (design, rule 8). Zero: all may, and the caller decides who hears of it.
    pub created_at: Timestamp,
    spaces: Box<[Space]>,
}

/// Names a space: a table's rows (0), or its n-th index (n + 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SpaceId {
    pub table: TableId,
    pub space: u16,
}

/// A space of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub table: &'a Table,
    space: u16,
}

impl Catalog {
    /// The table with this number.
    pub fn get(&self, id: TableId) -> Option<&Arc<Table>> {
        self.tables.get(id.0 as usize)?.as_ref()
    }

    /// The table with this name.
    pub fn by_name(&self, name: &str) -> Option<&Arc<Table>> {
        self.get(*self.names.get(name)?)
    }

    /// All tables, by number.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.iter().flatten()
    }

    /// The number that the next table gets.
    pub fn next_id(&self) -> TableId {
        TableId(self.tables.len() as u32)
    }

    /// The space with this name.
    pub fn place(&self, id: SpaceId) -> Option<Place<'_>> {
        Some(Place { table: self.get(id.table)?, space: id.space })
    }

    /// This catalog and one table more.
    ///
    /// # Errors
    /// The name is taken.
    pub fn with(&self, table: Table) -> Result<Catalog, Invalid> {
        let (id, name) = (table.id, table.schema.name().to_owned());
        if self.names.contains_key(&name) {
            return Err(Invalid::TableExists { table: name });
        }
        let mut next = Catalog { version: self.version + 1, ..self.clone() };
        next.reserve(TableId(id.0 + 1));
        next.names.insert(name, id);
        next.tables[id.0 as usize] = Some(Arc::new(table));
        Ok(next)
    }

    /// This catalog and the tables of a newer one that have higher numbers. Its version stays: a later look refreshes it.
    pub fn with_newer(&self, newer: &Catalog) -> Catalog {
        let mut next = self.clone();
        let known = next.tables.len();
        for table in newer.tables.iter().skip(known) {
            if let Some(table) = table {
                next.names.entry(table.schema.name().to_owned()).or_insert(table.id);
            }
            next.tables.push(table.clone());
        }
        next
    }

    /// This catalog without a table.
    pub fn without(&self, id: TableId) -> Catalog {
        let mut next = Catalog { version: self.version + 1, ..self.clone() };
        if let Some(table) = next.tables.get_mut(id.0 as usize).and_then(Option::take) {
            next.names.remove(table.schema.name());
        }
        next
    }

    /// Gives no number below `next` again.
    pub fn reserve(&mut self, next: TableId) {
        if self.tables.len() < next.0 as usize {
            self.tables.resize(next.0 as usize, None);
        }
    }
}

impl Table {
    /// An empty table, whose memory is counted there.
    pub fn new(
        id: TableId,
        created_at: Timestamp,
        schema: Schema,
        hash_seed: Option<u64>,
        meter: &Arc<Meter>,
    ) -> Table {
        let width = if schema.has_eight_byte_keys() { KeyWidth::Eight } else { KeyWidth::Any };
        let rows = match schema.storage() {
            Storage::Ordered => Space::in_order(width, meter),
            Storage::Hash => Space::by_hash(width, hash_seed, meter),
        };
        let entries = schema.indexes().iter().map(|_| Space::in_order(KeyWidth::Any, meter));
        Table { id, created_at, spaces: std::iter::once(rows).chain(entries).collect(), schema: Arc::new(schema) }
    }

    /// Returns the place of the rows.
    pub fn rows(&self) -> Place<'_> {
        Place { table: self, space: 0 }
    }

    /// Returns the place of an index's entries.
    ///
    /// # Errors
    /// There is no such index.
    pub fn entries(&self, index: IndexId) -> Result<Place<'_>, Invalid> {
        if usize::from(index.0) + 1 < self.spaces.len() {
            return Ok(Place { table: self, space: index.0 + 1 });
        }
        let index = format!("number {}", index.0);
        Err(Invalid::UnknownIndex { table: self.schema.name().to_owned(), index })
    }
}

impl<'a> Place<'a> {
    /// The space itself.
    pub fn space(self) -> &'a Space {
        &self.table.spaces[usize::from(self.space)]
    }

    /// Its name.
    pub fn id(self) -> SpaceId {
        SpaceId { table: self.table.id, space: self.space }
    }

    /// The index's number, if these are entries of one.
    pub fn index(self) -> Option<u16> {
        self.space.checked_sub(1)
    }

    /// The space, if it has an order.
    ///
    /// # Errors
    /// The table is stored by hash.
    pub fn ordered(self) -> Result<&'a Ordered<Tuple>, Invalid> {
        let not_ordered = || Invalid::NotOrdered { table: self.table.schema.name().to_owned() };
        self.space().ordered().ok_or_else(not_ordered)
    }
}
