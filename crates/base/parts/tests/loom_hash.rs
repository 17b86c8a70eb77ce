//! The hash index under loom.
#![cfg(loom)]

#[path = "models/hash.rs"]
mod hash;
