//! Communication between replicas of any protocol: frames, authenticated connections, queues with back-pressure.
//!
//! ```text
//!   threads ──► mailbox ──► task of a connection ──► packer, seal ──► socket
//!                  ▲                                                    │
//!                credit                                          handshake, decoder
//! ```
//!
//! - [`frame`]: messages as bytes, with checksums and tags, and a decoder that accepts arbitrary input.
//! - [`auth`]: a shared key, the keys of a connection, and the tag of each frame.
//! - [`handshake`]: exchanges the identities of the two ends, proves that both hold the key, and lets each accept or refuse the
//!   other.
//! - [`connection`]: socket options, and writing many frames in one system call.
//! - [`mailbox`]: the bounded queue between threads and tasks. [`credit`]: the amount that may be sent before some is granted
//!   back.
//!
//! # Invariants
//! - **N1** Decoding ends with messages, with "more bytes are needed", or with a named error; never with a panic, and nothing is allocated
//!   for a length that was merely announced.
//! - **N2** With a key, each frame is accepted once, in order, in its direction, unaltered; otherwise the connection ends.
//! - **N3** Every queue has a limit. A sender that finds it full waits, keeps its item, or is notified when there is room.
//!
//! Deliberately absent: the messages themselves. A protocol defines its messages ([`frame::Wire`]) and its identities
//! ([`handshake::Part`]); membership, retransmission and order belong to the protocol. Encryption: contents are authenticated,
//! not hidden.

#![forbid(unsafe_code)]

pub mod auth;
pub mod connection;
pub mod credit;
pub mod frame;
pub mod handshake;
pub mod mailbox;
