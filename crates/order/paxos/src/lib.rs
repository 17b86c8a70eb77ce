//! A total order of requests, by Multi-Paxos: the core is proved, the runtime is made to be as fast as an unproved one.
//!
//! # The idea
//! One leader numbers batches of requests; a majority votes for each; what a majority has voted for in one ballot is chosen and never
//! changes again. When the leader falls silent, another asks a majority what it has voted for and goes on from there.
//! The rules that make this safe are one pure function, `step`, written and proved in Coq and printed as Rust
//! ([`core::generated`]): it has no clock, no socket and no disk. Around it stands everything that makes it quick and
//! live, none of which can break agreement: whatever it does, it can only hand in events, and the theorems hold for all
//! of them. What it must keep are the duties P6 to P12 below; `docs/proofs.md` says which theorem needs which.
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
//! The parts, from the inside out: [`core`] is the automaton; [`replica`] everything around it that needs no I/O; [`journal`] keeps what it
//! must not forget; [`node`] gives each its thread. What is ordered are bytes: an [`application`] stands on the node and gives them a
//! meaning, `seriatim-rsm` one with sessions, clients and services.
//!
//! # Where the order is fixed
//! When a majority of replicas has voted, in one ballot, for a batch at an instance. The order of requests is that of their instances, and
//! within a batch that of its bytes. A client knows it by the reply.
//!
//! # Invariants
//! Those of the core are theorems (`proofs/paxos/Statements*.v`), not assertions; those of the runtime are its duties.
//! - **P1** Two replicas that deliver an instance deliver the same batch. (theorem)
//! - **P2** A batch that is delivered was handed in by a replica, or is the no-op. (theorem)
//! - **P3** A replica delivers instances in order without holes, from 0 or from a snapshot on. (theorem; asserted by
//!   what stands on the node)
//! - **P4** A replica keeps at most `span` instances, whatever it is told. (theorem)
//! - **P5** A request is executed at most once, and those of a session in the order of their numbers. (theorem, on
//!   [`core::generated::admit`])
//! - **P6** One step at a time: the state goes into a step and comes out of it, and cannot be copied. ([`core::Proved`])
//! - **P7** A packet is handed in only as the message of the peer that sent it, unaltered. ([`net`]: checksums, tags, the handshake)
//! - **P8** What [`core::generated::waits`] names is sent only when everything journalled so far is durable. ([`replica`])
//! - **P9** Each delivery reaches the application once, in order; each snapshot is its state at the instance that it names. ([`node`], and
//!   the application's own)
//! - **P10** What recovery hands back is what was journalled, a prefix at least as long as what was reported durable. (`journal`, `wal`)
//! - **P11** All replicas of a cluster agree on who votes, and no two speak in one number; without a journal a replica
//!   that stopped has no vote any more. ([`acquaintances`])
//! - **P12** Numbers stay below 2^62, so that the model's unbounded ones and the machine's are the same. (decoder,
//!   [`config::Options::check`])
//!
//! # From the thesis to the code
//! Source: Pandey 2016, chapter 7 (Verified JPaxos), and what it takes from JPaxos.
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
//! Deviation: votes go to the proposer, not to all (decision 0016): fewer messages, one delay more at followers.
//! Deviation: suspicion needs a majority, not one replica; a replica that hears nobody does not depose a leader whom others hear.
//! Deviation: TCP for everything, heartbeats too; the thesis uses UDP for the failure detector. Loss and duplication
//! are tolerated all the same.
//!
//! # Deliberately absent
//! Transactions. Sessions, replies and clients (`seriatim-rsm`). Changes of membership. Leases and reads that bypass
//! the log. Byzantine replicas: a peer that has the key is believed, but cannot make
//! a replica allocate without bound or panic.

#![forbid(unsafe_code)]

pub mod acquaintances;
pub mod application;
#[cfg(feature = "sim")]
pub mod bare;
mod board;
pub mod config;
pub mod core;
mod error;
mod inbox;
pub mod journal;
pub mod membership;
pub mod message;
pub mod node;
pub mod order;
pub mod replica;
pub mod request;
pub mod status;
pub mod transport;
mod wire;
