//! Knobs of a database.

use crate::closing::{Closing, OnFailure};
use crate::{Database, Durability, Engine, EngineOptions, Error, Result, RetryPolicy};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Opens a database with other knobs than the defaults.
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

/// What the builder has gathered.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub engine: Engine,
    /// Options of the engine, in mvto's type, which has them all. Another engine takes over those that it has (`engine.rs`).
    pub engine_options: EngineOptions,
    pub retry: RetryPolicy,
    pub checkpoint_after: Option<u64>,
    pub directory_lock_limit: Duration,
    pub closing: Closing,
}

/// 64 MiB of log replay in about a second, so that is what a start after a crash may cost by default.
const CHECKPOINT_AFTER_BYTES: u64 = 64 << 20;

/// A process that was killed gives its memory back before its locks: some 10 GB a second.
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
            },
        }
    }
}

impl Builder {
    /// How transactions are kept apart. Default [`Engine::Mvto`]. What the engine cannot do is refused when the database is
    /// opened, with [`Invalid::Unsupported`](crate::Invalid::Unsupported): a directory with [`Engine::Twopl`], for example.
    ///
    /// ```
    /// # use seriatim::{Database, Engine, Error};
    /// # fn main() -> Result<(), Error> {
    /// let db = Database::builder().engine(Engine::Twopl).in_memory()?;
    /// assert_eq!(db.engine(), Engine::Twopl);
    /// # Ok(())
    /// # }
    /// ```
    pub fn engine(mut self, engine: Engine) -> Builder {
        self.settings.engine = engine;
        self
    }

    /// How long opening waits for a process that is on its way out (killed, say) and still has the directory's lock. Nobody
    /// waits for one that runs. Default 10 s; zero: never.
    pub fn directory_lock_limit(mut self, limit: Duration) -> Builder {
        self.settings.directory_lock_limit = limit;
        self
    }

    /// How long the drop of the last handle waits for the disk to take the rest of the log. Default 60 s. Beyond it the drop
    /// returns, a thread goes on, and the directory stays locked by this process until the disk returns. What was acknowledged
    /// is durable already. [`Database::close`] waits without a limit, and says what came of it.
    pub fn close_limit(mut self, limit: Duration) -> Builder {
        self.settings.closing.limit = limit;
        self
    }

    /// What is called if the drop of the last handle could not close the database cleanly, or not within
    /// [`Builder::close_limit`]: nobody else is told. Default: nothing.
    pub fn on_unclean_close(mut self, call: impl Fn(&Error) + Send + Sync + 'static) -> Builder {
        self.settings.closing.on_failure = Some(OnFailure(Arc::new(call)));
        self
    }

    #[cfg(test)]
    pub(crate) fn into_settings(self) -> Settings {
        self.settings
    }

    /// Opens the database in the directory `path`, which is created where it is missing.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn open(self, path: impl AsRef<Path>) -> Result<Database> {
        Database::with_settings(self.settings, Some(path.as_ref()))
    }

    /// A database without a disk. Durability and checkpoints have no meaning there.
    ///
    /// # Errors
    /// As [`Database::in_memory`].
    pub fn in_memory(self) -> Result<Database> {
        Database::with_settings(self.settings, None)
    }

    /// What an acknowledgement waits for, unless a transaction says otherwise. Default [`Durability::Fsync`].
    pub fn durability(mut self, durability: Durability) -> Builder {
        self.settings.engine_options.durability = durability;
        self
    }

    /// Opens a database that is there to read it only, as often as one likes at the same time, also without the right to write:
    /// the directory is left as it is. Writes fail with [`Fault::ReadOnly`](crate::Fault::ReadOnly).
    pub fn read_only(mut self) -> Builder {
        self.settings.engine_options.log.read_only = true;
        self
    }

    /// When a checkpoint is taken by itself, on a thread of its own: each time the log has grown by this many bytes and by half
    /// of the last checkpoint; `None` never. It leaves half of the disk to others. Default 64 MiB. Smaller: quicker
    /// starts after a crash, more writing.
    pub fn checkpoint_after(mut self, log_bytes: impl Into<Option<u64>>) -> Builder {
        self.settings.checkpoint_after = log_bytes.into();
        self
    }

    /// The longest wait for one other transaction, unless a transaction says otherwise. Default 10 s.
    pub fn wait_limit(mut self, limit: Duration) -> Builder {
        self.settings.engine_options.wait_limit = limit;
        self
    }

    /// When [`Database::run`] gives up, unless a transaction says otherwise.
    pub fn retry(mut self, policy: RetryPolicy) -> Builder {
        self.settings.retry = policy;
        self
    }

    /// Bytes of an encoded key. Default 8,192, at most 65,535.
    pub fn max_key_bytes(mut self, bytes: usize) -> Builder {
        self.settings.engine_options.key_bytes = bytes;
        self
    }

    /// Bytes of an encoded row. Default and limit: 4,000,000.
    pub fn max_row_bytes(mut self, bytes: usize) -> Builder {
        self.settings.engine_options.row_bytes = bytes;
        self
    }

    /// Rows and index entries written by one transaction. Default and limit: 4,294,967,295.
    pub fn max_write_rows(mut self, rows: usize) -> Builder {
        self.settings.engine_options.write_set_rows = rows;
        self
    }

    /// Bytes of keys and rows written by one transaction. Default 1 TiB: memory ends sooner.
    pub fn max_write_bytes(mut self, bytes: usize) -> Builder {
        self.settings.engine_options.write_set_bytes = bytes;
        self
    }

    /// Transactions open at once. Default 100,000.
    pub fn max_transactions(mut self, transactions: usize) -> Builder {
        self.settings.engine_options.transactions = transactions;
        self
    }

    /// Bytes of memory that rows, old versions, indexes and open transactions may take; beyond it writes fail with
    /// [`LimitKind::Memory`](crate::LimitKind::Memory) unless they make no row longer, and a database that needs more is not
    /// opened ([`LimitKind::MemoryToOpen`](crate::LimitKind::MemoryToOpen)). Statements of SQL may hold a third of it besides.
    /// Default: half of what the process may have. The allocator takes about a fifth more.
    pub fn memory(mut self, bytes: usize) -> Builder {
        self.settings.engine_options.memory_bytes = Some(bytes);
        self
    }

    /// Every other knob of the engine mvto and of its log. Other engines have none of them.
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

    /// The age at which a transaction is aborted, so that a forgotten one does not keep old versions for ever. Default:
    /// none.
    pub fn max_transaction_age(mut self, age: impl Into<Option<Duration>>) -> Builder {
        self.settings.engine_options.transaction_age = age.into();
        self
    }
}
