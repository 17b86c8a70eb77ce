//! What replicas of any protocol need to speak with each other: frames, connections that trust each other, queues with back-pressure.
//!
//! ```text
//!   threads ──► mailbox ──► task of a connection ──► packer, seal ──► socket
//!                  ▲                                                    │
//!                credit                                          handshake, decoder
//! ```
//!
//! - [`frame`]: messages as bytes, with checksums and tags, and a decoder that takes whatever a network brings.
//! - [`auth`]: a shared key, the keys of a connection, and the tag of each frame.
//! - [`handshake`]: who the two ends are, that both hold the key, whether each wants the other.
//! - [`connection`]: sockets as this crate wants them, and writing many frames in one system call.
//! - [`mailbox`]: the bounded queue between threads and tasks. [`credit`]: how much may be sent that comes back later.
//!
//! # Invariants
//! - **N1** Decoding ends with messages, with "more bytes are needed", or with a named error; never with a panic, and nothing is allocated
//!   for a length that was merely announced.
//! - **N2** With a key, a frame is taken once, in order, in its direction, unaltered, or the connection ends.
//! - **N3** A queue has a limit. A sender finds it full in one of three ways: it waits, keeps what it has, or is told when there is room.
//!
//! Deliberately absent: what replicas say. A protocol defines its messages ([`frame::Wire`]) and its identities
//! ([`handshake::Part`]); membership, retransmission and order are its own. Encryption: contents are authenticated, not hidden.

#![forbid(unsafe_code)]

pub mod auth;
pub mod connection;
pub mod credit;
pub mod frame;
pub mod handshake;
pub mod mailbox;
