//! The redo log: a transaction's changes are on disk before its commit is acknowledged.
//!
//! An engine appends a record while it still owns what the transaction is about to publish, so records are in the order in
//! which they become visible; it installs; then the acknowledging thread waits until the log is durable up to the record's
//! position. One of them, or a thread of the log, writes the gathered records and syncs once for all. Payloads are opaque:
//! this crate never decides what is visible.
//!
//! ```text
//!  append ──► buffer: positions drawn here ──► writer: one write, one fdatasync per group ──► durable ──► waiters
//!                │ space reserved first                 │
//!                ▼                                      ▼
//!        CONTROL   wal-0000000007.log ─► wal-0000000008.log ─► wal-0000000009.log (prepared)     CHECKPOINT
//!        version,  header  [group: "durable up to p"] [redo] [redo] [group] [redo] … [seal]     all rows below a bound
//!        ceiling
//! ```
//!
//! # Invariants
//! - **L1** Positions are drawn in the order of the appends, and recovery yields a prefix of them: if a record is recovered, so
//!   is every earlier one. A large record stands where its last part ends, and is recovered whole or not at all.
//!   ([`Log::append`], [`Log::begin_large`]; `tests/power_cut.rs`)
//! - **L2** A segment gets its first byte after everything in the one before it is durable. (`scan::judge` relies on it)
//! - **L3** Space for a record, and for what it takes to close its segment, is reserved before the append returns: a full disk
//!   fails the append, not the write. For a large record all segments are made before its first part is appended.
//!   (`tests/failures.rs`)
//!   A log that is opened on a full disk can be read, and goes on with the first append that finds space.
//! - **L4** Every group names a position that was durable when it was written, and a stop names its own: damage below such a
//!   position is corruption and the log does not open; damage above it is a torn end, and is cut off and reported.
//!   (`tests/damage.rs`: every bit, every truncation)
//! - **L5** Segments form a chain by number and position, and a record's checksum covers its position and the log's identity:
//!   intact bytes of another time or place do not pass.
//! - **L6** What recovery hands out is durable first: bytes that no fdatasync is known to have covered are written again.
//! - **L7** After a failed write or fdatasync nothing is appended, acknowledged or synced any more. A restart recovers.
//! - **L8** A checkpoint gets its final name when it is complete and the log is durable up to the position where it began. Only then
//!   are segments removed, oldest first, and only those whose records all end at or before that position and have stamps below its bound.
//! - **L9** Behind the tail of the segment in use stand zeros, and a block that is written again begins with the bytes that
//!   are durable in it: whichever parts of it a power cut keeps, no acknowledged record is lost that shares the block.
//!   (`env`'s `disk/blocks.rs`; `tests/power_cut.rs`)
//!
//! The invariants are asserted here, in constant time and in release builds too:
//!
//! | | asserted | tests |
//! | --- | --- | --- |
//! | L1 | `buffer.rs` `push` (positions), `group.rs` `raise_durable` (what is durable) | `power_cut`, `threads` |
//! | L2 | `group.rs` `write_group`, `raise_durable` | `power_cut`, `damage` |
//! | L3 | `buffer.rs` `push_redo` (reserved), `group.rs` `Writer::write` (written there) | `failures`, `large` |
//! | L4 | `buffer.rs` `vouch` | `damage` |
//! | L5 | `buffer.rs` `switch` | `damage`, `round_trip` |
//! | L6 | by `start.rs`, which syncs before it hands out | `power_cut` |
//! | L7 | `group.rs` `Writer::write`, `Writer::sync`, `raise_durable`; `shared.rs` `append` | `failures`, `threads` |
//! | L8 | `checkpoint.rs` `finish`, `remove_segments` | `checkpoint` |
//! | L9 | by the simulated disk, at each append | `power_cut`, and `env`'s `disk` |
//!
//! Waiters: whoever waits is woken by the round that covers its position, and a wait that can be ended never does I/O
//! (`wait.rs`; `loom_event`, `shuttle_log`).
//!
//! Mutants (`mutants/*.patch`): `definitions_overtake_writes` and `keys_change_threads` (`replay.rs`), `durable_before_sync` (L7),
//! `one_call_for_all` (L7), `lost_wake_up`,
//! `leader_leaves_the_rest`, `room_wakes_nobody`; `blocks_begin_with_zeros` (L9) is one of `env`.
//!
//! # What is promised
//! See [`Durability`]. Damage in the last group of the log cannot be distinguished from a torn write, since no later record vouches for
//! that group. Such a log is opened without the damaged bytes and all after them, and the cut is reported. A clean close leaves
//! no such group.
//!
//! # Files
//! `LOCK` keeps a second process out. `CONTROL` has the format version, the log's identity and the timestamp ceiling, twice.
//! `wal-NNNNNNNNNN.log` are the segments and `CHECKPOINT` the last checkpoint; names with `.tmp` are unfinished and removed at
//! the next start. Bytes are described in `format.rs`.
//!
//! # Map
//! | file | what it does |
//! | --- | --- |
//! | `log.rs` | the public handle: open, append, wait, close |
//! | `large.rs` | records in parts |
//! | `shared.rs` | the latch, and how appenders wait for room |
//! | `wait.rs`, `event.rs` | how waiters sleep, are called back, or write themselves |
//! | `buffer.rs` | positions, segment switches, groups in memory |
//! | `group.rs` | the writing thread: write and sync groups |
//! | `gather.rs` | how whoever is about to write waits for the others of the last group |
//! | `ahead.rs` | the other thread: prepare segments, raise the ceiling |
//! | `checkpoint.rs`, `turns.rs` | writing and reading checkpoints, removing segments; one at a time, and how fast |
//! | `recover.rs`, `scan.rs`, `start.rs` | recovery: read the segments, classify damage, continue the log |
//! | `replay.rs`, `progress.rs` | what was found, applied by several threads; how far that has come |
//! | `redo.rs` | the payloads of engines: the only format above the records |
//! | `verify.rs` | the same reading, as a report without changes |
//! | `control.rs`, `segment.rs`, `format.rs`, `window.rs` | files and bytes |
//!
//! Deliberately absent: undo (nothing uncommitted is logged), compression, encryption, log shipping, and any retry of a
//! failed disk operation.

#![forbid(unsafe_code)]

mod ahead;
mod buffer;
mod checkpoint;
mod control;
mod error;
mod event;
mod format;
mod gather;
mod group;
mod large;
mod log;
mod options;
mod progress;
mod recover;
pub mod redo;
mod replay;
mod scan;
mod segment;
mod shared;
mod start;
mod stats;
mod sync;
mod turns;
mod verify;
mod wait;
mod window;

pub use checkpoint::{CheckpointInfo, CheckpointReader, CheckpointWriter};
pub use error::{Damage, DamageKind, LogError};
pub use format::FORMAT_VERSION;
pub use large::{LargeRecord, LargeRoom};
pub use log::{LOG_THREAD, Log};
pub use model::{Durability, LogPosition};
pub use options::{Driver, LogOptions};
pub use progress::{OnProgress, RecoveryProgress, RecoveryStep};
pub use recover::{LOCK, RecordReader, Recovered, RecoveredRecord, RecoveryReport, TailCut, write_recovery};
pub use replay::{Rebuild, Replayed, undecodable};
pub use shared::CallersWaitLimit;
pub use stats::LogStats;
pub use turns::{CheckpointTurn, CheckpointTurns, Pace};
pub use verify::{SegmentReport, VerifyReport, verify};
