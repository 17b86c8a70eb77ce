//! Resource use of the server: `seriatim_memory` and `seriatim_log`.

use super::layout::{columns, tables};
use super::value::{NULL, text};
use crate::Result;
use crate::catalog::VirtualTable;
use crate::context::System;
use crate::types::{Datum, Row};

pub(super) static TABLES: &[VirtualTable] = tables! { "pg_catalog", System:
    12900 seriatim_memory = memory; {
        name: Text, used_bytes: Int8, limit_bytes: Int8
    }
    12901 seriatim_log = log; {
        log_bytes: Int8, checkpoints: Int8, checkpoint_bytes: Int8, last_checkpoint_bytes: Int8,
        write_amplification: Float8
    }
};

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
        ]
    };
    Ok(log.map(row).into_iter().collect())
}

fn count<N: TryInto<i64>>(number: N) -> Datum {
    Datum::Int8(number.try_into().unwrap_or(i64::MAX))
}
