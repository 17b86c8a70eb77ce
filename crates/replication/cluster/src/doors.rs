//! The door that SQL enters by, and tables that come and go.

use crate::Cluster;
use crate::core::Waiting;
use crate::payload;
use crate::replica::Table;
use crate::transaction::Transaction;
use model::{Begin, Interactive, Key, LogPosition, Pending, Result, Schema, TableId, Tables, Usage};
use parts::promise::promise;
use std::ops::Bound;
use std::sync::Arc;

impl Interactive for Cluster {
    type Transaction<'engine> = Transaction;
    type Owned = Transaction;

    fn begin(&self, how: Begin) -> Result<Transaction> {
        Transaction::begin(&self.core, how)
    }

    fn begin_owned(self: &Arc<Self>, how: Begin) -> Result<Transaction> {
        Transaction::begin(&self.core, how)
    }

    /// Returns at once: what was acknowledged was delivered, and is as durable as the order.
    fn wait_durable(&self, _: LogPosition) -> Result<()> {
        Ok(())
    }

    fn durable(self: &Arc<Self>, _: LogPosition) -> Pending<Result<()>> {
        Pending::ready(Ok(()))
    }

    fn ddl(&self) -> Option<&dyn Tables> {
        Some(self)
    }
}

impl Cluster {
    fn table(&self, table: TableId) -> Option<Arc<Table>> {
        self.core.generation().tables().get(&table).cloned()
    }

    fn local(&self) -> Option<&dyn Tables> {
        self.core.local.ddl()
    }
}

/// Tables of the cluster: created and dropped at places of the order, under the same numbers on all nodes.
impl Tables for Cluster {
    fn create_table_unlisted(&self, schema: Schema) -> Result<TableId> {
        let (promise, created) = promise();
        if let Err((error, waiting)) = self.core.propose(payload::create(&schema), Waiting::Create(promise)) {
            waiting.refuse(error);
        }
        self.core.host.await_value(created)
    }

    fn drop_table(&self, name: &str) -> Result<()> {
        let (promise, dropped) = promise();
        if let Err((error, waiting)) = self.core.propose(payload::drop_table(name), Waiting::Drop(promise)) {
            waiting.refuse(error);
        }
        self.core.host.await_value(dropped)
    }

    fn tables(&self) -> Vec<(TableId, Arc<Schema>)> {
        self.core.generation().tables().values().map(|table| (table.id, table.schema.clone())).collect()
    }

    fn is_shared(&self) -> bool {
        true
    }

    /// Of this node's earlier lives: other nodes may be about to name theirs (C7).
    fn is_left_over(&self, table: TableId) -> bool {
        let own = self.core.order.origin();
        self.table(table).is_some_and(|table| table.creator.node == own.node && table.creator.life != own.life)
    }

    fn usage(&self) -> Option<Usage> {
        let usage = self.local()?.usage()?;
        let memory_limit_bytes = self.core.options.memory_bytes.unwrap_or(usage.memory_limit_bytes);
        Some(Usage { memory_limit_bytes, ..usage })
    }

    fn stores_columns(&self) -> bool {
        self.local().is_some_and(|local| local.stores_columns())
    }

    fn estimate_keys(&self, table: TableId, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Option<u64> {
        let table = self.table(table)?;
        if table.schema.storage() == model::Storage::Hash && (lower, upper) != (Bound::Unbounded, Bound::Unbounded) {
            return None;
        }
        self.local()?.estimate_keys(table.local, lower, upper)
    }

    fn sample_keys(&self, table: TableId, most: usize) -> Vec<Key> {
        let found = self.table(table).zip(self.local());
        found.map(|(table, local)| local.sample_keys(table.local, most)).unwrap_or_default()
    }

    fn estimate_bytes(&self, table: TableId) -> Option<u64> {
        self.local()?.estimate_bytes(self.table(table)?.local)
    }

    fn versions(&self, table: TableId) -> Option<u64> {
        self.local()?.versions(self.table(table)?.local)
    }

    fn checkpoint(&self) -> Result<()> {
        self.core.local.checkpoint()
    }
}
