//! SQL over the tables as of the last complete batch: reading only.
//!
//! The executor of SQL stands on [`model::Interactive`], which the engine bohm is not: it has no open transactions. Here is a view that
//! reads. Definitions stand in a small engine of its own, in memory, and are written once; rows are those of a snapshot.

use crate::batch::admission::Admission;
use crate::batch::database::{Database, Inner};
use crate::sql::{Answer, Session};
use crate::{Fault, Result};
use bohm::{Bohm, Snapshot};
use model::{
    Access, Begin, Columns, Committed, Delta, Durability, Error, Finish, Got, Invalid, Item, LogPosition, Mode,
    Pending, ReadView, RowBuf, RowRef, Savepoints, Scan, ScanEnd, Schema, SharedReads, Store, Supervised, TableId,
    Tables, Timestamp, Transaction,
};
use mvto::Mvto;
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Numbers of tables from here on are those of the rows' engine.
const ROWS: u32 = 1 << 31;

impl Database {
    /// Runs SQL statements that read, as of the last complete batch, and returns the answer of the last one: *serializable, not
    /// strict*. [`Database::settle`] before it makes the answer strict. Statements that would write end with 25006.
    ///
    /// ```
    /// # use seriatim::{Database, Error, batch, record};
    /// # record! { pub struct Account { pub id: i64, pub balance: i64, } table "accounts"; key (id); }
    /// # fn main() -> Result<(), Error> {
    /// let mut builder = Database::builder().engine(batch::Bohm::default());
    /// let accounts = builder.table::<Account>()?;
    /// let put = builder.procedure("put", 1).body(move |txn, account: &Account| accounts.put(txn, account))?;
    /// let db = builder.in_memory()?;
    /// db.submit_all(&put, (1..=3).map(|id| Account { id, balance: 10 * id })).into_iter().try_for_each(|it| it.wait())?;
    /// db.settle()?;
    /// let answer = db.read_sql("SELECT sum(balance)::bigint AS total FROM accounts")?;
    /// assert_eq!(answer.rows[0].get::<i64>("total")?, 60);
    /// assert_eq!(db.read_sql("DELETE FROM accounts").unwrap_err().sqlstate(), "25006");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Sql`](crate::Error::Sql); [`Fault::Closed`].
    pub fn read_sql(&self, text: &str) -> Result<Answer> {
        let answers = self.sql_snapshot()?.run(text)?;
        Ok(answers.into_iter().next_back().unwrap_or_default())
    }

    /// Opens a session of SQL that reads. Each statement is as of the last complete batch; those of one block, from BEGIN to COMMIT,
    /// are as of the same.
    ///
    /// # Errors
    /// [`Error::Sql`](crate::Error::Sql) with too many sessions; [`Fault::Closed`].
    pub fn sql_snapshot(&self) -> Result<Session> {
        if self.inner.shared.admission.is_closed() {
            return Err(Fault::Closed.into());
        }
        let database = self.sql_database()?;
        let how =
            ::sql::session::Connect { user: "postgres".into(), database: "postgres".into(), ..Default::default() };
        Ok(Session::over(database.connect(how)?, Arc::new(self.clone())))
    }

    /// The view as a database of SQL, for front ends of their own. Made at its first use.
    ///
    /// # Errors
    /// [`Error::Sql`](crate::Error::Sql).
    pub fn sql_database(&self) -> Result<Arc<::sql::database::Database>> {
        let mut made = self.inner.sql.lock().unwrap_or_else(PoisonError::into_inner);
        match &*made {
            Some(database) => Ok(database.clone()),
            None => Ok(made.insert(open(self.engine(), &self.inner)?).clone()),
        }
    }
}

fn open(rows: &Arc<Bohm>, inner: &Inner) -> Result<Arc<::sql::database::Database>> {
    let definitions = Arc::new(model::Engine(Arc::new(Mvto::in_memory(mvto::Options::default())?)));
    let (rows, admission) = (rows.clone(), inner.shared.admission.clone());
    let view = Arc::new(View { definitions, rows, admission, is_complete: AtomicBool::new(false) });
    let tables = tables::Tables::open(view.clone())?;
    for table in inner.shared.tables.tables() {
        let mut table = table.clone();
        table.storage.table += ROWS;
        table.indexes.iter_mut().filter_map(|index| index.storage.as_mut()).for_each(|storage| storage.table += ROWS);
        tables.adopt(table)?;
    }
    let options = ::sql::database::Options {
        is_prepared: true,
        budget_bytes: inner.options.statement_bytes,
        settings: vec![("default_transaction_read_only".into(), "on".into())],
        ..Default::default()
    };
    let database = ::sql::database::Database::open(view.clone(), options)?;
    view.is_complete.store(true, SeqCst);
    Ok(database)
}

/// The definitions, and the rows as of the last complete batch.
struct View {
    definitions: Arc<dyn Store>,
    rows: Arc<Bohm>,
    /// Says whether the database was closed.
    admission: Arc<Admission>,
    /// Whether the definitions are written: nothing can be written any more.
    is_complete: AtomicBool,
}

/// The number of a table of rows in their engine; `None`: it is one of the definitions.
fn row_table(table: TableId) -> Option<TableId> {
    table.0.checked_sub(ROWS).map(TableId)
}

impl View {
    fn is_complete(&self) -> bool {
        self.is_complete.load(SeqCst)
    }

    fn definitions_to_change(&self) -> model::Result<&dyn Store> {
        if self.is_complete() { Err(Invalid::ReadOnly.into()) } else { Ok(&*self.definitions) }
    }
}

impl Store for View {
    fn begin(&self, how: Begin) -> model::Result<Box<dyn Transaction>> {
        if self.admission.is_closed() {
            return Err(Fault::Closed.into());
        }
        let mode = if self.is_complete() { Mode::ReadOnly } else { how.mode };
        let definitions = self.definitions.begin(Begin { mode, ..how })?;
        Ok(Box::new(Reading { definitions, engine: self.rows.clone(), rows: None }))
    }

    fn get(&self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> model::Result<Got> {
        match row_table(table) {
            None => self.definitions.get(table, key, columns, row),
            Some(table) => {
                let found = ReadView::read(&self.rows.snapshot()?, table, key, columns, row)?;
                Ok(Got { found, ..Got::default() })
            }
        }
    }

    fn wait_durable(&self, position: LogPosition) -> model::Result<()> {
        self.definitions.wait_durable(position)
    }

    fn wait_durable_unless(&self, position: LogPosition, is_over: &dyn Fn() -> bool) -> model::Result<bool> {
        self.definitions.wait_durable_unless(position, is_over)
    }

    fn recheck_waits(&self) {
        self.definitions.recheck_waits();
    }

    fn durable(&self, position: LogPosition) -> Pending<model::Result<()>> {
        self.definitions.durable(position)
    }

    fn ddl(&self) -> Option<&dyn Tables> {
        Some(self)
    }

    fn snapshots(&self) -> Option<&dyn model::Snapshots> {
        None
    }
}

/// Definitions can be added until the view is complete.
impl Tables for View {
    fn create_table_unlisted(&self, schema: Schema) -> model::Result<TableId> {
        self.definitions_to_change()?.create_table(schema)
    }

    fn drop_table(&self, name: &str) -> model::Result<()> {
        self.definitions_to_change()?.drop_table(name)
    }

    fn tables(&self) -> Vec<(TableId, Arc<Schema>)> {
        let rows = self.rows.tables().into_iter().map(|(id, schema)| (TableId(id.0 + ROWS), schema));
        self.definitions.tables().into_iter().chain(rows).collect()
    }

    fn estimate_keys(&self, table: TableId, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Option<u64> {
        match row_table(table) {
            None => self.definitions.ddl()?.estimate_keys(table, lower, upper),
            Some(table) => match (lower, upper) {
                (Bound::Unbounded, Bound::Unbounded) => self.rows.key_count(table),
                _ => None,
            },
        }
    }

    fn checkpoint(&self) -> model::Result<()> {
        Ok(())
    }
}

/// A transaction that reads: definitions, and rows of one snapshot, which its first access to a row takes.
struct Reading {
    definitions: Box<dyn Transaction>,
    engine: Arc<Bohm>,
    rows: Option<Snapshot>,
}

impl Reading {
    fn rows(&mut self) -> model::Result<&Snapshot> {
        if self.rows.is_none() {
            self.rows = Some(self.engine.snapshot()?);
        }
        Ok(self.rows.as_ref().expect("it was taken just now"))
    }

    /// The definitions, if the table is one of them.
    fn writable(&mut self, table: TableId) -> model::Result<&mut dyn Transaction> {
        if row_table(table).is_some() { Err(Invalid::ReadOnly.into()) } else { Ok(&mut *self.definitions) }
    }
}

impl Access for Reading {
    fn read(&mut self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> model::Result<bool> {
        match row_table(table) {
            None => self.definitions.read(table, key, columns, row),
            Some(table) => ReadView::read(self.rows()?, table, key, columns, row),
        }
    }

    fn read_for_update(
        &mut self,
        table: TableId,
        key: &[u8],
        columns: Columns<'_>,
        row: &mut RowBuf,
    ) -> model::Result<bool> {
        self.writable(table)?.read_for_update(table, key, columns, row)
    }

    fn put(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> model::Result<()> {
        self.writable(table)?.put(table, key, row)
    }

    fn insert(&mut self, table: TableId, key: &[u8], row: RowRef<'_>) -> model::Result<()> {
        self.writable(table)?.insert(table, key, row)
    }

    fn update(&mut self, table: TableId, key: &[u8], delta: &Delta) -> model::Result<bool> {
        self.writable(table)?.update(table, key, delta)
    }

    fn delete(&mut self, table: TableId, key: &[u8]) -> model::Result<bool> {
        self.writable(table)?.delete(table, key)
    }

    fn scan(&mut self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> model::Result<ScanEnd> {
        match row_table(scan.table) {
            None => self.definitions.scan(scan, visit),
            Some(table) => ReadView::scan(self.rows()?, &Scan { table, ..scan.clone() }, visit),
        }
    }

    fn draws(&mut self) -> Option<&mut model::Draws> {
        self.definitions.draws()
    }
}

impl Finish for Reading {
    fn poison(&self) -> Option<&Error> {
        self.definitions.poison()
    }

    fn rests_on(&self) -> LogPosition {
        self.definitions.rests_on()
    }

    fn timestamp(&self) -> Option<Timestamp> {
        self.definitions.timestamp()
    }

    fn start(&mut self) -> model::Result<()> {
        self.rows()?;
        self.definitions.start()
    }

    fn set_durability(&mut self, durability: Durability) {
        self.definitions.set_durability(durability);
    }

    fn set_wait_limit(&mut self, limit: Option<Duration>) {
        self.definitions.set_wait_limit(limit);
    }

    fn set_reads_wait(&mut self, wait: bool) {
        self.definitions.set_reads_wait(wait);
    }

    fn savepoints(&mut self) -> Option<&mut dyn Savepoints> {
        self.definitions.savepoints()
    }

    fn supervised(&mut self) -> Option<&mut dyn Supervised> {
        self.definitions.supervised()
    }

    fn shared_reads(&mut self) -> Option<&mut dyn SharedReads> {
        Some(self)
    }

    /// Its place is that of its snapshot, if it has read rows.
    fn begin_commit(self) -> Pending<model::Result<Committed>> {
        let place = self.rows.as_ref().map(Snapshot::serial_point);
        let ended = self.definitions.begin_commit_boxed();
        ended.map(move |ended| ended.map(|committed| Committed { serial_point: place, ..committed }))
    }

    fn abort(self) {
        self.definitions.abort_boxed();
    }
}

impl SharedReads for Reading {
    fn read_view(&mut self) -> model::Result<Box<dyn ReadView + '_>> {
        self.rows()?;
        let Reading { definitions, rows, .. } = self;
        let definitions = match definitions.shared_reads() {
            Some(shared) => shared.read_view()?,
            None => return Err(Invalid::Unsupported { what: "reads of definitions from several threads" }.into()),
        };
        Ok(Box::new(Both { definitions, rows: rows.as_ref().expect("it was taken just now") }))
    }
}

/// The reads of a [`Reading`], for several threads.
struct Both<'r> {
    definitions: Box<dyn ReadView + 'r>,
    rows: &'r Snapshot,
}

impl ReadView for Both<'_> {
    fn read(&self, table: TableId, key: &[u8], columns: Columns<'_>, row: &mut RowBuf) -> model::Result<bool> {
        match row_table(table) {
            None => self.definitions.read(table, key, columns, row),
            Some(table) => ReadView::read(self.rows, table, key, columns, row),
        }
    }

    fn scan(&self, scan: &Scan<'_>, visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>) -> model::Result<ScanEnd> {
        match row_table(scan.table) {
            None => self.definitions.scan(scan, visit),
            Some(table) => ReadView::scan(self.rows, &Scan { table, ..scan.clone() }, visit),
        }
    }
}
