//! The hash index under shuttle.
#![cfg(feature = "shuttle")]

#[path = "models/hash.rs"]
mod hash;
