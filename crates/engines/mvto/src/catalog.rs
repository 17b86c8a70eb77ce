//! Tables, and immutable snapshots of the catalog.

use crate::store::{Space, Tuple};
use model::{Invalid, Schema, Storage, TableId, Timestamp};
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

/// A table and its rows.
#[derive(Debug)]
pub(crate) struct Table {
    pub id: TableId,
    pub schema: Arc<Schema>,
    /// Timestamp below which transactions must not see it (design, rule 8). Zero: all may, and the caller decides which ones use it.
    pub created_at: Timestamp,
    space: Space,
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
        let space = match schema.storage() {
            Storage::Ordered => Space::in_order(width, meter),
            Storage::Hash => Space::by_hash(width, hash_seed, meter),
        };
        Table { id, created_at, space, schema: Arc::new(schema) }
    }

    /// Returns where its rows are.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The rows, if they have an order.
    ///
    /// # Errors
    /// The table is stored by hash.
    pub fn ordered(&self) -> Result<&Ordered<Tuple>, Invalid> {
        let not_ordered = || Invalid::NotOrdered { table: self.schema.name().to_owned() };
        self.space.ordered().ok_or_else(not_ordered)
    }
}
