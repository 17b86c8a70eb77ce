//! Sealing: a batch is logged, and gets its positions. What cannot be executed is refused before.

use crate::call::Call;
use crate::pipeline::Batch;
use crate::position::Position;
use crate::{Shared, log};
use model::{Error, Invalid, LogPosition, Result, TableId};
use std::sync::Arc;

impl Shared {
    /// Seals a batch, once there is room for one. `record` is the sequencer's own.
    pub fn seal(&self, calls: Vec<Call>, record: &mut Vec<u8>) -> Arc<Batch> {
        let number = self.pipeline.wait_for_room();
        let calls = self.refuse_dropped(calls);
        let (calls, position) = self.append(number, calls, record);
        for (index, call) in calls.iter().enumerate() {
            call.drops.iter().for_each(|&table| self.tables.drop_at(table, Position::new(number, index)));
        }
        let batch = self.pipeline.seal(calls, position);
        if let Some(input) = self.log() {
            log::watch(&input.log, &self.pipeline);
        }
        batch
    }

    /// Refuses calls whose tables were dropped after their footprint was checked.
    fn refuse_dropped(&self, calls: Vec<Call>) -> Vec<Call> {
        let mut dropped: Vec<TableId> = Vec::new();
        let drops = self.tables.drops();
        let keep = |call: Call| {
            let is_current = dropped.is_empty() && call.drops_seen == drops && call.drops.is_none();
            match is_current.then_some(()).map_or_else(|| self.check_tables(&call, &dropped), Ok) {
                Ok(()) => {
                    dropped.extend(call.drops);
                    Some(call)
                }
                Err(error) => {
                    self.discharge(&call);
                    call.into_job().give_up(error);
                    None
                }
            }
        };
        calls.into_iter().filter_map(keep).collect()
    }

    fn check_tables(&self, call: &Call, dropped: &[TableId]) -> Result<()> {
        let keys = call.footprint.keys().iter().map(|entry| entry.table);
        let ranges = call.footprint.ranges().iter().map(|range| range.table);
        for table in keys.chain(ranges).chain(call.drops) {
            self.tables.find(table)?;
            if dropped.contains(&table) {
                return Err(Invalid::UnknownTable { table: format!("number {}", table.0) }.into());
            }
        }
        Ok(())
    }

    /// Appends a batch to the log. What could not be logged is refused: it has no position, and has done nothing.
    fn append(&self, number: u64, calls: Vec<Call>, record: &mut Vec<u8>) -> (Vec<Call>, LogPosition) {
        let Some(input) = self.log() else { return (calls, LogPosition::ZERO) };
        let error = match input.append(number, &calls, record) {
            Ok(position) => return (calls, position),
            Err(error) => error,
        };
        // After a failure nobody may see what was executed and is not durable.
        let has_failed = input.check_log().is_err();
        let refuses = |call: &mut Call| !call.logged.is_empty() || has_failed && !call.touches_nothing();
        let mut calls = calls;
        for call in calls.extract_if(.., refuses) {
            self.discharge(&call);
            call.into_job().give_up(Error::clone(&error));
        }
        (calls, input.log.appended())
    }
}
