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
//! - A connection waits for bytes as a task of the reactor, whose few threads only wait. When a whole message has arrived,
//!   everything that has arrived is run at once, on a thread that leaves the reactor meanwhile (`connection.rs`). So a statement that waits
//!   for a lock or for its client holds a thread of its own, up to one per connection, and the statement that would end its wait
//!   never queues behind it.
//! - A session whose answers wait for the log for longer than a second gives its thread back: it is parked until the log is durable
//!   or the session is to end.
//! - Answers are encoded into one buffer, and sent when the pipeline is done or the buffer is full. A client that does not read
//!   blocks only its own thread (`output.rs`).
//! - A server whose database is not open yet refuses its clients with the reason ([`Entrance`]).
//! - Nothing is sent before what it acknowledges is durable.
//! - Invalid input ends at most its own connection, with an error that gives the reason. A message longer than the limit is
//!   skipped as it arrives, and answered with 54000.
//!
//! Deliberately absent: TLS and passwords. Hence the server listens on loopback addresses only.

#![forbid(unsafe_code)]

mod background;
mod codec;
mod connection;
mod conversation;
mod log;
mod output;
mod server;
mod startup;

pub use background::Background;
pub use log::LOG;
pub use server::{Entrance, Options, Server};
