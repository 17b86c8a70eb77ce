//! The messages between clients and replicas as bytes: [`net::frame`] puts them into frames.

mod client;
mod replica;

/// The longest body of a frame from a client: one request of the greatest length, or many short ones.
pub const MAX_CLIENT_FRAME_BYTES: usize = paxos::request::MAX_BODY_BYTES + (64 << 10);
