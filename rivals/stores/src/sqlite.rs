//! SQLite with a write-ahead log: one writer at a time (`BEGIN IMMEDIATE`), readers of snapshots beside it. Strict serializable.
//! A table is `(k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID`; statements are prepared once per connection, of which each thread in a
//! transaction has one.
//!
//! `none`: `synchronous = OFF`. `fsync`: `synchronous = FULL`, the log synced at each commit.

use crate::store::{Body, Intent, Range, Store, Transaction, Visit, conflict, fault};
use model::{Direction, Error, Result};
use rusqlite::{Connection, ErrorCode, OptionalExtension, ToSql};
use std::ops::{Bound, ControlFlow};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long a writer waits for another.
const WAIT_LIMIT: Duration = Duration::from_secs(60);
/// Statements that a connection keeps prepared: all that the workloads use.
const STATEMENTS: usize = 64;

/// The store.
pub struct Sqlite {
    path: PathBuf,
    is_durable: bool,
    /// Connections that no transaction uses.
    idle: Mutex<Vec<Connection>>,
}

fn failure(error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => conflict("busy"),
        _ => fault(error),
    }
}

impl Store for Sqlite {
    fn open(directory: &Path, tables: usize, is_durable: bool) -> Result<Self> {
        let store = Sqlite { path: directory.join("sqlite"), is_durable, idle: Mutex::default() };
        let connection = store.connect()?;
        for table in 0..tables {
            let create = format!("CREATE TABLE t{table} (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID");
            connection.execute_batch(&create).map_err(fault)?;
        }
        store.put_back(connection);
        Ok(store)
    }

    fn transact(&self, reads_only: bool, body: &mut impl Body) -> Result<()> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = idle.map_or_else(|| self.connect(), Ok)?;
        let done = transact_on(&connection, reads_only, body);
        self.put_back(connection);
        done
    }
}

impl Sqlite {
    fn connect(&self) -> Result<Connection> {
        let connection = Connection::open(&self.path).map_err(fault)?;
        connection.busy_timeout(WAIT_LIMIT).map_err(fault)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        let synchronous = if self.is_durable { "FULL" } else { "OFF" };
        // Pages are read through the map: then connections share them.
        let pragmas = format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; PRAGMA cache_size = -65536; \
             PRAGMA mmap_size = 8589934592; PRAGMA temp_store = MEMORY"
        );
        connection.execute_batch(&pragmas).map_err(fault)?;
        Ok(connection)
    }

    fn put_back(&self, connection: Connection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

fn transact_on(connection: &Connection, reads_only: bool, body: &mut impl Body) -> Result<()> {
    run(connection, if reads_only { "BEGIN" } else { "BEGIN IMMEDIATE" }, &[])?;
    let commits = body.run(&mut On(connection));
    let ended = run(connection, if commits { "COMMIT" } else { "ROLLBACK" }, &[]);
    if ended.is_err() && !connection.is_autocommit() {
        run(connection, "ROLLBACK", &[])?;
    }
    ended
}

fn run(connection: &Connection, statement: &str, parameters: &[&dyn ToSql]) -> Result<()> {
    connection.prepare_cached(statement).and_then(|mut it| it.execute(parameters)).map(drop).map_err(failure)
}

struct On<'a>(&'a Connection);

/// The statements of the tables that workloads have, so that none is put together at each use.
macro_rules! statements {
    ($($name:ident: $before:literal, $behind:literal;)*) => {$(
        fn $name(table: usize) -> &'static str {
            const STATEMENTS: [&str; 12] = [
                concat!($before, "t0", $behind), concat!($before, "t1", $behind), concat!($before, "t2", $behind),
                concat!($before, "t3", $behind), concat!($before, "t4", $behind), concat!($before, "t5", $behind),
                concat!($before, "t6", $behind), concat!($before, "t7", $behind), concat!($before, "t8", $behind),
                concat!($before, "t9", $behind), concat!($before, "t10", $behind), concat!($before, "t11", $behind),
            ];
            STATEMENTS[table]
        }
    )*};
}
statements! {
    select: "SELECT v FROM ", " WHERE k = ?1";
    replace: "REPLACE INTO ", " (k, v) VALUES (?1, ?2)";
    remove: "DELETE FROM ", " WHERE k = ?1";
}

impl Transaction for On<'_> {
    fn get(&mut self, table: usize, key: &[u8], _: Intent, row: &mut Vec<u8>) -> Result<bool> {
        let mut statement = self.0.prepare_cached(select(table)).map_err(failure)?;
        let found = statement.query_row([key], |found| {
            row.extend_from_slice(found.get_ref(0)?.as_blob()?);
            Ok(())
        });
        Ok(found.optional().map_err(failure)?.is_some())
    }

    fn put(&mut self, table: usize, key: &[u8], row: &[u8]) -> Result<()> {
        run(self.0, replace(table), &[&key, &row])
    }

    fn delete(&mut self, table: usize, key: &[u8]) -> Result<()> {
        run(self.0, remove(table), &[&key])
    }

    fn scan(&mut self, table: usize, range: Range<'_>, visit: Visit<'_>) -> Result<()> {
        let (lower, low) = condition(range.lower, [">=", ">"], 1);
        let (upper, high) = condition(range.upper, ["<=", "<"], 2);
        let order = if range.direction == Direction::Forward { "ASC" } else { "DESC" };
        let text = format!("SELECT k, v FROM t{table} WHERE {lower} AND {upper} ORDER BY k {order}");
        let mut statement = self.0.prepare_cached(&text).map_err(failure)?;
        let mut rows = statement.query([low, high]).map_err(failure)?;
        while let Some(row) = rows.next().map_err(failure)? {
            let (key, value) = (blob(row, 0)?, blob(row, 1)?);
            if visit(key, value) == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }
}

/// A bound as a condition on the key, and its parameter. One without a bound names the parameter, so that there are always two.
fn condition<'k>(bound: Bound<&'k [u8]>, operators: [&str; 2], parameter: usize) -> (String, Option<&'k [u8]>) {
    match bound {
        Bound::Unbounded => (format!("?{parameter} IS NULL"), None),
        Bound::Included(key) => (format!("k {} ?{parameter}", operators[0]), Some(key)),
        Bound::Excluded(key) => (format!("k {} ?{parameter}", operators[1]), Some(key)),
    }
}

fn blob<'r>(row: &'r rusqlite::Row<'_>, column: usize) -> Result<&'r [u8]> {
    row.get_ref(column).map_err(failure)?.as_blob().map_err(fault)
}
