//! Options and limits.

use crate::sites::LARGEST_BATCH;
use model::Durability;
use std::time::Duration;
use wal::redo::WRITE_OVERHEAD;

/// The engine's knobs: meaning, unit, default, limit.
#[derive(Clone, Debug)]
pub struct Options {
    /// Event that an acknowledgement waits for, unless its transaction says otherwise. Default: [`Durability::Fsync`].
    pub durability: Durability,
    /// Sites, a power of two from 1 to 1,024. Default 64. More sites let more threads begin at once without sharing a
    /// lane; each timestamp is up to this many ticks of the clock away, which begin waits out.
    pub sites: usize,
    /// The longest wait for one other transaction. Default 10 s. Zero: never wait.
    pub wait_limit: Duration,
    /// Bytes of a key. Default 8,192, at most 65,535 and half a segment of the log.
    pub key_bytes: usize,
    /// Bytes of a row. Default and limit: 4,000,000, and at most half a segment of the log.
    pub row_bytes: usize,
    /// Rows and index entries written by one transaction. Default and limit: 4,294,967,295, so that memory is what ends them.
    pub write_set_rows: usize,
    /// Bytes of keys and rows written by one transaction. Default: 1 TiB, so that memory and the log's disk, where they are reserved
    /// before anything is installed, are what ends them.
    pub write_set_bytes: usize,
    /// Keys and ranges read, repetitions left out, by one transaction that owns at the statement, kept so that it can move to a
    /// later timestamp when others have read what it writes. Default 1,000,000. One that has read more cannot move, and aborts
    /// when it must.
    pub read_set: usize,
    /// Replaced versions that the writers of one thread may leave in rows, where nobody has found out yet that they are not read,
    /// before one surveys by itself which still are. Default 64, at least 2. Fewer: shorter chains of rows that are written without
    /// pause, more surveys. No limit: a row keeps a version for each snapshot that needs one.
    pub versions: usize,
    /// Bytes of memory that keys, rows, their versions, index nodes and the write buffers of open transactions may take, without
    /// the allocator's own share (a fifth, about). At nine tenths, whatever can be collected is; at the limit, writes that need
    /// more get a named error, while reads, deletes and updates that make no row longer go on. A database that needs more is not
    /// opened. Default: half of what the process may have ([`env::memory`]).
    pub memory_bytes: Option<usize>,
    /// Age at which a transaction is aborted, so that an abandoned one keeps neither versions nor rows for ever. Default: none.
    pub transaction_age: Option<Duration>,
    /// Procedures submitted in one batch. Default 256, at most 1,024. Each waits until the clock has passed the timestamp of the last,
    /// which is as many times `sites` ticks away.
    pub batch: usize,
    /// When declared procedures own the rows that they will write before they draw a timestamp. Default:
    /// [`OwnFirst::AfterConflicts`].
    pub own_first: OwnFirst,
    /// Transactions open at once. Default 100,000.
    pub transactions: usize,
    /// Tables, and indexes of SQL, each of which is a table here. Default 100,000.
    pub tables: usize,
    /// Time by which the durable ceiling of timestamps is written ahead, half a lease before it is passed. Default 60 s: one
    /// small write a minute, and a restart skips at most that much.
    pub ceiling_lease: Duration,
    /// The seed of hash-stored tables, so that a run can be repeated exactly. Default: none, drawn from the operating system for
    /// each table, so that nobody can choose keys that collide.
    pub hash_seed: Option<u64>,
    /// The log's own knobs.
    pub log: wal::LogOptions,
}

/// When a declared procedure owns first and draws later. It costs a third of a short transaction's instructions, and spares aborts
/// where others want the same rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnFirst {
    /// While procedures of the same site have been aborted by conflicts lately.
    #[default]
    AfterConflicts,
    /// Whenever it can.
    Always,
}

/// The greatest value of [`Options::row_bytes`].
const ROW_BYTES_LIMIT: usize = 4_000_000;

impl Default for Options {
    fn default() -> Options {
        Options {
            durability: Durability::Fsync,
            sites: 64,
            wait_limit: Duration::from_secs(10),
            key_bytes: 8192,
            row_bytes: ROW_BYTES_LIMIT,
            write_set_rows: u32::MAX as usize,
            write_set_bytes: 1 << 40,
            read_set: 1_000_000,
            versions: 64,
            memory_bytes: None,
            transaction_age: None,
            batch: 256,
            own_first: OwnFirst::default(),
            transactions: 100_000,
            tables: 100_000,
            ceiling_lease: Duration::from_secs(60),
            hash_seed: None,
            log: wal::LogOptions::default(),
        }
    }
}

impl Options {
    /// The limit on memory: what was asked for, or a share of what the process may have.
    pub fn memory_limit(&self) -> usize {
        let share = || usize::try_from(env::memory() / 2).unwrap_or(usize::MAX);
        self.memory_bytes.unwrap_or_else(share)
    }

    /// The same with every knob within its limit.
    pub(crate) fn clamped(mut self) -> Options {
        self.sites = self.sites.clamp(1, 1024).next_power_of_two();
        // A segment of the log must hold a row with its key.
        let logged = self.log.max_payload() / 2;
        self.key_bytes = self.key_bytes.min(usize::from(u16::MAX)).min(logged.saturating_sub(WRITE_OVERHEAD + 1));
        self.row_bytes = self.row_bytes.min(ROW_BYTES_LIMIT).min(logged);
        self.write_set_rows = self.write_set_rows.min(u32::MAX as usize);
        self.versions = self.versions.max(2);
        self.batch = self.batch.min(LARGEST_BATCH);
        self
    }
}
