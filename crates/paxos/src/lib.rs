//! A total order of requests, by Multi-Paxos: the core is proved, the runtime is fast.

#![forbid(unsafe_code)]

pub mod auth;
pub mod config;
pub mod core;
pub mod executor;
pub mod frame;
pub mod message;
pub mod moment;
pub mod order;
pub mod replica;
pub mod request;
pub mod service;
#[cfg(feature = "sim")]
pub mod sim;
