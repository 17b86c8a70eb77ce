//! The input log: the calls of a batch are appended when the batch gets its positions, and are durable before anybody sees what
//! they did.
//!
//! ```text
//! sequencer   seal 7: append the calls | seal 8: append | plan 7 ..
//! log         ................ write and sync 7, 8 together ........... durable: 8
//! execution                          | 7 runs, its results are held | 8 runs | results of 7 and 8 are released
//! ```
//!
//! A batch is one record: kind 6 of [`wal::redo`], with a stamp for the batch (`stamps.rs`). Behind the kind stand its entries, in
//! the order of positions:
//!
//! | entry | bytes |
//! | --- | --- |
//! | call | 1, then with its length in four bytes what [`model::encode_call`] writes: name, version, draws, arguments |
//! | call with a footprint that a trial run has found | 2, the footprint, then as above |
//! | dropped table | 3, table |
//!
//! What cannot change anything is not logged. A record that is longer than a part of the log is appended in parts, each with whole
//! entries. Created tables are records of their own (kind 2), appended before anybody knows the table.

use crate::call::Call;
use crate::check_limit;
use crate::job::Job;
use crate::pipeline::Pipeline;
use crate::stamps::Stamps;
use codec::put_u32;
use model::{
    Decoder, Durability, Error, Fault, Footprint, Invalid, LimitKind, LogPosition, Malformed, Procedure, Registry,
    Result, TableId,
};
use parts::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Release},
};
use std::sync::Arc;
use wal::{Log, LogError, redo};

const CALL: u8 = 1;
const GUESS: u8 = 2;
const DROP: u8 = 3;
/// Batches that one durable ceiling covers. Two small syncs for each of it; so many numbers are lost in a crash.
const LEASE: u64 = 1 << 20;

/// The log of a database on a disk.
pub(crate) struct InputLog {
    pub log: Arc<Log>,
    registry: Registry,
    durability: Durability,
    pub stamps: Stamps,
    /// The stamp from which on the ceiling is raised.
    renew_at: AtomicU64,
}

/// An entry of a record.
#[derive(Debug)]
pub(crate) enum Entry<'a> {
    /// A call; its footprint, if a trial run has found it.
    Call(Option<Footprint>, &'a [u8]),
    /// A table was dropped.
    Drop(TableId),
}

impl<'a> Entry<'a> {
    /// Reads the next entry of a record.
    pub fn decode(from: &mut Decoder<'a>) -> std::result::Result<Entry<'a>, Malformed> {
        match from.u8()? {
            CALL => Ok(Entry::Call(None, from.bytes32()?)),
            GUESS => Ok(Entry::Call(Some(Footprint::decode(from)?), from.bytes32()?)),
            DROP => Ok(Entry::Drop(TableId(from.u32()?))),
            _ => Err(Malformed),
        }
    }
}

/// The entry of a call.
pub(crate) fn encode_entry(job: &dyn Job, footprint: &Footprint, is_guess: bool) -> Vec<u8> {
    let mut entry = Vec::with_capacity(128);
    entry.push(if is_guess { GUESS } else { CALL });
    if is_guess {
        footprint.encode(&mut entry);
    }
    let length_at = entry.len();
    put_u32(&mut entry, 0);
    job.encode(&mut entry);
    let length = (entry.len() - length_at - size_of::<u32>()) as u32;
    entry[length_at..][..size_of::<u32>()].copy_from_slice(&length.to_le_bytes());
    entry
}

/// The entry of a dropped table.
pub(crate) fn encode_drop(table: TableId) -> Vec<u8> {
    let mut entry = vec![DROP];
    put_u32(&mut entry, table.0);
    entry
}

impl InputLog {
    pub fn new(log: Log, registry: Registry, durability: Durability, stamps: Stamps) -> InputLog {
        InputLog { log: Arc::new(log), registry, durability, stamps, renew_at: AtomicU64::new(0) }
    }

    /// Refuses what a later start could not run again.
    pub fn check<P: Procedure>(&self, procedure: &P) -> Result<()> {
        if self.registry.has(procedure) {
            return Ok(());
        }
        Err(Invalid::Unregistered { procedure: procedure.name().to_owned() }.into())
    }

    /// Refuses a call whose entry is longer than a record may be, before it is in a batch, all of which the log would refuse.
    ///
    /// # Errors
    /// [`LimitKind::WriteSetBytes`].
    pub fn check_length(&self, call: &Call) -> Result<()> {
        check_limit(LimitKind::WriteSetBytes, self.log.max_payload() as u64, (1 + call.logged.len()) as u64)
    }

    /// Returns whether an answer waits for the log.
    pub fn is_awaited(&self, durability: Option<Durability>) -> bool {
        durability.unwrap_or(self.durability) == Durability::Fsync
    }

    /// Refuses everything once the log has failed or was closed.
    pub fn check_log(&self) -> Result<()> {
        match self.log.failed() {
            None => Ok(()),
            Some(error) => Err(Fault::LogFailed { detail: error.to_string() }.into()),
        }
    }

    /// Has a ceiling above a batch be durable before anybody learns of a position in it: a restart begins above it.
    pub fn cover(&self, batch: u64) -> std::result::Result<(), LogError> {
        let (stamp, lease) = (self.stamps.of(batch), self.stamps.of(LEASE));
        if stamp < self.renew_at.load(Acquire) {
            return Ok(());
        }
        if stamp >= self.log.ceiling() {
            self.log.raise_ceiling(stamp.saturating_add(lease))?;
        }
        let ceiling = self.log.ceiling();
        assert!(stamp < ceiling, "B1: a position is given once, also after a restart");
        let renew_at = ceiling.saturating_sub(lease / 2);
        if stamp < renew_at {
            self.renew_at.store(renew_at, Release);
        } else {
            self.log.raise_ceiling_ahead(ceiling.saturating_add(lease));
        }
        Ok(())
    }

    /// Appends the calls of a batch. Returns where its record ends, or the last one before it if nothing is to be logged. After an
    /// error nothing was appended.
    pub fn append(&self, batch: u64, calls: &[Call], record: &mut Vec<u8>) -> Result<LogPosition> {
        self.check_log()?;
        self.cover(batch)?;
        let entries = || calls.iter().map(|call| &call.logged[..]).filter(|entry| !entry.is_empty());
        let bytes: usize = entries().map(<[u8]>::len).sum();
        if bytes == 0 {
            return Ok(self.log.appended());
        }
        let durability = if calls.iter().any(|call| call.awaits_log) { Durability::Fsync } else { self.durability };
        let stamp = self.stamps.of(batch);
        redo::begin_calls(record);
        if bytes < self.log.part_bytes() {
            entries().for_each(|entry| record.extend_from_slice(entry));
            return Ok(self.log.append(stamp, record, durability)?);
        }
        let largest = entries().map(|entry| entry.len() + 1).max().unwrap_or_default();
        let part_bytes = self.log.part_bytes();
        let mut large = self.log.begin_large(stamp, bytes as u64, largest.max(part_bytes))?;
        for entry in entries() {
            if record.len() > 1 && record.len() + entry.len() > part_bytes {
                large.append(record)?;
                redo::begin_calls(record);
            }
            record.extend_from_slice(entry);
        }
        Ok(large.finish(record, durability)?)
    }

    /// Appends the record of a created table.
    pub fn append_create(&self, id: TableId, schema: &model::Schema) -> Result<LogPosition> {
        let mut record = Vec::new();
        redo::encode_create(&mut record, id, schema);
        Ok(self.log.append(0, &record, self.durability)?)
    }

    /// Waits until a position is durable, if answers do.
    pub fn wait(&self, position: LogPosition) -> Result<()> {
        if self.durability == Durability::Fsync { Ok(self.log.wait_durable(position)?) } else { Ok(()) }
    }
}

impl Drop for InputLog {
    /// A callback may have a handle too: the directory is free all the same.
    fn drop(&mut self) {
        self.log.abandon();
    }
}

/// Has the log tell the pipeline when the oldest batch that somebody waits for is durable. One call waits at a time: a log whose
/// last group had one waiter gathers no others.
pub(crate) fn watch(log: &Arc<Log>, pipeline: &Arc<Pipeline>) {
    let Some(position) = pipeline.next_to_await() else { return };
    let (weak, watched) = (Arc::downgrade(log), pipeline.clone());
    let tell = move |durable: std::result::Result<(), LogError>| {
        let Some(log) = weak.upgrade() else { return };
        watched.set_durable(durable.map(|()| log.durable()).map_err(Error::from));
        watch(&log, &watched);
    };
    log.on_durable(position, Box::new(tell));
}
