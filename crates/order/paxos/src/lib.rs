//! A total order of requests, by Multi-Paxos, with a proved core and a runtime built for the speed of an unproved one.
//!
//! # The idea
//! One leader numbers batches of requests; a majority votes for each; what a majority has voted for in one ballot is chosen and never
//! changes again. When the leader falls silent, another asks a majority what it has voted for and goes on from there.
//! The rules that make this safe are one pure function, `step`, written and proved in Coq and printed as Rust
//! ([`core::generated`]): it has no clock, no socket and no disk. The runtime around it provides speed and liveness. It cannot
//! break agreement: it can only pass events to `step`, and the theorems hold for all sequences of events. Its own duties are P6
//! to P12 below; `docs/proofs.md` says which theorem needs which.
//!
//! ```text
//!  Submitter ──► batcher ──► step ──► messages ──► peers        (leader: Propose, Commit; others: Accept)
//!     ▲             ▲         │  ▲
//!     │             │         │  └── messages of peers, suspicion, catch-up, snapshots
//!     │             │         ├────► journal: what must be remembered; votes wait until it is durable
//!     │             │         └────► deliver i, i + 1, ... ──► application
//!  clients (I/O) core thread    log threads            application's thread
//! ```
//!
//! The parts, from the inside out: [`core`] is the automaton; [`replica`] surrounds it with everything that needs no I/O;
//! [`journal`] keeps the state that must survive, [`image`] the snapshots; [`node`] gives each its thread. The order is one of
//! bytes: an [`application`] on the node interprets them, for example `seriatim-rsm` with sessions, clients and services.
//!
//! # Where the order is fixed
//! The order is fixed when a majority of replicas has voted, in one ballot, for a batch at an instance. The order of requests
//! is that of their instances, and within a batch that of its bytes. The reply shows it to the client.
//!
//! # Invariants
//! The invariants of the core are theorems (`proofs/paxos/Statements*.v`), not assertions; those of the runtime are its duties.
//! - **P1** Two replicas that deliver an instance deliver the same batch. (theorem)
//! - **P2** A batch that is delivered was handed in by a replica, or is the no-op. (theorem)
//! - **P3** A replica delivers instances in order without holes, from 0 or from a snapshot on. (theorem; asserted by the
//!   application on the node)
//! - **P4** A replica keeps at most `span` instances, whatever messages it receives. (theorem)
//! - **P5** A request is executed at most once, and those of a session in the order of their numbers. (theorem, on
//!   [`core::generated::take_turn`])
//! - **P6** One step at a time: the state goes into a step and comes out of it, and cannot be copied. ([`core::Proved`])
//! - **P7** A packet is passed to the core only as the message of the peer that sent it, unaltered. ([`net`]: checksums, tags,
//!   the handshake)
//! - **P8** A message for which [`core::generated::waits`] holds is sent only when everything journalled so far is durable.
//!   (theorem, on [`core::generated::pass`] and [`core::generated::report`]; [`replica`] performs outputs in order, [`journal`]
//!   reports what is durable)
//! - **P9** Each delivery reaches the application once, in order; each snapshot is its state at the instance that it names. ([`node`], and
//!   the application's own)
//! - **P10** Recovery returns a prefix of the journalled records, at least as long as the one reported durable. (`journal`,
//!   `wal`)
//! - **P11** All replicas of a cluster agree on who votes, and no two use the same number; without a journal a replica that
//!   stopped has no vote any more. ([`known_voters`])
//! - **P12** Numbers stay below 2^62, so that the unbounded numbers of the model and those of the machine agree. (decoder,
//!   [`config::Options::check`])
//!
//! # From the thesis to the code
//! Source: Pandey 2016, chapter 7 (Verified JPaxos), and the parts that it takes from JPaxos.
//!
//! | section | here | tested by |
//! | --- | --- | --- |
//! | 7.3.1 system state | [`core::generated::State`] | the theorems; `proofs/oracle` |
//! | 7.3.2 event queue, one thread steps | [`node`] | `tests/sim.rs` of `seriatim-rsm` |
//! | 7.3.2 batching, forwarding to the leader | [`replica`] (`batcher.rs`) | unit tests; the same |
//! | 7.3.3 commit handler: delivery in order | `core::generated::on_execute` | `StatementsOrder.v` |
//! | 7.3.3 catch-up handler | [`replica`] (`catch_up.rs`), `core::generated::on_query` | the same |
//! | 7.3.4 network, failure detector | [`transport`], [`replica`] (`detector.rs`) | the same |
//! | 7.3.5 messages as bytes | [`net::frame`], `wire` | `tests/frames.rs` of `seriatim-rsm` |
//! | 7.3.6 service | `seriatim-rsm` | its tests |
//! | figure 7.2 | `lab experiment paxos-order` | its smoke test |
//!
//! Deviation: votes go to the proposer, not to all (decision 0016): fewer messages, and one more delay at followers.
//! Deviation: suspicion needs a majority, not one replica; an isolated replica cannot depose a leader that the others receive.
//! Deviation: TCP for all messages, including heartbeats; the thesis uses UDP for the failure detector. Loss and duplication
//! are still tolerated.
//!
//! # Deliberately absent
//! Transactions. Sessions, replies and clients (`seriatim-rsm`). Changes of membership. Leases and reads that bypass the log.
//! Byzantine replicas: a peer that has the key is trusted, but cannot make a replica allocate without bound or panic.

#![forbid(unsafe_code)]

pub mod application;
#[cfg(feature = "sim")]
pub mod bare;
mod board;
pub mod config;
pub mod core;
mod error;
pub mod image;
mod inbox;
mod io_error;
pub mod journal;
pub mod known_voters;
pub mod membership;
pub mod message;
pub mod node;
pub mod order;
pub mod replica;
pub mod request;
pub mod status;
pub mod transport;
mod wire;
