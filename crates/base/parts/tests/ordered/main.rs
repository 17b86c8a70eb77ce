//! The ordered index, from outside: against a naive twin on random programs, and under threads.
//! Fan-outs are shrunk, so that splits, merges and tall trees are the common path.
//!
//! With `--features shuttle` the threads run under shuttle: one at a time, switching at random accesses to atomics.
#![cfg(not(loom))]

mod concurrent;
mod record;
#[cfg(not(feature = "shuttle"))]
mod twin;
