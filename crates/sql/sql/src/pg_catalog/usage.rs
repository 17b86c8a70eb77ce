//! Resource use of the server: `seriatim_memory` and `seriatim_log`, and PostgreSQL's views of log and checkpoints as far as
//! their figures are known.

use super::layout::{columns, tables};
use super::value::{NULL, text};
use crate::Result;
use crate::catalog::VirtualTable;
use crate::context::System;
use crate::types::{Datum, Numeric, Row};

pub(super) static TABLES: &[VirtualTable] = tables! { "pg_catalog", System:
    12900 seriatim_memory = memory; {
        name: Text, used_bytes: Int8, limit_bytes: Int8
    }
    12901 seriatim_log = log; {
        log_bytes: Int8, checkpoints: Int8, checkpoint_bytes: Int8, last_checkpoint_bytes: Int8,
        write_amplification: Float8, sync_method: Text
    }
    12289 pg_stat_bgwriter = checkpoints; {
        checkpoints_timed: Int8, checkpoints_req: Int8, checkpoint_write_time: Float8,
        checkpoint_sync_time: Float8, buffers_checkpoint: Int8, buffers_clean: Int8, maxwritten_clean: Int8,
        buffers_backend: Int8, buffers_backend_fsync: Int8, buffers_alloc: Int8, stats_reset: Timestamptz
    }
    12293 pg_stat_wal = wal; {
        wal_records: Int8, wal_fpi: Int8, wal_bytes: Numeric, wal_buffers_full: Int8, wal_write: Int8,
        wal_sync: Int8, wal_write_time: Float8, wal_sync_time: Float8, stats_reset: Timestamptz
    }
    12285 pg_stat_archiver = archiver; {
        archived_count: Int8, last_archived_wal: Text, last_archived_time: Timestamptz, failed_count: Int8,
        last_failed_wal: Text, last_failed_time: Timestamptz, stats_reset: Timestamptz
    }
};

/// One row. A checkpoint is written because the log has grown, or because somebody asked: never because of the time.
fn checkpoints(system: &mut System<'_>) -> Result<Vec<Row>> {
    let reset = Datum::Timestamptz(system.sessions().since());
    let log = system.usage().and_then(|usage| usage.log);
    let requested = log.as_ref().map_or(NULL, |log| count(log.checkpoints));
    let unknown = std::iter::repeat_n(NULL, 8);
    Ok(vec![[Datum::Int8(0), requested].into_iter().chain(unknown).chain([reset]).collect()])
}

/// One row, if the engine has a log.
fn wal(system: &mut System<'_>) -> Result<Vec<Row>> {
    let reset = Datum::Timestamptz(system.sessions().since());
    let bytes = |bytes: u64| Datum::Numeric(Numeric::new(bytes.into(), 0));
    let row = |log: model::LogUsage| vec![NULL, NULL, bytes(log.log_bytes), NULL, NULL, NULL, NULL, NULL, reset];
    Ok(system.usage().and_then(|usage| usage.log).map(row).into_iter().collect())
}

/// Nothing is archived.
fn archiver(system: &mut System<'_>) -> Result<Vec<Row>> {
    let reset = Datum::Timestamptz(system.sessions().since());
    Ok(vec![vec![Datum::Int8(0), NULL, NULL, Datum::Int8(0), NULL, NULL, reset]])
}

/// A row for each sum that has a limit.
fn memory(system: &mut System<'_>) -> Result<Vec<Row>> {
    let budget = system.budget();
    let mut rows = vec![vec![text("statements"), count(budget.used()), count(budget.limit())]];
    if let Some(usage) = system.usage() {
        rows.push(vec![text("database"), count(usage.memory_bytes), count(usage.memory_limit_bytes)]);
    }
    Ok(rows)
}

/// One row, if the engine has a log.
fn log(system: &mut System<'_>) -> Result<Vec<Row>> {
    let log = system.usage().and_then(|usage| usage.log);
    let row = |log: model::LogUsage| {
        let written = log.log_bytes + log.checkpoint_bytes;
        let amplification = (log.log_bytes > 0).then(|| Datum::Float8(written as f64 / log.log_bytes as f64));
        vec![
            count(log.log_bytes),
            count(log.checkpoints),
            count(log.checkpoint_bytes),
            count(log.last_checkpoint_bytes),
            amplification.unwrap_or(NULL),
            text(log.sync_method),
        ]
    };
    Ok(log.map(row).into_iter().collect())
}

fn count<N: TryInto<i64>>(number: N) -> Datum {
    Datum::Int8(number.try_into().unwrap_or(i64::MAX))
}
