//! The lab: workloads, a driver and reports that compare protocols on equal terms, and histories that show whether they keep
//! their guarantees.
//!
//! # A run, from the command line to a row of figures
//! - [`cli`] is the command line; [`command`] turns it into [`trial::Plan`]s, one per engine and number of threads; [`turns`]
//!   runs them one after another, again and again, each in a process of its own ([`trial`]).
//! - [`engines`] opens the engine that a plan names: the only place where engines have names. All else is generic over
//!   `model`'s doors ([`engines::DoorName`]: the one that clients take). A program of its own puts other stores in their place
//!   ([`trial::Subject`]; `rivals/stores` does).
//! - [`driver`] fills the tables, starts the clients behind one starting line, and counts. A client draws a transaction,
//!   the engine runs it until it commits ([`retry`]: what is done after an abort), its result is checked. Before that, the same clients
//!   run for a moment without a database, so that a row says what the lab itself takes of a transaction.
//!   Clients may share a thread, and advance in turns: what is concurrent is so logically.
//! - [`workloads`] are `model::Procedure`s, written once: [`workloads::ycsb`], [`workloads::bank`], [`workloads::smallbank`],
//!   [`workloads::vacation`], [`workloads::dml`], [`workloads::tatp`], [`workloads::tpcc`]. Their parameters are presets in
//!   `workloads/*.toml`, which the command line changes. A program without a footprint is [`workloads::mixed`], which measures nothing.
//! - [`workloads::audit`] checks the whole database after each run, against what the clients' transactions returned.
//! - [`sums`] adds up a column beside versions: by the engines' scans by column, which are no `Access`.
//! - [`queries`] runs queries of TPC-H by SQL, with their reads logged and not.
//! - [`report`] makes rows of the measurements: medians, spread, abort reasons, commit, cores.
//! - [`record`] writes down every attempt of every client in the form that the crate `check` judges; [`histories`] is the
//!   command that does nothing else.
//! - [`soak`] measures nothing either: it loads, kills and audits a server for a given time.
//!
//! # The papers' experiments
//! - [`experiments`] are values: a sweep of workloads over systems, the paper's points, and a test of the shape.
//!   [`experiments::runs`] runs them, [`experiments::page`] makes a page of what came out, [`plot`] draws.
//!   [`experiments::paxos_order`] needs clusters, and has a command of its own for its other parts.
//! - [`plain_core`] is the baseline of one of them: a Paxos core without a proof.
//!
//! # What the figures are
//! - L1. A transaction counts when it is acknowledged: committed, and with `fsync` durable.
//! - L2. Latency is from a transaction's first attempt to its acknowledgement, retries and waits included.
//! - L3. An attempt that does not commit counts once, under the rule by which the engine ended it.
//! - L4. A client's loop allocates nothing of its own (scans and reads fill buffers made before), and reads the clock only
//!   for the transactions that it times. The declared door, alone or in batches, is the exception: what is submitted is a copy.
//! - L5. Equal seeds draw equal transactions, on every engine; how threads interleave is up to the machine.
//! - L6. A wrong result (a loaded key that is missing, an audit with another sum), or a wrong state at the end, ends the run with
//!   an error: there are no figures for wrong answers.
//! - L7. No two writes of a run write the same bytes, retries and failed attempts included (but for those of the load, which nothing
//!   can read), so that every read of a history names the write that it saw, and bytes mixed from two writes name none.
//!
//! # Deliberately absent
//! Pinning of threads; rates of arrival by other doors than the declared one (`lab workload --rate`: [`driver`]; all other clients are
//! closed loops); the papers' experiments that `docs/experiments.md` lists as not done yet.
#![forbid(unsafe_code)]

pub mod cli;
pub mod command;
pub mod control;
pub mod counts;
pub mod draw;
pub mod driver;
pub mod engines;
pub mod experiments;
pub mod failure;
pub mod histories;
pub mod kill;
pub mod machine;
pub mod new_directory;
pub mod options;
pub mod plain_core;
pub mod plot;
pub mod processes;
pub mod queries;
pub mod record;
pub mod report;
pub mod retry;
pub mod servers;
pub mod soak;
pub mod sums;
pub mod trial;
pub mod turns;
pub mod workloads;
