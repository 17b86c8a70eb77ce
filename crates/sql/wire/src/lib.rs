//! PostgreSQL's protocol, version 3.0, as psql, drivers and dumps use it, in front of [`sql`]'s sessions.
//!
//! ```text
//!  accept --> startup --> connection -------------------> conversation --> sql::session
//!             (who is     (waits for bytes, holds          (one message    (what it means)
//!              it?)        no thread meanwhile)             after another)      |
//!                                                               output <--------'
//!                                                    (answers, encoded as they come)
//! ```
//!
//! - A connection waits for bytes as a task of the reactor, which has a few threads and does nothing but wait. When a whole
//!   message is there, everything that has arrived is run in one go, on a thread that has left the reactor for as long as
//!   it takes (`connection.rs`). So statements that wait for a lock or for their client hold a thread of their own, and
//!   there are as many of those as there are connections: nobody who could end a wait stands behind it.
//! - Answers that wait for the log for longer than a second hold none: the session is parked until the log has gone on, or the
//!   session is to end.
//! - Answers are encoded into one buffer as the session gives them, and leave when the pipeline is done, or when the buffer
//!   is full. A client that does not read stops its own thread and no other (`output.rs`).
//! - Nothing is sent before what it acknowledges is durable.
//! - Any input at worst ends this one connection, with an error that gives the reason. A message longer than the limit is
//!   skipped without being kept, and answered with 54000.
//!
//! Deliberately absent: TLS and passwords. Hence the server listens on loopback addresses only.

#![forbid(unsafe_code)]

mod codec;
mod connection;
mod conversation;
mod output;
mod server;
mod startup;

pub use server::{Options, Server};
