//! Multi-Paxos: the proved core and its runtime.

#![forbid(unsafe_code)]

pub mod core;
