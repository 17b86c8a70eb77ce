//! Options of a database.

use crate::closing::{Closing, OnFailure};
use crate::{Database, Durability, Engine, EngineOptions, Error, RecoveryProgress, Result, RetryPolicy};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Opens a database with options other than the defaults.
///
/// ```
/// # use seriatim::{Database, Durability, Error};
/// # fn main() -> Result<(), Error> {
/// let db = Database::builder().durability(Durability::Async).max_row_bytes(4096).in_memory()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    settings: Settings,
}

/// The options set so far.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub engine: Engine,
    /// Options of the engine, in mvto's type, which has them all. Another engine takes over those that it has (`engine.rs`).
    pub engine_options: EngineOptions,
    pub retry: RetryPolicy,
    pub checkpoint_after: Option<u64>,
    pub directory_lock_limit: Duration,
    pub closing: Closing,
    /// The database in the directory; `None`: the first one.
    pub database: Option<String>,
    /// Whether only the engine is opened, and its tables are another's.
    pub is_engine_alone: bool,
}

/// Replay of 64 MiB of log takes about a second, which is the default cost of a start after a crash.
const CHECKPOINT_AFTER_BYTES: u64 = 64 << 20;

/// The system frees the memory of a killed process before its locks, at some 10 GB a second.
const DIRECTORY_LOCK_LIMIT: Duration = Duration::from_secs(10);

impl Default for Builder {
    fn default() -> Builder {
        Builder {
            settings: Settings {
                engine: Engine::default(),
                engine_options: EngineOptions::default(),
                retry: RetryPolicy::default(),
                checkpoint_after: Some(CHECKPOINT_AFTER_BYTES),
                directory_lock_limit: DIRECTORY_LOCK_LIMIT,
                closing: Closing::default(),
                database: None,
                is_engine_alone: false,
            },
        }
    }
}

/// What [`Builder::engine`] takes: an [`Engine`], whose databases hold transactions open, or [`batch::Bohm`](crate::batch::Bohm), whose
/// databases execute procedures. Only this crate implements it.
pub trait ChooseEngine: sealed::Sealed {
    /// What goes on building.
    type Builder;

    #[doc(hidden)]
    fn choose(self, builder: Builder) -> Self::Builder;
}

pub(crate) mod sealed {
    /// Keeps other crates from implementing [`ChooseEngine`](super::ChooseEngine).
    pub trait Sealed {}
}

impl sealed::Sealed for Engine {}

impl ChooseEngine for Engine {
    type Builder = Builder;

    fn choose(self, mut builder: Builder) -> Builder {
        builder.settings.engine = self;
        builder
    }
}

impl Builder {
    /// Sets the concurrency control. Default [`Engine::Mvto`]. Options that the engine does not support are an error of opening,
    /// [`Invalid::Unsupported`](crate::Invalid::Unsupported): a directory with [`Engine::Twopl`], for example.
    ///
    /// ```
    /// # use seriatim::{Database, Engine, Error};
    /// # fn main() -> Result<(), Error> {
    /// let db = Database::builder().engine(Engine::Twopl).in_memory()?;
    /// assert_eq!(db.engine(), Engine::Twopl);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// An engine of declared procedures has another builder, and opens another kind of database: see [`batch`](crate::batch).
    pub fn engine<E: ChooseEngine>(self, engine: E) -> E::Builder {
        engine.choose(self)
    }

    /// Chooses the database of the directory whose tables the program has, and in which its sessions of SQL begin. Default `postgres`,
    /// which every directory has; SQL's `CREATE DATABASE` makes others. Tables of bytes belong to no database.
    ///
    /// ```
    /// # #[cfg(feature = "sql")]
    /// # fn main() -> Result<(), seriatim::Error> {
    /// # use seriatim::Database;
    /// # let path = std::env::temp_dir().join(format!("seriatim-doc-database-{}", std::process::id()));
    /// # let _ = std::fs::remove_dir_all(&path);
    /// let db = Database::open(&path)?;
    /// db.sql("CREATE DATABASE shop")?;
    /// drop(db);
    /// let db = Database::builder().database("shop").open(&path)?;
    /// assert_eq!(db.sql("SELECT current_database()")?.rows[0].get::<String>(0)?, "shop");
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).unwrap();
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "sql"))]
    /// # fn main() {}
    /// ```
    pub fn database(mut self, name: impl Into<String>) -> Builder {
        // The first database needs no look-up, and a new directory gets it when it is used first.
        self.settings.database = Some(name.into()).filter(|name| name != "postgres");
        self
    }

    /// Opens the engine alone: no table is looked at, made or cleaned up. For a node of a cluster, whose local tables only the cluster
    /// may change; everything but [`Database::store`], statistics, checkpoints and closing is of no use then.
    #[doc(hidden)]
    pub fn engine_alone(mut self) -> Builder {
        self.settings.is_engine_alone = true;
        self
    }

    /// Sets how long opening waits for the directory's lock while its holder is terminating (after a kill, for example).
    /// Opening never waits for a running process. Default 10 s; zero means no wait.
    pub fn directory_lock_limit(mut self, limit: Duration) -> Builder {
        self.settings.directory_lock_limit = limit;
        self
    }

    /// Sets how long the drop of the last handle waits for the rest of the log to be written. Default 60 s. Beyond it the drop
    /// returns, a thread continues, and the directory stays locked by this process until the disk responds. Acknowledged
    /// transactions are durable already. [`Database::close`] waits without a limit, and returns the outcome.
    pub fn close_limit(mut self, limit: Duration) -> Builder {
        self.settings.closing.limit = limit;
        self
    }

    /// Sets a callback for when the drop of the last handle fails to close the database cleanly, or within
    /// [`Builder::close_limit`]. Without it such a failure is not reported. Default: none.
    pub fn on_unclean_close(mut self, call: impl Fn(&Error) + Send + Sync + 'static) -> Builder {
        self.settings.closing.on_failure = Some(OnFailure(Arc::new(call)));
        self
    }

    /// Sets a callback for how far opening has come, with a large log or checkpoint: called every few megabytes by the thread that
    /// opens. Default: none.
    pub fn on_recovery_progress(mut self, call: impl Fn(RecoveryProgress) + Send + Sync + 'static) -> Builder {
        self.settings.engine_options.log.on_progress = Some(wal::OnProgress(Arc::new(call)));
        self
    }

    pub(crate) fn into_settings(self) -> Settings {
        self.settings
    }

    /// Opens the database in the directory `path`, and creates it if it does not exist.
    ///
    /// # Errors
    /// Errors of [`Database::open`].
    pub fn open(self, path: impl AsRef<Path>) -> Result<Database> {
        Database::with_settings(self.settings, Some(path.as_ref()))
    }

    /// Creates a database without a disk. Durability and checkpoints have no effect.
    ///
    /// # Errors
    /// Errors of [`Database::in_memory`].
    pub fn in_memory(self) -> Result<Database> {
        Database::with_settings(self.settings, None)
    }

    /// Sets what an acknowledgement waits for, unless a transaction sets its own. Default [`Durability::Fsync`].
    pub fn durability(mut self, durability: Durability) -> Builder {
        self.settings.engine_options.durability = durability;
        self
    }

    /// Opens an existing database for reading only, without changing its directory; write permission is not needed, and several
    /// processes may do so at once. Writes fail with [`Fault::ReadOnly`](crate::Fault::ReadOnly).
    pub fn read_only(mut self) -> Builder {
        self.settings.engine_options.log.read_only = true;
        self
    }

    /// Sets when a checkpoint is taken automatically, on a thread of its own: each time the log has grown by this many bytes and
    /// by half of the last checkpoint. `None` means never. An automatic checkpoint uses at most half of the disk's bandwidth.
    /// Default 64 MiB. Smaller values make starts after a crash quicker and write more.
    pub fn checkpoint_after(mut self, log_bytes: impl Into<Option<u64>>) -> Builder {
        self.settings.checkpoint_after = log_bytes.into();
        self
    }

    /// Sets the longest wait for one other transaction, unless a transaction sets its own. Default 10 s.
    pub fn wait_limit(mut self, limit: Duration) -> Builder {
        self.settings.engine_options.wait_limit = limit;
        self
    }

    /// Sets when [`Database::run`] gives up, unless a transaction sets its own policy.
    pub fn retry(mut self, policy: RetryPolicy) -> Builder {
        self.settings.retry = policy;
        self
    }

    /// Sets the maximum number of bytes of an encoded key. Default 8,192, at most 65,535.
    pub fn max_key_bytes(mut self, bytes: usize) -> Builder {
        self.settings.engine_options.key_bytes = bytes;
        self
    }

    /// Sets the maximum number of bytes of an encoded row. Default and limit: 4,000,000.
    pub fn max_row_bytes(mut self, bytes: usize) -> Builder {
        self.settings.engine_options.row_bytes = bytes;
        self
    }

    /// Sets the maximum number of rows and index entries written by one transaction. Default and limit: 4,294,967,295.
    pub fn max_write_rows(mut self, rows: usize) -> Builder {
        self.settings.engine_options.write_set_rows = rows;
        self
    }

    /// Sets the maximum number of bytes of keys and rows written by one transaction. Default 1 TiB: memory ends sooner.
    pub fn max_write_bytes(mut self, bytes: usize) -> Builder {
        self.settings.engine_options.write_set_bytes = bytes;
        self
    }

    /// Sets the maximum number of open transactions. Default 100,000.
    pub fn max_transactions(mut self, transactions: usize) -> Builder {
        self.settings.engine_options.transactions = transactions;
        self
    }

    /// Sets the limit on the memory of rows, old versions, indexes and open transactions, in bytes. Beyond it writes that need
    /// more memory fail with [`LimitKind::Memory`](crate::LimitKind::Memory), or with
    /// [`LimitKind::MemoryHeld`](crate::LimitKind::MemoryHeld), which names the open transaction for which old versions
    /// are kept. A database that needs more is not opened ([`LimitKind::MemoryToOpen`](crate::LimitKind::MemoryToOpen)). SQL
    /// statements may use a third of it in addition. Default: half of the memory available to the process. The allocator's
    /// overhead, about a fifth, is not counted.
    pub fn memory(mut self, bytes: usize) -> Builder {
        self.settings.engine_options.memory_bytes = Some(bytes);
        self
    }

    /// Changes any other option of the engine mvto and of its log. Other engines ignore them.
    ///
    /// ```
    /// # use seriatim::{Database, Error};
    /// # fn main() -> Result<(), Error> {
    /// let db = Database::builder().mvto(|options| options.tables = 1_000).in_memory()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn mvto(mut self, change: impl FnOnce(&mut EngineOptions)) -> Builder {
        change(&mut self.settings.engine_options);
        self
    }

    /// Sets the age at which a transaction is aborted, so that an abandoned one does not keep old versions for ever. Default:
    /// none.
    pub fn max_transaction_age(mut self, age: impl Into<Option<Duration>>) -> Builder {
        self.settings.engine_options.transaction_age = age.into();
        self
    }
}
