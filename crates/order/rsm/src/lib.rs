//! Replicated services: sessions, a client, and a state machine that runs identically on every replica.
//!
//! # The idea
//! [`paxos`] orders bytes. Here the bytes are requests of clients: each client has a session and numbers its requests in it;
//! every replica passes the requests to the same deterministic [`service::Service`], in their order, each once; the replica to
//! which the client is connected answers. The answers of the last requests are kept, so that a request may be sent again
//! whenever its answer is missing.
//!
//! ```text
//!  client ──► connection ──► order (paxos) ──► executor ──► sessions: fresh? ──► service
//!     ▲                                            │             │ repeated          │
//!     └────────────── reply ◄──────────────────────┴── kept answers ◄── answer ◄─────┘
//! ```
//!
//! # Where the order is fixed
//! The order is fixed by [`paxos`]. Every replica executes a request at its place in that order; the reply shows it to the
//! client.
//!
//! # Invariants
//! - **P5** A request is executed at most once, and those of a session in the order of their numbers. (theorem, on
//!   [`paxos::core::generated::take_turn`])
//! - **X1** to **X4**: the [`executor`]'s.
//! - **R1** A reply reaches only the client that knows the nonce of its session. ([`node`])
//! - **R2** Nothing waits for a slow client: one that does not take its replies is disconnected. ([`node`])
//!
//! # Parts
//!
//! | part | here | tested by |
//! | --- | --- | --- |
//! | interface of a service | [`service`]; [`kv`] is an example | `kv/tests.rs` |
//! | sessions, answers, snapshots | [`executor`] | `executor/tests.rs`; `tests/sim.rs` |
//! | clients | [`client`]: decisions without I/O, then a task, then a blocking one | `client/*/tests.rs`; `tests/sim.rs` |
//! | a node with clients | [`node`], [`status`] | `node/tests.rs`, `node/misbehaviour.rs` |
//! | bytes | [`message`], [`wire`] | `tests/frames.rs` |
//! | all of it from one seed | `sim` (a feature) | `tests/sim.rs`, `tests/mutant_kills.rs` |
//!
//! # Deliberately absent
//! Transactions. Reads that bypass the order. Snapshots of what has changed only.

#![forbid(unsafe_code)]

pub mod client;
pub mod executor;
pub mod kv;
pub mod message;
pub mod node;
pub mod service;
#[cfg(feature = "sim")]
pub mod sim;
pub mod status;
pub mod wire;
