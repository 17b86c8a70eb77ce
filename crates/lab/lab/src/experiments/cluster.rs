//! `cluster-failover` and `cluster-pgbench`: a replicated database as its clients have it, through SQL and over processes.
//!
//! - [`failover`]: each node is killed under load. Bar: another client is answered again within a second.
//! - [`pgbench`]: pgbench's tpcb-like on all nodes, and on a PostgreSQL with a synchronous standby in the same run. Bar: twice as fast.
//! - [`arguments`] is the command line; [`nodes`] starts the cluster; [`standby`] starts PostgreSQL; [`gaps`] finds silence.

pub mod arguments;
pub mod failover;
pub mod gaps;
pub mod nodes;
pub mod pgbench;
pub mod standby;

use crate::failure::Failure;
use crate::options::Format;
use serde::Serialize;
use std::io::{self, Write};

/// Writes rows.
fn show(
    format: Format,
    rows: &impl Serialize,
    out: &mut dyn Write,
    write_table: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let written = match format {
        Format::Table => write_table(out),
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, rows).map_err(io::Error::from).and_then(|()| writeln!(out))
        }
    };
    written.map_err(|error| Failure::Run(error.to_string()))
}
