//! `paxos-order`: the cost of a total order with a proved core.
//!
//! Source: Pandey 2016, section 7.4 and figure 7.2. 1,200 clients in closed loops, balanced among the replicas, send requests of 40
//! bytes; the leader orders batches of 12,000 bytes; the service does nothing. Compared are the proved core, a plain core written
//! by hand in the same runtime ([`crate::plain_core`], the yardstick), and a real etcd that is given the same batches.
//!
//! Differences from the thesis:
//! - All replicas and clients are on one machine, and share its processors ([`shape`] says what that means).
//! - The clients are one program with few threads: one thread for each client would measure the clients.
//! - etcd gets ready-made batches, one put each, and answers no single clients. Part `batches` gives all engines the same.
//!
//! `lab run` measures the figure ([`figure`]), `lab experiment` the parts beside it too, with parameters of its own ([`run`]).
//!
//! - [`arguments`] is the command line; [`mod@bench`] fills in the defaults.
//! - [`throughput`] is the figure; [`core_cost`] measures the cores alone.
//! - [`latency`], [`failover`], [`memory`] and [`catch_up`] measure what the figure leaves out and users ask about.
//! - [`ours`] starts and loads our replicas, each of them a [`node`].
//! - [`etcd`] starts and loads the rival.
//! - [`measurement`] is one run; [`row`] and [`shape`] summarize all runs; [`report`] makes charts of them.

pub mod arguments;
pub mod bench;
pub mod catch_up;
pub mod core_cost;
pub mod core_rows;
pub mod etcd;
pub mod failover;
pub mod latency;
pub mod measurement;
pub mod memory;
pub mod node;
pub mod ours;
pub mod report;
pub mod row;
pub mod shape;
pub mod throughput;

use crate::cli::Scale;
use crate::experiments::figures::Outcome;
use crate::failure::Failure;
use crate::options::Format;
use arguments::{Part, PaxosOrderArguments};
use bench::Bench;
use row::Row;
use serde::Serialize;
use std::fs;
use std::io::{self, Write};
use throughput::Given;

/// Measures what the arguments say and writes the figures.
///
/// # Errors
/// See [`Failure`].
pub fn run(arguments: PaxosOrderArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let (part, format) = (arguments.part, arguments.format);
    let bench = Bench::new(arguments).map_err(Failure::Run)?;
    match part {
        Part::Throughput => {
            let rows = throughput::rows(&bench, Given::Requests).map_err(Failure::Run)?;
            plot(&bench, &rows).map_err(Failure::Run)?;
            if format == Format::Json {
                eprintln!("{}", shape::outcome(&rows));
            }
            show(format, &rows, out, |out| row::write_table(&rows, out).and_then(|()| shape::write(&rows, out)))
        }
        Part::Batches => {
            let rows = throughput::rows(&bench, Given::Batches).map_err(Failure::Run)?;
            show(format, &rows, out, |out| row::write_table(&rows, out))
        }
        Part::Core => {
            let rows = core_rows::rows(&bench).map_err(Failure::Run)?;
            show(format, &rows, out, |out| core_rows::write_table(&rows, out))
        }
        Part::Latency => {
            let rows = latency::rows(&bench).map_err(Failure::Run)?;
            show(format, &rows, out, |out| {
                row::write_table(&rows, out).and_then(|()| latency::write_verdict(&rows, out))
            })
        }
        Part::Failover => {
            let rows = failover::rows(&bench).map_err(Failure::Run)?;
            show(format, &rows, out, |out| failover::write_table(&rows, out))
        }
        Part::Memory => {
            let rows = memory::rows(&bench).map_err(Failure::Run)?;
            show(format, &rows, out, |out| memory::write_table(&rows, out))
        }
        Part::CatchUp => {
            let rows = catch_up::rows(&bench).map_err(Failure::Run)?;
            show(format, &rows, out, |out| catch_up::write_table(&rows, out))
        }
    }
}

/// Measures figure 7.2 as `lab run` does: in memory and on the disk. Without `seconds`, for the scale's.
///
/// # Errors
/// A cluster does not run: a sentence.
pub fn figure(scale: Scale, repeats: u32, seconds: Option<f64>) -> Result<Outcome, String> {
    let bench = Bench::new(PaxosOrderArguments::of_figure(scale, repeats, seconds))?;
    let rows = throughput::rows(&bench, Given::Requests)?;
    Ok(report::at_scale(scale, &rows))
}

fn plot(bench: &Bench, rows: &[Row]) -> Result<(), String> {
    let Some(path) = &bench.arguments().plot else { return Ok(()) };
    fs::write(path, shape::plot(rows)?).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

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
