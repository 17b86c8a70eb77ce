//! Limits and waits of a node.

use env::time::Duration;
use model::{Invalid, Result};

/// Limits and waits of a node. Those that decide about a transaction ([`Limits`]) are the same on all nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What all nodes must agree on; a node with other limits is refused by name.
    pub limits: Limits,
    /// Longest key, in bytes. At most the local store's. Default 8,192.
    pub key_bytes: u64,
    /// Longest row, in bytes. At most the local store's. Default 4,000,000.
    pub row_bytes: u64,
    /// Rows written by one transaction. At most the local store's, less the rows that the node writes beside them. Default 500,000.
    pub write_set_rows: u64,
    /// Bytes of keys and rows written by one transaction. Default 256 MiB.
    pub write_set_bytes: u64,
    /// Keys and ranges read by one transaction that may write. Default 1,000,000.
    pub read_set: u64,
    /// Transactions open at once. Default 16,384.
    pub transactions: u64,
    /// Bytes of memory of the local store beyond which a transaction that makes it larger is refused before it is proposed. What was
    /// ordered is applied all the same, so the local store itself should have no limit. Default: none.
    pub memory_bytes: Option<u64>,
    /// Age at which a transaction is aborted that has begun to read; it keeps no old rows of the local store then. The local store itself
    /// should have no such limit, which the node's own work there might reach. Default: none.
    pub transaction_age: Option<Duration>,
    /// The longest wait for a row that another transaction of this node has, unless the transaction says otherwise. Default 60 s.
    pub wait_limit: Duration,
    /// How long a strict read or COMMIT waits for the node to catch up, before [`model::Fault::Behind`]. Default 10 s.
    pub catch_up: Duration,
    /// How long COMMIT waits for its place once it is proposed, before [`model::Fault::OutcomeUnknown`]. Default 60 s.
    pub answer: Duration,
    /// How old the state may be that [`model::Mode::Snapshot`] reads, unless it says so itself ([`model::Begin::staleness`]); zero: it is
    /// strict, as other reads are. Default zero.
    pub staleness: Duration,
    /// Whether the local store keeps what is committed over a restart. Without, a later life of the node fetches a state. Default no.
    pub is_durable: bool,
    /// Bytes of payloads that may be applied before they are durable in the local store. Default 4 MiB.
    pub undurable_bytes: u64,
    /// Bytes of deliveries that are kept while a state is fetched, until the node has applied them; a node with more of them stops
    /// ([`model::Fault::DiskFull`]). Default: none; on a disk ([`crate::States::spool`]) as much as fits, in memory 256 MiB.
    pub spool_bytes: Option<u64>,
    /// Longest payload that is proposed; a longer transaction is proposed in parts. At most what the order takes, and at most the
    /// local store's longest row. Default 1 MiB.
    pub part_bytes: usize,
}

/// What all nodes must agree on, since it decides about transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Committed transactions whose writes are remembered. Default 65,536. More: older snapshots can be certified, in more memory.
    pub window_transactions: u64,
    /// Bytes that are remembered of them: keys, and of typed tables the rows and how they were changed. Default 16 MiB.
    pub window_bytes: u64,
    /// Tables. Default 32,768.
    pub tables: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { window_transactions: 1 << 16, window_bytes: 16 << 20, tables: 1 << 15 }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            limits: Limits::default(),
            key_bytes: 8192,
            row_bytes: 4_000_000,
            write_set_rows: 500_000,
            write_set_bytes: 256 << 20,
            read_set: 1_000_000,
            transactions: 1 << 14,
            memory_bytes: None,
            transaction_age: None,
            wait_limit: Duration::from_secs(60),
            catch_up: Duration::from_secs(10),
            answer: Duration::from_secs(60),
            staleness: Duration::ZERO,
            is_durable: false,
            undurable_bytes: 4 << 20,
            spool_bytes: None,
            part_bytes: 1 << 20,
        }
    }
}

/// The shortest part: it has to hold more than its own header.
const SHORTEST_PART: usize = 64;
/// The longest part: a row of the local store.
const LONGEST_PART: usize = 3 << 20;

impl Options {
    /// Checks what no order and no store can do with.
    pub(crate) fn checked(mut self, payload_bytes: usize) -> Result<Options> {
        if payload_bytes < SHORTEST_PART {
            return Err(Invalid::Option { what: format!("the order takes no payload of {SHORTEST_PART} bytes") }.into());
        }
        self.part_bytes = self.part_bytes.clamp(SHORTEST_PART, LONGEST_PART).min(payload_bytes);
        Ok(self)
    }
}
