//! What a directory holds: tables and rows of its checkpoint, and the calls behind it.

use crate::log::Entry;
use crate::programs::Repeat;
use env::Disk;
use model::{
    Decoder, Error, Fault, Footprint, Invalid, LogPosition, LoggedCall, Malformed, Registry, Result, Schema, TableId,
    UnknownCall,
};
use std::sync::Arc;
use wal::redo::{Record, Write};
use wal::{CheckpointReader, Log, LogOptions, Recovered, RecoveredRecord, undecodable};

/// A part of what a directory holds, in its order.
pub enum Found<'a> {
    /// A table.
    Table(TableId, Schema),
    /// A row of the checkpoint: table, key, row.
    Row(TableId, &'a [u8], &'a [u8]),
    /// A call behind it; its footprint, if a trial run has found it: it may have missed, and then has no effect.
    Call(LoggedCall, Option<Footprint>),
    /// A table was dropped.
    Drop(TableId),
    /// The calls so far were a batch.
    EndOfBatch,
}

/// Reads what a directory holds, without opening or changing the database: to look at it, or to run its calls elsewhere. `registry` as
/// for [`crate::Bohm::open`].
///
/// # Errors
/// As [`crate::Bohm::open`], and those of `each`.
pub fn read_log(
    disk: Arc<dyn Disk>,
    mut registry: Registry,
    each: &mut dyn FnMut(Found<'_>) -> Result<()>,
) -> Result<()> {
    register_own(&mut registry)?;
    let (_, recovered) = Log::open(disk, LogOptions { read_only: true, ..LogOptions::default() })?;
    check_calls(&recovered, &registry)?;
    let mut reader = Reader::new(&registry);
    recovered.read(|record| reader.read(record, each))
}

/// Registers the engine's own procedure.
pub(crate) fn register_own(registry: &mut Registry) -> Result<()> {
    let taken = |name: model::NameTaken| Invalid::Option { what: name.to_string() }.into();
    registry.register::<Repeat>().map_err(taken)
}

/// Decodes records, in their order.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'r> {
    registry: &'r Registry,
    /// The first number of a table that had not been given when the checkpoint began.
    pub next_table: TableId,
}

impl<'r> Reader<'r> {
    pub fn new(registry: &'r Registry) -> Reader<'r> {
        Reader { registry, next_table: TableId(0) }
    }

    pub fn read(&mut self, record: RecoveredRecord<'_>, each: &mut dyn FnMut(Found<'_>) -> Result<()>) -> Result<()> {
        let RecoveredRecord { position, payload, is_end, .. } = record;
        match Record::decode(payload).map_err(|_| undecodable(position))? {
            Record::CheckpointStart(next) => self.next_table = next,
            Record::CheckpointRow(_, Write { table, key, row: Some(row) }) => each(Found::Row(table, key, row))?,
            // Else it was dropped before the checkpoint began.
            Record::Create(id, schema) if position == LogPosition::ZERO || id >= self.next_table => {
                each(Found::Table(id, schema))?;
            }
            Record::Create(..) => {}
            Record::Calls(entries) => {
                self.calls(entries, position, each)?;
                if is_end {
                    each(Found::EndOfBatch)?;
                }
            }
            Record::CheckpointRow(..) | Record::Writes(_) | Record::Drop(_) => {
                let detail = "the log has rows that another engine wrote: open it with that engine, and write a checkpoint, \
                              which every engine reads";
                return Err(Fault::Corruption { detail: detail.to_owned() }.into());
            }
        }
        Ok(())
    }

    fn calls(
        &self,
        mut entries: Decoder<'_>,
        position: LogPosition,
        each: &mut dyn FnMut(Found<'_>) -> Result<()>,
    ) -> Result<()> {
        while !entries.is_empty() {
            match Entry::decode(&mut entries).map_err(|_| undecodable(position))? {
                Entry::Call(guess, call) => {
                    let call = self.registry.decode(call).map_err(|unknown| refusal(unknown, position))?;
                    each(Found::Call(call, guess))?;
                }
                Entry::Drop(table) => each(Found::Drop(table))?,
            }
        }
        Ok(())
    }
}

/// Looks whether all logged calls can be executed again that the checkpoint does not cover, before any is.
pub(crate) fn check_calls(recovered: &Recovered, registry: &Registry) -> Result<()> {
    let covered = recovered.checkpoint.as_ref().map(CheckpointReader::info);
    let mut records = recovered.records.another();
    while let Some(record) = records.next_record()? {
        if covered.is_some_and(|covered| record.position <= covered.start && record.stamp < covered.bound) {
            continue;
        }
        let damaged = |_: Malformed| undecodable(record.position);
        let Record::Calls(mut entries) = Record::decode(record.payload).map_err(damaged)? else { continue };
        while !entries.is_empty() {
            if let Entry::Call(_, call) = Entry::decode(&mut entries).map_err(damaged)? {
                registry.check(call).map_err(|unknown| refusal(unknown, record.position))?;
            }
        }
    }
    Ok(())
}

fn refusal(unknown: UnknownCall, position: LogPosition) -> Error {
    match unknown {
        UnknownCall::Name { .. } | UnknownCall::Version { .. } => Invalid::LoggedCall(unknown).into(),
        UnknownCall::Record(_) | UnknownCall::Arguments(..) => {
            Fault::Corruption { detail: format!("the record that ends at {position}: {unknown}") }.into()
        }
        _ => undecodable(position),
    }
}
