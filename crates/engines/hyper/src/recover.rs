//! Recovery: the checkpoint, then the log; of each key in its order, of keys side by side. Nobody else has the database meanwhile.

use crate::node::Node;
use crate::order::Order;
use crate::table::Table;
use crate::{Hyper, MOST_NUMBERS, Options};
use env::Disk;
use model::{Invalid, Limit, LimitKind, Malformed, Result, RowKind, RowRef, Schema, TableId};
use parts::epoch::{self, Guard};
use parts::index::prefetch::SIDE_BY_SIDE;
use parts::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;
use wal::{Log, Rebuild, redo};

/// Report of a recovery.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RecoveryReport {
    /// The database is new.
    pub created: bool,
    /// The last run ended with a clean close.
    pub clean: bool,
    /// Bytes at the end of the log that had never been known to be durable and could not be used, in words.
    pub cut: Option<String>,
    /// Rows of the checkpoint.
    pub checkpoint_rows: u64,
    /// Redo records after it.
    pub records: u64,
    /// Rows in all tables now.
    pub rows: u64,
    /// Tables now.
    pub tables: usize,
    /// Timestamps begin above this.
    pub start: u64,
}

impl fmt::Display for RecoveryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RecoveryReport { rows, tables, checkpoint_rows, records, .. } = self;
        let state = format_args!(
            "{rows} rows in {tables} tables ({checkpoint_rows} rows of a checkpoint, {records} log records)"
        );
        wal::write_recovery(f, (self.created, self.clean, self.cut.as_deref()), state)
    }
}

impl Hyper {
    /// Opens the database in a directory, or creates it, and recovers what it holds.
    ///
    /// # Errors
    /// [`model::Fault::Locked`] if another process has it, [`model::Fault::Corruption`] if what had been durable cannot be read,
    /// [`model::Fault::Disk`], [`LimitKind::MemoryToOpen`] if it needs more memory than the limit.
    pub fn open(disk: Arc<dyn Disk>, options: Options) -> Result<Hyper> {
        if options.single_version {
            return Err(Invalid::Unsupported { what: "a database of single versions on a disk" }.into());
        }
        Hyper::new(options).recover_from(disk)
    }

    fn recover_from(self, disk: Arc<dyn Disk>) -> Result<Hyper> {
        let mut engine = self;
        let (log, recovered) = Log::open(disk, engine.options.log.clone())?;
        let found = recovered.report.clone();
        let rebuilding = Rebuilding { engine: &engine, beyond_limit_bytes: AtomicUsize::new(0) };
        let replayed = recovered.replay(&rebuilding)?;
        rebuilding.check_memory()?;
        let start = found.ceiling.max(found.max_stamp) + 1;
        let stats = engine.stats();
        engine.recovery = Some(RecoveryReport {
            created: found.created,
            clean: found.clean,
            cut: found.cut.map(|cut| cut.to_string()),
            checkpoint_rows: replayed.checkpoint_rows,
            records: replayed.records,
            rows: stats.rows,
            tables: engine.tables().len(),
            start,
        });
        engine.order = Order::new(start);
        engine.renew_at.store(0, parts::sync::atomic::Ordering::Relaxed);
        engine.log = Some(log);
        Ok(engine)
    }

    /// What was recovered; `None` of a database in memory.
    pub fn recovery(&self) -> Option<&RecoveryReport> {
        self.recovery.as_ref()
    }

    /// Stops cleanly: everything committed is durable, and the next open has nothing to recover. Transactions that are still
    /// open fail from here on.
    ///
    /// # Errors
    /// The log could not be written.
    pub fn close(&self) -> Result<()> {
        self.log.as_ref().map_or(Ok(()), |log| Ok(log.close()?))
    }
}

/// A database that is being rebuilt, in the order of the log.
struct Rebuilding<'h> {
    engine: &'h Hyper,
    /// Memory that the rest would take, about, from where on it was clear that it would be too much; nothing is kept any more.
    /// `Relaxed`: a sum.
    beyond_limit_bytes: AtomicUsize,
}

/// Writes to one table, whose misses of the cache overlap.
type Group<'a> = SmallVec<[redo::Write<'a>; SIDE_BY_SIDE]>;

/// An index has at most about this many bytes of nodes for each of its keys, and a block of versions for each of its rows.
const BYTES_PER_KEY: usize = 40 + 16;

impl Rebuilding<'_> {
    /// Checks that everything found fits the limit on memory.
    fn check_memory(&self) -> Result<()> {
        let (memory, beyond) = (&self.engine.memory, self.beyond_limit_bytes.load(Relaxed));
        if beyond == 0 {
            return Ok(());
        }
        let (limit, actual) = (memory.limit as u64, (memory.meter.used() + beyond) as u64);
        Err(Limit { kind: LimitKind::MemoryToOpen, limit, actual }.into())
    }

    /// Returns whether there is room for a row; if not, the bytes of this and all later rows are only added up.
    fn has_room(&self, key: &[u8], row: Option<RowRef<'_>>) -> bool {
        let memory = &self.engine.memory;
        if self.beyond_limit_bytes.load(Relaxed) == 0 && memory.meter.about() < memory.limit_of_updates() {
            return true;
        }
        let own = row.map_or(0, |row| BYTES_PER_KEY + size_of::<Node>() + key.len() + row.bytes().len() / 4 * 5);
        self.beyond_limit_bytes.fetch_add(own.max(1), Relaxed);
        false
    }

    /// A table that is not dropped.
    fn table<'g>(&'g self, id: TableId, guard: &'g Guard) -> Option<&'g Table> {
        self.engine.tables.pinned(id.0, guard)
    }

    /// Puts rows in the place of whatever is there under their keys.
    fn replace(&self, group: &mut Group<'_>) {
        let guard = epoch::pin();
        let Some(table) = group.first().and_then(|first| self.table(first.table, &guard)) else { return group.clear() };
        let keys: SmallVec<[&[u8]; SIDE_BY_SIDE]> = group.iter().map(|write| write.key).collect();
        table.prefetch_group(&keys);
        for redo::Write { key, row, .. } in group.drain(..) {
            let row = row.map(RowRef::new);
            if self.has_room(key, row) {
                table.replace(key, row);
            }
        }
    }
}

impl Rebuild for Rebuilding<'_> {
    type Own = ();

    fn own(&self) {}

    /// A table that a record has created, unless the checkpoint has it already.
    fn create_table(&self, id: TableId, schema: Schema, _: bool) -> std::result::Result<(), Malformed> {
        let mut names = self.engine.names();
        if self.engine.tables.was_given(id.0) {
            return Ok(());
        }
        if id.0 >= MOST_NUMBERS {
            return Err(Malformed);
        }
        names.next = names.next.max(id.0 + 1);
        names.listed.push((schema.name().to_owned(), id));
        self.engine.add_table(id, schema);
        Ok(())
    }

    fn drop_table(&self, id: TableId) {
        self.engine.names().listed.retain(|(_, listed)| *listed != id);
        self.engine.tables.mark_dropped(id.0);
        self.engine.free_table(id);
    }

    fn reserve(&self, next: TableId) {
        self.engine.names().next = next.0;
    }

    fn write<'a>(
        &self,
        (): &mut (),
        writes: impl Iterator<Item = std::result::Result<(u64, redo::Write<'a>), Malformed>>,
    ) -> std::result::Result<(), Malformed> {
        let mut group = Group::new();
        for write in writes {
            let (_, write) = write?;
            let guard = epoch::pin();
            let Some(table) = self.table(write.table, &guard) else { continue };
            table.schema().check_key(write.key).map_err(|_| Malformed)?;
            if let (RowKind::Typed, Some(row)) = (table.schema().rows(), write.row) {
                table.schema().check_row(write.key, RowRef::new(row)).map_err(|_| Malformed)?;
            }
            if group.len() == SIDE_BY_SIDE || group.first().is_some_and(|first| first.table != write.table) {
                self.replace(&mut group);
            }
            group.push(write);
        }
        self.replace(&mut group);
        Ok(())
    }
}
