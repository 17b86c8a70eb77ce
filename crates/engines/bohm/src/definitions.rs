//! Tables that are created and dropped. A created table is logged before anybody knows it; a drop has its place in the order of
//! calls: those before it use the table, those behind it get an error.

use crate::attempt::Attempt;
use crate::call::Call;
use crate::job::Job;
use crate::position::Position;
use crate::{Bohm, Shared, Stats, log};
use model::{Durability, Error, Footprint, Invalid, LogPosition, Result, Schema, TableId};
use parts::promise::{Promise, promise};
use std::sync::Arc;
use wal::Pace;

impl Bohm {
    /// Creates a table. Durable when this returns, if answers wait for that.
    ///
    /// # Errors
    /// [`Invalid::TableExists`], [`model::LimitKind::Tables`]; the log could not take it.
    pub fn create_table(&self, schema: Schema) -> Result<TableId> {
        let (input, mut position) = (self.shared.log(), LogPosition::ZERO);
        let log = |id: TableId, schema: &Schema| -> Result<()> {
            let Some(input) = input else { return Ok(()) };
            input.check_log()?;
            position = input.append_create(id, schema)?;
            Ok(())
        };
        let id = self.shared.tables.create(schema, self.shared.options.has_small_nodes, log)?;
        input.map_or(Ok(()), |input| input.wait(position))?;
        Ok(id)
    }

    /// Drops a table and all its rows, behind what was submitted before. Calls behind it that name the table are
    /// [`Invalid::UnknownTable`]; its memory is free once nobody reads behind an older batch. Durable when this returns, if answers
    /// wait for that.
    ///
    /// # Errors
    /// [`Invalid::UnknownTable`]; the log could not take it.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        let table = self.shared.tables.named(name).ok_or_else(|| Invalid::UnknownTable { table: name.into() })?;
        let (promise, dropped) = promise();
        let mut call = Call::dropping(table, Some(promise));
        if let Some(input) = self.shared.log() {
            call.logged = log::encode_drop(table);
            call.awaits_log = input.is_awaited(None);
        }
        self.shared.intake.submit([call]);
        dropped.wait()
    }

    /// All tables, oldest first.
    pub fn tables(&self) -> Vec<(TableId, Arc<Schema>)> {
        let live = self.shared.tables.all().filter(|table| !table.is_dropped());
        live.map(|table| (table.id, table.schema.clone())).collect()
    }
}

impl model::Tables for Bohm {
    fn create_table_unlisted(&self, schema: Schema) -> Result<TableId> {
        self.create_table(schema)
    }

    fn drop_table(&self, name: &str) -> Result<()> {
        Bohm::drop_table(self, name)
    }

    fn tables(&self) -> Vec<(TableId, Arc<Schema>)> {
        Bohm::tables(self)
    }

    fn usage(&self) -> Option<model::Usage> {
        let Stats { memory_bytes, memory_limit_bytes, .. } = self.stats();
        Some(model::Usage { memory_bytes, memory_limit_bytes, log: self.log_stats().map(|stats| stats.usage()) })
    }

    fn checkpoint(&self) -> Result<()> {
        if self.recovery().is_none() {
            return Ok(());
        }
        self.write_checkpoint(Pace::Full).map(drop)
    }
}

impl Shared {
    /// Creates a table that a log or a checkpoint has.
    pub fn restore_table(&self, id: TableId, schema: Schema) -> Result<()> {
        self.tables.restore(id, schema, self.options.has_small_nodes)
    }
}

impl Call {
    /// The drop of a table, in its place.
    pub fn dropping(table: TableId, promise: Option<Promise<Result<()>>>) -> Call {
        let mut call = Call::new(Box::new(Drop(promise)), Footprint::default(), Box::default(), false);
        call.drops = Some(table);
        call
    }
}

/// The drop of a table: it was done when it was sealed.
struct Drop(Option<Promise<Result<()>>>);

impl Job for Drop {
    fn run(&mut self, _: &mut Attempt<'_, '_>) -> bool {
        true
    }

    fn complete(self: Box<Self>, _: Position) {
        self.0.into_iter().for_each(|promise| promise.resolve(Ok(())));
    }

    fn give_up(self: Box<Self>, error: Error) {
        self.0.into_iter().for_each(|promise| promise.resolve(Err(error.clone())));
    }

    fn durability(&self) -> Option<Durability> {
        None
    }
}
