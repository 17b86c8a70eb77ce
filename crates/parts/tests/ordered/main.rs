//! The ordered index, from outside: against a naive twin on random programs, and under threads.
//! Fan-outs are shrunk, so that splits, merges and tall trees are the common path.
#![cfg(not(loom))]

mod concurrent;
mod record;
mod twin;
